//! [`ComponentGrouper`]: from components in the order of the input to records.
//!
//! ```text
//! input      A  A' B  B  C  A'' ...        A', A'': instances of A, changed
//! groups     [A  A'] [B] [C] [A'' continues]
//!                     '- the second B says the same as the first: left out
//! ```
//!
//! Only the components of one UID are held at a time, and a number for each UID met. Who imports
//! saves a group as a record, and joins one that `continues` to the record of its UID
//! ([`Record::join`](crate::CalendarObject::merge)).

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::piece::{ComponentKind, RawComponent};
use super::reader::MAX_COMPONENT;
use etui_contentline::uid_set::UidSet;

/// Components of one UID that stood one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentGroup {
    /// Their UID; without one, a component is a group by itself.
    pub uid: Option<String>,
    /// They, in their order.
    pub components: Vec<RawComponent>,
    /// Components of this UID came before, in an earlier group.
    pub continues: bool,
}

impl ComponentGroup {
    /// Their bytes, in their order: the text of a record.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let parts: Vec<&[u8]> = self.components.iter().map(|c| &*c.bytes).collect();
        parts.concat()
    }
}

/// What a component was to the group it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupOutcome {
    /// It is in the group that is being gathered.
    Taken,
    /// The group has it already, byte for byte: it was left out.
    Repeated,
    /// The group has another one for the same instance; the earlier one is kept.
    Refused(RawComponent),
}

/// Gathers the components of a UID while they stand one behind the other.
#[derive(Debug, Default)]
pub struct ComponentGrouper {
    open: Option<ComponentGroup>,
    /// Its bytes, and which component of it stands for which instance.
    bytes: usize,
    places: HashMap<(ComponentKind, Option<String>), usize>,
    seen: UidSet,
    hasher: RandomState,
}

impl ComponentGrouper {
    /// Before the first component.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next component: the group that is complete by that, and what became of the
    /// component.
    pub fn push(&mut self, component: RawComponent) -> (Option<ComponentGroup>, GroupOutcome) {
        let place = (component.kind, component.replaces.clone());
        if let Some(open) = &mut self.open
            && open.uid.is_some()
            && open.uid == component.uid
            && self.bytes + component.bytes.len() <= MAX_COMPONENT
        {
            let same = self
                .places
                .get(&place)
                .and_then(|&at| open.components.get(at));
            return match same {
                Some(same) if same.bytes == component.bytes => (None, GroupOutcome::Repeated),
                Some(_) => (None, GroupOutcome::Refused(component)),
                None => {
                    self.places.insert(place, open.components.len());
                    self.bytes += component.bytes.len();
                    open.components.push(component);
                    (None, GroupOutcome::Taken)
                }
            };
        }
        self.places.clear();
        self.places.insert(place, 0);
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

    /// The last group.
    pub fn finish(&mut self) -> Option<ComponentGroup> {
        self.open.take()
    }
}
