//! Hostile files: each costs a scan at most 2 seconds and 64 MB, is listed or refused with a reason,
//! and the good file beside it is found.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use etui::Store;
use etui::media::{Media, ScanOptions, ScanReport};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file, write_hostile};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};

/// The variable with the folder that the child process scans.
const FOLDER: &str = "ETUI_TEST_HOSTILE_FOLDER";
/// More than a file may cost by itself: the pages of the store are counted, too.
const MAX_BYTES: u64 = 64 << 20;

fn good_file() -> Vec<u8> {
    let spec = TrackSpec {
        title: "Good".to_owned(),
        ..TrackSpec::new(1, 2_000)
    };
    audio_file(AudioFormat::Flac, &spec)
}

fn scan(media: &Media, folder: &Path) -> ScanReport {
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    media
        .scan(&[folder.to_owned()], &ScanOptions::default(), go_on)
        .unwrap()
}

/// The peak of this process's resident memory, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<u64>().unwrap() << 10
}

#[test]
#[ignore = "a process that the next test measures"]
fn scan_one_folder() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("media.etui")).unwrap();
    let media = store.media().unwrap();
    let before = peak_memory();
    let begun = Instant::now();
    let report = scan(&media, &folder);
    let (time, memory) = (begun.elapsed(), peak_memory() - before);
    let good = media.tracks().find(&"title:good".parse().unwrap()).unwrap();
    assert!(!good.is_empty(), "{report:#?}");
    let listed = media.tracks().count().unwrap() + media.pictures().count().unwrap();
    let refused = report.problems.iter().filter(|p| p.is_refused).count() as u64;
    assert_eq!(listed + refused, report.files, "{report:#?}");
    for problem in &report.problems {
        assert!(problem.path.starts_with(&folder) && !problem.reason.is_empty());
    }
    assert!(store.check().unwrap().is_clean());
    let reason = report.problems.first().map_or("", |p| &*p.reason);
    println!(
        "cost {} {memory} {}",
        time.as_millis(),
        reason.escape_debug()
    );
}

#[test]
fn each_hostile_file_costs_little_and_spares_its_neighbour() {
    // It starts many processes.
    if !in_own_process(each_hostile_file_costs_little_and_spares_its_neighbour) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("hostile");
    let entries = write_hostile(&root).unwrap();
    assert!(entries.len() >= 74, "{}", entries.len());
    let fifo = root.join("fifo");
    fs::create_dir(&fifo).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo.join("pipe.mp3"), 0o600.into()).unwrap();
    let fifo = ("a FIFO".to_owned(), fifo);
    let entries = entries.into_iter().map(|entry| (entry.about, entry.folder));
    // The bound is of an optimized build on an idle machine.
    let max_time = match std::env::var_os("ETUI_TEST_LONG") {
        Some(_) => Duration::from_secs(2),
        None => Duration::from_secs(30),
    };
    let mut failures = Vec::new();
    for (about, folder) in entries.chain([fifo]) {
        // In a folder of its own: a picture beside music is none of the library's.
        fs::create_dir(folder.join("good")).unwrap();
        fs::write(folder.join("good/good.flac"), good_file()).unwrap();
        let child = ProgramOfTest::new(scan_one_folder)
            .command()
            .unwrap()
            .env(FOLDER, &folder)
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&child.stdout).into_owned();
        let cost = output.lines().find_map(|line| line.split("cost ").nth(1));
        let mut numbers = cost.unwrap_or_default().splitn(3, ' ');
        let mut number = || numbers.next().and_then(|n| n.parse::<u64>().ok());
        let (Some(millis), Some(bytes)) = (number(), number()) else {
            let errors = String::from_utf8_lossy(&child.stderr);
            failures.push(format!("{about}: {output}{errors}"));
            continue;
        };
        let reason = numbers.next().unwrap_or_default();
        println!("{about}: {millis} ms, {} kB, {reason}", bytes >> 10);
        if Duration::from_millis(millis) > max_time || bytes > MAX_BYTES {
            failures.push(format!("{about}: {millis} ms, {bytes} bytes"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Whatever is seen of a file that is written meanwhile, the scan after it is written knows it.
#[test]
fn a_file_that_changes_while_it_is_read_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("Music");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("growing.flac");
    let store = Store::open(dir.path().join("media.etui")).unwrap();
    let media = store.media().unwrap();
    let whole = good_file();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..30 {
                fs::write(&path, &whole[..whole.len() * (round % 3 + 1) / 4]).unwrap();
                std::thread::sleep(Duration::from_millis(3));
            }
            fs::write(&path, &whole).unwrap();
        });
        while !writer.is_finished() {
            scan(&media, &folder);
        }
    });
    let report = scan(&media, &folder);
    assert!(report.problems.is_empty(), "{report:?}");
    let good = media.tracks().find(&"title:good".parse().unwrap()).unwrap();
    assert_eq!(good.len(), 1);
    assert_eq!(media.tracks().count().unwrap(), 1);
    assert!(store.check().unwrap().is_clean());
}
