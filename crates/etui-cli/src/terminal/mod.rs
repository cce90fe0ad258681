//! A full-screen terminal: keys in, frames out. It knows no records.
//!
//! - `session`: [`TerminalSession`]: events, frames, the clipboard, and giving the terminal to another program
//! - `restore`: the screen modes, restored by panics and signals; suspending
//! - `key`: keys and the moves that they stand for
//! - `input`: a line of text that is edited
//! - `draw`: text in a frame

mod draw;
mod input;
mod key;
mod restore;
mod session;

#[cfg(test)]
pub use draw::screen_text;
pub use draw::{BOLD, DIM, PLAIN, REVERSE, draw_rule, draw_text, style_of, to_cell};
pub use input::LineInput;
pub use key::{Key, Move};
pub use session::{TerminalEvent, TerminalSession};
