//! [`CursorState`]: a sorted list of contacts that a client steps through.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etui::text::collator::{Collator, locale_from_environment};
use etui::{ChangeKind, Changes};
use etui_bus::GuardedObject;
use zbus::interface;

use super::book::Book;
use super::cursor_list::{CursorList, SortField};
use super::fields::{ContactField, SUPPORTED_FIELDS};
use super::query::ContactQuery;
use crate::error::{EdsError, EdsResult, INVALID_ARGUMENT, INVALID_QUERY, OTHER, OUT_OF_SYNC};
use crate::server::guard::answer_on_worker;
use crate::server::text_array::TextArray;

/// The flag of a step by which the cursor moves.
const MOVE: i32 = 1;
/// The flag of a step by which contacts are returned.
const FETCH: i32 = 2;

/// A cursor of one client.
pub(super) struct CursorState {
    book: Arc<Book>,
    path: String,
    collator: Collator,
    list: Mutex<CursorList>,
}

/// The number of contacts, and the cursor's position among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Totals {
    total: u32,
    position: u32,
}

/// The answer to a step.
type StepReply = (i32, Vec<String>, u32, u32);

impl CursorState {
    /// Opens a cursor before the first contact.
    pub(super) fn open(
        book: Arc<Book>,
        path: String,
        query: &str,
        keys: &[String],
        types: &[String],
    ) -> EdsResult<Self> {
        let fields = sort_fields(keys, types)?;
        let query = ContactQuery::parse(query)?;
        let collator = Collator::new(&locale_from_environment())
            .map_err(|e| EdsError::new(OTHER, e.to_string()))?;
        let token = book.server.store.token();
        let token = token.map_err(|e| EdsError::of_book(&e))?;
        let cursor = Self {
            list: Mutex::new(CursorList::new(query, fields, token)),
            collator,
            book,
            path,
        };
        let sorted = cursor.book.sorted_contacts().take();
        let mut list = cursor.list();
        match sorted.is_some_and(|sorted| list.adopt(sorted)) {
            true => cursor.catch_up(&mut list)?,
            false => cursor.reload(&mut list)?,
        }
        drop(list);
        Ok(cursor)
    }

    fn list(&self) -> MutexGuard<'_, CursorList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all matching contacts again.
    fn reload(&self, list: &mut CursorList) -> EdsResult<()> {
        let token = self.book.server.store.token();
        list.token = token.map_err(|e| EdsError::of_book(&e))?;
        let query = list.query.clone();
        let mut entries = Vec::new();
        self.book.for_each_match(&query, |found| {
            let uid = self.book.uid_of_match(&found);
            entries.extend(list.entry_of(found.id, uid, found.text, &self.collator));
        })?;
        list.replace(entries);
        Ok(())
    }

    /// Applies the changes since the list was read last.
    fn catch_up(&self, list: &mut CursorList) -> EdsResult<()> {
        let store_error = |e: etui::Error| EdsError::of_book(&e);
        let now = self.book.server.store.token().map_err(store_error)?;
        if now == list.token {
            return Ok(());
        }
        let contacts = self.book.contacts()?;
        let changes = match contacts.changes_since(&list.token).map_err(store_error)? {
            Changes::Since(changes) => changes,
            Changes::Resynchronise => return self.reload(list),
        };
        for change in changes {
            let found = match change.kind {
                ChangeKind::Removed => None,
                _ => contacts.get(&change.uid).map_err(store_error)?,
            };
            let entry = found.and_then(|contact| {
                let card = contact.card().ok()?;
                let matching = list.query.matches(&contact.uid, &card);
                let uid = contact.uid.clone();
                matching.then(|| list.entry_of(contact.id, uid, &contact.text, &self.collator))?
            });
            list.update(change.id, entry);
        }
        list.token = now;
        Ok(())
    }

    /// Returns the totals now; those of the last time if the store cannot be read.
    fn totals(&self) -> Totals {
        let mut list = self.list();
        if let Err(error) = self.catch_up(&mut list) {
            tracing::warn!("a cursor was not updated: {error}");
        }
        totals_of(&list)
    }

    fn step(&self, guard: &str, flags: i32, origin: i32, count: i32) -> EdsResult<StepReply> {
        let mut list = self.list();
        self.catch_up(&mut list)?;
        if guard != self.book.revision() {
            return Err(EdsError::new(
                OUT_OF_SYNC,
                "the address book was changed meanwhile",
            ));
        }
        let (uids, place) = list.step(origin, count)?;
        let mut cards = TextArray::default();
        if flags & FETCH != 0 {
            for uid in &uids {
                cards.push(self.book.contact(uid)?.text);
            }
        }
        let cards = cards.finish()?;
        let stepped = i32::try_from(uids.len()).unwrap_or(i32::MAX);
        if flags & MOVE != 0 {
            list.place = place;
        }
        let totals = totals_of(&list);
        Ok((stepped, cards, totals.total, totals.position))
    }

    fn set_alphabetic_index(&self, index: u32, locale: &str) -> EdsResult<Totals> {
        if locale != posix_locale() {
            return Err(EdsError::new(
                OUT_OF_SYNC,
                format!(
                    "the address book is sorted for the locale {}",
                    posix_locale()
                ),
            ));
        }
        let mut list = self.list();
        self.catch_up(&mut list)?;
        list.move_to_letter(index as usize, &self.collator)?;
        Ok(totals_of(&list))
    }

    fn set_query(&self, query: &str) -> EdsResult<Totals> {
        let query = ContactQuery::parse(query)?;
        let mut list = self.list();
        list.query = query;
        self.reload(&mut list)?;
        Ok(totals_of(&list))
    }

    /// Announces another total or position to the client.
    pub(super) async fn announce_changes(self: &Arc<Self>) {
        let totals = self.totals();
        let told = self.list().told.replace((totals.total, totals.position));
        let (total_differs, position_differs) = match told {
            Some((total, position)) => (total != totals.total, position != totals.position),
            None => (true, true),
        };
        let objects = self.book.server.connection.object_server();
        let object = objects.interface::<_, GuardedObject<AddressBookCursor>>(self.path.as_str());
        let Ok(object) = object.await else { return };
        let emitter = object.signal_emitter();
        let guarded = object.get().await;
        let cursor = guarded.object();
        if total_differs {
            let _ = cursor.total_changed(emitter).await;
        }
        if position_differs {
            let _ = cursor.position_changed(emitter).await;
        }
    }

    /// Ends the cursor: `Dispose`, or its owner left the bus.
    pub(super) async fn drop_object(self: Arc<Self>) {
        self.book.server.remove_owned(&self.path);
        self.book
            .cursors()
            .retain(|other| !Arc::ptr_eq(other, &self));
        if let Some(sorted) = self.list().take_sorted() {
            *self.book.sorted_contacts() = Some(sorted);
        }
        let objects = self.book.server.connection.object_server();
        let _ = objects
            .remove::<AddressBookCursor, _>(self.path.as_str())
            .await;
    }
}

fn totals_of(list: &CursorList) -> Totals {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Totals {
        total: number(list.len()),
        position: number(list.position()),
    }
}

fn sort_fields(keys: &[String], types: &[String]) -> EdsResult<Vec<SortField>> {
    let refuse = |code, message: String| Err(EdsError::new(code, message));
    if keys.len() != types.len() {
        return refuse(INVALID_ARGUMENT, "each sort key needs a type".to_owned());
    }
    if keys.is_empty() {
        return refuse(INVALID_QUERY, "a cursor needs a sort key".to_owned());
    }
    let mut fields = Vec::with_capacity(keys.len());
    for (key, order) in keys.iter().zip(types) {
        if !SUPPORTED_FIELDS
            .split_whitespace()
            .any(|field| field == key)
        {
            return refuse(INVALID_ARGUMENT, format!("there is no field \"{key}\""));
        }
        let is_descending = match order.as_str() {
            "ascending" => false,
            "descending" => true,
            _ => return refuse(INVALID_ARGUMENT, format!("there is no order \"{order}\"")),
        };
        let Some(field) = ContactField::sort_field(key) else {
            return refuse(
                INVALID_QUERY,
                format!("contacts are not sorted by \"{key}\""),
            );
        };
        fields.push(SortField {
            field,
            is_descending,
        });
    }
    Ok(fields)
}

/// The object of a cursor.
pub(super) struct AddressBookCursor(pub(super) Arc<CursorState>);

#[interface(
    name = "org.gnome.evolution.dataserver.AddressBookCursor",
    introspection_docs = false
)]
impl AddressBookCursor {
    #[zbus(out_args("n_results", "vcards", "new_total", "new_position"))]
    async fn step(
        &self,
        revision_guard: String,
        flags: i32,
        origin: i32,
        count: i32,
    ) -> Result<(i32, Vec<String>, u32, u32), EdsError> {
        let cursor = self.0.clone();
        let stepped =
            answer_on_worker(move || cursor.step(&revision_guard, flags, origin, count)).await?;
        self.0.announce_changes().await;
        Ok(stepped)
    }

    #[zbus(out_args("total", "position"))]
    async fn set_alphabetic_index(
        &self,
        index: u32,
        locale: String,
    ) -> Result<(u32, u32), EdsError> {
        let cursor = self.0.clone();
        let totals = answer_on_worker(move || cursor.set_alphabetic_index(index, &locale)).await?;
        self.0.announce_changes().await;
        Ok((totals.total, totals.position))
    }

    #[zbus(out_args("total", "position"))]
    async fn set_query(&self, query: String) -> Result<(u32, u32), EdsError> {
        let cursor = self.0.clone();
        let totals = answer_on_worker(move || cursor.set_query(&query)).await?;
        self.0.announce_changes().await;
        Ok((totals.total, totals.position))
    }

    async fn dispose(&self) -> Result<(), EdsError> {
        // The object is removed after this call, which borrows it.
        zruntime::spawn(self.0.clone().drop_object()).detach();
        Ok(())
    }

    #[zbus(property)]
    fn total(&self) -> u32 {
        self.0.totals().total
    }

    #[zbus(property)]
    fn position(&self) -> u32 {
        self.0.totals().position
    }
}

/// The locale of sorting, as the environment has it: `de_DE.UTF-8`.
pub(super) fn posix_locale() -> String {
    ["LC_ALL", "LC_COLLATE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_else(|| "C".to_owned())
}
