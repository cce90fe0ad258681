//! Series made ready to be asked, kept while the store is open: making one ready takes longer than
//! asking it for a week.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::endless::Endless;
use super::ics::ComponentKind;
use super::moment::Named;
use super::once;
use super::range::takes_time;
use super::recurrence::{EventEnd, RecurrenceId, RecurrenceSet, Timing};
use super::summary::Stored;
use super::time::{CalendarTime, Timestamp};
use super::zones::{TimeZoneDefinition, TimeZoneResolver};
use super::{Alarm, AlarmTrigger, CalendarComponent, CalendarObject, Status};
use crate::error::Result;

/// Series that are kept.
const MOST: usize = 16_384;
/// Bytes of what is made of them, about.
const MOST_BYTES: usize = 16 << 20;

/// What a row of `series` says.
#[derive(Debug)]
pub(super) struct Known {
    /// The row's text.
    times: Box<[u8]>,
    pub(super) series: RecurrenceSet,
    /// Whether it happens more than once, as far as it says.
    pub(super) recurs: bool,
    /// Of each component that says a time; instances count them.
    pub(super) components: Vec<Component>,
}

/// What is told of the instances of a component.
#[derive(Debug)]
pub(super) struct Component {
    /// Its place in the record.
    pub(super) place: usize,
    pub(super) kind: ComponentKind,
    pub(super) title: Arc<str>,
    pub(super) location: Arc<str>,
    pub(super) status: Option<Status>,
    pub(super) transparent: bool,
    pub(super) start: CalendarTime,
    pub(super) replaces: Option<RecurrenceId>,
    pub(super) alarms: Vec<Alarm>,
    /// Alarms up to here were acknowledged.
    pub(super) acknowledged: Option<Timestamp>,
}

impl Known {
    /// Reads the text of a row; `None` if it is none that this library wrote.
    pub(super) fn read(times: &[u8]) -> Option<Self> {
        if let Some(stored) = once::read(times, &mut Named::default()) {
            return Self::once(times, &stored);
        }
        let mut zones = TimeZoneResolver::new();
        let mut rest = times;
        const END: &[u8] = b"END:VTIMEZONE\r\n";
        while rest.starts_with(b"BEGIN:VTIMEZONE") {
            let end = rest.windows(END.len()).position(|w| w == END)? + END.len();
            let (zone, behind) = rest.split_at(end);
            zones.define(&TimeZoneDefinition::parse(zone));
            rest = behind;
        }
        let record = CalendarObject::parse(rest, &zones).ok()?;
        let components = record.components().enumerate();
        Some(Self {
            times: times.into(),
            series: record.recurrence_set(),
            recurs: record.components().any(|i| i.recurs() || i.is_override()),
            components: components
                .filter_map(|(place, item)| Component::new(place, item))
                .collect(),
        })
    }

    /// What happens once.
    fn once(times: &[u8], stored: &Stored<'_>) -> Option<Self> {
        let start = stored.start.clone()?;
        let timing = Timing {
            end: EventEnd::At(stored.end.clone()?),
            ..Timing::once(start.clone())
        };
        Some(Self {
            times: times.into(),
            series: RecurrenceSet::new(&[timing]),
            recurs: false,
            components: vec![Component {
                place: 0,
                kind: stored.kind(),
                title: stored.title().into(),
                location: stored.place().into(),
                status: stored.status,
                transparent: stored.is_transparent(),
                start,
                replaces: None,
                alarms: Vec::new(),
                acknowledged: None,
            }],
        })
    }

    /// Whether some of its alarms depend on where one is, and others do not.
    pub(super) fn is_mixed(&self) -> bool {
        let floats = |c: &Component, alarm: &Alarm| {
            c.start.zone().is_none() && !matches!(alarm.trigger, AlarmTrigger::At(_))
        };
        let all = self.components.iter();
        let mut all = all.flat_map(|c| c.alarms.iter().map(move |alarm| floats(c, alarm)));
        let first = all.next();
        all.any(|other| Some(other) != first)
    }

    /// Whether instances of a component may go on for ever.
    pub(super) fn goes_on(component: &Component) -> bool {
        component
            .replaces
            .as_ref()
            .is_none_or(|r| r.this_and_future)
    }
}

impl Component {
    /// Whether its instances take up time.
    pub(super) fn takes_time(&self) -> bool {
        takes_time(self.kind, self.transparent, self.status)
    }

    fn new(place: usize, item: &CalendarComponent) -> Option<Self> {
        let timing = item.timing.as_ref()?;
        Some(Self {
            place,
            kind: item.kind,
            title: item.summary.as_deref().map(Arc::from).unwrap_or_default(),
            location: item.location.as_deref().map(Arc::from).unwrap_or_default(),
            status: item.status,
            transparent: item.transparent,
            start: timing.start.clone(),
            replaces: timing.replaces.clone(),
            alarms: item.alarms.clone(),
            acknowledged: item
                .acknowledged
                .as_ref()
                .map(|t| t.at(&super::time::TimeZone::UTC)),
        })
    }
}

/// The series of a store that were asked for.
#[derive(Debug, Default)]
pub(crate) struct KnownSeries {
    made: Mutex<State>,
    endless: Endless,
}

/// Two generations: when the younger is full it becomes the older one, and what nobody asked for
/// since the last time goes.
#[derive(Debug, Default)]
struct State {
    young: HashMap<i64, Arc<Known>>,
    old: HashMap<i64, Arc<Known>>,
    /// What the young ones weigh.
    bytes: usize,
}

impl State {
    fn keep(&mut self, record: i64, known: &Arc<Known>) {
        let weight = weight(&known.times);
        if self.young.len() >= MOST / 2 || self.bytes + weight > MOST_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += weight;
        self.young.insert(record, Arc::clone(known));
    }
}

impl KnownSeries {
    /// What the row of a record says; `None` if nothing that is understood.
    pub(super) fn get(&self, record: i64, times: &[u8]) -> Option<Arc<Known>> {
        let mut state = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &&Arc<Known>| *known.times == *times;
        if let Some(known) = state.young.get(&record).filter(is_it) {
            return Some(Arc::clone(known));
        }
        let known = match state.old.remove(&record).filter(|known| is_it(&known)) {
            Some(known) => known,
            None => Arc::new(Known::read(times)?),
        };
        state.keep(record, &known);
        Some(known)
    }

    /// Calls `visit` with each series of a calendar that goes on for ever and may have to do with
    /// a range.
    pub(super) fn endless(
        &self,
        conn: &Connection,
        collection: i64,
        range: &Range<i64>,
        visit: impl FnMut(i64, &Known),
    ) -> Result<()> {
        self.endless.each(self, conn, collection, range, visit)
    }

    /// Forgets what is not compared with its row each time: rows changed, and no record did.
    pub(crate) fn forget(&self) {
        self.endless.forget();
    }
}

/// About how many bytes are made of a row: a zone of its own has a table of its changes.
pub(super) fn weight(times: &[u8]) -> usize {
    let zone = if times.starts_with(b"BEGIN:VTIMEZONE") {
        16 << 10
    } else {
        0
    };
    4 * times.len() + 600 + zone
}
