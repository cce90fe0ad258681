//! [`Accounts`]: the stores that are served, and the devices that may use them. One store, or a directory with one
//! for each member of a family.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use etui::store::{Device, Options};
use etui::{Error, Store};

use crate::basic::Credentials;
use crate::error::ServeError;
use crate::users::{is_user_name, read_users, store_in, user_name_of};

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
    users: Mutex<HashMap<String, Arc<UserStore>>>,
}

/// The store of a user.
#[derive(Default)]
struct UserStore {
    /// Locked while the store is opened; other users do not wait.
    opened: Mutex<Option<OpenStore>>,
    /// Held by the request that opens the store.
    opening: Arc<tokio::sync::Mutex<()>>,
}

impl UserStore {
    fn lock(&self) -> MutexGuard<'_, Option<OpenStore>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct OpenStore {
    /// `None` once its file was removed or replaced.
    store: Option<Arc<Store>>,
    /// The store of the former file, while a request uses it: until it is closed, the shared memory beside the
    /// file (STORE-shm) is of that.
    former: Weak<Store>,
    file: FileIdentity,
    used: Instant,
}

impl OpenStore {
    fn is_idle(&self) -> bool {
        self.store
            .as_ref()
            .is_some_and(|store| Arc::strong_count(store) == 1)
    }

    /// Closes the store, whose file is not at its path any more, unless a request still uses it.
    fn leave(&mut self) {
        if let Some(store) = self.store.take() {
            self.former = Arc::downgrade(&store);
        }
    }
}

/// Why nobody can log in.
#[derive(Debug, thiserror::Error)]
pub enum LogInError {
    #[error(transparent)]
    Store(#[from] Error),
    /// The store's file was replaced while its log was in use. To open it with that log would mix the two.
    #[error("{} was replaced while it was in use, and {} belongs to the former file", path.display(), log.display())]
    Replaced { path: PathBuf, log: PathBuf },
    /// The store's file was replaced, and a request that began before is not answered yet.
    #[error("{} was replaced, and a request still uses the former file", .0.display())]
    FormerInUse(PathBuf),
}

/// Device and inode of a file: another file of the same name has others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity(u64, u64);

impl FileIdentity {
    /// Returns that of the file at `path`; `None` if there is none.
    fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        file.is_file().then(|| Self(file.dev(), file.ino()))
    }
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
        write_wait: Duration,
    ) -> Result<Self, ServeError> {
        let mut options = options;
        // Workers do not wait long for other programs.
        options.busy_timeout = options.busy_timeout.min(write_wait);
        // A first sync reads the whole file, and several threads read at a time: their maps would be most of the
        // server's memory (the laboratory's `dav`, peak memory).
        options.memory_map = false;
        // A request with the name of a user makes no store of that name.
        options.create &= matches!(source, StoreSource::One(_));
        let mut accounts = Self {
            source,
            options,
            max_open,
            users: Mutex::default(),
        };
        match &accounts.source {
            StoreSource::One(path) => {
                accounts
                    .open_store(&user_name_of(path), path)
                    .map_err(|error| match error {
                        LogInError::Store(error) => error,
                        LogInError::Replaced { path, .. } | LogInError::FormerInUse(path) => {
                            Error::NoStore(path)
                        }
                    })?;
                // If its file goes away later, no empty one takes its place.
                accounts.options.create = false;
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

    /// Returns the user that credentials name, and the path of their store; `None` if there can be no such user.
    fn user_of(&self, credentials: &Credentials) -> Option<(String, PathBuf)> {
        match &self.source {
            StoreSource::One(path) => Some((user_name_of(path), path.clone())),
            StoreSource::Users(directory) => {
                let user = &credentials.user;
                let path = store_in(directory, user);
                is_user_name(user).then(|| (user.clone(), path))
            }
        }
    }

    /// Returns the turn to open the store of a user, whose holder may call [`Accounts::log_in`]; `None` if
    /// it is open or there is none, so that logging in takes microseconds.
    pub fn opening_turn(&self, credentials: &Credentials) -> Option<Arc<tokio::sync::Mutex<()>>> {
        let (user, path) = self.user_of(credentials)?;
        let file = FileIdentity::of(&path)?;
        let user = self.store_of(&user);
        let is_open = match user.opened.try_lock() {
            Ok(opened) => opened
                .as_ref()
                .is_some_and(|open| open.file == file && open.store.is_some()),
            // Locked for a moment by another log-in, or by the holder of the turn.
            Err(_) => user.opening.try_lock().is_ok(),
        };
        (!is_open).then(|| Arc::clone(&user.opening))
    }

    /// Returns the device with these credentials; `None` if there is none.
    ///
    /// # Errors
    /// Any error of opening or reading the store; [`LogInError::Replaced`].
    pub fn log_in(&self, credentials: &Credentials) -> Result<Option<Login>, LogInError> {
        let Some((user, path)) = self.user_of(credentials) else {
            return Ok(None);
        };
        let store = match self.open_store(&user, &path) {
            Err(LogInError::Store(Error::NoStore(_))) if self.has_users() => return Ok(None),
            store => store?,
        };
        let device = store.devices().find(&credentials.password)?;
        let root = match self.has_users() {
            true => format!("{DAV_ROOT}{user}/"),
            false => DAV_ROOT.to_owned(),
        };
        Ok(device.map(|device| Login {
            device,
            user,
            root,
            store,
        }))
    }

    /// Returns the owner of the one store; `None` if there are several.
    ///
    /// # Errors
    /// As [`Self::log_in`].
    pub fn log_in_owner(&self) -> Result<Option<Login>, LogInError> {
        let StoreSource::One(path) = &self.source else {
            return Ok(None);
        };
        let user = user_name_of(path);
        let store = self.open_store(&user, path)?;
        Ok(Some(Login {
            device: Device::of_owner(),
            user,
            root: DAV_ROOT.to_owned(),
            store,
        }))
    }

    /// Returns the store of a user of the directory.
    ///
    /// # Errors
    /// [`Error::NoStore`]: there is no such user; any error of opening it.
    pub fn store_of_user(&self, user: &str) -> Result<Arc<Store>, LogInError> {
        match &self.source {
            StoreSource::Users(directory) if is_user_name(user) => {
                self.open_store(user, &store_in(directory, user))
            }
            StoreSource::Users(directory) => Err(Error::NoStore(directory.clone()).into()),
            StoreSource::One(path) => Err(Error::NoStore(path.clone()).into()),
        }
    }

    /// Returns true if each user has a root of their own.
    pub fn has_users(&self) -> bool {
        matches!(self.source, StoreSource::Users(_))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<UserStore>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store_of(&self, user: &str) -> Arc<UserStore> {
        Arc::clone(self.lock().entry(user.to_owned()).or_default())
    }

    /// Returns the store of a user, which is opened if it is not open, or if its file was replaced.
    fn open_store(&self, user: &str, path: &Path) -> Result<Arc<Store>, LogInError> {
        let file = FileIdentity::of(path);
        if file.is_none() && !self.options.create {
            // Nothing is made for users that do not exist.
            let known = self.lock().get(user).cloned();
            if let Some(known) = known
                && let Some(open) = &mut *known.lock()
            {
                open.leave();
            }
            return Err(Error::NoStore(path.to_owned()).into());
        }
        let slot = self.store_of(user);
        let mut opened = slot.lock();
        let now = Instant::now();
        if let Some(open) = &mut *opened {
            if Some(open.file) != file {
                open.leave();
                if let Some(log) = find_log(path) {
                    let path = path.to_owned();
                    return Err(LogInError::Replaced { path, log });
                }
                if open.former.strong_count() > 0 {
                    return Err(LogInError::FormerInUse(path.to_owned()));
                }
            }
            if let Some(store) = &open.store {
                open.used = now;
                return Ok(Arc::clone(store));
            }
        }
        let store = Arc::new(Store::open_with(path, &self.options)?);
        let file = file.or_else(|| FileIdentity::of(path));
        *opened = file.map(|file| OpenStore {
            store: Some(Arc::clone(&store)),
            former: Weak::new(),
            file,
            used: now,
        });
        drop(opened);
        self.close_idle(user);
        Ok(store)
    }

    /// Closes the stores that were not used for longest, except that of `user`, while too many are open. With all
    /// in use there are more for a while.
    fn close_idle(&self, user: &str) {
        let mut idle = Vec::new();
        let mut count = 0usize;
        for (name, slot) in self.lock().iter() {
            // One that is locked is being opened.
            let Ok(opened) = slot.opened.try_lock() else {
                continue;
            };
            if let Some(open) = opened.as_ref().filter(|open| open.store.is_some()) {
                count += 1;
                if name != user && open.is_idle() {
                    idle.push((open.used, Arc::clone(slot)));
                }
            }
        }
        idle.sort_by_key(|(used, _)| *used);
        // The user of the request needs one store at least.
        let too_many = count.saturating_sub(self.max_open.max(1));
        for (_, slot) in idle.into_iter().take(too_many) {
            // Closed outside of the lock of all, unless it was used meanwhile.
            let mut opened = slot.lock();
            if opened.as_ref().is_some_and(OpenStore::is_idle) {
                *opened = None;
            }
        }
    }

    /// Gives memory back to the system. The next requests read again what they need.
    pub fn release_memory(&self) {
        let users: Vec<_> = self.lock().values().cloned().collect();
        for user in users {
            let store = user.lock().as_ref().and_then(|open| open.store.clone());
            if let Some(store) = store {
                store.maintenance().release_memory();
            }
        }
    }

    /// Closes the stores that no worker uses any more.
    ///
    /// # Errors
    /// The first error of a last checkpoint. Every answered write is durable all the same.
    pub fn close(&self) -> etui::Result<()> {
        let users: Vec<_> = self.lock().drain().collect();
        let stores = users.iter().filter_map(|(_, user)| user.lock().take());
        let stores = stores.filter_map(|open| Arc::into_inner(open.store?));
        let closed: Vec<_> = stores.map(Store::close).collect();
        closed.into_iter().collect()
    }
}

/// Returns the log of a database that has one with content: SQLite's WAL or journal, or etui's redo log.
fn find_log(path: &Path) -> Option<PathBuf> {
    let logs = ["-wal", "-journal", "-redo"].map(|suffix| {
        let mut log = path.as_os_str().to_owned();
        log.push(suffix);
        PathBuf::from(log)
    });
    let has_content = |log: &PathBuf| std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    logs.into_iter().find(has_content)
}
