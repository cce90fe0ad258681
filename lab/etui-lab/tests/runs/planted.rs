//! A regression that was planted is found; two runs of the same build differ in nothing.

use std::collections::BTreeMap;

use etui_lab::results::ResultLine;

use crate::scenes::{RunLocation, code, words};

/// Measures once, with planted regressions.
fn measure(place: &RunLocation, name: &str, set: &[&str]) {
    let mut arguments = vec!["run", "planted", "--out", name, "--no-report", "--quiet"];
    for one in set {
        arguments.extend(["--set", one]);
    }
    let output = place.lab(&arguments);
    assert_eq!(code(&output), 0, "{}", words(&output));
}

fn instructions(place: &RunLocation, name: &str) -> f64 {
    place
        .lines(name)
        .iter()
        .find_map(|line| match line {
            ResultLine::Run(run) => run.measures.get("save/instructions").copied(),
            _ => None,
        })
        .expect("instructions were counted")
}

/// Returns the exit code of a comparison, and its regressions, with the gates alone.
fn compare(place: &RunLocation, before: &str, after: &str) -> (i32, BTreeMap<String, f64>) {
    let output = place.lab(&["compare", before, after, "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["compared"].as_u64().unwrap() > 5, "{found}");
    let worse = found["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| {
            let ratio = d["after"].as_f64().unwrap() / d["before"].as_f64().unwrap();
            (d["measure"].as_str().unwrap().to_owned(), ratio)
        })
        .collect();
    (code(&output), worse)
}

pub fn found() {
    for tool in ["strace", "valgrind"] {
        assert!(
            etui_lab::machine::find_tool(tool).is_some(),
            "{tool} is not installed; `scripts/need {tool}` installs it"
        );
    }
    let place = RunLocation::new();
    measure(&place, "0.jsonl", &[]);
    // Ten more runs of the same build: silent each time.
    let rounds = if std::env::var_os("ETUI_TEST_LONG").is_some() {
        10
    } else {
        3
    };
    for round in 1..=rounds {
        let name = format!("{round}.jsonl");
        measure(&place, &name, &[]);
        let (code, found) = compare(&place, "0.jsonl", &name);
        assert_eq!((code, found), (0, BTreeMap::new()), "round {round}");
    }
    // One more flush for each commit.
    measure(&place, "flush.jsonl", &["flushes=1"]);
    let (code, found) = compare(&place, "0.jsonl", "flush.jsonl");
    assert_eq!(code, 3, "{found:?}");
    assert!(found.contains_key("save/flush_calls"), "{found:?}");
    let (code, _) = compare(&place, "flush.jsonl", "0.jsonl");
    assert_eq!(code, 0, "a flush less is no loss");
    // A fifth more instructions in a save: the cost of a round is measured first.
    let base = instructions(&place, "0.jsonl");
    measure(&place, "rounds.jsonl", &["rounds=10000"]);
    let round = (instructions(&place, "rounds.jsonl") - base) / 10_000.0;
    let fifth = (base * 0.2 / round) as u64;
    measure(&place, "fifth.jsonl", &[&format!("rounds={fifth}")]);
    let (code, found) = compare(&place, "0.jsonl", "fifth.jsonl");
    assert_eq!(code, 3, "{found:?}");
    let ratio = found["save/instructions"];
    assert!((1.18..1.22).contains(&ratio), "{found:?}");
}
