//! [`Dialogs`]: what is in front of a list: the keys, the details of a record, a prompt, a question, a
//! message. It does no I/O.

use super::action::{Action, Command, MoveTarget, Subject};
use super::details::DetailsView;
use super::form::{Form, FormField};
use crate::terminal::{Key, LineInput};

/// A dialog.
#[derive(Debug)]
pub enum Dialog {
    Help(DetailsView),
    Details(Subject, DetailsView),
    Prompt(Prompt),
    Form(Form),
    Question(Question),
}

/// A line of text that is asked for.
#[derive(Debug)]
pub struct Prompt {
    pub kind: PromptKind,
    /// The title of the dialog.
    pub title: String,
    /// An example, shown while the text is empty.
    pub example: String,
    pub input: LineInput,
    pub preview: Preview,
}

/// The use of a prompt's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptKind {
    /// A new record.
    Add,
    /// A day to go to.
    GoTo,
    /// Words to find.
    Find,
    /// The new day or time of a record.
    Move(MoveTarget),
}

/// The meaning of a prompt's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preview {
    /// The text is empty, or needs no preview.
    None,
    /// It is asked for, see [`Dialogs::wanted_preview`].
    Wanted,
    /// Labels and values.
    Rows(Vec<(String, String)>),
    /// Why the text cannot be used (yet).
    Problem(String),
}

/// A question that is answered by one key.
#[derive(Debug)]
pub struct Question {
    pub text: String,
    pub choices: Vec<Choice>,
    /// The effect of Escape, if other keys do not close the question.
    pub escape: Option<Action>,
}

/// An answer to a question.
#[derive(Debug)]
pub struct Choice {
    pub key: char,
    pub label: String,
    pub action: Action,
}

impl Choice {
    pub fn new(key: char, label: impl Into<String>, action: Action) -> Self {
        Self {
            key,
            label: label.into(),
            action,
        }
    }
}

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Handled {
    /// There is no dialog; the key is for the list.
    NoDialog,
    Nothing,
    /// Asks for a command on the record that is shown.
    Command(Command, Subject),
    Act(Action),
    /// Enter in a prompt, or, with true, Ctrl-O: the text is to be continued in the editor.
    Submitted(PromptKind, String, bool),
}

/// The dialogs in front of a list, the last one in front.
#[derive(Debug, Default)]
pub struct Dialogs {
    stack: Vec<Dialog>,
    /// The record whose details are asked for.
    to_show: Option<Subject>,
    message: Option<String>,
}

impl Dialogs {
    /// Returns the message that the next key removes.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub fn set_message(&mut self, text: impl Into<String>) {
        self.message = Some(text.into());
    }

    pub fn clear_message(&mut self) {
        self.message = None;
    }

    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// Returns the dialogs from the last one that fills the screen.
    pub fn visible(&self) -> impl Iterator<Item = &Dialog> {
        let is_full = |d: &Dialog| matches!(d, Dialog::Help(_) | Dialog::Details(..));
        let first = self.stack.iter().rposition(is_full).unwrap_or(0);
        self.stack.iter().skip(first)
    }

    pub fn open_help(&mut self, title: &str, rows: Vec<(String, String)>) {
        let view = DetailsView::new(title.to_owned(), rows);
        self.stack.push(Dialog::Help(view));
    }

    /// Asks for the details of a record.
    pub fn show_details(&mut self, subject: Subject) {
        self.to_show = Some(subject);
    }

    /// Asks for the details that are shown again: the record may have changed.
    pub fn refresh_details(&mut self) {
        let shown = self.stack.iter().find_map(|dialog| match dialog {
            Dialog::Details(subject, _) => Some(subject.clone()),
            _ => None,
        });
        self.to_show = self.to_show.take().or(shown);
    }

    /// Returns the record whose details are asked for. Answered by [`Self::set_details`].
    pub fn wanted_details(&self) -> Option<&Subject> {
        self.to_show.as_ref()
    }

    /// Sets the name and the labelled values of the record that was asked for; `None` if it was removed.
    pub fn set_details(&mut self, details: Option<(String, Vec<(String, String)>)>) {
        let Some(subject) = self.to_show.take() else {
            return;
        };
        let shown = |dialog: &Dialog| matches!(dialog, Dialog::Details(..));
        let at = self.stack.iter().position(shown);
        match (details, at) {
            (Some((name, rows)), Some(at)) => {
                if let Some(Dialog::Details(of, view)) = self.stack.get_mut(at) {
                    *of = subject;
                    view.set_content(name, rows);
                }
            }
            (Some((name, rows)), None) => {
                let view = DetailsView::new(name, rows);
                self.stack.push(Dialog::Details(subject, view));
            }
            (None, Some(at)) => {
                self.stack.remove(at);
            }
            (None, None) => self.set_message("The record was removed."),
        }
    }

    pub fn open_prompt(&mut self, kind: PromptKind, title: &str, example: &str) {
        self.stack.push(Dialog::Prompt(Prompt {
            kind,
            title: title.to_owned(),
            example: example.to_owned(),
            input: LineInput::default(),
            preview: Preview::None,
        }));
    }

    /// Returns the prompt text whose meaning is asked for. Answered by [`Self::set_preview`].
    pub fn wanted_preview(&self) -> Option<(&PromptKind, &str)> {
        match self.stack.last() {
            Some(Dialog::Prompt(prompt)) if prompt.preview == Preview::Wanted => {
                Some((&prompt.kind, prompt.input.text()))
            }
            _ => None,
        }
    }

    pub fn set_preview(&mut self, preview: Preview) {
        if let Some(Dialog::Prompt(prompt)) = self.stack.last_mut() {
            prompt.preview = preview;
        }
    }

    /// Closes the prompt; its text was used.
    pub fn close_prompt(&mut self) {
        self.stack
            .pop_if(|dialog| matches!(dialog, Dialog::Prompt(_)));
    }

    pub fn open_form(&mut self, subject: Subject, title: String, fields: Vec<FormField>) {
        let form = Form::new(subject, title, fields);
        self.stack.push(Dialog::Form(form));
    }

    /// Closes the form; its fields were saved.
    pub fn close_form(&mut self) {
        self.stack
            .pop_if(|dialog| matches!(dialog, Dialog::Form(_)));
    }

    pub fn ask(&mut self, question: Question) {
        self.stack.push(Dialog::Question(question));
    }

    /// Asks whether a record is removed; of a series, which of its times.
    pub fn ask_removal(&mut self, subject: &Subject) {
        let remove = Action::Remove(subject.clone());
        let choices = match subject.instance {
            None => vec![Choice::new('y', "yes", remove)],
            Some(_) => vec![
                Choice::new('t', "this time only", Action::SkipInstance(subject.clone())),
                Choice::new('a', "all times", remove),
            ],
        };
        self.ask(Question {
            text: format!("Remove {}?", subject.title),
            choices,
            escape: None,
        });
    }

    /// Returns the action on a record; of a time of a series, asks whether it is on this time or on all.
    pub fn choose_times(
        &mut self,
        verb: &str,
        subject: Subject,
        action: impl Fn(Subject, bool) -> Action,
    ) -> Option<Action> {
        if subject.instance.is_none() {
            return Some(action(subject, true));
        }
        let choices = vec![
            Choice::new('t', "this time only", action(subject.clone(), false)),
            Choice::new('a', "all times", action(subject.clone(), true)),
        ];
        self.ask(Question {
            text: format!("{verb} {}?", subject.title),
            choices,
            escape: None,
        });
        None
    }

    /// Returns the action that opens the form of a record.
    pub fn choose_form(&mut self, subject: Subject) -> Option<Action> {
        self.choose_times("Edit", subject, |mut subject, is_all| {
            if is_all {
                subject.instance = None;
            }
            Action::OpenForm(subject)
        })
    }

    /// Returns the action that asks for the new time of a record.
    pub fn choose_move(&mut self, subject: Subject) -> Option<Action> {
        self.choose_times("Move", subject, |subject, is_all| {
            Action::OpenMove(MoveTarget { subject, is_all })
        })
    }

    /// Returns true if a key edits the text of a prompt: its preview need not be ready before.
    pub fn is_typing(&self, key: &Key) -> bool {
        match self.stack.last() {
            Some(Dialog::Prompt(_)) => !matches!(key, Key::Enter | Key::Control('o')),
            Some(Dialog::Form(_)) => *key != Key::Enter,
            _ => false,
        }
    }

    /// Handles a key; `size` is that of the part above the last row.
    pub fn handle_key(&mut self, key: &Key, size: (usize, usize)) -> Handled {
        match self.stack.last_mut() {
            None => Handled::NoDialog,
            Some(Dialog::Help(view)) => match view.scroll_by(key, size) {
                true => Handled::Nothing,
                false => self.close(Handled::Nothing),
            },
            Some(Dialog::Details(subject, view)) => {
                let command = Command::of_key(key);
                // Space scrolls; to-dos are completed where nothing is to be scrolled.
                let scrolls = command.is_none_or(|c| c == Command::ToggleDone);
                if scrolls && view.scroll_by(key, size) {
                    return Handled::Nothing;
                }
                match (command, key) {
                    (Some(command), _) => Handled::Command(command, subject.clone()),
                    (None, key) if closes(key) => self.close(Handled::Nothing),
                    _ => Handled::Nothing,
                }
            }
            Some(Dialog::Prompt(prompt)) => match prompt.handle_key(key) {
                Some(handled) => handled,
                None => self.close(Handled::Nothing),
            },
            Some(Dialog::Form(form)) => match form.handle_key(key) {
                Some(action) => action.map_or(Handled::Nothing, Handled::Act),
                None => self.close(Handled::Nothing),
            },
            Some(Dialog::Question(question)) => match question.answer(key) {
                Some(handled) => self.close(handled),
                None => Handled::Nothing,
            },
        }
    }

    fn close(&mut self, handled: Handled) -> Handled {
        self.stack.pop();
        handled
    }
}

/// Returns true for the keys that go back.
fn closes(key: &Key) -> bool {
    matches!(
        key,
        Key::Char('q' | 'h') | Key::Escape | Key::Left | Key::Backspace | Key::Enter
    )
}

impl Prompt {
    /// Handles a key; `None` closes the prompt.
    fn handle_key(&mut self, key: &Key) -> Option<Handled> {
        let text = self.input.text();
        match key {
            Key::Escape => return None,
            Key::Control('o') if self.kind == PromptKind::Add => {
                return Some(Handled::Submitted(self.kind.clone(), text.to_owned(), true));
            }
            Key::Enter if text.trim().is_empty() => return None,
            Key::Enter => {
                return Some(match (&self.preview, &self.kind) {
                    (Preview::Problem(_), _) => Handled::Nothing,
                    (_, PromptKind::Move(target)) => {
                        Handled::Act(Action::Move(target.clone(), text.to_owned()))
                    }
                    (_, kind) => Handled::Submitted(kind.clone(), text.to_owned(), false),
                });
            }
            // Backspace in an empty prompt closes it, as in vim.
            Key::Backspace if text.is_empty() => return None,
            _ => {}
        }
        let before = text.to_owned();
        self.input.handle_key(key);
        if self.input.text() != before {
            self.preview = match self.input.text().trim().is_empty() {
                true => Preview::None,
                false => Preview::Wanted,
            };
        }
        Some(Handled::Nothing)
    }
}

impl Question {
    /// Returns the effect of a key, or `None` if it is no answer.
    fn answer(&self, key: &Key) -> Option<Handled> {
        if let Key::Char(typed) = key
            && let Some(choice) = self.choices.iter().find(|choice| choice.key == *typed)
        {
            return Some(Handled::Act(choice.action.clone()));
        }
        match (&self.escape, key) {
            (None, _) => Some(Handled::Nothing),
            (Some(action), Key::Escape) => Some(Handled::Act(action.clone())),
            (Some(_), _) => None,
        }
    }
}
