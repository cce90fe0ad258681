//! [`Store`]: one file that holds a person's data.

mod backup;
pub(crate) mod check;
pub(crate) mod collections;
mod devices;
mod external_ids;
mod hooks;
mod maintenance;
#[doc(hidden)]
pub mod part_file;
mod populate;
pub(crate) mod purge;
pub(crate) mod refused;
mod served_collections;
mod sharing;
pub(crate) mod snapshot;
mod sql;
pub(crate) mod undo;
pub(crate) mod write_queue;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use etui_text::collator::{Collator, locale_from_environment};
use etui_text::phone::Region;
use rusqlite::Connection;

pub use self::collections::{CollectionKey, Collections};
pub use self::devices::{Device, DeviceAccess, DevicePassword, Devices};
pub use self::maintenance::Maintenance;
pub use self::refused::{
    LARGE_REFUSED, MAX_REFUSED, MAX_REFUSED_BYTES, RefusedText, RefusedVersion, RefusedVersions,
};
pub use self::served_collections::{CollectionChanges, NewCollection};
pub use self::sharing::{Grant, Reference, Sharing};
pub use self::sql::{SqlRows, SqlValue};
use crate::db::random::random_i64;
use crate::db::{
    Db, Durability, IndexContext, OpenMode, PoolOptions, TellWaiting, Vfs, inode, metadata, schema,
};
use crate::error::{Error, Result};
use crate::record::{changes, collection_table};
use crate::types::{CollectionKind, SyncToken};
use crate::watch::Notifier;
use hooks::IndexMaintenance;
use snapshot::Snapshot;

/// The name of the address book of a new store.
pub const DEFAULT_ADDRESS_BOOK: &str = "Contacts";

/// Options for opening a store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The durability level of commits.
    pub durability: Durability,
    /// The size of the page caches of all connections together, in bytes.
    pub memory_budget: usize,
    /// Read the file through a memory map. Each connection has one, and each page that it has read
    /// counts as memory of the process, although the kernel takes it back when memory is short. Without
    /// the map a page is copied into the page cache; memory stays within `memory_budget` whatever
    /// the size of the file. For servers, in which many threads read.
    pub memory_map: bool,
    /// How long a write waits for another process.
    pub busy_timeout: Duration,
    /// Called while a write waits for another process, from the second second on.
    pub tell_waiting: Option<TellWaiting>,
    /// Open to read only, such as from a read-only medium.
    pub read_only: bool,
    /// Create the store if there is none.
    pub create: bool,
    /// The locale of a new store, whose collation orders its lists (BCP 47); that of the
    /// environment if `None`.
    pub locale: Option<String>,
    /// The region of a new store, which completes national phone numbers (ISO 3166-1 alpha-2); that
    /// of the locale if `None`.
    pub region: Option<String>,
    /// Merge the substring index after saves when it is due. Otherwise [`Maintenance::merge_index`] does;
    /// until then searches scan pending records.
    pub merge_substrings: bool,
    /// The VFS between SQLite and the store's files.
    pub vfs: Vfs,
    /// Further migrations of the schema, for tests of the machinery.
    #[doc(hidden)]
    pub extra_migrations: &'static [&'static str],
}

/// The settings of a store, which [`Store::change_settings`] changes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The locale whose collation orders the lists (BCP 47).
    pub locale: String,
    /// The region that completes national phone numbers.
    pub region: Option<Region>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            memory_budget: 8 << 20,
            memory_map: true,
            busy_timeout: Duration::from_secs(30),
            tell_waiting: None,
            read_only: false,
            create: true,
            locale: None,
            region: None,
            merge_substrings: true,
            vfs: Vfs::default(),
            extra_migrations: &[],
        }
    }
}

/// A store: one file with a person's data.
///
/// It may be used by many threads and processes at once. The file is a standard SQLite database at every
/// moment, also after a kill; while it is closed it is complete in itself.
///
/// ```
/// use etui::{Store, contacts::{Card, Field, MatchMode, Filter}};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("personal.etui");
/// let store = Store::open(&path)?;
/// let contacts = store.contacts()?;
/// let ada = Card::parse("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:ada\r\nFN:Ada Lovelace\r\nEND:VCARD\r\n")?;
/// contacts.save(&ada)?;
/// let found = contacts.find(&Filter::text(Field::Name, MatchMode::Prefix, "love"))?;
/// assert_eq!(found[0].summary.name, "Ada Lovelace");
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    pub(crate) db: Arc<Db>,
    #[cfg(feature = "redo-log")]
    vfs: Vfs,
}

impl Store {
    /// Returns the counters of the redo log in this process, over all stores that use it; `None` if
    /// this store does not.
    #[cfg(feature = "redo-log")]
    pub fn vfs_counters(&self) -> Option<etui_vfs::Counters> {
        match self.vfs {
            Vfs::RedoLog => crate::db::redo_log::registered_vfs()
                .ok()
                .map(etui_vfs::Vfs::counters),
            Vfs::System => None,
        }
    }

    /// Opens the store at `path`; creates it, readable only by its owner, if there is none.
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::NotAStore`], [`Error::Newer`], [`Error::ReadOnly`],
    /// [`Error::DiskFull`], [`Error::BadLocale`], [`Error::BadRegion`], [`Error::Io`]; the file
    /// is unchanged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// Opens a store with `options`.
    ///
    /// # Errors
    /// The errors of [`Store::open`], and [`Error::NoStore`] if there is none and
    /// [`Options::create`] is false.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let path = path.as_ref();
        if !options.create && !path.exists() {
            return Err(Error::NoStore(path.to_owned()));
        }
        // Checked before anything is created that a typing error would leave behind.
        options.locale.as_deref().map(Collator::new).transpose()?;
        if let Some(region) = &options.region
            && Region::parse(region).is_none()
        {
            return Err(Error::BadRegion(region.clone()));
        }
        let mode = if options.read_only {
            OpenMode::ReadOnly
        } else {
            OpenMode::ReadWrite
        };
        let pool_options = PoolOptions {
            durability: options.durability,
            memory_budget: options.memory_budget,
            memory_map: options.memory_map,
            busy_timeout: options.busy_timeout,
            tell_waiting: options.tell_waiting,
            vfs: options.vfs,
            migrations: schema::Migrations(options.extra_migrations),
        };
        let hooks = Box::new(IndexMaintenance::new(options.merge_substrings));
        let db = Db::open(path, mode, pool_options, hooks, |conn| {
            initialize(conn, path, options)
        })?;
        Ok(Self {
            db: Arc::new(db),
            #[cfg(feature = "redo-log")]
            vfs: options.vfs,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.db.path()
    }

    /// Returns true if the store can only be read.
    pub fn is_read_only(&self) -> bool {
        self.db.is_read_only()
    }

    /// Begins a snapshot: many reads from one state of the store.
    ///
    /// # Errors
    /// Any error of beginning a read transaction.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.drain_write_queue()?;
        self.db.ensure_indexed()?;
        Snapshot::begin(&self.db)
    }

    /// Returns the sync token of the present state, to list later changes from.
    ///
    /// # Errors
    /// Any read error.
    pub fn token(&self) -> Result<SyncToken> {
        self.db.read_transaction(changes::token)
    }

    /// Changes the locale that orders the lists and the region that completes phone numbers, and derives
    /// lists and search keys of all records again, in one transaction. Other open handles of the
    /// store, in any process, keep the old settings to read, and cannot write until they are
    /// opened again ([`Error::SettingsChanged`]); that is why this consumes its own.
    ///
    /// ```
    /// # use etui::{Store, text::phone::Region};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("personal.etui");
    /// # Store::open(&path)?.close()?;
    /// let store = Store::open(&path)?;
    /// let locale = store.settings().locale;
    /// store.change_settings(&locale, Region::parse("DE"))?;
    /// # assert_eq!(Store::open(&path)?.settings().region, Region::parse("DE"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadLocale`], or any write error. The settings are then unchanged.
    pub fn change_settings(self, locale: &str, region: Option<Region>) -> Result<()> {
        let order = Collator::new(locale)?;
        let now = self.settings();
        if now.locale != locale || now.region != region {
            // Queued writes are indexed with the settings of this handle, the old ones.
            self.drain_write_queue()?;
            let with = IndexContext {
                order: &order,
                region,
            };
            self.db.write(|conn| {
                metadata::set(conn, metadata::LOCALE, locale)?;
                metadata::set(conn, metadata::REGION, region.map_or("", |r| r.code()))?;
                hooks::reindex_with(&self.db, conn, &with)
            })?;
        }
        self.close()
    }

    /// Returns the locale and the region, as of the opening of the store.
    pub fn settings(&self) -> Settings {
        Settings {
            locale: self
                .db
                .metadata()
                .locale
                .as_deref()
                .unwrap_or("und")
                .to_owned(),
            region: self.db.region(),
        }
    }

    /// Saves what other programs wrote through the view `item`.
    pub(crate) fn drain_write_queue(&self) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        let is_waiting = self.db.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT 1 FROM write_queue WHERE problem IS NULL")?
                .exists([])?)
        })?;
        if !is_waiting {
            return Ok(());
        }
        self.db
            .write(|conn| write_queue::drain(conn, &self.db.index_context()))
    }

    /// Closes the store, for all its handles and views: what uses one from now on gets [`Error::Closed`], and
    /// [`View::wait`](crate::watch::View::wait) returns. It waits for transactions that write, and not for calls that
    /// read in other threads: these end as usual, and keep the file open until then. The last process to close a store leaves one plain file; closing
    /// one that was only read writes nothing.
    ///
    /// A store that is dropped is closed with its last handle, and cannot report an error.
    ///
    /// # Errors
    /// Any error of the last checkpoint. Every acknowledged save is durable all the same.
    pub fn close(self) -> Result<()> {
        // Views wake up to find it closed, and the connection that watches for them is closed before the last.
        self.db.begin_close();
        self.db.cache::<Notifier>().close(&self.db);
        self.db.close()
    }

    /// Returns the default path: `$XDG_DATA_HOME/etui/personal.etui`, or the same under
    /// `~/.local/share` (XDG Base Directory Specification); `None` without a home directory.
    pub fn default_path() -> Option<PathBuf> {
        let base = std::env::var_os("XDG_DATA_HOME")
            .map(PathBuf::from)
            // XDG: a relative path is to be ignored.
            .filter(|p| p.is_absolute())
            .or_else(|| {
                let home = PathBuf::from(std::env::var_os("HOME")?);
                home.is_absolute().then(|| home.join(".local/share"))
            })?;
        Some(base.join("etui").join("personal.etui"))
    }
}

/// Writes the identity, the settings and the first collections of a new store.
fn initialize(conn: &Connection, path: &Path, options: &Options) -> Result<()> {
    // A migrated store has its identity already.
    if metadata::get_value::<i64>(conn, metadata::STORE_ID)?.is_some() {
        return Ok(());
    }
    let locale = options
        .locale
        .clone()
        .unwrap_or_else(locale_from_environment);
    let version = hooks::index_version_of(Collator::new(&locale)?.collation_version());
    let region = match &options.region {
        Some(code) => Region::parse(code),
        None => Region::from_locale(&locale),
    };
    metadata::set(conn, metadata::STORE_ID, random_i64()?)?;
    metadata::set(conn, metadata::INCARNATION, random_i64()?)?;
    metadata::set(conn, metadata::INODE, inode(path)?)?;
    metadata::set(conn, metadata::LOCALE, &locale)?;
    metadata::set(conn, metadata::REGION, region.map_or("", |r| r.code()))?;
    metadata::set(conn, metadata::INDEX_VERSION, version)?;
    metadata::set(conn, metadata::TERM_WATERMARK, 0)?;
    metadata::set(conn, metadata::TRIGRAM_WATERMARK, 0)?;
    for kind in CollectionKind::INITIAL {
        collection_table::create_collection(conn, kind, kind.default_name())?;
    }
    Ok(())
}
