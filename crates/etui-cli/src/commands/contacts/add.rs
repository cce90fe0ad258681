//! `etui contacts add`.

use std::path::Path;

use etui::Condition;
use etui::Error;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui_program::output::{escape_text, one_line};
use etui_program::{App, Failure, Result};

use super::new_card::{AddContactArgs, build_card};
use super::phrase::parse_contact_phrase;
use super::show::card_details;
use crate::commands::import::name_other_format;
use crate::commands::records::{change, report_saved};

pub fn add_contact(app: &mut App, args: &AddContactArgs) -> Result<()> {
    let mut is_phrase = false;
    let name = args.name.as_deref().or_else(|| args.org_name());
    let card = match (given_file(&args.words), name) {
        (Some(file), _) => read_card(file)?,
        (None, Some(name)) => build_card(name, args)?,
        (None, None) if args.words.is_empty() => {
            return Err(Failure::usage(
                "give the name: etui contacts add --name NAME, or a file with a vCard (`-` is standard \
                 input)",
            ));
        }
        (None, None) => {
            is_phrase = true;
            let phrase = parse_contact_phrase(&args.words.join(" "))?;
            build_card(phrase.name.as_deref().unwrap_or_default(), &phrase)?
        }
    };
    let store = app.open_or_create(app.store_options())?;
    let book = app.open_collection::<Card>(&store)?;
    let uid = card.identity().into_owned();
    let saved = match book.save((&card, Condition::IfAbsent)) {
        Err(Error::Conflict { uid, .. }) => {
            let there = book
                .get(&uid)?
                .map_or_else(|| uid.clone(), |c| c.id.to_string());
            return Err(Failure::Conflict(format!(
                "contact {there} already has the UID {uid}; to replace it: \
                 etui contacts edit {there} --from FILE"
            )));
        }
        saved => saved?,
    };
    store.close()?;
    report_saved(&mut app.out, &card, &saved, &uid, |name| {
        format!("Added {}: {name}", saved.id)
    })?;
    match is_phrase && !app.out.json {
        true => report_fields(app, &card),
        false => Ok(()),
    }
}

/// Reports the fields that a phrase was understood as.
fn report_fields(app: &mut App, card: &Card) -> Result<()> {
    let name = card.name();
    let names = [("Given", name.given), ("Family", name.family)];
    let names = names.into_iter().filter(|(_, text)| !text.is_empty());
    let names = names.map(|(label, text)| (label.to_owned(), text));
    let rows = card_details(card).rows.into_iter();
    // The parts of the name are before it.
    let rows = rows.filter(|(label, _)| label != "N");
    for (label, value) in names.chain(rows.map(|(label, value)| (label.to_string(), value))) {
        app.out
            .status(format!("  {}", one_line(&format!("{label}: {value}"))))?;
    }
    Ok(())
}

/// Returns the file that the words are: standard input, or one word that is a path. A name such as `AC/DC`
/// is none, nor is that of a file without an ending.
fn given_file(words: &[String]) -> Option<&Path> {
    let [word] = words else { return None };
    let path = Path::new(word);
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let is_vcard = ["vcf", "vcard"]
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known));
    let has_root = ["/", "./", "../", "~/"]
        .iter()
        .any(|root| word.starts_with(root));
    let is_there = word.contains(['/', '.']) && path.is_file();
    (word == "-" || is_vcard || has_root || is_there).then_some(path)
}

/// Reads the vCard in a file; names the format of a file that is none.
fn read_card(file: &Path) -> Result<Card> {
    let text = change::read_input(file)?;
    let name = escape_text(&file.to_string_lossy()).into_owned();
    if let Some(format) = name_other_format(&text, false) {
        return Err(Failure::Refused(format!("{name}: {format}")));
    }
    match Card::parse(text.clone()) {
        Err(_)
            if !text
                .to_ascii_uppercase()
                .windows(11)
                .any(|w| w == b"BEGIN:VCARD") =>
        {
            Err(Failure::Refused(format!(
                "{name}: is a text without a vCard; a table or a list of contacts: etui import FILE"
            )))
        }
        parsed => Ok(parsed?),
    }
}
