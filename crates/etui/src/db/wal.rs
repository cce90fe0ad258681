//! [`WalLimit`]: keeps the WAL within bounds.
//!
//! SQLite restarts the WAL once no reader needs it. While readers overlap and writers never pause,
//! that moment does not come, and the WAL grows. So a large WAL is restarted by force: the writer
//! waits until the present readers are done; new readers find everything in the file and need no
//! WAL (`SQLITE_CHECKPOINT_RESTART`).

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use super::paths::with_suffix;

/// The size of a large WAL in bytes.
const LARGE: u64 = 32 << 20;
/// How long to wait for readers, while writers wait too. A snapshot may be kept longer: the next
/// attempt follows when the WAL has doubled.
const PATIENCE: Duration = Duration::from_millis(500);

/// The size at which the WAL is restarted next.
pub(super) struct WalLimit {
    large: AtomicU64,
}

impl WalLimit {
    pub(super) fn new() -> Self {
        Self {
            large: AtomicU64::new(LARGE),
        }
    }

    /// Returns true if the WAL of the store at `path` has reached that size.
    pub(super) fn is_large(&self, path: &Path) -> bool {
        let size = wal_size(path);
        let large = self.large.load(Ordering::Relaxed);
        // The WAL has been restarted since: a limit that failed attempts raised no longer holds.
        if size < LARGE && large > LARGE {
            self.large.store(LARGE, Ordering::Relaxed);
        }
        size >= large
    }

    /// Restarts the WAL, if its readers end in time.
    pub(super) fn restart_wal(&self, connection: &Connection, path: &Path) -> rusqlite::Result<()> {
        connection.busy_timeout(PATIENCE)?;
        let busy: rusqlite::Result<bool> =
            connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |r| r.get(0));
        // The writer waits for locks itself (`group_commit`).
        connection.busy_timeout(Duration::ZERO)?;
        // The file keeps its size until the next commit.
        let size = wal_size(path);
        let next = match busy? {
            true => size.saturating_mul(2),
            false => size.saturating_add(LARGE),
        };
        // The file may have been truncated meanwhile.
        self.large.store(next.max(LARGE), Ordering::Relaxed);
        tracing::debug!(size, next, "the log was finished");
        Ok(())
    }
}

fn wal_size(path: &Path) -> u64 {
    std::fs::metadata(with_suffix(path, "-wal")).map_or(0, |m| m.len())
}
