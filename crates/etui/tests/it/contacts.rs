//! Contacts through the public API.

use std::sync::Arc;

use etui::contacts::{Card, Contacts, Field, Filter, MatchMode, Paging, Query, ViewChanges};
use etui::record::RecordKind;
use etui::record::Save;
use etui::text::phone::MatchType;
use etui::{
    ChangeKind, Changes, Condition, ETag, Error, Options, RecordChange, SaveOutcome, Store,
};
use etui_testkit::people::People;
use etui_testkit::rng::SplitMix64;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.locale = Some("de".into());
    options.region = Some("DE".into());
    let store = Store::open_with(dir.path().join("personal.etui"), &options).unwrap();
    (dir, store)
}

fn card(uid: &str, body: &str) -> Card {
    Card::parse(format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\n{body}END:VCARD\r\n"
    ))
    .unwrap()
}

fn person(uid: &str, family: &str, given: &str) -> Card {
    card(
        uid,
        &format!("N:{family};{given};;;\r\nFN:{given} {family}\r\n"),
    )
}

fn names(contacts: &Contacts, filter: &str) -> Vec<String> {
    let filter: Filter = filter.parse().unwrap();
    let found = contacts.find(&filter).unwrap();
    found.into_iter().map(|e| e.summary.name).collect()
}

#[test]
fn what_is_saved_is_there_after_opening_again() {
    let (dir, store) = store();
    let ada = person("ada", "Lovelace", "Ada");
    let saved = store.contacts().unwrap().save(&ada).unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Added);
    assert_eq!(saved.etag, ETag::of(ada.text()));
    store.close().unwrap();
    let store = Store::open(dir.path().join("personal.etui")).unwrap();
    let found = store.contacts().unwrap().get("ada").unwrap().unwrap();
    assert_eq!((found.id, found.etag), (saved.id, saved.etag));
    assert_eq!(found.text, ada.text());
    assert_eq!(found.card().unwrap().display_name(), "Ada Lovelace");
    assert_eq!(store.contacts().unwrap().get("bob").unwrap(), None);
}

#[test]
fn conditions_guard_against_lost_updates() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let first = contacts.save(&person("a", "A", "One")).unwrap();
    let second = person("a", "A", "Two");
    let stale = Condition::IfMatch(ETag::of(b"something else"));
    assert!(matches!(
        contacts.save((&second, stale)),
        Err(Error::Conflict { .. })
    ));
    assert!(matches!(
        contacts.save((&second, Condition::IfAbsent)),
        Err(Error::Conflict { expected: None, .. })
    ));
    let saved = contacts
        .save((&second, Condition::IfMatch(first.etag)))
        .unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Changed);
    assert!(
        contacts
            .remove(("a", Condition::IfMatch(first.etag)))
            .is_err()
    );
    contacts
        .remove(("a", Condition::IfMatch(saved.etag)))
        .unwrap();
    contacts.save((&second, Condition::IfAbsent)).unwrap();
}

#[test]
fn a_batch_is_all_or_nothing_unless_asked_per_record() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let cards = [person("a", "A", "A"), person("b", "B", "B")];
    let stale = Condition::IfMatch(ETag::of(b"x"));
    let each = contacts
        .save_each([(&cards[0], stale), (&cards[1], Condition::Always)])
        .unwrap();
    assert!(matches!(each[0], Err(Error::Conflict { .. })));
    assert!(each[1].is_ok());
    assert_eq!(contacts.count().unwrap(), 1);
    let saved = contacts.save_many(&cards).unwrap();
    assert_eq!(saved[0].outcome, SaveOutcome::Added);
    assert_eq!(saved[1].outcome, SaveOutcome::Unchanged);
}

#[test]
fn a_batch_with_conditions_is_saved_as_a_whole_or_not_at_all() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let [a, b, b2] = [
        person("a", "A", "A"),
        person("b", "B", "B"),
        person("b", "B", "Two"),
    ];
    let absent = Condition::IfAbsent;
    let refused = |batch: &[(&Card, Condition)], at: usize, now: Option<ETag>| match contacts
        .save_many(batch)
        .unwrap_err()
    {
        Error::BatchConflict {
            index, uid, found, ..
        } => assert_eq!((index, &*uid, found), (at, "b", now)),
        other => panic!("{other}"),
    };
    // One UID twice.
    refused(
        &[(&a, absent), (&b, absent), (&b2, absent)],
        2,
        Some(ETag::of(b.text())),
    );
    assert_eq!(contacts.count().unwrap(), 0);
    assert!(contacts.trash().unwrap().is_empty());

    let saved = contacts.save_many([(&a, absent), (&b, absent)]).unwrap();
    let outcomes: Vec<_> = saved.iter().map(|s| s.outcome).collect();
    assert_eq!(outcomes, [SaveOutcome::Added; 2]);
    refused(&[(&b, absent)], 0, Some(saved[1].etag));
    let a2 = person("a", "A", "Two");
    let stale = Condition::IfMatch(ETag::of(b"x"));
    let a_is = Condition::IfMatch(saved[0].etag);
    refused(&[(&a2, a_is), (&b2, stale)], 1, Some(saved[1].etag));
    assert_eq!(contacts.get("a").unwrap().unwrap().etag, saved[0].etag);

    contacts.remove("b").unwrap();
    let b_was = Condition::IfMatch(saved[1].etag);
    refused(&[(&a2, a_is), (&b2, b_was)], 1, None);
    // A removed UID is free again.
    let saved = contacts.save_many([(&a2, a_is), (&b2, absent)]).unwrap();
    assert_eq!(saved[0].outcome, SaveOutcome::Changed);
    assert_eq!(contacts.get("b").unwrap().unwrap().text, b2.text());
    assert!(contacts.save_many::<&Card>([]).unwrap().is_empty());
}

#[test]
fn a_large_batch_with_conditions_names_its_first_conflict() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let cards: Vec<Card> = (0..3_000)
        .map(|n| person(&format!("uid-{n}"), "Large", "Batch"))
        .collect();
    contacts.save(&cards[2_500]).unwrap();
    let batch: Vec<_> = cards.iter().map(|c| (c, Condition::IfAbsent)).collect();
    assert!(matches!(
        contacts.save_many(&batch),
        Err(Error::BatchConflict { index: 2_500, .. })
    ));
    assert_eq!(contacts.count().unwrap(), 1);
}

#[test]
fn contacts_are_filtered_by_uid() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let other = store.collections::<Card>().create("Other").unwrap();
    for uid in ["a", "b", "c", "B"] {
        contacts.save(&person(uid, uid, "X")).unwrap();
        other.save(&person(uid, uid, "X")).unwrap();
    }
    contacts.remove("c").unwrap();
    let found = |filter: &Filter| {
        let entries = contacts.find(filter).unwrap();
        let mut names: Vec<_> = entries.into_iter().map(|e| e.summary.name).collect();
        names.sort();
        names
    };
    let one_merged = || store.maintenance().merge_index().unwrap();
    for _ in 0..2 {
        assert_eq!(found(&Filter::uids(["c", "b", "none"])), ["X b"]);
        assert_eq!(found(&Filter::uids(["a", "b"]).not()), ["X B"]);
        assert_eq!(
            found(&Filter::uids(["a"]).or(Filter::text(Field::Name, MatchMode::Words, "b"))).len(),
            3
        );
        assert_eq!(
            found(&Filter::uids(["a", "b"]).and(Filter::text(Field::Name, MatchMode::Words, "b"))),
            ["X b"]
        );
        assert_eq!(found(&Filter::uids([""; 0])), [""; 0]);
        assert_eq!(found(&"uid:b or uid:a".parse().unwrap()).len(), 2);
        one_merged();
    }
    // A record saved later matches, and so does one that is restored.
    let mut view = contacts.view(&Filter::uids(["c", "d"])).unwrap();
    contacts.save(&person("d", "d", "X")).unwrap();
    contacts.restore("c").unwrap();
    contacts.save(&person("a", "a", "Y")).unwrap();
    let ViewChanges::Since(changes) = view.changes().unwrap() else {
        panic!("nothing was lost");
    };
    let uids: Vec<_> = changes.iter().map(|c| c.uid.as_str()).collect();
    assert_eq!(uids, ["d", "c"]);
    let plan = contacts
        .explain(&Query::new(Filter::uids(["a", "b"])))
        .unwrap();
    assert_eq!((plan.exact, plan.candidates, plan.rechecked), (true, 2, 0));
}

#[test]
fn many_are_answered_in_the_order_asked() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts
        .save_many(&[
            person("a", "A", "A"),
            person("b", "B", "B"),
            person("c", "C", "C"),
        ])
        .unwrap();
    let found = contacts.get_many(["c", "nobody", "a", "c"]).unwrap();
    let uids: Vec<_> = found
        .iter()
        .map(|c| c.as_ref().map(|c| c.uid.as_str()))
        .collect();
    assert_eq!(uids, [Some("c"), None, Some("a"), Some("c")]);
    assert_eq!(
        contacts.remove_many(&["a", "nobody", "a"]).unwrap(),
        [true, false, false]
    );
}

#[test]
fn removed_contacts_come_back_and_edits_are_undone() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts.save(&person("a", "Old", "Ann")).unwrap();
    contacts.save(&person("a", "New", "Ann")).unwrap();
    assert_eq!(names(&contacts, "name:old"), [""; 0]);
    contacts.restore("a").unwrap();
    assert_eq!(names(&contacts, "name:old"), ["Ann Old"]);
    contacts.restore("a").unwrap();
    assert_eq!(names(&contacts, "name:new"), ["Ann New"]);

    contacts.remove("a").unwrap();
    assert_eq!(
        (contacts.count().unwrap(), names(&contacts, "ann").len()),
        (0, 0)
    );
    assert!(contacts.get("a").unwrap().is_none());
    assert_eq!(contacts.trash().unwrap().len(), 1);
    assert!(matches!(contacts.remove("a"), Err(Error::NoRecord { .. })));
    assert_eq!(contacts.restore("a").unwrap().outcome, SaveOutcome::Added);
    assert_eq!(names(&contacts, "ann"), ["Ann New"]);
    assert_eq!(contacts.trash().unwrap().len(), 0);
    assert!(matches!(
        contacts.restore("nobody"),
        Err(Error::NothingToUndo { .. })
    ));
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn a_restored_contact_without_uid_keeps_its_identity() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let card = Card::parse("BEGIN:VCARD\r\nFN:No Uid\r\nEND:VCARD\r\n").unwrap();
    contacts.save(&card).unwrap();
    let identity = card.identity().into_owned();
    contacts.remove(&identity).unwrap();
    contacts.restore(&identity).unwrap();
    assert_eq!(contacts.get(&identity).unwrap().unwrap().text, card.text());
}

#[test]
fn lists_follow_the_locale_page_by_page() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts
        .save_many(&[
            person("1", "Zorn", "Zoe"),
            person("2", "Ärmel", "Änne"),
            person("3", "Adam", "Bert"),
            person("4", "Adam", "Anna"),
            card("5", "FN:Berta's Bar\r\n"),
            card("6", "TEL:110\r\n"),
        ])
        .unwrap();
    let list = |page| -> Vec<String> {
        let entries = contacts.list(page).unwrap();
        entries.into_iter().map(|e| e.summary.name).collect()
    };
    let all = [
        "110",
        "Anna Adam",
        "Bert Adam",
        "Änne Ärmel",
        "Berta's Bar",
        "Zoe Zorn",
    ];
    assert_eq!(list(Paging::ALL), all);
    assert_eq!(
        list(Paging {
            offset: 1,
            limit: 2
        }),
        all[1..3]
    );
    assert_eq!(
        list(Paging {
            offset: 9,
            limit: 2
        }),
        [""; 0]
    );
    contacts.save(&person("1", "Aachen", "Zoe")).unwrap();
    assert_eq!(
        list(Paging {
            offset: 1,
            limit: 1
        }),
        ["Zoe Aachen"]
    );
}

#[test]
fn finding() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts
        .save_many(&[
            card(
                "1",
                "N:Müller;Anna;Maria;Dr.;\r\nFN:Dr. Anna Müller\r\nNICKNAME:Anni\r\n\
                  ORG:Acme GmbH;Forschung\r\nEMAIL:Anna.Mueller@Example.org\r\n\
                  TEL:+49 30 23125 012\r\nCATEGORIES:Friends,Chess\r\nNOTE:likes green tea\r\n",
            ),
            card(
                "2",
                "N:Møller;Søren;;;\r\nFN:Søren Møller\r\nTEL:030/23125-013\r\n",
            ),
            card(
                "3",
                "N:山田;太郎;;;\r\nFN:山田太郎\r\nEMAIL:taro@example.com\r\n",
            ),
        ])
        .unwrap();
    let (anna, soren, taro) = ("Dr. Anna Müller", "Søren Møller", "山田太郎");
    for (filter, expected) in [
        ("muller", vec![anna]),
        ("name:MÜL*", vec![anna]),
        ("name:*ller", vec![soren, anna]),
        ("name:\"anna muller\"", vec![anna]),
        ("name:\"muller anna\"", vec![]),
        ("display=\"dr anna muller\"", vec![anna]),
        ("display=anna", vec![]),
        ("nick:anni", vec![anna]),
        ("given:maria", vec![anna]),
        ("family:maria", vec![]),
        ("name:soren name:møl*", vec![soren]),
        ("org:acme", vec![anna]),
        ("org:forsch*", vec![anna]),
        ("name:acme", vec![]),
        ("acme", vec![anna]),
        ("email:anna.mueller@example.org", vec![anna]),
        ("email:anna*", vec![anna]),
        ("email:*@example.org", vec![anna]),
        ("email:*@EXAMPLE*", vec![anna, taro]),
        ("phone:*5012", vec![anna]),
        ("phone:030*", vec![soren, anna]),
        ("phone:+4930*", vec![soren, anna]),
        ("phone:\"030 23125012\"", vec![anna]),
        ("phone:+493023125013", vec![soren]),
        ("phone.national:3023125012", vec![anna]),
        ("phone.short:3125012", vec![anna]),
        ("phone:*3125*", vec![soren, anna]),
        ("category:chess", vec![anna]),
        ("note:green*", vec![anna]),
        ("green", vec![]),
        ("山田", vec![taro]),
        ("name:太郎", vec![taro]),
        ("name:*田太*", vec![taro]),
        ("-email:*", vec![soren]),
        ("name:*ller -org:*", vec![soren]),
        ("org:acme or email:taro*", vec![anna, taro]),
    ] {
        assert_eq!(names(&contacts, filter), expected, "{filter}, pending");
    }
    store.maintenance().merge_index().unwrap();
    assert_eq!(names(&contacts, "name:*ller"), [soren, anna]);
    assert_eq!(names(&contacts, "phone:*5012"), [anna]);
    assert_eq!(names(&contacts, "name:*田太*"), [taro]);
}

/// Every filter returns the same contacts as comparing each one, whichever are indexed, pending, edited,
/// removed or restored.
#[test]
fn the_index_never_changes_an_answer() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let mut random = SplitMix64::new(42);
    let texts: Vec<String> = People::new(3).take(1_500).collect();
    let cards: Vec<Card> = texts
        .iter()
        .map(|t| Card::parse(t.as_bytes()).unwrap())
        .collect();
    let mut filters = 0;
    for (round, some) in cards.chunks(250).enumerate() {
        contacts.save_many(some).unwrap();
        for _ in 0..40 {
            let one = &cards[random.below(((round + 1) * 250) as u32) as usize];
            let uid = one.identity();
            match random.below(4) {
                0 => {
                    let _ = contacts.remove(&uid);
                }
                1 => {
                    let _ = contacts.restore(&uid);
                }
                _ => {
                    let mut other = one.clone();
                    other
                        .set("FN", &format!("Changed {}", random.below(9)))
                        .unwrap();
                    other
                        .set("TEL", &format!("+49 30 23125 {:03}", random.below(999)))
                        .unwrap();
                    contacts.save(&other).unwrap();
                }
            }
        }
        match round % 3 {
            1 => store.maintenance().merge_index().unwrap(),
            2 => store.maintenance().rebuild_index().unwrap(),
            _ => {}
        }
        for _ in 0..150 {
            let filter = random_filter(&mut random, &cards);
            // A double negation is a scan of all records, without the index.
            let walked = filter.clone().not().not();
            let (by_index, by_walk) = (
                contacts.find(&filter).unwrap(),
                contacts.find(&walked).unwrap(),
            );
            assert_eq!(by_index, by_walk, "{filter}");
            filters += usize::from(!by_walk.is_empty());
        }
        assert_eq!(store.check().unwrap().problems, [""; 0]);
    }
    assert!(filters > 300, "most filters must find something: {filters}");
}

fn random_filter(random: &mut SplitMix64, cards: &[Card]) -> Filter {
    let card = &cards[random.below(cards.len() as u32) as usize];
    let how = random.pick(&[1u8, 2, 3, 4, 5]);
    let how = match how {
        1 => MatchMode::Words,
        2 => MatchMode::Prefix,
        3 => MatchMode::Suffix,
        4 => MatchMode::Contains,
        _ => MatchMode::Whole,
    };
    let mut part = |text: String| -> String {
        let chars: Vec<char> = text.chars().collect();
        let len = chars.len() as u32;
        if len == 0 {
            return "x".into();
        }
        let (from, to) = match how {
            MatchMode::Words | MatchMode::Whole => (0, len),
            MatchMode::Prefix => (0, 1 + random.below(len)),
            MatchMode::Suffix => (random.below(len), len),
            MatchMode::Contains => {
                let from = random.below(len);
                (from, from + 1 + random.below(len - from))
            }
        };
        chars[from as usize..to as usize].iter().collect()
    };
    let phone = card
        .phones()
        .first()
        .map(|p| p.value.clone())
        .unwrap_or_default();
    let leaf = match random_field(card) {
        0 => Filter::text(Field::Name, how, part(card.display_name())),
        1 => Filter::text(Field::Family, how, part(card.name().family)),
        2 => {
            let email = card
                .emails()
                .first()
                .map(|e| e.value.clone())
                .unwrap_or_default();
            Filter::text(Field::Email, how, part(email))
        }
        3 => Filter::text(Field::Phone, how, part(phone)),
        4 => Filter::phone(phone, MatchType::Nsn),
        5 => Filter::phone(phone, MatchType::ShortNsn),
        6 => {
            let org = card.organization().map(|o| o.name).unwrap_or_default();
            Filter::text(Field::Organization, how, part(org))
        }
        _ => Filter::text(Field::Any, how, part(card.display_name())),
    };
    match random.below(6) {
        0 => leaf.and(Filter::Present(Field::Email)),
        1 => leaf.or(Filter::text(Field::Name, MatchMode::Words, "anna")),
        2 => leaf.and(Filter::text(Field::Name, MatchMode::Prefix, "a").not()),
        _ => leaf,
    }
}

/// Distributes the fields over the cards.
fn random_field(card: &Card) -> u8 {
    card.text()
        .iter()
        .fold(0u8, |a, b| a.wrapping_mul(31).wrapping_add(*b))
        % 8
}

#[test]
fn changes_are_told_once_each_in_order() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts
        .save_many(&[
            person("a", "A", "A"),
            person("b", "B", "B"),
            person("c", "C", "C"),
        ])
        .unwrap();
    let token = store.token().unwrap();
    contacts.save(&person("d", "D", "D")).unwrap();
    contacts.save(&person("b", "B", "New")).unwrap();
    contacts.remove("a").unwrap();
    contacts.save(&person("b", "B", "Newer")).unwrap();
    contacts.save(&person("d", "D", "New")).unwrap();
    contacts.save(&person("e", "E", "E")).unwrap();
    contacts.remove("e").unwrap();
    contacts.remove("c").unwrap();
    contacts.restore("c").unwrap();
    let Changes::Since(changes) = contacts.changes_since(&token).unwrap() else {
        panic!("the token is of this store");
    };
    let told: Vec<_> = changes
        .iter()
        .map(|c: &RecordChange| (c.uid.as_str(), c.kind))
        .collect();
    assert_eq!(
        told,
        [
            ("a", ChangeKind::Removed),
            ("b", ChangeKind::Changed),
            ("d", ChangeKind::Added),
            ("c", ChangeKind::Changed),
        ]
    );
    let now = store.token().unwrap();
    assert_eq!(
        contacts.changes_since(&now).unwrap(),
        Changes::Since(vec![])
    );
    let mut foreign = now;
    foreign.store ^= 1;
    assert_eq!(
        contacts.changes_since(&foreign).unwrap(),
        Changes::Resynchronise
    );
}

#[test]
fn address_books_are_apart() {
    let (_dir, store) = store();
    let work = store.collections::<Card>().create("Work").unwrap();
    work.save(&person("a", "A", "At Work")).unwrap();
    store
        .contacts()
        .unwrap()
        .save(&person("a", "A", "At Home"))
        .unwrap();
    assert_eq!(
        store.collections::<Card>().names().unwrap(),
        ["Contacts", "Work"]
    );
    assert_eq!(names(&work, "a*"), ["At Work A"]);
    assert_eq!(names(&store.contacts().unwrap(), "a*"), ["At Home A"]);
    assert!(matches!(
        store.collection::<Card>(Some("Club")),
        Err(Error::NoCollection { .. })
    ));
    assert!(matches!(
        store.collections::<Card>().create("Work"),
        Err(Error::CollectionExists { .. })
    ));
    assert!(matches!(
        store.collections::<Card>().create("a\nb"),
        Err(Error::BadName { .. })
    ));
}

#[test]
fn a_snapshot_stays_as_it_is() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts.save(&person("a", "A", "Before")).unwrap();
    let snapshot = store.snapshot().unwrap();
    contacts.save(&person("a", "A", "After")).unwrap();
    contacts.save(&person("b", "B", "B")).unwrap();
    let then = snapshot.contacts().unwrap();
    assert_eq!(then.count().unwrap(), 1);
    assert_eq!(
        then.find(&Filter::text(Field::Name, MatchMode::Words, "before"))
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        then.find(&Filter::text(Field::Name, MatchMode::Words, "after"))
            .unwrap()
            .len(),
        0
    );
    assert!(then.get("b").unwrap().is_none());
    drop(snapshot);
    assert_eq!(names(&contacts, "after"), ["After A"]);
}

#[test]
fn threads_share_a_store() {
    let (_dir, store) = store();
    let store = Arc::new(store);
    std::thread::scope(|scope| {
        for t in 0..4 {
            let store = &store;
            scope.spawn(move || {
                let contacts = store.contacts().unwrap();
                for i in 0..60 {
                    contacts
                        .save(&person(&format!("{t}-{i}"), "Thread", "T"))
                        .unwrap();
                    assert!(contacts.get(&format!("{t}-{i}")).unwrap().is_some());
                    let seen = contacts
                        .find(&Filter::text(Field::Name, MatchMode::Words, "thread"))
                        .unwrap()
                        .len();
                    assert!(seen > i);
                }
            });
        }
    });
    assert_eq!(store.contacts().unwrap().count().unwrap(), 240);
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn another_locale_sorts_the_list_anew() {
    let (dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts
        .save_many(&[person("1", "Ärlig", "A"), person("2", "Zorn", "Z")])
        .unwrap();
    let path = dir.path().join("personal.etui");
    store.close().unwrap();
    // Simulates another collator version.
    let plain = rusqlite::Connection::open(&path).unwrap();
    plain
        .execute_batch(
            "UPDATE meta SET value = 'sv' WHERE key = 'locale'; \
             UPDATE meta SET value = 'older' WHERE key = 'index_version'",
        )
        .unwrap();
    plain.close().unwrap();
    let store = Store::open(&path).unwrap();
    let entries = store.contacts().unwrap().list(Paging::ALL).unwrap();
    let order: Vec<_> = entries.into_iter().map(|e| e.summary.name).collect();
    assert_eq!(order, ["Z Zorn", "A Ärlig"]);
    assert!(store.check().unwrap().is_clean());
}

/// The locale's name in any notation gives the same order.
#[test]
fn a_locale_that_is_written_otherwise_sorts_as_it_says() {
    let (dir, store) = store();
    let people = [person("1", "Ärlig", "A"), person("2", "Zorn", "Z")];
    store.contacts().unwrap().save_many(&people).unwrap();
    store.close().unwrap();
    let path = dir.path().join("personal.etui");
    let (a_first, z_first) = (["A Ärlig", "Z Zorn"], ["Z Zorn", "A Ärlig"]);
    for (change, sorted) in [
        ("UPDATE meta SET value = 'SV' WHERE key = 'locale'", z_first),
        ("UPDATE meta SET value = 'DE' WHERE key = 'locale'", a_first),
        (
            "UPDATE meta SET value = 'sv-se' WHERE key = 'locale'",
            z_first,
        ),
        ("UPDATE meta SET value = '' WHERE key = 'locale'", a_first),
        ("UPDATE meta SET value = 'sv' WHERE key = 'locale'", z_first),
        ("DELETE FROM meta WHERE key = 'locale'", a_first),
        ("INSERT INTO meta VALUES ('locale', 'sv')", z_first),
        (
            "UPDATE meta SET value = 'de' WHERE key = 'locale'; \
             DELETE FROM meta WHERE key = 'index_version'",
            a_first,
        ),
    ] {
        let plain = rusqlite::Connection::open(&path).unwrap();
        plain.execute_batch(change).unwrap();
        plain.close().unwrap();
        // The second round computes nothing, and so writes nothing.
        let looked_at = || {
            let store = Store::open(&path).unwrap();
            let entries = store.contacts().unwrap().list(Paging::ALL).unwrap();
            let order: Vec<_> = entries.into_iter().map(|e| e.summary.name).collect();
            assert_eq!(order, sorted, "{change}");
            assert!(store.check().unwrap().is_clean(), "{change}");
            store.close().unwrap();
            std::fs::read(&path).unwrap()
        };
        let derived = looked_at();
        assert!(looked_at() == derived, "{change}");
    }
}

/// The requested locale applies to a new store; an existing one keeps its own.
#[test]
fn another_locale_sorts_no_store_that_is_there() {
    let (dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts.save(&person("2", "Zorn", "Z")).unwrap();
    drop(contacts);
    store.close().unwrap();
    let mut options = Options::default();
    options.locale = Some("sv".into());
    options.region = Some("SE".into());
    let path = dir.path().join("personal.etui");
    let store = Store::open_with(&path, &options).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&person("1", "Ärlig", "A")).unwrap();
    let entries = contacts.list(Paging::ALL).unwrap();
    let names: Vec<_> = entries.into_iter().map(|e| e.summary.name).collect();
    assert_eq!(names, ["A Ärlig", "Z Zorn"]);
    assert_eq!(store.settings().locale, "de");
    assert_eq!(store.settings().region.unwrap().code(), "DE");
    drop(contacts);
    store.close().unwrap();
    assert!(Store::open(&path).unwrap().check().unwrap().is_clean());
}

#[test]
fn the_memory_budget_is_divided() {
    let (_dir, store) = store();
    let snapshots: Vec<_> = (0..9).map(|_| store.snapshot().unwrap()).collect();
    store
        .contacts()
        .unwrap()
        .save(&person("a", "A", "A"))
        .unwrap();
    let memory = store.maintenance().memory();
    assert!(memory.connections >= 10, "{memory:?}");
    assert!(memory.bound <= memory.budget + 6 * (64 << 10), "{memory:?}");
    drop(snapshots);
    let memory = store.maintenance().memory();
    assert!(
        memory.connections <= 5 && memory.bound <= memory.budget,
        "{memory:?}"
    );
}

#[test]
fn a_card_without_uid_is_edited_in_place() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    let mut card = Card::parse("BEGIN:VCARD\r\nFN:No Uid\r\nEND:VCARD\r\n").unwrap();
    let saved = contacts.save(&card).unwrap();
    let uid = card.identity().into_owned();
    card.set("FN", "Still No Uid").unwrap();
    let again = contacts
        .save(Save {
            record: &card,
            condition: Condition::IfMatch(saved.etag),
            uid: Some(&uid),
        })
        .unwrap();
    assert_eq!((again.id, again.outcome), (saved.id, SaveOutcome::Changed));
    assert_eq!(contacts.count().unwrap(), 1);
    card.set("UID", "other").unwrap();
    let refused = contacts.save(Save {
        record: &card,
        condition: Condition::Always,
        uid: Some(&uid),
    });
    assert!(matches!(refused, Err(Error::OtherUid { .. })));
}

#[test]
fn repair_makes_anew_what_is_derived() {
    let (dir, store) = store();
    store
        .contacts()
        .unwrap()
        .save(&person("a", "Right", "A"))
        .unwrap();
    store.maintenance().merge_index().unwrap();
    store.close().unwrap();
    let path = dir.path().join("personal.etui");
    for damage in [
        "UPDATE record SET keys = x'0107206261642020'",
        "UPDATE record SET summary = x'00'",
        "DELETE FROM list_block",
        "DELETE FROM list_span",
        "UPDATE list_span SET count = count + 1",
        "UPDATE list_block SET entries = x'ff'",
        "UPDATE list_block SET first = x'ff'",
        "DELETE FROM trigram_posting",
        "DELETE FROM term_posting",
    ] {
        let plain = rusqlite::Connection::open(&path).unwrap();
        plain.execute_batch(damage).unwrap();
        plain.close().unwrap();
        let store = Store::open(&path).unwrap();
        assert!(!store.check().unwrap().is_clean(), "{damage}");
        store.maintenance().repair().unwrap();
        assert_eq!(store.check().unwrap().problems, [""; 0], "{damage}");
        assert_eq!(names(&store.contacts().unwrap(), "name:*ight"), ["A Right"]);
        store.close().unwrap();
    }
}

/// A long merge ends even if one change alone exceeds a batch.
#[test]
fn a_change_larger_than_a_merges_batch_is_merged() {
    let (_dir, store) = store();
    let contacts = store.contacts().unwrap();
    contacts.save(&person("a", "A", "Before")).unwrap();
    store.maintenance().merge_index().unwrap();
    let note = "word ".repeat(1_600);
    let big = |uid: &str| {
        card(
            uid,
            &format!("FN:Big {uid}\r\n{}", format!("NOTE:{note}\r\n").repeat(90)),
        )
    };
    contacts.save(&person("a", "A", "After")).unwrap();
    contacts.save_many(&[big("b"), big("c")]).unwrap();
    contacts.save(&big("b2")).unwrap();
    contacts.remove("b").unwrap();
    store.maintenance().merge_index().unwrap();
    assert_eq!(names(&contacts, "name:*ter"), ["After A"]);
    assert_eq!(names(&contacts, "name:big").len(), 2);
    assert_eq!(store.check().unwrap().problems, [""; 0]);
}

/// An ETag that does not match its text is never recomputed.
#[test]
fn repair_keeps_the_evidence_of_a_damaged_text() {
    let (dir, store) = store();
    let path = dir.path().join("personal.etui");
    store
        .contacts()
        .unwrap()
        .save(&person("a", "Right", "A"))
        .unwrap();
    store.close().unwrap();
    let plain = rusqlite::Connection::open(&path).unwrap();
    plain
        .execute_batch(
            "UPDATE record SET text = CAST(replace(CAST(text AS TEXT), 'Right', 'Wrong') AS BLOB)",
        )
        .unwrap();
    plain.close().unwrap();
    let store = Store::open(&path).unwrap();
    store.maintenance().repair().unwrap();
    let problems = store.check().unwrap().problems;
    assert!(
        problems.len() == 1 && problems[0].contains("contact 1 (a)"),
        "{problems:?}"
    );
    let to = dir.path().join("backup");
    assert!(matches!(
        store.backup(&to, &mut |_, _| {}),
        Err(Error::Damaged { .. })
    ));
    assert!(!to.exists());
    store
        .contacts()
        .unwrap()
        .save(&person("a", "Right", "A"))
        .unwrap();
    assert_eq!(store.check().unwrap().problems, [""; 0]);
    assert_eq!(names(&store.contacts().unwrap(), "right"), ["A Right"]);
}

#[test]
fn no_store_is_made_where_anothers_log_lies() {
    let (dir, store) = store();
    store
        .contacts()
        .unwrap()
        .save(&person("a", "A", "A"))
        .unwrap();
    let backup = dir.path().join("backup");
    store.backup(&backup, &mut |_, _| {}).unwrap();
    let lost = dir.path().join("lost.etui");
    std::fs::copy(
        dir.path().join("personal.etui-wal"),
        dir.path().join("lost.etui-wal"),
    )
    .unwrap();
    assert!(matches!(Store::open(&lost), Err(Error::StrayLog { .. })));
    let restored = Store::restore(&backup, &lost, &mut |_, _| {});
    assert!(matches!(restored, Err(Error::StrayLog { .. })));
    assert!(!lost.exists());
}

/// A power cut in the middle of the creation of a store may leave its rollback journal alone, which
/// has no pages then.
#[test]
fn a_store_is_made_where_a_cut_left_the_journal_of_its_creation() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let journal = dir.path().join("personal.etui-journal");
    let header = |pages: u32| {
        let mut header = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
        // Records, the checksums' start, pages of the database, bytes of a sector and of a page.
        for number in [0, 7, pages, 512, 4096] {
            header.extend(number.to_be_bytes());
        }
        header.resize(512, 0);
        header
    };
    for content in [header(0), vec![0; 512]] {
        std::fs::write(&journal, content).unwrap();
        let store = Store::open(&path).unwrap();
        let contacts = store.contacts().unwrap();
        contacts.save(&person("a", "A", "A")).unwrap();
        assert!(store.check().unwrap().is_clean());
        drop(contacts);
        store.close().unwrap();
        assert!(!journal.exists());
        std::fs::remove_file(&path).unwrap();
    }
    // One with pages of a database belongs to it; so may anything else.
    for content in [header(1), vec![1; 512], header(0)[..19].to_vec()] {
        std::fs::write(&journal, content).unwrap();
        assert!(matches!(Store::open(&path), Err(Error::StrayLog { .. })));
        assert!(!path.exists());
    }
}
