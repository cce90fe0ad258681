//! [`PropertyRef`]: one property of a card, for a program that reads all of them.

use std::collections::HashSet;

use crate::card::Card;
use crate::date::PartialDate;
use crate::property::{Property, PropertyValue};

/// One property of a card.
#[derive(Debug, Clone)]
pub struct PropertyRef<'c> {
    property: &'c Property,
    label: Option<String>,
}

impl Card {
    /// Returns every property but BEGIN, END and VERSION, in the card's order. Labels of groups
    /// (`X-ABLABEL`) that another property has are returned with that property.
    pub fn property_refs(&self) -> Vec<PropertyRef<'_>> {
        let labels = self.group_labels();
        let mut labelled: HashSet<String> = HashSet::new();
        let is_label = |property: &Property| property.is_named("X-ABLABEL");
        for property in self.properties.iter().filter(|p| !is_label(p)) {
            if let Some(group) = &property.group {
                labelled.insert(group.to_ascii_lowercase());
            }
        }
        let is_used = |property: &Property| {
            let group = property.group.as_ref();
            group.is_some_and(|group| labelled.contains(&group.to_ascii_lowercase()))
        };
        self.properties
            .iter()
            .filter(|p| !(p.is_named("VERSION") || is_label(p) && is_used(p)))
            .map(|property| PropertyRef {
                property,
                label: match is_label(property) {
                    true => None,
                    false => property.label(&labels),
                },
            })
            .collect()
    }
}

impl<'c> PropertyRef<'c> {
    /// The name, in capitals if this crate knows the property, else as written.
    pub fn name(&self) -> &'c str {
        &self.property.name
    }

    /// Returns true if the name is `name`, in any case.
    pub fn is_named(&self, name: &str) -> bool {
        self.property.is_named(name)
    }

    /// The label of its group; see [`Card::group_labels`].
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The types, lower-case, without `pref` and `internet`.
    pub fn types(&self) -> Vec<String> {
        self.property.types()
    }

    /// Returns true if it is marked as preferred: `PREF=1` (4.0) or `PREF` (3.0, 2.1).
    pub fn is_preferred(&self) -> bool {
        self.property.is_preferred()
    }

    /// The value as one text; components and list entries are joined by `;`, the entries of a
    /// component by `,`. Inline data is described by its type and size.
    pub fn value(&self) -> String {
        self.property.joined_text()
    }

    /// The components of a structured value (N, ADR, ORG), each a list; the entries of a list
    /// (CATEGORIES, NICKNAME) as one component; any other value as one text.
    pub fn components(&self) -> Vec<Vec<String>> {
        match &self.property.value {
            PropertyValue::Text(text) => vec![vec![text.clone()]],
            PropertyValue::List(texts) => vec![texts.clone()],
            PropertyValue::Components(components) => components.clone(),
            PropertyValue::Binary(_) => Vec::new(),
        }
    }

    /// The value as a date, without a placeholder year, as in
    /// [`Card::birthday`](crate::Card::birthday).
    pub fn date(&self) -> Option<PartialDate> {
        self.property.date()
    }

    /// The year that [`PropertyRef::date`] leaves out though the property does not say so, 1604 or the like.
    pub fn written_placeholder_year(&self) -> Option<u16> {
        self.property.written_placeholder_year()
    }

    /// Returns true if the value is inline data, such as a photo.
    pub fn is_binary(&self) -> bool {
        matches!(self.property.value, PropertyValue::Binary(_))
    }

    /// Returns true if the value is more than blanks.
    pub fn has_content(&self) -> bool {
        self.property.has_content()
    }

    /// The first value of a parameter, such as `VALUE`.
    pub fn parameter(&self, name: &str) -> Option<&'c str> {
        self.property.parameter(name)
    }

    /// The names of the parameters as written, without TYPE, a preference of the first level, and the
    /// bare types of vCard 2.1.
    pub fn other_parameters(&self) -> impl Iterator<Item = &'c str> + use<'c> {
        let is_preferred = self.property.is_preferred();
        let all = self.property.parameters.iter();
        all.filter(move |p| !(p.is_type() || p.is_named("PREF") && is_preferred))
            .map(|p| p.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_have_labels_types_and_parameters() {
        let card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:A\r\nitem1.TEL;TYPE=home;PREF=1;PID=1.1:1\r\n\
             ITEM1.X-ABLabel:Boat\r\nlone.X-ABLabel:alone\r\nADR;PREF=2:;;a,b;;;;\r\nEND:VCARD\r\n",
        )
        .unwrap();
        let all = card.property_refs();
        let names: Vec<_> = all.iter().map(PropertyRef::name).collect();
        assert_eq!(names, ["FN", "TEL", "X-ABLabel", "ADR"]);
        assert_eq!(all[1].label(), Some("Boat"));
        assert_eq!(all[1].types(), ["home"]);
        assert!(all[1].is_preferred() && !all[3].is_preferred());
        assert_eq!(all[1].other_parameters().collect::<Vec<_>>(), ["PID"]);
        assert_eq!(all[3].other_parameters().collect::<Vec<_>>(), ["PREF"]);
        assert_eq!(all[2].label(), None);
        assert_eq!(all[3].components()[2], ["a", "b"]);
    }
}
