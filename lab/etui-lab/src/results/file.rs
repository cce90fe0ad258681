//! The results file: one JSON object a line (JSON Lines), appended as runs end.
//!
//! ```text
//! {"kind":"lab",...}        the machine, the versions, the parameters      first line
//! {"kind":"stack",...}      how a stack was made
//! {"kind":"not-run",...}    a part that cannot be run here, and why
//! {"kind":"run",...}        one run of one arm: case, answer, measures
//! {"kind":"failed",...}     a run that failed, or whose answer differed
//! {"kind":"end",...}        complete                                       last line
//! ```
//!
//! A line is written by one call. A last line without its end was cut off with the process
//! that wrote it; it is dropped, and its run is made again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::FlockOperation;

use super::{FORMAT, ResultLine, RunHeader};
use crate::error::Error;

/// Reads a results file. A last line that was cut off is left out.
pub fn read_results(path: &Path) -> Result<Vec<ResultLine>, Error> {
    let bytes = fs::read(path).map_err(|e| Error::file(path, e))?;
    Ok(parse_lines(path, &bytes)?.0)
}

/// The lines, and how many bytes they take up to the last whole one.
fn parse_lines(path: &Path, bytes: &[u8]) -> Result<(Vec<ResultLine>, u64), Error> {
    let mut lines = Vec::new();
    let mut whole = 0;
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(text) = line.strip_suffix(b"\n") else {
            break;
        };
        whole += line.len() as u64;
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let parsed: ResultLine = serde_json::from_slice(text).map_err(|error| Error::Results {
            path: path.to_owned(),
            line: at + 1,
            message: error.to_string(),
        })?;
        if let ResultLine::Lab(header) = &parsed
            && header.format > FORMAT
        {
            return Err(Error::Results {
                path: path.to_owned(),
                line: at + 1,
                message: format!(
                    "format {} is newer than this laboratory's {FORMAT}",
                    header.format
                ),
            });
        }
        lines.push(parsed);
    }
    if !lines.is_empty() && !matches!(lines.first(), Some(ResultLine::Lab(_))) {
        return Err(Error::Results {
            path: path.to_owned(),
            line: 1,
            message: "not a results file: the first line is not of kind `lab`".to_owned(),
        });
    }
    Ok((lines, whole))
}

/// The header of a file's lines.
pub fn read_header(lines: &[ResultLine]) -> RunHeader {
    match lines.first() {
        Some(ResultLine::Lab(header)) => header.clone(),
        _ => RunHeader::default(),
    }
}

/// Whether a file's lines are those of a complete run.
pub fn is_complete(lines: &[ResultLine]) -> bool {
    matches!(lines.last(), Some(ResultLine::End { .. }))
}

/// Appends to a results file.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    /// A new file with its header. A file that is there is kept as `NAME.old`.
    pub fn create(path: &Path, header: &RunHeader) -> Result<Self, Error> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(|e| Error::file(parent, e))?;
        }
        if path.exists() {
            // Held until the name is free.
            let _old = open_locked(path)?;
            let mut old = path.as_os_str().to_owned();
            old.push(".old");
            fs::rename(path, &old).map_err(|e| Error::file(path, e))?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(|e| match e.kind() {
                // Another run made it since its absence was seen.
                io::ErrorKind::AlreadyExists => busy(path),
                _ => Error::file(path, e),
            })?;
        lock_file(path, &file)?;
        let mut writer = Self {
            path: path.to_owned(),
            file,
        };
        writer.append(&ResultLine::Lab(header.clone()))?;
        Ok(writer)
    }

    /// A file to go on with, and its lines so far. A cut-off last line is removed.
    pub fn resume(path: &Path) -> Result<(Self, Vec<ResultLine>), Error> {
        let mut file = open_locked(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(|e| Error::file(path, e))?;
        let (lines, whole) = parse_lines(path, &bytes)?;
        file.set_len(whole).map_err(|e| Error::file(path, e))?;
        let path = path.to_owned();
        Ok((Self { path, file }, lines))
    }

    /// Appends a line.
    pub fn append(&mut self, line: &ResultLine) -> Result<(), Error> {
        let mut text = serde_json::to_string(line)
            .map_err(|e| Error::other(format!("a result cannot be written: {e}")))?;
        text.push('\n');
        self.file
            .write_all(text.as_bytes())
            .map_err(|e| Error::file(&self.path, e))
    }
}

fn open_locked(path: &Path) -> Result<File, Error> {
    let found = fs::metadata(path).map_err(|e| Error::file(path, e))?;
    if !found.is_file() {
        return Err(Error::Usage(format!(
            "{}: results go to a regular file only; give another --out",
            path.display()
        )));
    }
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .open(path)
        .map_err(|e| Error::file(path, e))?;
    lock_file(path, &file)?;
    Ok(file)
}

/// Locks a file for as long as it is open, and makes sure that it still has its name.
fn lock_file(path: &Path, file: &File) -> Result<(), Error> {
    // Some file systems know no locks; there it is up to the person.
    let held = || {
        rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
            == Err(rustix::io::Errno::WOULDBLOCK)
    };
    // A process that a writer was just starting when it ended has the lock for a moment more.
    let locked = (0..10).all(|_| {
        let held = held();
        if held {
            thread::sleep(Duration::from_millis(20));
        }
        held
    });
    let same = || {
        let (ours, named) = (file.metadata().ok()?, fs::metadata(path).ok()?);
        Some((ours.dev(), ours.ino()) == (named.dev(), named.ino()))
    };
    if locked || same() != Some(true) {
        return Err(busy(path));
    }
    Ok(())
}

fn busy(path: &Path) -> Error {
    Error::Usage(format!(
        "{}: another run writes to it; wait for its end, or give another --out",
        path.display()
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn end() -> ResultLine {
        ResultLine::End { seconds: 1.5 }
    }

    #[test]
    fn a_cut_off_line_is_dropped_and_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/results.jsonl");
        let header = RunHeader {
            format: FORMAT,
            ..RunHeader::default()
        };
        let mut writer = Writer::create(&path, &header).unwrap();
        writer.append(&end()).unwrap();
        drop(writer);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (mut writer, lines) = Writer::resume(&path).unwrap();
            assert!(lines.len() < 2);
            assert_eq!(read_results(&path).unwrap().len(), lines.len());
            if !lines.is_empty() {
                writer.append(&end()).unwrap();
                assert_eq!(fs::read(&path).unwrap(), whole);
            }
        }
    }

    #[test]
    fn what_is_no_results_file_is_refused_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.jsonl");
        for (text, line) in [
            ("BEGIN:VCARD\n", 1),
            ("{\"kind\":\"end\",\"seconds\":1}\n", 1),
            ("{\"kind\":\"other\"}\n", 1),
        ] {
            fs::write(&path, text).unwrap();
            match read_results(&path) {
                Err(Error::Results { line: at, .. }) => assert_eq!(at, line, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        let newer = RunHeader {
            format: FORMAT + 1,
            ..RunHeader::default()
        };
        Writer::create(&path, &newer).unwrap();
        assert!(
            read_results(&path)
                .unwrap_err()
                .to_string()
                .contains("newer")
        );
        assert!(dir.path().join("results.jsonl.old").exists());
    }

    #[test]
    fn a_file_has_one_writer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.jsonl");
        let header = RunHeader {
            format: FORMAT,
            ..RunHeader::default()
        };
        let writer = Writer::create(&path, &header).unwrap();
        let refused = Writer::resume(&path).unwrap_err().to_string();
        assert!(refused.contains("another run"), "{refused}");
        assert!(Writer::create(&path, &header).is_err());
        assert!(!dir.path().join("results.jsonl.old").exists());
        drop(writer);
        Writer::resume(&path).unwrap();

        let place = dir.path().join("directory");
        fs::create_dir(&place).unwrap();
        assert!(Writer::create(&place, &header).is_err());
        assert!(place.is_dir());
    }
}
