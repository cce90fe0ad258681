//! Connections: opened by the program's SQLite, then traced by its own `sqlite3_trace_v2`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::libc::{self, KeepErrno, PATH_MAX};
use crate::next::{find_beside, find_sqlite_function};
use crate::record::{Word, record};
use crate::settings::DATABASE;

const SQLITE_OK: c_int = 0;
const SQLITE_ERROR: c_int = 1;
const TRACE_STATEMENT: c_uint = 1;
const TRACE_PROFILE: c_uint = 2;
const TRACE_CLOSE: c_uint = 8;
/// `SQLITE_STMTSTATUS_FULLSCAN_STEP`, `_SORT`, `_VM_STEP`.
const STATUSES: [c_int; 3] = [1, 2, 4];

/// A connection or a statement.
type Handle = *mut c_void;
type Callback = unsafe extern "C" fn(c_uint, *mut c_void, *mut c_void, *mut c_void) -> c_int;

/// The functions of one SQLite in the program, as sqlite3.h declares them.
struct Sqlite {
    open: *mut c_void,
    trace_v2: unsafe extern "C" fn(Handle, c_uint, Callback, *mut c_void) -> c_int,
    db_filename: unsafe extern "C" fn(Handle, *const c_char) -> *const c_char,
    db_handle: unsafe extern "C" fn(Handle) -> Handle,
    get_autocommit: unsafe extern "C" fn(Handle) -> c_int,
    sql: unsafe extern "C" fn(Handle) -> *const c_char,
    expanded_sql: unsafe extern "C" fn(Handle) -> *mut c_char,
    free: unsafe extern "C" fn(*mut c_void),
    stmt_readonly: unsafe extern "C" fn(Handle) -> c_int,
    stmt_status: unsafe extern "C" fn(Handle, c_int, c_int) -> c_int,
    libversion: unsafe extern "C" fn() -> *const c_char,
    compileoption_get: Option<unsafe extern "C" fn(c_int) -> *const c_char>,
}

/// Returns a function of the library that has `open`.
///
/// # Safety
///
/// `F` is the type of the function with this name.
unsafe fn function<F: Copy>(open: *mut c_void, name: &CStr) -> Option<F> {
    let address = find_beside(open, name);
    if address.is_null() || size_of::<F>() != size_of::<*mut c_void>() {
        return None;
    }
    // SAFETY: the sizes are equal, and the caller promises the type.
    Some(unsafe { std::mem::transmute_copy(&address) })
}

impl Sqlite {
    /// Returns the SQLite that has this `sqlite3_open_v2` or another `open`; None if it is too old
    /// to be traced.
    fn find(open: *mut c_void) -> Option<Self> {
        // SAFETY: the types are those of sqlite3.h.
        unsafe {
            Some(Self {
                open,
                trace_v2: function(open, c"sqlite3_trace_v2")?,
                db_filename: function(open, c"sqlite3_db_filename")?,
                db_handle: function(open, c"sqlite3_db_handle")?,
                get_autocommit: function(open, c"sqlite3_get_autocommit")?,
                sql: function(open, c"sqlite3_sql")?,
                expanded_sql: function(open, c"sqlite3_expanded_sql")?,
                free: function(open, c"sqlite3_free")?,
                stmt_readonly: function(open, c"sqlite3_stmt_readonly")?,
                stmt_status: function(open, c"sqlite3_stmt_status")?,
                libversion: function(open, c"sqlite3_libversion")?,
                compileoption_get: function(open, c"sqlite3_compileoption_get"),
            })
        }
    }
}

/// The SQLite libraries of the program. Never freed: connections refer to them.
static LIBRARIES: [AtomicPtr<Sqlite>; 12] = [const { AtomicPtr::new(ptr::null_mut()) }; 12];

/// Returns the functions of the SQLite that has this `open`.
fn library_of(open: *mut c_void) -> Option<&'static Sqlite> {
    for place in &LIBRARIES {
        let known = place.load(Ordering::Acquire);
        if known.is_null() {
            let made = Box::into_raw(Box::new(Sqlite::find(open)?));
            let placed =
                place.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
            match placed {
                // SAFETY: it was just leaked.
                Ok(_) => return Some(unsafe { &*made }),
                // SAFETY: nobody else has seen `made`; another thread was first, and its library
                // is looked at.
                Err(first) => unsafe {
                    drop(Box::from_raw(made));
                    if (*first).open == open {
                        return Some(&*first);
                    }
                },
            }
            continue;
        }
        // SAFETY: a library that is in its place is never freed.
        let known = unsafe { &*known };
        if known.open == open {
            return Some(known);
        }
    }
    None
}

/// Traces a connection that was opened, if its database is the one observed.
///
/// # Safety
///
/// `connection` points to the connection that `open` of this SQLite returned with success.
unsafe fn opened(open: *mut c_void, connection: *mut Handle) {
    if DATABASE.get().is_empty() || connection.is_null() {
        return;
    }
    let _errno = KeepErrno::new();
    // SAFETY: as the caller promises.
    let connection = unsafe { *connection };
    let Some(library) = library_of(open) else {
        record(b'n', &[Word::Address(connection)], None);
        return;
    };
    let mut resolved = [0_u8; PATH_MAX];
    // SAFETY: the connection is open, and the buffer has the size that realpath asks for.
    let path = unsafe {
        let name = (library.db_filename)(connection, c"main".as_ptr());
        if name.is_null() || libc::realpath(name, resolved.as_mut_ptr().cast()).is_null() {
            return;
        }
        let len = libc::strlen(resolved.as_ptr().cast());
        resolved.get(..len).unwrap_or_default()
    };
    if path != DATABASE.get() {
        return;
    }
    introduce_sqlite(library);
    record(b'o', &[Word::Address(connection)], Some(path));
    let events = TRACE_STATEMENT | TRACE_PROFILE | TRACE_CLOSE;
    let context = ptr::from_ref(library).cast_mut().cast();
    // SAFETY: the connection is open; the callback and the library remain.
    let code = unsafe { (library.trace_v2)(connection, events, traced, context) };
    if code != SQLITE_OK {
        record(b'n', &[Word::Address(connection)], None);
    }
}

/// Records version and compile options, which contain the defaults of settings, once.
fn introduce_sqlite(library: &Sqlite) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: a C string that remains.
    let version = unsafe { CStr::from_ptr((library.libversion)()) };
    record(b'v', &[], Some(version.to_bytes()));
    let Some(option) = library.compileoption_get else {
        return;
    };
    for n in 0..256 {
        // SAFETY: any number may be asked for; there is none after the last.
        let text = unsafe { option(n) };
        if text.is_null() {
            break;
        }
        // SAFETY: a C string that remains.
        let text = unsafe { CStr::from_ptr(text) }.to_bytes();
        if text.starts_with(b"DEFAULT_") {
            record(b'v', &[], Some(text));
        }
    }
}

/// SQLite's trace callback.
///
/// # Safety
///
/// SQLite calls it as documented for the events that were asked for; `context` is a [`Sqlite`].
unsafe extern "C" fn traced(
    event: c_uint,
    context: *mut c_void,
    subject: *mut c_void,
    detail: *mut c_void,
) -> c_int {
    let _errno = KeepErrno::new();
    // SAFETY: `opened` passed a library that is never freed.
    let library = unsafe { &*context.cast::<Sqlite>() };
    match event {
        // SAFETY: as SQLite promises for this event.
        TRACE_STATEMENT => unsafe { statement_begins(library, subject, detail.cast()) },
        // SAFETY: as SQLite promises for this event.
        TRACE_PROFILE => unsafe { statement_ends(library, subject, detail.cast()) },
        TRACE_CLOSE => record(b'c', &[Word::Address(subject)], None),
        _ => {}
    }
    0
}

/// # Safety
///
/// `statement` is a statement that begins, `sql` its text or a comment about a trigger.
unsafe fn statement_begins(library: &Sqlite, statement: Handle, sql: *const c_char) {
    if sql.is_null() {
        return;
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(sql) }.to_bytes();
    // A comment in place of the text: a trigger, or a statement within another one, to which its
    // work belongs.
    // SAFETY: the statement is live; its text is a C string.
    let is_own = unsafe {
        let own = (library.sql)(statement);
        !own.is_null() && CStr::from_ptr(own).to_bytes() == text
    };
    if !is_own {
        return;
    }
    // SAFETY: the statement is live.
    let (connection, expanded) = unsafe {
        (
            (library.db_handle)(statement),
            (library.expanded_sql)(statement),
        )
    };
    let words = |is_expanded: u64| {
        [
            Word::Address(connection),
            Word::Address(statement),
            Word::Number(is_expanded),
        ]
    };
    if expanded.is_null() {
        record(b's', &words(0), Some(text));
        return;
    }
    // SAFETY: a C string of SQLite's, which is freed once, here.
    unsafe {
        record(b's', &words(1), Some(CStr::from_ptr(expanded).to_bytes()));
        (library.free)(expanded.cast());
    }
}

/// # Safety
///
/// `statement` is a statement that ends, `nanoseconds` points to its time.
unsafe fn statement_ends(library: &Sqlite, statement: Handle, nanoseconds: *const i64) {
    // SAFETY: the statement is live. The counters are read, not reset.
    unsafe {
        let connection = (library.db_handle)(statement);
        let status = |which| {
            (library.stmt_status)(statement, which, 0)
                .unsigned_abs()
                .into()
        };
        let words = [
            Word::Address(connection),
            Word::Address(statement),
            Word::Number(nanoseconds.read().unsigned_abs()),
            Word::Number((library.stmt_readonly)(statement) as u64),
            Word::Number((library.get_autocommit)(connection) as u64),
            Word::Number(status(STATUSES[0])),
            Word::Number(status(STATUSES[1])),
            Word::Number(status(STATUSES[2])),
        ];
        record(b'e', &words, None);
    }
}

/// Defines a function by which SQLite opens a connection.
macro_rules! open_function {
    ($name:ident($($argument:ident: $kind:ty),*), $connection:ident) => {
        /// # Safety
        ///
        /// As for SQLite's function with this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            let next = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => find_sqlite_function(name),
                Err(_) => ptr::null_mut(),
            };
            if next.is_null() {
                return SQLITE_ERROR;
            }
            // SAFETY: SQLite's function of this name has this type.
            let function = unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> c_int>(next)
            };
            // SAFETY: the caller promises what that function asks for.
            let code = unsafe { function($($argument),*) };
            if code == SQLITE_OK {
                // SAFETY: it succeeded, so it has set the connection.
                unsafe { opened(next, $connection) };
            }
            code
        }
    };
}

open_function!(sqlite3_open(path: *const c_char, connection: *mut Handle), connection);
open_function!(sqlite3_open16(path: *const c_void, connection: *mut Handle), connection);
open_function!(sqlite3_open_v2(path: *const c_char, connection: *mut Handle, flags: c_int,
    vfs: *const c_char), connection);
