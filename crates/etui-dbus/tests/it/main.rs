//! The service on a private bus, in a thread of the test program and as a process of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_input;
mod dbus;
mod killed;
mod process;
