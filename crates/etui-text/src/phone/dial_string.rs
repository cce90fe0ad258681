//! The first step of parsing a phone number: from text to dialled digits, a plus
//! and an extension, without rules of any country.

use super::plans::ZEROS;
use super::{Digits, MAX_DIGITS, MAX_EXTENSION};

/// The symbols that are looked at. Longer text is cut; a number with its
/// extension is far shorter.
const MAX_SYMBOLS: usize = 160;

/// The word for extension, as symbols, longest first where one ends another;
/// with the digits that may follow it. The shorter the word, the more it can be
/// something else.
static LABELS: [(&[u8], usize); 16] = [
    (b";ext=", 20),
    (b"extension", 20),
    (b"extensio", 20),
    (b"extn", 20),
    (b"ext", 20),
    (b"xtn", 20),
    (b"xt", 20),
    (b"anexo", 20),
    (b"DOB", 20),
    (b"int", 9),
    (b"x", 9),
    (b"#", 9),
    (b"~", 9),
    (b";", 15),
    (b"p", 9),
    (b"w", 9),
];

/// The dialled digits of a number as written.
pub(super) struct DialString {
    /// The digits as dialled; `*` and `#` too in a service code.
    pub(super) digits: Digits<MAX_DIGITS>,
    /// A plus stood before them.
    pub(super) plus: bool,
    /// Begins with `*` or `#`.
    pub(super) service: bool,
    /// Letters are in the number itself, dialled or not; not those of an extension's label.
    pub(super) has_letters: bool,
    /// How many of the digits are before the first letter that is dialled.
    pub(super) before_letters: Option<usize>,
    /// There were more digits than were kept.
    pub(super) overlong: bool,
    /// Which of the digits is a zero alone in parentheses.
    pub(super) optional_zero: Option<usize>,
    /// The extension's digits.
    pub(super) extension: Digits<MAX_EXTENSION>,
}

impl DialString {
    /// Reads a whole number.
    pub(super) fn of(text: &str) -> DialString {
        DialString::parse_text(text, true)
    }

    /// Reads a part of a number, which has no extension.
    pub(super) fn parse_part(text: &str) -> DialString {
        DialString::parse_text(text, false)
    }

    fn parse_text(text: &str, whole: bool) -> DialString {
        let mut symbols = [0; MAX_SYMBOLS];
        let length = fold_symbols(text, &mut symbols);
        let symbols = symbols.get(..length).unwrap_or_default();
        let mut reading = DialString {
            digits: Digits::EMPTY,
            plus: false,
            service: false,
            has_letters: false,
            before_letters: None,
            overlong: false,
            optional_zero: None,
            extension: Digits::EMPTY,
        };
        let symbols = symbols.trim_ascii();
        if matches!(symbols.first(), Some(b'*' | b'#')) {
            reading.service = true;
            for &c in symbols {
                if c.is_ascii_digit() || c == b'*' || c == b'#' {
                    reading.overlong |= !reading.digits.push(c);
                }
            }
            return reading;
        }
        let (number, parameters) = split_parameters(symbols);
        if let Some(context) = uri_parameter(parameters, b";phone-context=")
            && context.first() == Some(&b'+')
        {
            reading.plus = true;
            reading.collect(context, false);
        }
        let start = number.iter().position(|&c| c == b'+' || c.is_ascii_digit());
        let mut number = number
            .get(start.unwrap_or(number.len())..)
            .unwrap_or_default();
        if whole {
            number = first_number(number);
            let (before, extension) = split_extension(number);
            number = before;
            let given = uri_parameter(parameters, b";ext=").unwrap_or(extension);
            for &c in given.iter().filter(|c| c.is_ascii_digit()) {
                reading.extension.push(c);
            }
        }
        reading.plus |= number.first() == Some(&b'+');
        reading.has_letters = number.iter().any(|c| c.is_ascii_alphabetic() || *c == b'?');
        let letters = has_keypad_letters(number);
        reading.collect(number, letters);
        reading
    }

    /// Returns the number without its letters and what follows them: a remark, if the digits before it
    /// are a number. `None` if no letter is dialled.
    pub(super) fn without_remark(&self) -> Option<DialString> {
        let digits = self.digits.bytes().get(..self.before_letters?)?;
        Some(DialString {
            digits: Digits::of(digits),
            before_letters: None,
            overlong: false,
            ..*self
        })
    }

    fn collect(&mut self, symbols: &[u8], letters: bool) {
        for (i, &c) in symbols.iter().enumerate() {
            let digit = match c {
                b'0'..=b'9' => c,
                b'a'..=b'z' if letters => {
                    let before = usize::from(self.digits.len);
                    self.before_letters.get_or_insert(before);
                    keypad_digit(c)
                }
                _ => continue,
            };
            if c == b'0' && i > 0 && symbols.get(i - 1..i + 2) == Some(b"(0)") {
                self.optional_zero
                    .get_or_insert(usize::from(self.digits.len));
            }
            self.overlong |= !self.digits.push(digit);
        }
    }
}

/// Brings text to one ASCII symbol a character: digits of any script to `0`-`9`,
/// ASCII letters to small ones, wide forms to narrow ones, dashes to `-`, spaces
/// to one ` `; the Cyrillic letters of the word for extension to `D`, `O`, `B`;
/// any other letter to `?`. Invisible characters go. Returns how many there are.
fn fold_symbols(text: &str, symbols: &mut [u8; MAX_SYMBOLS]) -> usize {
    let mut length = 0;
    let mut last = 0;
    for c in text.chars() {
        let Some(symbol) = fold_char(c) else {
            continue;
        };
        if symbol == b' ' && last == b' ' {
            continue;
        }
        let Some(place) = symbols.get_mut(length) else {
            break;
        };
        *place = symbol;
        last = symbol;
        length += 1;
    }
    length
}

#[inline]
fn fold_char(c: char) -> Option<u8> {
    if c.is_ascii_digit() {
        return Some(c as u8);
    }
    let symbol = match c {
        '\t' | '\n' | '\r' => b' ',
        '\0'..='\x1f' | '\x7f' => return None,
        '\x20'..='\x7e' => (c as u8).to_ascii_lowercase(),
        // The fullwidth forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => ((c as u32 - 0xff01) as u8 + b'!').to_ascii_lowercase(),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{30fc}' => b'-',
        '\u{2053}' | '\u{223c}' => b'~',
        '\u{ad}' | '\u{301}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => return None,
        '\u{2060}'..='\u{2069}' | '\u{feff}' => return None,
        'ó' | 'Ó' => b'o',
        // `доб` labels an extension in Russian.
        'д' | 'Д' => b'D',
        'о' | 'О' => b'O',
        'б' | 'Б' => b'B',
        c if c.is_whitespace() => b' ',
        c => decimal_digit(c).unwrap_or(b'?'),
    };
    Some(symbol)
}

/// Returns the ASCII digit for a decimal digit of any script.
pub(super) fn decimal_digit(c: char) -> Option<u8> {
    let c = c as u32;
    // The last zero that is not after the character: its ten digits follow it.
    let zero = ZEROS.get(ZEROS.partition_point(|&zero| zero <= c).checked_sub(1)?)?;
    (c - zero < 10).then(|| b'0' + (c - zero) as u8)
}

/// A `tel:` URI (RFC 3966 §3) without its scheme, and its parameters: from the
/// first `;` on if there is any `name=value`; otherwise a `;` begins an extension.
fn split_parameters(symbols: &[u8]) -> (&[u8], &[u8]) {
    let symbols = symbols.strip_prefix(b"tel:").unwrap_or(symbols);
    let at = symbols
        .iter()
        .position(|&c| c == b';')
        .filter(|_| symbols.contains(&b'='));
    symbols
        .split_at_checked(at.unwrap_or(symbols.len()))
        .unwrap_or((symbols, &[]))
}

/// The value of an RFC 3966 parameter, by its name with `;` and `=`.
fn uri_parameter<'a>(parameters: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = parameters
        .windows(name.len())
        .position(|part| part == name)?;
    let value = parameters.get(at + name.len()..)?;
    value.split(|&c| c == b';').next()
}

/// Cuts off a second number, which begins with a further plus, or `/x`, `\x` as in
/// "583-6985 x302/x2303".
fn first_number(symbols: &[u8]) -> &[u8] {
    let mut digits = 0;
    for (i, &c) in symbols.iter().enumerate() {
        let second = match c {
            b'0'..=b'9' => {
                digits += 1;
                false
            }
            b'+' => digits >= 3,
            b'/' | b'\\' => {
                let rest = symbols.get(i + 1..).unwrap_or_default();
                rest.trim_ascii_start().first() == Some(&b'x')
            }
            _ => false,
        };
        if second {
            return symbols.get(..i).unwrap_or(symbols);
        }
    }
    symbols
}

/// The number and the digits of its extension, which are empty if it has none.
fn split_extension(symbols: &[u8]) -> (&[u8], &[u8]) {
    find_extension(symbols).unwrap_or((symbols, &[]))
}

fn find_extension(symbols: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = symbols
        .iter()
        .rposition(|c| c.is_ascii_alphanumeric() || *c == b'#')?
        + 1;
    let marked = symbols.get(..end)?;
    let (body, hash) = match marked.strip_suffix(b"#") {
        Some(body) => (body, true),
        None => (marked, false),
    };
    let start = body.iter().rposition(|c| !c.is_ascii_digit())? + 1;
    let (head, digits) = body.split_at_checked(start)?;
    if digits.is_empty() {
        return None;
    }
    let number = before_label(head, digits.len()).or_else(|| {
        // "583-6985 - 503#"
        let number = trim_end(head, b" -");
        (hash && digits.len() <= 6 && number.len() < head.len()).then_some(number)
    })?;
    let viable = number.iter().filter(|c| c.is_ascii_digit()).count() >= 3;
    viable.then_some((number, digits))
}

/// Returns the text before the label of an extension of `digits` digits.
fn before_label(head: &[u8], digits: usize) -> Option<&[u8]> {
    let gap = trim_end(head, b" ,-");
    let label = gap
        .strip_suffix(b":")
        .or_else(|| gap.strip_suffix(b"."))
        .unwrap_or(gap);
    let labelled = label
        .last()
        .is_some_and(|c| !c.is_ascii_digit() && *c != b')');
    for (word, limit) in LABELS.iter().filter(|_| labelled) {
        let Some(number) = label.strip_suffix(*word) else {
            continue;
        };
        // "1-800-GROUP 12" is a word, not a pause.
        let pause = matches!(*word, b"p" | b"w");
        let in_word = number.last().is_some_and(u8::is_ascii_lowercase);
        if digits <= *limit && !(pause && in_word) {
            return Some(trim_end(number, b" ,"));
        }
    }
    let commas = head
        .get(gap.len()..)?
        .iter()
        .filter(|&&c| c == b',')
        .count();
    let limit = match commas {
        0 => 0,
        1 => 9,
        _ => 15,
    };
    (digits <= limit).then_some(gap)
}

fn trim_end<'a>(mut symbols: &'a [u8], what: &[u8]) -> &'a [u8] {
    while let Some((last, rest)) = symbols.split_last() {
        if !what.contains(last) {
            break;
        }
        symbols = rest;
    }
    symbols
}

/// Returns true if the letters are dialled: three of them or more after three
/// digits, and no character foreign to numbers.
fn has_keypad_letters(symbols: &[u8]) -> bool {
    let Some(first) = symbols.iter().position(u8::is_ascii_lowercase) else {
        return false;
    };
    let (before, after) = symbols.split_at_checked(first).unwrap_or((symbols, &[]));
    before.iter().filter(|c| c.is_ascii_digit()).count() >= 3
        && after.iter().filter(|c| c.is_ascii_lowercase()).count() >= 3
        && !after
            .iter()
            .any(|c| matches!(c, b'?' | b'@' | b'D' | b'O' | b'B' | b':' | b'='))
}

/// The key of a small letter (ITU-T E.161).
fn keypad_digit(letter: u8) -> u8 {
    let at = usize::from(letter.wrapping_sub(b'a'));
    *b"22233344455566677778889999".get(at).unwrap_or(&b'9')
}
