//! `processor`: instructions and processor time of commits and reads, by SQLite's own WAL and by
//! the redo log of `etui-vfs`.

use std::hint::black_box;
use std::path::Path;

use etui::{Store, Vfs};
use rusqlite::Connection;

use super::report::bounded_report;
use etui_lab::experiments::about::AboutText;
use etui_lab::experiments::common::{
    copy_shared, fill_store, make_cards, open_database, people_options, register_variant,
};
use etui_lab::stacks::HERE;
use etui_lab::{
    Arm, ArmGroup, ArmRole, Error, Experiment, ExperimentInfo, LabContext, Measure, Per, Recorder,
    ReportSpec, Results, RunCase, RunPlan, TableSpec, Threshold,
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
const CONTACTS: u64 = 12_800;
const WARM_UP_CONTACTS: u64 = 300;

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
            let name = format!("{kind}{suffix}");
            let operation = Operation::Commit {
                indexed,
                checkpoints,
            };
            all.push((name, times, operation));
        }
    }
    let contact = "contact, all included".to_owned();
    all.push((contact, 600, Operation::SaveContact));
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

pub struct Processor;

impl Experiment for Processor {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("processor.md"));
        ABOUT.info(NAME, None)
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let repetitions = u32::try_from(lab.value("repetitions")).unwrap_or(u32::MAX);
        let groups = list_operations().into_iter();
        let groups = groups.map(|(work, times, _)| {
            let arms = vec![
                Arm::new(SYSTEM_VFS, ArmRole::Peer, ""),
                Arm::new(ETUI_VFS, ArmRole::Etui, "redo"),
            ];
            ArmGroup {
                repetitions,
                instructions: true,
                seconds: 1.0,
                ..ArmGroup::new(work, HERE, times, arms)
            }
        });
        Ok(groups.collect::<Vec<_>>().into())
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let path = dir.join(FILE);
        match find_operation(&group.work)? {
            Operation::SaveContact => {
                let people = make_cards(1, CONTACTS)?;
                Ok(fill_store(&path, &people_options(), &people)?.close()?)
            }
            Operation::Commit { indexed, .. } => create_table(&path, ROWS, index_count(indexed)),
            Operation::Read { .. } => create_table(&path, READ_ROWS, 0),
        }
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        let path = copy_shared(recorder, FILE, "db")?;
        let operation = find_operation(&case.work)?;
        if operation == Operation::SaveContact {
            return save_contacts(&path, case, recorder);
        }
        let vfs = register_variant(&case.settings)?;
        let db = open_database(&path, vfs.as_ref().map(etui_vfs::Vfs::name))?;
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
        let operations = list_operations();
        let names: Vec<&str> = operations.iter().map(|(name, ..)| name.as_str()).collect();
        let groups = results.select_groups(&names, &[HERE]);
        let instructions = || Measure::new("instructions", "work/instructions").per(Per::Size);
        let targets = groups.iter().map(|group| {
            let claim = format!("instructions of `{}` through etui-vfs", group.work);
            Threshold::target(claim)
                .of(Some(group), ETUI_VFS, instructions())
                .against_arm(SYSTEM_VFS)
        });
        let time = Measure::new("processor time", "work/cpu_ns").per(Per::Size);
        let targets = targets.collect();
        let table = TableSpec::new("One operation", groups.clone())
            .caption(
                "User instructions; processor time with the kernel's. Ratios are to SQLite's own WAL.",
            )
            .measures(vec![instructions(), time])
            .base(SYSTEM_VFS)
            .size_unit("times");
        bounded_report(None, vec![table], Vec::new(), targets)
    }
}

fn index_count(indexed: bool) -> u64 {
    if indexed { INDEXES } else { 0 }
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

fn save_contacts(path: &Path, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let mut options = people_options();
    if case.settings.is("redo") {
        options.vfs = Vfs::RedoLog;
    }
    let store = Store::open_with(path, &options)?;
    let contacts = store.contacts()?;
    let cards = make_cards(2, WARM_UP_CONTACTS + case.size)?;
    let (warm_up, counted) = cards.split_at(WARM_UP_CONTACTS as usize);
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
