//! [`Book`]: a collection of the store as an address book of the desktop.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use etui::contacts::{Card, Contacts};

use super::cursor::CursorState;
use super::cursor_list::SortedContacts;
use super::pictures::PictureCache;
use super::view::BookView;
use crate::collections::{adopt_collection, find_collection};
use crate::error::{EdsError, EdsResult, OTHER};
use crate::server::shared::Server;
use crate::server::told::Told;
use crate::sources::{Source, SourceKind};

/// An opened address book, shared by its object, views and cursors.
pub(super) struct Book {
    pub(super) server: Arc<Server>,
    pub(super) source: Source,
    /// Its object on the bus.
    pub(super) path: String,
    pub(super) pictures: PictureCache,
    opened: Contacts,
    /// The sequence number of the latest change announced to clients.
    revision: AtomicI64,
    /// Counts the REVs that were made, so that two of one second differ.
    revisions_made: AtomicU32,
    views: Mutex<Vec<Arc<BookView>>>,
    /// How far the views were told of changes.
    pub(super) told: Told,
    cursors: Mutex<Vec<Arc<CursorState>>>,
    sorted_contacts: Mutex<Option<SortedContacts>>,
}

impl Book {
    /// Opens the collection of a source; makes it if the source is new.
    pub(super) fn open(server: Arc<Server>, source: Source, path: String) -> EdsResult<Self> {
        let collection = adopt_collection::<Card>(&server.store, SourceKind::AddressBook, &source)
            .map_err(|e| EdsError::of_book(&e))?;
        let book = Self {
            opened: collection,
            pictures: PictureCache::new(server.options.cache_dir.join("pictures")),
            revision: AtomicI64::new(0),
            revisions_made: AtomicU32::new(0),
            views: Mutex::default(),
            told: Told::default(),
            cursors: Mutex::default(),
            sorted_contacts: Mutex::default(),
            server,
            source,
            path,
        };
        book.refresh_revision()?;
        Ok(book)
    }

    /// Returns the collection.
    pub(super) fn contacts(&self) -> EdsResult<Contacts> {
        let store = &self.server.store;
        let uid = self.source.uid.as_str();
        match find_collection(store, SourceKind::AddressBook, uid) {
            Ok(Some(contacts)) => Ok(contacts),
            Ok(None) => Err(EdsError::new(OTHER, "the address book was removed")),
            Err(e) => Err(EdsError::of_book(&e)),
        }
    }

    /// Returns the collection as it was opened, without looking for it.
    pub(super) fn opened_contacts(&self) -> &Contacts {
        &self.opened
    }

    /// The text that differs after every change of the book.
    pub(super) fn revision(&self) -> String {
        self.revision.load(Ordering::Acquire).to_string()
    }

    /// Takes the store's latest change as the revision; after a save of this process.
    pub(super) fn refresh_revision(&self) -> EdsResult<()> {
        let token = self.server.store.token();
        let token = token.map_err(|e| EdsError::of_book(&e))?;
        self.advance_revision(token.seq);
        Ok(())
    }

    /// Advances the revision; returns false if this change was announced before.
    pub(super) fn advance_revision(&self, seq: i64) -> bool {
        // Another thread may have announced a later change.
        self.revision.fetch_max(seq, Ordering::AcqRel) < seq
    }

    /// Returns a REV that differs from every other: `2026-11-22T19:37:53Z(7)`.
    pub(super) fn new_rev(&self) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs());
        let count = self.revisions_made.fetch_add(1, Ordering::Relaxed);
        format!("{}({count})", utc_text(now))
    }

    /// Returns a UID for a card without one.
    pub(super) fn new_uid(&self) -> String {
        let mut bytes = [0; 16];
        let random = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        // Without random bits the revision makes it unique, which differs every time.
        if random.is_err() {
            bytes = blake3::hash(self.new_rev().as_bytes()).as_bytes()[..16]
                .try_into()
                .unwrap_or_default();
        }
        let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("pas-id-{digits}")
    }

    /// The views of all clients.
    pub(super) fn views(&self) -> MutexGuard<'_, Vec<Arc<BookView>>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The contacts as the last cursor on all of them had them.
    pub(super) fn sorted_contacts(&self) -> MutexGuard<'_, Option<SortedContacts>> {
        let sorted = self.sorted_contacts.lock();
        sorted.unwrap_or_else(PoisonError::into_inner)
    }

    /// The cursors of all clients.
    pub(super) fn cursors(&self) -> MutexGuard<'_, Vec<Arc<CursorState>>> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes seconds since 1970 as `2026-11-22T19:37:53Z`.
fn utc_text(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days of eras of 400 years, counted from 1 March of year 0 (Howard Hinnant, "chrono-Compatible
    // Low-Level Date Algorithms", civil_from_days).
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = match shifted_month {
        0..=9 => shifted_month + 3,
        _ => shifted_month - 9,
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(utc_text(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc_text(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc_text(1_795_376_273), "2026-11-22T19:37:53Z");
    }
}
