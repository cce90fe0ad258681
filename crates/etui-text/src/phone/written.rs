//! [`WrittenNumber`]: the parts of a number without completion by a region.

use super::dial_string::DialString;
use super::{MAX_NATIONAL, is_other_address, resolve_number};

/// The parts of a number as it is written, which no region completes: what desktops compare and
/// index (Evolution's `X-EVOLUTION-E164`).
///
/// ```
/// use etui_text::phone::WrittenNumber;
///
/// let number = WrittenNumber::parse("+49 (0)30 123456").unwrap();
/// assert_eq!((number.country_code, &*number.national), (Some(49), "30123456"));
/// let number = WrittenNumber::parse("030 / 12 34 56").unwrap();
/// assert_eq!((number.country_code, &*number.national), (None, "30123456"));
/// assert_eq!(WrittenNumber::parse("1-800-FLOWERS"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenNumber {
    /// The national number without zeros at its start. Without a country code, all digits that are
    /// written, the trunk prefix included if it is no zero.
    pub national: String,
    /// The country calling code (49), if the number is written with a plus and a code.
    pub country_code: Option<u16>,
}

impl WrittenNumber {
    /// Parses a number as written. Returns `None` for texts that are not one in digits: with
    /// letters in it, addresses of other kinds (`sip:`), an unknown country code after a plus, a service code (`*100#`), fewer than
    /// two or more than 17 digits, or zeros alone.
    pub fn parse(text: &str) -> Option<Self> {
        if is_other_address(text) {
            return None;
        }
        let reading = DialString::of(text);
        if reading.service || reading.overlong || reading.has_letters {
            return None;
        }
        let (country_code, digits) = match reading.plus {
            true => {
                let (plan, national) = resolve_number(&reading, None)?;
                (Some(plan.country), national)
            }
            false => (None, reading.digits),
        };
        if !(2..=MAX_NATIONAL).contains(&digits.bytes().len()) {
            return None;
        }
        let national = digits.as_str().trim_start_matches('0');
        (!national.is_empty()).then(|| Self {
            national: national.to_owned(),
            country_code,
        })
    }
}
