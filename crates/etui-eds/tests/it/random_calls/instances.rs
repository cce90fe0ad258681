//! The instances of a series as rules check them, by counting days: series of [`super::calendar_calls`]
//! begin in December 2026, and are asked for until the end of January.

/// An instance: its start as in RECURRENCE-ID, and its times in seconds since 1 December 2026, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    pub value: String,
    pub start: i64,
    pub end: i64,
}

const DAY: i64 = 86_400;
const DAYS: i64 = 62;

/// Returns the value of a property in a component's comparable lines, with its parameters.
pub fn property<'a>(lines: &[&'a str], name: &str) -> Option<(&'a str, &'a str)> {
    lines.iter().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let (params, value) = rest.split_once(':')?;
        (params.is_empty() || params.starts_with(';')).then_some((params, value))
    })
}

/// Returns the seconds of a time as written, since 1 December 2026.
pub fn seconds(value: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| value.get(range)?.parse::<i64>().ok();
    let days = match value.get(..6)? {
        "202611" => -30,
        "202612" => 0,
        "202701" => 31,
        _ => return None,
    } + number(6..8)?
        - 1;
    match value.len() {
        8 => Some(days * DAY),
        _ => Some(days * DAY + number(9..11)? * 3600 + number(11..13)? * 60 + number(13..15)?),
    }
}

/// Writes a time in the form of another one.
pub fn written(seconds: i64, like: &str) -> String {
    let (days, time) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (month, day) = match days {
        ..0 => (202_611, days + 31),
        0..31 => (202_612, days + 1),
        _ => (202_701, days - 30),
    };
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    match like.len() {
        8 => format!("{month}{day:02}"),
        15 => format!("{month}{day:02}T{hour:02}{minute:02}{second:02}"),
        _ => format!("{month}{day:02}T{hour:02}{minute:02}{second:02}Z"),
    }
}

/// Returns the seconds by which a time with these parameters is ahead of UTC.
pub fn offset(params: &str, value: &str, floating: i64) -> i64 {
    match params {
        _ if value.ends_with('Z') || value.len() == 8 => 0,
        ";TZID=Europe/Berlin" => 3600,
        ";TZID=Test/Zone" => 3 * 3600,
        _ => floating,
    }
}

/// Returns the instances of a component; `floating` is the offset of times without a zone.
pub fn instances(lines: &[&str], floating: i64) -> Vec<Instance> {
    let Some((params, first)) = property(lines, "DTSTART") else {
        return Vec::new();
    };
    let Some(start) = seconds(first) else {
        return Vec::new();
    };
    let ahead = offset(params, first, floating);
    let end = property(lines, "DTEND").or(property(lines, "DUE"));
    let end = end.and_then(|(_, end)| seconds(end)).unwrap_or(start);
    let rule = property(lines, "RRULE").map_or("", |(_, rule)| rule);
    let part = |name: &str| rule.split(" ¦ ").find_map(|part| part.strip_prefix(name));
    let number = |name| part(name).and_then(|number| number.parse::<i64>().ok());
    let step = match part("FREQ=") {
        Some("WEEKLY") => 7,
        Some(_) => number("INTERVAL=").unwrap_or(1),
        None => DAYS,
    };
    let until = part("UNTIL=").and_then(|until| {
        let local = seconds(until)?;
        Some(match until.len() {
            16 => local + ahead,
            _ => local,
        })
    });
    let is_excluded = |value: &str| {
        lines.iter().any(|line| {
            let excluded = line
                .strip_prefix("EXDATE")
                .and_then(|line| line.rsplit_once(':'));
            excluded.is_some_and(|(_, excluded)| excluded == value)
        })
    };
    let all = (0..number("COUNT=").unwrap_or(DAYS))
        .map(|instance| start + instance * step * DAY)
        .take_while(|at| *at < DAYS * DAY && until.is_none_or(|until| *at <= until));
    all.map(|at| Instance {
        value: written(at, first),
        start: at - ahead,
        end: at - ahead + (end - start),
    })
    .filter(|instance| !is_excluded(&instance.value))
    .collect()
}
