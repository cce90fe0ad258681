//! `etui contacts duplicates`: contacts that are perhaps one person.

use etui::contacts::{Card, DuplicatePair, DuplicateReason, LIKELY_DUPLICATE, Reader};
use etui::{RecordId, Store};
use etui_program::output::{NamedField, Style, Table, object, one_line};
use etui_program::{App, Failure, Result};

use crate::commands::records::text_diff::{diff_texts, write_diff};
use crate::commands::records::{collection_of, resolve_record, stored_title};

const EXAMPLES: &str = "\
Examples:
  etui contacts duplicates                   the likeliest first
  etui contacts duplicates --min-score 20    also unlikely ones, such as a shared phone
  etui contacts duplicates 17 301            compare two contacts line by line
  etui contacts merge 17 301                 merge them

Compared are names (whatever the order of words, accents, initials or one typing mistake), phone
numbers, e-mail addresses, birthdays and organisations. A number that several contacts share counts
less. From a score of 50 on, two contacts are likely one person. Each address book is looked at by
itself; `etui contacts move` brings contacts into one.";

/// Find contacts that are perhaps the same person
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, alias = "dupes")]
pub struct DuplicatesArgs {
    /// Compare these two contacts
    #[arg(value_name = "ID", num_args = 2)]
    ids: Vec<String>,
    /// Lowest score, 0 to 100
    #[arg(
        long,
        value_name = "N",
        default_value_t = LIKELY_DUPLICATE,
        value_parser = clap::value_parser!(u8).range(..=100),
        conflicts_with = "ids"
    )]
    min_score: u8,
    /// Show at most N pairs
    #[arg(long, value_name = "N", conflicts_with = "ids")]
    limit: Option<usize>,
}

pub fn find_duplicates(app: &mut App, args: &DuplicatesArgs) -> Result<()> {
    let store = app.open_to_read()?;
    match args.ids.is_empty() {
        true => list_pairs(app, &store, args),
        false => compare_two(app, &store, &args.ids),
    }
}

fn list_pairs(app: &mut App, store: &Store, args: &DuplicatesArgs) -> Result<()> {
    let snapshot = store.snapshot()?;
    let readers = app.readers_in::<Card>(&snapshot)?;
    let mut found: Vec<(DuplicatePair, &(String, Reader))> = Vec::new();
    for reader in &readers {
        let pairs = reader.1.duplicates(args.min_score)?;
        found.extend(pairs.into_iter().map(|pair| (pair, reader)));
    }
    found.sort_by_key(|(pair, _)| u8::MAX - pair.score);
    found.truncate(args.limit.unwrap_or(usize::MAX));
    if found.is_empty() && !app.out.json {
        return app.out.status("No likely duplicates.");
    }
    let mut headings = vec!["Score", "#", "Name", "#", "Name", "Why"];
    headings.extend((readers.len() > 1).then_some("Address book"));
    let mut table = Table::new(&headings);
    let mut named = Vec::with_capacity(found.len());
    for (pair, (book, reader)) in &found {
        let name = |id: RecordId| -> Result<String> {
            Ok(reader
                .get(id)?
                .map_or_else(String::new, |c| stored_title(&c)))
        };
        let names = [name(pair.first)?, name(pair.second)?];
        let [score, first, second] = [
            pair.score.to_string(),
            pair.first.to_string(),
            pair.second.to_string(),
        ];
        let reasons = describe_reasons(&pair.reasons);
        let cells = [&score, &first, &names[0], &second, &names[1], &reasons];
        let book_cell = (readers.len() > 1).then_some(book);
        table.add_row(cells.into_iter().chain(book_cell));
        named.push((pair, names, book));
    }
    app.out
        .write_table(&table, &named, |out, (pair, [first, second], book)| {
            let reasons = pair.reasons.iter().map(|reason| {
                let (kind, value) = reason_parts(reason);
                object! { kind: kind, value: value }
            });
            out.write_json(&object! {
                score: pair.score,
                first: object! { id: pair.first.0, name: first },
                second: object! { id: pair.second.0, name: second },
                reasons: reasons.collect::<Vec<_>>(),
                addressbook: book,
            })
        })?;
    let Some((pair, ..)) = named.first() else {
        return Ok(());
    };
    let ids = format!("{} {}", pair.first, pair.second);
    app.out.status(format!(
        "Compare two: etui contacts duplicates {ids}\nMerge two: etui contacts merge {ids}"
    ))
}

fn compare_two(app: &mut App, store: &Store, ids: &[String]) -> Result<()> {
    let all = collection_of::<Card>(app, store, ids)?;
    let records: Vec<_> = ids
        .iter()
        .map(|id| resolve_record(&all, id))
        .collect::<Result<_>>()?;
    let [first, second] = records.as_slice() else {
        return Err(Failure::usage("give two contacts"));
    };
    let lines = diff_texts(&first.text, &second.text);
    if app.out.json {
        let each = lines.iter();
        let each = each.map(|line| {
            object! { sign: line.sign(), property: line.line.name.as_str(), line: line.shown() }
        });
        return app.out.write_json(&object! {
            #[serde(flatten)] first: NamedField("first", first.id.0),
            #[serde(flatten)] second: NamedField("second", second.id.0),
            lines: each.collect::<Vec<_>>(),
        });
    }
    for (sign, record) in [("---", first), ("+++", second)] {
        let heading = format!("{sign} {} {}", record.id, one_line(&stored_title(record)));
        let heading = app.out.with_style(Style::Bold, &heading).into_owned();
        app.out.write_line(heading)?;
    }
    write_diff(&mut app.out, &lines)?;
    app.out.status(format!(
        "Merge them: etui contacts merge {} {}",
        first.id, second.id
    ))
}

/// Returns the name of a reason in JSON, and its value.
fn reason_parts(reason: &DuplicateReason) -> (&'static str, Option<&str>) {
    match reason {
        DuplicateReason::SameName => ("same_name", None),
        DuplicateReason::SimilarName => ("similar_name", None),
        DuplicateReason::SamePhone(number) => ("same_phone", Some(number)),
        DuplicateReason::SameEmail(address) => ("same_email", Some(address)),
        DuplicateReason::SameBirthday => ("same_birthday", None),
        DuplicateReason::SameOrganization => ("same_organization", None),
        DuplicateReason::DifferentName => ("different_name", None),
        DuplicateReason::DifferentBirthday => ("different_birthday", None),
        _ => ("other", None),
    }
}

/// Describes the reasons: `name, phone +44 20 7946 0123; not the birthday`.
fn describe_reasons(reasons: &[DuplicateReason]) -> String {
    let (mut equal, mut other) = (Vec::new(), Vec::new());
    for reason in reasons {
        match reason {
            DuplicateReason::SameName => equal.push("name".to_owned()),
            DuplicateReason::SimilarName => equal.push("similar name".to_owned()),
            DuplicateReason::SamePhone(number) => equal.push(format!("phone {number}")),
            DuplicateReason::SameEmail(address) => equal.push(address.clone()),
            DuplicateReason::SameBirthday => equal.push("birthday".to_owned()),
            DuplicateReason::SameOrganization => equal.push("organisation".to_owned()),
            DuplicateReason::DifferentName => other.push("name"),
            DuplicateReason::DifferentBirthday => other.push("birthday"),
            _ => {}
        }
    }
    let mut text = equal.join(", ");
    if !other.is_empty() {
        text.push_str(&format!("; other {}", other.join(" and ")));
    }
    text
}
