//! The lines of a component as values of properties.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::MergeRules;
use super::tree::{Component, Line};

/// A value: a line with those of its group, or all lines of a group of properties.
#[derive(Debug)]
pub(super) struct Element<'c> {
    /// What it is known by: the value of its first line.
    pub(super) identity: String,
    /// What describes it, in one order: parameters, and the labels of its group.
    pub(super) attributes: Vec<String>,
    /// The lines; that with the value is the first.
    pub(super) lines: Vec<&'c Line>,
}

impl Element<'_> {
    /// Returns all that it says.
    pub(super) fn said(&self) -> (&str, &[String]) {
        (&self.identity, &self.attributes)
    }

    pub(super) fn unfolded(&self) -> Vec<String> {
        self.lines
            .iter()
            .map(|line| line.unfolded.clone())
            .collect()
    }

    pub(super) fn is_grouped(&self) -> bool {
        self.lines.iter().any(|line| line.group.is_some())
    }

    /// Returns true for a line without a group.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.lines[..], [line] if line.group.is_none())
    }
}

/// The values of a component by the names of their properties, in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Elements<'c> {
    names: Vec<String>,
    by_name: HashMap<String, Vec<Element<'c>>>,
}

impl<'c> Elements<'c> {
    /// `is_wide` has for each group of the rules whether it includes its dependents.
    pub(super) fn new(component: &'c Component, rules: &MergeRules, is_wide: &[bool]) -> Self {
        let mut all = Self::default();
        let mut of_groups: Vec<Vec<&Line>> = vec![Vec::new(); rules.groups.len()];
        let mut labels: HashMap<&str, Vec<&Line>> = HashMap::new();
        let mut labelled: HashSet<&str> = HashSet::new();
        for line in &component.lines {
            if let Some(group) = group_of(component, line, rules, is_wide) {
                of_groups[group].push(line);
            } else if let Some((group, _)) = &line.group {
                match is_label(line) {
                    true => labels.entry(group).or_default().push(line),
                    false => {
                        labelled.insert(group);
                    }
                }
            }
        }
        let mut joined = vec![false; rules.groups.len()];
        for line in &component.lines {
            if let Some(group) = group_of(component, line, rules, is_wide) {
                if !std::mem::replace(&mut joined[group], true) {
                    let lines = std::mem::take(&mut of_groups[group]);
                    let mut said: Vec<String> = lines.iter().map(|line| line.said()).collect();
                    said.sort_unstable();
                    let element = Element {
                        identity: String::new(),
                        attributes: said,
                        lines,
                    };
                    all.push(rules.groups[group].name, element);
                }
                continue;
            }
            let mut lines = vec![line];
            if let Some((group, _)) = &line.group {
                match is_label(line) {
                    // It is with the line that it describes.
                    true if labelled.contains(group.as_str()) => continue,
                    true => {}
                    false => lines.extend(labels.remove(group.as_str()).unwrap_or_default()),
                }
            }
            let mut attributes = line.parameters.clone();
            attributes.extend(lines.iter().skip(1).map(|label| label.said()));
            attributes.sort_unstable();
            let element = Element {
                identity: line.compared.clone(),
                attributes,
                lines,
            };
            all.push(&line.name, element);
        }
        all
    }

    fn push(&mut self, name: &str, element: Element<'c>) {
        if !self.by_name.contains_key(name) {
            self.names.push(name.to_owned());
        }
        self.by_name
            .entry(name.to_owned())
            .or_default()
            .push(element);
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(super) fn named(&self, name: &str) -> &[Element<'c>] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Returns true for a line that describes the other one of its group, as Apple's programs write them.
fn is_label(line: &Line) -> bool {
    matches!(line.name.as_str(), "X-ABLABEL" | "X-ABADR")
}

/// Returns the group of properties that a line belongs to.
fn group_of(
    component: &Component,
    line: &Line,
    rules: &MergeRules,
    is_wide: &[bool],
) -> Option<usize> {
    let name = line.name.as_str();
    rules.groups.iter().zip(is_wide).position(|(group, wide)| {
        group.components.contains(&component.name.as_str())
            && (group.members.contains(&name) || (*wide && group.dependents.contains(&name)))
    })
}

/// Returns true if both have the same values, in any order.
pub(super) fn say_same(one: &[Element<'_>], other: &[Element<'_>]) -> bool {
    let sorted = |elements: &'_ [Element<'_>]| {
        let each = elements.iter().map(Element::said);
        let mut all: Vec<_> = each.map(|(a, b)| (a.to_owned(), b.to_vec())).collect();
        all.sort_unstable();
        all
    };
    let same_order = || one.iter().zip(other).all(|(a, b)| a.said() == b.said());
    one.len() == other.len() && (same_order() || sorted(one) == sorted(other))
}

/// Numbers equal keys, so that each pair of key and number occurs once.
pub(super) fn numbered<T, K: Hash + Eq + Clone>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<((K, usize), T)> {
    let mut counts: HashMap<K, usize> = HashMap::new();
    let numbered = items.into_iter().map(|item| {
        let key = key(&item);
        let count = counts.entry(key.clone()).or_default();
        *count += 1;
        ((key, *count), item)
    });
    numbered.collect()
}

/// The keys of the other side's base beside those of ours: the equal one; else, of those that are left, the one with
/// the same letters and digits, and where a family has one left on each side, that: a server has written it in its
/// own way. What has no family is equal or another.
#[derive(Debug)]
pub(super) struct BasePairs<K> {
    ours: HashMap<K, K>,
    theirs: HashMap<K, K>,
}

impl<K: Hash + Eq + Clone> BasePairs<K> {
    pub(super) fn new(
        theirs: &[K],
        ours: &[K],
        loosely: impl Fn(&K) -> String,
        family: impl Fn(&K) -> Option<String>,
    ) -> Self {
        let known: HashSet<&K> = ours.iter().collect();
        let (same, left): (Vec<&K>, Vec<&K>) = theirs.iter().partition(|key| known.contains(key));
        let taken: HashSet<&K> = same.iter().copied().collect();
        let free: Vec<&K> = ours.iter().filter(|key| !taken.contains(key)).collect();
        let equal = same.into_iter().map(|key| (key.clone(), key.clone()));
        let mut pairs: HashMap<K, K> = equal.collect();
        let (left, free) = pair_alone(&mut pairs, left, free, |key| Some(loosely(key)));
        pair_alone(&mut pairs, left, free, family);
        let turned = pairs
            .iter()
            .map(|(theirs, ours)| (ours.clone(), theirs.clone()));
        Self {
            theirs: turned.collect(),
            ours: pairs,
        }
    }

    /// Returns our key for one of their base.
    pub(super) fn ours<'k>(&'k self, base: &'k K) -> &'k K {
        self.ours.get(base).unwrap_or(base)
    }

    /// Returns the keys of their base and of ours for a key that theirs has now. One that is written as ours may be
    /// that of their base in the server's notation, if this is not in theirs any more.
    pub(super) fn of<'k>(
        &'k self,
        key: &'k K,
        is_in_base: impl Fn(&K) -> bool,
        is_in_theirs: impl Fn(&K) -> bool,
    ) -> (&'k K, &'k K) {
        let renamed = self.theirs.get(key).filter(|base| !is_in_theirs(base));
        let base = match is_in_base(key) {
            true => key,
            false => renamed.unwrap_or(key),
        };
        (base, self.ours.get(base).unwrap_or(key))
    }
}

/// Pairs those that are the only ones with their trait on their side; returns the others.
fn pair_alone<'k, K: Hash + Eq + Clone>(
    pairs: &mut HashMap<K, K>,
    theirs: Vec<&'k K>,
    ours: Vec<&'k K>,
    trait_of: impl Fn(&K) -> Option<String>,
) -> (Vec<&'k K>, Vec<&'k K>) {
    let mut by_trait: HashMap<String, [Vec<&K>; 2]> = HashMap::new();
    for (side, keys) in [&theirs, &ours].into_iter().enumerate() {
        for key in keys {
            if let Some(found) = trait_of(key) {
                by_trait.entry(found).or_default()[side].push(key);
            }
        }
    }
    let mut paired: HashSet<&K> = HashSet::new();
    for [of_theirs, of_ours] in by_trait.into_values() {
        if let ([theirs], [ours]) = (&of_theirs[..], &of_ours[..]) {
            pairs.insert((*theirs).clone(), (*ours).clone());
            paired.extend([*theirs, *ours]);
        }
    }
    let rest = |keys: Vec<&'k K>| {
        keys.into_iter()
            .filter(|key| !paired.contains(key))
            .collect()
    };
    (rest(theirs), rest(ours))
}

/// Returns letters and digits alone.
pub(super) fn loosely(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}
