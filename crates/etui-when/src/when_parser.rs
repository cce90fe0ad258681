//! [`WhenParser`]: reads the English words of a day or a time, one piece after the other.

use etui_ical::time::{Date, DateTime, Duration, Weekday};

use super::clock::{Clock, parse_clock, parse_digits, parse_packed, split_half};
use super::dates::{
    edge_of_month, find_missing_day, next_day_of_month, parse_day_number, parse_iso_date,
    parse_named_date, parse_numeric_date, plus_months, split_offset,
};
use super::duration::{TimeUnit, number_words, parse_duration, with_minutes};
use super::names::{
    is_weekday_name, parse_day_of_week, parse_month, parse_number_word, parse_weekday,
};
use super::reading::{ClockForm, DayPart, Reading};
use super::words::WordList;
use super::zone_words::ZoneWord;

/// Words before an hour.
const BEFORE_HOUR: &[&str] = &["at", "@", "from", "around", "ca", "ca.", "about"];
/// Further words without a meaning of their own.
pub const FILLERS: &[&str] = &[
    "on", "the", "of", "coming", "starting", "by", "and", "before", "for",
];
pub const RANGE_WORDS: &[&str] = &["-", "to", "until", "till", "through", "thru"];

/// The forms that an error names.
pub const FORMS: &str = "write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day \
                     and a time: \"tomorrow 9:00\"";

/// Returns the error for a word; empty if one is missing.
pub fn not_understood(word: &str) -> String {
    match word {
        "" => format!("a day or time is missing; {FORMS}"),
        word => format!("\"{word}\" is not a day or time; {FORMS}"),
    }
}

/// The words, and what was read of them.
pub struct WhenParser {
    pub words: WordList,
    now: DateTime,
    /// The origin of steps with a sign.
    pub base: DateTime,
    pub found: Reading,
    /// The duration of `for 2 weeks from 20 December`.
    pub duration: Option<Duration>,
    /// Whether an hour can follow.
    pub is_after_at: bool,
    /// Whether a day of the month can follow.
    is_after_on: bool,
}

impl WhenParser {
    pub fn new(words: WordList, now: DateTime) -> Self {
        Self {
            words,
            now,
            base: now,
            found: Reading::default(),
            duration: None,
            is_after_at: false,
            is_after_on: false,
        }
    }

    /// Returns a parser of words after "at".
    pub fn after_at(words: WordList, now: DateTime) -> Self {
        let is_after_at = true;
        Self {
            is_after_at,
            ..Self::new(words, now)
        }
    }

    /// Reads all words.
    pub fn read_all(mut self) -> Result<Reading, String> {
        let found = self.read()?;
        match self.words.is_at_end() {
            true => Ok(found),
            false => Err(self.unknown_word()),
        }
    }

    /// Reads all words, or those before the end of a range.
    pub fn read(&mut self) -> Result<Reading, String> {
        while let Some(word) = self.words.peek(0) {
            let has_more = self.words.left() > 1;
            if has_more && !self.found.is_empty() && self.is_at_end_of_range() {
                return Ok(self.found);
            }
            let is_deadline = matches!(word, "until" | "till" | "thru");
            let is_before_hour =
                BEFORE_HOUR.contains(&word) || self.is_hour_word() || self.is_from();
            let is_day_word =
                word == "day" && self.words.peek(1).and_then(parse_day_number).is_some();
            // In the morning.
            let is_filler = (FILLERS.contains(&word) && !self.is_the_sun())
                || (word == "in" && self.words.peek(1) == Some("the"))
                || is_day_word
                || (is_deadline && self.found.is_empty());
            let is_on = matches!(word, "on" | "the") || is_day_word;
            let is_trailing = word == "the";
            if let Some(count) = self.read_duration() {
                self.words.at += count;
                continue;
            }
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

    /// Reads a duration before everything else.
    fn read_duration(&mut self) -> Option<usize> {
        if self.words.peek(0) != Some("for") || !self.found.is_empty() || self.duration.is_some() {
            return None;
        }
        // The longest first: for 1 hour 30 minutes.
        (2..=self.words.left().min(5)).rev().find_map(|count| {
            let words = self.words.next_words(count);
            let text = with_minutes(&number_words(words.get(1..)?));
            self.duration = Some(parse_duration(&text).ok()?);
            Some(count)
        })
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

    /// Returns true for "the" before the short name of a day, which is another word then.
    fn is_the_sun(&self) -> bool {
        let is_short = |next: &str| parse_weekday(next).is_some() && !is_weekday_name(next);
        self.words.peek(0) == Some("the") && self.words.peek(1).is_some_and(is_short)
    }

    /// Returns true for "of" before the hours of a range, as several languages have it: "de 9 a 11".
    fn is_from(&self) -> bool {
        let is_range = |word: &str| word == "at" || RANGE_WORDS.contains(&word);
        self.words.peek(0) == Some("of")
            && self.words.peek(1).is_some_and(starts_with_digit)
            && self.words.peek(2).is_some_and(is_range)
    }

    /// Returns true for the word "hour" before the hour: "ore 10", "saat 10".
    fn is_hour_word(&self) -> bool {
        self.words.is_translated()
            && matches!(self.words.peek(0), Some("hour" | "hours"))
            && self
                .words
                .peek(1)
                .is_some_and(|next| starts_with_digit(next) || BEFORE_HOUR.contains(&next))
    }

    /// Returns the error for the word at the position: of "next fooday" the second is not understood.
    fn unknown_word(&self) -> String {
        if let Some(problem) = find_missing_day(&self.words.rest(), self.now.date()) {
            return problem;
        }
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
                    // In 2 weeks on tuesday
                    let next = usize::from(self.words.peek(count) == Some("on"));
                    let weekday = self.words.peek(count + next).and_then(parse_day_of_week);
                    if skipped == 1 && days % 7 == 0 && weekday.is_some() && self.found.is_empty() {
                        self.found.weeks = Some(days / 7);
                        return Some(count);
                    }
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
        // A weekday after another date is as likely a mistake.
        let is_whole = self.words.peek(0).is_some_and(is_weekday_name);
        let is_other = self
            .found
            .date
            .is_some_and(|date| date.weekday() != weekday || !is_whole);
        if self.found.weekday.is_some() || is_other || self.found.moment.is_some() {
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
        if self.found.has_day() || (word.contains(':') && self.words.left() > 1) {
            // 18:30Z, and 1830Z after a day.
            if let Some((time, offset @ Some(_))) = split_offset(word)
                && let Some(clock) = parse_clock(time).or_else(|| parse_packed(time))
            {
                self.set_clock(clock, ClockForm::Exact, 1)?;
                self.found.zone = offset.map(ZoneWord::Offset);
                return Some(1);
            }
            if let Some(clock) = parse_packed(word).filter(|_| self.found.has_day()) {
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
            let word = word
                .strip_suffix('h')
                .filter(|word| starts_with_digit(word))
                .unwrap_or(word);
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

fn parse_weekday_or_weekend(word: &str) -> Option<Weekday> {
    match word {
        "weekend" => Some(Weekday::Saturday),
        word => parse_weekday(word),
    }
}
