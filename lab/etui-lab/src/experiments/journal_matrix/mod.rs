//! `journal-matrix`: SQLite's journal modes by file systems, in block I/O per commit (study 2).

mod contact;
mod device_time;
mod redo;
mod reference;
mod report;
mod rows;
mod split;

use std::path::Path;
use std::time::Duration;

use super::about::AboutText;
use crate::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, Recorder, ReportSpec,
    Results, RunCase, RunPlan, Study, stacks,
};

pub struct JournalMatrix;

const INSERT: &str = "insert";
const UPDATE: &str = "update";
const DELETE: &str = "delete";
const THUMBNAILS: &str = "thumbnails";
const CONTACT: &str = "contact";
/// Inserts while each flush takes [`SLOW_FLUSH`] longer.
const SLOW: &str = "insert, slow flushes";
const SLOW_FLUSH: Duration = Duration::from_millis(3);

/// The stacks, the study's own file system first.
const STACKS: [&str; 13] = [
    "ext4",
    "ext4-journal",
    "xfs",
    "btrfs",
    "vfat",
    "exfat",
    "vm-ext4",
    "vm-xfs",
    "vm-btrfs",
    "vm-f2fs",
    "vm-nilfs2",
    stacks::HERE,
    stacks::RAM,
];

/// Those in a virtual machine, whose device is a model of an eMMC's.
const GUESTS: [&str; 5] = ["vm-ext4", "vm-xfs", "vm-btrfs", "vm-f2fs", "vm-nilfs2"];

/// Those that a quick run has all works on.
const MAIN: [&str; 4] = ["ext4", "ext4-journal", stacks::HERE, stacks::RAM];

/// The modes as found and with all cures.
const FOUND: &str = "DELETE, fsync";
const CURED: &str = "WAL recycled";
/// Not a mode of SQLite: its WAL mode through the VFS `etui`.
const REDO: &str = "etui-vfs";

/// Works besides `insert` that a journal mode is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModeWorks {
    Insert,
    Thumbnails,
    All,
}

/// The journal modes: name, role, settings and works. `journal` is SQLite's name and `synchronous`
/// its pragma; with `recycled` the log's blocks are there already; `redo` is the VFS `etui`, with
/// `options` beside its defaults.
const MODES: [(&str, ArmRole, &str, ModeWorks); 21] = {
    use ArmRole::{AllCures, AsFound, Cure, Etui, Unsafe, Variant};
    use ModeWorks::{All, Insert, Thumbnails};
    [
        (FOUND, AsFound, "journal=DELETE fsync", All),
        ("DELETE", Cure, "journal=DELETE", All),
        (
            "DELETE, EXTRA",
            Cure,
            "journal=DELETE synchronous=EXTRA",
            Insert,
        ),
        ("TRUNCATE", Cure, "journal=TRUNCATE", Insert),
        ("PERSIST, fsync", Cure, "journal=PERSIST fsync", Insert),
        ("PERSIST", Cure, "journal=PERSIST", All),
        ("WAL fresh", Cure, "journal=WAL", All),
        (
            "WAL recycled, fsync",
            Cure,
            "journal=WAL recycled fsync",
            Insert,
        ),
        (CURED, AllCures, "journal=WAL recycled", All),
        (REDO, Etui, "journal=WAL recycled redo", All),
        (
            "etui-vfs, new pages logged",
            Variant,
            "journal=WAL recycled redo options=append=18446744073709551615",
            Thumbnails,
        ),
        (
            "etui-vfs, checkpoint page by page",
            Variant,
            "journal=WAL recycled redo options=gather=0",
            Thumbnails,
        ),
        (
            "DELETE, etui-vfs",
            Variant,
            "journal=DELETE redo",
            Thumbnails,
        ),
        (
            "PERSIST, etui-vfs",
            Variant,
            "journal=PERSIST redo",
            Thumbnails,
        ),
        (
            "PERSIST, etui-vfs: database grows in steps",
            Variant,
            "journal=PERSIST redo options=database_step=1048576",
            Thumbnails,
        ),
        (
            "PERSIST, etui-vfs: write-back consolidated",
            Variant,
            "journal=PERSIST redo options=write_back=524288",
            Thumbnails,
        ),
        (
            "PERSIST, etui-vfs: buffer, read ahead",
            Variant,
            "journal=PERSIST redo options=read_buffer=16384",
            Thumbnails,
        ),
        (
            "TRUNCATE, etui-vfs: journal rests by the formula",
            Variant,
            "journal=TRUNCATE redo options=journal_rests=1",
            Thumbnails,
        ),
        (
            "PERSIST, etui-vfs: all older cures",
            Variant,
            "journal=PERSIST redo options=database_step=1048576,write_back=524288,\
             read_buffer=16384,journal_rests=1",
            Thumbnails,
        ),
        ("MEMORY (unsafe)", Unsafe, "journal=MEMORY", Insert),
        ("OFF (unsafe)", Unsafe, "journal=OFF", Insert),
    ]
};

fn mode_arms(work: &str) -> Vec<Arm> {
    let is_for = |works| match works {
        ModeWorks::All => true,
        ModeWorks::Thumbnails => matches!(work, INSERT | THUMBNAILS),
        ModeWorks::Insert => work == INSERT,
    };
    let modes = MODES.into_iter().filter(|(.., works)| is_for(*works));
    modes
        .map(|(name, role, words, _)| Arm::new(name, role, &*format!("synchronous=FULL {words}")))
        .collect()
}

impl Experiment for JournalMatrix {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("about.md"));
        ABOUT.info("journal-matrix", Some(Study::SmartphoneStack))
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let often = u32::try_from(lab.value("repetitions")).unwrap_or(u32::MAX);
        let works = [
            (INSERT, lab.value("transactions")),
            (UPDATE, lab.value("transactions")),
            (DELETE, lab.value("transactions")),
            (THUMBNAILS, lab.value("batches")),
            (CONTACT, lab.value("contacts")),
            (SLOW, lab.value("transactions")),
        ];
        let stacks = plan.keep_available(lab, STACKS);
        let delayed_on = match stacks.contains(&stacks::RAM) {
            true => stacks::RAM,
            false => stacks::HERE,
        };
        for (work, size) in works {
            for stack in &stacks {
                let main = MAIN.contains(stack);
                if lab.quick() && work != INSERT && !main {
                    continue;
                }
                // The emulated processor is slow; an insert shows what the file system does.
                let guest = stacks::is_guest(stack);
                if guest && work != INSERT {
                    continue;
                }
                // In RAM a flush takes its delay and nothing else, whatever else the device does.
                if work == SLOW && *stack != delayed_on {
                    continue;
                }
                // The machine's own file systems have no device whose requests are ours alone.
                let own = !matches!(*stack, stacks::HERE | stacks::RAM);
                let mut arms = match work {
                    CONTACT => contact::contact_arms(),
                    SLOW => redo::slow_arms(),
                    _ => mode_arms(work),
                };
                if guest {
                    arms.retain(|arm| !arm.settings.is("redo") || arm.name == REDO);
                }
                plan.groups.push(ArmGroup {
                    repetitions: if guest {
                        1
                    } else if main && matches!(work, INSERT | CONTACT) {
                        often
                    } else {
                        often.div_ceil(3)
                    },
                    counted: own,
                    syscalls: work == INSERT && *stack == stacks::RAM,
                    seconds: match work {
                        SLOW => size as f64 * 0.012,
                        _ if guest => size as f64 * 0.02,
                        _ => 0.15,
                    },
                    ..ArmGroup::new(work, stack, size, arms)
                });
            }
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        if group.work == CONTACT {
            contact::set_up(group.size, dir)?;
        }
        Ok(())
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        match case.work.as_str() {
            CONTACT => contact::save_contacts(case, recorder),
            SLOW if case.arm == redo::FLOOR => redo::write_floor(case, recorder),
            _ => rows::run_rows(case, recorder),
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

#[cfg(test)]
mod tests;
