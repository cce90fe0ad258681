//! The commands that contacts and calendar entries share: lists, search, watching, editing,
//! removing and restoring.

pub mod change;
pub mod details;
pub mod editor;
pub mod find;
pub mod pager;
pub mod property;
pub mod query;
pub mod remove;
pub mod restore;
pub mod watch;

use std::fmt::Debug;

use etui::record::{Collection, StoredRecord};
use etui::search::filter::Filter;
use etui::search::query::{ColumnSet, Row, SearchableRecord};
use etui::{Error, RecordId};
use serde::Serialize;
use serde_json::Value;

use crate::errors::{Failure, Result};
use crate::output::{OutputWriter, Table, escape_text, format_count};

/// A kind of record with its words, table columns and JSON objects.
pub trait RecordCommands:
    SearchableRecord<Column: ColumnSet<Field = Self::Field>> + Clone + Debug + 'static
{
    /// The noun for one record: `contact`.
    const ONE: &'static str;
    /// The noun for several records: `contacts`.
    const MANY: &'static str;
    /// The command for these records: `contacts`.
    const COMMAND: &'static str;
    /// The command that adds another record.
    const ADD_COMMAND: &'static str;
    /// The format of the text: `vCard`.
    const FORMAT: &'static str;
    /// The display name of a record without one: `(no name)`.
    const UNNAMED: &'static str;
    /// The extension of files in this format: `.vcf`.
    const SUFFIX: &'static str;
    /// Headings of a list after the number.
    const HEADINGS: &'static [&'static str];
    /// Advice for an unknown number, which replaces `{}`.
    const UNKNOWN_NUMBER_HINT: &'static str;
    /// Help text of `--sort`.
    const SORT_HELP: &'static str;
    /// The option that selects a collection.
    const COLLECTION_OPTION: &'static str;
    /// The JSON field of a row that names its collection, if several can be listed together.
    const COLLECTION_FIELD: Option<&'static str>;
    /// The command for collections of these records.
    const COLLECTIONS_COMMAND: &'static str;
    /// Headings of a list of collections: number of records, name.
    const COLLECTION_HEADINGS: [&'static str; 2];

    /// The JSON object of a list row.
    type JsonSummary<'a>: Serialize;

    fn parse_text(text: Vec<u8>) -> Result<Self>;
    /// Parses a text that replaces the record with this id.
    fn parse_replacement(text: Vec<u8>, all: &Collection<'_, Self>, id: RecordId) -> Result<Self>;
    fn text_bytes(&self) -> &[u8];
    /// Returns the UID written in the text.
    fn written_uid(&self) -> Option<&str>;
    fn set_uid(&mut self, uid: &str) -> Result<()>;
    /// Returns the display name, which may be empty.
    fn display_title(&self) -> String;
    /// Returns the problem with a line that is not in `before`. Parsing is lenient with imports, but
    /// a typing error should be reported.
    fn find_typing_error(text: &[u8], before: &[u8]) -> Option<String>;

    fn summary(&self) -> Self::Summary;
    fn row_summary(row: &Row<'_, Self::Column>) -> Self::Summary;
    /// Returns the summary of a text that cannot be parsed.
    fn unreadable_summary() -> Self::Summary;
    /// Returns the display name of a summary, which may be empty.
    fn summary_name(summary: &Self::Summary) -> &str;
    fn json_summary<'a>(summary: &'a Self::Summary, out: &OutputWriter) -> Self::JsonSummary<'a>;
    /// Returns the JSON object of a collection with this number of records.
    fn collection_json(name: &str, count: u64) -> impl Serialize;
    /// Adds a row with the cells of [`Self::HEADINGS`].
    fn add_row(id: RecordId, summary: &Self::Summary, table: &mut Table, out: &OutputWriter);

    fn column_heading(column: Self::Column) -> &'static str;
    fn cell_text(_column: Self::Column, value: &str, _out: &OutputWriter) -> String {
        value.to_owned()
    }
    fn json_value(_column: Self::Column, value: &str, _out: &OutputWriter) -> Value {
        value.into()
    }
}

/// Returns the headings of a list of records.
fn list_headings<R: RecordCommands>() -> Vec<&'static str> {
    [&["#"][..], R::HEADINGS].concat()
}

/// Returns a number of records with its noun.
pub fn count_of<R: RecordCommands>(records: u64) -> String {
    match records {
        1 => format!("1 {}", R::ONE),
        several => format!("{} {}", format_count(several), R::MANY),
    }
}

/// Parses the filter on the command line; no words match all records.
pub fn parse_filter<R: RecordCommands>(words: &[String]) -> Result<Filter<R::Field>> {
    Ok(words.join(" ").parse()?)
}

/// Returns the record with this number or UID.
pub fn resolve_record<R: RecordCommands>(
    all: &Collection<'_, R>,
    id: &str,
) -> Result<StoredRecord<R>> {
    match lookup_record(all, id)? {
        Some(record) => Ok(record),
        None if lookup_in_trash(all, id)?.is_some() => Err(Failure::NotFound(format!(
            "{} {id} was removed; restore it with `etui {} restore {id}`",
            R::ONE,
            R::COMMAND
        ))),
        None => Err(unknown_record::<R>(id)),
    }
}

/// Returns the record with this number or UID, if it exists.
pub fn lookup_record<R: RecordCommands>(
    all: &Collection<'_, R>,
    id: &str,
) -> Result<Option<StoredRecord<R>>> {
    if let Some(number) = parse_number(id)
        && let Some(record) = all.by_id(number)?
    {
        return Ok(Some(record));
    }
    Ok(all.get(id)?)
}

/// Returns true if a record with this number or UID exists or is in the trash.
pub fn is_known<R: RecordCommands>(all: &Collection<'_, R>, id: &str) -> Result<bool> {
    Ok(lookup_record(all, id)?.is_some() || lookup_in_trash(all, id)?.is_some())
}

/// Resolves `ids`, each record once.
fn resolve_once<R>(
    ids: &[String],
    resolve: impl Fn(&str) -> Result<StoredRecord<R>>,
) -> Result<Vec<StoredRecord<R>>> {
    let mut seen = std::collections::HashSet::new();
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let record = resolve(id)?;
        if seen.insert(record.id) {
            all.push(record);
        }
    }
    Ok(all)
}

/// Returns the removed record with this number or UID, if it is in the trash.
fn lookup_in_trash<R: RecordCommands>(
    all: &Collection<'_, R>,
    id: &str,
) -> Result<Option<StoredRecord<R>>> {
    let number = parse_number(id);
    let mut trash = all.trash()?;
    let position = trash
        .iter()
        .position(|r| Some(r.id) == number)
        .or_else(|| trash.iter().position(|r| r.uid == id));
    Ok(position.map(|i| trash.swap_remove(i)))
}

/// Parses a number as lists show it, with or without `#`.
pub fn parse_number(id: &str) -> Option<RecordId> {
    let digits = id.strip_prefix('#').unwrap_or(id);
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit());
    is_plain
        .then(|| digits.parse().ok().map(RecordId))
        .flatten()
}

fn unknown_record<R: RecordCommands>(id: &str) -> Failure {
    let one = R::ONE;
    Failure::NotFound(match parse_number(id) {
        Some(_) => format!(
            "there is no {one} number {id}; {}",
            R::UNKNOWN_NUMBER_HINT.replace("{}", id)
        ),
        None => format!(
            "there is no {one} with the UID {id}; `etui {} find` lists the numbers",
            R::COMMAND
        ),
    })
}

/// Returns the display name of a record, whether or not its text can be parsed.
pub fn display_name<R: RecordCommands>(record: &StoredRecord<R>) -> String {
    let title = R::parse_text(record.text.clone()).map(|r| r.display_title());
    name_or_placeholder::<R>(title.unwrap_or_default())
}

/// Replaces an empty name.
pub fn name_or_placeholder<R: RecordCommands>(name: String) -> String {
    match name.is_empty() {
        true => R::UNNAMED.to_owned(),
        false => name,
    }
}

/// Adds advice to an edit conflict, and the path of the edited text in `kept`.
fn explain_conflict<R: RecordCommands>(error: Error, id: &str, kept: Option<&str>) -> Failure {
    let (one, command) = (R::ONE, R::COMMAND);
    match (error, kept) {
        (Error::Conflict { .. }, kept) => {
            let mut text = format!(
                "{one} {} was changed in the meantime; nothing was overwritten. \
                 See its current state: etui {command} show {}",
                escape_text(id),
                escape_text(id)
            );
            if let Some(file) = kept {
                text.push_str(&format!(
                    "\nYour text is kept in {file}. Merge both changes there, then: \
                     etui {command} edit {id} --from {file}"
                ));
            }
            Failure::Conflict(text)
        }
        (other, None) => other.into(),
        (other, Some(file)) => Failure::Other(format!("{other}\nYour text is kept in {file}")),
    }
}
