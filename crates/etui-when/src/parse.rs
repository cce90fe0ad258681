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

use etui_ical::time::{Date, DateTime, DateTimeValue, Duration, Weekday};

use super::clock::{Clock, DayHalf, parse_clock, parse_digits, parse_packed, split_half};
use super::dates::{
    next_day_of_month, parse_day_number, parse_iso_date, parse_named_date, parse_numeric_date,
    plus_months, split_offset,
};
use super::duration::parse_duration;
use super::language::Language;
use super::names::{parse_day_of_week, parse_month, parse_number_word};
use super::reading::{AssumedHalf, ClockForm, DayPart, Reading};
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

/// Words before an hour.
const BEFORE_HOUR: &[&str] = &["at", "@", "from", "around", "ca", "ca.", "about"];
/// Further words without a meaning of their own.
const FILLERS: &[&str] = &[
    "on", "the", "of", "coming", "starting", "by", "and", "before", "for",
];
pub const RANGE_WORDS: &[&str] = &["-", "to", "until", "till", "through", "thru"];

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
            || hour(0)
                .zip(hour(2))
                .is_some_and(|(first, last)| last < first && words.left() > 3));
    let mut found = parser.read()?;
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
        return Ok(with_times(&found, TimeWords { start, end: None }));
    }
    let mut rest = words.clone();
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
    let last = rest.left().saturating_sub(1);
    let half = rest.peek(last).and_then(|word| split_half(word).1);
    let half = half.or_else(|| match rest.peek(last)? {
        "afternoon" | "evening" => Some(DayHalf::Pm),
        _ => None,
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

const FORMS: &str = "write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day \
                     and a time: \"tomorrow 9:00\"";

fn not_understood(word: &str) -> String {
    match word {
        "" => format!("a day or time is missing; {FORMS}"),
        word => format!("\"{word}\" is not a day or time; {FORMS}"),
    }
}

struct WhenParser {
    words: WordList,
    now: DateTime,
    /// The origin of steps with a sign.
    base: DateTime,
    found: Reading,
    /// Whether an hour can follow.
    is_after_at: bool,
    /// Whether a day of the month can follow.
    is_after_on: bool,
}

impl WhenParser {
    fn new(words: WordList, now: DateTime) -> Self {
        Self {
            words,
            now,
            base: now,
            found: Reading::default(),
            is_after_at: false,
            is_after_on: false,
        }
    }

    /// Returns a parser of words after "at".
    fn after_at(words: WordList, now: DateTime) -> Self {
        let is_after_at = true;
        Self {
            is_after_at,
            ..Self::new(words, now)
        }
    }

    /// Reads all words.
    fn read_all(mut self) -> Result<Reading, String> {
        let found = self.read()?;
        match self.words.is_at_end() {
            true => Ok(found),
            false => Err(self.unknown_word()),
        }
    }

    /// Reads all words, or those before the end of a range.
    fn read(&mut self) -> Result<Reading, String> {
        while let Some(word) = self.words.peek(0) {
            let has_more = self.words.left() > 1;
            if has_more && !self.found.is_empty() && self.is_at_end_of_range() {
                return Ok(self.found);
            }
            let is_deadline = matches!(word, "until" | "till" | "thru");
            let is_before_hour = BEFORE_HOUR.contains(&word) || self.is_hour_word();
            let is_day_word =
                word == "day" && self.words.peek(1).and_then(parse_day_number).is_some();
            // In the morning.
            let is_filler = FILLERS.contains(&word)
                || (word == "in" && self.words.peek(1) == Some("the"))
                || is_day_word
                || (is_deadline && self.found.is_empty());
            let is_on = matches!(word, "on" | "the") || is_day_word;
            let is_trailing = word == "the";
            let before = self.words.at;
            if let Some(count) = self.read_piece()? {
                self.words.at = before + count;
                self.is_after_at = self.found.has_day();
                self.is_after_on = false;
            } else if (has_more && (is_before_hour || is_filler)) || (!has_more && is_trailing) {
                self.words.at += 1;
                self.is_after_at |= is_before_hour;
                self.is_after_on = is_on;
            } else {
                return Err(self.unknown_word());
            }
        }
        match self.found.is_empty() {
            true => Err(not_understood("")),
            false => Ok(self.found),
        }
    }

    /// Returns true at "to" and the like, at "for" before a duration, and at the second "at" of a range such as
    /// "from 2 at 4", as several languages have it.
    fn is_at_end_of_range(&self) -> bool {
        let (Some(word), Some(next)) = (self.words.peek(0), self.words.peek(1)) else {
            return false;
        };
        match word {
            "for" => parse_number_word(next).is_some() || next == "half" || starts_with_digit(next),
            "at" if self.found.clock.is_some() => {
                starts_with_digit(next)
                    || parse_number_word(next).is_some()
                    || matches!(next, "noon" | "midnight")
            }
            "at" if self.found.date.is_some() => {
                let mut rest = self.words.rest();
                rest.at += 1;
                parse_named_date(&rest, self.now.date()).is_some()
            }
            "at" => self.found.weekday.is_some() && parse_day_of_week(next).is_some(),
            word => RANGE_WORDS.contains(&word),
        }
    }

    /// Returns true for the word "hour" before the hour: "ore 10", "saat 10".
    fn is_hour_word(&self) -> bool {
        matches!(self.words.peek(0), Some("hour" | "hours"))
            && self
                .words
                .peek(1)
                .is_some_and(|next| starts_with_digit(next) || BEFORE_HOUR.contains(&next))
    }

    /// Returns the error for the word at the position: of "next fooday" the second is not understood.
    fn unknown_word(&self) -> String {
        let mut words = self.words.clone();
        if words.left() > 1 && words.skip_any(&["next", "this", "last", "in"]) {
            let is_number = words.peek(0).and_then(parse_number_word).is_some();
            words.at += usize::from(is_number && words.left() > 1);
        }
        not_understood(words.written())
    }

    /// Reads a day, a time or a part of one. Returns the number of its words; `None` if the word is not
    /// understood, or if there already is such a piece.
    fn read_piece(&mut self) -> Result<Option<usize>, String> {
        if self.words.peek(0) == Some("allday") && !self.found.is_all_day {
            self.found.is_all_day = true;
            return Ok(Some(1));
        }
        let count = match self.read_step().or_else(|| self.read_distance()) {
            Some(count) => Some(count),
            None => match self.read_date()? {
                Some(count) => Some(count),
                None => self
                    .read_relative_day()
                    .or_else(|| self.read_clock())
                    .or_else(|| self.read_weekday()),
            },
        };
        Ok(count)
    }

    fn set_date(&mut self, date: Date, count: usize) -> Option<usize> {
        let is_free =
            self.found.date.is_none() && self.found.weeks.is_none() && self.found.moment.is_none();
        is_free.then(|| {
            self.found.date = Some(date);
            count
        })
    }

    fn set_moment(&mut self, moment: DateTime, count: usize) -> Option<usize> {
        self.found.is_empty().then(|| {
            self.found.moment = Some(moment);
            count
        })
    }

    fn set_clock(&mut self, clock: Clock, form: ClockForm, count: usize) -> Option<usize> {
        let is_free = self.found.clock.is_none() && self.found.moment.is_none();
        is_free.then(|| {
            self.found.clock = Some(clock);
            self.found.form = form;
            count
        })
    }

    /// Reads `now`, or a step with a sign: `+3d`, `-2 hours`.
    fn read_step(&mut self) -> Option<usize> {
        let word = self.words.peek(0)?;
        if word == "now" {
            return self.set_moment(self.now, 1);
        }
        let (sign, rest) = match word.split_at_checked(1)? {
            ("+", rest) => (1, rest),
            ("-", rest) => (-1, rest),
            _ => return None,
        };
        let glued = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &rest[..rest.len() - glued.len()];
        let n: i64 = digits.parse().ok()?;
        let (unit, count) = match glued {
            "" => (self.words.peek(1)?, 2),
            glued => (glued, 1),
        };
        self.add_units(
            sign * n.min(10_000_000),
            TimeUnit::named(unit)?,
            self.base,
            count,
        )
    }

    fn add_units(&mut self, n: i64, unit: TimeUnit, base: DateTime, count: usize) -> Option<usize> {
        let today = base.date();
        let (date, seconds) = match unit {
            TimeUnit::Minutes(minutes) => (today, n.saturating_mul(60 * minutes)),
            TimeUnit::Days(days) => (today.plus_days(n.saturating_mul(days)), 0),
            TimeUnit::Months(months) => (plus_months(today, n.saturating_mul(months)), 0),
        };
        match unit {
            TimeUnit::Minutes(_) => self.set_moment(base.plus_seconds(seconds), count),
            _ => self.set_date(date, count),
        }
    }

    /// Reads `in 2 hours`, `3 days from now`, `a week from monday`, `2 days ago`.
    fn read_distance(&mut self) -> Option<usize> {
        let skipped = usize::from(self.words.peek(0)? == "in");
        let most = self.words.left().min(6);
        // The longest first: in 1 hour 30 minutes.
        for count in (skipped + 1..=most).rev() {
            let words = self.words.next_words(count);
            let text = number_words(words.get(skipped..)?);
            let (sign, base, after) =
                match (skipped, self.words.peek(count), self.words.peek(count + 1)) {
                    (1, ..) => (1, self.now, 0),
                    (_, Some("ago"), _) => (-1, self.now, 1),
                    (_, Some("later" | "today"), _) => (1, self.now, 1),
                    (_, Some("from"), Some("now" | "today")) => (1, self.now, 2),
                    (_, Some("from"), Some("tomorrow")) => (1, self.now.plus_seconds(86_400), 2),
                    (_, Some("from" | "on"), Some(word)) => {
                        let reading = Reading {
                            weekday: parse_day_of_week(word),
                            ..Reading::default()
                        };
                        let Ok(Some(day)) = reading.day(self.now.date()) else {
                            continue;
                        };
                        (1, day.midnight(), 2)
                    }
                    _ => continue,
                };
            if let Some((n, unit)) = text.split_once(' ')
                && let (Some(n), Some(unit @ TimeUnit::Months(_))) =
                    (parse_number_word(n), TimeUnit::named(unit))
            {
                return self.add_units(sign * i64::from(n), unit, base, count + after);
            }
            if let Ok(length) = parse_duration(&with_minutes(&text)) {
                if length.seconds() == 0 {
                    let days = sign * length.days();
                    // Tuesday in 2 weeks
                    if self.found.weekday.is_some()
                        && skipped == 1
                        && days % 7 == 0
                        && self.found.weeks.is_none()
                    {
                        self.found.further_days = days;
                        return Some(count);
                    }
                    return self.add_units(days, TimeUnit::Days(1), base, count + after);
                }
                // Nobody means the seconds of the current minute.
                let seconds = base.seconds() - base.seconds().rem_euclid(60);
                let moment = DateTime::from_seconds(seconds);
                let moment = moment.plus_seconds(length.nominal_seconds().saturating_mul(sign));
                return self.set_moment(moment, count + after);
            }
        }
        None
    }

    fn read_relative_day(&mut self) -> Option<usize> {
        let today = self.now.date();
        let word = self.words.peek(0)?;
        let day = match word {
            "today" => Some(0),
            "tomorrow" => Some(1),
            "yesterday" => Some(-1),
            _ => None,
        };
        if let Some(days) = day {
            return self.set_date(today.plus_days(days), 1);
        }
        match (word, self.words.peek(1), self.words.peek(2)) {
            ("day", Some("after"), Some("tomorrow")) => {
                return self.set_date(today.plus_days(2), 3);
            }
            ("day", Some("before"), Some("yesterday")) => {
                return self.set_date(today.plus_days(-2), 3);
            }
            _ => {}
        }
        if let Some((date, count)) = self.edge_of_period(today) {
            return self.set_date(date, count);
        }
        let direction = match word {
            "next" => 1,
            "this" => 0,
            "last" | "previous" => -1,
            _ => {
                let part = DayPart::named(word)?;
                return self.set_part(part, word == "tonight", 1);
            }
        };
        let word = self.words.peek(1)?;
        match word {
            "week" if self.found.weeks.is_none() && self.found.date.is_none() => {
                self.found.weeks = Some(direction);
                return Some(2);
            }
            "month" => return self.set_date(plus_months(today, direction), 2),
            "year" => return self.set_date(plus_months(today, 12 * direction), 2),
            _ => {}
        }
        if let (Some(part), 0) = (DayPart::named(word), direction) {
            return self.set_part(part, true, 2);
        }
        let weekday = parse_weekday_or_weekend(word)?;
        if self.found.weekday.is_some() {
            return None;
        }
        if direction < 0 {
            let back = i64::from(today.weekday().index()) - i64::from(weekday.index());
            let back = match back.rem_euclid(7) {
                0 => 7,
                back => back,
            };
            return self.set_date(today.plus_days(-back), 2);
        }
        self.found.weekday = Some(weekday);
        if direction > 0 {
            self.found.weeks = Some(1);
        }
        Some(2)
    }

    /// Returns the date of `end of the month`, `beginning of next year`, and the number of its words.
    fn edge_of_period(&self, today: Date) -> Option<(Date, usize)> {
        let is_end = match self.words.peek(0)? {
            "end" => true,
            "beginning" | "start" => false,
            _ => return None,
        };
        let mut words = self.words.rest();
        words.at += 1;
        words.skip_any(&["of"]);
        let offset = i64::from(words.skip_any(&["next"]));
        words.skip_any(&["the", "this"]);
        if let Some(month) = words.peek(0).and_then(parse_month) {
            return edge_of_month(today, month, words.peek(1), is_end)
                .map(|(date, count)| (date, words.at + count));
        }
        let (months, first) = match words.peek(0)? {
            "month" => (1, today.plus_days(1 - i64::from(today.ymd().2))),
            "year" => (12, Date::new(today.ymd().0, 1, 1)?),
            _ => return None,
        };
        let first = plus_months(first, months * offset);
        let date = match is_end {
            true => plus_months(first, months).plus_days(-1),
            false => first,
        };
        Some((date, words.at + 1))
    }

    fn set_part(&mut self, part: DayPart, is_today: bool, count: usize) -> Option<usize> {
        if self.found.part.is_some() || self.found.moment.is_some() {
            return None;
        }
        self.found.part = Some(part);
        if is_today {
            self.set_date(self.now.date(), count)?;
        }
        Some(count)
    }

    fn read_weekday(&mut self) -> Option<usize> {
        let weekday = parse_weekday_or_weekend(self.words.peek(0)?)?;
        // A weekday after a date is as likely a mistake.
        if self.found.weekday.is_some() || self.found.date.is_some() || self.found.moment.is_some()
        {
            return None;
        }
        self.found.weekday = Some(weekday);
        // Tuesday week
        if self.words.peek(1) == Some("week") && self.found.weeks.is_none() {
            self.found.further_days = 7;
            return Some(2);
        }
        // Mardi prochain, but not "friday next week".
        let is_next = self.words.peek(1) == Some("next")
            && !matches!(self.words.peek(2), Some("week" | "month" | "year"));
        if is_next && self.found.weeks.is_none() {
            self.found.weeks = Some(1);
            return Some(2);
        }
        Some(1)
    }

    /// Reads a date of one word, or with the name of a month, or a day of the month.
    fn read_date(&mut self) -> Result<Option<usize>, String> {
        let Some(word) = self.words.peek(0).map(str::to_owned) else {
            return Ok(None);
        };
        if let Some((date, time)) = word.split_once('t')
            && let Some(date) = parse_iso_date(date)
        {
            return Ok(self.read_iso_time(date, time));
        }
        let today = self.now.date();
        let date = match parse_iso_date(&word) {
            Some(date) => Some((date, 1)),
            None => match parse_numeric_date(&word, today)? {
                Some(date) => Some((date, 1)),
                None => parse_named_date(&self.words, today).or_else(|| self.day_after_on(&word)),
            },
        };
        Ok(date.and_then(|(date, count)| self.set_date(date, count)))
    }

    /// Reads the time of an ISO 8601 word: `18:30:00.5+01:00`, `183000Z`.
    fn read_iso_time(&mut self, date: Date, text: &str) -> Option<usize> {
        let (time, offset) = split_offset(text)?;
        let time = match time.split_once('.') {
            Some((time, fraction)) if fraction.bytes().all(|b| b.is_ascii_digit()) => time,
            _ => time,
        };
        let hour = || Some((parse_digits(time, 1..=2).filter(|hour| *hour < 24)?, 0, 0));
        let clock = parse_clock(time)
            .or_else(|| parse_packed(time))
            .or_else(hour)?;
        self.set_date(date, 1)?;
        self.found.zone = offset.map(ZoneWord::Offset);
        self.set_clock(clock, ClockForm::Exact, 1)
    }

    /// Returns the date of a number after "on" or "the", which is no hour.
    fn day_after_on(&self, word: &str) -> Option<(Date, usize)> {
        let is_hour = |next: &str| {
            matches!(
                next,
                "o'clock"
                    | "oclock"
                    | "uhr"
                    | "h"
                    | "hours"
                    | "andhalf"
                    | "andquarter"
                    | "lessquarter"
                    | "-"
            ) || split_half(next).0.is_empty()
        };
        let day = parse_day_number(word).filter(|_| self.is_after_on)?;
        let is_day = self.words.peek(1).is_none_or(|next| !is_hour(next));
        is_day.then(|| Some((next_day_of_month(self.now.date(), day)?, 1)))?
    }

    fn read_clock(&mut self) -> Option<usize> {
        if let Some((clock, count)) = self.spoken_clock() {
            return self.set_clock(clock, ClockForm::Bare, count);
        }
        let word = self.words.peek(0)?;
        let next = self.words.peek(1).unwrap_or_default();
        if split_half(next).0.is_empty() && !next.is_empty() {
            // 9 am, but not the German "am Montag".
            if let Some(clock) = parse_clock(&format!("{word}{next}")) {
                return self.set_clock(clock, ClockForm::Exact, 2);
            }
        }
        let hour = parse_digits(word, 1..=2).filter(|hour| *hour < 24);
        let is_hours = matches!(next, "hour" | "hours") && self.is_after_at;
        if is_hours || matches!(next, "uhr" | "h" | "o'clock" | "oclock") {
            let minute = self
                .words
                .peek(2)
                .and_then(|word| parse_digits(word, 2..=2));
            let minute = minute.filter(|minute| *minute < 60 && next != "h");
            let dotted = || parse_clock(&word.replace('.', ":"));
            let clock = hour.map(|hour| (hour, minute.unwrap_or(0), 0));
            let count = if clock.is_some() && minute.is_some() {
                3
            } else {
                2
            };
            if let Some(clock) = clock.or_else(dotted) {
                // "om 3 uur" is in the afternoon, 6 Uhr and 3h are as likely in the morning.
                if let ("o'clock" | "oclock" | "uhr" | "hour" | "hours", 1..=5, 2) =
                    (next, clock.0, count)
                    && figures_form(word) == ClockForm::Figures
                {
                    return self.set_clock(clock, ClockForm::Bare, count);
                }
                return self.set_clock(clock, figures_form(word), count);
            }
        }
        // Russian "at 3 of the day".
        if let (Some(hour @ 1..=5), "day", true) = (hour, next, self.is_after_at) {
            return self.set_clock((hour + 12, 0, 0), ClockForm::Exact, 2);
        }
        // 17.30 is no day, and after "at" 10.12 is none.
        let dotted = word.replace('.', ":");
        let is_dotted = word.matches('.').count() == 1
            && parse_digits::<u32>(&word.replace('.', ""), 3..=4).is_some();
        if let Some(clock) = parse_clock(&dotted).filter(|_| is_dotted)
            && (clock.1 > 12 || clock.1 == 0 || self.is_after_at)
        {
            return self.set_clock(clock, figures_form(word), 1);
        }
        if let Some(clock) = parse_clock(word) {
            let is_exact = split_half(word).1.is_some() || word == "noon" || word == "midnight";
            let form = if is_exact {
                ClockForm::Exact
            } else {
                figures_form(word)
            };
            return self.set_clock(clock, form, 1);
        }
        if self.found.has_day() {
            // 18:30Z after a day.
            if let Some((time, offset @ Some(_))) = split_offset(word)
                && let Some(clock) = parse_clock(time).or_else(|| parse_packed(time))
            {
                self.set_clock(clock, ClockForm::Exact, 1)?;
                self.found.zone = offset.map(ZoneWord::Offset);
                return Some(1);
            }
            if let Some(clock) = parse_packed(word) {
                return self.set_clock(clock, ClockForm::Exact, 1);
            }
        }
        let hour =
            hour.or_else(|| parse_number_word(word).filter(|hour| *hour <= 12 && word.len() > 2))?;
        if self.is_after_at || DayPart::named(next).is_some() {
            let form = match word.starts_with('0') {
                true => ClockForm::Exact,
                false => ClockForm::Bare,
            };
            return self.set_clock((hour, 0, 0), form, 1);
        }
        None
    }

    /// Returns the time of `half past six`, `halfto seven`, `eight andhalf`, and the number of words.
    fn spoken_clock(&self) -> Option<(Clock, usize)> {
        let hour = |at| {
            let word = self.words.peek(at)?;
            parse_number_word(word).filter(|hour| *hour < 24 && !matches!(word, "a" | "an"))
        };
        let before = |hour: u32| if hour == 1 { 12 } else { hour - 1 };
        let is_minute = |word| matches!(word, "half" | "quarter");
        let (word, next) = (self.words.peek(0)?, self.words.peek(1).unwrap_or_default());
        match (word, next) {
            ("half", "past") => Some(((hour(2)?, 30, 0), 3)),
            ("quarter", "past") => Some(((hour(2)?, 15, 0), 3)),
            ("quarter", "to") => Some(((before(hour(2)?), 45, 0), 3)),
            ("halfto", _) => Some(((before(hour(1)?), 30, 0), 2)),
            (_, "past" | "to") if !is_minute(word) => {
                let minute = parse_number_word(word)
                    .filter(|minute| minute % 5 == 0 && (5..60).contains(minute));
                let is_word = self
                    .words
                    .peek(2)
                    .is_some_and(|word| !starts_with_digit(word));
                let hour = hour(2).filter(|_| is_word)?;
                match (minute?, next) {
                    (minute, "past") => Some(((hour, minute, 0), 3)),
                    (minute, _) => Some(((before(hour), 60 - minute, 0), 3)),
                }
            }
            (_, "andhalf") => Some(((hour(0)?, 30, 0), 2)),
            (_, "andquarter") => Some(((hour(0)?, 15, 0), 2)),
            (_, "lessquarter") => Some(((before(hour(0)?), 45, 0), 2)),
            (_, "o'clock") if self.words.peek(2) == Some("andhalf") => Some(((hour(0)?, 30, 0), 3)),
            _ => None,
        }
    }
}

/// Returns the form of a time in figures: with a zero before it or after noon its half of the day is clear.
fn figures_form(word: &str) -> ClockForm {
    match word.starts_with('0') {
        true => ClockForm::Exact,
        false => ClockForm::Figures,
    }
}

fn starts_with_digit(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the first or last day of a month, the next one or that of the year that follows, and the
/// number of words.
fn edge_of_month(
    today: Date,
    month: u8,
    year: Option<&str>,
    is_end: bool,
) -> Option<(Date, usize)> {
    let of_year = |year| {
        let first = Date::new(year, month.into(), 1)?;
        Some(match is_end {
            true => plus_months(first, 1).plus_days(-1),
            false => first,
        })
    };
    if let Some(year) = year.and_then(|year| parse_digits(year, 4..=4)) {
        return Some((of_year(year)?, 2));
    }
    let (year, ..) = today.ymd();
    let date = of_year(year).filter(|date| *date >= today);
    Some((date.or_else(|| of_year(year + 1))?, 1))
}

/// A unit of a distance in time, in minutes, days or months.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeUnit {
    Minutes(i64),
    Days(i64),
    Months(i64),
}

impl TimeUnit {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "d" | "day" | "days" => Self::Days(1),
            "w" | "week" | "weeks" => Self::Days(7),
            "fortnight" | "fortnights" => Self::Days(14),
            "mo" | "month" | "months" => Self::Months(1),
            "y" | "year" | "years" => Self::Months(12),
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minutes(1),
            "h" | "hour" | "hours" => Self::Minutes(60),
            _ => return None,
        })
    }
}

fn parse_weekday_or_weekend(word: &str) -> Option<Weekday> {
    match word {
        "weekend" => Some(Weekday::Saturday),
        word => super::names::parse_weekday(word),
    }
}

/// Replaces halves of an hour: `1 hour 1 half` and `1.5 hours` become `90 minutes`.
fn with_minutes(text: &str) -> String {
    let half = text
        .strip_suffix(" 1 half")
        .or(text.strip_suffix(" andhalf"));
    let hours = match half {
        Some(text) => text.strip_suffix(" hour").or(text.strip_suffix(" hours")),
        None => text
            .strip_suffix(" hours")
            .and_then(|text| text.strip_suffix(".5")),
    };
    match hours.and_then(|hours| parse_digits::<u32>(hours, 1..=3)) {
        Some(hours) => format!("{} minutes", 60 * hours + 30),
        None => text.to_owned(),
    }
}

/// Joins words, with numbers in figures: `two hours` becomes `2 hours`.
fn number_words(words: &[&str]) -> String {
    let words: &[&str] = match words {
        ["one", "halfto", "hour" | "o'clock"] => &["30", "minutes"],
        ["half", "an" | "one", "hour"] | ["half", "hour"] | ["one", "half", "hour"] => {
            &["30", "minutes"]
        }
        ["a", "fortnight"] => &["2", "weeks"],
        ["week"] => &["1", "week"],
        words => words,
    };
    let figures = words.iter().map(|word| match parse_number_word(word) {
        Some(n) => n.to_string(),
        None if *word == "o'clock" && words.len() == 2 => "hours".to_owned(),
        None => (*word).to_owned(),
    });
    let all: Vec<String> = figures.filter(|word| word != "and").collect();
    all.join(" ")
}
