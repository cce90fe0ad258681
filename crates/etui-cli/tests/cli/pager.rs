//! The pager of `contacts list` and `calendar list` on a pseudo-terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::harness::TestHome;

/// The longest wait for a screen.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The pager on a pseudo-terminal, and the screen that it draws.
struct PagerSession {
    /// The user's side of the terminal.
    master: OwnedFd,
    /// The program's side.
    terminal: File,
    output: Arc<Mutex<Output>>,
    child: Child,
}

/// The output so far.
struct Output {
    bytes: Vec<u8>,
    screen: vt100::Parser,
}

impl PagerSession {
    fn with_contacts(home: &TestHome, size: (u16, u16), args: &[&str]) -> Self {
        Self::start(home, size, &[&["contacts", "list"], args].concat())
    }

    fn start(home: &TestHome, (columns, rows): (u16, u16), args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        tcsetwinsize(&master, size(columns, rows)).unwrap();
        let child = home
            .command("etui")
            .args(args)
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal.try_clone().unwrap())
            .spawn()
            .unwrap();
        let output = Arc::new(Mutex::new(Output {
            bytes: Vec::new(),
            screen: vt100::Parser::new(cells(rows), cells(columns), 0),
        }));
        let mut source = File::from(master.try_clone().unwrap());
        let sink = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n @ 1..) = source.read(&mut part) {
                let mut output = sink.lock().unwrap();
                output.bytes.extend_from_slice(&part[..n]);
                output.screen.process(&part[..n]);
            }
        });
        Self {
            master,
            terminal,
            output,
            child,
        }
    }

    /// Returns the raw output.
    fn raw_output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap().bytes).into_owned()
    }

    /// Waits until `text` is on the screen.
    fn sees(&self, text: &str) {
        self.wait_until(text, |output| {
            output.screen.screen().contents().contains(text)
        });
    }

    fn wait_until(&self, what: &str, is_met: impl Fn(&Output) -> bool) {
        let start = Instant::now();
        while !is_met(&self.output.lock().unwrap()) {
            assert!(
                start.elapsed() < TIMEOUT,
                "{what}: {:?} {}",
                self.raw_output(),
                self.output.lock().unwrap().screen.screen().contents()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn types(&mut self, keys: &str) {
        File::from(self.master.try_clone().unwrap())
            .write_all(keys.as_bytes())
            .unwrap();
    }

    /// Waits for the end of the program. The terminal must be restored.
    fn wait_for_end(mut self) -> ExitStatus {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < TIMEOUT, "{:?}", self.raw_output());
            std::thread::sleep(Duration::from_millis(5));
        };
        // Cursor, line wrap, bracketed paste, main screen.
        for sequence in ["\x1b[?25h", "\x1b[?7h", "\x1b[?2004l", "\x1b[?1049l"] {
            self.wait_until(sequence, |output| {
                String::from_utf8_lossy(&output.bytes).contains(sequence)
            });
        }
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
        status
    }
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

#[test]
fn search_show_and_quit() {
    let home = TestHome::with_people();
    let mut session = PagerSession::with_contacts(&home, (80, 24), &[]);
    session.sees("type to search");
    session.sees("Norbert Nobody");
    session.sees("1 of 4");
    session.types("mull");
    session.sees("mull");
    session.sees("1 of 1");
    session.types("\r");
    session.sees("+49 30 23125 001  (work)");
    session.sees("Any key: back");
    session.types("x");
    session.sees("1 of 1");
    session.types("zz");
    session.sees("No contact matches.");
    session.types("\x1b");
    session.sees("1 of 4");
    session.types("\x1b[B");
    session.sees("2 of 4");
    session.types("q");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn control_characters_are_escaped() {
    let home = TestHome::with_people();
    let mut session = PagerSession::with_contacts(&home, (80, 24), &[]);
    session.sees("1 of 4");
    session.sees("Eve \\u{1b}[31mTro");
    session.types("\x1b[F\r");
    session.sees("Eve \\u{1b}[31mTrouble\\u{9b}2J");
    assert!(!session.raw_output().contains("\x1b[31m"));
    session.types("\x03");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn a_long_list_is_paged() {
    let home = TestHome::new();
    home.run("etui init --locale en; etui generate -n 2000 | etui import -");
    let mut session = PagerSession::with_contacts(&home, (40, 10), &[]);
    session.sees("1 of 2,000");
    session.types("\x1b[6~");
    session.sees("9 of 2,000");
    session.types("\x1b[F");
    session.sees("2,000 of 2,000");
    session.types("\x07m");
    session.sees("of 2,000");
    session.types("ma");
    session.sees("of more than 8");
    tcsetwinsize(session.master.as_fd(), size(60, 30)).unwrap();
    session
        .output
        .lock()
        .unwrap()
        .screen
        .screen_mut()
        .set_size(cells(30), cells(60));
    // Without a controlling terminal the kernel sends no signal.
    let pid = Pid::from_child(&session.child);
    kill_process(pid, Signal::WINCH).unwrap();
    session.sees("of more than 28");
    session.types("\x03");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn a_calendar_has_years_as_landmarks() {
    let home = TestHome::new();
    home.run("etui init --locale en; etui generate --calendar 300 --years 8 | etui import -");
    let mut session = PagerSession::start(&home, (80, 12), &["calendar", "list"]);
    // The list opens at today; only the undated entries are later.
    session.sees("297 of 300");
    session.types("\x1b[H");
    session.sees("1 of 300");
    session.sees("2017-01-");
    session.types("\x1b[C");
    session.sees("2018-01-");
    session.types("\x07");
    session.sees("Go to: 2017 2018 2019 2020 2021 2022 2023 2024");
    session.types("3");
    session.sees("2023-01-");
    session.types("kind:todo");
    session.sees("kind:todo");
    session.sees("1 of ");
    session.types("\r");
    session.sees("iCalendar");
    session.sees("UID");
    session.types("x");
    session.sees("1 of ");
    session.types("\x03");
    assert_eq!(session.wait_for_end().code(), Some(0));
}

#[test]
fn signals_restore_the_terminal() {
    let home = TestHome::with_people();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let session = PagerSession::with_contacts(&home, (80, 24), &[]);
        session.sees("1 of 4");
        kill_process(Pid::from_child(&session.child), signal).unwrap();
        assert_eq!(session.wait_for_end().signal(), Some(signal.as_raw()));
    }
}

#[test]
fn options_disable_the_pager() {
    let home = TestHome::with_people();
    for args in [
        &["--no-pager"][..],
        &["--json"],
        &["--fields", "name"],
        &["--limit", "3"],
        &["--all"],
    ] {
        let mut session = PagerSession::with_contacts(&home, (80, 24), args);
        assert!(session.child.wait().unwrap().success());
        session.sees("Anna Müller");
        assert!(!session.raw_output().contains("\x1b[?1049h"), "{args:?}");
    }
}
