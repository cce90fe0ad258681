//! The vocabulary of generated events.

use std::sync::LazyLock;

use crate::text::{List, list};

/// The lists of `words.txt`.
pub(super) struct EventVocabulary {
    pub activities: List,
    /// Objects of an activity; an empty one is omitted.
    pub objects: List,
    pub places: List,
    pub notes: List,
    pub categories: List,
}

pub(super) static WORDS: LazyLock<EventVocabulary> = LazyLock::new(|| {
    let list = |name| list(include_str!("words.txt"), name);
    EventVocabulary {
        activities: list("activities"),
        objects: list("objects"),
        places: list("places"),
        notes: list("notes"),
        categories: list("categories"),
    }
});
