//! The lines of a component as values of properties.

use std::collections::HashMap;

use super::MergeRules;
use super::tree::{Component, Line};

/// A value: a line with those of its group, or all lines of a group of properties.
#[derive(Debug)]
pub(super) struct Element<'c> {
    /// What it is known by: the value of its first line.
    pub(super) identity: String,
    /// What describes it.
    pub(super) attributes: String,
    /// The lines; that with the value is the first.
    pub(super) lines: Vec<&'c Line>,
}

impl Element<'_> {
    /// Returns all that it says.
    pub(super) fn said(&self) -> (&str, &str) {
        (&self.identity, &self.attributes)
    }

    pub(super) fn unfolded(&self) -> Vec<String> {
        self.lines
            .iter()
            .map(|line| line.unfolded.clone())
            .collect()
    }

    /// Returns true for a line without parameters and group.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.lines[..], [line] if line.group.is_none() && line.parameters.is_empty())
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
        let mut labelled: HashMap<&str, Vec<&Line>> = HashMap::new();
        for line in &component.lines {
            if let Some(group) = group_of(component, line, rules, is_wide) {
                of_groups[group].push(line);
            } else if let Some((label, _)) = &line.group {
                labelled.entry(label).or_default().push(line);
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
                        attributes: said.join("\n"),
                        lines,
                    };
                    all.push(rules.groups[group].name, element);
                }
                continue;
            }
            let mut lines = match &line.group {
                None => vec![line],
                // All of them are taken with the first one.
                Some((label, _)) => match labelled.remove(label.as_str()) {
                    Some(lines) => lines,
                    None => continue,
                },
            };
            // Apple's labels describe the other line of their group.
            let main = lines.iter().position(|line| !line.name.starts_with("X-AB"));
            let main = lines.remove(main.unwrap_or_default());
            let mut said = main.parameters.clone();
            said.extend(lines.iter().map(|line| line.said()));
            said.sort_unstable();
            lines.insert(0, main);
            let element = Element {
                identity: main.compared.clone(),
                attributes: said.join("\n"),
                lines,
            };
            all.push(&main.name, element);
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
        let mut all: Vec<_> = elements.iter().map(Element::said).collect();
        all.sort_unstable();
        all.into_iter()
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .collect::<Vec<_>>()
    };
    let same_order = || one.iter().zip(other).all(|(a, b)| a.said() == b.said());
    one.len() == other.len() && (same_order() || sorted(one) == sorted(other))
}

/// Numbers equal keys, so that each pair of key and number occurs once.
pub(super) fn numbered<T, K: std::hash::Hash + Eq + Clone>(
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

/// Returns for each key of the other side's base that of our base: the equal one; else, of those that are left,
/// the one with the same letters and digits, and where equally many are left, the one in its place: a server
/// has written it in its own way.
pub(super) fn correspondence<K: std::hash::Hash + Eq + Clone>(
    theirs: &[K],
    ours: &[K],
    loosely: impl Fn(&K) -> String,
) -> HashMap<K, K> {
    let known: std::collections::HashSet<&K> = ours.iter().collect();
    let mut pairs: HashMap<K, K> = HashMap::new();
    let (same, mut left): (Vec<&K>, Vec<&K>) = theirs.iter().partition(|key| known.contains(key));
    let taken: std::collections::HashSet<&K> = same.iter().copied().collect();
    let mut free: Vec<&K> = ours.iter().filter(|key| !taken.contains(key)).collect();
    pairs.extend(same.into_iter().map(|key| (key.clone(), key.clone())));
    let mut alike: HashMap<String, Vec<&K>> = HashMap::new();
    for key in free.iter().rev() {
        alike.entry(loosely(key)).or_default().push(key);
    }
    left.retain(|key| {
        let found = alike.get_mut(&loosely(key)).and_then(Vec::pop);
        if let Some(found) = found {
            pairs.insert((*key).clone(), found.clone());
        }
        found.is_none()
    });
    let used: std::collections::HashSet<&K> = pairs.values().collect();
    free.retain(|key| !used.contains(key));
    if free.len() == left.len() {
        let rest: Vec<(K, K)> = left
            .into_iter()
            .cloned()
            .zip(free.into_iter().cloned())
            .collect();
        pairs.extend(rest);
    }
    pairs
}

/// Returns letters and digits alone.
pub(super) fn loosely(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}
