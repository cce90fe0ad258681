//! The program as `etui` starts it. What its commands do is tested through `etui` (crate `etui-cli`).
#![allow(clippy::unwrap_used)]

use std::process::Command;

fn run(arguments: &[&str]) -> (String, Option<i32>) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_etui-session"));
    let output = program.args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

#[test]
fn commands_are_those_that_etui_starts() {
    let (help, code) = run(&["--help"]);
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .map_while(|line| line.split_whitespace().next())
        .collect::<Vec<_>>();
    assert_eq!(commands, ["eds", "dbus", "remind", "help"], "{help}");
    assert_eq!(code, Some(0));
}

#[test]
fn options_are_those_of_etui() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("none.etui");
    let missing = missing.to_str().unwrap();
    let (text, code) = run(&["remind", "--once", "--calendar", "Work", "--store", missing]);
    assert_eq!(code, Some(6), "{text}");
    assert!(text.contains("none.etui"), "{text}");
    let (text, code) = run(&["--json", "--store", missing, "remind", "--once"]);
    assert_eq!(code, Some(6), "{text}");
    assert!(text.starts_with("{\"error\":"), "{text}");
}
