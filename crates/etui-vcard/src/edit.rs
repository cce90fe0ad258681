//! Edits that leave every other line of the card as it came.

use std::ops::Range;

use crate::card::{Card, VCardVersion};
use crate::date::full_date_to_basic;
use crate::error::CardError;
use crate::property::ENCODINGS;
use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::{
    MAX_LINE_OCTETS, fold_line, head_without, is_one_of, is_property_name, line_ending, own_lines,
    remove_spans, splice_line,
};
use etui_contentline::lines::{ContentLine, ContentLines, Delimiter};
use etui_contentline::values;

/// A property to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewProperty {
    /// Its name, e.g. `EMAIL`.
    pub name: String,
    /// Its types, e.g. `home`.
    pub types: Vec<String>,
    /// Its value as text; see [`Card::set`].
    pub value: String,
}

/// Properties whose parts are separated by `;` (RFC 6350 §6.2.2, §6.3.1, §6.6.4, §6.2.7).
const STRUCTURED: &[&str] = &["N", "ADR", "ORG", "GENDER"];
/// Properties that are lists separated by `,`.
const LISTS: &[&str] = &["CATEGORIES", "NICKNAME"];
/// Properties that are URIs or the like: nothing in them is escaped.
const PLAIN: &[&str] = &[
    "UID",
    "URL",
    "PHOTO",
    "LOGO",
    "SOUND",
    "SOURCE",
    "KEY",
    "IMPP",
    "GEO",
    "REV",
    "BDAY",
    "ANNIVERSARY",
    "FBURL",
    "CALURI",
    "CALADRURI",
    "MEMBER",
    "RELATED",
    "KIND",
];

/// The component whose lines are the card's own.
const OWN: Option<&str> = Some("VCARD");

impl Card {
    /// A new card (4.0) with this name to show, a UID of its own and nothing else.
    ///
    /// # Errors
    /// [`CardError::Empty`] when the name is blank; an error of the system's random numbers.
    pub fn new(display_name: &str) -> Result<Self, CardError> {
        if display_name.trim().is_empty() {
            return Err(CardError::Empty);
        }
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let uid = uuid::Builder::from_random_bytes(bytes).into_uuid();
        let mut card = Self::parse(format!(
            "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:uuid:{uid}\r\nFN:-\r\nEND:VCARD\r\n"
        ))?;
        card.set("FN", display_name)?;
        Ok(card)
    }

    /// Sets the first property `name` to `value`, keeping its group and parameters, or adds it.
    ///
    /// `value` is text without escapes. In structured properties
    /// (N, ADR, ORG, GENDER) `;` separates the parts, in lists (CATEGORIES, NICKNAME) `,` the
    /// entries.
    ///
    /// # Errors
    /// [`CardError::BadProperty`]; [`CardError::Empty`] when nothing would be left.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), CardError> {
        check_name(name)?;
        let text = self.editable();
        let Some(line) = own_lines(&text, OWN).find(|l| l.name_is(name)) else {
            return self.add(&NewProperty {
                name: name.to_owned(),
                value: value.to_owned(),
                ..NewProperty::default()
            });
        };
        let head = head_without(&line, ENCODINGS);
        let new = self.line(&head, name, value, line_ending(&text));
        self.splice(&text, line.span.clone(), &new)
    }

    /// Adds a property after the others of its name, or at the end.
    ///
    /// # Errors
    /// [`CardError::BadProperty`] for a name or type that a vCard cannot have.
    pub fn add(&mut self, property: &NewProperty) -> Result<(), CardError> {
        check_name(&property.name)?;
        let text = self.editable();
        let mut head = property.name.to_ascii_uppercase();
        for kind in &property.types {
            check_name(kind)?;
            head.push_str(match self.version() {
                VCardVersion::V2_1 => ";",
                _ => ";TYPE=",
            });
            head.push_str(kind);
        }
        let new = self.line(&head, &property.name, &property.value, line_ending(&text));
        let place = own_lines(&text, OWN)
            .filter(|l| l.name_is(&property.name))
            .last()
            .map(|l| l.span.end)
            .or_else(|| {
                let ends = ContentLines::new(&text).filter(ends_card);
                ends.last().map(|l| l.span.start)
            })
            .unwrap_or(text.len());
        self.splice(&text, place..place, &new)
    }

    /// Removes the properties `name`: all of them, or those with exactly this value. Returns
    /// their number.
    ///
    /// # Errors
    /// [`CardError::Empty`] when nothing would be left; the card is then as before.
    pub fn remove(&mut self, name: &str, value: Option<&str>) -> Result<usize, CardError> {
        check_name(name)?;
        let text = self.editable();
        let spans: Vec<Range<usize>> = own_lines(&text, OWN)
            .filter(|l| l.name_is(name))
            .filter(|l| value.is_none_or(|v| self.has_value(l, name, v)))
            .map(|line| line.span)
            .collect();
        if !spans.is_empty() {
            *self = Self::parse(remove_spans(&text, &spans))?;
        }
        Ok(spans.len())
    }

    /// Whether `line`, read by itself, has this value.
    fn has_value(&self, line: &ContentLine<'_>, name: &str, value: &str) -> bool {
        let mut alone = format!("BEGIN:VCARD\r\nVERSION:{}\r\n", self.version()).into_bytes();
        alone.extend_from_slice(line.raw());
        alone.extend_from_slice(b"\r\nEND:VCARD\r\n");
        Self::parse(alone)
            .ok()
            .and_then(|card| card.property(name))
            .is_some_and(|found| found.trim() == value.trim())
    }

    /// The text as bytes whose lines can be changed one by one. Cards in UTF-16, or with 8-bit
    /// text that is not UTF-8, become UTF-8 as a whole.
    fn editable(&self) -> Vec<u8> {
        to_utf8_bytes(&self.text).into_owned()
    }

    fn splice(&mut self, text: &[u8], place: Range<usize>, new: &[u8]) -> Result<(), CardError> {
        *self = Self::parse(splice_line(text, place, new))?;
        Ok(())
    }

    /// A content line with its folds and line end, as the card's version writes it.
    fn line(&self, head: &str, name: &str, value: &str, ending: &[u8]) -> Vec<u8> {
        let old = self.version() == VCardVersion::V2_1;
        let date =
            is_one_of(&["BDAY", "ANNIVERSARY"], name) && self.version() == VCardVersion::V4_0;
        let basic = full_date_to_basic(value.trim()).filter(|_| date);
        let value = escape(name, basic.as_deref().unwrap_or(value), old);
        if old && (!value.is_ascii() || value.contains(['\n', '\r'])) {
            return quoted_printable(head, &value, ending);
        }
        fold_line(&format!("{head}:{value}"), ending)
    }
}

/// Whether the line is `END:VCARD`.
fn ends_card(line: &ContentLine<'_>) -> bool {
    line.delimiter()
        .is_some_and(|(edge, name)| edge == Delimiter::End && name.eq_ignore_ascii_case(b"VCARD"))
}

fn check_name(name: &str) -> Result<(), CardError> {
    match is_property_name(name) {
        true => Ok(()),
        false => Err(CardError::BadProperty(name.to_owned())),
    }
}

/// RFC 6350 §3.4; vCard 2.1 escapes only `;`.
fn escape(name: &str, value: &str, old: bool) -> String {
    let mut special = String::new();
    if !is_one_of(PLAIN, name) {
        if !is_one_of(STRUCTURED, name) {
            special.push(';');
        }
        if !old {
            special.push('\\');
        }
        if !old && !is_one_of(LISTS, name) {
            special.push(',');
        }
    }
    values::escape_text(value, &special, if old { "\r\n" } else { "\\n" })
}

/// RFC 2045 §6.7, as vCard 2.1 §2.1.3 uses it.
fn quoted_printable(head: &str, value: &str, ending: &[u8]) -> Vec<u8> {
    let mut out = format!("{head};CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:").into_bytes();
    let mut column = out.len();
    for &b in value.as_bytes() {
        let plain = (b' '..=b'~').contains(&b) && b != b'=';
        let width = if plain { 1 } else { 3 };
        if column + width > MAX_LINE_OCTETS {
            out.push(b'=');
            out.extend_from_slice(ending);
            column = 0;
        }
        if plain {
            out.push(b);
        } else {
            out.extend_from_slice(format!("={b:02X}").as_bytes());
        }
        column += width;
    }
    out.extend_from_slice(ending);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: &str = "BEGIN:VCARD\nVERSION:3.0\nX-ODD;\"weird;=\":a\\,b\nFN:Old\n  Name\n\
                       item1.EMAIL;TYPE=HOME:a@example.org\nitem1.X-ABLabel:Home\nEND:VCARD\n";

    #[test]
    fn only_the_line_meant_changes() {
        let mut card = Card::parse(ODD).unwrap();
        card.set("fn", "New, Name").unwrap();
        card.set("EMAIL", "b@example.org").unwrap();
        let expected = ODD
            .replace("FN:Old\n  Name\n", "FN:New\\, Name\n")
            .replace("a@example", "b@example");
        assert_eq!(String::from_utf8_lossy(card.text()), expected);
        assert_eq!(card.display_name(), "New, Name");
    }

    #[test]
    fn additions_and_removals() {
        let mut card = Card::parse(ODD).unwrap();
        card.add(&NewProperty {
            name: "email".into(),
            types: vec!["work".into()],
            value: "c@example.org".into(),
        })
        .unwrap();
        let mails: Vec<_> = card.emails().into_iter().map(|e| e.value).collect();
        assert_eq!(mails, ["a@example.org", "c@example.org"]);
        assert_eq!(card.remove("EMAIL", Some("c@example.org")), Ok(1));
        assert_eq!(card.text(), ODD.as_bytes());
        assert_eq!(card.remove("EMAIL", None), Ok(1));
        assert_eq!(card.remove("EMAIL", None), Ok(0));
    }

    #[test]
    fn the_last_line_may_lack_its_end() {
        let mut card = Card::parse("BEGIN:VCARD\r\nFN:A\r\nEND:VCARD").unwrap();
        card.set("NOTE", "x").unwrap();
        assert_eq!(card.text(), b"BEGIN:VCARD\r\nFN:A\r\nNOTE:x\r\nEND:VCARD");
    }

    #[test]
    fn a_line_that_only_looks_like_a_begin_is_none() {
        let mut card = Card::parse(
            "BEGIN:VCARD\nVERSION:2.1\nN:A\nAGENT:\nBEGIN:VCARD\nN:B\nBEGIN:VCA\nEND:VCARD\n\
             TEL:1\nEND:VCARD\n",
        )
        .unwrap();
        card.set("NOTE", "here").unwrap();
        assert!(card.text().ends_with(b"TEL:1\nNOTE:here\nEND:VCARD\n"));
    }

    #[test]
    fn a_soft_break_before_the_end_swallows_no_addition() {
        let mut card =
            Card::parse("BEGIN:VCARD\nVERSION:2.1\nN;ENCODING=QUOTED-PRINTABLE:A;B=\nEND:VCARD\n")
                .unwrap();
        card.set("NOTE", "here").unwrap();
        assert_eq!(card.note().as_deref(), Some("here"));
        assert_eq!(card.name().given, "B");
    }

    #[test]
    fn old_cards_get_quoted_printable() {
        let mut card = Card::parse("BEGIN:VCARD\r\nVERSION:2.1\r\nN:A;B\r\nEND:VCARD\r\n").unwrap();
        card.set("N", "Müller;Änne").unwrap();
        card.set("NOTE", "two\nlines; and more").unwrap();
        assert_eq!(card.name().family, "Müller");
        assert_eq!(card.name().given, "Änne");
        assert_eq!(card.note().as_deref(), Some("two\nlines; and more"));
        assert!(card.text().is_ascii());
    }

    #[test]
    fn values_read_back_as_set() {
        for version in ["3.0", "4.0"] {
            let mut card = Card::parse(format!(
                "BEGIN:VCARD\r\nVERSION:{version}\r\nFN:x\r\nEND:VCARD\r\n"
            ))
            .unwrap();
            let long = "äöü; \\ , \" \n".repeat(30);
            card.set("NOTE", &long).unwrap();
            assert_eq!(card.note().as_deref(), Some(long.as_str()));
            assert!(card.text().split(|&b| b == b'\n').all(|l| l.len() <= 76));
        }
    }

    #[test]
    fn invalid_properties_are_rejected() {
        let mut card = Card::new("A").unwrap();
        for bad in ["", "END", "A:B", "A\r\nB", "Ä"] {
            assert!(card.set(bad, "x").is_err(), "{bad}");
        }
        card.set("FN", "A\r\nEND:VCARD").unwrap();
        assert_eq!(card.display_name(), "A\nEND:VCARD");
        card.remove("UID", None).unwrap();
        assert_eq!(card.remove("FN", None), Err(CardError::Empty));
    }

    #[test]
    fn new_cards_have_a_uuid() {
        let (a, b) = (Card::new("A").unwrap(), Card::new("A").unwrap());
        assert_ne!(a.uid(), b.uid());
        assert_eq!(a.uid().unwrap().len(), "urn:uuid:".len() + 36);
    }
}
