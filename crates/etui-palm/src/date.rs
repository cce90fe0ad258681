//! Dates and times of day as records have them.
//!
//! ```text
//! u16  7 bits year since 1904, 4 bits month, 5 bits day; 0xFFFF: none
//! ```

use etui_ical::time::Date;

use crate::error::RecordError;

/// The first and the last year of a date.
const FIRST_YEAR: i32 = 1904;
const LAST_YEAR: i32 = FIRST_YEAR + 127;

/// The absence of a date.
pub(crate) const NO_DATE: u16 = 0xFFFF;

/// Decodes a date; `None` for none.
pub(crate) fn decode_date(bits: u16) -> Result<Option<Date>, RecordError> {
    if bits == NO_DATE {
        return Ok(None);
    }
    let year = FIRST_YEAR + i32::from(bits >> 9);
    let date = Date::new(year, u32::from(bits >> 5 & 0xF), u32::from(bits & 0x1F));
    date.map(Some).ok_or(RecordError::BadDate(bits))
}

/// Encodes a date; `None` if it is not in the years 1904 to 2031.
pub(crate) fn encode_date(date: Date) -> Option<u16> {
    let (year, month, day) = date.ymd();
    let years = u16::try_from(year - FIRST_YEAR).ok()?;
    let bits = years << 9 | u16::try_from(month).ok()? << 5 | u16::try_from(day).ok()?;
    (year <= LAST_YEAR).then_some(bits)
}

/// A time of day, in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay {
    /// The hour, 0 to 23.
    pub hour: u8,
    /// The minute, 0 to 59.
    pub minute: u8,
}

impl TimeOfDay {
    /// The last minute of a day.
    pub const LAST: Self = Self {
        hour: 23,
        minute: 59,
    };

    /// Decodes a time; `None` for none.
    pub(crate) fn decode(hour: u8, minute: u8) -> Result<Option<Self>, RecordError> {
        match (hour, minute) {
            (255, 255) => Ok(None),
            (0..=23, 0..=59) => Ok(Some(Self { hour, minute })),
            (hour, minute) => Err(RecordError::BadTime { hour, minute }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dates_read_back_as_written() {
        let first = Date::new(1904, 1, 1).unwrap();
        assert_eq!(encode_date(first), Some(0x0021));
        let mut date = first;
        while date.ymd().0 < 2032 {
            assert_eq!(decode_date(encode_date(date).unwrap()), Ok(Some(date)));
            date = date.plus_days(1);
        }
        assert_eq!(encode_date(date), None);
        assert_eq!(encode_date(first.plus_days(-1)), None);
        assert_eq!(decode_date(NO_DATE), Ok(None));
        assert_eq!(decode_date(0), Err(RecordError::BadDate(0)));
    }
}
