//! All tests of the VFS that use it through SQLite, in one program: it is linked once, and its tests
//! share the cores. What measures or changes its whole process is in one of its own
//! (`etui_testkit::own_process`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod crash;
mod damaged;
mod first_pages;
mod forks;
mod full_disk;
mod leaving;
mod mitigations;
mod names;
mod processes;
mod records;
mod refusals;
mod upkeep;
mod vacuum;
mod vfs;
mod workloads;
