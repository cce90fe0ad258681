//! Tests of the public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod foreign_times;
mod icalendar;
mod messages;
mod recurrence;
mod this_and_future;
mod three_way;
