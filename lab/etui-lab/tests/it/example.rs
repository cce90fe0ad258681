//! The example of the book, *Adding an experiment*.

use std::process::Command;

#[test]
fn the_example_runs() {
    // Cargo builds examples beside the tests: target/PROFILE/{deps,examples}.
    let own = std::env::current_exe().unwrap();
    let example = own.ancestors().nth(2).unwrap().join("examples/flush_cost");
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(example)
        .args(["run", "flush-cost", "--quick", "--out", "flush.jsonl"])
        .current_dir(dir.path())
        .output()
        .expect("the example was built");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        shown.contains("A flush for each line makes appends slower."),
        "{shown}"
    );
    assert!(dir.path().join("flush.html").exists());
}
