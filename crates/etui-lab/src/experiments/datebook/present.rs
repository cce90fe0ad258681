//! What the results of `datebook` come to.

use super::{
    BY_INDEX, CLEAN_CLOSE, CURED, FOUND, GROUPED, NAME, NATIVE, PLAIN, Test, VIEW, VIEW_KEPT,
    VIEW_REDO, aims, rest,
};
use crate::report::numbers::{self, whole};
use crate::{
    Better, Cell, Chart, ChartKind, Column, GroupKey, Presentation, Results, Role, Row, Series,
    Shown, Table, Unit, Verdict, stacks,
};

pub(super) const ARMS: [(&str, Role); 10] = [
    (FOUND, Role::AsFound),
    (BY_INDEX, Role::Cure),
    (CLEAN_CLOSE, Role::Cure),
    (GROUPED, Role::Cure),
    (CURED, Role::AllCures),
    (PLAIN, Role::Peer),
    (NATIVE, Role::Etui),
    (VIEW, Role::Etui),
    (VIEW_KEPT, Role::Etui),
    (VIEW_REDO, Role::Etui),
];

pub(super) const OPEN: &str = "open/wall_ns";
pub(super) const CLOSE: &str = "close/wall_ns";
pub(super) const TOTAL: &str = "total/wall_ns";
const SYNC: &str = "sync/wall_ns";

/// Tables, curves and the verdict.
pub(super) fn present(results: &Results) -> Presentation {
    let asked = Asked::of(results);
    let size = asked.base;
    let phases = |stack| phases(&asked, stack);
    let mut verdict = verdict(&Figures::of(&asked), size);
    verdict.notes.extend(aims::notes(&asked));
    let tables = [
        cures(&asked),
        aims::study(&asked),
        rest::table(&asked),
        phases(stacks::HERE),
        phases(stacks::RAM),
        syncs(&asked),
        steps(&asked),
    ];
    Presentation {
        tables: tables
            .into_iter()
            .filter(|table| !table.rows.is_empty())
            .collect(),
        charts: vec![
            growth(&asked, Test::Nothing, CLOSE, "Closing, nothing changed"),
            growth(
                &asked,
                Test::QueryAll,
                TOTAL,
                "Opening, looking at all records, closing",
            ),
            growth(
                &asked,
                Test::GetAllDirty,
                CLOSE,
                "Closing, all records changed",
            ),
        ]
        .into_iter()
        .filter(|chart| chart.series.iter().any(|series| series.points.len() > 1))
        .collect(),
        verdict,
        not_run: Vec::new(),
    }
}

/// The results, and the sizes that were asked for.
pub(super) struct Asked<'a> {
    pub(super) results: &'a Results,
    /// The size of the full set of tests.
    pub(super) base: u64,
    /// All sizes in rising order.
    pub(super) sizes: Vec<u64>,
}

impl<'a> Asked<'a> {
    fn of(results: &'a Results) -> Self {
        let run: Vec<u64> = results.groups().iter().map(|group| group.size).collect();
        let base = results
            .header
            .experiments
            .get(NAME)
            .and_then(|parameters| parameters.get("records")?.first().copied())
            .or_else(|| run.first().copied())
            .unwrap_or(0);
        let mut sizes = run;
        sizes.sort_unstable();
        sizes.dedup();
        Self {
            results,
            base,
            sizes,
        }
    }

    fn cell(&self, test: Test, stack: &str, arm: &str, measure: &str, against: &str) -> Cell {
        let group = key(test, stack, self.base);
        self.results.cell(&group, arm, measure, Some(against))
    }

    pub(super) fn median(
        &self,
        test: Test,
        stack: &str,
        size: u64,
        arm: &str,
        measure: &str,
    ) -> Option<f64> {
        self.results.median(&key(test, stack, size), arm, measure)
    }

    /// How often one sync flushes, if system calls were traced.
    fn flushes(&self, stack: &str, arm: &str) -> Option<f64> {
        let group = key(Test::SyncEach, stack, self.base);
        let flushes = self.results.median(&group, arm, "process/flush_calls")?;
        Some(flushes / self.syncs(stack, arm)? as f64)
    }

    /// How many syncs the test with one after each change does.
    pub(super) fn syncs(&self, stack: &str, arm: &str) -> Option<u64> {
        let group = key(Test::SyncEach, stack, self.base);
        let syncs = self.results.setting(&group, arm, "syncs")?.as_u64()?;
        Some(syncs.min(self.base).max(1))
    }

    /// Whether an arm was run in the full set of tests on a stack.
    fn ran(&self, stack: &str, arm: &str) -> bool {
        self.results
            .runs
            .iter()
            .any(|run| run.case.stack == stack && run.case.size == self.base && run.case.arm == arm)
    }
}

pub(super) fn key(test: Test, stack: &str, size: u64) -> GroupKey {
    GroupKey {
        work: test.name().to_owned(),
        stack: stack.to_owned(),
        size,
    }
}

pub(super) fn place(stack: &str) -> &str {
    match stack {
        stacks::HERE => "the current directory's file system",
        stacks::RAM => "a RAM disk",
        other => other,
    }
}

/// As found, each cure, all cures, plain: each test as a whole.
fn cures(asked: &Asked<'_>) -> Table {
    let rows = ARMS
        .iter()
        .filter(|(arm, _)| asked.ran(stacks::HERE, arm))
        .map(|(arm, role)| Row {
            label: (*arm).to_owned(),
            role: *role,
            cells: Test::ALL
                .iter()
                .map(|test| asked.cell(*test, stacks::HERE, arm, TOTAL, FOUND))
                .collect(),
        })
        .collect();
    Table {
        title: format!("Each test as a whole, {} records", whole(asked.base)),
        caption: format!(
            "Open, process and close together, on {}; ratios are to the layer as found. \
             {}.",
            place(stacks::HERE),
            synced(asked)
        ),
        columns: Test::ALL
            .iter()
            .map(|test| Column::time(test.name()))
            .collect(),
        rows,
    }
}

/// How many records the test with syncs changes.
fn synced(asked: &Asked<'_>) -> String {
    let key = key(Test::SyncEach, stacks::HERE, asked.base);
    let setting = asked.results.setting(&key, PLAIN, "syncs");
    match setting.and_then(|value| value.as_u64()) {
        Some(count) => format!(
            "The test with a sync after each changes and syncs {} records, not all",
            count.min(asked.base)
        ),
        None => "The test with a sync after each was not run".to_owned(),
    }
}

/// The study's own form: each test, its three phases, as found, cured and plain.
fn phases(asked: &Asked<'_>, stack: &str) -> Table {
    let mut rows = Vec::new();
    for test in Test::ALL {
        for (arm, role) in [
            (FOUND, Role::AsFound),
            (CURED, Role::AllCures),
            (PLAIN, Role::Peer),
            (NATIVE, Role::Etui),
            (VIEW, Role::Etui),
            (VIEW_KEPT, Role::Etui),
            (VIEW_REDO, Role::Etui),
        ] {
            let cells: Vec<Cell> = [OPEN, "process/wall_ns", CLOSE, TOTAL]
                .iter()
                .map(|measure| asked.cell(test, stack, arm, measure, PLAIN))
                .collect();
            if cells.iter().any(|cell| cell.value.is_some()) {
                rows.push(Row {
                    label: format!("{}: {arm}", test.name()),
                    role,
                    cells,
                });
            }
        }
    }
    Table {
        title: format!(
            "The eight tests on {}, {} records",
            place(stack),
            asked.base
        ),
        caption: "The study's table: opening, processing and closing apart; ratios are to plain \
                  SQLite in the same phase."
            .to_owned(),
        columns: ["open", "process", "close", "all"].map(Column::time).into(),
        rows,
    }
}

/// Whether a sync after each change pays.
fn syncs(asked: &Asked<'_>) -> Table {
    let mut rows = Vec::new();
    for stack in [stacks::HERE, stacks::RAM] {
        for (arm, role) in ARMS {
            let sync = asked.median(Test::SyncEach, stack, asked.base, arm, SYNC);
            let close = asked.median(Test::GetAllDirty, stack, asked.base, arm, CLOSE);
            let (Some(sync_ns), Some(close_ns)) = (sync, close) else {
                continue;
            };
            rows.push(Row {
                label: format!("{arm}, {stack}"),
                role,
                cells: vec![
                    Cell::of(sync),
                    Cell::of(asked.median(Test::Nothing, stack, asked.base, arm, CLOSE)),
                    Cell::of(close),
                    Cell::of((sync_ns > 0.0).then(|| close_ns / sync_ns)),
                    Cell::of(asked.flushes(stack, arm)),
                ],
            });
        }
    }
    Table {
        title: "What a sync costs, and how many pay".to_owned(),
        caption: format!(
            "One record changed and synced, against one close that makes all {} changed records \
             durable at once: so many syncs cost as much as that close (the study: three).",
            whole(asked.base)
        ),
        columns: vec![
            Column::time("change and sync one"),
            Column::time("close, nothing changed"),
            Column::time("close, all changed"),
            Column::new("syncs that pay", Unit::Count, Better::Neither),
            Column::count("flushes a sync"),
        ],
        rows,
    }
}

/// What repeats exactly.
fn steps(asked: &Asked<'_>) -> Table {
    let rows = ARMS
        .iter()
        .filter_map(|(arm, role)| {
            let cells: Vec<Cell> = [Test::Nothing, Test::QueryAll]
                .iter()
                .flat_map(|test| {
                    ["process/vm_steps", "close/vm_steps", "close/conversions"].map(|measure| {
                        Cell::of(asked.median(*test, stacks::HERE, asked.base, arm, measure))
                    })
                })
                .collect();
            cells.iter().any(|cell| cell.value.is_some()).then(|| Row {
                label: (*arm).to_owned(),
                role: *role,
                cells,
            })
        })
        .collect();
    Table {
        title: format!("Why: work counted, {} records", whole(asked.base)),
        caption: "Steps of SQLite's virtual machine in looking up and checking records, and \
                  records converted between the forms; they repeat exactly."
            .to_owned(),
        columns: [
            "nothing: steps in use",
            "nothing: steps at close",
            "nothing: converted at close",
            "query all: steps in use",
            "query all: steps at close",
            "query all: converted at close",
        ]
        .map(Column::count)
        .into(),
        rows,
    }
}

fn growth(asked: &Asked<'_>, test: Test, measure: &str, title: &str) -> Chart {
    let series = ARMS
        .iter()
        .map(|(arm, role)| Series {
            name: (*arm).to_owned(),
            role: *role,
            points: asked
                .sizes
                .iter()
                .filter_map(|size| {
                    let value = asked.median(test, stacks::HERE, *size, arm, measure)?;
                    Some((*size as f64, value))
                })
                .collect(),
        })
        // An arm that was run at one size only has no curve.
        .filter(|series: &Series| series.points.len() > 1)
        .collect();
    Chart {
        title: title.to_owned(),
        kind: ChartKind::Growth,
        x: "records".to_owned(),
        y: "time".to_owned(),
        unit: Unit::Nanoseconds,
        labels: Vec::new(),
        series,
    }
}

/// What the verdict is made from; times in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Figures {
    /// The smallest and the largest size.
    sizes: (f64, f64),
    /// Closing with nothing changed, at those sizes, as found.
    close_found: Option<(f64, f64)>,
    /// The same, cured.
    close_cured: Option<(f64, f64)>,
    /// Looking at all, as a whole: as found and cured, as ratios to plain SQLite.
    found_over_plain: Option<f64>,
    cured_over_plain: Option<f64>,
    /// Looking at all with one cure, as a ratio to the layer as found.
    by_index: Option<f64>,
    clean_close: Option<f64>,
    /// Plain SQLite, by device: one change synced, and a close with all changed.
    here: Option<(f64, f64)>,
    ram: Option<(f64, f64)>,
}

impl Figures {
    fn of(asked: &Asked<'_>) -> Self {
        let ends = (asked.sizes.first().copied(), asked.sizes.last().copied());
        let (Some(small), Some(large)) = ends else {
            return Self::default();
        };
        let close = |arm| {
            let at = |size| asked.median(Test::Nothing, stacks::HERE, size, arm, CLOSE);
            (small < large)
                .then(|| Some((at(small)?, at(large)?)))
                .flatten()
        };
        let all = |arm, against| {
            let key = key(Test::QueryAll, stacks::HERE, asked.base);
            let ratio = asked.results.ratio(&key, arm, against, TOTAL)?;
            Some(ratio.median)
        };
        let sync = |stack| {
            Some((
                asked.median(Test::SyncEach, stack, asked.base, PLAIN, SYNC)?,
                asked.median(Test::GetAllDirty, stack, asked.base, PLAIN, CLOSE)?,
            ))
        };
        Self {
            sizes: (small as f64, large as f64),
            close_found: close(FOUND),
            close_cured: close(CURED),
            found_over_plain: all(FOUND, PLAIN),
            cured_over_plain: all(CURED, PLAIN),
            by_index: all(BY_INDEX, FOUND),
            clean_close: all(CLEAN_CLOSE, FOUND),
            here: sync(stacks::HERE),
            ram: sync(stacks::RAM),
        }
    }
}

/// A close grows if it takes at least a tenth of what proportion would ask for.
fn grows((small, large): (f64, f64), sizes: (f64, f64)) -> bool {
    small > 0.0 && sizes.0 > 0.0 && large / small >= (sizes.1 / sizes.0 / 10.0).max(2.0)
}

/// The rule: the finding shows if a close that has nothing to do grows with the records in the
/// layer as found and not in the cured one, the layer as found is at least 100 times slower
/// than plain SQLite at looking at all records, and a sync for each of all records would cost
/// at least 10 times one close for all.
fn verdict(figures: &Figures, records: u64) -> Verdict {
    let (Some(found), Some(cured), Some(slower), Some(cured_slower)) = (
        figures.close_found,
        figures.close_cured,
        figures.found_over_plain,
        figures.cured_over_plain,
    ) else {
        return Verdict {
            sentence: "Too little was run to tell.".to_owned(),
            ..Verdict::default()
        };
    };
    let sizes = figures.sizes;
    let all = whole(records);
    let close_shows = grows(found, sizes) && !grows(cured, sizes);
    let grouped = figures
        .here
        .map(|(sync, close)| sync * records as f64 / close.max(1.0));
    let grouping_shows = grouped.is_none_or(|ratio| ratio >= 10.0);
    let shown = match (close_shows, slower) {
        (true, 100.0..) if grouping_shows => Shown::Yes,
        (false, ..10.0) => Shown::No,
        _ => Shown::Partly,
    };

    let per_ten_thousand = (found.1 - found.0).max(0.0) / (sizes.1 - sizes.0).max(1.0) * 1e4;
    let sentence = format!(
        "Closing with nothing changed costs {} per 10,000 records in the layer as found ({} at \
         {}), and {} at that size once cured; looking at all {all} records takes {} times as \
         long as plain SQLite as found, {} times cured (the study: 282 times).",
        time(per_ten_thousand),
        time(found.1),
        whole(sizes.1 as u64),
        time(cured.1),
        number(slower),
        number(cured_slower),
    );

    let mut notes = Vec::new();
    if let (Some(index), Some(close)) = (figures.by_index, figures.clean_close) {
        notes.push(format!(
            "Alone, finding a position by index leaves {} % of the time to look at all, and \
             closing only what changed {} %.",
            number(index * 100.0),
            number(close * 100.0)
        ));
    }
    for (device, figures) in [
        ("On this file system", figures.here),
        ("On the RAM disk", figures.ram),
    ] {
        let Some((sync, close)) = figures else {
            continue;
        };
        notes.push(format!(
            "{device}, a change with its sync takes {} and a close that makes all {all} \
             changes durable {}: a sync after each pays up to about {} changes (the study, on \
             flash: three).",
            time(sync),
            time(close),
            number(close / sync.max(1.0)),
        ));
    }
    if cured_slower > 1.0 {
        notes.push(format!(
            "Even cured, the layer takes {} times as long as plain SQLite, for it converts each \
             record: programs should leave it, as the study says.",
            number(cured_slower)
        ));
    }
    notes.push(
        "The study's second's worth at every close was NVFS walking over all records; SQLite has \
         no such walk, so only the layer shows it here."
            .to_owned(),
    );
    Verdict {
        shown,
        sentence,
        notes,
    }
}

/// A time for people.
fn time(ns: f64) -> String {
    numbers::one(ns, Unit::Nanoseconds)
}

/// A number with about two figures.
fn number(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWS: Figures = Figures {
        sizes: (100.0, 12_800.0),
        close_found: Some((160_000.0, 10_000_000.0)),
        close_cured: Some((60_000.0, 80_000.0)),
        found_over_plain: Some(150.0),
        cured_over_plain: Some(4.0),
        by_index: Some(0.2),
        clean_close: Some(0.5),
        here: Some((200_000.0, 5_000_000.0)),
        ram: None,
    };

    #[test]
    fn the_finding_shows_in_full_in_part_or_not() {
        assert_eq!(verdict(&SHOWS, 6_800).shown, Shown::Yes);
        let milder = Figures {
            found_over_plain: Some(40.0),
            ..SHOWS
        };
        assert_eq!(verdict(&milder, 6_800).shown, Shown::Partly);
        let gone = Figures {
            close_found: Some((60_000.0, 70_000.0)),
            found_over_plain: Some(2.0),
            ..SHOWS
        };
        assert_eq!(verdict(&gone, 6_800).shown, Shown::No);
        let sync_is_free = Figures {
            here: Some((100.0, 5_000_000.0)),
            ..SHOWS
        };
        assert_eq!(verdict(&sync_is_free, 6_800).shown, Shown::Partly);
    }

    #[test]
    fn the_sentence_has_the_figures() {
        let sentence = verdict(&SHOWS, 6_800).sentence;
        assert!(sentence.contains("7.75 ms per 10,000"), "{sentence}");
        assert!(sentence.contains("150 times"), "{sentence}");
        let notes = verdict(&SHOWS, 6_800).notes.join("\n");
        assert!(notes.contains("up to about 25 changes"), "{notes}");
    }

    #[test]
    fn partial_results_are_open() {
        assert_eq!(verdict(&Figures::default(), 0).shown, Shown::Open);
        let empty = present(&Results::default());
        assert!(empty.tables.is_empty() && empty.charts.is_empty());
        assert_eq!(empty.verdict.shown, Shown::Open);
    }
}
