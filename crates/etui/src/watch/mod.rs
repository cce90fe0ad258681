//! [`View`]: a query that stays open.
//!
//! A view is a filter and a place in the change log, up to which it has reported. Asked for its
//! changes, it compares, in one read transaction, what the filter meant at that place with what it
//! means now (`since`). So many changes of one record are one, what came and went is none, and a
//! reader that takes its time costs nobody anything.

mod hub;
pub(crate) mod notifier;
mod signal;
mod since;
mod subscription;

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::record::{Collection, Paging, Reader, changes, names};
use crate::search::filter::{Filter, Matcher};
use crate::search::query::{Entry, Listed};
use crate::store::Store;
use crate::types::{ChangeKind, RecordId, SyncToken};
use subscription::{Interest, Subscription};

/// What happened to a record, as seen through a view's filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewChange<S, F> {
    /// Number of its latest change.
    pub number: i64,
    /// The record.
    pub id: RecordId,
    /// Its UID.
    pub uid: String,
    /// Whether the filter means it since (`Added`), means it as before but it was edited
    /// (`Changed`), or means it no longer, or it is gone (`Removed`).
    pub kind: ChangeKind,
    /// What a list shows of it now; of one that was removed from the store, at its end.
    pub summary: S,
    /// Of a changed one: the fields whose searchable values differ. Empty when only others do,
    /// such as a photo.
    pub fields: Vec<F>,
}

/// What a view has to report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewChanges<S, F> {
    /// Each record once, in the order of their latest changes.
    Since(Vec<ViewChange<S, F>>),
    /// What the view stood at is not known any more (the log was trimmed, or this is another
    /// copy of the store): read everything anew, with [`View::load`] or otherwise. The view goes
    /// on from now.
    Reset,
}

impl<S, F> ViewChanges<S, F> {
    /// Whether there is nothing to report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Since(all) if all.is_empty())
    }
}

/// A page of what a view's filter means, and what happened until exactly then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded<S, F> {
    /// What was changed since the view was last asked; for pages that were loaded before.
    pub changes: ViewChanges<S, F>,
    /// The page, in list order, as it is with these changes.
    pub entries: Vec<Entry<S>>,
}

/// A query that stays open: what is added to it, changed in it and removed from it, by this
/// program or any other.
///
/// ```
/// # use etui::{ChangeKind, Store, contacts::{Card, Paging, ViewChanges}};
/// # let dir = tempfile::tempdir()?;
/// # let store = Store::open(dir.path().join("personal.etui"))?;
/// # let contacts = store.contacts()?;
/// let mut view = contacts.view(&"name:love*".parse()?)?;
/// let first = view.load(Paging::first(50))?;               // what to show
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
pub struct View<'s, R: Listed> {
    store: &'s Store,
    collection: i64,
    filter: Filter<R::Field>,
    matcher: Arc<Matcher>,
    subscription: Arc<Subscription>,
}

/// The token of no store.
const NOWHERE: SyncToken = SyncToken {
    store: 0,
    incarnation: 0,
    seq: 0,
};

struct ByKeys(Arc<Matcher>);

impl Interest for ByKeys {
    fn concerns(&self, keys: &[u8]) -> bool {
        self.0.matches(keys)
    }
}

impl<'s, R: Listed> Collection<'s, R> {
    /// Follows what `filter` means, from now on.
    ///
    /// # Errors
    /// Whatever reading, or starting a thread, reports.
    pub fn view(&self, filter: &Filter<R::Field>) -> Result<View<'s, R>> {
        let view = self.view_from(filter, NOWHERE)?;
        let reading = view.subscription.begin();
        let now = self.store().token()?;
        reading.finish(now);
        Ok(view)
    }

    /// Follows what `filter` means, from the moment of `token` on: a token of the store's, or the
    /// last one of a view before ([`View::token`]). If this collection was made, brought back or
    /// became the default one since, it begins with [`ViewChanges::Reset`].
    ///
    /// # Errors
    /// Whatever reading, or starting a thread, reports.
    pub fn view_since(&self, filter: &Filter<R::Field>, token: SyncToken) -> Result<View<'s, R>> {
        let since = self
            .store()
            .engine
            .read(|conn| names::meant_since(conn, self.id()))?;
        // Who kept it may have followed another collection, which was meant then.
        let from = if token.seq < since { NOWHERE } else { token };
        self.view_from(filter, from)
    }

    fn view_from(&self, filter: &Filter<R::Field>, token: SyncToken) -> Result<View<'s, R>> {
        self.store().ensure_order()?;
        let matcher = Arc::new(Matcher::new(filter, self.store().region()?));
        let interest = Box::new(ByKeys(Arc::clone(&matcher)));
        let subscription = Subscription::new(self.id(), interest, token);
        self.store()
            .notifier
            .subscribe(&self.store().engine, &subscription)?;
        Ok(View {
            store: self.store(),
            collection: self.id(),
            filter: filter.clone(),
            matcher,
            subscription,
        })
    }
}

/// What a view of `R` has to report.
type Reported<R> = ViewChanges<<R as Listed>::Summary, <R as Listed>::Field>;

impl<R: Listed> View<'_, R> {
    /// Everything up to here was reported: a view that begins here ([`Collection::view_since`])
    /// goes on where this one is.
    #[must_use]
    pub fn token(&self) -> SyncToken {
        self.subscription.position()
    }

    /// What happened since it was last asked.
    ///
    /// # Errors
    /// Whatever reading reports; the changes are then reported the next time.
    pub fn changes(&mut self) -> Result<Reported<R>> {
        self.read(|_| Ok(())).map(|(changes, ())| changes)
    }

    /// What happened since it was last asked, and what the collection is called in the same state;
    /// `None`: it was removed. Every record of it is then among the changes.
    ///
    /// Another name, and the removal of a collection, make the view's [descriptor](Self::descriptor)
    /// readable, also where the filter means nothing in it. They do not end [`View::wait`].
    ///
    /// # Errors
    /// Whatever reading reports; the changes are then reported the next time.
    pub fn changes_and_name(&mut self) -> Result<(Reported<R>, Option<String>)> {
        let id = self.collection;
        self.read(|reader| names::name_now(reader.conn, R::KIND, id))
    }

    /// A page of what the filter means, and what happened to what was loaded before, in one
    /// state: load the first screen, show it, and load the rest later.
    ///
    /// # Errors
    /// Whatever reading reports; the changes are then reported the next time.
    pub fn load(&mut self, page: Paging) -> Result<Loaded<R::Summary, R::Field>> {
        let filter = self.filter.clone();
        let (changes, entries) = self.read(|reader| reader.find_page(&filter, page))?;
        Ok(Loaded { changes, entries })
    }

    /// Waits until something happened, at most as long as `timeout`; then `None`.
    ///
    /// # Errors
    /// Whatever reading reports; the changes are then reported the next time.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Reported<R>>> {
        // A time too far away to be told is for ever.
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        while self.subscription.wait(deadline) {
            // It may have been something that does not concern it after all.
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

    /// A descriptor for `poll`, `epoll` and event loops, readable while there may be something to
    /// report. [`View::changes`] makes it unreadable; do not read from it.
    ///
    /// It is made when it is first asked for: views that only wait take none of the process's
    /// descriptors, however many there are.
    ///
    /// # Errors
    /// [`Error::Io`] when the process has no descriptor left.
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.subscription
            .descriptor()
            .map_err(|e| Error::io(Path::new("eventfd"), e))
    }

    /// Reads the changes and something else, in one state.
    fn read<T>(
        &mut self,
        also: impl FnOnce(&Reader<'_, R>) -> Result<T>,
    ) -> Result<(Reported<R>, T)> {
        self.store.ensure_order()?;
        let reading = self.subscription.begin();
        let (now, changes, also) = self.store.engine.read_transaction(|conn| {
            let now = changes::token(conn)?;
            let changes =
                since::since::<R>(conn, self.collection, &self.matcher, &reading.from, &now)?;
            let also = also(&Reader::new(self.store, conn, self.collection))?;
            Ok((now, changes, also))
        })?;
        reading.finish(now);
        Ok((changes, also))
    }
}

impl<R: Listed> Drop for View<'_, R> {
    fn drop(&mut self) {
        self.store
            .notifier
            .unsubscribe(&self.store.engine, &self.subscription);
    }
}
