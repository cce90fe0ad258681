//! [`SortedContacts`]: contacts in another order than that of the list, such as by given name.
//!
//! The list of an address book is stored in its order, and is the cheaper one. This one is sorted
//! when it is made, which reads each of its vCards, and kept in memory. An update reads only the
//! records that were changed since.
//!
//! ```
//! use etui::Store;
//! use etui::contacts::{Card, Filter, Paging, SortBy, SortField};
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let contacts = store.contacts()?;
//! for (uid, name) in [("ada", "Lovelace;Ada"), ("alan", "Turing;Alan"), ("grace", "Hopper;Grace")] {
//!     contacts.save(&Card::parse(format!("BEGIN:VCARD\nUID:{uid}\nN:{name}\nEND:VCARD\n"))?)?;
//! }
//! let by = [SortBy::descending(SortField::Given)];
//! let mut sorted = contacts.sorted(&Filter::All, &by)?;
//! let uid = |id| contacts.by_id(id).map(|contact| contact.map(|c| c.uid));
//! assert_eq!(uid(sorted.page(Paging::first(1))[0])?.as_deref(), Some("grace"));
//!
//! contacts.remove("grace")?;
//! assert!(sorted.update(&contacts)?);
//! let alan = contacts.get("alan")?.expect("he is there");
//! assert_eq!((sorted.len(), sorted.position(alan.id)), (2, Some(0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashSet;

use etui_text::collator::Collator;

use super::{Card, Contacts, Filter, Letter, Paging, Query, Reader};
use crate::error::Result;
use crate::record::changes;
use crate::search::query::record_reader::RecordsById;
use crate::search::query::{Columns, SortOrder};
use crate::types::{ChangeKind, Changes, RecordId, SyncToken};

/// A field that contacts are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SortField {
    /// The display name.
    FullName,
    /// The family name.
    Family,
    /// The given name.
    Given,
    /// The name to file under: `X-EVOLUTION-FILE-AS`, else "family, given", else the organisation,
    /// else the display name.
    FileAs,
    /// The first nickname.
    Nickname,
    /// The first organisation.
    Organization,
}

impl SortField {
    /// Returns the text of a card that is compared; empty if it has none.
    #[must_use]
    pub fn value(self, card: &Card) -> String {
        match self {
            Self::FullName => card.display_name(),
            Self::Family => card.name().family,
            Self::Given => card.name().given,
            Self::FileAs => file_as(card),
            Self::Nickname => card.nicknames().into_iter().next().unwrap_or_default(),
            Self::Organization => card.organization().map(|o| o.name).unwrap_or_default(),
        }
    }
}

fn file_as(card: &Card) -> String {
    let name = card.name();
    let parts = [name.family, name.given];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    card.property("X-EVOLUTION-FILE-AS")
        .filter(|text| !text.trim().is_empty())
        .or_else(|| (!parts.is_empty()).then(|| parts.join(", ")))
        .or_else(|| card.organization().map(|o| o.name))
        .unwrap_or_else(|| card.display_name())
}

/// A field to sort by, and its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SortBy {
    /// The field.
    pub field: SortField,
    /// True if greater values come first.
    pub is_descending: bool,
}

impl SortBy {
    /// Sorts by a field, smaller values and contacts without one first.
    #[must_use]
    pub fn ascending(field: SortField) -> Self {
        let is_descending = false;
        Self {
            field,
            is_descending,
        }
    }

    /// Sorts by a field, greater values first.
    #[must_use]
    pub fn descending(field: SortField) -> Self {
        let is_descending = true;
        Self {
            field,
            is_descending,
        }
    }
}

/// The contacts that match a filter, in the order of chosen fields and of the store's collation.
/// Equal ones are in the order in which they were added.
#[derive(Debug, Clone)]
pub struct SortedContacts {
    filter: Filter,
    by: Vec<SortBy>,
    /// The state that it is of.
    token: SyncToken,
    entries: Vec<SortedEntry>,
}

/// A contact and its sort key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SortedEntry {
    key: Box<[u8]>,
    id: RecordId,
}

impl Contacts {
    /// Sorts the contacts that match `filter` by these fields, the first being the most
    /// significant. See [`SortedContacts`].
    ///
    /// # Errors
    /// Any read error.
    pub fn sorted(&self, filter: &Filter, by: &[SortBy]) -> Result<SortedContacts> {
        self.read_ordered(|reader| {
            let mut sorted = SortedContacts {
                filter: filter.clone(),
                by: by.to_vec(),
                token: changes::token(reader.conn)?,
                entries: Vec::new(),
            };
            sorted.insert_matches(reader, filter)?;
            Ok(sorted)
        })
    }
}

impl SortedContacts {
    /// Applies the changes since it was made or last updated. Returns true if a contact in it was
    /// added, changed or removed. `contacts` is the address book that it was made of.
    ///
    /// # Errors
    /// Any read error; nothing is applied then.
    pub fn update(&mut self, contacts: &Contacts) -> Result<bool> {
        contacts.read_ordered(|reader| {
            let now = changes::token(reader.conn)?;
            if now == self.token {
                return Ok(false);
            }
            let mut updated = Self {
                filter: self.filter.clone(),
                by: self.by.clone(),
                token: now,
                entries: Vec::new(),
            };
            let is_changed = match reader.changes_since(&self.token)? {
                Changes::Resynchronise => {
                    updated.insert_matches(reader, &self.filter)?;
                    true
                }
                Changes::Since(changes) => {
                    let changed: HashSet<RecordId> = changes.iter().map(|c| c.id).collect();
                    let live = changes.iter().filter(|c| c.kind != ChangeKind::Removed);
                    let uids = Filter::uids(live.map(|c| c.uid.as_str()));
                    updated.insert_matches(reader, &uids.and(self.filter.clone()))?;
                    let is_kept = |entry: &&SortedEntry| !changed.contains(&entry.id);
                    let before = updated.entries.len();
                    let kept = self.entries.iter().filter(is_kept).cloned();
                    updated.entries.extend(kept);
                    updated.entries.sort_unstable();
                    before > 0 || updated.entries.len() < self.entries.len()
                }
            };
            *self = updated;
            Ok(is_changed)
        })
    }

    /// Adds the contacts that match a filter.
    fn insert_matches(&mut self, reader: &Reader<'_>, filter: &Filter) -> Result<()> {
        let query = Query::new(filter.clone()).sort(SortOrder::Unordered);
        let found = reader.query(&query.columns(Columns::NONE))?;
        let mut ids: Vec<i64> = found.ids().iter().map(|id| id.0).collect();
        ids.sort_unstable();
        let order = reader.db.order();
        let mut records = RecordsById::new(reader.conn, reader.collection, "r.text");
        reader.explain_errors(|| {
            records.each_row(&ids, |row| {
                let text = row.get_ref(1)?.as_blob().unwrap_or_default();
                self.entries.push(SortedEntry {
                    key: sort_key(&self.by, text, order).into(),
                    id: RecordId(row.get(0)?),
                });
                Ok(())
            })
        })?;
        self.entries.sort_unstable();
        Ok(())
    }

    /// Returns the number of contacts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no contacts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the contacts of a page in order.
    #[must_use]
    pub fn page(&self, page: Paging) -> Vec<RecordId> {
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let entries = self.entries.iter().skip(number(page.offset));
        entries.take(number(page.limit)).map(|e| e.id).collect()
    }

    /// Returns the position of a contact, counted from 0; `None` if it is not among them.
    #[must_use]
    pub fn position(&self, id: RecordId) -> Option<u64> {
        let at = self.entries.iter().position(|entry| entry.id == id)?;
        Some(at as u64)
    }

    /// Returns where the contacts of each letter begin, as [`Contacts::letters`] does for the list.
    /// Empty if the first field is descending.
    #[must_use]
    pub fn letters(&self, contacts: &Contacts) -> Vec<Letter> {
        if self.by.first().is_none_or(|by| by.is_descending) {
            return Vec::new();
        }
        let order = contacts.db().order();
        let bounds = order.label_bounds().iter();
        let position = |bound: &Vec<u8>| self.entries.partition_point(|e| *e.key < **bound) as u64;
        let letters = order.index_labels().iter().zip(bounds.map(position));
        letters
            .map(|(label, position)| Letter {
                label: label.clone(),
                position,
            })
            .collect()
    }
}

/// Returns the key of a vCard: those of its fields, each ended by a zero byte, which they do not
/// have; the bytes of a descending one are inverted.
fn sort_key(by: &[SortBy], text: &[u8], order: &Collator) -> Vec<u8> {
    let mut key = Vec::new();
    // Text that another program stored may be no vCard.
    let Ok(card) = Card::parse(text) else {
        return key;
    };
    for by in by {
        let start = key.len();
        key.extend(order.sort_key(&[&by.field.value(&card)]));
        key.push(0);
        if by.is_descending {
            key.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
        }
    }
    key
}
