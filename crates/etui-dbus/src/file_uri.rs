//! [`file_uri`]: paths as URIs, which D-Bus can carry whatever their bytes are.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the `file://` URI of an absolute path: bytes other than those of RFC 3986 section 2.3, and
/// `/`, are percent-encoded.
pub(crate) fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            // Writing to a text does not fail.
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri
}
