use super::*;
use crate::values::{split_unescaped, unescape_text};

fn card(lines: &[u8]) -> Vec<u8> {
    [b"BEGIN:VCARD\r\nVERSION:2.1\r\n", lines, b"END:VCARD\r\n"].concat()
}

/// The values of the properties `name` of a card, split at bare semicolons where the
/// property is structured.
fn read(lines: &[u8], name: &str) -> Vec<Vec<String>> {
    let text = repair_charset(&card(lines)).into_owned();
    let is_structured = matches!(name, "N" | "ADR" | "ORG");
    let parts = |value: &str| match is_structured {
        true => split_unescaped(value, ';').map(unescape_text).collect(),
        false => vec![unescape_text(value)],
    };
    ContentLines::of_text(&text)
        .filter(|line| line.name_is(name))
        .map(|line| parts(&String::from_utf8_lossy(&line.unfolded_value())))
        .collect()
}

#[test]
fn an_ordinary_card_is_borrowed() {
    for text in [
        "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Müller\r\nNOTE:a\r\n b\r\nEND:VCARD\r\n",
        "BEGIN:VCARD\nPHOTO;ENCODING=b:AAAA\n BBBB\nEND:VCARD",
    ] {
        assert!(matches!(repair_charset(text.as_bytes()), Cow::Borrowed(same) if same == text));
    }
    let marked = "\u{FEFF}BEGIN:VCARD\nEND:VCARD\n";
    assert_eq!(
        repair_charset(marked.as_bytes()),
        "BEGIN:VCARD\nEND:VCARD\n"
    );
}

#[test]
fn utf16_is_decoded() {
    let text = "BEGIN:VCARD\r\nN;CHARSET=ISO-8859-1:Müller\r\nEND:VCARD\r\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let expected = text.replace(";CHARSET=ISO-8859-1", "");
    assert_eq!(repair_charset(&little), expected);
    assert_eq!(repair_charset(&big), expected);
}

#[test]
fn charsets_are_decoded_per_property() {
    let lines = b"FN;CHARSET=ISO-8859-2:\xA3ukasz\r\nNOTE:M\xFCller\r\n\
        ORG:\xC3\xBCber\r\nTITLE;CHARSET=utf-8:\xFC\r\nROLE;CHARSET=x-none:\xFC\r\n\
        NICKNAME;CHARSET=ISO-2022-JP:\x1B$B;3ED\x1B(B\r\n";
    assert_eq!(read(lines, "FN"), [["Łukasz"]]);
    assert_eq!(read(lines, "NOTE"), [["Müller"]]);
    assert_eq!(read(lines, "ORG"), [["über"]]);
    assert_eq!(read(lines, "TITLE"), [["ü"]]);
    assert_eq!(read(lines, "ROLE"), [["ü"]]);
    assert_eq!(read(lines, "NICKNAME"), [["山田"]]);
}

#[test]
fn utf8_split_by_a_fold_is_utf8() {
    assert_eq!(read(b"FN:M\xC3\r\n \xBCller\r\n", "FN"), [["Müller"]]);
}

#[test]
fn quoted_printable_keeps_the_structure() {
    let lines = b"N;ENCODING=QUOTED-PRINTABLE:M=FC=\r\nller=3B=20=5C;A\\;n;;;\r\n\
        ADR;HOME;QUOTED-PRINTABLE;CHARSET=UTF-8:;;=C3=BCber 1=2C;Ort;;;\r\n\
        ORG;ENCODING=QUOTED-PRINTABLE:A=3BB;C\r\n";
    assert_eq!(read(lines, "N"), [["Müller; \\", "A;n", "", "", ""]]);
    assert_eq!(read(lines, "ADR"), [["", "", "über 1,", "Ort", "", "", ""]]);
    assert_eq!(read(lines, "ORG"), [["A;B", "C"]]);
}

#[test]
fn a_name_with_all_its_separators_encoded_has_parts() {
    let lines = b"N;ENCODING=QUOTED-PRINTABLE:=4D=C3=BC=3B=41=3B=3B=3B\r\n";
    assert_eq!(read(lines, "N"), [["Mü", "A", "", "", ""]]);
}

#[test]
fn quoted_printable_line_breaks_stay_breaks() {
    let lines = b"NOTE;ENCODING=QUOTED-PRINTABLE:a=0D=0A=\r\nb=0Ac=0D=3Dd=\r\n";
    assert_eq!(read(lines, "NOTE"), [["a\nb\nc\n=d"]]);
}

#[test]
fn shift_jis_with_a_literal_backslash_byte() {
    // U+30BD is 83 5C, U+8868 is 95 5C: only the lead byte gets encoded.
    let lines = b"FN;CHARSET=SHIFT_JIS;ENCODING=QUOTED-PRINTABLE:=83\\=95\\\r\n\
        ORG;CHARSET=SHIFT_JIS:\x83\x5C;\x95\x5C\r\n";
    assert_eq!(read(lines, "FN"), [["ソ表"]]);
    assert_eq!(read(lines, "ORG"), [["ソ", "表"]]);
}

#[test]
fn a_nested_card_is_left_out() {
    for agent in [
        "AGENT:\r\n\r\nBEGIN:VCARD\r\n",
        "X.agent;A=1:BEGIN:VCARD\r\n",
    ] {
        let lines = format!(
            "FN:Ada\r\n{agent}FN:Bob\r\nAGENT:\r\nBEGIN:VCARD\r\nFN:Cleo\r\n\
             END:VCARD\r\nTEL:1\r\nEND:VCARD\r\nTEL:+1 202 555 0100\r\n"
        );
        assert_eq!(read(lines.as_bytes(), "FN"), [["Ada"]]);
        assert_eq!(read(lines.as_bytes(), "TEL"), [["+1 202 555 0100"]]);
        assert!(read(lines.as_bytes(), "AGENT").is_empty());
    }
    assert_eq!(read(b"AGENT:\r\nFN:Ada\r\n", "FN"), [["Ada"]]);
}

#[test]
fn lines_that_begin_and_end_components_stay_those() {
    for (lines, expected) in [
        ("BEGIN:A\r\n B\r\nEND:A\r\n", "BEGIN:A\r\n B\r\nEND:A\r\n"),
        ("BEGIN:A\r X:1\rEND:A\r", "BEGIN:A\r\n X:1\r\nEND:A\r\n"),
        ("BEGI\n N:A\nEND:\n A\n", "B\r\n EGIN:A\r\nE\r\n ND:A\r\n"),
        ("\n END:A\n", "E\r\n ND:A\r\n"),
        ("END;CHARSET=utf-8:A\n", "E\r\n ND:A\r\n"),
        ("END;ENCODING=QUOTED-PRINTABLE:=41\n", "E\r\n ND:A\r\n"),
    ] {
        let text = format!("BEGIN:VEVENT\nX:\u{fc}\n{lines}END:VEVENT\n");
        let cleaned = repair_charset(&WINDOWS_1252.encode(&text).0).into_owned();
        let expected = format!("BEGIN:VEVENT\r\nX:\u{fc}\r\n{expected}END:VEVENT\r\n");
        assert_eq!(cleaned, expected);
    }
}

#[test]
fn only_a_card_has_a_nested_card() {
    let event = b"BEGIN:VEVENT\nX:\xFC\nAGENT:BEGIN:VEVENT\nAGENT:\nEND:VEVENT\n";
    let lines = "X:\u{fc}\r\nAGENT:BEGIN:VEVENT\r\nAGENT:\r\n";
    let expected = format!("BEGIN:VEVENT\r\n{lines}END:VEVENT\r\n");
    assert_eq!(repair_charset(event), expected);
}

#[test]
fn bare_base64_and_lone_carriage_returns_are_read() {
    let lines = b"PHOTO;BASE64:\r\n//79\r\n/Pv6\r\n\r\nFN:Ada\r\n";
    assert_eq!(read(lines, "PHOTO"), [["//79/Pv6"]]);
    let lines = b"PHOTO;ENCODING=BASE64;TYPE=JPEG://79\r  /Pv6\r\rFN:Ada\r";
    assert_eq!(read(lines, "PHOTO"), [["//79/Pv6"]]);
    assert_eq!(read(lines, "FN"), [["Ada"]]);
}

#[test]
fn indented_lines_after_soft_breaks_are_folds() {
    for (value, expected) in [
        // Every line is indented.
        ("=D0=9E=D0=BB=D1=\r\n =8C=D0=B3=\r\n =D0=B0", "Ольга"),
        ("a b=\r\n =C3=BC=\r\n c", "a büc"),
        // The break is within a character.
        ("M =C3=\r\n =BCller", "M üller"),
        // All blanks are encoded.
        ("Gr=C3=BC=C3=9Fe=20aus=\r\n\t=20Ulm", "Grüße aus Ulm"),
        // RFC 2045: the blank is text.
        ("one=\r\n two=\r\nthree", "one twothree"),
        ("Gr=C3=BC=C3=9Fe aus=\r\n Ulm", "Grüße aus Ulm"),
        ("one=\r\n two", "one two"),
        // Blanks after the soft break.
        ("one=  \r\ntwo= \t\r\n=C3=BC", "onetwoü"),
        ("one=\r\n\r\n", "one"),
    ] {
        for head in [
            "NOTE;ENCODING=QUOTED-PRINTABLE",
            "NOTE;QUOTED-PRINTABLE;CHARSET=UTF-8",
        ] {
            let lines = format!("{head}:{value}\r\nFN:x\r\n");
            assert_eq!(read(lines.as_bytes(), "NOTE"), [[expected]], "{value}");
            assert_eq!(read(lines.as_bytes(), "FN"), [["x"]], "{value}");
        }
    }
}

#[test]
fn a_byte_that_fails_the_charset_costs_no_other() {
    for (line, expected) in [
        (
            &b"NOTE;CHARSET=UTF-8;QUOTED-PRINTABLE:Gr=C3=BC=DFe =E4=BD"[..],
            "Grüße ä½",
        ),
        (b"NOTE;CHARSET=UTF-8:\xC3\xBCber \xFC", "über ü"),
        (b"NOTE:\xC3\xBCber \xFC", "über ü"),
        (
            b"NOTE;QUOTED-PRINTABLE:=C3=BC =FC =E2=82=AC =E2=82",
            "ü ü € â‚",
        ),
        // 0x82A0 is a character of Shift_JIS; 0xFF is none.
        (
            b"NOTE;CHARSET=SHIFT_JIS;QUOTED-PRINTABLE:=82=A0=FF=82=A0",
            "あÿあ",
        ),
        (b"NOTE;CHARSET=SHIFT_JIS:\x82\xA0\xFF\x82\xA0", "あÿあ"),
        (
            b"NOTE;CHARSET=GB18030;QUOTED-PRINTABLE:=B9=AB=FF=CB=BE",
            "公ÿ司",
        ),
    ] {
        let lines = [line, b"\r\n"].concat();
        assert_eq!(read(&lines, "NOTE"), [[expected]]);
    }
}

/// A value whose separators are all encoded is split before it is decoded.
#[test]
fn an_organisation_encoded_whole_has_parts() {
    let lines = "ORG;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=E5=85=AC=3B=E9=83=A8\r\n\
                 ORG;QUOTED-PRINTABLE:A=3BB;C\r\nORG;QUOTED-PRINTABLE:A=5C\r\n";
    assert_eq!(
        read(lines.as_bytes(), "ORG"),
        [vec!["公", "部"], vec!["A;B", "C"], vec!["A\\"]]
    );
}

#[test]
fn a_card_of_2_1_has_no_lists_and_no_escapes() {
    for (name, value, expected) in [
        ("NOTE", r"tea, milk; C:\temp", vec![r"tea, milk; C:\temp"]),
        (
            "NOTE",
            r"C:\new \\server\share\",
            vec![r"C:\new \\server\share\"],
        ),
        ("FN", r"Comma, Ned\, Jr.", vec!["Comma, Ned, Jr."]),
        ("LABEL", "Elm 1; rear", vec!["Elm 1; rear"]),
        ("N", r"A, B;C\;D;E\F", vec!["A, B", "C;D", r"E\F"]),
        (
            "ADR",
            r";;Elm 1, rear;Town",
            vec!["", "", "Elm 1, rear", "Town"],
        ),
        ("ORG", r"A, Inc.;R\;D\", vec!["A, Inc.", r"R;D\"]),
        ("X-A", r"a;b,c\n", vec![r"a;b,c\n"]),
        (
            "NOTE;QUOTED-PRINTABLE",
            r"a, b; =5C=2C =3B=0D=0Ac\d",
            vec!["a, b; \\, ;\nc\\d"],
        ),
        (
            "URL",
            r"http://a.example/?q=a,b;c",
            vec!["http://a.example/?q=a,b;c"],
        ),
    ] {
        let lines = format!("{name}:{value}\r\n");
        let name = name.split(';').next().unwrap();
        assert_eq!(read(lines.as_bytes(), name), [expected], "{value}");
    }
    let repaired = repair_record(b"BEGIN:VCARD\nVERSION: 2.1\nNOTE:a, b\nEND:VCARD\n");
    assert!(repaired.was_v21);
    let expected = "BEGIN:VCARD\r\nVERSION:3.0\r\nNOTE:a\\, b\r\nEND:VCARD\r\n";
    assert_eq!(repaired.text, expected);
    for other in ["3.0", "4.0"] {
        let text = format!("BEGIN:VCARD\nVERSION:{other}\nNOTE:a, b\nEND:VCARD\n");
        assert_eq!(repair_charset(text.as_bytes()), text);
    }
    let event = "BEGIN:VEVENT\nVERSION:2.0\nSUMMARY:a, b\nEND:VEVENT\n";
    assert_eq!(repair_charset(event.as_bytes()), event);
}

#[test]
fn folds_of_2_1_keep_their_blank() {
    let word = "x".repeat(70);
    let cut = format!(
        "NOTE:{word}\r\n {}\r\n {}\r\n y\r\n",
        "z".repeat(74),
        "z".repeat(74)
    );
    for (lines, name, expected) in [
        (
            "NOTE:green\r\n tea\r\n\tin\r\n",
            "NOTE",
            "green tea in".to_owned(),
        ),
        ("NOTE:green \r\n tea\r\n", "NOTE", "green  tea".to_owned()),
        (
            "NOTE;QUOTED-PRINTABLE:gr=C3=BCn\r\n tea\r\n",
            "NOTE",
            "grün tea".to_owned(),
        ),
        (
            "URL:http://a.example/\r\n b\r\n",
            "URL",
            "http://a.example/b".to_owned(),
        ),
        (
            "EMAIL:a@\r\n b.example\r\n",
            "EMAIL",
            "a@b.example".to_owned(),
        ),
        (
            "PHOTO;BASE64:\r\n AA\r\n EC\r\n\r\n",
            "PHOTO",
            "AAEC".to_owned(),
        ),
        (&cut, "NOTE", format!("{word}{}y", "z".repeat(148))),
    ] {
        assert_eq!(read(lines.as_bytes(), name), [[expected]], "{lines}");
    }
    let three = "BEGIN:VCARD\r\nVERSION:3.0\r\nNOTE:a\r\n bü\r\nEND:VCARD\r\n";
    assert!(repair_charset(&WINDOWS_1252.encode(three).0).contains("NOTE:abü\r\n"));
}

/// Text in another charset becomes UTF-8 for an editor of lines; encodings and syntax stay.
#[test]
fn a_change_of_charset_keeps_the_syntax_of_2_1() {
    let card = b"BEGIN:VCARD\r\nVERSION:2.1\r\nFN;CHARSET=ISO-8859-1:M\xFCller, A\r\n\
        NOTE;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:=FC=0D=0A=\r\nb\r\nEND:VCARD\r\n";
    let text = to_utf8(card);
    let expected = "BEGIN:VCARD\r\nVERSION:2.1\r\nFN:Müller, A\r\n\
        NOTE;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:=FC=0D=0A=\r\nb\r\nEND:VCARD\r\n";
    assert_eq!(text, expected);
    assert!(repair_charset(text.as_bytes()).contains("NOTE:ü\\nb\r\n"));
}

#[test]
fn text_that_decodes_badly_is_text() {
    for line in [
        "NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:=FF=FE=80=C3",
        "NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=NONSENSE:=E4=F6=FC",
        "NOTE;ENCODING=QUOTED-PRINTABLE:=",
        "NOTE;CHARSET=UTF-16;ENCODING=QUOTED-PRINTABLE:=00=D8=00",
        "NOTE;CHARSET=UTF-16;ENCODING=QUOTED-PRINTABLE:=00=D8=00=D8=41",
        "NOTE;CHARSET=ISO-2022-JP;ENCODING=QUOTED-PRINTABLE:=1B=24=42=FF",
        "NOTE;CHARSET=ISO-2022-JP;ENCODING=QUOTED-PRINTABLE:=1B=24=42=1B=1B=24a",
        "NOTE;CHARSET=GB18030;ENCODING=QUOTED-PRINTABLE:=81=30=81=20=FF",
        "NOTE;CHARSET=EUC-JP;ENCODING=QUOTED-PRINTABLE:=8F=A1a=8E",
        "NOTE;CHARSET=BIG5;ENCODING=QUOTED-PRINTABLE:=88=62=FFa=81",
        "NOTE;CHARSET=SHIFT_JIS;ENCODING=QUOTED-PRINTABLE:=81=20=FC=FC",
        "NOTE;CHARSET=EUC-KR;ENCODING=QUOTED-PRINTABLE:=C7=7F=C8",
    ] {
        let values = read(format!("{line}\r\n").as_bytes(), "NOTE");
        assert_eq!(values.len(), 1, "{line}");
        let repaired = repair_charset(&card(line.as_bytes())).into_owned();
        assert!(!repaired.contains('\0'), "{repaired:?}");
    }
}
