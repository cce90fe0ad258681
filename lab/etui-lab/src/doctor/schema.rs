//! Tables and columns of a database.

use rusqlite::Connection;

use crate::error::Error;

/// Returns the names of the tables that hold rows of their own, without SQLite's.
pub fn table_names(conn: &Connection) -> Result<Vec<String>, Error> {
    let mut statement = conn.prepare(
        "SELECT name FROM pragma_table_list \
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

pub fn column_names(conn: &Connection, table: &str) -> Result<Vec<String>, Error> {
    let mut statement = conn.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// Returns an identifier in quotes.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns an identifier as a person would write it: in quotes only if it needs them.
pub fn quote_if_needed(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match plain {
        true => name.to_owned(),
        false => quote(name),
    }
}
