//! [`CalendarComponent`]: the properties of one component.

use std::borrow::Cow;

use super::alarm::{Alarm, AlarmBuilder, read_dated_alarm};
use crate::TimingWarning;
use crate::ics::{ComponentHead, ComponentKind};
use crate::property_name::PropertyName;
use crate::recurrence::{EventEnd, Timing, moved_end};
use crate::time::{CalendarTime, Duration, TimeZone, Timestamp};
use crate::timing_reader::{TimingReader, tzid_of};
use crate::zones::TimeZoneResolver;
use etui_contentline::lines::{ContentLine, ContentLines, Delimiter};
use etui_contentline::values::{param_value, property_value, split_list, unescape_text};

/// Limits of attendees, categories and alarms that are read from one component; its text keeps all.
const MAX_VALUES: usize = 10_000;
const MAX_ALARMS: usize = 256;
/// Limit of `TZID`s noted per component.
const MAX_TZIDS: usize = 256;

/// `STATUS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// `TENTATIVE`
    Tentative,
    /// `CONFIRMED`
    Confirmed,
    /// `CANCELLED`
    Cancelled,
    /// `NEEDS-ACTION`
    NeedsAction,
    /// `IN-PROCESS`
    InProcess,
    /// `COMPLETED`
    Completed,
    /// `DRAFT`
    Draft,
    /// `FINAL`
    Final,
}

impl Status {
    /// Every status with its name in iCalendar.
    pub const ALL: [(&'static str, Self); 8] = [
        ("TENTATIVE", Self::Tentative),
        ("CONFIRMED", Self::Confirmed),
        ("CANCELLED", Self::Cancelled),
        ("NEEDS-ACTION", Self::NeedsAction),
        ("IN-PROCESS", Self::InProcess),
        ("COMPLETED", Self::Completed),
        ("DRAFT", Self::Draft),
        ("FINAL", Self::Final),
    ];

    /// Returns its name in iCalendar.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, status)| *status == self);
        found.map_or("", |(name, _)| name)
    }

    /// Returns the status with this name, in any case; `CANCELED` is cancelled, too.
    pub fn named(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("CANCELED") {
            return Some(Self::Cancelled);
        }
        // vCalendar 1.0
        if text.eq_ignore_ascii_case("NEEDS ACTION") {
            return Some(Self::NeedsAction);
        }
        let found = Self::ALL.iter().find(|(n, _)| n.eq_ignore_ascii_case(text));
        found.map(|(_, status)| *status)
    }
}

/// `CLASS`: the intended audience.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Classification {
    /// Everyone; the default.
    #[default]
    Public,
    /// The owner; also for unknown values (RFC 5545 section 3.8.1.3).
    Private,
    /// A few.
    Confidential,
}

/// An attendee or organizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarUser {
    /// The address, without `mailto:`.
    pub address: String,
    /// `CN`
    pub name: Option<String>,
    /// `ROLE`, as written.
    pub role: Option<String>,
    /// `PARTSTAT`, as written.
    pub answer: Option<String>,
}

/// The alarms of an instance, put off to another time. Thunderbird writes it beside the acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snooze {
    /// The original start of the instance; floating times and dates as if in UTC. `None` for a component
    /// that does not recur.
    pub instance: Option<Timestamp>,
    /// When its alarms are due.
    pub until: Timestamp,
}

/// The properties of one component: an event, a to-do or a journal entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CalendarComponent {
    /// Its kind.
    pub kind: ComponentKind,
    /// `UID`
    pub uid: Option<String>,
    /// `SUMMARY`
    pub summary: Option<String>,
    /// `LOCATION`
    pub location: Option<String>,
    /// `DESCRIPTION`; several of a journal are joined with line breaks.
    pub description: Option<String>,
    /// `CATEGORIES`
    pub categories: Vec<String>,
    /// `STATUS`. A to-do with a `COMPLETED` time (RFC 5545 section 3.8.2.1) or a `PERCENT-COMPLETE` of
    /// 100 (section 3.8.1.8) is completed, unless it is cancelled.
    pub status: Option<Status>,
    /// `CLASS`
    pub class: Classification,
    /// Whether it takes no time in free/busy (`TRANSP:TRANSPARENT`).
    pub transparent: bool,
    /// `ORGANIZER`
    pub organizer: Option<CalendarUser>,
    /// `ATTENDEE`
    pub attendees: Vec<CalendarUser>,
    /// `URL`
    pub url: Option<String>,
    /// `PRIORITY`, 1 the highest, 9 the lowest.
    pub priority: Option<u8>,
    /// `PERCENT-COMPLETE`
    pub percent: Option<u8>,
    /// `SEQUENCE`
    pub sequence: u32,
    /// `DTSTART`
    pub start: Option<CalendarTime>,
    /// `DTEND`
    pub end: Option<CalendarTime>,
    /// `DUE`
    pub due: Option<CalendarTime>,
    /// `DURATION`
    pub duration: Option<Duration>,
    /// `COMPLETED`
    pub completed: Option<CalendarTime>,
    /// `LAST-MODIFIED`
    pub modified: Option<CalendarTime>,
    /// Time up to which its alarms were acknowledged (`X-MOZ-LASTACK`).
    pub acknowledged: Option<CalendarTime>,
    /// Times to which the alarms of instances were put off (`X-MOZ-SNOOZE-TIME`).
    pub snoozes: Vec<Snooze>,
    /// Whether it starts on a date, or Outlook marks a range from midnight to midnight as all-day.
    pub all_day: bool,
    /// Its times and recurrence; `None` if it has none.
    pub timing: Option<Timing>,
    /// Parts of its times that could not be used as written.
    pub warnings: Vec<TimingWarning>,
    /// Its alarms; those without a valid trigger are omitted.
    pub alarms: Vec<Alarm>,
    /// The time zones that only the definitions of its file give, by `TZID`.
    pub defined_zones: Vec<(String, TimeZone)>,
    /// The `TZID`s it uses, each once.
    pub tzids: Vec<String>,
}

impl CalendarComponent {
    /// Returns true if it takes time in free/busy.
    pub fn is_busy(&self) -> bool {
        self.kind == ComponentKind::Event
            && !self.transparent
            && self.status != Some(Status::Cancelled)
    }

    /// Returns true if it overrides an instance of another component (`RECURRENCE-ID`).
    pub fn is_override(&self) -> bool {
        self.timing
            .as_ref()
            .is_some_and(|t| t.recurrence_id.is_some())
    }

    /// Returns when a to-do is due: at `DUE`, else the `DURATION` after its start (RFC 5545 section
    /// 3.6.2). Of other components it is the `DUE` that some programs write.
    pub fn due_time(&self) -> Option<CalendarTime> {
        let timing = self.timing.as_ref();
        let after = || {
            let timing = timing.filter(|t| matches!(t.end, EventEnd::After(_)))?;
            Some(moved_end(timing, &timing.start))
        };
        let is_todo = self.kind == ComponentKind::Todo && self.start.is_some();
        self.due.clone().or_else(|| is_todo.then(after).flatten())
    }

    /// Returns true if it is completed or cancelled.
    pub fn is_over(&self) -> bool {
        matches!(self.status, Some(Status::Completed | Status::Cancelled))
    }

    /// Returns true if it has recurrence rules or dates.
    pub fn recurs(&self) -> bool {
        self.timing
            .as_ref()
            .is_some_and(|t| !t.rules.is_empty() || !t.dates.is_empty())
    }

    /// Reads one component, with its head, whose UID is moved to the component.
    pub(super) fn read_component(
        kind: ComponentKind,
        text: &str,
        zones: &TimeZoneResolver,
    ) -> (Self, ComponentHead) {
        let mut item = Self {
            kind,
            ..Self::default()
        };
        let mut head = ComponentHead::default();
        let mut times = TimingReader::new(zones);
        let mut params: &[u8] = b"";
        let mut depth = 0usize;
        let mut alarm: Option<AlarmBuilder> = None;
        let mut dated_alarms = Vec::new();
        for line in ContentLines::of_text(text) {
            let name = PropertyName::of_line(&line);
            let time = times.read_line(&line, name);
            match line.delimiter() {
                Some((Delimiter::Begin, name)) => {
                    depth += 1;
                    if depth == 2 && name.eq_ignore_ascii_case(b"VALARM") {
                        alarm = Some(AlarmBuilder::default());
                    }
                }
                Some((Delimiter::End, _)) => {
                    if depth == 2
                        && let Some(alarm) = alarm.take().and_then(AlarmBuilder::build)
                        && item.alarms.len() < MAX_ALARMS
                    {
                        item.alarms.push(alarm);
                    }
                    depth = depth.saturating_sub(1);
                }
                None => match (depth, &mut alarm) {
                    (1, _) => {
                        head.read_property(&line, name);
                        // The parameters of the previous line are noted already.
                        if line.raw_params() != params {
                            params = line.raw_params();
                            item.note_zone(&line, zones);
                        }
                        match name {
                            Some(
                                name @ (PropertyName::AudioAlarm | PropertyName::DisplayAlarm),
                            ) if dated_alarms.len() < MAX_ALARMS => {
                                dated_alarms.extend(read_dated_alarm(&line, name));
                            }
                            name => item.read_property(&line, name, time, &mut times),
                        }
                    }
                    (2, Some(alarm)) => alarm.read_line(&line, name, &mut times),
                    _ => {}
                },
            }
        }
        (item.timing, item.warnings) = times.finish();
        let room = MAX_ALARMS.saturating_sub(item.alarms.len());
        let timing = item.timing.as_ref();
        let dated = dated_alarms
            .into_iter()
            .map(|(alarm, at)| alarm.dated(at, timing));
        item.alarms.extend(dated.take(room));
        item.uid = head.uid.take();
        let is_done = item.completed.is_some() || item.percent == Some(100);
        if kind == ComponentKind::Todo && is_done && item.status != Some(Status::Cancelled) {
            item.status = Some(Status::Completed);
        }
        item.all_day |= item.start.as_ref().is_some_and(CalendarTime::is_date);
        (item, head)
    }

    /// Notes the `TZID` of a line.
    fn note_zone(&mut self, line: &ContentLine<'_>, zones: &TimeZoneResolver) {
        if let Some(tzid) = tzid_of(line).filter(|tzid| !tzid.is_empty())
            && self.tzids.len() < MAX_TZIDS
            && !self.tzids.iter().any(|known| *known == *tzid)
        {
            if let Some(zone) = zones.defined(&tzid) {
                self.defined_zones.push((tzid.to_string(), zone.clone()));
            }
            self.tzids.push(tzid.into_owned());
        }
    }

    /// Reads a line of this name; `read` is the time that `times` read from it.
    fn read_property<'t>(
        &mut self,
        line: &ContentLine<'t>,
        name: Option<PropertyName>,
        read: Option<CalendarTime>,
        times: &mut TimingReader<'t, '_>,
    ) {
        // Group names are of vCard, not of iCalendar.
        if line.group.is_some() {
            return;
        }
        let Some(name) = name else {
            if let Some(instance) = snoozed_instance(line.name) {
                self.read_snooze(Some(instance), line, times);
            }
            return;
        };
        let value = || property_value(line);
        let text = || Some(unescape_text(&value())).filter(|text| !text.trim().is_empty());
        let once = |place: &mut Option<String>| {
            if place.is_none() {
                *place = text();
            }
        };
        let first = |place: &mut Option<CalendarTime>| {
            if place.is_none() {
                *place = read.or_else(|| times.time_of(line));
            }
        };
        match name {
            PropertyName::Attendee if self.attendees.len() < MAX_VALUES => {
                self.attendees.push(read_user(line))
            }
            PropertyName::Categories => {
                let room = MAX_VALUES.saturating_sub(self.categories.len());
                let value = value();
                let each = split_list(&value).map(|c| unescape_text(c).trim().to_owned());
                let each = each.filter(|c| !c.is_empty());
                self.categories.extend(each.take(room));
            }
            PropertyName::Class => {
                self.class = match value().to_ascii_uppercase().as_str() {
                    "" | "PUBLIC" => Classification::Public,
                    "CONFIDENTIAL" => Classification::Confidential,
                    _ => Classification::Private,
                };
            }
            PropertyName::Completed => self.completed = times.time_of(line),
            PropertyName::Description => match (&mut self.description, self.kind) {
                // A journal entry may have several descriptions (RFC 5545 section 3.6.3).
                (Some(so_far), ComponentKind::Journal) => {
                    so_far.push('\n');
                    so_far.push_str(&text().unwrap_or_default());
                }
                (place, _) => once(place),
            },
            PropertyName::Start => first(&mut self.start),
            PropertyName::EndTime => first(&mut self.end),
            PropertyName::Due => first(&mut self.due),
            PropertyName::Duration => self.duration = value().parse().ok(),
            PropertyName::Location => once(&mut self.location),
            PropertyName::LastModified => self.modified = times.time_of(line),
            PropertyName::Organizer => self.organizer = Some(read_user(line)),
            PropertyName::Priority => {
                // 0 is an undefined priority (RFC 5545 section 3.8.1.9).
                self.priority = value().parse().ok().filter(|p| (1..=9).contains(p));
            }
            PropertyName::PercentComplete => {
                self.percent = value().parse().ok().filter(|p| *p <= 100);
            }
            PropertyName::Summary => once(&mut self.summary),
            PropertyName::Status => self.status = Status::named(&value()),
            // 0 is the default (RFC 5545 section 3.8.7.4).
            PropertyName::Sequence => self.sequence = value().parse().unwrap_or(0),
            PropertyName::Transparency => {
                self.transparent = value().eq_ignore_ascii_case("TRANSPARENT");
            }
            PropertyName::Url if self.url.is_none() => {
                self.url = Some(value().into_owned()).filter(|url| !url.is_empty());
            }
            PropertyName::MicrosoftAllDay => {
                self.all_day = value().eq_ignore_ascii_case("TRUE");
            }
            PropertyName::MozillaSnooze => self.read_snooze(None, line, times),
            PropertyName::MozillaLastAck => self.acknowledged = times.time_of(line),
            _ => {}
        }
    }
}

impl CalendarComponent {
    fn read_snooze<'t>(
        &mut self,
        instance: Option<Timestamp>,
        line: &ContentLine<'t>,
        times: &mut TimingReader<'t, '_>,
    ) {
        if self.snoozes.len() < MAX_ALARMS
            && let Some(until) = times.time_of(line)
        {
            let until = until.at(&TimeZone::UTC);
            self.snoozes.push(Snooze { instance, until });
        }
    }
}

/// Returns the instance that the name of Thunderbird's snooze has: `X-MOZ-SNOOZE-TIME-` and its original
/// start in microseconds since 1970.
fn snoozed_instance(name: &[u8]) -> Option<Timestamp> {
    const PREFIX: &[u8] = b"X-MOZ-SNOOZE-TIME-";
    let (prefix, digits) = name.split_at_checked(PREFIX.len())?;
    let micros = std::str::from_utf8(digits)
        .ok()
        .filter(|_| prefix.eq_ignore_ascii_case(PREFIX))?;
    let micros: i64 = micros.parse().ok()?;
    // Thunderbird writes microseconds. Rounded down, also before 1970.
    Some(Timestamp::from_seconds(micros.div_euclid(1_000_000)))
}

pub(super) fn read_user(line: &ContentLine<'_>) -> CalendarUser {
    let value = property_value(line);
    let address = match value.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("mailto:") => value[7..].to_owned(),
        _ => value.into_owned(),
    };
    let filled = |name| {
        let value = param_value(line, name).filter(|value| !value.is_empty());
        value.map(Cow::into_owned)
    };
    CalendarUser {
        address,
        name: filled("CN"),
        role: filled("ROLE"),
        answer: filled("PARTSTAT"),
    }
}
