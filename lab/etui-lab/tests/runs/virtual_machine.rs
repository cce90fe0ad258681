//! Runs in a virtual machine: to the end, and killed. Skipped where there is none.

use std::fs;
use std::path::Path;

use etui_lab::results::ResultLine;
use etui_lab::stacks;
use etui_testkit::wait::wait_until;

use super::scenes::{RunLocation, code, made, signal, words};

const RUN: [&str; 6] = [
    "run",
    "guest",
    "--out",
    "guest.jsonl",
    "--quiet",
    "--no-report",
];

fn is_available() -> bool {
    match stacks::check_available("vm-ext4") {
        Ok(()) => true,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            false
        }
    }
}

pub fn to_the_end() {
    if !is_available() {
        return;
    }
    let place = RunLocation::new();
    let output = place.lab(&RUN);
    assert_eq!(code(&output), 3, "{}", words(&output));
    let lines = place.lines("guest.jsonl");
    assert_eq!(
        made(&lines),
        [
            "vm-ext4 one Counted 0",
            "vm-ext4 two Counted 0",
            "vm-ext4 one Timed 0",
            "vm-ext4 two Timed 0"
        ]
    );
    let mut failed = 0;
    for line in &lines {
        match line {
            ResultLine::Run(run) if run.measures.contains_key("write/wall_ns") => {
                // A flush of the modelled device takes 3 ms.
                assert!(run.measures["write/wall_ns"] > 3e6, "{run:?}");
            }
            ResultLine::Run(run) => {
                // The guest's own counters: the file's blocks and more, and a flush.
                assert!(run.measures["write/block_write_bytes"] >= 8192.0, "{run:?}");
                assert!(run.measures["write/block_flushes"] >= 1.0, "{run:?}");
            }
            ResultLine::NotRun { part, .. } => assert_eq!(part.reason, "no such device"),
            ResultLine::Failed { message, .. } => {
                failed += 1;
                assert!(message.contains("is not the one"), "{message}");
            }
            ResultLine::Stack { details, .. } => {
                assert!(details["device model"].starts_with("emmc"), "{details:?}");
                assert!(!details["kernel"].is_empty());
            }
            _ => {}
        }
    }
    assert_eq!(failed, 2, "{lines:#?}");
    assert_eq!(machines_in(place.path()), Vec::<u32>::new());
}

pub fn killed() {
    if !is_available() {
        return;
    }
    let place = RunLocation::new();
    // The arms wait long enough to be met.
    let slow = [&RUN[..], &["--set", "milliseconds=1000"]].concat();
    let mut child = place.command(&slow).spawn().unwrap();
    wait_until("a machine", || {
        assert!(child.try_wait().unwrap().is_none(), "the run ended");
        !machines_in(place.path()).is_empty()
    });
    signal(&child, "KILL");
    child.wait().unwrap();

    // The next run removes the machine, and is stopped by a signal while its own one boots.
    let mut child = place.command(&slow).spawn().unwrap();
    let own = |machine: &u32| parent_of(*machine) == Some(child.id());
    wait_until("the run's own machine", || {
        machines_in(place.path()).iter().any(own)
    });
    assert!(machines_in(place.path()).iter().all(own));
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(machines_in(place.path()), Vec::<u32>::new());
    let left: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The processes of QEMU whose files are in a directory.
fn machines_in(dir: &Path) -> Vec<u32> {
    let dir = fs::canonicalize(dir).unwrap();
    let dir = dir.to_str().unwrap().as_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| {
            let number = process.file_name().to_str()?.parse().ok()?;
            let line = fs::read(process.path().join("cmdline")).ok()?;
            let is_machine = line.starts_with(b"/") && line.windows(5).any(|part| part == b"qemu-");
            let is_here = line.windows(dir.len()).any(|part| part == dir);
            (is_machine && is_here).then_some(number)
        })
        .collect()
}

fn parent_of(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}
