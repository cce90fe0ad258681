//! Collections by kind and name: address books.

use rusqlite::{Connection, OptionalExtension};

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
    let mut statement =
        conn.prepare_cached("SELECT id, name FROM collection WHERE kind = ?1 ORDER BY id")?;
    let found = statement.query_map([kind.stored()], |r| {
        Ok(Named {
            id: r.get(0)?,
            name: r.get(1)?,
        })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// The default one: the first.
pub(crate) fn first(conn: &Connection, kind: Kind) -> Result<Named> {
    let first = all(conn, kind)?.into_iter().next();
    first.ok_or_else(|| Error::NoCollection {
        kind,
        name: kind.default_name().to_owned(),
        known: Vec::new(),
    })
}

/// The one of this name.
pub(crate) fn named(conn: &Connection, kind: Kind, name: &str) -> Result<Named> {
    let id = conn
        .prepare_cached("SELECT id FROM collection WHERE kind = ?1 AND name = ?2")?
        .query_row((kind.stored(), name), |r| r.get(0))
        .optional()?;
    match id {
        Some(id) => Ok(Named {
            id,
            name: name.to_owned(),
        }),
        None => Err(Error::NoCollection {
            kind,
            name: name.to_owned(),
            known: all(conn, kind)?.into_iter().map(|c| c.name).collect(),
        }),
    }
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
