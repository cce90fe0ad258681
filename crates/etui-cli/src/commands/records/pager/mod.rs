//! The list on a terminal: look around in it, search as one types, look at a record.
//!
//! ```text
//! terminal   keys in, lines out; leaves the terminal as it was, however it ends
//!    │ key            ▲ screen
//!    ▼                │
//! state  ──────────▶ view, about        what to show of it, pure
//!    │ want       ▲ answer
//!    ▼            │
//! this file: asks the collection for one page at a time
//! ```

mod details;
mod state;
mod terminal;
mod view;

use std::io::IsTerminal;
use std::time::Instant;

use etui::record::{Collection, StoredRecord};
use etui::search::filter::Filter;
use etui::search::query::{Columns, Query};

pub use self::state::ListLandmark;
use self::state::{Line, Pager, PagerRequest};
use self::terminal::{Event, Terminal};
pub use self::view::GAP;
use super::RecordCommands;
use super::details::RecordDetails;
use crate::app::App;
use crate::errors::Result;
use crate::output::{OutputWriter, one_line, shown};

/// A kind of record whose list can be looked around in.
pub trait PagedRecord: RecordCommands {
    /// What stands in an empty list.
    const NONE: &'static str;
    /// What stands where nothing was found.
    const NONE_FOUND: &'static str;
    /// How to go to a landmark.
    const JUMP: &'static str;

    /// What is shown of a record, by columns.
    fn cells(summary: &Self::Summary, out: &OutputWriter) -> Vec<String>;
    /// Which of the cells there is room for, and how much each gets.
    fn layout(cells: &[String], room: usize) -> Vec<(&str, usize)>;
    /// The landmarks of the list.
    fn landmarks(all: &Collection<'_, Self>, out: &OutputWriter) -> Result<Vec<ListLandmark>>;
    /// At which position the list is opened.
    fn opening(all: &Collection<'_, Self>, out: &OutputWriter) -> Result<u64>;
    /// All about a record; why not, if its text cannot be read.
    fn about(
        all: &Collection<'_, Self>,
        stored: &StoredRecord<Self>,
        out: &OutputWriter,
    ) -> std::result::Result<RecordDetails, String>;
}

/// Whether there is a terminal to look around on, that can do more than write lines.
pub fn is_possible(out: &OutputWriter) -> bool {
    let has_cursor = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    out.terminal && std::io::stdin().is_terminal() && has_cursor
}

/// Shows the list until it is left.
pub fn run<R: PagedRecord>(app: &mut App, all: &Collection<'_, R>) -> Result<()> {
    app.out.flush()?;
    let opening = R::opening(all, &app.out)?;
    let mut terminal = Terminal::open(app.out.has_colour())?;
    let mut pager = Pager::new(&one_line(all.name()), terminal.size());
    if opening > 0 {
        answer::<R>(&mut pager, all, &app.out)?;
        pager.lead(opening);
    }
    while !pager.is_done() {
        answer::<R>(&mut pager, all, &app.out)?;
        terminal.draw(&view::screen::<R>(&pager))?;
        // Of keys that came meanwhile, only the state after the last is shown.
        loop {
            match terminal.next()? {
                Event::Key(key) => {
                    if pager.must_know_before(&key) {
                        answer::<R>(&mut pager, all, &app.out)?;
                    }
                    pager.key(key);
                }
                Event::Resized => pager.resize(terminal.size()),
                Event::Other => {}
            }
            if pager.is_done() || !terminal.has_more()? {
                break;
            }
        }
    }
    Ok(())
}

/// Gets the pager what it wants.
fn answer<R: PagedRecord>(
    pager: &mut Pager<R::Field>,
    all: &Collection<'_, R>,
    out: &OutputWriter,
) -> Result<()> {
    while let Some(want) = pager.want() {
        match want {
            PagerRequest::Page {
                filter,
                offset,
                limit,
            } => {
                let start = Instant::now();
                let total = (filter == Filter::All).then(|| all.count()).transpose()?;
                let rows = all.query(&Query::new(filter).offset(offset).limit(limit))?;
                let took = start.elapsed();
                let lines = rows.iter().map(|row| Line {
                    id: row.id(),
                    cells: R::cells(&R::summary_of(&row), out)
                        .iter()
                        .map(|cell| one_line(cell).into_owned())
                        .collect(),
                });
                pager.page(lines.collect(), total, took);
            }
            PagerRequest::Count(Filter::All) => pager.counted(all.count()?),
            PagerRequest::Count(filter) => {
                let found = all.query(&Query::new(filter).columns(Columns::NONE))?;
                pager.counted(found.len() as u64);
            }
            PagerRequest::Landmarks => pager.landmarks(R::landmarks(all, out)?),
            PagerRequest::About(id) => {
                pager.about(
                    all.by_id(id)?
                        .map(|stored| match R::about(all, &stored, out) {
                            Ok(about) => (about.name, about.rows),
                            Err(problem) => {
                                let text = String::from_utf8_lossy(&stored.text);
                                let lines =
                                    text.lines().map(|line| (String::new(), shown(line).into()));
                                (shown(&problem).into(), lines.collect())
                            }
                        }),
                )
            }
        }
    }
    Ok(())
}
