//! The agenda's browser: days, weeks and months, in which entries are changed.
//!
//! ```text
//! terminal ── key ──▶ state ──▶ view
//!                     │ request  ▲ answer
//!                     │ action   │
//!                     ▼          │
//!            this module: reads the occurrences of the days on the screen
//!            records::browser::changes: edits, adds, removes, undoes
//! ```

mod find;
mod keys;
pub mod state;
mod view;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use etui::Store;
use etui::calendar::CalendarObject;
use etui::calendar::time::Date;
use etui::record::Collection;
use etui::search::filter::Filter;
use etui::watch::View;
use etui_program::output::one_line;
use etui_program::{App, Result};

pub use self::state::AgendaView;
use self::state::{AgendaOptions, AgendaRequest, AgendaState};
use super::load::AgendaSource;
use crate::commands::calendar::span_args::local_now;
use crate::commands::records::browser::changes::RecordChanger;
use crate::commands::records::browser::kind::BrowserRecord;
use crate::commands::records::browser::{preview_of, read_details};
use crate::terminal::{TerminalEvent, TerminalSession};
use etui_when::{TimeSpan, first_weekday};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Runs the agenda's browser until the user quits.
pub fn run_agenda(
    app: &mut App,
    store: &Store,
    view: AgendaView,
    day: Date,
    with_birthdays: bool,
) -> Result<()> {
    app.out.flush_output()?;
    let names = match &app.calendar {
        Some(name) => vec![name.clone()],
        None => store.collections::<CalendarObject>().names()?,
    };
    let calendars = names.iter().map(|name| store.collection(name));
    let calendars: Vec<Collection<CalendarObject>> = calendars.collect::<etui::Result<_>>()?;
    let mut changer = RecordChanger::new(calendars);
    let agenda = browse_agenda(app, store, &mut changer, (view, day), with_birthdays);
    if let Some(path) = changer.keep_refused() {
        app.out.write_note(&format!("Your text is kept in {path}"));
    }
    agenda
}

/// Reads the entries of the agenda.
struct AgendaReader<'a> {
    app: &'a App,
    store: &'a Store,
    /// The names of the calendars that are changed.
    names: Vec<String>,
    with_birthdays: bool,
}

fn browse_agenda(
    app: &App,
    store: &Store,
    changer: &mut RecordChanger<CalendarObject>,
    (view, day): (AgendaView, Date),
    with_birthdays: bool,
) -> Result<()> {
    let names: Vec<String> = changer
        .collections
        .iter()
        .map(|all| one_line(all.name()).into_owned())
        .collect();
    let options = AgendaOptions {
        name: names.join(", "),
        target: names.first().cloned().unwrap_or_default(),
        first_weekday: first_weekday(
            &store.settings().locale,
            store.settings().region.as_ref().map(|r| r.code()),
        ),
        phrase_example: CalendarObject::PHRASE_EXAMPLE,
    };
    let reader = AgendaReader {
        app,
        store,
        names: changer
            .collections
            .iter()
            .map(|all| all.name().to_owned())
            .collect(),
        with_birthdays,
    };
    let mut terminal = TerminalSession::open(app.out.colour)?;
    let now = local_now(&app.out).now;
    let mut agenda = AgendaState::new(options, view, day, now, terminal.size());
    // A read-only medium may have no changes to follow.
    let views = changer.collections.iter();
    let mut changes: Vec<View<CalendarObject>> =
        views.flat_map(|all| all.view(&Filter::All)).collect();
    while !agenda.is_done() {
        reader.answer_requests(&mut agenda, &changer.collections)?;
        terminal.draw_frame(|frame| view::draw_agenda(&agenda, frame))?;
        // Pending keys are handled before the next frame.
        loop {
            let watched: Vec<BorrowedFd<'_>> = changes.iter().flat_map(View::descriptor).collect();
            let event = terminal.next_event(&watched, Some(until_midnight(&agenda)))?;
            drop(watched);
            agenda.now = local_now(&app.out).now;
            match event {
                TerminalEvent::Key(key) => {
                    if agenda.needs_answer_before(&key) {
                        reader.answer_requests(&mut agenda, &changer.collections)?;
                    }
                    if let Some(action) = agenda.handle_key(&key) {
                        let dialogs = &mut agenda.dialogs;
                        let outcome = changer.perform(action, dialogs, &mut terminal, &app.out)?;
                        match outcome.changed {
                            Some((_, id)) => agenda.reload_at(id, outcome.day),
                            None => agenda.reload(),
                        }
                        break;
                    }
                }
                TerminalEvent::Redraw => agenda.resize(terminal.size()),
                TerminalEvent::Changed(at) => {
                    if let Some(view) = changes.get_mut(at) {
                        view.changes()?;
                    }
                    agenda.reload();
                }
                TerminalEvent::Timeout | TerminalEvent::Other => {}
            }
            if agenda.is_done() || !terminal.has_event()? {
                break;
            }
        }
    }
    Ok(())
}

/// Returns the time until another day is today.
fn until_midnight(agenda: &AgendaState) -> Duration {
    let since = agenda.now.seconds() - agenda.now.date().midnight().seconds();
    // One second at least, so that the loop does not spin at midnight.
    Duration::from_secs(u64::try_from(DAY - since).unwrap_or(1).max(1))
}

impl AgendaReader<'_> {
    fn answer_requests(
        &self,
        agenda: &mut AgendaState,
        calendars: &[Collection<CalendarObject>],
    ) -> Result<()> {
        while let Some(request) = agenda.next_request() {
            match request {
                AgendaRequest::Load(first, last) => self.load(agenda, (first, last))?,
                AgendaRequest::Find { words, is_forward } => {
                    match self.find_next(agenda, &words, is_forward) {
                        Ok(found) => agenda.set_found(found),
                        Err(failure) => {
                            agenda.set_found(None);
                            agenda.dialogs.set_message(failure.to_string());
                        }
                    }
                }
                AgendaRequest::Details(subject) => {
                    let details = match calendars.get(subject.collection) {
                        Some(all) => read_details(all, subject.id, &self.app.out)?,
                        None => None,
                    };
                    agenda.dialogs.set_details(details);
                }
                AgendaRequest::Preview(kind, text) => {
                    let day = Some(agenda.day);
                    let preview = preview_of(calendars, &kind, &text, day, &self.app.out);
                    agenda.dialogs.set_preview(preview);
                }
            }
        }
        Ok(())
    }

    /// Reads the entries of days.
    fn load(&self, agenda: &mut AgendaState, (first, last): (Date, Date)) -> Result<()> {
        let here = local_now(&self.app.out);
        let snapshot = self.store.snapshot()?;
        let source = AgendaSource {
            snapshot: &snapshot,
            calendars: &self.app.readers_in::<CalendarObject>(&snapshot)?,
            names: &self.names,
            limit: None,
            with_birthdays: self.with_birthdays,
        };
        let span = TimeSpan::of_days(first, last, &here);
        let (mut entries, notes) = source.read_entries(self.app, &span, &here)?;
        if (first..=last).contains(&here.now.date()) {
            entries.splice(0..0, source.overdue_entries(&here, first)?);
        }
        agenda.set_entries(&entries, (first, last));
        if let Some(note) = notes.first() {
            agenda.dialogs.set_message(note);
        }
        Ok(())
    }
}
