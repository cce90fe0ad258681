//! `etui check`: is the store whole?

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::CheckObject;
use crate::output::{plural, shown};

const EXAMPLES: &str = "\
Examples:
  etui check                       look at everything, change nothing
  etui check --repair              make lists and search index anew from the records

The exit code is 7 when something is wrong, and 3 when the store is whole but something that
another program wrote through SQLite could not be taken in.";

/// Check that the store is whole
///
/// Looks at the file, at every contact and calendar entry, and at the lists and indexes made from them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Make everything that is derived from the records anew
    #[arg(long)]
    repair: bool,
}

/// Checks, repairs if asked, checks again.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = if args.repair {
        app.open_to_write()?
    } else {
        app.open_to_read()?
    };
    let mut report = store.check()?;
    let found = report.problems.len() + report.outdated.len();
    if args.repair {
        store.repair()?;
        report = store.check()?;
    }
    if app.out.json {
        app.out.object(&CheckObject::of(&report, args.repair))?;
    } else {
        for problem in report
            .problems
            .iter()
            .chain(&report.outdated)
            .chain(&report.inbox)
        {
            app.out.line(shown(problem))?;
        }
    }
    let left = report.problems.len() + report.outdated.len();
    if left > 0 {
        return Err(Failure::Damaged(format!(
            "{}: {} found; {}",
            store.path().display(),
            plural(left as u64, "problem"),
            if args.repair {
                "bring back a backup with `etui restore`"
            } else {
                "`etui check --repair` makes anew what can be, `etui restore` brings back a backup"
            }
        )));
    }
    if args.repair {
        app.out.say(format!(
            "Lists and index made anew; {} had been found, none is left.",
            plural(found as u64, "problem")
        ))?;
    }
    let entries = match report.entries {
        0 => String::new(),
        n => format!(", {}", plural(n, "calendar entry")),
    };
    app.out.say(format!(
        "{}: {}{entries}, {} in the trash.",
        if report.inbox.is_empty() {
            "All is well"
        } else {
            "The store is whole"
        },
        plural(report.contacts, "contact"),
        report.removed
    ))?;
    if !report.inbox.is_empty() {
        return Err(Failure::Refused(format!(
            "{} that another program wrote could not be taken in",
            plural(report.inbox.len() as u64, "record")
        )));
    }
    Ok(())
}
