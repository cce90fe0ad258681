//! [`RecordChanger`]: makes the changes that are asked for in a browser, and undoes them.

mod undo;

use etui::calendar::time::{CalendarTime, Date};
use etui::record::{Collection, StoredRecord};
use etui::{Condition, Error, RecordId, SaveOutcome};
use etui_contentline::charset::to_utf8_bytes;
use etui_program::output::{OutputWriter, one_line};
use etui_program::{Failure, Result};

use self::undo::{StepKind, UndoStep};
use super::action::{Action, MoveTarget, Subject};
use super::dialog::{Choice, Dialogs, PromptKind, Question};
use super::form::{FieldChange, FormField};
use super::kind::{BrowserRecord, ChangedRecord};
use crate::commands::records::change::{keep_identity, parse_edited};
use crate::commands::records::editor::EditFile;
use crate::commands::records::{stored_title, title_of};
use crate::terminal::TerminalSession;

/// Examples of the new time of a record.
const MOVE_EXAMPLE: &str = "15:00, friday, tomorrow 9:00-10:30, +1d, 2027-03-08 14:00";

/// The collections that are browsed, and the changes made to them.
pub struct RecordChanger<R> {
    pub collections: Vec<Collection<R>>,
    /// The position of the collection that new records go into.
    pub target: usize,
    steps: Vec<UndoStep>,
    refused: Option<RefusedText<R>>,
}

/// An edited text that was not saved.
struct RefusedText<R> {
    file: EditFile,
    collection: usize,
    /// The record that was edited; `None` if it is a new one.
    stored: Option<StoredRecord<R>>,
}

/// The effect of an action.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The record that was changed, to be selected.
    pub changed: Option<(usize, RecordId)>,
    /// Whether it was added.
    pub is_new: bool,
    /// The first day of a record that was added or moved.
    pub day: Option<Date>,
}

impl<R: BrowserRecord> RecordChanger<R> {
    pub fn new(collections: Vec<Collection<R>>) -> Self {
        Self {
            collections,
            target: 0,
            steps: Vec::new(),
            refused: None,
        }
    }

    /// Performs an action. Messages and questions go to `dialogs`.
    ///
    /// # Errors
    /// Those of the terminal. Errors of the store are messages.
    pub fn perform(
        &mut self,
        action: Action,
        dialogs: &mut Dialogs,
        terminal: &mut TerminalSession,
        out: &OutputWriter,
    ) -> Result<Outcome> {
        let _step = etui::label_step("browser", action.name());
        let done = match action {
            Action::OpenForm(subject) => self.open_form(subject, dialogs, out),
            Action::SaveForm(subject, changes) => self.save_form(&subject, &changes, dialogs, out),
            Action::OpenMove(target) => self.open_move(target, dialogs, out),
            Action::Move(target, text) => self.move_record(&target, &text, dialogs, out),
            Action::Edit(subject) => self.edit(&subject, dialogs, terminal)?,
            Action::EditAgain => self.edit_again(dialogs, terminal)?,
            Action::AddInEditor(text, day) => {
                self.add_in_editor(&text, day, dialogs, terminal, out)?
            }
            Action::KeepText => {
                if let Some(path) = self.keep_refused() {
                    dialogs.set_message(format!("Your text is kept in {path}"));
                }
                Ok(Outcome::default())
            }
            Action::Add(text, day) => self.add(&text, day, dialogs, out),
            Action::Remove(subject) => self.remove(&subject, dialogs),
            Action::SkipInstance(subject) => self.skip(&subject, dialogs),
            Action::ToggleDone(subject) => self.toggle_done(&subject, dialogs, out),
            Action::Undo => self.undo(dialogs),
            Action::ChooseCopy(subject) => self.choose_copy(&subject, dialogs),
            Action::Copy(text) => {
                terminal.copy_text(&text)?;
                let shown = one_line(text.lines().next().unwrap_or_default()).into_owned();
                dialogs.set_message(format!("Copied: {shown}"));
                Ok(Outcome::default())
            }
            Action::Suspend => {
                if !terminal.suspend()? {
                    dialogs.set_message("There is no shell to return to.");
                }
                Ok(Outcome::default())
            }
        };
        Ok(done.unwrap_or_else(|failure| {
            dialogs.set_message(failure.to_string());
            Outcome::default()
        }))
    }

    /// Keeps the text that was refused. Returns the path of its file.
    pub fn keep_refused(&mut self) -> Option<String> {
        self.refused
            .take()
            .map(|mut refused| refused.file.keep_file())
    }

    fn collection(&self, at: usize) -> Result<&Collection<R>> {
        let found = self.collections.get(at);
        found.ok_or_else(|| Failure::NotFound(format!("there is no {}", R::KIND)))
    }

    fn stored(&self, subject: &Subject) -> Result<StoredRecord<R>> {
        let stored = self.collection(subject.collection)?.get(subject.id)?;
        stored.ok_or_else(|| Failure::NotFound(format!("{} was removed", subject.title)))
    }

    fn open_form(
        &self,
        subject: Subject,
        dialogs: &mut Dialogs,
        out: &OutputWriter,
    ) -> Result<Outcome> {
        let stored = self.stored(&subject)?;
        let all = self.collection(subject.collection)?;
        let mut form = R::form_of((all, &stored), subject.instance.as_ref(), out)?;
        form.fields.retain(FormField::is_line);
        let title = one_line(&form.title).into_owned();
        dialogs.open_form(subject, title, form.fields);
        Ok(Outcome::default())
    }

    /// Saves the changed fields of a form, which stays open if one of them cannot be saved.
    fn save_form(
        &mut self,
        subject: &Subject,
        changes: &[FieldChange],
        dialogs: &mut Dialogs,
        out: &OutputWriter,
    ) -> Result<Outcome> {
        let stored = self.stored(subject)?;
        let all = self.collection(subject.collection)?;
        let instance = subject.instance.as_ref();
        let changed = R::change_fields((all, &stored), instance, changes, out)?;
        let done = self.save_times(subject, &stored, changed, "Changed");
        let (outcome, message) = done?;
        dialogs.close_form();
        dialogs.set_message(message);
        Ok(outcome)
    }

    /// Asks for the new time of a record.
    fn open_move(
        &self,
        target: MoveTarget,
        dialogs: &mut Dialogs,
        out: &OutputWriter,
    ) -> Result<Outcome> {
        let stored = self.stored(&target.subject)?;
        let all = self.collection(target.subject.collection)?;
        let record = R::parse_text(stored.text.clone(), Some((all, stored.id)))?;
        let when = R::when_of(&record, target.subject.instance.as_ref(), out);
        let name = title_of(&record);
        let title = match target.is_all && R::is_series(&record) {
            true => format!("Move all times of {name}, {when}"),
            false => format!("Move {name}, {when}"),
        };
        let title = one_line(&title).into_owned();
        dialogs.open_prompt(PromptKind::Move(target), &title, MOVE_EXAMPLE);
        Ok(Outcome::default())
    }

    fn move_record(
        &mut self,
        target: &MoveTarget,
        text: &str,
        dialogs: &mut Dialogs,
        out: &OutputWriter,
    ) -> Result<Outcome> {
        let stored = self.stored(&target.subject)?;
        let at = target.subject.collection;
        let moved = R::move_to((self.collection(at)?, &stored), target, text, out)?;
        let (outcome, message) = self.save_times(&target.subject, &stored, moved, "Moved")?;
        dialogs.close_prompt();
        dialogs.set_message(message);
        Ok(outcome)
    }

    /// Saves a change that may concern the times. Returns a message with the times and the notes.
    fn save_times(
        &mut self,
        subject: &Subject,
        stored: &StoredRecord<R>,
        changed: ChangedRecord<R>,
        what: &str,
    ) -> Result<(Outcome, String)> {
        let new = keep_identity(stored, changed.record)?;
        let steps = self.steps.len();
        let (mut outcome, mut message) =
            self.save_changed(subject.collection, stored, &new, |title| {
                let now = changed.now.iter().map(|now| format!(", {now}"));
                format!("{what}: {title}{}", now.collect::<String>())
            })?;
        outcome.day = changed.day;
        let before = match &subject.instance {
            Some(at) => Some(at.local().date()),
            None => {
                let all = self.collection(subject.collection)?;
                let before = R::parse_text(stored.text.clone(), Some((all, stored.id)));
                before.ok().and_then(|before| R::first_day(&before))
            }
        };
        if let Some(step) = self.steps.get_mut(steps).filter(|_| changed.day.is_some()) {
            step.day = before;
        }
        for note in changed.notes {
            message.push_str(&format!("\n{note}"));
        }
        Ok((outcome, message))
    }

    fn edit(
        &mut self,
        subject: &Subject,
        dialogs: &mut Dialogs,
        terminal: &mut TerminalSession,
    ) -> Result<Result<Outcome>> {
        let opened = self.stored(subject).and_then(|stored| {
            let text = to_utf8_bytes(&stored.text);
            Ok((EditFile::create(&text, R::SUFFIX)?, stored))
        });
        Ok(match opened {
            Ok((file, stored)) => {
                let stored = Some(stored);
                self.run_editor(file, subject.collection, stored, dialogs, terminal)?
            }
            Err(failure) => Err(failure),
        })
    }

    fn edit_again(
        &mut self,
        dialogs: &mut Dialogs,
        terminal: &mut TerminalSession,
    ) -> Result<Result<Outcome>> {
        let Some(refused) = self.refused.take() else {
            return Ok(Ok(Outcome::default()));
        };
        // After a conflict, the text replaces the present one.
        let stored = refused.stored.map(|stored| {
            let all = self.collections.get(refused.collection);
            let now = all.and_then(|all| all.get(stored.id).ok().flatten());
            now.unwrap_or(stored)
        });
        self.run_editor(refused.file, refused.collection, stored, dialogs, terminal)
    }

    fn add_in_editor(
        &mut self,
        text: &str,
        day: Option<Date>,
        dialogs: &mut Dialogs,
        terminal: &mut TerminalSession,
        out: &OutputWriter,
    ) -> Result<Result<Outcome>> {
        let template = match R::of_phrase(text, day, out) {
            Ok(new) => Ok(new.record.text().to_owned()),
            Err(_) => R::template(text, day, out),
        };
        let file = template.and_then(|template| EditFile::create(&template, R::SUFFIX));
        Ok(match file {
            Ok(file) => self.run_editor(file, self.target, None, dialogs, terminal)?,
            Err(failure) => Err(failure),
        })
    }

    /// Opens the editor and saves the text. A text that cannot be saved is offered again.
    fn run_editor(
        &mut self,
        mut file: EditFile,
        collection: usize,
        stored: Option<StoredRecord<R>>,
        dialogs: &mut Dialogs,
        terminal: &mut TerminalSession,
    ) -> Result<Result<Outcome>> {
        let text = match terminal.lend_to(|| file.run_editor())? {
            Ok(Some(text)) => text,
            Ok(None) => {
                dialogs.set_message("Nothing was changed.");
                return Ok(Ok(Outcome::default()));
            }
            Err(failure) => return Ok(Err(failure)),
        };
        let saved = match &stored {
            Some(stored) => self.save_edited(collection, stored, &text),
            None => self.save_new(collection, &text),
        };
        Ok(match saved {
            Ok((outcome, message)) => {
                dialogs.close_prompt();
                dialogs.set_message(message);
                Ok(outcome)
            }
            Err(failure) => {
                ask_about_refused::<R>(&failure, dialogs);
                self.refused = Some(RefusedText {
                    file,
                    collection,
                    stored,
                });
                Ok(Outcome::default())
            }
        })
    }

    fn save_edited(
        &mut self,
        collection: usize,
        stored: &StoredRecord<R>,
        text: &[u8],
    ) -> Result<(Outcome, String)> {
        let new = parse_edited(self.collection(collection)?, stored, text)?;
        self.save_changed(collection, stored, &new, |title| {
            format!("Changed: {title}")
        })
    }

    fn save_new(&mut self, collection: usize, text: &[u8]) -> Result<(Outcome, String)> {
        if let Some(problem) = R::find_typing_error(text, b"") {
            return Err(Failure::Refused(problem));
        }
        let new = R::complete_new(R::parse_text(text.to_owned(), None)?)?;
        self.save_added(collection, &new)
    }

    /// Saves a changed record, to be undone.
    fn save_changed(
        &mut self,
        collection: usize,
        stored: &StoredRecord<R>,
        new: &R,
        report: impl FnOnce(&str) -> String,
    ) -> Result<(Outcome, String)> {
        let all = self.collection(collection)?;
        let saved = all.save((new, Condition::IfMatch(stored.etag)))?;
        let title = title_of(new);
        let outcome = Outcome {
            changed: Some((collection, saved.id)),
            ..Outcome::default()
        };
        if saved.outcome == SaveOutcome::Unchanged {
            return Ok((outcome, "Nothing was changed.".to_owned()));
        }
        let step = StepKind::Changed(stored.text.clone(), saved.etag);
        self.remember(collection, &stored.uid, &title, step);
        Ok((outcome, format!("{}   u: undo", report(&one_line(&title)))))
    }

    fn save_added(&mut self, collection: usize, new: &R) -> Result<(Outcome, String)> {
        let all = self.collection(collection)?;
        let saved = all.save((new, Condition::IfAbsent))?;
        let title = title_of(new);
        let uid = new.identity().into_owned();
        self.remember(collection, &uid, &title, StepKind::Added(saved.etag));
        let outcome = Outcome {
            changed: Some((collection, saved.id)),
            is_new: true,
            day: R::first_day(new),
        };
        Ok((outcome, format!("Added: {}   u: undo", one_line(&title))))
    }

    fn add(
        &mut self,
        text: &str,
        day: Option<Date>,
        dialogs: &mut Dialogs,
        out: &OutputWriter,
    ) -> Result<Outcome> {
        let new = R::of_phrase(text, day, out)?;
        let (outcome, message) = self.save_added(self.target, &new.record)?;
        dialogs.close_prompt();
        dialogs.set_message(message);
        Ok(outcome)
    }

    fn remove(&mut self, subject: &Subject, dialogs: &mut Dialogs) -> Result<Outcome> {
        let stored = self.stored(subject)?;
        let all = self.collection(subject.collection)?;
        all.remove((&stored.uid, Condition::IfMatch(stored.etag)))?;
        let title = stored_title(&stored);
        self.remember(subject.collection, &stored.uid, &title, StepKind::Removed);
        dialogs.set_message(format!("Removed: {}   u: undo", one_line(&title)));
        Ok(Outcome::default())
    }

    fn skip(&mut self, subject: &Subject, dialogs: &mut Dialogs) -> Result<Outcome> {
        let stored = self.stored(subject)?;
        let Some(instance) = &subject.instance else {
            return self.remove(subject, dialogs);
        };
        let all = self.collection(subject.collection)?;
        let new = keep_identity(&stored, R::skip_instance(all, &stored, instance)?)?;
        let report = |title: &str| format!("Removed one time of {title}");
        let (outcome, message) = self.save_changed(subject.collection, &stored, &new, report)?;
        dialogs.set_message(message);
        Ok(outcome)
    }

    fn toggle_done(
        &mut self,
        subject: &Subject,
        dialogs: &mut Dialogs,
        out: &OutputWriter,
    ) -> Result<Outcome> {
        let stored = self.stored(subject)?;
        let all = self.collection(subject.collection)?;
        let instance: Option<&CalendarTime> = subject.instance.as_ref();
        let (new, what) = R::toggle_done(all, &stored, instance, out)?;
        let new = keep_identity(&stored, new)?;
        let report = |title: &str| format!("{what}: {title}");
        let (outcome, message) = self.save_changed(subject.collection, &stored, &new, report)?;
        dialogs.set_message(message);
        Ok(outcome)
    }

    fn choose_copy(&mut self, subject: &Subject, dialogs: &mut Dialogs) -> Result<Outcome> {
        let stored = self.stored(subject)?;
        let text = String::from_utf8_lossy(&to_utf8_bytes(&stored.text)).into_owned();
        let all = self.collection(subject.collection)?;
        let values = match R::parse_text(stored.text.clone(), Some((all, stored.id))) {
            Ok(record) => R::copy_texts(&record),
            Err(_) => Vec::new(),
        };
        let mut choices = vec![Choice::new('y', R::FORMAT, Action::Copy(text))];
        for (key, (label, value)) in ('1'..='9').zip(values) {
            let label = format!("{label} {value}");
            choices.push(Choice::new(key, label, Action::Copy(value)));
        }
        dialogs.ask(Question {
            text: format!("Copy from {}:", subject.title),
            choices,
            escape: None,
        });
        Ok(Outcome::default())
    }
}

/// Asks what is done with an edited text that was not saved.
fn ask_about_refused<R: BrowserRecord>(failure: &Failure, dialogs: &mut Dialogs) {
    let (text, again) = match failure {
        Failure::Library(Error::Conflict { .. }) => (
            format!(
                "The {} was changed or removed meanwhile; nothing was overwritten.",
                R::ONE
            ),
            "edit again, and replace it",
        ),
        failure => (format!("Not saved: {failure}"), "edit again"),
    };
    dialogs.ask(Question {
        text,
        choices: vec![
            Choice::new('e', again, Action::EditAgain),
            Choice::new('k', "keep the text in a file", Action::KeepText),
        ],
        escape: Some(Action::KeepText),
    });
}
