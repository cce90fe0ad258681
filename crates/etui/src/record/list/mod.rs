//! Lists: the live records of a collection in order, counted.
//!
//! ```text
//! list_span   (collection, first) -> count, blocks    up to SPAN_BLOCKS blocks in a row
//! list_block  id -> collection, first, entries        up to BLOCK_BYTES of entries (`block`)
//! list_order  (collection, first) -> list_block.id
//! blocks      := u16le*                               entries of each block of the span
//! place       := sort 0x00 id:u64be                   where an entry stands; bytes compare
//! ```
//!
//! A block holds the entries from its `first` to the next block's; `first` is a bound that stays
//! while entries come and go. The spans count the entries of their blocks, up to seven thousand:
//! position N is found by adding a few hundred counts of spans and blocks, at any size. No span
//! holds names of two letters ([`etui_text::collator::Collator`] has the bounds of letters), so the
//! spans alone give the position of each letter.
//!
//! One new entry changes one block and one span: two pages of the file.

pub(crate) mod block;
mod edit;
mod read;

pub(crate) use edit::{ListEdits, clear_lists};
pub(crate) use read::{
    count, find_position, for_each_block, label_positions, position, read_spans,
};

/// Returns the list key of `(sort, id)`. Sort keys have no zero byte, so list keys order as the
/// pairs do.
pub(crate) fn list_key(sort: &[u8], id: i64) -> Vec<u8> {
    let mut place = Vec::with_capacity(sort.len() + 9);
    place.extend_from_slice(sort);
    place.push(0);
    place.extend_from_slice(&id.to_be_bytes());
    place
}

/// Maximum size of a block in bytes. With `first`, whose sort key is of at most 96 characters, it
/// fits the longest table cell of a 4 kB page without overflow (4,061 bytes).
const BLOCK_BYTES: usize = 3_300;
/// Maximum number of blocks of a span.
const SPAN_BLOCKS: usize = 192;

/// Decodes the counts of a span's blocks.
pub(crate) fn decode_counts(blocks: &[u8]) -> Vec<u16> {
    blocks
        .chunks_exact(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;

    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;

    const BOOK: i64 = 3;

    fn letters_of_test() -> Vec<Vec<u8>> {
        vec![b"b".to_vec(), b"f".to_vec(), b"ff".to_vec(), b"x".to_vec()]
    }

    type Model = BTreeMap<(Vec<u8>, i64), Vec<u8>>;

    /// Compares all reads of a list with the model.
    fn compare(conn: &Connection, model: &Model) {
        let entries: Vec<_> = model.iter().collect();
        assert_eq!(count(conn, BOOK).unwrap(), entries.len() as u64);
        let mut walked = Vec::new();
        for_each_block(conn, BOOK, &[], false, |block| {
            let mut sorts = Vec::new();
            block.for_each_sort_key(|s| {
                sorts.push(s.to_vec());
                true
            });
            for ((sort, id), summary) in sorts.into_iter().zip(block.ids()).zip(block.summaries()) {
                walked.push(((sort, id), summary.to_vec()));
            }
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert!(
            walked
                .iter()
                .map(|(k, v)| (k, v))
                .eq(entries.iter().copied())
        );
        let mut back = Vec::new();
        for_each_block(conn, BOOK, &[0xff], true, |block| {
            let ids: Vec<_> = block.ids().collect();
            back.extend(ids.into_iter().rev());
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert!(back.iter().eq(entries.iter().rev().map(|((_, id), _)| id)));
        for step in 0..=20 {
            let at = entries.len() * step / 20;
            let found = find_position(conn, BOOK, at as u64).unwrap();
            let Some(((sort, id), _)) = entries.get(at) else {
                assert_eq!(found, None);
                continue;
            };
            let (first, skip) = found.unwrap();
            let mut there = None;
            for_each_block(conn, BOOK, &first, false, |block| {
                there = block.ids().nth(skip);
                Ok(ControlFlow::Break(()))
            })
            .unwrap();
            assert_eq!(there, Some(*id), "position {at}");
            assert_eq!(position(conn, BOOK, sort, *id).unwrap(), at as u64);
        }
        let positions = label_positions(conn, BOOK, &letters_of_test()).unwrap();
        let expected = letters_of_test()
            .iter()
            .map(|l| entries.iter().filter(|((s, _), _)| s < l).count() as u64)
            .collect::<Vec<_>>();
        assert_eq!(positions, expected);
        let all = read_spans(conn, BOOK).unwrap();
        assert!(
            all.iter()
                .all(|s| s.blocks.len() <= 2 * SPAN_BLOCKS && s.count <= 1 << 16)
        );
    }

    fn empty() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        crate::db::schema::Migrations(&[]).run(&conn, 0).unwrap();
        conn
    }

    fn sort_key() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => prop::collection::vec(b'a'..=b'z', 1..4),
            1 => prop::collection::vec(1u8..=0xfe, 0..60),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_list_is_an_ordered_map(
            batches in prop::collection::vec(
                prop::collection::vec((sort_key(), 1i64..200, prop::option::of(0usize..700)), 1..120),
                1..12),
        ) {
            let conn = empty();
            let mut model = Model::new();
            for batch in batches {
                let mut edits = ListEdits::default();
                for (sort, id, summary) in batch {
                    match summary {
                        Some(length) => {
                            let summary = vec![b's'; length];
                            edits.put(BOOK, &sort, id, &summary);
                            model.insert((sort, id), summary);
                        }
                        None => {
                            edits.remove(BOOK, &sort, id);
                            model.remove(&(sort, id));
                        }
                    }
                }
                edits.write(&conn, &letters_of_test()).unwrap();
                compare(&conn, &model);
            }
        }
    }

    /// Several spans, filled at once and one by one, and emptied again.
    #[test]
    fn many_entries_make_many_spans() {
        let conn = empty();
        let mut model = Model::new();
        let mut edits = ListEdits::default();
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        };
        for round in 0..3 {
            for id in 0..6_000i64 {
                let sort = format!("{:06}", next() % 900_000 + 100_000).into_bytes();
                let sort: Vec<u8> = sort.iter().map(|d| d - b'0' + b'c').collect();
                let summary = vec![b's'; (next() % 90) as usize + 20];
                edits.put(BOOK, &sort, id, &summary);
                model.insert((sort, id), summary);
                if round == 1 && id % 5 == 0 {
                    edits.write(&conn, &letters_of_test()).unwrap();
                }
            }
            edits.write(&conn, &letters_of_test()).unwrap();
            compare(&conn, &model);
        }
        assert!(read_spans(&conn, BOOK).unwrap().len() > 4);
        let keys: Vec<_> = model.keys().cloned().collect();
        for (n, (sort, id)) in keys.iter().enumerate() {
            if n % 97 != 0 {
                edits.remove(BOOK, sort, *id);
                model.remove(&(sort.clone(), *id));
            }
        }
        edits.write(&conn, &letters_of_test()).unwrap();
        compare(&conn, &model);
        for (sort, id) in model.keys() {
            edits.remove(BOOK, sort, *id);
            edits.write(&conn, &letters_of_test()).unwrap();
        }
        compare(&conn, &Model::new());
        let rows: i64 = conn
            .query_row(
                "SELECT (SELECT count(*) FROM list_block) + (SELECT count(*) FROM list_span)",
                [],
                |r| r.get(0),
            )
            .unwrap();
        assert!(rows <= 12, "{rows} rows are left of an empty list");
    }
}
