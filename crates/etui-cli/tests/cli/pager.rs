//! `contacts list` and `calendar list` on a terminal: keys typed into a pseudo-terminal, what comes out of it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::harness::Place;

/// Longest that anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal with a list on it.
struct Typist {
    /// The side of the person.
    master: OwnedFd,
    /// The side of the program.
    terminal: File,
    seen: Arc<Mutex<Vec<u8>>>,
    /// What was seen before the latest key.
    from: usize,
    child: Child,
}

impl Typist {
    fn at(place: &Place, size: (u16, u16), args: &[&str]) -> Self {
        Self::on(place, size, &[&["contacts", "list"], args].concat())
    }

    fn on(place: &Place, (columns, rows): (u16, u16), args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        let mut typist = Self {
            seen: Arc::default(),
            from: 0,
            child: place
                .command("etui")
                .args(args)
                .stdin({
                    tcsetwinsize(&master, size(columns, rows)).unwrap();
                    terminal.try_clone().unwrap()
                })
                .stdout(terminal.try_clone().unwrap())
                .stderr(terminal.try_clone().unwrap())
                .spawn()
                .unwrap(),
            master,
            terminal,
        };
        typist.listen();
        typist
    }

    fn listen(&mut self) {
        let mut output = File::from(self.master.try_clone().unwrap());
        let seen = Arc::clone(&self.seen);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut part) {
                seen.lock().unwrap().extend_from_slice(&part[..n]);
            }
        });
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()[self.from..]).into_owned()
    }

    /// Waits until this was shown since the latest key.
    fn sees(&self, text: &str) {
        let start = Instant::now();
        while !self.text().contains(text) {
            assert!(start.elapsed() < PATIENCE, "{text}: {:?}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn types(&mut self, keys: &str) {
        self.from = self.seen.lock().unwrap().len();
        File::from(self.master.try_clone().unwrap())
            .write_all(keys.as_bytes())
            .unwrap();
    }

    /// Waits for the end; the terminal must be as it was.
    fn ends(mut self) -> ExitStatus {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "{:?}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        };
        // Cursor, line wrap, the screen of before.
        for sequence in ["\x1b[?25h", "\x1b[?7h", "\x1b[?2004l", "\x1b[?1049l"] {
            self.sees(sequence);
        }
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
        status
    }
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
fn a_search_a_contact_and_out() {
    let place = Place::with_people();
    let mut typist = Typist::at(&place, (80, 24), &[]);
    typist.sees("type to search");
    typist.sees("Norbert Nobody");
    typist.sees("1 of 4");
    typist.types("mull");
    typist.sees("mull");
    typist.sees("1 of 1");
    typist.types("\r");
    typist.sees("+49 30 23125 001  (work)");
    typist.sees("Any key: back");
    typist.types("x");
    typist.sees("1 of 1");
    typist.types("zz");
    typist.sees("Nobody is found.");
    typist.types("\x1b");
    typist.sees("1 of 4");
    typist.types("\x1b[B");
    typist.sees("2 of 4");
    typist.types("q");
    assert_eq!(typist.ends().code(), Some(0));
}

#[test]
fn what_means_harm_is_shown_as_text() {
    let place = Place::with_people();
    let mut typist = Typist::at(&place, (80, 24), &[]);
    typist.sees("1 of 4");
    typist.sees("Eve \\u{1b}[31mTro");
    typist.types("\x1b[F\r");
    typist.sees("Eve \\u{1b}[31mTrouble\\u{9b}2J");
    assert!(!typist.text().contains("\x1b[31m"));
    typist.types("\x03");
    assert_eq!(typist.ends().code(), Some(0));
}

#[test]
fn a_long_list_shows_a_page_at_once() {
    let place = Place::new();
    place.run("etui init --locale en; etui generate -n 2000 | etui import -");
    let mut typist = Typist::at(&place, (40, 10), &[]);
    typist.sees("1 of 2,000");
    typist.types("\x1b[6~");
    typist.sees("9 of 2,000");
    typist.types("\x1b[F");
    typist.sees("2,000 of 2,000");
    typist.types("\x07m");
    typist.sees("of 2,000");
    typist.types("ma");
    typist.sees("of more than 8");
    tcsetwinsize(typist.master.as_fd(), size(60, 30)).unwrap();
    // Without a controlling terminal nobody else tells of the new size.
    typist.from = typist.seen.lock().unwrap().len();
    let pid = Pid::from_child(&typist.child);
    kill_process(pid, Signal::WINCH).unwrap();
    typist.sees("of more than 28");
    typist.types("\x03");
    assert_eq!(typist.ends().code(), Some(0));
}

#[test]
fn a_calendar_by_years() {
    let place = Place::new();
    place.run("etui init --locale en; etui generate --calendar 300 --years 8 | etui import -");
    let mut typist = Typist::on(&place, (80, 12), &["calendar", "list"]);
    // It is opened at today, where all of them lie before but those without a time.
    typist.sees("297 of 300");
    typist.types("\x1b[H");
    typist.sees("1 of 300");
    typist.sees("2017-01-");
    typist.types("\x1b[C");
    typist.sees("2018-01-");
    typist.types("\x07");
    typist.sees("Go to: 2017 2018 2019 2020 2021 2022 2023 2024");
    typist.types("3");
    typist.sees("2023-01-");
    typist.types("kind:todo");
    typist.sees("kind:todo");
    typist.sees("1 of ");
    typist.types("\r");
    typist.sees("iCalendar");
    typist.sees("UID");
    typist.types("x");
    typist.sees("1 of ");
    typist.types("\x03");
    assert_eq!(typist.ends().code(), Some(0));
}

#[test]
fn signals_give_the_terminal_back() {
    let place = Place::with_people();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let typist = Typist::at(&place, (80, 24), &[]);
        typist.sees("1 of 4");
        kill_process(Pid::from_child(&typist.child), signal).unwrap();
        assert_eq!(typist.ends().signal(), Some(signal.as_raw()));
    }
}

#[test]
fn a_plain_list_if_that_is_wanted() {
    let place = Place::with_people();
    for args in [
        &["--no-pager"][..],
        &["--json"],
        &["--fields", "name"],
        &["--limit", "3"],
        &["--all"],
    ] {
        let mut typist = Typist::at(&place, (80, 24), args);
        assert!(typist.child.wait().unwrap().success());
        typist.sees("Anna Müller");
        assert!(!typist.text().contains("\x1b[?1049h"), "{args:?}");
    }
}
