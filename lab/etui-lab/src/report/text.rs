//! Escaping for each form of the report. Text from a results file is never
//! trusted: markup is escaped, control and direction characters are replaced. Names between
//! backticks get quotation marks on the page and in Markdown.

use std::borrow::Cow;
use std::fmt;

use unicode_width::UnicodeWidthStr;

/// Whether a character may change more than its own place: control characters (a terminal
/// obeys them, XML forbids them) and those that turn the direction of writing.
fn unsafe_char(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

/// Displays a value escaped for HTML, also between double quotes.
pub(super) struct HtmlText<T>(pub T);

impl<T: fmt::Display> fmt::Display for HtmlText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        let quotes = QuoteMarks::default();
        write!(HtmlEscaper { out: f, quotes }, "{}", self.0)
    }
}

/// Quotation marks for backticks, in turn: the one that opens, the one that closes.
#[derive(Default)]
struct QuoteMarks {
    open: bool,
}

impl QuoteMarks {
    fn next(&mut self) -> char {
        self.open = !self.open;
        if self.open { '\u{201c}' } else { '\u{201d}' }
    }
}

struct HtmlEscaper<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    quotes: QuoteMarks,
}

impl fmt::Write for HtmlEscaper<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.out.write_str("&amp;")?,
                '<' => self.out.write_str("&lt;")?,
                '>' => self.out.write_str("&gt;")?,
                '"' => self.out.write_str("&quot;")?,
                '\'' => self.out.write_str("&#39;")?,
                '`' => self.out.write_char(self.quotes.next())?,
                c if unsafe_char(c) => self.out.write_char('\u{fffd}')?,
                c => self.out.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// On one line, with nothing a terminal would obey.
pub(super) fn to_plain(text: &str) -> String {
    let safe: String = text
        .chars()
        .map(|c| if unsafe_char(c) { '\u{fffd}' } else { c })
        .collect();
    safe.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words for Markdown, on one line, also inside a table.
pub(super) fn escape_markdown(text: &str) -> String {
    let mut out = String::new();
    let mut quotes = QuoteMarks::default();
    for c in to_plain(text).chars() {
        match c {
            '`' => out.push(quotes.next()),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '*' | '_' | '[' | ']' | '#' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    // A line must not begin like a list.
    if out.starts_with(['-', '+']) {
        out.insert(0, '\\');
    }
    out
}

/// How wide a text is at the prompt.
pub(super) fn text_columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Lines no wider than `width` columns of a terminal; a longer word is broken.
pub(super) fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let plain = to_plain(text);
    if plain.is_empty() {
        return Vec::new();
    }
    let lines = textwrap::wrap(&plain, between_words(width.max(8)));
    lines.into_iter().map(Cow::into_owned).collect()
}

/// Returns how to wrap text: between words alone, each line as full as it can be.
pub(crate) fn between_words<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_are_made_harmless() {
        assert_eq!(
            HtmlText("<b a=\"'\">&\u{1b}[31m\u{202e}").to_string(),
            "&lt;b a=&quot;&#39;&quot;&gt;&amp;\u{fffd}[31m\u{fffd}"
        );
        assert_eq!(to_plain("a\n\u{7}b\t c"), "a \u{fffd}b c");
        assert_eq!(escape_markdown("a|b\n<i>*c*"), "a\\|b &lt;i>\\*c\\*");
        assert_eq!(escape_markdown("- x"), "\\- x");
    }

    #[test]
    fn lines_are_never_too_long() {
        assert_eq!(wrap_text("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap_text("abcdefghijkl m", 8), ["abcdefgh", "ijkl m"]);
        assert!(wrap_text("", 8).is_empty());
    }
}
