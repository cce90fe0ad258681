//! Days and times in words.
//!
//! ```text
//! when   := piece ( piece )*                        in any order, each kind once
//! piece  := day | clock | part of the day | step | "in" n unit | n unit "from now" | "now"
//! day    := "today" | "tomorrow" | "yesterday" | weekday | "next" weekday | "next week" | date
//! date   := YYYY-MM-DD | YYYYMMDD | D.M.[YYYY] | M/D/YYYY | D month [YYYY] | month D [YYYY] | Dth
//! clock  := H[H]:MM[:SS] [ "am" | "pm" ] | H[H] ("am" | "pm" | "h") | "noon" | "midnight"
//! step   := ("+" | "-") n ( "d" | "w" | "mo" | "y" )      a day relative to today
//!         | ("+" | "-") n ( "m" | "h" )                   a time relative to now
//! range  := when ( "-" | "to" ) when | when "for" duration
//! ```
//!
//! - A weekday is the next one, including today; with `next` it is that of the next week.
//! - A date without a year is the next one, including today.
//! - A time alone is today.
//! - RFC 3339 and iCalendar forms are one word: `2026-12-24T18:30:00+01:00`, `20261224T173000Z`.
//! - An hour alone from 1 to 6 is in the afternoon: `at 3`.
//! - Words are in one of the languages of `language`, with English ones beside them; case and accents are ignored.

use etui_ical::time::{Date, DateTime, DateTimeValue, Duration};

use super::clock::{Clock, DayHalf, parse_digits, split_half};
use super::dates::{parse_day_number, parse_named_date, parse_numeric_date};
use super::duration::{number_words, parse_duration, with_minutes};
use super::language::Language;
use super::reading::{AssumedHalf, ClockForm, DayPart, Reading};
use super::when_parser::{FORMS, RANGE_WORDS, WhenParser, not_understood};
use super::words::WordList;
use super::zone_words::ZoneWord;

/// A start in words, with its end if that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeWords {
    /// A day or a time.
    pub start: DateTimeValue,
    /// The end, if it was given.
    pub end: Option<EndWords>,
}

/// The end of a range in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndWords {
    /// A time, or the last day.
    At(DateTimeValue),
    /// This long after the start.
    After(Duration),
}

/// Times in words, and what was assumed.
#[derive(Debug, Clone)]
pub struct ParsedTimes {
    pub times: TimeWords,
    /// Whether a day was named.
    pub has_day: bool,
    /// Whether the day was named by a weekday alone.
    pub is_weekday: bool,
    pub assumed: AssumedHalf,
    pub zone: Option<ZoneWord>,
    /// The start as it was written, in its zone.
    pub clock: Option<Clock>,
}

impl ParsedTimes {
    /// Returns a day, which the words did not name.
    pub fn of_day(day: Date) -> Self {
        let start = DateTimeValue::Date(day);
        Self {
            times: TimeWords { start, end: None },
            has_day: false,
            is_weekday: false,
            assumed: AssumedHalf::None,
            zone: None,
            clock: None,
        }
    }
}

/// The words of a time; it bounds the cost of others.
pub const MAX_WORDS: usize = 100;

/// What words are relative to.
#[derive(Debug, Clone, Copy)]
pub struct TimeContext {
    /// The day of a time alone.
    pub day: Date,
    pub now: DateTime,
    /// The part of the day in which an hour alone is, as the title says.
    pub hint: Option<DayPart>,
}

impl TimeContext {
    pub fn new(day: Date, now: DateTime) -> Self {
        let hint = None;
        Self { day, now, hint }
    }

    fn value_of(self, found: &Reading) -> Result<DateTimeValue, String> {
        let value = found.value(self.day, self.now, self.hint)?;
        value.ok_or_else(|| not_understood(""))
    }
}

/// Parses a day or a time. `now` is the local time.
pub fn parse_when(text: &str, now: DateTime) -> Result<DateTimeValue, String> {
    parse_when_on(text, now.date(), now)
}

/// Parses a day or a time; a time alone is on `day`.
pub fn parse_when_on(text: &str, day: Date, now: DateTime) -> Result<DateTimeValue, String> {
    let words = parse_times_on(text, day, now)?;
    match words.end {
        None => Ok(words.start),
        Some(_) => Err(format!("one day or time is needed, not a range; {FORMS}")),
    }
}

/// Parses a day or a time, or a range of them; a time alone is on `day`.
pub fn parse_times_on(text: &str, day: Date, now: DateTime) -> Result<TimeWords, String> {
    let context = TimeContext::new(day, now);
    let (english, others) = in_languages(text, |words| {
        parse_words(words, context).map(|parsed| parsed.times)
    });
    match (english, others) {
        (Ok(times), _) | (Err(_), Some(times)) => Ok(times),
        (Err(e), None) => Err(e),
    }
}

/// Parses a text in English, and as soon as that fails in each language of which it has words.
pub fn in_languages<T, E>(
    text: &str,
    parse: impl Fn(&WordList) -> Result<T, E>,
) -> (Result<T, E>, Option<T>) {
    let english = parse(&WordList::split(text));
    if english.is_ok() {
        return (english, None);
    }
    let lists = Language::all()
        .skip(1)
        .map(|language| WordList::split_in(text, language));
    // "mo" alone is as likely a mistake.
    let mut lists = lists
        .filter(|words| words.is_translated() && (words.has_telling_form() || words.left() > 1));
    let found = lists.find_map(|words| parse(&words).ok());
    (english, found)
}

/// Parses words as [`parse_times_on`]. A zone after a clock time is that of the start and of the end.
pub fn parse_words(words: &WordList, context: TimeContext) -> Result<ParsedTimes, String> {
    if words.left() > MAX_WORDS {
        return Err(not_understood(words.written()));
    }
    let Some((zone, rest)) = take_zone(words) else {
        return parse_local(words, context);
    };
    let mut parsed = parse_local(&rest, context)?;
    let to_utc = |value| match value {
        DateTimeValue::Local(local) => Some(DateTimeValue::Utc(zone.to_utc(local))),
        _ => None,
    };
    let start = to_utc(parsed.times.start);
    let end = match parsed.times.end {
        Some(EndWords::At(end)) => to_utc(end).map(|end| Some(EndWords::At(end))),
        end => Some(end),
    };
    let (Some(start), Some(end)) = (start, end) else {
        return Err("a time zone needs a time of day before it".to_owned());
    };
    parsed.times = TimeWords { start, end };
    parsed.zone = Some(zone);
    Ok(parsed)
}

/// Takes a zone that follows a clock time from the words.
fn take_zone(words: &WordList) -> Option<(ZoneWord, WordList)> {
    let mut at_zone = words.rest();
    while at_zone.left() > 1 {
        let is_clock = at_zone.peek(0).is_some_and(|word| {
            word.contains(|c: char| c.is_ascii_digit())
                || matches!(word, "am" | "pm" | "a.m." | "p.m." | "noon" | "o'clock")
        });
        at_zone.at += 1;
        if let Some((zone, count)) = ZoneWord::read(&at_zone).filter(|_| is_clock) {
            return Some((zone, words.without(at_zone.at, count).0));
        }
    }
    None
}

fn parse_local(words: &WordList, context: TimeContext) -> Result<ParsedTimes, String> {
    let now = context.now;
    if let Some(dates) = parse_date_range(words, now.date()) {
        return Ok(ParsedTimes {
            times: dates,
            has_day: true,
            ..ParsedTimes::of_day(context.day)
        });
    }
    let mut parser = WhenParser::new(words.rest(), now);
    // 4-5pm, 9-5 monday; but of "chapters 3-4 monday" the figures may be a part of the title.
    let hour = |at| {
        words
            .peek(at)
            .and_then(|word| parse_digits::<u32>(word, 1..=2))
    };
    parser.is_after_at = words
        .peek(1)
        .is_some_and(|word| RANGE_WORDS.contains(&word))
        && (words
            .peek(2)
            .is_some_and(|word| split_half(word).1.is_some())
            || hour(0).zip(hour(2)).is_some_and(|(first, last)| {
                (last < first && words.left() > 3) || words.peek(3) == Some("on")
            }));
    let mut found = parser.read()?;
    let duration = parser.duration;
    let words = parser.words;
    let with_times = |found: &Reading, times: TimeWords| ParsedTimes {
        times,
        has_day: found.has_day() || found.moment.is_some(),
        is_weekday: found.weekday.is_some() && found.weeks.is_none() && found.date.is_none(),
        assumed: found
            .full_clock(context.hint)
            .map_or(AssumedHalf::None, |(_, assumed)| assumed),
        zone: found.zone,
        clock: found.full_clock(context.hint).map(|(clock, _)| clock),
    };
    if words.is_at_end() {
        let start = context.value_of(&found)?;
        let end = duration.map(EndWords::After);
        return Ok(with_times(&found, TimeWords { start, end }));
    }
    let mut rest = words.clone();
    let is_dash = rest.peek(0) == Some("-");
    let is_duration = rest.skip_any(&["for"]);
    rest.at += usize::from(!is_duration);
    let rest = rest.rest();
    // 14:00-15:00 friday: the day is that of both.
    if !found.has_day()
        && found.clock.is_some()
        && let Ok(end) = WhenParser::after_at(rest.rest(), now).read_all()
        && end.clock.is_some()
    {
        (found.date, found.weekday, found.weeks) = (end.date, end.weekday, end.weeks);
        found.further_days = end.further_days;
    }
    if is_duration {
        let text = number_words(&rest.next_words(rest.left()));
        let length =
            parse_duration(&with_minutes(&text)).map_err(|_| not_understood(rest.written()))?;
        let start = context.value_of(&found)?;
        let end = Some(EndWords::After(length));
        return Ok(with_times(&found, TimeWords { start, end }));
    }
    // 2-3pm, 11-1pm: the half of the day is given once.
    let half = (0..rest.left()).find_map(|at| {
        let word = rest.peek(at)?;
        match word {
            "afternoon" | "evening" => Some(DayHalf::Pm),
            word => split_half(word).1.filter(|_| {
                word.starts_with(|c: char| c.is_ascii_digit()) || split_half(word).0.is_empty()
            }),
        }
    });
    if let (Some((hour, minute, second)), Some(half)) = (found.clock, half)
        && found.form != ClockForm::Exact
        && found.part.is_none()
    {
        found.form = ClockForm::Exact;
        found.clock = half.hour(hour).map(|hour| (hour, minute, second));
        let start = context.value_of(&found)?;
        let end = end_of_words(&rest, start, true, now)?;
        if end.local().seconds() - start.local().seconds() < 12 * 3_600 {
            return Ok(with_times(&found, with_end(start, end)));
        }
        let other = half.other().hour(hour);
        found.clock = other.map(|hour| (hour, minute, second));
    }
    let start = context.value_of(&found)?;
    let end = end_of_words(&rest, start, true, now)?;
    if let (DateTimeValue::Date(_), DateTimeValue::Local(time)) = (start, end) {
        // "Tomorrow - 10:00" is no range.
        let start = end;
        return match is_dash && time.date() == context.value_of(&found)?.local().date() {
            true => Ok(with_times(&found, TimeWords { start, end: None })),
            false => Err(not_understood(rest.written())),
        };
    }
    Ok(with_times(&found, with_end(start, end)))
}

/// Parses `24-26 december 2026`, `24.-26.12.`.
fn parse_date_range(words: &WordList, today: Date) -> Option<TimeWords> {
    let mut rest = words.clone();
    rest.skip_all(&["on", "the", "from", "of"]);
    let first = parse_day_number(rest.peek(0)?)?;
    rest.peek(1)
        .filter(|word| RANGE_WORDS.contains(word) || *word == "at")?;
    rest.at += 2;
    rest.skip_any(&["the"]);
    let numeric = rest
        .peek(0)
        .and_then(|word| parse_numeric_date(word, today).ok()?);
    let numeric = numeric.map(|date| (date, 1)).filter(|_| rest.left() == 1);
    let (last, count) = numeric.or_else(|| parse_named_date(&rest, today))?;
    let (year, month, day) = last.ymd();
    let first = Date::new(year, month, first).filter(|_| first <= day)?;
    let is_all = count == rest.left() && (count >= 2 || numeric.is_some());
    is_all.then(|| with_end(DateTimeValue::Date(first), DateTimeValue::Date(last)))
}

fn with_end(start: DateTimeValue, end: DateTimeValue) -> TimeWords {
    TimeWords {
        start,
        end: Some(EndWords::At(end)),
    }
}

/// Parses the end of something that starts at `start`. A time alone is on the day of the start or, if
/// that is earlier, on the next day; a step is relative to the start. Else as [`parse_when`].
pub fn parse_end_of(text: &str, start: DateTime, now: DateTime) -> Result<DateTimeValue, String> {
    let (english, others) = in_languages(text, |words| {
        end_of_words(words, DateTimeValue::Local(start), false, now)
    });
    others.map_or(english, Ok)
}

/// Parses the words of an end; in a range, a weekday is the next one after the start.
fn end_of_words(
    words: &WordList,
    start: DateTimeValue,
    is_range: bool,
    now: DateTime,
) -> Result<DateTimeValue, String> {
    let local = start.local();
    let day = local.date();
    // The last day of "24-26 Dec" or "Dec 24-26".
    if let (DateTimeValue::Date(_), 1) = (start, words.left())
        && let Some(last) = words.peek(0).and_then(parse_day_number)
    {
        let (year, month, _) = day.ymd();
        let date = Date::new(year, month, last).filter(|date| *date >= day);
        return date
            .map(DateTimeValue::Date)
            .ok_or_else(|| not_understood(words.written()));
    }
    let mut parser = WhenParser::new(words.rest(), now);
    parser.is_after_at = matches!(start, DateTimeValue::Local(_) | DateTimeValue::Utc(_));
    parser.base = local;
    let mut found = parser.read()?;
    if !parser.words.is_at_end() {
        return Err(not_understood(parser.words.written()));
    }
    let value = |found: &Reading, context: TimeContext| context.value_of(found);
    let end_day = found.day(if found.date.is_some() {
        now.date()
    } else {
        day
    });
    if is_range && found.clock.is_some() && end_day == Ok(Some(day)) {
        (found.date, found.weekday, found.weeks) = (None, None, None);
    }
    if !found.is_clock_alone() {
        let is_day_alone = found.date.is_none() && found.weeks.is_none() && found.weekday.is_some();
        let now = match is_range && is_day_alone {
            true => day.midnight(),
            false => now,
        };
        return value(&found, TimeContext::new(day, now));
    }
    // The next hour that can be meant: 9-5, 21:00 to 2.
    if let (Some((hour @ 1..=12, minute, second)), ClockForm::Bare, None) =
        (found.clock, found.form, found.part)
    {
        let hours = [hour % 12, hour % 12 + 12, hour % 12 + 24];
        let times = hours.map(|hour| {
            let midnight = day.plus_days(i64::from(hour / 24)).midnight();
            midnight.plus_seconds(i64::from((hour % 24) * 3_600 + minute * 60 + second))
        });
        if let Some(end) = times.into_iter().find(|time| *time > local) {
            return Ok(match start {
                DateTimeValue::Utc(_) => DateTimeValue::Utc(end),
                _ => DateTimeValue::Local(end),
            });
        }
    }
    if found.form != ClockForm::Exact && found.part.is_none() {
        found.form = ClockForm::Exact;
    }
    let end = value(&found, TimeContext::new(day, now))?;
    match (start, end.local() > local) {
        (DateTimeValue::Utc(_), true) => Ok(DateTimeValue::Utc(end.local())),
        (_, true) => Ok(end),
        (_, false) => value(&found, TimeContext::new(day.plus_days(1), now)),
    }
}
