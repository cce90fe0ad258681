//! The page of an answer: what is shown of each record, and where it is read.

use rusqlite::{Connection, Row};

use super::columns::Shape;
use super::records::ByNumber;
use super::rows::Table;
use crate::error::Result;
use crate::types::RecordId;

/// The rows of the answer as they are filled.
pub(super) struct Page<'c> {
    pub(super) table: Table,
    shape: Shape,
    /// Reads what a summary does not have.
    beyond_summary: ByNumber<'c>,
    /// Reads all that is shown.
    all: ByNumber<'c>,
}

impl<'c> Page<'c> {
    pub(super) fn new(conn: &'c Connection, collection: i64, shape: Shape) -> Self {
        let by_number = |summary| ByNumber::new(conn, collection, select(&shape, summary));
        let (beyond_summary, all) = (by_number(false), by_number(shape.has_summary()));
        Self {
            table: Table::default(),
            shape,
            beyond_summary,
            all,
        }
    }

    /// Whether summaries are shown.
    pub(super) fn shows_summaries(&self) -> bool {
        self.shape.has_summary()
    }

    /// How many rows there are so far.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.table = Table::default();
    }

    /// A row, of the record with this number and summary.
    pub(super) fn push(&mut self, id: i64, summary: &[u8]) -> Result<()> {
        let (table, shape) = (&mut self.table, &mut self.shape);
        if shape.uid || shape.etag || shape.has_text() {
            let push = |row: &Row<'_>| push_row(table, shape, Some(summary), row);
            return self.beyond_summary.each(&[id], push);
        }
        table.begin(RecordId(id));
        shape.push_summary(summary, table);
        Ok(())
    }

    /// A row of each record with these numbers that is live and of this collection.
    pub(super) fn push_by_number(&mut self, ids: &[i64]) -> Result<()> {
        let (table, shape) = (&mut self.table, &mut self.shape);
        self.all.each(ids, |row| push_row(table, shape, None, row))
    }
}

/// What is read of a record for these columns, beside its summary unless that is asked for too.
/// SQLite copies each column that it reads, so no more is asked for.
fn select(shape: &Shape, summary: bool) -> &'static str {
    match (summary, shape.uid || shape.etag, shape.has_text()) {
        (true, true, true) => "r.summary, r.uid, r.etag, r.text",
        (true, true, false) => "r.summary, r.uid, r.etag, NULL",
        (true, false, true) => "r.summary, NULL, NULL, r.text",
        (true, false, false) => "r.summary, NULL, NULL, NULL",
        (false, true, true) => "NULL, r.uid, r.etag, r.text",
        (false, true, false) => "NULL, r.uid, r.etag, NULL",
        (false, false, true) => "NULL, NULL, NULL, r.text",
        (false, false, false) => "NULL, NULL, NULL, NULL",
    }
}

/// A row of the answer from what [`select`] names; its summary unless it is known.
fn push_row(
    table: &mut Table,
    shape: &mut Shape,
    summary: Option<&[u8]>,
    row: &Row<'_>,
) -> Result<()> {
    table.begin(RecordId(row.get(0)?));
    match summary {
        Some(summary) => shape.push_summary(summary, table),
        None => shape.push_summary(row.get_ref(1)?.as_blob().unwrap_or_default(), table),
    }
    if shape.uid {
        table.push(row.get_ref(2)?.as_bytes().unwrap_or_default());
    }
    if shape.etag {
        let etag: crate::ETag = row.get(3)?;
        table.push(etag.to_string().as_bytes());
    }
    if shape.has_text() {
        shape.push_text(row.get_ref(4)?.as_blob().unwrap_or_default(), table);
    }
    Ok(())
}
