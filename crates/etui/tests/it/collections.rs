//! Collections of either kind: renamed, removed with their records, restored.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::support::{card, directory, german};
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{self, CalendarObject, Draft};
use etui::contacts::{Card, Column};
use etui::datebook::DateBook;
use etui::record::Collection;
use etui::search::filter::Filter;
use etui::search::query::{Query, Rows, SearchableRecord, SortOrder, query_collections};
use etui::store::CollectionKey;
use etui::store::NewCollection;
use etui::watch::ViewChanges;
use etui::{ChangeKind, Changes, Error, RemovedCollection, Store};

fn store() -> (tempfile::TempDir, PathBuf, Store) {
    let (dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    (dir, path, store)
}

/// An unbounded series with an alarm.
fn event(uid: &str, title: &str) -> calendar::CalendarObject {
    let text = format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{title}\r\nDTSTART:20200101T090000Z\r\n\
         DTEND:20200101T100000Z\r\nRRULE:FREQ=DAILY\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\n\
         TRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\n"
    );
    calendar::CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

/// The operations common to both kinds.
trait Both: SearchableRecord + 'static {
    fn one(uid: &str, title: &str) -> Self;
}

impl Both for Card {
    fn one(uid: &str, title: &str) -> Self {
        card(uid, title)
    }
}

impl Both for calendar::CalendarObject {
    fn one(uid: &str, title: &str) -> Self {
        event(uid, title)
    }
}

fn found<R: Both>(all: &Collection<R>) -> usize {
    all.find(&Filter::All).unwrap().len()
}

/// A query over several collections returns the same as one over a collection with all their records.
#[test]
fn several_answer_as_one() {
    let (_dir, _path, store) = store();
    let one = store.collections::<Card>().create("All").unwrap();
    let parts = ["Contacts", "B", "C"];
    for name in &parts[1..] {
        store.collections::<Card>().create(name).unwrap();
    }
    for (i, card) in crate::support::people(5, 90).iter().enumerate() {
        one.save(card).unwrap();
        let part = store.collection::<Card>(Some(parts[i % 3])).unwrap();
        part.save(card).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    let readers: Vec<_> = parts
        .iter()
        .map(|name| snapshot.collection::<Card>(name).unwrap())
        .collect();
    let uids = |rows: &Rows<Column>| -> Vec<String> {
        rows.iter().map(|r| r.get(Column::Uid).to_owned()).collect()
    };
    let sorts = [
        SortOrder::List,
        SortOrder::ListReversed,
        SortOrder::Added,
        SortOrder::AddedReversed,
    ];
    for filter in ["", "an*", "email:*", "nobody-at-all"] {
        for sort in sorts {
            let all = Query::new(filter.parse().unwrap()).sort(sort);
            let all = all.columns(Column::Uid);
            let expected = uids(&one.query(&all).unwrap());
            let found = query_collections(&readers, &all).unwrap();
            assert_eq!(uids(&found.rows), expected, "{filter} {sort:?}");
            for (row, &of) in found.rows.iter().zip(&found.collections) {
                let uid = row.get(Column::Uid);
                assert!(readers[of].get(uid).unwrap().is_some());
            }
            let part = query_collections(&readers, &all.clone().offset(7).limit(5)).unwrap();
            let some = expected.iter().skip(7).take(5);
            assert!(uids(&part.rows).iter().eq(some), "{filter} {sort:?}");
            // Page by page.
            let mut paged = Vec::new();
            let mut next = None;
            loop {
                let mut page = all.clone().limit(11);
                if let Some(next) = next {
                    page = page.after(next);
                }
                let rows = query_collections(&readers, &page).unwrap().rows;
                paged.extend(uids(&rows));
                next = rows.next().cloned();
                if next.is_none() {
                    break;
                }
            }
            assert_eq!(paged, expected, "{filter} {sort:?}");
        }
        let found = Query::new(filter.parse().unwrap()).sort(SortOrder::Unordered);
        let expected = one.query(&found).unwrap().len();
        let rows = query_collections(&readers, &found).unwrap().rows;
        assert_eq!((rows.len(), rows.next()), (expected, None));
    }
}

fn renaming<R: Both>() {
    let (_dir, path, store) = store();
    let first = store.collections::<R>().names().unwrap().remove(0);
    let work = store.collections::<R>().create("Work").unwrap();
    work.save(&R::one("a", "A")).unwrap();
    let mut view = work.view(&Filter::All).unwrap();

    let rename = |from: &str, to: &str| store.collections::<R>().rename(from, to).map(|_| ());
    assert!(matches!(
        rename("None", "X"),
        Err(Error::NoCollection { .. })
    ));
    assert!(matches!(rename("Work", " "), Err(Error::BadName { .. })));
    assert!(matches!(
        rename("Work", &first),
        Err(Error::CollectionExists { .. })
    ));
    rename("Work", "Work").unwrap();
    let job = store.collections::<R>().rename("Work", "Job").unwrap();
    assert_eq!(job.name(), "Job");
    assert_eq!(
        store.collections::<R>().names().unwrap(),
        [first.clone(), "Job".into()]
    );
    // Handles and views refer to the collection, not to its name.
    work.save(&R::one("b", "B")).unwrap();
    assert_eq!(job.count().unwrap(), 2);
    assert!(matches!(view.changes(), Ok(ViewChanges::Since(all)) if all.len() == 1));

    drop(view);
    store.close().unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(
        store.collection::<R>(Some("Job")).unwrap().count().unwrap(),
        2
    );
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn a_collection_is_renamed() {
    renaming::<Card>();
    renaming::<calendar::CalendarObject>();
}

fn removing<R: Both>() {
    let (_dir, path, store) = store();
    let first = store.collections::<R>().names().unwrap().remove(0);
    let home = store.collection::<R>(None).unwrap();
    home.save(&R::one("a", "At home")).unwrap();
    let work = store.collections::<R>().create("Work").unwrap();
    for uid in ["a", "b", "c"] {
        work.save(&R::one(uid, "At work")).unwrap();
    }
    work.remove("c").unwrap();
    let before = store.token().unwrap();
    let mut view = work.view(&Filter::All).unwrap();

    assert_eq!(store.collections::<R>().remove("Work").unwrap().records, 2);
    assert_eq!(store.collections::<R>().names().unwrap(), [first.as_str()]);
    assert!(matches!(
        store.collection::<R>(Some("Work")),
        Err(Error::NoCollection { .. })
    ));
    // A view reports the removal, and a handle cannot save to the removed collection.
    let ViewChanges::Since(gone) = view.changes().unwrap() else {
        panic!("nothing was lost");
    };
    assert_eq!(gone.len(), 2);
    assert!(gone.iter().all(|c| c.kind == ChangeKind::Removed));
    let Changes::Since(gone) = work.changes_since(&before).unwrap() else {
        panic!("nothing was lost");
    };
    assert!(gone.iter().all(|c| c.kind == ChangeKind::Removed));
    assert_eq!((work.count().unwrap(), found(&work)), (0, 0));
    for refused in [
        work.save(&R::one("d", "Lost")).map(|_| ()),
        work.restore("a").map(|_| ()),
        work.remove("a"),
    ] {
        assert!(matches!(refused, Err(Error::NoCollection { .. })));
    }
    assert_eq!(found(&home), 1);
    assert!(store.check().unwrap().is_clean());

    // The name is free; another collection takes it.
    let second = store.collections::<R>().create("Work").unwrap();
    second.save(&R::one("z", "Else")).unwrap();
    assert_eq!(second.trash().unwrap().len(), 0);
    assert_eq!(work.count().unwrap(), 0);
    assert!(view.changes().unwrap().is_empty());
    assert!(matches!(
        store.collections::<R>().restore("Work"),
        Err(Error::CollectionExists { .. })
    ));
    assert!(matches!(
        store.collections::<R>().restore("Never"),
        Err(Error::NoRemovedCollection { known, .. }) if known == ["Work"]
    ));
    store.collections::<R>().rename("Work", "Other").unwrap();

    // It is restored with the records removed with it, and no others.
    assert_eq!(store.collections::<R>().restore("Work").unwrap(), 2);
    assert_eq!(
        store.collections::<R>().names().unwrap(),
        [first.as_str(), "Work", "Other"]
    );
    assert_eq!((work.count().unwrap(), found(&work)), (2, 2));
    assert_eq!(work.trash().unwrap().len(), 1);
    work.save(&R::one("d", "Kept")).unwrap();
    assert!(store.check().unwrap().is_clean());

    // An empty one, and a second removal under one name; the last collection stays.
    store.collections::<R>().create("Empty").unwrap();
    assert_eq!(store.collections::<R>().remove("Empty").unwrap().records, 0);
    store.collections::<R>().create("Empty").unwrap();
    assert_eq!(store.collections::<R>().remove("Empty").unwrap().records, 0);
    assert_eq!(store.collections::<R>().restore("Empty").unwrap(), 0);
    for name in ["Empty", "Work", "Other"] {
        store.collections::<R>().remove(name).unwrap();
    }
    assert!(matches!(
        store.collections::<R>().remove(&first),
        Err(Error::LastCollection { .. })
    ));
    // The default is the oldest remaining one.
    store.collections::<R>().create("Next").unwrap();
    store.collections::<R>().remove(&first).unwrap();
    assert_eq!(store.collection::<R>(None).unwrap().name(), "Next");
    drop(view);
    store.close().unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.collections::<R>().names().unwrap(), ["Next"]);
    assert!(store.check().unwrap().is_clean());
}

fn of_one_name<R: Both>() {
    let (_dir, path, store) = store();
    let first = store.collections::<R>().names().unwrap().remove(0);
    let before = SystemTime::now();
    for uids in [&["a"][..], &["a", "b"], &[]] {
        let work = store.collections::<R>().create("Work").unwrap();
        for uid in uids {
            work.save(&R::one(uid, "At work")).unwrap();
        }
        let removed = store.collections::<R>().remove("Work").unwrap();
        assert_eq!(store.collections::<R>().removed().unwrap()[0], removed);
        assert_eq!(removed.name, "Work");
        assert!(removed.removed >= before - Duration::from_millis(1));
        let kept = removed.kept_until.duration_since(removed.removed);
        assert_eq!(kept.unwrap(), Duration::from_secs(30 * 86_400));
    }
    // Collections of the other kind are not listed.
    let books = store.collections::<Card>().removed().unwrap().len();
    let calendars = store
        .collections::<CalendarObject>()
        .removed()
        .unwrap()
        .len();
    assert_eq!((books.min(calendars), books.max(calendars)), (0, 3));

    let removed = store.collections::<R>().removed().unwrap();
    let records = |of: &[RemovedCollection]| of.iter().map(|r| r.records).collect::<Vec<_>>();
    assert_eq!(records(&removed), [0, 2, 1], "the latest first");
    let [_, second, third] = removed.as_slice() else {
        panic!("three were removed");
    };
    let restore = |which, to: &str| store.collections::<R>().restore_as(which, to);
    assert!(matches!(
        restore(third, &first),
        Err(Error::CollectionExists { .. })
    ));
    assert!(matches!(restore(third, " "), Err(Error::BadName { .. })));
    assert_eq!(store.collections::<R>().removed().unwrap(), removed);
    assert_eq!(restore(third, "Job").unwrap(), 1);
    assert!(matches!(
        restore(third, "Job again"),
        Err(Error::NoRemovedCollection { .. })
    ));
    assert_eq!(restore(second, "Work").unwrap(), 2);
    assert_eq!(
        store.collections::<R>().names().unwrap(),
        [first.as_str(), "Job", "Work"],
        "in the order they were made"
    );
    assert_eq!(records(&store.collections::<R>().removed().unwrap()), [0]);

    // A second removal is a new one: a reference to the first is invalid.
    let again = store.collections::<R>().remove("Work").unwrap();
    assert_eq!((again.id, again.records), (second.id, 2));
    assert!(matches!(
        restore(second, "Work"),
        Err(Error::NoRemovedCollection { .. })
    ));
    store.close().unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.collections::<R>().removed().unwrap()[0], again);
    assert_eq!(store.collections::<R>().restore("Work").unwrap(), 2);
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn each_of_several_that_were_removed_can_be_brought_back() {
    of_one_name::<Card>();
    of_one_name::<calendar::CalendarObject>();
}

fn removing_what_was_seen<R: Both>() {
    let (_dir, path, store) = store();
    let other = Store::open(&path).unwrap();
    let work = store.collections::<R>().create("Work").unwrap();
    let theirs = other.collection::<R>(Some("Work")).unwrap();
    let refused = |known: u64, there: u64| {
        let told = store.collections().remove_if(&work, known);
        assert!(
            matches!(
                &told,
                Err(Error::CollectionChanged { name, expected, found, .. })
                    if name == "Work" && (*expected, *found) == (known, there)
            ),
            "{told:?}"
        );
        assert_eq!(store.collections::<R>().removed().unwrap(), []);
        assert_eq!(found(&theirs) as u64, there);
    };
    // It is no longer empty.
    theirs.save(&R::one("a", "A")).unwrap();
    refused(0, 1);
    theirs.remove("a").unwrap();
    refused(1, 0);
    // Another collection has its name, and as many records.
    other.collections::<R>().rename("Work", "Job").unwrap();
    assert!(matches!(
        store.collections().remove_if(&work, 0),
        Err(Error::NoCollection { .. })
    ));
    other.collections::<R>().create("Work").unwrap();
    refused(0, 0);
    let told = store
        .collections()
        .remove_if(&work, 0)
        .unwrap_err()
        .to_string();
    assert!(told.contains("the name is another one's now"), "{told}");
    assert!(store.check().unwrap().is_clean());

    let job = store.collection::<R>(Some("Job")).unwrap();
    assert_eq!(store.collections().remove_if(&job, 0).unwrap().name, "Job");
    assert_eq!(other.collections::<R>().names().unwrap()[1..], ["Work"]);
}

#[test]
fn a_collection_that_changed_meanwhile_is_not_removed() {
    removing_what_was_seen::<Card>();
    removing_what_was_seen::<calendar::CalendarObject>();
}

#[test]
fn a_collection_is_removed_with_its_records_and_brought_back() {
    removing::<Card>();
    removing::<calendar::CalendarObject>();
}

/// A follower with a token and a name, or no name, is told when the name refers to another collection.
fn following_by_name<R: Both>() {
    let (_dir, _path, store) = store();
    let save = |name: Option<&str>, uid: &str| {
        let all = store.collection::<R>(name).unwrap();
        all.save(&R::one(uid, "X")).unwrap();
    };
    let starts_over = |name: Option<&str>, token| {
        let all = store.collection::<R>(name).unwrap();
        let over = all.changes_since(&token).unwrap() == Changes::Resynchronise;
        let mut view = all.view_since(&Filter::All, token).unwrap();
        let reset = view.changes().unwrap() == ViewChanges::Reset;
        assert_eq!(over, reset);
        over
    };
    let first = store.collections::<R>().names().unwrap().remove(0);
    store.collections::<R>().create("Work").unwrap();
    save(None, "a");
    save(Some("Work"), "b");

    // Another collection under the name.
    let before = store.token().unwrap();
    let work = store.collection::<R>(Some("Work")).unwrap();
    let mut view = work.view(&Filter::All).unwrap();
    store.collections::<R>().remove("Work").unwrap();
    store.collections::<R>().create("Work").unwrap();
    assert!(starts_over(Some("Work"), before));
    let now = store.token().unwrap();
    save(Some("Work"), "c");
    assert!(!starts_over(Some("Work"), now));
    assert!(!starts_over(None, before));

    // The first one, restored; its view misses nothing.
    store.collections::<R>().rename("Work", "Other").unwrap();
    store.collections::<R>().restore("Work").unwrap();
    assert!(starts_over(Some("Work"), now));
    assert!(matches!(view.changes(), Ok(ViewChanges::Since(all)) if all.is_empty()));
    save(Some("Work"), "d");
    assert!(matches!(view.changes(), Ok(ViewChanges::Since(all)) if all.len() == 1));

    // Another default, and the first again.
    let before = store.token().unwrap();
    store.collections::<R>().remove(&first).unwrap();
    assert!(starts_over(None, before));
    let between = store.token().unwrap();
    assert!(!starts_over(None, between));
    assert!(!starts_over(Some("Other"), before));
    store.collections::<R>().restore(&first).unwrap();
    assert!(starts_over(None, between));
}

#[test]
fn a_token_from_before_a_collection_was_meant_starts_over() {
    following_by_name::<Card>();
    following_by_name::<calendar::CalendarObject>();
}

#[test]
fn a_live_record_in_a_removed_collection_is_told_of() {
    let (_dir, path, store) = store();
    let work = store.collections::<Card>().create("Work").unwrap();
    work.save(&card("a", "A")).unwrap();
    let plain = rusqlite::Connection::open(&path).unwrap();
    let hide = "UPDATE collection SET removed_at = 1 WHERE name = 'Work'";
    plain.execute(hide, []).unwrap();
    let report = store.check().unwrap();
    assert!(
        report
            .problems
            .iter()
            .any(|p| p.contains("but its address book is"))
    );
}

#[test]
fn what_is_removed_with_a_calendar_neither_happens_nor_rings() {
    let (_dir, _path, store) = store();
    let work = store
        .collections::<CalendarObject>()
        .create("Work")
        .unwrap();
    work.save(&event("a", "Daily")).unwrap();
    let now: Timestamp = SystemTime::now().into();
    let week = now..now.plus_seconds(7 * 86_400);
    let told = || {
        let between = work.between(week.clone(), &TimeZone::UTC).unwrap().len();
        let alarms = work.alarms(now, 3, &TimeZone::UTC).unwrap().alarms.len();
        (between, alarms)
    };
    let before = told();
    assert_eq!(before.1, 3);
    store
        .collections::<CalendarObject>()
        .remove("Work")
        .unwrap();
    assert_eq!(told(), (0, 0));
    store
        .collections::<CalendarObject>()
        .restore("Work")
        .unwrap();
    assert_eq!(told(), before);
}

#[test]
fn queued_writes_are_applied_first() {
    let (_dir, path, store) = store();
    store.collections::<Card>().create("Work").unwrap();
    let plain = rusqlite::Connection::open(&path).unwrap();
    let insert = "INSERT INTO item (kind, book, text) VALUES ('contacts', 'Work', ?1)";
    let add = |uid: &str| plain.execute(insert, [crate::support::vcard(uid, "X")]);
    add("a").unwrap();
    let job = store.collections::<Card>().rename("Work", "Job").unwrap();
    assert_eq!(job.count().unwrap(), 1);
    store.collections::<Card>().rename("Job", "Work").unwrap();
    add("b").unwrap();
    assert_eq!(
        store.collections::<Card>().remove("Work").unwrap().records,
        2
    );
    assert!(add("c").is_err(), "there is none of this name");
    assert_eq!(store.collections::<Card>().restore("Work").unwrap(), 2);
    assert!(store.check().unwrap().write_queue.is_empty());
}

#[test]
fn each_handle_is_of_what_is_there_when_it_is_asked_for() {
    let (_dir, path, store) = store();
    let other = Store::open(&path).unwrap();
    let plain = rusqlite::Connection::open(&path).unwrap();
    let insert = "INSERT INTO item (kind, book, text) VALUES ('calendar', ?1, ?2)";
    // The first is found by another statement than the next ones.
    for (round, name) in ["First", "Second", "Third"].into_iter().enumerate() {
        other.collections::<CalendarObject>().create(name).unwrap();
        let ics = event("new", "X").into_text();
        plain.execute(insert, (name, ics)).unwrap();
        let calendar = store.collection::<CalendarObject>(name).unwrap();
        assert_eq!(calendar.count().unwrap(), 1, "what waited was taken in");
        assert!(store.collection::<CalendarObject>(Some("None")).is_err());
        assert_eq!(
            store.collections::<CalendarObject>().names().unwrap().len(),
            round + 2
        );
    }
}

#[test]
fn a_date_book_is_told_that_its_calendar_went() {
    let (_dir, path, store) = store();
    let work = store
        .collections::<CalendarObject>()
        .create("Work")
        .unwrap();
    let draft = Draft::event("Dentist").uid("1");
    work.save(&draft.make(&TimeZoneResolver::new()).unwrap())
        .unwrap();
    let mut book = DateBook::open(&work);
    let taken = book.take(0).unwrap();

    let other = Store::open(&path).unwrap();
    assert_eq!(
        other
            .collections::<CalendarObject>()
            .remove("Work")
            .unwrap()
            .records,
        1
    );
    let mut record = taken.record().unwrap();
    record
        .set(0, "SUMMARY", "Later", &TimeZoneResolver::new())
        .unwrap();
    book.release_dirty(taken, record).unwrap();
    assert!(matches!(book.sync(), Err(Error::NoCollection { .. })));
    assert_eq!(book.count().unwrap(), 0);
    assert!(matches!(book.close(), Err(Error::NoCollection { .. })));
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn an_import_does_not_fill_what_was_removed() {
    let (_dir, _path, store) = store();
    let work = store.collections::<Card>().create("Work").unwrap();
    store.collections::<Card>().remove("Work").unwrap();
    for count in [1, 5_000] {
        let input: String = (0..count)
            .map(|n| crate::support::vcard(&n.to_string(), "X"))
            .collect();
        let done = work.import(input.as_bytes(), &mut |_| {
            std::ops::ControlFlow::Continue(())
        });
        assert!(matches!(done, Err(Error::NoCollection { .. })));
    }
    assert!(store.check().unwrap().is_clean());
}

fn external_ids<R: Both>() {
    let (_dir, path, store) = store();
    let find = |store: &Store, id: &str| match store.collection::<R>(CollectionKey::ExternalId(id))
    {
        Err(Error::NoCollection { .. }) => None,
        found => Some(found.unwrap().name().to_owned()),
    };
    let create = |name: &str, id: &str| {
        let made = store.collections::<R>().create(NewCollection {
            external_id: Some(id),
            ..NewCollection::from(name)
        });
        made.map(|c| c.name().to_owned())
    };
    let first = store.collection::<R>(None).unwrap();
    assert_eq!(
        (first.external_id().unwrap(), find(&store, "one")),
        (None, None)
    );
    first.set_external_id(Some("one")).unwrap();
    first.set_external_id(Some("one")).unwrap();
    assert_eq!(find(&store, "one").unwrap(), first.name());

    assert_eq!(create("Work", "two").unwrap(), "Work");
    assert!(matches!(
        create("Other", "two"),
        Err(Error::ExternalIdExists { name, .. }) if name == "Work"
    ));
    assert!(matches!(
        create("Work", "three"),
        Err(Error::CollectionExists { .. })
    ));
    let longest = "\u{fc}".repeat(127);
    for bad in ["", "a\nb", &format!("{longest}ab")] {
        assert!(matches!(
            create("Other", bad),
            Err(Error::BadExternalId { .. })
        ));
    }
    assert_eq!(
        store.collections::<R>().names().unwrap().len(),
        2,
        "none was left"
    );
    create("Long", &longest).unwrap();
    let work = store.collection::<R>(Some("Work")).unwrap();
    assert!(matches!(
        work.set_external_id(Some("one")),
        Err(Error::ExternalIdExists { .. })
    ));
    assert_eq!(work.external_id().unwrap().as_deref(), Some("two"));

    // It survives renaming, removal and closing.
    work.save(&R::one("a", "A")).unwrap();
    store.collections::<R>().rename("Work", "Job").unwrap();
    assert_eq!(find(&store, "two").unwrap(), "Job");
    let removed = store.collections::<R>().remove("Job").unwrap();
    assert_eq!(removed.external_id.as_deref(), Some("two"));
    assert_eq!(store.collections::<R>().removed().unwrap(), [removed]);
    assert_eq!(find(&store, "two"), None);
    assert!(matches!(
        work.set_external_id(None),
        Err(Error::NoCollection { .. })
    ));
    let other = Store::open(&path).unwrap();
    assert_eq!(other.collections::<R>().restore("Job").unwrap(), 1);
    assert_eq!(find(&other, "two").unwrap(), "Job");

    // Another one takes it meanwhile.
    store.collections::<R>().remove("Job").unwrap();
    let taker = store.collections::<R>().create(NewCollection {
        external_id: Some("two"),
        ..NewCollection::from("Taker")
    });
    let taker = taker.unwrap();
    assert!(matches!(
        store.collections::<R>().restore("Job"),
        Err(Error::ExternalIdExists { name, .. }) if name == "Taker"
    ));
    taker.set_external_id(None).unwrap();
    assert_eq!(store.collections::<R>().restore("Job").unwrap(), 1);
    assert_eq!(find(&store, "two").unwrap(), "Job");
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn a_collection_is_found_by_its_external_id() {
    external_ids::<Card>();
    external_ids::<calendar::CalendarObject>();
}

#[test]
fn collections_of_different_kinds_may_share_an_external_id() {
    let (_dir, _path, store) = store();
    store
        .contacts()
        .unwrap()
        .set_external_id(Some("x"))
        .unwrap();
    store
        .calendar()
        .unwrap()
        .set_external_id(Some("x"))
        .unwrap();
    let book = store
        .collection::<Card>(CollectionKey::ExternalId("x"))
        .unwrap();
    assert_eq!(book.name(), "Contacts");
}

#[test]
fn a_check_reports_an_external_id_of_two_collections() {
    let (_dir, path, store) = store();
    for name in ["A", "B"] {
        let made = store.collections::<Card>().create(name).unwrap();
        made.set_external_id(Some(name)).unwrap();
    }
    store.close().unwrap();
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute("UPDATE collection SET external_id = 'A'", [])
        .unwrap();
    conn.close().unwrap();
    let store = Store::open(&path).unwrap();
    let problems = store.check().unwrap().problems;
    assert_eq!(
        problems,
        ["3 collections (contacts) have the external id \"A\""]
    );
}
