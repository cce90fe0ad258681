//! [`RowConverter`]: a row as a vCard.

use std::borrow::Cow;

use etui_contentline::edit::{is_one_of, is_property_name};

use super::columns::{ALL_CONTACTS, CUSTOM, DEFAULTS, EVENT};
use super::guess::is_contact_datum;
use super::layout::{ColumnUse, Layout, Part, Slot};
use super::{ConvertedRow, CsvProgram, DEFAULT_ORDER};
use crate::convert::{gender_value, messenger_property, relation_label};
use crate::date::{
    DayOrder, TableDate, format_basic, format_extended, is_placeholder_date, names_missing_day,
};
use crate::draft::{CardDraft, DraftProperty, DraftValue, content_uid};
use crate::item::{FieldCount, count_field};
use crate::label::Label;

/// Google's separator of several values in one column.
const SEVERAL: &str = ":::";

/// Properties that a custom field holds whose label is their name: those for which tables have no
/// column.
const CUSTOM_PROPERTIES: &[&str] = &[
    "ANNIVERSARY",
    "BDAY",
    "BIRTHPLACE",
    "CALADRURI",
    "CALURI",
    "CONTACT-URI",
    "DEATHDATE",
    "DEATHPLACE",
    "EXPERTISE",
    "FBURL",
    "GENDER",
    "GEO",
    "GRAMGENDER",
    "HOBBY",
    "IMPP",
    "INTEREST",
    "KIND",
    "LANG",
    "NICKNAME",
    "ORG",
    "PRONOUNS",
    "ROLE",
    "SOCIALPROFILE",
    "TITLE",
    "TZ",
];

/// Returns true if a custom field with this label is the property of this name.
pub(crate) fn is_custom_property(label: &str) -> bool {
    let is_own = label.len() > 2 && label.starts_with("X-") && label != "X-ABLABEL";
    let is_capital = !label.contains(|c: char| c.is_ascii_lowercase());
    CUSTOM_PROPERTIES.contains(&label) || is_own && is_capital && is_property_name(label)
}

/// Converts the rows of a table.
pub(crate) struct RowConverter {
    pub(crate) layout: Layout,
    pub(crate) kept: Vec<FieldCount>,
    /// Columns that look like those of contacts are custom fields, as they were asked for.
    keeps_unmapped: bool,
    /// The order of day and month, if a date of the table shows it.
    pub(crate) day_order: Option<DayOrder>,
}

/// The fields of one value.
#[derive(Debug, Default)]
struct SlotFields<'r> {
    value: &'r str,
    components: Vec<(usize, &'r str)>,
    label: Option<&'r str>,
    service: &'r str,
    formatted: &'r str,
    year: &'r str,
    month: &'r str,
    day: &'r str,
    /// The first column with content, for messages.
    column: &'r str,
}

impl RowConverter {
    pub(crate) fn new(layout: Layout, keeps_unmapped: bool) -> Self {
        Self {
            layout,
            keeps_unmapped,
            kept: Vec::new(),
            day_order: None,
        }
    }

    /// Returns the dates of a row.
    pub(crate) fn date_fields<'r>(&'r self, fields: &'r [String]) -> impl Iterator<Item = &'r str> {
        let columns = self.layout.columns.iter().zip(fields);
        columns.filter_map(|(column, field)| match column.usage {
            ColumnUse::Part {
                slot,
                part: Part::Value,
            } => {
                let slot = self.layout.slots.get(slot)?;
                is_one_of(&["BDAY", "ANNIVERSARY", EVENT], &slot.property).then_some(field.as_str())
            }
            _ => None,
        })
    }

    /// Converts a row. `None` if it is empty.
    pub(crate) fn convert(&mut self, fields: &[String]) -> Option<ConvertedRow> {
        let is_blank = |field: &String| field.trim().is_empty();
        if fields.iter().all(is_blank) {
            return None;
        }
        let mut draft = CardDraft::default();
        let mut warnings = Vec::new();
        let mut uid = None;
        {
            let layout = &self.layout;
            let slots = gather(layout, fields);
            let mut row = RowWriter {
                layout,
                order: self.day_order,
                draft: &mut draft,
                warnings: &mut warnings,
                uid: &mut uid,
            };
            for (slot, values) in layout.slots.iter().zip(&slots) {
                row.write_slot(slot, values);
            }
        }
        for (column, field) in self.layout.columns.iter().zip(fields) {
            let field = field.trim();
            let ColumnUse::Kept { is_custom } = column.usage else {
                continue;
            };
            if field.is_empty() || is_placeholder_date(field) {
                continue;
            }
            let lower = field.to_lowercase();
            let is_default = |(heading, values): &(&str, &[&str])| {
                *heading == column.english && values.contains(&lower.as_str())
            };
            if DEFAULTS.iter().any(is_default) {
                continue;
            }
            let name = match column.name.as_str() {
                "" => "?",
                name => name,
            };
            if !is_custom && !self.keeps_unmapped && is_contact_datum(field, &column.key) {
                warnings.push(format!(
                    "{name}: {field} looks like an e-mail address or a phone number and is kept as a \
                     custom field; name the column with --map"
                ));
            }
            draft.push(custom_property(name, field));
            count_field(&mut self.kept, name);
        }
        if draft.is_empty() {
            return Some(Err("the row has nothing that a contact can keep".to_owned()));
        }
        let uid = uid.unwrap_or_else(|| self.row_uid(fields));
        let card = draft.into_card(&uid).map_err(|e| e.to_string());
        Some(card.map(|card| (card, warnings)))
    }

    /// Returns the UID of a row: that of its fields and the names of their columns, in any order.
    fn row_uid(&self, fields: &[String]) -> String {
        let columns = self.layout.columns.iter().map(|column| column.key.as_str());
        let mut parts: Vec<(&str, &str)> = columns
            .zip(fields.iter().map(|field| field.trim()))
            .filter(|(_, field)| !field.is_empty())
            .collect();
        parts.sort_unstable();
        content_uid(parts.into_iter().flat_map(|(name, field)| [name, field]))
    }
}

/// Collects the fields of each value.
fn gather<'r>(layout: &'r Layout, fields: &'r [String]) -> Vec<SlotFields<'r>> {
    let mut all: Vec<SlotFields<'r>> = Vec::new();
    all.resize_with(layout.slots.len(), SlotFields::default);
    for (column, field) in layout.columns.iter().zip(fields) {
        let ColumnUse::Part { slot, part } = column.usage else {
            continue;
        };
        let (Some(values), field) = (all.get_mut(slot), field.trim()) else {
            continue;
        };
        if field.is_empty() {
            continue;
        }
        if values.column.is_empty() {
            values.column = &column.name;
        }
        match part {
            // `Name` and `File As` are one value: the later column is the person's choice.
            Part::Value => values.value = field,
            Part::Component(index) => values.components.push((index, field)),
            Part::Label => values.label = Some(field),
            Part::Service => values.service = field,
            Part::Formatted => values.formatted = field,
            Part::Year => values.year = field,
            Part::Month => values.month = field,
            Part::Day => values.day = field,
        }
    }
    all
}

/// Writes the values of a row into a draft.
struct RowWriter<'r> {
    layout: &'r Layout,
    order: Option<DayOrder>,
    draft: &'r mut CardDraft,
    warnings: &'r mut Vec<String>,
    uid: &'r mut Option<String>,
}

impl RowWriter<'_> {
    fn write_slot(&mut self, slot: &Slot, fields: &SlotFields<'_>) {
        let label = match fields.label {
            Some(label) => Label::parse(label),
            None => self.layout.fixed_label(slot),
        };
        let value = fields.value;
        match slot.property.as_str() {
            "FN" => value.clone_into(&mut self.draft.full_name),
            "N" => self.write_name(fields),
            "UID" if !value.is_empty() => *self.uid = Some(value.to_owned()),
            "BDAY" | "ANNIVERSARY" | "DEATHDATE" => {
                let text = joined_date(fields);
                self.write_date(&slot.property, &text, Label::default(), fields.column);
            }
            EVENT => {
                for value in self.several(value) {
                    self.write_event(value, label.clone(), fields.column);
                }
            }
            "RELATED" => {
                let label = match fields.label {
                    Some(label) => relation_label(label),
                    None => relation_label(&slot.label),
                };
                for value in self.several(value) {
                    let related = DraftProperty::text("RELATED", value)
                        .with_label(label.clone())
                        .with_parameter("VALUE", "text");
                    self.draft.push(related);
                }
            }
            "IMPP" => {
                for value in self.several(value) {
                    let property = messenger_property(fields.service, value);
                    self.draft.push(property.with_label(label.clone()));
                }
            }
            CUSTOM => {
                let label = fields.label.unwrap_or_default();
                for value in self.several(value) {
                    self.write_custom(label, value, fields.column);
                }
            }
            "CATEGORIES" => self.write_categories(value),
            "GENDER" => {
                let gender = gender_value(value).unwrap_or_default();
                self.draft.push(DraftProperty::from_text("GENDER", &gender));
            }
            "ADR" => self.write_address(fields, &label),
            "ORG" => {
                let mut all = vec![Vec::new(); 2];
                put_components(&mut all, &fields.components);
                if !value.is_empty() {
                    put_components(&mut all, &[(0, value)]);
                }
                let last = all.iter().rposition(|c| !c.is_empty());
                all.truncate(last.map_or(0, |last| last + 1));
                let organization = DraftProperty::new("ORG", DraftValue::Components(all));
                self.draft.push(organization.with_label(label));
            }
            "NICKNAME" if self.layout.program == CsvProgram::Google => {
                let names = DraftValue::List(vec![value.to_owned()]);
                self.draft.push(DraftProperty::new("NICKNAME", names));
            }
            "EMAIL" | "TEL" | "URL" => {
                for value in self.several(value) {
                    let property = DraftProperty::from_text(&slot.property, value);
                    self.draft.push(property.with_label(label.clone()));
                }
            }
            name if fields.components.is_empty() => {
                let property = DraftProperty::from_text(name, value);
                self.draft.push(property.with_label(label));
            }
            name => {
                let mut all = Vec::new();
                put_components(&mut all, &fields.components);
                let property = DraftProperty::new(name, DraftValue::Components(all));
                self.draft.push(property.with_label(label));
            }
        }
    }

    /// Splits the values of one field, as Google joins them.
    fn several<'v>(&self, value: &'v str) -> Vec<&'v str> {
        let mut values = self.several_parts(value);
        values.retain(|value| !value.is_empty());
        values
    }

    fn write_name(&mut self, fields: &SlotFields<'_>) {
        for &(index, text) in &fields.components {
            if let Some(part) = self.draft.name.get_mut(index) {
                part.push(text.to_owned());
            }
        }
        if !fields.value.is_empty() {
            for (part, text) in self.draft.name.iter_mut().zip(fields.value.split(';')) {
                part.push(text.trim().to_owned());
            }
        }
    }

    /// Writes an address. A field of Google's with several values has one for each address.
    fn write_address(&mut self, fields: &SlotFields<'_>, label: &Label) {
        let mut addresses: Vec<Vec<Vec<String>>> = Vec::new();
        for &(index, text) in &fields.components {
            for (at, text) in self.several_parts(text).into_iter().enumerate() {
                if addresses.len() <= at {
                    addresses.resize(at + 1, Vec::new());
                }
                if let Some(address) = addresses.get_mut(at) {
                    put_components(address, &[(index, text)]);
                }
            }
        }
        if addresses.is_empty() {
            let whole = match fields.value {
                "" => fields.formatted,
                value => value,
            };
            for text in self.several(whole) {
                let mut address = Vec::new();
                put_components(&mut address, &[(2, text)]);
                addresses.push(address);
            }
        }
        for mut address in addresses {
            address.resize(address.len().max(7), Vec::new());
            let property = DraftProperty::new("ADR", DraftValue::Components(address));
            self.draft.push(property.with_label(label.clone()));
        }
    }

    /// As [`Self::several`], with the empty values.
    fn several_parts<'v>(&self, value: &'v str) -> Vec<&'v str> {
        match self.layout.program {
            CsvProgram::Google => value.split(SEVERAL).map(str::trim).collect(),
            _ => vec![value],
        }
    }

    fn write_categories(&mut self, value: &str) {
        let is_google = self.layout.program == CsvProgram::Google;
        let entries: Vec<&str> = match () {
            () if is_google => value.split(SEVERAL).collect(),
            () if value.contains(';') => value.split(';').collect(),
            () => value.split(',').collect(),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.trim();
            let name = match entry.strip_prefix('*').filter(|_| is_google) {
                Some(system) if ALL_CONTACTS.contains(&system.trim().to_lowercase().as_str()) => {
                    continue;
                }
                Some(system) => system.trim(),
                None => entry,
            };
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        let names = DraftValue::List(names);
        self.draft.push(DraftProperty::new("CATEGORIES", names));
    }

    /// Writes a custom field. A label that is the name of a property is that property.
    fn write_custom(&mut self, label: &str, value: &str, column: &str) {
        match label {
            "BDAY" | "ANNIVERSARY" | "DEATHDATE" => {
                self.write_date(label, value, Label::default(), column);
            }
            label if is_custom_property(label) => {
                self.draft.push(DraftProperty::from_text(label, value));
            }
            label => self.draft.push(custom_property(label, value)),
        }
    }

    /// Writes an event: an anniversary, a birthday, or a date with a label.
    fn write_event(&mut self, value: &str, label: Label, column: &str) {
        let name = label.text.as_deref().unwrap_or_default();
        if name.eq_ignore_ascii_case("anniversary") {
            return self.write_date("ANNIVERSARY", value, Label::default(), column);
        }
        if name.eq_ignore_ascii_case("birthday") && !self.draft.has("BDAY") {
            return self.write_date("BDAY", value, Label::default(), column);
        }
        self.write_date(EVENT, value, label, column);
    }

    /// Writes a date. A text that is no date is kept as text, with a warning.
    fn write_date(&mut self, name: &str, text: &str, label: Label, column: &str) {
        if text.trim().is_empty() {
            return;
        }
        let known = self.order;
        let known = known.or(self.layout.is_translated.then_some(DayOrder::DayFirst));
        let order = known.unwrap_or(DEFAULT_ORDER);
        let property = match TableDate::parse(text, order) {
            Some(TableDate::None) => return,
            Some(TableDate::Date { date, is_ambiguous }) => {
                if is_ambiguous && known.is_none() {
                    self.warnings.push(format!(
                        "{column}: day and month of {text} may be the other way round; it was read \
                         as {}",
                        format_extended(date)
                    ));
                }
                let date = match name {
                    EVENT => format_extended(date),
                    _ => format_basic(date),
                };
                DraftProperty::text(name, date)
            }
            None => {
                let problem = match names_missing_day(text) {
                    true => "names a day that does not exist",
                    false => "was not understood",
                };
                self.warnings.push(format!(
                    "{column}: the date {text} {problem} and is kept as text; write it like 1815-12-10"
                ));
                let property = DraftProperty::text(name, text);
                match name {
                    EVENT => property,
                    _ => property.with_parameter("VALUE", "text"),
                }
            }
        };
        self.draft.push(property.with_label(label));
    }
}

/// The date of a slot: its value, or year, month and day of columns of their own.
fn joined_date<'r>(fields: &SlotFields<'r>) -> Cow<'r, str> {
    match (fields.value, fields.year, fields.month, fields.day) {
        ("", "", "", "") => Cow::Borrowed(""),
        ("", year, "", "") => Cow::Borrowed(year),
        // A column of this name may also be the whole date.
        ("", "", "", day) if day.len() > 2 => Cow::Borrowed(day),
        ("", "", "", day) => Cow::Owned(format!("---{day:0>2}")),
        ("", "", month, "") => Cow::Owned(format!("--{month:0>2}")),
        ("", "", month, day) => Cow::Owned(format!("--{month:0>2}-{day:0>2}")),
        ("", year, month, "") => Cow::Owned(format!("{year:0>4}-{month:0>2}")),
        ("", year, month, day) => Cow::Owned(format!("{year:0>4}-{month:0>2}-{day:0>2}")),
        (value, ..) => Cow::Borrowed(value),
    }
}

/// Adds texts to components. The lines of a text are entries of the component.
fn put_components(all: &mut Vec<Vec<String>>, texts: &[(usize, &str)]) {
    for &(index, text) in texts {
        if all.len() <= index {
            all.resize(index + 1, Vec::new());
        }
        if let Some(component) = all.get_mut(index) {
            let lines = text.split(['\n', '\r']).map(str::trim);
            component.extend(lines.filter(|line| !line.is_empty()).map(str::to_owned));
        }
    }
}

/// A field of the person's own, with a label.
pub(crate) fn custom_property(label: &str, value: &str) -> DraftProperty {
    let label = label.trim();
    DraftProperty::text(CUSTOM, value).with_label(Label {
        text: (!label.is_empty()).then(|| label.to_owned()),
        ..Label::default()
    })
}
