//! A calendar over etui's own D-Bus interface.

use std::collections::{BTreeSet, HashMap};

use etui::calendar::CalendarObject;

use super::data::{DAY, RangeQuery};
use super::works::CalendarBackend;
use etui_lab::Error;
use etui_lab::experiments::backends::own::{CallOptions, OwnBackend, unordered};
use etui_lab::experiments::backends::{answer, answer_pairs, timed};
use etui_lab::peers::eds::TimedAnswer;

const CALENDAR: &str = "org.etui.Calendar1";
/// Days of a range that is asked for at once: the occurrences of more would not fit into an array.
const MAX_DAYS: usize = 92;

/// An occurrence: record, component, start, end, RECURRENCE-ID, title, place.
type WireOccurrence = (u64, u32, i64, i64, String, String, String);

type Calendar = OwnBackend<CalendarObject>;

/// The UIDs of records by id, as a program has them that shows events.
struct KnownUids(HashMap<u64, String>);

impl KnownUids {
    fn read(calendar: &Calendar) -> Result<Self, Error> {
        let rows = calendar.query("", unordered(&["uid"]))?.into_iter();
        let pairs = rows.filter_map(|(id, _, values)| Some((id, values.into_iter().next()?)));
        Ok(Self(pairs.collect()))
    }

    fn of(&self, id: u64) -> Result<String, Error> {
        let uid = self.0.get(&id).cloned();
        uid.ok_or_else(|| Error::other("an occurrence is of no record"))
    }
}

fn between(calendar: &Calendar, asked: &RangeQuery) -> Result<Vec<WireOccurrence>, Error> {
    let mut all = Vec::new();
    let range = asked.range.clone();
    for from in range.clone().step_by(MAX_DAYS * DAY as usize) {
        let to = range.end.min(from + MAX_DAYS as i64 * DAY);
        let body = (from, to, "UTC", CallOptions::new());
        let found: Vec<WireOccurrence> = calendar.call(CALENDAR, "Between", &body)?;
        // Those that began before are in the part before.
        let is_new = |one: &WireOccurrence| from == range.start || one.2 >= from;
        all.extend(found.into_iter().filter(is_new));
    }
    Ok(all)
}

impl CalendarBackend for Calendar {
    fn find_instances(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error> {
        let known = KnownUids::read(self)?;
        let (ns, found) = timed(times, || between(self, asked))?;
        let pairs = found
            .iter()
            .map(|one| Ok((known.of(one.0)?, format!("{}-{}", one.2, one.3))));
        Ok(answer_pairs(ns, &pairs.collect::<Result<Vec<_>, Error>>()?))
    }

    fn find_events(&mut self, times: u64, asked: &RangeQuery) -> Result<TimedAnswer, Error> {
        let known = KnownUids::read(self)?;
        let (ns, uids) = timed(times, || {
            let ids: BTreeSet<u64> = between(self, asked)?.iter().map(|one| one.0).collect();
            let uids = ids.into_iter().map(|id| known.of(id));
            let uids = uids.collect::<Result<Vec<String>, Error>>()?;
            match self.texts_of(&uids)?.rows()?.len() == uids.len() {
                true => Ok(uids),
                false => Err(Error::other("an event is missing")),
            }
        })?;
        Ok(answer(ns, uids.iter().map(|uid| (uid.as_str(), ""))))
    }

    fn search_titles(&mut self, times: u64, text: &str) -> Result<TimedAnswer, Error> {
        let filter = format!("title:*{text}*");
        let (ns, rows) = timed(times, || self.query(&filter, unordered(&["uid"])))?;
        let uids = rows.iter().flat_map(|(_, _, values)| values);
        Ok(answer(ns, uids.map(|uid| (uid.as_str(), ""))))
    }
}
