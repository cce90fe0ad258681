//! Letters: the index of the list of names.

use super::{Card, Reader};
use crate::error::Result;
use crate::record::ReadState;
use crate::record::list;

/// A letter under which names are found in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The letter, e.g. `A`.
    pub label: String,
    /// The position of the first name under it, or of the next letter's if there is none.
    pub position: u64,
}

impl Reader {
    /// Where in the list the names of each letter begin, in the locale's order of letters.
    /// Names before the first letter (digits, no name) and after the last (other scripts) are under
    /// no letter.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn letters(&self) -> Result<Vec<Letter>> {
        self.read_ordered(|r| r.letters())
    }
}

impl ReadState<'_, Card> {
    /// See [`Reader::letters`].
    pub(crate) fn letters(&self) -> Result<Vec<Letter>> {
        self.explain_errors(|| {
            let order = self.db.order();
            let begins = list::label_positions(self.conn, self.collection, order.label_bounds())?;
            let labels = order.index_labels().iter().cloned();
            Ok(labels
                .zip(begins)
                .map(|(label, position)| Letter { label, position })
                .collect())
        })
    }
}
