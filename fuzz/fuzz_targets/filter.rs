//! Any text as a filter: it is understood or answered with the place of the
//! mistake, and what was understood reads the same when written out.
//!
//! Written out, every group has its parentheses and every value its field and
//! quotes: what is nearly as deep or long as can be read may then be beyond it.

#![no_main]

use etui::contacts::Filter;
use libfuzzer_sys::fuzz_target;

/// Parentheses and minus signs, and bytes, with which a text is far from both
/// limits (64 levels, 16 kB).
const MARKS: usize = 30;
const BYTES: usize = 1 << 10;

fuzz_target!(|text: &str| {
    match text.parse::<Filter>() {
        Ok(filter) => {
            let marks = text.matches(['(', '-']).count();
            if marks <= MARKS && text.len() <= BYTES {
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
