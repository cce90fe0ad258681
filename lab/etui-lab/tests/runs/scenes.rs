//! Runs, stopped, resumed and killed.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use etui_lab::results::{ResultLine, file};
use etui_lab::stats;
use etui_testkit::rng::SplitMix64;
use etui_testkit::wait::wait_until;

/// An empty directory in which the laboratory is used.
pub struct RunLocation {
    dir: tempfile::TempDir,
}

impl RunLocation {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a directory"),
        }
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    pub fn lab(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn lines(&self, name: &str) -> Vec<ResultLine> {
        file::read_results(&self.dir.path().join(name)).unwrap()
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns leftovers of a run in the directory besides its results.
    fn left(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with('.'))
            .collect()
    }
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

pub fn made(lines: &[ResultLine]) -> Vec<String> {
    lines
        .iter()
        .filter_map(|line| match line {
            ResultLine::Run(run) => {
                let case = &run.case;
                Some(format!(
                    "{} {} {:?} {}",
                    case.stack, case.arm, case.pass, case.repetition
                ))
            }
            _ => None,
        })
        .collect()
}

/// The runs of `naps` on this machine.
pub fn naps() -> usize {
    let stacks = ["here", "ram", "ext4"]
        .iter()
        .filter(|stack| etui_lab::stacks::check_available(stack).is_ok())
        .count();
    stacks * 3 * 5
}

pub const NAPS: [&str; 4] = ["run", "naps", "--out", "out/naps.jsonl"];

pub fn to_the_end() {
    let place = RunLocation::new();
    let output = place.lab(&NAPS);
    assert_eq!(code(&output), 0, "{}", words(&output));
    let lines = place.lines("out/naps.jsonl");
    let runs = made(&lines);
    assert_eq!(runs.len(), naps());
    assert_eq!(runs.iter().collect::<HashSet<_>>().len(), naps());
    assert!(file::is_complete(&lines));
    // Counted first; then back and forth.
    assert_eq!(
        &runs[..9],
        [
            "here one Counted 0",
            "here two Counted 0",
            "here three Counted 0",
            "here one Timed 0",
            "here two Timed 0",
            "here three Timed 0",
            "here three Timed 1",
            "here two Timed 1",
            "here one Timed 1",
        ]
    );
    let before = fs::read(place.path().join("out/naps.jsonl")).unwrap();
    let again = place.lab(&NAPS);
    assert_eq!(code(&again), 0);
    assert!(words(&again).contains("Nothing was left to measure"));
    assert_eq!(
        fs::read(place.path().join("out/naps.jsonl")).unwrap(),
        before
    );
    let fresh = place.lab(&[&NAPS[..], &["--fresh", "--repetitions", "1"]].concat());
    assert_eq!(code(&fresh), 0);
    assert_eq!(
        made(&place.lines("out/naps.jsonl")).len() * 5,
        naps() * 2,
        "one counted and one timed"
    );
    assert_eq!(
        fs::read(place.path().join("out/naps.jsonl.old")).unwrap(),
        before
    );
    assert!(place.left().is_empty(), "{:?}", place.left());
}

fn trouble(place: &RunLocation) -> (Output, Vec<ResultLine>) {
    let output = place.lab(&["run", "trouble", "--out", "t.jsonl"]);
    let lines = place.lines("t.jsonl");
    (output, lines)
}

fn failures(lines: &[ResultLine]) -> Vec<(String, String)> {
    lines
        .iter()
        .filter_map(|line| match line {
            ResultLine::Failed { case, message } => Some((case.arm.clone(), message.clone())),
            _ => None,
        })
        .collect()
}

pub fn disagreement() {
    let place = RunLocation::new();
    let (output, lines) = trouble(&place);
    assert_eq!(code(&output), 3);
    let failed = failures(&lines);
    let message = &failed.iter().find(|(arm, _)| arm == "differs").unwrap().1;
    assert!(
        message.contains("not the one that `good` gave"),
        "{message}"
    );
    assert!(!made(&lines).iter().any(|run| run.contains("differs")));
}

pub fn death() {
    let place = RunLocation::new();
    let (output, lines) = trouble(&place);
    let failed = failures(&lines);
    let of = |arm: &str| &failed.iter().find(|(of, _)| of == arm).unwrap().1;
    assert!(of("aborts").contains("signal"), "{}", of("aborts"));
    assert!(of("aborts").contains("last words"), "{}", of("aborts"));
    assert_eq!(of("fails"), "out of luck");
    assert_eq!(failed.len(), 3, "each once: {failed:?}");
    assert_eq!(
        made(&lines),
        ["here good Timed 0", "here good Timed 1"],
        "{}",
        words(&output)
    );
    assert!(!file::is_complete(&lines), "what failed is tried again");
}

pub fn unready() {
    let place = RunLocation::new();
    let output = place.lab(&["run", "unready", "--out", "t.jsonl"]);
    assert_eq!(code(&output), 3, "{}", words(&output));
    let lines = place.lines("t.jsonl");
    let failed = failures(&lines);
    assert_eq!(failed, [("one".to_owned(), "out of flour".to_owned())]);
    assert_eq!(made(&lines), ["here one Timed 0", "here one Timed 1"]);
    assert!(place.left().is_empty(), "{:?}", place.left());
}

pub fn not_here() {
    let place = RunLocation::new();
    let (output, lines) = trouble(&place);
    let reasons: Vec<&ResultLine> = lines
        .iter()
        .filter(|line| matches!(line, ResultLine::NotRun { .. }))
        .collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(format!("{reasons:?}").contains("no such device"));
    assert!(!words(&output).contains("panicked"), "{}", words(&output));
}

pub fn other_settings() {
    let place = RunLocation::new();
    assert_eq!(code(&place.lab(&NAPS)), 0);
    let other = place.lab(&[&NAPS[..], &["--set", "milliseconds=6"]].concat());
    assert_eq!(code(&other), 2);
    assert!(
        words(&other).contains("other experiments or parameters"),
        "{}",
        words(&other)
    );
    assert!(file::is_complete(&place.lines("out/naps.jsonl")));
}

pub fn a_part_first() {
    let place = RunLocation::new();
    let part = [&NAPS[..], &["--arm", "one", "--repetitions", "2"]].concat();
    assert_eq!(code(&place.lab(&part)), 0);
    let some = made(&place.lines("out/naps.jsonl")).len();
    assert_eq!(
        some * 5,
        naps(),
        "one of three arms, counted and timed twice"
    );
    assert!(words(&place.lab(&part)).contains("Nothing was left to measure"));
    assert_eq!(code(&place.lab(&NAPS)), 0);
    let lines = place.lines("out/naps.jsonl");
    let runs = made(&lines);
    assert_eq!(runs.len(), naps());
    assert_eq!(runs.iter().collect::<HashSet<_>>().len(), naps());
    assert!(file::is_complete(&lines));
}

pub fn mistaken() {
    let place = RunLocation::new();
    for (arguments, expected) in [
        (&["run", "nap"][..], "there are: naps, trouble, planted"),
        (&["run", "naps", "--set", "x=1"], "there are: milliseconds"),
        (
            &["run", "naps", "--set", "milliseconds=a"],
            "`a` is no whole number",
        ),
        (
            &["run", "naps", "--set", "milliseconds=0"],
            "1 to 1000000 can be had",
        ),
        (
            &["run", "naps", "--stack", "floppy"],
            "nothing to run on the stack `floppy` (there is no stack called `floppy`); there is on:",
        ),
        (
            &["run", "naps", "--arm", "four"],
            "no arm's name holds `four`; there are: one, three, two",
        ),
        (&["run", "naps", "--arm", ""], "--arm"),
        (
            &["run", "naps", "--repetitions", "4294967295"],
            "10000 at most",
        ),
        (
            &["run", "naps", "--out", "naps.html"],
            "another name, e.g. naps.jsonl",
        ),
        (&["compare", "a.jsonl", "b.jsonl"], "a.jsonl: No such file"),
        (&["report", "a.jsonl"], "a.jsonl: No such file"),
    ] {
        let output = place.lab(arguments);
        assert_ne!(code(&output), 0);
        assert!(words(&output).contains(expected), "{}", words(&output));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "a trace");
    }
    fs::write(place.path().join("a.jsonl"), "BEGIN:VCARD\n").unwrap();
    let output = place.lab(&["compare", "a.jsonl", "a.jsonl"]);
    assert!(
        words(&output).contains("a.jsonl, line 1"),
        "{}",
        words(&output)
    );
}

/// Starts a run and lets it go on for a while, a random moment; none if it came to its end before.
fn interrupted(place: &RunLocation, after: Duration) -> Option<Child> {
    let mut child = place
        .command(&[&NAPS[..], &["--set", "milliseconds=20"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while begun.elapsed() < after {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Some(child)
}

/// Returns processes, mounts and loop devices of a place; a run must leave none.
pub fn traces(place: &RunLocation) -> Vec<String> {
    let dir = place.path().to_str().unwrap();
    let mut traces: Vec<String> = place
        .left()
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let marked = environment
            .split(|byte| *byte == 0)
            .any(|variable| variable.starts_with(b"ETUI_LAB_RUN="));
        if marked && cwd.starts_with(dir) {
            traces.push(format!("process {}", entry.path().display()));
        }
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    traces.extend(
        mounts
            .lines()
            .filter(|line| line.contains(dir))
            .map(str::to_owned),
    );
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let image = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if image.contains(dir) {
            traces.push(image);
        }
    }
    traces
}

pub fn stopped() {
    let place = RunLocation::new();
    let mut random = SplitMix64::new(7);
    let mut codes = Vec::new();
    for _ in 0..6 {
        let Some(mut child) = interrupted(&place, pause(100 + random.below(500))) else {
            break;
        };
        // At least once in the midst of the measurements.
        if codes.is_empty() {
            wait_until("the run has results", || {
                let results = fs::read(place.path().join("out/naps.jsonl"));
                results.is_ok_and(|results| !results.is_empty())
            });
        }
        signal(&child, "INT");
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        codes.push(child.wait().unwrap().code());
        assert!(
            said.is_empty() || said.contains("goes on from here"),
            "{said}"
        );
        assert_eq!(traces(&place), Vec::<String>::new());
    }
    assert!(codes.contains(&Some(130)), "{codes:?}");
    finish(&place);
}

pub fn killed() {
    let place = RunLocation::new();
    let mut random = SplitMix64::new(8);
    let mut kills = 0;
    for _ in 0..8 {
        let Some(mut child) = interrupted(&place, pause(30 + random.below(600))) else {
            break;
        };
        signal(&child, "KILL");
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills > 2, "killed {kills} times only");
    finish(&place);
}

/// The same command again completes the run, makes nothing twice and leaves nothing.
fn finish(place: &RunLocation) {
    let output = place.lab(&[&NAPS[..], &["--set", "milliseconds=20"]].concat());
    assert_eq!(code(&output), 0, "{}", words(&output));
    let lines = place.lines("out/naps.jsonl");
    assert!(file::is_complete(&lines));
    let runs = made(&lines);
    assert_eq!(runs.len(), naps());
    assert_eq!(runs.iter().collect::<HashSet<_>>().len(), naps());
    assert_eq!(traces(place), Vec::<String>::new());
    // Naps are as long as they should be: no interrupted one was taken for a whole one.
    let walls: Vec<f64> = lines
        .iter()
        .filter_map(|line| match line {
            ResultLine::Run(run) => run.measures.get("nap/wall_ns").copied(),
            _ => None,
        })
        .collect();
    assert!(stats::quantile(&walls, 0.0).unwrap() >= 20e6);
}

pub fn signal(child: &Child, name: &str) {
    let done = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(done.success());
}

fn pause(milliseconds: u32) -> Duration {
    Duration::from_millis(milliseconds.into())
}
