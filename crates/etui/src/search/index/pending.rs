//! Pending records: changed since the index was last brought up to date.
//!
//! Every search compares their keys. So that it need not read them each time, a store keeps an
//! image of them in memory, which grows with the changes and begins anew when it no longer fits
//! the state that is read.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Row};

use crate::db::metadata;
use crate::error::Result;

/// Most records in the image, and bytes of their keys; beyond, they are read each time.
const MAX_RECORDS: usize = 4_096;
const MAX_BYTES: usize = 1 << 20;

/// How far the index is, and the store, in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Terms of changes up to this number are in the index.
    pub(crate) terms: i64,
    /// And grams of changes up to this one.
    pub(crate) grams: i64,
    /// The number of the latest change.
    pub(crate) latest: i64,
}

impl Marks {
    /// Reads them.
    pub(crate) fn of(conn: &Connection) -> Result<Self> {
        Ok(conn
            .prepare_cached(
                "SELECT coalesce((SELECT value FROM meta WHERE key = ?1), 0), \
                        coalesce((SELECT value FROM meta WHERE key = ?2), 0), \
                        max(coalesce((SELECT max(id) FROM record), 0), \
                            coalesce((SELECT max(number) FROM change), 0))",
            )?
            .query_row([metadata::TERM_MARK, metadata::GRAM_MARK], |r| {
                Ok(Self {
                    terms: r.get(0)?,
                    grams: r.get(1)?,
                    latest: r.get(2)?,
                })
            })?)
    }

    /// What a look that uses (terms, grams) has to look at besides: changes beyond this number.
    pub(crate) fn since(&self, (terms, grams): (bool, bool)) -> i64 {
        match (terms, grams) {
            (true, true) => self.terms.min(self.grams),
            (true, false) => self.terms,
            (false, true) => self.grams,
            (false, false) => self.latest,
        }
    }
}

/// A pending record.
#[derive(Debug, Clone)]
struct Record {
    changed: i64,
    /// Its address book and keys; `None`: it is not live.
    live: Option<(i64, Vec<u8>)>,
}

/// The image of one store's pending records.
#[derive(Debug, Default)]
pub(crate) struct Pending(Mutex<Image>);

#[derive(Debug, Default)]
struct Image {
    /// It has the changes beyond this number...
    from: i64,
    /// ...up to this one.
    to: i64,
    records: BTreeMap<i64, Record>,
    bytes: usize,
}

impl Pending {
    /// Calls `visit` with every record changed since the number `since`: its id, and the keys it
    /// has now if it is live and in `book`.
    pub(crate) fn each(
        &self,
        conn: &Connection,
        book: i64,
        marks: &Marks,
        since: i64,
        mut visit: impl FnMut(i64, Option<&[u8]>),
    ) -> Result<()> {
        if since >= marks.latest {
            return Ok(());
        }
        let mut image = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // An older state than the image's is read by itself, and so is more than it would hold.
        let merged = marks.terms.min(marks.grams);
        let many = marks.latest - merged > 2 * MAX_RECORDS as i64;
        if many || image.to > marks.latest || image.from > since {
            drop(image);
            return read(conn, since, |id, _, live| {
                visit(id, live.filter(|(b, _)| *b == book).map(|(_, keys)| keys));
            });
        }
        if image.to < merged {
            *image = Image::starting_at(merged);
        }
        image.forget(merged);
        image.grow(conn, marks.latest)?;
        for (&id, record) in &image.records {
            if record.changed > since {
                let live = record.live.as_ref().filter(|(b, _)| *b == book);
                visit(id, live.map(|(_, keys)| &keys[..]));
            }
        }
        if image.records.len() > MAX_RECORDS || image.bytes > MAX_BYTES {
            *image = Image::default();
        }
        Ok(())
    }
}

/// Calls `visit` with every record changed since the number `since`: its id, its latest change,
/// and if it is live its address book and keys.
fn read(
    conn: &Connection,
    since: i64,
    mut visit: impl FnMut(i64, i64, Option<(i64, &[u8])>),
) -> Result<()> {
    let mut added = conn.prepare_cached(
        "SELECT id, changed, collection, removed IS NULL, keys FROM record NOT INDEXED \
         WHERE id > ?1",
    )?;
    let mut see = |row: &Row<'_>| -> Result<()> {
        let keys = row.get_ref(4)?.as_blob().unwrap_or_default();
        let live = match row.get(3)? {
            true => Some((row.get(2)?, keys)),
            false => None,
        };
        visit(row.get(0)?, row.get(1)?, live);
        Ok(())
    };
    let mut rows = added.query([since])?;
    while let Some(row) = rows.next()? {
        see(row)?;
    }
    let mut edited = conn
        .prepare_cached("SELECT DISTINCT record FROM change WHERE number > ?1 AND record <= ?1")?;
    let mut now = conn.prepare_cached(
        "SELECT id, changed, collection, removed IS NULL, keys FROM record WHERE id = ?1",
    )?;
    let mut rows = edited.query([since])?;
    while let Some(row) = rows.next()? {
        let mut found = now.query([row.get::<_, i64>(0)?])?;
        if let Some(row) = found.next()? {
            see(row)?;
        }
    }
    Ok(())
}

impl Image {
    fn starting_at(number: i64) -> Self {
        Self {
            from: number,
            to: number,
            ..Self::default()
        }
    }

    /// Forgets what is merged.
    fn forget(&mut self, merged: i64) {
        if merged > self.from {
            self.from = merged;
            let bytes = &mut self.bytes;
            self.records.retain(|_, record| {
                let stays = record.changed > merged;
                if !stays {
                    *bytes -= record.bytes();
                }
                stays
            });
        }
    }

    /// Takes in the changes up to `latest`, which `conn` sees.
    fn grow(&mut self, conn: &Connection, latest: i64) -> Result<()> {
        if self.to < latest {
            read(conn, self.to, |id, changed, live| {
                let live = live.map(|(book, keys)| (book, keys.to_vec()));
                self.put(id, Record { changed, live });
            })?;
            self.to = latest;
        }
        Ok(())
    }

    fn put(&mut self, id: i64, record: Record) {
        self.bytes += record.bytes();
        if let Some(before) = self.records.insert(id, record) {
            self.bytes -= before.bytes();
        }
    }
}

impl Record {
    fn bytes(&self) -> usize {
        self.live.as_ref().map_or(0, |(_, keys)| keys.len())
    }
}
