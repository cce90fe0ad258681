//! `etui eds status`.

use std::path::Path;

use etui_eds::switch::{Lasting, Phase, ServedBy, Status, UserDirs, read_status};
use etui_program::output::{format_count, one_line};
use etui_program::{App, Result};

use super::switch::{failure, named};

pub fn show_status(app: &mut App) -> Result<()> {
    let status = read(app)?;
    if app.out.json {
        return app.out.write_json(&status);
    }
    app.out.write_line(headline(&status))?;
    if let Some(other) = &status.other_store {
        app.out.write_line(other_store_line(other))?;
    }
    for owner in &status.owners {
        let name = owner.name.rsplit('.').next().unwrap_or_default();
        app.out.write_line(format!(
            "{name} belongs to {} (process {})",
            one_line(&owner.program),
            owner.process
        ))?;
    }
    for program in &status.programs {
        app.out.write_line(format!("open in {}", named(program)))?;
    }
    for file in &status.files {
        app.out.write_line(format!("file {}", file.display()))?;
    }
    if status.phase == Phase::Off {
        app.out
            .write_line("switched on, these would be served by:")?;
    }
    show_sources(app, &status)?;
    for changes in &status.changes {
        let changed = [
            (changes.created, "new"),
            (changes.changed, "changed"),
            (changes.removed, "removed"),
        ];
        let changed: Vec<String> = changed
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{} {word}", format_count(*count as u64)))
            .collect();
        if !changed.is_empty() {
            app.out.write_line(format!(
                "only in the store: {} in \"{}\"",
                changed.join(", "),
                one_line(&changes.name)
            ))?;
        }
    }
    Ok(())
}

/// Reads the status of the store given on the command line.
pub(super) fn read(app: &App) -> Result<Status> {
    let dirs = UserDirs::from_environment().map_err(failure)?;
    read_status(&app.store_path()?, &app.store_options(), &dirs).map_err(failure)
}

/// Lists the sources and who serves them.
pub(super) fn show_sources(app: &mut App, status: &Status) -> Result<()> {
    for source in &status.sources {
        let served_by = match &source.served_by {
            ServedBy::Store => "the store".to_owned(),
            ServedBy::Stock => format!("the stock server ({})", source.backend),
            ServedBy::Nobody(why) => format!("nobody: {why}"),
        };
        let disabled = if source.enabled { "" } else { ", switched off" };
        app.out.write_line(format!(
            "  {} \"{}\"{disabled}: {}",
            source.kind.noun(),
            one_line(&source.label),
            one_line(&served_by)
        ))?;
    }
    Ok(())
}

/// The line that names the store which serves in the place of this one.
pub(super) fn other_store_line(other: &Path) -> String {
    format!(
        "another store serves: {}",
        one_line(&other.to_string_lossy())
    )
}

fn headline(status: &Status) -> String {
    if status.other_store.is_some() {
        return "off: this store does not serve".to_owned();
    }
    let has_files = !status.files.is_empty();
    match (status.phase, has_files, status.lasting) {
        (Phase::On, true, Some(Lasting::Session)) => "on until logout: the store serves",
        (Phase::On, true, _) => "on: the store serves",
        (Phase::On, false, _) => {
            "the stock server serves; changes of the store wait for `etui eds on` or `etui eds off`"
        }
        (Phase::TakingOver, ..) => "not finished; repeat `etui eds on`",
        (Phase::GivingBack, ..) => "not finished; repeat `etui eds off`",
        (Phase::Off, ..) => "off: the stock server serves",
    }
    .to_owned()
}
