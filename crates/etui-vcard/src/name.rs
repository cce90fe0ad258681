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
        // At least one word is the name.
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

    /// Returns the name as it is shown: prefix, given, additional and family name, suffix. The family
    /// name of a Chinese, Japanese or Korean name is first; without a blank if it is one character
    /// before at most two, as is usual: 王小明, but 山田 太郎.
    pub fn to_display(&self) -> String {
        let Self {
            family,
            given,
            additional,
            prefix,
            suffix,
        } = self;
        let is_east_asian = |part: &str| !part.is_empty() && part.chars().all(is_east_asian);
        let joined;
        let parts = match is_east_asian(family) && is_east_asian(given) {
            true => {
                let is_short = family.chars().count() == 1 && given.chars().count() <= 2;
                joined = format!("{family}{}{given}", if is_short { "" } else { " " });
                [prefix.as_str(), &joined, additional, suffix, ""]
            }
            false => [prefix.as_str(), given, additional, family, suffix],
        };
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
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

    /// Sets a component of N, and FN with it: FN becomes the name in N if it was that or blank, else
    /// the old component is replaced in it if it has it as words. Returns false if FN was kept though it
    /// is not the name in N.
    ///
    /// # Errors
    /// As [`Card::set_component`].
    pub fn set_name_component(&mut self, index: usize, value: &str) -> Result<bool, CardError> {
        let shown = self.first_text("FN").unwrap_or_default().to_owned();
        let old = self.name();
        self.set_component("N", &[], index, value)?;
        let new = self.name().to_display();
        if new.is_empty() || shown == new {
            return Ok(true);
        }
        let old_part = old.components().get(index).copied().unwrap_or_default();
        let follows = match shown.is_empty() || shown == old.to_display() {
            true => Some(new),
            // The family name is the last of two that are alike.
            false => replace_words(&shown, old_part, value.trim(), index == 0),
        };
        if let Some(display) = &follows {
            self.set("FN", display)?;
        }
        Ok(follows.is_some())
    }
}

/// Replaces the words `old` in `text`, in any case; the last ones of several if `last` is true.
/// `None` if the text does not have them, or one of both is blank.
fn replace_words(text: &str, old: &str, new: &str, last: bool) -> Option<String> {
    if old.is_empty() || new.is_empty() {
        return None;
    }
    let is_inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut found = None;
    for (at, _) in text.char_indices() {
        let (before, rest) = text.split_at(at);
        let Some(len) = matched_len(rest, old) else {
            continue;
        };
        let after = rest.get(len..).unwrap_or_default();
        // East Asian names have no blanks between words.
        let is_cut = !old.chars().all(is_east_asian)
            && (is_inside(before.chars().next_back()) || is_inside(after.chars().next()));
        if !is_cut && (last || found.is_none()) {
            found = Some((before, rest.get(..len).unwrap_or_default(), after));
        }
    }
    let (before, written, after) = found?;
    let is_capitals = written.chars().filter(|c| c.is_alphabetic()).count() > 1
        && written == written.to_uppercase()
        && written != written.to_lowercase()
        && old != written;
    let new = if is_capitals {
        new.to_uppercase()
    } else {
        new.to_owned()
    };
    Some(format!("{before}{new}{after}"))
}

/// Returns the length of the start of `text` that is `word` in any case.
fn matched_len(text: &str, word: &str) -> Option<usize> {
    let mut rest = text.chars();
    for wanted in word.chars() {
        if !rest.next()?.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(text.len() - rest.as_str().len())
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
        assert!(!card.set_name_component(1, "Zoe").unwrap());
        assert_eq!(card.display_name(), "Z");
        assert_eq!(card.name().given, "Zoe");
        card.set_name("Anna Müller").unwrap();
        assert_eq!(card.name().family, "Müller");
    }

    #[test]
    fn the_name_to_show_follows_its_parts() {
        for (shown, expected) in [
            ("Anna Nagy", Some("Anna Kiss")),
            ("Nagy Anna", Some("Kiss Anna")),
            ("Nagy, Anna", Some("Kiss, Anna")),
            ("Dr. Anna Nagy", Some("Dr. Anna Kiss")),
            ("Anna M. Nagy", Some("Anna M. Kiss")),
            ("ANNA NAGY", Some("ANNA KISS")),
            ("Anna  Nagy", Some("Anna  Kiss")),
            ("Anna Nagy (Work)", Some("Anna Kiss (Work)")),
            ("Nagy", Some("Kiss")),
            ("Annie Nagy", Some("Annie Kiss")),
            ("Anna Nagy, PhD", Some("Anna Kiss, PhD")),
            ("Anna Nagy-Nagy", Some("Anna Nagy-Kiss")),
            ("", Some("Anna Kiss")),
            ("Anna Nagyova", None),
            ("Annie", None),
        ] {
            let text = format!(
                "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Nagy;Anna;;;\r\nFN:{}\r\nEND:VCARD\r\n",
                shown.replace(',', "\\,")
            );
            let mut card = Card::parse(text).unwrap();
            let follows = card.set_name_component(0, "Kiss").unwrap();
            assert_eq!(follows, expected.is_some(), "{shown}");
            assert_eq!(card.display_name(), expected.unwrap_or(shown));
            assert_eq!(card.name().family, "Kiss");
        }
        for (family, given, shown, expected) in [
            ("山田", "太郎", "山田太郎", "鈴木太郎"),
            ("山田", "太郎", "山田 太郎", "鈴木 太郎"),
            ("O'Hara", "Zoe", "Zoe O'Hara", "Zoe 鈴木"),
            ("van Beek", "Jan", "Dr Jan Van Beek", "Dr Jan 鈴木"),
        ] {
            let text = format!(
                "BEGIN:VCARD\r\nVERSION:3.0\r\nN:{family};{given};;;\r\nFN:{shown}\r\nEND:VCARD\r\n"
            );
            let mut card = Card::parse(text).unwrap();
            assert!(card.set_name_component(0, "鈴木").unwrap());
            assert_eq!(card.display_name(), expected);
        }
    }

    #[test]
    fn east_asian_names_begin_with_the_family() {
        for (family, given, shown) in [
            ("山田", "太郎", "山田 太郎"),
            ("김", "영희", "김영희"),
            ("王", "小明", "王小明"),
            ("林", "健", "林健"),
            ("やまだ", "たろう", "やまだ たろう"),
            ("欧阳", "娜娜", "欧阳 娜娜"),
            ("Nagy", "Anna", "Anna Nagy"),
            ("김", "Anna", "Anna 김"),
            ("", "太郎", "太郎"),
        ] {
            let (family, given) = (family.to_owned(), given.to_owned());
            let name = StructuredName {
                family,
                given,
                ..StructuredName::default()
            };
            assert_eq!(name.to_display(), shown);
        }
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
