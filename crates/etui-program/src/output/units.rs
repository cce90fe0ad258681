//! Formats for counts, sizes and durations.

use std::time::Duration;

use etui::calendar::CutSeries;

use super::one_line;

/// Formats a number with separators: `12,800`.
pub fn format_count(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
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
    let mut units = ["kB", "MB", "GB"].into_iter();
    while value >= 999.5 && units.len() > 0 {
        value /= 1e3;
        units.next();
    }
    format_rounded(value, units.next().unwrap_or("TB"))
}

/// Formats a duration: `7.3 µs`, `120 µs`, `4.2 ms`, `1.3 s`.
pub fn format_duration(time: Duration) -> String {
    match time.as_nanos() as f64 / 1e3 {
        us if us < 999.5 => format_rounded(us, "µs"),
        us if us < 999_500.0 => format_rounded(us / 1e3, "ms"),
        us => format_rounded(us / 1e6, "s"),
    }
}

/// Formats two digits, or all before the point.
fn format_rounded(value: f64, unit: &str) -> String {
    match value < 9.95 {
        true => format!("{value:.1} {unit}"),
        false => format!("{value:.0} {unit}"),
    }
}

/// The title of an entry that has none.
pub const NO_TITLE: &str = "(no title)";

/// Replaces an empty title.
pub fn title_or_placeholder(title: &str) -> &str {
    match title {
        "" => NO_TITLE,
        title => title,
    }
}

/// Formats the names of entries that were cut: `"Tick" (#17), "Tock" (#18) and 3 more`; `None` if there
/// are none.
pub fn name_cut(cut: &[CutSeries]) -> Option<String> {
    const MAX_NAMED: usize = 3;
    let names = cut.iter().take(MAX_NAMED).map(|series| {
        let title = title_or_placeholder(&series.title);
        format!("\"{}\" (#{})", one_line(title), series.record)
    });
    let names: Vec<_> = names.collect();
    let (last, first) = names.split_last()?;
    Some(match (cut.len() - names.len(), first) {
        (0, []) => last.clone(),
        (0, first) => format!("{} and {last}", first.join(", ")),
        (more, _) => format!(
            "{} and {} more",
            names.join(", "),
            format_count(more as u64)
        ),
    })
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
