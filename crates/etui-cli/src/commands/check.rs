//! `etui check`: checks and repairs the store.

use crate::json::check_json;
use etui_program::output::{escape_text, pluralize};
use etui_program::{App, Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui check                       check everything, change nothing
  etui check --repair              rebuild lists and search index from the records

The exit code is 7 if there are problems, and 3 if the store is intact but rejected a record that
another program wrote through SQLite.";

/// Check the store for damage
///
/// Checks the database file, every contact and calendar entry, and the lists and indexes derived from
/// them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Rebuild everything that is derived from the records
    #[arg(long)]
    repair: bool,
}

pub fn check_store(app: &mut App, args: &CheckArgs) -> Result<()> {
    let store = match args.repair {
        true => app.open_to_write()?,
        false => app.open_to_read()?,
    };
    let mut report = store.check()?;
    let found = report.problems.len() + report.outdated.len();
    if args.repair {
        store.maintenance().repair()?;
        report = store.check()?;
    }
    if app.out.json {
        app.out.write_json(&check_json(&report, args.repair))?;
    } else {
        let problems = report.problems.iter().chain(&report.outdated);
        for problem in problems.chain(&report.write_queue) {
            app.out.write_line(escape_text(problem))?;
        }
    }
    let left = report.problems.len() + report.outdated.len();
    if left > 0 {
        return Err(Failure::Damaged(format!(
            "{}: {} found; {}",
            store.path().display(),
            pluralize(left as u64, "problem"),
            if args.repair {
                "restore a backup with `etui restore`"
            } else {
                "`etui check --repair` rebuilds derived data, `etui restore` restores a backup"
            }
        )));
    }
    if args.repair {
        app.out.status(format!(
            "Rebuilt lists and index; {} found and repaired.",
            pluralize(found as u64, "problem")
        ))?;
    }
    let entries = match report.entries {
        0 => String::new(),
        n => format!(", {}", pluralize(n, "calendar entry")),
    };
    let media = match report.media {
        0 => String::new(),
        n => format!(", {}", pluralize(n, "media record")),
    };
    app.out.status(format!(
        "The store is intact: {}{entries}{media}, {} in the trash.",
        pluralize(report.contacts, "contact"),
        report.removed
    ))?;
    if !report.write_queue.is_empty() {
        return Err(Failure::Refused(format!(
            "{} of another program rejected",
            pluralize(report.write_queue.len() as u64, "record")
        )));
    }
    Ok(())
}
