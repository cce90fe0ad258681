//! What the results of `app-start` come to: tables and curves. The verdict is [`super::verdict`]'s.

use super::methods::Method;
use super::screen::Who;
use super::verdict::{Figures, verdict};
use super::{FILE_SYSTEMS, HALF, READ, SCREEN, WRITTEN};
use crate::report::numbers;
use crate::{
    Better, Cell, Chart, ChartKind, Column, GroupKey, Presentation, Results, Role, Row, Series,
    Table, Unit, stacks,
};

pub(super) const COLD: &str = "cold/wall_ns";
pub(super) const WARM: &str = "warm/wall_ns";

/// Tables, curves and the verdict.
pub(super) fn present(results: &Results) -> Presentation {
    let here = stacks::HERE;
    let tables = [
        by_use(results, READ, here, "Data that is read"),
        by_use(results, WRITTEN, here, "Data that is written later"),
        screens(results),
        costs(results),
        file_systems(results),
        by_use(results, READ, stacks::RAM, "Data that is read, RAM disk"),
        by_use(
            results,
            WRITTEN,
            stacks::RAM,
            "Data that is written later, RAM disk",
        ),
    ];
    let charts = [
        (READ, COLD, "Data that is read, cold"),
        (READ, WARM, "Data that is read, warm"),
        (WRITTEN, COLD, "Data that is written later, cold"),
        (WRITTEN, WARM, "Data that is written later, warm"),
    ];
    Presentation {
        tables: tables
            .into_iter()
            .filter(|table| !table.rows.is_empty())
            .collect(),
        charts: charts
            .into_iter()
            .map(|(work, measure, title)| growth(results, work, measure, title))
            .filter(|chart| !chart.series.is_empty())
            .collect(),
        verdict: verdict(&Figures::of(results)),
        not_run: Vec::new(),
    }
}

pub(super) fn key(work: &str, stack: &str, size: u64) -> GroupKey {
    GroupKey {
        work: work.to_owned(),
        stack: stack.to_owned(),
        size,
    }
}

/// The parts used, or the contacts, that were tried of a work on a stack.
pub(super) fn sizes(results: &Results, work: &str, stack: &str) -> Vec<u64> {
    let mut sizes: Vec<u64> = results
        .groups()
        .into_iter()
        .filter(|group| group.work == work && group.stack == stack)
        .map(|group| group.size)
        .collect();
    sizes.sort_unstable();
    sizes
}

/// The part used that stands for all: the half if it was tried, else the middle one.
pub(super) fn middle(sizes: &[u64]) -> Option<u64> {
    match sizes.contains(&HALF) {
        true => Some(HALF),
        false => sizes.get(sizes.len() / 2).copied(),
    }
}

/// The methods of a work with their roles as they were run.
fn arms(results: &Results, work: &str, stack: &str) -> Vec<(String, Role)> {
    sizes(results, work, stack)
        .first()
        .map(|size| results.arms(&key(work, stack, *size)))
        .unwrap_or_default()
}

fn has_figures(cells: &[Cell]) -> bool {
    cells.iter().any(|cell| cell.value.is_some())
}

/// Time by method and by the part used, cold and warm.
fn by_use(results: &Results, work: &str, stack: &str, title: &str) -> Table {
    let sizes = sizes(results, work, stack);
    let cold = sizes.iter().any(|size| {
        let group = key(work, stack, *size);
        results
            .median(&group, Method::ReadAll.name(), COLD)
            .is_some()
    });
    let measures: &[(&str, &str)] = match cold {
        true => &[("cold", COLD), ("warm", WARM)],
        false => &[("warm", WARM)],
    };
    let columns: Vec<(u64, &str, &str)> = measures
        .iter()
        .flat_map(|(state, measure)| sizes.iter().map(move |size| (*size, *state, *measure)))
        .collect();
    let rows = arms(results, work, stack)
        .into_iter()
        .map(|(arm, role)| Row {
            cells: columns
                .iter()
                .map(|(size, _, measure)| {
                    let group = key(work, stack, *size);
                    results.cell(&group, &arm, measure, Some(Method::ReadAll.name()))
                })
                .collect(),
            label: arm,
            role,
        })
        .collect();
    Table {
        title: title.to_owned(),
        caption: format!(
            "From opening the file until what is used was used{}; ratios are to reading all of \
             it into memory.",
            match work {
                READ => "",
                _ => " and written",
            }
        ),
        columns: columns
            .iter()
            .map(|(size, state, _)| Column::time(format!("{size} % used, {state}")))
            .collect(),
        rows,
    }
}

/// Faults, memory, and what was read from the device, where a part is used.
fn costs(results: &Results) -> Table {
    let mut rows = Vec::new();
    let mut part = None;
    for work in [READ, WRITTEN] {
        let Some(size) = middle(&sizes(results, work, stacks::HERE)) else {
            continue;
        };
        part = Some(size);
        let group = key(work, stacks::HERE, size);
        for (arm, role) in results.arms(&group) {
            let cell = |measure: &str| results.cell(&group, &arm, measure, None);
            let cells = vec![
                cell("warm/minor_faults"),
                cell("cold/major_faults"),
                cell("cold/block_read_bytes"),
                cell("warm/rss_bytes"),
                cell("warm/private_dirty_bytes"),
            ];
            rows.push(Row {
                label: format!("{work}: {arm}"),
                role,
                cells,
            });
        }
    }
    Table {
        title: format!("What it costs, {} % used", part.unwrap_or(HALF)),
        caption: "Faults as the kernel counts them: pages populated in one call count as well, \
                  and a fault on a mapped file brings in up to 16 pages. What a start reads \
                  beyond what it uses is read-ahead. Memory is what the process has more \
                  afterwards; what is not private is the page cache's and shared by all who map \
                  the file."
            .to_owned(),
        columns: vec![
            Column::count("minor faults, warm"),
            Column::count("major faults, cold"),
            Column::bytes("read from the device, cold"),
            Column::bytes("resident"),
            Column::bytes("private, written"),
        ],
        rows,
    }
}

/// The methods that the study compares, by file system.
fn file_systems(results: &Results) -> Table {
    let compared = [
        (READ, Method::ReadAll),
        (READ, Method::Map),
        (READ, Method::MapUsedPopulated),
        (WRITTEN, Method::PrivateReadFirst),
        (WRITTEN, Method::UsedTakenOver),
    ];
    let mut rows = Vec::new();
    let mut part = None;
    for stack in [stacks::HERE].into_iter().chain(FILE_SYSTEMS) {
        for (work, method) in compared {
            let Some(size) = middle(&sizes(results, work, stack)) else {
                continue;
            };
            part.get_or_insert(size);
            let group = key(work, stack, size);
            let role = results.arms(&group).into_iter();
            let role = role
                .filter(|(arm, _)| arm == method.name())
                .map(|(_, role)| role)
                .next();
            // Against the same method where the laboratory runs.
            let base = key(work, stacks::HERE, size);
            let count = |measure: &str| results.cell(&group, method.name(), measure, None);
            let time = |measure: &str| {
                let mut cell = count(measure);
                let base = results.median(&base, method.name(), measure);
                if let (Some(value), Some(base)) = (cell.value, base)
                    && stack != stacks::HERE
                    && base > 0.0
                {
                    cell.ratio = Some(value / base);
                }
                cell
            };
            let cells = vec![
                time(COLD),
                time(WARM),
                count("cold/block_read_bytes"),
                count("cold/major_faults"),
            ];
            if has_figures(&cells) {
                rows.push(Row {
                    label: format!("{stack}, {work}: {}", method.name()),
                    role: role.unwrap_or(Role::Cure),
                    cells,
                });
            }
        }
    }
    Table {
        title: format!("By file system, {} % used", part.unwrap_or(HALF)),
        caption: "squashfs is compressed (gzip) and the data compresses to a half; erofs is not. \
                  Ratios are to the same method on the current directory's file system."
            .to_owned(),
        columns: vec![
            Column::time("cold"),
            Column::time("warm"),
            Column::bytes("read from the device, cold"),
            Column::count("major faults, cold"),
        ],
        rows,
    }
}

/// From the start of a program to its first screen.
fn screens(results: &Results) -> Table {
    let measures = [
        COLD,
        "cold-exit/wall_ns",
        WARM,
        "warm-exit/wall_ns",
        "cold/block_read_bytes",
        "warm/minor_faults",
    ];
    let mut rows = Vec::new();
    let sizes = sizes(results, SCREEN, stacks::HERE);
    for &size in &sizes {
        let group = key(SCREEN, stacks::HERE, size);
        let arms = results.arms(&group);
        for (arm, role) in &arms {
            let cell = |measure: &&str| {
                let mut cell = results.cell(&group, arm, measure, Some(Who::Etui.name()));
                cell.lost = *role == Role::Etui
                    && arms
                        .iter()
                        .filter(|(_, role)| *role == Role::Peer)
                        .filter_map(|(peer, _)| results.median(&group, peer, measure))
                        .any(|theirs| cell.value.is_some_and(|ours| theirs < ours));
                cell
            };
            rows.push(Row {
                label: match sizes.as_slice() {
                    [_] => arm.clone(),
                    _ => format!("{size} contacts: {arm}"),
                },
                role: *role,
                cells: measures.iter().map(cell).collect(),
            });
        }
    }
    Table {
        title: "First screen of a contact list".to_owned(),
        caption: format!(
            "From the start of a program until the names of the first 50 of {} contacts are \
             read, and until it has ended; ratios are to etui. Evolution Data Server's cold \
             start includes the start of its processes.",
            sizes
                .iter()
                .map(|size| numbers::whole(*size))
                .collect::<Vec<_>>()
                .join(" or ")
        ),
        columns: vec![
            Column::time("cold: shown"),
            Column::time("cold: ended"),
            Column::time("warm: shown"),
            Column::time("warm: ended"),
            Column::bytes("read from the device, cold"),
            Column::new("minor faults, warm", Unit::Count, Better::Less),
        ],
        rows,
    }
}

/// Time over the part used.
fn growth(results: &Results, work: &str, measure: &str, title: &str) -> Chart {
    let sizes = sizes(results, work, stacks::HERE);
    let series = arms(results, work, stacks::HERE)
        .into_iter()
        .map(|(arm, role)| Series {
            points: sizes
                .iter()
                .filter_map(|size| {
                    let group = key(work, stacks::HERE, *size);
                    Some((*size as f64, results.median(&group, &arm, measure)?))
                })
                .collect(),
            name: arm,
            role,
        })
        .filter(|series: &Series| series.points.len() > 1)
        .collect();
    Chart {
        title: title.to_owned(),
        kind: ChartKind::Growth,
        x: "part used, %".to_owned(),
        y: "time".to_owned(),
        unit: Unit::Nanoseconds,
        labels: Vec::new(),
        series,
    }
}
