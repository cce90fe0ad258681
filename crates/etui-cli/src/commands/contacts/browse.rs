//! Contacts in the browser: new ones of a phrase, values to copy.

use etui::calendar::time::{CalendarTime, Date};
use etui::contacts::{Card, Contact, Contacts};
use etui_program::output::OutputWriter;
use etui_program::{Failure, Result};

use super::display::shown_phone;
use super::new_card::build_card;
use super::phrase::parse_contact_phrase;
use super::property::PropertyAssignment;
use super::show::card_details;
use crate::commands::records::browser::form::{FieldChange, FormField};
use crate::commands::records::browser::kind::{
    BrowserRecord, ChangedRecord, NewRecord, RecordForm,
};
use crate::commands::records::property::word_of;
use crate::commands::records::{RecordCommands, title_of};

/// Properties that the template has without a value.
const TEMPLATE: &[&str] = &["TEL", "EMAIL", "ORG", "TITLE", "BDAY", "CATEGORIES", "NOTE"];

/// The fields of a form after the name: label, property, and whether a card may have several.
const FIELDS: &[(&str, &str, bool)] = &[
    ("Phone", "TEL", true),
    ("E-mail", "EMAIL", true),
    ("Organisation", "ORG", false),
    ("Title", "TITLE", false),
    ("Birthday", "BDAY", false),
    ("Web", "URL", true),
    ("Note", "NOTE", false),
];

impl BrowserRecord for Card {
    const PHRASE_EXAMPLE: &'static str = "Ada Lovelace ada@example.org +44 20 7946 0123, org=Acme";
    const HAS_DONE: bool = false;

    fn of_phrase(text: &str, _: Option<Date>, _: &OutputWriter) -> Result<NewRecord<Self>> {
        let args = parse_contact_phrase(text)?;
        let record = build_card(args.name.as_deref().unwrap_or_default(), &args)?;
        let mut rows = vec![("Name".to_owned(), record.display_name())];
        // The name is in the first row.
        rows.extend(
            card_details(&record)
                .rows
                .into_iter()
                .filter(|(label, _)| label != "N"),
        );
        Ok(NewRecord { record, rows })
    }

    fn template(name: &str, _: Option<Date>, _: &OutputWriter) -> Result<Vec<u8>> {
        let mut name = name.trim();
        if name.is_empty() {
            name = "?";
        }
        let card = Card::new(name)?;
        let text = String::from_utf8_lossy(card.text());
        let text = match name {
            "?" => text.replace("FN:?", "FN:"),
            _ => text.into_owned(),
        };
        let empty = TEMPLATE.iter().map(|name| format!("{name}:\r\n"));
        let empty = empty.collect::<String>();
        let text = text.replace("END:VCARD", &format!("{empty}END:VCARD"));
        Ok(text.into_bytes())
    }

    fn complete_new(mut card: Card) -> Result<Card> {
        for name in TEMPLATE {
            card.remove(name, Some(""))?;
        }
        let name = card.display_name();
        if card.property("N").is_none() && !name.is_empty() && card.organization().is_none() {
            card.set_name(&name)?;
        }
        Ok(card)
    }

    fn copy_texts(card: &Card) -> Vec<(String, String)> {
        let phones = card.phones().into_iter();
        let phones =
            phones.map(|phone| ("Phone".to_owned(), shown_phone(&phone.value).into_owned()));
        let emails = card.emails().into_iter();
        let emails = emails.map(|email| ("E-mail".to_owned(), email.value));
        let name = ("Name".to_owned(), card.display_name());
        let mut all: Vec<_> = phones.chain(emails).chain([name]).collect();
        all.retain(|(_, value)| !value.is_empty());
        all
    }

    fn form_of(
        (all, stored): (&Contacts, &Contact),
        _: Option<&CalendarTime>,
        _: &OutputWriter,
    ) -> Result<RecordForm> {
        let card = Self::parse_text(stored.text.clone(), Some((all, stored.id)))?;
        let title = title_of(&card);
        let mut fields = vec![FormField::new("Name", "FN", card.display_name())];
        for (label, name, is_list) in FIELDS {
            let values = card.properties(name);
            let has_value = !values.is_empty();
            let values = values.into_iter();
            fields.extend(values.map(|value| FormField::new(label, name, value)));
            if *is_list || !has_value {
                fields.push(FormField::new(label, name, ""));
            }
        }
        Ok(RecordForm { title, fields })
    }

    fn change_fields(
        (all, stored): (&Contacts, &Contact),
        _: Option<&CalendarTime>,
        changes: &[FieldChange],
        _: &OutputWriter,
    ) -> Result<ChangedRecord<Card>> {
        let mut card = Self::parse_text(stored.text.clone(), Some((all, stored.id)))?;
        for FieldChange { field, new } in changes {
            let (name, before) = (field.name, field.value.as_str());
            if new.is_empty() && name != "FN" {
                card.remove(name, Some(before))?;
                continue;
            }
            let word = word_of::<Card>(name);
            let wanted = format!("{word}={new}").parse::<PropertyAssignment>();
            let wanted = wanted.map_err(Failure::usage)?;
            match before {
                _ if name == "FN" => {
                    wanted.set_part(&mut card)?;
                }
                "" => card.add(&wanted.property)?,
                before => {
                    card.replace_value(name, |value| value == before, &wanted.property.value)?;
                }
            }
        }
        Ok(ChangedRecord {
            record: card,
            now: None,
            day: None,
            notes: Vec::new(),
        })
    }

    fn toggle_done(
        _: &Contacts,
        _: &Contact,
        _: Option<&CalendarTime>,
        _: &OutputWriter,
    ) -> Result<(Self, &'static str)> {
        Err(Failure::usage("a contact cannot be completed"))
    }

    fn skip_instance(_: &Contacts, _: &Contact, _: &CalendarTime) -> Result<Self> {
        Err(Failure::usage("a contact is no series"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui_program::GlobalArgs;

    use super::*;

    #[test]
    fn a_template_that_is_filled_in_has_no_empty_properties() {
        let out = OutputWriter::new(&GlobalArgs::default());
        let text = Card::template("", None, &out).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("FN:\r\n") && text.contains("EMAIL:\r\n"),
            "{text}"
        );
        let text = text
            .replace("FN:", "FN:Ada Lovelace")
            .replace("TEL:", "TEL:+44 20 7946 0123");
        let card = Card::complete_new(Card::parse(text).unwrap()).unwrap();
        let text = String::from_utf8(card.text().to_owned()).unwrap();
        assert!(text.contains("N:Lovelace;Ada;;;\r\n"), "{text}");
        assert!(text.contains("TEL:+44 20 7946 0123\r\n"), "{text}");
        assert!(!text.contains("EMAIL") && !text.contains("NOTE"), "{text}");
    }
}
