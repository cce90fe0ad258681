//! Tests of the public interface.

#![allow(clippy::unwrap_used, clippy::panic)]

mod round_trip;
