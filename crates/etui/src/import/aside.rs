//! Records put aside during a large import, on disk: there may be as many as the input has.

use std::marker::PhantomData;
use std::path::Path;

use super::Item;
use crate::collection::Record;
use crate::engine::spill::Sorter;
use crate::error::Result;

/// Bytes kept in memory at a time.
const MOST: usize = 1 << 20;

/// Records put aside, in the order in which they came.
///
/// ```text
/// key   := number:u64be                  so that they come out as they went in
/// value := repeated:u8 line:u64le last_line:u64le text
/// ```
pub(super) struct Aside<R> {
    items: Sorter,
    count: u64,
    records: PhantomData<R>,
}

impl<R: Record> Aside<R> {
    pub(super) fn beside(store: &Path) -> Result<Self> {
        Ok(Self {
            items: Sorter::new(store, MOST)?,
            count: 0,
            records: PhantomData,
        })
    }

    pub(super) fn put(&mut self, item: &Item<R>) -> Result<()> {
        self.count += 1;
        self.items.push(
            &self.count.to_be_bytes(),
            &[
                &[u8::from(item.repeated)],
                &item.line.to_le_bytes(),
                &item.last_line.to_le_bytes(),
                item.record.text(),
            ],
        )
    }

    /// Calls `visit` with each.
    pub(super) fn each(self, mut visit: impl FnMut(Item<R>) -> Result<()>) -> Result<()> {
        self.items.in_turn(|_, value| {
            let number = |at: usize| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&value[at..at + 8]);
                u64::from_le_bytes(bytes)
            };
            visit(Item {
                repeated: value[0] == 1,
                line: number(1),
                last_line: number(9),
                record: R::read(value[17..].to_vec())?,
            })
        })
    }
}
