//! Stores of earlier schema versions become this one's: everything is found, nothing is changed,
//! whoever else has the file open.
//!
//! `data/stores/vN.etui` was written by etui with schema version N, by the test `write_vN` here
//! (`cargo test -p etui --test migration -- --ignored write_vN` at a commit with that version), and
//! is not written again: what it holds is compared with what the same steps make today.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use etui::contacts::{Card, Contact, ListEntry, Paging};
use etui::{Changes, Error, Options, RecordChange, RecordId, Store, SyncToken, Vfs};
use etui_testkit::fixtures::ALL;
use rusqlite::Connection;
use rusqlite::types::Value;
use support::{card, clean, directory, german, reading, vcard};

const STORE: &str = "ETUI_TEST_STORE";
const ROLE: &str = "ETUI_TEST_ROLE";

/// What is in `data/stores/v1.etui`.
fn version_1(i: u32) -> String {
    format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:v1-{i}\r\nN:Müller {i};Änne;;;\r\nFN:Änne Müller {i}\r\n\
         ORG:Example {}\r\nTEL;TYPE=CELL:+49 30 23125 {i:03}\r\nEMAIL:v1.{i}@example.org\r\n\
         END:VCARD\r\n",
        i % 3
    )
}

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/stores")
        .join(name)
}

/// `cargo test -p etui --test migration -- --ignored write_v1`, by the version whose name it has.
#[test]
#[ignore = "writes the fixture"]
fn write_v1() {
    assert_eq!(
        Store::schema_version(),
        1,
        "a fixture is written by its own version"
    );
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let cards: Vec<_> = (0..60)
        .map(|i| Card::parse(version_1(i)).unwrap())
        .collect();
    contacts.save_many(&cards).unwrap();
    store.merge_index().unwrap();
    contacts.remove_many(&["v1-7", "v1-8"]).unwrap();
    contacts.save(&card("v1-9", "Edited")).unwrap();
    store
        .create_address_book("Work")
        .unwrap()
        .save(&card("v1-0", "Colleague"))
        .unwrap();
    store.close().unwrap();
    fs::copy(&path, stored("v1.etui")).unwrap();
}

#[test]
fn a_store_of_version_1_opens() {
    let (_dir, path) = directory();
    fs::copy(stored("v1.etui"), &path).unwrap();
    for round in 0..2 {
        let store = Store::open(&path).unwrap();
        clean(&store);
        assert_eq!(store.locale().unwrap(), "de");
        assert_eq!(store.region().unwrap().unwrap().code(), "DE");
        assert_eq!(store.address_books().unwrap(), ["Contacts", "Work"]);
        let work = store.address_book("Work").unwrap();
        assert_eq!(
            work.get("v1-0").unwrap().unwrap().text,
            vcard("v1-0", "Colleague").as_bytes()
        );
        let contacts = store.contacts().unwrap();
        assert_eq!(contacts.count().unwrap(), 58);
        for i in (0..60).filter(|i| !(7..10).contains(i)) {
            let found = contacts.get(&format!("v1-{i}")).unwrap().unwrap();
            assert_eq!(found.text, version_1(i).as_bytes());
        }
        assert_eq!(
            contacts.list(Paging::first(1)).unwrap()[0].summary.name,
            "Edited"
        );
        assert_eq!(
            contacts
                .find(&"org:\"example 1\"".parse().unwrap())
                .unwrap()
                .len(),
            19
        );
        assert_eq!(
            contacts
                .find(&"phone:*5011".parse().unwrap())
                .unwrap()
                .len(),
            1
        );
        assert_eq!(
            contacts
                .find(&"name:*ülle*".parse().unwrap())
                .unwrap()
                .len(),
            57
        );
        assert_eq!(contacts.trash().unwrap().len(), 2);
        if round == 0 {
            // It can be written as any other.
            assert_eq!(contacts.restore("v1-9").unwrap().id, RecordId(10));
            contacts.restore("v1-9").unwrap();
        }
        store.close().unwrap();
    }
}

/// What makes `data/stores/v2.etui`: cards of all kinds, of which some were edited, removed or
/// restored, in three address books; an index that lacks the latest changes; and what plain SQLite
/// wrote through the view and etui did not take in yet.
fn fill_v2(path: &Path) {
    let store = Store::open_with(path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let all = ALL.iter().filter(|f| !f.name.starts_with("unfolded"));
    for fixture in all {
        let report = contacts.import(fixture.bytes, &mut |_| ControlFlow::Continue(()));
        assert_eq!(
            report.unwrap().added,
            fixture.good as u64,
            "{}",
            fixture.name
        );
    }
    let cards: Vec<Card> = (0..40)
        .map(|i| Card::parse(version_2(i)).unwrap())
        .collect();
    contacts.save_many(&cards).unwrap();
    store.merge_index().unwrap();
    contacts.remove_many(&["v2-7", "v2-8", "v2-9"]).unwrap();
    contacts.restore("v2-8").unwrap();
    contacts.save(&card("v2-10", "Edited")).unwrap();
    contacts.save(&card("v2-10", "Edited twice")).unwrap();
    let work = store.create_address_book("Work").unwrap();
    work.save(&card("v2-0", "Colleague")).unwrap();
    work.save(&card("gone", "Gone")).unwrap();
    work.remove("gone").unwrap();
    store.create_address_book("Vereine & Clubs").unwrap();
    store.close().unwrap();

    let conn = Connection::open(path).unwrap();
    let insert = "INSERT INTO item (kind, book, text) VALUES ('contacts', ?1, ?2)";
    conn.execute(insert, ("Work", vcard("plain", "Written Plainly")))
        .unwrap();
    conn.execute(insert, ("Work", "no vCard")).unwrap();
    let update = "UPDATE item SET text = ?2 WHERE uid = ?1";
    conn.execute(update, ("v2-11", vcard("v2-11", "Plainly Edited")))
        .unwrap();
    conn.execute("DELETE FROM item WHERE uid = 'v2-12'", [])
        .unwrap();
    conn.close().unwrap();
}

fn version_2(i: u32) -> String {
    format!(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:v2-{i}\r\nN:Łukasiewicz {i};Jürgen;;;\r\n\
         FN:Jürgen Łukasiewicz {i}\r\nORG:Beispiel {}\r\nTEL:tel:+49-30-23125-{i:03}\r\n\
         EMAIL:v2.{i}@example.org\r\nNOTE:Nummer {i}\r\nEND:VCARD\r\n",
        i % 4
    )
}

/// `cargo test -p etui --test migration -- --ignored write_v2`, by the version whose name it has.
#[test]
#[ignore = "writes the fixture"]
fn write_v2() {
    assert_eq!(
        Store::schema_version(),
        2,
        "a fixture is written by its own version"
    );
    let (_dir, path) = directory();
    fill_v2(&path);
    fs::copy(&path, stored("v2.etui")).unwrap();
}

/// What an address book says.
#[derive(Debug, PartialEq)]
struct Book {
    name: String,
    list: Vec<ListEntry>,
    contacts: Vec<Contact>,
    trash: Vec<Contact>,
    /// By each of [`FILTERS`].
    found: Vec<Vec<ListEntry>>,
}

/// What a store says of its contacts.
#[derive(Debug, PartialEq)]
struct Contents {
    locale: String,
    region: Option<String>,
    books: Vec<Book>,
    /// What happened since the cards were saved.
    changes: Vec<RecordChange>,
    inbox: Vec<String>,
}

const FILTERS: [&str; 8] = [
    "*",
    "name:łukas*",
    "name:*kasiewic*",
    "org:\"beispiel 1\"",
    "phone:*5001",
    "email:v2.3*",
    "note:nummer",
    "edited",
];

impl Contents {
    fn of(store: &Store) -> Self {
        let books = store.address_books().unwrap().into_iter().map(|name| {
            let book = store.address_book(&name).unwrap();
            let list = book.list(Paging::ALL).unwrap();
            let contact = |entry: &ListEntry| book.by_id(entry.id).unwrap().unwrap();
            Book {
                name,
                contacts: list.iter().map(contact).collect(),
                list,
                trash: book.trash().unwrap(),
                found: FILTERS
                    .map(|f| book.find(&f.parse().unwrap()).unwrap())
                    .to_vec(),
            }
        });
        let books = books.collect();
        let token = SyncToken {
            seq: 100,
            ..store.token().unwrap()
        };
        let changes = store.contacts().unwrap().changes_since(&token).unwrap();
        let Changes::Since(changes) = changes else {
            panic!("the log is kept");
        };
        Self {
            locale: store.locale().unwrap(),
            region: store.region().unwrap().map(|r| r.code().to_owned()),
            books,
            changes,
            inbox: store.check().unwrap().inbox,
        }
    }
}

/// The same steps, done today.
fn made_today() -> Contents {
    let (_dir, path) = directory();
    fill_v2(&path);
    Contents::of(&Store::open(&path).unwrap())
}

fn copy_of(name: &str) -> (tempfile::TempDir, PathBuf) {
    let (dir, path) = directory();
    fs::copy(stored(name), &path).unwrap();
    (dir, path)
}

#[test]
fn a_store_of_version_2_opens() {
    let today = made_today();
    assert!(today.changes.len() > 10 && today.inbox.len() == 1);
    assert!(today.books[0].found.iter().all(|found| !found.is_empty()));
    for vfs in [Vfs::System, Vfs::Etui] {
        let (_dir, path) = copy_of("v2.etui");
        let mut options = Options::default();
        options.vfs = vfs;
        for _ in 0..2 {
            let store = Store::open_with(&path, &options).unwrap();
            assert_eq!(Contents::of(&store), today);
            clean(&store);
            store.close().unwrap();
        }
        let conn = Connection::open(&path).unwrap();
        let version: i64 = conn
            .pragma_query_value(None, "user_version", |r| r.get(0))
            .unwrap();
        assert_eq!(version, Store::schema_version());
        conn.close().unwrap();
        // It can be written as any other.
        let store = Store::open_with(&path, &options).unwrap();
        let contacts = store.contacts().unwrap();
        let before = contacts.count().unwrap();
        contacts.restore("v2-7").unwrap();
        contacts.save(&card("new", "Łukas New")).unwrap();
        contacts.save(&card("v2-3", "Łukas Changed")).unwrap();
        store.merge_index().unwrap();
        let found = contacts.find(&"name:łukas*".parse().unwrap()).unwrap();
        assert_eq!(found.len(), today.books[0].found[1].len() + 2);
        assert_eq!(contacts.count().unwrap(), before + 2);
        clean(&store);
        store.close().unwrap();
    }
}

/// A row of the index: its key (a gram or a term), first record, others.
type Posting = (Value, i64, Vec<u8>);

/// The index of a closed store.
fn index_of(path: &Path, query: &str) -> Vec<Posting> {
    let conn = Connection::open(path).unwrap();
    let mut statement = conn.prepare(query).unwrap();
    let rows = statement.query_map([], |r| r.try_into()).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn grams(index: &[Posting]) -> usize {
    let is_gram = |row: &&Posting| matches!(row.0, Value::Integer(_));
    index.iter().filter(is_gram).count()
}

/// By the schema of version 2, and by today's.
const INDEX_2: &str = "SELECT gram, first, ids FROM gram UNION ALL SELECT term, first, ids FROM term \
                       ORDER BY 1, 2";
const INDEX: &str = "SELECT key, first, ids FROM posting ORDER BY key, first";

/// The index goes over as it is: it is not made anew, and searches use it.
#[test]
fn the_index_of_version_2_is_carried_over() {
    let (_dir, path) = copy_of("v2.etui");
    let before = index_of(&path, INDEX_2);
    assert!(grams(&before) > 1_000 && before.len() - grams(&before) > 500);
    Store::open(&path).unwrap().close().unwrap();
    assert_eq!(index_of(&path, INDEX), before);
    let conn = Connection::open(&path).unwrap();
    for table in ["term", "gram"] {
        assert!(conn.prepare(&format!("SELECT * FROM {table}")).is_err());
    }
    conn.close().unwrap();

    let (word, inside) = ("name:łukas*", "name:*kasiewic*");
    let found = |path: &Path, filter: &str| -> usize {
        let store = Store::open(path).unwrap();
        let contacts = store.contacts().unwrap();
        contacts.find(&filter.parse().unwrap()).unwrap().len()
    };
    let today = made_today();
    assert_eq!(found(&path, word), today.books[0].found[1].len());
    assert_eq!(found(&path, inside), today.books[0].found[2].len());
    clean(&Store::open(&path).unwrap());
    assert_eq!(index_of(&path, INDEX), before, "nothing made it anew");

    // And if there is nothing to be carried over, nothing but what is pending is found.
    let (_dir, path) = copy_of("v2.etui");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("DELETE FROM term; DELETE FROM gram")
        .unwrap();
    conn.close().unwrap();
    for (filter, at) in [(word, 1), (inside, 2)] {
        assert!(found(&path, filter) < today.books[0].found[at].len());
    }
    assert!(!Store::open(&path).unwrap().check().unwrap().is_clean());
}

/// Views of somebody's own over the tables of the index have nothing to read any more, and keep
/// nothing from being migrated.
#[test]
fn a_view_over_the_index_is_no_obstacle() {
    for name in ["v1.etui", "v2.etui"] {
        let (_dir, path) = copy_of(name);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(
            "CREATE VIEW terms AS SELECT count(*) FROM term; \
             CREATE VIEW grams AS SELECT count(*) FROM gram; \
             CREATE INDEX mine ON gram (first)",
        )
        .unwrap();
        conn.close().unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(store.contacts().unwrap().count().unwrap(), count_of(name));
        clean(&store);
    }
}

/// What version 1 knew of grams and terms is not what is known today: its index is left behind, and
/// made from the records at first use.
#[test]
fn the_index_of_version_1_is_made_anew() {
    let (_dir, path) = copy_of("v1.etui");
    Store::open(&path).unwrap().close().unwrap();
    assert_eq!(index_of(&path, INDEX), []);
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    for filter in ["name:müll*", "name:*ülle*"] {
        let found = contacts.find(&filter.parse().unwrap()).unwrap();
        assert_eq!(found.len(), 57, "{filter}");
    }
    clean(&store);
    drop(contacts);
    store.close().unwrap();
    let made = index_of(&path, INDEX);
    assert!(grams(&made) > 100 && made.len() - grams(&made) > 100);
}

/// What waits in the inbox has names in it, where today's has numbers: of what is there, it is done
/// as it would have been; what is not there is told of.
#[test]
fn what_waits_in_the_inbox_is_migrated() {
    for name in ["v1.etui", "v2.etui"] {
        let (_dir, path) = copy_of(name);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("DELETE FROM inbox").unwrap();
        let live = column(
            &conn,
            "SELECT uid FROM contact WHERE book = 'Contacts' ORDER BY uid LIMIT 4",
        );
        let count = "SELECT count(*) FROM contact WHERE book = 'Contacts'";
        let before: u32 = conn.query_row(count, [], |r| r.get(0)).unwrap();
        let removed: String = conn
            .query_row(
                "SELECT uid FROM record WHERE removed IS NOT NULL AND collection = 1 LIMIT 1",
                [],
                |r| r.get(0),
            )
            .unwrap();
        let live: Vec<&str> = live.iter().map(String::as_str).collect();
        let put = |book: &str, uid: Option<&str>, text: Option<&str>, problem: Option<&str>| {
            let insert = "INSERT INTO inbox (book, uid, vcard, problem) \
                          VALUES (?1, ?2, CAST(?3 AS BLOB), ?4)";
            conn.execute(insert, (book, uid, text, problem)).unwrap();
        };
        let text = |uid| vcard(uid, "Waited");
        // 1 to 7: done.
        put("Contacts", None, Some(&text("new")), None);
        put("Contacts", Some(live[0]), Some(&text(live[0])), None);
        put("Contacts", Some(live[1]), Some(&text("another")), None);
        put("Contacts", Some(live[2]), None, None);
        put("Contacts", Some(&removed), Some(&text(&removed)), None);
        put("Contacts", Some("forgotten"), Some(&text("again")), None);
        put("Contacts", Some("forgotten"), None, None);
        // 8: it says nothing.
        put("Contacts", None, None, None);
        // 9 to 11: there is no such address book.
        put("Gone", None, Some(&text("a")), None);
        put("Gone", Some("b"), Some(&text("b")), None);
        put("Gone", Some("c"), None, None);
        // 12 to 16: told of already; nothing of it is done.
        put("Contacts", None, Some(&text("not")), Some("told"));
        put(
            "Contacts",
            Some(live[3]),
            Some(&text(live[3])),
            Some("told"),
        );
        put("Contacts", Some(live[3]), None, Some("told"));
        put("Contacts", Some("forgotten"), None, Some("told"));
        put("Gone", Some("forgotten"), None, Some("told"));
        conn.close().unwrap();

        let store = Store::open(&path).unwrap();
        let contacts = store.contacts().unwrap();
        for uid in ["new", live[0], "another", &removed, "again"] {
            let found = contacts.get(uid).unwrap().unwrap();
            assert_eq!(found.text, text(uid).as_bytes(), "{name}: {uid}");
        }
        for uid in [live[1], live[2], "not", "a", "b"] {
            assert!(contacts.get(uid).unwrap().is_none(), "{name}: {uid}");
        }
        let kept = contacts.get(live[3]).unwrap().unwrap();
        assert_ne!(kept.text, text(live[3]).as_bytes());
        clean(&store);
        let gone = "there is no address book named \"Gone\"";
        let mut told = [9, 10, 11]
            .map(|n| format!("inbox entry {n}: {gone}"))
            .to_vec();
        told.extend([12, 13, 14, 15, 16].map(|n| format!("inbox entry {n}: told")));
        assert_eq!(store.check().unwrap().inbox, told, "{name}");
        // Two went and four came.
        assert_eq!(contacts.count().unwrap(), u64::from(before) + 2, "{name}");
        store.close().unwrap();
        // What is told of is there as it was written.
        let conn = Connection::open(&path).unwrap();
        let mut kept = column(
            &conn,
            "SELECT concat_ws('|', r.uid, book, CAST(inbox.text AS TEXT)) \
             FROM inbox LEFT JOIN record r ON r.id = record ORDER BY inbox.rowid",
        );
        // Of the DELETE of a record that is there: its number.
        let number: i64 = kept.remove(5).parse().unwrap();
        let uid = format!("SELECT uid FROM record WHERE id = {number}");
        assert_eq!(column(&conn, &uid), [live[3]]);
        assert_eq!(
            kept,
            [
                format!("Gone|{}", text("a")),
                format!("Gone|{}", text("b")),
                "Gone|c".to_owned(),
                format!("1|{}", text("not")),
                format!("{0}|Contacts|{1}", live[3], text(live[3])),
                "Contacts|forgotten".to_owned(),
                "Gone|forgotten".to_owned(),
            ]
        );
    }
}

fn column(conn: &Connection, query: &str) -> Vec<String> {
    let mut statement = conn.prepare(query).unwrap();
    let rows = statement.query_map([], |r| r.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// Views of somebody's own are over what they were over: a store that was made before `item` keeps
/// the view `contact`, to be read. One that is made today does not have it.
#[test]
fn a_view_of_ones_own_stays() {
    for name in ["v1.etui", "v2.etui"] {
        let (_dir, path) = copy_of(name);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("CREATE VIEW mine AS SELECT uid, vcard FROM contact ORDER BY uid")
            .unwrap();
        let count = |conn: &Connection| -> i64 {
            conn.query_row("SELECT count(vcard) FROM mine", [], |r| r.get(0))
                .unwrap()
        };
        let before = count(&conn);
        assert!(before > 10);
        conn.close().unwrap();
        let store = Store::open(&path).unwrap();
        clean(&store);
        store.close().unwrap();
        let conn = Connection::open(&path).unwrap();
        assert_eq!(count(&conn), before, "{name}");
        let error = conn.execute("DELETE FROM contact", []).unwrap_err();
        assert!(error.to_string().contains("cannot modify"), "{error}");
    }
    let (_dir, path) = directory();
    Store::open(&path).unwrap().close().unwrap();
    let conn = Connection::open(&path).unwrap();
    assert!(conn.prepare("SELECT * FROM contact").is_err());
}

/// The view is for others, who may have dropped it.
#[test]
fn a_store_without_the_view_is_migrated() {
    for name in ["v1.etui", "v2.etui"] {
        let (_dir, path) = copy_of(name);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("DROP VIEW contact").unwrap();
        conn.close().unwrap();
        let store = Store::open(&path).unwrap();
        clean(&store);
        assert!(store.contacts().unwrap().count().unwrap() > 0, "{name}");
    }
}

/// What is somebody's own may have a name that the schema needs since. That is told, and nothing is
/// changed; renamed, it stays and the store is migrated.
#[test]
fn a_name_that_is_taken_is_told() {
    for (name, make, again) in [
        ("v1.etui", "CREATE TABLE posting (x)", "DROP TABLE posting"),
        (
            "v2.etui",
            "CREATE INDEX posting ON record (changed)",
            "DROP INDEX posting",
        ),
        (
            "v1.etui",
            "CREATE VIEW item AS SELECT 7 x",
            "DROP VIEW item",
        ),
        (
            "v2.etui",
            "CREATE TABLE item (x); INSERT INTO item VALUES (7)",
            "ALTER TABLE item RENAME TO things",
        ),
        (
            "v2.etui",
            "CREATE INDEX item ON record (changed)",
            "DROP INDEX item",
        ),
        (
            "v2.etui",
            "CREATE TABLE inbox_before (x)",
            "DROP TABLE inbox_before",
        ),
    ] {
        let (_dir, path) = copy_of(name);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(make).unwrap();
        conn.close().unwrap();
        let before = fs::read(&path).unwrap();
        let error = Store::open(&path).err().expect("the name is taken");
        assert!(matches!(error, Error::Sqlite(_)), "{make}: {error:?}");
        let told = error.to_string();
        assert!(
            told.contains("cannot be brought to schema version 3, and is as it was"),
            "{told}"
        );
        assert!(
            told.contains("item") || told.contains("inbox_before") || told.contains("posting"),
            "{told}"
        );
        assert!(!told.contains("TRIGGER"), "{told}");
        assert!(fs::read(&path).unwrap() == before, "{make}");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(again).unwrap();
        conn.close().unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(store.contacts().unwrap().count().unwrap(), count_of(name));
        clean(&store);
    }
}

/// Earlier versions made the schema first, and gave the store what it begins with after that: who was
/// killed between left tables with nothing in them.
#[test]
fn a_store_that_was_only_half_made_is_begun_by_the_next() {
    for name in ["v1.etui", "v2.etui"] {
        let (_dir, path) = copy_of(name);
        let conn = Connection::open(&path).unwrap();
        let tables = column(
            &conn,
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        );
        for table in tables {
            conn.execute_batch(&format!("DELETE FROM \"{table}\""))
                .unwrap();
        }
        conn.close().unwrap();
        let store = Store::open_with(&path, &german()).unwrap();
        assert_eq!(store.locale().unwrap(), "de");
        store.contacts().unwrap().save(&card("a", "A")).unwrap();
        assert_eq!(store.calendar().unwrap().count().unwrap(), 0);
        clean(&store);
    }
}

/// What the schema lacks is nothing that somebody could rename.
#[test]
fn a_store_that_lacks_something_is_not_told_of_a_name() {
    let (_dir, path) = copy_of("v2.etui");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("DROP TABLE inbox").unwrap();
    conn.close().unwrap();
    let before = fs::read(&path).unwrap();
    let told = Store::open(&path)
        .err()
        .expect("it lacks something")
        .to_string();
    assert!(
        told.contains("inbox") && !told.contains("of your own"),
        "{told}"
    );
    assert!(fs::read(&path).unwrap() == before);
}

/// Opening to read changes nothing, so a store that would have to be migrated is refused.
#[test]
fn only_reading_does_not_migrate() {
    for (name, version) in [("v1.etui", 1), ("v2.etui", 2)] {
        if version == Store::schema_version() {
            continue;
        }
        let (_dir, path) = copy_of(name);
        let before = fs::read(&path).unwrap();
        let error = Store::open_with(&path, &reading())
            .err()
            .expect("it is refused");
        assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
        assert!(fs::read(&path).unwrap() == before);
    }
}

/// Another process that has the file open and says so; it ends when its input does.
struct Other {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Other {
    fn start(role: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "another_process", "--nocapture"])
            .env(ROLE, role)
            .env(STORE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn told(&mut self) -> String {
        let told = self
            .lines
            .find_map(|l| l.unwrap().strip_prefix('@').map(str::to_owned));
        told.expect("it tells something")
    }

    /// Lets it go on; what it tells then.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let told = self.told();
        assert!(self.child.wait().unwrap().success());
        told
    }
}

#[test]
fn another_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let path = PathBuf::from(std::env::var_os(STORE).unwrap());
    let tell = |what: &str| {
        let mut out = std::io::stdout().lock();
        out.write_all(format!("\n@{what}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    };
    let wait = || std::io::stdin().lines().for_each(drop);
    match role.as_str() {
        "open" => {
            let store = Store::open(&path).unwrap();
            clean(&store);
            tell(&store.contacts().unwrap().count().unwrap().to_string());
        }
        "read" => {
            let conn = Connection::open(&path).unwrap();
            conn.execute_batch("BEGIN").unwrap();
            let count = || -> i64 {
                let query = "SELECT count(*) FROM contact WHERE book = 'Contacts'";
                conn.query_row(query, [], |r| r.get(0)).unwrap()
            };
            let before = count();
            tell("open");
            wait();
            assert_eq!(count(), before, "it reads one state");
            conn.execute_batch("COMMIT").unwrap();
            tell(&count().to_string());
        }
        "write" => {
            let conn = Connection::open(&path).unwrap();
            let write = "BEGIN IMMEDIATE; UPDATE contact SET vcard = vcard WHERE uid = 'none'";
            conn.execute_batch(write).unwrap();
            tell("open");
            wait();
            conn.execute_batch("COMMIT").unwrap();
            tell("done");
        }
        role => panic!("{role}"),
    }
}

/// The number of contacts in the first address book of a fixture.
fn count_of(name: &str) -> u64 {
    let (_dir, path) = copy_of(name);
    let store = Store::open(&path).unwrap();
    store.contacts().unwrap().count().unwrap()
}

#[test]
fn a_store_that_another_process_reads_is_migrated() {
    for name in ["v1.etui", "v2.etui"] {
        let (_dir, path) = copy_of(name);
        let mut other = Other::start("read", &path);
        assert_eq!(other.told(), "open");
        let store = Store::open(&path).unwrap();
        let count = store.contacts().unwrap().count().unwrap();
        assert_eq!(count, count_of(name));
        clean(&store);
        assert_eq!(
            other.end(),
            count.to_string(),
            "the view is there as before"
        );
        store.close().unwrap();
        clean(&Store::open(&path).unwrap());
    }
}

#[test]
fn a_migration_waits_for_another_process_that_writes() {
    for (name, version) in [("v1.etui", 1), ("v2.etui", 2)] {
        let (_dir, path) = copy_of(name);
        let mut other = Other::start("write", &path);
        assert_eq!(other.told(), "open");
        if version < Store::schema_version() {
            let mut hasty = Options::default();
            hasty.busy_timeout = Duration::from_millis(50);
            assert!(
                Store::open_with(&path, &hasty).is_err(),
                "{name}: it is being written"
            );
        }
        let opening = std::thread::spawn({
            let path = path.clone();
            move || {
                Store::open(path)
                    .unwrap()
                    .contacts()
                    .unwrap()
                    .count()
                    .unwrap()
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(other.end(), "done");
        assert_eq!(opening.join().unwrap(), count_of(name));
        clean(&Store::open(&path).unwrap());
    }
}

#[test]
fn several_processes_migrate_one_store_at_once() {
    for name in ["v1.etui", "v2.etui"] {
        let (_dir, path) = copy_of(name);
        let others: Vec<Other> = (0..4).map(|_| Other::start("open", &path)).collect();
        for other in others {
            assert_eq!(other.end(), count_of(name).to_string(), "{name}");
        }
    }
}

#[test]
fn a_migration_that_is_killed_leaves_the_old_store_or_the_new_one() {
    let today = made_today();
    for millis in 0..12 {
        let (_dir, path) = copy_of("v2.etui");
        let mut other = Other::start("open", &path);
        std::thread::sleep(Duration::from_millis(millis * 2));
        other.child.kill().unwrap();
        other.child.wait().unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(Contents::of(&store), today);
        clean(&store);
    }
}
