//! Time zones beside a clock time: `3pm EST`, `10:00 UTC+2`, `9am London time`.

use etui_ical::time::{DateTime, TimeZone};

use super::words::WordList;

/// A zone that was named beside a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneWord {
    /// Seconds east of UTC.
    Offset(i64),
    /// The name of an IANA zone. Its daylight saving time is followed, also if the words say "standard".
    Named(&'static str),
}

/// Abbreviations in capitals. Those with several meanings in use, such as IST and AST, are not read.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("EST EDT ET", "America/New_York"),
    ("CST CDT CT", "America/Chicago"),
    ("MST MDT MT", "America/Denver"),
    ("PST PDT PT", "America/Los_Angeles"),
    ("AKST AKDT", "America/Anchorage"),
    ("HST", "Pacific/Honolulu"),
    ("BST", "Europe/London"),
    ("WET WEST", "Europe/Lisbon"),
    ("CET CEST MEZ MESZ", "Europe/Berlin"),
    ("EET EEST", "Europe/Athens"),
    ("MSK", "Europe/Moscow"),
    ("TRT", "Europe/Istanbul"),
    ("JST", "Asia/Tokyo"),
    ("KST", "Asia/Seoul"),
    ("HKT", "Asia/Hong_Kong"),
    ("SGT", "Asia/Singapore"),
    ("AEST AEDT", "Australia/Sydney"),
    ("AWST", "Australia/Perth"),
    ("NZST NZDT", "Pacific/Auckland"),
    ("BRT", "America/Sao_Paulo"),
    ("UTC GMT", "UTC"),
];

/// Abbreviations with several meanings in use.
const AMBIGUOUS: &[&str] = &[
    "IST", "AST", "ADT", "ECT", "GST", "SST", "PKT", "NST", "NDT",
];

/// Places before "time".
const PLACES: &[(&str, &str)] = &[
    ("eastern", "America/New_York"),
    ("central", "America/Chicago"),
    ("mountain", "America/Denver"),
    ("pacific", "America/Los_Angeles"),
    ("new york", "America/New_York"),
    ("chicago", "America/Chicago"),
    ("london", "Europe/London"),
    ("uk", "Europe/London"),
    ("paris", "Europe/Paris"),
    ("berlin", "Europe/Berlin"),
    ("german", "Europe/Berlin"),
    ("madrid", "Europe/Madrid"),
    ("rome", "Europe/Rome"),
    ("moscow", "Europe/Moscow"),
    ("istanbul", "Europe/Istanbul"),
    ("tokyo", "Asia/Tokyo"),
    ("japan", "Asia/Tokyo"),
    ("singapore", "Asia/Singapore"),
    ("india", "Asia/Kolkata"),
    ("sydney", "Australia/Sydney"),
];

impl ZoneWord {
    /// Reads a zone at the position, and the number of its words.
    pub fn read(words: &WordList) -> Option<(Self, usize)> {
        let written = words.written().trim_matches(['(', ')', ',', '.']);
        if let Some((_, name)) = ABBREVIATIONS
            .iter()
            .find(|(names, _)| names.split(' ').any(|name| name == written))
        {
            let offset = (*name == "UTC")
                .then(|| parse_offset(words.peek(1)?))
                .flatten();
            return Some(match offset {
                Some(offset) => (Self::Offset(offset), 2),
                None => (Self::Named(name), 1),
            });
        }
        let glued = written.strip_prefix("UTC").or(written.strip_prefix("GMT"));
        if let Some(offset) = glued.and_then(parse_offset) {
            return Some((Self::Offset(offset), 1));
        }
        PLACES.iter().find_map(|(place, name)| {
            let count = place.split(' ').count();
            let is_place = words.next_words(count).join(" ") == *place;
            (is_place && words.peek(count) == Some("time"))
                .then_some((Self::Named(name), count + 1))
        })
    }

    /// Converts a local time to UTC.
    pub fn to_utc(self, local: DateTime) -> DateTime {
        let zone = match self {
            Self::Offset(offset) => return local.plus_seconds(-offset),
            Self::Named(name) => TimeZone::named(name),
        };
        zone.map_or(local, |zone| TimeZone::UTC.to_local(zone.to_utc(local)))
    }
}

/// Returns true for a word that is a zone after a clock time, but which one is not known.
pub fn is_unknown_zone(written: &str) -> bool {
    AMBIGUOUS.contains(&written.trim_matches(['(', ')', ',', '.']))
}

/// Parses `+2`, `-05:30`, `+0530` to seconds.
fn parse_offset(text: &str) -> Option<i64> {
    let sign = match text.split_at_checked(1)? {
        ("+", _) => 1,
        ("-" | "\u{2212}", _) => -1,
        _ => return None,
    };
    let digits = text.get(1..)?.replace(':', "");
    let is_plain = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let n: i64 = digits.parse().ok().filter(|_| is_plain)?;
    let minutes = match digits.len() {
        1 | 2 => 60 * n,
        _ => n / 100 * 60 + n % 100,
    };
    Some(sign * 60 * minutes).filter(|offset| offset.abs() <= 14 * 3_600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_read() {
        for (text, expected) in [
            ("EST", Some((ZoneWord::Named("America/New_York"), 1))),
            ("(CET)", Some((ZoneWord::Named("Europe/Berlin"), 1))),
            ("UTC+2", Some((ZoneWord::Offset(7_200), 1))),
            ("GMT -5", Some((ZoneWord::Offset(-18_000), 2))),
            ("UTC+05:30", Some((ZoneWord::Offset(19_800), 1))),
            ("UTC tomorrow", Some((ZoneWord::Named("UTC"), 1))),
            ("London time", Some((ZoneWord::Named("Europe/London"), 2))),
            (
                "New York time",
                Some((ZoneWord::Named("America/New_York"), 3)),
            ),
            ("est", None),
            ("London", None),
            ("IST", None),
            ("UTC+99", None),
            ("", None),
        ] {
            assert_eq!(ZoneWord::read(&WordList::split(text)), expected, "{text}");
        }
        let noon = DateTime::new(2026, 7, 1, 12, 0, 0);
        let utc = noon.map(|noon| ZoneWord::Named("America/New_York").to_utc(noon).to_string());
        assert_eq!(
            utc.as_deref(),
            Some("20260701T160000Z").map(|text| text.trim_end_matches('Z'))
        );
    }
}
