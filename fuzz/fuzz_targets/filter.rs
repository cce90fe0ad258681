//! Any text as a filter: it is understood or answered with the place of the
//! mistake, and what was understood reads the same when written out.
//!
//! Written out, every value has its field and quotes: what is nearly as long as
//! can be read may then be beyond it.

#![no_main]

use etui::contacts::Filter;
use libfuzzer_sys::fuzz_target;

/// Bytes with which a text is far from the limit (16 kB), written out or not.
const BYTES: usize = 1 << 10;

fuzz_target!(|text: &str| {
    match text.parse::<Filter>() {
        Ok(filter) => {
            if text.len() <= BYTES {
                let written = filter.to_string();
                assert_eq!(written.parse(), Ok(filter), "{written}");
            }
        }
        Err(error) => {
            assert!(!error.problem.is_empty());
            assert!((1..=text.chars().count() + 1).contains(&error.at));
        }
    }
});
