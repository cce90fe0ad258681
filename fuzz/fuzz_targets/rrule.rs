//! Any text as components of one UID, parted by empty lines, and a VTIMEZONE
//! among them: what recurs is in order and in the range asked for, wherever
//! that lies; a rule that was understood reads the same when written out.

#![no_main]

use etui_ical::recurrence::{RecurrenceRule, RecurrenceSet, Timing};
use etui_ical::time::{DateTime, TimeZone, Timestamp};
use etui_ical::zones::{TimeZoneDefinition, TimeZoneResolver};
use libfuzzer_sys::fuzz_target;

/// More instances than this of one range are not looked at.
const MOST: usize = 200;

fuzz_target!(|text: &str| {
    for line in text.lines().take(20) {
        if let Ok(rule) = line.parse::<RecurrenceRule>() {
            let written = rule.to_string();
            assert_eq!(written.parse(), Ok(rule), "{written}");
        }
    }
    let mut zones = TimeZoneResolver::new();
    zones.define(&TimeZoneDefinition::parse(text.as_bytes()));
    let components = text.split("\n\n").take(20);
    let timings: Vec<Timing> = components
        .filter_map(|lines| Timing::from_component(lines.as_bytes(), &zones).0)
        .collect();
    let series = RecurrenceSet::new(&timings);
    let bounds = series.bounds();
    let viewer = TimeZone::named("Europe/Berlin").unwrap_or(TimeZone::UTC);
    let year = |y| DateTime::new(y, 3, 20, 0, 0, 0).map_or(Timestamp::MAX, |t| viewer.to_utc(t));
    for range in [
        Timestamp::MIN..Timestamp::MAX,
        year(2026)..year(2027),
        year(2126)..year(2126).plus_seconds(604_800 * 2),
        year(9999)..Timestamp::MAX,
    ] {
        let mut last = Timestamp::MIN;
        for instance in series.between(range.clone(), &viewer).take(MOST) {
            let during = &instance.during;
            assert!(during.start >= last && during.end >= during.start);
            assert!(during.start < range.end && during.end >= range.start);
            assert!(bounds.start <= during.start && during.end <= bounds.end);
            last = during.start;
        }
    }
});
