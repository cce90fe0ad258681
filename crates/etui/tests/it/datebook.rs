//! The date book over the public API: order, visibility, exclusive access, conflicts.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject, Column, Query};
use etui::datebook::{CheckedOut, DateBook, SyncReport};
use etui::record::StoredRecord;
use etui::{Durability, Error, Options, Store};
use etui_testkit::own_process::ProgramOfTest;

use crate::support::{clean, directory};

fn event(n: usize, more: &str) -> CalendarObject {
    let text = format!(
        "BEGIN:VEVENT\r\nUID:{n}\r\nSUMMARY:Event {n}\r\n\
         DTSTART:2026{:02}{:02}T090000Z\r\n{more}END:VEVENT\r\n",
        n / 28 % 12 + 1,
        n % 28 + 1
    );
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

fn fill(calendar: &Calendar, count: usize) {
    let all: Vec<_> = (0..count).map(|n| event(n, "")).collect();
    calendar.save_many(&all).unwrap();
}

fn renamed(taken: &CheckedOut, name: &str) -> CalendarObject {
    let mut record = taken.record().unwrap();
    record
        .set(0, "SUMMARY", name, &TimeZoneResolver::new())
        .unwrap();
    record
}

fn title(book: &mut DateBook, index: u64) -> String {
    let stored = book.peek(index).unwrap().unwrap();
    let record = CalendarObject::parse(stored.text, &TimeZoneResolver::new()).unwrap();
    record.master().summary.clone().unwrap()
}

#[test]
fn records_are_numbered_in_the_order_of_time() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 300);
    let mut book = DateBook::open(&calendar);
    assert_eq!(book.count().unwrap(), 300);
    let mut entries: Vec<_> = (0..300)
        .map(|n| calendar.get(&n.to_string()).unwrap().unwrap())
        .collect();
    entries.sort_by_key(|e| (calendar.position(e.id).unwrap(), e.id));
    for (index, entry) in (0..).zip(&entries) {
        assert_eq!(book.peek(index).unwrap().unwrap().id, entry.id);
    }
    // In any order.
    for index in [299, 0, 150, 149, 151, 298] {
        let stored = book.peek(index).unwrap().unwrap();
        assert_eq!(stored.id, entries[usize::try_from(index).unwrap()].id);
    }
    assert_eq!(book.peek(300).unwrap(), None);
    // `look` returns the same texts as `peek`, in any order, too.
    for index in (0..300).chain([7, 5, 6, 150, 299, 298]) {
        let seen = book.look(index, |id, text| (id, text.to_vec())).unwrap();
        let stored = book.peek(index).unwrap().unwrap();
        assert_eq!(seen, Some((stored.id, stored.text)));
    }
    assert_eq!(book.look(300, |_, _| ()).unwrap(), None);
    assert!(matches!(
        book.take(300),
        Err(Error::NoIndex {
            index: 300,
            count: 300
        })
    ));
    // The number of records is the calendar's; what was read ahead is forgotten on request.
    book.look(298, |_, _| ()).unwrap();
    calendar.save(&event(0, "PRIORITY:1\r\n")).unwrap();
    calendar.remove(&entries[299].uid).unwrap();
    assert_eq!(book.count().unwrap(), 299);
    book.refresh();
    assert_eq!(book.look(299, |_, _| ()).unwrap(), None);
    assert_eq!(book.peek(299).unwrap(), None);
}

#[test]
fn a_dirty_release_is_seen_at_once_and_durable_after_a_sync() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let other = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 20);
    let before = other.token().unwrap();
    let mut book = DateBook::open(&calendar);
    let mut beside = DateBook::open(&calendar);
    for index in 0..20 {
        let taken = book.take(index).unwrap();
        let record = renamed(&taken, &format!("New {index}"));
        book.release_dirty(taken, record).unwrap();
        assert_eq!(title(&mut book, index), format!("New {index}"));
        assert!(title(&mut beside, index).starts_with("Event"));
        let new = format!("New {index}");
        let looked = book.look(index, |_, t| String::from_utf8_lossy(t).contains(&new));
        assert_eq!(looked.unwrap(), Some(true));
    }
    // It is not visible to another program
    assert_eq!(other.token().unwrap(), before);
    let synced = book.sync().unwrap();
    assert_eq!((synced.saved, synced.conflicts.len()), (20, 0));
    // until the sync.
    let theirs = other.calendar().unwrap();
    let texts = theirs.all().unwrap();
    let new = texts
        .iter()
        .filter(|(_, t)| String::from_utf8_lossy(t).contains("SUMMARY:New"));
    assert_eq!(new.count(), 20);
    assert_eq!(book.sync().unwrap().saved, 0);

    // Other readers in this process see it then, too.
    let taken = book.take(3).unwrap();
    let uid = taken.stored().uid.clone();
    let before = taken.stored().text.clone();
    let record = renamed(&taken, "Again");
    book.release_dirty(taken, record.clone()).unwrap();
    assert_eq!(calendar.get(&uid).unwrap().unwrap().text, before);
    assert_eq!(book.close().unwrap().saved, 1);
    assert_eq!(calendar.get(&uid).unwrap().unwrap().text, record.text());
    clean(&store);
}

#[test]
fn a_record_is_taken_once() {
    let (dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 5);
    let before = crate::support::names(dir.path());
    let mut book = DateBook::open(&calendar);
    let is_taken = |result: etui::Result<_>| matches!(result, Err(Error::CheckedOut { .. }));

    let taken = book.take(2).unwrap();
    assert!(is_taken(book.take(2)));
    assert!(is_taken(book.take_id(taken.stored().id)));
    let third = book.take(3).unwrap();
    drop(third);
    drop(taken);
    drop(book.take(2).unwrap());
    // A dirty record can be taken again, as it was released.
    for name in ["Mine", "Ours"] {
        let taken = book.take(2).unwrap();
        assert!(is_taken(book.take(2)));
        let record = renamed(&taken, name);
        book.release_dirty(taken, record).unwrap();
        let taken = book.take(2).unwrap();
        let record = taken.record().unwrap();
        assert_eq!(record.master().summary.as_deref(), Some(name));
        assert_eq!(taken.stored().text, record.text());
    }
    assert_eq!(book.sync().unwrap().saved, 1);
    // It takes no more memory for records that were taken before.
    for n in 0..100_000 {
        book.take(n % 5).unwrap();
    }
    assert_eq!(crate::support::names(dir.path()), before);
    clean(&store);
}

#[test]
fn changes_by_others_are_not_overwritten() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let other = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 3);
    let mut book = DateBook::open(&calendar);
    let mut release = |index, name: &str| {
        let taken = book.take(index).unwrap();
        let record = renamed(&taken, name);
        book.release_dirty(taken, record).unwrap();
    };
    release(0, "Mine");
    release(1, "Mine too");
    other
        .calendar()
        .unwrap()
        .save(&event(0, "LOCATION:there\r\n"))
        .unwrap();
    let synced = book.sync().unwrap();
    assert_eq!(synced.saved, 1);
    assert_eq!(synced.conflicts.len(), 1);
    assert_eq!(synced.conflicts[0].uid, "0");
    assert!(String::from_utf8_lossy(&synced.conflicts[0].text).contains("Mine"));
    let kept = calendar.get("0").unwrap().unwrap();
    assert!(String::from_utf8_lossy(&kept.text).contains("there"));
    clean(&store);
}

#[test]
fn a_release_keeps_its_uid() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 2);
    let mut book = DateBook::open(&calendar);
    let taken = book.take(0).unwrap();
    let wrong = book.release_dirty(taken, event(1, ""));
    assert!(matches!(wrong, Err(Error::OtherUid { .. })));
    // It was released unchanged.
    book.take(0).unwrap();
    assert_eq!(book.sync().unwrap().saved, 0);
}

#[test]
fn past_records_are_purged() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 60);
    let more = [
        "RRULE:FREQ=DAILY\r\n",
        "RRULE:FREQ=DAILY;COUNT=3\r\n",
        "DURATION:P90D\r\n",
        "DTEND:20260301T000000Z\r\n",
    ];
    for (n, lines) in more.iter().enumerate() {
        let event = event(n, lines);
        let text = String::from_utf8_lossy(event.text()).replace("UID:", "UID:more");
        calendar
            .save(&CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap())
            .unwrap();
    }
    let todo = "BEGIN:VTODO\r\nUID:todo\r\nDUE:20260101T000000Z\r\nEND:VTODO\r\n";
    calendar
        .save(&CalendarObject::parse(todo, &TimeZoneResolver::new()).unwrap())
        .unwrap();
    let mut book = DateBook::open(&calendar);
    let before: etui::calendar::time::DateTimeValue = "20260301T000000Z".parse().unwrap();
    let before: Timestamp = before.in_zone(None).at(&TimeZone::UTC);
    // 56 of January and February, two that recur or last until the date of the purge.
    assert_eq!(book.purge(before, &TimeZone::UTC).unwrap(), 58);
    assert_eq!(book.count().unwrap(), 4 + 2 + 1);
    assert_eq!(book.purge(before, &TimeZone::UTC).unwrap(), 0);
    for left in ["more0", "more2", "todo", "56"] {
        assert!(calendar.get(left).unwrap().is_some(), "{left}");
    }
    calendar.restore("0").unwrap();
    clean(&store);
}

#[test]
fn an_open_date_book_does_not_block_the_log() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 100);
    let mut book = DateBook::open(&calendar);
    book.peek(5).unwrap();
    let wal = path.with_file_name("personal.etui-wal");
    let mut largest = 0;
    for n in 0..2_000 {
        calendar
            .save(&event(n % 100, &format!("PRIORITY:{}\r\n", n % 9)))
            .unwrap();
        largest = largest.max(std::fs::metadata(&wal).unwrap().len());
    }
    assert!(largest < 16 << 20, "the log grew to {largest} bytes");
}

#[test]
fn an_import_may_be_watched_with_dirty_records_waiting() {
    use std::ops::ControlFlow;
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 3);
    let mut ics = Vec::new();
    let span = etui_testkit::calendars::Span::USUAL;
    etui_testkit::calendars::write_ics(&mut ics, 1, span, 5_000).unwrap();
    let mut book = DateBook::open(&calendar);
    let mut released = false;
    let report = calendar
        .import(&*ics, &mut |_| {
            if !std::mem::replace(&mut released, true) {
                let taken = book.take(0).unwrap();
                let record = renamed(&taken, "Meanwhile");
                book.release_dirty(taken, record).unwrap();
            }
            assert!(calendar.count().unwrap() >= 3);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(report.good() > 4_000);
    assert_eq!(book.close().unwrap().conflicts, []);
    assert!(
        String::from_utf8_lossy(&calendar.get("0").unwrap().unwrap().text).contains("Meanwhile")
    );
    clean(&store);
}

/// Two date books of one program are as two programs.
#[test]
fn a_dropped_date_book_is_synced_and_overwrites_nothing() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 3);
    let mut stays = DateBook::open(&calendar);
    let mut goes = DateBook::open(&calendar);
    for book in [&mut stays, &mut goes] {
        let taken = book.take(1).unwrap();
        let record = renamed(&taken, "Mine");
        book.release_dirty(taken, record).unwrap();
    }
    let taken = stays.take(2).unwrap();
    let record = renamed(&taken, "Gone");
    stays.release_dirty(taken, record).unwrap();
    drop(goes);
    assert!(String::from_utf8_lossy(&calendar.get("1").unwrap().unwrap().text).contains("Mine"));
    calendar.remove("2").unwrap();
    let synced = stays.sync().unwrap();
    assert_eq!(synced.saved, 0);
    let conflicts: Vec<_> = synced.conflicts.iter().map(|c| &*c.uid).collect();
    assert_eq!(conflicts, ["1", "2"]);
    // They are reported once.
    assert_eq!(stays.close().unwrap(), SyncReport::default());
}

/// Returns the texts in the order of the list.
fn texts(calendar: &Calendar) -> Vec<Vec<u8>> {
    let all = Query::all().columns(Column::Record);
    let rows = calendar.query(&all).unwrap();
    rows.iter().map(|row| row.record().to_vec()).collect()
}

/// Ids that are in list order in parts and scattered in others, and texts of which only a few fit on
/// a page.
#[test]
fn pages_hold_records_of_any_ids_and_sizes() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let long = format!("DESCRIPTION:{}\r\n", "long ".repeat(9_000));
    let all: Vec<_> = (0..500)
        .map(|n| match n % 60 {
            59 => event(n, &long),
            _ => event(n, ""),
        })
        .collect();
    calendar.save_many(&all).unwrap();
    let texts = texts(&calendar);
    let same = |index: u64, text: &[u8]| texts[usize::try_from(index).unwrap()] == text;
    let count = texts.len() as u64;
    let mut book = DateBook::open(&calendar);
    let ways: [Vec<u64>; 4] = [
        (0..count).collect(),
        (0..count).rev().collect(),
        (0..count).step_by(7).collect(),
        (0..count).flat_map(|i| [i, count - 1 - i]).collect(),
    ];
    for way in &ways {
        for &index in way {
            let looked = book.look(index, |_, text| same(index, text)).unwrap();
            assert_eq!(looked, Some(true), "{index}");
        }
    }
    for way in &ways {
        for &index in way {
            let peeked = book.peek(index).unwrap().unwrap();
            let stored = calendar.get(&peeked.uid).unwrap().unwrap();
            assert!(same(index, &peeked.text), "{index}");
            assert_eq!(peeked, stored);
        }
    }
    assert_eq!(book.look(count, |_, _| ()).unwrap(), None);
}

/// Creates a closed store with events of one day, so that their ids are in list order.
fn day(path: &Path, count: usize) -> Vec<StoredRecord<CalendarObject>> {
    let store = Store::open(path).unwrap();
    let calendar = store.calendar().unwrap();
    let all: Vec<_> = (0..count)
        .map(|n| {
            let (hour, minute) = (n / 60, n % 60);
            let text = format!(
                "BEGIN:VEVENT\r\nUID:{n}\r\nDTSTART:20260505T{hour:02}{minute:02}00Z\r\n\
                 END:VEVENT\r\n"
            );
            CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
        })
        .collect();
    calendar.save_many(&all).unwrap();
    let entries = (0..count)
        .map(|n| calendar.get(&n.to_string()).unwrap().unwrap())
        .collect();
    drop(calendar);
    store.close().unwrap();
    entries
}

/// A list of another library version is rebuilt by the first access to the list; an access by record
/// id before that does no harm.
#[test]
fn a_list_of_another_version_is_rebuilt_at_the_first_access() {
    for by_number in [false, true] {
        let (_dir, path) = directory();
        let entries = day(&path, 20);
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.execute_batch(
            "UPDATE meta SET value = 'older' WHERE key = 'index_version';
             DELETE FROM list_block; DELETE FROM list_span;",
        )
        .unwrap();
        drop(conn);
        let store = Store::open(&path).unwrap();
        let calendar = store.calendar().unwrap();
        let mut book = DateBook::open(&calendar);
        if by_number {
            let taken = book.take_id(entries[7].id).unwrap();
            let record = renamed(&taken, "Seen to");
            book.release_dirty(taken, record).unwrap();
            assert_eq!(book.sync().unwrap().saved, 1);
        }
        for (index, entry) in entries.iter().enumerate() {
            let looked = book.look(index as u64, |id, _| id).unwrap();
            assert_eq!(looked, Some(entry.id), "{index}");
        }
        assert_eq!(book.count().unwrap(), 20);
        book.close().unwrap();
        clean(&store);
    }
}

/// All changes of a day are one commit in the log, which the close checkpoints. A program that is
/// killed before the close leaves file and log.
#[test]
fn a_large_sync_leaves_the_checkpoint_to_the_close() {
    const COUNT: usize = 700;
    let (dir, path) = directory();
    let log = |path: &Path| path.with_extension("etui-wal");
    let note = format!("DESCRIPTION:{}\r\n", "a note ".repeat(220));
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let all: Vec<_> = (0..COUNT).map(|n| event(n, &note)).collect();
    calendar.save_many(&all).unwrap();
    drop(calendar);
    store.maintenance().merge_index().unwrap();
    store.close().unwrap();

    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let before = fs::read(&path).unwrap();
    let mut book = DateBook::open(&calendar);
    for index in 0..COUNT as u64 {
        let taken = book.take(index).unwrap();
        let record = renamed(&taken, "New");
        book.release_dirty(taken, record).unwrap();
    }
    assert_eq!(book.sync().unwrap().saved, COUNT as u64);
    // More than SQLite would leave in the log by itself, and no more than the limit of an idle log.
    let logged = fs::metadata(log(&path)).unwrap().len();
    assert!((4_200_000..8 << 20).contains(&logged), "{logged}");
    assert!(fs::read(&path).unwrap() == before, "the file was written");

    let killed = dir.path().join("killed.etui");
    fs::copy(&path, &killed).unwrap();
    fs::copy(log(&path), log(&killed)).unwrap();
    book.close().unwrap();
    drop(calendar);
    store.close().unwrap();
    assert!(!log(&path).exists());
    for path in [&path, &killed] {
        let store = Store::open(path).unwrap();
        let texts = texts(&store.calendar().unwrap());
        let new = texts
            .iter()
            .filter(|t| String::from_utf8_lossy(t).contains("SUMMARY:New"));
        assert_eq!(new.count(), COUNT);
        clean(&store);
    }
}

/// The next sync writes everything that a failed one did not.
#[test]
fn a_sync_that_failed_is_repeated_whole() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    fill(&calendar, 2);
    let mut zones = TimeZoneResolver::new();
    let town = "BEGIN:VTIMEZONE\r\nTZID:Our Town\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
        TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n";
    zones.define(&etui::calendar::zones::TimeZoneDefinition::parse(
        town.as_bytes(),
    ));
    let text = "BEGIN:VEVENT\r\nUID:0\r\nDTSTART;TZID=Our Town:20260101T090000\r\nEND:VEVENT\r\n";
    let mut book = DateBook::open(&calendar);
    let taken = book.take(0).unwrap();
    book.release_dirty(taken, CalendarObject::parse(text, &zones).unwrap())
        .unwrap();
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch(
        "CREATE TRIGGER full AFTER UPDATE ON record BEGIN SELECT raise(ABORT, 'no room'); END",
    )
    .unwrap();
    let error = book.sync().unwrap_err();
    assert!(error.to_string().contains("no room"), "{error}");
    conn.execute_batch("DROP TRIGGER full").unwrap();
    assert_eq!(book.sync().unwrap().saved, 1);
    let (_, record) = calendar.record("0").unwrap().unwrap();
    let start = record.master().start.clone().unwrap();
    assert_eq!(start.at(&TimeZone::UTC).to_string(), "20260101T060000Z");
    clean(&store);
}

/// A read-only store cannot be changed by a date book either.
#[test]
fn a_date_book_of_a_store_that_is_only_read_leaves_no_file() {
    let (dir, path) = directory();
    day(&path, 3);
    let store = Store::open_with(&path, &crate::support::reading()).unwrap();
    let calendar = store.calendar().unwrap();
    let before = crate::support::names(dir.path());
    let mut book = DateBook::open(&calendar);
    assert!(book.peek(0).unwrap().is_some());
    let taken = book.take(0).unwrap();
    let record = renamed(&taken, "New");
    book.release_dirty(taken, record).unwrap();
    assert!(matches!(book.sync(), Err(Error::ReadOnly { .. })));
    let later: etui::calendar::time::DateTimeValue = "20270101T000000Z".parse().unwrap();
    let later: Timestamp = later.in_zone(None).at(&TimeZone::UTC);
    assert!(matches!(
        DateBook::open(&calendar).purge(later, &TimeZone::UTC),
        Err(Error::ReadOnly { .. })
    ));
    drop(book);
    assert_eq!(crate::support::names(dir.path()), before);
}

/// UIDs and texts that only plain SQLite can store, and records without a UID, are returned
/// unchanged by `peek` and `look`.
#[test]
fn odd_rows_are_returned_unchanged() {
    let (_dir, path) = directory();
    let entries = day(&path, 60);
    let conn = rusqlite::Connection::open(&path).unwrap();
    let changes: [(usize, &str); 4] = [
        (10, "uid = ''"),
        (12, "text = x''"),
        (13, "text = zeroblob(300000)"),
        (30, "text = zeroblob(50 << 20)"),
    ];
    for (index, set) in changes {
        let id = entries[index].id.0;
        conn.execute(&format!("UPDATE record SET {set} WHERE id = ?1"), [id])
            .unwrap();
    }
    drop(conn);
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let nameless = "BEGIN:VEVENT\r\nDTSTART:20260506T000000Z\r\nEND:VEVENT\r\n";
    let nameless = CalendarObject::parse(nameless, &TimeZoneResolver::new()).unwrap();
    calendar.save(&nameless).unwrap();
    let text = |index: usize| match index {
        12 => Vec::new(),
        13 => vec![0; 300_000],
        30 => vec![0; 50 << 20],
        60 => nameless.text().to_vec(),
        _ => entries[index].text.clone(),
    };
    let mut book = DateBook::open(&calendar);
    for whole in [60, 7, 1] {
        for at in 0..=60 {
            let index = usize::try_from(at).unwrap();
            if index % whole == whole - 1 {
                let peeked = book.peek(at).unwrap().unwrap();
                assert!(peeked.text == text(index), "{index}");
                match index {
                    10 => assert_eq!(peeked.uid, ""),
                    60 => assert!(!peeked.uid.is_empty()),
                    _ => assert_eq!(peeked.uid, index.to_string()),
                }
                if index < 60 {
                    assert_eq!(peeked.etag, entries[index].etag);
                }
            }
            let looked = book.look(at, |_, seen| seen == text(index)).unwrap();
            assert_eq!(looked, Some(true), "{index}");
        }
        assert_eq!(book.look(61, |_, _| ()).unwrap(), None);
    }
}

/// Several programs increment counters in the same records, each with a date book that read them
/// before and is reopened each time or stays open: each that was saved counts.
#[test]
fn programs_see_the_syncs_of_each_other() {
    const TIMES: usize = 100;
    if let Some(path) = std::env::var_os(COUNTED) {
        return count_up(Path::new(&path), TIMES);
    }
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let all: Vec<_> = (0..3).map(|n| event(n, "PRIORITY:0\r\n")).collect();
    calendar.save_many(&all).unwrap();
    let children: Vec<_> = (0..3)
        .map(|_| {
            ProgramOfTest::new(programs_see_the_syncs_of_each_other)
                .command()
                .unwrap()
                .env(COUNTED, &path)
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let counted: usize = (0..3)
        .map(|n| counter(&calendar.get(&n.to_string()).unwrap().unwrap().text))
        .sum();
    assert_eq!(counted, 3 * TIMES);
    clean(&store);
}

const COUNTED: &str = "ETUI_TEST_DATEBOOK_COUNTED";

fn counter(text: &[u8]) -> usize {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().find_map(|l| l.strip_prefix("PRIORITY:"));
    line.unwrap().parse().unwrap()
}

fn count_up(path: &Path, times: usize) {
    let mut options = Options::default();
    options.durability = Durability::Deferred;
    let store = Store::open_with(path, &options).unwrap();
    let calendar = store.calendar().unwrap();
    let mut book = DateBook::open(&calendar);
    let mut counted = 0;
    for n in 0.. {
        let index = n as u64 % 3;
        book.peek(index).unwrap();
        let taken = book.take(index).unwrap();
        let mut record = taken.record().unwrap();
        let next = counter(record.text()) + 1;
        record
            .set(0, "PRIORITY", &next.to_string(), &TimeZoneResolver::new())
            .unwrap();
        book.release_dirty(taken, record).unwrap();
        // What another program overtook is tried again.
        if n % 2 == 0 {
            counted += book.sync().unwrap().saved as usize;
        } else {
            counted += book.close().unwrap().saved as usize;
            book = DateBook::open(&calendar);
        }
        if counted == times {
            return;
        }
    }
}
