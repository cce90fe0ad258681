//! The VFS `etui`, which commits through a redo log, as arms use it: registered for a
//! run, its counters as measures, and its flushes made as slow as a run asks for.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use etui_vfs::device::{self, Access, DatabaseLock, File, Lock, Platform, Role, SqliteFile};
use etui_vfs::{Counters, Options, Vfs};

use crate::{ArmSettings, Error, Recorder};

/// The options of an arm. An idle moment, which makes a database an ordinary one, would come at
/// a moment of its own in each run.
pub fn vfs_options() -> Options {
    Options {
        idle: None,
        ..Options::default()
    }
}

/// Returns the options of an arm, from its setting `options`, e.g. `gather=0,append=1048576`.
pub fn options_of(settings: &ArmSettings) -> Result<Options, Error> {
    let mut options = vfs_options();
    if let Ok(changes) = settings.text("options") {
        for change in changes
            .split([' ', ','])
            .filter(|change| !change.is_empty())
        {
            let (name, value) = change.split_once('=').unwrap_or((change, ""));
            options.set(name, value)?;
        }
    }
    Ok(options)
}

/// Registers the VFS for an arm; each flush returns so much later than the real one. A process
/// can register a name once only.
pub fn register_vfs(options: Options, flush_delay: Duration) -> Result<Vfs, Error> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("etui-lab-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    if flush_delay.is_zero() {
        return Ok(etui_vfs::register(&name, options)?);
    }
    let files = device::system()?;
    let slow = SlowFiles { files, flush_delay };
    Ok(etui_vfs::register_with(&name, options, Arc::new(slow))?)
}

/// Records the VFS's counters of a phase: `work/vfs_blocks` and so on.
pub fn record_counters(recorder: &mut Recorder, phase: &str, counted: &Counters) {
    for (name, value) in [
        ("commits", counted.commits),
        ("records", counted.records),
        ("pages_compared", counted.pages_compared),
        ("pages_whole", counted.pages_whole),
        ("compared_bytes", counted.bytes_compared),
        ("logged_bytes", counted.bytes_logged),
        ("blocks", counted.blocks),
        ("epochs", counted.epochs),
        ("checkpoints", counted.checkpoints),
        ("log_writes", counted.redo_writes),
        ("log_write_bytes", counted.redo_bytes),
        ("log_flushes", counted.redo_flushes),
        ("database_writes", counted.database_writes),
        ("database_write_bytes", counted.database_bytes),
        ("database_flushes", counted.database_flushes),
        ("pages_in_place", counted.pages_in_place),
        ("temporary_write_bytes", counted.temporary_bytes),
    ] {
        recorder.record(&format!("{phase}/vfs_{name}"), value as f64);
    }
}

/// Files whose flushes take longer, as those of the instrumented VFS do with a delay.
#[derive(Debug)]
struct SlowFiles {
    files: Arc<dyn Platform>,
    flush_delay: Duration,
}

impl Platform for SlowFiles {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        Ok(Box::new(SlowFile {
            file: self.files.open(path, role, access)?,
            flush_delay: self.flush_delay,
        }))
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn DatabaseLock>> {
        self.files.open_lock(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.files.exists(path)
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        self.files.remove(path, durably)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        self.files.sync_directory_of(path)
    }

    fn file_identity(&self, path: &Path) -> io::Result<Option<(u64, u64)>> {
        self.files.file_identity(path)
    }

    fn recover_foreign_wal(&self, path: &Path) -> io::Result<()> {
        self.files.recover_foreign_wal(path)
    }

    fn lock_holder(&self, path: &Path) -> Option<String> {
        self.files.lock_holder(path)
    }
}

#[derive(Debug)]
struct SlowFile {
    file: Box<dyn File>,
    flush_delay: Duration,
}

impl File for SlowFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()?;
        std::thread::sleep(self.flush_delay);
        Ok(())
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.lock(lock)
    }

    fn host(&mut self) -> Option<&mut SqliteFile> {
        self.file.host()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Instant;

    use rusqlite::{Connection, OpenFlags};

    use super::*;

    #[test]
    fn each_commit_waits_for_its_slow_flush() {
        let dir = tempfile::tempdir().unwrap();
        let delay = Duration::from_millis(2);
        let vfs = register_vfs(vfs_options(), delay).unwrap();
        let flags = OpenFlags::default();
        let path = dir.path().join("t.db");
        let db = Connection::open_with_flags_and_vfs(path, flags, vfs.name()).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t(x)")
            .unwrap();
        let (before, begun) = (vfs.counters(), Instant::now());
        for x in 0..10 {
            db.execute("INSERT INTO t VALUES(?1)", [x]).unwrap();
        }
        assert!(begun.elapsed() >= delay * 10);
        let counted = vfs.counters().since(&before);
        assert_eq!((counted.commits, counted.redo_flushes), (10, 10));
        assert_eq!((counted.blocks, counted.redo_bytes), (10, 10 * 4096));
    }
}
