//! The stores under test: etui at each durability level and on each VFS, plain SQLite, and a
//! folder of files.

mod etui_store;
mod folder;
mod plain;

use std::path::Path;

use super::saves::{SaveKind, SaveStep, StoreState, contact_text};
use crate::{ArmSettings, Error};

/// The record that is saved after a cut.
const AFTER: &str = "after-the-cut";

/// An open store of an arm.
pub trait CutStore {
    /// Does a step. It is acknowledged when this returns.
    fn save(&mut self, step: &SaveStep) -> Result<(), Error>;

    /// Reads all records.
    fn read_state(&self) -> Result<StoreState, Error>;

    /// Checks the store's own rules: none of the problems if it is intact.
    fn check(&self) -> Result<Vec<String>, Error>;

    /// Closes it, as a program does when it ends.
    fn close(self: Box<Self>) -> Result<(), Error>;
}

/// Opens the store of an arm in a directory, as a program does when it starts.
pub fn open_store(settings: &ArmSettings, dir: &Path) -> Result<Box<dyn CutStore>, Error> {
    Ok(match settings.text("product")? {
        "etui" => Box::new(etui_store::EtuiStore::open(settings, dir)?),
        "folder" => Box::new(folder::FolderStore::open(settings, dir)?),
        _ => Box::new(plain::PlainStore::open(settings, dir)?),
    })
}

/// Saves a record, and reads it.
pub fn use_again(store: &mut dyn CutStore) -> Result<(), Error> {
    let text = contact_text(AFTER, 0);
    let step = SaveStep {
        kind: SaveKind::Contact,
        name: AFTER.to_owned(),
        text: Some(text.clone()),
    };
    store.save(&step)?;
    match store.read_state()?.remove(&(step.kind, step.name)) == Some(text) {
        true => Ok(()),
        false => Err(Error::other("a record saved after the cut is not there")),
    }
}
