//! The merge of a component, and of those within it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::elements::{BasePairs, Element, Elements, loosely, numbered, say_same};
use super::splice::{Groups, Splices, told};
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

/// A value; with its attributes where one occurs with several.
type ElementKey = (String, Vec<String>);

/// Name, key and number of a component.
type ComponentKey = ((String, String), usize);

/// The lines of a list that have the same parameters.
struct ListLines<'v, 'c> {
    /// Name and parameters as written.
    head: &'v str,
    /// The lines of ours.
    old: Vec<&'v Element<'c>>,
    /// The number of the values of ours.
    now: usize,
    merged: Vec<&'v str>,
}

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
        let is_permanent = |name: &str| self.rules.permanent.contains(&name);
        let pairs = BasePairs::new(
            &their_keys,
            &our_keys,
            |((name, key), count)| match is_permanent(name) {
                // A zone by another name is another zone.
                true => format!("{name} {key} {count}"),
                false => format!("{name} {} {count}", loosely(key)),
            },
            |((name, _), _)| Some(name.clone()).filter(|name| !is_permanent(name)),
        );
        let our_base: HashMap<_, &Component> = our_base.into_iter().collect();
        let their_base_by_key: HashMap<_, &Component> = their_base.iter().cloned().collect();
        let ours_by_key: HashMap<_, &Component> = ours_numbered.into_iter().collect();
        let theirs_by_key: HashMap<_, &Component> = theirs_numbered.iter().cloned().collect();
        let mut seen: HashSet<&ComponentKey> = HashSet::new();
        for (key, theirs) in &theirs_numbered {
            let (base_key, our_key) = pairs.of(
                key,
                |key| their_base_by_key.contains_key(key),
                |key| theirs_by_key.contains_key(key),
            );
            let base = their_base_by_key.get(base_key).copied();
            seen.insert(our_key);
            match (ours_by_key.get(our_key), base) {
                (Some(own), _) => {
                    let own_base = our_base.get(our_key).copied();
                    self.component(own_base, own, base, theirs);
                }
                (None, Some(base)) if self.say_same(base, theirs) => {}
                // Zones are added at the end, if a time that is taken has them.
                (None, _) if self.rules.permanent.contains(&theirs.name.as_str()) => {}
                (None, _) => self.splices.add_component(ours, theirs),
            }
        }
        for (key, _) in &their_base {
            let our_key = pairs.ours(key);
            let own = ours_by_key.get(our_key).zip(our_base.get(our_key));
            if let Some((own, base)) = own
                && !theirs_by_key.contains_key(key)
                && !seen.contains(our_key)
                && !self.rules.permanent.contains(&own.name.as_str())
                && self.say_same(base, own)
            {
                self.splices.remove(own.span.clone());
            }
        }
        let is_new = |(key, theirs): &&(ComponentKey, &Component)| {
            let name = theirs.name.as_str();
            self.rules.permanent.contains(&name) && !ours_by_key.contains_key(key)
        };
        let new: Vec<&Component> = theirs_numbered
            .iter()
            .filter(is_new)
            .map(|found| found.1)
            .collect();
        if !new.is_empty() {
            let taken = self.splices.taken_parameters();
            for theirs in new.into_iter().filter(|theirs| taken.contains(&theirs.key)) {
                self.splices.add_component(ours, theirs);
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
        let are_alone = all.iter().all(|side| side.iter().all(Element::is_alone));
        if rules.lists.contains(&p.name) && are_alone {
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
        let sides = [p.our_base, p.ours, p.their_base, p.theirs];
        let described = described_differently(sides);
        let by_key = |side| -> Vec<(ElementKey, &Element<'_>)> {
            let each = distinct(side);
            each.map(|element| {
                let is_known = !described.contains(element.identity.as_str());
                let attributes = if is_known {
                    &[][..]
                } else {
                    &element.attributes
                };
                ((element.identity.clone(), attributes.to_vec()), element)
            })
            .collect()
        };
        let (our_base, their_base) = (by_key(p.our_base), by_key(p.their_base));
        let keys = |all: &[(ElementKey, &Element<'_>)]| -> Vec<ElementKey> {
            all.iter().map(|(key, _)| key.clone()).collect()
        };
        let pairs = BasePairs::new(
            &keys(&their_base),
            &keys(&our_base),
            |(identity, attributes)| format!("{} {}", loosely(identity), attributes.join(" ")),
            |_| Some(String::new()),
        );
        let our_base: HashMap<_, _> = our_base.into_iter().collect();
        let ours: HashMap<_, _> = by_key(p.ours).into_iter().collect();
        let theirs = by_key(p.theirs);
        let theirs_by_key: HashMap<_, _> = theirs.iter().cloned().collect();
        let base_of_theirs: HashMap<_, _> = their_base.iter().cloned().collect();
        let last = p.ours.last();
        // A value that stands there twice is changed twice.
        let mut copies: HashMap<(&str, &[String]), Vec<&Element<'_>>> = HashMap::new();
        for own in p.ours {
            copies.entry(own.said()).or_default().push(own);
        }
        let mut seen: HashSet<&ElementKey> = HashSet::new();
        for (key, new) in &theirs {
            let (base_key, our_key) = pairs.of(
                key,
                |key| base_of_theirs.contains_key(key),
                |key| theirs_by_key.contains_key(key),
            );
            let base = base_of_theirs.get(base_key).copied();
            seen.insert(our_key);
            let is_described_anew = base.is_none_or(|base| base.attributes != new.attributes);
            let Some(own) = ours.get(our_key).copied() else {
                if is_described_anew {
                    self.splices.replace(component, groups, &[], &[new], last);
                }
                continue;
            };
            if own.attributes == new.attributes || !is_described_anew {
                continue;
            }
            let own_base = our_base.get(our_key).copied();
            let is_ours_changed = own_base.is_none_or(|base| base.attributes != own.attributes);
            if is_ours_changed {
                self.conflict(component, p.name, own.unfolded(), new.unfolded());
                if self.winner == MergeWinner::Ours {
                    continue;
                }
            }
            match (own_base, base) {
                (Some(own_base), Some(base))
                    if own_base.attributes != base.attributes
                        || (!is_ours_changed && own.is_grouped() != new.is_grouped()) =>
                {
                    self.splices.describe(component, groups, own, base, new);
                }
                _ => {
                    let old = copies.get(&own.said()).map_or(&[][..], Vec::as_slice);
                    self.splices.replace(component, groups, old, &[new], None);
                }
            }
        }
        for (key, _) in &their_base {
            let our_key = pairs.ours(key);
            let own = ours.get(our_key).zip(our_base.get(our_key));
            if let Some((own, _)) = own.filter(|(own, base)| own.attributes == base.attributes)
                && !theirs_by_key.contains_key(key)
                && !seen.contains(our_key)
            {
                let old = copies.get(&own.said()).map_or(&[][..], Vec::as_slice);
                self.splices.replace(component, groups, old, &[], None);
            }
        }
    }

    /// Merges a property whose lines have several values each. Values with other parameters are other values.
    fn list(&mut self, component: &Component, p: &Property<'_, '_>) {
        let values = |side: &[Element<'_>]| -> Vec<(Vec<String>, String)> {
            let mut all = Vec::new();
            for line in side.iter().filter_map(|element| element.lines.first()) {
                let each = split_list(&line.value).map(str::trim);
                let each = each.filter(|value| !value.is_empty());
                all.extend(each.map(|value| (line.parameters.clone(), value.to_owned())));
            }
            all
        };
        let set = |side| values(side).into_iter().collect::<HashSet<_>>();
        let (base, was, is, has) = (
            set(p.our_base),
            set(p.their_base),
            set(p.theirs),
            set(p.ours),
        );
        let is_unknown =
            |value: &&(Vec<String>, String)| !base.contains(*value) && !has.contains(*value);
        if was.difference(&is).any(|value| is_unknown(&value)) {
            // A server writes it in another way, so that what it removes is not known here.
            self.conflict(component, p.name, told(p.ours), told(p.theirs));
        }
        // The lines of ours with the same parameters become one, in the order of the text.
        let mut order: Vec<&[String]> = Vec::new();
        let mut by_parameters: HashMap<&[String], ListLines<'_, '_>> = HashMap::new();
        let (own, new) = (values(p.ours), values(p.theirs));
        for (side, elements) in [p.ours, p.theirs].into_iter().enumerate() {
            for element in elements {
                let Some(line) = element.lines.first() else {
                    continue;
                };
                let lines = by_parameters.entry(&line.parameters).or_insert_with(|| {
                    order.push(&line.parameters);
                    ListLines {
                        head: line.head(),
                        old: Vec::new(),
                        now: 0,
                        merged: Vec::new(),
                    }
                });
                if side == 0 {
                    lines.old.push(element);
                }
            }
        }
        for value in &own {
            if let Some(lines) = by_parameters.get_mut(value.0.as_slice()) {
                lines.now += 1;
                if is.contains(value) || !was.contains(value) {
                    lines.merged.push(&value.1);
                }
            }
        }
        let mut is_changed: HashSet<&[String]> = HashSet::new();
        for value in &new {
            if let Some(lines) = by_parameters.get_mut(value.0.as_slice())
                && !was.contains(value)
                && !has.contains(value)
            {
                lines.merged.push(&value.1);
                is_changed.insert(&value.0);
            }
        }
        for parameters in order {
            let Some(lines) = by_parameters.get(parameters) else {
                continue;
            };
            if lines.merged.len() == lines.now && !is_changed.contains(parameters) {
                continue;
            }
            let line = format!("{}{}", lines.head, lines.merged.join(","));
            let line = Some(line.as_str()).filter(|_| !lines.merged.is_empty());
            self.splices
                .write_line(component, &lines.old, line, p.ours.last());
        }
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

/// Returns the values that some side has with several descriptions, such as a number at home and at work.
fn described_differently<'e>(sides: [&'e [Element<'_>]; 4]) -> HashSet<&'e str> {
    let mut several = HashSet::new();
    for side in sides {
        let mut known: HashSet<&str> = HashSet::new();
        let again = distinct(side).map(|element| element.identity.as_str());
        several.extend(again.filter(|identity| !known.insert(identity)));
    }
    several
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
fn compare_stamps(one: &str, other: &str) -> Ordering {
    let digits = |text: &str| -> String {
        let whole = text.split(['.', ',']).next().unwrap_or_default();
        let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
        digits.trim_start_matches('0').to_owned()
    };
    let (one, other) = (digits(one), digits(other));
    // Of two numbers the longer one is greater.
    one.len().cmp(&other.len()).then_with(|| one.cmp(&other))
}
