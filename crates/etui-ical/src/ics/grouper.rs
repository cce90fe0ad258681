//! [`ComponentGrouper`]: components in the order of the input to groups of one UID.
//!
//! ```text
//! input      A  A' B  B  C  A'' ...        A', A'': overrides of A
//! groups     [A  A'] [B] [C] [A'' continues]
//!                      '- the second B equals the first: dropped
//! ```
//!
//! Only the components of one UID are held at a time, plus a number for each UID seen. An importer
//! saves a group as a calendar object and merges one that `continues` into the object of its UID
//! ([`CalendarObject::merge`](crate::CalendarObject::merge)).

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::pieces::{ComponentKind, RawComponent};
use super::reader::MAX_COMPONENT;
use etui_contentline::uid_set::UidSet;

/// Consecutive components of one UID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentGroup {
    /// The UID; a component without one is a group by itself.
    pub uid: Option<String>,
    /// The components in their order.
    pub components: Vec<RawComponent>,
    /// Whether an earlier group has this UID.
    pub continues: bool,
}

impl ComponentGroup {
    /// Returns the bytes of the components in their order: the text of a calendar object.
    pub fn text(&self) -> Vec<u8> {
        let parts: Vec<&[u8]> = self.components.iter().map(|c| &*c.bytes).collect();
        parts.concat()
    }
}

/// The result of adding a component to a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupOutcome {
    /// The component is in the current group.
    Taken,
    /// The group has the component already, byte for byte: it is dropped.
    Repeated,
    /// The group has another component for the same instance; the earlier one is kept.
    Refused(RawComponent),
}

/// Collects consecutive components of a UID.
#[derive(Debug, Default)]
pub struct ComponentGrouper {
    open: Option<ComponentGroup>,
    /// Size of the group, and the index of the component for each instance.
    bytes: usize,
    instances: HashMap<(ComponentKind, Option<String>), usize>,
    seen: UidSet,
    hasher: RandomState,
}

impl ComponentGrouper {
    /// Returns an empty grouper.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next component. Returns the group that is complete by that, and the outcome for the
    /// component.
    pub fn push(&mut self, component: RawComponent) -> (Option<ComponentGroup>, GroupOutcome) {
        let instance = (component.kind, component.recurrence_id.clone());
        if let Some(open) = &mut self.open
            && open.uid.is_some()
            && open.uid == component.uid
            && self.bytes + component.bytes.len() <= MAX_COMPONENT
        {
            let same = self
                .instances
                .get(&instance)
                .and_then(|&at| open.components.get(at));
            return match same {
                Some(same) if same.bytes == component.bytes => (None, GroupOutcome::Repeated),
                Some(_) => (None, GroupOutcome::Refused(component)),
                None => {
                    self.instances.insert(instance, open.components.len());
                    self.bytes += component.bytes.len();
                    open.components.push(component);
                    (None, GroupOutcome::Taken)
                }
            };
        }
        self.instances.clear();
        self.instances.insert(instance, 0);
        self.bytes = component.bytes.len();
        let continues = component
            .uid
            .as_ref()
            .is_some_and(|uid| !self.seen.insert(self.hasher.hash_one(uid.as_bytes())));
        let group = ComponentGroup {
            uid: component.uid.clone(),
            components: vec![component],
            continues,
        };
        (self.open.replace(group), GroupOutcome::Taken)
    }

    /// Returns the last group.
    pub fn finish(&mut self) -> Option<ComponentGroup> {
        self.open.take()
    }
}
