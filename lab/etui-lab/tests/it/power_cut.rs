//! Power cuts on a file system in a virtual machine, run by the program itself, small.

use std::process::Command;

use serde_json::Value;

/// A store whose flushes count keeps what it acknowledged; one whose device ignores them does not.
#[test]
fn cuts_take_acknowledged_records_only_where_flushes_are_dropped() {
    if let Err(reason) = etui_lab::stacks::check_available("vm-ext4") {
        println!("skipped: {reason}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_etui-lab"))
        .current_dir(dir.path())
        .args(["run", "power-cut", "--quick", "--quiet", "--no-report"])
        .args([
            "--set",
            "systems=1",
            "--set",
            "points=8",
            "--set",
            "saves=12",
        ])
        .args(["--arm", "etui, Full, etui-vfs", "--out", "results.jsonl"])
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let lines = std::fs::read_to_string(dir.path().join("results.jsonl")).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let runs: Vec<Value> = lines.filter(|line: &Value| line["kind"] == "run").collect();
    let measures = |arm: &str, names: &[&str]| -> f64 {
        let run = runs.iter().find(|run| run["arm"] == arm).unwrap();
        let names = names.iter();
        names
            .map(|name| run["measures"][format!("cut/{name}")].as_f64().unwrap())
            .sum()
    };
    let bad = ["lossy_points", "damaged", "unmounted"];
    let kept = "etui, Full, etui-vfs";
    assert_eq!(measures(kept, &["points"]), 8.0);
    assert!(measures(kept, &["acknowledged"]) > 20.0);
    assert_eq!(measures(kept, &bad), 0.0);
    assert!(measures("etui, Full, etui-vfs, flushes dropped", &bad) > 0.0);
}
