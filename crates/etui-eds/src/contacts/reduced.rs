//! Cards reduced to some of their properties: parsing a whole card costs several times what a query
//! costs that looks at one property.

use etui::contacts::Card;

use super::outgoing::text_in_v3;
use super::words::{in_desktop_words, is_desktop_word};

/// Properties that every reduced card has.
const ALWAYS: [&str; 4] = ["BEGIN", "END", "VERSION", "UID"];

/// The properties that a query or an order looks at.
#[derive(Debug, Clone, Default)]
pub(super) struct PropertyNames {
    /// `None`: any.
    names: Option<Vec<String>>,
}

impl PropertyNames {
    /// Of these names; `None`: any property.
    pub(super) fn new(names: Option<Vec<String>>) -> Self {
        Self { names }
    }

    /// Of none but the UID.
    pub(super) fn uid_alone() -> Self {
        Self::new(Some(Vec::new()))
    }

    /// Whether one of them may be another property in the stored card.
    fn is_in_words(&self) -> bool {
        let names = self.names.as_ref();
        names.is_none_or(|names| names.iter().any(|name| is_desktop_word(name)))
    }

    /// Parses a card with these properties; perhaps with others.
    pub(super) fn parse_card(&self, text: &[u8]) -> Option<Card> {
        let in_words;
        let text = match self.is_in_words() {
            true => {
                in_words = in_desktop_words(text_in_v3(text));
                in_words.as_bytes()
            }
            false => text,
        };
        let reduced = self.names.as_ref().and_then(|names| reduce(text, names));
        match reduced {
            Some(reduced) => Card::parse(reduced).ok(),
            None => Card::parse(text).ok(),
        }
    }
}

/// Returns a card with the properties of these names; `None` if its lines do not show where
/// properties begin: UTF-16, other line ends, soft line breaks, a card in the card.
fn reduce(text: &[u8], names: &[String]) -> Option<Vec<u8>> {
    let is_wanted = |name: &[u8]| {
        let always = ALWAYS.iter().copied();
        let mut wanted = names.iter().map(String::as_str).chain(always);
        wanted.any(|wanted| wanted.as_bytes().eq_ignore_ascii_case(name))
    };
    let starts_plainly = text
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"BEGIN"));
    if !starts_plainly {
        return None;
    }
    let (mut reduced, mut keeps, mut begins) = (Vec::new(), false, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if !matches!(line.first(), Some(b' ' | b'\t')) {
            let name = property_name(line);
            begins += usize::from(name.eq_ignore_ascii_case(b"BEGIN"));
            if begins > 1 || name.eq_ignore_ascii_case(b"AGENT") {
                return None;
            }
            keeps = is_wanted(name);
        }
        let (ended, has_soft_break) = match line {
            [text @ .., b'\r', b'\n'] | [text @ .., b'\n'] => (text, text.ends_with(b"=")),
            text => (text, false),
        };
        if has_soft_break || ended.contains(&b'\r') {
            return None;
        }
        if keeps {
            reduced.extend_from_slice(line);
        }
    }
    Some(reduced)
}

/// The name at the beginning of a line: `TEL` of `item1.TEL;TYPE=HOME:1`.
fn property_name(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| matches!(byte, b':' | b';'));
    let head = line.get(..end.unwrap_or(0)).unwrap_or_default();
    let name = head.rsplit(|byte| *byte == b'.').next();
    name.unwrap_or_default().trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(body: &str) -> Option<String> {
        let card = format!("BEGIN:VCARD\r\nVERSION:3.0\r\n{body}END:VCARD\r\n");
        let reduced = reduce(card.as_bytes(), &["EMAIL".to_owned()])?;
        Some(String::from_utf8(reduced).unwrap())
    }

    #[test]
    fn only_the_wanted_properties_stay() {
        let body = "UID:u\r\nFN:A\r\nitem1.Email;TYPE=HOME:a@\r\n x.org\r\nNOTE:n\r\n EMAIL:no\r\n";
        assert_eq!(
            reduced(body).unwrap(),
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u\r\nitem1.Email;TYPE=HOME:a@\r\n x.org\r\n\
             END:VCARD\r\n"
        );
    }

    #[test]
    fn lines_that_do_not_show_their_properties_are_left_whole() {
        for body in [
            "NOTE;ENCODING=QUOTED-PRINTABLE:a=\r\nEMAIL:b\r\n",
            "AGENT:BEGIN:VCARD\r\nEMAIL:b\r\nEND:VCARD\r\n",
            "AGENT:\r\nBEGIN:VCARD\r\nEMAIL:b\r\nEND:VCARD\r\n",
            "NOTE:a\rEMAIL:b\r\n",
        ] {
            assert_eq!(reduced(body), None, "{body}");
        }
        assert!(reduce(b"\xff\xfeB\0E\0", &[]).is_none());
    }

    #[test]
    fn a_reduced_card_has_equal_values() {
        let card =
            "BEGIN:VCARD\nVERSION:3.0\nFN:A\nTEL;TYPE=HOME:+49 30\n  1234\nN:\n B;A\nEND:VCARD\n";
        let names = PropertyNames::new(Some(vec!["TEL".to_owned(), "N".to_owned()]));
        let reduced = names.parse_card(card.as_bytes()).unwrap();
        let whole = PropertyNames::default()
            .parse_card(card.as_bytes())
            .unwrap();
        assert_eq!(reduced.property("TEL"), whole.property("TEL"));
        assert_eq!(reduced.name().family, "B");
        assert_eq!(
            (reduced.property("FN"), whole.property("FN")),
            (None, Some("A".to_owned()))
        );
    }
}
