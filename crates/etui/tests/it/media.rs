//! The media library: scans of folders with real files, and what stays of a record.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use etui::media::{
    CoverId, CoverThumbnails, FolderWatch, InvalidThumbnail, Media, Rating, ScanOptions, ScanPhase,
    ScanProgress, ScanReport, ThumbnailSize, TrackColumn, TrackQuery,
};
use etui::store::Options;
use etui::{CollectionKind, Store};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file, cover, write_photos};

/// A library and a folder of music.
struct Library {
    dir: tempfile::TempDir,
    store: Store,
}

impl Library {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("media.etui")).unwrap();
        fs::create_dir(dir.path().join("Music")).unwrap();
        Self { dir, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn media(&self) -> Media {
        self.store.media().unwrap()
    }

    fn scan(&self, folders: &[&str]) -> ScanReport {
        let folders: Vec<PathBuf> = folders.iter().map(|name| self.path(name)).collect();
        let media = self.media();
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let report = media
            .scan(&folders, &ScanOptions::default(), go_on)
            .unwrap();
        let check = self.store.check().unwrap();
        assert!(check.problems.is_empty(), "{check:?}, {report:?}");
        report
    }

    /// Writes a track; returns its path.
    fn write(&self, name: &str, spec: &TrackSpec) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let format = match path.extension().unwrap().to_str().unwrap() {
            "mp3" => AudioFormat::Mp3,
            "flac" => AudioFormat::Flac,
            _ => AudioFormat::Wav,
        };
        fs::write(&path, audio_file(format, spec)).unwrap();
        path
    }

    /// The UID and path of the one track that a filter finds.
    fn track(&self, filter: &str) -> (String, Option<PathBuf>) {
        let media = self.media();
        let query = TrackQuery::new(filter.parse().unwrap()).columns(TrackColumn::Uid);
        let rows = media.tracks().query(&query).unwrap();
        assert_eq!(rows.len(), 1, "{filter}");
        let row = rows.get(0).unwrap();
        let path = media.path(row.id()).unwrap();
        (row.get(TrackColumn::Uid).to_owned(), path)
    }

    fn rating(&self, uid: &str) -> Option<u32> {
        let record = self.media().tracks().get(uid).unwrap();
        let text = record.unwrap().text;
        let values = etui::media::text_values(&text);
        let rating = values.into_iter().find(|(name, _)| name == "user.rating");
        rating.and_then(|(_, stars)| stars.parse().ok())
    }

    fn rate(&self, uid: &str) {
        let rating = Rating::new(4);
        let media = self.media();
        media
            .set_rating(CollectionKind::Music, uid, rating)
            .unwrap();
    }
}

/// A track of an album.
fn song(seed: u64, title: &str) -> TrackSpec {
    TrackSpec {
        title: title.to_owned(),
        artists: vec!["Jürgen Müller".to_owned()],
        album: "Lieder".to_owned(),
        album_artist: "Jürgen Müller".to_owned(),
        track: u32::try_from(seed).unwrap(),
        year: 1977,
        genres: vec!["Folk".to_owned()],
        ..TrackSpec::new(seed, 3_000)
    }
}

#[test]
fn a_scan_knows_tracks_albums_artists_and_covers() {
    let library = Library::new();
    let front = cover(1, 400);
    for (number, name) in [(1, "a.mp3"), (2, "b.flac"), (3, "c.wav")] {
        let mut spec = song(number, &format!("Song {number}"));
        spec.cover = (number < 3).then(|| front.clone().into());
        library.write(&format!("Music/Müller/{name}"), &spec);
    }
    fs::write(library.path("Music/Müller/cover.jpg"), cover(2, 300)).unwrap();
    fs::write(library.path("Music/Müller/notes.txt"), "no medium").unwrap();
    let report = library.scan(&["Music"]);
    assert_eq!(
        (report.files, report.added, report.problems.len()),
        (4, 3, 0)
    );
    assert_eq!(report.covers, 2, "a cover is made once");

    let media = library.media();
    let found = media.tracks().find(&"mull song".parse().unwrap()).unwrap();
    let titles: Vec<_> = found
        .iter()
        .map(|track| track.summary.title.as_str())
        .collect();
    assert_eq!(titles, ["Song 1", "Song 2", "Song 3"]);
    assert_eq!(found[0].summary.seconds, 3);
    let albums = media
        .albums()
        .list(etui::record::Paging::first(10))
        .unwrap();
    let album = &albums[0].summary;
    assert_eq!(
        (album.name.as_str(), album.members, album.year),
        ("Lieder", 3, Some(1977))
    );
    assert_eq!(album.artist, "Jürgen Müller");
    assert_eq!(album.cover, found[0].summary.cover);
    assert_ne!(
        found[2].summary.cover, found[0].summary.cover,
        "the folder's"
    );
    let small = media
        .thumbnail(album.cover.unwrap(), ThumbnailSize::Small)
        .unwrap();
    assert!(small.unwrap().starts_with(&[0xff, 0xd8]));
    let (artists, genres) = (
        media.artists().count().unwrap(),
        media.genres().count().unwrap(),
    );
    assert_eq!((artists, genres), (1, 1));
    let years = |filter: &str| media.tracks().find(&filter.parse().unwrap()).unwrap().len();
    assert_eq!(
        (
            years("year:1970..1979"),
            years("year:>1977"),
            years("length:<4")
        ),
        (3, 0, 3)
    );
}

#[test]
fn covers_that_a_program_has_thumbnails_of_are_not_decoded() {
    let library = Library::new();
    // No decoder reads the first; the second is one that a scan would decode.
    let originals = [b"no picture".to_vec(), cover(1, 400)];
    let small = |n: u64| cover(10 + n, 128);
    let large = |n: u64| cover(20 + n, 256);
    for (n, original) in (0u64..).zip(&originals) {
        for copy in 0..2 {
            let mut spec = song(2 * n + copy, &format!("Song {n} {copy}"));
            spec.cover = Some(original.clone().into());
            library.write(&format!("Music/{n}/{copy}.mp3"), &spec);
        }
    }
    let unused = cover(5, 300);
    let given = (0u64..).zip(originals.iter().chain([&unused]));
    let given = given.map(|(n, original)| {
        let id = CoverId::of(original);
        CoverThumbnails::new(id, (400, 300), 0x10_2030, small(n), large(n)).unwrap()
    });
    let options = ScanOptions {
        covers: given.collect(),
        ..ScanOptions::default()
    };
    let media = library.media();
    let token = library.store.token().unwrap();
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let report = media
        .scan(&[library.path("Music")], &options, go_on)
        .unwrap();
    assert_eq!((report.added, report.covers), (4, 2));
    assert!(report.problems.is_empty(), "{report:?}");
    assert_ne!(library.store.token().unwrap(), token);
    for (n, original) in (0u64..).zip(&originals) {
        let id = CoverId::of(original);
        let thumbnail = |size| media.thumbnail(id, size).unwrap().unwrap();
        assert!(thumbnail(ThumbnailSize::Small) == small(n));
        assert!(thumbnail(ThumbnailSize::Large) == large(n));
        let stored = media.cover(id).unwrap().unwrap();
        assert_eq!(
            (stored.width, stored.height, stored.color),
            (400, 300, 0x10_2030)
        );
    }
    // Nothing has it, so that it is not stored.
    assert_eq!(media.cover(CoverId::of(&unused)).unwrap(), None);

    // A stored cover stays, whatever a program gives.
    library.write("Music/0/new.mp3", &{
        let mut spec = song(9, "New");
        spec.cover = Some(originals[1].clone().into());
        spec
    });
    let other = CoverThumbnails::new(CoverId::of(&originals[1]), (1, 1), 0, small(8), large(8));
    let options = ScanOptions {
        covers: vec![other.unwrap()],
        ..ScanOptions::default()
    };
    let report = media.scan(&[], &options, go_on).unwrap();
    assert_eq!((report.added, report.covers), (1, 0));
    let id = Some(CoverId::of(&originals[1]));
    let read = |jpeg: Option<&[u8]>| assert!(jpeg == Some(&small(1)));
    media
        .each_thumbnail(ThumbnailSize::Small, [id], read)
        .unwrap();
}

#[test]
fn thumbnails_that_are_no_jpeg_or_too_large_are_refused() {
    let new = |small: &[u8], large: &[u8]| {
        let (small, large) = (small.to_vec(), large.to_vec());
        let taken = CoverThumbnails::new(CoverId::of(b"1"), (9, 9), 0, small, large);
        taken.map(|given| given.id())
    };
    let (small, large) = (cover(1, 128), cover(1, 256));
    assert_eq!(new(&small, &large), Ok(CoverId::of(b"1")));
    assert_eq!(new(&small, &small), Ok(CoverId::of(b"1")));
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10";
    for bad in [&[], &png[..], &large[..10]] {
        assert_eq!(new(bad, &large), Err(InvalidThumbnail::NotJpeg));
        assert_eq!(new(&small, bad), Err(InvalidThumbnail::NotJpeg));
    }
    let too_wide = InvalidThumbnail::TooManyPixels {
        width: 256,
        height: 256,
        max: 128,
    };
    assert_eq!(new(&large, &large), Err(too_wide));
    let mut long = small.clone();
    long.resize(CoverThumbnails::MAX_BYTES + 1, 0);
    let too_long = InvalidThumbnail::TooManyBytes(long.len());
    assert_eq!(new(&small, &long), Err(too_long));
}

#[test]
fn a_scan_without_changes_writes_nothing() {
    let library = Library::new();
    library.write("Music/a/a.mp3", &song(1, "A"));
    library.scan(&["Music"]);
    let token = library.store.token().unwrap();
    let report = library.scan(&[]);
    assert_eq!((report.files, report.added, report.changed), (1, 0, 0));
    assert_eq!(library.store.token().unwrap(), token);
}

#[test]
fn a_file_that_is_moved_keeps_its_record() {
    let library = Library::new();
    library.write("Music/a/a.mp3", &song(1, "A"));
    library.write("Music/b/b.mp3", &song(2, "B"));
    library.scan(&["Music"]);
    let (uid, _) = library.track("title:a");
    library.rate(&uid);

    // A folder, the root, one file.
    fs::rename(library.path("Music/a"), library.path("Music/c")).unwrap();
    let report = library.scan(&[]);
    assert_eq!((report.moved_folders, report.added, report.lost), (1, 0, 0));
    fs::rename(library.path("Music"), library.path("Songs")).unwrap();
    assert_eq!(library.scan(&[]).away.len(), 1);
    let report = library.scan(&["Songs"]);
    assert_eq!(
        (report.moved_folders, report.added, report.away.len()),
        (1, 0, 0)
    );
    fs::rename(library.path("Songs/c/a.mp3"), library.path("Songs/b/z.mp3")).unwrap();
    let report = library.scan(&[]);
    assert_eq!((report.moved, report.added, report.lost), (1, 0, 0));
    let expected = library.path("Songs/b/z.mp3").canonicalize().unwrap();
    assert_eq!(library.track("title:a"), (uid.clone(), Some(expected)));
    assert_eq!(library.rating(&uid), Some(4));
}

#[test]
fn a_file_that_is_tagged_anew_or_replaced_keeps_its_record() {
    let library = Library::new();
    let path = library.write("Music/a.mp3", &song(1, "A"));
    library.scan(&["Music"]);
    let (uid, _) = library.track("title:a");
    library.rate(&uid);
    library.write("Music/a.mp3", &song(1, "Another title"));
    touch(&path);
    assert_eq!(library.scan(&[]).changed, 1);
    assert_eq!(library.track("title:another").0, uid);

    // The same recording in another format.
    fs::remove_file(&path).unwrap();
    library.write(
        "Music/b.flac",
        &TrackSpec {
            seed: 9,
            ..song(1, "Another title")
        },
    );
    let report = library.scan(&[]);
    assert_eq!((report.added, report.moved, report.lost), (0, 1, 0));
    assert_eq!(
        (library.track("title:another").0, library.rating(&uid)),
        (uid, Some(4))
    );
}

#[test]
fn what_is_lost_comes_back() {
    let library = Library::new();
    let path = library.write(
        "Music/a.mp3",
        &TrackSpec {
            cover: Some(cover(1, 200).into()),
            ..song(1, "A")
        },
    );
    library.write("Music/b.mp3", &song(2, "B"));
    library.scan(&["Music"]);
    let (uid, _) = library.track("title:a");
    library.rate(&uid);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(library.scan(&[]).lost, 1);
    let albums = library
        .media()
        .albums()
        .list(etui::record::Paging::first(2))
        .unwrap();
    assert_eq!(albums[0].summary.members, 1);
    fs::create_dir(library.path("Music/new")).unwrap();
    fs::write(library.path("Music/new/other.mp3"), bytes).unwrap();
    let report = library.scan(&[]);
    assert_eq!((report.added, report.moved), (0, 1));
    assert_eq!(
        (library.track("title:a").0, library.rating(&uid)),
        (uid, Some(4))
    );
}

#[test]
fn a_drive_that_is_away_loses_nothing() {
    let library = Library::new();
    library.write("Music/a.mp3", &song(1, "A"));
    library.scan(&["Music"]);
    let (uid, _) = library.track("title:a");
    library.rate(&uid);
    // Not there, and an empty folder in its place.
    let hidden = library.path("hidden");
    fs::rename(library.path("Music"), &hidden).unwrap();
    assert_eq!(library.scan(&[]).away.len(), 1);
    fs::create_dir(library.path("Music")).unwrap();
    assert_eq!(library.scan(&[]).away.len(), 1);
    assert!(library.media().roots().unwrap()[0].is_away);
    // Copied to another disk meanwhile: the same records.
    fs::create_dir(library.path("Disk")).unwrap();
    fs::copy(hidden.join("a.mp3"), library.path("Disk/a.mp3")).unwrap();
    let report = library.scan(&["Disk"]);
    assert_eq!((report.added, report.moved), (0, 1));
    assert_eq!(library.track("title:a").0, uid);
    // Back: what has two files now has two records.
    fs::remove_dir(library.path("Music")).unwrap();
    fs::rename(&hidden, library.path("Music")).unwrap();
    let report = library.scan(&[]);
    assert_eq!((report.away.len(), report.lost, report.added), (0, 0, 1));
    assert_eq!(library.rating(&uid), Some(4));
}

#[test]
fn a_copy_has_a_record_of_its_own() {
    let library = Library::new();
    let path = library.write("Music/a.mp3", &song(1, "A"));
    library.scan(&["Music"]);
    fs::copy(&path, library.path("Music/copy.mp3")).unwrap();
    assert_eq!(library.scan(&[]).added, 1);
    assert_eq!(library.media().tracks().count().unwrap(), 2);
}

#[test]
fn a_folder_of_the_library_becomes_part_of_another() {
    let library = Library::new();
    library.write("Music/rock/hard/a.mp3", &song(1, "A"));
    library.write("Music/b.mp3", &song(2, "B"));
    library.scan(&["Music/rock/hard"]);
    let (uid, _) = library.track("title:a");
    let report = library.scan(&["Music"]);
    assert_eq!((report.added, report.lost, report.changed), (1, 0, 0));
    assert_eq!(library.track("title:a").0, uid);
    assert_eq!(library.media().roots().unwrap().len(), 1);
    // A folder below one of the library is not another.
    library.scan(&["Music/rock"]);
    assert_eq!(library.media().roots().unwrap().len(), 1);
    assert!(library.media().remove_root(&library.path("Music")).unwrap());
    assert_eq!(library.media().tracks().count().unwrap(), 0);
}

#[test]
fn pictures_are_known_by_day() {
    let library = Library::new();
    let photos = write_photos(&library.path("Pictures"), 6, 1).unwrap();
    let report = library.scan(&["Pictures"]);
    assert_eq!(
        (report.added, report.problems.len()),
        (photos.len() as u64, 0),
        "{report:?}"
    );
    let media = library.media();
    let listed = media
        .pictures()
        .list(etui::record::Paging::first(10))
        .unwrap();
    let times: Vec<&str> = listed.iter().map(|p| p.summary.taken.as_str()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let days = media.days().list(etui::record::Paging::first(10)).unwrap();
    let members: u64 = days.iter().map(|day| day.summary.members).sum();
    assert_eq!(members, photos.len() as u64);
    for photo in &photos {
        let Some(taken) = &photo.spec.taken else {
            continue;
        };
        let day = format!("{:04}-{:02}-{:02}", taken.year, taken.month, taken.day);
        let found = media
            .pictures()
            .find(&format!("taken:{day}").parse().unwrap())
            .unwrap();
        assert!(!found.is_empty(), "{day}");
        let upright = matches!(photo.spec.orientation, None | Some(1..=4));
        let wide = found[0].summary.width > found[0].summary.height;
        let is_wide = photo.spec.width > photo.spec.height;
        assert!(found.len() > 1 || wide == (is_wide == upright), "{photo:?}");
    }
}

#[test]
fn a_stopped_scan_goes_on() {
    let library = Library::new();
    let collection = etui_testkit::media::MediaCollection::write(&library.path("Music"), 6, 3);
    let tracks = collection.unwrap().tracks.len() as u64;
    let media = library.media();
    let folders = [library.path("Music")];
    // Stopped at the first files that are read, again and again.
    for _ in 0..3 {
        let mut stop = |progress: &ScanProgress| match progress.phase {
            ScanPhase::Reading => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let options = ScanOptions::default();
        let report = media.scan(&folders, &options, &mut stop).unwrap();
        assert!(report.is_stopped && report.added < tracks, "{report:?}");
    }
    let report = library.scan(&["Music"]);
    assert_eq!(report.lost, 0);
    assert_eq!(media.tracks().count().unwrap(), tracks);
    let stats = media.stats().unwrap();
    assert!(stats.covers > 0 && stats.thumbnail_bytes > 0);
}

#[test]
fn what_a_person_recorded_can_be_undone() {
    let library = Library::new();
    library.write("Music/a.mp3", &song(1, "A"));
    library.scan(&["Music"]);
    let (uid, _) = library.track("title:a");
    let media = library.media();
    media.record_play(&uid, SystemTime::now()).unwrap();
    media.record_play(&uid, SystemTime::now()).unwrap();
    library.rate(&uid);
    let found = |filter: &str| media.tracks().find(&filter.parse().unwrap()).unwrap().len();
    assert_eq!(
        (found("plays:2"), found("rating:>=4"), found("plays:>2")),
        (1, 1, 0)
    );
    assert!(media.undo_user_data(CollectionKind::Music, &uid).unwrap());
    assert_eq!(library.rating(&uid), None);
    assert_eq!(found("plays:2"), 1);
    let refused = media.tracks().remove(&uid).unwrap_err().to_string();
    assert!(refused.contains("comes from files"), "{refused}");
}

#[test]
fn a_library_in_a_read_only_store_is_read() {
    let library = Library::new();
    library.write("Music/a.mp3", &song(1, "A"));
    library.scan(&["Music"]);
    let path = library.store.path().to_owned();
    library.store.close().unwrap();
    let mut options = Options::default();
    options.read_only = true;
    let store = Store::open_with(&path, &options).unwrap();
    assert_eq!(store.media().unwrap().tracks().count().unwrap(), 1);
}

/// Gives a file another time than it had.
fn touch(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(10))
        .unwrap();
}

#[test]
fn files_that_exchange_names_keep_their_records() {
    let library = Library::new();
    let one = library.write("Music/1.mp3", &song(1, "One"));
    let two = library.write("Music/2.mp3", &song(2, "Two"));
    library.scan(&["Music"]);
    let (uid, _) = library.track("title:one");
    library.rate(&uid);
    let aside = library.path("aside");
    fs::rename(&one, &aside).unwrap();
    fs::rename(&two, &one).unwrap();
    fs::rename(&aside, &two).unwrap();
    let report = library.scan(&[]);
    assert_eq!((report.moved, report.changed, report.lost), (2, 0, 0));
    assert_eq!(
        (library.track("title:one").0, library.rating(&uid)),
        (uid, Some(4))
    );
}

#[test]
fn a_file_that_is_moved_onto_another_keeps_its_record() {
    let library = Library::new();
    let one = library.write("Music/1.mp3", &song(1, "One"));
    let two = library.write("Music/2.mp3", &song(2, "Two"));
    library.scan(&["Music"]);
    let (uid, _) = library.track("title:one");
    library.rate(&uid);
    fs::rename(&one, &two).unwrap();
    let report = library.scan(&[]);
    assert_eq!((report.moved, report.added, report.lost), (1, 0, 1));
    assert_eq!(library.rating(&uid), Some(4));
    assert!(!library.scan(&[]).has_changes());
    assert_eq!(library.track("title:one").0, uid);
}

#[test]
fn a_copy_that_comes_back_keeps_its_rating() {
    let library = Library::new();
    let path = library.write("Music/a.mp3", &song(1, "A"));
    library.scan(&["Music"]);
    let copy = library.path("Music/copy.mp3");
    fs::copy(&path, &copy).unwrap();
    library.scan(&[]);
    let media = library.media();
    let uids: Vec<String> = {
        let query = TrackQuery::all().columns(TrackColumn::Uid);
        let rows = media.tracks().query(&query).unwrap();
        rows.iter()
            .map(|row| row.get(TrackColumn::Uid).to_owned())
            .collect()
    };
    let second = uids.iter().find(|uid| uid.ends_with("-2")).unwrap();
    library.rate(second);
    let bytes = fs::read(&copy).unwrap();
    fs::remove_file(&copy).unwrap();
    assert_eq!(library.scan(&[]).lost, 1);
    fs::write(&copy, bytes).unwrap();
    let report = library.scan(&[]);
    assert_eq!((report.added, report.moved), (0, 1));
    assert_eq!(library.rating(second), Some(4));
    let albums = media.albums().list(etui::record::Paging::first(1)).unwrap();
    assert_eq!(albums[0].summary.members, 2);
}

#[test]
fn another_drive_at_the_same_path_takes_nothing_away() {
    let library = Library::new();
    library.write("Disk/Music/a.mp3", &song(1, "A"));
    library.scan(&["Disk"]);
    fs::rename(library.path("Disk"), library.path("first")).unwrap();
    library.write("Disk/Music/b.mp3", &song(2, "B"));
    let report = library.scan(&[]);
    assert_eq!((report.away.len(), report.lost), (1, 0));
    assert_eq!(library.media().tracks().count().unwrap(), 1);
}

#[test]
fn a_file_moved_between_two_folders_of_the_library_keeps_its_record() {
    let library = Library::new();
    let path = library.write("A/a.mp3", &song(1, "A"));
    library.write("B/b.mp3", &song(2, "B"));
    library.scan(&["A", "B"]);
    let (uid, _) = library.track("title:a");
    library.rate(&uid);
    fs::rename(path, library.path("B/a.mp3")).unwrap();
    // Only the folder where it is now.
    library.scan(&["B"]);
    library.scan(&[]);
    assert_eq!(
        (library.track("title:a").0, library.rating(&uid)),
        (uid, Some(4))
    );
}

#[test]
fn a_folder_that_is_named_with_one_in_it_is_scanned_once() {
    let library = Library::new();
    library.write("Music/Rock/a.mp3", &song(1, "A"));
    library.scan(&["Music/Rock", "Music"]);
    library.scan(&[]);
    assert_eq!(library.media().roots().unwrap().len(), 1);
    assert_eq!(library.media().tracks().count().unwrap(), 1);
}

#[test]
fn a_folder_without_media_is_there() {
    let library = Library::new();
    for _ in 0..2 {
        let report = library.scan(&["Music"]);
        assert_eq!((report.files, report.away.len()), (0, 0));
    }
    library.write("Music/a.mp3", &song(1, "A"));
    assert_eq!(library.scan(&[]).added, 1);
}

#[test]
fn a_rating_is_undone_after_the_file_was_tagged_anew() {
    let library = Library::new();
    let path = library.write("Music/a.mp3", &song(1, "A"));
    library.scan(&["Music"]);
    let (uid, _) = library.track("title:a");
    library.rate(&uid);
    library.write("Music/a.mp3", &song(1, "Another title"));
    touch(&path);
    library.scan(&[]);
    let media = library.media();
    assert!(media.undo_user_data(CollectionKind::Music, &uid).unwrap());
    assert_eq!(library.rating(&uid), None);
    assert_eq!(library.track("title:another").0, uid);
    let unknown = media.undo_user_data(CollectionKind::Music, "etui-none");
    assert!(unknown.is_err());
}

/// Waits for changes and scans.
fn next_scan(watch: &mut FolderWatch) -> ScanReport {
    assert!(
        watch.wait(Some(Duration::from_secs(120))).unwrap(),
        "no event"
    );
    let continue_always = &mut |_: &ScanProgress| ControlFlow::Continue(());
    watch
        .scan(&ScanOptions::default(), continue_always)
        .unwrap()
}

#[test]
fn a_watch_follows_new_folders_bursts_and_moves() {
    let library = Library::new();
    library.scan(&["Music"]);
    let media = library.media();
    let mut watch = media.watch_folders().unwrap();
    let continue_always = &mut |_: &ScanProgress| ControlFlow::Continue(());
    watch
        .scan(&ScanOptions::default(), continue_always)
        .unwrap();
    assert_eq!(watch.unwatched(), 0);
    assert!(!watch.wait(Some(Duration::ZERO)).unwrap());

    // A burst into a folder that was not there.
    fs::create_dir_all(library.path("Music/New/CD 1")).unwrap();
    for number in 1..=8 {
        let file = audio_file(AudioFormat::Mp3, &song(number, &format!("Track {number}")));
        fs::write(library.path(&format!("Music/New/CD 1/{number}.mp3")), file).unwrap();
    }
    let report = next_scan(&mut watch);
    assert_eq!(report.added, 8);

    // The new folder is followed, too.
    fs::rename(
        library.path("Music/New/CD 1/3.mp3"),
        library.path("Music/New/3.mp3"),
    )
    .unwrap();
    let report = next_scan(&mut watch);
    assert_eq!((report.moved, report.added, report.lost), (1, 0, 0));
    fs::remove_file(library.path("Music/New/3.mp3")).unwrap();
    assert_eq!(next_scan(&mut watch).lost, 1);

    // Other files, and hidden ones, are not worth a scan.
    fs::write(library.path("Music/New/notes.txt"), "x").unwrap();
    fs::create_dir(library.path("Music/.cache")).unwrap();
    fs::write(library.path("Music/New/half.mp3.part"), "x").unwrap();
    assert_eq!(watch.due_in().unwrap(), None);

    // A scan that was stopped is due again.
    let stop = &mut |_: &ScanProgress| ControlFlow::Break(());
    let stopped = watch.scan(&ScanOptions::default(), stop).unwrap();
    assert!(stopped.is_stopped && watch.due_in().unwrap().is_some());
    assert!(!next_scan(&mut watch).has_changes());

    // The folder is gone, as when a drive is disconnected: it is looked for later.
    fs::rename(library.path("Music"), library.path("elsewhere")).unwrap();
    let report = next_scan(&mut watch);
    assert_eq!(report.away.len(), 1);
    assert!(watch.due_in().unwrap().is_some());
    assert_eq!(media.tracks().count().unwrap(), 7);
}
