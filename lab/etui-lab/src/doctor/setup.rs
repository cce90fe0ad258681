//! [`Setup`]: how a database is set up and used, as found or as proposed.

use serde::Serialize;
use strum::{Display, EnumString, FromRepr};

/// `PRAGMA journal_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Display, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub enum JournalMode {
    /// The rollback journal is removed by each commit.
    Delete,
    /// The rollback journal is truncated by each commit.
    Truncate,
    /// The header of the rollback journal is overwritten by each commit.
    Persist,
    /// The rollback journal is in memory: a killed program may damage the database.
    Memory,
    /// There is no journal: a killed program may damage the database.
    Off,
    /// Write-ahead log.
    Wal,
}

impl JournalMode {
    /// Returns true if a killed program, without any power cut, may leave a damaged database.
    pub fn is_unsafe(self) -> bool {
        matches!(self, Self::Memory | Self::Off)
    }
}

/// `PRAGMA synchronous`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Display, EnumString, FromRepr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub enum Synchronous {
    /// No flushes: a power cut may damage the database.
    Off,
    /// With a WAL, a power cut may undo the latest commits.
    Normal,
    /// A commit survives a power cut, with a rollback journal nearly always.
    Full,
    /// A commit survives a power cut, also with a rollback journal.
    Extra,
}

impl Synchronous {
    /// Returns the level of this name or number.
    pub fn from_name(name: &str) -> Option<Self> {
        let number = name.parse().ok().and_then(Self::from_repr);
        number.or(name.parse().ok())
    }
}

/// The VFS that a database is opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// SQLite's own.
    Sqlite,
    /// etui's.
    Etui,
}

/// Settings of a database and of its connections, and changes to its schema and to its use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setup {
    pub page_size: u32,
    /// `none`, `full` or `incremental`.
    pub auto_vacuum: String,
    /// The database is rebuilt before.
    pub vacuum: bool,
    pub journal_mode: JournalMode,
    /// The durability of commits.
    pub synchronous: Synchronous,
    /// The page cache: pages, or KiB if negative.
    pub cache_size: i64,
    /// Pages in the WAL from which a commit checkpoints.
    pub wal_autocheckpoint: i64,
    /// Other settings of the program's connections.
    pub pragmas: Vec<(String, String)>,
    /// SQL that changes the schema before.
    pub schema: Vec<String>,
    /// The number of transactions of a burst that are one.
    pub group: usize,
    /// One connection for all transactions, where the program opens one for each.
    pub keep_connection: bool,
    pub layer: Layer,
}

impl Setup {
    /// Returns SQLite's defaults for a database with these pages.
    pub fn of_pages(page_size: u32) -> Self {
        Self {
            page_size,
            auto_vacuum: "none".to_owned(),
            vacuum: false,
            journal_mode: JournalMode::Delete,
            synchronous: Synchronous::Full,
            cache_size: -2000,
            wal_autocheckpoint: 1000,
            pragmas: Vec::new(),
            schema: Vec::new(),
            group: 1,
            keep_connection: false,
            layer: Layer::Sqlite,
        }
    }

    /// Returns the bytes of the page cache.
    pub fn cache_bytes(&self) -> u64 {
        match self.cache_size {
            kibibytes @ ..0 => kibibytes.unsigned_abs().saturating_mul(1024),
            pages => u64::from(self.page_size).saturating_mul(pages.unsigned_abs()),
        }
    }

    /// Returns the SQL that a connection begins with.
    pub fn connection_sql(&self) -> String {
        let mut sql = format!(
            "PRAGMA journal_mode = {}; PRAGMA synchronous = {}; PRAGMA cache_size = {}; \
             PRAGMA wal_autocheckpoint = {};",
            self.journal_mode, self.synchronous, self.cache_size, self.wal_autocheckpoint
        );
        for (name, value) in &self.pragmas {
            sql.push_str(&format!("PRAGMA {name} = {value};"));
        }
        sql
    }
}
