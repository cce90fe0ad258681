//! Counts to compare with: the same inserts in a virtual machine, where the device itself
//! counted. Kernel 6.1, SQLite 3.40.1, one run; btrfs with single metadata. And the
//! comparison.

use super::INSERT;
use super::report::{BYTES, FLUSHES, WRITES};
use crate::{ArmRole, BetterWhen, Results, Table, TableCell, TableColumn, TableRow, Unit};

/// Where they were counted.
const KERNEL: &str = "6.1";
const SQLITE: &str = "3.40.1";

/// File system, journal mode; real writes, KiB and flushes of one insert.
pub(super) const REFERENCE: [(&str, &str, [f64; 3]); 18] = [
    ("ext4", "DELETE", [6.03, 56.0, 4.02]),
    ("ext4", "TRUNCATE", [8.05, 69.0, 6.03]),
    ("ext4", "PERSIST", [8.03, 40.0, 6.02]),
    ("ext4", "WAL fresh", [3.00, 32.0, 2.0]),
    ("ext4", "WAL recycled", [1.0, 8.2, 1.0]),
    ("ext4", "OFF (unsafe)", [2.03, 8.4, 1.02]),
    ("xfs", "DELETE", [5.03, 27.0, 4.05]),
    ("xfs", "TRUNCATE", [6.02, 28.0, 6.02]),
    ("xfs", "PERSIST", [7.02, 30.0, 5.02]),
    ("xfs", "WAL fresh", [3.00, 9.2, 2.0]),
    ("xfs", "WAL recycled", [1.0, 8.2, 1.0]),
    ("xfs", "OFF (unsafe)", [2.02, 8.1, 1.02]),
    ("btrfs", "DELETE", [11.0, 202.0, 8.0]),
    ("btrfs", "TRUNCATE", [11.0, 168.0, 8.0]),
    ("btrfs", "PERSIST", [12.1, 172.0, 8.0]),
    ("btrfs", "WAL fresh", [3.02, 44.0, 2.0]),
    ("btrfs", "WAL recycled", [2.0, 44.0, 2.0]),
    ("btrfs", "OFF (unsafe)", [3.07, 44.0, 2.0]),
];

/// How far a count may be off before it needs an explanation: btrfs gathers its trees at each
/// sync, and the number of blocks depends on its state.
fn tolerance(stack: &str) -> f64 {
    if stack == "btrfs" { 0.3 } else { 0.1 }
}

/// Returns the counts beside those of the reference, and how many agree.
pub(super) fn compare_reference(results: &Results) -> (Vec<Table>, Vec<String>) {
    let (mut rows, mut near) = (Vec::new(), 0);
    for (stack, mode, reference) in REFERENCE {
        let groups = results.select_groups(&[INSERT], &[stack]);
        let Some(group) = groups.first() else {
            continue;
        };
        let each = |measure| {
            let figure = results.median(group, mode, measure)?;
            Some(figure / group.size.max(1) as f64)
        };
        let (Some(writes), Some(bytes), Some(flushes)) = (each(WRITES), each(BYTES), each(FLUSHES))
        else {
            continue;
        };
        let [there_writes, there_kibibytes, there_flushes] = reference;
        let reference = [there_writes, there_kibibytes * 1024.0, there_flushes];
        let counted = [writes, bytes, flushes].into_iter().zip(reference);
        let is_near = |(here, there): &(f64, f64)| (here / there - 1.0).abs() <= tolerance(stack);
        near += counted.clone().filter(is_near).count();
        let cells = counted.flat_map(|(here, there)| [here, there]);
        rows.push(TableRow {
            label: format!("{stack}, {mode}"),
            role: ArmRole::Cure,
            cells: cells.map(|count| TableCell::of(Some(count))).collect(),
        });
    }
    if rows.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let note = format!(
        "{near} of {} counts of the reference (kernel {KERNEL}, SQLite {SQLITE}) are met within \
         10 % (btrfs 30 %) with {}.",
        rows.len() * 3,
        results.header.kernel,
    );
    let column = |name: &str, unit| TableColumn::new(name, unit, BetterWhen::Neither);
    let counts = [
        ("writes", Unit::Count),
        ("bytes", Unit::Bytes),
        ("flushes", Unit::Count),
    ];
    let table = Table {
        title: "An insert's counts against a reference".to_owned(),
        caption: format!(
            "Reference: the same inserts, counted by the device of a virtual machine with kernel \
             {KERNEL} and SQLite {SQLITE}; its writes include flushes that carry no data."
        ),
        columns: counts
            .into_iter()
            .flat_map(|(name, unit)| {
                [
                    column(name, unit),
                    column(&format!("{name}, reference"), unit),
                ]
            })
            .collect(),
        rows,
    };
    (vec![table], vec![note])
}
