//! How figures are written, in every form of the report: [`Scale`] gives a column one unit,
//! [`format_value`] formats a single figure, [`format_ratio`] a ratio, [`format_tick`] an axis label.

use crate::Unit;

/// From here on figures are written with an exponent.
const HUGE: f64 = 1e15;

/// The names and sizes of a unit's steps, the smallest first.
fn unit_steps(unit: Unit) -> &'static [(&'static str, f64)] {
    match unit {
        Unit::Nanoseconds => &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)],
        Unit::Bytes => &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)],
        Unit::Count => &[("", 1.0)],
        Unit::PerSecond => &[("/s", 1.0)],
        Unit::Ratio => &[("x", 1.0)],
        Unit::Fraction => &[("%", 0.01)],
    }
}

/// One unit for a column of figures, so that they can be compared at a glance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    unit: Unit,
    /// The step of all figures; none if they are too far apart for one.
    step: Option<(&'static str, f64)>,
}

impl Scale {
    /// The scale for these figures: that of their median, or a smaller one in which the smallest
    /// can be read too. None if they are too far apart.
    pub fn of(unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let mut sizes: Vec<f64> = values
            .into_iter()
            .filter(|value| value.is_finite() && *value != 0.0)
            .map(f64::abs)
            .collect();
        sizes.sort_by(f64::total_cmp);
        let step = match (sizes.first(), sizes.get(sizes.len() / 2), sizes.last()) {
            (Some(least), Some(middle), Some(most)) => {
                let of_middle = step_of(*middle, unit);
                let fits = |least_shown: f64| {
                    let mut smaller = unit_steps(unit).iter().rev().copied();
                    smaller.find(|(_, size)| {
                        *size <= of_middle.1 && least / size >= least_shown && most / size < 1e5
                    })
                };
                if unit_steps(unit).len() == 1 {
                    Some(of_middle)
                } else {
                    fits(0.1).or_else(|| fits(0.01))
                }
            }
            _ => unit_steps(unit).first().copied(),
        };
        Self { unit, step }
    }

    /// The number and the unit's name, apart. The name is empty for plain counts.
    pub fn split(&self, value: f64) -> (String, &'static str) {
        if !value.is_finite() {
            return ("-".to_owned(), "");
        }
        let (name, size) = self.step.unwrap_or_else(|| step_of(value, self.unit));
        let value = value / size;
        let number = match self.unit {
            Unit::Ratio => format_factor(value),
            Unit::Count => format_count(value),
            // There are no parts of a byte.
            Unit::Bytes if size == 1.0 => format_count(value),
            _ => format_digits(value, 3),
        };
        (number, name)
    }

    /// The figure with its unit.
    pub fn write(&self, value: f64) -> String {
        let (number, name) = self.split(value);
        join_unit(&number, name)
    }

    /// The lowest and the highest, in the same unit, which is not said again unless it has to.
    pub fn range(&self, low: f64, high: f64) -> String {
        let ((low, of_low), (high, of_high)) = (self.split(low), self.split(high));
        if of_low == of_high || of_low.is_empty() {
            format!("{low}\u{2013}{high}")
        } else {
            format!(
                "{} \u{2013} {}",
                join_unit(&low, of_low),
                join_unit(&high, of_high)
            )
        }
    }
}

/// Number and unit: with a space, but `1.25x` and `12/s` without.
pub(super) fn join_unit(number: &str, name: &str) -> String {
    match name {
        "" => number.to_owned(),
        "x" | "/s" => format!("{number}{name}"),
        _ => format!("{number} {name}"),
    }
}

/// The largest step of which the figure, as it will be written, is at least one.
fn step_of(value: f64, unit: Unit) -> (&'static str, f64) {
    let value = value.abs() * 1.000_500_001;
    let steps = unit_steps(unit);
    steps
        .iter()
        .rev()
        .find(|(_, size)| value >= *size)
        .or_else(|| steps.first())
        .copied()
        .unwrap_or(("", 1.0))
}

/// Formats a single figure.
pub fn format_value(value: f64, unit: Unit) -> String {
    Scale::of(unit, [value]).write(value)
}

/// A factor in words: `6.1 times`, `282 times`.
pub fn format_times(factor: f64) -> String {
    let number = if factor < 9.95 {
        format!("{factor:.1}")
    } else {
        format_digits(factor, 3).trim_end_matches(".0").to_owned()
    };
    format!("{number} times")
}

/// A part of a whole in whole per cent: `20 %`.
pub fn format_percent(part: f64) -> String {
    match part * 100.0 {
        percent if percent > 99.0 && percent < 100.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A ratio, e.g. `1.25x`.
pub fn format_ratio(value: f64) -> String {
    format_value(value, Unit::Ratio)
}

/// A size, e.g. of a group; always whole, e.g. `12,800`.
pub fn format_whole(value: u64) -> String {
    separate_thousands(&value.to_string())
}

/// A label of an axis: as short as can be, e.g. `10 us`, `100 k`.
pub fn format_tick(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let plain = [("", 1.0), (" k", 1e3), (" M", 1e6), (" G", 1e9)];
    let (number, name) = match unit {
        Unit::Count | Unit::PerSecond => {
            let step = plain
                .iter()
                .rev()
                .find(|(_, size)| value.abs() * 1.000_001 >= *size)
                .copied()
                .unwrap_or(("", 1.0));
            let end = if unit == Unit::PerSecond { "/s" } else { "" };
            return format!("{}{}{end}", format_short(value / step.1), step.0);
        }
        _ => {
            let (name, size) = step_of(value, unit);
            (format_short(value / size), name)
        }
    };
    join_unit(&number, name)
}

/// A number without needless zeros.
fn format_short(value: f64) -> String {
    let text = format_digits(value, 3);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Three digits that mean something, or all of those before the point.
fn format_digits(value: f64, wanted: i32) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-6..HUGE).contains(&size) {
        return format!("{value:.2e}");
    }
    let before = size.log10().floor() as i32 + 1;
    let mut places = (wanted - before).max(0);
    // 9.996 is written 10.0, not 10.00.
    let power = 10f64.powi(places);
    if places > 0 && (size * power).round() >= 10f64.powi(wanted) {
        places -= 1;
    }
    let places = usize::try_from(places).unwrap_or(0);
    separate_thousands(&format!("{value:.places$}"))
}

/// A count: whole if it is whole, else with three digits.
fn format_count(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < HUGE {
        separate_thousands(&format!("{value:.0}"))
    } else {
        format_short(value)
    }
}

/// A ratio's number: two places, fewer when it is large, two digits when it is small.
fn format_factor(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if size < 0.1 {
        format_digits(value, 2)
    } else if size < 9.995 {
        format!("{value:.2}")
    } else {
        format_digits(value, 3)
    }
}

/// Thousands set apart by commas.
fn separate_thousands(number: &str) -> String {
    let (sign, rest) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (whole, part) = match rest.split_once('.') {
        Some((whole, part)) => (whole, format!(".{part}")),
        None => (rest, String::new()),
    };
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + &part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let time = |value| format_value(value, Unit::Nanoseconds);
        assert_eq!(time(0.0), "0 ns");
        assert_eq!(time(0.25), "0.250 ns");
        assert_eq!(time(1.0), "1.00 ns");
        assert_eq!(time(12.34), "12.3 ns");
        assert_eq!(time(999.4), "999 ns");
        assert_eq!(time(999.6), "1.00 us");
        assert_eq!(time(1_234.0), "1.23 us");
        assert_eq!(time(45_678_000.0), "45.7 ms");
        assert_eq!(time(3_336_000_000.0), "3.34 s");
        assert_eq!(time(1.0e12), "1,000 s");
        assert_eq!(time(-1_500.0), "-1.50 us");
        assert_eq!(time(9.996e6), "10.0 ms");
    }

    #[test]
    fn bytes_counts_rates_parts() {
        assert_eq!(format_value(0.0, Unit::Bytes), "0 B");
        assert_eq!(format_value(512.0, Unit::Bytes), "512 B");
        assert_eq!(format_value(4096.0, Unit::Bytes), "4.10 kB");
        assert_eq!(format_value(2.5e6, Unit::Bytes), "2.50 MB");
        assert_eq!(format_value(6.4e10, Unit::Bytes), "64.0 GB");
        assert_eq!(format_value(1_234_567.0, Unit::Count), "1,234,567");
        assert_eq!(format_value(2.5, Unit::Count), "2.5");
        assert_eq!(format_value(0.004, Unit::Count), "0.004");
        assert_eq!(format_value(1999.5, Unit::Count), "2,000");
        assert_eq!(format_value(157.0, Unit::PerSecond), "157/s");
        assert_eq!(format_value(12_345.6, Unit::PerSecond), "12,346/s");
        assert_eq!(format_value(0.1234, Unit::Fraction), "12.3 %");
        assert_eq!(format_value(1.0, Unit::Fraction), "100 %");
    }

    #[test]
    fn ratios() {
        assert_eq!(format_ratio(1.25), "1.25x");
        assert_eq!(format_ratio(1.0), "1.00x");
        assert_eq!(format_ratio(0.023_4), "0.023x");
        assert_eq!(format_ratio(9.999), "10.0x");
        assert_eq!(format_ratio(12.34), "12.3x");
        assert_eq!(format_ratio(1234.0), "1,234x");
        assert_eq!(format_ratio(0.0), "0x");
    }

    #[test]
    fn what_is_no_number_is_a_dash() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(format_value(value, Unit::Nanoseconds), "-");
            assert_eq!(format_tick(value, Unit::Count), "");
        }
        assert_eq!(format_value(f64::MAX, Unit::Count), "1.80e308");
        assert_eq!(format_value(1e-9, Unit::Fraction), "1.00e-7 %");
    }

    #[test]
    fn a_column_has_one_unit() {
        let scale = Scale::of(Unit::Nanoseconds, [450e3, 3.2e6, 1.2e9]);
        assert_eq!(scale.write(450e3), "0.450 ms");
        assert_eq!(scale.write(1.2e9), "1,200 ms");
        assert_eq!(scale.range(3.1e6, 3.3e6), "3.10\u{2013}3.30");
        assert_eq!(scale.write(0.0), "0 ms");
        let small = Scale::of(Unit::Nanoseconds, [17.1e6, 2.3e9, 2.4e9]);
        assert_eq!(small.write(17.1e6), "17.1 ms");
        assert_eq!(small.write(2.3e9), "2,300 ms");
        // From a system call to a long sync: no one unit serves.
        let wide = Scale::of(Unit::Nanoseconds, [20.0, 3.2e6, 5e9]);
        assert_eq!(wide.write(20.0), "20.0 ns");
        assert_eq!(wide.write(5e9), "5.00 s");
        assert_eq!(wide.range(900.0, 1500.0), "900 ns \u{2013} 1.50 us");
        let none = Scale::of(Unit::Bytes, []);
        assert_eq!(none.write(0.0), "0 B");
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(format_tick(10_000.0, Unit::Nanoseconds), "10 us");
        assert_eq!(format_tick(0.5, Unit::Nanoseconds), "0.5 ns");
        assert_eq!(format_tick(100_000.0, Unit::Count), "100 k");
        assert_eq!(format_tick(2_000_000.0, Unit::PerSecond), "2 M/s");
        assert_eq!(format_tick(0.1, Unit::Fraction), "10 %");
        assert_eq!(format_tick(0.05, Unit::Ratio), "0.05x");
        assert_eq!(format_tick(200.0, Unit::Bytes), "200 B");
    }
}
