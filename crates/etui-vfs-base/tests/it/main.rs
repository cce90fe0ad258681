//! All tests of the VFS, in one program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod apart;
mod common;
mod first_pages;
mod locks;
mod neighbours;
mod second_copy;
mod storm;
