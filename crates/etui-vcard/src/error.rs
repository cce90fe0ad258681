//! The crate's error.

use crate::card::MAX_CARD;

/// Reasons for rejecting bytes as a vCard, or an edit of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// The bytes do not begin with `BEGIN:VCARD` or do not end with `END:VCARD`.
    #[error("not a vCard: it must begin with BEGIN:VCARD and end with END:VCARD")]
    NotACard,
    /// The bytes hold more than one vCard.
    #[error("more than one vCard; give them one at a time, or import them as a file")]
    Several,
    /// The vCard has no property with a value.
    #[error("an empty vCard: no name, no phone, no e-mail, nothing else")]
    Empty,
    /// Larger than [`MAX_CARD`].
    #[error("a vCard of {size} bytes; at most {MAX_CARD} are kept (is it a photo?)")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// A property name that no content line can have (RFC 6350 §3.3).
    #[error("\"{0}\" cannot be a property's name: letters, digits and - only")]
    BadProperty(String),
    /// The system gave no random numbers for a new UID.
    #[error("no random numbers for a UID: {0}")]
    Random(#[from] getrandom::Error),
}
