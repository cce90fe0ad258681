//! Contacts in the browser: new ones of a phrase, values to copy.
//!
//! ```text
//! Ada Lovelace ada@example.org +44 20 7946 0123, org=Analytical Engines
//! └──────────┘ └─────────────┘ └──────────────┘  └────────────────────┘
//!     name         e-mail           phone         a property, as in `etui contacts add --set`
//! ```

use etui::calendar::time::{CalendarTime, Date};
use etui::contacts::{Card, Contact, Contacts};

use super::add::{AddContactArgs, build_card};
use super::display::shown_phone;
use super::property::PropertyAssignment;
use super::show::card_details;
use crate::commands::records::browser::kind::{BrowserRecord, NewRecord};
use crate::commands::records::property::parse_email;
use crate::errors::{Failure, Result};
use crate::output::OutputWriter;

/// Digits of the shortest phone number that a phrase can have.
const MIN_PHONE_DIGITS: usize = 5;
/// Properties that the template has without a value.
const TEMPLATE: &[&str] = &["TEL", "EMAIL", "ORG", "TITLE", "BDAY", "CATEGORIES", "NOTE"];

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

    fn toggle_done(
        _: &Contacts<'_>,
        _: &Contact,
        _: Option<&CalendarTime>,
        _: &OutputWriter,
    ) -> Result<(Self, &'static str)> {
        Err(Failure::usage("a contact cannot be completed"))
    }

    fn skip_instance(_: &Contacts<'_>, _: &Contact, _: &CalendarTime) -> Result<Self> {
        Err(Failure::usage("a contact is no series"))
    }
}

/// Takes the e-mail addresses, phone numbers and properties out of a phrase; the rest is the name.
fn parse_contact_phrase(text: &str) -> Result<AddContactArgs> {
    let mut args = AddContactArgs::default();
    let mut names = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        if is_assignment(part) {
            let assignment = part.parse::<PropertyAssignment>();
            args.set.push(assignment.map_err(Failure::usage)?);
            continue;
        }
        let mut name = Vec::new();
        let words: Vec<&str> = part.split_whitespace().collect();
        let mut rest = words.as_slice();
        while let Some((word, after)) = rest.split_first() {
            let count = phone_words(rest);
            if count > 0 {
                let (number, after) = rest.split_at(count);
                args.phone.push(number.join(" "));
                rest = after;
                continue;
            }
            match word.contains('@') {
                true => {
                    let address = word.trim_matches(['<', '>', ';', '"']);
                    let address = parse_email(address).map_err(Failure::usage)?;
                    args.email.push(address);
                }
                false => name.push(*word),
            }
            rest = after;
        }
        if !name.is_empty() {
            names.push(name.join(" "));
        }
    }
    if names.is_empty() {
        return Err(Failure::usage("a name is missing"));
    }
    // Lovelace, Ada
    args.name = Some(names.join(", "));
    Ok(args)
}

/// Returns true for `org=Acme` and `phone:work=555-0100`.
fn is_assignment(part: &str) -> bool {
    part.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ":-;,".contains(c))
    })
}

/// Returns the number of words at the beginning that are a phone number.
fn phone_words(words: &[&str]) -> usize {
    let is_part = |word: &&&str| {
        word.chars()
            .all(|c| c.is_ascii_digit() || "+()-/.".contains(c))
            && word.chars().any(|c| c.is_ascii_digit())
    };
    let count = words.iter().take_while(is_part).count();
    let parts = words.iter().take(count);
    let digits = parts
        .flat_map(|word| word.chars())
        .filter(char::is_ascii_digit);
    match digits.count() >= MIN_PHONE_DIGITS {
        true => count,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui::calendar::time::TimeZone;

    use super::*;

    fn describe(text: &str) -> String {
        match parse_contact_phrase(text) {
            Err(failure) => failure.to_string(),
            Ok(args) => {
                let set = args
                    .set
                    .iter()
                    .map(|a| format!("{}={}", a.property.name, a.property.value));
                let set: Vec<_> = set.collect();
                let [email, phone, set] = [args.email, args.phone, set].map(|all| all.join("|"));
                format!("{}; {email}; {phone}; {set}", args.name.unwrap())
            }
        }
    }

    #[test]
    fn phrases() {
        for (text, expected) in [
            ("Ada Lovelace", "Ada Lovelace; ; ; "),
            (
                "Ada Lovelace ada@example.org +44 20 7946 0123",
                "Ada Lovelace; ada@example.org; +44 20 7946 0123; ",
            ),
            (
                "+44 (20) 7946-0123 Ada <ada@example.org> Lovelace",
                "Ada Lovelace; ada@example.org; +44 (20) 7946-0123; ",
            ),
            (
                "Ada Lovelace, 030 23125 001, 0171 39200 02, org=Example GmbH, note=a = b",
                "Ada Lovelace; ; 030 23125 001|0171 39200 02; ORG=Example GmbH|NOTE=a = b",
            ),
            ("Lovelace, Ada", "Lovelace, Ada; ; ; "),
            ("Agent 007", "Agent 007; ; ; "),
            ("ada@example.org", "a name is missing"),
        ] {
            assert_eq!(describe(text), expected, "{text}");
        }
        for text in ["Ada ada@", "Ada, phoen=1"] {
            assert!(parse_contact_phrase(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_template_that_is_filled_in_has_no_empty_properties() {
        let out = OutputWriter::for_tests(TimeZone::UTC);
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
