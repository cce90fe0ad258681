//! `etui eds try`, `on`, `off`.

use etui_eds::switch::{
    self, HoldingProgram, Lasting, OnProgress, Progress, Side, SwitchError, SwitchOptions,
    SwitchReport, UserDirs,
};
use etui_program::output::{ProgressReporter, format_count, one_line};
use etui_program::{App, Failure, Result, create_parent_dir};

use super::status;
use etui_program::services::eds::{PreferredSide, SwitchArgs};

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

/// Shows what would happen and asks. Returns false if nothing is to be changed.
fn is_agreed(app: &mut App, args: &SwitchArgs, what: &str) -> Result<bool> {
    if !args.dry_run && args.yes {
        return Ok(true);
    }
    if !args.dry_run && !app.out.is_interactive() {
        return Err(Failure::usage(
            "there is no terminal to ask on; add --yes to switch, or --dry-run to see what would \
             happen",
        ));
    }
    let status = status::read(app)?;
    if app.out.json {
        app.out.write_json(&status)?;
        return Ok(false);
    }
    app.out.write_line(what)?;
    status::show_sources(app, &status)?;
    if let Some(other) = &status.other_store {
        app.out.write_line(status::other_store_line(other))?;
    }
    if !status.programs.is_empty() {
        app.out
            .write_line("These programs are open and are to be started again:")?;
        for program in &status.programs {
            app.out.write_line(format!("  {}", named(program)))?;
        }
    }
    if args.dry_run {
        return Ok(false);
    }
    let agreed = app.out.ask_yes_no("Go on?")?;
    if !agreed {
        app.out.status("Nothing was changed.")?;
    }
    Ok(agreed)
}

/// `GNOME Calendar (gnome-calendar, process 7)`.
pub(super) fn named(program: &HoldingProgram) -> String {
    let HoldingProgram {
        name,
        program,
        process,
        ..
    } = program;
    let (name, program) = (one_line(name), one_line(program));
    match name == program {
        true => format!("{name} (process {process})"),
        false => format!("{name} ({program}, process {process})"),
    }
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
    command.extend(["eds", "serve", "--if-on"]);
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
        // Tasks and memos have collections with a suffix.
        let is_other = |collection: &&String| !collection.starts_with(c.name.as_str());
        let collection = match c.collection.as_ref().filter(is_other) {
            Some(collection) => format!(" (in the store \"{}\")", one_line(collection)),
            None => String::new(),
        };
        app.out.status(format!(
            "{} \"{}\"{collection} {done}: {} new, {} changed, {} removed; {} now",
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
    let (restarted, open): (Vec<_>, Vec<_>) = report.programs.iter().partition(|one| one.restarted);
    for program in restarted {
        app.out
            .write_note(&format!("started again: {}", named(program)));
    }
    if !open.is_empty() {
        let open: Vec<String> = open.into_iter().map(named).collect();
        app.out.write_note(&format!(
            "close and start again: {}; until then they show no change, and lose what is entered",
            open.join(", ")
        ));
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
