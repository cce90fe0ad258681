//! [`DatabaseRegistry`]: the databases that this process has open.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::database::Database;
use super::{Options, VfsState};
use crate::device::Access;

/// The identity of a database under any of its names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum DatabaseKey {
    File(u64, u64),
    Path(PathBuf),
}

impl DatabaseKey {
    fn of(shared: &VfsState, path: &Path) -> io::Result<Self> {
        Ok(match shared.platform.file_identity(path)? {
            Some((device, number)) => Self::File(device, number),
            None => Self::Path(path.to_owned()),
        })
    }

    /// Checks, after a file was opened by its path, that it is this database's (rule 34).
    pub fn check(&self, shared: &VfsState, path: &Path) -> io::Result<()> {
        match Self::of(shared, path)? == *self {
            true => Ok(()),
            false => Err(io::Error::other("it was renamed while it was opened")),
        }
    }
}

#[derive(Debug)]
struct Entry {
    database: Arc<Database>,
    connections: usize,
}

#[derive(Debug, Default)]
struct OpenDatabases {
    databases: HashMap<DatabaseKey, Entry>,
    names: HashMap<PathBuf, DatabaseKey>,
    /// Databases closed after a failed flush of the log, with the offset from which it is in doubt.
    doubtful: HashMap<DatabaseKey, u64>,
}

impl OpenDatabases {
    /// Discards, in a child, the parent's databases without closing them.
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
pub(super) struct DatabaseRegistry(Mutex<OpenDatabases>);

impl DatabaseRegistry {
    fn open(&self) -> MutexGuard<'_, OpenDatabases> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection to a database. The first one opens it.
    pub fn join(
        &self,
        shared: &'static VfsState,
        path: &Path,
        access: Access,
        options: Options,
    ) -> io::Result<(DatabaseKey, Arc<Database>)> {
        let mut open = self.open();
        open.forget_parents();
        let known = |open: &OpenDatabases| -> Option<DatabaseKey> {
            let key = DatabaseKey::of(shared, path).ok()?;
            open.databases.contains_key(&key).then_some(key)
        };
        let key = match known(&open) {
            Some(key) => key,
            None => {
                let database = Arc::new(Database::open(shared, path, access, options)?);
                // The file may exist only now.
                let key = DatabaseKey::of(shared, path)?;
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

    /// Removes a connection. The last one closes the database; an open in the meantime waits.
    pub fn leave(&self, key: &DatabaseKey) {
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
            if let Some(from) = entry.database.close_last() {
                open.doubtful.insert(key.clone(), from);
            }
        }
    }

    /// Returns all databases that this process has open.
    pub fn all(&self) -> Vec<Arc<Database>> {
        let open = self.open();
        let databases = open
            .databases
            .values()
            .map(|entry| Arc::clone(&entry.database));
        databases.filter(|database| database.is_ours()).collect()
    }

    /// Returns true if several open databases have had this name, each deleted before the next.
    pub fn is_ambiguous(&self, path: &Path) -> bool {
        let open = self.open();
        let databases = open.databases.values().map(|entry| &entry.database);
        databases.filter(|database| database.path() == path).count() > 1
    }

    /// Returns the open database with this name.
    pub fn find(&self, path: &Path) -> Option<Arc<Database>> {
        let open = self.open();
        let entry = open.databases.get(open.names.get(path)?)?;
        let database = &entry.database;
        database.is_ours().then(|| Arc::clone(database))
    }
}
