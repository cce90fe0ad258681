//! `etui contacts photo`: the picture of a contact as a file.

use std::io::Write;
use std::path::PathBuf;

use etui::contacts::{Card, Photo};
use etui_program::output::{escape_text, format_size};
use etui_program::{App, Failure, Result};

use crate::commands::export_target::{ExportTarget, named_file, write_failure};
use crate::commands::records::selection::names_in_words;
use crate::commands::records::selection::number_of;
use crate::commands::records::{collection_of, resolve_record};

const EXAMPLES: &str = "\
Examples:
  etui contacts photo 17 -o ada.jpg
  etui contacts photo Ada Lovelace -o ada.jpg
  etui contacts photo 17 | display
  etui contacts edit 17 --set photo=ada.jpg  puts a picture in

The picture is written as it is in the contact. One that is an address is named, and not fetched.";

/// Write the picture of a contact to a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PhotoArgs {
    /// Number, UID, or words of which there is one match
    #[arg(value_name = "ID|NAME", required = true)]
    words: Vec<String>,
    /// Output file; `-` is standard output, as without it
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub fn write_photo(app: &mut App, args: &PhotoArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let names = names_in_words::<Card>(&store, &args.words)?;
    let [name] = names.as_slice() else {
        return Err(Failure::usage("give one contact at a time"));
    };
    let id = number_of::<Card>(app, &store, name)?;
    let book = collection_of::<Card>(app, &store, std::slice::from_ref(&id))?;
    let contact = resolve_record(&book, &id)?;
    let bytes = match contact.card()?.photo() {
        Some(Photo::Inline { bytes, .. }) => bytes,
        Some(Photo::Uri(uri)) => {
            return Err(Failure::NotFound(format!(
                "the picture of contact {} is at {}, and not in the store; fetch it with: curl -sSfL -o FILE",
                contact.id,
                escape_text(&uri)
            )));
        }
        None => {
            return Err(Failure::NotFound(format!(
                "contact {} has no picture; to add one: etui contacts edit {} --set photo=FILE",
                contact.id, contact.id
            )));
        }
    };
    let path = named_file(args.output.as_deref());
    if path.is_none() && app.out.terminal {
        return Err(Failure::usage(
            "a picture is not text; name a file: -o FILE",
        ));
    }
    let mut target = ExportTarget::open(&mut app.out, path, args.force)?;
    let written = target.write_all(&bytes);
    written.map_err(|e| write_failure(path, e))?;
    target.commit()?;
    let Some(path) = path else { return Ok(()) };
    app.out.status(format!(
        "{}: {}",
        escape_text(&path.display().to_string()),
        format_size(bytes.len() as u64)
    ))
}
