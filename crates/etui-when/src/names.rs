//! Names of weekdays and months in English, German, French, Spanish and Portuguese.

use etui_ical::time::Weekday;

/// The weekdays from Monday on, English first. A prefix of at least three letters is a name too.
const WEEKDAYS: [&str; 7] = [
    "Monday montag lundi lunes segunda segunda-feira",
    "Tuesday dienstag mardi martes terca terca-feira",
    "Wednesday mittwoch mercredi miercoles quarta quarta-feira",
    "Thursday donnerstag jeudi jueves quinta quinta-feira",
    "Friday freitag vendredi viernes sexta sexta-feira",
    "Saturday samstag sonnabend samedi sabado",
    "Sunday sonntag dimanche domingo",
];

/// The months from January on, English first. A prefix of at least three letters is a name too.
const MONTHS: [&str; 12] = [
    "January januar janner janvier enero janeiro",
    "February februar feber fevrier febrero fevereiro",
    "March marz maerz mars marzo marco",
    "April avril abril",
    "May mai mayo maio",
    "June juni juin junio junho",
    "July juli juillet julio julho",
    "August aout agosto",
    "September septembre septiembre setembro setiembre",
    "October oktober octobre octubre outubro",
    "November novembre noviembre novembro",
    "December dezember decembre diciembre dezembro",
];

/// Abbreviations of two letters, or that begin several names.
const SHORT_WEEKDAYS: &[(&str, Weekday)] = &[
    ("mo", Weekday::Monday),
    ("tu", Weekday::Tuesday),
    ("di", Weekday::Tuesday),
    ("we", Weekday::Wednesday),
    ("mi", Weekday::Wednesday),
    ("th", Weekday::Thursday),
    ("fr", Weekday::Friday),
    ("sa", Weekday::Saturday),
    ("su", Weekday::Sunday),
];

/// Folds case and the accents of these languages: `MÄRZ` becomes `marz`.
pub fn fold_word(word: &str) -> String {
    let lower = word.chars().flat_map(char::to_lowercase);
    let fold = |c| match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' => 'a',
        'ç' => 'c',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ñ' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        '–' | '—' => '-',
        '\u{2019}' => '\'',
        c => c,
    };
    lower.map(fold).collect()
}

/// Parses the name of a weekday or a prefix of it; `word` is folded.
pub fn parse_weekday(word: &str) -> Option<Weekday> {
    let word = match word.strip_suffix('.').unwrap_or(word) {
        "weds" => "wed",
        word => word,
    };
    let at = WEEKDAYS.iter().position(|names| has_name(names, word))?;
    Weekday::ALL.get(at).copied()
}

/// Parses the name of a weekday, a plural, or an abbreviation of two letters: `mondays`, `mo`.
pub fn parse_day_of_week(word: &str) -> Option<Weekday> {
    let short = SHORT_WEEKDAYS.iter().find(|(known, _)| *known == word);
    parse_weekday(word)
        .or_else(|| parse_weekday(word.strip_suffix('s')?))
        .or(short.map(|(_, weekday)| *weekday))
}

/// Parses the name of a month or a prefix of it, to 1 to 12; `word` is folded.
pub fn parse_month(word: &str) -> Option<u8> {
    let word = word.strip_suffix('.').unwrap_or(word);
    let at = MONTHS.iter().position(|names| has_name(names, word))?;
    u8::try_from(at + 1).ok()
}

/// Returns true if `word` is one of these names, or a prefix of at least three letters.
fn has_name(names: &str, word: &str) -> bool {
    word.len() >= 3
        && names.split(' ').any(|name| {
            let prefix = name.get(..word.len());
            prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(word))
        })
}

/// Returns true if a folded word is the whole name of a weekday or month, not an abbreviation.
pub fn is_full_name(word: &str) -> bool {
    let all = WEEKDAYS.iter().chain(&MONTHS);
    let mut names = all.flat_map(|names| names.split(' '));
    names.any(|name| name.len() > 4 && name.eq_ignore_ascii_case(word))
}

/// Returns the day that a folded word is a misspelling of: a weekday with one letter wrong, missing, more or
/// exchanged with its neighbour, or `tomorrow` with two.
pub fn nearest_weekday(word: &str) -> Option<&'static str> {
    /// Words and names that are no mistakes.
    const OTHER_WORDS: &[&str] = &["frida", "sundae", "sundry", "montage", "montagu", "marten"];
    if word.len() < 6 || OTHER_WORDS.contains(&word) {
        return None;
    }
    let names = WEEKDAYS.iter().flat_map(|names| names.split(' '));
    let mut names = names.filter(|name| name.len() >= 6);
    let is_near = |name: &str, most: usize| {
        let name = name.to_ascii_lowercase();
        let is_same_first = name.get(..1) == word.get(..1);
        is_same_first && name != word && strsim::osa_distance(&name, word) <= most
    };
    if is_near("tomorrow", 2) {
        return Some("tomorrow");
    }
    let singular = word.strip_suffix('s').unwrap_or(word);
    if is_full_name(word) || is_full_name(singular) {
        return None;
    }
    names.find(|name| is_near(name, 1))
}

/// Returns the English name of a weekday.
pub fn weekday_name(weekday: Weekday) -> &'static str {
    let names = WEEKDAYS.get(usize::from(weekday.index()));
    first_name(names)
}

/// Returns the English name of a month, 1 to 12.
pub fn month_name(month: u32) -> &'static str {
    let at = month.checked_sub(1).and_then(|at| usize::try_from(at).ok());
    first_name(at.and_then(|at| MONTHS.get(at)))
}

fn first_name(names: Option<&&'static str>) -> &'static str {
    names
        .and_then(|names| names.split(' ').next())
        .unwrap_or("?")
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
    fn names_in_several_languages() {
        for (word, weekday) in [
            ("Mittwoch", Weekday::Wednesday),
            ("miércoles", Weekday::Wednesday),
            ("quarta-feira", Weekday::Wednesday),
            ("Sonnabend", Weekday::Saturday),
            ("terça", Weekday::Tuesday),
            ("jeu", Weekday::Thursday),
            ("sáb", Weekday::Saturday),
        ] {
            assert_eq!(parse_weekday(&fold_word(word)), Some(weekday), "{word}");
        }
        for (word, month) in [
            ("März", 3),
            ("févr.", 2),
            ("août", 8),
            ("Dezember", 12),
            ("setembro", 9),
            ("marzo", 3),
            ("mai", 5),
            ("Sept.", 9),
        ] {
            assert_eq!(parse_month(&fold_word(word)), Some(month), "{word}");
        }
        assert_eq!(parse_weekday("mo"), None);
        assert_eq!(parse_day_of_week("mo"), Some(Weekday::Monday));
        assert_eq!(parse_day_of_week("fridays"), Some(Weekday::Friday));
    }

    /// No name is also one of another day, and none of another month.
    #[test]
    fn names_are_distinct() {
        let names = WEEKDAYS.iter().enumerate();
        for (at, name) in names.flat_map(|(at, names)| names.split(' ').map(move |n| (at, n))) {
            let found = parse_weekday(&fold_word(name)).map(|w| usize::from(w.index()));
            assert_eq!(found, Some(at), "{name}");
            assert_eq!(parse_month(&fold_word(name)), None, "{name}");
        }
        let names = MONTHS.iter().enumerate();
        for (at, name) in names.flat_map(|(at, names)| names.split(' ').map(move |n| (at, n))) {
            let found = parse_month(&fold_word(name)).map(usize::from);
            assert_eq!(found, Some(at + 1), "{name}");
        }
    }
}
