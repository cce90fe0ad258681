//! Writing a line of vCard 2.1, which has no escape but `\;`.
//!
//! ```text
//! NOTE:tea\, milk       NOTE:tea, milk
//! NOTE:Müller\nC:\\     NOTE;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller=0D=0AC:=5C
//! ```

use etui_contentline::edit::MAX_LINE_OCTETS;

/// Returns the line for a value that is escaped as in 3.0.
///
/// It is quoted-printable if the value has a character that 2.1 cannot write, or one that a reader may
/// take for an escape. A long one is, too: the blank of a fold would be part of its text.
pub(crate) fn encode_line(head: &str, value: &str, ending: &[u8]) -> Vec<u8> {
    let plain = unescape(value, |out, text| match text {
        '\n' => out.push_str("\r\n"),
        _ => out.push(text),
    });
    let is_plain = plain
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && !value.contains("\\\\")
        && head.len() + 1 + plain.len() <= MAX_LINE_OCTETS;
    if is_plain {
        return [head.as_bytes(), b":", plain.as_bytes(), ending].concat();
    }
    let encoded = unescape(value, |out, text| match text {
        '\n' => out.push_str("=0D=0A"),
        ' '..='<' | '>'..='[' | ']'..='~' => out.push(text),
        _ => {
            let mut bytes = [0; 4];
            for byte in text.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("={byte:02X}"));
            }
        }
    });
    break_lines(head, &encoded, ending)
}

/// Replaces the escapes of 3.0: `put` writes each character of text, and the escaped semicolons keep
/// their backslash.
fn unescape(value: &str, mut put: impl FnMut(&mut String, char)) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        match (char, (char == '\\').then(|| chars.next()).flatten()) {
            ('\\', Some('n' | 'N')) => put(&mut out, '\n'),
            ('\\', Some(';')) => out.push_str("\\;"),
            ('\\', Some(text)) => put(&mut out, text),
            (text, _) => put(&mut out, text),
        }
    }
    out
}

/// RFC 2045 §6.7, as vCard 2.1 §2.1.3 uses it.
fn break_lines(head: &str, encoded: &str, ending: &[u8]) -> Vec<u8> {
    let mut out = format!("{head};CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:").into_bytes();
    let mut column = out.len();
    let mut rest = encoded;
    while !rest.is_empty() {
        let width = if rest.starts_with('=') { 3 } else { 1 };
        let (token, after) = rest.split_at(width.min(rest.len()));
        rest = after;
        if column + token.len() >= MAX_LINE_OCTETS {
            out.push(b'=');
            out.extend_from_slice(ending);
            column = 0;
        }
        // A blank at the start of a line could be a fold.
        let token = match token {
            " " if column == 0 => "=20",
            token => token,
        };
        out.extend_from_slice(token.as_bytes());
        column += token.len();
    }
    out.extend_from_slice(ending);
    out
}
