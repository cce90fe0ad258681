//! [`Action`]: an effect that a key asks for. [`Command`]: the keys that all browsers have.

use etui::RecordId;
use etui::calendar::time::{CalendarTime, Date};

use super::form::FieldChange;
use crate::terminal::Key;

/// The record that an action is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub id: RecordId,
    /// The position of its collection among those that are browsed.
    pub collection: usize,
    /// One time of a series.
    pub instance: Option<CalendarTime>,
    /// Its name in one line.
    pub title: String,
}

/// The record that is moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveTarget {
    /// With a time of a series, the one that is moved to the typed time.
    pub subject: Subject,
    /// Whether the other times are moved along.
    pub is_all: bool,
}

/// An effect on the store or the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Opens the form of a record.
    OpenForm(Subject),
    /// Saves the changed fields of a form.
    SaveForm(Subject, Vec<FieldChange>),
    /// Asks for the new time of a record.
    OpenMove(MoveTarget),
    /// Moves a record to a typed time.
    Move(MoveTarget, String),
    /// Opens the editor on a record.
    Edit(Subject),
    /// Opens the editor on the text that was refused.
    EditAgain,
    /// Keeps the text that was refused in its file.
    KeepText,
    /// Saves a new record of a phrase; with a day, times without one are on it.
    Add(String, Option<Date>),
    /// Opens the editor on a new record of a phrase, or on an empty one.
    AddInEditor(String, Option<Date>),
    /// Removes a record, a series with all its times.
    Remove(Subject),
    /// Removes one time of a series.
    SkipInstance(Subject),
    /// Completes a to-do, or opens it again.
    ToggleDone(Subject),
    /// Undoes the last change that was made here.
    Undo,
    /// Asks which value of a record is copied.
    ChooseCopy(Subject),
    /// Copies a text to the clipboard of the terminal.
    Copy(String),
    /// Stops the program until the shell continues it.
    Suspend,
}

impl Action {
    /// Returns its name in the list of steps.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SaveForm(..) | Self::Edit(_) | Self::EditAgain => "edit",
            Self::Add(..) | Self::AddInEditor(..) => "add",
            Self::Move(..) => "move",
            Self::Remove(_) => "remove",
            Self::SkipInstance(_) => "skip",
            Self::ToggleDone(_) => "done",
            Self::Undo => "undo",
            Self::OpenForm(_)
            | Self::OpenMove(_)
            | Self::KeepText
            | Self::ChooseCopy(_)
            | Self::Copy(_)
            | Self::Suspend => "",
        }
    }
}

/// A key that means the same in all browsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Help,
    Add,
    /// Edits the fields.
    OpenForm,
    /// Edits the text.
    Edit,
    Remove,
    Copy,
    ToggleDone,
    /// Takes one time out of a series.
    Skip,
    /// Moves to another day or time.
    Move,
    Undo,
}

impl Command {
    /// Returns the command of a key, where letters are not text.
    pub fn of_key(key: &Key) -> Option<Self> {
        Some(match key {
            Key::Char('?') => Self::Help,
            Key::Char('a') => Self::Add,
            Key::Char('e') => Self::OpenForm,
            Key::Char('E') => Self::Edit,
            Key::Char('d') | Key::Delete => Self::Remove,
            Key::Char('y' | 'c') => Self::Copy,
            Key::Char(' ') => Self::ToggleDone,
            Key::Char('s') => Self::Skip,
            Key::Char('m') => Self::Move,
            Key::Char('u') => Self::Undo,
            _ => return None,
        })
    }
}
