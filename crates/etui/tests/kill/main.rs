//! A program is killed at any moment: what it was told is saved is there, what it was not told of
//! is there as a whole or not at all, and the store opens at once.
//!
//! A child process writes and tells of each step on its standard output, before the call and
//! after it returned; the parent kills it and compares the store with what was told. It does so 20
//! times to each test; `ETUI_TEST_LONG=1` does it 200 times, `ETUI_KILLS=500` so often.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod child;
mod collections;
mod counters;
mod datebook;
mod kinds;
mod steps;
#[path = "../support/mod.rs"]
mod support;
