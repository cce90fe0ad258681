//! The next occurrence of the entries that match: `etui calendar find dentist --next`.

use etui::calendar::time::{CalendarTime, TimeZone};
use etui::calendar::{CalendarObject, Color, Filter, Occurrence};
use etui::record::Paging;
use etui_program::output::one_line;
use etui_program::{App, Failure, Result};

use super::span_args::local_now;
use crate::commands::records::name_or_placeholder;
use crate::commands::records::query::NamedReaders;
use crate::json::calendar::occurrence_json;
use etui_when::format_range;

/// Prints the next occurrence from now. Returns false if no entry matches.
pub fn show_next(
    app: &mut App,
    readers: &NamedReaders<'_, CalendarObject>,
    filter: &Filter,
) -> Result<bool> {
    let here = local_now(&app.out);
    let now = here.zone.to_utc(here.now);
    let mut next: Option<((&str, Option<Color>), Occurrence)> = None;
    let mut has_match = false;
    for (calendar, reader) in readers {
        has_match = has_match || !reader.find_page(filter, Paging::first(1))?.is_empty();
        let found = reader.next_occurrence(filter, now, &here.zone)?;
        let found = match found {
            Some(occurrence) => Some(((calendar.as_str(), reader.color()?), occurrence)),
            None => None,
        };
        next = next
            .into_iter()
            .chain(found)
            .min_by_key(|(_, o)| o.during.start);
    }
    match next {
        Some((calendar, occurrence)) => {
            let object = occurrence_json(calendar, &occurrence, &here.zone);
            match app.out.json {
                true => app.out.write_json(&object)?,
                false => {
                    let line = format_next(&occurrence, &here.zone);
                    app.out.write_line(line)?;
                }
            }
            Ok(true)
        }
        None if has_match => Err(Failure::NotFound(
            "the matching entries have no occurrence from now on; \
             without --next they are listed"
                .to_owned(),
        )),
        None => Ok(false),
    }
}

/// Formats an occurrence in the display zone: `Thu 9 Jun 2022, 16:30-17:30  Dentist  Room 4  #354`.
fn format_next(occurrence: &Occurrence, here: &TimeZone) -> String {
    let local = |time: &CalendarTime| match time.is_date() {
        true => time.clone(),
        false => CalendarTime::Floating(here.to_local(time.at(here))),
    };
    let when = format_range(&local(&occurrence.start), &local(&occurrence.end));
    let title = name_or_placeholder::<CalendarObject>(&occurrence.title);
    let mut line = format!("{when}  {}", one_line(title));
    if !occurrence.location.is_empty() {
        line.push_str(&format!("  {}", one_line(&occurrence.location)));
    }
    line.push_str(&format!("  #{}", occurrence.record));
    line
}
