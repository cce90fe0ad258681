//! An experiment from beginning to end: what does a flush cost?
//!
//! ```console
//! $ cargo run --release --example flush_cost -- run flush-cost
//! ```

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use etui_lab::{
    About, Arm, Case, Cell, Column, Error, Experiment, Group, Lab, Meter, Parameter, Plan,
    Presentation, Results, Role, Row, Settings, Shown, Table, Verdict,
};

struct FlushCost;

impl Experiment for FlushCost {
    fn about(&self) -> About {
        About {
            name: "flush-cost",
            title: "What a flush after every append costs",
            study: None,
            question: "How much longer do appends take if each of them is flushed?",
            method: "Lines of 100 bytes are appended to a file.",
            same_answer: "The file's contents are compared.",
            found: &[],
            parameters: &[Parameter {
                name: "lines",
                about: "lines appended",
                quick: &[200],
                full: &[2_000],
            }],
        }
    }

    // One group: the arms of a group do the same work and are compared with each other.
    fn plan(&self, lab: &Lab) -> Result<Plan, Error> {
        let arm = |name, role, each| Arm::new(name, role, Settings::new().with("each", each));
        Ok(Plan {
            groups: vec![Group {
                work: "append".to_owned(),
                stack: "here".to_owned(),
                size: lab.value("lines"),
                repetitions: 5,
                syscalls: true,
                seconds: 0.1,
                arms: vec![
                    arm("a flush for each line", Role::AsFound, true),
                    arm("one flush at the end", Role::Cure, false),
                ],
                ..Group::default()
            }],
            not_run: Vec::new(),
        })
    }

    // Runs in a process of its own, in an empty directory on the group's stack.
    fn run(&self, case: &Case, meter: &mut Meter) -> Result<(), Error> {
        let path = meter.dir().join("lines.db");
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|e| Error::file(&path, e))?;
        meter.phase("append", || {
            for number in 0..case.size {
                let line = format!("{number:099}\n");
                file.write_all(line.as_bytes())
                    .map_err(|e| Error::file(&path, e))?;
                if case.settings.is("each") {
                    file.sync_data().map_err(|e| Error::file(&path, e))?;
                }
            }
            file.sync_data().map_err(|e| Error::file(&path, e))
        })?;
        meter.answer(read(&path)?);
        Ok(())
    }

    // From whatever was measured so far: there may be no results yet.
    fn present(&self, results: &Results) -> Presentation {
        let mut shown = Presentation::default();
        let Some(group) = results.groups().into_iter().next() else {
            return shown;
        };
        let mut table = Table {
            title: format!("{} lines of 100 bytes", group.size),
            columns: vec![Column::time("time"), Column::count("flushes")],
            ..Table::default()
        };
        let arms = results.arms(&group);
        let first = arms.first().map(|(name, _)| name.as_str());
        for (arm, role) in &arms {
            let cells: Vec<Cell> = ["append/wall_ns", "append/flush_calls"]
                .iter()
                .map(|measure| results.cell(&group, arm, measure, first))
                .collect();
            table.rows.push(Row {
                label: arm.clone(),
                role: *role,
                cells,
            });
        }
        let ratio = results.ratio(
            &group,
            "a flush for each line",
            "one flush at the end",
            "append/wall_ns",
        );
        if let Some(ratio) = ratio {
            shown.verdict = Verdict {
                shown: if ratio.low > 1.0 {
                    Shown::Yes
                } else {
                    Shown::No
                },
                sentence: format!(
                    "Flushing each line takes {:.1} times as long.",
                    ratio.median
                ),
                notes: Vec::new(),
            };
        }
        shown.tables.push(table);
        shown
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|e| Error::file(path, e))
}

fn main() -> ExitCode {
    etui_lab::cli::main(&[&FlushCost])
}
