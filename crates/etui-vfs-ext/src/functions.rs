//! The SQL functions.

use std::ffi::OsStr;
use std::os::raw::{c_char, c_int, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use libsqlite3_sys as ffi;
use vfs::Error;

type Context = *mut ffi::sqlite3_context;
type Values = *mut *mut ffi::sqlite3_value;
type Function = unsafe extern "C" fn(Context, c_int, Values);

/// The functions of SQLite that the SQL functions call.
struct Api {
    result_text: unsafe extern "C" fn(Context, *const c_char, c_int, ffi::sqlite3_destructor_type),
    result_error: unsafe extern "C" fn(Context, *const c_char, c_int),
    result_error_code: unsafe extern "C" fn(Context, c_int),
    value_text: unsafe extern "C" fn(*mut ffi::sqlite3_value) -> *const c_uchar,
    value_bytes: unsafe extern "C" fn(*mut ffi::sqlite3_value) -> c_int,
}

static API: OnceLock<Api> = OnceLock::new();

/// Defines the functions for a connection.
///
/// # Safety
///
/// `db` is a connection, and `routines` the table of a SQLite that is not too old.
pub unsafe fn define(
    db: *mut ffi::sqlite3,
    routines: *const ffi::sqlite3_api_routines,
) -> Result<(), Error> {
    macro_rules! take {
        ($name:ident) => {
            // SAFETY: the table has it, as the caller promises; no reference to the whole is
            // made, which may end earlier than in the newest version.
            unsafe { (&raw const (*routines).$name).read() }.ok_or_else(|| {
                let lacking = concat!("SQLite has no sqlite3_", stringify!($name));
                Error::Usage(lacking.to_owned())
            })?
        };
    }
    let create = take!(create_function_v2);
    let _ = API.set(Api {
        result_text: take!(result_text),
        result_error: take!(result_error),
        result_error_code: take!(result_error_code),
        value_text: take!(value_text),
        value_bytes: take!(value_bytes),
    });
    let functions: [(_, _, Function, _); 3] = [
        (c"etui_vfs_version", 0, version, ffi::SQLITE_INNOCUOUS),
        (c"etui_last_refusal", 0, last_refusal, 0),
        // It changes files: not callable from a view or trigger of an untrusted database.
        (c"etui_recover", 1, recover, ffi::SQLITE_DIRECTONLY),
    ];
    for (name, arguments, function, flags) in functions {
        let flags = ffi::SQLITE_UTF8 | flags;
        let none = ptr::null_mut();
        // SAFETY: `db` is a connection, the name a C string, and the function has the right signature.
        let code = unsafe {
            let name = name.as_ptr();
            create(
                db,
                name,
                arguments,
                flags,
                none,
                Some(function),
                None,
                None,
                None,
            )
        };
        if code != ffi::SQLITE_OK {
            return Err(Error::Sqlite {
                call: "sqlite3_create_function_v2",
                code,
                hint: "an SQL function could not be defined",
            });
        }
    }
    Ok(())
}

/// Returns a text to SQLite, or fails with one.
///
/// # Safety
///
/// `context` is that of the running function.
unsafe fn answer(context: Context, result: Result<&str, (c_int, &str)>) {
    let Some(api) = API.get() else { return };
    let (Ok(text) | Err((_, text))) = result;
    let (at, length) = (text.as_ptr().cast(), c_int::try_from(text.len()));
    let length = length.unwrap_or(c_int::MAX);
    // SAFETY: as the caller promises; SQLite copies the text.
    unsafe {
        match result {
            Ok(_) => (api.result_text)(context, at, length, ffi::SQLITE_TRANSIENT()),
            Err((code, _)) => {
                (api.result_error)(context, at, length);
                (api.result_error_code)(context, code);
            }
        }
    }
}

// SAFETY, for all functions below: SQLite calls them with a context and the number of values that they
// were defined with.

unsafe extern "C" fn version(context: Context, _: c_int, _: Values) {
    // SAFETY: see above.
    unsafe { answer(context, Ok(env!("CARGO_PKG_VERSION"))) };
}

/// Returns NULL if nothing was refused.
unsafe extern "C" fn last_refusal(context: Context, _: c_int, _: Values) {
    if let Some(refusal) = vfs::last_refusal() {
        // SAFETY: see above.
        unsafe { answer(context, Ok(&refusal)) };
    }
}

unsafe extern "C" fn recover(context: Context, _: c_int, values: Values) {
    let Some(api) = API.get() else { return };
    // SAFETY: see above: there is one value, whose text lives until the function returns.
    let path = unsafe {
        let text: *const c_void = (api.value_text)(*values).cast();
        let length = usize::try_from((api.value_bytes)(*values)).unwrap_or(0);
        (!text.is_null()).then(|| slice::from_raw_parts(text.cast::<u8>(), length))
    };
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        let what = "etui_recover takes the path of a database";
        // SAFETY: see above.
        return unsafe { answer(context, Err((ffi::SQLITE_MISUSE, what))) };
    };
    let path = Path::new(OsStr::from_bytes(path));
    let (code, text) = match vfs::recover(path) {
        Ok(done) => (
            ffi::SQLITE_OK,
            format!("{} transactions, {} pages", done.records, done.pages),
        ),
        // The reason names the file.
        Err(Error::Refused { code, reason }) => (code, reason),
        Err(error) => (ffi::SQLITE_ERROR, format!("{}: {error}", path.display())),
    };
    let result = match code {
        ffi::SQLITE_OK => Ok(text.as_str()),
        code => Err((code, text.as_str())),
    };
    // SAFETY: see above.
    unsafe { answer(context, result) };
}
