//! Expected results of a calendar, computed from each record alone.

use std::ops::Range;

use etui::RecordId;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{AlarmTrigger, Calendar, DueAlarm, Occurrence, Status};

/// Times and titles.
pub fn told(all: &[Occurrence]) -> Vec<String> {
    let tell = |o: &Occurrence| format!("{} {} {}", o.during.start, o.during.end, o.title);
    all.iter().map(tell).collect()
}

/// Returns the occurrences of all records in a range, each record expanded alone.
pub fn naive(calendar: &Calendar, range: &Range<Timestamp>, viewer: &TimeZone) -> Vec<String> {
    let mut all = Vec::new();
    for (uid, id) in uids(calendar) {
        let (_, record) = calendar.record(&uid).unwrap().unwrap();
        let items: Vec<_> = record.components().filter(|i| i.timing.is_some()).collect();
        for instance in record.recurrence_set().between(range.clone(), viewer) {
            let title = items[instance.component]
                .summary
                .clone()
                .unwrap_or_default();
            let Range { start, end } = instance.during;
            all.push((start, end, id, format!("{start} {end} {title}")));
        }
    }
    all.sort_by_key(|(start, end, id, _)| (*start, *end, *id));
    all.into_iter().map(|(.., text)| text).collect()
}

/// Returns UIDs and ids of all records.
pub fn uids(calendar: &Calendar) -> Vec<(String, RecordId)> {
    let ids: Vec<RecordId> = calendar.all().unwrap().iter().map(|(id, _)| id).collect();
    let stored = |id| calendar.get(id).unwrap().unwrap();
    ids.into_iter().map(|id| (stored(id).uid, id)).collect()
}

/// Returns every alarm due in a range, by scanning everything.
pub fn naive_alarms(
    calendar: &Calendar,
    range: &Range<Timestamp>,
    viewer: &TimeZone,
) -> Vec<String> {
    let mut all = Vec::new();
    for (uid, _) in uids(calendar) {
        let (_, record) = calendar.record(&uid).unwrap().unwrap();
        let items: Vec<_> = record.components().filter(|i| i.timing.is_some()).collect();
        let wide = range.start.plus_seconds(-60 * 86_400)..range.end.plus_seconds(60 * 86_400);
        let mut of_record = Vec::new();
        for instance in record.recurrence_set().between(wide, viewer) {
            let item = items[instance.component];
            for alarm in &item.alarms {
                if !matches!(alarm.trigger, AlarmTrigger::At(_)) {
                    of_record.extend(
                        alarm
                            .due(&instance.start, &instance.end, viewer)
                            .map(|due| (due, item)),
                    );
                }
            }
        }
        for item in &items {
            for alarm in &item.alarms {
                if let AlarmTrigger::At(due) = alarm.trigger {
                    of_record.push((due, item));
                }
            }
        }
        of_record.retain(|(due, item)| {
            let done = item.acknowledged.as_ref().map(|t| t.at(viewer));
            let is_over = matches!(item.status, Some(Status::Cancelled | Status::Completed));
            range.contains(due) && done.is_none_or(|done| *due > done) && !is_over
        });
        all.extend(of_record.into_iter().map(|(due, item)| {
            (
                due,
                format!("{due} {}", item.summary.clone().unwrap_or_default()),
            )
        }));
    }
    all.sort();
    all.dedup();
    all.into_iter().map(|(_, text)| text).collect()
}

/// Returns the found alarms that are due in a range.
pub fn told_alarms(all: &[DueAlarm], range: &Range<Timestamp>) -> Vec<String> {
    let mut all: Vec<(Timestamp, String)> = all
        .iter()
        .filter(|due| range.contains(&due.at))
        .map(|due| (due.at, format!("{} {}", due.at, due.title)))
        .collect();
    all.sort();
    all.dedup();
    all.into_iter().map(|(_, text)| text).collect()
}
