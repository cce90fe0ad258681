//! `etui calendar todos`: to-dos by due time.

use std::collections::HashMap;

use etui::calendar::time::{CalendarTime, Date, TimeZone, Timestamp};
use etui::calendar::{CalendarObject, Status, Todo};
use etui::record::Reader;
use etui_contentline::charset::to_utf8;
use etui_contentline::edit::own_lines;
use etui_contentline::lines::ContentLine;
use etui_contentline::values::{param_value, property_value, unescape_text};
use etui_program::output::{Table, object, optional_time};
use etui_program::{App, Result};
use serde::Serialize;

use super::span_args::local_now;
use crate::commands::records::name_or_placeholder;
use crate::json::calendar::status_name;
use etui_when::{LocalNow, format_short};

const EXAMPLES: &str = "\
Examples:
  etui calendar todos                        open to-dos, the earliest due first
  etui calendar todos --overdue
  etui calendar todos --done
  etui calendar todos --all --json | jq -r .title
  etui calendar done 17                      complete number 17

Of a recurring to-do the first open occurrence is shown. Parts of a to-do (RELATED-TO) are indented
after it. `etui calendar agenda today` begins with the
to-dos that were due before today.";

/// List to-dos
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TodosArgs {
    /// Completed and cancelled to-dos
    #[arg(long, conflicts_with_all = ["all", "overdue"])]
    done: bool,
    /// Open to-dos whose due time has passed
    #[arg(long, conflicts_with = "all")]
    overdue: bool,
    /// All to-dos
    #[arg(long)]
    all: bool,
}

/// A to-do in a list.
#[derive(Debug, Clone)]
pub struct TodoItem {
    pub id: i64,
    pub calendar: String,
    pub title: String,
    pub due: Option<CalendarTime>,
    pub status: Option<Status>,
    pub priority: Option<u8>,
    pub state: TodoState,
    pub uid: String,
    /// UID of the to-do that it is a part of.
    pub parent: Option<String>,
    /// Number of the listed to-dos that it is a part of.
    pub depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoState {
    Open,
    Overdue,
    Done,
}

impl TodoState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Overdue => "overdue",
            Self::Done => "done",
        }
    }
}

pub fn list_todos(app: &mut App, args: &TodosArgs) -> Result<()> {
    let here = local_now(&app.out);
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let calendars = app.readers_in::<CalendarObject>(&snapshot)?;
    let mut all = find_todos(&calendars, &here, args.done || args.all)?;
    all.retain(|todo| match todo.state {
        TodoState::Done => args.done || args.all,
        TodoState::Open => !args.done && !args.overdue,
        TodoState::Overdue => !args.done,
    });
    if all.is_empty() {
        return app.out.status("No to-dos.");
    }
    let all = parts_after_parents(all);
    let mut table = Table::new(&["#", "Due", "State", "Title"]);
    for todo in &all {
        let id = todo.id.to_string();
        let due = todo.due.as_ref();
        let due = due.map_or_else(String::new, |due| format_short(due, &here.zone));
        let title = name_or_placeholder::<CalendarObject>(&todo.title);
        let title = format!("{}{title}", "  ".repeat(todo.depth));
        table.add_row([id.as_str(), &due, todo.state.name(), &title]);
    }
    app.out.write_table(&table, &all, |out, todo| {
        out.write_json(&todo_json(todo, &here.zone))
    })
}

/// A line of `calendar todos`.
fn todo_json(todo: &TodoItem, zone: &TimeZone) -> impl Serialize {
    object! {
        calendar: &todo.calendar,
        id: todo.id,
        title: &todo.title,
        due: optional_time(&todo.due, zone),
        status: todo.status.map(status_name),
        priority: todo.priority,
        // `open`, `overdue` or `done`.
        state: todo.state.name(),
    }
}

/// Returns the to-dos of calendars by due time, those without one last.
pub fn find_todos(
    calendars: &[(String, Reader<CalendarObject>)],
    here: &LocalNow,
    with_done: bool,
) -> Result<Vec<TodoItem>> {
    let now = here.zone.to_utc(here.now);
    let mut all = Vec::new();
    for (name, reader) in calendars {
        let found = reader.todos(&here.zone, with_done)?.into_iter();
        all.extend(found.map(|todo| todo_item(todo, name, here, now)));
    }
    all.sort_by_key(|todo| due_key(todo, here));
    Ok(all)
}

/// Returns the open to-dos that were due before a day, the earliest first.
pub fn find_overdue(
    calendars: &[(String, Reader<CalendarObject>)],
    here: &LocalNow,
    day: Date,
) -> Result<Vec<TodoItem>> {
    let now = here.zone.to_utc(here.now);
    let mut all = Vec::new();
    for (name, reader) in calendars {
        let found = reader.overdue_todos(day, &here.zone)?.into_iter();
        all.extend(found.map(|todo| todo_item(todo, name, here, now)));
    }
    all.sort_by_key(|todo| due_key(todo, here));
    Ok(all)
}

fn due_key(todo: &TodoItem, here: &LocalNow) -> (Timestamp, i64) {
    let due = todo.due.as_ref().map(|due| due.at(&here.zone));
    (due.unwrap_or(Timestamp::MAX), todo.id)
}

fn todo_item(todo: Todo, calendar: &str, here: &LocalNow, now: Timestamp) -> TodoItem {
    let main = todo.object.master();
    TodoItem {
        id: todo.record.0,
        calendar: calendar.to_owned(),
        status: main.status,
        priority: main.priority,
        state: match &todo.due {
            _ if todo.is_over => TodoState::Done,
            Some(due) if is_overdue(due, here, now) => TodoState::Overdue,
            _ => TodoState::Open,
        },
        uid: todo.object.uid().unwrap_or_default().to_owned(),
        parent: parent_of(&todo.object),
        depth: 0,
        title: todo.title,
        due: todo.due,
    }
}

/// Returns the UID of the entry that a to-do is a part of (RELATED-TO, RFC 5545 section 3.8.4.5).
fn parent_of(record: &CalendarObject) -> Option<String> {
    let text = record.component_texts().nth(record.master_index())?;
    let text = to_utf8(text);
    let lines = own_lines(text.as_bytes(), None);
    let is_parent = |line: &ContentLine<'_>| {
        let kind = param_value(line, "RELTYPE");
        line.name_is("RELATED-TO") && kind.is_none_or(|kind| kind.eq_ignore_ascii_case("PARENT"))
    };
    let mut parents = lines.filter(is_parent);
    parents
        .next()
        .map(|line| unescape_text(&property_value(&line)))
}

/// Puts the parts of a to-do after it, in their order, with the number of to-dos above them.
fn parts_after_parents(all: Vec<TodoItem>) -> Vec<TodoItem> {
    let by_uid: HashMap<(&str, &str), usize> = all
        .iter()
        .enumerate()
        .map(|(at, todo)| ((todo.calendar.as_str(), todo.uid.as_str()), at))
        .collect();
    let parents: Vec<Option<usize>> = all
        .iter()
        .map(|todo| {
            let parent = todo.parent.as_deref()?;
            by_uid.get(&(todo.calendar.as_str(), parent)).copied()
        })
        .collect();
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
    for (at, parent) in parents.iter().enumerate() {
        if let Some(parts) = parent.and_then(|parent| parts.get_mut(parent)) {
            parts.push(at);
        }
    }
    let mut left: Vec<Option<TodoItem>> = all.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(left.len());
    let tops = (0..left.len()).filter(|at| parents.get(*at).is_some_and(Option::is_none));
    // To-dos that are parts of each other have no top; they come last, as they are.
    let in_order = tops.chain(0..left.len()).map(|at| (at, 0));
    let mut open: Vec<(usize, usize)> = in_order.collect();
    open.reverse();
    while let Some((at, depth)) = open.pop() {
        if let Some(todo) = left.get_mut(at).and_then(Option::take) {
            ordered.push(TodoItem { depth, ..todo });
            let parts = parts.get(at).into_iter().flatten().rev();
            open.extend(parts.map(|part| (*part, depth + 1)));
        }
    }
    ordered
}

pub fn is_done(status: Option<Status>) -> bool {
    matches!(status, Some(Status::Completed | Status::Cancelled))
}

/// Returns true if a due time has passed; a day passes at its end.
fn is_overdue(due: &CalendarTime, here: &LocalNow, now: Timestamp) -> bool {
    match due {
        CalendarTime::Date(day) => *day < here.now.date(),
        due => due.at(&here.zone) < now,
    }
}
