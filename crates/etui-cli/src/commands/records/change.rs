//! A record's text, changed: by a file, or in the person's editor; nothing that was typed is lost.

use std::io::Read;
use std::path::Path;

use etui::record::{Collection, StoredRecord};
use etui::{Condition, ETag, SaveOutcome, SavedRecord};

use super::{RecordCommands, editor, explain_conflict, named};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::RecordChangeObject;
use crate::output::one_line;

/// Takes the ETag that the record shall still have.
pub fn expect<R>(record: &mut StoredRecord<R>, etag: Option<&str>) -> Result<()> {
    if let Some(etag) = etag {
        record.etag = etag
            .parse::<ETag>()
            .map_err(|e| Failure::usage(format!("--if-match {etag}: {e}")))?;
    }
    Ok(())
}

/// The bytes of a file; `-` is standard input.
pub fn read(file: &Path) -> Result<Vec<u8>> {
    Ok(if file == Path::new("-") {
        let mut text = Vec::new();
        std::io::stdin()
            .read_to_end(&mut text)
            .map_err(|e| Failure::named_io("standard input", e))?;
        text
    } else {
        std::fs::read(file).map_err(|e| Failure::io(file, e))?
    })
}

/// Replaces the record by the one in a file.
pub fn from_file<R: RecordCommands>(
    all: &Collection<'_, R>,
    record: &StoredRecord<R>,
    id: &str,
    file: &Path,
) -> Result<(R, SavedRecord)> {
    let new = R::parse_for(read(file)?, all, record.id)?;
    if let Some(odd) = R::odd_line(new.bytes(), &record.text) {
        return Err(Failure::Refused(odd));
    }
    save(all, record, id, new)
}

/// Saves a changed record in the place of the one it was.
pub fn save<R: RecordCommands>(
    all: &Collection<'_, R>,
    record: &StoredRecord<R>,
    id: &str,
    new: R,
) -> Result<(R, SavedRecord)> {
    let new = same_record(record, new)?;
    let saved = all
        .save_if(&new, Condition::IfMatch(record.etag))
        .map_err(|e| explain_conflict::<R>(e, id, None))?;
    Ok((new, saved))
}

/// Makes sure that a changed record is still the same one.
fn same_record<R: RecordCommands>(record: &StoredRecord<R>, mut new: R) -> Result<R> {
    if new.bytes() == record.text {
        return Ok(new);
    }
    let had_uid = R::parse(record.text.clone()).is_ok_and(|r| r.own_uid().is_some());
    match new.own_uid() {
        Some(uid) if uid == record.uid => Ok(new),
        // Its identity came from its content, which is another one now; it is written down.
        None if !had_uid => {
            new.set_uid(&record.uid)?;
            Ok(new)
        }
        found => Err(Failure::Refused(format!(
            "the UID is what the {one} is known by, and cannot change: it is {}, the text has {}. \
             For another {one}: {}",
            record.uid,
            found.unwrap_or("none"),
            R::ANOTHER,
            one = R::ONE,
        ))),
    }
}

/// Lets the person edit the text.
pub fn in_editor<R: RecordCommands>(
    app: &mut App,
    all: &Collection<'_, R>,
    record: &StoredRecord<R>,
    id: &str,
) -> Result<(R, SavedRecord)> {
    let (format, command) = (R::FORMAT, R::COMMAND);
    let text = editor::readable(&record.text);
    if text.as_ref() != record.text {
        app.out.note(&format!(
            "this {format} is in an old charset; when it is changed it becomes UTF-8"
        ));
    }
    let Some(edited) = editor::edit(&text, R::SUFFIX)? else {
        let unchanged = SavedRecord {
            id: record.id,
            etag: record.etag,
            outcome: SaveOutcome::Unchanged,
        };
        return Ok((R::parse(record.text.clone())?, unchanged));
    };
    let parsed = match R::odd_line(&edited.bytes, &text) {
        Some(odd) => Err(Failure::Refused(odd)),
        None => R::parse_for(edited.bytes.clone(), all, record.id)
            .and_then(|new| same_record(record, new)),
    };
    let new = match parsed {
        Ok(new) => new,
        Err(failure) => {
            let file = edited.keep()?;
            return Err(Failure::Refused(format!(
                "{failure}\nNothing was changed. Your text is kept in {file}; to go on:\n  \
                 $EDITOR {file}\n  etui {command} edit {id} --from {file} --if-match {}",
                record.etag
            )));
        }
    };
    match all.save_if(&new, Condition::IfMatch(record.etag)) {
        Ok(saved) => Ok((new, saved)),
        Err(error) => {
            let file = edited.keep()?;
            Err(explain_conflict::<R>(error, id, Some(&file)))
        }
    }
}

/// Tells what became of a change.
pub fn tell<R: RecordCommands>(
    app: &mut App,
    record: &StoredRecord<R>,
    new: &R,
    saved: &SavedRecord,
) -> Result<()> {
    let name = new.title();
    if app.out.json {
        return app
            .out
            .object(&RecordChangeObject::saved(saved, &record.uid, &name));
    }
    let name = named::<R>(name);
    let name = one_line(&name);
    match saved.outcome {
        SaveOutcome::Unchanged => app.out.say(format!("Nothing changed: {} {name}", saved.id)),
        _ => app.out.say(format!(
            "Changed {}: {name} (undo: etui {} restore {})",
            saved.id,
            R::COMMAND,
            saved.id
        )),
    }
}

/// The first line that has no colon and was not there before, in words; `format` with its article.
pub fn line_without_colon(format: &str, text: &[u8], before: &[u8]) -> Option<String> {
    let (text, before) = (
        String::from_utf8_lossy(text),
        String::from_utf8_lossy(before),
    );
    let odd = |line: &str| {
        !line.trim().is_empty() && !line.starts_with([' ', '\t']) && !line.contains(':')
    };
    let known: Vec<&str> = before.lines().filter(|l| odd(l)).collect();
    text.lines()
        .enumerate()
        .find(|(_, line)| odd(line) && !known.contains(line))
        .map(|(number, line)| {
            let start: String = line.chars().take(40).collect();
            format!(
                "line {}: \"{}\" has no colon; a line of {format} is NAME:VALUE, a line that goes \
                 on begins with a space",
                number + 1,
                one_line(&start)
            )
        })
}
