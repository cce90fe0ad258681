//! What the commands about contacts and about calendars have in common: which record is meant,
//! lists and finding, following changes, a text in an editor, removing and bringing back, how all
//! about one is written.

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
use crate::output::{OutputWriter, Table, shown};

/// A kind of record, as the prompt speaks of it.
pub trait RecordCommands:
    SearchableRecord<Column: ColumnSet<Field = Self::Field>> + Clone + Debug + 'static
{
    /// What one is called: `contact`.
    const ONE: &'static str;
    /// What several are called: `contacts`.
    const MANY: &'static str;
    /// Who is not there: `nobody`.
    const NOBODY: &'static str;
    /// The command about them: `contacts`.
    const COMMAND: &'static str;
    /// The command that brings in another one.
    const ANOTHER: &'static str;
    /// The kind of its text: `vCard`.
    const FORMAT: &'static str;
    /// What stands for a name where there is none: `(no name)`.
    const UNNAMED: &'static str;
    /// What the name of a file of such text ends with: `.vcf`.
    const SUFFIX: &'static str;
    /// Headings of a list, the number aside.
    const HEADINGS: &'static [&'static str];
    /// Advice for a number that none has; `{}` stands for it.
    const BY_NUMBER: &'static str;
    /// The help of `--sort`.
    const ORDERS: &'static str;
    /// The option that says in which collection.
    const HOLDER_OPTION: &'static str;
    /// What the JSON of a row calls the collection that it is in; `None`: one is asked at a time.
    const HOLDER_FIELD: Option<&'static str>;
    /// The command about collections, behind [`Self::COMMAND`].
    const HOLDERS: &'static str;
    /// Headings of a list of collections: how many records, and the name.
    const HOLDER_HEADINGS: [&'static str; 2];

    /// What a list shows of one, for JSON.
    type Object<'a>: Serialize;

    /// Reads one.
    fn parse(text: Vec<u8>) -> Result<Self>;
    /// Reads one that takes the place of the record with this number.
    fn parse_for(text: Vec<u8>, all: &Collection<'_, Self>, id: RecordId) -> Result<Self>;
    /// Its text.
    fn bytes(&self) -> &[u8];
    /// The UID that it has itself.
    fn own_uid(&self) -> Option<&str>;
    /// Gives it a UID.
    fn set_uid(&mut self, uid: &str) -> Result<()>;
    /// The name to show; may be empty.
    fn title(&self) -> String;
    /// Why a line of its text that was typed cannot stand in it, in words. Reading is lenient,
    /// but what a person just typed is meant.
    fn odd_line(text: &[u8], before: &[u8]) -> Option<String>;

    /// What a list would show of it.
    fn summary(&self) -> Self::Summary;
    /// What a list shows of a row.
    fn summary_of(row: &Row<'_, Self::Column>) -> Self::Summary;
    /// What stands for a text that cannot be read.
    fn unreadable() -> Self::Summary;
    /// The name to show in a summary; may be empty.
    fn name(summary: &Self::Summary) -> &str;
    /// A summary for JSON.
    fn object<'a>(summary: &'a Self::Summary, out: &OutputWriter) -> Self::Object<'a>;
    /// A collection of this name with so many of them, for JSON.
    fn holder(name: &str, count: u64) -> impl Serialize;
    /// A summary as a row under [`Self::HEADINGS`].
    fn row(id: RecordId, summary: &Self::Summary, table: &mut Table, out: &OutputWriter);

    /// The heading of a column.
    fn heading(column: Self::Column) -> &'static str;
    /// A value as a cell of a table.
    fn cell(_column: Self::Column, value: &str, _out: &OutputWriter) -> String {
        value.to_owned()
    }
    /// A value for JSON.
    fn value(_column: Self::Column, value: &str, _out: &OutputWriter) -> Value {
        value.into()
    }
}

/// The headings of a list of records.
fn headings<R: RecordCommands>() -> Vec<&'static str> {
    [&["#"][..], R::HEADINGS].concat()
}

/// The filter that words on the command line make; none: all records.
pub fn filter<R: RecordCommands>(words: &[String]) -> Result<Filter<R::Field>> {
    Ok(words.join(" ").parse()?)
}

/// The record with this number or UID.
pub fn resolve<R: RecordCommands>(all: &Collection<'_, R>, id: &str) -> Result<StoredRecord<R>> {
    match lookup(all, id)? {
        Some(record) => Ok(record),
        None if in_trash(all, id)?.is_some() => Err(Failure::NotFound(format!(
            "{} {id} was removed; bring it back with `etui {} restore {id}`",
            R::ONE,
            R::COMMAND
        ))),
        None => Err(missing::<R>(id)),
    }
}

/// The record with this number or UID, if it is there.
pub fn lookup<R: RecordCommands>(
    all: &Collection<'_, R>,
    id: &str,
) -> Result<Option<StoredRecord<R>>> {
    if let Some(number) = number(id)
        && let Some(record) = all.by_id(number)?
    {
        return Ok(Some(record));
    }
    Ok(all.get(id)?)
}

/// Whether a record with this number or UID is there, or in the trash.
pub fn is_known<R: RecordCommands>(all: &Collection<'_, R>, id: &str) -> Result<bool> {
    Ok(lookup(all, id)?.is_some() || in_trash(all, id)?.is_some())
}

/// The records that `ids` mean, each of them once.
fn each_once<R>(
    ids: &[String],
    find: impl Fn(&str) -> Result<StoredRecord<R>>,
) -> Result<Vec<StoredRecord<R>>> {
    let mut seen = std::collections::HashSet::new();
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let record = find(id)?;
        if seen.insert(record.id) {
            all.push(record);
        }
    }
    Ok(all)
}

/// A removed record with this number or UID.
fn in_trash<R: RecordCommands>(
    all: &Collection<'_, R>,
    id: &str,
) -> Result<Option<StoredRecord<R>>> {
    let number = number(id);
    let mut trash = all.trash()?;
    let place = trash
        .iter()
        .position(|r| Some(r.id) == number)
        .or_else(|| trash.iter().position(|r| r.uid == id));
    Ok(place.map(|i| trash.swap_remove(i)))
}

/// A number as lists show it, with or without `#`.
pub fn number(id: &str) -> Option<RecordId> {
    let digits = id.strip_prefix('#').unwrap_or(id);
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok().map(RecordId)).flatten()
}

fn missing<R: RecordCommands>(id: &str) -> Failure {
    let one = R::ONE;
    Failure::NotFound(match number(id) {
        Some(_) => format!(
            "there is no {one} number {id}; {}",
            R::BY_NUMBER.replace("{}", id)
        ),
        None => format!(
            "there is no {one} with the UID {id}; `etui {} find` tells the numbers",
            R::COMMAND
        ),
    })
}

/// The name to show of a record, whatever its text is.
pub fn name_of<R: RecordCommands>(record: &StoredRecord<R>) -> String {
    let title = R::parse(record.text.clone()).map(|r| r.title());
    named::<R>(title.unwrap_or_default())
}

/// A name, or what stands for it.
pub fn named<R: RecordCommands>(name: String) -> String {
    match name.is_empty() {
        true => R::UNNAMED.to_owned(),
        false => name,
    }
}

/// Says what to do about a record that was changed by somebody else at the same time.
fn explain_conflict<R: RecordCommands>(error: Error, id: &str, kept: Option<&str>) -> Failure {
    let (one, command) = (R::ONE, R::COMMAND);
    match (error, kept) {
        (Error::Conflict { .. }, kept) => {
            let mut text = format!(
                "{one} {} was changed meanwhile; nothing was overwritten. \
                 See what it is now: etui {command} show {}",
                shown(id),
                shown(id)
            );
            if let Some(file) = kept {
                text.push_str(&format!(
                    "\nYour text is kept in {file}; when it holds both changes: \
                     etui {command} edit {id} --from {file}"
                ));
            }
            Failure::Conflict(text)
        }
        (other, None) => other.into(),
        (other, Some(file)) => Failure::Other(format!("{other}\nYour text is kept in {file}")),
    }
}
