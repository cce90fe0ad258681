//! Google's columns, in the form that Google Contacts writes since 2024.

use etui_vcard::{Card, PartialDate, PropertyRef, StructuredName};

use super::loss::{Loss, LossKind, Losses, is_technical};
use crate::convert::{is_relation, relation_label};
use crate::date::format_extended;
use crate::label::Label;
use crate::table::{CUSTOM, EVENT, is_custom_property};

/// The columns that each contact has once.
const FIXED: &[&str] = &[
    "First Name",
    "Middle Name",
    "Last Name",
    "Phonetic First Name",
    "Phonetic Middle Name",
    "Phonetic Last Name",
    "Name Prefix",
    "Name Suffix",
    "Nickname",
    "File As",
    "Organization Name",
    "Organization Title",
    "Organization Department",
    "Birthday",
    "Notes",
    "Photo",
    "Labels",
];

/// The number of groups of columns.
pub(crate) const GROUPS: usize = 7;
/// The columns that a contact has any number of times.
const NUMBERED: [(&str, &[&str]); GROUPS] = [
    ("E-mail", &["Label", "Value"]),
    ("Phone", &["Label", "Value"]),
    (
        "Address",
        &[
            "Label",
            "PO Box",
            "Extended Address",
            "Street",
            "City",
            "Region",
            "Postal Code",
            "Country",
        ],
    ),
    ("Website", &["Label", "Value"]),
    ("Event", &["Label", "Value"]),
    ("Relation", &["Label", "Value"]),
    ("Custom Field", &["Label", "Value"]),
];
const EMAILS: usize = 0;
const PHONES: usize = 1;
const ADDRESSES: usize = 2;
const WEBSITES: usize = 3;
const EVENTS: usize = 4;
const RELATIONS: usize = 5;
const CUSTOM_FIELDS: usize = 6;

/// The columns of a phonetic name.
const PHONETIC: &[(&str, &str)] = &[
    ("X-PHONETIC-FIRST-NAME", "Phonetic First Name"),
    ("X-PHONETIC-MIDDLE-NAME", "Phonetic Middle Name"),
    ("X-PHONETIC-LAST-NAME", "Phonetic Last Name"),
];

/// Google's separator of several values in one column.
const SEVERAL: &str = ":::";
/// The group of all contacts, without which Google hides a contact.
const ALL_CONTACTS: &str = "* myContacts";

/// Returns the header for a number of values of each group.
pub(crate) fn header(counts: &[usize; GROUPS]) -> Vec<String> {
    let mut names: Vec<String> = FIXED.iter().map(|name| (*name).to_owned()).collect();
    for ((kind, parts), count) in NUMBERED.iter().zip(counts) {
        for number in 1..=*count {
            names.extend(parts.iter().map(|part| format!("{kind} {number} - {part}")));
        }
    }
    names
}

/// A contact as a row.
#[derive(Debug, Default)]
pub(crate) struct GoogleRow {
    fixed: Vec<String>,
    groups: [Vec<Vec<String>>; GROUPS],
    categories: Vec<String>,
    losses: Losses,
}

impl GoogleRow {
    pub(crate) fn new(card: &Card) -> Self {
        let mut row = Self {
            fixed: vec![String::new(); FIXED.len()],
            ..Self::default()
        };
        let mut has_name = false;
        let properties = card.property_refs();
        for property in properties.iter().filter(|p| p.has_content()) {
            match property.name().to_ascii_uppercase().as_str() {
                "FN" if !std::mem::replace(&mut has_name, true) => row.push_heads(property),
                "N" => row.push_name(property),
                name => row.push(name, property),
            }
        }
        row.push_full_name(card);
        row
    }

    /// The number of values of each group.
    pub(crate) fn counts(&self) -> [usize; GROUPS] {
        std::array::from_fn(|group| self.groups.get(group).map_or(0, Vec::len))
    }

    /// Returns the row for a number of values of each group, and the losses. Values without a column
    /// are lost.
    pub(crate) fn finish(mut self, counts: &[usize; GROUPS]) -> (Vec<String>, Vec<Loss>) {
        self.categories.push(ALL_CONTACTS.to_owned());
        let labels = self.categories.join(&format!(" {SEVERAL} "));
        self.put("Labels", labels);
        let mut row = self.fixed;
        for ((values, (kind, parts)), count) in self.groups.iter().zip(NUMBERED).zip(counts) {
            for index in 0..*count {
                match values.get(index) {
                    Some(value) => row.extend(value.iter().cloned()),
                    None => row.extend(std::iter::repeat_n(String::new(), parts.len())),
                }
            }
            for value in values.iter().skip(*count) {
                self.losses.0.push(Loss {
                    property: kind.to_owned(),
                    value: value.last().cloned().unwrap_or_default(),
                    kind: LossKind::Property,
                });
            }
        }
        (row, self.losses.0)
    }

    /// Sets a column. Returns false if it has a value already.
    fn put(&mut self, column: &str, value: impl Into<String>) -> bool {
        let at = FIXED.iter().position(|name| *name == column);
        match at.and_then(|at| self.fixed.get_mut(at)) {
            Some(field) if field.is_empty() => {
                *field = value.into();
                true
            }
            _ => false,
        }
    }

    fn get(&self, column: &str) -> &str {
        let at = FIXED.iter().position(|name| *name == column);
        at.and_then(|at| self.fixed.get(at))
            .map_or("", String::as_str)
    }

    fn push_group(&mut self, group: usize, value: Vec<String>) {
        if let Some(values) = self.groups.get_mut(group) {
            values.push(value);
        }
    }

    fn push_name(&mut self, property: &PropertyRef<'_>) {
        let components = property.components();
        let columns = [
            "Last Name",
            "First Name",
            "Middle Name",
            "Name Prefix",
            "Name Suffix",
        ];
        let mut is_first = true;
        for (column, texts) in columns.iter().zip(&components) {
            let text = joined(texts, " ");
            is_first &= text.is_empty() || self.put(column, text);
        }
        if !is_first {
            self.losses.push(property, LossKind::Property);
        }
        self.push_heads(property);
    }

    /// Google makes the name to show of its components; another name is in `File As`.
    fn push_full_name(&mut self, card: &Card) {
        let shown = match card.property("FN") {
            Some(shown) if !shown.trim().is_empty() => shown.trim().to_owned(),
            _ => return,
        };
        let column = |name: &str| self.get(name).to_owned();
        let name = StructuredName {
            family: column("Last Name"),
            given: column("First Name"),
            additional: column("Middle Name"),
            prefix: column("Name Prefix"),
            suffix: column("Name Suffix"),
        };
        if name != StructuredName::default() {
            if name.to_display() != shown {
                self.put("File As", shown);
            }
            return;
        }
        if self.get("Organization Name") == shown {
            return;
        }
        let name = StructuredName::split_display(&shown);
        if name.to_display() != shown {
            self.put("File As", shown);
        }
        self.put("Last Name", name.family);
        self.put("First Name", name.given);
        self.put("Middle Name", name.additional);
        self.put("Name Prefix", name.prefix);
        self.put("Name Suffix", name.suffix);
    }

    fn push(&mut self, name: &str, property: &PropertyRef<'_>) {
        let value = property.value().trim().to_owned();
        match name {
            "KIND" if value.eq_ignore_ascii_case("individual") => {}
            "EMAIL" => self.push_labelled(EMAILS, property),
            "TEL" => self.push_labelled(PHONES, property),
            "URL" => self.push_labelled(WEBSITES, property),
            "ADR" => self.push_address(property),
            "NOTE" => {
                let notes = match self.get("Notes") {
                    "" => value,
                    notes => format!("{notes}\n{value}"),
                };
                if let Some(field) = FIXED.iter().position(|name| *name == "Notes")
                    && let Some(field) = self.fixed.get_mut(field)
                {
                    *field = notes;
                }
                self.push_heads(property);
            }
            "NICKNAME" | "CATEGORIES" => self.push_list(name, property),
            "ORG" => self.push_organization(property, &value),
            "TITLE" if self.put("Organization Title", value.clone()) => self.push_heads(property),
            "BDAY" | "ANNIVERSARY" => self.push_date(name, property, &value),
            EVENT => {
                let (label, is_kept) = event_label(property);
                match is_kept {
                    true => self.push_value(EVENTS, label, property, &value),
                    false => self.push_custom(name, property),
                }
            }
            "RELATED" => self.push_relation(property, &value),
            "PHOTO" if !property.is_binary() && self.put("Photo", value.clone()) => {
                self.push_heads(property);
            }
            CUSTOM
                if property
                    .label()
                    .is_some_and(|label| !is_custom_property(label)) =>
            {
                let label = property.label().unwrap_or_default().to_owned();
                self.push_value(CUSTOM_FIELDS, label, property, &value);
                self.push_types(property);
            }
            name => {
                let phonetic = PHONETIC.iter().find(|(known, _)| *known == name);
                if let Some((_, column)) = phonetic
                    && self.put(column, value)
                {
                    self.push_heads(property);
                } else {
                    self.push_custom(name, property);
                }
            }
        }
    }

    /// Adds a value with label, types and preference.
    fn push_labelled(&mut self, group: usize, property: &PropertyRef<'_>) {
        let label = self.label(property);
        let value = property.value().trim().to_owned();
        self.push_value(group, label, property, &value);
    }

    fn push_value(&mut self, group: usize, label: String, property: &PropertyRef<'_>, value: &str) {
        if value.contains(SEVERAL) {
            self.losses.push(property, LossKind::Separator);
        }
        self.losses.push_parameters(property);
        self.push_group(group, vec![label, value.to_owned()]);
    }

    /// Returns the label of a value, and adds the types that it does not express to the losses.
    fn label(&mut self, property: &PropertyRef<'_>) -> String {
        let types = property.types();
        let label = Label {
            types: types.clone(),
            is_preferred: property.is_preferred(),
            text: property.label().map(str::to_owned),
        };
        let (text, lost) = label.format();
        let read = Label::parse(&text);
        let mut kept: Vec<String> = types;
        kept.retain(|kind| !lost.contains(kind) && kind != "voice");
        kept.dedup();
        if !lost.is_empty() {
            self.losses.push(property, LossKind::Types(lost));
        }
        if read.text != label.text {
            let label = label.text.unwrap_or_default();
            self.losses.push(property, LossKind::Label(label));
        } else if read.types != kept && read.text.is_none() {
            self.losses.push(property, LossKind::Types(kept));
        }
        text
    }

    fn push_address(&mut self, property: &PropertyRef<'_>) {
        let label = self.label(property);
        let components = property.components();
        let mut value = vec![label];
        value.extend(components.iter().take(7).map(|texts| joined(texts, "\n")));
        value.resize(8, String::new());
        if components
            .iter()
            .flatten()
            .any(|text| text.contains(SEVERAL))
        {
            self.losses.push(property, LossKind::Separator);
        }
        let rest = components.iter().skip(7).map(|texts| joined(texts, ","));
        let rest: Vec<String> = rest.filter(|text| !text.is_empty()).collect();
        if !rest.is_empty() {
            self.losses.push(property, LossKind::Part(rest.join(";")));
        }
        self.losses.push_parameters(property);
        self.push_group(ADDRESSES, value);
    }

    fn push_list(&mut self, name: &str, property: &PropertyRef<'_>) {
        for text in property.components().iter().flatten() {
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            if name == "CATEGORIES" {
                let is_misread = text.contains(SEVERAL)
                    || text.starts_with('*')
                    || text.eq_ignore_ascii_case("mycontacts");
                if is_misread {
                    self.losses.push(property, LossKind::Part(text.to_owned()));
                } else if !self.categories.iter().any(|known| known == text) {
                    let star = if text == "starred" { "* " } else { "" };
                    self.categories.push(format!("{star}{text}"));
                }
            } else if !self.put("Nickname", text) {
                match text.contains([',', ':']) {
                    true => self.losses.push(property, LossKind::Part(text.to_owned())),
                    false => self.push_group(CUSTOM_FIELDS, vec![name.to_owned(), text.to_owned()]),
                }
            }
        }
        self.push_heads(property);
    }

    fn push_organization(&mut self, property: &PropertyRef<'_>, value: &str) {
        let components = property.components();
        let part = |index: usize| {
            components
                .get(index)
                .map_or(String::new(), |c| joined(c, ", "))
        };
        let is_free = self.get("Organization Name").is_empty()
            && self.get("Organization Department").is_empty();
        if !is_free {
            let has_separator = components.iter().flatten().any(|text| text.contains(';'));
            if has_separator {
                self.losses.push(property, LossKind::Separator);
            }
            return self.push_custom_value("ORG", property, value);
        }
        self.put("Organization Name", part(0));
        self.put("Organization Department", part(1));
        let rest: Vec<String> = (2..components.len())
            .map(part)
            .filter(|t| !t.is_empty())
            .collect();
        if !rest.is_empty() {
            self.losses.push(property, LossKind::Part(rest.join(";")));
        }
        self.push_heads(property);
    }

    fn push_date(&mut self, name: &str, property: &PropertyRef<'_>, value: &str) {
        let Some(date) = property
            .date()
            .filter(|date| *date != PartialDate::default())
        else {
            return self.push_custom(name, property);
        };
        if let Some((_, time)) = value.split_once(['T', ' ']) {
            self.losses.push(property, LossKind::Part(time.to_owned()));
        }
        if let Some(year) = property.written_placeholder_year() {
            self.losses
                .push(property, LossKind::Part(format!("the year {year:04}")));
        }
        let text = format_extended(date);
        match name {
            "BDAY" if self.put("Birthday", text.as_str()) => self.push_heads(property),
            "BDAY" => self.losses.push(property, LossKind::Property),
            _ => {
                self.push_group(EVENTS, vec!["Anniversary".to_owned(), text]);
                self.push_heads(property);
            }
        }
    }

    fn push_relation(&mut self, property: &PropertyRef<'_>, value: &str) {
        let is_text = property
            .parameter("VALUE")
            .is_some_and(|kind| kind.eq_ignore_ascii_case("text"));
        if !is_text && (value.contains(':') || value.contains("//")) {
            return self.losses.push(property, LossKind::Property);
        }
        let mut types = property.types();
        let label = match property.label() {
            Some(label) => label.to_owned(),
            None => {
                let at = types.iter().position(|kind| is_relation(kind));
                at.map(|at| types.remove(at)).map_or(String::new(), |kind| {
                    let (first, rest) = kind.split_at_checked(1).unwrap_or((&kind, ""));
                    first.to_uppercase() + rest
                })
            }
        };
        if !types.is_empty() {
            self.losses.push(property, LossKind::Types(types));
        }
        if property.label().is_some() && relation_label(&label).text.as_deref() != property.label()
        {
            self.losses.push(property, LossKind::Label(label.clone()));
        }
        if property.is_preferred() {
            self.losses
                .push(property, LossKind::Parameter("PREF".to_owned()));
        }
        self.push_value(RELATIONS, label, property, value);
    }

    /// Adds a property without a column as a custom field of its name.
    fn push_custom(&mut self, name: &str, property: &PropertyRef<'_>) {
        let is_kept = !is_technical(name) && !property.is_binary() && is_custom_property(name);
        match is_kept {
            true => self.push_custom_value(name, property, property.value().trim()),
            false => self.losses.push(property, LossKind::Property),
        }
    }

    fn push_custom_value(&mut self, name: &str, property: &PropertyRef<'_>, value: &str) {
        self.losses.push_labels(property);
        self.push_value(CUSTOM_FIELDS, name.to_owned(), property, value);
    }

    /// Adds label, types and parameters of a property whose column has none to the losses.
    fn push_heads(&mut self, property: &PropertyRef<'_>) {
        self.losses.push_labels(property);
        self.losses.push_parameters(property);
    }

    /// Adds types and preference of a property with a label to the losses.
    fn push_types(&mut self, property: &PropertyRef<'_>) {
        let types = property.types();
        if !types.is_empty() {
            self.losses.push(property, LossKind::Types(types));
        }
        if property.is_preferred() {
            self.losses
                .push(property, LossKind::Parameter("PREF".to_owned()));
        }
    }
}

/// Returns the label of a date, and whether an import reads it back.
fn event_label(property: &PropertyRef<'_>) -> (String, bool) {
    let label = property.label().unwrap_or_default();
    let read = Label::parse(label);
    let is_other = ["anniversary", "birthday"]
        .iter()
        .any(|n| label.eq_ignore_ascii_case(n));
    let is_kept = !is_other
        && read.text.as_deref() == property.label()
        && property.types().is_empty()
        && !property.is_preferred();
    (label.to_owned(), is_kept)
}

/// Joins the texts of a component.
fn joined(texts: &[String], separator: &str) -> String {
    let texts = texts.iter().map(|text| text.trim());
    texts
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(separator)
}
