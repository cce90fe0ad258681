//! The declared report of `datebook`.

use strum::VariantArray;

use super::idle::{CLOSE_AGAIN, OPEN_AGAIN};
use super::{CURED, ETUI, FOUND, NAME, NATIVE, PLAIN, StudyTest, VIEW};
use crate::report::numbers::format_whole;
use crate::spec::{
    AdviceSpec, ChartSpec, Conclusion, Measure, Per, PublishedRow, ReportSpec, TableSpec, Threshold,
};
use crate::{GroupKey, Results, stacks};

/// Upper bound of opening and of closing an unchanged date book, nanoseconds.
const MAX_OPEN_NS: f64 = 0.4e6;
/// Upper bound of reading all records through the view, as a ratio to reading them natively.
const MAX_VIEW_RATIO: f64 = 1.5;
/// The study's tick, 1/60 s, in nanoseconds.
const TICK_NS: f64 = 1e9 / 60.0;

/// The study's devices: ticks to open, to process and to close, in the order of
/// [`StudyTest`]. The study has no figure for a sync after each record on the Tungsten C.
const PUBLISHED_TICKS: [(&str, &[f64]); 3] = [
    (
        "Tungsten C, native",
        &[
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 12.0,
            0.0, 0.0, 12.0, 0.0,
        ],
    ),
    (
        "Tungsten T5, native",
        &[
            0.0, 0.0, 48.0, 0.0, 0.0, 34.0, 0.0, 0.0, 37.0, 0.0, 0.0, 56.0, 0.0, 8.0, 29.0, 0.0,
            14.0, 48.0, 0.0, 14.0, 50.0, 0.0, 129_083.0, 4.0,
        ],
    ),
    (
        "Tungsten T5, layer",
        &[
            11.0, 0.0, 117.0, 10.0, 1.0, 67.0, 10.0, 0.0, 90.0, 10.0, 1.0, 121.0, 11.0, 3_168.0,
            7_241.0, 11.0, 3_030.0, 7_333.0, 10.0, 2_967.0, 23_442.0, 11.0, 234_125.0, 26_641.0,
        ],
    ),
];

/// Returns the study's rows, in nanoseconds.
fn published_rows() -> Vec<PublishedRow> {
    let rows = PUBLISHED_TICKS.iter().flat_map(|(device, tests)| {
        let tests = StudyTest::VARIANTS.iter().zip(tests.chunks(3));
        tests.map(move |(test, ticks)| {
            let figures = ticks.iter().copied().chain([ticks.iter().sum()]);
            PublishedRow {
                label: format!("{}: {device}", test.name()),
                figures: figures.map(|ticks| ticks * TICK_NS).collect(),
            }
        })
    });
    rows.collect()
}

fn total_time() -> Measure {
    Measure::wall_time("all", "total")
}

fn close_time() -> Measure {
    Measure::wall_time("close", "close")
}

/// Flushes until the changes are durable.
fn flush_count() -> Measure {
    Measure::new("flushes", "process/flush_calls + close/flush_calls")
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let base_size = base_size(results);
    let tests: Vec<&str> = StudyTest::VARIANTS.iter().map(|test| test.name()).collect();
    let of_stack = |stack| {
        let mut groups = results.select_groups(&tests, &[stack]);
        groups.retain(|group| group.size == base_size);
        groups
    };
    let sizes = |test: StudyTest| results.select_groups(&[test.name()], &[stacks::HERE]);
    let group = |test: StudyTest| {
        of_stack(stacks::HERE)
            .into_iter()
            .find(|g| g.work == test.name())
    };
    let (nothing, query_all) = (sizes(StudyTest::Nothing), group(StudyTest::QueryAll));
    let (dirty, each) = (group(StudyTest::GetAllDirty), group(StudyTest::SyncEach));
    let phases = || {
        vec![
            Measure::wall_time("open", "open"),
            Measure::wall_time("process", "process"),
            close_time(),
            total_time(),
        ]
    };
    let compared = |stack, place: &str| {
        TableSpec::new(format!("The eight tests on {place}"), of_stack(stack))
            .caption(
                "Opening, processing and closing; ratios are to plain SQLite in the same phase.",
            )
            .arms([FOUND, CURED, PLAIN].into_iter().chain(ETUI))
            .measures(phases())
            .base(PLAIN)
    };
    let chart = |title: &str, test, measure| {
        ChartSpec::growth(title.to_owned(), sizes(test), measure, "records")
    };
    let growth = match (nothing.first(), nothing.last()) {
        (Some(small), Some(large)) => large.size as f64 / small.size.max(1) as f64,
        _ => 1.0,
    };
    // A close grows if its time rises at least by a tenth of proportional growth.
    let growing = (growth / 10.0).max(2.0);
    let close_grows = |claim: &str, arm: &str| {
        Threshold::finding(claim)
            .of(nothing.last(), arm, close_time())
            .against_figure(nothing.first(), arm, close_time())
    };
    let unchanged = |claim: &str, measure| {
        Threshold::target(claim)
            .of(nothing.last(), VIEW, measure)
            .at_most(MAX_OPEN_NS)
    };
    let records = format_whole(base_size);
    let advice = vec![
        AdviceSpec::new(
            "read records in one pass over the database, not through a layer that finds them by \
             position",
        )
        .how(
            "step through one prepared statement ordered by a key; LIMIT 1 OFFSET n walks over n \
             records each time",
        )
        .measured(format!("Opening, reading all {records} records, closing"))
        .gain("reading all records")
        .compare(query_all.as_ref(), &total_time(), FOUND, PLAIN)
        .etui(query_all.as_ref(), VIEW, total_time()),
        AdviceSpec::new("make changes durable together, not one by one")
            .how("one transaction around the changes that belong together")
            .or_else("flush each change if that is simpler")
            .measured("One changed record: a flush for each, against all in one transaction")
            .gain("a changed record")
            .before(each.as_ref(), PLAIN, Measure::wall_time("sync", "sync"))
            .after(dirty.as_ref(), PLAIN, total_time().per(Per::Size))
            .etui(dirty.as_ref(), VIEW, total_time().per(Per::Size)),
    ];
    ReportSpec {
        advice,
        tables: vec![
            TableSpec::new("Each test as a whole", of_stack(stacks::HERE))
                .caption(
                    "Open, process and close together on the current directory's file \
                     system; ratios are to the layer as found. The test with a sync after \
                     each change covers the number of records that `syncs` sets.",
                )
                .measures(vec![total_time()])
                .by_group()
                .base(FOUND),
            TableSpec::new(
                "The study's own figures, and etui's",
                of_stack(stacks::HERE),
            )
            .caption(
                "The study: 6,800 records on devices of 2005, in ticks of 1/60 s (0 is \
                 less than one). The two are shown together, not compared.",
            )
            .arms(ETUI)
            .measures(phases())
            .published(published_rows()),
            TableSpec::new("Opening, and closing with nothing changed", nothing.clone())
                .caption(
                    "By the number of records: once after a copy of the file and a flush, \
                     with cold processor caches; and the median of up to 25 repetitions \
                     right after that. Ratios are to plain SQLite with one table.",
                )
                .measures(vec![
                    Measure::wall_time("open, cold", "open"),
                    Measure::new("open again", OPEN_AGAIN),
                    Measure::wall_time("close, cold", "close"),
                    Measure::new("close again", CLOSE_AGAIN),
                    Measure::new("instructions to open", "open/instructions"),
                    Measure::new("system calls to open", "open/calls"),
                ])
                .base(PLAIN)
                .size_unit("records"),
            compared(stacks::HERE, "the current directory's file system"),
            compared(stacks::RAM, "a RAM disk"),
            TableSpec::new(
                "Cost of a sync",
                [stacks::HERE, stacks::RAM]
                    .iter()
                    .flat_map(|stack| of_stack(stack))
                    .filter(|group| group.work == StudyTest::SyncEach.name())
                    .collect(),
            )
            .caption(
                "One changed record, synced; a close that makes all changed records \
                 durable is in the table of the eight tests.",
            )
            .measures(vec![
                Measure::wall_time("change and sync one", "sync"),
                Measure::new("flushes a sync", "process/flush_calls + close/flush_calls")
                    .per(Per::Setting("syncs")),
            ]),
            TableSpec::new(
                "Work counted",
                [group(StudyTest::Nothing), query_all.clone()]
                    .into_iter()
                    .flatten()
                    .collect(),
            )
            .caption(
                "Steps of SQLite's virtual machine and records converted between the \
                 two forms; they repeat exactly.",
            )
            .measures(vec![
                Measure::new("steps in use", "process/vm_steps"),
                Measure::new("steps at close", "close/vm_steps"),
                Measure::new("converted at close", "close/conversions"),
            ]),
        ],
        charts: vec![
            chart("Closing, nothing changed", StudyTest::Nothing, close_time()),
            chart(
                "Opening, reading all records, closing",
                StudyTest::QueryAll,
                total_time(),
            ),
            chart(
                "Closing, all records changed",
                StudyTest::GetAllDirty,
                close_time(),
            ),
        ],
        thresholds: vec![
            close_grows("growth of an unchanged close with the records", FOUND).at_least(growing),
            Threshold::finding("time to read all records through the layer, against plain SQLite")
                .of(query_all.as_ref(), FOUND, total_time())
                .against_arm(PLAIN)
                .at_least(100.0)
                .published("282 times"),
            close_grows("growth of a close with all mitigations", CURED).at_most(growing),
            Threshold::finding("one close that makes all changes durable, in single syncs")
                .of(dirty.as_ref(), PLAIN, close_time())
                .against_figure(each.as_ref(), PLAIN, Measure::wall_time("sync", "sync"))
                .at_most(base_size as f64 / 10.0)
                .published("three"),
            Threshold::target("reading all records through the view, against natively")
                .of(query_all.as_ref(), VIEW, total_time())
                .against_arm(NATIVE)
                .at_most(MAX_VIEW_RATIO),
            unchanged(
                "opening the largest date book",
                Measure::new("open", OPEN_AGAIN),
            ),
            unchanged("closing it unchanged", Measure::new("close", CLOSE_AGAIN)),
            // The log's header, its name and the commit.
            Threshold::target("flushes that make all changes of a session durable")
                .of(dirty.as_ref(), VIEW, flush_count())
                .at_most(3.0),
        ],
        conclusion: Conclusion {
            yes: "A compatibility layer that counts off positions and re-reads the list at every \
                  close still makes a date book hundreds of times slower.",
            partly: "The layer is still slower than plain SQLite, but by less than the study \
                     found.",
            no: "The layer no longer costs much.",
        },
        notes: vec![
            "The layer is a model: the original was never published.".to_owned(),
            "On the study's device every close walked over all records of its file system; SQLite \
             has no such walk, so only the layer shows it here."
                .to_owned(),
        ],
        etui: Some(VIEW),
        ..ReportSpec::default()
    }
}

/// Returns the size of the full set of tests.
fn base_size(results: &Results) -> u64 {
    let parameters = results.header.experiments.get(NAME);
    let size = parameters.and_then(|parameters| parameters.get("records")?.first().copied());
    let first = || results.groups().first().map(|group: &GroupKey| group.size);
    size.or_else(first).unwrap_or(0)
}
