//! The list on a terminal: look around in it, search as one types, look at a contact.
//!
//! ```text
//! terminal   keys in, lines out; leaves the terminal as it was, however it ends
//!    │ key            ▲ screen
//!    ▼                │
//! state  ──────────▶ view, contact      what to show of it, pure
//!    │ want       ▲ answer
//!    ▼            │
//! this file: asks the address book for one page at a time
//! ```

mod contact;
mod state;
mod terminal;
mod view;

use std::time::Instant;

use etui::contacts::{Column, Contacts, Filter, Query};

use self::state::{Line, Pager, Want};
use self::terminal::{Event, Terminal};
use super::show::described;
use crate::app::App;
use crate::commands::records::find::how_many;
use crate::errors::Result;
use crate::output::{one_line, shown};

/// Shows the list until it is left.
pub fn run(app: &mut App, book: &Contacts<'_>) -> Result<()> {
    app.out.flush()?;
    let mut terminal = Terminal::open(app.out.has_colour())?;
    let mut pager = Pager::new(&one_line(book.name()), terminal.size());
    while !pager.is_done() {
        answer(&mut pager, book)?;
        terminal.draw(&view::screen(&pager))?;
        // Of keys that came meanwhile, only the state after the last is shown.
        loop {
            match terminal.next()? {
                Event::Key(key) => {
                    if pager.must_know_before(&key) {
                        answer(&mut pager, book)?;
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
fn answer(pager: &mut Pager, book: &Contacts<'_>) -> Result<()> {
    while let Some(want) = pager.want() {
        match want {
            Want::Page {
                filter,
                offset,
                limit,
            } => {
                let start = Instant::now();
                let all = (filter == Filter::All).then(|| book.count()).transpose()?;
                let rows = book.query(&Query::new(filter).offset(offset).limit(limit))?;
                let took = start.elapsed();
                let lines = rows.iter().map(|row| Line {
                    id: row.id(),
                    name: one_line(row.name()).into_owned(),
                    organization: one_line(row.get(Column::Organization)).into_owned(),
                    phone: one_line(row.get(Column::Phone)).into_owned(),
                    email: one_line(row.get(Column::Email)).into_owned(),
                });
                pager.page(lines.collect(), all, took);
            }
            Want::Count(filter) => pager.counted(how_many(book, filter)?),
            Want::Letters => pager.letters(book.letters()?),
            Want::Contact(id) => {
                pager.contact(book.by_id(id)?.map(|contact| match described(&contact) {
                    Ok(about) => (about.name, about.rows),
                    Err(problem) => {
                        let text = String::from_utf8_lossy(&contact.text);
                        let lines = text.lines().map(|line| (String::new(), shown(line).into()));
                        (shown(&problem).into(), lines.collect())
                    }
                }))
            }
        }
    }
    Ok(())
}
