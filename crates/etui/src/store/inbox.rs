//! What other programs wrote through the view `item`, with plain SQLite and no parser.
//!
//! The view's triggers put every INSERT, UPDATE and DELETE into the table `inbox`; it is taken in
//! when a program next opens a collection. What cannot be kept stays in the inbox, where
//! `etui check` tells of it. Records and collections stand there by their numbers, which no other
//! one gets:
//!
//! ```text
//!         record     book                        text
//! INSERT  NULL       number of the collection    what is to be saved
//! UPDATE  number     name of the collection      what is to be saved
//! DELETE  NULL       NULL                        number of the record
//! ```
//!
//! The triggers see to it that no other statement can look like a DELETE: an INSERT has found its
//! collection, and an UPDATE its record, whatever it sets.
//!
//! A calendar's entry is the components of one UID, or whole calendar objects.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::calendar;
use crate::calendar::objects::ZonesOf;
use crate::contacts::Card;
use crate::db::IndexContext;
use crate::error::{Error, Result};
use crate::import::run::Item;
use crate::record::prepared::IndexedRecord;
use crate::record::records::{self, RecordWriter};
use crate::record::{RecordKind, names};
use crate::types::{CollectionKind, Condition};

/// Takes in all that can be; inside a write transaction.
pub(crate) fn drain(conn: &Connection, with: &IndexContext<'_>) -> Result<()> {
    RecordWriter::run(conn, with.order, |writing| {
        // Whoever writes past the view may choose any number.
        let mut last = i64::MIN;
        while let Some(entry) = next(conn, last)? {
            last = entry.id;
            match take_in(conn, writing, with, entry)? {
                Ok(()) => conn.execute("DELETE FROM inbox WHERE rowid = ?1", [last])?,
                Err(problem) => {
                    tracing::warn!(entry = last, problem, "left in the inbox");
                    conn.execute(
                        "UPDATE inbox SET problem = ?2 WHERE rowid = ?1",
                        (last, problem),
                    )?
                }
            };
        }
        Ok(())
    })
}

/// What somebody wrote.
struct Entry {
    id: i64,
    /// `None`: nothing that a trigger writes.
    what: Option<What>,
}

/// What a statement was to do.
enum What {
    Insert {
        collection: i64,
        text: Vec<u8>,
    },
    Update {
        record: i64,
        /// What it says that the record's collection is called.
        book: String,
        text: Vec<u8>,
    },
    Delete {
        record: i64,
    },
}

fn next(conn: &Connection, last: i64) -> Result<Option<Entry>> {
    Ok(conn
        .prepare_cached(
            "SELECT rowid, record, book, text FROM inbox \
             WHERE rowid > ?1 AND problem IS NULL ORDER BY rowid LIMIT 1",
        )?
        .query_row([last], |r| {
            let (book, text) = (r.get_ref(2)?, r.get_ref(3)?);
            Ok(Entry {
                id: r.get(0)?,
                what: what(r.get_ref(1)?, book, text),
            })
        })
        .optional()?)
}

fn what(record: ValueRef<'_>, book: ValueRef<'_>, text: ValueRef<'_>) -> Option<What> {
    Some(match (record, book, text) {
        (ValueRef::Integer(record), _, _) => What::Update {
            record,
            book: lossy(book),
            text: bytes(text)?,
        },
        (ValueRef::Null, ValueRef::Integer(collection), _) => What::Insert {
            collection,
            text: bytes(text)?,
        },
        (ValueRef::Null, ValueRef::Null, ValueRef::Integer(record)) => What::Delete { record },
        _ => return None,
    })
}

/// What another program wrote, of whatever type.
fn bytes(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_owned()),
    }
}

/// The same as text; it need not be UTF-8. NULL is the empty one, which is no name.
pub(crate) fn lossy(value: ValueRef<'_>) -> String {
    String::from_utf8_lossy(&bytes(value).unwrap_or_default()).into_owned()
}

/// What an entry asks for, in a collection that is there.
struct Task {
    collection: i64,
    kind: CollectionKind,
    /// The record that it is about; `None`: it is an INSERT.
    uid: Option<String>,
    /// What is to be saved; `None`: nothing, it is a DELETE.
    text: Option<Vec<u8>>,
}

/// Or why an entry cannot be taken in.
type Taken<T> = std::result::Result<T, String>;

/// What there is to do; `None`: nothing, it is as the entry wants it.
fn task(conn: &Connection, what: Option<What>) -> Result<Taken<Option<Task>>> {
    let (collection, uid, book, text) = match what {
        None => {
            return Ok(Err(
                "it says neither where to save nor what to remove".to_owned()
            ));
        }
        Some(What::Insert { collection, text }) => (collection, None, None, Some(text)),
        Some(What::Update { record, book, text }) => match stored(conn, record)? {
            Some((collection, uid)) => (collection, Some(uid), Some(book), Some(text)),
            None => {
                return Ok(Err(format!(
                    "record {record}, of which it is, was removed and is forgotten: insert it"
                )));
            }
        },
        Some(What::Delete { record }) => match stored(conn, record)? {
            Some((collection, uid)) => (collection, Some(uid), None, None),
            None => return Ok(Ok(None)),
        },
    };
    let (kind, name) = match names::numbered(conn, collection)? {
        Some((kind, name, 0)) => (kind, name),
        Some((kind, name, _)) => return Ok(Err(format!("the {kind} \"{name}\" was removed"))),
        None => {
            return Ok(Err(
                "it is for no address book or calendar that is there".to_owned()
            ));
        }
    };
    if book.is_some_and(|book| book != name) {
        return Ok(Err(format!(
            "an UPDATE cannot move a {}: insert it into the other {kind}, and delete it in \
             \"{name}\"",
            kind.record_noun(),
        )));
    }
    Ok(Ok(Some(Task {
        collection,
        kind,
        uid,
        text,
    })))
}

/// The collection and the UID of a record, be it removed; `None`: it is forgotten.
fn stored(conn: &Connection, record: i64) -> Result<Option<(i64, String)>> {
    Ok(conn
        .prepare_cached("SELECT collection, uid FROM record WHERE id = ?1")?
        .query_row([record], |r| Ok((r.get(0)?, lossy(r.get_ref(1)?))))
        .optional()?)
}

/// Takes in an entry, or tells why it cannot be.
fn take_in(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    with: &IndexContext<'_>,
    entry: Entry,
) -> Result<Taken<()>> {
    let task = match task(conn, entry.what)? {
        Ok(Some(task)) => task,
        Ok(None) => return Ok(Ok(())),
        Err(problem) => return Ok(Err(problem)),
    };
    let Task {
        collection,
        kind,
        uid,
        text,
    } = task;
    let mut put = Put {
        conn,
        writing,
        with,
        collection,
        uid: uid.as_deref(),
        saved: Vec::new(),
    };
    match (kind, text) {
        (_, None) => {}
        (CollectionKind::Contacts, Some(text)) => match Card::parse(text) {
            Ok(card) => put.all([Item::new(card, 1, 1)])?,
            Err(error) => return Ok(Err(Error::from(error).to_string())),
        },
        (CollectionKind::Calendar, Some(text)) => {
            // Those of the object that the record came in.
            let stored = uid.as_ref();
            let stored = stored.map(|uid| records::stored(conn, collection, uid));
            let row = stored.transpose()?.flatten().and_then(|(_, row, _)| row);
            let zones = ZonesOf::default().get(conn, row)?;
            match calendar::import::items(text, &zones) {
                Ok(items) => put.all(items)?,
                Err(problem) => return Ok(Err(problem)),
            }
        }
    }
    let saved = put.saved;
    // An UPDATE that gave the record another UID is a removal of the one it was, as a DELETE is.
    if let Some(uid) = uid.as_ref().filter(|uid| !saved.contains(uid)) {
        records::remove(conn, writing, collection, uid, Condition::Always)?;
    }
    Ok(Ok(()))
}

/// Saves the records of an entry.
struct Put<'p, 'o> {
    conn: &'p Connection,
    writing: &'p mut RecordWriter<'o>,
    with: &'p IndexContext<'p>,
    collection: i64,
    /// The record that the entry is about.
    uid: Option<&'p str>,
    /// The UIDs of what was saved.
    saved: Vec<String>,
}

impl Put<'_, '_> {
    fn all<R: RecordKind>(&mut self, items: impl IntoIterator<Item = Item<R>>) -> Result<()> {
        for item in items {
            let mut one = IndexedRecord::new(&item.record, self.with).from(item.from.as_ref());
            if let Some(uid) = self.uid
                && item.record.uid().is_none()
            {
                one = one.known_as(uid);
            }
            one.put(self.conn, self.writing, self.collection, Condition::Always)?;
            self.saved.push(one.uid().to_owned());
        }
        Ok(())
    }
}
