//! Many threads save at once and share their commits: each gets its own result, and acknowledged saves
//! are stored, whatever happens to other saves, the disk or the program.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{card, clean, directory, german, people};
use etui::{Condition, Error, SaveOutcome, Store};
use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};

const THREADS: usize = 16;

/// The child's task; without it the children's tests return at once.
const ROLE: &str = "ETUI_TEST_GROUP_ROLE";
const STORE: &str = "ETUI_TEST_GROUP_STORE";

fn role(wanted: &str) -> Option<PathBuf> {
    let role = std::env::var(ROLE).ok()?;
    (role.split(' ').next() == Some(wanted)).then(|| std::env::var_os(STORE).unwrap().into())
}

/// Runs this program as a child that executes `test` with `role`. `shell` may prepare the child's
/// environment; `"$@"` in it runs the child.
fn child(test: impl Fn(), role: &str, store: &Path, shell: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", shell, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(ProgramOfTest::new(test).arguments())
        .env(ROLE, role)
        .env(STORE, store)
        .stdout(Stdio::piped());
    command
}

fn tell(what: &str) {
    // The test runner may have left an unfinished line.
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@{what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn told(text: &str) -> BTreeSet<String> {
    // A line cut off by the kill has no end.
    text.split_inclusive('\n')
        .filter_map(|l| l.strip_prefix('@')?.strip_suffix('\n'))
        .map(str::to_owned)
        .collect()
}

fn uids(store: &Store) -> BTreeSet<String> {
    let contacts = store.contacts().unwrap();
    let all = contacts.all().unwrap();
    all.iter()
        .map(|(id, _)| contacts.get(id).unwrap().unwrap().uid)
        .collect()
}

/// Runs `each` in a number of threads that start at one moment.
fn at_once<T: Send>(threads: usize, each: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|i| {
                let (each, barrier) = (&each, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    each(i)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

#[test]
fn each_thread_gets_its_own_answer() {
    const SAVES: usize = 40;
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let answers = at_once(THREADS, |thread| {
        (0..SAVES)
            .map(|i| {
                let one = card(&format!("{thread}-{i}"), &format!("Name {thread} {i}"));
                let saved = contacts.save(&one).unwrap();
                assert_eq!(saved.outcome, SaveOutcome::Added);
                // An acknowledged save is visible.
                let found = contacts.get(saved.id).unwrap().unwrap();
                assert_eq!(found.uid, format!("{thread}-{i}"));
                assert_eq!(found.etag, saved.etag);
                if i % 4 == 3 {
                    contacts.remove(&format!("{thread}-{}", i - 1)).unwrap();
                }
                saved.id
            })
            .collect::<Vec<_>>()
    });
    let distinct: BTreeSet<_> = answers.iter().flatten().collect();
    assert_eq!(distinct.len(), THREADS * SAVES);
    assert_eq!(
        contacts.count().unwrap(),
        (THREADS * (SAVES - SAVES / 4)) as u64
    );
    clean(&store);
    store.close().unwrap();
}

#[test]
fn conflicts_are_told_to_whom_they_concern() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let old = contacts.save(&card("contested", "Before")).unwrap().etag;
    let now = contacts.save(&card("contested", "Now")).unwrap().etag;
    let removed = card("removed", "Removed");
    contacts.save(&removed).unwrap();
    contacts.remove("removed").unwrap();
    at_once(THREADS, |thread| {
        for i in 0..20 {
            let uid = format!("{thread}-{i}");
            match thread % 4 {
                0 => match contacts.save((&card("contested", &uid), Condition::IfMatch(old))) {
                    Err(Error::Conflict {
                        uid,
                        expected,
                        found,
                    }) => {
                        assert_eq!(uid, "contested");
                        assert_eq!((expected, found), (Some(old), Some(now)));
                    }
                    other => panic!("{other:?}"),
                },
                1 => match contacts.remove("nobody") {
                    Err(Error::NoRecord { uid, .. }) => assert_eq!(uid, "nobody"),
                    other => panic!("{other:?}"),
                },
                2 => {
                    let one = card(&uid, "One of two");
                    let pair = [(&one, Condition::IfAbsent), (&one, Condition::IfMatch(old))];
                    let each = contacts.save_each(pair).unwrap();
                    assert_eq!(each[0].as_ref().unwrap().outcome, SaveOutcome::Added);
                    assert!(matches!(each[1], Err(Error::Conflict { .. })));
                }
                _ => {
                    let saved = contacts.save((&card(&uid, "Alone"), Condition::IfAbsent));
                    assert_eq!(saved.unwrap().outcome, SaveOutcome::Added);
                }
            }
        }
    });
    assert_eq!(contacts.count().unwrap(), 1 + 2 * 4 * 20);
    assert_eq!(contacts.get("contested").unwrap().unwrap().etag, now);
    clean(&store);
    store.close().unwrap();
}

/// The caller's iterator runs without a lock: it may write, or panic.
#[test]
fn the_iterator_of_a_batch_is_not_in_the_transaction() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let batch = [card("a", "A"), card("b", "B")];
    let saving = batch.iter().inspect(|one| {
        contacts
            .save(&card("seen", one.uid().unwrap()))
            .expect("a save beside the batch");
    });
    assert_eq!(contacts.save_many(saving).unwrap().len(), 2);
    let panicking = batch.iter().inspect(|_| panic!("as it may happen"));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = contacts.save_many(panicking);
    }));
    assert!(panicked.is_err());
    contacts.save(&card("c", "C")).unwrap();
    assert_eq!(contacts.count().unwrap(), 4);
    store.close().unwrap();
}

#[test]
fn large_batches_and_single_saves_go_side_by_side() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let batch = people(5, 1_000);
    at_once(9, |thread| {
        if thread == 0 {
            for some in batch.chunks(250) {
                contacts.save_many(some).unwrap();
            }
        } else {
            for i in 0..30 {
                contacts
                    .save(&card(&format!("{thread}-{i}"), "Single"))
                    .unwrap();
            }
        }
    });
    assert_eq!(contacts.count().unwrap(), 1_000 + 8 * 30);
    clean(&store);
    store.close().unwrap();
}

#[test]
fn child_counts_flushes() {
    let Some(path) = role("flushes") else {
        return;
    };
    const SAVES: usize = 50;
    let options = InstrumentedOptions {
        // Longer than the threads need to save again, on a slow machine, too.
        sync_delay: Duration::from_millis(30),
        ..InstrumentedOptions::default()
    };
    let slow_vfs = InstrumentedVfs::register("slow", options).unwrap();
    // SQLite's own log, on files whose flushes are counted and delayed.
    let above = etui_vfs_base::register_above("above-slow", slow_vfs.name()).unwrap();
    assert!(etui::use_base(above));
    let store = Store::open_with(path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("first", "First")).unwrap();
    slow_vfs.reset_counters();
    at_once(THREADS, |thread| {
        for i in 0..SAVES {
            contacts
                .save(&card(&format!("{thread}-{i}"), "Single"))
                .unwrap();
        }
    });
    let counters = slow_vfs.counters();
    let flushes = counters.of(FileKind::Wal).syncs + counters.of(FileKind::Database).syncs;
    clean(&store);
    tell(&format!("{flushes} {}", THREADS * SAVES));
}

#[test]
fn sixteen_threads_need_an_eighth_of_a_flush_per_save() {
    let (_dir, path) = directory();
    let output = child(child_counts_flushes, "flushes", &path, "exec \"$@\"")
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = told(&String::from_utf8(output.stdout).unwrap());
    let (flushes, saves) = text.first().unwrap().split_once(' ').unwrap();
    let [flushes, saves]: [u64; 2] = [flushes, saves].map(|n| n.parse().unwrap());
    println!("{flushes} flushes for {saves} saves");
    assert!(
        (1..=saves / 8).contains(&flushes),
        "{flushes} flushes for {saves} saves"
    );
}

/// Saves from all threads and reports each acknowledged save, until one fails in every thread
/// or the process is killed.
#[test]
fn child_saves_until_it_cannot() {
    let Some(path) = role("saves") else {
        return;
    };
    let store = Store::open_with(path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let run = std::env::var(ROLE).unwrap().replace(' ', "-");
    let errors = at_once(THREADS, |thread| {
        for i in 0.. {
            let uid = format!("{run}-{thread}-{i}");
            match contacts.save(&card(&uid, "Single")) {
                Ok(_) => tell(&uid),
                Err(e) => return e,
            }
        }
        unreachable!("it goes on until it fails");
    });
    for error in errors {
        assert!(
            matches!(error, Error::DiskFull { .. } | Error::Io { .. }),
            "{error:?}"
        );
    }
}

/// A file size limit makes commits fail while 16 threads save: acknowledged saves are
/// stored, failed ones are not.
#[test]
fn a_commit_that_fails_is_told_to_all_its_members() {
    for kilobytes in [600, 900, 1_300] {
        let (_dir, path) = directory();
        Store::open_with(&path, &german()).unwrap().close().unwrap();
        // In blocks of 512 bytes; without the trap the signal would end the process.
        let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", kilobytes * 2);
        let output = child(child_saves_until_it_cannot, "saves", &path, &limited)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let acknowledged = told(&String::from_utf8(output.stdout).unwrap());
        println!("{} acknowledged", acknowledged.len());
        assert!(!acknowledged.is_empty());
        let store = Store::open_with(&path, &german()).unwrap();
        assert_eq!(uids(&store), acknowledged);
        clean(&store);
        store.close().unwrap();
    }
}

#[test]
fn acknowledged_saves_of_sixteen_threads_survive_a_kill() {
    // It starts many processes.
    if !in_own_process(acknowledged_saves_of_sixteen_threads_survive_a_kill) {
        return;
    }
    let rounds = if std::env::var_os("ETUI_TEST_LONG").is_some() {
        100
    } else {
        10
    };
    let (_dir, path) = directory();
    Store::open_with(&path, &german()).unwrap().close().unwrap();
    let mut acknowledged = BTreeSet::new();
    for round in 0..rounds {
        let role = format!("saves {round}");
        let mut child = child(child_saves_until_it_cannot, &role, &path, "exec \"$@\"")
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = Vec::new();
        while !first.starts_with(b"@") {
            first.clear();
            assert!(
                out.read_until(b'\n', &mut first).unwrap() > 0,
                "it saves nothing"
            );
        }
        let reader = thread::spawn(move || {
            let mut text = first;
            while out.read_until(b'\n', &mut text).unwrap() > 0 {}
            told(&String::from_utf8(text).unwrap())
        });
        thread::sleep(Duration::from_millis(50 + 37 * round));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "it ended by itself");
        acknowledged.append(&mut reader.join().unwrap());
        let store = Store::open_with(&path, &german()).unwrap();
        let found = uids(&store);
        let lost: Vec<_> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?}");
        // Unacknowledged saves: one group or fewer.
        assert!(found.len() <= acknowledged.len() + THREADS);
        acknowledged = found;
        clean(&store);
        store.close().unwrap();
    }
    println!("{} saves, {rounds} kills", acknowledged.len());
    assert!(acknowledged.len() >= rounds as usize);
}

#[test]
fn child_saves_for_a_while() {
    let Some(path) = role("while") else {
        return;
    };
    let store = Store::open_with(path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let name = std::env::var(ROLE).unwrap().replace(' ', "-");
    let end = Instant::now() + Duration::from_secs(3);
    let saved = at_once(8, |thread| {
        let (mut saved, mut longest) = (0, Duration::ZERO);
        while saved == 0 || Instant::now() < end {
            let begun = Instant::now();
            contacts
                .save(&card(&format!("{name}-{thread}-{saved}"), "Single"))
                .unwrap();
            longest = longest.max(begun.elapsed());
            saved += 1;
        }
        (saved, longest)
    });
    let saves: usize = saved.iter().map(|s| s.0).sum();
    let longest = saved.iter().map(|s| s.1).max().unwrap();
    tell(&format!("{saves} {}", longest.as_millis()));
    store.close().unwrap();
}

#[test]
fn two_processes_of_eight_threads_share_a_store() {
    let (_dir, path) = directory();
    Store::open_with(&path, &german()).unwrap().close().unwrap();
    let children = ["while a", "while b"].map(|role| {
        child(child_saves_for_a_while, role, &path, "exec \"$@\"")
            .spawn()
            .unwrap()
    });
    let mut all = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = told(&String::from_utf8(output.stdout).unwrap());
        let (saves, longest) = text.first().unwrap().split_once(' ').unwrap();
        println!("{saves} saves, the longest took {longest} ms");
        let saves: u64 = saves.parse().unwrap();
        assert!(saves >= 8);
        all += saves;
    }
    let store = Store::open_with(&path, &german()).unwrap();
    assert_eq!(store.contacts().unwrap().count().unwrap(), all);
    clean(&store);
    store.close().unwrap();
}
