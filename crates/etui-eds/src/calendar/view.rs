//! [`ViewState`]: a query whose matching components one client follows.
//!
//! ```text
//! idle ── Start ──► loading ──► live ── changes of the calendar, from the follower
//!   ▲                  │          │
//!   └────── Stop ──────┴──────────┘
//! ```
//!
//! While a view loads, changes wait; they are applied after the content is sent. So there is no gap
//! between the two, and one task at a time sends signals. A view keeps a hash of each component that
//! its client knows, so that a change of one instance of a series is reported by itself.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etui::RecordId;
use etui::calendar::CalendarObject;
use zbus::names::{BusName, OwnedUniqueName};
use zbus::object_server::SignalEmitter;

use super::lines::with_properties;
use super::opened::OpenedCalendar;
use super::query::CalendarQuery;
use super::reading::{MatchingComponent, for_each_candidate, matching_components};
use crate::error::EdsResult;
use crate::server::answer_on_worker;

/// The interface of the view's object.
const VIEW_INTERFACE: &str = "org.gnome.evolution.dataserver.CalendarView";
/// A signal has at most this many components.
const MAX_BATCH: usize = 256;
/// A signal has at most this many bytes, or one component.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// `Progress` with an unknown percentage.
const UNKNOWN_PERCENT: u32 = u32::MAX;
/// The flag by which a view reports what matches at the start.
const NOTIFY_INITIAL: u32 = 1;

/// A changed record of the calendar.
pub(super) struct ObjectUpdate {
    /// Its id in the store.
    pub(super) id: RecordId,
    /// Its UID.
    pub(super) uid: String,
    /// The object now; `None`: it was removed.
    pub(super) object: Option<CalendarObject>,
}

/// The components that a client knows, by record.
type KnownComponents = HashMap<i64, Vec<KnownComponent>>;

/// A component that the client knows.
struct KnownComponent {
    /// The value of its `RECURRENCE-ID`.
    instance: String,
    hash: u64,
}

/// The client's settings of a view.
#[derive(Debug, Clone)]
struct ViewSettings {
    flags: u32,
    /// The properties that the client wants; empty: all.
    properties: Vec<String>,
}

/// How far a view is. `generation` counts starts: a load of an earlier start gives up.
struct Progress {
    generation: u64,
    phase: Phase,
}

enum Phase {
    Idle,
    /// Changes that came while the content is sent.
    Loading(Vec<Arc<Vec<ObjectUpdate>>>),
    Live(KnownComponents),
}

/// A view of one client.
pub(super) struct ViewState {
    pub(super) opened: Arc<OpenedCalendar>,
    pub(super) path: String,
    owner: OwnedUniqueName,
    query: CalendarQuery,
    settings: Mutex<ViewSettings>,
    progress: Mutex<Progress>,
}

/// The signals for one set of changes.
#[derive(Debug, Default, PartialEq, Eq)]
struct ViewSignals {
    added: Vec<String>,
    modified: Vec<String>,
    removed: Vec<String>,
}

impl ViewState {
    /// Returns a view that is not started.
    pub(super) fn new(
        opened: Arc<OpenedCalendar>,
        path: String,
        owner: OwnedUniqueName,
        query: CalendarQuery,
    ) -> Self {
        Self {
            opened,
            path,
            owner,
            query,
            settings: Mutex::new(ViewSettings {
                flags: NOTIFY_INITIAL,
                properties: Vec::new(),
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

    /// Sets the properties that the client wants.
    pub(super) fn set_properties(&self, properties: Vec<String>) {
        self.settings().properties = properties;
    }

    /// Starts the view, if it is not.
    pub(super) fn start(self: &Arc<Self>) {
        let mut progress = self.progress();
        if let Phase::Idle = progress.phase {
            progress.generation += 1;
            progress.phase = Phase::Loading(Vec::new());
            let (view, generation) = (self.clone(), progress.generation);
            zruntime::spawn(async move { view.load(generation).await }).detach();
        }
    }

    /// Stops the view; it sends nothing more.
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
        let (mut known, components) = content;
        self.send_components("ObjectsAdded", components).await;
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

    /// Reads the matching components: all, and those to send.
    fn read_content(&self) -> EdsResult<(KnownComponents, Vec<String>)> {
        let is_wanted = self.settings().flags & NOTIFY_INITIAL != 0;
        let (mut known, mut texts) = (KnownComponents::new(), Vec::new());
        let calendar = self.opened.calendar()?;
        let zones = self.opened.zones()?;
        for_each_candidate(&calendar, &self.query, &zones, |id, object| {
            let found = matching_components(&object, &self.query);
            if found.is_empty() {
                return;
            }
            known.insert(id.0, found.iter().map(KnownComponent::of).collect());
            if is_wanted {
                texts.extend(found.into_iter().map(|component| component.text));
            }
        })?;
        Ok((known, texts))
    }

    /// Sends changes of the calendar, or keeps them until the content is sent.
    pub(super) async fn report(&self, updates: &Arc<Vec<ObjectUpdate>>) {
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

    fn apply(&self, known: &mut KnownComponents, updates: &[ObjectUpdate]) -> ViewSignals {
        let mut signals = ViewSignals::default();
        for update in updates {
            let object = update.object.as_ref();
            let found = object.map(|object| matching_components(object, &self.query));
            signals.compare(known, update.id.0, &update.uid, found.unwrap_or_default());
        }
        signals
    }

    async fn send(&self, signals: ViewSignals) {
        self.send_components("ObjectsAdded", signals.added).await;
        self.send_components("ObjectsModified", signals.modified)
            .await;
        for ids in signals.removed.chunks(MAX_BATCH) {
            self.emit("ObjectsRemoved", &(ids,)).await;
        }
    }

    /// Sends components in batches, with the properties that the client wants.
    async fn send_components(&self, signal: &str, components: Vec<String>) {
        let properties = self.settings().properties.clone();
        let mut batch: Vec<String> = Vec::new();
        let mut bytes = 0;
        for component in components {
            let component = match properties.is_empty() {
                true => component,
                false => with_properties(&component, &properties),
            };
            let size = component.len();
            let is_full = batch.len() == MAX_BATCH || bytes + size > MAX_BATCH_BYTES;
            if is_full && !batch.is_empty() {
                self.emit(signal, &(std::mem::take(&mut batch),)).await;
                bytes = 0;
            }
            batch.push(component);
            bytes += size;
        }
        if !batch.is_empty() {
            self.emit(signal, &(batch,)).await;
        }
    }

    /// Sends a signal to the view's owner.
    async fn emit<B>(&self, signal: &str, body: &B)
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let connection = &self.opened.server.connection;
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

impl KnownComponent {
    fn of(component: &MatchingComponent) -> Self {
        let mut hasher = DefaultHasher::new();
        component.text.hash(&mut hasher);
        Self {
            instance: component.instance.clone(),
            hash: hasher.finish(),
        }
    }
}

impl ViewSignals {
    /// Compares the matching components of a record with those that the client knows.
    fn compare(
        &mut self,
        known: &mut KnownComponents,
        id: i64,
        uid: &str,
        found: Vec<MatchingComponent>,
    ) {
        let before = known.remove(&id).unwrap_or_default();
        let now: Vec<KnownComponent> = found.iter().map(KnownComponent::of).collect();
        for (component, is) in std::iter::zip(found, &now) {
            match before.iter().find(|was| was.instance == is.instance) {
                None => self.added.push(component.text),
                Some(was) if was.hash != is.hash => self.modified.push(component.text),
                Some(_) => {}
            }
        }
        let is_gone = |was: &&KnownComponent| now.iter().all(|is| is.instance != was.instance);
        let gone = before.iter().filter(is_gone);
        self.removed
            .extend(gone.map(|was| match was.instance.as_str() {
                "" => uid.to_owned(),
                instance => format!("{uid}\n{instance}"),
            }));
        if !now.is_empty() {
            known.insert(id, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_component_is_compared_by_itself() {
        let component = |instance: &str, text: &str| MatchingComponent {
            instance: instance.to_owned(),
            text: text.to_owned(),
        };
        let mut known = KnownComponents::new();
        let mut report = |found: Vec<MatchingComponent>| {
            let mut signals = ViewSignals::default();
            signals.compare(&mut known, 1, "u", found);
            (signals.added, signals.modified, signals.removed)
        };
        let texts = |all: &[&str]| all.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let none = || texts(&[]);
        assert_eq!(
            report(vec![component("", "a")]),
            (texts(&["a"]), none(), none())
        );
        assert_eq!(
            report(vec![component("", "a"), component("1", "b")]),
            (texts(&["b"]), none(), none())
        );
        assert_eq!(
            report(vec![component("", "c"), component("1", "b")]),
            (none(), texts(&["c"]), none())
        );
        assert_eq!(
            report(vec![component("", "c")]),
            (none(), none(), texts(&["u\n1"]))
        );
        assert_eq!(report(vec![]), (none(), none(), texts(&["u"])));
        assert_eq!(report(vec![]), (none(), none(), none()));
    }
}
