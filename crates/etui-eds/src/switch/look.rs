//! [`Look`]: both sides of a source, compared.

use std::collections::BTreeMap;

use etui::Store;

use super::merge::{Base, Difference, RecordNow, Side, compare, next_base};
use super::plan::PlannedSource;
use super::state::{CollectionState, SwitchState};
use super::stock_side::StockSide;
use super::store_side::{StoreSide, digest};
use super::{CollectionReport, OnProgress, Progress, SwitchError};

/// Records that are read or written at a time.
pub(super) const BATCH: usize = 256;

/// A source with both sides, compared record by record.
pub(super) struct Look {
    pub(super) planned: PlannedSource,
    pub(super) stock: StockSide,
    base: Base,
    pub(super) now: BTreeMap<String, RecordNow>,
    pub(super) rewritten: Vec<String>,
}

/// Records to be copied from one side to the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Copies {
    pub(super) created: Vec<String>,
    pub(super) changed: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl Copies {
    /// The records that are written.
    pub(super) fn written(&self) -> Vec<String> {
        self.created.iter().chain(&self.changed).cloned().collect()
    }
}

impl Look {
    /// Reads both sides of a source.
    pub(super) async fn read(
        planned: PlannedSource,
        stock: StockSide,
        store: &Store,
        state: &SwitchState,
        progress: OnProgress<'_>,
    ) -> Result<Self, SwitchError> {
        let kind = planned.kind;
        let mut now: BTreeMap<String, RecordNow> = BTreeMap::new();
        let uids = stock.uids().await?;
        for (done, uid) in uids.iter().enumerate() {
            if done % BATCH == 0 {
                progress(Progress::Records {
                    source: &planned.label,
                    done,
                    total: uids.len(),
                });
            }
            let text = stock.text(uid).await?;
            now.entry(uid.clone()).or_default().stock = text.map(|text| digest(kind, &text));
        }
        if let Some(side) = StoreSide::find(store, kind, &planned.uid)? {
            side.for_each(|uid, etag, text| {
                let record = now.entry(uid.to_owned()).or_default();
                record.store = Some(etag.to_string());
                record.store_digest = Some(digest(kind, text));
            })?;
        }
        Ok(Self {
            base: state.base(kind, &planned.uid),
            planned,
            stock,
            now,
            rewritten: Vec::new(),
        })
    }

    fn difference(&self, uid: &str, prefer: Option<Side>) -> Difference {
        let Some(now) = self.now.get(uid) else {
            return Difference::None;
        };
        match (compare(self.base.get(uid), now), prefer) {
            (Difference::Conflict, Some(side)) => Difference::ChangedBy(side),
            (difference, _) => difference,
        }
    }

    /// The records that both sides have changed.
    pub(super) fn conflicts(&self, prefer: Option<Side>) -> Vec<String> {
        let uids = self.now.keys();
        uids.filter(|uid| self.difference(uid, prefer) == Difference::Conflict)
            .map(|uid| format!("\"{uid}\" of \"{}\"", self.planned.label))
            .collect()
    }

    /// The records that one side has changed.
    pub(super) fn changed_by(&self, side: Side, prefer: Option<Side>) -> Copies {
        let mut copies = Copies::default();
        for (uid, now) in &self.now {
            if self.difference(uid, prefer) != Difference::ChangedBy(side) {
                continue;
            }
            let (here, there) = match side {
                Side::Stock => (&now.stock, &now.store),
                Side::Store => (&now.store, &now.stock),
            };
            match (here, there) {
                (Some(_), None) => copies.created.push(uid.clone()),
                (Some(_), Some(_)) => copies.changed.push(uid.clone()),
                (None, _) => copies.removed.push(uid.clone()),
            }
        }
        copies
    }

    /// Notes that a record is equal on both sides now.
    pub(super) fn set_equal(&mut self, uid: &str, stock: String, etag: String) {
        let record = RecordNow {
            store_digest: Some(stock.clone()),
            stock: Some(stock),
            store: Some(etag),
        };
        self.now.insert(uid.to_owned(), record);
    }

    /// Notes that neither side has a record any more.
    pub(super) fn set_removed(&mut self, uid: &str) {
        self.now.remove(uid);
    }

    /// What both sides have in common from now on.
    pub(super) fn to_state(&self, prefer: Option<Side>) -> CollectionState {
        let mut records = Base::new();
        for (uid, now) in &self.now {
            let base = self.base.get(uid);
            let left = self.difference(uid, prefer);
            if let Some(both) = next_base(base, now, left) {
                records.insert(uid.clone(), both);
            }
        }
        CollectionState {
            source: self.planned.uid.clone(),
            kind: self.planned.kind,
            records,
        }
    }

    /// The report of what was copied.
    pub(super) fn report(
        &self,
        copies: &Copies,
        records: u64,
        collection: Option<String>,
    ) -> CollectionReport {
        CollectionReport {
            collection,
            source: self.planned.uid.clone(),
            name: self.planned.label.clone(),
            kind: self.planned.kind,
            records,
            created: copies.created.len(),
            changed: copies.changed.len(),
            removed: copies.removed.len(),
            rewritten: self.rewritten.clone(),
        }
    }
}
