//! Requests as real clients send them, to a real store.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod apple;
mod attacks;
mod bytes;
mod client;
mod collections;
mod conflicts;
mod davx5;
mod discovery;
mod eds;
mod moving;
mod mutated;
mod queries;
mod sharing;
mod support;
mod thunderbird;
mod vdirsyncer;
