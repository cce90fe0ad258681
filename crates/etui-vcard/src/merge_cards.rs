//! Merging cards of one person: the properties of further cards go into the first.
//!
//! ```text
//! first                          other                             merged
//! FN:Ada Lovelace                FN:Lovelace\, Ada                 FN:Ada Lovelace
//! TEL;TYPE=cell:020 7946 0123    TEL;TYPE=work:+44 20 7946 0123    TEL;TYPE=cell;TYPE=work:020 7946 0123
//! none                           EMAIL:ada@example.org             EMAIL:ada@example.org
//! CATEGORIES:Friends             CATEGORIES:Science,friends        CATEGORIES:Friends, CATEGORIES:Science
//! BDAY:1815-12-10                BDAY:1815-12-11                   BDAY:1815-12-10, NOTE:Birthday: 1815-12-11
//! UID:1                          UID:2                             UID:1 (the other is reported)
//! ```
//!
//! Lines of the first card that get nothing keep their bytes.

use std::collections::{BTreeSet, HashMap, HashSet};

use etui_contentline::charset::repair_charset;
use etui_contentline::edit::{fold_line, head_without, is_one_of, line_ending, own_lines};

use crate::card::{Card, VCardVersion};
use crate::date::PartialDate;
use crate::error::CardError;
use crate::fields::{bare_address, strip_scheme};
use crate::group_labels::GROUP_LABELS;
use crate::merge::{TextEdit, apply_edits};
use crate::parameter::PropertyParameter;
use crate::property::{ENCODINGS, Property, PropertyValue};
use crate::v3::{PropertyLine, property_lines, v4_name};
use crate::writer::{COMPONENT, escape_value, push_parameter};

/// Properties of which a card has one, perhaps in alternative forms.
const SINGLE: &[&str] = &[
    "FN",
    "N",
    "BDAY",
    "ANNIVERSARY",
    "DEATHDATE",
    "BIRTHPLACE",
    "DEATHPLACE",
    "GENDER",
    "CLASS",
    "LANGUAGE",
    "SORT-STRING",
    "X-EVOLUTION-FILE-AS",
    "X-PHONETIC-FIRST-NAME",
    "X-PHONETIC-MIDDLE-NAME",
    "X-PHONETIC-LAST-NAME",
];

/// Properties that describe the card itself, not the person. Those of the first card stay.
const OF_CARD: &[&str] = &[
    "UID",
    "REV",
    "PRODID",
    "CREATED",
    "KIND",
    "CLIENTPIDMAP",
    "X-ABSHOWAS",
];

/// Parameters that are not carried to a line of the first card with the same value.
const OWN_PARAMETERS: &[&str] = &[
    "PREF",
    "PID",
    "ALTID",
    "INDEX",
    "VALUE",
    "MEDIATYPE",
    "X-APPLE-OMIT-YEAR",
];

/// The result of [`Card::merge_with`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedCard {
    /// The first card with the properties of the others.
    pub card: Card,
    /// The lines of the others that were not taken, without folds: those that describe the card and
    /// not the person (UID, REV, PRODID, CREATED, KIND, CLIENTPIDMAP, X-ABSHOWAS), labels of no value,
    /// and lines that are no property.
    pub left_out: Vec<String>,
}

impl Card {
    /// Returns this card with the properties of `others`, in their order.
    ///
    /// * A value that the card has is not repeated. Its line gets the types and parameters of the
    ///   other one. Equal are texts without regard to blanks; e-mail addresses, names, organisations
    ///   and addresses also without regard to case; names also to the order of words; phone numbers
    ///   by `phone_key`, which returns a number's comparable form.
    /// * Of a property that a card has once (FN, N, BDAY, GENDER, ...) the first value stays. Another
    ///   value becomes a line of a note, as `Birthday: 1990-01-02`. A date without year or day is
    ///   completed.
    /// * Everything else is added after the lines of its name: also further organisations, photos and
    ///   unknown properties. Groups keep their lines together under a free name.
    ///
    /// The result has the newest version of the cards, at least 3.0; cards of another version are
    /// converted ([`Card::to_v4`], [`Card::to_v3`]).
    ///
    /// ```
    /// # use etui_vcard::Card;
    /// let first = Card::parse("BEGIN:VCARD\nVERSION:4.0\nFN:Ada Lovelace\nTEL;TYPE=cell:1\nEND:VCARD\n")?;
    /// let other = Card::parse("BEGIN:VCARD\nVERSION:4.0\nFN:ada lovelace\nTEL;TYPE=home:1\nTEL:2\nEND:VCARD\n")?;
    /// let merged = first.merge_with(&[other], |_| None)?;
    /// assert_eq!(
    ///     merged.card.text(),
    ///     b"BEGIN:VCARD\nVERSION:4.0\nFN:Ada Lovelace\nTEL;TYPE=cell;TYPE=home:1\nTEL:2\nEND:VCARD\n",
    /// );
    /// # Ok::<(), etui_vcard::CardError>(())
    /// ```
    ///
    /// # Errors
    /// [`CardError::TooLarge`] if the result is larger than a card can be.
    pub fn merge_with(
        &self,
        others: &[Self],
        phone_key: impl Fn(&str) -> Option<String>,
    ) -> Result<MergedCard, CardError> {
        let cards = || [self].into_iter().chain(others);
        let version = cards().map(Self::version).max();
        let is_v4 = version == Some(VCardVersion::V4_0);
        let in_version = |card: &Self| match is_v4 {
            true if card.version() == VCardVersion::V4_0 => repair_charset(&card.text).into_owned(),
            true => card.to_v4(),
            false => card.to_v3(),
        };
        let mut text = in_version(self);
        let mut left_out = Vec::new();
        for other in others {
            let other = in_version(other);
            let new = property_lines(&other);
            left_out.extend(unreadable_lines(&other));
            let (merged, missing, is_repeated) = merge_lines(&text, &new, &phone_key);
            left_out.extend(missing);
            // The types of a value that the other card repeats are added to its line, now that the
            // first card has one.
            text = match is_repeated {
                true => merge_lines(&merged, &new, &phone_key).0,
                false => merged,
            };
        }
        Ok(MergedCard {
            card: Self::parse(text)?,
            left_out,
        })
    }
}

/// Returns the text of the first card with these lines of another; the lines that were not taken; and
/// true if the other card repeats a value that is new.
fn merge_lines(
    text: &str,
    new: &[PropertyLine<'_>],
    phone_key: impl Fn(&str) -> Option<String>,
) -> (String, Vec<String>, bool) {
    let base = property_lines(text);
    let mut merge = PropertyMerge::new(&base, phone_key);
    merge.add_lines(new);
    let merged = apply_edits(text, merge.edits(text));
    let merged = String::from_utf8_lossy(&merged).into_owned();
    (merged, merge.left_out, merge.is_repeated)
}

/// Returns the lines that are no property, without folds.
fn unreadable_lines(text: &str) -> impl Iterator<Item = String> {
    own_lines(text.as_bytes(), Some("VCARD"))
        .filter(|line| line.delimiter().is_none() && Property::parse(line).is_none())
        .map(|line| String::from_utf8_lossy(&line.unfolded()).trim().to_owned())
        .filter(|line| !line.is_empty())
}

/// The form of a value that is compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ValueKey {
    Text(String),
    Binary(Vec<u8>),
}

/// A line of the first card, and its changes.
struct BaseLine<'t> {
    source: &'t PropertyLine<'t>,
    types: Vec<String>,
    parameters: Vec<PropertyParameter>,
    /// The group that it gets.
    group: Option<String>,
    /// The line that replaces it.
    replacement: Option<String>,
    is_removed: bool,
}

/// The merge of one other card into the first.
struct PropertyMerge<'t, P> {
    base: Vec<BaseLine<'t>>,
    phone_key: P,
    /// The first line of each name and value.
    by_value: HashMap<(String, ValueKey), usize>,
    /// The entries of lists, by property name.
    entries: HashSet<(String, String)>,
    /// Labels by group, name and value.
    labels: HashSet<(Option<String>, String, ValueKey)>,
    groups: BTreeSet<String>,
    altids: BTreeSet<(String, String)>,
    /// New lines by property name.
    added: Vec<(String, String)>,
    conflicts: Vec<String>,
    /// The e-mail addresses of the other card.
    addresses: HashSet<ValueKey>,
    left_out: Vec<String>,
    /// The other card has a new value twice.
    is_repeated: bool,
}

impl<'t, P: Fn(&str) -> Option<String>> PropertyMerge<'t, P> {
    fn new(base: &'t [PropertyLine<'t>], phone_key: P) -> Self {
        let mut merge = Self {
            base: Vec::with_capacity(base.len()),
            phone_key,
            by_value: HashMap::new(),
            entries: HashSet::new(),
            labels: HashSet::new(),
            groups: BTreeSet::new(),
            altids: BTreeSet::new(),
            added: Vec::new(),
            conflicts: Vec::new(),
            addresses: HashSet::new(),
            left_out: Vec::new(),
            is_repeated: false,
        };
        for (index, source) in base.iter().enumerate() {
            let property = &source.property;
            let name = name_key(property);
            let group = property.group.as_deref().map(str::to_ascii_lowercase);
            merge.groups.extend(group.clone());
            if let Some(altid) = property.parameter("ALTID") {
                merge.altids.insert((name.clone(), altid.to_owned()));
            }
            if is_one_of(GROUP_LABELS, &name) {
                let key = merge.value_key(&name, property);
                merge.labels.insert((group, name, key));
            } else if let PropertyValue::List(entries) = &property.value {
                let keys = entries.iter().map(|entry| (name.clone(), entry_key(entry)));
                merge.entries.extend(keys);
            } else if property.has_content() {
                let key = merge.value_key(&name, property);
                merge.by_value.entry((name, key)).or_insert(index);
            }
            merge.base.push(BaseLine {
                source,
                types: Vec::new(),
                parameters: Vec::new(),
                group: None,
                replacement: None,
                is_removed: false,
            });
        }
        merge
    }

    fn add_lines(&mut self, new: &[PropertyLine<'_>]) {
        let groups = self.map_groups(new);
        self.addresses = new
            .iter()
            .filter(|one| name_key(&one.property) == "EMAIL")
            .map(|one| self.value_key("EMAIL", &one.property))
            .collect();
        // A card that lacks a property gets all forms of it.
        let single: HashMap<&str, Option<usize>> = SINGLE
            .iter()
            .map(|&name| (name, self.content_line(name)))
            .collect();
        let mut altids = HashMap::new();
        let mut seen = HashSet::new();
        for one in new {
            let property = &one.property;
            let name = name_key(property);
            if is_one_of(OF_CARD, &name) {
                self.leave_out(one, &name);
                continue;
            }
            if !property.has_content() {
                continue;
            }
            let group = property.group.as_deref().map(str::to_ascii_lowercase);
            let group = group.map(|group| groups.get(&group).cloned().unwrap_or(group));
            if is_one_of(GROUP_LABELS, &name) && !has_labelled_line(new, property) {
                self.leave_out(one, &name);
                continue;
            }
            if is_one_of(GROUP_LABELS, &name) {
                let label = group.as_deref().map(str::to_ascii_lowercase);
                let key = self.value_key(&name, property);
                if self.labels.insert((label, name.clone(), key)) {
                    self.added
                        .push((name, line_text(one, group.as_deref(), None)));
                }
                continue;
            }
            if let PropertyValue::List(entries) = &property.value {
                let missing: Vec<&String> = entries
                    .iter()
                    .filter(|e| !e.trim().is_empty())
                    .filter(|e| self.entries.insert((name.clone(), entry_key(e))))
                    .collect();
                if !missing.is_empty() {
                    let text = list_text(one, group.as_deref(), &missing);
                    self.added.push((name, text));
                }
                continue;
            }
            let key = (name, self.value_key(&name_key(property), property));
            if let Some(&index) = self.by_value.get(&key) {
                self.extend_line(index, property);
                continue;
            }
            if !seen.insert(key.clone()) {
                self.is_repeated = true;
                continue;
            }
            let name = key.0;
            if let Some(Some(index)) = single.get(name.as_str()) {
                self.add_conflict(*index, one, &name);
                continue;
            }
            let altid = property.parameter("ALTID").map(|altid| {
                let altids = altids.entry((name.clone(), altid.to_owned()));
                altids
                    .or_insert_with(|| self.free_altid(&name, altid))
                    .clone()
            });
            self.remove_empty_lines(&name);
            let text = line_text(one, group.as_deref(), altid.as_deref());
            self.added.push((name, text));
        }
    }

    /// Returns the groups of the first card that stand for those of the other one.
    fn map_groups(&mut self, new: &[PropertyLine<'_>]) -> HashMap<String, String> {
        let mut members: HashMap<String, Vec<&Property>> = HashMap::new();
        let mut order = Vec::new();
        for PropertyLine { property, .. } in new {
            if let Some(group) = property.group.as_deref().map(str::to_ascii_lowercase) {
                let all = members.entry(group.clone()).or_default();
                if all.is_empty() {
                    order.push(group);
                }
                all.push(property);
            }
        }
        let mut groups = HashMap::new();
        for group in order {
            let members = members.remove(&group).unwrap_or_default();
            let matched = members.iter().find_map(|property| {
                let name = name_key(property);
                let is_label = is_one_of(GROUP_LABELS, &name);
                let key = (name, self.value_key(&name_key(property), property));
                self.by_value.get(&key).copied().filter(|_| !is_label)
            });
            let known = matched.and_then(|index| self.base.get(index));
            let known = known.and_then(|line| {
                let own = line.source.property.group.as_deref();
                own.or(line.group.as_deref()).map(str::to_owned)
            });
            let to = known.unwrap_or_else(|| {
                let free = self.free_group(&group);
                let line = matched.and_then(|index| self.base.get_mut(index));
                if let Some(line) = line.filter(|_| members.len() > 1) {
                    line.group = Some(free.clone());
                }
                free
            });
            groups.insert(group, to);
        }
        groups
    }

    /// Returns the group, or a free name if the first card has it.
    fn free_group(&mut self, group: &str) -> String {
        let names = (1..).map(|n| format!("item{n}"));
        let mut names = [group.to_owned()].into_iter().chain(names);
        let free = names.find(|name| self.groups.insert(name.clone()));
        // The names never end, so one is always free.
        free.unwrap_or_default()
    }

    fn free_altid(&mut self, name: &str, altid: &str) -> String {
        let numbers = (1..).map(|n: u32| n.to_string());
        let mut all = [altid.to_owned()].into_iter().chain(numbers);
        let free = all.find(|altid| self.altids.insert((name.to_owned(), altid.clone())));
        free.unwrap_or_default()
    }

    /// Returns the first line of a name that has content.
    fn content_line(&self, name: &str) -> Option<usize> {
        self.base.iter().position(|line| {
            name_key(&line.source.property) == name && line.source.property.has_content()
        })
    }

    /// Removes the lines of a name without content, which a new one replaces.
    fn remove_empty_lines(&mut self, name: &str) {
        if !is_one_of(SINGLE, name) {
            return;
        }
        for line in &mut self.base {
            let property = &line.source.property;
            line.is_removed |= name_key(property) == name && !property.has_content();
        }
    }

    /// Adds the types and parameters of a property to the line with the same value.
    fn extend_line(&mut self, index: usize, property: &Property) {
        let Some(line) = self.base.get_mut(index) else {
            return;
        };
        let own = &line.source.property;
        if !matches!(property.value, PropertyValue::Binary(_)) {
            let known = own.types();
            for kind in property.types() {
                if !known.contains(&kind) && !line.types.contains(&kind) {
                    line.types.push(kind);
                }
            }
        }
        for parameter in &property.parameters {
            let is_meant = !parameter.is_type() && !is_one_of(OWN_PARAMETERS, &parameter.name);
            let is_known = own.has_parameter(&parameter.name)
                || line.parameters.iter().any(|p| p.is_named(&parameter.name));
            if is_meant && !is_known {
                line.parameters.push(parameter.clone());
            }
        }
    }

    /// Records another value of a property that a card has once, or completes a date.
    fn add_conflict(&mut self, index: usize, new_line: &PropertyLine<'_>, name: &str) {
        // A name that stands for a missing one.
        let address = (
            "EMAIL".to_owned(),
            self.value_key("EMAIL", &new_line.property),
        );
        let is_address =
            self.addresses.contains(&address.1) || self.by_value.contains_key(&address);
        if name == "FN" && is_address {
            return;
        }
        let Some(line) = self.base.get_mut(index) else {
            return;
        };
        let dates = (date_of(&line.source.property), date_of(&new_line.property));
        if let (Some(own), Some(other)) = dates {
            if completes(own, other) {
                return;
            }
            if line.replacement.is_none() && completes(other, own) {
                let group = line.source.property.group.as_deref();
                line.replacement = Some(line_text(new_line, group, None));
                return;
            }
        }
        self.conflicts
            .push(describe_value(name, &new_line.property));
    }

    fn leave_out(&mut self, line: &PropertyLine<'_>, name: &str) {
        let key = self.value_key(name, &line.property);
        let is_default = name == "KIND" && key == ValueKey::Text("individual".to_owned());
        if !is_default && !self.by_value.contains_key(&(name.to_owned(), key)) {
            let text = String::from_utf8_lossy(&line.line.unfolded()).into_owned();
            self.left_out.push(text);
        }
    }

    /// Returns the edits of the first card's text.
    fn edits(&self, text: &str) -> Vec<TextEdit> {
        let ending = line_ending(text.as_bytes());
        let mut edits: Vec<TextEdit> = Vec::new();
        let mut ends: HashMap<String, usize> = HashMap::new();
        for line in &self.base {
            let span = line.source.line.span.clone();
            ends.insert(name_key(&line.source.property), span.end);
            if line.is_removed {
                edits.push((span, Vec::new()));
            } else if let Some(new) = line.changed_text() {
                edits.push((span, fold_line(&new, ending)));
            }
        }
        let own = own_lines(text.as_bytes(), Some("VCARD"));
        let last = own.filter(|line| line.delimiter().is_some()).last();
        let last = last.map_or(text.len(), |line| line.span.start);
        let note = self.conflict_note().map(|note| ("NOTE".to_owned(), note));
        for (name, line) in self.added.iter().chain(&note) {
            let at = ends.get(name).copied().unwrap_or(last);
            edits.push((at..at, fold_line(line, ending)));
        }
        edits
    }

    /// Returns the note with the values of the other card that the first has otherwise, except those that
    /// a note has already: those of an earlier merge, in whatever company.
    fn conflict_note(&self) -> Option<String> {
        let notes = self
            .by_value
            .keys()
            .filter_map(|(name, value)| match value {
                ValueKey::Text(text) if name == "NOTE" => Some(text),
                _ => None,
            });
        let noted: HashSet<&str> = notes.flat_map(|note| note.lines()).map(str::trim).collect();
        let is_new = |conflict: &&String| conflict.lines().any(|line| !noted.contains(line.trim()));
        let new: Vec<&str> = self
            .conflicts
            .iter()
            .filter(is_new)
            .map(String::as_str)
            .collect();
        (!new.is_empty()).then(|| format!("NOTE:{}", escape_value(&new.join("\n"), COMPONENT)))
    }

    /// Returns the form of a value that is compared.
    fn value_key(&self, name: &str, property: &Property) -> ValueKey {
        let text = match &property.value {
            PropertyValue::Binary(data) => return ValueKey::Binary(data.bytes.clone()),
            PropertyValue::Components(_) if name != "N" => {
                let components = (0..property.component_count())
                    .map(|index| property.component(index, ",").to_lowercase());
                let components: Vec<String> = components.collect();
                let joined = components.join("\u{1f}");
                joined.trim_end_matches('\u{1f}').to_owned()
            }
            _ => property.joined_text().trim().replace("\r\n", "\n"),
        };
        ValueKey::Text(match name {
            "TEL" => {
                let number = strip_scheme(&text, "tel:").unwrap_or(&text);
                (self.phone_key)(number).unwrap_or_else(|| number.to_lowercase())
            }
            "EMAIL" => bare_address(&text).to_lowercase(),
            "FN" | "N" => sorted_words(&text),
            "TITLE" | "ROLE" | "KIND" => text.to_lowercase(),
            "URL" => text.trim_end_matches('/').to_owned(),
            _ => text,
        })
    }
}

impl BaseLine<'_> {
    /// Returns the line with its changes, or `None` if there are none.
    fn changed_text(&self) -> Option<String> {
        if let Some(new) = &self.replacement {
            return Some(new.clone());
        }
        if self.types.is_empty() && self.parameters.is_empty() && self.group.is_none() {
            return None;
        }
        let line = &self.source.line;
        let mut text = match &self.group {
            Some(group) => format!("{group}."),
            None => String::new(),
        };
        text.push_str(&head_without(line, &[]));
        for kind in &self.types {
            let parameter = PropertyParameter {
                name: "TYPE".to_owned(),
                values: vec![kind.clone()],
            };
            push_parameter(&mut text, &parameter);
        }
        for parameter in &self.parameters {
            push_parameter(&mut text, parameter);
        }
        text.push(':');
        text.push_str(&String::from_utf8_lossy(&line.unfolded_value()));
        Some(text)
    }
}

/// Returns the name that is compared: in capitals, and one of the notations of both versions.
fn name_key(property: &Property) -> String {
    v4_name(&property.name).to_ascii_uppercase()
}

/// Returns true if a line with content is in the group of this label.
fn has_labelled_line(lines: &[PropertyLine<'_>], label: &Property) -> bool {
    let group = label.group.as_deref();
    lines.iter().any(|PropertyLine { property, .. }| {
        let is_same = match (group, property.group.as_deref()) {
            (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
            _ => false,
        };
        is_same && property.has_content() && !is_one_of(GROUP_LABELS, &name_key(property))
    })
}

fn entry_key(entry: &str) -> String {
    entry.trim().to_lowercase()
}

/// Returns the words in lower case and in order, without punctuation.
fn sorted_words(text: &str) -> String {
    let lower = text.to_lowercase();
    let mut words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.sort_unstable();
    match words.is_empty() {
        true => lower,
        false => words.join(" "),
    }
}

fn date_of(property: &Property) -> Option<PartialDate> {
    let PropertyValue::Text(text) = &property.value else {
        return None;
    };
    let date = PartialDate::parse(text.trim())?;
    let is_omitted = property.omitted_year().is_some() && property.omitted_year() == date.year;
    Some(match is_omitted {
        true => PartialDate { year: None, ..date },
        false => date,
    })
}

/// Returns true if `full` has all parts of `date`, and perhaps more.
fn completes(full: PartialDate, date: PartialDate) -> bool {
    date != PartialDate::default()
        && (date.year.is_none() || date.year == full.year)
        && (date.month.is_none() || date.month == full.month)
        && (date.day.is_none() || date.day == full.day)
}

/// Returns group, name and parameters of a line in another group.
fn head_in_group(line: &PropertyLine<'_>, group: Option<&str>, drop: &[&str]) -> String {
    let head = head_without(&line.line, drop);
    let own = line.line.group.map(String::from_utf8_lossy);
    let bare = own.and_then(|own| {
        head.strip_prefix(&*own)?
            .strip_prefix('.')
            .map(str::to_owned)
    });
    let bare = bare.unwrap_or(head);
    match group {
        Some(group) => format!("{group}.{bare}"),
        None => bare,
    }
}

/// Returns a line of the other card for the first one: in this group, with this ALTID.
fn line_text(line: &PropertyLine<'_>, group: Option<&str>, altid: Option<&str>) -> String {
    let mut text = head_in_group(line, group, &["PID", "ALTID"]);
    if let Some(altid) = altid {
        let parameter = PropertyParameter {
            name: "ALTID".to_owned(),
            values: vec![altid.to_owned()],
        };
        push_parameter(&mut text, &parameter);
    }
    text.push(':');
    text.push_str(&String::from_utf8_lossy(&line.line.unfolded_value()));
    text
}

/// Returns the line of a list with some of its entries.
fn list_text(line: &PropertyLine<'_>, group: Option<&str>, entries: &[&String]) -> String {
    let drop = [&["PID", "ALTID"][..], ENCODINGS].concat();
    let entries = entries
        .iter()
        .map(|entry| escape_value(entry.trim(), COMPONENT));
    let entries: Vec<String> = entries.collect();
    format!(
        "{}:{}",
        head_in_group(line, group, &drop),
        entries.join(",")
    )
}
/// Returns a property in words, as a line of a note.
fn describe_value(name: &str, property: &Property) -> String {
    let label = match name {
        "FN" => "Name",
        "N" => "Name parts",
        "BDAY" => "Birthday",
        "ANNIVERSARY" => "Anniversary",
        "DEATHDATE" => "Date of death",
        "BIRTHPLACE" => "Place of birth",
        "DEATHPLACE" => "Place of death",
        "GENDER" => "Gender",
        "KIND" => "Kind",
        other => other,
    };
    let text = property.joined_text();
    let parts = text
        .split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let date = date_of(property);
    let value = match (name, date) {
        (_, Some(date)) => date.to_string(),
        ("N", _) => parts.collect::<Vec<_>>().join(", "),
        _ => text.trim().trim_end_matches(';').to_owned(),
    };
    format!("{label}: {value}")
}
