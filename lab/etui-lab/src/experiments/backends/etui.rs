//! A store of etui's, in this process.

use std::ops::Range;
use std::path::{Path, PathBuf};

use etui::record::{Collection, RecordTexts};
use etui::{Durability, Options, Store, Vfs};

use super::local::{Kept, LocalStore};
use super::{StoreBackend as _, fill};
use crate::ArmSettings;
use crate::error::Error;

/// The options of etui's arms; independent of the person's environment.
pub fn store_options(durability: Durability) -> Options {
    let mut options = Options::default();
    options.durability = durability;
    options.locale = Some("en".into());
    options.region = Some("US".into());
    options
}

/// The options of an arm.
pub fn arm_options(settings: &ArmSettings) -> Options {
    let mut options = store_options(match settings.is("deferred") {
        true => Durability::Deferred,
        false => Durability::Full,
    });
    if settings.is("etui-vfs") {
        options.vfs = Vfs::RedoLog;
    } else if settings.is("system-vfs") {
        options.vfs = Vfs::System;
    }
    options
}

/// A store.
pub struct EtuiBackend<R> {
    path: PathBuf,
    options: Options,
    store: Option<Store>,
    records: Vec<R>,
    held: Vec<(R, String)>,
}

impl<R: Kept> EtuiBackend<R> {
    /// A store, made if there is none, and the records to be saved into it.
    pub fn new(path: &Path, options: Options, records: Vec<R>) -> Result<Self, Error> {
        let mut backend = Self {
            path: path.to_owned(),
            options,
            store: None,
            records,
            held: Vec::new(),
        };
        backend.connect()?;
        Ok(backend)
    }

    /// Creates a store that holds these records, and closes it.
    pub fn create_filled(path: &Path, records: Vec<R>) -> Result<(), Error> {
        let count = records.len() as u64;
        let mut backend = Self::new(path, store_options(Durability::Deferred), records)?;
        fill(&mut backend, count)?;
        backend.merge_index()?;
        backend.close().map(drop)
    }

    /// Writes what saves left to be merged into the substring index.
    pub fn merge_index(&self) -> Result<(), Error> {
        self.store()?.maintenance().merge_index()?;
        Ok(())
    }

    /// Counters of the VFS `etui`, if the store is on it.
    pub fn vfs_counters(&self) -> Result<Option<etui_vfs::Counters>, Error> {
        Ok(self.store()?.vfs_counters())
    }

    /// The collection.
    pub fn collection(&self) -> Result<Collection<R>, Error> {
        R::of(self.store()?)
    }

    fn store(&self) -> Result<&Store, Error> {
        let store = self.store.as_ref();
        store.ok_or_else(|| Error::other("the store is closed"))
    }
}

impl<R: Kept> LocalStore for EtuiBackend<R> {
    type Record = R;
    type Texts = RecordTexts;
    type Handle<'s>
        = Collection<R>
    where
        R: 's;

    fn connect(&mut self) -> Result<(), Error> {
        let store = Store::open_with(&self.path, &self.options)?;
        R::of(&store)?;
        self.store = Some(store);
        Ok(())
    }

    fn disconnect(&mut self) -> Result<(), Error> {
        Ok(self.store.take().map_or(Ok(()), Store::close)?)
    }

    fn handle(&self) -> Result<Collection<R>, Error> {
        self.collection()
    }

    fn save(&self, to: &Collection<R>, which: Range<usize>, single: bool) -> Result<(), Error> {
        let records = self.records.get(which).unwrap_or(&[]);
        match (single, records) {
            (true, [record]) => drop(to.save(record)?),
            _ => drop(to.save_many(records)?),
        }
        Ok(())
    }

    fn all(from: &Collection<R>) -> Result<RecordTexts, Error> {
        Ok(from.all()?)
    }

    fn texts(all: &RecordTexts) -> Vec<&[u8]> {
        all.iter().map(|(_, text)| text).collect()
    }

    fn get(from: &Collection<R>, uid: &str) -> Result<Vec<u8>, Error> {
        let text = from.get(uid)?.map(|record| record.text);
        text.ok_or_else(|| Error::other(format!("there is no record {uid}")))
    }

    fn get_many(from: &Collection<R>, uids: &[String]) -> Result<Vec<Vec<u8>>, Error> {
        let found = from.get_many(uids)?.into_iter().flatten();
        Ok(found.map(|record| record.text).collect())
    }

    fn held(&mut self) -> &mut Vec<(R, String)> {
        &mut self.held
    }
}
