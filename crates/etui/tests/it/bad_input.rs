//! Invalid input: an import never fails because of it, the good part is imported, the rest is
//! reported, and the store is sound.

use std::io::{self, Read};
use std::ops::ControlFlow;

use etui::Store;
use etui::contacts::{Card, Field, Filter, MatchMode, Paging};
use etui::import::{ImportEvent, ImportReport};
use etui_testkit::own_process::in_own_process;
use etui_testkit::rng::SplitMix64;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = etui::Options::default();
    // No test here cuts the power.
    options.durability = etui::Durability::Deferred;
    options.region = Some("DE".into());
    let store = Store::open_with(dir.path().join("personal.etui"), &options).unwrap();
    (dir, store)
}

/// Imports, and checks that the report agrees with the events.
fn import(store: &Store, input: impl Read) -> ImportReport {
    let mut told = Vec::new();
    let report = store
        .contacts()
        .unwrap()
        .import(input, &mut |event| {
            if let ImportEvent::Refused(refused) = event {
                told.push(refused.clone());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(report.refused, told.len() as u64);
    assert_eq!(report.refusals[..], told[..told.len().min(1_000)]);
    for refused in &told {
        assert!(
            refused.line >= 1 && refused.line <= refused.last_line,
            "{refused:?}"
        );
        assert!(
            !refused.reason.is_empty() && !refused.excerpt.contains('\n'),
            "{refused:?}"
        );
        assert!(refused.excerpt.chars().count() <= 80, "{refused:?}");
    }
    report
}

fn clean(store: &Store) {
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

fn texts(store: &Store) -> Vec<Vec<u8>> {
    let all = store.contacts().unwrap().all().unwrap();
    all.iter().map(|(_, text)| text.to_vec()).collect()
}

fn counts(report: &ImportReport) -> (u64, u64) {
    (report.good(), report.refused)
}

/// Returns the lines and reasons of rejections.
fn refusals(report: &ImportReport) -> Vec<(u64, u64, &str)> {
    report
        .refusals
        .iter()
        .map(|r| (r.line, r.last_line, r.reason.as_str()))
        .collect()
}

const SMALL: &[u8] = b"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:one\r\nN:M\xC3\xBCller;Anna;;;\r\n\
FN:Anna M\xC3\xBCller\r\nNOTE:folded \r\n here\r\nEND:VCARD\r\n\
begin:vcard\nversion:2.1\nuid:two\nN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:M=C3=B8ller;=\n\
S=C3=B8ren\nTEL;CELL:030 23125 012\nend:vcard\n\
BEGIN:VCARD\rVERSION:4.0\rUID:three\rFN:Outer\rAGENT:\rBEGIN:VCARD\rFN:Inner\rEND:VCARD\rEND:VCARD";

#[test]
fn a_file_cut_off_at_any_byte_gives_the_cards_before_the_cut() {
    let (_dir, whole) = store();
    let report = import(&whole, SMALL);
    assert_eq!(counts(&report), (3, 0), "{:?}", report.refusals);
    let cards = texts(&whole);
    assert_eq!(cards.concat(), SMALL);
    // The line end after END may be missing: the card is complete without it.
    let mut ends = Vec::new();
    let mut end = 0;
    for card in &cards {
        end += card.len();
        ends.push((end - card.len() + card.trim_ascii_end().len(), end));
    }
    let (_dir, store) = store();
    for cut in 0..SMALL.len() {
        let report = import(&store, &SMALL[..cut]);
        let good = ends.iter().filter(|&&(e, _)| e <= cut).count() as u64;
        assert_eq!(report.good(), good, "cut at {cut}: {:?}", report.refusals);
        let between = cut == 0 || ends.iter().any(|&(e, end)| (e..=end).contains(&cut));
        let refused = u64::from(!between);
        assert_eq!(
            report.refused, refused,
            "cut at {cut}: {:?}",
            report.refusals
        );
        assert_eq!(report.bytes, cut as u64);
    }
    import(&store, SMALL);
    assert_eq!(texts(&store), cards);
    clean(&store);
}

#[test]
fn noise_is_refused_and_the_cards_in_it_go_in() {
    let seed = 5;
    let mut rng = SplitMix64::new(seed);
    for round in 0..20 {
        let (_dir, store) = store();
        let noise = |rng: &mut SplitMix64| -> Vec<u8> {
            // The first bytes must not look like UTF-16, and form a line of their own.
            let mut bytes = vec![b'~'];
            bytes.extend((0..rng.below(5_000)).map(|_| rng.next_u64() as u8));
            bytes.push(b'\n');
            bytes
        };
        let mut input = noise(&mut rng);
        for i in 0..5 {
            input.extend_from_slice(
                format!("BEGIN:VCARD\nUID:{i}\nFN:Among noise {i}\nEND:VCARD\n").as_bytes(),
            );
            input.extend(noise(&mut rng));
        }
        let report = import(&store, &input[..]);
        assert_eq!(
            counts(&report),
            (5, 6),
            "round {round}: {:?}",
            refusals(&report)
        );
        assert_eq!(import(&store, &input[..]).unchanged, 5);
        clean(&store);
    }
}

/// Random bytes, 16-bit byte order marks included.
#[test]
fn noise_alone_is_refused() {
    let (_dir, store) = store();
    let mut rng = SplitMix64::new(6);
    for start in [
        &b""[..],
        b"\xFF\xFE",
        b"\xFE\xFF",
        b"\xEF\xBB\xBF",
        b"B\0",
        b"\0B",
        b"\0\0\xFE\xFF",
    ] {
        for _ in 0..10 {
            let mut input = start.to_vec();
            input.extend((0..20_000).map(|_| rng.next_u64() as u8));
            let report = import(&store, &input[..]);
            assert_eq!(report.good(), 0);
            assert!(report.refused >= 1);
        }
    }
    assert_eq!(texts(&store).len(), 0);
    clean(&store);
}

/// A card, then one line of `left` bytes inside a second card, then a third card.
struct OneLine {
    before: &'static [u8],
    left: u64,
    after: &'static [u8],
}

impl Read for OneLine {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for part in [true, false] {
            let bytes = if part {
                &mut self.before
            } else {
                &mut self.after
            };
            if !bytes.is_empty() {
                let n = bytes.read(buffer)?;
                return Ok(n);
            }
            if part && self.left > 0 {
                let n = buffer
                    .len()
                    .min(usize::try_from(self.left).unwrap_or(usize::MAX));
                buffer[..n].fill(b'x');
                self.left -= n as u64;
                return Ok(n);
            }
        }
        Ok(0)
    }
}

#[test]
fn an_endless_line_is_refused_without_being_held() {
    // The memory of the process is measured.
    if !in_own_process(an_endless_line_is_refused_without_being_held) {
        return;
    }
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let left = if long { 1 << 30 } else { 64 << 20 };
    let (_dir, store) = store();
    for before in [
        &b"BEGIN:VCARD\nUID:1\nFN:First\nEND:VCARD\nBEGIN:VCARD\nUID:2\nFN:Second\nNOTE:"[..],
        b"BEGIN:VCARD\nUID:1\nFN:First\nEND:VCARD\n",
    ] {
        let input = OneLine {
            before,
            left,
            after: b"\nEND:VCARD\nBEGIN:VCARD\nUID:3\nFN:Third\nEND:VCARD\n",
        };
        let peak = anonymous_kb();
        let report = import(&store, input);
        assert_eq!(report.good(), 2, "{:?}", refusals(&report));
        assert!(report.refused >= 1);
        assert!(report.refusals[0].line >= 5, "{:?}", refusals(&report));
        assert!(report.bytes > left);
        assert!(
            anonymous_kb() < peak + (48 << 10),
            "{} kB after {peak}",
            anonymous_kb()
        );
    }
    assert_eq!(texts(&store).len(), 2);
    clean(&store);
}

fn anonymous_kb() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup
        .lines()
        .find_map(|l| l.strip_prefix("Anonymous:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn labels_that_lie_about_the_charset_change_no_byte() {
    let cards: [&[u8]; 8] = [
        // Labelled UTF-8, but Windows-1252.
        b"BEGIN:VCARD\r\nVERSION:2.1\r\nUID:a\r\nN;CHARSET=UTF-8:M\xFCller;Anna\r\nEND:VCARD\r\n",
        // Labelled ISO-8859-1, but UTF-8.
        b"BEGIN:VCARD\r\nVERSION:2.1\r\nUID:b\r\nN;CHARSET=ISO-8859-1:M\xC3\xBCller;Anna\r\nEND:VCARD\r\n",
        b"BEGIN:VCARD\r\nVERSION:2.1\r\nUID:c\r\nN;CHARSET=NO-SUCH-THING:M\xFCller;Anna\r\nEND:VCARD\r\n",
        b"BEGIN:VCARD\r\nVERSION:2.1\r\nUID:d\r\nN;CHARSET=:M\xFCller;Anna\r\nEND:VCARD\r\n",
        // Labelled quoted-printable, but not encoded; half an escape; an escape at the end.
        b"BEGIN:VCARD\r\nVERSION:2.1\r\nUID:e\r\nN;ENCODING=QUOTED-PRINTABLE:M=FC=ZZ=4;=\r\nAnna=\r\n\r\nEND:VCARD\r\n",
        // Labelled base64, but not encoded.
        b"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:f\r\nFN:F\r\nPHOTO;ENCODING=b:***not base64***\r\nEND:VCARD\r\n",
        b"BEGIN:VCARD\r\nVERSION:2.1\r\nUID:g\r\nN;CHARSET=UTF-16:M\xFCller;Anna\r\nEND:VCARD\r\n",
        // Several encodings in one line.
        b"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:h\r\nFN:\xE4\xC3\xA4\x80\xFF\xC0\x80\xED\xA0\x80\r\nEND:VCARD\r\n",
    ];
    let (_dir, store) = store();
    let report = import(&store, &cards.concat()[..]);
    assert_eq!(counts(&report), (8, 0), "{:?}", refusals(&report));
    assert_eq!(texts(&store), cards);
    let contacts = store.contacts().unwrap();
    for uid in ["a", "b", "c", "d"] {
        let card = contacts.get(uid).unwrap().unwrap().card().unwrap();
        assert_eq!(card.name().given, "Anna", "{uid}");
    }
    // UTF-8 is recognised by its bytes, whatever the label.
    let found = contacts.find(&"family:müller".parse().unwrap()).unwrap();
    assert!(
        found
            .iter()
            .any(|e| contacts.get(e.id).unwrap().unwrap().uid == "a"),
        "{found:?}"
    );
    clean(&store);
}

#[test]
fn of_cards_with_one_uid_the_first_is_kept() {
    let (_dir, store) = store();
    let first = "BEGIN:VCARD\nUID:same\nFN:First\nEND:VCARD\n";
    let input = [
        first,
        "BEGIN:VCARD\nUID:same\nFN:Second\nEND:VCARD\n",
        first,
        "BEGIN:VCARD\nUID:other\nFN:Other\nEND:VCARD\n",
    ];
    let report = import(&store, input.concat().as_bytes());
    assert_eq!((report.added, report.unchanged, report.refused), (2, 1, 1));
    let refused = &report.refusals[0];
    assert_eq!((refused.line, refused.last_line), (5, 8));
    assert!(
        refused.reason.contains("same UID (same)"),
        "{}",
        refused.reason
    );
    assert_eq!(texts(&store), [first.as_bytes(), input[3].as_bytes()]);
    clean(&store);
}

#[test]
fn cards_without_uid_or_name_are_contacts() {
    let (_dir, store) = store();
    let input = [
        "BEGIN:VCARD\nFN:No Uid\nEND:VCARD\n",
        "BEGIN:VCARD\nTEL:+49 30 23125 014\nEND:VCARD\n",
        "BEGIN:VCARD\nUID:\nEMAIL:nobody@example.org\nEND:VCARD\n",
        "BEGIN:VCARD\nX-ONLY:this\nEND:VCARD\n",
        "BEGIN:VCARD\nEND:VCARD\n",
        "BEGIN:VCARD\nN:;;;;\nFN:   \nEND:VCARD\n",
    ];
    let report = import(&store, input.concat().as_bytes());
    assert_eq!(counts(&report), (4, 2), "{:?}", refusals(&report));
    for refused in &report.refusals {
        assert!(refused.reason.contains("empty vCard"), "{}", refused.reason);
    }
    assert_eq!(
        texts(&store),
        input[..4].iter().map(|t| t.as_bytes()).collect::<Vec<_>>()
    );
    let contacts = store.contacts().unwrap();
    assert_eq!(contacts.list(Paging::ALL).unwrap().len(), 4);
    assert_eq!(
        contacts
            .find(&Filter::text(Field::Phone, MatchMode::Suffix, "5014"))
            .unwrap()
            .len(),
        1
    );
    assert_eq!(import(&store, input.concat().as_bytes()).unchanged, 4);
    clean(&store);
}

#[test]
fn ten_thousand_phones_in_one_card() {
    let (_dir, store) = store();
    let mut text = String::from("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:many\r\nFN:Many Phones\r\n");
    for i in 0..10_000 {
        text.push_str(&format!("TEL;TYPE=CELL:+49 30 23125 {i:05}\r\n"));
    }
    text.push_str("END:VCARD\r\n");
    let report = import(&store, text.as_bytes());
    assert_eq!(counts(&report), (1, 0), "{:?}", refusals(&report));
    let contacts = store.contacts().unwrap();
    let card = contacts.get("many").unwrap().unwrap();
    assert_eq!(card.text, text.as_bytes());
    assert_eq!(card.card().unwrap().phones().len(), 10_000);
    // First while pending, then from the index.
    for _ in 0..2 {
        for filter in [
            "phone:\"+49 30 2312509999\"",
            "phone:\"030 23125 09999\"",
            "phone:*09999",
        ] {
            assert_eq!(
                contacts.find(&filter.parse().unwrap()).unwrap().len(),
                1,
                "{filter}"
            );
        }
        assert_eq!(
            contacts
                .find(&"phone:\"+49 30 2312510000\"".parse().unwrap())
                .unwrap(),
            []
        );
        store.maintenance().merge_index().unwrap();
    }
    contacts.remove("many").unwrap();
    store.maintenance().merge_index().unwrap();
    assert_eq!(contacts.find(&"phone:*09999".parse().unwrap()).unwrap(), []);
    clean(&store);
}

#[test]
fn a_thousand_levels_of_cards_in_cards() {
    let (_dir, store) = store();
    let nested = "AGENT:\nBEGIN:VCARD\nFN:Deeper\n".repeat(1_000);
    let ends = "END:VCARD\n".repeat(1_000);
    let after = "BEGIN:VCARD\nUID:after\nFN:After\nEND:VCARD\n";
    let input = format!("BEGIN:VCARD\nUID:deep\nFN:Deep\n{nested}{ends}END:VCARD\n{after}");
    let report = import(&store, input.as_bytes());
    assert!(report.refused >= 1);
    assert!(
        report.refusals[0].reason.contains("nested"),
        "{:?}",
        refusals(&report)
    );
    assert_eq!(texts(&store), [after.as_bytes()]);
    // Unclosed as well.
    let report = import(&store, format!("BEGIN:VCARD\nFN:Deep\n{nested}").as_bytes());
    assert_eq!(report.good(), 0);
    assert!(report.refused >= 1);
    // As a single card it does not crash the parser either.
    let _ = Card::parse(input.as_bytes());
    let _ = Card::parse(format!(
        "BEGIN:VCARD\nUID:deep\nFN:Deep\n{nested}{ends}END:VCARD\n"
    ));
    clean(&store);
}

#[test]
fn absurd_folding() {
    let value = "Anna Müller, folded";
    let each_byte: Vec<u8> = b"FN:"
        .iter()
        .chain(value.as_bytes())
        .flat_map(|&b| [b, b'\r', b'\n', b' '])
        .collect();
    let cards: [Vec<u8>; 5] = [
        [
            b"BEGIN:VCARD\r\nUID:bytes\r\n",
            &each_byte[..],
            b"\r\nEND:VCARD\r\n",
        ]
        .concat(),
        format!("BEGIN:VCARD\nUID:name\nF\n N\n :{value}\nEND:VCARD\n").into(),
        format!("BEGIN:VCARD\nUID:tabs\nFN:\n\t{value}\n \n\t\n \nEND:VCARD\n").into(),
        [
            &b"BEGIN:VCARD\nUID:long\nFN:Anna M\xC3\xBCller, folded\nNOTE:x"[..],
            &b"\n x".repeat(100_000),
            b"\nEND:VCARD\n",
        ]
        .concat(),
        "BEGIN:VCARD\nVERSION:2.1\nUID:soft\nFN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Anna M=\n\
             =\n=C3=\n=BCller, =\nfolded\nEND:VCARD\n"
            .into(),
    ];
    let (_dir, store) = store();
    let report = import(&store, &cards.concat()[..]);
    assert_eq!(counts(&report), (5, 0), "{:?}", refusals(&report));
    assert_eq!(texts(&store), cards);
    for entry in store.contacts().unwrap().list(Paging::ALL).unwrap() {
        let uid = store
            .contacts()
            .unwrap()
            .get(entry.id)
            .unwrap()
            .unwrap()
            .uid;
        assert_eq!(entry.summary.name, value, "{uid}");
    }
    // Folded BEGIN and END lines are reported where they are not recognised.
    for input in [
        "BEGIN:VCARD\n  \nUID:begin\nFN:A\nEND:VCARD\n",
        "BEG\n IN:VCARD\nUID:name\nFN:A\nEND:VCARD\n",
        "BEGIN:VCARD\nUID:end\nFN:A\n END:VCARD\n",
        "BEGIN:VCARD\nUID:value\nFN:A\nEND:\n VCARD\n",
    ] {
        let report = import(&store, input.as_bytes());
        assert!(
            report.good() == 1 || report.refused >= 1,
            "{input:?}: {report:?}"
        );
    }
    clean(&store);
}

#[test]
fn zero_bytes() {
    let cards: [&[u8]; 3] = [
        b"BEGIN:VCARD\nUID:a\nFN:Zero\0Byte\nEND:VCARD\n",
        b"BEGIN:VCARD\nUID:b\0c\nFN:In the UID\nEND:VCARD\n",
        b"BEGIN:VCARD\nUID:d\nFN:Many\nNOTE:\0\0\0\0\0\0\nTEL:\x00030 23125 015\nEND:VCARD\n",
    ];
    let (_dir, store) = store();
    let report = import(&store, &cards.concat()[..]);
    assert_eq!(report.bytes, cards.concat().len() as u64);
    assert_eq!(counts(&report), (3, 0), "{:?}", refusals(&report));
    assert_eq!(texts(&store), cards);
    assert_eq!(import(&store, &cards.concat()[..]).unchanged, 3);
    let contacts = store.contacts().unwrap();
    for entry in contacts.list(Paging::ALL).unwrap() {
        let found = contacts.get(entry.id).unwrap().unwrap();
        assert_eq!(contacts.get(&found.uid).unwrap().unwrap(), found);
    }
    clean(&store);
}

/// Single lines that resemble structure.
#[test]
fn half_cards_and_stray_lines() {
    for (input, good, refused) in [
        ("", 0, 0),
        ("\r\n\r\n\n", 0, 0),
        ("BEGIN:VCARD", 0, 1),
        ("END:VCARD\n", 0, 1),
        ("BEGIN:VCARD\nEND:VCARD\n", 0, 1),
        ("BEGIN:VCARD\nBEGIN:VCARD\nBEGIN:VCARD\n", 0, 3),
        ("BEGIN:VCALENDAR\nEND:VCALENDAR\n", 0, 1),
        (
            "BEGIN:VCARD\nFN:A\nEND:VCARDBEGIN:VCARD\nFN:B\nEND:VCARD",
            2,
            0,
        ),
        (
            "BEGIN:VCARD\nFN:A\nBEGIN:VCARD\nFN:B\nEND:VCARD\nEND:VCARD\n",
            1,
            2,
        ),
        (
            "BEGIN:VCARD\n:\n;\n=\n::::\nno colon\nFN:A\nEND:VCARD\n",
            1,
            0,
        ),
        ("BEGIN:VCARD\nFN;\"unclosed:A\nTEL:110\nEND:VCARD\n", 1, 0),
        ("BEGIN:VCARD\nFN;;;;=;;\"\"=:A\nEND:VCARD\n", 1, 0),
    ] {
        let (_dir, store) = store();
        let report = import(&store, input.as_bytes());
        assert_eq!(
            counts(&report),
            (good, refused),
            "{input:?}: {:?}",
            refusals(&report)
        );
        clean(&store);
    }
}

/// Text accepted as one card can be edited as one.
#[test]
fn an_end_that_is_no_line_of_its_own() {
    for text in [
        "BEGIN:VCARD\nFN:A\nX:END:VCARD",
        "BEGIN:VCARD\nFN:AEND:VCARD\n",
        "BEGIN:VCARD\nFN:A\n END:VCARD",
    ] {
        if let Ok(mut card) = Card::parse(text) {
            assert_eq!(card.set("NOTE", "x"), Ok(()), "{text:?}");
        }
    }
}
