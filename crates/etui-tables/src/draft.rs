//! [`CardDraft`]: the properties of a contact before they are written as vCard 4.0.

use etui_contentline::edit::{fold_line, is_one_of, is_property_name};
use etui_contentline::values::escape_text;
use etui_vcard::{Card, CardError, StructuredName};

use crate::label::Label;

/// Properties with components (RFC 6350 sections 6.2.2, 6.3.1, 6.6.4, 6.2.7).
const STRUCTURED: &[&str] = &["N", "ADR", "ORG", "GENDER"];
/// Properties that are lists.
const LISTS: &[&str] = &["CATEGORIES", "NICKNAME"];
/// Properties that are URIs.
const URIS: &[&str] = &[
    "UID",
    "URL",
    "PHOTO",
    "LOGO",
    "SOUND",
    "SOURCE",
    "KEY",
    "IMPP",
    "GEO",
    "FBURL",
    "CALURI",
    "CALADRURI",
    "MEMBER",
    "RELATED",
    "SOCIALPROFILE",
    "CONTACT-URI",
    "ORG-DIRECTORY",
];

/// The value of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DraftValue {
    Text(String),
    /// Nothing in it is escaped.
    Uri(String),
    List(Vec<String>),
    Components(Vec<Vec<String>>),
}

/// A property.
#[derive(Debug, Clone)]
pub(crate) struct DraftProperty {
    pub(crate) name: String,
    pub(crate) label: Label,
    /// Other parameters.
    pub(crate) parameters: Vec<(&'static str, String)>,
    pub(crate) value: DraftValue,
}

impl DraftProperty {
    pub(crate) fn new(name: &str, value: DraftValue) -> Self {
        Self {
            name: name.to_owned(),
            label: Label::default(),
            parameters: Vec::new(),
            value,
        }
    }

    pub(crate) fn text(name: &str, text: impl Into<String>) -> Self {
        Self::new(name, DraftValue::Text(text.into()))
    }

    /// A property from one text: in structured properties `;` separates the components, in lists
    /// `,` the entries.
    pub(crate) fn from_text(name: &str, text: &str) -> Self {
        let trimmed = |separator| {
            let parts = text.split(separator).map(str::trim);
            parts.map(str::to_owned).collect::<Vec<_>>()
        };
        Self::new(
            name,
            match () {
                () if is_one_of(STRUCTURED, name) => {
                    DraftValue::Components(trimmed(';').into_iter().map(|c| vec![c]).collect())
                }
                () if is_one_of(LISTS, name) => DraftValue::List(trimmed(',')),
                () if is_one_of(URIS, name) => DraftValue::Uri(text.to_owned()),
                () => DraftValue::Text(text.to_owned()),
            },
        )
    }

    pub(crate) fn with_label(self, label: Label) -> Self {
        Self { label, ..self }
    }

    pub(crate) fn with_parameter(mut self, name: &'static str, value: &str) -> Self {
        self.parameters.push((name, value.to_owned()));
        self
    }

    fn is_empty(&self) -> bool {
        match &self.value {
            DraftValue::Text(text) | DraftValue::Uri(text) => text.trim().is_empty(),
            DraftValue::List(texts) => texts.iter().all(|t| t.trim().is_empty()),
            DraftValue::Components(all) => all.iter().flatten().all(|t| t.trim().is_empty()),
        }
    }

    /// The line without group and line end.
    fn line(&self) -> String {
        let mut line = self.name.clone();
        let mut types: Vec<&str> = self.label.types.iter().map(String::as_str).collect();
        types.retain(|kind| is_property_name(kind));
        if !types.is_empty() {
            line.push_str(";TYPE=");
            line.push_str(&types.join(","));
        }
        if self.label.is_preferred {
            line.push_str(";PREF=1");
        }
        for (name, value) in &self.parameters {
            let value: String = value
                .chars()
                .filter(|c| *c != '"' && !c.is_control())
                .collect();
            let quote = if value.contains([',', ';', ':']) {
                "\""
            } else {
                ""
            };
            line.push_str(&format!(";{name}={quote}{value}{quote}"));
        }
        line.push(':');
        let escape = |text: &str| escape_text(&clean(text), "\\,;", "\\n");
        let list = |texts: &[String]| {
            let texts = texts.iter().filter(|t| !t.trim().is_empty());
            texts.map(|t| escape(t)).collect::<Vec<_>>().join(",")
        };
        line.push_str(&match &self.value {
            DraftValue::Text(text) => escape(text),
            DraftValue::Uri(text) => escape_text(&clean(text), "\\", ""),
            DraftValue::List(texts) => list(texts),
            DraftValue::Components(all) => {
                all.iter().map(|c| list(c)).collect::<Vec<_>>().join(";")
            }
        });
        line
    }
}

/// Removes the characters that no vCard has (RFC 6350 section 3.3).
fn clean(text: &str) -> String {
    let kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.trim().chars().filter(kept).collect()
}

/// The properties of a contact.
#[derive(Debug, Default)]
pub(crate) struct CardDraft {
    /// The name to show, if the input has one.
    pub(crate) full_name: String,
    /// Family, given, additional names, prefixes, suffixes.
    pub(crate) name: [Vec<String>; 5],
    properties: Vec<DraftProperty>,
}

impl CardDraft {
    pub(crate) fn push(&mut self, property: DraftProperty) {
        if !property.is_empty() {
            self.properties.push(property);
        }
    }

    /// Returns true if there is a property of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.properties.iter().any(|property| property.name == name)
    }

    /// Returns true if there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.full_name.trim().is_empty()
            && self
                .name
                .iter()
                .flatten()
                .all(|part| part.trim().is_empty())
            && self.properties.is_empty()
    }

    /// Writes the contact as vCard 4.0.
    pub(crate) fn into_card(self, uid: &str) -> Result<Card, CardError> {
        let mut out = b"BEGIN:VCARD\r\nVERSION:4.0\r\n".to_vec();
        let mut push = |line: &str| out.extend_from_slice(&fold_line(line, b"\r\n"));
        for property in self.names() {
            push(&property.line());
        }
        push(&format!("UID:{uid}"));
        let mut group = 0;
        for property in &self.properties {
            match &property.label.text {
                Some(label) => {
                    group += 1;
                    push(&format!("item{group}.{}", property.line()));
                    let label = DraftProperty::text("X-ABLABEL", label.clone());
                    push(&format!("item{group}.{}", label.line()));
                }
                None => push(&property.line()),
            }
        }
        out.extend_from_slice(b"END:VCARD\r\n");
        Card::parse(out)
    }

    /// FN and N. The name to show is that of the input, or made of the components, or else the
    /// first organisation, nickname, e-mail address or phone number.
    fn names(&self) -> Vec<DraftProperty> {
        let part = |index: usize| {
            let parts = self.name.get(index).into_iter().flatten();
            let parts = parts.map(|p| p.trim()).filter(|p| !p.is_empty());
            parts.collect::<Vec<_>>().join(" ")
        };
        let mut name = StructuredName {
            family: part(0),
            given: part(1),
            additional: part(2),
            prefix: part(3),
            suffix: part(4),
        };
        let has_parts = name != StructuredName::default();
        let full = self.full_name.trim();
        let organization = self.first_of("ORG");
        let shown = match full {
            "" if has_parts => name.to_display(),
            "" => {
                let others = ["ORG", "NICKNAME", "EMAIL", "TEL", "URL"];
                let mut others = others.iter().filter_map(|name| self.first_of(name));
                others.next().unwrap_or_default()
            }
            full => full.to_owned(),
        };
        // A group has no family name.
        let is_person = !self.has("KIND") && organization.as_deref() != Some(full);
        // A phone number in place of a name has no parts.
        let has_letters = full.contains(char::is_alphabetic);
        if !has_parts && has_letters && is_person {
            name = StructuredName::split_display(full);
        }
        let mut all = Vec::new();
        if !shown.is_empty() {
            all.push(DraftProperty::text("FN", shown));
        }
        if name != StructuredName::default() {
            let parts = [
                name.family,
                name.given,
                name.additional,
                name.prefix,
                name.suffix,
            ];
            let parts = parts.into_iter().map(|p| vec![p]).collect();
            all.push(DraftProperty::new("N", DraftValue::Components(parts)));
        }
        all
    }

    /// The first text of the first property of this name.
    fn first_of(&self, name: &str) -> Option<String> {
        let found = self.properties.iter().find(|p| p.name == name)?;
        let text = match &found.value {
            DraftValue::Text(text) | DraftValue::Uri(text) => Some(text),
            DraftValue::List(texts) => texts.first(),
            DraftValue::Components(all) => all.iter().flatten().find(|t| !t.is_empty()),
        };
        text.map(|text| text.trim().to_owned())
            .filter(|t| !t.is_empty())
    }
}

/// Returns a UID that the same content always has: `urn:uuid:` and a UUID of version 8
/// (RFC 9562 section 5.8) with 122 bits of the BLAKE3 hash of the parts.
pub(crate) fn content_uid<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    let uuid = uuid::Builder::from_custom_bytes(bytes).into_uuid();
    format!("urn:uuid:{uuid}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_a_card() {
        let mut draft = CardDraft::default();
        draft.name[0].push("Müller".to_owned());
        draft.name[1].push("Änne".to_owned());
        draft.push(DraftProperty::text("TEL", "1").with_label(Label::parse("* Boat; red")));
        draft.push(DraftProperty::text("NOTE", "two\r\nlines; and\u{7} more\\"));
        draft.push(DraftProperty::text("TITLE", "  "));
        draft.push(DraftProperty::from_text("ORG", "Example, Inc.;Sales"));
        let uid = content_uid(["a", "b"]);
        let card = draft.into_card(&uid).unwrap();
        assert_eq!(
            String::from_utf8_lossy(card.text()),
            format!(
                "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Änne Müller\r\nN:Müller;Änne;;;\r\n\
                 UID:{uid}\r\nitem1.TEL;PREF=1:1\r\nitem1.X-ABLABEL:Boat\\; red\r\n\
                 NOTE:two\\nlines\\; and more\\\\\r\nORG:Example\\, Inc.;Sales\r\nEND:VCARD\r\n"
            )
        );
        assert_eq!(card.note().as_deref(), Some("two\nlines; and more\\"));
    }

    #[test]
    fn a_name_is_found_for_everybody() {
        for (name, text, shown, components) in [
            ("ORG", "Example GmbH", "Example GmbH", None),
            ("EMAIL", "a@example.org", "a@example.org", None),
        ] {
            let mut draft = CardDraft::default();
            draft.push(DraftProperty::from_text(name, text));
            let card = draft.into_card("urn:uuid:1").unwrap();
            assert_eq!(card.display_name(), shown);
            assert_eq!(card.property("N").as_deref(), components);
        }
        let mut draft = CardDraft {
            full_name: "Dr. Ada Lovelace".to_owned(),
            ..CardDraft::default()
        };
        assert!(!draft.is_empty() && !draft.has("TEL"));
        draft.push(DraftProperty::text("TEL", "1"));
        let card = draft.into_card("urn:uuid:1").unwrap();
        assert_eq!(card.property("N").as_deref(), Some("Lovelace;Ada;;Dr.;"));
    }

    #[test]
    fn uids_depend_on_the_parts() {
        assert_eq!(content_uid(["a", "b"]), content_uid(["a", "b"]));
        assert_ne!(content_uid(["a", "b"]), content_uid(["ab", ""]));
        assert_ne!(content_uid(["a", "b"]), content_uid(["b", "a"]));
    }
}
