//! [`LineInput`]: a line of text that is edited, with the keys of a shell.

use ratatui::buffer::Buffer;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::draw::{BOLD, DIM, draw_text};
use super::key::Key;

/// A line of text and its cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    text: String,
    /// The position of the cursor in bytes, at a character.
    cursor: usize,
}

impl LineInput {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Replaces the text; the cursor is at its end.
    pub fn set_text(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.cursor = text.len();
    }

    /// Handles a key. Returns false if the key is not for editing.
    pub fn handle_key(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Text(text) => self.insert(text),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::Home | Key::Control('a') => self.cursor = 0,
            Key::End | Key::Control('e') => self.cursor = self.text.len(),
            Key::Backspace => self.delete_from(self.before()),
            Key::Delete => {
                let end = self.after();
                self.text.replace_range(self.cursor..end, "");
            }
            Key::Control('w') => {
                let head = self.head().trim_end();
                self.delete_from(head.rfind(' ').map_or(0, |space| space + 1));
            }
            Key::Control('u') => self.delete_from(0),
            Key::Control('k') => self.text.truncate(self.cursor),
            _ => return false,
        }
        true
    }

    /// Draws a label and the text; the part around the cursor if it is long. Returns the cursor's column.
    pub fn draw_input(
        &self,
        buffer: &mut Buffer,
        row: usize,
        label: &str,
        columns: usize,
    ) -> usize {
        draw_text(buffer, (0, row), label, columns, DIM);
        let start = label.width();
        let room = columns.saturating_sub(start + 1);
        let mut from = 0;
        while self.text.get(from..self.cursor).unwrap_or_default().width() > room {
            from += self
                .text
                .get(from..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8);
        }
        // A combining character at the start would join the label.
        let shown = self.text.get(from..).unwrap_or_default();
        let shown = shown.trim_start_matches(|c: char| c.width() == Some(0));
        let head = self.text.get(from..self.cursor).unwrap_or_default();
        draw_text(buffer, (start, row), shown, room + 1, BOLD);
        (start + head.width()).min(columns.saturating_sub(1))
    }

    fn head(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn before(&self) -> usize {
        self.head()
            .char_indices()
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let rest = self.text.get(self.cursor..).unwrap_or_default();
        self.cursor + rest.chars().next().map_or(0, char::len_utf8)
    }

    fn insert(&mut self, text: &str) {
        let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let visible: String = visible.collect();
        self.text.insert_str(self.cursor, &visible);
        self.cursor += visible.len();
    }

    fn delete_from(&mut self, start: usize) {
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::*;

    fn press(input: &mut LineInput, keys: &[Key]) -> String {
        for key in keys {
            assert!(input.handle_key(key), "{key:?}");
        }
        let (head, tail) = input.text.split_at(input.cursor);
        format!("{head}|{tail}")
    }

    #[test]
    fn keys_edit_the_text() {
        let mut input = LineInput::default();
        let text = Key::Text("Lunch\nwith Bób".to_owned());
        assert_eq!(press(&mut input, &[text]), "Lunch with Bób|");
        let keys = [Key::Left, Key::Left, Key::Backspace, Key::Char('R')];
        assert_eq!(press(&mut input, &keys), "Lunch with R|ób");
        assert_eq!(press(&mut input, &[Key::Delete]), "Lunch with R|b");
        assert_eq!(press(&mut input, &[Key::Control('w')]), "Lunch with |b");
        assert_eq!(press(&mut input, &[Key::Control('w')]), "Lunch |b");
        assert_eq!(press(&mut input, &[Key::End, Key::Right]), "Lunch b|");
        assert_eq!(press(&mut input, &[Key::Home, Key::Backspace]), "|Lunch b");
        assert_eq!(press(&mut input, &[Key::Right, Key::Control('k')]), "L|");
        assert_eq!(press(&mut input, &[Key::Control('u')]), "|");
        assert!(!input.handle_key(&Key::Up));
    }

    #[test]
    fn any_keys_and_widths() {
        let keys = [
            Key::Char('山'),
            Key::Text("e\u{301}👩‍🔬".to_owned()),
            Key::Left,
            Key::Right,
            Key::Backspace,
            Key::Delete,
            Key::Control('w'),
        ];
        let mut input = LineInput::default();
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 1));
        let mut state = 7usize;
        for _ in 0..5_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            input.handle_key(&keys[(state >> 33) % keys.len()]);
            for columns in [0, 1, 5, 20] {
                let column = input.draw_input(&mut buffer, 0, "Add: ", columns);
                assert!(column < columns.max(1));
            }
        }
    }
}
