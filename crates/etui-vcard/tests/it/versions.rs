//! Cards of one version written as another.

use etui_vcard::{Card, NewProperty, PartialDate};

fn card(version: &str, body: &str) -> Card {
    let body = body.replace('\n', "\r\n");
    Card::parse(format!(
        "BEGIN:VCARD\r\nVERSION:{version}\r\n{body}\r\nEND:VCARD\r\n"
    ))
    .unwrap()
}

/// The lines of a card, without folds, delimiters and VERSION.
fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n ", "");
    let lines = text.lines().map(str::to_owned);
    let is_own = |line: &String| {
        !["BEGIN:", "END:", "VERSION:"]
            .iter()
            .any(|x| line.starts_with(x))
    };
    lines.filter(is_own).collect()
}

#[test]
fn old_cards_become_cards_of_4() {
    for (version, old, new) in [
        // FN is required.
        (
            "2.1",
            "N:Weiss;Olga\nORG:Blumen Weiss",
            "FN:Olga Weiss\nN:Weiss;Olga\nORG:Blumen Weiss",
        ),
        (
            "3.0",
            "N:;;;;\nFN:\nORG:Nur Firma GmbH",
            "FN:Nur Firma GmbH\nN:;;;;\nORG:Nur Firma GmbH",
        ),
        (
            "3.0",
            "EMAIL:a@b.example",
            "FN:a@b.example\nEMAIL:a@b.example",
        ),
        ("4.0", "NICKNAME:Umi", "FN:Umi\nNICKNAME:Umi"),
        ("2.1", "N:山田;太郎", "FN:山田 太郎\nN:山田;太郎"),
        // Only components have `\;`.
        (
            "3.0",
            "FN:A\nNOTE:tea\\; no\\, milk\nCATEGORIES:A\\;B,C\nORG:A\\;B;C\nX-A:chess\\; go",
            "FN:A\nNOTE:tea; no\\, milk\nCATEGORIES:A;B,C\nORG:A\\;B;C\nX-A:chess; go",
        ),
        // Groups and companies.
        (
            "3.0",
            "FN:A\nX-ADDRESSBOOKSERVER-KIND:group",
            "FN:A\nKIND:group",
        ),
        (
            "3.0",
            "FN:A\nX-AddressBookServer-Member:urn:uuid:1",
            "FN:A\nMEMBER:urn:uuid:1",
        ),
        (
            "3.0",
            "FN:A\nORG:A;\nX-ABShowAs:COMPANY",
            "FN:A\nORG:A;\nKIND:org",
        ),
        ("3.0", "FN:A\nGEO:41.9;12.5", "FN:A\nGEO:geo:41.9,12.5"),
        ("2.1", "FN:A\nGEO:41.9,12.5", "FN:A\nGEO:geo:41.9,12.5"),
        (
            "3.0",
            "FN:A\nREV:2020-01-17T10:34:14.123Z",
            "FN:A\nREV:20200117T103414Z",
        ),
        (
            "3.0",
            "FN:A\nCLASS:PRIVATE\nMAILER:X 1\nPROFILE:VCARD",
            "FN:A\nX-CLASS:PRIVATE\nX-MAILER:X 1",
        ),
        ("3.0", "FN:A\nPHOTO:\nTEL:\nEMAIL:a@b", "FN:A\nEMAIL:a@b"),
        (
            "3.0",
            "FN:A\nEMAIL:mailto:a@b\nEMAIL:\"Ca N\" <c@d>",
            "FN:A\nEMAIL:a@b\nEMAIL;X-CN=Ca N:c@d",
        ),
        // Sort keys.
        (
            "3.0",
            "FN:A\nN:van der Harten;Rene\nSORT-STRING:Harten",
            "FN:A\nN;SORT-AS=Harten:van der Harten;Rene",
        ),
        (
            "3.0",
            "FN:A\nSORT-STRING:B\\, C",
            "FN:A\nN;SORT-AS=\"B, C\":;;;;",
        ),
        // Labels.
        (
            "3.0",
            "FN:A\nADR;TYPE=WORK:;;B;;;;\nADR;TYPE=HOME:;;Elm;;;;\nLABEL;TYPE=HOME:Elm \"4\"\\nLake\\, ^1",
            "FN:A\nADR;TYPE=WORK:;;B;;;;\nADR;TYPE=HOME;LABEL=\"Elm ^'4^'^nLake, ^^1\":;;Elm;;;;",
        ),
        (
            "3.0",
            "FN:A\nADR;TYPE=WORK:;;B;;;;\nLABEL:B",
            "FN:A\nADR;TYPE=WORK;LABEL=B:;;B;;;;",
        ),
        (
            "2.1",
            "FN:A\nLABEL;HOME:Elm; 4",
            "FN:A\nADR;TYPE=home;LABEL=\"Elm; 4\":;;Elm\\; 4;;;;",
        ),
        // Anniversaries.
        (
            "3.0",
            "FN:A\nX-ANNIVERSARY:2011-12-03",
            "FN:A\nANNIVERSARY:20111203",
        ),
        (
            "3.0",
            "FN:A\nX-MS-ANNIVERSARY:20111203",
            "FN:A\nANNIVERSARY:20111203",
        ),
        (
            "3.0",
            "FN:A\nX-EVOLUTION-ANNIVERSARY:2011-12-03",
            "FN:A\nANNIVERSARY:20111203",
        ),
        (
            "3.0",
            "FN:A\nX-KADDRESSBOOK-X-Anniversary:2011-12-03",
            "FN:A\nANNIVERSARY:20111203",
        ),
        (
            "3.0",
            "FN:A\nitem1.X-ABDATE;type=pref:2011-12-02\nitem1.X-ABLabel:_$!<Anniversary>!$_",
            "FN:A\nANNIVERSARY;PREF=1:20111202",
        ),
        (
            "3.0",
            "FN:A\nX-ANNIVERSARY:2011-12-03\nX-ANNIVERSARY:2012-12-03",
            "FN:A\nANNIVERSARY:20111203\nX-ANNIVERSARY:2012-12-03",
        ),
        // Android.
        (
            "2.1",
            "FN:A\nX-ANDROID-CUSTOM:vnd.android.cursor.item/nickname;Umi;1;;;;\n\
             X-ANDROID-CUSTOM:vnd.android.cursor.item/relation;Ole Bel;14;;;;\n\
             X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;1990-05-09;3;;;;\n\
             X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;2011-12-06;1;;;;",
            "FN:A\nNICKNAME:Umi\nRELATED;VALUE=text;TYPE=spouse:Ole Bel\nBDAY:19900509\nANNIVERSARY:20111206",
        ),
        (
            "2.1",
            "FN:A\nTEL;X-Ferienhaus:1\nTEL;HOME;X-Foo Bar:2",
            "FN:A\nTEL;TYPE=X-Ferienhaus:1\nTEL;TYPE=home,X-Foo Bar:2",
        ),
        (
            "2.1",
            "FN:A\nTEL;X-CUSTOM(CHARSET=UTF-8,ENCODING=QUOTED-PRINTABLE,=42=C3=BC=72=6F):1",
            "FN:A\nTEL;TYPE=X-Büro:1",
        ),
        // Dates.
        ("3.0", "FN:A\nBDAY:0000-05-09", "FN:A\nBDAY:--0509"),
        ("3.0", "FN:A\nBDAY:1604-05-09", "FN:A\nBDAY:--0509"),
        (
            "3.0",
            "FN:A\nX-ANNIVERSARY;X-APPLE-OMIT-YEAR=1604:1604-05-09",
            "FN:A\nANNIVERSARY:--0509",
        ),
        ("3.0", "FN:A\nBDAY:1990/05/09", "FN:A\nBDAY:19900509"),
        (
            "3.0",
            "FN:A\nBDAY:circa 1890",
            "FN:A\nBDAY;VALUE=text:circa 1890",
        ),
        (
            "3.0",
            "FN:A\nBDAY;VALUE=date:5/9/1990",
            "FN:A\nBDAY;VALUE=text:5/9/1990",
        ),
        // Types.
        (
            "3.0",
            "FN:A\nTEL;TYPE=WORK\\,FAX\\,pref:1",
            "FN:A\nTEL;TYPE=WORK,FAX;PREF=1:1",
        ),
    ] {
        let new: Vec<&str> = new.lines().collect();
        let converted = card(version, old).to_v4();
        assert_eq!(lines(&converted), new, "{old}");
        assert_eq!(Card::parse(converted.clone()).unwrap().to_v4(), converted);
    }
}

#[test]
fn losses_of_a_conversion_are_named() {
    for (body, expected) in [
        (
            "FN:A\nBDAY:1604-05-09\nX-ANNIVERSARY:0000-01-02",
            vec!["BDAY year 1604", "ANNIVERSARY year 0000"],
        ),
        ("FN:A\nBDAY;X-APPLE-OMIT-YEAR=1604:1604-05-09", vec![]),
        ("FN:A\nAGENT:\nBEGIN:VCARD\nFN:B\nEND:VCARD", vec!["AGENT"]),
        ("FN:A\nAGENT:BEGIN:VCARD\\nFN:B\\nEND:VCARD", vec![]),
        ("FN:A\nPROFILE:VCARD\nCLASS:PUBLIC", vec![]),
    ] {
        assert_eq!(card("3.0", body).convert_to_v4().losses, expected, "{body}");
    }
}

#[test]
fn cards_of_4_become_cards_of_3() {
    for (new, old) in [
        (
            "FN:A\nN:A;;;;\nNOTE:tea; no milk\nCATEGORIES:A;B,C",
            "FN:A\nN:A;;;;\nNOTE:tea\\; no milk\nCATEGORIES:A\\;B,C",
        ),
        (
            "FN:A\nN;SORT-AS=\"Zoom,Jan\":van Zoom;Jan;;;",
            "FN:A\nN:van Zoom;Jan;;;\nSORT-STRING:Zoom\\,Jan",
        ),
        (
            "FN:A\nN:A;;;;\nADR;TYPE=home;LABEL=\"Mrs ^'Evi^'^n4, ^^\":;;Elm;;;;",
            "FN:A\nN:A;;;;\nADR;TYPE=home:;;Elm;;;;\nLABEL;TYPE=home:Mrs \"Evi\"\\n4\\, ^",
        ),
        (
            "FN:A\nN:A;;;;\nKIND:org",
            "FN:A\nN:A;;;;\nX-ABShowAs:COMPANY",
        ),
        (
            "FN:A\nN:A;;;;\nX-CLASS:PRIVATE",
            "FN:A\nN:A;;;;\nCLASS:PRIVATE",
        ),
    ] {
        let card = card("4.0", new);
        let shown = card.to_v3();
        assert_eq!(lines(&shown), old.lines().collect::<Vec<_>>());
        // Back, by conversion and as an edit that changes nothing.
        let back = Card::parse(shown.clone()).unwrap();
        let expected: Vec<&str> = new.lines().collect();
        assert_eq!(lines(&back.to_v4()), expected);
        assert_eq!(card.merge_v3(&back).unwrap().text(), card.text());
    }
}

/// A label that a client of 3.0 changes is the address's parameter.
#[test]
fn edits_of_parameters_arrive() {
    let stored = card(
        "4.0",
        "FN:A\nN;SORT-AS=B:A;;;;\nADR;TYPE=home;LABEL=x;PID=1:;;Elm;;;;",
    );
    let mut edited = Card::parse(stored.to_v3()).unwrap();
    edited.set("LABEL", "Elm 4\nLake").unwrap();
    edited.set("SORT-STRING", "C").unwrap();
    let merged = stored.merge_v3(&edited).unwrap();
    let expected = [
        "FN:A",
        "N;SORT-AS=C:A;;;;",
        "ADR;TYPE=home;PID=1;LABEL=Elm 4^nLake:;;Elm;;;;",
    ];
    assert_eq!(lines(&String::from_utf8_lossy(merged.text())), expected);
    assert_eq!(merged.merge_v3(&edited).unwrap().text(), merged.text());
    // A program that drops labels does not drop addresses.
    let mut edited = Card::parse(stored.to_v3()).unwrap();
    edited.remove("LABEL", None).unwrap();
    assert_eq!(stored.merge_v3(&edited).unwrap().text(), stored.text());
    edited
        .add(&NewProperty {
            name: "TEL".into(),
            value: "1".into(),
            ..NewProperty::default()
        })
        .unwrap();
    assert!(
        stored
            .merge_v3(&edited)
            .unwrap()
            .to_v4()
            .contains("LABEL=x")
    );
}

#[test]
fn cards_of_2_1_become_cards_of_3() {
    for (old, new) in [
        (
            "N:Comma;Ned\nFN:Ned Comma, Jr.",
            "N:Comma;Ned\nFN:Ned Comma\\, Jr.",
        ),
        (
            "N:A;B\nFN:A\nNOTE:likes tea, milk; and C:\\temp",
            "N:A;B\nFN:A\nNOTE:likes tea\\, milk\\; and C:\\\\temp",
        ),
        (
            "N:A;B\nFN:A\nADR;HOME:;;Elm 1, rear;Town;;1;DE",
            "N:A;B\nFN:A\nADR;TYPE=HOME:;;Elm 1\\, rear;Town;;1;DE",
        ),
        (
            "N:A;B\nFN:A\nNOTE:green\n tea",
            "N:A;B\nFN:A\nNOTE:green tea",
        ),
        (
            "N:A;B\nFN:A\nORG;QUOTED-PRINTABLE:=47=72=C3=B6=3B=52",
            "N:A;B\nFN:A\nORG:Grö;R",
        ),
        ("N:A, B;C, D\nFN:A", "N:A\\, B;C\\, D\nFN:A"),
        (
            "N:A;B\nFN:A\nX-ANDROID-CUSTOM:vnd.android.cursor.item/nickname;Umi, x;1;;;;\n\
             X-ANDROID-CUSTOM:vnd.android.cursor.item/relation;Ole;14;;;;\n\
             X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;1990-05-09;3;;;;\n\
             X-ANDROID-CUSTOM:vnd.android.cursor.item/im;1;2;;;;",
            "N:A;B\nFN:A\nNICKNAME:Umi\\, x\nRELATED;VALUE=text;TYPE=spouse:Ole\nBDAY:1990-05-09\n\
             X-ANDROID-CUSTOM:vnd.android.cursor.item/im;1;2;;;;",
        ),
        ("N:A;B\nFN:A\nGEO:1.5,-2", "N:A;B\nFN:A\nGEO:1.5;-2"),
        (
            "N:A;B\nFN:A\nTEL;X-CUSTOM(CHARSET=UTF-8,ENCODING=QUOTED-PRINTABLE,=42=C3=BC=72=6F):1",
            "N:A;B\nFN:A\nTEL;TYPE=X-Büro:1",
        ),
    ] {
        let shown = card("2.1", old).to_v3();
        assert_eq!(lines(&shown), new.lines().collect::<Vec<_>>());
    }
}

#[test]
fn birthdays_and_anniversaries_of_every_exporter() {
    let date = |year, month, day| {
        Some(PartialDate {
            year,
            month: Some(month),
            day: Some(day),
        })
    };
    for (line, expected) in [
        ("BDAY:1604-05-09", date(None, 5, 9)),
        ("BDAY:0000-05-09", date(None, 5, 9)),
        ("BDAY:00010509", date(None, 5, 9)),
        (
            "BDAY;X-APPLE-OMIT-YEAR=1604;VALUE=DATE:16040509",
            date(None, 5, 9),
        ),
        ("BDAY:1990/05/09", date(Some(1990), 5, 9)),
        ("BDAY:09.05.1990", date(Some(1990), 5, 9)),
        ("BDAY:1990-5-9", date(Some(1990), 5, 9)),
        ("BDAY:1990-05-09T00:00:00.000Z", date(Some(1990), 5, 9)),
        ("BDAY;VALUE=TEXT:--0509", date(None, 5, 9)),
        ("BDAY:\nBDAY:19900509", date(Some(1990), 5, 9)),
        ("BDAY:5/9/1990", None),
        (
            "X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;1990-05-09;3;;",
            date(Some(1990), 5, 9),
        ),
        (
            "X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;--05-09;3;;",
            date(None, 5, 9),
        ),
        (
            "BDAY:1991-05-09\nX-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;1990-05-09;3;;",
            date(Some(1991), 5, 9),
        ),
    ] {
        assert_eq!(
            card("3.0", &format!("FN:A\n{line}")).birthday(),
            expected,
            "{line}"
        );
    }
    for (line, expected) in [
        ("ANNIVERSARY:20111202", date(Some(2011), 12, 2)),
        ("X-ANNIVERSARY:2011-12-02", date(Some(2011), 12, 2)),
        (
            "X-EVOLUTION-ANNIVERSARY:2011-12-02",
            date(Some(2011), 12, 2),
        ),
        (
            "X-KADDRESSBOOK-X-Anniversary:2011-12-02",
            date(Some(2011), 12, 2),
        ),
        (
            "item1.X-ABDATE:2011-12-02\nitem1.X-ABLabel:_$!<Anniversary>!$_",
            date(Some(2011), 12, 2),
        ),
        (
            "item1.X-ABDATE;X-APPLE-OMIT-YEAR=1604:1604-12-02\nitem1.X-ABLabel:anniversary",
            date(None, 12, 2),
        ),
        ("item1.X-ABDATE:2011-12-02\nitem1.X-ABLabel:Moved", None),
        (
            "X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;2011-12-02;1;;",
            date(Some(2011), 12, 2),
        ),
        (
            "X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;2011-12-02;2;;",
            None,
        ),
    ] {
        assert_eq!(
            card("3.0", &format!("FN:A\n{line}")).anniversary(),
            expected,
            "{line}"
        );
    }
}

#[test]
fn types_and_labels_of_every_exporter() {
    for (line, types, label) in [
        ("TEL;TYPE=HOME\\,VOICE:1", &["home", "voice"][..], None),
        ("TEL;TYPE=\"HOME,VOICE\":1", &["home", "voice"], None),
        ("TEL;TYPE=\\\"HOME\\,VOICE\\\":1", &["home", "voice"], None),
        ("TEL;TYPE=WORK\\;FAX:1", &["work", "fax"], None),
        ("TEL;TYPE=X-Boat:1", &[], Some("Boat")),
        ("TEL;X-Ferienhaus:1", &[], Some("Ferienhaus")),
        (
            "TEL;CELL;X-SYNCMLREF1234:1",
            &["cell", "x-syncmlref1234"],
            None,
        ),
        (
            "item1.TEL;TYPE=X-Boat:1\nitem1.X-ABLabel:Yacht",
            &[],
            Some("Yacht"),
        ),
    ] {
        let phone = card("3.0", &format!("FN:A\n{line}")).phones().remove(0);
        assert_eq!(phone.types, types, "{line}");
        assert_eq!(phone.label.as_deref(), label, "{line}");
    }
}

#[test]
fn addresses_are_read_without_what_is_around_them() {
    let mut card = card(
        "3.0",
        "FN:A\nEMAIL;TYPE=HOME:\"Ca N\" <ca@b.example>\nEMAIL:MAILTO:c@d.example",
    );
    let values: Vec<_> = card.emails().into_iter().map(|email| email.value).collect();
    assert_eq!(values, ["ca@b.example", "c@d.example"]);
    assert_eq!(card.remove("EMAIL", Some("ca@b.example")), Ok(1));
    assert_eq!(card.emails().len(), 1);
}
