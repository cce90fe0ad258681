//! [`Property`]: one content line, with its value split and unescaped.
//!
//! ```text
//! item1.ORG;TYPE=work:Acme\, Inc.;Research      components: "Acme, Inc." | "Research"
//! CATEGORIES:friends,climbing                   list:       "friends", "climbing"
//! N:Lovelace;Ada;Augusta,Byron;;                components, each a list
//! PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ...        binary:     image/jpeg
//! ```
//!
//! The property's name decides how its value is split (RFC 6350 §6). Any other property is one
//! text.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{Encoding, WINDOWS_1252};
use etui_contentline::edit::is_one_of;
use etui_contentline::lines::{ContentLine, parse_params};
use etui_contentline::values::{split_unescaped, unescape_raw};

use crate::date::PropertyDate;
use crate::parameter::{PropertyParameter, is_label};

/// Base64 as found in the field: with or without padding, and with leftover bits at the end.
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The syntax of a property's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueSyntax {
    /// One text.
    Text,
    /// A URI, or inline data.
    Uri,
    /// A date, perhaps with a time.
    Date,
    /// Texts separated by `,`.
    List,
    /// Texts separated by `;`.
    Components,
    /// Lists separated by `;`.
    ComponentLists,
}

/// The properties whose value is not one text.
const SYNTAXES: &[(&str, ValueSyntax)] = &[
    ("N", ValueSyntax::ComponentLists),
    ("ADR", ValueSyntax::ComponentLists),
    ("ORG", ValueSyntax::Components),
    ("GENDER", ValueSyntax::Components),
    ("CLIENTPIDMAP", ValueSyntax::Components),
    ("NICKNAME", ValueSyntax::List),
    ("CATEGORIES", ValueSyntax::List),
    ("BDAY", ValueSyntax::Date),
    ("ANNIVERSARY", ValueSyntax::Date),
    ("DEATHDATE", ValueSyntax::Date),
    ("REV", ValueSyntax::Date),
    ("CREATED", ValueSyntax::Date),
    ("PHOTO", ValueSyntax::Uri),
    ("LOGO", ValueSyntax::Uri),
    ("SOUND", ValueSyntax::Uri),
    ("KEY", ValueSyntax::Uri),
    ("UID", ValueSyntax::Uri),
    ("URL", ValueSyntax::Uri),
    ("SOURCE", ValueSyntax::Uri),
    ("IMPP", ValueSyntax::Uri),
    ("GEO", ValueSyntax::Uri),
    ("MEMBER", ValueSyntax::Uri),
    ("RELATED", ValueSyntax::Uri),
    ("FBURL", ValueSyntax::Uri),
    ("CALADRURI", ValueSyntax::Uri),
    ("CALURI", ValueSyntax::Uri),
    ("ORG-DIRECTORY", ValueSyntax::Uri),
    ("CONTACT-URI", ValueSyntax::Uri),
    ("SOCIALPROFILE", ValueSyntax::Uri),
];

/// Properties with one text as their value, whose names are written in capitals.
const TEXTS: &[&str] = &[
    "FN",
    "TEL",
    "EMAIL",
    "NOTE",
    "TITLE",
    "ROLE",
    "TZ",
    "LANG",
    "KIND",
    "XML",
    "PRODID",
    "VERSION",
    "BIRTHPLACE",
    "DEATHPLACE",
    "EXPERTISE",
    "HOBBY",
    "INTEREST",
    "LANGUAGE",
    "PRONOUNS",
    "GRAMGENDER",
    "JSPROP",
];

/// Properties of older versions with one text.
const OLD_TEXTS: &[&str] = &["LABEL", "SORT-STRING", "MAILER", "CLASS", "NAME"];

/// Parameters that describe how an older version encodes the value.
pub(crate) const ENCODINGS: &[&str] = &[
    "ENCODING",
    "CHARSET",
    "QUOTED-PRINTABLE",
    "BASE64",
    "8BIT",
    "7BIT",
    "B",
];

/// One property of a card.
#[derive(Debug, Clone)]
pub(crate) struct Property {
    /// The group before the name, e.g. `item1`.
    pub(crate) group: Option<String>,
    /// The name: in capitals if this crate knows the property, else as written.
    pub(crate) name: String,
    /// The parameters, without those of [`ENCODINGS`].
    pub(crate) parameters: Vec<PropertyParameter>,
    pub(crate) value: PropertyValue,
}

/// The value of a property, without escapes.
#[derive(Debug, Clone)]
pub(crate) enum PropertyValue {
    /// One text. Dates that can be read are in the extended form, `1815-12-10T10:00:00Z`.
    Text(String),
    /// Texts separated by `,`.
    List(Vec<String>),
    /// Components separated by `;`, each a list.
    Components(Vec<Vec<String>>),
    /// Inline data.
    Binary(InlineData),
}

/// Decoded base64.
#[derive(Debug, Clone)]
pub(crate) struct InlineData {
    /// The media type, if the card gives one.
    pub(crate) media_type: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

impl Property {
    /// Reads a line of a card in UTF-8 without quoted-printable
    /// ([`repair_charset`](etui_contentline::charset::repair_charset)). `None` for a line without
    /// colon or with a name that no property can have.
    pub(crate) fn parse(line: &ContentLine<'_>) -> Option<Self> {
        let name = String::from_utf8_lossy(&line.unfolded_name())
            .trim()
            .to_owned();
        if !is_plausible_name(&name) {
            return None;
        }
        let name = canonical_name(&name).map_or(name, str::to_owned);
        let group = line
            .group
            .map(|group| String::from_utf8_lossy(group).trim().to_owned())
            .filter(|group| is_plausible_name(group));
        let raw_params = line.unfolded_params();
        let mut parameters: Vec<PropertyParameter> = Vec::new();
        let mut charset = None;
        let mut is_base64 = line.is_base64();
        for param in parse_params(&raw_params).filter(|param| !param.text.is_empty()) {
            let parameter = PropertyParameter::parse(&param);
            if parameter.is_named("CHARSET") {
                charset = parameter.values.into_iter().next();
            } else if parameter.is_named("ENCODING") {
                is_base64 |= parameter
                    .values
                    .iter()
                    .any(|value| is_one_of(&["B", "BASE64"], value));
            } else if !(parameter.values.is_empty() && is_one_of(ENCODINGS, &parameter.name)) {
                parameters.push(parameter);
            }
        }
        let raw = line.unfolded_value();
        let raw = String::from_utf8_lossy(&raw);
        let mut property = Self {
            group,
            name,
            parameters,
            value: PropertyValue::Text(String::new()),
        };
        property.value = match decode_base64(&raw).filter(|_| is_base64) {
            Some(bytes) => property.decoded_value(bytes, charset.as_deref()),
            None => property.parse_value(&raw),
        };
        Some(property)
    }

    /// The syntax of the value.
    pub(crate) fn syntax(&self) -> ValueSyntax {
        let by_name = SYNTAXES.iter().find(|(name, _)| self.is_named(name));
        match by_name {
            Some(&(_, syntax)) => syntax,
            None if self
                .value_type()
                .is_some_and(|t| t.eq_ignore_ascii_case("URI")) =>
            {
                ValueSyntax::Uri
            }
            None => ValueSyntax::Text,
        }
    }

    /// Returns true if the value is one text, and the property is one that this crate knows.
    pub(crate) fn is_known_text(&self) -> bool {
        let is_known = is_one_of(TEXTS, &self.name) || is_one_of(OLD_TEXTS, &self.name);
        is_known && self.syntax() == ValueSyntax::Text
    }

    /// The VALUE parameter.
    pub(crate) fn value_type(&self) -> Option<&str> {
        self.parameters
            .iter()
            .find(|parameter| parameter.is_named("VALUE"))?
            .values
            .first()
            .map(String::as_str)
    }

    /// Returns true if the property's name is `name`, in any case.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    fn parse_value(&self, raw: &str) -> PropertyValue {
        let syntax = self.syntax();
        match syntax {
            ValueSyntax::List => PropertyValue::List(
                split_unescaped(raw, ',')
                    .map(|text| unescape_raw(text.trim()))
                    .collect(),
            ),
            ValueSyntax::Components => PropertyValue::Components(
                split_unescaped(raw, ';')
                    .map(|text| vec![unescape_raw(text)])
                    .collect(),
            ),
            ValueSyntax::ComponentLists => PropertyValue::Components(
                split_unescaped(raw, ';')
                    .map(|list| split_unescaped(list, ',').map(unescape_raw).collect())
                    .collect(),
            ),
            ValueSyntax::Text => PropertyValue::Text(unescape_raw(raw)),
            ValueSyntax::Date => {
                let text = unescape_raw(raw);
                PropertyValue::Text(match PropertyDate::parse(text.trim()) {
                    Some(date) => date.to_extended(),
                    None => text,
                })
            }
            ValueSyntax::Uri => {
                let text = unescape_raw(raw);
                match parse_data_uri(text.trim()) {
                    Some(data) => PropertyValue::Binary(data),
                    None => PropertyValue::Text(text),
                }
            }
        }
    }

    /// Decoded base64 is text where the property is text and the bytes are. A structured property
    /// is always text.
    fn decoded_value(&self, bytes: Vec<u8>, charset: Option<&str>) -> PropertyValue {
        if bytes.is_empty() {
            return PropertyValue::Text(String::new());
        }
        let bytes = if self.syntax() == ValueSyntax::Uri {
            bytes
        } else {
            let declared = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
            match (declared, String::from_utf8(bytes)) {
                (_, Ok(text)) => return self.parse_value(&text),
                (Some(encoding), Err(error)) => {
                    return self.parse_value(&encoding.decode(error.as_bytes()).0);
                }
                (None, Err(error)) if self.syntax() != ValueSyntax::Text => {
                    return self.parse_value(&WINDOWS_1252.decode(error.as_bytes()).0);
                }
                (None, Err(error)) => error.into_bytes(),
            }
        };
        PropertyValue::Binary(InlineData {
            media_type: self.parameter_media_type(),
            bytes,
        })
    }

    /// The media type that the TYPE and MEDIATYPE parameters give inline data. Versions before
    /// 4.0 write `TYPE=JPEG`.
    fn parameter_media_type(&self) -> Option<String> {
        self.parameters
            .iter()
            .filter(|parameter| parameter.is_type() || parameter.is_named("MEDIATYPE"))
            .flat_map(PropertyParameter::each_type)
            .find_map(|token| media_type(&self.name, token))
    }

    /// Drops the TYPE values that name the media type, which a `data:` URI carries itself.
    pub(crate) fn drop_media_types(&mut self) {
        let name = &self.name;
        self.parameters.retain_mut(|parameter| {
            if parameter.is_named("MEDIATYPE") {
                return false;
            }
            if !parameter.is_named("TYPE") {
                return true;
            }
            parameter
                .values
                .retain(|token| media_type(name, token).is_none());
            !parameter.values.is_empty()
        });
    }

    /// Returns the property `name` with one text, without parameters.
    pub(crate) fn of_text(name: &str, text: String) -> Self {
        Self {
            group: None,
            name: name.to_owned(),
            parameters: Vec::new(),
            value: PropertyValue::Text(text),
        }
    }

    /// The first value of the parameter `name`.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|p| p.is_named(name))?;
        found.values.first().map(String::as_str)
    }

    /// Returns true if the property has the parameter `name`.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|p| p.is_named(name))
    }

    /// Appends a parameter.
    pub(crate) fn push_parameter(&mut self, name: &str, values: Vec<String>) {
        self.parameters.push(PropertyParameter {
            name: name.to_owned(),
            values,
        });
    }

    /// Removes the parameter `name`.
    pub(crate) fn drop_parameter(&mut self, name: &str) {
        self.parameters.retain(|p| !p.is_named(name));
    }

    /// Removes the parameters that hold types, and returns the types as written.
    pub(crate) fn take_types(&mut self) -> Vec<String> {
        let mut types = Vec::new();
        self.parameters.retain(|p| {
            if p.is_type() {
                types.extend(p.each_type().map(str::to_owned));
            }
            !p.is_type()
        });
        types.retain(|t| !t.is_empty());
        types
    }

    /// Visits every text of the value with the index of its component.
    pub(crate) fn for_each_text(&self, mut visit: impl FnMut(usize, &str)) {
        match &self.value {
            PropertyValue::Text(text) => visit(0, text),
            PropertyValue::List(texts) => texts.iter().for_each(|text| visit(0, text)),
            PropertyValue::Components(components) => {
                for (index, texts) in components.iter().enumerate() {
                    texts.iter().for_each(|text| visit(index, text));
                }
            }
            PropertyValue::Binary(_) => {}
        }
    }

    /// The first text of the value.
    pub(crate) fn first_text(&self) -> Option<&str> {
        match &self.value {
            PropertyValue::Text(text) => Some(text),
            PropertyValue::List(texts) => texts.first().map(String::as_str),
            PropertyValue::Components(components) => {
                components.first()?.first().map(String::as_str)
            }
            PropertyValue::Binary(_) => None,
        }
    }

    /// The texts of the component `index`, trimmed and joined by `separator`.
    pub(crate) fn component(&self, index: usize, separator: &str) -> String {
        let mut joined = String::new();
        self.for_each_text(|at, text| {
            let text = text.trim();
            if at == index && !text.is_empty() {
                if !joined.is_empty() {
                    joined.push_str(separator);
                }
                joined.push_str(text);
            }
        });
        joined
    }

    /// The number of components.
    pub(crate) fn component_count(&self) -> usize {
        match &self.value {
            PropertyValue::Components(components) => components.len(),
            _ => 1,
        }
    }

    /// The value as one text: components and list entries are joined by `;`, the entries of a
    /// component by `,`.
    pub(crate) fn joined_text(&self) -> String {
        match &self.value {
            PropertyValue::Text(text) => text.clone(),
            PropertyValue::List(texts) => texts.join(";"),
            PropertyValue::Components(components) => components
                .iter()
                .map(|texts| texts.join(","))
                .collect::<Vec<_>>()
                .join(";"),
            PropertyValue::Binary(data) => {
                let kind = data.media_type.as_deref().unwrap_or("data");
                format!("({kind}, {} bytes)", data.bytes.len())
            }
        }
    }

    /// Returns true if the value is more than blanks.
    pub(crate) fn has_content(&self) -> bool {
        let mut any = matches!(self.value, PropertyValue::Binary(_));
        self.for_each_text(|_, text| any |= !text.trim().is_empty());
        any
    }

    /// Returns true if the property is marked as preferred: `PREF=1` (4.0), `TYPE=PREF` (3.0) or
    /// `PREF` (2.1).
    pub(crate) fn is_preferred(&self) -> bool {
        self.parameters.iter().any(|parameter| {
            if parameter.is_named("PREF") {
                let level = parameter.values.first();
                level.is_none_or(|level| level.trim().parse::<i64>().map_or(true, |n| n == 1))
            } else {
                parameter.is_type()
                    && parameter
                        .each_type()
                        .any(|t| t.eq_ignore_ascii_case("PREF"))
            }
        })
    }

    /// The placeholder year of a date without one (`X-APPLE-OMIT-YEAR`).
    pub(crate) fn omitted_year(&self) -> Option<u16> {
        self.parameter("X-APPLE-OMIT-YEAR")?.parse().ok()
    }

    /// The types, lower-case, without the preference and the `internet` of older versions.
    pub(crate) fn types(&self) -> Vec<String> {
        let mut types: Vec<String> = Vec::new();
        for parameter in &self.parameters {
            if parameter.is_type() {
                types.extend(parameter.each_type().map(str::to_ascii_lowercase));
            }
        }
        types.retain(|t| !matches!(t.as_str(), "" | "internet" | "pref") && !is_label(t));
        types
    }

    /// The label that a type of the user's own is, without its `X-`: `X-Boat`.
    pub(crate) fn type_label(&self) -> Option<&str> {
        let types = self.parameters.iter().filter(|p| p.is_type());
        let mut types = types.flat_map(PropertyParameter::each_type);
        types.find(|t| is_label(t))?.get(2..)
    }
}

/// Returns true for a name without delimiters, blanks and controls.
fn is_plausible_name(name: &str) -> bool {
    !name.is_empty()
        && !name
            .chars()
            .any(|c| matches!(c, '"' | ':' | ';') || c.is_control() || c.is_whitespace())
}

/// The name in capitals, if this crate knows it.
fn canonical_name(name: &str) -> Option<&'static str> {
    let known = SYNTAXES.iter().map(|(known, _)| *known);
    known
        .chain(TEXTS.iter().copied())
        .find(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the media type for a TYPE value of versions before 4.0.
fn media_type(property: &str, token: &str) -> Option<String> {
    let token = token.trim().to_ascii_lowercase();
    if token.contains('/') {
        return Some(token);
    }
    let is_word = !token.is_empty() && !token.contains(|c: char| c.is_whitespace() || c == ',');
    if !is_word || is_one_of(&["home", "work", "pref"], &token) {
        return None;
    }
    match (property, token.as_str()) {
        ("PHOTO" | "LOGO", "jpg") => Some("image/jpeg".to_owned()),
        ("PHOTO" | "LOGO", "tif") => Some("image/tiff".to_owned()),
        ("PHOTO" | "LOGO", subtype) => Some(format!("image/{subtype}")),
        ("SOUND", "aif") => Some("audio/aiff".to_owned()),
        ("SOUND", "mp3") => Some("audio/mpeg".to_owned()),
        ("SOUND", "pcm") => Some("audio/l16".to_owned()),
        ("SOUND", "wave") => Some("audio/wav".to_owned()),
        ("SOUND", subtype) => Some(format!("audio/{subtype}")),
        ("KEY", "pgp" | "gpg") => Some("application/pgp-keys".to_owned()),
        ("KEY", "x509") => Some("application/x-x509-user-cert".to_owned()),
        _ => None,
    }
}

/// A `data:` URI with base64 (RFC 2397).
fn parse_data_uri(text: &str) -> Option<InlineData> {
    let (scheme, rest) = text.split_at_checked("data:".len())?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    let (head, data) = rest.split_once(',')?;
    let (media_type, encoding) = head.rsplit_once(';')?;
    if !encoding.trim().eq_ignore_ascii_case("base64") {
        return None;
    }
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let is_written = !media_type.is_empty() && !media_type.contains(char::is_control);
    Some(InlineData {
        media_type: is_written.then(|| media_type.to_owned()),
        bytes: decode_base64(data).filter(|bytes| !bytes.is_empty())?,
    })
}

/// Decodes base64. Characters outside its alphabet are ignored (RFC 2045 §6.8).
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    if let Ok(bytes) = LENIENT_BASE64.decode(text) {
        return Some(bytes);
    }
    let is_data = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let data: String = text.chars().filter(is_data).collect();
    LENIENT_BASE64.decode(data).ok()
}

/// Encodes bytes for a `data:` URI.
pub(crate) fn encode_base64(bytes: &[u8], out: &mut String) {
    LENIENT_BASE64.encode_string(bytes, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use etui_contentline::lines::ContentLines;

    fn property(line: &str) -> Property {
        let line = ContentLines::new(line.as_bytes()).next().unwrap();
        Property::parse(&line).unwrap()
    }

    #[test]
    fn names_decide_the_syntax() {
        assert_eq!(property("x-a:b;c,d").joined_text(), "b;c,d");
        assert_eq!(property("n:a;b,c;;").joined_text(), "a;b,c;;");
        assert_eq!(property("n:a;b,c;;").component(1, " "), "b c");
        assert_eq!(property("org:a,b;c\\;d").component(1, " "), "c;d");
        assert_eq!(property("nickname:a, b\\,c ,d").joined_text(), "a;b,c;d");
        assert_eq!(property("fn:a").name, "FN");
        assert_eq!(property("X-AbLabel:a").name, "X-AbLabel");
    }

    #[test]
    fn quotes_and_lists_in_parameters() {
        let property = property("TEL;TYPE=\"cell,text\",Home;VOICE;x=\"a;b:c\",d;PREF=2:1");
        assert_eq!(property.types(), ["cell", "text", "home", "voice"]);
        assert!(!property.is_preferred());
        let x = property
            .parameters
            .iter()
            .find(|p| p.is_named("X"))
            .unwrap();
        assert_eq!(x.values, ["a;b:c", "d"]);
    }

    #[test]
    fn preference_of_every_version() {
        for line in ["TEL;PREF=1:1", "TEL;TYPE=home,pref:1", "TEL;CELL;PREF:1"] {
            assert!(property(line).is_preferred(), "{line}");
        }
        assert_eq!(property("TEL;INTERNET;PREF;8BIT:1").types(), [""; 0]);
    }

    #[test]
    fn inline_data() {
        for (line, expected) in [
            ("PHOTO;ENCODING=b;TYPE=JPEG:AAEC", Some("image/jpeg")),
            ("PHOTO;BASE64;png:AAE C", Some("image/png")),
            ("PHOTO;TYPE=WORK;ENCODING=b:AAEC", None),
            ("PHOTO:data:image/gif;base64\\,AAEC", Some("image/gif")),
            ("LOGO:DATA:;base64,AAEC", None),
            ("KEY;ENCODING=B;TYPE=PGP:AAEC", Some("application/pgp-keys")),
        ] {
            let PropertyValue::Binary(data) = property(line).value else {
                panic!("{line}");
            };
            assert_eq!(data.media_type.as_deref(), expected, "{line}");
            assert_eq!(data.bytes, [0, 1, 2], "{line}");
        }
        assert_eq!(property("NOTE;ENCODING=b:aGk=").joined_text(), "hi");
        let latin = property("NOTE;CHARSET=iso-8859-1;ENCODING=b:/A==");
        assert_eq!(latin.joined_text(), "ü");
        assert_eq!(
            property("PHOTO;ENCODING=b:not base64!").first_text(),
            Some("not base64!")
        );
        assert!(!property("PHOTO;ENCODING=b:").has_content());
    }

    #[test]
    fn lines_that_are_no_properties() {
        for line in ["no colon", ":no name", "a b:c", "\u{7}:c"] {
            let line = ContentLines::new(line.as_bytes()).next().unwrap();
            assert!(Property::parse(&line).is_none());
        }
    }
}
