//! What people and programs read: text, tables, JSON, progress.
//!
//! Everything goes through [`OutputWriter`]. A closed pipe ends a command quietly, data reaches a terminal
//! only without control characters, and colour is used only where it is wanted.

mod escape;
pub mod json;
mod progress;
mod table;
mod units;

use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::process::ExitCode;

use etui::calendar::time::TimeZone;
use serde::Serialize;

pub use escape::{one_line, operand, option, shown};
pub use progress::Progress;
pub use table::{Table, cut};
pub use units::{count, duration, plural, size};

use crate::args::{Global, When};
use crate::errors::{Failure, Result};

/// How a piece of text is set off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Names and headings.
    Bold,
    /// What may be overlooked.
    Dim,
    /// What went wrong.
    Red,
    /// What does not hold any more.
    Struck,
}

/// Where output goes.
pub struct OutputWriter {
    stdout: BufWriter<Stdout>,
    /// Whether JSON was asked for.
    pub json: bool,
    /// Whether standard output is a terminal.
    pub terminal: bool,
    /// The zone whose clock times are shown by; the computer's without.
    pub zone: Option<TimeZone>,
    quiet: bool,
    colour: bool,
    colour_errors: bool,
}

impl OutputWriter {
    /// As the options and the environment say.
    pub fn new(global: &Global) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let wanted = |terminal: bool| match global.color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                terminal
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                    && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
            }
        };
        Self {
            stdout: BufWriter::with_capacity(64 << 10, std::io::stdout()),
            json: global.json,
            terminal,
            zone: None,
            quiet: global.quiet,
            colour: wanted(terminal),
            colour_errors: wanted(std::io::stderr().is_terminal()),
        }
    }

    /// The zone whose clock times are shown by.
    pub fn zone(&self) -> TimeZone {
        self.zone.clone().unwrap_or_else(TimeZone::system)
    }

    /// Whether colour is used.
    pub fn has_colour(&self) -> bool {
        self.colour
    }

    /// Columns of the terminal; `None` when output goes elsewhere.
    pub fn width(&self) -> Option<usize> {
        if !self.terminal {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        match size.ws_col {
            0 => Some(80),
            columns => Some(columns.into()),
        }
    }

    /// `text` cut to the terminal's width, where output goes to one.
    pub fn fit(&self, text: &str) -> String {
        match self.width() {
            Some(width) => cut(text, width).0,
            None => text.to_owned(),
        }
    }

    /// `text` set off, where colour is wanted.
    pub fn styled<'t>(&self, style: Style, text: &'t str) -> Cow<'t, str> {
        paint(self.colour, style, text)
    }

    /// Writes a line of what was asked for. Data in it must have gone through [`shown`].
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<()> {
        self.write(text.as_ref().as_bytes())?;
        self.write(b"\n")
    }

    /// Writes a line that tells what was done, unless that is not wanted.
    pub fn say(&mut self, text: impl AsRef<str>) -> Result<()> {
        if self.quiet || self.json {
            return Ok(());
        }
        self.line(text)
    }

    /// Writes a record's own bytes. On a terminal its control characters are made visible.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.terminal {
            let text = String::from_utf8_lossy(bytes);
            return self.write(escape::visible(&text).as_bytes());
        }
        self.write(bytes)
    }

    /// Writes one object of JSON on a line of its own.
    pub fn object(&mut self, value: &impl Serialize) -> Result<()> {
        let text = json_text(value)?;
        self.line(text)
    }

    /// Remarks on standard error, unless that is not wanted.
    pub fn note(&mut self, text: &str) {
        if !self.quiet {
            self.error_line(&paint(self.colour_errors, Style::Dim, text));
        }
    }

    /// A line on standard error, after what was written to standard output so far.
    pub fn error_line(&mut self, text: &str) {
        // If one of the two cannot be written there is nobody to tell.
        let _ = self.stdout.flush();
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Whether there is somebody to ask.
    pub fn can_ask(&self) -> bool {
        self.terminal && !self.json && std::io::stdin().is_terminal()
    }

    /// Asks a question; whether the answer is yes.
    pub fn ask(&mut self, question: &str) -> Result<bool> {
        self.write(format!("{question} [y/N] ").as_bytes())?;
        self.flush()?;
        let mut answer = String::new();
        std::io::stdin()
            .read_line(&mut answer)
            .map_err(|e| Failure::named_io("standard input", e))?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Whether a progress bar is wanted.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Tells of a failure and gives its exit code.
    pub fn fail(&mut self, failure: &Failure) -> ExitCode {
        if !matches!(failure, Failure::ClosedPipe) {
            if self.json {
                let _ = self.stdout.flush();
                json_error(failure);
            } else {
                let label = paint(self.colour_errors, Style::Red, "error:");
                let message = failure.to_string();
                self.error_line(&format!("{label} {}", escape::lines(&message)));
            }
        }
        ExitCode::from(failure.exit_code())
    }

    /// Hands everything over.
    pub fn flush(&mut self) -> Result<()> {
        self.stdout
            .flush()
            .map_err(|e| Failure::named_io("standard output", e))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stdout
            .write_all(bytes)
            .map_err(|e| Failure::named_io("standard output", e))
    }
}

/// Hands on to standard output what is written to it.
pub struct OutputSink<'a> {
    out: &'a mut OutputWriter,
    failure: Option<Failure>,
}

impl<'a> OutputSink<'a> {
    /// To this.
    pub fn new(out: &'a mut OutputWriter) -> Self {
        Self { out, failure: None }
    }

    /// Why something could not be written.
    pub fn failure(self) -> Option<Failure> {
        self.failure
    }
}

impl Write for OutputSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.bytes(bytes).map_err(|e| {
            self.failure = Some(e);
            std::io::Error::other("standard output")
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes `{"error": {"kind": ..., "message": ...}}` to standard error.
pub fn json_error(failure: &Failure) {
    let error = json::ErrorObject::of(failure);
    if let Ok(text) = json_text(&error) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// JSON in which every control character is escaped: serde leaves DEL and C1 as they are, which
/// some terminals obey.
fn json_text(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value).map_err(|e| Failure::Other(e.to_string()))?;
    if !text.contains(|c| ('\u{7f}'..='\u{9f}').contains(&c)) {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if ('\u{7f}'..='\u{9f}').contains(&c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Ok(out)
}

/// ECMA-48 "select graphic rendition" around `text`.
fn paint(colour: bool, style: Style, text: &str) -> Cow<'_, str> {
    if !colour {
        return Cow::Borrowed(text);
    }
    let code = match style {
        Style::Bold => 1,
        Style::Dim => 2,
        Style::Red => 31,
        Style::Struck => 9,
    };
    Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
}
