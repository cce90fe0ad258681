//! Power cuts: random histories over a disk in memory, every image opened again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod check;
mod commits;
mod etui;
mod faults;
mod model;
mod mutations;
mod past;
mod persist_wal;
mod plain;
mod random;
mod run;
mod shrink;
mod steps;
mod stock;
mod store;
mod threads;
