//! `processor`: instructions and processor time of commits and reads, by SQLite's own WAL and by
//! the redo log of `etui-vfs`.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use etui::{Store, Vfs};
use etui_testkit::people::People;
use rusqlite::{Connection, OpenFlags};

use super::searches::people_options;
use crate::redo;
use crate::stacks::HERE;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Error, Experiment, ExperimentInfo, LabContext, Measure,
    Parameter, Per, Recorder, ReportSpec, Results, RunCase, RunPlan, TableSpec, Threshold,
};

const NAME: &str = "processor";
const FILE: &str = "source.db";
const SYSTEM_VFS: &str = "SQLite's WAL";
const ETUI_VFS: &str = "etui-vfs";

/// Rows of the tables that rows are inserted into.
const ROWS: u64 = 20_000;
/// Rows of the table that is read: 12 MB.
const READ_ROWS: u64 = 100_000;
/// Frames of a WAL that SQLite is about to checkpoint.
const FRAMES: u64 = 1_000;
/// Commits between two checkpoints of rows without and with indexes.
const ROWS_A_LOG: [u64; 2] = [450, 30];
/// Indexes of the indexed table.
const INDEXES: u64 = 20;
/// Contacts in the store, and saved before those that count.
const CONTACTS: usize = 12_800;
const WARM_UP_CONTACTS: usize = 300;

/// A kind of operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// Commits of one row of 100 bytes.
    Commit { indexed: bool, checkpoints: bool },
    /// Durable saves of one contact.
    SaveContact,
    /// Lookups of one row, or scans of the table, with ten pages of cache.
    Read { scan: bool, mapped: bool, wal: bool },
}

/// The operations: name, times in a run, kind.
fn list_operations() -> Vec<(String, u64, Operation)> {
    let mut all = Vec::new();
    for (indexed, kind, [alone, with_checkpoints]) in [
        (false, "row of 100 bytes", [1_800, 4_000]),
        (true, "row with 20 indexes", [300, 1_000]),
    ] {
        for (checkpoints, suffix, times) in [
            (false, "", alone),
            (true, ", checkpoints included", with_checkpoints),
        ] {
            let operation = Operation::Commit {
                indexed,
                checkpoints,
            };
            all.push((format!("{kind}{suffix}"), times, operation));
        }
    }
    all.push((
        "contact, all included".to_owned(),
        600,
        Operation::SaveContact,
    ));
    for (scan, kind, times) in [(false, "lookup", 10_000), (true, "scan", 3)] {
        for (mapped, map_suffix) in [(false, ""), (true, ", mapped")] {
            for (wal, wal_suffix) in [(false, ""), (true, ", full WAL")] {
                let operation = Operation::Read { scan, mapped, wal };
                all.push((format!("{kind}{map_suffix}{wal_suffix}"), times, operation));
            }
        }
    }
    all
}

fn find_operation(name: &str) -> Result<Operation, Error> {
    let found = list_operations().into_iter().find(|(of, ..)| of == name);
    let found = found.map(|(.., operation)| operation);
    found.ok_or_else(|| Error::other(format!("no operation `{name}`")))
}

/// The experiment.
pub struct Processor;

impl Experiment for Processor {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: NAME,
            title: "Instructions and processor time of commits and reads",
            study: None,
            question: "What does a commit or a read cost the processor, by SQLite's own WAL and \
                       by the redo log?",
            method: "Each operation is run on a copy of a prepared file, once under callgrind \
                     (user instructions) and several times for processor time, the kernel's \
                     included. Without `checkpoints included` the log is checkpointed outside the \
                     measured part. Reads have ten pages of cache; a full WAL holds one row of \
                     nearly each page.",
            same_answer: "The number of rows, or of contacts, afterwards.",
            found: &[],
            parameters: &[Parameter {
                name: "repetitions",
                about: "timed runs of each operation",
                quick: &[3],
                full: &[5],
            }],
        }
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let repetitions = u32::try_from(lab.value("repetitions")).unwrap_or(u32::MAX);
        let arm = |name, role, etui: bool| {
            Arm::new(name, role, ArmSettings::new().with("etui-vfs", etui))
        };
        let groups = list_operations()
            .into_iter()
            .map(|(work, times, _)| ArmGroup {
                work,
                stack: HERE.to_owned(),
                size: times,
                repetitions,
                instructions: true,
                seconds: 1.0,
                arms: vec![
                    arm(SYSTEM_VFS, ArmRole::Peer, false),
                    arm(ETUI_VFS, ArmRole::Etui, true),
                ],
                ..ArmGroup::default()
            });
        Ok(RunPlan {
            groups: groups.collect(),
            not_run: Vec::new(),
        })
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let path = dir.join(FILE);
        match find_operation(&group.work)? {
            Operation::SaveContact => {
                let store = Store::open_with(&path, &people_options())?;
                store.contacts()?.save_many(&parse_people(1, CONTACTS)?)?;
                store.merge_index()?;
                Ok(store.close()?)
            }
            Operation::Commit { indexed, .. } => create_table(&path, ROWS, index_count(indexed)),
            Operation::Read { .. } => create_table(&path, READ_ROWS, 0),
        }
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = recorder.dir().join("db");
        let source = recorder.shared().join(FILE);
        std::fs::copy(&source, &path).map_err(|e| Error::file(&source, e))?;
        let etui_vfs = case.settings.is("etui-vfs");
        let operation = find_operation(&case.work)?;
        if operation == Operation::SaveContact {
            return save_contacts(&path, etui_vfs, case.size, recorder);
        }
        let vfs = match etui_vfs {
            true => Some(redo::register_vfs(redo::vfs_options(), Duration::ZERO)?),
            false => None,
        };
        let db = match &vfs {
            Some(vfs) => {
                Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), vfs.name())?
            }
            None => Connection::open(&path)?,
        };
        match operation {
            Operation::Commit {
                indexed,
                checkpoints,
            } => commit_rows(&db, indexed, checkpoints, case.size, recorder)?,
            Operation::Read { scan, mapped, wal } => {
                prepare_reads(&db, mapped, wal)?;
                read_rows(&db, scan, case.size, recorder)?;
            }
            Operation::SaveContact => {}
        }
        let rows: i64 = db.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?;
        recorder.answer(rows.to_le_bytes());
        Ok(())
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        let names: Vec<String> = list_operations()
            .into_iter()
            .map(|(name, ..)| name)
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let groups = results.select_groups(&names, &[HERE]);
        let instructions = || Measure::new("instructions", "work/instructions").per(Per::Size);
        let targets = groups.iter().map(|group| {
            let claim = format!("instructions of `{}` through etui-vfs", group.work);
            Threshold::target(claim, Some(group), ETUI_VFS, instructions()).against_arm(SYSTEM_VFS)
        });
        ReportSpec {
            thresholds: targets.collect(),
            tables: vec![TableSpec {
                title: "One operation".to_owned(),
                caption: "User instructions; processor time with the kernel's. Ratios are to \
                          SQLite's own WAL."
                    .to_owned(),
                groups,
                measures: vec![
                    instructions(),
                    Measure::new("processor time", "work/cpu_ns").per(Per::Size),
                ],
                base: Some(SYSTEM_VFS),
                size_unit: "times",
                ..TableSpec::default()
            }],
            ..ReportSpec::default()
        }
    }
}

fn index_count(indexed: bool) -> u64 {
    if indexed { INDEXES } else { 0 }
}

fn parse_people(seed: u64, count: usize) -> Result<Vec<etui::contacts::Card>, Error> {
    let texts = People::new(seed).take(count);
    texts
        .map(|text| Ok(etui::contacts::Card::parse(text)?))
        .collect()
}

/// Returns the statement that inserts a row; indexed columns have values in no order.
fn insert_statement(indexes: u64) -> String {
    let values: String = (1..=indexes)
        .map(|n| format!(", ?1 * {} % 2147483647", (48_271 + 7_919 * n) * 69_621))
        .collect();
    format!("INSERT INTO t VALUES (?1, randomblob(100){values})")
}

/// Creates a closed database of one table, with gaps for the rows to come.
fn create_table(path: &Path, rows: u64, indexes: u64) -> Result<(), Error> {
    let db = Connection::open(path)?;
    let columns: String = (1..=indexes).map(|n| format!(", c{n} INTEGER")).collect();
    db.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB{columns})"
    ))?;
    for n in 1..=indexes {
        db.execute_batch(&format!("CREATE INDEX ic{n} ON t (c{n})"))?;
    }
    db.execute_batch("BEGIN")?;
    let mut insert = db.prepare(&insert_statement(indexes))?;
    for k in 1..=rows {
        insert.execute([(k * 8).cast_signed()])?;
    }
    drop(insert);
    db.execute_batch("COMMIT")?;
    db.close().map_err(|(_, error)| error.into())
}

/// Commits rows one by one.
fn commit_rows(
    db: &Connection,
    indexed: bool,
    checkpoints: bool,
    times: u64,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    db.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -16384")?;
    if !checkpoints {
        db.execute_batch("PRAGMA wal_autocheckpoint = 0")?;
    }
    let mut statement = db.prepare(&insert_statement(index_count(indexed)))?;
    let mut next = 0;
    let mut insert = |times: u64| -> Result<(), Error> {
        for _ in 0..times {
            // Far apart, so that commits do not all change the same page.
            next += 1;
            let k = (next * 7_919 % ROWS) * 8 + 1 + next / ROWS;
            statement.execute([k.cast_signed()])?;
        }
        Ok(())
    };
    insert(100)?;
    if checkpoints {
        return recorder.phase("work", || insert(times));
    }
    let in_a_log = ROWS_A_LOG[usize::from(indexed)];
    // The WAL reaches its length, and is recycled.
    insert(in_a_log)?;
    let mut left = times;
    while left > 0 {
        let now = left.min(in_a_log);
        db.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))?;
        insert(1)?;
        recorder.phase("work", || insert(now))?;
        left -= now;
    }
    Ok(())
}

fn save_contacts(
    path: &Path,
    etui_vfs: bool,
    times: u64,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let mut options = people_options();
    if etui_vfs {
        options.vfs = Vfs::Etui;
    }
    let store = Store::open_with(path, &options)?;
    let contacts = store.contacts()?;
    let times = usize::try_from(times).unwrap_or(0);
    let cards = parse_people(2, WARM_UP_CONTACTS + times)?;
    let (warm_up, counted) = cards.split_at(WARM_UP_CONTACTS);
    for card in warm_up {
        contacts.save(card)?;
    }
    recorder.phase("work", || {
        for card in counted {
            contacts.save(card)?;
        }
        Ok(())
    })?;
    recorder.answer(contacts.count()?.to_le_bytes());
    drop(contacts);
    Ok(store.close()?)
}

fn prepare_reads(db: &Connection, mapped: bool, wal: bool) -> Result<(), Error> {
    let map = if mapped { 1 << 30 } else { 0 };
    db.execute_batch(&format!(
        "PRAGMA cache_size = 10; PRAGMA mmap_size = {map}; PRAGMA wal_autocheckpoint = 0"
    ))?;
    if wal {
        // One row of nearly each page.
        let step = 8 * 34;
        db.execute_batch(&format!(
            "UPDATE t SET v = randomblob(100) WHERE k % {step} = 0 AND k < {step} * {FRAMES}"
        ))?;
    } else {
        // The log exists, and is empty.
        db.execute_batch("UPDATE t SET v = randomblob(100) WHERE k = 8")?;
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    Ok(())
}

fn read_rows(
    db: &Connection,
    scan: bool,
    times: u64,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let sql = match scan {
        true => "SELECT sum(length(v)) FROM t",
        false => "SELECT length(v) FROM t WHERE k = ?1 * 8",
    };
    let mut statement = db.prepare(sql)?;
    let mut read = |times: u64| -> Result<(), Error> {
        for n in 0..times {
            let k = ((n * 7_919) % READ_ROWS + 1).cast_signed();
            let found: i64 = match scan {
                true => statement.query_row([], |row| row.get(0))?,
                false => statement.query_row([k], |row| row.get(0))?,
            };
            black_box(found);
        }
        Ok(())
    };
    read(1)?;
    recorder.phase("work", || read(times))
}
