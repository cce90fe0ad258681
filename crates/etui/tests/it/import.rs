//! Sample exports are imported and exported: valid records byte for byte, rejected ones with a reason.

use std::ops::ControlFlow;

use etui::contacts::{Card, Paging};
use etui::import::{CardReader, ContactImport, ImportCard, ImportReport, Refused};
use etui::record::RecordKind;
use etui::{SaveOutcome, Store};
use etui_testkit::{fixtures, people::People};

fn import(store: &Store, bytes: &[u8]) -> ImportReport {
    store
        .contacts()
        .unwrap()
        .import(bytes, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("personal.etui")).unwrap();
    (dir, store)
}

#[test]
fn every_sample_export_goes_in_as_counted_and_comes_out_as_it_came() {
    for fixture in fixtures::ALL {
        let (_dir, store) = store();
        let report = import(&store, fixture.bytes);
        let why: Vec<_> = report
            .refusals
            .iter()
            .map(|r| (r.line, &r.reason))
            .collect();
        assert_eq!(
            (report.good(), report.refused),
            (fixture.good as u64, fixture.refused as u64),
            "{}: {why:?}",
            fixture.name
        );
        let texts = store.contacts().unwrap().all().unwrap();
        // Every record is a run of the file's own bytes, in the file's order.
        let mut rest = fixture.bytes;
        for (_, text) in texts.iter() {
            let at = rest
                .windows(text.len())
                .position(|w| w == text)
                .unwrap_or_else(|| panic!("{}: a record is not of the file", fixture.name));
            rest = &rest[at + text.len()..];
        }
        assert!(store.check().unwrap().is_clean(), "{}", fixture.name);
    }
}

#[test]
fn importing_twice_changes_nothing() {
    let (_dir, store) = store();
    for fixture in fixtures::ALL {
        import(&store, fixture.bytes);
    }
    let before = store.contacts().unwrap().all().unwrap();
    let token = store.token().unwrap();
    for fixture in fixtures::ALL {
        let again = import(&store, fixture.bytes);
        assert_eq!((again.added, again.changed), (0, 0), "{}", fixture.name);
        assert_eq!(again.refused, fixture.refused as u64, "{}", fixture.name);
    }
    assert_eq!(store.token().unwrap(), token);
    assert_eq!(
        store.contacts().unwrap().all().unwrap().bytes(),
        before.bytes()
    );
}

#[test]
fn ten_thousand_generated_cards_come_out_byte_for_byte() {
    let (_dir, store) = store();
    let mut file = Vec::new();
    etui_testkit::people::write_vcf(&mut file, 7, 10_000).unwrap();
    let report = import(&store, &file);
    assert_eq!((report.added, report.refused), (10_000, 0));
    let contacts = store.contacts().unwrap();
    assert_eq!(contacts.all().unwrap().bytes(), file);
    for (i, text) in People::new(7).take(10_000).enumerate().step_by(97) {
        let uid = Card::parse(text.as_bytes())
            .unwrap()
            .identity()
            .into_owned();
        let found = contacts.get(&uid).unwrap().unwrap();
        assert_eq!(found.text, text.as_bytes(), "card {i}");
    }
    assert_eq!(contacts.count().unwrap(), 10_000);
    assert_eq!(contacts.list(Paging::ALL).unwrap().len(), 10_000);
    assert!(store.check().unwrap().is_clean());
    assert_eq!(import(&store, &file).unchanged, 10_000);
}

#[test]
fn refusals_name_line_and_reason() {
    let (_dir, store) = store();
    let report = import(
        &store,
        b"hello\n\nBEGIN:VCARD\nFN:Cut Off\nBEGIN:VCARD\nUID:a\nFN:Good\nEND:VCARD\n\
          BEGIN:VCARD\nUID:a\nFN:Other\nEND:VCARD\nBEGIN:VCARD\nVERSION:3.0\nEND:VCARD\n",
    );
    assert_eq!((report.added, report.refused), (1, 4));
    let lines: Vec<_> = report
        .refusals
        .iter()
        .map(|r| (r.line, r.last_line))
        .collect();
    assert_eq!(lines, [(1, 1), (3, 4), (13, 15), (9, 12)]);
    assert!(report.refusals[3].reason.contains("same UID (a)"));
    assert_eq!(report.refusals[3].excerpt, "UID:a");
}

#[test]
fn a_changed_card_replaces_and_can_be_undone() {
    let (_dir, store) = store();
    import(&store, b"BEGIN:VCARD\nUID:a\nFN:First\nEND:VCARD\n");
    let report = import(&store, b"BEGIN:VCARD\nUID:a\nFN:Second\nEND:VCARD\n");
    assert_eq!((report.added, report.changed), (0, 1));
    let contacts = store.contacts().unwrap();
    assert_eq!(contacts.restore("a").unwrap().outcome, SaveOutcome::Changed);
    let text = contacts.get("a").unwrap().unwrap().text;
    assert_eq!(text, b"BEGIN:VCARD\nUID:a\nFN:First\nEND:VCARD\n");
}

#[test]
fn an_earlier_version_stays_out_unless_it_is_asked_for() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let card = |phone: u32| {
        format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a\r\nFN:Ada\r\nTEL:{phone}\r\nEND:VCARD\r\n")
    };
    let phone = || {
        contacts
            .get("a")
            .unwrap()
            .unwrap()
            .card()
            .unwrap()
            .properties("TEL")
    };
    let outcome = |report: ImportReport| (report.changed, report.unchanged, report.older);
    let run = |phone: u32| outcome(import(&store, card(phone).as_bytes()));
    import(&store, card(1).as_bytes());
    contacts.save(&Card::parse(card(2)).unwrap()).unwrap();
    assert_eq!(run(1), (0, 0, 1));
    assert_eq!(run(2), (0, 1, 0));
    assert_eq!(run(3), (1, 0, 0));
    // 2 and 1 were before 3.
    assert_eq!((run(2), run(1)), ((0, 0, 1), (0, 0, 1)));
    let older = ContactImport {
        takes_earlier: true,
    };
    let taken = contacts.import_with(
        card(1).as_bytes(),
        older,
        &mut |_| ControlFlow::Continue(()),
    );
    assert_eq!(outcome(taken.unwrap()), (1, 0, 0));
    // What was taken back is older than what it replaced.
    assert_eq!(run(2), (1, 0, 0));
    assert_eq!(phone(), ["2"]);
    // A removed contact comes back.
    contacts.remove("a").unwrap();
    import(&store, card(1).as_bytes());
    assert_eq!(phone(), ["1"]);
}

#[test]
fn stopping_keeps_whole_batches() {
    let (_dir, store) = store();
    let mut file = Vec::new();
    etui_testkit::people::write_vcf(&mut file, 7, 3_500).unwrap();
    let contacts = store.contacts().unwrap();
    let stopped = contacts.import(&file[..], &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(etui::Error::Stopped)));
    assert_eq!(contacts.count().unwrap(), 1_000);
    assert!(store.check().unwrap().is_clean());
}

/// A large import has the same result as saving its cards one by one, whatever the store contained.
#[test]
fn a_large_import_is_the_same_as_many_saves() {
    let cards =
        |seed: u64, count: usize| -> Vec<String> { People::new(seed).take(count).collect() };
    let known = cards(1, 600);
    let new = cards(2, 5_000);
    let edited: Vec<String> = known[100..140]
        .iter()
        .map(|text| text.replace("END:VCARD", "X-EDITED:1\r\nEND:VCARD"))
        .collect();
    let uid = |text: &str| Card::parse(text).unwrap().identity().into_owned();
    for before in [&[][..], &known[..]] {
        let fill = |store: &Store| {
            let contacts = store.contacts().unwrap();
            for text in before {
                contacts
                    .save(&Card::parse(text.as_bytes()).unwrap())
                    .unwrap();
            }
            // Pending changes, an edit, a removed contact and a second address book.
            let other = store.collections::<Card>().create("Other").unwrap();
            other
                .save(&Card::parse(known[3].as_bytes()).unwrap())
                .unwrap();
            if let Some(text) = before.get(7) {
                contacts.remove(&uid(text)).unwrap();
            }
        };
        let (_one, large) = store();
        let (_two, small) = store();
        fill(&large);
        fill(&small);
        let again = new[10].replace("END:VCARD", "X-OTHER:1\r\nEND:VCARD");
        let input = [
            &new[..2_000],
            &known[..100],
            &known[140..300],
            &edited[..],
            &["BEGIN:VCARD\r\nFN:cut off\r\n".to_owned(), again],
            &new[1_990..],
        ]
        .concat()
        .concat();
        let report = import(&large, input.as_bytes());
        let contacts = small.contacts().unwrap();
        let same = known[..100].iter().chain(&known[140..300]);
        for text in new.iter().chain(same).chain(&edited) {
            contacts
                .save(&Card::parse(text.as_bytes()).unwrap())
                .unwrap();
        }
        assert_eq!(report.refused, 2, "{:?}", report.refusals);
        assert_eq!(
            report.changed,
            edited.len() as u64 * u64::from(!before.is_empty())
        );
        small.maintenance().merge_index().unwrap();
        assert_eq!(large.check().unwrap().problems, [""; 0]);
        let shown = |store: &Store, filter: &str| -> Vec<String> {
            let found = store
                .contacts()
                .unwrap()
                .find(&filter.parse().unwrap())
                .unwrap();
            let shown = found.into_iter().map(|e| e.summary.name + &e.summary.email);
            // Equal names are in order of addition.
            let mut shown: Vec<_> = shown.collect();
            shown.sort();
            shown
        };
        for filter in [
            "*",
            "name:an*",
            "*er",
            "email:*@example.org",
            "-phone:*",
            "*3*",
            "note:*e*",
        ] {
            assert_eq!(shown(&large, filter), shown(&small, filter), "{filter}");
        }
        // Importing the input again changes nothing and rejects the same pieces.
        let report = import(&large, input.as_bytes());
        assert_eq!((report.added, report.changed, report.refused), (0, 0, 2));
        assert_eq!(large.check().unwrap().problems, [""; 0]);
    }
}

/// A large import that is stopped leaves the store unchanged.
#[test]
fn a_large_import_is_all_or_nothing() {
    let (dir, store) = store();
    let contacts = store.contacts().unwrap();
    let input: String = People::new(3).take(5_000).collect();
    let mut told = 0;
    let stopped = contacts.import(input.as_bytes(), &mut |_| {
        told += 1;
        match told {
            6 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert!(matches!(stopped, Err(etui::Error::Stopped)));
    assert_eq!(contacts.count().unwrap(), 0);
    assert_eq!(store.check().unwrap().problems, [""; 0]);
    assert_eq!(import(&store, input.as_bytes()).added, 5_000);
    let names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.iter().all(|n| n.starts_with("personal.etui")),
        "{names:?}"
    );
}

/// A reader of `count` contacts of another format, each but the last two with a UID of its own, and
/// a part that is none.
struct NumberedCards {
    next: u64,
    count: u64,
}

impl CardReader for NumberedCards {
    fn next_card(&mut self) -> std::io::Result<Option<Result<ImportCard, Refused>>> {
        self.next = (self.next + 1).min(self.count + 1);
        let line = self.next;
        Ok(match line {
            2 => Some(Err(Refused {
                line,
                last_line: line,
                reason: "no contact".to_owned(),
                excerpt: String::new(),
            })),
            line if line > self.count => None,
            line => {
                let uid = line.min(self.count - 1);
                let text = format!("BEGIN:VCARD\r\nUID:{uid}\r\nFN:Ada {line}\r\nEND:VCARD\r\n");
                Some(Ok(ImportCard {
                    card: Card::parse(text).unwrap(),
                    line,
                    last_line: line,
                    warnings: match line {
                        3 => vec!["a date was not understood".to_owned()],
                        _ => Vec::new(),
                    },
                }))
            }
        })
    }

    fn bytes_read(&self) -> u64 {
        self.next
    }
}

#[test]
fn contacts_of_another_format_are_imported_like_vcards() {
    // A small import in batches, and a large one in one transaction.
    for count in [10, 5_000] {
        let (_dir, store) = store();
        let contacts = store.contacts().unwrap();
        let mut reader = NumberedCards { next: 0, count };
        let report = contacts.import_cards(&mut reader, ContactImport::default(), &mut |_| {
            ControlFlow::Continue(())
        });
        let report = report.unwrap();
        assert_eq!(
            (report.added, report.refused, report.warned),
            (count - 2, 2, 1)
        );
        assert_eq!(report.bytes, count + 1);
        let lines: Vec<u64> = report.refusals.iter().map(|r| r.line).collect();
        // The last contact has the UID of the one before it.
        assert_eq!(lines, [2, count]);
        assert_eq!(report.warnings[0].line, 3);
        let mut reader = NumberedCards { next: 0, count };
        let again = contacts.import_cards(&mut reader, ContactImport::default(), &mut |_| {
            ControlFlow::Continue(())
        });
        assert_eq!(again.unwrap().unchanged, count - 2);
        assert_eq!(contacts.count().unwrap(), count - 2);
    }
}
