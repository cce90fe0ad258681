//! Changes of a collection's resources since a token, a page at a time (RFC 6578).
//!
//! A page holds the changes in the order of their sequence numbers, each record once, at its latest
//! change. So a token is the sequence number of the last change of a page, and a record that changes
//! between two pages is in a later one.
//!
//! A token that continues a listing of a whole collection has the sequence number at which that
//! began too: records that were removed before are no changes, for the client never saw them.

use rusqlite::Connection;

use super::kind::Resource;
use super::read::{name_join, read_tag, tag_columns};
use super::{names, seq};
use crate::error::Result;
use crate::record::{ReadState, Reader, changes, collection_table};
use crate::resource_tag::ResourceTag;
use crate::types::{RecordId, SyncToken};

/// The latest change of one resource since a token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceChange {
    /// The name of the resource.
    pub name: String,
    /// Its record.
    pub id: RecordId,
    /// Its tag; `None`: it was removed, or its record has another name.
    pub tag: Option<ResourceTag>,
}

/// The changes of a collection's resources since a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceChanges {
    /// The changes, or the first of them.
    Since {
        /// The changes in their order. A removed resource may be one that the client never saw.
        changes: Vec<ResourceChange>,
        /// The token from which the next changes are listed.
        token: SyncToken,
        /// False if the limit cut them off: there are more since `token`.
        is_complete: bool,
    },
    /// The token is of another store or incarnation, or older than the change log or the collection:
    /// list all resources.
    Resynchronise,
}

/// A change and its sequence number.
struct NumberedChange {
    seq: i64,
    change: ResourceChange,
}

impl<R: Resource> Reader<R> {
    /// Returns the token of the collection: it changes only if one of its records does.
    ///
    /// The sequence number is that of the latest change in this collection, or of its creation or
    /// restoration.
    ///
    /// # Errors
    /// Any read error.
    pub fn collection_token(&self) -> Result<SyncToken> {
        self.read(|r| r.collection_token())
    }

    /// Returns the changes since a token, at most `limit` of them. Without a token it lists all live
    /// resources, in the order of their latest changes; with a limit, the returned token continues
    /// the listing.
    ///
    /// A client that applies page after page has the resources of the state in which a page is
    /// complete.
    ///
    /// # Errors
    /// Any read error.
    pub fn resource_changes(
        &self,
        since: Option<&SyncToken>,
        limit: Option<u64>,
    ) -> Result<ResourceChanges> {
        self.read(|r| r.resource_changes(since, limit))
    }
}

impl<R: Resource> ReadState<'_, R> {
    /// See [`Reader::collection_token`].
    pub(crate) fn collection_token(&self) -> Result<SyncToken> {
        self.explain_errors(|| self.read_token())
    }

    fn read_token(&self) -> Result<SyncToken> {
        Ok(SyncToken {
            seq: seq::collection_seq(self.db, self.conn, self.collection)?,
            ..changes::token(self.conn)?
        })
    }

    /// See [`Reader::resource_changes`].
    pub(crate) fn resource_changes(
        &self,
        since: Option<&SyncToken>,
        limit: Option<u64>,
    ) -> Result<ResourceChanges> {
        self.explain_errors(|| self.list_changes(since, limit))
    }

    fn list_changes(
        &self,
        since: Option<&SyncToken>,
        limit: Option<u64>,
    ) -> Result<ResourceChanges> {
        let now = self.read_token()?;
        let latest = changes::latest_seq(self.conn)?;
        // The change after which changes are listed, and at which a listing that goes on began.
        let (after, began) = match since {
            None => (0, Some(latest)),
            Some(token) => {
                let is_ours = (token.store, token.incarnation) == (now.store, now.incarnation)
                    && token.seq <= latest
                    && token.listing.is_none_or(|began| began <= latest);
                // The latest change of the collection that is no longer in the log counts, not the
                // floor of the log: other collections may have changed since.
                let start = collection_table::history_start(self.conn, self.collection)?;
                if !is_ours || token.listing.unwrap_or(token.seq) < start {
                    return Ok(ResourceChanges::Resynchronise);
                }
                (token.seq, token.listing)
            }
        };
        let limit = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let mut found = match began {
            Some(began) => self.list_since(after, began, limit)?,
            None if after >= now.seq => Vec::new(),
            None => self.log_since(after, limit)?,
        };
        self.add_released(after.max(began.unwrap_or(0)), &mut found)?;
        found.sort_by_key(|change| change.seq);
        // One more than the limit was read, to know whether the list is complete.
        let is_complete = found.len() <= limit;
        found.truncate(limit);
        let token = match is_complete {
            true => now,
            false => {
                // With a limit of 0 the listing does not move.
                let seq = found.last().map_or(after, |last| last.seq);
                SyncToken {
                    // A listing that has passed its beginning goes on in the change log.
                    seq,
                    listing: began.filter(|began| seq < *began),
                    ..now
                }
            }
        };
        Ok(ResourceChanges::Since {
            changes: found.into_iter().map(|numbered| numbered.change).collect(),
            token,
            is_complete,
        })
    }

    /// Returns the live records that changed after `after`, and the removed ones that changed after
    /// `began` too, by a scan of all records. One more than `limit` at most.
    fn list_since(&self, after: i64, began: i64, limit: usize) -> Result<Vec<NumberedChange>> {
        let has_names = names::has_table(self.conn)?;
        let sql = format!(
            "SELECT r.changed, r.id, r.removed_at IS NOT NULL, {} FROM record r NOT INDEXED {} \
             WHERE r.collection = ?1 AND r.changed > ?2 \
             AND (r.removed_at IS NULL OR r.changed > ?4) ORDER BY r.changed LIMIT ?3",
            tag_columns::<R>(has_names),
            name_join(has_names)
        );
        let parameters = (self.collection, after, sql_limit(limit), began);
        read_changes::<R>(self.conn, &sql, parameters)
    }

    /// Returns the records that changed after `after`, by the change log. One more than `limit` at
    /// most of those that were added and of the others.
    fn log_since(&self, after: i64, limit: usize) -> Result<Vec<NumberedChange>> {
        let has_names = names::has_table(self.conn)?;
        let (columns, join) = (tag_columns::<R>(has_names), name_join(has_names));
        let added = format!(
            "SELECT r.changed, r.id, 0, {columns} FROM record r NOT INDEXED {join} \
             WHERE r.collection = ?1 AND r.id > ?2 AND r.changed = r.id ORDER BY r.id LIMIT ?3"
        );
        let changed = format!(
            "SELECT c.seq, r.id, r.removed_at IS NOT NULL, {columns} \
             FROM change c CROSS JOIN record r ON r.id = c.record {join} \
             WHERE r.collection = ?1 AND c.seq > ?2 AND r.changed = c.seq ORDER BY c.seq LIMIT ?3"
        );
        let parameters = (self.collection, after, sql_limit(limit));
        let mut found = read_changes::<R>(self.conn, &added, parameters)?;
        found.extend(read_changes::<R>(self.conn, &changed, parameters)?);
        Ok(found)
    }

    /// Adds the names that records lost after `after`, unless another record has them now.
    fn add_released(&self, after: i64, found: &mut Vec<NumberedChange>) -> Result<()> {
        if !names::has_table(self.conn)? {
            return Ok(());
        }
        let mut statement = self.conn.prepare_cached(
            "SELECT released, record, name FROM resource \
             WHERE collection = ?1 AND released <> 0 AND released > ?2",
        )?;
        let mut rows = statement.query((self.collection, after))?;
        while let Some(row) = rows.next()? {
            let name: String = row.get(2)?;
            let owner = names::find::<R>(self.conn, self.collection, &name)?;
            // Otherwise the name is in use again: the change of its new record is listed.
            if owner.is_none_or(|owner| owner.is_removed) {
                found.push(NumberedChange {
                    seq: row.get(0)?,
                    change: ResourceChange {
                        name,
                        id: RecordId(row.get(1)?),
                        tag: None,
                    },
                });
            }
        }
        Ok(())
    }
}

/// Returns the `LIMIT` of a statement that reads one more than `limit`.
fn sql_limit(limit: usize) -> i64 {
    // SQLite takes a negative LIMIT for none.
    i64::try_from(limit).map_or(-1, |limit| limit.saturating_add(1))
}

/// Runs a statement of `sequence number, id, is removed` and the columns of [`tag_columns`].
fn read_changes<R: Resource>(
    conn: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<NumberedChange>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(1)?;
        let is_removed: bool = row.get(2)?;
        let (name, tag) = read_tag::<R>(row, 3, id)?;
        found.push(NumberedChange {
            seq: row.get(0)?,
            change: ResourceChange {
                name: name.into_owned(),
                id: RecordId(id),
                tag: (!is_removed).then_some(tag),
            },
        });
    }
    Ok(found)
}
