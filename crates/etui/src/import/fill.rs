//! FillRun: many new records in one transaction, everything about them written in its order.
//!
//! Record by record they would touch every page of every B-tree again and again. Here the records
//! are appended, and what lists and index hold of them is sorted beside the store
//! (`engine::spill`) and written at the end, in the order of the file. Of an empty store even the
//! UID index is made last. Until the transaction is committed nobody sees any of it, and whatever
//! cuts it off leaves the store as it was.

use std::path::Path;

use rusqlite::Connection;

use crate::db::metadata;
use crate::db::sort::ExternalSorter;
use crate::error::Result;
use crate::record::records::{self, RecordRow};
use crate::record::{changes, list};
use crate::search::index::bulk::BulkIndexer;
use crate::search::index::merge::merge_within;
use crate::types::ETag;
use etui_text::collator::Collator;

/// Bytes of list entries that are sorted in memory at a time.
const MOST: usize = 5 << 20;

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FillOutcome {
    /// It is new.
    Added,
    /// It was there with this very text.
    Unchanged,
    /// There is one with its UID, and other content or in the trash: it was not added.
    Known,
}

/// A filling, inside a write transaction.
pub(crate) struct BulkFill<'c> {
    conn: &'c Connection,
    collection: i64,
    order: &'c Collator,
    /// The store had no records.
    new: bool,
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
            // Rebuilt at the end, sorted, which also finds duplicate UIDs.
            conn.execute_batch("DROP INDEX record_uid")?;
        } else {
            // The marks say how far the index is by numbers; so what is pending goes in first.
            merge_within(conn)?;
        }
        Ok(Self {
            conn,
            collection,
            order,
            new,
            last,
            entries: ExternalSorter::new(path, MOST)?,
            index: BulkIndexer::new(path)?,
        })
    }

    /// Adds a record if there is none with its UID. Of an empty store, the caller sees to it that
    /// no UID comes twice.
    pub(crate) fn add(&mut self, new: &RecordRow<'_>) -> Result<FillOutcome> {
        let etag = ETag::of(new.text);
        if !self.new
            && let Some(found) = records::find_record(self.conn, self.collection, new.uid)?
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
        self.entries
            .push(new.sort, &[&id.to_be_bytes(), new.summary])?;
        self.index.add_record(id, new.keys)?;
        Ok(FillOutcome::Added)
    }

    /// Writes lists and index. `on_step` is called now and then and may end it by an error.
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
        if self.new {
            on_step()?;
            self.conn
                .execute_batch("CREATE UNIQUE INDEX record_uid ON record (collection, uid)")?;
        }
        Ok(())
    }
}
