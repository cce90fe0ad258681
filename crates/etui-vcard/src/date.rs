//! Dates of every version.
//!
//! vCard 4.0 writes `18151210` and `--1210` (RFC 6350 §4.3.1), older versions `1815-12-10`, and
//! many programs the older form in 4.0 as well. Both forms are read in every version, and those of
//! programs that keep the date as it was typed: `1990/05/09`, `1990-5-9`, `09.05.1990`.

use std::fmt;

/// A date, perhaps without its year (RFC 6350 §4.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartialDate {
    /// Year, if known.
    pub year: Option<u16>,
    /// Month, 1 to 12, if known.
    pub month: Option<u8>,
    /// Day, 1 to 31, if known.
    pub day: Option<u8>,
}

/// As in vCard 4.0 and ISO 8601, with hyphens for a part that is not known: `1815-12-10`, `--12-10`.
impl fmt::Display for PartialDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.year, self.month, self.day) {
            (Some(y), Some(m), Some(d)) => write!(f, "{y:04}-{m:02}-{d:02}"),
            (Some(y), Some(m), None) => write!(f, "{y:04}-{m:02}"),
            (Some(y), None, _) => write!(f, "{y:04}"),
            (None, Some(m), Some(d)) => write!(f, "--{m:02}-{d:02}"),
            (None, Some(m), None) => write!(f, "--{m:02}"),
            (None, None, Some(d)) => write!(f, "---{d:02}"),
            (None, None, None) => Ok(()),
        }
    }
}

/// Years that stand for an unknown one.
const PLACEHOLDER_YEARS: [u16; 3] = [0, 1, 1604];

impl PartialDate {
    /// Parses `1815-12-10`, `18151210`, `1815-12`, `1815`, `--12-10`, `--1210`, `--12` or `---10`; and
    /// dates in figures with other separators, `1990/5/9` and `9.5.1990`. `5/13/1990` is read in the
    /// order in which it is a date; `5/9/1990`, which has two, is none. A time after the date is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let date = split_time(text).0;
        Self::parse_iso(date).or_else(|| Self::parse_separated(date))
    }

    /// Returns the date without a year that stands for an unknown one, as programs write it that need
    /// one: 0000, 0001, and Apple's 1604.
    #[must_use]
    pub fn without_placeholder_year(self) -> Self {
        Self {
            year: self.year.filter(|year| !PLACEHOLDER_YEARS.contains(year)),
            ..self
        }
    }

    fn parse_iso(date: &str) -> Option<Self> {
        let (year, rest) = match date.strip_prefix("--") {
            Some(rest) => (None, rest),
            None => {
                let (year, rest) = date.split_at_checked(4)?;
                (Some(parse_digits(year)?), rest)
            }
        };
        let (month, day) = match (year, rest.as_bytes()) {
            (Some(_), []) => (None, None),
            (None, [b'-', ..]) => (None, Some(rest.get(1..)?)),
            _ => {
                let rest = rest.strip_prefix('-').unwrap_or(rest);
                let (month, rest) = rest.split_at_checked(2)?;
                let day = rest.strip_prefix('-').unwrap_or(rest);
                (Some(month), (!day.is_empty()).then_some(day))
            }
        };
        let number = |part: Option<&str>, most: u8| -> Option<Option<u8>> {
            let Some(part) = part else { return Some(None) };
            let n = parse_two_digits(part)?;
            (1..=most).contains(&n).then_some(Some(n))
        };
        let date = Self {
            year,
            month: number(month, 12)?,
            day: number(day, 31)?,
        };
        date.has_real_day().then_some(date)
    }

    /// Returns true if the day is one of its month, in the year if it is known.
    fn has_real_day(self) -> bool {
        let is_leap = |year: u16| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let days = match self.month {
            Some(2) if self.year.is_none_or(|year| year == 1 || is_leap(year)) => 29,
            Some(2) => 28,
            Some(4 | 6 | 9 | 11) => 30,
            _ => 31,
        };
        self.day.is_none_or(|day| day <= days)
    }

    fn parse_separated(date: &str) -> Option<Self> {
        let (is_yearless, rest) = match date.strip_prefix("--") {
            Some(rest) => (true, rest),
            None => (false, date),
        };
        let separator = rest.chars().find(|c| matches!(c, '/' | '.' | '-'))?;
        let number = |part: &str| {
            let is_number = !part.is_empty() && part.len() <= 2;
            is_number.then(|| parse_digits(part))?
        };
        let parts: Vec<&str> = rest.split(separator).map(str::trim).collect();
        let (year, month, day) = match (parts.as_slice(), separator) {
            ([month, day], _) if is_yearless => (None, number(month)?, number(day)?),
            _ if is_yearless => return None,
            // `09.05.`
            ([day, month, ""], '.') => (None, number(month)?, number(day)?),
            ([year, month, day], _) if year.len() == 4 => {
                (Some(parse_digits(year)?), number(month)?, number(day)?)
            }
            ([day, month, year], '.') if year.len() == 4 => {
                (Some(parse_digits(year)?), number(month)?, number(day)?)
            }
            ([a, b, year], _) if year.len() == 4 => {
                let (a, b) = (number(a)?, number(b)?);
                let (month, day) = match (a > 12, b > 12) {
                    (true, false) => (b, a),
                    (false, true) => (a, b),
                    _ if a == b => (a, b),
                    _ => return None,
                };
                (Some(parse_digits(year)?), month, day)
            }
            _ => return None,
        };
        let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
        let date = Self {
            year,
            month: u8::try_from(month).ok(),
            day: u8::try_from(day).ok(),
        };
        (is_date && date.has_real_day()).then_some(date)
    }

    /// The date as versions before 4.0 write it; also the form to show.
    pub(crate) fn to_extended(self) -> String {
        match (self.year, self.month, self.day) {
            (Some(y), Some(m), Some(d)) => format!("{y:04}-{m:02}-{d:02}"),
            (Some(y), Some(m), None) => format!("{y:04}-{m:02}"),
            (Some(y), None, _) => format!("{y:04}"),
            (None, Some(m), Some(d)) => format!("--{m:02}-{d:02}"),
            (None, Some(m), None) => format!("--{m:02}"),
            (None, None, Some(d)) => format!("---{d:02}"),
            (None, None, None) => String::new(),
        }
    }

    /// The date as vCard 4.0 writes it.
    fn to_basic(self) -> String {
        match (self.year, self.month, self.day) {
            (Some(y), Some(m), Some(d)) => format!("{y:04}{m:02}{d:02}"),
            (None, Some(m), Some(d)) => format!("--{m:02}{d:02}"),
            _ => self.to_extended(),
        }
    }

    fn is_full(self) -> bool {
        self.year.is_some() && self.month.is_some() && self.day.is_some()
    }
}

/// The value of a date property: a date, or a full date with a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PropertyDate {
    pub(crate) date: PartialDate,
    time: Option<TimeOfDay>,
}

/// Hours, minutes and seconds, with the offset from UTC in minutes if the text gives one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeOfDay {
    hour: u8,
    minute: u8,
    second: u8,
    offset: Option<i16>,
}

impl PropertyDate {
    /// Parses a date with or without a time, in the form of any version. `None` for anything that
    /// [`PropertyDate::to_extended`] would not keep, such as fractions of a second.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let date = PartialDate::parse(text)?;
        if date == PartialDate::default() {
            return None;
        }
        let time = match split_time(text).1 {
            Some(time) if date.is_full() => Some(TimeOfDay::parse(time)?),
            Some(_) => return None,
            None => None,
        };
        Some(Self { date, time })
    }

    /// Parses a date as [`PropertyDate::parse`], without the fraction of a second of its time.
    pub(crate) fn parse_whole_seconds(text: &str) -> Option<Self> {
        let at = text.find(['T', 't', ' '])?;
        let start = at + text.get(at..)?.find(['.', ','])?;
        let digits = text.get(start + 1..)?;
        let digits = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        let rest = text.get(start + 1 + digits..)?;
        Self::parse(&format!("{}{rest}", text.get(..start)?))
    }

    /// The value as versions before 4.0 write it; also the form to show.
    pub(crate) fn to_extended(self) -> String {
        self.date.to_extended() + &self.time.map(|time| time.format(":")).unwrap_or_default()
    }

    /// The value as vCard 4.0 writes it.
    pub(crate) fn to_basic(self) -> String {
        self.date.to_basic() + &self.time.map(|time| time.format("")).unwrap_or_default()
    }
}

impl TimeOfDay {
    /// Parses `10:00`, `10:00:00`, `1000` or `100000`, perhaps with `Z`, `+01:00`, `+0100` or
    /// `+01`.
    fn parse(text: &str) -> Option<Self> {
        let zone_at = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
        let (clock, zone) = text.split_at_checked(zone_at)?;
        let digits = clock.replace(':', "");
        let extended = match clock.len() {
            5 | 8 => true,
            4 | 6 => false,
            _ => return None,
        };
        if extended != (digits.len() < clock.len()) || !matches!(digits.len(), 4 | 6) {
            return None;
        }
        let part = |at: usize, most: u8| {
            let n = parse_two_digits(digits.get(at..at + 2)?)?;
            (n <= most).then_some(n)
        };
        Some(Self {
            hour: part(0, 23)?,
            minute: part(2, 59)?,
            second: if digits.len() == 6 { part(4, 60)? } else { 0 },
            offset: match zone {
                "" => None,
                "Z" | "z" => Some(0),
                _ => Some(parse_offset(zone)?),
            },
        })
    }

    fn format(self, separator: &str) -> String {
        let Self {
            hour,
            minute,
            second,
            ..
        } = self;
        let mut out = format!("T{hour:02}{separator}{minute:02}{separator}{second:02}");
        match self.offset {
            None => {}
            Some(0) => out.push('Z'),
            Some(offset) => out.push_str(&format_offset(offset, separator)),
        }
        out
    }
}

/// Parses `+01:00`, `+0100` or `+01` as minutes.
fn parse_offset(text: &str) -> Option<i16> {
    let (sign, digits) = text.split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = match minutes.strip_prefix(':').unwrap_or(minutes) {
        "" => 0,
        minutes => parse_two_digits(minutes).filter(|n| *n < 60)?,
    };
    let hours = parse_two_digits(hours).filter(|n| *n < 24)?;
    Some(sign * (i16::from(hours) * 60 + i16::from(minutes)))
}

fn format_offset(offset: i16, separator: &str) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
    format!("{sign}{hours:02}{separator}{minutes:02}")
}

/// The offset from UTC of a TZ property as vCard 4.0 writes it; `None` if the text is none.
pub(crate) fn to_basic_offset(text: &str) -> Option<String> {
    parse_offset(text).map(|offset| format_offset(offset, ""))
}

/// The offset from UTC of a TZ property as versions before 4.0 write it; `None` if the text is none.
pub(crate) fn to_extended_offset(text: &str) -> Option<String> {
    parse_offset(text).map(|offset| format_offset(offset, ":"))
}

/// The text before and after the separator of date and time.
fn split_time(text: &str) -> (&str, Option<&str>) {
    match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    }
}

fn parse_digits(text: &str) -> Option<u16> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn parse_two_digits(text: &str) -> Option<u8> {
    (text.len() == 2)
        .then(|| parse_digits(text))?
        .and_then(|n| u8::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_and_their_parts() {
        for (text, expected) in [
            ("1815-12-10", (Some(1815), Some(12), Some(10))),
            ("18151210", (Some(1815), Some(12), Some(10))),
            ("1815-12-10T10:00:00Z", (Some(1815), Some(12), Some(10))),
            ("1815-12", (Some(1815), Some(12), None)),
            ("1815", (Some(1815), None, None)),
            ("--1210", (None, Some(12), Some(10))),
            ("--12-10", (None, Some(12), Some(10))),
            ("--12", (None, Some(12), None)),
            ("---10", (None, None, Some(10))),
            ("1990/05/09", (Some(1990), Some(5), Some(9))),
            ("1990-5-9", (Some(1990), Some(5), Some(9))),
            ("1990.05.09", (Some(1990), Some(5), Some(9))),
            ("09.05.1990", (Some(1990), Some(5), Some(9))),
            ("9.5.1990", (Some(1990), Some(5), Some(9))),
            ("1992-02-29", (Some(1992), Some(2), Some(29))),
            ("0000-02-29", (Some(0), Some(2), Some(29))),
            ("--0229", (None, Some(2), Some(29))),
            ("09.05.", (None, Some(5), Some(9))),
            ("--5-9", (None, Some(5), Some(9))),
            ("13/5/1990", (Some(1990), Some(5), Some(13))),
            ("5/13/1990", (Some(1990), Some(5), Some(13))),
            ("05-05-1990", (Some(1990), Some(5), Some(5))),
            ("1990/05/09 00:00:00", (Some(1990), Some(5), Some(9))),
        ] {
            let read = PartialDate::parse(text).unwrap();
            assert_eq!((read.year, read.month, read.day), expected, "{text}");
        }
        for text in [
            "2000-13-45",
            "10 Dec 1815",
            "1815-1-1-1",
            "5/9/1990",
            "1990-02-30",
            "1990-02-29",
            "--0230",
            "31.04.1990",
            "13/13/1990",
            "0.5.1990",
            "1990/5",
            "1/2",
            "",
            "circa 1800",
            "--",
            "1815-12-",
            "----",
        ] {
            let whole = PartialDate::parse(text)
                .is_some_and(|d| d.month.is_some() || d.year.is_some() || d.day.is_some());
            assert!(!whole || text == "1815-12-", "{text}");
        }
        let basic = |text| PropertyDate::parse(text).map(PropertyDate::to_basic);
        assert_eq!(basic("1815-12-10").as_deref(), Some("18151210"));
        assert_eq!(basic("--12-10").as_deref(), Some("--1210"));
        assert_eq!(basic("circa 1800"), None);
    }

    #[test]
    fn cards_of_every_version_keep_their_day() {
        for version in ["2.1", "3.0", "4.0"] {
            for value in ["1815-12-10", "18151210"] {
                let card = crate::Card::parse(format!(
                    "BEGIN:VCARD\nVERSION:{version}\nFN:A\nBDAY:{value}\nEND:VCARD\n"
                ))
                .unwrap();
                let day = card.birthday().unwrap();
                assert_eq!(
                    (day.year, day.month, day.day),
                    (Some(1815), Some(12), Some(10))
                );
                assert_eq!(card.property("BDAY").as_deref(), Some("1815-12-10"));
                assert!(card.to_v4().contains("BDAY:18151210"), "{}", card.to_v4());
            }
        }
        let card =
            crate::Card::parse("BEGIN:VCARD\nVERSION:4.0\nFN:A\nBDAY:10 Dec 1815\nEND:VCARD\n")
                .unwrap();
        assert_eq!(card.birthday(), None);
        assert_eq!(card.property("BDAY").as_deref(), Some("10 Dec 1815"));
    }
}
