//! A complete experiment: the cost of a flush.
//!
//! ```console
//! $ cargo run --profile dist --example flush_cost -- run flush-cost
//! ```

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use etui_lab::{
    AdviceSpec, Arm, ArmGroup, ArmMeaning, ArmRole, ArmSettings, Conclusion, Error, Experiment,
    ExperimentInfo, LabContext, Measure, Parameter, Per, Recorder, ReportSpec, Results, RunCase,
    RunPlan, TableSpec, Threshold,
};

struct FlushCost;

const EACH: &str = "a flush for each line";
const ONCE: &str = "one flush at the end";

impl Experiment for FlushCost {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: "flush-cost",
            title: "What a flush after every append costs",
            study: None,
            question: "How much longer do appends take if each of them is flushed?",
            method: "Lines of 100 bytes are appended to a file.",
            same_answer: "The file's contents are compared.",
            found: &[],
            arms: &[
                ArmMeaning {
                    name: EACH,
                    about: "each line is flushed before the next is written",
                },
                ArmMeaning {
                    name: ONCE,
                    about: "the file is flushed after the last line",
                },
            ],
            parameters: &[Parameter {
                name: "lines",
                about: "lines appended",
                quick: &[200],
                full: &[2_000],
            }],
        }
    }

    // One group: the arms of a group do the same work and are compared with each other.
    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let arm = |name, role, each| Arm::new(name, role, ArmSettings::new().with("each", each));
        Ok(RunPlan {
            groups: vec![ArmGroup {
                work: "append".to_owned(),
                stack: "here".to_owned(),
                size: lab.value("lines"),
                repetitions: 5,
                syscalls: true,
                seconds: 0.1,
                arms: vec![
                    arm(EACH, ArmRole::AsFound, true),
                    arm(ONCE, ArmRole::Cure, false),
                ],
                ..ArmGroup::default()
            }],
            not_run: Vec::new(),
        })
    }

    // Runs in a process of its own, in an empty directory on the group's stack.
    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = recorder.dir().join("lines.db");
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|e| Error::file(&path, e))?;
        recorder.phase("append", || {
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
        recorder.answer(read(&path)?);
        Ok(())
    }

    // Declared, and evaluated over whatever was measured so far.
    fn report_spec(&self, results: &Results) -> ReportSpec {
        let groups = results.groups();
        let time = || Measure::wall_time("time", "append");
        ReportSpec {
            tables: vec![
                TableSpec::new("Lines of 100 bytes", groups.clone())
                    .measures(vec![time(), Measure::new("flushes", "append/flush_calls")])
                    .base(EACH)
                    .size_unit("lines"),
            ],
            // What a reader should do, if it gains enough on their machine.
            advice: vec![
                AdviceSpec::new("flush a file once, after its last line")
                    .or_else("flush after each line if that is simpler")
                    .how("one sync_data() at the end")
                    .measured("Lines of 100 bytes, appended and flushed")
                    .gain("an append")
                    .compare(groups.first(), &time().per(Per::Size), EACH, ONCE),
            ],
            thresholds: vec![
                Threshold::finding("time of flushing each line")
                    .of(groups.first(), EACH, time())
                    .against_arm(ONCE)
                    .at_least(1.0),
            ],
            conclusion: Conclusion {
                yes: "A flush for each line makes appends slower.",
                no: "A flush for each line costs nothing.",
                ..Conclusion::default()
            },
            ..ReportSpec::default()
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|e| Error::file(path, e))
}

fn main() -> ExitCode {
    etui_lab::cli::main(&[&FlushCost])
}
