//! [`FloatingZone`]: the time zone that a calendar object gives to its floating times.

use etui_contentline::charset::{detect_utf16, to_utf8_bytes};
use etui_contentline::edit::own_lines;
use etui_contentline::lines::ContentLine;
use etui_contentline::values::{param_value, property_params, property_value};

use super::series_edit::{LineEdit, edit_lines};
use crate::property_name::PropertyName;
use crate::time::{DateTimeValue, HOUR, TimeZone, Timestamp};
use crate::timing_reader::time_value;
use crate::zones::TimeZoneResolver;

/// Zones that are tried for the clock changes of vCalendar 1.0, which has offsets only; of those with equal
/// changes the first one counts. Few, because each costs two look-ups for each change.
const ZONES_OF_CHANGES: &[&str] = &[
    "Europe/Berlin",
    "Europe/London",
    "Europe/Helsinki",
    "Europe/Lisbon",
    "Atlantic/Azores",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Anchorage",
    "America/Halifax",
    "America/St_Johns",
    "Australia/Sydney",
    "Australia/Adelaide",
    "Pacific/Auckland",
    "Asia/Jerusalem",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Beirut",
];

/// `DAYLIGHT` lines that are looked at: phones write one for each of some ten years.
const MAX_CHANGES: usize = 16;

/// The time zone of the times of a calendar object that have none: `X-WR-TIMEZONE`, or `TZ` and `DAYLIGHT` of
/// vCalendar 1.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloatingZone {
    name: String,
    zone: Option<TimeZone>,
}

impl FloatingZone {
    /// Returns the zone that the properties of a calendar object give; `None` if they give none. An unknown name
    /// has no zone.
    #[must_use]
    pub fn of_object(head: &[u8], zones: &TimeZoneResolver) -> Option<Self> {
        let head = to_utf8_bytes(head);
        let value = |name: &str| {
            let line = own_lines(&head, None).find(|line| line.name_is(name))?;
            Some(property_value(&line).trim().trim_matches('"').to_owned())
        };
        if let Some(name) = value("X-WR-TIMEZONE").filter(|name| !name.is_empty()) {
            let zone = zones.resolve(&name);
            return Some(Self { name, zone });
        }
        value("VERSION").filter(|version| version == "1.0")?;
        let name = value("TZ").filter(|name| !name.is_empty())?;
        let fixed = zones.resolve(&name);
        let changes = own_lines(&head, None).filter(|line| line.name_is("DAYLIGHT"));
        let changes: Vec<_> = changes
            .filter_map(|line| read_change(&property_value(&line)))
            .take(MAX_CHANGES)
            .collect();
        let offset = fixed
            .as_ref()
            .map(|zone| zone.offset(Timestamp::from_seconds(0)));
        let changing = offset
            .filter(|_| !changes.is_empty())
            .and_then(|offset| zone_of_changes(offset, &changes));
        let zone = changing.or(fixed);
        Some(Self { name, zone })
    }

    /// Returns the name as it was written.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the zone is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.zone.is_some()
    }

    /// Returns components with their floating times in the zone; `None` if they have none, or the zone is not
    /// known. A component in UTF-16, which no exporter of these properties writes, stays as it is.
    #[must_use]
    pub fn apply(&self, components: &[u8], zones: &TimeZoneResolver) -> Option<Vec<u8>> {
        let zone = self.zone.as_ref()?;
        let own = zone.name();
        let tzid = match zones.resolve(own).as_ref() == Some(zone) {
            true => own,
            false => &self.name,
        };
        if detect_utf16(components).is_some() {
            return None;
        }
        let mut is_changed = false;
        let text = edit_lines(components, |line| {
            let edit = in_zone(line, zone, tzid);
            is_changed |= edit.is_some();
            edit.map_or(LineEdit::Keep, LineEdit::Replace)
        });
        is_changed.then_some(text)
    }

    /// Returns true if components have a floating time.
    #[must_use]
    pub fn concerns(&self, components: &[u8]) -> bool {
        let text = to_utf8_bytes(components);
        own_lines(&text, None).any(|line| in_zone(&line, &TimeZone::UTC, "UTC").is_some())
    }
}

/// Returns a line with a floating time as a line with its zone.
fn in_zone(line: &ContentLine<'_>, zone: &TimeZone, tzid: &str) -> Option<String> {
    if line.group.is_some() {
        return None;
    }
    let name = PropertyName::of_line(line)?;
    let is_alarm = matches!(name, PropertyName::AudioAlarm | PropertyName::DisplayAlarm);
    let is_time = matches!(
        name,
        PropertyName::Start
            | PropertyName::EndTime
            | PropertyName::Due
            | PropertyName::RecurrenceId
            | PropertyName::RecurrenceDates
            | PropertyName::ExceptDates
    );
    let is_day = || param_value(line, "VALUE").is_some_and(|v| v.eq_ignore_ascii_case("DATE"));
    let has_zone = || param_value(line, "TZID").is_some_and(|tzid| !tzid.is_empty());
    if !(is_alarm || is_time) || is_day() || has_zone() {
        return None;
    }
    let value = time_value(line);
    let is_local = |text: &str| matches!(text.trim().parse(), Ok(DateTimeValue::Local(_)));
    let first = value.split([',', ';', '/']).next()?;
    if !is_local(first) {
        return None;
    }
    let name = String::from_utf8_lossy(line.name).into_owned();
    let params = property_params(line);
    let params = params.trim_start_matches(';');
    let separator = if params.is_empty() { "" } else { ";" };
    if is_alarm || *zone == TimeZone::UTC {
        // The parameters of these lines have no zone: an instant.
        let utc = |text: &str| match text.trim().parse() {
            Ok(DateTimeValue::Local(local)) => {
                DateTimeValue::Utc(zone.to_utc(local).utc()).to_string()
            }
            _ => text.to_owned(),
        };
        let parts = value.split_inclusive([',', ';', '/']).map(|part| {
            let end = part.trim_end_matches([',', ';', '/']).len();
            let (text, separator) = part.split_at(end);
            format!("{}{separator}", utc(text))
        });
        let value: String = match is_alarm {
            // What follows the time is a text.
            true => format!(
                "{}{}",
                utc(first),
                value.get(first.len()..).unwrap_or_default()
            ),
            false => parts.collect(),
        };
        return Some(format!("{name}{separator}{params}:{value}"));
    }
    let is_plain = tzid.bytes().all(|b| !matches!(b, b':' | b';' | b','));
    let quote = if is_plain { "" } else { "\"" };
    let tzid = tzid.replace('"', "'");
    Some(format!(
        "{name}{separator}{params};TZID={quote}{tzid}{quote}:{value}"
    ))
}

/// A time of year in which the clock is changed.
struct ClockChange {
    offset: i32,
    from: DateTimeValue,
    to: DateTimeValue,
}

/// Reads `TRUE;+02;20260329T020000;20261025T030000;CET;CEST`.
fn read_change(value: &str) -> Option<ClockChange> {
    let mut fields = value.split(';').map(str::trim);
    fields
        .next()
        .filter(|flag| flag.eq_ignore_ascii_case("TRUE"))?;
    let zone = TimeZoneResolver::new().resolve(fields.next()?)?;
    Some(ClockChange {
        offset: zone.offset(Timestamp::from_seconds(0)),
        from: fields.next()?.parse().ok()?,
        to: fields.next()?.parse().ok()?,
    })
}

/// Returns the zone with this offset in winter and these changes.
fn zone_of_changes(standard: i32, changes: &[ClockChange]) -> Option<TimeZone> {
    // Programs write the change in winter, in summer or in universal time.
    let around = 14 * HOUR;
    let mut zones = ZONES_OF_CHANGES
        .iter()
        .filter_map(|name| TimeZone::named(name));
    zones.find(|zone| {
        let has = |time: DateTimeValue, before: i32, after: i32| {
            let at = TimeZone::UTC
                .to_utc(time.local())
                .plus_seconds(-i64::from(before));
            zone.offset(at.plus_seconds(-around)) == before
                && zone.offset(at.plus_seconds(around)) == after
        };
        changes.iter().all(|change| {
            has(change.from, standard, change.offset) && has(change.to, change.offset, standard)
        })
    })
}
