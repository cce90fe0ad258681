//! File URIs, escaped as GLib escapes them: the desktop's thumbnails are named by their hash.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

/// Bytes that `g_filename_to_uri` escapes.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b'=')
    .remove(b'@');

/// Returns the URI of an absolute path, `file:///home/ada/a%20song.mp3`.
pub fn file_uri(path: &Path) -> String {
    format!("file://{}", escape_path(path))
}

/// Returns a path as a part of a URI.
pub(crate) fn escape_path(path: &Path) -> String {
    percent_encode(path.as_os_str().as_bytes(), ESCAPED).to_string()
}

/// Returns the scheme of a URI: letters, digits, `+`, `-`, `.` and a colon. One letter is a drive.
pub(crate) fn scheme_of(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|&b| b == b':')?;
    let scheme = text.get(..end)?;
    let is_scheme = scheme.len() > 1
        && scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b));
    is_scheme.then_some(scheme)
}

/// Returns the path of a `file:` URI, with the name of another host in front as `//host/share`;
/// `None` if it is none.
pub(crate) fn path_of_uri(uri: &[u8]) -> Option<Vec<u8>> {
    let is_file = scheme_of(uri)?.eq_ignore_ascii_case(b"file");
    let rest = uri.get(b"file:".len()..).filter(|_| is_file)?;
    let path = match rest.strip_prefix(b"//") {
        // file://localhost/x, file:///x
        Some(after) => {
            let at = after.iter().position(|&b| b == b'/').unwrap_or(after.len());
            let (host, path) = after.split_at(at);
            match host.is_empty() || host.eq_ignore_ascii_case(b"localhost") {
                true => path,
                // A drive instead of a host, as some players of Windows write.
                false if host.get(1) == Some(&b':') => after,
                false => rest,
            }
        }
        None => rest,
    };
    Some(percent_decode(path).collect())
}

/// Returns bytes with their percent escapes resolved.
pub(crate) fn unescape(bytes: &[u8]) -> Vec<u8> {
    percent_decode(bytes).collect()
}

/// Returns the path of bytes.
pub(crate) fn path_of_bytes(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_as_the_desktop_does() {
        // The output of `gio info` of GLib 2.74 for this name.
        let name = "/a !\"#$%&'()*+,-.09:;<=>?@AZ[\\]^_`az{|}~é";
        assert_eq!(
            file_uri(Path::new(name)),
            "file:///a%20!%22%23$%25&'()*+,-.09:%3B%3C=%3E%3F@AZ%5B%5C%5D%5E_%60az%7B%7C%7D~%C3%A9"
        );
    }

    #[test]
    fn file_uris_are_paths() {
        let path = |uri: &str| path_of_uri(uri.as_bytes()).map(|p| String::from_utf8(p).unwrap());
        for (uri, expected) in [
            ("file:///a%20b.mp3", Some("/a b.mp3")),
            ("FILE://localhost/a#1.mp3", Some("/a#1.mp3")),
            ("file:/a.mp3", Some("/a.mp3")),
            ("file:///C:/Music/a.mp3", Some("/C:/Music/a.mp3")),
            ("file://C:/Music/a.mp3", Some("C:/Music/a.mp3")),
            ("file://nas/share/a.mp3", Some("//nas/share/a.mp3")),
            ("http://a/b.mp3", None),
            ("C:/a.mp3", None),
            ("a: b.mp3", None),
        ] {
            assert_eq!(path(uri).as_deref(), expected, "{uri}");
        }
    }
}
