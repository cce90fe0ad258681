//! `etui backup`: copies the store while it is in use.

use std::path::{Path, PathBuf};

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::CopyObject;
use crate::output::{Progress, shown, size};

const EXAMPLES: &str = "\
Examples:
  etui backup /media/stick/personal.etui
  etui backup \"backup-$(date +%F).etui\"

The copy is of one moment, complete, and a store like the first: `etui --store COPY contacts list`
looks into it, `etui restore COPY` brings it back.";

/// Copy the store, while it is in use
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The file to make; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Copies the store.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let mut progress = Progress::of_pages(&app.out, "backup");
    store.backup(&args.file, &mut |done, all| progress.set_of(done, all))?;
    drop(progress);
    tell(app, &args.file, "Wrote a backup")
}

/// Tells of a file that was made.
pub fn tell(app: &mut App, file: &Path, what: &str) -> Result<()> {
    let object = CopyObject {
        path: file.display().to_string(),
        bytes: file.metadata().map_err(|e| Failure::io(file, e))?.len(),
    };
    if app.out.json {
        return app.out.object(&object);
    }
    let text = format!("{what}: {} ({})", shown(&object.path), size(object.bytes));
    app.out.say(text)
}
