//! Merging several contacts of an address book into one.

use rusqlite::Connection;

use etui_text::phone::PhoneNumber;
use etui_vcard::MergedCard;

use super::{Card, Contact, Contacts};
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::prepared::IndexedRecord;
use crate::record::records;
use crate::types::{Condition, SavedRecord};

/// The result of [`Contacts::merge`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedContacts {
    /// The first contact as it was saved.
    pub saved: SavedRecord,
    /// Its card, and the lines of the others that were not taken.
    pub merged: MergedCard,
    /// Other contacts of the address book, with lines that named a merged one and now name the first:
    /// groups (MEMBER, X-ADDRESSBOOKSERVER-MEMBER) and relations (RELATED). They are given as they were.
    pub repaired: Vec<Contact>,
}

impl Contacts {
    /// Returns the card that [`Contacts::merge`] would save. Nothing is written.
    ///
    /// # Errors
    /// [`Error::Card`] if one of the contacts is no vCard, or if the result were too large.
    pub fn preview_merge(&self, contacts: &[Contact]) -> Result<MergedCard> {
        let mut cards: Vec<Card> = Vec::with_capacity(contacts.len());
        for contact in contacts {
            cards.push(contact.card()?);
        }
        let Some((first, others)) = cards.split_first() else {
            return Err(Error::NothingToMerge);
        };
        let region = self.db().region();
        let phone_key = |text: &str| {
            let number = PhoneNumber::parse(text, region)?;
            let extension = number.extension().unwrap_or_default();
            Some(format!("{} {extension}", number.digits()))
        };
        let mut merged = first.merge_with(others, phone_key)?;
        if let Some((first, others)) = contacts.split_first() {
            let card = &mut merged.card;
            card.replace_references(&uids_of(others), &first.uid)?;
        }
        Ok(merged)
    }

    /// Merges contacts of this address book into the first of them ([`Card::merge_with`]), and moves
    /// the others to the trash, in one transaction. The first keeps its id and UID, and lines of other
    /// contacts that name a merged one by UID (MEMBER, X-ADDRESSBOOKSERVER-MEMBER, RELATED) name it from
    /// then on; finding them reads the address book once. Restoring all of
    /// them ([`Collection::restore_many`](crate::record::Collection::restore_many)) undoes it.
    ///
    /// ```
    /// # use etui::{Store, contacts::Card};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// let contacts = store.contacts()?;
    /// for (uid, more) in [("1", "TEL:+44 20 7946 0123"), ("2", "EMAIL:ada@example.org")] {
    ///     let text = format!("BEGIN:VCARD\nVERSION:4.0\nUID:{uid}\nFN:Ada Lovelace\n{more}\nEND:VCARD\n");
    ///     contacts.save(&Card::parse(text)?)?;
    /// }
    /// let both: Vec<_> = contacts.get_many(&["1", "2"])?.into_iter().flatten().collect();
    /// let merged = contacts.merge(&both)?.merged;
    /// assert_eq!(merged.card.emails()[0].value, "ada@example.org");
    /// assert_eq!(merged.left_out, ["UID:2"]);
    /// assert_eq!(contacts.count()?, 1);
    ///
    /// contacts.restore_many(&["1", "2"])?;
    /// assert_eq!(contacts.count()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NothingToMerge`] for fewer than two contacts, or one given twice; [`Error::Conflict`] if
    /// one of them was changed or removed since it was read; as [`Contacts::preview_merge`]; any
    /// write error. Nothing is changed then.
    pub fn merge(&self, contacts: &[Contact]) -> Result<MergedContacts> {
        let Some((first, others)) = contacts.split_first().filter(|(_, o)| !o.is_empty()) else {
            return Err(Error::NothingToMerge);
        };
        let mut ids: Vec<_> = contacts.iter().map(|contact| contact.id).collect();
        ids.sort_unstable();
        // A contact that was given twice would be removed after it is saved.
        if ids.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(Error::NothingToMerge);
        }
        let mut merged = self.preview_merge(contacts)?;
        if merged.card.uid().is_none() {
            // The content gave it its identity, and changes.
            merged.card.set("UID", &first.uid)?;
        }
        let old: Vec<&str> = uids_of(others);
        let bytes = merged.card.text().len();
        let one = IndexedRecord::new(&merged.card, &self.db().index_context());
        let one = one.with_uid(&first.uid);
        let size = TransactionSize::of(contacts.len(), bytes);
        let (saved, repaired) = self.write(size, |conn, writing| {
            let saved = one.put(conn, writing, self.number(), Condition::IfMatch(first.etag))?;
            for other in others {
                let condition = Condition::IfMatch(other.etag);
                records::remove(conn, writing, self.number(), &other.uid, condition)?;
            }
            let mut repaired = Vec::new();
            // After the removal: the cards that are merged away need no new references.
            for (other, card) in self.referring_cards(conn, &old, &first.uid)? {
                let new = IndexedRecord::new(&card, &self.db().index_context());
                let new = new.with_uid(&other.uid);
                new.put(conn, writing, self.number(), Condition::Always)?;
                repaired.push(other);
            }
            Ok((saved, repaired))
        })?;
        // It borrows the card that is returned.
        drop(one);
        Ok(MergedContacts {
            saved,
            merged,
            repaired,
        })
    }

    /// Returns the contacts that name one of the UIDs `old`, with their cards naming `new` instead.
    fn referring_cards(
        &self,
        conn: &Connection,
        old: &[&str],
        new: &str,
    ) -> Result<Vec<(Contact, Card)>> {
        let mut statement = conn.prepare_cached(
            // In the order of the file; by way of `record_uid` they would have to be sorted.
            "SELECT id, uid, etag, text FROM record NOT INDEXED \
             WHERE collection = ?1 AND removed_at IS NULL",
        )?;
        let mut rows = statement.query([self.number()])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if !may_refer(row.get_ref(3)?.as_blob().unwrap_or_default()) {
                continue;
            }
            let contact = Contact::from_row(row)?;
            let Ok(mut card) = contact.card() else {
                continue;
            };
            if card.replace_references(old, new)? {
                found.push((contact, card));
            }
        }
        Ok(found)
    }
}

fn uids_of(contacts: &[Contact]) -> Vec<&str> {
    contacts
        .iter()
        .map(|contact| contact.uid.as_str())
        .collect()
}

/// Returns true if the text may have a property that names other cards: a search that is cheaper
/// than parsing every card.
fn may_refer(text: &[u8]) -> bool {
    [
        "MEMBER", "RELATED", "member", "related", "Member", "Related",
    ]
    .iter()
    .any(|name| memchr::memmem::find(text, name.as_bytes()).is_some())
}
