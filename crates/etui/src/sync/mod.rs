//! The state of synchronisation with servers: accounts, pairs of collections, links, problems.
//!
//! It is in the store, so that a backup has it with the records. A change of a record and the link that says that
//! both sides agree on it are one transaction ([`Links::commit`]): a run that is killed at any point goes on where
//! it was. The crate `etui-sync` runs it.
//!
//! ```
//! use etui::Store;
//! use etui::sync::AccountSettings;
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let account = store.sync().add_account(&AccountSettings {
//!     name: "home".into(),
//!     url: "https://dav.example.org/".into(),
//!     user: "ada".into(),
//!     ..AccountSettings::default()
//! })?;
//! assert_eq!(store.sync().accounts()?[0].id, account);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod links;

use rusqlite::{Connection, Row};

use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::types::{CollectionId, CollectionKind, SyncToken, now_ms};

pub(crate) use links::erase_bases;
pub use links::{CommittedChange, Link, LinkBrief, LinkEdit, LinkedChange, Links, RecordEdit};

/// Created with the first account.
const SCHEMA: &str = include_str!("sync.sql");

/// The number of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId(pub i64);

/// The number of a pair of collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PairId(pub i64);

/// The settings of an account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountSettings {
    /// Its name, by which commands know it.
    pub name: String,
    /// The address that the person gave: the password goes to this server only.
    pub url: String,
    /// The user; empty for one that logs in by a token alone.
    pub user: String,
    /// Where the password is, as the program that runs it wrote it. Never the password itself.
    pub secret: String,
    /// The SHA-256 of a certificate that the person accepted, in hexadecimal digits.
    pub certificate: Option<String>,
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// Its number.
    pub id: AccountId,
    /// Its settings.
    pub settings: AccountSettings,
}

/// The directions in which changes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Both.
    #[default]
    Both,
    /// From the server to here alone.
    FromServer,
    /// From here to the server alone.
    ToServer,
}

impl Direction {
    const ALL: [(Self, &str); 3] = [
        (Self::Both, "both"),
        (Self::FromServer, "from server"),
        (Self::ToServer, "to server"),
    ];

    /// Returns its name in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(one, _)| *one == self);
        found.map_or("", |(_, name)| name)
    }

    fn of_name(name: &str) -> Self {
        let found = Self::ALL.iter().find(|(_, one)| *one == name);
        // One of a later version: nothing is sent.
        found.map_or(Self::FromServer, |(one, _)| *one)
    }
}

/// A collection here and one of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairSettings {
    /// The account.
    pub account: AccountId,
    /// The kind of the collection.
    pub kind: CollectionKind,
    /// The collection here.
    pub collection: CollectionId,
    /// The address of the server's collection.
    pub url: String,
    /// The directions in which changes go.
    pub direction: Direction,
    /// The server takes contacts of vCard 4.0 as they are.
    pub takes_v4: bool,
}

/// Where a pair stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PairState {
    /// The server's token (RFC 6578).
    pub remote_token: Option<String>,
    /// The server's `getctag`.
    pub ctag: Option<String>,
    /// The state here of which all changes were looked at.
    pub local_token: Option<SyncToken>,
    /// When the server's collection was last listed in full, in Unix ms.
    pub listed_at: Option<i64>,
    /// When a run last came to its end, in Unix ms.
    pub synced_at: Option<i64>,
}

/// A pair.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pair {
    /// Its number.
    pub id: PairId,
    /// Its collections.
    pub settings: PairSettings,
    /// Where it stands.
    pub state: PairState,
}

/// Something that the server or the store refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncProblem {
    /// The href, or `#` and the id of a record that the server has not.
    pub item: String,
    /// Its name for people, with the date of an entry.
    pub title: String,
    /// Why, in the words of who refused it.
    pub reason: String,
    /// The entity tag that was refused.
    pub etag: Option<String>,
    /// Since when, in Unix ms. Set by [`SyncState::report_problem`].
    pub since: i64,
    /// How often. Set by [`SyncState::report_problem`].
    pub times: u64,
}

/// The state of synchronisation of a store ([`Store::sync`]).
pub struct SyncState<'s>(&'s Store);

impl Store {
    /// Returns the state of synchronisation with servers.
    pub fn sync(&self) -> SyncState<'_> {
        SyncState(self)
    }
}

fn has_tables(conn: &Connection) -> Result<bool> {
    let mut found =
        conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'sync_account'")?;
    Ok(found.exists([])?)
}

impl SyncState<'_> {
    fn read<T: Default>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.0.db.read_transaction(|conn| match has_tables(conn)? {
            true => work(conn),
            false => Ok(T::default()),
        })
    }

    fn write<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.0.db.write_of(TransactionSize::Small, |conn| {
            if !has_tables(conn)? {
                conn.execute_batch(SCHEMA)?;
            }
            work(conn)
        })
    }

    /// Adds an account.
    ///
    /// # Errors
    /// [`Error::AccountExists`]; any write error.
    pub fn add_account(&self, settings: &AccountSettings) -> Result<AccountId> {
        let AccountSettings {
            name,
            url,
            user,
            secret,
            certificate,
        } = settings;
        self.write(|conn| {
            let added = conn.execute(
                "INSERT INTO sync_account (name, url, user, secret, certificate) \
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                (name, url, user, secret, certificate),
            )?;
            match added {
                0 => Err(Error::AccountExists(name.clone())),
                _ => Ok(AccountId(conn.last_insert_rowid())),
            }
        })
    }

    /// Returns the accounts, in the order in which they were added.
    ///
    /// # Errors
    /// Any read error.
    pub fn accounts(&self) -> Result<Vec<Account>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT id, name, url, user, secret, certificate FROM sync_account ORDER BY id",
            )?;
            let found = statement.query_map([], |row| {
                Ok(Account {
                    id: AccountId(row.get(0)?),
                    settings: AccountSettings {
                        name: row.get(1)?,
                        url: row.get(2)?,
                        user: row.get(3)?,
                        secret: row.get(4)?,
                        certificate: row.get(5)?,
                    },
                })
            })?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Forgets an account, its pairs, links and problems. The collections stay, here and on the server.
    ///
    /// # Errors
    /// Any write error.
    pub fn remove_account(&self, account: AccountId) -> Result<()> {
        self.write(|conn| {
            let pairs = "(SELECT id FROM sync_pair WHERE account = ?1)";
            for table in ["sync_link", "sync_problem"] {
                conn.execute(
                    &format!("DELETE FROM {table} WHERE pair IN {pairs}"),
                    [account.0],
                )?;
            }
            conn.execute("DELETE FROM sync_pair WHERE account = ?1", [account.0])?;
            conn.execute("DELETE FROM sync_account WHERE id = ?1", [account.0])?;
            Ok(())
        })
    }

    /// Pairs a collection here with one of a server; a pair of this address is changed.
    ///
    /// # Errors
    /// Any write error.
    pub fn add_pair(&self, pair: &PairSettings) -> Result<PairId> {
        self.write(|conn| {
            let id = conn.query_row(
                "INSERT INTO sync_pair (account, kind, collection, url, direction, takes_v4) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (account, url) DO UPDATE SET \
                 direction = excluded.direction, takes_v4 = excluded.takes_v4, \
                 local_token = CASE direction WHEN excluded.direction THEN local_token END, \
                 remote_token = CASE direction WHEN excluded.direction THEN remote_token END, \
                 ctag = CASE direction WHEN excluded.direction THEN ctag END RETURNING id",
                (
                    pair.account.0,
                    pair.kind.schema_name(),
                    pair.collection.0,
                    &pair.url,
                    pair.direction.name(),
                    pair.takes_v4,
                ),
                |row| row.get(0),
            )?;
            Ok(PairId(id))
        })
    }

    /// Returns the pairs of an account.
    ///
    /// # Errors
    /// Any read error.
    pub fn pairs(&self, account: AccountId) -> Result<Vec<Pair>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT id, account, kind, collection, url, direction, takes_v4, remote_token, ctag, \
                 local_token, listed_at, synced_at FROM sync_pair WHERE account = ?1 ORDER BY id",
            )?;
            let found = statement.query_map([account.0], read_pair)?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Records where a pair stands.
    ///
    /// # Errors
    /// Any write error.
    pub fn save_state(&self, pair: PairId, state: &PairState) -> Result<()> {
        self.write(|conn| {
            conn.prepare_cached(
                "UPDATE sync_pair SET remote_token = ?2, ctag = ?3, local_token = ?4, listed_at = ?5, \
                 synced_at = ?6 WHERE id = ?1",
            )?
            .execute((
                pair.0,
                &state.remote_token,
                &state.ctag,
                state.local_token.as_ref().map(ToString::to_string),
                state.listed_at,
                state.synced_at,
            ))?;
            Ok(())
        })
    }

    /// Returns what is refused in a pair, the oldest first.
    ///
    /// # Errors
    /// Any read error.
    pub fn problems(&self, pair: PairId) -> Result<Vec<SyncProblem>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT item, title, reason, etag, since, times FROM sync_problem WHERE pair = ?1 \
                 ORDER BY since, item",
            )?;
            let found = statement.query_map([pair.0], |row| {
                let times: i64 = row.get(5)?;
                Ok(SyncProblem {
                    item: row.get(0)?,
                    title: row.get(1)?,
                    reason: row.get(2)?,
                    etag: row.get(3)?,
                    since: row.get(4)?,
                    times: times.unsigned_abs(),
                })
            })?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Records that something is refused, once more if it was before.
    ///
    /// # Errors
    /// Any write error.
    pub fn report_problem(&self, pair: PairId, problem: &SyncProblem) -> Result<()> {
        self.write(|conn| {
            conn.prepare_cached(
                "INSERT INTO sync_problem (pair, item, title, reason, etag, since, times) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1) ON CONFLICT DO UPDATE SET title = excluded.title, \
                 reason = excluded.reason, etag = excluded.etag, times = times + 1",
            )?
            .execute((
                pair.0,
                &problem.item,
                &problem.title,
                &problem.reason,
                &problem.etag,
                now_ms(),
            ))?;
            Ok(())
        })
    }

    /// Forgets a problem.
    ///
    /// # Errors
    /// Any write error.
    pub fn clear_problem(&self, pair: PairId, item: &str) -> Result<()> {
        self.write(|conn| {
            conn.prepare_cached("DELETE FROM sync_problem WHERE pair = ?1 AND item = ?2")?
                .execute((pair.0, item))?;
            Ok(())
        })
    }
}

fn read_pair(row: &Row<'_>) -> rusqlite::Result<Pair> {
    let kind: String = row.get(2)?;
    let direction: String = row.get(5)?;
    let token: Option<String> = row.get(9)?;
    Ok(Pair {
        id: PairId(row.get(0)?),
        settings: PairSettings {
            account: AccountId(row.get(1)?),
            kind: CollectionKind::from_schema_name(&kind).unwrap_or(CollectionKind::Contacts),
            collection: CollectionId(row.get(3)?),
            url: row.get(4)?,
            direction: Direction::of_name(&direction),
            takes_v4: row.get(6)?,
        },
        state: PairState {
            remote_token: row.get(7)?,
            ctag: row.get(8)?,
            // One that cannot be read has all compared anew.
            local_token: token.and_then(|token| token.parse().ok()),
            listed_at: row.get(10)?,
            synced_at: row.get(11)?,
        },
    })
}
