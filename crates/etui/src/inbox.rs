//! What other programs wrote through the view `item`, with plain SQLite and no parser.
//!
//! The view's triggers put every INSERT, UPDATE and DELETE into the table `inbox`; it is taken in
//! when a program next opens a collection. What cannot be kept stays in the inbox, where
//! `etui check` tells of it.
//!
//! A calendar's entry is the components of one UID, or whole calendar objects.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::calendar;
use crate::calendar::objects::ZonesOf;
use crate::collection::prepared::Prepared;
use crate::collection::records::{self, Writing};
use crate::collection::{Condition, Deriving, Kind, Record, names};
use crate::contacts::Card;
use crate::error::{Error, Result};
use crate::import::run::Item;

/// Takes in all that can be; inside a write transaction.
pub(crate) fn drain(conn: &Connection, with: &Deriving<'_>) -> Result<()> {
    Writing::run(conn, with.order, |writing| {
        let mut last = 0;
        while let Some(entry) = next(conn, last)? {
            last = entry.id;
            match take_in(conn, writing, with, &entry)? {
                Ok(()) => conn.execute("DELETE FROM inbox WHERE rowid = ?1", [entry.id])?,
                Err(problem) => {
                    tracing::warn!(entry.id, problem, "left in the inbox");
                    conn.execute(
                        "UPDATE inbox SET problem = ?2 WHERE rowid = ?1",
                        (entry.id, problem),
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
    kind: Option<Kind>,
    /// The collection's name; `None`: the first of its kind.
    name: Option<String>,
    /// What an UPDATE or a DELETE is of.
    uid: Option<String>,
    /// What is to be saved; `None`: nothing, it is a DELETE.
    text: Option<Vec<u8>>,
}

fn next(conn: &Connection, last: i64) -> Result<Option<Entry>> {
    Ok(conn
        .prepare_cached(
            "SELECT rowid, kind, book, uid, text FROM inbox \
             WHERE rowid > ?1 AND problem IS NULL ORDER BY rowid LIMIT 1",
        )?
        .query_row([last], |r| {
            let text = |at| Ok::<_, rusqlite::Error>(bytes(r.get_ref(at)?).map(lossy));
            Ok(Entry {
                id: r.get(0)?,
                kind: text(1)?.and_then(|kind| Kind::of_stored(&kind)),
                name: text(2)?,
                uid: text(3)?,
                text: bytes(r.get_ref(4)?),
            })
        })
        .optional()?)
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

/// As text; it need not be UTF-8.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Takes in an entry, or tells why it cannot be.
fn take_in(
    conn: &Connection,
    writing: &mut Writing<'_>,
    with: &Deriving<'_>,
    entry: &Entry,
) -> Result<std::result::Result<(), String>> {
    let Some(kind) = entry.kind else {
        return Ok(Err(
            "it is for no kind of collection that is known".to_owned()
        ));
    };
    let collection = match names::one(conn, kind, entry.name.as_deref()) {
        Ok(named) => named.id,
        Err(error @ Error::NoCollection { .. }) => return Ok(Err(error.to_string())),
        Err(e) => return Err(e),
    };
    if entry.uid.is_none() && entry.text.is_none() {
        return Ok(Err(
            "it says neither what to save nor what to remove".to_owned()
        ));
    }
    let mut put = Put {
        conn,
        writing,
        with,
        collection,
        uid: entry.uid.as_deref(),
        saved: Vec::new(),
    };
    match (kind, entry.text.clone()) {
        (_, None) => {}
        (Kind::Contacts, Some(text)) => match Card::parse(text) {
            Ok(card) => put.all([Item::new(card, 1, 1)])?,
            Err(error) => return Ok(Err(Error::from(error).to_string())),
        },
        (Kind::Calendar, Some(text)) => {
            // Those of the object that the record came in.
            let stored = entry.uid.as_ref();
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
    if let Some(uid) = entry.uid.as_ref().filter(|uid| !saved.contains(uid)) {
        records::remove(conn, writing, collection, uid, Condition::Always)?;
    }
    Ok(Ok(()))
}

/// Saves the records of an entry.
struct Put<'p, 'o> {
    conn: &'p Connection,
    writing: &'p mut Writing<'o>,
    with: &'p Deriving<'p>,
    collection: i64,
    /// The record that the entry is about.
    uid: Option<&'p str>,
    /// The UIDs of what was saved.
    saved: Vec<String>,
}

impl Put<'_, '_> {
    fn all<R: Record>(&mut self, items: impl IntoIterator<Item = Item<R>>) -> Result<()> {
        for item in items {
            let mut one = Prepared::new(&item.record, self.with).from(item.from.as_ref());
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
