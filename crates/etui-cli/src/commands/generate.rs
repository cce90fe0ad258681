//! `etui generate`: an address book of people who do not exist, or a calendar of what never was.

use std::io::Write;
use std::path::PathBuf;

use etui_testkit::calendars::{self, Span};
use etui_testkit::people;

use super::new_file::NewFile;
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::{OutputSink, plural, shown, size};

const EXAMPLES: &str = "\
Examples:
  etui generate -n 1000 -o people.vcf
  etui generate -n 100000 --seed 7 | etui --store try.etui import -
  etui generate --calendar 500 -o calendar.ics
  etui generate --calendar 10000 --years 40 -o calendar.ics

The same seed makes the same people and entries, everywhere. None of them exists: e-mail addresses
are under example.org and the like, phone numbers from ranges kept for fiction.";

/// Make up an address book or a calendar, to try things with
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How many people
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 100)]
    count: u64,
    /// A calendar with so many entries, instead of people
    #[arg(long, value_name = "COUNT", conflicts_with = "count")]
    calendar: Option<u64>,
    /// Over so many years, from 2017 on
    #[arg(long, value_name = "N", requires = "calendar", default_value_t = 11,
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    years: u32,
    /// Which people, or entries
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

impl Args {
    fn write(&self, mut out: impl Write) -> std::io::Result<u64> {
        match self.calendar {
            Some(count) => {
                let span = Span::years(self.years);
                calendars::write_ics(&mut out, self.seed, span, count)
            }
            None => people::write_vcf(&mut out, self.seed, self.count),
        }
    }
}

/// Writes them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let Some(path) = &args.output else {
        let mut to = OutputSink::new(&mut app.out);
        let written = args.write(&mut to);
        return match (to.failure(), written) {
            (Some(failure), _) => Err(failure),
            (None, Err(e)) => Err(Failure::named_io("standard output", e)),
            (None, Ok(_)) => Ok(()),
        };
    };
    let mut file = NewFile::begin(path, args.force)?;
    let bytes = args.write(&mut file).map_err(|e| Failure::io(path, e))?;
    file.finish()?;
    let what = match args.calendar {
        Some(count) => plural(count, "made-up entry"),
        None => plural(args.count, "made-up contact"),
    };
    app.out.say(format!(
        "Wrote {what} to {} ({})",
        shown(&path.display().to_string()),
        size(bytes)
    ))
}
