//! [`FixedState`]: one state of the store, shared by its readers.

use std::sync::Arc;

use parking_lot::ReentrantMutex;
use rusqlite::Connection;

use super::Db;
use crate::error::{Error, Result};

/// A connection in a read transaction, which ends with the last reader.
pub(crate) struct FixedState {
    db: Arc<Db>,
    /// A visitor of records may read others on its thread. `None` only while it is dropped.
    connection: ReentrantMutex<Option<Connection>>,
}

impl FixedState {
    /// Begins the transaction with a connection of the pool.
    pub(crate) fn begin(db: &Arc<Db>) -> Result<Self> {
        let state = Self {
            db: Arc::clone(db),
            connection: ReentrantMutex::new(Some(db.take_connection()?)),
        };
        // A deferred transaction begins at its first read, which is this one.
        state.read(|conn| Ok(conn.execute_batch("BEGIN; SELECT 1 FROM meta LIMIT 1")?))?;
        Ok(state)
    }

    /// Returns the database.
    pub(crate) fn db(&self) -> &Arc<Db> {
        &self.db
    }

    /// Runs `work` in this state. Other threads wait.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.db.refuse_if_closed()?;
        let connection = self.connection.lock();
        let Some(conn) = &*connection else {
            return Err(Error::Closed(self.db.path().to_owned()));
        };
        work(conn).map_err(|e| self.db.explain(e))
    }
}

impl Drop for FixedState {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.get_mut().take() {
            self.db.return_connection(connection);
        }
    }
}
