//! [`NumberRange`]: the text form of a comparison of numbers.

use std::ops::RangeInclusive;

/// The numbers that a text such as `1970..1979` or `>10` means.
///
/// ```text
/// range := number | number ".." number | number ".." | ".." number
///        | ( "<" | "<=" | ">" | ">=" ) number
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NumberRange(pub(crate) RangeInclusive<u32>);

impl NumberRange {
    /// Parses a range; `number` parses a number. Returns `None` for any other text.
    pub(crate) fn parse(text: &str, number: impl Fn(&str) -> Option<Self>) -> Option<Self> {
        let first = |text: &str| Some(*number(text.trim())?.0.start());
        let last = |text: &str| Some(*number(text.trim())?.0.end());
        let range = if let Some((from, to)) = text.split_once("..") {
            match (from.trim(), to.trim()) {
                ("", "") => return None,
                (from, "") => first(from)?..=u32::MAX,
                ("", to) => 0..=last(to)?,
                (from, to) => first(from)?..=last(to)?,
            }
        } else if let Some(to) = text.strip_prefix("<=") {
            0..=last(to)?
        } else if let Some(from) = text.strip_prefix(">=") {
            first(from)?..=u32::MAX
        } else if let Some(to) = text.strip_prefix('<') {
            // No number is less than 0.
            match first(to)?.checked_sub(1) {
                Some(to) => 0..=to,
                None => Self::nothing(),
            }
        } else if let Some(from) = text.strip_prefix('>') {
            match last(from)?.checked_add(1) {
                Some(from) => from..=u32::MAX,
                None => Self::nothing(),
            }
        } else {
            return number(text.trim());
        };
        Some(Self(range))
    }

    /// Parses a range of plain numbers.
    #[cfg(any(test, feature = "media"))]
    pub(crate) fn of_numbers(text: &str) -> Option<Self> {
        Self::parse(text, |text| {
            let is_number = text.bytes().all(|b| b.is_ascii_digit());
            // `parse` accepts a plus sign too.
            let number = text.parse().ok().filter(|_| is_number)?;
            Some(Self(number..=number))
        })
    }

    /// Parses a range of days, numbers YYYYMMDD.
    pub(crate) fn of_days(text: &str) -> Option<Self> {
        Self::parse(text, Self::of_date)
    }

    /// Returns the days that a date such as `2024`, `2024-05` or `2024-05-03` means, as YYYYMMDD.
    pub(crate) fn of_date(date: &str) -> Option<Self> {
        let mut parts = date.split('-');
        let mut number = |digits: usize| -> Option<Option<u32>> {
            let Some(part) = parts.next() else {
                return Some(None);
            };
            let is_number = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
            // `parse` accepts a plus sign too.
            part.parse().ok().filter(|_| is_number).map(Some)
        };
        let (year, month, day) = (number(4)??, number(2)?, number(2)?);
        if parts.next().is_some() {
            return None;
        }
        let first = year * 10_000 + month.unwrap_or(0) * 100 + day.unwrap_or(0);
        let last = match (month, day) {
            (Some(1..=12), Some(1..=31)) => first,
            (Some(1..=12), None) => first + 99,
            (None, None) => first + 9_999,
            _ => return None,
        };
        Some(Self(first..=last))
    }

    /// A range without a number.
    #[allow(clippy::reversed_empty_ranges)]
    fn nothing() -> RangeInclusive<u32> {
        1..=0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed() {
        let range = |text| NumberRange::of_numbers(text).map(|range| range.0);
        assert_eq!(range("1977"), Some(1977..=1977));
        assert_eq!(range("1970..1979"), Some(1970..=1979));
        assert_eq!(range("1970.."), Some(1970..=u32::MAX));
        assert_eq!(range("..3"), Some(0..=3));
        assert_eq!(range("<3"), Some(0..=2));
        assert_eq!(range("<=3"), Some(0..=3));
        assert_eq!(range(">10"), Some(11..=u32::MAX));
        assert_eq!(range(">= 10"), Some(10..=u32::MAX));
        assert!(range("<0").unwrap().is_empty());
        assert!(range(">4294967295").unwrap().is_empty());
        for bad in [
            "",
            "..",
            "a",
            "+1",
            "-1",
            "1..b",
            ">",
            "4294967296",
            "1...2",
        ] {
            assert_eq!(range(bad), None, "{bad}");
        }
    }
}
