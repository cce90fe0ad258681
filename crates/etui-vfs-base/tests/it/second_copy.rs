//! A store, and in its process a second copy of SQLite, loaded as a shared object or used by the system's
//! Python in the process: its locks are POSIX locks, too, and closing its connection, or the file read
//! as bytes, drops those of the first copy. Nothing that was acknowledged may be lost.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, ptr, thread};

use etui::contacts::Card;
use etui::{Error, Store};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};

const PATIENCE: Duration = Duration::from_secs(120);
const STORE: &str = "ETUI_TEST_COPY_STORE";
const PYTHON: &str = "/usr/bin/python3";
/// Set: the second copy is Python's.
const BY_PYTHON: &str = "ETUI_TEST_COPY_PYTHON";

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type OpenFn = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
type ExecFn = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    *const c_void,
    *mut c_void,
    *mut *mut c_char,
) -> c_int;
type CloseFn = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The system's SQLite.
struct SecondCopy {
    open: OpenFn,
    exec: ExecFn,
    close: CloseFn,
}

/// The system's Python in this process.
struct Python {
    run: unsafe extern "C" fn(*const c_char) -> c_int,
}

/// Reader of the file in the process of the store.
enum Reader {
    Sqlite(SecondCopy),
    Python(Python),
}

/// Loads a shared object; it is never unloaded.
fn load(name: &CStr, package: &str) -> impl Fn(&CStr) -> *mut c_void + use<> {
    // Python's modules find its symbols among those of the process.
    const NOW_GLOBAL: c_int = 0x102;
    // SAFETY: a C string; the initialisers of these libraries do nothing that others could see.
    let library = unsafe { dlopen(name.as_ptr(), NOW_GLOBAL) };
    assert!(
        !library.is_null(),
        "{name:?} is not installed: `scripts/need {package}`"
    );
    move |symbol| {
        // SAFETY: the library is open, the name a C string.
        let found = unsafe { dlsym(library, symbol.as_ptr()) };
        assert!(!found.is_null(), "{symbol:?}");
        found
    }
}

impl Python {
    /// Starts it. Its threads are this thread alone. It looks for its modules at `PYTHONHOME`.
    fn start() -> Self {
        let asked = Command::new(PYTHON)
            .args([
                "-c",
                "import sysconfig; print(sysconfig.get_config_var('INSTSONAME'))",
            ])
            .env_remove("PYTHONHOME")
            .output()
            .unwrap();
        let name = String::from_utf8(asked.stdout).unwrap();
        let symbol = load(&CString::new(name.trim()).unwrap(), "libpython3");
        // SAFETY: the two functions have these types (Python.h); it is started once.
        unsafe {
            let start: unsafe extern "C" fn() = std::mem::transmute(symbol(c"Py_Initialize"));
            start();
            Self {
                run: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> c_int>(
                    symbol(c"PyRun_SimpleString"),
                ),
            }
        }
    }

    fn run(&self, program: &str) -> c_int {
        let program = CString::new(program).unwrap();
        // SAFETY: a C string; this thread started it.
        unsafe { (self.run)(program.as_ptr()) }
    }
}

impl Reader {
    /// That of this process, as its environment says.
    fn of_environment() -> Self {
        match env::var_os(BY_PYTHON) {
            Some(_) => Self::Python(Python::start()),
            None => Self::Sqlite(SecondCopy::load()),
        }
    }

    /// Opens the file, counts records, and closes it. It may be busy while another process recovers or
    /// closes the log.
    fn read(&self, path: &Path) {
        match self {
            Self::Sqlite(copy) => {
                let code = copy.run(path, "SELECT count(*) FROM record");
                assert!([0, 5, 26].contains(&code), "code {code}");
            }
            Self::Python(python) => {
                let program = format!(
                    "import sqlite3\n\
                     path = {:?}\n\
                     db = sqlite3.connect(path, timeout=0)\n\
                     try:\n    db.execute('SELECT count(*) FROM record').fetchone()\n\
                     except sqlite3.OperationalError as error:\n    \
                     assert error.sqlite_errorname.startswith('SQLITE_BUSY'), error\n\
                     db.close()\n\
                     with open(path, 'rb') as file:\n    file.read(16)\n",
                    path.to_str().unwrap()
                );
                assert_eq!(python.run(&program), 0);
            }
        }
    }
}

impl SecondCopy {
    fn load() -> Self {
        let symbol = load(c"libsqlite3.so.0", "sqlite3");
        // SAFETY: the three functions have these types (sqlite3.h).
        unsafe {
            Self {
                open: std::mem::transmute::<*mut c_void, OpenFn>(symbol(c"sqlite3_open")),
                exec: std::mem::transmute::<*mut c_void, ExecFn>(symbol(c"sqlite3_exec")),
                close: std::mem::transmute::<*mut c_void, CloseFn>(symbol(c"sqlite3_close")),
            }
        }
    }

    /// Opens the file, runs a statement, and closes the file. Returns SQLite's code.
    fn run(&self, path: &Path, sql: &str) -> c_int {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        let sql = CString::new(sql).unwrap();
        let mut db = ptr::null_mut();
        // SAFETY: C strings, a place for the handle; the handle is used by this thread only, and
        // closed whatever happened.
        unsafe {
            let mut code = (self.open)(path.as_ptr(), &raw mut db);
            if code == 0 {
                code = (self.exec)(
                    db,
                    sql.as_ptr(),
                    ptr::null(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                );
            }
            (self.close)(db);
            code
        }
    }
}

fn card(uid: &str) -> Card {
    Card::parse(format!("BEGIN:VCARD\nUID:{uid}\nFN:{uid}\nEND:VCARD\n")).unwrap()
}

fn check_all_saved(path: &Path, uids: &[String]) {
    let store = Store::open(path).unwrap();
    let found = store.contacts().unwrap().get_many(uids).unwrap();
    let missing = found.iter().filter(|contact| contact.is_none()).count();
    assert_eq!(missing, 0, "of {}", uids.len());
    assert!(store.check().unwrap().is_clean());
}

/// The second copy opens, reads and closes the store; without a guard it would take itself for the last,
/// and delete the log under the open store.
#[test]
fn a_second_copy_deletes_nothing() {
    // The second copy stays in the process, and its names are those of all.
    if !in_own_process(a_second_copy_deletes_nothing) {
        return;
    }
    let reader = Reader::of_environment();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.etui");
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    let mut saved = Vec::new();
    for round in 0..20 {
        let uid = format!("u{round}");
        contacts.save(&card(&uid)).unwrap();
        saved.push(uid);
        reader.read(&path);
        assert!(dir.path().join("s.etui-wal").exists(), "{round}");
    }
    // The files as a killed process would leave them.
    let left = dir.path().join("left.etui");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(name(&path), name(&left)).unwrap();
    }
    check_all_saved(&left, &saved);
    drop(contacts);
    store.close().unwrap();
    check_all_saved(&path, &saved);
}

/// The same with Python's module `sqlite3`.
#[test]
fn python_in_the_process_deletes_nothing() {
    // Python stays in the process, too, and asks the environment for its modules.
    let test = ProgramOfTest::new(a_second_copy_deletes_nothing)
        .command()
        .unwrap()
        .env(BY_PYTHON, "1")
        .env("PYTHONHOME", "/usr")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&test.stdout);
    assert!(
        test.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&test.stderr)
    );
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "a process that the next test starts and kills"]
fn save_beside_a_second_copy() {
    let Some(path) = env::var_os(STORE) else {
        return;
    };
    let path = Path::new(&path);
    let store = Store::open(path).unwrap();
    let name = std::process::id();
    thread::scope(|scope| {
        scope.spawn(|| {
            let reader = Reader::of_environment();
            loop {
                reader.read(path);
                thread::sleep(Duration::from_millis(u64::from(name % 20)));
            }
        });
        for thread in 0..2 {
            let store = &store;
            scope.spawn(move || {
                let contacts = store.contacts().unwrap();
                for number in 0.. {
                    let uid = format!("{name}-{thread}-{number}");
                    match contacts.save(&card(&uid)) {
                        Ok(_) => println!("saved {uid}"),
                        Err(Error::Busy { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    });
}

/// Two processes save, by threads, each beside a second copy of SQLite, one of them Python's, that reads the
/// file again and again, and a third process looks, until all are killed.
#[test]
fn processes_beside_a_second_copy_lose_no_saves() {
    // It starts many processes.
    if !in_own_process(processes_beside_a_second_copy_lose_no_saves) {
        return;
    }
    let (rounds, length) = match env::var_os("ETUI_TEST_LONG") {
        // As a number above 1: the seconds of a round.
        Some(long) => {
            let seconds = long.to_str().and_then(|long| long.parse().ok());
            (100, Duration::from_secs(seconds.unwrap_or(0).max(3)))
        }
        None => (4, Duration::from_secs(1)),
    };
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.etui");
        Store::open(&path).unwrap().close().unwrap();
        let start = |by_python: bool| {
            let mut command = ProgramOfTest::new(save_beside_a_second_copy)
                .command()
                .unwrap();
            if by_python {
                command.env(BY_PYTHON, "1").env("PYTHONHOME", "/usr");
            }
            command
                .env(STORE, &path)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut children = [start(round % 3 == 0), start(true)];
        let (begun, mut records) = (Instant::now(), 0);
        // On a slow machine, until some are saved.
        while begun.elapsed() < length || records < 30 {
            assert!(begun.elapsed() < length + PATIENCE, "{records} saves");
            let shell = Command::new("sqlite3")
                .arg("-cmd")
                .arg(".timeout 60000")
                .arg(&path)
                .arg("SELECT count(*) FROM record")
                .output()
                .unwrap();
            assert!(shell.status.success(), "{shell:?}");
            let said = String::from_utf8_lossy(&shell.stdout);
            records = said.trim().parse::<usize>().unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        for child in &mut children {
            assert!(
                child.try_wait().unwrap().is_none(),
                "round {round}: it ended"
            );
            child.kill().unwrap();
        }
        let mut saved = Vec::new();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            // The last line may be cut.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let lines = whole.lines().filter_map(|line| line.strip_prefix("saved "));
            saved.extend(lines.map(str::to_owned));
        }
        assert!(saved.len() > 10, "round {round}: {}", saved.len());
        check_all_saved(&path, &saved);
    }
}
