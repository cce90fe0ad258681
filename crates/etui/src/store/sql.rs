//! [`Store::sql`]: a program's own queries, without a second SQLite on the file.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::Store;
use crate::error::Result;

/// A value of a query: a parameter, or a column of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    /// `NULL`.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl SqlValue {
    fn from_sqlite(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(number) => Self::Integer(number),
            Value::Real(number) => Self::Real(number),
            Value::Text(text) => Self::Text(text),
            Value::Blob(bytes) => Self::Blob(bytes),
        }
    }

    fn to_sqlite(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Text(text) => Value::Text(text.clone()),
            Self::Blob(bytes) => Value::Blob(bytes.clone()),
        }
    }
}

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
    /// let kind = SqlValue::from("contacts");
    /// let found = store.sql("SELECT uid, length(text) FROM item WHERE kind = ?1", &[kind])?;
    /// assert_eq!(found.columns[0], "uid");
    /// assert_eq!(found.rows[0][0], SqlValue::from("ada"));
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
        let mut found =
            statement.query(params_from_iter(parameters.iter().map(SqlValue::to_sqlite)))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            rows.push(
                (0..count)
                    .map(|n| row.get(n).map(SqlValue::from_sqlite))
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
