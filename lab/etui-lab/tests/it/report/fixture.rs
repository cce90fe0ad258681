//! Made-up results: names and figures that mean nothing, in every shape that a report may
//! meet. None of it was measured.

use std::collections::BTreeMap;

use etui_lab::report::{Report, ReportSection};
use etui_lab::results::{FORMAT, RunHeader};
use etui_lab::{
    Advice, AdviceFigure, ArmMeaning, ArmRole, BetterWhen, Chart, ChartKind, ChartPoint,
    ChartSeries, ExperimentInfo, ExperimentReport, FindingStatus, Loss, NotRun, PublishedResult,
    Study, Table, TableCell, TableColumn, TableRow, Unit, Verdict,
};

/// Text that would break a page, a table, a terminal or a spreadsheet if it were trusted.
pub const HOSTILE: &str = "</td><script>alert(1)</script>\"'&<img src=x onerror=alert(2)>|`*_[x](y)\u{1b}[31m\u{202e}\r\nend";

/// A long name, as stacks of options have them.
pub const LONG: &str = "a name that goes on for longer than any column would wish, with \
    options=sample,of=many,parts=joined_without_a_single_space_anywhere_in_the_last_of_them";

fn about(name: &'static str, title: &'static str, study: Option<Study>) -> ExperimentInfo {
    ExperimentInfo {
        name,
        title,
        study,
        question: "Does the sample work take longer when the sample limit is smaller than one \
                   batch of samples?",
        method: "Made-up samples go into a made-up store in batches of 60, once for each arm. \
                 Unlike the study, nothing of this ever ran.",
        same_answer: "a digest over all samples is equal for all arms.",
        found: &[
            PublishedResult {
                finding: "the sample limit is smaller than one batch, so that parts of it are \
                          written more than once",
                cure: "a larger limit",
                figure: "20 % less time",
            },
            PublishedResult {
                finding: "each batch gives back what the next one needs",
                cure: "a resting size of min(16 parts, 512 kB), never under 64 kB",
                figure: "700 ms a batch, 200-300 ms of it for this",
            },
            PublishedResult {
                finding: "a finding without a cure",
                cure: "",
                figure: "",
            },
        ],
        arms: &[
            ArmMeaning {
                name: "limit ...",
                about: "the sample limit, in parts",
            },
            ArmMeaning {
                name: "etui",
                about: "etui, as it never was",
            },
        ],
        parameters: &[],
    }
}

/// A loss to etui.
fn loss(figure: f64, times: f64, unsure: bool) -> Option<Loss> {
    Some(Loss {
        arm: "etui".to_owned(),
        figure,
        times,
        unsure,
    })
}

/// Points without ranges.
fn points<const N: usize>(points: [(f64, f64); N]) -> Vec<ChartPoint> {
    points.map(ChartPoint::from).to_vec()
}

/// Advice to make a change, or to leave it.
fn advice(worth: bool, words: &str) -> Advice {
    let figure = |title, arm: &str, role, value: f64| AdviceFigure {
        title,
        arm: arm.to_owned(),
        work: String::new(),
        role,
        value,
        range: Some((value * 0.96, value * 1.07)),
    };
    Advice {
        worth,
        clear: true,
        about_etui: false,
        factor: if worth { 1.26 } else { 1.0 },
        change: format!("Change {words}"),
        gain: "a batch takes 21 % less time (326 ms instead of 412 ms)".to_owned(),
        how: "a made-up setting".to_owned(),
        measured: "A batch of samples".to_owned(),
        unit: Unit::Nanoseconds,
        figures: vec![
            figure("Before", "limit 1", ArmRole::AsFound, 412e6),
            figure("After", "limit 8", ArmRole::Cure, 326e6),
            figure("etui", "etui", ArmRole::Etui, 194e6),
        ],
    }
}

fn cell(value: f64, ratio: Option<f64>) -> TableCell {
    TableCell {
        value: Some(value),
        range: Some((value * 0.96, value * 1.07)),
        ratio,
        ..TableCell::default()
    }
}

/// Words in place of a figure.
fn note(words: &str) -> TableCell {
    TableCell {
        note: words.to_owned(),
        ..TableCell::default()
    }
}

fn time(title: &str) -> TableColumn {
    TableColumn::new(title, Unit::Nanoseconds, BetterWhen::Less)
}

fn count(title: &str) -> TableColumn {
    TableColumn::new(title, Unit::Count, BetterWhen::Less)
}

fn bytes(title: &str) -> TableColumn {
    TableColumn::new(title, Unit::Bytes, BetterWhen::Less)
}

/// A figure that ratios are taken against.
fn base(value: f64) -> TableCell {
    TableCell {
        base: true,
        ..cell(value, None)
    }
}

fn row(label: &str, role: ArmRole, cells: Vec<TableCell>) -> TableRow {
    TableRow {
        label: label.to_owned(),
        role,
        cells,
    }
}

fn header() -> RunHeader {
    RunHeader {
        format: FORMAT,
        started: "2001-02-03T04:05:06Z".to_owned(),
        etui: "0.0.0-sample".to_owned(),
        sqlite: "0.0.0 (sample source id)".to_owned(),
        kernel: "0.0.0-sample".to_owned(),
        system: "Sample System 1".to_owned(),
        processor: "Sample Processor 1000 @ 1.00GHz".to_owned(),
        cores: 2,
        memory: 4_000_000_000,
        root: false,
        quick: true,
        tools: BTreeMap::from([
            ("sample-tool".to_owned(), "1.2.3".to_owned()),
            ("other-tool".to_owned(), String::new()),
        ]),
        experiments: BTreeMap::new(),
    }
}

fn not_run(what: &str, reason: &str) -> NotRun {
    NotRun {
        what: what.to_owned(),
        reason: reason.to_owned(),
    }
}

fn section(about: ExperimentInfo, presentation: ExperimentReport) -> ReportSection {
    ReportSection {
        about,
        presentation,
        not_run: Vec::new(),
        failed: Vec::new(),
        stacks: BTreeMap::new(),
        parameters: BTreeMap::new(),
    }
}

/// A table as a comparison has it: base, cures, all, peer, etui.
fn comparison() -> Table {
    let arms = [
        ("limit 1", ArmRole::AsFound, 1.0),
        ("limit 2", ArmRole::Cure, 0.93),
        ("limit 4", ArmRole::Cure, 0.86),
        ("limit 8", ArmRole::Cure, 0.79),
        ("resting size", ArmRole::Cure, 0.95),
        ("all of them", ArmRole::AllCures, 0.64),
        ("sample server, as shipped", ArmRole::Peer, 0.58),
        ("etui", ArmRole::Etui, 0.47),
    ];
    let rows = arms
        .iter()
        .enumerate()
        .map(|(at, (label, role, part))| {
            let ratio = (at > 0).then_some(*part);
            let mut cells = vec![
                cell(412.3e6 * part, ratio),
                cell(88.1e6 * part * part, ratio.map(|r| r * r)),
                cell((1234.0 * part).round(), ratio),
                cell((2_512_896.0 * part).round(), ratio),
                cell((60.0 * (part - 0.64)).max(0.0).round(), None),
            ];
            for cell in &mut cells[..4] {
                cell.base = at == 0;
            }
            if *role == ArmRole::Etui {
                cells[3].ratio = Some(1.31);
                cells[2].range = None;
            }
            if *role == ArmRole::Peer {
                cells[3].lost = loss(1_181_061.0, 2.3, false);
                cells[2].lost = loss(580.0, 1.1, true);
                cells[4] = note("not counted");
            }
            row(label, *role, cells)
        })
        .collect();
    Table {
        title: "One batch of samples, sample stack".to_owned(),
        caption: "Ratios are taken against limit 1, the arm as found.".to_owned(),
        columns: vec![
            time("Time for a batch"),
            time("Processor time"),
            count("Writes"),
            bytes("Written"),
            count("Written twice"),
        ],
        rows,
    }
}

/// A table whose rows are in groups, each with its own base.
fn groups() -> Table {
    let mut rows = Vec::new();
    for (at, group) in ["insert", "update", "delete"].iter().enumerate() {
        let time = 1e6 * (at + 1) as f64;
        for (arm, role, part) in [
            ("mode one", ArmRole::AsFound, 1.0),
            ("mode two", ArmRole::Cure, 0.5),
            ("etui", ArmRole::Etui, 0.25),
        ] {
            let ratio = (role != ArmRole::AsFound).then_some(part);
            rows.push(row(
                &format!("{group}: {arm}"),
                role,
                vec![ratio.map_or(base(time), |_| cell(time * part, ratio))],
            ));
        }
    }
    Table {
        title: "Three kinds of work".to_owned(),
        caption: "Ratios are taken against mode one.".to_owned(),
        columns: vec![time("Time for one")],
        rows,
    }
}

/// Curves over sizes from 50 on, some of them close together.
pub fn curves(names: &[(&str, ArmRole)]) -> Chart {
    let sizes = [50.0, 100.0, 400.0, 1_600.0, 12_800.0, 102_400.0];
    let series = names
        .iter()
        .enumerate()
        .map(|(at, (name, role))| ChartSeries {
            name: (*name).to_owned(),
            role: *role,
            points: sizes
                .iter()
                .take(if at == 2 { 4 } else { 6 })
                .map(|x: &f64| {
                    let y = 9_000.0 * x.powf(1.05 - at as f64 * 0.045);
                    let range = (at != 2).then_some((y * 0.7, y * 1.6));
                    ChartPoint { x: *x, y, range }
                })
                .collect(),
        })
        .collect();
    Chart {
        title: "Time to fetch all samples".to_owned(),
        kind: ChartKind::Growth,
        x: "samples".to_owned(),
        y: "time".to_owned(),
        unit: Unit::Nanoseconds,
        labels: Vec::new(),
        series,
    }
}

fn bars() -> Chart {
    let labels = ["limit 1", "limit 8", "all of them", LONG, "etui"];
    Chart {
        title: "Writes to the device for one sample".to_owned(),
        kind: ChartKind::Bars,
        x: String::new(),
        y: "writes, from zero".to_owned(),
        unit: Unit::Count,
        labels: labels.map(str::to_owned).to_vec(),
        series: vec![
            ChartSeries {
                name: "fresh".to_owned(),
                role: ArmRole::AsFound,
                points: points([(0.0, 9.0), (1.0, 7.0), (2.0, 3.0), (3.0, 4.5), (4.0, 1.0)]),
            },
            ChartSeries {
                name: "used before".to_owned(),
                role: ArmRole::Etui,
                points: points([(0.0, 8.0), (1.0, 5.0), (2.0, 2.0), (4.0, 0.0)]),
            },
        ],
    }
}

fn single_bars() -> Chart {
    Chart {
        title: "Commits in a second".to_owned(),
        unit: Unit::PerSecond,
        y: "commits in a second".to_owned(),
        series: vec![ChartSeries {
            name: "commits".to_owned(),
            role: ArmRole::AllCures,
            points: (0..5)
                .map(|x| {
                    let y = 39.0 * f64::from(x + 1);
                    let range = Some((y * 0.5, y * 1.5));
                    ChartPoint {
                        x: f64::from(x),
                        y,
                        range,
                    }
                })
                .collect(),
        }],
        ..bars()
    }
}

fn stacked(parts: usize) -> Chart {
    let labels = [
        "mode one",
        "mode two",
        "mode three, with a longer name",
        "mode four",
    ];
    Chart {
        title: "Bytes written for one sample, by part".to_owned(),
        kind: ChartKind::Stacked,
        x: String::new(),
        y: "bytes that reach the device".to_owned(),
        unit: Unit::Bytes,
        labels: labels.map(str::to_owned).to_vec(),
        series: (0..parts)
            .map(|part| ChartSeries {
                name: format!("part {}", part + 1),
                role: ArmRole::AsFound,
                points: (0..4)
                    .map(|bar| {
                        let size = (bar * 7 + part * 5) % 6;
                        ChartPoint::from((bar as f64, size as f64 * 4096.0))
                    })
                    .collect(),
            })
            .collect(),
    }
}

/// A table of this size, with gaps in it.
pub fn large(rows: usize, columns: usize) -> Table {
    let roles = [
        ArmRole::AsFound,
        ArmRole::Cure,
        ArmRole::AllCures,
        ArmRole::Peer,
        ArmRole::Etui,
    ];
    let units = [
        Unit::Count,
        Unit::Bytes,
        Unit::Nanoseconds,
        Unit::PerSecond,
        Unit::Fraction,
    ];
    Table {
        title: format!("{rows} rows of {columns} figures"),
        caption: String::new(),
        columns: (0..columns)
            .map(|at| TableColumn::new(format!("measure {at}"), units[at % 5], BetterWhen::Less))
            .collect(),
        rows: (0..rows)
            .map(|at| {
                let cells = (0..columns)
                    .filter(|column| at % 7 != 3 || *column < 2)
                    .map(|column| match (at + column) % 11 {
                        0 => TableCell::default(),
                        5 => note("not run"),
                        n => cell(n as f64 * 37.0, Some(n as f64 / 5.0)),
                    })
                    .collect();
                row(&format!("arm {at}"), roles[at % 5], cells)
            })
            .collect(),
    }
}

/// Several studies with all that a section may hold.
pub fn rich() -> Report {
    let mut first = section(
        about(
            "sample-sync",
            "Batches against a limit",
            Some(Study::MusicSync),
        ),
        ExperimentReport {
            tables: vec![comparison(), large(4, 3), large(60, 4)],
            charts: vec![stacked(4)],
            verdict: Verdict {
                advice: vec![
                    advice(true, "the limit"),
                    Advice {
                        about_etui: true,
                        ..advice(true, "the store")
                    },
                    advice(false, "nothing"),
                ],
                evidence: "A batch: 0.79x (the study: 0.80).".to_owned(),
                shown: FindingStatus::Yes,
                sentence: "The made-up limit costs 21 % here too: a batch takes 412 ms under \
                           limit 1 and 326 ms under limit 8; etui takes 194 ms."
                    .to_owned(),
                notes: vec![
                    "etui writes more bytes than the sample server: it keeps a made-up second \
                     copy of each sample."
                        .to_owned(),
                    "The study's device had no counterpart among the samples.".to_owned(),
                ],
            },
        },
    );
    first.not_run = vec![
        not_run("stack other-fs", "needs root; run the sample as root"),
        not_run("arm larger buffers", "not built yet"),
        not_run("stack sample-fs", "needs root; run the sample as root"),
    ];
    first.stacks = BTreeMap::from([
        ("here".to_owned(), BTreeMap::new()),
        (
            "ram".to_owned(),
            BTreeMap::from([
                ("file system".to_owned(), "sample-fs".to_owned()),
                ("options".to_owned(), "rw,sample".to_owned()),
            ]),
        ),
    ]);
    first.parameters = BTreeMap::from([
        ("batches".to_owned(), vec![12]),
        ("records".to_owned(), vec![100, 1_600, 12_800]),
    ]);

    let mut second = section(
        about(
            "sample-matrix",
            "Modes by stacks",
            Some(Study::SmartphoneStack),
        ),
        ExperimentReport {
            tables: vec![large(24, 8)],
            charts: vec![bars(), single_bars(), stacked(14)],
            verdict: Verdict {
                shown: FindingStatus::Partly,
                sentence: "Six of eight made-up stacks show it.".to_owned(),
                ..Verdict::default()
            },
        },
    );
    second.failed = vec![(
        "insert".to_owned(),
        "limit 4".to_owned(),
        "the answer is not that of the other arms".to_owned(),
    )];

    let third = section(
        about(
            "sample-fetch",
            "Fetching over sizes",
            Some(Study::AddressBook),
        ),
        ExperimentReport {
            tables: vec![comparison(), groups()],
            charts: vec![curves(&[
                ("as found", ArmRole::AsFound),
                ("one cure", ArmRole::Cure),
                ("another cure, not at all sizes", ArmRole::Cure),
                ("all cures", ArmRole::AllCures),
                ("sample server over a bus", ArmRole::Peer),
                ("sample server, direct", ArmRole::Peer),
                ("etui", ArmRole::Etui),
            ])],
            verdict: Verdict {
                shown: FindingStatus::No,
                sentence: "The made-up gap has closed: 1.05x where the study had 2.25x.".to_owned(),
                notes: vec!["A note.".to_owned()],
                ..Verdict::default()
            },
        },
    );
    let fourth = section(
        about("sample-poll", "An experiment of its own", None),
        ExperimentReport::default(),
    );
    Report {
        header: header(),
        sections: vec![third, first, second, fourth],
    }
}

/// Everything that can be odd about results, at once.
pub fn odd() -> Report {
    let point = |y| ChartSeries {
        name: LONG.to_owned(),
        role: ArmRole::Peer,
        points: points([(100.0, y)]),
    };
    let chart = |series: Vec<ChartSeries>| Chart {
        series,
        ..curves(&[])
    };
    let many: Vec<(String, ArmRole)> = (0..14)
        .map(|at| {
            let roles = [
                ArmRole::Cure,
                ArmRole::Peer,
                ArmRole::Cure,
                ArmRole::AsFound,
                ArmRole::Etui,
            ];
            (
                format!("curve number {at}, named at some length"),
                roles[at % 5],
            )
        })
        .collect();
    let many: Vec<(&str, ArmRole)> = many.iter().map(|(n, r)| (n.as_str(), *r)).collect();
    let mut steep = curves(&many[..1]);
    steep.series[0].points = points([(1.0, 1e-3), (1e3, 1.0), (1e6, 1e13), (1e9, 1e15)]);
    let mut zeros = curves(&many[..2]);
    zeros.series[0].points[0].y = 0.0;
    zeros.series[0].points[1].range = Some((f64::NAN, -1.0));
    zeros.series[1].points[1] = ChartPoint::from((f64::NAN, f64::INFINITY));
    let mut worded = curves(&many[..3]);
    worded.x = LONG.to_owned();
    worded.y = format!("{LONG} {LONG}");
    let mut extreme = curves(&many[..2]);
    extreme.series[0].points =
        points([(f64::MAX, f64::MIN_POSITIVE), (1e-280, 1e280), (-1.0, -1.0)]);
    let cells = vec![
        TableCell::of(Some(f64::NAN)),
        TableCell {
            value: Some(f64::INFINITY),
            range: Some((f64::NEG_INFINITY, f64::NAN)),
            ratio: Some(f64::NAN),
            lost: loss(f64::NAN, f64::INFINITY, true),
            ..TableCell::default()
        },
        TableCell::of(Some(-3.0)),
        TableCell::of(Some(f64::MAX)),
        TableCell::of(Some(1.0)),
        TableCell {
            lost: loss(1.0, f64::MAX, false),
            ..note(LONG)
        },
    ];
    let rows = vec![
        row(LONG, ArmRole::Cure, cells.clone()),
        row("", ArmRole::AsFound, Vec::new()),
        row(
            "\u{8a9e}\u{8a00}\u{306e}\u{8a71} \u{1f4d6}",
            ArmRole::Etui,
            cells,
        ),
    ];
    let mut odd_bars = bars();
    odd_bars.labels.truncate(1);
    odd_bars.series[0].points =
        points([(0.0, f64::NAN), (7.0, -4.0), (-1.0, 3.0), (f64::NAN, 1.0)]);
    odd_bars.series[0].points[1].range = Some((f64::NEG_INFINITY, f64::NAN));
    let mut none = bars();
    none.series.clear();
    let mut nought = stacked(2);
    nought.series[0].points = points([(0.0, 0.0)]);
    nought.series[1].points = points([(0.0, -5.0), (f64::INFINITY, 3.0)]);
    let presentation = ExperimentReport {
        tables: vec![
            Table {
                title: "Odd figures".to_owned(),
                caption: String::new(),
                columns: (0..6).map(|_| time(LONG)).collect(),
                rows,
            },
            Table {
                title: "No rows".to_owned(),
                ..large(0, 3)
            },
            Table {
                title: "No columns".to_owned(),
                ..large(3, 0)
            },
            Table::default(),
            large(3, 14),
        ],
        charts: vec![
            curves(&many),
            chart(vec![point(5.0)]),
            chart(vec![point(0.0)]),
            chart(Vec::new()),
            steep,
            zeros,
            worded,
            extreme,
            odd_bars,
            none,
            nought,
        ],
        verdict: Verdict {
            sentence: LONG.to_owned(),
            advice: vec![advice(true, LONG)],
            ..Verdict::default()
        },
    };
    let mut odd = section(
        about("odd", "What results may hold", Some(Study::DateBook)),
        presentation,
    );
    odd.not_run = vec![not_run(LONG, LONG)];
    Report {
        header: RunHeader::default(),
        sections: vec![odd],
    }
}

/// A report all of whose words are [`HOSTILE`].
pub fn hostile() -> Report {
    let words = || HOSTILE.to_owned();
    let mut cells = vec![note(HOSTILE), cell(1.0, None)];
    cells[1].lost = loss(3.0, 3.0, false);
    let series = |role| ChartSeries {
        name: words(),
        role,
        points: points([(0.0, 1.0), (1.0, 2.0), (0.0, 0.0)]),
    };
    let chart = |kind| Chart {
        title: words(),
        kind,
        x: words(),
        y: words(),
        unit: Unit::Count,
        labels: vec![words(), words()],
        series: vec![series(ArmRole::Etui), series(ArmRole::Peer)],
    };
    let mut of = section(
        about("hostile", HOSTILE, Some(Study::DateBook)),
        ExperimentReport {
            tables: vec![Table {
                title: words(),
                caption: words(),
                columns: vec![count(HOSTILE), time(HOSTILE)],
                rows: vec![row(HOSTILE, ArmRole::Etui, cells)],
            }],
            charts: [ChartKind::Growth, ChartKind::Bars, ChartKind::Stacked]
                .map(chart)
                .to_vec(),
            verdict: Verdict {
                shown: FindingStatus::Yes,
                sentence: words(),
                evidence: words(),
                advice: vec![Advice {
                    gain: words(),
                    how: words(),
                    measured: words(),
                    ..advice(true, HOSTILE)
                }],
                notes: vec![words()],
            },
        },
    );
    of.not_run = vec![not_run(HOSTILE, HOSTILE)];
    of.failed = vec![(words(), words(), words())];
    of.stacks = BTreeMap::from([(words(), BTreeMap::from([(words(), words())]))]);
    of.parameters = BTreeMap::from([(words(), vec![1])]);
    Report {
        header: RunHeader {
            started: words(),
            etui: words(),
            sqlite: words(),
            kernel: words(),
            system: words(),
            processor: words(),
            tools: BTreeMap::from([(words(), words())]),
            ..RunHeader::default()
        },
        sections: vec![of],
    }
}
