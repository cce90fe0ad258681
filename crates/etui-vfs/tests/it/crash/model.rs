//! [`Model`]: the expected contents of the tables, in plain maps.

use std::collections::BTreeMap;

use etui_testkit::disk::hash_of;
use etui_testkit::rng::{SplitMix64, mix64};
use rusqlite::Connection;

/// Tables by their number: `t0`, `t1`...
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    pub tables: BTreeMap<u8, BTreeMap<i64, Row>>,
}

/// A row without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    k: i64,
    body: u64,
}

/// A change by a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    Create {
        table: u8,
    },
    Drop {
        table: u8,
    },
    Insert {
        table: u8,
        rows: u32,
        len: u32,
        seed: u64,
    },
    Update {
        table: u8,
        modulus: i64,
        remainder: i64,
        len: u32,
        seed: u64,
    },
    Count {
        table: u8,
        modulus: i64,
        remainder: i64,
    },
    Delete {
        table: u8,
        modulus: i64,
        remainder: i64,
    },
}

/// Rows have ids below this.
const IDS: i64 = 3000;

/// Bytes for rows: half of the seeds give text that compresses well.
fn bytes(seed: u64, len: u32) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let text = seed.is_multiple_of(2);
    let mut bytes = Vec::with_capacity(len as usize + 8);
    while bytes.len() < len as usize {
        match text {
            true => bytes.extend_from_slice(if rng.chance(900) {
                b"lorem "
            } else {
                b"ipsum, "
            }),
            false => bytes.extend_from_slice(&rng.next_u64().to_le_bytes()),
        }
    }
    bytes.truncate(len as usize);
    bytes
}

impl Write {
    pub fn table(&self) -> u8 {
        match self {
            Self::Create { table }
            | Self::Drop { table }
            | Self::Insert { table, .. }
            | Self::Update { table, .. }
            | Self::Count { table, .. }
            | Self::Delete { table, .. } => *table,
        }
    }

    /// Executes it with SQL.
    pub fn execute(&self, on: &Connection) -> rusqlite::Result<()> {
        let t = self.table();
        match self {
            Self::Create { .. } => on.execute_batch(&format!(
                "CREATE TABLE t{t}(id INTEGER PRIMARY KEY, k INTEGER, body BLOB)"
            )),
            Self::Drop { .. } => on.execute_batch(&format!("DROP TABLE t{t}")),
            Self::Insert {
                rows, len, seed, ..
            } => on
                .execute(
                    &format!(
                        "INSERT OR REPLACE INTO t{t}(id, k, body)
                         WITH RECURSIVE n(i) AS
                           (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
                         SELECT (?2 + i * ?3) % ?4, (?2 + i * 31) % 1000,
                           substr(?5, 1 + i % 64, ?6) FROM n"
                    ),
                    (
                        rows,
                        start(*seed),
                        stride(*seed),
                        IDS,
                        bytes(*seed, len + 64),
                        len,
                    ),
                )
                .map(drop),
            Self::Update {
                modulus,
                remainder,
                len,
                seed,
                ..
            } => on
                .execute(
                    &format!("UPDATE t{t} SET body = ?1, k = ?2 WHERE id % ?3 = ?4"),
                    (bytes(*seed, *len), start(*seed), modulus, remainder),
                )
                .map(drop),
            Self::Count {
                modulus, remainder, ..
            } => on
                .execute(
                    &format!("UPDATE t{t} SET k = k + 1 WHERE id % ?1 = ?2"),
                    (modulus, remainder),
                )
                .map(drop),
            Self::Delete {
                modulus, remainder, ..
            } => on
                .execute(
                    &format!("DELETE FROM t{t} WHERE id % ?1 = ?2"),
                    (modulus, remainder),
                )
                .map(drop),
        }
    }

    /// Applies it to the model. Does nothing if the table is missing, or to be created and present.
    pub fn apply(&self, to: &mut Model) {
        if let Self::Create { table } = self {
            to.tables.entry(*table).or_default();
            return;
        }
        if let Self::Drop { table } = self {
            to.tables.remove(table);
            return;
        }
        let Some(rows) = to.tables.get_mut(&self.table()) else {
            return;
        };
        match self {
            Self::Create { .. } | Self::Drop { .. } => {}
            Self::Insert {
                rows: count,
                len,
                seed,
                ..
            } => {
                let all = bytes(*seed, len + 64);
                let bodies: Vec<u64> = (0..64)
                    .map(|at| hash_of(&all[at..at + *len as usize]))
                    .collect();
                for i in 0..i64::from(*count) {
                    let row = Row {
                        k: (start(*seed) + i * 31) % 1000,
                        body: bodies[(i % 64) as usize],
                    };
                    rows.insert((start(*seed) + i * stride(*seed)) % IDS, row);
                }
            }
            Self::Update {
                modulus,
                remainder,
                len,
                seed,
                ..
            } => {
                let row = Row {
                    k: start(*seed),
                    body: hash_of(&bytes(*seed, *len)),
                };
                let hit = |id: &i64| id % modulus == *remainder;
                rows.iter_mut()
                    .filter(|(id, _)| hit(id))
                    .for_each(|(_, to)| *to = row);
            }
            Self::Count {
                modulus, remainder, ..
            } => {
                let hit = |id: &i64| id % modulus == *remainder;
                rows.iter_mut()
                    .filter(|(id, _)| hit(id))
                    .for_each(|(_, row)| row.k += 1);
            }
            Self::Delete {
                modulus, remainder, ..
            } => {
                rows.retain(|id, _| id % modulus != *remainder);
            }
        }
    }

    /// Returns true if the statement is valid: SQLite refuses others.
    pub fn fits(&self, model: &Model) -> bool {
        let there = model.tables.contains_key(&self.table());
        there != matches!(self, Self::Create { .. })
    }
}

fn start(seed: u64) -> i64 {
    (seed >> 8) as i64 % 1000
}

fn stride(seed: u64) -> i64 {
    [1, 1, 7, 389][(seed >> 32) as usize % 4]
}

fn mix_row(table: u8, id: i64, row: Row) -> u64 {
    mix64(mix64(mix64(id as u64 ^ (u64::from(table) << 56)) ^ row.k as u64) ^ row.body)
}

impl Model {
    /// Returns a hash of all tables and rows.
    pub fn hash(&self) -> u64 {
        let mut sum = 0_u64;
        for (table, rows) in &self.tables {
            sum = sum.wrapping_add(mix64(u64::from(*table) + 1));
            for (id, row) in rows {
                sum = sum.wrapping_add(mix_row(*table, *id, *row));
            }
        }
        sum
    }
}

/// Returns the hash of the tables that SQLite reads.
pub fn hash_in(on: &Connection) -> rusqlite::Result<u64> {
    let mut names =
        on.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 't[0-9]'")?;
    let names: Vec<String> = names
        .query_map((), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut sum = 0_u64;
    for name in names {
        let table = name.as_bytes()[1] - b'0';
        sum = sum.wrapping_add(mix64(u64::from(table) + 1));
        let mut rows = on.prepare(&format!("SELECT id, k, body FROM {name}"))?;
        let mut rows = rows.query(())?;
        while let Some(row) = rows.next()? {
            let body = row.get_ref(2)?.as_bytes().unwrap_or_default();
            let content = Row {
                k: row.get(1)?,
                body: hash_of(body),
            };
            sum = sum.wrapping_add(mix_row(table, row.get(0)?, content));
        }
    }
    Ok(sum)
}
