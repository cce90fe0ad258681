//! Texts that records share: calendar objects without their records, and time zones.
//!
//! ```text
//! shared_text  id -> hash, text     a template (`etui_ical::ics::ObjectTemplate`), or a VTIMEZONE
//! record       source, positions    the row of its template; its components' numbers there
//! positions := varint*              of each component in turn; none for those created later
//! change       source, positions    before the change, if that was another object
//! ```
//!
//! Texts are shared by content: two objects with equal templates have one row. The records of a
//! large object are saved before its end is read: its row is inserted first, and its text at the
//! end of the same transaction. Any other text is found by its id, which begins as its hash does.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension};

use super::RecordOrigin;
use crate::error::Result;
use crate::types::ETag;
use etui_text::varint;

/// A calendar object that is being imported, or is stored.
#[derive(Debug, Default)]
pub(crate) struct ImportedObject(Mutex<ObjectState>);

/// The template of an object and the texts of its zones, once it is read to its end.
type ObjectTexts = (Vec<u8>, Arc<Vec<Vec<u8>>>);

#[derive(Debug, Default)]
struct ObjectState {
    /// The records came in no object.
    is_none: bool,
    row: Option<i64>,
    texts: Option<ObjectTexts>,
    /// The row is inserted without its text.
    is_promised: bool,
}

impl ImportedObject {
    /// Returns a stored object; `None`: no object.
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

    /// Sets the template and the zones: the object is read to its end.
    pub(crate) fn set_texts(&self, frame: Vec<u8>, zones: Arc<Vec<Vec<u8>>>) {
        self.state().texts = Some((frame, zones));
    }

    /// Forgets the row, so that it is looked up again.
    fn forget_row(&self) {
        let mut state = self.state();
        // Without its texts the row could not be found again.
        if state.texts.is_some() {
            state.row = None;
            state.is_promised = false;
        }
    }

    /// Returns the row, inserted if necessary; `None` if there is no object. Runs in a write
    /// transaction.
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
                // Its hash is not known yet: ids below zero are those of no hash.
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

    /// Writes the text of a row that was inserted without one.
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

/// The source of an imported record: its calendar object, and the positions of its components
/// there.
#[derive(Debug, Clone)]
pub struct SourceObject {
    pub(crate) object: Arc<ImportedObject>,
    /// The positions of its components; `u32::MAX`: not in the object.
    pub(crate) places: Vec<u32>,
    /// Set if the object was made for the time zones that the record needs.
    pub(crate) made: Option<ZoneCheck>,
}

/// Compares an object that was made for a record with the stored object of a row: returns true if
/// both define the same zones. Then the stored one stays.
#[derive(Clone)]
pub(crate) struct ZoneCheck(Arc<ZonePredicate>);

type ZonePredicate = dyn Fn(&Connection, i64) -> Result<bool> + Send + Sync;

impl fmt::Debug for ZoneCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Made")
    }
}

impl SourceObject {
    /// Returns the source of a record with an object made for it. `says` compares it with a stored
    /// object.
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

    /// Returns true if both records came in the same object.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        let row = |p: &Self| p.object.state().row;
        Arc::ptr_eq(&self.object, &other.object)
            || row(self).is_some_and(|mine| row(other) == Some(mine))
    }

    /// Returns the columns to store. Runs in a write transaction.
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

    /// Returns true if the record keeps its stored object.
    pub(crate) fn keeps_source(&self, conn: &Connection, shared: Option<i64>) -> Result<bool> {
        match (&self.made, shared) {
            (Some(ZoneCheck(says)), Some(row)) => says(conn, row),
            _ => Ok(false),
        }
    }

    /// Returns the source of a stored record with `components` components.
    pub(crate) fn stored(shared: Option<i64>, places: &[u8], components: usize) -> Self {
        let mut all = decode_positions(places);
        // Components that were added later are not in the object.
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
        // A number that is too large is that of no component.
        .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
        .collect()
}

/// Returns the first id for a text with this hash: its first 47 bits, which SQLite stores in six
/// bytes. Texts with equal bits take the next free ids.
fn number(hash: ETag) -> i64 {
    let first = hash.0.iter().take(6);
    first.fold(0, |number, &byte| number << 8 | i64::from(byte)) >> 1
}

/// Returns the row of a text, inserted if necessary.
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

/// Returns true if a text with this hash is found at this row: the rows from its first number on are in
/// use. Texts that were inserted before they were known are not looked for.
pub(crate) fn is_found_at(conn: &Connection, row: i64, hash: ETag) -> Result<bool> {
    let first = number(hash);
    let used: i64 = conn
        .prepare_cached("SELECT count(*) FROM shared_text WHERE id BETWEEN ?1 AND ?2")?
        .query_row((first, row), |r| r.get(0))?;
    Ok(row < 0 || (row >= first && used == row - first + 1))
}

/// Returns the text of a row.
pub(crate) fn text(conn: &Connection, row: i64) -> Result<Option<Vec<u8>>> {
    Ok(conn
        .prepare_cached("SELECT text FROM shared_text WHERE id = ?1")?
        .query_row([row], |r| r.get(0))
        .optional()?)
}

/// Returns the text with this hash; texts that were inserted before they were known are not found.
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

/// The imported objects whose text is still to be written.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedObjects(HashMap<*const ImportedObject, Arc<ImportedObject>>);

impl UnfinishedObjects {
    /// Adds an object whose row was inserted without its text.
    pub(crate) fn add_unfinished(&mut self, object: &Arc<ImportedObject>) {
        if object.state().is_promised {
            self.0
                .entry(Arc::as_ptr(object))
                .or_insert_with(|| Arc::clone(object));
        }
    }

    /// Writes the texts of all objects, which are read to their ends.
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
