//! Cards of one person are merged without losing a line.

use etui_vcard::{Card, CardError, MAX_CARD, MergedCard, VCardVersion};
use proptest::prelude::*;

fn card(version: &str, body: &str) -> Card {
    let body = body.replace('\n', "\r\n");
    Card::parse(format!(
        "BEGIN:VCARD\r\nVERSION:{version}\r\n{body}\r\nEND:VCARD\r\n"
    ))
    .unwrap()
}

/// Compares numbers by their last digits.
fn phone_key(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let start = digits.len().checked_sub(8)?;
    digits.get(start..).map(str::to_owned)
}

fn merge(first: &Card, others: &[Card]) -> MergedCard {
    first.merge_with(others, phone_key).unwrap()
}

/// The lines of the merged card, without those around them.
fn lines(merged: &MergedCard) -> Vec<String> {
    let text = String::from_utf8_lossy(merged.card.text()).replace("\r\n ", "");
    let lines = text.lines();
    let inner = |line: &&str| !line.starts_with("BEGIN:") && !line.starts_with("END:");
    lines
        .filter(inner)
        .filter(|line| !line.starts_with("VERSION:"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn properties_are_united() {
    for (first, other, expected) in [
        // The same value once, with the types and parameters of both.
        (
            "FN:A\nTEL;TYPE=cell:+44 20 7946 0123",
            "FN:a\nTEL;TYPE=\"home,cell\";PREF=1;X-SIM=2:020 7946 0123",
            &["FN:A", "TEL;TYPE=cell;TYPE=home;X-SIM=2:+44 20 7946 0123"][..],
        ),
        (
            "FN:Ada Lovelace\nEMAIL:Ada@example.org",
            "FN:LOVELACE\\, ADA\nEMAIL;TYPE=work:mailto:ada@Example.org\nEMAIL:b@example.org",
            &[
                "FN:Ada Lovelace",
                "EMAIL;TYPE=work:Ada@example.org",
                "EMAIL:b@example.org",
            ],
        ),
        // Further organisations, titles, notes, addresses; empty components are nothing.
        (
            "FN:A\nORG:Example\nNOTE:one\nADR:;;1 Main St;Town;;;",
            "FN:A\nORG:Example;\nORG:Other;Unit\nNOTE:two\nADR;TYPE=home:;;1 main st;town;;;\nADR:;;2 Side St;;;;",
            &[
                "FN:A",
                "ORG:Example",
                "ORG:Other;Unit",
                "NOTE:one",
                "NOTE:two",
                "ADR;TYPE=home:;;1 Main St;Town;;;",
                "ADR:;;2 Side St;;;;",
            ],
        ),
        // Entries of lists.
        (
            "FN:A\nCATEGORIES:Friends,Old\nNICKNAME:Al",
            "FN:A\nCATEGORIES;PID=1.1:friends,Science\\, Club\nNICKNAME:al",
            &[
                "FN:A",
                "CATEGORIES:Friends,Old",
                "CATEGORIES:Science\\, Club",
                "NICKNAME:Al",
            ],
        ),
        // What a card has once stays; the other value goes into a note.
        (
            "FN:Ada Lovelace\nN:Lovelace;Ada;;;\nBDAY:18151210\nGENDER:F",
            "FN:Ada King\nN:King;Ada;;;\nBDAY:18151211\nGENDER:F\nANNIVERSARY:18350708",
            &[
                "FN:Ada Lovelace",
                "N:Lovelace;Ada;;;",
                "BDAY:18151210",
                "GENDER:F",
                "ANNIVERSARY:18350708",
                "NOTE:Name: Ada King\\nName parts: King\\, Ada\\nBirthday: 1815-12-11",
            ],
        ),
        // An address in place of a name is none.
        (
            "FN:A\nEMAIL:a@example.org",
            "FN:A@example.org\nEMAIL:a@example.org",
            &["FN:A", "EMAIL:a@example.org"],
        ),
        // Also if the other card alone has it.
        (
            "FN:A",
            "FN:A@example.org\nFN:B\nEMAIL:a@example.org",
            &["FN:A", "EMAIL:a@example.org", "NOTE:Name: B"],
        ),
        // A fuller date completes one.
        (
            "FN:A\nBDAY:--1210",
            "FN:A\nBDAY;VALUE=date:18151210",
            &["FN:A", "BDAY;VALUE=date:18151210"],
        ),
        (
            "FN:A\nBDAY:18151210",
            "FN:A\nBDAY:--1210",
            &["FN:A", "BDAY:18151210"],
        ),
        // An empty property is no value.
        (
            "FN:A\nN:;;;;",
            "FN:A\nN:B;A;;;\nORG:;",
            &["FN:A", "N:B;A;;;"],
        ),
        // Unknown properties are compared byte for byte.
        (
            "FN:A\nX-ODD;P=1:a;b",
            "FN:A\nX-ODD:a;b\nX-ODD:A;B",
            &["FN:A", "X-ODD;P=1:a;b", "X-ODD:A;B"],
        ),
        // Photos by their bytes.
        (
            "FN:A\nPHOTO:data:image/png;base64,AAEC",
            "FN:A\nPHOTO;PREF=1:data:image/png;base64,AAEC\nPHOTO:data:image/png;base64,AAED",
            &[
                "FN:A",
                "PHOTO:data:image/png;base64,AAEC",
                "PHOTO:data:image/png;base64,AAED",
            ],
        ),
    ] {
        let merged = merge(&card("4.0", first), &[card("4.0", other)]);
        assert_eq!(lines(&merged), expected, "{other}");
        assert!(merged.left_out.is_empty(), "{other}");
        let again = merge(&merged.card, &[card("4.0", other)]);
        assert_eq!(again.card, merged.card, "once more changes nothing");
    }
}

#[test]
fn groups_stay_together_under_free_names() {
    // Another group of the same name.
    let merged = merge(
        &card(
            "3.0",
            "FN:A\nN:A;;;;\nitem1.TEL:12345678\nitem1.X-ABLabel:Boat",
        ),
        &[card(
            "3.0",
            "FN:A\nN:A;;;;\nitem1.URL:https://example.org/\nitem1.X-ABLabel:Club",
        )],
    );
    assert_eq!(
        lines(&merged),
        [
            "FN:A",
            "N:A;;;;",
            "item1.TEL:12345678",
            "item1.X-ABLabel:Boat",
            "item2.URL:https://example.org/",
            "item2.X-ABLabel:Club",
        ]
    );
    // The label of a value that the first has without one goes to its line.
    let merged = merge(
        &card(
            "3.0",
            "FN:A\nN:A;;;;\nTEL:12345678\nitem1.URL:https://example.org/a",
        ),
        &[card(
            "3.0",
            "FN:A\nN:A;;;;\nitem1.TEL:12345678\nitem1.X-ABLabel:Boat",
        )],
    );
    assert_eq!(
        lines(&merged),
        [
            "FN:A",
            "N:A;;;;",
            "item2.TEL:12345678",
            "item1.URL:https://example.org/a",
            "item2.X-ABLabel:Boat",
        ]
    );
    assert_eq!(merged.card.phones()[0].label.as_deref(), Some("Boat"));
    // The same label is not repeated.
    let labelled = card(
        "3.0",
        "FN:A\nN:A;;;;\nitem7.TEL:12345678\nitem7.X-ABLabel:Boat",
    );
    let other = card(
        "3.0",
        "FN:A\nN:A;;;;\nitem1.TEL:12345678\nitem1.X-ABLabel:Boat",
    );
    assert_eq!(merge(&labelled, &[other]).card, labelled);
}

#[test]
fn alternatives_of_one_value_stay_together() {
    let merged = merge(
        &card("4.0", "FN:A\nTITLE;ALTID=1;LANGUAGE=en:Boss"),
        &[card(
            "4.0",
            "FN:A\nTITLE;ALTID=1;LANGUAGE=en:Cook\nTITLE;ALTID=1;LANGUAGE=fr:Cuisinier\n\
             N;ALTID=1:B;A;;;\nN;ALTID=1;LANGUAGE=jp:C;D;;;",
        )],
    );
    assert_eq!(
        lines(&merged),
        [
            "FN:A",
            "TITLE;ALTID=1;LANGUAGE=en:Boss",
            "TITLE;LANGUAGE=en;ALTID=2:Cook",
            "TITLE;LANGUAGE=fr;ALTID=2:Cuisinier",
            "N;ALTID=1:B;A;;;",
            "N;LANGUAGE=jp;ALTID=1:C;D;;;",
        ]
    );
}

#[test]
fn lines_that_describe_the_card_are_reported() {
    let merged = merge(
        &card("4.0", "UID:1\nFN:A\nKIND:individual"),
        &[card(
            "4.0",
            "UID:2\nFN:A\nREV:20260102T030405Z\nPRODID:-//Example//EN\nKIND:individual\n\
             CLIENTPIDMAP:1;urn:uuid:53e374d9-337e-4727-8803-a1e9c14e0556\nEMAIL;PID=1.1:a@example.org\n\
             a line without its end",
        )],
    );
    assert_eq!(
        lines(&merged),
        ["UID:1", "FN:A", "KIND:individual", "EMAIL:a@example.org"]
    );
    let mut left_out = merged.left_out;
    left_out.sort_unstable();
    assert_eq!(
        left_out,
        [
            "CLIENTPIDMAP:1;urn:uuid:53e374d9-337e-4727-8803-a1e9c14e0556",
            "PRODID:-//Example//EN",
            "REV:20260102T030405Z",
            "UID:2",
            "a line without its end",
        ]
    );
}

#[test]
fn cards_of_several_versions_become_the_newest() {
    let old = card("2.1", "N:Müller;Anna\nTEL;CELL:12345678");
    let newer = card(
        "3.0",
        "FN:Anna Müller\nN:Müller;Anna;;;\nTEL;TYPE=WORK:12345678\nEMAIL;TYPE=INTERNET:a@example.org",
    );
    let newest = card("4.0", "FN:Anna Müller\nBDAY:--0102");
    let merged = merge(&old, std::slice::from_ref(&newer));
    assert_eq!(merged.card.version(), VCardVersion::V3_0);
    assert_eq!(merged.card.phones()[0].types, ["cell", "work"]);
    assert_eq!(merged.card.name().family, "Müller");
    let merged = merge(&old, &[newer, newest]);
    assert_eq!(merged.card.version(), VCardVersion::V4_0);
    assert_eq!(merged.card.birthday().unwrap().day, Some(2));
    assert_eq!(merged.card.emails()[0].value, "a@example.org");
    // Two old cards become one that has FN.
    let merged = merge(&old, std::slice::from_ref(&old));
    assert_eq!(merged.card.version(), VCardVersion::V3_0);
    assert_eq!(merged.card.display_name(), "Anna Müller");
}

#[test]
fn nothing_to_add_leaves_every_byte() {
    let first = Card::parse(
        "BEGIN:VCARD\nVERSION:3.0\nFN:Ada\n  Lovelace\nN:Lovelace;Ada;;;\ntel;type=CELL:1\nEND:VCARD\n",
    )
    .unwrap();
    assert_eq!(merge(&first, &[]).card, first);
    let other = card(
        "3.0",
        "FN:Ada Lovelace\nN:Lovelace;Ada;;;\nTEL;TYPE=cell:1\nUID:9",
    );
    assert_eq!(merge(&first, &[other]).card, first);
}

/// A note has what the cards differ in, in lines of which a later merge may find one, some or all.
#[test]
fn a_difference_is_noted_once() {
    let first = card("3.0", "FN:Ann\nBDAY:1990-01-02");
    let birthday = card("3.0", "FN:Ann\nBDAY:1990-02-01");
    let both = card("3.0", "FN:Bob\nBDAY:1990-02-01");
    let merged = merge(&first, &[both.clone(), birthday.clone()]);
    let notes = lines(&merged);
    let notes: Vec<_> = notes
        .iter()
        .filter(|line| line.starts_with("NOTE"))
        .collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    for again in [&[both.clone(), birthday.clone()][..], &[birthday], &[both]] {
        assert_eq!(merge(&merged.card, again).card, merged.card);
    }
}

#[test]
fn a_card_that_would_be_too_large_is_an_error() {
    let large = |letter: &str| {
        let note = letter.repeat(MAX_CARD / 2 + 1000);
        card("4.0", &format!("FN:A\nNOTE:{note}"))
    };
    let merged = large("a").merge_with(&[large("b")], |_| None);
    assert!(matches!(merged, Err(CardError::TooLarge { .. })));
}

/// Lines of cards, some of them alike.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "FN",
        "N",
        "TEL",
        "EMAIL",
        "ORG",
        "NOTE",
        "CATEGORIES",
        "BDAY",
        "X-ODD",
        "URL",
        "item1.TEL",
        "item1.X-ABLabel",
        "item2.URL",
        "PHOTO",
        "UID",
        "TITLE;ALTID=1",
        "TEL;TYPE=home;PREF=1",
    ]);
    let value = prop::sample::select(vec![
        "a",
        "A",
        "b;c",
        "c\\;d,e",
        "19800102",
        "--0102",
        "https://example.org/",
        "+49 30 1234567",
        "030 1234567",
        "data:image/png;base64,AAEC",
        "",
        "ä ö",
        "two  words",
    ]);
    (name, value).prop_map(|(name, value)| format!("{name}:{value}"))
}

fn any_card() -> impl Strategy<Value = Card> {
    let version = prop::sample::select(vec!["3.0", "4.0"]);
    (version, prop::collection::vec(line(), 0..8)).prop_map(|(version, lines)| {
        let body = [vec!["X-NOT-EMPTY:1".to_owned()], lines].concat();
        card(version, &body.join("\n"))
    })
}

proptest! {
    /// Every value of every card is in the merged one, in a note, or reported; the lines of the
    /// first card of the newest version keep their order; a second merge changes nothing.
    #[test]
    fn no_value_is_lost(first in any_card(), others in prop::collection::vec(any_card(), 1..4)) {
        let merged = first.merge_with(&others, phone_key).unwrap();
        let text = String::from_utf8_lossy(merged.card.text()).to_lowercase().replace("\r\n ", "");
        let plain: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
        let left_out = merged.left_out.join("\n").to_lowercase();
        for card in others.iter().chain([&first]) {
            for (_, name, value) in card.all_properties() {
                let value = value.to_lowercase();
                let words = value.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
                let is_phone = name.eq_ignore_ascii_case("TEL") && phone_key(&value).is_some();
                let is_data = value.contains("bytes)");
                let is_date = name == "BDAY";
                for word in words.filter(|_| !is_phone && !is_data && !is_date) {
                    prop_assert!(
                        plain.contains(word) || left_out.contains(word),
                        "{name}:{value} is not in {text}, left out {left_out}"
                    );
                }
            }
        }
        let phones = |card: &Card| {
            let all = card.phones().into_iter();
            let all: std::collections::BTreeSet<_> = all.map(|p| phone_key(&p.value).unwrap_or(p.value.to_lowercase())).collect();
            all
        };
        for card in &others {
            prop_assert!(phones(card).is_subset(&phones(&merged.card)));
        }
        let again = merged.card.merge_with(&others, phone_key).unwrap();
        prop_assert_eq!(again.card, merged.card);
    }

    #[test]
    fn merging_does_not_panic(first in "\\PC{0,60}", other in "\\PC{0,60}") {
        let parse = |text: String| Card::parse(format!("BEGIN:VCARD\n{text}\nEND:VCARD\n"));
        if let (Ok(first), Ok(other)) = (parse(first), parse(other)) {
            let _ = first.merge_with(&[other], |_| None);
        }
    }
}
