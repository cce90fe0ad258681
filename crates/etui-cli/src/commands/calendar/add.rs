//! `etui calendar add`.

use etui::calendar::recurrence::RecurrenceRule;
use etui::calendar::time::{CalendarTime, Duration};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{CalendarObject, Draft};
use etui::{Condition, Error};
use etui_program::output::{escape_text, one_line};
use etui_program::{App, Failure, Result};

use super::property::{EntryAssignment, parse_assignment, parse_title};
use super::record::check_understood;
use super::show::{describe_times, shift_time};
use super::span_args::local_now;
use super::time_args::{
    AlignedRule, EventEnd, StartTime, TimeArgs, align_rule, check_due, note_of_gap, note_of_move,
    note_of_passed, offset_before_start,
};
use crate::commands::records::report_saved;
use crate::json::calendar::added_entry_json;
use etui_when::{LocalNow, Phrase, PhraseError, TimeWords, parse_duration, parse_phrase};

const EXAMPLES: &str = "\
Examples:
  etui calendar add \"Lunch with Bob tomorrow 12:30\"
  etui calendar add \"Gym every other tuesday 18:00-19:30 for 10 weeks\"
  etui calendar add Lunch --start 12:30 --place Canteen --alarm 10m
  etui calendar add \"Jour fixe\" --start \"mon 9:00\" --duration 45m --repeat \"weekly on mon,thu\"
  etui calendar add Holidays --start 2026-12-24 --end 2027-01-06
  etui calendar add Call --start \"tomorrow 15:00\" --zone America/New_York
  etui calendar add \"Tax return\" --due 2027-05-31 --alarm 1w
  etui calendar add \"todo Buy milk friday\"
  etui calendar add \"Lunch with Bob friday 12:30 at Canteen\"
  etui calendar add \"Zoom with Kim 3pm EST tomorrow\"
  etui calendar add \"Zahnarzt Dienstag um 9\"
  etui calendar add Talk --start \"fri 14:00\" --set url=https://example.org --set class=PRIVATE

WHEN  18:30, tomorrow, \"next friday 9am\", \"in 2 hours\", \"Dec 25\", 25.12., 2026-12-24, +3d,
      or a range: \"friday 14:00-15:00\", \"Dec 24 to Jan 6\"
HOW   daily, mon-fri, \"every second tuesday\", \"last friday of the month\", \"yearly on Dec 25\",
      \"weekly for 10 weeks\", \"every 2 weeks on mon, thu until 2027-06-30\", \"daily 5 times\"

Without --start, the time is taken from TITLE; `at PLACE` after the time, or `@ PLACE`, is the
place. TITLE may be in English, German, French, Spanish, Portuguese, Dutch, Italian, Swedish,
Polish, Russian, Turkish or Japanese. `at 3` is in the afternoon, which the answer says. A word
that looks like a part of the time and is not understood is refused. A title in double quotes is
taken as it is: '\"Plan friday\" tomorrow 9:00'. `next friday` is that of the next week. A start
that its rule does not have is moved to the first day that it has. Without --end and --duration, an
event lasts one hour, or one day. `etui import` imports files.";

/// Add an event or a to-do
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AddEntryArgs {
    /// Title; without --start with its time, as in "Lunch tomorrow 12:30"
    #[arg(value_name = "TITLE", value_parser = parse_title)]
    title: String,
    #[command(flatten)]
    time: TimeArgs,
    /// Location
    #[arg(long, value_name = "TEXT")]
    place: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Category
    #[arg(long, value_name = "NAME")]
    category: Vec<String>,
    /// Alarm this long before the start, or before the due time: 10m, 1d, 0m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    alarm: Vec<Duration>,
    /// Add a to-do, as the word todo at the beginning of TITLE does; a time in TITLE is its due time
    #[arg(long)]
    pub todo: bool,
    /// Any other property
    #[arg(long, value_name = "PROP=VALUE", value_parser = parse_assignment)]
    set: Vec<EntryAssignment>,
}

pub fn add_entry(app: &mut App, args: &AddEntryArgs) -> Result<()> {
    let here = local_now(&app.out);
    let (record, notes) = build_record(args, &here)?;
    for note in &notes {
        app.out.write_note(note);
    }
    let store = app.open_or_create(app.store_options())?;
    let calendar = app.open_target_calendar(&store)?;
    let uid = record.uid().unwrap_or_default().to_owned();
    let saved = match calendar.save((&record, Condition::IfAbsent)) {
        Err(Error::Conflict { uid, .. }) => {
            return Err(Failure::Conflict(format!(
                "an entry with the UID {uid} already exists: etui calendar show {}",
                escape_text(&uid)
            )));
        }
        saved => saved?,
    };
    store.close()?;
    if app.out.json {
        let zone = app.out.time_zone();
        return app
            .out
            .write_json(&added_entry_json(&saved, &uid, &record, &zone));
    }
    let mut times = describe_times(&record, None);
    times.extend(place_line(&record));
    report_saved(&mut app.out, &record, &saved, &uid, |title| {
        let times = times.iter().map(|line| format!("\n  {line}"));
        format!(
            "Added {}: {title}{}\nUID {}",
            saved.id,
            times.collect::<String>(),
            escape_text(&uid)
        )
    })?;
    Ok(())
}

/// Returns the line of an answer that names the place of an entry.
pub fn place_line(record: &CalendarObject) -> Option<String> {
    let place = record.master().location.as_deref()?;
    Some(format!("at {}", one_line(place)))
}

/// The title and the times of a new entry.
pub struct EntryWords {
    pub title: String,
    pub start: Option<StartTime>,
    /// The due time of a to-do.
    pub due: Option<CalendarTime>,
    pub rule: Option<RecurrenceRule>,
    /// Whether the person asked for a start that is not in the rule.
    pub has_day: bool,
    /// The location that the title named.
    pub place: Option<String>,
    pub is_todo: bool,
    /// What was assumed of the words.
    pub notes: Vec<String>,
}

/// Words at the beginning of a phrase for a to-do.
const TODO_WORDS: &[&str] = &["todo", "to-do", "todo:", "to-do:", "task:"];

impl EntryWords {
    /// Returns a title without a time, after the word for a to-do.
    pub fn untimed(text: &str) -> Self {
        let text = text.trim();
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or_default();
        let is_todo = TODO_WORDS
            .iter()
            .any(|word| word.eq_ignore_ascii_case(first));
        Self {
            title: if is_todo { rest.trim_start() } else { text }.to_owned(),
            start: None,
            due: None,
            rule: None,
            has_day: true,
            place: None,
            is_todo,
            notes: Vec::new(),
        }
    }

    /// Takes the title and the place of a phrase, and its time as the start, or of a to-do as the due time.
    pub fn apply_phrase(&mut self, phrase: Phrase, time: &TimeArgs, here: &LocalNow) -> Result<()> {
        let mut times = phrase.times;
        if time.end.is_some() || time.duration.is_some() {
            times.end = None;
        }
        self.set_times(&times, time, here)?;
        self.title = phrase.title;
        self.place = phrase.place;
        self.rule = phrase.rule;
        self.has_day = phrase.has_day;
        self.notes = phrase.notes;
        Ok(())
    }

    /// Sets the start, or of a to-do the due time.
    pub fn set_times(&mut self, times: &TimeWords, time: &TimeArgs, here: &LocalNow) -> Result<()> {
        let found = time.start_of_words(times, "the time in the title", here)?;
        match self.is_todo {
            true => self.due = Some(found.start),
            false => self.start = Some(found),
        }
        Ok(())
    }
}

/// Returns the title and the start: that of `--start`, or that in the title.
fn parse_words(args: &AddEntryArgs, here: &LocalNow) -> Result<EntryWords> {
    let time = &args.time;
    let mut words = EntryWords::untimed(&args.title);
    words.is_todo |= args.todo;
    words.start = time.parse_start(here.now.date(), here)?;
    words.due = time.parse_due(here.now.date(), here)?;
    if words.start.is_some() || words.due.is_some() {
        return Ok(words);
    }
    let phrase =
        parse_phrase(&words.title, here.now.date(), here.now).map_err(|e| refuse_phrase(&e))?;
    match phrase {
        Some(phrase) => words.apply_phrase(phrase, time, here)?,
        None if !words.is_todo => {
            return Err(Failure::usage(format!(
                "no day or time was found in \"{}\"; write one, as in \"Lunch tomorrow 12:30\", or give \
                 --start WHEN, for example --start \"monday 9:00\"; or --todo",
                one_line(&words.title)
            )));
        }
        None => {}
    }
    Ok(words)
}

fn refuse_phrase(error: &PhraseError) -> Failure {
    Failure::usage(match error.may_be_title {
        true => format!("{error}, or give --start"),
        false => error.to_string(),
    })
}

/// Returns the new entry, and what was assumed of its times.
fn build_record(args: &AddEntryArgs, here: &LocalNow) -> Result<(CalendarObject, Vec<String>)> {
    build_entry(args, parse_words(args, here)?, here)
}

/// Returns the entry with this title and these times, and what a person should know before it is saved: what was
/// assumed, that the start was moved, has passed or is in the gap of a clock change.
pub fn build_entry(
    args: &AddEntryArgs,
    words: EntryWords,
    here: &LocalNow,
) -> Result<(CalendarObject, Vec<String>)> {
    let time = &args.time;
    let due = words.due;
    let is_todo = words.is_todo || due.is_some();
    let title = match (&words.place, &args.place) {
        (Some(place), Some(_)) => format!("{} at {place}", words.title),
        _ => words.title,
    };
    let mut draft = match is_todo {
        true => Draft::todo(&title),
        false => Draft::event(&title),
    };
    match (&words.start, &due) {
        (None, None) if !is_todo => {
            return Err(Failure::usage(
                "give --start WHEN, for example --start \"monday 9:00\"; or --todo",
            ));
        }
        (None, _) if time.end.is_some() || time.duration.is_some() => {
            return Err(Failure::usage("--end and --duration need a --start"));
        }
        (Some(_), Some(_)) if time.end.is_some() || time.duration.is_some() => {
            return Err(Failure::usage(
                "a to-do with --due takes no --end or --duration",
            ));
        }
        _ => {}
    }
    let anchor = words.start.as_ref().map(|found| &found.start);
    let anchor = anchor.or(due.as_ref()).cloned();
    let aligned = match (&anchor, words.rule) {
        (Some(anchor), Some(rule)) if time.repeat.is_none() => {
            Some(align_rule(rule, anchor, here)?)
        }
        (Some(anchor), _) => time.parse_rule(anchor, here)?,
        (None, _) if time.repeat.is_some() || !args.alarm.is_empty() => {
            return Err(Failure::usage("--repeat and --alarm need --start or --due"));
        }
        (None, _) => None,
    };
    let mut notes = words.notes;
    let mut shift = Duration::ZERO;
    if let (Some(anchor), Some(AlignedRule { first, .. })) = (&anchor, &aligned)
        && first != anchor
    {
        notes.extend(words.has_day.then(|| note_of_move(anchor, first)));
        shift = Duration::from_seconds(first.local().seconds() - anchor.local().seconds());
    }
    let due = due.map(|due| shift_time(&due, shift));
    if let Some(StartTime { start, end }) = &words.start {
        let end = time.parse_end(start, here)?.or_else(|| end.clone());
        let start = shift_time(start, shift);
        match end {
            Some(EventEnd::At(end)) => draft = draft.end(shift_time(&end, shift)),
            Some(EventEnd::After(length)) => draft = draft.duration(length),
            None if !is_todo => draft = draft.duration(TimeArgs::default_duration(&start)),
            None => {}
        }
        if let Some(due) = &due {
            check_due(&start, due, here)?;
        }
        notes.extend(note_of_passed(&start, here));
        notes.extend(note_of_gap(&start, here));
        draft = draft.start(start);
    }
    if let Some(due) = due {
        notes.extend(note_of_passed(&due, here));
        notes.extend(note_of_gap(&due, here));
        draft = draft.end(due);
    }
    if let Some(AlignedRule { rule, .. }) = aligned {
        draft = draft.rule(rule);
    }
    let place = args.place.as_ref().or(words.place.as_ref());
    draft = place
        .into_iter()
        .fold(draft, |draft, text| draft.location(text));
    draft = args
        .notes
        .iter()
        .fold(draft, |draft, text| draft.description(text));
    draft = args
        .category
        .iter()
        .fold(draft, |draft, name| draft.category(name));
    for before in &args.alarm {
        draft = draft.alarm(offset_before_start(*before)?);
    }
    let zones = TimeZoneResolver::new();
    let mut record = draft.make(&zones)?;
    for assignment in &args.set {
        assignment.apply(&mut record, 0, &zones)?;
    }
    check_understood(&record, None)?;
    Ok((record, notes))
}
