//! `etui-lab doctor`: badly and well configured databases, programs that it observes, and files that
//! are none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rusqlite::Connection;
use serde_json::Value;

/// A program that saves row by row, in small pages, with a rollback journal, and searches without an
/// index.
const BAD: &str = "\
PRAGMA page_size = 1024;
CREATE TABLE track(id INTEGER PRIMARY KEY, title TEXT, cover BLOB);
";

/// Writes SQL for the sqlite3 shell: 80 rows, a transaction each.
fn bad_sql(dir: &Path) -> PathBuf {
    let mut sql = BAD.to_owned();
    for n in 0..80 {
        sql.push_str(&format!(
            "INSERT INTO track(title, cover) VALUES('title {n}', zeroblob(300));\n"
        ));
    }
    for _ in 0..5 {
        sql.push_str("SELECT count(*) FROM track WHERE title = 'title 7';\n");
    }
    // More rows at once, so that the scan is a long one.
    sql.push_str(
        "INSERT INTO track(title) WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n \
         WHERE i < 900) SELECT 'title ' || i FROM n;\n",
    );
    let path = dir.join("bad.sql");
    fs::write(&path, sql).unwrap();
    path
}

fn doctor(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_etui-lab"))
        .current_dir(dir)
        .args(["doctor", "--scratch", "."])
        .args(arguments)
        .output()
        .unwrap()
}

fn examination(dir: &Path, arguments: &[&str]) -> Value {
    let output = doctor(dir, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The shell of SQLite, if it is here; the test says that it is skipped.
fn has_shell() -> bool {
    let found = Command::new("sqlite3").arg("--version").output().is_ok();
    if !found {
        println!("skipped: sqlite3 is not installed");
    }
    found
}

fn is_worthwhile(examined: &Value, id: &str) -> bool {
    let advice = examined["measured"]["advice"].as_array().unwrap();
    advice
        .iter()
        .any(|advice| advice["id"] == id && advice["worthwhile"] == true)
}

/// On a disk, so that flushes are real.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn a_badly_configured_database() {
    if !has_shell() {
        return;
    }
    let dir = directory();
    let script = format!(".read {}", bad_sql(dir.path()).display());
    let common = ["bad.db", "--json", "--flush-ms", "1", "--seconds", "1"];
    let command = ["--rounds", "2", "--", "sqlite3", "bad.db", &script];
    let examined = examination(dir.path(), &[&common[..], &command[..]].concat());

    // What was seen: 80 single inserts, a table, and the last insert.
    let observed = &examined["observed"];
    assert_eq!(observed["commits"], 82);
    assert_eq!(observed["connections"], 1);
    let inserts = observed["commit_shapes"].as_array().unwrap();
    let inserts = inserts.iter().find(|shape| shape["commits"] == 80).unwrap();
    let statement = inserts["statement"].as_str().unwrap();
    assert_eq!(
        statement,
        "INSERT INTO track(title, cover) VALUES(?, zeroblob(?))"
    );
    // Journal twice, directory, database.
    let io = &inserts["io"];
    let flushes = io["data_flushes"].as_u64().unwrap() + io["full_flushes"].as_u64().unwrap();
    assert_eq!((flushes, &io["removals"]), (80 * 4, &Value::from(80)));

    // The causes, and the gains. After the other changes few flushes are left, and a loaded machine
    // hides the gain of larger pages.
    let advice = &examined["measured"]["advice"];
    for id in ["wal", "group"] {
        assert!(is_worthwhile(&examined, id), "{id}: {advice:#}");
    }
    let mut proposed = advice.as_array().unwrap().iter();
    assert!(proposed.any(|one| one["id"] == "page-size"), "{advice:#}");
    let measured = &examined["measured"];
    assert_eq!(measured["workload"]["source"], "recorded");
    assert_eq!(measured["found"]["failed"], 0);
    assert_eq!(measured["all"]["same_answer"], true);
    assert!(
        measured["all"]["ratio"].as_f64().unwrap() >= 5.0,
        "{measured:#}"
    );
    assert!(
        measured["etui"]["ratio"].as_f64().unwrap() > 1.0,
        "{measured:#}"
    );
    let index = &examined["scans"][0]["index"]["sql"];
    assert_eq!(index, "CREATE INDEX track_title ON track(title);");

    // The database is what the program made of it, and nothing is left beside it.
    let conn = Connection::open(dir.path().join("bad.db")).unwrap();
    let count: i64 = conn
        .query_row("SELECT count(*) FROM track", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 80 + 801);
    drop(conn);
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["bad.db", "bad.sql"]);
}

#[test]
fn a_well_configured_database() {
    let dir = directory();
    let path = dir.path().join("good.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
         INSERT INTO note SELECT i, 'body ' || i FROM n;",
    )
    .unwrap();
    // A reader keeps the WAL: the database is in use.
    let before = fs::read(&path).unwrap();
    let wal = fs::read(dir.path().join("good.db-wal")).unwrap();
    assert!(!wal.is_empty());
    let output = doctor(
        dir.path(),
        &["good.db", "--seconds", "0.05", "--rounds", "1"],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("\nWell configured\n"), "{text}");
    assert!(text.contains("each updates one row of note"), "{text}");
    assert!(!text.contains("What to change"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read(dir.path().join("good.db-wal")).unwrap(), wal);
}

#[test]
fn a_wal_that_a_killed_program_left() {
    let dir = directory();
    let path = dir.path().join("live.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; CREATE TABLE note(body TEXT); INSERT INTO note VALUES('in the WAL')",
    )
    .unwrap();
    // As after a kill: no wal-index.
    let left = dir.path().join("left.db");
    fs::copy(&path, &left).unwrap();
    fs::copy(
        dir.path().join("live.db-wal"),
        dir.path().join("left.db-wal"),
    )
    .unwrap();
    let copy = dir.path().join("copy.db");
    etui_lab::doctor::copy_database(&left, &copy).unwrap();
    assert!(!dir.path().join("left.db-shm").exists());
    let conn = Connection::open(&copy).unwrap();
    let body: String = conn
        .query_row("SELECT body FROM note", [], |row| row.get(0))
        .unwrap();
    assert_eq!(body, "in the WAL");
}

#[test]
fn what_is_no_database() {
    let dir = directory();
    let file = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).unwrap();
    file("text.db", &[b'x'; 5000]);
    file("short.db", b"SQLite format 3\0");
    let mut marked = b"SQLite format 3\0\x10\0\xe7\xe7".to_vec();
    marked.resize(4096, 0);
    file("marked.db", &marked);
    fs::create_dir(dir.path().join("folder.db")).unwrap();
    for (name, words) in [
        ("text.db", "not a SQLite database, or an encrypted one"),
        ("short.db", "not a SQLite database, or an encrypted one"),
        ("marked.db", "run `etui recover` on it"),
        ("folder.db", "not a file"),
        ("missing.db", "no such file; give the path"),
    ] {
        let output = doctor(dir.path(), &[name]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
        assert!(
            errors.contains(words) && errors.contains(name),
            "{name}: {errors}"
        );
    }
    let output = doctor(dir.path(), &["missing.db", "--", "no-such-program"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        errors.contains("no-such-program: no such program"),
        "{errors}"
    );
    // A command that creates no database, and a file that is no program.
    file("script", b"#!/bin/sh\n");
    for (arguments, words) in [
        (
            ["missing.db", "--", "false"],
            "the command created none; it ended with a failure: exit code 1",
        ),
        (["missing.db", "--", "./script"], "it is not executable"),
        (
            ["text.db", "--scratch", "no-folder"],
            "no copies can be made there",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_etui-lab"))
            .current_dir(dir.path())
            .arg("doctor")
            .args(arguments)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(words), "{errors}");
    }
    assert!(!dir.path().join("missing.db").exists());
    let output = doctor(dir.path(), &["text.db", "--seconds", "-1"]);
    assert_eq!(output.status.code(), Some(2));
    // An empty file is a database without tables.
    file("empty.db", b"");
    let output = doctor(dir.path(), &["empty.db"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("an empty file"), "{text}");
}

#[test]
fn a_locked_and_a_damaged_database() {
    let dir = directory();
    let path = dir.path().join("t.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "CREATE TABLE t(x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO t SELECT hex(i) || hex(zeroblob(30)) FROM n; BEGIN EXCLUSIVE",
    )
    .unwrap();
    let output = doctor(dir.path(), &["t.db"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("another program has locked it"), "{errors}");
    drop(conn);

    let mut bytes = fs::read(&path).unwrap();
    bytes[3 * 4096..3 * 4096 + 2000].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let output = doctor(dir.path(), &["t.db"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("DAMAGED: "), "{text}");
    assert!(
        text.contains("measurements: the database is damaged"),
        "{text}"
    );

    // Cut short, as by a full disk: SQLite itself refuses it.
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 3]).unwrap();
    let output = doctor(dir.path(), &["t.db"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors.contains("t.db: damaged: ") && errors.contains(".recover"),
        "{errors}"
    );
}

/// The redo log is for one process: it is measured for programs that take turns, and not for those that
/// use the database at once.
#[test]
fn the_redo_log_is_proposed_for_one_process() {
    if !has_shell() {
        return;
    }
    let dir = directory();
    let examined = |script: &str| {
        let options = ["t.db", "--json", "--seconds", "0.05", "--rounds", "1", "--"];
        examination(dir.path(), &[&options[..], &["sh", "-c", script]].concat())
    };
    let in_turn = examined(
        "sqlite3 t.db 'CREATE TABLE t(x)'; for i in 1 2 3; do sqlite3 t.db 'INSERT INTO t VALUES(1)'; done",
    );
    assert_eq!(in_turn["observed"]["processes_at_once"], 1);
    assert!(in_turn["measured"]["etui"].is_object());
    let at_once = examined(
        "printf '%s\\n' 'INSERT INTO t VALUES(2);' \
             '.shell sqlite3 t.db \"INSERT INTO t VALUES(3)\"' 'INSERT INTO t VALUES(4);' | sqlite3 t.db",
    );
    assert_eq!(at_once["observed"]["processes_at_once"], 2);
    assert!(at_once["measured"]["found"].is_object());
    assert!(at_once["measured"]["etui"].is_null());
    assert!(at_once["measured"]["all_etui"].is_null());
}

#[test]
fn commands_that_fail_fork_and_are_killed() {
    if !has_shell() {
        return;
    }
    let dir = directory();
    let quick = ["t.db", "--json", "--seconds", "0.05", "--rounds", "1", "--"];
    let run = |script: &str| {
        let shell = ["sh", "-c", script];
        examination(dir.path(), &[&quick[..], &shell[..]].concat())
    };
    let made =
        "sqlite3 t.db 'CREATE TABLE t(x)'; sqlite3 t.db 'INSERT INTO t VALUES(1)' & wait; exit 7";
    let examined = run(made);
    assert_eq!(examined["command"]["problem"], "exit code 7");
    assert_eq!(examined["observed"]["commits"], 2);
    assert_eq!(examined["observed"]["connections"], 2);
    assert_eq!(
        examined["observed"]["programs"],
        serde_json::json!(["sqlite3"])
    );

    // Killed within a transaction: what was committed before is seen.
    let killed = "(echo 'INSERT INTO t VALUES(2); BEGIN; INSERT INTO t VALUES(3);'; sleep 0.5; \
         echo '.shell kill -9 $PPID') | sqlite3 t.db; exec >&- 2>&-; kill -9 $$";
    let examined = run(killed);
    assert_eq!(examined["command"]["problem"], "killed by signal 9");
    assert_eq!(examined["observed"]["commits"], 1);

    // A program that does not use the database at all.
    let examined = run("true");
    let reasons = examined["not_run"].to_string();
    assert!(reasons.contains("it did not open it"), "{reasons}");

    // A program that would not end.
    let examined = examination(
        dir.path(),
        &[
            "t.db",
            "--json",
            "--for",
            "0.3",
            "--seconds",
            "0.05",
            "--",
            "sleep",
            "60",
        ],
    );
    assert_eq!(examined["command"]["timed_out"], true);
}

#[test]
fn writes_and_flushes_by_strace_are_those_of_the_library() {
    if !has_shell() || etui_lab::measure::syscalls::check_available().is_err() {
        println!("skipped: strace is not available");
        return;
    }
    let dir = directory();
    let sql = "CREATE TABLE t(x); INSERT INTO t VALUES(1); INSERT INTO t VALUES(2);";
    let mut seen = Vec::new();
    for tracer in ["preload", "strace"] {
        let name = format!("{tracer}.db");
        let examined = examination(
            dir.path(),
            &[
                &name,
                "--json",
                "--tracer",
                tracer,
                "--seconds",
                "0.05",
                "--rounds",
                "1",
                "--",
                "sqlite3",
                &name,
                sql,
            ],
        );
        let observed = &examined["observed"];
        seen.push((observed["commits"].clone(), observed["io"].clone()));
    }
    assert_eq!(seen[0].0, 3);
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_recorded_statement_reaches_no_other_file() {
    if !has_shell() {
        return;
    }
    let dir = directory();
    let sql = "CREATE TABLE t(x); INSERT INTO t VALUES(1); VACUUM INTO 'other.db'; \
               ATTACH 'third.db' AS third; CREATE TABLE third.u(x);";
    examination(
        dir.path(),
        &[
            "t.db",
            "--json",
            "--seconds",
            "0.05",
            "--rounds",
            "1",
            "--",
            "sh",
            "-c",
            &format!("sqlite3 t.db \"{sql}\"; rm other.db third.db"),
        ],
    );
    assert!(!dir.path().join("other.db").exists());
    assert!(!dir.path().join("third.db").exists());
}
