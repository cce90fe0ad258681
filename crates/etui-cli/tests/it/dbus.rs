//! `etui dbus`, started by a private bus with the service file of the repository: the
//! examples of the book run, and have the output that is printed there.

use std::fs;
use std::path::Path;
use std::process::Command;

use etui_testkit::bus::PrivateBus;
use etui_testkit::wait::wait_until;

use crate::harness::{TestHome, bin, session};

/// A bus that starts the service.
fn bus() -> PrivateBus {
    let bus = PrivateBus::start().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/org.etui.Store1.service");
    let file = fs::read_to_string(file).unwrap();
    let exec = file.lines().find_map(|l| l.strip_prefix("Exec=/usr/bin/"));
    let exec = format!("{}/{}", bin().display(), exec.unwrap());
    bus.add_service("org.etui.Store1", &exec).unwrap();
    bus
}

/// Runs a program on the bus; returns both outputs.
fn run(bus: &PrivateBus, program: &str, arguments: &[&str]) -> String {
    let bin = bin();
    let mut command: Command = bus.command(program);
    let output = command
        .args(arguments)
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    out + &String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_examples_of_the_book_run() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/dbus.md");
    let page = fs::read_to_string(page).unwrap();
    let bus = bus();

    let blocks = page.split("```console\n").skip(1);
    let mut commands = 0;
    for block in blocks.map(|block| block.split_once("```").unwrap().0) {
        for command in block.split("$ ").skip(1) {
            let (line, expected) = command.split_once('\n').unwrap();
            assert_eq!(
                run(&bus, "sh", &["-c", line]),
                expected,
                "{line}\n{}",
                bus.log()
            );
            commands += 1;
        }
    }
    assert_eq!(commands, 3);

    // The blocks in Python are one program; each is followed by its output.
    let (mut program, mut expected) = (String::new(), String::new());
    for block in page.split("```python\n").skip(1) {
        let (code, rest) = block.split_once("```").unwrap();
        program += code;
        if let Some(text) = rest.trim_start().strip_prefix("```text\n") {
            expected += text.split_once("```").unwrap().0;
        }
    }
    let printed = run(
        &bus,
        "timeout",
        &["600", "/usr/bin/python3", "-c", &program],
    );
    assert_eq!(printed, expected, "{}", bus.log());
}

#[test]
fn an_idle_service_ends() {
    let bus = PrivateBus::start().unwrap();
    let exec = format!("{}/etui-session dbus --idle-exit 1", bin().display());
    bus.add_service("org.etui.Store1", &exec).unwrap();
    let version =
        "busctl --user get-property org.etui.Store1 /org/etui/Store1 org.etui.Store1 Version";
    assert!(run(&bus, "sh", &["-c", version]).starts_with("s \""));
    let is_served =
        || run(&bus, "busctl", &["--user", "list", "--acquired"]).contains("org.etui.Store1");
    wait_until("the service ends", || !is_served());
    // The bus starts it again.
    assert!(run(&bus, "sh", &["-c", version]).starts_with("s \""));
}

#[test]
fn serving_needs_a_bus() {
    let home = TestHome::new();
    session!(home, ["DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere etui dbus"], @r"
    $ DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere etui dbus
    error: the bus: failed to connect to `unix:path=/nowhere`: No such file or directory (os error 2)
    [exit 1]
    ");
}
