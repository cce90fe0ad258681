//! Names as one text, and split into the components of N.

use etui_contentline::edit::is_one_of;

use crate::card::Card;
use crate::error::CardError;
use crate::fields::StructuredName;

/// Titles before a name.
const PREFIXES: &[&str] = &[
    "dr",
    "prof",
    "mr",
    "mrs",
    "ms",
    "miss",
    "mx",
    "sir",
    "dame",
    "rev",
    "herr",
    "frau",
    "dipl.-ing",
];
/// Titles after a name.
const SUFFIXES: &[&str] = &[
    "jr", "sr", "ii", "iii", "iv", "phd", "ph.d", "md", "m.d", "esq", "mba",
];
/// Words that begin a family name.
const PARTICLES: &[&str] = &[
    "af", "al", "av", "bin", "da", "dal", "das", "de", "del", "della", "den", "der", "di", "do",
    "dos", "du", "el", "ibn", "la", "las", "le", "los", "ten", "ter", "van", "vom", "von", "zu",
    "zum", "zur",
];

impl StructuredName {
    /// Splits a name as it is shown: `Dr. Ludwig van Beethoven`, `Lovelace, Ada`.
    ///
    /// The family name is the last word with the particles before it, or the text before a comma,
    /// or the first word of a Chinese, Japanese or Korean name. A single word is a given name.
    pub fn split_display(text: &str) -> Self {
        let mut name = Self::default();
        let (before, after) = text.split_once(',').unwrap_or((text, ""));
        let mut words: Vec<&str> = before.split_whitespace().collect();
        let mut after: Vec<&str> = after.split_whitespace().collect();
        let is_title =
            |titles: &[&str], word: &str| is_one_of(titles, word.trim_end_matches(['.', ',']));
        let mut suffixes = Vec::new();
        let last_of = match after.is_empty() {
            true => &mut words,
            false => &mut after,
        };
        let whole = usize::from(before.trim().len() == text.trim().len());
        while let Some(word) = last_of.pop_if(|word| is_title(SUFFIXES, word)) {
            if last_of.len() < whole {
                last_of.push(word);
                break;
            }
            suffixes.insert(0, word);
        }
        name.suffix = suffixes.join(" ");
        let first_of = match after.is_empty() {
            true => &mut words,
            false => &mut after,
        };
        let titles = first_of.iter().take_while(|word| is_title(PREFIXES, word));
        let titles = titles.count().min(first_of.len().saturating_sub(1));
        name.prefix = first_of.drain(..titles).collect::<Vec<_>>().join(" ");
        if !after.is_empty() {
            name.family = words.join(" ");
            name.given = after.remove(0).to_owned();
            name.additional = after.join(" ");
            return name;
        }
        if words.len() < 2 {
            name.given = words.concat();
            return name;
        }
        if words.iter().all(|word| word.chars().all(is_east_asian)) {
            name.family = words.remove(0).to_owned();
        } else {
            let mut at = words.len() - 1;
            while at > 1
                && words
                    .get(at - 1)
                    .is_some_and(|word| is_one_of(PARTICLES, word))
            {
                at -= 1;
            }
            name.family = words.split_off(at).join(" ");
        }
        name.given = words.remove(0).to_owned();
        name.additional = words.join(" ");
        name
    }

    /// Returns the name as it is shown: prefix, given, additional and family name, suffix.
    pub fn to_display(&self) -> String {
        let parts = [
            &self.prefix,
            &self.given,
            &self.additional,
            &self.family,
            &self.suffix,
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    fn components(&self) -> [&str; 5] {
        [
            &self.family,
            &self.given,
            &self.additional,
            &self.prefix,
            &self.suffix,
        ]
    }
}

impl Card {
    /// Sets the name to show (FN), and N to its components unless N already has this name. The name
    /// of the card's organisation has no components.
    ///
    /// # Errors
    /// [`CardError::Empty`] if nothing would be left.
    pub fn set_name(&mut self, display: &str) -> Result<(), CardError> {
        let display = display.trim();
        let old = self.name();
        self.set("FN", display)?;
        let is_organization = self.organizations().iter().any(|o| o.name == display);
        let new = match is_organization {
            true => StructuredName::default(),
            false if old.to_display() == display => return Ok(()),
            false => StructuredName::split_display(display),
        };
        if new == old {
            return Ok(());
        }
        for (index, part) in new.components().into_iter().enumerate() {
            self.set_component("N", &[], index, part)?;
        }
        Ok(())
    }

    /// Sets a component of N, and FN with it if FN was the name in N.
    ///
    /// # Errors
    /// As [`Card::set_component`].
    pub fn set_name_component(&mut self, index: usize, value: &str) -> Result<(), CardError> {
        let shown = self.first_text("FN").unwrap_or_default();
        let follows = shown == self.name().to_display();
        self.set_component("N", &[], index, value)?;
        match self.name().to_display() {
            display if follows && !display.is_empty() => self.set("FN", &display),
            _ => Ok(()),
        }
    }
}

/// Returns true for the characters of Chinese, Japanese and Korean names.
fn is_east_asian(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split() {
        for (text, expected) in [
            ("Zora Adams", ["Adams", "Zora", "", "", ""]),
            ("Anna Maria Müller", ["Müller", "Anna", "Maria", "", ""]),
            (
                "Ludwig van Beethoven",
                ["van Beethoven", "Ludwig", "", "", ""],
            ),
            ("Oscar De La Hoya", ["De La Hoya", "Oscar", "", "", ""]),
            ("Jack Ma", ["Ma", "Jack", "", "", ""]),
            ("Van Morrison", ["Morrison", "Van", "", "", ""]),
            (
                "Dr. Ada Lovelace PhD",
                ["Lovelace", "Ada", "", "Dr.", "PhD"],
            ),
            ("Martin King, Jr.", ["King", "Martin", "", "", "Jr."]),
            (
                "Lovelace, Dr. Ada Augusta",
                ["Lovelace", "Ada", "Augusta", "Dr.", ""],
            ),
            ("山田 太郎", ["山田", "太郎", "", "", ""]),
            ("Madonna", ["", "Madonna", "", "", ""]),
            ("Dr.", ["", "Dr.", "", "", ""]),
            ("Jr", ["", "Jr", "", "", ""]),
            ("  ", ["", "", "", "", ""]),
            (",", ["", "", "", "", ""]),
            ("Adams,", ["", "Adams", "", "", ""]),
        ] {
            let name = StructuredName::split_display(text);
            assert_eq!(name.components(), expected, "{text}");
        }
    }

    #[test]
    fn a_name_and_its_components_agree() {
        let mut card = Card::new("Zora Adams").unwrap();
        card.set_name("Zora Adams").unwrap();
        assert_eq!(card.property("N").as_deref(), Some("Adams;Zora;;;"));
        card.set_name_component(0, "O'Hara; Smith").unwrap();
        assert_eq!(card.display_name(), "Zora O'Hara; Smith");
        card.set("FN", "Z").unwrap();
        card.set_name_component(1, "Zoe").unwrap();
        assert_eq!(card.display_name(), "Z");
        assert_eq!(card.name().given, "Zoe");
        card.set_name("Anna Müller").unwrap();
        assert_eq!(card.name().family, "Müller");
    }

    #[test]
    fn an_organisation_has_no_family_name() {
        let mut card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nN:GmbH;Acme;;;\r\nFN:x\r\nORG:Acme GmbH\r\nEND:VCARD\r\n",
        )
        .unwrap();
        card.set_name("Acme GmbH").unwrap();
        assert_eq!(card.property("N").as_deref(), Some(";;;;"));
        assert_eq!(card.display_name(), "Acme GmbH");
    }
}
