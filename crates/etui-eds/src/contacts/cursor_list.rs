//! [`CursorList`]: the contacts of a cursor in order, and its place among them.
//!
//! A place is kept by contact, so that it survives additions and removals:
//!
//! ```text
//! position   0        1     2     3     ...   total + 1
//!            begin    A     B     C            end
//! ```

use etui::text::collator::Collator;
use etui::{RecordId, SyncToken};

use super::fields::ContactField;
use super::query::ContactQuery;
use super::reduced::PropertyNames;
use crate::error::{EdsError, EdsResult, INVALID_ARGUMENT, QUERY_REFUSED};

/// A field that contacts are sorted by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SortField {
    /// The field.
    pub(super) field: ContactField,
    /// Whether the order is reversed.
    pub(super) is_descending: bool,
}

/// A contact in the list. Entries are ordered by key and, for equal keys, by UID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CursorEntry {
    key: Box<[u8]>,
    uid: Box<str>,
    id: RecordId,
}

/// A place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CursorPlace {
    /// Before the first contact.
    Begin,
    /// At a contact, which may be removed since.
    At(Box<[u8]>, Box<str>),
    /// Before the first contact with this key or a later one.
    Before(Box<[u8]>),
    /// After the last contact.
    End,
}

/// All contacts of a book in an order, kept by the book when a cursor ends: programs open cursors
/// of one order again and again, and reading and sorting all contacts takes long (`etui lab run
/// phonebook`, first 50 by name).
pub(super) struct SortedContacts {
    fields: Vec<SortField>,
    token: SyncToken,
    entries: Vec<CursorEntry>,
}

/// The contacts of a cursor.
pub(super) struct CursorList {
    pub(super) query: ContactQuery,
    pub(super) place: CursorPlace,
    /// The state of the store that the entries are of.
    pub(super) token: SyncToken,
    /// Total and position announced to the client last.
    pub(super) told: Option<(u32, u32)>,
    fields: Vec<SortField>,
    /// The properties that `fields` look at.
    names: PropertyNames,
    entries: Vec<CursorEntry>,
}

impl CursorList {
    /// Returns a list without contacts.
    pub(super) fn new(query: ContactQuery, fields: Vec<SortField>, token: SyncToken) -> Self {
        let names: Option<Vec<_>> = fields.iter().map(|sort| sort.field.properties()).collect();
        Self {
            names: PropertyNames::new(names.map(|names| names.concat())),
            query,
            place: CursorPlace::Begin,
            token,
            told: None,
            fields,
            entries: Vec::new(),
        }
    }

    /// Takes over the contacts in this list's order, in the state of their token; returns false if
    /// they are others.
    pub(super) fn adopt(&mut self, sorted: SortedContacts) -> bool {
        let fits = matches!(self.query, ContactQuery::All) && self.fields == sorted.fields;
        if fits {
            self.token = sorted.token;
            self.entries = sorted.entries;
        }
        fits
    }

    /// Returns the contacts if the list has all of the book; the list is empty then.
    pub(super) fn take_sorted(&mut self) -> Option<SortedContacts> {
        matches!(self.query, ContactQuery::All).then(|| SortedContacts {
            fields: self.fields.clone(),
            token: self.token,
            entries: std::mem::take(&mut self.entries),
        })
    }

    /// Returns the entry of a contact.
    pub(super) fn entry_of(
        &self,
        id: RecordId,
        uid: String,
        text: &[u8],
        collator: &Collator,
    ) -> Option<CursorEntry> {
        let card = self.names.parse_card(text)?;
        let mut key = Vec::new();
        for field in &self.fields {
            let value = field.field.first_value(&uid, &card);
            let value = value.map(|value| collator.sort_key(&[&value]));
            push_key(&mut key, value.as_deref(), field.is_descending);
        }
        Some(CursorEntry {
            key: key.into(),
            uid: uid.into(),
            id,
        })
    }

    /// Sets all entries.
    pub(super) fn replace(&mut self, mut entries: Vec<CursorEntry>) {
        entries.sort_unstable();
        self.entries = entries;
    }

    /// Replaces or removes the entry of a contact.
    pub(super) fn update(&mut self, id: RecordId, entry: Option<CursorEntry>) {
        self.entries.retain(|entry| entry.id != id);
        if let Some(entry) = entry {
            let place = self.entries.partition_point(|other| *other < entry);
            self.entries.insert(place, entry);
        }
    }

    /// The number of contacts.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The position: 0 before the first contact, the number of contacts and 1 after the last.
    pub(super) fn position(&self) -> usize {
        match self.place {
            CursorPlace::End => self.len() + 1,
            _ => self.first_after(&self.place),
        }
    }

    /// The index of the first entry that is not before a place.
    fn first_from(&self, place: &CursorPlace) -> usize {
        match place {
            CursorPlace::Begin => 0,
            CursorPlace::End => self.len(),
            CursorPlace::Before(key) => self.entries.partition_point(|e| e.key < *key),
            CursorPlace::At(key, uid) => {
                let at = (key, uid);
                self.entries.partition_point(|e| (&e.key, &e.uid) < at)
            }
        }
    }

    /// The index of the first entry after a place.
    fn first_after(&self, place: &CursorPlace) -> usize {
        match place {
            CursorPlace::At(key, uid) => {
                let at = (key, uid);
                self.entries.partition_point(|e| (&e.key, &e.uid) <= at)
            }
            place => self.first_from(place),
        }
    }

    /// Returns the UIDs of a step, and the place after it. `origin`: 0 here, 1 begin, 2 end.
    ///
    /// # Errors
    /// [`QUERY_REFUSED`] for a step further than an end.
    pub(super) fn step(&self, origin: i32, count: i32) -> EdsResult<(Vec<String>, CursorPlace)> {
        let from = match origin {
            0 => self.place.clone(),
            1 => CursorPlace::Begin,
            2 => CursorPlace::End,
            _ => {
                let message = format!("{origin} is no origin of a step");
                return Err(EdsError::new(INVALID_ARGUMENT, message));
            }
        };
        let is_beyond = match from {
            CursorPlace::End => count > 0,
            CursorPlace::Begin => count < 0,
            _ => false,
        };
        if is_beyond {
            return Err(EdsError::new(QUERY_REFUSED, "the cursor is at the end"));
        }
        let wanted = count.unsigned_abs() as usize;
        let found: Vec<&CursorEntry> = if count >= 0 {
            let start = self.first_after(&from);
            self.entries.iter().skip(start).take(wanted).collect()
        } else {
            let end = self.first_from(&from);
            self.entries[..end].iter().rev().take(wanted).collect()
        };
        let place = match found.last() {
            _ if found.len() < wanted && count > 0 => CursorPlace::End,
            _ if found.len() < wanted => CursorPlace::Begin,
            Some(last) => CursorPlace::At(last.key.clone(), last.uid.clone()),
            None => from,
        };
        Ok((found.iter().map(|e| e.uid.to_string()).collect(), place))
    }

    /// Moves before the first contact of a letter: 0 before all letters, 1 the first letter, and
    /// one more than there are letters before other scripts.
    ///
    /// # Errors
    /// [`INVALID_ARGUMENT`] for a number that no letter has.
    pub(super) fn move_to_letter(&mut self, index: usize, collator: &Collator) -> EdsResult<()> {
        let letters = collator.label_bounds();
        let bound = match index.checked_sub(1) {
            None => {
                self.place = CursorPlace::Begin;
                return Ok(());
            }
            Some(letter) if letter < letters.len() => letters[letter].clone(),
            Some(letter) if letter == letters.len() => other_scripts(collator),
            Some(_) => {
                let message = format!("there is no letter {index}");
                return Err(EdsError::new(INVALID_ARGUMENT, message));
            }
        };
        let is_descending = self.fields.first().is_some_and(|f| f.is_descending);
        let bound = std::iter::once(PRESENT).chain(bound);
        let bound = match is_descending {
            true => bound.map(|byte| !byte).collect(),
            false => bound.collect(),
        };
        self.place = CursorPlace::Before(bound);
        Ok(())
    }
}

/// The smallest key after Latin letters: that of the first Greek letter.
fn other_scripts(collator: &Collator) -> Vec<u8> {
    let mut key = collator.sort_key(&["Α"]);
    // The weights of accents and case follow the level separator.
    key.truncate(key.iter().position(|&byte| byte == 1).unwrap_or(0));
    key
}

/// The first byte of the key of a value; that of an absent value, which is before all others, is 1.
const PRESENT: u8 = 2;

/// Appends a sort key, which has no byte 0, so that a shorter key is before a longer one.
fn push_key(out: &mut Vec<u8>, key: Option<&[u8]>, is_descending: bool) {
    let marker = [if key.is_some() { PRESENT } else { 1 }];
    let ended = marker.iter().chain(key.unwrap_or_default()).chain(&[0]);
    // Inverted bytes sort in descending order.
    match is_descending {
        true => out.extend(ended.map(|byte| !byte)),
        false => out.extend(ended),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str], is_descending: bool) -> (CursorList, Collator) {
        let collator = Collator::new("en").unwrap();
        let field = ContactField::sort_field("family_name").unwrap();
        let fields = vec![SortField {
            field,
            is_descending,
        }];
        let token = "0.0.0".parse().unwrap();
        let mut list = CursorList::new(ContactQuery::All, fields, token);
        for (id, name) in names.iter().enumerate() {
            let text = format!("BEGIN:VCARD\nUID:{name}\nN:{name}\nFN:x\nEND:VCARD\n");
            let id = RecordId(id as i64 + 1);
            let entry = list.entry_of(id, (*name).to_owned(), text.as_bytes(), &collator);
            list.update(id, entry);
        }
        (list, collator)
    }

    #[test]
    fn steps_land_on_contacts_or_ends() {
        let (mut list, _) = list(&["Cold", "Ärger", "Bird"], false);
        assert_eq!((list.len(), list.position()), (3, 0));
        let (uids, place) = list.step(0, 2).unwrap();
        assert_eq!(uids, ["Ärger", "Bird"]);
        list.place = place;
        assert_eq!(list.position(), 2);
        let (uids, place) = list.step(0, 5).unwrap();
        assert_eq!(
            (uids, place.clone()),
            (vec!["Cold".to_owned()], CursorPlace::End)
        );
        list.place = place;
        assert_eq!(list.position(), 4);
        assert!(list.step(0, 1).is_err());
        let (uids, _) = list.step(2, -2).unwrap();
        assert_eq!(uids, ["Cold", "Bird"]);
        list.place = CursorPlace::Begin;
        assert!(list.step(0, -1).is_err());
    }

    #[test]
    fn a_place_survives_its_contact() {
        let (mut list, _) = list(&["A", "B", "C"], false);
        (_, list.place) = list.step(0, 2).unwrap();
        list.update(RecordId(2), None);
        assert_eq!((list.len(), list.position()), (2, 1));
        assert_eq!(list.step(0, 1).unwrap().0, ["C"]);
        assert_eq!(list.step(0, -1).unwrap().0, ["A"]);
    }

    #[test]
    fn letters_have_positions() {
        let (mut list, collator) = list(&["1", "Ärger", "Bird", "Zulu", "Ωmega"], false);
        for (index, position) in [(0, 0), (1, 1), (2, 2), (3, 3), (26, 3), (27, 4)] {
            list.move_to_letter(index, &collator).unwrap();
            assert_eq!(list.position(), position, "{index}");
        }
        assert!(list.move_to_letter(28, &collator).is_err());
    }

    #[test]
    fn descending_keys_reverse() {
        let (list, _) = list(&["An", "Anna", "B"], true);
        assert_eq!(list.step(1, 3).unwrap().0, ["B", "Anna", "An"]);
    }
}
