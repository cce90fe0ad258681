//! `etui contacts add`.

use std::path::Path;

use etui::Condition;
use etui::Error;
use etui::contacts::Card;
use etui::record::RecordKind;

use super::new_card::{AddContactArgs, build_card};
use super::phrase::parse_contact_phrase;
use crate::app::App;
use crate::commands::records::{change, report_saved};
use crate::errors::{Failure, Result};

pub fn add_contact(app: &mut App, args: &AddContactArgs) -> Result<()> {
    let name = args.name.as_deref().or_else(|| args.org_name());
    let card = match (given_file(&args.words), name) {
        (Some(file), _) => Card::parse(change::read_input(file)?)?,
        (None, Some(name)) => build_card(name, args)?,
        (None, None) if args.words.is_empty() => {
            return Err(Failure::usage(
                "give the name: etui contacts add --name NAME, or a file with a vCard (`-` is standard \
                 input)",
            ));
        }
        (None, None) => {
            let phrase = parse_contact_phrase(&args.words.join(" "))?;
            build_card(phrase.name.as_deref().unwrap_or_default(), &phrase)?
        }
    };
    let store = app.open_or_create(app.store_options())?;
    let book = app.open_collection::<Card>(&store)?;
    let uid = card.identity().into_owned();
    let saved = match book.save_if(&card, Condition::IfAbsent) {
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
    })
}

/// Returns the file that the words are: standard input, one that exists, or one word that looks like the
/// path of one.
fn given_file(words: &[String]) -> Option<&Path> {
    let [word] = words else { return None };
    let path = Path::new(word);
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let is_vcard = ["vcf", "vcard"]
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known));
    (word == "-" || is_vcard || word.contains('/') || path.is_file()).then_some(path)
}
