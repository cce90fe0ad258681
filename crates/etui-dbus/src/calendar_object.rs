//! `org.etui.Calendar1`: the calls that only calendars have.

use etui::CollectionId;
use std::ops::Range;

use etui::calendar::OccurrenceLimit;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{CalendarObject, InvalidColor, Occurrence};
use etui::record::Collection;
use etui::store::CollectionKey;
use zbus::interface;

use crate::collection_object::check_array;
use crate::error::{ErrorKind, StoreError};
use crate::options::{CallOptions, OptionArgument};
use crate::rows::{wire_id, without_nul};
use crate::service::{Endpoint, Service};

/// Occurrences and alarms that fit into an array of 1 MiB, each with the least size that it can
/// have, and one more: that one is too many.
const MAX_LISTED: usize = (1 << 20) / 48 + 1;

/// An occurrence: record, component, start and end in seconds since 1970, place in the recurrence,
/// title, place.
type WireOccurrence = (u64, u32, i64, i64, String, String, String);

/// An alarm: record, component, time in seconds since 1970, title.
type WireAlarm = (u64, u32, i64, String);

/// The further calls of a calendar.
pub(crate) struct CalendarCalls {
    pub(crate) endpoint: Endpoint,
    pub(crate) id: CollectionId,
}

impl CalendarCalls {
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Collection<CalendarObject>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let id = self.id;
        let work =
            move |service: &Service| work(&service.store().collection(CollectionKey::Id(id))?);
        self.endpoint.answer_on_worker(work).await
    }
}

#[interface(name = "org.etui.Calendar1")]
impl CalendarCalls {
    /// The colour as `#rrggbb`, or an empty text. Not announced by PropertiesChanged.
    #[zbus(property(emits_changed_signal = "false"))]
    fn color(&self) -> Result<String, StoreError> {
        self.endpoint.answer(|service| {
            let calendar = service
                .store()
                .collection::<CalendarObject>(CollectionKey::Id(self.id))?;
            let color = calendar.color()?;
            Ok(color.map(|color| color.to_string()).unwrap_or_default())
        })
    }

    /// Sets the colour: a name or notation of CSS, such as `teal` or `#008080`. An empty text takes it
    /// away.
    async fn set_color(&self, color: String) -> Result<(), StoreError> {
        let parsed = match color.trim() {
            "" => None,
            text => Some(text.parse().map_err(|error: InvalidColor| {
                StoreError::new(ErrorKind::BadArgument, format!("\"{text}\" is {error}"))
            })?),
        };
        let id = self.id;
        let set = move |service: &Service| {
            let calendar = service
                .store()
                .collection::<CalendarObject>(CollectionKey::Id(id))?;
            Ok(calendar.set_color(parsed)?)
        };
        self.endpoint.change("SetColor", set).await
    }

    /// Returns the occurrences between two times in seconds since 1970, by start, including those
    /// that began before and last into the range: record id, number of the component, start, end,
    /// place in the recurrence (RECURRENCE-ID, empty if it does not recur), title and place. Days
    /// and floating times are read in `zone`, an IANA name. Option `limit t`.
    #[zbus(out_args("occurrences"))]
    async fn between(
        &self,
        from: i64,
        to: i64,
        zone: String,
        options: OptionArgument,
    ) -> Result<Vec<WireOccurrence>, StoreError> {
        let mut options = CallOptions::new(options);
        let limit = options.take_number("limit")?;
        options.finish()?;
        self.run(move |calendar| {
            let limit = limit.map_or(MAX_LISTED, |n| usize::try_from(n).unwrap_or(usize::MAX));
            let found = calendar.between_bounded(
                range(from, to),
                &find_zone(&zone)?,
                OccurrenceLimit::First(limit.min(MAX_LISTED)),
            )?;
            let listed: Vec<_> = found.occurrences.into_iter().map(wire_occurrence).collect();
            let texts = |o: &WireOccurrence| 48 + o.4.len() + o.5.len() + o.6.len();
            check_array(listed.iter().map(texts).sum())?;
            Ok(listed)
        })
        .await
    }

    /// Returns the busy periods between two times in seconds since 1970, in order and without
    /// overlaps: start, end, and `busy` or `tentative`.
    #[zbus(out_args("periods"))]
    async fn free_busy(
        &self,
        from: i64,
        to: i64,
        zone: String,
    ) -> Result<Vec<(i64, i64, String)>, StoreError> {
        self.run(move |calendar| {
            let periods = calendar.free_busy(range(from, to), &find_zone(&zone)?)?;
            check_array(periods.len() * 32)?;
            let listed = periods.into_iter().map(|period| {
                let kind = match period.tentative {
                    true => "tentative",
                    false => "busy",
                };
                let Range { start, end } = period.during;
                (start.seconds(), end.seconds(), kind.to_owned())
            });
            Ok(listed.collect())
        })
        .await
    }

    /// Returns the first `most` alarms that are due at `from` or later, in seconds since 1970, and
    /// not acknowledged: record id, number of the component, time, title.
    #[zbus(out_args("alarms"))]
    async fn alarms(
        &self,
        from: i64,
        most: u64,
        zone: String,
    ) -> Result<Vec<WireAlarm>, StoreError> {
        self.run(move |calendar| {
            let most = usize::try_from(most).unwrap_or(usize::MAX).min(MAX_LISTED);
            let from = Timestamp::from_seconds(from);
            let due = calendar.alarms(from, most, &find_zone(&zone)?)?;
            let due = due.alarms;
            check_array(due.iter().map(|alarm| 48 + alarm.title.len()).sum())?;
            let listed = due.into_iter().map(|alarm| {
                let title = without_nul(alarm.title.into()).into_owned();
                (
                    wire_id(alarm.record),
                    component_number(alarm.component),
                    alarm.at.seconds(),
                    title,
                )
            });
            Ok(listed.collect())
        })
        .await
    }
}

fn range(from: i64, to: i64) -> Range<Timestamp> {
    Timestamp::from_seconds(from)..Timestamp::from_seconds(to)
}

/// Finds a zone by its IANA name; an empty name is UTC.
fn find_zone(name: &str) -> Result<TimeZone, StoreError> {
    if name.is_empty() {
        return Ok(TimeZone::UTC);
    }
    TimeZone::named(name).ok_or_else(|| {
        let message = format!("no time zone is named \"{name}\"; write it like Europe/Berlin");
        StoreError::new(ErrorKind::BadArgument, message)
    })
}

fn component_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn wire_occurrence(occurrence: Occurrence) -> WireOccurrence {
    let text = |text: &str| without_nul(text.into()).into_owned();
    let instance = occurrence.instance.map(|time| time.value().to_string());
    (
        wire_id(occurrence.record),
        component_number(occurrence.component),
        occurrence.during.start.seconds(),
        occurrence.during.end.seconds(),
        instance.unwrap_or_default(),
        text(&occurrence.title),
        text(&occurrence.location),
    )
}
