//! `etui backup`: copies the store while it is in use.

use etui_program::output::{ProgressReporter, escape_text, format_size, object};
use etui_program::{App, Failure, Result};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  etui backup /media/stick/personal.etui
  etui backup \"backup-$(date +%F).etui\"

The backup is a consistent snapshot and itself a store: `etui --store COPY contacts list` reads it,
`etui restore COPY` restores it.";

/// Copy the store while it is in use
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BackupArgs {
    /// File to create; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn back_up_store(app: &mut App, args: &BackupArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let mut progress = ProgressReporter::for_pages(&app.out, "backup");
    store.backup(&args.file, &mut |done, all| {
        progress.set_of_total(done, all)
    })?;
    drop(progress);
    report_copy(app, &args.file, "Wrote a backup")
}

/// Reports the path and size of a new file.
pub fn report_copy(app: &mut App, file: &Path, action: &str) -> Result<()> {
    let path = file.display().to_string();
    let bytes = file.metadata().map_err(|e| Failure::io(file, e))?.len();
    let text = format!("{action}: {} ({})", escape_text(&path), format_size(bytes));
    app.out.report(&object! { path: path, bytes: bytes }, text)
}
