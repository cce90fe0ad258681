//! Merging several contacts of an address book into one.

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
}

impl Contacts<'_> {
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
        Ok(first.merge_with(others, phone_key)?)
    }

    /// Merges contacts of this address book into the first of them ([`Card::merge_with`]), and moves
    /// the others to the trash, in one transaction. The first keeps its id and UID. Restoring all of
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
        if ids.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(Error::NothingToMerge);
        }
        let mut merged = self.preview_merge(contacts)?;
        if merged.card.uid().is_none() {
            // The content gave it its identity, and changes.
            merged.card.set("UID", &first.uid)?;
        }
        let bytes = merged.card.text().len();
        let one = IndexedRecord::new(&merged.card, &self.db().index_context());
        let one = one.with_uid(&first.uid);
        let size = TransactionSize::of(contacts.len(), bytes);
        let saved = self.write(size, |conn, writing| {
            let saved = one.put(conn, writing, self.id(), Condition::IfMatch(first.etag))?;
            for other in others {
                let condition = Condition::IfMatch(other.etag);
                records::remove(conn, writing, self.id(), &other.uid, condition)?;
            }
            Ok(saved)
        })?;
        drop(one);
        Ok(MergedContacts { saved, merged })
    }
}
