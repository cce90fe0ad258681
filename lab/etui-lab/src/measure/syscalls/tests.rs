#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Counts of real lines, and of a real trace where there is `strace`.

use super::*;

/// One insert with a rollback journal, as `strace` wrote it (paths shortened).
const INSERT: &str = r#"
2268  pread64(3</d/t.db>, "\0\0\0e\0\0\0\5", 16, 24) = 16
2268  write(4</dev/null>, "etui-lab begin save\n", 20) = 20
2268  fcntl(3</d/t.db>, F_SETLK, {l_type=F_RDLCK, l_whence=SEEK_SET, l_start=1073741826, l_len=510}) = 0
2268  newfstatat(AT_FDCWD</>, "/d/t.db-journal", 0x7ffeefb04d60, 0) = -1 ENOENT (No such file or directory)
2268  pread64(3</d/t.db>, "\0\0\0e\0\0\0\5\0\0\0\0\0\0\0\0", 16, 24) = 16
2268  openat(AT_FDCWD</>, "/d/t.db-journal", O_RDWR|O_CREAT|O_NOFOLLOW|O_CLOEXEC, 0644) = 5</d/t.db-journal>
2268  pwrite64(5</d/t.db-journal>, "\0\0\0\0"..., 512, 0) = 512
2268  pwrite64(5</d/t.db-journal>, "\0\0\0\5", 4, 512) = 4
2268  pwrite64(5</d/t.db-journal>, "\r\0\0\0\32\5<\0\17\226"..., 4096, 516) = 4096
2268  pread64(5</d/t.db-journal>, "", 8, 9216) = 0
2268  fdatasync(5</d/t.db-journal> <unfinished ...>
2484  openat(AT_FDCWD</>, "/d/t.db", O_RDONLY|O_CLOEXEC) = 6</d/t.db>
2268  <... fdatasync resumed>)          = 0
2268  openat(AT_FDCWD</>, "/d", O_RDONLY|O_CLOEXEC) = 7</d>
2268  fdatasync(7</d>)          = 0
2268  close(7</d>)              = 0
2268  read_trace(9</proc/1/io>, "rchar: 1"..., 1024) = 95
2268  pwrite64(3</d/t.db>, "SQLite format 3\0"..., 4096, 0) = 4096
2268  pwrite64(3</d/t.db>, "\r\0\0\0\33\4"..., 4096, 16384) = 4096
2268  fdatasync(3</d/t.db>)     = 0
2268  unlink("/d/t.db-journal") = 0
2268  write(4</dev/null>, "etui-lab end save\n", 18) = 18
2268  unlink("/d/t.db") = 0
"#;

#[test]
fn an_insert_by_file() {
    let phases = count_calls(INSERT).unwrap();
    assert_eq!(phases.keys().collect::<Vec<_>>(), ["save"]);
    let expected = [
        ("calls", 17.0),
        ("database_fdatasync_calls", 1.0),
        ("database_lock_calls", 1.0),
        ("database_open_calls", 1.0),
        ("database_read_bytes", 16.0),
        ("database_read_calls", 1.0),
        ("database_write_bytes", 8192.0),
        ("database_write_calls", 2.0),
        ("directory_close_calls", 1.0),
        ("directory_fdatasync_calls", 1.0),
        ("directory_open_calls", 1.0),
        ("flush_calls", 3.0),
        ("journal_fdatasync_calls", 1.0),
        ("journal_open_calls", 1.0),
        ("journal_read_calls", 1.0),
        ("journal_stat_calls", 1.0),
        ("journal_unlink_calls", 1.0),
        ("journal_write_bytes", 4612.0),
        ("journal_write_calls", 3.0),
        ("media_open_calls", 0.0),
        ("written_bytes", 12804.0),
    ];
    let found: Vec<(&str, f64)> = phases["save"]
        .iter()
        .map(|(k, v)| (k.as_str(), *v))
        .collect();
    assert_eq!(found, expected);
}

/// `realpath` and SQLite ask for each component of a path.
#[test]
fn the_depth_of_the_folder_is_not_counted() {
    let at = |folder: &str, above: &str| {
        let begun = "etui-lab begin save\\n\", 20) = 20\n";
        let trace = INSERT.replace(begun, &format!("{begun}{above}"));
        let moved = ["/", "\"", ">"].iter().fold(trace, |trace, end| {
            trace.replace(&format!("/d{end}"), &format!("{folder}{end}"))
        });
        count_calls(&moved).unwrap()
    };
    let lookups = r#"2268  newfstatat(AT_FDCWD</>, "/a", 0x7ffe, AT_SYMLINK_NOFOLLOW) = 0
2268  readlink("/a", 0x7ffe, 1023) = -1 EINVAL (Invalid argument)
"#;
    assert_eq!(at("/a/d", lookups), at("/d", ""));
    let flush = r#"2268  fsync(8</a>) = 0
"#;
    assert_ne!(at("/a/d", flush), at("/d", ""), "a flush is counted");
}

#[test]
fn a_phase_without_end_is_an_error() {
    let cut = INSERT.split("2268  unlink").next().unwrap();
    assert_eq!(
        count_calls(cut).unwrap_err(),
        "the phase `save` has no end in the trace"
    );
    assert_eq!(count_calls("").unwrap(), BTreeMap::new());
}

/// Not a test of its own: the traced process.
#[test]
fn helper_that_is_traced() {
    let Some(dir) = std::env::var_os("ETUI_LAB_TEST_TRACED") else {
        return;
    };
    let db = rusqlite::Connection::open(Path::new(&dir).join("people")).unwrap();
    db.pragma_update(None, "journal_mode", "wal").unwrap();
    db.execute_batch("CREATE TABLE t(x)").unwrap();
    for phase in ["first", "second"] {
        mark_begin(phase);
        db.execute("INSERT INTO t VALUES (1)", []).unwrap();
        mark_end(phase);
    }
}

#[test]
fn a_real_trace() {
    if check_available().is_err() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("trace");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["helper_that_is_traced", "--test-threads=1"])
        .env("ETUI_LAB_TEST_TRACED", dir.path());
    let mut traced = wrap_command(&command, &output).unwrap();
    assert!(traced.stdout(Stdio::null()).status().unwrap().success());
    let phases = read_trace(&output).unwrap();
    assert_eq!(phases.keys().collect::<Vec<_>>(), ["first", "second"]);
    for counts in phases.values() {
        // One frame: its header and its page, then the one sync.
        assert_eq!(counts["wal_write_calls"], 2.0);
        assert_eq!(counts["wal_write_bytes"], 24.0 + 4096.0);
        assert_eq!(counts["wal_fdatasync_calls"], 1.0);
        assert!(!counts.contains_key("database_write_calls"));
    }
}
