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
//! - Names of days and months are English, German, French, Spanish or Portuguese; case and accents are
//!   ignored.

use etui_ical::time::{Date, DateTime, DateTimeValue, Duration, Weekday};

use super::clock::{Clock, parse_clock, parse_digits, parse_packed, split_half};
use super::dates::{
    parse_day_number, parse_iso_date, parse_named_date, parse_numeric_date, plus_months,
    split_offset,
};
use super::duration::parse_duration;
use super::format::format_day;
use super::names::{parse_day_of_week, parse_month, parse_number_word, weekday_name};
use super::words::WordList;

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

/// Words before an hour.
const BEFORE_HOUR: &[&str] = &[
    "at", "@", "um", "gegen", "a", "as", "las", "los", "from", "von", "vom", "du", "desde",
    "around", "ca", "ca.", "ab",
];
/// Further words without a meaning of their own.
const FILLERS: &[&str] = &[
    "on", "the", "of", "am", "den", "der", "le", "el", "la", "o", "de", "del", "do", "da", "uhr",
    "coming", "les", "im", "starting", "by",
];
const RANGE_WORDS: &[&str] = &[
    "-", "to", "until", "till", "through", "thru", "bis", "au", "al", "hasta", "jusqu'au",
];

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
    parse_words(&WordList::split(text), day, now)
}

/// Parses words as [`parse_times_on`].
pub fn parse_words(words: &WordList, day: Date, now: DateTime) -> Result<TimeWords, String> {
    if let Some(dates) = parse_date_range(words, now.date()) {
        return Ok(dates);
    }
    let mut parser = WhenParser::new(words.rest(), now);
    // 4-5pm
    let is_range = words.peek(1) == Some("-");
    parser.is_after_at = is_range
        && words
            .peek(2)
            .is_some_and(|word| split_half(word).1.is_some());
    let mut found = parser.read()?;
    let words = parser.words;
    if words.is_at_end() {
        let start = found.value(day, now)?;
        return Ok(TimeWords { start, end: None });
    }
    let mut rest = words.clone();
    let is_duration = rest.skip_any(&["for"]);
    rest.at += usize::from(!is_duration);
    let rest = rest.rest();
    if is_duration {
        let text = number_words(&rest.next_words(rest.left()));
        let length = parse_duration(&text).map_err(|_| not_understood(rest.written()))?;
        let start = found.value(day, now)?;
        return Ok(TimeWords {
            start,
            end: Some(EndWords::After(length)),
        });
    }
    // 2-3pm, 11-1pm: the half of the day is given once.
    let last = rest.left().saturating_sub(1);
    let half = rest.peek(last).and_then(|word| split_half(word).1);
    if let (Some((hour, minute, second)), Some(half), false) = (found.clock, half, found.has_half) {
        found.clock = half.hour(hour).map(|hour| (hour, minute, second));
        let start = found.value(day, now)?;
        let end = end_of_words(&rest, start, true, now)?;
        if end.local().seconds() - start.local().seconds() < 12 * 3_600 {
            return Ok(with_end(start, end));
        }
        let other = half.other().hour(hour);
        found.clock = other.map(|hour| (hour, minute, second));
    }
    let start = found.value(day, now)?;
    let end = end_of_words(&rest, start, true, now)?;
    Ok(with_end(start, end))
}

/// Parses `24-26 december 2026`.
fn parse_date_range(words: &WordList, today: Date) -> Option<TimeWords> {
    let mut rest = words.clone();
    rest.skip_any(&["from", "vom", "du", "del"]);
    let first = parse_day_number(rest.peek(0)?)?;
    rest.peek(1).filter(|word| RANGE_WORDS.contains(word))?;
    rest.at += 2;
    let (last, count) = parse_named_date(&rest, today)?;
    let (year, month, day) = last.ymd();
    let first = Date::new(year, month, first).filter(|_| first <= day)?;
    let is_all = count >= 2 && count == rest.left();
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
    end_of_words(
        &WordList::split(text),
        DateTimeValue::Local(start),
        false,
        now,
    )
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
    let found = parser.read()?;
    if !parser.words.is_at_end() {
        return Err(not_understood(parser.words.written()));
    }
    if !found.is_clock_alone() {
        let is_weekday = found.date.is_none() && found.weeks.is_none() && found.weekday.is_some();
        return match is_range && is_weekday {
            true => found.value(day, day.midnight()),
            false => found.value(day, now),
        };
    }
    let end = found.value(day, now)?;
    match (start, end.local() > local) {
        (DateTimeValue::Utc(_), true) => Ok(DateTimeValue::Utc(end.local())),
        (_, true) => Ok(end),
        (_, false) => found.value(day.plus_days(1), now),
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

/// The meaning of the words read so far.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    date: Option<Date>,
    weekday: Option<Weekday>,
    /// Weeks after this one.
    weeks: Option<i64>,
    clock: Option<Clock>,
    /// Whether the clock has am or pm.
    has_half: bool,
    /// Seconds east of UTC.
    offset: Option<i64>,
    part: Option<DayPart>,
    moment: Option<DateTime>,
}

/// A part of the day, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DayPart {
    Morning,
    Afternoon,
    Evening,
}

impl DayPart {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "morning" => Self::Morning,
            "afternoon" => Self::Afternoon,
            "evening" | "night" | "tonight" => Self::Evening,
            _ => return None,
        })
    }

    fn clock(self) -> Clock {
        match self {
            Self::Morning => (9, 0, 0),
            Self::Afternoon => (15, 0, 0),
            Self::Evening => (20, 0, 0),
        }
    }
}

impl Reading {
    fn has_day(&self) -> bool {
        self.date.is_some() || self.weekday.is_some() || self.weeks.is_some()
    }

    fn is_empty(&self) -> bool {
        !self.has_day() && self.clock.is_none() && self.part.is_none() && self.moment.is_none()
    }

    fn is_clock_alone(&self) -> bool {
        !self.has_day() && self.moment.is_none() && self.offset.is_none()
    }

    /// Returns the day, if there is one.
    fn day(&self, today: Date) -> Result<Option<Date>, String> {
        let monday = today.plus_days(-i64::from(today.weekday().index()));
        let day = match (self.date, self.weekday, self.weeks) {
            (Some(date), Some(weekday), _) if date.weekday() != weekday => {
                return Err(format!(
                    "{} is not a {}",
                    format_day(date),
                    weekday_name(weekday)
                ));
            }
            (Some(date), ..) => date,
            (None, Some(weekday), Some(weeks)) => {
                monday.plus_days(7 * weeks + i64::from(weekday.index()))
            }
            (None, Some(weekday), None) => {
                let ahead = i64::from(weekday.index()) - i64::from(today.weekday().index());
                today.plus_days(ahead.rem_euclid(7))
            }
            (None, None, Some(0)) => today,
            (None, None, Some(weeks)) => monday.plus_days(7 * weeks),
            (None, None, None) => return Ok(None),
        };
        Ok(Some(day))
    }

    /// Returns the value; a time alone is on `default_day`.
    fn value(&self, default_day: Date, now: DateTime) -> Result<DateTimeValue, String> {
        if let Some(moment) = self.moment {
            return Ok(DateTimeValue::Local(moment));
        }
        let clock = match (self.clock, self.part) {
            (Some((hour @ 1..12, minute, second)), Some(DayPart::Afternoon | DayPart::Evening))
                if !self.has_half =>
            {
                Some((hour + 12, minute, second))
            }
            (Some(clock), _) => Some(clock),
            (None, part) => part.map(DayPart::clock),
        };
        let day = self.day(now.date())?;
        let Some((hour, minute, second)) = clock else {
            let day = day.ok_or_else(|| not_understood(""))?;
            return Ok(DateTimeValue::Date(day));
        };
        let local = day.unwrap_or(default_day).at(hour, minute, second);
        let local = local.ok_or_else(|| not_understood(""))?;
        Ok(match self.offset {
            Some(offset) => DateTimeValue::Utc(local.plus_seconds(-offset)),
            None => DateTimeValue::Local(local),
        })
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
}

impl WhenParser {
    fn new(words: WordList, now: DateTime) -> Self {
        Self {
            words,
            now,
            base: now,
            found: Reading::default(),
            is_after_at: false,
        }
    }

    /// Reads all words, or those before the end of a range.
    fn read(&mut self) -> Result<Reading, String> {
        while let Some(word) = self.words.peek(0) {
            let has_more = self.words.left() > 1;
            let is_range = RANGE_WORDS.contains(&word) || word == "for";
            if is_range && has_more && !self.found.is_empty() {
                return Ok(self.found);
            }
            let is_before_hour = BEFORE_HOUR.contains(&word);
            // In the morning.
            let is_filler =
                FILLERS.contains(&word) || (word == "in" && self.words.peek(1) == Some("the"));
            let before = self.words.at;
            if let Some(count) = self.read_piece()? {
                self.words.at = before + count;
                self.is_after_at = self.found.has_day();
            } else if has_more && (is_before_hour || is_filler) {
                self.words.at += 1;
                self.is_after_at |= is_before_hour;
            } else {
                return Err(self.unknown_word());
            }
        }
        match self.found.is_empty() {
            true => Err(not_understood("")),
            false => Ok(self.found),
        }
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

    fn set_clock(&mut self, clock: Clock, has_half: bool, count: usize) -> Option<usize> {
        let is_free = self.found.clock.is_none() && self.found.moment.is_none();
        is_free.then(|| {
            self.found.clock = Some(clock);
            self.found.has_half = has_half;
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
            "today" | "heute" | "aujourd'hui" | "hoy" | "hoje" => Some(0),
            "tomorrow" | "tmrw" | "tmw" | "morgen" | "demain" | "manana" | "amanha" => Some(1),
            "yesterday" | "gestern" | "hier" | "ayer" | "ontem" => Some(-1),
            "ubermorgen" | "uebermorgen" => Some(2),
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
                None => parse_named_date(&self.words, today),
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
        self.found.offset = offset;
        self.set_clock(clock, true, 1)
    }

    fn read_clock(&mut self) -> Option<usize> {
        let word = self.words.peek(0)?;
        if let ("half" | "quarter", Some(side @ ("past" | "to")), Some(hour)) =
            (word, self.words.peek(1), self.words.peek(2))
        {
            let hour = parse_number_word(hour).filter(|hour| *hour < 24)?;
            let minute = if word == "half" { 30 } else { 15 };
            let clock = match side {
                "past" => (hour, minute, 0),
                _ => (hour.checked_sub(1)?, 60 - minute, 0),
            };
            return self.set_clock(clock, false, 3);
        }
        let next = self.words.peek(1).unwrap_or_default();
        if split_half(next).0.is_empty() && !next.is_empty() {
            // 9 am, but not the German "am Montag".
            if let Some(clock) = parse_clock(&format!("{word}{next}")) {
                return self.set_clock(clock, true, 2);
            }
        }
        if let "uhr" | "h" | "o'clock" | "oclock" | "heure" | "heures" = next {
            let hour = parse_digits(word, 1..=2).filter(|hour| *hour < 24);
            let dotted = || parse_clock(&word.replace('.', ":"));
            let clock = hour.map(|hour| (hour, 0, 0)).or_else(dotted);
            if let Some(clock) = clock {
                return self.set_clock(clock, false, 2);
            }
        }
        // 17.30 is no day, and after "at" 10.12 is none.
        let dotted = word.replace('.', ":");
        let is_dotted = word.matches('.').count() == 1
            && parse_digits::<u32>(&word.replace('.', ""), 3..=4).is_some();
        if let Some(clock) = parse_clock(&dotted).filter(|_| is_dotted)
            && (clock.1 > 12 || self.is_after_at)
        {
            return self.set_clock(clock, false, 1);
        }
        if let Some(clock) = parse_clock(word) {
            return self.set_clock(clock, split_half(word).1.is_some() || word == "noon", 1);
        }
        if self.found.has_day() {
            // 18:30Z after a day.
            if let Some((time, offset @ Some(_))) = split_offset(word)
                && let Some(clock) = parse_clock(time).or_else(|| parse_packed(time))
            {
                self.set_clock(clock, true, 1)?;
                self.found.offset = offset;
                return Some(1);
            }
            if let Some(clock) = parse_packed(word) {
                return self.set_clock(clock, true, 1);
            }
        }
        let hour = parse_digits(word, 1..=2).filter(|hour| *hour < 24)?;
        if self.is_after_at || DayPart::named(next).is_some() {
            return self.set_clock((hour, 0, 0), false, 1);
        }
        None
    }
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
            "h" | "hour" | "hours" | "heure" | "heures" => Self::Minutes(60),
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
    let hours = match text.strip_suffix(" 1 half") {
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
        ["half", "an", "hour"] => &["30", "minutes"],
        ["a", "fortnight"] => &["2", "weeks"],
        ["week"] => &["1", "week"],
        words => words,
    };
    let figures = words.iter().map(|word| match parse_number_word(word) {
        Some(n) => n.to_string(),
        None => (*word).to_owned(),
    });
    let all: Vec<String> = figures.filter(|word| word != "and").collect();
    all.join(" ")
}
