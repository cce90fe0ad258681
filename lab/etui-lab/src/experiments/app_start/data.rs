//! The initial data of an application: a file, and the part of it that is used at start.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use etui_testkit::rng::mix64;

use crate::Error;

/// Size of one used run.
pub(super) const RUN: usize = 64 * 1024;
pub(super) const PAGE: usize = 4096;
/// The data file's name.
pub(super) const FILE: &str = "data";
/// Name of a small one, read first so that the measuring program itself is in
/// memory.
pub(super) const SMALL: &str = "small";
/// The small one's runs.
pub(super) const SMALL_RUNS: usize = 4;

/// Returns the used runs in file order, as byte ranges. They are drawn
/// once, and runs used at 10 % are used at 50 %, too.
pub(super) fn used_runs(runs: usize, percent: u64) -> Vec<Range<usize>> {
    let wanted = (runs as u64 * percent.min(100)).div_ceil(100);
    let mut drawn: Vec<usize> = (0..runs).collect();
    drawn.sort_by_key(|run| (mix64(*run as u64), *run));
    drawn.truncate(usize::try_from(wanted).unwrap_or(runs));
    drawn.sort_unstable();
    drawn
        .into_iter()
        .map(|run| run * RUN..(run + 1) * RUN)
        .collect()
}

/// Writes a file of `runs` runs that compresses to about a half: of each page the first half
/// is random, the second one repeats a short text.
pub(super) fn write_data(path: &Path, runs: usize) -> Result<(), Error> {
    let failed = |e| Error::file(path, e);
    let mut file = File::create(path).map_err(failed)?;
    let text: Vec<u8> = b"an application's initial data; "
        .iter()
        .copied()
        .cycle()
        .take(PAGE / 2)
        .collect();
    let mut stream = blake3::Hasher::new().update(b"app-start").finalize_xof();
    let mut run = vec![0_u8; RUN];
    for _ in 0..runs {
        for page in run.chunks_exact_mut(PAGE) {
            let (random, repeated) = page.split_at_mut(PAGE / 2);
            stream.fill(random);
            repeated.copy_from_slice(&text);
        }
        file.write_all(&run).map_err(failed)?;
    }
    // Dirty pages cannot be evicted.
    file.sync_all().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_grows_and_keeps_what_it_had() {
        let tenth = used_runs(1_024, 10);
        let half = used_runs(1_024, 50);
        assert_eq!(tenth.len(), 103);
        assert_eq!(half.len(), 512);
        assert!(tenth.iter().all(|run| half.contains(run)));
        assert!(half.windows(2).all(|pair| pair[0].end <= pair[1].start));
        let all = used_runs(16, 100);
        assert_eq!(all.first().map(|run| run.start), Some(0));
        assert_eq!(all.last().map(|run| run.end), Some(16 * RUN));
        assert_eq!(used_runs(16, 1).len(), 1);
        assert!(used_runs(0, 50).is_empty());
    }

    #[test]
    fn what_is_used_is_spread_over_the_file() {
        let tenth = used_runs(1_000, 10);
        for quarter in 0..4 {
            let part = quarter * 250 * RUN..(quarter + 1) * 250 * RUN;
            let here = tenth.iter().filter(|run| part.contains(&run.start)).count();
            assert!((10..=40).contains(&here), "{here} in quarter {quarter}");
        }
    }

    #[test]
    fn the_file_is_the_same_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("1"), dir.path().join("2"));
        write_data(&one, 2).unwrap();
        write_data(&two, 2).unwrap();
        let bytes = std::fs::read(&one).unwrap();
        assert_eq!(bytes.len(), 2 * RUN);
        assert_eq!(bytes, std::fs::read(&two).unwrap());
    }
}
