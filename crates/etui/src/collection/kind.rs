//! What kinds of collections there are, and what a record of one has to tell of itself.

use std::borrow::Cow;
use std::fmt;

use crate::error::Result;
use crate::text::order::Order;
use crate::text::phone::Region;

/// What a collection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An address book: contacts.
    Contacts,
}

impl Kind {
    /// The kind's name in the schema.
    pub(crate) fn stored(self) -> &'static str {
        match self {
            Self::Contacts => "contacts",
        }
    }

    /// The kind of this name in the schema.
    pub(crate) fn of_stored(name: &str) -> Option<Self> {
        [Self::Contacts].into_iter().find(|k| k.stored() == name)
    }

    /// The name of the collection of this kind that a new store has.
    pub(crate) fn default_name(self) -> &'static str {
        match self {
            Self::Contacts => "Contacts",
        }
    }

    /// What a collection of this kind is called, with its article.
    pub(crate) fn one(self) -> &'static str {
        match self {
            Self::Contacts => "an address book",
        }
    }

    /// What one record of it is called.
    pub(crate) fn record(self) -> &'static str {
        match self {
            Self::Contacts => "contact",
        }
    }
}

/// What a collection of this kind is called.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Contacts => "address book",
        })
    }
}

/// What deriving needs to know of a store.
#[derive(Clone, Copy)]
pub(crate) struct Deriving<'o> {
    /// The order of its lists.
    pub(crate) order: &'o Order,
    /// The region that completes national phone numbers.
    pub(crate) region: Option<Region>,
}

/// What is derived from a record's text, and stored beside it.
#[derive(Default)]
pub(crate) struct Derived {
    /// Its search keys ([`super::keys`]).
    pub(crate) keys: Vec<u8>,
    /// Its place in the list.
    pub(crate) sort: Vec<u8>,
    /// What the list shows of it.
    pub(crate) summary: Vec<u8>,
}

/// A record of some kind: a text with a UID, from which the rest is derived.
pub(crate) trait Record: Sized + Send {
    /// The kind of collection that it belongs to.
    const KIND: Kind;

    /// Reads one; the text is kept byte for byte.
    fn read(text: Vec<u8>) -> Result<Self>;

    /// Its text.
    fn text(&self) -> &[u8];

    /// The UID that it has itself.
    fn uid(&self) -> Option<&str>;

    /// Its UID, or the identity that its content gives it.
    fn identity(&self) -> Cow<'_, str>;

    /// Derives what is stored beside the text.
    fn derive(&self, with: &Deriving<'_>) -> Derived;
}
