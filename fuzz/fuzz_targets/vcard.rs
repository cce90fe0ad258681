//! Any bytes as one card: every field can be asked for, it comes out as 4.0
//! that reads again, and an edit touches no line but its own.

#![no_main]

use etui::contacts::{Card, CardError, NewProperty};
use etui::import::clean::clean;
use etui::import::lines::ContentLines;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(card) = Card::parse(data) else {
        return;
    };
    assert_eq!(card.text(), data);
    let tail = clean(data).trim_end().to_ascii_uppercase();
    if !(tail.ends_with("\nEND:VCARD") || tail.ends_with("\rEND:VCARD")) { return; }
    ask(&card);
    let v4 = card.to_v4();
    match Card::parse(v4.as_str()) {
        Ok(again) => ask(&again),
        Err(e) => panic!("its own 4.0 is refused ({e}): {v4:?}"),
    }
    // A card that is not UTF-8 becomes so with its first edit.
    let plain = std::str::from_utf8(data).is_ok() && !data.contains(&0);
    let base = if plain {
        data.to_vec()
    } else {
        clean(data).into_owned().into_bytes()
    };
    set(&card, &base);
    add(&card, &base);
    remove(&card, &base);
});

fn ask(card: &Card) {
    let _ = card.version();
    let _ = card.uid();
    assert!(!card.identity().is_empty());
    let _ = card.name();
    let _ = card.display_name();
    let _ = card.nicknames();
    let _ = card.categories();
    assert_eq!(card.organization(), card.organizations().into_iter().next());
    let _ = card.title();
    let _ = card.note();
    let _ = card.emails();
    let _ = card.phones();
    let _ = card.urls();
    let _ = card.addresses();
    let _ = card.birthday();
    let _ = card.photo();
    for (_, name, _) in card.all_properties() {
        assert!(!card.properties(name).is_empty());
    }
}

fn set(card: &Card, base: &[u8]) {
    let mut edited = card.clone();
    edited
        .set("NOTE", "one; two,\nthree\\")
        .expect("any card can be given a note");
    let (before, after) = (lines(base), lines(edited.text()));
    let at = differs(&before, &after);
    // Replaced, or put in.
    let same = before.len() == after.len() && before[at + 1..] == after[at + 1..];
    let more = before.len() + 1 == after.len() && before[at..] == after[at + 1..];
    assert!(same || more, "{before:?}\n{after:?}");
}

fn add(card: &Card, base: &[u8]) {
    let mut edited = card.clone();
    let property = NewProperty {
        name: "X-FUZZ".to_owned(),
        types: vec!["home".to_owned()],
        value: "a b".to_owned(),
    };
    edited
        .add(&property)
        .expect("any card can be given a property");
    let (before, after) = (lines(base), lines(edited.text()));
    let at = differs(&before, &after);
    assert_eq!(before.len() + 1, after.len(), "{before:?}\n{after:?}");
    assert_eq!(before[at..], after[at + 1..], "{before:?}\n{after:?}");
    let values = edited.properties("X-FUZZ");
    assert_eq!(values.last().map(String::as_str), Some("a b"));
}

fn remove(card: &Card, base: &[u8]) {
    let mut edited = card.clone();
    match edited.remove("TEL", None) {
        Err(e) => {
            assert_eq!(e, CardError::Empty);
            assert_eq!(edited, *card);
        }
        Ok(0) => assert_eq!(edited, *card),
        Ok(removed) => {
            let (before, after) = (lines(base), lines(edited.text()));
            assert_eq!(before.len(), after.len() + removed);
            let mut left = before.iter();
            assert!(after.iter().all(|line| left.any(|l| l == line)));
        }
    }
}

/// The content lines, without what ends the last of their physical lines.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    ContentLines::new(text)
        .map(|line| {
            let bytes = &text[line.span];
            let end = bytes
                .iter()
                .rposition(|b| !matches!(b, b'\r' | b'\n'))
                .map_or(0, |at| at + 1);
            &bytes[..end]
        })
        .collect()
}

/// The place of the first line that is not the same in both.
fn differs(a: &[&[u8]], b: &[&[u8]]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
