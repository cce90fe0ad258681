//! Records as queries and date books read them: by their numbers, one or several at a time, to be
//! compared, and gathered to be sorted.

use std::fmt::Write as _;

use rusqlite::{CachedStatement, Connection, Row};

use crate::error::Result;

/// Live records of a collection, read by number. Starting a statement costs as much as finding
/// a record, so one statement finds several, in the order in which they are asked for.
pub(crate) struct ByNumber<'c> {
    conn: &'c Connection,
    collection: i64,
    columns: &'static str,
    /// For one, some and many at once.
    statements: [Option<CachedStatement<'c>>; 3],
}

/// How many numbers each statement takes.
const TAKES: [usize; 3] = [1, 6, 32];

impl<'c> ByNumber<'c> {
    /// `columns` are what is read of `r`, the record, behind its id.
    pub(crate) fn new(conn: &'c Connection, collection: i64, columns: &'static str) -> Self {
        Self {
            conn,
            collection,
            columns,
            statements: [None, None, None],
        }
    }

    /// Calls `see` with the row of each, those excepted that are gone or of another collection.
    pub(crate) fn each(
        &mut self,
        ids: &[i64],
        mut see: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut rest = ids;
        while !rest.is_empty() {
            let which = TAKES.iter().take(2).filter(|&&t| rest.len() > t).count();
            let takes = TAKES[which];
            let (now, behind) = rest.split_at(rest.len().min(takes));
            rest = behind;
            let mut statement = match self.statements[which].take() {
                Some(statement) => statement,
                None => self.prepare(takes)?,
            };
            for (at, id) in now
                .iter()
                .map(Some)
                .chain(std::iter::repeat(None))
                .take(takes)
                .enumerate()
            {
                statement.raw_bind_parameter(at + 1, id)?;
            }
            statement.raw_bind_parameter(takes + 1, self.collection)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                see(row)?;
            }
            drop(rows);
            self.statements[which] = Some(statement);
        }
        Ok(())
    }

    fn prepare(&self, takes: usize) -> Result<CachedStatement<'c>> {
        let columns = self.columns;
        if takes == 1 {
            return Ok(self.conn.prepare_cached(&format!(
                "SELECT r.id, {columns} FROM record r \
                 WHERE r.id = ?1 AND r.collection = ?2 AND r.removed IS NULL"
            ))?);
        }
        let mut text = format!("SELECT r.id, {columns} FROM (VALUES (?1)");
        for n in 2..=takes {
            let _ = write!(text, ",(?{n})");
        }
        let _ = write!(
            text,
            ") v CROSS JOIN record r ON r.id = v.column1 \
             WHERE r.collection = ?{} AND r.removed IS NULL",
            takes + 1
        );
        Ok(self.conn.prepare_cached(&text)?)
    }
}

/// What a record is compared and sorted by.
pub(super) struct Records<'c>(ByNumber<'c>);

impl<'c> Records<'c> {
    pub(super) fn new(conn: &'c Connection, collection: i64) -> Self {
        Self(ByNumber::new(conn, collection, "r.sort, r.summary, r.keys"))
    }

    /// Calls `see` with the number, sort key, summary and keys of each of these records, those
    /// excepted that are gone or of another collection.
    pub(super) fn each(
        &mut self,
        ids: &[i64],
        mut see: impl FnMut(i64, &[u8], &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.0.each(ids, |row| {
            let column = |n| -> Result<&[u8]> { Ok(row.get_ref(n)?.as_blob().unwrap_or_default()) };
            see(row.get(0)?, column(1)?, column(2)?, column(3)?)
        })
    }

    /// Whether a record is live, of this collection, and its keys are as `matches` says.
    pub(super) fn has(&mut self, id: i64, matches: impl Fn(&[u8]) -> bool) -> Result<bool> {
        let mut found = false;
        self.each(&[id], |_, _, _, keys| {
            found = matches(keys);
            Ok(())
        })?;
        Ok(found)
    }
}

/// Matches with what they are sorted by, in one piece of memory.
#[derive(Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    /// Each one's number, and where its sort key begins, and its summary begins and ends.
    entries: Vec<(i64, usize, usize, usize)>,
}

impl Gathered {
    pub(super) fn push(&mut self, id: i64, sort: &[u8], summary: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(sort);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(summary);
        self.entries.push((id, begin, middle, self.bytes.len()));
    }

    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries
            .sort_unstable_by_key(|&(id, begin, middle, _)| (&bytes[begin..middle], id));
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, at: usize) -> (i64, &[u8], &[u8]) {
        let (id, begin, middle, end) = self.entries[at];
        (id, &self.bytes[begin..middle], &self.bytes[middle..end])
    }
}
