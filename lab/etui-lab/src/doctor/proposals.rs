//! [`propose`]: changes that may make a database faster or safer, from what was found. Which of them do
//! is measured afterwards.

mod journal;

use serde::Serialize;

use super::capture::Observed;
use super::inspect::Inspection;
use super::replay::Replayed;
use super::setup::Setup;
use super::words::{cut, kibibytes};
use crate::Unit;
use crate::report::numbers::{format_value, format_whole};

/// A change to try.
#[derive(Debug, Clone, Serialize)]
pub struct Proposal {
    /// A short name, the same in every examination.
    pub id: &'static str,
    /// The cause, in a sentence.
    pub cause: String,
    /// What to do: SQL, or a change to the program.
    pub actions: Vec<String>,
    /// What to know before.
    pub caution: Option<String>,
    /// It gives up some durability, so it is for the reader to choose.
    pub is_choice: bool,
    #[serde(skip)]
    pub setup: Setup,
    /// Applies the change to another setup.
    #[serde(skip)]
    pub apply: fn(&mut Setup, &Setup),
}

/// What is known when changes are proposed.
#[derive(Debug)]
pub struct Facts<'a> {
    pub inspection: &'a Inspection,
    /// What the command did, if there was one.
    pub observed: Option<&'a Observed>,
    pub found: &'a Setup,
    /// The workload as repeated under it.
    pub replayed: &'a Replayed,
    /// Locks and shared memory of the file system are those of one machine, so that a WAL works.
    pub local: bool,
}

/// The transactions of a burst that are joined.
pub const GROUP: usize = 100;
/// The page size of SQLite since 3.12.
const PAGE_SIZE: u32 = 4096;
/// A part of a file that is worth rebuilding it, and the least bytes.
const MUCH_FREE: f64 = 0.2;
const MANY_BYTES: u64 = 1 << 20;
/// The largest page cache that is proposed.
const MOST_CACHE: u64 = 64 << 20;

/// Returns the changes to try, the likely most important ones first.
pub fn propose(facts: &Facts<'_>) -> Vec<Proposal> {
    let proposals = [
        journal::write_ahead_log(facts),
        journal::persistent_journal(facts),
        journal::safe_journal(facts),
        journal::flushes_again(facts),
        grouped(facts),
        one_connection(facts),
        page_size(facts),
        larger_cache(facts),
        no_auto_vacuum(facts),
        vacuum(facts),
        redundant_indexes(facts),
    ];
    proposals.into_iter().flatten().collect()
}

/// Makes a proposal of a change to the setup as found.
fn change(
    facts: &Facts<'_>,
    id: &'static str,
    cause: String,
    actions: &[&str],
    apply: fn(&mut Setup, &Setup),
) -> Proposal {
    let mut setup = facts.found.clone();
    apply(&mut setup, facts.found);
    Proposal {
        id,
        cause,
        actions: actions.iter().map(|&line| line.to_owned()).collect(),
        caution: None,
        is_choice: false,
        setup,
        apply,
    }
}

fn grouped(facts: &Facts<'_>) -> Option<Proposal> {
    let observed = facts.observed?;
    let (followers, commits) = (observed.commits_in_bursts, observed.commits);
    let few_changes = observed.changing_statements < commits * 5;
    if followers < 10 || followers * 2 < commits || !few_changes {
        return None;
    }
    let statement = observed
        .commit_shapes
        .iter()
        .max_by_key(|shape| shape.commits)
        .map(|shape| format!(" (mostly `{}`)", cut(&shape.statement, 60)))
        .unwrap_or_default();
    let changes = match observed.changing_statements < commits * 2 {
        true => "each change is a transaction of its own, with flushes of its own",
        false => "every few changes are a transaction of their own, with flushes of their own",
    };
    let cause = format!(
        "{} of {} commits came within 50 ms of the one before, on the same connection{statement}: \
         {changes}.",
        format_whole(followers),
        format_whole(commits)
    );
    let mut proposal = change(
        facts,
        "group",
        cause,
        &[
            "BEGIN;",
            "  ...  -- all changes that belong together; here up to 100 transactions were joined",
            "COMMIT;",
        ],
        |setup, _| setup.group = GROUP,
    );
    proposal.caution =
        Some("Until the COMMIT, a crash undoes the changes of the whole group.".to_owned());
    Some(proposal)
}

fn one_connection(facts: &Facts<'_>) -> Option<Proposal> {
    let observed = facts.observed?;
    if observed.commits < 10 || observed.connections * 2 < observed.commits {
        return None;
    }
    let cause = format!(
        "{} connections were opened for {} commits. Each one reads the schema again, and the last close \
         of a WAL database checkpoints and removes the WAL.",
        observed.connections, observed.commits
    );
    Some(change(
        facts,
        "keep-open",
        cause,
        &["Open the database once, and keep the connection."],
        |setup, _| setup.keep_connection = true,
    ))
}

fn page_size(facts: &Facts<'_>) -> Option<Proposal> {
    let size = facts.found.page_size;
    if (PAGE_SIZE..=16_384).contains(&size) {
        return None;
    }
    let cause = match size < PAGE_SIZE {
        true => format!(
            "Pages are {}, smaller than a block of the disk (usually 4 kB): the same rows take more pages, \
             and so more writes.",
            kibibytes(size)
        ),
        false => format!(
            "Pages are {}: a commit that changes a few bytes writes whole pages.",
            kibibytes(size)
        ),
    };
    Some(change(
        facts,
        "page-size",
        cause,
        &[
            "PRAGMA journal_mode = DELETE; PRAGMA page_size = 4096; VACUUM;  -- once, before WAL mode",
        ],
        |setup, _| setup.page_size = PAGE_SIZE,
    ))
}

fn larger_cache(facts: &Facts<'_>) -> Option<Proposal> {
    let observed = facts.observed?;
    let cache = facts.found.cache_bytes();
    let rewritten: u64 = observed
        .commit_shapes
        .iter()
        .map(|shape| shape.rewritten_pages)
        .sum();
    let largest = observed
        .commit_shapes
        .iter()
        .map(|shape| shape.io.bytes / shape.commits.max(1))
        .max()
        .unwrap_or(0);
    if (rewritten == 0 && largest < cache) || cache >= MOST_CACHE {
        return None;
    }
    let wanted = (largest.max(cache) * 2).min(MOST_CACHE);
    let cause = match rewritten {
        0 => format!(
            "A transaction writes {}, the page cache holds {}: pages are written before the commit, and may \
             be written again.",
            format_value(largest as f64, Unit::Bytes),
            format_value(cache as f64, Unit::Bytes)
        ),
        pages => format!(
            "{pages} pages were written more than once within a transaction: the page cache ({}) is smaller \
             than what a transaction changes.",
            format_value(cache as f64, Unit::Bytes)
        ),
    };
    let cache_size = -i64::try_from(wanted / 1024).unwrap_or(i64::MAX);
    let line = format!("PRAGMA cache_size = {cache_size};  -- KiB, on each connection");
    let mut proposal = change(facts, "cache", cause, &[&line], |setup, proposed| {
        setup.cache_size = proposed.cache_size
    });
    proposal.setup.cache_size = cache_size;
    Some(proposal)
}

fn no_auto_vacuum(facts: &Facts<'_>) -> Option<Proposal> {
    if facts.found.auto_vacuum != "full" {
        return None;
    }
    Some(change(
        facts,
        "auto-vacuum",
        "auto_vacuum = FULL: a commit that frees pages moves others into their place and truncates the file."
            .to_owned(),
        &["PRAGMA auto_vacuum = INCREMENTAL;  -- and now and then: PRAGMA incremental_vacuum;"],
        |setup, _| setup.auto_vacuum = "incremental".to_owned(),
    ))
}

fn vacuum(facts: &Facts<'_>) -> Option<Proposal> {
    let found = facts.inspection;
    let free = found.free_pages as f64 / found.pages.max(1) as f64;
    let free_bytes = found.free_pages * u64::from(found.page_size);
    if free < MUCH_FREE || free_bytes < MANY_BYTES {
        return None;
    }
    let cause = format!(
        "{} of {} hold nothing, left by removed rows.",
        format_value(free_bytes as f64, Unit::Bytes),
        format_value(
            (found.pages * u64::from(found.page_size)) as f64,
            Unit::Bytes
        )
    );
    let mut proposal = change(
        facts,
        "vacuum",
        cause,
        &["VACUUM;  -- once; it needs as much space again while it runs"],
        |setup, _| setup.vacuum = true,
    );
    proposal.caution =
        Some("If the rows come back, leave it: new rows use the free pages first.".to_owned());
    Some(proposal)
}

fn redundant_indexes(facts: &Facts<'_>) -> Option<Proposal> {
    let redundant = &facts.inspection.redundant_indexes;
    let first = redundant.first()?;
    let cause = match redundant.len() {
        1 => format!(
            "The index {} has the same first columns as {}, which does its work; each change of {} writes both.",
            first.name, first.covered_by, first.table
        ),
        count => format!(
            "{count} indexes have the same first columns as another one, which does their work (e.g. {}, as {}); \
             changes write both.",
            first.name, first.covered_by
        ),
    };
    let lines: Vec<String> = redundant
        .iter()
        .map(|index| {
            format!(
                "DROP INDEX {};",
                super::schema::quote_if_needed(&index.name)
            )
        })
        .collect();
    let plain: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut proposal = change(
        facts,
        "redundant-index",
        cause,
        &plain,
        |setup, proposed| setup.schema.extend(proposed.schema.iter().cloned()),
    );
    proposal.setup.schema = lines;
    Some(proposal)
}
