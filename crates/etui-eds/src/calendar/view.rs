//! [`ComponentView`]: a view of the components of a calendar.
//!
//! A view keeps a hash of each component that its client knows, so that a change of one instance of
//! a series is reported by itself.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, MutexGuard};

use etui::RecordId;
use etui::calendar::CalendarObject;
use zbus::object_server::SignalEmitter;

use super::lines::with_properties;
use super::opened::OpenedCalendar;
use super::query::CalendarQuery;
use super::reading::{MatchingComponent, for_each_candidate, matching_components};
use crate::error::{EdsError, EdsResult};
use crate::server::shared::Server;
use crate::server::view::{View, ViewContent, ViewQuery, ViewSignals, view_object};

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
pub(super) type KnownComponents = HashMap<i64, Vec<KnownComponent>>;

/// A component that the client knows.
pub(super) struct KnownComponent {
    /// The value of its `RECURRENCE-ID`.
    instance: String,
    hash: u64,
}

/// A query of a calendar, of which a view is.
pub(super) struct OpenedQuery {
    pub(super) opened: Arc<OpenedCalendar>,
    pub(super) query: CalendarQuery,
}

/// A view of one client.
pub(super) type ComponentView = View<OpenedQuery>;

view_object! {
    CalendarView, "org.gnome.evolution.dataserver.CalendarView", OpenedQuery
}

impl ViewQuery for OpenedQuery {
    type Object = CalendarView;
    /// The properties that the client wants; empty: all.
    type Shape = Vec<String>;
    type Known = KnownComponents;
    type Update = ObjectUpdate;
    type Match = String;
    const COMPLETES_CHANGES: bool = false;

    fn shape_of(fields: Vec<String>) -> Vec<String> {
        fields
    }

    fn server(&self) -> &Arc<Server> {
        &self.opened.server
    }

    fn views(&self) -> MutexGuard<'_, Vec<Arc<ComponentView>>> {
        self.opened.views()
    }

    fn read_content(&self, _: &Vec<String>, is_wanted: bool) -> EdsResult<ViewContent<Self>> {
        let (mut known, mut matches) = (KnownComponents::new(), Vec::new());
        let calendar = self.opened.calendar()?;
        let zones = self.opened.zones()?;
        for_each_candidate(&calendar, &self.query, &zones, |id, object| {
            let found = matching_components(&object, &self.query);
            if found.is_empty() {
                return;
            }
            known.insert(id.0, found.iter().map(KnownComponent::of).collect());
            if is_wanted {
                matches.extend(found.into_iter().map(|component| component.text));
            }
        })?;
        Ok(ViewContent {
            known,
            matches,
            rest: Vec::new(),
        })
    }

    /// All content is read at once.
    fn read_rest(&self, _: &[RecordId], _: &Vec<String>) -> EdsResult<Vec<String>> {
        Ok(Vec::new())
    }

    fn compare(
        &self,
        known: &mut KnownComponents,
        updates: &[ObjectUpdate],
        _: &Vec<String>,
    ) -> ViewSignals<String> {
        let mut signals = ViewSignals::default();
        for update in updates {
            let object = update.object.as_ref();
            let found = object.map(|object| matching_components(object, &self.query));
            signals.compare(known, update.id.0, &update.uid, found.unwrap_or_default());
        }
        signals
    }

    fn write(component: String, properties: &Vec<String>, batch: &mut Vec<String>) {
        batch.push(match properties.is_empty() {
            true => component,
            false => with_properties(&component, properties),
        });
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

impl ViewSignals<String> {
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
