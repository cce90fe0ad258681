//! [`ViewState`]: a query whose matching components one client follows.
//!
//! A view keeps a hash of each component that its client knows, so that a change of one instance of
//! a series is reported by itself.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etui::RecordId;
use etui::calendar::CalendarObject;
use zbus::names::OwnedUniqueName;

use super::lines::with_properties;
use super::opened::OpenedCalendar;
use super::query::CalendarQuery;
use super::reading::{MatchingComponent, for_each_candidate, matching_components};
use crate::error::EdsResult;
use crate::server::guard::answer_on_worker;
use crate::server::view_life::{MAX_BATCH, NOTIFY_INITIAL, ViewChannel, ViewLife};

/// The interface of the view's object.
const VIEW_INTERFACE: &str = "org.gnome.evolution.dataserver.CalendarView";

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

/// A view of one client.
pub(super) struct ViewState {
    pub(super) opened: Arc<OpenedCalendar>,
    pub(super) channel: ViewChannel,
    query: CalendarQuery,
    settings: Mutex<ViewSettings>,
    life: ViewLife<KnownComponents, ObjectUpdate>,
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
        let channel = ViewChannel {
            interface: VIEW_INTERFACE,
            connection: opened.server.connection.clone(),
            path,
            owner,
        };
        Self {
            opened,
            channel,
            query,
            settings: Mutex::new(ViewSettings {
                flags: NOTIFY_INITIAL,
                properties: Vec::new(),
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

    /// Sets the properties that the client wants.
    pub(super) fn set_properties(&self, properties: Vec<String>) {
        self.settings().properties = properties;
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
        let (mut known, components) = answer_on_worker(move || view.read_content()).await?;
        self.send_components("ObjectsAdded", components).await;
        self.channel.send_complete(None).await;
        while let Some((now, waiting)) = self.life.take_waiting(generation, known) {
            known = now;
            for updates in waiting {
                let signals = self.compare(&mut known, &updates);
                self.send(signals).await;
            }
        }
        Ok(())
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
    pub(super) async fn send_updates(&self, updates: &Arc<Vec<ObjectUpdate>>) {
        let compare = |known: &mut KnownComponents| self.compare(known, updates);
        if let Some(signals) = self.life.apply(updates, compare) {
            self.send(signals).await;
        }
    }

    fn compare(&self, known: &mut KnownComponents, updates: &[ObjectUpdate]) -> ViewSignals {
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
            self.channel.emit("ObjectsRemoved", &(ids,)).await;
        }
    }

    /// Sends components in batches, with the properties that the client wants.
    async fn send_components(&self, signal: &str, components: Vec<String>) {
        let properties = self.settings().properties.clone();
        let write = |component: String, batch: &mut Vec<String>| {
            batch.push(match properties.is_empty() {
                true => component,
                false => with_properties(&component, &properties),
            });
        };
        self.channel.send_batches(signal, components, write).await;
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
