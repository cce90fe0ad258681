//! Sort keys: byte strings whose order is a locale's collation (UTS #10).
//!
//! The keys are made to be stored: a database can sort by them without a collation of its own.
//! Keys of different collator versions or locales must not be mixed.
//! [`Collator::collation_version`] names both and is stored with the keys.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use icu_collator::options::CollatorOptions;
use icu_collator::{Collator as IcuCollator, CollatorBorrowed};
use icu_locale::exemplar_chars::ExemplarCharacters;
use icu_locale_core::Locale;

/// A locale that is no BCP 47 language tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{locale}\" is not a locale; write it like `de`, `en-US` or `sv-SE`")]
pub struct BadLocale {
    /// The locale as given.
    pub locale: String,
}

/// The collator and its data. A change of either changes sort keys and must change this name; a
/// test compares the keys of sample names with recorded ones.
const COLLATOR: &str = "icu4x-2.4";

/// The number of characters of a name that are compared.
const MAX_CHARS: usize = 96;

/// A locale's collation.
pub struct Collator {
    collator: CollatorBorrowed<'static>,
    stamp: String,
    locale: Locale,
    /// Made on first use: only lists need them.
    letters: OnceLock<IndexLabels>,
}

#[derive(Default)]
struct IndexLabels {
    labels: Vec<String>,
    bounds: Vec<Vec<u8>>,
}

/// Version of [`Collator::index_labels`]. A change of the labels moves the divisions of stored
/// lists and must change this number.
const LETTERS: u32 = 1;

/// Returns the [`Collator::collation_version`] of a locale without making its collator. `locale`
/// is written as [`Locale`] writes it.
pub fn collation_version(locale: &impl fmt::Display) -> String {
    format!("{locale} {COLLATOR} letters-{LETTERS}")
}

impl Collator {
    /// Creates the collator of `locale` (BCP 47, e.g. `de`, `sv-SE`; empty or `und`: the root collation).
    ///
    /// # Errors
    /// [`BadLocale`] when the text is not a language tag.
    pub fn new(locale: &str) -> Result<Self, BadLocale> {
        let bad = || BadLocale {
            locale: locale.to_owned(),
        };
        let parsed: Locale = match locale {
            "" => Locale::UNKNOWN,
            _ => locale.parse().map_err(|_| bad())?,
        };
        let collator = IcuCollator::try_new((&parsed).into(), CollatorOptions::default())
            .map_err(|_| bad())?;
        Ok(Self {
            collator,
            stamp: collation_version(&parsed),
            locale: parsed,
            letters: OnceLock::new(),
        })
    }

    /// Computes the primary weights of the locale's index letters (CLDR's "index" exemplars,
    /// UTS #35 Part 2 section 3) and of the Latin letters.
    fn make_index_labels(&self) -> IndexLabels {
        let latin = ('A'..='Z').map(String::from);
        let mut own = Vec::new();
        if let Ok(exemplars) = ExemplarCharacters::try_new_index(&(&self.locale).into()) {
            own.extend(exemplars.code_points().iter_chars().map(String::from));
            own.extend(exemplars.strings().iter().map(str::to_owned));
        }
        let mut letters = BTreeMap::new();
        // The locale's own letters replace Latin letters of equal weight.
        for letter in latin.chain(own) {
            let mut bound = self.sort_key(&[&letter]);
            // The weights of accents and case follow the level separator.
            bound.truncate(bound.iter().position(|&b| b == 1).unwrap_or(0));
            if !bound.is_empty() {
                letters.insert(bound, letter);
            }
        }
        let (bounds, labels) = letters.into_iter().unzip();
        IndexLabels { labels, bounds }
    }

    /// Returns the letters of a list's index in order, e.g. A to Z. Digits, empty names and names in
    /// other scripts have no letter.
    pub fn index_labels(&self) -> &[String] {
        &self.letters.get_or_init(|| self.make_index_labels()).labels
    }

    /// Returns the smallest sort key under each of [`Collator::index_labels`].
    pub fn label_bounds(&self) -> &[Vec<u8>] {
        &self.letters.get_or_init(|| self.make_index_labels()).bounds
    }

    /// Returns locale, collator version and version of the letters, e.g. `de icu4x-2.4 letters-1`.
    pub fn collation_version(&self) -> &str {
        &self.stamp
    }

    /// Returns the sort key of a name, given as its parts in order of weight (family name, given
    /// name, ...).
    ///
    /// A later part counts only where the parts before it are equal: the parts are separated by
    /// U+FFFE, to which the CLDR root collation gives the lowest weight (UTS #35 Part 5,
    /// §"Collation Merge").
    pub fn sort_key(&self, parts: &[&str]) -> Vec<u8> {
        let mut text = String::with_capacity(48);
        for part in parts.iter().map(|p| p.trim()).filter(|p| !p.is_empty()) {
            if !text.is_empty() {
                text.push('\u{fffe}');
            }
            text.push_str(part);
        }
        if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
            text.truncate(end);
        }
        let mut key = Vec::with_capacity(text.len() * 2 + 8);
        let Ok(()) = self.collator.write_sort_key_to(&text, &mut key);
        key
    }
}

/// Returns the locale of the environment (`LC_ALL`, `LC_COLLATE`, `LANG`) as a language tag; `und`
/// when there is none.
pub fn locale_from_environment() -> String {
    ["LC_ALL", "LC_COLLATE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .and_then(|value| locale_from_posix(&value))
        .unwrap_or_else(|| "und".to_owned())
}

/// `de_DE.UTF-8@euro` -> `de-DE`; `C` and `POSIX` have no language.
fn locale_from_posix(value: &str) -> Option<String> {
    let tag = value.split(['.', '@']).next()?.replace('_', "-");
    let parsed: Locale = tag.parse().ok()?;
    (tag.len() > 1).then(|| parsed.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(locale: &str, mut names: Vec<&'static str>) -> Vec<&'static str> {
        let order = Collator::new(locale).unwrap();
        names.sort_by_key(|n| order.sort_key(&n.split('|').collect::<Vec<_>>()));
        names
    }

    #[test]
    fn locales_differ() {
        let names = vec!["Zorn", "Ärlig", "Adam", "Öst"];
        assert_eq!(
            sorted("de", names.clone()),
            ["Adam", "Ärlig", "Öst", "Zorn"]
        );
        assert_eq!(sorted("sv", names), ["Adam", "Zorn", "Ärlig", "Öst"]);
    }

    #[test]
    fn family_name_weighs_more_than_given_name() {
        assert_eq!(
            sorted("en", vec!["De|Zoe", "Dee|Adam", "De|Adam", "De"]),
            ["De", "De|Adam", "De|Zoe", "Dee|Adam"]
        );
    }

    #[test]
    fn bad_locales_are_named() {
        assert!(matches!(
            Collator::new("not a locale"),
            Err(BadLocale { .. })
        ));
        assert!(Collator::new("").is_ok());
        assert_eq!(locale_from_posix("de_DE.UTF-8").as_deref(), Some("de-DE"));
        assert_eq!(locale_from_posix("C"), None);
    }

    /// Stored keys depend on the collator's data: when this fails, [`COLLATOR`] needs a new name
    /// (stores then rebuild their lists by themselves) and the recorded value a new one.
    #[test]
    fn keys_are_those_of_the_recorded_collator() {
        let order = Collator::new("de").unwrap();
        let mut hash = blake3::Hasher::new();
        for name in [
            "Müller",
            "Łukasz",
            "山田",
            "Ωmega",
            "O’Brien",
            "Nguyễn",
            "Ирина",
            "عمر",
        ] {
            hash.update(&order.sort_key(&[name, "Anna"]));
        }
        assert_eq!(&hash.finalize().to_hex()[..16], "1cbec784661f06c0");
    }
}
