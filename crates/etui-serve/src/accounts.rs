//! [`Accounts`]: the stores that are served, and the devices that may use them. One store, or a directory with one
//! for each member of a family.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use etui::store::{Device, Options};
use etui::{Error, Store};

use crate::basic::Credentials;
use crate::error::ServeError;

/// The file name extension of stores in a directory.
const EXTENSION: &str = "etui";

/// The root of all URLs of CardDAV and CalDAV.
pub const DAV_ROOT: &str = "/dav/";

/// The stores that are served.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StoreSource {
    /// One store; made if there is none. A password alone identifies a device, and the user name of a request
    /// is not looked at.
    One(PathBuf),
    /// A directory: the store of the user `ada` is `ada.etui`. Files that come later are served too.
    Users(PathBuf),
}

/// The stores that are served, opened when they are first asked for.
pub struct Accounts {
    source: StoreSource,
    options: Options,
    max_open: usize,
    open: Mutex<HashMap<String, OpenStore>>,
}

struct OpenStore {
    store: Arc<Store>,
    used: Instant,
}

/// A device that has sent its password.
pub struct Login {
    /// The device.
    pub device: Device,
    /// The name of its owner.
    pub user: String,
    /// The URL of everything that it may see: `/dav/`, or `/dav/ada/`.
    pub root: String,
    /// The store.
    pub store: Arc<Store>,
}

impl Accounts {
    /// Opens the one store, or checks that the directory can be read.
    pub fn open(
        source: StoreSource,
        options: Options,
        max_open: usize,
    ) -> Result<Self, ServeError> {
        let mut options = options;
        // A request with the name of a user makes no store of that name.
        options.create &= matches!(source, StoreSource::One(_));
        let accounts = Self {
            source,
            options,
            max_open,
            open: Mutex::default(),
        };
        match &accounts.source {
            StoreSource::One(path) => {
                accounts.open_store(&user_name_of(path), path)?;
            }
            StoreSource::Users(directory) => {
                read_users(directory)?;
            }
        }
        Ok(accounts)
    }

    /// Returns the users of a directory, and the names of stores that cannot be those of users.
    pub fn users(&self) -> Result<(Vec<String>, Vec<String>), ServeError> {
        match &self.source {
            StoreSource::One(path) => Ok((vec![user_name_of(path)], Vec::new())),
            StoreSource::Users(directory) => read_users(directory),
        }
    }

    /// Returns the device with these credentials; `None` if there is none.
    ///
    /// # Errors
    /// Any error of opening or reading the store.
    pub fn log_in(&self, credentials: &Credentials) -> etui::Result<Option<Login>> {
        let (user, root, path) = match &self.source {
            StoreSource::One(path) => (user_name_of(path), DAV_ROOT.to_owned(), path.clone()),
            StoreSource::Users(directory) => {
                let user = &credentials.user;
                if !is_user_name(user) {
                    return Ok(None);
                }
                let path = directory.join(format!("{user}.{EXTENSION}"));
                (user.clone(), format!("{DAV_ROOT}{user}/"), path)
            }
        };
        let store = match self.open_store(&user, &path) {
            Err(Error::NoStore(_)) => return Ok(None),
            store => store?,
        };
        let device = store.find_device(&credentials.password)?;
        Ok(device.map(|device| Login {
            device,
            user,
            root,
            store,
        }))
    }

    /// Returns true if each user has a root of their own.
    pub fn has_users(&self) -> bool {
        matches!(self.source, StoreSource::Users(_))
    }

    fn open_store(&self, user: &str, path: &Path) -> etui::Result<Arc<Store>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(found) = open.get_mut(user) {
            found.used = now;
            return Ok(Arc::clone(&found.store));
        }
        let store = Arc::new(Store::open_with(path, &self.options)?);
        while open.len() >= self.max_open.max(1) {
            let idle = open.iter();
            let idle = idle.filter(|(_, open)| Arc::strong_count(&open.store) == 1);
            let oldest = idle.min_by_key(|(_, open)| open.used);
            // With all in use there are more for a while.
            let Some(oldest) = oldest.map(|(user, _)| user.clone()) else {
                break;
            };
            open.remove(&oldest);
        }
        let opened = OpenStore {
            store: Arc::clone(&store),
            used: now,
        };
        open.insert(user.to_owned(), opened);
        Ok(store)
    }

    /// Gives memory back to the system. The next requests read again what they need.
    pub fn release_memory(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let stores: Vec<_> = open.values().map(|open| Arc::clone(&open.store)).collect();
        drop(open);
        stores.iter().for_each(|store| store.release_memory());
    }

    /// Closes the stores that no worker uses any more.
    ///
    /// # Errors
    /// The first error of a last checkpoint. Every answered write is durable all the same.
    pub fn close(&self) -> etui::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let stores = open
            .drain()
            .filter_map(|(_, open)| Arc::into_inner(open.store));
        let closed: Vec<_> = stores.map(Store::close).collect();
        closed.into_iter().collect()
    }
}

/// Returns the name of the user of a store: that of the file, without `.etui`.
///
/// ```
/// # use std::path::Path;
/// assert_eq!(etui_serve::user_name_of(Path::new("/home/ada/personal.etui")), "personal");
/// assert_eq!(etui_serve::user_name_of(Path::new("a b.etui")), "me");
/// ```
pub fn user_name_of(store: &Path) -> String {
    let name = store.file_stem().and_then(|name| name.to_str());
    name.filter(|name| is_user_name(name))
        .unwrap_or("me")
        .to_owned()
}

/// Returns true if a user can have this name, which is a part of URLs and of a file's name.
fn is_user_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=100).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// Returns the users of a directory, and the names of stores that cannot be those of users.
fn read_users(directory: &Path) -> Result<(Vec<String>, Vec<String>), ServeError> {
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
