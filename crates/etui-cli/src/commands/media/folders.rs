//! `etui media folders` and `etui media problems`.

use etui_program::output::{Table, escape_text, object};
use etui_program::{App, Failure, Result};
use std::path::PathBuf;

use super::open_store;

/// List the folders of the library
#[derive(Debug, clap::Args)]
pub struct FoldersArgs {
    /// Stop scanning this folder; its records go to the trash, its files stay
    #[arg(long, value_name = "DIR")]
    remove: Option<PathBuf>,
}

/// List files that could not be read, and why
#[derive(Debug, clap::Args)]
pub struct ProblemsArgs {}

pub fn list_folders(app: &mut App, args: &FoldersArgs) -> Result<()> {
    let store = open_store(app)?;
    let media = store.media()?;
    if let Some(path) = &args.remove {
        if !media.remove_root(path)? {
            return Err(Failure::NotFound(format!(
                "{} is no folder of the library; list them: etui media folders",
                escape_text(&path.display().to_string())
            )));
        }
        return app
            .out
            .status("It is not scanned any more. Its files were not touched.");
    }
    let roots = media.roots()?;
    let mut table = Table::with_number_column(&["Folder", "State"], None);
    for root in &roots {
        let state = if root.is_away { "not there" } else { "" };
        table.add_row([root.path.display().to_string().as_str(), state]);
    }
    app.out.write_table(&table, &roots, |out, root| {
        out.write_json(&object! { path: root.path.display().to_string(), away: root.is_away })
    })
}

pub fn list_problems(app: &mut App) -> Result<()> {
    let store = open_store(app)?;
    let problems = store.media()?.problems()?;
    if problems.is_empty() && !app.out.json {
        return app.out.status("All files could be read.");
    }
    let mut table = Table::with_number_column(&["File", "Problem"], None);
    for problem in &problems {
        table.add_row([problem.path.display().to_string().as_str(), &problem.reason]);
    }
    app.out.write_table(&table, &problems, |out, problem| {
        out.write_json(&object! {
            path: problem.path.display().to_string(),
            reason: &problem.reason,
            refused: problem.is_refused,
        })
    })
}
