//! Text as people mean it: case and accents folded, sorted by locale, phone numbers.

pub mod fold;
pub mod order;
pub mod phone;
pub(crate) mod varint;
