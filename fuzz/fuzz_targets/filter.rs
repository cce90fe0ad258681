//! Any text as a filter: it is understood or answered with the place of the
//! mistake, and what was understood reads the same when written out.

#![no_main]

use etui::contacts::Filter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Filter>() {
        Ok(filter) => {
            let written = filter.to_string();
            assert_eq!(written.parse(), Ok(filter), "{written}");
        }
        Err(error) => {
            assert!(!error.problem.is_empty());
            assert!((1..=text.chars().count() + 1).contains(&error.at));
        }
    }
});
