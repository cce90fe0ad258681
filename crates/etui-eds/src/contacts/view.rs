//! [`ViewState`]: a query whose matches one client follows.
//!
//! ```text
//! idle ── Start ──► loading ──► live ── changes of the book, from the follower
//!   ▲                  │          │
//!   └────── Stop ──────┴──────────┘
//! ```
//!
//! While a view loads, changes wait; they are applied once the content is sent. So there is no gap
//! between the two, and one task at a time sends signals.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etui::RecordId;
use zbus::names::{BusName, OwnedUniqueName};
use zbus::object_server::SignalEmitter;

use super::book::Book;
use super::outgoing::{OutgoingCard, write_brief, write_outgoing};
use super::query::ContactQuery;
use super::updates::RecordUpdate;
use crate::error::{EdsError, EdsResult};
use crate::server::answer_on_worker;

/// The interface of the view's object.
pub(super) const VIEW_INTERFACE: &str = "org.gnome.evolution.dataserver.AddressBookView";
/// A signal has at most this many contacts.
const MAX_BATCH: usize = 256;
/// A signal has at most this many bytes, or one contact.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// Content up to this size is read once; for the rest, its ids are read first.
const MAX_CONTENT_AT_ONCE: usize = 1 << 20;
/// `Progress` with an unknown percentage.
const UNKNOWN_PERCENT: u32 = u32::MAX;
/// The flag by which a view sends its matches at the start.
pub(super) const NOTIFY_INITIAL: u32 = 1;

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

/// How far a view is. `generation` counts starts: a load of an earlier start gives up.
struct Progress {
    generation: u64,
    phase: Phase,
}

enum Phase {
    Idle,
    /// Changes that came while the content is sent.
    Loading(Vec<Arc<Vec<RecordUpdate>>>),
    /// The ids of the matches that the client knows.
    Live(HashSet<i64>),
}

/// A view of one client.
pub(super) struct ViewState {
    pub(super) book: Arc<Book>,
    pub(super) path: String,
    owner: OwnedUniqueName,
    query: ContactQuery,
    settings: Mutex<ViewSettings>,
    progress: Mutex<Progress>,
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
        Self {
            book,
            path,
            owner,
            query,
            settings: Mutex::new(ViewSettings {
                flags: NOTIFY_INITIAL,
                shape: CardShape::Whole,
            }),
            progress: Mutex::new(Progress {
                generation: 0,
                phase: Phase::Idle,
            }),
        }
    }

    fn settings(&self) -> MutexGuard<'_, ViewSettings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut progress = self.progress();
        if let Phase::Idle = progress.phase {
            progress.generation += 1;
            progress.phase = Phase::Loading(Vec::new());
            let (view, generation) = (self.clone(), progress.generation);
            zruntime::spawn(async move { view.load(generation).await }).detach();
        }
    }

    /// Stops the view; no more signals are sent.
    pub(super) fn stop(&self) {
        self.progress().phase = Phase::Idle;
    }

    /// Sends the content, then the changes that came meanwhile.
    async fn load(self: Arc<Self>, generation: u64) {
        self.emit("Progress", &(UNKNOWN_PERCENT, "Loading")).await;
        let view = self.clone();
        let content = match answer_on_worker(move || view.read_content()).await {
            Ok(content) => content,
            Err(error) => {
                self.emit("Complete", &(error.name(), error.message()))
                    .await;
                return self.stop();
            }
        };
        let mut known = content.known;
        self.send_contacts("ObjectsAdded", content.cards).await;
        for ids in content.rest.chunks(MAX_BATCH) {
            if !self.is_current(generation) {
                return;
            }
            let (view, ids) = (self.clone(), ids.to_vec());
            match answer_on_worker(move || view.read_cards(&ids)).await {
                Ok(cards) => self.send_contacts("ObjectsAdded", cards).await,
                Err(error) => {
                    self.emit("Complete", &(error.name(), error.message()))
                        .await;
                    return self.stop();
                }
            }
        }
        self.emit("Complete", &("", "")).await;
        loop {
            let waiting = {
                let mut progress = self.progress();
                if progress.generation != generation {
                    return;
                }
                let Phase::Loading(waiting) = &mut progress.phase else {
                    return;
                };
                if waiting.is_empty() {
                    progress.phase = Phase::Live(known);
                    return;
                }
                std::mem::take(waiting)
            };
            for updates in waiting {
                let signals = self.apply(&mut known, &updates);
                self.send(signals).await;
            }
        }
    }

    fn is_current(&self, generation: u64) -> bool {
        let progress = self.progress();
        progress.generation == generation && matches!(progress.phase, Phase::Loading(_))
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
                CardShape::Whole => write_outgoing(found.text, uid, &self.book.pictures),
            };
            size += card.uid.len() + card.text.len();
            content.cards.push(card);
        })?;
        Ok(content)
    }

    fn brief_of(&self, text: &[u8], uid: &str) -> OutgoingCard {
        let revision = etui::contacts::Card::parse(text)
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
        let signals = {
            let mut progress = self.progress();
            match &mut progress.phase {
                Phase::Idle => return,
                Phase::Loading(waiting) => return waiting.push(updates.clone()),
                Phase::Live(known) => self.apply(known, updates),
            }
        };
        self.send(signals).await;
    }

    /// Compares changed contacts with the query and with the matches that the client knows.
    fn apply(&self, known: &mut HashSet<i64>, updates: &[RecordUpdate]) -> ViewSignals {
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
            self.emit("ObjectsRemoved", &(uids,)).await;
        }
        self.emit("Complete", &("", "")).await;
    }

    /// Sends contacts in batches, as pairs of card and UID or as UIDs.
    async fn send_contacts(&self, signal: &str, cards: Vec<OutgoingCard>) {
        let with_cards = self.settings().shape != CardShape::UidOnly;
        let mut batch: Vec<String> = Vec::new();
        let (mut count, mut bytes) = (0, 0);
        for card in cards {
            let size = card.text.len() + card.uid.len();
            if count == MAX_BATCH || (count > 0 && bytes + size > MAX_BATCH_BYTES) {
                self.emit(signal, &(std::mem::take(&mut batch),)).await;
                (count, bytes) = (0, 0);
            }
            if with_cards {
                batch.push(card.text);
            }
            batch.push(card.uid);
            count += 1;
            bytes += size;
        }
        if count > 0 {
            self.emit(signal, &(batch,)).await;
        }
    }

    /// Sends a signal to the view's owner.
    async fn emit<B>(&self, signal: &str, body: &B)
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let connection = &self.book.server.connection;
        let sent = match SignalEmitter::new(connection, self.path.as_str()) {
            Ok(emitter) => {
                let owner = BusName::Unique(self.owner.as_ref());
                let emitter = emitter.set_destination(owner);
                emitter.emit(VIEW_INTERFACE, signal, body).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = sent {
            tracing::warn!("a view's signal was not sent: {error}");
        }
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
