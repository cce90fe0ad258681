//! [`SelectionArgs`]: the records that a command changes, by number, UID or filter.

use etui::Store;
use etui::record::{Collection, StoredRecord};
use etui::search::query::{Columns, Query};

use super::find::no_match;
use super::{RecordCommands, collection_of, parse_filter, resolve_once, resolve_record};
use crate::app::App;
use crate::errors::Result;

#[derive(Debug, clap::Args)]
pub struct SelectionArgs {
    /// Numbers or UIDs
    #[arg(value_name = "ID", required_unless_present = "filter")]
    pub ids: Vec<String>,
    /// Select all that match a filter, in place of IDs
    #[arg(long = "where", value_name = "FILTER", conflicts_with = "ids")]
    filter: Option<String>,
    /// Report the changes, and make none
    #[arg(long)]
    pub dry_run: bool,
}

/// Selected records of one collection.
pub struct Selected<'s, R: RecordCommands> {
    pub all: Collection<'s, R>,
    pub records: Vec<StoredRecord<R>>,
}

impl SelectionArgs {
    pub fn new(ids: Vec<String>, filter: Option<String>, dry_run: bool) -> Self {
        Self {
            ids,
            filter,
            dry_run,
        }
    }

    /// Returns the only ID, unless records are selected by a filter or several IDs.
    pub fn single_id(&self) -> Option<&str> {
        match (self.ids.as_slice(), &self.filter) {
            ([id], None) => Some(id),
            _ => None,
        }
    }

    /// Returns the selected records, each once; an error if an ID is unknown or nothing matches.
    pub fn resolve<'s, R: RecordCommands>(
        &self,
        app: &App,
        store: &'s Store,
    ) -> Result<Vec<Selected<'s, R>>> {
        let Some(filter) = &self.filter else {
            let all = collection_of::<R>(app, store, &self.ids)?;
            let records = resolve_once(&self.ids, |id| resolve_record(&all, id))?;
            return Ok(vec![Selected { all, records }]);
        };
        let words = std::slice::from_ref(filter);
        let query = Query::new(parse_filter::<R>(words)?).columns(Columns::NONE);
        let snapshot = store.snapshot()?;
        let mut selected = Vec::new();
        for (name, reader) in app.readers_in::<R>(&snapshot)? {
            let all: Collection<'s, R> = store.collection(Some(&name))?;
            let rows = reader.query(&query)?;
            let mut records = Vec::with_capacity(rows.len());
            for id in rows.ids() {
                // A record that was removed since is not selected.
                records.extend(all.by_id(*id)?);
            }
            if !records.is_empty() {
                selected.push(Selected { all, records });
            }
        }
        match selected.is_empty() {
            true => Err(no_match::<R>(words)),
            false => Ok(selected),
        }
    }
}
