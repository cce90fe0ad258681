//! [`Alarm`]: when a component wants to be noticed (RFC 5545 §3.6.6, RFC 9074).

use crate::property_name::PropertyName;
use crate::time::{CalendarTime, Duration, TimeZone, Timestamp};
use crate::timing_reader::TimingReader;
use etui_contentline::lines::ContentLine;
use etui_contentline::values::{param_value, property_value, unescape_text};

/// Repetitions of an alarm that are told of.
const MOST_REPEATED: u32 = 100;

/// What an alarm does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlarmAction {
    /// Shows its text.
    #[default]
    Display,
    /// Sounds.
    Audio,
    /// Sends a mail.
    Email,
    /// Nothing, or nothing that is known here (Apple's `NONE`, `PROCEDURE`).
    Other,
}

/// When an alarm is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmTrigger {
    /// So long after the start, or before it.
    Start(Duration),
    /// So long after the end, or before it.
    End(Duration),
    /// At an instant.
    At(Timestamp),
}

/// An alarm of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// What it does.
    pub action: AlarmAction,
    /// When it is due.
    pub trigger: AlarmTrigger,
    /// How often it is repeated after that.
    pub repeat: u32,
    /// The time between two of them; none are repeated without.
    pub every: Option<Duration>,
    /// Its text.
    pub description: Option<String>,
    /// When it was last acknowledged (`ACKNOWLEDGED`); what was due before is done with.
    pub acknowledged: Option<Timestamp>,
}

impl Alarm {
    /// When it is due for an instance from `start` to `end`, in order; days and floating times are
    /// read in the zone `viewer`.
    pub fn due(
        &self,
        start: &CalendarTime,
        end: &CalendarTime,
        viewer: &TimeZone,
    ) -> impl Iterator<Item = Timestamp> {
        let first = match self.trigger {
            AlarmTrigger::At(at) => at,
            AlarmTrigger::Start(after) => moved(start, after, viewer),
            AlarmTrigger::End(after) => moved(end, after, viewer),
        };
        self.repeat_offsets()
            .map(move |after| first.plus_seconds(after))
    }

    /// Seconds after it is first due at which it is due, 0 first.
    pub fn repeat_offsets(&self) -> impl Iterator<Item = i64> + use<> {
        let every = self.every.map_or(0, Duration::nominal_seconds);
        let repeat = match every > 0 {
            true => self.repeat.min(MOST_REPEATED),
            false => 0,
        };
        (0..=i64::from(repeat)).map(move |n| n.saturating_mul(every))
    }
}

/// `time` and a duration: days by the calendar of its zone, hours by the clock.
fn moved(time: &CalendarTime, by: Duration, viewer: &TimeZone) -> Timestamp {
    let zone = time.zone().unwrap_or(viewer);
    let wall = time.local();
    let (date, of_day) = (
        wall.date(),
        wall.seconds() - wall.date().midnight().seconds(),
    );
    let wall = date.plus_days(by.days()).midnight().plus_seconds(of_day);
    zone.to_utc(wall).plus_seconds(by.seconds())
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
    pub(super) fn take<'t>(
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
                self.trigger = self.trigger.or_else(|| trigger(line, times))
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

    /// The alarm; `None` without a time that is understood.
    pub(super) fn complete(self) -> Option<Alarm> {
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

fn trigger<'t>(line: &ContentLine<'t>, times: &mut TimingReader<'t, '_>) -> Option<AlarmTrigger> {
    if let Ok(after) = property_value(line).parse::<Duration>() {
        let of_end = param_value(line, "RELATED").is_some_and(|r| r.eq_ignore_ascii_case("END"));
        return Some(match of_end {
            true => AlarmTrigger::End(after),
            false => AlarmTrigger::Start(after),
        });
    }
    // UTC by the letter; a time without zone is read as such.
    let time = times.time_of(line)?;
    Some(AlarmTrigger::At(time.at(&TimeZone::UTC)))
}
