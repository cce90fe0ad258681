//! Tables, verdict and thresholds of `power-cut`.

use super::arms;
use crate::{
    AdviceSpec, Conclusion, GroupKey, Measure, ReportSpec, Results, Table, TableCell, TableColumn,
    TableRow, TableSpec, Threshold,
};

fn lossy() -> Measure {
    Measure::new("points with losses", "cut/lossy_points")
}

fn lost() -> Measure {
    Measure::new("records lost", "cut/lost")
}

fn damaged() -> Measure {
    Measure::new("damaged", "cut/damaged")
}

pub fn report_spec(results: &Results) -> ReportSpec {
    let groups = results.groups();
    let tables = vec![
        TableSpec::new("Power cuts at which acknowledged records were lost", groups.clone())
            .caption("Of as many points as the last table says.")
            .measures(vec![lossy()])
            .by_group()
            .size_unit("saves"),
        TableSpec::new("Power cuts that left a damaged store", groups.clone())
            .caption("It cannot be opened, its check finds faults, or its records are those of no moment of the run.")
            .measures(vec![damaged()])
            .by_group()
            .size_unit("saves"),
        TableSpec::new("Power cuts, in detail", groups.clone())
            .caption("Records acknowledged and lost are added up over all points; those of damaged stores are not counted. Repaired first: the kernel refused the file system until its own tool had repaired it; its superblock was torn. Writes in doubt are those since the last flush.")
            .measures(vec![
                Measure::new("points", "cut/points").informative(),
                Measure::new("acknowledged", "cut/acknowledged").informative(),
                lossy(),
                lost(),
                Measure::new("damaged stores", "cut/damaged"),
                Measure::new("repaired first", "cut/repaired").informative(),
                Measure::new("not mounted", "cut/unmounted"),
                Measure::new("writes in doubt", "cut/in_doubt").informative(),
                Measure::new("flushes of the run", "cut/flushes").informative(),
            ])
            .size_unit("saves"),
    ];
    ReportSpec {
        tables,
        advice: advise(results, &groups).into_iter().collect(),
        derived_tables: sum_up(results, &groups).into_iter().collect(),
        thresholds: groups.iter().flat_map(list_thresholds).collect(),
        conclusion: Conclusion {
            yes: "With a rollback journal and synchronous=FULL a power cut takes acknowledged records; \
                  use EXTRA, or WAL with FULL.",
            partly: "With a rollback journal and synchronous=FULL a power cut takes acknowledged records \
                     on some file systems; use EXTRA, or WAL with FULL.",
            no: "No power cut took an acknowledged record of a rollback journal with synchronous=FULL here.",
        },
        etui: Some(arms::FULL_REDO),
        ..ReportSpec::default()
    }
}

/// Advice on SQLite's settings, by the file system on which its default lost most.
fn advise(results: &Results, groups: &[GroupKey]) -> Option<AdviceSpec> {
    let losses = groups.iter().filter_map(|group| {
        let figure = lossy().figure(results, group, arms::PLAIN_DELETE)?;
        Some((group, figure.median))
    });
    let (group, _) = losses.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some(
        AdviceSpec::new("set synchronous to EXTRA where SQLite keeps its rollback journal")
            .how(
                "PRAGMA synchronous = EXTRA; or PRAGMA journal_mode = WAL, with synchronous = FULL",
            )
            .measured(format!(
                "Power cuts that took acknowledged records, on {}",
                group.work
            ))
            .gain("power cuts that take acknowledged records")
            .compare(Some(group), &lossy(), arms::PLAIN_DELETE, arms::PLAIN_EXTRA)
            .etui(Some(group), arms::FULL_REDO, lossy()),
    )
}

/// All file systems together.
fn sum_up(results: &Results, groups: &[GroupKey]) -> Option<Table> {
    let mut measures = [
        ("points", "cut/points"),
        ("points with losses", "cut/lossy_points"),
        ("records lost", "cut/lost"),
        ("damaged stores", "cut/damaged"),
        ("repaired first", "cut/repaired"),
        ("not mounted", "cut/unmounted"),
    ]
    .map(|(title, key)| Measure::new(title, key));
    measures[0] = measures[0].clone().informative();
    let mut arms = Vec::new();
    for arm in groups.iter().flat_map(|group| results.arms(group)) {
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    let rows: Vec<TableRow> = arms
        .into_iter()
        .map(|(label, role)| {
            let cells = measures.iter().map(|measure| {
                let figures = groups.iter();
                let figures = figures.filter_map(|group| measure.figure(results, group, &label));
                TableCell::of(Some(figures.map(|figure| figure.median).sum()))
            });
            TableRow {
                cells: cells.collect(),
                label,
                role,
            }
        })
        .collect();
    let columns = measures.iter();
    let columns = columns.map(|m| TableColumn::new(m.title.clone(), m.unit, m.better));
    (!rows.is_empty()).then(|| Table {
        title: "Power cuts on all file systems together".to_owned(),
        columns: columns.collect(),
        rows,
        ..Table::default()
    })
}

fn list_thresholds(group: &GroupKey) -> Vec<Threshold> {
    let name = &group.work;
    let none_of = |arm: &str, what: &str, measure| {
        Threshold::target(format!("{name}, {arm}: {what}"))
            .of(Some(group), arm, measure)
            .at_most(0.0)
    };
    let mut thresholds = vec![
        Threshold::finding(format!("cuts that took records on {name}"))
            .of(Some(group), arms::PLAIN_DELETE, lossy())
            .at_least(1.0),
    ];
    for arm in arms::DURABLE {
        thresholds.push(none_of(arm, "records lost", lost()));
    }
    for arm in arms::DURABLE.iter().chain(&arms::DEFERRED) {
        thresholds.push(none_of(arm, "damaged stores", damaged()));
    }
    for arm in arms::DROPPED {
        let claim = format!("{name}, {arm}: cuts that took records");
        let measure = Measure::new("", "cut/lossy_points + cut/damaged + cut/unmounted");
        let threshold = Threshold::target(claim).of(Some(group), arm, measure);
        thresholds.push(threshold.at_least(1.0));
    }
    thresholds
}
