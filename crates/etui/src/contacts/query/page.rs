//! The page of an answer: what is shown of each contact, and where it is read.

use rusqlite::{Connection, Row};

use super::records::ByNumber;
use super::rows::{Column, Columns, Rows};
use crate::collection::RecordId;
use crate::contacts::card::{Card, Typed};
use crate::error::Result;

/// The rows of the answer as they are filled.
pub(super) struct Page<'c> {
    pub(super) rows: Rows,
    /// Reads what a summary does not have.
    beyond_summary: ByNumber<'c>,
    /// Reads all that is shown.
    all: ByNumber<'c>,
}

impl<'c> Page<'c> {
    pub(super) fn new(conn: &'c Connection, book: i64, columns: Columns) -> Self {
        let by_number = |summary| ByNumber::new(conn, book, select(columns, summary));
        Self {
            rows: Rows::new(columns),
            beyond_summary: by_number(false),
            all: by_number(columns.any(Columns::SUMMARY)),
        }
    }

    /// A row, of the contact with this number and summary.
    pub(super) fn push(&mut self, id: i64, summary: &[u8]) -> Result<()> {
        let rows = &mut self.rows;
        if rows.columns.any(Columns::RECORD | rows.columns.of_card()) {
            let push = |row: &Row<'_>| push_row(rows, Some(summary), row);
            return self.beyond_summary.each(&[id], push);
        }
        rows.begin(RecordId(id));
        if rows.columns.any(Columns::SUMMARY) {
            rows.push_summary(summary);
        }
        Ok(())
    }

    /// A row of each contact with these numbers that is live and of this address book.
    pub(super) fn push_by_number(&mut self, ids: &[i64]) -> Result<()> {
        let rows = &mut self.rows;
        self.all.each(ids, |row| push_row(rows, None, row))
    }
}

/// What is read of a record for these columns, beside its summary unless that is asked for too.
/// SQLite copies each column that it reads, so no more is asked for.
fn select(columns: Columns, summary: bool) -> &'static str {
    let record = columns.any(Columns::RECORD);
    let text = columns.any(columns.of_card());
    match (summary, record, text) {
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
fn push_row(rows: &mut Rows, summary: Option<&[u8]>, row: &Row<'_>) -> Result<()> {
    let columns = rows.columns;
    rows.begin(RecordId(row.get(0)?));
    if columns.any(Columns::SUMMARY) {
        match summary {
            Some(summary) => rows.push_summary(summary),
            None => rows.push_summary(row.get_ref(1)?.as_blob().unwrap_or_default()),
        }
    }
    if columns.has(Column::Uid) {
        rows.push(row.get_ref(2)?.as_bytes().unwrap_or_default());
    }
    if columns.has(Column::ETag) {
        let etag: crate::ETag = row.get(3)?;
        rows.push(etag.to_string().as_bytes());
    }
    if columns.any(columns.of_card()) {
        push_of_card(rows, row.get_ref(4)?.as_blob().unwrap_or_default());
    }
    Ok(())
}

/// The columns that are read from the card. A text that is no vCard has none of them.
fn push_of_card(rows: &mut Rows, text: &[u8]) {
    let columns = rows.columns.of_card();
    let parsed = match columns == Columns::from(Column::Card) {
        true => None,
        false => Card::parse(text.to_vec()).ok(),
    };
    let typed = |all: Vec<Typed>| all.into_iter().map(|t| t.value);
    for column in columns.iter() {
        match (column, &parsed) {
            (Column::Card, _) => rows.push(text),
            (_, None) => rows.push(&[]),
            (Column::Family, Some(card)) => rows.push(card.name().family.as_bytes()),
            (Column::Given, Some(card)) => {
                let name = card.name();
                let given = format!("{} {}", name.given, name.additional);
                rows.push(given.trim().as_bytes());
            }
            (Column::Nicknames, Some(card)) => rows.push_many(card.nicknames()),
            (Column::Phones, Some(card)) => rows.push_many(typed(card.phones())),
            (Column::Emails, Some(card)) => rows.push_many(typed(card.emails())),
            (Column::Categories, Some(card)) => rows.push_many(card.categories()),
            (_, Some(card)) => rows.push(card.note().unwrap_or_default().as_bytes()),
        }
    }
}
