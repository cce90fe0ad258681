//! The device's own share of an insert in a virtual machine, by its model: the most that fewer
//! writes and flushes can gain there.

use super::super::common::device_model;
use super::report::{BYTES, FLUSHES, WRITES};
use super::{CURED, FOUND, GUESTS, INSERT, REDO};
use crate::device::RequestCounts;
use crate::{
    ArmRole, BetterWhen, GroupKey, Results, Table, TableCell, TableColumn, TableRow, Unit,
};

const WALL_TIME: &str = "work/wall_ns";

/// The arms that are compared, the first one with the others.
const ARMS: [(&str, ArmRole); 3] = [
    (FOUND, ArmRole::AsFound),
    (CURED, ArmRole::AllCures),
    (REDO, ArmRole::Etui),
];

/// Returns the time of one insert that passes in the device, and the whole, in nanoseconds.
fn insert_times(results: &Results, group: &GroupKey, arm: &str) -> Option<(f64, f64)> {
    let model = device_model(results, &group.stack)?;
    let each = |measure| {
        let figure = results.median(group, arm, measure)?;
        Some(figure / group.size.max(1) as f64)
    };
    let counts = RequestCounts {
        writes: each(WRITES)?,
        write_bytes: each(BYTES)?,
        flushes: each(FLUSHES)?,
        ..RequestCounts::default()
    };
    Some((model.time_of(&counts), each(WALL_TIME)?))
}

/// Returns the table, if inserts were counted in a virtual machine.
pub(super) fn device_times(results: &Results) -> Option<Table> {
    let mut rows = Vec::new();
    for group in results.select_groups(&[INSERT], &GUESTS) {
        let Some(found) = insert_times(results, &group, FOUND) else {
            continue;
        };
        for (arm, role) in ARMS {
            let Some((device, whole)) = insert_times(results, &group, arm) else {
                continue;
            };
            let cells = [device, whole, found.0 / device, found.1 / whole];
            rows.push(TableRow {
                label: format!("{}, {arm}", group.stack),
                role,
                cells: cells.map(|figure| TableCell::of(Some(figure))).to_vec(),
            });
        }
    }
    let column = |name: &str, unit| TableColumn::new(name, unit, BetterWhen::Neither);
    (!rows.is_empty()).then(|| Table {
        title: "An insert's time in the device of a virtual machine, by its model".to_owned(),
        caption: format!(
            "The device's time follows from the counts and the model: a time for each write, each \
             flush and each byte. \"Times as fast\" is against {FOUND}. The ratio of the device's times is about the \
             most that fewer requests can gain: a durable commit has at least one write and one flush. The \
             whole time has the processor's in it, which is emulated if there is no KVM."
        ),
        columns: vec![
            column("device", Unit::Nanoseconds),
            column("whole", Unit::Nanoseconds),
            column("times as fast, device alone", Unit::Ratio),
            column("times as fast", Unit::Ratio),
        ],
        rows,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::results::RunRecord;
    use crate::{Arm, ArmGroup, MeasurePass};

    #[test]
    fn the_device_limits_the_gain() {
        let run = |arm: &str, role, pass, measures: &[(&str, f64)]| RunRecord {
            case: ArmGroup::new(INSERT, "vm-xfs", 10, Vec::new()).make_case(
                "journal-matrix",
                &Arm::new(arm, role, ""),
                pass,
                0,
            ),
            answer: String::new(),
            measures: measures
                .iter()
                .map(|(key, value)| ((*key).to_owned(), *value))
                .collect(),
        };
        let mut results = Results::default();
        for (arm, role, [writes, bytes, flushes, time]) in [
            (FOUND, ArmRole::AsFound, [70.0, 0.0, 60.0, 250e6]),
            (REDO, ArmRole::Etui, [10.0, 1_250.0, 10.0, 50e6]),
        ] {
            let counts = [(WRITES, writes), (BYTES, bytes), (FLUSHES, flushes)];
            results
                .runs
                .push(run(arm, role, MeasurePass::Counted, &counts));
            results
                .runs
                .push(run(arm, role, MeasurePass::Timed, &[(WALL_TIME, time)]));
        }
        // Without a model there is nothing to say.
        assert_eq!(device_times(&results), None);
        let details = [("device model".to_owned(), "emmc (a source)".to_owned())];
        results.stacks.insert("vm-xfs".to_owned(), details.into());

        let table = device_times(&results).unwrap();
        let figures = |row: &TableRow| -> Vec<f64> {
            row.cells
                .iter()
                .filter_map(|cell| cell.value.map(f64::round))
                .collect()
        };
        // 7 writes of 44 us and 6 flushes of 3 ms; one of each and 125 bytes of 8 ns.
        let found = figures(&table.rows[0]);
        assert_eq!(found, [18_308_000.0, 25_000_000.0, 1.0, 1.0]);
        let redo = figures(&table.rows[1]);
        assert_eq!(redo, [3_045_000.0, 5_000_000.0, 6.0, 5.0]);
        assert_eq!(table.rows.len(), 2);
    }
}
