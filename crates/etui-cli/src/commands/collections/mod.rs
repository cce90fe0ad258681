//! `etui addressbooks` and `etui calendars`: list, create, rename, remove and restore collections.

mod json;
mod remove;
mod restore;

use std::marker::PhantomData;

use etui::calendar::Color;
use etui_program::output::{COLOR_MARK, Style, Table, format_count, one_line, quote_option};
use etui_program::services::sync::SubscribeArgs;
use etui_program::{App, Failure, Result};

use self::json::{collection_json, listed_collection_json};
use self::restore::RestoreCollectionArgs;
use super::records::{RecordCommands, count_of, with_article};

pub const ADDRESS_BOOK_EXAMPLES: &str = "\
Examples:
  etui addressbooks                        list address books and their number of contacts
  etui addressbooks create Work
  etui --addressbook Work import colleagues.vcf
  etui addressbooks rename Work \"Old job\"
  etui addressbooks remove \"Old job\"
  etui addressbooks removed                list removed ones, and until when they are kept
  etui addressbooks restore \"Old job\"

Without --addressbook, changes apply to the first address book. The last one cannot be removed.
A restored address book contains the contacts that were removed with it.";

pub const CALENDAR_EXAMPLES: &str = "\
Examples:
  etui calendars                           list calendars and their number of entries
  etui calendars create Work
  etui import --calendar Work work.ics
  etui calendars rename Work \"Old job\"
  etui calendars color Work teal
  etui calendars subscribe webcal://example.org/holidays.ics
  etui calendars remove \"Old job\"
  etui calendars removed                   list removed ones, and until when they are kept
  etui calendars restore \"Old job\"

Without --calendar, changes apply to the first calendar. The last one cannot be removed.
A restored calendar contains the entries that were removed with it.";

// Without a subcommand, the collections are listed.
#[derive(Debug, clap::Args)]
pub struct CollectionsArgs<R: RecordCommands> {
    #[command(subcommand)]
    command: Option<CollectionCommand<R>>,
}

#[derive(Debug, clap::Subcommand)]
enum CollectionCommand<R: RecordCommands> {
    #[command(about = for_kind::<R>("List the KINDs, as without a command"), alias = "ls")]
    List,
    #[command(about = for_kind::<R>("Create ONE"), after_help = for_kind::<R>(CREATE))]
    Create {
        name: String,
        #[arg(skip)]
        records: PhantomData<fn() -> R>,
    },
    #[command(about = for_kind::<R>("Rename ONE"), after_help = for_kind::<R>(RENAME))]
    Rename { old: String, new: String },
    #[command(
        about = for_kind::<R>("Remove ONE and its MANY"),
        after_help = for_kind::<R>(REMOVE),
        visible_alias = "rm",
        alias = "delete"
    )]
    Remove {
        name: String,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    #[command(
        about = for_kind::<R>("Show, set or clear the colour of ONE"),
        after_help = for_kind::<R>(COLOR),
        visible_alias = "colour",
        hide = !R::HAS_COLORS
    )]
    Color {
        name: String,
        /// A name of CSS such as teal, or #008080; none: no colour
        #[arg(id = "new_color", value_name = "COLOR")]
        color: Option<String>,
    },
    #[command(hide = !R::HAS_COLORS)]
    Subscribe(SubscribeArgs),
    #[command(about = for_kind::<R>("Restore a removed KIND"), after_help = for_kind::<R>(RESTORE))]
    Restore(RestoreCollectionArgs),
    #[command(
        about = for_kind::<R>("List the KINDs that can be restored"),
        after_help = for_kind::<R>(REMOVED)
    )]
    Removed,
}

const CREATE: &str = "\
Examples:
  ETUI create Work
  ETUI create \"Old job\"
  ETUI create -- -x       a name that begins with -

A name has 1 to 200 characters, no control characters, and no leading or trailing blanks.";

const RENAME: &str = "\
Examples:
  ETUI rename Work \"Old job\"
  ETUI rename -- -x Work  a name that begins with -

Nothing else changes: a running `watch` continues, and sync tokens stay valid.";

const COLOR: &str = "\
Examples:
  ETUI color Work         show it
  ETUI color Work teal
  ETUI color Work '#008080'
  ETUI color Work none

An import into an empty KIND, and `import --each`, take the colour of the file.";

const REMOVE: &str = "\
Examples:
  ETUI remove Work        asks for confirmation unless it is empty
  ETUI remove Work --yes
  ETUI removed            list removed ones, and until when they are kept
  ETUI restore Work       restore it, within 30 days

If its MANY change while the question waits, nothing is removed. The last KIND cannot be
removed.";

const RESTORE: &str = "\
Examples:
  ETUI restore Work             the most recently removed one of this name
  ETUI restore --id 3           by the number that `removed` lists
  ETUI restore Work --as Job    under another name

The MANY that were removed with it are restored too; those removed before stay in the trash.
If its name is in use again, give it another one with --as.";

const REMOVED: &str = "\
Examples:
  ETUI removed
  ETUI restore Work       by name: the most recently removed one
  ETUI restore --id 3     by the number in the first column

The most recent one is first. Each is kept for at least 30 days, and as long as its MANY are in
the trash.";

/// Returns a help text for this kind of collection.
fn for_kind<R: RecordCommands>(text: &str) -> String {
    text.replace("ETUI", &command_line::<R>())
        .replace("ONE", &with_article(&R::KIND.to_string()))
        .replace("KIND", &R::KIND.to_string())
        .replace("MANY", R::MANY)
}

/// Returns the command on this kind of collection.
fn command_line<R: RecordCommands>() -> String {
    format!("etui {}", R::COLLECTIONS_COMMAND)
}

impl<R: RecordCommands> CollectionsArgs<R> {
    /// Returns true for `subscribe`, which another program runs.
    pub fn is_subscription(&self) -> bool {
        matches!(self.command, Some(CollectionCommand::Subscribe(_)))
    }

    pub fn run_command(&self, app: &mut App) -> Result<()> {
        match &self.command {
            None | Some(CollectionCommand::List) => list_collections::<R>(app),
            Some(CollectionCommand::Create { name, .. }) => create_collection::<R>(app, name),
            Some(CollectionCommand::Rename { old, new }) => rename_collection::<R>(app, old, new),
            Some(CollectionCommand::Color { name, color }) => {
                color_collection::<R>(app, name, color.as_deref())
            }
            Some(CollectionCommand::Subscribe(_)) => Err(Failure::usage(
                "only calendars can be subscribed to: etui calendars subscribe URL",
            )),
            Some(CollectionCommand::Remove { name, yes }) => {
                remove::remove_collection::<R>(app, name, *yes)
            }
            Some(CollectionCommand::Restore(args)) => restore::restore_collection::<R>(app, args),
            Some(CollectionCommand::Removed) => restore::list_removed::<R>(app),
        }
    }
}

fn create_collection<R: RecordCommands>(app: &mut App, name: &str) -> Result<()> {
    let store = app.open_to_write()?;
    store.collections::<R>().create(name)?;
    store.close()?;
    let option = quote_option(R::COLLECTION_OPTION, name);
    let text = format!(
        "Created the {} {} (use it with {option})",
        R::KIND,
        one_line(name)
    );
    app.out.report(&collection_json::<R>(name, 0), text)
}

fn rename_collection<R: RecordCommands>(app: &mut App, old: &str, new: &str) -> Result<()> {
    let store = app.open_to_write()?;
    let records = store.collections::<R>().rename(old, new)?.count()?;
    store.close()?;
    let text = format!(
        "Renamed the {} {} to {}",
        R::KIND,
        one_line(old),
        one_line(new)
    );
    app.out.report(&collection_json::<R>(new, records), text)
}

/// Shows the colour of a collection, or sets it.
fn color_collection<R: RecordCommands>(
    app: &mut App,
    name: &str,
    color: Option<&str>,
) -> Result<()> {
    let store = match color {
        None => app.open_to_read()?,
        Some(_) => app.open_to_write()?,
    };
    let collection = store.collection::<R>(name)?;
    let new = match color {
        None => R::collection_color(&collection)?,
        Some("none") => None,
        Some(text) => {
            let color = text.parse::<Color>();
            Some(color.map_err(|e| Failure::usage(format!("{}: {e}", one_line(text))))?)
        }
    };
    if color.is_some() {
        R::set_collection_color(&collection, new)?;
    }
    let records = collection.count()?;
    let shown = match new {
        Some(new) if app.out.colour => {
            let dot = app.out.with_style(Style::Color(new), COLOR_MARK);
            format!("{dot}{new}")
        }
        Some(new) => new.to_string(),
        None => "no colour".to_owned(),
    };
    let text = format!("{}: {shown}", one_line(name));
    let object = listed_collection_json::<R>(name, records, new);
    match color {
        None if !app.out.json => app.out.write_line(text),
        _ => app.out.report(&object, text),
    }
}

/// Lists the collections with their number of records and, in colour, a dot of theirs.
fn list_collections<R: RecordCommands>(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let mut table = Table::new(&R::COLLECTION_HEADINGS);
    let mut all = Vec::new();
    for name in store.collections::<R>().names()? {
        let collection = store.collection::<R>(&name)?;
        let (records, color) = (collection.count()?, R::collection_color(&collection)?);
        table.add_marked_row([format_count(records).as_str(), &name], color);
        all.push((name, records, color));
    }
    app.out
        .write_table(&table, &all, |out, (name, records, color)| {
            out.write_json(&listed_collection_json::<R>(name, *records, *color))
        })
}
