//! Experiments that behave and misbehave.

use std::fs::File;
use std::time::Duration;

use etui::contacts::Card;
use etui_lab::{
    About, Arm, Case, Error, Experiment, Group, Lab, Meter, NotRun, Parameter, Plan, Presentation,
    Results, Role, Settings,
};
use etui_testkit::people::People;

/// All of them.
pub fn all() -> Vec<&'static dyn Experiment> {
    vec![&Naps, &Trouble, &Planted, &Endless, &Unready]
}

fn about(name: &'static str, parameters: &'static [Parameter]) -> About {
    About {
        name,
        title: "A test's own",
        study: None,
        question: "Does the laboratory do as it should?",
        method: "",
        same_answer: "",
        found: &[],
        parameters,
    }
}

/// Arms that take their time, on every stack that can be had, each with a process beside it.
struct Naps;

impl Experiment for Naps {
    fn about(&self) -> About {
        about(
            "naps",
            &[Parameter {
                name: "milliseconds",
                about: "how long a nap is",
                quick: &[5],
                full: &[5],
            }],
        )
    }

    fn plan(&self, lab: &Lab) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        for stack in ["here", "ram", "ext4"] {
            match lab.stack(stack) {
                Ok(()) => plan.groups.push(Group {
                    work: "nap".to_owned(),
                    stack: stack.to_owned(),
                    size: lab.value("milliseconds"),
                    repetitions: 4,
                    counted: true,
                    seconds: 0.1,
                    arms: ["one", "two", "three"]
                        .map(|name| Arm::new(name, Role::Cure, Settings::new()))
                        .to_vec(),
                    ..Group::default()
                }),
                Err(reason) => plan.not_run.push(NotRun {
                    what: format!("stack {stack}"),
                    reason,
                }),
            }
        }
        Ok(plan)
    }

    fn run(&self, case: &Case, meter: &mut Meter) -> Result<(), Error> {
        let path = meter.dir().join("nap.db");
        std::fs::write(&path, "zzz").map_err(|e| Error::file(&path, e))?;
        // Outlives this process unless somebody cleans up: it has no tie to it but the marker.
        let beside = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .map_err(|e| Error::file("sleep", e))?;
        meter.phase("nap", || {
            std::thread::sleep(Duration::from_millis(case.size));
            Ok(())
        })?;
        let mut beside = beside;
        let _ = beside.kill();
        let _ = beside.wait();
        meter.answer("slept");
        Ok(())
    }

    fn present(&self, _: &Results) -> Presentation {
        Presentation::default()
    }
}

/// Arms that go wrong.
struct Trouble;

impl Experiment for Trouble {
    fn about(&self) -> About {
        about("trouble", &[])
    }

    fn plan(&self, _: &Lab) -> Result<Plan, Error> {
        let arms = ["good", "differs", "aborts", "fails", "not here"];
        Ok(Plan {
            groups: vec![Group {
                work: "try".to_owned(),
                stack: "here".to_owned(),
                repetitions: 2,
                seconds: 0.1,
                arms: arms
                    .map(|name| Arm::new(name, Role::Cure, Settings::new()))
                    .to_vec(),
                ..Group::default()
            }],
            not_run: Vec::new(),
        })
    }

    fn run(&self, case: &Case, meter: &mut Meter) -> Result<(), Error> {
        match case.arm.as_str() {
            "differs" => meter.answer("5"),
            "aborts" => {
                eprintln!("last words");
                std::process::abort();
            }
            "fails" => return Err(Error::other("out of luck")),
            "not here" => return Err(Error::not_run("no such device")),
            _ => meter.answer("4"),
        }
        meter.record("try/tries", 1.0);
        Ok(())
    }

    fn present(&self, _: &Results) -> Presentation {
        Presentation::default()
    }
}

/// Saves of etui, with a flush or instructions too many if asked for.
struct Planted;

impl Experiment for Planted {
    fn about(&self) -> About {
        about(
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

    fn plan(&self, lab: &Lab) -> Result<Plan, Error> {
        let settings = Settings::new()
            .with("flushes", lab.value("flushes"))
            .with("rounds", lab.value("rounds"));
        Ok(Plan {
            groups: vec![Group {
                work: "save".to_owned(),
                stack: "here".to_owned(),
                size: 60,
                repetitions: 2,
                counted: true,
                syscalls: true,
                instructions: true,
                seconds: 0.1,
                arms: vec![Arm::new("etui", Role::Etui, settings)],
            }],
            not_run: Vec::new(),
        })
    }

    fn run(&self, case: &Case, meter: &mut Meter) -> Result<(), Error> {
        let cards: Vec<Card> = People::new(3)
            .take(60)
            .map(|text| Card::parse(text).expect("a generated card"))
            .collect();
        let path = meter.dir().join("planted.db");
        let extra = File::create(&path).map_err(|e| Error::file(&path, e))?;
        let store = etui::Store::open(meter.dir().join("contacts.etui"))?;
        let contacts = store.contacts()?;
        let (flushes, rounds) = (
            case.settings.number("flushes")?,
            case.settings.number("rounds")?,
        );
        meter.phase("save", || {
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
        meter.answer(contacts.count()?.to_le_bytes());
        drop(contacts);
        store.close()?;
        Ok(())
    }

    fn present(&self, _: &Results) -> Presentation {
        Presentation::default()
    }
}

/// Never gets ready.
struct Endless;

impl Experiment for Endless {
    fn about(&self) -> About {
        about("endless", &[])
    }

    fn plan(&self, _: &Lab) -> Result<Plan, Error> {
        Ok(Plan {
            groups: vec![Group {
                work: "wait".to_owned(),
                stack: "here".to_owned(),
                repetitions: 1,
                arms: vec![Arm::new("one", Role::Cure, Settings::new())],
                ..Group::default()
            }],
            not_run: Vec::new(),
        })
    }

    fn furnish(&self, _: &Group, dir: &std::path::Path) -> Result<(), Error> {
        let mut beside = std::process::Command::new("sleep")
            .arg("600")
            .current_dir(dir)
            .spawn()
            .map_err(|e| Error::file("sleep", e))?;
        // What the test waits for, two directories up: beside the results.
        let begun = dir.join("../../begun");
        std::fs::write(&begun, "").map_err(|e| Error::file(&begun, e))?;
        let _ = beside.wait();
        Ok(())
    }

    fn run(&self, _: &Case, meter: &mut Meter) -> Result<(), Error> {
        meter.answer("done");
        Ok(())
    }

    fn present(&self, _: &Results) -> Presentation {
        Presentation::default()
    }
}

/// Of two groups the first cannot be made ready.
struct Unready;

impl Experiment for Unready {
    fn about(&self) -> About {
        about("unready", &[])
    }

    fn plan(&self, _: &Lab) -> Result<Plan, Error> {
        let group = |work: &str| Group {
            work: work.to_owned(),
            stack: "here".to_owned(),
            repetitions: 2,
            arms: vec![Arm::new("one", Role::Cure, Settings::new())],
            ..Group::default()
        };
        Ok(Plan {
            groups: vec![group("first"), group("second")],
            not_run: Vec::new(),
        })
    }

    fn furnish(&self, group: &Group, dir: &std::path::Path) -> Result<(), Error> {
        let file = dir.join("flour");
        std::fs::write(&file, "").map_err(|e| Error::file(&file, e))?;
        match group.work.as_str() {
            "first" => Err(Error::other("out of flour")),
            _ => Ok(()),
        }
    }

    fn run(&self, _: &Case, meter: &mut Meter) -> Result<(), Error> {
        meter.answer("done");
        Ok(())
    }

    fn present(&self, _: &Results) -> Presentation {
        Presentation::default()
    }
}
