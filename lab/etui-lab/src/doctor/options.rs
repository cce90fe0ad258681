//! [`Options`]: what to examine, and how, as the command line has it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::capture::Tracer;

/// What to examine, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The database
    #[arg(value_name = "DB")]
    pub database: PathBuf,
    /// Observe this command, which uses the database
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// End the command after this time (SIGTERM; SIGKILL ten seconds later)
    #[arg(long = "for", value_name = "SECONDS", value_parser = parse_seconds)]
    pub time_limit: Option<Duration>,
    /// How the command is observed [default: preload; strace for static programs]
    #[arg(long, value_enum)]
    pub tracer: Option<Tracer>,
    /// Where the copies are made [default: on the file system of the database, if it can be]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// The time for one repetition of the transactions as found
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    pub seconds: Duration,
    /// How often the transactions are repeated under each setup
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=99))]
    pub rounds: u16,
    /// Make each flush slower by this time
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1000))]
    pub flush_ms: u16,
    /// The largest database that is copied
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub max_size: u32,
    /// Write JSON; the command's standard output goes to standard error
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// Larger databases are not copied.
    pub fn most_bytes(&self) -> u64 {
        u64::from(self.max_size) << 20
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    match (0.01..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("0.01 to 86400 seconds can be given".to_owned()),
    }
}
