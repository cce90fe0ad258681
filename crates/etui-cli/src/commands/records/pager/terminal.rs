//! [`PagerTerminal`]: key events and drawing. The terminal is restored however the program ends.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use crossterm::event::{self, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, queue, terminal};
use ratatui::backend::CrosstermBackend;
use ratatui::style::Style;
use ratatui::{Frame, Terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::state::PagerKey;
use crate::errors::{Failure, Result};

/// Whether the terminal has to be restored.
static IS_OPEN: AtomicBool = AtomicBool::new(false);
/// Held while writing to the terminal.
static OUTPUT: Mutex<()> = Mutex::new(());

fn lock_output() -> MutexGuard<'static, ()> {
    OUTPUT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An event of the terminal.
#[derive(Debug)]
pub enum TerminalEvent {
    Key(PagerKey),
    Resize,
    Other,
}

/// The terminal in raw mode on the alternate screen, until it is dropped.
pub struct PagerTerminal {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    has_colour: bool,
}

fn terminal_error(error: io::Error) -> Failure {
    Failure::named_io("the terminal", error)
}

impl PagerTerminal {
    /// Opens the terminal.
    pub fn open(has_colour: bool) -> Result<Self> {
        static HANDLERS: Once = Once::new();
        let mut installed = Ok(());
        HANDLERS.call_once(|| installed = restore_on_exit());
        installed.map_err(terminal_error)?;
        let _lock = lock_output();
        IS_OPEN.store(true, Ordering::SeqCst);
        let terminal = enter_screen().map_err(|error| {
            restore_terminal();
            terminal_error(error)
        })?;
        Ok(Self {
            terminal,
            has_colour,
        })
    }

    /// Returns columns and rows; 80 by 24 if the terminal does not report its size.
    pub fn size(&self) -> (usize, usize) {
        match self.terminal.size() {
            Ok(size) if size.width > 0 && size.height > 0 => {
                (size.width.into(), size.height.into())
            }
            _ => (80, 24),
        }
    }

    /// Draws a screen; only changed cells are written.
    pub fn draw_frame(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        let has_colour = self.has_colour;
        let _lock = lock_output();
        let drawn = queue!(io::stdout(), terminal::BeginSynchronizedUpdate)
            .and_then(|()| {
                self.terminal.draw(|frame| {
                    draw(frame);
                    if !has_colour {
                        let area = frame.area();
                        frame.buffer_mut().set_style(area, Style::reset());
                    }
                })
            })
            .map(|_| ());
        drawn
            .and_then(|()| execute!(io::stdout(), terminal::EndSynchronizedUpdate))
            .map_err(terminal_error)
    }

    /// Waits for an event.
    pub fn next_event(&mut self) -> Result<TerminalEvent> {
        Ok(match event::read().map_err(terminal_error)? {
            event::Event::Key(key) if key.kind != KeyEventKind::Release => {
                TerminalEvent::Key(translate_key(key.code, key.modifiers))
            }
            event::Event::Paste(text) => TerminalEvent::Key(PagerKey::Text(text)),
            event::Event::Resize(..) => {
                let _lock = lock_output();
                self.terminal = clear_screen().map_err(terminal_error)?;
                TerminalEvent::Resize
            }
            _ => TerminalEvent::Other,
        })
    }

    /// Returns true if an event is pending.
    pub fn has_event(&self) -> Result<bool> {
        event::poll(Duration::ZERO).map_err(terminal_error)
    }
}

impl Drop for PagerTerminal {
    fn drop(&mut self) {
        let _lock = lock_output();
        restore_terminal();
    }
}

fn enter_screen() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    terminal::enable_raw_mode()?;
    execute!(
        io::stdout(),
        terminal::EnterAlternateScreen,
        terminal::DisableLineWrap,
        event::EnableBracketedPaste,
    )?;
    clear_screen()
}

/// Clears the screen. Returns a terminal with an empty buffer of the current size.
/// [`Terminal::clear`] would wait for a cursor position, which not every terminal reports.
fn clear_screen() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    execute!(
        io::stdout(),
        terminal::Clear(terminal::ClearType::All),
        cursor::Hide
    )?;
    Terminal::new(CrosstermBackend::new(io::stdout()))
}

/// Restores the terminal once. The caller holds [`OUTPUT`].
fn restore_terminal() {
    if !IS_OPEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // There is no other place to report an error of the terminal.
    let mut out = io::stdout();
    let _ = queue!(
        out,
        terminal::EndSynchronizedUpdate,
        event::DisableBracketedPaste,
        terminal::EnableLineWrap,
        cursor::Show,
        terminal::LeaveAlternateScreen
    );
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
}

/// Restores the terminal when a panic or a signal ends the program.
fn restore_on_exit() -> io::Result<()> {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A panic while drawing holds the lock.
        let _lock = OUTPUT.try_lock();
        restore_terminal();
        previous(panic);
    }));
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                let _lock = lock_output();
                restore_terminal();
                // Ends the program by the signal.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
    Ok(())
}

fn translate_key(code: KeyCode, modifiers: KeyModifiers) -> PagerKey {
    let is_control = modifiers.contains(KeyModifiers::CONTROL);
    match code {
        KeyCode::Char('c') if is_control => PagerKey::Quit,
        KeyCode::Char('g') if is_control => PagerKey::Jump,
        KeyCode::Char('h') if is_control => PagerKey::Backspace,
        KeyCode::Char('u') if is_control => PagerKey::DeleteAll,
        KeyCode::Char('w') if is_control => PagerKey::DeleteWord,
        KeyCode::Home => PagerKey::Home,
        KeyCode::End => PagerKey::End,
        _ if is_control => PagerKey::Other,
        KeyCode::Char(c) if !modifiers.contains(KeyModifiers::ALT) => PagerKey::Char(c),
        KeyCode::Up => PagerKey::Up,
        KeyCode::Down => PagerKey::Down,
        KeyCode::Left => PagerKey::Left,
        KeyCode::Right => PagerKey::Right,
        KeyCode::PageUp => PagerKey::PageUp,
        KeyCode::PageDown => PagerKey::PageDown,
        KeyCode::Enter => PagerKey::Enter,
        KeyCode::Backspace => PagerKey::Backspace,
        KeyCode::Esc => PagerKey::Escape,
        _ => PagerKey::Other,
    }
}
