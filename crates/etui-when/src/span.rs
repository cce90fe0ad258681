//! [`TimeSpan`]: the period of `agenda` and `freebusy`.

use std::ops::Range;

use etui_ical::time::{Date, DateTime, DateTimeValue, Timestamp};

use super::clock::parse_digits;
use super::dates::{describe_missing_day, plus_months};
use super::names::{parse_month, parse_number_word};
use super::parse::in_languages;
use super::words::WordList;
use super::{LocalNow, format_day, parse_when, reference_time, to_instant};

/// Default number of days, from today.
const DEFAULT_DAYS: i64 = 7;

/// The arguments for a period.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpanWords<'t> {
    /// `today`, `tomorrow`, `week`, `next month`, `year`, `2026-12`, `2026`, or a day.
    pub name: Option<&'t str>,
    /// The first day, or the start time.
    pub from: Option<&'t str>,
    /// The last day, or the end time.
    pub to: Option<&'t str>,
}

/// A period as instants and as days in the display zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSpan {
    /// From the start to the end.
    pub during: Range<Timestamp>,
    /// The day of the start.
    pub first: Date,
    /// The day of the last second.
    pub last: Date,
}

impl TimeSpan {
    /// Parses the arguments for a period.
    pub fn parse(words: SpanWords<'_>, here: &LocalNow) -> Result<Self, String> {
        let today = here.now.date();
        if let Some(what) = words.name {
            let (first, last) = parse_named(what, here.now)?;
            let [first, last] = [first, last].map(DateTimeValue::Date);
            return Self::between_values(first, last, here);
        }
        let parse = |option: &str, text: Option<&str>, now: DateTime| {
            let value = text.map(|text| {
                let value = parse_when(text, now);
                value.map_err(|e| format!("{option} {text}: {e}"))
            });
            value.transpose()
        };
        let from = parse("--from", words.from, here.now)?;
        // The end counts from a start that is named: "monday" to "friday" is one week on any day.
        let now = match (from, words.to) {
            (Some(from), Some(to)) => reference_time(to, here.local_of(from), here.now),
            _ => here.now,
        };
        let from = from.unwrap_or(DateTimeValue::Date(today));
        let last = from.local().date().plus_days(DEFAULT_DAYS - 1);
        let to = parse("--to", words.to, now)?.unwrap_or(DateTimeValue::Date(last));
        Self::between_values(from, to, here)
    }

    /// Returns the period from one day to another, both included.
    pub fn of_days(first: Date, last: Date, here: &LocalNow) -> Self {
        let instant = |day: Date| to_instant(DateTimeValue::Date(day), &here.zone);
        let end = match last {
            // The day after the maximum cannot be represented.
            Date::MAX => to_instant(DateTimeValue::Local(DateTime::MAX), &here.zone),
            last => instant(last.plus_days(1)),
        };
        Self {
            during: instant(first)..end,
            first,
            last,
        }
    }

    /// Formats `on Mon 23 Nov 2026` or `from Mon 23 Nov 2026 to Fri 27 Nov 2026`.
    pub fn describe_days(&self) -> String {
        let [first, last] = [self.first, self.last].map(format_day);
        match first == last {
            true => format!("on {first}"),
            false => format!("from {first} to {last}"),
        }
    }

    /// Returns the period from one value to another; a day at the end is included.
    fn between_values(
        from: DateTimeValue,
        to: DateTimeValue,
        here: &LocalNow,
    ) -> Result<Self, String> {
        let instant = |value| to_instant(value, &here.zone);
        let start = instant(from);
        let end = match to {
            // The day after the maximum cannot be represented.
            DateTimeValue::Date(Date::MAX) => instant(DateTimeValue::Local(DateTime::MAX)),
            DateTimeValue::Date(date) => instant(DateTimeValue::Date(date.plus_days(1))),
            time => instant(time),
        };
        if end <= start {
            return Err("the end is not after the start".to_owned());
        }
        Ok(Self {
            first: here.zone.to_local(start).date(),
            last: here.zone.to_local(end.plus_seconds(-1)).date(),
            during: start..end,
        })
    }
}

/// Parses a named period to its first and last day.
fn parse_named(what: &str, now: DateTime) -> Result<(Date, Date), String> {
    let today = now.date();
    let lower = what.trim().to_ascii_lowercase();
    let (english, other) = in_languages(what, |words| week_or_month(words, today).ok_or(()));
    if let Some(days) = other.or(english.ok()) {
        return Ok(days);
    }
    let first_and_count = match lower.split_once('-') {
        Some((year, month)) => parse_digits(month, 2..=2).map(|month| (year, month, 1)),
        None => Some((lower.as_str(), 1, 12)),
    };
    if let Some((year, month, count)) = first_and_count
        && let Some(first) = parse_digits(year, 4..=4).and_then(|y| Date::new(y, month, 1))
    {
        return Ok(month_range(first, count));
    }
    let (english, other) = in_languages(what, |words| month_named(words, today).ok_or(()));
    if let Some(first) = other.or(english.ok()) {
        return Ok(month_range(first, 1));
    }
    match parse_when(what, now) {
        Ok(DateTimeValue::Date(day)) => Ok((day, day)),
        Err(_) if let Some(problem) = describe_missing_day(what) => Err(problem),
        _ => {
            let write = match nearest_period(&lower) {
                Some(near) => format!("did you mean {near}? Write"),
                None => "write".to_owned(),
            };
            Err(format!(
                "\"{what}\" is not a period; {write} today, tomorrow, week, next week, weekend, month, \
                 year, monday, 2026-12-24, 2026-12 or 2026, or use --from and --to"
            ))
        }
    }
}

/// Returns the days of `week`, `next month`, `this year`; in other languages the word for "next" can follow, and there
/// can be an article.
fn week_or_month(words: &WordList, today: Date) -> Option<(Date, Date)> {
    const ARTICLES: &[&str] = &["the", "on", "in", "at", "of"];
    let mut rest = words.rest();
    // "in 2 weeks" of übernächste Woche.
    let weeks = match rest.next_words(3)[..] {
        ["in", n, "weeks" | "week"] if rest.left() == 3 => parse_number_word(n),
        _ => None,
    };
    if let Some(weeks) = weeks.filter(|_| words.is_translated()) {
        let monday = today.plus_days(7 * i64::from(weeks) - i64::from(today.weekday().index()));
        return Some((monday, monday.plus_days(6)));
    }
    if words.is_translated() {
        rest.skip_all(ARTICLES);
    }
    let by = |word: &str| match word {
        "this" => Some(0),
        "next" | "coming" => Some(1),
        "last" => Some(-1),
        _ => None,
    };
    let (unit, by) = match rest.next_words(3)[..] {
        [unit] => (unit, 0),
        [first, unit] if by(first).is_some() => (unit, by(first)?),
        [unit, last] if words.is_translated() => (unit, by(last)?),
        _ => return None,
    };
    let monday = today.plus_days(7 * by - i64::from(today.weekday().index()));
    match unit {
        "week" => Some((monday, monday.plus_days(6))),
        "weekend" => Some((monday.plus_days(5), monday.plus_days(6))),
        "month" => Some(month_range(plus_months(first_of_month(today), by), 1)),
        "year" => {
            let (year, ..) = today.ymd();
            let january = Date::new(year, 1, 1).unwrap_or(today);
            Some(month_range(plus_months(january, 12 * by), 12))
        }
        _ => None,
    }
}

/// Returns the first day of a month by its name, the current one or the next: `december`, `dec 2027`.
fn month_named(words: &WordList, today: Date) -> Option<Date> {
    let month = parse_month(words.peek(0)?)?;
    let year = words.peek(1).map(|year| parse_digits(year, 4..=4));
    let (this_year, this_month, _) = today.ymd();
    let next = this_year + i32::from(u32::from(month) < this_month);
    let year = year.unwrap_or(Some(next)).filter(|_| words.left() <= 2)?;
    Date::new(year, month.into(), 1)
}

/// Returns the words of a period with those that are mistyped replaced; `None` if one resembles none.
fn nearest_period(words: &str) -> Option<String> {
    const WORDS: &[&str] = &[
        "today",
        "tomorrow",
        "yesterday",
        "this",
        "next",
        "last",
        "week",
        "weekend",
        "month",
        "year",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let words = words.split_whitespace().map(|word| {
        let distances = WORDS
            .iter()
            .map(|known| (strsim::osa_distance(word, known), *known));
        let (distance, nearest) = distances.min()?;
        (distance * 3 <= nearest.len()).then_some(nearest)
    });
    words
        .collect::<Option<Vec<_>>>()
        .map(|words| words.join(" "))
}

fn first_of_month(date: Date) -> Date {
    date.plus_days(1 - i64::from(date.ymd().2))
}

/// Returns the first and last day of `count` months.
fn month_range(first: Date, count: i64) -> (Date, Date) {
    let last = plus_months(first, count - 1);
    match plus_months(last, 1) {
        next if next > last => (first, next.plus_days(-1)),
        _ => (first, Date::MAX),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui_ical::time::TimeZone;
    use proptest::prelude::*;

    use super::*;

    /// A Saturday in Berlin.
    fn here() -> LocalNow {
        LocalNow {
            zone: TimeZone::named("Europe/Berlin").unwrap(),
            now: DateTime::new(2026, 11, 21, 14, 5, 30).unwrap(),
        }
    }

    #[track_caller]
    fn assert_span(what: Option<&str>, from: Option<&str>, to: Option<&str>, expected: &str) {
        let span = TimeSpan::parse(
            SpanWords {
                name: what,
                from,
                to,
            },
            &here(),
        )
        .unwrap();
        let Range { start, end } = span.during;
        let found = format!("{start} {end} {} {}", span.first, span.last);
        assert_eq!(found, expected);
    }

    #[test]
    fn named_spans() {
        assert_span(
            None,
            None,
            None,
            "20261120T230000Z 20261127T230000Z 20261121 20261127",
        );
        assert_span(
            Some("today"),
            None,
            None,
            "20261120T230000Z 20261121T230000Z 20261121 20261121",
        );
        assert_span(
            Some("tomorrow"),
            None,
            None,
            "20261121T230000Z 20261122T230000Z 20261122 20261122",
        );
        assert_span(
            Some("week"),
            None,
            None,
            "20261115T230000Z 20261122T230000Z 20261116 20261122",
        );
        assert_span(
            Some("month"),
            None,
            None,
            "20261031T230000Z 20261130T230000Z 20261101 20261130",
        );
        assert_span(
            Some("2026-02"),
            None,
            None,
            "20260131T230000Z 20260228T230000Z 20260201 20260228",
        );
        assert_span(
            Some("monday"),
            None,
            None,
            "20261122T230000Z 20261123T230000Z 20261123 20261123",
        );
        for (what, days) in [
            ("this week", "20261116 20261122"),
            ("next week", "20261123 20261129"),
            ("Last week", "20261109 20261115"),
            ("weekend", "20261121 20261122"),
            ("next weekend", "20261128 20261129"),
            ("next month", "20261201 20261231"),
            ("last month", "20261001 20261031"),
            ("year", "20260101 20261231"),
            ("next year", "20270101 20271231"),
            ("2028", "20280101 20281231"),
            ("9999", "99990101 99991231"),
        ] {
            let (first, last) = parse_named(what, here().now).unwrap();
            assert_eq!(format!("{first} {last}"), days, "{what}");
        }
        for (what, days) in [
            ("nächste Woche", "20261123 20261129"),
            ("diese Woche", "20261116 20261122"),
            ("letzten Monat", "20261001 20261031"),
            ("übernächste Woche", "20261130 20261206"),
            ("kommende Woche", "20261123 20261129"),
            ("Wochenende", "20261121 20261122"),
            ("nächstes Jahr", "20270101 20271231"),
            ("prochaine semaine", "20261123 20261129"),
            ("la semaine prochaine", "20261123 20261129"),
            ("mois prochain", "20261201 20261231"),
            ("cette semaine", "20261116 20261122"),
            ("próxima semana", "20261123 20261129"),
            ("la semana que viene", "20261123 20261129"),
            ("el mes pasado", "20261001 20261031"),
            ("próximo mês", "20261201 20261231"),
            ("volgende week", "20261123 20261129"),
            ("deze maand", "20261101 20261130"),
            ("prossima settimana", "20261123 20261129"),
            ("la settimana prossima", "20261123 20261129"),
            ("mese scorso", "20261001 20261031"),
            ("nästa vecka", "20261123 20261129"),
            ("następny tydzień", "20261123 20261129"),
            ("следующая неделя", "20261123 20261129"),
            ("на следующей неделе", "20261123 20261129"),
            ("gelecek hafta", "20261123 20261129"),
            ("来週", "20261123 20261129"),
            ("Dezember", "20261201 20261231"),
            ("décembre", "20261201 20261231"),
            ("december", "20261201 20261231"),
            ("diciembre 2027", "20271201 20271231"),
        ] {
            let found =
                parse_named(what, here().now).map(|(first, last)| format!("{first} {last}"));
            assert_eq!(found.as_deref(), Ok(days), "{what}");
        }
        for what in ["31.6.", "30 February", "2027-02-29", "30. Februar"] {
            let found = parse_named(what, here().now);
            assert!(found.is_err(), "{what} {found:?}");
        }
        for (what, nearest) in [
            ("tommorow", "tomorrow"),
            ("next wek", "next week"),
            ("firday", "friday"),
        ] {
            let problem = parse_named(what, here().now).unwrap_err();
            assert!(
                problem.contains(&format!("did you mean {nearest}?")),
                "{problem}"
            );
        }
        for what in [
            "next", "next day", "weeks", "2026-", "2026-1", "-12", "20266", "0000", "",
        ] {
            assert!(parse_named(what, here().now).is_err(), "{what}");
        }
    }

    #[test]
    fn spans_with_ends() {
        assert_span(
            None,
            Some("2026-03-29"),
            Some("2026-03-29"),
            "20260328T230000Z 20260329T220000Z 20260329 20260329",
        );
        assert_span(
            None,
            Some("monday"),
            None,
            "20261122T230000Z 20261129T230000Z 20261123 20261129",
        );
        assert_span(
            None,
            None,
            Some("18:00"),
            "20261120T230000Z 20261121T170000Z 20261121 20261121",
        );
        assert_span(
            None,
            Some("2026-12-24T10:00Z"),
            Some("2026-12-25 00:00"),
            "20261224T100000Z 20261224T230000Z 20261224 20261224",
        );
    }

    #[test]
    fn invalid_spans_are_rejected() {
        for (what, from, to) in [
            (Some("18:00"), None, None),
            (Some("2026-13"), None, None),
            (Some("weeks"), None, None),
            (None, Some("x"), None),
            (None, None, Some("yesterday")),
            (None, Some("9:00"), Some("9:00")),
        ] {
            assert!(
                TimeSpan::parse(
                    SpanWords {
                        name: what,
                        from,
                        to
                    },
                    &here()
                )
                .is_err(),
                "{what:?} {from:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_day_has_its_hours(days in Date::MIN.days()..=Date::MAX.days()) {
            let date = Date::from_days(days.into());
            let text = super::super::format::iso_day(date);
            let span = TimeSpan::parse(SpanWords { name: Some(&text), ..SpanWords::default() }, &here()).unwrap();
            prop_assert_eq!((span.first, span.last), (date, date));
        }

        #[test]
        fn any_words_are_parsed_or_rejected(what in "\\PC{0,12}", from in "\\PC{0,12}") {
            let _ = TimeSpan::parse(SpanWords { name: Some(&what), ..SpanWords::default() }, &here());
            let _ = TimeSpan::parse(SpanWords { from: Some(&from), ..SpanWords::default() }, &here());
        }
    }
}
