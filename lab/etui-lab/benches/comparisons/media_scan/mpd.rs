//! Music Player Daemon, by its protocol over a Unix socket.
//!
//! ```text
//! reply := "OK MPD " version LF               when a client connects
//! reply := (name ": " value LF)* "OK" LF      to a command
//!        | "ACK " error LF
//! ```

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::server_process::{ServerProcess, wait_until};
use super::server::{LibraryTrack, MediaServer, OwnMeasures};
use etui_lab::{Error, machine};

pub(super) const PROGRAM: &str = "mpd";

pub(super) struct Mpd {
    dir: PathBuf,
    /// A path that fits into a socket's address.
    sockets: tempfile::TempDir,
    process: ServerProcess,
    client: Option<BufReader<UnixStream>>,
}

impl Mpd {
    pub(super) fn start(dir: &Path, music: &Path) -> Result<Self, Error> {
        let sockets = tempfile::Builder::new().prefix("etui-lab-").tempdir();
        let mut mpd = Self {
            dir: dir.to_owned(),
            sockets: sockets.map_err(|e| Error::file("a temporary directory", e))?,
            process: ServerProcess::none(),
            client: None,
        };
        // Without a database it scans at its start: so the first one is of an empty folder.
        let empty = dir.join("empty");
        fs::create_dir(&empty).map_err(|e| Error::file(&empty, e))?;
        mpd.start_at(&empty)?;
        mpd.wait_for_update()?;
        mpd.stop()?;
        mpd.start_at(music)?;
        Ok(mpd)
    }

    fn wait_for_update(&mut self) -> Result<(), Error> {
        wait_until("MPD's update", || {
            let status = self.ask("status")?;
            let is_updating = status.iter().any(|(name, _)| name == "updating_db");
            Ok((!is_updating).then_some(()))
        })
    }

    /// Sends a command; returns the names and values of the reply.
    fn ask(&mut self, command: &str) -> Result<Vec<(String, String)>, Error> {
        let failed = |e| Error::file("MPD's socket", e);
        let client = self.client.as_mut();
        let client = client.ok_or_else(|| Error::other("MPD does not run"))?;
        let line = format!("{command}\n");
        client
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(failed)?;
        let mut values = Vec::new();
        loop {
            let mut line = String::new();
            if client.read_line(&mut line).map_err(failed)? == 0 {
                return Err(Error::other("MPD closed its socket"));
            }
            let line = line.trim_end_matches('\n');
            if line == "OK" {
                return Ok(values);
            }
            if line.starts_with("ACK ") {
                return Err(Error::other(format!("MPD: {command}: {line}")));
            }
            if let Some((name, value)) = line.split_once(": ") {
                values.push((name.to_owned(), value.to_owned()));
            }
        }
    }
}

fn values_of(reply: Vec<(String, String)>, name: &str) -> Vec<String> {
    let found = reply.into_iter().filter(|(of, _)| of == name);
    found.map(|(_, value)| value).collect()
}

impl MediaServer for Mpd {
    fn scan_folder(&mut self, _music: &Path) -> Result<OwnMeasures, Error> {
        self.ask("update")?;
        self.wait_for_update()?;
        Ok(Vec::new())
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.client = None;
        self.process.stop()
    }

    fn start_at(&mut self, music: &Path) -> Result<(), Error> {
        let socket = self.sockets.path().join("mpd");
        let config = self.dir.join("mpd.conf");
        let text = format!(
            "music_directory \"{}\"\ndb_file \"{}\"\nbind_to_address \"{}\"\n\
             filesystem_charset \"UTF-8\"\nauto_update \"no\"\nzeroconf_enabled \"no\"\n\
             audio_output {{\n  type \"null\"\n  name \"none\"\n}}\n",
            music.display(),
            self.dir.join("database").display(),
            socket.display()
        );
        fs::write(&config, text).map_err(|e| Error::file(&config, e))?;
        let program = machine::find_tool(PROGRAM).ok_or_else(|| Error::not_run("no mpd"))?;
        let mut command = Command::new(program);
        command.env("LC_ALL", "C.UTF-8");
        command.args(["--no-daemon", "--stderr"]).arg(&config);
        let log = self.sockets.path().join("log");
        self.process.start(&mut command, &log)?;
        let process = &mut self.process;
        let client = wait_until("MPD's socket", || match UnixStream::connect(&socket) {
            Ok(client) => Ok(Some(client)),
            Err(_) if process.is_running() => Ok(None),
            Err(error) => {
                let said = fs::read_to_string(&log).unwrap_or_default();
                Err(Error::other(format!("MPD does not start: {error}; {said}")))
            }
        })?;
        let mut client = BufReader::new(client);
        let mut greeting = String::new();
        let read = client.read_line(&mut greeting);
        read.map_err(|e| Error::file("MPD's socket", e))?;
        self.client = Some(client);
        Ok(())
    }

    fn list_tracks(&mut self) -> Result<Vec<LibraryTrack>, Error> {
        let mut tracks = Vec::new();
        for (name, value) in self.ask("search \"(file != '')\"")? {
            if name == "file" {
                tracks.push(LibraryTrack {
                    album: String::new(),
                    title: String::new(),
                });
            } else if let Some(track) = tracks.last_mut() {
                match name.as_str() {
                    "Album" => track.album = value,
                    "Title" => track.title = value,
                    _ => {}
                }
            }
        }
        Ok(tracks)
    }

    fn find_titles(&mut self, word: &str) -> Result<Vec<String>, Error> {
        let found = self.ask(&format!("search title \"{word}\""))?;
        Ok(values_of(found, "Title"))
    }

    fn list_albums(&mut self, _limit: usize) -> Result<usize, Error> {
        let albums = self.ask("list album group albumartist")?;
        Ok(values_of(albums, "Album").len())
    }

    fn processor_time(&self) -> Result<Duration, Error> {
        self.process.processor_time()
    }

    fn peak_memory(&self) -> Result<Option<u64>, Error> {
        self.process.peak_memory()
    }

    fn library_bytes(&self) -> Result<u64, Error> {
        let path = self.dir.join("database");
        let found = fs::metadata(&path).map_err(|e| Error::file(&path, e))?;
        Ok(found.len())
    }
}
