//! [`Key`], and [`Move`]: the moves in a list, by the keys of less, vim and Emacs.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// A letter with Ctrl.
    Control(char),
    /// Pasted text.
    Text(String),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Tab,
    /// Shift-Tab.
    BackTab,
    Backspace,
    Delete,
    Escape,
    /// Ctrl-C.
    Quit,
    /// A key without a function.
    Other,
}

/// A move in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

impl Key {
    /// Translates a key event.
    pub fn of_event(event: KeyEvent) -> Self {
        let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
        match event.code {
            KeyCode::Char('c') if is_control => Self::Quit,
            KeyCode::Char('h') if is_control => Self::Backspace,
            KeyCode::Char(c) if is_control => Self::Control(c.to_ascii_lowercase()),
            KeyCode::Char(c) if !event.modifiers.contains(KeyModifiers::ALT) => Self::Char(c),
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            _ if is_control => Self::Other,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Enter => Self::Enter,
            KeyCode::Tab => Self::Tab,
            KeyCode::BackTab => Self::BackTab,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Delete => Self::Delete,
            KeyCode::Esc => Self::Escape,
            _ => Self::Other,
        }
    }

    /// Returns the move of a key, where letters are not text.
    pub fn to_move(&self) -> Option<Move> {
        Some(match self {
            Self::Char('k') => Move::Up,
            Self::Char('j') => Move::Down,
            Self::Char('g') => Move::First,
            Self::Char('G') => Move::Last,
            Self::Home => Move::First,
            Self::End => Move::Last,
            key => return key.to_text_move(),
        })
    }

    /// Returns the move of a key while a text is edited.
    pub fn to_text_move(&self) -> Option<Move> {
        Some(match self {
            Self::Up | Self::Control('p') => Move::Up,
            Self::Down | Self::Control('n') => Move::Down,
            Self::PageUp | Self::Control('b') => Move::PageUp,
            Self::PageDown | Self::Control('f') => Move::PageDown,
            _ => return None,
        })
    }
}

impl Move {
    /// Returns the position after the move in a list that scrolls: `last` is the highest position.
    pub fn apply(self, position: usize, page: usize, last: usize) -> usize {
        let position = match self {
            Self::Up => position.saturating_sub(1),
            Self::Down => position.saturating_add(1),
            Self::PageUp => position.saturating_sub(page),
            Self::PageDown => position.saturating_add(page),
            Self::First => 0,
            Self::Last => last,
        };
        position.min(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_stay_in_the_list() {
        assert_eq!(Move::Down.apply(9, 5, 9), 9);
        assert_eq!(Move::PageDown.apply(2, 5, 9), 7);
        assert_eq!(Move::PageUp.apply(2, 5, 9), 0);
        assert_eq!(Move::Last.apply(0, 5, 0), 0);
    }

    #[test]
    fn letters_move_only_where_they_are_not_text() {
        assert_eq!(Key::Char('j').to_move(), Some(Move::Down));
        assert_eq!(Key::Char('j').to_text_move(), None);
        assert_eq!(Key::Home.to_text_move(), None);
        assert_eq!(Key::Control('n').to_text_move(), Some(Move::Down));
    }
}
