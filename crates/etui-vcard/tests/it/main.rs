//! Tests of the public interface.

#![allow(clippy::unwrap_used)]

mod dialects;
mod foreign_readers;
mod merge;
mod merge_cards;
mod three_way;
mod v3_export;
mod versions;
