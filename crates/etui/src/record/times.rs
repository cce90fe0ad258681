//! When records happen: what a calendar keeps apart from the list.
//!
//! The list of a calendar is in the order in which its records begin, so what happens once, and
//! for no longer than [`SHORT`], is found there. Two tables hold the rest:
//!
//! ```text
//! series  (collection, class, first, record)     what happens often, or for long
//!         -> until, alarm, times
//! alarm   (collection, kind, at, record)         what is to be told of, and when
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
//! Of a series its next alarm stands in `alarm`, and is moved on as time goes by
//! (`calendar::alarms`); `series.alarm` is the moment at which it stands there. Its `what` is where
//! the series stands:
//!
//! ```text
//! kind := 0 of what happens once | 1 the same, as local time, wherever one is
//!       | 2 of a series          | 3 the same, as local time
//! what := for the record's kind to read | class:i64be first:i64be       of a series
//! ```
//!
//! What a record put in is told in its keys ([`Key::Series`], [`Key::Alarm`]), from which it is
//! taken back; the alarm of a series by way of its row.
//!
//! Where an alarm stands was found by the rules of its zone. `meta` has for each such zone a digest
//! of those rules, so that it is known when they are others now.

use std::ops::{ControlFlow, Range};
use std::sync::LazyLock;

use rusqlite::{Connection, OptionalExtension};

use super::keys::{Key, KeyWriter, Keys};
use crate::db::metadata;
use crate::error::Result;

/// Seconds that something may last and be found by the list alone.
pub(crate) const SHORT: i64 = 86_400;

/// How long a series of a class lasts at the most, in days; those of the last class for ever.
const CLASSES: [i64; 11] = [2, 4, 8, 16, 32, 128, 512, 2_048, 8_192, 65_536, 524_288];

/// The class of what lasts longer.
const LAST_CLASS: i64 = CLASSES.len() as i64;

/// The kind of a series' alarm at a moment of all the world; the next one: as local time.
pub(crate) const OF_SERIES: i64 = 2;

/// Where the alarm of a series stands that has none any more.
pub(crate) const NEVER: i64 = i64::MAX;

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
    /// The zones by which the alarms were placed, and digests of their rules.
    pub(crate) rules: Vec<Rules>,
}

/// A zone's name, and a digest of its rules; never 0.
pub(crate) type Rules = (String, i64);

/// Where a row of `series` stands: class, first, record.
pub(crate) type Place = (i64, i64, i64);

/// Where a row of `alarm` stands: kind, at.
pub(crate) type At = (i64, i64);

impl Series {
    fn class(&self) -> i64 {
        let length = self.until.saturating_sub(self.first);
        let fits = |days: &i64| length <= days * 86_400;
        let class = CLASSES.iter().position(fits);
        class.map_or(LAST_CLASS, |class| class as i64)
    }

    /// Class and first, as keys and alarms tell them.
    fn place(&self) -> Vec<u8> {
        [self.class(), self.first].map(i64::to_be_bytes).concat()
    }
}

impl Times {
    /// Tells it in a record's keys.
    pub(crate) fn push(&self, keys: &mut KeyWriter) {
        if let Some(series) = &self.series {
            keys.entry(Key::Series, &series.place());
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

/// Class and first of a series.
fn class_and_first(place: &[u8]) -> Option<(i64, i64)> {
    let (class, first) = place.split_at_checked(8)?;
    Some((moment(class)?, moment(first)?))
}

/// Puts in what is known of a record.
pub(crate) fn put(conn: &Connection, collection: i64, record: i64, times: &Times) -> Result<()> {
    if let Some(series) = &times.series {
        conn.prepare_cached(
            "INSERT OR REPLACE INTO series \
             (collection, class, first, record, until, alarm, times) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
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
    let of_series = times.series.iter();
    let of_series = of_series.filter_map(|s| Some((OF_SERIES, s.alarm?, s.place())));
    let once = times.alarms.iter();
    let once = once.map(|a| (i64::from(a.floating), a.at, a.what.clone()));
    for (kind, at, what) in of_series.chain(once) {
        conn.prepare_cached(
            "INSERT OR REPLACE INTO alarm (collection, kind, at, record, what) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((collection, kind, at, record, what))?;
    }
    times
        .rules
        .iter()
        .try_for_each(|rules| placed_by(conn, rules))
}

/// Notes by which rules alarms were placed: 0 if by several.
pub(crate) fn placed_by(conn: &Connection, (zone, digest): &Rules) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO meta (key, value) VALUES (?1 || ?2, ?3) \
         ON CONFLICT (key) DO UPDATE SET value = 0 WHERE value <> excluded.value AND value <> 0",
    )?
    .execute((metadata::ALARM_RULES, zone, digest))?;
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
                let (class, first) = class_and_first(place).unwrap_or_default();
                let alarm: Option<Option<i64>> = conn
                    .prepare_cached(
                        "DELETE FROM series \
                         WHERE collection = ?1 AND class = ?2 AND first = ?3 AND record = ?4 \
                         RETURNING alarm",
                    )?
                    .query_row((collection, class, first, record), |r| r.get(0))
                    .optional()?;
                if let Some(at) = alarm.flatten() {
                    conn.prepare_cached(
                        "DELETE FROM alarm \
                         WHERE collection = ?1 AND kind IN (2, 3) AND at = ?2 AND record = ?3",
                    )?
                    .execute((collection, at, record))?;
                }
            }
            (Key::Alarm, [kind, at @ ..]) => {
                conn.prepare_cached(
                    "DELETE FROM alarm \
                     WHERE collection = ?1 AND kind = ?2 AND at = ?3 AND record = ?4",
                )?
                .execute((collection, kind, moment(at), record))?;
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
    // The alarm of a series, wherever it stands, must lead back to it.
    let mut series = conn.prepare_cached(
        "SELECT times, alarm IS NOT NULL, \
         (SELECT count(*) FROM alarm a WHERE a.collection = ?1 AND a.kind IN (2, 3) \
          AND a.at = s.alarm AND a.record = ?4 AND a.what = ?5) \
         FROM series s WHERE collection = ?1 AND class = ?2 AND first = ?3 AND record = ?4",
    )?;
    let mut alarm = conn.prepare_cached(
        "SELECT what FROM alarm \
         WHERE collection = ?1 AND kind = ?2 AND at = ?3 AND record = ?4",
    )?;
    let (mut all, mut due) = (Vec::new(), Vec::new());
    let mut of_series = 0;
    for (key, value) in Keys(keys) {
        match (key, value) {
            (Key::Series, place) => {
                let (class, first) = class_and_first(place).unwrap_or_default();
                let row = (collection, class, first, record, place);
                let found: Option<(Vec<u8>, bool, i64)> = series
                    .query_row(row, |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
                    .optional()?;
                of_series += found.as_ref().map_or(0, |(_, _, count)| *count);
                all.push(found);
            }
            (Key::Alarm, [kind, at @ ..]) => {
                let row = (collection, kind, moment(at), record);
                due.push(alarm.query_row(row, |r| r.get(0)).optional()?);
            }
            _ => {}
        }
    }
    let counts = [all.len() as i64, due.len() as i64 + of_series];
    let expected =
        |s: &Series| Some((s.times.clone(), s.alarm.is_some(), s.alarm.is_some() as i64));
    let texts: Vec<_> = now.series.iter().map(expected).collect();
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

/// Calls `visit` with the record and times of each series that may have to do with a range, but
/// for those of the last class ([`unending`]).
pub(crate) fn within(
    conn: &Connection,
    collection: i64,
    range: &Range<i64>,
    mut visit: impl FnMut(i64, &[u8]),
) -> Result<()> {
    static WITHIN: LazyLock<String> = LazyLock::new(|| {
        let lengths = CLASSES.iter().map(|days| days * 86_400);
        let classes: Vec<String> = (0..)
            .zip(lengths)
            .map(|(n, length): (i64, i64)| format!("({n}, {length})"))
            .collect();
        format!(
            "WITH c (class, length) AS (VALUES {}) \
             SELECT s.record, s.times FROM c CROSS JOIN series s \
             WHERE s.collection = ?1 AND s.class = c.class \
               AND s.first >= ?2 - c.length AND s.first < ?3 AND s.until >= ?2",
            classes.join(", ")
        )
    });
    let mut statement = conn.prepare_cached(&WITHIN)?;
    let mut rows = statement.query((collection, range.start, range.end))?;
    while let Some(row) = rows.next()? {
        visit(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default());
    }
    Ok(())
}

/// A series of the last class.
pub(crate) struct Unending<'r> {
    pub(crate) record: i64,
    pub(crate) first: i64,
    pub(crate) until: i64,
    pub(crate) times: &'r [u8],
}

/// Calls `visit` with the series of the last class that begin in a range, in that order.
pub(crate) fn unending(
    conn: &Connection,
    collection: i64,
    first: Range<i64>,
    mut visit: impl FnMut(Unending<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "SELECT record, first, until, times FROM series \
         WHERE collection = ?1 AND class = ?2 AND first >= ?3 AND first < ?4 \
         ORDER BY first",
    )?;
    let mut rows = statement.query((collection, LAST_CLASS, first.start, first.end))?;
    while let Some(row) = rows.next()? {
        let unending = Unending {
            record: row.get(0)?,
            first: row.get(1)?,
            until: row.get(2)?,
            times: row.get_ref(3)?.as_blob().unwrap_or_default(),
        };
        if visit(unending).is_break() {
            break;
        }
    }
    Ok(())
}

/// Calls `visit` with moment, record and content of the alarms of a kind behind a moment and
/// record and not behind `to`, the first `limit`. How many there were.
pub(crate) fn alarms_behind(
    conn: &Connection,
    (collection, kind): (i64, i64),
    (at, record): (i64, i64),
    to: i64,
    limit: usize,
    mut visit: impl FnMut(i64, i64, &[u8]),
) -> Result<usize> {
    let mut statement = conn.prepare_cached(
        "SELECT at, record, what FROM alarm \
         WHERE collection = ?1 AND kind = ?2 AND (at, record) > (?3, ?4) AND at <= ?5 \
         ORDER BY at, record LIMIT ?6",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query((collection, kind, at, record, to, limit))?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let what = row.get_ref(2)?.as_blob().unwrap_or_default();
        visit(row.get(0)?, row.get(1)?, what);
        count += 1;
    }
    Ok(count)
}

/// The series that an alarm's content leads to: class and first.
pub(crate) fn series_of(what: &[u8]) -> (i64, i64) {
    class_and_first(what).unwrap_or_default()
}

/// Calls `visit` with the times of a series.
pub(crate) fn of_series<T>(
    conn: &Connection,
    collection: i64,
    (class, first, record): Place,
    visit: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Option<T>> {
    let mut statement = conn.prepare_cached(
        "SELECT times FROM series \
         WHERE collection = ?1 AND class = ?2 AND first = ?3 AND record = ?4",
    )?;
    let mut rows = statement.query((collection, class, first, record))?;
    Ok(match rows.next()? {
        Some(row) => visit(row.get_ref(0)?.as_blob().unwrap_or_default()),
        None => None,
    })
}

/// Moves the alarm of a series, if it still stands there.
pub(crate) fn move_alarm(
    conn: &Connection,
    collection: i64,
    (class, first, record): Place,
    from: At,
    to: At,
) -> Result<()> {
    let moved = conn
        .prepare_cached(
            "UPDATE series SET alarm = ?6 \
             WHERE collection = ?1 AND class = ?2 AND first = ?3 AND record = ?4 AND alarm = ?5",
        )?
        .execute((collection, class, first, record, from.1, to.1))?;
    if moved > 0 {
        conn.prepare_cached(
            "UPDATE OR REPLACE alarm SET kind = ?5, at = ?6 \
             WHERE collection = ?1 AND kind = ?2 AND at = ?3 AND record = ?4",
        )?
        .execute((collection, from.0, from.1, record, to.0, to.1))?;
    }
    Ok(())
}

/// Takes out everything.
pub(crate) fn clear(conn: &Connection) -> Result<()> {
    conn.execute_batch("DELETE FROM series; DELETE FROM alarm")?;
    // Also up to when they were moved on, and by which rules they were placed.
    conn.execute(
        "DELETE FROM meta WHERE key >= ?1 AND key < ?2",
        [metadata::ALARMS, metadata::BEHIND_ALARMS],
    )?;
    Ok(())
}
