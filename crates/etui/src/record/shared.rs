//! What records share: the calendar objects they came in, and the zones that are defined there.
//!
//! ```text
//! shared       id -> hash, text          an object's frame (`calendar::ics::ObjectTemplate`), or a VTIMEZONE
//! record       shared, places            the row of its frame; its components' numbers there
//! places    := varint*                   of each component in turn; made later: none
//! change       shared, places            the same before the change, if that was another object
//! ```
//!
//! ObjectTexts are shared by content: two objects with the same frame have one row. Of an object that is
//! so large that its records go in before its end was read, the row is made first and its text put
//! in at the end of the same transaction. Any other text is found by its row's number, which is the
//! beginning of its hash.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension};

use super::RecordOrigin;
use crate::error::Result;
use crate::types::ETag;
use etui_text::varint;

/// An object that records came in, on its way into the store.
#[derive(Debug, Default)]
pub(crate) struct ImportedObject(Mutex<ObjectState>);

/// An object's text and the texts of its zones, once it is all read.
type ObjectTexts = (Vec<u8>, Arc<Vec<Vec<u8>>>);

#[derive(Debug, Default)]
struct ObjectState {
    /// It is none: what came from it came in no object.
    is_none: bool,
    row: Option<i64>,
    texts: Option<ObjectTexts>,
    /// The row is there and its text is not.
    is_promised: bool,
}

impl ImportedObject {
    /// One that is in the store; `None`: no object.
    pub(crate) fn from_row(row: Option<i64>) -> Self {
        let state = ObjectState {
            is_none: row.is_none(),
            row,
            ..ObjectState::default()
        };
        Self(Mutex::new(state))
    }

    fn state(&self) -> MutexGuard<'_, ObjectState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is all read: this is its frame, and these are the zones defined in it.
    pub(crate) fn end(&self, frame: Vec<u8>, zones: Arc<Vec<Vec<u8>>>) {
        self.state().texts = Some((frame, zones));
    }

    /// Its row is looked for anew.
    fn forget_row(&self) {
        let mut state = self.state();
        if state.texts.is_some() {
            state.row = None;
            state.is_promised = false;
        }
    }

    /// Its row, made if need be; inside a write transaction. `None`: it is none.
    pub(crate) fn row(&self, conn: &Connection) -> Result<Option<i64>> {
        let mut state = self.state();
        if state.is_none || state.row.is_some() {
            return Ok(state.row);
        }
        let row = match &state.texts {
            Some((frame, zones)) => {
                for zone in zones.iter() {
                    put(conn, zone)?;
                }
                put(conn, frame)?
            }
            None => {
                state.is_promised = true;
                conn.prepare_cached(
                    "INSERT INTO shared_text (id, hash, text) \
                     SELECT min(coalesce(min(id), 0), 0) - 1, x'', x'' FROM shared_text",
                )?
                .execute([])?;
                conn.last_insert_rowid()
            }
        };
        state.row = Some(row);
        Ok(state.row)
    }

    /// Puts in the text of a row that was made before it was known.
    pub(crate) fn write_text(&self, conn: &Connection) -> Result<()> {
        let mut state = self.state();
        if let (true, Some(row), Some((frame, zones))) =
            (state.is_promised, state.row, &state.texts)
        {
            for zone in zones.iter() {
                put(conn, zone)?;
            }
            conn.prepare_cached("UPDATE shared_text SET hash = ?2, text = ?3 WHERE id = ?1")?
                .execute((row, ETag::of(frame), frame))?;
            state.is_promised = false;
        }
        Ok(())
    }
}

/// Where a record on its way in came from.
#[derive(Debug, Clone)]
pub struct SourceObject {
    /// The object.
    pub(crate) object: Arc<ImportedObject>,
    /// Its components' numbers there; `u32::MAX`: it was not there.
    pub(crate) places: Vec<u32>,
    /// It came from nowhere: the object was made for the zones it needs. `None`: it was not.
    pub(crate) made: Option<ZoneCheck>,
}

/// Tells of an object that was made for a record whether another one, in this row of `shared`, says
/// the same of its zones: then that one, from which the record came before, stays.
#[derive(Clone)]
pub(crate) struct ZoneCheck(Arc<ZonePredicate>);

type ZonePredicate = dyn Fn(&Connection, i64) -> Result<bool> + Send + Sync;

impl fmt::Debug for ZoneCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Made")
    }
}

impl SourceObject {
    /// Of a record of `components` components, from an object made for it; `says` tells of another
    /// one whether it says the same.
    pub(crate) fn made(
        frame: Vec<u8>,
        zones: Vec<Vec<u8>>,
        components: usize,
        says: impl Fn(&Connection, i64) -> Result<bool> + Send + Sync + 'static,
    ) -> Self {
        let object = ImportedObject::default();
        object.end(frame, Arc::new(zones));
        Self {
            object: Arc::new(object),
            places: vec![u32::MAX; components],
            made: Some(ZoneCheck(Arc::new(says))),
        }
    }

    /// Whether both came from the same object.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        let row = |p: &Self| p.object.state().row;
        Arc::ptr_eq(&self.object, &other.object)
            || row(self).is_some_and(|mine| row(other) == Some(mine))
    }

    /// As it is stored; inside a write transaction.
    pub(crate) fn origin(&self, conn: &Connection) -> Result<RecordOrigin> {
        let mut places = Vec::new();
        for &place in &self.places {
            varint::push_u64(&mut places, place.into());
        }
        if self.made.is_some() {
            // A transaction before this one may have failed.
            self.object.forget_row();
        }
        Ok(RecordOrigin {
            source: self.object.row(conn)?,
            positions: places,
        })
    }

    /// Whether the object in this row, from which the record came before, is to stay.
    pub(crate) fn keeps_source(&self, conn: &Connection, shared: Option<i64>) -> Result<bool> {
        match (&self.made, shared) {
            (Some(ZoneCheck(says)), Some(row)) => says(conn, row),
            _ => Ok(false),
        }
    }

    /// The record of `components` components that is stored with this origin.
    pub(crate) fn stored(shared: Option<i64>, places: &[u8], components: usize) -> Self {
        let mut all = decode_positions(places);
        all.resize(components, u32::MAX);
        Self {
            object: Arc::new(ImportedObject::from_row(shared)),
            places: all,
            made: None,
        }
    }
}

/// Stored places as numbers.
pub(crate) fn decode_positions(mut places: &[u8]) -> Vec<u32> {
    std::iter::from_fn(|| varint::take_u64(&mut places))
        .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
        .collect()
}

/// Where a text with this hash is looked for first: its first 47 bits, which SQLite keeps in six
/// bytes. The next rows follow, up to one that is not there.
fn number(hash: ETag) -> i64 {
    let first = hash.0.iter().take(6);
    first.fold(0, |number, &byte| number << 8 | i64::from(byte)) >> 1
}

/// The row of a text, put in if there is none.
fn put(conn: &Connection, text: &[u8]) -> Result<i64> {
    let hash = ETag::of(text);
    let mut row = number(hash);
    let mut is_it = conn.prepare_cached("SELECT text = ?2 FROM shared_text WHERE id = ?1")?;
    while let Some(found) = is_it.query_row((row, text), |r| r.get(0)).optional()? {
        if found {
            return Ok(row);
        }
        row += 1;
    }
    conn.prepare_cached("INSERT INTO shared_text (id, hash, text) VALUES (?1, ?2, ?3)")?
        .execute((row, hash, text))?;
    Ok(row)
}

/// The text of a row.
pub(crate) fn text(conn: &Connection, row: i64) -> Result<Option<Vec<u8>>> {
    Ok(conn
        .prepare_cached("SELECT text FROM shared_text WHERE id = ?1")?
        .query_row([row], |r| r.get(0))
        .optional()?)
}

/// The text with this hash, which was known when its row was made.
pub(crate) fn find_text(conn: &Connection, hash: ETag) -> Result<Option<Vec<u8>>> {
    let mut is_it = conn.prepare_cached("SELECT hash = ?2 FROM shared_text WHERE id = ?1")?;
    let mut row = number(hash);
    while let Some(found) = is_it.query_row((row, hash), |r| r.get(0)).optional()? {
        if found {
            return text(conn, row);
        }
        row += 1;
    }
    Ok(None)
}

/// Objects that items of an import came from, each once.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedObjects(HashMap<*const ImportedObject, Arc<ImportedObject>>);

impl UnfinishedObjects {
    /// Takes one in, if it was not read to its end when it was needed.
    pub(crate) fn note(&mut self, object: &Arc<ImportedObject>) {
        if object.state().is_promised {
            self.0
                .entry(Arc::as_ptr(object))
                .or_insert_with(|| Arc::clone(object));
        }
    }

    /// All of them are read to their ends now.
    pub(crate) fn write_texts(&self, conn: &Connection) -> Result<()> {
        self.0.values().try_for_each(|o| o.write_text(conn))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::db::schema;

    #[test]
    fn a_number_that_another_text_has_is_passed_over() {
        let conn = Connection::open_in_memory().unwrap();
        schema::Migrations(&[]).run(&conn, 0).unwrap();
        let hash = ETag::of(b"mine");
        let first = number(hash);
        assert!((0..1 << 47).contains(&first));
        for row in [first, first + 1] {
            let insert = "INSERT INTO shared_text (id, hash, text) VALUES (?1, x'', x'')";
            conn.execute(insert, [row]).unwrap();
        }
        assert_eq!(find_text(&conn, hash).unwrap(), None);
        for _ in 0..2 {
            assert_eq!(put(&conn, b"mine").unwrap(), first + 2);
        }
        assert_eq!(find_text(&conn, hash).unwrap().unwrap(), b"mine");
    }

    #[test]
    fn texts_that_are_not_known_yet_take_numbers_below_zero() {
        let conn = Connection::open_in_memory().unwrap();
        schema::Migrations(&[]).run(&conn, 0).unwrap();
        put(&conn, b"known").unwrap();
        let objects = [ImportedObject::default(), ImportedObject::default()];
        for (object, row) in objects.iter().zip([-1, -2]) {
            assert_eq!(object.row(&conn).unwrap(), Some(row));
        }
        for (object, row) in objects.iter().zip([-1, -2]) {
            object.end(b"frame".to_vec(), Arc::default());
            object.write_text(&conn).unwrap();
            assert_eq!(text(&conn, row).unwrap().unwrap(), b"frame");
        }
    }
}
