//! [`MediaServer`]: what each product does.

use std::path::Path;
use std::time::Duration;

use etui_lab::Error;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LibraryTrack {
    pub(super) album: String,
    pub(super) title: String,
}

/// Measures that only one product has.
pub(super) type OwnMeasures = Vec<(&'static str, f64)>;

/// A product with a library of music.
pub(super) trait MediaServer {
    /// Scans the folder until everything is stored.
    fn scan_folder(&mut self, music: &Path) -> Result<OwnMeasures, Error>;

    /// Ends it, as far as it is a program.
    fn stop(&mut self) -> Result<(), Error>;

    /// Starts it again, with the folder at another path.
    fn start_at(&mut self, music: &Path) -> Result<(), Error>;

    fn list_tracks(&mut self) -> Result<Vec<LibraryTrack>, Error>;

    /// Returns the titles of the tracks with a word in their title.
    fn find_titles(&mut self, word: &str) -> Result<Vec<String>, Error>;

    /// Returns the number of the first titles with a word in list order, or of all if it has no pages.
    fn find_first_titles(&mut self, word: &str, limit: usize) -> Result<usize, Error> {
        let _ = limit;
        self.find_titles(word).map(|titles| titles.len())
    }

    /// Lists the first albums of a grid, or all if it has no pages; returns their number.
    fn list_albums(&mut self, limit: usize) -> Result<usize, Error>;

    /// Returns the processor time of its processes, user and system.
    fn processor_time(&self) -> Result<Duration, Error>;

    /// Returns the peak of the resident memory of its process in bytes; `None` if it has ended.
    fn peak_memory(&self) -> Result<Option<u64>, Error>;

    /// Returns the bytes of its database and of its thumbnails.
    fn library_bytes(&self) -> Result<u64, Error>;
}
