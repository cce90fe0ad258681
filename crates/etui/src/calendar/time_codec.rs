//! Codec of times in summaries, and the list key of a calendar.
//!
//! ```text
//! time := tag:u8 seconds:zigzag varint [length:varint zone]
//! tag  := 0 a date (its midnight) | 1 floating | 2 in a zone of the IANA database | 3 UTC
//! ```
//!
//! A time in an IANA zone is stored as local time, not as an instant: when the rules of the zone
//! change, the instant follows. A time in a zone that only its file defines is stored as an instant.
//!
//! The list of a calendar is ordered by the instant at which records begin, as of their last save.
//! Dates and floating times are ordered as if in UTC; records without a time are last:
//!
//! ```text
//! sort := 6 bytes: seconds since year 1, 7 bits a byte, high bits first, each with 0x80 | 0xff
//! ```

use super::time::{CalendarTime, Date, DateTime, TimeZone, Timestamp};
use etui_text::varint;

const DAY: u8 = 0;
const FLOATING: u8 = 1;
const ZONED: u8 = 2;
const UTC: u8 = 3;

/// Seconds by which a stored instant may differ from the instant in the zone of the display: the
/// offsets of all zones, and a change of their rules by up to a day.
pub(crate) const MAX_UTC_OFFSET: i64 = 26 * 3_600;

/// List key of records without a time.
const UNDATED: &[u8] = &[0xff];

/// Appends a time.
pub(super) fn push_time(out: &mut Vec<u8>, time: &CalendarTime) {
    let (tag, seconds) = match time {
        CalendarTime::Date(_) => (DAY, time.local().seconds()),
        CalendarTime::Floating(_) => (FLOATING, time.local().seconds()),
        CalendarTime::Utc(at) => (UTC, at.seconds()),
        CalendarTime::Zoned(wall, zone) if zone.is_named() => (ZONED, wall.seconds()),
        CalendarTime::Zoned(wall, zone) => (UTC, zone.to_utc(*wall).seconds()),
    };
    out.push(tag);
    varint::push_u64(out, varint::zigzag_encode(seconds));
    if let (ZONED, CalendarTime::Zoned(_, zone)) = (tag, time) {
        varint::push_bytes(out, zone.name().as_bytes());
    }
}

/// Time zones by name, looked up once each. Most calendars use one or two.
#[derive(Default)]
pub(super) struct ZoneInterner(Vec<(String, TimeZone)>);

impl ZoneInterner {
    fn get_or_resolve(&mut self, name: &[u8]) -> TimeZone {
        if let Some((_, zone)) = self.0.iter().find(|(n, _)| n.as_bytes() == name) {
            return zone.clone();
        }
        let name = String::from_utf8_lossy(name).into_owned();
        // A zone that the database no longer has is read as UTC.
        let zone = TimeZone::named(&name).unwrap_or(TimeZone::UTC);
        // The names come from the file, so their number is bounded.
        if self.0.len() < 64 {
            self.0.push((name, zone.clone()));
        }
        zone
    }
}

/// Takes a time from the front of `bytes`.
pub(super) fn take_time(bytes: &mut &[u8], zones: &mut ZoneInterner) -> Option<CalendarTime> {
    let (&tag, rest) = bytes.split_first()?;
    *bytes = rest;
    let seconds = varint::zigzag_decode(varint::take_u64(bytes)?);
    let wall = DateTime::from_seconds(seconds);
    Some(match tag {
        DAY => CalendarTime::Date(wall.date()),
        FLOATING => CalendarTime::Floating(wall),
        ZONED => CalendarTime::Zoned(wall, zones.get_or_resolve(varint::take_bytes(bytes)?)),
        UTC => CalendarTime::Utc(Timestamp::from_seconds(seconds)),
        _ => return None,
    })
}

/// Returns the list key of a record that begins at a time.
pub(super) fn list_key(time: Option<&CalendarTime>) -> Vec<u8> {
    match time {
        Some(time) => list_key_at(time.at(&TimeZone::UTC).seconds()),
        None => UNDATED.to_vec(),
    }
}

/// Returns the list key of a record that begins at an instant, in Unix seconds.
pub(super) fn list_key_at(seconds: i64) -> Vec<u8> {
    let first = Date::new(1, 1, 1).map_or(0, |d| d.midnight().seconds());
    // 39 bits: the first byte stays below that of `UNDATED`. Times before year 1 sort first.
    let behind = seconds.saturating_sub(first).clamp(0, (1 << 39) - 1);
    (0..6)
        .rev()
        .map(|n| (behind >> (7 * n)) as u8 | 0x80)
        .collect()
}

/// Returns true if two list keys can be of one time under different rules of its zone.
pub(crate) fn is_near(key: &[u8], other: &[u8]) -> bool {
    let seconds = |place: &[u8]| {
        let digit = |sum, byte: &u8| sum << 7 | i64::from(byte & 0x7f);
        (place.len() == 6).then(|| place.iter().fold(0i64, digit))
    };
    match (seconds(key), seconds(other)) {
        (Some(a), Some(b)) => (a - b).abs() <= MAX_UTC_OFFSET,
        _ => key == other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_read_back_as_written() {
        let berlin = TimeZone::named("Europe/Berlin").unwrap();
        let wall = Date::new(2026, 11, 21).unwrap().at(9, 30, 0).unwrap();
        let times = [
            CalendarTime::Date(Date::new(1, 1, 1).unwrap()),
            CalendarTime::Floating(wall),
            CalendarTime::Zoned(wall, berlin),
            CalendarTime::Utc(Timestamp::from_seconds(-1)),
        ];
        let mut bytes = Vec::new();
        times.iter().for_each(|t| push_time(&mut bytes, t));
        let mut rest = bytes.as_slice();
        let mut zones = ZoneInterner::default();
        for time in &times {
            assert_eq!(take_time(&mut rest, &mut zones).as_ref(), Some(time));
        }
        assert!(rest.is_empty());
        for end in 0..bytes.len() {
            let mut cut = &bytes[..end];
            while take_time(&mut cut, &mut zones).is_some() {}
        }
    }

    #[test]
    fn places_are_in_the_order_of_time() {
        let at = |seconds| list_key_at(Timestamp::from_seconds(seconds).seconds());
        let ordered = [
            -62_135_596_800,
            -1,
            0,
            1,
            127,
            128,
            1_795_000_000,
            253_402_300_799,
        ];
        assert!(ordered.windows(2).all(|w| at(w[0]) < at(w[1])));
        assert!(at(253_402_300_799).as_slice() < UNDATED);
        assert!(ordered.iter().all(|s| at(*s).iter().all(|b| *b != 0)));
        assert!(is_near(&at(0), &at(MAX_UTC_OFFSET)) && !is_near(&at(-1), &at(MAX_UTC_OFFSET)));
        assert!(is_near(UNDATED, UNDATED) && !is_near(UNDATED, &at(0)));
    }
}
