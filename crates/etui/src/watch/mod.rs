//! [`View`]: a filter whose changes are followed.
//!
//! A view is a filter and a position in the change log. Reading its changes compares, in one read
//! transaction, the records that matched at that position with those that match now (`diff`). So
//! several changes of one record are reported as one, a record added and removed in between is not
//! reported, and a slow reader holds up nobody.

mod diff;
mod dispatcher;
mod inotify_watch;
pub(crate) mod notifier;
mod subscription;

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::db::{Db, FixedState};
use crate::error::{Error, Result};
use crate::record::collection_table::{self, CollectionRef};
use crate::record::{Collection, Paging, Reader, changes};
use crate::search::filter::{Filter, Matcher};
use crate::search::query::{ListEntry, SearchableRecord};
use crate::types::{ChangeKind, RecordId, SyncToken};
pub(crate) use notifier::Notifier;
use subscription::Subscription;

/// A change of a record with respect to a view's filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewChange<S, F> {
    /// The sequence number of its latest change.
    pub number: i64,
    /// The record's id.
    pub id: RecordId,
    /// Its UID.
    pub uid: String,
    /// `Added`: the record matches now and did not before. `Changed`: it matched before and was
    /// edited. `Removed`: it no longer matches, or was removed.
    pub kind: ChangeKind,
    /// Its summary now; of a record removed from the store, its last summary.
    pub summary: S,
    /// For `Changed`: the fields whose searchable values differ. Empty if only others do, such as a
    /// photo.
    pub fields: Vec<F>,
}

/// The changes that a view reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewChanges<S, F> {
    /// Each changed record once, ordered by latest change.
    Since(Vec<ViewChange<S, F>>),
    /// The state at the view's position is not known any more: the change log was trimmed, or this is
    /// another copy of the store. Read all records again, for example with [`View::load`]. The view
    /// continues from now.
    Reset,
}

impl<S, F> ViewChanges<S, F> {
    /// Returns true if there are no changes.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Since(all) if all.is_empty())
    }
}

/// A page of matching records, and the changes up to exactly the state it was read in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedPage<S, F> {
    /// The changes since the view was last read, for pages loaded before.
    pub changes: ViewChanges<S, F>,
    /// The page in list order, with these changes.
    pub entries: Vec<ListEntry<S>>,
}

/// A filter whose changes are followed: records added, changed and removed by this process or any
/// other.
///
/// ```
/// # use etui::{ChangeKind, Store, contacts::{Card, Paging, ViewChanges}};
/// # let dir = tempfile::tempdir()?;
/// # let store = Store::open(dir.path().join("personal.etui"))?;
/// # let contacts = store.contacts()?;
/// let mut view = contacts.view(&"name:love*".parse()?)?;
/// let first = view.load(Paging::first(50))?;               // the records to show
/// # assert!(first.entries.is_empty());
///
/// let ada = Card::parse("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:ada\r\nFN:Ada Lovelace\r\nEND:VCARD\r\n")?;
/// contacts.save(&ada)?;                                  // here, or in another process
///
/// if let Some(ViewChanges::Since(changes)) = view.wait(None)? {
///     assert_eq!(changes[0].kind, ChangeKind::Added);
///     assert_eq!(changes[0].summary.name, "Ada Lovelace");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A view shares the store, and may move to a thread. [`Store::close`](crate::Store::close) ends its waiting;
/// reading it is [`Error::Closed`] from then on.
pub struct View<R: SearchableRecord> {
    db: Arc<Db>,
    collection: CollectionRef,
    filter: Filter<R::Field>,
    subscription: Arc<Subscription>,
}

/// A token of no store, from which every view starts with a reset.
const UNKNOWN_TOKEN: SyncToken = SyncToken {
    store: 0,
    incarnation: 0,
    seq: 0,
    listing: None,
};

impl<R: SearchableRecord> Collection<R> {
    /// Opens a view of `filter` that starts now.
    ///
    /// # Errors
    /// Whatever reading, or starting a thread, reports.
    pub fn view(&self, filter: &Filter<R::Field>) -> Result<View<R>> {
        let view = self.open_view(filter, UNKNOWN_TOKEN)?;
        // Before the token is read: a change after it wakes the view again.
        let reading = view.subscription.begin_read();
        let now = self.db().read_transaction(changes::token)?;
        reading.finish(now);
        Ok(view)
    }

    /// Opens a view of `filter` that starts at `token`: a token of the store, or the last one of an
    /// earlier view ([`View::token`]). If the collection was created, restored or made the default
    /// after the token, the view starts with [`ViewChanges::Reset`].
    ///
    /// # Errors
    /// Whatever reading, or starting a thread, reports.
    pub fn view_since(&self, filter: &Filter<R::Field>, token: SyncToken) -> Result<View<R>> {
        let since = self
            .db()
            .read(|conn| collection_table::history_start(conn, self.number()))?;
        // At the token, the collection's name may have referred to another collection.
        let from = if token.seq < since {
            UNKNOWN_TOKEN
        } else {
            token
        };
        self.open_view(filter, from)
    }

    fn open_view(&self, filter: &Filter<R::Field>, token: SyncToken) -> Result<View<R>> {
        self.db().ensure_indexed()?;
        let matcher = Arc::new(Matcher::new(filter, self.db().region()));
        let subscription = Subscription::new(self.number(), matcher, token);
        self.db()
            .cache::<Notifier>()
            .subscribe(self.db(), &subscription)?;
        Ok(View {
            db: Arc::clone(self.db()),
            collection: self.collection_ref().clone(),
            filter: filter.clone(),
            subscription,
        })
    }
}

/// The changes that a view of `R` reports.
type ChangesOf<R> = ViewChanges<<R as SearchableRecord>::Summary, <R as SearchableRecord>::Field>;

impl<R: SearchableRecord> View<R> {
    /// Returns the position up to which changes were reported. A view opened there
    /// ([`Collection::view_since`]) continues this one.
    pub fn token(&self) -> SyncToken {
        self.subscription.position()
    }

    /// Returns the changes since the view was last read.
    ///
    /// # Errors
    /// Whatever reading reports. The changes are then reported by the next call.
    pub fn changes(&mut self) -> Result<ChangesOf<R>> {
        self.read_changes(|_, _| Ok(()))
            .map(|(changes, ())| changes)
    }

    /// Returns the changes since the view was last read, and the collection's name in the same
    /// state. `None`: the collection was removed; all its records are then among the changes.
    ///
    /// Renaming, removing or restoring the collection makes the view's [descriptor](Self::descriptor)
    /// readable, even if no record matches; creating a collection makes those of all views readable.
    /// Neither ends [`View::wait`].
    ///
    /// # Errors
    /// Whatever reading reports. The changes are then reported by the next call.
    pub fn changes_and_name(&mut self) -> Result<(ChangesOf<R>, Option<String>)> {
        self.read_changes(|_, reader| {
            reader.read(|state| collection_table::current_name(state.conn, state.collection))
        })
    }

    /// Returns a page of matching records, and the changes since the view was last read, in one
    /// state. A program can load the first screen, show it, and load the rest later.
    ///
    /// # Errors
    /// Whatever reading reports. The changes are then reported by the next call.
    pub fn load(&mut self, page: Paging) -> Result<LoadedPage<R::Summary, R::Field>> {
        let filter = self.filter.clone();
        let (changes, entries) = self.read_changes(|_, reader| reader.find_page(&filter, page))?;
        Ok(LoadedPage { changes, entries })
    }

    /// Returns the changes since the view was last read, and the result of `also`, which gets these
    /// changes and reads the collection in the same state: for example the columns of the changed
    /// records ([`Reader::rows`]), or a page with its columns ([`Reader::query`]).
    ///
    /// # Errors
    /// Whatever reading reports, and the errors of `also`. The changes are then reported by the
    /// next call.
    pub fn changes_and<T>(
        &mut self,
        also: impl FnOnce(&ChangesOf<R>, &Reader<R>) -> Result<T>,
    ) -> Result<(ChangesOf<R>, T)> {
        self.read_changes(also)
    }

    /// Waits for changes. Returns `None` after `timeout`.
    ///
    /// # Errors
    /// Whatever reading reports. The changes are then reported by the next call.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<ChangesOf<R>>> {
        // A deadline that cannot be represented is no deadline.
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        while self.subscription.wait(deadline) {
            // The wake-up may have been for a change that does not affect the view.
            let changes = self.changes()?;
            if !changes.is_empty() {
                return Ok(Some(changes));
            }
            if deadline.is_some_and(|d| d <= Instant::now()) {
                break;
            }
        }
        Ok(None)
    }

    /// Returns a descriptor for `poll`, `epoll` and event loops, readable while there may be changes.
    /// [`View::changes`] makes it unreadable; do not read from it.
    ///
    /// The first call creates it, so views that only wait use no descriptors.
    ///
    /// # Errors
    /// [`Error::Io`] if the process has no descriptor left.
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.subscription
            .descriptor()
            .map_err(|e| Error::io(Path::new("eventfd"), e))
    }

    /// Reads the changes, and calls `also` in the same read transaction.
    fn read_changes<T>(
        &mut self,
        also: impl FnOnce(&ChangesOf<R>, &Reader<R>) -> Result<T>,
    ) -> Result<(ChangesOf<R>, T)> {
        self.db.ensure_indexed()?;
        // Before the state is read: a change after it wakes the view again.
        let reading = self.subscription.begin_read();
        let state = Arc::new(FixedState::begin(&self.db)?);
        let (now, changes) = state.read(|conn| {
            let now = changes::token(conn)?;
            let (id, matcher) = (self.collection.id, &self.subscription.matcher);
            let changes = diff::diff_since::<R>(conn, id, matcher, &reading.from, &now)?;
            Ok((now, changes))
        })?;
        let also = also(&changes, &Reader::fixed(&state, self.collection.clone()))?;
        // After all reads: after an error the next read begins at the old position.
        reading.finish(now);
        Ok((changes, also))
    }
}

impl<R: SearchableRecord> Drop for View<R> {
    fn drop(&mut self) {
        self.db
            .cache::<Notifier>()
            .unsubscribe(&self.db, &self.subscription);
    }
}
