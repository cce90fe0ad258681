//! Evaluates the declarations of charts.

use super::select_arms;
use crate::ArmRole;
use crate::report::content::{Chart, ChartKind, ChartPoint, ChartSeries};
use crate::results::{Figure, Results};
use crate::spec::{ChartAxis, ChartSpec, Measure};

impl ChartSpec {
    pub(super) fn evaluate(&self, results: &Results) -> Option<Chart> {
        let unit = self.measures.first()?.unit;
        let arms = select_arms(results, &self.groups, &self.arms);
        let (kind, x, labels, series) = match self.axis {
            ChartAxis::Sizes(x) => (ChartKind::Growth, x, Vec::new(), self.curves(results, arms)),
            ChartAxis::Arms => {
                let (labels, series) = self.collect_bars(results, arms);
                let kind = match self.measures.len() {
                    1 => ChartKind::Bars,
                    _ => ChartKind::Stacked,
                };
                (kind, "", labels, series)
            }
        };
        (!series.is_empty()).then(|| Chart {
            title: self.title.clone(),
            kind,
            x: x.to_owned(),
            y: self.y.to_owned(),
            unit,
            labels,
            series,
        })
    }

    fn curves(&self, results: &Results, arms: Vec<(String, ArmRole)>) -> Vec<ChartSeries> {
        let series = arms.into_iter().map(|(name, role)| {
            let points = self.groups.iter().filter_map(|group| {
                let figure = self.measures.first()?.figure(results, group, &name)?;
                Some(chart_point(group.size as f64, &figure))
            });
            ChartSeries {
                points: points.collect(),
                name,
                role,
            }
        });
        series.filter(|series| series.points.len() > 1).collect()
    }

    fn collect_bars(
        &self,
        results: &Results,
        arms: Vec<(String, ArmRole)>,
    ) -> (Vec<String>, Vec<ChartSeries>) {
        let Some(group) = self.groups.first() else {
            return (Vec::new(), Vec::new());
        };
        let figure = |arm: &str, measure: &Measure| measure.figure(results, group, arm);
        let has_any = |arm: &str| self.measures.iter().any(|m| figure(arm, m).is_some());
        let arms: Vec<_> = arms.into_iter().filter(|(arm, _)| has_any(arm)).collect();
        let labels = arms.iter().map(|(arm, _)| arm.clone()).collect();
        let mut series: Vec<ChartSeries> = Vec::new();
        for measure in &self.measures {
            for (at, (arm, role)) in arms.iter().enumerate() {
                let Some(figure) = figure(arm, measure) else {
                    continue;
                };
                let point = chart_point(at as f64, &figure);
                // Bars have a series for each role, stacked bars one for each part.
                let (name, role) = match self.measures.len() {
                    1 => (role.label(), *role),
                    _ => (measure.title.as_str(), ArmRole::AsFound),
                };
                match series.iter_mut().find(|series| series.name == name) {
                    Some(series) => series.points.push(point),
                    None => series.push(ChartSeries {
                        name: name.to_owned(),
                        role,
                        points: vec![point],
                    }),
                }
            }
        }
        series.retain(|series| series.points.iter().any(|point| point.y != 0.0));
        (labels, series)
    }
}

/// Returns the point of a figure, with the range of its repetitions.
pub(crate) fn chart_point(x: f64, figure: &Figure) -> ChartPoint {
    ChartPoint {
        x,
        y: figure.median,
        range: (figure.count > 1).then_some((figure.low, figure.high)),
    }
}
