//! Merging an edit that was made in vCard 3.0 into the card of a newer version that it was made
//! of.
//!
//! The stored card is written as 3.0 again, and its lines are paired with those of the edited card:
//!
//! ```text
//! stored (4.0)                  as 3.0            edited (3.0)       merged
//! TEL;PREF=2;TYPE=cell:1        TEL;TYPE=cell:1   TEL;TYPE=CELL:1    the stored line
//! EMAIL;PID=1.1;TYPE=home:a@b   EMAIL;...:a@b     EMAIL;...:c@d      EMAIL;PID=1.1;TYPE=home:c@d
//! NOTE:x                        NOTE:x            none               none
//! FN;LANGUAGE=ja:B              none              none               the stored line
//! none                          none              TITLE:y            TITLE:y
//! ```
//!
//! Pairs are lines that say the same, then lines of one name with the same value, then lines of one
//! name with the same types. Only lines that say something else are written.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::ops::Range;

use etui_contentline::charset::repair_charset;
use etui_contentline::edit::{fold_line, is_one_of, line_ending, own_lines};
use etui_contentline::lines::ContentLines;

use crate::card::{Card, VCardVersion};
use crate::error::CardError;
use crate::parameter::{PropertyParameter, encode_parameter};
use crate::property::{Property, PropertyValue, ValueSyntax};
use crate::v3::{PropertyLine, plain_value, property_lines, v3_lines, v4_name};
use crate::v4::modernize_property;
use crate::writer::{push_head, push_value};

/// Parameters that describe the value, and go with it.
const OF_VALUE: &[&str] = &[
    "VALUE",
    "LABEL",
    "SORT-AS",
    "GEO",
    "TZ",
    "MEDIATYPE",
    "CALSCALE",
];

/// Dates that may be left out of a 3.0 card, of which a card has one.
const DATES: &[&str] = &["BDAY", "ANNIVERSARY", "DEATHDATE"];

impl Card {
    /// Returns this card with the changes that `edited` makes to [`Card::to_v3`] of this card.
    ///
    /// `edited` is a card of version 3.0, in any order and notation of its lines. Lines that it does
    /// not change are taken from this card byte for byte, as are the parts that 3.0 cannot say, and its
    /// UID if `edited` has none. A card of an older version than 4.0 is replaced by `edited` if that changes anything.
    ///
    /// ```
    /// # use etui_vcard::Card;
    /// let stored = Card::parse(
    ///     "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada\r\nBDAY:1815\r\nTEL;PREF=2;TYPE=cell:1\r\nEND:VCARD\r\n",
    /// )?;
    /// let mut edited = Card::parse(stored.to_v3())?;
    /// edited.set("TEL", "2")?;
    /// let merged = stored.merge_v3(&edited)?;
    /// assert_eq!(
    ///     merged.text(),
    ///     b"BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada\r\nBDAY:1815\r\nTEL;TYPE=cell;PREF=2:2\r\nEND:VCARD\r\n",
    /// );
    /// # Ok::<(), etui_vcard::CardError>(())
    /// ```
    ///
    /// # Errors
    /// [`CardError::Empty`] when nothing would be left.
    pub fn merge_v3(&self, edited: &Self) -> Result<Self, CardError> {
        let text = repair_charset(&self.text);
        let stored = property_lines(&text);
        let edited_text = repair_charset(&edited.text);
        let new = property_lines(&edited_text);
        let mut merge = LineMerge::new(&stored, &new, self);
        merge.pair_lines();
        if merge.is_unchanged() {
            return Ok(self.clone());
        }
        if self.version() != VCardVersion::V4_0 {
            return Ok(edited.clone());
        }
        let edits = merge.edits(&text);
        Self::parse(apply_edits(&text, edits))
    }
}

/// A line of the stored card as 3.0, or of the edited card, prepared for comparison.
struct ComparedLine {
    name: String,
    value: String,
    types: Vec<String>,
    /// Group, preference and further parameters.
    head: String,
    is_preferred: bool,
}

impl ComparedLine {
    fn new(property: &Property) -> Self {
        Self {
            name: property.name.to_ascii_uppercase(),
            value: comparable_value(property),
            types: comparable_types(property),
            head: comparable_head(property),
            is_preferred: property.is_preferred(),
        }
    }

    fn says_same(&self, other: &Self) -> bool {
        self.value == other.value && self.types == other.types && self.head == other.head
    }
}

/// A line of the stored card as 3.0.
struct ShownLine {
    compared: ComparedLine,
    property: Property,
    /// The stored line; `None` for one that only 3.0 requires.
    source: Option<usize>,
    /// The parameter of the stored line that it was made of.
    parameter: Option<&'static str>,
    /// The line of the edited card.
    pair: Option<usize>,
}

impl ShownLine {
    /// Returns true if the edit removes the line. One that only 3.0 requires may be left out, and the UID
    /// belongs to the card. A line made of a parameter, which programs ignore, does not take its property along.
    fn is_removed(&self) -> bool {
        self.pair.is_none()
            && self.source.is_some()
            && self.parameter.is_none()
            && self.compared.name != "UID"
    }
}

/// A line of the edited card.
struct EditedLine<'t> {
    compared: ComparedLine,
    line: &'t PropertyLine<'t>,
    is_paired: bool,
}

/// The pairing of the lines of a stored and an edited card.
struct LineMerge<'t> {
    stored: &'t [PropertyLine<'t>],
    shown: Vec<ShownLine>,
    edited: Vec<EditedLine<'t>>,
}

impl<'t> LineMerge<'t> {
    fn new(stored: &'t [PropertyLine<'t>], edited: &'t [PropertyLine<'t>], card: &Card) -> Self {
        let shown = v3_lines(stored, card).into_iter().filter_map(|line| {
            let property = line.property()?;
            Some(ShownLine {
                compared: ComparedLine::new(&property),
                property,
                source: line.source,
                parameter: line.parameter,
                pair: None,
            })
        });
        // An empty UID is none.
        let edited = edited
            .iter()
            .filter(|line| !line.property.is_named("UID") || line.property.has_content());
        let edited = edited.map(|line| EditedLine {
            compared: ComparedLine::new(&line.property),
            line,
            is_paired: false,
        });
        Self {
            stored,
            shown: shown.collect(),
            edited: edited.collect(),
        }
    }

    fn pair_lines(&mut self) {
        self.pair_by(|line| (&line.name, &line.value, &line.types, &line.head));
        self.pair_by(|line| (&line.name, &line.value));
        self.pair_by(|line| (&line.name, &line.types));
    }

    /// Pairs the free lines with equal keys, in their order.
    fn pair_by<'s, K: Hash + Eq + 's>(&'s mut self, key: impl Fn(&'s ComparedLine) -> K) {
        let mut free: HashMap<K, VecDeque<(usize, &mut bool)>> = HashMap::new();
        for (index, new) in self.edited.iter_mut().enumerate() {
            if !new.is_paired {
                let same = free.entry(key(&new.compared)).or_default();
                same.push_back((index, &mut new.is_paired));
            }
        }
        for old in self.shown.iter_mut().filter(|old| old.pair.is_none()) {
            let same = free.get_mut(&key(&old.compared));
            if let Some((index, is_paired)) = same.and_then(VecDeque::pop_front) {
                old.pair = Some(index);
                *is_paired = true;
            }
        }
    }

    /// Returns the paired line of the edited card if it says something else.
    fn change(&self, old: &ShownLine) -> Option<&EditedLine<'t>> {
        let new = self.edited.get(old.pair?)?;
        // An empty line in place of one that only 3.0 requires says nothing.
        let is_stated = old.source.is_some() || new.line.property.has_content();
        (is_stated && !old.compared.says_same(&new.compared)).then_some(new)
    }

    fn is_unchanged(&self) -> bool {
        self.added().next().is_none()
            && self
                .shown
                .iter()
                .all(|old| !old.is_removed() && self.change(old).is_none())
    }

    /// Returns the lines that only the edited card has. Empty ones say nothing.
    fn added(&self) -> impl Iterator<Item = &EditedLine<'t>> {
        let lines = self.edited.iter();
        lines.filter(|new| !new.is_paired && new.line.property.has_content())
    }

    /// Returns the edits of the stored card's text: a range and the lines to put there.
    fn edits(&self, text: &str) -> Vec<TextEdit> {
        let ending = line_ending(text.as_bytes());
        let hidden = self.hidden();
        let mut edits = Vec::new();
        let mut added: Vec<_> = self.added().collect();
        let mut parameters = self.changed_parameters();
        let sort = self.sorted_name();
        if let Some((name, text)) = &sort {
            let stored = self.shown.iter().find(|old| old.pair == Some(*name));
            if let Some(source) = stored.and_then(|old| old.source) {
                parameters.insert(source, ("SORT-AS", text.clone()));
            }
            added.retain(|new| new.compared.name != "SORT-STRING");
        }
        for old in self.shown.iter().filter(|old| old.parameter.is_none()) {
            let stored = old.source.and_then(|index| self.stored.get(index));
            let changed = self.change(old);
            match (stored, old.pair) {
                (Some(_), None) if !old.is_removed() => {}
                (Some(stored), None) => {
                    edits.push((stored.line.span.clone(), Vec::new()));
                    edits.extend(alternatives(&hidden, stored));
                }
                (Some(stored), Some(_)) => {
                    let parameter = old.source.and_then(|index| parameters.get(&index));
                    let line = match (changed.map(|new| changed_line(stored, old, new)), parameter)
                    {
                        (line, None) => line,
                        (line, Some((name, text))) => {
                            let unfolded = stored.line.unfolded();
                            let own = || String::from_utf8_lossy(&unfolded).into_owned();
                            Some(with_parameter(line.unwrap_or_else(own), name, text))
                        }
                    };
                    if let Some(line) = line {
                        edits.push((stored.line.span.clone(), fold_line(&line, ending)));
                    }
                }
                (None, _) => added.extend(changed),
            }
        }
        // A new line is placed after the others of its name, or at the end.
        let mut ends: HashMap<String, usize> = HashMap::new();
        for one in self.stored {
            ends.insert(one.property.name.to_ascii_uppercase(), one.line.span.end);
        }
        let own = own_lines(text.as_bytes(), Some("VCARD"));
        let last = own.filter(|line| line.delimiter().is_some()).last();
        let last = last.map_or(text.len(), |line| line.span.start);
        for new in added {
            let name = v4_name(&new.line.property.name).to_ascii_uppercase();
            if is_one_of(DATES, &name) {
                // It replaces a date that 3.0 cannot say.
                let replaced = hidden.iter().filter(|one| one.property.is_named(&name));
                edits.extend(replaced.map(|one| (one.line.span.clone(), Vec::new())));
            }
            let at = ends.get(&name).copied().unwrap_or(last);
            let mut line = v4_line(new.line, &[]);
            if let Some((_, text)) = sort.as_ref().filter(|_| name == "N") {
                line = with_parameter(line, "SORT-AS", text);
            }
            edits.push((at..at, fold_line(&line, ending)));
        }
        edits
    }

    /// Returns the parameters that the edit changes, with their new text, by the stored line.
    fn changed_parameters(&self) -> HashMap<usize, (&'static str, String)> {
        let all = self.shown.iter();
        all.filter_map(|old| {
            let new = self.change(old)?;
            Some((
                old.source?,
                (old.parameter?, new.line.property.joined_text()),
            ))
        })
        .collect()
    }

    /// Returns the name of the edit and its sort order, if one of them is new or changes: SORT-AS goes with a
    /// value that changes, while a SORT-STRING that is left alone still speaks of the name. (A LABEL describes
    /// the address before the change.)
    fn sorted_name(&self) -> Option<(usize, String)> {
        let find = |name| {
            let mut all = self.edited.iter().enumerate();
            all.find(|(_, new)| new.compared.name == name && new.line.property.has_content())
        };
        let ((name, _), (sort, line)) = (find("N")?, find("SORT-STRING")?);
        let is_same = |index: usize| {
            let stored = self.shown.iter().find(|old| old.pair == Some(index));
            stored.is_some_and(|old| self.change(old).is_none())
        };
        let is_changed = !(is_same(name) && is_same(sort));
        is_changed.then(|| (name, line.line.property.joined_text()))
    }

    /// Returns the stored lines that 3.0 cannot say.
    fn hidden(&self) -> Vec<&'t PropertyLine<'t>> {
        let shown: HashSet<usize> = self.shown.iter().filter_map(|old| old.source).collect();
        let all = self.stored.iter().enumerate();
        all.filter(|(index, _)| !shown.contains(index))
            .map(|(_, one)| one)
            .collect()
    }
}

/// A range of a text, and the bytes that replace it.
pub(crate) type TextEdit = (Range<usize>, Vec<u8>);

/// Returns the removals of the hidden alternatives (ALTID) of a line.
fn alternatives<'h>(
    hidden: &'h [&PropertyLine<'_>],
    line: &'h PropertyLine<'_>,
) -> impl Iterator<Item = TextEdit> {
    let altid = line.property.parameter("ALTID");
    let hidden = altid.map_or(&[][..], |_| hidden);
    hidden
        .iter()
        .filter(move |other| {
            other.property.is_named(&line.property.name)
                && other.property.parameter("ALTID") == altid
        })
        .map(|other| (other.line.span.clone(), Vec::new()))
}

/// Returns the stored line with the change. The parameters that 3.0 cannot say stay.
fn changed_line(stored: &PropertyLine<'_>, old: &ShownLine, new: &EditedLine<'_>) -> String {
    let same_value = old.compared.value == new.compared.value;
    let same_preference = old.compared.is_preferred == new.compared.is_preferred;
    let kept: Vec<PropertyParameter> = stored
        .property
        .parameters
        .iter()
        .filter(|p| match () {
            () if p.is_named("PREF") => same_preference,
            () if is_one_of(OF_VALUE, &p.name) => same_value,
            () => !p.is_type() && !old.property.has_parameter(&p.name),
        })
        .cloned()
        .collect();
    if !same_value {
        return v4_line(new.line, &kept);
    }
    // The value as it is stored: a URI stays one.
    let mut property = modernized(new.line);
    property.name.clone_from(&stored.property.name);
    property.drop_parameter("VALUE");
    property.drop_media_types();
    property.drop_parameter("X-APPLE-OMIT-YEAR");
    add_parameters(&mut property, &kept);
    let mut line = String::new();
    push_head(&mut line, &property);
    line.push_str(&String::from_utf8_lossy(&stored.line.unfolded_value()));
    line
}

/// Returns a line of 4.0 with this value of a parameter.
fn with_parameter(line: String, name: &str, text: &str) -> String {
    let Some(found) = ContentLines::of_text(&line).next() else {
        return line;
    };
    let Some(mut property) = Property::parse(&found) else {
        return line;
    };
    property.drop_parameter(name);
    property.push_parameter(name, vec![encode_parameter(text)]);
    let mut out = String::new();
    push_head(&mut out, &property);
    out.push_str(&String::from_utf8_lossy(&found.unfolded_value()));
    out
}

/// Returns a line of a 3.0 card in vCard 4.0, with further parameters.
fn v4_line(source: &PropertyLine<'_>, kept: &[PropertyParameter]) -> String {
    let mut property = modernized(source);
    add_parameters(&mut property, kept);
    let is_plain = matches!(
        property.syntax(),
        ValueSyntax::Text
            | ValueSyntax::List
            | ValueSyntax::Components
            | ValueSyntax::ComponentLists
    ) && !matches!(property.value, PropertyValue::Binary(_))
        && !property.is_named("TZ");
    let mut line = String::new();
    push_head(&mut line, &property);
    match is_plain {
        true => line.push_str(&plain_value(&source.line, &source.property)),
        false => push_value(&mut line, &property),
    }
    line
}

/// Returns the property of a line of a 3.0 card as vCard 4.0 has it.
fn modernized(line: &PropertyLine<'_>) -> Property {
    let mut property = line.property.clone();
    modernize_property(&mut property);
    property
}

/// Appends the parameters, which replace those that the property has by their names.
fn add_parameters(property: &mut Property, parameters: &[PropertyParameter]) {
    for parameter in parameters {
        property.drop_parameter(&parameter.name);
    }
    property.parameters.extend_from_slice(parameters);
}

/// Applies edits of disjoint ranges to a text.
pub(crate) fn apply_edits(text: &str, mut edits: Vec<TextEdit>) -> Vec<u8> {
    // Stable: new lines at one place keep their order.
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() + 128);
    let mut from = 0;
    for (range, new) in edits {
        out.extend_from_slice(bytes.get(from..range.start).unwrap_or_default());
        out.extend_from_slice(&new);
        from = from.max(range.end);
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out
}

/// Returns the types without order and case.
fn comparable_types(property: &Property) -> Vec<String> {
    let mut types = property.types();
    // The types of binary data in 3.0 are its media type.
    if matches!(property.value, PropertyValue::Binary(_)) {
        types.clear();
    }
    types.sort_unstable();
    types.dedup();
    types
}

/// Returns group, preference and parameters in one order, without those of types and of the value's
/// notation.
fn comparable_head(property: &Property) -> String {
    let others = property.parameters.iter().filter(|p| {
        let notation = ["VALUE", "PREF", "X-APPLE-OMIT-YEAR", "MEDIATYPE"];
        !p.is_type() && !is_one_of(&notation, &p.name)
    });
    let mut others: Vec<_> = others
        .map(|p| format!("{}={:?}", p.name.to_ascii_uppercase(), p.values))
        .collect();
    others.sort_unstable();
    let group = property.group.as_deref().map(str::to_ascii_lowercase);
    format!("{group:?} {} {others:?}", property.is_preferred())
}

/// Returns the value for comparison. Programs write separators with and without escapes, and
/// empty components at the end or not.
fn comparable_value(property: &Property) -> String {
    let joined = match &property.value {
        PropertyValue::Text(text) => text.clone(),
        PropertyValue::List(texts) => texts.join(","),
        PropertyValue::Components(components) => {
            let components: Vec<String> = components.iter().map(|c| c.join(",")).collect();
            components.join(";").trim_end_matches(';').to_owned()
        }
        PropertyValue::Binary(data) => {
            let mut value = String::new();
            crate::property::encode_base64(&data.bytes, &mut value);
            value
        }
    };
    joined.trim().to_owned()
}
