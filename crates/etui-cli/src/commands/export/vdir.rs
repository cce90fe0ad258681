//! `etui export --vdir`: collections as folders with a file per record (vdir).
//!
//! ```text
//! records ── bytes ── as in the folder?    unchanged, not written
//!                     else                 hidden part files ── flush ── rename
//! ```
//!
//! A file that another program changed since the last export or import is kept and named, unless
//! `--force` is given; so is one without a record, unless `--delete` is given.

mod folder;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use etui::calendar::{CalendarObject, Color};
use etui::contacts::Card;
use etui::record::Reader;
use etui::{RecordId, Snapshot};
use etui_contentline::charset::detect_utf16;
use etui_contentline::edit::line_ending;

use self::folder::{FolderWriter, WriteCounts};
use super::{ExportArgs, for_each_record, select_records, with_uid};
use crate::app::App;
use crate::commands::records::RecordCommands;
use crate::commands::vdir::names::folder_name;
use crate::commands::vdir::{DISPLAY_NAME, list_folders, read_property};
use crate::errors::{Failure, Result};
use crate::output::json::object;
use crate::output::{OutputWriter, escape_text, format_count, one_line, pluralize};

/// Records that are written as items of folders.
pub trait ItemRecord: RecordCommands {
    /// Returns the UID of the record in a file; `None` if it has not exactly one record.
    fn file_uid(bytes: &[u8]) -> Option<String>;

    /// Returns the bytes of the file for a record.
    fn file_bytes(
        reader: &Reader<'_, Self>,
        id: RecordId,
        text: &[u8],
        as_v4: bool,
    ) -> Result<Vec<u8>>;

    /// Returns the colour of the collection.
    fn color(reader: &Reader<'_, Self>) -> Result<Option<Color>>;
}

impl ItemRecord for Card {
    fn file_uid(bytes: &[u8]) -> Option<String> {
        use etui::record::RecordKind;
        Some(Card::parse(bytes).ok()?.identity().into_owned())
    }

    fn file_bytes(_: &Reader<'_, Self>, _: RecordId, text: &[u8], as_v4: bool) -> Result<Vec<u8>> {
        let original = Card::parse(text)?;
        let utf8 = match detect_utf16(text) {
            Some(utf16) => Cow::Owned(
                utf16
                    .decode_without_bom_handling(text)
                    .0
                    .into_owned()
                    .into_bytes(),
            ),
            None => Cow::Borrowed(text),
        };
        let mut card = Card::parse(utf8.into_owned())?;
        if as_v4 {
            card = Card::parse(card.to_v4())?;
        }
        // An item has a UID.
        let mut bytes = with_uid(card, &original)?.into_text();
        if !bytes.ends_with(b"\n") {
            bytes.extend(line_ending(&bytes).to_vec());
        }
        Ok(bytes)
    }

    fn color(_: &Reader<'_, Self>) -> Result<Option<Color>> {
        Ok(None)
    }
}

impl ItemRecord for CalendarObject {
    fn file_uid(bytes: &[u8]) -> Option<String> {
        use etui::calendar::ics::{ObjectPiece, ObjectReader};
        use etui::calendar::zones::TimeZoneResolver;
        use etui::record::RecordKind;
        let mut text = Vec::new();
        for piece in ObjectReader::new(bytes) {
            if let ObjectPiece::Component(component) = piece.ok()? {
                text.extend(component.bytes);
            }
        }
        let object = CalendarObject::parse(text, &TimeZoneResolver::new()).ok()?;
        Some(object.identity().into_owned())
    }

    fn file_bytes(reader: &Reader<'_, Self>, id: RecordId, _: &[u8], _: bool) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        reader.export(&mut bytes, Some(&[id]))?;
        if !bytes.ends_with(b"\n") {
            bytes.extend(line_ending(&bytes).to_vec());
        }
        Ok(bytes)
    }

    fn color(reader: &Reader<'_, Self>) -> Result<Option<Color>> {
        Ok(reader.color()?)
    }
}

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
        let counts = export_folder::<R>(app, args, &snapshot, name, &folder, is_one)?;
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
    match total.kept {
        0 => Ok(()),
        kept => Err(Failure::Conflict(format!(
            "{} changed by another program and not imported; import the folder first, or replace \
             with --force",
            match kept {
                1 => "1 file was".to_owned(),
                n => format!("{} files were", format_count(n)),
            }
        ))),
    }
}

/// Formats `contacts/Work: 3 contacts written, 12 unchanged, 1 removed (Work)`.
fn describe(folder: &str, collection: &str, one: &str, counts: &WriteCounts) -> String {
    let mut parts = vec![format!("{} written", pluralize(counts.written, one))];
    for (n, what) in [
        (counts.unchanged, "unchanged"),
        (counts.removed, "removed"),
        (counts.kept, "kept"),
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
    snapshot: &Snapshot<'_>,
    name: &str,
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
    let as_v4 = args.vcard_version == "4.0";
    let mut writer = FolderWriter::open::<R>(folder, args.force)?;
    let color = match chosen.first() {
        Some((reader, _)) => R::color(reader)?,
        None => None,
    };
    for_each_record(&chosen, |reader, id, text| {
        let Some(stored) = reader.by_id(id)? else {
            return Ok(());
        };
        let bytes = R::file_bytes(reader, id, text, as_v4)?;
        writer.write(&stored.uid, bytes)
    })?;
    let is_all = args.filter.is_empty();
    // As other programs write it.
    let color = color.map(|color| color.to_string().to_ascii_uppercase());
    let (counts, kept) = writer.finish(name, color.as_deref(), is_all, args.delete)?;
    report_kept(&mut app.out, folder, &kept);
    Ok(Some(counts))
}

/// Names the files that were kept.
fn report_kept(out: &mut OutputWriter, folder: &Path, kept: &[String]) {
    for name in kept {
        let path = folder.join(name).display().to_string();
        out.write_error_line(&one_line(&format!(
            "{path}: changed since the last export or import, kept"
        )));
    }
}
