//! Guarantees of the splitter on any input: every good record comes out byte for
//! byte, whatever surrounds it and however the input arrives; every
//! byte is accounted for; and whatever comes out can be walked and cleaned.

use std::io::{self, Read};

use etui_contentline::charset::repair_charset;
use etui_contentline::lines::ContentLines;
use etui_contentline::split::{RejectReason, SplitItem, Splitter};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A reader that gives its bytes in pieces of the sizes asked for, in turn.
struct Chunked<'a> {
    rest: &'a [u8],
    sizes: Vec<usize>,
    turn: usize,
}

impl Read for Chunked<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.turn % self.sizes.len()];
        self.turn += 1;
        let size = size.min(out.len()).min(self.rest.len());
        let (now, rest) = self.rest.split_at(size);
        out[..size].copy_from_slice(now);
        self.rest = rest;
        Ok(size)
    }
}

fn split(input: &[u8], limit: usize) -> Vec<SplitItem> {
    let pieces = Splitter::new(input, "VCARD").max_record(limit);
    pieces.collect::<Result<_, _>>().unwrap()
}

fn split_chunked(input: &[u8], sizes: &[usize], limit: usize) -> Vec<SplitItem> {
    let reader = Chunked {
        rest: input,
        sizes: sizes.to_vec(),
        turn: 0,
    };
    let mut splitter = Splitter::new(reader, "VCARD").max_record(limit);
    let pieces = splitter.by_ref().collect::<Result<_, _>>().unwrap();
    assert_eq!(splitter.bytes_read(), input.len() as u64);
    pieces
}

fn records(pieces: &[SplitItem]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    for piece in pieces {
        if let SplitItem::Record(record) = piece {
            found.push(&record.bytes[..]);
        }
    }
    found
}

/// The number of the line that the byte before `end` belongs to, or the one
/// that starts at `end`.
fn line_at(input: &[u8], end: usize, inside: bool) -> u64 {
    let mut before = &input[..end];
    if inside {
        before = before
            .strip_suffix(b"\r\n")
            .or_else(|| before.strip_suffix(b"\n"))
            .or_else(|| before.strip_suffix(b"\r"))
            .unwrap_or(before);
    }
    let ends = before.iter().enumerate().filter(|&(at, byte)| match byte {
        b'\n' => true,
        b'\r' => input.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    1 + ends.count() as u64
}

/// Every byte is in one record, in one refusal, or in a blank line between.
fn assert_covered(input: &[u8], pieces: &[SplitItem]) {
    let wide = matches!(
        input,
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [b'B' | b'b', 0, ..] | [0, ..]
    );
    let mut at = 0;
    for piece in pieces {
        let (offset, len, line) = match piece {
            SplitItem::Record(record) => {
                let offset = usize::try_from(record.offset).unwrap();
                assert_eq!(record.bytes, input[offset..offset + record.bytes.len()]);
                (offset, record.bytes.len(), record.line)
            }
            SplitItem::Rejected(why) => {
                let offset = usize::try_from(why.offset).unwrap();
                let len = usize::try_from(why.len).unwrap();
                assert!(len > 0 && why.excerpt.chars().count() <= 80);
                assert!(!why.excerpt.chars().any(char::is_control));
                assert!(why.line <= why.last_line);
                if !wide {
                    assert_eq!(why.last_line, line_at(input, offset + len, true));
                }
                (offset, len, why.line)
            }
        };
        if !wide {
            assert_eq!(line, line_at(input, offset, false), "{piece:?}");
        }
        assert_blank(&input[at..offset], wide);
        at = offset + len;
    }
    assert_blank(&input[at..], wide);
}

fn assert_blank(gap: &[u8], wide: bool) {
    let blank = gap.iter().all(|byte| match byte {
        b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF => true,
        // Padding and the end-of-file mark of phones and DOS.
        0 | 0x1A => true,
        0xFE | 0xFF => wide,
        _ => false,
    });
    assert!(blank, "{gap:?} was passed over");
}

fn assert_walkable(bytes: &[u8]) {
    let mut at = 0;
    for line in ContentLines::new(bytes) {
        assert_eq!(line.span.start, at);
        assert!(line.span.start <= line.params.start && line.params.start <= line.params.end);
        assert!(line.params.end <= line.value.end && line.value.start <= line.value.end);
        assert!(line.value.end <= line.span.end);
        at = line.span.end;
        let _ = (line.unfolded(), line.unfolded_params(), line.name_is("FN"));
    }
    assert_eq!(at, bytes.len());
}

#[derive(Clone)]
struct Card {
    bytes: Vec<u8>,
    nested: bool,
}

impl std::fmt::Debug for Card {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.bytes.escape_ascii())
    }
}

fn line_end() -> impl Strategy<Value = &'static str> {
    select(vec!["\r\n", "\n", "\r"])
}

/// A property, over one or more lines; `\n` means any line end.
fn property() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "TEL;TYPE=CELL:\\+1202555010[0-9]".prop_map(String::into_bytes),
        "(item1\\.)?X-[A-Z]{1,8}:[ -~]{0,40}".prop_map(String::into_bytes),
        "NOTE:[a-z]{0,9}(\n [a-z:;]{0,9}){0,3}".prop_map(String::into_bytes),
        Just(b"NOTE:\n END:VCARD\n\tBEGIN:VCARD\n AGENT:\n ".to_vec()),
        "NOTE;(ENCODING=)?QUOTED-PRINTABLE:([a-z=]{0,9}(=3D|=FC)=\n){0,3}[ a-z]{1,5}(\n x=\nrest)?"
            .prop_map(String::into_bytes),
        Just(b"NOTE;QUOTED-PRINTABLE;CHARSET=UTF-8:x=\nAGENT:=\nAGENT:BEGIN:VCARD".to_vec()),
        "PHOTO;(ENCODING=)?BASE64:(\n ?[A-Za-z0-9+/]{1,20}){1,4}==\n".prop_map(String::into_bytes),
        "LOGO;ENCODING=b;TYPE=PNG:[A-Z]{0,9}(\n [A-Za-z0-9+/]{1,20}){0,4}"
            .prop_map(String::into_bytes),
        vec(0x80_u8.., 1..9).prop_map(|text| [b"TITLE:", &text[..]].concat()),
        vec(0x80_u8.., 1..9).prop_map(|text| [b"ROLE;CHARSET=GBK:", &text[..]].concat()),
        Just(b"".to_vec()),
    ]
}

/// A whole card whose FN is `Good` and whose last property is a TEL.
fn card() -> impl Strategy<Value = Card> {
    let flat = (vec(property(), 0..6), Just(None::<Card>)).boxed();
    let with_agent = |inner: BoxedStrategy<(Vec<Vec<u8>>, Option<Card>)>| {
        let inner = build(inner).prop_map(Some);
        (
            vec(property(), 0..6),
            prop_oneof![3 => Just(None), 1 => inner],
        )
            .boxed()
    };
    build(with_agent(with_agent(flat)))
}

fn build(
    parts: BoxedStrategy<(Vec<Vec<u8>>, Option<Card>)>,
) -> impl Strategy<Value = Card> + use<> {
    let delimiters = (
        select(vec!["BEGIN:VCARD", "begin:vcard", "Begin:vCard \t"]),
        select(vec!["END:VCARD", "end:vcard", "END:VCARD  "]),
        select(vec!["AGENT:\n", "a.agent;X=1: \n", "AGENT:\n\n"]),
    );
    let ends = vec(line_end(), 1..4);
    (parts, delimiters, ends, any::<bool>()).prop_map(
        |((properties, inner), (begin, end, agent), ends, inline)| {
            let mut ends = ends.iter().cycle();
            let mut bytes = Vec::new();
            let mut push = |bytes: &mut Vec<u8>, text: &[u8]| {
                for &byte in text {
                    match byte {
                        b'\n' => bytes.extend(ends.next().unwrap().bytes()),
                        _ => bytes.push(byte),
                    }
                }
            };
            push(
                &mut bytes,
                format!("{begin}\nVERSION:2.1\nFN:Good\n").as_bytes(),
            );
            for property in properties {
                push(&mut bytes, &property);
                push(&mut bytes, b"\n");
            }
            let nested = inner.is_some();
            if let Some(inner) = inner {
                if inline {
                    push(&mut bytes, b"AGENT:");
                } else {
                    push(&mut bytes, agent.as_bytes());
                }
                bytes.extend(inner.bytes);
            }
            push(&mut bytes, format!("TEL:+12025550199\n{end}\n").as_bytes());
            Card { bytes, nested }
        },
    )
}

/// Lines that are no record, none of them empty or a delimiter.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        vec(any::<u8>(), 1..30),
        Just(b" END:VCARD".to_vec()),
        Just(b"BEGIN:VCARDS".to_vec()),
        Just(b"BEGIN:VEVENT".to_vec()),
        Just(b"FN:Nobody".to_vec()),
        Just(b"   ".to_vec()),
    ];
    let line = (text, line_end()).prop_map(|(mut text, end)| {
        text.retain(|byte| !matches!(byte, b'\r' | b'\n'));
        text.insert(0, b'.');
        if text.starts_with(b". ") || text.starts_with(b".BEGIN") {
            text.remove(0);
        }
        text.extend(end.bytes());
        text
    });
    vec(line, 1..4).prop_map(|lines| lines.concat())
}

/// The start of a card, cut anywhere before its END, and a line end.
fn unterminated() -> impl Strategy<Value = Vec<u8>> {
    (card(), any::<prop::sample::Index>(), line_end())
        .prop_map(|(card, cut, end)| {
            let bytes = card.bytes;
            let last = bytes.to_ascii_uppercase();
            let last = last.windows(4).rposition(|at| at == b"END:").unwrap();
            let cut = "BEGIN:VCARD".len() + cut.index(last - "BEGIN:VCARD".len() + 4);
            [&bytes[..cut], end.as_bytes()].concat()
        })
        .prop_filter("a cut after AGENT: takes the next card in", |bytes| {
            let upper = String::from_utf8_lossy(bytes).to_uppercase();
            let upper = upper.trim_end();
            !upper.ends_with("AGENT:") && !upper.ends_with("AGENT;X=1:")
        })
}

/// A part of a file and the good records in it.
fn part() -> impl Strategy<Value = (Vec<u8>, Vec<Vec<u8>>)> {
    let good = || card().prop_map(|card| card.bytes);
    prop_oneof![
        4 => good().prop_map(|card| (card.clone(), vec![card])),
        2 => garbage().prop_map(|text| (text, vec![])),
        1 => line_end().prop_map(|end| (format!("END:VCARD{end}").into_bytes(), vec![])),
        1 => card()
            .prop_filter("the inner card would be a record", |card| !card.nested)
            .prop_map(|card| (card.bytes["BEGIN:".len()..].to_vec(), vec![])),
        2 => (vec(unterminated(), 1..3), prop::option::of(garbage()), good()).prop_map(
            |(bad, text, card)| {
                let text = text.unwrap_or_default();
                ([&bad.concat()[..], &text, &card].concat(), vec![card])
            }
        ),
        1 => good().prop_map(|card| {
            ([&b"\xEF\xBB\xBF"[..], &card].concat(), vec![card])
        }),
    ]
}

/// Random bytes, mixed with the characters that the splitter recognises.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let known = select(vec![
        "BEGIN:VCARD",
        "END:VCARD",
        "\nBEGIN:VCARD\n",
        "\nEND:VCARD\n",
        "\r\nEND:VCARD\r\n",
        "\nAGENT:\n",
        "AGENT:",
        "BEGIN:",
        "\r",
        "\n",
        "\r\n",
        " ",
        "\t",
        "=",
        "=\n",
        "\"",
        ";",
        ":",
        ".",
        "NOTE;QUOTED-PRINTABLE:",
        "N;ENCODING=QUOTED-PRINTABLE;CHARSET=Shift_JIS:",
        "=83\\",
        "=3B",
        "PHOTO;BASE64:",
        "AAAA",
        "FN;CHARSET=UTF-16:",
        "CHARSET=ISO-2022-JP",
        "\u{1B}$B",
        "\u{FEFF}",
        "\u{A0D}",
        "\0",
        "ü",
        ",",
        "\\",
    ])
    .prop_map(|text| text.as_bytes().to_vec());
    let parts = vec(prop_oneof![9 => known, 1 => vec(any::<u8>(), 0..9)], 0..40);
    (parts, 0..6_u8).prop_map(|(parts, form)| {
        let bytes = parts.concat();
        let text = String::from_utf8_lossy(&bytes);
        let wide = |to: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(to).collect();
        match form {
            0 => [vec![0xFF, 0xFE], wide(u16::to_le_bytes)].concat(),
            1 => [vec![0xFE, 0xFF], wide(u16::to_be_bytes), vec![0]].concat(),
            _ => bytes,
        }
    })
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1]), vec(1..40_usize, 1..5)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_good_record_comes_out(
        parts in vec(part(), 0..8),
        tail in prop::option::of(unterminated()),
        sizes in sizes(),
    ) {
        let (texts, good): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let mut input = [texts.concat(), tail.unwrap_or_default()].concat();
        if input.len() > 1 && !input[0].is_ascii_graphic() && !input.starts_with(b"\xEF") {
            input.insert(0, b'.');
        }
        let pieces = split(&input, usize::MAX);
        prop_assert_eq!(records(&pieces), good.concat());
        assert_covered(&input, &pieces);
        prop_assert_eq!(split_chunked(&input, &sizes, usize::MAX), pieces);
    }

    #[test]
    fn any_bytes_are_accounted_for(
        input in prop_oneof![fragments(), vec(any::<u8>(), 0..200)],
        sizes in sizes(),
        limit in prop_oneof![Just(usize::MAX), 0..60_usize],
    ) {
        let pieces = split(&input, limit);
        assert_covered(&input, &pieces);
        prop_assert_eq!(&split_chunked(&input, &sizes, limit), &pieces);
        for record in records(&pieces) {
            prop_assert!(record.len() <= limit);
            let again = split(record, limit);
            prop_assert_eq!(records(&again), [record]);
        }
    }

    #[test]
    fn any_bytes_can_be_walked_and_cleaned(input in prop_oneof![fragments(), vec(any::<u8>(), 0..200)]) {
        assert_walkable(&input);
        let _ = repair_charset(&input);
        for record in records(&split(&input, usize::MAX)) {
            assert_walkable(record);
            let _ = repair_charset(record);
        }
    }

    #[test]
    fn a_clean_card_is_read_and_stays_as_it_is(card in card()) {
        assert_walkable(&card.bytes);
        let text = repair_charset(&card.bytes);
        let again = repair_charset(text.as_bytes());
        prop_assert_eq!(&again, &text);
        prop_assert!(matches!(again, std::borrow::Cow::Borrowed(_)));

        let values = |name: &str| -> Vec<String> {
            let lines = ContentLines::of_text(&text).filter(|line| line.name_is(name));
            lines
                .map(|line| String::from_utf8_lossy(&line.unfolded_value()).into_owned())
                .collect()
        };
        prop_assert_eq!(values("FN"), ["Good"]);
        prop_assert_eq!(values("TEL").pop(), Some("+12025550199".to_owned()));
    }
}

/// Lines about as long as the window holds, with reads that end anywhere in
/// them.
#[test]
fn long_lines_do_not_depend_on_how_they_arrive() {
    const HELD: usize = 64 * 1024;
    let card = b"BEGIN:VCARD\r\nFN:Good\r\nEND:VCARD\r\n";
    for len in (HELD - 3..HELD + 3).chain([5 * HELD, 9 * HELD + 1]) {
        let line = vec![b'A'; len];
        for end in ["\r\n", "\n", "\r"] {
            let input = [
                &line[..],
                end.as_bytes(),
                b"BEGIN:VCARD\nNOTE;QUOTED-PRINTABLE:",
                &line,
                b"=",
                end.as_bytes(),
                b"AGENT:\n",
                card,
                card,
                b"BEGIN:VCARD\nPHOTO:",
                &line,
                end.as_bytes(),
                b"END:VCARD",
            ]
            .concat();
            let whole = split(&input, 6 * HELD);
            assert_covered(&input, &whole);
            assert_eq!(whole.len(), 5, "{len} {end:?}");
            assert_eq!(&records(&whole)[..2], [card, card]);
            let large = matches!(
                &whole[4],
                SplitItem::Rejected(why) if matches!(why.reason, RejectReason::TooLarge { .. })
            );
            assert_eq!(large, len > 6 * HELD);
            for sizes in [&[1000][..], &[HELD, 1], &[HELD + 1], &[4 * HELD - 1, 3]] {
                assert_eq!(
                    split_chunked(&input, sizes, 6 * HELD),
                    whole,
                    "{len} {end:?}"
                );
            }
        }
    }
}
