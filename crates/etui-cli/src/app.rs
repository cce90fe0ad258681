//! [`App`]: the store and the address book that are meant, and where output goes.

use std::path::{Path, PathBuf};

use etui::calendar::Calendar;
use etui::contacts::{Contacts, Reader};
use etui::record;
use etui::store::Options;
use etui::{Error, Snapshot, Store};

use crate::args::{Global, VfsChoice};
use crate::errors::{Failure, Result};
use crate::output::{OutputWriter, operand};

/// What every command has at hand.
pub struct App {
    /// Where output goes.
    pub out: OutputWriter,
    store: Option<PathBuf>,
    book: Option<String>,
    vfs: etui::Vfs,
}

impl App {
    /// As the global options say.
    pub fn new(global: &Global) -> Self {
        Self {
            out: OutputWriter::new(global),
            store: global.store.clone(),
            book: global.book.clone(),
            vfs: match global.vfs {
                VfsChoice::System => etui::Vfs::System,
                VfsChoice::Etui => etui::Vfs::Etui,
            },
        }
    }

    /// Where the store is, or would be.
    pub fn path(&self) -> Result<PathBuf> {
        self.store
            .clone()
            .or_else(Store::default_path)
            .ok_or_else(|| {
                Failure::usage(
                    "where is the store? there is no home directory; \
                     say it with --store PATH or in ETUI_STORE",
                )
            })
    }

    /// How a store is opened.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.vfs = self.vfs;
        options
    }

    /// The store, for a command that only reads: also one on a read-only medium.
    pub fn open_to_read(&self) -> Result<Store> {
        let path = self.path()?;
        let mut options = self.options();
        options.create = false;
        match Store::open_with(&path, &options) {
            Err(Error::ReadOnly { .. }) => {
                options.read_only = true;
                Ok(Store::open_with(&path, &options)?)
            }
            other => Ok(other?),
        }
    }

    /// The store, for a command that changes it.
    pub fn open_to_write(&self) -> Result<Store> {
        let mut options = self.options();
        options.create = false;
        Ok(Store::open_with(self.path()?, &options)?)
    }

    /// The store, made when there is none; its directory is then the owner's alone.
    pub fn open_or_create(&self, options: &Options) -> Result<Store> {
        let path = self.path()?;
        make_parent(&path)?;
        Ok(Store::open_with(&path, options)?)
    }

    /// The name of the address book, if one was said.
    pub fn book_name(&self) -> Option<&str> {
        self.book.as_deref()
    }

    /// The address book that is meant.
    pub fn book<'s>(&self, store: &'s Store) -> Result<Contacts<'s>> {
        Ok(store.collection(self.book_name())?)
    }

    /// The address book that is named, or else all of them, in one state.
    pub fn books_in<'s>(&self, snapshot: &'s Snapshot<'_>) -> Result<Vec<Reader<'s>>> {
        let books = all_in(self.book_name(), snapshot)?;
        Ok(books.into_iter().map(|(_, book)| book).collect())
    }
}

/// The calendar of this name, or else the first.
pub fn calendar<'s>(store: &'s Store, name: Option<&str>) -> Result<Calendar<'s>> {
    Ok(store.collection(name)?)
}

/// The calendar of this name, or else the first, for something new; says how one is made.
pub fn calendar_to_fill<'s>(store: &'s Store, name: Option<&str>) -> Result<Calendar<'s>> {
    calendar(store, name).map_err(|failure| match (&failure, name) {
        (Failure::Library(error @ Error::NoCollection { .. }), Some(name)) => {
            Failure::NotFound(format!(
                "{error}; make it: etui calendar calendars create {}",
                operand(name)
            ))
        }
        _ => failure,
    })
}

/// The collection that is named, or else all of its kind, in one state, with their names.
pub fn all_in<'s, R: record::RecordKind>(
    name: Option<&str>,
    snapshot: &'s Snapshot<'_>,
) -> Result<Vec<(String, record::Reader<'s, R>)>> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => snapshot.collections::<R>()?,
    };
    let all = names.into_iter().map(|name| {
        let reader = snapshot.collection(Some(&name))?;
        Ok((name, reader))
    });
    all.collect()
}

/// Makes the directory of `path` (0700) when there is none.
pub fn make_parent(path: &Path) -> Result<()> {
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
