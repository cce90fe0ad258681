//! The media library of the demo.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use etui::Store;
use etui::media::{Media, ScanOptions, ScanReport, ThumbnailSize};
use etui::record::Paging;
use etui_program::output::{ProgressReporter, format_size, pluralize};
use etui_program::{Failure, Result};
use etui_testkit::media::MediaCollection;

use super::{DemoRun, SEED, count_and_first, time_median};

/// Albums of the generated collection.
const ALBUMS: u32 = 8;

impl DemoRun<'_> {
    /// Scans generated music in `dir` into a store of its own there, and looks around in it.
    pub(super) fn show_media(&mut self, dir: &Path) -> Result<()> {
        let folder = dir.join("Music");
        let music = MediaCollection::write(&folder, ALBUMS, SEED);
        let tracks = music.map_err(|e| Failure::io(&folder, e))?.tracks.len() as u64;
        self.write_section(&format!(
            "A media library of {}",
            pluralize(tracks, "generated track")
        ))?;
        let mut options = self.app.store_options();
        options.create = true;
        options.locale = Some("en".to_owned());
        let store = Store::open_with(dir.join("media.etui"), &options)?;
        let media = store.media()?;

        self.scan_step(&media, "scan the folder, making thumbnails", &folder)?;
        self.scan_step(&media, "scan it again", &folder)?;
        let renamed = dir.join("Renamed");
        fs::rename(&folder, &renamed).map_err(|e| Failure::io(&folder, e))?;
        self.scan_step(&media, "scan it under another name", &renamed)?;

        let albums = media.albums();
        let (page, time) = time_median(|| {
            let page = albums.list(Paging::first(60))?;
            let (mut covers, mut bytes) = (0, 0);
            let ids = page.iter().map(|album| album.summary.cover);
            media.each_thumbnail(ThumbnailSize::Small, ids, |jpeg| {
                covers += u64::from(jpeg.is_some());
                bytes += jpeg.map_or(0, <[u8]>::len) as u64;
            })?;
            Ok((page.len() as u64, covers, bytes))
        })?;
        let (shown, covers, bytes) = page;
        let result = format!(
            "{} with {} of {}",
            pluralize(shown, "album"),
            pluralize(covers, "cover"),
            format_size(bytes)
        );
        self.write_step("the first page of albums", &result, time)?;
        let filter = "year:1990..1999 length:>0:02".parse()?;
        let (found, time) = time_median(|| media.tracks().find(&filter))?;
        let titles = found.iter().map(|track| track.summary.title.as_str());
        let result = count_and_first(titles.collect(), "no match");
        self.write_step("longer tracks of the nineties", &result, time)?;
        Ok(store.close()?)
    }

    fn scan_step(&mut self, media: &Media, what: &str, folder: &Path) -> Result<()> {
        let mut bar = ProgressReporter::for_files(&self.app.out, "Scanning");
        let begun = Instant::now();
        let folders = [folder.to_owned()];
        let report = media.scan(&folders, &ScanOptions::default(), &mut |progress| {
            bar.set_of_files(progress.read, progress.to_read, String::new());
            ControlFlow::Continue(())
        })?;
        drop(bar);
        self.write_step(what, &describe_scan(&report), begun.elapsed())
    }
}

fn describe_scan(report: &ScanReport) -> String {
    if report.added > 0 {
        let (tracks, covers) = (report.added, report.covers);
        format!(
            "{}, {}",
            pluralize(tracks, "track"),
            pluralize(covers, "cover")
        )
    } else if report.moved_folders > 0 {
        format!("{} moved; no file opened", pluralize(report.files, "file"))
    } else {
        "nothing changed; no file opened, nothing written".to_owned()
    }
}
