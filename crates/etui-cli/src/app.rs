//! [`App`]: the store and address book selected on the command line, and the output.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use etui::calendar::Calendar;
use etui::contacts::{Contacts, Reader};
use etui::record;
use etui::store::Options;
use etui::{Error, Snapshot, Store};

use crate::args::{GlobalArgs, VfsChoice};
use crate::errors::{Failure, Result};
use crate::output::{OutputWriter, quote_operand};

/// The context of a command.
pub struct App {
    /// Output of the command.
    pub out: OutputWriter,
    store: Option<PathBuf>,
    address_book: Option<String>,
    vfs: Option<VfsChoice>,
}

impl App {
    pub fn new(global: &GlobalArgs) -> Self {
        Self {
            out: OutputWriter::new(global),
            store: global.store.clone(),
            address_book: global.addressbook.clone(),
            vfs: global.vfs,
        }
    }

    /// Returns the path of the store: `--store`, `ETUI_STORE`, or the default.
    pub fn store_path(&self) -> Result<PathBuf> {
        self.store
            .clone()
            .or_else(|| set_variable("ETUI_STORE").map(PathBuf::from))
            .or_else(Store::default_path)
            .ok_or_else(|| {
                Failure::usage(
                    "there is no home directory to find the store in; \
                     set --store PATH or ETUI_STORE",
                )
            })
    }

    /// Returns the options that a store is opened with.
    pub fn store_options(&self) -> Result<Options> {
        let vfs = match (self.vfs, set_variable("ETUI_VFS")) {
            (Some(vfs), _) => vfs,
            (None, None) => VfsChoice::System,
            (None, Some(name)) => {
                VfsChoice::from_str(&name.to_string_lossy(), false).map_err(|_| {
                    Failure::usage("ETUI_VFS names no VFS; possible values: system, etui")
                })?
            }
        };
        let mut options = Options::default();
        options.vfs = match vfs {
            VfsChoice::System => etui::Vfs::System,
            VfsChoice::Etui => etui::Vfs::Etui,
        };
        Ok(options)
    }

    /// Opens the store for a command that only reads; a read-only medium is allowed.
    pub fn open_to_read(&self) -> Result<Store> {
        let path = self.store_path()?;
        let mut options = self.store_options()?;
        options.create = false;
        match Store::open_with(&path, &options) {
            Err(Error::ReadOnly { .. }) => {
                options.read_only = true;
                Ok(Store::open_with(&path, &options)?)
            }
            other => Ok(other?),
        }
    }

    /// Opens the store for a command that changes it.
    pub fn open_to_write(&self) -> Result<Store> {
        let mut options = self.store_options()?;
        options.create = false;
        Ok(Store::open_with(self.store_path()?, &options)?)
    }

    /// Opens the store, or creates it together with its directory.
    pub fn open_or_create(&self, options: &Options) -> Result<Store> {
        let path = self.store_path()?;
        create_parent_dir(&path)?;
        Ok(Store::open_with(&path, options)?)
    }

    /// Returns the name given with `--addressbook`.
    pub fn address_book_name(&self) -> Option<&str> {
        self.address_book.as_deref()
    }

    /// Returns the address book given with `--addressbook`, or the first one.
    pub fn address_book<'s>(&self, store: &'s Store) -> Result<Contacts<'s>> {
        Ok(store.collection(self.address_book_name())?)
    }

    /// Returns the address book given with `--addressbook`, or all of them, in one snapshot.
    pub fn address_books_in<'s>(&self, snapshot: &'s Snapshot<'_>) -> Result<Vec<Reader<'s>>> {
        let books = readers_in(self.address_book_name(), snapshot)?;
        Ok(books.into_iter().map(|(_, book)| book).collect())
    }
}

/// Returns the value of an environment variable that is set and not empty.
fn set_variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the calendar with this name, or the first one.
pub fn open_calendar<'s>(store: &'s Store, name: Option<&str>) -> Result<Calendar<'s>> {
    Ok(store.collection(name)?)
}

/// Returns the calendar that a new entry goes into; the error for a missing one names the command
/// that creates it.
pub fn open_target_calendar<'s>(store: &'s Store, name: Option<&str>) -> Result<Calendar<'s>> {
    open_calendar(store, name).map_err(|failure| match (&failure, name) {
        (Failure::Library(error @ Error::NoCollection { .. }), Some(name)) => {
            Failure::NotFound(format!(
                "{error}; create it: etui calendars create {}",
                quote_operand(name)
            ))
        }
        _ => failure,
    })
}

/// Returns the collection with this name, or all of its kind, in one snapshot, with their names.
pub fn readers_in<'s, R: record::RecordKind>(
    name: Option<&str>,
    snapshot: &'s Snapshot<'_>,
) -> Result<Vec<(String, record::Reader<'s, R>)>> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => snapshot.collections::<R>()?,
    };
    let readers = names.into_iter().map(|name| {
        let reader = snapshot.collection(Some(&name))?;
        Ok((name, reader))
    });
    readers.collect()
}

/// Creates the directory of `path` with mode 0700 if it does not exist.
pub fn create_parent_dir(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent)
                .map_err(|e| Failure::io(parent, e))
        }
        _ => Ok(()),
    }
}
