//! [`Store`]: one file that holds a person's data.

mod backup;
pub(crate) mod check;
pub(crate) mod collections;
pub(crate) mod inbox;
pub(crate) mod snapshot;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, TryLockError};
use std::time::Duration;

use rusqlite::Connection;

use crate::calendar::datebook::shared::DateBooks;
use crate::calendar::objects::ZonesOf;
use crate::calendar::series_cache::SeriesCache;
use crate::contacts::Card;
use crate::db::metadata::{self, StoreMetadata};
use crate::db::{
    ConnectionPool, Durability, Memory, OpenMode, PoolOptions, TransactionSize, Vfs, schema, vfs,
};
use crate::error::{Error, Result};
use crate::record::{IndexContext, IndexedColumns, RecordKind, changes, names};
use crate::search::index::IndexParts;
use crate::search::index::merge::merge_index;
use crate::store::snapshot::Snapshot;
use crate::types::{CollectionKind, SyncToken};
use crate::watch::notifier::Notifier;
use etui_text::collator::{self, Collator, locale_from_environment};
use etui_text::phone::Region;

/// The name of the address book that a new store has.
pub const DEFAULT_ADDRESS_BOOK: &str = "Contacts";

/// How a store is opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// When a save is safe from what.
    pub durability: Durability,
    /// Bytes of page cache for all of the store's connections together.
    pub memory_budget: usize,
    /// How long a write waits for another program's.
    pub busy_timeout: Duration,
    /// Only read. A store on a read-only medium can be opened so.
    pub read_only: bool,
    /// Create the store when there is none.
    pub create: bool,
    /// For a new store: the locale whose order its lists have (BCP 47); the environment's if
    /// `None`.
    pub locale: Option<String>,
    /// For a new store: the region that completes national phone numbers (ISO 3166-1 alpha-2);
    /// the locale's if `None`.
    pub region: Option<String>,
    /// Whether saves bring the substring index up to date when it is due. If not,
    /// [`Store::merge_index`] does; until then searches look through what is pending.
    pub merge_substrings: bool,
    /// What stands between SQLite and the store's files.
    pub vfs: Vfs,
    /// Whether the log stays beside the store, as `STORE-wal`, when the last program closes it, so
    /// that the first durable save after opening it again costs one flush, where it else costs three:
    /// of the log's header, of its name and its own. For programs that are opened, save little and are
    /// closed. The store is complete without that log, as ever, and it counts for nothing; but what
    /// was saved and removed lately can still be read in it. The close after a save costs one flush
    /// more. If another program without this closes the store last, the log is
    /// gone until the next close. It changes nothing with [`Vfs::Etui`].
    pub persist_wal: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            memory_budget: 8 << 20,
            busy_timeout: Duration::from_secs(30),
            read_only: false,
            create: true,
            locale: None,
            region: None,
            merge_substrings: true,
            vfs: Vfs::default(),
            persist_wal: false,
        }
    }
}

/// One file that holds a person's data.
///
/// It may be used from many threads at once, and by many processes. While it is closed the file
/// is an ordinary SQLite database, complete in itself.
///
/// ```
/// use etui::{Store, contacts::{Card, Filter}};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("personal.etui");
/// let store = Store::open(&path)?;
/// let contacts = store.contacts()?;
/// let ada = Card::parse("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:ada\r\nFN:Ada Lovelace\r\nEND:VCARD\r\n")?;
/// contacts.save(&ada)?;
/// let found = contacts.find(&Filter::name_prefix("love"))?;
/// assert_eq!(found[0].summary.name, "Ada Lovelace");
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    pub(crate) engine: ConnectionPool,
    pub(crate) notifier: Notifier,
    options: Options,
    /// What the store says of itself, once that was asked.
    facts: OnceLock<StoreMetadata>,
    /// The order of the locale that was asked for, if one was.
    asked: Option<Collator>,
    order: OnceLock<Collator>,
    copy_checked: AtomicBool,
    order_checked: AtomicBool,
    /// A collection was asked for before.
    pub(crate) collection_asked: AtomicBool,
    /// Held by the save that brings the index up to date.
    merging: Mutex<()>,
    pub(crate) series_cache: SeriesCache,
    pub(crate) date_books: DateBooks,
    /// A collection is being filled by this process.
    filling: AtomicBool,
    /// Counts what this process committed.
    generation: AtomicU64,
}

impl Store {
    /// What etui's VFS did in this process so far, for all stores that are opened with it.
    /// `None`: this one is not.
    pub fn vfs_counters(&self) -> Option<etui_vfs::Counters> {
        match self.options.vfs {
            Vfs::Etui => vfs::registered().ok().map(etui_vfs::Vfs::counters),
            Vfs::System => None,
        }
    }

    /// Opens the store at `path`, creating it (readable only by its owner) when there is none.
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::NotAStore`], [`Error::Newer`], [`Error::ReadOnly`],
    /// [`Error::DiskFull`], [`Error::BadLocale`], [`Error::BadRegion`], [`Error::Io`]; the file is left as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// Opens a store as `options` say.
    ///
    /// # Errors
    /// As [`Store::open`], and [`Error::NoStore`] when there is none and none is to be created.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let path = path.as_ref();
        if !options.create && !path.exists() {
            return Err(Error::NoStore {
                path: path.to_owned(),
            });
        }
        // Before anything is created that a mistake would leave behind.
        let asked = options.locale.as_ref().map(|locale| Collator::new(locale));
        let asked = asked.transpose()?;
        if let Some(region) = &options.region
            && Region::parse(region).is_none()
        {
            return Err(Error::BadRegion {
                region: region.clone(),
            });
        }
        let mode = if options.read_only {
            OpenMode::ReadOnly
        } else {
            OpenMode::ReadWrite
        };
        let settings = PoolOptions {
            durability: options.durability,
            memory_budget: options.memory_budget,
            busy_timeout: options.busy_timeout,
            vfs: options.vfs,
            persist_wal: options.persist_wal,
        };
        let engine = ConnectionPool::open(path, mode, settings, |conn| {
            found(conn, path, options, asked.as_ref())
        })?;
        Ok(Self {
            engine,
            facts: OnceLock::new(),
            notifier: Notifier::new(path),
            options: options.clone(),
            asked,
            order: OnceLock::new(),
            copy_checked: AtomicBool::new(false),
            order_checked: AtomicBool::new(false),
            collection_asked: AtomicBool::new(false),
            merging: Mutex::new(()),
            series_cache: SeriesCache::default(),
            date_books: DateBooks::default(),
            filling: AtomicBool::new(false),
            generation: AtomicU64::new(0),
        })
    }

    /// What the store says of itself. It is asked before the first list, search, range of time or
    /// save; records are found by UID and number, and all of them gone through, without.
    fn facts(&self) -> Result<&StoreMetadata> {
        if let Some(facts) = self.facts.get() {
            return Ok(facts);
        }
        let facts = self.engine.read(metadata::facts)?;
        Ok(self.facts.get_or_init(|| facts))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.engine.path()
    }

    /// Whether the store can only be read.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.engine.is_read_only()
    }

    /// One state of the store, to read many things from.
    ///
    /// # Errors
    /// Whatever beginning a read transaction reports.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        self.settle();
        self.drain_inbox()?;
        self.ensure_order()?;
        Snapshot::begin(self)
    }

    /// Where the store stands now, to ask later what was changed since.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn token(&self) -> Result<SyncToken> {
        self.engine.read_transaction(changes::token)
    }

    /// Brings the search index up to date; for idle moments, and after large imports.
    ///
    /// # Errors
    /// Whatever writing reports. What was merged until then stays.
    pub fn merge_index(&self) -> Result<()> {
        let merged = merge_index(&self.engine, IndexParts::ALL);
        self.engine.release_memory();
        merged
    }

    /// How much memory its page caches may use: the budget, divided over the connections that
    /// are open.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.engine.memory()
    }

    /// The locale whose order the lists have.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn locale(&self) -> Result<String> {
        // It stays what it was made with.
        let locale = self.facts()?.locale.as_deref();
        Ok(locale.unwrap_or("und").to_owned())
    }

    /// The region that completes national phone numbers.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn region(&self) -> Result<Option<Region>> {
        Ok(self.facts()?.region.as_deref().and_then(Region::parse))
    }

    /// The order of the store's lists.
    pub(crate) fn order(&self) -> Result<&Collator> {
        if let Some(order) = self.order.get() {
            return Ok(order);
        }
        if let Some(asked) = &self.asked
            && self.facts()?.locale == self.options.locale
        {
            return Ok(asked);
        }
        let order = Collator::new(&self.locale()?)?;
        Ok(self.order.get_or_init(|| order))
    }

    /// What deriving needs to know of it.
    pub(crate) fn deriving(&self) -> Result<IndexContext<'_>> {
        Ok(IndexContext {
            order: self.order()?,
            region: self.region()?,
        })
    }

    /// A write transaction of this store, large or of a size that nobody knows; see
    /// [`Store::write_of`].
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write_of(TransactionSize::Large, work)
    }

    /// A write transaction of this store: a copy gets an incarnation of its own, the order of the
    /// lists is made this library's, and the index is brought up to date behind it when that is
    /// due, by the one thread that committed.
    pub(crate) fn write_of<T>(
        &self,
        size: TransactionSize,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.ensure_order()?;
        let mut done = self.engine.write_of(
            size,
            |conn| IndexParts::due_for_merge(conn, self.options.merge_substrings),
            |conn| self.work_on(conn, work),
        );
        self.was_written(done.committed);
        // What was saved is saved: a merge that fails (a full disk) is tried again with the next.
        if let Some(due) = done.at_commit.take()
            && let Err(error) = due.and_then(|due| self.merge_due(due))
        {
            tracing::warn!(%error, "the index was not brought up to date");
        }
        done.result()
    }

    /// A write transaction for what rearranges rows and can as well be done another time. It waits
    /// for nobody, and nothing follows it: `None` if somebody writes, here or in another process,
    /// be it this thread.
    pub(crate) fn try_upkeep<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<Option<T>> {
        let done = self.engine.try_upkeep(|conn| self.work_on(conn, work));
        let Some(done) = done else {
            return Ok(None);
        };
        self.was_written(done.committed);
        done.result().map(Some)
    }

    fn work_on<T>(
        &self,
        conn: &Connection,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        if !self.copy_checked.load(Ordering::Relaxed) {
            self.notice_copy(conn)?;
        }
        work(conn)
    }

    /// One thread of each group has `committed`, after the others were told.
    fn was_written(&self, committed: bool) {
        self.generation.fetch_add(1, Ordering::Release);
        if committed {
            self.copy_checked.store(true, Ordering::Relaxed);
            self.notifier.committed();
        }
    }

    /// What this process committed so far.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Commits what date books of this process released dirty, so that it is seen.
    ///
    /// While this process fills a collection it is put off: nobody else can write then. What waits
    /// stays with the date books if it cannot be committed now.
    pub(crate) fn settle(&self) {
        if self.filling.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = self.date_books.settle(self) {
            tracing::warn!(%error, "what was released dirty is not committed yet");
        }
    }

    /// SortedRuns `work`, a long transaction that fills a collection.
    pub(crate) fn filling<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Also when `work` panics.
        struct Until<'a>(&'a AtomicBool);
        impl Drop for Until<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Release);
            }
        }
        self.settle();
        self.filling.store(true, Ordering::Release);
        let _until = Until(&self.filling);
        work()
    }

    /// Merges what is due, unless another thread is about it.
    fn merge_due(&self, due: IndexParts) -> Result<()> {
        if due == IndexParts::NONE {
            return Ok(());
        }
        match self.merging.try_lock() {
            Ok(_) | Err(TryLockError::Poisoned(_)) => {
                merge_index(&self.engine, due)?;
                self.engine.restrain_log()
            }
            Err(TryLockError::WouldBlock) => Ok(()),
        }
    }

    /// A copied file continues as another store: its numbers must not be taken for the first
    /// one's. What tells a copy is its inode.
    fn notice_copy(&self, conn: &Connection) -> Result<()> {
        let inode = self.inode()?;
        if metadata::get::<i64>(conn, metadata::INODE)? != Some(inode) {
            metadata::set(conn, metadata::INODE, inode)?;
            metadata::set(conn, metadata::INCARNATION, random()?)?;
        }
        Ok(())
    }

    fn inode(&self) -> Result<i64> {
        inode(self.path())
    }

    /// What another collator, or another version of this library, derived is derived anew before
    /// the first use that would mix them.
    pub(crate) fn ensure_order(&self) -> Result<()> {
        if self.order_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        if !self.derives_so(self.facts()?.derivation.as_deref())? {
            if !self.is_read_only() {
                self.engine.write(|conn| {
                    // Others may have done it while this waited.
                    if self.is_derived_now(conn)? {
                        return Ok(());
                    }
                    tracing::info!("deriving keys and lists anew");
                    self.rederive(conn)
                })?;
                // Else every search would look at every record until something is saved.
                if let Err(error) = self
                    .engine
                    .read(|conn| IndexParts::due_for_merge(conn, self.options.merge_substrings))
                    .and_then(|due| self.merge_due(due))
                {
                    tracing::warn!(%error, "the index was not brought up to date");
                }
                self.engine.release_memory();
            } else if self
                .engine
                .read(|c| metadata::get::<String>(c, metadata::DERIVATION))?
                .is_none()
            {
                // The schema was migrated and nothing was derived since: lists are empty.
                return Err(Error::ReadOnly {
                    path: self.path().to_owned(),
                });
            }
        }
        self.order_checked.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether everything was derived with what this library derives with.
    pub(crate) fn is_derived_now(&self, conn: &Connection) -> Result<bool> {
        let stored: Option<String> = metadata::get(conn, metadata::DERIVATION)?;
        self.derives_so(stored.as_deref())
    }

    /// Whether that is what this library derives with. The order is not made for this if the store's
    /// locale is written as orders write it, as it mostly is: a program that opens a store need not
    /// sort anything.
    fn derives_so(&self, stored: Option<&str>) -> Result<bool> {
        let Some(stored) = stored else {
            return Ok(false);
        };
        let locale = self.facts()?.locale.as_ref();
        if locale.is_some_and(|locale| stored == derivation(&collator::collation_version(locale))) {
            return Ok(true);
        }
        Ok(stored == derivation(self.order()?.collation_version()))
    }

    /// Makes everything anew that is derived from the records; of the index, what that makes
    /// wrong.
    pub(crate) fn rederive(&self, conn: &Connection) -> Result<()> {
        let order = self.order()?;
        // A migration leaves an empty index.
        let unindexed = metadata::number(conn, metadata::TERM_MARK)? == 0;
        let with = self.deriving()?;
        let zones = RefCell::default();
        let derive = |kind, text, shared| derive(conn, kind, text, shared, &with, &zones);
        if crate::record::derive::all(conn, &with, derive)? || unindexed {
            crate::search::index::rebuild_index(conn, self.path())?;
        }
        metadata::set(
            conn,
            metadata::DERIVATION,
            derivation(order.collation_version()),
        )
    }

    /// Takes in what other programs wrote through the view `item`.
    pub(crate) fn drain_inbox(&self) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        let waiting = self.engine.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT 1 FROM inbox WHERE problem IS NULL")?
                .exists([])?)
        })?;
        match waiting {
            true => self.take_inbox_in(),
            false => Ok(()),
        }
    }

    /// The same where something was found to wait; nothing if this store is only read.
    pub(crate) fn take_inbox_in(&self) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        self.write(|conn| crate::store::inbox::drain(conn, &self.deriving()?))
    }

    /// Closes the store. The last program to close it leaves one plain file; closing a store
    /// that was only read writes nothing.
    ///
    /// A store that is dropped is closed as well, but cannot tell of an error.
    ///
    /// # Errors
    /// Whatever the last checkpoint reports. Every acknowledged save is safe all the same.
    pub fn close(self) -> Result<()> {
        self.engine.close()
    }

    /// The library's schema version.
    #[must_use]
    pub fn schema_version() -> i64 {
        schema::VERSION
    }

    /// The default path: `$XDG_DATA_HOME/etui/personal.etui`, or the same under
    /// `~/.local/share` (XDG Base Directory Specification). `None` without a home directory.
    #[must_use]
    pub fn default_path() -> Option<PathBuf> {
        let base = std::env::var_os("XDG_DATA_HOME")
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
            .or_else(|| {
                let home = PathBuf::from(std::env::var_os("HOME")?);
                home.is_absolute().then(|| home.join(".local/share"))
            })?;
        Some(base.join("etui").join("personal.etui"))
    }
}

/// Gives a store its identity, locale and first collections, if it has none: earlier versions did
/// this in a transaction of its own behind the one that makes the schema.
fn found(
    conn: &Connection,
    path: &Path,
    options: &Options,
    asked: Option<&Collator>,
) -> Result<()> {
    if metadata::get::<i64>(conn, metadata::STORE_ID)?.is_some() {
        return Ok(());
    }
    let locale = options
        .locale
        .clone()
        .unwrap_or_else(locale_from_environment);
    let stamp = match asked {
        Some(order) => order.collation_version().to_owned(),
        None => Collator::new(&locale)?.collation_version().to_owned(),
    };
    let region = match &options.region {
        Some(code) => Region::parse(code),
        None => Region::from_locale(&locale),
    };
    metadata::set(conn, metadata::STORE_ID, random()?)?;
    metadata::set(conn, metadata::INCARNATION, random()?)?;
    metadata::set(conn, metadata::INODE, inode(path)?)?;
    metadata::set(conn, metadata::LOCALE, &locale)?;
    metadata::set(conn, metadata::REGION, region.map_or("", |r| r.code()))?;
    metadata::set(conn, metadata::DERIVATION, derivation(&stamp))?;
    metadata::set(conn, metadata::TERM_MARK, 0)?;
    metadata::set(conn, metadata::GRAM_MARK, 0)?;
    names::create(conn, CollectionKind::Contacts, DEFAULT_ADDRESS_BOOK)?;
    names::create(
        conn,
        CollectionKind::Calendar,
        CollectionKind::Calendar.default_name(),
    )?;
    Ok(())
}

/// The file's inode number.
pub(crate) fn inode(path: &Path) -> Result<i64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path)
        .map(|m| m.ino().cast_signed())
        .map_err(|e| Error::io(path, e))
}

/// What is derived of a record of this kind.
pub(crate) fn derive(
    conn: &Connection,
    kind: CollectionKind,
    text: Vec<u8>,
    shared: Option<i64>,
    with: &IndexContext<'_>,
    zones: &RefCell<ZonesOf>,
) -> Result<IndexedColumns> {
    match kind {
        CollectionKind::Contacts => Ok(Card::stored(conn, text, shared)?.derive(with)),
        CollectionKind::Calendar => {
            let record = zones.borrow_mut().record(conn, text, shared)?;
            Ok(record.derive(with))
        }
    }
}

/// Names what keys, sort keys and lists are derived with.
fn derivation(stamp: &str) -> String {
    format!("{stamp} keys-{}", crate::contacts::keys::VERSION)
}

/// A UUID that is no one else's (RFC 9562 §5.4).
pub(crate) fn uuid() -> Result<String> {
    let high = random()?.cast_unsigned();
    let low = random()?.cast_unsigned();
    // Version 4 in the 13th digit, variant 10 in the 17th.
    Ok(format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high & 0xffff_ffff,
        (high >> 32) & 0xffff,
        (high >> 48) & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff,
    ))
}

/// 63 random bits.
pub(crate) fn random() -> Result<i64> {
    let mut bytes = [0u8; 8];
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
                .map_err(|e| Error::io(Path::new("getrandom"), e.into()))?;
    }
    Ok(i64::from_ne_bytes(bytes) & i64::MAX)
}
