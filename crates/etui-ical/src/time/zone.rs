//! [`TimeZone`]: from local time to UTC and back.
//!
//! Three kinds: UTC, a zone of the IANA database, and a table made from a file's own definition.
//! The database is the system's where there is one, so that changed rules come with the system's
//! updates, else the copy in the program (crate `jiff`; behind the last listed change it follows
//! the zone's rule without end), with tables of its changes (`named`).
//!
//! A local time that the clocks skip is read by the offset before the gap; of one that comes
//! twice the first is meant (RFC 5545 §3.3.5).

use std::fmt;
use std::sync::Arc;

use super::civil::{DateTime, Timestamp};
use super::named::Named;
use super::table::TransitionTable;

/// A time zone.
#[derive(Clone)]
pub struct TimeZone(Kind);

#[derive(Clone)]
enum Kind {
    Utc,
    Iana(&'static Named),
    Defined(Arc<Defined>),
}

struct Defined {
    name: String,
    table: TransitionTable,
}

/// What a local time is in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedTime {
    /// The instant.
    pub at: Timestamp,
    /// Whether the clocks skip this local time: no clock shows it.
    pub skipped: bool,
}

impl TimeZone {
    /// UTC.
    pub const UTC: TimeZone = TimeZone(Kind::Utc);

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
        zone.iana_name()?;
        Some(Self(Kind::Iana(Named::of(zone))))
    }

    /// The zone this computer is set to; UTC when that cannot be told.
    #[must_use]
    pub fn system() -> Self {
        match jiff::tz::TimeZone::try_system() {
            Ok(zone) => Self(Kind::Iana(Named::of(zone))),
            Err(_) => Self::UTC,
        }
    }

    /// A zone of a file's own.
    #[must_use]
    pub fn defined(name: impl Into<String>, table: TransitionTable) -> Self {
        let name = name.into();
        Self(Kind::Defined(Arc::new(Defined { name, table })))
    }

    /// Its IANA name, or the name its definition has.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.0 {
            Kind::Utc => "UTC",
            Kind::Iana(named) => named.zone.iana_name().unwrap_or("local"),
            Kind::Defined(defined) => &defined.name,
        }
    }

    /// Whether its name means it everywhere: one of the IANA database, or UTC.
    #[must_use]
    pub fn is_named(&self) -> bool {
        match &self.0 {
            Kind::Utc => true,
            Kind::Iana(named) => named.zone.iana_name().is_some(),
            Kind::Defined(_) => false,
        }
    }

    /// Seconds that local time is ahead of UTC at an instant.
    #[must_use]
    pub fn offset(&self, at: Timestamp) -> i32 {
        match &self.0 {
            Kind::Utc => 0,
            Kind::Iana(named) => named.offset_at(at.seconds()),
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
    pub fn resolve(&self, wall: DateTime) -> ResolvedTime {
        let (offset, skipped) = match &self.0 {
            Kind::Utc => (0, false),
            Kind::Iana(named) => named.offset_of(wall.seconds()),
            Kind::Defined(defined) => defined.table.offset_of(wall.seconds()),
        };
        ResolvedTime {
            at: Timestamp::from_seconds(wall.seconds() - i64::from(offset)),
            skipped,
        }
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Utc, Kind::Utc) => true,
            (Kind::Iana(a), Kind::Iana(b)) => std::ptr::eq(*a, *b) || a.zone == b.zone,
            (Kind::Defined(a), Kind::Defined(b)) => {
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
