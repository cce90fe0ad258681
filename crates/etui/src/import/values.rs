//! What a content line says: its value, escaped text and lists of it, parameters.
//!
//! ```text
//! CATEGORIES:Work\, urgent,Home      two texts: "Work, urgent" and "Home"
//! ORGANIZER;CN="Ada ^'E^'":mailto:   a parameter: Ada "E"      (RFC 6868)
//! ```

use super::lines::{ContentLine, params};

/// The value as it is written, blanks around it aside.
pub(crate) fn value_of(line: &ContentLine<'_>) -> String {
    String::from_utf8_lossy(&line.unfolded_value())
        .trim()
        .to_owned()
}

/// The text a value means (RFC 5545 §3.3.11): without its escapes, and without control
/// characters that are no text.
pub(crate) fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n' | 'N') => out.push('\n'),
                // Some programs escape more than they have to.
                Some(c @ ('\\' | ';' | ',' | ':' | '"')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// `value` with a backslash before the characters of `special`, and `line_break` for each line
/// break in it.
pub(crate) fn escape(value: &str, special: &str, line_break: &str) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                out.push_str(line_break);
            }
            '\n' => out.push_str(line_break),
            c => {
                if special.contains(c) {
                    out.push('\\');
                }
                out.push(c);
            }
        }
    }
    out
}

/// The parts of a list, still escaped: separated by commas that are not.
pub(crate) fn list(value: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    value.split(move |c| {
        let splits = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        splits
    })
}

/// The value of a parameter, without quotes and the escapes of RFC 6868.
pub(crate) fn param(line: &ContentLine<'_>, name: &str) -> Option<String> {
    let text = line.unfolded_params();
    let found = params(&text).find(|p| p.name.eq_ignore_ascii_case(name.as_bytes()))?;
    let value = String::from_utf8_lossy(found.value?);
    if !value.contains('^') {
        return Some(value.into_owned());
    }
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '^' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('\'') => out.push('"'),
                Some('^') => out.push('^'),
                Some(c) => out.extend(['^', c]),
                None => out.push('^'),
            },
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::import::lines::ContentLines;

    #[test]
    fn text_reads_back_as_written() {
        for text in ["", "a;b,c\\d", "two\nlines", "\\n", "ü\u{1F600}\t"] {
            assert_eq!(unescape(&escape(text, "\\;,", "\\n")), text);
        }
        assert_eq!(unescape("a\\:b\\x\\"), "a:b\\x\\");
        assert_eq!(unescape("be\u{7}ll\u{0}"), "bell");
    }

    #[test]
    fn lists_split_at_bare_commas() {
        let parts = |text| list(text).map(unescape).collect::<Vec<_>>();
        assert_eq!(parts("a\\, b,c"), ["a, b", "c"]);
        assert_eq!(parts("a\\\\,b"), ["a\\", "b"]);
        assert_eq!(parts(""), [""]);
    }

    #[test]
    fn parameters_lose_quotes_and_escapes() {
        let line = ContentLines::new(b"X;CN=\"A; ^'B^'\n  C\";y=^n^^^x:v")
            .next()
            .unwrap();
        assert_eq!(param(&line, "cn").unwrap(), "A; \"B\" C");
        assert_eq!(param(&line, "Y").unwrap(), "\n^^x");
        assert_eq!(param(&line, "Z"), None);
    }
}
