//! [`Maintenance::populate`]: the working set in memory.

use super::Maintenance;
use crate::error::Result;

/// The B-trees of the first screens, searches and views, then the records. Counting the rows of a
/// B-tree reads all of its pages, except those that a large value overflows to.
const WORKING_SET: [&str; 6] = [
    "list_block NOT INDEXED",
    "list_block INDEXED BY list_order",
    "term_posting",
    "trigram_posting",
    "record INDEXED BY record_uid",
    "record NOT INDEXED",
];

impl Maintenance<'_> {
    /// Reads the lists, the search index and the records into the page cache, which all programs
    /// share, so that the next searches and scrolls do not wait for the device. Large values, such
    /// as photos within cards, stay where they are.
    ///
    /// It takes as long as reading the file, which is that of a million contacts in the worst case:
    /// call it after the first screen is shown, from a thread of its own. The system takes the
    /// memory back when it needs it.
    ///
    /// ```
    /// # use etui::{Store, contacts::Paging};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// let screen = store.contacts()?.list(Paging::first(50))?;
    /// std::thread::scope(|scope| scope.spawn(|| store.maintenance().populate()).join().expect("no panic"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any read error.
    pub fn populate(&self) -> Result<()> {
        self.0.db.read(|conn| {
            for tree in WORKING_SET {
                let count = format!("SELECT count(*) FROM {tree}");
                conn.query_row(&count, [], |_| Ok(()))?;
            }
            Ok(())
        })
    }
}
