//! [`ViewState`]: a query whose matches one client follows.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etui::RecordId;
use etui::contacts::Card;
use zbus::names::OwnedUniqueName;

use super::book::Book;
use super::outgoing::{OutgoingCard, write_brief, write_outgoing};
use super::query::ContactQuery;
use crate::error::{EdsError, EdsResult};
use crate::server::guard::answer_on_worker;
use crate::server::view_life::{MAX_BATCH, NOTIFY_INITIAL, ViewChannel, ViewLife};

/// The interface of the view's object.
const VIEW_INTERFACE: &str = "org.gnome.evolution.dataserver.AddressBookView";
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

/// The client's settings of a view.
#[derive(Debug, Clone, Copy)]
struct ViewSettings {
    flags: u32,
    shape: CardShape,
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

/// A view of one client.
pub(super) struct ViewState {
    pub(super) book: Arc<Book>,
    pub(super) channel: ViewChannel,
    query: ContactQuery,
    settings: Mutex<ViewSettings>,
    /// Its client knows the ids of the matches.
    life: ViewLife<HashSet<i64>, RecordUpdate>,
}

/// The signals for one set of changes.
#[derive(Default)]
struct ViewSignals {
    added: Vec<OutgoingCard>,
    modified: Vec<OutgoingCard>,
    removed: Vec<String>,
}

/// The content of a view: cards, and the ids of those that are still to be read.
struct Content {
    known: HashSet<i64>,
    cards: Vec<OutgoingCard>,
    rest: Vec<RecordId>,
}

impl ViewState {
    /// Returns a view that is not started.
    pub(super) fn new(
        book: Arc<Book>,
        path: String,
        owner: OwnedUniqueName,
        query: ContactQuery,
    ) -> Self {
        let channel = ViewChannel {
            interface: VIEW_INTERFACE,
            connection: book.server.connection.clone(),
            path,
            owner,
        };
        Self {
            book,
            channel,
            query,
            settings: Mutex::new(ViewSettings {
                flags: NOTIFY_INITIAL,
                shape: CardShape::Whole,
            }),
            life: ViewLife::default(),
        }
    }

    fn settings(&self) -> MutexGuard<'_, ViewSettings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the flags.
    pub(super) fn set_flags(&self, flags: u32) {
        self.settings().flags = flags;
    }

    /// Sets the form in which the client gets each contact.
    pub(super) fn set_shape(&self, shape: CardShape) {
        self.settings().shape = shape;
    }

    /// Starts the view: its content is sent, then its changes. A running view goes on.
    pub(super) fn start(self: &Arc<Self>) {
        if let Some(generation) = self.life.start() {
            let view = self.clone();
            zruntime::spawn(async move {
                if let Err(error) = view.load(generation).await {
                    view.channel.send_complete(Some(&error)).await;
                    view.stop();
                }
            })
            .detach();
        }
    }

    /// Stops the view; no more signals are sent.
    pub(super) fn stop(&self) {
        self.life.stop();
    }

    /// Sends the content, then the changes that came meanwhile.
    async fn load(self: &Arc<Self>, generation: u64) -> EdsResult<()> {
        self.channel.send_loading().await;
        let view = self.clone();
        let content = answer_on_worker(move || view.read_content()).await?;
        self.send_contacts("ObjectsAdded", content.cards).await;
        for ids in content.rest.chunks(MAX_BATCH) {
            if !self.life.is_loading(generation) {
                return Ok(());
            }
            let (view, ids) = (self.clone(), ids.to_vec());
            let cards = answer_on_worker(move || view.read_cards(&ids)).await?;
            self.send_contacts("ObjectsAdded", cards).await;
        }
        self.channel.send_complete(None).await;
        let mut known = content.known;
        while let Some((now, waiting)) = self.life.take_waiting(generation, known) {
            known = now;
            for updates in waiting {
                let signals = self.compare(&mut known, &updates);
                self.send(signals).await;
            }
        }
        Ok(())
    }

    /// Reads the present matches.
    fn read_content(&self) -> EdsResult<Content> {
        let settings = *self.settings();
        let tells = settings.flags & NOTIFY_INITIAL != 0;
        let mut content = Content {
            known: HashSet::new(),
            cards: Vec::new(),
            rest: Vec::new(),
        };
        let mut size = 0;
        self.book.for_each_match(&self.query, |found| {
            content.known.insert(found.id.0);
            if !tells {
                return;
            }
            if size > MAX_CONTENT_AT_ONCE {
                return content.rest.push(found.id);
            }
            let uid = || self.book.uid_of_match(&found);
            let card = match settings.shape {
                CardShape::UidOnly => OutgoingCard {
                    uid: uid(),
                    text: String::new(),
                },
                CardShape::Brief => self.brief_of(found.text, &uid()),
                CardShape::Whole => {
                    let find = &|uid: &str| self.book.member(uid);
                    write_outgoing(found.text, uid, &self.book.pictures, find)
                }
            };
            size += card.uid.len() + card.text.len();
            content.cards.push(card);
        })?;
        Ok(content)
    }

    fn brief_of(&self, text: &[u8], uid: &str) -> OutgoingCard {
        let revision = Card::parse(text)
            .map(|card| super::outgoing::revision_of(text, &card))
            .unwrap_or_default();
        write_brief(uid, &revision)
    }

    /// Reads the cards of ids; those that were removed meanwhile are left out.
    fn read_cards(&self, ids: &[RecordId]) -> EdsResult<Vec<OutgoingCard>> {
        let shape = self.settings().shape;
        let contacts = self.book.contacts()?;
        let mut cards = Vec::with_capacity(ids.len());
        for &id in ids {
            let found = contacts.by_id(id).map_err(|e| EdsError::of_book(&e))?;
            let Some(contact) = found else { continue };
            cards.push(match shape {
                CardShape::UidOnly => OutgoingCard {
                    uid: contact.uid,
                    text: String::new(),
                },
                CardShape::Brief => self.brief_of(&contact.text, &contact.uid),
                CardShape::Whole => self.book.outgoing(&contact),
            });
        }
        Ok(cards)
    }

    /// Sends changes of the book, or keeps them until the content is sent.
    pub(super) async fn send_updates(&self, updates: &Arc<Vec<RecordUpdate>>) {
        let compare = |known: &mut HashSet<i64>| self.compare(known, updates);
        if let Some(signals) = self.life.apply(updates, compare) {
            self.send(signals).await;
        }
    }

    /// Compares changed contacts with the query and with the matches that the client knows.
    fn compare(&self, known: &mut HashSet<i64>, updates: &[RecordUpdate]) -> ViewSignals {
        let shape = self.settings().shape;
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

    async fn send(&self, signals: ViewSignals) {
        let nothing =
            signals.added.is_empty() && signals.modified.is_empty() && signals.removed.is_empty();
        if nothing {
            return;
        }
        self.send_contacts("ObjectsAdded", signals.added).await;
        self.send_contacts("ObjectsModified", signals.modified)
            .await;
        for uids in signals.removed.chunks(MAX_BATCH) {
            self.channel.emit("ObjectsRemoved", &(uids,)).await;
        }
        self.channel.send_complete(None).await;
    }

    /// Sends contacts in batches, as pairs of card and UID or as UIDs.
    async fn send_contacts(&self, signal: &str, cards: Vec<OutgoingCard>) {
        let with_cards = self.settings().shape != CardShape::UidOnly;
        let write = |card: OutgoingCard, batch: &mut Vec<String>| {
            if with_cards {
                batch.push(card.text);
            }
            batch.push(card.uid);
        };
        self.channel.send_batches(signal, cards, write).await;
    }
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
