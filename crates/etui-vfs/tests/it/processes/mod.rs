//! Killed, forked and second processes.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use etui_testkit::own_process::ProgramOfTest;
use rusqlite::{Connection, OpenFlags};

use crate::common::vfs;

mod forked;
mod killed;
mod locks;
mod meanwhile;

const DATABASE: &str = "ETUI_VFS_TEST_DATABASE";
const SEED: &str = "ETUI_VFS_TEST_SEED";

fn open(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs().name())
}

fn number(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Runs an ignored test of this folder in another process, as a program that uses the database.
fn child(test: impl Fn(), path: &Path, seed: u64) -> Child {
    ProgramOfTest::new(test)
        .command()
        .unwrap()
        .env(DATABASE, path)
        .env(SEED, seed.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn path_of_child() -> Option<PathBuf> {
    std::env::var_os(DATABASE).map(Into::into)
}

/// Keeps a child as it is until its parent kills it, or is dead itself.
fn stay_until_killed() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Returns the child's output up to a line with this beginning.
fn wait_for(reader: &mut impl BufRead, begin: &str) -> String {
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
