//! `etui man`: manual pages.

use std::path::PathBuf;

use crate::app::App;
use crate::args;
use crate::errors::{Failure, Result};
use crate::output::shown;

const EXAMPLES: &str = "\
Examples:
  etui man | man -l -                        read the manual
  etui man ~/.local/share/man/man1           install a page for every command";

/// Write the manual pages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The directory for a page of every command [default: one page, to standard output]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Writes them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let definition = args::definition();
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(definition)
            .render(&mut page)
            .map_err(|e| Failure::named_io("the manual page", e))?;
        return app.out.bytes(&page);
    };
    let failed = |e| Failure::io(directory, e);
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(definition, directory).map_err(failed)?;
    app.out.say(format!(
        "Wrote the manual pages to {}",
        shown(&directory.display().to_string())
    ))
}
