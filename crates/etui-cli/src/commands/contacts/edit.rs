//! `etui contacts edit`: changes a contact, by options or in an editor.

use std::path::PathBuf;

use etui::contacts::{Card, Contact, Contacts};
use etui::{Condition, ETag, Outcome, Saved};

use super::property::{Assignment, Removal};
use super::{add, editor, explain_conflict, resolve};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::DoneObject;
use crate::output::one_line;

const EXAMPLES: &str = "\
Examples:
  etui contacts edit 17                                  in your editor ($VISUAL, $EDITOR)
  etui contacts edit 17 --set phone=\"+44 20 7946 0123\"
  etui contacts edit 17 --add email:work=ada@example.org --remove note
  etui contacts edit 17 --remove phone=555-0100
  etui contacts edit 17 --from ada.vcf                   replace the whole vCard

--set changes the first property of its name, or adds it. Removals are done first, then --set, then
--add. All other lines of the vCard stay as they are. Names of properties: see
`etui contacts add --help`. `etui contacts restore 17` undoes it.";

/// Change a contact
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number or UID
    #[arg(value_name = "ID")]
    id: String,
    /// Change a property, or add it
    #[arg(long, value_name = "PROP=VALUE")]
    set: Vec<Assignment>,
    /// Add a property
    #[arg(long, value_name = "PROP=VALUE")]
    add: Vec<Assignment>,
    /// Remove a property, all of that name or the one with that value
    #[arg(long, value_name = "PROP[=VALUE]")]
    remove: Vec<Removal>,
    /// Replace the vCard by the one in this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["set", "add", "remove"])]
    from: Option<PathBuf>,
    /// Only if the contact still has this ETag
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

/// Changes it.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_write()?;
    let book = app.book(&store)?;
    let mut contact = resolve(&book, &args.id)?;
    if let Some(etag) = &args.if_match {
        contact.etag = etag
            .parse::<ETag>()
            .map_err(|e| Failure::usage(format!("--if-match {etag}: {e}")))?;
    }
    let by_options = !(args.set.is_empty() && args.add.is_empty() && args.remove.is_empty());
    let (card, saved) = if let Some(file) = &args.from {
        let card = add::read(file)?;
        if let Some(odd) = odd_line(card.text(), &contact.text) {
            return Err(Failure::Refused(odd));
        }
        let card = same_contact(&contact, card)?;
        let saved =
            save(&book, &card, &contact).map_err(|e| explain_conflict(e, &args.id, None))?;
        (card, saved)
    } else if by_options {
        let card = changed(&contact, args)?;
        let saved =
            save(&book, &card, &contact).map_err(|e| explain_conflict(e, &args.id, None))?;
        (card, saved)
    } else {
        match in_editor(app, &book, &contact, &args.id)? {
            Some(done) => done,
            None => {
                let etag = contact.etag;
                let unchanged = Saved {
                    id: contact.id,
                    etag,
                    outcome: Outcome::Unchanged,
                };
                (contact.card()?, unchanged)
            }
        }
    };
    store.close()?;
    let name = card.display_name();
    if app.out.json {
        return app
            .out
            .object(&DoneObject::saved(&saved, &contact.uid, &name));
    }
    let name = one_line(&name);
    match saved.outcome {
        Outcome::Unchanged => app.out.say(format!("Nothing changed: {} {name}", saved.id)),
        _ => app.out.say(format!(
            "Changed {}: {name} (undo: etui contacts restore {})",
            saved.id, saved.id
        )),
    }
}

fn save(book: &Contacts<'_>, card: &Card, contact: &Contact) -> etui::Result<Saved> {
    book.save_if(card, Condition::IfMatch(contact.etag))
}

/// The card with the options' changes.
fn changed(contact: &Contact, args: &Args) -> Result<Card> {
    let mut card = contact.card()?;
    for removal in &args.remove {
        if card.remove(&removal.name, removal.value.as_deref())? == 0 {
            let value = removal
                .value
                .as_ref()
                .map_or_else(String::new, |v| format!(" {v}"));
            return Err(Failure::NotFound(format!(
                "contact {} has no {}{value}; nothing was changed",
                contact.id, removal.name
            )));
        }
    }
    for Assignment(property) in &args.set {
        if property.types.is_empty() {
            card.set(&property.name, &property.value)?;
        } else if card.property(&property.name).is_none() {
            card.add(property)?;
        } else {
            return Err(Failure::usage(format!(
                "--set {} keeps the types that are there; leave them out, or use --add",
                property.name
            )));
        }
    }
    for Assignment(property) in &args.add {
        card.add(property)?;
    }
    same_contact(contact, card)
}

/// Makes sure that a changed card is still the same contact's.
fn same_contact(contact: &Contact, mut card: Card) -> Result<Card> {
    if card.text() == contact.text {
        return Ok(card);
    }
    let had_uid = contact.card().is_ok_and(|c| c.uid().is_some());
    match card.uid() {
        Some(uid) if uid == contact.uid => Ok(card),
        // Its identity came from its content, which is another one now; it is written down.
        None if !had_uid => {
            card.set("UID", &contact.uid)?;
            Ok(card)
        }
        found => Err(Failure::Refused(format!(
            "the UID is what the contact is known by, and cannot change: it is {}, the text has {}. \
             For another contact: etui contacts add FILE",
            contact.uid,
            found.unwrap_or("none")
        ))),
    }
}

/// Lets the person edit the vCard; `None` when nothing was changed.
fn in_editor(
    app: &mut App,
    book: &Contacts<'_>,
    contact: &Contact,
    id: &str,
) -> Result<Option<(Card, Saved)>> {
    let text = editor::readable(&contact.text);
    if text.as_ref() != contact.text {
        app.out
            .note("this vCard is in an old charset; when it is changed it becomes UTF-8");
    }
    let Some(edited) = editor::edit(&text)? else {
        return Ok(None);
    };
    let parsed = match (
        Card::parse(edited.bytes.clone()),
        odd_line(&edited.bytes, &text),
    ) {
        (_, Some(odd)) => Err(Failure::Refused(odd)),
        (Ok(card), None) => same_contact(contact, card),
        (Err(error), None) => Err(error.into()),
    };
    let card = match parsed {
        Ok(card) => card,
        Err(failure) => {
            let file = edited.keep()?;
            return Err(Failure::Refused(format!(
                "{failure}\nNothing was changed. Your text is kept in {file}; to go on:\n  \
                 $EDITOR {file}\n  etui contacts edit {id} --from {file} --if-match {}",
                contact.etag
            )));
        }
    };
    match save(book, &card, contact) {
        Ok(saved) => Ok(Some((card, saved))),
        Err(error) => {
            let file = edited.keep()?;
            Err(explain_conflict(error, id, Some(&file)))
        }
    }
}

/// The first line that cannot stand in a vCard and was not there before, in words.
///
/// Reading is lenient and passes over such lines, but what a person just typed is meant.
fn odd_line(text: &[u8], before: &[u8]) -> Option<String> {
    let (text, before) = (
        String::from_utf8_lossy(text),
        String::from_utf8_lossy(before),
    );
    // In 2.1 the lines of quoted-printable and base64 values look like this.
    if before.contains("VERSION:2.1") {
        return None;
    }
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
                "line {}: \"{}\" has no colon; a line of a vCard is NAME:VALUE, a line that goes \
                 on begins with a space",
                number + 1,
                one_line(&start)
            )
        })
}
