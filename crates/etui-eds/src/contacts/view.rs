//! [`BookView`]: a view of contacts.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard};

use etui::RecordId;
use etui::contacts::Card;
use zbus::object_server::SignalEmitter;

use super::book::Book;
use super::outgoing::{OutgoingCard, write_brief, write_outgoing};
use super::query::ContactQuery;
use crate::error::{EdsError, EdsResult};
use crate::server::shared::Server;
use crate::server::view::{View, ViewContent, ViewQuery, ViewSignals, view_object};

/// Content up to this size is read once; for the rest, its ids are read first.
const MAX_CONTENT_AT_ONCE: usize = 1 << 20;

/// The form in which a client gets each contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum CardShape {
    /// The whole card.
    #[default]
    Whole,
    /// UID and REV.
    Brief,
    /// The UID alone, without a card.
    UidOnly,
}

impl CardShape {
    /// Returns the shape for a list of fields of interest.
    pub(super) fn of_fields(fields: &[String]) -> Self {
        let is_brief = |field: &String| ["id", "rev"].iter().any(|f| field.eq_ignore_ascii_case(f));
        match fields {
            [] => Self::Whole,
            fields if fields.iter().any(|f| f == "x-evolution-uids-only") => Self::UidOnly,
            fields if fields.iter().all(is_brief) => Self::Brief,
            _ => Self::Whole,
        }
    }
}

/// A changed contact.
pub(super) struct RecordUpdate {
    /// Its id in the store.
    pub(super) id: RecordId,
    /// Its UID.
    pub(super) uid: String,
    /// The card now; `None`: it was removed.
    pub(super) card: Option<UpdatedCard>,
}

/// The card of a changed contact.
pub(super) struct UpdatedCard {
    /// The card as stored.
    pub(super) card: Card,
    /// The card as clients get it.
    pub(super) outgoing: String,
    /// Its REV.
    pub(super) revision: String,
}

/// A query of an address book, of which a view is.
pub(super) struct BookQuery {
    pub(super) book: Arc<Book>,
    pub(super) query: ContactQuery,
}

/// A view of one client. The client knows the ids of the matches.
pub(super) type BookView = View<BookQuery>;

view_object! {
    AddressBookView, "org.gnome.evolution.dataserver.AddressBookView", BookQuery
}

impl ViewQuery for BookQuery {
    type Object = AddressBookView;
    type Shape = CardShape;
    type Known = HashSet<i64>;
    type Update = RecordUpdate;
    type Match = OutgoingCard;
    const COMPLETES_CHANGES: bool = true;

    fn shape_of(fields: Vec<String>) -> CardShape {
        CardShape::of_fields(&fields)
    }

    fn server(&self) -> &Arc<Server> {
        &self.book.server
    }

    fn views(&self) -> MutexGuard<'_, Vec<Arc<BookView>>> {
        self.book.views()
    }

    fn read_content(&self, shape: &CardShape, is_wanted: bool) -> EdsResult<ViewContent<Self>> {
        let (mut known, mut matches, mut rest) = (HashSet::new(), Vec::new(), Vec::new());
        let mut size = 0;
        self.book.for_each_match(&self.query, |found| {
            known.insert(found.id.0);
            if !is_wanted {
                return;
            }
            if size > MAX_CONTENT_AT_ONCE {
                return rest.push(found.id);
            }
            let uid = || self.book.uid_of_match(&found);
            let card = match shape {
                CardShape::UidOnly => OutgoingCard {
                    uid: uid(),
                    text: String::new(),
                },
                CardShape::Brief => brief_of(found.text, &uid()),
                CardShape::Whole => {
                    let find = &|uid: &str| self.book.member(uid);
                    write_outgoing(found.text, uid, &self.book.pictures, find)
                }
            };
            size += card.uid.len() + card.text.len();
            matches.push(card);
        })?;
        Ok(ViewContent {
            known,
            matches,
            rest,
        })
    }

    fn read_rest(&self, ids: &[RecordId], shape: &CardShape) -> EdsResult<Vec<OutgoingCard>> {
        let contacts = self.book.contacts()?;
        let mut cards = Vec::with_capacity(ids.len());
        for &id in ids {
            let found = contacts.get(id).map_err(|e| EdsError::of_book(&e))?;
            let Some(contact) = found else { continue };
            cards.push(match shape {
                CardShape::UidOnly => OutgoingCard {
                    uid: contact.uid,
                    text: String::new(),
                },
                CardShape::Brief => brief_of(&contact.text, &contact.uid),
                CardShape::Whole => self.book.outgoing(&contact),
            });
        }
        Ok(cards)
    }

    fn compare(
        &self,
        known: &mut HashSet<i64>,
        updates: &[RecordUpdate],
        shape: &CardShape,
    ) -> ViewSignals<OutgoingCard> {
        let mut signals = ViewSignals::default();
        for update in updates {
            let matching = update
                .card
                .as_ref()
                .filter(|updated| self.query.matches(&update.uid, &updated.card));
            let Some(updated) = matching else {
                if known.remove(&update.id.0) {
                    signals.removed.push(update.uid.clone());
                }
                continue;
            };
            let card = match shape {
                CardShape::Whole => OutgoingCard {
                    uid: update.uid.clone(),
                    text: updated.outgoing.clone(),
                },
                CardShape::Brief => write_brief(&update.uid, &updated.revision),
                CardShape::UidOnly => OutgoingCard {
                    uid: update.uid.clone(),
                    text: String::new(),
                },
            };
            match known.insert(update.id.0) {
                true => signals.added.push(card),
                false => signals.modified.push(card),
            }
        }
        signals
    }

    fn write(card: OutgoingCard, shape: &CardShape, batch: &mut Vec<String>) {
        if *shape != CardShape::UidOnly {
            batch.push(card.text);
        }
        batch.push(card.uid);
    }
}

fn brief_of(text: &[u8], uid: &str) -> OutgoingCard {
    let revision = Card::parse(text)
        .map(|card| super::outgoing::revision_of(text, &card))
        .unwrap_or_default();
    write_brief(uid, &revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_interest_give_a_shape() {
        let shape = |fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(|f| (*f).to_owned()).collect();
            CardShape::of_fields(&fields)
        };
        assert_eq!(shape(&[]), CardShape::Whole);
        assert_eq!(shape(&["ID", "rev"]), CardShape::Brief);
        assert_eq!(shape(&["id", "full_name"]), CardShape::Whole);
        assert_eq!(shape(&["id", "x-evolution-uids-only"]), CardShape::UidOnly);
    }
}
