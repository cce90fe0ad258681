//! Texts shared by records: object templates, and the zones defined in them.
//!
//! ```text
//! shared_text  id -> hash, text     a template (`etui_ical::ics::ObjectTemplate`), or a VTIMEZONE
//! record       source, positions    the row of its template; its components' numbers there
//! positions := varint*              of each component in turn; none for those created later
//! change       source, positions    before the change, if that was another object
//! ```
//!
//! Texts are shared by content: two objects with equal templates have one row. For a large object,
//! whose records are saved before its end was read, the row is inserted first and its text
//! at the end of that transaction. Any other text is found by its row's number, a
//! prefix of its hash.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension};

use super::RecordOrigin;
use crate::error::Result;
use crate::types::ETag;
use etui_text::varint;

/// A source object that is being imported.
#[derive(Debug, Default)]
pub(crate) struct ImportedObject(Mutex<ObjectState>);

/// A template and the texts of its zones, complete.
type ObjectTexts = (Vec<u8>, Arc<Vec<Vec<u8>>>);

#[derive(Debug, Default)]
struct ObjectState {
    /// There is no source object.
    is_none: bool,
    row: Option<i64>,
    texts: Option<ObjectTexts>,
    /// The row exists without its text.
    is_promised: bool,
}

impl ImportedObject {
    /// Creates a stored one; `None`: no object.
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
    pub(crate) fn set_texts(&self, frame: Vec<u8>, zones: Arc<Vec<Vec<u8>>>) {
        self.state().texts = Some((frame, zones));
    }

    /// Forgets the row, so that it is looked up again.
    fn forget_row(&self) {
        let mut state = self.state();
        if state.texts.is_some() {
            state.row = None;
            state.is_promised = false;
        }
    }

    /// Its row, made if need be; inside a write transaction. `None`: it is none.
    pub(crate) fn ensure_row(&self, conn: &Connection) -> Result<Option<i64>> {
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

    /// Writes the text of a row that was inserted before it was known.
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

/// The source of an imported record.
#[derive(Debug, Clone)]
pub struct SourceObject {
    /// The object.
    pub(crate) object: Arc<ImportedObject>,
    /// Its components' numbers there; `u32::MAX`: created later.
    pub(crate) places: Vec<u32>,
    /// Set if the object was created for the zones that the record needs.
    pub(crate) made: Option<ZoneCheck>,
}

/// Decides for such an object whether another one, in this row of `shared_text`, has equal zones:
/// then that one, the record's earlier source, stays.
#[derive(Clone)]
pub(crate) struct ZoneCheck(Arc<ZonePredicate>);

type ZonePredicate = dyn Fn(&Connection, i64) -> Result<bool> + Send + Sync;

impl fmt::Debug for ZoneCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Made")
    }
}

impl SourceObject {
    /// Creates the source of a record of `components` components from an object created for it;
    /// the check compares it with another one.
    pub(crate) fn made(
        frame: Vec<u8>,
        zones: Vec<Vec<u8>>,
        components: usize,
        says: impl Fn(&Connection, i64) -> Result<bool> + Send + Sync + 'static,
    ) -> Self {
        let object = ImportedObject::default();
        object.set_texts(frame, Arc::new(zones));
        Self {
            object: Arc::new(object),
            places: vec![u32::MAX; components],
            made: Some(ZoneCheck(Arc::new(says))),
        }
    }

    /// Returns true if both have one source object.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        let row = |p: &Self| p.object.state().row;
        Arc::ptr_eq(&self.object, &other.object)
            || row(self).is_some_and(|mine| row(other) == Some(mine))
    }

    /// Returns the stored form; in a write transaction.
    pub(crate) fn origin(&self, conn: &Connection) -> Result<RecordOrigin> {
        let mut places = Vec::new();
        for &place in &self.places {
            varint::push_u64(&mut places, place.into());
        }
        if self.made.is_some() {
            // An earlier transaction may have failed.
            self.object.forget_row();
        }
        Ok(RecordOrigin {
            source: self.object.ensure_row(conn)?,
            positions: places,
        })
    }

    /// Returns true if the object in this row, the record's earlier source, stays.
    pub(crate) fn keeps_source(&self, conn: &Connection, shared: Option<i64>) -> Result<bool> {
        match (&self.made, shared) {
            (Some(ZoneCheck(says)), Some(row)) => says(conn, row),
            _ => Ok(false),
        }
    }

    /// Returns the stored source of a record of `components` components.
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

/// Decodes stored positions.
pub(crate) fn decode_positions(mut places: &[u8]) -> Vec<u32> {
    std::iter::from_fn(|| varint::take_u64(&mut places))
        .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
        .collect()
}

/// Returns the first row to look for a text with this hash: its first 47 bits, which SQLite stores in six
/// bytes. The next rows follow, up to a free one.
fn number(hash: ETag) -> i64 {
    let first = hash.0.iter().take(6);
    first.fold(0, |number, &byte| number << 8 | i64::from(byte)) >> 1
}

/// Returns the row of a text, inserted if needed.
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

/// Returns the text of a row.
pub(crate) fn text(conn: &Connection, row: i64) -> Result<Option<Vec<u8>>> {
    Ok(conn
        .prepare_cached("SELECT text FROM shared_text WHERE id = ?1")?
        .query_row([row], |r| r.get(0))
        .optional()?)
}

/// Returns the text with this hash, which was known when its row was inserted.
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

/// Source objects of an import's items, each once.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedObjects(HashMap<*const ImportedObject, Arc<ImportedObject>>);

impl UnfinishedObjects {
    /// Takes one in, if it was not read to its end when it was needed.
    pub(crate) fn add_unfinished(&mut self, object: &Arc<ImportedObject>) {
        if object.state().is_promised {
            self.0
                .entry(Arc::as_ptr(object))
                .or_insert_with(|| Arc::clone(object));
        }
    }

    /// Writes the texts of all of them, now complete.
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
            assert_eq!(object.ensure_row(&conn).unwrap(), Some(row));
        }
        for (object, row) in objects.iter().zip([-1, -2]) {
            object.set_texts(b"frame".to_vec(), Arc::default());
            object.write_text(&conn).unwrap();
            assert_eq!(text(&conn, row).unwrap().unwrap(), b"frame");
        }
    }
}
