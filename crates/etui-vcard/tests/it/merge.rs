//! Cards of version 4.0 out as 3.0, and edits of those back.

use etui_vcard::{Card, CardError, NewProperty, VCardVersion};
use proptest::prelude::*;

fn v4(body: &str) -> Card {
    Card::parse(format!("BEGIN:VCARD\r\nVERSION:4.0\r\n{body}END:VCARD\r\n")).unwrap()
}

fn v3(card: &Card) -> Card {
    Card::parse(card.to_v3()).unwrap()
}

fn text(card: &Card) -> String {
    String::from_utf8_lossy(card.text()).into_owned()
}

/// Merges the 3.0 card after a replacement in its text.
fn merged(stored: &Card, from: &str, to: &str) -> String {
    let shown = stored.to_v3();
    assert!(shown.contains(from), "{from} is not in {shown}");
    let edited = Card::parse(shown.replace(from, to)).unwrap();
    text(&stored.merge_v3(&edited).unwrap())
}

const RICH: &str = "KIND:individual\r\n\
    FN;PREF=1:Ada Lovelace\r\n\
    FN;LANGUAGE=ja;ALTID=1:エイダ\r\n\
    N;SORT-AS=\"Lovelace,Ada\";ALTID=1;LANGUAGE=en:Lovelace;Ada;Augusta,Byron;;\r\n\
    N;ALTID=1;LANGUAGE=ja:ラブレス;エイダ;;;\r\n\
    BDAY:--1210\r\n\
    ANNIVERSARY:18350708\r\n\
    DEATHDATE:1852-11\r\n\
    tel;value=uri;pref=1;type=\"voice,home\":tel:+44-20-7946-0123;ext=5\r\n\
    TEL;PREF=40;PID=1.1;TYPE=cell:+44 7700 900123\r\n\
    item1.EMAIL;PREF=2;INDEX=1:ada@example.org\r\n\
    item1.X-ABLabel:_$!<Home>!$_\r\n\
    ADR;LABEL=\"12 St James's Square\";GEO=\"geo:51.5,-0.13\":;;12 St James's Square;London;;;\r\n\
    GEO:geo:51.5,-0.13\r\n\
    TZ:+0000\r\n\
    NICKNAME:Countess,Enchantress\r\n\
    CATEGORIES:maths\\, old,engines\r\n\
    PHOTO:data:image/jpeg;base64,/9j/4AAQSkZJRg==\r\n\
    RELATED;TYPE=friend;VALUE=text:Charles Babbage\r\n\
    X-ODD;x-p=\"a;b\":one;two,three\\;four\r\n\
    NOTE:A long note that is folded somewhere in the middle so that the lines \r\n of it are two\r\n\
    REV:20261122T193753Z\r\n\
    UID:urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1\r\n";

#[test]
fn an_unchanged_card_keeps_its_bytes() {
    let stored = v4(RICH);
    assert_eq!(stored.merge_v3(&v3(&stored)).unwrap().text(), stored.text());
}

#[test]
fn one_line_changes_alone() {
    let stored = v4(RICH);
    let before = text(&stored);
    for (from, to, old, new) in [
        (
            "+44 7700 900123",
            "0171 1",
            "TEL;PREF=40;PID=1.1;TYPE=cell:+44 7700 900123",
            "TEL;TYPE=cell;PREF=40;PID=1.1:0171 1",
        ),
        (
            "BDAY;X-APPLE-OMIT-YEAR=1604:1604-12-10",
            "BDAY:1815-12-10",
            "BDAY:--1210",
            "BDAY:18151210",
        ),
        (
            "X-EVOLUTION-ANNIVERSARY:1835-07-08",
            "X-EVOLUTION-ANNIVERSARY:1835-07-09",
            "ANNIVERSARY:18350708",
            "ANNIVERSARY:18350709",
        ),
        (
            "GEO:51.5;-0.13",
            "GEO:52.5;13.4",
            "GEO:geo:51.5,-0.13\r\nTZ",
            "GEO:geo:52.5,13.4\r\nTZ",
        ),
        (
            "FN;TYPE=pref:Ada Lovelace",
            "FN;TYPE=pref:Ada King",
            "FN;PREF=1:Ada Lovelace",
            "FN;PREF=1:Ada King",
        ),
        (
            "/9j/4AAQSkZJRg==",
            "AAEC",
            "PHOTO:data:image/jpeg;base64,/9j/4AAQSkZJRg==",
            "PHOTO:data:image/jpeg;base64,AAEC",
        ),
        (
            "one;two,three\\;four",
            "one;two",
            "X-ODD;x-p=\"a;b\":one;two,three\\;four",
            "X-ODD;x-p=\"a;b\":one;two",
        ),
        // A label belongs to the address.
        (
            ";London;",
            ";Ockham;",
            "ADR;LABEL=\"12 St James's Square\";GEO=\"geo:51.5,-0.13\":;;12 St James's Square;London;;;",
            "ADR:;;12 St James's Square;Ockham;;;",
        ),
    ] {
        assert_eq!(merged(&stored, from, to), before.replace(old, new), "{to}");
    }
}

#[test]
fn other_parameters_leave_the_value_alone() {
    let stored = v4(RICH);
    let changed = merged(
        &stored,
        "tel;TYPE=voice,home,pref:".replace("tel", "TEL").as_str(),
        "TEL;TYPE=work:",
    );
    let old = "tel;value=uri;pref=1;type=\"voice,home\":tel:+44-20-7946-0123;ext=5";
    let new = "TEL;TYPE=work;value=uri:tel:+44-20-7946-0123;ext=5";
    assert_eq!(changed, text(&stored).replace(old, new));
}

#[test]
fn a_removed_line_goes_with_its_alternatives() {
    let stored = v4(RICH);
    let changed = merged(&stored, "NICKNAME:Countess,Enchantress\r\n", "");
    let before = text(&stored);
    assert_eq!(
        changed,
        before.replace("NICKNAME:Countess,Enchantress\r\n", "")
    );
    let stored = v4("FN:A\r\nTITLE;ALTID=1:B\r\nTITLE;ALTID=1;LANGUAGE=fr:C\r\nTITLE:D\r\n");
    let changed = merged(&stored, "TITLE:B\r\n", "");
    assert_eq!(changed, text(&v4("FN:A\r\nTITLE:D\r\n")));
}

#[test]
fn additions_stand_with_their_like() {
    let stored = v4("FN:A\r\nTEL:1\r\nNOTE:x\r\n");
    let changed = merged(
        &stored,
        "END:VCARD",
        "TEL;TYPE=HOME,PREF:2\r\nORG:B;\r\nX-EVOLUTION-ANNIVERSARY:2001-02-03\r\nEND:VCARD",
    );
    let expected = "FN:A\r\nTEL:1\r\nTEL;TYPE=HOME;PREF=1:2\r\nNOTE:x\r\nORG:B;\r\n\
                    ANNIVERSARY:20010203\r\n";
    assert_eq!(changed, text(&v4(expected)));
}

#[test]
fn a_date_that_three_cannot_say_stays_until_another_is_set() {
    let stored = v4("FN:A\r\nBDAY:1815\r\nNOTE:x\r\n");
    let changed = merged(&stored, "NOTE:x", "NOTE:y");
    assert_eq!(changed, text(&v4("FN:A\r\nBDAY:1815\r\nNOTE:y\r\n")));
    let changed = merged(&stored, "NOTE:x", "NOTE:x\r\nBDAY:1815-12-10");
    assert_eq!(changed, text(&v4("FN:A\r\nBDAY:18151210\r\nNOTE:x\r\n")));
}

/// Evolution's library writes all five parts of N, capitals, escaped commas, lines in other order,
/// and no group.
#[test]
fn another_notation_is_no_change() {
    let stored = v4(
        "FN:A\r\nN:B;A\r\nNICKNAME:c,d\r\nTEL;TYPE=\"home,voice\":1\r\n\
         EMAIL;PREF=1:e@f\r\nX-FOO:g,h\r\n",
    );
    let written = "BEGIN:VCARD\r\nVERSION:3.0\r\nX-FOO:g\\,h\r\nEMAIL;TYPE=PREF:e@f\r\n\
                   TEL;TYPE=VOICE;TYPE=HOME:1\r\nNICKNAME:c\\,d\r\nN:B;A;;;\r\nFN:A\r\nEND:VCARD";
    let edited = Card::parse(written).unwrap();
    assert_eq!(stored.merge_v3(&edited).unwrap().text(), stored.text());
}

#[test]
fn an_older_card_is_replaced_if_it_changes() {
    let stored = Card::parse("BEGIN:VCARD\nVERSION:3.0\nFN:A\nN:A\nTEL:1\nEND:VCARD\n").unwrap();
    assert_eq!(stored.to_v3().as_bytes(), stored.text());
    let same = Card::parse("BEGIN:VCARD\nVERSION:3.0\nTEL:1\nN:A;;;;\nFN:A\nEND:VCARD\n").unwrap();
    assert_eq!(stored.merge_v3(&same).unwrap(), stored);
    let other = Card::parse("BEGIN:VCARD\nVERSION:3.0\nTEL:2\nN:A;;;;\nFN:A\nEND:VCARD\n").unwrap();
    assert_eq!(stored.merge_v3(&other).unwrap(), other);
}

#[test]
fn the_text_around_the_lines_is_kept() {
    let stored = Card::parse("BEGIN:VCARD\nVERSION:4.0\nno property\n\nFN:A\nEND:VCARD").unwrap();
    let mut edited = v3(&stored);
    edited.set("NOTE", "x").unwrap();
    let merged = stored.merge_v3(&edited).unwrap();
    let expected = "BEGIN:VCARD\nVERSION:4.0\nno property\n\nFN:A\nNOTE:x\nEND:VCARD";
    assert_eq!(text(&merged), expected);
    let nothing = v4("TEL:1\r\nBDAY:1815\r\n");
    let edited = Card::parse("BEGIN:VCARD\nVERSION:3.0\nNOTE:y\nEND:VCARD\n").unwrap();
    let merged = nothing.merge_v3(&edited);
    assert_eq!(text(&merged.unwrap()), text(&v4("BDAY:1815\r\nNOTE:y\r\n")));
    assert!(matches!(
        Card::parse("BEGIN:VCARD\nEND:VCARD\n"),
        Err(CardError::Empty)
    ));
}

#[test]
fn many_lines_are_merged_in_linear_time() {
    let lines = "TEL;PREF=2;TYPE=home:1\r\nTEL;ALTID=7:2\r\nBDAY:1815\r\n".repeat(20_000);
    let stored = v4(&format!("FN:A\r\n{lines}"));
    assert_eq!(stored.merge_v3(&v3(&stored)).unwrap().text(), stored.text());
    let edited = Card::parse("BEGIN:VCARD\nVERSION:3.0\nFN:B\nEND:VCARD\n").unwrap();
    let merged = stored.merge_v3(&edited).unwrap();
    assert!(merged.phones().is_empty());
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "FN",
        "N",
        "TEL",
        "EMAIL",
        "NOTE",
        "ADR",
        "ORG",
        "NICKNAME",
        "CATEGORIES",
        "BDAY",
        "ANNIVERSARY",
        "DEATHDATE",
        "GEO",
        "TZ",
        "URL",
        "PHOTO",
        "KEY",
        "RELATED",
        "MEMBER",
        "IMPP",
        "LANG",
        "GENDER",
        "KIND",
        "TITLE",
        "REV",
        "UID",
        "X-FOO",
        "x-bar",
        "XML",
    ])
}

fn parameter() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "PREF=1",
            "PREF=50",
            "PREF=100",
            "TYPE=home",
            "TYPE=\"work,voice\"",
            "type=CELL",
            "VALUE=uri",
            "VALUE=text",
            "ALTID=1",
            "PID=1.1,2",
            "LANGUAGE=ja",
            "SORT-AS=\"a,b\"",
            "MEDIATYPE=image/png",
            "X-P=\"q;r\"",
            "LABEL=\"a\\nb: c\"",
            "CALSCALE=gregorian",
        ])
        .prop_map(str::to_owned),
        "[A-Z]{1,5}=[a-z0-9]{0,4}",
    ]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "18151210",
            "--1210",
            "1815-12",
            "1815",
            "18151210T101500Z",
            "geo:1.5,-2;u=3",
            "tel:+49-30-1;ext=7",
            "data:image/png;base64,AAEC",
            "https://example.org/a,b;c",
            "-0500",
            "Europe/Berlin",
            ";;a;b\\,c;;d,e;",
            "a\\;b\\nc\\\\d",
            "geo:1,2\\nFN:X",
            "tel:1\\nFN:X",
            "data:image/png\\nFN:X;base64,AAEC",
            "",
        ])
        .prop_map(str::to_owned),
        "[^\\x00-\\x1f\\x7f]{0,90}",
    ]
}

prop_compose! {
    fn line()(
        group in prop::option::weighted(0.1, "[a-z]{1,4}"),
        name in name(),
        parameters in prop::collection::vec(parameter(), 0..4),
        value in value(),
    ) -> String {
        let group = group.map(|g| g + ".").unwrap_or_default();
        let parameters: String = parameters.iter().map(|p| format!(";{p}")).collect();
        format!("{group}{name}{parameters}:{value}\r\n")
    }
}

fn body() -> impl Strategy<Value = String> {
    prop::collection::vec(line(), 0..12)
        .prop_map(|lines| format!("FN:Somebody\r\n{}", lines.concat()))
}

/// Another notation of the same 3.0 card: its lines in other order.
fn reordered(text: &str, by: usize) -> String {
    let unfolded = text.replace("\r\n ", "");
    let mut lines: Vec<&str> = unfolded.lines().collect();
    let inner = lines.len() - 3;
    lines[2..2 + inner].rotate_left(by % inner.max(1));
    lines.join("\n")
}

#[test]
fn an_empty_name_of_an_edit_stays_away() {
    let card = v4("FN:A\r\nN:B;;;;\r\n");
    let edited = v3(&v4("FN:A\r\nN;TYPE=home:\r\n"));
    let merged = card.merge_v3(&edited).unwrap();
    assert_eq!(text(&merged), text(&v4("FN:A\r\n")));
    assert_eq!(text(&merged.merge_v3(&edited).unwrap()), text(&merged));
}

#[test]
fn the_sort_order_of_a_name_stays_with_a_new_value() {
    for (parameter, before, after) in [
        ("SORT-AS=\"a,b\"", "N;{}:B;A;;;", "N;{}:C;A;;;"),
        ("SORT-AS=b", "N;{}:B;;;;", "N;{}:C;D;;;"),
        ("SORT-AS=b", "N;{};TYPE=home:B;;;;", "N;{}:C;;;;"),
        ("SORT-AS=b", "N:B;;;;", "N;{}:B;;;;"),
        ("SORT-AS=b", "N:B;;;;", "N;{}:C;;;;"),
        ("SORT-AS=b", "NOTE:a", "N;{}:C;;;;"),
    ] {
        let card = |line: &str| v4(&format!("FN:A\r\n{}\r\n", line.replace("{}", parameter)));
        let (stored, edited) = (card(before), v3(&card(after)));
        let merged = stored.merge_v3(&edited).unwrap();
        assert!(text(&merged).contains(parameter), "{}", text(&merged));
        assert!(!text(&merged).contains("SORT-STRING"), "{}", text(&merged));
        assert_eq!(text(&merged.merge_v3(&edited).unwrap()), text(&merged));
    }
    // Without its line, it was of the old value.
    let stored = v4("FN:A\r\nN;SORT-AS=b:B;;;;\r\n");
    let merged = stored.merge_v3(&v3(&v4("FN:A\r\nN:C;;;;\r\n"))).unwrap();
    assert_eq!(text(&merged), text(&v4("FN:A\r\nN:C;;;;\r\n")));
}

#[test]
fn a_repeated_preference_is_kept_whole() {
    let card = v4("FN:A\r\nNICKNAME;PREF=1;PREF=50:b\r\n");
    let mut edited = v3(&card);
    edited.set("NICKNAME", "c").unwrap();
    let merged = card.merge_v3(&edited).unwrap();
    assert_eq!(
        text(&merged),
        text(&v4("FN:A\r\nNICKNAME;PREF=1;PREF=50:c\r\n"))
    );
    assert_eq!(text(&merged.merge_v3(&edited).unwrap()), text(&merged));
}

proptest! {
    #[test]
    fn unchanged_cards_keep_their_bytes(body in body()) {
        let card = v4(&body);
        let shown = v3(&card);
        prop_assert_eq!(shown.version(), VCardVersion::V3_0);
        prop_assert_eq!(shown.properties("FN").len(), 1);
        prop_assert_eq!(text(&card.merge_v3(&shown).unwrap()), text(&card));
    }

    #[test]
    fn the_order_of_lines_is_no_change(body in body(), by in 0usize..20) {
        let card = v4(&body);
        let shown = Card::parse(reordered(&card.to_v3(), by)).unwrap();
        prop_assert_eq!(text(&card.merge_v3(&shown).unwrap()), text(&card));
    }

    /// The other lines keep their bytes; merging the same edit again changes nothing.
    #[test]
    fn an_added_property_is_added_alone(body in body(), note in "[a-z][a-z,; \\\\]{0,39}") {
        let card = v4(&body);
        let mut edited = v3(&card);
        edited.add(&NewProperty {
            name: "X-ADDED".to_owned(),
            types: vec!["home".to_owned()],
            value: note.clone(),
        }).unwrap();
        let merged = card.merge_v3(&edited).unwrap();
        let found = merged.properties("X-ADDED");
        prop_assert_eq!(found, vec![note]);
        let mut without = merged.clone();
        without.remove("X-ADDED", None).unwrap();
        prop_assert_eq!(text(&without), text(&card));
        prop_assert_eq!(text(&merged.merge_v3(&edited).unwrap()), text(&merged));
    }

    /// Any edit arrives: the merged card as 3.0 merges with the edit into itself.
    #[test]
    fn any_edit_arrives(body in body(), other in body()) {
        let card = v4(&body);
        let edited = v3(&v4(&other));
        let merged = card.merge_v3(&edited).unwrap();
        let again = merged.merge_v3(&edited).unwrap();
        prop_assert_eq!(text(&again), text(&merged), "{}", text(&edited));
    }

    /// Lines of any characters that matter in a card.
    #[test]
    fn odd_cards_keep_their_bytes(
        lines in prop::collection::vec(
            "(FN|N|TEL|BDAY|PHOTO|X-A|a\\.B|GEO|KEY|TZ|AGENT|[A-Z\"=.]{1,3})\
             (;(TYPE|ENCODING|CHARSET|VALUE|PREF|B|x)=?[\"a-zB,:=^ ]{0,6}){0,2}\
             [:;][-a-z0-9A-Z=;:,\\\\\" \u{fc}/+T]{0,12}",
            1..8,
        ),
        ending in prop::sample::select(vec!["\r\n", "\n", "\r\n "]),
    ) {
        let body: String = lines.iter().map(|line| format!("{line}{ending}")).collect();
        let card = Card::parse(format!("BEGIN:VCARD\r\nVERSION:4.0\r\n{body}\r\nEND:VCARD\r\n"));
        let Ok(card) = card else { return Ok(()) };
        prop_assume!(card.version() == VCardVersion::V4_0);
        match Card::parse(card.to_v3()) {
            Ok(shown) => {
                let merged = card.merge_v3(&shown).unwrap();
                prop_assert_eq!(text(&merged), text(&card), "{}", text(&shown));
            }
            Err(e) => prop_assert_eq!(e, CardError::Empty),
        }
    }
}
