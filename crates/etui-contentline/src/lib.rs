//! Content lines: the syntax that vCard (RFC 6350 section 3) and iCalendar (RFC 5545 section 3.1)
//! share.
//!
//! - [`split`]: records in foreign bytes of any size and charset;
//! - [`lines`]: the lines of one record, unfolded, with name, parameters and value;
//! - [`values`]: values, lists and parameters without their escapes;
//! - [`charset`]: a record of any charset as UTF-8;
//! - [`edit`]: changes to single lines that leave every other byte alone;
//! - [`merge`](mod@merge): what two sides made of one record since they last agreed.

#![deny(missing_docs)]

pub mod charset;
pub mod edit;
pub mod lines;
pub mod merge;
pub mod rejection;
pub mod split;
pub mod stream;
pub mod uid_set;
pub mod values;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
