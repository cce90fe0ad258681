//! Names of the parts that an examination did not see, and of tools that would show them.

use super::capture::Tracer;
use super::examination::Examination;
use crate::NotRun;

/// Commits below which a run says little.
const FEW_COMMITS: u64 = 20;

/// Returns the parts that were not seen.
pub fn name_unseen(examination: &Examination) -> Vec<NotRun> {
    let mut unseen = Vec::new();
    let mut add = |what: &str, reason: &str| {
        unseen.push(NotRun {
            what: what.to_owned(),
            reason: reason.to_owned(),
        });
    };
    match &examination.observed {
        None => add(
            "what a program does to the database",
            "no command was given: etui lab doctor DB -- COMMAND...",
        ),
        Some(_) if examination.tracer == Some(Tracer::Strace) => add(
            "the program's statements",
            "strace sees writes, flushes and locks only: a commit is counted for each lock of a writer; \
         scans and the settings of connections are unknown",
        ),
        Some(observed) if observed.connections == 0 && observed.io.is_empty() => add(
            "the command's use of the database",
            "it did not open it, or its SQLite is part of a program that nothing can be loaded into: \
         try --tracer strace",
        ),
        Some(observed) if observed.connections == 0 => add(
            "the program's statements",
            "its SQLite is built into the program; its writes and flushes were seen",
        ),
        Some(observed) if observed.untraceable > 0 => add(
            "some of the program's statements",
            "its SQLite is older than 3.14, or traces itself",
        ),
        Some(observed) if (1..FEW_COMMITS).contains(&observed.commits) => add(
            "the program at length",
            &format!(
                "it made {} commits only; what repeats often says more",
                observed.commits
            ),
        ),
        Some(_) => {}
    }
    if examination.observed.as_ref().is_some_and(|o| o.limited) {
        add(
            "all of the command",
            "after 256 MiB of records its recording ended",
        );
    }
    add(
        "the file system's own journal",
        "its writes are visible at the block device only; as root, `etui lab run journal-matrix` counts them \
     for each journal mode",
    );
    unseen
}
