//! Counts to compare with: the same inserts in a virtual machine, where the device itself
//! counted. Kernel 6.1, SQLite 3.40.1, one run; btrfs with single metadata. And the
//! comparison.

use super::INSERT;
use super::present::{BYTES, EXT4, FLUSHES, KIB, Matrix, WRITES, bytes_of};
use crate::measure::layout::Purpose;
use crate::{Better, Cell, Column, GroupKey, Role, Row, Table, Unit};

/// Real writes, KiB and flushes of one insert.
pub(super) struct Reference {
    pub(super) stack: &'static str,
    pub(super) mode: &'static str,
    pub(super) writes: f64,
    pub(super) kib: f64,
    pub(super) flushes: f64,
}

/// Where they were counted.
pub const KERNEL: &str = "6.1";
const SQLITE: &str = "3.40.1";

const fn counted(
    stack: &'static str,
    mode: &'static str,
    (writes, kib, flushes): (f64, f64, f64),
) -> Reference {
    Reference {
        stack,
        mode,
        writes,
        kib,
        flushes,
    }
}

pub(super) const REFERENCE: [Reference; 18] = [
    counted("ext4", "DELETE", (6.03, 56.0, 4.02)),
    counted("ext4", "TRUNCATE", (8.05, 69.0, 6.03)),
    counted("ext4", "PERSIST", (8.03, 40.0, 6.02)),
    counted("ext4", "WAL fresh", (3.00, 32.0, 2.0)),
    counted("ext4", "WAL recycled", (1.0, 8.2, 1.0)),
    counted("ext4", "OFF (unsafe)", (2.03, 8.4, 1.02)),
    counted("xfs", "DELETE", (5.03, 27.0, 4.05)),
    counted("xfs", "TRUNCATE", (6.02, 28.0, 6.02)),
    counted("xfs", "PERSIST", (7.02, 30.0, 5.02)),
    counted("xfs", "WAL fresh", (3.00, 9.2, 2.0)),
    counted("xfs", "WAL recycled", (1.0, 8.2, 1.0)),
    counted("xfs", "OFF (unsafe)", (2.02, 8.1, 1.02)),
    counted("btrfs", "DELETE", (11.0, 202.0, 8.0)),
    counted("btrfs", "TRUNCATE", (11.0, 168.0, 8.0)),
    counted("btrfs", "PERSIST", (12.1, 172.0, 8.0)),
    counted("btrfs", "WAL fresh", (3.02, 44.0, 2.0)),
    counted("btrfs", "WAL recycled", (2.0, 44.0, 2.0)),
    counted("btrfs", "OFF (unsafe)", (3.07, 44.0, 2.0)),
];

impl Reference {
    /// How far a count may be off before it needs an explanation: btrfs gathers its trees
    /// anew at each sync, and how many blocks that takes depends on its state.
    fn tolerance(&self) -> f64 {
        if self.stack == "btrfs" { 0.3 } else { 0.1 }
    }
}

impl Matrix<'_> {
    /// The counts beside those of the reference; the notes explain what is off.
    pub fn against_reference(&self) -> (Table, Vec<String>) {
        let mut rows = Vec::new();
        let mut off = Vec::new();
        for reference in &REFERENCE {
            let Some(group) = self.group(INSERT, reference.stack) else {
                continue;
            };
            let part = |measure| self.each(&group, reference.mode, measure);
            let (Some(writes), Some(bytes), Some(flushes)) =
                (part(WRITES), part(BYTES), part(FLUSHES))
            else {
                continue;
            };
            let counted = [
                ("writes", writes, reference.writes),
                ("KiB", bytes / KIB, reference.kib),
                ("flushes", flushes, reference.flushes),
            ];
            let role = self
                .results
                .arms(&group)
                .into_iter()
                .find(|(arm, _)| arm == reference.mode)
                .map_or(Role::Cure, |(_, role)| role);
            let mut cells = Vec::new();
            let met = off.len();
            for (what, here, there) in counted {
                let far = (here / there - 1.0).abs() > reference.tolerance();
                cells.push(Cell::of(Some(here)));
                cells.push(Cell::of(Some(there)));
                if far {
                    off.push(format!(
                        "{} {}: {here:.1} {what} against {there:.1}: {}.",
                        reference.stack,
                        reference.mode,
                        self.explain(&group, reference, what)
                    ));
                }
            }
            rows.push(Row {
                label: format!(
                    "{}, {}{}",
                    reference.stack,
                    reference.mode,
                    if off.len() > met { " (see notes)" } else { "" }
                ),
                role,
                cells,
            });
        }
        if rows.is_empty() {
            return (Table::default(), Vec::new());
        }
        let compared = rows.len();
        let header = &self.results.header;
        let mut notes = vec![format!(
            "{} of {} counts of the reference (kernel {KERNEL}, SQLite {SQLITE}) are met within 10 % (btrfs 30 %) with {}, SQLite {}.",
            compared * 3 - off.len(),
            compared * 3,
            header.kernel,
            self.sqlite(),
        )];
        notes.extend(off);
        let inform = |name: &str| Column::new(name, Unit::Count, Better::Neither);
        let table = Table {
            title: "An insert's counts against a reference".to_owned(),
            caption: format!(
                "Reference: the same inserts, counted by the device of a virtual machine with kernel {KERNEL} and SQLite {SQLITE}."
            ),
            columns: ["writes", "KiB", "flushes"]
                .iter()
                .flat_map(|name| [inform(name), inform("reference")])
                .collect(),
            rows,
        };
        (table, notes)
    }

    /// Why a count differs, as far as the counters tell.
    fn explain(&self, group: &GroupKey, reference: &Reference, what: &str) -> String {
        let part = |measure: &str| self.each(group, reference.mode, measure);
        // The reference took all flushes from the device's write count, which holds only those
        // that were asked for by themselves.
        if what == "writes"
            && let (Some(writes), Some(flushes)) =
                (part("work/block_writes"), part("work/block_flushes"))
            && ((writes - flushes) / reference.writes - 1.0).abs() <= reference.tolerance()
        {
            return format!(
                "the reference subtracts flushes from the device's own count, which gives {:.1} here too; the trace shows the writes themselves",
                writes - flushes
            );
        }
        let kinds: Vec<String> = Purpose::ALL
            .iter()
            .filter_map(|purpose| {
                let bytes = part(&bytes_of(*purpose)).filter(|bytes| *bytes > 0.0)?;
                Some(format!("{} {:.1} KiB", purpose.label(), bytes / KIB))
            })
            .collect();
        let blocks = part(BYTES).map_or(0.0, |bytes| bytes / KIB - reference.kib) / 4.0;
        let blocks = if what == "KiB" && blocks.abs() < 2.5 && group.stack == EXT4 {
            format!(
                "{:.1} blocks of 4 KiB {}; how many blocks of its own ext4 journals for a commit depends on where the files lie; ",
                blocks.abs(),
                if blocks < 0.0 { "less" } else { "more" }
            )
        } else {
            String::new()
        };
        format!(
            "{blocks}here {}; with {} and SQLite {} instead of kernel {KERNEL} and SQLite {SQLITE}",
            kinds.join(", "),
            self.results.header.kernel,
            self.sqlite()
        )
    }

    /// The version without the source's id.
    fn sqlite(&self) -> &str {
        let sqlite = &self.results.header.sqlite;
        sqlite.split(' ').next().unwrap_or_default()
    }
}
