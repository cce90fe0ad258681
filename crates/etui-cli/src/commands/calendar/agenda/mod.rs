//! `etui calendar agenda`: what is on, day by day.

mod days;
mod draw;

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, TimeZone};
use etui::calendar::{Occurrence, Status};

use self::days::{Days, Entry, Mark};
use super::span_args::{SpanArgs, here};
use crate::app::{App, all_in};
use crate::datetime::{LocalNow, Span, day, long_day};
use crate::errors::Result;
use crate::output::json::calendar::OccurrenceObject;
use crate::output::{OutputWriter, Style, count};

const EXAMPLES: &str = "\
Examples:
  etui calendar agenda                       today and the six days after it
  etui calendar agenda tomorrow
  etui calendar agenda week                  this week, from Monday on
  etui calendar agenda next month
  etui calendar agenda 2026-12               a month (2026: a year)
  etui calendar agenda --from monday --to friday
  etui calendar agenda --from -7d --to yesterday
  etui calendar agenda --calendar Work --zone America/New_York
  etui calendar agenda month --json | jq -r .title

  ↻ recurs   [ ] to do   [x] done   09:00-... goes on the next day   #17 number

Days and times without a zone are the same everywhere; all others are shown by the clock here, or
in --zone.";

/// Occurrences shown unless told otherwise: a rule may fire every second.
const USUAL_LIMIT: usize = 10_000;

/// Show what is on, day by day
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    span: SpanArgs,
    /// Show this many at the most
    #[arg(long, value_name = "N", default_value_t = USUAL_LIMIT)]
    limit: usize,
}

/// Shows it.
pub fn run(app: &mut App, calendar: Option<&str>, args: &Args) -> Result<()> {
    let here = here(&app.out);
    let span = args.span.span(&here)?;
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let calendars = all_in(calendar, &snapshot)?;
    let mut found: Vec<(&str, Occurrence)> = Vec::new();
    for (name, reader) in &calendars {
        let most = args.limit.saturating_add(1);
        let some = reader.between_at_most(span.during.clone(), &here.zone, most)?;
        found.extend(some.into_iter().map(|o| (name.as_str(), o)));
    }
    found.sort_by_key(|(_, o)| (o.during.start, o.during.end));
    let is_more = found.len() > args.limit;
    found.truncate(args.limit);
    if app.out.json {
        for (calendar, occurrence) in &found {
            app.out
                .object(&OccurrenceObject::of(calendar, occurrence, &here.zone))?;
        }
    } else {
        let entries: Vec<Entry> = found
            .iter()
            .map(|(name, o)| entry(o, (calendars.len() > 1).then_some(*name), &here.zone))
            .collect();
        write(&mut app.out, &entries, &span, &here)?;
    }
    if is_more {
        app.out.note(&format!(
            "Only the first {} are shown; more with --limit",
            count(args.limit as u64)
        ));
    }
    Ok(())
}

/// What the agenda shows of an occurrence.
fn entry(occurrence: &Occurrence, calendar: Option<&str>, zone: &TimeZone) -> Entry {
    let all_day = occurrence.start.is_date();
    let wall = |time: &CalendarTime, at| match all_day {
        // A day is a day, whatever the zone.
        true => time.local(),
        false => zone.to_local(at),
    };
    Entry {
        id: occurrence.record.0,
        starts: wall(&occurrence.start, occurrence.during.start),
        ends: wall(&occurrence.end, occurrence.during.end),
        all_day,
        title: occurrence.title.to_string(),
        place: occurrence.place.to_string(),
        calendar: calendar.map(str::to_owned),
        recurs: occurrence.instance.is_some(),
        mark: match occurrence.status {
            Some(Status::Tentative) => Mark::Tentative,
            Some(Status::Cancelled) => Mark::Cancelled,
            _ => Mark::Sure,
        },
        done: (occurrence.kind == ComponentKind::Todo)
            .then_some(occurrence.status == Some(Status::Completed)),
    }
}

fn write(out: &mut OutputWriter, entries: &[Entry], span: &Span, here: &LocalNow) -> Result<()> {
    let mut days = Days::new(entries, span.first, span.last).peekable();
    if days.peek().is_none() {
        return out.say(match span.first == span.last {
            true => format!("Nothing on {}.", day(span.first)),
            false => format!("Nothing from {} to {}.", day(span.first), day(span.last)),
        });
    }
    let room = out.width();
    for (i, (date, lines)) in days.enumerate() {
        if i > 0 {
            out.line("")?;
        }
        let mut heading = long_day(date);
        match date.days() - here.now.date().days() {
            0 => heading.push_str(", today"),
            1 => heading.push_str(", tomorrow"),
            _ => {}
        }
        let heading = out.styled(Style::Bold, &heading).into_owned();
        out.line(heading)?;
        for (part, entry) in lines {
            let mut line = String::new();
            for (text, style) in draw::line(part, entry, room) {
                match style {
                    Some(style) => line.push_str(&out.styled(style, &text)),
                    None => line.push_str(&text),
                }
            }
            out.line(line)?;
        }
    }
    Ok(())
}
