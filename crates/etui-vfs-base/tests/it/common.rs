//! Helpers of the tests.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use etui_testkit::own_process::ProgramOfTest;
use etui_vfs_base::Vfs;
use rusqlite::{Connection, OpenFlags};

/// The database of a program that a test runs.
const DATABASE: &str = "ETUI_BASE_TEST_DATABASE";
const SEED: &str = "ETUI_BASE_TEST_SEED";

pub fn vfs() -> &'static Vfs {
    static VFS: OnceLock<Vfs> = OnceLock::new();
    VFS.get_or_init(|| etui_vfs_base::register("base").unwrap())
}

fn set_up(db: Connection) -> rusqlite::Result<Connection> {
    db.busy_timeout(Duration::from_secs(100))?;
    db.execute_batch("PRAGMA synchronous = FULL")?;
    Ok(db)
}

pub fn try_open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::default();
    set_up(Connection::open_with_flags_and_vfs(
        path,
        flags,
        vfs().name(),
    )?)
}

/// Opens a database by SQLite's own VFS, in this process.
pub fn try_plain(path: &Path) -> rusqlite::Result<Connection> {
    set_up(Connection::open(path)?)
}

pub fn open(path: &Path) -> Connection {
    try_open(path).unwrap()
}

pub fn plain(path: &Path) -> Connection {
    try_plain(path).unwrap()
}

/// Creates a database in WAL mode with a table.
pub fn made(path: &Path) -> Connection {
    let db = open(path);
    db.execute_batch(
        "PRAGMA journal_mode = WAL; CREATE TABLE t(k INTEGER PRIMARY KEY, v, w TEXT UNIQUE)",
    )
    .unwrap();
    db
}

pub fn insert(db: &Connection, value: &str) -> bool {
    db.execute("INSERT INTO t(v) VALUES(?1)", [value]).is_ok()
}

pub fn number(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

pub fn rows(db: &Connection) -> i64 {
    number(db, "SELECT count(*) FROM t")
}

pub fn check(db: &Connection) {
    let answer: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(answer, "ok");
}

/// Runs SQL in the system's `sqlite3`, another process with another SQLite. Returns its output, and
/// whether all went well.
pub fn shell(path: &Path, timeout: u32, sql: &str) -> (String, bool) {
    let shell = Command::new("sqlite3")
        .arg("-cmd")
        .arg(format!(".timeout {timeout}"))
        .arg(path)
        .arg(sql)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&shell.stdout).trim().to_owned();
    let errors = String::from_utf8_lossy(&shell.stderr).trim().to_owned();
    (said + &errors, shell.status.success())
}

/// Runs an ignored test in another process, as a program that uses the database.
pub fn child(test: impl Fn(), path: &Path, seed: u64) -> Child {
    child_under(&[], test, path, seed)
}

/// [`child`], started by a command and its arguments.
pub fn child_under(starter: &[&str], test: impl Fn(), path: &Path, seed: u64) -> Child {
    let program = ProgramOfTest::new(test).command().unwrap();
    let mut command = match starter {
        [] => program,
        [starter, arguments @ ..] => {
            let mut command = Command::new(starter);
            command.args(arguments).arg(program.get_program());
            command.args(program.get_args());
            command
        }
    };
    command
        .env(DATABASE, path)
        .env(SEED, seed.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the database and the seed, if this process is such a program.
pub fn of_child() -> Option<(PathBuf, u64)> {
    let path = std::env::var_os(DATABASE)?;
    let seed = std::env::var(SEED).ok()?.parse().ok()?;
    Some((path.into(), seed))
}

/// Returns the child's output up to a line with this beginning.
pub fn wait_for(reader: &mut impl BufRead, begin: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(
            reader.read_line(&mut line).unwrap() > 0,
            "it said no {begin}"
        );
        // The test harness writes on the same line.
        if let Some(at) = line.find(begin) {
            return line[at..].trim().to_owned();
        }
    }
}
