//! Collections by kind and name, as the schema has them.

use rusqlite::Connection;

use super::Kind;
use crate::error::{Error, Result};

/// A collection of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// All of a kind, the default one first.
pub(crate) fn all(conn: &Connection, kind: Kind) -> Result<Vec<Named>> {
    Ok(look(conn, kind)?.0)
}

/// All of a kind, and whether something waits in the inbox: a program that opens a store asks for
/// both, and a statement of its own would cost it a read transaction and some more parsing.
pub(crate) fn look(conn: &Connection, kind: Kind) -> Result<(Vec<Named>, bool)> {
    // There are few: to pass them all costs less than to plan anything else.
    let mut statement = conn.prepare_cached(
        "SELECT id, name, kind, EXISTS (SELECT 1 FROM inbox WHERE problem IS NULL) \
         FROM collection NOT INDEXED",
    )?;
    let mut rows = statement.query([])?;
    let (mut found, mut waits) = (Vec::new(), false);
    while let Some(row) = rows.next()? {
        waits = row.get(3)?;
        if row.get_ref(2)?.as_str() == Ok(kind.stored()) {
            let (id, name) = (row.get(0)?, row.get(1)?);
            found.push(Named { id, name });
        }
    }
    found.sort_unstable_by_key(|named| named.id);
    Ok((found, waits))
}

/// The one of this name; without a name the default one, which is the first.
pub(crate) fn one(conn: &Connection, kind: Kind, name: Option<&str>) -> Result<Named> {
    of(all(conn, kind)?, kind, name)
}

/// The same, of all of the kind.
pub(crate) fn of(all: Vec<Named>, kind: Kind, name: Option<&str>) -> Result<Named> {
    let is_it = |found: &&Named| name.is_none_or(|name| found.name == name);
    if let Some(found) = all.iter().find(is_it) {
        return Ok(found.clone());
    }
    Err(Error::NoCollection {
        kind,
        name: name.unwrap_or(kind.default_name()).to_owned(),
        known: all.into_iter().map(|c| c.name).collect(),
    })
}

/// Makes one.
pub(crate) fn create(conn: &Connection, kind: Kind, name: &str) -> Result<Named> {
    let fits = (1..=200).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && name.trim() == name;
    if !fits {
        return Err(Error::BadName {
            kind,
            name: name.to_owned(),
        });
    }
    let made = conn.execute(
        "INSERT OR IGNORE INTO collection (kind, name) VALUES (?1, ?2)",
        (kind.stored(), name),
    )?;
    if made == 0 {
        return Err(Error::CollectionExists {
            kind,
            name: name.to_owned(),
        });
    }
    Ok(Named {
        id: conn.last_insert_rowid(),
        name: name.to_owned(),
    })
}
