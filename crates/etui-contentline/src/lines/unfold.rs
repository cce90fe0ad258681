//! Joining the physical lines of a value.
//!
//! ```text
//! NOTE:prefers green\r\n                  fold: the blank is the fold's (RFC 6350 §3.2),
//!  tea\r\n                                or part of the text (RFC 822 §3.1.1, vCard 2.1)
//! NOTE;QUOTED-PRINTABLE:Z=C3=BC=\r\n      soft break: nothing is removed after it
//! rich\r\n
//! NOTE;QUOTED-PRINTABLE:=D0=9A=D0=\r\n    soft breaks before indented lines: the blanks are folds
//!  =B0=D0=BF=\r\n
//!  =D1=83\r\n
//! ```

use std::borrow::Cow;

use memchr::{memchr_iter, memchr2};

use super::{is_blank, physical_line, trim_blanks};

/// Joins the physical lines of a value whose folds are vCard 2.1's: the blank after a fold stays, as
/// a space. `head_len` is the length of the text before the value.
///
/// Programs that fold 2.1 as 3.0 cut at a fixed length, also within words: their blanks go.
pub(super) fn unfold_v21(raw: &[u8], head_len: usize, quoted_printable: bool) -> Cow<'_, [u8]> {
    unfold(raw, quoted_printable, !is_cut_at_length(raw, head_len))
}

/// Returns true if the physical lines, but for the last, are at least two and long alike, as far as
/// characters of several bytes allow.
fn is_cut_at_length(raw: &[u8], head_len: usize) -> bool {
    let mut lengths = Vec::new();
    let mut at = 0;
    while let Some((end, next)) = physical_line(raw, at) {
        lengths.push(end - at + if at == 0 { head_len } else { 0 });
        at = next;
    }
    lengths.pop();
    let (Some(&least), Some(&most)) = (lengths.iter().min(), lengths.iter().max()) else {
        return false;
    };
    // No program folds far below the limit of 75 or 76 octets. A character of UTF-8 is not cut, and
    // has up to 4.
    lengths.len() > 1 && least >= 70 && most - least <= if raw.is_ascii() { 0 } else { 3 }
}

/// Joins the physical lines of `raw`. With `keep_blanks`, the blank after a fold stays, as a space.
pub(super) fn unfold(raw: &[u8], quoted_printable: bool, keep_blanks: bool) -> Cow<'_, [u8]> {
    if memchr2(b'\n', b'\r', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let is_indented = quoted_printable && has_indented_lines(raw);
    let mut out = Vec::with_capacity(raw.len());
    // A soft break ends the line before.
    let mut follows_soft = false;
    let mut at = 0;
    while let Some((end, next)) = physical_line(raw, at) {
        let mut text = &raw[at..end];
        if let Some((b' ' | b'\t', rest)) = text.split_first()
            && at > 0
            && (!follows_soft || is_indented)
        {
            // A fold within a character of UTF-8 added its blank.
            let is_cut = rest.first().is_some_and(|byte| byte & 0xC0 == 0x80)
                && out.last().is_some_and(|byte| *byte >= 0x80);
            if keep_blanks && !follows_soft && !is_cut {
                out.push(b' ');
            }
            text = rest;
        }
        let before_break = strip_soft_break(text).filter(|_| quoted_printable && next > end);
        follows_soft = before_break.is_some();
        out.extend_from_slice(before_break.unwrap_or(text));
        at = next;
    }
    Cow::Owned(out)
}

/// Returns the text before a soft break, which blanks may follow (RFC 2045 §6.7 rule 3).
fn strip_soft_break(text: &[u8]) -> Option<&[u8]> {
    let visible = text.len() - text.iter().rev().take_while(|b| is_blank(&[**b])).count();
    text[..visible].strip_suffix(b"=")
}

/// Returns true if the blanks after the soft breaks of a quoted-printable value are folds.
///
/// RFC 2045 has no such folds: a blank there is text. Programs that fold their encoded lines as well
/// indent every one. One indented line proves it if the break is within a character of UTF-8, or
/// if all other blanks of the value are encoded.
fn has_indented_lines(raw: &[u8]) -> bool {
    let (mut lines, mut has_plain_blank, mut splits_character) = (0_usize, false, false);
    let mut before: Option<&[u8]> = None;
    let mut at = 0;
    while let Some((end, next)) = physical_line(raw, at) {
        let mut text = &raw[at..end];
        if let Some(before) = before.filter(|_| !text.is_empty()) {
            let Some((b' ' | b'\t', rest)) = text.split_first() else {
                return false;
            };
            lines += 1;
            let lead = before.len().checked_sub(3).map(|at| &before[at..]);
            splits_character |= lead.and_then(escaped_byte).is_some_and(|byte| byte >= 0x80)
                && escaped_byte(rest).is_some_and(|byte| byte & 0xC0 == 0x80);
            text = rest;
        }
        before = strip_soft_break(text).filter(|_| next > end);
        let text = before.unwrap_or_else(|| trim_blanks(text));
        has_plain_blank |= memchr2(b' ', b'\t', text).is_some();
        at = next;
    }
    let has_escape = || memchr_iter(b'=', raw).any(|at| escaped_byte(&raw[at..]).is_some());
    lines > 1 || splits_character || lines == 1 && !has_plain_blank && has_escape()
}

/// Returns the byte that `=XX` at the start of `text` stands for (RFC 2045 §6.7 rule 1).
pub(crate) fn escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'=', high, low, ..] = text else {
        return None;
    };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
}
