//! etui's arms beside the study's own figures, and what they are meant to reach.

use super::present::{Asked, CLOSE, OPEN, TOTAL, key, place};
use super::{ETUI, NATIVE, Test, VIEW, rest};
use crate::report::numbers::whole;
use crate::{Cell, Column, Role, Row, Table, stacks};

/// So many times the native arm's time may the view take.
const VIEW_RATIO: f64 = 1.3;
/// So many flushes may make a session's log and its name durable, beside those of the syncs.
const SESSION: f64 = 3.0;
/// What is flushed, as the traced calls name it and as it is told.
const FLUSHED: [(&str, &str); 5] = [
    ("wal", "log"),
    ("redo", "redo log"),
    ("database", "database"),
    ("directory", "directory"),
    ("other", "others"),
];
/// The calls that flush.
const FLUSHES: [&str; 3] = ["fsync", "fdatasync", "sync"];
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
        let ours: Vec<Row> = ETUI
            .into_iter()
            .map(|(arm, _)| Row {
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
    for (arm, _) in ETUI {
        notes.extend(rest::note(asked, arm));
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

pub(super) fn met(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}

/// Flushes of one sync of all changes, of closing the store behind it, and of a sync after each.
fn flushes(asked: &Asked<'_>, arm: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let all = Flushes::of(asked, Test::GetAllDirty, arm, &["process", "close"]);
    if let Some(all) = all.filter(|all| all.count > 0.0) {
        notes.push(format!(
            "{arm}: `{}` makes its changes durable with {} (one is meant: {}); closing the store \
             behind it takes {}.",
            Test::GetAllDirty.name(),
            all.told,
            met(all.count <= 1.0),
            Flushes::of(asked, Test::GetAllDirty, arm, &["store"])
                .map_or_else(|| "none".to_owned(), |closing| closing.told)
        ));
    }
    let each = Flushes::of(asked, Test::SyncEach, arm, &["process", "close"]);
    if let (Some(each), Some(syncs)) = (each, asked.syncs(stacks::HERE, arm)) {
        notes.push(format!(
            "{arm}: {syncs} syncs, each after one change, take {}, {:.2} each (one is meant, \
             beside those that begin a session's log: {}).",
            each.told,
            each.count / syncs as f64,
            met(each.count - syncs as f64 <= SESSION)
        ));
    }
    notes
}

/// What was flushed in some phases.
struct Flushes {
    count: f64,
    /// How many, and of what.
    told: String,
}

impl Flushes {
    /// Of a test; `None`: its system calls were not traced.
    fn of(asked: &Asked<'_>, test: Test, arm: &str, phases: &[&str]) -> Option<Self> {
        // A phase that flushes nothing has no such measure, but some calls.
        let sum = |what: &str| {
            let at = |phase: &&str| {
                let measure = format!("{phase}/{what}");
                asked.median(test, stacks::HERE, asked.base, arm, &measure)
            };
            phases.iter().filter_map(at).reduce(|a, b| a + b)
        };
        sum("calls")?;
        let count = sum("flush_calls").unwrap_or(0.0);
        let of = FLUSHED.iter().filter_map(|(file, name)| {
            let calls = FLUSHES.map(|call| sum(&format!("{file}_{call}_calls")).unwrap_or(0.0));
            let calls: f64 = calls.iter().sum();
            (calls > 0.0).then(|| format!("{name} {calls:.0}"))
        });
        let of: Vec<String> = of.collect();
        let plural = if count == 1.0 { "" } else { "es" };
        Some(Self {
            count,
            told: match of.is_empty() {
                true => format!("{count:.0} flush{plural}"),
                false => format!("{count:.0} flush{plural} ({})", of.join(", ")),
            },
        })
    }
}
