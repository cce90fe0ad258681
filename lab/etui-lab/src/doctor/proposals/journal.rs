//! Proposals about the journal and its flushes: WAL mode, and settings that are not safe.

use super::{Facts, Proposal, change};
use crate::Unit;
use crate::doctor::setup::{JournalMode, Synchronous};
use crate::report::numbers::format_value;

pub(super) fn write_ahead_log(facts: &Facts<'_>) -> Option<Proposal> {
    let mode = facts.found.journal_mode;
    if mode == JournalMode::Wal || mode.is_unsafe() || !facts.local {
        return None;
    }
    let io = &facts.replayed.io;
    let commits = facts.replayed.transactions;
    let journal = match mode {
        JournalMode::Delete if io.flushes == 0 => "is created, written and removed",
        JournalMode::Delete => "is created, flushed and removed",
        JournalMode::Truncate => "is written, flushed and truncated",
        _ => "is written, flushed and overwritten",
    };
    let cause = format!(
        "The database has a rollback journal, which {journal} at each commit: {} flushes, {} writes and \
         {} changes of a file's size or name. In WAL mode a commit appends to one file and flushes it once.",
        per_commit(io.flushes, commits),
        per_commit(io.writes, commits),
        per_commit(io.metadata, commits)
    );
    let mut proposal = change(
        facts,
        "wal",
        cause,
        &["PRAGMA journal_mode = WAL;  -- once: it stays in the file"],
        |setup, _| setup.journal_mode = JournalMode::Wal,
    );
    proposal.caution = Some(
        "A WAL database is three files while it is open (-wal, -shm), and not for network file systems."
            .to_owned(),
    );
    Some(proposal)
}

/// Where a WAL cannot be used.
pub(super) fn persistent_journal(facts: &Facts<'_>) -> Option<Proposal> {
    if facts.local || facts.found.journal_mode != JournalMode::Delete {
        return None;
    }
    Some(change(
        facts,
        "persist",
        "The rollback journal is created and removed at each commit; on this file system, which other \
         machines may use, WAL mode does not work."
            .to_owned(),
        &["PRAGMA journal_mode = PERSIST;  -- on each connection"],
        |setup, _| setup.journal_mode = JournalMode::Persist,
    ))
}

pub(super) fn safe_journal(facts: &Facts<'_>) -> Option<Proposal> {
    let mode = facts.found.journal_mode;
    if !mode.is_unsafe() {
        return None;
    }
    let cause = format!(
        "The journal mode is {mode}: a program that is killed within a commit leaves a damaged database, \
         even without a power cut."
    );
    Some(change(
        facts,
        "safe-journal",
        cause,
        &["PRAGMA journal_mode = WAL;  -- once: it stays in the file"],
        |setup, _| setup.journal_mode = JournalMode::Wal,
    ))
}

pub(super) fn flushes_again(facts: &Facts<'_>) -> Option<Proposal> {
    let mode = facts.found.journal_mode;
    let (level, words, line) = match (facts.found.synchronous, mode) {
        (Synchronous::Off, _) => (
            Synchronous::Normal,
            "Nothing is flushed (synchronous = OFF): a power cut may damage the database.",
            "PRAGMA synchronous = NORMAL;  -- on each connection, with journal_mode = WAL",
        ),
        (Synchronous::Normal, JournalMode::Wal) | (Synchronous::Full | Synchronous::Extra, _) => {
            return None;
        }
        (Synchronous::Normal, _) => (
            Synchronous::Full,
            "synchronous = NORMAL with a rollback journal: on some file systems a power cut at the wrong \
             moment may damage the database.",
            "PRAGMA synchronous = FULL;  -- on each connection; with WAL, NORMAL cannot do damage",
        ),
    };
    let mut proposal = change(
        facts,
        "synchronous",
        words.to_owned(),
        &[line],
        |setup, found| {
            setup.journal_mode = JournalMode::Wal;
            setup.synchronous = found.synchronous.max(Synchronous::Normal);
        },
    );
    proposal.setup.synchronous = level;
    proposal.setup.journal_mode = match level == Synchronous::Normal && facts.local {
        true => JournalMode::Wal,
        false => mode,
    };
    proposal.caution = Some("This is for safety; it may be slower.".to_owned());
    Some(proposal)
}

fn per_commit(count: u64, commits: u64) -> String {
    format_value(count as f64 / commits.max(1) as f64, Unit::Count)
}
