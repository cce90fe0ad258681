//! `etui undo`: undoes what was done last, by whatever program or device.

use etui::calendar::CalendarObject;
use etui::calendar::time::Timestamp;
use etui::contacts::Card;
use etui::store::CollectionKey;
use etui::{CollectionKind, Step, Store, UndoEffect, UndoReport, UndoneRecord};
use etui_program::output::{
    OutputWriter, Table, escape_text, format_count, object, one_line, pluralize,
};
use etui_program::{App, Failure, Result};
use serde::Serialize;

use super::records::{RecordCommands, stored_title};
use etui_when::{LocalNow, format_minute, iso_instant, parse_duration, parse_when, to_instant};

const EXAMPLES: &str = "\
Examples:
  etui undo                                 the last thing that was done
  etui undo -n 3                            the last three
  etui undo --list                          what was done, with its number
  etui undo 41                              this one
  etui undo --device Pixel --since yesterday
  etui undo --since 14:00 --dry-run         what it would undo
  etui undo --since -5m                     all of the last five minutes

A step is what one command, one key in the browser, or one request of a device or program has changed:
an import, a merge, a removal. Undoing it gives each record the version from before. A record that was
changed since is named and kept. The undo is a step itself: `etui undo NUMBER` with its number does again
what it undid. Steps are kept for 30 days, as removed records are. Settings, passwords of devices and
erased records (`etui purge`) are not brought back.";

/// Lines of the list by default.
const LISTED: usize = 20;
/// Records that are named of a large step.
const NAMED: usize = 20;

/// Undo the last changes, whoever made them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct UndoArgs {
    /// Numbers of steps, as --list shows them [default: the last one]
    #[arg(value_name = "STEP", conflicts_with_all = ["count", "device", "since"])]
    steps: Vec<i64>,
    /// Undo the last N steps; of --list, the number of lines
    #[arg(short = 'n', long = "count", value_name = "N")]
    count: Option<usize>,
    /// Only steps of this device or program
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// All steps since this time
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    since: Option<String>,
    /// List the steps
    #[arg(long)]
    list: bool,
    /// Report what would be undone
    #[arg(long, conflicts_with = "list")]
    dry_run: bool,
}

pub fn undo_steps(app: &mut App, args: &UndoArgs) -> Result<()> {
    let store = match args.list || args.dry_run {
        true => app.open_to_read()?,
        false => app.open_to_write()?,
    };
    let all = store.steps()?;
    let chosen = choose_steps(app, args, &all)?;
    if args.list || args.dry_run {
        return list_steps(app, &chosen, args.list);
    }
    let ids: Vec<i64> = chosen.iter().map(|step| step.id).collect();
    let report = store.undo_steps(&ids)?;
    let reported = report_undo(app, &store, &report);
    store.close()?;
    reported
}

/// Returns the steps that the arguments mean, the latest first.
fn choose_steps<'s>(app: &App, args: &UndoArgs, all: &'s [Step]) -> Result<Vec<&'s Step>> {
    if !args.steps.is_empty() {
        let chosen = args.steps.iter().map(|id| {
            let found = all.iter().find(|step| step.id == *id);
            let found = found.ok_or_else(|| {
                Failure::NotFound(format!(
                    "there is no step {id}; the steps that can be undone: etui undo --list"
                ))
            })?;
            match found.undone_by {
                Some(by) if !args.list => Err(Failure::Conflict(format!(
                    "step {id} was undone already; to do it again: etui undo {by}"
                ))),
                _ => Ok(found),
            }
        });
        return chosen.collect();
    }
    let here = LocalNow::in_zone(app.out.time_zone());
    let since = args.since.as_ref().map(|text| {
        if let Some(ago) = text.trim().strip_prefix('-') {
            let ago = parse_duration(ago);
            let ago = ago.map_err(|e| Failure::usage(format!("--since {text}: {e}")))?;
            let now = Timestamp::from(std::time::SystemTime::now());
            return Ok(now.plus_seconds(-ago.nominal_seconds()));
        }
        let value = parse_when(text, here.now);
        let value = value.map_err(|e| Failure::usage(format!("--since {text}: {e}")))?;
        Ok::<_, Failure>(to_instant(value, &here.zone))
    });
    let since = since.transpose()?;
    let is_of = |step: &&Step| match &args.device {
        Some(device) => step.who.to_lowercase() == device.trim().to_lowercase(),
        None => true,
    };
    let is_late = |step: &&Step| since.is_none_or(|since| Timestamp::from(step.at) >= since);
    let is_done = |step: &&Step| args.list || !step.is_undo && step.undone_by.is_none();
    let most = match (args.count, args.list, since) {
        (Some(count), ..) => count,
        (None, true, None) => LISTED,
        (None, _, Some(_)) => usize::MAX,
        (None, false, None) => 1,
    };
    let chosen = all.iter().filter(is_of).filter(is_late).filter(is_done);
    let chosen: Vec<&Step> = chosen.take(most).collect();
    if !chosen.is_empty() || args.list && args.device.is_none() {
        return Ok(chosen);
    }
    let mut known: Vec<&str> = all.iter().map(|step| step.who.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    Err(Failure::NotFound(match &args.device {
        Some(device) if !known.is_empty() => format!(
            "there is nothing to undo of {}; changes were made by: {}",
            escape_text(device),
            one_line(&known.join(", "))
        ),
        _ => "there is nothing to undo".to_owned(),
    }))
}

fn list_steps(app: &mut App, steps: &[&Step], shows_all: bool) -> Result<()> {
    if steps.is_empty() && !app.out.json {
        return app.out.status("Nothing was done in the last 30 days.");
    }
    let zone = app.out.time_zone();
    let mut headings = vec!["#", "When", "Who", "What", "Changes"];
    if shows_all {
        headings.push("Undone by");
    }
    let mut table = Table::new(&headings);
    for step in steps {
        let (number, when) = (step.id.to_string(), format_minute(step.at, &zone));
        let changes = format_count(step.changes);
        let by = step.undone_by.map_or_else(String::new, |by| by.to_string());
        let cells = [&number, &when, &step.who, &step.what, &changes, &by];
        table.add_row(cells.iter().take(headings.len()).map(|cell| cell.as_str()));
    }
    app.out.write_table(&table, steps, |out, step| {
        let object = step_json(step, out);
        out.write_json(&object)
    })
}

fn step_json(step: &Step, out: &OutputWriter) -> impl Serialize + use<> {
    object! {
        step: step.id,
        at: iso_instant(step.at.into(), &out.time_zone()),
        who: step.who.clone(),
        what: step.what.clone(),
        changes: step.changes,
        is_undo: step.is_undo,
        undone_by: step.undone_by,
    }
}

/// Returns the word for an effect.
fn effect_word(effect: UndoEffect) -> &'static str {
    match effect {
        UndoEffect::Removed => "removed",
        UndoEffect::Restored => "restored",
        UndoEffect::ChangedBack => "changed back",
        UndoEffect::Unchanged => "unchanged",
        UndoEffect::Kept => "kept, changed since",
        UndoEffect::TooOld => "kept, too old",
    }
}

fn report_undo(app: &mut App, store: &Store, report: &UndoReport) -> Result<()> {
    let is_kept = |effect| matches!(effect, UndoEffect::Kept | UndoEffect::TooOld);
    let mut records = Vec::new();
    for record in &report.records {
        // All that are kept are named.
        let is_named = app.out.json || records.len() < NAMED || is_kept(record.effect);
        if is_named {
            records.push((record, title_of_undone(store, record)?));
        }
    }
    let kept = report.records.iter().filter(|r| is_kept(r.effect)).count()
        + report
            .collections
            .iter()
            .filter(|c| is_kept(c.effect))
            .count();
    if app.out.json {
        let steps = report.steps.iter();
        let steps: Vec<_> = steps.map(|step| step_json(step, &app.out)).collect();
        let records: Vec<_> = records
            .iter()
            .map(|(record, title)| {
                object! {
                    id: record.id.0,
                    kind: record.kind.to_string(),
                    uid: record.uid.clone(),
                    name: title.clone(),
                    effect: effect_word(record.effect),
                }
            })
            .collect();
        let collections: Vec<_> = report
            .collections
            .iter()
            .map(|undone| {
                object! { kind: undone.kind.to_string(), name: undone.name.clone(), effect: effect_word(undone.effect) }
            })
            .collect();
        app.out.write_json(&object! {
            step: report.step,
            undone: steps,
            records: records,
            collections: collections,
        })?;
    } else {
        let zone = app.out.time_zone();
        for step in &report.steps {
            let what = match step.what.as_str() {
                "" => String::new(),
                what => format!("{what}, "),
            };
            app.out.status(one_line(&format!(
                "Undid {}: {what}by {}, {}",
                step.id,
                step.who,
                format_minute(step.at, &zone)
            )))?;
        }
        for one in &report.collections {
            let line = format!("  {}: {} {}", effect_word(one.effect), one.kind, one.name);
            app.out.status(one_line(&line))?;
        }
        for (record, title) in &records {
            let line = format!("  {}: {} {title}", effect_word(record.effect), record.id);
            app.out.status(one_line(&line))?;
        }
        let more = report.records.len() - records.len();
        if more > 0 {
            app.out
                .status(format!("  and {}", pluralize(more as u64, "other record")))?;
        }
        if let Some(step) = report.step {
            app.out
                .status(format!("To do it again: etui undo {step}"))?;
        }
    }
    match kept {
        0 => Ok(()),
        _ => Err(Failure::Conflict(format!(
            "{} as changed since, or too old; nothing of them was undone",
            match kept {
                1 => "1 record or collection was kept".to_owned(),
                n => format!(
                    "{} records and collections were kept",
                    format_count(n as u64)
                ),
            }
        ))),
    }
}

/// Returns the display name of a record of an undo.
fn title_of_undone(store: &Store, record: &UndoneRecord) -> Result<String> {
    match record.kind {
        CollectionKind::Calendar => title_of::<CalendarObject>(store, record),
        _ => title_of::<Card>(store, record),
    }
}

fn title_of<R: RecordCommands>(store: &Store, record: &UndoneRecord) -> Result<String> {
    // A removed collection has no names to show.
    let Ok(all) = store.collection::<R>(CollectionKey::Id(record.collection)) else {
        return Ok(record.uid.clone());
    };
    let live = all.get(&record.uid)?;
    let stored = match live {
        Some(stored) => Some(stored),
        None => {
            let versions = all.history(&record.uid)?;
            let latest = versions.first().map(|version| all.read_version(version));
            latest.transpose()?.flatten()
        }
    };
    Ok(stored.map_or_else(|| record.uid.clone(), |stored| stored_title(&stored)))
}
