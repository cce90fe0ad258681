//! Contacts quickly: save, list, find, edit, undo, and what changed since.
//!
//! `cargo run --example contacts`

use std::error::Error;
use std::path::Path;

use etui::contacts::{Card, Paging, Query};
use etui::{Changes, Condition, Store};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    for line in run(&dir.path().join("personal.etui"))? {
        println!("{line}");
    }
    Ok(())
}

/// Returns the lines to print.
fn run(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut lines = Vec::new();
    let store = Store::open(path)?;
    let contacts = store.contacts()?;
    let token = store.token()?;

    // Save many in one transaction; it is durable when the call returns.
    let mut cards = Vec::new();
    for (name, email) in [
        ("Ada Example", "ada"),
        ("Bo Müller", "bo"),
        ("Cy Other", "cy"),
    ] {
        let mut card = Card::new(name)?;
        card.set("EMAIL", &format!("{email}@example.org"))?;
        cards.push(card);
    }
    contacts.save_many(&cards)?;

    // List a page, by name.
    for entry in contacts.list(Paging::first(50))? {
        lines.push(format!("{}  {}", entry.summary.name, entry.summary.email));
    }

    // Find, as a person types; without a match, correct a typing mistake.
    let typed = "mullr".parse()?;
    let mut found = contacts.query(&Query::ranked(typed))?;
    if found.is_empty()
        && let Some(corrected) = contacts.correct(&"mullr".parse()?)?
    {
        lines.push(format!("nothing for mullr; results for {corrected}"));
        found = contacts.query(&Query::ranked(corrected.filter))?;
    }
    lines.extend(found.iter().map(|row| format!("found {}", row.name())));

    // Edit, unless somebody else changed it meanwhile; and undo.
    let uid = cards[0].uid().ok_or("a new card has a UID")?;
    let stored = contacts.get(uid)?.ok_or("it was saved")?;
    let mut card = stored.card()?;
    card.set("NOTE", "likes tea")?;
    contacts.save((&card, Condition::IfMatch(stored.etag)))?;
    contacts.restore(uid)?;

    // Changes since the token, for a synchronisation.
    if let Changes::Since(changes) = contacts.changes_since(&token)? {
        lines.push(format!("{} changes", changes.len()));
    }
    store.close()?;
    Ok(lines)
}

#[test]
fn prints_what_it_promises() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        run(&dir.path().join("personal.etui")).unwrap(),
        [
            "Ada Example  ada@example.org",
            "Bo Müller  bo@example.org",
            "Cy Other  cy@example.org",
            "nothing for mullr; results for muller",
            "found Bo Müller",
            "3 changes",
        ]
    );
}
