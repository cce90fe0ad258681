//! [`CalendarBackend`]: operations on a calendar beyond a [`StoreBackend`], as each product does
//! it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use etui::RecordId;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{CalendarObject, Column, Field, Filter, Occurrence, Query};
use etui::record::Collection;
use etui::search::filter::MatchMode;
use etui::search::query::SortOrder;

use super::data::{DAY, RangeQuery};
use etui_lab::Error;
use etui_lab::experiments::backends::etui::EtuiBackend;
use etui_lab::experiments::backends::server::EdsBackend;
use etui_lab::experiments::backends::{StoreBackend, answer, answer_pairs, each, timed};
use etui_lab::peers::eds::TimedAnswer;

/// Alarms that are asked for at once.
const ALARMS: usize = 10;

/// A calendar that is open. Times are seen from UTC.
pub trait CalendarBackend: StoreBackend {
    /// Returns the occurrences in a range: each time of each event; digest of UIDs and times.
    fn find_instances(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error>;
    /// The events that happen in a range, whole; digest of their UIDs.
    fn find_events(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error>;
    /// The events with a text in their titles; digest of their UIDs.
    fn search_titles(&mut self, times: u64, text: &str) -> Result<TimedAnswer, Error>;
    /// Returns requests of this product alone, by name.
    fn own_requests(&mut self, _times: u64, _asked: &RangeQuery) -> Result<OwnRequests, Error> {
        Ok(Vec::new())
    }
}

type OwnRequests = Vec<(&'static str, TimedAnswer)>;

/// The digest's words for a time from when until when.
pub fn format_time(start: Timestamp, end: Timestamp) -> String {
    format!("{}-{}", start.seconds(), end.seconds())
}

/// Returns UIDs and times of occurrences.
pub fn name_occurrences(
    calendar: &Collection<CalendarObject>,
    found: &[Occurrence],
    known: &mut HashMap<RecordId, String>,
) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::with_capacity(found.len());
    for one in found {
        if let Entry::Vacant(entry) = known.entry(one.record) {
            let stored = calendar.get(one.record)?;
            let stored = stored.ok_or_else(|| Error::other("an occurrence is of no record"))?;
            entry.insert(stored.uid);
        }
        pairs.push((
            known[&one.record].clone(),
            format_time(one.during.start, one.during.end),
        ));
    }
    Ok(pairs)
}

impl CalendarBackend for EtuiBackend<CalendarObject> {
    fn find_instances(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error> {
        let calendar = self.collection()?;
        let (ns, found) = timed(times, || {
            Ok(calendar.between(asked.to_instants(), &TimeZone::UTC)?)
        })?;
        let pairs = name_occurrences(&calendar, &found, &mut HashMap::new())?;
        Ok(answer_pairs(ns, &pairs))
    }

    fn find_events(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error> {
        let calendar = self.collection()?;
        let (ns, found) = timed(times, || {
            let found = calendar.between(asked.to_instants(), &TimeZone::UTC)?;
            let mut ids: Vec<RecordId> = found.iter().map(|one| one.record).collect();
            ids.sort_unstable();
            ids.dedup();
            let mut events = Vec::with_capacity(ids.len());
            for id in ids {
                events.extend(calendar.get(id)?);
            }
            Ok(events)
        })?;
        Ok(answer(
            ns,
            found.iter().map(|event| (event.uid.as_str(), "")),
        ))
    }

    fn search_titles(&mut self, times: u64, text: &str) -> Result<TimedAnswer, Error> {
        let calendar = self.collection()?;
        let filter = Filter::text(Field::Title, MatchMode::Contains, text);
        let wanted = Query::new(filter)
            .sort(SortOrder::Unordered)
            .columns(Column::Uid);
        let (ns, rows) = timed(times, || Ok(calendar.query(&wanted)?))?;
        Ok(answer(
            ns,
            rows.iter().map(|row| (row.get(Column::Uid), "")),
        ))
    }

    fn own_requests(&mut self, times: u64, asked: &RangeQuery) -> Result<OwnRequests, Error> {
        let calendar = self.collection()?;
        let range = asked.to_instants();
        // Another day each time.
        let day = |n: u64| range.start.plus_seconds(n as i64 * DAY);
        let alarms = each(times, |n| {
            Ok(calendar
                .alarms(day(n), ALARMS, &TimeZone::UTC)?
                .alarms
                .len() as u64)
        })?;
        let busy = each(times, |_| {
            Ok(calendar.free_busy(range.clone(), &TimeZone::UTC)?.len() as u64)
        })?;
        let agenda = each(times, |n| {
            let found = calendar.between(day(n)..day(n + 1), &TimeZone::UTC)?;
            Ok(found.len() as u64)
        })?;
        Ok(vec![("alarms", alarms), ("busy", busy), ("day", agenda)])
    }
}

impl CalendarBackend for EdsBackend {
    fn find_instances(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error> {
        let (from, to) = (asked.range.start.to_string(), asked.range.end.to_string());
        self.ask(&["instances", &times.to_string(), &from, &to])
    }

    fn find_events(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error> {
        let range = asked.to_instants();
        let sexp = format!(
            "(occur-in-time-range? (make-time \"{}\") (make-time \"{}\"))",
            range.start, range.end
        );
        self.ask(&["uids", &times.to_string(), &sexp])
    }

    fn search_titles(&mut self, times: u64, text: &str) -> Result<TimedAnswer, Error> {
        let sexp = format!("(contains? \"summary\" \"{}\")", text);
        self.ask(&["uids", &times.to_string(), &sexp])
    }
}
