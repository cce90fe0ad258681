//! Address books: named collections of contacts.

use rusqlite::{Connection, OptionalExtension};

use crate::error::{Error, Result};

/// An address book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Book {
    pub(crate) id: i64,
    pub(crate) name: String,
}

pub(crate) fn all(conn: &Connection) -> Result<Vec<Book>> {
    let mut statement =
        conn.prepare_cached("SELECT id, name FROM collection WHERE kind = 'contacts' ORDER BY id")?;
    let books = statement.query_map([], |r| {
        Ok(Book {
            id: r.get(0)?,
            name: r.get(1)?,
        })
    })?;
    Ok(books.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn first(conn: &Connection) -> Result<Book> {
    all(conn)?
        .into_iter()
        .next()
        .ok_or_else(|| Error::NoAddressBook {
            name: crate::store::DEFAULT_ADDRESS_BOOK.to_owned(),
            known: Vec::new(),
        })
}

pub(crate) fn named(conn: &Connection, name: &str) -> Result<Book> {
    let id = conn
        .prepare_cached("SELECT id FROM collection WHERE kind = 'contacts' AND name = ?1")?
        .query_row([name], |r| r.get(0))
        .optional()?;
    match id {
        Some(id) => Ok(Book {
            id,
            name: name.to_owned(),
        }),
        None => Err(Error::NoAddressBook {
            name: name.to_owned(),
            known: all(conn)?.into_iter().map(|b| b.name).collect(),
        }),
    }
}

pub(crate) fn create(conn: &Connection, name: &str) -> Result<Book> {
    let fits = (1..=200).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && name.trim() == name;
    if !fits {
        return Err(Error::BadName {
            name: name.to_owned(),
        });
    }
    let made = conn.execute(
        "INSERT OR IGNORE INTO collection (kind, name) VALUES ('contacts', ?1)",
        [name],
    )?;
    if made == 0 {
        return Err(Error::AddressBookExists {
            name: name.to_owned(),
        });
    }
    Ok(Book {
        id: conn.last_insert_rowid(),
        name: name.to_owned(),
    })
}
