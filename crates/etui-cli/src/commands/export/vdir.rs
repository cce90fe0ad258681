//! `etui export --vdir`: collections as folders with a file per record (vdir).
//!
//! ```text
//! records ── bytes ── as in the folder?    unchanged, not written
//!                     else                 hidden part files ── flush ── rename
//! ```
//!
//! A file that another program changed since the last export or import is kept and named, unless
//! `--force` is given; so is one without a record, unless `--delete` is given. One that another program
//! removed is named and not written again.

mod folder;

use std::path::{Path, PathBuf};

use etui::{RecordId, Snapshot};
use etui_program::output::{OutputWriter, escape_text, format_count, object, one_line, pluralize};
use etui_program::{App, Failure, Result};

use self::folder::{FolderWriter, WriteCounts, WrittenFolder};
use super::{ExportArgs, for_each_record, select_records};
use crate::commands::vdir::item::ItemRecord;
use crate::commands::vdir::ledger::collection_home;
use crate::commands::vdir::names::folder_name;
use crate::commands::vdir::{DISPLAY_NAME, list_folders, read_property};

/// Exports the selected collection into the folder, or each of several into a folder in it.
pub fn export_folders<R: ItemRecord>(app: &mut App, args: &ExportArgs, root: &Path) -> Result<()> {
    if args.delete && !args.filter.is_empty() {
        return Err(Failure::usage(
            "--delete removes the files of all records that are not exported; leave out the filter",
        ));
    }
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let readers = app.readers_in::<R>(&snapshot)?;
    let names: Vec<String> = readers.into_iter().map(|(name, _)| name).collect();
    let is_one = app.collection_name::<R>().is_some();
    let mut total = WriteCounts::default();
    for name in &names {
        let folder = match is_one {
            true => root.to_owned(),
            false => find_folder(root, name)?,
        };
        let id = store.collection::<R>(name)?.id();
        let home = collection_home(&store, id)?;
        let counts = export_folder::<R>(app, args, &snapshot, (name, home), &folder, is_one)?;
        let Some(counts) = counts else { continue };
        let shown = folder.display().to_string();
        if app.out.json {
            app.out.write_json(&object! {
                folder: shown,
                collection: name,
                written: counts.written,
                unchanged: counts.unchanged,
                removed: counts.removed,
                kept: counts.kept,
                without_record: counts.stale,
                gone: counts.gone,
            })?;
        } else {
            app.out.status(describe(&shown, name, R::ONE, &counts))?;
        }
        total.add(&counts);
    }
    if total.stale > 0 {
        app.out.write_note(&format!(
            "{} without a record; --delete removes them",
            pluralize(total.stale, "file")
        ));
    }
    let files = |n: u64| match n {
        1 => "1 file was".to_owned(),
        n => format!("{} files were", format_count(n)),
    };
    let mut problems = Vec::new();
    if total.kept > 0 {
        problems.push(format!(
            "{} changed by another program and not imported; import the folder first, or replace \
             with --force",
            files(total.kept)
        ));
    }
    if total.gone > 0 {
        problems.push(format!(
            "{} removed by another program and not written again; to remove the records too: \
             etui import --delete FOLDER; to write the files again: --force",
            files(total.gone)
        ));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::Conflict(problems.join("; "))),
    }
}

/// Formats `contacts/Work: 3 contacts written, 12 unchanged, 1 removed (Work)`.
fn describe(folder: &str, collection: &str, noun: &str, counts: &WriteCounts) -> String {
    let mut parts = vec![format!("{} written", pluralize(counts.written, noun))];
    for (n, what) in [
        (counts.unchanged, "unchanged"),
        (counts.removed, "removed"),
        (counts.kept, "kept"),
        (counts.gone, "not written again"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", format_count(n)));
        }
    }
    format!(
        "{}: {} ({})",
        escape_text(folder),
        parts.join(", "),
        one_line(collection)
    )
}

/// Returns the folder of a collection in `root`: the one that has its name in `displayname`, or else
/// the one for its name.
fn find_folder(root: &Path, collection: &str) -> Result<PathBuf> {
    if root.is_dir() {
        for folder in list_folders(root)? {
            if read_property(&folder, DISPLAY_NAME)?.as_deref() == Some(collection) {
                return Ok(folder);
            }
        }
    }
    Ok(root.join(folder_name(collection)))
}

/// Exports a collection; `None` if it has no record that matches the filter.
fn export_folder<R: ItemRecord>(
    app: &mut App,
    args: &ExportArgs,
    snapshot: &Snapshot,
    (name, home): (&str, String),
    folder: &Path,
    is_one: bool,
) -> Result<Option<WriteCounts>> {
    let chosen = match is_one {
        true => select_records::<R>(app, snapshot, &args.filter)?,
        false => {
            let all = select_records::<R>(app, snapshot, &args.filter)?;
            let readers = app.readers_in::<R>(snapshot)?;
            let named = readers.into_iter().zip(all);
            let named = named.filter(|((reader, _), _)| reader == name);
            named.map(|(_, selection)| selection).collect()
        }
    };
    let is_empty = |ids: &Option<Vec<RecordId>>| ids.as_ref().is_some_and(Vec::is_empty);
    if chosen.iter().all(|(_, ids)| is_empty(ids)) {
        return Ok(None);
    }
    let mut writer = FolderWriter::open::<R>(folder, home, args.force)?;
    let color = match chosen.first() {
        Some((reader, _)) => R::color(reader)?,
        None => None,
    };
    for_each_record(&chosen, |reader, id, text| {
        let Some(stored) = reader.get(id)? else {
            return Ok(());
        };
        let bytes = R::file_bytes(reader, id, text, args.vcard_version)?;
        writer.write(&stored.uid, bytes)
    })?;
    let is_all = args.filter.is_empty();
    // As other programs write it.
    let color = color.map(|color| color.to_string().to_ascii_uppercase());
    let written = writer.finish(name, color.as_deref(), is_all, args.delete)?;
    report_kept(&mut app.out, folder, &written);
    Ok(Some(written.counts))
}

/// Names the files that were kept, and those that were not written again.
fn report_kept(out: &mut OutputWriter, folder: &Path, written: &WrittenFolder) {
    let kept = written.kept.iter().map(|name| {
        let reason = "changed since the last export or import, kept";
        (name, reason)
    });
    let gone = written.gone.iter().map(|name| {
        let reason = "removed by another program, not written again";
        (name, reason)
    });
    for (name, reason) in kept.chain(gone) {
        let path = folder.join(name).display().to_string();
        out.write_error_line(&one_line(&format!("{path}: {reason}")));
    }
}
