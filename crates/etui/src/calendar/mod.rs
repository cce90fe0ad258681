//! Calendars: records with one UID each, kept in a store.
//!
//! Dates, recurrence, time zones, streams and calendar objects are the crate `etui-ical`,
//! re-exported here as [`time`], [`recurrence`], [`zones`], [`ics`] and [`CalendarObject`].
//!
//! ```
//! use etui::calendar::recurrence::{RecurrenceSet, Timing};
//! use etui::calendar::time::{Date, TimeZone};
//! use etui::calendar::zones::TimeZoneResolver;
//!
//! let event = "BEGIN:VEVENT\r\nDTSTART;TZID=Europe/Berlin:19800107T090000\r\n\
//!     DURATION:PT1H\r\nRRULE:FREQ=WEEKLY;BYDAY=MO,TH\r\nEND:VEVENT\r\n";
//! let (timing, warnings) = Timing::from_component(event.as_bytes(), &TimeZoneResolver::new());
//! assert_eq!(warnings, []);
//! let series = RecurrenceSet::new(&[timing.expect("it has a DTSTART")]);
//!
//! let berlin = TimeZone::named("Europe/Berlin").expect("an IANA name");
//! let monday = Date::new(2026, 11, 23).expect("a day");
//! let week = berlin.to_utc(monday.midnight())..berlin.to_utc(monday.plus_days(7).midnight());
//! let starts: Vec<_> = series.between(week, &berlin).map(|i| i.during.start.to_string()).collect();
//! assert_eq!(starts, ["20261123T080000Z", "20261126T080000Z"]);
//! ```

mod alarms;
mod bounded;
mod busy;
pub(crate) mod color;
mod export;
mod filter;
pub(crate) mod import;
mod index_columns;
mod next;
mod object_bytes;
pub(crate) mod object_zones;
mod own_zones;
mod query;
mod range;
mod record_kind;
mod record_scan;
mod resource;
pub(crate) mod series_cache;
mod summary;
mod time_codec;
mod todos;

pub use self::import::CalendarImport;
pub use etui_ical::{
    Alarm, AlarmAction, AlarmTrigger, CalendarComponent, CalendarObject, CalendarUser,
    Classification, Draft, MergeOutcome, Method, ObjectError, Snooze, Status, TimingWarning, ics,
    recurrence, time, zones,
};

pub use crate::search::filter::MatchMode;
pub use alarms::{DueAlarm, DueAlarms};
pub use bounded::{BoundedOccurrences, CutSeries, MAX_PER_DAY, OccurrenceLimit};
pub use busy::{BusyPeriod, merge_busy};
pub(crate) use color::write_color;
pub use color::{Color, InvalidColor};
pub use filter::{Field, Filter};
pub use query::{Column, Columns, ListEntry, Query, Row, Rows};
pub use range::Occurrence;
pub use record_scan::RecordZones;
pub use summary::Summary;
pub(crate) use time_codec::{MAX_UTC_OFFSET, is_near};
pub use todos::Todo;

use crate::record::Collection;
use crate::watch;

/// One calendar of a store. Its list is ordered by start; records without a time are last.
pub type Calendar = Collection<CalendarObject>;

/// A calendar in a snapshot of the store.
pub type Reader = crate::record::Reader<CalendarObject>;

/// A query for records of a calendar that reports changes.
pub type View = watch::View<CalendarObject>;

/// A change of a record, as seen through a view's filter.
pub type ViewChange = watch::ViewChange<Summary, Field>;

/// The changes that a view of a calendar reports.
pub type ViewChanges = watch::ViewChanges<Summary, Field>;

/// A page of a view's records, and the changes up to exactly that state.
pub type LoadedPage = watch::LoadedPage<Summary, Field>;
