//! [`run_import`]: saves the records of a source into a collection.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;

use rusqlite::Connection;

use super::aside::DeferredRecords;
use etui_contentline::rejection::Rejection;
use etui_contentline::stream::record_excerpt;
use etui_contentline::uid_set::UidSet;
use etui_ical::{ComponentOrigin, MergeOutcome, Method};

use super::{ImportEvent, ImportReport, Refused};
use crate::error::{Error, Result};
use crate::import::fill::{BulkFill, FillOutcome};
use crate::record::collection_table::CollectionRef;
use crate::record::history::EarlierTexts;
use crate::record::prepared::IndexedRecord;
use crate::record::records::StoredText;
use crate::record::shared::{SourceObject, UnfinishedObjects};
use crate::record::{Collection, IndexedColumns, RecordKind, changes, collection_table, records};
use crate::types::{Condition, ETag, SaveOutcome};

/// Maximum number of records, and bytes of text, in one transaction of a small import.
const BATCH_RECORDS: usize = 1_000;
const BATCH_BYTES: usize = 2 << 20;
/// An input with this number of records, or bytes of them, is large.
const SMALL_RECORDS: usize = 4_096;
const SMALL_BYTES: usize = 4 << 20;
/// Pieces of a large input that are parsed together, and bytes of them; and the number of such
/// batches in flight.
const PIECES: usize = 256;
const PIECES_BYTES: usize = 512 << 10;
const IN_FLIGHT: usize = 3;
/// Rejections in the report; all are reported as events.
const KEPT_REFUSALS: usize = 1_000;

/// A source of records.
pub(crate) trait RecordSource {
    /// The kind of its records.
    type Record: RecordKind;
    /// A piece of the input, a record or not.
    type Piece: Send;

    /// Returns the next piece; `None` at the end of the input.
    fn next_piece(&mut self) -> std::io::Result<Option<Self::Piece>>;

    /// Returns the number of bytes read.
    fn bytes_read(&self) -> u64;

    /// Returns the size of a piece in bytes.
    fn size(piece: &Self::Piece) -> usize;

    /// Parses a piece, possibly in another thread.
    fn parse_piece(piece: Self::Piece) -> ParsedRecord<Self::Record>;
}

/// Options of an import.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunOptions {
    /// Messages are merged into the record of another collection if only that has it.
    pub(crate) any_collection: bool,
    /// Records replace those with their UIDs.
    pub(crate) whole_records: bool,
    /// Records of other days with one UID get UIDs of their own.
    pub(crate) split_uids: bool,
    /// A text that a record had before it was changed replaces the present one.
    pub(crate) takes_earlier: bool,
}

/// Imports the records of `source` into a collection.
pub(crate) fn run_import<S: RecordSource>(
    collection: &Collection<S::Record>,
    mut source: S,
    options: RunOptions,
    on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
) -> Result<ImportReport> {
    let mut run = ImportRun {
        collection,
        options,
        report: ImportReport::default(),
        seen: UidSet::default(),
        unchanged: UidSet::default(),
        latest: collection.db().read(changes::latest_seq)?,
        earlier: None,
        hasher: RandomState::new(),
        batch: Vec::new(),
        batch_bytes: 0,
        on_event,
    };
    while run.batch.len() < SMALL_RECORDS && run.batch_bytes < SMALL_BYTES {
        let Some(piece) = run.next_piece(&mut source)? else {
            let all = std::mem::take(&mut run.batch);
            run.batch_bytes = 0;
            for item in run.join(all)? {
                run.take(item)?;
            }
            run.save_batch()?;
            return Ok(run.report);
        };
        match S::parse_piece(piece) {
            Ok(mut item) => {
                run.note_item(&mut item)?;
                run.batch_bytes += run.push_item(item);
            }
            Err(refused) => run.report_refused(refused)?,
        }
    }
    let ahead = std::mem::take(&mut run.batch);
    run.batch_bytes = 0;
    run.fill_collection(ahead, &mut source)?;
    run.save_batch()?;
    Ok(run.report)
}

/// A record of the input, or a rejected piece.
pub(crate) type ParsedRecord<R> = std::result::Result<ImportItem<R>, Refused>;

struct ImportRun<'a, R> {
    collection: &'a Collection<R>,
    /// Messages are merged into the record of any collection.
    options: RunOptions,
    report: ImportReport,
    /// The UIDs so far, to find a second record of a UID.
    seen: UidSet,
    /// The UIDs of mergeable records that were counted as unchanged.
    unchanged: UidSet,
    /// The number of the last change before this import: a new record has a higher one.
    latest: i64,
    /// The texts that records had before this import, once they are asked for.
    earlier: Option<EarlierTexts>,
    hasher: RandomState,
    batch: Vec<ImportItem<R>>,
    batch_bytes: usize,
    on_event: &'a mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
}

/// A record of the input.
pub(crate) struct ImportItem<R> {
    pub(crate) record: R,
    /// An earlier record of the input has its UID.
    pub(super) repeated: bool,
    pub(super) line: u64,
    pub(super) last_line: u64,
    /// Its source object, if that is kept.
    pub(crate) from: Option<SourceObject>,
    /// The method of its object.
    pub(super) method: Method,
    /// Warnings about parts that were not understood.
    warnings: Vec<String>,
}

impl<R> ImportItem<R> {
    /// Returns an item of these lines.
    pub(crate) fn new(record: R, line: u64, last_line: u64) -> Self {
        Self {
            record,
            repeated: false,
            line,
            last_line,
            from: None,
            method: Method::Publish,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn from(self, from: Option<SourceObject>) -> Self {
        Self { from, ..self }
    }

    /// Sets the method.
    pub(crate) fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// Sets the warnings.
    pub(crate) fn warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }
}

impl<R: RecordKind> ImportItem<R> {
    /// Returns true if it can be saved only after a look at the stored records.
    fn needs_stored(&self) -> bool {
        self.repeated || self.method != Method::Publish || self.record.is_partial()
    }
}

/// The stored record that an item is merged into.
struct StoredTarget {
    collection: CollectionRef,
    text: StoredText,
}

impl<R: RecordKind> ImportRun<'_, R> {
    /// Adds an item to the batch; returns the bytes of its text.
    fn push_item(&mut self, item: ImportItem<R>) -> usize {
        let bytes = item.record.text().len();
        self.batch.push(item);
        bytes
    }

    /// Adds an item; saves the batch first if it is full. Items to be merged stay together.
    fn take(&mut self, item: ImportItem<R>) -> Result<()> {
        let is_full = self.batch.len() >= BATCH_RECORDS || self.batch_bytes >= BATCH_BYTES;
        let last = self.batch.last().map(|last| last.record.identity());
        // Records of one UID that follow each other are merged in one batch.
        let is_joined = R::CAN_MERGE && last.is_some_and(|uid| uid == item.record.identity());
        if is_full && !is_joined {
            self.save_batch()?;
        }
        self.batch_bytes += self.push_item(item);
        Ok(())
    }

    /// Returns the next piece of the input.
    fn next_piece<S: RecordSource>(&mut self, source: &mut S) -> Result<Option<S::Piece>> {
        let piece = source.next_piece();
        self.report.bytes = source.bytes_read();
        piece.map_err(|e| Error::io(std::path::Path::new("the input"), e))
    }

    /// Marks an item whose UID is repeated, and reports its warnings.
    fn note_item(&mut self, item: &mut ImportItem<R>) -> Result<()> {
        let uid = self.hash_uid(item);
        item.repeated = !self.seen.insert(uid);
        for reason in std::mem::take(&mut item.warnings) {
            self.report_warning(Refused {
                line: item.line,
                last_line: item.last_line,
                reason,
                excerpt: record_excerpt(item.record.text()),
            })?;
        }
        Ok(())
    }

    fn hash_uid(&self, item: &ImportItem<R>) -> u64 {
        self.hasher.hash_one(item.record.identity().as_bytes())
    }

    /// Counts the outcome of an item. One that was merged into a record of this import (`joined`)
    /// is counted with that.
    fn count_outcome(&mut self, item: &ImportItem<R>, outcome: SaveOutcome, joined: bool) {
        if joined {
            let uid = self.hash_uid(item);
            if outcome == SaveOutcome::Changed && self.unchanged.remove(uid) {
                self.report.unchanged -= 1;
                self.report.changed += 1;
            }
            return;
        }
        match outcome {
            SaveOutcome::Added => self.report.added += 1,
            SaveOutcome::Changed => self.report.changed += 1,
            SaveOutcome::Unchanged => {
                self.report.unchanged += 1;
                self.note_unchanged(item);
            }
        }
    }

    /// Notes an item that is counted as unchanged.
    fn note_unchanged(&mut self, item: &ImportItem<R>) {
        if R::CAN_MERGE {
            let uid = self.hash_uid(item);
            self.unchanged.insert(uid);
        }
    }

    /// Merges repeated items, if their kind can be merged, into the first with their UID.
    fn join(&mut self, items: Vec<ImportItem<R>>) -> Result<Vec<ImportItem<R>>> {
        if !R::CAN_MERGE || items.iter().all(|i| !i.repeated) {
            return Ok(items);
        }
        let mut joined: Vec<ImportItem<R>> = Vec::with_capacity(items.len());
        let mut places: HashMap<String, usize> = HashMap::new();
        for item in items {
            // A message is merged into the stored entry, when the batch is saved.
            if item.method.needs_stored() {
                joined.push(item);
                continue;
            }
            let uid = item.record.identity().into_owned();
            match places.entry(uid) {
                Entry::Occupied(at) if item.repeated => {
                    let first = &mut joined[*at.get()];
                    match self.split_off(&first.record, item) {
                        Ok(own) => joined.push(own),
                        Err(item) => {
                            self.merge_into(first, item, true)?;
                        }
                    }
                }
                Entry::Occupied(mut at) => {
                    at.insert(joined.len());
                    joined.push(item);
                }
                Entry::Vacant(at) => {
                    at.insert(joined.len());
                    joined.push(item);
                }
            }
        }
        Ok(joined)
    }

    /// Returns an item with a UID of its own if it is unlike an earlier one with its UID, and that is asked
    /// for; otherwise the item as it is.
    fn split_off(
        &self,
        first: &R,
        item: ImportItem<R>,
    ) -> std::result::Result<ImportItem<R>, ImportItem<R>> {
        if !self.options.split_uids || !first.is_unlike(&item.record) {
            return Err(item);
        }
        match item.record.with_uid_of_day() {
            Some(record) => Ok(ImportItem {
                from: record.required_source(),
                record,
                repeated: false,
                ..item
            }),
            None => Err(item),
        }
    }

    /// Merges `other` into an earlier item, or with `keeps_first` unset into a stored one.
    fn merge_into(
        &mut self,
        item: &mut ImportItem<R>,
        other: ImportItem<R>,
        keeps_first: bool,
    ) -> Result<Vec<MergeOutcome>> {
        let excerpt = record_excerpt(other.record.text());
        let needs_zones = other.record.required_source().is_some();
        let is_unlike = keeps_first && item.record.is_unlike(&other.record);
        let Some(merged) = item.record.receive(other.record, other.method, keeps_first) else {
            return Ok(vec![MergeOutcome::Refused]);
        };
        let is_same_object = match (&item.from, &other.from) {
            (Some(from), Some(other)) => from.is_same_object(other),
            _ => false,
        };
        let is_message = |o: &ComponentOrigin| matches!(o, ComponentOrigin::Message(_));
        let place_of = |stored: Option<&SourceObject>, message: Option<&SourceObject>| {
            let place = |origin: &ComponentOrigin| match *origin {
                ComponentOrigin::Stored(at) => stored.and_then(|o| o.places.get(at).copied()),
                ComponentOrigin::Message(at) => message.and_then(|o| o.places.get(at).copied()),
            };
            let places = merged.origins.iter().map(place);
            places.map(|place| place.unwrap_or(u32::MAX)).collect()
        };
        if merged.origins.iter().all(is_message) && other.from.is_some() {
            // Nothing of the stored record is left: it is that of the message's object.
            let places = place_of(None, other.from.as_ref());
            item.from = other
                .from
                .clone()
                .map(|from| SourceObject { places, ..from });
        } else {
            let theirs = other.from.as_ref().filter(|_| is_same_object);
            let places = place_of(item.from.as_ref(), theirs);
            item.from = item.from.take().map(|from| SourceObject { places, ..from });
            if merged.origins.iter().any(is_message) && needs_zones && !is_same_object {
                // Its time zones are of another object, which it brings along.
                item.from = item.record.required_source();
            }
        }
        let outcomes = merged.outcomes;
        let count = |outcome| outcomes.iter().filter(|o| **o == outcome).count() as u64;
        self.report.older += count(MergeOutcome::Older) + count(MergeOutcome::Replaced);
        self.report.proposals += count(MergeOutcome::Proposal);
        let reason = if outcomes.contains(&MergeOutcome::Refused) {
            let mut reason = repeated_reason(&item.record);
            if is_unlike {
                reason.push_str(", or import with --split-uids");
            }
            Some(reason)
        } else if outcomes.contains(&MergeOutcome::Older) {
            let uid = item.record.identity();
            Some(format!(
                "older than the entry with its UID ({uid}): it changes nothing"
            ))
        } else if outcomes.contains(&MergeOutcome::Replaced) {
            let uid = item.record.identity();
            Some(format!(
                "newer than the one before it with its UID ({uid}), which is left out"
            ))
        } else if outcomes.contains(&MergeOutcome::Proposal) {
            Some(proposal_reason(&item.record))
        } else if !merged.kept_exclusions.is_empty() {
            let days = merged.kept_exclusions.iter().map(|t| t.local().date());
            let days: Vec<_> = days.map(|day| day.to_string()).collect();
            Some(format!("skipped here, and stays so: {}", days.join(", ")))
        } else {
            None
        };
        if let Some(reason) = reason {
            let part = Refused {
                line: other.line,
                last_line: other.last_line,
                reason,
                excerpt,
            };
            match outcomes.contains(&MergeOutcome::Refused) {
                true => self.report_refused(part)?,
                false => self.report_note(part)?,
            }
        }
        Ok(outcomes)
    }

    /// Reads the stored records that the items of a batch are merged into: those of the collection,
    /// or for messages that of any other.
    fn read_targets(&self, batch: &[ImportItem<R>]) -> Result<Vec<Option<StoredTarget>>> {
        let collection = self.collection;
        collection.db().read(|conn| {
            let find = |item: &ImportItem<R>| {
                let uid = item.record.identity();
                let own = collection.collection_ref();
                if let Some(text) = records::read_version(conn, own.id, &uid)? {
                    let collection = own.clone();
                    return Ok(Some(StoredTarget { collection, text }));
                }
                if !self.options.any_collection
                    || !(item.method != Method::Publish || item.record.is_partial())
                {
                    return Ok(None);
                }
                for collection in collection_table::list_collections(conn, R::KIND)? {
                    if let Some(text) = records::read_version(conn, collection.id, &uid)? {
                        return Ok(Some(StoredTarget { collection, text }));
                    }
                }
                Ok(None)
            };
            batch.iter().map(find).collect()
        })
    }

    /// Saves all new records in one transaction. Records that change existing ones are deferred,
    /// and follow in batches.
    fn fill_collection<S: RecordSource<Record = R>>(
        &mut self,
        ahead: Vec<ImportItem<R>>,
        source: &mut S,
    ) -> Result<()> {
        let db = self.collection.db();
        let context = &db.index_context();
        let mut aside = DeferredRecords::beside(db.path())?;
        let added = db.write(|conn| {
            collection_table::expect_exists(conn, R::KIND, self.collection.collection_ref())?;
            let fill = BulkFill::begin(conn, db.path(), self.collection.number(), context.order)?;
            let mut filling = FillRun {
                conn,
                fill,
                objects: UnfinishedObjects::default(),
                aside: &mut aside,
                added: 0,
                unchanged: 0,
            };
            for item in ahead {
                let derived = item.record.index(context);
                if filling.add(&item, derived)? == Some(FillOutcome::Unchanged) {
                    self.note_unchanged(&item);
                }
            }
            // Parsing and indexing takes about as long as the rest, so another thread does it.
            std::thread::scope(|scope| -> Result<()> {
                let (to_read, pieces) = sync_channel::<Vec<S::Piece>>(IN_FLIGHT);
                let (to_fill, found) =
                    sync_channel::<Vec<(ParsedRecord<R>, IndexedColumns)>>(IN_FLIGHT);
                scope.spawn(move || {
                    for pieces in pieces {
                        let derive = |piece| {
                            let found = S::parse_piece(piece);
                            let derived = match &found {
                                Ok(item) => item.record.index(context),
                                Err(_) => IndexedColumns::default(),
                            };
                            (found, derived)
                        };
                        // The import was stopped.
                        if to_fill
                            .send(pieces.into_iter().map(derive).collect())
                            .is_err()
                        {
                            return;
                        }
                    }
                });
                let mut to_read = Some(to_read);
                let mut in_flight = 0;
                loop {
                    // No more than the channels hold, so that neither thread waits for the other to take some.
                    while let Some(to) = to_read.take_if(|_| in_flight < IN_FLIGHT) {
                        let pieces = self.next_pieces(source)?;
                        if !pieces.is_empty() && to.send(pieces).is_ok() {
                            in_flight += 1;
                            to_read = Some(to);
                        }
                    }
                    let Ok(found) = found.recv() else {
                        break;
                    };
                    in_flight -= 1;
                    for (found, derived) in found {
                        match found {
                            Ok(mut item) => {
                                self.note_item(&mut item)?;
                                if filling.add(&item, derived)? == Some(FillOutcome::Unchanged) {
                                    self.note_unchanged(&item);
                                }
                            }
                            Err(refused) => self.report_refused(refused)?,
                        }
                    }
                    self.report_progress(filling.added + filling.unchanged)?;
                }
                Ok(())
            })?;
            // Now that all objects are read to their ends.
            filling.objects.write_texts(conn)?;
            filling
                .fill
                .finish(&mut || stop_if((self.on_event)(ImportEvent::Indexing)))?;
            Ok((filling.added, filling.unchanged))
        })?;
        (self.report.added, self.report.unchanged) = added;
        db.release_memory();
        self.report_saved()?;
        // After the commit: these records are merged into those that are saved now.
        aside.for_each(db, |item| self.take(item))
    }

    /// Returns the next pieces of the input; none at its end.
    fn next_pieces<S: RecordSource>(&mut self, source: &mut S) -> Result<Vec<S::Piece>> {
        let mut pieces = Vec::new();
        let mut bytes = 0;
        while pieces.len() < PIECES && bytes < PIECES_BYTES {
            let Some(piece) = self.next_piece(source)? else {
                break;
            };
            bytes += S::size(&piece);
            pieces.push(piece);
        }
        Ok(pieces)
    }

    fn report_progress(&mut self, records: u64) -> Result<()> {
        let bytes = self.report.bytes;
        stop_if((self.on_event)(ImportEvent::Progress { bytes, records }))
    }

    fn report_saved(&mut self) -> Result<()> {
        let records = self.report.good();
        stop_if((self.on_event)(ImportEvent::Saved { records }))
    }

    fn report_refused(&mut self, refused: Refused) -> Result<()> {
        self.report.refused += 1;
        let go_on = (self.on_event)(ImportEvent::Refused(&refused));
        if self.report.refusals.len() < KEPT_REFUSALS {
            self.report.refusals.push(refused);
        }
        stop_if(go_on)
    }

    fn report_warning(&mut self, warned: Refused) -> Result<()> {
        self.report.warned += 1;
        let go_on = (self.on_event)(ImportEvent::Warned(&warned));
        if self.report.warnings.len() < KEPT_REFUSALS {
            self.report.warnings.push(warned);
        }
        stop_if(go_on)
    }

    fn save_batch(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let batch = self.join(batch)?;
        if R::CAN_MERGE {
            self.save_merged(batch)?;
        } else {
            let batch = self.without_earlier(batch)?;
            let condition = |item: &ImportItem<R>| match item.repeated {
                // A record with a repeated UID is accepted only if it equals the stored one.
                true => Condition::IfMatch(ETag::of(item.record.text())),
                false => Condition::Always,
            };
            let context: Vec<_> = batch.into_iter().map(|i| (condition(&i), i)).collect();
            self.save_items(self.collection, &context)?;
        }
        self.report_progress(self.report.good())?;
        self.report_saved()
    }

    /// Leaves out the items whose records had their texts before they were changed.
    fn without_earlier(&mut self, batch: Vec<ImportItem<R>>) -> Result<Vec<ImportItem<R>>> {
        if self.options.takes_earlier {
            return Ok(batch);
        }
        let id = self.collection.number();
        let db = self.collection.db();
        let unlike = db.read(|conn| {
            let find = |item: &ImportItem<R>| {
                let text = ETag::of(item.record.text());
                let found = records::find_record(conn, id, &item.record.identity())?;
                let found = found.filter(|found| !found.removed && found.etag != text);
                Ok(found.map(|found| (found, text)))
            };
            batch.iter().map(find).collect::<Result<Vec<_>>>()
        })?;
        if unlike.iter().all(Option::is_none) {
            return Ok(batch);
        }
        let earlier = match self.earlier.take() {
            Some(earlier) => earlier,
            None => db.read(|conn| EarlierTexts::read(conn, id))?,
        };
        let mut newer = Vec::with_capacity(batch.len());
        for (item, unlike) in batch.into_iter().zip(unlike) {
            match unlike.is_some_and(|(found, text)| earlier.has(&found, text)) {
                true => self.report_earlier(&item)?,
                false => newer.push(item),
            }
        }
        self.earlier = Some(earlier);
        Ok(newer)
    }

    fn report_earlier(&mut self, item: &ImportItem<R>) -> Result<()> {
        self.report.older += 1;
        let uid = item.record.identity();
        self.report_note(Refused {
            line: item.line,
            last_line: item.last_line,
            reason: format!(
                "an earlier version of the record with its UID ({uid}), which was changed here since: it \
                 changes nothing"
            ),
            excerpt: record_excerpt(item.record.text()),
        })
    }

    /// Saves items merged into the stored records.
    fn save_merged(&mut self, batch: Vec<ImportItem<R>>) -> Result<()> {
        let targets = self.read_targets(&batch)?;
        let mut own: Vec<(Condition, ImportItem<R>)> = Vec::new();
        for (item, target) in batch.into_iter().zip(targets) {
            let Some(target) = target else {
                match item.method.needs_stored() {
                    true => self.report_proposal(&item)?,
                    false => own.push((Condition::Always, item)),
                }
                continue;
            };
            let is_publish = item.method == Method::Publish;
            if self.options.whole_records && !item.repeated && is_publish {
                own.push((Condition::Always, item));
                continue;
            }
            let (text, shared, places) = target.text;
            let condition = Condition::IfMatch(ETag::of(&text));
            if text == item.record.text() && !item.method.needs_stored() {
                own.push((condition, item));
                continue;
            }
            let db = self.collection.db();
            let record = db.read(|conn| R::stored(conn, text, shared))?;
            let item = match item.repeated {
                true => match self.split_off(&record, item) {
                    Ok(split) => {
                        own.push((Condition::Always, split));
                        continue;
                    }
                    Err(item) => item,
                },
                false => item,
            };
            let from = shared
                .map(|row| SourceObject::stored(Some(row), &places, record.component_count()));
            let mut whole = ImportItem::new(record, item.line, item.last_line).from(from);
            whole.repeated = item.repeated;
            let is_repeated = item.repeated;
            let outcomes = self.merge_into(&mut whole, item, is_repeated)?;
            let is_idle = |o: &MergeOutcome| {
                matches!(
                    o,
                    MergeOutcome::Older | MergeOutcome::Proposal | MergeOutcome::Refused
                )
            };
            if outcomes.iter().all(is_idle) && ETag::of(whole.record.text()) == etag_of(condition) {
                continue;
            }
            match target.collection.id == self.collection.number() {
                true => own.push((condition, whole)),
                false => {
                    let other = Collection::new(self.collection.db(), target.collection);
                    self.save_items(&other, &[(condition, whole)])?;
                }
            }
        }
        self.save_items(self.collection, &own)
    }

    fn save_items(
        &mut self,
        collection: &Collection<R>,
        items: &[(Condition, ImportItem<R>)],
    ) -> Result<()> {
        let records = items
            .iter()
            .map(|(c, i)| ((&i.record, *c).into(), i.from.as_ref()));
        let results = collection.save_found(records)?;
        for ((_, item), result) in items.iter().zip(results) {
            match result {
                Ok(saved) => {
                    // An id from before the import is that of a record that came back from the trash.
                    let is_back = saved.outcome == SaveOutcome::Added && saved.id.0 <= self.latest;
                    self.report.revived += u64::from(is_back);
                    self.count_outcome(item, saved.outcome, R::CAN_MERGE && item.repeated);
                }
                // Of one record only a conflict is reported (`save_found`).
                Err(_) => self.report_refused(Refused {
                    line: item.line,
                    last_line: item.last_line,
                    reason: repeated_reason(&item.record),
                    excerpt: record_excerpt(item.record.text()),
                })?,
            }
        }
        Ok(())
    }

    /// Counts and reports a message about an entry that is not stored.
    fn report_proposal(&mut self, item: &ImportItem<R>) -> Result<()> {
        self.report.proposals += 1;
        self.report_note(Refused {
            line: item.line,
            last_line: item.last_line,
            reason: proposal_reason(&item.record),
            excerpt: record_excerpt(item.record.text()),
        })
    }

    /// Reports a part that changes nothing; its count is kept by kind.
    fn report_note(&mut self, part: Refused) -> Result<()> {
        stop_if((self.on_event)(ImportEvent::Warned(&part)))
    }
}

/// Returns the version that a condition requires.
fn etag_of(condition: Condition) -> ETag {
    match condition {
        Condition::IfMatch(etag) => etag,
        // No record has an empty text.
        _ => ETag::of(b""),
    }
}

fn proposal_reason(record: &impl RecordKind) -> String {
    format!(
        "a proposal, a question, or an answer of someone who is not listed ({}): it changes nothing",
        record.identity()
    )
}

/// A bulk fill, and its counts.
struct FillRun<'c, 'a, R> {
    conn: &'c Connection,
    fill: BulkFill<'c>,
    /// Objects that are not read to their end yet.
    objects: UnfinishedObjects,
    aside: &'a mut DeferredRecords<R>,
    added: u64,
    unchanged: u64,
}

impl<R: RecordKind> FillRun<'_, '_, R> {
    /// Adds an item and returns the outcome; `None` if it is repeated and was deferred.
    fn add(
        &mut self,
        item: &ImportItem<R>,
        derived: IndexedColumns,
    ) -> Result<Option<FillOutcome>> {
        if item.needs_stored() {
            self.put_aside(item)?;
            return Ok(None);
        }
        let one = IndexedRecord::derived(&item.record, derived).from(item.from.as_ref());
        let filled = self.fill.add(&one)?;
        match filled {
            FillOutcome::Added => {
                self.added += 1;
                self.note(item);
            }
            FillOutcome::Unchanged => self.unchanged += 1,
            FillOutcome::Known => self.put_aside(item)?,
        }
        Ok(Some(filled))
    }

    fn put_aside(&mut self, item: &ImportItem<R>) -> Result<()> {
        let from = &item.from;
        let origin = from.as_ref().map(|f| f.origin(self.conn)).transpose()?;
        self.note(item);
        self.aside.put(item, origin.as_ref())
    }

    fn note(&mut self, item: &ImportItem<R>) {
        if let Some(from) = &item.from {
            self.objects.add_unfinished(&from.object);
        }
    }
}

fn stop_if(go_on: ControlFlow<()>) -> Result<()> {
    match go_on {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped),
    }
}

fn repeated_reason(record: &impl RecordKind) -> String {
    format!(
        "an earlier {} of this input has the same UID ({}) and other content; \
         the earlier one was kept. Give this one a UID of its own to have both",
        record.noun(),
        record.identity()
    )
}

impl From<&Rejection> for Refused {
    fn from(refusal: &Rejection) -> Self {
        Self {
            line: refusal.line,
            last_line: refusal.last_line,
            reason: refusal.reason.to_string(),
            excerpt: refusal.excerpt.clone(),
        }
    }
}
