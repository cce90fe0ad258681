//! [`Links`]: which record is which resource of a server, and both texts as of the last agreement.

use rusqlite::{Connection, OptionalExtension, Row};

use super::{PairId, SCHEMA, has_tables};
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::Collection;
use crate::record::records::{self, RecordWriter};
use crate::resource::{ParsedResource, Resource, find_record, read_resource, uid_taken};
use crate::resource_tag::ResourceTag;
use crate::store::refused::{self, RefusedText};
use crate::types::{Condition, RecordId, now_ms};

/// A record and its resource on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The path of the resource.
    pub href: String,
    /// The record.
    pub record: RecordId,
    /// The server's entity tag when both last agreed.
    pub etag: Option<String>,
    /// The tag of the record then; `None`: it has been changed here since.
    pub tag: Option<ResourceTag>,
    /// The server's text then; empty if they never agreed.
    pub remote: Vec<u8>,
    /// The text here then.
    pub local: Vec<u8>,
    /// The text of a request whose answer has not come, and the tag of the record that it was made of.
    pub sending: Option<(Vec<u8>, ResourceTag)>,
}

/// A link without its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkBrief {
    /// The path of the resource.
    pub href: String,
    /// The record.
    pub record: RecordId,
    /// The server's entity tag when both last agreed.
    pub etag: Option<String>,
    /// The tag of the record then.
    pub tag: Option<ResourceTag>,
    /// A request was sent whose answer has not come.
    pub is_sending: bool,
}

/// The change of a record.
#[derive(Debug, Clone)]
pub enum RecordEdit<'c> {
    /// Nothing.
    Keep,
    /// A new record, or one that comes back from the trash.
    Add(&'c [u8]),
    /// The record has this tag, and gets another text.
    Change(RecordId, ResourceTag, &'c [u8]),
    /// The record has this tag, and goes to the trash.
    Remove(RecordId, ResourceTag),
}

/// The change of a link.
#[derive(Debug, Clone)]
pub enum LinkEdit<'c> {
    /// Nothing.
    Keep,
    /// It is written; [`LinkedChange::agrees`] says whose tag it has.
    Put(Link),
    /// It is deleted.
    Delete(&'c str),
}

/// A change of a record and of its link, in one transaction.
#[derive(Debug, Clone)]
pub struct LinkedChange<'c> {
    /// The record.
    pub record: RecordEdit<'c>,
    /// The link. Of one that is added the record is filled in.
    pub link: LinkEdit<'c>,
    /// Both agree on the saved text: tag and text of the link are those of the record as saved.
    pub agrees: bool,
    /// A text that lost, which is kept.
    pub lost: Option<RefusedText<'c>>,
}

/// A change that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommittedChange {
    /// The record that was added or changed.
    pub record: Option<(RecordId, ResourceTag)>,
}

/// The links of a pair. See [`Collection::links`].
pub struct Links<'c, R> {
    collection: &'c Collection<R>,
    pair: PairId,
}

impl<R: Resource> Collection<R> {
    /// Returns the links of a pair that this collection is in.
    pub fn links(&self, pair: PairId) -> Links<'_, R> {
        Links {
            collection: self,
            pair,
        }
    }
}

const COLUMNS: &str = "href, record, etag, tag, remote, local, sending, sending_tag";

fn parse_tag(text: Option<String>) -> Option<ResourceTag> {
    text.and_then(|text| text.parse().ok())
}

fn read_link(row: &Row<'_>) -> rusqlite::Result<Link> {
    let remote: Vec<u8> = row.get(4)?;
    let local: Option<Vec<u8>> = row.get(5)?;
    let sending: Option<Vec<u8>> = row.get(6)?;
    Ok(Link {
        href: row.get(0)?,
        record: RecordId(row.get(1)?),
        etag: row.get(2)?,
        tag: parse_tag(row.get(3)?),
        local: local.unwrap_or_else(|| remote.clone()),
        remote,
        sending: sending.zip(parse_tag(row.get(7)?)),
    })
}

impl<R: Resource> Links<'_, R> {
    fn read<T: Default>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let db = self.collection.db();
        db.read_transaction(|conn| match has_tables(conn)? {
            true => work(conn),
            false => Ok(T::default()),
        })
    }

    /// Returns the link of a resource.
    ///
    /// # Errors
    /// Any read error.
    pub fn of_href(&self, href: &str) -> Result<Option<Link>> {
        self.read(|conn| {
            let sql = format!("SELECT {COLUMNS} FROM sync_link WHERE pair = ?1 AND href = ?2");
            let mut statement = conn.prepare_cached(&sql)?;
            Ok(statement
                .query_row((self.pair.0, href), read_link)
                .optional()?)
        })
    }

    /// Returns the link of a record.
    ///
    /// # Errors
    /// Any read error.
    pub fn of_record(&self, record: RecordId) -> Result<Option<Link>> {
        self.read(|conn| {
            let sql = format!("SELECT {COLUMNS} FROM sync_link WHERE pair = ?1 AND record = ?2");
            let mut statement = conn.prepare_cached(&sql)?;
            Ok(statement
                .query_row((self.pair.0, record.0), read_link)
                .optional()?)
        })
    }

    /// Returns all links without their texts, or those of requests whose answer has not come.
    ///
    /// # Errors
    /// Any read error.
    pub fn briefs(&self, only_sending: bool) -> Result<Vec<LinkBrief>> {
        self.read(|conn| {
            let only = match only_sending {
                true => " AND sending_tag IS NOT NULL",
                false => "",
            };
            let mut statement = conn.prepare_cached(&format!(
                "SELECT href, record, etag, tag, sending_tag IS NOT NULL FROM sync_link \
                 WHERE pair = ?1{only} ORDER BY rowid"
            ))?;
            let found = statement.query_map([self.pair.0], |row| {
                Ok(LinkBrief {
                    href: row.get(0)?,
                    record: RecordId(row.get(1)?),
                    etag: row.get(2)?,
                    tag: parse_tag(row.get(3)?),
                    is_sending: row.get(4)?,
                })
            })?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the UID under which the store keeps a text, or what stands for one.
    ///
    /// # Errors
    /// Those of [`put_resource`](Collection::put_resource) for a text that is no resource.
    pub fn identity_of(&self, text: &[u8]) -> Result<String> {
        Ok(R::parse_resource(text)?.record.identity().into_owned())
    }

    /// Makes changes, in one transaction. A change whose condition does not hold is not made, and has its error
    /// in its place; the others are made.
    ///
    /// Errors of a change: [`Error::ConditionFailed`] if the record has another tag, or is gone;
    /// [`Error::UidTaken`] if another record has the UID; those of
    /// [`put_resource`](Collection::put_resource) for a text that is no resource.
    ///
    /// # Errors
    /// Any write error. Nothing is changed then.
    pub fn commit(&self, changes: Vec<LinkedChange<'_>>) -> Result<Vec<Result<CommittedChange>>> {
        let text = |change: &LinkedChange<'_>| match change.record {
            RecordEdit::Add(text) | RecordEdit::Change(_, _, text) => text.len(),
            RecordEdit::Keep | RecordEdit::Remove(..) => 0,
        };
        let size = TransactionSize::of(changes.len(), changes.iter().map(text).sum());
        // Parsed before the lock is taken, as for any save.
        let parsed: Vec<_> = changes.into_iter().map(parse_change::<R>).collect();
        self.collection.write(size, |conn, writing| {
            if !has_tables(conn)? {
                conn.execute_batch(SCHEMA)?;
            }
            let made = parsed.into_iter().map(|change| {
                let (change, parsed) = match change {
                    Ok(parsed) => parsed,
                    Err(error) => return Ok(Err(error)),
                };
                match self.make(conn, writing, change, parsed) {
                    // Of SQLite: the transaction is rolled back.
                    Err(error @ Error::Sqlite(_)) => Err(error),
                    made => Ok(made),
                }
            });
            made.collect()
        })
    }

    fn make(
        &self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        change: LinkedChange<'_>,
        parsed: Option<ParsedResource<R>>,
    ) -> Result<CommittedChange> {
        let id = self.collection.number();
        let context = self.collection.db().index_context();
        let find = |record: RecordId, tag: ResourceTag| {
            let found = find_record::<R>(conn, id, record)?;
            let live = found.filter(|found| !found.is_removed);
            match live {
                Some(live) if live.tag == tag => Ok(live),
                live => Err(Error::ConditionFailed {
                    name: format!("{record}"),
                    found: live.map(|live| live.tag),
                }),
            }
        };
        let saved = match (&change.record, &parsed) {
            (RecordEdit::Add(_), Some(parsed)) => {
                let new = parsed.index(&context);
                let saved = match new.put(conn, writing, id, Condition::IfAbsent) {
                    Err(Error::Conflict { uid, .. }) => {
                        return Err(uid_taken(&uid, String::new()));
                    }
                    saved => saved?,
                };
                Some((saved.id, parsed.saved(conn, saved)?.tag))
            }
            (RecordEdit::Change(record, tag, _), Some(parsed)) => {
                let live = find(*record, *tag)?;
                let new = parsed.index(&context);
                let new = match parsed.record.uid() {
                    None => new.with_uid(&live.uid),
                    Some(uid) if uid != live.uid => {
                        return Err(uid_taken(&live.uid, String::new()));
                    }
                    Some(_) => new,
                };
                let saved = new.put(conn, writing, id, Condition::Always)?;
                Some((saved.id, parsed.saved(conn, saved)?.tag))
            }
            (RecordEdit::Remove(record, tag), _) => {
                let live = find(*record, *tag)?;
                records::remove(conn, writing, id, &live.uid, Condition::Always)?;
                None
            }
            _ => None,
        };
        match change.link {
            LinkEdit::Keep => {}
            LinkEdit::Delete(href) => {
                conn.prepare_cached("DELETE FROM sync_link WHERE pair = ?1 AND href = ?2")?
                    .execute((self.pair.0, href))?;
            }
            LinkEdit::Put(mut link) => {
                if let Some((record, tag)) = saved {
                    link.record = record;
                    if change.agrees {
                        link.tag = Some(tag);
                        // The store may compose it otherwise than it came.
                        link.local = read_resource::<R>(conn, id, record)?.unwrap_or(link.local);
                    }
                }
                self.put_link(conn, &link)?;
            }
        }
        if let Some(lost) = &change.lost {
            refused::keep(conn, lost, now_ms())?;
        }
        Ok(CommittedChange { record: saved })
    }

    fn put_link(&self, conn: &Connection, link: &Link) -> Result<()> {
        // A record that was another resource, and a resource that was another record.
        conn.prepare_cached(
            "DELETE FROM sync_link WHERE pair = ?1 AND (href = ?2) <> (record = ?3) \
             AND (href = ?2 OR record = ?3)",
        )?
        .execute((self.pair.0, &link.href, link.record.0))?;
        let tag = |tag: Option<ResourceTag>| tag.map(|tag| tag.to_string());
        let sending = link.sending.as_ref();
        conn.prepare_cached(
            "INSERT INTO sync_link (pair, href, record, etag, tag, remote, local, sending, sending_tag) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (pair, href) DO UPDATE SET \
             record = excluded.record, etag = excluded.etag, tag = excluded.tag, \
             remote = excluded.remote, local = excluded.local, sending = excluded.sending, \
             sending_tag = excluded.sending_tag",
        )?
        .execute((
            self.pair.0,
            &link.href,
            link.record.0,
            &link.etag,
            tag(link.tag),
            &link.remote,
            (link.local != link.remote).then_some(&link.local),
            sending.map(|(text, _)| text),
            tag(sending.map(|(_, tag)| *tag)),
        ))?;
        Ok(())
    }
}

type ParsedChange<'c, R> = (LinkedChange<'c>, Option<ParsedResource<R>>);

fn parse_change<R: Resource>(change: LinkedChange<'_>) -> Result<ParsedChange<'_, R>> {
    let parsed = match change.record {
        RecordEdit::Add(text) | RecordEdit::Change(_, _, text) => Some(R::parse_resource(text)?),
        RecordEdit::Keep | RecordEdit::Remove(..) => None,
    };
    Ok((change, parsed))
}

/// Erases the texts of links whose record is not as it was when both sides agreed, or is gone: a purge leaves no
/// earlier version of a record. What both sides changed since is then merged without a base.
pub(crate) fn erase_bases(conn: &Connection) -> Result<()> {
    if has_tables(conn)? {
        conn.execute(
            "UPDATE sync_link SET remote = x'', local = NULL, sending = NULL, sending_tag = NULL \
             WHERE record NOT IN (SELECT id FROM record WHERE removed_at IS NULL \
             AND lower(hex(etag)) = substr(sync_link.tag, 1, 32))",
            [],
        )?;
    }
    Ok(())
}
