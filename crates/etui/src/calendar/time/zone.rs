//! [`Zone`]: from local time to UTC and back.
//!
//! Three kinds: UTC, a zone of the IANA database, and a table made from a file's own definition.
//! The database is the system's where there is one, so that changed rules come with the system's
//! updates, else the copy in the program (crate `jiff`; behind the last listed change it follows
//! the zone's rule without end).
//!
//! A local time that the clocks skip is read by the offset before the gap; of one that comes
//! twice the first is meant (RFC 5545 §3.3.5).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::tz::{AmbiguousOffset, TimeZone};

use super::civil::{DateTime, Timestamp};
use super::table::Transitions;

/// A time zone.
#[derive(Clone)]
pub struct Zone(Kind);

#[derive(Clone)]
enum Kind {
    Utc,
    Iana(TimeZone),
    Defined(Arc<Defined>),
}

struct Defined {
    name: String,
    table: Transitions,
}

/// Digests of the rules of zones that were asked for.
static RULES: Mutex<Vec<(TimeZone, i64)>> = Mutex::new(Vec::new());

/// Digests that are kept.
const MOST_RULES: usize = 64;

/// Changes behind this (2101-01-01) follow a rule that those before show.
const LAST_CHANGE: i64 = 4_133_980_800;

/// What a local time is in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolved {
    /// The instant.
    pub at: Timestamp,
    /// Whether the clocks skip this local time: no clock shows it.
    pub skipped: bool,
}

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone(Kind::Utc);

    /// The zone of the IANA database with this name, in any case; `None` when it has none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if ["UTC", "Etc/UTC"]
            .iter()
            .any(|utc| name.eq_ignore_ascii_case(utc))
        {
            return Some(Self::UTC);
        }
        let zone = jiff::tz::db().get(name).ok()?;
        zone.iana_name().is_some().then(|| Self(Kind::Iana(zone)))
    }

    /// The zone this computer is set to; UTC when that cannot be told.
    #[must_use]
    pub fn system() -> Self {
        match TimeZone::try_system() {
            Ok(zone) => Self(Kind::Iana(zone)),
            Err(_) => Self::UTC,
        }
    }

    /// A zone of a file's own.
    #[must_use]
    pub fn defined(name: impl Into<String>, table: Transitions) -> Self {
        let name = name.into();
        Self(Kind::Defined(Arc::new(Defined { name, table })))
    }

    /// Its IANA name, or the name its definition has.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.0 {
            Kind::Utc => "UTC",
            Kind::Iana(zone) => zone.iana_name().unwrap_or("local"),
            Kind::Defined(defined) => &defined.name,
        }
    }

    /// Whether its name means it everywhere: one of the IANA database, or UTC.
    #[must_use]
    pub fn is_named(&self) -> bool {
        match &self.0 {
            Kind::Utc => true,
            Kind::Iana(zone) => zone.iana_name().is_some(),
            Kind::Defined(_) => false,
        }
    }

    /// A digest of its rules as the database has them now, never 0; `None`: they never change.
    pub(crate) fn rules(&self) -> Option<i64> {
        let Kind::Iana(zone) = &self.0 else {
            return None;
        };
        let mut known = RULES.lock().unwrap_or_else(PoisonError::into_inner);
        // By content: a database that was replaced while the program runs is read anew.
        if let Some((_, digest)) = known.iter().find(|(known, _)| known == zone) {
            return Some(*digest);
        }
        let digest = digest(zone);
        if known.len() >= MOST_RULES {
            known.clear();
        }
        known.push((zone.clone(), digest));
        Some(digest)
    }

    /// Seconds that local time is ahead of UTC at an instant.
    #[must_use]
    pub fn offset(&self, at: Timestamp) -> i32 {
        match &self.0 {
            Kind::Utc => 0,
            Kind::Iana(zone) => {
                let seconds = at.seconds().clamp(
                    jiff::Timestamp::MIN.as_second(),
                    jiff::Timestamp::MAX.as_second(),
                );
                let at = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
                zone.to_offset(at).seconds()
            }
            Kind::Defined(defined) => defined.table.offset_at(at.seconds()),
        }
    }

    /// What a clock in this zone shows at an instant.
    #[must_use]
    pub fn to_local(&self, at: Timestamp) -> DateTime {
        DateTime::from_seconds(at.seconds() + i64::from(self.offset(at)))
    }

    /// The instant a local time means.
    #[must_use]
    pub fn to_utc(&self, wall: DateTime) -> Timestamp {
        self.resolve(wall).at
    }

    /// The instant a local time means, and whether the clocks skip it.
    #[must_use]
    pub fn resolve(&self, wall: DateTime) -> Resolved {
        let (offset, skipped) = match &self.0 {
            Kind::Utc => (0, false),
            Kind::Iana(zone) => {
                let ambiguous = zone.to_ambiguous_timestamp(civil(wall));
                match ambiguous.offset() {
                    AmbiguousOffset::Unambiguous { offset } => (offset.seconds(), false),
                    AmbiguousOffset::Gap { before, .. } => (before.seconds(), true),
                    AmbiguousOffset::Fold { before, .. } => (before.seconds(), false),
                }
            }
            Kind::Defined(defined) => defined.table.offset_of(wall.seconds()),
        };
        Resolved {
            at: Timestamp::from_seconds(wall.seconds() - i64::from(offset)),
            skipped,
        }
    }
}

fn digest(zone: &TimeZone) -> i64 {
    let first = jiff::Timestamp::MIN;
    let changes = zone.following(first).map(|c| (c.timestamp(), c.offset()));
    let mut hasher = blake3::Hasher::new();
    for (at, offset) in std::iter::once((first, zone.to_offset(first))).chain(changes) {
        if at.as_second() > LAST_CHANGE {
            break;
        }
        hasher.update(&at.as_second().to_le_bytes());
        hasher.update(&offset.seconds().to_le_bytes());
    }
    let mut digest = [0; 8];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    i64::from_le_bytes(digest) | 1
}

fn civil(wall: DateTime) -> jiff::civil::DateTime {
    let (year, month, day) = wall.date().ymd();
    let (hour, minute, second) = wall.hms();
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

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Utc, Kind::Utc) => true,
            (Kind::Iana(a), Kind::Iana(b)) => a == b,
            (Kind::Defined(a), Kind::Defined(b)) => {
                Arc::ptr_eq(a, b) || (a.name == b.name && a.table == b.table)
            }
            _ => false,
        }
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
