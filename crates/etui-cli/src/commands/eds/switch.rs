//! `etui eds try`, `on`, `off`.

use etui_eds::switch::{
    self, Lasting, OnProgress, Progress, Side, SwitchError, SwitchOptions, SwitchReport, UserDirs,
};

use super::status;
use crate::app::{App, create_parent_dir};
use crate::errors::{Failure, Result};
use crate::output::{ProgressReporter, format_count, one_line};

/// Options of switching.
#[derive(Debug, clap::Args)]
pub struct SwitchArgs {
    /// Show what would happen and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// The side that counts where both changed a record
    #[arg(long, value_name = "SIDE")]
    prefer: Option<PreferredSide>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum PreferredSide {
    /// The stock server
    Stock,
    /// The store
    Store,
}

/// Use the store until logout, or for good.
pub fn switch_on(app: &mut App, args: &SwitchArgs, lasting: Lasting) -> Result<()> {
    let until = match lasting {
        Lasting::Session => "The store serves desktop programs until logout:",
        Lasting::Permanent => "The store serves desktop programs from now on:",
    };
    if !is_agreed(app, args, until)? {
        return Ok(());
    }
    create_parent_dir(&app.store_path()?)?;
    let options = options(app, args, lasting)?;
    let report = with_progress(app, |progress| switch::switch_on(&options, progress))?;
    show_report(app, &report, "taken over", "on already")
}

/// Give every change back to the stock server.
pub fn switch_off(app: &mut App, args: &SwitchArgs) -> Result<()> {
    if !is_agreed(
        app,
        args,
        "The stock server serves again; changes go back to it:",
    )? {
        return Ok(());
    }
    let options = options(app, args, Lasting::Permanent)?;
    let report = with_progress(app, |progress| switch::switch_off(&options, progress))?;
    show_report(app, &report, "given back", "off already")
}

/// Shows what would happen, and asks if a person can answer.
fn is_agreed(app: &mut App, args: &SwitchArgs, what: &str) -> Result<bool> {
    if !args.dry_run && (args.yes || !app.out.is_interactive()) {
        return Ok(true);
    }
    let status = status::read(app)?;
    if app.out.json {
        app.out.write_json(&status)?;
        return Ok(false);
    }
    app.out.write_line(what)?;
    status::show_sources(app, &status)?;
    if args.dry_run {
        return Ok(false);
    }
    app.out.ask_yes_no("Go on?")
}

fn options(app: &App, args: &SwitchArgs, lasting: Lasting) -> Result<SwitchOptions> {
    let path = app.store_path()?;
    let store = std::path::absolute(&path).map_err(|e| Failure::io(&path, e))?;
    let program =
        std::env::current_exe().map_err(|e| Failure::named_io("the path of this program", e))?;
    let text = |path: &std::path::Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage(format!(
                "{}: not UTF-8, as service files are",
                path.display()
            ))
        })
    };
    let options = app.store_options();
    let (program, path) = (text(&program)?, text(&store)?);
    let mut command = vec![program.as_str(), "--store", path.as_str()];
    command.extend(["eds", "serve"]);
    Ok(SwitchOptions {
        command: command.into_iter().map(str::to_owned).collect(),
        store,
        options,
        lasting,
        prefer: args.prefer.map(|side| match side {
            PreferredSide::Stock => Side::Stock,
            PreferredSide::Store => Side::Store,
        }),
        dirs: UserDirs::from_environment().map_err(failure)?,
    })
}

fn with_progress(
    app: &App,
    work: impl FnOnce(OnProgress<'_>) -> std::result::Result<SwitchReport, SwitchError>,
) -> Result<SwitchReport> {
    let mut bar = ProgressReporter::for_pages(&app.out, "contacts and calendars");
    let mut show = |progress: Progress<'_>| match progress {
        Progress::Records { done, total, .. } => {
            bar.set_of_total(done as u64, total.max(1) as u64);
        }
        Progress::Done(_) => {}
    };
    work(&mut show).map_err(failure)
}

fn show_report(app: &mut App, report: &SwitchReport, done: &str, already: &str) -> Result<()> {
    if app.out.json {
        return app.out.write_json(report);
    }
    if report.already {
        return app.out.status(already);
    }
    for c in &report.collections {
        let count = |count: usize| format_count(count as u64);
        app.out.status(format!(
            "{} \"{}\" {done}: {} new, {} changed, {} removed; {} now",
            c.kind.noun(),
            one_line(&c.name),
            count(c.created),
            count(c.changed),
            count(c.removed),
            format_count(c.records)
        ))?;
        for uid in &c.rewritten {
            app.out.write_note(&format!(
                "the stock server writes {} in other words; the store has it as it was",
                one_line(uid)
            ));
        }
    }
    Ok(())
}

/// The failure of a command for an error of switching.
pub(super) fn failure(error: SwitchError) -> Failure {
    match error {
        SwitchError::Store(error) => Failure::Library(error),
        SwitchError::File { path, source } => Failure::io(&path, source),
        SwitchError::Conflicts { .. } => Failure::Conflict(format!(
            "{error}; choose a side: --prefer stock or --prefer store"
        )),
        other => Failure::Other(other.to_string()),
    }
}
