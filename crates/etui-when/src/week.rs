//! The first day of the week.

use etui_ical::time::{Date, Weekday};

/// Regions whose weeks begin on Sunday (CLDR 46, `weekData/firstDay`).
const SUNDAY: &str = "AG AS BD BR BS BT BW BZ CA CO DM DO ET GT GU HK HN ID IL IN IS JM JP KE KH KR LA \
    MH MM MO MT MX MZ NI NP PA PE PH PK PR PT PY SA SG SV TH TT TW UM US VE VI WS YE ZA ZW";
/// Regions whose weeks begin on Saturday.
const SATURDAY: &str = "AF BH DJ DZ EG IQ IR JO KW LY OM QA SD SY";
/// Regions whose weeks begin on Friday.
const FRIDAY: &str = "MV";

/// Returns the first day of the week: that of the locale's keyword `fw` (`en-u-fw-sun`), or of its region,
/// or else of the given region, or else Monday (ISO 8601).
pub fn first_weekday(locale: &str, region: Option<&str>) -> Weekday {
    let lower = locale.to_ascii_lowercase().replace('_', "-");
    let mut subtags = lower.split('-').skip(1);
    let mut own_region = None;
    // Extensions begin with a subtag of one letter.
    let mut in_extension = false;
    while let Some(subtag) = subtags.next() {
        match subtag {
            "fw" => {
                let day = subtags
                    .next()
                    .and_then(|name| Weekday::from_code(name.get(..2)?));
                if let Some(day) = day {
                    return day;
                }
            }
            _ if subtag.len() == 1 => in_extension = true,
            _ if subtag.len() == 2 && !in_extension => own_region = Some(subtag),
            _ => {}
        }
    }
    let region = own_region
        .or(region)
        .unwrap_or_default()
        .to_ascii_uppercase();
    let is_in = |list: &str| list.split(' ').any(|code| code == region);
    if is_in(SUNDAY) {
        Weekday::Sunday
    } else if is_in(SATURDAY) {
        Weekday::Saturday
    } else if is_in(FRIDAY) {
        Weekday::Friday
    } else {
        Weekday::Monday
    }
}

/// Returns the first day of the week of a day.
pub fn start_of_week(day: Date, first: Weekday) -> Date {
    let since = (7 + day.weekday().index() - first.index()) % 7;
    day.plus_days(-i64::from(since))
}

/// Returns the number of a week in ISO 8601, in which the week with the year's first Thursday is the first.
/// `day` is one of its days; weeks that do not begin on Monday have the number of their Thursday.
pub fn week_number(day: Date, first: Weekday) -> u32 {
    let start = start_of_week(day, first);
    let days = (0..7).map(|n| start.plus_days(n));
    let mut thursdays = days.filter(|day| day.weekday() == Weekday::Thursday);
    let thursday = thursdays.next().unwrap_or(day);
    let january = Date::new(thursday.ymd().0, 1, 1).unwrap_or(thursday);
    u32::try_from((thursday.days() - january.days()) / 7 + 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn weeks_begin_by_locale_and_region() {
        for (locale, region, expected) in [
            ("de", None, Weekday::Monday),
            ("und", Some("US"), Weekday::Sunday),
            ("en-US", None, Weekday::Sunday),
            ("en-GB", Some("US"), Weekday::Monday),
            ("zh-Hant-TW", None, Weekday::Sunday),
            ("ar-EG", None, Weekday::Saturday),
            ("dv-MV", None, Weekday::Friday),
            ("en-GB-u-fw-sun", None, Weekday::Sunday),
            ("de-u-co-phonebk", Some("DE"), Weekday::Monday),
            ("", None, Weekday::Monday),
        ] {
            assert_eq!(
                first_weekday(locale, region),
                expected,
                "{locale} {region:?}"
            );
        }
    }

    #[test]
    fn weeks_and_their_numbers() {
        let day = |y, m, d| Date::new(y, m, d).unwrap();
        assert_eq!(
            start_of_week(day(2026, 11, 25), Weekday::Monday),
            day(2026, 11, 23)
        );
        assert_eq!(
            start_of_week(day(2026, 11, 25), Weekday::Sunday),
            day(2026, 11, 22)
        );
        assert_eq!(
            start_of_week(day(2026, 11, 22), Weekday::Sunday),
            day(2026, 11, 22)
        );
        assert_eq!(
            start_of_week(day(2026, 11, 22), Weekday::Saturday),
            day(2026, 11, 21)
        );
        for (date, number) in [
            (day(2026, 11, 25), 48),
            (day(2027, 1, 3), 53),
            (day(2027, 1, 4), 1),
            (day(2024, 12, 30), 1),
        ] {
            assert_eq!(week_number(date, Weekday::Monday), number, "{date}");
        }
    }
}
