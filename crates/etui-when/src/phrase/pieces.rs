//! The words of a phrase, and its quoted parts.

use super::super::language::japanese::{is_japanese, split_japanese};

/// A word, or a quoted part of the title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'t> {
    pub text: &'t str,
    /// Whether no space is before it: a part of a Japanese text.
    pub is_glued: bool,
    pub is_quoted: bool,
}

/// Splits a text at white space, but not within double quotes.
pub fn split_pieces(text: &str) -> Vec<Piece<'_>> {
    const OPENING: [char; 4] = ['"', '\u{201c}', '\u{201e}', '\u{ab}'];
    const CLOSING: [char; 4] = ['"', '\u{201d}', '\u{201c}', '\u{bb}'];
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    let mut is_after_time = false;
    while !rest.is_empty() {
        let inner = rest.strip_prefix(OPENING).unwrap_or_default();
        let quoted = inner.find(CLOSING).filter(|end| *end > 0);
        let is_word_end = |end: usize| {
            let after = inner.get(end..).and_then(|rest| rest.chars().nth(1));
            after.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | ':' | ';'))
        };
        let (word, is_quoted, length) = match quoted.filter(|end| is_word_end(*end)) {
            Some(end) => {
                let closing = inner.get(end..).and_then(|rest| rest.chars().next());
                let opening = rest.len() - inner.len();
                let length = opening + end + closing.map_or(0, char::len_utf8);
                (rest.get(..length).unwrap_or(rest), true, length)
            }
            None => {
                let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (rest.get(..length).unwrap_or(rest), false, length)
            }
        };
        let mut push = |text, is_glued| {
            pieces.push(Piece {
                text,
                is_glued,
                is_quoted,
            });
        };
        match !is_quoted && is_japanese(word) {
            true => {
                let parts = split_japanese(word, &mut is_after_time);
                parts
                    .iter()
                    .enumerate()
                    .for_each(|(at, part)| push(part.text, at > 0));
            }
            false => push(word, false),
        }
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    pieces
}

/// Joins pieces as they were written.
pub fn join_pieces<'t>(pieces: impl IntoIterator<Item = &'t Piece<'t>>) -> String {
    let mut text = String::new();
    for piece in pieces {
        if !text.is_empty() && !piece.is_glued {
            text.push(' ');
        }
        text.push_str(piece.text);
    }
    text
}
