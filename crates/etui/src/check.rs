//! Integrity check and statistics.

use rusqlite::Connection;

use crate::collection::{ETag, changes, meta};
use crate::contacts::{Card, keys};
use crate::error::Result;
use crate::index::merge::{Due, merge};
use crate::index::{grams, terms};
use crate::store::Store;

/// Problems told of at the most; more of them say nothing new.
const MAX_PROBLEMS: usize = 100;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Live contacts looked at.
    pub contacts: u64,
    /// Contacts in the trash.
    pub removed: u64,
    /// What is wrong; empty: all is well.
    pub problems: Vec<String>,
    /// What another program wrote through the view `contact` and could not be taken in.
    pub inbox: Vec<String>,
}

impl CheckReport {
    /// Whether all is well.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Figures about a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Address books with their numbers of contacts, the default one first.
    pub address_books: Vec<(String, u64)>,
    /// Contacts in the trash.
    pub removed: u64,
    /// Bytes of all live vCards.
    pub text_bytes: u64,
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of its free pages.
    pub free_bytes: u64,
    /// Number of the latest change.
    pub changes: u64,
    /// Changes that the index of words and numbers has yet to take in.
    pub pending_terms: u64,
    /// Changes that the substring index has yet to take in.
    pub pending_grams: u64,
    /// Locale of the lists.
    pub locale: String,
    /// Region that completes national phone numbers; empty when none is set.
    pub region: String,
    /// Version of the schema.
    pub schema_version: i64,
}

impl Store {
    /// Checks the file (SQLite's `integrity_check`) and that everything derived from the
    /// records is what they say: ETags, list, index.
    ///
    /// # Errors
    /// Whatever keeps it from being read at all; what is wrong inside is in the report.
    pub fn check(&self) -> Result<CheckReport> {
        // What cannot be taken in, or not now, is told of below.
        let _ = self.drain_inbox();
        self.engine.read_transaction(|conn| {
            let mut report = CheckReport::default();
            sqlite_check(conn, &mut report)?;
            schema(conn, &mut report)?;
            if report.is_clean() {
                self.check_records(conn, &mut report)?;
                list(conn, &mut report)?;
                index(conn, &mut report)?;
                let mut inbox = conn.prepare(
                    "SELECT id, problem FROM inbox WHERE problem IS NOT NULL ORDER BY id",
                )?;
                let entries = inbox.query_map([], |r| {
                    Ok(format!(
                        "inbox entry {}: {}",
                        r.get::<_, i64>(0)?,
                        r.get::<_, String>(1)?
                    ))
                })?;
                report.inbox = entries
                    .take(MAX_PROBLEMS)
                    .collect::<rusqlite::Result<_>>()?;
            }
            Ok(report)
        })
    }

    fn check_records(&self, conn: &Connection, report: &mut CheckReport) -> Result<()> {
        // What an older version derived is derived anew at the next write, and is no damage.
        let order = self.order()?;
        let current = self.is_derived_now(conn)?;
        let mut statement = conn.prepare(
            "SELECT r.id, r.uid, r.etag, r.removed IS NULL, r.text, r.keys, r.sort, \
                        c.id IS NULL, l.summary \
                 FROM record r LEFT JOIN collection c ON c.id = r.collection \
                 LEFT JOIN list l \
                 ON l.collection = r.collection AND l.sort = r.sort AND l.id = r.id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let blob = |column| -> Result<&[u8]> {
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
            if live {
                report.contacts += 1;
            } else {
                report.removed += 1;
            }
            if row.get(7)? {
                report.add(format!("contact {id} ({uid}) is in no address book"));
            }
            if std::str::from_utf8(blob(1)?).is_err() {
                report.add(format!("contact {id} ({uid}): its UID is not text"));
            }
            if ETag::of(&text).0 != blob(2)? {
                report.add(format!(
                    "contact {id} ({uid}): its text is not what its ETag says"
                ));
            }
            match Card::parse(text) {
                Ok(card) if current => {
                    let derived = keys::derive(&card, order, self.region());
                    if derived.keys != blob(5)?
                        || derived.sort != blob(6)?
                        || (live && derived.summary != blob(8)?)
                    {
                        report.add(format!(
                            "contact {id} ({uid}): what lists and searches know of it is not what its \
                             text says"
                        ));
                    }
                }
                Ok(_) => {}
                Err(e) => report.add(format!("contact {id} ({uid}): {e}")),
            }
        }
        Ok(())
    }

    /// Makes the search index anew from the records' keys.
    ///
    /// # Errors
    /// Whatever writing reports.
    pub fn rebuild_index(&self) -> Result<()> {
        self.write(crate::index::clear)?;
        merge(&self.engine, Due::ALL)
    }

    /// Makes everything that is derived from the records anew: keys, lists, index. A text that is
    /// not what its ETag says stays and stays reported: saving the contact again, or restoring its
    /// former version, settles it.
    ///
    /// # Errors
    /// Whatever writing reports.
    pub fn repair(&self) -> Result<()> {
        self.write(|conn| self.rederive(conn))?;
        self.rebuild_index()
    }

    /// Figures about the store.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn stats(&self) -> Result<Stats> {
        self.drain_inbox()?;
        let locale = self.locale()?;
        let region = self.region().map(|r| r.code().to_owned());
        self.engine.read_transaction(|conn| {
            let number = |sql: &str| -> Result<u64> {
                Ok(conn
                    .query_row(sql, [], |r| r.get::<_, Option<i64>>(0))?
                    .unwrap_or(0)
                    .unsigned_abs())
            };
            let latest = changes::latest(conn)?;
            let pending =
                |mark| -> Result<u64> { Ok((latest - meta::number(conn, mark)?).unsigned_abs()) };
            let page = number("PRAGMA page_size")?;
            let mut books = conn.prepare(
                "SELECT c.name, (SELECT count(*) FROM list l WHERE l.collection = c.id) \
                 FROM collection c WHERE c.kind = 'contacts' ORDER BY c.id",
            )?;
            let books =
                books.query_map([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)?.unsigned_abs())))?;
            Ok(Stats {
                address_books: books.collect::<rusqlite::Result<_>>()?,
                removed: number("SELECT count(*) FROM record WHERE removed IS NOT NULL")?,
                text_bytes: number("SELECT sum(length(text)) FROM record WHERE removed IS NULL")?,
                file_bytes: page * number("PRAGMA page_count")?,
                free_bytes: page * number("PRAGMA freelist_count")?,
                changes: latest.unsigned_abs(),
                pending_terms: pending(meta::TERM_MARK)?,
                pending_grams: pending(meta::GRAM_MARK)?,
                locale: locale.clone(),
                region: region.clone().unwrap_or_default(),
                schema_version: Self::schema_version(),
            })
        })
    }
}

impl CheckReport {
    fn add(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// What a store's schema consists of.
const OBJECTS: &[&str] = &[
    "change",
    "collection",
    "contact",
    "contact_delete",
    "contact_insert",
    "contact_update",
    "gram",
    "inbox",
    "list",
    "meta",
    "record",
    "record_uid",
    "term",
];

fn schema(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut there = conn.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?;
    for name in OBJECTS {
        if !there.exists([name])? {
            report.add(format!("the schema lacks \"{name}\""));
        }
    }
    Ok(())
}

fn sqlite_check(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut statement = conn.prepare("PRAGMA integrity_check")?;
    let lines = statement.query_map([], |r| r.get::<_, String>(0))?;
    for line in lines {
        match line {
            Ok(line) if line == "ok" => {}
            Ok(lines) => lines.lines().for_each(|line| report.add(line.to_owned())),
            Err(e) => {
                report.add(e.to_string());
                break;
            }
        }
    }
    Ok(())
}

fn list(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    for (sql, what) in [
        (
            "SELECT r.id FROM record r WHERE r.removed IS NULL AND NOT EXISTS \
             (SELECT 1 FROM list l WHERE l.collection = r.collection AND l.sort = r.sort \
              AND l.id = r.id)",
            "is missing from the list",
        ),
        (
            "SELECT l.id FROM list l LEFT JOIN record r ON r.id = l.id \
             WHERE r.id IS NULL OR r.removed IS NOT NULL OR r.sort != l.sort \
             OR r.collection != l.collection",
            "stands in the list where it should not",
        ),
    ] {
        let mut statement = conn.prepare(sql)?;
        let ids = statement.query_map([], |r| r.get::<_, i64>(0))?;
        for id in ids {
            report.add(format!("contact {} {what}", id?));
        }
    }
    Ok(())
}

/// Every record that is not pending must be found by each of its terms and grams.
fn index(conn: &Connection, report: &mut CheckReport) -> Result<()> {
    let pending = |mark| -> Result<Vec<i64>> {
        let mut ids = crate::index::pending(conn, mark)?;
        ids.sort_unstable();
        Ok(ids)
    };
    let (no_terms, no_grams) = (pending(meta::TERM_MARK)?, pending(meta::GRAM_MARK)?);
    let mut has_term = conn.prepare("SELECT 1 FROM term WHERE term = ?1 AND record = ?2")?;
    let mut statement = conn.prepare("SELECT id, keys FROM record WHERE removed IS NULL")?;
    let mut rows = statement.query([])?;
    // Grams are compared the other way round, a posting list at a time.
    let mut wanted: Vec<(i64, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, keys): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if keys::Keys(&keys).count() == 0 && !keys.is_empty() {
            report.add(format!("contact {id}: its search keys cannot be read"));
        }
        if no_terms.binary_search(&id).is_err() {
            let mut missing = false;
            let mut failed = None;
            terms::of_keys(&keys, |term| match has_term.exists((term, id)) {
                Ok(found) => missing |= !found,
                Err(e) => failed = Some(e),
            });
            if let Some(e) = failed {
                return Err(e.into());
            }
            if missing {
                report.add(format!("contact {id} is missing from the word index"));
            }
        }
        if no_grams.binary_search(&id).is_err() {
            grams::of_keys(&keys, |gram| wanted.push((gram, id)));
        }
        if wanted.len() > 1 << 20 {
            compare_grams(conn, &mut wanted, report)?;
        }
    }
    compare_grams(conn, &mut wanted, report)
}

fn compare_grams(
    conn: &Connection,
    wanted: &mut Vec<(i64, i64)>,
    report: &mut CheckReport,
) -> Result<()> {
    wanted.sort_unstable();
    wanted.dedup();
    let mut missing = std::collections::BTreeSet::new();
    for group in wanted.chunk_by(|a, b| a.0 == b.0) {
        let found = grams::containing(conn, &[group[0].0])?;
        missing.extend(
            group
                .iter()
                .filter(|(_, id)| found.binary_search(id).is_err())
                .map(|(_, id)| *id),
        );
    }
    for id in missing {
        report.add(format!("contact {id} is missing from the substring index"));
    }
    wanted.clear();
    Ok(())
}
