//! Tests of the public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod any_bytes;
mod calendars;
mod fixtures;
mod languages;
mod round_trip;
mod rules;
