//! Names of weekdays of two letters before a time: `Do 19:30`, `lu 10:00`.

use super::super::clock::{parse_clock, parse_digits};
use super::super::language::{Language, meaning_in};
use super::super::names::fold_word;
use super::pieces::Piece;

/// German and Dutch names, which are written with a capital: in lower case they are words of other languages.
const CAPITAL: &[(&str, &str)] = &[
    ("mo", "monday"),
    ("di", "tuesday"),
    ("mi", "wednesday"),
    ("do", "thursday"),
    ("fr", "friday"),
    ("sa", "saturday"),
    ("so", "sunday"),
];

/// Names that are the same day in every language that has them, and are no common word.
const ANY_CASE: &[(&str, &str)] = &[
    ("mo", "monday"),
    ("lu", "monday"),
    ("pn", "monday"),
    ("wt", "tuesday"),
    ("wo", "wednesday"),
    ("ju", "thursday"),
    ("je", "thursday"),
    ("gi", "thursday"),
    ("cz", "thursday"),
    ("vr", "friday"),
    ("vi", "friday"),
    ("ve", "friday"),
    ("fr", "friday"),
    ("sa", "saturday"),
    ("za", "saturday"),
    ("zo", "sunday"),
    ("nd", "sunday"),
];

/// Capital names that are another day in French, Spanish or Italian (`di`, `do`): in a phrase with a word of these
/// languages they are not read.
const OTHER_DAYS: &[&str] = &["di", "do"];

/// Returns the position of a short name before a clock time, and the English name of its day; `None` if there are
/// several, or if it may be another day.
pub fn find_short_day(pieces: &[Piece<'_>]) -> Option<(usize, &'static str)> {
    let mut found = (0..pieces.len()).filter_map(|at| Some((at, day_at(pieces, at)?)));
    let (at, day) = found.next().filter(|_| found.next().is_none())?;
    let folded = fold_word(pieces.get(at)?.text.trim_end_matches('.'));
    let is_of = |word: &str, codes: &[&str]| {
        let mut all = Language::all().filter(|language| codes.iter().any(|code| language.is(code)));
        all.any(|language| meaning_in(word, language).is_some())
    };
    let is_other = OTHER_DAYS.contains(&folded.as_str())
        && pieces
            .iter()
            .map(|piece| fold_word(piece.text))
            .any(|word| {
                word.len() > 2 && is_of(&word, &["fr", "es", "it"]) && !is_of(&word, &["de", "nl"])
            });
    (!is_other).then_some((at, day))
}

fn day_at(pieces: &[Piece<'_>], at: usize) -> Option<&'static str> {
    let piece = pieces.get(at).filter(|piece| !piece.is_quoted)?;
    let folded = fold_word(piece.text.trim_end_matches(['.', ',']));
    let is_capital = piece.text.starts_with(char::is_uppercase);
    let named = |names: &[(&str, &'static str)]| {
        let found = names.iter().find(|(name, _)| *name == folded);
        found.map(|(_, day)| *day)
    };
    let day = named(ANY_CASE).or_else(|| named(CAPITAL).filter(|_| is_capital))?;
    let text = |at: usize| pieces.get(at).map_or("", |piece| piece.text);
    let next = fold_word(text(at + 1));
    let hour = next.split('-').next().unwrap_or_default();
    let is_hour = parse_digits::<u32>(hour, 1..=2).is_some_and(|hour| hour < 24);
    let unit = fold_word(text(at + 2));
    let is_unit = matches!(unit.as_str(), "uhr" | "h" | "am" | "pm" | "uur");
    let is_dotted = hour.split_once('.').is_some_and(|(hour, minute)| {
        parse_digits::<u32>(hour, 1..=2).is_some_and(|hour| hour < 24)
            && parse_digits::<u32>(minute, 2..=2).is_some_and(|minute| minute < 60)
    });
    let is_clock = parse_clock(hour).is_some()
        || next.ends_with("uhr")
        || (is_hour && (is_unit || next.contains('-')))
        || (is_dotted && is_unit);
    is_clock.then_some(day)
}
