//! Concurrent events: a second run, a closed pipe, an interrupt.

use std::collections::HashSet;
use std::fs;
use std::process::Stdio;

use etui_lab::results::{ResultLine, file};
use etui_testkit::wait::wait_until;

use crate::scenes::{NAPS, RunLocation, code, made, naps, signal, traces, words};

pub fn two_at_once() {
    let place = RunLocation::new();
    let run = || {
        place
            .command(&[&NAPS[..], &["--quiet"]].concat())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    assert_eq!(code(&run().wait_with_output().unwrap()), 0);
    // The lock is what a run has on its file.
    let results = fs::File::open(place.path().join("out/naps.jsonl")).unwrap();
    results.lock().unwrap();
    let refused = place.lab(&[&NAPS[..], &["--fresh"]].concat());
    assert_eq!(code(&refused), 2);
    let refused = words(&refused);
    assert!(refused.contains("another run writes to it"), "{refused}");
    drop(results);
    let whole = |lines: &[ResultLine]| {
        let runs = made(lines);
        assert!(file::is_complete(lines));
        assert_eq!(runs.len(), naps());
        assert_eq!(runs.iter().collect::<HashSet<_>>().len(), naps());
    };
    whole(&place.lines("out/naps.jsonl"));

    // Begun together, in a place without a file: one makes it. The other is refused,
    // or finds the work done if it comes late.
    for _ in 0..5 {
        fs::remove_dir_all(place.path().join("out")).unwrap();
        let both = [(); 2].map(|()| run());
        let both = both.map(|child| child.wait_with_output().unwrap());
        let mut codes = both.each_ref().map(code);
        codes.sort_unstable();
        assert!(
            matches!(codes, [0, 0 | 2]),
            "{codes:?}: {}{}",
            words(&both[0]),
            words(&both[1])
        );
        whole(&place.lines("out/naps.jsonl"));
    }
}

pub fn a_closed_pipe() {
    let place = RunLocation::new();
    assert_eq!(code(&place.lab(&[&NAPS[..], &["--quiet"]].concat())), 0);
    let file = "out/naps.jsonl";
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["report", file],
        &["report", "--show", file],
        &["compare", file, file],
        &["compare", "--json", file, file],
        &NAPS,
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place
            .command(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(code(&output), 0, "{arguments:?}: {}", words(&output));
    }
}

pub fn stopped_while_it_gets_ready() {
    let place = RunLocation::new();
    let mut child = place
        .command(&["run", "endless", "--out", "endless.jsonl"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the run gets ready", || place.path().join("begun").exists());
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(traces(&place), Vec::<String>::new());
}
