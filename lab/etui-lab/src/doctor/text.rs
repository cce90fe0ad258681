//! [`describe`]: an examination in words, for a terminal: the file and the command.
//! [`measured`] describes the measurements and the advice.

mod measured;

use super::capture::{CommitShape, FileIo, Observed};
use super::copy::WHEN_DAMAGED;
use super::examination::Examination;
use super::inspect::Inspection;
use super::words::{Words, cut, kibibytes, printable};
use crate::Unit;
use crate::report::numbers::{format_value, format_whole};

/// Statements and tables that are listed.
const MOST_LISTED: usize = 5;

pub fn describe(examination: &Examination, width: usize) -> String {
    let mut text = Words::new(width.clamp(40, 100));
    text.line(&printable(&examination.database.to_string_lossy()));
    describe_file(&mut text, &examination.inspection);
    if let Some(observed) = &examination.observed {
        describe_command(&mut text, examination, observed);
    }
    if let Some(measured) = &examination.measured {
        measured::describe_measured(&mut text, examination, measured);
    } else {
        measured::describe_scans(&mut text, &examination.scans, 0);
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
    if found.pages == 0 {
        return text
            .paragraph("an empty file: a database without tables, until a program creates one");
    }
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
        text.paragraph(&printable(&format!("DAMAGED: {fault}. {WHEN_DAMAGED}.")));
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
