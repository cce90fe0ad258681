//! Tests of the public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod icalendar;
mod messages;
mod recurrence;
