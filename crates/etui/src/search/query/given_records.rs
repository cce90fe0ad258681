//! Rows of given records: by UID or by id, in the caller's order.

use super::SearchableRecord;
use super::columns::{Columns, RowShape};
use super::row_sink::{RowSink, push_row, select_list};
use super::rows::{RowBuffer, Rows};
use crate::error::Result;
use crate::record::{ReadState, Reader};
use crate::types::RecordId;

impl<R: SearchableRecord> Reader<R> {
    /// Returns the rows of the records with these UIDs, in their order. A UID without a record has
    /// no row; the UID column shows which have.
    ///
    /// ```
    /// # use etui::{Store, contacts::{Card, Column}};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// # let contacts = store.contacts()?;
    /// # contacts.save(&Card::parse("BEGIN:VCARD\nUID:ada\nFN:Ada Lovelace\nEND:VCARD\n")?)?;
    /// let rows = contacts.rows_by_uid(&["nobody", "ada"], Column::Uid | Column::Name)?;
    /// let shown: Vec<_> = rows.iter().map(|row| (row.get(Column::Uid), row.name())).collect();
    /// assert_eq!(shown, [("ada", "Ada Lovelace")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn rows_by_uid<U: AsRef<str>>(
        &self,
        uids: &[U],
        columns: impl Into<Columns<R::Column>>,
    ) -> Result<Rows<R::Column>> {
        self.read(|r| r.rows_by_uid(uids, columns))
    }

    /// Returns the rows of the records with these ids, in their order. An id without a record in
    /// this collection has no row; [`Rows::ids`] shows which have.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn rows_by_id(
        &self,
        ids: &[RecordId],
        columns: impl Into<Columns<R::Column>>,
    ) -> Result<Rows<R::Column>> {
        self.read(|r| r.rows_by_id(ids, columns))
    }
}

impl<R: SearchableRecord> ReadState<'_, R> {
    /// See [`Reader::rows_by_uid`].
    pub(crate) fn rows_by_uid<U: AsRef<str>>(
        &self,
        uids: &[U],
        columns: impl Into<Columns<R::Column>>,
    ) -> Result<Rows<R::Column>> {
        let columns = columns.into();
        let mut shape = RowShape::new(columns);
        let select = select_list(&shape, shape.has_summary());
        let mut buffer = RowBuffer::default();
        self.explain_errors(|| {
            let mut statement = self.conn.prepare_cached(&format!(
                "SELECT r.id, {select} FROM record r \
                 WHERE r.collection = ?1 AND r.uid = ?2 AND r.removed_at IS NULL"
            ))?;
            for uid in uids {
                let mut rows = statement.query((self.collection, uid.as_ref()))?;
                if let Some(row) = rows.next()? {
                    push_row(&mut buffer, &mut shape, None, row)?;
                }
            }
            Ok(())
        })?;
        Ok(Rows::new(columns, buffer, None))
    }

    /// See [`Reader::rows_by_id`].
    pub(crate) fn rows_by_id(
        &self,
        ids: &[RecordId],
        columns: impl Into<Columns<R::Column>>,
    ) -> Result<Rows<R::Column>> {
        let columns = columns.into();
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        self.explain_errors(|| {
            let mut sink = RowSink::new(self.conn, self.collection, RowShape::new(columns));
            sink.push_by_id(&ids)?;
            Ok(Rows::new(columns, sink.rows, None))
        })
    }
}
