//! vCard 2.1, 3.0 (RFC 2426) and 4.0 (RFC 6350).
//!
//! [`Card`] keeps the bytes of one vCard as they came and gives typed access to its properties.
//! Edits change only the lines they concern. [`Card::to_v4`] converts a card of any version to
//! vCard 4.0, [`Card::to_v3`] to 3.0; [`Card::merge_v3`] brings an edit of the latter back.
//! [`Card::merge_with`] merges cards of one person, [`Card::merge_three_way`] what two sides made of one card.
//!
//! ```
//! use etui_vcard::{Card, NewProperty};
//!
//! let mut card = Card::parse(
//!     "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada Lovelace\r\nTEL;TYPE=cell:+44 20 7946 0123\r\n\
//!      X-HOBBY:engines\r\nEND:VCARD\r\n",
//! )?;
//! assert_eq!(card.display_name(), "Ada Lovelace");
//! assert_eq!(card.phones()[0].value, "+44 20 7946 0123");
//!
//! card.add(&NewProperty {
//!     name: "EMAIL".to_owned(),
//!     types: vec!["home".to_owned()],
//!     value: "ada@example.org".to_owned(),
//! })?;
//! assert_eq!(card.emails()[0].types, ["home"]);
//! assert_eq!(card.property("X-HOBBY").as_deref(), Some("engines"));
//! # Ok::<(), etui_vcard::CardError>(())
//! ```
//!
//! A file with many cards is split with [`etui_contentline::split::Splitter`].

#![deny(missing_docs)]

mod android;
mod card;
mod date;
mod edit;
mod error;
mod fields;
mod group_labels;
mod merge;
mod merge_cards;
mod name;
mod parameter;
mod property;
mod property_ref;
mod references;
mod three_way;
mod v21;
mod v3;
mod v3_export;
mod v4;
mod writer;

pub use card::{Card, MAX_CARD, VCardVersion};
pub use date::PartialDate;
pub use edit::NewProperty;
pub use error::CardError;
pub use fields::{Organization, Photo, PostalAddress, StructuredName, TypedValue, bare_address};
pub use merge_cards::MergedCard;
pub use property_ref::PropertyRef;
pub use three_way::CardSide;
pub use v4::ConvertedCard;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
