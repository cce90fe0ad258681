//! [`View`]: tables and curves of works, arms down, works across, each against etui.

use std::collections::BTreeMap;

use crate::Role;
use crate::present::{Better, Cell, Chart, ChartKind, Column, Row, Series, Table, Unit};
use crate::report::numbers::whole;
use crate::results::{GroupKey, Results};

/// A column: its heading, its measure, and what the figure is divided by.
pub struct Wanted {
    /// The heading.
    pub title: &'static str,
    /// The measure.
    pub measure: String,
    /// What the figure is divided by.
    pub per: f64,
}

/// A measure as it is.
pub fn wanted(title: &'static str, measure: &str) -> Wanted {
    Wanted {
        title,
        measure: measure.to_owned(),
        per: 1.0,
    }
}

/// A work's time.
pub fn time(title: &'static str, work: &str) -> Wanted {
    wanted(title, &format!("{work}/wall_ns"))
}

/// The works that save, into so many records.
pub fn saves(size: u64) -> [Wanted; 6] {
    let mut fill = time("in batches, each", "fill");
    fill.per = size.max(1) as f64;
    [
        time("one", "save_one"),
        time("one, mean", "save_one_mean"),
        fill,
        wanted("file bytes", "save_one/file_write_bytes"),
        wanted("file writes", "save_one/file_writes"),
        wanted("flushes", "save_one/flushes"),
    ]
}

/// A part of the presentation while it is made.
pub struct View<'r> {
    /// The results.
    pub results: &'r Results,
    /// The arm that the others are compared with.
    etui: &'static str,
    /// Why an arm does better than etui, as far as it is known: measure, arm.
    why: fn(&str, &str) -> &'static str,
    /// What is lost: to which arm, why, and what with how much of etui's figure.
    losses: BTreeMap<(String, &'static str), Vec<String>>,
}

impl<'r> View<'r> {
    /// Of these results, against this arm.
    pub fn new(
        results: &'r Results,
        etui: &'static str,
        why: fn(&str, &str) -> &'static str,
    ) -> Self {
        Self {
            results,
            etui,
            why,
            losses: BTreeMap::new(),
        }
    }

    /// Arms down, measures across; each against etui.
    pub fn table(
        &mut self,
        group: &GroupKey,
        title: String,
        caption: &str,
        columns: &[Wanted],
    ) -> Table {
        let mut rows = Vec::new();
        for (arm, role) in self.results.arms(group) {
            let cells: Vec<Cell> = columns
                .iter()
                .map(|column| self.cell(group, &arm, role, column))
                .collect();
            // An arm that does not do this work of its own is not shown.
            if cells.iter().any(|cell| cell.value.is_some()) {
                let label = arm;
                rows.push(Row { label, role, cells });
            }
        }
        let column = |column: &Wanted| {
            let (unit, _) = crate::measure::about(&column.measure);
            Column::new(column.title, unit, Better::Less)
        };
        Table {
            columns: columns.iter().map(column).collect(),
            title,
            caption: caption.to_owned(),
            rows,
        }
    }

    fn cell(&mut self, group: &GroupKey, arm: &str, role: Role, column: &Wanted) -> Cell {
        let mut cell = self
            .results
            .cell(group, arm, &column.measure, Some(self.etui));
        cell.value = cell.value.map(|value| value / column.per);
        cell.range = cell
            .range
            .map(|(low, high)| (low / column.per, high / column.per));
        if cell.value.is_none() {
            cell.note = "-".to_owned();
        }
        let better = cell.ratio.is_some_and(|ratio| ratio < 1.0);
        if role != Role::Etui && better {
            cell.lost = true;
            let what = if column.measure.contains("_which") {
                format!("{} (which ones)", column.title)
            } else {
                column.title.to_owned()
            };
            self.lose(arm, &column.measure, &what, cell.ratio);
        }
        cell
    }

    fn lose(&mut self, arm: &str, measure: &str, what: &str, ratio: Option<f64>) {
        let what = format!("{what} {:.2}", ratio.unwrap_or(1.0));
        self.losses
            .entry((arm.to_owned(), (self.why)(measure, arm)))
            .or_default()
            .push(what);
    }

    /// What was lost so far, in sentences.
    pub fn losses(&mut self) -> Vec<String> {
        let mut sentences = Vec::new();
        for ((arm, why), what) in std::mem::take(&mut self.losses) {
            sentences.push(format!(
                "Lost to {arm} (as a part of etui's): {}. Why: {why}.",
                what.join(", ")
            ));
        }
        sentences
    }

    /// The comparisons of durability: what each is, the server's arm, etui's.
    pub fn durability(&self, group: &GroupKey, title: String, pairs: [[&str; 3]; 3]) -> Table {
        let measures = ["save_one", "save_one_mean", "fill"];
        let rows = pairs.iter().map(|[label, arm, against]| Row {
            label: (*label).to_owned(),
            role: Role::AsFound,
            cells: measures
                .iter()
                .map(|measure| {
                    let measure = format!("{measure}/wall_ns");
                    let ratio = self.results.ratio(group, arm, against, &measure);
                    Cell {
                        range: ratio.map(|ratio| (ratio.low, ratio.high)),
                        lost: ratio.is_some_and(|ratio| ratio.median < 1.0),
                        ..Cell::of(ratio.map(|ratio| ratio.median))
                    }
                })
                .collect(),
        });
        Table {
            title,
            caption: "Above 1 etui is faster.".to_owned(),
            rows: rows.collect(),
            columns: ["one", "one, mean", "in batches"]
                .map(|title| Column::new(title, Unit::Ratio, Better::More))
                .to_vec(),
        }
    }

    /// Memory of an empty shelf, of one opened, and with all records of it kept; `one` and `many`
    /// are what a record is called.
    pub fn memory(&mut self, group: &GroupKey, one: &str, many: &str) -> Table {
        let size = group.size.max(1) as f64;
        let kinds = ["rss", "pss", "vms", "private_dirty"];
        let heads = ["RSS", "PSS", "VMS", "private dirty"];
        let results = self.results;
        let figure = |arm: &str, label: &str, kind: &str| {
            results.median(group, arm, &format!("{label}/{kind}_bytes"))
        };
        let each = |arm: &str, kind: &str| {
            let more = figure(arm, "held", kind)? - figure(arm, "empty", kind)?;
            Some(more.max(0.0) / size)
        };
        let mut rows = Vec::new();
        for (arm, role) in self.results.arms(group) {
            let mut cells = Vec::new();
            for (kind, head) in kinds.iter().zip(heads) {
                let (own, etui) = (each(&arm, kind), each(self.etui, kind));
                let ratio = own
                    .zip(etui)
                    .filter(|(_, etui)| *etui > 0.0 && arm != self.etui)
                    .map(|(own, etui)| own / etui);
                let lost = role != Role::Etui && ratio.is_some_and(|ratio| ratio < 1.0);
                if lost {
                    self.lose(&arm, kind, &format!("memory of {one}, {head}"), ratio);
                }
                cells.push(Cell {
                    ratio,
                    lost,
                    ..Cell::of(own)
                });
            }
            for label in ["empty", "opened", "held"] {
                cells.push(Cell::of(figure(&arm, label, "rss")));
            }
            let label = arm;
            rows.push(Row { label, role, cells });
        }
        let columns = ["each, RSS", "each, PSS", "each, VMS", "each, private dirty"]
            .into_iter()
            .chain(["empty, RSS", "opened, RSS", "all held, RSS"]);
        Table {
            title: format!("Memory with {} {many}", whole(group.size)),
            caption: format!(
                "Each: all processes (client, server, list of sources) with every one of the \
                 {many} fetched, parsed and kept, less the same with none, for one. In-process \
                 arms: the laboratory's own process."
            ),
            columns: columns.map(Column::bytes).collect(),
            rows,
        }
    }

    /// A work's time as the size grows; `each`: for one record.
    pub fn chart(
        &self,
        groups: &[&GroupKey],
        work: &str,
        title: &str,
        x: &str,
        each: bool,
    ) -> Chart {
        let mut series: Vec<Series> = Vec::new();
        for group in groups {
            for (arm, role) in self.results.arms(group) {
                let measure = format!("{work}/wall_ns");
                let Some(ns) = self.results.median(group, &arm, &measure) else {
                    continue;
                };
                let size = group.size as f64;
                let y = if each { ns / size.max(1.0) } else { ns };
                match series.iter_mut().find(|series| series.name == arm) {
                    Some(series) => series.points.push((size, y)),
                    None => series.push(Series {
                        name: arm,
                        role,
                        points: vec![(size, y)],
                    }),
                }
            }
        }
        for series in &mut series {
            series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Chart {
            title: title.to_owned(),
            kind: ChartKind::Growth,
            x: x.to_owned(),
            y: "time".to_owned(),
            unit: Unit::Nanoseconds,
            labels: Vec::new(),
            series,
        }
    }
}
