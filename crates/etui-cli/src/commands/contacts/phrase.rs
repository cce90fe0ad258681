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
use etui::contacts::PartialDate;
use etui_program::output::one_line;
use etui_program::{Failure, Result};
use etui_when::parse_any_day;

/// Digits of the shortest phone number that a phrase can have.
const MIN_PHONE_DIGITS: usize = 5;

/// Words before or after a phone number, and its type.
const PHONE_LABELS: &[(&str, &str)] = &[
    ("phone", ""),
    ("tel", ""),
    ("telephone", ""),
    ("telefon", ""),
    ("call", ""),
    ("number", ""),
    ("handy", "cell"),
    ("mobile", "cell"),
    ("mobil", "cell"),
    ("mob", "cell"),
    ("cell", "cell"),
    ("cellphone", "cell"),
    ("portable", "cell"),
    ("móvil", "cell"),
    ("home", "home"),
    ("privat", "home"),
    ("private", "home"),
    ("zuhause", "home"),
    ("work", "work"),
    ("office", "work"),
    ("büro", "work"),
    ("arbeit", "work"),
    ("dienstlich", "work"),
    ("geschäftlich", "work"),
    ("fax", "fax"),
    ("pager", "pager"),
];

/// Words before an e-mail address.
const EMAIL_LABELS: &[&str] = &["email", "e-mail", "mail"];

/// Marks around an e-mail address.
const ADDRESS_MARKS: [char; 4] = ['<', '>', ';', '"'];

/// Words before a birthday.
const BIRTH_WORDS: &[&str] = &[
    "born",
    "birthday",
    "bday",
    "geboren",
    "geb",
    "geburtstag",
    "né",
    "née",
    "nato",
    "nata",
    "*",
];

/// Most words of a date.
const MAX_DATE_WORDS: usize = 4;

/// Takes the e-mail addresses, phone numbers, the birthday and properties out of a phrase; the rest is the
/// name.
pub fn parse_contact_phrase(text: &str) -> Result<AddContactArgs> {
    let mut args = AddContactArgs::default();
    let mut names: Vec<String> = Vec::new();
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
        let name = parse_part(part, &mut args)?;
        let is_second = !name.is_empty() && !names.is_empty();
        let words = |name: &str| name.split_whitespace().count();
        let has_data = words(part) > words(&name);
        // Lovelace, Ada; but not: Ada Lovelace, Boat 0171 39200 02, and not: Ada Lovelace, Example GmbH
        let is_other = has_data && names.iter().any(|n| words(n) > 1) || is_firm(&name);
        if is_second && (names.len() > 1 || is_other) {
            return Err(not_understood(&name));
        }
        if !name.is_empty() {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Err(Failure::usage("a name is missing"));
    }
    // Lovelace, Ada
    args.name = Some(names.join(", "));
    Ok(args)
}

/// Parses the text between two commas; returns the words that are left, those of the name.
fn parse_part(part: &str, args: &mut AddContactArgs) -> Result<String> {
    let mut name: Vec<&str> = Vec::new();
    let words: Vec<&str> = part.split_whitespace().collect();
    let mut rest = words.as_slice();
    // Words of the name before the last word, and when something else followed it.
    let (mut before, mut named) = (0, 0);
    while let Some((word, after)) = rest.split_first() {
        if name.len() == before {
            named = before;
        }
        before = name.len();
        let plain = plain_word(word);
        if is_assignment(word) {
            // Its value is the words up to the next one.
            let more = after.iter().take_while(|word| !is_assignment(word)).count();
            let text = rest.get(..=more).unwrap_or_default().join(" ");
            args.set.push(text.parse().map_err(Failure::usage)?);
            rest = &after[more..];
            continue;
        }
        if BIRTH_WORDS.contains(&plain.as_str()) || word.starts_with('*') {
            let glued = word.strip_prefix('*').filter(|date| !date.is_empty());
            let given: Vec<&str> = glued.into_iter().chain(after.iter().copied()).collect();
            let skipped = usize::from(
                given
                    .first()
                    .is_some_and(|w| matches!(*w, "on" | "am" | "in" | "le" | "il")),
            );
            let date = given.get(skipped..).unwrap_or_default();
            if let Some((value, count)) = leading_date(date, true) {
                set_birthday(args, &value)?;
                let read = skipped + count - usize::from(glued.is_some());
                rest = after.get(read..).unwrap_or_default();
                continue;
            }
            if date
                .first()
                .is_some_and(|w| w.contains(|c: char| c.is_ascii_digit()))
            {
                return Err(not_understood(&format!("{word} {}", date.join(" "))));
            }
        }
        if let Some((_, count)) = leading_date(rest, false) {
            let date = rest.get(..count).unwrap_or_default().join(" ");
            return Err(Failure::usage(format!(
                "\"{date}\" is a date; if it is the birthday, write: born {date}"
            )));
        }
        let kind = PHONE_LABELS.iter().find(|(label, _)| *label == plain);
        let labelled = kind.map(|(_, kind)| (*kind, phone_words(after)));
        if let Some((kind, count)) = labelled.filter(|(_, count)| *count > 0) {
            push_phone(args, &after[..count], kind)?;
            rest = &after[count..];
            // 030 2312501 work 0171 3920002 home: the types may be of the numbers before them.
            let next = rest.first().map(|word| plain_word(word));
            let is_label = next.filter(|next| PHONE_LABELS.iter().any(|(label, _)| label == next));
            if let (Some(label), 1) = (is_label, rest.len()) {
                return Err(not_understood(&label));
            }
            continue;
        }
        let count = phone_words(rest);
        if count > 0 {
            let (number, after) = rest.split_at(count);
            // 030 2312501 work; but not: 030 2312501 work 0171 3920002
            let is_free = phone_words(after.get(1..).unwrap_or_default()) == 0;
            let label = after.first().filter(|_| is_free);
            let label = label.map(|w| plain_word(w.trim_matches(['(', ')'])));
            let kind = PHONE_LABELS
                .iter()
                .find(|(known, _)| label.as_deref() == Some(known));
            push_phone(args, number, kind.map_or("", |(_, kind)| kind))?;
            rest = &after[usize::from(kind.is_some())..];
            continue;
        }
        if let Some((address, after)) = after.split_first()
            && address.contains('@')
        {
            let kind = kind.map(|(_, kind)| *kind);
            let kind = kind.filter(|kind| matches!(*kind, "home" | "work"));
            if let Some(kind) = kind {
                let address = format!("email:{kind}={}", address.trim_matches(ADDRESS_MARKS));
                let assignment = address.parse::<PropertyAssignment>();
                args.set.push(assignment.map_err(Failure::usage)?);
                rest = after;
                continue;
            }
            if EMAIL_LABELS.contains(&plain.as_str()) {
                rest = &rest[1..];
                continue;
            }
        }
        match word.contains('@') {
            true => {
                let address = word.trim_matches(ADDRESS_MARKS);
                let address = parse_email(address).map_err(Failure::usage)?;
                args.email.push(address);
            }
            // Ada <ada@example.org> Lovelace; but not: Ada Lovelace 0171 39200 02 Choir
            false if named > 1 => return Err(not_understood(&rest.join(" "))),
            false => name.push(*word),
        }
        rest = after;
    }
    Ok(name.join(" "))
}

/// Returns true for the name of a firm.
fn is_firm(name: &str) -> bool {
    const FORMS: &[&str] = &[
        "gmbh", "ag", "kg", "ohg", "ug", "firma", "inc", "ltd", "llc", "corp", "sarl", "sàrl",
        "srl", "bv", "oy", "ab", "e.v",
    ];
    let mut words = name.split_whitespace().map(plain_word);
    words.any(|word| FORMS.contains(&word.as_str()))
}

/// Returns a word in small letters, without the mark after it.
fn plain_word(word: &str) -> String {
    word.to_lowercase().trim_end_matches([':', '.']).to_owned()
}

fn push_phone(args: &mut AddContactArgs, number: &[&str], kind: &str) -> Result<()> {
    let number = number.join(" ");
    if kind.is_empty() {
        args.phone.push(number);
        return Ok(());
    }
    let assignment = format!("phone:{kind}={number}").parse::<PropertyAssignment>();
    args.set.push(assignment.map_err(Failure::usage)?);
    Ok(())
}

fn set_birthday(args: &mut AddContactArgs, value: &str) -> Result<()> {
    let assignment = format!("birthday={value}").parse::<PropertyAssignment>();
    args.set.push(assignment.map_err(Failure::usage)?);
    Ok(())
}

/// Returns the date at the beginning of the words, and the number of its words. After `born` it may be a
/// year alone.
fn leading_date(words: &[&str], is_announced: bool) -> Option<(String, usize)> {
    for count in (1..=words.len().min(MAX_DATE_WORDS)).rev() {
        let text = words.get(..count)?.join(" ");
        if !text.contains(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let is_iso = || {
            let parts: Vec<&str> = text.split('-').collect();
            matches!(parts.as_slice(), [y, m, d] if y.len() == 4 && m.len() == 2 && d.len() == 2)
                && PartialDate::parse(&text).is_some()
        };
        match parse_any_day(&text) {
            Ok(Some(date)) => return Some((date, count)),
            // It has two meanings: the property says so.
            Err(_) => return Some((text, count)),
            Ok(None) if is_iso() => return Some((text, count)),
            Ok(None) => {}
        }
        let is_year = is_announced && count == 1 && text.len() == 4;
        if is_year && text.chars().all(|c| c.is_ascii_digit()) {
            return Some((text, 1));
        }
    }
    None
}

fn not_understood(words: &str) -> Failure {
    Failure::usage(format!(
        "\"{}\" is not understood; name the field: phone:work=..., birthday=..., org=..., note=... (see \
         etui contacts add --help)",
        one_line(words)
    ))
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
            (
                "Max Muster 030 1234567 org=Acme & Co label=Choir",
                "Max Muster; ; 030 1234567; ORG=Acme & Co|CATEGORIES=Choir",
            ),
            (
                "Lovelace, Ada ada@example.org",
                "Lovelace, Ada; ada@example.org; ; ",
            ),
            ("Udo Pohl born 5 Dec 1990", "Udo Pohl; ; ; BDAY=1990-12-05"),
            ("Udo Pohl geb. 5.12.1990", "Udo Pohl; ; ; BDAY=1990-12-05"),
            ("Udo Pohl *5.12.1990", "Udo Pohl; ; ; BDAY=1990-12-05"),
            ("Udo Pohl, born on December 5", "Udo Pohl; ; ; BDAY=--12-05"),
            (
                "Udo Pohl born 1990-12-05 udo@example.org",
                "Udo Pohl; udo@example.org; ; BDAY=1990-12-05",
            ),
            ("Udo Pohl born 1990", "Udo Pohl; ; ; BDAY=1990"),
            ("Udo Born", "Udo Born; ; ; "),
            (
                "Udo Pohl, Handy 0176 1234567",
                "Udo Pohl; ; ; TEL=0176 1234567",
            ),
            (
                "Udo Pohl Büro: 030 23125 001",
                "Udo Pohl; ; ; TEL=030 23125 001",
            ),
            (
                "Udo Pohl 030 23125 001 (work)",
                "Udo Pohl; ; ; TEL=030 23125 001",
            ),
            (
                "Udo Pohl, e-mail: udo@example.org",
                "Udo Pohl; udo@example.org; ; ",
            ),
            (
                "Udo Pohl 030 23125 001 work",
                "Udo Pohl; ; ; TEL=030 23125 001",
            ),
            (
                "Udo Pohl 030 23125 001 home 0171 39200 02",
                "Udo Pohl; ; 030 23125 001; TEL=0171 39200 02",
            ),
            (
                "Udo Pohl work udo@example.org",
                "Udo Pohl; ; ; EMAIL=udo@example.org",
            ),
            ("Udo Work", "Udo Work; ; ; "),
            ("Udo Pohl tel. 030 23125 001", "Udo Pohl; ; 030 23125 001; "),
            ("Agent 007", "Agent 007; ; ; "),
            ("ada@example.org", "a name is missing"),
        ] {
            assert_eq!(describe(text), expected, "{text}");
        }
        for text in [
            "Ada ada@",
            "Ada, phoen=1",
            "Udo Pohl 5 Dec 1990",
            "Udo Pohl 5.12.1990",
            "Udo Pohl 1990-12-05",
            "Udo Pohl, 5 Dec",
            "Udo Pohl born 31.2.1990",
            "Udo Pohl, Boat 0176 1234567",
            "Udo Pohl, Berlin, Germany",
            "Udo Pohl 030 23125 001 work 0171 39200 02 home",
        ] {
            assert!(parse_contact_phrase(text).is_err(), "{text}");
        }
    }
}
