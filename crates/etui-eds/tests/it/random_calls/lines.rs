//! Cards and components as lists of comparable lines.
//!
//! Both services may fold lines, order and quote parameters and escape values as they like. What is
//! compared is the name, the sorted parameters and the unescaped parts of the value. REV and
//! timestamps that the service sets are only compared as present; a picture by its bytes.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStringExt;

use base64::Engine;

/// Properties whose value is the service's own.
const STAMPS: &[&str] = &[
    "REV",
    "LAST-MODIFIED",
    "CREATED",
    "DTSTAMP",
    "X-EVOLUTION-ALARM-UID",
];
/// What the stock server writes before the names of time zones that it knows.
const ZONE_PREFIX: &str = "/freeassociation.sourceforge.net/";

/// Returns the comparable lines of a card or component, sorted where `sorted`.
pub fn comparable_lines(text: &str) -> Vec<String> {
    let unfolded = text
        .replace("\r\n", "\n")
        .replace("\n ", "")
        .replace("\n\t", "");
    let mut lines: Vec<String> = unfolded
        .lines()
        .filter(|line| !line.trim().is_empty())
        .flat_map(comparable_line)
        .collect();
    lines.retain(|line| line != "BEGIN:VCARD" && line != "END:VCARD");
    lines
}

/// Returns the value of the first property of a name.
pub fn value_of(text: &str, name: &str) -> Option<String> {
    let unfolded = text.replace("\r\n", "\n").replace("\n ", "");
    unfolded.lines().find_map(|line| {
        let (head, value) = split_at_colon(line)?;
        let found = head.split(';').next()?;
        found.eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}

fn comparable_line(line: &str) -> Vec<String> {
    let Some((head, value)) = split_at_colon(line) else {
        return vec![format!("not a line: {line}")];
    };
    let mut params = split_outside_quotes(head, ';').into_iter();
    let name = params.next().unwrap_or_default().to_ascii_uppercase();
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for param in params {
        let (key, values) = param.split_once('=').unwrap_or(("TYPE", param));
        let values = split_outside_quotes(values, ',');
        let values = values
            .iter()
            .map(|value| value.trim_matches('"').replace(ZONE_PREFIX, ""));
        named
            .entry(key.to_ascii_uppercase())
            .or_default()
            .extend(values);
    }
    if STAMPS.contains(&name.as_str()) {
        return vec![format!("{name}:*")];
    }
    // The stock server keeps the end of a rule there.
    named.remove("X-EVOLUTION-ENDDATE");
    if (name == "PHOTO" || name == "LOGO")
        && let Some(bytes) = picture_bytes(value)
    {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        return vec![format!(
            "{name}:{} bytes, {:x}",
            bytes.len(),
            hasher.finish()
        )];
    }
    let mut out = name.clone();
    for (key, mut values) in named {
        match key.as_str() {
            // Without a country, the second value may be empty or absent.
            "X-EVOLUTION-E164" => values.retain(|value| !value.is_empty()),
            _ => values.sort(),
        }
        out.push_str(&format!(";{key}={}", values.join(",")));
    }
    let parts = match name.as_str() {
        "RRULE" => {
            let mut parts: Vec<String> = value.split(';').map(str::to_owned).collect();
            parts.sort();
            parts
        }
        _ => split_value(value, name == "CATEGORIES"),
    };
    // One property with several categories, or several with one.
    if name == "CATEGORIES" {
        return parts.iter().map(|part| format!("{out}:{part}")).collect();
    }
    vec![format!("{out}:{}", parts.join(" ¦ "))]
}

/// Reads the bytes of a picture: inline, or in the file that a URI names.
fn picture_bytes(value: &str) -> Option<Vec<u8>> {
    if let Some(path) = value.strip_prefix("file://") {
        return std::fs::read(percent_decoded(path)).ok();
    }
    base64::engine::general_purpose::STANDARD.decode(value).ok()
}

fn percent_decoded(path: &str) -> std::path::PathBuf {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match decoded {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

fn split_at_colon(line: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let colon = line.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == ':' && !quoted
    });
    let (at, _) = colon?;
    Some((&line[..at], &line[at + 1..]))
}

fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
    .collect()
}

/// Splits a value at unescaped separators and unescapes the parts.
fn split_value(value: &str, is_list: bool) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        let part = parts.last_mut().unwrap();
        match c {
            '\\' => match chars.next() {
                Some('n' | 'N') => part.push('\n'),
                Some('r' | 'R') => part.push('\r'),
                Some(escaped @ (';' | ',' | '\\' | ':' | '"')) => part.push(escaped),
                Some(other) => {
                    part.push('\\');
                    part.push(other);
                }
                None => part.push('\\'),
            },
            ';' => parts.push(String::new()),
            ',' if is_list => parts.push(String::new()),
            c => part.push(c),
        }
    }
    parts
}
