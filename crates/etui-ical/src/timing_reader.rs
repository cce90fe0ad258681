//! [`Timing`] from a component's text.

use std::borrow::Cow;

use crate::property_name::PropertyName;
use crate::recurrence::{EventEnd, RDate, RecurrenceId, RecurrenceRule, RuleError, Timing};
use crate::time::{CalendarTime, DateTimeValue, Duration, TimeError, TimeZone};
use crate::zones::TimeZoneResolver;
use etui_contentline::lines::{ContentLine, ContentLines, param_end};
use etui_contentline::values::{property_params, property_value as value, trim_spaces};

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
    pub fn from_component(
        text: &[u8],
        zones: &TimeZoneResolver,
    ) -> (Option<Self>, Vec<TimingWarning>) {
        let mut reader = TimingReader::new(zones);
        for line in ContentLines::new(text) {
            reader.take(&line, PropertyName::of(&line));
        }
        reader.finish()
    }
}

/// Reads the time of one component, line by line.
pub(super) struct TimingReader<'t, 'z> {
    zones: &'z TimeZoneResolver,
    /// The parameters met last, and what they say: those of a start and its end mostly are the
    /// same. None of which something would have to be told.
    last: Option<(&'t str, Params)>,
    depth: usize,
    start: Option<CalendarTime>,
    due: Option<CalendarTime>,
    duration: Option<Duration>,
    replaces: Option<RecurrenceId>,
    rules: Vec<RecurrenceRule>,
    exception_rules: Vec<RecurrenceRule>,
    dates: Vec<RDate>,
    exception_dates: Vec<CalendarTime>,
    warnings: Vec<TimingWarning>,
}

/// The parameters that matter to a time.
#[derive(Clone, Default)]
struct Params {
    zone: Option<TimeZone>,
    this_and_future: bool,
}

impl<'t, 'z> TimingReader<'t, 'z> {
    pub(super) fn new(zones: &'z TimeZoneResolver) -> Self {
        Self {
            zones,
            last: None,
            depth: 0,
            start: None,
            due: None,
            duration: None,
            replaces: None,
            rules: Vec::new(),
            exception_rules: Vec::new(),
            dates: Vec::new(),
            exception_dates: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Takes in the next line, which has this name; lines of components inside are passed over.
    /// Tells the time of a start or an end, if it has read it.
    pub(super) fn take(
        &mut self,
        line: &ContentLine<'t>,
        name: Option<PropertyName>,
    ) -> Option<CalendarTime> {
        let name = name?;
        match name {
            PropertyName::Begin => self.depth += 1,
            PropertyName::End => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.depth > 1 || line.group.is_some() {
            return None;
        }
        match name {
            PropertyName::Start => {
                let start = self.time("DTSTART", line);
                self.start = self.start.take().or_else(|| start.clone());
                return start;
            }
            PropertyName::EndTime => return self.end("DTEND", line),
            PropertyName::Due => return self.end("DUE", line),
            PropertyName::Duration => {
                let duration = self.duration("DURATION", &value(line));
                self.duration = self.duration.or(duration);
            }
            PropertyName::RecurrenceId => {
                let Params {
                    zone,
                    this_and_future,
                } = self.params(line);
                let id = self.one_time("RECURRENCE-ID", &value(line), zone.as_ref());
                let replaces = id.map(|id| RecurrenceId {
                    id,
                    this_and_future,
                });
                self.replaces = self.replaces.take().or(replaces);
            }
            PropertyName::RecurrenceRule => {
                let rule = self.rule("RRULE", line, self.rules.len());
                self.rules.extend(rule);
            }
            PropertyName::ExceptRule => {
                let rule = self.rule("EXRULE", line, self.exception_rules.len());
                self.exception_rules.extend(rule);
            }
            PropertyName::RecurrenceDates => {
                let mut dates = std::mem::take(&mut self.dates);
                self.dates("RDATE", line, &mut dates);
                self.dates = dates;
            }
            PropertyName::ExceptDates => {
                let mut extras = Vec::new();
                self.dates("EXDATE", line, &mut extras);
                self.exception_dates
                    .extend(extras.into_iter().map(|e| e.start));
            }
            _ => {}
        }
        None
    }

    fn end(&mut self, property: &'static str, line: &ContentLine<'t>) -> Option<CalendarTime> {
        let end = self.time(property, line);
        self.due = self.due.take().or_else(|| end.clone());
        end
    }

    /// What was read, and what could not be taken.
    pub(super) fn finish(self) -> (Option<Timing>, Vec<TimingWarning>) {
        let id = self.replaces.as_ref().map(|r| r.id.clone());
        let start = self.start.or_else(|| self.due.clone()).or(id);
        let end = match (self.due, self.duration) {
            (Some(due), _) => EventEnd::At(due),
            (None, Some(duration)) => EventEnd::After(duration),
            (None, None) => EventEnd::Unsaid,
        };
        let timing = start.map(|start| Timing {
            start,
            end,
            rules: self.rules,
            exception_rules: self.exception_rules,
            dates: self.dates,
            exception_dates: self.exception_dates,
            replaces: self.replaces,
        });
        (timing, self.warnings)
    }

    /// The time that a line gives, with its zone; `None` if it is none, of which nothing is told.
    pub(super) fn time_of(&mut self, line: &ContentLine<'t>) -> Option<CalendarTime> {
        let told = self.warnings.len();
        let time = self.time("", line);
        self.warnings.truncate(told);
        time
    }

    fn warn(&mut self, warning: TimingWarning) {
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn params(&mut self, line: &ContentLine<'t>) -> Params {
        let mut params = Params::default();
        if line.params.is_empty() {
            return params;
        }
        let text = property_params(line);
        if let Some((last, params)) = &self.last
            && *last == text
        {
            return params.clone();
        }
        let told = self.warnings.len();
        for (name, value) in split_params(&text) {
            if name.eq_ignore_ascii_case("TZID") {
                params.zone = self.zones.resolve(value);
                if params.zone.is_none() && !value.is_empty() {
                    self.warn(TimingWarning::UnknownZone(value.chars().take(80).collect()));
                }
            } else if name.eq_ignore_ascii_case("RANGE") {
                params.this_and_future = value.eq_ignore_ascii_case("THISANDFUTURE");
            }
        }
        if let Cow::Borrowed(text) = text
            && self.warnings.len() == told
        {
            self.last = Some((text, params.clone()));
        }
        params
    }

    fn time(&mut self, property: &'static str, line: &ContentLine<'t>) -> Option<CalendarTime> {
        let zone = self.params(line).zone;
        self.one_time(property, &value(line), zone.as_ref())
    }

    fn one_time(
        &mut self,
        property: &'static str,
        text: &str,
        zone: Option<&TimeZone>,
    ) -> Option<CalendarTime> {
        match text.parse::<DateTimeValue>() {
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

    /// A rule, if there are not too many so far.
    fn rule(
        &mut self,
        property: &'static str,
        line: &ContentLine<'_>,
        so_far: usize,
    ) -> Option<RecurrenceRule> {
        if so_far >= MAX_RULES {
            self.warn(TimingWarning::TooMany(property));
            return None;
        }
        match value(line).parse() {
            Ok(rule) => Some(rule),
            Err(error) => {
                self.warn(TimingWarning::Rule { property, error });
                None
            }
        }
    }

    /// Dates, times and periods, separated by commas.
    fn dates(&mut self, property: &'static str, line: &ContentLine<'t>, dates: &mut Vec<RDate>) {
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
                    self.duration(property, end).map(EventEnd::After)
                }
                Some(end) => self
                    .one_time(property, end, zone.as_ref())
                    .map(EventEnd::At),
            };
            let end = end.unwrap_or_default();
            dates.push(RDate { start, end });
        }
    }
}

/// Names and values of parameters, without the quotes.
fn split_params(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = Some(text);
    let each = std::iter::from_fn(move || {
        let text = rest?;
        let end = param_end(text.as_bytes());
        rest = text.get(end + 1..);
        text.get(..end)
    });
    each.filter_map(|param| param.split_once('='))
        .map(|(name, value)| (trim_spaces(name), trim_spaces(value).trim_matches('"')))
}
