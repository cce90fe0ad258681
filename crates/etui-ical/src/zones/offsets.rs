//! Names of time zones that are an offset from UTC, or a display name of Windows and Exchange:
//! `GMT+05:30`, `(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::time::{Date, TimeZone, TransitionTable};

/// Display names without a city that names a zone, and abbreviations of summer times, with their zones.
const NAMES: &[(&str, &str)] = &[
    ("Z", "UTC"),
    ("Coordinated Universal Time", "UTC"),
    ("Greenwich Mean Time", "Europe/London"),
    ("Atlantic Time (Canada)", "America/Halifax"),
    ("Eastern Time (US & Canada)", "America/New_York"),
    ("Central Time (US & Canada)", "America/Chicago"),
    ("Mountain Time (US & Canada)", "America/Denver"),
    ("Pacific Time (US & Canada)", "America/Los_Angeles"),
    ("US/Pacific-New", "America/Los_Angeles"),
    ("Indiana (East)", "America/Indiana/Indianapolis"),
    ("Central America", "America/Guatemala"),
    ("Brasilia", "America/Sao_Paulo"),
    ("Greenland", "America/Nuuk"),
    ("Cabo Verde Is.", "Atlantic/Cape_Verde"),
    ("West Central Africa", "Africa/Lagos"),
    ("Nuku'alofa", "Pacific/Tongatapu"),
    ("CEST", "Europe/Brussels"),
    ("MEZ", "Europe/Brussels"),
    ("MESZ", "Europe/Brussels"),
    ("EEST", "Europe/Athens"),
    ("WEST", "Europe/Lisbon"),
    ("BST", "Europe/London"),
    ("EDT", "America/New_York"),
    ("CDT", "America/Chicago"),
    ("MDT", "America/Denver"),
    ("PST", "America/Los_Angeles"),
    ("PDT", "America/Los_Angeles"),
    ("JST", "Asia/Tokyo"),
];

/// The IANA names by their last part, in lower case: `berlin`.
static CITIES: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut cities: HashMap<String, Vec<String>> = HashMap::new();
    for name in TimeZone::names() {
        if let Some((_, city)) = name.rsplit_once('/') {
            let city = city.to_ascii_lowercase();
            cities.entry(city).or_default().push(name);
        }
    }
    cities
});

/// Returns the time zone of an offset or a display name.
pub(super) fn find_offset_or_display_name(name: &str) -> Option<TimeZone> {
    if let Some(zone) = named(name) {
        return Some(zone);
    }
    let inner = name.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((offset, places)) = inner else {
        return parse_offset(name).map(zone_of_offset);
    };
    let offset = parse_offset(offset)?;
    match places.trim() {
        "" => Some(zone_of_offset(offset)),
        places => zone_of_places(places, offset),
    }
}

fn named(name: &str) -> Option<TimeZone> {
    let found = NAMES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.and_then(|(_, iana)| TimeZone::named(iana))
}

/// Returns the zone of the first place that has this offset in winter or in summer.
fn zone_of_places(places: &str, offset: i32) -> Option<TimeZone> {
    if let Some(zone) = named(places) {
        return Some(zone);
    }
    let has_offset = |zone: &TimeZone| {
        let dates = [Date::new(2024, 1, 1), Date::new(2024, 7, 1)];
        let mut dates = dates.into_iter().flatten();
        dates.any(|date| zone.offset(TimeZone::UTC.to_utc(date.midnight())) == offset)
    };
    let places = places.rsplit(':').next().unwrap_or(places);
    places.split([',', '/', '(', ')']).find_map(|place| {
        let place = place.trim();
        let key = place.replace(' ', "_").to_ascii_lowercase();
        let found = CITIES.get(&key).into_iter().flatten();
        let mut zones = found.filter_map(|name| TimeZone::named(name));
        zones.find(has_offset).or_else(|| named(place))
    })
}

/// Parses `GMT+05:30`, `UTC+2`, `+0200`, `GMT -3`, `UTC` to seconds east of UTC.
fn parse_offset(text: &str) -> Option<i32> {
    let text = text.trim();
    let prefix = text.get(..3).unwrap_or_default();
    let is_named = prefix.eq_ignore_ascii_case("UTC") || prefix.eq_ignore_ascii_case("GMT");
    let rest = if is_named { text.get(3..)? } else { text };
    let rest = rest.trim();
    if rest.is_empty() {
        return is_named.then_some(0);
    }
    let (sign, digits) = match rest.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once([':', '.']) {
        Some(parts) => parts,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        // An hour alone is none of a date: -2026
        None => (digits, "0"),
    };
    let number = |text: &str| match text.len() {
        1 | 2 if text.bytes().all(|b| b.is_ascii_digit()) => text.parse::<i32>().ok(),
        _ => None,
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    // No zone is more than 14 hours from UTC.
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Returns a zone with a fixed offset: by its IANA name, if it has whole hours.
fn zone_of_offset(offset: i32) -> TimeZone {
    let (hours, minutes) = (offset / 3_600, offset.abs() / 60 % 60);
    if offset == 0 {
        return TimeZone::UTC;
    }
    // The signs of these names are those of POSIX: Etc/GMT-2 is two hours east.
    let iana = match minutes {
        0 => TimeZone::named(&format!("Etc/GMT{:+}", -hours)),
        _ => None,
    };
    let sign = if offset < 0 { '-' } else { '+' };
    let name = || format!("UTC{sign}{:02}:{minutes:02}", hours.abs());
    let table = || TransitionTable::new(offset, Vec::new(), false);
    iana.unwrap_or_else(|| TimeZone::defined(name(), table()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn offsets_are_zones() {
        for (name, hours) in [
            ("GMT+05:30", 5.5),
            ("UTC+02:00", 2.0),
            ("+05:30", 5.5),
            ("GMT+0200", 2.0),
            ("GMT +0200", 2.0),
            ("GMT-3", -3.0),
            ("UTC-09:30", -9.5),
            ("utc", 0.0),
            ("(UTC+05:45)", 5.75),
            ("(GMT+01.00)", 1.0),
            ("(UTC+14:00)", 14.0),
        ] {
            let zone = find_offset_or_display_name(name).unwrap();
            let at = TimeZone::UTC.to_utc(Date::new(2026, 7, 1).unwrap().midnight());
            assert_eq!(f64::from(zone.offset(at)) / 3_600.0, hours, "{name}");
        }
        for name in [
            "",
            "+",
            "GMT+15",
            "GMT+5:60",
            "2026",
            "-2026x",
            "(UTC+01:00",
            "(UTC+01:00) Nowhere",
            "ü+1",
        ] {
            assert!(find_offset_or_display_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn display_names_are_zones() {
        for (name, iana) in [
            (
                "(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna",
                "Europe/Amsterdam",
            ),
            (
                "(UTC+01:00) Brussels, Copenhagen, Madrid, Paris",
                "Europe/Brussels",
            ),
            ("(GMT+01.00) Sarajevo/Warsaw/Zagreb", "Europe/Sarajevo"),
            ("(UTC) Dublin, Edinburgh, Lisbon, London", "Europe/Dublin"),
            (
                "(GMT) Greenwich Mean Time : Dublin, Edinburgh, Lisbon, London",
                "Europe/Dublin",
            ),
            ("(UTC-05:00) Eastern Time (US & Canada)", "America/New_York"),
            ("Eastern Time (US & Canada)", "America/New_York"),
            (
                "(UTC-08:00) Pacific Time (US & Canada)",
                "America/Los_Angeles",
            ),
            (
                "(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi",
                "Asia/Kolkata",
            ),
            ("(UTC+09:00) Osaka, Sapporo, Tokyo", "Asia/Tokyo"),
            (
                "(UTC+10:00) Canberra, Melbourne, Sydney",
                "Australia/Canberra",
            ),
            ("(UTC-03:00) Brasilia", "America/Sao_Paulo"),
            (
                "(UTC+02:00) Helsinki, Kyiv, Riga, Sofia, Tallinn, Vilnius",
                "Europe/Helsinki",
            ),
            (
                "(UTC+08:00) Beijing, Chongqing, Hong Kong, Urumqi",
                "Asia/Chongqing",
            ),
            ("US/Pacific-New", "America/Los_Angeles"),
            ("CEST", "Europe/Brussels"),
            ("Z", "UTC"),
        ] {
            assert_eq!(
                find_offset_or_display_name(name).unwrap().name(),
                iana,
                "{name}"
            );
        }
    }
}
