//! The schema, drawn, and how older ones become this one.
//!
//! ```text
//! meta        key -> value                          store id, incarnation, locale, marks
//! collection  id  -> kind, name                     address books, calendars
//! record      id  -> the record: text as it came, and what is derived from it
//! record_uid  (collection, uid) -> id
//! list_block  id -> entries; list_order by place    live records in list order (`collection::list`)
//! list_span   (collection, first) -> counts         how many of them stand where
//! change      number -> what a change replaced      edits and removals; additions are in `record`
//! posting     (key, first) -> ids                   words, addresses, numbers; three characters
//! inbox       what others wrote through the view `item`, in order
//! shared      id  -> what calendar records share    frames of the objects they came in, zones
//! series      record -> span of its occurrences     recurring or long (`collection::time_index`)
//! alarm       record -> span of its alarms
//! ```
//!
//! One new contact, or an event that happens once, touches four B-trees: `record`, `record_uid`,
//! `list_block`, `list_span`. Why there are no more:
//!
//! * **Numbers**: one sequence numbers all changes, and a record's id is the number of the change
//!   that created it. So additions need no row in `change` (they are the records whose id lies
//!   beyond a token), no counter is stored, and ids are never used again.
//! * **Pending**: `posting` is not written in a save's transaction. Records changed since the marks
//!   in `meta` are pending: a search looks at them besides the index, and they are merged into it
//!   in batches (`index::merge`).
//!
//! Nothing in the schema needs a function, collation or tokenizer that plain SQLite lacks.

use rusqlite::{Connection, ffi};

use crate::error::{Error, Result};

/// `application_id` of an etui store: "etui" in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x6574_7569;

/// Steps from `user_version` N to N+1. Only ever appended to.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
];

/// `user_version` of the schema this library writes.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Runs the steps that are missing, inside the caller's write transaction.
///
/// # Errors
/// Whatever SQLite reports; the caller rolls back.
pub(crate) fn migrate(conn: &Connection, from: i64) -> Result<()> {
    let done = usize::try_from(from).unwrap_or(0);
    if done == MIGRATIONS.len() {
        return Ok(());
    }
    // A table can be renamed although a view of somebody's own is over one that is made anew here.
    conn.pragma_update(None, "legacy_alter_table", true)?;
    let run = steps(conn, done);
    conn.pragma_update(None, "legacy_alter_table", false)?;
    run
}

fn steps(conn: &Connection, done: usize) -> Result<()> {
    for (step, sql) in MIGRATIONS.iter().enumerate().skip(done) {
        tracing::info!(from = step, to = step + 1, "migrating the schema");
        conn.execute_batch(sql).map_err(|e| refused(step + 1, e))?;
        conn.pragma_update(None, "user_version", step as i64 + 1)?;
    }
    if done == 0 {
        // Nobody can have anything over a view of earlier versions.
        conn.execute_batch("DROP VIEW contact")?;
    }
    Ok(())
}

/// Of a step that cannot be done as somebody's own table, view or index has a name that the schema
/// needs: that is no damage, and nobody wants to read the script.
fn refused(version: usize, error: rusqlite::Error) -> rusqlite::Error {
    let (code, reason) = match &error {
        rusqlite::Error::SqlInputError { error, msg, .. }
        | rusqlite::Error::SqliteFailure(error, Some(msg)) => (*error, msg),
        _ => return error,
    };
    // "table item already exists", "there is already an index named item"
    if code.extended_code != ffi::SQLITE_ERROR || !reason.contains(" already ") {
        return error;
    }
    let told = format!(
        "{reason}; so the store cannot be brought to schema version {version}, and is as it was. \
         A table, view or index of your own must have another name than what etui makes: \
         rename it or drop it"
    );
    rusqlite::Error::SqliteFailure(code, Some(told))
}

/// What a database file is, by its header.
pub(crate) enum FileKind {
    /// No tables and no marks: may become a store.
    Empty,
    /// A store of schema version N, 1 or more.
    Store(i64),
    /// Somebody else's.
    Foreign,
}

/// Looks at `application_id` and `user_version`, in one state of the file.
///
/// # Errors
/// Whatever SQLite reports, e.g. that this is no database.
pub(crate) fn kind(conn: &Connection) -> Result<FileKind> {
    // Both marks are never taken back: where both are seen, it does not matter when.
    if let Some(version) = store_version(conn)? {
        return Ok(FileKind::Store(version));
    }
    if !conn.is_autocommit() {
        return kind_in_transaction(conn);
    }
    conn.execute_batch("BEGIN")?;
    let kind = kind_in_transaction(conn);
    conn.execute_batch("ROLLBACK")?;
    kind
}

/// Asks a store of this library's version, in the state in which its marks are seen. `None`: it
/// is anything else.
///
/// # Errors
/// Whatever SQLite reports, e.g. that this is no database, and what `ask` returns.
pub(crate) fn in_store<T>(
    conn: &Connection,
    ask: impl FnOnce(&Connection) -> Result<T>,
) -> Result<Option<T>> {
    // A statement that was not gone through to its end holds a read transaction.
    let mut version = conn.prepare("PRAGMA user_version")?;
    let mut rows = version.query([])?;
    let is_it = match rows.next()? {
        Some(row) => row.get::<_, i64>(0)? == VERSION,
        None => false,
    };
    match is_it && mark(conn, "application_id")? == APPLICATION_ID {
        true => ask(conn).map(Some),
        false => Ok(None),
    }
}

/// Refuses a store that says it is one, but was robbed of its tables: whoever comes first would be
/// told. It is looked for the one that says what the others hold; `etui check` looks for all.
///
/// # Errors
/// [`Error::Damaged`].
pub(crate) fn expect_tables(conn: &Connection, path: &std::path::Path) -> Result<()> {
    // Asked of the schema in memory, not by a statement.
    if conn.table_exists(Some("main"), "meta")? {
        return Ok(());
    }
    Err(Error::Damaged {
        path: path.to_owned(),
        detail: "it does not hold what a store holds: the table \"meta\" is missing".to_owned(),
    })
}

fn mark(conn: &Connection, name: &str) -> Result<i64> {
    Ok(conn.query_row(&format!("PRAGMA {name}"), [], |r| r.get(0))?)
}

fn store_version(conn: &Connection) -> Result<Option<i64>> {
    let version = mark(conn, "user_version")?;
    Ok((version > 0 && mark(conn, "application_id")? == APPLICATION_ID).then_some(version))
}

fn kind_in_transaction(conn: &Connection) -> Result<FileKind> {
    if let Some(version) = store_version(conn)? {
        return Ok(FileKind::Store(version));
    }
    let (application, version) = (mark(conn, "application_id")?, mark(conn, "user_version")?);
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    Ok(if application == 0 && version == 0 && tables == 0 {
        FileKind::Empty
    } else {
        FileKind::Foreign
    })
}

/// Refuses a schema that this library does not know.
///
/// # Errors
/// [`Error::Newer`].
pub(crate) fn refuse_newer(path: &std::path::Path, found: i64) -> Result<()> {
    if found > VERSION {
        return Err(Error::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        });
    }
    Ok(())
}
