//! Every kept version of a record is listed, read and brought back.

use std::time::{Duration, SystemTime};

use crate::support::{card, clean, directory, german, vcard};
use etui::calendar::CalendarObject;
use etui::calendar::zones::TimeZoneResolver;
use etui::contacts::{Card, Contacts};
use etui::record::Save;
use etui::record::{RecordKind, Version, VersionKind};
use etui::{Error, SaveOutcome, Store};
use etui_testkit::rng::SplitMix64;

fn kinds(versions: &[Version]) -> Vec<VersionKind> {
    versions.iter().map(|version| version.kind).collect()
}

fn names(contacts: &Contacts, versions: &[Version]) -> Vec<String> {
    let read = |version| contacts.read_version(version).unwrap().unwrap();
    let read = versions.iter().map(read);
    read.map(|contact| contact.card().unwrap().display_name())
        .collect()
}

#[test]
fn all_versions_are_listed_with_kind_time_and_text() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let before = SystemTime::now() - Duration::from_secs(1);
    contacts.save(&card("other", "Other")).unwrap();
    contacts.save(&card("a", "First")).unwrap();
    contacts.save(&card("a", "Second")).unwrap();
    contacts.save(&card("other", "Other again")).unwrap();
    contacts.remove("a").unwrap();
    contacts.restore("a").unwrap();
    contacts.save(&card("a", "Third")).unwrap();

    let versions = contacts.history("a").unwrap();
    assert_eq!(
        kinds(&versions),
        [
            VersionKind::Edited,
            VersionKind::Restored,
            VersionKind::Removed,
            VersionKind::Edited,
            VersionKind::Added,
        ]
    );
    assert_eq!(
        names(&contacts, &versions),
        ["Third", "Second", "Second", "Second", "First"]
    );
    let contact = contacts.get("a").unwrap().unwrap();
    let current: Vec<bool> = versions.iter().map(|v| v.is_current).collect();
    assert_eq!(current, [true, false, false, false, false]);
    assert!(versions.is_sorted_by_key(|v| std::cmp::Reverse(v.number)));
    assert_eq!(versions[4].number, contact.id.0);
    assert_eq!(versions[4].at, None);
    for version in &versions[..4] {
        assert_eq!(version.id, contact.id);
        let at = version.at.unwrap();
        assert!(before < at && at < SystemTime::now() + Duration::from_secs(1));
    }
    let read = contacts.read_version(&versions[0]).unwrap().unwrap();
    assert_eq!(read, contact);
    assert!(contacts.history("nobody").unwrap().is_empty());
    let other = store.collections::<Card>().create("Other").unwrap();
    assert!(other.history("a").unwrap().is_empty());
    assert_eq!(other.read_version(&versions[0]).unwrap(), None);
}

/// A version is saved as any text is: with the record's id, as the latest change, which can be undone.
#[test]
fn a_version_is_brought_back_by_an_ordinary_save() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    for name in ["First", "Second", "Third"] {
        contacts.save(&card("a", name)).unwrap();
    }
    let versions = contacts.history("a").unwrap();
    let token = store.token().unwrap();
    let saved = contacts.bring_back(&versions[2]).unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Changed);
    assert_eq!(saved.id, versions[0].id);
    let text = |uid| contacts.get(uid).unwrap().unwrap().text;
    assert_eq!(text("a"), vcard("a", "First").as_bytes());
    assert!(contacts.changes_since(&token).is_ok());
    assert_eq!(
        contacts.find(&"name:first".parse().unwrap()).unwrap().len(),
        1
    );
    assert_eq!(contacts.history("a").unwrap().len(), 4);
    contacts.restore("a").unwrap();
    assert_eq!(text("a"), vcard("a", "Third").as_bytes());

    // Versions read before are still right.
    assert_eq!(names(&contacts, &versions), ["Third", "Second", "First"]);
    let current = &contacts.history("a").unwrap()[0];
    let saved = contacts.bring_back(current).unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Unchanged);

    contacts.remove("a").unwrap();
    let saved = contacts.bring_back(&versions[1]).unwrap();
    assert_eq!(
        (saved.outcome, saved.id),
        (SaveOutcome::Added, versions[0].id)
    );
    assert_eq!(text("a"), vcard("a", "Second").as_bytes());
    clean(&store);
}

/// The identity of a card without a UID came from its first text, and stays.
#[test]
fn a_card_without_uid_keeps_its_identity() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let first = Card::parse("BEGIN:VCARD\nFN:First\nEND:VCARD\n").unwrap();
    contacts.save(&first).unwrap();
    let contact = contacts.get(&first.identity()).unwrap().unwrap();
    let second = Card::parse("BEGIN:VCARD\nFN:Second\nEND:VCARD\n").unwrap();
    contacts
        .save(Save {
            record: &second,
            condition: etui::Condition::Always,
            uid: Some(&contact.uid),
        })
        .unwrap();
    let versions = contacts.history(&contact.uid).unwrap();
    let saved = contacts.bring_back(&versions[1]).unwrap();
    assert_eq!(saved.id, contact.id);
    assert_eq!(contacts.get(&contact.uid).unwrap().unwrap(), contact);
    assert_eq!(contacts.count().unwrap(), 1);
}

/// The zone that an earlier version names came in the object that it was imported in; a later text
/// came in another one.
#[test]
fn a_version_of_an_entry_keeps_its_time_zones() {
    let object = |offset: &str, title: &str| {
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//{offset}//EN\r\n\
             BEGIN:VTIMEZONE\r\nTZID:Ship\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
             TZOFFSETFROM:{offset}\r\nTZOFFSETTO:{offset}\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n\
             BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Ship:20261121T190000\r\nSUMMARY:{title}\r\n\
             END:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    };
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let calendar = store.calendar().unwrap();
    for (offset, title) in [("+0300", "First"), ("+0500", "Second")] {
        let text = object(offset, title);
        let report = calendar.import(
            text.as_bytes(),
            &mut |_| std::ops::ControlFlow::Continue(()),
        );
        assert_eq!(report.unwrap().refused, 0);
    }
    let versions = calendar.history("1").unwrap();
    assert_eq!(kinds(&versions), [VersionKind::Edited, VersionKind::Added]);
    let export = || {
        let mut out = Vec::new();
        calendar.export(&mut out, None).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(export(), object("+0500", "Second"));
    calendar.bring_back(&versions[1]).unwrap();
    assert_eq!(export(), object("+0300", "First"));
    calendar.bring_back(&versions[0]).unwrap();
    assert_eq!(export(), object("+0500", "Second"));

    // A text saved without an object keeps the one before; the versions of both are apart.
    let event = "BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Third\r\nEND:VEVENT\r\n";
    let event = CalendarObject::parse(event, &TimeZoneResolver::new()).unwrap();
    calendar.save(&event).unwrap();
    let versions = calendar.history("1").unwrap();
    let first = calendar
        .read_version(versions.last().unwrap())
        .unwrap()
        .unwrap();
    assert!(
        String::from_utf8(first.text)
            .unwrap()
            .contains("SUMMARY:First")
    );
    calendar.bring_back(versions.last().unwrap()).unwrap();
    assert_eq!(export(), object("+0300", "First"));
    clean(&store);
}

#[test]
fn a_version_that_is_no_longer_kept_is_an_error() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "First")).unwrap();
    contacts.save(&card("a", "Second")).unwrap();
    contacts.save(&card("a", "Third")).unwrap();
    let versions = contacts.history("a").unwrap();
    // Rows that a trim of the change log deletes.
    let plain = rusqlite::Connection::open(&path).unwrap();
    let floor = versions[1].number;
    plain
        .execute("DELETE FROM change WHERE seq <= ?1", [floor])
        .unwrap();
    plain
        .execute(
            "INSERT OR REPLACE INTO meta VALUES ('log_floor', ?1)",
            [floor],
        )
        .unwrap();

    assert_eq!(contacts.read_version(&versions[2]).unwrap(), None);
    match contacts.bring_back(&versions[2]) {
        Err(Error::NoVersion { id, number }) => {
            assert_eq!((id, number), (versions[2].id, versions[2].number));
        }
        other => panic!("{other:?}"),
    }
    // The text before the oldest change that is left is still there.
    let left = contacts.history("a").unwrap();
    assert_eq!(kinds(&left), [VersionKind::Edited, VersionKind::Earlier]);
    assert_eq!(names(&contacts, &left), ["Third", "Second"]);
    assert_eq!(names(&contacts, &versions[..2]), ["Third", "Second"]);
    assert_eq!(left[1].number, left[0].number - 1);
    assert_eq!(left[1].at, None);
    contacts.bring_back(&left[1]).unwrap();
    assert_eq!(names(&contacts, &left), ["Third", "Second"]);
}

/// Random saves, removals and restorations of several records: each history is that of a model.
#[test]
fn histories_agree_with_a_model() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let mut rng = SplitMix64::new(7);
    // Texts by record, the oldest first.
    let mut model: Vec<Vec<String>> = vec![Vec::new(); 5];
    let mut live = [false; 5];
    for step in 0..300 {
        let at = usize::try_from(rng.next_u64() % 5).unwrap();
        let uid = format!("uid-{at}");
        match rng.next_u64() % 4 {
            0 if live[at] => {
                contacts.remove(&uid).unwrap();
                let text = model[at].last().unwrap().clone();
                model[at].push(text);
                live[at] = false;
            }
            1 if !model[at].is_empty() => {
                let known = contacts.history(&uid).unwrap();
                let of = usize::try_from(rng.next_u64()).unwrap_or(0) % known.len();
                let text = model[at][known.len() - 1 - of].clone();
                let saved = contacts.bring_back(&known[of]).unwrap();
                let is_change = !live[at] || *model[at].last().unwrap() != text;
                assert_eq!(saved.outcome != SaveOutcome::Unchanged, is_change);
                if is_change {
                    model[at].push(text);
                }
                live[at] = true;
            }
            _ => {
                let text = vcard(&uid, &format!("Name {step}"));
                contacts.save(&Card::parse(text.clone()).unwrap()).unwrap();
                model[at].push(text);
                live[at] = true;
            }
        }
        if step % 50 == 0 {
            store.maintenance().merge_index().unwrap();
        }
    }
    for (at, expected) in model.iter().enumerate() {
        let versions = contacts.history(&format!("uid-{at}")).unwrap();
        let texts = versions.iter().rev().map(|version| {
            let record = contacts.read_version(version).unwrap().unwrap();
            String::from_utf8(record.text).unwrap()
        });
        assert_eq!(texts.collect::<Vec<_>>(), *expected, "uid-{at}");
        let is_removed = versions[0].kind == VersionKind::Removed;
        assert_eq!(is_removed, !live[at]);
    }
    clean(&store);
}
