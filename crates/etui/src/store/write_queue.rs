//! The write queue: what other programs wrote through the view `item`, with plain SQLite and no
//! parser.
//!
//! The triggers of the view put every INSERT, UPDATE and DELETE into the table `write_queue`. It
//! is drained when a program next opens a collection. Rejected entries stay in the queue; `etui
//! check` reports them. Entries name records and collections by their ids, which are never reused.
//!
//! ```text
//! operation  collection  record  book                                text
//! insert     id                                                      new text
//! update                 id      name of the record's collection     new text
//! delete                 id
//! ```
//!
//! The text of a calendar entry is the components of one UID, or whole calendar objects.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::calendar;
use crate::calendar::object_zones::ObjectZones;
use crate::contacts::Card;
use crate::db::IndexContext;
use crate::error::{Error, Result};
use crate::import::run::ImportItem;
use crate::record::prepared::IndexedRecord;
use crate::record::records::{self, RecordWriter};
use crate::record::steps::label_step;
use crate::record::{RecordKind, collection_table};
use crate::types::{CollectionKind, Condition};

/// Applies all entries of the queue, inside a write transaction, as a step of their own: who wrote them is
/// not the program that applies them.
pub(crate) fn drain(conn: &Connection, context: &IndexContext<'_>) -> Result<()> {
    // A program that writes past the view may choose any id.
    if next_entry(conn, i64::MIN)?.is_none() {
        return Ok(());
    }
    let _step = label_step("SQL", "");
    RecordWriter::run(conn, context.order, |writing| {
        let mut last = i64::MIN;
        while let Some((id, write)) = next_entry(conn, last)? {
            last = id;
            match apply_write(conn, writing, context, write)? {
                Ok(()) => conn.execute("DELETE FROM write_queue WHERE id = ?1", [last])?,
                Err(problem) => {
                    tracing::warn!(entry = last, problem, "left in the write queue");
                    conn.execute(
                        "UPDATE write_queue SET problem = ?2 WHERE id = ?1",
                        (last, problem),
                    )?
                }
            };
        }
        Ok(())
    })
}

/// A write of another program.
enum QueuedWrite {
    Insert {
        collection: i64,
        text: Vec<u8>,
    },
    Update {
        record: i64,
        /// The name of the collection that the statement sets.
        book: String,
        text: Vec<u8>,
    },
    Delete {
        record: i64,
    },
}

/// Returns the next entry after the id `last`. The write is `None` if no trigger wrote the entry.
fn next_entry(conn: &Connection, last: i64) -> Result<Option<(i64, Option<QueuedWrite>)>> {
    Ok(conn
        .prepare_cached(
            "SELECT id, operation, collection, record, book, text FROM write_queue \
             WHERE id > ?1 AND problem IS NULL ORDER BY id LIMIT 1",
        )?
        .query_row([last], |r| {
            let (collection, record) = (r.get(2)?, r.get(3)?);
            let text = value_bytes(r.get_ref(5)?);
            // A program that writes past the view may store a value of any type.
            let write = match (r.get_ref(1)?.as_str().unwrap_or(""), collection, record) {
                ("insert", Some(collection), None) => {
                    text.map(|text| QueuedWrite::Insert { collection, text })
                }
                ("update", None, Some(record)) => {
                    let book = lossy_text(r.get_ref(4)?);
                    text.map(|text| QueuedWrite::Update { record, book, text })
                }
                ("delete", None, Some(record)) => Some(QueuedWrite::Delete { record }),
                _ => None,
            };
            Ok((r.get(0)?, write))
        })
        .optional()?)
}

/// Returns a value of any type as bytes; `None` for NULL.
fn value_bytes(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_owned()),
    }
}

/// Returns a value of any type as text, which need not be UTF-8; NULL is the empty text, which is
/// no name.
pub(crate) fn lossy_text(value: ValueRef<'_>) -> String {
    String::from_utf8_lossy(&value_bytes(value).unwrap_or_default()).into_owned()
}

/// A write to an existing collection.
struct ResolvedWrite {
    collection: i64,
    kind: CollectionKind,
    /// The record of an update or a delete.
    uid: Option<String>,
    /// The text of an insert or an update.
    text: Option<Vec<u8>>,
}

/// The result of an entry, or the reason for its rejection.
type Accepted<T> = std::result::Result<T, String>;

/// Resolves the ids of a write; `None` if there is nothing to do.
fn resolve_write(
    conn: &Connection,
    write: Option<QueuedWrite>,
) -> Result<Accepted<Option<ResolvedWrite>>> {
    let (collection, uid, book, text) = match write {
        None => {
            return Ok(Err(
                "it says neither where to save nor what to remove".to_owned()
            ));
        }
        Some(QueuedWrite::Insert { collection, text }) => (collection, None, None, Some(text)),
        Some(QueuedWrite::Update { record, book, text }) => match find_record(conn, record)? {
            Some((collection, uid)) => (collection, Some(uid), Some(book), Some(text)),
            None => {
                return Ok(Err(format!(
                    "record {record} was removed, and its removal is older than the trash keeps; \
                     insert it"
                )));
            }
        },
        Some(QueuedWrite::Delete { record }) => match find_record(conn, record)? {
            Some((collection, uid)) => (collection, Some(uid), None, None),
            // It is gone already, as wanted.
            None => return Ok(Ok(None)),
        },
    };
    let (kind, name) = match collection_table::find_by_id(conn, collection)? {
        Some((kind, name, true)) => (kind, name),
        Some((kind, name, false)) => return Ok(Err(format!("the {kind} \"{name}\" was removed"))),
        None => {
            return Ok(Err("there is no such address book or calendar".to_owned()));
        }
    };
    if book.is_some_and(|book| book != name) {
        return Ok(Err(format!(
            "an UPDATE cannot move a {}: insert it into the other {kind}, and delete it in \
             \"{name}\"",
            kind.record_noun(),
        )));
    }
    Ok(Ok(Some(ResolvedWrite {
        collection,
        kind,
        uid,
        text,
    })))
}

/// Returns the collection and the UID of a live or removed record.
fn find_record(conn: &Connection, record: i64) -> Result<Option<(i64, String)>> {
    Ok(conn
        .prepare_cached("SELECT collection, uid FROM record WHERE id = ?1")?
        .query_row([record], |r| Ok((r.get(0)?, lossy_text(r.get_ref(1)?))))
        .optional()?)
}

/// Applies a write, or returns the reason for its rejection.
fn apply_write(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    context: &IndexContext<'_>,
    write: Option<QueuedWrite>,
) -> Result<Accepted<()>> {
    let write = match resolve_write(conn, write)? {
        Ok(Some(write)) => write,
        Ok(None) => return Ok(Ok(())),
        Err(problem) => return Ok(Err(problem)),
    };
    let ResolvedWrite {
        collection,
        kind,
        uid,
        text,
    } = write;
    let mut put = EntrySaver {
        conn,
        writing,
        context,
        collection,
        uid: uid.as_deref(),
        saved: Vec::new(),
    };
    match (kind, text) {
        (kind, _) if CollectionKind::MEDIA.contains(&kind) => {
            return Ok(Err(Error::Scanned(kind).to_string()));
        }
        (CollectionKind::Contacts, Some(text)) => match Card::parse(text) {
            Ok(card) => put.save_all([ImportItem::new(card, 1, 1)])?,
            Err(error) => return Ok(Err(Error::from(error).to_string())),
        },
        (CollectionKind::Calendar, Some(text)) => {
            // The time zones of the calendar object that the record came in.
            let stored = uid.as_ref();
            let stored = stored.map(|uid| records::read_version(conn, collection, uid));
            let row = stored.transpose()?.flatten().and_then(|(_, row, _)| row);
            let zones = ObjectZones::default().zones_of(conn, row)?;
            match calendar::import::parse_items(text, &zones) {
                Ok(items) => put.save_all(items)?,
                Err(problem) => return Ok(Err(problem)),
            }
        }
        _ => {}
    }
    let saved = put.saved;
    // A DELETE, or an UPDATE that gave the record another UID: the old one is removed.
    if let Some(uid) = uid.as_ref().filter(|uid| !saved.contains(uid)) {
        records::remove(conn, writing, collection, uid, Condition::Always)?;
    }
    Ok(Ok(()))
}

/// Saves the records of one entry.
struct EntrySaver<'p, 'o> {
    conn: &'p Connection,
    writing: &'p mut RecordWriter<'o>,
    context: &'p IndexContext<'p>,
    collection: i64,
    /// The record of an update.
    uid: Option<&'p str>,
    /// The UIDs of the saved records.
    saved: Vec<String>,
}

impl EntrySaver<'_, '_> {
    fn save_all<R: RecordKind>(
        &mut self,
        items: impl IntoIterator<Item = ImportItem<R>>,
    ) -> Result<()> {
        for item in items {
            let mut one = IndexedRecord::new(&item.record, self.context).from(item.from.as_ref());
            if let Some(uid) = self.uid
                && item.record.uid().is_none()
            {
                one = one.with_uid(uid);
            }
            one.put(self.conn, self.writing, self.collection, Condition::Always)?;
            self.saved.push(one.uid().to_owned());
        }
        Ok(())
    }
}
