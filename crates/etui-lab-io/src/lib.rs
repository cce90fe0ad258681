#![doc = include_str!("../README.md")]

pub mod extents;
pub mod instrumented;
pub mod memory;
pub mod mmap;
mod range_set;
pub mod uring;

pub use etui_vfs_base::Error;
