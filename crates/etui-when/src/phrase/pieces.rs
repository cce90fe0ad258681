//! The words of a phrase, and its quoted parts.

/// A word, or a quoted part of the title.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'t> {
    pub text: &'t str,
    pub is_quoted: bool,
}

/// Splits a text at white space, but not within double quotes.
pub fn split_pieces(text: &str) -> Vec<Piece<'_>> {
    const OPENING: [char; 4] = ['"', '\u{201c}', '\u{201e}', '\u{ab}'];
    const CLOSING: [char; 4] = ['"', '\u{201d}', '\u{201c}', '\u{bb}'];
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let inner = rest.strip_prefix(OPENING).unwrap_or_default();
        let quoted = inner.find(CLOSING).filter(|end| *end > 0);
        let is_word_end = |end: usize| {
            let after = inner.get(end..).and_then(|rest| rest.chars().nth(1));
            after.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | ':' | ';'))
        };
        let (piece, length) = match quoted.filter(|end| is_word_end(*end)) {
            Some(end) => {
                let closing = inner.get(end..).and_then(|rest| rest.chars().next());
                let opening = rest.len() - inner.len();
                let length = opening + end + closing.map_or(0, char::len_utf8);
                (
                    Piece {
                        text: rest.get(..length).unwrap_or(rest),
                        is_quoted: true,
                    },
                    length,
                )
            }
            None => {
                let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (
                    Piece {
                        text: rest.get(..length).unwrap_or(rest),
                        is_quoted: false,
                    },
                    length,
                )
            }
        };
        pieces.push(piece);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    pieces
}
