//! Views report each addition, change and removal once and in order, to readers in the same thread,
//! other threads and other processes. `views/model.rs` compares them with `find`, `views/storm.rs`
//! kills writers and readers.

mod model;
mod storm;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{card, clean, directory, german, names};
use etui::contacts::{
    Card, Contacts, Field, Filter, Paging, Summary, View, ViewChange, ViewChanges,
};
use etui::{ChangeKind, Durability, Options, RecordId, Store};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use etui_testkit::rng::SplitMix64;
use etui_testkit::wait::wait_until;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Timeout after which a wake-up counts as lost.
const PATIENCE: Duration = Duration::from_secs(120);

fn quick() -> Options {
    let mut options = german();
    options.durability = Durability::Deferred;
    options
}

fn filter(text: &str) -> Filter {
    text.parse().unwrap()
}

fn since(changes: ViewChanges) -> Vec<ViewChange> {
    match changes {
        ViewChanges::Since(all) => all,
        ViewChanges::Reset => panic!("a reset"),
    }
}

/// Formats changes as `+a`, `~a`, `-a`.
fn short(changes: ViewChanges) -> Vec<String> {
    since(changes)
        .iter()
        .map(|c| {
            let sign = match c.kind {
                ChangeKind::Added => '+',
                ChangeKind::Changed => '~',
                ChangeKind::Removed => '-',
            };
            format!("{sign}{}", c.uid)
        })
        .collect()
}

fn changes(view: &mut View) -> Vec<String> {
    short(view.changes().unwrap())
}

/// Applies a view's changes. Panics if a change contradicts the earlier ones.
#[derive(Default)]
struct Follower {
    entries: BTreeMap<RecordId, Summary>,
    last: i64,
}

impl Follower {
    fn apply(&mut self, changes: Vec<ViewChange>) {
        for change in changes {
            assert!(change.number > self.last, "{change:?} after {}", self.last);
            self.last = change.number;
            let known = match change.kind {
                ChangeKind::Removed => self.entries.remove(&change.id),
                _ => self.entries.insert(change.id, change.summary.clone()),
            };
            assert_eq!(
                known.is_some(),
                change.kind != ChangeKind::Added,
                "{change:?}"
            );
        }
    }

    fn check(&self, contacts: &Contacts, filter: &Filter) {
        let found = contacts.find(filter).unwrap();
        let found: BTreeMap<_, _> = found.into_iter().map(|e| (e.id, e.summary)).collect();
        assert_eq!(self.entries, found, "{filter}");
    }
}

#[test]
fn every_transition_is_reported() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts
        .save_many(&[
            card("in", "Anna"),
            card("out", "Berta"),
            card("old", "Anna Alt"),
        ])
        .unwrap();
    let mut view = contacts.view(&filter("name:ann*")).unwrap();
    assert_eq!(changes(&mut view), [""; 0], "from now on");

    contacts.save(&card("new", "Annika")).unwrap();
    assert_eq!(changes(&mut view), ["+new"]);
    contacts.save(&card("other", "Gerda")).unwrap();
    assert_eq!(changes(&mut view), [""; 0]);
    contacts.save(&card("in", "Anna Maria")).unwrap();
    let edited = since(view.changes().unwrap());
    assert_eq!(edited[0].kind, ChangeKind::Changed);
    assert_eq!(edited[0].summary.name, "Anna Maria");
    assert_eq!(edited[0].fields, [Field::Display, Field::Family]);
    contacts.save(&card("in", "Anna Maria")).unwrap();
    assert_eq!(changes(&mut view), [""; 0], "saved unchanged");
    contacts.save(&card("in", "Maria")).unwrap();
    let gone = since(view.changes().unwrap());
    assert_eq!(gone[0].kind, ChangeKind::Removed);
    assert_eq!(gone[0].summary.name, "Maria", "the summary now");
    contacts.save(&card("in", "Maria Magdalena")).unwrap();
    assert_eq!(changes(&mut view), [""; 0], "no match before and after");
    contacts.save(&card("in", "Anna")).unwrap();
    assert_eq!(changes(&mut view), ["+in"]);
    contacts.restore("in").unwrap();
    assert_eq!(changes(&mut view), ["-in"], "the rename was undone");
    contacts.restore("in").unwrap();
    assert_eq!(changes(&mut view), ["+in"]);
    contacts.remove("in").unwrap();
    let removed = since(view.changes().unwrap());
    assert_eq!(removed[0].kind, ChangeKind::Removed);
    assert_eq!(removed[0].summary.name, "Anna", "the last summary");
    contacts.restore("in").unwrap();
    assert_eq!(changes(&mut view), ["+in"]);
    contacts.remove("out").unwrap();
    contacts.restore("out").unwrap();
    assert_eq!(changes(&mut view), [""; 0]);
    contacts.remove("other").unwrap();
    contacts.save(&card("other", "Anna")).unwrap();
    assert_eq!(changes(&mut view), ["+other"]);
    let work = store.collections::<Card>().create("Work").unwrap();
    work.save(&card("in", "Anna at work")).unwrap();
    assert_eq!(changes(&mut view), [""; 0], "another address book");

    // A property that is not indexed.
    let with_photo = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:old\r\nN:Anna Alt;;;;\r\nFN:Anna Alt\r\n\
                      PHOTO;VALUE=uri:http://example.org/a.jpg\r\nEND:VCARD\r\n";
    contacts.save(&Card::parse(with_photo).unwrap()).unwrap();
    let edited = since(view.changes().unwrap());
    assert_eq!(
        (edited[0].kind, &edited[0].fields[..]),
        (ChangeKind::Changed, &[][..])
    );
    clean(&store);
}

#[test]
fn changes_between_two_reads_are_merged() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "Anna")).unwrap();
    contacts.save(&card("b", "Anna B")).unwrap();
    let mut view = contacts.view(&filter("anna")).unwrap();

    contacts.save(&card("c", "Anna C")).unwrap();
    contacts.save(&card("c", "Anna Cc")).unwrap();
    contacts.remove("c").unwrap();
    assert_eq!(changes(&mut view), [""; 0]);

    contacts.save(&card("a", "Anna 1")).unwrap();
    contacts.save(&card("a", "Anna")).unwrap();
    assert_eq!(changes(&mut view), [""; 0], "an edit that was undone");
    contacts.remove("b").unwrap();
    contacts.restore("b").unwrap();
    assert_eq!(changes(&mut view), [""; 0], "a removal that was undone");

    for i in 0..50 {
        contacts.save(&card("a", &format!("Anna {i}"))).unwrap();
    }
    contacts.save(&card("b", "Berta")).unwrap();
    contacts.save(&card("c", "Anna C")).unwrap();
    contacts.save(&card("a", "Anna 50")).unwrap();
    assert_eq!(changes(&mut view), ["-b", "+c", "~a"], "by latest changes");
    assert_eq!(changes(&mut view), [""; 0]);
}

#[test]
fn pages_and_changes_are_of_one_state() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    let some: Vec<_> = (0..30)
        .map(|i| card(&format!("{i:02}"), &format!("Anna {i:02}")))
        .collect();
    contacts.save_many(&some).unwrap();
    let mut view = contacts.view(&filter("anna")).unwrap();
    let first = view.load(Paging::first(10)).unwrap();
    assert!(first.changes.is_empty());
    assert_eq!(first.entries.len(), 10);
    contacts.save(&card("03", "Anna 03 new")).unwrap();
    contacts.remove("07").unwrap();
    let rest = view
        .load(Paging {
            offset: 9,
            limit: 100,
        })
        .unwrap();
    assert_eq!(short(rest.changes), ["~03", "-07"]);
    assert_eq!(rest.entries.len(), 20);
    assert_eq!(rest.entries[0].summary.name, "Anna 10");
    assert!(view.changes().unwrap().is_empty());
}

fn readable(view: &View, timeout: Duration) -> bool {
    let descriptor = view.descriptor().unwrap();
    let timeout = Timespec::try_from(timeout).unwrap();
    poll(
        &mut [PollFd::new(&descriptor, PollFlags::IN)],
        Some(&timeout),
    )
    .unwrap()
        > 0
}

#[test]
fn a_descriptor_is_readable_while_there_are_changes() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    let mut view = contacts.view(&filter("name:ann*")).unwrap();
    assert!(!readable(&view, Duration::ZERO));
    for round in 0..20 {
        contacts.save(&card("a", &format!("Anna {round}"))).unwrap();
        assert!(readable(&view, PATIENCE));
        assert!(readable(&view, Duration::ZERO), "until it is read");
        assert_eq!(changes(&mut view).len(), 1);
        assert!(!readable(&view, Duration::ZERO));
    }
    contacts.save(&card("b", "Berta")).unwrap();
    assert!(!readable(&view, Duration::from_millis(50)), "not affected");

    // A view whose descriptor is created after the change.
    let late = contacts.view(&filter("name:ann*")).unwrap();
    contacts.save(&card("a", "Anna at last")).unwrap();
    assert!(readable(&view, PATIENCE));
    assert!(readable(&late, PATIENCE));
}

/// No record changes when a collection is renamed or removed.
#[test]
fn a_view_reports_rename_and_removal_of_its_collection() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let other = Store::open_with(&path, &quick()).unwrap();
    let work = store.collections::<Card>().create("Work").unwrap();
    let mut view = work.view(&filter("name:ann*")).unwrap();
    let mut home = store.contacts().unwrap().view(&filter("*")).unwrap();
    let read_woken = |view: &mut View| {
        assert!(readable(view, PATIENCE));
        let (changes, name) = view.changes_and_name().unwrap();
        (short(changes), name)
    };
    let nothing: Vec<String> = Vec::new();
    assert_eq!(
        view.changes_and_name().unwrap().1.as_deref(),
        Some("Work"),
        "unchanged"
    );

    other.collections::<Card>().rename("Work", "Job").unwrap();
    assert_eq!(read_woken(&mut view), (nothing.clone(), Some("Job".into())));
    // Empty, then with records that do not match, then with one that does.
    other.collections::<Card>().remove("Job").unwrap();
    assert_eq!(read_woken(&mut view), (nothing.clone(), None));
    other.collections::<Card>().restore("Job").unwrap();
    assert_eq!(read_woken(&mut view), (nothing.clone(), Some("Job".into())));
    work.save(&card("b", "Berta")).unwrap();
    other.collections::<Card>().remove("Job").unwrap();
    assert_eq!(read_woken(&mut view), (nothing.clone(), None));
    other.collections::<Card>().restore("Job").unwrap();
    assert_eq!(read_woken(&mut view), (nothing, Some("Job".into())));
    work.save(&card("a", "Anna")).unwrap();
    assert_eq!(read_woken(&mut view).0, ["+a"]);
    other.collections::<Card>().remove("Job").unwrap();
    assert!(readable(&view, PATIENCE));
    assert_eq!(read_woken(&mut view), (vec!["-a".to_owned()], None));

    assert!(!readable(&home, Duration::from_millis(50)), "not affected");
    assert_eq!(
        home.changes_and_name().unwrap().1.as_deref(),
        Some("Contacts")
    );
    other.collections::<Card>().create("New").unwrap();
    let (changes, name) = read_woken(&mut home);
    assert!(changes.is_empty());
    assert_eq!(name.as_deref(), Some("Contacts"));
}

#[test]
fn waiting_ends_with_a_change_or_in_time() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    let mut view = contacts.view(&filter("name:ann*")).unwrap();
    let begun = Instant::now();
    assert_eq!(view.wait(Some(Duration::from_millis(30))).unwrap(), None);
    assert!(begun.elapsed() >= Duration::from_millis(30));
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let first = short(view.wait(Some(PATIENCE)).unwrap().unwrap());
            (first, view)
        });
        std::thread::sleep(Duration::from_millis(20));
        contacts.save(&card("b", "Berta")).unwrap();
        contacts.save(&card("a", "Anna")).unwrap();
        let (first, view) = reader.join().unwrap();
        assert_eq!(first, ["+a"]);
        drop(view);
    });
    drop(contacts);
    store.close().unwrap();
}

#[test]
fn a_token_continues_a_view() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "Anna")).unwrap();
    let token = contacts.view(&Filter::All).unwrap().token();
    assert_eq!(token, store.token().unwrap());
    contacts.save(&card("b", "Berta")).unwrap();
    store.close().unwrap();

    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    let mut view = contacts.view_since(&Filter::All, token).unwrap();
    assert_eq!(view.token(), token);
    assert!(readable(&view, Duration::ZERO));
    assert_eq!(short(view.wait(None).unwrap().unwrap()), ["+b"]);
    assert_eq!(view.token(), store.token().unwrap());

    // Changes that do not match advance a view, too: the change log is trimmed.
    let mut idle = contacts.view(&filter("zz")).unwrap();
    contacts.save(&card("c", "Carla")).unwrap();
    wait_until("the token of a view without changes", || {
        idle.token() == store.token().unwrap()
    });
    assert_eq!(changes(&mut idle), [""; 0]);
}

#[test]
fn many_threads_follow_many_writers() {
    const WRITERS: u32 = 4;
    const SAVES: u32 = 150;
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    let filters = [
        "*",
        "name:ann*",
        "-ann",
        "name:x or org:y",
        "phone:*",
        "final",
    ];
    std::thread::scope(|scope| {
        for text in filters.iter().cycle().take(18) {
            let contacts = &contacts;
            let mut view = contacts.view(&filter(text)).unwrap();
            let wanted = filter(text).or(filter("final"));
            let mut end = contacts.view(&wanted).unwrap();
            scope.spawn(move || {
                let mut follower = Follower::default();
                let mut finals = 0;
                while finals < WRITERS {
                    let all = since(end.wait(Some(PATIENCE)).unwrap().expect("a lost wakeup"));
                    let is_final = |c: &&ViewChange| c.summary.name.starts_with("Final");
                    finals += all.iter().filter(is_final).count() as u32;
                    follower.apply(since(view.changes().unwrap()));
                }
                follower.apply(since(view.changes().unwrap()));
                follower.check(contacts, &filter(text));
            });
        }
        for writer in 0..WRITERS {
            let contacts = &contacts;
            scope.spawn(move || {
                let mut rng = SplitMix64::new(writer.into());
                for save in 0..SAVES {
                    let uid = format!("{writer}-{}", rng.below(20));
                    let name = ["Anna", "Berta", "X"][rng.below(3) as usize];
                    match rng.below(4) {
                        0 => drop(contacts.remove(&uid)),
                        _ => drop(
                            contacts
                                .save(&card(&uid, &format!("{name} {save}")))
                                .unwrap(),
                        ),
                    }
                }
                contacts
                    .save(&card(&format!("final-{writer}"), "Final"))
                    .unwrap();
            });
        }
    });
    clean(&store);
    drop(contacts);
    store.close().unwrap();
    assert_eq!(names(path.parent().unwrap()), ["personal.etui"]);
}

/// A view that is never read does not delay writers; its changes are merged.
#[test]
fn a_slow_reader_blocks_nobody() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    let mut slow = contacts.view(&Filter::All).unwrap();
    for i in 0..500 {
        contacts.save(&card("a", &format!("Anna {i}"))).unwrap();
    }
    assert_eq!(changes(&mut slow), ["+a"]);
}

#[test]
fn the_watch_file_exists_while_a_view_is_open() {
    // What is closed has no locks: a child that another test starts would have them for a moment.
    if !in_own_process(the_watch_file_exists_while_a_view_is_open) {
        return;
    }
    let (dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    let watch = dir.path().join("personal.etui-watch");
    // A file left by a killed program.
    std::fs::write(&watch, "").unwrap();
    contacts.save(&card("a", "Anna")).unwrap();
    let view = contacts.view(&Filter::All).unwrap();
    let another = contacts.view(&Filter::All).unwrap();
    let connections = store.maintenance().memory().connections;
    drop(view);
    assert!(watch.exists());
    drop(another);
    assert!(!watch.exists(), "the last one removed it");
    assert!(store.maintenance().memory().connections <= connections);
    for _ in 0..20 {
        let mut view = contacts.view(&Filter::All).unwrap();
        contacts.save(&card("b", "Berta")).unwrap();
        assert_eq!(short(view.wait(Some(PATIENCE)).unwrap().unwrap()), ["+b"]);
        contacts.remove("b").unwrap();
        assert_eq!(short(view.wait(Some(PATIENCE)).unwrap().unwrap()), ["-b"]);
        // Another program deletes the file.
        std::fs::remove_file(&watch).unwrap();
    }
    assert!(!watch.exists());
}

/// Without a watch file, changes by other stores are polled for, and changes by the same store wake
/// views at once.
#[test]
fn views_work_without_a_watch_file() {
    let (dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    std::fs::create_dir(dir.path().join("personal.etui-watch")).unwrap();
    let mut view = contacts.view(&Filter::All).unwrap();
    contacts.save(&card("a", "Anna")).unwrap();
    assert_eq!(short(view.wait(Some(PATIENCE)).unwrap().unwrap()), ["+a"]);
    let other = Store::open_with(&path, &quick()).unwrap();
    other.contacts().unwrap().save(&card("b", "Berta")).unwrap();
    assert_eq!(short(view.wait(Some(PATIENCE)).unwrap().unwrap()), ["+b"]);
}

#[test]
fn a_read_only_store_has_views() {
    // What is closed has no locks: a child that another test starts would have them for a moment.
    if !in_own_process(a_read_only_store_has_views) {
        return;
    }
    let (dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let reading = Store::open_with(&path, &crate::support::reading()).unwrap();
    // A symbolic link to the same store.
    let link = dir.path().join("link.etui");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let linked = Store::open_with(&link, &crate::support::reading()).unwrap();
    for reading in [reading, linked] {
        let contacts = reading.contacts().unwrap();
        let mut view = contacts.view(&Filter::All).unwrap();
        store.contacts().unwrap().save(&card("a", "Anna")).unwrap();
        assert_eq!(short(view.wait(Some(PATIENCE)).unwrap().unwrap()), ["+a"]);
        store.contacts().unwrap().remove("a").unwrap();
    }
    assert_eq!(
        names(dir.path())
            .iter()
            .filter(|n| n.ends_with("-watch"))
            .count(),
        0
    );
}

fn is_reset(changes: ViewChanges) -> bool {
    changes == ViewChanges::Reset
}

#[test]
fn two_copies_of_a_file_are_two_stores() {
    let (dir, path) = directory();
    let copy = dir.path().join("copy.etui");
    let store = Store::open_with(&path, &quick()).unwrap();
    store.contacts().unwrap().save(&card("a", "Anna")).unwrap();
    store.close().unwrap();
    std::fs::copy(&path, &copy).unwrap();

    let copied = Store::open_with(&copy, &quick()).unwrap();
    let contacts = copied.contacts().unwrap();
    let mut view = contacts.view(&Filter::All).unwrap();
    let before = view.token();
    contacts.save(&card("b", "Berta")).unwrap();
    // The first write makes the copy a store of its own, which does not know the original's tokens.
    assert!(is_reset(view.wait(Some(PATIENCE)).unwrap().unwrap()));
    assert_eq!(changes(&mut view), [""; 0], "once");
    contacts.save(&card("c", "Carla")).unwrap();
    assert_eq!(short(view.wait(Some(PATIENCE)).unwrap().unwrap()), ["+c"]);
    let mut old = contacts.view_since(&Filter::All, before).unwrap();
    assert!(is_reset(old.changes().unwrap()));

    // A token from the future.
    let mut token = copied.token().unwrap();
    token.seq += 1;
    let mut future = contacts.view_since(&Filter::All, token).unwrap();
    assert!(is_reset(future.wait(Some(PATIENCE)).unwrap().unwrap()));
}

#[test]
fn a_trimmed_log_is_a_reset() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "Anna")).unwrap();
    let start = store.token().unwrap();
    let mut woken = contacts.view(&Filter::All).unwrap();
    let mut idle = contacts.view(&filter("zz")).unwrap();
    for i in 0..1_100 {
        contacts.save(&card("a", &format!("Anna {i}"))).unwrap();
    }
    // The retention period of the older changes is over.
    let plain = rusqlite::Connection::open(&path).unwrap();
    plain.execute("UPDATE change SET at = 0", []).unwrap();
    drop(plain);
    contacts.save(&card("a", "Anna again")).unwrap();
    store.maintenance().merge_index().unwrap();
    assert!(is_reset(woken.wait(Some(PATIENCE)).unwrap().unwrap()));
    assert_eq!(woken.token(), store.token().unwrap());
    let mut late = contacts.view_since(&Filter::All, start).unwrap();
    assert!(is_reset(late.changes().unwrap()));
    // A view without matches was advanced all the time.
    assert_eq!(changes(&mut idle), [""; 0]);
    let loaded = woken.load(Paging::ALL).unwrap();
    assert_eq!(loaded.entries.len(), 1);
}

const DYING: &str = "ETUI_TEST_VIEWS_DYING";

/// Commits without the library, and dies before views could be notified.
#[test]
fn a_child_commits_and_dies() {
    let Some(path) = std::env::var_os(DYING) else {
        return;
    };
    let plain = rusqlite::Connection::open(path).unwrap();
    let copy = "BEGIN IMMEDIATE;
        INSERT INTO record (id, collection, changed, removed_at, uid, etag, sort_key, summary, keys, text)
            SELECT id + 1, collection, id + 1, NULL, 'b', etag, sort_key, summary, keys, text
            FROM record;
        COMMIT";
    plain.execute_batch(copy).unwrap();
    std::process::abort();
}

#[test]
fn a_writer_that_dies_after_its_commit_wakes_views() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "Anna")).unwrap();
    let mut view = contacts.view(&Filter::All).unwrap();
    let status = ProgramOfTest::new(a_child_commits_and_dies)
        .command()
        .unwrap()
        .env(DYING, &path)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), None, "the child must be killed by a signal");
    assert_eq!(short(view.wait(Some(PATIENCE)).unwrap().unwrap()), ["+b"]);
}

/// Many threads open and drop views while others write.
#[test]
fn views_come_and_go_while_others_write() {
    // What is closed has no locks: a child that another test starts would have them for a moment.
    if !in_own_process(views_come_and_go_while_others_write) {
        return;
    }
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let store = &store;
            scope.spawn(move || {
                let contacts = store.contacts().unwrap();
                let uid = format!("u{thread}");
                for round in 0..40 {
                    let mut view = contacts
                        .view(&filter(&format!("name:thread{thread}")))
                        .unwrap();
                    let name = format!("thread{thread} {round}");
                    contacts.save(&card(&uid, &name)).unwrap();
                    let reported =
                        since(view.wait(Some(PATIENCE)).unwrap().expect("a lost wakeup"));
                    assert_eq!(reported.len(), 1);
                    assert_eq!(reported[0].summary.name, name);
                }
            });
        }
    });
    clean(&store);
    store.close().unwrap();
    assert_eq!(names(Path::new(path.parent().unwrap())), ["personal.etui"]);
}
