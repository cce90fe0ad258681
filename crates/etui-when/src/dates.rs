//! Dates: `2026-12-24`, `24.12.`, `12/24/2026`, `24 December`, `the 15th`; offsets from UTC.

use etui_ical::time::{Date, DateTimeValue};

use super::clock::parse_digits;
use super::format::iso_day;
use super::language::Language;
use super::names::{month_name, parse_month, parse_weekday};
use super::parse::in_languages;
use super::words::WordList;

/// Parses `2026-12-24`, `20261224`, `2026/12/24` or `2026.12.24`.
pub fn parse_iso_date(word: &str) -> Option<Date> {
    let word = word.replace(['/', '.'], "-");
    let is_year_first = word.bytes().take(4).filter(u8::is_ascii_digit).count() == 4;
    match word.parse() {
        Ok(DateTimeValue::Date(date)) if is_year_first => Some(date),
        _ => None,
    }
}

/// Parses `25.12.`, `25.12.2026` and `12/25/2026`. A date that is read differently in Europe and America
/// is an error.
pub fn parse_numeric_date(word: &str, today: Date) -> Result<Option<Date>, String> {
    let number = |text: &str| parse_digits::<u32>(text, 1..=2);
    if let Some((day, rest)) = word.split_once('.') {
        let (month, year) = rest.split_once('.').unwrap_or((rest, "?"));
        let (Some(day), Some(month)) = (number(day), number(month)) else {
            return Ok(None);
        };
        let month = u8::try_from(month).unwrap_or(u8::MAX);
        return Ok(match year {
            "" => next_date(today, month, day),
            // 10.12 may also be a time.
            "?" if day < 24 => None,
            "?" => next_date(today, month, day),
            year => date_of_year(year, month, day),
        });
    }
    // 31-12-2026
    let slashed = match word.rsplit_once('-') {
        Some((_, year)) if year.len() == 4 => word.replace('-', "/"),
        _ => word.to_owned(),
    };
    let Some((first, rest)) = slashed.split_once('/') else {
        return Ok(None);
    };
    let (second, year) = match rest.split_once('/') {
        Some((second, year)) => (second, Some(year)),
        None => (rest, None),
    };
    let (Some(first), Some(second)) = (number(first), number(second)) else {
        return Ok(None);
    };
    let date = |day: u32, month: u32| {
        let month = u8::try_from(month).unwrap_or(u8::MAX);
        match year {
            Some(year) => date_of_year(year, month, day),
            None => next_date(today, month, day),
        }
    };
    match (date(second, first), date(first, second)) {
        (Some(us), Some(other)) if us != other => Err(format!(
            "\"{word}\" is {} or {}; write one of them",
            iso_day(us),
            iso_day(other)
        )),
        (us, other) => Ok(us.or(other)),
    }
}

/// Returns what is wrong with a date of a day that its month does not have: `1990-02-29`, `31.6.`, `30 February`.
pub fn find_missing_day(words: &WordList, today: Date) -> Option<String> {
    (0..words.left()).find_map(|at| {
        let mut rest = words.rest();
        rest.at = at;
        missing_day_at(&rest, today)
    })
}

/// Returns what is wrong with a date at the position of the words.
fn missing_day_at(words: &WordList, today: Date) -> Option<String> {
    let word = words.peek(0)?;
    let number = |text: &str| parse_digits::<u32>(text, 1..=2);
    let year_of = |text: &str| parse_digits::<i32>(text, 4..=4);
    let numeric = || {
        let date = word.split_once('t').map_or(word, |(date, _)| date);
        if let (8, Some(_)) = (date.len(), date.parse::<u32>().ok()) {
            let parts = (date.get(..4)?, date.get(4..6)?, date.get(6..)?);
            let month = number(parts.1).filter(|month| (1..=12).contains(month))?;
            return Some((number(parts.2)?, month, Some(year_of(parts.0)?)));
        }
        let separator = date.find(['.', '-', '/'])?;
        let mut parts = date.split(date.get(separator..=separator)?);
        match (parts.next()?, parts.next()?, parts.next(), parts.next()) {
            (year, month, Some(day), None) if year.len() == 4 => {
                Some((number(day)?, number(month)?, Some(year_of(year)?)))
            }
            (day, month, Some(year), None) if date.contains('.') => {
                let short = || Some(2_000 + parse_digits::<i32>(year, 2..=2)?);
                let of_year = year_of(year).or_else(short);
                (year.is_empty() || of_year.is_some()).then_some((
                    number(day)?,
                    number(month)?,
                    of_year,
                ))
            }
            _ => None,
        }
    };
    let named = || {
        let next = words.peek(1)?;
        let of = usize::from(matches!(next, "of" | "from"));
        let (day, month, after) = match (parse_month(word), parse_day_number(word)) {
            (Some(month), _) => (parse_day_number(next)?, month, 2),
            (None, Some(day)) => (day, parse_month(words.peek(1 + of)?)?, 2 + of),
            _ => return None,
        };
        let year = words.peek(after).and_then(year_of);
        Some((day, u32::from(month), year))
    };
    let found = numeric();
    let is_numeric = found.is_some();
    let (day, month, year) = found.or_else(named)?;
    let is_possible = (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_there = match year {
        Some(year) => Date::new(year, month, day).is_some(),
        None => next_date(today, u8::try_from(month).ok()?, day).is_some(),
    };
    if !is_possible || is_there {
        return None;
    }
    let in_year = year.map(|year| format!(" {year}")).unwrap_or_default();
    let month = month_name(month);
    let written = words.next_words(2).join(" ");
    let written = if is_numeric { word } else { &written };
    Some(format!(
        "\"{written}\" does not exist: {month}{in_year} has no day {day}"
    ))
}

/// Returns what is wrong with a text that is a date of a day that does not exist; `None` for others.
pub fn describe_missing_day(text: &str) -> Option<String> {
    let today = Date::new(2000, 1, 1)?;
    Language::all()
        .find_map(|language| find_missing_day(&WordList::split_in(text, language), today))
}

/// Parses a year of two or four digits.
fn date_of_year(year: &str, month: u8, day: u32) -> Option<Date> {
    let short = || Some(2_000 + parse_digits::<i32>(year, 2..=2)?);
    let year = parse_digits(year, 4..=4).or_else(short)?;
    Date::new(year, month.into(), day)
}

/// Returns the next date with this month and day, today or later.
fn next_date(today: Date, month: u8, day: u32) -> Option<Date> {
    let (year, ..) = today.ymd();
    let mut dates = (year..year + 9).filter_map(|year| Date::new(year, month.into(), day));
    dates.find(|date| *date >= today)
}

/// Returns the next date with this day of the month, today or later.
pub fn next_day_of_month(today: Date, day: u32) -> Option<Date> {
    let first = today.plus_days(1 - i64::from(today.ymd().2));
    let mut dates = (0..12).filter_map(|n| {
        let (year, month, _) = plus_months(first, n).ymd();
        Date::new(year, month, day)
    });
    dates.find(|date| *date >= today)
}

/// Parses a day of the month: `25`, `25.`, `25th`, `1er`.
pub fn parse_day_number(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
    let is_day = matches!(
        &word[digits.len()..],
        "" | "."
            | "st"
            | "nd"
            | "rd"
            | "th"
            | "er"
            | "re"
            | "o"
            | "º"
            | "ª"
            | "e"
            | ":e"
            | ":a"
            | "-го"
    );
    let day = parse_digits(digits, 1..=2)?;
    (is_day && (1..=31).contains(&day)).then_some(day)
}

fn is_ordinal(word: &str) -> bool {
    ["st", "nd", "rd", "th"]
        .iter()
        .any(|end| word.ends_with(end))
}

/// Returns the first or last day of a month, the next one or that of the year that follows, and the
/// number of words.
pub fn edge_of_month(
    today: Date,
    month: u8,
    year: Option<&str>,
    is_end: bool,
) -> Option<(Date, usize)> {
    let of_year = |year| {
        let first = Date::new(year, month.into(), 1)?;
        Some(match is_end {
            true => plus_months(first, 1).plus_days(-1),
            false => first,
        })
    };
    if let Some(year) = year.and_then(|year| parse_digits(year, 4..=4)) {
        return Some((of_year(year)?, 2));
    }
    let (year, ..) = today.ymd();
    let date = of_year(year).filter(|date| *date >= today);
    Some((date.or_else(|| of_year(year + 1))?, 1))
}

/// Splits an offset from UTC from a time: `z`, `+01:00`, `-0500`.
pub fn split_offset(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(time) = text.strip_suffix('z') {
        return time
            .ends_with(|c: char| c.is_ascii_digit())
            .then_some((time, Some(0)));
    }
    let Some(at) = text.find(['+', '-']) else {
        return Some((text, None));
    };
    let (time, offset) = text.split_at(at);
    let digits = offset[1..].replace(':', "");
    let minutes = match digits.len() {
        2 => 60 * parse_digits::<i64>(&digits, 2..=2)?,
        4 => {
            let both: i64 = parse_digits(&digits, 4..=4)?;
            both / 100 * 60 + both % 100
        }
        _ => return None,
    };
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    Some((time, Some(sign * minutes * 60).filter(|s| s.abs() < 86_400)))
}

/// Adds months to a date; a day past the end of the month becomes its last day.
pub fn plus_months(date: Date, months: i64) -> Date {
    let (year, month, day) = date.ymd();
    let all = i64::from(year) * 12 + i64::from(month) - 1 + months;
    let all = all.clamp(12, 9_999 * 12 + 11);
    let (year, month) = ((all / 12) as i32, (all % 12) as u32 + 1);
    let candidates = (1..=day).rev();
    let mut days = candidates.filter_map(|day| Date::new(year, month, day));
    days.next().unwrap_or(date)
}

/// Returns a date with the name of a month, or `15th`, and the number of its words.
pub fn parse_named_date(words: &WordList, today: Date) -> Option<(Date, usize)> {
    const OF: &[&str] = &["of", "from"];
    let peek = |ahead| words.peek(ahead);
    let first = peek(0)?;
    // 24-dec-2026
    let mut parts = first.splitn(3, '-');
    if let (Some(day), Some(month), year) = (parts.next(), parts.next(), parts.next())
        && let (Some(day), Some(month)) = (parse_day_number(day), parse_month(month))
    {
        return match year {
            Some(year) => Some((date_of_year(year, month, day)?, 1)),
            None => Some((next_date(today, month, day)?, 1)),
        };
    }
    if let Some(found) = parse_nth_weekday(words, today) {
        return Some(found);
    }
    let (month, day, mut count) = match (parse_month(first), parse_day_number(first)) {
        (Some(month), _) => {
            let skipped = usize::from(peek(1) == Some("the"));
            (month, parse_day_number(peek(1 + skipped)?)?, 2 + skipped)
        }
        (None, Some(day)) => {
            let skipped = usize::from(peek(1).is_some_and(|word| OF.contains(&word)));
            match peek(1 + skipped).and_then(parse_month) {
                Some(month) => (month, day, 2 + skipped),
                None if is_ordinal(first) => return Some((next_day_of_month(today, day)?, 1)),
                None => return None,
            }
        }
        _ => return None,
    };
    let skipped = usize::from(peek(count).is_some_and(|word| OF.contains(&word)));
    let year = peek(count + skipped).filter(|word| word.len() == 4);
    if let Some(date) = year.and_then(|year| date_of_year(year, month, day)) {
        count += 1 + skipped;
        return Some((date, count));
    }
    Some((next_date(today, month, day)?, count))
}

/// Parses a date in the past or without a year to `1974-11-27` or `--11-27`: `27.11.1974`, `27 Nov`. Returns
/// `None` for a text that is no date, or has a year of two digits.
///
/// # Errors
/// The date has two meanings.
pub fn parse_any_day(text: &str) -> Result<Option<String>, String> {
    let (english, other) = in_languages(text, |words| match parse_any_words(words, text) {
        Ok(None) => Err(None),
        found => found.map_err(Some),
    });
    match (english, other) {
        (Ok(found), _) | (Err(None), Some(found)) => Ok(found),
        (Err(None), None) => Ok(None),
        (Err(Some(e)), _) => Err(e),
    }
}

fn parse_any_words(words: &WordList, text: &str) -> Result<Option<String>, String> {
    let parse = |today: Date| -> Result<Option<Date>, String> {
        let (Some(word), count) = (words.peek(0), words.left()) else {
            return Ok(None);
        };
        // 15th, without a month
        if count == 1 && parse_day_number(word).is_some() {
            return Ok(None);
        }
        if let Some(date) = parse_iso_date(word).filter(|_| count == 1) {
            return Ok(Some(date));
        }
        if let Some(date) = parse_numeric_date(word, today)? {
            return Ok(Some(date).filter(|_| count == 1));
        }
        let named = parse_named_date(words, today);
        Ok(named
            .filter(|(_, read)| *read == count)
            .map(|(date, _)| date))
    };
    // A year that depends on today is not in the text.
    let [Some(one), Some(other)] = [Date::new(2000, 1, 1), Date::new(2004, 1, 1)] else {
        return Ok(None);
    };
    let (Some(one), Some(other)) = (parse(one)?, parse(other)?) else {
        return Ok(None);
    };
    if one != other {
        let (_, month, day) = one.ymd();
        return Ok(Some(format!("--{month:02}-{day:02}")));
    }
    let year = one.ymd().0.to_string();
    Ok(text.contains(&year).then(|| iso_day(one)))
}

/// Parses `first friday of december`, `last monday in may 2027`.
fn parse_nth_weekday(words: &WordList, today: Date) -> Option<(Date, usize)> {
    const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
    let nth = ORDINALS.iter().position(|word| words.peek(0) == Some(word));
    if nth.is_none() && words.peek(0) != Some("last") {
        return None;
    }
    let weekday = parse_weekday(words.peek(1)?)?;
    words.peek(2).filter(|word| matches!(*word, "of" | "in"))?;
    let month = parse_month(words.peek(3)?)?;
    let in_year = |year: i32| {
        let days = (1..=31).filter_map(|day| Date::new(year, month.into(), day));
        let mut days = days.filter(|day| day.weekday() == weekday);
        match nth {
            Some(nth) => days.nth(nth),
            None => days.next_back(),
        }
    };
    let year = words
        .peek(4)
        .and_then(|word| parse_digits::<i32>(word, 4..=4));
    if let Some(date) = year.and_then(in_year) {
        return Some((date, 5));
    }
    let (year, ..) = today.ymd();
    let mut dates = (year..year + 9).filter_map(in_year);
    Some((dates.find(|date| *date >= today)?, 4))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn months_have_their_last_day() {
        let last = Date::new(2027, 1, 31).unwrap();
        assert_eq!(plus_months(last, 1).to_string(), "20270228");
        assert_eq!(plus_months(last, 13).to_string(), "20280229");
        assert_eq!(plus_months(last, -2).to_string(), "20261130");
        assert_eq!(plus_months(last, i64::from(i32::MAX)).ymd().0, 9_999);
        assert_eq!(plus_months(last, -1_000_000).ymd().0, 1);
    }
}
