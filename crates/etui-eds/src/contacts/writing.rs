//! Saving and removing contacts.

use std::collections::{HashMap, HashSet};

use etui::contacts::{Card, Contact};
use etui::{Condition, Error};

use super::book::Book;
use super::incoming::IncomingCard;
use super::outgoing::{publish_pictures, revision_of};
use crate::error::{CONTACT_EXISTS, CONTACT_NOT_FOUND, EdsError, EdsResult, OTHER, OUT_OF_SYNC};

/// The operation flag by which a conflict fails.
const CONFLICT_FAILS: u32 = 1;
/// How often a save is tried again if another program changes the same contacts meanwhile.
const ATTEMPTS: usize = 5;

impl Book {
    /// Adds contacts, all or none, and returns their UIDs.
    pub(super) fn create_contacts(&self, texts: Vec<String>) -> EdsResult<Vec<String>> {
        let mut cards = Vec::with_capacity(texts.len());
        let mut uids = Vec::with_capacity(texts.len());
        let mut given = HashSet::new();
        for text in texts {
            let incoming = IncomingCard::parse(text)?;
            let uid = incoming.uid.clone().unwrap_or_else(|| self.new_uid());
            if !given.insert(uid.clone()) {
                return Err(contact_exists(&uid));
            }
            let has_rev = incoming
                .revision
                .as_ref()
                .is_some_and(|rev| !rev.is_empty());
            let revision = (!has_rev).then(|| self.new_rev());
            let none = &|_: &str| None;
            cards.push(incoming.to_stored(
                &uid,
                revision.as_deref(),
                None,
                &self.pictures,
                none,
            )?);
            uids.push(uid);
        }
        let absent = |card| (card, Condition::IfAbsent);
        let batch: Vec<(&Card, Condition)> = cards.iter().map(absent).collect();
        let contacts = self.contacts()?;
        let has_views = !self.views().is_empty();
        let before = has_views.then(|| self.server.store.token()).transpose();
        let before = before.map_err(|e| EdsError::of_book(&e))?;
        contacts.save_many(&batch).map_err(|e| match e {
            Error::BatchConflict { uid, .. } => contact_exists(&uid),
            e => EdsError::of_book(&e),
        })?;
        for card in &cards {
            publish_pictures(card.text(), &self.pictures);
        }
        if let Some(before) = before {
            self.told.expect_since(&contacts, &before);
        }
        self.refresh_revision()?;
        Ok(uids)
    }

    /// Replaces contacts, all or none.
    pub(super) fn modify_contacts(&self, texts: Vec<String>, flags: u32) -> EdsResult<()> {
        let guarded = self.source.guards_revisions() || flags & CONFLICT_FAILS != 0;
        // Of a contact that is given twice, the first card counts, as in the stock server.
        let mut first = HashMap::new();
        for (place, text) in texts.into_iter().enumerate() {
            let incoming = IncomingCard::parse(text)?;
            let uid = incoming.uid.clone();
            let uid = uid.ok_or_else(|| EdsError::new(OTHER, "the contact has no UID"))?;
            first.entry(uid).or_insert((place, incoming));
        }
        let mut incoming: Vec<_> = first.into_iter().collect();
        // The map has lost the order of the request.
        incoming.sort_by_key(|(_, (place, _))| *place);
        let incoming: Vec<_> = incoming
            .into_iter()
            .map(|(uid, (_, card))| (uid, card))
            .collect();
        for _ in 0..ATTEMPTS {
            if self.replace_once(&incoming, guarded)? {
                return self.refresh_revision();
            }
        }
        Err(EdsError::new(
            OUT_OF_SYNC,
            "another program changes the contact at the same time",
        ))
    }

    /// Returns false if another program changed one of the contacts meanwhile.
    fn replace_once(&self, incoming: &[(String, IncomingCard)], guarded: bool) -> EdsResult<bool> {
        let contacts = self.contacts()?;
        let uids: Vec<&str> = incoming.iter().map(|(uid, _)| uid.as_str()).collect();
        let stored = contacts
            .get_many(&uids)
            .map_err(|e| EdsError::of_book(&e))?;
        let mut cards = Vec::with_capacity(incoming.len());
        for ((uid, card), stored) in incoming.iter().zip(stored) {
            let stored = stored.ok_or_else(|| no_contact(uid))?;
            if guarded {
                expect_revision(card, &stored)?;
            }
            let revision = self.new_rev();
            let old = Some(stored.text.as_slice());
            let find = &|uid: &str| self.member(uid);
            let new = card.to_stored(uid, Some(&revision), old, &self.pictures, find)?;
            cards.push((new, Condition::IfMatch(stored.etag)));
        }
        let batch: Vec<(&Card, Condition)> = cards
            .iter()
            .map(|(card, condition)| (card, *condition))
            .collect();
        match contacts.save_many(&batch) {
            Ok(_) => {
                for (card, _) in &cards {
                    publish_pictures(card.text(), &self.pictures);
                }
                Ok(true)
            }
            Err(Error::BatchConflict { .. }) => Ok(false),
            Err(e) => Err(EdsError::of_book(&e)),
        }
    }

    /// Removes contacts, all or none: one that is not there refuses all, as in the stock server.
    pub(super) fn remove_contacts(&self, uids: &[String]) -> EdsResult<()> {
        let store_error = |e: Error| EdsError::of_book(&e);
        let contacts = self.contacts()?;
        let asked: Vec<&str> = uids.iter().map(String::as_str).collect();
        let found = contacts.get_many(&asked).map_err(store_error)?;
        if let Some((uid, _)) = uids.iter().zip(&found).find(|(_, found)| found.is_none()) {
            return Err(no_contact(uid));
        }
        contacts.remove_many(uids).map_err(store_error)?;
        self.refresh_revision()
    }
}

/// Refuses a card whose REV is not that of the stored one.
fn expect_revision(card: &IncomingCard, stored: &Contact) -> EdsResult<()> {
    let parsed = stored
        .card()
        .map_err(|e| EdsError::new(OTHER, e.to_string()))?;
    if card.revision.as_deref() == Some(revision_of(&stored.text, &parsed).as_str()) {
        return Ok(());
    }
    Err(EdsError::new(
        OUT_OF_SYNC,
        format!("the contact \"{}\" was changed meanwhile", stored.uid),
    ))
}

/// The error for a UID that no contact has.
pub(super) fn no_contact(uid: &str) -> EdsError {
    EdsError::new(
        CONTACT_NOT_FOUND,
        format!("there is no contact with UID \"{uid}\""),
    )
}

fn contact_exists(uid: &str) -> EdsError {
    EdsError::new(
        CONTACT_EXISTS,
        format!("a contact with UID \"{uid}\" exists"),
    )
}
