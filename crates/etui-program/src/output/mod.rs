//! Output: text, tables, JSON, progress.
//!
//! Everything is written through [`OutputWriter`]. A closed pipe ends a command quietly, control
//! characters in data are escaped, and colour depends on the terminal and the options.

mod escape;
mod json;
mod progress;
mod table;
mod units;

use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::process::ExitCode;

use clap::ColorChoice;
use etui::calendar::Color;
use etui::calendar::time::TimeZone;
use serde::Serialize;

pub use self::json::{NamedField, kind_name, optional_time};
pub use crate::object;
pub use escape::{escape_text, one_line, quote_operand, quote_option, quote_word};
pub use progress::ProgressReporter;
pub use table::{COLOR_MARK, Table, truncate_text, wrap_text};
pub use units::{
    NO_TITLE, format_count, format_duration, format_size, name_cut, pluralize, title_or_placeholder,
};

use crate::errors::{Failure, Result};
use crate::global_args::GlobalArgs;

/// The style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Names and headings.
    Bold,
    /// Secondary text.
    Dim,
    /// Errors and removed lines.
    Red,
    /// Added lines.
    Green,
    /// The selected line, today.
    Reverse,
    /// Cancelled events.
    Struck,
    /// The colour of a calendar.
    Color(Color),
}

/// Standard output and standard error of a command.
pub struct OutputWriter {
    stdout: BufWriter<Stdout>,
    /// Whether `--json` was given.
    pub json: bool,
    /// Whether standard output is a terminal.
    pub terminal: bool,
    /// The time zone given with `--zone`.
    pub zone: Option<TimeZone>,
    /// The words of the command: `calendar move`.
    pub command: String,
    quiet: bool,
    /// Whether standard output has colour.
    pub colour: bool,
    colour_errors: bool,
}

impl OutputWriter {
    /// Returns the output of this process, as the options say.
    pub fn new(global: &GlobalArgs) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let wanted = |terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
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
            command: String::new(),
            quiet: global.quiet,
            colour: wanted(terminal),
            colour_errors: wanted(std::io::stderr().is_terminal()),
        }
    }

    /// Returns the display time zone: `--zone`, or the zone of the system.
    pub fn time_zone(&self) -> TimeZone {
        self.zone.clone().unwrap_or_else(TimeZone::system)
    }

    /// Returns the width of the terminal, or `None` if standard output is not one.
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

    /// Truncates `text` to the width of the terminal, if there is one.
    pub fn fit_width(&self, text: &str) -> String {
        match self.width() {
            Some(width) => truncate_text(text, width).0,
            None => text.to_owned(),
        }
    }

    /// Applies a style to `text` if colour is in use.
    pub fn with_style<'t>(&self, style: Style, text: &'t str) -> Cow<'t, str> {
        apply_style(self.colour, style, text)
    }

    /// Writes a line of requested data. Foreign text in it must have passed [`escape_text`].
    pub fn write_line(&mut self, text: impl AsRef<str>) -> Result<()> {
        writeln!(self.stdout, "{}", text.as_ref()).map_err(output_error)
    }

    /// Writes a status message, unless `--quiet` or `--json` is set.
    pub fn status(&mut self, text: impl AsRef<str>) -> Result<()> {
        if self.quiet || self.json {
            return Ok(());
        }
        self.write_line(text)
    }

    /// Writes the bytes of a record. On a terminal, control characters are escaped.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(output_error)
    }

    /// Writes a JSON object on its own line.
    pub fn write_json(&mut self, value: &impl Serialize) -> Result<()> {
        let text = to_json_line(value)?;
        self.write_line(text)
    }

    /// Writes an object with `--json`, else a status message.
    pub fn report(&mut self, object: &impl Serialize, text: impl AsRef<str>) -> Result<()> {
        match self.json {
            true => self.write_json(object),
            false => self.status(text),
        }
    }

    /// Writes an object for each of `all` with `--json`, else their table.
    pub fn write_table<T>(
        &mut self,
        table: &Table,
        all: &[T],
        mut write_json: impl FnMut(&mut Self, &T) -> Result<()>,
    ) -> Result<()> {
        match self.json {
            true => all.iter().try_for_each(|one| write_json(self, one)),
            false => table.write_to(self),
        }
    }

    /// Writes a note to standard error, unless `--quiet` is set.
    pub fn write_note(&mut self, text: &str) {
        if !self.quiet {
            self.write_error_line(&apply_style(self.colour_errors, Style::Dim, text));
        }
    }

    /// Flushes standard output, then writes a line to standard error.
    pub fn write_error_line(&mut self, text: &str) {
        // A stream that cannot be written to leaves nowhere to report the error.
        let _ = self.stdout.flush();
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Returns true if a question can be asked and answered.
    pub fn is_interactive(&self) -> bool {
        self.terminal && !self.json && std::io::stdin().is_terminal()
    }

    /// Asks a question. Returns true if the answer is yes.
    pub fn ask_yes_no(&mut self, question: &str) -> Result<bool> {
        write!(self.stdout, "{question} [y/N] ").map_err(output_error)?;
        self.flush_output()?;
        let mut answer = String::new();
        std::io::stdin()
            .read_line(&mut answer)
            .map_err(|e| Failure::named_io("standard input", e))?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Returns true with `--quiet`.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns true if there is a terminal to show progress on.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Writes the error message of a failure. Returns its exit code.
    pub fn report_failure(&mut self, failure: &Failure) -> ExitCode {
        if !matches!(failure, Failure::ClosedPipe) {
            if self.json {
                let _ = self.stdout.flush();
                write_json_error(failure);
            } else {
                let label = apply_style(self.colour_errors, Style::Red, "error:");
                let message = failure.to_string();
                self.write_error_line(&format!("{label} {}", escape::escape_keep_lines(&message)));
            }
        }
        ExitCode::from(failure.code_and_kind().0)
    }

    /// Flushes standard output.
    pub fn flush_output(&mut self) -> Result<()> {
        self.stdout.flush().map_err(output_error)
    }
}

fn output_error(error: std::io::Error) -> Failure {
    Failure::named_io("standard output", error)
}

/// Writes the bytes of records, as [`OutputWriter::write_bytes`].
impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !self.terminal {
            return self.stdout.write(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        let text = escape::escape_keep_whitespace(&text);
        self.stdout.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stdout.flush()
    }
}

/// Writes `{"error": {"kind": ..., "message": ...}}` to standard error.
pub fn write_json_error(failure: &Failure) {
    let (kind, message) = (failure.code_and_kind().1, failure.to_string());
    let error = object! { error: object! { kind: kind, message: message } };
    if let Ok(text) = to_json_line(&error) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Serializes `value` with every control character escaped. serde_json leaves DEL and C1 as they
/// are, and some terminals obey them.
fn to_json_line(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value).map_err(|e| Failure::Other(e.to_string()))?;
    if !text.contains(|c| ('\u{7f}'..='\u{9f}').contains(&c)) {
        return Ok(text);
    }
    let escaped = text.chars().map(|c| match c {
        '\u{7f}'..='\u{9f}' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    Ok(escaped.collect())
}

/// Wraps `text` in the ECMA-48 sequence SGR (select graphic rendition).
fn apply_style(colour: bool, style: Style, text: &str) -> Cow<'_, str> {
    if !colour {
        return Cow::Borrowed(text);
    }
    let code = match style {
        Style::Bold => "1".to_owned(),
        Style::Dim => "2".to_owned(),
        Style::Red => "31".to_owned(),
        Style::Green => "32".to_owned(),
        Style::Reverse => "7".to_owned(),
        Style::Struck => "9".to_owned(),
        Style::Color(color) => format!("38;5;{}", palette_index(color)),
    };
    Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
}

/// Returns the nearest colour of the cube of 6 x 6 x 6 colours, or of the greys, that terminals with 256
/// colours have. Fewer of them know all colours.
pub fn palette_index(Color { red, green, blue }: Color) -> u8 {
    let parts = [red, green, blue];
    if parts.iter().max() == parts.iter().min() {
        // 24 greys, 8, 18 ... 238; black and white are in the cube.
        return match red {
            0..4 => 16,
            4..244 => 232 + (red.saturating_sub(3) / 10).min(23),
            244.. => 231,
        };
    }
    // The steps of the cube are 0, 95, 135, 175, 215, 255.
    let [red, green, blue] = parts.map(|part| match part {
        0..48 => 0,
        48..115 => 1,
        part => (part - 35) / 40,
    });
    16 + 36 * red + 6 * green + blue
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn colours_have_a_place_in_the_palette() {
        for (color, index) in [
            ("#000000", 16),
            ("#ffffff", 231),
            ("#ff0000", 196),
            ("#008080", 30),
            ("#0000ff", 21),
            ("#5f87af", 67),
            ("#808080", 244),
            ("#080808", 232),
            ("#eeeeee", 255),
        ] {
            assert_eq!(palette_index(color.parse().unwrap()), index, "{color}");
        }
    }
}
