//! Logical lines and their parts.

use super::*;

fn spans(record: &[u8]) -> Vec<&[u8]> {
    let lines: Vec<_> = ContentLines::new(record).collect();
    assert_eq!(
        lines
            .iter()
            .map(ContentLine::raw)
            .collect::<Vec<_>>()
            .concat(),
        record
    );
    lines.iter().map(ContentLine::raw).collect()
}

fn only(record: &[u8]) -> ContentLine<'_> {
    let mut lines = ContentLines::new(record);
    let line = lines.next().unwrap();
    assert!(lines.next().is_none(), "more than one line in {record:?}");
    line
}

#[test]
fn a_property_is_taken_apart() {
    let record = b"item1.TEL;TYPE=\"a:b;c\";X=1:+1 202 555 0100\r\n";
    let line = only(record);
    assert_eq!(line.group, Some(&b"item1"[..]));
    assert!(line.name_is("tel") && !line.name_is("te"));
    assert_eq!(&record[line.params.clone()], b"TYPE=\"a:b;c\";X=1");
    assert_eq!(&record[line.value.clone()], b"+1 202 555 0100");
    let params: Vec<_> = parse_params(&record[line.params.clone()])
        .map(|param| (param.name, param.value))
        .collect();
    assert_eq!(
        params,
        [(&b"TYPE"[..], Some(&b"a:b;c"[..])), (b"X", Some(b"1"))]
    );
}

#[test]
fn folds_may_stand_anywhere() {
    let line = only(b"NO\r\n TE;X=\n\t1:a\r b\r\n  c\r\n");
    assert!(line.name_is("NOTE"));
    assert_eq!(&*line.unfolded(), b"NOTE;X=1:ab c");
    assert_eq!(&*line.unfolded_params(), b"X=1");
    assert_eq!(&*line.unfolded_label(), b"NOTE");
}

#[test]
fn a_fold_in_the_encoding_parameter_is_no_soft_break() {
    let line = only(b"NOTE;ENCODING=\r\n QUOTED-PRINTABLE:a=\r\n b\r\n");
    assert!(line.is_quoted_printable());
    assert_eq!(&*line.unfolded(), b"NOTE;ENCODING=QUOTED-PRINTABLE:a b");
}

#[test]
fn soft_breaks_join_lines_of_quoted_printable_only() {
    for params in ["QUOTED-PRINTABLE", "x;encoding=quoted-printable;y"] {
        let record = format!("NOTE;{params}:one=\r\ntwo=\r\n=\r\n three\r\nFN:x\r\n");
        let lines: Vec<_> = ContentLines::new(record.as_bytes()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(&*lines[0].unfolded_value(), b"onetwo three");
    }
    assert_eq!(spans(b"URL:http://a.example/?q=\r\nFN:x\r\n").len(), 2);
}

#[test]
fn a_soft_break_does_not_swallow_a_delimiter() {
    let record = b"NOTE;QUOTED-PRINTABLE:one=\r\nend:vcard \r\n";
    assert_eq!(spans(record), [&record[..28], &record[28..]]);
}

#[test]
fn base64_need_not_be_indented() {
    let photo = b"PHOTO;BASE64:\r\nAAAA\r\n  BBBB\r\nCC==\r\n\r\n";
    let rest = b"X-ABC;a:1\r\nEND : VCARD\r\n";
    let record = [&photo[..], rest].concat();
    assert_eq!(spans(&record), [&photo[..], &rest[..11], &rest[11..]]);
    let line = only(photo);
    assert_eq!(&*line.unfolded_value(), b"AAAA BBBBCC==");
    assert!(line.is_base64());
}

#[test]
fn empty_and_shapeless_lines_are_lines() {
    let record = b"\r\nno colon here\n\n folded on nothing: x\rA:1";
    let lines: Vec<_> = ContentLines::new(record).collect();
    let names: Vec<_> = lines.iter().map(|line| line.name).collect();
    assert_eq!(names, [&b""[..], b"", b"", b"A"]);
    assert_eq!(spans(record).len(), 4);
    assert_eq!(&*lines[1].unfolded_value(), b"no colon here");
}

#[test]
fn an_unclosed_quote_does_not_hide_the_value() {
    let line = only(b"TEL;X=\"a:+1 202 555 0100\r\n");
    assert!(line.name_is("TEL"));
    assert_eq!(&*line.unfolded_value(), b"+1 202 555 0100");
}

#[test]
fn a_header_of_many_folds_costs_its_length() {
    let record = [b"X;".to_vec(), b"a\n ".repeat(200_000), b":v\n".to_vec()].concat();
    assert_eq!(ContentLines::new(&record).count(), 1);
}

/// At any place of a short line and of a long one, beside bytes near to those looked for.
#[test]
fn a_name_is_found_in_any_line() {
    for len in (0..40).chain(119..148) {
        for fill in [
            b'a', b'\t', b'\x0E', b'\x0B', b'9', b'<', b'#', 0, 0x80, 0xFF,
        ] {
            let plain = vec![fill; len];
            assert_eq!(physical_line(&plain, 0), (len > 0).then_some((len, len)));
            assert_eq!(param_end(&plain), len);
            assert_eq!(LineOffsets::of(&plain, &mut false), None);
            for at in 0..len {
                let text = |first, second| {
                    let mut text = plain.clone();
                    text[at] = first;
                    text.extend([second, b'z']);
                    text
                };
                for end in [b'\n', b'\r'] {
                    assert_eq!(physical_line(&text(end, b'\r'), 0), Some((at, at + 1)));
                    assert_eq!(physical_line(&text(end, b'z'), at), Some((at, at + 1)));
                }
                assert_eq!(param_end(&text(b';', b'"')), at);
                assert_eq!(param_end(&text(b'"', b';')), len + 2);
                let marks = |colon, name_end, dot| LineOffsets {
                    colon,
                    name_end,
                    dot,
                };
                for (first, second, expected) in [
                    (b':', b';', marks(at, at, None)),
                    (b';', b':', marks(len, at, None)),
                    (b'.', b':', marks(len, len, Some(at))),
                ] {
                    assert_eq!(
                        LineOffsets::of(&text(first, second), &mut false),
                        Some(expected)
                    );
                }
                let mut quoted = false;
                assert_eq!(LineOffsets::of(&text(b'"', b':'), &mut quoted), None);
                assert!(quoted);
            }
        }
    }
}

#[test]
fn groups_names_and_quotes_are_distinguished() {
    for (text, group, name, value) in [
        ("a.B:c", Some("a"), "B", "c"),
        ("a.b.C;x.y=1:d", Some("a"), "b.C", "d"),
        (".:", Some(""), "", ""),
        ("N;X=a.b:c.d", None, "N", "c.d"),
        ("N;X=\":\":v", None, "N", "v"),
        ("N\":\"M;A:v", None, "N\":\"M", "v"),
        ("N\";.:\":v", None, "N\"", "v"),
        ("g.N\":\";A:v", Some("g"), "N\":\"", "v"),
        ("g.N\"\r\n :\":v", Some("g"), "N\"\r\n :\"", "v"),
    ] {
        let line = only(text.as_bytes());
        let read = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        assert_eq!(line.group.map(read).as_deref(), group, "{text}");
        assert_eq!(read(line.name), name, "{text}");
        assert_eq!(read(&line.unfolded_value()), value, "{text}");
    }
}

#[test]
fn an_agent_and_a_delimiter_are_known_in_any_case() {
    for (text, agent) in [
        ("AGENT:x", true),
        ("Agent:x", true),
        ("g.agent\t ;X=1:x", true),
        ("AGE\r\n NT:x", true),
        ("AGENTS:x", false),
        ("PARENT:x", false),
    ] {
        assert_eq!(only(text.as_bytes()).traits.agent, agent, "{text}");
    }
    for (text, edge) in [
        ("BEGIN:X", Some(Delimiter::Begin)),
        ("begin : X ", Some(Delimiter::Begin)),
        ("g.END:X", Some(Delimiter::End)),
        ("b.end:X\r\n ", Some(Delimiter::End)),
        ("BEGIN:X Y", None),
        ("EN\r\n D:X", None),
        ("E:END:X", None),
    ] {
        let found = only(text.as_bytes()).delimiter();
        assert_eq!(found.map(|(edge, _)| edge), edge, "{text}");
        assert!(found.is_none_or(|(_, name)| name == b"X"), "{text}");
    }
}
