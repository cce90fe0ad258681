//! Stores in this process: [`LocalStore`].

use std::ops::Range;
use std::time::Instant;

use etui::Store;
use etui::calendar::CalendarObject;
use etui::calendar::zones::TimeZoneResolver;
use etui::record::{Collection, RecordKind};

use super::{StoreBackend, answer_pairs, counted, timed};
use crate::error::Error;
use crate::peers::eds::TimedAnswer;

/// Records of one kind, as an experiment sees them.
pub trait Kept: RecordKind {
    /// The collection of a store that holds them.
    fn of(store: &Store) -> Result<Collection<Self>, Error>;

    /// Parses a stored record.
    fn parsed(text: &[u8]) -> Result<Self, Error>;

    /// Returns its name.
    fn name(&self) -> String;
}

impl Kept for CalendarObject {
    fn of(store: &Store) -> Result<Collection<Self>, Error> {
        Ok(store.calendar()?)
    }

    fn parsed(text: &[u8]) -> Result<Self, Error> {
        CalendarObject::parse(text, &TimeZoneResolver::new())
            .map_err(|e| Error::other(format!("an event that came back: {e}")))
    }

    fn name(&self) -> String {
        self.master().summary.clone().unwrap_or_default()
    }
}

/// UIDs and names of texts.
pub fn name_texts<R: Kept>(texts: &[impl AsRef<[u8]>]) -> Result<Vec<(String, String)>, Error> {
    let named = texts.iter().map(|text| {
        let record = R::parsed(text.as_ref())?;
        Ok((record.identity().into_owned(), record.name()))
    });
    named.collect()
}

/// A store in this process; each of its operations is one that is timed.
pub trait LocalStore {
    /// The kind of its records.
    type Record: Kept;
    /// All texts, in the form in which the store returns them.
    type Texts;
    /// An open store.
    type Handle<'s>
    where
        Self: 's;
    /// Opens it.
    fn connect(&mut self) -> Result<(), Error>;
    /// Closes it, if it is open.
    fn disconnect(&mut self) -> Result<(), Error>;
    /// Returns the open store.
    fn handle(&self) -> Result<Self::Handle<'_>, Error>;
    /// Saves some of its records to be saved: together, or a single one.
    fn save(&self, to: &Self::Handle<'_>, which: Range<usize>, single: bool) -> Result<(), Error>;
    /// Fetches every text.
    fn all(from: &Self::Handle<'_>) -> Result<Self::Texts, Error>;
    /// Returns the single texts.
    fn texts(all: &Self::Texts) -> Vec<&[u8]>;
    /// Fetches a text.
    fn get(from: &Self::Handle<'_>, uid: &str) -> Result<Vec<u8>, Error>;
    /// Fetches texts in one call.
    fn get_many(from: &Self::Handle<'_>, uids: &[String]) -> Result<Vec<Vec<u8>>, Error>;
    /// Returns the records that are kept in memory, with their names.
    fn held(&mut self) -> &mut Vec<(Self::Record, String)>;
}

/// Times a call that returns nothing.
fn time_call(call: impl FnOnce() -> Result<(), Error>) -> Result<TimedAnswer, Error> {
    let begun = Instant::now();
    call()?;
    Ok(counted(vec![begun.elapsed().as_nanos() as f64], 0))
}

impl<S: LocalStore> StoreBackend for S {
    fn save_batch(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let (handle, which) = (self.handle()?, from as usize..(from + count) as usize);
        let (ns, ()) = timed(1, || self.save(&handle, which.clone(), false))?;
        Ok(counted(ns, count))
    }

    fn save_each(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let (handle, mut ns) = (self.handle()?, Vec::new());
        for at in from as usize..(from + count) as usize {
            ns.extend(timed(1, || self.save(&handle, at..at + 1, true))?.0);
        }
        Ok(counted(ns, count))
    }

    fn fetch_all(&mut self) -> Result<TimedAnswer, Error> {
        let handle = self.handle()?;
        let (ns, all) = timed(1, || S::all(&handle))?;
        Ok(counted(ns, S::texts(&all).len() as u64))
    }

    fn fetch_names(&mut self) -> Result<TimedAnswer, Error> {
        let handle = self.handle()?;
        let (ns, (_all, named)) = timed(1, || {
            let all = S::all(&handle)?;
            let named = name_texts::<S::Record>(&S::texts(&all))?;
            Ok((all, named))
        })?;
        Ok(answer_pairs(ns, &named))
    }

    fn fetch_one(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let handle = self.handle()?;
        let (mut ns, mut texts) = (Vec::new(), Vec::new());
        for uid in uids {
            let (took, text) = timed(times, || S::get(&handle, uid))?;
            ns.extend(took);
            texts.push(text);
        }
        Ok(answer_pairs(ns, &name_texts::<S::Record>(&texts)?))
    }

    fn fetch_many(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let handle = self.handle()?;
        let (ns, texts) = timed(times, || S::get_many(&handle, uids))?;
        Ok(answer_pairs(ns, &name_texts::<S::Record>(&texts)?))
    }

    fn close(&mut self) -> Result<TimedAnswer, Error> {
        self.held().clear();
        time_call(|| self.disconnect())
    }

    fn open(&mut self) -> Result<TimedAnswer, Error> {
        time_call(|| self.connect())
    }

    fn hold_all(&mut self) -> Result<(), Error> {
        let all = S::all(&self.handle()?)?;
        let held = S::texts(&all).into_iter().map(|text| {
            let record = S::Record::parsed(text)?;
            let name = record.name();
            Ok((record, name))
        });
        *self.held() = held.collect::<Result<_, Error>>()?;
        Ok(())
    }
}
