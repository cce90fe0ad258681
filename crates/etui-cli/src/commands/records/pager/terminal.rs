//! [`Terminal`]: keys in, lines out. However the program ends, the terminal is left as it was.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use crossterm::event::{self, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::{cursor, queue, terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::state::Key;
use super::view::{Screen, Span, Style};
use crate::errors::{Failure, Result};

/// Whether the terminal is ours, and must be given back.
static OURS: AtomicBool = AtomicBool::new(false);
/// Held by whoever writes to the terminal.
static WRITING: Mutex<()> = Mutex::new(());

fn writing() -> MutexGuard<'static, ()> {
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    Key(Key),
    Resized,
    Other,
}

/// The terminal, taken over until it is dropped.
pub struct Terminal {
    /// What is on it now.
    drawn: Screen,
    size: (usize, usize),
    colour: bool,
}

fn failed(error: io::Error) -> Failure {
    Failure::named_io("the terminal", error)
}

impl Terminal {
    /// Takes the terminal over.
    pub fn open(colour: bool) -> Result<Self> {
        static GUARDS: Once = Once::new();
        let mut guarded = Ok(());
        GUARDS.call_once(|| guarded = give_back_at_the_end());
        guarded.map_err(failed)?;
        let _writing = writing();
        OURS.store(true, Ordering::SeqCst);
        let mut opened = Self {
            drawn: Screen::default(),
            size: size(),
            colour,
        };
        opened.take_over().map_err(failed)?;
        Ok(opened)
    }

    fn take_over(&mut self) -> io::Result<()> {
        terminal::enable_raw_mode()?;
        let mut out = io::stdout();
        queue!(
            out,
            terminal::EnterAlternateScreen,
            terminal::DisableLineWrap,
            event::EnableBracketedPaste,
            cursor::Hide,
            terminal::Clear(terminal::ClearType::All)
        )?;
        out.flush()
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Shows a screen: the lines that are not there already.
    pub fn draw(&mut self, screen: &Screen) -> Result<()> {
        let mut bytes = Vec::new();
        self.changes(screen, &mut bytes).map_err(failed)?;
        self.drawn.clone_from(screen);
        let _writing = writing();
        let mut out = io::stdout();
        out.write_all(&bytes)
            .and_then(|()| out.flush())
            .map_err(failed)
    }

    fn changes(&self, screen: &Screen, out: &mut Vec<u8>) -> io::Result<()> {
        queue!(out, terminal::BeginSynchronizedUpdate, cursor::Hide)?;
        for (row, line) in screen.lines.iter().enumerate() {
            if self.drawn.lines.get(row) == Some(line) {
                continue;
            }
            let row = cell(row);
            queue!(
                out,
                cursor::MoveTo(0, row),
                terminal::Clear(terminal::ClearType::CurrentLine)
            )?;
            for Span {
                column,
                text,
                style,
            } in line
            {
                // Where each piece begins does not depend on how wide the terminal takes those
                // before to be.
                queue!(out, cursor::MoveTo(cell(*column), row))?;
                let attribute = match style {
                    _ if !self.colour => None,
                    Style::Plain => None,
                    Style::Bold => Some(Attribute::Bold),
                    Style::Dim => Some(Attribute::Dim),
                    Style::Reverse => Some(Attribute::Reverse),
                };
                match attribute {
                    Some(attribute) => queue!(
                        out,
                        SetAttribute(attribute),
                        Print(text),
                        SetAttribute(Attribute::Reset)
                    )?,
                    None => queue!(out, Print(text))?,
                }
            }
        }
        if let Some(column) = screen.cursor {
            queue!(out, cursor::MoveTo(cell(column), 0), cursor::Show)?;
        }
        queue!(out, terminal::EndSynchronizedUpdate)
    }

    /// Waits for something to happen.
    pub fn next(&mut self) -> Result<Event> {
        Ok(match event::read().map_err(failed)? {
            event::Event::Key(key) if key.kind != KeyEventKind::Release => {
                Event::Key(meaning(key.code, key.modifiers))
            }
            event::Event::Paste(text) => Event::Key(Key::Text(text)),
            event::Event::Resize(..) => {
                self.size = size();
                // Terminals differ in what they do with lines that do not fit any more.
                self.drawn = Screen::default();
                let _writing = writing();
                let mut out = io::stdout();
                queue!(out, terminal::Clear(terminal::ClearType::All)).map_err(failed)?;
                Event::Resized
            }
            _ => Event::Other,
        })
    }

    /// Whether something happened already.
    pub fn has_more(&self) -> Result<bool> {
        event::poll(Duration::ZERO).map_err(failed)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(give_back());
    }
}

/// Columns and rows; of a terminal that does not say, those of old.
fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

fn cell(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

/// Leaves the terminal as it was, once. Nobody writes to it while the answer is held.
fn give_back() -> MutexGuard<'static, ()> {
    let writing = writing();
    if !OURS.swap(false, Ordering::SeqCst) {
        return writing;
    }
    // If it cannot be written to, there is nobody to tell.
    let mut out = io::stdout();
    let _ = queue!(
        out,
        terminal::EndSynchronizedUpdate,
        SetAttribute(Attribute::Reset),
        event::DisableBracketedPaste,
        terminal::EnableLineWrap,
        cursor::Show,
        terminal::LeaveAlternateScreen
    );
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
    writing
}

/// Gives the terminal back also when a signal or a panic ends the program.
fn give_back_at_the_end() -> io::Result<()> {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        drop(give_back());
        before(panic);
    }));
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                let _writing = give_back();
                // As if it had not been caught: the program ends by it.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
    Ok(())
}

fn meaning(code: KeyCode, modifiers: KeyModifiers) -> Key {
    if modifiers.contains(KeyModifiers::CONTROL) {
        return match code {
            KeyCode::Char('c') => Key::Quit,
            KeyCode::Char('g') => Key::Jump,
            KeyCode::Char('h') => Key::Backspace,
            KeyCode::Char('u') => Key::DropAll,
            KeyCode::Char('w') => Key::DropWord,
            KeyCode::Home => Key::Home,
            KeyCode::End => Key::End,
            _ => Key::Other,
        };
    }
    match code {
        KeyCode::Char(c) if !modifiers.contains(KeyModifiers::ALT) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Esc => Key::Escape,
        _ => Key::Other,
    }
}
