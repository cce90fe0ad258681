//! [`Words`]: text for a terminal, wrapped; and parts of it.

use unicode_width::UnicodeWidthStr;

use crate::report::text::between_words;

/// Lines of text, wrapped.
pub struct Words {
    text: String,
    width: usize,
}

impl Words {
    /// Begins a text in lines of this width.
    pub fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            width,
        }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn into_text(self) -> String {
        self.text
    }

    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes an empty line and a line.
    pub fn heading(&mut self, line: &str) {
        self.text.push('\n');
        self.line(line);
    }

    /// Writes a paragraph after a label; further lines are as far in.
    pub fn labelled(&mut self, indent: usize, label: &str, pad: usize, words: &str) {
        let first = format!("{:indent$}{label:pad$}", "");
        let further = " ".repeat(indent + pad);
        let options = between_words(self.width).break_words(false);
        let options = options.initial_indent(&first).subsequent_indent(&further);
        self.line(&textwrap::fill(words, options));
    }

    pub fn paragraph(&mut self, words: &str) {
        self.labelled(2, "", 0, words);
    }

    /// Writes an item of a list.
    pub fn item(&mut self, bullet: &str, words: &str) {
        self.labelled(2, bullet, bullet.width() + 1, words);
    }
}

/// Returns a text without characters that a terminal would obey.
pub fn printable(text: &str) -> String {
    let replace = |c: char| match c {
        '\n' | '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(replace).collect()
}

pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A size of a page in words.
pub fn kibibytes(bytes: u32) -> String {
    match bytes {
        ..1024 => format!("{bytes} bytes"),
        _ => format!("{} KiB", bytes / 1024),
    }
}
