//! Formats for days and times.

use std::time::SystemTime;

use etui_ical::time::{CalendarTime, Date, DateTime, TimeZone, Timestamp};

use super::names::{month_name, weekday_name};

/// Formats `Mon 23 Nov 2026`.
pub fn format_day(date: Date) -> String {
    let (year, month, day) = date.ymd();
    let weekday = &weekday_name(date.weekday())[..3];
    let month = &month_name(month)[..3];
    format!("{weekday} {day} {month} {year}")
}

/// Formats `Monday, 23 November 2026`.
pub fn format_long_day(date: Date) -> String {
    let (year, month, day) = date.ymd();
    let weekday = weekday_name(date.weekday());
    format!("{weekday}, {day} {} {year}", month_name(month))
}

/// Formats `09:30`.
pub fn format_clock(time: DateTime) -> String {
    match time.hms() {
        (hour, minute, 0) => format!("{hour:02}:{minute:02}"),
        (hour, minute, second) => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

/// Formats a range in its own zones: `Mon 23 Nov 2026, 09:00-09:45`. The end of an all-day range is the
/// day after the last.
pub fn format_range(start: &CalendarTime, end: &CalendarTime) -> String {
    let (from, to) = (start.local(), end.local());
    if start.is_date() {
        let first = format_day(from.date());
        let last = to.date().plus_days(-1);
        return match end.is_date() && last > from.date() {
            true => format!("{first} to {}, all day", format_day(last)),
            false => format!("{first}, all day"),
        };
    }
    let first = format!("{}, {}", format_day(from.date()), format_clock(from));
    if from == to {
        return first;
    }
    match from.date() == to.date() {
        true => format!("{first}-{}", format_clock(to)),
        false => format!("{first} to {}, {}", format_day(to.date()), format_clock(to)),
    }
}

/// Formats `2026-11-23 09:00` in the display zone, for a table. A date has no zone.
pub fn format_short(time: &CalendarTime, zone: &TimeZone) -> String {
    match time {
        CalendarTime::Date(date) => iso_day(*date),
        other => {
            let local = zone.to_local(other.at(zone));
            format!("{} {}", iso_day(local.date()), format_clock(local))
        }
    }
}

/// Formats a time for a table, rounded down to the minute: `2026-11-23 09:00`.
pub fn format_minute(time: SystemTime, zone: &TimeZone) -> String {
    let seconds = Timestamp::from(time).seconds();
    let minute = Timestamp::from_seconds(seconds - seconds.rem_euclid(60));
    format_short(&CalendarTime::Utc(minute), zone)
}

/// Formats a time in ISO 8601 in the display zone. A date has no zone.
pub fn iso_time(time: &CalendarTime, zone: &TimeZone) -> String {
    match time {
        CalendarTime::Date(date) => iso_day(*date),
        other => iso_instant(other.at(zone), zone),
    }
}

/// Formats `2026-11-23`.
pub fn iso_day(date: Date) -> String {
    let (year, month, day) = date.ymd();
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats `2026-11-23T09:00:00+01:00`.
pub fn iso_instant(at: Timestamp, zone: &TimeZone) -> String {
    let local = zone.to_local(at);
    let (hour, minute, second) = local.hms();
    let date = iso_day(local.date());
    let minutes = zone.offset(at) / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, minutes) = (minutes.abs() / 60, minutes.abs() % 60);
    format!("{date}T{hour:02}:{minute:02}:{second:02}{sign}{hours:02}:{minutes:02}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn days_and_times() {
        let monday = Date::new(2026, 11, 23).unwrap();
        assert_eq!(format_day(monday), "Mon 23 Nov 2026");
        assert_eq!(format_long_day(monday), "Monday, 23 November 2026");
        let berlin = TimeZone::named("Europe/Berlin").unwrap();
        let nine = monday.at(9, 0, 0).unwrap();
        assert_eq!(format_clock(nine), "09:00");
        let time = CalendarTime::Zoned(nine, berlin.clone());
        assert_eq!(iso_time(&time, &berlin), "2026-11-23T09:00:00+01:00");
        let new_york = TimeZone::named("America/New_York").unwrap();
        assert_eq!(iso_time(&time, &new_york), "2026-11-23T03:00:00-05:00");
        assert_eq!(
            iso_time(&CalendarTime::Date(monday), &new_york),
            "2026-11-23"
        );
    }

    #[test]
    fn ranges() {
        let monday = Date::new(2026, 11, 23).unwrap();
        let at =
            |day: i64, hour| CalendarTime::Floating(monday.plus_days(day).at(hour, 0, 0).unwrap());
        let date = |day| CalendarTime::Date(monday.plus_days(day));
        assert_eq!(
            format_range(&at(0, 9), &at(0, 10)),
            "Mon 23 Nov 2026, 09:00-10:00"
        );
        assert_eq!(format_range(&at(0, 9), &at(0, 9)), "Mon 23 Nov 2026, 09:00");
        assert_eq!(
            format_range(&at(0, 22), &at(1, 6)),
            "Mon 23 Nov 2026, 22:00 to Tue 24 Nov 2026, 06:00"
        );
        assert_eq!(format_range(&date(0), &date(1)), "Mon 23 Nov 2026, all day");
        assert_eq!(format_range(&date(0), &date(0)), "Mon 23 Nov 2026, all day");
        assert_eq!(
            format_range(&date(0), &date(3)),
            "Mon 23 Nov 2026 to Wed 25 Nov 2026, all day"
        );
    }
}
