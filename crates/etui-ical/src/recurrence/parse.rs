//! The text form of rules.
//!
//! ```text
//! rule := part ( ";" part )*
//! part := FREQ "=" name | INTERVAL "=" n | COUNT "=" n | UNTIL "=" date or time
//!       | ( BYSECOND | BYMINUTE | BYHOUR | BYMONTHDAY | BYYEARDAY | BYWEEKNO | BYMONTH
//!         | BYSETPOS ) "=" n ( "," n )*
//!       | BYDAY "=" [n] weekday ( "," [n] weekday )* | WKST "=" weekday
//! ```
//!
//! Accepted beyond RFC 5545, as found in files: any order and case, blanks around parts
//! and values, empty parts (`;` at the end), `RRULE:` before the rule, `INTERVAL=0` for 1,
//! `RSCALE=GREGORIAN` and `SKIP` (RFC 7529), and extension parts (`X-...`), which are ignored.

use std::str::FromStr;

use super::rule::{Frequency, NthWeekday, RecurrenceRule, Skip};
use super::vcalendar::parse_vcalendar_rule;
use crate::time::{DateTimeValue, Weekday};

/// The error for text that is not a recurrence rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("in the recurrence rule, at character {at}: {problem}")]
pub struct RuleError {
    /// Position of the character, from 1.
    pub at: usize,
    /// The problem and its correction.
    pub problem: String,
}

/// Longest accepted text, in bytes: a rule with every list in full has 5 kB.
const MAX_TEXT: usize = 16 << 10;

impl FromStr for RecurrenceRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let mut parser = RuleParser {
            text,
            seen: Vec::new(),
        };
        if text.len() > MAX_TEXT {
            return Err(parser.error_at(text, "too long; at most 16 kB are read"));
        }
        parser.parse_rule()
    }
}

struct RuleParser<'a> {
    text: &'a str,
    /// Names of the parts so far.
    seen: Vec<&'a str>,
}

impl<'a> RuleParser<'a> {
    /// Returns an error at the start of `part`, which is a slice of the text.
    fn error_at(&self, part: &str, problem: impl Into<String>) -> RuleError {
        let byte = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        RuleError {
            at: self.text.get(..byte).map_or(0, |t| t.chars().count()) + 1,
            problem: problem.into(),
        }
    }

    fn parse_rule(&mut self) -> Result<RecurrenceRule, RuleError> {
        let trimmed = self.text.trim();
        let body = match trimmed.split_once(':') {
            Some((name, body))
                if ["RRULE", "EXRULE"]
                    .iter()
                    .any(|n| name.trim().eq_ignore_ascii_case(n)) =>
            {
                body
            }
            _ => trimmed,
        };
        if !body.contains('=')
            && let Some(rule) = parse_vcalendar_rule(body)
        {
            return Ok(rule);
        }
        let mut rule = RecurrenceRule::every(Frequency::Daily);
        for part in body.split(';') {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            let Some((name, value)) = part.split_once('=') else {
                return Err(self.error_at(part, format!("\"{}\" has no \"=\"", excerpt(part))));
            };
            let (name, value) = (name.trim_end(), value.trim());
            if self.seen.iter().any(|n| n.eq_ignore_ascii_case(name)) {
                return Err(self.error_at(part, format!("{} occurs twice", excerpt(name))));
            }
            self.seen.push(name);
            self.parse_part(&mut rule, name, value)?;
        }
        if self.seen.iter().any(|n| n.eq_ignore_ascii_case("FREQ")) {
            Ok(rule)
        } else {
            Err(self.error_at(body, "FREQ is missing; write FREQ=WEEKLY or the like"))
        }
    }

    fn parse_part(
        &self,
        rule: &mut RecurrenceRule,
        name: &'a str,
        value: &'a str,
    ) -> Result<(), RuleError> {
        match name.to_ascii_uppercase().as_str() {
            "FREQ" => rule.frequency = self.parse_frequency(value)?,
            // An interval of 0 would never advance.
            "INTERVAL" => rule.interval = self.parse_number::<u32>(value)?.max(1),
            "COUNT" => match self.parse_number(value)? {
                0 => return Err(self.error_at(value, "COUNT must be 1 or more")),
                count => rule.count = Some(count),
            },
            "UNTIL" => {
                let until: Result<DateTimeValue, _> = value.parse();
                rule.until = Some(until.map_err(|e| self.error_at(value, format!("UNTIL: {e}")))?);
            }
            "BYSECOND" => rule.by_second = self.parse_numbers(name, value, 0..=60)?,
            "BYMINUTE" => rule.by_minute = self.parse_numbers(name, value, 0..=59)?,
            "BYHOUR" => rule.by_hour = self.parse_numbers(name, value, 0..=23)?,
            "BYDAY" => rule.by_day = self.parse_weekdays(value)?,
            "BYMONTHDAY" => rule.by_month_day = self.parse_ordinals(name, value, 31)?,
            "BYYEARDAY" => rule.by_year_day = self.parse_ordinals(name, value, 366)?,
            "BYWEEKNO" => rule.by_week = self.parse_ordinals(name, value, 53)?,
            "BYMONTH" => rule.by_month = self.parse_numbers(name, value, 1..=12)?,
            "BYSETPOS" => rule.by_position = self.parse_ordinals(name, value, 366)?,
            "WKST" => {
                rule.week_start = Weekday::from_code(value)
                    .ok_or_else(|| self.error_at(value, "WKST must be one of MO to SU"))?;
            }
            "RSCALE" if value.eq_ignore_ascii_case("GREGORIAN") => {}
            "RSCALE" => {
                return Err(self.error_at(value, "only RSCALE=GREGORIAN is known (RFC 7529)"));
            }
            "SKIP" => {
                rule.skip = match value.to_ascii_uppercase().as_str() {
                    "OMIT" => Skip::Omit,
                    "BACKWARD" => Skip::Backward,
                    "FORWARD" => Skip::Forward,
                    _ => {
                        let problem = "SKIP must be OMIT, BACKWARD or FORWARD (RFC 7529)";
                        return Err(self.error_at(value, problem));
                    }
                };
            }
            other if other.starts_with("X-") => {}
            _ => {
                return Err(self.error_at(name, format!("there is no part \"{}\"", excerpt(name))));
            }
        }
        Ok(())
    }

    fn parse_frequency(&self, value: &str) -> Result<Frequency, RuleError> {
        let found = Frequency::NAMES
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(value));
        found.map(|(_, f)| *f).ok_or_else(|| {
            let known: Vec<_> = Frequency::NAMES.iter().map(|(n, _)| *n).collect();
            self.error_at(value, format!("FREQ must be one of {}", known.join(", ")))
        })
    }

    fn parse_number<T: FromStr>(&self, value: &str) -> Result<T, RuleError> {
        value
            .parse()
            .map_err(|_| self.error_at(value, format!("\"{}\" is no number", excerpt(value))))
    }

    /// Parses numbers of a range.
    fn parse_numbers(
        &self,
        name: &str,
        value: &'a str,
        range: std::ops::RangeInclusive<u8>,
    ) -> Result<Vec<u8>, RuleError> {
        value
            .split(',')
            .map(|item| {
                let item = item.trim();
                let n: u8 = self.parse_number(item)?;
                if range.contains(&n) {
                    return Ok(n);
                }
                let (from, to) = (range.start(), range.end());
                Err(self.error_at(item, format!("{} goes from {from} to {to}", excerpt(name))))
            })
            .collect()
    }

    /// Parses numbers from 1 to `most` and from -1 to -`most`.
    fn parse_ordinals<T: TryFrom<i16>>(
        &self,
        name: &str,
        value: &'a str,
        most: i16,
    ) -> Result<Vec<T>, RuleError> {
        value
            .split(',')
            .map(|item| {
                let item = item.trim();
                let n: i16 = self.parse_number(item)?;
                match T::try_from(n) {
                    Ok(ordinal) if n != 0 && (-most..=most).contains(&n) => Ok(ordinal),
                    _ => Err(self.error_at(
                        item,
                        format!("{} goes from 1 to {most} or -1 to -{most}", excerpt(name)),
                    )),
                }
            })
            .collect()
    }

    fn parse_weekdays(&self, value: &'a str) -> Result<Vec<NthWeekday>, RuleError> {
        value
            .split(',')
            .map(|item| {
                let item = item.trim();
                let wrong = || {
                    self.error_at(item, "BYDAY must be of MO to SU, each perhaps with 1 to 53 or -1 to -53 before it")
                };
                let letters = item.len().checked_sub(2).ok_or_else(wrong)?;
                let (nth, code) = item.split_at_checked(letters).ok_or_else(wrong)?;
                let weekday = Weekday::from_code(code).ok_or_else(wrong)?;
                let nth = match nth.trim_end() {
                    "" => 0,
                    text => match text.parse() {
                        Ok(n) if n != 0 && (-53..=53).contains(&n) => n,
                        _ => return Err(wrong()),
                    },
                };
                Ok(NthWeekday { nth, weekday })
            })
            .collect()
    }
}

/// Returns the start of a text, for a message.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rules_round_trip() {
        for text in [
            "FREQ=DAILY",
            "FREQ=WEEKLY;UNTIL=19971224T000000Z;INTERVAL=2;BYDAY=MO,WE,FR;WKST=SU",
            "FREQ=YEARLY;UNTIL=20001231;BYDAY=20MO,-1SU;BYWEEKNO=-1,20;BYMONTH=1,12",
            "FREQ=SECONDLY;COUNT=4294967295;INTERVAL=4294967295;BYSECOND=0,60;BYMINUTE=59;BYHOUR=23",
            "FREQ=MONTHLY;BYMONTHDAY=-31,31;BYYEARDAY=-366,366;BYSETPOS=-366,366",
            "RSCALE=GREGORIAN;FREQ=YEARLY;WKST=SU;SKIP=BACKWARD",
        ] {
            let rule: RecurrenceRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
        }
    }

    #[test]
    fn variants_in_files_are_parsed() {
        for (text, expected) in [
            ("freq=weekly;byday=mo;", "FREQ=WEEKLY;BYDAY=MO"),
            ("RRULE:FREQ=DAILY;;COUNT=3;", "FREQ=DAILY;COUNT=3"),
            (" INTERVAL=1 ; FREQ = DAILY ", "FREQ=DAILY"),
            ("FREQ=DAILY;INTERVAL=0", "FREQ=DAILY"),
            (
                "FREQ=MONTHLY;BYDAY=+1MO, 2 TU",
                "FREQ=MONTHLY;BYDAY=1MO,2TU",
            ),
            ("FREQ=DAILY;UNTIL=1997-12-24", "FREQ=DAILY;UNTIL=19971224"),
            (
                "RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=OMIT;X-A=B",
                "FREQ=YEARLY",
            ),
            (
                "RSCALE=gregorian;FREQ=MONTHLY;SKIP=Forward;BYMONTHDAY=31",
                "RSCALE=GREGORIAN;FREQ=MONTHLY;BYMONTHDAY=31;SKIP=FORWARD",
            ),
        ] {
            assert_eq!(
                text.parse::<RecurrenceRule>().unwrap().to_string(),
                expected
            );
        }
    }

    #[test]
    fn errors_name_their_position() {
        for (text, at, says) in [
            ("", 1, "FREQ is missing"),
            ("COUNT=3", 1, "FREQ is missing"),
            ("FREQ=FORTNIGHTLY", 6, "FREQ must be one of"),
            ("FREQ=DAILY;COUNT=x", 18, "\"x\" is no number"),
            ("FREQ=DAILY;COUNT=0", 18, "COUNT must be 1"),
            ("FREQ=DAILY;COUNT=-1", 18, "\"-1\" is no number"),
            ("FREQ=DAILY;COUNT=1;COUNT=2", 20, "twice"),
            ("FREQ=DAILY;BYDAY=MO,XX", 21, "BYDAY must be"),
            ("FREQ=DAILY;BYDAY=MO,0TU", 21, "BYDAY must be"),
            ("FREQ=DAILY;BYDAY=MO,ä", 21, "BYDAY must be"),
            ("FREQ=DAILY;BYDAY=", 18, "BYDAY must be"),
            ("FREQ=DAILY;BYMONTH=1,13", 22, "BYMONTH goes from 1 to 12"),
            (
                "FREQ=DAILY;BYMONTHDAY=0",
                23,
                "BYMONTHDAY goes from 1 to 31",
            ),
            ("FREQ=DAILY;UNTIL=never", 18, "UNTIL: \"never\" is no date"),
            ("FREQ=DAILY;SOMETIMES", 12, "has no \"=\""),
            ("FREQ=DAILY;BYEASTER=1", 12, "there is no part"),
            ("RSCALE=CHINESE;FREQ=YEARLY", 8, "only RSCALE=GREGORIAN"),
            ("FREQ=YEARLY;SKIP=NEXT", 18, "SKIP must be"),
        ] {
            let error = text.parse::<RecurrenceRule>().unwrap_err();
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.problem.contains(says), "{text}: {error}");
        }
    }
}
