//! [`TypedCollection`]: the calls on a collection of one kind of records.

use etui::CollectionId;
use std::io::Read;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::time::SystemTime;

use etui::import::{ImportEvent, ImportReport};
use etui::record::{Collection, Version, VersionKind};
use etui::search::filter::{Filter, FilterError};
use etui::search::query::{ColumnSet, Columns, Query, SearchableRecord, SortOrder};
use etui::store::CollectionKey;
use etui::{Changes, Condition, ETag, Error, SavedRecord, Store, SyncToken};

use crate::collection::{
    ChangePage, CollectionCalls, ListCalls, QueryEnd, QueryOptions, SavedRow, SavedRows,
    WireVersion, bad_option, change_name,
};
use crate::descriptor::RowFile;
use crate::error::{ErrorKind, StoreError};
use crate::rows::{ColumnList, ListedRecord, MAX_ARRAY, RowTarget, ServedRecord, wire_id};
use crate::view::{PulledView, TypedView};

/// Records that are read from the store at once: bounds the memory of an answer by descriptor.
const PAGE_WITH_TEXTS: u64 = 2_048;
const PAGE_OF_SUMMARIES: u64 = 16_384;

/// A collection of one kind.
pub(crate) struct TypedCollection<R> {
    id: CollectionId,
    records: PhantomData<fn() -> R>,
}

impl<R: ListedRecord> TypedCollection<R> {
    pub(crate) fn new(id: CollectionId) -> Self {
        Self {
            id,
            records: PhantomData,
        }
    }

    fn open(&self, store: &Store) -> Result<Collection<R>, StoreError> {
        Ok(store.collection(CollectionKey::Id(self.id))?)
    }

    fn query(
        &self,
        filter: &str,
        options: &QueryOptions,
    ) -> Result<(Query<R::Column>, ColumnList<R>), StoreError> {
        let columns = match &options.columns {
            Some(names) => ColumnList::<R>::parse(names)?,
            None => ColumnList::parse(&summary_names::<R>())?,
        };
        let sort = match &options.sort {
            Some(name) => {
                SortOrder::from_name::<R::Column>(name).map_err(|e| bad_option("sort", e))?
            }
            None => SortOrder::List,
        };
        let filter = parse_filter::<R>(filter)?;
        let query = match options.is_ranked {
            true => Query::ranked(filter),
            false => Query::new(filter).sort(sort),
        };
        Ok((query.columns(columns.set_with(&[R::ETAG])), columns))
    }
}

impl<R: ListedRecord> ListCalls for TypedCollection<R> {
    fn count_matching(&self, store: &Store, filter: &str) -> Result<u64, StoreError> {
        let collection = self.open(store)?;
        match parse_filter::<R>(filter)? {
            Filter::All => Ok(collection.count()?),
            filter => {
                let query = Query::new(filter).columns(Columns::NONE);
                Ok(collection.query(&query.sort(SortOrder::Unordered))?.len() as u64)
            }
        }
    }

    fn read_records(
        &self,
        store: &Store,
        uids: &[String],
        columns: &[String],
        target: &mut RowTarget,
    ) -> Result<Vec<String>, StoreError> {
        let columns = ColumnList::<R>::parse(columns)?;
        let collection = self.open(store)?;
        let set = columns.set_with(&[R::UID, R::ETAG]);
        let mut missing = Vec::new();
        // A bounded number at once: an answer that is too large is refused before all is read.
        for uids in uids.chunks(PAGE_WITH_TEXTS as usize) {
            let rows = collection.rows(uids, set)?;
            let mut rows = rows.iter().peekable();
            for uid in uids {
                match rows.next_if(|row| row.get(R::UID) == uid) {
                    Some(row) => target.push(&columns, row)?,
                    None => missing.push(uid.clone()),
                }
            }
        }
        Ok(missing)
    }

    fn run_query(
        &self,
        store: &Store,
        filter: &str,
        mut options: QueryOptions,
        target: &mut RowTarget,
    ) -> Result<QueryEnd, StoreError> {
        let (query, columns) = self.query(filter, &options)?;
        let unordered = options.sort.as_deref() == Some("none");
        // Pages need an order with cursors; where none is asked for, any will do.
        let query = match unordered {
            true => query.sort(SortOrder::Added),
            false => query,
        };
        let page = match columns.reads_texts() {
            true => PAGE_WITH_TEXTS,
            false => PAGE_OF_SUMMARIES,
        };
        let snapshot = store.snapshot()?;
        let reader = snapshot.collection::<R>(CollectionKey::Id(self.id))?;
        let mut end = QueryEnd::default();
        let (mut left, mut after) = (options.limit, options.after.take());
        let mut offset = options.offset;
        while left > 0 {
            let limit = left.min(page);
            let mut part = query.clone().limit(limit).offset(offset);
            if let Some(cursor) = after.take() {
                part = part.after(cursor);
            }
            let rows = reader.query(&part)?;
            for row in rows.iter() {
                target.push(&columns, row)?;
            }
            left -= rows.len() as u64;
            offset = 0;
            after = rows.next().cloned();
            if after.is_none() || (rows.len() as u64) < limit {
                break;
            }
        }
        if let Some(cursor) = after.filter(|_| left == 0 && !unordered) {
            end.next = cursor.to_string();
        }
        if options.count {
            end.count = match query.filter() {
                Filter::All => reader.count()?,
                filter => {
                    let all = Query::new(filter.clone()).columns(Columns::NONE);
                    reader.query(&all.sort(SortOrder::Unordered))?.len() as u64
                }
            };
        }
        Ok(end)
    }

    fn correct_filter(&self, store: &Store, filter: &str) -> Result<Option<String>, StoreError> {
        let filter = parse_filter::<R>(filter)?;
        let corrected = self.open(store)?.correct(&filter)?;
        Ok(corrected.map(|corrected| corrected.filter.to_string()))
    }

    fn explain_query(
        &self,
        store: &Store,
        filter: &str,
        options: QueryOptions,
    ) -> Result<String, StoreError> {
        let (query, _) = self.query(filter, &options)?;
        let mut query = query.limit(options.limit).offset(options.offset);
        if let Some(cursor) = options.after {
            query = query.after(cursor);
        }
        Ok(self.open(store)?.explain(&query)?.to_string())
    }

    fn changes_since(
        &self,
        store: &Store,
        token: &str,
        limit: u64,
    ) -> Result<ChangePage, StoreError> {
        let token: SyncToken = token.parse().map_err(|e: etui::InvalidSyncToken| {
            StoreError::new(ErrorKind::BadArgument, e.to_string())
        })?;
        let collection = self.open(store)?;
        // Read before the changes: a later change is then listed again, not lost.
        let now = store.token()?;
        let Changes::Since(mut changes) = collection.changes_since(&token)? else {
            return Err(StoreError::new(
                ErrorKind::Resynchronise,
                "the token is too old or of another store; read all records, then use a new token",
            ));
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = changes.len() > limit;
        changes.truncate(limit);
        let last = changes.last().map_or(token.seq, |change| change.seq);
        let seq = if more { last } else { last.max(now.seq) };
        let mut size = 0;
        let listed: Vec<_> = changes
            .into_iter()
            .map(|change| {
                size += change.uid.len() + 40;
                (change.uid, change_name(change.kind), wire_id(change.id))
            })
            .collect();
        if size > MAX_ARRAY {
            return Err(StoreError::too_large());
        }
        Ok((listed, SyncToken { seq, ..now }.to_string(), more))
    }

    fn open_view<'s>(
        &self,
        store: &'s Store,
        filter: &str,
    ) -> Result<Box<dyn PulledView + 's>, StoreError> {
        let filter = parse_filter::<R>(filter)?;
        let view = self.open(store)?.view(&filter)?;
        Ok(Box::new(TypedView::new(view, filter)))
    }
}

impl<R: ServedRecord> CollectionCalls for TypedCollection<R> {
    fn name(&self, store: &Store) -> Result<String, StoreError> {
        Ok(self.open(store)?.name().to_owned())
    }

    fn rename(&self, store: &Store, name: &str) -> Result<(), StoreError> {
        store
            .collections::<R>()
            .rename(CollectionKey::Id(self.id), name)?;
        Ok(())
    }

    fn remove_collection(&self, store: &Store, records: Option<u64>) -> Result<(), StoreError> {
        match records {
            None => store
                .collections::<R>()
                .remove(CollectionKey::Id(self.id))?,
            Some(records) => store.collections().remove_if(&self.open(store)?, records)?,
        };
        Ok(())
    }

    fn read_raw(
        &self,
        store: &Store,
        uids: &[String],
        file: &mut RowFile,
    ) -> Result<(), StoreError> {
        let collection = self.open(store)?;
        let set = Columns::from(R::UID) | R::Column::TEXT;
        for uids in uids.chunks(PAGE_WITH_TEXTS as usize) {
            for row in collection.rows(uids, set)?.iter() {
                let values = [row.get(R::UID).as_bytes(), row.text()];
                file.push_row(wire_id(row.id()), values.iter())?;
            }
        }
        Ok(())
    }

    fn save_records(
        &self,
        store: &Store,
        records: Vec<(String, String)>,
        all: bool,
    ) -> Result<SavedRows, StoreError> {
        let mut parsed = Vec::with_capacity(records.len());
        for (index, (text, condition)) in records.into_iter().enumerate() {
            let bad = |message: String| {
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                StoreError::new(ErrorKind::BadRecord(index), message)
            };
            let condition = parse_condition(&condition, true).map_err(bad)?;
            parsed.push((R::parse_record(text).map_err(bad)?, condition));
        }
        let collection = self.open(store)?;
        let batch: Vec<(&R, Condition)> = parsed.iter().map(|(r, c)| (r, *c)).collect();
        let results = match all {
            true => collection.save_many(&batch)?.into_iter().map(Ok).collect(),
            false => collection.save_each(&batch)?,
        };
        let rows = parsed.iter().zip(results).map(|((record, _), result)| {
            let saved = match result {
                Ok(saved) => saved,
                Err(Error::Conflict { uid, found, .. }) => {
                    let etag = found.map(|etag| etag.to_string());
                    return Ok((0, uid, etag.unwrap_or_default()));
                }
                Err(error) => return Err(error.into()),
            };
            let uid = match record.own_uid() {
                Some(uid) => uid.to_owned(),
                // The store made an identity from its content.
                None => match collection.get(saved.id)? {
                    Some(stored) => stored.uid,
                    None => String::new(),
                },
            };
            Ok(saved_row(saved, uid))
        });
        rows.collect()
    }

    fn remove_records(
        &self,
        store: &Store,
        records: Vec<(String, String)>,
    ) -> Result<(), StoreError> {
        let batch = parse_conditions(records)?;
        Ok(self.open(store)?.remove_all_if(&batch)?)
    }

    fn transfer_records(
        &self,
        store: &Store,
        records: Vec<(String, String)>,
        target: CollectionId,
        is_move: bool,
    ) -> Result<SavedRows, StoreError> {
        let batch = parse_conditions(records)?;
        let from = self.open(store)?;
        let target = store.collection::<R>(CollectionKey::Id(target))?;
        let saved = match is_move {
            true => from.move_all_if(&batch, &target)?,
            false => from.copy_all_if(&batch, &target)?,
        };
        let rows = batch.into_iter().zip(saved);
        Ok(rows
            .map(|((uid, _), saved)| saved_row(saved, uid))
            .collect())
    }

    fn restore_records(&self, store: &Store, uids: &[String]) -> Result<Vec<String>, StoreError> {
        let restored = self.open(store)?.restore_many(uids)?;
        let pairs = uids.iter().zip(restored);
        let missing = pairs.filter(|(_, saved)| saved.is_none());
        Ok(missing.map(|(uid, _)| uid.clone()).collect())
    }

    fn list_versions(&self, store: &Store, uid: &str) -> Result<Vec<WireVersion>, StoreError> {
        let versions = self.open(store)?.history(uid)?;
        let listed = versions.into_iter().map(|version| {
            let at = version.at.map_or(0, seconds_since_epoch);
            let kind = version_name(version.kind).to_owned();
            (version.number, at, kind, version.is_current)
        });
        Ok(listed.collect())
    }

    fn read_version(&self, store: &Store, uid: &str, number: i64) -> Result<Vec<u8>, StoreError> {
        let collection = self.open(store)?;
        let found = match find_version(&collection, uid, number)? {
            Some(version) => collection.read_version(&version)?,
            None => None,
        };
        let record = found.ok_or_else(|| no_version(uid, number))?;
        Ok(record.text)
    }

    fn bring_back(&self, store: &Store, uid: &str, number: i64) -> Result<SavedRow, StoreError> {
        let collection = self.open(store)?;
        let version = find_version(&collection, uid, number)?;
        let version = version.ok_or_else(|| no_version(uid, number))?;
        Ok(saved_row(collection.bring_back(&version)?, uid.to_owned()))
    }

    fn import_stream(
        &self,
        store: &Store,
        input: Box<dyn Read>,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> etui::Result<ImportReport> {
        R::import_stream(
            &store.collection(CollectionKey::Id(self.id))?,
            input,
            on_event,
        )
    }
}

/// Returns a saved record as it is sent.
pub(crate) fn saved_row(saved: SavedRecord, uid: String) -> SavedRow {
    (wire_id(saved.id), uid, saved.etag.to_string())
}

/// Finds a kept version of a record by its number.
fn find_version<R: ServedRecord>(
    collection: &Collection<R>,
    uid: &str,
    number: i64,
) -> Result<Option<Version>, StoreError> {
    let versions = collection.history(uid)?;
    Ok(versions.into_iter().find(|one| one.number == number))
}

fn no_version(uid: &str, number: i64) -> StoreError {
    let message = format!("\"{uid}\" has no version {number}; History lists those that are kept");
    StoreError::new(ErrorKind::NotFound, message)
}

/// Returns the name of the change that made a version.
fn version_name(kind: VersionKind) -> &'static str {
    match kind {
        VersionKind::Added => "added",
        VersionKind::Edited => "edited",
        VersionKind::Removed => "removed",
        VersionKind::Restored => "restored",
        VersionKind::Earlier => "earlier",
    }
}

/// Returns a time in seconds since 1970; those before are 0.
pub(crate) fn seconds_since_epoch(time: SystemTime) -> i64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Parses UIDs, each with an ETag or an empty text.
pub(crate) fn parse_conditions(
    records: Vec<(String, String)>,
) -> Result<Vec<(String, Condition)>, StoreError> {
    let parsed = records.into_iter().map(|(uid, etag)| {
        let condition = parse_condition(&etag, false)
            .map_err(|message| StoreError::new(ErrorKind::BadArgument, message))?;
        Ok((uid, condition))
    });
    parsed.collect()
}

/// Parses a filter; an empty text selects all records.
pub(crate) fn parse_filter<R: ListedRecord>(
    text: &str,
) -> Result<Filter<<R as SearchableRecord>::Field>, StoreError> {
    if text.trim().is_empty() {
        return Ok(Filter::All);
    }
    text.parse()
        .map_err(|e: FilterError| StoreError::from(Error::Filter(e)))
}

/// Parses a condition: nothing, an ETag or, of a save, `absent`.
fn parse_condition(text: &str, is_save: bool) -> Result<Condition, String> {
    match text {
        "" => Ok(Condition::Always),
        "absent" if is_save => Ok(Condition::IfAbsent),
        etag => match etag.parse::<ETag>() {
            Ok(etag) => Ok(Condition::IfMatch(etag)),
            Err(_) if is_save => Err("a condition is empty, `absent` or an ETag".to_owned()),
            Err(error) => Err(error.to_string()),
        },
    }
}

/// Returns the names of the columns that a query shows if none are asked for.
fn summary_names<R: ListedRecord>() -> Vec<String> {
    let names = R::Column::NAMES.iter();
    names
        .filter(|(_, column)| Columns::<R::Column>::SUMMARY.contains(*column))
        .map(|(name, _)| (*name).to_owned())
        .collect()
}
