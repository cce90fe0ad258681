//! [`examine`]: creates crash images of a history and opens each one.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::Duration;

use etui_testkit::disk::{CrashImage, CrashPlan, MountedDisks, RecordingDisk, crash};
use etui_testkit::rng::mix64;
use etui_vfs::Vfs;
use etui_vfs::device::Role;
use rusqlite::{Connection, OpenFlags};

use crate::crash::commits::{Commits, Window};
use crate::crash::model::hash_in;
use crate::crash::run::{DATABASE, run};
use crate::crash::steps::{Setup, Step};

/// A VFS under test, and the plain one beside it.
pub struct Subject {
    pub vfs: String,
    /// The VFS `etui` itself, if it is under test.
    pub etui: Option<Vfs>,
    pub plain: String,
    pub rack: MountedDisks,
    /// A clean close makes everything durable, whatever `synchronous` is.
    pub close_is_promised: bool,
    /// The plain VFS must refuse an unrecovered file, or read it completely.
    pub guarded: bool,
    /// The role whose unflushed sectors a power failure may damage.
    pub torn: Option<Role>,
}

/// The number of images.
#[derive(Debug, Clone)]
pub struct Budget {
    pub per_point: usize,
    pub per_history: usize,
    /// The number of images of one in 16 recoveries.
    pub of_recovery: usize,
    pub between: u32,
}

/// The results of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub histories: usize,
    /// Images created, including duplicates.
    pub images: usize,
    /// Distinct images that were opened.
    pub distinct: usize,
    /// Images of recoveries among them.
    pub of_recovery: usize,
    pub commits: usize,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.histories += other.histories;
        self.images += other.images;
        self.distinct += other.distinct;
        self.of_recovery += other.of_recovery;
        self.commits += other.commits;
    }
}

/// Runs the steps and opens the images of power failures.
pub fn examine(
    subject: &Subject,
    setup: &Setup,
    steps: &[Step],
    budget: &Budget,
    seed: u64,
) -> (Tally, Result<(), String>) {
    let (disk, commits, done) = run(subject, setup, steps);
    let mut tally = Tally {
        histories: 1,
        commits: commits.states.len(),
        ..Tally::default()
    };
    if let Err(wrong) = done {
        return (tally, Err(wrong));
    }
    let done = examine_history(subject, setup, &disk, &commits, budget, seed, &mut tally);
    (tally, done)
}

/// Opens the images of a history.
pub fn examine_history(
    subject: &Subject,
    setup: &Setup,
    disk: &RecordingDisk,
    commits: &Commits,
    budget: &Budget,
    seed: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    let history = disk.history();
    let windows = commits.windows(&history);
    let points = history.syncs() * 2 + commits.states.len();
    let plan = CrashPlan {
        sector: setup.sector,
        per_point: budget.per_point.min(4 + budget.per_history / points.max(1)),
        between: (budget.between as usize)
            .min(250 * budget.per_history / history.events.len().max(1)) as u32,
        torn: subject.torn,
        seed,
    };
    // The state in each image that was opened.
    let mut known: HashMap<u64, u64> = HashMap::new();
    let mut result = Ok(());
    let _ = crash(&history, &plan, |image| {
        tally.images += 1;
        let window = windows.get(image.after).copied().unwrap_or_default();
        let hash = image.files.hash();
        let found = match known.get(&hash) {
            Some(found) => Ok(*found),
            None => {
                tally.distinct += 1;
                // Not derived from the image, which contains random bytes of SQLite.
                let draw = mix64(seed.wrapping_add(tally.images as u64));
                let case = Case {
                    subject,
                    setup,
                    commits,
                    window,
                    draw,
                };
                case.open(image, budget, tally)
            }
        };
        let judged = found.and_then(|found| {
            known.insert(hash, found);
            judge(commits, window, found)
        });
        match judged {
            Ok(()) => ControlFlow::Continue(()),
            Err(wrong) => {
                result = Err(report(&history, image, &wrong));
                ControlFlow::Break(())
            }
        }
    });
    result
}

fn judge(commits: &Commits, window: Window, found: u64) -> Result<(), String> {
    if commits.allows(window, found) {
        return Ok(());
    }
    let (low, high) = (window.durable, window.begun);
    Err(match commits.find(found) {
        none if none.is_empty() => {
            format!("the tables are as no commit left them; wanted {low} to {high}")
        }
        known => format!("the tables are as commit {known:?} left them; wanted {low} to {high}"),
    })
}

fn report(history: &etui_testkit::disk::DiskHistory, image: &CrashImage, wrong: &str) -> String {
    let mut text = format!("{wrong}\nimage {image}\nthe last events:");
    for at in image.after.saturating_sub(30)..(image.after + 1) {
        text.push_str(&format!("\n  {at}: {}", history.describe(at)));
    }
    text
}

/// Opens a connection to the disk's database.
pub fn connect(path: &str, vfs: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let sql = Connection::open_with_flags_and_vfs(path, flags, vfs)?;
    sql.busy_timeout(Duration::ZERO)?;
    Ok(sql)
}

/// Reads the tables and checks the file's structure.
pub fn look(path: &str, vfs: &str) -> Result<(Connection, u64), String> {
    let text = |error: rusqlite::Error| {
        let refusal = etui_vfs::last_refusal();
        format!("{vfs}: {error}; etui's VFS said last: {refusal:?}")
    };
    let sql = connect(path, vfs).map_err(text)?;
    let state = hash_in(&sql).map_err(text)?;
    let check: String = sql
        .query_row("PRAGMA integrity_check", (), |row| row.get(0))
        .map_err(text)?;
    if check != "ok" {
        return Err(format!("{vfs}: integrity_check: {check}"));
    }
    Ok((sql, state))
}

/// An image with its circumstances.
struct Case<'a> {
    subject: &'a Subject,
    setup: &'a Setup,
    commits: &'a Commits,
    window: Window,
    /// Selects the checks beyond opening it.
    draw: u64,
}

impl Case<'_> {
    /// Opens the image. Returns the state of its tables.
    fn open(&self, image: &CrashImage, budget: &Budget, tally: &mut Tally) -> Result<u64, String> {
        let (subject, setup, draw) = (self.subject, self.setup, self.draw);
        if subject.guarded && draw.is_multiple_of(4) {
            self.plain_before(image)?;
        }
        let mount = subject.rack.mount(&image.disk());
        let path = mount.path(DATABASE);
        let (sql, found) = look(&path, &subject.vfs)?;
        if draw >> 8 & 15 == 0 && budget.of_recovery > 0 {
            let plan = CrashPlan {
                sector: setup.sector,
                per_point: 6,
                between: 100,
                torn: subject.torn,
                seed: draw,
            };
            let history = mount.disk.history();
            let mut seen = HashSet::from([image.files.hash()]);
            let mut left = budget.of_recovery;
            let mut result = Ok(());
            let _ = crash(&history, &plan, |second| {
                if !seen.insert(second.files.hash()) {
                    return ControlFlow::Continue(());
                }
                let again = subject.rack.mount(&second.disk());
                tally.distinct += 1;
                tally.of_recovery += 1;
                result = match look(&again.path(DATABASE), &subject.vfs) {
                    Ok((_, state)) if state == found => Ok(()),
                    Ok(_) => Err("it held something else than the first recovery found".to_owned()),
                    Err(wrong) => Err(wrong),
                }
                .map_err(|wrong| {
                    let second = report(&history, second, &wrong);
                    format!("a power cut during recovery: {second}\nthe recovery was of the image:")
                });
                left -= 1;
                match result.is_ok() && left > 0 {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            result?;
        }
        let goes_on = draw >> 16 & 1 == 0;
        if goes_on {
            sql.execute_batch("CREATE TABLE probe(x); INSERT INTO probe VALUES (1)")
                .map_err(|error| format!("writing after recovery: {error}"))?;
        }
        sql.close()
            .map_err(|(_, error)| format!("close: {error}"))?;
        let (sql, plain) = look(&path, &subject.plain)?;
        if plain != found {
            return Err("after a clean close plain SQLite sees other tables".to_owned());
        }
        if goes_on {
            let probes: i64 = sql
                .query_row("SELECT count(*) FROM probe", (), |row| row.get(0))
                .map_err(|error| error.to_string())?;
            if probes != 1 {
                return Err("what was written after recovery is not there".to_owned());
            }
        }
        Ok(found)
    }

    /// Plain SQLite may open an unrecovered file only if it reads everything that is guaranteed.
    fn plain_before(&self, image: &CrashImage) -> Result<(), String> {
        let (subject, window, commits) = (self.subject, self.window, self.commits);
        let header = |at: u64| {
            let mut byte = [0];
            let path = std::path::Path::new(DATABASE);
            image
                .files
                .get(path)
                .map(|content| content.read_at(&mut byte, at));
            byte[0]
        };
        // A version unknown to SQLite, which refuses the file.
        if header(18) > 2 {
            return Ok(());
        }
        let mount = subject.rack.mount(&image.disk());
        let (_, state) = look(&mount.path(DATABASE), &subject.plain)
            .map_err(|wrong| format!("plain SQLite before recovery: {wrong}"))?;
        judge(commits, window, state).map_err(|wrong| {
            format!("plain SQLite, which is not refused, before recovery: {wrong}")
        })
    }
}
