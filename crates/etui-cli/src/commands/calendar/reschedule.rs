//! Changes the time of an entry.

use etui::calendar::ics::ComponentKind;
use etui::calendar::recurrence::RecurrenceRule;
use etui::calendar::time::{CalendarTime, Date, Duration, TimeZone};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{CalendarComponent, CalendarObject};
use etui_program::{Failure, Result};

use super::exceptions::{move_exceptions, moved_rule};
use super::show::{describe_span, end_of, in_display_zone, in_form_of, shift_time};
use super::time_args::{
    EventEnd, StartTime, TimeArgs, align_rule, check_due, not_in_rule, note_of_move, notes_of_time,
};
use etui_when::{LocalNow, describe_rule, parse_times_on, reference_of_entry, reference_time};

/// Error for an entry without a time.
pub const NO_START: &str = "the entry has no start; give --start or --due";

/// What the words of a new time count from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CountFrom {
    /// The time of the entry, but now if an entry without a rule has passed.
    Entry,
    /// The time that is changed, whenever it is.
    OneTime,
}

/// Applies the time options to the component at index `at`, in the user's time zone; the entry keeps
/// its own. EXDATE and RECURRENCE-ID keep their days where the rule still has them. Returns notes of
/// what was moved beside the start.
pub fn reschedule(
    record: &mut CalendarObject,
    at: usize,
    args: &TimeArgs,
    count_from: CountFrom,
    here: &LocalNow,
    zones: &TimeZoneResolver,
) -> Result<Vec<String>> {
    let before = record.components().nth(at).cloned().unwrap_or_default();
    let is_kept = before.recurs() || count_from == CountFrom::OneTime;
    let words_of = |text: &Option<String>, old: &Option<CalendarTime>| {
        let old = old.as_ref().or(before.start.as_ref());
        let at = old.map(|time| in_display_zone(time, here).local());
        let (Some(text), Some(at)) = (text, at) else {
            return here.clone();
        };
        let now = match is_kept {
            true => reference_time(text, at, here.now),
            false => reference_of_entry(text, at, here.now),
        };
        LocalNow {
            now,
            ..here.clone()
        }
    };
    let day_of = |time: &Option<CalendarTime>| match time {
        Some(CalendarTime::Date(day)) => *day,
        Some(time) => here.zone.to_local(time.at(&here.zone)).date(),
        None => here.now.date(),
    };
    let typed = TypedTimes {
        start: args.parse_start(day_of(&before.start), &words_of(&args.start, &before.start))?,
        due: args.parse_due(day_of(&before.due), &words_of(&args.due, &before.due))?,
    };
    set_typed(record, at, typed, args, here, zones)
}

/// A new start and due time.
#[derive(Default)]
struct TypedTimes {
    start: Option<StartTime>,
    due: Option<CalendarTime>,
}

/// Sets a new start and due time, and applies the other time options.
fn set_typed(
    record: &mut CalendarObject,
    at: usize,
    typed: TypedTimes,
    args: &TimeArgs,
    here: &LocalNow,
    zones: &TimeZoneResolver,
) -> Result<Vec<String>> {
    let before = record.components().nth(at).cloned().unwrap_or_default();
    let given = match (typed.start, &before.start) {
        (Some(given), Some(old)) if !args.all_day => Some(keep_form(old, given, here)?),
        (given, _) => given,
    };
    let mut start = match (&given, &before.start) {
        (Some(given), _) => Some(given.start.clone()),
        (None, Some(start)) if args.all_day => Some(CalendarTime::Date(start.local().date())),
        (None, start) => start.clone(),
    };
    let mut end = given.and_then(|given| given.end);
    if let Some(start) = &start {
        // The words of the end are in the user's time zone, too.
        let typed = args.parse_end(&in_display_zone(start, here), here)?;
        end = typed.map(|end| end_in_form_of(start, end, here)).or(end);
    }
    let is_over = |how: &String| how.eq_ignore_ascii_case("never");
    let ends_series = args.repeat.as_ref().is_some_and(is_over);
    let mut new_rule = None;
    let mut notes = Vec::new();
    if let (Some(time), false) = (&start, ends_series) {
        let rules = before.timing.iter().flat_map(|timing| &timing.rules);
        let rules: Vec<_> = rules.collect();
        let first = match (args.parse_rule(time, here)?, rules.as_slice()) {
            (Some(aligned), _) => {
                new_rule = Some(aligned.rule);
                Some(aligned.first)
            }
            (None, [rule]) if before.start.as_ref() != Some(time) => {
                let first = first_of_rule(rule, time, here)?;
                match (&before.start, first == *time) {
                    (Some(old), false) if rule.by_day.len() + rule.by_month_day.len() <= 1 => {
                        let moved = moved_rule(rule, old.local().date(), time.local().date());
                        let moved = moved.filter(|rule| {
                            first_of_rule(rule, time, here).is_ok_and(|first| first == *time)
                        });
                        let rule = moved.ok_or_else(|| not_in_rule(time))?;
                        let zone = time.zone().unwrap_or(&here.zone);
                        notes.push(format!("The rule is now: {}", describe_rule(&rule, zone)));
                        new_rule = Some(rule);
                        None
                    }
                    _ => Some(first),
                }
            }
            _ => None,
        };
        if let Some(first) = first.filter(|first| first != time) {
            notes.push(note_of_move(time, &first));
            let by = first.local().seconds() - time.local().seconds();
            if let Some(EventEnd::At(at)) = &end {
                end = Some(EventEnd::At(shift_time(at, Duration::from_seconds(by))));
            }
            start = Some(first);
        }
    }
    if let (Some(start), true) = (&start, start != before.start) {
        record.set_time(at, "DTSTART", start, zones)?;
        if let Some(before) = &before.start {
            let rule = new_rule.clone();
            notes.extend(move_exceptions(record, at, before, start, rule, zones)?);
            // The end of a rule that was not given moves with its start.
            if args.repeat.is_none() {
                new_rule = None;
            }
        }
    }
    let ends = match &start {
        Some(start) => end.or_else(|| end_of_same_duration(&before, start)),
        None if args.end.is_some() || args.duration.is_some() => {
            return Err(Failure::usage(NO_START));
        }
        None => None,
    };
    match ends {
        Some(EventEnd::At(end)) => {
            record.remove(at, "DURATION", None, zones)?;
            record.set_time(at, "DTEND", &end, zones)?;
        }
        Some(EventEnd::After(length)) => {
            record.remove(at, "DTEND", None, zones)?;
            record.set(at, "DURATION", &length.to_string(), zones)?;
        }
        None => {}
    }
    let due = match (typed.due, &before.due) {
        (Some(due), Some(old)) if !args.all_day => Some(start_in_form_of(old, &due, here)),
        (Some(due), _) => Some(due),
        (None, Some(old)) => due_moved_with_start(&before, old, &start, args.all_day),
        (None, None) => None,
    };
    if let Some(due) = due {
        if let Some(start) = &start {
            check_due(start, &due, here)?;
        }
        record.remove(at, "DURATION", None, zones)?;
        record.set_time(at, "DUE", &due, zones)?;
    }
    match (&args.repeat, new_rule) {
        _ if ends_series => {
            // Without a recurrence set, overrides have no meaning and are dropped.
            let text = record.component_texts().nth(at).unwrap_or_default();
            *record = CalendarObject::parse(text.to_vec(), zones)?;
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                record.remove(0, name, None, zones)?;
            }
        }
        (_, Some(rule)) => record.set(at, "RRULE", &rule.to_string(), zones)?,
        (Some(_), None) => return Err(Failure::usage("--repeat needs a --start")),
        (None, None) => {}
    }
    Ok(notes)
}

/// The new time of an entry that was moved.
#[derive(Debug)]
pub struct EntryMove {
    /// The time, in the user's time zone.
    pub when: String,
    /// Its first day there.
    pub day: Date,
    /// What was moved beside the start, and what a person should know of the new time.
    pub notes: Vec<String>,
}

impl EntryMove {
    /// `typed` is the new start as it was typed, in the user's time zone.
    pub fn new(
        start: &CalendarTime,
        end: &CalendarTime,
        typed: &CalendarTime,
        here: &LocalNow,
    ) -> Self {
        Self {
            when: describe_span(start, end, here),
            day: in_display_zone(start, here).local().date(),
            notes: notes_of_time(typed, here),
        }
    }
}

/// Moves an entry with all its times: the time that begins at `of`, by default the first, to a typed day or
/// time, and the others by as much. A day keeps the time of day, a time alone the day.
pub fn move_all(
    record: &mut CalendarObject,
    of: Option<&CalendarTime>,
    text: &str,
    here: &LocalNow,
    zones: &TimeZoneResolver,
) -> Result<EntryMove> {
    let at = record.master_index();
    let before = record.master().clone();
    let is_due = before.start.is_none() && before.kind == ComponentKind::Todo;
    let first = before.start.clone().or_else(|| before.due_time());
    let of = match (of, &first) {
        (Some(of), Some(first)) if of.is_date() == first.is_date() => Some(in_zone_of(of, first)),
        _ => first.clone(),
    };
    let local = of
        .as_ref()
        .map_or(here.now, |of| in_display_zone(of, here).local());
    let now = match before.recurs() {
        true => reference_time(text, local, here.now),
        false => reference_of_entry(text, local, here.now),
    };
    let words = parse_times_on(text, local.date(), now);
    let words = words.map_err(|e| Failure::usage(format!("{text}: {e}")))?;
    let mut given = TimeArgs::default().start_of_words(&words, text, here)?;
    let mut by = Duration::ZERO;
    if let (Some(of), Some(first)) = (&of, &first) {
        by = Duration::from_seconds(first.local().seconds() - of.local().seconds());
        given = keep_form(of, given, here)?;
        given.start = shift_time(&given.start, by);
        given.end = given.end.map(|end| match end {
            EventEnd::At(end) => EventEnd::At(shift_time(&end, by)),
            after => after,
        });
    }
    let typed = match is_due {
        true if given.end.is_some() => {
            return Err(Failure::usage(format!(
                "{text}: a to-do is due at one time; leave out the end"
            )));
        }
        true => TypedTimes {
            due: Some(given.start),
            ..TypedTimes::default()
        },
        false => TypedTimes {
            start: Some(given),
            ..TypedTimes::default()
        },
    };
    let notes = set_typed(record, at, typed, &TimeArgs::default(), here, zones)?;
    let main = record.master();
    let Some(first) = main.start.clone().or_else(|| main.due_time()) else {
        return Err(Failure::usage(NO_START));
    };
    let end = match main.due_time() {
        Some(due) if due.is_date() == first.is_date() => due,
        _ => end_of(main, &first),
    };
    let back = Duration::from_seconds(-by.nominal_seconds());
    let [start, end] = [first, end].map(|time| shift_time(&time, back));
    let typed = words.start.in_zone(Some(&here.zone));
    let mut moved = EntryMove::new(&start, &end, &typed, here);
    moved.notes.splice(0..0, notes);
    Ok(moved)
}

/// Returns a time in the time zone of another.
fn in_zone_of(time: &CalendarTime, other: &CalendarTime) -> CalendarTime {
    match other.zone() {
        Some(zone) if time.zone().is_some() => in_form_of(other, zone.to_local(time.at(zone))),
        _ => time.clone(),
    }
}

/// Returns the first occurrence of a rule, without its end, at a start or later.
fn first_of_rule(
    rule: &RecurrenceRule,
    start: &CalendarTime,
    here: &LocalNow,
) -> Result<CalendarTime> {
    let rule = RecurrenceRule {
        until: None,
        count: None,
        ..rule.clone()
    };
    Ok(align_rule(rule, start, here)?.first)
}

/// Converts a new start that was typed in the user's time zone to the form of the old one. A day keeps
/// the time of day; an entry of days gets the time that is given.
pub fn start_in_form_of(old: &CalendarTime, new: &CalendarTime, here: &LocalNow) -> CalendarTime {
    match (old, new) {
        (CalendarTime::Date(_), new) => new.clone(),
        (old, CalendarTime::Date(day)) => {
            let was = here.zone.to_local(old.at(&here.zone)).date();
            let days = i64::from(day.days()) - i64::from(was.days());
            shift_time(old, Duration::from_days(days))
        }
        (CalendarTime::Floating(_), new) => {
            CalendarTime::Floating(here.zone.to_local(new.at(&here.zone)))
        }
        (CalendarTime::Zoned(_, zone), new) => {
            CalendarTime::Zoned(zone.to_local(new.at(&here.zone)), zone.clone())
        }
        (CalendarTime::Utc(_), new) => CalendarTime::Utc(new.at(&here.zone)),
    }
}

/// Converts an end that was typed in the user's time zone to the form of its start.
pub fn end_in_form_of(start: &CalendarTime, end: EventEnd, here: &LocalNow) -> EventEnd {
    match end {
        EventEnd::At(end) if !end.is_date() => EventEnd::At(start_in_form_of(start, &end, here)),
        end => end,
    }
}

/// Converts a typed start and end to the form of the old start.
fn keep_form(old: &CalendarTime, given: StartTime, here: &LocalNow) -> Result<StartTime> {
    let start = start_in_form_of(old, &given.start, here);
    let end = given.end.map(|end| end_in_form_of(&start, end, here));
    match &end {
        Some(EventEnd::At(end)) if end.is_date() != start.is_date() => Err(Failure::usage(
            "--start: the entry has times of day; give a time, or use --all-day",
        )),
        _ => Ok(StartTime { start, end }),
    }
}

/// Returns the due time of a to-do that moves with its start; `None` if it stays.
fn due_moved_with_start(
    before: &CalendarComponent,
    due: &CalendarTime,
    start: &Option<CalendarTime>,
    all_day: bool,
) -> Option<CalendarTime> {
    let (old, new) = match (&before.start, start) {
        (Some(old), Some(new)) => (old, new),
        _ if all_day => return Some(CalendarTime::Date(due.local().date())),
        _ => return None,
    };
    let days = |time: &CalendarTime| i64::from(time.local().date().days());
    match (old.is_date(), new.is_date()) {
        _ if old == new => None,
        (false, true) => {
            let length = (days(due) - days(old)).max(1);
            Some(shift_time(new, Duration::from_days(length)))
        }
        (true, false) => {
            let length = (days(due) - days(old)).max(1);
            Some(shift_time(new, Duration::from_days(length)))
        }
        _ => {
            let by = new.local().seconds() - old.local().seconds();
            Some(shift_time(due, Duration::from_seconds(by)))
        }
    }
}

/// Returns the end that keeps the local duration of an entry with a new start; the days that it touched,
/// if it becomes one of days; `None` if the end or duration stays as written.
fn end_of_same_duration(item: &CalendarComponent, start: &CalendarTime) -> Option<EventEnd> {
    let before = item.start.as_ref().filter(|before| *before != start)?;
    if before.is_date() != start.is_date() {
        if item.end.is_none() && item.duration.is_none() {
            return None;
        }
        if !start.is_date() {
            return Some(EventEnd::After(TimeArgs::default_duration(start)));
        }
        let last = end_of(item, before).local().plus_seconds(-1).date();
        let days = i64::from(last.days()) - i64::from(before.local().date().days());
        return Some(EventEnd::After(Duration::from_days(days.max(0) + 1)));
    }
    let end = item.end.as_ref()?;
    let is_local = match (before, end) {
        (CalendarTime::Zoned(_, zone), CalendarTime::Zoned(_, other)) => zone == other,
        (before, _) => before.zone().is_none(),
    };
    let length = match is_local {
        true => end.local().seconds() - before.local().seconds(),
        false => {
            let zone = before.zone().cloned().unwrap_or(TimeZone::UTC);
            end.at(&zone).seconds() - before.at(&zone).seconds()
        }
    };
    let end = shift_time(start, Duration::from_seconds(length));
    Some(EventEnd::At(end))
}
