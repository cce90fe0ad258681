//! `etui recover`: a database that was left with a redo log becomes an ordinary one.

use std::path::PathBuf;

use crate::app::App;
use crate::errors::Result;
use crate::output::json::RecoveredObject;
use crate::output::{plural, shown};

const EXAMPLES: &str = "\
Examples:
  etui recover                     the store
  etui recover app.db              any SQLite database that was written with the VFS `etui`

While a database is written with the VFS `etui`, what is newest stands in FILE-redo, and plain
SQLite refuses the file. Closing it makes it an ordinary one. A program that was killed did not
close it; opening it with the same VFS, or this command, puts everything that was saved into
the file. Nothing is lost by running it once too often.";

/// Make a database that was left with a redo log an ordinary one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The database [default: the store]
    file: Option<PathBuf>,
}

/// Does it.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => app.path()?,
    };
    let recovered = etui::recover(&path)?;
    let name = path.display().to_string();
    if app.out.json {
        return app.out.object(&RecoveredObject {
            path: name,
            transactions: recovered.transactions,
            pages: recovered.pages,
        });
    }
    let name = shown(&name);
    match recovered.transactions {
        0 => app.out.line(format!("{name}: nothing was left to do")),
        n => app.out.line(format!(
            "{name}: {} put in place, {} written",
            plural(n, "transaction"),
            plural(recovered.pages, "page")
        )),
    }
}
