//! Which physical lines belong together, and what is found in them.

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
    let params: Vec<_> = params(&record[line.params.clone()])
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
