//! Durable saves by etui's redo log beside SQLite's own WAL: bytes and flushes first, then times.
//!
//! `cargo bench -p etui --bench redo`. Bytes are those that the kernel counts for this process
//! (`wchar` in `/proc/self/io`: what was handed to it). Both ways do the same saves in the same run, by turns.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

#[allow(dead_code)] // What the other benchmarks need of it.
mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use etui::contacts::Card;
use etui::{Store, Vfs};
use support::{SIZE, cards, filled, options, scratch};

/// Saves that are looked at.
const SAVES: usize = 2_560;
/// How often each way has its turn.
const ROUNDS: usize = 3;

fn main() {
    let dir = scratch();
    let by_batch = filled(dir.path(), "batch.etui", SIZE);
    let by_one = filled_one_by_one(dir.path());
    println!("## {SAVES} durable saves into {SIZE} contacts, {ROUNDS} rounds\n");
    println!(
        "| | written by a save, median | mean | all told, per save | flushes a save | saves/s |"
    );
    println!("|---|---|---|---|---|---|");
    let edits = |all: Vec<Card>| -> Vec<Card> {
        let edited = all.into_iter().enumerate().map(|(i, mut card)| {
            card.set("TEL", &format!("+49 30 23125 {i:04}"))
                .expect("an edit");
            card
        });
        edited.collect()
    };
    compare("new, filled by batch", &by_batch, &cards(2, SAVES));
    compare("new, filled one by one", &by_one, &cards(2, SAVES));
    compare("another number", &by_batch, &edits(cards(1, SAVES)));
}

/// A closed store whose contacts were saved singly.
fn filled_one_by_one(dir: &Path) -> PathBuf {
    let mut options = options();
    options.durability = etui::Durability::Deferred;
    let (path, store) = support::store(dir, "one.etui", &options);
    let contacts = store.contacts().expect("the book");
    for card in cards(1, SIZE) {
        contacts.save(&card).expect("saving");
    }
    store.merge_index().expect("merging");
    store.close().expect("closing");
    path
}

/// Bytes that this process handed to the kernel. `write_bytes`, which would be what the kernel
/// took up, counts whole folios for one block of them.
fn written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let mut lines = io.lines();
    let value = lines.find_map(|line| line.strip_prefix("wchar:")?.trim().parse().ok());
    value.unwrap_or(0)
}

#[derive(Default)]
struct Cost {
    /// Of each save.
    bytes: Vec<u64>,
    all: u64,
    flushes: u64,
    took: Duration,
    /// Of the redo log: bytes to the log, to the database, to files without a name.
    parts: [u64; 3],
}

fn compare(what: &str, source: &Path, all: &[Card]) {
    let mut costs = [(Vfs::System, Cost::default()), (Vfs::Etui, Cost::default())];
    for _ in 0..ROUNDS {
        for (vfs, cost) in &mut costs {
            saves(*vfs, source, all, cost);
        }
    }
    for (vfs, cost) in &mut costs {
        let name = match vfs {
            Vfs::Etui => "etui's redo log",
            _ => "SQLite's WAL",
        };
        cost.bytes.sort_unstable();
        // Merges and checkpoints are in what all of it took.
        let singly: Vec<u64> = cost
            .bytes
            .iter()
            .copied()
            .filter(|b| *b < 256 << 10)
            .collect();
        let count = (SAVES * ROUNDS) as f64;
        println!(
            "| {what}: {name} | {:.1} KiB | {:.1} KiB | {:.1} KiB | {:.2} | {:.0} |",
            kib(cost.bytes[cost.bytes.len() / 2] as f64),
            kib(singly.iter().sum::<u64>() as f64 / singly.len() as f64),
            kib(cost.all as f64 / count),
            cost.flushes as f64 / count,
            count / cost.took.as_secs_f64(),
        );
        if *vfs == Vfs::Etui {
            let [log, database, aside] = cost.parts.map(|part| kib(part as f64 / count));
            println!(
                "| ... of it | log {log:.1} KiB | database {database:.1} KiB | aside {aside:.1} KiB | | |"
            );
        }
    }
}

fn kib(bytes: f64) -> f64 {
    bytes / 1024.0
}

fn saves(vfs: Vfs, source: &Path, all: &[Card], cost: &mut Cost) {
    let dir = scratch();
    // By which the VFS can be asked for its counters also when the other store is closed.
    let mut options = options();
    options.vfs = vfs;
    let (_, asked) = support::store(dir.path(), "asked.etui", &options);
    let path = dir.path().join("s.etui");
    std::fs::copy(source, &path).expect("copying");
    // The log's file is made by a store's first save ever, and stays.
    let store = Store::open_with(&path, &options).expect("opening");
    let contacts = store.contacts().expect("the book");
    contacts.save(&cards(3, 1)[0]).expect("saving");
    store.close().expect("closing");
    let store = Store::open_with(&path, &options).expect("opening");
    let contacts = store.contacts().expect("the book");
    let counters = asked.vfs_counters();
    let (before, start) = (written(), Instant::now());
    for card in all {
        let begin = written();
        contacts.save(card).expect("saving");
        // What reading the counters itself hands over is nothing: `wchar` counts writes.
        cost.bytes.push(written() - begin);
    }
    cost.took += start.elapsed();
    cost.flushes += match (counters, asked.vfs_counters()) {
        (Some(before), Some(now)) => now.since(&before).redo_flushes,
        // One for each save; those of checkpoints are left out in its favour.
        _ => all.len() as u64,
    };
    store.close().expect("closing");
    cost.all += written() - before;
    if let (Some(before), Some(now)) = (counters, asked.vfs_counters()) {
        let spent = now.since(&before);
        let parts = [
            spent.redo_bytes,
            spent.database_bytes,
            spent.temporary_bytes,
        ];
        for (sum, part) in cost.parts.iter_mut().zip(parts) {
            *sum += part;
        }
    }
}
