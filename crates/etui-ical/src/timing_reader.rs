//! [`Timing`] from the text of a component.

use std::borrow::Cow;

use crate::property_name::PropertyName;
use crate::recurrence::{EventEnd, RDate, RecurrenceId, RecurrenceRule, RuleError, Timing};
use crate::time::{CalendarTime, DateTimeValue, Duration, TimeError, TimeZone};
use crate::zones::TimeZoneResolver;
use etui_contentline::edit::head_without;
use etui_contentline::lines::{ContentLine, ContentLines, param_end};
use etui_contentline::values::{
    param_value, property_params, property_value as value, trim_spaces,
};

/// Limits of dates taken from `RDATE` and `EXDATE` of one component, and of its rules.
const MAX_DATES: usize = 100_000;
const MAX_RULES: usize = 32;
/// Limit of warnings per component.
const MAX_WARNINGS: usize = 100;

/// A part of a component's times that could not be used as written. The rest of its times is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimingWarning {
    /// A value that is not a date, time or duration; it is ignored.
    #[error("{property}: {error}; it is ignored")]
    Value {
        /// Name of the property.
        property: &'static str,
        /// The error.
        error: TimeError,
    },
    /// A rule that cannot be parsed; it is ignored.
    #[error("{property}: {error}; the rule is ignored")]
    Rule {
        /// `RRULE` or `EXRULE`.
        property: &'static str,
        /// The error.
        error: RuleError,
    },
    /// A `TZID` that neither the IANA database nor the file defines; its times are floating.
    #[error("the time zone \"{0}\" is not known and not defined; its times are taken as floating")]
    UnknownZone(String),
    /// More rules or dates than the limit.
    #[error("{0}: too many; the rest is ignored")]
    TooMany(&'static str),
}

impl Timing {
    /// Reads the times of one component (`BEGIN:VEVENT` to `END:VEVENT`, or a to-do or journal),
    /// with the time zones of its file. Warnings are returned beside them, each once and at most
    /// 100. Returns `None` without a `DTSTART` (or `DUE` or `RECURRENCE-ID`, which replace it).
    ///
    /// Nested components, such as alarms, are skipped.
    pub fn from_component(
        text: &[u8],
        zones: &TimeZoneResolver,
    ) -> (Option<Self>, Vec<TimingWarning>) {
        let mut reader = TimingReader::new(zones);
        for line in ContentLines::new(text) {
            reader.read_line(&line, PropertyName::of_line(&line));
        }
        reader.finish()
    }
}

/// Reads the times of one component line by line.
pub(super) struct TimingReader<'t, 'z> {
    zones: &'z TimeZoneResolver,
    /// The last parameters without a warning and their meaning: those of start and end are mostly
    /// equal.
    last: Option<(&'t str, TimeParams)>,
    depth: usize,
    start: Option<CalendarTime>,
    due: Option<CalendarTime>,
    duration: Option<Duration>,
    recurrence_id: Option<RecurrenceId>,
    rules: Vec<RecurrenceRule>,
    exception_rules: Vec<RecurrenceRule>,
    dates: Vec<RDate>,
    exception_dates: Vec<CalendarTime>,
    warnings: Vec<TimingWarning>,
}

/// The parameters that apply to a time.
#[derive(Clone, Default)]
struct TimeParams {
    zone: Option<TimeZone>,
    this_and_future: bool,
    /// `VALUE=DATE`
    is_date: bool,
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
            recurrence_id: None,
            rules: Vec::new(),
            exception_rules: Vec::new(),
            dates: Vec::new(),
            exception_dates: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads the next line, which has this name; lines of nested components are skipped. Returns
    /// the time of a start or an end if it was read.
    pub(super) fn read_line(
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
                let start = self.read_time("DTSTART", line);
                self.start = self.start.take().or_else(|| start.clone());
                return start;
            }
            PropertyName::EndTime => return self.read_end("DTEND", line),
            PropertyName::Due => return self.read_end("DUE", line),
            PropertyName::Duration => {
                let duration = self.parse_duration("DURATION", &value(line));
                self.duration = self.duration.or(duration);
            }
            PropertyName::RecurrenceId => {
                let params = self.read_params(line);
                let id = self.parse_time("RECURRENCE-ID", &time_value(line), &params);
                let recurrence_id = id.map(|id| RecurrenceId {
                    id,
                    this_and_future: params.this_and_future,
                });
                self.recurrence_id = self.recurrence_id.take().or(recurrence_id);
            }
            PropertyName::RecurrenceRule => {
                let rule = self.parse_rule("RRULE", line, self.rules.len());
                self.rules.extend(rule);
            }
            PropertyName::ExceptRule => {
                let rule = self.parse_rule("EXRULE", line, self.exception_rules.len());
                self.exception_rules.extend(rule);
            }
            PropertyName::RecurrenceDates => {
                let mut dates = std::mem::take(&mut self.dates);
                self.parse_dates("RDATE", line, &mut dates);
                self.dates = dates;
            }
            PropertyName::ExceptDates => {
                let mut extras = Vec::new();
                self.parse_dates("EXDATE", line, &mut extras);
                self.exception_dates
                    .extend(extras.into_iter().map(|e| e.start));
            }
            _ => {}
        }
        None
    }

    fn read_end(&mut self, property: &'static str, line: &ContentLine<'t>) -> Option<CalendarTime> {
        let end = self.read_time(property, line);
        self.due = self.due.take().or_else(|| end.clone());
        end
    }

    /// Returns the times and the warnings.
    pub(super) fn finish(self) -> (Option<Timing>, Vec<TimingWarning>) {
        let id = self.recurrence_id.as_ref().map(|r| r.id.clone());
        let start = self.start.or_else(|| self.due.clone()).or(id);
        let end = match (self.due, self.duration) {
            (Some(due), _) => EventEnd::At(due),
            (None, Some(duration)) => EventEnd::After(duration),
            (None, None) => EventEnd::Unspecified,
        };
        let timing = start.map(|start| Timing {
            start,
            end,
            rules: self.rules,
            exception_rules: self.exception_rules,
            dates: self.dates,
            exception_dates: self.exception_dates,
            recurrence_id: self.recurrence_id,
        });
        (timing, self.warnings)
    }

    /// Returns the time of a line with its time zone, without warnings; `None` if it is not a time.
    pub(super) fn time_of(&mut self, line: &ContentLine<'t>) -> Option<CalendarTime> {
        let warned = self.warnings.len();
        let time = self.read_time("", line);
        self.warnings.truncate(warned);
        time
    }

    fn add_warning(&mut self, warning: TimingWarning) {
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn read_params(&mut self, line: &ContentLine<'t>) -> TimeParams {
        let mut params = TimeParams::default();
        if line.params.is_empty() {
            return params;
        }
        let mut text = property_params(line);
        if let Some(whole) = params_with_colon(line) {
            text = Cow::Owned(whole);
        }
        if let Some((last, params)) = &self.last
            && *last == text
        {
            return params.clone();
        }
        let warned = self.warnings.len();
        for (name, value) in split_params(&text) {
            if name.eq_ignore_ascii_case("TZID") {
                params.zone = self.zones.resolve(value);
                if params.zone.is_none() && !value.is_empty() {
                    self.add_warning(TimingWarning::UnknownZone(value.chars().take(80).collect()));
                }
            } else if name.eq_ignore_ascii_case("VALUE") {
                params.is_date = value.eq_ignore_ascii_case("DATE");
            } else if name.eq_ignore_ascii_case("RANGE") {
                params.this_and_future = value.eq_ignore_ascii_case("THISANDFUTURE");
            }
        }
        if let Cow::Borrowed(text) = text
            && self.warnings.len() == warned
        {
            self.last = Some((text, params.clone()));
        }
        params
    }

    fn read_time(
        &mut self,
        property: &'static str,
        line: &ContentLine<'t>,
    ) -> Option<CalendarTime> {
        let params = self.read_params(line);
        self.parse_time(property, &time_value(line), &params)
    }

    fn parse_time(
        &mut self,
        property: &'static str,
        text: &str,
        params: &TimeParams,
    ) -> Option<CalendarTime> {
        match text.parse::<DateTimeValue>() {
            // Some programs write a time of day, which the type does not have.
            Ok(value) if params.is_date => Some(CalendarTime::Date(value.local().date())),
            Ok(value) => Some(value.in_zone(params.zone.as_ref())),
            Err(error) => {
                self.add_warning(TimingWarning::Value { property, error });
                None
            }
        }
    }

    fn parse_duration(&mut self, property: &'static str, text: &str) -> Option<Duration> {
        match text.parse() {
            Ok(duration) => Some(duration),
            Err(error) => {
                self.add_warning(TimingWarning::Value { property, error });
                None
            }
        }
    }

    /// Parses a rule, unless there are too many.
    fn parse_rule(
        &mut self,
        property: &'static str,
        line: &ContentLine<'_>,
        so_far: usize,
    ) -> Option<RecurrenceRule> {
        if so_far >= MAX_RULES {
            self.add_warning(TimingWarning::TooMany(property));
            return None;
        }
        match value(line).parse() {
            Ok(rule) => Some(rule),
            Err(error) => {
                self.add_warning(TimingWarning::Rule { property, error });
                None
            }
        }
    }

    /// Parses dates, times and periods separated by commas, or by semicolons as in vCalendar 1.0.
    fn parse_dates(
        &mut self,
        property: &'static str,
        line: &ContentLine<'t>,
        dates: &mut Vec<RDate>,
    ) {
        let params = self.read_params(line);
        let value = time_value(line);
        for text in value.split([',', ';']).filter(|t| !t.trim().is_empty()) {
            if dates.len() >= MAX_DATES {
                self.add_warning(TimingWarning::TooMany(property));
                return;
            }
            let (start, end) = match text.split_once('/') {
                Some((start, end)) => (start, Some(end.trim())),
                None => (text, None),
            };
            let Some(start) = self.parse_time(property, start, &params) else {
                continue;
            };
            let end = match end {
                None => None,
                Some(end) if end.starts_with(['P', 'p', '+', '-']) => {
                    self.parse_duration(property, end).map(EventEnd::After)
                }
                Some(end) => self.parse_time(property, end, &params).map(EventEnd::At),
            };
            let end = end.unwrap_or_default();
            dates.push(RDate { start, end });
        }
    }
}

/// Returns the parameters of a time whose `TZID` has a colon and no quotes, as Google and Exchange write
/// (RFC 5545 section 3.2 requires quotes): what precedes the last colon belongs to it. `None` for other
/// lines.
///
/// ```text
/// DTSTART;TZID=tzone://Microsoft/Utc:20260708T100000
///         '------ parameters ------' '--- value ---'
/// ```
fn params_with_colon(line: &ContentLine<'_>) -> Option<String> {
    let value = value(line);
    let (rest, _) = split_misplaced(line, &value)?;
    Some(format!("{}:{rest}", property_params(line)))
}

/// Splits a value at the last colon if the part before it belongs to the parameters.
fn split_misplaced<'v>(line: &ContentLine<'_>, value: &'v str) -> Option<(&'v str, &'v str)> {
    if !value.contains(':') {
        return None;
    }
    let (rest, time) = value.rsplit_once(':')?;
    // 1997-07-14T13:30:00 has colons of its own.
    let is_time = time.len() >= 8 && time.bytes().take(8).all(|b| b.is_ascii_digit());
    let params = property_params(line);
    let (name, tzid) = params.rsplit(';').next()?.split_once('=')?;
    let is_open = name.trim().eq_ignore_ascii_case("TZID") && !tzid.contains('"');
    (is_time && is_open).then_some((rest, time))
}

/// Returns the value of a time, without the rest of a `TZID` that has a colon.
pub(super) fn time_value<'t>(line: &ContentLine<'t>) -> Cow<'t, str> {
    match value(line) {
        Cow::Borrowed(text) => {
            let time = split_misplaced(line, text).map_or(text, |(_, time)| time);
            Cow::Borrowed(trim_spaces(time))
        }
        Cow::Owned(text) => {
            let time = split_misplaced(line, &text).map(|(_, time)| time.trim().to_owned());
            Cow::Owned(time.unwrap_or(text))
        }
    }
}

/// Returns the `TZID` of a time, with its colons.
pub(super) fn tzid_of<'t>(line: &ContentLine<'t>) -> Option<Cow<'t, str>> {
    match params_with_colon(line) {
        Some(params) => split_params(&params)
            .find(|(name, _)| name.eq_ignore_ascii_case("TZID"))
            .map(|(_, tzid)| Cow::Owned(tzid.to_owned())),
        None => param_value(line, "TZID"),
    }
}

/// Returns name and parameters of a time, to be written before another value; a `TZID` with a colon is
/// put in quotes.
pub(super) fn time_head(line: &ContentLine<'_>, drop: &[&str]) -> String {
    match params_with_colon(line).and(tzid_of(line)) {
        Some(tzid) => {
            let drop: Vec<&str> = drop.iter().copied().chain(["TZID"]).collect();
            format!("{};TZID=\"{tzid}\"", head_without(line, &drop))
        }
        None => head_without(line, drop),
    }
}

/// Returns names and values of parameters, without quotes.
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
