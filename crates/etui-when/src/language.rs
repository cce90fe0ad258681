//! The words of languages, by the English words of the grammar.
//!
//! `cldr.txt` has the names that CLDR has; `words.txt` has prepositions, clock words and the like, by hand. A section
//! for each language has a line for each English word or words, and the forms that mean them; a form of `words.txt`
//! replaces that of `cldr.txt`. `scripts/cldr-words` makes `forms.txt` of both, in which a form is found by its bytes.
//!
//! A text is read in one language at a time, beside English: the same form has several meanings (`mar` is March
//! or Tuesday, `a` is an article or "at").

pub mod japanese;

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::names::{is_weekday_name, parse_month, parse_number_word};

/// A language, by its section in the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language(u8);

/// The longest forms, in words.
const MAX_FORM_WORDS: usize = 5;

impl Language {
    pub const ENGLISH: Self = Self(0);
    const CODES: [&str; 12] = [
        "en", "de", "fr", "es", "pt", "nl", "it", "sv", "pl", "ru", "tr", "ja",
    ];

    fn with_code(code: &str) -> Option<Self> {
        let at = Self::CODES.iter().position(|known| *known == code)?;
        u8::try_from(at).ok().map(Self)
    }

    /// Returns the languages, English first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).take(Self::CODES.len()).map(Self)
    }

    pub fn is(self, code: &str) -> bool {
        Self::CODES.get(usize::from(self.0)) == Some(&code)
    }
}

/// Forms in the order of their bytes, with their meanings; the script describes the lines.
const FORMS: &str = include_str!("language/forms.txt");

/// Where the lines of [`FORMS`] begin, after the first one.
static LINES: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let ends = FORMS.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    ends.map(|(at, _)| at + 1)
        .filter(|at| *at < FORMS.len())
        .collect()
});

/// Returns the meanings of a folded form: `+2;es=last`.
fn entry_of(form: &str) -> Option<&'static str> {
    let found = LINES.binary_search_by(|at| compare_line(*at, form)).ok()?;
    let line = FORMS.get(*LINES.get(found)?..)?.split('\n').next()?;
    Some(line.split_once('\t')?.1)
}

/// Compares the form of the line at a position with another form, of which it reads no more than it must.
fn compare_line(at: usize, form: &str) -> Ordering {
    let line = FORMS.as_bytes().get(at..).unwrap_or_default();
    let differing = line.iter().zip(form.as_bytes()).find(|(a, b)| a != b);
    match differing {
        Some((a, b)) => a.cmp(b),
        None if line.get(form.len()) == Some(&b'\t') => Ordering::Equal,
        None => Ordering::Greater,
    }
}

/// Returns the English words for a folded form in a language.
pub fn meaning_in(form: &str, language: Language) -> Option<&'static str> {
    let meaning = |form: &str| {
        let meanings = entry_of(form)?
            .split(';')
            .filter_map(|meaning| meaning.split_once('='));
        let mut own = meanings.filter(|(code, _)| language.is(code));
        own.next().map(|(_, english)| english)
    };
    meaning(form).or_else(|| meaning(form.strip_suffix('.')?))
}

/// Returns the English words for the longest form at the beginning of folded words, and its length in words.
pub fn longest_meaning(words: &[&str], language: Language) -> Option<(&'static str, usize)> {
    let entry = words.first().and_then(|word| entry_of(word));
    let length = entry.and_then(|entry| entry.strip_prefix('+')?.split(';').next()?.parse().ok());
    let most = length.unwrap_or(1).min(MAX_FORM_WORDS);
    let several = (2..=most).rev().find_map(|length| {
        let english = meaning_in(&words.get(..length)?.join(" "), language)?;
        Some((english, length))
    });
    several.or_else(|| Some((meaning_in(words.first()?, language)?, 1)))
}

/// Returns the English words for a folded form in all languages.
pub fn meanings(form: &str) -> impl Iterator<Item = &'static str> {
    let has_meaning = |entry: &&str| entry.contains('=');
    let found = entry_of(form).filter(has_meaning);
    let found = found.or_else(|| entry_of(form.strip_suffix('.')?));
    let all = found.into_iter().flat_map(|entry| entry.split(';'));
    all.filter_map(|meaning| Some(meaning.split_once('=')?.1))
        .filter(|english| !english.is_empty())
}

/// Returns the names of weekdays in languages other than English.
pub fn weekday_forms() -> impl Iterator<Item = &'static str> {
    let first = FORMS.split('\n').next().unwrap_or_default();
    let (_, names) = first.split_once("Weekdays: ").unwrap_or_default();
    names.split(' ')
}

/// Returns true for the name of a day in a language that is not read, also in another case: with another last letter.
pub fn is_day_of_another_language(folded: &str) -> bool {
    let is_day = |word: &str| {
        entry_of(word).is_some_and(|entry| entry.split(';').any(|meaning| meaning == "?="))
    };
    let last = folded
        .char_indices()
        .next_back()
        .map_or(0, |(last, _)| last);
    let stem = folded.get(..last).filter(|stem| stem.chars().count() >= 5);
    is_day(folded) || stem.is_some_and(is_day)
}

/// Returns true if a form, as it was written, shows that its language is meant: a name, or a word before a clock
/// time. Short forms and prepositions are words of other languages too: `do`, `no`, `die`, `sex`.
pub fn is_telling_form(written: &str, english: &str) -> bool {
    const BLIND: &[&str] = &["a", "as", "la", "the", "all"];
    const TELLING: &[&str] = &[
        "vom", "bis", "hasta", "desde", "dalle", "tot", "durant", "pendant", "tills", "przez",
    ];
    let is_long = written.len() >= 4 || written.ends_with('.');
    let first = english.split(' ').next().unwrap_or_default();
    match first {
        "at" | "o'clock" => !BLIND.contains(&written),
        "hour" | "day" | "week" | "month" | "year" => written.len() >= 3,
        "on" | "the" | "of" | "from" | "thru" | "in" | "for" | "and" | "by" | "-" | "half"
        | "this" | "last" | "later" | "times" | "coming" | "dinner" | "breakfast" => {
            (english.contains(' ') && is_long) || TELLING.contains(&written) || !written.is_ascii()
        }
        _ if is_weekday_name(first) || parse_month(first).is_some() => is_long,
        _ if parse_number_word(first).is_some() => english.contains(' '),
        _ => is_long || !written.is_ascii(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::fold_word;
    use super::*;

    #[test]
    fn forms_have_their_meanings() {
        let language = |code| Language::with_code(code).unwrap_or(Language::ENGLISH);
        for (code, form, english) in [
            ("de", "Nächsten", Some("next")),
            ("de", "übermorgen", Some("day after tomorrow")),
            ("fr", "févr.", Some("february")),
            ("pt", "terça", Some("tuesday")),
            ("ru", "пятницу", Some("friday")),
            ("pl", "środę", Some("wednesday")),
            ("tr", "yarın", Some("tomorrow")),
            ("tr", "İKİ", Some("two")),
            ("ja", "来週", Some("next week")),
            ("sv", "måndag", Some("monday")),
            ("it", "giovedì", Some("thursday")),
            ("nl", "maandag", Some("monday")),
            ("es", "mar", Some("march")),
            ("es", "lundi", None),
        ] {
            let found = meaning_in(&fold_word(form), language(code));
            assert_eq!(found, english, "{code} {form}");
        }
    }

    #[test]
    fn the_longest_form_is_taken() {
        let spanish = Language::with_code("es").unwrap_or(Language::ENGLISH);
        let words = ["pasado", "manana", "por", "la", "tarde"];
        assert_eq!(
            longest_meaning(&words, spanish),
            Some(("day after tomorrow", 2))
        );
        assert_eq!(
            longest_meaning(&words[2..], spanish),
            Some(("afternoon", 3))
        );
        assert_eq!(longest_meaning(&["cena"], spanish), Some(("dinner", 1)));
        assert_eq!(longest_meaning(&[], spanish), None);
    }

    /// `forms.txt` is as the script makes it of the other tables, with words folded as here.
    #[test]
    fn forms_are_those_of_the_tables() {
        let tables = concat!(
            include_str!("language/cldr.txt"),
            include_str!("language/words.txt")
        );
        let mut language = Language::ENGLISH;
        let mut expected = std::collections::BTreeMap::new();
        for line in tables.lines().filter(|line| !line.starts_with('#')) {
            if let Some(code) = line.strip_prefix('[') {
                language = Language::with_code(code.trim_end_matches(']')).unwrap_or(language);
            } else if let Some((english, forms)) = line.split_once(": ") {
                for form in forms.split(", ") {
                    expected.insert((fold_word(form), language.0), english);
                }
            }
        }
        for ((form, language), english) in &expected {
            assert_eq!(
                meaning_in(form, Language(*language)),
                Some(*english),
                "{form}"
            );
        }
        let lines = FORMS
            .lines()
            .skip(1)
            .flat_map(|line| line.split(['\t', ';']));
        let count = lines
            .filter(|meaning| meaning.contains('=') && !meaning.starts_with(['?', '=']))
            .count();
        assert_eq!(count, expected.len());
    }

    /// Every language has all weekdays, months, relative days and units.
    #[test]
    fn tables_are_complete() {
        let weekdays = "monday tuesday wednesday thursday friday saturday sunday";
        let months =
            "january february march april may june july august september october november december";
        let others = "today tomorrow yesterday day week month year noon";
        for language in Language::all().skip(1) {
            let has = |english: &str| {
                let mut forms = FORMS
                    .lines()
                    .map(|line| line.split('\t').next().unwrap_or_default());
                forms.any(|form| meaning_in(form, language) == Some(english))
            };
            let is_japanese = language.is("ja");
            let names = [weekdays, if is_japanese { "" } else { months }, others];
            for english in names.iter().flat_map(|names| names.split_whitespace()) {
                // Those that are the same words in these languages.
                let is_same = meaning_in(english, language).is_none()
                    && matches!(
                        english,
                        "april" | "august" | "september" | "november" | "week" | "may"
                    );
                assert!(has(english) || is_same, "{language:?} {english}");
            }
        }
    }
}
