//! The declared report of `media-scan`.

use super::super::report::bounded_report;
use super::WORK;
use etui_lab::Unit;
use etui_lab::stacks::HERE;
use etui_lab::{GroupKey, Results};
use etui_lab::{Measure, Per, ReportSpec, TableSpec, Threshold};

/// The arms' names.
pub const ETUI: &str = "etui, with thumbnails";
pub const MPD: &str = "MPD";
pub const BEETS: &str = "beets";

/// Bounds of etui: processor time of a track in a first scan, of it in the thread that writes, of a
/// file in a scan without changes; nanoseconds.
const MAX_TRACK: f64 = 1e6;
const MAX_WRITER: f64 = 60e3;
const MAX_FILE: f64 = 8e3;
/// Bytes written after the root was renamed.
const MAX_RENAMED: f64 = 65_536.0;
/// Peak of the resident memory, bytes.
const MAX_MEMORY: f64 = 120e6;
/// Time of the first 50 hits, and of a page of 60 albums with thumbnails; nanoseconds.
const MAX_FIRST_HITS: f64 = 300e3;
const MAX_PAGE: f64 = 250e3;

fn processor_time(phase: &str) -> Measure {
    Measure::new("processor time", format!("{phase}/processor_ns"))
}

/// A time of each file of the collection.
fn per_file(title: &str, key: &str) -> Measure {
    Measure {
        unit: Unit::Nanoseconds,
        ..Measure::new(title, key).per(Per::Measure("first/files"))
    }
}

fn files_opened(phase: &str) -> Measure {
    Measure::new("media files opened", format!("{phase}/media_open_calls"))
}

fn written(phase: &str) -> Measure {
    Measure::new("bytes written", format!("{phase}/written_bytes"))
}

fn flushes(phase: &str) -> Measure {
    Measure::new("flushes", format!("{phase}/flush_calls"))
}

fn decoded_again() -> Measure {
    Measure::new("decoded, of different covers", "first/covers_decoded")
        .per(Per::Measure("first/distinct_covers"))
}

fn peak_memory() -> Measure {
    Measure::new("peak memory", "first/peak_rss_bytes")
}

fn scan_measures(phase: &str) -> Vec<Measure> {
    vec![
        processor_time(phase),
        Measure::wall_time("time", phase),
        files_opened(phase),
        written(phase),
        flushes(phase),
    ]
}

fn scan_tables(groups: &[GroupKey]) -> Vec<TableSpec> {
    let table = |title: &str, caption: &str, measures| {
        TableSpec::new(title, groups.to_vec())
            .caption(caption)
            .measures(measures)
            .base(ETUI)
            .size_unit("tracks")
    };
    let scan = |title, caption, phase| table(title, caption, scan_measures(phase));
    let mut first = scan_measures("first");
    first.insert(1, processor_time("first").per(Per::Size));
    if let Some(of_each) = first.get_mut(1) {
        of_each.title = "of a track".to_owned();
    }
    first.extend([
        peak_memory(),
        Measure::new("library", "first/library_bytes"),
    ]);
    vec![
        table(
            "First scan",
            "Processor time is that of all threads and processes of the product, user and system. \
             MPD and beets make no thumbnails, etui two of each cover. Files are opened, written and flushed as counted by strace in a \
             pass of its own. Memory is the peak of resident memory of the product's process; etui's \
             contains the laboratory.",
            first,
        ),
        scan(
            "Scan with nothing changed",
            "The same files again.",
            "again",
        ),
        scan(
            "Scan after the collection's folder was renamed",
            "It was renamed while the product did not run. MPD and beets are configured with the \
             new path.",
            "renamed",
        ),
        scan(
            "Scan with 1 % of the files changed",
            "One file of a hundred has another title.",
            "changed",
        ),
        table(
            "A word in the title, all hits",
            "Median of 20. beets is started for each.",
            vec![
                Measure::wall_time("time", "search"),
                Measure::new("hits", "search/hits").informative(),
            ],
        ),
        table(
            "A word in the title, the first 50 hits in list order",
            "Median of 20. MPD and beets have no pages, and give all hits.",
            vec![
                Measure::wall_time("time", "search_first"),
                Measure::new("hits", "search_first/hits").informative(),
            ],
        ),
        table(
            "A page of 60 albums",
            "Median of 20. etui's has a thumbnail for each album; MPD and beets have no pages, and \
             list all albums without pictures.",
            vec![
                Measure::wall_time("time", "page"),
                Measure::new("albums", "page/albums").informative(),
            ],
        ),
        table(
            "Where etui's first scan is",
            "The writer is the thread that lists the folders, compares, and writes all transactions; \
             its processor time contains what the store costs.",
            vec![
                Measure::new("writer, of a track", "first/writer_ns").per(Per::Size),
                Measure::new("covers stored", "first/covers_stored").informative(),
                decoded_again(),
            ],
        )
        .arms([ETUI]),
    ]
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let groups = results.select_groups(&[WORK], &[HERE]);
    let largest = groups.last();
    let target = |claim: &str, measure| Threshold::target(claim).of(largest, ETUI, measure);
    let bounds = vec![
        target(
            "processor time of a track, first scan",
            processor_time("first").per(Per::Size),
        )
        .at_most(MAX_TRACK),
        target("processor time of a first scan", processor_time("first"))
            .against_arm(MPD)
            .at_most(1.0),
        target(
            "processor time of the writer for each track",
            Measure::new("writer", "first/writer_ns").per(Per::Size),
        )
        .at_most(MAX_WRITER),
        target("decoded covers, of different ones", decoded_again()).at_most(1.0),
        target("peak memory of a first scan", peak_memory()).at_most(MAX_MEMORY),
        target(
            "processor time of a file, nothing changed",
            per_file("of a file", "again/processor_ns"),
        )
        .at_most(MAX_FILE),
        target("files opened, nothing changed", files_opened("again")).at_most(0.0),
        target("bytes written, nothing changed", written("again")).at_most(0.0),
        target("flushes, nothing changed", flushes("again")).at_most(0.0),
        target("files opened, folder renamed", files_opened("renamed")).at_most(0.0),
        target("bytes written, folder renamed", written("renamed")).at_most(MAX_RENAMED),
        target(
            "the first 50 hits of a word",
            Measure::wall_time("time", "search_first"),
        )
        .at_most(MAX_FIRST_HITS),
        target(
            "a page of 60 albums with thumbnails",
            Measure::wall_time("time", "page"),
        )
        .at_most(MAX_PAGE),
    ];
    bounded_report(ETUI, scan_tables(&groups), Vec::new(), bounds)
}
