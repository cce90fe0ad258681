//! The words of languages, by the English words of the grammar.
//!
//! `cldr.txt` has the names that CLDR has, and is made by `scripts/cldr-words`; `words.txt` has prepositions,
//! clock words and the like, by hand. A section for each language has a line for each English word or words, and
//! the forms that mean them; a form of `words.txt` replaces that of `cldr.txt`.
//!
//! A text is read in one language at a time, beside English: the same form has several meanings (`mar` is March
//! or Tuesday, `a` is an article or "at").

pub mod japanese;

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::names::{fold_word, is_weekday_name, parse_month};

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

/// The meanings of a form, with their languages.
type Meanings = Vec<(Language, &'static str)>;

struct FormTable {
    forms: HashMap<&'static str, Meanings, FixedState>,
    /// The most words of a form that begins with this word.
    lengths: HashMap<&'static str, usize, FixedState>,
    /// Days of languages that are not read.
    other_days: HashMap<&'static str, (), FixedState>,
    weekdays: Vec<&'static str>,
}

static TABLE: LazyLock<FormTable> = LazyLock::new(|| {
    static FOLDED: LazyLock<[String; 2]> = LazyLock::new(|| {
        let tables = concat!(
            include_str!("language/cldr.txt"),
            include_str!("language/words.txt")
        );
        [tables, include_str!("language/other_days.txt")].map(fold_word)
    });
    let [tables, others] = &*FOLDED;
    let mut table = FormTable {
        // About as many as the tables have.
        forms: HashMap::with_capacity_and_hasher(2_800, FixedState::default()),
        lengths: HashMap::with_capacity_and_hasher(400, FixedState::default()),
        other_days: HashMap::default(),
        weekdays: Vec::new(),
    };
    let mut language = Language::ENGLISH;
    for line in tables.lines().filter(|line| !line.starts_with('#')) {
        if let Some(code) = line.strip_prefix('[') {
            language = Language::with_code(code.trim_end_matches(']')).unwrap_or(language);
            continue;
        }
        let (english, forms) = line.split_once(": ").unwrap_or_default();
        let is_weekday = is_weekday_name(english);
        for form in forms.split(", ") {
            if is_weekday && !form.contains(' ') {
                table.weekdays.push(form);
            }
            let meanings = table.forms.entry(form).or_default();
            meanings.retain(|(known, _)| *known != language);
            meanings.push((language, english));
            if let Some((first, rest)) = form.split_once(' ') {
                let length = table.lengths.entry(first).or_default();
                *length = (*length).max(rest.split(' ').count() + 1);
            }
        }
    }
    let others = others.lines().filter(|line| !line.starts_with('#'));
    let others = others.filter_map(|line| Some(line.split_once(": ")?.1));
    for day in others.flat_map(|days| days.split(' ')) {
        if !table.forms.contains_key(day) {
            table.other_days.insert(day, ());
            table.other_days.extend(stem_of(day).map(|stem| (stem, ())));
        }
    }
    table
});

/// Returns the English words for a folded form in a language.
pub fn meaning_in(form: &str, language: Language) -> Option<&'static str> {
    let meaning = |form: &str| {
        let meanings = TABLE.forms.get(form)?;
        let mut own = meanings.iter().filter(|(known, _)| *known == language);
        own.next().map(|(_, english)| *english)
    };
    meaning(form).or_else(|| meaning(form.strip_suffix('.')?))
}

/// Returns the English words for the longest form at the beginning of folded words, and its length in words.
pub fn longest_meaning(words: &[&str], language: Language) -> Option<(&'static str, usize)> {
    let most = words.first().and_then(|word| TABLE.lengths.get(word));
    let most = most.copied().unwrap_or(1).min(MAX_FORM_WORDS);
    let several = (2..=most).rev().find_map(|length| {
        let english = meaning_in(&words.get(..length)?.join(" "), language)?;
        Some((english, length))
    });
    several.or_else(|| Some((meaning_in(words.first()?, language)?, 1)))
}

/// Returns the English words for a folded form in all languages.
pub fn meanings(form: &str) -> impl Iterator<Item = (Language, &'static str)> {
    let found = TABLE.forms.get(form);
    let found = found.or_else(|| TABLE.forms.get(form.strip_suffix('.')?));
    found.into_iter().flatten().copied()
}

/// Returns the names of weekdays in languages other than English.
pub fn weekday_forms() -> impl Iterator<Item = &'static str> {
    TABLE.weekdays.iter().copied()
}

/// Returns a longer word without its last letter, which in many languages is that of a case.
fn stem_of(word: &str) -> Option<&str> {
    let (last, _) = word.char_indices().next_back()?;
    word.get(..last).filter(|stem| stem.chars().count() >= 5)
}

/// Returns true for the name of a day in a language that is not read.
pub fn is_day_of_another_language(folded: &str) -> bool {
    let has = |word: &str| TABLE.other_days.contains_key(word);
    has(folded) || stem_of(folded).is_some_and(has)
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
        _ if super::names::parse_number_word(first).is_some() => english.contains(' '),
        _ => is_long || !written.is_ascii(),
    }
}

#[cfg(test)]
mod tests {
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

    /// Every language has all weekdays, months, relative days and units.
    #[test]
    fn tables_are_complete() {
        let weekdays = "monday tuesday wednesday thursday friday saturday sunday";
        let months =
            "january february march april may june july august september october november december";
        let others = "today tomorrow yesterday day week month year noon";
        for language in Language::all().skip(1) {
            let has = |english: &str| {
                let mut all = TABLE.forms.iter();
                all.any(|(form, meanings)| {
                    meanings.contains(&(language, english)) || *form == english
                })
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
