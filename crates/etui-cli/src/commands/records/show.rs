//! The full details of records.

use etui_program::output::escape_text;
use etui_program::{App, Result};
use std::marker::PhantomData;

use super::find::{find_single, lookup_all};
use super::{RecordCommands, collection_of};

#[derive(Debug, clap::Args)]
pub struct ShowArgs<R: RecordCommands> {
    #[arg(
        required = true,
        value_name = "ID|FILTER",
        help = format!("Numbers, UIDs, or a filter (see `etui {} find --help`)", R::COMMAND)
    )]
    which: Vec<String>,
    #[arg(long = R::TEXT_OPTION[0], conflicts_with = "json", help = R::TEXT_OPTION[1])]
    text: bool,
    #[arg(skip)]
    records: PhantomData<fn() -> R>,
}

pub fn show_records<R: RecordCommands>(app: &mut App, args: &ShowArgs<R>) -> Result<()> {
    let store = app.open_to_read()?;
    let mut all = collection_of::<R>(app, &store, &args.which)?;
    let found = match lookup_all(&all, &args.which)? {
        Some(found) => found,
        None => {
            let snapshot = store.snapshot()?;
            let readers = app.readers_in::<R>(&snapshot)?;
            let (of, one) = find_single(&mut app.out, &readers, &args.which)?;
            all = store.collection(readers.get(of).map(|(name, _)| name.as_str()))?;
            all.get(one)?.into_iter().collect()
        }
    };
    let is_one_of_several = store.collections::<R>().names()?.len() > 1;
    for (i, stored) in found.iter().enumerate() {
        if args.text {
            app.out.write_bytes(&stored.text)?;
            continue;
        }
        if app.out.json {
            R::write_json(&mut app.out, &store, &all, stored)?;
            continue;
        }
        if i > 0 {
            app.out.write_line("")?;
        }
        let collection = is_one_of_several.then(|| all.name());
        match R::record_details(&all, stored, collection, &app.out) {
            Ok(details) => details.write_to(&mut app.out)?,
            Err(problem) => {
                app.out.write_line(escape_text(&problem))?;
                app.out.write_bytes(&stored.text)?;
            }
        }
    }
    Ok(())
}
