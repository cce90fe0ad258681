//! Merging what two sides made of one record since they last agreed.
//!
//! ```text
//! both agreed on        ours                  theirs                merged
//! FN:Ada                FN:Ada                FN:Ada Lovelace       FN:Ada Lovelace
//! TEL:1                 TEL:1                 none                  none
//! EMAIL:a@b             EMAIL:a@b, EMAIL:c@d  EMAIL:a@b, EMAIL:e@f  all three
//! NOTE:x                NOTE:y                NOTE:z                the winner's, the other is a conflict
//! ```
//!
//! A change is what a side has that its own base has not, so that each side may have a base of its own:
//! servers rewrite what they store, and a rewriting is no edit. The merged text is that of ours with the
//! changes of theirs: lines that nobody changed keep their bytes.
//!
//! A component is the same on both sides if its [key](MergeRules::keys) is. Within it, lines of one property
//! are one value, or a set of values ([`MergeRules::sets`], and whatever occurs more than once). The element
//! of a set is known by its value; parameters, and the lines of its group (`item1.X-ABLabel`), describe it.
//! Of two sides of which one changed something and the other removed it, the change stays.

mod component;
mod elements;
mod splice;
mod tree;

use component::ComponentMerge;
use splice::Splices;
use tree::Component;

/// The text of a record on one side: when both sides last agreed, and now.
#[derive(Clone, Copy, Debug)]
pub struct MergeSide<'t> {
    /// The text of the last agreement; empty if there was none.
    pub base: &'t str,
    /// The text now.
    pub text: &'t str,
}

/// The side whose value is in the merged text where both changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWinner {
    /// The side whose text is edited.
    Ours,
    /// The other side.
    Theirs,
}

/// How the properties and components of a format are merged. Names are in upper case.
#[derive(Clone, Copy, Debug)]
pub struct MergeRules {
    /// Components, and the properties whose values tell those of one name apart. A component that is not
    /// listed is known by its whole text.
    pub keys: &'static [(&'static str, &'static [&'static str])],
    /// Components that are never removed, since others may name them.
    pub permanent: &'static [&'static str],
    /// Properties of which every value is an element of a set, even where there is one.
    pub sets: &'static [&'static str],
    /// Sets of which a line has several elements, separated by commas.
    pub lists: &'static [&'static str],
    /// Properties whose values are equal in any case of their letters.
    pub caseless: &'static [&'static str],
    /// Properties that together are one value.
    pub groups: &'static [PropertyGroup],
    /// Stamps and counters: the greater one of two is taken.
    pub greatest: &'static [&'static str],
    /// Properties of which ours are kept: they describe the file, not the record.
    pub ours: &'static [&'static str],
}

/// Properties that are one value, as the times of an event are.
#[derive(Clone, Copy, Debug)]
pub struct PropertyGroup {
    /// The name in conflicts.
    pub name: &'static str,
    /// The components that have them.
    pub components: &'static [&'static str],
    /// The properties.
    pub members: &'static [&'static str],
    /// Sets that belong to the value where a member changes, and are merged by themselves where none does.
    pub dependents: &'static [&'static str],
}

/// A merged record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The text.
    pub text: String,
    /// What both sides changed differently.
    pub conflicts: Vec<MergeConflict>,
}

/// A value that both sides changed, each in its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeConflict {
    /// The component, and the values of its key.
    pub component: String,
    /// The property, or the name of the [`PropertyGroup`].
    pub property: String,
    /// The lines of our side, unfolded.
    pub ours: Vec<String>,
    /// The lines of the other side, unfolded.
    pub theirs: Vec<String>,
}

/// Merges the changes of both sides. See the [module](self).
pub fn merge(
    ours: MergeSide<'_>,
    theirs: MergeSide<'_>,
    winner: MergeWinner,
    rules: &MergeRules,
) -> Merged {
    if (ours.base, ours.base) == (ours.text, theirs.base) {
        return Merged {
            text: theirs.text.to_owned(),
            conflicts: Vec::new(),
        };
    }
    let our_base = Component::parse(ours.base, rules);
    let our_text = Component::parse(ours.text, rules);
    let their_base = Component::parse(theirs.base, rules);
    let their_text = Component::parse(theirs.text, rules);
    let mut merge = ComponentMerge {
        rules,
        winner,
        splices: Splices::new(ours.text, theirs.text),
        conflicts: Vec::new(),
    };
    merge.component(Some(&our_base), &our_text, Some(&their_base), &their_text);
    Merged {
        text: merge.splices.apply(),
        conflicts: merge.conflicts,
    }
}

#[cfg(test)]
mod tests;
