//! [`TerminalSession`]: the terminal while a browser runs. It is restored however the program ends.

use std::io::{self, IsTerminal, Stdout};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{self, KeyEventKind};
use crossterm::{cursor, execute, queue, terminal};
use etui_program::output::OutputWriter;
use etui_program::{Failure, Result};
use nix::unistd::{getpgrp, getsid};
use ratatui::backend::CrosstermBackend;
use ratatui::style::Style;
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};

use super::key::Key;
use super::restore::{clear_wake, install_handlers, lock_output, take_stale, wake_descriptor};

/// An event of the terminal, or of a watched descriptor.
#[derive(Debug)]
pub enum TerminalEvent {
    Key(Key),
    /// The size changed, or the program continues after a stop.
    Redraw,
    /// The first of the watched descriptors that is readable.
    Changed(usize),
    Timeout,
    Other,
}

/// The terminal in raw mode on the alternate screen, until it is dropped.
pub struct TerminalSession {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    has_colour: bool,
}

fn terminal_error(error: io::Error) -> Failure {
    Failure::named_io("the terminal", error)
}

impl TerminalSession {
    /// Returns true if input and output are a terminal with a movable cursor.
    pub fn is_possible(out: &OutputWriter) -> bool {
        let has_cursor = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        out.terminal && io::stdin().is_terminal() && has_cursor
    }

    /// Opens the terminal. Without colour, there are no styles either.
    pub fn open(has_colour: bool) -> Result<Self> {
        install_handlers().map_err(terminal_error)?;
        let lock = lock_output();
        lock.enter_screen().map_err(terminal_error)?;
        let terminal = new_terminal().map_err(|error| {
            lock.restore_terminal();
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
        let lock = lock_output();
        if !lock.is_open() {
            // The program is about to stop; it draws when it continues.
            return Ok(());
        }
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

    /// Waits for an event, at most until `timeout`.
    pub fn next_event(
        &mut self,
        watched: &[BorrowedFd<'_>],
        timeout: Option<Duration>,
    ) -> Result<TerminalEvent> {
        if take_stale() {
            return self.redraw();
        }
        // Keys that were read with earlier ones are not reported by poll.
        if self.has_event()? {
            return self.read_event();
        }
        let stdin = io::stdin();
        let mut fds = vec![PollFd::new(&stdin, PollFlags::IN)];
        fds.extend(wake_descriptor().map(|wake| PollFd::from_borrowed_fd(wake, PollFlags::IN)));
        let first_watched = fds.len();
        fds.extend(
            watched
                .iter()
                .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)),
        );
        let limit = timeout.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) => return Ok(TerminalEvent::Timeout),
            Err(rustix::io::Errno::INTR) => return Ok(TerminalEvent::Other),
            Err(error) => return Err(terminal_error(error.into())),
            Ok(_) => {}
        }
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        clear_wake();
        if take_stale() {
            return self.redraw();
        }
        if self.has_event()? {
            return self.read_event();
        }
        if ready
            .first()
            .is_some_and(|of| of.intersects(PollFlags::HUP | PollFlags::ERR))
        {
            return Err(terminal_error(io::ErrorKind::UnexpectedEof.into()));
        }
        let changed = ready
            .iter()
            .skip(first_watched)
            .position(|of| !of.is_empty());
        Ok(changed.map_or(TerminalEvent::Other, TerminalEvent::Changed))
    }

    /// Returns true if a key or a change of the size is pending.
    pub fn has_event(&self) -> Result<bool> {
        event::poll(Duration::ZERO).map_err(terminal_error)
    }

    /// Runs another program on the terminal in its usual modes, then takes the terminal back.
    pub fn lend_to<T>(&mut self, run: impl FnOnce() -> T) -> Result<T> {
        lock_output().lend_terminal();
        let result = run();
        let lock = lock_output();
        lock.take_terminal_back().map_err(terminal_error)?;
        self.terminal = new_terminal().map_err(terminal_error)?;
        Ok(result)
    }

    /// Sends a text to the terminal's clipboard, by OSC 52. Terminals without it ignore it.
    pub fn copy_text(&mut self, text: &str) -> Result<()> {
        let _lock = lock_output();
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text)).map_err(terminal_error)
    }

    /// Stops the program as Ctrl-Z does. Returns false without a shell that could continue it.
    pub fn suspend(&self) -> Result<bool> {
        // A process group that the session began with has no shell above it. The session has no
        // ID (0) where its leader is outside this PID namespace; rustix asserts that it has one.
        if getsid(None).is_ok_and(|session| session == getpgrp()) {
            return Ok(false);
        }
        kill_current_process_group(Signal::TSTP).map_err(|e| terminal_error(e.into()))?;
        Ok(true)
    }

    fn read_event(&mut self) -> Result<TerminalEvent> {
        Ok(match event::read().map_err(terminal_error)? {
            event::Event::Key(key) if key.kind != KeyEventKind::Release => {
                match Key::of_event(key) {
                    Key::Control('l') => return self.redraw(),
                    key => TerminalEvent::Key(key),
                }
            }
            event::Event::Paste(text) => TerminalEvent::Key(Key::Text(text)),
            event::Event::Resize(..) => return self.redraw(),
            _ => TerminalEvent::Other,
        })
    }

    fn redraw(&mut self) -> Result<TerminalEvent> {
        let lock = lock_output();
        if lock.is_open() {
            self.terminal = clear_screen().map_err(terminal_error)?;
        }
        Ok(TerminalEvent::Redraw)
    }
}

impl Drop for TerminalSession {
    fn drop(&mut self) {
        lock_output().restore_terminal();
    }
}

/// Clears the screen. Returns a terminal with an empty buffer of the current size.
/// [`Terminal::clear`] would wait for a cursor position, which not every terminal reports.
fn clear_screen() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    execute!(
        io::stdout(),
        terminal::Clear(terminal::ClearType::All),
        cursor::Hide
    )?;
    new_terminal()
}

fn new_terminal() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    Terminal::new(CrosstermBackend::new(io::stdout()))
}
