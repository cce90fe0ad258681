//! The kept versions of a record: listed, shown, compared and brought back.

use std::marker::PhantomData;

use etui::record::{Collection, StoredRecord, Version, VersionKind};
use etui_program::output::{OutputWriter, Style, Table, escape_text, object, one_line};
use etui_program::{App, Failure, Result};
use serde::Serialize;

use super::restore::find_or_in_trash;
use super::selection::numbers_with_trash;
use super::text_diff::{
    DiffLine, PropertyChange, changed_properties, describe_changes, diff_texts, write_diff,
};
use super::{RecordCommands, collection_of, parse_number, stored_title, with_article};
use crate::json::saved_json;
use etui_when::{format_minute, iso_instant};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("action"))]
pub struct HistoryArgs<R: RecordCommands> {
    #[arg(
        required = true,
        value_name = "ID|NAME",
        help = format!("Number, UID or name of {}, also of a removed one", with_article(R::ONE))
    )]
    words: Vec<String>,
    /// Show version N in full
    #[arg(long, value_name = "N", group = "action", value_parser = parse_version)]
    show: Option<i64>,
    #[arg(
        long = R::TEXT_OPTION[0],
        requires = "show",
        conflicts_with = "json",
        help = format!("With --show: print its {}", R::FORMAT)
    )]
    text: bool,
    /// Show the lines that version N changed
    #[arg(long, value_name = "N", group = "action", value_parser = parse_version)]
    diff: Option<i64>,
    /// With --diff: compare with version N, not with the one before
    #[arg(long, value_name = "N", requires = "diff", value_parser = parse_version)]
    with: Option<i64>,
    /// Bring version N back
    #[arg(long, value_name = "N", group = "action", value_parser = parse_version)]
    restore: Option<i64>,
    #[arg(skip)]
    records: PhantomData<fn() -> R>,
}

/// Parses the number of a version as the list shows it, with or without `#`.
fn parse_version(text: &str) -> std::result::Result<i64, String> {
    let number = parse_number(text.trim()).map(|number| number.0);
    number.ok_or_else(|| "a version is a number of the first column of the history".to_owned())
}

pub fn show_history<R: RecordCommands>(app: &mut App, args: &HistoryArgs<R>) -> Result<()> {
    let store = match args.restore {
        Some(_) => app.open_to_write()?,
        None => app.open_to_read()?,
    };
    let ids = numbers_with_trash::<R>(app, &store, &args.words, false)?;
    let [id] = ids.as_slice() else {
        return Err(Failure::usage(format!("give one {} at a time", R::ONE)));
    };
    let all = collection_of::<R>(app, &store, &ids)?;
    let record = find_or_in_trash(&all, id)?;
    let history = RecordHistory {
        versions: all.history(&record.uid)?,
        all,
        record,
    };
    if let Some(number) = args.restore {
        bring_back(app, &history, number)?;
        return Ok(store.close()?);
    }
    if let Some(number) = args.show {
        let version = history.read(history.version(number)?)?;
        if args.text {
            return app.out.write_bytes(&version.text);
        }
        if app.out.json {
            return R::write_json(&mut app.out, &store, &history.all, &version);
        }
        return match R::record_details(&history.all, &version, None, &app.out) {
            Ok(details) => details.write_to(&mut app.out),
            Err(problem) => {
                app.out.write_line(escape_text(&problem))?;
                app.out.write_bytes(&version.text)
            }
        };
    }
    match args.diff {
        Some(number) => show_diff(app, &history, number, args.with),
        None => list_versions(app, &history),
    }
}

/// The versions of a record, the latest first.
struct RecordHistory<R: RecordCommands> {
    all: Collection<R>,
    record: StoredRecord<R>,
    versions: Vec<Version>,
}

impl<R: RecordCommands> RecordHistory<R> {
    fn position(&self, number: i64) -> Result<usize> {
        let position = self.versions.iter().position(|v| v.number == number);
        position.ok_or_else(|| {
            Failure::NotFound(format!(
                "{} {} has no version {number}; `etui {} history {}` lists the versions",
                R::ONE,
                self.record.id,
                R::COMMAND,
                self.record.id
            ))
        })
    }

    fn version(&self, number: i64) -> Result<&Version> {
        let position = self.position(number)?;
        let version = self.versions.get(position);
        version.ok_or_else(|| no_longer_kept::<R>(number))
    }

    fn read(&self, version: &Version) -> Result<StoredRecord<R>> {
        let read = self.all.read_version(version)?;
        read.ok_or_else(|| no_longer_kept::<R>(version.number))
    }

    /// Returns the lines that a version changed; `None` for the oldest one.
    fn changes_of(&self, position: usize) -> Result<Option<Vec<DiffLine>>> {
        let versions = (self.versions.get(position), self.versions.get(position + 1));
        let (Some(version), Some(before)) = versions else {
            return Ok(None);
        };
        let (new, old) = (self.read(version)?, self.read(before)?);
        Ok(Some(match new.etag == old.etag {
            true => Vec::new(),
            false => diff_texts(&old.text, &new.text),
        }))
    }
}

fn no_longer_kept<R: RecordCommands>(number: i64) -> Failure {
    Failure::NotFound(format!(
        "version {number} of the {} is no longer kept",
        R::ONE
    ))
}

fn kind_name(kind: VersionKind) -> &'static str {
    match kind {
        VersionKind::Added => "added",
        VersionKind::Edited => "edited",
        VersionKind::Removed => "removed",
        VersionKind::Restored => "restored",
        VersionKind::Earlier => "earlier",
    }
}

fn list_versions<R: RecordCommands>(app: &mut App, history: &RecordHistory<R>) -> Result<()> {
    let zone = app.out.time_zone();
    let mut table = Table::new(&["#", "When", "Change", "Properties"]);
    let mut listed = Vec::with_capacity(history.versions.len());
    for (position, version) in history.versions.iter().enumerate() {
        let lines = history.changes_of(position)?.unwrap_or_default();
        let changes = changed_properties(&lines);
        let when = version.at.map(|at| format_minute(at, &zone));
        table.add_row([
            version.number.to_string().as_str(),
            when.as_deref().unwrap_or_default(),
            kind_name(version.kind),
            &describe_changes::<R>(&changes),
        ]);
        listed.push((version, changes));
    }
    app.out
        .write_table(&table, &listed, |out, (version, changes)| {
            let names = |meant| {
                let names = changes.iter().filter(move |(_, change)| *change == meant);
                names.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
            };
            out.write_json(&object! {
                #[serde(flatten)] version: version_json(version, out),
                current: version.is_current,
                // Names of properties.
                changed: names(PropertyChange::Changed),
                added: names(PropertyChange::Added),
                removed: names(PropertyChange::Removed),
            })
        })
}

/// Number, time and kind of a version.
fn version_json(version: &Version, out: &OutputWriter) -> impl Serialize + use<> {
    let at = version
        .at
        .map(|at| iso_instant(at.into(), &out.time_zone()));
    object! { version: version.number, at: at, kind: kind_name(version.kind) }
}

fn show_diff<R: RecordCommands>(
    app: &mut App,
    history: &RecordHistory<R>,
    number: i64,
    with: Option<i64>,
) -> Result<()> {
    let position = history.position(number)?;
    let version = history.version(number)?;
    let before = match with {
        Some(other) => Some(history.version(other)?),
        None => history.versions.get(position + 1),
    };
    let Some(before) = before else {
        return Err(Failure::NotFound(format!(
            "version {number} is the oldest one that is kept; show it with: etui {} history {} \
             --show {number}",
            R::COMMAND,
            history.record.id
        )));
    };
    let (old, new) = (history.read(before)?, history.read(version)?);
    let lines = diff_texts(&old.text, &new.text);
    if app.out.json {
        let each = lines.iter();
        let each = each.map(|line| {
            object! { sign: line.sign(), property: line.line.name.as_str(), line: line.shown() }
        });
        return app.out.write_json(&object! {
            from: version_json(before, &app.out),
            to: version_json(version, &app.out),
            lines: each.collect::<Vec<_>>(),
        });
    }
    for (sign, version) in [("---", before), ("+++", version)] {
        let at = version.at.map(|at| format_minute(at, &app.out.time_zone()));
        let at = at.map_or_else(String::new, |at| format!(" {at}"));
        let heading = format!("{sign} {}{at} {}", version.number, kind_name(version.kind));
        let heading = app.out.with_style(Style::Bold, &heading).into_owned();
        app.out.write_line(heading)?;
    }
    match lines.is_empty() {
        true => app.out.status("No line differs."),
        false => write_diff(&mut app.out, &lines),
    }
}

fn bring_back<R: RecordCommands>(
    app: &mut App,
    history: &RecordHistory<R>,
    number: i64,
) -> Result<()> {
    use etui::SaveOutcome;
    let saved = history.all.bring_back(history.version(number)?)?;
    let now = history.all.get(&history.record.uid)?;
    let name = stored_title(now.as_ref().unwrap_or(&history.record));
    let (id, shown) = (saved.id, one_line(&name));
    let text = match saved.outcome {
        SaveOutcome::Unchanged => format!("Unchanged: {id} {shown} is as in version {number}"),
        _ => format!(
            "Brought back version {number} of {id}: {shown} (undo: etui {} {} {id})",
            R::COMMAND,
            match saved.outcome {
                SaveOutcome::Added => "remove",
                _ => "restore",
            }
        ),
    };
    app.out
        .report(&saved_json(&saved, &history.record.uid, &name), text)
}
