//! The service on private buses, as a process that the bus starts, beside the stock registry of
//! sources, and compared with the stock server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod bad_input;
mod books;
mod calendar;
mod differential;
mod killed;
mod random_calls;
mod sources;
mod support;
mod switch;
mod switch_sessions;
