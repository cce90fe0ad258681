//! [`find_missing`]: statements that scan a table, and the index that would save it, tried on a copy.

use std::time::Instant;

use rusqlite::{Connection, StatementStatus};
use serde::Serialize;

use super::capture::StatementShape;
use super::schema::{column_names, quote_if_needed, table_names};
use super::sql_text::{SqlWord, split_words};
use crate::error::Error;

/// A statement with a scan.
#[derive(Debug, Clone, Serialize)]
pub struct ScanFinding {
    pub statement: String,
    /// How often it ran; 0 if that is not known.
    pub runs: u64,
    pub table: String,
    /// Rows that it read by scanning, each time.
    pub scanned: u64,
    /// The index that saves the scan, if one was found.
    pub index: Option<IndexTrial>,
}

/// An index as it was tried.
#[derive(Debug, Clone, Serialize)]
pub struct IndexTrial {
    pub sql: String,
    /// Seconds of the statement without it.
    pub before: f64,
    /// Seconds of the statement with it.
    pub after: f64,
    /// Steps of SQLite's machine without it, which repeat exactly.
    pub steps_before: u64,
    /// Steps with it.
    pub steps_after: u64,
}

/// Rows from which a scan is worth an index.
const MANY_ROWS: u64 = 100;
/// Rows from which a scan is reported that no index saves.
const TOO_MANY_ROWS: u64 = 1_000;
/// Statements that are looked at, the slowest first.
const MOST_STATEMENTS: usize = 40;
/// Findings that are reported.
const MOST_FINDINGS: usize = 5;
/// The times that a statement is run to be timed.
const TIMES: usize = 3;

/// Finds scans in statements that were observed. `conn` is a copy; it is changed and changed back.
pub fn find_missing(
    conn: &Connection,
    statements: &[StatementShape],
) -> Result<Vec<ScanFinding>, Error> {
    let tables = table_names(conn)?;
    let mut found: Vec<ScanFinding> = Vec::new();
    for shape in statements.iter().take(MOST_STATEMENTS) {
        let Some(plan) = scanned_table(conn, &shape.example, &tables) else {
            continue;
        };
        let Some(before) = run_statement(conn, &shape.example) else {
            continue;
        };
        if before.scanned < MANY_ROWS {
            continue;
        }
        let index = try_index(conn, &shape.example, &plan, &before)?;
        if index.is_none() && before.scanned < TOO_MANY_ROWS {
            continue;
        }
        let known = |other: &ScanFinding| {
            let sql = |index: &Option<IndexTrial>| index.as_ref().map(|index| index.sql.clone());
            other.table == plan.table && sql(&other.index) == sql(&index)
        };
        // One index may serve several statements: the slowest one speaks for them.
        if found.iter().any(known) {
            continue;
        }
        found.push(ScanFinding {
            statement: shape.statement.clone(),
            runs: shape.runs,
            table: plan.table,
            scanned: before.scanned,
            index,
        });
        if found.len() == MOST_FINDINGS {
            break;
        }
    }
    Ok(found)
}

/// A table that a statement scans, and its other names there.
struct TableScan {
    table: String,
    names: Vec<String>,
}

/// Returns the first table that a statement scans without any index.
fn scanned_table(conn: &Connection, sql: &str, tables: &[String]) -> Option<TableScan> {
    let plan = query_plan(conn, sql)?;
    plan.iter().find_map(|line| {
        let rest = line.strip_prefix("SCAN ")?;
        if rest.contains(" USING INDEX") || rest.contains(" VIRTUAL TABLE") {
            return None;
        }
        let name = rest.split(' ').next()?;
        let table = table_of(sql, name, tables)?;
        let mut names = vec![name.to_owned()];
        names.push(table.clone());
        Some(TableScan { table, names })
    })
}

/// Returns the table of this name, or of this alias in the statement.
fn table_of(sql: &str, name: &str, tables: &[String]) -> Option<String> {
    let same = |name: &str| tables.iter().find(|table| table.eq_ignore_ascii_case(name));
    if let Some(table) = same(name) {
        return Some(table.clone());
    }
    let words = split_words(sql);
    words.iter().enumerate().find_map(|(at, word)| {
        if !word.is_keyword(name) {
            return None;
        }
        let before = |n: usize| at.checked_sub(n).and_then(|at| words.get(at));
        let table = match before(1)? {
            as_word if as_word.is_keyword("AS") => before(2)?,
            other => other,
        };
        match table {
            SqlWord::Name(table) => same(table).cloned(),
            _ => None,
        }
    })
}

fn query_plan(conn: &Connection, sql: &str) -> Option<Vec<String>> {
    let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).ok()?;
    let mut rows = statement.raw_query();
    let mut lines = Vec::new();
    while let Ok(Some(row)) = rows.next() {
        lines.push(row.get(3).ok()?);
    }
    Some(lines)
}

struct StatementRun {
    seconds: f64,
    steps: u64,
    scanned: u64,
}

/// Runs a statement and undoes it. None if it fails.
fn run_statement(conn: &Connection, sql: &str) -> Option<StatementRun> {
    conn.execute_batch("SAVEPOINT doctor").ok()?;
    let mut best: Option<StatementRun> = None;
    for _ in 0..TIMES {
        let run = run_once(conn, sql);
        // A failed ROLLBACK TO leaves the transaction, which RELEASE ends.
        let _ = conn.execute_batch("ROLLBACK TO doctor");
        match run {
            Some(run) => {
                if best.as_ref().is_none_or(|best| run.seconds < best.seconds) {
                    best = Some(run);
                }
            }
            None => break,
        }
    }
    let _ = conn.execute_batch("RELEASE doctor");
    best
}

fn run_once(conn: &Connection, sql: &str) -> Option<StatementRun> {
    let mut statement = conn.prepare(sql).ok()?;
    let begun = Instant::now();
    let mut rows = statement.raw_query();
    while rows.next().ok()?.is_some() {}
    drop(rows);
    let status = |which| u64::try_from(statement.get_status(which)).unwrap_or(0);
    Some(StatementRun {
        seconds: begun.elapsed().as_secs_f64(),
        steps: status(StatementStatus::VmStep),
        scanned: status(StatementStatus::FullscanStep),
    })
}

/// Tries indexes on the columns that the statement compares; the first that it uses is returned.
fn try_index(
    conn: &Connection,
    sql: &str,
    scan: &TableScan,
    before: &StatementRun,
) -> Result<Option<IndexTrial>, Error> {
    let compared = compared_columns(sql, scan, &column_names(conn, &scan.table)?);
    for columns in candidate_columns(&compared) {
        let listed: Vec<String> = columns.iter().map(|name| quote_if_needed(name)).collect();
        let name = format!("{}_{}", scan.table, columns.join("_"));
        let create = format!(
            "CREATE INDEX {} ON {}({});",
            quote_if_needed(&name),
            quote_if_needed(&scan.table),
            listed.join(", ")
        );
        // An index of this name may exist.
        if conn.execute_batch(&create).is_err() {
            continue;
        }
        let uses = |line: &String| line.contains(&name);
        let used = query_plan(conn, sql).is_some_and(|plan| plan.iter().any(uses));
        let after = used.then(|| run_statement(conn, sql)).flatten();
        conn.execute_batch(&format!("DROP INDEX {}", super::schema::quote(&name)))?;
        if let Some(after) = after.filter(|after| after.steps * 2 < before.steps) {
            return Ok(Some(IndexTrial {
                sql: create,
                before: before.seconds,
                after: after.seconds,
                steps_before: before.steps,
                steps_after: after.steps,
            }));
        }
    }
    Ok(None)
}

/// Columns of a table in a statement, by their use.
#[derive(Debug, Default, PartialEq, Eq)]
struct ComparedColumns {
    equal: Vec<String>,
    range: Vec<String>,
    ordered: Vec<String>,
}

/// Finds the columns that a statement compares or sorts by.
fn compared_columns(sql: &str, scan: &TableScan, columns: &[String]) -> ComparedColumns {
    let words = split_words(sql);
    let mut found = ComparedColumns::default();
    let mut condition = false;
    let mut ordering = false;
    for (at, word) in words.iter().enumerate() {
        let SqlWord::Name(name) = word else {
            continue;
        };
        let starts = ["WHERE", "ON", "HAVING"];
        if starts.iter().any(|keyword| word.is_keyword(keyword)) {
            (condition, ordering) = (true, false);
        } else if word.is_keyword("ORDER") {
            (condition, ordering) = (false, true);
        } else if ["GROUP", "LIMIT", "SET", "SELECT", "VALUES"]
            .iter()
            .any(|keyword| word.is_keyword(keyword))
        {
            (condition, ordering) = (false, false);
        }
        let Some(column) = columns.iter().find(|c| c.eq_ignore_ascii_case(name)) else {
            continue;
        };
        // `other.column` is of another table.
        let qualifier = match (at.checked_sub(2).map(|n| words.get(n..at)), at) {
            (Some(Some([SqlWord::Name(table), SqlWord::Sign(".")])), _) => Some(*table),
            _ => None,
        };
        let of_table = |table: &str| scan.names.iter().any(|n| n.eq_ignore_ascii_case(table));
        if qualifier.is_some_and(|table| !of_table(table)) {
            continue;
        }
        let place = match words.get(at + 1) {
            Some(SqlWord::Sign("=" | "==")) if condition => &mut found.equal,
            Some(next) if condition && (next.is_keyword("IN") || next.is_keyword("IS")) => {
                &mut found.equal
            }
            Some(SqlWord::Sign("<" | ">" | "<=" | ">=")) if condition => &mut found.range,
            Some(next) if condition && next.is_keyword("BETWEEN") => &mut found.range,
            _ if ordering => &mut found.ordered,
            // `? = column`
            _ if condition => match at.checked_sub(if qualifier.is_some() { 3 } else { 1 }) {
                Some(before) if words.get(before) == Some(&SqlWord::Sign("=")) => &mut found.equal,
                _ => continue,
            },
            _ => continue,
        };
        if !place.contains(column) {
            place.push(column.clone());
        }
    }
    found
}

/// Returns the columns of indexes to try: equality first, then one range or the order.
fn candidate_columns(compared: &ComparedColumns) -> Vec<Vec<String>> {
    let mut candidates: Vec<Vec<String>> = Vec::new();
    let mut add = |columns: Vec<String>| {
        if !columns.is_empty() && columns.len() <= 4 && !candidates.contains(&columns) {
            candidates.push(columns);
        }
    };
    let with = |more: &[String]| {
        let mut columns = compared.equal.clone();
        columns.extend(more.iter().filter(|c| !compared.equal.contains(c)).cloned());
        columns
    };
    if !compared.ordered.is_empty() {
        add(with(&compared.ordered));
    }
    add(with(compared.range.get(..1).unwrap_or_default()));
    add(compared.equal.clone());
    for column in compared.equal.iter().chain(&compared.range) {
        add(vec![column.clone()]);
    }
    candidates
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn filled() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(
            "CREATE TABLE note(id INTEGER PRIMARY KEY, folder INTEGER, title TEXT, body TEXT);
             CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO note SELECT i, i % 50, 'title ' || i, 'body' FROM n;
             INSERT INTO folder SELECT DISTINCT folder, 'f' || folder FROM note;",
        )
        .unwrap();
        conn
    }

    fn missing(sql: &str) -> Vec<ScanFinding> {
        let shape = StatementShape {
            statement: sql.to_owned(),
            example: sql.to_owned(),
            runs: 1,
            ..StatementShape::default()
        };
        find_missing(&filled(), &[shape]).unwrap()
    }

    #[test]
    fn a_scan_that_an_index_saves() {
        for (sql, columns) in [
            ("SELECT * FROM note WHERE title = 'title 5'", "title"),
            (
                "SELECT body FROM note AS n WHERE n.folder = 5 ORDER BY n.title",
                "folder, title",
            ),
            (
                "UPDATE note SET body = 'x' WHERE title IN ('title 7')",
                "title",
            ),
            ("SELECT * FROM note ORDER BY title LIMIT 3", "title"),
            (
                "DELETE FROM note WHERE folder = 3 AND title > 'title 19'",
                "folder, title",
            ),
        ] {
            let found = missing(sql);
            let index = found.first().and_then(|found| found.index.clone());
            let index = index.unwrap_or_else(|| unreachable!("{sql}: {found:?}"));
            assert!(
                index.sql.ends_with(&format!(" ON note({columns});")),
                "{sql}: {}",
                index.sql
            );
            assert!(index.steps_after * 2 < index.steps_before, "{sql}");
        }
    }

    #[test]
    fn a_scan_that_no_index_saves() {
        let found = missing("SELECT * FROM note WHERE lower(title) LIKE '%5%'");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].table.as_str(), found[0].scanned), ("note", 1999));
        assert!(found[0].index.is_none());
    }

    #[test]
    fn no_scan() {
        for sql in [
            "SELECT * FROM note WHERE id = 5",
            "SELECT * FROM folder WHERE name = 'f1'",
            "no SQL",
        ] {
            assert!(missing(sql).is_empty(), "{sql}");
        }
    }
}
