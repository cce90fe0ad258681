//! Tests of the public interface.

#![allow(clippy::unwrap_used)]

mod dialects;
mod merge;
mod merge_cards;
mod versions;
