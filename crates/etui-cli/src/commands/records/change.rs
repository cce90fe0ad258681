//! Edits of a record's text, from a file or in an editor. An edited text is never lost.

use std::io::Read;
use std::path::Path;

use etui::record::{Collection, StoredRecord};
use etui::{Condition, ETag, SaveOutcome, SavedRecord};
use etui_contentline::charset::to_utf8_bytes;
use etui_program::output::one_line;
use etui_program::{App, Failure, Result};

use super::editor::EditFile;
use super::{RecordCommands, count_of, explain_conflict, report_saved, title_of, undo_hint};
use crate::json::record_change_json;

/// Replaces the ETag of the record by the one given with `--if-match`.
pub fn expect_etag<R>(record: &mut StoredRecord<R>, etag: Option<&str>) -> Result<()> {
    if let Some(etag) = etag {
        record.etag = etag
            .parse::<ETag>()
            .map_err(|e| Failure::usage(format!("--if-match {etag}: {e}")))?;
    }
    Ok(())
}

/// Reads a file; `-` is standard input.
pub fn read_input(file: &Path) -> Result<Vec<u8>> {
    if file != Path::new("-") {
        return std::fs::read(file).map_err(|e| Failure::io(file, e));
    }
    let mut text = Vec::new();
    let read = std::io::stdin().read_to_end(&mut text);
    read.map_err(|e| Failure::named_io("standard input", e))?;
    Ok(text)
}

/// Replaces a record by the one in a file.
pub fn replace_from_file<R: RecordCommands>(
    all: &Collection<R>,
    record: &StoredRecord<R>,
    id: &str,
    file: &Path,
) -> Result<(R, SavedRecord)> {
    let new = R::parse_text(read_input(file)?, Some((all, record.id)))?;
    if let Some(problem) = R::find_typing_error(new.text(), &record.text) {
        return Err(Failure::Refused(problem));
    }
    save_changed(all, record, id, new)
}

/// Saves a changed record if its ETag still matches.
pub fn save_changed<R: RecordCommands>(
    all: &Collection<R>,
    record: &StoredRecord<R>,
    id: &str,
    new: R,
) -> Result<(R, SavedRecord)> {
    let new = keep_identity(record, new)?;
    let saved = all
        .save((&new, Condition::IfMatch(record.etag)))
        .map_err(|e| explain_conflict::<R>(e, id, None))?;
    Ok((new, saved))
}

/// Checks that a changed record keeps its UID.
pub fn keep_identity<R: RecordCommands>(record: &StoredRecord<R>, mut new: R) -> Result<R> {
    if new.text() == record.text {
        return Ok(new);
    }
    let had_uid = R::parse_text(record.text.clone(), None).is_ok_and(|r| r.uid().is_some());
    match new.uid() {
        Some(uid) if uid == record.uid => Ok(new),
        // The identity was derived from the old content, so it is written as a UID.
        None if !had_uid => {
            new.set_uid(&record.uid)?;
            Ok(new)
        }
        found => Err(Failure::Refused(format!(
            "the UID identifies the {one} and cannot change: it is {}, the text has {}. \
             To add another {one}: {}",
            record.uid,
            found.unwrap_or("none"),
            R::ADD_COMMAND,
            one = R::ONE,
        ))),
    }
}

/// Opens the text of a record in the editor.
pub fn edit_in_editor<R: RecordCommands>(
    app: &mut App,
    all: &Collection<R>,
    record: &StoredRecord<R>,
    id: &str,
) -> Result<(R, SavedRecord)> {
    let (format, command) = (R::FORMAT, R::COMMAND);
    let text = to_utf8_bytes(&record.text);
    if text.as_ref() != record.text {
        app.out.write_note(&format!(
            "this {format} is not in UTF-8; it is converted when you change it"
        ));
    }
    let mut file = EditFile::create(&text, R::SUFFIX)?;
    let Some(edited) = file.run_editor()? else {
        let unchanged = SavedRecord {
            id: record.id,
            etag: record.etag,
            outcome: SaveOutcome::Unchanged,
        };
        return Ok((R::parse_text(record.text.clone(), None)?, unchanged));
    };
    let new = parse_edited(all, record, &edited).map_err(|failure| {
        let file = file.keep_file();
        Failure::Refused(format!(
            "{failure}\nNothing was changed. Your text is kept in {file}; to continue:\n  \
             $EDITOR {file}\n  etui {command} edit {id} --from {file} --if-match {}",
            record.etag
        ))
    })?;
    match all.save((&new, Condition::IfMatch(record.etag))) {
        Ok(saved) => Ok((new, saved)),
        Err(error) => {
            let file = file.keep_file();
            Err(explain_conflict::<R>(error, id, Some(&file)))
        }
    }
}

/// Parses the edited text of a record, which keeps its UID.
pub fn parse_edited<R: RecordCommands>(
    all: &Collection<R>,
    record: &StoredRecord<R>,
    edited: &[u8],
) -> Result<R> {
    if let Some(problem) = R::find_typing_error(edited, &to_utf8_bytes(&record.text)) {
        return Err(Failure::Refused(problem));
    }
    let new = R::parse_text(edited.to_owned(), Some((all, record.id)))?;
    keep_identity(record, new)
}

/// Reports the outcome of a change.
pub fn report_change<R: RecordCommands>(
    app: &mut App,
    record: &StoredRecord<R>,
    new: &R,
    saved: &SavedRecord,
) -> Result<()> {
    report_saved(&mut app.out, new, saved, &record.uid, |name| {
        match saved.outcome {
            SaveOutcome::Unchanged => format!("Unchanged: {} {name}", saved.id),
            _ => format!(
                "Changed {id}: {name} (undo: etui {} restore {id})",
                R::COMMAND,
                id = saved.id
            ),
        }
    })
}

/// Saves several records of a collection in one transaction, all or, on an error, none, and reports
/// them. Those whose text is the same are only counted. With `dry_run`, nothing is saved.
pub fn save_several<R: RecordCommands>(
    app: &mut App,
    all: &Collection<R>,
    records: Vec<(&StoredRecord<R>, R)>,
    dry_run: bool,
) -> Result<()> {
    let total = records.len();
    let changed = records.into_iter();
    let changed = changed.filter(|(record, new)| new.text() != record.text);
    let changed = changed.map(|(record, new)| Ok((record, keep_identity(record, new)?)));
    let changed = changed.collect::<Result<Vec<_>>>()?;
    if !dry_run {
        let each = changed.iter();
        let each = each.map(|(record, new)| (new, Condition::IfMatch(record.etag)));
        all.save_many(each)?;
    }
    let (outcome, done) = match dry_run {
        true => ("would_change", "Would change"),
        false => ("changed", "Changed"),
    };
    for (record, new) in &changed {
        let etag = (!dry_run).then(|| ETag::of(new.text()));
        let name = title_of(new);
        let object = record_change_json(record.id, &record.uid, etag, &name, outcome);
        let text = format!("{done} {}: {}", record.id, one_line(&name));
        app.out.report(&object, text)?;
    }
    let unchanged = total - changed.len();
    if unchanged > 0 {
        let unchanged = count_of::<R>(unchanged as u64);
        app.out.status(format!("Unchanged: {unchanged}"))?;
    }
    match dry_run || changed.is_empty() {
        true => Ok(()),
        false => app
            .out
            .status(undo_hint::<R>(changed.iter().map(|(r, _)| r.id))),
    }
}

/// Describes the first line without a colon that is not in `before`. `format` has its article.
pub fn find_line_without_colon(format: &str, text: &[u8], before: &[u8]) -> Option<String> {
    let (text, before) = (
        String::from_utf8_lossy(text),
        String::from_utf8_lossy(before),
    );
    let lacks_colon = |line: &str| {
        !line.trim().is_empty() && !line.starts_with([' ', '\t']) && !line.contains(':')
    };
    let known: Vec<&str> = before.lines().filter(|l| lacks_colon(l)).collect();
    text.lines()
        .enumerate()
        .find(|(_, line)| lacks_colon(line) && !known.contains(line))
        .map(|(number, line)| {
            let start: String = line.chars().take(40).collect();
            format!(
                "line {}: \"{}\" has no colon; a line of {format} is NAME:VALUE, a continuation \
                 line begins with a space",
                number + 1,
                one_line(&start)
            )
        })
}
