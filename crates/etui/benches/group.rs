//! Group commit: many threads of single durable saves against one.
//!
//! `cargo bench -p etui --bench group`. Each flush takes 3 ms longer first, then none does, then
//! only checkpoints flush (`Deferred`); the instrumented VFS delays and counts them. A flush is
//! a sync of the log or of the database, those of merges and checkpoints included.
//!
//! `cargo bench -p etui --bench group -- alone [SAVES]` only saves, from one thread and with
//! SQLite's own VFS, and prints the time per save: to be compared between two builds, also under
//! `perf stat`, `strace -c` or callgrind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

#[allow(dead_code)] // What the other benchmarks need of it.
mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use etui::contacts::Card;
use etui::{Durability, Options, Store};
use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use support::{SIZE, cards, filled, options, scratch};

const THREADS: usize = 16;
/// In each run; enough that the index is merged in all its parts.
const SAVES: usize = 2_560;
const ROUNDS: usize = 5;

fn main() {
    let dir = scratch();
    let source = filled(dir.path(), "source.etui", SIZE);
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    if arguments.next().as_deref() == Some("alone") {
        let saves = arguments
            .next()
            .map_or(SAVES, |n| n.parse().expect("SAVES"));
        let run = run(dir.path(), &source, 1, saves, &options(), None);
        println!(
            "{:.2} us per save",
            run.time.as_secs_f64() * 1e6 / saves as f64
        );
        return;
    }
    println!("## Single durable saves into {SIZE} contacts, medians of {ROUNDS} rounds\n");
    println!("| a flush takes | threads | saves/s | against one thread | flushes per save |");
    println!("|---|---|---|---|---|");
    for (what, delay, durability) in [
        ("3 ms longer", Duration::from_millis(3), Durability::Full),
        ("what it takes", Duration::ZERO, Durability::Full),
        ("at checkpoints", Duration::ZERO, Durability::Deferred),
    ] {
        let slow = InstrumentedOptions {
            sync_delay: delay,
            ..InstrumentedOptions::default()
        };
        let vfs = InstrumentedVfs::register(what, slow).expect("a VFS");
        let mut options = options();
        options.durability = durability;
        let run = |threads| run(dir.path(), &source, threads, SAVES, &options, Some(&vfs));
        let mut runs: Vec<[Run; 3]> = Vec::new();
        for _ in 0..ROUNDS {
            // One after the other, so that both see the same weather.
            runs.push([run(1), run(2), run(THREADS)]);
        }
        for (i, threads) in [1, 2, THREADS].into_iter().enumerate() {
            let middle = |figure: &dyn Fn(&[Run; 3]) -> f64| {
                let mut all: Vec<f64> = runs.iter().map(figure).collect();
                all.sort_by(f64::total_cmp);
                all[all.len() / 2]
            };
            println!(
                "| {what} | {threads} | {:.0} | {:.2} | {:.4} |",
                middle(&|r| r[i].per_second()),
                middle(&|r| r[i].per_second() / r[0].per_second()),
                middle(&|r| r[i].flushes as f64 / r[i].saves as f64),
            );
        }
    }
}

struct Run {
    saves: usize,
    time: Duration,
    flushes: u64,
}

impl Run {
    fn per_second(&self) -> f64 {
        self.saves as f64 / self.time.as_secs_f64()
    }
}

/// So many new contacts, saved one by one from so many threads.
fn run(
    dir: &Path,
    source: &Path,
    threads: usize,
    saves: usize,
    options: &Options,
    vfs: Option<&InstrumentedVfs>,
) -> Run {
    let path = dir.join("run.etui");
    std::fs::copy(source, &path).expect("copying");
    if let Some(vfs) = vfs {
        vfs.make_default().expect("the VFS as default");
    }
    let store = Store::open_with(&path, options).expect("opening");
    let contacts = store.contacts().expect("the book");
    let all: Vec<Card> = cards(2, saves);
    let flushes = || {
        vfs.map_or(0, |vfs| {
            let counters = vfs.counters();
            counters.of(FileKind::Wal).syncs + counters.of(FileKind::Database).syncs
        })
    };
    let (before, start) = (flushes(), Instant::now());
    std::thread::scope(|scope| {
        for some in all.chunks(saves / threads) {
            let contacts = &contacts;
            scope.spawn(move || {
                for card in some {
                    contacts.save(card).expect("saving");
                }
            });
        }
    });
    let run = Run {
        saves,
        time: start.elapsed(),
        flushes: flushes() - before,
    };
    store.close().expect("closing");
    std::fs::remove_file(path).expect("removing");
    run
}
