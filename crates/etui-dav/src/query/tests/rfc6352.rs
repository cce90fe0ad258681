//! The examples of RFC 6352 section 8.6, and the rules of section 10.5.

use super::*;

/// `v1` and `v2` are those of the examples.
const CARDS: [(&str, &str); 5] = [
    (
        "v1",
        "VERSION:3.0\r\nNICKNAME:me\r\nUID:v1\r\nFN:Cyrus Daboo\r\nN:Daboo;Cyrus;;;\r\n\
         EMAIL:daboo@example.com\r\n",
    ),
    (
        "v2",
        "VERSION:3.0\r\nNICKNAME:oliver\r\nUID:v2\r\nFN:Oliver Daboo\r\nN:Daboo;Oliver;;;\r\n\
         EMAIL:oliver@example.com\r\n",
    ),
    (
        "v3",
        "VERSION:3.0\r\nNICKNAME:mel,me too\r\nUID:v3\r\nFN:Jörg Example\r\nN:Example;Jörg;;;\r\n\
         item1.EMAIL;TYPE=work,pref:joerg@daboo.example\r\nitem1.X-ABLabel:Desk\r\n\
         TEL;TYPE=cell:+49 (30) 1234-567\r\nEMAIL;TYPE=home:j@home.example\r\n",
    ),
    (
        "v4",
        "VERSION:4.0\r\nUID:v4\r\nFN:Ada Example\r\nFN;ALTID=1:Contesse Example\r\n\
         ORG:Acme\\, Inc.;Engines\r\n",
    ),
    (
        "v5",
        "VERSION:2.1\r\nUID:v5\r\nFN;ENCODING=QUOTED-PRINTABLE:Grace=20Hopper\r\nN:Hopper;Grace\r\n\
         TEL;CELL:555\r\n",
    ),
];

fn card(uid: &str) -> String {
    let (_, body) = CARDS.iter().find(|(one, _)| *one == uid).unwrap();
    format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n")
}

fn store() -> TestStore {
    let cards: String = CARDS.iter().map(|(uid, _)| card(uid)).collect();
    TestStore::with_contacts(cards.as_bytes())
}

fn ask_with(store: &TestStore, content: &str) -> (Vec<String>, bool) {
    let query = parse_addresses(content).unwrap();
    let snapshot = store.store.snapshot().unwrap();
    let reader = snapshot.contacts().unwrap();
    let found = find_contacts(&reader, &query).unwrap();
    let uids = found.ids.iter();
    let uids = uids
        .map(|id| reader.get(*id).unwrap().unwrap().uid)
        .collect();
    (uids, found.is_truncated)
}

/// Returns the UIDs that the content of a filter with a `test` finds. Each card's own evaluation agrees.
fn ask(store: &TestStore, test: &str, conditions: &str) -> Vec<String> {
    let content = format!("<C:filter test=\"{test}\">{conditions}</C:filter>");
    let (found, is_truncated) = ask_with(store, &content);
    let query = parse_addresses(&content).unwrap();
    let is_match = |uid: &&str| query.matches(card(uid).as_bytes());
    let all: Vec<&str> = CARDS.iter().map(|(uid, _)| *uid).filter(is_match).collect();
    assert_eq!(all, found, "{conditions}");
    assert!(!is_truncated);
    found
}

fn property(name: &str, text: &str, attributes: &str) -> String {
    format!(
        "<C:prop-filter name=\"{name}\"><C:text-match {attributes}>{text}</C:text-match>\
         </C:prop-filter>"
    )
}

#[test]
fn partial_retrieval_of_cards_by_nickname_8_6_3() {
    let filter = property(
        "NICKNAME",
        "me",
        "collation=\"i;unicode-casemap\" match-type=\"equals\"",
    );
    assert_eq!(ask(&store(), "anyof", &filter), ["v1"]);
    let props = ["VERSION", "UID", "NICKNAME", "EMAIL", "FN"];
    let props: String = props
        .iter()
        .map(|p| format!("<C:prop name=\"{p}\"/>"))
        .collect();
    let document = format!("<C:address-data>{props}</C:address-data>");
    let data = AddressData::parse(&parse_xml(CARDDAV, &document)).unwrap();
    let part = data.apply(card("v1").as_bytes());
    assert_eq!(
        String::from_utf8(part).unwrap(),
        "BEGIN:VCARD\r\nVERSION:3.0\r\nNICKNAME:me\r\nUID:v1\r\nFN:Cyrus Daboo\r\n\
         EMAIL:daboo@example.com\r\nEND:VCARD\r\n"
    );
}

#[test]
fn retrieval_of_cards_by_name_or_address_8_6_4() {
    let name = property(
        "FN",
        "daboo",
        "collation=\"i;unicode-casemap\" match-type=\"contains\"",
    );
    let address = property(
        "EMAIL",
        "daboo",
        "collation=\"i;unicode-casemap\" match-type=\"contains\"",
    );
    let both = name.clone() + &address;
    assert_eq!(ask(&store(), "anyof", &both), ["v1", "v2", "v3"]);
    assert_eq!(ask(&store(), "allof", &both), ["v1"]);
}

#[test]
fn truncated_results_8_6_5() {
    let filter = format!("<C:filter>{}</C:filter>", property("FN", "a", ""));
    let ask = |limit: &str| ask_with(&store(), &format!("{filter}{limit}"));
    let limited = ask("<C:limit><C:nresults>2</C:nresults></C:limit>");
    assert_eq!(limited, (vec!["v1".to_owned(), "v2".to_owned()], true));
    let all = ask("<C:limit><C:nresults>5</C:nresults></C:limit>");
    assert_eq!((all.0.len(), all.1), (5, false));
    // Without an index.
    let filter = "<C:filter/><C:limit><C:nresults>1</C:nresults></C:limit>";
    assert_eq!(ask_with(&store(), filter), (vec!["v1".to_owned()], true));
    for refused in [
        "",
        "<C:nresults>0</C:nresults>",
        "<C:nresults>x</C:nresults>",
    ] {
        let refused = parse_addresses(&format!("<C:filter/><C:limit>{refused}</C:limit>"));
        assert_eq!(refused.unwrap_err().status(), 400);
    }
}

#[test]
fn conditions_are_on_one_property() {
    let store = store();
    let email = |test: &str, kind: &str, text: &str| {
        format!(
            "<C:prop-filter name=\"EMAIL\" test=\"{test}\"><C:text-match>{text}</C:text-match>\
             <C:param-filter name=\"TYPE\"><C:text-match match-type=\"equals\">{kind}\
             </C:text-match></C:param-filter></C:prop-filter>"
        )
    };
    assert_eq!(
        ask(&store, "anyof", &email("allof", "work", "daboo")),
        ["v3"]
    );
    assert_eq!(
        ask(&store, "anyof", &email("allof", "home", "daboo")),
        [""; 0]
    );
    assert_eq!(
        ask(&store, "anyof", &email("anyof", "home", "daboo")),
        ["v1", "v3"]
    );
}

#[test]
fn every_kind_of_condition_holds_where_it_should() {
    let store = store();
    let has =
        |name: &str, inner: &str| format!("<C:prop-filter name=\"{name}\">{inner}</C:prop-filter>");
    let cases: &[(String, &[&str])] = &[
        (has("TEL", ""), &["v3", "v5"]),
        (has("TEL", "<C:is-not-defined/>"), &["v1", "v2", "v4"]),
        (has("item1.EMAIL", ""), &["v3"]),
        (has("item2.EMAIL", ""), &[]),
        (has("TEL", "<C:param-filter name=\"TYPE\"/>"), &["v3", "v5"]),
        (
            has(
                "TEL",
                "<C:param-filter name=\"TYPE\"><C:text-match>cell</C:text-match></C:param-filter>",
            ),
            &["v3", "v5"],
        ),
        (
            has(
                "EMAIL",
                "<C:param-filter name=\"TYPE\"><C:is-not-defined/></C:param-filter>",
            ),
            &["v1", "v2"],
        ),
        (property("TEL", "1234", ""), &["v3"]),
        (property("TEL", "30) 12", ""), &["v3"]),
        (property("TEL", "301", ""), &[]),
        (property("FN", "JÖRG", ""), &["v3"]),
        (property("FN", "JÖRG", "collation=\"i;ascii-casemap\""), &[]),
        (property("FN", "jorg", ""), &[]),
        (property("FN", "contesse", ""), &["v4"]),
        (
            property("FN", "grace hopper", "match-type=\"equals\""),
            &["v5"],
        ),
        (
            property("FN", "example", "match-type=\"ends-with\""),
            &["v3", "v4"],
        ),
        (
            property("FN", "cyrus", "match-type=\"starts-with\""),
            &["v1"],
        ),
        (property("ORG", "acme, inc.", ""), &["v4"]),
        (property("NICKNAME", "me too", ""), &["v3"]),
        (
            property("EMAIL", "@example.com", "negate-condition=\"yes\""),
            &["v3"],
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(ask(&store, "anyof", filter), *expected, "{filter}");
    }
    assert_eq!(ask(&store, "anyof", "").len(), 5);
}

#[test]
fn cards_come_in_the_version_asked_for() {
    let apply = |attributes: &str, uid: &str| {
        let document = format!("<C:address-data {attributes}/>");
        let data = AddressData::parse(&parse_xml(CARDDAV, &document));
        data.map(|data| String::from_utf8(data.apply(card(uid).as_bytes())).unwrap())
    };
    assert_eq!(apply("", "v3").unwrap(), card("v3"));
    for uid in ["v4", "v5"] {
        assert!(apply("", uid).unwrap().contains("\r\nVERSION:3.0\r\n"));
    }
    let v4 = "content-type=\"text/vcard\" version=\"4.0\"";
    assert_eq!(apply(v4, "v4").unwrap(), card("v4"));
    let converted = apply(v4, "v1").unwrap();
    assert!(
        converted.starts_with("BEGIN:VCARD\r\nVERSION:4.0\r\n"),
        "{converted}"
    );
    for refused in ["version=\"2.1\"", "content-type=\"text/x-vcard\""] {
        let error = apply(refused, "v1").unwrap_err();
        assert_eq!(error.precondition().unwrap().1, "supported-address-data");
    }
    let no_value = "<C:address-data><C:prop name=\"EMAIL\" novalue=\"yes\"/></C:address-data>";
    let data = AddressData::parse(&parse_xml(CARDDAV, no_value)).unwrap();
    let part = data.apply(card("v1").as_bytes());
    assert_eq!(
        part,
        b"BEGIN:VCARD\r\nVERSION:3.0\r\nEMAIL:\r\nEND:VCARD\r\n"
    );
    assert_eq!(AddressData::default().apply(b"no card"), b"no card");
}
