//! `etui recover`: replays the redo log of a database.

use std::path::PathBuf;

use crate::app::App;
use crate::errors::Result;
use crate::output::json::object;
use crate::output::{escape_text, pluralize};

const EXAMPLES: &str = "\
Examples:
  etui recover                     the store
  etui recover app.db              any SQLite database written with the VFS `etui`

While a database is open with the VFS `etui`, its newest changes are in FILE-redo, and plain SQLite
refuses the file. Closing the database makes it an ordinary one again. After a crash, this command
or opening it with the same VFS replays the log. Running it twice is harmless.";

/// Recover a database that was not closed cleanly (replay its redo log)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RecoverArgs {
    /// Database file [default: the store]
    file: Option<PathBuf>,
}

pub fn recover_database(app: &mut App, args: &RecoverArgs) -> Result<()> {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => app.store_path()?,
    };
    let recovered = etui::recover(&path)?;
    let name = path.display().to_string();
    if app.out.json {
        // Transactions replayed from the redo log, and pages written.
        let (transactions, pages) = (recovered.transactions, recovered.pages);
        let object = object! { path: name, transactions: transactions, pages: pages };
        return app.out.write_json(&object);
    }
    let name = escape_text(&name);
    match recovered.transactions {
        0 => app.out.write_line(format!("{name}: nothing to recover")),
        n => app.out.write_line(format!(
            "{name}: recovered {}, wrote {}",
            pluralize(n, "transaction"),
            pluralize(recovered.pages, "page")
        )),
    }
}
