//! Methods of loading the data, each from opening the file until the used part was used.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use etui_lab_io::mmap::{MapAdvice, MapKind, MappedFile, sum_words};
use etui_lab_io::uring::{AlignedBuffer, CompletionMode, UringQueue};
use rustix::fs::OFlags;
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::data::{PAGE, RUN};
use crate::Error;

/// Bytes from one word that is looked at to the next.
const STRIDE: usize = 512;
/// Where in a page a byte is written: no word that is looked at holds it.
const WRITTEN: usize = 8;
/// Byte written to a used page.
const MARK: u8 = 0xa5;
/// Requests in flight through io_uring.
const DEPTH: u32 = 32;

/// A way to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
pub(super) enum LoadMethod {
    /// `read()` the whole file into memory.
    #[strum(serialize = "read() into memory")]
    ReadAll,
    /// `pread()` the runs that are used.
    #[strum(serialize = "pread() of what is used")]
    ReadUsed,
    /// Map, pages on demand.
    #[strum(serialize = "mmap, on demand")]
    Map,
    /// Map, advise sequential access.
    #[strum(serialize = "mmap, sequential")]
    MapSequential,
    /// Map, advise that all will be needed.
    #[strum(serialize = "mmap, will need")]
    MapWillNeed,
    /// Map and populate all.
    #[strum(serialize = "mmap, populated")]
    MapPopulated,
    /// Map, read the used part and nothing around it, and populate it.
    #[strum(serialize = "mmap, used part populated")]
    MapUsedPopulated,
    /// io_uring, the runs that are used.
    #[strum(serialize = "io_uring")]
    Ring,
    /// Direct reads of the runs that are used.
    #[strum(serialize = "direct reads")]
    Direct,
    /// Direct reads through io_uring.
    #[strum(serialize = "io_uring, direct")]
    RingDirect,
    /// Map privately, read each run, then write it: two faults a page at worst.
    #[strum(serialize = "mmap, read then written")]
    PrivateReadFirst,
    /// Map privately and write at once: a fault that copies for each page.
    #[strum(serialize = "mmap, written at once")]
    PrivateWriteFirst,
    /// Map privately, all pages copied at once.
    #[strum(serialize = "taken over")]
    TakenOver,
    /// Map privately, read the used part and nothing around it, and copy it at once.
    #[strum(serialize = "taken over, used part")]
    UsedTakenOver,
}

impl LoadMethod {
    /// Returns the methods for data that is only read, or that is written later.
    pub(super) fn list(write: bool) -> impl Iterator<Item = Self> {
        let methods = Self::VARIANTS.iter().copied();
        methods.filter(move |method| match method {
            Self::ReadAll | Self::ReadUsed => true,
            Self::PrivateReadFirst
            | Self::PrivateWriteFirst
            | Self::TakenOver
            | Self::UsedTakenOver => write,
            _ => !write,
        })
    }

    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    pub(super) fn named(name: &str) -> Result<Self, Error> {
        let method = name.parse();
        method.map_err(|_| Error::other(format!("there is no method `{name}`")))
    }

    /// Gets at the data and uses it: words of each page of each run are added up, and if
    /// `write`, one byte of each page is written.
    pub(super) fn start(
        self,
        path: &Path,
        used: &[Range<usize>],
        write: bool,
    ) -> Result<StartedData, Error> {
        let direct = matches!(self, LoadMethod::Direct | LoadMethod::RingDirect);
        let file = open_data(path, direct)?;
        let length = file.metadata().map_err(|e| Error::file(path, e))?.len();
        let length = usize::try_from(length).map_err(|_| Error::other("the data is too large"))?;
        let map = |kind| MappedFile::open(&file, length, kind);
        match self {
            LoadMethod::ReadAll => {
                let mut bytes = Vec::new();
                (&file)
                    .read_to_end(&mut bytes)
                    .map_err(|e| Error::file(path, e))?;
                let sum = use_bytes(&mut bytes, used.iter().cloned(), write);
                Ok(StartedData::new(sum, HeldMemory::Bytes(bytes)))
            }
            LoadMethod::ReadUsed => {
                let mut bytes = vec![0; total_length(used)];
                read_at(&file, path, used, &mut bytes)?;
                let sum = use_bytes(&mut bytes, place_runs(used), write);
                Ok(StartedData::new(sum, HeldMemory::Bytes(bytes)))
            }
            LoadMethod::Direct => {
                let mut buffer = AlignedBuffer::new(total_length(used))?;
                read_at(&file, path, used, buffer.bytes_mut())?;
                let sum = use_bytes(buffer.bytes_mut(), place_runs(used), write);
                Ok(StartedData::new(sum, HeldMemory::Buffer(buffer)))
            }
            LoadMethod::Ring | LoadMethod::RingDirect => {
                let mut buffer = AlignedBuffer::new(total_length(used))?;
                let parts = used.iter().map(|run| (run.start as u64, run.len()));
                let parts: Vec<(u64, usize)> = parts.collect();
                let mut ring = UringQueue::new(DEPTH, CompletionMode::Interrupts)?;
                let read = ring.read(&file, &parts, &mut buffer)?;
                if read != total_length(used) as u64 {
                    return Err(Error::other(format!("io_uring read {read} bytes only")));
                }
                let sum = use_bytes(buffer.bytes_mut(), place_runs(used), write);
                Ok(StartedData::new(sum, HeldMemory::Buffer(buffer)))
            }
            LoadMethod::Map | LoadMethod::MapSequential | LoadMethod::MapWillNeed => {
                let mapping = map(MapKind::Shared)?;
                match self {
                    LoadMethod::MapSequential => {
                        mapping.advise(0..length, MapAdvice::Sequential)?
                    }
                    LoadMethod::MapWillNeed => {
                        let runs = (0..length).step_by(RUN);
                        will_need(&mapping, runs.map(|at| at..(at + RUN).min(length)))?;
                    }
                    _ => {}
                }
                StartedData::mapped(mapping, used)
            }
            LoadMethod::MapPopulated => StartedData::mapped(map(MapKind::SharedPopulated)?, used),
            LoadMethod::MapUsedPopulated => {
                let mapping = map(MapKind::Shared)?;
                ask_for(&mapping, used, MapAdvice::PopulateRead)?;
                StartedData::mapped(mapping, used)
            }
            LoadMethod::PrivateReadFirst => {
                let mut mapping = map(MapKind::Private)?;
                let mut sum = 0_u64;
                for run in used {
                    sum = sum.wrapping_add(mapping.sum_words(run.clone(), STRIDE)?);
                    mark_pages(&mut mapping, run)?;
                }
                Ok(StartedData::new(sum, HeldMemory::Mapping(mapping)))
            }
            LoadMethod::PrivateWriteFirst => StartedData::written(map(MapKind::Private)?, used),
            LoadMethod::TakenOver => {
                StartedData::written(map(MapKind::PrivatePopulatedForWriting)?, used)
            }
            LoadMethod::UsedTakenOver => {
                let mapping = map(MapKind::Private)?;
                ask_for(&mapping, used, MapAdvice::PopulateWrite)?;
                StartedData::written(mapping, used)
            }
        }
    }
}

/// Data that was got at, still held.
#[derive(Debug)]
pub(super) struct StartedData {
    /// The sum of the words that were looked at.
    pub(super) sum: u64,
    /// Owner of the data; it uses memory until it is dropped.
    _held: HeldMemory,
}

/// Owner of the loaded data.
#[derive(Debug)]
#[expect(dead_code, reason = "held for their memory alone")]
enum HeldMemory {
    Bytes(Vec<u8>),
    Buffer(AlignedBuffer),
    Mapping(MappedFile),
}

impl StartedData {
    fn new(sum: u64, held: HeldMemory) -> Self {
        Self { sum, _held: held }
    }

    /// Reads the used part.
    fn mapped(mapping: MappedFile, used: &[Range<usize>]) -> Result<Self, Error> {
        let mut sum = 0_u64;
        for run in used {
            sum = sum.wrapping_add(mapping.sum_words(run.clone(), STRIDE)?);
        }
        Ok(Self::new(sum, HeldMemory::Mapping(mapping)))
    }

    /// Writes the used part, then reads it.
    fn written(mut mapping: MappedFile, used: &[Range<usize>]) -> Result<Self, Error> {
        let mut sum = 0_u64;
        for run in used {
            mark_pages(&mut mapping, run)?;
            sum = sum.wrapping_add(mapping.sum_words(run.clone(), STRIDE)?);
        }
        Ok(Self::new(sum, HeldMemory::Mapping(mapping)))
    }
}

fn open_data(path: &Path, direct: bool) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true);
    if direct {
        options.custom_flags(OFlags::DIRECT.bits().cast_signed());
    }
    options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput if direct => {
            Error::not_run("this file system has no direct reads (O_DIRECT)")
        }
        _ => Error::file(path, error),
    })
}

fn total_length(used: &[Range<usize>]) -> usize {
    used.iter().map(Range::len).sum()
}

/// Returns the ranges of the runs once they are read one after another.
fn place_runs(used: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    used.iter().scan(0, |end, run| {
        let begin = *end;
        *end += run.len();
        Some(begin..*end)
    })
}

fn read_at(file: &File, path: &Path, used: &[Range<usize>], into: &mut [u8]) -> Result<(), Error> {
    for (run, place) in used.iter().zip(place_runs(used)) {
        let into = into
            .get_mut(place)
            .ok_or_else(|| Error::other("a run has no place in memory"))?;
        file.read_exact_at(into, run.start as u64)
            .map_err(|e| Error::file(path, e))?;
    }
    Ok(())
}

/// Adds up the words of runs in memory, and marks each page.
fn use_bytes(bytes: &mut [u8], runs: impl Iterator<Item = Range<usize>>, write: bool) -> u64 {
    let mut sum = 0_u64;
    for run in runs {
        let Some(run) = bytes.get_mut(run) else {
            continue;
        };
        sum = sum.wrapping_add(sum_words(run, STRIDE));
        if write {
            for page in run.chunks_mut(PAGE) {
                if let Some(byte) = page.get_mut(WRITTEN) {
                    *byte = MARK;
                }
            }
        }
    }
    sum
}

fn mark_pages(mapping: &mut MappedFile, run: &Range<usize>) -> Result<(), Error> {
    Ok(mapping.write_each_page(run.start + WRITTEN..run.end, MARK)?)
}

/// Has the kernel read the used part, and no more, and then populate it.
fn ask_for(mapping: &MappedFile, used: &[Range<usize>], present: MapAdvice) -> Result<(), Error> {
    // Otherwise each fault would read around, megabytes with some devices.
    mapping.advise(0..mapping.len(), MapAdvice::Random)?;
    will_need(mapping, used.iter().cloned())?;
    for stretch in used.chunk_by(|a, b| a.end == b.start) {
        if let (Some(first), Some(last)) = (stretch.first(), stretch.last()) {
            mapping.advise(first.start..last.end, present)?;
        }
    }
    Ok(())
}

/// Asks for runs one by one: of one long range the kernel reads no more than its read-ahead.
fn will_need(mapping: &MappedFile, runs: impl Iterator<Item = Range<usize>>) -> Result<(), Error> {
    for run in runs {
        mapping.advise(run, MapAdvice::WillNeed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::data;
    use super::*;

    #[test]
    fn all_methods_see_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        data::write_data(&path, 20).unwrap();
        let before = std::fs::read(&path).unwrap();
        for percent in [10, 50, 100] {
            let used = data::used_runs(20, percent);
            let expected = used.iter().fold(0_u64, |sum, run| {
                sum.wrapping_add(sum_words(&before[run.clone()], STRIDE))
            });
            for write in [false, true] {
                for method in LoadMethod::list(write) {
                    match method.start(&path, &used, write) {
                        Ok(started) => assert_eq!(started.sum, expected, "{method:?}"),
                        Err(Error::NotRun(reason)) => eprintln!("{method:?}: {reason}"),
                        Err(error) => panic!("{method:?}: {error}"),
                    }
                }
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), before, "the file stays");
    }

    #[test]
    fn runs_lie_one_behind_the_other_once_read() {
        let used = [RUN..2 * RUN, 5 * RUN..6 * RUN];
        let placed: Vec<_> = place_runs(&used).collect();
        assert_eq!(placed, [0..RUN, RUN..2 * RUN]);
        assert_eq!(total_length(&used), 2 * RUN);
    }
}
