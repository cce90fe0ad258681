//! The schema and its migrations. Each table is described in `migrations/0001.sql`.
//!
//! ```text
//! meta         key -> value                          store id, incarnation, locale, watermarks
//! collection   id  -> kind, name, external id        address books, calendars
//! record       id  -> the record's text and the columns indexed from it
//! record_uid   (collection, uid) -> id
//! list_block   id -> entries; list_order by key      live records in list order (`record::list`)
//! list_span    (collection, first) -> counts         number of entries of each block
//! change       seq -> what a change replaced         edits and removals; additions are in `record`
//! term_posting (term, first) -> ids                  words, addresses, numbers
//! trigram_posting (trigram, first) -> ids            three characters
//! shared_text  id  -> text                           templates of calendar objects, time zones
//! calendar_zone (collection, tzid) -> text          time zones of calendars
//! series       record -> span of its occurrences     recurring or long (`record::time_index`)
//! alarm        record -> span of its alarms
//! write_queue  id  -> write of another program       through the view `item`
//! ```
//!
//! A new contact, or an event that does not recur, touches four B-trees: `record`, `record_uid`,
//! `list_block`, `list_span`. Two decisions keep it so:
//!
//! * **Sequence numbers**: one sequence numbers all changes, and a record's id is the sequence
//!   number of the change that created it. Additions need no row in `change` (they are the records
//!   with an id after a token), no counter is stored, and ids are never reused.
//! * **Pending records**: the posting tables are not written in the transaction of a save. Records changed
//!   after the watermarks in `meta` are pending: searches scan them, and batches of them are merged
//!   into the index (`index::merge`).
//!
//! Nothing in the schema needs a function, collation or tokenizer that plain SQLite lacks.

use rusqlite::{Connection, ffi};

use crate::error::{Error, Result};

/// `application_id` of an etui store: "etui" in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x6574_7569;

/// Steps from `user_version` N to N+1. Only ever appended to.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql")];

/// The schema version that this library writes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// The migrations of the library, and further ones that tests add.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migrations(pub(crate) &'static [&'static str]);

impl Migrations {
    /// Returns the schema version after all migrations.
    pub(crate) fn version(self) -> i64 {
        VERSION + self.0.len() as i64
    }

    /// Runs the missing migrations, inside the caller's write transaction.
    ///
    /// # Errors
    /// Any error of SQLite; the caller rolls back.
    pub(crate) fn run(self, conn: &Connection, from: i64) -> Result<()> {
        if from >= self.version() {
            return Ok(());
        }
        // A table can be renamed although a view of the user reads a table that is recreated.
        conn.pragma_update(None, "legacy_alter_table", true)?;
        let done = self.run_steps(conn, usize::try_from(from).unwrap_or(0));
        // Also after an error: the setting is that of the connection.
        conn.pragma_update(None, "legacy_alter_table", false)?;
        done
    }

    fn run_steps(self, conn: &Connection, from: usize) -> Result<()> {
        for (step, sql) in MIGRATIONS.iter().chain(self.0).enumerate().skip(from) {
            tracing::info!(from = step, to = step + 1, "migrating the schema");
            conn.execute_batch(sql)
                .map_err(|e| explain_name_conflict(step + 1, e))?;
            conn.pragma_update(None, "user_version", step as i64 + 1)?;
        }
        Ok(())
    }
}

/// Explains a migration that failed because a table, view or index of the user has a name that the
/// schema needs.
fn explain_name_conflict(version: usize, error: rusqlite::Error) -> rusqlite::Error {
    let (code, reason) = match &error {
        rusqlite::Error::SqlInputError { error, msg, .. }
        | rusqlite::Error::SqliteFailure(error, Some(msg)) => (*error, msg),
        _ => return error,
    };
    // "table item already exists", "there is already an index named item"
    if code.extended_code != ffi::SQLITE_ERROR || !reason.contains(" already ") {
        return error;
    }
    let explained = format!(
        "{reason}; so the store cannot be migrated to schema version {version}, and is unchanged. \
         A table, view or index of your own must have another name than those of etui: \
         rename it or drop it"
    );
    rusqlite::Error::SqliteFailure(code, Some(explained))
}

/// Returns the names of the tables, views, indexes and triggers of a store.
pub(crate) fn object_names() -> Result<Vec<String>> {
    let conn = Connection::open_in_memory()?;
    conn.execute_batch(&MIGRATIONS.concat())?;
    let mut names = conn
        .prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")?;
    Ok(names
        .query_map([], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

/// The kind of a database file, by its header.
pub(crate) enum FileKind {
    /// An empty database, which may become a store.
    Empty,
    /// A store of schema version N, 1 or more.
    Store(i64),
    /// The database of another program.
    Foreign,
}

/// Reads `application_id` and `user_version` in one state of the file.
///
/// # Errors
/// Any error of SQLite, such as that the file is no database.
pub(crate) fn read_file_kind(conn: &Connection) -> Result<FileKind> {
    // Neither is ever reset, so two reads suffice.
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

/// Runs `ask` if the file is a store of this version, in the same read transaction; returns `None`
/// otherwise.
///
/// # Errors
/// Any error of SQLite, such as that the file is no database, and the errors of `ask`.
pub(crate) fn in_store<T>(
    conn: &Connection,
    version: i64,
    ask: impl FnOnce(&Connection) -> Result<T>,
) -> Result<Option<T>> {
    // An unfinished statement holds a read transaction.
    let mut statement = conn.prepare("PRAGMA user_version")?;
    let mut rows = statement.query([])?;
    let is_it = match rows.next()? {
        Some(row) => row.get::<_, i64>(0)? == version,
        None => false,
    };
    match is_it && read_pragma(conn, "application_id")? == APPLICATION_ID {
        true => ask(conn).map(Some),
        false => Ok(None),
    }
}

/// Refuses a store whose tables are missing. Only the table `meta` is looked for; `etui check`
/// looks for all.
///
/// # Errors
/// [`Error::Damaged`].
pub(crate) fn expect_tables(conn: &Connection, path: &std::path::Path) -> Result<()> {
    // Reads the schema in memory, without a statement.
    if conn.table_exists(Some("main"), "meta")? {
        return Ok(());
    }
    Err(Error::Damaged {
        path: path.to_owned(),
        detail: "it does not hold what a store holds: the table \"meta\" is missing".to_owned(),
    })
}

fn read_pragma(conn: &Connection, name: &str) -> Result<i64> {
    Ok(conn.query_row(&format!("PRAGMA {name}"), [], |r| r.get(0))?)
}

fn store_version(conn: &Connection) -> Result<Option<i64>> {
    let version = read_pragma(conn, "user_version")?;
    Ok((version > 0 && read_pragma(conn, "application_id")? == APPLICATION_ID).then_some(version))
}

fn kind_in_transaction(conn: &Connection) -> Result<FileKind> {
    if let Some(version) = store_version(conn)? {
        return Ok(FileKind::Store(version));
    }
    let (application, version) = (
        read_pragma(conn, "application_id")?,
        read_pragma(conn, "user_version")?,
    );
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    Ok(if application == 0 && version == 0 && tables == 0 {
        FileKind::Empty
    } else {
        FileKind::Foreign
    })
}

/// Refuses a newer schema.
///
/// # Errors
/// [`Error::Newer`].
pub(crate) fn refuse_newer(path: &std::path::Path, found: i64, known: i64) -> Result<()> {
    if found > known {
        return Err(Error::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(())
}
