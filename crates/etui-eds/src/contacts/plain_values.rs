//! Values of TEL and EMAIL in cards of plain lines, read without parsing the card.
//!
//! A query for a part of a number or an address compares all contacts that the index finds by the
//! server's rules. Parsing each costs several times what the comparison does (`etui lab run
//! phonebook`, UIDs of e-mail and phone hits).

use memchr::{memchr, memmem};

/// Names of parameters that say how a value is encoded, and parts of them.
const ENCODINGS: [&[u8]; 6] = [
    b"CODING", b"CHARSET", b"QUOTED", b"BASE64", b"8BIT", b"7BIT",
];

/// The end of the name of an AGENT in a group.
const AGENT: &[u8] = b".AGENT";

/// Returns true if `test` is true of a value of the property `name`; `None` if that takes a parser:
/// the text is not UTF-8, has other line ends, or a line of the property is folded, encoded or
/// escaped.
pub(super) fn any_plain_value(
    text: &[u8],
    name: &str,
    test: &mut dyn FnMut(&str) -> bool,
) -> Option<bool> {
    let text = std::str::from_utf8(text).ok()?;
    let mut rest = text.strip_prefix("BEGIN:VCARD\r\n")?;
    let mut found = false;
    let mut is_ended = false;
    while !rest.is_empty() {
        let line_end = memchr(b'\n', rest.as_bytes());
        let (line, after) = rest.split_at_checked(line_end.map_or(rest.len(), |end| end + 1))?;
        rest = after;
        let line = match line_end {
            Some(_) => line.strip_suffix("\r\n")?,
            // The library of Evolution Data Server ends a card without a line end.
            None if line == "END:VCARD" => line,
            None => return None,
        };
        if is_ended {
            return None;
        }
        match line.as_bytes().first() {
            // A part of the line before, which is not one of the property.
            Some(b' ' | b'\t') => continue,
            // A nested card may be in an AGENT.
            Some(b'A' | b'a') if starts_with(line, "AGENT") => return None,
            Some(b'B' | b'b') if starts_with(line, "BEGIN") => return None,
            Some(b'E' | b'e') if line == "END:VCARD" => {
                is_ended = true;
                continue;
            }
            _ => {}
        }
        // A soft line break, a lone CR: not plain lines.
        if line.ends_with('=') && line.contains("QUOTED") || line.contains('\r') {
            return None;
        }
        let head_end = line.bytes().position(|b| matches!(b, b':' | b';'))?;
        match is_named(line.as_bytes().get(..head_end)?, name)? {
            true => {}
            false => continue,
        }
        let value = plain_value(line, head_end)?;
        // The next line belongs to the value.
        if matches!(rest.as_bytes().first(), Some(b' ' | b'\t')) {
            return None;
        }
        found = found || test(value);
    }
    is_ended.then_some(found)
}

fn starts_with(line: &str, name: &str) -> bool {
    line.get(..name.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(name))
}

/// Returns true if a line with this group and name is one of the property; `None` if it may be an
/// AGENT in a group, or has blanks.
fn is_named(head: &[u8], name: &str) -> Option<bool> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let end = head.get(head.len().saturating_sub(AGENT.len())..)?;
    if !head.iter().all(is_plain) || end.eq_ignore_ascii_case(AGENT) {
        return None;
    }
    // For a longer name the subtraction wraps, and the split fails.
    let Some((group, own_name)) = head.split_at_checked(head.len().wrapping_sub(name.len())) else {
        return Some(false);
    };
    let is_whole = group.is_empty() || group.ends_with(b".");
    Some(is_whole && own_name.eq_ignore_ascii_case(name.as_bytes()))
}

/// Returns the value of a line whose name ends at `head_end`.
fn plain_value(line: &str, head_end: usize) -> Option<&str> {
    let mut in_quotes = false;
    let colon = line.bytes().position(|byte| {
        in_quotes ^= byte == b'"';
        byte == b':' && !in_quotes
    })?;
    let (params, value) = (line.get(head_end..colon)?, line.get(colon + 1..)?);
    if !params.is_empty() {
        let upper = params.to_ascii_uppercase();
        let is_encoded = ENCODINGS
            .iter()
            .any(|name| memmem::find(upper.as_bytes(), name).is_some());
        if is_encoded || upper.split(';').any(|param| param == "B") {
            return None;
        }
    }
    let is_plain = !value.contains('\\') && value.trim() == value && !value.is_empty();
    is_plain.then_some(value)
}

#[cfg(test)]
mod tests {
    use etui::contacts::Card;
    use proptest::prelude::*;

    use super::*;

    fn values(text: &str, name: &str) -> Option<Vec<String>> {
        let mut values = Vec::new();
        any_plain_value(text.as_bytes(), name, &mut |value| {
            values.push(value.to_owned());
            false
        })?;
        Some(values)
    }

    #[test]
    fn plain_lines_have_values() {
        let card = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u\r\nitem1.Email;TYPE=HOME:a@x.org\r\n\
                    NOTE:EMAIL:no\r\n EMAIL:no\r\nEMAIL:b@x.org\r\nEND:VCARD\r\n";
        assert_eq!(values(card, "EMAIL").unwrap(), ["a@x.org", "b@x.org"]);
        let unended = card.trim_end();
        assert_eq!(values(unended, "EMAIL").unwrap(), ["a@x.org", "b@x.org"]);
        let quoted = "BEGIN:VCARD\r\nEMAIL;X=\"a:b\";TYPE=HOME:c\r\nEND:VCARD\r\n";
        assert_eq!(values(quoted, "EMAIL").unwrap(), ["c"]);
        for line in [
            "EMAIL:a\\,b",
            "EMAIL;ENCODING=QUOTED-PRINTABLE:a=40b",
            "EMAIL;B:YUBi",
            "EMAIL: a",
            "EMAIL:a\r\n b",
            "AGENT:BEGIN:VCARD",
        ] {
            let card = format!("BEGIN:VCARD\r\nUID:u\r\n{line}\r\nEND:VCARD\r\n");
            assert_eq!(values(&card, "EMAIL"), None, "{line}");
        }
    }

    fn line() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec![
            "EMAIL",
            "email",
            "item1.EMAIL",
            "TEL",
            "NOTE",
            "AGENT",
            "BEGIN",
            "END",
            "X.EMAIL.Y",
            " ",
        ]);
        let params = prop::sample::select(vec![
            "",
            ";TYPE=HOME",
            ";ENCODING=b",
            ";B",
            ";CHARSET=latin1",
            ";QUOTED-PRINTABLE",
            ";VALUE=uri",
            ";X=\"a:b\"",
            ";a=b=",
        ]);
        let value = prop::sample::select(vec![
            "a@x.org", "", " a", "a ", "a\\,b", "a,b", "a;b", "=41", "a=", "YQ==", "VCARD", "ä",
            "tel:+49", "a:b", "\u{feff}",
        ]);
        (name, params, value).prop_map(|(n, p, v)| format!("{n}{p}:{v}\r\n"))
    }

    proptest! {
        #[test]
        fn plain_values_are_those_of_the_parser(
            lines in prop::collection::vec(line(), 0..5),
            end in prop::sample::select(vec!["", "\r\n", "\n", "\r\n\r\n"]),
        ) {
            let lines = lines.concat();
            let text = format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u\r\n{lines}END:VCARD{end}");
            if let (Some(plain), Ok(card)) = (values(&text, "EMAIL"), Card::parse(text.clone())) {
                let mut parsed = Vec::new();
                card.for_each_text("EMAIL", |value| parsed.push(value.to_owned()));
                prop_assert_eq!(plain, parsed, "{}", text);
            }
        }
    }
}
