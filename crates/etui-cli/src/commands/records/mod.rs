//! The commands that contacts and calendar entries share: lists, search, watching, editing,
//! removing and restoring.

pub mod browser;
pub mod change;
pub mod details;
pub mod editor;
pub mod find;
pub mod history;
pub mod labels;
pub mod list;
pub mod property;
pub mod query;
pub mod remove;
pub mod restore;
pub mod selection;
pub mod show;
pub mod text_diff;
pub mod transfer;
pub mod watch;

use std::fmt::Debug;

use clap::Subcommand;
use etui::calendar::{CalendarObject, Color};
use etui::contacts::Card;
use etui::record::{Collection, StoredRecord};
use etui::search::filter::Filter;
use etui::search::query::{ColumnSet, Row, SearchableRecord};
use etui::{CollectionKind, Error, RecordId, SavedRecord, Store};
use etui_program::output::{OutputWriter, Table, escape_text, format_count, one_line};
use etui_program::{App, Failure, Result};
use serde::Serialize;
use serde_json::Value;

use self::browser::ListLandmark;
use self::browser::kind::BrowserRecord;
use self::details::RecordDetails;
use self::property::PropertyWords;
use self::query::NamedReaders;
use crate::json::saved_json;

/// A kind of record with its words, table columns and JSON objects.
pub trait RecordCommands:
    SearchableRecord<Column: ColumnSet<Field = Self::Field>, Summary: Default> + Clone + Debug + 'static
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
    /// The index of the name in [`Self::HEADINGS`].
    const NAME_CELL: usize;
    /// Headings of all columns, in the order of [`ColumnSet::NAMES`], between commas.
    const COLUMN_HEADINGS: &'static str;
    /// Further names of columns, with the names that they mean.
    const COLUMN_ALIASES: &'static [(&'static str, &'static str)] = &[
        ("label", "categories"),
        ("labels", "categories"),
        ("category", "categories"),
    ];
    /// Advice for an unknown number, which replaces `{}`.
    const UNKNOWN_NUMBER_HINT: &'static str;
    /// Help text of `--sort`.
    const SORT_HELP: &'static str;
    /// The option of `show` that prints the text, and its help.
    const TEXT_OPTION: [&'static str; 2];
    /// The option that selects a collection.
    const COLLECTION_OPTION: &'static str;
    /// The JSON field of a row that names its collection.
    const COLLECTION_FIELD: &'static str;
    /// The command for collections of these records.
    const COLLECTIONS_COMMAND: &'static str;
    /// Headings of a list of collections: number of records, name.
    const COLLECTION_HEADINGS: [&'static str; 2];
    /// Whether a collection can have a colour.
    const HAS_COLORS: bool = false;
    /// The noun for a landmark: `letter`.
    const LANDMARK: &'static str;
    /// Words for properties.
    const PROPERTY_WORDS: PropertyWords;
    /// The property names of the format, in capitals.
    const KNOWN_PROPERTIES: &'static [&'static str];
    /// Help texts.
    const HELP: RecordHelp;

    /// Options that only the list of this kind has.
    type ListOptions: clap::Args + Debug;
    /// Options that only the search of this kind has.
    type FindOptions: clap::Args + Debug;
    /// The arguments of `add`.
    type AddArgs: clap::Args + Debug;
    /// The arguments of `edit`.
    type EditArgs: clap::Args + Debug;

    /// Returns the colour of a collection.
    fn collection_color(_: &Collection<Self>) -> Result<Option<Color>> {
        Ok(None)
    }

    /// Sets the colour of a collection, or clears it.
    fn set_collection_color(_: &Collection<Self>, _: Option<Color>) -> Result<()> {
        Err(Failure::usage(format!(
            "{} has no colour",
            with_article(&Self::KIND.to_string())
        )))
    }

    fn add_record(app: &mut App, args: &Self::AddArgs) -> Result<()>;
    fn edit_record(app: &mut App, args: &Self::EditArgs) -> Result<()>;
    /// Returns true if the landmarks are listed instead of the records.
    fn lists_landmarks(options: &Self::ListOptions) -> bool;
    /// Returns true if [`Self::find_otherwise`] answers a search.
    fn finds_otherwise(_options: &Self::FindOptions) -> bool {
        false
    }
    /// Answers a search in a way of its own. Returns false if nothing matches.
    fn find_otherwise(
        _app: &mut App,
        _readers: &NamedReaders<'_, Self>,
        _filter: &Filter<Self::Field>,
    ) -> Result<bool> {
        Ok(false)
    }

    /// Parses a text. With `replaces`, it replaces the record with this id.
    fn parse_text(text: Vec<u8>, replaces: Option<(&Collection<Self>, RecordId)>) -> Result<Self>;
    fn set_uid(&mut self, uid: &str) -> Result<()>;
    /// Returns the problem with a line that is not in `before`. Parsing is lenient with imports, but
    /// a typing error should be reported.
    fn find_typing_error(text: &[u8], before: &[u8]) -> Option<String>;

    fn summary(&self) -> Self::Summary;
    fn row_summary(row: &Row<'_, Self::Column>) -> Self::Summary;
    /// Returns the display name of a summary, which may be empty.
    fn summary_name(summary: &Self::Summary) -> &str;
    fn json_summary<'a>(
        summary: &'a Self::Summary,
        out: &OutputWriter,
    ) -> impl Serialize + use<'a, Self>;
    /// Writes a record as a JSON object.
    fn write_json(
        out: &mut OutputWriter,
        store: &Store,
        all: &Collection<Self>,
        stored: &StoredRecord<Self>,
    ) -> Result<()>;
    /// Returns the cells of [`Self::HEADINGS`].
    fn cells(summary: &Self::Summary, out: &OutputWriter) -> Vec<String>;
    /// Returns the indexes of the cells that fit into `room` columns, with their widths.
    fn layout_columns(room: usize) -> Vec<(usize, usize)>;
    fn landmarks(all: &Collection<Self>, out: &OutputWriter) -> Result<Vec<ListLandmark>>;
    /// Returns the position at which the browser opens.
    fn opening_position(all: &Collection<Self>, out: &OutputWriter) -> Result<u64>;
    /// Returns the details of a record, with the name of its collection if given, or why its text
    /// cannot be parsed.
    fn record_details(
        all: &Collection<Self>,
        stored: &StoredRecord<Self>,
        collection: Option<&str>,
        out: &OutputWriter,
    ) -> std::result::Result<RecordDetails, String>;

    fn cell_text(_column: Self::Column, value: &str, _out: &OutputWriter) -> String {
        value.to_owned()
    }
    fn json_value(_column: Self::Column, value: &str, _out: &OutputWriter) -> Value {
        value.into()
    }
}

// For a kind without options of its own.
#[derive(Debug, clap::Args)]
pub struct NoOptions {}

/// Help texts of the commands on a kind of record.
pub struct RecordHelp {
    pub list: &'static str,
    pub find: &'static str,
    pub labels: &'static str,
    pub show: &'static str,
    pub remove: &'static str,
    pub restore: &'static str,
    pub history: &'static str,
    pub copy: &'static str,
    pub watch: &'static str,
}

/// The commands on a kind of record.
#[derive(Debug, Subcommand)]
pub enum RecordCommand<R: RecordCommands> {
    #[command(
        about = format!("List {} by {}", R::MANY, R::Column::SORTS[0].0),
        after_help = R::HELP.list
    )]
    List(list::ListArgs<R>),
    #[command(about = format!("Find {}", R::MANY), after_help = R::HELP.find)]
    Find(find::FindArgs<R>),
    #[command(
        about = format!("List the labels of {}, with the number of each", R::MANY),
        after_help = R::HELP.labels,
        alias = "categories"
    )]
    Labels,
    #[command(about = format!("Show {} in full", R::MANY), after_help = R::HELP.show)]
    Show(show::ShowArgs<R>),
    Add(R::AddArgs),
    Edit(R::EditArgs),
    #[command(
        about = format!("Remove {}", R::MANY),
        visible_alias = "rm",
        alias = "delete",
        after_help = R::HELP.remove
    )]
    Remove(remove::RemoveRecordsArgs),
    #[command(
        about = format!("Undo the latest change of {}, including a removal", R::MANY),
        alias = "undo",
        after_help = R::HELP.restore
    )]
    Restore(restore::RestoreRecordsArgs),
    #[command(
        about = format!("List, compare and bring back earlier versions of {}", with_article(R::ONE)),
        after_help = R::HELP.history
    )]
    History(history::HistoryArgs<R>),
    #[command(
        about = format!("Copy {} to another {}", R::MANY, R::KIND),
        alias = "cp",
        after_help = R::HELP.copy
    )]
    Copy(transfer::TransferArgs<R>),
    /// Print changes as they happen
    #[command(after_help = R::HELP.watch, display_order = 99)]
    Watch(watch::WatchArgs),
}

impl<R: BrowserRecord> RecordCommand<R> {
    pub fn run_command(&self, app: &mut App) -> Result<()> {
        let done = self.run(app);
        done.map_err(|failure| name_other_kind::<R>(app, failure))
    }

    fn run(&self, app: &mut App) -> Result<()> {
        match self {
            Self::List(args) => list::list_records(app, args),
            Self::Find(args) => find::find_records(app, args),
            Self::Labels => labels::list_labels::<R>(app),
            Self::Show(args) => show::show_records(app, args),
            Self::Add(args) => R::add_record(app, args),
            Self::Edit(args) => R::edit_record(app, args),
            Self::Remove(args) => remove::remove_records::<R>(app, args),
            Self::Restore(args) if args.list => {
                let store = app.open_to_read()?;
                restore::list_trash::<R>(app, &store)
            }
            Self::Restore(args) => {
                let store = app.open_to_write()?;
                let ids = selection::numbers_with_trash::<R>(app, &store, &args.ids, true)?;
                let all = collection_of::<R>(app, &store, &ids)?;
                let restored = restore::restore_records(app, &all, &ids);
                store.close()?;
                restored
            }
            Self::History(args) => history::show_history(app, args),
            Self::Copy(args) => transfer::transfer_records(app, args, transfer::Transfer::Copy),
            Self::Watch(args) => {
                let store = app.open_to_read()?;
                watch::watch_records::<R>(app, &app.open_collection(&store)?, args)?;
                Ok(store.close()?)
            }
        }
    }
}

/// Names the other kind of record that an unknown number is.
fn name_other_kind<R: RecordCommands>(app: &App, failure: Failure) -> Failure {
    let Failure::NotFound(text) = &failure else {
        return failure;
    };
    let number = text.strip_prefix(&format!("there is no {} number ", R::ONE));
    let number = number.and_then(|rest| parse_number(rest.split(';').next()?));
    let (Some(number), Ok(store)) = (number, app.open_to_read()) else {
        return failure;
    };
    let (noun, command) = match R::KIND {
        CollectionKind::Contacts if has_number::<CalendarObject>(&store, number) => {
            ("a calendar entry", "calendar")
        }
        CollectionKind::Calendar if has_number::<Card>(&store, number) => ("a contact", "contacts"),
        _ => return failure,
    };
    Failure::NotFound(format!(
        "there is no {} number {number}; {number} is {noun}: etui {command} show {number}",
        R::ONE
    ))
}

fn has_number<R: RecordCommands>(store: &Store, number: RecordId) -> bool {
    let names = store.collections::<R>().names().unwrap_or_default();
    names.iter().any(|name| {
        let all = store.collection::<R>(name);
        all.is_ok_and(|all| all.get(number).is_ok_and(|found| found.is_some()))
    })
}

/// Returns the collection given on the command line, or the one that has the first of `ids`, or the
/// first one. Records of several collections at once are an error.
pub fn collection_of<R: RecordCommands>(
    app: &App,
    store: &Store,
    ids: &[String],
) -> Result<Collection<R>> {
    let is_given = app.collection_name::<R>().is_some();
    let (false, Some((first, others))) = (is_given, ids.split_first()) else {
        return app.open_collection(store);
    };
    let Some(found) = find_collection_of::<R>(store, first)? else {
        return app.open_collection(store);
    };
    for id in others {
        if !is_known(&found, id)?
            && let Some(other) = find_collection_of::<R>(store, id)?
        {
            return Err(Failure::usage(format!(
                "{} is in {}, and {} in {}; give {} of one {} at a time",
                escape_text(first),
                one_line(found.name()),
                escape_text(id),
                one_line(other.name()),
                R::MANY,
                R::KIND
            )));
        }
    }
    Ok(found)
}

/// Returns the first collection with a record of this number or UID, or else that with a removed one.
fn find_collection_of<R: RecordCommands>(store: &Store, id: &str) -> Result<Option<Collection<R>>> {
    let mut removed = None;
    for name in store.collections::<R>().names()? {
        let all = store.collection(&name)?;
        if lookup_record(&all, id)?.is_some() {
            return Ok(Some(all));
        }
        // One that was moved is in the trash of its former collection.
        if removed.is_none() && lookup_in_trash(&all, id)?.is_some() {
            removed = Some(all);
        }
    }
    Ok(removed)
}

/// Returns a table for records, with a column for the collection if several are listed.
fn record_table<R: RecordCommands>(collections: usize) -> Table {
    let mut headings = [&["#"][..], R::HEADINGS].concat();
    if collections > 1 {
        headings.extend(R::COLLECTION_HEADINGS.last());
    }
    Table::new(&headings)
}

/// Adds a record to a table of [`record_table`].
fn add_row<R: RecordCommands>(
    table: &mut Table,
    id: RecordId,
    summary: &R::Summary,
    collection: Option<&str>,
    out: &OutputWriter,
) {
    let mut cells = R::cells(summary, out);
    if let Some(name) = cells.get_mut(R::NAME_CELL).filter(|name| name.is_empty()) {
        R::UNNAMED.clone_into(name);
    }
    let id = id.to_string();
    let cells = cells.iter().map(String::as_str);
    table.add_row([id.as_str()].into_iter().chain(cells).chain(collection));
}

/// Returns the known word that differs least from `word`, by a third of its letters at most.
pub fn nearest_word<W: AsRef<str>>(word: &str, known: impl IntoIterator<Item = W>) -> Option<W> {
    let known = known.into_iter();
    let distances = known.map(|known| (strsim::osa_distance(word, known.as_ref()), known));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    let near = nearest.filter(|(distance, known)| distance * 3 <= known.as_ref().len());
    near.map(|(_, known)| known)
}

/// Returns `a contact` or `an entry`.
pub fn with_article(noun: &str) -> String {
    match noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {noun}"),
        false => format!("a {noun}"),
    }
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
pub fn resolve_record<R: RecordCommands>(all: &Collection<R>, id: &str) -> Result<StoredRecord<R>> {
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
    all: &Collection<R>,
    id: &str,
) -> Result<Option<StoredRecord<R>>> {
    if let Some(number) = parse_number(id)
        && let Some(record) = all.get(number)?
    {
        return Ok(Some(record));
    }
    Ok(all.get(id)?)
}

/// Returns true if a record with this number or UID exists or is in the trash.
fn is_known<R: RecordCommands>(all: &Collection<R>, id: &str) -> Result<bool> {
    Ok(lookup_record(all, id)?.is_some() || lookup_in_trash(all, id)?.is_some())
}

/// Resolves `ids`, each record once.
pub fn resolve_once<R>(
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
    all: &Collection<R>,
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

/// Returns the command that undoes the latest change of these records.
pub fn undo_hint<R: RecordCommands>(ids: impl Iterator<Item = RecordId>) -> String {
    let mut hint = format!("Undo: etui {} restore", R::COMMAND);
    ids.for_each(|id| hint.push_str(&format!(" {id}")));
    hint
}

/// Returns the display name of a record.
pub fn title_of<R: RecordCommands>(record: &R) -> String {
    name_or_placeholder::<R>(R::summary_name(&record.summary())).to_owned()
}

/// Returns the display name of a stored record, whether or not its text can be parsed.
pub fn stored_title<R: RecordCommands>(record: &StoredRecord<R>) -> String {
    let parsed = R::parse_text(record.text.clone(), None);
    parsed.map_or_else(|_| R::UNNAMED.to_owned(), |record| title_of(&record))
}

/// Replaces an empty name.
pub fn name_or_placeholder<R: RecordCommands>(name: &str) -> &str {
    match name {
        "" => R::UNNAMED,
        name => name,
    }
}

/// Reports a saved record; `message` formats the status message with its name in one line.
pub fn report_saved<R: RecordCommands>(
    out: &mut OutputWriter,
    record: &R,
    saved: &SavedRecord,
    uid: &str,
    message: impl FnOnce(&str) -> String,
) -> Result<()> {
    let summary = record.summary();
    let name = R::summary_name(&summary);
    let text = message(&one_line(name_or_placeholder::<R>(name)));
    out.report(&saved_json(saved, uid, name), text)
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
