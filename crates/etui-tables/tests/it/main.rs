//! Tests of the public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod any_bytes;
mod fixtures;
mod round_trip;
mod rules;
