//! [`reference_time`]: the time from which the words of a day count.

use etui_ical::time::DateTime;

use super::parse::parse_times_on;

/// Returns the time from which a text counts that names a time beside another: the other one, `at`, for
/// weekdays, days of a month and steps (`friday`, `15th`, `+1h`), but `now` for `today`, `tomorrow` and
/// `in 2 hours`.
pub fn reference_time(text: &str, at: DateTime, now: DateTime) -> DateTime {
    // Words that name today, in any language, move with it; weekdays and dates move by a week or more.
    const SHIFT: i64 = 3 * 86_400;
    let is_step = |word: &str| {
        let rest = word.strip_prefix(['+', '-']);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let parse = |from: DateTime| {
        let words = parse_times_on(text, at.date(), from).ok()?;
        Some(words.start.local().seconds())
    };
    let shifted = parse(at.plus_seconds(SHIFT));
    let moves = parse(at).is_some_and(|time| shifted == Some(time + SHIFT));
    match moves && !text.split_whitespace().any(is_step) {
        true => now,
        false => at,
    }
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
}
