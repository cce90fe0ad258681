//! What views cost those who write, and how soon they tell.
//!
//! `cargo bench -p etui --bench views`. A save into 12,800 contacts with 0, 1, 100 and 1,000 views
//! open, each with another filter; the time from a save's return to the reader's receipt, in the
//! same process and across processes. Medians and the 99th percentile, interleaved rounds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

#[allow(dead_code, reason = "each benchmark takes some of it")]
mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use etui::contacts::{Card, Filter, View, ViewChanges};
use etui::{Durability, Store};
use rustix::time::{ClockId, clock_gettime};
use support::{SIZE, cards, filled, options, scratch};

const SAVES: usize = 200;
const ROUNDS: usize = 12;
const WATCHED: &str = "ETUI_BENCH_WATCHED";

fn main() {
    if let Some(path) = std::env::var_os(WATCHED) {
        return follow(Path::new(&path));
    }
    let dir = scratch();
    let path = filled(dir.path(), "views.etui", SIZE);
    for durability in [Durability::Full, Durability::Deferred] {
        costs(&path, durability);
    }
    latencies(&path);
    bulk(dir.path());
    opening(&path);
}

/// Many contacts at once, and one more, with views open that none of them concerns: how long the
/// saves take, and how soon the last one is reported.
fn bulk(dir: &Path) {
    println!(
        "\n## {SIZE} contacts in batches of 1,000, and then one that is followed (medians of {ROUNDS})\n"
    );
    println!("| other views | the batches | the last one reported after |");
    println!("|---|---|---|");
    let people = cards(9, SIZE);
    let mut times = [const { (Vec::new(), Vec::new()) }; 2];
    for round in 0..ROUNDS {
        for (others, times) in [0, 1_000].into_iter().zip(&mut times) {
            let (batches, last) = bulk_round(
                &dir.join(format!("bulk-{round}-{others}.etui")),
                &people,
                others,
            );
            times.0.push(batches);
            times.1.push(last);
        }
    }
    for (others, (mut batches, mut last)) in [0, 1_000].into_iter().zip(times) {
        batches.sort_unstable();
        last.sort_unstable();
        println!(
            "| {others} | {:.0} ms | {:.1} ms |",
            at(&batches, 0.5) / 1e3,
            at(&last, 0.5) / 1e3
        );
    }
}

fn bulk_round(path: &Path, people: &[Card], others: usize) -> (Duration, Duration) {
    let store = Store::open_with(path, &options()).expect("a new store");
    let contacts = store.contacts().expect("the book");
    let _views: Vec<View<'_>> = filters(others)
        .iter()
        .map(|f| contacts.view(f).expect("a view"))
        .collect();
    let mut view = contacts
        .view(&"category:latency".parse().expect("a filter"))
        .expect("a view");
    let begun = Instant::now();
    for some in people.chunks(1_000) {
        contacts.save_many(some).expect("saving");
    }
    let batches = begun.elapsed();
    let last = "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Last\r\nCATEGORIES:latency\r\nEND:VCARD\r\n";
    contacts
        .save(&Card::parse(last).expect("a card"))
        .expect("saving");
    let begun = Instant::now();
    view.wait(None).expect("waiting");
    (batches, begun.elapsed())
}

/// Opening and dropping a view: the only one, which starts and ends the hub, and one of several.
fn opening(path: &Path) {
    let store = Store::open_with(path, &options()).expect("the store");
    let contacts = store.contacts().expect("the book");
    let filter: Filter = "name:ann*".parse().expect("a filter");
    let time = || {
        let mut times: Vec<Duration> = (0..SAVES)
            .map(|_| {
                let begun = Instant::now();
                drop(contacts.view(&filter).expect("a view"));
                begun.elapsed()
            })
            .collect();
        times.sort_unstable();
        at(&times, 0.5)
    };
    let alone = time();
    let _other = contacts.view(&filter).expect("a view");
    println!("\n## A view opened and dropped\n");
    println!(
        "the only one {alone:.0} us, one of several {:.0} us",
        time()
    );
}

fn at(sorted: &[Duration], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    sorted[place.min(sorted.len() - 1)].as_secs_f64() * 1e6
}

/// Filters of the kinds that applications have open: names, numbers, addresses, searches.
fn filters(count: usize) -> Vec<Filter> {
    (0..count)
        .map(|i| {
            let text = match i % 8 {
                0 => format!("name:vornamex{i}"),
                1 => format!("name:n{i}*"),
                2 => format!("phone:*{:07}", i * 7919),
                3 => format!("email:*@host{i}.example"),
                4 => format!("org:*firma{i}*"),
                5 => format!("category:c{i}"),
                6 => format!("suche{i}"),
                _ => format!("phone:+4930{:07}", i * 104_729),
            };
            text.parse().expect("a filter")
        })
        .collect()
}

/// Edits of one contact after the other, one transaction each.
fn saves(store: &Store, people: &[Card], round: &mut u32) -> Vec<Duration> {
    let contacts = store.contacts().expect("the book");
    (0..SAVES)
        .map(|i| {
            *round += 1;
            let person = &people[(*round as usize * 37) % people.len()];
            let text = String::from_utf8_lossy(person.text()).into_owned();
            let edit = text.replace("END:VCARD", &format!("TEL:+49 170 {round:07}\r\nEND:VCARD"));
            let card = Card::parse(edit).expect("a card");
            // A person's pace: not a storm, in which the hub would take changes together.
            if i % 8 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            let begun = Instant::now();
            contacts.save(&card).expect("saving");
            begun.elapsed()
        })
        .collect()
}

fn costs(path: &Path, durability: Durability) {
    let mut options = options();
    options.durability = durability;
    let people = cards(1, SIZE);
    let mut round = 0;
    let counts = [0, 1, 100, 1_000];
    let mut times = vec![Vec::new(); counts.len()];
    let mut storms = vec![Vec::new(); counts.len()];
    // One store for all: a new one begins with a log that has yet to grow.
    let store = Store::open_with(path, &options).expect("the store");
    let contacts = store.contacts().expect("the book");
    storm(&store, &people, &mut round, 2_048);
    for turn in 0..ROUNDS {
        for i in 0..counts.len() {
            // Another one is the first each time.
            let i = (i + turn) % counts.len();
            let views: Vec<View<'_>> = filters(counts[i])
                .iter()
                .map(|f| contacts.view(f).expect("a view"))
                .collect();
            times[i].extend(saves(&store, &people, &mut round));
            // As many as bring the terms up to date once.
            storms[i].push(storm(&store, &people, &mut round, 256));
            drop(views);
        }
    }
    println!(
        "## A save among {SIZE} with views open ({durability:?}; {ROUNDS} rounds of {SAVES})\n"
    );
    println!("| views | median | 99 % | to none | in a storm, mean | to none |");
    println!("|---|---|---|---|---|---|");
    let mut first = None;
    for (i, &count) in counts.iter().enumerate() {
        times[i].sort_unstable();
        storms[i].sort_unstable();
        let (median, mean) = (at(&times[i], 0.5), at(&storms[i], 0.5));
        let (m0, s0) = *first.get_or_insert((median, mean));
        println!(
            "| {count} | {median:.0} us | {:.0} us | {:.2} | {mean:.0} us | {:.2} |",
            at(&times[i], 0.99),
            median / m0,
            mean / s0
        );
    }
    println!();
}

/// Saves without a pause: the mean time of one.
fn storm(store: &Store, people: &[Card], round: &mut u32, saves: u32) -> Duration {
    let contacts = store.contacts().expect("the book");
    let cards: Vec<_> = (0..saves)
        .map(|_| {
            *round += 1;
            let person = &people[(*round as usize * 37) % people.len()];
            let text = String::from_utf8_lossy(person.text()).into_owned();
            let edit = text.replace("END:VCARD", &format!("TEL:+49 171 {round:07}\r\nEND:VCARD"));
            Card::parse(edit).expect("a card")
        })
        .collect();
    let begun = Instant::now();
    for card in &cards {
        contacts.save(card).expect("saving");
    }
    begun.elapsed() / saves
}

fn monotonic() -> i128 {
    let now = clock_gettime(ClockId::Monotonic);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// A reader: tells when it received what.
fn follow(path: &Path) {
    let store = Store::open_with(path, &options()).expect("the store");
    let contacts = store.contacts().expect("the book");
    let mut view = contacts
        .view(&"category:latency".parse().expect("a filter"))
        .expect("a view");
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready").expect("telling");
    while let Ok(Some(ViewChanges::Since(all))) = view.wait(None) {
        let now = monotonic();
        for change in all {
            writeln!(out, "{} {now}", change.summary.organization).expect("telling");
        }
        out.flush().expect("telling");
    }
}

fn latencies(path: &Path) {
    println!("## From a save's return to the reader ({SAVES} saves, one every 5 ms; Full)\n");
    println!("| reader | median | 99 % | longest |");
    println!("|---|---|---|---|");
    let store = Store::open_with(path, &options()).expect("the store");
    for (name, others) in [
        ("a thread of the same process", 0),
        ("the same, 1,000 other views", 1_000),
    ] {
        let contacts = store.contacts().expect("the book");
        let _views: Vec<View<'_>> = filters(others)
            .iter()
            .map(|f| contacts.view(f).expect("a view"))
            .collect();
        let mut view = contacts
            .view(&"category:latency".parse().expect("a filter"))
            .expect("a view");
        let (sent, received) = std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                let mut received = Vec::new();
                while received.len() < SAVES {
                    if let Ok(Some(ViewChanges::Since(all))) = view.wait(None) {
                        let now = monotonic();
                        received.extend(all.into_iter().map(|c| (c.summary.organization, now)));
                    }
                }
                received
            });
            (send(&store), reader.join().expect("the reader"))
        });
        show(name, &sent, received);
    }
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .env(WATCHED, path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a reader");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    assert_eq!(lines.next().expect("a line").expect("a line"), "ready");
    let (sent, received) = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let lines = lines.by_ref().take(SAVES).map(|line| {
                let line = line.expect("a line");
                let (what, when) = line.split_once(' ').expect("two words");
                (what.to_owned(), when.parse().expect("a time"))
            });
            lines.collect()
        });
        (send(&store), reader.join().expect("the reader"))
    });
    child.kill().expect("killing the reader");
    child.wait().expect("waiting for the reader");
    show("another process", &sent, received);
}

/// Saves cards whose organisation is a number; tells when each save returned.
fn send(store: &Store) -> Vec<i128> {
    let contacts = store.contacts().expect("the book");
    (0..SAVES)
        .map(|i| {
            std::thread::sleep(Duration::from_millis(5));
            let stamp = monotonic();
            let text = format!(
                "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:latency-{stamp}\r\nFN:Latency\r\nORG:{i}\r\n\
                 CATEGORIES:latency\r\nEND:VCARD\r\n"
            );
            contacts
                .save(&Card::parse(text).expect("a card"))
                .expect("saving");
            monotonic()
        })
        .collect()
}

fn show(name: &str, sent: &[i128], received: Vec<(String, i128)>) {
    let mut times: Vec<Duration> = received
        .into_iter()
        .map(|(what, when)| {
            let sent = sent[what.parse::<usize>().expect("a number")];
            // The reader may have it before the writer's call has returned.
            Duration::from_nanos(u64::try_from(when - sent).unwrap_or(0))
        })
        .collect();
    times.sort_unstable();
    println!(
        "| {name} | {:.0} us | {:.0} us | {:.0} us |",
        at(&times, 0.5),
        at(&times, 0.99),
        at(&times, 1.0)
    );
}
