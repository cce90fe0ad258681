//! Copies and moves records to another address book or calendar.

use std::marker::PhantomData;

use etui::record::{Collection, StoredRecord};
use etui::{Condition, Error, RecordId, SaveOutcome, SavedRecord, Store};
use etui_program::output::{NamedField, object, one_line, quote_operand};
use etui_program::{App, Failure, Result};

use super::selection::{Selected, SelectionArgs};
use super::{RecordCommands, stored_title, undo_hint};
use crate::json::record_change_json;

#[derive(Debug, clap::Args)]
pub struct TransferArgs<R: RecordCommands> {
    #[command(flatten)]
    selection: SelectionArgs,
    #[arg(long, value_name = "NAME", help = format!("The {} that they go to", R::KIND))]
    to: String,
    #[arg(skip)]
    records: PhantomData<fn() -> R>,
}

impl<R: RecordCommands> TransferArgs<R> {
    pub fn new(selection: SelectionArgs, to: &str) -> Self {
        Self {
            selection,
            to: to.to_owned(),
            records: PhantomData,
        }
    }
}

/// Whether the original stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    Copy,
    Move,
}

impl Transfer {
    /// Returns the outcome in JSON, and the verb of the message.
    fn words(self, dry_run: bool) -> (&'static str, &'static str) {
        match (self, dry_run) {
            (Self::Copy, false) => ("copied", "Copied"),
            (Self::Move, false) => ("moved", "Moved"),
            (Self::Copy, true) => ("would_copy", "Would copy"),
            (Self::Move, true) => ("would_move", "Would move"),
        }
    }
}

/// Copies or moves the selected records. If one of them cannot be, none of its collection is.
pub fn transfer_records<R: RecordCommands>(
    app: &mut App,
    args: &TransferArgs<R>,
    transfer: Transfer,
) -> Result<()> {
    let dry_run = args.selection.dry_run;
    let store = match dry_run {
        true => app.open_to_read()?,
        false => app.open_to_write()?,
    };
    let target = open_target::<R>(&store, &args.to)?;
    let mut selected = args.selection.resolve::<R>(app, &store)?;
    if args.selection.ids.is_empty() {
        // A filter selects from all collections, also from the target.
        selected.retain(|selected| selected.all.id() != target.id());
    }
    if selected.is_empty() {
        return app.out.status(format!(
            "All of them are in {} already.",
            one_line(target.name())
        ));
    }
    for Selected { all, records } in &selected {
        if all.id() == target.id() {
            return Err(Failure::Library(Error::SameCollection {
                kind: R::KIND,
                name: target.name().to_owned(),
            }));
        }
        check_conflicts(&target, records)?;
    }
    for Selected { all, records } in &selected {
        let each = records.iter();
        let each = each.map(|r| (r.uid.as_str(), Condition::IfMatch(r.etag)));
        let each: Vec<_> = each.collect();
        let saved = match (dry_run, transfer) {
            (true, _) => Vec::new(),
            (false, Transfer::Copy) => all.copy_all_if(&each, &target)?,
            (false, Transfer::Move) => all.move_all_if(&each, &target)?,
        };
        for (index, record) in records.iter().enumerate() {
            report_record(app, record, saved.get(index), &target, transfer)?;
        }
        if !dry_run {
            let pairs: Vec<_> = records.iter().map(|r| r.id).zip(saved).collect();
            write_undo_hint(app, all, &pairs, transfer)?;
        }
    }
    Ok(store.close()?)
}

/// Opens the collection with this name; the error for a missing one names the command that creates it.
fn open_target<R: RecordCommands>(store: &Store, name: &str) -> Result<Collection<R>> {
    store.collection(name).map_err(|error| match error {
        Error::NoCollection { .. } => Failure::NotFound(format!(
            "{error}; create it: etui {} create {}",
            R::COLLECTIONS_COMMAND,
            quote_operand(name)
        )),
        error => error.into(),
    })
}

/// Fails if the target has another record with the UID of one of these.
fn check_conflicts<R: RecordCommands>(
    target: &Collection<R>,
    records: &[StoredRecord<R>],
) -> Result<()> {
    let uids: Vec<&str> = records.iter().map(|record| record.uid.as_str()).collect();
    for (record, there) in records.iter().zip(target.get_many(&uids)?) {
        let Some(there) = there.filter(|there| there.etag != record.etag) else {
            continue;
        };
        return Err(Failure::Conflict(format!(
            "{} {} is also in {}, with another text, as {}; nothing was changed. Remove one of \
             them first",
            R::ONE,
            record.id,
            one_line(target.name()),
            there.id,
        )));
    }
    Ok(())
}

/// Reports a record that was copied or moved; without `saved`, one that would be.
fn report_record<R: RecordCommands>(
    app: &mut App,
    record: &StoredRecord<R>,
    saved: Option<&SavedRecord>,
    target: &Collection<R>,
    transfer: Transfer,
) -> Result<()> {
    let is_there = saved.is_some_and(|saved| saved.outcome == SaveOutcome::Unchanged);
    let (outcome, done) = match is_there && transfer == Transfer::Copy {
        true => ("unchanged", "Unchanged"),
        false => transfer.words(saved.is_none()),
    };
    let name = stored_title(record);
    let etag = saved.map(|saved| saved.etag);
    let id = saved.map_or(record.id, |saved| saved.id);
    let object = object! {
        #[serde(flatten)] change: record_change_json(id, &record.uid, etag, &name, outcome),
        // Its id before.
        from: record.id.0,
        #[serde(flatten)] collection: NamedField(R::COLLECTION_FIELD, target.name()),
    };
    let (shown, to) = (one_line(&name), one_line(target.name()));
    let text = match saved {
        None => format!("{done} {} to {to}: {shown}", record.id),
        Some(_) if is_there && transfer == Transfer::Copy => {
            format!("{done}: {} is in {to}, as {id}: {shown}", record.id)
        }
        Some(_) if is_there => {
            format!(
                "{done} {} to {to}: {shown} (it was there, as {id})",
                record.id
            )
        }
        Some(_) => format!("{done} {} to {to}, as {id}: {shown}", record.id),
    };
    app.out.report(&object, text)
}

/// Writes the command that undoes the transfer. Records that were in the target before stay there.
fn write_undo_hint<R: RecordCommands>(
    app: &mut App,
    all: &Collection<R>,
    pairs: &[(RecordId, SavedRecord)],
    transfer: Transfer,
) -> Result<()> {
    let is_new = |(_, saved): &&(RecordId, SavedRecord)| saved.outcome != SaveOutcome::Unchanged;
    let new: Vec<String> = pairs
        .iter()
        .filter(is_new)
        .map(|(_, s)| s.id.to_string())
        .collect();
    if !new.is_empty() {
        let (command, new) = (R::COMMAND, new.join(" "));
        app.out.status(match transfer {
            Transfer::Copy => format!("Undo: etui {command} remove {new}"),
            Transfer::Move => {
                let back = quote_operand(all.name());
                format!("Undo: etui {command} move --to {back} {new}")
            }
        })?;
    }
    let others = pairs.iter().filter(|pair| !is_new(pair)).map(|(id, _)| *id);
    let others: Vec<RecordId> = others.collect();
    match others.is_empty() || transfer == Transfer::Copy {
        true => Ok(()),
        false => app.out.status(undo_hint::<R>(others.into_iter())),
    }
}
