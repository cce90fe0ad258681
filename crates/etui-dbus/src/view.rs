//! [`PulledView`]: a view whose client asks for its changes.

use etui::search::filter::Filter;
use etui::search::query::{Query, SearchableRecord};
use etui::watch::{View, ViewChange, ViewChanges};
use etui::{ChangeKind, RecordId};
use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use crate::collection::change_name;
use crate::error::StoreError;
use crate::rows::{ArrayRows, ColumnList, ListedRecord, MAX_ARRAY, WireRow, row_size};

/// A change of a view's record: kind and record.
pub(crate) type WireChange = (String, WireRow);

/// The changes of a view; `None`: they are not known, or more than an array may have, and every
/// record is to be read again.
pub(crate) type PulledChanges = Option<Vec<WireChange>>;

/// A view of either kind of records.
pub(crate) trait PulledView {
    /// Returns a descriptor that is readable while there may be changes.
    fn descriptor(&self) -> Result<BorrowedFd<'_>, StoreError>;

    /// Returns the changes since the view was last read.
    fn pull_changes(&mut self, columns: &[String]) -> Result<PulledChanges, StoreError>;

    /// Returns a page, and the changes up to exactly its state.
    fn load_page(
        &mut self,
        offset: u64,
        limit: u64,
        columns: &[String],
    ) -> Result<(PulledChanges, Vec<WireRow>), StoreError>;
}

/// A view of one kind of records.
pub(crate) struct TypedView<R: ListedRecord> {
    view: View<R>,
    filter: Filter<R::Field>,
}

/// The changes that a view of `R` reports.
type ChangesOf<R> = ViewChanges<<R as SearchableRecord>::Summary, <R as SearchableRecord>::Field>;

/// A change that a view of `R` reports.
type ChangeOf<R> = ViewChange<<R as SearchableRecord>::Summary, <R as SearchableRecord>::Field>;

impl<R: ListedRecord> TypedView<R> {
    pub(crate) fn new(view: View<R>, filter: Filter<R::Field>) -> Self {
        Self { view, filter }
    }

    /// Reads in the state of the changes. An error leaves them to be reported by the next call.
    fn read<T>(
        &mut self,
        read: impl FnOnce(&ChangesOf<R>, &etui::record::Reader<R>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut failure = None;
        let result = self.view.changes_and(|changes, reader| {
            read(changes, reader).map_err(|error| {
                failure = Some(error);
                // The store needs an error of its own to go back to the changes.
                etui::Error::Stopped
            })
        });
        match (result, failure) {
            (_, Some(error)) => Err(error),
            (Ok((_, value)), None) => Ok(value),
            (Err(error), None) => Err(error.into()),
        }
    }
}

impl<R: ListedRecord> PulledView for TypedView<R> {
    fn descriptor(&self) -> Result<BorrowedFd<'_>, StoreError> {
        Ok(self.view.descriptor()?)
    }

    fn pull_changes(&mut self, columns: &[String]) -> Result<PulledChanges, StoreError> {
        let columns = ColumnList::<R>::parse(columns)?;
        self.read(|changes, reader| wire_changes(&columns, changes, reader))
    }

    fn load_page(
        &mut self,
        offset: u64,
        limit: u64,
        columns: &[String],
    ) -> Result<(PulledChanges, Vec<WireRow>), StoreError> {
        let columns = ColumnList::<R>::parse(columns)?;
        // A row has at least 24 bytes: a larger limit cannot be answered.
        let limit = limit.min(MAX_ARRAY as u64 / 24 + 1);
        let query = Query::new(self.filter.clone())
            .columns(columns.set_with(&[R::ETAG]))
            .offset(offset)
            .limit(limit);
        self.read(|changes, reader| {
            let mut page = ArrayRows::default();
            for row in reader.query(&query)?.iter() {
                page.push(columns.wire_row(row))?;
            }
            Ok((wire_changes(&columns, changes, reader)?, page.rows))
        })
    }
}

/// Returns a view's changes with the columns of their records.
fn wire_changes<R: ListedRecord>(
    columns: &ColumnList<R>,
    changes: &ChangesOf<R>,
    reader: &etui::record::Reader<R>,
) -> Result<PulledChanges, StoreError> {
    let ViewChanges::Since(changes) = changes else {
        return Ok(None);
    };
    let is_live = |change: &&ChangeOf<R>| change.kind != ChangeKind::Removed;
    let ids: Vec<RecordId> = changes.iter().filter(is_live).map(|c| c.id).collect();
    let mut rows: HashMap<RecordId, WireRow> = HashMap::new();
    let mut size = 0;
    // In parts: changes that are too many for an array are not all read.
    for ids in ids.chunks(256) {
        for row in reader
            .rows(ids.iter().copied(), columns.set_with(&[R::ETAG]))?
            .iter()
        {
            let wire = columns.wire_row(row);
            size += row_size(&wire) + 16;
            rows.insert(row.id(), wire);
        }
        if size > MAX_ARRAY {
            return Ok(None);
        }
    }
    let mut listed = Vec::with_capacity(changes.len());
    for change in changes {
        let row = rows.remove(&change.id).unwrap_or_else(|| {
            let row = columns.removed_row(change.id, &change.uid);
            size += row_size(&row) + 16;
            row
        });
        listed.push((change_name(change.kind).to_owned(), row));
    }
    Ok((size <= MAX_ARRAY).then_some(listed))
}
