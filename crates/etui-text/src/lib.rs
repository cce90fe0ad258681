//! Comparing and sorting text that people write: names, addresses, phone numbers.
//!
//! - [`fold`]: words and addresses without case and accents;
//! - [`collator`]: sort keys in a locale's order;
//! - [`phone`]: phone numbers as E.164 digits;
//! - [`varint`]: numbers and byte strings in compact form.

#![deny(missing_docs)]

pub mod collator;
pub mod fold;
pub mod phone;
pub mod varint;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
