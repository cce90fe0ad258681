//! Events from text, and their instances as text.

use etui::calendar::recurrence::{Instance, Series, Timing};
use etui::calendar::time::{Timestamp, Value, Zone};
use etui::calendar::zones::Zones;

/// The series of some components, each given by its lines.
pub fn series(components: &[&str]) -> Series {
    series_in(components, &Zones::new())
}

pub fn series_in(components: &[&str], zones: &Zones) -> Series {
    let timings: Vec<Timing> = components
        .iter()
        .map(|lines| timing(lines, zones))
        .collect();
    Series::new(&timings)
}

pub fn timing(lines: &str, zones: &Zones) -> Timing {
    let text = format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n");
    let (timing, warnings) = Timing::from_component(text.as_bytes(), zones);
    assert_eq!(warnings, [], "{text}");
    timing.expect("a DTSTART")
}

pub fn zone(name: &str) -> Zone {
    Zone::named(name).expect(name)
}

/// The instant of a time in UTC, or of a local one in UTC.
pub fn at(text: &str) -> Timestamp {
    let value: Value = text.parse().expect(text);
    Zone::UTC.to_utc(value.wall())
}

/// The first `most` instances from the beginning of time.
pub fn first(series: &Series, most: usize) -> Vec<Instance> {
    let viewer = Zone::UTC;
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
pub fn between(series: &Series, from: &str, to: &str, viewer: &Zone) -> Vec<String> {
    series
        .between(at(from)..at(to), viewer)
        .map(|i| format!("{}/{} {}", i.start.value(), i.end.value(), i.component))
        .collect()
}
