//! [`TerminalSession`]: the command on a pseudo-terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};

use etui_testkit::wait::{wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::harness::TestHome;

/// The command on a pseudo-terminal, and the screen that it draws.
pub struct TerminalSession {
    /// The user's side of the terminal.
    master: OwnedFd,
    /// The program's side.
    terminal: File,
    output: Arc<Mutex<Output>>,
    pub child: Child,
}

/// The output so far.
pub struct Output {
    bytes: Vec<u8>,
    screen: vt100::Parser,
}

impl Output {
    /// Returns rows and columns.
    pub fn size(&self) -> (u16, u16) {
        let (rows, columns) = self.screen.screen().size();
        (rows.get(), columns.get())
    }
}

impl TerminalSession {
    /// Starts `etui` with these arguments, and this editor.
    pub fn start(
        home: &TestHome,
        (columns, rows): (u16, u16),
        args: &[&str],
        editor: &str,
    ) -> Self {
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
            .env("EDITOR", editor)
            .process_group(0)
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
    pub fn raw_output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap().bytes).into_owned()
    }

    /// Waits until `text` is on the screen.
    pub fn sees(&self, text: &str) {
        self.wait_until(text, |output| {
            output.screen.screen().contents().contains(text)
        });
    }

    /// Waits until the program has written `text`, escape sequences included.
    pub fn writes(&self, text: &str) {
        self.wait_until(text, |output| {
            String::from_utf8_lossy(&output.bytes).contains(text)
        });
    }

    pub fn wait_until(&self, what: &str, is_met: impl Fn(&Output) -> bool) {
        wait_until(what, || is_met(&self.output.lock().unwrap()));
    }

    pub fn types(&mut self, keys: &str) {
        File::from(self.master.try_clone().unwrap())
            .write_all(keys.as_bytes())
            .unwrap();
    }

    /// Returns the lines of the screen, at the end of a frame.
    pub fn screen(&self) -> String {
        // The end of a synchronized update.
        self.wait_until("a frame", |output| output.bytes.ends_with(b"\x1b[?2026l"));
        let contents = self.output.lock().unwrap().screen.screen().contents();
        let lines = contents.lines().map(str::trim_end);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Waits until `text` is not on the screen any more.
    pub fn loses(&self, text: &str) {
        self.wait_until(text, |output| {
            !output.screen.screen().contents().contains(text)
        });
    }

    /// Changes the size of the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        tcsetwinsize(&self.master, size(columns, rows)).unwrap();
        let mut output = self.output.lock().unwrap();
        output
            .screen
            .screen_mut()
            .set_size(cells(rows), cells(columns));
        drop(output);
        // Without a controlling terminal the kernel sends no signal.
        self.signal(Signal::WINCH);
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the program, which waits for something, has done what a signal asks for: none is
    /// pending, and each thread sleeps and goes on sleeping.
    pub fn handles_signals(&self) {
        let tasks = format!("/proc/{}/task", self.child.id());
        let mut before = None;
        wait_until("the signal is handled", || {
            let tasks = std::fs::read_dir(&tasks).unwrap();
            let mut now: Vec<String> = tasks
                .map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap())
                .collect();
            now.sort();
            let is_at_rest = now.iter().all(|status| {
                let none = "0000000000000000";
                status.contains("\nState:\tS")
                    && status.contains(&format!("\nSigPnd:\t{none}"))
                    && status.contains(&format!("\nShdPnd:\t{none}"))
            });
            // The numbers of context switches are among the lines.
            let now = is_at_rest.then_some(now);
            let is_handled = now.is_some() && now == before;
            before = now;
            is_handled
        });
    }

    /// Waits until the program is stopped. The terminal must be restored.
    pub fn wait_for_stop(&self) {
        let stat = format!("/proc/{}/stat", self.child.id());
        wait_until("the program is stopped", || {
            let stat = std::fs::read_to_string(&stat).unwrap();
            let state = stat.rsplit(')').next().unwrap();
            state.trim_start().starts_with('T')
        });
        self.wait_until("main screen", |output| {
            !output.screen.screen().alternate_screen()
        });
        self.is_restored();
    }

    fn is_restored(&self) {
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
    }

    /// Waits for the end of the program. The terminal must be restored.
    pub fn wait_for_end(mut self) -> ExitStatus {
        let status = wait_for("the end of the program", || self.child.try_wait().unwrap());
        // Cursor, line wrap, bracketed paste, main screen.
        for sequence in ["\x1b[?25h", "\x1b[?7h", "\x1b[?2004l", "\x1b[?1049l"] {
            self.writes(sequence);
        }
        self.is_restored();
        status
    }
}

impl Drop for TerminalSession {
    /// Ends the program of a test that failed.
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Ok(output) = self.output.lock()
        {
            let written = String::from_utf8_lossy(&output.bytes);
            let screen = output.screen.screen().contents();
            eprintln!("it wrote {written:?}\nthe screen:\n{screen}");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

pub fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
