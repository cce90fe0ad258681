//! The common properties, typed.

use std::collections::HashMap;

use etui_contentline::edit::is_one_of;

use crate::card::Card;
use crate::date::PartialDate;
use crate::parameter::decode_parameter;
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
    /// The label of its group, see [`Card::group_labels`], or its type `X-...`.
    pub label: Option<String>,
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
    /// The label of its group, see [`Card::group_labels`], or its type `X-...`.
    pub label: Option<String>,
}

impl PostalAddress {
    /// Returns the address in one line: street, postal code and city, region, country.
    pub fn to_line(&self) -> String {
        let town = format!("{} {}", self.code, self.locality);
        let parts = [&self.street, town.trim(), &self.region, &self.country];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(", ")
    }
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

    /// The family and given name by which the card is sorted, where it says so: SORT-AS of N (RFC 6350
    /// §5.9), SORT-STRING (RFC 2426 §3.6.5), or the phonetic names of Apple, Android and Evolution. A part
    /// that it does not say is empty.
    pub fn sort_names(&self) -> Option<[String; 2]> {
        // An organisation has no other name.
        let name = self
            .named("N")
            .find(|name| name.has_content() || name.has_parameter("SORT-AS"));
        let name = name.or_else(|| self.named("ORG").next());
        let sort_as = name.and_then(|name| {
            let parameter = name.parameters.iter().find(|p| p.is_named("SORT-AS"))?;
            Some(decode_parameter(&parameter.values.join(",")))
        });
        let sort_as = sort_as.or_else(|| self.first_text("SORT-STRING").map(str::to_owned));
        let names = match sort_as {
            Some(text) => {
                let (family, given) = text.split_once(',').unwrap_or((&text, ""));
                [family, given].map(|part| part.trim().to_owned())
            }
            None if name.is_none_or(|name| name.is_named("ORG")) => {
                let reading = self.first_text("X-PHONETIC-ORG").unwrap_or_default();
                [reading.to_owned(), String::new()]
            }
            None => PHONETIC_NAMES.map(|name| self.first_text(name).unwrap_or_default().to_owned()),
        };
        names.iter().any(|part| !part.is_empty()).then_some(names)
    }

    /// Visits the texts by which the card is sorted and pronounced, with the index of the component of
    /// N that each is for: 0 for family names, 1 for given names.
    pub fn for_each_reading(&self, mut visit: impl FnMut(usize, &str)) {
        let Some(names) = self.sort_names() else {
            return;
        };
        for (index, part) in names.iter().enumerate() {
            visit(index, part);
        }
        for (index, name) in PHONETIC_NAMES.iter().enumerate() {
            self.for_each_text(name, |text| visit(index, text));
        }
    }

    /// The name to show: FN, or else a name from N, NICKNAME, ORG, EMAIL or TEL; empty when the
    /// card has none of them.
    pub fn display_name(&self) -> String {
        if let Some(name) = self.first_text("FN") {
            return name.to_owned();
        }
        let joined = self.name().to_display();
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

    /// E-mail addresses, the preferred ones first, else in the card's order; without what some programs
    /// write around them ([`bare_address`]).
    pub fn emails(&self) -> Vec<TypedValue> {
        let mut emails = self.typed_values("EMAIL");
        for email in &mut emails {
            email.value = bare_address(&email.value).to_owned();
        }
        emails
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
        let labels = self.group_labels();
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
                    label: property.label(&labels),
                }
            })
            .collect()
    }

    /// The birthday, without a placeholder year: 0000, 0001, 1604, or that of `X-APPLE-OMIT-YEAR`.
    pub fn birthday(&self) -> Option<PartialDate> {
        self.named("BDAY").find_map(Property::date)
    }

    /// The anniversary of the wedding: `ANNIVERSARY`, or the property of older versions and other
    /// programs, Apple's with its label. Years are as in [`Card::birthday`].
    pub fn anniversary(&self) -> Option<PartialDate> {
        let mut named = ANNIVERSARIES.iter().flat_map(|name| self.named(name));
        let found = named.find_map(Property::date);
        found.or_else(|| self.labelled_anniversaries().next()?.date())
    }

    /// Apple's anniversaries, `item1.X-ABDATE` with the label `_$!<Anniversary>!$_`.
    pub(crate) fn labelled_anniversaries(&self) -> impl Iterator<Item = &Property> {
        let labels = self.group_labels();
        self.named("X-ABDATE").filter(move |property| {
            let label = property.label(&labels);
            label.is_some_and(|label| label.eq_ignore_ascii_case("ANNIVERSARY"))
        })
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

    /// The labels of groups, by group in lower-case, as Apple's programs write them:
    /// `item1.X-ABLabel:Boat`, or `_$!<Home>!$_` for a label of theirs.
    pub fn group_labels(&self) -> HashMap<String, String> {
        let mut labels = HashMap::new();
        for property in self.named("X-ABLABEL") {
            let (Some(group), Some(text)) = (&property.group, property.first_text()) else {
                continue;
            };
            let text = text.trim();
            let built_in = text.strip_prefix("_$!<");
            let built_in = built_in.and_then(|text| text.strip_suffix(">!$_"));
            let label = built_in.unwrap_or(text);
            if !label.is_empty() {
                let group = group.to_ascii_lowercase();
                labels.entry(group).or_insert_with(|| label.to_owned());
            }
        }
        labels
    }

    fn typed_values(&self, name: &str) -> Vec<TypedValue> {
        let labels = self.group_labels();
        let mut all: Vec<TypedValue> = self
            .named(name)
            .map(|property| TypedValue {
                value: property.joined_text().trim().to_owned(),
                types: property.types(),
                preferred: property.is_preferred(),
                label: property.label(&labels),
            })
            .filter(|typed| !typed.value.is_empty())
            .collect();
        // Stable: values of one preference stay in the order of the card.
        all.sort_by_key(|typed| !typed.preferred);
        all
    }
}

/// The phonetic family and given name.
const PHONETIC_NAMES: [&str; 2] = ["X-PHONETIC-LAST-NAME", "X-PHONETIC-FIRST-NAME"];

/// The names of the anniversary: of RFC 6350, and of programs for older versions.
pub(crate) const ANNIVERSARIES: &[&str] = &[
    "ANNIVERSARY",
    "X-EVOLUTION-ANNIVERSARY",
    "X-ANNIVERSARY",
    "X-KADDRESSBOOK-X-ANNIVERSARY",
    "X-MS-ANNIVERSARY",
];

/// Returns the address of an EMAIL that has more: `mailto:a@b`, `"Ada" <a@b>`.
pub fn bare_address(text: &str) -> &str {
    split_mailbox(text).1
}

/// Returns the name and the address of an EMAIL: `"Ada" <a@b>` is `Ada` and `a@b`.
pub(crate) fn split_mailbox(text: &str) -> (&str, &str) {
    let text = text.trim();
    let text = strip_scheme(text, "mailto:").unwrap_or(text);
    let inner = text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'));
    let (name, address) = inner.unwrap_or(("", text));
    (name.trim().trim_matches('"'), address.trim())
}

/// Returns the text after a URI's scheme, in any case.
pub(crate) fn strip_scheme<'t>(text: &'t str, scheme: &str) -> Option<&'t str> {
    let (found, rest) = text.split_at_checked(scheme.len())?;
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

impl Property {
    /// The label of the property's group, or of its type.
    pub(crate) fn label(&self, labels: &HashMap<String, String>) -> Option<String> {
        let group = self.group.as_deref().filter(|_| !labels.is_empty());
        let label = group.and_then(|group| labels.get(&group.to_ascii_lowercase()));
        label
            .map(String::as_str)
            .or(self.type_label())
            .map(str::to_owned)
    }

    /// The year of a yearly date that stands for an unknown one, if the property does not say that it does
    /// (`X-APPLE-OMIT-YEAR`): it could be meant.
    pub(crate) fn written_placeholder_year(&self) -> Option<u16> {
        let year = PartialDate::parse(self.first_text()?.trim())?.year?;
        let is_yearly = self.is_named("BDAY") || is_one_of(ANNIVERSARIES, &self.name);
        let is_dropped = self.date()?.year.is_none() && self.omitted_year() != Some(year);
        (is_yearly && is_dropped).then_some(year)
    }

    /// The value as a date, without a placeholder year.
    pub(crate) fn date(&self) -> Option<PartialDate> {
        let date = PartialDate::parse(self.first_text()?.trim())?.without_placeholder_year();
        let year = date.year.filter(|_| date.year != self.omitted_year());
        Some(PartialDate { year, ..date })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apples_labels_and_placeholder_year() {
        let card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nitem1.TEL;type=pref:1\r\n\
             item1.X-ABLabel:Boat\r\nITEM2.EMAIL:a@example.org\r\nitem2.X-ABLABEL:_$!<Other>!$_\r\n\
             item3.X-ABLabel:_$!<>!$_\r\nitem3.ADR:;;Main St;;;;\r\n\
             BDAY;X-APPLE-OMIT-YEAR=1604:1604-05-17\r\nEND:VCARD\r\n",
        )
        .unwrap();
        assert_eq!(card.phones()[0].label.as_deref(), Some("Boat"));
        assert_eq!(card.emails()[0].label.as_deref(), Some("Other"));
        assert_eq!(card.addresses()[0].label, None);
        let birthday = card.birthday().unwrap();
        assert_eq!(
            (birthday.year, birthday.month, birthday.day),
            (None, Some(5), Some(17))
        );
        let real = Card::parse(
            "BEGIN:VCARD\r\nFN:A\r\nBDAY;X-APPLE-OMIT-YEAR=1604:1999-05-17\r\nEND:VCARD\r\n",
        );
        assert_eq!(real.unwrap().birthday().unwrap().year, Some(1999));
    }
}
