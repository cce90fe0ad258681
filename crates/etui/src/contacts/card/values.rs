//! The common properties, typed.

use calcard::common::IanaString;
use calcard::vcard::{
    VCardEntry, VCardParameterName, VCardParameterValue, VCardProperty, VCardValue,
};

use super::Card;

/// The N property (RFC 6350 §6.2.2); parts that hold several names are joined by a space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Name {
    /// Family name.
    pub family: String,
    /// Given name.
    pub given: String,
    /// Additional (middle) names.
    pub additional: String,
    /// Honorific prefixes.
    pub prefix: String,
    /// Honorific suffixes.
    pub suffix: String,
}

/// A value with its TYPE parameters (RFC 6350 §5.6): an e-mail address, a phone number, a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed {
    /// The value as written.
    pub value: String,
    /// Its types, lower-case, e.g. `home`, `cell`; without `pref`.
    pub types: Vec<String>,
    /// Whether it is marked as preferred (TYPE=PREF, PREF=1).
    pub preferred: bool,
}

/// The ORG property (RFC 6350 §6.6.4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Organization {
    /// The organisation's name.
    pub name: String,
    /// Its units, from large to small.
    pub units: Vec<String>,
}

/// The ADR property (RFC 6350 §6.3.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Address {
    /// Street address, with post-office box and extended address before it.
    pub street: String,
    /// City.
    pub locality: String,
    /// State or province.
    pub region: String,
    /// Postal code.
    pub code: String,
    /// Country.
    pub country: String,
    /// Types, lower-case.
    pub types: Vec<String>,
}

/// A date, perhaps without its year (RFC 6350 §4.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Date {
    /// Year, if known.
    pub year: Option<u16>,
    /// Month, 1 to 12, if known.
    pub month: Option<u8>,
    /// Day, 1 to 31, if known.
    pub day: Option<u8>,
}

/// The PHOTO property (RFC 6350 §6.2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Photo {
    /// The image itself.
    Inline {
        /// Media type as the card says it, e.g. `image/jpeg`.
        media_type: Option<String>,
        /// The image file's bytes.
        bytes: Vec<u8>,
    },
    /// Where the image is.
    Uri(String),
}

impl Card {
    /// The N property; empty parts when there is none.
    #[must_use]
    pub fn name(&self) -> Name {
        let Some(entry) = self.entries(&VCardProperty::N).next() else {
            return Name::default();
        };
        let part = |i: usize| {
            entry
                .values
                .get(i)
                .map(|v| component(v, " "))
                .unwrap_or_default()
        };
        Name {
            family: part(0),
            given: part(1),
            additional: part(2),
            prefix: part(3),
            suffix: part(4),
        }
    }

    /// The name to show: FN, or else what N, NICKNAME, ORG, EMAIL or TEL offer; empty when the
    /// card has none of them.
    #[must_use]
    pub fn display_name(&self) -> String {
        if let Some(name) = self.first_text(&VCardProperty::Fn) {
            return name.to_owned();
        }
        let n = self.name();
        let parts = [&n.prefix, &n.given, &n.additional, &n.family, &n.suffix];
        let joined = parts
            .iter()
            .filter(|p| !p.is_empty())
            .map(|p| p.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        if !joined.is_empty() {
            return joined;
        }
        [
            VCardProperty::Nickname,
            VCardProperty::Org,
            VCardProperty::Email,
            VCardProperty::Tel,
        ]
        .iter()
        .find_map(|p| self.first_text(p))
        .unwrap_or_default()
        .to_owned()
    }

    /// Nicknames.
    #[must_use]
    pub fn nicknames(&self) -> Vec<String> {
        self.list(&VCardProperty::Nickname)
    }

    /// Categories (tags).
    #[must_use]
    pub fn categories(&self) -> Vec<String> {
        self.list(&VCardProperty::Categories)
    }

    /// The first organisation.
    #[must_use]
    pub fn organization(&self) -> Option<Organization> {
        self.organizations().into_iter().next()
    }

    /// All organisations.
    #[must_use]
    pub fn organizations(&self) -> Vec<Organization> {
        self.entries(&VCardProperty::Org)
            .map(|e| {
                let mut parts = e.values.iter().map(|v| component(v, ", "));
                Organization {
                    name: parts.next().unwrap_or_default(),
                    units: parts.filter(|p| !p.is_empty()).collect(),
                }
            })
            .filter(|o| !o.name.is_empty() || !o.units.is_empty())
            .collect()
    }

    /// Job title.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.first_text(&VCardProperty::Title)
    }

    /// The notes, joined by line breaks.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let notes: Vec<_> = self
            .entries(&VCardProperty::Note)
            .map(joined)
            .filter(|n| !n.trim().is_empty())
            .collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    }

    /// E-mail addresses, the preferred ones first, else in the card's order.
    #[must_use]
    pub fn emails(&self) -> Vec<Typed> {
        self.typed(&VCardProperty::Email)
    }

    /// Phone numbers as written, the preferred ones first, else in the card's order.
    #[must_use]
    pub fn phones(&self) -> Vec<Typed> {
        self.typed(&VCardProperty::Tel)
    }

    /// Web addresses.
    #[must_use]
    pub fn urls(&self) -> Vec<Typed> {
        self.typed(&VCardProperty::Url)
    }

    /// Postal addresses.
    #[must_use]
    pub fn addresses(&self) -> Vec<Address> {
        self.entries(&VCardProperty::Adr)
            .map(|e| {
                let part = |i: usize| {
                    e.values
                        .get(i)
                        .map(|v| component(v, ", "))
                        .unwrap_or_default()
                };
                let street = [part(0), part(1), part(2)]
                    .into_iter()
                    .filter(|p| !p.is_empty())
                    .collect::<Vec<_>>()
                    .join(", ");
                Address {
                    street,
                    locality: part(3),
                    region: part(4),
                    code: part(5),
                    country: part(6),
                    types: types(e).0,
                }
            })
            .collect()
    }

    /// The birthday.
    #[must_use]
    pub fn birthday(&self) -> Option<Date> {
        let entry = self.entries(&VCardProperty::Bday).next()?;
        match entry.values.first()? {
            VCardValue::PartialDateTime(d) => Some(Date {
                year: d.year,
                month: d.month,
                day: d.day,
            }),
            _ => None,
        }
    }

    /// The first photo.
    #[must_use]
    pub fn photo(&self) -> Option<Photo> {
        let entry = self.entries(&VCardProperty::Photo).next()?;
        match entry.values.first()? {
            VCardValue::Binary(data) => Some(Photo::Inline {
                media_type: data.content_type.clone(),
                bytes: data.data.clone(),
            }),
            VCardValue::Text(uri) if !uri.trim().is_empty() => {
                Some(Photo::Uri(uri.trim().to_owned()))
            }
            _ => None,
        }
    }

    /// Visits the text of every value of `property`, without copying.
    pub(crate) fn each_text(&self, property: &VCardProperty, mut visit: impl FnMut(&str)) {
        for entry in self.parsed.entries.iter().filter(|e| &e.name == property) {
            for value in &entry.values {
                each_part(value, &mut visit);
            }
        }
    }

    /// Visits the parts of the N property with their place (0: family, 1: given, ...).
    pub(crate) fn each_name_part(&self, mut visit: impl FnMut(usize, &str)) {
        if let Some(entry) = self.entries(&VCardProperty::N).next() {
            for (place, value) in entry.values.iter().enumerate() {
                each_part(value, &mut |part| visit(place, part));
            }
        }
    }

    /// The value of `property` to show: the first preferred one, else the first.
    pub(crate) fn foremost(&self, property: &VCardProperty) -> Option<&str> {
        let value = |e: &'_ &VCardEntry| {
            e.values
                .first()
                .and_then(text)
                .is_some_and(|t| !t.trim().is_empty())
        };
        let mut all = self
            .parsed
            .entries
            .iter()
            .filter(|e| &e.name == property)
            .filter(value);
        let first = all.next()?;
        let entry = if is_preferred(first) {
            first
        } else {
            all.find(|e| is_preferred(e)).unwrap_or(first)
        };
        entry.values.first().and_then(text).map(str::trim)
    }

    fn list(&self, property: &VCardProperty) -> Vec<String> {
        let mut all = Vec::new();
        self.each_text(property, |t| {
            let t = t.trim();
            if !t.is_empty() {
                all.push(t.to_owned());
            }
        });
        all
    }

    fn typed(&self, property: &VCardProperty) -> Vec<Typed> {
        let mut all: Vec<Typed> = self
            .entries(property)
            .filter_map(|e| {
                let value = joined(e).trim().to_owned();
                let (types, preferred) = types(e);
                (!value.is_empty()).then_some(Typed {
                    value,
                    types,
                    preferred,
                })
            })
            .collect();
        all.sort_by_key(|t| !t.preferred);
        all
    }
}

fn is_preferred(entry: &VCardEntry) -> bool {
    entry.params.iter().any(|p| match (&p.name, &p.value) {
        (VCardParameterName::Pref, VCardParameterValue::Integer(n)) => *n == 1,
        (VCardParameterName::Pref, _) => true,
        (VCardParameterName::Type, VCardParameterValue::Text(t)) => {
            t.split(',').any(|t| t.trim().eq_ignore_ascii_case("pref"))
        }
        _ => false,
    })
}

/// Types and preference of a property. vCard 2.1 writes types as bare parameters (`TEL;CELL;PREF`).
fn types(entry: &VCardEntry) -> (Vec<String>, bool) {
    let mut types = Vec::new();
    for param in &entry.params {
        match (&param.name, &param.value) {
            (VCardParameterName::Type, value) => {
                let name = match value {
                    VCardParameterValue::Type(t) => t.as_str(),
                    VCardParameterValue::Text(t) => t.as_str(),
                    _ => continue,
                };
                types.extend(name.split(',').map(|t| t.trim().to_ascii_lowercase()));
            }
            (VCardParameterName::Other(bare), VCardParameterValue::Null) => {
                types.push(bare.to_ascii_lowercase());
            }
            _ => {}
        }
    }
    types.retain(|t| !matches!(t.as_str(), "" | "internet" | "pref"));
    (types, is_preferred(entry))
}

/// The text of a value that is text.
pub(super) fn text(value: &VCardValue) -> Option<&str> {
    match value {
        VCardValue::Text(t) => Some(t),
        VCardValue::Component(parts) => parts.first().map(String::as_str),
        _ => None,
    }
}

fn each_part(value: &VCardValue, visit: &mut impl FnMut(&str)) {
    match value {
        VCardValue::Text(t) => visit(t),
        VCardValue::Component(parts) => parts.iter().for_each(|p| visit(p)),
        _ => {}
    }
}

fn component(value: &VCardValue, separator: &str) -> String {
    match value {
        VCardValue::Text(t) => t.trim().to_owned(),
        VCardValue::Component(parts) => parts
            .iter()
            .map(|p| p.trim())
            .filter(|p| !p.is_empty())
            .collect::<Vec<_>>()
            .join(separator),
        _ => String::new(),
    }
}

/// All of a property's values as one text; parts of structured values are joined by `;`.
pub(super) fn joined(entry: &VCardEntry) -> String {
    let mut out = String::new();
    for (i, value) in entry.values.iter().enumerate() {
        if i > 0 {
            out.push(';');
        }
        match value {
            VCardValue::Text(t) => out.push_str(t),
            VCardValue::Component(parts) => out.push_str(&parts.join(",")),
            VCardValue::Integer(n) => out.push_str(&n.to_string()),
            VCardValue::Float(n) => out.push_str(&n.to_string()),
            VCardValue::Boolean(b) => out.push_str(if *b { "true" } else { "false" }),
            VCardValue::PartialDateTime(d) => out.push_str(&date_text(d)),
            VCardValue::Binary(data) => {
                let kind = data.content_type.as_deref().unwrap_or("data");
                out.push_str(&format!("({kind}, {} bytes)", data.data.len()));
            }
            VCardValue::Sex(s) => out.push_str(s.as_str()),
            VCardValue::GramGender(g) => out.push_str(g.as_str()),
            VCardValue::Kind(k) => out.push_str(k.as_str()),
        }
    }
    out
}

fn date_text(d: &calcard::common::PartialDateTime) -> String {
    let mut out = String::new();
    match (d.year, d.month, d.day) {
        (Some(y), Some(m), Some(day)) => out.push_str(&format!("{y:04}-{m:02}-{day:02}")),
        (Some(y), Some(m), None) => out.push_str(&format!("{y:04}-{m:02}")),
        (Some(y), None, _) => out.push_str(&format!("{y:04}")),
        (None, Some(m), Some(day)) => out.push_str(&format!("--{m:02}-{day:02}")),
        (None, Some(m), None) => out.push_str(&format!("--{m:02}")),
        (None, None, Some(day)) => out.push_str(&format!("---{day:02}")),
        (None, None, None) => {}
    }
    if let (Some(h), Some(m)) = (d.hour, d.minute) {
        out.push_str(&format!("T{h:02}:{m:02}:{:02}", d.second.unwrap_or(0)));
        match (d.tz_hour, d.tz_minute) {
            (Some(0), None | Some(0)) => out.push('Z'),
            (Some(th), tm) => out.push_str(&format!(
                "{}{th:02}:{:02}",
                if d.tz_minus { '-' } else { '+' },
                tm.unwrap_or(0)
            )),
            _ => {}
        }
    }
    out
}
