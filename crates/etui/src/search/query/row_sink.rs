//! [`RowSink`]: the rows of an answer as they are filled.

use rusqlite::{Connection, Row};

use super::columns::RowShape;
use super::record_reader::RecordsById;
use super::rows::RowBuffer;
use crate::error::Result;
use crate::types::RecordId;

/// The rows of an answer as they are filled, and the statements that read their columns.
pub(super) struct RowSink<'c> {
    pub(super) rows: RowBuffer,
    shape: RowShape,
    /// Reads the columns that the summary does not have.
    beyond_summary: RecordsById<'c>,
    /// Reads every column of the row.
    whole_rows: RecordsById<'c>,
}

impl<'c> RowSink<'c> {
    pub(super) fn new(conn: &'c Connection, collection: i64, shape: RowShape) -> Self {
        let reader = |summary| RecordsById::new(conn, collection, select_list(&shape, summary));
        let (beyond_summary, whole_rows) = (reader(false), reader(shape.has_summary()));
        Self {
            rows: RowBuffer::default(),
            shape,
            beyond_summary,
            whole_rows,
        }
    }

    /// Returns true if rows show columns of the summary.
    pub(super) fn shows_summaries(&self) -> bool {
        self.shape.has_summary()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Removes the rows from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
    }

    /// Appends the row of the record with this id and summary.
    pub(super) fn push(&mut self, id: i64, summary: &[u8]) -> Result<()> {
        let (rows, shape) = (&mut self.rows, &mut self.shape);
        if shape.uid || shape.etag || shape.has_text() {
            let push = |row: &Row<'_>| push_row(rows, shape, Some(summary), row);
            return self.beyond_summary.each_row(&[id], push);
        }
        rows.begin_row(RecordId(id));
        shape.push_summary(summary, rows);
        Ok(())
    }

    /// Appends the row of each of these records that is live and in the collection.
    pub(super) fn push_by_id(&mut self, ids: &[i64]) -> Result<()> {
        let (rows, shape) = (&mut self.rows, &mut self.shape);
        self.whole_rows
            .each_row(ids, |row| push_row(rows, shape, None, row))
    }
}

/// Returns the select list for a row's columns. SQLite copies each column that it reads, so columns
/// that are not shown are NULL.
pub(super) fn select_list(shape: &RowShape, summary: bool) -> &'static str {
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

/// Appends a row from the columns of [`select_list`]. `summary`: the summary, if it was not
/// selected.
pub(super) fn push_row(
    rows: &mut RowBuffer,
    shape: &mut RowShape,
    summary: Option<&[u8]>,
    row: &Row<'_>,
) -> Result<()> {
    rows.begin_row(RecordId(row.get(0)?));
    match summary {
        Some(summary) => shape.push_summary(summary, rows),
        None => shape.push_summary(row.get_ref(1)?.as_blob().unwrap_or_default(), rows),
    }
    if shape.uid {
        rows.push(row.get_ref(2)?.as_bytes().unwrap_or_default());
    }
    if shape.etag {
        let etag: crate::types::ETag = row.get(3)?;
        rows.push(etag.to_string().as_bytes());
    }
    if shape.has_text() {
        shape.push_text(row.get_ref(4)?.as_blob().unwrap_or_default(), rows);
    }
    Ok(())
}
