//! Writing: saved, removed, brought back; one is a batch of one.

use super::Contacts;
use super::card::Card;
use crate::collection::{Condition, Saved};
use crate::error::Result;

impl Contacts<'_> {
    /// Saves a contact: adds it, or replaces the one with its UID.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn save(&self, card: &Card) -> Result<Saved> {
        self.shelf.save_if(card, Condition::Always)
    }

    /// Saves a contact if `condition` holds.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) when it does not hold; whatever writing
    /// reports.
    pub fn save_if(&self, card: &Card, condition: Condition) -> Result<Saved> {
        self.shelf.save_if(card, condition)
    }

    /// Saves `card` as the record `uid` if `condition` holds. For cards without a UID of their
    /// own: an edit changes the identity that their content gave them, but not the record.
    ///
    /// # Errors
    /// [`Error::OtherUid`](crate::Error::OtherUid) when the card has another UID;
    /// [`Error::Conflict`](crate::Error::Conflict); whatever writing reports.
    pub fn save_as(&self, uid: &str, card: &Card, condition: Condition) -> Result<Saved> {
        self.shelf.save_as(uid, card, condition)
    }

    /// Saves many contacts in one transaction: all of them, or, on an error, none.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn save_many<'c>(&self, cards: impl IntoIterator<Item = &'c Card>) -> Result<Vec<Saved>> {
        self.shelf.save_many(cards)
    }

    /// Saves many contacts in one transaction, each on its own condition: those whose condition
    /// does not hold are left out and told of, the others go in.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn save_each(&self, cards: &[(&Card, Condition)]) -> Result<Vec<Result<Saved>>> {
        self.shelf.save_each(cards)
    }

    /// Removes a contact; it can be brought back for 30 days.
    ///
    /// # Errors
    /// [`Error::NoRecord`](crate::Error::NoRecord); whatever writing reports.
    pub fn remove(&self, uid: &str) -> Result<()> {
        self.shelf.remove_if(uid, Condition::Always)
    }

    /// Removes a contact if `condition` holds.
    ///
    /// # Errors
    /// [`Error::NoRecord`](crate::Error::NoRecord),
    /// [`Error::Conflict`](crate::Error::Conflict); whatever writing reports.
    pub fn remove_if(&self, uid: &str, condition: Condition) -> Result<()> {
        self.shelf.remove_if(uid, condition)
    }

    /// Removes many contacts in one transaction; tells of each whether it was there.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn remove_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<bool>> {
        self.shelf.remove_many(uids)
    }

    /// Undoes a contact's latest change: a removed one comes back, an edited one gets the text
    /// it had before. Undoing an edit twice brings the edit back.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`](crate::Error::NothingToUndo); whatever writing reports.
    pub fn restore(&self, uid: &str) -> Result<Saved> {
        self.shelf.restore(uid)
    }

    /// Undoes the latest change of many contacts in one transaction; `None` where there is
    /// nothing to bring back.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn restore_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<Saved>>> {
        self.shelf.restore_many(uids)
    }
}
