//! [`inspect`]: settings, sizes and schema of a database, from a copy of it.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use serde::Serialize;

use super::copy::{beside, read_header};
use crate::error::Error;

/// The facts about a database file.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Inspection {
    /// The size of the file.
    pub bytes: u64,
    pub page_size: u32,
    pub pages: u64,
    /// Pages that hold nothing.
    pub free_pages: u64,
    /// It is in WAL mode; else it has a rollback journal.
    pub wal: bool,
    /// The size of the WAL beside it.
    pub wal_bytes: u64,
    /// `none`, `full` or `incremental`.
    pub auto_vacuum: String,
    /// The version of the SQLite that wrote it last.
    pub writer: Option<String>,
    /// Tables by bytes, the largest first.
    pub tables: Vec<TableInfo>,
    /// Indexes whose columns are the first ones of another index.
    pub redundant_indexes: Vec<RedundantIndex>,
    /// The part of the pages of tables and indexes that follow their predecessor in the file.
    pub sequential: Option<f64>,
    /// The first fault that SQLite's quick check found.
    pub fault: Option<String>,
}

/// A table or an index with its size.
#[derive(Debug, Clone, Serialize)]
pub struct TableInfo {
    pub name: String,
    /// Bytes of its pages.
    pub bytes: u64,
}

/// An index that another one can replace.
#[derive(Debug, Clone, Serialize)]
pub struct RedundantIndex {
    pub name: String,
    pub table: String,
    /// The index that begins with the same columns.
    pub covered_by: String,
}

/// Inspects a database by its copy. `original` is looked at for the files beside it.
pub fn inspect(copy: &Path, original: &Path) -> Result<Inspection, Error> {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    // That of the copy names the SQLite that copied.
    let header = read_header(original).ok().flatten();
    let conn = Connection::open(copy)?;
    let number = |name: &str| -> Result<u64, Error> {
        let value: i64 = conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))?;
        Ok(value.unsigned_abs())
    };
    let fault: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    let mut found = Inspection {
        bytes: size(original),
        page_size: u32::try_from(number("page_size")?).unwrap_or(0),
        pages: number("page_count")?,
        free_pages: number("freelist_count")?,
        wal: header.is_some_and(|header| header.wal),
        wal_bytes: size(&beside(original, "-wal")),
        auto_vacuum: match number("auto_vacuum")? {
            1 => "full",
            2 => "incremental",
            _ => "none",
        }
        .to_owned(),
        writer: header.and_then(|header| format_version(header.writer)),
        fault: (fault != "ok").then_some(fault),
        ..Inspection::default()
    };
    if found.fault.is_none() {
        found.redundant_indexes = redundant_indexes(&conn)?;
        (found.tables, found.sequential) = page_use(&conn)?;
    }
    Ok(found)
}

/// `3040001` is 3.40.1.
fn format_version(version: u32) -> Option<String> {
    let (major, minor, patch) = (version / 1_000_000, version / 1000 % 1000, version % 1000);
    (major == 3).then(|| format!("{major}.{minor}.{patch}"))
}

/// Returns the sizes of tables and indexes, and the part of their pages that are in order.
fn page_use(conn: &Connection) -> Result<(Vec<TableInfo>, Option<f64>), Error> {
    let mut statement =
        conn.prepare("SELECT name, pageno, pgsize FROM dbstat ORDER BY name, path")?;
    let mut rows = statement.query([])?;
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    let (mut followers, mut in_order) = (0_u64, 0_u64);
    let mut last: Option<(String, i64)> = None;
    while let Some(row) = rows.next()? {
        let (name, page): (String, i64) = (row.get(0)?, row.get(1)?);
        let bytes = row.get::<_, i64>(2)?.unsigned_abs();
        if let Some((before, previous)) = &last
            && *before == name
        {
            followers += 1;
            in_order += u64::from(page == previous + 1);
        }
        *sizes.entry(name.clone()).or_default() += bytes;
        last = Some((name, page));
    }
    let mut tables: Vec<TableInfo> = sizes
        .into_iter()
        .map(|(name, bytes)| TableInfo { name, bytes })
        .collect();
    tables.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    let sequential = (followers >= 100).then(|| in_order as f64 / followers as f64);
    Ok((tables, sequential))
}

/// An index: its name, whether it is unique or partial, and its columns with collation and order.
struct IndexColumns {
    name: String,
    removable: bool,
    partial: bool,
    columns: Vec<(String, String, bool)>,
}

fn redundant_indexes(conn: &Connection) -> Result<Vec<RedundantIndex>, Error> {
    let mut found = Vec::new();
    for table in super::schema::table_names(conn)? {
        let indexes = indexes_of(conn, &table)?;
        for index in indexes
            .iter()
            .filter(|index| index.removable && !index.partial)
        {
            let covers = |other: &&IndexColumns| {
                other.name != index.name
                    && !other.partial
                    && other.columns.starts_with(&index.columns)
                    // Of two equal ones, the later name goes.
                    && (other.columns.len() > index.columns.len()
                        || !other.removable
                        || other.name < index.name)
            };
            if let Some(other) = indexes.iter().find(covers) {
                found.push(RedundantIndex {
                    name: index.name.clone(),
                    table: table.clone(),
                    covered_by: other.name.clone(),
                });
            }
        }
    }
    Ok(found)
}

fn indexes_of(conn: &Connection, table: &str) -> Result<Vec<IndexColumns>, Error> {
    let mut statement =
        conn.prepare("SELECT name, \"unique\", origin, partial FROM pragma_index_list(?1)")?;
    let listed = statement.query_map([table], |row| {
        Ok(IndexColumns {
            name: row.get(0)?,
            removable: !row.get::<_, bool>(1)? && row.get::<_, String>(2)? == "c",
            partial: row.get(3)?,
            columns: Vec::new(),
        })
    })?;
    let mut indexes = listed.collect::<rusqlite::Result<Vec<_>>>()?;
    for index in &mut indexes {
        let mut statement = conn.prepare(
            "SELECT cid, name, coll, desc FROM pragma_index_xinfo(?1) WHERE key ORDER BY seqno",
        )?;
        let columns = statement.query_map([&index.name], |row| {
            let (column, name): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
            // An expression has no name; its text is not compared, so it is like no other.
            let name = name.unwrap_or_else(|| format!("{column} of {}", index.name));
            Ok((name, row.get(2)?, row.get(3)?))
        })?;
        index.columns = columns.collect::<rusqlite::Result<_>>()?;
    }
    Ok(indexes)
}
