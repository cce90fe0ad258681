//! Stores are migrated to a next schema version: everything is found, nothing is changed, whatever
//! other processes do with the file.
//!
//! There is one schema version so far; the next one is made up ([`NEXT_VERSION`]).

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::{NEXT_VERSION, card, clean, directory, german, reading, vcard};
use etui::contacts::{Card, Contact, ListEntry, Paging};
use etui::{Changes, Error, Options, RecordChange, Store, SyncToken, Vfs};
use etui_testkit::fixtures::ALL;
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use rusqlite::Connection;

const STORE: &str = "ETUI_TEST_STORE";
const ROLE: &str = "ETUI_TEST_ROLE";

/// Options of the next version of the library.
fn next_version() -> Options {
    let mut options = german();
    options.extra_migrations = NEXT_VERSION;
    options
}

fn open_next(path: &Path) -> Store {
    Store::open_with(path, &next_version()).unwrap()
}

/// Fills a store: cards of all kinds, some of them edited, removed or restored, in three address
/// books; an index that lacks the latest changes; and unread writes of plain SQLite.
fn fill(path: &Path) {
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
        .map(|i| Card::parse(numbered_card(i)).unwrap())
        .collect();
    contacts.save_many(&cards).unwrap();
    store.maintenance().merge_index().unwrap();
    contacts.remove_many(&["v2-7", "v2-8", "v2-9"]).unwrap();
    contacts.restore("v2-8").unwrap();
    contacts.save(&card("v2-10", "Edited")).unwrap();
    contacts.save(&card("v2-10", "Edited twice")).unwrap();
    let work = store.collections::<Card>().create("Work").unwrap();
    work.save(&card("v2-0", "Colleague")).unwrap();
    work.save(&card("gone", "Gone")).unwrap();
    work.remove("gone").unwrap();
    store
        .collections::<Card>()
        .create("Vereine & Clubs")
        .unwrap();
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

fn numbered_card(i: u32) -> String {
    format!(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:v2-{i}\r\nN:Łukasiewicz {i};Jürgen;;;\r\n\
         FN:Jürgen Łukasiewicz {i}\r\nORG:Beispiel {}\r\nTEL:tel:+49-30-23125-{i:03}\r\n\
         EMAIL:v2.{i}@example.org\r\nNOTE:Nummer {i}\r\nEND:VCARD\r\n",
        i % 4
    )
}

/// The contents of an address book.
#[derive(Debug, PartialEq)]
struct Book {
    name: String,
    list: Vec<ListEntry>,
    contacts: Vec<Contact>,
    trash: Vec<Contact>,
    /// Results of each of [`FILTERS`].
    found: Vec<Vec<ListEntry>>,
}

/// The contents of a store.
#[derive(Debug, PartialEq)]
struct Contents {
    locale: String,
    region: Option<String>,
    books: Vec<Book>,
    /// Changes since the cards were saved.
    changes: Vec<RecordChange>,
    write_queue: Vec<String>,
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
        let books = store
            .collections::<Card>()
            .names()
            .unwrap()
            .into_iter()
            .map(|name| {
                let book = store.collection::<Card>(&name).unwrap();
                let list = book.list(Paging::ALL).unwrap();
                let contact = |entry: &ListEntry| book.get(entry.id).unwrap().unwrap();
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
            locale: store.settings().locale,
            region: store.settings().region.map(|r| r.code().to_owned()),
            books,
            changes,
            write_queue: store.check().unwrap().write_queue,
        }
    }
}

/// A filled store of the present version, and its contents.
fn filled() -> (tempfile::TempDir, PathBuf, Contents) {
    let (dir, path) = directory();
    fill(&path);
    // Not with `path`: the writes of plain SQLite stay in the queue.
    let copy = dir.path().join("copy.etui");
    fs::copy(&path, &copy).unwrap();
    let contents = Contents::of(&Store::open(&copy).unwrap());
    (dir, path, contents)
}

fn user_version(path: &Path) -> i64 {
    let conn = Connection::open(path).unwrap();
    conn.pragma_query_value(None, "user_version", |r| r.get(0))
        .unwrap()
}

#[test]
fn a_store_is_migrated() {
    for vfs in [Vfs::System, Vfs::RedoLog] {
        let (_dir, path, before) = filled();
        assert!(before.changes.len() > 10 && before.write_queue.len() == 1);
        assert!(before.books[0].found.iter().all(|found| !found.is_empty()));
        let mut options = next_version();
        options.vfs = vfs;
        for _ in 0..2 {
            let store = Store::open_with(&path, &options).unwrap();
            assert_eq!(Contents::of(&store), before);
            clean(&store);
            store.close().unwrap();
        }
        assert_eq!(user_version(&path), etui::SCHEMA_VERSION + 1);
        // It can be written as any other.
        let store = Store::open_with(&path, &options).unwrap();
        let contacts = store.contacts().unwrap();
        let count = contacts.count().unwrap();
        contacts.restore("v2-7").unwrap();
        contacts.save(&card("new", "Łukas New")).unwrap();
        contacts.save(&card("v2-3", "Łukas Changed")).unwrap();
        store.maintenance().merge_index().unwrap();
        let found = contacts.find(&"name:łukas*".parse().unwrap()).unwrap();
        assert_eq!(found.len(), before.books[0].found[1].len() + 2);
        assert_eq!(contacts.count().unwrap(), count + 2);
        clean(&store);
        store.close().unwrap();
    }
}

#[test]
fn an_older_program_refuses_the_store() {
    let (_dir, path, _) = filled();
    open_next(&path).close().unwrap();
    let bytes = fs::read(&path).unwrap();
    let error = Store::open(&path).err().expect("it is newer");
    assert!(
        matches!(error, Error::Newer { found, known, .. } if found == known + 1),
        "{error:?}"
    );
    assert!(fs::read(&path).unwrap() == bytes);
}

/// Views of the user read what they read before, also over a table that is recreated.
#[test]
fn a_view_of_the_user_stays() {
    let (_dir, path, before) = filled();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "CREATE VIEW mine AS SELECT uid, text FROM item ORDER BY uid; \
         CREATE VIEW spans AS SELECT count(*) FROM list_span; \
         CREATE INDEX own ON term_posting (first)",
    )
    .unwrap();
    let count = |conn: &Connection| -> i64 {
        conn.query_row("SELECT count(text) FROM mine", [], |r| r.get(0))
            .unwrap()
    };
    let records = count(&conn);
    assert!(records > 10);
    conn.close().unwrap();
    let store = open_next(&path);
    assert_eq!(Contents::of(&store), before);
    clean(&store);
    store.close().unwrap();
    let conn = Connection::open(&path).unwrap();
    // The writes in the queue were applied: one insert, one delete.
    assert_eq!(count(&conn), records);
    let spans: i64 = conn
        .query_row("SELECT * FROM spans", [], |r| r.get(0))
        .unwrap();
    assert!(spans > 0);
}

/// A table, view or index of the user may have a name that the next schema needs. That is
/// explained, and nothing is changed; once it is renamed, the store is migrated.
#[test]
fn a_name_conflict_is_explained() {
    for (make, undo) in [
        ("CREATE TABLE note (x)", "DROP TABLE note"),
        ("CREATE INDEX note ON record (changed)", "DROP INDEX note"),
        ("CREATE VIEW note AS SELECT 7 x", "DROP VIEW note"),
        (
            "CREATE TABLE list_span_before (x)",
            "ALTER TABLE list_span_before RENAME TO things",
        ),
    ] {
        let (_dir, path, before) = filled();
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(make).unwrap();
        conn.close().unwrap();
        let bytes = fs::read(&path).unwrap();
        let error = Store::open_with(&path, &next_version())
            .err()
            .expect("the name is taken");
        assert!(matches!(error, Error::Sqlite(_)), "{make}: {error:?}");
        let message = error.to_string();
        assert!(
            message.contains("cannot be migrated to schema version 2, and is unchanged"),
            "{message}"
        );
        assert!(
            message.contains("note") || message.contains("list_span_before"),
            "{message}"
        );
        assert!(!message.contains("CREATE"), "{message}");
        assert!(fs::read(&path).unwrap() == bytes, "{make}");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(undo).unwrap();
        conn.close().unwrap();
        let store = open_next(&path);
        assert_eq!(Contents::of(&store), before);
        clean(&store);
    }
}

/// A schema without contents, such as another program may create, is initialized.
#[test]
fn a_store_without_identity_is_initialized() {
    let (_dir, path, _) = filled();
    let conn = Connection::open(&path).unwrap();
    let tables: Vec<String> = {
        let named = "SELECT name FROM sqlite_schema \
                     WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let mut tables = conn.prepare(named).unwrap();
        let tables = tables.query_map([], |r| r.get(0)).unwrap();
        tables.collect::<Result<_, _>>().unwrap()
    };
    for table in tables {
        conn.execute_batch(&format!("DELETE FROM \"{table}\""))
            .unwrap();
    }
    drop(conn);
    let store = open_next(&path);
    assert_eq!(store.settings().locale, "de");
    store.contacts().unwrap().save(&card("a", "A")).unwrap();
    assert_eq!(store.calendar().unwrap().count().unwrap(), 0);
    clean(&store);
}

/// A missing table is no name conflict.
#[test]
fn a_store_that_lacks_a_table_is_not_migrated() {
    let (_dir, path, _) = filled();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("DROP TABLE change").unwrap();
    conn.close().unwrap();
    let bytes = fs::read(&path).unwrap();
    let message = Store::open_with(&path, &next_version())
        .err()
        .expect("it lacks a table")
        .to_string();
    assert!(
        message.contains("change") && !message.contains("of your own"),
        "{message}"
    );
    assert!(fs::read(&path).unwrap() == bytes);
}

/// Opening to read changes nothing, so a store that has to be migrated is refused.
#[test]
fn only_reading_does_not_migrate() {
    let (_dir, path, _) = filled();
    let bytes = fs::read(&path).unwrap();
    let mut options = reading();
    options.extra_migrations = NEXT_VERSION;
    let error = Store::open_with(&path, &options)
        .err()
        .expect("it is refused");
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    assert!(fs::read(&path).unwrap() == bytes);
}

/// Another process that has the file open and reports it; it ends when its input does.
struct Other {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Other {
    fn start(role: &str, path: &Path) -> Self {
        let mut child = ProgramOfTest::new(another_process)
            .command()
            .unwrap()
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

    /// Closes its input, and returns its report.
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
        "open" | "begin and open" => {
            if role != "open" {
                tell("begins");
            }
            let store = open_next(&path);
            clean(&store);
            tell(&store.contacts().unwrap().count().unwrap().to_string());
        }
        "read" => {
            let conn = Connection::open(&path).unwrap();
            conn.execute_batch("BEGIN").unwrap();
            let count = || -> i64 {
                let query = "SELECT count(*) FROM item WHERE book = 'Contacts'";
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
            let write = "BEGIN IMMEDIATE; UPDATE item SET text = text WHERE uid = 'none'";
            conn.execute_batch(write).unwrap();
            tell("open");
            wait();
            conn.execute_batch("COMMIT").unwrap();
            tell("done");
        }
        role => panic!("{role}"),
    }
}

#[test]
fn a_store_that_another_process_reads_is_migrated() {
    let (_dir, path, before) = filled();
    let mut other = Other::start("read", &path);
    assert_eq!(other.told(), "open");
    let store = open_next(&path);
    assert_eq!(Contents::of(&store), before);
    clean(&store);
    assert_eq!(
        other.end(),
        before.books[0].list.len().to_string(),
        "the view reads the migrated tables"
    );
    store.close().unwrap();
    clean(&open_next(&path));
}

#[test]
fn a_migration_waits_for_another_process_that_writes() {
    let (_dir, path, before) = filled();
    let mut other = Other::start("write", &path);
    assert_eq!(other.told(), "open");
    let mut hasty = next_version();
    hasty.busy_timeout = Duration::from_millis(50);
    assert!(
        Store::open_with(&path, &hasty).is_err(),
        "it is being written"
    );
    let opening = std::thread::spawn({
        let path = path.clone();
        move || open_next(&path).contacts().unwrap().count().unwrap()
    });
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(other.end(), "done");
    assert_eq!(opening.join().unwrap(), before.books[0].list.len() as u64);
    clean(&open_next(&path));
}

#[test]
fn several_processes_migrate_one_store_at_once() {
    let (_dir, path, before) = filled();
    let others: Vec<Other> = (0..4).map(|_| Other::start("open", &path)).collect();
    for other in others {
        assert_eq!(other.end(), before.books[0].list.len().to_string());
    }
}

#[test]
fn a_migration_that_is_killed_leaves_the_old_store_or_the_new_one() {
    // It starts many processes.
    if !in_own_process(a_migration_that_is_killed_leaves_the_old_store_or_the_new_one) {
        return;
    }
    for millis in 0..12 {
        let (_dir, path, before) = filled();
        let mut other = Other::start("begin and open", &path);
        assert_eq!(other.told(), "begins");
        std::thread::sleep(Duration::from_millis(millis * 2));
        other.child.kill().unwrap();
        other.child.wait().unwrap();
        let store = open_next(&path);
        assert_eq!(Contents::of(&store), before);
        clean(&store);
    }
}
