//! The paths that a location in a playlist can be.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::encoding::decode_western;
use crate::uri::{path_of_bytes, path_of_uri, scheme_of, unescape};

/// Returns true for the URL of something that is not a file, such as a radio station.
pub fn is_remote(location: &[u8]) -> bool {
    let location = location.trim_ascii();
    scheme_of(location).is_some_and(|scheme| {
        let rest = location.get(scheme.len() + 1..).unwrap_or_default();
        !scheme.eq_ignore_ascii_case(b"file") && rest.starts_with(b"//")
    })
}

/// Returns the absolute paths that a location can be, the likeliest first, without `.` and `..`.
///
/// `folder` is the absolute path of the playlist's folder. A relative location is in it. A location
/// with `\` is taken as it is, then as a path of Windows; one with `%41` as it is, then unescaped; one
/// that is not UTF-8 as it is, then as Windows-1252. Of
/// a path of Windows, `C:\Music\a.mp3`, the drive or server is left out: its end is of use.
pub fn local_paths(location: &[u8], folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut add = |bytes: &[u8]| {
        let western = decode_western(bytes);
        let is_text = std::str::from_utf8(bytes).is_ok();
        let others = (!is_text).then_some(western.as_bytes());
        for bytes in [bytes].into_iter().chain(others) {
            let path = join(folder, &path_of_bytes(without_drive(bytes).to_vec()));
            if !bytes.is_empty() && !paths.contains(&path) {
                paths.push(path);
            }
        }
    };
    let trimmed = location.trim_ascii();
    if is_remote(trimmed) {
        return paths;
    }
    if let Some(path) = path_of_uri(trimmed) {
        add(&path);
        add(&with_slashes(&path));
        return paths;
    }
    for bytes in [location, trimmed] {
        let unescaped = unescape(bytes);
        add(bytes);
        add(&unescaped);
        add(&with_slashes(bytes));
        add(&with_slashes(&unescaped));
    }
    paths
}

fn with_slashes(bytes: &[u8]) -> Vec<u8> {
    let slash = |&b: &u8| if b == b'\\' { b'/' } else { b };
    bytes.iter().map(slash).collect()
}

/// Returns a path without `C:` or `/C:`.
fn without_drive(path: &[u8]) -> &[u8] {
    match path {
        [b'/', letter, b':', rest @ ..] | [letter, b':', rest @ ..]
            if letter.is_ascii_alphabetic() && matches!(rest.first(), Some(b'/' | b'\\')) =>
        {
            rest
        }
        _ => path,
    }
}

/// Joins two paths and resolves `.` and `..` in the text of the path.
fn join(folder: &Path, path: &Path) -> PathBuf {
    let mut joined = PathBuf::from("/");
    for part in folder.join(path).components() {
        match part {
            Component::Normal(name) => joined.push(name),
            Component::ParentDir => {
                joined.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    joined
}

/// Returns the path of a location to be written: relative to `folder` if it is in it. `None`: it is
/// a URL.
pub(super) fn written_path<'p>(location: &'p [u8], folder: Option<&Path>) -> Option<&'p Path> {
    if scheme_of(location).is_some() {
        return None;
    }
    let path = Path::new(std::ffi::OsStr::from_bytes(location));
    let inside = folder.and_then(|folder| path.strip_prefix(folder).ok());
    Some(
        inside
            .filter(|path| !path.as_os_str().is_empty())
            .unwrap_or(path),
    )
}

/// Returns true for a relative path or URI whose first name has a colon: it is read as a scheme or
/// a drive unless `./` is before it.
pub(super) fn has_colon_first(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    first.contains(':')
}
