//! When records happen: what a calendar keeps apart from the list.
//!
//! The list of a calendar is in the order in which its records begin, so what happens once, and
//! for no longer than [`SHORT`], is found there. Two tables hold the rest:
//!
//! ```text
//! series  (collection, class, first, record)     what happens often, or for long
//!         -> until, floating, alarm, due, times
//! alarm   (collection, floating, at, record)     what is to be told of, and when
//!         -> what
//! ```
//!
//! What happens from `first` until `until` is in the class of those that are as long, so that what
//! has to do with a range of time is found at the price of the answer: of each class it begins
//! less than the class's length before the range.
//!
//! ```text
//! class 1 (4 days)     |--| |---|      |--|
//! class 4 (32 days)  |----------|  |-------------|
//! class 11 (ever)    |------------------------------- ...
//!                              [ range )
//! ```
//!
//! Of a series `alarm` is where its next alarm stands (`calendar::alarms`).
//!
//! Both are told in the record's keys ([`Key::Series`], [`Key::Alarm`]), from which they are taken
//! back as they were put in.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension};

use super::keys::{Key, KeyWriter, Keys};
use crate::error::Result;

/// Seconds that something may last and be found by the list alone.
pub(crate) const SHORT: i64 = 86_400;

/// How long a series of a class lasts at the most, in days; those of the last class for ever.
const CLASSES: [i64; 11] = [2, 4, 8, 16, 32, 128, 512, 2_048, 8_192, 65_536, 524_288];

/// A row of `series`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Series {
    /// Nothing of it is earlier, Unix seconds.
    pub(crate) first: i64,
    /// Nothing of it is later.
    pub(crate) until: i64,
    /// No alarm of it is due before; `None`: it has none.
    pub(crate) alarm: Option<i64>,
    /// What its instances are made from; for the record's kind to read.
    pub(crate) times: Vec<u8>,
}

/// A row of `alarm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alarm {
    /// Whether `at` is local time, wherever one is.
    pub(crate) floating: bool,
    /// When it is due, Unix seconds.
    pub(crate) at: i64,
    /// For the record's kind to read.
    pub(crate) what: Vec<u8>,
}

/// What is stored of a record in these tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) series: Option<Series>,
    /// Each moment once.
    pub(crate) alarms: Vec<Alarm>,
}

impl Series {
    fn class(&self) -> i64 {
        let length = self.until.saturating_sub(self.first);
        let fits = |days: &i64| length <= days * 86_400;
        let class = CLASSES.iter().position(fits).unwrap_or(CLASSES.len());
        i64::try_from(class).unwrap_or(0)
    }
}

impl Times {
    /// Tells it in a record's keys.
    pub(crate) fn push(&self, keys: &mut KeyWriter) {
        if let Some(series) = &self.series {
            let place = [series.class(), series.first].map(i64::to_be_bytes);
            keys.entry(Key::Series, &place.concat());
        }
        for alarm in &self.alarms {
            let mut value = [u8::from(alarm.floating); 9];
            value[1..].copy_from_slice(&alarm.at.to_be_bytes());
            keys.entry(Key::Alarm, &value);
        }
    }
}

/// A key's moment.
fn moment(value: &[u8]) -> Option<i64> {
    Some(i64::from_be_bytes(value.try_into().ok()?))
}

/// Puts in what is known of a record.
pub(crate) fn put(conn: &Connection, collection: i64, record: i64, times: &Times) -> Result<()> {
    if let Some(series) = &times.series {
        conn.prepare_cached(
            "INSERT OR REPLACE INTO series \
             (collection, class, first, record, until, floating, alarm, times) \
             VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7)",
        )?
        .execute((
            collection,
            series.class(),
            series.first,
            record,
            series.until,
            series.alarm,
            &series.times,
        ))?;
    }
    for alarm in &times.alarms {
        conn.prepare_cached(
            "INSERT OR REPLACE INTO alarm (collection, floating, at, record, what) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((collection, alarm.floating, alarm.at, record, &alarm.what))?;
    }
    Ok(())
}

/// Whether the lines that say when are these.
pub(crate) fn is_same(
    conn: &Connection,
    collection: i64,
    record: i64,
    times: &Times,
) -> Result<bool> {
    let Some(series) = &times.series else {
        return Ok(true);
    };
    let found: Option<bool> = conn
        .prepare_cached(
            "SELECT times = ?5 FROM series \
             WHERE collection = ?1 AND class = ?2 AND first = ?3 AND record = ?4",
        )?
        .query_row(
            (
                collection,
                series.class(),
                series.first,
                record,
                &series.times,
            ),
            |r| r.get(0),
        )
        .optional()?;
    Ok(found.unwrap_or(false))
}

/// Takes out what the keys of a record tell.
pub(crate) fn remove(conn: &Connection, collection: i64, record: i64, keys: &[u8]) -> Result<()> {
    for (key, value) in Keys(keys) {
        match (key, value) {
            (Key::Series, place) => {
                let (class, first) = place.split_at_checked(8).unwrap_or_default();
                conn.prepare_cached(
                    "DELETE FROM series \
                     WHERE collection = ?1 AND class = ?2 AND first = ?3 AND record = ?4",
                )?
                .execute((collection, moment(class), moment(first), record))?;
            }
            (Key::Alarm, [floating, at @ ..]) => {
                conn.prepare_cached(
                    "DELETE FROM alarm \
                     WHERE collection = ?1 AND floating = ?2 AND at = ?3 AND record = ?4",
                )?
                .execute((collection, floating, moment(at), record))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the rows that a record's stored keys lead to say what is derived of it now; and how many
/// rows those are. Where an instant lies may be others' to say: the rules of its zone.
pub(crate) fn agree(
    conn: &Connection,
    collection: i64,
    record: i64,
    keys: &[u8],
    now: &Times,
) -> Result<(bool, [i64; 2])> {
    let mut series = conn.prepare_cached(
        "SELECT times FROM series \
         WHERE collection = ?1 AND class = ?2 AND first = ?3 AND record = ?4",
    )?;
    let mut alarm = conn.prepare_cached(
        "SELECT what FROM alarm \
         WHERE collection = ?1 AND floating = ?2 AND at = ?3 AND record = ?4",
    )?;
    let (mut all, mut due) = (Vec::new(), Vec::new());
    for (key, value) in Keys(keys) {
        match (key, value) {
            (Key::Series, place) => {
                let (class, first) = place.split_at_checked(8).unwrap_or_default();
                let row = (collection, moment(class), moment(first), record);
                all.push(series.query_row(row, |r| r.get(0)).optional()?);
            }
            (Key::Alarm, [floating, at @ ..]) => {
                let row = (collection, floating, moment(at), record);
                due.push(alarm.query_row(row, |r| r.get(0)).optional()?);
            }
            _ => {}
        }
    }
    let counts = [all.len() as i64, due.len() as i64];
    let texts: Vec<Option<Vec<u8>>> = now.series.iter().map(|s| Some(s.times.clone())).collect();
    let whats: Vec<Option<Vec<u8>>> = now.alarms.iter().map(|a| Some(a.what.clone())).collect();
    Ok((all == texts && due == whats, counts))
}

/// How many rows there are in all.
pub(crate) fn counts(conn: &Connection) -> Result<[i64; 2]> {
    Ok(conn.query_row(
        "SELECT (SELECT count(*) FROM series), (SELECT count(*) FROM alarm)",
        [],
        |r| Ok([r.get(0)?, r.get(1)?]),
    )?)
}

/// Calls `visit` with the record and times of each series that may have to do with a range.
pub(crate) fn within(
    conn: &Connection,
    collection: i64,
    range: Range<i64>,
    mut visit: impl FnMut(i64, &[u8]),
) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "SELECT record, times FROM series \
         WHERE collection = ?1 AND class = ?2 AND first >= ?3 AND first < ?4 AND until >= ?5",
    )?;
    for (class, days) in (0i64..).zip(CLASSES.into_iter().map(Some).chain([None])) {
        let since = match days {
            Some(days) => range.start.saturating_sub(days * 86_400),
            None => i64::MIN,
        };
        let mut rows = statement.query((collection, class, since, range.end, range.start))?;
        while let Some(row) = rows.next()? {
            visit(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default());
        }
    }
    Ok(())
}

/// Takes out everything.
pub(crate) fn clear(conn: &Connection) -> Result<()> {
    conn.execute_batch("DELETE FROM series; DELETE FROM alarm")?;
    Ok(())
}
