//! [`describe`]: an examination in words, for a terminal.

use super::capture::{CommitShape, FileIo, Observed};
use super::examination::Examination;
use super::indexes::ScanFinding;
use super::inspect::Inspection;
use super::measurement::{Advice, Measurement};
use super::proposals::{cut, kibibytes};
use super::setup::JournalMode;
use super::trial::Trial;
use super::words::{Words, printable};
use super::workload::WorkloadSource;
use crate::Unit;
use crate::report::numbers::{format_ratio, format_value, format_whole};

/// Statements and tables that are listed.
const MOST_LISTED: usize = 5;
/// The width of the label before an advice's lines.
const LABEL: usize = 10;

/// Describes an examination in lines of this width.
pub fn describe(examination: &Examination, width: usize) -> String {
    let mut text = Words::new(width.clamp(40, 100));
    text.line(&printable(&examination.database.to_string_lossy()));
    describe_file(&mut text, &examination.inspection);
    if let Some(observed) = &examination.observed {
        describe_command(&mut text, examination, observed);
    }
    if let Some(measured) = &examination.measured {
        describe_measured(&mut text, examination, measured);
    } else {
        describe_scans(&mut text, &examination.scans, 0);
    }
    text.heading("Not seen, not run");
    for part in &examination.not_run {
        text.item("-", &printable(&format!("{}: {}", part.what, part.reason)));
    }
    text.into_text()
}

/// Returns a count of things, e.g. `1 commit`, `2 commits`.
fn counted(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", format_whole(count))
}

fn bytes(count: u64) -> String {
    format_value(count as f64, Unit::Bytes)
}

fn describe_file(text: &mut Words, found: &Inspection) {
    let journal = match found.wal {
        true => "WAL mode".to_owned(),
        false => "rollback journal".to_owned(),
    };
    let mut facts = vec![
        format!(
            "{} in {} pages of {}",
            bytes(found.bytes),
            format_whole(found.pages),
            kibibytes(found.page_size)
        ),
        journal,
    ];
    if found.free_pages > 0 {
        facts.push(format!(
            "{} pages hold nothing",
            format_whole(found.free_pages)
        ));
    }
    if found.auto_vacuum != "none" {
        facts.push(format!("auto_vacuum {}", found.auto_vacuum));
    }
    if found.wal_bytes > 0 {
        facts.push(format!("the WAL has {}", bytes(found.wal_bytes)));
    }
    if let Some(writer) = &found.writer {
        facts.push(format!("last written by SQLite {writer}"));
    }
    text.paragraph(&facts.join(", "));
    if let Some(fault) = &found.fault {
        text.paragraph(&printable(&format!(
            "DAMAGED: {fault}. Keep the file, and restore a backup; `sqlite3 DB .recover` saves what can be read."
        )));
    }
    let largest: Vec<String> = found
        .tables
        .iter()
        .take(MOST_LISTED)
        .map(|table| format!("{} {}", table.name, bytes(table.bytes)))
        .collect();
    if !largest.is_empty() {
        text.paragraph(&printable(&format!("largest: {}", largest.join(", "))));
    }
    if let Some(part) = found.sequential.filter(|part| *part < 0.5) {
        text.paragraph(&format!(
            "{} of the pages follow the one before in the file; scans from a cold cache jump",
            format_value(part, Unit::Fraction)
        ));
    }
    let huge = (16 << 20).max(4000 * u64::from(found.page_size));
    if found.wal_bytes > huge {
        text.paragraph(
            "The WAL is large: no checkpoint could finish, mostly because of a reader that never ends, or one \
             huge transaction. End such readers, then: PRAGMA wal_checkpoint(TRUNCATE); and set PRAGMA \
             journal_size_limit.",
        );
    }
}

fn describe_command(text: &mut Words, examination: &Examination, observed: &Observed) {
    let command = examination.command.as_ref();
    let name = command.map_or("", |command| &command.command);
    text.heading(&printable(&format!(
        "The command: {}",
        cut(name, text.width())
    )));
    if let Some(problem) = command.and_then(|command| command.problem.as_ref()) {
        text.paragraph(&format!("It ended with a failure: {problem}."));
    }
    if command.is_some_and(|command| command.timed_out) {
        text.paragraph("It was ended after the time given.");
    }
    let commits = observed.commits;
    let mut facts = vec![counted(commits, "commit")];
    if observed.connections > 0 {
        facts.push(counted(observed.connections, "connection"));
    }
    if observed.rollbacks > 0 {
        facts.push(format!(
            "{} rolled back",
            counted(observed.rollbacks, "transaction")
        ));
    }
    let programs = observed.programs.join(", ");
    let by = match (&observed.sqlite, programs.is_empty()) {
        (Some(version), false) => format!("{programs} with SQLite {version}: "),
        _ => String::new(),
    };
    text.paragraph(&printable(&format!("{by}{}", facts.join(", "))));
    if !observed.settings.is_empty() {
        let settings: Vec<String> = observed
            .settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        text.paragraph(&printable(&format!(
            "settings made: {}",
            settings.join(", ")
        )));
    }
    if commits > 0 {
        describe_io(text, observed);
    }
    if !observed.commit_shapes.is_empty() {
        text.paragraph("asked for by:");
        for shape in observed.commit_shapes.iter().take(MOST_LISTED) {
            text.labelled(4, "", 0, &printable(&describe_shape(shape)));
        }
    }
}

fn describe_shape(shape: &CommitShape) -> String {
    let each = |count: u64| format_value(count as f64 / shape.commits.max(1) as f64, Unit::Count);
    let mut words = format!(
        "{} x `{}` ({}): {} writes, {}, {} flushes each",
        format_whole(shape.commits),
        cut(&shape.statement, 70),
        shape.program,
        each(shape.io.writes),
        bytes(shape.io.bytes / shape.commits.max(1)),
        each(shape.io.flushes())
    );
    if shape.rewritten_pages > 0 {
        words.push_str(&format!(
            "; {} pages written twice",
            format_whole(shape.rewritten_pages)
        ));
    }
    words
}

fn describe_io(text: &mut Words, observed: &Observed) {
    let commits = observed.commits.max(1) as f64;
    let each = |count: u64| format_value(count as f64 / commits, Unit::Count);
    text.line(&format!(
        "  {:12}{:>9}{:>12}{:>9}{:>18}",
        "per commit", "writes", "bytes", "flushes", "resized, removed"
    ));
    let mut row = |name: &str, io: &FileIo| {
        text.line(&format!(
            "  {name:12}{:>9}{:>12}{:>9}{:>18}",
            each(io.writes),
            format_value(io.bytes as f64 / commits, Unit::Bytes),
            each(io.flushes()),
            each(io.resizes + io.removals)
        ));
    };
    for (file, io) in &observed.io {
        row(file, io);
    }
    row("all", &observed.total_io());
    let full = observed.total_io().full_flushes;
    if full > 0 {
        text.paragraph(&format!(
            "{} flushes were fsync, which also writes each change of a time stamp; SQLite built with \
             HAVE_FDATASYNC would not.",
            format_whole(full)
        ));
    }
}

fn describe_measured(text: &mut Words, examination: &Examination, measured: &Measurement) {
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
    let mut gain = describe_gain(&advice.trial);
    if advice.after_others {
        gain = format!("after the other changes {gain}");
    }
    if advice.trial.file_bytes + (1 << 20) < found.file_bytes {
        gain.push_str(&format!(
            " The file: {} to {}.",
            bytes(found.file_bytes),
            bytes(advice.trial.file_bytes)
        ));
    }
    let label = match advice.trial.ratio >= 1.0 {
        true => "Brings:",
        false => "Costs:",
    };
    text.labelled(3, label, LABEL, &gain);
    if let Some(caution) = &advice.proposal.caution {
        text.labelled(3, "Note:", LABEL, caution);
    }
}

/// Describes indexes as advice, numbered after `number`; then the scans that no index saves.
fn describe_scans(text: &mut Words, scans: &[ScanFinding], mut number: usize) {
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
    text.heading(
        "With etui's VFS (one process at a time; see the book, \"The VFS in other programs\")",
    );
    if let Some(etui) = &measured.etui {
        text.labelled(2, "alone:", LABEL, &describe_gain(etui));
    }
    if let Some(all) = &measured.all_etui {
        text.labelled(2, "with all:", LABEL, &describe_gain(all));
    }
}
