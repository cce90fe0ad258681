//! [`Alarm`]: alarms of a component (RFC 5545 section 3.6.6, RFC 9074).

use std::ops::Range;

use crate::property_name::PropertyName;
use crate::recurrence::Timing;
use crate::time::{CalendarTime, DateTime, DateTimeValue, Duration, TimeZone, Timestamp};
use crate::timing_reader::TimingReader;
use etui_contentline::lines::ContentLine;
use etui_contentline::values::{param_value, property_value, unescape_text};

/// Limit of repetitions of an alarm.
const MAX_REPETITIONS: u32 = 100;

/// The action of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlarmAction {
    /// Displays its text.
    #[default]
    Display,
    /// Plays a sound.
    Audio,
    /// Sends a mail.
    Email,
    /// None, or an unknown one (Apple's `NONE`, `PROCEDURE`).
    Other,
}

/// The trigger of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmTrigger {
    /// Relative to the start; negative for before it.
    Start(Duration),
    /// Relative to the end; negative for before it.
    End(Duration),
    /// An instant.
    At(Timestamp),
    /// A local time, in whichever time zone it is displayed. RFC 5545 requires UTC; programs write it.
    Local(DateTime),
}

impl AlarmTrigger {
    /// Returns the trigger at a time; a floating time or a day is local.
    pub fn of_time(time: CalendarTime) -> Self {
        match time {
            CalendarTime::Date(_) | CalendarTime::Floating(_) => Self::Local(time.local()),
            time => Self::At(time.at(&TimeZone::UTC)),
        }
    }

    /// Returns true if it is not relative to an instance.
    pub fn is_absolute(self) -> bool {
        matches!(self, Self::At(_) | Self::Local(_))
    }
}

/// An alarm of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// Its action.
    pub action: AlarmAction,
    /// Its trigger.
    pub trigger: AlarmTrigger,
    /// Number of repetitions.
    pub repeat: u32,
    /// Interval of the repetitions; without it there are none.
    pub every: Option<Duration>,
    /// Its text.
    pub description: Option<String>,
    /// `ACKNOWLEDGED`: alarms due up to here are done.
    pub acknowledged: Option<Timestamp>,
}

impl Alarm {
    /// Returns the instants at which it is due for an instance from `start` to `end`, in order;
    /// dates and floating times are resolved in `display_zone`.
    pub fn due(
        &self,
        start: &CalendarTime,
        end: &CalendarTime,
        display_zone: &TimeZone,
    ) -> impl Iterator<Item = Timestamp> {
        let first = self.first_due(start, end, display_zone);
        self.repeat_offsets()
            .map(move |after| first.plus_seconds(after))
    }

    /// Returns the instants of [`due`](Self::due) that are in `range`. Costs O(result).
    pub fn due_within(
        &self,
        start: &CalendarTime,
        end: &CalendarTime,
        display_zone: &TimeZone,
        range: &Range<Timestamp>,
    ) -> impl Iterator<Item = Timestamp> + use<> {
        let first = self.first_due(start, end, display_zone);
        let (every, repeat) = self.repetition();
        let Range {
            start: since,
            end: until,
        } = *range;
        // Repetitions before the range are skipped by a division, not one by one.
        let skipped = match since.seconds().saturating_sub(first.seconds()) {
            ahead if ahead > 0 && every > 0 => ahead / every,
            _ => 0,
        };
        (skipped..=repeat)
            .map(move |n| first.plus_seconds(n.saturating_mul(every)))
            .skip_while(move |at| *at < since)
            .take_while(move |at| *at < until)
    }

    /// Returns the seconds between the trigger and each time it is due, beginning with 0.
    pub fn repeat_offsets(&self) -> impl Iterator<Item = i64> + use<> {
        let (every, repeat) = self.repetition();
        (0..=repeat).map(move |n| n.saturating_mul(every))
    }

    fn first_due(
        &self,
        start: &CalendarTime,
        end: &CalendarTime,
        display_zone: &TimeZone,
    ) -> Timestamp {
        match self.trigger {
            AlarmTrigger::At(at) => at,
            AlarmTrigger::Local(local) => display_zone.to_utc(local),
            AlarmTrigger::Start(after) => add_duration(start, after, display_zone),
            AlarmTrigger::End(after) => add_duration(end, after, display_zone),
        }
    }

    /// Returns the interval of the repetitions in seconds, and their number within the limit.
    fn repetition(&self) -> (i64, i64) {
        let every = self.every.map_or(0, Duration::nominal_seconds);
        match every > 0 {
            true => (every, i64::from(self.repeat.min(MAX_REPETITIONS))),
            false => (0, 0),
        }
    }
}

/// Adds a duration: days by the calendar of the time zone, hours by the clock.
fn add_duration(time: &CalendarTime, by: Duration, display_zone: &TimeZone) -> Timestamp {
    // A floating time is one of the zone of the display.
    let zone = time.zone().unwrap_or(display_zone);
    let local = time.local();
    let (date, of_day) = (
        local.date(),
        local.seconds() - local.date().midnight().seconds(),
    );
    let local = date.plus_days(by.days()).midnight().plus_seconds(of_day);
    zone.to_utc(local).plus_seconds(by.seconds())
}

/// A `VALARM` being read.
#[derive(Debug, Default)]
pub(super) struct AlarmBuilder {
    action: AlarmAction,
    trigger: Option<AlarmTrigger>,
    repeat: u32,
    every: Option<Duration>,
    description: Option<String>,
    acknowledged: Option<Timestamp>,
}

impl AlarmBuilder {
    pub(super) fn read_line<'t>(
        &mut self,
        line: &ContentLine<'t>,
        name: Option<PropertyName>,
        times: &mut TimingReader<'t, '_>,
    ) {
        let value = || property_value(line);
        match name {
            Some(PropertyName::Action) => {
                self.action = match value().to_ascii_uppercase().as_str() {
                    "DISPLAY" => AlarmAction::Display,
                    "AUDIO" => AlarmAction::Audio,
                    "EMAIL" => AlarmAction::Email,
                    _ => AlarmAction::Other,
                };
            }
            Some(PropertyName::Trigger) => {
                self.trigger = self.trigger.or_else(|| read_trigger(line, times))
            }
            Some(PropertyName::Repeat) => self.repeat = value().parse().unwrap_or(0),
            Some(PropertyName::Duration) => self.every = value().parse().ok(),
            Some(PropertyName::Description) => self.description = Some(unescape_text(&value())),
            Some(PropertyName::Acknowledged) => {
                let time = times.time_of(line);
                self.acknowledged = time.map(|time| time.at(&TimeZone::UTC));
            }
            _ => {}
        }
    }

    /// Returns the alarm; `None` without a valid trigger.
    pub(super) fn build(self) -> Option<Alarm> {
        Some(Alarm {
            action: self.action,
            trigger: self.trigger?,
            repeat: self.repeat,
            every: self.every,
            description: self.description.filter(|text| !text.is_empty()),
            acknowledged: self.acknowledged,
        })
    }
}

/// Reads an alarm of vCalendar 1.0, which has a time of its own: `DALARM:20260105T084500;PT5M;2;Text`.
pub(super) fn read_dated_alarm(
    line: &ContentLine<'_>,
    name: PropertyName,
) -> Option<(Alarm, DateTimeValue)> {
    let value = property_value(line);
    let mut fields = value.splitn(4, ';').map(str::trim);
    let at: DateTimeValue = fields.next()?.parse().ok()?;
    let every = fields.next().and_then(|every| every.parse().ok());
    let repeat = fields.next().and_then(|count| count.parse().ok());
    let is_display = name == PropertyName::DisplayAlarm;
    let text = fields.next().filter(|text| is_display && !text.is_empty());
    let alarm = Alarm {
        action: match is_display {
            true => AlarmAction::Display,
            false => AlarmAction::Audio,
        },
        trigger: AlarmTrigger::Local(at.local()),
        repeat: repeat.unwrap_or(0),
        every,
        description: text.map(unescape_text),
        acknowledged: None,
    };
    Some((alarm, at))
}

impl Alarm {
    /// Returns an alarm with a time of its own. That of a series is one of its start, so that each of its times
    /// has it.
    pub(super) fn dated(self, at: DateTimeValue, timing: Option<&Timing>) -> Self {
        let series = timing.filter(|timing| !timing.rules.is_empty() || !timing.dates.is_empty());
        let zone = series.and_then(|timing| timing.start.zone());
        let own = at.in_zone(None);
        let trigger = match series {
            Some(timing) => {
                // Without a zone any will do: only the difference of the two times counts.
                let zone = zone.unwrap_or(&TimeZone::UTC);
                let (at, start) = (own.at(zone).seconds(), timing.start.at(zone).seconds());
                AlarmTrigger::Start(Duration::from_seconds(at - start))
            }
            None => AlarmTrigger::of_time(own),
        };
        Self { trigger, ..self }
    }
}

fn read_trigger<'t>(
    line: &ContentLine<'t>,
    times: &mut TimingReader<'t, '_>,
) -> Option<AlarmTrigger> {
    if let Ok(after) = property_value(line).parse::<Duration>() {
        let of_end = param_value(line, "RELATED").is_some_and(|r| r.eq_ignore_ascii_case("END"));
        return Some(match of_end {
            true => AlarmTrigger::End(after),
            false => AlarmTrigger::Start(after),
        });
    }
    times.time_of(line).map(AlarmTrigger::of_time)
}
