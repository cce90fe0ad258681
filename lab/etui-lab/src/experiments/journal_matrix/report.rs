//! The declared report of `journal-matrix`.

use strum::VariantArray;

use super::contact::{ETUI, PLAIN_DELETE, PLAIN_WAL};
use super::device_time::device_times;
use super::redo::FLOOR;
use super::reference::compare_reference;
use super::{
    CONTACT, CURED, DELETE, FOUND, GUESTS, INSERT, REDO, SLOW, STACKS, THUMBNAILS, UPDATE,
};
use crate::measure::layout::Purpose;
use crate::spec::{
    AdviceSpec, ChartSpec, Conclusion, Measure, Per, ReportSpec, TableSpec, Threshold,
};
use crate::{GroupKey, Results, stacks};

pub(super) const WRITES: &str = "work/block_real_writes";
pub(super) const BYTES: &str = "work/block_real_write_bytes";
pub(super) const FLUSHES: &str = "work/block_empty_flushes";

/// The study's file system: on a loop image, and in a virtual machine.
const EXT4: [&str; 2] = ["ext4", "vm-ext4"];
/// At least this many times the study's inserts a second, through etui-vfs on each file system.
const MIN_REDO_SPEEDUP: f64 = 8.0;

/// Least part of an insert's bytes that are the file system's own for the finding to show.
const MIN_JOURNAL_SHARE: f64 = 1.0 / 3.0;
/// Most of an insert's bytes that the mitigations may leave.
const MAX_BYTES_LEFT: f64 = 0.5;
/// Most of an insert's time that the mitigations may leave.
const MAX_TIME_LEFT: f64 = 1.0 / 1.5;

fn per_transaction(title: &str, key: &str) -> Measure {
    Measure::new(title, key).per(Per::Size)
}

fn work_time() -> Measure {
    Measure::wall_time("time", "work")
}

fn bytes_of(purpose: Purpose) -> Measure {
    per_transaction(
        purpose.label(),
        &format!("work/block_{}_bytes", purpose.name()),
    )
}

/// Returns the name of a work in titles.
fn work_title(work: &str) -> &str {
    match work {
        INSERT => "Inserts of 100 bytes",
        UPDATE => "Updates of 100 bytes",
        DELETE => "Deletions of 100 bytes",
        THUMBNAILS => "Batches of 60 thumbnails",
        CONTACT => "Contacts",
        SLOW => "Inserts of 100 bytes, each flush 3 ms longer",
        other => other,
    }
}

/// Block I/O and rate of a work, by file system.
fn work_tables(results: &Results, work: &str) -> [TableSpec; 4] {
    let table = |what: &str, caption: &str, measure| {
        TableSpec::new(
            format!("{}: {what}", work_title(work)),
            results.select_groups(&[work], &STACKS),
        )
        .caption(caption.to_owned())
        .measures(vec![measure])
        .by_group()
        .base(Some(match work {
            CONTACT => PLAIN_DELETE,
            _ => FOUND,
        }))
    };
    [
        table(
            "bytes written to the device, each",
            "",
            per_transaction("bytes", BYTES),
        ),
        table("flushes, each", "", per_transaction("flushes", FLUSHES)),
        table(
            "writes with data, each",
            "",
            per_transaction("writes", WRITES),
        ),
        table(
            "per second",
            "Durable when done, one after the other. The checkpoint of a log is not included, \
             except for contacts.",
            work_time().per(Per::Second),
        ),
    ]
}

fn purpose_measures() -> Vec<Measure> {
    Purpose::VARIANTS.iter().copied().map(bytes_of).collect()
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let group = |work: &str, stack: &str| -> Option<GroupKey> {
        results.select_groups(&[work], &[stack]).into_iter().next()
    };
    let one = |group: Option<GroupKey>| group.into_iter().collect::<Vec<_>>();
    let on_ext4 = |work: &str| EXT4.iter().find_map(|stack| group(work, stack));
    let ext4 = on_ext4(INSERT);
    // Without devices of its own the laboratory has the clock alone.
    let timed = ext4.clone().or_else(|| group(INSERT, stacks::HERE));
    let mut tables = work_tables(results, INSERT).to_vec();
    tables.push(
        TableSpec::new("Purpose of an insert's bytes, ext4", one(ext4.clone()))
            .measures(purpose_measures()),
    );
    for work in [UPDATE, DELETE, THUMBNAILS, CONTACT] {
        tables.extend(work_tables(results, work));
    }
    let works = [INSERT, UPDATE, DELETE, THUMBNAILS, CONTACT];
    let counted = works.into_iter().filter_map(|work| {
        let others = [stacks::HERE, stacks::RAM];
        on_ext4(work).or_else(|| others.into_iter().find_map(|stack| group(work, stack)))
    });
    tables.push(
        TableSpec::new("Counters of etui-vfs, each", counted.collect())
            .caption(
                "On ext4 where that was run. A page is compared with its previous version and \
                 the difference is logged; a page without one is logged whole. The first epoch \
                 of the work has a flush of its own. Contacts are checkpointed by SQLite within \
                 the work; all else after it.",
            )
            .measures(vec![
                per_transaction("pages compared", "work/vfs_pages_compared"),
                per_transaction("pages whole", "work/vfs_pages_whole"),
                per_transaction("logged", "work/vfs_logged_bytes"),
                per_transaction("blocks of 4,096 bytes", "work/vfs_blocks"),
                per_transaction("log writes", "work/vfs_log_writes"),
                per_transaction("log flushes", "work/vfs_log_flushes"),
                per_transaction("checkpoints", "work/vfs_checkpoints"),
                per_transaction("database bytes", "work/vfs_database_write_bytes"),
                per_transaction(
                    "then checkpoint bytes",
                    "checkpoint/vfs_database_write_bytes",
                ),
            ]),
    );
    tables.push(
        TableSpec::new(
            work_title(SLOW).to_owned(),
            [stacks::RAM, stacks::HERE]
                .into_iter()
                .filter_map(|stack| group(SLOW, stack))
                .collect(),
        )
        .caption("Ratios are to writing one block in place and flushing it as slowly.")
        .measures(vec![
            work_time().per(Per::Size),
            work_time().per(Per::Second),
            per_transaction("flushes, each", "work/asked_flushes"),
        ])
        .base(FLOOR),
    );
    let flush_calls = |call: &str| {
        let files = ["database", "journal", "wal", "redo", "directory"];
        let calls = files.map(|file| format!("work/{file}_{call}_calls"));
        per_transaction(call, &calls.join(" + "))
    };
    tables.push(
        TableSpec::new("System calls of an insert", one(group(INSERT, stacks::RAM)))
            .caption("Counted under strace; they do not depend on the file system.")
            .measures(vec![
                per_transaction("database writes", "work/database_write_calls"),
                per_transaction("journal writes", "work/journal_write_calls"),
                per_transaction("log writes", "work/wal_write_calls"),
                per_transaction("redo log writes", "work/redo_write_calls"),
                flush_calls("fdatasync"),
                flush_calls("fsync"),
                per_transaction("unlink", "work/journal_unlink_calls"),
                per_transaction("all calls", "work/calls"),
            ]),
    );
    let charts = STACKS.iter().map(|stack| {
        ChartSpec::bars(
            format!("Bytes written by one insert of 100 bytes, {stack}"),
            one(group(INSERT, stack)),
            purpose_measures(),
            "bytes written to the device",
        )
    });
    let contact = on_ext4(CONTACT).or_else(|| group(CONTACT, stacks::HERE));
    let share = Measure::new(
        "share",
        "work/block_fs_journal_bytes + work/block_metadata_bytes",
    )
    .per(Per::Measure(BYTES));
    let (mut derived_tables, notes) = compare_reference(results);
    derived_tables.extend(device_times(results));
    let place = timed
        .as_ref()
        .map_or("", |group| match group.stack.as_str() {
            stacks::HERE => "the current directory's file system",
            stack => stack,
        });
    let files = ["database", "journal", "wal", "redo", "directory"];
    let flush_calls =
        files.map(|file| format!("work/{file}_fdatasync_calls + work/{file}_fsync_calls"));
    let flush_calls = per_transaction("flushes", &flush_calls.join(" + "));
    let rate = || work_time().per(Per::Second);
    let advice = AdviceSpec::new("use SQLite's write-ahead log and keep its file")
        .how(
            "PRAGMA journal_mode = WAL, and a connection that stays open or SQLITE_FCNTL_PERSIST_WAL, \
             so that the log is written over and does not grow again",
        )
        .or_else("leave the journal mode as it is")
        .measured("Inserts of 100 bytes, each durable when it returns")
        .gain(format!("inserts a second on {place}"))
        .compare(timed.as_ref(), &rate(), FOUND, CURED)
        .counted(
            "flush calls for each insert",
            group(INSERT, stacks::RAM).as_ref(),
            &flush_calls,
        )
        .etui(timed.as_ref(), REDO, rate());
    let speedups = GUESTS.iter().map(|stack| {
        let claim = format!("inserts a second through etui-vfs, {stack}");
        Threshold::target(claim)
            .of(
                group(INSERT, stack).as_ref(),
                REDO,
                work_time().per(Per::Second),
            )
            .against_arm(FOUND)
            .at_least(MIN_REDO_SPEEDUP)
    });
    let mut thresholds = study_thresholds(timed.as_ref(), ext4.as_ref(), contact.as_ref(), share);
    thresholds.extend(speedups);
    ReportSpec {
        tables,
        advice: vec![advice],
        derived_tables,
        charts: charts.collect(),
        thresholds,
        conclusion: Conclusion {
            yes: "A small transaction still writes many times its size, most of it for the file \
                  system's own journal, and the study's mitigations still remove most of that.",
            partly: "The study's mitigations still make small transactions cheaper, but not by \
                     every measure.",
            no: "The study's mitigations no longer make small transactions cheaper.",
        },
        notes,
        etui: Some(ETUI),
    }
}

/// Returns the study's findings, and etui's goals where the study's work was done.
fn study_thresholds(
    timed: Option<&GroupKey>,
    ext4: Option<&GroupKey>,
    contact: Option<&GroupKey>,
    share: Measure,
) -> Vec<Threshold> {
    vec![
        Threshold::finding("bytes of an insert with all mitigations")
            .of(ext4, CURED, per_transaction("bytes", BYTES))
            .against_arm(FOUND)
            .at_most(MAX_BYTES_LEFT),
        Threshold::finding("its time")
            .of(timed, CURED, work_time())
            .against_arm(FOUND)
            .at_most(MAX_TIME_LEFT)
            .published("0.43"),
        Threshold::finding(
            "bytes of an insert that are the file system's own journal and metadata",
        )
        .of(ext4, FOUND, share)
        .at_least(MIN_JOURNAL_SHARE),
        Threshold::target("bytes of an insert through etui-vfs, against a recycled WAL")
            .of(ext4, REDO, per_transaction("bytes", BYTES))
            .against_arm(CURED)
            .at_most(1.0),
        Threshold::target("its time")
            .of(timed, REDO, work_time())
            .against_arm(CURED)
            .at_most(1.0),
        Threshold::target("time of etui for a contact, against plain SQLite with ready rows")
            .of(contact, ETUI, work_time())
            .against_arm(PLAIN_WAL),
    ]
}
