//! Contacts are sorted by their readings, and found as they are shown.

use crate::support::{clean, directory};
use etui::contacts::Card;
use etui::{Options, Store};

/// A store with cards of these lines, whose UIDs are their positions.
fn store(locale: &str, region: &str, cards: &[&str]) -> (tempfile::TempDir, Store) {
    let (dir, path) = directory();
    let mut options = Options::default();
    options.locale = Some(locale.into());
    options.region = Some(region.into());
    let store = Store::open_with(&path, &options).unwrap();
    let contacts = store.contacts().unwrap();
    for (uid, lines) in cards.iter().enumerate() {
        let lines = lines.replace('\n', "\r\n");
        let text = format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\n{lines}\r\nEND:VCARD\r\n");
        contacts.save(&Card::parse(text).unwrap()).unwrap();
    }
    (dir, store)
}

fn found(store: &Store, filter: &str) -> Vec<String> {
    let contacts = store.contacts().unwrap();
    let all = contacts.find(&filter.parse().unwrap()).unwrap();
    let mut uids: Vec<String> = all
        .iter()
        .map(|one| contacts.get(one.id).unwrap().unwrap().uid)
        .collect();
    uids.sort();
    uids
}

#[test]
fn readings_order_and_find() {
    let cards = [
        "N:山本;花;;;\nFN:山本 花\nX-PHONETIC-FIRST-NAME:はな\nX-PHONETIC-LAST-NAME:やまもと",
        "N:青木;健;;;\nFN:青木 健\nX-PHONETIC-FIRST-NAME:けん\nX-PHONETIC-LAST-NAME:あおき",
        "N;SORT-AS=\"すずき,ひかる\":鈴木;光;;;\nFN:鈴木 光",
        "N:van der Harten;Rene;J.;Sir;R.D.O.N.\nFN:Rene van der Harten\nSORT-STRING:Harten",
        "N;SORT-AS=\"Zoom,Jan\":van Zoom;Jan;;;\nFN:Jan van Zoom",
        "N:Iris;Ida;;;\nFN:Ida Iris",
        "N:;;;;\nFN:The Zebra Company\nORG;SORT-AS=\"Company of Zebras\":The Zebra Company",
        "N:;;;;\nFN:東京電力\nORG:東京電力\nX-PHONETIC-ORG:とうきょうでんりょく",
    ];
    let (_dir, store) = store("ja", "JP", &cards);
    let contacts = store.contacts().unwrap();
    let all = contacts.list(etui::record::Paging::ALL).unwrap();
    let uids: Vec<String> = all
        .iter()
        .map(|one| contacts.get(one.id).unwrap().unwrap().uid)
        .collect();
    assert_eq!(uids, ["6", "3", "5", "4", "1", "2", "7", "0"]);
    for (text, expected) in [
        ("やまもと", "0"),
        ("けん", "1"),
        ("すずき", "2"),
        ("family:harten", "3"),
        ("given:ひかる", "2"),
        ("zebras", "6"),
        ("とうきょうでんりょく", "7"),
    ] {
        assert_eq!(found(&store, text), [expected], "{text}");
    }
    clean(&store);
}

#[test]
fn phones_are_found_as_they_stand() {
    let cards = [
        "FN:A\nTEL:030 2312501 Frau Meier",
        "FN:B\nTEL:030 2312502 (nur vormittags)",
        "FN:C\nTEL:0171-3920001 privat",
        "FN:D\nTEL:+1-800-FLOWERS",
        "FN:E\nTEL:+1 704 555 0123 ext 45",
        "FN:F\nTEL:030 2312503 Durchwahl",
        "FN:G\nTEL;VALUE=uri:sip:493012345@example.org",
        "FN:Ann\nTEL:0171 3920002",
    ];
    let (_dir, store) = store("de", "DE", &cards);
    for (text, expected) in [
        ("030 2312501 Frau Meier", &["0"][..]),
        ("030 2312502 (nur vormittags)", &["1"]),
        ("0171-3920001 privat", &["2"]),
        ("+1-800-FLOWERS", &["3"]),
        ("+1-800-flowers", &["3"]),
        ("+1 800 FLOWERS", &["3"]),
        ("+1 704 555 0123 ext 45", &["4"]),
        ("+1 704 555 0123", &["4"]),
        ("030 2312503 Durchwahl", &["5"]),
        ("phone:+49 171 3920001", &["2"]),
        ("phone:030 2312501", &["0"]),
        ("phone:\"030 2312502\"", &["1"]),
        ("phone:+49 171 3920001 or phone:030 2312501", &["0", "2"]),
        ("phone:+493012345", &[]),
        ("ann 0171 3920002", &["7"]),
        ("0171 ann", &["7"]),
        ("0171 -ann", &["2"]),
    ] {
        assert_eq!(found(&store, text), expected, "{text}");
    }
    clean(&store);
}

#[test]
fn addresses_are_found_without_what_is_around_them() {
    let cards = [
        "FN:A\nEMAIL:\"Ca N\" <ca@odd.example>",
        "FN:B\nEMAIL:mailto:ca2@odd.example",
        "FN:C\nEMAIL:<ca3@odd.example>",
        "FN:D\nEMAIL:Ca Four <CA4@odd.example>",
        "FN:E\nEMAIL: ca5@odd.example ",
        "FN:F\nEMAIL:MAILTO:ca6@odd.example",
    ];
    let (_dir, store) = store("en", "DE", &cards);
    for (uid, address) in ["ca", "ca2", "ca3", "ca4", "ca5", "ca6"].iter().enumerate() {
        let filter = format!("email:{address}@odd.example");
        assert_eq!(found(&store, &filter), [uid.to_string()], "{filter}");
    }
    assert_eq!(found(&store, "email:*@odd.example").len(), 6);
    clean(&store);
}
