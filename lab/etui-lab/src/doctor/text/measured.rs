//! The measurements and the advice in words.

use super::{bytes, counted};
use crate::Unit;
use crate::doctor::capture::Observed;
use crate::doctor::examination::Examination;
use crate::doctor::indexes::ScanFinding;
use crate::doctor::measurement::{Advice, Measurement};
use crate::doctor::setup::JournalMode;
use crate::doctor::trial::{Trial, WORTHWHILE};
use crate::doctor::words::{Words, cut, kibibytes, printable};
use crate::doctor::workload::WorkloadSource;
use crate::report::numbers::{format_ratio, format_value, format_whole};

/// The width of the label before an advice's lines.
const LABEL: usize = 10;

pub(super) fn describe_measured(
    text: &mut Words,
    examination: &Examination,
    measured: &Measurement,
) {
    let found = &measured.found;
    let work = match &measured.workload.source {
        WorkloadSource::Recorded => " of the command".to_owned(),
        WorkloadSource::MadeUp { table } => {
            format!(", made up (each updates one row of {table}),")
        }
    };
    text.heading("Measured on copies");
    let place = &measured.location;
    text.paragraph(&printable(&format!(
        "{}{work} repeated on {} ({}), {} under each setup. As found ({}, synchronous {}, pages of {}, \
         cache {}): {} commits a second; {}.",
        counted(measured.workload.repeated, "transaction"),
        place.file_system,
        place.dir.display(),
        counted(measured.workload.rounds as u64, "time"),
        found.setup.journal_mode,
        found.setup.synchronous,
        kibibytes(found.setup.page_size),
        bytes(found.setup.cache_bytes()),
        rate(found.rate),
        describe_cost(found)
    )));
    if found.failed > 0 {
        text.paragraph(&printable(&format!(
            "{} statements could not be repeated: {}",
            format_whole(found.failed),
            found.first_failure.as_deref().unwrap_or_default()
        )));
    }
    if place.is_memory() {
        text.paragraph("The copies are in memory, where a flush costs nothing: trust the counts, not the times, \
             or give --scratch DIR on a disk.");
    } else if !place.same_as_database {
        text.paragraph(
            "The copies are on another file system than the database; --scratch DIR chooses.",
        );
    }
    if let Some(observed) = &examination.observed {
        warn_of_late_flushes(text, observed, found);
    }
    let (worthwhile, others): (Vec<&Advice>, Vec<&Advice>) =
        measured.advice.iter().partition(|advice| advice.worthwhile);
    let (mut worthwhile, after): (Vec<&Advice>, Vec<&Advice>) = worthwhile
        .into_iter()
        .partition(|advice| !advice.after_others);
    worthwhile.extend(after);
    let indexes = examination.scans.iter().any(|scan| scan.index.is_some());
    if worthwhile.is_empty() && !indexes {
        text.heading("Well configured");
        text.paragraph(&verdict_of_nothing(examination, measured));
    } else {
        text.heading("What to change");
    }
    for (n, advice) in worthwhile.iter().enumerate() {
        describe_advice(text, n + 1, advice, found);
    }
    describe_scans(text, &examination.scans, worthwhile.len());
    describe_combined(text, measured, worthwhile.len() + usize::from(indexes));
    if !others.is_empty() {
        text.heading("Tried, not worth it here");
        for advice in others {
            text.item(
                "-",
                &printable(&format!(
                    "{} ({}): {} the commits a second; {}{}",
                    advice.proposal.id,
                    cut(&advice.proposal.actions.join(" "), 60),
                    describe_ratio(&advice.trial),
                    describe_cost(&advice.trial),
                    if advice.trial.same_answer {
                        ""
                    } else {
                        "; it changed other rows"
                    }
                )),
            );
        }
    }
}

/// A program may have a VFS of its own that flushes later, or not at all.
fn warn_of_late_flushes(text: &mut Words, observed: &Observed, found: &Trial) {
    let late = observed.flushes_in_commits() * 2 < observed.commits;
    if late && observed.connections > 0 && found.io.flushes >= found.transactions {
        text.heading("A warning");
        text.paragraph(&format!(
            "The program's commits return before they are flushed ({} commits, {} flushes within them), though \
             synchronous is {}: it has a VFS of its own, or a library, that defers or drops flushes. A power cut \
             may then undo commits or damage the database. The copies were flushed as SQLite does it: compared with \
             the program itself, the gains below are smaller.",
            format_whole(observed.commits),
            format_whole(observed.flushes_in_commits()),
            found.setup.synchronous
        ));
    }
}

fn verdict_of_nothing(examination: &Examination, measured: &Measurement) -> String {
    let mode = match measured.found.setup.journal_mode {
        JournalMode::Wal => "WAL mode",
        _ => "this journal",
    };
    let statements = match &examination.observed {
        Some(observed) if observed.connections > 0 => {
            "; no statement scans a table that an index would save"
        }
        _ => "",
    };
    format!(
        "Nothing that was tried makes it 10 % faster: {mode}, pages of {}, a cache of {}{statements}.",
        kibibytes(measured.found.setup.page_size),
        bytes(measured.found.setup.cache_bytes())
    )
}

fn rate(rate: f64) -> String {
    format_value(rate, Unit::Count)
}

fn describe_cost(trial: &Trial) -> String {
    let each =
        |count: u64| format_value(count as f64 / trial.transactions.max(1) as f64, Unit::Count);
    format!(
        "each {} writes, {}, {} flushes",
        each(trial.io.writes),
        bytes(trial.io.bytes / trial.transactions.max(1)),
        each(trial.io.flushes)
    )
}

fn describe_ratio(trial: &Trial) -> String {
    let [low, high] = trial.ratio_range;
    format!(
        "{} ({} to {})",
        format_ratio(trial.ratio),
        format_ratio(low),
        format_ratio(high)
    )
}

fn describe_gain(trial: &Trial) -> String {
    format!(
        "{} the commits a second: from {} to {}; {}.",
        describe_ratio(trial),
        rate(trial.found_rate),
        rate(trial.rate),
        describe_cost(trial)
    )
}

fn describe_advice(text: &mut Words, number: usize, advice: &Advice, found: &Trial) {
    text.labelled(
        0,
        &format!("{number}."),
        3,
        &printable(&advice.proposal.cause),
    );
    let mut label = "Do:";
    for action in &advice.proposal.actions {
        text.line(&format!("   {label:LABEL$}{}", printable(action)));
        label = "";
    }
    let trial = &advice.trial;
    let mut gain = describe_gain(trial);
    if advice.after_others {
        gain = format!("after the other changes {gain}");
    }
    // Writes repeat exactly, times do not.
    let by_writes = trial.fewer_writes && trial.ratio < WORTHWHILE;
    if by_writes {
        gain = format!("fewer writes; the speed varies too much to tell: {gain}");
    }
    if trial.file_bytes + (1 << 20) < found.file_bytes {
        gain.push_str(&format!(
            " The file: {} to {}.",
            bytes(found.file_bytes),
            bytes(trial.file_bytes)
        ));
    }
    let label = match trial.ratio >= 1.0 || by_writes {
        true => "Brings:",
        false => "Costs:",
    };
    text.labelled(3, label, LABEL, &gain);
    if let Some(caution) = &advice.proposal.caution {
        text.labelled(3, "Note:", LABEL, caution);
    }
}

/// Describes indexes as advice, numbered after `number`; then the scans that no index saves.
pub(super) fn describe_scans(text: &mut Words, scans: &[ScanFinding], mut number: usize) {
    let cause = |scan: &ScanFinding| {
        format!(
            "`{}` reads {} rows of {} one by one; it ran {}.",
            cut(&scan.statement, 70),
            format_whole(scan.scanned),
            scan.table,
            counted(scan.runs, "time")
        )
    };
    let seconds = |seconds: f64| format_value(seconds * 1e9, Unit::Nanoseconds);
    for scan in scans {
        let Some(index) = &scan.index else {
            continue;
        };
        number += 1;
        let words = format!("An index is missing: {}", cause(scan));
        text.labelled(0, &format!("{number}."), 3, &printable(&words));
        text.line(&format!("   {:LABEL$}{}", "Do:", printable(&index.sql)));
        let gain = format!(
            "the statement takes {} instead of {} ({} instead of {} steps of SQLite's machine).",
            seconds(index.after),
            seconds(index.before),
            format_whole(index.steps_after),
            format_whole(index.steps_before)
        );
        text.labelled(3, "Brings:", LABEL, &gain);
        let caution =
            "Each change of the table writes the index too; \"all of it together\" contains that.";
        text.labelled(3, "Note:", LABEL, caution);
    }
    let unsaved: Vec<&ScanFinding> = scans.iter().filter(|scan| scan.index.is_none()).collect();
    if !unsaved.is_empty() {
        text.heading("Scans that no plain index saves");
        for scan in unsaved {
            text.item("-", &printable(&cause(scan)));
        }
    }
}

fn describe_combined(text: &mut Words, measured: &Measurement, changes: usize) {
    if let Some(all) = measured.all.as_ref().filter(|_| changes > 1) {
        text.heading("All of it together");
        text.paragraph(&describe_gain(all));
    }
    if let Some(normal) = &measured.normal {
        text.heading("A choice: synchronous = NORMAL");
        text.paragraph(&format!(
            "With WAL, commits are then not flushed one by one: a power cut may undo the latest ones, but does no \
             damage; a crash of the program loses nothing. {}",
            describe_gain(normal)
        ));
    }
    // Several processes used the database at once: the redo log would refuse all but one.
    let Some(etui) = &measured.etui else {
        return;
    };
    text.heading(
        "With etui's VFS (one process at a time; see the book, \"The VFS in other programs\")",
    );
    text.labelled(2, "alone:", LABEL, &describe_gain(etui));
    if let Some(all) = &measured.all_etui {
        text.labelled(2, "with all:", LABEL, &describe_gain(all));
    }
}
