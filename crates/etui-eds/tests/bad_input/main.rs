//! Bad input over the bus: an error each time, bounded memory, and other clients unharmed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test"
)]

mod calls;
mod floods;
mod session;
#[path = "../support/mod.rs"]
mod support;

#[test]
#[ignore = "the bus runs it as the service"]
fn serve() {
    support::serve();
}
