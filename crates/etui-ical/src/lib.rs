//! iCalendar (RFC 5545): recurrence that seeks, time zones, and calendar objects that keep every byte.
//!
//! - [`time`]: dates, local times, instants, durations and time zones;
//! - [`recurrence`]: recurrence rules and the instances that they make;
//! - [`zones`]: `TZID` and `VTIMEZONE` to a time zone, and back;
//! - [`ics`]: streams of `VCALENDAR` objects, split into components and written again byte for byte;
//! - [`object`]: all components with one UID ([`CalendarObject`]): read, created, edited, merged;
//! - [`merge_three_way`]: what two sides made of an object since they last agreed.
//!
//! Expanding a recurrence set costs as much as the range holds, wherever the range is: nothing walks
//! from `DTSTART`.
//!
//! ```
//! use etui_ical::recurrence::{RecurrenceSet, Timing};
//! use etui_ical::time::{Date, TimeZone};
//! use etui_ical::zones::TimeZoneResolver;
//!
//! let event = "BEGIN:VEVENT\r\nDTSTART;TZID=Europe/Berlin:19800107T090000\r\n\
//!     DURATION:PT1H\r\nRRULE:FREQ=WEEKLY;BYDAY=MO,TH\r\nEND:VEVENT\r\n";
//! let (timing, warnings) = Timing::from_component(event.as_bytes(), &TimeZoneResolver::new());
//! assert_eq!(warnings, []);
//! let set = RecurrenceSet::new(&[timing.expect("a DTSTART")]);
//!
//! let berlin = TimeZone::named("Europe/Berlin").expect("an IANA name");
//! let monday = Date::new(2026, 11, 23).expect("a date");
//! let week = berlin.to_utc(monday.midnight())..berlin.to_utc(monday.plus_days(7).midnight());
//! let starts: Vec<_> = set.between(week, &berlin).map(|i| i.during.start.to_string()).collect();
//! assert_eq!(starts, ["20261123T080000Z", "20261126T080000Z"]);
//! ```

#![deny(missing_docs)]

pub mod ics;
pub mod object;
mod property_name;
pub mod recurrence;
mod three_way;
pub mod time;
mod timing_reader;
pub mod zones;

pub use object::{
    Alarm, AlarmAction, AlarmTrigger, CalendarComponent, CalendarObject, CalendarUser,
    Classification, ComponentOrigin, Draft, FloatingZone, MergeOutcome, Method, ObjectError,
    ReceivedMessage, Snooze, SplitSeries, Status,
};
pub use three_way::merge_three_way;
pub use timing_reader::TimingWarning;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
