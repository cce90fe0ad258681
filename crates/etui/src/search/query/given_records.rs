//! Rows of given records: by UID or by id, in the caller's order.

use super::SearchableRecord;
use super::columns::{Columns, RowShape};
use super::row_sink::{push_row, select_list};
use super::rows::{RowBuffer, Rows};
use crate::error::Result;
use crate::record::{ReadState, Reader, RecordKey};

impl<R: SearchableRecord> Reader<R> {
    /// Returns the rows of the records with these UIDs or ids, in their order. A key without a record in this
    /// collection has no row; the UID column and [`Rows::ids`] show which have.
    ///
    /// ```
    /// # use etui::{Store, contacts::{Card, Column}};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// # let contacts = store.contacts()?;
    /// # contacts.save(&Card::parse("BEGIN:VCARD\nUID:ada\nFN:Ada Lovelace\nEND:VCARD\n")?)?;
    /// let rows = contacts.rows(["nobody", "ada"], Column::Uid | Column::Name)?;
    /// let shown: Vec<_> = rows.iter().map(|row| (row.get(Column::Uid), row.name())).collect();
    /// assert_eq!(shown, [("ada", "Ada Lovelace")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn rows<'k, K: Into<RecordKey<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        columns: impl Into<Columns<R::Column>>,
    ) -> Result<Rows<R::Column>> {
        let columns = columns.into();
        self.read(|r| r.rows(keys, columns))
    }
}

impl<R: SearchableRecord> ReadState<'_, R> {
    fn rows<'k, K: Into<RecordKey<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        columns: Columns<R::Column>,
    ) -> Result<Rows<R::Column>> {
        let mut shape = RowShape::new(columns);
        let select = select_list(&shape, shape.has_summary());
        let by = |column: &str| {
            format!(
                "SELECT r.id, {select} FROM record r \
                 WHERE r.collection = ?1 AND r.{column} = ?2 AND r.removed_at IS NULL"
            )
        };
        let mut buffer = RowBuffer::default();
        self.explain_errors(|| {
            let mut by_uid = self.conn.prepare_cached(&by("uid"))?;
            let mut by_id = self.conn.prepare_cached(&by("id"))?;
            for key in keys {
                let mut rows = match key.into() {
                    RecordKey::Uid(uid) => by_uid.query((self.collection, uid))?,
                    RecordKey::Id(id) => by_id.query((self.collection, id.0))?,
                };
                if let Some(row) = rows.next()? {
                    push_row(&mut buffer, &mut shape, None, row)?;
                }
            }
            Ok(())
        })?;
        Ok(Rows::new(columns, buffer, None))
    }
}
