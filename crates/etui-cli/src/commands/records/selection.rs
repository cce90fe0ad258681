//! [`SelectionArgs`]: the records that a command changes, by number, UID or filter.

use std::cell::OnceCell;

use etui::Store;
use etui::record::{Collection, StoredRecord};
use etui::search::query::{Columns, Query};
use etui_program::output::one_line;
use etui_program::{App, Failure, Result};

use super::find::{find_single, no_match};
use super::{
    RecordCommands, collection_of, find_collection_of, is_known, parse_filter, parse_number,
    resolve_once, resolve_record, stored_title,
};

#[derive(Debug, clap::Args)]
pub struct SelectionArgs {
    /// Numbers, UIDs, or words of which there is one match
    #[arg(value_name = "ID|NAME", required_unless_present = "filter")]
    pub ids: Vec<String>,
    /// Select all that match a filter, in place of IDs
    #[arg(long = "where", value_name = "FILTER", conflicts_with = "ids")]
    filter: Option<String>,
    /// Report the changes, and make none
    #[arg(long)]
    pub dry_run: bool,
    /// The number of the record that was selected by words.
    #[arg(skip)]
    named: OnceCell<String>,
}

/// Selected records of one collection.
pub struct Selected<R: RecordCommands> {
    pub all: Collection<R>,
    pub records: Vec<StoredRecord<R>>,
}

/// Returns the number of the only record that a name matches; a number or known UID is returned as it is.
pub fn number_of<R: RecordCommands>(app: &mut App, store: &Store, name: &str) -> Result<String> {
    let selection = SelectionArgs::new(vec![name.to_owned()], None, false);
    let found = selection.find_named::<R>(app, store)?;
    let number = found.and_then(|named| Some(named.records.first()?.id.to_string()));
    Ok(number.unwrap_or_else(|| name.to_owned()))
}

/// Returns true if one of the words is a number, or all are known UIDs, also of removed records.
fn are_ids<R: RecordCommands>(store: &Store, words: &[String]) -> Result<bool> {
    if words.iter().any(|word| parse_number(word).is_some()) {
        return Ok(true);
    }
    for word in words {
        if find_collection_of::<R>(store, word)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the words each by itself, if they are numbers, known UIDs or quoted names; else as one name.
pub fn names_in_words<R: RecordCommands>(store: &Store, words: &[String]) -> Result<Vec<String>> {
    let is_quoted = words.iter().any(|word| word.contains(char::is_whitespace));
    if is_quoted || are_ids::<R>(store, words)? {
        return Ok(words.to_vec());
    }
    Ok(vec![words.join(" ")])
}

/// Returns the numbers of records that are given by numbers and UIDs, or of the only one that the words
/// match, which may be in the trash: there first, if `removed_first`.
pub fn numbers_with_trash<R: RecordCommands>(
    app: &mut App,
    store: &Store,
    words: &[String],
    removed_first: bool,
) -> Result<Vec<String>> {
    if are_ids::<R>(store, words)? {
        return Ok(words.to_vec());
    }
    let mut in_trash = Vec::new();
    for name in app.names_in::<R>(store)? {
        let trash = store.collection::<R>(&name)?.trash()?;
        let is_match = |stored: &StoredRecord<R>| {
            let title = stored_title(stored).to_lowercase();
            words
                .iter()
                .all(|word| title.contains(&word.to_lowercase()))
        };
        in_trash.extend(trash.into_iter().filter(is_match));
    }
    let from_trash = |in_trash: &[StoredRecord<R>]| match in_trash {
        [] => Ok(None),
        [one] => Ok(Some(vec![one.id.to_string()])),
        several => {
            let listed = several
                .iter()
                .take(20)
                .map(|stored| format!("{} {}", stored.id, one_line(&stored_title(stored))));
            Err(Failure::usage(format!(
                "several removed {} match; give the number: {}",
                R::MANY,
                listed.collect::<Vec<_>>().join(", ")
            )))
        }
    };
    if removed_first && let Some(found) = from_trash(&in_trash)? {
        return Ok(found);
    }
    let live = SelectionArgs::new(words.to_vec(), None, false).find_named::<R>(app, store);
    match live {
        Err(Failure::NotFound(text)) => match from_trash(&in_trash)? {
            Some(found) => Ok(found),
            None => Err(Failure::NotFound(text)),
        },
        Ok(Some(named)) => Ok(named.records.iter().map(|one| one.id.to_string()).collect()),
        Ok(None) => Ok(words.to_vec()),
        Err(failure) => Err(failure),
    }
}

impl SelectionArgs {
    pub fn new(ids: Vec<String>, filter: Option<String>, dry_run: bool) -> Self {
        Self {
            ids,
            filter,
            dry_run,
            named: OnceCell::new(),
        }
    }

    /// Selects a record by its number, in place of the words.
    pub fn choose(&self, number: String) {
        // It is set once: the words are resolved once.
        let _ = self.named.set(number);
    }

    /// Returns the only ID, or the number of the record that [`Self::resolve`] found by words, unless records
    /// are selected by a filter or several IDs.
    pub fn single_id(&self) -> Option<&str> {
        if let Some(number) = self.named.get() {
            return Some(number);
        }
        match (self.ids.as_slice(), &self.filter) {
            ([id], None) => Some(id),
            _ => None,
        }
    }

    /// Returns the selected records, each once; an error if an ID is unknown or nothing matches. Words that
    /// are no IDs select the only record that they match.
    pub fn resolve<R: RecordCommands>(
        &self,
        app: &mut App,
        store: &Store,
    ) -> Result<Vec<Selected<R>>> {
        let Some(filter) = &self.filter else {
            if let Some(number) = self.named.get() {
                let ids = [number.clone()];
                let all = collection_of::<R>(app, store, &ids)?;
                let records = resolve_once(&ids, |id| resolve_record(&all, id))?;
                return Ok(vec![Selected { all, records }]);
            }
            if let Some(named) = self.find_named(app, store)? {
                return Ok(vec![named]);
            }
            let all = collection_of::<R>(app, store, &self.ids)?;
            let records = resolve_once(&self.ids, |id| resolve_record(&all, id))?;
            return Ok(vec![Selected { all, records }]);
        };
        let words = std::slice::from_ref(filter);
        let query = Query::new(parse_filter::<R>(words)?).columns(Columns::NONE);
        let snapshot = store.snapshot()?;
        let mut selected = Vec::new();
        for (name, reader) in app.readers_in::<R>(&snapshot)? {
            let all: Collection<R> = store.collection(&name)?;
            let rows = reader.query(&query)?;
            let mut records = Vec::with_capacity(rows.len());
            for id in rows.ids() {
                // A record that was removed since is not selected.
                records.extend(all.get(*id)?);
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

    /// Returns the only record that the words match, unless one of them is a number or a known UID, or they
    /// are no filter.
    fn find_named<R: RecordCommands>(
        &self,
        app: &mut App,
        store: &Store,
    ) -> Result<Option<Selected<R>>> {
        if self.ids.iter().any(|id| parse_number(id).is_some()) {
            return Ok(None);
        }
        let all = collection_of::<R>(app, store, &self.ids)?;
        let mut are_known = true;
        for id in &self.ids {
            are_known &= is_known(&all, id)?;
        }
        if are_known {
            return Ok(None);
        }
        if parse_filter::<R>(&self.ids).is_err() {
            return Ok(None);
        }
        let snapshot = store.snapshot()?;
        let readers = app.readers_in::<R>(&snapshot)?;
        let (of, id) = find_single(&mut app.out, &readers, &self.ids)?;
        let all: Collection<R> =
            store.collection(readers.get(of).map(|(name, _)| name.as_str()))?;
        let records: Vec<_> = all.get(id)?.into_iter().collect();
        if records.is_empty() {
            return Err(no_match::<R>(&self.ids));
        }
        // It is set once: the words are resolved once.
        let _ = self.named.set(id.to_string());
        Ok(Some(Selected { all, records }))
    }
}
