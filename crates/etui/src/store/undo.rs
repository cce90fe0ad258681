//! Undoing steps: what each changed record was before comes from the change log.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};

use super::Store;
use crate::calendar::CalendarObject;
use crate::calendar::color::write_color;
use crate::contacts::Card;
use crate::db::IndexContext;
use crate::error::{Error, Result};
use crate::record::RecordKind;
use crate::record::collection_table::{self, CollectionRef, RemovedRef};
use crate::record::history::text_before;
use crate::record::prepared::IndexedRecord;
use crate::record::records::{self, RecordWriter, StoredText, remove_all_records, uids_removed_at};
use crate::record::shared::SourceObject;
use crate::record::steps::{
    self, ChangedCollection, CollectionChange, Step, changed_collections, current_actor, label_step,
};
use crate::record::write::undo_latest;
use crate::types::{CollectionId, CollectionKind, Condition, RecordId};

/// The effect of an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoEffect {
    /// What was added is removed.
    Removed,
    /// What was removed is back.
    Restored,
    /// What was changed is as before.
    ChangedBack,
    /// It is as it was before already.
    Unchanged,
    /// It was changed again since the step, and is kept as it is.
    Kept,
    /// Its version before the step is no longer kept.
    TooOld,
}

/// A record of an undone step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneRecord {
    /// The kind of its collection.
    pub kind: CollectionKind,
    /// The id of its collection.
    pub collection: CollectionId,
    /// The record.
    pub id: RecordId,
    /// Its UID.
    pub uid: String,
    /// The effect on it.
    pub effect: UndoEffect,
}

/// A collection that an undone step created, renamed, removed, restored or coloured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneCollection {
    /// Its kind.
    pub kind: CollectionKind,
    /// Its name.
    pub name: String,
    /// The effect on it.
    pub effect: UndoEffect,
}

/// The result of undoing steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct UndoReport {
    /// The step that this undo is; `None` if it changed nothing. Undoing it does the steps again.
    pub step: Option<i64>,
    /// The undone steps, the latest first.
    pub steps: Vec<Step>,
    /// The records that they changed.
    pub records: Vec<UndoneRecord>,
    /// The collections that they changed.
    pub collections: Vec<UndoneCollection>,
}

impl Store {
    /// Returns the steps that are kept, the latest first: every write transaction, those of one
    /// [`label_step`] together. Steps are kept as long as removed records are, at least
    /// 30 days. What other programs wrote with SQL is applied first, so that it is a step too.
    ///
    /// # Errors
    /// Any read error; of waiting SQL writes, any write error.
    pub fn steps(&self) -> Result<Vec<Step>> {
        self.drain_write_queue()?;
        self.db.read_transaction(steps::list_steps)
    }

    /// Undoes steps, the latest first, in one transaction: each record gets the text that it had before,
    /// or is removed or restored. A record that was changed since is kept as it is and reported
    /// ([`UndoEffect::Kept`]). The undo is a step itself.
    ///
    /// # Errors
    /// [`Error::NoStep`]; any write error. Nothing is changed then.
    pub fn undo_steps(&self, ids: &[i64]) -> Result<UndoReport> {
        let context = self.db.index_context();
        let _label = label_step(&current_actor(), "undo");
        self.after_queue(|conn| {
            let all = steps::list_steps(conn)?;
            let known: HashSet<i64> = all.iter().map(|step| step.id).collect();
            if let Some(missing) = ids.iter().find(|id| !known.contains(*id)) {
                return Err(Error::NoStep(*missing));
            }
            let ids: HashSet<i64> = ids.iter().copied().collect();
            let mut report = UndoReport {
                steps: all.into_iter().filter(|s| ids.contains(&s.id)).collect(),
                ..UndoReport::default()
            };
            let ranges = report.steps.iter().flat_map(|step| &step.ranges);
            let mut log = ChangeNumbers {
                read_to: ranges.map(|(first, _)| first - 1).min().unwrap_or(0),
                by_record: HashMap::new(),
            };
            let mut undone: Vec<&Step> = Vec::new();
            for step in &report.steps {
                let (mut records, mut collections) = (Vec::new(), Vec::new());
                RecordWriter::run(conn, context.order, |writing| {
                    let mut undo = StepUndo {
                        conn,
                        writing,
                        context: &context,
                        step,
                        log: &mut log,
                    };
                    (records, collections) = undo.run()?;
                    Ok(())
                })?;
                let effects = records.iter().map(|record| record.effect);
                let mut effects = effects.chain(collections.iter().map(|c| c.effect));
                if effects.any(|effect| !matches!(effect, UndoEffect::Kept | UndoEffect::TooOld)) {
                    undone.push(step);
                }
                report.records.extend(records);
                report.collections.extend(collections);
            }
            report.step = steps::mark_undo(conn, &undone)?;
            Ok(report)
        })
    }
}

/// The undo of one step, in a write transaction.
struct StepUndo<'u, 'o> {
    conn: &'u Connection,
    writing: &'u mut RecordWriter<'o>,
    context: &'u IndexContext<'o>,
    step: &'u Step,
    log: &'u mut ChangeNumbers,
}

/// The numbers of each record's changes since the first undone one, in their order. The log has no index by
/// record; it is read once for all records and steps.
struct ChangeNumbers {
    read_to: i64,
    by_record: HashMap<i64, Vec<i64>>,
}

impl ChangeNumbers {
    /// Reads the changes that were made since the last call.
    fn read_new(&mut self, conn: &Connection) -> Result<()> {
        let mut changes =
            conn.prepare_cached("SELECT seq, record FROM change WHERE seq > ?1 ORDER BY seq")?;
        let mut rows = changes.query([self.read_to])?;
        while let Some(row) = rows.next()? {
            self.read_to = row.get(0)?;
            let numbers = self.by_record.entry(row.get(1)?).or_default();
            numbers.push(self.read_to);
        }
        Ok(())
    }

    /// Returns the changes of a record from the number `seq` on.
    fn since(&self, record: i64, seq: i64) -> &[i64] {
        let all = self.by_record.get(&record).map_or(&[][..], Vec::as_slice);
        &all[all.partition_point(|number| *number < seq)..]
    }
}

/// The state of a record: live with a text, or not.
type RecordState = Option<StoredText>;

/// A record of the step, and the version that it gets.
struct PlannedRecord {
    record: UndoneRecord,
    before: RecordState,
}

impl StepUndo<'_, '_> {
    fn run(&mut self) -> Result<(Vec<UndoneRecord>, Vec<UndoneCollection>)> {
        let changed = changed_collections(self.conn, self.step)?;
        let mut collections = Vec::new();
        // The records of a removed or restored collection go with it.
        let mut whole = HashSet::new();
        for one in &changed {
            if matches!(one.change, CollectionChange::Created) {
                continue;
            }
            if matches!(
                one.change,
                CollectionChange::Removed | CollectionChange::Restored
            ) {
                whole.insert(one.id);
            }
            collections.extend(self.undo_collection(one)?);
        }
        // After the collections, whose undo appends changes to the log.
        self.log.read_new(self.conn)?;
        let mut planned = Vec::new();
        for (id, range) in self.changed_records()?.into_iter().rev() {
            planned.extend(self.plan_record(id, range, &whole)?);
        }
        let records = self.apply(planned)?;
        // Last: a created collection is removed only if no record is left in it.
        for one in &changed {
            if matches!(one.change, CollectionChange::Created) {
                collections.extend(self.undo_collection(one)?);
            }
        }
        Ok((records, collections))
    }

    /// Returns the first and the last change of each record in the step.
    fn changed_records(&self) -> Result<BTreeMap<i64, [i64; 2]>> {
        let mut all: BTreeMap<i64, [i64; 2]> = BTreeMap::new();
        let mut changes = self.conn.prepare_cached(
            "SELECT id, id FROM record NOT INDEXED WHERE id BETWEEN ?1 AND ?2 \
             UNION ALL SELECT record, seq FROM change WHERE seq BETWEEN ?1 AND ?2",
        )?;
        for (first, last) in &self.step.ranges {
            let mut rows = changes.query((first, last))?;
            while let Some(row) = rows.next()? {
                let (id, seq): (i64, i64) = (row.get(0)?, row.get(1)?);
                let range = all.entry(id).or_insert([seq, seq]);
                *range = [range[0].min(seq), range[1].max(seq)];
            }
        }
        Ok(all)
    }

    /// Returns the effect of the undo on a record, and the version that it gets.
    fn plan_record(
        &self,
        id: i64,
        [first, last]: [i64; 2],
        whole: &HashSet<i64>,
    ) -> Result<Option<PlannedRecord>> {
        let found = self
            .conn
            .prepare_cached(
                "SELECT r.collection, r.uid, r.changed, c.kind, c.removed_at IS NULL \
                 FROM record r JOIN collection c ON c.id = r.collection WHERE r.id = ?1",
            )?
            .query_row([id], |r| {
                Ok((
                    r.get::<_, i64>(0)?,
                    r.get::<_, String>(1)?,
                    r.get::<_, i64>(2)?,
                    r.get::<_, String>(3)?,
                    r.get::<_, bool>(4)?,
                ))
            })
            .optional()?;
        let Some((collection, uid, changed, kind, has_collection)) = found else {
            return Ok(None);
        };
        // Records of a media library are found again by a scan.
        let kind = CollectionKind::from_schema_name(&kind)
            .filter(|kind| matches!(kind, CollectionKind::Contacts | CollectionKind::Calendar));
        let Some(kind) = kind else {
            return Ok(None);
        };
        // It has just been removed or restored with its collection.
        let with_collection = whole.contains(&collection);
        let now = self.state_now(id)?;
        let before = self.state_before(id, first)?;
        let is_as_left = || -> Result<bool> {
            let is_state = changed == last || self.state_after(id, last)? == Some(now.clone());
            Ok(is_state && self.is_uninterrupted(id, first, last))
        };
        let effect = match &before {
            None => UndoEffect::TooOld,
            Some(before) if *before == now && with_collection => return Ok(None),
            Some(before) if *before == now => UndoEffect::Unchanged,
            _ if !has_collection => UndoEffect::Kept,
            _ if !with_collection && !is_as_left()? => UndoEffect::Kept,
            Some(None) => UndoEffect::Removed,
            Some(Some(_)) if now.is_none() => UndoEffect::Restored,
            Some(Some(_)) => UndoEffect::ChangedBack,
        };
        Ok(Some(PlannedRecord {
            record: UndoneRecord {
                kind,
                collection: CollectionId(collection),
                id: RecordId(id),
                uid,
                effect,
            },
            before: before.flatten(),
        }))
    }

    /// Undoes the changes of records. What would be removed stays if that with the same UID is kept, the other
    /// half of a move; when steps are done again, if any is kept, such as the target of a merge.
    fn apply(&mut self, planned: Vec<PlannedRecord>) -> Result<Vec<UndoneRecord>> {
        let is_kept =
            |p: &&PlannedRecord| matches!(p.record.effect, UndoEffect::Kept | UndoEffect::TooOld);
        let kept: HashSet<String> = planned
            .iter()
            .filter(is_kept)
            .map(|p| p.record.uid.clone())
            .collect();
        let mut records = Vec::with_capacity(planned.len());
        for PlannedRecord { mut record, before } in planned {
            let is_needed = kept.contains(&record.uid) || self.step.is_undo && !kept.is_empty();
            if record.effect == UndoEffect::Removed && is_needed {
                record.effect = UndoEffect::Kept;
            }
            let (collection, uid) = (record.collection.0, record.uid.as_str());
            match (record.effect, before) {
                (UndoEffect::Removed, _) => {
                    let always = Condition::Always;
                    records::remove(self.conn, self.writing, collection, uid, always)?;
                }
                (UndoEffect::Restored | UndoEffect::ChangedBack, Some(stored)) => {
                    match record.kind {
                        CollectionKind::Calendar => {
                            self.put::<CalendarObject>(collection, uid, stored)?;
                        }
                        _ => self.put::<Card>(collection, uid, stored)?,
                    }
                }
                _ => {}
            }
            records.push(record);
        }
        Ok(records)
    }

    /// Returns the present state of a record.
    fn state_now(&self, id: i64) -> Result<RecordState> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT text, source, coalesce(positions, x'') FROM record \
                 WHERE id = ?1 AND removed_at IS NULL",
            )?
            .query_row([id], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .optional()?)
    }

    /// Returns the state of a record before the change `seq`; `None` if it is no longer kept.
    fn state_before(&self, id: i64, seq: i64) -> Result<Option<RecordState>> {
        // The number of its addition is its id: there was no record before.
        if seq == id {
            return Ok(Some(None));
        }
        let was_live: Option<bool> = self
            .conn
            // The log has keys only for changes of live records.
            .prepare_cached("SELECT keys IS NOT NULL FROM change WHERE seq = ?1")?
            .query_row([seq], |r| r.get(0))
            .optional()?;
        match was_live {
            None => Ok(None),
            Some(false) => Ok(Some(None)),
            Some(true) => Ok(text_before(self.conn, id, self.log.since(id, seq))?.map(Some)),
        }
    }

    /// Returns the state that the change `last` left, of a record that was changed since; `None` if it is
    /// no longer kept.
    fn state_after(&self, id: i64, last: i64) -> Result<Option<RecordState>> {
        match self.log.since(id, last + 1).first() {
            Some(next) => self.state_before(id, *next),
            None => Ok(None),
        }
    }

    /// Returns true if no other step changed a record between two changes of this one.
    fn is_uninterrupted(&self, id: i64, first: i64, last: i64) -> bool {
        let changes = self.log.since(id, first).iter();
        changes.take_while(|seq| **seq <= last).all(|seq| {
            let mut ranges = self.step.ranges.iter();
            ranges.any(|(from, to)| (*from..=*to).contains(seq))
        })
    }

    fn put<R: RecordKind>(&mut self, collection: i64, uid: &str, stored: StoredText) -> Result<()> {
        let (text, shared, places) = stored;
        let record = R::stored(self.conn, text, shared)?;
        let from = SourceObject::stored(shared, &places, record.component_count());
        let one = IndexedRecord::new(&record, self.context).with_uid(uid);
        let one = one.from(Some(&from)).with_exact_source(shared.is_some());
        one.put(self.conn, self.writing, collection, Condition::Always)?;
        Ok(())
    }

    fn undo_collection(&mut self, changed: &ChangedCollection) -> Result<Option<UndoneCollection>> {
        let id = changed.id;
        let found = collection_table::find_by_id(self.conn, id)?;
        let Some((kind, name, exists)) = found else {
            return Ok(None);
        };
        let kept = |effect| {
            Ok(Some(UndoneCollection {
                kind,
                name: name.clone(),
                effect,
            }))
        };
        let own = CollectionRef {
            id,
            name: name.clone(),
        };
        let recorded = |change, before: Option<&str>, after: Option<&str>| {
            steps::record_collection(self.conn, id, change, before, after)
        };
        let effect = match changed.change {
            CollectionChange::Created | CollectionChange::Restored => {
                let has_records: bool = self
                    .conn
                    .prepare_cached(
                        "SELECT EXISTS (SELECT 1 FROM record WHERE collection = ?1 \
                         AND removed_at IS NULL)",
                    )?
                    .query_row([id], |r| r.get(0))?;
                let is_kept = changed.change == CollectionChange::Created && has_records;
                if !exists || is_kept {
                    return kept(match exists {
                        true => UndoEffect::Kept,
                        false => UndoEffect::Unchanged,
                    });
                }
                match collection_table::remove_collection(self.conn, kind, &own) {
                    Ok(RemovedRef { id, removed_at }) => {
                        remove_all_records(self.conn, self.writing, id, removed_at)?;
                        recorded(CollectionChange::Removed, Some(&name), None)?;
                        UndoEffect::Removed
                    }
                    Err(Error::LastCollection { .. }) => UndoEffect::Kept,
                    Err(error) => return Err(error),
                }
            }
            CollectionChange::Removed if exists => UndoEffect::Unchanged,
            CollectionChange::Removed => {
                let removed = collection_table::list_removed(self.conn, kind)?;
                let Some((_, at)) = removed.into_iter().find(|(found, _)| found.id == id) else {
                    return kept(UndoEffect::TooOld);
                };
                match collection_table::restore_collection(self.conn, kind, id, &name) {
                    Ok(()) => {}
                    Err(Error::CollectionExists { .. } | Error::ExternalIdExists { .. }) => {
                        return kept(UndoEffect::Kept);
                    }
                    Err(error) => return Err(error),
                }
                for uid in uids_removed_at(self.conn, id, at)? {
                    match kind {
                        CollectionKind::Calendar => {
                            undo_latest::<CalendarObject>(
                                self.conn,
                                self.writing,
                                self.context,
                                id,
                                &uid,
                            )?;
                        }
                        _ => {
                            undo_latest::<Card>(self.conn, self.writing, self.context, id, &uid)?;
                        }
                    }
                }
                collection_table::start_history(self.conn, id)?;
                recorded(CollectionChange::Restored, None, Some(&name))?;
                UndoEffect::Restored
            }
            CollectionChange::Renamed => {
                let is_same = exists && changed.after.as_deref() == Some(name.as_str());
                let (true, Some(before)) = (is_same, &changed.before) else {
                    return kept(UndoEffect::Kept);
                };
                match collection_table::rename_collection(self.conn, kind, id, before) {
                    Ok(_) => {
                        recorded(CollectionChange::Renamed, Some(&name), Some(before))?;
                        UndoEffect::ChangedBack
                    }
                    Err(Error::CollectionExists { .. }) => UndoEffect::Kept,
                    Err(error) => return Err(error),
                }
            }
            CollectionChange::Colored => {
                let now = crate::calendar::color::read_color(self.conn, id)?;
                if now != changed.after {
                    return kept(UndoEffect::Kept);
                }
                let before = changed.before.as_deref();
                let color = before.and_then(|color| color.parse().ok());
                write_color(self.conn, id, color)?;
                recorded(CollectionChange::Colored, changed.after.as_deref(), before)?;
                UndoEffect::ChangedBack
            }
        };
        kept(effect)
    }
}
