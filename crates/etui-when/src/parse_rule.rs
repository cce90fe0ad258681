//! Recurrence rules in words.
//!
//! ```text
//! rule      := RRULE of RFC 5545 (FREQ=...) | frequency clause*
//! frequency := "daily" | "weekly" | "biweekly" | "monthly" | "quarterly" | "yearly" | "hourly"
//!            | "weekdays" | "weekends" | weekday ( "-" | "to" ) weekday
//!            | "every" [ n | "other" | "second" ] ( "hour" | "day" | "week" | "month" | "year" )[s]
//!            | [ "every" ] [ n | "other" | "second" ] weekday ( "," weekday )*
//!            | [ "every" ] item ( "," item )* [ "of" ] [ "every" ] [ "month" | "year" | month ]
//!            | "every" D month
//! clause    := "on" item ( "," item )*  | "in" month ( "," month )*
//!            | "until" day | [ "for" ] n "times" | "for" n ( "days" | "weeks" | "months" | "years" )
//! item      := weekday | nth weekday | nth [ "day" ] | D month     mon, 2nd tue, last fri, 15, last day
//! nth       := n [ "st" | "nd" | "rd" | "th" ] [ "last" ] | "first" ... "fifth" | "last"
//! ```
//!
//! `the` and `of` are ignored; `and` is a comma. `every second tuesday` is every other week, with
//! `of the month` the second one of each month.

use etui_ical::recurrence::{Frequency, NthWeekday, RecurrenceRule};
use etui_ical::time::{Date, DateTime, DateTimeValue, Weekday};

use super::clock::parse_digits;
use super::dates::plus_months;
use super::names::{parse_day_of_week, parse_month, parse_number_word, weekday_name};
use super::parse::{MAX_WORDS, TimeContext, in_languages, parse_words};
use super::reference::reference_time;
use super::rule_text::FREQUENCIES;
use super::words::WordList;

/// Parses a recurrence rule. `now` is the local time. `for 10 weeks` is counted from `start`, and so is the day of
/// `until 1 May` if the start is later than now.
pub fn parse_recurrence(text: &str, start: Date, now: DateTime) -> Result<RecurrenceRule, String> {
    let upper = text.trim_start().to_ascii_uppercase();
    if upper.starts_with("FREQ") || upper.starts_with("RRULE") || text.contains(';') {
        return text.parse::<RecurrenceRule>().map_err(|e| e.to_string());
    }
    let (english, other) = in_languages(&spread_words(text), |words| {
        parse_rule_words(words, start, now)
    });
    match (english, other) {
        (Ok(rule), _) | (Err(_), Some(rule)) => Ok(rule),
        (Err(e), None) => Err(e),
    }
}

/// Writes a comma, and the slash of `tue/thu`, as a word of its own.
pub fn spread_words(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let has_digit = word.contains(|c: char| c.is_ascii_digit());
        // Tue+Thu, but not C++
        let is_sum = word
            .split('+')
            .all(|part| part.chars().all(char::is_alphabetic) && !part.is_empty());
        let word = match has_digit {
            true => word.to_owned(),
            false if is_sum => word.replace('+', " and "),
            false => word.replace('/', " and "),
        };
        word.replace(',', " and ")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Parses words as [`parse_recurrence`].
pub fn parse_rule_words(
    words: &WordList,
    start: Date,
    now: DateTime,
) -> Result<RecurrenceRule, String> {
    if words.left() > MAX_WORDS {
        return Err(unexpected_word(words.written()));
    }
    let parser = RuleParser {
        words: words.rest(),
        start,
        now,
    };
    parser.parse_rule()
}

struct RuleParser {
    words: WordList,
    start: Date,
    now: DateTime,
}

/// The kind of the words in a list.
#[derive(Clone, Copy)]
enum ListKind {
    Days,
    Months,
}

/// Words without a meaning of their own.
const FILLERS: &[&str] = &["the", "of", "a", "from", "single"];
const EVERY: &[&str] = &["every", "each", "once"];
const AND: &[&str] = &["and", "&"];
/// Words between the days of a week: of "every monday until friday" the second ends the rule.
const RANGE_WORDS: &[&str] = &["-", "to", "through", "thru"];
const UNTIL: &[&str] = &["until", "till", "til", "through", "thru"];

impl RuleParser {
    fn next_word(&mut self) -> Option<String> {
        self.words.skip_all(FILLERS);
        let word = self.words.peek(0).map(str::to_owned);
        self.words.at += usize::from(word.is_some());
        word
    }

    fn peek_word(&mut self) -> Option<&str> {
        self.words.skip_all(FILLERS);
        self.words.peek(0)
    }

    fn skip_any(&mut self, words: &[&str]) -> bool {
        self.words.skip_all(FILLERS);
        self.words.skip_any(words)
    }

    /// Returns the error for the word before the position.
    fn unexpected(&self) -> String {
        let mut words = self.words.clone();
        words.at = words.at.saturating_sub(1);
        unexpected_word(words.written())
    }

    fn parse_rule(mut self) -> Result<RecurrenceRule, String> {
        let (mut rule, mut list) = self.parse_frequency()?;
        while let Some(word) = self.next_word() {
            match word.as_str() {
                word if AND.contains(&word) => {}
                "on" | "in" if self.peek_word().is_none_or(|word| AND.contains(&word)) => {
                    return Err(unexpected_word(""));
                }
                "on" => list = Some(ListKind::Days),
                "in" => list = Some(ListKind::Months),
                word if UNTIL.contains(&word) => {
                    rule.until = Some(self.parse_until()?);
                    list = None;
                }
                "for" => {
                    self.parse_for(&mut rule)?;
                    list = None;
                }
                word if self.skip_any(&["times", "time", "x"]) => {
                    let count = parse_number_word(word);
                    self.words.at -= 1;
                    rule.count = Some(count.ok_or_else(|| self.unexpected())?);
                    self.words.at += 1;
                    list = None;
                }
                word => match list {
                    Some(ListKind::Days) => self.parse_day(word, &mut rule)?,
                    Some(ListKind::Months) => rule
                        .by_month
                        .push(parse_month(word).ok_or_else(|| self.unexpected())?),
                    // Every 2 weeks thursdays.
                    None if rule.frequency == Frequency::Weekly
                        && rule.by_day.is_empty()
                        && parse_day_of_week(word).is_some() =>
                    {
                        list = Some(ListKind::Days);
                        self.parse_day(word, &mut rule)?;
                    }
                    None => return Err(self.unexpected()),
                },
            }
        }
        Ok(rule)
    }

    /// Parses the longest day or time that follows.
    fn parse_until(&mut self) -> Result<DateTimeValue, String> {
        if self.words.is_at_end() {
            return Err("a day is missing after \"until\"".to_owned());
        }
        let mut error = String::new();
        for count in (1..=self.words.left().min(8)).rev() {
            // until 2027-01-01 5 times
            if matches!(self.words.peek(count), Some("times" | "time")) {
                continue;
            }
            // In a series of a later year, "until 1 May" is that after its start.
            let start = self.start.midnight();
            let now = match start > self.now {
                true => reference_time(&self.words.next_words(count).join(" "), start, self.now),
                false => self.now,
            };
            match parse_words(&self.words.part(count), TimeContext::new(now.date(), now)) {
                // Of "tuesdays 18:00 until 19:00" the time is that of the event.
                Ok(found) if found.times.end.is_none() && found.has_day => {
                    self.words.at += count;
                    return Ok(found.times.start);
                }
                Ok(_) => {}
                Err(e) => error = e,
            }
        }
        Err(format!("until {}: {error}", self.words.written()))
    }

    /// Parses `10 times` or `10 weeks` after `for`.
    fn parse_for(&mut self, rule: &mut RecurrenceRule) -> Result<(), String> {
        let word = self.next_word().unwrap_or_default();
        // For a year: the article was skipped.
        let (n, unit) = match parse_number_word(&word) {
            Some(n) => (n, self.next_word().unwrap_or_default()),
            None => (1, word),
        };
        let (days, months) = match unit.as_str() {
            "times" | "time" => {
                rule.count = Some(n);
                return Ok(());
            }
            "day" | "days" => (1, 0),
            "week" | "weeks" => (7, 0),
            "month" | "months" => (0, 1),
            "year" | "years" => (0, 12),
            _ => return Err(self.unexpected()),
        };
        let n = i64::from(n);
        let end = plus_months(self.start, months * n).plus_days(days * n - 1);
        rule.until = Some(DateTimeValue::Date(end));
        Ok(())
    }

    fn parse_frequency(&mut self) -> Result<(RecurrenceRule, Option<ListKind>), String> {
        self.skip_any(&["on", "at"]);
        if self.words.peek(0) == Some("day")
            && self
                .words
                .peek(1)
                .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        {
            self.words.at += 1;
        }
        let word = self.next_word().unwrap_or_default();
        let (frequency, interval) = match word.as_str() {
            "hourly" => (Frequency::Hourly, 1),
            "daily" | "everyday" | "nightly" => (Frequency::Daily, 1),
            "weekly" => (Frequency::Weekly, 1),
            "biweekly" | "bi-weekly" | "fortnightly" => (Frequency::Weekly, 2),
            "monthly" => (Frequency::Monthly, 1),
            "bimonthly" | "bi-monthly" => (Frequency::Monthly, 2),
            "quarterly" => (Frequency::Monthly, 3),
            "half-yearly" | "semiannually" => (Frequency::Monthly, 6),
            "yearly" | "annually" => (Frequency::Yearly, 1),
            "weekdays" | "workdays" => return Ok((weekdays(0..5), None)),
            "weekends" => return Ok((weekdays(5..7), None)),
            word if EVERY.contains(&word) => return self.parse_every(),
            word => {
                return match self.parse_week_range(word) {
                    Some(rule) => Ok((rule, None)),
                    None => self.parse_days_first(1, word),
                };
            }
        };
        let mut rule = RecurrenceRule::every(frequency);
        rule.interval = interval;
        Ok((rule, None))
    }

    fn parse_every(&mut self) -> Result<(RecurrenceRule, Option<ListKind>), String> {
        // Once every two weeks.
        self.skip_any(EVERY);
        let word = self.next_word().unwrap_or_default();
        let is_of_month = self.is_of_month();
        let (interval, unit) = match word.as_str() {
            "other" | "alternate" => (2, self.next_word().unwrap_or_default()),
            "second" | "2nd" if !is_of_month => (2, self.next_word().unwrap_or_default()),
            word if word != "a" && parse_number_word(word).is_some() && !self.is_month_next() => {
                let n = parse_number_word(word).unwrap_or(1);
                (n, self.next_word().unwrap_or_default())
            }
            // every third day
            word if self.is_unit_next() && parse_ordinal(word).is_some_and(|n| n > 0) => {
                let n = parse_ordinal(word).and_then(|n| u32::try_from(n).ok());
                (n.unwrap_or(1), self.next_word().unwrap_or_default())
            }
            word => (1, word.to_owned()),
        };
        let singular = unit.strip_suffix('s').unwrap_or(&unit);
        match (singular, interval) {
            ("weekday" | "workday", 1) => return Ok((weekdays(0..5), None)),
            ("day" | "morning" | "afternoon" | "evening" | "night", n) => {
                return Ok((every(Frequency::Daily, n), None));
            }
            ("weekend", 1) => return Ok((weekdays(5..7), None)),
            ("quarter", _) => {
                return Ok((every(Frequency::Monthly, interval.saturating_mul(3)), None));
            }
            ("fortnight", _) => {
                return Ok((every(Frequency::Weekly, interval.saturating_mul(2)), None));
            }
            _ => {}
        }
        // The second tuesday of the month.
        let is_ordinal = singular == "second" && is_of_month;
        if is_ordinal {
            return self.parse_days_first(interval, &unit);
        }
        if let Some((_, frequency)) = FREQUENCIES.iter().find(|(known, _)| *known == singular) {
            return Ok((every(*frequency, interval), None));
        }
        if let (1, Some(rule)) = (interval, self.parse_week_range(&unit)) {
            return Ok((rule, None));
        }
        self.parse_days_first(interval, &unit)
    }

    /// Returns true if a month, or "month", follows somewhere.
    fn is_of_month(&self) -> bool {
        let ahead = (0..self.words.left()).filter_map(|ahead| self.words.peek(ahead));
        let mut before = ahead.take_while(|word| !UNTIL.contains(word) && *word != "for");
        before.any(|word| {
            matches!(word, "month" | "months" | "year")
                || parse_month(word).is_some_and(|_| parse_day_of_week(word).is_none())
        })
    }

    fn is_month_next(&mut self) -> bool {
        self.peek_word().and_then(parse_month).is_some()
    }

    /// Returns true if a unit is the very next word: `third day`, but not `15th of the month`.
    fn is_unit_next(&self) -> bool {
        let unit = self.words.peek(0).unwrap_or_default();
        let singular = unit.strip_suffix('s').unwrap_or(unit);
        FREQUENCIES.iter().any(|(known, _)| *known == singular)
    }

    /// Parses `mon-fri` or `monday to friday`, if that follows the word `first`.
    fn parse_week_range(&mut self, first: &str) -> Option<RecurrenceRule> {
        let (first, last) = match first.split_once('-') {
            Some((first, last)) if parse_day_of_week(first).is_some() => {
                (first, parse_day_of_week(last)?)
            }
            _ => {
                let is_range = self.words.peek(0).is_some_and(|w| RANGE_WORDS.contains(&w));
                let last = self.words.peek(1).filter(|_| is_range)?;
                let last = parse_day_of_week(last)?;
                parse_day_of_week(first)?;
                self.words.at += 2;
                (first, last)
            }
        };
        let (first, last) = (parse_day_of_week(first)?.index(), last.index());
        let days = (last + 7 - first) % 7;
        let all = (0..=days).filter_map(|n| Weekday::ALL.get(usize::from((first + n) % 7)));
        let mut rule = RecurrenceRule::every(Frequency::Weekly);
        rule.by_day = all
            .map(|weekday| NthWeekday {
                nth: 0,
                weekday: *weekday,
            })
            .collect();
        Some(rule)
    }

    /// Parses a rule that begins with its days: weekdays, `last friday of the month`, `25 december`.
    fn parse_days_first(
        &mut self,
        interval: u32,
        word: &str,
    ) -> Result<(RecurrenceRule, Option<ListKind>), String> {
        if parse_day_of_week(word).is_some()
            && !(self.is_day_number_next() && parse_month(word).is_some())
        {
            let mut rule = every(Frequency::Weekly, interval);
            self.parse_day(word, &mut rule)?;
            return Ok((rule, Some(ListKind::Days)));
        }
        if interval != 1 || (parse_ordinal(word).is_none() && parse_month(word).is_none()) {
            return Err(self.unexpected());
        }
        let mut rule = every(Frequency::Yearly, 1);
        self.parse_day(word, &mut rule)?;
        loop {
            let at = self.words.at;
            let is_and = self.skip_any(AND);
            let next = self.peek_word().map(str::to_owned).unwrap_or_default();
            let is_item = parse_ordinal(&next).is_some() || parse_day_of_week(&next).is_some();
            if is_and && is_item {
                self.words.at += 1;
                self.parse_day(&next, &mut rule)?;
                continue;
            }
            self.words.at = at;
            break;
        }
        let is_every = self.skip_any(&["in", "every", "each"]);
        match self.peek_word().map(str::to_owned).as_deref() {
            Some("month" | "months") => {
                self.words.at += 1;
                rule.frequency = Frequency::Monthly;
            }
            Some("year") => self.words.at += 1,
            Some(word) if parse_month(word).is_some() => {
                rule.by_month.extend(parse_month(word));
                self.words.at += 1;
                return Ok((rule, Some(ListKind::Months)));
            }
            _ if is_every => return Err(unexpected_word(self.words.written())),
            _ if rule.by_month.is_empty() => rule.frequency = Frequency::Monthly,
            _ => {}
        }
        if rule.by_day.iter().any(|day| day.nth.abs() > 5) && rule.frequency == Frequency::Monthly {
            return Err(self.unexpected());
        }
        Ok((rule, Some(ListKind::Days)))
    }

    fn is_day_number_next(&mut self) -> bool {
        let next = self.peek_word().unwrap_or_default();
        parse_ordinal(next).is_some()
    }

    /// Skips further ordinals if a weekday follows them: those of `first and third monday`.
    fn ordinals_before_weekday(&mut self) -> Vec<i8> {
        let before = self.words.at;
        let mut all = Vec::new();
        while self.skip_any(AND) {
            match self.peek_word().and_then(parse_ordinal) {
                Some(nth) => all.push(nth),
                None => break,
            }
            self.words.at += 1;
            let next = self.peek_word().unwrap_or_default();
            if parse_day_of_week(next).is_some() || matches!(next, "weekday" | "workday") {
                return all;
            }
        }
        self.words.at = before;
        Vec::new()
    }

    /// Parses a day of a list that begins with `word`.
    fn parse_day(&mut self, word: &str, rule: &mut RecurrenceRule) -> Result<(), String> {
        // december 25
        if let (Some(month), true) = (parse_month(word), self.is_day_number_next()) {
            let day = self.next_word().unwrap_or_default();
            let day = parse_ordinal(&day).filter(|day| (1..=31).contains(day));
            rule.by_month_day
                .push(day.ok_or_else(|| self.unexpected())?);
            rule.by_month.push(month);
            return Ok(());
        }
        if let Some(weekday) = parse_day_of_week(word) {
            rule.by_day.push(NthWeekday { nth: 0, weekday });
            return Ok(());
        }
        if word == "day" && self.is_day_number_next() {
            let day = self.next_word().unwrap_or_default();
            return self.parse_day(&day, rule);
        }
        let mut nth = parse_ordinal(word).ok_or_else(|| self.unexpected())?;
        if nth > 0 && self.skip_any(&["last"]) {
            nth = -nth;
        }
        let others = self.ordinals_before_weekday();
        if let Some("weekday" | "workday") = self.peek_word() {
            self.words.at += 1;
            rule.by_day = weekdays(0..5).by_day;
            let all = std::iter::once(nth).chain(others);
            rule.by_position.extend(all.map(i16::from));
            return Ok(());
        }
        let next = self.peek_word().filter(|word| parse_month(word).is_none());
        if let Some(weekday) = next.and_then(parse_day_of_week) {
            self.words.at += 1;
            let most = match rule.frequency {
                Frequency::Yearly => 53,
                Frequency::Monthly => 5,
                _ => 0,
            };
            if nth.abs() > most {
                return Err(format!(
                    "{word} {}: only monthly and yearly rules have such days",
                    weekday_name(weekday)
                ));
            }
            for nth in std::iter::once(nth).chain(others) {
                rule.by_day.push(NthWeekday { nth, weekday });
            }
            return Ok(());
        }
        self.skip_any(&["day"]);
        if nth.abs() > 31 {
            return Err(format!("{word}: a month has 31 days at most"));
        }
        // RFC 5545 3.3.10: weekly rules have none.
        if rule.frequency == Frequency::Weekly {
            return Err(self.unexpected());
        }
        rule.by_month_day.push(nth);
        // 25 december
        if let (Some(month), Frequency::Yearly) =
            (self.peek_word().and_then(parse_month), rule.frequency)
        {
            self.words.at += 1;
            rule.by_month.push(month);
        }
        Ok(())
    }
}

fn every(frequency: Frequency, interval: u32) -> RecurrenceRule {
    RecurrenceRule {
        interval,
        ..RecurrenceRule::every(frequency)
    }
}

/// Returns the weekly rule for some weekdays, by index.
fn weekdays(days: std::ops::Range<usize>) -> RecurrenceRule {
    let mut rule = RecurrenceRule::every(Frequency::Weekly);
    let days = Weekday::ALL.get(days).unwrap_or_default().iter();
    rule.by_day = days
        .map(|weekday| NthWeekday {
            nth: 0,
            weekday: *weekday,
        })
        .collect();
    rule
}

/// Parses an ordinal: 1 is the first, -1 the last.
fn parse_ordinal(word: &str) -> Option<i8> {
    const WORDS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
    if word == "last" {
        return Some(-1);
    }
    if let Some((_, n)) = WORDS.iter().zip(1..).find(|(known, _)| **known == word) {
        return Some(n);
    }
    let digits = ["st", "nd", "rd", "th", ".", "-го", "er", "re", "º", "ª"]
        .iter()
        .find_map(|suffix| word.strip_suffix(suffix))
        .unwrap_or(word);
    parse_digits(digits, 1..=3).filter(|n| *n > 0)
}

fn unexpected_word(word: &str) -> String {
    let what = match word {
        "" => "something is missing".to_owned(),
        word => format!("\"{word}\" is not understood here"),
    };
    format!(
        "{what}; write daily, weekly on mon, thu, every 2 weeks until 2027-06-30, \
         monthly on the 15th, monthly on the last fri, yearly, daily 10 times, or a rule like \
         FREQ=WEEKLY;BYDAY=MO"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui_ical::time::{Date, DateTimeValue, TimeZone};
    use proptest::prelude::*;

    use super::super::describe_rule;
    use super::*;

    /// A Saturday.
    fn now() -> DateTime {
        DateTime::new(2026, 11, 21, 14, 5, 30).unwrap()
    }

    #[test]
    fn words_are_parsed_to_rules() {
        for (text, rule) in [
            ("daily", "FREQ=DAILY"),
            ("every day 10 times", "FREQ=DAILY;COUNT=10"),
            ("daily for 10 times", "FREQ=DAILY;COUNT=10"),
            ("weekly on mon,thu", "FREQ=WEEKLY;BYDAY=MO,TH"),
            ("Weekly on Mondays and Thursdays", "FREQ=WEEKLY;BYDAY=MO,TH"),
            (
                "every mon, wed until fri",
                "FREQ=WEEKLY;UNTIL=20261127;BYDAY=MO,WE",
            ),
            ("every other week", "FREQ=WEEKLY;INTERVAL=2"),
            (
                "every 3 months on the 1st and the last day",
                "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1,-1",
            ),
            ("weekdays", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
            ("every weekday", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
            ("mondays and thursdays", "FREQ=WEEKLY;BYDAY=MO,TH"),
            ("monthly on the second tuesday", "FREQ=MONTHLY;BYDAY=2TU"),
            ("monthly on the 2nd last fri", "FREQ=MONTHLY;BYDAY=-2FR"),
            (
                "monthly on 15 until 2027-06-30",
                "FREQ=MONTHLY;UNTIL=20270630;BYMONTHDAY=15",
            ),
            (
                "yearly in nov on the fourth thu",
                "FREQ=YEARLY;BYDAY=4TH;BYMONTH=11",
            ),
            ("every 2 hours", "FREQ=HOURLY;INTERVAL=2"),
            ("freq=daily;count=3", "FREQ=DAILY;COUNT=3"),
            ("RRULE:FREQ=DAILY", "FREQ=DAILY"),
        ] {
            assert_eq!(
                parse_recurrence(text, now().date(), now())
                    .unwrap()
                    .to_string(),
                rule,
                "{text}"
            );
        }
        for text in [
            "",
            "every",
            "often",
            "every 0 days",
            "every -1 days",
            "every 2 weekdays",
            "weekly on",
            "weekly on the 2nd mon",
            "monthly on the 32nd",
            "monthly on the 6th mon",
            "daily until",
            "daily until soon",
            "daily 0 times",
            "daily x times",
            "yearly in smarch",
            "FREQ=OFTEN",
            "weekly on mon until 2027-01-01 fri",
        ] {
            assert!(
                parse_recurrence(text, now().date(), now()).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn the_end_of_a_later_series_counts_from_its_start() {
        let later = Date::new(2031, 3, 11).unwrap();
        for (text, until) in [
            ("weekly until 1 may", "20310501"),
            ("weekly until friday", "20310314"),
            ("weekly until 2032-01-01", "20320101"),
            ("weekly until tomorrow", "20261122"),
        ] {
            let rule = parse_recurrence(text, later, now()).unwrap();
            assert_eq!(rule.to_string(), format!("FREQ=WEEKLY;UNTIL={until}"));
        }
    }

    fn days() -> impl Strategy<Value = Vec<NthWeekday>> {
        let day = (0usize..7).prop_map(|i| NthWeekday {
            nth: 0,
            weekday: Weekday::ALL[i],
        });
        prop::collection::vec(day, 0..4)
    }

    fn nth_days() -> impl Strategy<Value = Vec<NthWeekday>> {
        let nth = prop_oneof![1i8..=5, -5i8..=-1];
        let day = (nth, 0usize..7).prop_map(|(nth, i)| NthWeekday {
            nth,
            weekday: Weekday::ALL[i],
        });
        prop::collection::vec(day, 1..4)
    }

    fn rules() -> impl Strategy<Value = RecurrenceRule> {
        let month_days = prop::collection::vec(prop_oneof![1i8..=31, -31i8..=-1], 1..4);
        let which = prop_oneof![
            (Just(Frequency::Daily), days(), Just(Vec::new())),
            (Just(Frequency::Weekly), days(), Just(Vec::new())),
            (Just(Frequency::Monthly), nth_days(), Just(Vec::new())),
            (Just(Frequency::Monthly), Just(Vec::new()), month_days),
            (Just(Frequency::Yearly), nth_days(), Just(Vec::new())),
        ];
        let months = prop::collection::vec(1u8..=12, 0..3);
        let until = prop::option::of(Date::MIN.days()..=Date::MAX.days());
        (which, 1u32..9, months, prop::option::of(1u32..99), until).prop_map(
            |((frequency, by_day, by_month_day), interval, by_month, count, until)| {
                RecurrenceRule {
                    interval,
                    by_day,
                    by_month_day,
                    by_month,
                    count,
                    until: until.map(|days| DateTimeValue::Date(Date::from_days(days.into()))),
                    ..RecurrenceRule::every(frequency)
                }
            },
        )
    }

    proptest! {
        #[test]
        fn descriptions_are_parsed(rule in rules()) {
            let words = describe_rule(&rule, &TimeZone::UTC);
            prop_assert_eq!(parse_recurrence(&words, now().date(), now()), Ok(rule), "{}", words);
        }

        #[test]
        fn any_text_is_parsed_or_rejected(text in "\\PC{0,30}") {
            let _ = parse_recurrence(&text, now().date(), now());
        }

        #[test]
        fn similar_text_is_parsed_or_rejected(
            text in "((every|other|[0-9]{1,4}|weeks|mon|on|in|nov|last|2nd|until|times|daily|,) ?){0,9}"
        ) {
            let _ = parse_recurrence(&text, now().date(), now());
        }
    }
}
