//! What scans of a media library write, counted by the VFS.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use etui::media::{CoverId, CoverThumbnails, ScanOptions, ScanReport};
use etui::{Options, Store, Vfs};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file};
use etui_testkit::own_process::in_own_process;

/// Writes tracks of some albums, with these covers.
fn write_tracks(folder: &Path, count: u64, albums: u64, cover: impl Fn(u64) -> Option<Vec<u8>>) {
    fs::create_dir_all(folder).unwrap();
    for n in 0..count {
        let spec = TrackSpec {
            title: format!("Track {n}"),
            album: format!("Album {}", n % albums),
            cover: cover(n).map(Into::into),
            ..TrackSpec::new(n, 100)
        };
        let file = audio_file(AudioFormat::Wav, &spec);
        fs::write(folder.join(format!("{n}.wav")), file).unwrap();
    }
}

fn open(path: &Path, vfs: Vfs) -> Store {
    let mut options = Options::default();
    options.vfs = vfs;
    Store::open_with(path, &options).unwrap()
}

fn scan(store: &Store, folder: &Path, covers: Vec<CoverThumbnails>) -> ScanReport {
    let options = ScanOptions {
        covers,
        ..ScanOptions::default()
    };
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let media = store.media().unwrap();
    media.scan(&[folder.to_owned()], &options, go_on).unwrap()
}

/// An embedded original, and a thumbnail for both sizes: 128x128 pixels, `length` bytes.
fn original(n: u64) -> Vec<u8> {
    etui_testkit::media::cover(n, 16)
}

fn thumbnail(n: u64, length: usize) -> Vec<u8> {
    let mut jpeg = vec![
        0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, 128, 0, 128, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1,
    ];
    let mut rng = etui_testkit::rng::SplitMix64::stream(7, n);
    while jpeg.len() < length {
        jpeg.extend_from_slice(&rng.next_u64().to_le_bytes());
    }
    jpeg
}

#[test]
fn a_batch_of_sixty_covers_is_one_commit_and_its_thumbnails_are_written_once() {
    // The VFS's counters are of all stores of the process.
    if !in_own_process(a_batch_of_sixty_covers_is_one_commit_and_its_thumbnails_are_written_once) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("Music");
    let store = open(&dir.path().join("media.etui"), Vfs::RedoLog);
    // As many pages of the log as a few batches leave.
    write_tracks(&folder.join("known"), 300, 300, |_| None);
    assert_eq!(scan(&store, &folder, Vec::new()).added, 300);
    const LENGTH: usize = 41_000;
    for batch in 0..3 {
        let number = |n| 1_000 + 60 * batch + n;
        let new = folder.join(format!("{batch}"));
        write_tracks(&new, 60, 60, |n| Some(original(number(n))));
        let covers = (0..60).map(|n| {
            let id = CoverId::of(&original(number(n)));
            let jpeg = thumbnail(number(n), LENGTH);
            CoverThumbnails::new(id, (16, 16), 0, jpeg.clone(), jpeg).unwrap()
        });
        let before = store.vfs_counters().unwrap();
        let report = scan(&store, &folder, covers.collect());
        assert_eq!((report.added, report.covers), (60, 60), "{report:?}");
        let counted = store.vfs_counters().unwrap().since(&before);
        assert_eq!(counted.commits, 1, "{counted:?}");
        assert_eq!(counted.temporary_bytes, 0, "{counted:?}");
        assert_eq!(counted.checkpoints, 0, "{counted:?}");
        let written = counted.database_bytes + counted.redo_bytes;
        assert!(written < 60 * LENGTH as u64 * 115 / 100, "{counted:?}");
    }
    store.close().unwrap();
}

#[test]
fn a_scan_of_many_files_leaves_nothing_to_merge() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("Music");
    let path = dir.path().join("media.etui");
    let store = open(&path, Vfs::System);
    write_tracks(&folder.join("some"), 5, 1, |_| None);
    assert_eq!(scan(&store, &folder, Vec::new()).added, 5);
    write_tracks(&folder.join("many"), 1_000, 1, |_| None);
    assert!(scan(&store, &folder, Vec::new()).added > 900);
    assert!(store.check().unwrap().problems.is_empty());
    store.close().unwrap();
    // A closed store is one file, and an ordinary database.
    let names = fs::read_dir(dir.path()).unwrap();
    assert_eq!(names.count(), 2, "the folder and the store");
    let plain = rusqlite::Connection::open(&path).unwrap();
    let number = |sql: &str| -> i64 { plain.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(number("SELECT count(*) FROM media_file"), 1_005);
    // Fewer changes than a commit merges: the scan has left none to be compared by searches.
    assert!(number("SELECT count(*) FROM record") < 1_024);
    let merged = number("SELECT value FROM meta WHERE key = 'term_watermark'");
    assert_eq!(number("SELECT max(changed) FROM record"), merged);
}
