//! The modes of the screen: entered and left, whatever ends or stops the program.
//!
//! A thread receives the signals. SIGHUP, SIGINT, SIGQUIT and SIGTERM restore the terminal and end the
//! program; SIGTSTP restores it and stops the program until SIGCONT. While another program has the
//! terminal, SIGINT and SIGQUIT, which the terminal sends to both, are left to it.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crossterm::{cursor, event, execute, queue, terminal};
use rustix::event::{EventfdFlags, eventfd};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Whether the terminal has to be restored.
static IS_OPEN: AtomicBool = AtomicBool::new(false);
/// Whether the terminal is to be entered again on SIGCONT.
static IS_SUSPENDED: AtomicBool = AtomicBool::new(false);
/// Whether another program has the terminal.
static IS_LENT: AtomicBool = AtomicBool::new(false);
/// Whether the screen has to be drawn again.
static IS_STALE: AtomicBool = AtomicBool::new(false);
/// Held while writing to the terminal.
static OUTPUT: Mutex<()> = Mutex::new(());
/// Readable after SIGWINCH and SIGCONT.
static WAKE: OnceLock<OwnedFd> = OnceLock::new();

/// Exclusive access to the output; while the terminal is open, it may be drawn on.
pub struct LockedOutput(#[allow(dead_code)] MutexGuard<'static, ()>);

pub fn lock_output() -> LockedOutput {
    LockedOutput(OUTPUT.lock().unwrap_or_else(PoisonError::into_inner))
}

impl LockedOutput {
    /// Returns true if the terminal is in the modes of [`Self::enter_screen`].
    pub fn is_open(&self) -> bool {
        IS_OPEN.load(Ordering::SeqCst)
    }

    /// Enters the alternate screen and raw mode.
    pub fn enter_screen(&self) -> io::Result<()> {
        IS_OPEN.store(true, Ordering::SeqCst);
        let entered = set_modes();
        if entered.is_err() {
            self.restore_terminal();
        }
        entered
    }

    /// Restores the terminal once.
    pub fn restore_terminal(&self) {
        restore_terminal();
    }

    /// Restores the terminal for another program.
    pub fn lend_terminal(&self) {
        IS_LENT.store(true, Ordering::SeqCst);
        restore_terminal();
    }

    /// Takes the terminal back.
    pub fn take_terminal_back(&self) -> io::Result<()> {
        IS_LENT.store(false, Ordering::SeqCst);
        self.enter_screen()
    }
}

/// Returns true once if the screen has to be drawn again.
pub fn take_stale() -> bool {
    IS_STALE.swap(false, Ordering::SeqCst)
}

/// Returns the descriptor that is readable after SIGWINCH and SIGCONT; [`clear_wake`] clears it.
pub fn wake_descriptor() -> Option<BorrowedFd<'static>> {
    WAKE.get().map(AsFd::as_fd)
}

pub fn clear_wake() {
    if let Some(wake) = WAKE.get() {
        // Otherwise the descriptor would stay readable.
        let _ = rustix::io::read(wake, &mut [0u8; 8]);
    }
}

fn wake() {
    if let Some(wake) = WAKE.get() {
        let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
    }
}

fn set_modes() -> io::Result<()> {
    // After a stop, crossterm may believe that raw mode is on.
    terminal::disable_raw_mode()?;
    terminal::enable_raw_mode()?;
    execute!(
        io::stdout(),
        terminal::EnterAlternateScreen,
        terminal::DisableLineWrap,
        event::EnableBracketedPaste,
        terminal::Clear(terminal::ClearType::All),
        cursor::Hide
    )
}

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

/// Installs the panic hook and the thread for signals, once.
pub fn install_handlers() -> io::Result<()> {
    if WAKE.get().is_some() {
        return Ok(());
    }
    let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    if WAKE.set(descriptor).is_err() {
        return Ok(());
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A panic while drawing holds the lock.
        let _lock = OUTPUT.try_lock();
        restore_terminal();
        previous(panic);
    }));
    let signals = [SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH];
    let mut signals = Signals::new(signals)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().for_each(handle_signal))?;
    Ok(())
}

fn handle_signal(signal: i32) {
    match signal {
        SIGWINCH => {
            // crossterm misses the signal if a key arrives with it.
            IS_STALE.store(true, Ordering::SeqCst);
            wake();
        }
        SIGINT | SIGQUIT if IS_LENT.load(Ordering::SeqCst) => {}
        SIGTSTP => {
            let lock = lock_output();
            IS_SUSPENDED.store(lock.is_open(), Ordering::SeqCst);
            lock.restore_terminal();
            // Returns when the program continues; SIGCONT follows.
            let _ = emulate_default_handler(signal);
        }
        SIGCONT => {
            let lock = lock_output();
            let was_suspended = IS_SUSPENDED.swap(false, Ordering::SeqCst);
            if was_suspended || lock.is_open() {
                // An error is reported by the next frame.
                let _ = lock.enter_screen();
                IS_STALE.store(true, Ordering::SeqCst);
                wake();
            }
        }
        _ => {
            let lock = lock_output();
            lock.restore_terminal();
            // Ends the program by the signal.
            let _ = emulate_default_handler(signal);
        }
    }
}
