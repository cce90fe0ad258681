//! `etui generate`: test contacts, a test calendar, or folders of music and pictures.

use std::io::Write;
use std::path::{Path, PathBuf};

use etui_program::output::{escape_text, format_size, pluralize};
use etui_program::{App, Failure, Result};
use etui_testkit::calendars::{self, Span};
use etui_testkit::media::{MediaCollection, write_photos};
use etui_testkit::people;

use super::export_target::{ExportTarget, named_file, write_failure};

const EXAMPLES: &str = "\
Examples:
  etui generate -n 1000 -o people.vcf
  etui generate -n 100000 --seed 7 | etui --store try.etui import -
  etui generate --calendar 500 -o calendar.ics
  etui generate --calendar 10000 --years 40 -o calendar.ics
  etui generate --media Music --albums 50      playable files, 12 an album, with tags and covers

The same seed generates the same data on every machine. The people are fictitious: e-mail addresses
are under example.org and the like, phone numbers from ranges reserved for fiction.";

/// Generate test contacts, a test calendar, or music and pictures
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct GenerateArgs {
    /// Number of contacts
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 100)]
    count: u64,
    /// Generate a calendar with this number of entries instead of contacts
    #[arg(long, value_name = "COUNT", conflicts_with = "count")]
    calendar: Option<u64>,
    /// Years that the calendar covers, from 2017
    #[arg(long, value_name = "N", requires = "calendar", default_value_t = 11,
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    years: u32,
    /// Generate a folder of music and pictures instead of contacts; it must not exist
    #[arg(long, value_name = "DIR", conflicts_with_all = ["count", "calendar", "output"])]
    media: Option<PathBuf>,
    /// Number of albums, of 12 tracks each
    #[arg(long, value_name = "COUNT", requires = "media", default_value_t = 20)]
    albums: u32,
    /// Number of pictures
    #[arg(long, value_name = "COUNT", requires = "media", default_value_t = 0)]
    pictures: u32,
    /// Seed of the generator
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Output file; `-` is standard output, as without it
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

impl GenerateArgs {
    fn write_to(&self, mut out: impl Write) -> std::io::Result<u64> {
        match self.calendar {
            Some(count) => {
                let span = Span::years(self.years);
                calendars::write_ics(&mut out, self.seed, span, count)
            }
            None => people::write_vcf(&mut out, self.seed, self.count),
        }
    }
}

pub fn generate_data(app: &mut App, args: &GenerateArgs) -> Result<()> {
    if let Some(dir) = &args.media {
        return generate_media(app, args, dir);
    }
    let path = named_file(args.output.as_deref());
    let mut target = ExportTarget::open(&mut app.out, path, args.force)?;
    let written = args.write_to(&mut target);
    let bytes = written.map_err(|e| write_failure(path, e))?;
    target.commit()?;
    let Some(path) = path else { return Ok(()) };
    let what = match args.calendar {
        Some(count) => pluralize(count, "generated entry"),
        None => pluralize(args.count, "generated contact"),
    };
    app.out.status(format!(
        "Wrote {what} to {} ({})",
        escape_text(&path.display().to_string()),
        format_size(bytes)
    ))
}

fn generate_media(app: &mut App, args: &GenerateArgs, dir: &Path) -> Result<()> {
    // Never among the files of a person.
    std::fs::create_dir(dir).map_err(|e| Failure::io(dir, e))?;
    let music = MediaCollection::write(&dir.join("Music"), args.albums, args.seed);
    let music = music.map_err(|e| Failure::io(dir, e))?;
    let pictures = match args.pictures {
        0 => 0,
        count => {
            let written = write_photos(&dir.join("Pictures"), count, args.seed);
            written.map_err(|e| Failure::io(dir, e))?.len()
        }
    };
    app.out.status(format!(
        "Wrote {} and {} to {}",
        pluralize(music.tracks.len() as u64, "track"),
        pluralize(pictures as u64, "picture"),
        escape_text(&dir.display().to_string()),
    ))
}
