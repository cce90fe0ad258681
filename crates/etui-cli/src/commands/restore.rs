//! `etui restore`: restores a backup.

use std::path::PathBuf;

use etui::{Error, Store};
use etui_program::output::ProgressReporter;
use etui_program::{App, Failure, Result, create_parent_dir};

const EXAMPLES: &str = "\
Examples:
  etui restore backup-2026-01-31.etui                 as your store
  etui restore backup-2026-01-31.etui --to old.etui   as another file, to inspect it

The backup is checked first. An existing store is never replaced: move it away first.
`etui contacts restore` undoes a change of one contact.";

/// Restore a backup
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RestoreBackupArgs {
    /// Backup file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Destination [default: the store]
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
}

pub fn restore_backup(app: &mut App, args: &RestoreBackupArgs) -> Result<()> {
    let to = match &args.to {
        Some(to) => to.clone(),
        None => app.store_path()?,
    };
    // Report a missing backup as an I/O error, not as a missing store.
    std::fs::metadata(&args.file).map_err(|e| Failure::io(&args.file, e))?;
    create_parent_dir(&to)?;
    let mut progress = ProgressReporter::for_pages(&app.out, "restore");
    let restored = Store::restore(&args.file, &to, &mut |done, all| {
        progress.set_of_total(done, all)
    });
    drop(progress);
    restored.map_err(|error| match error {
        Error::Exists(path) => {
            let path = path.display();
            Failure::Other(format!(
                "{path}: a store exists and is not replaced; close it in all programs and move \
                 it away, with its log if there is one:\n  \
                 mv '{path}' '{path}.before'\n  \
                 mv '{path}-wal' '{path}.before-wal'\n\
                 or restore the backup elsewhere with --to PATH"
            ))
        }
        other => other.into(),
    })?;
    super::backup::report_copy(app, &to, "Restored the backup")
}
