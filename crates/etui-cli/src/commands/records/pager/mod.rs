//! The pager: an interactive list with search and details.
//!
//! ```text
//! terminal   key events and drawing; restores the terminal
//!    │ key            ▲ frame
//!    ▼                │
//! state  ──────────▶ view, details      no I/O
//!    │ request    ▲ answer
//!    ▼            │
//! this module: queries the collection, one page at a time
//! ```

mod details;
mod state;
mod terminal;
mod view;

use std::io::IsTerminal;
use std::time::Instant;

use etui::record::Collection;
use etui::search::filter::Filter;
use etui::search::query::{Columns, Query};

pub use self::state::ListLandmark;
use self::state::{ListLine, PagerRequest, PagerState};
use self::terminal::{PagerTerminal, TerminalEvent};
pub use self::view::COLUMN_GAP;
use super::RecordCommands;
use crate::app::App;
use crate::errors::Result;
use crate::output::{OutputWriter, escape_text, one_line};

/// Returns true if input and output are a terminal with a movable cursor.
pub fn is_possible(out: &OutputWriter) -> bool {
    let has_cursor = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    out.terminal && std::io::stdin().is_terminal() && has_cursor
}

/// Runs the pager until the user quits.
pub fn run_pager<R: RecordCommands>(app: &mut App, all: &Collection<'_, R>) -> Result<()> {
    app.out.flush_output()?;
    let opening = R::opening_position(all, &app.out)?;
    let mut terminal = PagerTerminal::open(app.out.colour)?;
    let mut pager = PagerState::new(&one_line(all.name()), terminal.size());
    if opening > 0 {
        answer_requests::<R>(&mut pager, all, &app.out)?;
        pager.scroll_to(opening);
    }
    while !pager.is_done() {
        answer_requests::<R>(&mut pager, all, &app.out)?;
        terminal.draw_frame(|frame| view::draw_pager::<R>(&pager, frame))?;
        // Pending keys are handled before the next frame.
        loop {
            match terminal.next_event()? {
                TerminalEvent::Key(key) => {
                    if pager.needs_answer_before(&key) {
                        answer_requests::<R>(&mut pager, all, &app.out)?;
                    }
                    pager.handle_key(key);
                }
                TerminalEvent::Resize => pager.resize(terminal.size()),
                TerminalEvent::Other => {}
            }
            if pager.is_done() || !terminal.has_event()? {
                break;
            }
        }
    }
    Ok(())
}

/// Answers the requests of the pager.
fn answer_requests<R: RecordCommands>(
    pager: &mut PagerState<R::Field>,
    all: &Collection<'_, R>,
    out: &OutputWriter,
) -> Result<()> {
    while let Some(request) = pager.next_request() {
        match request {
            PagerRequest::Page {
                filter,
                offset,
                limit,
            } => {
                let start = Instant::now();
                let total = (filter == Filter::All).then(|| all.count()).transpose()?;
                let rows = all.query(&Query::new(filter).offset(offset).limit(limit))?;
                let took = start.elapsed();
                let lines = rows.iter().map(|row| ListLine {
                    id: row.id(),
                    cells: R::cells(&R::row_summary(&row), out)
                        .iter()
                        .map(|cell| one_line(cell).into_owned())
                        .collect(),
                });
                pager.set_page(lines.collect(), total, took);
            }
            PagerRequest::Count(Filter::All) => pager.set_count(all.count()?),
            PagerRequest::Count(filter) => {
                let matches = all.query(&Query::new(filter).columns(Columns::NONE))?;
                pager.set_count(matches.len() as u64);
            }
            PagerRequest::Landmarks => pager.set_landmarks(R::landmarks(all, out)?),
            PagerRequest::Details(id) => {
                let details =
                    all.by_id(id)?
                        .map(|stored| match R::record_details(all, &stored, None, out) {
                            Ok(details) => (details.name, details.rows),
                            Err(problem) => {
                                let text = String::from_utf8_lossy(&stored.text);
                                let lines = text
                                    .lines()
                                    .map(|line| (String::new(), escape_text(line).into()));
                                (escape_text(&problem).into(), lines.collect())
                            }
                        });
                pager.set_details(details);
            }
        }
    }
    Ok(())
}
