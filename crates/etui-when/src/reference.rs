//! [`reference_time`] and [`reference_of_entry`]: the time from which the words of a day count.

use etui_ical::time::DateTime;

use super::parse::parse_times_on;

/// Returns the time from which a text counts that names a time beside another: the other one, `at`, for
/// weekdays, days of a month and steps (`friday`, `15th`, `+1h`), but `now` for `today`, `tomorrow` and
/// `in 2 hours`.
pub fn reference_time(text: &str, at: DateTime, now: DateTime) -> DateTime {
    // Words that name today, in any language, move with it; weekdays and dates move by a week or more.
    const SHIFT: i64 = 3 * 86_400;
    let parse = |from: DateTime| {
        let words = parse_times_on(text, at.date(), from).ok()?;
        Some(words.start.local().seconds())
    };
    let shifted = parse(at.plus_seconds(SHIFT));
    let moves = parse(at).is_some_and(|time| shifted == Some(time + SHIFT));
    match moves && !has_step(text) {
        true => now,
        false => at,
    }
}

/// Returns the time from which the words of a new time of an entry at `at` count: as [`reference_time`], but
/// weekdays and days of a month from `now` on if the entry has passed.
pub fn reference_of_entry(text: &str, at: DateTime, now: DateTime) -> DateTime {
    match at < now && !has_step(text) {
        true => now,
        false => reference_time(text, at, now),
    }
}

/// Returns true for a text with a step: `+1h`, `-2d`.
fn has_step(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let rest = word.strip_prefix(['+', '-']);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn words_that_name_today_count_from_now() {
        let at = DateTime::new(2027, 1, 14, 9, 0, 0).unwrap();
        let now = DateTime::new(2026, 11, 27, 12, 24, 0).unwrap();
        for text in [
            "today 15:00",
            "tomorrow",
            "morgen 9:00",
            "mañana",
            "in 2 hours",
            "in 3 days",
        ] {
            assert_eq!(reference_time(text, at, now), now, "{text}");
        }
        for text in [
            "friday 10:00",
            "next monday",
            "+1h",
            "+1d",
            "-2d",
            "15th",
            "15:00",
            "2027-01-20",
            "24 dec",
            "Freitag",
            "not a day",
            "",
        ] {
            assert_eq!(reference_time(text, at, now), at, "{text}");
        }
    }

    #[test]
    fn words_of_a_passed_entry_count_from_now() {
        let [early, now, late] = [(2026, 3, 2), (2026, 11, 27), (2027, 1, 14)]
            .map(|(year, month, day)| DateTime::new(year, month, day, 9, 0, 0).unwrap());
        for (text, at, expected) in [
            ("friday", early, now),
            ("15th", early, now),
            ("+1h", early, early),
            ("friday", late, late),
            ("+1d", late, late),
            ("tomorrow", late, now),
        ] {
            assert_eq!(reference_of_entry(text, at, now), expected, "{text}");
        }
    }
}
