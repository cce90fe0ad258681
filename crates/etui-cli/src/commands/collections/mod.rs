//! Which collections there are: another one made, one renamed, removed, brought back.

mod remove;
mod restore;

use std::marker::PhantomData;

use self::restore::Which;
use super::records::RecordCommands;
use crate::app::App;
use crate::errors::Result;
use crate::output::{Table, count, one_line, option};

/// What to do with the collections; without any of it, they are listed.
#[derive(Debug, clap::Args)]
pub struct CollectionsArgs<R: RecordCommands> {
    #[command(subcommand)]
    command: Option<Command<R>>,
}

#[derive(Debug, clap::Subcommand)]
enum Command<R: RecordCommands> {
    #[command(about = words::<R>("Make ONE"), after_help = words::<R>(CREATE))]
    Create {
        /// Its name
        name: String,
        #[arg(skip)]
        records: PhantomData<fn() -> R>,
    },
    #[command(about = words::<R>("Give ONE another name"), after_help = words::<R>(RENAME))]
    Rename {
        /// Its name
        old: String,
        /// The name to give it
        new: String,
    },
    #[command(
        about = words::<R>("Remove ONE with all that is in it"),
        after_help = words::<R>(REMOVE),
        visible_alias = "rm",
        alias = "delete"
    )]
    Remove {
        /// Its name
        name: String,
        /// Remove it without asking, whatever is in it
        #[arg(long, short)]
        yes: bool,
    },
    #[command(about = words::<R>("Bring back ONE that was removed"), after_help = words::<R>(RESTORE))]
    Restore(Which),
    #[command(
        about = words::<R>("List what was removed and can be brought back"),
        after_help = words::<R>(REMOVED)
    )]
    Removed,
}

const CREATE: &str = "\
Examples:
  ETUI create Work
  ETUI create \"Old job\"
  ETUI create -- -x       a name that begins with -

A name has 1 to 200 characters, no control characters, and no blanks at its ends.";

const RENAME: &str = "\
Examples:
  ETUI rename Work \"Old job\"
  ETUI rename -- -x Work  a name that begins with -

Nothing else of it changes: `watch` goes on, and tokens stay good.";

const REMOVE: &str = "\
Examples:
  ETUI remove Work        asks first, unless it is empty
  ETUI remove Work --yes
  ETUI removed            what was removed, and until when it is kept
  ETUI restore Work       bring it back, within 30 days

If something comes in or goes while it asks, nothing is removed. The last KIND stays.";

const RESTORE: &str = "\
Examples:
  ETUI restore Work             of several, that which was removed last
  ETUI restore --id 3           by the number that `removed` tells
  ETUI restore Work --as Job    under another name

It comes back with the MANY that were removed with it; what was removed from it before
stays in the trash. If another one has its name by now, one of them needs another name.";

const REMOVED: &str = "\
Examples:
  ETUI removed
  ETUI restore Work       by its name; of several, that which was removed last
  ETUI restore --id 3     by the number in the first column

The latest comes first. It is kept for 30 days at the least, and as long as its MANY are
in the trash.";

/// A text about collections of this kind.
fn words<R: RecordCommands>(text: &str) -> String {
    text.replace("ETUI", &command::<R>())
        .replace("ONE", R::KIND.with_article())
        .replace("KIND", &R::KIND.to_string())
        .replace("MANY", R::MANY)
}

/// The command about collections of this kind.
fn command<R: RecordCommands>() -> String {
    format!("etui {} {}", R::COMMAND, R::HOLDERS)
}

impl<R: RecordCommands> CollectionsArgs<R> {
    /// Does what was asked.
    pub fn run(&self, app: &mut App) -> Result<()> {
        match &self.command {
            None => list::<R>(app),
            Some(Command::Create { name, .. }) => create::<R>(app, name),
            Some(Command::Rename { old, new }) => rename::<R>(app, old, new),
            Some(Command::Remove { name, yes }) => remove::remove::<R>(app, name, *yes),
            Some(Command::Restore(which)) => restore::restore::<R>(app, which),
            Some(Command::Removed) => restore::list::<R>(app),
        }
    }
}

/// Makes one of this name.
fn create<R: RecordCommands>(app: &mut App, name: &str) -> Result<()> {
    let store = app.open_to_write()?;
    store.create_collection::<R>(name)?;
    store.close()?;
    if app.out.json {
        return app.out.object(&R::holder(name, 0));
    }
    app.out.say(format!(
        "Made {}: {} (use it with {})",
        R::KIND.with_article(),
        one_line(name),
        option(R::HOLDER_OPTION, name)
    ))
}

fn rename<R: RecordCommands>(app: &mut App, old: &str, new: &str) -> Result<()> {
    let store = app.open_to_write()?;
    let records = store.rename_collection::<R>(old, new)?.count()?;
    store.close()?;
    if app.out.json {
        return app.out.object(&R::holder(new, records));
    }
    app.out.say(format!(
        "Renamed the {} {}: it is {} now",
        R::KIND,
        one_line(old),
        one_line(new)
    ))
}

/// So many records, in words.
fn with<R: RecordCommands>(records: u64) -> String {
    match records {
        1 => format!("1 {}", R::ONE),
        several => format!("{} {}", count(several), R::MANY),
    }
}

/// Lists the collections, with how many records each has.
fn list<R: RecordCommands>(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let [records, holder] = R::HOLDER_HEADINGS;
    let mut table = Table::new(&[records, holder]);
    for name in store.collections::<R>()? {
        let records = store.collection::<R>(Some(&name))?.count()?;
        if app.out.json {
            app.out.object(&R::holder(&name, records))?;
        } else {
            table.row([count(records).as_str(), &name]);
        }
    }
    if app.out.json {
        return Ok(());
    }
    table.write(&mut app.out)
}
