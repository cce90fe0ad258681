//! Contacts: address books of vCards, saved, found, listed.
//!
//! [`Contacts`] is one address book of a [`Store`](crate::Store); [`Reader`] reads it from one state
//! ([`Store::snapshot`](crate::Store::snapshot)). Records are [`Card`]s. A [`ListEntry`]
//! is a row of the list, read without the card. [`Filter`] selects contacts.
//!
//! This room holds the parts of contacts alone: the indexed columns of a card (`keys`), the fields of
//! filters ([`Field`]) and queries ([`Column`]), the letters of the list. Saving and reading is that
//! of every [`Collection`].

mod card;
mod duplicates;
mod filter;
pub(crate) mod keys;
mod letters;
mod merge;
#[cfg(feature = "media")]
mod photos;
mod query;
mod resource;

pub use duplicates::{DuplicatePair, DuplicateReason, LIKELY_DUPLICATE};
pub use etui_vcard::{
    Card, CardError, ConvertedCard, MAX_CARD, MergedCard, NewProperty, Organization, PartialDate,
    Photo, PostalAddress, StructuredName, TypedValue, VCardVersion,
};
pub use filter::{Field, Filter};
pub use keys::Summary;
pub use letters::Letter;
pub use merge::MergedContacts;
pub use query::{Column, Columns, ListEntry, Query, Row, Rows};

use crate::record::{Collection, StoredRecord};
pub use crate::record::{Paging, RecordTexts};
pub use crate::search::filter::{FilterError, MatchMode};
pub use crate::search::query::{
    AccessPath, Cursor, InvalidCursor, QueryPlan, SortOrder, UnknownColumn, UnknownSortOrder,
};
pub use crate::types::ThumbnailSize;
use crate::watch;

/// One address book of a store.
pub type Contacts = Collection<Card>;

/// An address book in one state of the store.
pub type Reader = crate::record::Reader<Card>;

/// A view of contacts.
pub type View = watch::View<Card>;

/// A change reported by a view.
pub type ViewChange = watch::ViewChange<Summary, Field>;

/// The changes reported by a view.
pub type ViewChanges = watch::ViewChanges<Summary, Field>;

/// A page of matches, and the changes up to exactly the state it was read in.
pub type LoadedPage = watch::LoadedPage<Summary, Field>;

/// A contact as it is stored.
pub type Contact = StoredRecord<Card>;

impl Contact {
    /// The vCard, parsed.
    ///
    /// # Errors
    /// [`CardError`] when another program put text into the store that is no vCard.
    pub fn card(&self) -> Result<Card, CardError> {
        Card::parse(self.text.clone())
    }
}
