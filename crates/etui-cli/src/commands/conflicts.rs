//! `etui conflicts`: texts that a phone or another program wrote and the store refused, such as an
//! edit of a contact that was changed meanwhile. They are listed, shown, taken and forgotten.

use clap::{Args, FromArgMatches};
use etui::calendar::CalendarObject;
use etui::calendar::ics::{ObjectPiece, ObjectReader};
use etui::contacts::Card;
use etui::resource::Resource;
use etui::resource::ResourceKey;
use etui::store::CollectionKey;
use etui::store::RefusedVersion;
use etui::{CollectionKind, Error, RefusedId, SaveOutcome, Store};
use etui_program::output::{Style, Table, escape_text, format_size, object, one_line, pluralize};
use etui_program::{App, Failure, Result};

use super::records::text_diff::{DiffLine, diff_texts, write_diff};
use super::records::{RecordCommands, name_or_placeholder};
use etui_when::{format_minute, iso_instant};

const EXAMPLES: &str = "\
Two devices may change one contact at once, or you here and somebody on a server (etui sync). What
cannot be merged is decided for one of them; the other's text is kept here for 30 days.

Examples:
  etui conflicts                  list refused texts
  etui conflicts show 3           the changes that it would make
  etui conflicts show 3 --text    as the device sent it
  etui conflicts take 3           save it; the present version stays in the history
  etui conflicts forget 3         delete it";

/// Show changes of other devices that were refused, and take them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct ConflictsArgs {
    #[command(subcommand)]
    command: Option<ConflictsCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum ConflictsCommand {
    /// List refused texts, the latest first
    List,
    /// Show the changes that a refused text would make
    #[command(
        after_help = "Examples:\n  etui conflicts show 3\n  etui conflicts show 3 --text > lost.vcf"
    )]
    Show {
        /// Number of the list
        #[arg(value_name = "N", value_parser = parse_number)]
        number: RefusedId,
        /// Print the text as the device sent it
        #[arg(long, conflicts_with = "json")]
        text: bool,
    },
    /// Save a refused text as the present version
    #[command(
        after_help = "The replaced version stays in the history for 30 days.\n\n\
                            Example:\n  etui conflicts take 3"
    )]
    Take {
        /// Number of the list
        #[arg(value_name = "N", value_parser = parse_number)]
        number: RefusedId,
    },
    /// Delete refused texts
    #[command(after_help = "Examples:\n  etui conflicts forget 3\n  etui conflicts forget 3 4 7")]
    Forget {
        /// Numbers of the list
        #[arg(value_name = "N", required = true, value_parser = parse_number)]
        numbers: Vec<RefusedId>,
    },
}

/// Parses a number of the list, with or without `#`.
fn parse_number(text: &str) -> std::result::Result<RefusedId, String> {
    let number = text.trim().trim_start_matches('#').parse().ok();
    let number = number.filter(|number: &i64| *number > 0);
    number
        .map(RefusedId)
        .ok_or_else(|| "a conflict is a number of the first column of `etui conflicts`".to_owned())
}

/// Parses the words after `etui sync conflicts`.
pub fn parse_words(words: &[String]) -> Result<ConflictsArgs> {
    let definition = ConflictsArgs::augment_args(clap::Command::new("etui conflicts"));
    let own = std::iter::once("etui conflicts").chain(words.iter().map(String::as_str));
    let parsed = definition
        .try_get_matches_from(own)
        .and_then(|matches| ConflictsArgs::from_arg_matches(&matches));
    parsed.map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        Failure::usage(text.trim_end())
    })
}

pub fn run_command(app: &mut App, args: &ConflictsArgs) -> Result<()> {
    match &args.command {
        None | Some(ConflictsCommand::List) => list_conflicts(app),
        Some(ConflictsCommand::Show { number, text }) => show_conflict(app, *number, *text),
        Some(ConflictsCommand::Take { number }) => take_conflict(app, *number),
        Some(ConflictsCommand::Forget { numbers }) => forget_conflicts(app, numbers),
    }
}

/// The present version of a record beside a refused text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PresentVersion {
    /// No line differs: nothing is lost.
    Same,
    /// Another text, as it was when the text was refused.
    Other,
    /// It was changed after the text was refused.
    Newer,
    /// There is none.
    None,
}

impl PresentVersion {
    /// Returns the word for it in JSON.
    fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Other => "other",
            Self::Newer => "newer",
            Self::None => "none",
        }
    }

    /// Returns what a list says of it.
    fn shown(self) -> &'static str {
        match self {
            Self::Same => "the same text",
            Self::Other => "another text",
            Self::Newer => "newer than this",
            Self::None => "none",
        }
    }
}

/// A refused version with its text.
struct Conflict {
    version: RefusedVersion,
    text: Vec<u8>,
}

impl Conflict {
    fn read(store: &Store, version: RefusedVersion) -> Result<Self> {
        let text = store.refused().text(version.id)?;
        let text = text.ok_or(Error::NoRefused(version.id))?;
        Ok(Self { version, text })
    }

    fn find(store: &Store, number: RefusedId) -> Result<Self> {
        let version = store.refused().get(number)?;
        Self::read(store, version.ok_or_else(|| no_conflict(number))?)
    }

    fn kind(&self) -> CollectionKind {
        let named = self.version.collection_name.as_ref();
        named.map_or(CollectionKind::Contacts, |(kind, _)| *kind)
    }

    /// Returns the name of its collection; empty if that is gone.
    fn collection(&self) -> &str {
        let named = self.version.collection_name.as_ref();
        named.map_or("", |(_, name)| name)
    }

    /// Returns the display name or the title in the text.
    fn title(&self) -> String {
        match self.kind() {
            CollectionKind::Calendar => {
                let title = object_title(&self.text).unwrap_or_default();
                name_or_placeholder::<CalendarObject>(&title).to_owned()
            }
            _ => {
                let card = Card::parse(self.text.clone());
                let name = card.map_or_else(|_| String::new(), |card| card.display_name());
                name_or_placeholder::<Card>(&name).to_owned()
            }
        }
    }

    /// Returns the present text of its record; `None` if there is none.
    fn present(&self, store: &Store) -> Result<Option<Vec<u8>>> {
        match self.kind() {
            CollectionKind::Calendar => self.present_of::<CalendarObject>(store),
            _ => self.present_of::<Card>(store),
        }
    }

    /// Returns how the present version of its record differs.
    fn present_version(&self, store: &Store) -> Result<PresentVersion> {
        Ok(match self.present(store)? {
            None => PresentVersion::None,
            Some(present) if diff_texts(&present, &self.text).is_empty() => PresentVersion::Same,
            Some(_) if self.is_changed_since(store)? => PresentVersion::Newer,
            Some(_) => PresentVersion::Other,
        })
    }

    fn is_changed_since(&self, store: &Store) -> Result<bool> {
        let Some(uid) = &self.version.uid else {
            return Ok(false);
        };
        let id = self.version.collection;
        let versions = match self.kind() {
            CollectionKind::Calendar => store
                .collection::<CalendarObject>(CollectionKey::Id(id))?
                .history(uid)?,
            _ => store
                .collection::<Card>(CollectionKey::Id(id))?
                .history(uid)?,
        };
        let at = versions.first().and_then(|version| version.at);
        Ok(at.is_some_and(|at| at > self.version.at))
    }

    fn present_of<R: Resource>(&self, store: &Store) -> Result<Option<Vec<u8>>> {
        let collection = match store.collection::<R>(CollectionKey::Id(self.version.collection)) {
            Err(Error::NoCollection { .. }) => return Ok(None),
            found => found?,
        };
        let found = match (&self.version.uid, self.version.record) {
            (Some(uid), _) => collection.resource(ResourceKey::Uid(uid))?,
            (None, Some(record)) => collection.resource(record)?,
            (None, None) => collection.resource(&self.version.name)?,
        };
        Ok(found.map(|found| found.bytes))
    }
}

/// Returns the title of the first component of a calendar object.
fn object_title(text: &[u8]) -> Option<String> {
    ObjectReader::new(text).find_map(|piece| match piece {
        Ok(ObjectPiece::Component(component)) => {
            let object = CalendarObject::parse(component.bytes, &Default::default()).ok()?;
            object.master().summary.clone()
        }
        _ => None,
    })
}

fn no_conflict(number: RefusedId) -> Failure {
    Failure::NotFound(format!(
        "there is no conflict {number}; `etui conflicts` lists them"
    ))
}

fn list_conflicts(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let versions = store.refused().list()?;
    if versions.is_empty() {
        return app.out.status("No conflicts.");
    }
    let zone = app.out.time_zone();
    let mut table = Table::new(&[
        "#",
        "When",
        "Name",
        "In",
        "From",
        "Present version",
        "Reason",
    ]);
    let mut conflicts = Vec::with_capacity(versions.len());
    for version in versions {
        let conflict = Conflict::read(&store, version)?;
        let present = conflict.present_version(&store)?;
        let version = &conflict.version;
        table.add_row([
            version.id.to_string().as_str(),
            &format_minute(version.at, &zone),
            &conflict.title(),
            conflict.collection(),
            &version.device,
            present.shown(),
            &version.reason,
        ]);
        conflicts.push((conflict, present));
    }
    app.out
        .write_table(&table, &conflicts, |out, (conflict, present)| {
            let at = iso_instant(conflict.version.at.into(), &out.time_zone());
            out.write_json(&conflict_json(conflict, at, *present))
        })
}

/// The fields of a conflict.
fn conflict_json(
    conflict: &Conflict,
    at: String,
    present: PresentVersion,
) -> impl serde::Serialize + use<> {
    let version = &conflict.version;
    object! {
        conflict: version.id.0,
        at: at,
        name: conflict.title(),
        // `address book` or `calendar`.
        kind: conflict.kind().to_string(),
        // `null` if it is gone.
        collection: version.collection_name.as_ref().map(|(_, name)| name.clone()),
        resource: version.name.clone(),
        // The record that it was to replace.
        id: version.record.map(|id| id.0),
        uid: version.uid.clone(),
        device: version.device.clone(),
        // `same`, `other`, `newer` or `none`.
        present: present.word(),
        reason: version.reason.clone(),
        size: version.size,
    }
}

fn show_conflict(app: &mut App, number: RefusedId, is_text: bool) -> Result<()> {
    let store = app.open_to_read()?;
    let conflict = Conflict::find(&store, number)?;
    if is_text {
        return app.out.write_bytes(&conflict.text);
    }
    let present = conflict.present(&store)?;
    let lines = present
        .as_ref()
        .map(|present| diff_texts(present, &conflict.text));
    let version = &conflict.version;
    if app.out.json {
        let at = iso_instant(version.at.into(), &app.out.time_zone());
        let line_json = |line: &DiffLine| {
            object! { sign: line.sign(), property: line.line.name.clone(), line: line.shown() }
        };
        let lines = lines.as_ref();
        return app.out.write_json(&object! {
            #[serde(flatten)] conflict: conflict_json(&conflict, at, conflict.present_version(&store)?),
            // Changes of the present version; `null` if there is none.
            lines: lines.map(|lines| lines.iter().map(line_json).collect::<Vec<_>>()),
            text: String::from_utf8_lossy(&conflict.text),
        });
    }
    let title = conflict.title();
    let title = app
        .out
        .with_style(Style::Bold, &one_line(&title))
        .into_owned();
    app.out.write_line(title)?;
    let at = format_minute(version.at, &app.out.time_zone());
    for (heading, value) in [
        ("In", conflict.collection()),
        ("From", version.device.as_str()),
        ("When", &at),
        ("Reason", &version.reason),
        ("Size", &format_size(version.size)),
    ] {
        let line = format!("  {heading:<7} {}", escape_text(value));
        app.out.write_line(line.trim_end())?;
    }
    match lines {
        None => {
            app.out.status("There is no present version. The text:")?;
            app.out.write_bytes(&conflict.text)
        }
        Some(lines) if lines.is_empty() => {
            app.out.status("No line differs from the present version.")
        }
        Some(lines) => {
            app.out.status("Changes of the present version:")?;
            write_diff(&mut app.out, &lines)
        }
    }
}

fn take_conflict(app: &mut App, number: RefusedId) -> Result<()> {
    let store = app.open_to_write()?;
    let conflict = Conflict::find(&store, number)?;
    match conflict.kind() {
        CollectionKind::Calendar => report_taken::<CalendarObject>(app, &store, &conflict)?,
        _ => report_taken::<Card>(app, &store, &conflict)?,
    }
    Ok(store.close()?)
}

fn report_taken<R: RecordCommands>(
    app: &mut App,
    store: &Store,
    conflict: &Conflict,
) -> Result<()> {
    let number = conflict.version.id;
    let saved = store.refused().take(number)?;
    let (id, title) = (saved.id, conflict.title());
    let (outcome, undo) = match saved.outcome {
        SaveOutcome::Unchanged => ("unchanged", None),
        SaveOutcome::Added => ("added", Some("remove")),
        SaveOutcome::Changed => ("changed", Some("restore")),
    };
    let text = match undo {
        None => format!("Unchanged: {id} {} is that text already", one_line(&title)),
        Some(undo) => format!(
            "Took conflict {number}: {id} {} (undo: etui {} {undo} {id})",
            one_line(&title),
            R::COMMAND
        ),
    };
    let json = object! { conflict: number.0, id: id.0, name: title.as_str(), outcome: outcome };
    app.out.report(&json, text)
}

fn forget_conflicts(app: &mut App, numbers: &[RefusedId]) -> Result<()> {
    let store = app.open_to_write()?;
    for &number in numbers {
        if store.refused().get(number)?.is_none() {
            return Err(no_conflict(number));
        }
    }
    for &number in numbers {
        store.refused().forget(number)?;
    }
    store.close()?;
    let count = pluralize(numbers.len() as u64, "conflict");
    app.out.report(
        &object! { forgotten: numbers.iter().map(|id| id.0).collect::<Vec<_>>() },
        format!("Forgot {count}"),
    )
}
