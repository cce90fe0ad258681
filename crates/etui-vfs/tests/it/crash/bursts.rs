//! The VFS `etui` that shares its database, on the laboratory's disk: exchanges between SQLite's own
//! WAL and the redo log, and a second program without the VFS.

use std::ffi::{CString, c_int};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use etui_testkit::disk::MountedDisks;
use etui_vfs::device::{Access, File, Platform, Role, SqliteFile};
use etui_vfs::{Mutation, Options, RedoLogUse};
use rusqlite::{Connection, ffi};
use rustix::event::{EventfdFlags, eventfd};

use crate::crash::check::Subject;
use crate::crash::etui::{LEAST, SMALL};
use crate::crash::plain::{self, Mistake};
use crate::crash::random::{self, Kind, variable};
use crate::crash::steps::Synchronous;

/// Disks whose databases are shared with SQLite by the plain VFS, as with SQLite's own on a system.
struct SharedDisks {
    rack: MountedDisks,
    /// The name of the plain VFS.
    plain: CString,
}

impl fmt::Debug for SharedDisks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedDisks")
    }
}

impl SharedDisks {
    fn open_plain(&self, path: &Path, flags: c_int) -> io::Result<SqliteFile> {
        SqliteFile::open_by(&self.plain, path, flags | ffi::SQLITE_OPEN_READWRITE)
    }
}

impl Platform for SharedDisks {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        self.rack.open(path, role, access)
    }

    /// An empty file does not count, as for SQLite's own VFS.
    fn exists(&self, path: &Path) -> io::Result<bool> {
        let access = Access {
            write: false,
            create: false,
        };
        let there = self.rack.exists(path)?;
        Ok(there && self.rack.open(Some(path), Role::Journal, access)?.len()? > 0)
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        self.rack.remove(path, durably)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.rack.rename(from, to)
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        self.rack.sync_directory_of(path)
    }

    fn recover_foreign_wal(&self, path: &Path) -> io::Result<()> {
        let checkpoint = || -> rusqlite::Result<()> {
            let plain = self.plain.to_str().unwrap();
            let path = path.to_str().unwrap();
            let sql = Connection::open_with_flags_and_vfs(path, Default::default(), plain)?;
            sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            sql.close().map_err(|(_, error)| error)
        };
        checkpoint().map_err(io::Error::other)
    }

    fn open_shared(&self, path: &Path) -> io::Result<Option<SqliteFile>> {
        self.open_plain(path, ffi::SQLITE_OPEN_MAIN_DB).map(Some)
    }

    fn open_wal(&self, path: &Path) -> io::Result<SqliteFile> {
        self.open_plain(path, ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_CREATE)
    }

    /// Nobody opens the file meanwhile.
    fn watch_opens(&self, _path: &Path) -> io::Result<OwnedFd> {
        Ok(eventfd(0, EventfdFlags::CLOEXEC)?)
    }
}

fn shared_by(options: Options, mutation: Option<Mutation>) -> Subject {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let rack = MountedDisks::new();
    let (vfs, plain) = (format!("bursts-{number}"), format!("bursts-plain-{number}"));
    plain::register(&plain, Arc::new(rack.clone()), Mistake::None);
    let disks = Arc::new(SharedDisks {
        rack: rack.clone(),
        plain: CString::new(plain.as_str()).unwrap(),
    });
    let options = Options {
        redo_log: RedoLogUse::Bursts,
        ..options
    };
    let etui = match mutation {
        None => etui_vfs::register_with(&vfs, options, disks),
        Some(_) => etui_vfs::register_broken(&vfs, options, disks, mutation),
    };
    Subject {
        vfs,
        etui: Some(etui.unwrap()),
        plain,
        rack,
        close_is_promised: false,
        guarded: true,
        torn: Some(Role::Redo),
    }
}

/// Not `Off`, with which a power cut may damage a database in SQLite's own WAL mode.
fn survives(synchronous: Synchronous) {
    let images = variable("ETUI_CRASH_IMAGES", 3000) as usize / 3;
    let shared = |options| shared_by(options, None);
    random::survives(&shared(SMALL), synchronous, Kind::Shared, images * 3 / 4);
    random::survives(&shared(LEAST), synchronous, Kind::Shared, images / 4);
}

#[test]
fn random_shared_full() {
    survives(Synchronous::Full);
}

#[test]
fn random_shared_normal() {
    survives(Synchronous::Normal);
}

/// Random histories with power failures catch it.
fn caught(mutation: Mutation, synchronous: Synchronous) {
    let subject = shared_by(SMALL, Some(mutation));
    let kind = (synchronous, Kind::Shared);
    let (tally, finding) = random::hunt(&subject, kind, 1, 16_000, Duration::ZERO);
    println!("{mutation:?}, {synchronous:?}: {tally:?}");
    assert!(finding.is_some(), "{mutation:?} is not caught");
}

#[test]
fn rule_42_aside_without_backfill() {
    caught(Mutation::AsideWithoutBackfill, Synchronous::Full);
}

#[test]
fn rule_48_empty_wal_unflushed() {
    caught(Mutation::EmptyWalUnflushed, Synchronous::Full);
}

#[test]
fn rule_43_same_header() {
    caught(Mutation::SameHeader, Synchronous::Full);
}
