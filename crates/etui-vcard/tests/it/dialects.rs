//! Cards in the dialects of address books.

use etui_contentline::split::{SplitItem, Splitter};
use etui_testkit::people::People;
use etui_vcard::{Card, CardError, Photo, bare_address};

fn card(body: &str) -> Card {
    Card::parse(format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n")).unwrap()
}

#[test]
fn backslashes_that_escape_nothing_are_kept() {
    let path = card("VERSION:2.1\r\nNOTE:under \\\\archive\\contracts\\2019.\r\n");
    let note = path.note();
    assert_eq!(note.as_deref(), Some("under \\\\archive\\contracts\\2019."));
}

#[test]
fn a_preference_among_quoted_types_counts() {
    let phones = card("FN:A\r\nTEL;TYPE=HOME:1\r\nTEL;TYPE=\"CELL,PREF\":2\r\n").phones();
    assert_eq!(phones[0].value, "2");
    assert!(phones[0].preferred);
    assert_eq!(phones[0].types, ["cell"]);
}

#[test]
fn a_bare_image_type_names_the_media_type() {
    let photo = card("VERSION:2.1\r\nN:A\r\nPHOTO;ENCODING=BASE64;JPEG:/9j/\r\n").photo();
    let Some(Photo::Inline { media_type, bytes }) = photo else {
        unreachable!("the photo is inline");
    };
    assert_eq!(media_type.as_deref(), Some("image/jpeg"));
    assert_eq!(bytes, [0xff, 0xd8, 0xff]);
}

#[test]
fn base64_that_happens_to_be_text_is_still_a_photo() {
    let photo = card("FN:A\r\nPHOTO;ENCODING=b:aGVsbG8=\r\n").photo();
    assert!(matches!(photo, Some(Photo::Inline { bytes, .. }) if bytes == b"hello"));
}

#[test]
fn damaged_base64_is_read_without_the_damage() {
    let photo = card("FN:A\r\nPHOTO;ENCODING=b:/9\u{fffd}j /\r\n").photo();
    assert!(matches!(photo, Some(Photo::Inline { bytes, .. }) if bytes == [0xff, 0xd8, 0xff]));
}

#[test]
fn a_blank_name_does_not_hide_the_next_one() {
    assert_eq!(card("FN:\r\nFN:Ada\r\n").display_name(), "Ada");
    assert_eq!(card("FN:A\r\nUID:\r\nUID:7\r\n").uid(), Some("7"));
}

#[test]
fn times_come_out_in_the_form_of_the_version() {
    for written in [
        "20200101T100000Z",
        "2020-01-01T10:00:00Z",
        "2020-01-01t10:00Z",
    ] {
        let card = card(&format!("FN:A\r\nREV:{written}\r\n"));
        assert_eq!(
            card.property("REV").as_deref(),
            Some("2020-01-01T10:00:00Z")
        );
        assert!(card.to_v4().contains("REV:20200101T100000Z\r\n"));
    }
    let exact = card("FN:A\r\nREV:2020-01-01T10:00:00.123Z\r\n");
    assert_eq!(
        exact.property("REV").as_deref(),
        Some("2020-01-01T10:00:00.123Z")
    );
    let zone = card("FN:A\r\nTZ:-05:00\r\n");
    assert_eq!(zone.property("TZ").as_deref(), Some("-05:00"));
    assert!(zone.to_v4().contains("TZ:-0500\r\n"));
}

#[test]
fn parameters_of_unknown_names_survive_conversion() {
    let v4 = card("VERSION:3.0\r\nFN:A\r\nX-A;X-B=\"c;d\",e;TYPE=x:1\r\n").to_v4();
    assert!(v4.contains("X-A;X-B=\"c;d\",e;TYPE=x:1\r\n"), "{v4}");
}

#[test]
fn inline_data_in_a_property_of_text_is_declared_as_a_uri() {
    let v4 = card("FN:A\r\nX-PICTURE;ENCODING=b:/9j/\r\n").to_v4();
    assert!(
        v4.contains("X-PICTURE;VALUE=uri:data:;base64,/9j/\r\n"),
        "{v4}"
    );
    assert_eq!(Card::parse(v4.clone()).unwrap().to_v4(), v4);
}

#[test]
fn another_component_within_a_card_is_refused() {
    for body in [
        "BEGIN:VEVENT\r\nEND:VEVENT\r\n",
        "END:VEVENT\r\n",
        "BEGIN:VCARD\r\n",
    ] {
        let text = format!("BEGIN:VCARD\r\nFN:A\r\n{body}END:VCARD\r\n");
        assert_eq!(Card::parse(text), Err(CardError::Several), "{body}");
    }
}

/// Properties that 4.0 has in another form, or that a card of 4.0 must have.
const CONVERTED: &[&str] = &[
    "TZ",
    "GEO",
    "LABEL",
    "SORT-STRING",
    "ANNIVERSARY",
    "X-ANNIVERSARY",
    "X-EVOLUTION-ANNIVERSARY",
    "X-KADDRESSBOOK-X-ANNIVERSARY",
    "X-ABDATE",
    "X-ABLABEL",
    "X-ABSHOWAS",
    "KIND",
    "PROFILE",
    "FN",
    "X-ADDRESSBOOKSERVER-KIND",
    "X-ADDRESSBOOKSERVER-MEMBER",
    "MEMBER",
    "REV",
];

/// A card converted to 4.0 has the same properties, and converting it again changes nothing.
#[test]
fn conversion_keeps_every_property_of_every_dialect() {
    let mut cards: Vec<Vec<u8>> = People::new(11).take(500).map(Into::into).collect();
    for fixture in etui_testkit::fixtures::ALL {
        for item in Splitter::new(fixture.bytes, "VCARD") {
            if let SplitItem::Record(record) = item.unwrap() {
                cards.push(record.bytes);
            }
        }
    }
    assert!(cards.len() > 540);
    for text in cards {
        let card = match Card::parse(text.clone()) {
            Err(CardError::Empty) => continue,
            card => card.unwrap(),
        };
        let v4 = card.to_v4();
        let converted = Card::parse(v4.clone()).unwrap();
        assert_eq!(converted.to_v4(), v4);
        if String::from_utf8_lossy(&text).contains("OMIT-YEAR") {
            continue;
        }
        let values = |card: &Card| -> Vec<String> {
            let all = card.all_properties();
            let all = all.map(|(group, name, value)| (group, name.to_ascii_uppercase(), value));
            let all = all.filter(|(_, name, value)| {
                let is_empty = value.trim_matches([';', ' ']).is_empty();
                !is_empty && !CONVERTED.contains(&name.as_str())
            });
            all.map(|(group, name, value)| {
                let name = name.strip_prefix("X-").unwrap_or(&name);
                let value = match name {
                    "EMAIL" => bare_address(&value),
                    _ => &value,
                };
                format!("{group:?} {name} {value}")
            })
            .collect()
        };
        assert_eq!(values(&converted), values(&card));
    }
}
