//! Rows of a calendar changed by another program or a failing disk: every query answers or fails with
//! an error, nothing panics, and a repair restores all derived columns.

use std::fs;
use std::ops::ControlFlow;

use crate::support::{clean, directory};
use etui::Store;
use etui::calendar::OccurrenceLimit;
use etui::calendar::time::{Date, TimeZone, Timestamp};
use etui::datebook::DateBook;
use etui_testkit::calendars::Calendars;
use etui_testkit::fixtures::icalendar::ALL;
use etui_testkit::rng::SplitMix64;
use rusqlite::Connection;
use rusqlite::types::Value;

/// Columns of a calendar's tables, with the key of the table.
const COLUMNS: [(&str, &str, &str); 16] = [
    ("record", "id", "text"),
    ("record", "id", "summary"),
    ("record", "id", "sort_key"),
    ("record", "id", "keys"),
    ("record", "id", "source"),
    ("record", "id", "positions"),
    ("shared_text", "id", "text"),
    ("shared_text", "id", "hash"),
    ("series", "record", "length_class"),
    ("series", "record", "first"),
    ("series", "record", "last"),
    ("series", "record", "version"),
    ("alarm", "record", "length_class"),
    ("alarm", "record", "first"),
    ("alarm", "record", "last"),
    ("list_block", "id", "entries"),
];

fn changed(value: Value, rng: &mut SplitMix64) -> Value {
    let whole = [i64::MIN, -1, 0, 1, 1 << 40, i64::MAX];
    match value {
        Value::Blob(mut bytes) => {
            match rng.below(4) {
                0 => bytes.truncate(rng.below(bytes.len() as u32 + 1) as usize),
                1 => bytes = (0..rng.below(40)).map(|_| rng.next_u64() as u8).collect(),
                _ => {
                    for _ in 0..=rng.below(4) {
                        let at = rng.below(bytes.len().max(1) as u32) as usize;
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte = rng.next_u64() as u8;
                        }
                    }
                }
            }
            Value::Blob(bytes)
        }
        Value::Null => Value::Null,
        _ => Value::Integer(whole[rng.below(whole.len() as u32) as usize]),
    }
}

/// Runs every kind of query; errors are fine.
fn ask(store: &Store) {
    let calendar = store.calendar().unwrap();
    let berlin = TimeZone::named("Europe/Berlin").unwrap();
    let day = |y| TimeZone::UTC.to_utc(Date::new(y, 3, 1).unwrap().midnight());
    for range in [day(2026)..day(2027), Timestamp::MIN..Timestamp::MAX] {
        let _ = calendar.between_bounded(range, &berlin, OccurrenceLimit::First(200));
    }
    let _ = calendar.free_busy(day(2026)..day(2027), &berlin);
    let _ = calendar.alarms(day(2026), 20, &berlin);
    let _ = calendar.alarms(Timestamp::MIN, 20, &berlin);
    let _ = calendar.export(&mut Vec::new(), None);
    let _ = calendar.all().map(|all| all.iter().count());
    for entry in Calendars::new(9).take(5) {
        let _ = calendar.record(&entry.uid);
    }
    let mut book = DateBook::open(&calendar);
    for index in 0..10 {
        let _ = book.peek(index);
        if let Ok(taken) = book.take(index) {
            let _ = taken.record();
            drop(taken);
        }
    }
    let _ = book.close();
    let _ = calendar.import(ALL[0].bytes, &mut |_| ControlFlow::Continue(()));
    let _ = store.check();
}

/// Rows that nothing else refers to: the check sees that they are gone, or have another number.
#[test]
fn lost_changes_and_moved_texts_are_seen() {
    let (_dir, source) = directory();
    let store = Store::open(&source).unwrap();
    let calendar = store.calendar().unwrap();
    let mut some = Vec::new();
    etui_testkit::calendars::write_ics(&mut some, 9, etui_testkit::calendars::Span::USUAL, 60)
        .unwrap();
    calendar
        .import(&some[..], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let uids: Vec<_> = Calendars::new(9).take(5).map(|entry| entry.uid).collect();
    for uid in &uids {
        calendar.remove(uid).unwrap();
        calendar.restore(uid).unwrap();
        calendar.remove(uid).unwrap();
    }
    clean(&store);
    store
        .collections::<etui::calendar::CalendarObject>()
        .rename("Calendar", "Days")
        .unwrap();
    clean(&store);
    store.close().unwrap();
    for (damage, is_seen) in [
        (
            "DELETE FROM change WHERE seq = (SELECT min(seq) FROM change)",
            true,
        ),
        (
            "DELETE FROM change WHERE seq = (SELECT max(seq) FROM change)",
            true,
        ),
        (
            "DELETE FROM change WHERE seq = (SELECT seq FROM change ORDER BY seq LIMIT 1 OFFSET 7)",
            true,
        ),
        (
            "UPDATE change SET seq = seq + 100 WHERE seq = (SELECT max(seq) FROM change)",
            true,
        ),
        (
            "UPDATE shared_text SET id = id + 1 WHERE id = (SELECT max(id) FROM shared_text)",
            true,
        ),
        (
            "UPDATE shared_text SET hash = zeroblob(16) WHERE id = (SELECT min(id) FROM shared_text)",
            true,
        ),
        ("UPDATE collection SET name = 'Other'", false),
    ] {
        let (_dir, path) = directory();
        fs::copy(&source, &path).unwrap();
        let conn = Connection::open(&path).unwrap();
        assert!(conn.execute(damage, []).unwrap() > 0, "{damage}");
        conn.close().unwrap();
        let report = Store::open(&path).unwrap().check().unwrap();
        assert_eq!(
            report.is_clean(),
            !is_seen,
            "{damage}: {:?}",
            report.problems
        );
    }
}

#[test]
fn changed_rows_are_answered_or_refused() {
    let (_dir, source) = directory();
    let store = Store::open(&source).unwrap();
    let calendar = store.calendar().unwrap();
    for fixture in ALL {
        calendar
            .import(fixture.bytes, &mut |_| ControlFlow::Continue(()))
            .unwrap();
    }
    let mut some = Vec::new();
    etui_testkit::calendars::write_ics(&mut some, 9, etui_testkit::calendars::Span::USUAL, 60)
        .unwrap();
    calendar
        .import(&some[..], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    clean(&store);
    store.close().unwrap();
    let mut rng = SplitMix64::new(77);
    for round in 0..60 {
        let (_dir, path) = directory();
        fs::copy(&source, &path).unwrap();
        let (table, key, column) = COLUMNS[rng.below(COLUMNS.len() as u32) as usize];
        let conn = Connection::open(&path).unwrap();
        let mut really = false;
        for _ in 0..3 {
            let pick =
                format!("SELECT {key}, {column} FROM {table} ORDER BY {key} LIMIT 1 OFFSET ?1");
            let count: u32 = conn
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get(0))
                .unwrap();
            let row = conn.query_row(&pick, [rng.below(count)], |r| {
                Ok((r.get::<_, i64>(0)?, r.get::<_, Value>(1)?))
            });
            let (id, value) = row.unwrap();
            let update = format!("UPDATE OR IGNORE {table} SET {column} = ?2 WHERE {key} = ?1");
            let new = changed(value.clone(), &mut rng);
            really |= conn.execute(&update, (id, &new)).unwrap() > 0 && new != value;
        }
        conn.close().unwrap();
        println!("round {round}: {table}.{column}");
        let store = Store::open(&path).unwrap();
        ask(&store);
        // The check reports every change but for list keys, which depend on time zone rules, and
        // component ordinals, which nothing else records.
        let moves = ["sort_key", "positions"].contains(&column);
        let is_seen = !store.check().unwrap().is_clean();
        assert!(is_seen || moves || !really, "{table}.{column}");
        // A repair restores everything that is derived from intact texts.
        if !["text", "hash", "source", "positions"].contains(&column) {
            store.maintenance().repair().unwrap();
            clean(&store);
        }
    }
}
