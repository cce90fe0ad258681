//! Likely duplicates are found and ranked in linear time, and merged without losing a line.

use std::time::Instant;

use crate::support::{clean, directory, german, people};
use etui::contacts::{Card, Contact, Contacts, DuplicatePair, DuplicateReason, LIKELY_DUPLICATE};
use etui::{Error, RecordId, SaveOutcome, Store};

fn save(contacts: &Contacts, uid: &str, lines: &str) -> RecordId {
    let lines = lines.replace('\n', "\r\n");
    let text = format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\n{lines}\r\nEND:VCARD\r\n");
    contacts.save(&Card::parse(text).unwrap()).unwrap().id
}

fn ids(pairs: &[DuplicatePair]) -> Vec<(i64, i64)> {
    pairs
        .iter()
        .map(|pair| (pair.first.0, pair.second.0))
        .collect()
}

/// Pairs of cards, and whether they are likely one person.
const PAIRS: &[(&str, &str, bool)] = &[
    // The same name, in any order, with and without accents.
    ("FN:Anna Müller", "FN:Muller\\, Anna", true),
    (
        "FN:Anna Müller\nBDAY:19800102",
        "FN:Anna Müller\nBDAY:1980-01-02",
        true,
    ),
    // The same name, and a birthday that contradicts.
    (
        "FN:Anna Müller\nBDAY:19800102",
        "FN:Anna Müller\nBDAY:19910304",
        false,
    ),
    (
        "FN:Anna Müller\nBDAY:19800102\nTEL:030 23125 001",
        "FN:Anna Müller\nBDAY:19800103\nTEL:030 23125 001",
        true,
    ),
    // One number, however it is written.
    (
        "FN:Anna Müller\nTEL:030 23125 001",
        "FN:A. Müller\nTEL:+49 30 23125001",
        true,
    ),
    (
        "FN:Anna Müller\nTEL:030 23125 001",
        "TEL:+49 30 23125001",
        true,
    ),
    // A family's number, a colleague's number.
    (
        "FN:Anna Müller\nTEL:030 23125 001",
        "FN:Peter Müller\nTEL:030 23125 001",
        false,
    ),
    (
        "FN:Anna Müller\nTEL:030 23125 001",
        "FN:Bo Öst\nTEL:030 23125 001",
        false,
    ),
    (
        "FN:Anna Müller\nTEL:030 23125 001",
        "FN:Anna Müller\nTEL:030 23125 002",
        true,
    ),
    // One address.
    (
        "FN:Anna Müller\nEMAIL:anna@example.org",
        "FN:anna@example.org\nEMAIL:Anna@Example.org",
        true,
    ),
    (
        "FN:Anna Müller\nEMAIL:anna@example.org",
        "FN:Anna\nEMAIL:anna@example.org",
        true,
    ),
    (
        "FN:Anna Müller\nEMAIL:info@example.org",
        "FN:Bo Öst\nEMAIL:info@example.org",
        false,
    ),
    // A similar name at one organisation.
    (
        "FN:Anna Müller\nORG:Example",
        "FN:Anna Mueler\nORG:Example",
        true,
    ),
    (
        "FN:Anna Miller\nORG:Example",
        "FN:Anna Millre\nORG:Example",
        true,
    ),
    (
        "FN:Anna Müller\nORG:Example",
        "FN:Anna Maria Müller\nORG:Example",
        true,
    ),
    (
        "FN:Anna Müller\nORG:Example",
        "FN:Hanna Moeller\nORG:Example",
        false,
    ),
    (
        "FN:Anna Müller\nORG:Example",
        "FN:Anna Schmidt\nORG:Example",
        false,
    ),
    ("FN:Anna", "FN:Anna", false),
    ("FN:Anna\nBDAY:--0102", "FN:Anna\nBDAY:19800102", true),
];

#[test]
fn pairs_are_judged_as_a_person_would() {
    for (first, second, is_likely) in PAIRS {
        let (_dir, path) = directory();
        let store = Store::open_with(&path, &german()).unwrap();
        let contacts = store.contacts().unwrap();
        let expected = (save(&contacts, "1", first), save(&contacts, "2", second));
        save(
            &contacts,
            "3",
            "FN:Somebody Else\nTEL:030 23125 999\nORG:Example",
        );
        let pairs = contacts.duplicates(LIKELY_DUPLICATE).unwrap();
        let found: Vec<_> = pairs.iter().map(|pair| (pair.first, pair.second)).collect();
        let wanted = if *is_likely {
            vec![expected]
        } else {
            Vec::new()
        };
        assert_eq!(found, wanted, "{first} | {second}: {pairs:?}");
    }
}

#[test]
fn the_likeliest_pairs_are_first_and_give_their_reasons() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let anna = save(
        &contacts,
        "1",
        "FN:Anna Müller\nTEL:030 23125 001\nEMAIL:anna@example.org",
    );
    let bo = save(&contacts, "2", "FN:Bo Öst");
    let other_anna = save(
        &contacts,
        "3",
        "FN:Anna Müller\nTEL:+493023125001\nEMAIL:anna@example.org",
    );
    let other_bo = save(&contacts, "4", "FN:Öst\\, Bo");
    let pairs = contacts.duplicates(LIKELY_DUPLICATE).unwrap();
    assert_eq!(ids(&pairs), [(anna.0, other_anna.0), (bo.0, other_bo.0)]);
    assert_eq!((pairs[0].score, pairs[1].score), (100, 50));
    assert_eq!(
        pairs[0].reasons,
        [
            DuplicateReason::SameName,
            DuplicateReason::SamePhone("+493023125001".to_owned()),
            DuplicateReason::SameEmail("anna@example.org".to_owned()),
        ]
    );
    contacts.remove("4").unwrap();
    assert_eq!(contacts.duplicates(LIKELY_DUPLICATE).unwrap().len(), 1);
    // Other address books are another matter.
    let work = store.collections::<Card>().create("Work").unwrap();
    save(&work, "5", "FN:Anna Müller");
    assert!(work.duplicates(0).unwrap().is_empty());
}

/// A number of a switchboard makes no pairs; whoever shares more with a colleague is found.
#[test]
fn a_value_that_many_share_makes_no_pairs() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let office = "TEL:+49 30 23125 000\nEMAIL:office@example.org\nORG:Example";
    for n in 0..500 {
        save(
            &contacts,
            &format!("u{n}"),
            &format!("FN:Name{n} Family{n}\n{office}"),
        );
    }
    assert!(contacts.duplicates(0).unwrap().is_empty());
    let first = contacts.get("u7").unwrap().unwrap().id;
    let second = save(&contacts, "again", &format!("FN:Family7 Name7\n{office}"));
    let pairs = contacts.duplicates(LIKELY_DUPLICATE).unwrap();
    assert_eq!(ids(&pairs), [(first.0, second.0)]);
}

/// A person who is there five hundred times is paired with the first of them.
#[test]
fn many_copies_make_as_many_pairs() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let cards: Vec<Card> = (0..500)
        .map(|n| {
            let text = format!(
                "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{n}\r\nFN:Anna Müller\r\nTEL:030 23125 001\r\nEND:VCARD\r\n"
            );
            Card::parse(text).unwrap()
        })
        .collect();
    let saved = contacts.save_many(&cards).unwrap();
    let pairs = contacts.duplicates(0).unwrap();
    assert_eq!(pairs.len(), 499);
    assert!(pairs.iter().all(|pair| pair.first == saved[0].id));
}

/// Generated people, each a second time with another UID: every one is found, and the number of
/// pairs is linear.
#[test]
fn a_book_imported_twice_is_found_whole() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let originals = people(5, 2_000);
    let mut copies = Vec::new();
    for (n, card) in originals.iter().enumerate() {
        let mut copy = card.clone();
        copy.set("UID", &format!("copy-{n}")).unwrap();
        copies.push(copy);
    }
    let first = contacts.save_many(&originals).unwrap();
    let second = contacts.save_many(&copies).unwrap();
    let start = Instant::now();
    let pairs = contacts.duplicates(LIKELY_DUPLICATE).unwrap();
    println!("{} pairs in {:?}", pairs.len(), start.elapsed());
    let found: std::collections::HashSet<_> =
        pairs.iter().map(|pair| (pair.first, pair.second)).collect();
    let missed = first.iter().zip(&second).zip(&originals);
    let missed = missed.filter(|((a, b), _)| !found.contains(&(a.id, b.id)));
    // Cards with nothing but one word, or an organisation, are no evidence.
    for (_, card) in missed {
        let is_bare = card.phones().is_empty() && card.emails().is_empty();
        assert!(is_bare, "{}", String::from_utf8_lossy(card.text()));
    }
    assert!(pairs.len() < 6 * originals.len(), "{}", pairs.len());
}

#[test]
fn a_merge_is_one_step_and_one_undo() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    save(&contacts, "1", "FN:Anna Müller\nTEL;TYPE=cell:0171 3920002");
    save(
        &contacts,
        "2",
        "FN:Müller\\, Anna\nTEL;TYPE=work:+49 171 3920002\nORG:Example",
    );
    save(
        &contacts,
        "3",
        "FN:Anna Schmidt\nEMAIL:anna@example.org\nREV:20260102T030405Z",
    );
    let read = || -> Vec<Contact> {
        let all = contacts.get_many(["1", "2", "3"]).unwrap();
        all.into_iter().flatten().collect()
    };
    let before = read();
    let preview = contacts.preview_merge(&before).unwrap();
    assert_eq!(read(), before, "a preview writes nothing");
    let token = store.token().unwrap();

    let result = contacts.merge(&before).unwrap();
    assert_eq!(result.merged, preview);
    assert_eq!(result.saved.outcome, SaveOutcome::Changed);
    assert_eq!(
        String::from_utf8_lossy(&contacts.get("1").unwrap().unwrap().text),
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nFN:Anna Müller\r\n\
         TEL;TYPE=cell;TYPE=work:0171 3920002\r\nORG:Example\r\nEMAIL:anna@example.org\r\n\
         NOTE:Name: Anna Schmidt\r\nEND:VCARD\r\n"
    );
    assert_eq!(
        result.merged.left_out,
        ["UID:2", "UID:3", "REV:20260102T030405Z"]
    );
    assert_eq!(contacts.trash().unwrap().len(), 2);
    assert_eq!(read().len(), 1);
    let etui::Changes::Since(changes) = contacts.changes_since(&token).unwrap() else {
        panic!("the token is known");
    };
    assert_eq!(changes.len(), 3);

    // Contacts read before the merge are out of date.
    assert!(matches!(
        contacts.merge(&before),
        Err(Error::Conflict { .. })
    ));
    contacts.restore_many(&["1", "2", "3"]).unwrap();
    assert_eq!(read(), before);
    for few in [&before[..1], &[], &[before[0].clone(), before[0].clone()]] {
        assert!(matches!(contacts.merge(few), Err(Error::NothingToMerge)));
    }
    clean(&store);
}

/// A card without a UID gets its identity as one: its content, which gave it, changes.
#[test]
fn a_first_contact_without_uid_stays_the_same_record() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let card = Card::parse("BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Anna\r\nEND:VCARD\r\n").unwrap();
    let first = contacts.save(&card).unwrap();
    save(&contacts, "2", "FN:Anna\nNOTE:x");
    let both = [
        contacts.get(first.id).unwrap().unwrap(),
        contacts.get("2").unwrap().unwrap(),
    ];
    let result = contacts.merge(&both).unwrap();
    assert_eq!(result.saved.id, first.id);
    let now = contacts.get(first.id).unwrap().unwrap();
    assert_eq!(now.uid, both[0].uid);
    assert_eq!(now.card().unwrap().uid(), Some(both[0].uid.as_str()));
    clean(&store);
}

/// Groups and relations name the contact that stays; undoing the merge brings their lines back.
#[test]
fn a_merge_repairs_what_names_the_merged() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    save(&contacts, "1", "FN:Anna");
    save(&contacts, "2", "FN:Anna\nRELATED;TYPE=me:urn:uuid:1");
    let others = [
        (
            "g",
            "FN:Crew\nKIND:group\nMEMBER:urn:uuid:2\nMEMBER:urn:uuid:9",
            true,
        ),
        (
            "h",
            "FN:Both\nKIND:group\nMEMBER:urn:uuid:1\nMEMBER:urn:uuid:2",
            true,
        ),
        ("a", "FN:Apple\nX-ADDRESSBOOKSERVER-MEMBER:urn:uuid:2", true),
        ("r", "FN:Bob\nitem1.RELATED;TYPE=spouse:urn:uuid:2", true),
        ("t", "FN:Cy\nRELATED;VALUE=text:Anna", false),
        ("u", "FN:Dan\nMEMBER:urn:uuid:22\nNOTE:2", false),
    ];
    for (uid, lines, _) in others {
        save(&contacts, uid, lines);
    }
    let uids: Vec<&str> = others.iter().map(|(uid, ..)| *uid).collect();
    let texts = || -> Vec<String> {
        let all = contacts.get_many(&uids).unwrap().into_iter().flatten();
        all.map(|c| String::from_utf8(c.text).unwrap()).collect()
    };
    let before = texts();
    let both: Vec<Contact> = contacts
        .get_many(["1", "2"])
        .unwrap()
        .into_iter()
        .flatten()
        .collect();
    let result = contacts.merge(&both).unwrap();

    let repaired: Vec<&str> = result.repaired.iter().map(|c| c.uid.as_str()).collect();
    assert_eq!(repaired, ["g", "h", "a", "r"]);
    assert_eq!(result.merged.card.property("RELATED"), None);
    let after = texts();
    for ((uid, _, is_changed), (old, new)) in others.iter().zip(before.iter().zip(&after)) {
        let expected = match *uid {
            "h" => old.replace("MEMBER:urn:uuid:2\r\n", ""),
            _ if *is_changed => old.replace("urn:uuid:2\r\n", "urn:uuid:1\r\n"),
            _ => old.clone(),
        };
        assert_eq!(new, &expected);
    }

    let ids: Vec<&str> = ["1", "2"].into_iter().chain(repaired).collect();
    contacts.restore_many(&ids).unwrap();
    assert_eq!(texts(), before);
    clean(&store);
}
