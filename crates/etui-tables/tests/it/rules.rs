//! The rules of tables and directories, each with an example.

use etui_tables::{
    ColumnField, CsvError, CsvFormat, CsvOptions, CsvPlan, CsvReader, ForeignContact, ForeignItem,
    LdifReader,
};
use etui_vcard::Card;

fn contacts(items: impl Iterator<Item = std::io::Result<ForeignItem>>) -> Vec<ForeignContact> {
    let contacts = items.map(|item| match item.unwrap() {
        ForeignItem::Contact(contact) => contact,
        ForeignItem::Rejected(record) => panic!("{record:?}"),
    });
    contacts.collect()
}

fn csv(text: &str) -> Vec<ForeignContact> {
    contacts(CsvReader::open(text.as_bytes(), &CsvOptions::default()).unwrap())
}

fn ldif(text: &str) -> Vec<ForeignContact> {
    contacts(LdifReader::new(text.as_bytes()))
}

#[test]
fn a_date_shows_the_order_of_the_others() {
    let birthdays = |text: &str| {
        let all = csv(&format!("Name,Birthday\n{text}")).into_iter();
        let all = all.map(|c| (c.card.property("BDAY").unwrap(), c.warnings.len()));
        all.collect::<Vec<_>>()
    };
    let expected = |a: &str, b: &str, n| vec![(a.to_owned(), n), (b.to_owned(), 0)];
    assert_eq!(
        birthdays("A,3/4/1980\nB,17/5/1980\n"),
        expected("1980-04-03", "1980-05-17", 0)
    );
    assert_eq!(
        birthdays("A,3/4/1980\nB,5/17/1980\n"),
        expected("1980-03-04", "1980-05-17", 0)
    );
    // Nothing shows it: the month is first, and each is told apart by a warning.
    assert_eq!(
        birthdays("A,3/4/1980\nB,1980-05-17\n"),
        expected("1980-03-04", "1980-05-17", 1)
    );
}

#[test]
fn a_row_is_identified_by_its_fields() {
    let uid = |text: &str| csv(text)[0].card.uid().unwrap().to_owned();
    let first = uid("Name,Email,Phone\nAda,ada@example.org,\n");
    // Another order, a column without content, other quotes.
    assert_eq!(uid("Email;Name\n\"ada@example.org\";Ada\n"), first);
    assert_ne!(uid("Name,Email\nAda,ada@example.com\n"), first);
    assert_eq!(uid("Name,Email,UID\nAda,ada@example.org,ada-1\n"), "ada-1");
}

#[test]
fn an_entry_is_identified_by_its_directory() {
    let uid = |text: &str| ldif(text)[0].card.uid().unwrap().to_owned();
    let first = uid("dn: cn=Ada,dc=example,dc=org\ncn: Ada\n");
    assert_eq!(
        uid("dn: CN=Ada, dc=example, dc=org\ncn: Ada\nmail: a@example.org\n"),
        first
    );
    // The names of an address book's export may be those of several people.
    let book = uid("dn: cn=Ada\ncn: Ada\n");
    assert_ne!(uid("dn: cn=Ada\ncn: Ada\nmail: a@example.org\n"), book);
    let twice = ldif("dn: cn=Ada,o=x\ncn: Ada\n\ndn: cn=Ada,o=x\ncn: Ada\nmail: a@example.org\n");
    assert_ne!(twice[0].card.uid(), twice[1].card.uid());
}

#[test]
fn a_map_overrides_the_recognition() {
    let property = |name: &str, types: &[&str], component| ColumnField::Property {
        name: name.to_owned(),
        types: types.iter().map(|t| (*t).to_owned()).collect(),
        component,
    };
    let options = CsvOptions {
        map: vec![
            ("tel. 1".to_owned(), property("TEL", &["work"], None)),
            ("Tel. 2".to_owned(), property("TEL", &["work"], None)),
            ("Ort".to_owned(), property("ADR", &["home"], Some(3))),
            ("PLZ".to_owned(), property("ADR", &["home"], Some(5))),
            ("Email".to_owned(), ColumnField::Ignored),
        ],
        ..CsvOptions::default()
    };
    let text = "Name;Tel. 1;Tel. 2;Ort;PLZ;Email\nAda;1;2;Berlin;10115;a@example.org\n";
    let card = contacts(CsvReader::open(text.as_bytes(), &options).unwrap())
        .remove(0)
        .card;
    let phones: Vec<_> = card
        .phones()
        .into_iter()
        .map(|p| (p.value, p.types.join(",")))
        .collect();
    assert_eq!(
        phones,
        [
            ("1".to_owned(), "work".to_owned()),
            ("2".to_owned(), "work".to_owned())
        ]
    );
    assert_eq!(card.properties("ADR"), [";;;Berlin;;10115;"]);
    assert!(card.emails().is_empty());
    let missing = CsvReader::open(&b"Name,Email\nA,b@example.org\n"[..], &options);
    assert!(matches!(missing, Err(CsvError::NoColumn { name, .. }) if name == "tel. 1"));
}

#[test]
fn empty_and_unknown_tables_are_errors() {
    let open = |text: &str| CsvReader::open(text.as_bytes(), &CsvOptions::default()).err();
    assert!(matches!(open(""), Some(CsvError::Empty)));
    assert!(matches!(open("\n \n"), Some(CsvError::Empty)));
    let wide = "Name,".repeat(2_000);
    assert!(matches!(open(&wide), Some(CsvError::TooManyColumns(2_001))));
    assert!(matches!(
        open("a,b,c\n1,2,3\n"),
        Some(CsvError::UnknownColumns { .. })
    ));
}

#[test]
fn outlook_has_a_fixed_number_of_columns() {
    let card = Card::parse(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada Lovelace\r\nN:Lovelace;Ada;;;\r\n\
         EMAIL:1@example.org\r\nEMAIL;TYPE=work:2@example.org\r\nEMAIL:3@example.org\r\n\
         EMAIL:4@example.org\r\nTEL;TYPE=work,voice:+1\r\nTEL;TYPE=work,fax;PREF=1:+2\r\n\
         TEL;TYPE=isdn:+3\r\nitem1.ADR;TYPE=home:;Flat 2;12 St\\, James;London;;;UK\r\n\
         item1.X-ABLABEL:Town\r\nBDAY:--1210\r\nANNIVERSARY:18350708\r\nORG:A;B;C\r\n\
         CATEGORIES:x,y\r\nRELATED;TYPE=spouse;VALUE=text:William\r\nX-HOBBY:chess\r\nEND:VCARD\r\n",
    )
    .unwrap();
    let mut plan = CsvPlan::new(CsvFormat::Outlook);
    plan.add(&card);
    let mut out = Vec::new();
    let mut writer = plan.writer(&mut out).unwrap();
    let losses: Vec<String> = writer
        .write(&card)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    writer.finish().unwrap();
    assert_eq!(
        losses,
        [
            "EMAIL: the types work of 2@example.org",
            "EMAIL: 4@example.org",
            "TEL: the parameter PREF of +2",
            "TEL: the types isdn of +3",
            "ADR: the label Town of ;Flat 2;12 St, James;London;;;UK",
            "BDAY: --12-10",
            "ORG: C of A;B;C",
            "X-HOBBY: chess",
        ]
    );
    let text = String::from_utf8(out).unwrap();
    let read = csv(&text).remove(0).card;
    assert_eq!(read.display_name(), "Ada Lovelace");
    assert_eq!(read.categories(), ["x", "y"]);
    assert_eq!(read.properties("ANNIVERSARY"), ["1835-07-08"]);
    assert_eq!(read.properties("RELATED"), ["William"]);
    assert_eq!(read.addresses()[0].street, "12 St, James, Flat 2");
    assert_eq!(read.phones().len(), 3);
}

#[test]
fn characters_that_no_table_has_are_reported() {
    let card = Card::parse(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Eve \x1b[31mTrouble\r\nTEL:1\r\nEND:VCARD\r\n",
    )
    .unwrap();
    for format in [CsvFormat::Google, CsvFormat::Outlook] {
        let mut plan = CsvPlan::new(format);
        plan.add(&card);
        let mut out = Vec::new();
        let losses = plan.writer(&mut out).unwrap().write(&card).unwrap();
        let summaries: Vec<_> = losses.iter().map(|loss| loss.summary()).collect();
        assert_eq!(summaries, ["FN part"]);
        assert!(!out.contains(&0x1b));
    }
}

#[test]
fn groups_are_labels_of_their_members() {
    let directory = "dn: cn=Ada,ou=p,dc=x\ncn: Ada\nsn: Ada\n\n\
        dn: cn=Crew,dc=x\nobjectClass: groupOfNames\ncn: Crew\nmember: CN=Ada, ou=p,dc=x\n\
        member: cn=Bob,ou=p,dc=x\n\n\
        dn: cn=Bob,ou=p,dc=x\ncn: Bob\nsn: Bob\nbusinessCategory: Sales\n\n\
        dn: cn=Chess Club,dc=x\nobjectclass: groupOfUniqueNames\ncn: Chess Club\n\
        uniqueMember: cn=bob,ou=P,dc=x\n\n\
        dn: cn=Eve,ou=p,dc=x\ncn: Eve\nsn: Eve\n";
    let thunderbird = "dn: cn=Ada,mail=ada@b.example\ncn: Ada\nmail: ada@b.example\n\n\
        dn: cn=Friends\nobjectclass: groupOfNames\ncn: Friends\nmember: cn=Ada,mail=Ada@b.example\n";
    let labels = |text: &str| -> Vec<(String, String)> {
        let mut reader = LdifReader::new(text.as_bytes());
        reader.label_members(text.as_bytes(), None).unwrap();
        let all = contacts(reader).into_iter().map(|contact| {
            let text = String::from_utf8_lossy(contact.card.text()).into_owned();
            let lines = text
                .lines()
                .filter_map(|line| line.strip_prefix("CATEGORIES:"));
            let labels = lines.collect::<Vec<_>>().join(";");
            (contact.card.display_name().to_string(), labels)
        });
        all.collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let found = labels(directory);
    assert_eq!(found[0], pair("Ada", "Crew"));
    assert_eq!(found[1], pair("Crew", ""));
    assert!(found[2].1.ends_with("Crew,Chess Club"), "{found:?}");
    assert_eq!(found[4], pair("Eve", ""));
    assert_eq!(labels(thunderbird)[0], pair("Ada", "Friends"));
}
