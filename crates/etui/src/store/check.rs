//! Integrity check and statistics.

use std::cell::RefCell;

use rusqlite::Connection;

use super::Maintenance;
use super::Store;
use super::hooks::{index_record, is_index_current, reindex};
use crate::calendar::{MAX_UTC_OFFSET, is_near};
use crate::db::{metadata, schema};
use crate::error::Result;
use crate::record::keys::Keys;
use crate::record::list::block::Block;
use crate::record::{changes, list, shared, steps, time_index};
use crate::resource;
use crate::search::index::id_set::RecordIds;
use crate::search::index::pending::Watermarks;
use crate::search::index::{postings, terms, trigrams};
use crate::store::write_queue::lossy_text;
use crate::types::{CollectionKind, ETag};

/// Maximum number of problems in a report.
const MAX_PROBLEMS: usize = 100;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Live contacts checked.
    pub contacts: u64,
    /// Live calendar entries checked.
    pub entries: u64,
    /// Live tracks, pictures and groups checked.
    pub media: u64,
    /// Records in the trash.
    pub removed: u64,
    /// Problems; none if the store is intact.
    pub problems: Vec<String>,
    /// Calendar entries whose lists or time index are outdated: they were derived with older rules
    /// of time zones. No data is lost; [`Maintenance::repair`] derives them again.
    pub outdated: Vec<String>,
    /// Rejected entries of the write queue: writes of other programs through the view `item`.
    pub write_queue: Vec<String>,
}

impl CheckReport {
    /// Returns true if the store is intact.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.outdated.is_empty()
    }
}

/// Statistics of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Address books and their numbers of contacts, the default one first.
    pub address_books: Vec<(String, u64)>,
    /// Calendars and their numbers of entries, the default one first.
    pub calendars: Vec<(String, u64)>,
    /// Records in the trash.
    pub removed: u64,
    /// Bytes of all live records' texts.
    pub text_bytes: u64,
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of its free pages.
    pub free_bytes: u64,
    /// Sequence number of the latest change.
    pub changes: u64,
    /// Changes that are not merged into the index of terms.
    pub pending_terms: u64,
    /// Changes that are not merged into the index of trigrams.
    pub pending_trigrams: u64,
    /// Locale of the lists.
    pub locale: String,
    /// Region that completes national phone numbers; empty if none is set.
    pub region: String,
    /// Version of the schema.
    pub schema_version: i64,
}

impl Store {
    /// Checks the file (SQLite's `integrity_check`), and compares all derived data with the
    /// records: ETags, lists, index.
    ///
    /// # Errors
    /// Any error that keeps the store from being read; problems in the data are in the report.
    pub fn check(&self) -> Result<CheckReport> {
        // Rejected entries of the write queue are reported below.
        let _ = self.drain_write_queue();
        self.db.read_transaction(|conn| {
            #[cfg(not(feature = "media"))]
            super::hooks::expect_no_media(conn)?;
            let mut report = CheckReport::default();
            sqlite_check(conn, &mut report)?;
            check_schema(conn, &mut report)?;
            // In a damaged file these checks would fail, or report its damage once more.
            if report.is_clean() {
                self.check_records(conn, &mut report)?;
                check_shared_texts(conn, &mut report)?;
                check_change_log(conn, &mut report)?;
                for problem in steps::check_steps(conn)? {
                    report.add_problem(problem);
                }
                // Lists of another index version are derived again at the next use.
                if is_index_current(&self.db, conn)? {
                    check_lists(conn, &mut report)?;
                }
                check_index(conn, &mut report)?;
                check_identity(conn, &mut report)?;
                check_external_ids(conn, &mut report)?;
                for problem in resource::check_names(conn)? {
                    report.add_problem(problem);
                }
                let mut queue = conn.prepare(
                    "SELECT id, problem FROM write_queue WHERE problem IS NOT NULL ORDER BY id",
                )?;
                let entries = queue.query_map([], |r| {
                    Ok(format!(
                        "write queue entry {}: {}",
                        r.get::<_, i64>(0)?,
                        lossy_text(r.get_ref(1)?)
                    ))
                })?;
                report.write_queue = entries
                    .take(MAX_PROBLEMS)
                    .collect::<rusqlite::Result<_>>()?;
            }
            Ok(report)
        })
    }

    fn check_records(&self, conn: &Connection, report: &mut CheckReport) -> Result<()> {
        // Data of another index version is derived again at the next use, and is no damage.
        let with = self.db.index_context();
        let current = is_index_current(&self.db, conn)?;
        let zones = RefCell::default();
        let mut statement = conn.prepare(
            "SELECT r.id, r.uid, r.etag, r.removed_at IS NULL, r.text, r.keys, r.sort_key, \
                        c.kind, r.summary, r.source, r.collection, \
                        c.removed_at IS NOT NULL \
                 FROM record r LEFT JOIN collection c ON c.id = r.collection",
        )?;
        let mut rows = statement.query([])?;
        let mut of_times = [0_u64; 2];
        while let Some(row) = rows.next()? {
            let blob = |column| -> Result<&[u8]> {
                // A value of another type reads as empty, which the comparisons below report.
                Ok(row
                    .get_ref(column)?
                    .as_bytes_or_null()
                    .ok()
                    .flatten()
                    .unwrap_or_default())
            };
            let id: i64 = row.get(0)?;
            let uid = String::from_utf8_lossy(blob(1)?);
            let text = blob(4)?.to_vec();
            let live: bool = row.get(3)?;
            let kind: Option<String> = row.get(7)?;
            let kind = kind.as_deref().and_then(CollectionKind::from_schema_name);
            let is_gone: bool = row.get(11)?;
            match (live, kind) {
                (false, _) => report.removed += 1,
                (true, Some(CollectionKind::Calendar)) => report.entries += 1,
                (true, Some(kind)) if CollectionKind::MEDIA.contains(&kind) => report.media += 1,
                (true, _) => report.contacts += 1,
            }
            let Some(kind) = kind else {
                report.add_problem(format!("record {id} ({uid}) is in no collection"));
                continue;
            };
            let what = kind.record_noun();
            if live && is_gone {
                report.add_problem(format!(
                    "{what} {id} ({uid}) is not removed, but its {kind} is"
                ));
            }
            if std::str::from_utf8(blob(1)?).is_err() {
                report.add_problem(format!("{what} {id} ({uid}): its UID is not text"));
            }
            if ETag::of(&text).0 != blob(2)? {
                report.add_problem(format!(
                    "{what} {id} ({uid}): its text is not what its ETag says"
                ));
            }
            match index_record(conn, kind, text, row.get(9)?, &with, &zones) {
                Ok(derived) if current => {
                    let is_same = derived.summary == blob(8)?
                        && derived.keys == blob(5)?
                        && is_current_sort_key(kind, &derived.sort_key, blob(6)?);
                    if !is_same {
                        report.add_derived(
                            kind,
                            format!(
                                "{what} {id} ({uid}): what lists and searches know of it is not \
                                 what its text says"
                            ),
                        );
                    }
                    let times = match live {
                        true => &derived.times,
                        // The time index has live records only.
                        false => continue,
                    };
                    let place = (row.get(10)?, id);
                    let (agree, rows) =
                        time_index::matches_stored(conn, place, times, MAX_UTC_OFFSET)?;
                    of_times = [of_times[0] + rows[0], of_times[1] + rows[1]];
                    if !agree {
                        report.add_derived(
                            kind,
                            format!(
                                "{what} {id} ({uid}): when it happens, or is to be told of, is \
                                 not kept as its text says"
                            ),
                        );
                    }
                }
                Ok(_) => {}
                Err(e) => report.add_problem(format!("{what} {id} ({uid}): {e}")),
            }
        }
        // The rows of a record that could not be indexed are not in `of_times`.
        if current && report.is_clean() && time_index::count_rows(conn)? != of_times {
            report.add_problem("times are kept of records that are not there".to_owned());
        }
        Ok(())
    }
}

impl Maintenance<'_> {
    /// Rebuilds the search index from the records' keys.
    ///
    /// # Errors
    /// Any write error.
    pub fn rebuild_index(&self) -> Result<()> {
        self.0
            .db
            .write(|conn| crate::search::index::rebuild_index(conn, self.0.path()))?;
        self.0.db.release_memory();
        Ok(())
    }

    /// Derives all data from the records again: keys, lists, index. A text that does not match its
    /// ETag stays, and stays reported: save the contact again, or restore its previous version.
    ///
    /// # Errors
    /// Any write error.
    pub fn repair(&self) -> Result<()> {
        self.0.db.write(|conn| reindex(&self.0.db, conn))?;
        self.rebuild_index()
    }

    /// Returns statistics of the store.
    ///
    /// # Errors
    /// Any read error.
    pub fn stats(&self) -> Result<Stats> {
        self.0.drain_write_queue()?;
        self.0.db.ensure_indexed()?;
        let settings = self.0.settings();
        let region = settings.region.map(|r| r.code().to_owned());
        self.0.db.read_transaction(|conn| {
            let number = |sql: &str| -> Result<u64> {
                // sum() of no rows is NULL.
                Ok(conn
                    .query_row(sql, [], |r| r.get::<_, Option<i64>>(0))?
                    .unwrap_or(0)
                    .unsigned_abs())
            };
            let latest = changes::latest_seq(conn)?;
            let pending = |mark| -> Result<u64> {
                Ok((latest - metadata::get_number(conn, mark)?).unsigned_abs())
            };
            let page = number("PRAGMA page_size")?;
            let mut named = conn.prepare(
                "SELECT c.name, (SELECT coalesce(sum(count), 0) FROM list_span s \
                                 WHERE s.collection = c.id) \
                 FROM collection c WHERE c.kind = ?1 AND c.removed_at IS NULL ORDER BY c.id",
            )?;
            let mut counted = |kind: CollectionKind| -> Result<Vec<(String, u64)>> {
                let all = named.query_map([kind.schema_name()], |r| {
                    Ok((r.get(0)?, r.get::<_, i64>(1)?.unsigned_abs()))
                })?;
                Ok(all.collect::<rusqlite::Result<_>>()?)
            };
            Ok(Stats {
                address_books: counted(CollectionKind::Contacts)?,
                calendars: counted(CollectionKind::Calendar)?,
                removed: number("SELECT count(*) FROM record WHERE removed_at IS NOT NULL")?,
                text_bytes: number(
                    "SELECT sum(length(text)) FROM record WHERE removed_at IS NULL",
                )?,
                file_bytes: page * number("PRAGMA page_count")?,
                free_bytes: page * number("PRAGMA freelist_count")?,
                changes: latest.unsigned_abs(),
                pending_terms: pending(metadata::TERM_WATERMARK)?,
                pending_trigrams: pending(metadata::TRIGRAM_WATERMARK)?,
                locale: settings.locale.clone(),
                region: region.clone().unwrap_or_default(),
                schema_version: crate::db::schema::VERSION,
            })
        })
    }
}

impl CheckReport {
    fn add_problem(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Adds a problem of derived data. That of a calendar may come from another time zone database.
    fn add_derived(&mut self, kind: CollectionKind, problem: String) {
        let list = match kind {
            CollectionKind::Calendar => &mut self.outdated,
            _ => &mut self.problems,
        };
        if list.len() < MAX_PROBLEMS {
            list.push(problem);
        }
    }
}

/// Checks that the tables, indexes and triggers of a new store are there.
fn check_schema(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut there = conn.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?;
    for name in schema::object_names()? {
        if !there.exists([&name])? {
            report.add_problem(format!("the schema lacks \"{name}\""));
        }
    }
    Ok(())
}

/// Checks the identity of the store: without it, its sync tokens equal those of other such stores.
fn check_identity(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut there = conn.prepare("SELECT 1 FROM meta WHERE key = ?1")?;
    for key in [metadata::STORE_ID, metadata::INCARNATION] {
        if !there.exists([key])? {
            report.add_problem(format!("the table \"meta\" lacks \"{key}\""));
        }
    }
    Ok(())
}

/// Checks that no two collections of a kind have one external id: a collection is found by it.
fn check_external_ids(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut repeated = conn.prepare(
        "SELECT kind, external_id, count(*) FROM collection \
         WHERE external_id IS NOT NULL AND removed_at IS NULL \
         GROUP BY kind, external_id HAVING count(*) > 1",
    )?;
    let mut rows = repeated.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, external_id): (String, String) = (row.get(0)?, row.get(1)?);
        let count: i64 = row.get(2)?;
        report.add_problem(format!(
            "{count} collections ({kind}) have the external id \"{external_id}\""
        ));
    }
    Ok(())
}

fn sqlite_check(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut statement = conn.prepare("PRAGMA integrity_check")?;
    let lines = statement.query_map([], |r| r.get::<_, String>(0))?;
    for line in lines {
        match line {
            Ok(line) if line == "ok" => {}
            Ok(lines) => lines
                .lines()
                .for_each(|line| report.add_problem(line.to_owned())),
            Err(e) => {
                // The statement returns no more rows after an error.
                report.add_problem(e.to_string());
                break;
            }
        }
    }
    Ok(())
}

/// Checks that every change since the log was last trimmed is there: the creation of a record, or a row of the
/// log, has each number of the sequence.
fn check_change_log(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let floor = metadata::get_number(conn, metadata::LOG_FLOOR)?;
    // A resource that gets another name takes two numbers, the first for the name that it releases: where there
    // are names, a single missing number may be such a one.
    let (missing, twice): (i64, i64) = conn.query_row(
        "WITH used (n) AS (
             SELECT id FROM record WHERE id > ?1 UNION ALL SELECT seq FROM change WHERE seq > ?1),
         steps (step) AS (SELECT n - lag(n, 1, ?1) OVER (ORDER BY n) FROM used)
         SELECT coalesce(sum(max(step - 1 - EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'resource'), 0)), 0),
                count(*) FILTER (WHERE step = 0)
         FROM steps",
        [floor],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )?;
    for (count, what) in [
        (missing, "are not there"),
        (twice, "have the number of another one"),
    ] {
        if count > 0 {
            report.add_problem(format!(
                "{count} of the changes since number {floor} {what}: programs that synchronise may miss them"
            ));
        }
    }
    let unlogged: i64 = conn.query_row(
        "SELECT count(*) FROM record r WHERE r.changed <> r.id AND r.changed > ?1 \
         AND NOT EXISTS (SELECT 1 FROM change c WHERE c.seq = r.changed AND c.record = r.id)",
        [floor],
        |r| r.get(0),
    )?;
    if unlogged > 0 {
        report.add_problem(format!(
            "the latest change of {unlogged} records is not in the change log"
        ));
    }
    Ok(())
}

/// Checks that the source of every record exists, and that the texts match their hashes and have the
/// numbers at which they are looked for.
fn check_shared_texts(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut statement = conn.prepare("SELECT id, hash, text FROM shared_text")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(2)?.as_bytes_or_null().ok().flatten();
        if ETag::of(text.unwrap_or_default()).0 != row.get_ref(1)?.as_bytes().unwrap_or_default() {
            let id: i64 = row.get(0)?;
            report.add_problem(format!(
                "calendar object {id}: its text is not what its hash says"
            ));
        } else if !shared::is_found_at(conn, row.get(0)?, ETag::of(text.unwrap_or_default()))? {
            let id: i64 = row.get(0)?;
            report.add_problem(format!(
                "calendar object {id}: its number is not the one that its hash gives"
            ));
        }
    }
    let missing: i64 = conn.query_row(
        "SELECT count(*) FROM record \
         WHERE source IS NOT NULL AND source NOT IN (SELECT id FROM shared_text)",
        [],
        |r| r.get(0),
    )?;
    if missing > 0 {
        report.add_problem(format!(
            "the calendar objects of {missing} records are not there"
        ));
    }
    Ok(())
}

/// Returns true if a stored list key is the current one. That of a calendar record depends on the
/// rules of its time zone, which change; it is updated when the record is next saved.
fn is_current_sort_key(kind: CollectionKind, now: &[u8], stored: &[u8]) -> bool {
    now == stored || (kind == CollectionKind::Calendar && is_near(now, stored))
}

/// Checks that every live record is in its list once, at its sort key, and counted.
fn check_lists(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    // Also collections that have a list and no live record.
    let mut books = conn.prepare(
        "SELECT collection, count(*) FROM record WHERE removed_at IS NULL GROUP BY collection \
         UNION SELECT collection, 0 FROM list_block WHERE collection NOT IN \
         (SELECT collection FROM record WHERE removed_at IS NULL)",
    )?;
    let books = books
        .query_map([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)?.unsigned_abs())))?
        .collect::<rusqlite::Result<Vec<(i64, u64)>>>()?;
    let mut record = conn.prepare(
        "SELECT sort_key, summary FROM record WHERE id = ?1 AND collection = ?2 AND removed_at IS NULL",
    )?;
    for (book, contacts) in books {
        let mut blocks = conn.prepare(
            "SELECT first, entries FROM list_block WHERE collection = ?1 ORDER BY first",
        )?;
        let mut rows = blocks.query([book])?;
        let (mut entries, mut lengths) = (0, Vec::new());
        let mut last = (Vec::new(), i64::MIN);
        while let Some(row) = rows.next()? {
            let first: Vec<u8> = row.get(0)?;
            let block = Block::new(row.get_ref(1)?.as_blob().unwrap_or_default());
            let mut sorts = Vec::new();
            block.for_each_sort_key(|sort| {
                sorts.push(sort.to_vec());
                true
            });
            let mut at = 0;
            for ((sort, id), summary) in sorts.into_iter().zip(block.ids()).zip(block.summaries()) {
                let mut found = record.query((id, book))?;
                let stands = match found.next()? {
                    Some(row) => {
                        row.get_ref(0)?.as_blob().ok() == Some(&sort)
                            && row.get_ref(1)?.as_blob().ok() == Some(summary)
                    }
                    None => false,
                };
                let here = (sort, id);
                if !stands || here <= last || list::list_key(&here.0, id) < first {
                    report.add_problem(format!(
                        "contact {id} stands in the list where it should not"
                    ));
                }
                last = here;
                at += 1;
            }
            if at != block.len() {
                report.add_problem("a part of the list cannot be read".to_owned());
            }
            entries += at as u64;
            lengths.push((first, at));
        }
        if entries != contacts {
            report.add_problem(format!(
                "the list has {entries} entries for {contacts} contacts"
            ));
        }
        check_spans(conn, book, &lengths, report)?;
    }
    Ok(())
}

/// Checks that the spans count the entries of the blocks.
fn check_spans(
    conn: &Connection,
    book: i64,
    mut blocks: &[(Vec<u8>, usize)],
    report: &mut CheckReport,
) -> Result<()> {
    for span in list::read_spans(conn, book)? {
        let counts = list::decode_counts(&span.blocks);
        // A wrong span may count more blocks than there are.
        let (of_span, others) = blocks.split_at(counts.len().min(blocks.len()));
        let same = of_span
            .iter()
            .map(|(_, n)| *n)
            .eq(counts.iter().map(|&n| usize::from(n)));
        let total: u64 = counts.iter().map(|&n| u64::from(n)).sum();
        let begins = of_span
            .first()
            .is_some_and(|(first, _)| *first == span.first);
        if !same || !begins || total != span.count {
            report.add_problem("the list is counted wrongly".to_owned());
        }
        blocks = others;
    }
    if !blocks.is_empty() {
        report.add_problem("a part of the list is not counted".to_owned());
    }
    Ok(())
}

/// Checks that every record that is not pending is found by each of its terms and trigrams.
fn check_index(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let watermarks = Watermarks::read(conn)?;
    let mut statement =
        conn.prepare("SELECT id, keys, changed FROM record WHERE removed_at IS NULL")?;
    let mut rows = statement.query([])?;
    let find_term = |term: &Vec<u8>| postings::record_ids(conn, &term[..]);
    let find_trigram = |trigram: &i64| postings::record_ids(conn, *trigram);
    // Compared one posting list at a time.
    let mut terms_wanted: Vec<(Vec<u8>, i64)> = Vec::new();
    let mut trigrams_wanted: Vec<(i64, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, keys): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let changed: i64 = row.get(2)?;
        if Keys(&keys).count() == 0 && !keys.is_empty() {
            report.add_problem(format!("contact {id}: its search keys cannot be read"));
        }
        if changed <= watermarks.terms {
            terms::of_keys(&keys, |term| terms_wanted.push((term.to_vec(), id)));
        }
        if changed <= watermarks.trigrams {
            trigrams::of_keys(&keys, |trigram| trigrams_wanted.push((trigram, id)));
        }
        // Bounds the memory of the check, whatever the size of the store.
        if terms_wanted.len() > 1 << 16 {
            check_postings(find_term, &mut terms_wanted, "word", report)?;
        }
        if trigrams_wanted.len() > 1 << 20 {
            check_postings(find_trigram, &mut trigrams_wanted, "substring", report)?;
        }
    }
    check_postings(find_term, &mut terms_wanted, "word", report)?;
    check_postings(find_trigram, &mut trigrams_wanted, "substring", report)
}

/// Checks that the index has each key of each record of `wanted`.
fn check_postings<K: Ord>(
    find: impl Fn(&K) -> Result<RecordIds>,
    wanted: &mut Vec<(K, i64)>,
    name: &str,
    report: &mut CheckReport,
) -> Result<()> {
    wanted.sort_unstable();
    wanted.dedup();
    let mut missing = std::collections::BTreeSet::new();
    for group in wanted.chunk_by(|a, b| a.0 == b.0) {
        let found = find(&group[0].0)?;
        let ids = group.iter().map(|(_, id)| *id);
        missing.extend(ids.filter(|id| !found.contains(id.cast_unsigned())));
    }
    for id in missing {
        report.add_problem(format!("contact {id} is missing from the {name} index"));
    }
    wanted.clear();
    Ok(())
}
