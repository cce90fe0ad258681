//! What each B-tree costs a save: time, bytes, pages. Counters first, times beside them.
//!
//! `cargo bench -p etui --bench costs`. Bytes written are those that the kernel counts for this
//! process (`wchar` in `/proc/self/io`); sizes are SQLite's `dbstat`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use etui::Store;
use rusqlite::Connection;
use support::{Parts, Rows, SIZE, cards, filled, insert, options, plain, scratch, store};

/// A page in the WAL with its frame header.
const FRAME: u64 = 4_096 + 24;

fn written() -> u64 {
    std::fs::read_to_string("/proc/self/io")
        .ok()
        .and_then(|io| {
            io.lines()
                .find_map(|l| l.strip_prefix("wchar: ")?.trim().parse().ok())
        })
        .unwrap_or(0)
}

fn median<T: Copy + Ord>(mut all: Vec<T>) -> Option<T> {
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

fn main() {
    let dir = scratch();
    let source = filled(dir.path(), "source.etui", SIZE);
    per_index(dir.path(), &source);
    single_saves(&source, "one by one into 12,800", Kind::New);
    single_saves(&source, "edits of a phone number among 12,800", Kind::Edit);
}

/// The batch again with plain rusqlite, a B-tree more each time.
fn per_index(dir: &Path, source: &Path) {
    let rows = Rows::read(source);
    let size = |conn: &Connection| -> u64 {
        conn.query_row("SELECT sum(pgsize) FROM dbstat", [], |r| r.get::<_, i64>(0))
            .map_or(0, i64::unsigned_abs)
    };
    println!(
        "## What each B-tree adds to a save in a batch of {SIZE} (plain rusqlite, medians of 7)\n"
    );
    println!("| B-tree | rows per contact | bytes in the file per contact | time per contact |");
    println!("|---|---|---|---|");
    let entries = |n: usize| n as f64 / SIZE as f64;
    let (mut before, mut small) = (Duration::ZERO, 0);
    for (name, parts, count) in [
        ("record", Parts::Records, SIZE),
        ("record_uid", Parts::Uids, SIZE),
        ("list", Parts::List, SIZE),
        ("posting, its terms", Parts::Terms, rows.terms.len()),
        ("posting, its grams", Parts::Grams, rows.grams.len()),
    ] {
        let mut large = 0;
        let times = (0..7).map(|round| {
            let (path, store) = store(dir, &format!("{name}-{round}.etui"), &options());
            store.close().expect("closing");
            let conn = plain(&path);
            if parts == Parts::Records {
                conn.execute_batch("DROP INDEX record_uid")
                    .expect("dropping");
            }
            let empty = size(&conn);
            let start = Instant::now();
            insert(&conn, &rows, parts);
            let time = start.elapsed();
            large = size(&conn) - empty;
            drop(conn);
            std::fs::remove_file(path).expect("removing");
            time
        });
        let time = median(times.collect()).unwrap_or_default();
        println!(
            "| {name} | {:.2} | {:.0} | {:.2} us |",
            entries(count),
            large.saturating_sub(small) as f64 / SIZE as f64,
            time.saturating_sub(before).as_secs_f64() * 1e6 / SIZE as f64
        );
        (before, small) = (time, large);
    }
    println!();
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    New,
    Edit,
}

/// Durable saves one by one: what each writes, and what merges and checkpoints add.
fn single_saves(source: &Path, what: &str, kind: Kind) {
    const SAVES: usize = 2_560;
    let dir = scratch();
    let path = dir.path().join("s.etui");
    std::fs::copy(source, &path).expect("copying");
    let store = Store::open(&path).expect("opening");
    let contacts = store.contacts().expect("the book");
    let mut all = match kind {
        Kind::New => cards(2, SAVES),
        Kind::Edit => cards(1, SAVES),
    };
    if kind == Kind::Edit {
        for (i, card) in all.iter_mut().enumerate() {
            card.set("TEL", &format!("+49 30 23125 {i:04}"))
                .expect("an edit");
        }
    }
    let (mut bytes, mut times) = (Vec::new(), Vec::new());
    let (first, start) = (written(), Instant::now());
    for card in &all {
        let (before, begin) = (written(), Instant::now());
        contacts.save(card).expect("saving");
        times.push(begin.elapsed());
        bytes.push(written() - before);
    }
    let mean = (written() - first) / SAVES as u64;
    let total = start.elapsed();
    println!("## {SAVES} durable saves, {what}\n");
    println!("| | |\n|---|---|");
    println!(
        "| pages in a save's commit, median | {} |",
        median(bytes.iter().map(|b| b / FRAME).collect()).unwrap_or(0)
    );
    let plainly: Vec<u64> = bytes.iter().copied().filter(|b| *b < 20 * FRAME).collect();
    println!(
        "| pages in a save's commit, mean (merges and checkpoints apart) | {:.2} |",
        plainly.iter().sum::<u64>() as f64 / FRAME as f64 / plainly.len() as f64
    );
    println!(
        "| bytes written by a save, median | {} |",
        median(bytes).unwrap_or(0)
    );
    println!("| bytes written per save, all told (merges, checkpoints) | {mean} |");
    println!(
        "| time of a save, median | {:?} |",
        median(times).unwrap_or_default()
    );
    println!("| time per save, all told | {:?} |\n", total / SAVES as u32);
    store.close().expect("closing");
}
