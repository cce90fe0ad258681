//! Plain SQLite with a schema made by hand for the same questions: one table of records with
//! their derived values, one in list order, one of terms, one of grams; etui's settings.
//!
//! The values come from a store that etui filled: a closed store is an ordinary SQLite database.

use std::ops::Range;
use std::path::Path;

use etui_text::varint;
use rusqlite::types::{FromSql, Value};
use rusqlite::{Connection, params_from_iter};
use strum::{Display, EnumString, VariantArray};

use crate::error::Error;
use crate::experiments::common::{open_database, select_column};

/// The settings that a store has.
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA cache_size = -4096; \
     PRAGMA mmap_size = 1073741824; PRAGMA journal_size_limit = 8388608";

/// Opens a database with the settings that a store has; through a VFS, if one is named.
pub fn open_configured(path: &Path, vfs: Option<&str>) -> Result<Connection, Error> {
    let db = open_database(path, vfs)?;
    db.execute_batch(SETTINGS)?;
    Ok(db)
}

/// Fetches records by their UIDs in one query, which ends with `uid IN`.
pub fn select_uids(db: &Connection, query: &str, uids: &[String]) -> Result<Vec<Vec<u8>>, Error> {
    let marks = vec!["?"; uids.len()].join(", ");
    select_column(db, &format!("{query} ({marks})"), params_from_iter(uids))
}

/// The schema. Terms are rows of their own, words of all fields under one kind.
const SCHEMA: &str = "
    CREATE TABLE record (
        id INTEGER PRIMARY KEY, collection INTEGER NOT NULL, changed INTEGER NOT NULL,
        removed INTEGER, uid TEXT NOT NULL, etag BLOB NOT NULL, sort BLOB NOT NULL,
        keys BLOB NOT NULL, text BLOB NOT NULL) STRICT;
    CREATE TABLE list (
        collection INTEGER NOT NULL, sort BLOB NOT NULL, id INTEGER NOT NULL,
        summary BLOB NOT NULL, PRIMARY KEY (collection, sort, id)) STRICT, WITHOUT ROWID;
    CREATE TABLE term (
        term BLOB NOT NULL, record INTEGER NOT NULL,
        PRIMARY KEY (term, record)) STRICT, WITHOUT ROWID;
    CREATE TABLE gram (
        gram INTEGER NOT NULL, first INTEGER NOT NULL, ids BLOB NOT NULL,
        PRIMARY KEY (gram, first)) STRICT, WITHOUT ROWID;
    PRAGMA journal_mode = WAL;";

/// Indexes that saves maintain: each value includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, EnumString, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum IndexParts {
    /// `record` alone, without its UID index.
    Record,
    /// And `record_uid`: finding by UID.
    #[strum(serialize = "record_uid")]
    Uid,
    /// And `list`: the list in its order.
    List,
    /// And `term`: words, addresses, numbers and their beginnings.
    Term,
    /// And `gram`: substrings, three characters each; written for many contacts at once, as etui does.
    Gram,
}

#[derive(Debug, Clone)]
struct PlainRecord {
    id: i64,
    uid: String,
    etag: Vec<u8>,
    sort: Vec<u8>,
    keys: Vec<u8>,
    text: Vec<u8>,
    summary: Vec<u8>,
    terms: Vec<Vec<u8>>,
}

/// The rows of a filled store, contact by contact in the order in which they were saved.
#[derive(Debug, Clone, Default)]
pub struct PlainRows {
    records: Vec<PlainRecord>,
    /// `gram` for all of them together: gram, first, ids.
    grams: Vec<(i64, i64, Vec<u8>)>,
}

impl PlainRows {
    /// Reads them from a closed store.
    pub fn read(store: &Path) -> Result<Self, Error> {
        let conn = Connection::open(store)?;
        let mut records: Vec<PlainRecord> = conn
            .prepare(
                "SELECT id, uid, etag, sort_key, keys, text, summary FROM record \
                 WHERE removed_at IS NULL ORDER BY id",
            )?
            .query_map([], |row| {
                Ok(PlainRecord {
                    id: row.get(0)?,
                    uid: row.get(1)?,
                    etag: row.get(2)?,
                    sort: row.get(3)?,
                    keys: compared_keys(row.get_ref(4)?.as_blob()?),
                    text: row.get(5)?,
                    summary: row.get(6)?,
                    terms: Vec::new(),
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        let mut terms =
            conn.prepare("SELECT term, first, ids FROM term_posting ORDER BY term, first")?;
        let mut terms = terms.query([])?;
        while let Some(row) = terms.next()? {
            let term = by_hand(row.get(0)?);
            for id in encode_ids(row.get(1)?, row.get_ref(2)?.as_blob().unwrap_or_default()) {
                if let Ok(at) = records.binary_search_by_key(&id, |record| record.id)
                    && let Some(term) = &term
                {
                    records[at].terms.push(term.clone());
                }
            }
        }
        for record in &mut records {
            record.terms.sort();
            record.terms.dedup();
        }
        let grams = conn
            .prepare("SELECT trigram, first, ids FROM trigram_posting ORDER BY trigram, first")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Self { records, grams })
    }

    /// Returns the number of contacts.
    pub fn count(&self) -> usize {
        self.records.len()
    }
}

/// First of the fields that the schema made by hand leaves out, as its queries compare none of them: titles,
/// postal addresses, birthdays (the book, *Schema*).
const FIRST_LEFT_OUT: u8 = 27;

/// Returns the entries of a record's search keys that the schema made by hand has.
fn compared_keys(mut keys: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(keys.len());
    while let Some((&field, rest)) = keys.split_first() {
        keys = rest;
        let Some(value) = varint::take_bytes(&mut keys) else {
            break;
        };
        if field < FIRST_LEFT_OUT {
            kept.push(field);
            varint::push_bytes(&mut kept, value);
        }
    }
    kept
}

/// A term as the schema made by hand has it: words of every field are of the kind `w`. `None`: it
/// has no use for it.
fn by_hand(mut term: Vec<u8>) -> Option<Vec<u8>> {
    if term.len() < 2 {
        return None;
    }
    match term[0] {
        b'e' | b'p' | b'r' => Some(term),
        b'h' | b'J' | b'A' | b'D' => None,
        _ => {
            term[0] = b'w';
            Some(term)
        }
    }
}

/// The records of a row of a posting list (the book, *Schema*).
fn encode_ids(first: i64, distances: &[u8]) -> Vec<i64> {
    let mut all = vec![first];
    let (mut last, mut distance, mut shift) = (first, 0_i64, 0);
    for byte in distances {
        distance |= i64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            last += distance;
            all.push(last);
            (distance, shift) = (0, 0);
        }
    }
    all
}

/// A query in terms of the schema: a term to find contacts by, folded values
/// to test them by, or both. Without a term every record is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlainLookup {
    term: Option<(Vec<u8>, Vec<u8>)>,
    keys: Option<Vec<u8>>,
}

impl PlainLookup {
    /// Has a term of a kind (`crates/etui/src/index/terms.rs` names them).
    pub fn term(kind: char, text: &str) -> Self {
        let term = format!("{kind}{text}").into_bytes();
        let mut end = term.clone();
        end.push(0);
        Self {
            term: Some((term, end)),
            keys: None,
        }
    }

    /// Has a term of a kind that begins so.
    pub fn prefix(kind: char, text: &str) -> Self {
        let start = format!("{kind}{text}").into_bytes();
        // Terms are UTF-8, so 0xff is beyond all that begin so.
        let mut end = start.clone();
        end.push(0xff);
        Self {
            term: Some((start, end)),
            keys: None,
        }
    }

    /// Its folded values hold a text.
    pub fn keys(text: &str) -> Self {
        Self::default().and_keys(text)
    }

    /// And its folded values hold a text.
    #[must_use]
    pub fn and_keys(mut self, text: &str) -> Self {
        self.keys = Some(text.as_bytes().to_vec());
        self
    }

    fn condition(&self) -> (String, Vec<Value>) {
        let mut parts = vec!["r.removed IS NULL"];
        let mut values = Vec::new();
        if let Some((start, end)) = &self.term {
            parts.push("r.id IN (SELECT record FROM term WHERE term >= ? AND term < ?)");
            values.extend([start, end].map(|bound| Value::Blob(bound.clone())));
        }
        if let Some(text) = &self.keys {
            parts.push("instr(r.keys, ?) > 0");
            values.push(Value::Blob(text.clone()));
        }
        (parts.join(" AND "), values)
    }
}

/// A database with that schema.
#[derive(Debug)]
pub struct PlainContacts {
    conn: Connection,
    parts: IndexParts,
}

impl PlainContacts {
    /// A new one at a path where nothing is; through a VFS, if one is named.
    pub fn create(path: &Path, parts: IndexParts, vfs: Option<&str>) -> Result<Self, Error> {
        let plain = Self::open(path, parts, vfs)?;
        plain.conn.execute_batch(SCHEMA)?;
        if parts >= IndexParts::Uid {
            let index = "CREATE UNIQUE INDEX record_uid ON record (collection, uid)";
            plain.conn.execute_batch(index)?;
        }
        Ok(plain)
    }

    /// One that is there; through a VFS, if one is named.
    pub fn open(path: &Path, parts: IndexParts, vfs: Option<&str>) -> Result<Self, Error> {
        let conn = open_configured(path, vfs)?;
        Ok(Self { conn, parts })
    }

    /// Has the directory flushed as well after a rollback journal is gone (`synchronous=EXTRA`).
    pub fn sync_directories(&self) -> Result<(), Error> {
        Ok(self.conn.execute_batch("PRAGMA synchronous = EXTRA")?)
    }

    /// Closes it, which writes the log back into the file.
    pub fn close(self) -> Result<(), Error> {
        self.conn.close().map_err(|(_, e)| Error::from(e))
    }

    /// Saves some of the rows in one transaction; with `grams` also the grams of all rows
    /// of those.
    pub fn save(&self, rows: &PlainRows, which: Range<usize>, grams: bool) -> Result<(), Error> {
        let some = rows.records.get(which).unwrap_or(&[]);
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        {
            let mut record = self.conn.prepare_cached(
                "INSERT INTO record (id, collection, changed, removed, uid, etag, sort, keys, text) \
                 VALUES (?1, 1, ?1, NULL, ?2, ?3, ?4, ?5, ?6)",
            )?;
            let mut list = self.conn.prepare_cached(
                "INSERT INTO list (collection, sort, id, summary) VALUES (1, ?1, ?2, ?3)",
            )?;
            for r in some {
                record.execute((r.id, &r.uid, &r.etag, &r.sort, &r.keys, &r.text))?;
                if self.parts >= IndexParts::List {
                    list.execute((&r.sort, r.id, &r.summary))?;
                }
            }
        }
        if self.parts >= IndexParts::Term {
            // In the order of the index, as etui does.
            let mut terms: Vec<(&[u8], i64)> = some
                .iter()
                .flat_map(|r| r.terms.iter().map(|term| (term.as_slice(), r.id)))
                .collect();
            terms.sort_unstable();
            let insert = "INSERT INTO term (term, record) VALUES (?1, ?2)";
            let mut term = self.conn.prepare_cached(insert)?;
            for entry in terms {
                term.execute(entry)?;
            }
        }
        if self.parts >= IndexParts::Gram && grams {
            let insert = "INSERT INTO gram (gram, first, ids) VALUES (?1, ?2, ?3)";
            let mut gram = self.conn.prepare_cached(insert)?;
            for entry in &rows.grams {
                gram.execute((entry.0, entry.1, &entry.2))?;
            }
        }
        Ok(self.conn.execute_batch("COMMIT")?)
    }

    /// Every vCard.
    pub fn all(&self) -> Result<Vec<Vec<u8>>, Error> {
        let query = "SELECT text FROM record WHERE removed IS NULL ORDER BY id";
        select_column(&self.conn, query, [])
    }

    /// A contact's vCard.
    pub fn get(&self, uid: &str) -> Result<Vec<u8>, Error> {
        let mut statement = self.conn.prepare_cached(
            "SELECT text FROM record WHERE collection = 1 AND uid = ?1 AND removed IS NULL",
        )?;
        Ok(statement.query_row([uid], |row| row.get(0))?)
    }

    /// Many contacts' vCards in one query.
    pub fn get_many(&self, uids: &[String]) -> Result<Vec<Vec<u8>>, Error> {
        let query = "SELECT text FROM record WHERE collection = 1 AND removed IS NULL AND uid IN";
        select_uids(&self.conn, query, uids)
    }

    /// Returns the first summaries of the list, encoded as in the file.
    pub fn list(&self, limit: u64) -> Result<Vec<Vec<u8>>, Error> {
        let query = "SELECT summary FROM list WHERE collection = 1 ORDER BY sort, id LIMIT ?1";
        select_column(
            &self.conn,
            query,
            [i64::try_from(limit).unwrap_or(i64::MAX)],
        )
    }

    /// Returns every contact's UID and summary, encoded as in the file, in list order.
    pub fn names(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let mut statement = self.conn.prepare_cached(
            "SELECT r.uid, l.summary FROM list l CROSS JOIN record r ON r.id = l.id \
             WHERE l.collection = 1 ORDER BY l.sort, l.id",
        )?;
        let named = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(named)
    }

    /// The vCards that a query means.
    pub fn find(&self, lookup: &PlainLookup) -> Result<Vec<Vec<u8>>, Error> {
        self.select("r.text", lookup)
    }

    /// The UIDs of the contacts that a query means.
    pub fn find_uids(&self, lookup: &PlainLookup) -> Result<Vec<String>, Error> {
        self.select("r.uid", lookup)
    }

    fn select<T: FromSql>(&self, column: &str, lookup: &PlainLookup) -> Result<Vec<T>, Error> {
        let (condition, values) = lookup.condition();
        let query = format!("SELECT {column} FROM record r WHERE {condition}");
        select_column(&self.conn, &query, params_from_iter(values))
    }

    /// The pages of the file.
    pub fn pages(&self) -> Result<u64, Error> {
        let pages = "PRAGMA page_count";
        let pages: i64 = self.conn.query_row(pages, [], |row| row.get(0))?;
        Ok(pages.unsigned_abs())
    }
}
