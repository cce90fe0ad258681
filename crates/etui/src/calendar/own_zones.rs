//! Time zones of a calendar, for records that arrive without their `VTIMEZONE`.
//!
//! A program that exchanges single components (over D-Bus, from a form) sends a time zone once and
//! names it in many records. The calendar keeps it:
//!
//! ```
//! use etui::Store;
//! use etui::calendar::CalendarObject;
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let calendar = store.calendar()?;
//! calendar.add_zone(
//!     b"BEGIN:VTIMEZONE\r\nTZID:Ship\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
//!       TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n",
//! )?;
//! let event = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Ship:20261121T190000\r\nEND:VEVENT\r\n";
//! let event = CalendarObject::parse(event, &calendar.zone_resolver()?)?;
//! calendar.save(&event)?;
//! assert_eq!(event.unresolved_tzids(), [""; 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use rusqlite::OptionalExtension;

use super::ics::MAX_OBJECT_TEXT;
use super::zones::{TimeZoneDefinition, TimeZoneResolver};
use super::{Calendar, CalendarObject, ObjectError};
use crate::db::TransactionSize;
use crate::error::Result;
use crate::record::{RecordKind, collection_table};

impl Calendar {
    /// Adds a time zone (a `VTIMEZONE`), for records that are parsed with
    /// [`zone_resolver`](Self::zone_resolver). Returns false if the calendar has one with its
    /// `TZID`, which stays.
    ///
    /// # Errors
    /// [`ObjectError::NotAZone`] (in [`Error::Record`](crate::Error::Record)) if the text is no
    /// `VTIMEZONE` with a `TZID`; [`ObjectError::TooLarge`]; any write error.
    pub fn add_zone(&self, definition: &[u8]) -> Result<bool> {
        let name = read_name(definition)?;
        self.db().write_of(TransactionSize::Small, |conn| {
            collection_table::expect_exists(conn, CalendarObject::KIND, self.collection_ref())?;
            let added = conn
                .prepare_cached(
                    "INSERT OR IGNORE INTO calendar_zone (collection, tzid, text) \
                     VALUES (?1, ?2, ?3)",
                )?
                .execute((self.number(), &name, definition))?;
            Ok(added > 0)
        })
    }

    /// Returns the `VTIMEZONE` that was added for a `TZID`, byte for byte.
    ///
    /// # Errors
    /// Any read error.
    pub fn zone(&self, tzid: &str) -> Result<Option<Vec<u8>>> {
        self.db().read(|conn| {
            Ok(conn
                .prepare_cached(
                    "SELECT text FROM calendar_zone WHERE collection = ?1 AND tzid = ?2",
                )?
                .query_row((self.number(), tzid), |r| r.get(0))
                .optional()?)
        })
    }

    /// Returns the `TZID`s of the time zones that were added, in order.
    ///
    /// # Errors
    /// Any read error.
    pub fn zone_names(&self) -> Result<Vec<String>> {
        self.db().read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT tzid FROM calendar_zone WHERE collection = ?1 ORDER BY tzid",
            )?;
            let names = statement.query_map([self.number()], |r| r.get(0))?;
            Ok(names.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns a resolver that knows the time zones that were added.
    ///
    /// # Errors
    /// Any read error.
    pub fn zone_resolver(&self) -> Result<TimeZoneResolver> {
        self.db().read(|conn| {
            let mut zones = TimeZoneResolver::new();
            let mut statement = conn.prepare_cached(
                "SELECT text FROM calendar_zone WHERE collection = ?1 ORDER BY tzid",
            )?;
            let mut rows = statement.query([self.number()])?;
            while let Some(row) = rows.next()? {
                let text = row.get_ref(0)?.as_blob().unwrap_or_default();
                zones.define(&TimeZoneDefinition::parse(text));
            }
            Ok(zones)
        })
    }
}

/// Returns the `TZID` of a `VTIMEZONE`.
fn read_name(definition: &[u8]) -> std::result::Result<String, ObjectError> {
    if definition.len() > MAX_OBJECT_TEXT {
        let size = definition.len();
        return Err(ObjectError::TooLarge { size });
    }
    let begin = b"BEGIN:VTIMEZONE";
    let start = definition.trim_ascii_start().get(..begin.len());
    let is_zone = start.is_some_and(|start| start.eq_ignore_ascii_case(begin));
    let name = TimeZoneDefinition::parse(definition).name;
    match is_zone && !name.is_empty() {
        true => Ok(name),
        false => Err(ObjectError::NotAZone),
    }
}
