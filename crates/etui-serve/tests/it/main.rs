//! Tests of the server over real sockets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod apple;
mod authority;
mod bodies;
mod client;
mod login;
mod pages;
mod profile_offer;
mod sharing;
mod slow;
mod stop;
mod sync;
mod tls;
mod users;
