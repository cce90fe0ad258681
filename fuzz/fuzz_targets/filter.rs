//! Any text as a filter: it parses, or the error has a position; a parsed filter
//! equals itself after it is written and parsed again.
//!
//! Written out, every value has its field and quotes, so a text near the length limit
//! may exceed it.

#![no_main]

use etui::contacts::Filter;
use libfuzzer_sys::fuzz_target;

/// A length far from the limit (16 kB), written out or not.
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
