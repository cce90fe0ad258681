//! A store of etui's, in this process: the works that are the same for records of any kind.

use std::path::{Path, PathBuf};
use std::time::Instant;

use etui::record::{Collection, RecordKind};
use etui::{Durability, Options, Store};

use super::{StoreBackend, answer_pairs, counted, since, timed};
use crate::error::Error;
use crate::peers::eds::TimedAnswer;

/// Records of one kind, as an experiment sees them.
pub trait Kept: RecordKind {
    /// The collection of a store that holds them.
    fn of(store: &Store) -> Result<Collection<'_, Self>, Error>;

    /// One that came back.
    fn parsed(text: &[u8]) -> Result<Self, Error>;

    /// Returns its name.
    fn name(&self) -> String;
}

/// UIDs and names of texts.
pub fn name_texts<R: Kept>(texts: &[impl AsRef<[u8]>]) -> Result<Vec<(String, String)>, Error> {
    texts
        .iter()
        .map(|text| {
            let record = R::parsed(text.as_ref())?;
            Ok((record.identity().into_owned(), record.name()))
        })
        .collect()
}

/// Records, parsed and with their names, to be kept.
pub fn parse_kept<'t, R: Kept>(
    texts: impl Iterator<Item = &'t [u8]>,
) -> Result<Vec<(R, String)>, Error> {
    texts
        .map(|text| {
            let record = R::parsed(text)?;
            let name = record.name();
            Ok((record, name))
        })
        .collect()
}

/// The options of etui's arms; independent of the person's environment.
pub fn store_options(durability: Durability) -> Options {
    let mut options = Options::default();
    options.durability = durability;
    options.locale = Some("en".into());
    options.region = Some("US".into());
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
        let mut backends = Self {
            path: path.to_owned(),
            options,
            store: None,
            records,
            held: Vec::new(),
        };
        backends.open()?;
        Ok(backends)
    }

    /// Brings the substring index up to date.
    pub fn merge(&self) -> Result<(), Error> {
        Ok(self.store()?.merge_index()?)
    }

    /// The collection.
    pub fn collection(&self) -> Result<Collection<'_, R>, Error> {
        R::of(self.store()?)
    }

    fn store(&self) -> Result<&Store, Error> {
        self.store
            .as_ref()
            .ok_or_else(|| Error::other("the store is closed"))
    }

    fn some(&self, from: u64, count: u64) -> &[R] {
        let (from, count) = (from as usize, count as usize);
        self.records.get(from..from + count).unwrap_or(&[])
    }
}

impl<R: Kept> StoreBackend for EtuiBackend<R> {
    fn save_batch(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let collection = self.collection()?;
        let (ns, saved) = timed(1, || Ok(collection.save_many(self.some(from, count))?))?;
        Ok(counted(ns, saved.len() as u64))
    }

    fn save_each(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let collection = self.collection()?;
        let mut ns = Vec::new();
        for record in self.some(from, count) {
            ns.extend(timed(1, || Ok(collection.save(record)?))?.0);
        }
        Ok(counted(ns, count))
    }

    fn fetch_all(&mut self) -> Result<TimedAnswer, Error> {
        let collection = self.collection()?;
        let (ns, texts) = timed(1, || Ok(collection.all()?))?;
        Ok(counted(ns, texts.len() as u64))
    }

    fn fetch_names(&mut self) -> Result<TimedAnswer, Error> {
        let collection = self.collection()?;
        let (ns, (_texts, named)) = timed(1, || {
            let texts = collection.all()?;
            let parts: Vec<&[u8]> = texts.iter().map(|(_, text)| text).collect();
            let named = name_texts::<R>(&parts)?;
            Ok((texts, named))
        })?;
        Ok(answer_pairs(ns, &named))
    }

    fn fetch_one(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let collection = self.collection()?;
        let mut ns = Vec::new();
        let mut texts = Vec::new();
        for uid in uids {
            let (took, record) = timed(times, || Ok(collection.get(uid)?))?;
            ns.extend(took);
            texts.extend(record.map(|record| record.text));
        }
        Ok(answer_pairs(ns, &name_texts::<R>(&texts)?))
    }

    fn fetch_many(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let collection = self.collection()?;
        let (ns, found) = timed(times, || Ok(collection.get_many(uids)?))?;
        let texts: Vec<_> = found.into_iter().flatten().map(|r| r.text).collect();
        Ok(answer_pairs(ns, &name_texts::<R>(&texts)?))
    }

    fn close(&mut self) -> Result<TimedAnswer, Error> {
        self.held.clear();
        let store = self.store.take();
        let begun = Instant::now();
        if let Some(store) = store {
            store.close()?;
        }
        Ok(since(begun))
    }

    fn open(&mut self) -> Result<TimedAnswer, Error> {
        let begun = Instant::now();
        let store = Store::open_with(&self.path, &self.options)?;
        R::of(&store)?;
        let took = since(begun);
        self.store = Some(store);
        Ok(took)
    }

    fn hold_all(&mut self) -> Result<(), Error> {
        let texts = self.collection()?.all()?;
        self.held = parse_kept(texts.iter().map(|(_, text)| text))?;
        Ok(())
    }

    fn process_ids(&self) -> Vec<u32> {
        vec![std::process::id()]
    }

    fn writer_id(&self) -> Result<u32, Error> {
        Ok(std::process::id())
    }
}
