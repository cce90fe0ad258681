//! An LDIF entry as a vCard.

use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use etui_vcard::Card;

use super::attributes::{GROUPS, Meaning, PEOPLE, STRUCTURE, meaning_of};
use super::entry::{Attribute, Entry};
use crate::convert::{messenger_property, relation_label};
use crate::date::{DayOrder, TableDate, format_basic, names_missing_day};
use crate::draft::{CardDraft, DraftProperty, DraftValue, content_uid};
use crate::item::{FieldCount, count_field};
use crate::label::Label;
use crate::table::custom_property;

/// Converts entries.
#[derive(Debug, Default)]
pub(crate) struct EntryConverter {
    /// Attributes without a meaning, which were kept under their names.
    pub(crate) kept: Vec<FieldCount>,
    /// Entries that are no people, by their class.
    pub(crate) skipped: Vec<FieldCount>,
    /// UIDs made of names in a directory.
    seen: HashSet<String>,
    /// The names of the groups of each member, by [`member_key`].
    groups: HashMap<String, Vec<String>>,
    /// The labels that members got from groups.
    pub(crate) labels: Vec<FieldCount>,
}

/// The values of an entry that several attributes make.
#[derive(Debug, Default)]
struct EntryParts {
    full_name: Option<(u8, String)>,
    organization: [Vec<String>; 2],
    work: AddressParts,
    home: AddressParts,
    birth: [String; 3],
}

#[derive(Debug, Default)]
struct AddressParts {
    components: [Vec<String>; 7],
    whole: Vec<String>,
}

impl EntryConverter {
    /// Records the members of a group.
    pub(crate) fn add_group(&mut self, entry: &Entry) {
        let name = entry
            .first("cn")
            .or_else(|| dn_value(&entry.first("dn")?, "cn"));
        let Some(name) = name.filter(|_| is_group(entry)) else {
            return;
        };
        let attributes = entry.attributes.iter();
        for member in attributes.filter(|a| meaning_of(&a.key) == Some(Meaning::Member)) {
            let names = self.groups.entry(member_key(&member.text())).or_default();
            if !names.contains(&name) {
                names.push(name.clone());
            }
        }
    }

    /// Converts an entry. `None` if it describes the directory.
    pub(crate) fn convert(&mut self, entry: &Entry) -> Option<Result<(Card, Vec<String>), String>> {
        if entry.is_too_large {
            return Some(Err(
                "the entry is larger than 32 MiB; make its photo smaller".to_owned(),
            ));
        }
        if let Some(change) = entry.first("changetype")
            && !change.eq_ignore_ascii_case("add")
        {
            return Some(Err(format!(
                "a change of an entry (changetype: {change}); only whole entries are imported"
            )));
        }
        let mut classes = entry.attributes.iter().filter(|a| a.key == "objectclass");
        let classes: Vec<String> = classes.by_ref().map(Attribute::text).collect();
        let has_class = |known: &[&str]| {
            classes
                .iter()
                .any(|c| known.contains(&c.to_ascii_lowercase().as_str()))
        };
        let is_group = is_group(entry);
        if has_class(STRUCTURE) && !is_group && !has_class(PEOPLE) {
            let is_structure = |c: &&String| STRUCTURE.contains(&c.to_ascii_lowercase().as_str());
            let class = classes.iter().find(is_structure);
            count_field(&mut self.skipped, class.map_or("?", String::as_str));
            return None;
        }
        let mut writer = EntryWriter {
            draft: CardDraft::default(),
            parts: EntryParts::default(),
            warnings: entry.warnings.clone(),
            uid: None,
            is_group,
            kept: &mut self.kept,
        };
        for attribute in &entry.attributes {
            writer.write(attribute);
        }
        writer.write_missing(entry);
        let dn = entry.first("dn").map(|dn| member_key(&dn));
        if let Some(groups) = dn.and_then(|dn| self.groups.get(&dn)) {
            for group in groups {
                count_field(&mut self.labels, group);
            }
            let groups = DraftValue::List(groups.clone());
            writer.draft.push(DraftProperty::new("CATEGORIES", groups));
        }
        let EntryWriter {
            draft,
            warnings,
            uid,
            ..
        } = writer.finish();
        if draft.is_empty() {
            return Some(Err(
                "the entry has nothing that a contact can keep".to_owned()
            ));
        }
        let uid = uid.unwrap_or_else(|| self.entry_uid(entry));
        let card = draft.into_card(&uid).map_err(|e| e.to_string());
        Some(card.map(|card| (card, warnings)))
    }

    /// Returns a UID: that of its name in a directory, or else of its content.
    fn entry_uid(&mut self, entry: &Entry) -> String {
        let dn = entry
            .first("dn")
            .map(|dn| normalize_dn(&dn))
            .unwrap_or_default();
        if is_directory_name(&dn) {
            let uid = content_uid([dn.as_str()]);
            if self.seen.insert(uid.clone()) {
                return uid;
            }
        }
        let texts: Vec<(String, String)> = entry
            .attributes
            .iter()
            .filter(|a| !matches!(meaning_of(&a.key), Some(Meaning::Ignored)) || a.key == "dn")
            .map(|a| (a.key.clone(), a.text()))
            .collect();
        content_uid(
            texts
                .iter()
                .flat_map(|(key, text)| [key.as_str(), text.as_str()]),
        )
    }
}

/// Returns true for an entry that is a group.
fn is_group(entry: &Entry) -> bool {
    let mut classes = entry.attributes.iter().filter(|a| a.key == "objectclass");
    classes.any(|class| GROUPS.contains(&class.text().to_ascii_lowercase().as_str()))
}

/// Returns the key of a member: its e-mail address in Thunderbird, whose names of entries are made of
/// it, else its name in the directory.
fn member_key(dn: &str) -> String {
    match dn_value(dn, "mail") {
        Some(mail) if !is_directory_name(&normalize_dn(dn)) => mail.to_lowercase(),
        _ => normalize_dn(dn),
    }
}

/// Returns the distinguished name in one form: lower-case, without blanks around its separators.
fn normalize_dn(dn: &str) -> String {
    let parts = dn.split(',').map(|part| match part.split_once('=') {
        Some((name, value)) => format!("{}={}", name.trim(), value.trim()),
        None => part.trim().to_owned(),
    });
    parts.collect::<Vec<_>>().join(",").to_lowercase()
}

/// Returns true for the name of an entry in a directory. An address book's export has names made of
/// name and address, which two people may share.
fn is_directory_name(dn: &str) -> bool {
    let last = dn.rsplit(',').next().unwrap_or_default();
    ["dc=", "o=", "c="]
        .iter()
        .any(|root| last.starts_with(root))
}

/// Returns the value of an attribute in a distinguished name.
fn dn_value(dn: &str, name: &str) -> Option<String> {
    let mut parts = dn.split(',').filter_map(|part| part.split_once('='));
    let found = parts.find(|(key, _)| key.trim().eq_ignore_ascii_case(name))?;
    Some(found.1.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Writes the attributes of an entry into a draft.
struct EntryWriter<'c> {
    draft: CardDraft,
    parts: EntryParts,
    warnings: Vec<String>,
    uid: Option<String>,
    is_group: bool,
    kept: &'c mut Vec<FieldCount>,
}

impl EntryWriter<'_> {
    fn write(&mut self, attribute: &Attribute) {
        let text = attribute.text();
        if text.is_empty() {
            return;
        }
        let Some(meaning) = meaning_of(&attribute.key) else {
            count_field(self.kept, &attribute.name);
            return self.draft.push(custom_property(&attribute.name, &text));
        };
        match meaning {
            Meaning::FullName(rank) => {
                let known = self.parts.full_name.take();
                let (best, other) = match known {
                    Some(known) if known.0 <= rank => (known, Some(text)),
                    Some(known) => ((rank, text), Some(known.1)),
                    None => ((rank, text), None),
                };
                if let Some(other) = other.filter(|other| *other != best.1) {
                    self.keep(&attribute.name, &other);
                }
                self.parts.full_name = Some(best);
            }
            Meaning::Name(index) => match self.draft.name.get_mut(index) {
                Some(part) if part.is_empty() => part.push(text),
                _ => self.keep(&attribute.name, &text),
            },
            Meaning::Organization(index) => match self.parts.organization.get_mut(index) {
                Some(part) if part.is_empty() => part.push(text),
                _ => self.keep(&attribute.name, &text),
            },
            Meaning::Property(name, label) => {
                let property = match name {
                    "NICKNAME" => DraftProperty::new(name, DraftValue::List(vec![text])),
                    name => DraftProperty::from_text(name, &text),
                };
                self.draft.push(property.with_label(Label::parse(label)));
            }
            Meaning::Address(place, index) => {
                if let Some(component) = self.address(place).components.get_mut(index) {
                    component.extend(text.lines().map(|line| line.trim().to_owned()));
                }
            }
            Meaning::WholeAddress("") => self.push_address("", &whole_address(&text)),
            Meaning::WholeAddress(place) => self.address(place).whole = whole_address(&text),
            Meaning::Birth(index) => {
                if let Some(part) = self.parts.birth.get_mut(index) {
                    *part = text;
                }
            }
            Meaning::Date(name) => self.write_date(name, &text, &attribute.name),
            Meaning::Messenger(service) => self.draft.push(messenger_property(service, &text)),
            Meaning::Relation(kind) => {
                let name = dn_value(&text, "cn").unwrap_or(text);
                let related = DraftProperty::text("RELATED", name)
                    .with_label(relation_label(kind))
                    .with_parameter("VALUE", "text");
                self.draft.push(related);
            }
            Meaning::LabelledUri => {
                let (uri, label) = text.split_once(' ').unwrap_or((&text, ""));
                let url = DraftProperty::from_text("URL", uri);
                self.draft.push(url.with_label(Label::parse(label)));
            }
            Meaning::Photo => self.write_data("PHOTO", &attribute.value),
            Meaning::Certificate => self.write_data("KEY", &attribute.value),
            Meaning::Custom(label) => self.draft.push(custom_property(label, &text)),
            Meaning::Categories => {
                self.draft
                    .push(DraftProperty::from_text("CATEGORIES", &text));
            }
            Meaning::Uuid => self.uid = Some(format!("urn:uuid:{}", text.to_ascii_lowercase())),
            Meaning::Member if self.is_group => {
                let member = match dn_value(&text, "mail") {
                    Some(mail) => format!("mailto:{mail}"),
                    None => content_uid([normalize_dn(&text).as_str()]),
                };
                self.draft.push(DraftProperty::from_text("MEMBER", &member));
            }
            Meaning::Member => self.keep(&attribute.name, &text),
            Meaning::Secret => self.warnings.push(format!(
                "{}: a password, which is not imported",
                attribute.name
            )),
            Meaning::Ignored => {}
        }
    }

    /// Takes name and address of the entry's own name, if no attribute has them (RFC 4511 section 4.6
    /// asks for attributes with these values, but not every program writes them).
    fn write_missing(&mut self, entry: &Entry) {
        let Some(dn) = entry.first("dn") else { return };
        let has_name = self.draft.name.iter().any(|part| !part.is_empty());
        if self.parts.full_name.is_none() && !has_name {
            let name = dn_value(&dn, "cn");
            self.parts.full_name = name.map(|name| (u8::MAX, name));
        }
        if !self.draft.has("EMAIL")
            && let Some(mail) = dn_value(&dn, "mail")
        {
            self.draft.push(DraftProperty::text("EMAIL", mail));
        }
    }

    /// Keeps a further value of an attribute that a contact has once.
    fn keep(&mut self, name: &str, text: &str) {
        self.draft.push(custom_property(name, text));
    }

    fn address(&mut self, place: &str) -> &mut AddressParts {
        match place {
            "Home" => &mut self.parts.home,
            _ => &mut self.parts.work,
        }
    }

    fn push_address(&mut self, place: &str, street: &[String]) {
        let mut components = vec![Vec::new(); 7];
        if let Some(component) = components.get_mut(2) {
            *component = street.to_vec();
        }
        let address = DraftProperty::new("ADR", DraftValue::Components(components));
        self.draft.push(address.with_label(Label::parse(place)));
    }

    fn write_date(&mut self, name: &str, text: &str, column: &str) {
        match TableDate::parse(text, DayOrder::MonthFirst) {
            Some(TableDate::None) => {}
            Some(TableDate::Date { date, .. }) => {
                self.draft
                    .push(DraftProperty::text(name, format_basic(date)));
            }
            None => {
                let problem = match names_missing_day(text) {
                    true => "names a day that does not exist",
                    false => "was not understood",
                };
                self.warnings.push(format!(
                    "{column}: the date {text} {problem} and is kept as text"
                ));
                let property = DraftProperty::text(name, text);
                self.draft.push(property.with_parameter("VALUE", "text"));
            }
        }
    }

    fn write_data(&mut self, name: &str, bytes: &[u8]) {
        let media_type = match bytes {
            [0xFF, 0xD8, ..] => "image/jpeg",
            [0x89, b'P', b'N', b'G', ..] => "image/png",
            [b'G', b'I', b'F', b'8', ..] => "image/gif",
            _ if name == "KEY" => "application/pkix-cert",
            _ => "application/octet-stream",
        };
        let uri = format!("data:{media_type};base64,{}", STANDARD.encode(bytes));
        self.draft
            .push(DraftProperty::new(name, DraftValue::Uri(uri)));
    }

    /// Writes the values that several attributes make.
    fn finish(mut self) -> Self {
        let parts = std::mem::take(&mut self.parts);
        self.draft.full_name = parts.full_name.map(|(_, name)| name).unwrap_or_default();
        let mut organization = parts.organization.to_vec();
        if organization.last().is_some_and(Vec::is_empty) {
            organization.pop();
        }
        let organization = DraftValue::Components(organization);
        self.draft.push(DraftProperty::new("ORG", organization));
        for (place, address) in [("Work", parts.work), ("Home", parts.home)] {
            let has_components = address.components.iter().any(|c| !c.is_empty());
            match has_components {
                true => {
                    let components = DraftValue::Components(address.components.to_vec());
                    let property = DraftProperty::new("ADR", components);
                    self.draft.push(property.with_label(Label::parse(place)));
                }
                false => self.push_address(place, &address.whole),
            }
        }
        let [year, month, day] = &parts.birth;
        let text = match (year.as_str(), month.as_str(), day.as_str()) {
            ("", "", "") => String::new(),
            (year, "", "") => year.to_owned(),
            // An attribute of this name may also be the whole date.
            ("", "", day) => day.to_owned(),
            ("", month, day) => format!("--{month:0>2}-{day:0>2}"),
            (year, month, "") => format!("{year}-{month:0>2}"),
            (year, month, day) => format!("{year}-{month:0>2}-{day:0>2}"),
        };
        if !text.is_empty() {
            self.write_date("BDAY", &text, "birthday");
        }
        if self.is_group {
            self.draft.push(DraftProperty::text("KIND", "group"));
        }
        self
    }
}

/// Returns the lines of a postal address (RFC 4517 section 3.3.28).
fn whole_address(text: &str) -> Vec<String> {
    let lines = text.split(['$', '\n']).map(|line| {
        let line = line.trim();
        line.replace("\\24", "$")
            .replace("\\5C", "\\")
            .replace("\\5c", "\\")
    });
    lines.filter(|line| !line.is_empty()).collect()
}
