//! etui's arms beside the study's own figures, and what they are meant to reach.

use super::present::{Asked, CLOSE, OPEN, TOTAL, key, place};
use super::{NATIVE, Test, VIEW, VIEW_REDO};
use crate::report::numbers::{one, whole};
use crate::{Cell, Column, Role, Row, Table, Unit, stacks};

/// Opening, and closing with nothing changed, are meant to take at most so long.
const AT_REST_NS: f64 = 0.4e6;
/// So many times the native arm's time may the view take.
const VIEW_RATIO: f64 = 1.3;
/// The study's tick, 1/60 s, in nanoseconds.
const TICK_NS: f64 = 1e9 / 60.0;

/// The study's devices, each test's ticks to open, to process and to close.
const STUDY: [(&str, [Option<[f64; 3]>; 8]); 3] = [
    (
        "Tungsten C, native",
        [
            Some([0.0, 0.0, 0.0]),
            Some([0.0, 0.0, 0.0]),
            Some([0.0, 0.0, 0.0]),
            Some([0.0, 0.0, 0.0]),
            Some([0.0, 3.0, 0.0]),
            Some([0.0, 12.0, 0.0]),
            Some([0.0, 12.0, 0.0]),
            None,
        ],
    ),
    (
        "Tungsten T5, native",
        [
            Some([0.0, 0.0, 48.0]),
            Some([0.0, 0.0, 34.0]),
            Some([0.0, 0.0, 37.0]),
            Some([0.0, 0.0, 56.0]),
            Some([0.0, 8.0, 29.0]),
            Some([0.0, 14.0, 48.0]),
            Some([0.0, 14.0, 50.0]),
            Some([0.0, 129_083.0, 4.0]),
        ],
    ),
    (
        "Tungsten T5, layer",
        [
            Some([11.0, 0.0, 117.0]),
            Some([10.0, 1.0, 67.0]),
            Some([10.0, 0.0, 90.0]),
            Some([10.0, 1.0, 121.0]),
            Some([11.0, 3_168.0, 7_241.0]),
            Some([11.0, 3_030.0, 7_333.0]),
            Some([10.0, 2_967.0, 23_442.0]),
            Some([11.0, 234_125.0, 26_641.0]),
        ],
    ),
];

/// The study's table, and etui's figures below.
pub(super) fn study(asked: &Asked<'_>) -> Table {
    let mut rows = Vec::new();
    for (at, test) in Test::ALL.into_iter().enumerate() {
        let ours: Vec<Row> = [NATIVE, VIEW, VIEW_REDO]
            .into_iter()
            .map(|arm| Row {
                label: format!("{}: {arm}", test.name()),
                role: Role::Etui,
                cells: [OPEN, "process/wall_ns", CLOSE, TOTAL]
                    .iter()
                    .map(|measure| {
                        let group = key(test, stacks::HERE, asked.base);
                        asked.results.cell(&group, arm, measure, None)
                    })
                    .collect(),
            })
            .filter(|row| row.cells.iter().any(|cell| cell.value.is_some()))
            .collect();
        if ours.is_empty() {
            continue;
        }
        for (device, tests) in STUDY {
            let Some(ticks) = tests.get(at).copied().flatten() else {
                continue;
            };
            let all = ticks.iter().sum::<f64>();
            let phases = ticks.into_iter().chain([all]);
            rows.push(Row {
                label: format!("{}: {device}", test.name()),
                role: Role::AsFound,
                cells: phases
                    .map(|ticks| Cell::of(Some(ticks * TICK_NS)))
                    .collect(),
            });
        }
        rows.extend(ours);
    }
    Table {
        title: "The study's own figures, and etui's".to_owned(),
        caption: format!(
            "The study: {} records on devices of 2005, in ticks of 1/60 s (0 is less than one). \
             etui: {} records on {}. They stand beside each other, and are not compared. The \
             study synced after each of all its records, etui after those that the parameter says.",
            whole(6_800),
            whole(asked.base),
            place(stacks::HERE)
        ),
        columns: ["open", "process", "close", "all"].map(Column::time).into(),
        rows,
    }
}

/// What etui's arms are meant to reach, and whether they do.
pub(super) fn notes(asked: &Asked<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for arm in [NATIVE, VIEW, VIEW_REDO] {
        notes.extend(at_rest(asked, arm));
        notes.extend(flushes(asked, arm));
    }
    for test in [Test::QueryAll, Test::GetAllClean] {
        let group = key(test, stacks::HERE, asked.base);
        if let Some(ratio) = asked.results.ratio(&group, VIEW, NATIVE, TOTAL) {
            notes.push(format!(
                "`{}` through the date-book view takes {:.2} times the native arm's time (at most \
                 {VIEW_RATIO} is meant: {}).",
                test.name(),
                ratio.median,
                met(ratio.median <= VIEW_RATIO)
            ));
        }
    }
    notes
}

fn met(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}

/// Opening, and closing with nothing changed, at the smallest and the largest size.
fn at_rest(asked: &Asked<'_>, arm: &str) -> Option<String> {
    let (small, large) = (*asked.sizes.first()?, *asked.sizes.last()?);
    let at = |size, measure| asked.median(Test::Nothing, stacks::HERE, size, arm, measure);
    let figures = [
        at(small, OPEN)?,
        at(large, OPEN)?,
        at(small, CLOSE)?,
        at(large, CLOSE)?,
    ];
    let [open, open_large, close, close_large] = figures.map(|ns| one(ns, Unit::Nanoseconds));
    Some(format!(
        "{arm}: opening takes {open} at {} records and {open_large} at {}, closing with nothing \
         changed {close} and {close_large} (at most {} each is meant: {}).",
        whole(small),
        whole(large),
        one(AT_REST_NS, Unit::Nanoseconds),
        met(figures.iter().all(|ns| *ns <= AT_REST_NS))
    ))
}

/// Flushes of all changes at once, and of a sync after each.
fn flushes(asked: &Asked<'_>, arm: &str) -> Option<String> {
    // A phase that flushes nothing has no such measure.
    let count = |phase: &str| {
        let measure = format!("{phase}/flush_calls");
        asked.median(Test::GetAllDirty, stacks::HERE, asked.base, arm, &measure)
    };
    let counted = ["process", "close", "store"].map(count);
    counted.iter().flatten().next()?;
    let [process, close, store] = counted.map(|count| count.unwrap_or(0.0));
    let all = process + close;
    let each = asked.flushes(stacks::HERE, arm)?;
    Some(format!(
        "{arm}: making all changes durable takes {all:.0} flushes and closing the store then \
         {store:.0}; a sync after each change {each:.2} (one and one are meant: {}).",
        met(all <= 1.0 && (each - 1.0).abs() < 0.05)
    ))
}
