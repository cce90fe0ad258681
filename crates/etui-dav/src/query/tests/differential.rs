//! Time ranges over generated calendars, compared with the tables of RFC 4791 section 9.9 applied to
//! every instance of every record.

use etui::calendar::CalendarObject;
use etui::calendar::ics::ComponentKind;
use etui::calendar::recurrence::Instance;
use etui::calendar::zones::TimeZoneResolver;
use etui_testkit::calendars::{Calendars, Span, write_ics};
use etui_testkit::rng::SplitMix64;

use super::*;

const DAY: i64 = 86_400;

/// Returns to-dos and journal entries with every combination of the properties of the tables.
fn shapes(rng: &mut SplitMix64) -> Vec<String> {
    let mut all = Vec::new();
    for shape in 0..64u32 {
        for copy in 0..3 {
            let has = |bit: u32| shape & (1 << bit) != 0;
            let start = Timestamp::from_seconds(Span::USUAL.first_day * DAY)
                .plus_seconds(i64::from(rng.below(60)) * DAY + i64::from(rng.below(48)) * 1_800);
            let after =
                |rng: &mut SplitMix64| start.plus_seconds(i64::from(rng.below(100)) * 1_800);
            let mut lines = format!("UID:shape-{shape}-{copy}\r\nDTSTAMP:20170101T000000Z\r\n");
            let mut push = |line: String| lines.push_str(&(line + "\r\n"));
            let is_date = copy == 2;
            let time = |name: &str, at: Timestamp| match is_date {
                true => format!("{name};VALUE=DATE:{}", at.utc().date()),
                false => format!("{name}:{at}"),
            };
            if has(0) {
                push(time("DTSTART", start));
            }
            // Both at once are not valid.
            match (has(1), has(2)) {
                (true, false) if is_date => push(format!("DURATION:P{}D", 1 + rng.below(3))),
                (true, false) => push(format!("DURATION:PT{}M", rng.below(4) * 45)),
                (false, true) => push(time("DUE", after(rng))),
                _ => {}
            }
            if has(3) {
                push(format!("COMPLETED:{}", after(rng)));
            }
            if has(4) {
                push(format!("CREATED:{}", after(rng)));
            }
            let kind = match has(5) {
                // A journal entry has no duration and is not due.
                true if !has(1) && !has(2) => "VJOURNAL",
                true => continue,
                false => "VTODO",
            };
            all.push(format!("BEGIN:{kind}\r\n{lines}END:{kind}\r\n"));
        }
    }
    all
}

/// A record with its instances in the years that are compared.
struct Expanded<'r> {
    object: &'r CalendarObject,
    instances: Vec<Instance>,
    created: Option<Timestamp>,
    /// Times near which ranges begin and end.
    bounds: Vec<Timestamp>,
}

impl<'r> Expanded<'r> {
    fn new(object: &'r CalendarObject, first: Timestamp, zone: &TimeZone) -> Self {
        let around = first.plus_seconds(-30 * DAY)..first.plus_seconds(1_500 * DAY);
        let instances: Vec<_> = object.recurrence_set().between(around, zone).collect();
        let text = String::from_utf8_lossy(object.text()).into_owned();
        let created = text
            .split_once("\nCREATED:")
            .and_then(|(_, rest)| rest.lines().next());
        let created = created.map(instant);
        let completed = object.master().completed.as_ref().map(|time| time.at(zone));
        let of_instances = instances.iter().take(20).map(|one| &one.during);
        let bounds = match instances.is_empty() {
            true => [Some(first), created, completed]
                .into_iter()
                .flatten()
                .collect(),
            false => of_instances
                .flat_map(|during| [during.start, during.end])
                .collect(),
        };
        Self {
            object,
            instances,
            created,
            bounds,
        }
    }
}

/// Applies the tables to a record, instance by instance.
fn overlaps(
    record: &Expanded<'_>,
    kind: ComponentKind,
    range: &TimeRange,
    zone: &TimeZone,
) -> bool {
    let TimeRange { start, end } = *range;
    let object = record.object;
    let timed: Vec<_> = object.components().filter(|c| c.timing.is_some()).collect();
    let any_instance = record.instances.iter().any(|instance| {
        let component = timed[instance.component];
        let (from, mut to) = (instance.during.start, instance.during.end);
        // A due date can be the day of the start.
        if let Some(due) = component.due.as_ref().filter(|_| !component.recurs()) {
            to = due.at(zone);
        }
        if component.kind != kind {
            return false;
        }
        let has_due = component.due.is_some();
        match kind {
            ComponentKind::Event if from < to => start < to && end > from,
            ComponentKind::Event => start <= from && end > from,
            ComponentKind::Journal => match component.all_day {
                true => {
                    let next = instance.start.local().date().plus_days(1);
                    start < zone.to_utc(next.midnight()) && end > from
                }
                false => start <= from && end > from,
            },
            ComponentKind::Todo if component.start.is_none() => {
                let due = component.due.as_ref().unwrap().at(zone);
                start < due && end >= due
            }
            ComponentKind::Todo if has_due => {
                (start < to || start <= from) && (end > from || end >= to)
            }
            ComponentKind::Todo if component.duration.is_some() => {
                start <= to && (end > from || end >= to)
            }
            ComponentKind::Todo => start <= from && end > from,
        }
    });
    let undated = object.components().any(|component| {
        let is_undated =
            component.kind == kind && kind == ComponentKind::Todo && component.timing.is_none();
        let completed = component.completed.as_ref().map(|time| time.at(zone));
        is_undated
            && match (completed, record.created) {
                (Some(done), Some(made)) => {
                    (start <= made || start <= done) && (end >= made || end >= done)
                }
                (Some(done), None) => start <= done && end >= done,
                (None, Some(made)) => end > made,
                (None, None) => true,
            }
    });
    any_instance || undated
}

#[test]
fn time_ranges_equal_an_evaluation_of_every_instance() {
    let seed = std::env::var("ETUI_TEST_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or(7);
    let mut rng = SplitMix64::new(seed);
    let span = Span {
        days: 400,
        ..Span::USUAL
    };
    let entries = 500;
    let shapes = shapes(&mut rng);
    let mut ics = Vec::new();
    write_ics(&mut ics, seed, span, entries).unwrap();
    let store = TestStore::with_calendar(&ics);
    let object = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{}END:VCALENDAR\r\n",
        shapes.concat()
    );
    let calendar = store.store.calendar().unwrap();
    let report = calendar.import(object.as_bytes(), &mut |_| ControlFlow::Continue(()));
    assert_eq!(report.unwrap().refused, 0);

    let zones = TimeZoneResolver::new();
    let generated = Calendars::over(seed, span)
        .take(entries as usize)
        .map(|entry| entry.text);
    let records: Vec<CalendarObject> = generated
        .chain(shapes)
        .map(|text| CalendarObject::parse(text, &zones).unwrap())
        .collect();
    let first = Timestamp::from_seconds(span.first_day * DAY);
    let kinds = [
        ("VEVENT", ComponentKind::Event),
        ("VTODO", ComponentKind::Todo),
        ("VJOURNAL", ComponentKind::Journal),
    ];
    let names = [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Pacific/Kiritimati",
    ];
    let mut matches = [0; 3];
    let zones = names.map(|name| TimeZone::named(name).unwrap());
    let expanded: Vec<Vec<Expanded<'_>>> = zones
        .iter()
        .map(|zone| {
            records
                .iter()
                .map(|one| Expanded::new(one, first, zone))
                .collect()
        })
        .collect();
    for round in 0..150 {
        let (zone, expanded) = (&zones[round % zones.len()], &expanded[round % zones.len()]);
        // Ranges begin and end at the bounds of instances, where the tables differ.
        let bound = |rng: &mut SplitMix64| {
            let pool = &expanded[rng.below(4).min(1) as usize * entries as usize..];
            let one = &pool[rng.below(pool.len() as u32) as usize];
            let at = one.bounds[rng.below(one.bounds.len() as u32) as usize];
            at.plus_seconds(i64::from(rng.below(3)) - 1)
        };
        let start = bound(&mut rng).min(first.plus_seconds(500 * DAY));
        let end = match rng.below(3) {
            0 => bound(&mut rng),
            _ => start.plus_seconds([1, 1_800, DAY, 7 * DAY, 40 * DAY][rng.below(5) as usize]),
        };
        let range = TimeRange {
            start: if round % 10 == 9 {
                Timestamp::MIN
            } else {
                start.min(end)
            },
            end: match round % 10 == 8 {
                true => Timestamp::MAX,
                false => start.max(end).max(start.min(end).plus_seconds(1)),
            },
        };
        for (kind, (name, component)) in kinds.iter().enumerate() {
            let bound = |attribute: &str, at: Timestamp| match at {
                Timestamp::MIN | Timestamp::MAX => String::new(),
                at => format!("{attribute}=\"{at}\""),
            };
            let time = format!(
                "<C:time-range {} {}/>",
                bound("start", range.start),
                bound("end", range.end)
            );
            // With and without a condition that makes the texts be read.
            for more in ["", "<C:prop-filter name=\"UID\"/>"] {
                let filter = format!("<C:comp-filter name=\"{name}\">{time}{more}</C:comp-filter>");
                let query = parse_query(&filter).unwrap();
                let mut found = store.find(&query, zone);
                found.sort_unstable();
                let is_match = |one: &&Expanded<'_>| overlaps(one, *component, &range, zone);
                let all = expanded.iter().filter(is_match);
                let mut expected: Vec<&str> = all.filter_map(|one| one.object.uid()).collect();
                expected.sort_unstable();
                assert_eq!(found, expected, "seed {seed}, {filter} in {}", zone.name());
                matches[kind] += found.len();
            }
        }
    }
    assert!(matches.iter().all(|count| *count > 100), "{matches:?}");
}
