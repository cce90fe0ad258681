//! [`DeferredRecords`]: records of a large import that are saved after it, in a temporary file.

use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::path::Path;

use super::run::ImportItem;
use crate::db::Db;
use crate::db::sort::ExternalSorter;
use crate::error::Result;
use crate::record::shared::SourceObject;
use crate::record::{RecordKind, RecordOrigin};
use etui_ical::Method;
use etui_text::varint;

/// Bytes kept in memory at a time.
const MOST: usize = 1 << 20;

/// Deferred records. They are returned in the order of the input; mergeable ones grouped by UID.
///
/// ```text
/// key    := uid:u64be number:u64be        uid: a hash, 0 where nothing is joined
/// value  := flags:u8 line:u64le last_line:u64le origin text
/// flags  := repeated | method << 1
/// origin := 0x00 | 0x01 shared:varint length:varint places
/// ```
pub(super) struct DeferredRecords<R> {
    items: ExternalSorter,
    count: u64,
    hasher: RandomState,
    records: PhantomData<R>,
}

impl<R: RecordKind> DeferredRecords<R> {
    pub(super) fn beside(store: &Path) -> Result<Self> {
        Ok(Self {
            items: ExternalSorter::new(store, MOST)?,
            count: 0,
            hasher: RandomState::new(),
            records: PhantomData,
        })
    }

    pub(super) fn put(
        &mut self,
        item: &ImportItem<R>,
        origin: Option<&RecordOrigin>,
    ) -> Result<()> {
        self.count += 1;
        // Records that are not merged stay in the order of the input, without a sort.
        let uid = match R::CAN_MERGE {
            true => self.hasher.hash_one(item.record.identity().as_bytes()),
            false => 0,
        };
        let origin = origin.and_then(|o| Some((o.source?, &o.positions)));
        let mut from = vec![u8::from(origin.is_some())];
        if let Some((shared, places)) = origin {
            varint::push_u64(&mut from, shared.cast_unsigned());
            varint::push_bytes(&mut from, places);
        }
        // The count keeps the records of one UID in the order of the input.
        self.items.push(
            &[uid.to_be_bytes(), self.count.to_be_bytes()].concat(),
            &[
                &[u8::from(item.repeated) | (item.method as u8) << 1],
                &item.line.to_le_bytes(),
                &item.last_line.to_le_bytes(),
                &from,
                item.record.text(),
            ],
        )
    }

    /// Calls `visit` with each record.
    pub(super) fn for_each(
        self,
        db: &Db,
        mut visit: impl FnMut(ImportItem<R>) -> Result<()>,
    ) -> Result<()> {
        let see = |_: &[u8], value: &[u8]| {
            let number = |at: usize| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&value[at..at + 8]);
                u64::from_le_bytes(bytes)
            };
            // Before it: a byte of flags, two line numbers, and a byte for the source.
            let mut text = &value[18..];
            let origin = match value[17] {
                0 => None,
                _ => varint::take_u64(&mut text).zip(varint::take_bytes(&mut text)),
            };
            let origin = origin.map(|(shared, places)| (shared.cast_signed(), places));
            let text = text.to_vec();
            let record = db.read(|conn| R::stored(conn, text, origin.map(|o| o.0)))?;
            let from = origin.map(|(shared, places)| {
                let components = record.component_count();
                SourceObject::stored(Some(shared), places, components)
            });
            let mut item = ImportItem::new(record, number(1), number(9)).from(from);
            item.repeated = value[0] & 1 == 1;
            let method = Method::ALL.get(usize::from(value[0] >> 1));
            item.method = method.copied().unwrap_or_default();
            visit(item)
        };
        match R::CAN_MERGE {
            true => self.items.for_each_sorted(see),
            false => self.items.for_each_unsorted(see),
        }
    }
}
