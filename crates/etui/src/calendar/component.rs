//! [`Timing`] from a component's text.

use super::recurrence::{End, Extra, Replaces, Rule, RuleError, Timing};
use super::time::{Duration, Time, TimeError, Value, Zone};
use super::zones::Zones;
use crate::import::lines::{ContentLine, ContentLines};
use crate::import::values::value_of as value;

/// Most dates that are taken from `RDATE` and `EXDATE` of one component, and most rules.
const MAX_DATES: usize = 100_000;
const MAX_RULES: usize = 32;
/// Most warnings that are told of one component: who reads them has understood by then.
const MAX_WARNINGS: usize = 100;

/// Something in a component's time that could not be taken as it is written. The component keeps
/// the rest of its time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimingWarning {
    /// A value that is no date, time or duration; it is left out.
    #[error("{property}: {error}; it is left out")]
    Value {
        /// The property's name.
        property: &'static str,
        /// What is wrong with it.
        error: TimeError,
    },
    /// A rule that is not understood; it is left out.
    #[error("{property}: {error}; the rule is left out")]
    Rule {
        /// `RRULE` or `EXRULE`.
        property: &'static str,
        /// What is wrong with it.
        error: RuleError,
    },
    /// A `TZID` that neither the IANA database nor the file knows; its times are floating.
    #[error("the time zone \"{0}\" is not known and not defined; its times are taken as floating")]
    UnknownZone(String),
    /// More rules or dates than are kept.
    #[error("{0}: too many; the rest is left out")]
    TooMany(&'static str),
}

impl Timing {
    /// Reads the time of one component (`BEGIN:VEVENT` to `END:VEVENT`, or a to-do or journal),
    /// with the zones of its file; what could not be taken is told beside it, each thing once and
    /// at most 100 of them. `None` if no
    /// `DTSTART` (or `DUE`, or `RECURRENCE-ID`, which stand in for it) is there.
    ///
    /// Components inside it, such as alarms, are passed over.
    #[must_use]
    pub fn from_component(text: &[u8], zones: &Zones) -> (Option<Self>, Vec<TimingWarning>) {
        let mut reader = Reader {
            zones,
            warnings: Vec::new(),
        };
        let timing = reader.timing(text);
        (timing, reader.warnings)
    }
}

/// The time that one line gives, with its zone; `None` if it is none.
pub(super) fn time_of(line: &ContentLine<'_>, zones: &Zones) -> Option<Time> {
    let warnings = Vec::new();
    Reader { zones, warnings }.time("", line)
}

struct Reader<'z> {
    zones: &'z Zones,
    warnings: Vec<TimingWarning>,
}

/// The parameters that matter to a time.
#[derive(Default)]
struct Params {
    zone: Option<Zone>,
    and_future: bool,
}

impl Reader<'_> {
    fn timing(&mut self, text: &[u8]) -> Option<Timing> {
        let (mut start, mut due, mut duration, mut replaces) = (None, None, None, None);
        let (mut rules, mut except_rules) = (Vec::new(), Vec::new());
        let (mut dates, mut except_dates) = (Vec::new(), Vec::new());
        let mut depth = 0usize;
        for line in ContentLines::new(text) {
            if line.name_is("BEGIN") {
                depth += 1;
            } else if line.name_is("END") {
                depth = depth.saturating_sub(1);
            }
            if depth > 1 || line.group.is_some() {
                continue;
            }
            if line.name_is("DTSTART") {
                start = start.or(self.time("DTSTART", &line));
            } else if line.name_is("DTEND") {
                due = due.or(self.time("DTEND", &line));
            } else if line.name_is("DUE") {
                due = due.or(self.time("DUE", &line));
            } else if line.name_is("DURATION") {
                duration = duration.or(self.duration("DURATION", value(&line).as_str()));
            } else if line.name_is("RECURRENCE-ID") {
                let and_future = self.params(&line).and_future;
                let id = self.time("RECURRENCE-ID", &line);
                replaces = replaces.or(id.map(|id| Replaces { id, and_future }));
            } else if line.name_is("RRULE") {
                self.rule("RRULE", &line, &mut rules);
            } else if line.name_is("EXRULE") {
                self.rule("EXRULE", &line, &mut except_rules);
            } else if line.name_is("RDATE") {
                self.dates("RDATE", &line, &mut dates);
            } else if line.name_is("EXDATE") {
                let mut extras = Vec::new();
                self.dates("EXDATE", &line, &mut extras);
                except_dates.extend(extras.into_iter().map(|e| e.start));
            }
        }
        let id = replaces.as_ref().map(|r| r.id.clone());
        Some(Timing {
            start: start.or_else(|| due.clone()).or(id)?,
            end: match (due, duration) {
                (Some(due), _) => End::At(due),
                (None, Some(duration)) => End::After(duration),
                (None, None) => End::Unsaid,
            },
            rules,
            except_rules,
            dates,
            except_dates,
            replaces,
        })
    }

    fn warn(&mut self, warning: TimingWarning) {
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn params(&mut self, line: &ContentLine<'_>) -> Params {
        let mut params = Params::default();
        let text = line.unfolded_params();
        for (name, value) in split_params(&String::from_utf8_lossy(&text)) {
            if name.eq_ignore_ascii_case("TZID") {
                params.zone = self.zones.resolve(value);
                if params.zone.is_none() && !value.is_empty() {
                    self.warn(TimingWarning::UnknownZone(value.chars().take(80).collect()));
                }
            } else if name.eq_ignore_ascii_case("RANGE") {
                params.and_future = value.eq_ignore_ascii_case("THISANDFUTURE");
            }
        }
        params
    }

    fn time(&mut self, property: &'static str, line: &ContentLine<'_>) -> Option<Time> {
        let zone = self.params(line).zone;
        self.one_time(property, &value(line), zone.as_ref())
    }

    fn one_time(
        &mut self,
        property: &'static str,
        text: &str,
        zone: Option<&Zone>,
    ) -> Option<Time> {
        match text.parse::<Value>() {
            Ok(value) => Some(value.in_zone(zone)),
            Err(error) => {
                self.warn(TimingWarning::Value { property, error });
                None
            }
        }
    }

    fn duration(&mut self, property: &'static str, text: &str) -> Option<Duration> {
        match text.parse() {
            Ok(duration) => Some(duration),
            Err(error) => {
                self.warn(TimingWarning::Value { property, error });
                None
            }
        }
    }

    fn rule(&mut self, property: &'static str, line: &ContentLine<'_>, rules: &mut Vec<Rule>) {
        if rules.len() >= MAX_RULES {
            self.warn(TimingWarning::TooMany(property));
            return;
        }
        match value(line).parse() {
            Ok(rule) => rules.push(rule),
            Err(error) => self.warn(TimingWarning::Rule { property, error }),
        }
    }

    /// Dates, times and periods, separated by commas.
    fn dates(&mut self, property: &'static str, line: &ContentLine<'_>, dates: &mut Vec<Extra>) {
        let zone = self.params(line).zone;
        for text in value(line).split(',').filter(|t| !t.trim().is_empty()) {
            if dates.len() >= MAX_DATES {
                self.warn(TimingWarning::TooMany(property));
                return;
            }
            let (start, end) = match text.split_once('/') {
                Some((start, end)) => (start, Some(end.trim())),
                None => (text, None),
            };
            let Some(start) = self.one_time(property, start, zone.as_ref()) else {
                continue;
            };
            let end = match end {
                None => None,
                Some(end) if end.starts_with(['P', 'p', '+', '-']) => {
                    self.duration(property, end).map(End::After)
                }
                Some(end) => self.one_time(property, end, zone.as_ref()).map(End::At),
            };
            let end = end.unwrap_or_default();
            dates.push(Extra { start, end });
        }
    }
}

/// Names and values of parameters, without the quotes.
fn split_params(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == ';' && !quoted
    })
    .filter_map(|param| param.split_once('='))
    .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
}
