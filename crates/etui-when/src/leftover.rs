//! Words of a title that look like a part of its time.

use super::clock::{parse_clock, parse_digits, split_half};
use super::dates::parse_day_number;
use super::duration::parse_duration;
use super::language::{Language, is_day_of_another_language, meaning_in, meanings};
use super::names::{
    fold_word, is_full_name, is_weekday_name, nearest_weekday, parse_day_of_week, parse_month,
    parse_number_word,
};

/// Days by a name, in English.
const DAY_NAMES: &[&str] = &["today", "tonight", "tomorrow", "yesterday"];
/// Names of days in other languages that are as likely other words.
const AMBIGUOUS_DAYS: &[&str] = &[
    "quarta", "quinta", "sexta", "segunda", "terca", "pazar", "sali", "cuma", "hier", "mars",
    "marti",
];
/// Words with which the name of a weekday is the name of a feast: Black Friday, Mardi Gras.
pub const FEASTS: &[&str] = &[
    "black", "good", "easter", "cyber", "ash", "palm", "shrove", "maundy", "whit", "holy",
    "giving", "taco", "casual", "super", "fat", "bloody", "pancake", "gras", "saint", "santo",
    "noir", "negro",
];
/// Words that begin a rule; of others, such as `alle`, that depends on the next word.
const RULE_BEGINS: &[&str] = &["every", "jeden", "jede", "jedes"];
/// Words that are a rule by themselves.
pub const RULE_NAMES: &[&str] = &[
    "daily",
    "weekly",
    "biweekly",
    "fortnightly",
    "monthly",
    "quarterly",
    "yearly",
    "annually",
    "weekdays",
    "weekends",
];
/// Words after which the short name of a weekday is one.
const BEFORE_DAY: &[&str] = &[
    "next", "last", "this", "on", "every", "each", "until", "till", "from", "since", "by", "first",
    "second", "third", "fourth",
];
const SHORT_DAYS: &[&str] = &["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Words after which a month is one.
const BEFORE_MONTH: &[&str] = &[
    "in", "im", "en", "until", "till", "thru", "next", "last", "this", "since", "every",
];
const SHORT_MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
];
/// Months that are also names or other words.
const AMBIGUOUS_MONTHS: &[&str] = &[
    "april", "august", "june", "march", "avril", "marzo", "marco", "mars", "junio", "julio", "mart",
];
/// Abbreviations that are no other words.
const ABBREVIATIONS: &[&str] = &[
    "tue", "tues", "thu", "thur", "thurs", "fri", "weds", "dec", "nov", "oct", "sept", "feb",
];

/// Words before what a rule leaves out, which is not read.
const EXCEPTIONS: &[&str] = &[
    "except",
    "excluding",
    "außer",
    "ausser",
    "sauf",
    "excepto",
    "salvo",
    "exceto",
    "behalve",
    "tranne",
    "utom",
    "oprocz",
    "кроме",
    "haric",
];

/// Returns the position of the first word of a title that looks like a part of a time. Names of rules,
/// such as the first word of "Daily standup", are none if the time has a rule. Words are compared in English and
/// in `language`; days also in all other ones.
pub fn find_leftover(title: &[&str], has_rule: bool, language: Language) -> Option<usize> {
    let folded: Vec<String> = title.iter().map(|word| plain_word(word)).collect();
    let words: Vec<&str> = folded
        .iter()
        .map(|word| match meaning_in(word, language) {
            // Short forms are names too: Jan, Sam.
            Some(english) if !english.contains(' ') && (word.len() > 3 || !word.is_ascii()) => {
                english
            }
            _ => word.as_str(),
        })
        .collect();
    (0..words.len()).find(|position| {
        let at = |position: Option<usize>| {
            let word = position.and_then(|position| words.get(position));
            word.copied().unwrap_or_default()
        };
        let context = WordContext {
            before: at(position.checked_sub(1)),
            two_before: at(position.checked_sub(2)),
            word: at(Some(*position)),
            written: folded.get(*position).map_or("", String::as_str),
            after: at(position.checked_add(1)),
        };
        context.is_leftover(has_rule)
    })
}

/// Returns a word folded, without marks around it.
fn plain_word(word: &str) -> String {
    fold_word(word.trim_matches(['(', ')', ',', ';', ':', '!', '?']))
}

/// Returns true for a day or month in any language.
fn is_day_in_any_language(folded: &str) -> bool {
    let is_long = folded.len() >= 4 || !folded.is_ascii();
    let is_day = |english: &str| {
        is_weekday_name(english.strip_suffix('s').unwrap_or(english))
            || DAY_NAMES.contains(&english)
            || matches!(english, "day after tomorrow" | "day before yesterday")
    };
    let is_one = |word: &str| is_day_of_another_language(word) || meanings(word).any(is_day);
    is_long && !AMBIGUOUS_DAYS.contains(&folded) && (is_one(folded) || is_case_of_weekday(folded))
}

/// Returns true for weekdays in one word: `tue/thu`, `di+do`.
fn is_days(folded: &str) -> bool {
    let is_day = |part: &str| {
        parse_day_of_week(part).is_some()
            || meanings(part).any(|word| parse_day_of_week(word).is_some())
    };
    folded.contains(['/', '+', '&']) && folded.split(['/', '+', '&']).all(is_day)
}

/// Returns true for the name of a weekday with an ending: måndagen, pazartesiye.
fn is_case_of_weekday(folded: &str) -> bool {
    /// Words and names that are none.
    const OTHER_WORDS: &[&str] = &["montage", "montagen", "montague"];
    let ends = folded.char_indices().rev().map(|(end, _)| end).take(3);
    let mut stems = ends
        .filter_map(|end| folded.get(..end))
        .filter(|stem| stem.chars().count() >= 5);
    !OTHER_WORDS.contains(&folded) && stems.any(|stem| meanings(stem).any(is_weekday_name))
}

/// Returns true for a month in any language.
fn is_month_in_any_language(folded: &str) -> bool {
    (folded.len() >= 4 || !folded.is_ascii())
        && meanings(folded).any(|english| parse_month(english).is_some() && is_full_name(english))
}

/// A word of a title and its neighbours, folded, and in English if they are words of the language.
struct WordContext<'t> {
    two_before: &'t str,
    before: &'t str,
    word: &'t str,
    written: &'t str,
    after: &'t str,
}

impl WordContext<'_> {
    fn is_leftover(&self, has_rule: bool) -> bool {
        let word = self.word;
        if word.contains(|c: char| c.is_ascii_digit()) {
            let is_duration = || self.before == "for" && parse_duration(word).is_ok();
            return is_date_like(word) || is_clock_like(word) || is_duration();
        }
        if has_rule && EXCEPTIONS.contains(&self.written) {
            return true;
        }
        if RULE_NAMES.contains(&word) {
            return !has_rule;
        }
        if is_named(word) && (FEASTS.contains(&self.before) || FEASTS.contains(&self.after)) {
            return false;
        }
        is_day_in_any_language(self.written)
            || is_days(self.written)
            || is_day_of_another_language(&format!("{}_{}", self.before, self.written))
            || DAY_NAMES.contains(&self.written)
            || ABBREVIATIONS.contains(&word)
            || nearest_weekday(self.written).is_some()
            || self.begins_rule()
            || self.is_weekday_or_month()
            || self.is_unit_of_distance()
    }

    fn begins_rule(&self) -> bool {
        let after = self.after;
        let is_counted = is_unit(after)
            || parse_number_word(after).is_some()
            || is_named(after)
            || SHORT_DAYS.contains(&after)
            || matches!(after, "other" | "second" | "third" | "les" | "los" | "las");
        RULE_BEGINS.contains(&self.written) || (matches!(self.word, "every" | "each") && is_counted)
    }

    fn is_weekday_or_month(&self) -> bool {
        let (word, before) = (self.word, self.before);
        let is_clear = is_named(word) && !AMBIGUOUS_MONTHS.contains(&self.written);
        let is_beside = |other: &str| SHORT_DAYS.contains(&other) || is_named(other);
        let is_day = SHORT_DAYS.contains(&word)
            && (BEFORE_DAY.contains(&before)
                || is_beside(before)
                || is_beside(self.after)
                || matches!(self.after, "and" | "&" | "+")
                || matches!(self.after, "morning" | "afternoon" | "evening" | "night"));
        let is_month = SHORT_MONTHS.contains(&word) || AMBIGUOUS_MONTHS.contains(&word);
        let has_number = |text: &str| parse_day_number(text).is_some();
        let is_dated =
            BEFORE_MONTH.contains(&before) || has_number(before) || has_number(self.after);
        let is_near_number = has_number(before) || has_number(self.after);
        is_clear
            || is_day
            || (is_month && is_dated)
            || (is_near_number && is_month_in_any_language(self.written))
    }

    /// Returns true for the last word of `next week`, `in 3 days` and `for 15 minutes`.
    fn is_unit_of_distance(&self) -> bool {
        let (before, two_before) = (self.before, self.two_before);
        let is_counted =
            || matches!(two_before, "in" | "for" | "every") && parse_number_word(before).is_some();
        match is_unit(self.word) {
            true => matches!(before, "next" | "this" | "last" | "every") || is_counted(),
            false => matches!(self.word, "min" | "mins" | "minute" | "minutes") && is_counted(),
        }
    }
}

fn is_unit(word: &str) -> bool {
    let singular = word.strip_suffix('s').unwrap_or(word);
    matches!(
        singular,
        "day" | "week" | "weekend" | "month" | "year" | "hour"
    )
}

/// Returns true for the whole name of a weekday or month, also in the plural.
fn is_named(word: &str) -> bool {
    is_full_name(word) || word.strip_suffix('s').is_some_and(is_full_name)
}

/// Returns true for `12/11/2026`, `12/11`, `24.12.`, `2026-12-24`, but not for `24/7`.
fn is_date_like(word: &str) -> bool {
    let date = word.split_once('t').map_or(word, |(date, _)| date);
    ['/', '.', '-'].iter().any(|separator| {
        let parts: Vec<&str> = date.split(*separator).collect();
        let number = |text: &str| parse_digits::<u32>(text, 1..=2);
        let are_day_and_month = |first: &str, second: &str| {
            let (Some(first), Some(second)) = (number(first), number(second)) else {
                return false;
            };
            let [less, more] = [first.min(second), first.max(second)];
            (1..=12).contains(&less) && more <= 31
        };
        let is_year = |text: &str| parse_digits::<u32>(text, 4..=4).is_some_and(|n| n >= 1900);
        match parts[..] {
            [first, second] if *separator == '/' => {
                word != "24/7" && are_day_and_month(first, second)
            }
            // Not a version: 10.12
            [first, second, ""] if *separator == '.' => are_day_and_month(first, second),
            [first, second, third] if is_year(third) => are_day_and_month(first, second),
            [first, second, third] if is_year(first) => are_day_and_month(second, third),
            [first, second, third] if *separator != '-' => {
                number(third).is_some() && third.len() == 2 && are_day_and_month(first, second)
            }
            _ => false,
        }
    })
}

/// Returns true for `9:00`, `9am`, `9-10pm`.
fn is_clock_like(word: &str) -> bool {
    let last = word.rsplit(['-', '\u{2013}']).next().unwrap_or(word);
    let is_minute = |text: &str| {
        text.split(':')
            .nth(1)
            .is_some_and(|minute| minute.len() == 2)
    };
    parse_clock(last).is_some() && (is_minute(last) || split_half(last).1.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_time_in_a_title() {
        for (title, expected) in [
            ("Lunch friday", Some("friday")),
            ("Mondays", Some("Mondays")),
            ("Lunch on Sat", Some("Sat")),
            ("Lunch 12/11/2026", Some("12/11/2026")),
            ("Lunch 12/11", Some("12/11")),
            ("Lunch 24.12.", Some("24.12.")),
            ("Lunch 24.12.26", Some("24.12.26")),
            ("Lunch 2026-12-24", Some("2026-12-24")),
            ("Dentist firday", Some("firday")),
            ("Dentist Wendesday", Some("Wendesday")),
            ("Dentist tommorow", Some("tommorow")),
            ("Gym every now", Some("every")),
            ("Chor jeden", Some("jeden")),
            ("Weekly report", Some("Weekly")),
            ("Trip next week", Some("week")),
            ("Fair in March", Some("March")),
            ("Party 25 Dec", Some("Dec")),
            ("Flight 9:00", Some("9:00")),
            ("Flight 4-5pm", Some("4-5pm")),
            ("Gym mon wed", Some("mon")),
            ("Sat night party", Some("Sat")),
            ("Read chapter 9", None),
            ("Call Frida", None),
            ("Call April", None),
            ("March of Sundays", Some("Sundays")),
            ("Trip to the Sun", None),
            ("Sat with Jan", None),
            ("Support 24/7", None),
            ("Release 3.12", None),
            ("Alle Mitarbeiter", None),
            ("Alle 2 Wochen", Some("Alle")),
            ("Geschenk für die Kinder", None),
            ("Party for Jan", None),
            ("Wait for 2 weeks", Some("weeks")),
            ("Wait for 5 min", Some("min")),
            ("Stand-up for 15m", Some("15m")),
            ("Cake for 12", None),
            ("Run for 5k", None),
            ("Montage der Regale", None),
            ("Windows 95", None),
            ("Team day", None),
            ("Dinner in the sun", None),
            ("Match 3:0", None),
        ] {
            let words: Vec<&str> = title.split(' ').collect();
            let german = Language::all()
                .nth(1)
                .filter(|_| title.contains("lle") || title.contains("jeden"));
            let language = german.unwrap_or(Language::ENGLISH);
            let found = find_leftover(&words, false, language).map(|at| words[at]);
            assert_eq!(found, expected, "{title}");
        }
        assert_eq!(
            find_leftover(&["Daily", "standup"], true, Language::ENGLISH),
            None
        );
    }
}
