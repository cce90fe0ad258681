//! Outlook's columns in English.

use etui_vcard::{Card, PropertyRef, StructuredName};

use super::loss::{Loss, LossKind, Losses};

const COLUMNS: &[&str] = &[
    "Title",
    "First Name",
    "Middle Name",
    "Last Name",
    "Suffix",
    "Company",
    "Department",
    "Job Title",
    "Business Street",
    "Business City",
    "Business State",
    "Business Postal Code",
    "Business Country/Region",
    "Business Address PO Box",
    "Home Street",
    "Home City",
    "Home State",
    "Home Postal Code",
    "Home Country/Region",
    "Home Address PO Box",
    "Other Street",
    "Other City",
    "Other State",
    "Other Postal Code",
    "Other Country/Region",
    "Other Address PO Box",
    "Business Fax",
    "Business Phone",
    "Business Phone 2",
    "Car Phone",
    "Company Main Phone",
    "Home Fax",
    "Home Phone",
    "Home Phone 2",
    "Mobile Phone",
    "Other Fax",
    "Other Phone",
    "Pager",
    "Primary Phone",
    "Anniversary",
    "Assistant's Name",
    "Birthday",
    "Categories",
    "Children",
    "E-mail Address",
    "E-mail 2 Address",
    "E-mail 3 Address",
    "Hobby",
    "Manager's Name",
    "Notes",
    "Profession",
    "Spouse",
    "Web Page",
];

/// The columns of a phone number by its types, all of which it has.
const PHONES: &[(&[&str], &[&str])] = &[
    (&["work", "fax"], &["Business Fax"]),
    (&["home", "fax"], &["Home Fax"]),
    (&["fax"], &["Other Fax"]),
    (&["work", "main"], &["Company Main Phone"]),
    (&["cell"], &["Mobile Phone"]),
    (&["car"], &["Car Phone"]),
    (&["pager"], &["Pager"]),
    (&["work"], &["Business Phone", "Business Phone 2"]),
    (&["home"], &["Home Phone", "Home Phone 2"]),
    (&[], &["Other Phone", "Primary Phone"]),
];

/// The columns of the components of an address, after the word of its place.
const ADDRESS: &[(usize, &str)] = &[
    (0, "Address PO Box"),
    (2, "Street"),
    (3, "City"),
    (4, "State"),
    (5, "Postal Code"),
    (6, "Country/Region"),
];

/// The columns of relations, by type or label.
const RELATIONS: &[(&str, &str)] = &[
    ("spouse", "Spouse"),
    ("child", "Children"),
    ("manager", "Manager's Name"),
    ("assistant", "Assistant's Name"),
];

pub(crate) fn header() -> Vec<String> {
    COLUMNS.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns a contact as a row, and the losses.
pub(crate) fn row(card: &Card) -> (Vec<String>, Vec<Loss>) {
    let mut row = OutlookRow {
        fields: vec![String::new(); COLUMNS.len()],
        losses: Losses::default(),
    };
    row.put_names(card);
    for property in card.property_refs().iter().filter(|p| p.has_content()) {
        row.push(property);
    }
    (row.fields, row.losses.0)
}

struct OutlookRow {
    fields: Vec<String>,
    losses: Losses,
}

impl OutlookRow {
    fn field(&mut self, column: &str) -> Option<&mut String> {
        let at = COLUMNS.iter().position(|name| *name == column)?;
        self.fields.get_mut(at)
    }

    /// Sets a column. Returns false if there is none, or it has a value already.
    fn put(&mut self, column: &str, value: &str) -> bool {
        match self.field(column) {
            Some(field) if field.is_empty() => {
                value.clone_into(field);
                true
            }
            _ => false,
        }
    }

    fn put_names(&mut self, card: &Card) {
        let mut name = card.name();
        let shown = card.property("FN").unwrap_or_default();
        let organization = card.organization().map(|o| o.name).unwrap_or_default();
        if name == StructuredName::default() && shown.trim() != organization {
            name = StructuredName::split_display(&shown);
        }
        for (column, text) in [
            ("Title", &name.prefix),
            ("First Name", &name.given),
            ("Middle Name", &name.additional),
            ("Last Name", &name.family),
            ("Suffix", &name.suffix),
        ] {
            self.put(column, text);
        }
        let full = name.to_display();
        let refs = card.property_refs();
        let full_name = refs.iter().find(|p| p.is_named("FN"));
        if let Some(property) = full_name.filter(|p| {
            let shown = p.value();
            shown.trim() != full && shown.trim() != organization
        }) {
            self.losses.push(property, LossKind::Property);
        }
    }

    fn push(&mut self, property: &PropertyRef<'_>) {
        let value = property.value().trim().to_owned();
        let types = property.types();
        let is_kept = match property.name().to_ascii_uppercase().as_str() {
            // Written already.
            "FN" | "N" => return,
            "KIND" if value.eq_ignore_ascii_case("individual") => return,
            "ORG" => {
                let components = property.components();
                let texts = components.iter().map(|c| c.join(", ")).collect::<Vec<_>>();
                let is_kept = self.put("Company", texts.first().map_or("", String::as_str));
                if is_kept {
                    self.put("Department", texts.get(1).map_or("", String::as_str));
                    if texts.len() > 2 {
                        let rest = texts.get(2..).unwrap_or_default().join(";");
                        self.losses.push(property, LossKind::Part(rest));
                    }
                }
                is_kept
            }
            "TITLE" => self.put("Job Title", &value),
            "ROLE" => self.put("Profession", &value),
            "HOBBY" => self.put("Hobby", &value),
            "EMAIL" => {
                let columns = ["E-mail Address", "E-mail 2 Address", "E-mail 3 Address"];
                columns.iter().any(|column| self.put(column, &value))
            }
            "TEL" => {
                let is_kept = self.put_phone(property, &types, &value);
                return self.finish(property, is_kept);
            }
            "ADR" => {
                let is_kept = self.put_address(property, &types);
                return self.finish(property, is_kept);
            }
            "URL" => self.put("Web Page", &value),
            "BDAY" => self.put_date("Birthday", property),
            "ANNIVERSARY" => self.put_date("Anniversary", property),
            "RELATED" => {
                let mut words = types.iter().map(String::as_str).chain(property.label());
                let column = words.find_map(|word| {
                    let mut known = RELATIONS.iter();
                    known.find(|(name, _)| name.eq_ignore_ascii_case(word))
                });
                let is_kept = column.is_some_and(|(_, column)| self.put(column, &value));
                return self.finish(property, is_kept);
            }
            "NOTE" => {
                if let Some(notes) = self.field("Notes") {
                    let before = std::mem::take(notes);
                    *notes = [before.as_str(), &value].join("\n").trim().to_owned();
                }
                true
            }
            "CATEGORIES" => {
                let names = property.components().concat();
                if names.iter().any(|name| name.contains(';')) {
                    self.losses.push(property, LossKind::Separator);
                }
                let names = names.join(";");
                if let Some(field) = self.field("Categories") {
                    let before = std::mem::take(field);
                    let all = [before.as_str(), &names].join(";");
                    all.trim_matches(';').clone_into(field);
                }
                true
            }
            _ => false,
        };
        if is_kept {
            self.losses.push_labels(property);
        }
        self.finish(property, is_kept);
    }

    fn finish(&mut self, property: &PropertyRef<'_>, is_kept: bool) {
        match is_kept {
            true => self.losses.push_parameters(property),
            false => self.losses.push(property, LossKind::Property),
        }
    }

    fn put_phone(&mut self, property: &PropertyRef<'_>, types: &[String], value: &str) -> bool {
        let has = |kind: &str| types.iter().any(|t| t == kind);
        let all = PHONES
            .iter()
            .filter(|(kinds, _)| kinds.iter().all(|kind| has(kind)));
        for (kinds, columns) in all {
            if columns.iter().any(|column| self.put(column, value)) {
                let lost = types
                    .iter()
                    .filter(|t| !kinds.contains(&t.as_str()) && *t != "voice");
                let lost: Vec<String> = lost.cloned().collect();
                if !lost.is_empty() {
                    self.losses.push(property, LossKind::Types(lost));
                }
                self.push_label(property);
                return true;
            }
        }
        false
    }

    fn put_address(&mut self, property: &PropertyRef<'_>, types: &[String]) -> bool {
        let has = |kind: &str| types.iter().any(|t| t == kind);
        let place = match () {
            () if has("work") => "Business",
            () if has("home") => "Home",
            () => "Other",
        };
        let columns = ADDRESS.iter().map(|(_, name)| format!("{place} {name}"));
        let columns: Vec<String> = columns.collect();
        let is_free = columns
            .iter()
            .all(|c| self.field(c).is_some_and(|f| f.is_empty()));
        if !is_free {
            return false;
        }
        let mut components = property.components();
        // Outlook has no column for it.
        if let Some(extended) = components.get_mut(1).map(std::mem::take)
            && let Some(street) = components.get_mut(2)
        {
            street.extend(extended);
        }
        for ((index, _), column) in ADDRESS.iter().zip(&columns) {
            let texts = components.get(*index).cloned().unwrap_or_default();
            let texts: Vec<String> = texts.into_iter().filter(|t| !t.trim().is_empty()).collect();
            self.put(column, &texts.join("\n"));
        }
        let lost = types
            .iter()
            .filter(|kind| !matches!(kind.as_str(), "home" | "work"));
        let lost: Vec<String> = lost.cloned().collect();
        if !lost.is_empty() {
            self.losses.push(property, LossKind::Types(lost));
        }
        self.push_label(property);
        true
    }

    /// Adds label and preference of a value whose types its column says.
    fn push_label(&mut self, property: &PropertyRef<'_>) {
        if let Some(label) = property.label() {
            let label = label.to_owned();
            self.losses.push(property, LossKind::Label(label));
        }
        if property.is_preferred() {
            let parameter = "PREF".to_owned();
            self.losses.push(property, LossKind::Parameter(parameter));
        }
    }

    /// Writes a date as month/day/year. A date without its year has no form.
    fn put_date(&mut self, column: &str, property: &PropertyRef<'_>) -> bool {
        match property.date().map(|d| (d.year, d.month, d.day)) {
            Some((Some(year), Some(month), Some(day))) => {
                self.put(column, &format!("{month}/{day}/{year}"))
            }
            _ => false,
        }
    }
}
