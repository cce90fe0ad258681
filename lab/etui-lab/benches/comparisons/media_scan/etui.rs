//! etui's library, in this process.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etui::media::{ScanOptions, ThumbnailSize, TrackColumn, TrackQuery, text_values};
use etui::record::Paging;
use etui::{Durability, Store};
use rustix::time::{ClockId, clock_gettime};

use super::super::processes::peak_memory;
use super::super::server_process::bytes_below;
use super::server::{LibraryTrack, MediaServer, OwnMeasures};
use etui_lab::Error;
use etui_lab::experiments::backends::etui::store_options;
use etui_lab::measure::process::cpu_time;

pub(super) struct EtuiLibrary {
    dir: PathBuf,
    store: Option<Store>,
}

impl EtuiLibrary {
    pub(super) fn open(dir: &Path) -> Result<Self, Error> {
        let mut library = Self {
            dir: dir.to_owned(),
            store: None,
        };
        library.reopen()?;
        Ok(library)
    }

    fn reopen(&mut self) -> Result<(), Error> {
        let path = self.dir.join("media.etui");
        let store = Store::open_with(path, &store_options(Durability::Full))?;
        // Made at the first use.
        store.media()?;
        self.store = Some(store);
        Ok(())
    }

    fn store(&self) -> Result<&Store, Error> {
        let store = self.store.as_ref();
        store.ok_or_else(|| Error::other("the store is closed"))
    }

    /// Returns the titles with a word, in list order.
    fn titles(&self, word: &str, limit: Option<usize>) -> Result<Vec<String>, Error> {
        let filter = format!("title:{word}").parse();
        let filter = filter.map_err(|e| Error::other(format!("{e}")))?;
        let mut query = TrackQuery::new(filter).columns(TrackColumn::Title);
        if let Some(limit) = limit {
            query = query.limit(limit as u64);
        }
        let rows = self.store()?.media()?.tracks().query(&query)?;
        let titles = (0..rows.len()).filter_map(|at| rows.get(at));
        let titles = titles.map(|row| row.get(TrackColumn::Title).to_owned());
        Ok(titles.collect())
    }
}

/// Processor time of this thread, nanoseconds.
fn thread_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

impl MediaServer for EtuiLibrary {
    fn scan_folder(&mut self, music: &Path) -> Result<OwnMeasures, Error> {
        let media = self.store()?.media()?;
        let mut decoded = 0;
        let before = thread_ns();
        let report = media.scan(
            &[music.to_owned()],
            &ScanOptions::default(),
            &mut |progress| {
                decoded = progress.covers;
                ControlFlow::Continue(())
            },
        )?;
        let writer = thread_ns() - before;
        if let Some(problem) = report.problems.first() {
            let path = problem.path.display();
            return Err(Error::other(format!("{path}: {}", problem.reason)));
        }
        Ok(vec![
            ("writer_ns", writer),
            ("covers_stored", report.covers as f64),
            ("covers_decoded", decoded as f64),
        ])
    }

    fn stop(&mut self) -> Result<(), Error> {
        match self.store.take() {
            Some(store) => Ok(store.close()?),
            None => Ok(()),
        }
    }

    fn start_at(&mut self, _music: &Path) -> Result<(), Error> {
        self.reopen()
    }

    fn list_tracks(&mut self) -> Result<Vec<LibraryTrack>, Error> {
        let mut tracks = Vec::new();
        self.store()?.media()?.tracks().for_each(|_, text| {
            let mut track = LibraryTrack {
                album: String::new(),
                title: String::new(),
            };
            for (name, value) in text_values(text) {
                match name.as_str() {
                    "ALBUM" => track.album = value,
                    "TITLE" => track.title = value,
                    _ => {}
                }
            }
            tracks.push(track);
            Ok(())
        })?;
        Ok(tracks)
    }

    fn find_titles(&mut self, word: &str) -> Result<Vec<String>, Error> {
        self.titles(word, None)
    }

    fn find_first_titles(&mut self, word: &str, limit: usize) -> Result<usize, Error> {
        self.titles(word, Some(limit)).map(|titles| titles.len())
    }

    fn list_albums(&mut self, limit: usize) -> Result<usize, Error> {
        let media = self.store()?.media()?;
        let albums = media.albums().list(Paging::first(limit as u64))?;
        let covers = albums.iter().map(|album| album.summary.cover);
        let mut bytes = 0;
        media.each_thumbnail(ThumbnailSize::Small, covers, |jpeg| {
            bytes += jpeg.map_or(0, <[u8]>::len);
        })?;
        match bytes {
            0 => Err(Error::other("no album has a thumbnail")),
            _ => Ok(albums.len()),
        }
    }

    fn processor_time(&self) -> Result<Duration, Error> {
        Ok(cpu_time())
    }

    fn peak_memory(&self) -> Result<Option<u64>, Error> {
        peak_memory(std::process::id()).map(Some)
    }

    fn library_bytes(&self) -> Result<u64, Error> {
        bytes_below(&self.dir)
    }
}
