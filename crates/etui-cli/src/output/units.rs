//! Formats for counts, sizes and durations.

use std::time::Duration;

/// Formats a number with separators: `12,800`.
pub fn format_count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Formats a count with its noun: `1 contact`, `12,800 contacts`, `3 entries`.
pub fn pluralize(n: u64, thing: &str) -> String {
    match (n, thing.strip_suffix("try")) {
        (1, _) => format!("1 {thing}"),
        (n, Some(stem)) => format!("{} {stem}tries", format_count(n)),
        (n, None) => format!("{} {thing}s", format_count(n)),
    }
}

/// Formats a number of bytes: `512 bytes`, `2.1 kB`, `13 MB`.
pub fn format_size(bytes: u64) -> String {
    if bytes < 1_000 {
        return pluralize(bytes, "byte");
    }
    let mut value = bytes as f64 / 1e3;
    let mut units = ["kB", "MB", "GB", "TB"].iter();
    let mut unit = units.next();
    while value >= 999.5 {
        let Some(next) = units.next() else { break };
        value /= 1e3;
        unit = Some(next);
    }
    let unit = unit.copied().unwrap_or("TB");
    if value < 9.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Formats a duration: `7.3 µs`, `120 µs`, `4.2 ms`, `1.3 s`.
pub fn format_duration(time: Duration) -> String {
    let us = time.as_nanos() as f64 / 1e3;
    let (value, unit) = if us < 999.5 {
        (us, "µs")
    } else if us < 999_500.0 {
        (us / 1e3, "ms")
    } else {
        (us / 1e6, "s")
    };
    if value < 9.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        assert_eq!(format_count(0), "0");
        assert_eq!(format_count(12_800), "12,800");
        assert_eq!(format_count(1_234_567), "1,234,567");
        assert_eq!(pluralize(1, "contact"), "1 contact");
        assert_eq!(pluralize(0, "contact"), "0 contacts");
        assert_eq!(pluralize(12_800, "entry"), "12,800 entries");
        assert_eq!(format_size(1), "1 byte");
        assert_eq!(format_size(2_140), "2.1 kB");
        assert_eq!(format_size(999_900), "1.0 MB");
        assert_eq!(format_size(13_400_000), "13 MB");
        assert_eq!(format_duration(Duration::from_nanos(7_300)), "7.3 µs");
        assert_eq!(format_duration(Duration::from_micros(999_600)), "1.0 s");
        assert_eq!(format_duration(Duration::from_micros(4_230)), "4.2 ms");
    }
}
