//! Brings back a collection; lists those that can be.

use std::time::SystemTime;

use etui::calendar::time::{DateTime, TimeZone, Timestamp};
use etui::{Error, RemovedCollection};

use super::{command, with};
use crate::app::App;
use crate::commands::records::RecordCommands;
use crate::datetime::{clock, iso_day};
use crate::errors::{Failure, Result};
use crate::output::json::RemovedCollectionObject;
use crate::output::{Table, count, one_line, operand};

/// Which one, and under what name.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Which {
    /// Its name; of several, that which was removed last is meant
    #[arg(group = "which")]
    name: Option<String>,
    /// Its number, from the first column of `removed`
    #[arg(long, value_name = "ID", group = "which")]
    id: Option<i64>,
    /// Give it this name
    #[arg(long = "as", value_name = "NEW")]
    new: Option<String>,
}

impl Which {
    /// Whether this one is meant.
    fn means(&self, removed: &RemovedCollection) -> bool {
        match (self.id, &self.name) {
            (Some(id), _) => removed.id == id,
            (None, Some(name)) => removed.name == *name,
            (None, None) => false,
        }
    }

    /// The failure where none is.
    fn none<R: RecordCommands>(&self, all: Vec<RemovedCollection>) -> Failure {
        if let Some(id) = self.id {
            return Failure::NotFound(format!(
                "no {} with the number {id} was removed; `{} removed` tells the numbers",
                R::KIND,
                command::<R>()
            ));
        }
        let mut known: Vec<String> = all.into_iter().map(|removed| removed.name).collect();
        known.sort_unstable();
        known.dedup();
        Failure::Library(Error::NoRemovedCollection {
            kind: R::KIND,
            name: self.name.clone().unwrap_or_default(),
            known,
        })
    }
}

/// Brings it back.
pub fn restore<R: RecordCommands>(app: &mut App, which: &Which) -> Result<()> {
    let store = app.open_to_write()?;
    let mut all = store.removed_collections::<R>()?;
    let Some(found) = all.iter().position(|removed| which.means(removed)) else {
        return Err(which.none::<R>(all));
    };
    let removed = all.remove(found);
    let name = which.new.as_ref().unwrap_or(&removed.name);
    let restored = store.restore_collection_as::<R>(&removed, name);
    if let Err(Error::CollectionExists { .. }) = restored {
        return Err(Failure::Exists(format!(
            "{} named \"{}\" exists already; bring this one back under another name: \
             {} restore --as NAME {}",
            R::KIND.with_article(),
            one_line(name),
            command::<R>(),
            match which.id {
                Some(id) => format!("--id {id}"),
                None => operand(&removed.name),
            }
        )));
    }
    let records = restored?;
    store.close()?;
    if app.out.json {
        return app.out.object(&R::holder(name, records));
    }
    let under = match &which.new {
        Some(new) => format!(" as {}", one_line(new)),
        None => String::new(),
    };
    app.out.say(format!(
        "Brought back the {} {}{under}: {}",
        R::KIND,
        one_line(&removed.name),
        with::<R>(records)
    ))?;
    if which.id.is_none() && all.iter().any(|removed| which.means(removed)) {
        app.out.say(format!(
            "Another one of this name was removed before: {} removed",
            command::<R>()
        ))?;
    }
    Ok(())
}

/// Lists those that can be brought back.
pub fn list<R: RecordCommands>(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let all = store.removed_collections::<R>()?;
    let zone = app.out.zone();
    if app.out.json {
        return all.iter().try_for_each(|removed| {
            let holder = R::holder(&removed.name, removed.records);
            let object = RemovedCollectionObject::of(removed, holder, &zone);
            app.out.object(&object)
        });
    }
    if all.is_empty() {
        return app
            .out
            .say(format!("There is no {} to bring back.", R::KIND));
    }
    let [records, holder] = R::HOLDER_HEADINGS;
    // Where times would be cut the day says enough, and all are kept equally long.
    let fits = app.out.width().is_none_or(|width| width >= WIDTH);
    let mut table = match fits {
        true => Table::new(&["#", "Removed", "Kept until", records, holder]),
        false => Table::new(&["#", "Removed", records, holder]),
    };
    for removed in &all {
        let id = removed.id.to_string();
        let inside = format!("{:>1$}", count(removed.records), records.len());
        let [from, until] =
            [removed.removed(), removed.kept_until()].map(|time| local(time, &zone));
        match fits {
            true => table.row([
                id.as_str(),
                &minute(from),
                &minute(until),
                &inside,
                &removed.name,
            ]),
            false => table.row([id.as_str(), &iso_day(from.date()), &inside, &removed.name]),
        }
    }
    table.write(&mut app.out)
}

/// Columns of a terminal in which nothing but a long name is cut.
const WIDTH: usize = 70;

/// To the minute, as it is said in `zone`.
fn local(time: SystemTime, zone: &TimeZone) -> DateTime {
    let seconds = Timestamp::from(time).seconds();
    zone.to_local(Timestamp::from_seconds(seconds - seconds.rem_euclid(60)))
}

/// `2026-11-23 09:00`, for a column of a table.
fn minute(time: DateTime) -> String {
    format!("{} {}", iso_day(time.date()), clock(time))
}
