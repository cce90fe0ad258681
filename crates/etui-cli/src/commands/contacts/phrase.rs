//! A contact in a phrase.
//!
//! ```text
//! Ada Lovelace ada@example.org +44 20 7946 0123, org=Analytical Engines
//! └──────────┘ └─────────────┘ └──────────────┘  └────────────────────┘
//!     name         e-mail           phone         a property, as in `etui contacts add --set`
//! ```

use super::new_card::AddContactArgs;
use super::property::PropertyAssignment;
use crate::commands::records::property::parse_email;
use crate::errors::{Failure, Result};

/// Digits of the shortest phone number that a phrase can have.
const MIN_PHONE_DIGITS: usize = 5;

/// Takes the e-mail addresses, phone numbers and properties out of a phrase; the rest is the name.
pub fn parse_contact_phrase(text: &str) -> Result<AddContactArgs> {
    let mut args = AddContactArgs::default();
    let mut names = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        if is_assignment(part) {
            let assignment = part.parse::<PropertyAssignment>();
            args.set.push(assignment.map_err(Failure::usage)?);
            continue;
        }
        let mut name = Vec::new();
        let words: Vec<&str> = part.split_whitespace().collect();
        let mut rest = words.as_slice();
        while let Some((word, after)) = rest.split_first() {
            let count = phone_words(rest);
            if count > 0 {
                let (number, after) = rest.split_at(count);
                args.phone.push(number.join(" "));
                rest = after;
                continue;
            }
            match word.contains('@') {
                true => {
                    let address = word.trim_matches(['<', '>', ';', '"']);
                    let address = parse_email(address).map_err(Failure::usage)?;
                    args.email.push(address);
                }
                false => name.push(*word),
            }
            rest = after;
        }
        if !name.is_empty() {
            names.push(name.join(" "));
        }
    }
    if names.is_empty() {
        return Err(Failure::usage("a name is missing"));
    }
    // Lovelace, Ada
    args.name = Some(names.join(", "));
    Ok(args)
}

/// Returns true for `org=Acme` and `phone:work=555-0100`.
fn is_assignment(part: &str) -> bool {
    part.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ":-;,".contains(c))
    })
}

/// Returns the number of words at the beginning that are a phone number.
fn phone_words(words: &[&str]) -> usize {
    let is_part = |word: &&&str| {
        word.chars()
            .all(|c| c.is_ascii_digit() || "+()-/.".contains(c))
            && word.chars().any(|c| c.is_ascii_digit())
    };
    let count = words.iter().take_while(is_part).count();
    let parts = words.iter().take(count);
    let digits = parts
        .flat_map(|word| word.chars())
        .filter(char::is_ascii_digit);
    match digits.count() >= MIN_PHONE_DIGITS {
        true => count,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn describe(text: &str) -> String {
        match parse_contact_phrase(text) {
            Err(failure) => failure.to_string(),
            Ok(args) => {
                let set = args
                    .set
                    .iter()
                    .map(|a| format!("{}={}", a.property.name, a.property.value));
                let set: Vec<_> = set.collect();
                let [email, phone, set] = [args.email, args.phone, set].map(|all| all.join("|"));
                format!("{}; {email}; {phone}; {set}", args.name.unwrap())
            }
        }
    }

    #[test]
    fn phrases() {
        for (text, expected) in [
            ("Ada Lovelace", "Ada Lovelace; ; ; "),
            (
                "Ada Lovelace ada@example.org +44 20 7946 0123",
                "Ada Lovelace; ada@example.org; +44 20 7946 0123; ",
            ),
            (
                "+44 (20) 7946-0123 Ada <ada@example.org> Lovelace",
                "Ada Lovelace; ada@example.org; +44 (20) 7946-0123; ",
            ),
            (
                "Ada Lovelace, 030 23125 001, 0171 39200 02, org=Example GmbH, note=a = b",
                "Ada Lovelace; ; 030 23125 001|0171 39200 02; ORG=Example GmbH|NOTE=a = b",
            ),
            ("Lovelace, Ada", "Lovelace, Ada; ; ; "),
            ("Agent 007", "Agent 007; ; ; "),
            ("ada@example.org", "a name is missing"),
        ] {
            assert_eq!(describe(text), expected, "{text}");
        }
        for text in ["Ada ada@", "Ada, phoen=1"] {
            assert!(parse_contact_phrase(text).is_err(), "{text}");
        }
    }
}
