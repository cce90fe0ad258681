//! [`Item`]: what one component says.

use super::alarm::{Alarm, Part};
use super::component_time;
use crate::calendar::TimingWarning;
use crate::calendar::ics::{Head, Kind};
use crate::calendar::recurrence::Timing;
use crate::calendar::time::{Duration, Time, Zone};
use crate::calendar::zones::Zones;
use crate::import::lines::{ContentLine, ContentLines, Edge};
use crate::import::values::{list, param, unescape, value_of};

/// Attendees and categories of one component that are read, and alarms; all are kept.
const MOST: usize = 10_000;
const MOST_ALARMS: usize = 256;
/// Zones of one component that are noted.
const MOST_ZONES: usize = 256;

/// How far a thing has come (`STATUS`).
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
    pub(in crate::calendar) const ALL: [(&'static str, Self); 8] = [
        ("TENTATIVE", Self::Tentative),
        ("CONFIRMED", Self::Confirmed),
        ("CANCELLED", Self::Cancelled),
        ("NEEDS-ACTION", Self::NeedsAction),
        ("IN-PROCESS", Self::InProcess),
        ("COMPLETED", Self::Completed),
        ("DRAFT", Self::Draft),
        ("FINAL", Self::Final),
    ];

    /// Its name in iCalendar.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, status)| *status == self);
        found.map_or("", |(name, _)| name)
    }

    /// The status of this name, in any case.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(n, _)| n.eq_ignore_ascii_case(text));
        found.map(|(_, status)| *status)
    }
}

/// Who may see it (`CLASS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// Everybody; what nothing else is said of.
    #[default]
    Public,
    /// The owner; also what is not understood (RFC 5545 §3.8.1.3).
    Private,
    /// A few.
    Confidential,
}

/// Somebody who takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The address, without `mailto:`.
    pub address: String,
    /// `CN`
    pub name: Option<String>,
    /// `ROLE`, as written.
    pub role: Option<String>,
    /// `PARTSTAT`, as written.
    pub answer: Option<String>,
}

/// What one component says: an event, a to-do or a journal entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// `UID`
    pub uid: Option<String>,
    /// `SUMMARY`
    pub summary: Option<String>,
    /// `LOCATION`
    pub location: Option<String>,
    /// `DESCRIPTION`; a journal may have several, one behind the other.
    pub description: Option<String>,
    /// `CATEGORIES`
    pub categories: Vec<String>,
    /// `STATUS`
    pub status: Option<Status>,
    /// `CLASS`
    pub class: Class,
    /// Whether it takes up no time in free/busy (`TRANSP:TRANSPARENT`).
    pub transparent: bool,
    /// `ORGANIZER`
    pub organizer: Option<Person>,
    /// `ATTENDEE`
    pub attendees: Vec<Person>,
    /// `URL`
    pub url: Option<String>,
    /// `PRIORITY`, 1 the highest, 9 the lowest.
    pub priority: Option<u8>,
    /// `PERCENT-COMPLETE`
    pub percent: Option<u8>,
    /// `SEQUENCE`
    pub sequence: u32,
    /// `DTSTART`
    pub start: Option<Time>,
    /// `DTEND`
    pub end: Option<Time>,
    /// `DUE`
    pub due: Option<Time>,
    /// `DURATION`
    pub duration: Option<Duration>,
    /// `COMPLETED`
    pub completed: Option<Time>,
    /// `LAST-MODIFIED`
    pub modified: Option<Time>,
    /// When its alarms were last acknowledged (`X-MOZ-LASTACK`).
    pub acknowledged: Option<Time>,
    /// Whether it is a day's, or Outlook says so of one from midnight to midnight.
    pub all_day: bool,
    /// When it is and how it recurs; `None` if nothing is said of that.
    pub timing: Option<Timing>,
    /// What of its time could not be taken as it is written.
    pub warnings: Vec<TimingWarning>,
    /// Its alarms; those without a time that is understood are left out.
    pub alarms: Vec<Alarm>,
    /// The zones that it knows by their file's definitions alone, by `TZID`.
    pub(in crate::calendar) own_zones: Vec<(String, Zone)>,
    /// The `TZID`s it uses, each once.
    pub tzids: Vec<String>,
}

impl Item {
    /// Whether it says of itself that the time is taken.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.kind == Kind::Event && !self.transparent && self.status != Some(Status::Cancelled)
    }

    /// Whether it changes an instance of another component (`RECURRENCE-ID`).
    #[must_use]
    pub fn is_override(&self) -> bool {
        self.timing.as_ref().is_some_and(|t| t.replaces.is_some())
    }

    /// Whether it recurs.
    #[must_use]
    pub fn recurs(&self) -> bool {
        self.timing
            .as_ref()
            .is_some_and(|t| !t.rules.is_empty() || !t.dates.is_empty())
    }

    /// Reads one component, given in UTF-8; and its head.
    pub(super) fn read(kind: Kind, text: &[u8], zones: &Zones) -> (Self, Head) {
        let (timing, warnings) = Timing::from_component(text, zones);
        let mut item = Self::new(kind, timing, warnings);
        let mut head = Head::default();
        let mut depth = 0usize;
        let mut alarm: Option<Part> = None;
        for line in ContentLines::new(text) {
            match line.delimiter() {
                Some((Edge::Begin, name)) => {
                    depth += 1;
                    if depth == 1 {
                        head.take(&line);
                    } else if depth == 2 && name.eq_ignore_ascii_case(b"VALARM") {
                        alarm = Some(Part::default());
                    }
                }
                Some((Edge::End, _)) => {
                    if depth == 2
                        && let Some(alarm) = alarm.take().and_then(Part::complete)
                        && item.alarms.len() < MOST_ALARMS
                    {
                        item.alarms.push(alarm);
                    }
                    depth = depth.saturating_sub(1);
                }
                None => match (depth, &mut alarm) {
                    (1, _) => {
                        head.take(&line);
                        item.take(&line, zones);
                    }
                    (2, Some(alarm)) => alarm.take(&line, zones),
                    _ => {}
                },
            }
        }
        item.uid.clone_from(&head.uid);
        item.all_day |= item.start.as_ref().is_some_and(Time::is_date);
        (item, head)
    }

    fn new(kind: Kind, timing: Option<Timing>, warnings: Vec<TimingWarning>) -> Self {
        Self {
            kind,
            uid: None,
            summary: None,
            location: None,
            description: None,
            categories: Vec::new(),
            status: None,
            class: Class::Public,
            transparent: false,
            organizer: None,
            attendees: Vec::new(),
            url: None,
            priority: None,
            percent: None,
            sequence: 0,
            start: None,
            end: None,
            due: None,
            duration: None,
            completed: None,
            modified: None,
            acknowledged: None,
            all_day: false,
            timing,
            warnings,
            alarms: Vec::new(),
            own_zones: Vec::new(),
            tzids: Vec::new(),
        }
    }

    fn take(&mut self, line: &ContentLine<'_>, zones: &Zones) {
        if let Some(tzid) = param(line, "TZID").filter(|tzid| !tzid.is_empty())
            && self.tzids.len() < MOST_ZONES
            && !self.tzids.contains(&tzid)
        {
            if let Some(zone) = zones.own(&tzid) {
                self.own_zones.push((tzid.clone(), zone.clone()));
            }
            self.tzids.push(tzid);
        }
        // Group names are vCard's, not iCalendar's.
        if line.group.is_some() {
            return;
        }
        let value = || value_of(line);
        let text = || Some(unescape(&value())).filter(|text| !text.trim().is_empty());
        let time = || component_time(line, zones);
        let is = |name| line.name_is(name);
        let once = |place: &mut Option<String>| {
            if place.is_none() {
                *place = text();
            }
        };
        match line.name.first().map(u8::to_ascii_uppercase) {
            Some(b'A') if is("ATTENDEE") && self.attendees.len() < MOST => {
                self.attendees.push(person(line));
            }
            Some(b'C') if is("CATEGORIES") => {
                let room = MOST.saturating_sub(self.categories.len());
                let value = value();
                let each = list(&value).map(|c| unescape(c).trim().to_owned());
                let each = each.filter(|c| !c.is_empty());
                self.categories.extend(each.take(room));
            }
            Some(b'C') if is("CLASS") => {
                self.class = match value().to_ascii_uppercase().as_str() {
                    "" | "PUBLIC" => Class::Public,
                    "CONFIDENTIAL" => Class::Confidential,
                    _ => Class::Private,
                };
            }
            Some(b'C') if is("COMPLETED") => self.completed = time(),
            Some(b'D') if is("DESCRIPTION") => match (&mut self.description, self.kind) {
                (Some(so_far), Kind::Journal) => {
                    so_far.push('\n');
                    so_far.push_str(&text().unwrap_or_default());
                }
                (place, _) => once(place),
            },
            Some(b'D') if is("DTSTART") => self.start = self.start.take().or_else(time),
            Some(b'D') if is("DTEND") => self.end = self.end.take().or_else(time),
            Some(b'D') if is("DUE") => self.due = self.due.take().or_else(time),
            Some(b'D') if is("DURATION") => self.duration = value().parse().ok(),
            Some(b'L') if is("LOCATION") => once(&mut self.location),
            Some(b'L') if is("LAST-MODIFIED") => self.modified = time(),
            Some(b'O') if is("ORGANIZER") => self.organizer = Some(person(line)),
            Some(b'P') if is("PRIORITY") => {
                self.priority = value().parse().ok().filter(|p| (1..=9).contains(p));
            }
            Some(b'P') if is("PERCENT-COMPLETE") => {
                self.percent = value().parse().ok().filter(|p| *p <= 100);
            }
            Some(b'S') if is("SUMMARY") => once(&mut self.summary),
            Some(b'S') if is("STATUS") => self.status = Status::named(&value()),
            Some(b'S') if is("SEQUENCE") => self.sequence = value().parse().unwrap_or(0),
            Some(b'T') if is("TRANSP") => {
                self.transparent = value().eq_ignore_ascii_case("TRANSPARENT");
            }
            Some(b'U') if is("URL") && self.url.is_none() => {
                self.url = Some(value()).filter(|url| !url.is_empty());
            }
            Some(b'X') if is("X-MICROSOFT-CDO-ALLDAYEVENT") => {
                self.all_day = value().eq_ignore_ascii_case("TRUE");
            }
            Some(b'X') if is("X-MOZ-LASTACK") => self.acknowledged = time(),
            _ => {}
        }
    }
}

fn person(line: &ContentLine<'_>) -> Person {
    let value = value_of(line);
    let address = match value.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("mailto:") => value[7..].to_owned(),
        _ => value,
    };
    let filled = |name| param(line, name).filter(|value| !value.is_empty());
    Person {
        address,
        name: filled("CN"),
        role: filled("ROLE"),
        answer: filled("PARTSTAT"),
    }
}
