//! Several programs, each with several threads, use one store concurrently: no write is lost,
//! readers see one state, and no call is refused.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use etui::contacts::{Card, Paging};
use etui::{Condition, Durability, Error, Options, Store};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};

/// The child's task; without it the children's tests return at once.
const ROLE: &str = "ETUI_TEST_PROCESS_ROLE";
const STORE: &str = "ETUI_TEST_PROCESS_STORE";
const MILLIS: &str = "ETUI_TEST_PROCESS_MILLIS";

fn long() -> bool {
    std::env::var_os("ETUI_TEST_LONG").is_some()
}

/// Returns this process's task, its store, and its duration.
fn role() -> Option<(String, PathBuf, Duration)> {
    let role = std::env::var(ROLE).ok()?;
    let millis = std::env::var(MILLIS).unwrap().parse().unwrap();
    Some((
        role,
        std::env::var_os(STORE).unwrap().into(),
        Duration::from_millis(millis),
    ))
}

fn start(test: impl Fn(), role: &str, store: &Path, time: Duration) -> Child {
    ProgramOfTest::new(test)
        .command()
        .unwrap()
        .env(ROLE, role)
        .env(STORE, store)
        .env(MILLIS, time.as_millis().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a child and returns its reports (lines that begin with `@`).
fn finish(child: Child) -> Vec<String> {
    told(child.wait_with_output().unwrap())
}

fn told(output: Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "a child failed: {text}");
    text.lines()
        .filter_map(|l| l.strip_prefix('@'))
        .map(str::to_owned)
        .collect()
}

fn tell(what: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@{what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn card(uid: &str, note: u64) -> Card {
    Card::parse(format!(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:Contact {uid}\r\nNOTE:{note}\r\nEND:VCARD\r\n"
    ))
    .unwrap()
}

fn note(card: &Card) -> u64 {
    card.note().unwrap().parse().unwrap()
}

fn clean(store: &Store) {
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// Reads the counter, increments it, and saves it conditionally. Returns the number of successes.
fn count_up(store: &Store, end: Instant) -> u64 {
    let contacts = store.contacts().unwrap();
    let mut successes = 0;
    // On a slow machine, until it has done something.
    while successes == 0 || Instant::now() < end {
        let old = contacts.get("counter").unwrap().unwrap();
        let new = card("counter", note(&old.card().unwrap()) + 1);
        match contacts.save((&new, Condition::IfMatch(old.etag))) {
            Ok(_) => successes += 1,
            Err(Error::Conflict { .. }) => {}
            Err(e) => panic!("{e}"),
        }
    }
    successes
}

/// Adds its own contacts, single and in batches, and keeps a pair of contacts equal.
fn add(store: &Store, role: &str, end: Instant) -> u64 {
    let contacts = store.contacts().unwrap();
    let mut added = 0;
    while added == 0 || Instant::now() < end {
        let uid = |i: u64| format!("{role}-{i}");
        contacts.save(&card(&uid(added), added)).unwrap();
        let batch: Vec<_> = (added + 1..added + 10).map(|i| card(&uid(i), i)).collect();
        contacts.save_many(&batch).unwrap();
        added += 10;
        let pair = [card("left", added), card("right", added)];
        contacts.save_many(&pair).unwrap();
    }
    added
}

/// In a snapshot the pair is equal, and the list, the count and the cards agree throughout.
fn read(store: &Store, end: Instant) -> u64 {
    let mut looked = 0;
    let mut last = 0;
    while looked == 0 || Instant::now() < end {
        let snapshot = store.snapshot().unwrap();
        let contacts = snapshot.contacts().unwrap();
        let pair = contacts.get_many(["left", "right"]).unwrap();
        let notes: Vec<_> = pair
            .iter()
            .map(|c| note(&c.as_ref().unwrap().card().unwrap()))
            .collect();
        assert_eq!(notes[0], notes[1]);
        let counter = note(&contacts.get("counter").unwrap().unwrap().card().unwrap());
        assert!(counter >= last, "a later snapshot saw an earlier state");
        last = counter;
        let count = contacts.count().unwrap();
        assert_eq!(contacts.list(Paging::ALL).unwrap().len() as u64, count);
        let all = contacts.all().unwrap();
        assert_eq!(all.len() as u64, count);
        assert_eq!(
            contacts.find(&"note:*".parse().unwrap()).unwrap().len() as u64,
            count
        );
        assert_eq!(
            note(&contacts.get("counter").unwrap().unwrap().card().unwrap()),
            counter
        );
        // Batches of ten, so the counts are three (pair and counter) above a multiple of ten, plus one
        // single save before its batch for each process.
        assert!((3..=5).contains(&(count % 10)), "{count}");
        looked += 1;
    }
    looked
}

#[test]
fn a_child_counts_and_adds_and_reads() {
    let Some((role, path, time)) = role() else {
        return;
    };
    let mut options = Options::default();
    if role == "second" {
        options.durability = Durability::Deferred;
    }
    let store = Store::open_with(path, &options).unwrap();
    let end = Instant::now() + time;
    let (counted, added, looked) = std::thread::scope(|scope| {
        let counters: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| count_up(&store, end)))
            .collect();
        let adder = scope.spawn(|| add(&store, &role, end));
        let reader = scope.spawn(|| read(&store, end));
        let counted: u64 = counters.into_iter().map(|t| t.join().unwrap()).sum();
        (counted, adder.join().unwrap(), reader.join().unwrap())
    });
    tell(&format!("{counted} {added} {looked}"));
    store.close().unwrap();
}

#[test]
fn no_update_is_lost_between_processes_and_threads() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    contacts
        .save_many(&[card("counter", 0), card("left", 0), card("right", 0)])
        .unwrap();
    let time = Duration::from_secs(if long() { 30 } else { 5 });
    let children = ["first", "second"].map(|role| {
        (
            role,
            start(a_child_counts_and_adds_and_reads, role, &path, time),
        )
    });
    let (mut successes, mut expected) = (0, vec![3]);
    for (role, child) in children {
        let told = finish(child);
        let numbers: Vec<u64> = told[0].split(' ').map(|n| n.parse().unwrap()).collect();
        let [counted, added, looked] = numbers[..] else {
            panic!("{told:?}");
        };
        println!("{role}: counted {counted}, added {added}, looked {looked} times");
        assert!(counted > 0 && added > 0 && looked > 0);
        successes += counted;
        expected.push(added);
        for i in 0..added {
            let found = contacts.get(&format!("{role}-{i}")).unwrap().unwrap();
            assert_eq!(found.text, card(&format!("{role}-{i}"), i).text());
        }
    }
    let counter = contacts.get("counter").unwrap().unwrap().card().unwrap();
    assert_eq!(note(&counter), successes);
    assert_eq!(contacts.count().unwrap(), expected.iter().sum::<u64>());
    clean(&store);
    store.close().unwrap();
}

#[test]
fn a_child_creates_what_it_is_told() {
    let Some((role, ..)) = role() else {
        return;
    };
    tell("ready");
    for path in std::io::stdin().lines() {
        let store = Store::open(path.unwrap()).unwrap();
        store.contacts().unwrap().save(&card(&role, 1)).unwrap();
        store.close().unwrap();
        tell("saved");
    }
}

#[test]
fn eight_processes_create_the_same_store_at_the_same_moment() {
    // It starts many processes.
    if !in_own_process(eight_processes_create_the_same_store_at_the_same_moment) {
        return;
    }
    const PROCESSES: usize = 8;
    let dir = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|i| {
            let mut child = start(
                a_child_creates_what_it_is_told,
                &format!("child-{i}"),
                Path::new(""),
                Duration::ZERO,
            );
            let out = BufReader::new(child.stdout.take().unwrap()).lines();
            (child, out)
        })
        .collect();
    let wait = |children: &mut Vec<(Child, std::io::Lines<BufReader<_>>)>, word: &str| {
        for (_, out) in children {
            let told = out.map(Result::unwrap).find(|l| l.starts_with('@'));
            assert_eq!(told.as_deref(), Some(word));
        }
    };
    wait(&mut children, "@ready");
    for round in 0..if long() { 300 } else { 40 } {
        let path = dir.path().join(format!("{round}.etui"));
        // An empty file becomes a store, also when several processes open it at one moment.
        if round % 2 == 1 {
            std::fs::write(&path, "").unwrap();
        }
        let line = format!("{}\n", path.display());
        for (child, _) in &mut children {
            child
                .stdin
                .as_mut()
                .unwrap()
                .write_all(line.as_bytes())
                .unwrap();
        }
        wait(&mut children, "@saved");
        let store = Store::open(&path).unwrap();
        assert_eq!(store.contacts().unwrap().count().unwrap(), PROCESSES as u64);
        assert_eq!(store.collections::<Card>().names().unwrap().len(), 1);
        clean(&store);
    }
    for (mut child, _) in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_child_writes_and_reopens() {
    let Some((_, path, time)) = role() else {
        return;
    };
    let end = Instant::now() + time;
    let mut saved = 0;
    while saved == 0 || Instant::now() < end {
        let store = Store::open(&path).unwrap();
        for _ in 0..20 {
            store
                .contacts()
                .unwrap()
                .save(&card("only", saved))
                .unwrap();
            saved += 1;
        }
        store.close().unwrap();
    }
    tell(&saved.to_string());
}

#[test]
fn opening_and_closing_while_another_writes_never_fails() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let store = Store::open(&path).unwrap();
    store.contacts().unwrap().save(&card("only", 0)).unwrap();
    store.close().unwrap();
    let time = Duration::from_secs(if long() { 30 } else { 2 });
    let child = start(a_child_writes_and_reopens, "writer", &path, time);
    let over = AtomicBool::new(false);
    let (written, opened) = std::thread::scope(|scope| {
        let openers: Vec<_> = [false, false, true]
            .into_iter()
            .map(|read_only| {
                let (path, over) = (&path, &over);
                scope.spawn(move || {
                    let mut options = Options::default();
                    options.read_only = read_only;
                    let (mut opened, mut last) = (0u64, 0);
                    while opened == 0 || !over.load(Ordering::Relaxed) {
                        let store = Store::open_with(path, &options).unwrap();
                        let contacts = store.contacts().unwrap();
                        let found = contacts.get("only").unwrap().unwrap();
                        let number = note(&found.card().unwrap());
                        assert!(number >= last, "{number} after {last}");
                        last = number;
                        store.close().unwrap();
                        opened += 1;
                    }
                    opened
                })
            })
            .collect();
        // The threads end whether or not the child fails.
        let output = child.wait_with_output();
        over.store(true, Ordering::Relaxed);
        let opened: u64 = openers.into_iter().map(|t| t.join().unwrap()).sum();
        let told = told(output.unwrap());
        (told[0].parse::<u64>().unwrap(), opened)
    });
    println!("{written} saves, {opened} times opened and closed meanwhile");
    assert!(written > 0 && opened > 0);
    let store = Store::open(&path).unwrap();
    let found = store.contacts().unwrap().get("only").unwrap().unwrap();
    assert_eq!(note(&found.card().unwrap()), written - 1);
    clean(&store);
}
