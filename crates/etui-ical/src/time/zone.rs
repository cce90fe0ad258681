//! [`TimeZone`]: local time to instants and back.
//!
//! A zone is UTC, a zone of the IANA database, or a table made from a `VTIMEZONE`. The database is
//! the one of the system, so that changed rules arrive with its updates, else the copy in the crate
//! `jiff`.
//!
//! A local time in a gap is read with the offset before the gap; of a local time in a fold the
//! first instant is taken (RFC 5545 section 3.3.5).

use std::fmt;
use std::sync::Arc;

use jiff::tz::AmbiguousOffset;

use super::civil::{DateTime, Timestamp};
use super::table::TransitionTable;

/// A time zone.
#[must_use]
#[derive(Clone)]
pub struct TimeZone(ZoneKind);

#[derive(Clone)]
enum ZoneKind {
    Utc,
    Iana(jiff::tz::TimeZone),
    Defined(Arc<DefinedZone>),
}

struct DefinedZone {
    name: String,
    table: TransitionTable,
}

/// The instant that a local time denotes in a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedTime {
    /// The instant.
    pub at: Timestamp,
    /// True if the local time is in a gap: no clock shows it.
    pub skipped: bool,
}

impl TimeZone {
    /// UTC.
    pub const UTC: TimeZone = TimeZone(ZoneKind::Utc);

    /// Returns the zone of the IANA database with this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        if ["UTC", "Etc/UTC"]
            .iter()
            .any(|utc| name.eq_ignore_ascii_case(utc))
        {
            return Some(Self::UTC);
        }
        let zone = jiff::tz::db().get(name).ok()?;
        zone.iana_name()?;
        Some(Self(ZoneKind::Iana(zone)))
    }

    /// Returns the names of the IANA database.
    pub(crate) fn names() -> impl Iterator<Item = String> {
        jiff::tz::db()
            .available()
            .map(|name| name.as_str().to_owned())
    }

    /// Returns the system time zone; UTC if it is unknown.
    pub fn system() -> Self {
        match jiff::tz::TimeZone::try_system() {
            Ok(zone) => Self(ZoneKind::Iana(zone)),
            Err(_) => Self::UTC,
        }
    }

    /// Returns a zone with its own table, such as one made from a `VTIMEZONE`.
    pub fn defined(name: impl Into<String>, table: TransitionTable) -> Self {
        let name = name.into();
        Self(ZoneKind::Defined(Arc::new(DefinedZone { name, table })))
    }

    /// Returns the IANA name, or the name of its definition.
    pub fn name(&self) -> &str {
        match &self.0 {
            ZoneKind::Utc => "UTC",
            ZoneKind::Iana(zone) => zone.iana_name().unwrap_or("local"),
            ZoneKind::Defined(defined) => &defined.name,
        }
    }

    /// Returns true if the name is valid everywhere: an IANA name or UTC.
    pub fn is_named(&self) -> bool {
        match &self.0 {
            ZoneKind::Utc => true,
            ZoneKind::Iana(zone) => zone.iana_name().is_some(),
            ZoneKind::Defined(_) => false,
        }
    }

    /// Returns the UTC offset at an instant, in seconds.
    pub fn offset(&self, at: Timestamp) -> i32 {
        match &self.0 {
            ZoneKind::Utc => 0,
            ZoneKind::Iana(zone) => zone.to_offset(jiff_timestamp(at)).seconds(),
            ZoneKind::Defined(defined) => defined.table.offset_at(at.seconds()),
        }
    }

    /// Returns the local time at an instant.
    pub fn to_local(&self, at: Timestamp) -> DateTime {
        DateTime::from_seconds(at.seconds() + i64::from(self.offset(at)))
    }

    /// Returns the instant of a local time.
    pub fn to_utc(&self, local: DateTime) -> Timestamp {
        self.resolve(local).at
    }

    /// Returns the instant of a local time, and whether the local time is in a gap.
    pub fn resolve(&self, local: DateTime) -> ResolvedTime {
        let (offset, skipped) = match &self.0 {
            ZoneKind::Utc => (0, false),
            ZoneKind::Iana(zone) => resolve_offset(zone, local),
            ZoneKind::Defined(defined) => defined.table.offset_of(local.seconds()),
        };
        ResolvedTime {
            at: Timestamp::from_seconds(local.seconds() - i64::from(offset)),
            skipped,
        }
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (ZoneKind::Utc, ZoneKind::Utc) => true,
            (ZoneKind::Iana(a), ZoneKind::Iana(b)) => a == b,
            (ZoneKind::Defined(a), ZoneKind::Defined(b)) => {
                Arc::ptr_eq(a, b) || (a.name == b.name && a.table == b.table)
            }
            _ => false,
        }
    }
}

impl Eq for TimeZone {}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the UTC offset with which a local time is read, and whether it is in a gap.
fn resolve_offset(zone: &jiff::tz::TimeZone, local: DateTime) -> (i32, bool) {
    match zone.to_ambiguous_timestamp(jiff_datetime(local)).offset() {
        AmbiguousOffset::Unambiguous { offset } => (offset.seconds(), false),
        AmbiguousOffset::Gap { before, .. } => (before.seconds(), true),
        AmbiguousOffset::Fold { before, .. } => (before.seconds(), false),
    }
}

fn jiff_timestamp(at: Timestamp) -> jiff::Timestamp {
    let (first, last) = (jiff::Timestamp::MIN, jiff::Timestamp::MAX);
    // The range of jiff's timestamps is another one.
    let seconds = at.seconds().clamp(first.as_second(), last.as_second());
    jiff::Timestamp::from_second(seconds).unwrap_or(last)
}

fn jiff_datetime(local: DateTime) -> jiff::civil::DateTime {
    let (year, month, day) = local.date().ymd();
    let (hour, minute, second) = local.hms();
    jiff::civil::DateTime::new(
        year as i16,
        month as i8,
        day as i8,
        hour as i8,
        minute as i8,
        second as i8,
        0,
    )
    .unwrap_or_default()
}
