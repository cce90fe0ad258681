//! Events from text, and their instances as text.

use etui_ical::recurrence::{Instance, RecurrenceSet, Timing};
use etui_ical::time::{DateTimeValue, TimeZone, Timestamp};
use etui_ical::zones::TimeZoneResolver;

/// The series of some components, each given by its lines.
pub fn series(components: &[&str]) -> RecurrenceSet {
    series_in(components, &TimeZoneResolver::new())
}

pub fn series_in(components: &[&str], zones: &TimeZoneResolver) -> RecurrenceSet {
    let timings: Vec<Timing> = components
        .iter()
        .map(|lines| timing(lines, zones))
        .collect();
    RecurrenceSet::new(&timings)
}

pub fn timing(lines: &str, zones: &TimeZoneResolver) -> Timing {
    let text = format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n");
    let (timing, warnings) = Timing::from_component(text.as_bytes(), zones);
    assert_eq!(warnings, [], "{text}");
    timing.expect("a DTSTART")
}

pub fn zone(name: &str) -> TimeZone {
    TimeZone::named(name).expect(name)
}

/// The instant of a time in UTC, or of a local one in UTC.
pub fn at(text: &str) -> Timestamp {
    let value: DateTimeValue = text.parse().expect(text);
    TimeZone::UTC.to_utc(value.local())
}

/// The first `most` instances from the beginning of time.
pub fn first(series: &RecurrenceSet, most: usize) -> Vec<Instance> {
    let viewer = TimeZone::UTC;
    series
        .between(Timestamp::MIN..Timestamp::MAX, &viewer)
        .take(most)
        .collect()
}

/// The starts of instances, as iCalendar writes them without `TZID`.
pub fn starts(instances: &[Instance]) -> Vec<String> {
    instances
        .iter()
        .map(|i| i.start.value().to_string())
        .collect()
}

/// The instances of a range, given in UTC: `start/end component`.
pub fn between(series: &RecurrenceSet, from: &str, to: &str, viewer: &TimeZone) -> Vec<String> {
    series
        .between(at(from)..at(to), viewer)
        .map(|i| format!("{}/{} {}", i.start.value(), i.end.value(), i.component))
        .collect()
}
