//! Words for people. Whoever has read enough may go: a closed pipe or terminal is no error.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use crate::error::Error;

/// A line on standard output.
pub(crate) fn print_line(words: impl Display) -> Result<(), Error> {
    match writeln!(std::io::stdout(), "{words}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(|e| Error::file("standard output", e)),
    }
}

/// A line on standard error; errors are ignored.
pub(crate) fn print_error(words: impl Display) {
    let _ = writeln!(std::io::stderr(), "{words}");
}
