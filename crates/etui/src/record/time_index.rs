//! Time index: the records of a calendar that may overlap a range of time.
//!
//! The list of a calendar is ordered by start, so a record with one occurrence of at most
//! [`MAX_LISTED`] seconds is found there. Two tables hold the time spans of everything else:
//!
//! ```text
//! series  record -> collection, length_class, first, last, version     occurrences
//! alarm   record -> collection, length_class, first, last, version     alarms
//! ```
//!
//! Nothing of the record is before `first` or after `last` (Unix seconds; NULL: unbounded). Spans of
//! similar length share a class, and an index is ordered by class and `first`. A span that overlaps
//! a range therefore starts less than the greatest length of its class before the range:
//!
//! ```text
//! class 1 (4 days)      |--| |---|      |--|
//! class 4 (32 days)   |----------|  |-------------|
//! class 11            |------------------------------- ...
//!                               [ range )
//! ```
//!
//! `version` identifies what a span was computed from (the record's text and the time zones that only
//! its file defines). It is the key under which the parsed record is cached.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Result;

/// Longest occurrence that is found by the list alone, in seconds.
pub(crate) const MAX_LISTED: i64 = 86_400;

/// Greatest length of a span of each class, in days. The last class, [`LONGEST_CLASS`], has none.
const CLASS_DAYS: [i64; 11] = [2, 4, 8, 16, 32, 128, 512, 2_048, 8_192, 65_536, 524_288];

/// The class of longer and of unbounded spans.
const LONGEST_CLASS: i64 = CLASS_DAYS.len() as i64;

/// Bounds of what a record has in time, in Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    pub(crate) first: i64,
    /// `None`: unbounded.
    pub(crate) last: Option<i64>,
}

impl TimeSpan {
    fn length_class(self) -> i64 {
        let Some(last) = self.last else {
            return LONGEST_CLASS;
        };
        let length = last.saturating_sub(self.first);
        let class = CLASS_DAYS.iter().position(|days| length <= days * 86_400);
        class.map_or(LONGEST_CLASS, |class| class as i64)
    }

    /// Returns true if both bounds differ by at most `tolerance` seconds.
    fn is_close(self, other: Self, tolerance: i64) -> bool {
        let close = |a: i64, b: i64| a.abs_diff(b) <= tolerance.unsigned_abs();
        close(self.first, other.first)
            && match (self.last, other.last) {
                (Some(one), Some(other)) => close(one, other),
                (one, other) => one == other,
            }
    }
}

/// Hash of everything that a record's spans are computed from.
pub(crate) type TimeVersion = [u8; 16];

/// Entries of one record in the time index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TimeEntries {
    pub(crate) version: TimeVersion,
    /// Span of its occurrences; `None`: the list is enough.
    pub(crate) occurrences: Option<TimeSpan>,
    /// Span of its alarms; `None`: none can be due.
    pub(crate) alarms: Option<TimeSpan>,
}

impl TimeEntries {
    fn span_in(&self, table: SpanTable) -> Option<TimeSpan> {
        match table {
            SpanTable::Series => self.occurrences,
            SpanTable::Alarm => self.alarms,
        }
    }
}

/// A table of the time index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanTable {
    /// Spans of occurrences.
    Series,
    /// Spans of alarms.
    Alarm,
}

impl SpanTable {
    const ALL: [Self; 2] = [Self::Series, Self::Alarm];

    fn table_name(self) -> &'static str {
        match self {
            Self::Series => "series",
            Self::Alarm => "alarm",
        }
    }
}

/// A row of the time index that may overlap the range asked for.
pub(crate) struct SpanRow {
    pub(crate) record: i64,
    pub(crate) first: i64,
    pub(crate) version: TimeVersion,
}

impl SpanRow {
    fn from_row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            record: row.get(0)?,
            first: row.get(1)?,
            version: row.get(2)?,
        })
    }
}

/// Adds the entries of a record.
pub(crate) fn insert_entries(
    conn: &Connection,
    collection: i64,
    record: i64,
    entries: &TimeEntries,
) -> Result<()> {
    for table in SpanTable::ALL {
        let Some(span) = entries.span_in(table) else {
            continue;
        };
        let sql = format!(
            "INSERT OR REPLACE INTO {} (record, collection, length_class, first, last, version) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            table.table_name()
        );
        conn.prepare_cached(&sql)?.execute((
            record,
            collection,
            span.length_class(),
            span.first,
            span.last,
            entries.version,
        ))?;
    }
    Ok(())
}

pub(crate) fn remove_entries(conn: &Connection, record: i64) -> Result<()> {
    for sql in [
        "DELETE FROM series WHERE record = ?1",
        "DELETE FROM alarm WHERE record = ?1",
    ] {
        conn.prepare_cached(sql)?.execute([record])?;
    }
    Ok(())
}

/// Removes all entries.
pub(crate) fn clear_entries(conn: &Connection) -> Result<()> {
    conn.execute_batch("DELETE FROM series; DELETE FROM alarm")?;
    Ok(())
}

/// Returns true if the stored entries of a record were computed from the same text and zones.
pub(crate) fn is_current(conn: &Connection, record: i64, entries: &TimeEntries) -> Result<bool> {
    let stored: [Option<TimeVersion>; 2] = conn
        .prepare_cached(
            "SELECT (SELECT version FROM series WHERE record = ?1), \
             (SELECT version FROM alarm WHERE record = ?1)",
        )?
        .query_row([record], |r| Ok([r.get(0)?, r.get(1)?]))?;
    let expected = SpanTable::ALL.map(|table| entries.span_in(table).map(|_| entries.version));
    Ok(stored == expected)
}

/// Compares the stored entries of a record with `expected`. Returns whether they agree, and how
/// many rows there are in each table. Bounds may differ by `tolerance` seconds: they depend on the
/// rules of time zones, which change.
pub(crate) fn matches_stored(
    conn: &Connection,
    (collection, record): (i64, i64),
    expected: &TimeEntries,
    tolerance: i64,
) -> Result<(bool, [u64; 2])> {
    let (mut agrees, mut counts) = (true, [0; 2]);
    for (table, count) in SpanTable::ALL.into_iter().zip(&mut counts) {
        let sql = format!(
            "SELECT collection, length_class, first, last, version FROM {} WHERE record = ?1",
            table.table_name()
        );
        let row: Option<(i64, i64, TimeSpan, Vec<u8>)> = conn
            .prepare_cached(&sql)?
            .query_row([record], |r| {
                let (first, last) = (r.get(2)?, r.get(3)?);
                Ok((r.get(0)?, r.get(1)?, TimeSpan { first, last }, r.get(4)?))
            })
            .optional()?;
        *count = u64::from(row.is_some());
        agrees &= match (row, expected.span_in(table)) {
            (Some((stored_in, class, span, version)), Some(expected_span)) => {
                stored_in == collection
                    && class == span.length_class()
                    && version == expected.version
                    && span.is_close(expected_span, tolerance)
            }
            (None, None) => true,
            _ => false,
        };
    }
    Ok((agrees, counts))
}

/// Returns the number of rows of each table.
pub(crate) fn count_rows(conn: &Connection) -> Result<[u64; 2]> {
    let counts: [i64; 2] = conn.query_row(
        "SELECT (SELECT count(*) FROM series), (SELECT count(*) FROM alarm)",
        [],
        |r| Ok([r.get(0)?, r.get(1)?]),
    )?;
    Ok(counts.map(i64::unsigned_abs))
}

/// Calls `visit` with each row whose span overlaps a range.
pub(crate) fn for_each_overlapping(
    conn: &Connection,
    table: SpanTable,
    collection: i64,
    range: &Range<i64>,
    mut visit: impl FnMut(SpanRow) -> Result<()>,
) -> Result<()> {
    let lengths = CLASS_DAYS.iter().map(|days| days * 86_400);
    let classes: Vec<String> = (0..)
        .zip(lengths)
        .map(|(class, length): (i64, i64)| format!("({class}, ?2 - {length})"))
        .collect();
    // The longest class begins at any time: i64::MIN is written so that SQLite reads an integer.
    let sql = format!(
        "WITH class (number, since) AS \
         (VALUES {}, ({LONGEST_CLASS}, -9223372036854775807 - 1)) \
         SELECT record, first, version FROM class CROSS JOIN {} \
         WHERE collection = ?1 AND length_class = number AND first >= since AND first < ?3 \
           AND (last >= ?2 OR last IS NULL)",
        classes.join(", "),
        table.table_name()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query((collection, range.start, range.end))?;
    while let Some(row) = rows.next()? {
        visit(SpanRow::from_row(row)?)?;
    }
    Ok(())
}

/// Returns the earliest `first` of a table that is at `from` or later.
pub(crate) fn next_first(
    conn: &Connection,
    table: SpanTable,
    collection: i64,
    from: i64,
) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT min(first) FROM {} WHERE collection = ?1 AND length_class = ?2 AND first >= ?3",
        table.table_name()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut next = None;
    // The index is ordered by class before `first`: one look-up for each class.
    for class in 0..=LONGEST_CLASS {
        let first: Option<i64> = statement.query_row((collection, class, from), |r| r.get(0))?;
        next = first.into_iter().chain(next).min();
    }
    Ok(next)
}
