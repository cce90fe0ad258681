//! `etui contacts merge`: several contacts into one.

use etui::SaveOutcome;
use etui::contacts::{Card, Contact, MergedCard};
use etui_program::output::{escape_text, object, one_line};
use etui_program::{App, Result};

use crate::commands::records::selection::number_of;
use crate::commands::records::text_diff::{diff_texts, write_diff};
use crate::commands::records::{
    collection_of, resolve_once, resolve_record, stored_title, title_of, undo_hint,
};
use crate::json::record_change_json;

const EXAMPLES: &str = "\
Examples:
  etui contacts duplicates                   find contacts to merge
  etui contacts merge 17 301 --dry-run       show what contact 17 would get
  etui contacts merge 17 301 302             into the first one, 17

The first contact gets all properties of the others that it does not have: phone numbers, addresses,
photos, labels, unknown lines, with their types and groups. A value that it has is not repeated. If
a property of which there is one differs (name, birthday), its value stays, and the other goes into
a note. The others are moved to the trash; their UID, REV and PRODID are not taken. Groups and
relations of other contacts that name them (MEMBER, RELATED) name the first one from then on.";

/// Merge contacts into one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct MergeArgs {
    /// Numbers, UIDs, or names of which there is one match; the first one stays
    #[arg(value_name = "ID|NAME", required = true, num_args = 2..)]
    ids: Vec<String>,
    /// Show the changes, and make none
    #[arg(long)]
    dry_run: bool,
}

pub fn merge_contacts(app: &mut App, args: &MergeArgs) -> Result<()> {
    let store = match args.dry_run {
        true => app.open_to_read()?,
        false => app.open_to_write()?,
    };
    let ids = args.ids.iter();
    let ids = ids.map(|id| number_of::<Card>(app, &store, id));
    let ids = ids.collect::<Result<Vec<String>>>()?;
    let book = collection_of::<Card>(app, &store, &ids)?;
    let contacts = resolve_once(&ids, |id| resolve_record(&book, id))?;
    let Some((first, others)) = contacts.split_first().filter(|(_, o)| !o.is_empty()) else {
        return Err(etui::Error::NothingToMerge.into());
    };
    if args.dry_run {
        return report_preview(app, first, others, &book.preview_merge(&contacts)?);
    }
    let result = book.merge(&contacts)?;
    let name = title_of(&result.merged.card);
    let saved = &result.saved;
    if app.out.json {
        let etag = Some(saved.etag);
        app.out.write_json(&object! {
            #[serde(flatten)] change: record_change_json(saved.id, &first.uid, etag, &name, "merged"),
            merged: others.iter().map(|other| other.id.0).collect::<Vec<_>>(),
            left_out: &result.merged.left_out,
            repaired: result.repaired.iter().map(|other| other.id.0).collect::<Vec<_>>(),
        })?;
        return Ok(store.close()?);
    }
    for other in others {
        let title = stored_title(other);
        let text = format!(
            "Merged {} ({}) into {}",
            other.id,
            one_line(&title),
            first.id
        );
        app.out.status(format!("{text}: {}", one_line(&name)))?;
    }
    for other in &result.repaired {
        let title = stored_title(other);
        let (id, title) = (other.id, one_line(&title));
        app.out.status(format!(
            "Changed {id} ({title}), which named a merged contact"
        ))?;
    }
    let changed = (saved.outcome != SaveOutcome::Unchanged).then_some(first.id);
    let changed = changed
        .into_iter()
        .chain(others.iter().map(|other| other.id))
        .chain(result.repaired.iter().map(|other| other.id));
    app.out.status(undo_hint::<Card>(changed))?;
    Ok(store.close()?)
}

/// Writes the lines that the first contact would get, and those that are not taken.
fn report_preview(
    app: &mut App,
    first: &Contact,
    others: &[Contact],
    merged: &MergedCard,
) -> Result<()> {
    let name = title_of(&merged.card);
    if app.out.json {
        let change = record_change_json(first.id, &first.uid, None, &name, "would_merge");
        return app.out.write_json(&object! {
            #[serde(flatten)] change: change,
            merged: others.iter().map(|other| other.id.0).collect::<Vec<_>>(),
            left_out: &merged.left_out,
            vcard: String::from_utf8_lossy(merged.card.text()),
        });
    }
    for other in others {
        let title = stored_title(other);
        let text = format!(
            "Would merge {} ({}) into {}",
            other.id,
            one_line(&title),
            first.id
        );
        app.out.status(format!("{text}: {}", one_line(&name)))?;
    }
    write_diff(&mut app.out, &diff_texts(&first.text, merged.card.text()))?;
    for line in &merged.left_out {
        app.out
            .status(format!("Not taken: {}", escape_text(line)))?;
    }
    Ok(())
}
