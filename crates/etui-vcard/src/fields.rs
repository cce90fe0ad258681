//! The common properties, typed.

use crate::card::Card;
use crate::date::PartialDate;
use crate::property::{Property, PropertyValue};

/// The N property (RFC 6350 §6.2.2); components with several names are joined by a space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StructuredName {
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
pub struct TypedValue {
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
pub struct PostalAddress {
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

/// The PHOTO property (RFC 6350 §6.2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Photo {
    /// The image itself.
    Inline {
        /// Media type as the card gives it, e.g. `image/jpeg`.
        media_type: Option<String>,
        /// The image file's bytes.
        bytes: Vec<u8>,
    },
    /// The address of the image.
    Uri(String),
}

impl Card {
    /// The N property; empty components when there is none.
    pub fn name(&self) -> StructuredName {
        let Some(property) = self.named("N").next() else {
            return StructuredName::default();
        };
        StructuredName {
            family: property.component(0, " "),
            given: property.component(1, " "),
            additional: property.component(2, " "),
            prefix: property.component(3, " "),
            suffix: property.component(4, " "),
        }
    }

    /// The name to show: FN, or else a name from N, NICKNAME, ORG, EMAIL or TEL; empty when the
    /// card has none of them.
    pub fn display_name(&self) -> String {
        if let Some(name) = self.first_text("FN") {
            return name.to_owned();
        }
        let n = self.name();
        let parts = [n.prefix, n.given, n.additional, n.family, n.suffix];
        let joined = parts
            .iter()
            .filter(|part| !part.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ");
        if !joined.is_empty() {
            return joined;
        }
        ["NICKNAME", "ORG", "EMAIL", "TEL"]
            .iter()
            .find_map(|name| self.first_text(name))
            .unwrap_or_default()
            .to_owned()
    }

    /// Nicknames.
    pub fn nicknames(&self) -> Vec<String> {
        self.all_texts("NICKNAME")
    }

    /// Categories (tags).
    pub fn categories(&self) -> Vec<String> {
        self.all_texts("CATEGORIES")
    }

    /// The first organisation.
    pub fn organization(&self) -> Option<Organization> {
        self.organizations().into_iter().next()
    }

    /// All organisations.
    pub fn organizations(&self) -> Vec<Organization> {
        self.named("ORG")
            .map(|property| Organization {
                name: property.component(0, ", "),
                units: (1..property.component_count())
                    .map(|index| property.component(index, ", "))
                    .filter(|unit| !unit.is_empty())
                    .collect(),
            })
            .filter(|o| !o.name.is_empty() || !o.units.is_empty())
            .collect()
    }

    /// Job title.
    pub fn title(&self) -> Option<&str> {
        self.first_text("TITLE")
    }

    /// The notes, joined by line breaks.
    pub fn note(&self) -> Option<String> {
        let notes: Vec<_> = self
            .named("NOTE")
            .map(Property::joined_text)
            .filter(|note| !note.trim().is_empty())
            .collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    }

    /// E-mail addresses, the preferred ones first, else in the card's order.
    pub fn emails(&self) -> Vec<TypedValue> {
        self.typed_values("EMAIL")
    }

    /// Phone numbers as written, the preferred ones first, else in the card's order.
    pub fn phones(&self) -> Vec<TypedValue> {
        self.typed_values("TEL")
    }

    /// Web addresses.
    pub fn urls(&self) -> Vec<TypedValue> {
        self.typed_values("URL")
    }

    /// Postal addresses.
    pub fn addresses(&self) -> Vec<PostalAddress> {
        self.named("ADR")
            .map(|property| {
                let part = |index| property.component(index, ", ");
                let street = [part(0), part(1), part(2)]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(", ");
                PostalAddress {
                    street,
                    locality: part(3),
                    region: part(4),
                    code: part(5),
                    country: part(6),
                    types: property.types(),
                }
            })
            .collect()
    }

    /// The birthday.
    pub fn birthday(&self) -> Option<PartialDate> {
        let text = self.named("BDAY").next()?.first_text()?;
        PartialDate::parse(text.trim())
    }

    /// The anniversary of the wedding: `ANNIVERSARY`, or what older versions have in its place.
    pub fn anniversary(&self) -> Option<PartialDate> {
        let names = ["ANNIVERSARY", "X-EVOLUTION-ANNIVERSARY", "X-ANNIVERSARY"];
        let mut all = names.into_iter().flat_map(|name| self.named(name));
        PartialDate::parse(all.next()?.first_text()?.trim())
    }

    /// The first photo.
    pub fn photo(&self) -> Option<Photo> {
        match &self.named("PHOTO").next()?.value {
            PropertyValue::Binary(data) => Some(Photo::Inline {
                media_type: data.media_type.clone(),
                bytes: data.bytes.clone(),
            }),
            PropertyValue::Text(uri) if !uri.trim().is_empty() => {
                Some(Photo::Uri(uri.trim().to_owned()))
            }
            _ => None,
        }
    }

    /// Visits every text in the values of the properties `name`, without copying.
    pub fn for_each_text(&self, name: &str, mut visit: impl FnMut(&str)) {
        for property in self.named(name) {
            property.for_each_text(|_, text| visit(text));
        }
    }

    /// Visits every text of the first N property with the index of its component: 0 for family
    /// names, 1 for given names, 2 for additional names.
    pub fn for_each_name_part(&self, visit: impl FnMut(usize, &str)) {
        if let Some(property) = self.named("N").next() {
            property.for_each_text(visit);
        }
    }

    /// The value of the first preferred property `name`, else of the first one, trimmed. Blank
    /// values are passed over.
    pub fn preferred_value(&self, name: &str) -> Option<&str> {
        let is_blank = |p: &&Property| p.first_text().is_none_or(|t| t.trim().is_empty());
        let mut first = None;
        for property in self.named(name).filter(|p| !is_blank(p)) {
            if property.is_preferred() {
                return property.first_text().map(str::trim);
            }
            first = first.or(Some(property));
        }
        first?.first_text().map(str::trim)
    }

    fn all_texts(&self, name: &str) -> Vec<String> {
        let mut all = Vec::new();
        self.for_each_text(name, |text| {
            let text = text.trim();
            if !text.is_empty() {
                all.push(text.to_owned());
            }
        });
        all
    }

    fn typed_values(&self, name: &str) -> Vec<TypedValue> {
        let mut all: Vec<TypedValue> = self
            .named(name)
            .map(|property| TypedValue {
                value: property.joined_text().trim().to_owned(),
                types: property.types(),
                preferred: property.is_preferred(),
            })
            .filter(|typed| !typed.value.is_empty())
            .collect();
        all.sort_by_key(|typed| !typed.preferred);
        all
    }
}
