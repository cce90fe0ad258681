//! Finds the next entry with some words.

use std::collections::HashSet;

use etui::RecordId;
use etui::calendar::time::{Date, DateTime};
use etui::calendar::{CalendarObject, Occurrence};
use etui::search::query::{Columns, Query};
use etui_program::Result;

use super::AgendaReader;
use super::state::AgendaState;
use crate::commands::calendar::agenda::load::find_occurrences;
use crate::commands::calendar::span_args::local_now;
use crate::commands::records::parse_filter;
use etui_when::TimeSpan;

/// Days that are read at a time.
const STEP_DAYS: i64 = 92;
/// Steps until the search ends: ten years.
const MAX_STEPS: i64 = 40;

impl AgendaReader<'_> {
    /// Returns the day, id and start of the next occurrence after the selected entry, or of the last one
    /// before it, of the entries that match a filter.
    pub fn find_next(
        &self,
        agenda: &AgendaState,
        words: &str,
        is_forward: bool,
    ) -> Result<Option<(Date, RecordId, DateTime)>> {
        let here = local_now(&self.app.out);
        let snapshot = self.store.snapshot()?;
        let readers = self.app.readers_in::<CalendarObject>(&snapshot)?;
        let query = Query::new(parse_filter::<CalendarObject>(&[words.to_owned()])?);
        let query = query.columns(Columns::NONE);
        let mut matches: HashSet<RecordId> = HashSet::new();
        for (_, reader) in &readers {
            matches.extend(reader.query(&query)?.ids());
        }
        if matches.is_empty() {
            return Ok(None);
        }
        // One that began on an earlier day is not the origin, but the day that is shown.
        let selected = agenda.selected_entry();
        let selected = selected.filter(|entry| entry.starts.date() >= agenda.day);
        let from = selected.map_or_else(|| agenda.day.midnight(), |entry| entry.starts);
        let selected_id = selected
            .and_then(|entry| entry.source.as_ref())
            .map(|source| source.id);
        let start_of = |o: &Occurrence| match o.start.is_date() {
            true => o.start.local(),
            false => here.zone.to_local(o.during.start),
        };
        let is_next = |o: &Occurrence| {
            let start = start_of(o);
            let is_other = selected_id != Some(o.record) || start != from;
            let is_after = match is_forward {
                true => {
                    start > from || (start == from && selected_id.is_none_or(|id| o.record > id))
                }
                false => {
                    start < from || (start == from && selected_id.is_some_and(|id| o.record < id))
                }
            };
            matches.contains(&o.record) && is_other && is_after
        };
        for step in 0..MAX_STEPS {
            let first = match is_forward {
                true => from.date().plus_days(step * STEP_DAYS),
                false => from.date().plus_days(1 - (step + 1) * STEP_DAYS),
            };
            let span = TimeSpan::of_days(first, first.plus_days(STEP_DAYS - 1), &here);
            let found = find_occurrences(&readers, &span, &here, None)?;
            let all = found.occurrences.into_iter().map(|(_, o)| o);
            let all = all.filter(is_next).map(|o| (start_of(&o), o.record));
            let next = match is_forward {
                true => all.min(),
                false => all.max(),
            };
            if let Some((start, id)) = next {
                return Ok(Some((start.date(), id, start)));
            }
        }
        Ok(None)
    }
}
