//! The declared report of `media-sync`.

use super::{
    ALL, AS_FOUND, BUFFER, COALESCE, DECODING, ENOUGH, ETUI, ETUI_REDO, FORMULA, GROWTH, LIMITS,
    LOGGED, PAGE_SIZE, PAGEWISE, REDO, REDO_BY_ITSELF, WAL, limit_arm, work_name,
};
use crate::spec::{
    AdviceSpec, ChartSpec, Conclusion, Measure, Per, ReportSpec, TableSpec, Threshold,
};
use crate::{GroupKey, Results, stacks};

/// A mitigation shows if it leaves less than this part of its counter.
const LESS: f64 = 0.999;
/// Written bytes of the payload at most: thumbnails that are given, and made by the scan.
const MAX_GIVEN: f64 = 1.15;
const MAX_DECODED: f64 = 1.4;

fn per_batch(title: &str, key: &str) -> Measure {
    Measure::new(title, key).per(Per::Size)
}

fn rewritten_pages() -> Measure {
    per_batch("pages written twice", "sync/rewritten_pages")
}

fn database_resized() -> Measure {
    per_batch("database resized", "sync/database_size_changes")
}

fn journal_resized() -> Measure {
    per_batch("journal resized", "sync/journal_size_changes")
}

/// Bytes that were handed to the kernel, checkpoints included, of the payload.
fn written_of_payload() -> Measure {
    let key = "sync/called_write_bytes + checkpoint/called_write_bytes";
    Measure::new("written of the payload", key).per(Per::Measure("sync/payload_bytes"))
}

/// Of those, bytes written to the database and its logs; the rest goes to temporary files.
fn lasting_of_payload() -> Measure {
    let key = "sync/database_write_bytes + sync/wal_write_bytes + sync/redo_write_bytes \
               + sync/journal_write_bytes + checkpoint/database_write_bytes \
               + checkpoint/wal_write_bytes + checkpoint/redo_write_bytes";
    Measure::new("written to lasting files, of the payload", key)
        .per(Per::Measure("sync/payload_bytes"))
}

/// Measures of the media library beside SQLite.
fn library_measures() -> Vec<Measure> {
    vec![
        per_batch("time", "sync/wall_ns"),
        per_batch("processor time", "sync/cpu_ns"),
        per_batch("write calls", "sync/write_calls"),
        written_of_payload(),
        lasting_of_payload(),
        per_batch("flushes", "sync/flush_calls"),
    ]
}

/// Measures that every file system has.
fn file_measures() -> Vec<Measure> {
    vec![
        per_batch("time", "sync/wall_ns"),
        per_batch("time of its commit", "commit/wall_ns"),
        rewritten_pages(),
        database_resized(),
        journal_resized(),
        per_batch("writes out of order", "sync/database_out_of_order"),
        per_batch("write calls", "sync/write_calls"),
        per_batch("bytes written", "sync/called_write_bytes"),
        per_batch("flushes", "sync/flush_calls"),
        per_batch("block writes", "sync/block_writes"),
        per_batch("block bytes", "sync/block_write_bytes"),
        Measure::new("allocated at the end", "sync/allocated_bytes"),
    ]
}

/// Measures of a batch with the checkpoint that follows it, which a rollback journal has within
/// its commit.
fn log_measures() -> Vec<Measure> {
    let both = |title: &str, measure: &str| {
        per_batch(title, &format!("sync/{measure} + checkpoint/{measure}"))
    };
    let written = "sync/database_write_bytes + sync/journal_write_bytes \
                   + checkpoint/database_write_bytes + checkpoint/journal_write_bytes";
    vec![
        per_batch("up to the commit", "sync/wall_ns"),
        both("with the checkpoint", "wall_ns"),
        per_batch("write calls up to the commit", "sync/write_calls"),
        both("write calls", "write_calls"),
        per_batch("file bytes", written),
        Measure::new("of the payload", written).per(Per::Measure("sync/payload_bytes")),
        per_batch(
            "flushes",
            "sync/database_syncs + sync/journal_syncs + checkpoint/database_syncs \
             + checkpoint/journal_syncs",
        ),
        per_batch("block writes up to the commit", "sync/block_writes"),
        both("block writes", "block_writes"),
        both("block bytes", "block_write_bytes"),
    ]
}

/// Returns the arms whose checkpoint is a phase of its own; they have a table of their own.
fn log_arms() -> Vec<String> {
    let logs = [AS_FOUND, ALL, WAL, REDO, LOGGED, PAGEWISE, REDO_BY_ITSELF];
    logs.map(str::to_owned).to_vec()
}

/// Returns the arms whose batches end with the database file written.
fn journal_arms() -> Vec<String> {
    let limits = LIMITS.iter().map(|megabytes| limit_arm(*megabytes));
    let others = [
        AS_FOUND,
        FORMULA,
        ENOUGH,
        GROWTH,
        BUFFER,
        COALESCE,
        ALL,
        REDO_BY_ITSELF,
        ETUI,
        ETUI_REDO,
    ];
    limits.chain(others.map(str::to_owned)).collect()
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let main_work = work_name(PAGE_SIZE);
    let groups = results.groups();
    let main = groups
        .iter()
        .find(|group| group.stack == stacks::HERE && group.work == main_work);
    let mut tables = Vec::new();
    let of_stack = groups.iter().filter(|group| group.work == main_work);
    for group in of_stack {
        let place = match group.stack.as_str() {
            stacks::HERE => "here",
            stack => stack,
        };
        tables.push(
            TableSpec::new(
                format!("Each mitigation, 4 kB pages, {place}"),
                vec![group.clone()],
            )
            .caption(
                "For each batch of 60 tracks; ratios are to as found. Resized files and \
                 pages written twice are counted in SQLite's files; etui opens its files \
                 itself, so only its calls are counted. Its time includes a scan that reads \
                 the new files.",
            )
            .arms(journal_arms())
            .measures(file_measures())
            .base(AS_FOUND),
        );
        tables.push(
            TableSpec::new(
                format!("Journal and logs, with their checkpoints, {place}"),
                vec![group.clone()],
            )
            .caption(
                "For each batch: up to the commit, and with the checkpoint after it. A \
                 rollback journal has it within the commit. Ratios are to the bytes of \
                 pictures and metadata.",
            )
            .arms(log_arms())
            .measures(log_measures()),
        );
    }
    let decoding = groups.iter().find(|group| group.work == DECODING);
    let library_arms = [ALL, REDO_BY_ITSELF, ETUI, ETUI_REDO];
    tables.extend([
        TableSpec::new(
            "The media library, given the thumbnails",
            main.cloned().into_iter().collect(),
        )
        .caption(
            "For each batch of 60; ratios are to the study's cures. SQLite inserts rows; etui lists \
             all folders, reads the 60 new files, and stores records with their indexes, albums, \
             artists and the given thumbnails. Written: all bytes of write calls; etui's also those of \
             the close after the batches, which ends its log.",
        )
        .arms(library_arms)
        .measures(library_measures())
        .base(ALL),
        TableSpec::new(
            "The media library, making the thumbnails",
            decoding.cloned().into_iter().collect(),
        )
        .caption(
            "For each batch of 60. The time includes decoding 60 covers of 400x400 pixels and \
             encoding 120 thumbnails; the payload is thumbnails and texts of records, as stored.",
        )
        .measures(library_measures()),
    ]);
    let pages = page_sizes(results, &groups);
    let by_page_size = |title: &str, caption: &str, arms: &[&str], measures| {
        TableSpec::new(title.to_owned(), pages.clone())
            .caption(caption.to_owned())
            .arms(arms.iter().copied())
            .measures(measures)
            .base(AS_FOUND)
    };
    tables.extend([
        by_page_size(
            "By page size, here",
            "For each batch; ratios are to as found at the same page size.",
            &[AS_FOUND, &limit_arm(8), ALL],
            file_measures(),
        ),
        by_page_size(
            "The journal's resting size",
            "Each change of the journal's size allocates or frees blocks. The study's formula \
             gives 64 kB, as found, up to 4 kB pages.",
            &[AS_FOUND, FORMULA, ENOUGH],
            vec![
                Measure::new("longest journal", "sync/journal_peak_bytes").informative(),
                journal_resized(),
            ],
        ),
        by_page_size(
            "The read buffer: all tracks and pictures read back",
            "Reads that reach the file system, with 8 kB and with at least 4 pages. Up to 2 kB \
             pages both are equal.",
            &[AS_FOUND, BUFFER],
            vec![
                Measure::new("reads", "read/database_reads"),
                Measure::new("bytes", "read/database_read_bytes"),
                Measure::wall_time("time", "read"),
            ],
        ),
    ]);
    let chart = |title: &str, measure, y| ChartSpec {
        arms: journal_arms(),
        ..ChartSpec::bars(
            title.to_owned(),
            main.cloned().into_iter().collect(),
            vec![measure],
            y,
        )
    };
    let lessens = |claim: &str, arm: &str, measure| {
        Threshold::finding(claim)
            .of(main, arm, measure)
            .against_arm(AS_FOUND)
            .at_most(LESS)
    };
    let time = || per_batch("time", "sync/wall_ns");
    let with_checkpoint = || per_batch("time", "sync/wall_ns + checkpoint/wall_ns");
    let batch = |change: &str, measure: &Measure, after: &str| {
        AdviceSpec::new(change)
            .measured("A batch of 60 tracks with thumbnails, some 2 MB, in one transaction")
            .gain("a batch")
            .compare(main, measure, AS_FOUND, after)
            .counted(
                "flushes",
                main,
                &per_batch("flushes", "sync/flush_calls + checkpoint/flush_calls"),
            )
            .etui(main, REDO, with_checkpoint())
    };
    let advice = vec![
        batch(
            "give SQLite a page cache that holds a whole transaction",
            &time(),
            &limit_arm(8),
        )
        .how(
            "PRAGMA cache_size = -8192 where transactions write 2 MB; raise the soft heap limit \
             too if the program sets one",
        )
        .or_else("do not expect time from a larger page cache here"),
        batch(
            "write batches of pictures through SQLite's write-ahead log, not a rollback journal",
            &with_checkpoint(),
            WAL,
        )
        .how("PRAGMA journal_mode = WAL; the time includes writing the log back")
        .or_else("leave the journal mode of large batches as it is"),
        batch(
            "where a rollback journal must stay, let it keep its length, and the database grow in steps",
            &time(),
            ALL,
        )
        .how(
            "PRAGMA journal_mode = PERSIST with PRAGMA journal_size_limit at the longest journal; \
             SQLITE_FCNTL_CHUNK_SIZE of 1 MB; a larger cache as above",
        )
        .or_else("leave the growth of the journal and the database as it is"),
    ];
    ReportSpec {
        tables,
        advice,
        charts: vec![
            chart(
                "Time of a batch, 4 kB pages, here",
                time(),
                "time of a batch",
            ),
            chart(
                "Pages written twice before a commit",
                rewritten_pages(),
                "pages in a batch",
            ),
        ],
        thresholds: vec![
            lessens(
                "pages written twice with 8 MB of cache",
                &limit_arm(8),
                rewritten_pages(),
            ),
            lessens(
                "resizes of a journal that is never cut",
                ENOUGH,
                journal_resized(),
            ),
            lessens(
                "resizes of a database that grows in steps",
                GROWTH,
                database_resized(),
            ),
            lessens(
                "writes to the database, consolidated",
                COALESCE,
                per_batch("writes", "sync/database_writes"),
            ),
            lessens(
                "reads with a buffer of 4 pages",
                BUFFER,
                Measure::new("reads", "read/database_reads"),
            ),
            Threshold::target("time of a batch with 8 MB of cache")
                .of(main, limit_arm(8), time())
                .against_arm(AS_FOUND)
                .published("0.80"),
            Threshold::target("time with all mitigations")
                .of(main, ALL, time())
                .against_arm(AS_FOUND),
            Threshold::target("time through etui-vfs")
                .of(main, REDO, time())
                .against_arm(AS_FOUND),
            Threshold::target("time of the media library, against the study's cures")
                .of(main, ETUI, time())
                .against_arm(ALL)
                .at_most(1.0),
            Threshold::target("time of the media library on etui-vfs, against the study's cures")
                .of(main, ETUI_REDO, time())
                .against_arm(ALL)
                .at_most(1.0),
            Threshold::target("written of the payload, thumbnails given, on etui-vfs")
                .of(main, ETUI_REDO, written_of_payload())
                .at_most(MAX_GIVEN),
            Threshold::target("written of the payload, covers decoded, on etui-vfs")
                .of(decoding, ETUI_REDO, written_of_payload())
                .at_most(MAX_DECODED),
        ],
        conclusion: Conclusion {
            yes: "A small cache, a journal cut after every batch and growth page by page still \
                  cost writes, and each mitigation saves them.",
            partly: "Some of the study's mitigations still save writes.",
            no: "None of the study's mitigations saves writes any more.",
        },
        etui: Some(ETUI),
        ..ReportSpec::default()
    }
}

/// Returns the groups on the current file system, by rising page size.
fn page_sizes(results: &Results, groups: &[GroupKey]) -> Vec<GroupKey> {
    let here = groups.iter().filter(|group| group.stack == stacks::HERE);
    let mut sized: Vec<(u64, GroupKey)> = here
        .filter_map(|group| {
            let size = results.setting(group, AS_FOUND, "page_size")?.as_u64()?;
            Some((size, group.clone()))
        })
        .collect();
    sized.sort_by_key(|(size, _)| *size);
    sized.into_iter().map(|(_, group)| group).collect()
}
