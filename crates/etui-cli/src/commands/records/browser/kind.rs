//! [`BrowserRecord`]: the differences between kinds of records in the browser.

use etui::calendar::time::{CalendarTime, Date};
use etui::record::{Collection, StoredRecord};

use super::form::{FieldChange, FormField};
use crate::commands::records::RecordCommands;
use crate::errors::Result;
use crate::output::OutputWriter;

/// A kind of record that can be browsed.
pub trait BrowserRecord: RecordCommands {
    /// An example of a phrase that [`BrowserRecord::of_phrase`] understands.
    const PHRASE_EXAMPLE: &'static str;
    /// Whether records can be completed.
    const HAS_DONE: bool;

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

    /// Returns the fields of a record that a form shows, and empty ones for what can be added.
    fn form_fields(record: &Self, out: &OutputWriter) -> Vec<FormField>;

    /// Returns a record with changed fields.
    ///
    /// # Errors
    /// If a value cannot be that of its field.
    fn change_fields(
        stored: (&Collection<'_, Self>, &StoredRecord<Self>),
        record: Self,
        changes: &[FieldChange],
        out: &OutputWriter,
    ) -> Result<Self>;

    /// Returns the record, or the given time of a series or its first open one, completed, or opened if
    /// it was completed, and a word for the change.
    ///
    /// # Errors
    /// If the record cannot be completed.
    fn toggle_done(
        all: &Collection<'_, Self>,
        stored: &StoredRecord<Self>,
        instance: Option<&CalendarTime>,
        out: &OutputWriter,
    ) -> Result<(Self, &'static str)>;

    /// Returns a series without one of its times.
    fn skip_instance(
        all: &Collection<'_, Self>,
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
