//! The looks of curves and parts: one for each name throughout an experiment, so that a colour
//! means the same in all of its charts.

use crate::{ArmRole, Chart, ChartKind};

/// The names of an experiment's charts, in the order in which they first appear.
#[derive(Default)]
pub(super) struct Styles<'a> {
    parts: Vec<&'a str>,
    series: Vec<(ArmRole, &'a str)>,
}

impl<'a> Styles<'a> {
    pub fn of(charts: &'a [Chart]) -> Self {
        let mut styles = Self::default();
        for chart in charts {
            for series in &chart.series {
                let name = series.name.as_str();
                if chart.kind == ChartKind::Stacked {
                    if !styles.parts.contains(&name) {
                        styles.parts.push(name);
                    }
                } else if !styles.series.contains(&(series.role, name)) {
                    styles.series.push((series.role, name));
                }
            }
        }
        styles
    }

    /// Returns the number of a part of stacked bars.
    pub fn part(&self, name: &str) -> usize {
        let mut parts = self.parts.iter();
        parts.position(|part| *part == name).unwrap_or_default()
    }

    /// Returns which one of its role a series is.
    pub fn variant(&self, role: ArmRole, name: &str) -> usize {
        let mut of_role = self.series.iter().filter(|(of, _)| *of == role);
        of_role
            .position(|(_, series)| *series == name)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChartSeries, Unit};

    fn chart(kind: ChartKind, names: &[&str]) -> Chart {
        let series = names.iter().map(|name| ChartSeries {
            name: (*name).to_owned(),
            role: ArmRole::Peer,
            points: Vec::new(),
        });
        Chart {
            title: String::new(),
            kind,
            x: String::new(),
            y: String::new(),
            unit: Unit::Count,
            labels: Vec::new(),
            series: series.collect(),
        }
    }

    #[test]
    fn a_name_looks_the_same_in_all_charts() {
        let charts = [
            chart(ChartKind::Stacked, &["journal", "data"]),
            chart(ChartKind::Stacked, &["data", "log"]),
            chart(ChartKind::Growth, &["one", "two"]),
            chart(ChartKind::Growth, &["two"]),
        ];
        let styles = Styles::of(&charts);
        assert_eq!(
            ["journal", "data", "log"].map(|of| styles.part(of)),
            [0, 1, 2]
        );
        assert_eq!(styles.variant(ArmRole::Peer, "two"), 1);
    }
}
