//! [`RecordEdits`]: saves and removes tracks and pictures, and counts them in their groups.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use crate::db::IndexContext;
use crate::error::Result;
use crate::media::group::{Contribution, GroupVotes};
use crate::media::library::{Media, find_record};
use crate::media::membership::{GroupKey, contributions};
use crate::media::tag_lines::TagLines;
use crate::media::user_data::put_lines;
use crate::record::prepared::IndexedRecord;
use crate::record::records::{self, RecordWriter};
use crate::types::{CollectionKind, Condition};

/// A record's kind, UID, whether it is live, and its text.
type FoundRecord = (CollectionKind, String, bool, Vec<u8>);

/// Saves and removes records, and counts them in their groups.
pub(super) struct RecordEdits<'m> {
    media: &'m Media,
    with: IndexContext<'m>,
    groups: HashMap<GroupKey, GroupDelta>,
}

#[derive(Default)]
struct GroupDelta {
    added: Vec<Contribution>,
    removed: Vec<Contribution>,
}

impl<'m> RecordEdits<'m> {
    pub(super) fn new(media: &'m Media) -> Self {
        Self {
            media,
            with: media.db.index_context(),
            groups: HashMap::new(),
        }
    }

    /// Runs `work`, and then writes the groups that it changed, in the present transaction.
    pub(super) fn run<T>(
        &mut self,
        conn: &Connection,
        work: impl FnOnce(&Connection, &mut Self, &mut RecordWriter<'_>) -> Result<T>,
    ) -> Result<T> {
        RecordWriter::run_scan(conn, self.media.db.order(), |writing| {
            let value = work(conn, self, writing)?;
            self.write_groups(conn, writing)?;
            Ok(value)
        })
    }

    /// Saves a record; `old`: its text, if it is live. Returns its id.
    pub(super) fn put(
        &mut self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        kind: CollectionKind,
        uid: &str,
        lines: TagLines,
        old: Option<&TagLines>,
    ) -> Result<i64> {
        let before = old.map(|old| contributions(kind, old)).unwrap_or_default();
        let after = contributions(kind, &lines);
        if before != after {
            self.count(before, after);
        }
        let collection = (kind, self.media.collection_id(kind));
        put_lines(conn, writing, &self.with, collection, uid, lines)
    }

    /// Changes the text of a live record.
    pub(super) fn edit(
        &mut self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        record: i64,
        change: impl FnOnce(CollectionKind, &mut TagLines),
    ) -> Result<()> {
        let Some((kind, uid, true, text)) = self.read(conn, record)? else {
            return Ok(());
        };
        let old = TagLines::from_text(text);
        let mut lines = old.clone();
        change(kind, &mut lines);
        self.put(conn, writing, kind, &uid, lines, Some(&old))?;
        Ok(())
    }

    /// Moves a record to the trash. Returns false if it is not live.
    pub(super) fn remove(
        &mut self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        record: i64,
    ) -> Result<bool> {
        let Some((kind, uid, true, text)) = self.read(conn, record)? else {
            return Ok(false);
        };
        self.count(contributions(kind, &TagLines::from_text(text)), Vec::new());
        let collection = self.media.collection_id(kind);
        records::remove(conn, writing, collection, &uid, Condition::Always)
    }

    /// Returns a record.
    pub(super) fn read(&self, conn: &Connection, record: i64) -> Result<Option<FoundRecord>> {
        let found: Option<(i64, String, bool, Vec<u8>)> = conn
            .prepare_cached(
                "SELECT collection, uid, removed_at IS NULL, text FROM record WHERE id = ?1",
            )?
            .query_row([record], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
            })
            .optional()?;
        Ok(found.map(|(collection, uid, is_live, text)| {
            let is_picture = collection == self.media.collection_id(CollectionKind::Pictures);
            let kind = match is_picture {
                true => CollectionKind::Pictures,
                false => CollectionKind::Music,
            };
            (kind, uid, is_live, text)
        }))
    }

    fn count(
        &mut self,
        before: Vec<(GroupKey, Contribution)>,
        after: Vec<(GroupKey, Contribution)>,
    ) {
        for (key, contribution) in before {
            let delta = self.groups.entry(key).or_default();
            delta.removed.push(contribution);
        }
        for (key, contribution) in after {
            let delta = self.groups.entry(key).or_default();
            delta.added.push(contribution);
        }
    }

    fn write_groups(&mut self, conn: &Connection, writing: &mut RecordWriter<'_>) -> Result<()> {
        let groups = std::mem::take(&mut self.groups);
        let mut groups: Vec<(GroupKey, GroupDelta)> = groups.into_iter().collect();
        // In an order that does not differ from run to run.
        groups.sort_by(|((a, uid_a), _), ((b, uid_b), _)| {
            (a.schema_name(), uid_a).cmp(&(b.schema_name(), uid_b))
        });
        for ((kind, uid), delta) in groups {
            let collection = self.media.collection_id(kind);
            let found = find_record(conn, collection, &uid)?;
            let mut votes = match found {
                Some((_, true, text)) => GroupVotes::parse(text),
                _ => GroupVotes::default(),
            };
            delta.added.iter().for_each(|member| votes.add(member));
            delta.removed.iter().for_each(|member| votes.remove(member));
            if votes.members == 0 {
                records::remove(conn, writing, collection, &uid, Condition::Always)?;
                continue;
            }
            let text = votes.to_text();
            let derived = votes.index(kind, &self.with);
            let one = IndexedRecord::stored(&uid, &text, &derived);
            one.put(conn, writing, collection, Condition::Always)?;
        }
        Ok(())
    }
}
