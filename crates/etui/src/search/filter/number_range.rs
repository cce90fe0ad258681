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
    pub(crate) fn of_numbers(text: &str) -> Option<Self> {
        Self::parse(text, |text| {
            let is_number = text.bytes().all(|b| b.is_ascii_digit());
            let number = text.parse().ok().filter(|_| is_number)?;
            Some(Self(number..=number))
        })
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
