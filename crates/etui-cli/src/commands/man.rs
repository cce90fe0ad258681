//! `etui man`: manual pages.

use std::path::PathBuf;

use crate::app::App;
use crate::args;
use crate::errors::{Failure, Result};
use crate::output::escape_text;

const EXAMPLES: &str = "\
Examples:
  etui man | man -l -                        read the manual
  etui man ~/.local/share/man/man1           install a page per command";

/// Generate manual pages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Directory for a page per command [default: one page, to standard output]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub fn write_manual(app: &mut App, args: &ManArgs) -> Result<()> {
    let definition = args::clap_command();
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(definition)
            .render(&mut page)
            .map_err(|e| Failure::named_io("the manual page", e))?;
        return app.out.write_bytes(&page);
    };
    let failed = |e| Failure::io(directory, e);
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(definition, directory).map_err(failed)?;
    app.out.status(format!(
        "Wrote the manual pages to {}",
        escape_text(&directory.display().to_string())
    ))
}
