//! Recurrence rules in words.
//!
//! ```text
//! rule   := RRULE of RFC 5545 (FREQ=...)
//!         | frequency clause*
//! frequency := "daily" | "weekly" | "monthly" | "yearly" | "weekdays"
//!            | "every" [ n | "other" ] ( "hour" | "day" | "week" | "month" | "year" )[s]
//!            | "every" weekday ( "," weekday )*
//! clause := "on" item ( "," item )*  | "in" month ( "," month )*
//!         | "until" day | [ "for" ] n "times"
//! item   := weekday | nth weekday | nth [ "day" ]          mon, 2nd tue, last fri, 15, last day
//! nth    := n [ "st" | "nd" | "rd" | "th" ] [ "last" ] | "first" ... "fifth" | "last"
//! ```
//!
//! `the` and `of` are ignored; `and` is a comma.

use etui::calendar::recurrence::{Frequency, NthWeekday, RecurrenceRule};
use etui::calendar::time::{DateTime, Weekday};

use super::parse::{parse_digits, parse_month, parse_weekday, weekday_name};
use super::parse_when;
use super::rule_text::FREQUENCIES;

/// Parses a recurrence rule. `now` is the local time.
pub fn parse_recurrence(text: &str, now: DateTime) -> Result<RecurrenceRule, String> {
    let start = text.trim_start().to_ascii_uppercase();
    if start.starts_with("FREQ") || start.starts_with("RRULE") || text.contains(';') {
        return text.parse::<RecurrenceRule>().map_err(|e| e.to_string());
    }
    let lower = text.to_ascii_lowercase().replace(',', " , ");
    let words = lower
        .split_whitespace()
        .filter(|w| !matches!(*w, "the" | "of" | "for"))
        .map(|w| if w == "and" { "," } else { w });
    RuleParser {
        words: words.collect(),
        at: 0,
    }
    .parse_rule(now)
}

struct RuleParser<'t> {
    words: Vec<&'t str>,
    at: usize,
}

/// The kind of the words in a list.
#[derive(Clone, Copy)]
enum ListKind {
    Days,
    Months,
}

impl<'t> RuleParser<'t> {
    fn next_word(&mut self) -> Option<&'t str> {
        let word = self.words.get(self.at).copied();
        self.at += usize::from(word.is_some());
        word
    }

    fn peek_word(&self) -> Option<&'t str> {
        self.words.get(self.at).copied()
    }

    fn skip_any(&mut self, words: &[&str]) -> bool {
        let is_one = self.peek_word().is_some_and(|word| words.contains(&word));
        self.at += usize::from(is_one);
        is_one
    }

    fn parse_rule(mut self, now: DateTime) -> Result<RecurrenceRule, String> {
        let (mut rule, mut list) = self.parse_frequency()?;
        while let Some(word) = self.next_word() {
            match word {
                "," => {}
                "on" | "in" if matches!(self.peek_word(), None | Some(",")) => {
                    return Err(unexpected_word(""));
                }
                "on" => list = Some(ListKind::Days),
                "in" => list = Some(ListKind::Months),
                "until" => {
                    let day = self.next_word().ok_or("a day is missing after \"until\"")?;
                    let end = parse_when(day, now).map_err(|e| format!("until {day}: {e}"))?;
                    rule.until = Some(end);
                    list = None;
                }
                word if self.skip_any(&["times", "time"]) => {
                    let count = word.parse().ok().filter(|n| *n > 0);
                    rule.count = Some(count.ok_or_else(|| unexpected_word(word))?);
                    list = None;
                }
                word => match list {
                    Some(ListKind::Days) => self.parse_day(word, &mut rule)?,
                    Some(ListKind::Months) => rule
                        .by_month
                        .push(parse_month(word).ok_or_else(|| unexpected_word(word))?),
                    None => return Err(unexpected_word(word)),
                },
            }
        }
        Ok(rule)
    }

    fn parse_frequency(&mut self) -> Result<(RecurrenceRule, Option<ListKind>), String> {
        let word = self.next_word().unwrap_or_default();
        let frequency = match word {
            "daily" => Frequency::Daily,
            "weekly" => Frequency::Weekly,
            "monthly" => Frequency::Monthly,
            "yearly" | "annually" => Frequency::Yearly,
            "weekdays" => return Ok((weekdays(), None)),
            "every" => return self.parse_every(),
            _ => return self.parse_weekdays(1, word),
        };
        Ok((RecurrenceRule::every(frequency), None))
    }

    fn parse_every(&mut self) -> Result<(RecurrenceRule, Option<ListKind>), String> {
        let word = self.next_word().unwrap_or_default();
        let (interval, unit) = match (word, word.parse::<u32>()) {
            ("other", _) => (2, self.next_word().unwrap_or_default()),
            (_, Ok(n)) if n > 0 => (n, self.next_word().unwrap_or_default()),
            _ => (1, word),
        };
        let singular = unit.strip_suffix('s').unwrap_or(unit);
        if singular == "weekday" && interval == 1 {
            return Ok((weekdays(), None));
        }
        let Some((_, frequency)) = FREQUENCIES.iter().find(|(known, _)| *known == singular) else {
            return self.parse_weekdays(interval, unit);
        };
        let mut rule = RecurrenceRule::every(*frequency);
        rule.interval = interval;
        Ok((rule, None))
    }

    /// Parses a weekly rule that begins with a weekday.
    fn parse_weekdays(
        &mut self,
        interval: u32,
        word: &str,
    ) -> Result<(RecurrenceRule, Option<ListKind>), String> {
        parse_day_of_week(word).ok_or_else(|| unexpected_word(word))?;
        let mut rule = RecurrenceRule::every(Frequency::Weekly);
        rule.interval = interval;
        self.parse_day(word, &mut rule)?;
        Ok((rule, Some(ListKind::Days)))
    }

    /// Parses a day of a list that begins with `word`.
    fn parse_day(&mut self, word: &str, rule: &mut RecurrenceRule) -> Result<(), String> {
        if let Some(weekday) = parse_day_of_week(word) {
            rule.by_day.push(NthWeekday { nth: 0, weekday });
            return Ok(());
        }
        let mut nth = parse_ordinal(word).ok_or_else(|| unexpected_word(word))?;
        if nth > 0 && self.skip_any(&["last"]) {
            nth = -nth;
        }
        if let Some(weekday) = self.peek_word().and_then(parse_day_of_week) {
            self.at += 1;
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
            rule.by_day.push(NthWeekday { nth, weekday });
            return Ok(());
        }
        self.skip_any(&["day"]);
        if nth.abs() > 31 {
            return Err(format!("{word}: a month has 31 days at most"));
        }
        rule.by_month_day.push(nth);
        Ok(())
    }
}

/// Returns the rule for Monday to Friday.
fn weekdays() -> RecurrenceRule {
    let mut rule = RecurrenceRule::every(Frequency::Weekly);
    let days = Weekday::ALL.into_iter().take(5);
    rule.by_day = days.map(|weekday| NthWeekday { nth: 0, weekday }).collect();
    rule
}

/// Parses the name of a weekday, also a plural: `mondays`.
fn parse_day_of_week(word: &str) -> Option<Weekday> {
    parse_weekday(word).or_else(|| parse_weekday(word.strip_suffix('s')?))
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
    let digits = ["st", "nd", "rd", "th"]
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
    use etui::calendar::time::{Date, DateTimeValue, TimeZone};
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
                parse_recurrence(text, now()).unwrap().to_string(),
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
            "weekly mon",
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
            assert!(parse_recurrence(text, now()).is_err(), "{text}");
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
            prop_assert_eq!(parse_recurrence(&words, now()), Ok(rule), "{}", words);
        }

        #[test]
        fn any_text_is_parsed_or_rejected(text in "\\PC{0,30}") {
            let _ = parse_recurrence(&text, now());
        }

        #[test]
        fn similar_text_is_parsed_or_rejected(
            text in "((every|other|[0-9]{1,4}|weeks|mon|on|in|nov|last|2nd|until|times|daily|,) ?){0,9}"
        ) {
            let _ = parse_recurrence(&text, now());
        }
    }
}
