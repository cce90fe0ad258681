//! Records of posting lists in ascending order, read only as far as they are asked for.

use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, OptionalExtension};

use super::look::Look;
use super::postings::{self, decode};
use crate::error::Result;

/// The key of a posting list.
#[derive(Clone)]
enum Key {
    Term(Vec<u8>),
    Gram(i64),
}

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Term(term) => term.to_sql(),
            Self::Gram(gram) => gram.to_sql(),
        }
    }
}

/// Ascending ids.
pub(crate) enum Stream {
    /// Those of a posting list.
    List(List),
    /// Those of any of them.
    Any(Vec<Stream>),
    /// Those that are in all of them.
    All(Vec<Stream>),
}

/// A posting list, a row of it at a time.
pub(crate) struct List {
    key: Key,
    /// What was read of it, and how far it is used up.
    ids: Vec<i64>,
    at: usize,
    /// Nothing is left of it.
    ended: bool,
}

impl Stream {
    /// The stream of a look. Of a look for all of several things, those that are no lists are
    /// left to be compared. `None`: what it finds is not in order.
    pub(crate) fn of(look: &Look) -> Option<Self> {
        let list = |key| {
            Some(Self::List(List {
                key,
                ids: Vec::new(),
                at: 0,
                ended: false,
            }))
        };
        match look {
            Look::Term(term) => list(Key::Term(term.clone())),
            Look::Gram(gram) => list(Key::Gram(*gram)),
            Look::Any(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(Self::of).collect();
                parts.map(Self::Any)
            }
            Look::All(parts) => {
                let parts: Vec<_> = parts.iter().filter_map(Self::of).collect();
                (!parts.is_empty()).then_some(Self::All(parts))
            }
            Look::Prefix(_) | Look::Inside(..) | Look::GramRange(_) => None,
        }
    }

    /// The least id that is not below `least`, which is not below what was asked for before.
    pub(crate) fn seek(&mut self, conn: &Connection, least: i64) -> Result<Option<i64>> {
        match self {
            Self::List(list) => list.seek(conn, least),
            Self::Any(parts) => {
                let mut next: Option<i64> = None;
                for part in parts {
                    let id = part.seek(conn, least)?;
                    next = next.into_iter().chain(id).min();
                }
                Ok(next)
            }
            Self::All(parts) => {
                let mut wanted = least;
                'again: loop {
                    for part in parts.iter_mut() {
                        match part.seek(conn, wanted)? {
                            None => return Ok(None),
                            Some(id) if id > wanted => {
                                wanted = id;
                                continue 'again;
                            }
                            Some(_) => {}
                        }
                    }
                    return Ok(Some(wanted));
                }
            }
        }
    }
}

impl List {
    fn seek(&mut self, conn: &Connection, least: i64) -> Result<Option<i64>> {
        if let Some(id) = self.ahead(least) {
            return Ok(Some(id));
        }
        if self.ended {
            return Ok(None);
        }
        // The row that `least` would be in, and if all of it is below, the one behind.
        for row in [postings::BLOCK_BEFORE, postings::BLOCK_BEHIND] {
            let mut ids = std::mem::take(&mut self.ids);
            ids.clear();
            self.at = 0;
            conn.prepare_cached(row)?
                .query_row((&self.key, least), |r| {
                    let row = r.get_ref(1)?.as_blob().unwrap_or_default();
                    decode(r.get(0)?, row, |id| {
                        ids.push(id);
                        true
                    });
                    Ok(())
                })
                .optional()?;
            self.ids = ids;
            if let Some(id) = self.ahead(least) {
                return Ok(Some(id));
            }
        }
        self.ended = true;
        Ok(None)
    }

    /// The least id of what was read that is not below `least`.
    fn ahead(&mut self, least: i64) -> Option<i64> {
        let rest = self.ids.get(self.at..)?;
        self.at += rest.partition_point(|&id| id < least);
        self.ids.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::search::index::postings::Edit;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn streams_are_sets_in_order(
            lists in prop::collection::vec(
                prop::collection::btree_set(1i64..4_000, 0..900), 3),
            from in 0i64..4_100,
        ) {
            let conn = Connection::open_in_memory().unwrap();
            crate::db::schema::migrate(&conn, 0).unwrap();
            for (gram, ids) in lists.iter().enumerate() {
                let edits: Vec<Edit> = ids.iter().map(|&id| (id, true)).collect();
                postings::apply(&conn, gram as i64, &edits).unwrap();
            }
            let look = Look::All(vec![
                Look::Any(vec![Look::Gram(0), Look::Gram(1)]),
                Look::Gram(2),
            ]);
            let mut stream = Stream::of(&look).unwrap();
            let mut seen = Vec::new();
            let mut least = from;
            while let Some(id) = stream.seek(&conn, least).unwrap() {
                seen.push(id);
                least = id + 1;
            }
            let any: BTreeSet<i64> = lists[0].union(&lists[1]).copied().collect();
            prop_assert!(any.intersection(&lists[2]).filter(|id| **id >= from).eq(&seen));
        }
    }
}
