//! The store as a file: foreign files are not changed, a store opened for reading is not written, and
//! plain SQLite reads and writes the closed file.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use crate::support::{
    card, clean, directory, filled, german, names, people, reading, texts, vcard,
};
use etui::contacts::Paging;
use etui::record::RecordKind;
use etui::{ChangeKind, Changes, Error, Options, RecordId, Store};
use etui_testkit::rng::SplitMix64;
use rusqlite::Connection;

/// SQLite's message for a statement without a text.
const MISSING: &str = "CHECK constraint failed: text_is_missing";

#[test]
fn what_is_no_store_is_left_as_it_was() {
    let (dir, path) = directory();
    let mut rng = SplitMix64::new(1);
    let noise: Vec<u8> = (0..100_000).map(|_| rng.next_u64() as u8).collect();
    let foreign = |with: &str| {
        let file = dir.path().join("foreign.db");
        let conn = Connection::open(&file).unwrap();
        conn.execute_batch(with).unwrap();
        conn.close().unwrap();
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        bytes
    };
    let newer = {
        filled(&path, 3);
        let conn = Connection::open(&path).unwrap();
        conn.pragma_update(None, "user_version", etui::SCHEMA_VERSION + 1)
            .unwrap();
        conn.close().unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        bytes
    };
    let mut cut = newer.clone();
    cut.truncate(50);
    let table = "CREATE TABLE t (a); INSERT INTO t VALUES (1);";
    let cases: [(Vec<u8>, &str); 8] = [
        (
            b"Dear diary, today I learned to write plain text.\n".repeat(200),
            "not a database",
        ),
        (b"x".to_vec(), "not a database"),
        (noise, "not a database"),
        (cut, "not a database"),
        (foreign(table), "not an etui store"),
        (
            foreign(&format!("PRAGMA journal_mode = WAL; {table}")),
            "not an etui store",
        ),
        (
            foreign(&format!("PRAGMA application_id = 7; {table}")),
            "not an etui store",
        ),
        (newer, "use a newer etui"),
    ];
    for (i, (bytes, why)) in cases.iter().enumerate() {
        fs::write(&path, bytes).unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        for options in [Options::default(), reading()] {
            let Err(error) = Store::open_with(&path, &options) else {
                panic!("case {i} was opened, read-only: {}", options.read_only);
            };
            let text = error.to_string();
            assert!(text.contains(why), "case {i}: {text}");
            assert!(text.contains(path.to_str().unwrap()), "case {i}: {text}");
            let kind = match error {
                Error::NotADatabase { .. } => "not a database",
                Error::NotAStore { .. } => "not an etui store",
                Error::Newer { .. } => "use a newer etui",
                other => panic!("case {i}: {other:?}"),
            };
            assert_eq!(kind, *why, "case {i}");
            assert!(
                fs::read(&path).unwrap() == *bytes,
                "case {i}: the file was written to"
            );
            assert_eq!(
                fs::metadata(&path).unwrap().modified().unwrap(),
                before,
                "case {i}"
            );
            assert_eq!(names(dir.path()), ["personal.etui"], "case {i}");
        }
    }
}

#[test]
fn directories_and_nothing_are_no_stores() {
    let (dir, path) = directory();
    let inside = dir.path().join("empty");
    fs::create_dir(&inside).unwrap();
    for options in [Options::default(), reading()] {
        let error = Store::open_with(&inside, &options)
            .err()
            .expect("a directory is no store");
        assert!(
            matches!(error, Error::Io { .. } | Error::NotADatabase { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("empty"), "{error}");
        assert_eq!(names(&inside), [""; 0]);
    }
    let nowhere = dir.path().join("no/such/directory/personal.etui");
    let error = Store::open(&nowhere)
        .err()
        .expect("the directory is missing");
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("personal.etui"), "{error}");

    let mut options = Options::default();
    options.create = false;
    for options in [options, reading()] {
        let error = Store::open_with(&path, &options)
            .err()
            .expect("there is none");
        assert!(matches!(error, Error::NoStore { .. }), "{error:?}");
    }
    assert_eq!(names(dir.path()), ["empty"]);
}

#[test]
fn an_empty_file_becomes_a_store() {
    let (_dir, path) = directory();
    fs::write(&path, "").unwrap();
    let error = Store::open_with(&path, &reading())
        .err()
        .expect("it is none yet");
    assert!(matches!(error, Error::NotAStore { .. }), "{error:?}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    filled(&path, 5);
    assert_eq!(
        Store::open(&path)
            .unwrap()
            .contacts()
            .unwrap()
            .count()
            .unwrap(),
        5
    );
}

#[test]
fn files_are_their_owners_alone_and_one_is_left() {
    let (dir, path) = directory();
    let store = Store::open(&path).unwrap();
    store.contacts().unwrap().save(&card("a", "Anna")).unwrap();
    assert!(
        names(dir.path()).len() > 1,
        "a WAL stands beside an open store"
    );
    for name in names(dir.path()) {
        let mode = fs::metadata(dir.path().join(&name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let copy = dir.path().join("backup.etui");
    store.backup(&copy, &mut |_, _| {}).unwrap();
    assert_eq!(
        fs::metadata(&copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::remove_file(&copy).unwrap();
    store.close().unwrap();
    assert_eq!(names(dir.path()), ["personal.etui"]);
    drop(Store::open(&path).unwrap());
    assert_eq!(names(dir.path()), ["personal.etui"]);
}

#[test]
fn a_store_that_was_only_read_is_not_written() {
    let (dir, path) = directory();
    filled(&path, 300);
    let state = || {
        let meta = fs::metadata(&path).unwrap();
        (
            (meta.mtime(), meta.mtime_nsec()),
            (meta.ctime(), meta.ctime_nsec()),
            fs::read(&path).unwrap(),
        )
    };
    let before = state();
    for options in [Options::default(), reading()] {
        let store = Store::open_with(&path, &options).unwrap();
        let contacts = store.contacts().unwrap();
        assert_eq!(contacts.list(Paging::ALL).unwrap().len(), 300);
        assert_eq!(contacts.all().unwrap().len(), 300);
        contacts.find(&"a*".parse().unwrap()).unwrap();
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.contacts().unwrap().count().unwrap(), 300);
        drop(snapshot);
        clean(&store);
        store.maintenance().stats().unwrap();
        store.close().unwrap();
        assert!(state() == before, "the file was touched");
        assert_eq!(names(dir.path()), ["personal.etui"]);
    }
}

#[test]
fn plain_sqlite_reads_a_closed_store() {
    let (_dir, path) = directory();
    filled(&path, 50);
    let query = "PRAGMA integrity_check; SELECT count(*), min(book) FROM item;";
    match Command::new("sqlite3")
        .arg("-readonly")
        .arg(&path)
        .arg(query)
        .output()
    {
        Ok(output) => {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert_eq!(
                String::from_utf8(output.stdout).unwrap(),
                "ok\n50|Contacts\n"
            );
        }
        Err(e) => println!("without the sqlite3 program: {e}"),
    }
    let conn = Connection::open(&path).unwrap();
    let ok: String = conn
        .query_row("PRAGMA integrity_check", [], |r| r.get(0))
        .unwrap();
    assert_eq!(ok, "ok");
    for card in people(3, 50) {
        let text: Vec<u8> = conn
            .query_row(
                "SELECT text FROM item WHERE uid = ?1",
                [card.identity()],
                |r| r.get(0),
            )
            .unwrap();
        assert_eq!(text, card.text());
    }
    conn.close().unwrap();
}

/// A lookup by UID through the view does not scan all records.
#[test]
fn the_view_finds_a_uid_by_the_index() {
    let (_dir, path) = directory();
    filled(&path, 50);
    let conn = Connection::open(&path).unwrap();
    for (statement, index) in [
        (
            "SELECT text FROM item WHERE uid = 'a'",
            "record_uid (collection=? AND uid=?)",
        ),
        (
            "SELECT text FROM item WHERE uid = 'a' AND book = 'Contacts'",
            "record_uid (collection=? AND uid=?)",
        ),
        (
            "UPDATE item SET text = 'x' WHERE uid = 'a' AND kind = 'contacts'",
            "record_uid (collection=? AND uid=?)",
        ),
        (
            "DELETE FROM item WHERE uid = 'a'",
            "record_uid (collection=? AND uid=?)",
        ),
        (
            "DELETE FROM item WHERE id = 7",
            "record USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        ("SELECT text FROM item", "record_uid (collection=?)"),
    ] {
        let plan = conn
            .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
            .unwrap()
            .query_map([], |r| r.get::<_, String>(3))
            .unwrap()
            .collect::<Result<Vec<_>, _>>()
            .unwrap()
            .join("; ");
        assert!(plan.contains(index), "{statement}: {plan}");
    }
}

/// The ids of the write queue give the order of arrival, also after VACUUM.
#[test]
fn what_plain_sqlite_writes_keeps_its_order() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("gone", "Gone")).unwrap();
    store.close().unwrap();

    let conn = Connection::open(&path).unwrap();
    let insert = "INSERT INTO item (kind, text) VALUES ('contacts', ?1)";
    conn.execute(insert, ["no vCard"]).unwrap();
    for name in ["First", "Second"] {
        conn.execute(insert, [vcard("same", name)]).unwrap();
    }
    conn.execute("DELETE FROM item", []).unwrap();
    conn.execute(insert, [vcard("gone", "Back")]).unwrap();
    // Deleting an entry leaves a gap, which VACUUM keeps.
    conn.execute("DELETE FROM write_queue WHERE text = 'no vCard'", [])
        .unwrap();
    conn.execute_batch("VACUUM").unwrap();
    let first: i64 = conn
        .query_row("SELECT min(id) FROM write_queue", [], |r| r.get(0))
        .unwrap();
    assert_eq!(first, 2);
    conn.execute(insert, [vcard("same", "Third")]).unwrap();
    conn.close().unwrap();

    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    for (uid, name) in [("same", "Third"), ("gone", "Back")] {
        let found = contacts.get(uid).unwrap().unwrap();
        assert_eq!(found.text, vcard(uid, name).as_bytes());
    }
    clean(&store);
}

/// Any value for a name or a text, in any kind of statement, is either stored as written or the
/// statement fails.
#[test]
fn odd_values_from_plain_sqlite() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    store.contacts().unwrap().save(&card("a", "A")).unwrap();
    store
        .collections::<etui::calendar::CalendarObject>()
        .create("5")
        .unwrap();
    store.close().unwrap();
    let conn = Connection::open(&path).unwrap();
    let waiting = || -> i64 {
        conn.query_row("SELECT count(*) FROM write_queue", [], |r| r.get(0))
            .unwrap()
    };
    for (statement, reason) in [
        (
            "INSERT INTO item VALUES ('contacts', x'00', 'u', 'x', 7)",
            "of this kind and name",
        ),
        (
            "INSERT INTO item VALUES ('contacts', '', 'u', 'x', 7)",
            "of this kind and name",
        ),
        (
            "INSERT INTO item VALUES ('contacts', 'contacts', 'u', 'x', 7)",
            "of this kind and name",
        ),
        (
            "INSERT INTO item VALUES ('contacts', '5', 'u', 'x', 7)",
            "of this kind and name",
        ),
        (
            "INSERT OR IGNORE INTO item VALUES ('contacts', 'None', 'u', 'x', 7)",
            "of this kind and name",
        ),
        (
            "INSERT INTO item (kind, text) VALUES ('contact', 'x')",
            "of this kind and name",
        ),
        (
            "INSERT INTO item (kind, book, text) VALUES (NULL, 'Contacts', 'x')",
            "of this kind and name",
        ),
        (
            "INSERT INTO item (text) VALUES ('x')",
            "of this kind and name",
        ),
        ("INSERT INTO item DEFAULT VALUES", "of this kind and name"),
        (
            "REPLACE INTO item (kind, uid) VALUES ('contacts', 'a')",
            MISSING,
        ),
        (
            "INSERT INTO item (kind, text) VALUES ('contacts', 'x'), ('contacts', NULL)",
            MISSING,
        ),
        ("UPDATE item SET kind = 'calendar'", "cannot modify"),
        ("UPDATE item SET id = 7, book = ''", "cannot modify"),
        ("UPDATE OR REPLACE item SET text = NULL", MISSING),
        (
            "INSERT INTO item (kind, text) VALUES ('contacts', 'x') ON CONFLICT DO NOTHING",
            "UPSERT",
        ),
        (
            "INSERT INTO write_queue (operation) VALUES ('insert')",
            MISSING,
        ),
        (
            "INSERT INTO write_queue (operation, record, book) VALUES ('update', 1, 'Contacts')",
            MISSING,
        ),
    ] {
        let error = conn.execute(statement, []).unwrap_err();
        assert!(error.to_string().contains(reason), "{statement}: {error}");
        assert_eq!(waiting(), 0, "{statement}");
    }
    for statement in [
        "INSERT OR IGNORE INTO item (kind, text) VALUES ('contacts', NULL)",
        "UPDATE OR IGNORE item SET text = NULL",
        "DELETE FROM item WHERE uid IS NULL",
    ] {
        conn.execute(statement, []).unwrap();
        assert_eq!(waiting(), 0, "{statement}");
    }
    // In a transaction, changes before a failure are kept or rolled back, as the statement says.
    for (or, kept) in [("OR ABORT", 1), ("OR ROLLBACK", 0)] {
        conn.execute_batch("BEGIN; INSERT INTO item (kind, text) VALUES ('contacts', 1)")
            .unwrap();
        let failing = format!("INSERT {or} INTO item (kind, text) VALUES ('contacts', NULL)");
        conn.execute(&failing, []).unwrap_err();
        assert_eq!((conn.is_autocommit(), waiting()), (kept == 0, kept));
        let _ = conn.execute_batch("ROLLBACK");
    }
    let told: (Option<i64>, f64) = conn
        .query_row(
            "INSERT INTO item (kind, text) VALUES ('contacts', 2.5) RETURNING book, text",
            [],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .unwrap();
    assert_eq!(told, (None, 2.5));
    conn.execute(
        "INSERT INTO item (kind, book, text) VALUES ('calendar', 5, x'ff')",
        [],
    )
    .unwrap();
    conn.close().unwrap();

    // The invalid entry stays in the queue and is reported.
    let store = Store::open(&path).unwrap();
    assert_eq!(store.contacts().unwrap().count().unwrap(), 1);
    let report = store.check().unwrap();
    assert!(
        report.is_clean() && report.write_queue.len() == 2,
        "{report:?}"
    );
}

#[test]
fn what_plain_sqlite_writes_is_taken_in() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts
        .save_many(&[
            card("edit", "Before"),
            card("remove", "Gone"),
            card("rename", "Renamed"),
        ])
        .unwrap();
    store
        .collections::<etui::contacts::Card>()
        .create("Work")
        .unwrap()
        .save(&card("remove", "Stays"))
        .unwrap();
    let token = store.token().unwrap();
    store.close().unwrap();

    let conn = Connection::open(&path).unwrap();
    let insert = "INSERT INTO item (kind, book, text) VALUES ('contacts', ?1, ?2)";
    conn.execute(insert, (None::<String>, vcard("text", "As Text")))
        .unwrap();
    conn.execute(insert, ("Work", vcard("blob", "As Blob").into_bytes()))
        .unwrap();
    conn.execute(insert, ("Contacts", "not a vCard at all"))
        .unwrap();
    for (statement, reason) in [
        (
            "INSERT INTO item (kind, book, text) VALUES ('contacts', 'No Such Book', 'x')",
            "no address book",
        ),
        (
            "INSERT INTO item (kind, text) VALUES ('Contacts', 'x')",
            "no address book or calendar of this kind",
        ),
        (
            "INSERT INTO item (kind, book, text) VALUES ('calendar', 'Work', 'x')",
            "no address book or calendar of this kind",
        ),
        (
            "INSERT INTO item (kind, book) VALUES ('contacts', 'Work')",
            MISSING,
        ),
        ("UPDATE item SET text = NULL", MISSING),
        ("UPDATE item SET book = 'Work'", "cannot modify"),
        ("UPDATE item SET uid = 'x'", "cannot modify"),
    ] {
        let error = conn.execute(statement, []).unwrap_err();
        assert!(error.to_string().contains(reason), "{statement}: {error}");
    }
    let update = "UPDATE item SET text = ?2 WHERE uid = ?1";
    conn.execute(update, ("edit", vcard("edit", "After")))
        .unwrap();
    conn.execute(update, ("rename", vcard("renamed", "Renamed")))
        .unwrap();
    conn.execute(
        "DELETE FROM item WHERE uid = 'remove' AND book = 'Contacts'",
        [],
    )
    .unwrap();
    conn.close().unwrap();

    let mut after = None;
    // The second round has no work.
    for _ in 0..2 {
        let store = Store::open(&path).unwrap();
        let contacts = store.contacts().unwrap();
        let uid_of = |(id, _): &(RecordId, Vec<u8>)| contacts.get(*id).unwrap().unwrap().uid;
        let mut uids: Vec<_> = texts(&contacts).iter().map(uid_of).collect();
        uids.sort();
        assert_eq!(uids, ["edit", "renamed", "text"]);
        assert_eq!(
            contacts.get("edit").unwrap().unwrap().text,
            vcard("edit", "After").as_bytes()
        );
        assert_eq!(
            contacts.find(&"name:after".parse().unwrap()).unwrap().len(),
            1
        );
        let work = store
            .collection::<etui::contacts::Card>(Some("Work"))
            .unwrap();
        assert_eq!(work.count().unwrap(), 2);
        assert!(work.get("blob").unwrap().is_some() && work.get("remove").unwrap().is_some());
        let Changes::Since(changes) = contacts.changes_since(&token).unwrap() else {
            panic!("the store is the same");
        };
        let mut kinds: Vec<_> = changes.iter().map(|c| (c.uid.as_str(), c.kind)).collect();
        kinds.sort_by_key(|k| k.0);
        assert_eq!(
            kinds,
            [
                ("edit", ChangeKind::Changed),
                ("remove", ChangeKind::Removed),
                ("rename", ChangeKind::Removed),
                ("renamed", ChangeKind::Added),
                ("text", ChangeKind::Added),
            ]
        );
        let report = store.check().unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
        assert_eq!(report.write_queue.len(), 1, "{:?}", report.write_queue);
        assert!(
            report.write_queue[0].contains("not a vCard"),
            "{:?}",
            report.write_queue
        );
        let now = (store.token().unwrap(), fs::read(&path).unwrap());
        store.close().unwrap();
        let now = (now.0, fs::read(&path).unwrap());
        assert!(
            after.is_none_or(|before| before == now),
            "the second open wrote"
        );
        after = Some(now);
    }
}

/// The same through the system's `sqlite3` program, which may be an older version.
#[test]
fn the_sqlite3_program_writes_through_the_view() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let cards = [card("edit", "Before"), card("remove", "Gone")];
    store.contacts().unwrap().save_many(&cards).unwrap();
    store
        .collections::<etui::contacts::Card>()
        .create("Work")
        .unwrap();
    store.close().unwrap();
    let run = |sql: &str| {
        let output = Command::new("sqlite3").arg(&path).arg(sql).output()?;
        Ok::<_, std::io::Error>((
            output.status.success(),
            String::from_utf8(output.stderr).unwrap(),
        ))
    };
    if let Err(e) = run("SELECT 1") {
        println!("without the sqlite3 program: {e}");
        return;
    }
    for (sql, reason) in [
        (
            "INSERT INTO item (kind, text) VALUES ('contact', 'x')",
            "there is no address book or calendar of this kind and name",
        ),
        (
            "INSERT INTO item (kind, book, text) VALUES ('calendar', 'Work', 'x')",
            "there is no address book or calendar of this kind and name",
        ),
        ("INSERT INTO item (kind) VALUES ('contacts')", MISSING),
        ("UPDATE item SET text = NULL", MISSING),
        ("UPDATE item SET book = 'Work'", "cannot modify item"),
    ] {
        let (done, told) = run(sql).unwrap();
        assert!(!done && told.contains(reason), "{sql}: {told}");
    }
    for sql in [
        format!(
            "INSERT INTO item (kind, text) VALUES ('contacts', '{}')",
            vcard("new", "New")
        ),
        format!(
            "INSERT INTO item (kind, book, text) VALUES ('contacts', 'Work', '{}')",
            vcard("new", "Other")
        ),
        format!(
            "UPDATE item SET text = '{}' WHERE uid = 'edit'",
            vcard("edit", "After")
        ),
        "DELETE FROM item WHERE id = (SELECT id FROM item WHERE uid = 'remove')".to_owned(),
        "PRAGMA integrity_check".to_owned(),
    ] {
        let (done, told) = run(&sql).unwrap();
        assert!(done, "{sql}: {told}");
    }
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    for (uid, name) in [("new", "New"), ("edit", "After")] {
        let found = contacts.get(uid).unwrap().unwrap();
        assert_eq!(found.text, vcard(uid, name).as_bytes());
    }
    assert_eq!(contacts.count().unwrap(), 2);
    assert_eq!(
        store
            .collection::<etui::contacts::Card>(Some("Work"))
            .unwrap()
            .count()
            .unwrap(),
        1
    );
    clean(&store);
    assert_eq!(store.check().unwrap().write_queue, [""; 0]);
}

/// A record has its id in the view, whatever value a statement gives to that column.
#[test]
fn the_view_tells_the_number_of_a_record() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let cards = [card("a", "A"), card("b", "B"), card("c", "C")];
    contacts.save_many(&cards).unwrap();
    let number = contacts.get("b").unwrap().unwrap().id;
    store.close().unwrap();

    let conn = Connection::open(&path).unwrap();
    let told: i64 = conn
        .query_row("SELECT id FROM item WHERE uid = 'b'", [], |r| r.get(0))
        .unwrap();
    assert_eq!(told, number.0);
    let update = "UPDATE item SET text = ?2, id = 1, uid = 'a' WHERE id = ?1";
    conn.execute(update, (told, vcard("b", "Edited"))).unwrap();
    conn.execute("DELETE FROM item WHERE id = ?1 + 1", [told])
        .unwrap();
    conn.execute("DELETE FROM item WHERE id = 1000", [])
        .unwrap();
    conn.close().unwrap();

    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    let mut left = texts(&contacts);
    left.sort_by_key(|(id, _)| id.0);
    let told: Vec<_> = left.iter().map(|(_, text)| text.as_slice()).collect();
    assert_eq!(
        told,
        [vcard("a", "A").as_bytes(), vcard("b", "Edited").as_bytes()]
    );
    assert_eq!(left[1].0, number);
    clean(&store);
}

/// An UPDATE that names another book is neither an edit, nor a move, nor, whatever its text, a
/// DELETE: it is reported, and its text is kept.
#[test]
fn an_update_cannot_move_a_record() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "A")).unwrap();
    store
        .collections::<etui::contacts::Card>()
        .create("Work")
        .unwrap();
    store.close().unwrap();

    let conn = Connection::open(&path).unwrap();
    for set in [
        "book = 'Work', text = 'moved'",
        "book = NULL, text = 'moved'",
        "book = '', text = x'00'",
        // These would be DELETEs if only text and book decided.
        "book = NULL, text = 1",
        "book = NULL, text = id",
        "book = NULL, text = 0, id = NULL, uid = NULL, kind = NULL",
    ] {
        assert!(conn.execute(&format!("UPDATE item SET {set}"), []).is_ok());
    }
    let failing = "UPDATE item SET book = NULL, text = NULL, id = NULL";
    let error = conn.execute(failing, []).unwrap_err();
    assert!(error.to_string().contains(MISSING), "{error}");
    conn.close().unwrap();

    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    let found = contacts.get("a").unwrap().unwrap();
    assert_eq!(found.text, vcard("a", "A").as_bytes());
    assert_eq!(
        store
            .collection::<etui::contacts::Card>(Some("Work"))
            .unwrap()
            .count()
            .unwrap(),
        0
    );
    let report = store.check().unwrap();
    assert!(
        report.is_clean() && report.write_queue.len() == 6,
        "{report:?}"
    );
    for told in &report.write_queue {
        let reason = "an UPDATE cannot move a contact: insert it into the other address book, and \
                      delete it in \"Contacts\"";
        assert!(told.contains(reason), "{told}");
    }
    store.close().unwrap();
    let conn = Connection::open(&path).unwrap();
    let kept = "SELECT count(*) FROM write_queue WHERE record = 1 AND text = 'moved'";
    let kept: i64 = conn.query_row(kept, [], |r| r.get(0)).unwrap();
    assert_eq!(kept, 2);
}

/// The target of an entry may be removed before the entry is applied.
#[test]
fn entries_whose_target_was_removed_are_rejected() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    for uid in ["edited", "removed", "forgotten", "forgotten too", "there"] {
        contacts.save(&card(uid, "Before")).unwrap();
    }
    for name in ["Renamed", "Removed", "Gone"] {
        let book = store
            .collections::<etui::contacts::Card>()
            .create(name)
            .unwrap();
        book.save(&card("there", name)).unwrap();
    }
    let conn = Connection::open(&path).unwrap();
    let update = "UPDATE item SET text = ?2 WHERE uid = ?1";
    let delete = "DELETE FROM item WHERE uid = ?1";
    let insert = "INSERT INTO item (kind, book, text) VALUES ('contacts', ?1, ?2)";
    for uid in ["edited", "forgotten"] {
        conn.execute(update, (uid, vcard(uid, "After"))).unwrap();
    }
    for uid in ["removed", "forgotten too"] {
        conn.execute(delete, [uid]).unwrap();
    }
    for name in ["Renamed", "Removed", "Gone"] {
        conn.execute(insert, (name, vcard("new", name))).unwrap();
    }
    // An existing handle does not read the queue.
    contacts
        .remove_many(&["edited", "removed", "forgotten", "forgotten too"])
        .unwrap();
    store.close().unwrap();
    // Simulates programs that apply the queue much later, or not at all.
    conn.execute_batch(
        "DELETE FROM record WHERE uid LIKE 'forgotten%';
         UPDATE collection SET name = 'Job' WHERE name = 'Renamed';
         UPDATE collection SET removed_at = 17 WHERE name = 'Removed';
         DELETE FROM collection WHERE name = 'Gone';
         INSERT INTO write_queue (operation, collection, text)
             SELECT 'insert', id, 'x' FROM collection WHERE name = 'Removed';
         INSERT INTO write_queue (operation, record, book, text)
             SELECT 'update', r.id, name, 'x' FROM record r JOIN collection c ON c.id = collection
             WHERE name = 'Removed';
         INSERT INTO write_queue (operation, record)
             SELECT 'delete', r.id FROM record r JOIN collection c ON c.id = collection
             WHERE name = 'Removed';
         INSERT INTO collection (kind, name) VALUES ('media', 'Media');
         INSERT INTO item (kind, text) VALUES ('media', 'x');",
    )
    .unwrap();
    conn.close().unwrap();

    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    let found = contacts.get("edited").unwrap().expect("it came back");
    assert_eq!(found.text, vcard("edited", "After").as_bytes());
    assert_eq!(contacts.count().unwrap(), 2);
    let job = store
        .collection::<etui::contacts::Card>(Some("Job"))
        .unwrap();
    assert_eq!(
        job.get("new").unwrap().unwrap().text,
        vcard("new", "Renamed").as_bytes()
    );
    store.close().unwrap();
    let conn = Connection::open(&path).unwrap();
    let mut told = conn
        .prepare("SELECT problem FROM write_queue ORDER BY id")
        .unwrap();
    let told: Vec<String> = told
        .query_map([], |r| r.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        told,
        [
            "record 3 was removed, and its removal is older than the trash keeps; insert it",
            "the address book \"Removed\" was removed",
            "there is no such address book or calendar",
            "the address book \"Removed\" was removed",
            "the address book \"Removed\" was removed",
            "the address book \"Removed\" was removed",
            "there is no such address book or calendar",
        ]
    );
}

/// Entries inserted by hand, without the view, are validated.
#[test]
fn entries_that_no_trigger_writes_are_rejected() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    store.contacts().unwrap().save(&card("a", "A")).unwrap();
    store.close().unwrap();
    let conn = Connection::open(&path).unwrap();
    let rows = [
        "'insert', 1, 1, NULL, 'x', NULL",
        "'insert', NULL, NULL, NULL, 'x', NULL",
        "'update', NULL, NULL, 'Contacts', 'x', NULL",
        "'update', 1, 1, 'Contacts', 'x', NULL",
        "'delete', 1, NULL, NULL, NULL, NULL",
        "'delete', NULL, NULL, NULL, 1, NULL",
        "'replace', 1, NULL, NULL, 'x', NULL",
        "'delete', NULL, 1, NULL, NULL, 5",
        "'delete', NULL, 1, NULL, NULL, x'ff'",
    ];
    for row in rows {
        let insert = "INSERT INTO write_queue (operation, collection, record, book, text, problem)";
        let inserted = conn.execute(&format!("{insert} VALUES ({row})"), []);
        // The table is STRICT: a BLOB is no problem's text.
        assert_eq!(inserted.is_ok(), !row.ends_with("x'ff'"), "{row}");
    }
    let numbered =
        "INSERT INTO write_queue (id, operation, collection, text) VALUES (?1, 'insert', 1, ?2)";
    for (number, text) in [(-1, "x".to_owned()), (0, vcard("b", "B"))] {
        conn.execute(numbered, (number, text)).unwrap();
    }
    conn.close().unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.contacts().unwrap().count().unwrap(), 2);
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.write_queue.len(), rows.len(), "{report:?}");
    assert!(report.write_queue[0].starts_with("write queue entry -1: not a vCard"));
    for told in &report.write_queue[1..8] {
        let reason = "it says neither where to save nor what to remove";
        assert!(told.contains(reason), "{told}");
    }
    assert_eq!(report.write_queue[8], "write queue entry 8: 5");
}
