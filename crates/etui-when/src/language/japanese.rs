//! Splits Japanese, which has no spaces, into the words of a time and the text between them: `明日15時会議`.

use super::{Language, meaning_in};
use crate::names::month_name;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JapanesePart<'t> {
    pub text: &'t str,
    /// The English words of a part of a time.
    pub english: Option<String>,
}

/// The longest form, in characters.
const MAX_FORM_CHARS: usize = 7;

/// Words of one character, and particles, which are part of a time only after another part.
const AFTER_TIME: &[(&str, &str)] = &[
    ("から", "-"),
    ("まで", "the"),
    ("より", "the"),
    ("ごろ", "the"),
    ("頃", "the"),
    ("の", "the"),
    ("に", "the"),
    ("は", "the"),
];

/// Parts of the day, if no other ideograph follows: not in 朝会, a meeting.
const DAY_PARTS: &[(&str, &str)] = &[
    ("朝", "morning"),
    ("昼", "noon"),
    ("夜", "evening"),
    ("晩", "evening"),
];

/// Returns true if a text has Japanese (or Chinese) letters.
pub fn is_japanese(text: &str) -> bool {
    text.chars()
        .any(|c| matches!(c, '\u{3041}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'))
}

/// Splits a text without spaces. `is_after_time` is whether the part before belongs to a time.
pub fn split_japanese<'t>(text: &'t str, is_after_time: &mut bool) -> Vec<JapanesePart<'t>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut other = 0;
    while let Some(tail) = rest.get(other..).filter(|tail| !tail.is_empty()) {
        // A figure within another word or number is none.
        let is_start = other == 0 || !rest[..other].ends_with(|c: char| c.is_ascii_alphanumeric());
        let found = (is_japanese(text) && is_start)
            .then(|| time_part(tail, *is_after_time && other == 0))
            .flatten();
        let Some((length, english)) = found else {
            other += tail.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if let Some(before) = rest.get(..other).filter(|before| !before.is_empty()) {
            parts.push(JapanesePart {
                text: before,
                english: None,
            });
        }
        parts.push(JapanesePart {
            text: tail.get(..length).unwrap_or(tail),
            english: Some(english),
        });
        *is_after_time = true;
        rest = tail.get(length..).unwrap_or_default();
        other = 0;
    }
    if !rest.is_empty() {
        *is_after_time = false;
        parts.push(JapanesePart {
            text: rest,
            english: None,
        });
    }
    parts
}

/// Returns the length and the English words of the part of a time at the beginning of a text.
fn time_part(text: &str, is_after_time: bool) -> Option<(usize, String)> {
    if let Some((length, english)) = number_part(text) {
        return Some((length, english));
    }
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let ends: Vec<usize> = ends.take(MAX_FORM_CHARS).collect();
    for length in ends.iter().skip(1).rev() {
        let form = text.get(..*length).unwrap_or_default();
        if let Some(english) = Language::with_code("ja").and_then(|own| meaning_in(form, own))
            && !AFTER_TIME
                .iter()
                .any(|(particle, _)| text.starts_with(particle))
        {
            return Some((*length, english.to_owned()));
        }
    }
    let part = DAY_PARTS.iter().find(|(form, _)| {
        let next = text.strip_prefix(form).map(|after| after.chars().next());
        is_after_time
            && next.is_some_and(|next| next.is_none_or(|c| !('\u{4e00}'..='\u{9fff}').contains(&c)))
    });
    let particle = part.or_else(|| {
        AFTER_TIME
            .iter()
            .find(|(form, _)| is_after_time && text.starts_with(form))
    });
    particle.map(|(form, english)| (form.len(), (*english).to_owned()))
}

/// Parses a number and its unit: `15時30分`, `12月24日`, `3日後`, `2時間`.
fn number_part(text: &str) -> Option<(usize, String)> {
    let (n, mut rest) = leading_number(text)?;
    let mut words = Vec::new();
    let mut year = None;
    let mut n = n;
    if let Some(after) = rest.strip_prefix('年') {
        year = Some(n);
        (n, rest) = leading_number(after)?;
        rest.strip_prefix('月')?;
    }
    const UNITS: &[(&str, &str)] = &[
        ("時間", "hours"),
        ("週間", "weeks"),
        ("か月", "months"),
        ("ヶ月", "months"),
        ("カ月", "months"),
        ("日間", "days"),
        ("分間", "minutes"),
        ("日", "days"),
        ("分", "minutes"),
        ("年", "years"),
    ];
    let unit = UNITS
        .iter()
        .find_map(|(form, unit)| Some((*form, *unit, rest.strip_prefix(form)?)));
    if let Some((form, unit, after)) = unit {
        if let Some(after) = after.strip_prefix('後') {
            return Some((text.len() - after.len(), format!("in {n} {unit}")));
        }
        if form != "日" {
            return Some((text.len() - after.len(), format!("for {n} {unit}")));
        }
        rest = after;
        words.push(format!("{n}th"));
    } else if let Some(after) = rest.strip_prefix('月') {
        rest = after;
        let month = month_name(n);
        match leading_number(after).and_then(|(day, after)| Some((day, after.strip_prefix('日')?)))
        {
            Some((day, after)) => {
                rest = after;
                words.push(format!("{day} {month}"));
            }
            None => words.push(month.to_owned()),
        }
        words.extend(year.map(|year| year.to_string()));
    } else {
        let after = rest.strip_prefix('時')?;
        let minutes =
            leading_number(after).and_then(|(n, after)| Some((n, after.strip_prefix('分')?)));
        (words, rest) = match (minutes, after.strip_prefix('半')) {
            (Some((minute, after)), _) => (vec![format!("{n}:{minute:02}")], after),
            (None, Some(after)) => (vec![format!("at {n} andhalf")], after),
            (None, None) => (vec![format!("at {n}")], after),
        };
    }
    Some((text.len() - rest.len(), words.join(" ")))
}

/// Parses a number in figures of any width, or in Japanese ones up to 99.
fn leading_number(text: &str) -> Option<(u32, &str)> {
    let figure = |c: char| match c {
        '0'..='9' => c.to_digit(10),
        '\u{ff10}'..='\u{ff19}' => Some(u32::from(c) - 0xff10),
        _ => None,
    };
    let mut n = 0u32;
    let mut rest = text;
    while let Some(digit) = rest.chars().next().and_then(figure) {
        n = n.checked_mul(10)?.checked_add(digit)?;
        rest = rest.get(rest.chars().next()?.len_utf8()..)?;
    }
    if rest.len() < text.len() {
        return Some((n, rest)).filter(|(n, _)| *n < 10_000);
    }
    const NUMERALS: &str = "一二三四五六七八九";
    let numeral = |text: &str| {
        let c = text.chars().next()?;
        let n = NUMERALS.chars().zip(1..).find(|(known, _)| *known == c)?.1;
        Some((n, c.len_utf8()))
    };
    let (tens, length) = numeral(rest).unwrap_or((1, 0));
    let Some(after) = rest.get(length..)?.strip_prefix('十') else {
        return (length > 0)
            .then(|| Some((tens, rest.get(length..)?)))
            .flatten();
    };
    let (ones, length) = numeral(after).unwrap_or((0, 0));
    Some((10 * tens + ones, after.get(length..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_without_spaces() {
        for (text, expected) in [
            ("明日15時会議", "tomorrow|at 15|会議"),
            ("来週の金曜日", "next friday"),
            ("毎週月曜日", "every week|monday"),
            (
                "明後日の午後3時に打ち合わせ",
                "day after tomorrow|the|afternoon|at 3|the|打ち合わせ",
            ),
            ("12月24日", "24 december"),
            ("2027年1月5日", "5 january 2027"),
            ("三日後", "in 3 days"),
            ("１５時３０分", "15:30"),
            ("日本語の本", "日本語の本"),
            ("十時半", "at 10 andhalf"),
            ("今日から2時間", "today|-|for 2 hours"),
        ] {
            let parts = split_japanese(text, &mut false);
            let found: Vec<&str> = parts
                .iter()
                .map(|part| part.english.as_deref().unwrap_or(part.text))
                .collect();
            assert_eq!(found.join("|").to_ascii_lowercase(), expected, "{text}");
        }
    }
}
