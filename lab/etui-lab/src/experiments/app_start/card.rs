//! The first screen from a slow card: the card's time by its model, and the processor's as it is
//! here. The virtual machine that has the card emulates its processor where there is no KVM.

use super::screen::ALL_COLD;
use super::{CARD, SCREEN};
use crate::device::RequestCounts;
use crate::experiments::common::device_model;
use crate::{BetterWhen, Results, Table, TableCell, TableColumn, TableRow, Unit, stacks};

/// Returns the table, if first screens were shown from the card.
pub(super) fn card_times(results: &Results) -> Option<Table> {
    let model = device_model(results, CARD)?;
    let mut rows = Vec::new();
    for group in results.select_groups(&[SCREEN], &[CARD]) {
        let here = results.select_groups(&[SCREEN], &[stacks::HERE]);
        let here = here.iter().find(|other| other.size == group.size);
        for (arm, role) in results.arms(&group) {
            let count = |measure: &str| {
                results.median(&group, &arm, &format!("{ALL_COLD}/block_{measure}"))
            };
            let (Some(reads), Some(read_bytes)) = (count("reads"), count("read_bytes")) else {
                continue;
            };
            let counts = RequestCounts {
                reads,
                read_bytes,
                ..RequestCounts::default()
            };
            let card = model.time_of(&counts);
            let warm = here.and_then(|here| results.median(here, &arm, "warm/wall_ns"));
            let cells = [
                Some(reads),
                Some(read_bytes),
                Some(card),
                warm,
                warm.map(|warm| warm + card),
            ];
            rows.push(TableRow {
                label: format!("{arm}, {} contacts", group.size),
                role,
                cells: cells.map(TableCell::of).to_vec(),
            });
        }
    }
    let column = |name: &str, unit| TableColumn::new(name, unit, BetterWhen::Less);
    (!rows.is_empty()).then(|| Table {
        title: "First screen from a slow card".to_owned(),
        caption: format!(
            "Requests with nothing in memory, counted in the virtual machine; the card's time follows from \
             them and the model {}. The program's time is that of a warm start here: the virtual machine's \
             processor may be emulated.",
            model.name
        ),
        columns: vec![
            column("requests", Unit::Count),
            column("bytes", Unit::Bytes),
            column("card", Unit::Nanoseconds),
            column("program", Unit::Nanoseconds),
            column("together", Unit::Nanoseconds),
        ],
        rows,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::results::RunRecord;
    use crate::{Arm, ArmGroup, ArmRole, MeasurePass};

    #[test]
    fn the_card_is_added_to_the_program() {
        let mut results = Results::default();
        let mut add = |stack: &str, measures: &[(&str, f64)]| {
            results.runs.push(RunRecord {
                case: ArmGroup::new(SCREEN, stack, 100, Vec::new()).make_case(
                    "app-start",
                    &Arm::new("etui", ArmRole::Etui, ""),
                    MeasurePass::Timed,
                    0,
                ),
                answer: String::new(),
                measures: measures
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), *value))
                    .collect(),
            });
        };
        let counts = [
            ("all-cold/block_reads", 4.0),
            ("all-cold/block_read_bytes", 100_000.0),
            ("warm/wall_ns", 900e6),
        ];
        add(CARD, &counts);
        add(stacks::HERE, &[("warm/wall_ns", 2e6)]);
        assert_eq!(card_times(&results), None);
        let details = [("device model".to_owned(), "sd-card (a source)".to_owned())];
        results.stacks.insert(CARD.to_owned(), details.into());
        let table = card_times(&results).unwrap();
        let values = table.rows[0].cells.iter().map(|cell| cell.value.unwrap());
        // Four requests of 626 us, and 100 kB of 10 ns.
        let expected = [4.0, 100_000.0, 3_504_000.0, 2_000_000.0, 5_504_000.0];
        assert_eq!(values.collect::<Vec<_>>(), expected);
    }
}
