//! `GetTimezone` and `AddTimezone`.

use etui::calendar::time::{Date, TimeZone};
use etui::calendar::zones::{TimeZoneDefinition, TimeZoneResolver};

use super::errors::store_error;
use super::opened::OpenedCalendar;
use crate::error::{EdsError, EdsResult, INVALID_OBJECT, OBJECT_NOT_FOUND};

/// The first year for which the definition of a system zone is complete.
const FIRST_YEAR: i32 = 1970;

/// Returns the `VTIMEZONE` of a time zone: one that was added, else one of the system, with the
/// `TZID` as asked for.
pub(super) fn get_time_zone(opened: &OpenedCalendar, tzid: &str) -> EdsResult<String> {
    if let Some(text) = opened.calendar()?.zone(tzid).map_err(store_error)? {
        return Ok(String::from_utf8_lossy(&text).into_owned());
    }
    match TimeZoneResolver::new().resolve(tzid) {
        Some(zone) if zone == TimeZone::UTC => {
            let message = "UTC has no definition";
            Err(EdsError::new(INVALID_OBJECT, message))
        }
        Some(zone) => Ok(define_zone(&zone, tzid)),
        None => {
            let message = format!("the time zone \"{tzid}\" is not known");
            Err(EdsError::new(OBJECT_NOT_FOUND, message))
        }
    }
}

fn define_zone(zone: &TimeZone, tzid: &str) -> String {
    let since = Date::new(FIRST_YEAR, 1, 1).unwrap_or(Date::MAX);
    let definition = TimeZoneDefinition {
        name: tzid.to_owned(),
        ..TimeZoneDefinition::of(zone, since)
    };
    String::from_utf8_lossy(&definition.to_text()).into_owned()
}

/// Adds a time zone; one that is known already stays.
pub(super) fn add_time_zone(opened: &OpenedCalendar, definition: &str) -> EdsResult<()> {
    let added = opened.calendar()?.add_zone(definition.as_bytes());
    match added {
        Ok(_) => Ok(()),
        Err(etui::Error::Record(error)) => Err(EdsError::new(INVALID_OBJECT, error.to_string())),
        Err(error) => Err(store_error(error)),
    }
}
