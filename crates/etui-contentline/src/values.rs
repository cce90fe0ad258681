//! Values and parameters of a content line, without their escapes.
//!
//! ```text
//! CATEGORIES:Work\, urgent,Home      two texts: "Work, urgent" and "Home"
//! ORGANIZER;CN="Ada ^'E^'":mailto:   a parameter: Ada "E"      (RFC 6868)
//! ```

use std::borrow::Cow;

use super::lines::{ContentLine, parse_params};

/// Returns the value as written, without the blanks around it.
pub fn property_value<'t>(line: &ContentLine<'t>) -> Cow<'t, str> {
    if let Some(text) = line.value_text() {
        return Cow::Borrowed(trim_spaces(text));
    }
    match lossy(line.unfolded_value()) {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

/// Returns the parameters as written.
pub fn property_params<'t>(line: &ContentLine<'t>) -> Cow<'t, str> {
    match line.params_text() {
        Some(text) => Cow::Borrowed(text),
        None => lossy(line.unfolded_params()),
    }
}

/// Trims blanks; fast where there are none.
pub fn trim_spaces(text: &str) -> &str {
    match text.as_bytes() {
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => text,
        _ => text.trim(),
    }
}

/// Converts bytes to text; invalid UTF-8 is replaced.
fn lossy(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        },
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Removes the escapes of a value (RFC 5545 §3.3.11) and the control characters that no text has.
pub fn unescape_text(value: &str) -> String {
    unescape(value, false)
}

/// Removes the escapes of a value and keeps control characters.
pub fn unescape_raw(value: &str) -> String {
    unescape(value, true)
}

fn unescape(value: &str, keep_controls: bool) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.bytes().position(may_be_special) {
        // Each of these bytes begins a character.
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = special.chars();
        match chars.next() {
            Some('\\') => match chars.next() {
                Some('n' | 'N') => out.push('\n'),
                // Some programs escape more than they have to.
                Some(c @ ('\\' | ';' | ',' | ':' | '"')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            Some(c) if !keep_controls && c != '\t' && c.is_control() => {}
            c => out.extend(c),
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out
}

/// Returns true if a backslash, or a character that may be a control, begins with this byte of
/// UTF-8.
fn may_be_special(byte: u8) -> bool {
    const SPECIAL: [bool; 256] = {
        let mut special = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            special[byte] = matches!(byte as u8, 0..0x20 | b'\\' | 0x7F | 0xC2);
            byte += 1;
        }
        special
    };
    SPECIAL[usize::from(byte)]
}

/// Puts a backslash before the characters of `special`, and replaces line breaks by `line_break`.
pub fn escape_text(value: &str, special: &str, line_break: &str) -> String {
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

/// Splits a list at the commas that are not escaped. The parts keep their escapes.
pub fn split_list(value: &str) -> impl Iterator<Item = &str> {
    split_unescaped(value, ',')
}

/// Splits a value at the separators that are not escaped. The parts keep their escapes.
pub fn split_unescaped(value: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    value.split(move |c| {
        let splits = c == separator && !escaped;
        escaped = c == '\\' && !escaped;
        splits
    })
}

/// Returns the value of a parameter without quotes and the escapes of RFC 6868.
pub fn param_value<'t>(line: &ContentLine<'t>, name: &str) -> Option<Cow<'t, str>> {
    if line.params.is_empty() {
        return None;
    }
    match line.unfolded_params() {
        Cow::Borrowed(text) => find_param(text, name),
        Cow::Owned(text) => Some(Cow::Owned(find_param(&text, name)?.into_owned())),
    }
}

fn find_param<'t>(text: &'t [u8], name: &str) -> Option<Cow<'t, str>> {
    let found = parse_params(text).find(|p| p.name.eq_ignore_ascii_case(name.as_bytes()))?;
    let value = lossy(Cow::Borrowed(found.value?));
    if !value.contains('^') {
        return Some(value);
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
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::lines::ContentLines;

    #[test]
    fn text_reads_back_as_written() {
        for text in ["", "a;b,c\\d", "two\nlines", "\\n", "ü\u{1F600}\t"] {
            assert_eq!(unescape_text(&escape_text(text, "\\;,", "\\n")), text);
        }
        assert_eq!(unescape_text("a\\:b\\x\\"), "a:b\\x\\");
        assert_eq!(unescape_text("be\u{7}ll\u{0}"), "bell");
    }

    #[test]
    fn lists_split_at_bare_commas() {
        let parts = |text| split_list(text).map(unescape_text).collect::<Vec<_>>();
        assert_eq!(parts("a\\, b,c"), ["a, b", "c"]);
        assert_eq!(parts("a\\\\,b"), ["a\\", "b"]);
        assert_eq!(parts(""), [""]);
    }

    #[test]
    fn parameters_lose_quotes_and_escapes() {
        let line = ContentLines::new(b"X;CN=\"A; ^'B^'\n  C\";y=^n^^^x:v")
            .next()
            .unwrap();
        assert_eq!(param_value(&line, "cn").unwrap(), "A; \"B\" C");
        assert_eq!(param_value(&line, "Y").unwrap(), "\n^^x");
        assert_eq!(param_value(&line, "Z"), None);
    }
}
