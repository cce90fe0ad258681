//! Names of users: those of the stores in a directory.

use std::path::{Path, PathBuf};

use crate::error::ServeError;

/// The file name extension of stores in a directory.
const EXTENSION: &str = "etui";

/// Returns the path of a user's store in a directory.
pub fn store_in(directory: &Path, user: &str) -> PathBuf {
    directory.join(format!("{user}.{EXTENSION}"))
}

/// Returns the name of the user of a store: that of the file, without `.etui`.
///
/// ```
/// # use std::path::Path;
/// assert_eq!(etui_serve::user_name_of(Path::new("stores/personal.etui")), "personal");
/// assert_eq!(etui_serve::user_name_of(Path::new("a b.etui")), "me");
/// ```
pub fn user_name_of(store: &Path) -> String {
    let name = store.file_stem().and_then(|name| name.to_str());
    name.filter(|name| is_user_name(name))
        .unwrap_or("me")
        .to_owned()
}

/// Returns true if a user can have this name, which is a part of URLs and of a file's name.
pub fn is_user_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=100).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// Returns the users of a directory, and the names of stores that cannot be those of users.
pub fn read_users(directory: &Path) -> Result<(Vec<String>, Vec<String>), ServeError> {
    let about = |source| ServeError::Directory {
        path: directory.to_owned(),
        source,
    };
    let (mut users, mut others) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(directory).map_err(about)? {
        let path = entry.map_err(about)?.path();
        if path
            .extension()
            .is_none_or(|extension| extension != EXTENSION)
            || !path.is_file()
        {
            continue;
        }
        match path.file_stem().and_then(|name| name.to_str()) {
            Some(name) if is_user_name(name) => users.push(name.to_owned()),
            _ => others.push(path.display().to_string()),
        }
    }
    users.sort();
    others.sort();
    Ok((users, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_are_plain() {
        for good in ["ada", "Ada.Lovelace", "a-1_b"] {
            assert!(is_user_name(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            ".ada",
            "a/b",
            "a\0",
            "a b",
            "jürgen",
            "a%2fb",
            &"x".repeat(101),
        ] {
            assert!(!is_user_name(bad), "{bad}");
        }
    }
}
