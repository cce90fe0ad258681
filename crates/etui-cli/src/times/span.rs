//! From one day or time to another: what `agenda` and its like show.

use std::ops::Range;

use etui::calendar::time::{Date, DateTime, Timestamp, Value};

use super::words::plus_months;
use super::{Here, instant, when};

/// Days shown when nothing else is asked for, today being the first.
const USUAL_DAYS: i64 = 7;

/// How a span was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words<'t> {
    /// `today`, `tomorrow`, `week`, `month`, `2026-12`, or a day.
    pub what: Option<&'t str>,
    /// Its beginning.
    pub from: Option<&'t str>,
    /// Its end; a day is part of it.
    pub to: Option<&'t str>,
}

/// A span of time, as instants and as days on the clock it is looked at with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The instants.
    pub during: Range<Timestamp>,
    /// The first day.
    pub first: Date,
    /// The last day.
    pub last: Date,
}

impl Span {
    /// The span that the words mean for somebody here.
    pub fn of(words: Words<'_>, here: &Here) -> Result<Self, String> {
        let today = here.now.date();
        if let Some(what) = words.what {
            let (first, last) = named(what, here.now)?;
            return Self::between(Value::Date(first), Value::Date(last), here);
        }
        let from = match words.from {
            Some(text) => when(text, here.now).map_err(|e| format!("--from {text}: {e}"))?,
            None => Value::Date(today),
        };
        let to = match words.to {
            Some(text) => when(text, here.now).map_err(|e| format!("--to {text}: {e}"))?,
            None => Value::Date(from.wall().date().plus_days(USUAL_DAYS - 1)),
        };
        Self::between(from, to, here)
    }

    /// From one to another; a day at the end is part of it.
    fn between(from: Value, to: Value, here: &Here) -> Result<Self, String> {
        let instant = |value| instant(value, &here.zone);
        let start = instant(from);
        let end = match to {
            // The last of all days ends where time does.
            Value::Date(Date::MAX) => instant(Value::Local(DateTime::MAX)),
            Value::Date(date) => instant(Value::Date(date.plus_days(1))),
            time => instant(time),
        };
        if end <= start {
            return Err("the end is not behind the beginning".to_owned());
        }
        Ok(Self {
            first: here.zone.to_local(start).date(),
            last: here.zone.to_local(end.plus_seconds(-1)).date(),
            during: start..end,
        })
    }
}

/// The first and the last day of what has a name.
fn named(what: &str, now: DateTime) -> Result<(Date, Date), String> {
    let today = now.date();
    let lower = what.trim().to_ascii_lowercase();
    let month = |date: Date| {
        let first = date.plus_days(1 - i64::from(date.ymd().2));
        let last = match plus_months(first, 1) {
            next if next > first => next.plus_days(-1),
            _ => Date::MAX,
        };
        (first, last)
    };
    match lower.as_str() {
        "week" => {
            let first = today.plus_days(-i64::from(today.weekday().index()));
            return Ok((first, first.plus_days(6)));
        }
        "month" => return Ok(month(today)),
        _ => {}
    }
    if let Some((year, number)) = lower.split_once('-')
        && let (4, 2) = (year.len(), number.len())
        && let (Ok(year), Ok(number)) = (year.parse(), number.parse())
        && let Some(first) = Date::new(year, number, 1)
    {
        return Ok(month(first));
    }
    match when(what, now) {
        Ok(Value::Date(day)) => Ok((day, day)),
        _ => Err(format!(
            "\"{what}\" is no day; write today, tomorrow, week, month, monday, 2026-12-24 or \
             2026-12, or say --from and --to"
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui::calendar::time::Zone;
    use proptest::prelude::*;

    use super::*;

    /// A Saturday in Berlin.
    fn here() -> Here {
        Here {
            zone: Zone::named("Europe/Berlin").unwrap(),
            now: DateTime::new(2026, 11, 21, 14, 5, 30).unwrap(),
        }
    }

    #[track_caller]
    fn is(what: Option<&str>, from: Option<&str>, to: Option<&str>, expected: &str) {
        let span = Span::of(Words { what, from, to }, &here()).unwrap();
        let Range { start, end } = span.during;
        let found = format!("{start} {end} {} {}", span.first, span.last);
        assert_eq!(found, expected);
    }

    #[test]
    fn names() {
        is(
            None,
            None,
            None,
            "20261120T230000Z 20261127T230000Z 20261121 20261127",
        );
        is(
            Some("today"),
            None,
            None,
            "20261120T230000Z 20261121T230000Z 20261121 20261121",
        );
        is(
            Some("tomorrow"),
            None,
            None,
            "20261121T230000Z 20261122T230000Z 20261122 20261122",
        );
        is(
            Some("week"),
            None,
            None,
            "20261115T230000Z 20261122T230000Z 20261116 20261122",
        );
        is(
            Some("month"),
            None,
            None,
            "20261031T230000Z 20261130T230000Z 20261101 20261130",
        );
        is(
            Some("2026-02"),
            None,
            None,
            "20260131T230000Z 20260228T230000Z 20260201 20260228",
        );
        is(
            Some("monday"),
            None,
            None,
            "20261122T230000Z 20261123T230000Z 20261123 20261123",
        );
    }

    #[test]
    fn ends() {
        is(
            None,
            Some("2026-03-29"),
            Some("2026-03-29"),
            "20260328T230000Z 20260329T220000Z 20260329 20260329",
        );
        is(
            None,
            Some("monday"),
            None,
            "20261122T230000Z 20261129T230000Z 20261123 20261129",
        );
        is(
            None,
            None,
            Some("18:00"),
            "20261120T230000Z 20261121T170000Z 20261121 20261121",
        );
        is(
            None,
            Some("2026-12-24T10:00Z"),
            Some("2026-12-25 00:00"),
            "20261224T100000Z 20261224T230000Z 20261224 20261224",
        );
    }

    #[test]
    fn what_is_no_span() {
        for (what, from, to) in [
            (Some("18:00"), None, None),
            (Some("2026-13"), None, None),
            (Some("weeks"), None, None),
            (None, Some("x"), None),
            (None, None, Some("yesterday")),
            (None, Some("9:00"), Some("9:00")),
        ] {
            assert!(
                Span::of(Words { what, from, to }, &here()).is_err(),
                "{what:?} {from:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_day_has_its_hours(days in Date::MIN.days()..=Date::MAX.days()) {
            let date = Date::from_days(days.into());
            let text = super::super::show::iso_day(date);
            let span = Span::of(Words { what: Some(&text), ..Words::default() }, &here()).unwrap();
            prop_assert_eq!((span.first, span.last), (date, date));
        }

        #[test]
        fn any_words_are_read_or_refused(what in "\\PC{0,12}", from in "\\PC{0,12}") {
            let _ = Span::of(Words { what: Some(&what), ..Words::default() }, &here());
            let _ = Span::of(Words { from: Some(&from), ..Words::default() }, &here());
        }
    }
}
