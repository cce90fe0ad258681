//! Dates as tables write them: `1815-12-10`, `10.12.1815`, `12/10/1815`, `10 Dec 1815`.

use etui_vcard::PartialDate;

/// The order of day and month in dates with slashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DayOrder {
    MonthFirst,
    DayFirst,
}

/// A date in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableDate {
    /// A placeholder for no date, such as Outlook's `0/0/00`.
    None,
    Date {
        date: PartialDate,
        /// Day and month may be the other way round.
        is_ambiguous: bool,
    },
}

/// Returns true for a date of a day that its month does not have: with the 28th it is one.
pub(crate) fn names_missing_day(text: &str) -> bool {
    let text = text.trim();
    let numbers = text.match_indices(|c: char| c.is_ascii_digit());
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let starts = numbers
        .map(|(at, _)| at)
        .filter(|at| at.checked_sub(1).is_none_or(|before| !is_digit(before)));
    // 19900431
    let packed = (text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit())).then_some(6);
    starts.chain(packed).any(|at| {
        let day = text.get(at..at + 2);
        let is_day = matches!(day, Some("29" | "30" | "31")) && !is_digit(at + 2);
        let mut other = text.to_owned();
        is_day && {
            other.replace_range(at..at + 2, "28");
            let orders = [DayOrder::DayFirst, DayOrder::MonthFirst];
            let is_date = |order| {
                matches!(
                    TableDate::parse(&other, order),
                    Some(TableDate::Date { .. })
                )
            };
            orders.into_iter().any(is_date)
        }
    })
}

#[cfg(test)]
#[test]
fn days_that_do_not_exist() {
    for text in [
        "1990-02-29",
        "31.6.1990",
        "30 Feb 1990",
        "6/31/1990",
        "19900431",
    ] {
        assert!(
            TableDate::parse(text, DayOrder::DayFirst).is_none(),
            "{text}"
        );
        assert!(names_missing_day(text), "{text}");
    }
    for text in ["unknown", "32.1.1990", "31", "", "12345", "29"] {
        assert!(!names_missing_day(text), "{text}");
    }
}

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

impl TableDate {
    /// Parses a date; a time after it is ignored. `None` if the text is no date, or has a year of two
    /// digits.
    pub(crate) fn parse(text: &str, order: DayOrder) -> Option<Self> {
        let text = text.trim();
        let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '-');
        if is_plain
            && text.contains(|c: char| matches!(c, '1'..='9'))
            && let Some(date) = PartialDate::parse(text).filter(is_valid)
        {
            return Some(Self::certain(date));
        }
        let is_time = |word: &&str| {
            word.contains(':') || word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm")
        };
        // `1815-12-10T00:00:00Z`
        let text = match text.split_once('T') {
            Some((date, _)) if date.ends_with(|c: char| c.is_ascii_digit()) => date,
            _ => text,
        };
        let date: Vec<&str> = text.split_whitespace().filter(|w| !is_time(w)).collect();
        let date = date.join(" ");
        let separators = ['/', '.', '-', ' ', ','];
        let parts: Vec<&str> = date.split(separators).filter(|p| !p.is_empty()).collect();
        if !parts.is_empty() && parts.iter().all(|part| part.bytes().all(|b| b == b'0')) {
            return Some(Self::None);
        }
        if let Some(date) = with_month_name(&parts) {
            return is_valid(&date).then_some(Self::certain(date));
        }
        let [a, b, c] = parts.as_slice() else {
            return None;
        };
        let number = |part: &str| part.parse::<u16>().ok().filter(|_| part.len() <= 4);
        let (x, y, z) = (number(a)?, number(b)?, number(c)?);
        let build = |year: u16, month: u16, day: u16| {
            let date = PartialDate {
                year: Some(year),
                month: u8::try_from(month).ok(),
                day: u8::try_from(day).ok(),
            };
            (date.month.is_some() && date.day.is_some() && is_valid(&date)).then_some(date)
        };
        if a.len() == 4 {
            return build(x, y, z).map(Self::certain);
        }
        if c.len() != 4 {
            return None;
        }
        if date.contains('.') {
            return build(z, y, x).map(Self::certain);
        }
        let (month_first, day_first) = (build(z, x, y), build(z, y, x));
        let (first, second) = match order {
            DayOrder::MonthFirst => (month_first, day_first),
            DayOrder::DayFirst => (day_first, month_first),
        };
        Some(Self::Date {
            date: first.or(second)?,
            is_ambiguous: first.is_some() && second.is_some() && first != second,
        })
    }

    fn certain(date: PartialDate) -> Self {
        Self::Date {
            date,
            is_ambiguous: false,
        }
    }
}

/// Returns true for a date of zeros, such as Outlook's `0.0.00` for none.
pub(crate) fn is_placeholder_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['.', '/', '-']).collect();
    let is_zero = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte == b'0');
    parts.len() == 3 && parts.iter().all(is_zero)
}

/// Returns the order that a date with slashes shows: `17/5/1980` has the day first.
pub(crate) fn shown_order(text: &str) -> Option<DayOrder> {
    let first = text.split_whitespace().next()?;
    let numbers: Option<Vec<u16>> = first.split(['/', '-']).map(|p| p.parse().ok()).collect();
    match numbers?.as_slice() {
        [13..=31, 1..=12, 100..=9999] => Some(DayOrder::DayFirst),
        [1..=12, 13..=31, 100..=9999] => Some(DayOrder::MonthFirst),
        _ => None,
    }
}

/// `10 Dec 1815`, `December 10, 1815`, `10 Dec`.
fn with_month_name(parts: &[&str]) -> Option<PartialDate> {
    let month_of = |part: &str| {
        let part = part.to_ascii_lowercase();
        let known = MONTHS.iter().position(|month| part.starts_with(month))?;
        (part.len() >= 3 && part.chars().all(|c| c.is_ascii_alphabetic()))
            .then(|| u8::try_from(known + 1).ok())
            .flatten()
    };
    let (day, month, year) = match *parts {
        [day, month, year] if month_of(month).is_some() => (day, month, Some(year)),
        [month, day, year] if month_of(month).is_some() => (day, month, Some(year)),
        [day, month] if month_of(month).is_some() => (day, month, None),
        [month, day] if month_of(month).is_some() => (day, month, None),
        _ => return None,
    };
    let year = match year {
        Some(year) if year.len() == 4 => Some(year.parse().ok()?),
        Some(_) => return None,
        None => None,
    };
    Some(PartialDate {
        year,
        month: month_of(month),
        day: Some(day.parse().ok()?),
    })
}

fn is_valid(date: &PartialDate) -> bool {
    let year = date.year.unwrap_or(2000);
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match date.month {
        Some(2) if is_leap => 29,
        Some(2) => 28,
        Some(4 | 6 | 9 | 11) => 30,
        _ => 31,
    };
    date.month.is_none_or(|month| (1..=12).contains(&month))
        && date.day.is_none_or(|day| (1..=days).contains(&day))
        && *date != PartialDate::default()
        && year > 0
}

/// Formats a date as vCard 4.0 writes it: `18151210`, `--1210`, `1815-12`.
pub(crate) fn format_basic(date: PartialDate) -> String {
    match (date.year, date.month, date.day) {
        (Some(y), Some(m), Some(d)) => format!("{y:04}{m:02}{d:02}"),
        (None, Some(m), Some(d)) => format!("--{m:02}{d:02}"),
        _ => format_extended(date),
    }
}

/// Formats a date for people and tables: `1815-12-10`, `--12-10`, `1815-12`.
pub(crate) fn format_extended(date: PartialDate) -> String {
    match (date.year, date.month, date.day) {
        (Some(y), Some(m), Some(d)) => format!("{y:04}-{m:02}-{d:02}"),
        (Some(y), Some(m), None) => format!("{y:04}-{m:02}"),
        (Some(y), None, _) => format!("{y:04}"),
        (None, Some(m), Some(d)) => format!("--{m:02}-{d:02}"),
        (None, Some(m), None) => format!("--{m:02}"),
        (None, None, Some(d)) => format!("---{d:02}"),
        (None, None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_every_program() {
        for (text, expected) in [
            ("1815-12-10", "1815-12-10"),
            ("18151210", "1815-12-10"),
            ("1815-12-10 00:00:00", "1815-12-10"),
            ("1815-12-10T00:00:00Z", "1815-12-10"),
            ("1980-5-7", "1980-05-07"),
            (" --12-10", "--12-10"),
            ("1815-12", "1815-12"),
            ("10.12.1815", "1815-12-10"),
            ("12/10/1815", "1815-12-10"),
            ("17/5/1980", "1980-05-17"),
            ("5/17/1980 12:00:00 AM", "1980-05-17"),
            ("10 Dec 2020", "2020-12-10"),
            ("December 10, 1815", "1815-12-10"),
            ("29 Feb", "--02-29"),
        ] {
            let Some(TableDate::Date { date, .. }) = TableDate::parse(text, DayOrder::MonthFirst)
            else {
                panic!("{text}");
            };
            assert_eq!(format_extended(date), expected, "{text}");
        }
        for text in [
            "",
            "soon",
            "10/12/85",
            "2001-02-29",
            "31.4.2000",
            "1/2",
            "99/99/1999",
            "--",
            "-",
            "10 Foo 2020",
            "1815-13-01",
            "12345678901",
        ] {
            assert_eq!(TableDate::parse(text, DayOrder::MonthFirst), None, "{text}");
        }
        for text in ["0/0/00", "00.00.0000", "0000-00-00"] {
            let none = Some(TableDate::None);
            assert_eq!(TableDate::parse(text, DayOrder::MonthFirst), none, "{text}");
        }
    }

    #[test]
    fn the_order_of_day_and_month() {
        let parse = |text, order| match TableDate::parse(text, order) {
            Some(TableDate::Date { date, is_ambiguous }) => (date.month, is_ambiguous),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(parse("3/4/1980", DayOrder::MonthFirst), (Some(3), true));
        assert_eq!(parse("3/4/1980", DayOrder::DayFirst), (Some(4), true));
        assert_eq!(parse("4/4/1980", DayOrder::DayFirst), (Some(4), false));
        assert_eq!(parse("17/4/1980", DayOrder::MonthFirst), (Some(4), false));
        assert_eq!(shown_order("17/4/1980"), Some(DayOrder::DayFirst));
        assert_eq!(shown_order("4/17/1980 0:00"), Some(DayOrder::MonthFirst));
        assert_eq!(shown_order("4/7/1980"), None);
        assert_eq!(shown_order("1980-04-17"), None);
    }
}
