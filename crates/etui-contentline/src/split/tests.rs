//! Records and rejections of the splitter, case by case.

use super::*;
use crate::stream::text::EXCERPT_CHARS;

fn split(input: &[u8]) -> Vec<SplitItem> {
    Splitter::new(input, "VCARD")
        .collect::<Result<_, _>>()
        .unwrap()
}

/// Each piece in short: a record's text, or a refusal's lines and reason.
fn summary(input: &[u8]) -> Vec<String> {
    summary_of(split(input))
}

fn summary_of(pieces: Vec<SplitItem>) -> Vec<String> {
    let short = |piece| match piece {
        SplitItem::Record(record) => String::from_utf8_lossy(&record.bytes).into_owned(),
        SplitItem::Rejected(why) => {
            let reason = format!("{:?}", why.reason);
            format!("{}-{} {reason}", why.line, why.last_line)
        }
    };
    pieces.into_iter().map(short).collect()
}

const CARD: &str = "BEGIN:VCARD\r\nFN:Ada\r\nEND:VCARD\r\n";

#[test]
fn an_unterminated_card_does_not_take_the_next_one_along() {
    let input = format!("BEGIN:VCARD\nFN:Bob\n{CARD}BEGIN:VCARD\nFN:Cleo\n");
    assert_eq!(
        summary(input.as_bytes()),
        ["1-2 Unterminated", CARD, "6-7 Unterminated"]
    );
}

#[test]
fn outside_text_is_one_refusal_and_blank_lines_none() {
    let input = format!("\n \none\n\ntwo\n\t\n{CARD}\nEND:VCARD\nthree");
    let expected = ["3-5 Outside", CARD, "11-11 StrayEnd", "12-12 Outside"];
    assert_eq!(summary(input.as_bytes()), expected);
}

#[test]
fn an_agent_is_nested_and_nothing_else_is() {
    for agent in [
        "AGENT:\r\n",
        "x.Agent;VALUE=x: \n\n",
        "AGENT;A=\n b:\n",
        "AGENT:\n \n",
    ] {
        let nested = format!("BEGIN:VCARD\n{agent}{CARD}TEL:1\nEND:VCARD\n");
        assert_eq!(summary(nested.as_bytes()), [nested.as_str()]);
    }
    let inline = "BEGIN:VCARD\nAGENT:begin:vcard\nFN:x\nEND:VCARD\nTEL:1\nEND:VCARD";
    assert_eq!(summary(inline.as_bytes()), [inline]);
    for not in [
        "AGENT:x",
        "XAGENT:",
        "AGENT",
        "AGENT:\n x",
        "AGENT:\nFN:x",
        "N;QP:AGENT:",
    ] {
        let input = format!("BEGIN:VCARD\n{not}\n{CARD}");
        let pieces = summary(input.as_bytes());
        assert_eq!(pieces.len(), 2, "{not}");
        assert_eq!(pieces[1], CARD);
    }
}

#[test]
fn a_soft_break_hides_an_agent_but_no_delimiter() {
    let note = "NOTE;QUOTED-PRINTABLE:a=\n";
    let input = format!("BEGIN:VCARD\n{note}AGENT:\n{CARD}");
    assert_eq!(summary(input.as_bytes()), ["1-3 Unterminated", CARD]);
    let input = format!("BEGIN:VCARD\n{note}END:VCARD\n{CARD}");
    assert_eq!(summary(input.as_bytes()).len(), 2);
}

#[test]
fn folded_delimiters_are_data_and_blanks_after_them_are_not() {
    let card = "begin:vcard \t\nNOTE:\n END:VCARD\n BEGIN:VCARD\nEnd : vCard  \r";
    assert_eq!(summary(card.as_bytes()), [card]);
}

#[test]
fn other_components_are_lines() {
    let calendar = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VEVENT\nEND:VCALENDAR\n";
    let found = Splitter::new(calendar.as_bytes(), "VCALENDAR")
        .next()
        .unwrap()
        .unwrap();
    assert!(matches!(found, SplitItem::Record(record) if record.bytes == calendar.as_bytes()));
}

#[test]
fn files_joined_without_a_line_end_come_apart() {
    let end = "BEGIN:VCARD\nEND:VCARD";
    for mark in ["", "\u{FEFF}"] {
        let input = format!("{mark}{end}{mark}{end}\n{mark}{CARD}{mark}\n");
        let expected = [end.to_string(), format!("{end}\n"), CARD.to_string()];
        assert_eq!(summary(input.as_bytes()), expected);
    }
}

#[test]
fn large_and_deep_records_are_refused_and_the_next_one_is_found() {
    let photo = "A".repeat(500);
    for line in [format!("PHOTO:{photo}\n"), format!("A:{photo}\n").repeat(9)] {
        let lines = 2 + line.lines().count();
        for tail in ["END:VCARD\n", "AGENT:x\n"] {
            let input = format!("BEGIN:VCARD\n{line}{tail}{CARD}");
            let limited = Splitter::new(input.as_bytes(), "VCARD").max_record(99);
            let pieces = summary_of(limited.collect::<Result<_, _>>().unwrap());
            assert_eq!(
                pieces,
                [format!("1-{lines} TooLarge {{ limit: 99 }}"), CARD.into()]
            );
        }
    }
    let deep = "BEGIN:VCARD\nAGENT:\n".repeat(40) + &"END:VCARD\n".repeat(40) + CARD;
    assert_eq!(
        summary(deep.as_bytes()),
        ["1-120 TooDeep { limit: 16 }", CARD]
    );
}

#[test]
fn utf16_records_keep_their_units() {
    // U+0A0D and U+0D0A must not be taken for line ends.
    let card = "BEGIN:VCARD\r\nFN:\u{A0D}\u{D0A}\u{10A}ü\rTEL:1\nEND:VCARD\r\n";
    let units = |text: &str, to: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(to).collect()
    };
    for to in [u16::to_le_bytes, u16::to_be_bytes] {
        for start in ["\u{FEFF}", ""] {
            let input = units(&format!("{start}{card}text\n{card}"), to);
            let pieces = split(&input);
            assert_eq!(pieces.len(), 3);
            for piece in [&pieces[0], &pieces[2]] {
                assert!(
                    matches!(piece, SplitItem::Record(found) if found.bytes == units(card, to))
                );
            }
            let SplitItem::Rejected(why) = &pieces[1] else {
                panic!("{pieces:?}")
            };
            assert_eq!((why.line, why.excerpt.as_str()), (5, "text"));
        }
    }
}

#[test]
fn utf32_is_refused_whole() {
    let input: Vec<u8> = "\u{FEFF}BEGIN:VCARD\nEND:VCARD\n"
        .chars()
        .flat_map(|char| u32::from(char).to_le_bytes())
        .collect();
    let pieces = split(&input);
    let [SplitItem::Rejected(why)] = &pieces[..] else {
        panic!("{pieces:?}")
    };
    assert_eq!(why.reason, RejectReason::Encoding { found: "UTF-32LE" });
    assert_eq!((why.offset, why.len), (0, input.len() as u64));
}

#[test]
fn an_excerpt_is_short_and_has_no_control_characters() {
    let input = format!("\x1B[31m\tred{}", "ü".repeat(100));
    let pieces = split(input.as_bytes());
    let [SplitItem::Rejected(why)] = &pieces[..] else {
        panic!("{pieces:?}")
    };
    assert!(
        why.excerpt.starts_with("\\u{1b}[31m\\tredü"),
        "{}",
        why.excerpt
    );
    assert_eq!(why.excerpt.chars().count(), EXCERPT_CHARS);
}

#[test]
fn a_line_without_end_is_not_held() {
    let begin = &b"BEGIN:VCARD\nNOTE;QUOTED-PRINTABLE:"[..];
    for start in [&b""[..], begin] {
        let input = start
            .chain(io::repeat(b'=').take(64 << 20))
            .chain(&b"\r\n"[..])
            .chain(CARD.as_bytes());
        let mut splitter = Splitter::new(input, "VCARD").max_record(1 << 20);
        let pieces: Vec<_> = splitter.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(pieces.len(), 2);
        assert!(matches!(&pieces[1], SplitItem::Record(card) if card.bytes == CARD.as_bytes()));
        assert!(splitter.bytes_read() > 64 << 20);
    }
}

#[test]
fn an_error_of_the_reader_ends_it() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("unplugged"))
        }
    }
    let mut splitter = Splitter::new(CARD.as_bytes().chain(Broken), "VCARD");
    assert!(matches!(splitter.next(), Some(Ok(SplitItem::Record(_)))));
    assert!(matches!(splitter.next(), Some(Err(_))));
    assert!(splitter.next().is_none());
}

/// Phones pad their files with zeros, programs of DOS end them with ^Z.
#[test]
fn padding_after_the_last_record_is_none() {
    let card = b"BEGIN:VCARD\r\nFN:A\r\nEND:VCARD\r\n";
    for padding in [
        &b"\x1A"[..],
        b"\x1A\r\n",
        b"\0\0\0\0",
        b"\0\r\n\0 \x1A",
        b"\r\n\x1A",
    ] {
        let input = [card, padding].concat();
        let pieces: Vec<SplitItem> = Splitter::new(&input[..], "VCARD")
            .map(Result::unwrap)
            .collect();
        assert!(
            matches!(pieces.as_slice(), [SplitItem::Record(_)]),
            "{pieces:?}"
        );
    }
    let input = [card, &b"\x1Ax"[..]].concat();
    assert_eq!(Splitter::new(&input[..], "VCARD").count(), 2);
}
