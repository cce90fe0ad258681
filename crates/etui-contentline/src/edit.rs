//! Edits of single lines of a record that leave every other byte as it was.
//!
//! ```text
//! BEGIN:VEVENT        own line
//! SUMMARY:old     ->  SUMMARY:new        the line's span is replaced
//! BEGIN:VALARM        nested: not an own line
//! END:VALARM
//! END:VEVENT          own line
//! ```

use std::ops::Range;

use super::lines::{ContentLine, ContentLines, Delimiter, parse_params};

/// Octets of a physical line without its end (RFC 5545 §3.1, RFC 6350 §3.2).
pub const MAX_LINE_OCTETS: usize = 75;

/// Iterates over the lines of the records in `text`, without those of nested components. With a
/// `name`, only components of that name count as nested.
pub fn own_lines<'t>(text: &'t [u8], name: Option<&str>) -> impl Iterator<Item = ContentLine<'t>> {
    let mut depth = 0usize;
    ContentLines::new(text).filter(move |line| {
        let edge = line
            .delimiter()
            .filter(|(_, found)| name.is_none_or(|n| found.eq_ignore_ascii_case(n.as_bytes())))
            .map(|(edge, _)| edge);
        if edge == Some(Delimiter::Begin) {
            depth += 1;
        }
        let own = depth <= 1;
        if edge == Some(Delimiter::End) {
            depth = depth.saturating_sub(1);
        }
        own
    })
}

/// Replaces the range `place` of `text`, which begins at a line start, by `new`.
pub fn splice_line(text: &[u8], place: Range<usize>, new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + new.len());
    out.extend_from_slice(&text[..place.start]);
    // The last line of the text may have no line end.
    if !matches!(out.last(), None | Some(b'\n' | b'\r')) {
        out.extend_from_slice(line_ending(text));
    }
    if ends_in_soft_break(text, place.start) {
        // An empty line ends the quoted-printable value before the new line.
        let after_cr = out.last() == Some(&b'\r');
        out.extend_from_slice(match line_ending(text) {
            b"\n" if after_cr => b"\r\n",
            ending => ending,
        });
    }
    out.extend_from_slice(new);
    out.extend_from_slice(&text[place.end..]);
    out
}

/// Removes `spans`, which are in order, from `text`.
pub fn remove_spans(text: &[u8], spans: &[Range<usize>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        out.extend_from_slice(&text[from..span.start]);
        from = span.end;
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// Returns true if the line before `at` is quoted-printable and ends with a soft break. A line
/// inserted there would become its continuation.
fn ends_in_soft_break(text: &[u8], at: usize) -> bool {
    ContentLines::new(text)
        .find(|line| line.span.end >= at)
        .is_some_and(|line| {
            line.span.end == at
                && line.is_quoted_printable()
                && line.raw().trim_ascii_end().ends_with(b"=")
        })
}

/// Returns group, name and parameters of a line, without the parameters named in `drop`.
pub fn head_without(line: &ContentLine<'_>, drop: &[&str]) -> String {
    let mut head = String::new();
    if let Some(group) = line.group {
        head.push_str(&String::from_utf8_lossy(group));
        head.push('.');
    }
    head.push_str(&String::from_utf8_lossy(line.name));
    for param in parse_params(&line.unfolded_params()) {
        let dropped = drop
            .iter()
            .any(|d| param.name.eq_ignore_ascii_case(d.as_bytes()));
        if !dropped && !param.text.is_empty() {
            head.push(';');
            head.push_str(&String::from_utf8_lossy(param.text));
        }
    }
    head
}

/// Returns true if `name` can be the name of a property: letters, digits and `-`, and not `BEGIN`,
/// `END` or `VERSION`.
pub fn is_property_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && !is_one_of(&["BEGIN", "END", "VERSION"], name)
}

/// Returns true if `name` is one of `names`, in any case.
pub fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|n| n.eq_ignore_ascii_case(name))
}

/// Returns the line end of the first line of `text`; CRLF if it has none.
pub fn line_ending(text: &[u8]) -> &'static [u8] {
    match memchr::memchr2(b'\r', b'\n', text) {
        Some(at) if text[at] == b'\n' => b"\n",
        Some(at) if text.get(at + 1) != Some(&b'\n') => b"\r",
        _ => b"\r\n",
    }
}

/// Folds a line at 75 octets, never inside a character, and ends it.
pub fn fold_line(line: &str, ending: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() + line.len() / 40 + 2);
    let mut rest = line;
    let mut room = MAX_LINE_OCTETS;
    while rest.len() > room {
        let (now, later) = rest.split_at(rest.floor_char_boundary(room));
        out.extend_from_slice(now.as_bytes());
        out.extend_from_slice(ending);
        out.push(b' ');
        rest = later;
        room = MAX_LINE_OCTETS - 1;
    }
    out.extend_from_slice(rest.as_bytes());
    out.extend_from_slice(ending);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_a_soft_break_is_a_line_of_its_own() {
        for (before, empty) in [("\n", "\n"), ("\r\n", "\n"), ("\r", "\r\n")] {
            let start = format!("BEGIN:VCARD\nN;ENCODING=QUOTED-PRINTABLE:a={before}");
            let text = format!("{start}END:VCARD\n");
            let spliced = splice_line(text.as_bytes(), start.len()..start.len(), b"X:1\n");
            let expected = format!("{start}{empty}X:1\nEND:VCARD\n");
            assert_eq!(String::from_utf8_lossy(&spliced), expected);
            assert!(own_lines(&spliced, None).any(|line| line.name_is("X")));
        }
    }

    #[test]
    fn folds_are_between_characters() {
        let line = format!("X:{}", "ü".repeat(100));
        let folded = fold_line(&line, b"\r\n");
        assert!(folded.split(|&b| b == b'\n').all(|line| line.len() <= 76));
        let text = String::from_utf8(folded).unwrap_or_default();
        assert_eq!(text.replace("\r\n ", ""), line + "\r\n");
    }
}
