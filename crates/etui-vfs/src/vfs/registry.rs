//! [`Registry`]: the databases that are open in this process.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::database::Database;
use super::{Options, Shared};
use crate::device::Access;

/// What tells a database from others, whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    File(u64, u64),
    Path(PathBuf),
}

#[derive(Debug)]
struct Entry {
    database: Arc<Database>,
    connections: usize,
}

#[derive(Debug, Default)]
struct Open {
    databases: HashMap<Key, Entry>,
    names: HashMap<PathBuf, Key>,
    /// Databases that were closed with a log of which a flush had failed, and from where on.
    doubtful: HashMap<Key, u64>,
}

impl Open {
    /// Forgets, in a child, what its parent had open: nothing of it is closed here.
    fn forget_parents(&mut self) {
        for (_, entry) in self
            .databases
            .extract_if(|_, entry| !entry.database.is_ours())
        {
            std::mem::forget(entry.database);
        }
    }
}

/// The open databases of one VFS.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<Open>);

impl Registry {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection to a database, which is opened if it is the first.
    pub fn join(
        &self,
        shared: &'static Shared,
        path: &Path,
        access: Access,
        options: Options,
    ) -> io::Result<(Key, Arc<Database>)> {
        let mut open = self.open();
        open.forget_parents();
        let known = |open: &Open| -> Option<Key> {
            let key = match shared.platform.identity(path).ok()? {
                Some((device, number)) => Key::File(device, number),
                None => Key::Path(path.to_owned()),
            };
            open.databases.contains_key(&key).then_some(key)
        };
        let key = match known(&open) {
            Some(key) => key,
            None => {
                let database = Arc::new(Database::open(shared, path, access, options)?);
                // It may be there only now.
                let key = match shared.platform.identity(path)? {
                    Some((device, number)) => Key::File(device, number),
                    None => Key::Path(path.to_owned()),
                };
                database.session().doubtful = open.doubtful.remove(&key);
                let entry = Entry {
                    database,
                    connections: 0,
                };
                open.databases.insert(key.clone(), entry);
                key
            }
        };
        open.names.insert(path.to_owned(), key.clone());
        match open.databases.get_mut(&key) {
            Some(entry) => {
                entry.connections += 1;
                Ok((key, Arc::clone(&entry.database)))
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Takes a connection away; the last one shuts the database. Whoever opens it meanwhile
    /// waits.
    pub fn leave(&self, key: &Key) {
        let mut open = self.open();
        open.forget_parents();
        let Some(entry) = open.databases.get_mut(key) else {
            return;
        };
        entry.connections -= 1;
        if entry.connections == 0
            && let Some(entry) = open.databases.remove(key)
        {
            open.names.retain(|_, named| named != key);
            if let Some(from) = entry.database.shut() {
                open.doubtful.insert(key.clone(), from);
            }
        }
    }

    /// All that this process has open.
    pub fn all(&self) -> Vec<Arc<Database>> {
        let open = self.open();
        let databases = open
            .databases
            .values()
            .map(|entry| Arc::clone(&entry.database));
        databases.filter(|database| database.is_ours()).collect()
    }

    /// Whether several open databases had this name, one after the other was deleted.
    pub fn is_ambiguous(&self, path: &Path) -> bool {
        let open = self.open();
        let databases = open.databases.values().map(|entry| &entry.database);
        databases.filter(|database| database.path() == path).count() > 1
    }

    /// The open database of this name.
    pub fn find(&self, path: &Path) -> Option<Arc<Database>> {
        let open = self.open();
        let entry = open.databases.get(open.names.get(path)?)?;
        let database = &entry.database;
        database.is_ours().then(|| Arc::clone(database))
    }
}
