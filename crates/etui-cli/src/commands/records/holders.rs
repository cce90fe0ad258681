//! Which collections there are: another one made, one renamed, removed, brought back.

use std::marker::PhantomData;

use etui::Error;

use super::Spoken;
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::{Table, count, one_line, quoted};

/// What to do with the collections; without any of it, they are listed.
#[derive(Debug, clap::Args)]
pub struct HolderArgs<R: Spoken> {
    #[arg(long, value_name = "NAME", group = "what", help = help::<R>("Make ONE of this name"))]
    create: Option<String>,
    #[arg(
        long,
        num_args = 2,
        value_names = ["OLD", "NEW"],
        group = "what",
        help = help::<R>("Give ONE another name")
    )]
    rename: Vec<String>,
    #[arg(
        long,
        value_name = "NAME",
        group = "what",
        help = help::<R>("Remove ONE with all that is in it; asks first, unless it is empty")
    )]
    remove: Option<String>,
    #[arg(
        long,
        value_name = "NAME",
        group = "what",
        help = help::<R>("Bring back ONE that was removed, within 30 days")
    )]
    restore: Option<String>,
    /// Remove it without asking
    #[arg(long, short = 'y', requires = "remove")]
    yes: bool,
    #[arg(skip)]
    records: PhantomData<fn() -> R>,
}

/// A text about one of them.
fn help<R: Spoken>(text: &str) -> String {
    text.replace("ONE", R::KIND.one())
}

impl<R: Spoken> HolderArgs<R> {
    /// Does what was asked.
    pub fn run(&self, app: &mut App) -> Result<()> {
        if let Some(name) = &self.create {
            create::<R>(app, name)
        } else if let [old, new] = self.rename.as_slice() {
            rename::<R>(app, old, new)
        } else if let Some(name) = &self.remove {
            remove::<R>(app, name, self.yes)
        } else if let Some(name) = &self.restore {
            restore::<R>(app, name)
        } else {
            list::<R>(app)
        }
    }
}

/// Makes one of this name.
fn create<R: Spoken>(app: &mut App, name: &str) -> Result<()> {
    let store = app.open_to_write()?;
    store.create_collection::<R>(name)?;
    store.close()?;
    if app.out.json {
        return app.out.object(&R::holder(name, 0));
    }
    app.out.say(format!(
        "Made {}: {} (use it with {} {})",
        R::KIND.one(),
        one_line(name),
        R::HOLDER_OPTION,
        quoted(name)
    ))
}

fn rename<R: Spoken>(app: &mut App, old: &str, new: &str) -> Result<()> {
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

fn remove<R: Spoken>(app: &mut App, name: &str, without_asking: bool) -> Result<()> {
    let store = app.open_to_write()?;
    let inside = store.collection::<R>(Some(name))?.count()?;
    if store.collections::<R>()?.len() == 1 {
        // Nobody is asked, or told of --yes, for what cannot be.
        return Err(Failure::Library(Error::LastCollection {
            kind: R::KIND,
            name: name.to_owned(),
        }));
    }
    if inside > 0 && !without_asking {
        let what = format!(
            "{} {} is not empty: {}",
            R::KIND,
            one_line(name),
            with::<R>(inside)
        );
        if !app.out.can_ask() {
            return Err(Failure::usage(format!(
                "the {what}; to remove it all the same, add --yes"
            )));
        }
        if !app.out.ask(&format!("The {what}. Remove it all?"))? {
            return app.out.say("Nothing was removed.");
        }
    }
    let records = store.remove_collection::<R>(name)?.records;
    store.close()?;
    if app.out.json {
        return app.out.object(&R::holder(name, records));
    }
    app.out.say(format!(
        "Removed the {} {}: {}\nBring back, within 30 days: etui {} {} --restore {}",
        R::KIND,
        one_line(name),
        with::<R>(records),
        R::COMMAND,
        R::HOLDERS,
        quoted(name)
    ))
}

fn restore<R: Spoken>(app: &mut App, name: &str) -> Result<()> {
    let store = app.open_to_write()?;
    let restored = store.restore_collection::<R>(name);
    if let Err(Error::CollectionExists { .. }) = restored {
        return Err(Failure::Exists(format!(
            "{} named \"{}\" exists already; give that one another name first: \
             etui {} {} --rename {} NAME",
            R::KIND.one(),
            one_line(name),
            R::COMMAND,
            R::HOLDERS,
            quoted(name)
        )));
    }
    let records = restored?;
    store.close()?;
    if app.out.json {
        return app.out.object(&R::holder(name, records));
    }
    app.out.say(format!(
        "Brought back the {} {}: {}",
        R::KIND,
        one_line(name),
        with::<R>(records)
    ))
}

/// So many records, in words.
fn with<R: Spoken>(records: u64) -> String {
    match records {
        1 => format!("1 {}", R::ONE),
        several => format!("{} {}", count(several), R::MANY),
    }
}

/// Lists the collections, with how many records each has.
fn list<R: Spoken>(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let mut table = Table::new(R::HOLDER_HEADINGS);
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
