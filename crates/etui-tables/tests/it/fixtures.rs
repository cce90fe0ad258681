//! Exports of real shape as vCards.

use std::fmt::Write;

use etui_tables::{
    CsvError, CsvOptions, CsvProgram, CsvReader, ForeignItem, LdifReader, is_csv, is_ldif,
};
use etui_testkit::fixtures::tables;

fn fixture(name: &str) -> &'static [u8] {
    tables::find(name).unwrap().bytes
}

fn read(name: &str, bytes: &[u8]) -> (Vec<ForeignItem>, String) {
    let mut text = String::new();
    let items: Vec<ForeignItem> = if name.ends_with(".ldif") {
        let mut reader = LdifReader::new(bytes);
        let items = reader.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(reader.bytes_read(), bytes.len() as u64);
        for count in reader.kept_attributes() {
            writeln!(text, "kept {}: {}", count.name, count.records).unwrap();
        }
        for count in reader.skipped_entries() {
            writeln!(text, "skipped {}: {}", count.name, count.records).unwrap();
        }
        items
    } else {
        let mut reader = CsvReader::open(bytes, &CsvOptions::default()).unwrap();
        let items = reader.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(reader.bytes_read(), bytes.len() as u64);
        for count in reader.kept_columns() {
            writeln!(text, "kept {}: {}", count.name, count.records).unwrap();
        }
        items
    };
    (items, text)
}

/// Everything that is read from a file.
fn dump(name: &str) -> String {
    let (items, kept) = read(name, fixture(name));
    let mut text = String::new();
    for item in &items {
        match item {
            ForeignItem::Contact(contact) => {
                writeln!(text, "lines {}-{}", contact.line, contact.last_line).unwrap();
                let card = String::from_utf8_lossy(contact.card.text()).replace("\r\n ", "");
                for line in card.lines() {
                    let framing = ["BEGIN:", "END:", "VERSION:"];
                    if !framing.iter().any(|begin| line.starts_with(begin)) {
                        writeln!(text, "  {line}").unwrap();
                    }
                }
                for warning in &contact.warnings {
                    writeln!(text, "  ! {warning}").unwrap();
                }
            }
            ForeignItem::Rejected(row) => {
                writeln!(
                    text,
                    "rejected {}-{}: {} ({})",
                    row.line, row.last_line, row.reason, row.excerpt
                )
                .unwrap();
            }
        }
    }
    text + &kept
}

#[test]
fn every_file_is_counted() {
    for fixture in tables::ALL {
        let (items, _) = read(fixture.name, fixture.bytes);
        let refused: Vec<u64> = items
            .iter()
            .filter_map(|item| match item {
                ForeignItem::Rejected(row) => Some(row.line),
                ForeignItem::Contact(_) => None,
            })
            .collect();
        assert_eq!(refused, fixture.refused, "{}", fixture.name);
        assert_eq!(
            items.len() - refused.len(),
            fixture.good,
            "{}",
            fixture.name
        );
        // A second run is the same, UIDs included; every card has one.
        assert_eq!(read(fixture.name, fixture.bytes).0, items);
        for item in &items {
            if let ForeignItem::Contact(contact) = item {
                assert!(
                    contact
                        .card
                        .uid()
                        .is_some_and(|uid| uid.starts_with("urn:uuid:"))
                );
            }
        }
        let head = &fixture.bytes[..fixture.bytes.len().min(4096)];
        assert_eq!(
            is_ldif(head),
            fixture.name.ends_with(".ldif"),
            "{}",
            fixture.name
        );
        assert_eq!(
            is_csv(head),
            !fixture.name.ends_with(".ldif"),
            "{}",
            fixture.name
        );
    }
}

#[test]
fn programs_are_recognized() {
    for (name, program) in [
        ("google-2023.csv", CsvProgram::Google),
        ("google.csv", CsvProgram::Google),
        ("outlook-1252.csv", CsvProgram::Outlook),
        ("outlook-web.csv", CsvProgram::Outlook),
        ("linkedin.csv", CsvProgram::LinkedIn),
        ("thunderbird.csv", CsvProgram::Thunderbird),
        ("excel-utf16.txt", CsvProgram::Other),
        ("broken.csv", CsvProgram::Other),
    ] {
        let reader = CsvReader::open(fixture(name), &CsvOptions::default()).unwrap();
        assert_eq!(reader.program(), program, "{name}");
    }
}

#[test]
fn a_calendar_is_recognized_and_not_read() {
    assert!(is_csv(tables::CALENDAR));
    assert!(matches!(
        CsvReader::open(tables::CALENDAR, &CsvOptions::default()),
        Err(CsvError::Calendar)
    ));
}

#[test]
fn google_until_2024() {
    insta::assert_snapshot!(dump("google-2023.csv"), @r#"
    lines 2-7
      FN:Dr. Ada Augusta Lovelace
      N:Lovelace;Ada;Augusta;Dr.;
      UID:urn:uuid:c11d8cde-ca7a-88e8-8965-f509e86c03f9
      NICKNAME:Countess
      BDAY:18151210
      NOTE:first line\nsecond line\, with "quotes"
      CATEGORIES:Family,starred
      EMAIL;TYPE=home;PREF=1:ada@example.org
      EMAIL;TYPE=home;PREF=1:ada.l@example.com
      EMAIL;TYPE=work:ada@engine.example
      IMPP;TYPE=home;X-SERVICE-TYPE=GoogleTalk:xmpp:ada@example.org
      TEL;TYPE=cell:+44 20 7946 0123
      TEL;TYPE=work,fax:+44 20 7946 0124
      ADR;TYPE=home:;Flat 2;12 St James's Square;London;;SW1Y 4JH;UK
      ORG:Engine Works;Mills
      TITLE:Analyst
      RELATED;TYPE=spouse;VALUE=text:William King
      item1.URL:https://ada.example/
      item1.X-ABLABEL:Blog
      ANNIVERSARY:18350708
      item2.X-CUSTOM:38
      item2.X-ABLABEL:Shoe size
    lines 8-8
      FN:Example GmbH
      UID:urn:uuid:f6deb2ce-d5e5-85bc-9b5a-dd36eb08fc0c
      EMAIL;PREF=1:info@example-gmbh.example
      TEL;TYPE=main:+49 30 23125 001
      ORG:Example GmbH
    lines 9-9
      FN:Jürgen Österle
      N:Österle;Jürgen;;;
      UID:urn:uuid:5de295cf-353b-82f3-b714-92617e731851
      BDAY:--0229
      item1.TEL:+49 30 23125 002
      item1.X-ABLABEL:Boat
      item2.X-CUSTOM:Kiel
      item2.X-ABLABEL:Location
    lines 10-10
      FN:newsletter@example.net
      UID:urn:uuid:164179ee-9cf6-8c86-ac33-9b7c50cb0d1d
      EMAIL;PREF=1:newsletter@example.net
    kept Location: 1
    "#);
}

#[test]
fn google_since_2024() {
    insta::assert_snapshot!(dump("google.csv"), @r"
    lines 2-2
      FN:山田 花子
      N:山田;花子;;;
      UID:urn:uuid:4841909c-ce45-84ec-87a1-b63868a67e99
      X-PHONETIC-FIRST-NAME:はなこ
      X-PHONETIC-LAST-NAME:やまだ
      PHOTO:https://photos.example/hanako.jpg
      CATEGORIES:Friends
      EMAIL;TYPE=home;PREF=1:hanako@example.jp
      TEL;TYPE=cell:+81 90 0000 0001
    lines 3-5
      FN:Amazing Grace
      N:Example;Grace;B.;;
      UID:urn:uuid:fc883ce1-eeff-897f-a7ba-4b24ec779e68
      ORG:Navy;Computing
      TITLE:Admiral
      BDAY:19061209
      NOTE:COBOL\;\nand a moth
      EMAIL;TYPE=work:grace@example.org
      item1.EMAIL:grace@example.com
      item1.X-ABLABEL:Old one
      ADR;TYPE=work:;;1 Yard,Building 7;Arlington;VA;22202;US
      item2.RELATED;VALUE=text:Roger Example
      item2.X-ABLABEL:Brother
      item3.URL:https://grace.example/
      item3.X-ABLABEL:Profile
      item4.X-ABDATE:1947-09-09
      item4.X-ABLABEL:First bug
      ROLE:Inventor
    ");
}

#[test]
fn outlook_in_windows_1252() {
    insta::assert_snapshot!(dump("outlook-1252.csv"), @r"
    lines 2-3
      FN:Dr. Käthe Müller
      N:Müller;Käthe;;Dr.;
      UID:urn:uuid:58947b43-3463-8b94-9b43-6606f1fdb661
      ORG:Bäckerei Süß
      TITLE:Geschäftsführerin
      ADR;TYPE=work:;;Große Straße 1,Hinterhaus;Köln;;50667;Germany
      TEL;TYPE=work,fax:+49 221 4710 002
      TEL;TYPE=work:+49 221 4710 001
      TEL;TYPE=cell:0171 39200 01
      BDAY:19800517
      CATEGORIES:Kunden,Freunde
      EMAIL:kaethe.mueller@example.org
      NOTE:Zeile 1\nZeile 2 – mit „Anführung“
      RELATED;TYPE=spouse;VALUE=text:Jörg Müller
      URL:https://baeckerei-suess.example/
      item1.X-CUSTOM:K-4711
      item1.X-ABLABEL:User 1
    lines 4-4
      FN:Zoë O'Hara
      N:O'Hara;Zoë;;;
      UID:urn:uuid:5b5ea6f0-414b-8017-b99f-ceab62450ed0
      ADR;TYPE=home:;;12 High St;Dublin;;;Ireland
      TEL;TYPE=home:+353 1 555 0101
      ANNIVERSARY:20110603
      EMAIL:zoe@example.com
      EMAIL:zoe@example.net
      item1.RELATED;VALUE=text:Pat Example
      item1.X-ABLABEL:Manager
      item2.X-CUSTOM:True
      item2.X-ABLABEL:Private
    kept User 1: 1
    kept Private: 1
    ");
}

#[test]
fn outlook_on_the_web() {
    insta::assert_snapshot!(dump("outlook-web.csv"), @r#"
    lines 2-2
      FN:Łukasz Przykład
      N:Przykład;Łukasz;;;
      UID:urn:uuid:40980c0e-c24f-84ff-b445-2e2588b13ee3
      EMAIL:lukasz@example.pl
      TEL;TYPE=cell:+48 500 000 001
      ORG:Przykład sp. z o.o.
      HOBBY:chess
      BDAY:19790304
      item1.X-CUSTOM:Room 2.14
      item1.X-ABLABEL:Office Location
    lines 3-4
      FN:No Fields
      N:Fields;No;;;
      UID:urn:uuid:ce3401c4-e3c1-8806-9692-f4f92b15ee7f
      NOTE:only\, a "note"
    kept Office Location: 1
    "#);
}

#[test]
fn linkedin() {
    insta::assert_snapshot!(dump("linkedin.csv"), @r"
    lines 5-5
      FN:Ada Lovelace\, PhD
      N:Lovelace\, PhD;Ada;;;
      UID:urn:uuid:ecc4e396-a043-81ed-aefd-b1838f024868
      item1.URL:https://www.linkedin.com/in/example-ada
      item1.X-ABLABEL:LinkedIn
      ORG:Engine Works\, Inc.
      TITLE:Analyst
      item2.X-ABDATE:2020-12-10
      item2.X-ABLABEL:Connected On
    lines 6-6
      FN:Bob Öst
      N:Öst;Bob;;;
      UID:urn:uuid:f4c16bf1-dacb-8b04-9c98-d552df8538ac
      item1.URL:https://www.linkedin.com/in/example-bob
      item1.X-ABLABEL:LinkedIn
      EMAIL:bob@example.com
      item2.X-ABDATE:2019-03-01
      item2.X-ABLABEL:Connected On
    ");
}

#[test]
fn thunderbird() {
    insta::assert_snapshot!(dump("thunderbird.csv"), @r"
    lines 2-3
      FN:Jörg Beispiel
      N:Beispiel;Jörg;;;
      UID:urn:uuid:675119d5-02c9-87f2-aa17-7af0b8e018d0
      NICKNAME:JB
      EMAIL:joerg@example.org
      EMAIL:jb@example.com
      TEL;TYPE=work:+49 30 23125 003
      TEL;TYPE=cell:0176 04069 001
      ADR;TYPE=home:;;Hauptstr. 5,3. Stock;Berlin;;10115;Deutschland
      TITLE:Kassenwart
      ORG:Beispiel e.V.;Vorstand
      URL;TYPE=work:https://beispiel.example/
      BDAY:19750409
      NOTE:zwei\nZeilen
      item1.X-CUSTOM:Mitglied seit 1999
      item1.X-ABLABEL:Custom 1
    lines 4-4
      FN:Verteiler
      N:;Verteiler;;;
      UID:urn:uuid:3d632f3d-ce76-8ca2-ac5b-be9829e3bdec
      EMAIL:liste@example.org
    kept Custom 1: 1
    ");
}

#[test]
fn excel_in_utf16() {
    insta::assert_snapshot!(dump("excel-utf16.txt"), @r"
    lines 2-2
      FN:Παράδειγμα Μαρία
      N:Μαρία;Παράδειγμα;;;
      UID:urn:uuid:0731742a-bc4b-88d3-9d8b-f29024632a46
      EMAIL:maria@example.gr
      TEL:+30 210 000 0001
      BDAY:19800517
      item1.X-CUSTOM:0042
      item1.X-ABLABEL:Kundennummer
    lines 3-3
      FN:Änne Müller
      N:Müller;Änne;;;
      UID:urn:uuid:aac3c3a5-fa23-8c79-bf12-d7b5def1b73a
      EMAIL:aenne@example.org
      BDAY;VALUE=text:unbekannt
      ! Geburtstag: the date unbekannt was not understood and is kept as text; write it like 1815-12-10
    kept Kundennummer: 1
    ");
}

#[test]
fn broken_rows() {
    insta::assert_snapshot!(dump("broken.csv"), @r#"
    lines 2-3
      FN:Anna Müller
      N:Müller;Anna;;;
      UID:urn:uuid:a8bfaf76-2c6f-850b-a079-88ea00fa415e
      EMAIL:anna@example.org
      NOTE:eine\nNotiz
    rejected 4-4: the quotes of this line are wrong: text follows a closing quote; write a quote inside a quoted field twice (Bob;"Öst;bob@example.com;cut off)
    lines 5-5
      FN:Cleo Straße
      N:Straße;Cleo;;;
      UID:urn:uuid:970242b8-9e20-8e26-9304-8cb8229c8777
      EMAIL:cleo@example.org
      NOTE:ok
    rejected 6-6: the quotes of this line are wrong: text follows a closing quote; write a quote inside a quoted field twice ("Dan"x;Example;dan@example.org;)
    rejected 7-7: 6 fields, but the header has 4 columns; quote the field that has a separator in it (Eve;Example;eve@example.org;a;b;c)
    lines 9-9
      FN:Fritz Größe
      N:Größe;Fritz;;;
      UID:urn:uuid:f7b6dcee-b4fd-8e06-82b9-6f2e4dc1aaba
      EMAIL:fritz@example.org
    "#);
}

#[test]
fn thunderbird_ldif() {
    insta::assert_snapshot!(dump("thunderbird.ldif"), @r"
    lines 1-36
      FN:Jörg Beispiel
      N:Beispiel;Jörg;;;
      UID:urn:uuid:1151e262-d9ac-8d26-9620-29ef3627a7a5
      NICKNAME:JB
      EMAIL:joerg@example.org
      EMAIL:jb@example.com
      IMPP;X-SERVICE-TYPE=AIM:aim:jbeispiel
      TEL;TYPE=work:+49 30 23125 003
      TEL;TYPE=home:+49 30 23125 004
      TEL;TYPE=fax:+49 30 23125 005
      TEL;TYPE=cell:0176 04069 001
      TITLE:Kassenwart
      URL;TYPE=work:https://beispiel.example/
      item1.X-CUSTOM:Mitglied seit 1999
      item1.X-ABLABEL:Custom 1
      NOTE:zwei\nZeilen
      ORG:Beispiel e.V.;Vorstand
      ADR;TYPE=work:;;Werkstr. 1;Potsdam;;14467;
      ADR;TYPE=home:;;Hauptstr. 5,3. Stock;Berlin;;10115;Deutschland
      BDAY:19750409
    lines 38-45
      FN:Ada Lovelace
      N:Lovelace;Ada;;;
      UID:urn:uuid:bf42fe54-1f26-89b5-bb35-a5cd9b80cf85
      EMAIL:ada@example.org
    lines 47-53
      FN:Friends
      UID:urn:uuid:53e6d658-002e-86d3-9393-043dcce44958
      NICKNAME:friends
      MEMBER:mailto:ada@example.org
      MEMBER:mailto:joerg@example.org
      KIND:group
    ");
}

#[test]
fn openldap() {
    insta::assert_snapshot!(dump("openldap.ldif"), @r"
    lines 15-36
      FN:Müller\, Anna
      N:Müller;Anna;;;
      UID:urn:uuid:6f9619ff-8b86-d011-b42d-00cf4fc964ff
      item1.X-CUSTOM:anna
      item1.X-ABLABEL:uid
      item2.X-CUSTOM:1001
      item2.X-ABLABEL:uidNumber
      item3.X-CUSTOM:Anna Mueller
      item3.X-ABLABEL:cn
      item4.X-CUSTOM:Anna Müller
      item4.X-ABLABEL:displayName
      EMAIL:anna@example.org
      EMAIL:anna.mueller@example.org
      TEL;TYPE=work:+49 30 23125 006
      item5.RELATED;VALUE=text:Pat Example
      item5.X-ABLABEL:Manager
      item6.URL:https://anna.example/
      item6.X-ABLABEL:Home page
      PHOTO:data:image/jpeg;base64,/9j/4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==
      ADR;TYPE=work:;;Example GmbH,Werkstr. 1,14467 Potsdam;;;;
      ! userPassword: a password, which is not imported
    lines 38-42
      FN:Bob
      N:;Bob;;;
      UID:urn:uuid:eb579fe0-47bf-8a74-9c05-43b1415c4b7b
      NOTE:a long description that is folded
    rejected 44-48: a change of an entry (changetype: modify); only whole entries are imported (dn: uid=eve,ou=people,dc=example,dc=org)
    lines 50-53
      FN:team
      UID:urn:uuid:7f4ba664-3b51-8851-b527-7abe96be569f
      MEMBER:urn:uuid:eb579fe0-47bf-8a74-9c05-43b1415c4b7b
      KIND:group
    kept uid: 1
    kept uidNumber: 1
    skipped dcObject: 1
    skipped organizationalUnit: 1
    ");
}
