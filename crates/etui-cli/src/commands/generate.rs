//! `etui generate`: an address book of people who do not exist.

use std::io::{self, Write};
use std::path::PathBuf;

use etui_testkit::people;

use super::file::NewFile;
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::{Out, plural, shown, size};

const EXAMPLES: &str = "\
Examples:
  etui generate -n 1000 -o people.vcf
  etui generate -n 100000 --seed 7 | etui --store try.etui import -

The same seed makes the same people, everywhere. None of them exists: e-mail addresses are under
example.org and the like, phone numbers from ranges kept for fiction.";

/// Make up an address book, to try things with
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How many people
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 100)]
    count: u64,
    /// Which people
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

/// Hands on to standard output what is written.
struct ToOut<'a> {
    out: &'a mut Out,
    failure: Option<Failure>,
}

impl Write for ToOut<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.bytes(bytes).map_err(|e| {
            self.failure = Some(e);
            io::Error::other("standard output")
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the people.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let Some(path) = &args.output else {
        let mut to = ToOut {
            out: &mut app.out,
            failure: None,
        };
        let written = people::write_vcf(&mut to, args.seed, args.count);
        return match (to.failure, written) {
            (Some(failure), _) => Err(failure),
            (None, Err(e)) => Err(Failure::named_io("standard output", e)),
            (None, Ok(_)) => Ok(()),
        };
    };
    let mut file = NewFile::begin(path, args.force)?;
    let bytes =
        people::write_vcf(&mut file, args.seed, args.count).map_err(|e| Failure::io(path, e))?;
    file.finish()?;
    app.out.say(format!(
        "Wrote {} to {} ({})",
        plural(args.count, "made-up contact"),
        shown(&path.display().to_string()),
        size(bytes)
    ))
}
