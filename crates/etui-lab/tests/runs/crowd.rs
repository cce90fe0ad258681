//! Concurrent events: a second run, a closed pipe, an interrupt.

use std::collections::HashSet;
use std::process::Stdio;

use etui_lab::results::file;
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
    let both = [run(), run()].map(|child| child.wait_with_output().unwrap());
    let mut codes = both.each_ref().map(code);
    codes.sort_unstable();
    assert_eq!(codes, [0, 2]);
    let refused = both.iter().find(|output| code(output) == 2).unwrap();
    let refused = words(refused);
    assert!(refused.contains("another run writes to it"), "{refused}");
    let lines = place.lines("out/naps.jsonl");
    let runs = made(&lines);
    assert!(file::is_complete(&lines));
    assert_eq!(runs.len(), naps());
    assert_eq!(runs.iter().collect::<HashSet<_>>().len(), naps());
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
