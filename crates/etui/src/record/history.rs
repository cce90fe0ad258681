//! The versions of a record that the store keeps: its present state, and those that edits, removals
//! and restorations replaced.
//!
//! A row of `change` has the text before the change. So the text of a version is in the first later
//! row with a text, and that of the latest version in `record`:
//!
//! ```text
//! record 17   changed=305, text C           versions    text
//! change 210  edited, text A                305 restored   C
//!        290  removed, no text              290 removed    B
//!        305  restored, text B              210 edited     B
//!                                            17 added      A
//! ```
//!
//! Writing keeps no index by record, which each edit would pay for. Reading a history scans the
//! change log from the addition of the record to its latest change.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension};

use super::changes;
use super::handle::Collection;
use super::kind::RecordKind;
use super::prepared::IndexedRecord;
use super::read::{ReadState, Reader, StoredRecord};
use super::records::{ExistingRecord, StoredText};
use super::shared::SourceObject;
use crate::db::{TransactionSize, metadata};
use crate::error::{Error, Result};
use crate::types::{Condition, ETag, RecordId, SavedRecord};

/// The change that made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VersionKind {
    /// The record was added.
    Added,
    /// Its text was changed, or a change was undone.
    Edited,
    /// It was moved to the trash. The text is that which it had.
    Removed,
    /// It came back from the trash, perhaps with another text.
    Restored,
    /// The change is older than the change log; the text is still kept.
    Earlier,
}

/// A state of a record, from one of its changes to the next. Its text is read by
/// [`Reader::read_version`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The record.
    pub id: RecordId,
    /// The sequence number of the change that made it. Of an [`VersionKind::Earlier`] version that
    /// was replaced it is the number before that of the change that replaced it.
    pub number: i64,
    /// When the change was made; `None` if that is not recorded: of an addition and of an
    /// [`VersionKind::Earlier`] version.
    pub at: Option<SystemTime>,
    /// The kind of the change.
    pub kind: VersionKind,
    /// True for the latest version, which is the state of the record.
    pub is_current: bool,
    /// The sequence number from which on the state is another one, or after the latest change.
    end: i64,
}

/// The columns of a record that its history starts from.
struct RecordState {
    id: i64,
    changed: i64,
}

impl<R: RecordKind> Reader<R> {
    /// Returns the versions of the record with this UID that are kept, the latest first; of a removed
    /// record the latest one is its removal. It is empty if there is no such record, also not in the
    /// trash.
    ///
    /// A version is kept for at least 30 days after it was replaced. The cost is a scan of the change
    /// log from the record's addition to its latest change, without the texts.
    ///
    /// ```
    /// # use etui::{Store, contacts::Card, record::VersionKind};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// let contacts = store.contacts()?;
    /// let mut card = Card::parse("BEGIN:VCARD\nVERSION:4.0\nUID:ada\nFN:Ada\nEND:VCARD\n")?;
    /// for name in ["Ada Byron", "Ada King", "Ada Lovelace"] {
    ///     card.set("FN", name)?;
    ///     contacts.save(&card)?;
    /// }
    /// let versions = contacts.history("ada")?;
    /// let kinds: Vec<VersionKind> = versions.iter().map(|version| version.kind).collect();
    /// assert_eq!(kinds, [VersionKind::Edited, VersionKind::Edited, VersionKind::Added]);
    ///
    /// let first = contacts.read_version(&versions[2])?.expect("it is kept");
    /// assert_eq!(first.card()?.display_name(), "Ada Byron");
    /// contacts.bring_back(&versions[2])?;
    /// contacts.restore("ada")?; // undoes that
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any read error.
    pub fn history(&self, uid: &str) -> Result<Vec<Version>> {
        self.read(|r| r.history(uid))
    }

    /// Returns the record as it was in this version; `None` if the version is no longer kept.
    ///
    /// # Errors
    /// Any read error.
    pub fn read_version(&self, version: &Version) -> Result<Option<StoredRecord<R>>> {
        self.read(|r| r.read_version(version))
    }

    /// Returns the texts of a record that are kept, live or removed, the present one first.
    ///
    /// # Errors
    /// Any read error.
    pub fn kept_texts(&self, record: RecordId) -> Result<Vec<Vec<u8>>> {
        self.read(|r| {
            r.explain_errors(|| {
                let mut all = r.conn.prepare_cached(
                    "SELECT text FROM record WHERE id = ?1 AND collection = ?2 UNION ALL \
                     SELECT c.text FROM change c JOIN record r ON r.id = c.record \
                     WHERE c.record = ?1 AND r.collection = ?2 AND c.text IS NOT NULL",
                )?;
                let all = all.query_map((record.0, r.collection), |row| row.get(0))?;
                Ok(all.collect::<rusqlite::Result<_>>()?)
            })
        })
    }
}

impl<R: RecordKind> ReadState<'_, R> {
    /// See [`Reader::history`].
    pub(crate) fn history(&self, uid: &str) -> Result<Vec<Version>> {
        self.explain_errors(|| list_versions(self.conn, self.collection, uid))
    }

    /// See [`Reader::read_version`].
    pub(crate) fn read_version(&self, version: &Version) -> Result<Option<StoredRecord<R>>> {
        self.explain_errors(|| {
            let found = version_text(self.conn, self.collection, version)?;
            Ok(found.map(|(uid, (text, _, _))| {
                StoredRecord::new(version.id, uid, ETag::of(&text), text)
            }))
        })
    }
}

impl<R: RecordKind> Collection<R> {
    /// Saves the text of a version, under the record's id and UID; a removed record comes back with
    /// it. [`Collection::restore`] undoes this, as any save.
    ///
    /// # Errors
    /// [`Error::NoVersion`] if it is no longer kept; any write error.
    pub fn bring_back(&self, version: &Version) -> Result<SavedRecord> {
        let context = self.db().index_context();
        self.write(TransactionSize::of(1, 0), |conn, writing| {
            let found = version_text(conn, self.number(), version)?;
            let Some((uid, (text, shared, places))) = found else {
                return Err(Error::NoVersion {
                    id: version.id,
                    number: version.number,
                });
            };
            let record = R::stored(conn, text, shared)?;
            let from = SourceObject::stored(shared, &places, record.component_count());
            let one = IndexedRecord::new(&record, &context).with_uid(&uid);
            // Equal texts in two objects may mean different times: bringing one back is a change then.
            one.from(Some(&from))
                .with_exact_source(shared.is_some())
                .put(conn, writing, self.number(), Condition::Always)
        })
    }
}

/// The texts that the records of a collection had before their changes, with the change that first replaced each.
pub(crate) struct EarlierTexts(HashMap<(i64, ETag), i64>);

impl EarlierTexts {
    /// Reads them in one pass over the change log, which has no index by record.
    pub(crate) fn read(conn: &Connection, collection: i64) -> Result<Self> {
        let mut log = conn.prepare_cached(
            "SELECT record, seq, change.text FROM change CROSS JOIN record ON record.id = change.record \
             WHERE change.text IS NOT NULL AND collection = ?1 ORDER BY seq",
        )?;
        let mut rows = log.query([collection])?;
        let mut all = HashMap::new();
        while let Some(row) = rows.next()? {
            let text = row.get_ref(2)?.as_bytes().map_err(rusqlite::Error::from)?;
            let key = (row.get(0)?, ETag::of(text));
            all.entry(key).or_insert(row.get(1)?);
        }
        Ok(Self(all))
    }

    /// Returns true if a record had this text before the one that it has now. What an undo brought back is
    /// older than what was undone.
    pub(crate) fn has(&self, record: &ExistingRecord, text: ETag) -> bool {
        let replaced = |text| self.0.get(&(record.id, text));
        // The present text was never replaced: it is later than all that were.
        let current = replaced(record.etag).copied().unwrap_or(i64::MAX);
        replaced(text).is_some_and(|first| *first < current)
    }
}

/// Returns the kept versions of a record, live or removed, the latest first.
fn list_versions(conn: &Connection, collection: i64, uid: &str) -> Result<Vec<Version>> {
    let record = conn
        .prepare_cached("SELECT id, changed FROM record WHERE collection = ?1 AND uid = ?2")?
        .query_row((collection, uid), |r| {
            Ok(RecordState {
                id: r.get(0)?,
                changed: r.get(1)?,
            })
        })
        .optional()?;
    let Some(RecordState { id, changed }) = record else {
        return Ok(Vec::new());
    };
    let mut log = conn.prepare_cached(
        "SELECT seq, at, kind FROM change WHERE seq > ?1 AND seq <= ?2 AND record = ?1 ORDER BY seq",
    )?;
    let mut rows = log.query((id, changed))?;
    let mut versions: Vec<Version> = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, at, kind): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if versions.is_empty() {
            versions.push(first_version(conn, id, number - 1)?);
        }
        if let Some(before) = versions.last_mut() {
            before.end = number;
        }
        versions.push(Version {
            id: RecordId(id),
            number,
            // A clock before 1970 stores a negative time, which a Duration cannot have.
            at: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(at.max(0).unsigned_abs())),
            kind: match kind {
                changes::REMOVED => VersionKind::Removed,
                changes::RESTORED => VersionKind::Restored,
                _ => VersionKind::Edited,
            },
            is_current: false,
            end: 0,
        });
    }
    if versions.is_empty() {
        versions.push(first_version(conn, id, changed)?);
    }
    if let Some(latest) = versions.last_mut() {
        latest.is_current = true;
        latest.end = changed + 1;
    }
    versions.reverse();
    Ok(versions)
}

/// Returns the oldest kept version of a record, which is its state at the change number `last`.
fn first_version(conn: &Connection, id: i64, last: i64) -> Result<Version> {
    // The log begins before the record, or the record never changed: none of its versions is missing.
    let is_complete = metadata::get_number(conn, metadata::LOG_FLOOR)? <= id || last == id;
    let (number, kind) = match is_complete {
        true => (id, VersionKind::Added),
        false => (last, VersionKind::Earlier),
    };
    Ok(Version {
        id: RecordId(id),
        number,
        at: None,
        kind,
        is_current: false,
        end: 0,
    })
}

/// Returns the text and source that a record had before its changes `seqs`, which are all that it has from
/// the first of them on; `None` if they are not kept.
pub(crate) fn text_before(conn: &Connection, id: i64, seqs: &[i64]) -> Result<Option<StoredText>> {
    let floor = metadata::get_number(conn, metadata::LOG_FLOOR)?;
    match seqs.first() {
        Some(first) if *first <= floor => Ok(None),
        _ => read_replaced(conn, id, seqs).map(Some),
    }
}

/// Returns the record's UID, and the text and source of a version; `None` if they are not kept.
fn version_text(
    conn: &Connection,
    collection: i64,
    version: &Version,
) -> Result<Option<(String, StoredText)>> {
    let id = version.id.0;
    let record = conn
        .prepare_cached("SELECT uid, changed FROM record WHERE id = ?1 AND collection = ?2")?
        .query_row((id, collection), |r| {
            Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)?))
        })
        .optional()?;
    let Some((uid, changed)) = record else {
        return Ok(None);
    };
    let is_latest = changed < version.end;
    // The texts of later changes alone say what the text was before them.
    if !is_latest && metadata::get_number(conn, metadata::LOG_FLOOR)? >= version.end {
        return Ok(None);
    }
    let mut seqs: Vec<i64> = Vec::new();
    if !is_latest {
        let mut log = conn.prepare_cached(
            "SELECT seq FROM change WHERE seq >= ?1 AND seq <= ?2 AND record = ?3 \
             AND (text IS NOT NULL OR positions IS NOT NULL) ORDER BY seq",
        )?;
        let found = log.query_map((version.end, changed, id), |r| r.get(0))?;
        seqs = found.collect::<rusqlite::Result<_>>()?;
    }
    Ok(Some((uid, read_replaced(conn, id, &seqs)?)))
}

/// Returns the text and source of a record before its changes `seqs`, its latest ones.
fn read_replaced(conn: &Connection, id: i64, seqs: &[i64]) -> Result<StoredText> {
    let mut text: Option<Vec<u8>> = None;
    let mut source: Option<(Option<i64>, Vec<u8>)> = None;
    let mut log =
        conn.prepare_cached("SELECT text, source, positions FROM change WHERE seq = ?1")?;
    // Text and source are logged only where they change, so each is in the first row that has it.
    for seq in seqs {
        let mut rows = log.query([seq])?;
        if let Some(row) = rows.next()? {
            if text.is_none() {
                text = row.get(0)?;
            }
            if source.is_none()
                && let Some(positions) = row.get(2)?
            {
                source = Some((row.get(1)?, positions));
            }
        }
        if text.is_some() && source.is_some() {
            break;
        }
    }
    let text = match text {
        Some(text) => text,
        None => conn
            .prepare_cached("SELECT text FROM record WHERE id = ?1")?
            .query_row([id], |r| r.get(0))?,
    };
    let (shared, places) = match source {
        Some(source) => source,
        None => conn
            .prepare_cached("SELECT source, coalesce(positions, x'') FROM record WHERE id = ?1")?
            .query_row([id], |r| Ok((r.get(0)?, r.get(1)?)))?,
    };
    Ok((text, shared, places))
}
