//! Commands killed at a system call: plain SQLite opens the store beside its WAL and reads all that was
//! acknowledged, and the command can be repeated.
//!
//! `ETUI_TEST_LONG=1` kills each command at some sixty calls, 1,000 in all, instead of three.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use etui_testkit::rng::SplitMix64;

use crate::harness::TestHome;

/// The commands that fill the store.
const BEFORE: [&str; 6] = [
    "etui -q import people.vcf entries.ics",
    "etui -q contacts remove 4",
    "etui -q addressbooks create Friends",
    "etui -q generate --media music --albums 1 --pictures 1",
    "etui -q backup before.etui",
    "etui -q export -o before.vcf",
];

const ENTRIES: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//test//EN\r\n\
BEGIN:VEVENT\r\nUID:tea\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20260102T150000Z\r\nSUMMARY:Tea\r\nEND:VEVENT\r\n\
END:VCALENDAR\r\n";

/// The commands. All but the scan, which commits in batches, change the store as a whole.
const COMMANDS: [&str; 18] = [
    "etui import more.vcf",
    "etui import more.ics",
    "etui contacts add new.vcf",
    "etui contacts edit 1 --set note=x",
    "etui contacts remove 1",
    "etui contacts restore 4",
    "etui calendar add 'Lunch tomorrow 12:00'",
    "etui calendar remove 5",
    "etui addressbooks create Work",
    "etui addressbooks rename Friends Others",
    "etui addressbooks remove Friends",
    "etui settings region DE",
    "etui media scan music",
    "etui check",
    "etui backup copy.etui",
    "etui restore before.etui --to other.etui",
    "etui export -o out.vcf",
    "etui init --store fresh.etui",
];

const STORE: &str = ".local/share/etui";

/// The calls that concern files.
const CALLS: &str = "%file,%desc";

/// Returns a home with the store and the input files of the commands.
fn home() -> TestHome {
    let home = TestHome::new();
    let card = |n: usize| {
        format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:new-{n}\r\nFN:New {n}\r\nEND:VCARD\r\n")
    };
    std::fs::write(home.path("new.vcf"), card(0)).unwrap();
    std::fs::write(home.path("more.vcf"), card(1) + &card(2)).unwrap();
    std::fs::write(home.path("entries.ics"), ENTRIES).unwrap();
    let more = ENTRIES.replace("tea", "cake").replace("Tea", "Cake");
    std::fs::write(home.path("more.ics"), more).unwrap();
    for line in BEFORE {
        assert_eq!(home.run(line), (String::new(), Some(0)), "{line}");
    }
    home
}

/// Everything in a store that a person sees, without ids and times, which differ between runs.
fn shown(home: &TestHome) -> String {
    let (text, code) = home.run(
        "etui export; etui export --calendars; etui addressbooks; etui calendars; etui settings; \
         (etui media tracks; etui media pictures) | sed 's/^[ 0-9#]*//' | sort; etui check",
    );
    assert_eq!(code, Some(0), "{text}");
    let is_same = |line: &&str| {
        let varying = ["UID:", "DTSTAMP:", "CREATED:", "LAST-MODIFIED:", "REV:"];
        !varying.iter().any(|name| line.starts_with(name))
    };
    text.lines()
        .filter(is_same)
        .fold(String::new(), |all, line| all + line + "\n")
}

/// The texts of a store as plain SQLite reads them, on a copy with the WAL.
fn read_by_plain_sqlite(home: &TestHome) -> String {
    let (text, code) = home.run(
        "rm -rf copied; cp -r .local/share/etui copied
         sqlite3 copied/personal.etui 'PRAGMA integrity_check; SELECT count(*), sum(length(text)) FROM item'",
    );
    assert_eq!(code, Some(0), "{text}");
    text
}

/// Restores the store, and removes the command's files.
fn restore(home: &TestHome) {
    let (text, code) = home.run(
        "rm -rf .local/share/etui copy.etui* other.etui* fresh.etui* out.vcf .*etui-part*
         cp -r kept .local/share/etui",
    );
    assert_eq!((text.as_str(), code), ("", Some(0)));
}

/// Runs a command under strace with these options. Returns its output and its exit code.
fn traced(home: &TestHome, options: &[&str], line: &str) -> (String, Option<i32>) {
    let mut strace = home.command("strace");
    strace.args(["-f", "-qq", "-e", &format!("trace={CALLS}"), "-o", "trace"]);
    // The shell is replaced, so that only the command is counted.
    strace
        .args(options)
        .args(["sh", "-c", &format!("exec {line}")]);
    let output = strace.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (
        said + &String::from_utf8_lossy(&output.stderr),
        output.status.code(),
    )
}

/// A system call of one thread: its name, and how many of that name the thread made up to it.
type Call = (String, usize);

/// Returns the calls of one thread since it looked for a store.
fn calls_of(trace: &Path) -> Vec<Call> {
    let trace = std::fs::read_to_string(trace).unwrap();
    let mut threads: BTreeMap<&str, (BTreeMap<&str, usize>, Vec<Call>)> = BTreeMap::new();
    for line in trace.lines() {
        let Some((start, arguments)) = line.split_once('(') else {
            continue;
        };
        let (thread, name) = start.split_once(' ').unwrap();
        let (counts, calls) = threads.entry(thread).or_default();
        let count = counts.entry(name.trim()).or_default();
        *count += 1;
        if !calls.is_empty() || arguments.contains(".etui") {
            calls.push((name.trim().to_owned(), *count));
        }
    }
    let calls = threads.into_values().map(|(_, calls)| calls);
    calls.max_by_key(Vec::len).unwrap()
}

#[test]
fn a_killed_command_leaves_a_store_that_plain_sqlite_reads() {
    let home = home();
    let may_trace = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status();
    if !may_trace.is_ok_and(|status| status.success()) {
        println!("skipped: strace may not trace here");
        return;
    }
    let kills = match std::env::var_os("ETUI_TEST_LONG").is_some() {
        true => 60,
        false => 3,
    };
    home.run(&format!("cp -r {STORE} kept"));
    let mut random = SplitMix64::new(36);
    let mut killed = 0;
    for line in COMMANDS {
        restore(&home);
        let before = (read_by_plain_sqlite(&home), shown(&home));
        let (said, code) = traced(&home, &[], line);
        assert_eq!(code, Some(0), "{line}: {said}");
        let after = (read_by_plain_sqlite(&home), shown(&home));
        let calls = calls_of(&home.path("trace"));
        for kill in 0..kills {
            restore(&home);
            let part = calls.len() / kills;
            let at = calls.len() * kill / kills + random.below(1 + part as u32) as usize;
            let (name, count) = &calls[at.min(calls.len() - 1)];
            let inject = format!("inject={name}:signal=KILL:when={count}");
            let (said, code) = traced(&home, &["-e", &inject], line);
            let case = format!("{line}, killed at {name} {count}: {said}");
            killed += usize::from(code != Some(0));
            let found = (read_by_plain_sqlite(&home), shown(&home));
            let is_before = found == before || line.starts_with("etui media");
            let is_right = found == after || (code != Some(0) && is_before);
            assert!(is_right, "{case}: {found:?}");
            // Other files are whole or not there.
            for file in ["copy.etui", "other.etui", "fresh.etui"] {
                if home.path(file).exists() {
                    let (said, code) = home.run(&format!("etui --store {file} check"));
                    assert_eq!(code, Some(0), "{case}: {file}: {said}");
                }
            }
            if let Ok(text) = std::fs::read(home.path("out.vcf")) {
                assert!(
                    text == std::fs::read(home.path("before.vcf")).unwrap(),
                    "{case}"
                );
            }
            // It is repeated, unless it was done; its remains are tidied.
            if is_before && found != after {
                let (said, code) = home.run(line);
                assert_eq!(code, Some(0), "{case}, then: {said}");
                assert!(shown(&home) == after.1, "{case}, then another state");
            }
            home.run("rm -f copy.etui out.vcf; etui backup copy.etui; etui export -o out.vcf");
            let (left, _) = home.run("ls -A . .local/share/etui | grep -e part");
            assert_eq!(left, "", "{case}");
        }
    }
    println!("{killed} killed of {} runs", COMMANDS.len() * kills);
    // Other calls of a thread that was slower or faster this time may not come.
    assert!(killed > 2 * COMMANDS.len());
}
