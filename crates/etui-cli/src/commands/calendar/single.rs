//! Commands on one time of a series: `etui calendar skip`, `move` and `done`.

use etui::calendar::ics::ComponentKind;
use etui::calendar::recurrence::Instance;
use etui::calendar::time::{CalendarTime, DateTimeValue, Duration, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject, Column, ObjectError, Query};
use etui::record::StoredRecord;
use etui::{Error, SaveOutcome, SavedRecord, Store};
use etui_program::output::escape_text;
use etui_program::{App, Failure, Result};

use super::next_time::{SEARCH_YEARS, next_instance};
use super::record::read_record;
use super::reschedule::{EntryMove, end_in_form_of, start_in_form_of};
use super::show::{describe_span, in_display_zone, shift_time};
use super::span_args::local_now;
use super::time_args::{EventEnd, TimeArgs, note_of_passed};
use crate::commands::records::selection::{SelectionArgs, names_in_words, number_of};
use crate::commands::records::transfer::{Transfer, TransferArgs, transfer_records};
use crate::commands::records::{change, collection_of, parse_filter, report_saved, title_of};
use etui_when::{LocalNow, TimeWords, parse_times_on, parse_when, reference_time, to_instant};

const SKIP_EXAMPLES: &str = "\
Examples:
  etui calendar skip 17                      the next time of number 17
  etui calendar skip 17 --on friday
  etui calendar skip 17 --on 2026-12-24
  etui calendar restore 17                   undo

The time is excluded from the series (EXDATE).";

const MOVE_EXAMPLES: &str = "\
Examples:
  etui calendar move 17 15:00                the next time of number 17, on its day
  etui calendar move 17 \"tomorrow 15:00\" --on friday
  etui calendar move 17 \"2026-12-28 10:00-11:00\" --on 2026-12-24
  etui calendar restore 17                   undo

The other times of the series stay. To move all: etui calendar edit 17 --start WHEN.

  etui calendar move --to Work 17 18         entries to another calendar
  etui calendar move --to Work --where category:project --dry-run

A moved entry gets a new number, and keeps its UID. If the calendar has another entry with that UID,
nothing is moved.";

const DONE_EXAMPLES: &str = "\
Examples:
  etui calendar done 17                      complete a to-do
  etui calendar done 17 18 19
  etui calendar done 17 --on friday          one time of a recurring to-do
  etui calendar done 17 --undo               open it again

Of a recurring to-do the first open time is completed. `etui calendar todos` lists the to-dos.";

/// Times of a recurring to-do that are searched for one with a state.
const MAX_SEARCHED: usize = 1_000;

/// Leave out one time of a recurring entry
#[derive(Debug, clap::Args)]
#[command(after_help = SKIP_EXAMPLES)]
pub struct SkipArgs {
    /// Number, UID, or words of which there is one match
    #[arg(value_name = "ID|NAME", required = true)]
    words: Vec<String>,
    /// The day or time that is left out [default: the next one]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    on: Option<String>,
}

/// Move one time of a recurring entry, or entries to another calendar
#[derive(Debug, clap::Args)]
#[command(
    after_help = MOVE_EXAMPLES,
    override_usage = "etui calendar move ID WHEN [--on WHEN]\n       \
        etui calendar move --to NAME [--dry-run] {ID... | --where FILTER}"
)]
pub struct MoveArgs {
    /// Number, UID, or a name in quotes of which there is one match
    #[arg(value_name = "ID|NAME", required_unless_present = "filter")]
    id: Option<String>,
    /// The new start, or start and end; with --to, another number or UID
    #[arg(
        value_name = "WHEN",
        allow_hyphen_values = true,
        required_unless_present = "to"
    )]
    when: Option<String>,
    /// With --to: further numbers or UIDs
    #[arg(value_name = "ID", requires = "to")]
    more: Vec<String>,
    /// The day or time that is moved [default: the next one]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    on: Option<String>,
    /// The calendar that the entries go to
    #[arg(long, value_name = "NAME", conflicts_with = "on")]
    to: Option<String>,
    /// With --to: select all that match a filter, in place of IDs
    #[arg(
        long = "where",
        id = "filter",
        value_name = "FILTER",
        requires = "to",
        conflicts_with = "id"
    )]
    filter: Option<String>,
    /// With --to: report the changes, and make none
    #[arg(long, requires = "to")]
    dry_run: bool,
}

/// Complete to-dos
#[derive(Debug, clap::Args)]
#[command(after_help = DONE_EXAMPLES)]
pub struct DoneArgs {
    /// Numbers, UIDs, or words of which there is one match
    #[arg(required = true, value_name = "ID|NAME")]
    ids: Vec<String>,
    /// The day or time of a recurring to-do that is completed [default: the first open one]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    on: Option<String>,
    /// Open them again
    #[arg(long)]
    undo: bool,
}

pub fn skip_instance(app: &mut App, args: &SkipArgs) -> Result<()> {
    let id = &args.words.join(" ");
    change_instance(app, id, args.on.as_deref(), |record, zones, here| {
        let instance = find_instance(record, id, args.on.as_deref(), here)?;
        let excluded = record.exclude_instance(&instance.id, zones);
        if let Err(ObjectError::Empty) = excluded {
            return Err(Failure::usage(format!(
                "this is the only time of the entry; remove it: etui calendar remove {}",
                escape_text(id)
            )));
        }
        excluded?;
        let when = describe_span(&instance.start, &instance.end, here);
        let start = in_display_zone(&instance.start, here);
        Ok(InstanceChange {
            notes: note_of_passed(&start, here).into_iter().collect(),
            ..InstanceChange::of(format!("Skipped {when} of"))
        })
    })
}

/// Moves one time of a series, or, with `--to`, entries to another calendar.
pub fn move_entries(app: &mut App, args: &MoveArgs) -> Result<()> {
    if let Some(to) = &args.to {
        let ids = args.id.iter().chain(&args.when).chain(&args.more);
        let selection =
            SelectionArgs::new(ids.cloned().collect(), args.filter.clone(), args.dry_run);
        return transfer_records(
            app,
            &TransferArgs::<CalendarObject>::new(selection, to),
            Transfer::Move,
        );
    }
    match (&args.id, &args.when) {
        (Some(id), Some(when)) => move_one(app, id, when, args.on.as_deref()),
        _ => Err(Failure::usage("name an entry and its new time")),
    }
}

fn move_one(app: &mut App, id: &str, to: &str, on: Option<&str>) -> Result<()> {
    change_instance(app, id, on, |record, zones, here| {
        let instance = find_instance(record, id, on, here)?;
        let from = describe_span(&instance.start, &instance.end, here);
        let moved = move_instance(record, &instance, to, zones, here)?;
        Ok(InstanceChange {
            notes: moved.notes,
            ..InstanceChange::of(format!("Moved {from} to {} of", moved.when))
        })
    })
}

/// Moves one time of a series to a typed day or time: a time alone is on its day, a day keeps the time of day.
pub fn move_instance(
    record: &mut CalendarObject,
    instance: &Instance,
    to: &str,
    zones: &TimeZoneResolver,
    here: &LocalNow,
) -> Result<EntryMove> {
    let at = here.zone.to_local(instance.during.start);
    let now = reference_time(to, at, here.now);
    let words =
        parse_times_on(to, at.date(), now).map_err(|e| Failure::usage(format!("{to}: {e}")))?;
    let typed = words.start.in_zone(Some(&here.zone));
    let (start, end) = moved_times(instance, &words, to, here)?;
    let mut part = part_of(record, instance, zones)?;
    set_times(&mut part, instance, &start, &end, zones)?;
    record.replace_components(&part, zones)?;
    Ok(EntryMove::new(&start, &end, &typed, here))
}

pub fn complete_todos(app: &mut App, args: &DoneArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let ids = names_in_words::<CalendarObject>(&store, &args.ids)?;
    // Of entries of one name, the to-do is meant, and of to-dos the open one.
    let is_todo = |record: &CalendarObject, _: &str| record.master().kind == ComponentKind::Todo;
    let is_due = |record: &CalendarObject, id: &str| {
        let main = record.master();
        is_todo(record, id) && (main.recurs() || super::todos::is_done(main.status) == args.undo)
    };
    let mut numbers = Vec::new();
    for id in ids {
        let words = std::slice::from_ref(&id);
        let number = match number_where(app, &store, words, is_due)? {
            None => number_where(app, &store, words, is_todo)?,
            number => number,
        };
        numbers.push(number.unwrap_or(id));
    }
    store.close()?;
    for id in &numbers {
        change_instance(app, id, args.on.as_deref(), |record, zones, here| {
            expect_todo(record, id)?;
            let (what, already) = match args.undo {
                true => ("Opened", "Not done:"),
                false => ("Done", "Already done:"),
            };
            if !record.master().recurs() {
                if super::todos::is_done(record.master().status) != args.undo {
                    return Ok(InstanceChange::none(already));
                }
                let at = record.master_index();
                set_done(record, at, args.undo, zones)?;
                return Ok(InstanceChange::of(what.to_owned()));
            }
            let instance = match (&args.on, args.undo) {
                (Some(on), _) => find_instance(record, id, Some(on), here)?,
                (None, undo) => first_with_state(record, undo, here).ok_or_else(|| {
                    let state = if undo { "completed" } else { "open" };
                    Failure::NotFound(format!(
                        "entry {} has no {state} time; name one with --on",
                        escape_text(id)
                    ))
                })?,
            };
            let when = describe_span(&instance.start, &instance.end, here);
            if is_instance_done(record, &instance) != args.undo {
                return Ok(InstanceChange::none(&format!("{already} {when} of")));
            }
            set_instance_done(record, &instance, args.undo, zones)?;
            Ok(InstanceChange::of(format!("{what} {when} of")))
        })?;
    }
    Ok(())
}

fn expect_todo(record: &CalendarObject, id: &str) -> Result<()> {
    match record.master().kind {
        ComponentKind::Todo => Ok(()),
        _ => Err(Failure::usage(format!(
            "entry {} is not a to-do; only to-dos can be completed",
            escape_text(id)
        ))),
    }
}

/// Completes one time of a to-do, or opens it again.
fn set_instance_done(
    record: &mut CalendarObject,
    instance: &Instance,
    undo: bool,
    zones: &TimeZoneResolver,
) -> Result<()> {
    let mut part = single_of(record, instance, zones)?;
    set_done(&mut part, 0, undo, zones)?;
    Ok(record.replace_components(&part, zones)?)
}

/// Completes a to-do, or the given time of a recurring one or its first open time; opens it again if it
/// was completed. Returns the word for the change.
pub fn toggle_done(
    record: &mut CalendarObject,
    at: Option<&CalendarTime>,
    zones: &TimeZoneResolver,
    here: &LocalNow,
) -> Result<&'static str> {
    expect_todo(record, &title_of(record))?;
    let undo = if record.master().recurs() {
        let instance = match at {
            Some(id) => record.recurrence_set().instance_with_id(id, &here.zone),
            None => first_with_state(record, false, here),
        };
        let instance =
            instance.ok_or_else(|| Failure::NotFound("this to-do has no open time".to_owned()))?;
        let undo = is_instance_done(record, &instance);
        set_instance_done(record, &instance, undo, zones)?;
        undo
    } else {
        let undo = super::todos::is_done(record.master().status);
        set_done(record, record.master_index(), undo, zones)?;
        undo
    };
    touch(record, zones)?;
    Ok(if undo { "Opened" } else { "Done" })
}

/// Excludes one time of a series.
pub fn skip_time(
    record: &mut CalendarObject,
    id: &CalendarTime,
    zones: &TimeZoneResolver,
) -> Result<()> {
    match record.exclude_instance(id, zones) {
        Err(ObjectError::Empty) => Err(Failure::usage(
            "this is the only time of the entry; remove the entry",
        )),
        excluded => {
            excluded?;
            touch(record, zones)
        }
    }
}

/// Raises the sequence number and sets the time of the change.
pub fn touch(record: &mut CalendarObject, zones: &TimeZoneResolver) -> Result<()> {
    let at = record.master_index();
    // That of a meeting is its organizer's (RFC 5546 section 2.1.4): a later update would be older.
    if record.master().organizer.is_none() {
        let sequence = record.master().sequence.saturating_add(1);
        record.set(at, "SEQUENCE", &sequence.to_string(), zones)?;
    }
    let now = Timestamp::from(std::time::SystemTime::now()).to_string();
    Ok(record.set(at, "LAST-MODIFIED", &now, zones)?)
}

/// A change of one time of a series, or of a to-do.
struct InstanceChange {
    /// The words of the answer before the number.
    what: String,
    /// What a person should know of the time.
    notes: Vec<String>,
    /// Whether nothing is to be saved: it was so already.
    is_none: bool,
}

impl InstanceChange {
    fn of(what: String) -> Self {
        Self {
            what,
            notes: Vec::new(),
            is_none: false,
        }
    }

    fn none(what: &str) -> Self {
        Self {
            is_none: true,
            ..Self::of(what.to_owned())
        }
    }
}

/// Returns the number of the only record that a name matches; of several, the only one with a time on the day or at
/// the time `on`.
pub(super) fn number_on(
    app: &mut App,
    store: &Store,
    words: &[String],
    on: Option<&str>,
) -> Result<Option<String>> {
    let Some(on) = on else {
        return Ok(None);
    };
    let here = local_now(&app.out);
    number_where(app, store, words, |record, id| {
        find_instance(record, id, Some(on), &here).is_ok()
    })
}

/// Returns the number of the only record of a name that meets a condition; `None` for numbers and UIDs, too.
fn number_where(
    app: &mut App,
    store: &Store,
    words: &[String],
    is_wanted: impl Fn(&CalendarObject, &str) -> bool,
) -> Result<Option<String>> {
    let Ok(filter) = parse_filter::<CalendarObject>(words) else {
        return Ok(None);
    };
    if words
        .iter()
        .any(|word| word.bytes().all(|b| b.is_ascii_digit()))
    {
        return Ok(None);
    }
    let snapshot = store.snapshot()?;
    let readers = app.readers_in::<CalendarObject>(&snapshot)?;
    for (_, reader) in &readers {
        for word in words {
            if reader.record(word)?.is_some() {
                return Ok(None);
            }
        }
    }
    let mut found = Vec::new();
    for (_, reader) in readers {
        let rows = reader.query(&Query::new(filter.clone()).columns(Column::Uid))?;
        for row in rows.iter() {
            let Some((_, record)) = reader.record(row.get(Column::Uid))? else {
                continue;
            };
            let id = row.id().to_string();
            if is_wanted(&record, &id) {
                found.push(id);
            }
        }
    }
    match found.len() {
        1 => Ok(found.pop()),
        _ => Ok(None),
    }
}

/// Changes an entry and reports it. Of several with a name the one with a time `on` a day is taken.
fn change_instance(
    app: &mut App,
    id: &str,
    on: Option<&str>,
    edit: impl FnOnce(&mut CalendarObject, &TimeZoneResolver, &LocalNow) -> Result<InstanceChange>,
) -> Result<()> {
    let here = local_now(&app.out);
    let store = app.open_to_write()?;
    let id = &match number_on(app, &store, &[id.to_owned()], on)? {
        Some(number) => number,
        None => number_of::<CalendarObject>(app, &store, id)?,
    };
    let ids = [id.to_owned()];
    let calendar: Calendar = collection_of::<CalendarObject>(app, &store, &ids)?;
    let (stored, mut record): (StoredRecord<CalendarObject>, _) = read_record(&calendar, id)?;
    let zones = calendar.zones(stored.id)?;
    let InstanceChange {
        what,
        notes,
        is_none,
    } = edit(&mut record, &zones, &here)?;
    for note in &notes {
        app.out.write_note(note);
    }
    let (record, saved) = match is_none {
        true => {
            let saved = SavedRecord {
                id: stored.id,
                etag: stored.etag,
                outcome: SaveOutcome::Unchanged,
            };
            (record, saved)
        }
        false => {
            touch(&mut record, &zones)?;
            change::save_changed(&calendar, &stored, id, record)?
        }
    };
    store.close()?;
    report_saved(
        &mut app.out,
        &record,
        &saved,
        &stored.uid,
        |title| match saved.outcome {
            _ if is_none => format!("{what} {} {title}", saved.id),
            SaveOutcome::Unchanged => format!("Unchanged: {} {title}", saved.id),
            _ => format!(
                "{what} {number}: {title} (undo: etui calendar restore {number})",
                number = saved.id
            ),
        },
    )
}

/// Returns the time of a series on a day or at a time, or the next one.
pub(super) fn find_instance(
    record: &CalendarObject,
    id: &str,
    on: Option<&str>,
    here: &LocalNow,
) -> Result<Instance> {
    let id = escape_text(id);
    if !record.components().any(|c| c.recurs() || c.is_override()) {
        return Err(Failure::usage(format!(
            "entry {id} does not recur; use `etui calendar edit` or `etui calendar remove`"
        )));
    }
    let set = record.recurrence_set();
    let Some(on) = on else {
        return next_instance(record, here).ok_or_else(|| {
            Failure::NotFound(format!(
                "entry {id} has no time in the next {SEARCH_YEARS} years; name one with --on"
            ))
        });
    };
    let value = parse_when(on, here.now).map_err(|e| Failure::usage(format!("--on {on}: {e}")))?;
    let from = to_instant(value, &here.zone);
    let to = match value {
        DateTimeValue::Date(day) => to_instant(DateTimeValue::Date(day.plus_days(1)), &here.zone),
        _ => from.plus_seconds(1),
    };
    let within = set.between(from..to, &here.zone);
    let mut starting = within.filter(|instance| (from..to).contains(&instance.during.start));
    let first = starting.next();
    let Some(first) = first else {
        return Err(Failure::NotFound(format!(
            "entry {id} has no time on {on}; `etui calendar agenda` shows its times"
        )));
    };
    match starting.next() {
        None => Ok(first),
        Some(_) => Err(Failure::usage(format!(
            "entry {id} has several times on {on}; give the time of day too"
        ))),
    }
}

/// Returns the first time of a recurring to-do that is completed, or that is not.
fn first_with_state(record: &CalendarObject, is_done: bool, here: &LocalNow) -> Option<Instance> {
    let set = record.recurrence_set();
    let mut all = set
        .between(Timestamp::MIN..Timestamp::MAX, &here.zone)
        .take(MAX_SEARCHED);
    all.find(|instance| is_instance_done(record, instance) == is_done)
}

fn is_instance_done(record: &CalendarObject, instance: &Instance) -> bool {
    let mut components = record.components().filter(|c| c.timing.is_some());
    let component = components.nth(instance.component);
    component.is_some_and(|c| super::todos::is_done(c.status))
}

/// Returns the new start and end, which are typed in the user's time zone, in the form of the old ones.
fn moved_times(
    instance: &Instance,
    words: &TimeWords,
    text: &str,
    here: &LocalNow,
) -> Result<(CalendarTime, CalendarTime)> {
    let given = TimeArgs::default().start_of_words(words, text, here)?;
    let old = &instance.start;
    if old.is_date() && !given.start.is_date() {
        return Err(Failure::usage(format!(
            "{text}: the entry is all-day; give a day without a time"
        )));
    }
    let start = start_in_form_of(old, &given.start, here);
    let end = given.end.map(|end| end_in_form_of(&start, end, here));
    let end = match end {
        Some(EventEnd::At(end)) if end.is_date() != start.is_date() => {
            return Err(Failure::usage(format!(
                "{text}: the entry has times of day; give a day or a time, not a range of days"
            )));
        }
        Some(EventEnd::At(end)) => end,
        Some(EventEnd::After(length)) => shift_time(&start, length),
        None => {
            let by = start.local().seconds() - old.local().seconds();
            shift_time(&instance.end, Duration::from_seconds(by))
        }
    };
    Ok((start, end))
}

/// Returns one time of a series as an object of its own, with its times and without rules.
pub(super) fn single_of(
    record: &CalendarObject,
    instance: &Instance,
    zones: &TimeZoneResolver,
) -> Result<CalendarObject> {
    let mut part = part_of(record, instance, zones)?;
    if record.find_override(&instance.id).is_none() {
        set_times(&mut part, instance, &instance.start, &instance.end, zones)?;
    }
    Ok(part)
}

/// Returns one time of a series as an object of its own.
fn part_of(
    record: &CalendarObject,
    instance: &Instance,
    zones: &TimeZoneResolver,
) -> Result<CalendarObject> {
    let part = record.instance(&instance.id, zones)?;
    part.ok_or_else(|| {
        Failure::Library(Error::from(ObjectError::NoInstance(
            instance.id.value().to_string(),
        )))
    })
}

/// Sets the times of an object with one time of a series.
fn set_times(
    part: &mut CalendarObject,
    old: &Instance,
    start: &CalendarTime,
    end: &CalendarTime,
    zones: &TimeZoneResolver,
) -> Result<()> {
    let main = part.master().clone();
    for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
        part.remove(0, name, None, zones)?;
    }
    let has_end = main.end.is_some() || main.duration.is_some() || old.start != old.end;
    match main.kind {
        ComponentKind::Todo => {
            let due = if main.start.is_some() { end } else { start };
            if main.due.is_some() {
                part.set_time(0, "DUE", due, zones)?;
            }
            if main.start.is_some() {
                part.set_time(0, "DTSTART", start, zones)?;
            }
        }
        _ => {
            part.set_time(0, "DTSTART", start, zones)?;
            if has_end {
                part.remove(0, "DURATION", None, zones)?;
                part.set_time(0, "DTEND", end, zones)?;
            }
        }
    }
    Ok(())
}

/// Completes the to-do at index `at`, or opens it again.
fn set_done(
    record: &mut CalendarObject,
    at: usize,
    undo: bool,
    zones: &TimeZoneResolver,
) -> Result<()> {
    if undo {
        record.set(at, "STATUS", "NEEDS-ACTION", zones)?;
        record.remove(at, "COMPLETED", None, zones)?;
        record.remove(at, "PERCENT-COMPLETE", None, zones)?;
        return Ok(());
    }
    let now = Timestamp::from(std::time::SystemTime::now()).to_string();
    record.set(at, "STATUS", "COMPLETED", zones)?;
    record.set(at, "COMPLETED", &now, zones)?;
    record.set(at, "PERCENT-COMPLETE", "100", zones)?;
    Ok(())
}
