//! Contacts: address books of vCards, saved, found, listed.
//!
//! [`Contacts`] is one address book of a [`Store`](crate::Store); [`Reader`] reads it from one state
//! ([`Store::snapshot`](crate::Store::snapshot)). Records are [`Card`]s; what a list shows of them without reading them
//! is an [`Entry`]. [`Filter`] says which are meant.

mod card;
mod filter;
pub(crate) mod inbox;
pub(crate) mod keys;
mod letters;
pub(crate) mod query;
mod view;

pub use card::{
    Address, Card, CardError, Date, MAX_CARD, Name, NewProperty, Organization, Photo, Typed,
    Version,
};
pub use filter::{Field, Filter};
pub use keys::Summary;
pub use letters::Letter;
pub use query::{
    BadColumn, BadCursor, BadSort, Column, Columns, Cursor, Plan, Query, Row, Rows, Sort, Way,
};
pub use view::{Loaded, View, ViewChange, ViewChanges};

use crate::collection::{Collection, Stored};
pub use crate::collection::{Page, Texts};
pub use crate::filter::{FilterError, Match};

/// One address book of a store.
pub type Contacts<'s> = Collection<'s, Card>;

/// An address book in one state of the store.
pub type Reader<'c> = crate::collection::Reader<'c, Card>;

/// A contact as it is stored.
pub type Contact = Stored<Card>;

/// What a list shows of a contact, read without its vCard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the store.
    pub id: crate::RecordId,
    /// Name, organisation, phone and e-mail.
    pub summary: Summary,
}

impl Contact {
    /// The vCard, parsed.
    ///
    /// # Errors
    /// [`CardError`] when another program put text into the store that is no vCard.
    pub fn card(&self) -> Result<Card, CardError> {
        Card::parse(self.text.clone())
    }
}
