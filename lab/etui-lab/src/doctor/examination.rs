//! [`examine`]: from a database and a command to findings with measured advice.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rusqlite::Connection;
use serde::Serialize;

use super::capture::{CommandEnd, CommandRun, Observed, Tracer, run_command};
use super::copy::{copy_database, read_header, sqlite_error};
use super::found::setup_as_found;
use super::indexes::{ScanFinding, find_missing};
use super::inspect::{Inspection, inspect};
use super::measurement::{Combined, Measurement, WorkloadUse, try_after_others, try_alone};
use super::options::Options;
use super::place::{Scratch, is_on_network};
use super::proposals::{Facts, propose};
use super::replay::{Bench, Replayed};
use super::setup::Setup;
use super::trial::Trials;
use super::unseen::name_unseen;
use super::workload::{Workload, WorkloadSource};
use crate::NotRun;
use crate::error::Error;

/// The result of an examination.
#[derive(Debug, Clone, Serialize)]
pub struct Examination {
    pub database: PathBuf,
    /// Its settings, size and schema.
    pub inspection: Inspection,
    pub command: Option<CommandEnd>,
    /// The way in which it was observed.
    pub tracer: Option<Tracer>,
    pub observed: Option<Observed>,
    /// Statements that scan a table.
    pub scans: Vec<ScanFinding>,
    pub measured: Option<Measurement>,
    /// Parts that could not be done, with the reasons.
    pub not_run: Vec<NotRun>,
}

/// Examines a database. `progress` is called with what happens now.
pub fn examine(
    options: &Options,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
) -> Result<Examination, Error> {
    let database = locate(&options.database, !options.command.is_empty())?;
    let scratch = Scratch::new(options.scratch.as_deref(), &database)?;
    let examiner = Examiner {
        options,
        stop,
        database,
        scratch,
        not_run: Vec::new(),
    };
    let database = examiner.database.clone();
    examiner.examine(progress).map_err(|error| match error {
        Error::Sqlite(error) => sqlite_error(&database, error),
        other => other,
    })
}

/// Returns the canonical path of the database; with a command it may come into being.
fn locate(path: &Path, may_be_missing: bool) -> Result<PathBuf, Error> {
    match fs::canonicalize(path) {
        Ok(found) => Ok(found),
        Err(error) if may_be_missing && error.kind() == std::io::ErrorKind::NotFound => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new("."));
            let name = path.file_name().ok_or_else(|| Error::file(path, error))?;
            let parent = fs::canonicalize(parent).map_err(|e| Error::file(parent, e))?;
            Ok(parent.join(name))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::other(format!(
            "{}: no such file; give the path of a SQLite database",
            path.display()
        ))),
        Err(error) => Err(Error::file(path, error)),
    }
}

fn not_created(database: &Path, command: &CommandEnd) -> Error {
    let ended = match &command.problem {
        Some(problem) => format!("it ended with a failure: {problem}"),
        None => "give the path of the database that it uses".to_owned(),
    };
    Error::other(format!(
        "{}: no such file, and the command created none; {ended}",
        database.display()
    ))
}

struct Examiner<'a> {
    options: &'a Options,
    stop: &'a AtomicBool,
    database: PathBuf,
    scratch: Scratch,
    not_run: Vec<NotRun>,
}

impl Examiner<'_> {
    fn examine(mut self, progress: &mut dyn FnMut(&str)) -> Result<Examination, Error> {
        let (before, after) = (self.file("before.db"), self.file("after.db"));
        progress("copying the database");
        self.copy(&before)?;
        let mut command = None;
        if !self.options.command.is_empty() {
            progress("");
            let run = self.run_command()?;
            if !self.database.exists() {
                return Err(not_created(&self.database, &run.0));
            }
            command = Some(run);
            progress("copying the database again");
            self.copy(&after)?;
        }
        let last = if command.is_some() { &after } else { &before };
        progress("inspecting the copy");
        let inspection = inspect(last, &self.database)?;
        let (command, tracer, observed) = match command {
            Some((command, tracer, observed)) => (Some(command), Some(tracer), Some(observed)),
            None => (None, None, None),
        };
        let mut examination = Examination {
            database: self.database.clone(),
            inspection,
            command,
            tracer,
            observed,
            scans: Vec::new(),
            measured: None,
            not_run: Vec::new(),
        };
        if examination.inspection.fault.is_some() {
            self.not_run("measurements", "the database is damaged");
        } else {
            if let Some(observed) = &examination.observed {
                progress("looking for scans");
                let mut conn = Connection::open(last)?;
                super::replay::restrict(&mut conn)?;
                conn.execute_batch("PRAGMA foreign_keys = OFF")?;
                examination.scans = find_missing(&conn, &observed.statement_shapes)?;
            }
            examination.measured = self.measure(&examination, &before, last, progress)?;
        }
        self.not_run.extend(name_unseen(&examination));
        examination.not_run = self.not_run;
        Ok(examination)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn not_run(&mut self, what: &str, reason: impl Into<String>) {
        self.not_run.push(NotRun {
            what: what.to_owned(),
            reason: reason.into(),
        });
    }

    fn copy(&self, target: &Path) -> Result<(), Error> {
        let bytes = match fs::metadata(&self.database) {
            Ok(file) => file.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return fs::File::create(target)
                    .map(drop)
                    .map_err(|e| Error::file(target, e));
            }
            Err(error) => return Err(Error::file(&self.database, error)),
        };
        // The header comes first: what is no database is not copied.
        read_header(&self.database)?;
        if bytes > self.options.most_bytes() {
            return Err(Error::other(format!(
                "{}: {} MiB, more than is copied without being asked; give --max-size {}",
                self.database.display(),
                bytes >> 20,
                (bytes >> 20) + 1
            )));
        }
        // Two copies, one for each setup, and one that grows while it is measured.
        let needed = bytes.saturating_mul(12).saturating_add(64 << 20);
        if self.scratch.free_bytes() < needed {
            return Err(Error::other(format!(
                "{}: {} MiB are needed for copies, {} MiB are free; give --scratch DIR",
                self.scratch.location.dir.display(),
                needed >> 20,
                self.scratch.free_bytes() >> 20
            )));
        }
        copy_database(&self.database, target)
    }

    fn run_command(&self) -> Result<(CommandEnd, Tracer, Observed), Error> {
        run_command(&CommandRun {
            words: &self.options.command,
            database: &self.database,
            dir: self.scratch.path(),
            tracer: self.options.tracer,
            time_limit: self.options.time_limit,
            output_to_errors: self.options.json,
            stop: self.stop,
        })
    }

    /// Returns the workload and the file that it begins with.
    fn workload(
        &mut self,
        examination: &Examination,
        before: &Path,
        last: &Path,
    ) -> Result<Option<(Workload, PathBuf)>, Error> {
        let recorded = examination.observed.as_ref();
        if let Some(observed) = recorded.filter(|observed| !observed.transactions.is_empty()) {
            let workload = Workload {
                source: WorkloadSource::Recorded,
                transactions: observed.transactions.clone(),
            };
            return Ok(Some((workload, before.to_owned())));
        }
        Ok(self
            .made_up(examination, last)?
            .map(|workload| (workload, last.to_owned())))
    }

    fn made_up(
        &mut self,
        examination: &Examination,
        last: &Path,
    ) -> Result<Option<Workload>, Error> {
        let conn = Connection::open(last)?;
        let tables = &examination.inspection.tables;
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let workload = Workload::make_up(&conn, &names)?;
        if workload.is_none() {
            self.not_run(
                "measurements",
                "the database has no table with rows that can be changed one by one; give a command",
            );
        }
        Ok(workload)
    }

    fn measure(
        &mut self,
        examination: &Examination,
        before: &Path,
        last: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<Measurement>, Error> {
        let Some((mut workload, mut base)) = self.workload(examination, before, last)? else {
            return Ok(None);
        };
        let found = setup_as_found(&examination.inspection, examination.observed.as_ref());
        progress("repeating the transactions as found");
        let mut pilot = self.pilot(&workload, &base, &found)?;
        let statements: usize = workload
            .transactions
            .iter()
            .map(|t| t.statements.len())
            .sum();
        if pilot.failed * 2 > statements as u64 {
            let reason = pilot.first_failure.unwrap_or_default();
            self.not_run(
                "a replay of the command's transactions",
                format!("most statements fail outside of the program ({reason})"),
            );
            let Some(made_up) = self.made_up(examination, last)? else {
                return Ok(None);
            };
            (workload, base) = (made_up, last.to_owned());
            pilot = self.pilot(&workload, &base, &found)?;
        }
        let facts = Facts {
            inspection: &examination.inspection,
            observed: examination
                .observed
                .as_ref()
                .filter(|observed| !observed.transactions.is_empty()),
            found: &found,
            replayed: &pilot,
            local: !is_on_network(self.database.parent().unwrap_or(Path::new("/"))),
        };
        let proposals = propose(&facts);
        let mut bench = self.bench(&base)?;
        let mut trials = Trials {
            bench: &mut bench,
            workload: &workload,
            count: usize::try_from(pilot.transactions).unwrap_or(usize::MAX),
            limit: self.options.seconds * 4,
            rounds: self.options.rounds.into(),
        };
        let mut done = 0;
        let mut report = |total: usize| {
            done += 1;
            progress(&format!("measuring on copies: {done} of about {total}"));
        };
        let about = (2 * proposals.len() + 6) * usize::from(self.options.rounds);
        let mut step = || report(about);
        let Some(mut advice) = try_alone(&mut trials, &found, proposals, &mut step)? else {
            return Ok(None);
        };
        try_after_others(
            &mut trials,
            &found,
            &mut advice,
            &examination.scans,
            &mut step,
        )?;
        let observed = examination.observed.as_ref();
        let shared = observed.is_some_and(|observed| observed.processes_at_once > 1);
        let combined = Combined::of(&found, &advice, &examination.scans, shared);
        let setups = combined.setups(&found);
        let mut measured = trials.run(&setups, &mut step)?.into_iter();
        let Some(of_found) = measured.next() else {
            return Ok(None);
        };
        let mut next = |wanted: bool| wanted.then(|| measured.next()).flatten();
        Ok(Some(Measurement {
            location: self.scratch.location.clone(),
            workload: WorkloadUse {
                source: workload.source.clone(),
                transactions: workload.transactions.len() as u64,
                repeated: pilot.transactions,
                rounds: self.options.rounds.into(),
            },
            all: next(combined.all.is_some()),
            normal: next(combined.normal.is_some()),
            etui: next(combined.etui.is_some()),
            all_etui: next(combined.all_etui.is_some()),
            found: of_found,
            advice,
        }))
    }

    fn bench(&self, base: &Path) -> Result<Bench<'_>, Error> {
        Bench::new(
            self.scratch.path(),
            base,
            Duration::from_millis(self.options.flush_ms.into()),
            self.stop,
        )
    }

    /// Repeats as many transactions under the setup as found as the time allows.
    fn pilot(&self, workload: &Workload, base: &Path, found: &Setup) -> Result<Replayed, Error> {
        let mut bench = self.bench(base)?;
        let prepared = bench.prepare(found)?;
        let count = workload.transactions.len();
        let replayed = bench.replay(&prepared, workload, count, self.options.seconds);
        bench.discard(&prepared);
        replayed
    }
}
