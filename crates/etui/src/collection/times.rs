//! When records happen: what a calendar keeps apart from the list.
//!
//! The list of a calendar is in the order in which its records begin, so what happens once, and
//! for no longer than [`SHORT`], is found there. Two tables hold the rest:
//!
//! ```text
//! series  (collection, until, record) -> first, alarm, times   what happens often, or for long
//! alarm   (collection, floating, at, record) -> what           what is to be told of, and when
//! ```
//!
//! Of a series `alarm` is a bound: none of its alarms is due before it, but those that were due
//! before the moment up to which bounds were advanced (`calendar::alarms`).
//!
//! Both are told in the record's keys ([`Key::Series`], [`Key::Alarm`]), from which they are taken
//! back as they were put in.

use rusqlite::Connection;

use super::keys::{Key, KeyWriter, Keys};
use crate::error::Result;

/// Seconds that something may last and be found by the list alone.
pub(crate) const SHORT: i64 = 86_400;

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

impl Times {
    /// Tells it in a record's keys.
    pub(crate) fn push(&self, keys: &mut KeyWriter) {
        if let Some(series) = &self.series {
            keys.entry(Key::Series, &series.until.to_be_bytes());
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
            "INSERT OR REPLACE INTO series (collection, until, record, first, alarm, times) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            collection,
            series.until,
            record,
            series.first,
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

/// Takes out what the keys of a record tell.
pub(crate) fn remove(conn: &Connection, collection: i64, record: i64, keys: &[u8]) -> Result<()> {
    for (key, value) in Keys(keys) {
        match (key, value) {
            (Key::Series, _) => {
                conn.prepare_cached(
                    "DELETE FROM series WHERE collection = ?1 AND until = ?2 AND record = ?3",
                )?
                .execute((collection, moment(value), record))?;
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

/// Takes out everything.
pub(crate) fn clear(conn: &Connection) -> Result<()> {
    conn.execute_batch("DELETE FROM series; DELETE FROM alarm")?;
    Ok(())
}
