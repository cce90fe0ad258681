//! Writing: saved, removed, brought back; one is a batch of one.

use std::borrow::Cow;

use rusqlite::Connection;

use super::Contacts;
use super::card::Card;
use super::keys::{self, Derived};
use crate::collection::list;
use crate::collection::records::{self, Incoming, Writing};
use crate::collection::{Condition, Saved};
use crate::engine::Size;
use crate::error::{Error, Result};
use crate::text::order::Order;
use crate::text::phone::Region;

/// A card with all that is stored of it.
pub(crate) struct Prepared<'c> {
    uid: Cow<'c, str>,
    text: &'c [u8],
    derived: Derived,
}

/// Derives what is stored of `card`.
pub(crate) fn prepare<'c>(card: &'c Card, order: &Order, region: Option<Region>) -> Prepared<'c> {
    Prepared {
        uid: card.identity(),
        text: card.text(),
        derived: keys::derive(card, order, region),
    }
}

impl<'c> Prepared<'c> {
    pub(crate) fn uid(&self) -> &str {
        &self.uid
    }

    /// The same as the record `uid`, for a card that has no UID or this one.
    pub(crate) fn known_as(self, uid: &'c str) -> Self {
        Self {
            uid: Cow::Borrowed(uid),
            ..self
        }
    }

    pub(crate) fn put(
        &self,
        conn: &Connection,
        writing: &mut Writing<'_>,
        book: i64,
        condition: Condition,
    ) -> Result<Saved> {
        let incoming = Incoming {
            uid: &self.uid,
            text: self.text,
            keys: &self.derived.keys,
            sort: &self.derived.sort,
            summary: &self.derived.summary,
        };
        records::put(conn, writing, book, &incoming, condition)
    }
}

impl Contacts<'_> {
    /// Saves a contact: adds it, or replaces the one with its UID.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn save(&self, card: &Card) -> Result<Saved> {
        self.save_if(card, Condition::Always)
    }

    /// Saves a contact if `condition` holds.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it does not hold; whatever writing reports.
    pub fn save_if(&self, card: &Card, condition: Condition) -> Result<Saved> {
        let order = self.store.order()?;
        // Derived before the lock is taken: it takes longer than the writing.
        let one = prepare(card, order, self.store.region());
        self.put_one(&one, condition)
    }

    /// Saves `card` as the record `uid` if `condition` holds. For cards without a UID of their
    /// own: an edit changes the identity that their content gave them, but not the record.
    ///
    /// # Errors
    /// [`Error::OtherUid`] when the card has another UID; [`Error::Conflict`]; whatever writing
    /// reports.
    pub fn save_as(&self, uid: &str, card: &Card, condition: Condition) -> Result<Saved> {
        if let Some(own) = card.uid().filter(|own| *own != uid) {
            return Err(Error::OtherUid {
                uid: uid.to_owned(),
                found: own.to_owned(),
            });
        }
        let one = prepare(card, self.store.order()?, self.store.region()).known_as(uid);
        self.put_one(&one, condition)
    }

    fn put_one(&self, one: &Prepared<'_>, condition: Condition) -> Result<Saved> {
        let order = self.store.order()?;
        let size = Size::of(1, one.text.len());
        self.store.write_of(size, |conn| {
            Writing::run(conn, order, |writing| {
                one.put(conn, writing, self.book.id, condition)
            })
        })
    }

    /// Saves many contacts in one transaction: all of them, or, on an error, none.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn save_many<'c>(&self, cards: impl IntoIterator<Item = &'c Card>) -> Result<Vec<Saved>> {
        let always = cards.into_iter().map(|card| (card, Condition::Always));
        self.put_all(always, |result| result)
    }

    /// Saves many contacts in one transaction, each on its own condition: those whose condition
    /// does not hold are left out and told of, the others go in.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn save_each(&self, cards: &[(&Card, Condition)]) -> Result<Vec<Result<Saved>>> {
        self.put_all(cards.iter().copied(), |result| match result {
            // A record's own failure is not the transaction's.
            Err(e @ Error::Conflict { .. }) => Ok(Err(e)),
            Err(e) => Err(e),
            Ok(saved) => Ok(Ok(saved)),
        })
    }

    fn put_all<'c, T>(
        &self,
        cards: impl IntoIterator<Item = (&'c Card, Condition)>,
        settle: impl Fn(Result<Saved>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let order = self.store.order()?;
        let region = self.store.region();
        // The caller's iterator runs before the lock is taken: it may be slow, save, or panic.
        let cards: Vec<_> = cards.into_iter().collect();
        let size = Size::of(cards.len(), cards.iter().map(|(c, _)| c.text().len()).sum());
        let derive =
            |&(card, condition): &(&'c Card, Condition)| (prepare(card, order, region), condition);
        // So does deriving, but for large batches, of which all that is derived takes memory.
        let derived: Vec<_> = match size {
            Size::Small => cards.iter().map(derive).collect(),
            _ => Vec::new(),
        };
        self.store.write_of(size, |conn| {
            Writing::run(conn, order, |writing| {
                let mut put = |(one, condition): (Prepared<'_>, Condition)| {
                    settle(one.put(conn, writing, self.book.id, condition))
                };
                match size {
                    Size::Small => derived.into_iter().map(&mut put).collect(),
                    _ => cards.iter().map(derive).map(&mut put).collect(),
                }
            })
        })
    }

    /// Removes a contact; it can be brought back for 30 days.
    ///
    /// # Errors
    /// [`Error::NoContact`]; whatever writing reports.
    pub fn remove(&self, uid: &str) -> Result<()> {
        self.remove_if(uid, Condition::Always)
    }

    /// Removes a contact if `condition` holds.
    ///
    /// # Errors
    /// [`Error::NoContact`], [`Error::Conflict`]; whatever writing reports.
    pub fn remove_if(&self, uid: &str, condition: Condition) -> Result<()> {
        let order = self.store.order()?;
        let removed = self.store.write_of(Size::Small, |conn| {
            Writing::run(conn, order, |writing| {
                records::remove(conn, writing, self.book.id, uid, condition)
            })
        })?;
        if removed {
            Ok(())
        } else {
            Err(Error::NoContact {
                uid: uid.to_owned(),
            })
        }
    }

    /// Removes many contacts in one transaction; tells of each whether it was there.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn remove_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<bool>> {
        let order = self.store.order()?;
        let uids: Vec<&str> = uids.iter().map(AsRef::as_ref).collect();
        self.store.write_of(Size::of(uids.len(), 0), |conn| {
            Writing::run(conn, order, |writing| {
                uids.iter()
                    .map(|uid| records::remove(conn, writing, self.book.id, uid, Condition::Always))
                    .collect()
            })
        })
    }

    /// Undoes a contact's latest change: a removed one comes back, an edited one gets the text
    /// it had before. Undoing an edit twice brings the edit back.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`]; whatever writing reports.
    pub fn restore(&self, uid: &str) -> Result<Saved> {
        let mut restored = self.restore_many(&[uid])?;
        match restored.pop().flatten() {
            Some(saved) => Ok(saved),
            None => Err(Error::NothingToUndo {
                uid: uid.to_owned(),
            }),
        }
    }

    /// Undoes the latest change of many contacts in one transaction; `None` where there is
    /// nothing to bring back.
    ///
    /// # Errors
    /// Whatever writing reports; then nothing was changed.
    pub fn restore_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<Saved>>> {
        let order = self.store.order()?;
        let region = self.store.region();
        let uids: Vec<&str> = uids.iter().map(AsRef::as_ref).collect();
        self.store.write_of(Size::of(uids.len(), 0), |conn| {
            Writing::run(conn, order, |writing| {
                uids.iter()
                    .map(|&uid| {
                        let Some(text) = records::former(conn, self.book.id, uid)? else {
                            return Ok(None);
                        };
                        let card = Card::parse(text)?;
                        // The record keeps its identity, also where that came from the text
                        // before.
                        let one = prepare(&card, order, region).known_as(uid);
                        one.put(conn, writing, self.book.id, Condition::Always)
                            .map(Some)
                    })
                    .collect()
            })
        })
    }
}

/// Derives keys, sort keys, summaries and lists anew from the records' texts. Tells whether any
/// keys changed; the index then has to be made anew as well. ETags stay: they are what tells that
/// a text is not the one that was saved.
pub(crate) fn rederive(conn: &Connection, order: &Order, region: Option<Region>) -> Result<bool> {
    list::clear(conn)?;
    let mut entries = list::Edits::default();
    let mut update =
        conn.prepare("UPDATE record SET sort = ?2, summary = ?3, keys = ?4 WHERE id = ?1")?;
    let mut next = conn.prepare(
        "SELECT id, collection, removed IS NULL, keys, text FROM record WHERE id > ?1 \
         ORDER BY id LIMIT 64",
    )?;
    let mut last = i64::MIN;
    let mut changed = false;
    loop {
        let page = next
            .query_map([last], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?))
            })?
            .collect::<rusqlite::Result<Vec<(i64, i64, bool, Vec<u8>, Vec<u8>)>>>()?;
        if page.is_empty() {
            entries.write(conn, order.letter_bounds())?;
            return Ok(changed);
        }
        for (id, collection, live, keys, text) in page {
            last = id;
            // What another program wrote and cannot be read sorts first.
            let derived = match Card::parse(text) {
                Ok(card) => keys::derive(&card, order, region),
                Err(_) => Derived::default(),
            };
            changed |= derived.keys != keys;
            update.execute((id, &derived.sort, &derived.summary, &derived.keys))?;
            if live {
                entries.put(collection, &derived.sort, id, &derived.summary);
            }
        }
        if entries.are_many() {
            entries.write(conn, order.letter_bounds())?;
        }
    }
}
