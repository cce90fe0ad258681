//! Counts to compare with: the same inserts in a virtual machine, where the device itself
//! counted. Kernel 6.1, SQLite 3.40.1, one run; btrfs with single metadata. And the
//! comparison, with the laboratory's own virtual machine where it was run, else with loop images.

use std::collections::BTreeSet;

use super::INSERT;
use super::report::{BYTES, FLUSHES, WRITES};
use crate::{ArmRole, BetterWhen, Results, Table, TableCell, TableColumn, TableRow, Unit};

/// Where they were counted.
const KERNEL: &str = "6.1";
const SQLITE: &str = "3.40.1";

/// File system, journal mode; real writes, KiB and flushes of one insert.
///
/// With a recycled log the reference is the device's count of writes less its flushes. On btrfs that
/// would be 2: one of the two flushes is part of the write of the superblock and not among the
/// writes, so it is 3, as with a fresh log.
pub(super) const REFERENCE: [(&str, &str, [f64; 3]); 30] = [
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
    ("btrfs", "WAL recycled", [3.0, 44.0, 2.0]),
    ("btrfs", "OFF (unsafe)", [3.07, 44.0, 2.0]),
    ("nilfs2", "DELETE", [3.02, 98.0, 3.0]),
    ("nilfs2", "TRUNCATE", [4.02, 142.0, 4.0]),
    ("nilfs2", "PERSIST", [4.02, 93.0, 4.0]),
    ("nilfs2", "WAL fresh", [1.0, 81.0, 1.0]),
    ("nilfs2", "WAL recycled", [1.0, 12.0, 1.0]),
    ("nilfs2", "OFF (unsafe)", [1.0, 13.0, 1.0]),
    ("f2fs", "DELETE", [10.05, 53.0, 5.0]),
    ("f2fs", "TRUNCATE", [8.02, 44.0, 6.0]),
    ("f2fs", "PERSIST", [8.02, 44.0, 6.0]),
    ("f2fs", "WAL fresh", [2.02, 12.0, 1.0]),
    ("f2fs", "WAL recycled", [1.0, 8.2, 1.0]),
    ("f2fs", "OFF (unsafe)", [2.02, 8.1, 1.0]),
];

/// How far a count may be off before it needs an explanation: btrfs gathers its trees at each
/// sync, and the number of blocks depends on its state.
fn tolerance(file_system: &str) -> f64 {
    if file_system == "btrfs" { 0.3 } else { 0.1 }
}

/// Returns the counts beside those of the reference, and how many agree.
pub(super) fn compare_reference(results: &Results) -> (Vec<Table>, Vec<String>) {
    let (mut rows, mut near) = (Vec::new(), 0);
    let mut kernels = BTreeSet::new();
    for (file_system, mode, reference) in REFERENCE {
        let guest = format!("vm-{file_system}");
        let stacks = [guest.as_str(), file_system];
        let mut groups = stacks.iter().filter_map(|stack| {
            let groups = results.select_groups(&[INSERT], &[stack]);
            groups.into_iter().next()
        });
        let Some(group) = groups.next() else {
            continue;
        };
        let group = &group;
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
        let tolerance = tolerance(file_system);
        let is_near = |(here, there): &(f64, f64)| (here / there - 1.0).abs() <= tolerance;
        let details = results.stacks.get(&group.stack);
        let kernel = details.and_then(|details| details.get("kernel"));
        kernels.insert(kernel.unwrap_or(&results.header.kernel).as_str());
        near += counted.clone().filter(is_near).count();
        let cells = counted.flat_map(|(here, there)| [here, there]);
        rows.push(TableRow {
            label: format!("{}, {mode}", group.stack),
            role: ArmRole::Cure,
            cells: cells.map(|count| TableCell::of(Some(count))).collect(),
        });
    }
    if rows.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let note = format!(
        "{near} of {} counts of the reference (kernel {KERNEL}, SQLite {SQLITE}) are met within \
         10 % (btrfs 30 %) with kernel {}.",
        rows.len() * 3,
        Vec::from_iter(kernels).join(" and "),
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
             {KERNEL} and SQLite {SQLITE}. Writes carry data; flushes are apart."
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
