//! The experiments on the date book and on application start, run by the program itself, small:
//! every arm runs, and all give the same answer, else their runs would be kept as failed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs an experiment in a directory and gives the lines of its results.
fn run(dir: &Path, name: &str, more: &[&str]) -> Vec<Value> {
    run_on_any(dir, name, &[more, &["--stack", "here"]].concat())
}

fn run_on_any(dir: &Path, name: &str, more: &[&str]) -> Vec<Value> {
    let out = Command::new(env!("CARGO_BIN_EXE_etui-lab"))
        .current_dir(dir)
        .args(["run", name, "--quick", "--quiet", "--no-report"])
        .args(["--repetitions", "1"])
        .args(["--out", "results.jsonl"])
        .args(more)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    std::fs::read_to_string(dir.join("results.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

fn names<'a>(runs: &[&'a Value], work: &str) -> BTreeSet<&'a str> {
    runs.iter()
        .filter(|run| run["work"] == work)
        .map(|run| run["arm"].as_str().unwrap())
        .collect()
}

#[test]
fn every_way_to_a_date_book() {
    let dir = tempfile::tempdir().unwrap();
    let set = ["--set", "records=60,20", "--set", "syncs=5"];
    let lines = run(dir.path(), "datebook", &set);
    assert!(of_kind(&lines, "failed").is_empty());
    let runs = of_kind(&lines, "run");
    let works: BTreeSet<_> = runs.iter().map(|run| run["work"].to_string()).collect();
    assert_eq!(works.len(), 8);
    let arms = names(&runs, "get 1 dirty");
    assert_eq!(arms.len(), 9);
    for arm in ["etui native", "etui date book"] {
        assert!(arms.contains(arm), "{arm}");
    }
}

#[test]
fn every_way_to_initial_data_and_to_a_first_screen() {
    // On a disk, where a cold start can be had.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let arms = ["read", "pread", "mmap", "taken", "io_uring", "etui"];
    let mut more = vec!["--set", "megabytes=1", "--set", "used=30"];
    more.extend(["--set", "contacts=60"]);
    more.extend(arms.iter().flat_map(|arm| ["--arm", arm]));
    let lines = run(dir.path(), "app-start", &more);
    assert!(of_kind(&lines, "failed").is_empty());
    let runs = of_kind(&lines, "run");
    // Forbidden io_uring or direct reads are reported.
    let told = of_kind(&lines, "not-run").len();
    assert!(names(&runs, "read").len() + told >= 10);
    assert_eq!(names(&runs, "written").len(), 6);
    let screen = names(&runs, "first screen");
    assert!(screen.contains("etui") && screen.len() == 3, "{screen:?}");
    assert!(
        runs.iter()
            .all(|run| run["measures"]["warm/wall_ns"].as_f64().unwrap() > 0.0)
    );
}

#[test]
fn versions_of_the_address_book_server() {
    // Without its suites each version is named as not run, with the command that unpacks it.
    let dir = tempfile::tempdir().unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_etui-lab"))
        .current_dir(dir.path())
        .env("XDG_CACHE_HOME", dir.path())
        .args(["run", "eds-versions", "--quick", "--quiet", "--no-report"])
        .args(["--out", "without.jsonl"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    let text = std::fs::read_to_string(dir.path().join("without.jsonl")).unwrap();
    for suite in ["bullseye", "bookworm", "trixie"] {
        let part = format!("version of {suite}");
        let named = text.lines().find(|line| line.contains(&part));
        let named = named.expect("named as not run");
        assert!(named.contains("not-run"), "{named}");
        assert!(named.contains("etui lab setup --eds-versions"), "{named}");
    }

    // With those that are in the cache, all versions give the same answers.
    let set = ["--set", "sizes=50", "--set", "saves=3"];
    let lines = run_on_any(dir.path(), "eds-versions", &set);
    for skipped in of_kind(&lines, "not-run") {
        println!("skipped: {skipped}");
    }
    assert!(of_kind(&lines, "failed").is_empty());
    let runs = of_kind(&lines, "run");
    if !runs.is_empty() {
        assert_eq!(names(&runs, "over D-Bus"), names(&runs, "direct"));
    }
}
