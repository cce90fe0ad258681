//! The first fill of a large address book, more into it, and what all that leaves in memory.
//!
//! `cargo bench -p etui --bench fill [-- FIRST MORE]`: 1,000,000 contacts and 200,000 more. Needs about 4 GB under
//! `ETUI_BENCH_DIR`, or else among the target's temporary files; they are removed at the end.
//!
//! The people stand in files of vCards, written before. Memory at its peak is the largest
//! `RssAnon` of `/proc/self/status`, read every 2 ms by a thread, less that before the store is
//! opened; mapped files are not in it. What stays is `Private_Dirty` of `/proc/self/smaps_rollup`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

#[allow(dead_code)] // What the other benchmarks need of it.
mod support;

use std::fs::File;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use etui::contacts::{Card, Contacts, Query, SortOrder};
use etui::{Options, Store};
use etui_testkit::people::{People, varied_person};
use etui_testkit::rng::SplitMix64;
use support::{Stream, options};

const FIRST: usize = 1_000_000;
const MORE: usize = 200_000;
const SEARCHES: usize = 1_000;
const SAVES: usize = 1_000;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    if let [role, path, count] = &arguments[..] {
        assert_eq!(role, "read");
        return read_alone(Path::new(path), count.parse().expect("a number"));
    }
    let number = |at: usize, or| {
        arguments
            .get(at)
            .map_or(or, |n| n.parse().expect("a number"))
    };
    fill(number(0, FIRST), number(1, MORE));
}

fn fill(first: usize, more: usize) {
    let parent = std::env::var_os("ETUI_BENCH_DIR").map_or_else(
        || env!("CARGO_TARGET_TMPDIR").into(),
        std::path::PathBuf::from,
    );
    std::fs::create_dir_all(&parent).expect("the directory");
    let dir = tempfile::tempdir_in(&parent).expect("a scratch directory");
    let files = [("first.vcf", 1, first), ("more.vcf", 2, more)].map(|(name, seed, count)| {
        let path = dir.path().join(name);
        let mut out = BufWriter::new(File::create(&path).expect("a file"));
        let mut people = Stream::new(People::varied(seed).take(count));
        std::io::copy(&mut people, &mut out).expect("writing");
        (path, count)
    });
    let path = dir.path().join("s.etui");
    let budget = Options::default().memory_budget as f64 / MB;

    println!("## {first} contacts by one import, {more} more by another\n");
    println!("| | | target |\n|---|---|---|");
    let dirty = private_dirty();
    let store = Store::open_with(&path, &options()).expect("a new store");
    let contacts = store.contacts().expect("the book");
    for ((file, count), (what, target)) in
        files.iter().zip([("first fill", 60), ("more into it", 40)])
    {
        let (time, peak) = import(&contacts, file, *count);
        println!(
            "| {what}, {count} contacts | {:.1} s | {target} s |",
            time.as_secs_f64()
        );
        println!(
            "| its anonymous memory, at the peak over before | {peak:.1} MB | {:.0} MB |",
            budget + 64.0
        );
    }
    println!(
        "| Private_Dirty left by them | {:.1} MB | |",
        private_dirty() - dirty
    );
    let count = first + more;
    reads(&contacts, count);
    println!(
        "| and by {SEARCHES} searches and lists | {:.1} MB | |",
        private_dirty() - dirty
    );
    let start = Instant::now();
    for card in People::varied(3).take(SAVES) {
        contacts
            .save(&Card::parse(card).expect("a card"))
            .expect("saving");
    }
    let each = start.elapsed() / SAVES as u32;
    println!("| a single durable save then, in the mean | {each:.0?} | |");
    println!(
        "| Private_Dirty after {SAVES} saves too | {:.1} MB | 12 MB |",
        private_dirty() - dirty
    );
    store.close().expect("closing");
    println!("| and closed | {:.1} MB | |", private_dirty() - dirty);
    println!(
        "| the file | {:.0} MB | |",
        std::fs::metadata(&path).map_or(0.0, |m| m.len() as f64 / MB)
    );
    let child = Command::new(std::env::current_exe().expect("this program"))
        .arg("read")
        .arg(&path)
        .arg(count.to_string())
        .status();
    assert!(child.is_ok_and(|status| status.success()), "reading alone");
}

/// In a process that only reads.
fn read_alone(path: &Path, count: usize) {
    let dirty = private_dirty();
    let store = Store::open(path).expect("opening");
    let contacts = store.contacts().expect("the book");
    println!(
        "| another process: opened | {:.1} MB | |",
        private_dirty() - dirty
    );
    reads(&contacts, count);
    println!(
        "| and {SEARCHES} searches and lists | {:.1} MB | 12 MB |",
        private_dirty() - dirty
    );
}

/// Imports a file; the time, and the anonymous memory at its peak over that before, in MB.
fn import(contacts: &Contacts<'_>, file: &Path, count: usize) -> (Duration, f64) {
    let before = rss_anon();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut peak: f64 = 0.0;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(rss_anon());
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        });
        let input = File::open(file).expect("opening");
        let start = Instant::now();
        let report = contacts.import(input, &mut |_| ControlFlow::Continue(()));
        let time = start.elapsed();
        done.store(true, Ordering::Relaxed);
        let report = report.expect("importing");
        assert_eq!(report.added, count as u64, "{:?}", report.refusals.first());
        (time, watcher.join().expect("the watcher") - before)
    })
}

/// Pages of the list, letters, and searches of many kinds.
fn reads(contacts: &Contacts<'_>, count: usize) {
    let mut rng = SplitMix64::new(7);
    for _ in 0..100 {
        let offset = u64::from(rng.below(count as u32));
        let page = contacts.query(&Query::all().offset(offset).limit(50));
        assert!(!page.expect("a page").is_empty());
    }
    contacts.letters().expect("letters");
    for n in 0..SEARCHES {
        let someone = varied_person(1, u64::from(rng.below(count as u32)));
        let name: String = someone.family.chars().take(1 + n % 5).collect();
        let given = someone.given.replace('"', "");
        let text = match n % 6 {
            0 => format!("\"{name}\""),
            1 => format!("name:\"{name}\"*"),
            2 => format!("name:*\"{name}\"*"),
            3 => format!("given:\"{given}\" -family:\"{name}\"*"),
            4 => format!("email:*\"{name}\""),
            _ => format!("any:*\"{name}\"* or phone:*{:03}", n % 1_000),
        };
        let Ok(filter) = text.parse() else { continue };
        let sort = if n % 2 == 0 {
            SortOrder::List
        } else {
            SortOrder::Unordered
        };
        contacts
            .query(&Query::new(filter).sort(sort).limit(50))
            .expect("a search");
    }
}

const MB: f64 = (1 << 20) as f64;

fn rss_anon() -> f64 {
    line("/proc/self/status", "RssAnon")
}

fn private_dirty() -> f64 {
    rollup("Private_Dirty")
}

fn rollup(name: &str) -> f64 {
    line("/proc/self/smaps_rollup", name)
}

/// A figure of a file of `/proc`, told there in kB, in MB.
fn line(file: &str, name: &str) -> f64 {
    let text = std::fs::read_to_string(file).expect("/proc");
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
    let kb = line.and_then(|l| l.trim().strip_suffix(" kB"));
    kb.and_then(|kb| kb.parse::<f64>().ok()).expect("a figure") / 1024.0
}
