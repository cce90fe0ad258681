//! English names of weekdays, months and numbers; those of other languages are translated to them.

use etui_ical::time::Weekday;

use super::language::weekday_forms;

/// The weekdays from Monday on. A prefix of at least three letters is a name too.
const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// The months from January on. A prefix of at least three letters is a name too.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Abbreviations of two letters.
const SHORT_WEEKDAYS: &[(&str, Weekday)] = &[
    ("mo", Weekday::Monday),
    ("tu", Weekday::Tuesday),
    ("we", Weekday::Wednesday),
    ("th", Weekday::Thursday),
    ("fr", Weekday::Friday),
    ("sa", Weekday::Saturday),
    ("su", Weekday::Sunday),
];

/// Folds case, accents, dashes, apostrophes and full-width figures: `MÄRZ` becomes `marz`. A combining mark is
/// left out, so that both Unicode forms of a letter are the same word.
pub fn fold_word(word: &str) -> String {
    let fold = |c| {
        Some(match c {
            '\u{300}'..='\u{36f}' => return None,
            'à'..='å' | 'ą' => 'a',
            'ç' | 'ć' => 'c',
            'è'..='ë' | 'ę' => 'e',
            'ì'..='ï' | 'ı' => 'i',
            'ğ' => 'g',
            'ł' => 'l',
            'ñ' | 'ń' => 'n',
            'ò'..='ö' => 'o',
            'ś' | 'ş' => 's',
            'ù'..='ü' => 'u',
            'ź' | 'ż' => 'z',
            'ё' => 'е',
            'й' => 'и',
            '\u{2010}'..='\u{2015}' | '\u{ff5e}' | '\u{301c}' => '-',
            '\u{2019}' | '\u{2bc}' => '\'',
            '\u{ff01}'..='\u{ff5d}' => {
                char::from_u32(u32::from(c) - 0xff01 + u32::from('!')).unwrap_or(c)
            }
            c => c,
        })
    };
    let mut folded = String::with_capacity(word.len());
    for c in word.chars() {
        match c.is_ascii() {
            true => folded.push(c.to_ascii_lowercase()),
            false => folded.extend(c.to_lowercase().filter_map(fold)),
        }
    }
    folded
}

/// Parses the English name of a weekday or a prefix of it; `word` is folded.
pub fn parse_weekday(word: &str) -> Option<Weekday> {
    let word = word.strip_suffix('.').unwrap_or(word);
    let at = WEEKDAYS.iter().position(|name| has_name(name, word))?;
    Weekday::ALL.get(at).copied()
}

/// Parses the English name of a weekday, a plural, or an abbreviation of two letters: `mondays`, `mo`.
pub fn parse_day_of_week(word: &str) -> Option<Weekday> {
    let short = SHORT_WEEKDAYS.iter().find(|(known, _)| *known == word);
    parse_weekday(word)
        .or_else(|| parse_weekday(word.strip_suffix('s')?))
        .or(short.map(|(_, weekday)| *weekday))
}

/// Parses the English name of a month or a prefix of it, to 1 to 12; `word` is folded.
pub fn parse_month(word: &str) -> Option<u8> {
    let word = word.strip_suffix('.').unwrap_or(word);
    let at = MONTHS.iter().position(|name| has_name(name, word))?;
    u8::try_from(at + 1).ok()
}

/// Returns true if `word` is this name, or a prefix of at least three letters.
fn has_name(name: &str, word: &str) -> bool {
    let prefix = name.get(..word.len());
    word.len() >= 3 && prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(word))
}

/// Returns true if a folded word is the whole English name of a weekday.
pub fn is_weekday_name(word: &str) -> bool {
    WEEKDAYS.iter().any(|name| name.eq_ignore_ascii_case(word))
}

/// Returns true if a folded word is the whole English name of a weekday or month, not an abbreviation. "May" is
/// as likely another word.
pub fn is_full_name(word: &str) -> bool {
    let mut names = WEEKDAYS.iter().chain(&MONTHS);
    word.len() > 4 && names.any(|name| name.eq_ignore_ascii_case(word))
}

/// Returns the day that a folded word is a misspelling of: a weekday with one letter wrong, missing, more or
/// exchanged with its neighbour, or `tomorrow` with two.
pub fn nearest_weekday(word: &str) -> Option<&'static str> {
    /// Words and names that are no mistakes.
    const OTHER_WORDS: &[&str] = &["frida", "sundae", "sundry", "montage", "montagu", "marten"];
    if word.len() < 6 || OTHER_WORDS.contains(&word) {
        return None;
    }
    let is_near = |name: &str, most: usize| {
        let name = name.to_ascii_lowercase();
        let is_same_first = name.get(..1) == word.get(..1);
        is_same_first && name != word && strsim::osa_distance(&name, word) <= most
    };
    if is_near("tomorrow", 2) {
        return Some("tomorrow");
    }
    let names = || WEEKDAYS.into_iter().chain(weekday_forms());
    let singular = word.strip_suffix('s').unwrap_or(word);
    let is_one =
        |name: &str| name.eq_ignore_ascii_case(word) || name.eq_ignore_ascii_case(singular);
    if names().any(is_one) {
        return None;
    }
    let mut names = names().filter(|name| name.len() >= 6);
    names.find(|name| is_near(name, 1))
}

/// Returns the English name of a weekday.
pub fn weekday_name(weekday: Weekday) -> &'static str {
    WEEKDAYS.get(usize::from(weekday.index())).unwrap_or(&"?")
}

/// Returns the English name of a month, 1 to 12.
pub fn month_name(month: u32) -> &'static str {
    let at = month.checked_sub(1).and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| MONTHS.get(at)).unwrap_or(&"?")
}

/// Parses a number in figures or words, 1 to a million: `3`, `three`, `a`.
pub fn parse_number_word(word: &str) -> Option<u32> {
    const WORDS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    let named = WORDS.iter().zip(1..).find(|(known, _)| **known == word);
    let number = named.map(|(_, n)| n).or_else(|| {
        let is_plain = word.bytes().all(|b| b.is_ascii_digit());
        is_plain.then(|| word.parse().ok()).flatten()
    });
    number.filter(|n| (1..=1_000_000).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_prefixes() {
        assert_eq!(parse_weekday("mo"), None);
        assert_eq!(parse_weekday("wednes"), Some(Weekday::Wednesday));
        assert_eq!(parse_day_of_week("mo"), Some(Weekday::Monday));
        assert_eq!(parse_day_of_week("fridays"), Some(Weekday::Friday));
        assert_eq!(parse_month("sept."), Some(9));
        assert_eq!(parse_month("ma"), None);
    }

    #[test]
    fn words_are_folded() {
        for (word, folded) in [
            ("MÄRZ", "marz"),
            ("Pa\u{301}tek", "patek"),
            ("ŚRODĘ", "srode"),
            ("Salı", "sali"),
            ("İki", "iki"),
            ("Чёрный", "черныи"),
            ("１５時", "15時"),
            ("3–4", "3-4"),
            ("aujourd’hui", "aujourd'hui"),
        ] {
            assert_eq!(fold_word(word), folded, "{word}");
        }
    }

    #[test]
    fn misspelt_days_are_found() {
        assert_eq!(nearest_weekday("firday"), Some("Friday"));
        assert_eq!(nearest_weekday("tommorow"), Some("tomorrow"));
        assert_eq!(nearest_weekday("samsatg"), Some("samstag"));
        for word in ["friday", "fridays", "frida", "samstag", "lundi", "Montage"] {
            assert_eq!(nearest_weekday(&fold_word(word)), None, "{word}");
        }
    }
}
