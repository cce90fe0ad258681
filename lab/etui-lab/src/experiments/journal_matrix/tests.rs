#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Every arm runs and answers alike; on fresh file systems the counts are those expected.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::MeasurePass;
use crate::recorder::RunLocation;
use crate::results::RunRecord;
use crate::stacks::Stack;

const SIZE: u64 = 20;

fn group(work: &str, stack: &str) -> ArmGroup {
    ArmGroup {
        work: work.to_owned(),
        stack: stack.to_owned(),
        size: if work == THUMBNAILS { 1 } else { SIZE },
        arms: match work {
            CONTACT => contact::contact_arms(),
            SLOW => redo::slow_arms(),
            _ => mode_arms(INSERT),
        },
        ..ArmGroup::default()
    }
}

/// Runs an arm in a directory of its own on a stack.
fn run(group: &ArmGroup, arm: &Arm, stack: &Stack, shared: &Path) -> RunRecord {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let nth = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let dir = stack.dir.join(nth.to_string());
    fs::create_dir(&dir).unwrap();
    let case = group.make_case("journal-matrix", arm, MeasurePass::Counted, 0);
    let place = RunLocation {
        dir: dir.clone(),
        shared: shared.to_owned(),
        devices: stack.devices.clone(),
        traced: false,
    };
    let mut recorder = Recorder::new(place, MeasurePass::Counted);
    JournalMatrix.run_case(&case, &mut recorder).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    let (measures, answer) = recorder.finish();
    RunRecord {
        case,
        answer,
        measures,
    }
}

fn stack(name: &str, work: &Path) -> Option<Stack> {
    stacks::check_available(name).ok()?;
    Some(stacks::prepare_stack(name, work, None).unwrap())
}

#[test]
fn all_arms_of_a_work_give_the_same_answer() {
    let work = tempfile::tempdir().unwrap();
    let Some(ram) = stack(stacks::RAM, work.path()) else {
        return;
    };
    let mut results = Results::default();
    for name in [INSERT, UPDATE, DELETE, THUMBNAILS, CONTACT, SLOW] {
        let group = group(name, stacks::RAM);
        let shared = tempfile::tempdir().unwrap();
        JournalMatrix.set_up(&group, shared.path()).unwrap();
        let runs: Vec<RunRecord> = group
            .arms
            .iter()
            .map(|arm| run(&group, arm, &ram, shared.path()))
            .collect();
        for run in &runs {
            assert_eq!(run.answer, runs[0].answer, "{name}: {}", run.case.arm);
        }
        results.runs.extend(runs);
    }
    // A block and a flush for each, and one of each for the epoch; whatever the device.
    for name in [INSERT, UPDATE, DELETE] {
        let runs = &results.runs;
        let run = runs
            .iter()
            .find(|run| run.case.work == name && run.case.arm == REDO);
        let measures = &run.unwrap().measures;
        let count = |measure: &str| measures[&format!("work/vfs_{measure}")] as u64;
        assert_eq!((count("commits"), count("blocks")), (SIZE, SIZE), "{name}");
        assert_eq!(count("log_flushes"), SIZE + 1, "{name}");
        assert_eq!(count("log_write_bytes"), (SIZE + 1) * 4096, "{name}");
        assert_eq!(count("database_writes"), 0, "{name}");
        assert!(measures["checkpoint/vfs_database_writes"] > 0.0, "{name}");
    }
    // Without a device of its own there are no block counts.
    let presentation = JournalMatrix.present_results(&results);
    assert_eq!(presentation.charts, []);
    let titles = presentation.tables.iter().map(|table| table.title.as_str());
    assert!(
        titles
            .clone()
            .any(|title| title == "Counters of etui-vfs, each")
    );
}

#[test]
fn counts_on_fresh_file_systems_are_those_of_the_reference() {
    let mut results = Results::default();
    let work = tempfile::tempdir().unwrap();
    for name in ["ext4", "ext4-journal", "xfs", "btrfs"] {
        let Some(stack) = stack(name, work.path()) else {
            return;
        };
        let group = group(INSERT, name);
        let runs = group
            .arms
            .iter()
            .map(|arm| run(&group, arm, &stack, work.path()));
        results.runs.extend(runs);
    }
    let each = |stack: &str, mode: &str| -> BTreeMap<&str, f64> {
        let run = results
            .runs
            .iter()
            .find(|run| run.case.stack == stack && run.case.arm == mode)
            .unwrap();
        run.measures
            .iter()
            .filter_map(|(name, value)| {
                let name = name.strip_prefix("work/block_")?;
                Some((name, value / SIZE as f64))
            })
            .collect()
    };
    // The kernel's own timers may add a request or two to twenty transactions, a new page of the
    // table as many.
    let near = |found: f64, expected: f64| (found - expected).abs() < 0.5;
    for (stack, mode, [.., expected]) in reference::REFERENCE {
        // Not in every kernel: in the virtual machine only.
        if matches!(stack, "f2fs" | "nilfs2") {
            continue;
        }
        let flushes = each(stack, mode)["empty_flushes"];
        assert!(near(flushes, expected), "{stack} {mode}: {flushes} flushes");
    }
    let recycled = each("ext4", CURED);
    // One write of two pages; on a loaded machine the block layer parts some of them.
    let writes = recycled["real_writes"];
    assert!((0.9..2.0).contains(&writes), "{recycled:?}");
    let bytes = recycled["journal_bytes"];
    assert!((8_192.0..10_000.0).contains(&bytes), "{recycled:?}");
    assert!(recycled["database_bytes"] < 1.0, "{recycled:?}");
    // One block of the redo log, and no more of the database or the file system.
    for stack in ["ext4", "xfs"] {
        let redo = each(stack, REDO);
        let (writes, bytes) = (redo["real_writes"], redo["journal_bytes"]);
        assert!((0.9..1.5).contains(&writes), "{stack}: {redo:?}");
        assert!((4_096.0..5_500.0).contains(&bytes), "{stack}: {redo:?}");
        assert!(near(redo["empty_flushes"], 1.0), "{stack}: {redo:?}");
        assert!(redo["database_bytes"] < 1.0, "{stack}: {redo:?}");
    }
    let found = each("ext4", FOUND);
    assert!(found["fs_journal_bytes"] > found["real_write_bytes"] / 2.0);
    let external = each("ext4-journal", FOUND);
    assert!(external["main_flushes"] < external["empty_flushes"] / 2.0);

    let presentation = JournalMatrix.present_results(&results);
    assert_eq!(presentation.charts.len(), 4);
    let titles: Vec<&str> = presentation
        .tables
        .iter()
        .map(|table| table.title.as_str())
        .collect();
    assert!(titles.contains(&"An insert's counts against a reference"));
    // No times, and yet a verdict by the counters.
    assert_eq!(presentation.verdict.shown, crate::FindingStatus::Yes);
    let notes = presentation.verdict.notes.join("\n");
    assert!(notes.contains("of 54 counts of the reference"), "{notes}");
}

#[test]
fn nothing_run_is_no_verdict() {
    let presentation = JournalMatrix.present_results(&Results::default());
    assert_eq!(presentation.verdict.shown, crate::FindingStatus::Open);
    assert!(presentation.tables.is_empty() && presentation.charts.is_empty());
}
