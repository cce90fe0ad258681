//! [`Maintenance`]: work on a whole store that a program may do in moments of rest, and its figures.

use crate::db::Memory;
use crate::error::Result;
use crate::search::index::IndexParts;
use crate::search::index::merge::merge_index;
use crate::store::Store;

/// Work on a whole store: its index, its memory, what it holds.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let store = etui::Store::open(dir.path().join("personal.etui"))?;
/// store.maintenance().merge_index()?; // after an import
/// store.maintenance().release_memory();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Maintenance<'s>(pub(super) &'s Store);

impl Store {
    /// Returns the maintenance of this store.
    pub fn maintenance(&self) -> Maintenance<'_> {
        Maintenance(self)
    }
}

impl Maintenance<'_> {
    /// Merges pending records into the search index; for idle moments, and after large imports.
    ///
    /// # Errors
    /// Any write error. Finished steps of the merge are kept.
    pub fn merge_index(&self) -> Result<()> {
        let merged = merge_index(&self.0.db, IndexParts::ALL);
        self.0.db.release_memory();
        merged
    }

    /// Gives memory back to the system: page caches, the map of the file, and what the allocator
    /// holds. For moments of rest: the next reads fill them again.
    pub fn release_memory(&self) {
        self.0.db.unmap_files();
        self.0.db.release_memory();
    }

    /// Returns the memory bound of the page caches: the budget, divided over the open
    /// connections.
    pub fn memory(&self) -> Memory {
        self.0.db.memory()
    }
}
