//! Edits that leave every other line of the card as it came.

use std::ops::Range;

use super::{Card, CardError, Version, dates};
use crate::error::Result;
use crate::import::clean::clean;
use crate::import::lines::{ContentLine, ContentLines};

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

/// Octets of a physical line without its end (RFC 6350 §3.2).
const FOLD_AT: usize = 75;

impl Card {
    /// A new card (4.0) with this name to show, a UID of its own and nothing else.
    ///
    /// # Errors
    /// [`CardError::Empty`] when the name is blank; an error of the system's random numbers.
    pub fn new(display_name: &str) -> Result<Self> {
        if display_name.trim().is_empty() {
            return Err(CardError::Empty.into());
        }
        let high = crate::store::random()?.cast_unsigned();
        let low = crate::store::random()?.cast_unsigned();
        // RFC 9562 §5.4: version 4 in the 13th digit, variant 10 in the 17th.
        let uid = format!(
            "urn:uuid:{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high & 0xffff_ffff,
            (high >> 32) & 0xffff,
            (high >> 48) & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff,
        );
        let mut card = Self::parse(format!(
            "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:-\r\nEND:VCARD\r\n"
        ))?;
        card.set("FN", display_name)?;
        Ok(card)
    }

    /// Sets the first property `name` to `value`, keeping its group and parameters, or adds it.
    ///
    /// `value` is text: what the format needs escaped is escaped here. In structured properties
    /// (N, ADR, ORG, GENDER) `;` separates the parts, in lists (CATEGORIES, NICKNAME) `,` the
    /// entries.
    ///
    /// # Errors
    /// [`CardError::BadProperty`]; [`CardError::Empty`] when nothing would be left.
    pub fn set(&mut self, name: &str, value: &str) -> std::result::Result<(), CardError> {
        check_name(name)?;
        let text = self.editable();
        let Some(line) = own_lines(&text).find(|l| l.name_is(name)) else {
            return self.add(&NewProperty {
                name: name.to_owned(),
                value: value.to_owned(),
                ..NewProperty::default()
            });
        };
        let mut head = String::new();
        if let Some(group) = line.group {
            head.push_str(&String::from_utf8_lossy(group));
            head.push('.');
        }
        head.push_str(&String::from_utf8_lossy(line.name));
        let params = line.unfolded_params();
        for param in split_params(&String::from_utf8_lossy(&params)) {
            if !says_encoding(param) {
                head.push(';');
                head.push_str(param);
            }
        }
        let new = self.line(&head, name, value, ending(&text));
        self.splice(&text, line.span.clone(), &new)
    }

    /// Adds a property behind the others of its name, or at the end.
    ///
    /// # Errors
    /// [`CardError::BadProperty`] for a name or type that cannot stand in a vCard.
    pub fn add(&mut self, property: &NewProperty) -> std::result::Result<(), CardError> {
        check_name(&property.name)?;
        let text = self.editable();
        let mut head = property.name.to_ascii_uppercase();
        for kind in &property.types {
            check_name(kind)?;
            head.push_str(match self.version() {
                Version::V2_1 => ";",
                _ => ";TYPE=",
            });
            head.push_str(kind);
        }
        let new = self.line(&head, &property.name, &property.value, ending(&text));
        let place = own_lines(&text)
            .filter(|l| l.name_is(&property.name))
            .last()
            .map(|l| l.span.end)
            .or_else(|| {
                let ends = ContentLines::new(&text).filter(|l| is_edge(l, "END"));
                ends.last().map(|l| l.span.start)
            })
            .unwrap_or(text.len());
        self.splice(&text, place..place, &new)
    }

    /// Removes the properties `name`: all of them, or those with exactly this value. Tells how
    /// many there were.
    ///
    /// # Errors
    /// [`CardError::Empty`] when nothing would be left; the card is then as before.
    pub fn remove(
        &mut self,
        name: &str,
        value: Option<&str>,
    ) -> std::result::Result<usize, CardError> {
        check_name(name)?;
        let text = self.editable();
        let spans: Vec<Range<usize>> = own_lines(&text)
            .filter(|l| l.name_is(name))
            .filter(|l| value.is_none_or(|v| self.has_value(l, name, v)))
            .map(|line| line.span)
            .collect();
        let mut out = Vec::with_capacity(text.len());
        let mut from = 0;
        for span in &spans {
            out.extend_from_slice(&text[from..span.start]);
            from = span.end;
        }
        out.extend_from_slice(&text[from..]);
        if !spans.is_empty() {
            *self = Self::parse(out)?;
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
        if std::str::from_utf8(&self.text).is_ok() && !self.text.contains(&0) {
            self.text.clone()
        } else {
            clean(&self.text).into_owned().into_bytes()
        }
    }

    fn splice(
        &mut self,
        text: &[u8],
        place: Range<usize>,
        new: &[u8],
    ) -> std::result::Result<(), CardError> {
        let mut out = Vec::with_capacity(text.len() + new.len());
        out.extend_from_slice(&text[..place.start]);
        // The line before may be the text's last and lack its end.
        if !matches!(out.last(), None | Some(b'\n' | b'\r')) {
            out.extend_from_slice(ending(text));
        }
        if goes_on(text, place.start) {
            // An empty line is where it ends, and not the line that comes now.
            out.extend_from_slice(ending(text));
        }
        out.extend_from_slice(new);
        out.extend_from_slice(&text[place.end..]);
        *self = Self::parse(out)?;
        Ok(())
    }

    /// A content line with its folds and line end, as the card's version writes it.
    fn line(&self, head: &str, name: &str, value: &str, ending: &[u8]) -> Vec<u8> {
        let old = self.version() == Version::V2_1;
        let date = is_one_of(&["BDAY", "ANNIVERSARY"], name) && self.version() == Version::V4_0;
        let basic = dates::basic(value.trim()).filter(|_| date);
        let value = escape(name, basic.as_deref().unwrap_or(value), old);
        if old && (!value.is_ascii() || value.contains(['\n', '\r'])) {
            return quoted_printable(head, &value, ending);
        }
        fold(&format!("{head}:{value}"), ending)
    }
}

/// The lines of the card itself, without those of a card nested in it.
fn own_lines(text: &[u8]) -> impl Iterator<Item = ContentLine<'_>> {
    let mut depth = 0usize;
    ContentLines::new(text).filter(move |line| {
        if is_edge(line, "BEGIN") {
            depth += 1;
        }
        let own = depth <= 1;
        if is_edge(line, "END") {
            depth = depth.saturating_sub(1);
        }
        own
    })
}

/// Whether the line is `BEGIN:VCARD` or `END:VCARD`.
fn is_edge(line: &ContentLine<'_>, name: &str) -> bool {
    line.name_is(name)
        && line
            .unfolded_value()
            .trim_ascii()
            .eq_ignore_ascii_case(b"VCARD")
}

/// Whether the line before `at` is quoted-printable and ends with a soft break that nothing
/// follows: what was put there would be taken for its continuation.
fn goes_on(text: &[u8], at: usize) -> bool {
    ContentLines::new(text)
        .find(|line| line.span.end >= at)
        .is_some_and(|line| {
            line.span.end == at
                && line.is_quoted_printable()
                && line.raw().trim_ascii_end().ends_with(b"=")
        })
}

fn check_name(name: &str) -> std::result::Result<(), CardError> {
    let fits = !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && !["BEGIN", "END", "VERSION"]
            .iter()
            .any(|r| r.eq_ignore_ascii_case(name));
    if fits {
        Ok(())
    } else {
        Err(CardError::BadProperty(name.to_owned()))
    }
}

fn ending(text: &[u8]) -> &'static [u8] {
    match memchr::memchr2(b'\r', b'\n', text) {
        Some(at) if text[at] == b'\n' => b"\n",
        Some(at) if text.get(at + 1) != Some(&b'\n') => b"\r",
        _ => b"\r\n",
    }
}

/// Splits parameters at `;` outside quotes.
fn split_params(params: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    params
        .split(move |c| {
            quoted ^= c == '"';
            c == ';' && !quoted
        })
        .filter(|p| !p.is_empty())
}

/// Whether a parameter speaks of how the old value was encoded.
fn says_encoding(param: &str) -> bool {
    let name = param.split('=').next().unwrap_or_default();
    [
        "ENCODING",
        "CHARSET",
        "QUOTED-PRINTABLE",
        "BASE64",
        "8BIT",
        "7BIT",
        "B",
    ]
    .iter()
    .any(|n| n.eq_ignore_ascii_case(name))
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|n| n.eq_ignore_ascii_case(name))
}

/// RFC 6350 §3.4; vCard 2.1 escapes only `;`.
fn escape(name: &str, value: &str, old: bool) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    let mut chars = value.chars().peekable();
    let plain = is_one_of(PLAIN, name);
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                out.push_str(if old { "\r\n" } else { "\\n" });
            }
            '\n' => out.push_str(if old { "\r\n" } else { "\\n" }),
            _ if plain => out.push(c),
            '\\' if !old => out.push_str("\\\\"),
            ';' if !is_one_of(STRUCTURED, name) => out.push_str("\\;"),
            ',' if !old && !is_one_of(LISTS, name) => out.push_str("\\,"),
            _ => out.push(c),
        }
    }
    out
}

/// Folds at 75 octets, never inside a character.
fn fold(line: &str, ending: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() + line.len() / 40 + 2);
    let mut rest = line;
    let mut room = FOLD_AT;
    while rest.len() > room {
        let (now, later) = rest.split_at(rest.floor_char_boundary(room));
        out.extend_from_slice(now.as_bytes());
        out.extend_from_slice(ending);
        out.push(b' ');
        rest = later;
        room = FOLD_AT - 1;
    }
    out.extend_from_slice(rest.as_bytes());
    out.extend_from_slice(ending);
    out
}

/// RFC 2045 §6.7, as vCard 2.1 §2.1.3 uses it.
fn quoted_printable(head: &str, value: &str, ending: &[u8]) -> Vec<u8> {
    let mut out = format!("{head};CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:").into_bytes();
    let mut column = out.len();
    for &b in value.as_bytes() {
        let plain = (b' '..=b'~').contains(&b) && b != b'=';
        let width = if plain { 1 } else { 3 };
        if column + width > FOLD_AT {
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
    fn what_cannot_stand_in_a_card_is_refused() {
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
