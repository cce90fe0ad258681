//! Phone numbers as contact queries compare them, and the parameter `X-EVOLUTION-E164`.
//!
//! Numbers are read without a region: only a number that is written with a country has one.

pub(super) use etui::text::phone::WrittenNumber;

/// How much of two numbers has to be equal (libphonenumber's terms).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhoneStrength {
    /// The same country, written in both, and the same national number.
    Exact,
    /// The same national number, and not two different countries.
    National,
    /// The same last seven digits; fewer, if fewer are searched for.
    Short,
}

/// Whether a value is the number that is searched for, by `strength`.
pub(super) fn is_same_number(
    value: &WrittenNumber,
    wanted: &WrittenNumber,
    strength: PhoneStrength,
) -> bool {
    let same = value.national == wanted.national;
    match (strength, value.country_code, wanted.country_code) {
        // One number in two countries is two numbers, as for the stock server.
        (PhoneStrength::Short, Some(first), Some(second)) if same && first != second => false,
        (PhoneStrength::Short, ..) => value.national.ends_with(last_digits(wanted, 7)),
        (_, Some(first), Some(second)) => same && first == second,
        (PhoneStrength::National, ..) => same,
        (PhoneStrength::Exact, ..) => false,
    }
}

/// The last `count` digits of the national number, all of them if it has fewer.
pub(super) fn last_digits(number: &WrittenNumber, count: usize) -> &str {
    let start = number.national.len().saturating_sub(count);
    number.national.get(start..).unwrap_or_default()
}

/// Appends the parameter that clients read: `X-EVOLUTION-E164=302312501,"+49"`.
pub(super) fn push_e164(text: &mut String, number: &WrittenNumber) {
    text.push_str(E164);
    text.push('=');
    text.push_str(&number.national);
    if let Some(country) = number.country_code {
        text.push_str(",\"+");
        text.push_str(&country.to_string());
        text.push('"');
    }
}

/// The name of the parameter.
pub(super) const E164: &str = "X-EVOLUTION-E164";

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(one: &str, two: &str, strength: PhoneStrength) -> bool {
        let parse = |text| WrittenNumber::parse(text).unwrap();
        is_same_number(&parse(one), &parse(two), strength)
    }

    #[test]
    fn no_region_completes_a_number() {
        use PhoneStrength::{Exact, National, Short};
        assert!(!matches("408.765.5050", "408 765-5050", Exact));
        assert!(matches("+1 408 765-5050", "+1-408-765-5050", Exact));
        for other in ["408 765-5050", "+1 408 765-5050", "+49 408 765-5050"] {
            assert!(matches("408.765.5050", other, National), "{other}");
        }
        assert!(!matches("+1 408 765-5050", "+49 408 765-5050", National));
        assert!(matches("+49 408 765-5050", "5050", Short));
        assert!(!matches("+49 408 765-5050", "+1 408 765-5050", Short));
        assert!(matches("+49 408 765-5050", "+1 765-5050", Short));
    }

    #[test]
    fn numbers_with_letters_have_no_parts() {
        assert_eq!(WrittenNumber::parse("unknown"), None);
        assert_eq!(WrittenNumber::parse("1-800-FLOWERS"), None);
        for (number, expected) in [
            ("+1-221-5423789", "X-EVOLUTION-E164=2215423789,\"+1\""),
            ("7654321", "X-EVOLUTION-E164=7654321"),
        ] {
            let mut text = String::new();
            push_e164(&mut text, &WrittenNumber::parse(number).unwrap());
            assert_eq!(text, expected);
        }
    }
}
