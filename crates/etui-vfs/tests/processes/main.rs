//! Killed, forked and second processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use etui_vfs::Options;
use rusqlite::{Connection, OpenFlags};

mod exchange_rules;
mod forked;
mod killed;
mod locks;
mod meanwhile;
mod shared;

const DATABASE: &str = "ETUI_VFS_TEST_DATABASE";
const SEED: &str = "ETUI_VFS_TEST_SEED";

fn register() {
    if let Err(error) = etui_vfs::register("etui", Options::default()) {
        assert!(error.to_string().contains("already"), "{error}");
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    register();
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), "etui")
}

fn number(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Runs an ignored test of this file in another process, as a program that uses the database.
fn child(test: &str, path: &Path, seed: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--ignored"])
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
