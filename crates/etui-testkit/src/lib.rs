//! Deterministic people and calendars, sample exports and the pictures in them.
//!
//! - [`people`]: an address book of any size, made from a seed;
//! - [`calendars`]: a calendar of any size, made from a seed;
//! - [`fixtures`]: exports in the shapes of the products that write them;
//! - [`images`]: small valid pictures;
//! - [`media`]: playable audio files with tags, covers and photos, made from a seed;
//! - `bus` (a feature): a private D-Bus session bus;
//! - `disk` (a feature): a disk in memory whose power can be cut;
//! - `small-disk` (a feature): a small file system in memory that can be full;
//! - [`rng`]: the pseudo-random sequence under all of it;
//! - [`wait`]: waiting for a condition;
//! - [`own_process`]: tests in processes of their own.

#[cfg(feature = "bus")]
pub mod bus;
pub mod calendars;
#[cfg(feature = "disk")]
pub mod disk;
pub mod fixtures;
pub mod images;
pub mod media;
pub mod own_process;
pub mod people;
pub mod rng;
#[cfg(feature = "small-disk")]
pub mod small_disk;
mod text;
pub mod wait;
