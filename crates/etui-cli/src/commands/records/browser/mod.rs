//! The browser: an interactive list with search and details, in which records are changed.
//!
//! ```text
//! terminal   key events and drawing; restores the terminal
//!    │ key            ▲ frame
//!    ▼                │
//! state  ──────────▶ view         state: window (the visible part), dialogs (in front of it); no I/O
//!    │ request    ▲ answer
//!    │ action     │
//!    ▼            │
//! this module: queries the collection, one page at a time
//! changes:     edits, adds, removes, undoes
//! ```
//!
//! The agenda's browser has a state of its own, and shares dialogs and changes.

pub mod action;
pub mod changes;
pub mod details;
pub mod dialog;
pub mod dialog_view;
pub mod form;
pub mod help;
pub mod kind;
mod state;
mod view;
mod window;

use std::os::fd::BorrowedFd;
use std::time::Instant;

use etui::calendar::time::Date;
use etui::record::Collection;
use etui::search::filter::Filter;
use etui::search::query::{Columns, Query};
use etui::watch::View;
use etui_program::output::{OutputWriter, escape_text, one_line};
use etui_program::{App, Failure, Result};

use self::action::MoveTarget;
use self::changes::RecordChanger;
use self::dialog::{Preview, PromptKind};
use self::kind::BrowserRecord;
pub use self::state::ListLandmark;
use self::state::{ListRequest, ListState, ListWords};
pub use self::view::COLUMN_GAP;
use self::window::ListLine;
use crate::terminal::{TerminalEvent, TerminalSession};

/// Runs the browser of collections, of which one is listed at a time, until the user quits.
pub fn run_browser<R: BrowserRecord>(app: &mut App, all: Vec<Collection<R>>) -> Result<()> {
    app.out.flush_output()?;
    let mut changer = RecordChanger::new(all);
    let run = browse_list(app, &mut changer);
    if let Some(path) = changer.keep_refused() {
        app.out.write_note(&format!("Your text is kept in {path}"));
    }
    run
}

fn browse_list<R: BrowserRecord>(app: &App, changer: &mut RecordChanger<R>) -> Result<()> {
    let names = changer.collections.iter();
    let names = names.map(|all| one_line(all.name()).into_owned()).collect();
    let mut terminal = TerminalSession::open(app.out.colour)?;
    let mut list = ListState::new(names, words::<R>(), terminal.size());
    // A read-only medium may have no changes to follow.
    let all = changer.collections.iter();
    let mut changes: Vec<View<R>> = all.flat_map(|all| all.view(&Filter::All)).collect();
    let mut opened = None;
    while !list.is_done() {
        changer.target = list.collection();
        let Some(all) = changer.collections.get(changer.target) else {
            break;
        };
        if opened.replace(changer.target) != Some(changer.target) {
            answer_requests(&mut list, all, &app.out)?;
            list.window.scroll_to(R::opening_position(all, &app.out)?);
        }
        answer_requests(&mut list, all, &app.out)?;
        terminal.draw_frame(|frame| view::draw_list::<R>(&list, frame))?;
        // Pending keys are handled before the next frame.
        loop {
            let watched: Vec<BorrowedFd<'_>> = changes.iter().flat_map(View::descriptor).collect();
            let event = terminal.next_event(&watched, None)?;
            drop(watched);
            match event {
                TerminalEvent::Key(key) => {
                    if let Some(all) = changer.collections.get(changer.target)
                        && list.needs_answer_before(&key)
                    {
                        answer_requests(&mut list, all, &app.out)?;
                    }
                    if let Some(action) = list.handle_key(&key) {
                        let dialogs = &mut list.dialogs;
                        let outcome = changer.perform(action, dialogs, &mut terminal, &app.out)?;
                        match outcome.changed {
                            Some((of, id)) if of == list.collection() => {
                                list.reload_at(id, outcome.is_new);
                            }
                            _ => list.reload(),
                        }
                        break;
                    }
                }
                TerminalEvent::Redraw => list.resize(terminal.size()),
                TerminalEvent::Changed(at) => {
                    if let Some(view) = changes.get_mut(at) {
                        view.changes()?;
                    }
                    list.reload();
                }
                TerminalEvent::Timeout | TerminalEvent::Other => {}
            }
            let switched = list.collection() != changer.target;
            if switched || list.is_done() || !terminal.has_event()? {
                break;
            }
        }
    }
    Ok(())
}

fn words<R: BrowserRecord>() -> ListWords {
    ListWords {
        one: R::ONE,
        kind: R::KIND,
        phrase_example: R::PHRASE_EXAMPLE,
        unnamed: R::UNNAMED,
        name_cell: R::NAME_CELL,
        has_done: R::HAS_DONE,
        has_times: R::HAS_TIMES,
        landmark: R::LANDMARK,
    }
}

/// Answers the requests of the list.
fn answer_requests<R: BrowserRecord>(
    list: &mut ListState<R::Field>,
    all: &Collection<R>,
    out: &OutputWriter,
) -> Result<()> {
    while let Some(request) = list.next_request() {
        match request {
            ListRequest::Page {
                filter,
                offset,
                limit,
            } => {
                let start = Instant::now();
                let total = (filter == Filter::All).then(|| all.count()).transpose()?;
                let rows = all.query(&Query::ranked(filter).offset(offset).limit(limit))?;
                let took = start.elapsed();
                let lines = rows.iter().map(|row| ListLine {
                    id: row.id(),
                    cells: R::cells(&R::row_summary(&row), out)
                        .iter()
                        .map(|cell| one_line(cell).into_owned())
                        .collect(),
                });
                list.set_page(lines.collect(), total, took);
            }
            ListRequest::Count(Filter::All) => list.window.set_count(all.count()?),
            ListRequest::Count(filter) => {
                let matches = all.query(&Query::ranked(filter).columns(Columns::NONE))?;
                list.window.set_count(matches.len() as u64);
            }
            ListRequest::Position(id) => list.window.set_position(all.position(id)?),
            ListRequest::Landmarks => list.set_landmarks(R::landmarks(all, out)?),
            ListRequest::Details(subject) => {
                list.dialogs
                    .set_details(read_details(all, subject.id, out)?);
            }
            ListRequest::Preview(kind, text) => {
                let all = std::slice::from_ref(all);
                let preview = preview_of(all, &kind, &text, None, out);
                list.dialogs.set_preview(preview);
            }
        }
    }
    Ok(())
}

/// Returns the meaning of a prompt's text: a new record, or where a record of the collections is moved to.
pub fn preview_of<R: BrowserRecord>(
    collections: &[Collection<R>],
    kind: &PromptKind,
    text: &str,
    day: Option<Date>,
    out: &OutputWriter,
) -> Preview {
    let rows = match kind {
        PromptKind::Move(target) => preview_move(collections, target, text, out),
        _ => R::of_phrase(text, day, out).map(|new| new.rows),
    };
    match rows {
        Ok(rows) => Preview::Rows(rows),
        Err(failure) => Preview::Problem(failure.to_string()),
    }
}

fn preview_move<R: BrowserRecord>(
    collections: &[Collection<R>],
    target: &MoveTarget,
    text: &str,
    out: &OutputWriter,
) -> Result<help::KeyRows> {
    let subject = &target.subject;
    // A list previews in the collection that it lists.
    let all = collections.get(subject.collection);
    let all = all.or(collections.first());
    let stored = all.map(|all| all.get(subject.id)).transpose()?.flatten();
    let (Some(all), Some(stored)) = (all, stored) else {
        let text = format!("{} was removed", subject.title);
        return Err(Failure::NotFound(text));
    };
    let moved = R::move_to((all, &stored), target, text, out)?;
    let now = moved.now.map(|now| ("When".to_owned(), now));
    let notes = moved.notes.into_iter();
    let notes = notes.map(|note| ("Note".to_owned(), note));
    Ok(now.into_iter().chain(notes).collect())
}

/// Returns the name and the labelled values of a record; of one that cannot be parsed, the reason and the
/// text. `None` if it was removed.
pub fn read_details<R: BrowserRecord>(
    all: &Collection<R>,
    id: etui::RecordId,
    out: &OutputWriter,
) -> Result<Option<(String, help::KeyRows)>> {
    let Some(stored) = all.get(id)? else {
        return Ok(None);
    };
    Ok(Some(match R::record_details(all, &stored, None, out) {
        Ok(details) => (details.name, details.rows),
        Err(problem) => {
            let text = String::from_utf8_lossy(&stored.text);
            let lines = text.lines();
            let lines = lines.map(|line| (String::new(), escape_text(line).into()));
            (escape_text(&problem).into(), lines.collect())
        }
    }))
}
