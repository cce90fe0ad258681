//! Deterministic people, sample exports and the pictures in them.
//!
//! - [`people`]: an address book of any size, made from a seed;
//! - [`fixtures`]: exports in the shapes of the products that write them;
//! - [`images`]: small valid pictures;
//! - [`rng`]: the pseudo-random sequence under all of it.

pub mod fixtures;
pub mod images;
pub mod people;
pub mod rng;
