//! The merge of a component, and of those within it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::elements::{Element, Elements, correspondence, loosely, numbered, say_same};
use super::splice::{Groups, Splices, head, told};
use super::tree::Component;
use super::{MergeConflict, MergeRules, MergeWinner};
use crate::values::split_list;

#[derive(Debug)]
pub(super) struct ComponentMerge<'t> {
    pub(super) rules: &'t MergeRules,
    pub(super) winner: MergeWinner,
    pub(super) splices: Splices<'t>,
    pub(super) conflicts: Vec<MergeConflict>,
}

/// Name, key and number of a component.
type ComponentKey = ((String, String), usize);

/// The values of one property on both sides.
struct Property<'a, 'c> {
    name: &'a str,
    our_base: &'a [Element<'c>],
    ours: &'a [Element<'c>],
    their_base: &'a [Element<'c>],
    theirs: &'a [Element<'c>],
}

impl ComponentMerge<'_> {
    /// Merges a component that both sides have.
    pub(super) fn component(
        &mut self,
        our_base: Option<&Component>,
        ours: &Component,
        their_base: Option<&Component>,
        theirs: &Component,
    ) {
        self.properties(our_base, ours, their_base, theirs);
        self.children(our_base, ours, their_base, theirs);
    }

    fn children(
        &mut self,
        our_base: Option<&Component>,
        ours: &Component,
        their_base: Option<&Component>,
        theirs: &Component,
    ) {
        let key = |child: &&Component| (child.name.clone(), child.key.clone());
        let (our_base, their_base) = (
            numbered(children_of(our_base), key),
            numbered(children_of(their_base), key),
        );
        let ours_numbered = numbered(&ours.children, key);
        let theirs_numbered = numbered(&theirs.children, key);
        let keys = |all: &[(ComponentKey, &Component)]| -> Vec<ComponentKey> {
            all.iter().map(|(key, _)| key.clone()).collect()
        };
        let (their_keys, our_keys) = (keys(&their_base), keys(&our_base));
        let pairs = correspondence(&their_keys, &our_keys, |((name, key), count)| {
            format!("{name} {} {count}", loosely(key))
        });
        let our_base: HashMap<_, &Component> = our_base.into_iter().collect();
        let their_base_by_key: HashMap<_, &Component> = their_base.iter().cloned().collect();
        let ours_by_key: HashMap<_, &Component> = ours_numbered.into_iter().collect();
        for (key, theirs) in &theirs_numbered {
            let base = their_base_by_key.get(key).copied();
            let our_key = base.and_then(|_| pairs.get(key)).unwrap_or(key);
            match (ours_by_key.get(our_key), base) {
                (Some(own), _) => {
                    let own_base = our_base.get(our_key).copied();
                    self.component(own_base, own, base, theirs);
                }
                (None, Some(base)) if self.say_same(base, theirs) => {}
                (None, _) => self.splices.add_component(ours, theirs),
            }
        }
        let left: HashMap<_, &Component> = theirs_numbered.into_iter().collect();
        for (key, _) in their_base.iter().filter(|(key, _)| !left.contains_key(key)) {
            let our_key = pairs.get(key).unwrap_or(key);
            let own = ours_by_key.get(our_key).zip(our_base.get(our_key));
            if let Some((own, base)) = own
                && !self.rules.permanent.contains(&own.name.as_str())
                && self.say_same(base, own)
            {
                self.splices.remove(own.span.clone());
            }
        }
    }

    /// Returns true if two components have the same values, stamps apart.
    fn say_same(&self, one: &Component, other: &Component) -> bool {
        self.said(one) == self.said(other)
    }

    fn said(&self, component: &Component) -> Vec<String> {
        let is_stamp =
            |name: &str| self.rules.greatest.contains(&name) || self.rules.ours.contains(&name);
        let lines = component.lines.iter().filter(|line| !is_stamp(&line.name));
        let mut all: Vec<String> = lines.map(super::tree::Line::said).collect();
        for child in &component.children {
            all.push(format!("{}\n{}", child.name, self.said(child).join("\n")));
        }
        all.sort_unstable();
        all
    }

    fn properties(
        &mut self,
        our_base: Option<&Component>,
        ours: &Component,
        their_base: Option<&Component>,
        theirs: &Component,
    ) {
        let rules = self.rules;
        let narrow = vec![false; rules.groups.len()];
        let narrow_of = |component| Elements::new(component, rules, &narrow);
        let (own, other) = (narrow_of(ours), narrow_of(theirs));
        let bases = (our_base.map(narrow_of), their_base.map(narrow_of));
        let is_changed = |name| match &bases {
            (Some(own_base), Some(other_base)) => {
                !say_same(own_base.named(name), own.named(name))
                    || !say_same(other_base.named(name), other.named(name))
            }
            _ => !say_same(own.named(name), other.named(name)),
        };
        let wide: Vec<bool> = rules
            .groups
            .iter()
            .map(|group| is_changed(group.name))
            .collect();
        let elements = |component| Elements::new(component, rules, &wide);
        let (own, other) = (elements(ours), elements(theirs));
        let own_base = our_base.map(elements).unwrap_or_default();
        let other_base = their_base.map(elements).unwrap_or_default();
        let mut groups = Groups::of(ours);
        let gone = other_base
            .names()
            .filter(|name| other.named(name).is_empty());
        for name in other.names().chain(gone) {
            let property = Property {
                name,
                our_base: own_base.named(name),
                ours: own.named(name),
                their_base: other_base.named(name),
                theirs: other.named(name),
            };
            self.property(ours, &mut groups, &property);
        }
    }

    fn property(&mut self, component: &Component, groups: &mut Groups, p: &Property<'_, '_>) {
        let rules = self.rules;
        if rules.ours.contains(&p.name)
            || say_same(p.their_base, p.theirs)
            || say_same(p.ours, p.theirs)
        {
            return;
        }
        let all = [p.our_base, p.ours, p.their_base, p.theirs];
        let all_plain = all.iter().all(|side| side.iter().all(Element::is_plain));
        if rules.lists.contains(&p.name) && all_plain {
            self.list(component, p);
        } else if rules.sets.contains(&p.name)
            || rules.lists.contains(&p.name)
            || all.iter().any(|side| side.len() > 1)
        {
            self.set(component, groups, p);
        } else {
            self.single(component, groups, p);
        }
    }

    /// Merges a property that has one value. The other side's is another than before, and than ours.
    fn single(&mut self, component: &Component, groups: &mut Groups, p: &Property<'_, '_>) {
        let is_ours_changed = !say_same(p.our_base, p.ours);
        let takes_theirs = match (p.ours, p.theirs) {
            _ if !is_ours_changed => true,
            // What one side removed and the other changed stays.
            ([], _) => true,
            (_, []) => false,
            ([own, ..], [other, ..]) if self.rules.greatest.contains(&p.name) => {
                compare_stamps(&other.identity, &own.identity).is_gt()
            }
            _ => {
                self.conflict(component, p.name, told(p.ours), told(p.theirs));
                self.winner == MergeWinner::Theirs
            }
        };
        if takes_theirs {
            let new: Vec<&Element<'_>> = p.theirs.iter().collect();
            let old: Vec<&Element<'_>> = p.ours.iter().collect();
            self.splices.replace(component, groups, &old, &new, None);
        }
    }

    /// Merges a property whose values are a set.
    fn set(&mut self, component: &Component, groups: &mut Groups, p: &Property<'_, '_>) {
        let by_key = |side| {
            let each = distinct(side);
            numbered(each, |element: &&Element<'_>| element.identity.clone())
        };
        let (our_base, their_base) = (by_key(p.our_base), by_key(p.their_base));
        let keys = |all: &[((String, usize), _)]| -> Vec<(String, usize)> {
            all.iter().map(|(key, _)| key.clone()).collect()
        };
        let pairs = correspondence(&keys(&their_base), &keys(&our_base), |(key, count)| {
            format!("{} {count}", loosely(key))
        });
        let our_base: HashMap<_, _> = our_base.into_iter().collect();
        let ours: HashMap<_, _> = by_key(p.ours).into_iter().collect();
        let theirs = by_key(p.theirs);
        let base_of_theirs: HashMap<_, _> = their_base.iter().cloned().collect();
        let last = p.ours.last();
        // A value that stands there twice is changed twice.
        let mut copies: HashMap<(&str, &str), Vec<&Element<'_>>> = HashMap::new();
        for own in p.ours {
            copies.entry(own.said()).or_default().push(own);
        }
        for (key, new) in &theirs {
            let base = base_of_theirs.get(key);
            let our_key = base.and_then(|_| pairs.get(key)).unwrap_or(key);
            let is_described_anew = base.is_none_or(|base| base.attributes != new.attributes);
            let Some(own) = ours.get(our_key) else {
                if is_described_anew {
                    self.splices.replace(component, groups, &[], &[new], last);
                }
                continue;
            };
            if own.attributes == new.attributes || !is_described_anew {
                continue;
            }
            let own_base = our_base.get(our_key);
            let takes_theirs = if own_base.is_some_and(|base| base.attributes == own.attributes) {
                true
            } else {
                self.conflict(component, p.name, own.unfolded(), new.unfolded());
                self.winner == MergeWinner::Theirs
            };
            if takes_theirs {
                let old = copies.get(&own.said()).map_or(&[][..], Vec::as_slice);
                self.splices.replace(component, groups, old, &[new], None);
            }
        }
        let left: HashMap<_, _> = theirs.into_iter().collect();
        for (key, _) in their_base.iter().filter(|(key, _)| !left.contains_key(key)) {
            let our_key = pairs.get(key).unwrap_or(key);
            let own = ours.get(our_key).zip(our_base.get(our_key));
            if let Some((own, _)) = own.filter(|(own, base)| own.attributes == base.attributes) {
                let old = copies.get(&own.said()).map_or(&[][..], Vec::as_slice);
                self.splices.replace(component, groups, old, &[], None);
            }
        }
    }

    /// Merges a property whose lines have several values each.
    fn list(&mut self, component: &Component, p: &Property<'_, '_>) {
        let values = |side: &[Element<'_>]| -> Vec<String> {
            let lines = side.iter().filter_map(|element| element.lines.first());
            let all = lines.flat_map(|line| split_list(&line.value).map(str::trim));
            let all = all.filter(|value| !value.is_empty());
            all.map(str::to_owned).collect()
        };
        let (before, now, own) = (values(p.their_base), values(p.theirs), values(p.ours));
        let set = |values: &[String]| values.iter().cloned().collect::<HashSet<String>>();
        let (was, is, has) = (set(&before), set(&now), set(&own));
        let stays = |value: &&String| is.contains(*value) || !was.contains(*value);
        let is_new = |value: &&String| !was.contains(*value) && !has.contains(*value);
        let kept = own.iter().filter(stays).chain(now.iter().filter(is_new));
        let merged: Vec<&str> = kept.map(String::as_str).collect();
        if merged.len() == own.len() && merged.iter().zip(&own).all(|(a, b)| a == b) {
            return;
        }
        let first = p.ours.first().or(p.theirs.first());
        let head = first.and_then(|element| Some(head(element.lines.first()?)));
        let line = head.map(|head| format!("{head}{}", merged.join(",")));
        let line = line.filter(|_| !merged.is_empty());
        self.splices.write_line(component, p.ours, line.as_deref());
    }

    fn conflict(
        &mut self,
        component: &Component,
        property: &str,
        ours: Vec<String>,
        theirs: Vec<String>,
    ) {
        self.conflicts.push(MergeConflict {
            component: component.label(),
            property: property.to_owned(),
            ours,
            theirs,
        });
    }
}

/// Returns the values without those that say the same as one before.
fn distinct<'e, 'c>(elements: &'e [Element<'c>]) -> impl Iterator<Item = &'e Element<'c>> {
    let mut said = HashSet::new();
    let each = elements.iter();
    each.filter(move |element| said.insert(element.said()))
}

fn children_of(component: Option<&Component>) -> &[Component] {
    component.map_or(&[], |component| &component.children)
}

/// Compares numbers, or times in either notation of ISO 8601, without fractions of a second.
pub(super) fn compare_stamps(one: &str, other: &str) -> Ordering {
    let digits = |text: &str| -> String {
        let whole = text.split(['.', ',']).next().unwrap_or_default();
        let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
        digits.trim_start_matches('0').to_owned()
    };
    let (one, other) = (digits(one), digits(other));
    // Of two numbers the longer one is greater.
    one.len().cmp(&other.len()).then_with(|| one.cmp(&other))
}
