//! [`Store::sql`]: a program's own queries, without a second SQLite on the file.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::params_from_iter;
pub use rusqlite::types::Value as SqlValue;

use super::Store;
use crate::error::Result;

/// The result of a query.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SqlRows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, a value for each column.
    pub rows: Vec<Vec<SqlValue>>,
}

impl Store {
    /// Runs a query, one `SELECT`, on the tables of the store (`docs/src/schema.md`), and returns all
    /// its rows, in memory. It sees one state of the store.
    ///
    /// A program needs no second copy of SQLite for them.
    ///
    /// ```
    /// use etui::store::SqlValue;
    /// # use etui::{Store, contacts::Card};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// # store.contacts()?.save(&Card::parse("BEGIN:VCARD\nUID:ada\nFN:Ada\nEND:VCARD\n")?)?;
    /// let kind = SqlValue::from("contacts".to_owned());
    /// let found = store.sql("SELECT uid, length(text) FROM item WHERE kind = ?1", &[kind])?;
    /// assert_eq!(found.columns[0], "uid");
    /// assert_eq!(found.rows[0][0], SqlValue::from("ada".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::Error::Sqlite) for a query with a mistake, one that is not a
    /// `SELECT`, or several; any read error.
    pub fn sql(&self, query: &str, parameters: &[SqlValue]) -> Result<SqlRows> {
        let mut connection = self.db.connect_apart()?;
        // Before the query is prepared, which is when SQLite calls it.
        connection.authorizer(Some(allow_reading))?;
        let mut statement = connection.prepare(query)?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let count = columns.len();
        let mut found = statement.query(params_from_iter(parameters))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            rows.push(
                (0..count)
                    .map(|n| row.get(n))
                    .collect::<rusqlite::Result<_>>()?,
            );
        }
        Ok(SqlRows { columns, rows })
    }
}

/// Allows queries, and nothing that changes the file, the connection or another file.
fn allow_reading(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Recursive => Authorization::Allow,
        _ => Authorization::Deny,
    }
}
