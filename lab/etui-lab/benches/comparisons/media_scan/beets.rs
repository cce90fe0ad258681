//! beets, a program that is started for each request.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::processes::ProcessCpu;
use super::super::server_process::bytes_below;
use super::server::{LibraryTrack, MediaServer, OwnMeasures};
use etui_lab::{Error, machine};

pub(super) const PROGRAM: &str = "beet";

pub(super) struct Beets {
    dir: PathBuf,
    music: PathBuf,
    /// Nothing was imported yet.
    is_empty: bool,
    before: ProcessCpu,
}

impl Beets {
    pub(super) fn new(dir: &Path, music: &Path) -> Result<Self, Error> {
        let mut beets = Self {
            dir: dir.to_owned(),
            music: music.to_owned(),
            is_empty: true,
            before: ProcessCpu::of_children(),
        };
        beets.start_at(music)?;
        Ok(beets)
    }

    fn run_beet(&self, arguments: &[&str]) -> Result<String, Error> {
        let program = machine::find_tool(PROGRAM).ok_or_else(|| Error::not_run("no beets"))?;
        let mut command = Command::new(program);
        command
            .env("BEETSDIR", &self.dir)
            .env("HOME", &self.dir)
            .env("LC_ALL", "C.UTF-8")
            .args(arguments);
        let output = command
            .output()
            .map_err(|e| Error::file(command.get_program(), e))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(Error::Command {
            command: format!("beet {}", arguments.join(" ")),
            message: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

impl MediaServer for Beets {
    fn scan_folder(&mut self, music: &Path) -> Result<OwnMeasures, Error> {
        // `update` knows changed and lost files, `import` new ones.
        if !self.is_empty {
            self.run_beet(&["update", "--nomove"])?;
        }
        let music = music.to_string_lossy();
        self.run_beet(&[
            "import",
            "--quiet",
            "--noautotag",
            "--nocopy",
            "--nowrite",
            &music,
        ])?;
        self.is_empty = false;
        Ok(Vec::new())
    }

    fn stop(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn start_at(&mut self, music: &Path) -> Result<(), Error> {
        self.music = music.to_owned();
        let config = self.dir.join("config.yaml");
        let text = format!(
            "directory: '{}'\nlibrary: '{}'\nplugins: []\nimport:\n  incremental: yes\n",
            music.display(),
            self.dir.join("library.db").display()
        );
        std::fs::write(&config, text).map_err(|e| Error::file(&config, e))
    }

    fn list_tracks(&mut self) -> Result<Vec<LibraryTrack>, Error> {
        let printed = self.run_beet(&["ls", "--format", "$album\t$title"])?;
        let tracks = printed.lines().filter_map(|line| line.split_once('\t'));
        let tracks = tracks.map(|(album, title)| LibraryTrack {
            album: album.to_owned(),
            title: title.to_owned(),
        });
        Ok(tracks.collect())
    }

    fn find_titles(&mut self, word: &str) -> Result<Vec<String>, Error> {
        let query = format!("title:{word}");
        let printed = self.run_beet(&["ls", "--format", "$title", &query])?;
        Ok(printed.lines().map(str::to_owned).collect())
    }

    fn list_albums(&mut self, _limit: usize) -> Result<usize, Error> {
        let printed = self.run_beet(&["ls", "--album", "--format", "$albumartist\t$album"])?;
        Ok(printed.lines().count())
    }

    fn processor_time(&self) -> Result<Duration, Error> {
        Ok(ProcessCpu::of_children().minus(self.before).time())
    }

    fn peak_memory(&self) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    fn library_bytes(&self) -> Result<u64, Error> {
        bytes_below(&self.dir)
    }
}
