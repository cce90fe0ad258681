//! Any bytes as one card: every field can be read, its 4.0 and 3.0 forms
//! parse again, the 3.0 form merges back without a change, and an edit changes only its own line.

#![no_main]

use std::ops::Range;

use etui_contentline::charset::repair_charset;
use etui_contentline::lines::{ContentLine, ContentLines};
use etui_vcard::{Card, CardError, NewProperty, VCardVersion};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(card) = Card::parse(data) else {
        return;
    };
    assert_eq!(card.text(), data);
    ask(&card);
    let v4 = card.to_v4();
    match Card::parse(v4.as_str()) {
        Ok(again) => ask(&again),
        Err(e) => panic!("its own 4.0 is refused ({e}): {v4:?}"),
    }
    match Card::parse(card.to_v3()) {
        Ok(v3) => {
            ask(&v3);
            if card.version() == VCardVersion::V4_0 {
                assert_eq!(card.merge_v3(&v3), Ok(card.clone()));
            }
        }
        // All that it has may be what 3.0 cannot say.
        Err(e) => assert_eq!(e, CardError::Empty),
    }
    // The first edit converts a card that is not UTF-8.
    let plain = std::str::from_utf8(data).is_ok() && !data.contains(&0);
    let base = if plain {
        data.to_vec()
    } else {
        repair_charset(data).into_owned().into_bytes()
    };
    set(&card, &base);
    add(&card, &base);
    remove(&card, &base);
});

fn ask(card: &Card) {
    let _ = card.version();
    let _ = card.uid();
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
    let changed = changed(base, edited.text());
    let one =
        |line: ContentLine<'_>| line.span.start <= changed.start && changed.end <= line.span.end;
    assert!(ContentLines::new(base).any(one), "{changed:?}");
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
    assert!(changed(base, edited.text()).is_empty());
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
        Ok(_) => {
            let mut left = lines(base);
            assert!(lines(edited.text()).all(|line| left.any(|l| l == line)));
        }
    }
}

/// Returns the physical lines.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| matches!(b, b'\r' | b'\n'))
}

/// Returns the range of `before` that differs in `after`.
fn changed(before: &[u8], after: &[u8]) -> Range<usize> {
    let shorter = before.len().min(after.len());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let start = before.iter().zip(after).take_while(same).count();
    let end = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(same)
        .take(shorter - start)
        .count();
    start..before.len() - end
}
