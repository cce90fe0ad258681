//! [`BrowserRecord`]: the differences between kinds of records in the browser.

use etui::calendar::time::{CalendarTime, Date};
use etui::record::{Collection, StoredRecord};
use etui_program::output::OutputWriter;
use etui_program::{Failure, Result};

use super::action::MoveTarget;
use super::form::{FieldChange, FormField};
use crate::commands::records::RecordCommands;

/// A kind of record that can be browsed.
pub trait BrowserRecord: RecordCommands {
    /// An example of a phrase that [`BrowserRecord::of_phrase`] understands.
    const PHRASE_EXAMPLE: &'static str;
    /// Whether records can be completed.
    const HAS_DONE: bool;
    /// Whether records have times, and can be moved.
    const HAS_TIMES: bool = false;

    /// Makes a new record of a phrase. With a day, times without one are on it, and a phrase without a
    /// time is the whole day.
    ///
    /// # Errors
    /// If the phrase has no title or no name, or no time where one is needed.
    fn of_phrase(text: &str, day: Option<Date>, out: &OutputWriter) -> Result<NewRecord<Self>>;

    /// Returns the text that a new record begins with in the editor, with this name or title.
    fn template(name: &str, day: Option<Date>, out: &OutputWriter) -> Result<Vec<u8>>;

    /// Completes a record that was written from the template.
    fn complete_new(record: Self) -> Result<Self> {
        Ok(record)
    }

    /// Returns the day on which the record begins.
    fn first_day(_record: &Self) -> Option<Date> {
        None
    }

    /// Returns the values of a record that can be copied, with their labels.
    fn copy_texts(record: &Self) -> Vec<(String, String)>;

    /// Returns the form of a record, or of one time of a series, with empty fields for what can be added.
    ///
    /// # Errors
    /// If the record cannot be parsed, or has no such time.
    fn form_of(
        stored: (&Collection<Self>, &StoredRecord<Self>),
        instance: Option<&CalendarTime>,
        out: &OutputWriter,
    ) -> Result<RecordForm>;

    /// Returns a record with changed fields, of one time of a series if it is given.
    ///
    /// # Errors
    /// If a value cannot be that of its field.
    fn change_fields(
        stored: (&Collection<Self>, &StoredRecord<Self>),
        instance: Option<&CalendarTime>,
        changes: &[FieldChange],
        out: &OutputWriter,
    ) -> Result<ChangedRecord<Self>>;

    /// Returns true if the record has several times.
    fn is_series(_record: &Self) -> bool {
        false
    }

    /// Describes the times of a record, or of one time of a series.
    fn when_of(_: &Self, _: Option<&CalendarTime>, _: &OutputWriter) -> String {
        String::new()
    }

    /// Returns a record that is moved to a typed day or time.
    ///
    /// # Errors
    /// If the text is not a time, or the record cannot be there.
    fn move_to(
        _: (&Collection<Self>, &StoredRecord<Self>),
        _: &MoveTarget,
        _: &str,
        _: &OutputWriter,
    ) -> Result<ChangedRecord<Self>> {
        Err(Failure::usage(format!("a {} has no time", Self::ONE)))
    }

    /// Returns the record, or the given time of a series or its first open one, completed, or opened if
    /// it was completed, and a word for the change.
    ///
    /// # Errors
    /// If the record cannot be completed.
    fn toggle_done(
        all: &Collection<Self>,
        stored: &StoredRecord<Self>,
        instance: Option<&CalendarTime>,
        out: &OutputWriter,
    ) -> Result<(Self, &'static str)>;

    /// Returns a series without one of its times.
    fn skip_instance(
        all: &Collection<Self>,
        stored: &StoredRecord<Self>,
        instance: &CalendarTime,
    ) -> Result<Self>;
}

/// A record made of a phrase.
#[derive(Debug)]
pub struct NewRecord<R> {
    pub record: R,
    /// Its labelled values, in the order of the preview.
    pub rows: Vec<(String, String)>,
}

/// The form of a record.
#[derive(Debug)]
pub struct RecordForm {
    pub title: String,
    pub fields: Vec<FormField>,
}

/// A record with a change.
#[derive(Debug)]
pub struct ChangedRecord<R> {
    pub record: R,
    /// Its times, if they were changed.
    pub now: Option<String>,
    /// The day to select.
    pub day: Option<Date>,
    /// What a person should know of the change.
    pub notes: Vec<String>,
}
