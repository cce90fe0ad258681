//! [`Workload`]: transactions that can be repeated on a copy, recorded or made up.

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use super::schema::{column_names, quote, table_names};
use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadSource {
    /// The transactions of the command.
    Recorded,
    /// Updates of one row each.
    MadeUp { table: String },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transaction {
    pub connection: u32,
    /// It followed the transaction before it, of the same connection, at once.
    pub follows: bool,
    /// Its statements, without BEGIN and COMMIT.
    pub statements: Vec<String>,
}

impl Transaction {
    /// Returns true if its statement cannot run within a transaction.
    pub fn runs_alone(&self) -> bool {
        self.begins_with("vacuum") || self.begins_with("pragma")
    }

    /// Returns true if it creates a table or the like.
    pub fn creates(&self) -> bool {
        self.begins_with("create")
    }

    /// Returns true if a statement begins with this word of six letters.
    fn begins_with(&self, word: &str) -> bool {
        let mut statements = self.statements.iter();
        statements.any(|sql| {
            let first = sql.trim_start().get(..6).unwrap_or_default();
            first.eq_ignore_ascii_case(word)
        })
    }
}

/// Transactions in the order of their commits.
#[derive(Debug, Clone)]
pub struct Workload {
    pub source: WorkloadSource,
    pub transactions: Vec<Transaction>,
}

/// Transactions of a workload that is made up.
const MADE_UP: usize = 2_000;

impl Workload {
    /// Makes up a workload: each transaction changes one column of one row of the largest table that
    /// can be so changed. None if there is no such table.
    pub fn make_up(conn: &Connection, tables: &[&str]) -> Result<Option<Self>, Error> {
        let known = table_names(conn)?;
        for table in tables
            .iter()
            .filter(|name| known.iter().any(|k| k == *name))
        {
            let Some(column) = plain_column(conn, table)? else {
                continue;
            };
            // A table WITHOUT ROWID, or one whose column has this name, is passed over.
            let rows = conn.query_row(
                &format!("SELECT min(rowid), max(rowid) FROM {}", quote(table)),
                [],
                |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?)),
            );
            let Ok((Some(first), Some(last))) = rows else {
                continue;
            };
            let rowids = spread_rowids(conn, table, first, last)?;
            let update = |rowid: i64| {
                let (table, column) = (quote(table), quote(&column));
                Transaction {
                    statements: vec![format!(
                        "UPDATE {table} SET {column} = CASE typeof({column}) \
                         WHEN 'integer' THEN {column} + 1 WHEN 'real' THEN {column} + 1 \
                         WHEN 'blob' THEN CAST({column} || x'20' AS BLOB) \
                         ELSE coalesce({column}, '') || ' ' END WHERE rowid = {rowid}"
                    )],
                    ..Transaction::default()
                }
            };
            let first = rowids.first().copied().map(update);
            if first.is_none_or(|first| !succeeds(conn, &first)) {
                continue;
            }
            let cycle = rowids.iter().copied().cycle();
            return Ok(Some(Self {
                source: WorkloadSource::MadeUp {
                    table: (*table).to_owned(),
                },
                transactions: cycle.take(MADE_UP).map(update).collect(),
            }));
        }
        Ok(None)
    }
}

/// Returns a column that no key, index, constraint or generated column uses, as far as the schema
/// says; the first one that is text or untyped, else any.
fn plain_column(conn: &Connection, table: &str) -> Result<Option<String>, Error> {
    let mut statement = conn.prepare(
        "SELECT name FROM pragma_table_xinfo(?1) AS t WHERE pk = 0 AND hidden = 0 \
         AND name NOT IN (SELECT x.name FROM pragma_index_list(?1) AS l, pragma_index_info(l.name) AS x \
                          WHERE x.name IS NOT NULL) \
         AND name NOT IN (SELECT \"from\" FROM pragma_foreign_key_list(?1)) \
         ORDER BY type LIKE '%TEXT%' OR type LIKE '%CHAR%' OR type = '' DESC, cid LIMIT 1",
    )?;
    let column: Option<String> = statement.query_row([table], |row| row.get(0)).optional()?;
    // One named like the rowid would hide it.
    let hides = column_names(conn, table)?
        .iter()
        .any(|name| name.eq_ignore_ascii_case("rowid"));
    Ok(column.filter(|_| !hides))
}

/// Returns the ids of up to 500 rows, far apart, in an order that jumps.
fn spread_rowids(conn: &Connection, table: &str, first: i64, last: i64) -> Result<Vec<i64>, Error> {
    const STEPS: i128 = 500;
    let mut statement = conn.prepare(&format!(
        "SELECT rowid FROM {} WHERE rowid >= ?1 ORDER BY rowid LIMIT 1",
        quote(table)
    ))?;
    let span = i128::from(last) - i128::from(first);
    let mut rowids = Vec::new();
    for step in 0..STEPS {
        // 211 has no divisor in common with 500.
        let at = i128::from(first) + span * (step * 211 % STEPS) / STEPS;
        let at = i64::try_from(at).unwrap_or(first);
        let rowid: Option<i64> = statement.query_row([at], |row| row.get(0)).optional()?;
        rowids.extend(rowid.filter(|rowid| !rowids.contains(rowid)));
    }
    Ok(rowids)
}

/// Tries a transaction, and undoes it.
fn succeeds(conn: &Connection, transaction: &Transaction) -> bool {
    let done = conn.execute_batch("BEGIN").and_then(|()| {
        let mut statements = transaction.statements.iter();
        statements.try_for_each(|sql| conn.execute_batch(sql))
    });
    // A failed BEGIN leaves nothing to undo.
    let _ = conn.execute_batch("ROLLBACK");
    done.is_ok()
}
