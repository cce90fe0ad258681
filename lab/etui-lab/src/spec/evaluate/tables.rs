//! Evaluates the declarations of tables.

use super::select_arms;
use crate::ArmRole;
use crate::report::content::{BetterWhen, Loss, Table, TableCell, TableColumn, TableRow};
use crate::report::numbers::format_whole;
use crate::results::{Figure, GroupKey, Results};
use crate::spec::{ColumnAxis, Measure, TableSpec};

/// A figure that is better than etui's by less than this factor is no loss.
const LEAST_LOSS: f64 = 1.02;

impl TableSpec {
    pub(super) fn evaluate(&self, results: &Results, etui: Option<&str>) -> Option<Table> {
        let labels = self.group_labels();
        let groups = || self.groups.iter().zip(&labels);
        let (columns, rows): (Vec<TableColumn>, Vec<TableRow>) = match self.columns {
            ColumnAxis::Measures => {
                let columns = self.measures.iter().map(|m| m.column(m.title.clone()));
                let mut rows = Vec::new();
                for (group, label) in groups() {
                    for (arm, role) in select_arms(results, std::slice::from_ref(group), &self.arms)
                    {
                        let cells = self.measures.iter();
                        let cells = cells.map(|m| self.cell(results, (group, &arm, role), m, etui));
                        rows.push(TableRow {
                            cells: cells.collect(),
                            label: match label.as_str() {
                                "" => arm,
                                label => format!("{label}: {arm}"),
                            },
                            role,
                        });
                    }
                }
                (columns.collect(), rows)
            }
            ColumnAxis::Groups => {
                let across = || {
                    let measures = self.measures.iter();
                    measures.flat_map(|measure| groups().map(move |(g, l)| (measure, g, l)))
                };
                let columns = across().map(|(measure, _, label)| {
                    let title = match (label.as_str(), self.measures.len()) {
                        ("", _) => measure.title.clone(),
                        (label, 1) => label.to_owned(),
                        (label, _) => format!("{label}, {}", measure.title),
                    };
                    measure.column(title)
                });
                let arms = select_arms(results, &self.groups, &self.arms).into_iter();
                let rows = arms.map(|(arm, role)| TableRow {
                    cells: across()
                        .map(|(m, group, _)| self.cell(results, (group, &arm, role), m, etui))
                        .collect(),
                    label: arm,
                    role,
                });
                (columns.collect(), rows.collect())
            }
        };
        let published = self.published.iter().map(|row| TableRow {
            label: row.label.clone(),
            role: ArmRole::AsFound,
            cells: row
                .figures
                .iter()
                .map(|f| TableCell::of(Some(*f)))
                .collect(),
        });
        let measured = rows.iter().any(has_figures);
        let mut rows: Vec<TableRow> = published.chain(rows).filter(has_figures).collect();
        for at in 0..columns.len() {
            // A base that nothing is compared with is not shown as one.
            let ratios = |row: &TableRow| row.cells.get(at).is_some_and(|c| c.ratio.is_some());
            if !rows.iter().any(ratios) {
                let cells = rows.iter_mut().filter_map(|row| row.cells.get_mut(at));
                cells.for_each(|cell| cell.base = false);
            }
        }
        let used: Vec<bool> = (0..columns.len())
            .map(|at| {
                let mut cells = rows.iter().filter_map(|row| row.cells.get(at));
                cells.any(|cell| cell.value.is_some())
            })
            .collect();
        measured.then(|| Table {
            title: self.title.clone(),
            caption: self.caption.clone(),
            columns: keep_used(columns, &used),
            rows: rows
                .into_iter()
                .map(|row| TableRow {
                    cells: keep_used(row.cells, &used),
                    ..row
                })
                .collect(),
        })
    }

    fn cell(
        &self,
        results: &Results,
        (group, arm, role): (&GroupKey, &str, ArmRole),
        measure: &Measure,
        etui: Option<&str>,
    ) -> TableCell {
        let Some(figure) = measure.figure(results, group, arm) else {
            return TableCell::default();
        };
        let ratio = |base| measure.ratio(results, group, arm, base).map(|r| r.median);
        TableCell {
            value: Some(figure.median),
            range: (figure.count > 1).then_some((figure.low, figure.high)),
            ratio: self.base.filter(|base| *base != arm).and_then(ratio),
            base: self.base == Some(arm),
            lost: etui
                .filter(|_| !matches!(role, ArmRole::Etui | ArmRole::Variant | ArmRole::Unsafe))
                .and_then(|etui| {
                    let etui = self.etui_arm(results, group, etui)?;
                    let ours = measure.figure(results, group, &etui)?;
                    find_loss(&figure, &ours, &etui, measure.better)
                }),
            note: String::new(),
        }
    }

    /// Returns the arm that losses of a group are counted against: etui's, or where the table has
    /// none of that name, its first arm of etui.
    fn etui_arm(&self, results: &Results, group: &GroupKey, etui: &str) -> Option<String> {
        let arms = select_arms(results, std::slice::from_ref(group), &self.arms);
        let named = arms.iter().find(|(arm, _)| arm == etui);
        let any = || arms.iter().find(|(_, role)| *role == ArmRole::Etui);
        named.or_else(any).map(|(arm, _)| arm.clone())
    }

    /// Returns a label for each group, of the parts in which the groups differ.
    fn group_labels(&self) -> Vec<String> {
        let differ = |part: fn(&GroupKey) -> String| {
            let mut parts = self.groups.iter().map(part);
            let first = parts.next();
            parts.any(|part| Some(part) != first)
        };
        let work = differ(|group| group.work.clone());
        let stack = differ(|group| group.stack.clone());
        let size = differ(|group| group.size.to_string());
        let label = |group: &GroupKey| {
            let mut parts = Vec::new();
            if stack {
                parts.push(group.stack.clone());
            }
            if work {
                parts.push(group.work.clone());
            }
            if size {
                let of = format!("{} {}", format_whole(group.size), self.size_unit);
                parts.push(of.trim_end().to_owned());
            }
            parts.join(", ")
        };
        self.groups.iter().map(label).collect()
    }
}

/// Returns by how much a figure is better than etui's.
fn find_loss(figure: &Figure, ours: &Figure, etui: &str, better: BetterWhen) -> Option<Loss> {
    let (above, below) = match better {
        BetterWhen::Less => (ours.median, figure.median),
        BetterWhen::More => (figure.median, ours.median),
        BetterWhen::Neither => return None,
    };
    let times = match below > 0.0 {
        true => above / below,
        false if above > 0.0 => f64::INFINITY,
        false => return None,
    };
    (times >= LEAST_LOSS).then(|| Loss {
        arm: etui.to_owned(),
        figure: ours.median,
        times,
        unsure: figure.low <= ours.high && ours.low <= figure.high,
    })
}

fn has_figures(row: &TableRow) -> bool {
    row.cells.iter().any(|cell| cell.value.is_some())
}

fn keep_used<T>(all: Vec<T>, used: &[bool]) -> Vec<T> {
    let kept = all.into_iter().zip(used).filter(|(_, used)| **used);
    kept.map(|(one, _)| one).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn a_peer_that_is_faster_is_a_loss() {
        let results = sample();
        let table = TableSpec {
            groups: results.groups(),
            measures: vec![Measure::wall_time("a", "a"), Measure::new("none", "none")],
            base: Some("old"),
            size_unit: "records",
            ..TableSpec::default()
        };
        let table = table.evaluate(&results, Some("ours")).unwrap();
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels[2..], ["10 records: peer", "20 records: old"]);
        let lost = table.rows.iter().map(|row| row.cells[0].lost.as_ref());
        let lost: Vec<_> = lost.map(|loss| loss.map(|l| (l.figure, l.times))).collect();
        assert_eq!(lost, [None, None, Some((20.0, 2.0)), None]);
        // A table whose arm of etui has another name.
        let other = TableSpec {
            groups: results.groups(),
            measures: vec![Measure::wall_time("a", "a")],
            ..TableSpec::default()
        };
        let other = other.evaluate(&results, Some("ours elsewhere")).unwrap();
        let loss = other.rows[2].cells[0].lost.as_ref().unwrap();
        assert_eq!((loss.arm.as_str(), loss.unsure), ("ours", false));
        assert_eq!(table.rows[1].cells[0].ratio, Some(0.5));
        assert_eq!(
            table.columns.len(),
            1,
            "columns without figures are left out"
        );
        assert!(TableSpec::default().evaluate(&results, None).is_none());
    }
}
