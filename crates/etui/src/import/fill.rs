//! [`BulkFill`]: many new records in one transaction, written in the order of each B-tree.
//!
//! Saved one by one, records would touch every page of every B-tree again and again. Here they are
//! appended; the entries of lists and index are sorted in a temporary file (`db::sort`) and written
//! at the end, in key order. In an empty store even the UID index is created last. The transaction
//! is invisible until its commit, and an interruption leaves the store unchanged.

use std::path::Path;

use rusqlite::Connection;

use crate::db::metadata;
use crate::db::sort::ExternalSorter;
use crate::error::Result;
use crate::record::prepared::IndexedRecord;
use crate::record::{changes, list, records, steps};
use crate::search::index::bulk::BulkIndexer;
use crate::search::index::merge::merge_within;
use crate::types::ETag;
use etui_text::collator::Collator;

/// Bytes of list entries that are sorted in memory at a time.
const MOST: usize = 5 << 20;

/// The outcome of adding a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FillOutcome {
    /// It was added.
    Added,
    /// It exists with this content.
    Unchanged,
    /// It exists with other content, or in the trash; it was not added.
    Known,
}

/// A bulk fill, inside a write transaction.
pub(crate) struct BulkFill<'c> {
    conn: &'c Connection,
    collection: i64,
    order: &'c Collator,
    /// The store had no records.
    new: bool,
    /// The sequence number before the first record.
    before: i64,
    last: i64,
    entries: ExternalSorter,
    index: BulkIndexer,
}

impl<'c> BulkFill<'c> {
    /// Begins to fill a collection of the store at `path`.
    pub(crate) fn begin(
        conn: &'c Connection,
        path: &Path,
        collection: i64,
        order: &'c Collator,
    ) -> Result<Self> {
        let last = changes::latest_seq(conn)?;
        let new = last == 0;
        if new {
            // Created again at the end, sorted, which also finds duplicate UIDs.
            conn.execute_batch("DROP INDEX record_uid")?;
        } else {
            // The watermarks are sequence numbers, so pending records are merged first.
            merge_within(conn)?;
        }
        Ok(Self {
            conn,
            collection,
            order,
            new,
            before: last,
            last,
            entries: ExternalSorter::new(path, MOST)?,
            index: BulkIndexer::new(path)?,
        })
    }

    /// Adds a record if there is none with its UID. In an empty store the caller checks that no UID
    /// is repeated.
    pub(crate) fn add(&mut self, new: &IndexedRecord<'_>) -> Result<FillOutcome> {
        let etag = ETag::of(new.text);
        if !self.new
            && let Some(found) = records::find_record(self.conn, self.collection, new.uid())?
        {
            let same =
                found.etag == etag && !found.removed && records::is_same(self.conn, found.id, new)?;
            return Ok(if same {
                FillOutcome::Unchanged
            } else {
                FillOutcome::Known
            });
        }
        self.last += 1;
        let id = self.last;
        records::insert_record(self.conn, self.collection, id, etag, new)?;
        self.entries.push(
            &new.derived.sort_key,
            &[&id.to_be_bytes(), &new.derived.summary],
        )?;
        self.index.add_record(id, &new.derived.keys)?;
        Ok(FillOutcome::Added)
    }

    /// Writes lists and index. `on_step` is called now and then, and stops the fill by an error.
    pub(crate) fn finish(self, on_step: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let mut edits = list::ListEdits::default();
        let bounds = self.order.label_bounds();
        self.entries.for_each_sorted(|sort, value| {
            let mut id = [0; 8];
            id.copy_from_slice(&value[..8]);
            edits.put(self.collection, sort, i64::from_be_bytes(id), &value[8..]);
            if edits.is_full() {
                edits.write(self.conn, bounds)?;
                on_step()?;
            }
            Ok(())
        })?;
        edits.write(self.conn, bounds)?;
        self.index.write_index(self.conn, self.new, on_step)?;
        for mark in [metadata::TERM_WATERMARK, metadata::TRIGRAM_WATERMARK] {
            metadata::set(self.conn, mark, self.last)?;
        }
        if self.last > self.before {
            steps::record_changes(self.conn, self.before + 1, self.last)?;
        }
        if self.new {
            on_step()?;
            self.conn
                .execute_batch("CREATE UNIQUE INDEX record_uid ON record (collection, uid)")?;
        }
        Ok(())
    }
}
