//! Keeping the write-ahead log within bounds.
//!
//! SQLite writes the log from its beginning again once no reader needs it. While readers come
//! before others go, and somebody always writes, that moment never comes by itself, and the log
//! grows for as long. So a log that has grown large is finished by force: the writer waits until
//! the readers of that moment are gone; those who come meanwhile find everything in the file and
//! need no log (`SQLITE_CHECKPOINT_RESTART`).

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use super::with_suffix;

/// A log of this size is large, in bytes.
const LARGE: u64 = 32 << 20;
/// How long readers are waited for, writers waiting too. A snapshot may be kept for longer: the
/// next attempt is made when the log has doubled.
const PATIENCE: Duration = Duration::from_millis(500);

/// When to look after the log next.
pub(super) struct WalLimit {
    large: AtomicU64,
}

impl WalLimit {
    pub(super) fn new() -> Self {
        Self {
            large: AtomicU64::new(LARGE),
        }
    }

    /// Whether the log of the store at `path` is so large that something is to be done.
    pub(super) fn is_large(&self, path: &Path) -> bool {
        let size = wal_size(path);
        let large = self.large.load(Ordering::Relaxed);
        if size < LARGE && large > LARGE {
            self.large.store(LARGE, Ordering::Relaxed);
        }
        size >= large
    }

    /// Restarts the log, if its readers finish in time.
    pub(super) fn restart_wal(&self, connection: &Connection, path: &Path) -> rusqlite::Result<()> {
        connection.busy_timeout(PATIENCE)?;
        let busy: rusqlite::Result<bool> =
            connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |r| r.get(0));
        // The writer does its waiting itself (`group`).
        connection.busy_timeout(Duration::ZERO)?;
        // Its file keeps its size until the next writer restarts it.
        let size = wal_size(path);
        let next = match busy? {
            true => size.saturating_mul(2),
            false => size.saturating_add(LARGE),
        };
        self.large.store(next.max(LARGE), Ordering::Relaxed);
        tracing::debug!(size, next, "the log was finished");
        Ok(())
    }
}

fn wal_size(path: &Path) -> u64 {
    std::fs::metadata(with_suffix(path, "-wal")).map_or(0, |m| m.len())
}
