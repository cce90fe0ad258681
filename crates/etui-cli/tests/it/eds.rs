//! `etui eds` on a private bus with Evolution Data Server: questions, and the programs that it names.

use std::fs;
use std::process::{Child, Command, Stdio};

use etui_testkit::bus::PrivateBus;
use etui_testkit::wait::wait_until;

use crate::harness::bin;

const NAMES: [&str; 3] = [
    "org.gnome.evolution.dataserver.Sources5",
    "org.gnome.evolution.dataserver.AddressBook10",
    "org.gnome.evolution.dataserver.Calendar8",
];

/// A bus with the stock server, if that is installed.
fn desktop() -> Option<PrivateBus> {
    let bus = PrivateBus::start().unwrap();
    if NAMES
        .iter()
        .any(|name| bus.add_system_service(name).is_err())
    {
        eprintln!("skipped: the package evolution-data-server is not installed");
        return None;
    }
    Some(bus)
}

/// Runs a line of a shell; returns its output and whether it succeeded.
fn run(bus: &PrivateBus, line: &str) -> (String, bool) {
    let bin = bin();
    let mut command: Command = bus.command("sh");
    let output = command
        .args(["-c", &format!("exec 2>&1; {line}")])
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .output()
        .unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        output.status.success(),
    )
}

/// Runs `etui eds` on a terminal of its own, where `answer` is typed and then the end of input.
fn ask(bus: &PrivateBus, command: &str, answer: &str) -> (String, bool) {
    let script = format!("script -qec 'etui eds {command}' /dev/null");
    run(bus, &format!("printf '{answer}' | {script}"))
}

fn is_on(bus: &PrivateBus) -> bool {
    let services = bus.dir().join("data/dbus-1/services");
    services.join(format!("{}.service", NAMES[1])).exists()
}

#[test]
fn only_a_yes_switches() {
    let Some(bus) = desktop() else { return };
    for (command, before, after) in [("on", false, true), ("off", true, false)] {
        for answer in ["n\\n", "\\n", "later\\n", ""] {
            let (out, succeeded) = ask(&bus, command, answer);
            assert!(succeeded, "{out}");
            assert!(out.contains("Go on? [y/N]"), "{out}");
            assert!(out.contains("Nothing was changed."), "{answer}: {out}");
            assert_eq!(is_on(&bus), before, "{command} {answer}");
        }
        for redirection in ["</dev/null", "--json"] {
            let (out, succeeded) = run(&bus, &format!("etui eds {command} {redirection}"));
            assert!(!succeeded, "{out}");
            assert!(out.contains("add --yes to switch"), "{out}");
            assert_eq!(is_on(&bus), before, "{command} {redirection}");
        }
        let (out, succeeded) = ask(&bus, command, "y\\n");
        assert!(succeeded, "{out}");
        assert_eq!(is_on(&bus), after, "{out}");
    }
    let (out, succeeded) = run(&bus, "etui eds on --yes </dev/null");
    assert!(succeeded && is_on(&bus), "{out}");
}

/// Ends a program when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn open_programs_are_named() {
    let Some(bus) = desktop() else { return };
    // A client of the bus that stays, under the name of the program.
    let program = bus.dir().join("gnome-calendar");
    if fs::copy("/usr/bin/gdbus", &program).is_err() {
        eprintln!("skipped: gdbus is not installed");
        return;
    }
    let mut command: Command = bus.command(&program);
    command.args(["wait", "--session", "org.example.Never"]);
    let running = Running(command.stdout(Stdio::null()).spawn().unwrap());
    let name = format!(
        "GNOME Calendar (gnome-calendar, process {})",
        running.0.id()
    );
    wait_until("the program is on the bus", || {
        run(&bus, "etui eds status")
            .0
            .contains(&format!("open in {name}"))
    });
    let (out, _) = run(&bus, "etui eds on --dry-run");
    assert!(
        out.contains(&format!("to be started again:\n  {name}\n")),
        "{out}"
    );
    for command in ["on", "off"] {
        let (out, _) = run(&bus, &format!("etui eds {command} --yes"));
        assert!(
            out.contains(&format!("close and start again: {name}")),
            "{out}"
        );
    }
    let (out, _) = run(
        &bus,
        "etui eds on --yes >/dev/null; etui --store $XDG_DATA_HOME/other.etui eds on --yes",
    );
    assert!(
        out.contains("serves desktop programs now; switch it off with `etui --store"),
        "{out}"
    );
}
