//! [`App`]: the store and the collections selected on the command line, and the output.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use etui::calendar::Calendar;
use etui::record::{Collection, Reader, RecordKind};
use etui::store::Options;
use etui::{CollectionKind, Error, Snapshot, Store, Waiting};

use crate::errors::{Failure, Result};
use crate::global_args::{CalendarOptions, GlobalArgs};
use crate::output::{OutputWriter, escape_text, quote_operand};
use crate::stop_signal;

/// Reports once, on a terminal, the process that a write waits for. A signal ends the wait.
fn tell_waiting(waiting: &Waiting<'_>) -> ControlFlow<()> {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::Relaxed) && std::io::stderr().is_terminal() {
        let who = waiting.writer();
        let who = who.as_deref().unwrap_or("another program");
        let store = waiting.path.display().to_string();
        eprintln!(
            "Waiting for {}, which is writing to {}; Ctrl-C ends this.",
            escape_text(who),
            escape_text(&store)
        );
    }
    match stop_signal::was_asked() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// The context of a command.
pub struct App {
    /// Output of the command.
    pub out: OutputWriter,
    /// The name given with `--addressbook`.
    pub address_book: Option<String>,
    /// The name given with `--calendar`.
    pub calendar: Option<String>,
    store: Option<PathBuf>,
}

impl App {
    /// Returns the context that these options give.
    pub fn new(global: &GlobalArgs) -> Self {
        Self {
            out: OutputWriter::new(global),
            store: global.store.clone(),
            address_book: global.addressbook.clone(),
            calendar: None,
        }
    }

    /// Selects the calendar and the time zone of these options.
    pub fn select_calendar(&mut self, options: &CalendarOptions) {
        self.calendar.clone_from(&options.calendar);
        self.out.zone.clone_from(&options.zone);
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

    /// Returns the path given with `--store`.
    pub fn given_store(&self) -> Option<PathBuf> {
        self.store.clone()
    }

    /// Returns the options that an existing store is opened with.
    pub fn store_options(&self) -> Options {
        let mut options = Options::default();
        options.create = false;
        options.tell_waiting = Some(tell_waiting);
        options
    }

    /// Opens the store for a command that only reads; a read-only medium is allowed.
    pub fn open_to_read(&self) -> Result<Store> {
        let path = self.store_path()?;
        let mut options = self.store_options();
        match Store::open_with(&path, &options) {
            // Without space for the WAL index it may still be read.
            Err(Error::ReadOnly { .. } | Error::DiskFull { .. }) => {
                options.read_only = true;
                Ok(Store::open_with(&path, &options)?)
            }
            other => Ok(other?),
        }
    }

    /// Opens the store for a command that changes it.
    pub fn open_to_write(&self) -> Result<Store> {
        Ok(Store::open_with(self.store_path()?, &self.store_options())?)
    }

    /// Opens the store, or creates it together with its directory.
    pub fn open_or_create(&self, options: Options) -> Result<Store> {
        self.create_at(&self.store_path()?, options)
    }

    /// Opens the store at a path, or creates it together with its directory. A file that could not
    /// become a store is removed, with the directories that were made for it.
    pub fn create_at(&self, path: &Path, mut options: Options) -> Result<Store> {
        let existed = path.exists();
        let parents = path.ancestors().skip(1);
        let missing: Vec<&Path> = parents
            .take_while(|parent| !parent.as_os_str().is_empty() && !parent.exists())
            .collect();
        let opened = create_parent_dir(path).and_then(|()| {
            options.create = true;
            Ok(Store::open_with(path, &options)?)
        });
        if let Err(failure) = &opened
            && !existed
        {
            remove_unfinished(path, failure);
            // Only those that are empty are removed.
            for parent in missing {
                let _ = std::fs::remove_dir(parent);
            }
        }
        opened
    }

    /// Returns the name of the collection given on the command line.
    pub fn collection_name<R: RecordKind>(&self) -> Option<&str> {
        match R::KIND {
            CollectionKind::Calendar => self.calendar.as_deref(),
            _ => self.address_book.as_deref(),
        }
    }

    /// Returns the collection given on the command line, or the first one.
    pub fn open_collection<R: RecordKind>(&self, store: &Store) -> Result<Collection<R>> {
        Ok(store.collection(self.collection_name::<R>())?)
    }

    /// Returns the name of the collection given on the command line, or those of all of its kind.
    pub fn names_in<R: RecordKind>(&self, store: &Store) -> Result<Vec<String>> {
        match self.collection_name::<R>() {
            Some(name) => Ok(vec![name.to_owned()]),
            None => Ok(store.collections::<R>().names()?),
        }
    }

    /// Returns the collection given on the command line, or all of its kind, in one snapshot, with
    /// their names.
    pub fn readers_in<R: RecordKind>(
        &self,
        snapshot: &Snapshot,
    ) -> Result<Vec<(String, Reader<R>)>> {
        let names = match self.collection_name::<R>() {
            Some(name) => vec![name.to_owned()],
            None => snapshot.collections::<R>()?,
        };
        let readers = names.into_iter().map(|name| {
            let reader = snapshot.collection(&name)?;
            Ok((name, reader))
        });
        readers.collect()
    }

    /// Returns the calendar that new entries go into; the error for a missing one names the command
    /// that creates it.
    pub fn open_target_calendar(&self, store: &Store) -> Result<Calendar> {
        self.open_collection(store)
            .map_err(|failure| match (&failure, &self.calendar) {
                (Failure::Library(error @ Error::NoCollection { .. }), Some(name)) => {
                    Failure::NotFound(format!(
                        "{error}; create it: etui calendars create {}",
                        quote_operand(name)
                    ))
                }
                _ => failure,
            })
    }
}

/// Returns the value of an environment variable that is set and not empty.
fn set_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Removes the files of a store that could not be created, such as on a full disk. A file that another
/// program may be making into a store stays.
fn remove_unfinished(path: &Path, failure: &Failure) {
    let is_begun = path.metadata().is_ok_and(|file| file.len() > 0);
    let is_of_disk = matches!(
        failure,
        Failure::Library(Error::DiskFull { .. } | Error::Io { .. })
    );
    let mut reading = Options::default();
    (reading.read_only, reading.create) = (true, false);
    if is_begun && (!is_of_disk || Store::open_with(path, &reading).is_ok()) {
        return;
    }
    for suffix in ["-wal", "-shm", "-journal", "-watch", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
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
