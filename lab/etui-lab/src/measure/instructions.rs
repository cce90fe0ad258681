//! Instructions, counted by valgrind's callgrind in a pass of their own, some fifty times
//! slower than without. All threads are counted, and none of the kernel's instructions.
//!
//! Callgrind writes its counts, and resets them, whenever one of two functions is
//! called: before and after the work of a phase. The counts written before the second are the
//! phase's. The phases' names go to a file beside, in the same order.
//!
//! ```text
//! part: 2
//! desc: Trigger: --dump-before=etui_lab::measure::instructions::callgrind_phase_ends
//! totals: 1800063
//! ```

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// The file for the names of the phases.
const PHASES: &str = "ETUI_LAB_PHASES";

/// Begins a phase for the counter.
pub fn begin_counting(phase: &str) {
    // A name that cannot be written is missed by the reader.
    if let Some(path) = std::env::var_os(PHASES) {
        let _ = File::options()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| writeln!(file, "{phase}"));
    }
    callgrind_phase_begins();
}

/// Ends a phase for the counter.
pub fn end_counting() {
    callgrind_phase_ends();
}

// The two must be found by their names and must differ, or the compiler makes them one.

#[inline(never)]
fn callgrind_phase_begins() {
    black_box("begins");
}

#[inline(never)]
fn callgrind_phase_ends() {
    black_box("ends");
}

/// Returns the command as it runs under callgrind; input and output must be set again.
pub fn wrap_command(command: &Command, output: &Path) -> Result<Command, Error> {
    let mut file = OsString::from("--callgrind-out-file=");
    file.push(output);
    let options = [
        "-q",
        "--tool=callgrind",
        "--combine-dumps=yes",
        "--dump-before=*callgrind_phase_begins*",
        "--dump-before=*callgrind_phase_ends*",
    ];
    let mut options = options.map(OsStr::new).to_vec();
    options.push(&file);
    let mut counted = super::wrap_command("valgrind", &options, command)
        .ok_or_else(|| Error::not_run("valgrind is not installed: `etui lab setup`"))?;
    counted.env(PHASES, phases_of(output));
    Ok(counted)
}

fn phases_of(output: &Path) -> PathBuf {
    output.with_added_extension("phases")
}

/// Returns the counts of callgrind: `phase/instructions`.
pub fn read_counts(output: &Path) -> Result<BTreeMap<String, f64>, Error> {
    let bytes = fs::read(output).map_err(|e| Error::file(output, e))?;
    let counted = sum_counts(&String::from_utf8_lossy(&bytes));
    let path = phases_of(output);
    let names = match fs::read_to_string(&path) {
        Ok(names) => names,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(Error::file(&path, e)),
    };
    let names: Vec<&str> = names.lines().collect();
    if names.len() != counted.len() {
        return Err(Error::other(format!(
            "{}: {} phases counted of {}: callgrind finds phases by the names of two functions, \
             which a stripped program does not have",
            output.display(),
            counted.len(),
            names.len()
        )));
    }
    let mut figures = BTreeMap::new();
    for (phase, instructions) in names.into_iter().zip(counted) {
        *figures
            .entry(format!("{phase}/instructions"))
            .or_insert(0.0) += instructions;
    }
    Ok(figures)
}

/// The totals of the parts that end with a phase, in their order.
fn sum_counts(text: &str) -> Vec<f64> {
    let mut counted = Vec::new();
    let mut phase = false;
    for line in text.lines() {
        if let Some(trigger) = line.strip_prefix("desc: Trigger: ") {
            phase = trigger.ends_with("callgrind_phase_ends");
        } else if let Some(total) = line.strip_prefix("totals: ") {
            if phase {
                counted.extend(
                    total
                        .split_ascii_whitespace()
                        .next()
                        .and_then(|n| n.parse::<f64>().ok()),
                );
            }
            phase = false;
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use std::process::Stdio;

    #[test]
    fn the_parts_that_are_phases() {
        let text = "\
version: 1\npart: 1\ndesc: Timerange: Basic block 0 - 164818\n\
desc: Trigger: --dump-before=etui_lab::measure::instructions::callgrind_phase_begins\n\
events: Ir\nfn=(1) totals\n0 5\ntotals: 1202165\n\
part: 2\ndesc: Trigger: --dump-before=etui_lab::measure::instructions::callgrind_phase_ends\n\
events: Ir\nsummary: 1800063\ntotals: 1800063\n\
part: 3\ndesc: Trigger: Program termination\ntotals: 4503696\n";
        assert_eq!(sum_counts(text), [1_800_063.0]);
        assert_eq!(sum_counts(""), Vec::<f64>::new());
    }

    /// Not a test of its own: the counted process.
    #[test]
    fn helper_that_is_counted() {
        if std::env::var_os(PHASES).is_none() {
            return;
        }
        let work = |times: u32| (0..times).fold(0_u32, |sum, i| black_box(sum ^ i));
        for (phase, times) in [("small", 1000), ("large", 100_000), ("small", 1000)] {
            begin_counting(phase);
            work(times);
            end_counting();
        }
        begin_counting("thread");
        std::thread::spawn(move || work(100_000)).join().unwrap();
        end_counting();
    }

    #[test]
    fn phases_are_counted_apart_and_alike_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let once = |name: &str| {
            let output = dir.path().join(name);
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["helper_that_is_counted", "--test-threads=1"]);
            let mut counted = wrap_command(&command, &output)?;
            let status = counted.stdout(Stdio::null()).status().unwrap();
            assert!(status.success());
            read_counts(&output)
        };
        let figures = match once("first") {
            Err(Error::NotRun(_)) => return,
            figures => figures.unwrap(),
        };
        let of = |phase: &str| figures[&format!("{phase}/instructions")];
        assert_eq!(figures.len(), 3);
        // The calls themselves cost a little each time.
        assert!(of("large") > 40.0 * of("small"), "{figures:?}");
        assert!(of("thread") > 0.9 * of("large"), "{figures:?}");
        let again = once("second").unwrap();
        assert_eq!(again["small/instructions"], of("small"));
        assert_eq!(again["large/instructions"], of("large"));
    }
}
