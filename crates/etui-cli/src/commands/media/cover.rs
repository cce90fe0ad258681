//! `etui media cover`.

use std::path::PathBuf;

use etui::media::{CoverId, DesktopThumbnailState, DesktopThumbnails, Media, ThumbnailSize};
use etui_program::output::format_size;
use etui_program::{App, Failure, Result};

use super::open_store;
use super::record::AnyRecord;
use crate::commands::export_target::named_file;

/// Write the cover or thumbnail of a track, album or picture
#[derive(Debug, clap::Args)]
pub struct CoverArgs {
    /// Number in the first column of lists
    #[arg(value_name = "NUMBER")]
    number: i64,
    /// File to write, a JPEG [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Longest side in pixels
    #[arg(long, value_name = "PIXELS", default_value = "256", value_parser = ["128", "256"])]
    size: String,
    /// Write it where file managers look for the thumbnail of the file, in ~/.cache/thumbnails
    #[arg(long, conflicts_with_all = ["output", "size"])]
    desktop: bool,
}

pub fn write_cover(app: &mut App, args: &CoverArgs) -> Result<()> {
    let store = open_store(app)?;
    let media = store.media()?;
    let record = AnyRecord::find(&media, args.number)?;
    if args.desktop {
        return write_for_desktop(app, &media, &record);
    }
    let id = media.cover_of(record.id)?;
    let size = match args.size.as_str() {
        "128" => ThumbnailSize::Small,
        _ => ThumbnailSize::Large,
    };
    let read = |id: CoverId| media.thumbnail(id, size);
    let Some(jpeg) = id.map(read).transpose()?.flatten() else {
        return Err(Failure::NotFound(format!(
            "number {} has no cover",
            args.number
        )));
    };
    match named_file(args.output.as_deref()) {
        Some(path) => {
            std::fs::write(path, &jpeg).map_err(|e| Failure::io(path, e))?;
            app.out.status(format!(
                "{}: {}",
                path.display(),
                format_size(jpeg.len() as u64)
            ))
        }
        None if app.out.terminal => Err(Failure::usage(
            "a picture is not text; name a file: -o FILE",
        )),
        None => app.out.write_bytes(&jpeg),
    }
}

fn write_for_desktop(app: &mut App, media: &Media, record: &AnyRecord) -> Result<()> {
    let desktop = DesktopThumbnails::of_user().ok_or_else(|| {
        Failure::usage("the folder of thumbnails is not known: set HOME or XDG_CACHE_HOME")
    })?;
    let number = record.id;
    match media.write_desktop_thumbnails(record.id, &desktop)? {
        DesktopThumbnailState::Written => app.out.status("Written."),
        DesktopThumbnailState::Current => app.out.status("It is there."),
        DesktopThumbnailState::Failed => Err(Failure::NotFound(format!(
            "number {number} has no cover; its file is marked so for this program"
        ))),
        _ => Err(Failure::NotFound(format!(
            "number {number} has no file that is there"
        ))),
    }
}
