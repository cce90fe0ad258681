//! `etui restore`: brings back a backup.

use std::path::PathBuf;

use etui::{Error, Store};

use crate::app::{App, make_parent};
use crate::errors::{Failure, Result};
use crate::output::Progress;

const EXAMPLES: &str = "\
Examples:
  etui restore backup-2026-01-31.etui                 as your store
  etui restore backup-2026-01-31.etui --to old.etui   beside it, to look into

The backup is checked first. A store that is there is never replaced: move it away before.
To undo a change to one contact: `etui contacts restore`.";

/// Bring back a backup
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to [default: the store]
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
}

/// Brings it back.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let to = match &args.to {
        Some(to) => to.clone(),
        None => app.path()?,
    };
    // A backup that is not there is no store that could be made.
    std::fs::metadata(&args.file).map_err(|e| Failure::io(&args.file, e))?;
    make_parent(&to)?;
    let mut progress = Progress::of_pages(&app.out, "restore");
    let restored = Store::restore(&args.file, &to, &mut |done, all| progress.set_of(done, all));
    drop(progress);
    restored.map_err(|error| match error {
        Error::Exists { path } => {
            let path = path.display();
            Failure::Other(format!(
                "{path}: a store stands here, and is not replaced; close what uses it and move \
                 it away first, with its log if there is one:\n  \
                 mv '{path}' '{path}.before'\n  \
                 mv '{path}-wal' '{path}.before-wal'\n\
                 or bring the backup back elsewhere with --to PATH"
            ))
        }
        other => other.into(),
    })?;
    super::backup::tell(app, &to, "Brought the backup back")
}
