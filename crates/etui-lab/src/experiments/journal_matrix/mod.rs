//! `journal-matrix`: SQLite's journal modes by file systems, in block I/O per commit (study 2).

mod contact;
mod redo;
mod reference;
mod report;
mod rows;
mod split;

use std::path::Path;
use std::time::Duration;

use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Error, Experiment, ExperimentInfo, LabContext, NotRun,
    Parameter, PublishedResult, Recorder, ReportSpec, Results, RunCase, RunPlan, Study, stacks,
};

/// The experiment.
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
const STACKS: [&str; 8] = [
    "ext4",
    "ext4-journal",
    "xfs",
    "btrfs",
    "vfat",
    "exfat",
    stacks::HERE,
    stacks::RAM,
];

/// Those that a quick run has all works on.
const MAIN: [&str; 4] = ["ext4", "ext4-journal", stacks::HERE, stacks::RAM];

/// The modes as found and with all cures.
const FOUND: &str = "DELETE, fsync";
const CURED: &str = "WAL recycled";
/// Not a mode of SQLite: its WAL mode through the VFS `etui`.
const REDO: &str = "etui-vfs";

/// A journal mode with its kind of sync.
struct JournalMode {
    name: &'static str,
    role: ArmRole,
    /// SQLite's name.
    journal: &'static str,
    /// `PRAGMA synchronous`.
    synchronous: &'static str,
    /// Whether the log's blocks are there already.
    recycled: bool,
    fsync: bool,
    /// Whether the works besides `insert` have it too.
    always: bool,
    /// Whether it goes through the VFS `etui`.
    redo: bool,
    /// Options of that VFS, beside its defaults.
    options: &'static str,
    /// Whether thumbnails have it too.
    thumbnails: bool,
}

const fn base_mode(name: &'static str, role: ArmRole, journal: &'static str) -> JournalMode {
    JournalMode {
        name,
        role,
        journal,
        synchronous: "FULL",
        recycled: false,
        fsync: false,
        always: false,
        redo: false,
        options: "",
        thumbnails: false,
    }
}

/// A rollback journal through the VFS `etui`, with older cures.
const fn vfs_mode(name: &'static str, journal: &'static str, options: &'static str) -> JournalMode {
    JournalMode {
        redo: true,
        options,
        thumbnails: true,
        ..base_mode(name, ArmRole::Cure, journal)
    }
}

const MODES: [JournalMode; 21] = [
    JournalMode {
        fsync: true,
        always: true,
        ..base_mode(FOUND, ArmRole::AsFound, "DELETE")
    },
    JournalMode {
        always: true,
        ..base_mode("DELETE", ArmRole::Cure, "DELETE")
    },
    JournalMode {
        synchronous: "EXTRA",
        ..base_mode("DELETE, EXTRA", ArmRole::Cure, "DELETE")
    },
    base_mode("TRUNCATE", ArmRole::Cure, "TRUNCATE"),
    JournalMode {
        fsync: true,
        ..base_mode("PERSIST, fsync", ArmRole::Cure, "PERSIST")
    },
    JournalMode {
        always: true,
        ..base_mode("PERSIST", ArmRole::Cure, "PERSIST")
    },
    JournalMode {
        always: true,
        ..base_mode("WAL fresh", ArmRole::Cure, "WAL")
    },
    JournalMode {
        recycled: true,
        fsync: true,
        ..base_mode("WAL recycled, fsync", ArmRole::Cure, "WAL")
    },
    JournalMode {
        recycled: true,
        always: true,
        ..base_mode(CURED, ArmRole::AllCures, "WAL")
    },
    JournalMode {
        recycled: true,
        always: true,
        redo: true,
        ..base_mode(REDO, ArmRole::Etui, "WAL")
    },
    JournalMode {
        recycled: true,
        redo: true,
        options: "append=18446744073709551615",
        thumbnails: true,
        ..base_mode("etui-vfs, new pages logged", ArmRole::Cure, "WAL")
    },
    JournalMode {
        recycled: true,
        redo: true,
        options: "gather=0",
        thumbnails: true,
        ..base_mode("etui-vfs, checkpoint page by page", ArmRole::Cure, "WAL")
    },
    vfs_mode("DELETE, etui-vfs", "DELETE", ""),
    vfs_mode("PERSIST, etui-vfs", "PERSIST", ""),
    vfs_mode(
        "PERSIST, etui-vfs: database grows in steps",
        "PERSIST",
        "database_step=1048576",
    ),
    vfs_mode(
        "PERSIST, etui-vfs: write-back consolidated",
        "PERSIST",
        "write_back=524288",
    ),
    vfs_mode(
        "PERSIST, etui-vfs: buffer, read ahead",
        "PERSIST",
        "read_buffer=16384",
    ),
    vfs_mode(
        "TRUNCATE, etui-vfs: journal rests by the formula",
        "TRUNCATE",
        "journal_rests=1",
    ),
    vfs_mode(
        "PERSIST, etui-vfs: all older cures",
        "PERSIST",
        "database_step=1048576 write_back=524288 read_buffer=16384 journal_rests=1",
    ),
    base_mode("MEMORY (unsafe)", ArmRole::Unsafe, "MEMORY"),
    base_mode("OFF (unsafe)", ArmRole::Unsafe, "OFF"),
];

impl JournalMode {
    fn is_for(&self, work: &str) -> bool {
        self.always || work == INSERT || self.thumbnails && work == THUMBNAILS
    }

    fn arm(&self) -> Arm {
        let settings = ArmSettings::new()
            .with("journal", self.journal)
            .with("synchronous", self.synchronous)
            .with("recycled", self.recycled)
            .with("fsync", self.fsync)
            .with("redo", self.redo)
            .with("options", self.options);
        Arm::new(self.name, self.role, settings)
    }
}

impl Experiment for JournalMatrix {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: "journal-matrix",
            title: "What a durable commit writes, by journal mode and file system",
            study: Some(Study::SmartphoneStack),
            question: "How much reaches the device for one small transaction, what is it for, and which of the study's cures takes how much away?",
            method: "Rows of 100 bytes are inserted, updated and deleted, each in a transaction of its own, durable when it returns (synchronous=FULL; EXTRA also syncs the directory after the rollback journal is gone); batches of 60 thumbnails of about 35 kB, each in one transaction; contacts saved singly with all their indexes. Each file system is fresh, on a loop device. Every request to the device is traced: writes that carry data and flushes that do not are counted apart, and writes are told apart by where they go. A log is `recycled` if its blocks are there already, as they are whenever a log has been written back once. The log is written back after the work, as a phase of its own. `etui-vfs` is SQLite, unmodified, in its WAL mode through etui's own VFS: the log that SQLite sees is memory, and a commit is one record in a redo log, of the bytes that differ in each page, in whole blocks that are there already; its redo log rests at the size that the work needs, as the recycled log does. With slow flushes each flush returns 3 ms later than the real one, which stands for a device whose flushes are what a commit waits for. Polling is an experiment of its own, as SQLite cannot use it. The study counted on a phone's eMMC, kernel 3.0.",
            same_answer: "All rows, in order, are hashed afterwards; the vCards too.",
            found: &[
                PublishedResult {
                    finding: "the file system journals the database's own journalling; it is the largest inefficiency, worst in ext4",
                    cure: "fdatasync, and files whose size and blocks do not change",
                    figure: "with all cures on the existing stack +130 % inserts/s",
                },
                PublishedResult {
                    finding: "each sync triggers the file system's journal on the same device",
                    cure: "the file system's journal on a device of its own",
                    figure: "F2FS, WAL and all cures: 39 -> 157 inserts/s",
                },
            ],
            parameters: &[
                Parameter {
                    name: "transactions",
                    about: "transactions of one row",
                    quick: &[60],
                    full: &[500],
                },
                Parameter {
                    name: "contacts",
                    about: "contacts saved singly, after as many saved before",
                    quick: &[60],
                    full: &[500],
                },
                Parameter {
                    name: "batches",
                    about: "batches of 60 thumbnails",
                    quick: &[2],
                    full: &[10],
                },
                Parameter {
                    name: "repetitions",
                    about: "how often inserts and contacts are timed on ext4, here and in RAM; all else a third as often",
                    quick: &[3],
                    full: &[15],
                },
            ],
        }
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
        let stacks: Vec<&str> = STACKS
            .into_iter()
            .filter(|stack| match lab.stack(stack) {
                Ok(()) => true,
                Err(reason) => {
                    plan.not_run.push(NotRun {
                        what: format!("stack {stack}"),
                        reason,
                    });
                    false
                }
            })
            .collect();
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
                // In RAM a flush takes its delay and nothing else, whatever else the device does.
                if work == SLOW && *stack != delayed_on {
                    continue;
                }
                // The machine's own file systems have no device whose requests are ours alone.
                let own = !matches!(*stack, stacks::HERE | stacks::RAM);
                plan.groups.push(ArmGroup {
                    work: work.to_owned(),
                    stack: (*stack).to_owned(),
                    size,
                    repetitions: if main && matches!(work, INSERT | CONTACT) {
                        often
                    } else {
                        often.div_ceil(3)
                    },
                    counted: own,
                    syscalls: work == INSERT && *stack == stacks::RAM,
                    seconds: if work == SLOW {
                        size as f64 * 0.012
                    } else {
                        0.15
                    },
                    arms: match work {
                        CONTACT => contact::contact_arms(),
                        SLOW => redo::slow_arms(),
                        _ => MODES
                            .iter()
                            .filter(|mode| mode.is_for(work))
                            .map(JournalMode::arm)
                            .collect(),
                    },
                    ..ArmGroup::default()
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
