//! Experiments that behave and misbehave.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use etui::contacts::Card;
use etui_lab::{
    Arm, ArmGroup, ArmRole, ArmSettings, Error, Experiment, ExperimentInfo, LabContext, NotRun,
    Parameter, Recorder, ReportSpec, Results, RunCase, RunPlan,
};
use etui_testkit::people::People;

/// All of them.
pub fn all() -> Vec<&'static dyn Experiment> {
    vec![&Naps, &Trouble, &Planted, &Endless, &Unready, &Guest]
}

fn experiment_info(name: &'static str, parameters: &'static [Parameter]) -> ExperimentInfo {
    ExperimentInfo {
        name,
        title: "A test's own",
        study: None,
        question: "Does the laboratory do as it should?",
        method: "",
        same_answer: "",
        found: &[],
        arms: &[],
        parameters,
    }
}

/// Arms that take their time, on every stack that can be had, each with a process beside it.
struct Naps;

impl Experiment for Naps {
    fn experiment_info(&self) -> ExperimentInfo {
        experiment_info(
            "naps",
            &[Parameter {
                name: "milliseconds",
                about: "how long a nap is",
                quick: &[5],
                full: &[5],
            }],
        )
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        for stack in ["here", "ram", "ext4"] {
            match lab.stack(stack) {
                Ok(()) => plan.groups.push(ArmGroup {
                    work: "nap".to_owned(),
                    stack: stack.to_owned(),
                    size: lab.value("milliseconds"),
                    repetitions: 4,
                    counted: true,
                    seconds: 0.1,
                    arms: ["one", "two", "three"]
                        .map(|name| Arm::new(name, ArmRole::Cure, ArmSettings::new()))
                        .to_vec(),
                    ..ArmGroup::default()
                }),
                Err(reason) => plan.not_run.push(NotRun {
                    what: format!("stack {stack}"),
                    reason,
                }),
            }
        }
        Ok(plan)
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = recorder.dir().join("nap.db");
        std::fs::write(&path, "zzz").map_err(|e| Error::file(&path, e))?;
        // Outlives this process unless somebody cleans up: it has no tie to it but the marker.
        let beside = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .map_err(|e| Error::file("sleep", e))?;
        recorder.phase("nap", || {
            std::thread::sleep(Duration::from_millis(case.size));
            Ok(())
        })?;
        let mut beside = beside;
        let _ = beside.kill();
        let _ = beside.wait();
        recorder.answer("slept");
        Ok(())
    }

    fn report_spec(&self, _: &Results) -> ReportSpec {
        ReportSpec::default()
    }
}

/// Arms that go wrong.
struct Trouble;

impl Experiment for Trouble {
    fn experiment_info(&self) -> ExperimentInfo {
        experiment_info("trouble", &[])
    }

    fn plan_run(&self, _: &LabContext) -> Result<RunPlan, Error> {
        let arms = ["good", "differs", "aborts", "fails", "not here"];
        Ok(RunPlan {
            groups: vec![ArmGroup {
                work: "try".to_owned(),
                stack: "here".to_owned(),
                repetitions: 2,
                seconds: 0.1,
                arms: arms
                    .map(|name| Arm::new(name, ArmRole::Cure, ArmSettings::new()))
                    .to_vec(),
                ..ArmGroup::default()
            }],
            not_run: Vec::new(),
        })
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        match case.arm.as_str() {
            "differs" => recorder.answer("5"),
            "aborts" => {
                eprintln!("last words");
                std::process::abort();
            }
            "fails" => return Err(Error::other("out of luck")),
            "not here" => return Err(Error::not_run("no such device")),
            _ => recorder.answer("4"),
        }
        recorder.record("try/tries", 1.0);
        Ok(())
    }

    fn report_spec(&self, _: &Results) -> ReportSpec {
        ReportSpec::default()
    }
}

/// Saves of etui, with a flush or instructions too many if asked for.
struct Planted;

impl Experiment for Planted {
    fn experiment_info(&self) -> ExperimentInfo {
        experiment_info(
            "planted",
            &[
                Parameter {
                    name: "flushes",
                    about: "flushes too many for each save",
                    quick: &[0],
                    full: &[0],
                },
                Parameter {
                    name: "rounds",
                    about: "rounds of a loop too many for each save",
                    quick: &[0],
                    full: &[0],
                },
            ],
        )
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let settings = ArmSettings::new()
            .with("flushes", lab.value("flushes"))
            .with("rounds", lab.value("rounds"));
        Ok(RunPlan {
            groups: vec![ArmGroup {
                work: "save".to_owned(),
                stack: "here".to_owned(),
                size: 60,
                repetitions: 2,
                counted: true,
                syscalls: true,
                instructions: true,
                seconds: 0.1,
                arms: vec![Arm::new("etui", ArmRole::Etui, settings)],
            }],
            not_run: Vec::new(),
        })
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let cards: Vec<Card> = People::new(3)
            .take(60)
            .map(|text| Card::parse(text).expect("a generated card"))
            .collect();
        let path = recorder.dir().join("planted.db");
        let extra = File::create(&path).map_err(|e| Error::file(&path, e))?;
        let store = etui::Store::open(recorder.dir().join("contacts.etui"))?;
        let contacts = store.contacts()?;
        let (flushes, rounds) = (
            case.settings.number("flushes")?,
            case.settings.number("rounds")?,
        );
        recorder.phase("save", || {
            for card in &cards {
                contacts.save(card)?;
                for _ in 0..flushes {
                    extra.sync_data().map_err(|e| Error::file(&path, e))?;
                }
                for round in 0..rounds {
                    std::hint::black_box(round);
                }
            }
            Ok(())
        })?;
        recorder.answer(contacts.count()?.to_le_bytes());
        drop(contacts);
        store.close()?;
        Ok(())
    }

    fn report_spec(&self, _: &Results) -> ReportSpec {
        ReportSpec::default()
    }
}

/// Never gets ready.
struct Endless;

impl Experiment for Endless {
    fn experiment_info(&self) -> ExperimentInfo {
        experiment_info("endless", &[])
    }

    fn plan_run(&self, _: &LabContext) -> Result<RunPlan, Error> {
        Ok(RunPlan {
            groups: vec![ArmGroup {
                work: "wait".to_owned(),
                stack: "here".to_owned(),
                repetitions: 1,
                arms: vec![Arm::new("one", ArmRole::Cure, ArmSettings::new())],
                ..ArmGroup::default()
            }],
            not_run: Vec::new(),
        })
    }

    fn set_up(&self, _: &ArmGroup, dir: &std::path::Path) -> Result<(), Error> {
        let mut beside = std::process::Command::new("sleep")
            .arg("600")
            .current_dir(dir)
            .spawn()
            .map_err(|e| Error::file("sleep", e))?;
        // The test waits for this file, two directories up: beside the results.
        let begun = dir.join("../../begun");
        std::fs::write(&begun, "").map_err(|e| Error::file(&begun, e))?;
        let _ = beside.wait();
        Ok(())
    }

    fn run_case(&self, _: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        recorder.answer("done");
        Ok(())
    }

    fn report_spec(&self, _: &Results) -> ReportSpec {
        ReportSpec::default()
    }
}

/// Of two groups the first cannot be made ready.
struct Unready;

impl Experiment for Unready {
    fn experiment_info(&self) -> ExperimentInfo {
        experiment_info("unready", &[])
    }

    fn plan_run(&self, _: &LabContext) -> Result<RunPlan, Error> {
        let group = |work: &str| ArmGroup {
            work: work.to_owned(),
            stack: "here".to_owned(),
            repetitions: 2,
            arms: vec![Arm::new("one", ArmRole::Cure, ArmSettings::new())],
            ..ArmGroup::default()
        };
        Ok(RunPlan {
            groups: vec![group("first"), group("second")],
            not_run: Vec::new(),
        })
    }

    fn set_up(&self, group: &ArmGroup, dir: &std::path::Path) -> Result<(), Error> {
        let file = dir.join("flour");
        std::fs::write(&file, "").map_err(|e| Error::file(&file, e))?;
        match group.work.as_str() {
            "first" => Err(Error::other("out of flour")),
            _ => Ok(()),
        }
    }

    fn run_case(&self, _: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        recorder.answer("done");
        Ok(())
    }

    fn report_spec(&self, _: &Results) -> ReportSpec {
        ReportSpec::default()
    }
}

/// Arms in a virtual machine: files of different sizes, flushed, whose sizes are the answers' only
/// difference.
struct Guest;

impl Experiment for Guest {
    fn experiment_info(&self) -> ExperimentInfo {
        experiment_info(
            "guest",
            &[Parameter {
                name: "milliseconds",
                about: "how long an arm waits",
                quick: &[0],
                full: &[0],
            }],
        )
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let arms = ["one", "two", "differs", "not here"];
        for stack in plan.keep_available(lab, ["vm-ext4"]) {
            let arms = arms.map(|name| Arm::new(name, ArmRole::Cure, ""));
            plan.groups.push(ArmGroup {
                counted: true,
                repetitions: 1,
                ..ArmGroup::new("write", stack, lab.value("milliseconds"), arms.to_vec())
            });
        }
        Ok(plan)
    }

    fn set_up(&self, _: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let path = dir.join("shared");
        std::fs::write(&path, "from set_up").map_err(|e| Error::file(&path, e))
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        if case.arm == "not here" {
            return Err(Error::not_run("no such device"));
        }
        let path = recorder.dir().join("file");
        std::thread::sleep(Duration::from_millis(case.size));
        recorder.phase("write", || {
            std::fs::write(&path, [7; 8192])
                .and_then(|()| File::open(&path)?.sync_all())
                .map_err(|e| Error::file(&path, e))
        })?;
        let path = recorder.shared().join("shared");
        recorder.answer(std::fs::read(&path).map_err(|e| Error::file(&path, e))?);
        recorder.answer(recorder.devices().concat());
        if case.arm == "differs" {
            recorder.answer("more");
        }
        Ok(())
    }

    fn report_spec(&self, _: &Results) -> ReportSpec {
        ReportSpec::default()
    }
}
