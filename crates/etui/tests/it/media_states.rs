//! Scans after scans: whatever happened to the files, and wherever a scan was killed, the library
//! is the one that a first scan of the same folder makes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use etui::media::{ScanOptions, ScanReport};
use etui::record::Paging;
use etui::{Options, Store, Vfs};
use etui_testkit::media::{AudioFormat, MediaCollection, TrackSpec, audio_file, cover};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use etui_testkit::rng::SplitMix64;

/// The folder and the store of a child that scans.
const REDO_LOG: &str = "ETUI_TEST_MEDIA_REDO_LOG";
const FOLDER: &str = "ETUI_TEST_MEDIA_FOLDER";
const STORE: &str = "ETUI_TEST_MEDIA_STORE";

fn scan(store: &Store, folder: &Path) -> ScanReport {
    let media = store.media().unwrap();
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let options = ScanOptions::default();
    media.scan(&[folder.to_owned()], &options, go_on).unwrap()
}

/// Everything that lists show, without ids.
fn content(store: &Store) -> Vec<String> {
    let media = store.media().unwrap();
    let mut lines = Vec::new();
    for track in media.tracks().list(Paging::ALL).unwrap() {
        let path = media.path(track.id).unwrap();
        if let Some(cover) = track.summary.cover {
            assert!(media.cover(cover).unwrap().is_some(), "{track:?}");
        }
        lines.push(format!("{path:?} {:?}", track.summary));
    }
    for picture in media.pictures().list(Paging::ALL).unwrap() {
        let path = media.path(picture.id).unwrap();
        lines.push(format!("{path:?} {:?}", picture.summary));
    }
    let albums = media.albums().list(Paging::ALL).unwrap();
    lines.extend(albums.iter().map(|album| format!("{:?}", album.summary)));
    let artists = media.artists().list(Paging::ALL).unwrap();
    lines.extend(artists.iter().map(|artist| format!("{:?}", artist.summary)));
    let genres = media.genres().list(Paging::ALL).unwrap();
    lines.extend(genres.iter().map(|genre| format!("{:?}", genre.summary)));
    lines.sort();
    lines
}

/// Compares a library with one that is scanned for the first time.
fn expect_like_new(store: &Store, folder: &Path, what: &str) {
    let check = store.check().unwrap();
    assert!(check.problems.is_empty(), "{what}: {check:?}");
    let dir = tempfile::tempdir().unwrap();
    let fresh = Store::open(dir.path().join("fresh.etui")).unwrap();
    scan(&fresh, folder);
    let (found, expected): (BTreeSet<_>, BTreeSet<_>) = (
        content(store).into_iter().collect(),
        content(&fresh).into_iter().collect(),
    );
    let missing: Vec<_> = expected.difference(&found).collect();
    let extra: Vec<_> = found.difference(&expected).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{what}: missing {missing:#?}, extra {extra:#?}"
    );
}

/// Thumbnails of no cover, and covers of no record, in the trash or not.
fn orphans(path: &Path) -> (i64, i64) {
    let conn = rusqlite::Connection::open(path).unwrap();
    let count = |sql: &str| conn.query_row(sql, [], |r| r.get(0)).unwrap();
    (
        count(
            "SELECT count(*) FROM media_thumbnail WHERE id NOT IN (SELECT small FROM media_cover) \
             AND id NOT IN (SELECT large FROM media_cover)",
        ),
        count(
            "SELECT count(*) FROM media_cover c WHERE NOT EXISTS (SELECT 1 FROM record r \
             WHERE instr(CAST(r.text AS TEXT), 'file.cover=' || printf('%016x', c.id)) > 0)",
        ),
    )
}

/// A folder that is changed at random.
struct ChangingFolder {
    dir: PathBuf,
    rng: SplitMix64,
    made: u64,
}

impl ChangingFolder {
    fn new(dir: PathBuf, seed: u64) -> Self {
        fs::create_dir_all(&dir).unwrap();
        Self {
            dir,
            rng: SplitMix64::stream(seed, 0),
            made: 0,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.rng.next_u64() % n as u64).unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.dir.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => found.push(path),
                }
            }
        }
        found.sort();
        found
    }

    fn any_file(&mut self) -> Option<PathBuf> {
        let files = self.files();
        (!files.is_empty()).then(|| files[self.below(files.len())].clone())
    }

    fn any_folder(&mut self) -> PathBuf {
        let names = ["A", "B/CD 1", "B/CD 2", "C", "C/D"];
        let name = names[self.below(names.len())];
        let folder = self.dir.join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn new_name(&mut self, folder: &Path, extension: &str) -> PathBuf {
        self.made += 1;
        folder.join(format!("{}.{extension}", self.made))
    }

    fn write_track(&mut self, path: &Path) {
        let seed = self.rng.next_u64();
        let albums = ["Low", "Hits", ""];
        let artists = ["David Bowie", "Jürgen Müller", "The Who"];
        let spec = TrackSpec {
            title: format!("Title {}", self.made),
            artists: vec![artists[self.below(3)].to_owned()],
            album: albums[self.below(3)].to_owned(),
            album_artist: ["", "David Bowie"][self.below(2)].to_owned(),
            genres: vec![["Rock", "Folk"][self.below(2)].to_owned()],
            cover: (self.below(2) == 0).then(|| cover(seed % 3, 64).into()),
            ..TrackSpec::new(seed, 1_000)
        };
        let format = match path.extension().is_some_and(|e| e == "flac") {
            true => AudioFormat::Flac,
            false => AudioFormat::Mp3,
        };
        fs::write(path, audio_file(format, &spec)).unwrap();
        // Two changes within the clock's step must differ, as on a file system that stores ns.
        let file = fs::File::options().write(true).open(path).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        file.set_modified(time + Duration::from_nanos(seed % 1_000_000_000_000))
            .unwrap();
    }

    /// Changes something; returns what.
    fn change(&mut self) -> String {
        let kind = self.below(9);
        let file = self.any_file();
        let folder = self.any_folder();
        match (kind, file) {
            (0..=2, _) | (_, None) => {
                let extension = ["mp3", "flac"][self.below(2)];
                let path = self.new_name(&folder, extension);
                self.write_track(&path);
                format!("write {}", path.display())
            }
            (3, Some(file)) => {
                fs::remove_file(&file).unwrap();
                format!("remove {}", file.display())
            }
            (4, Some(file)) => {
                let extension = file.extension().unwrap().to_str().unwrap().to_owned();
                let to = self.new_name(&folder, &extension);
                fs::rename(&file, &to).unwrap();
                format!("move {} to {}", file.display(), to.display())
            }
            (5, Some(file)) if file.extension().is_some_and(|e| e != "jpg") => {
                self.write_track(&file);
                format!("write again {}", file.display())
            }
            (6, Some(file)) if file.extension().is_some_and(|e| e != "jpg") => {
                let extension = file.extension().unwrap().to_str().unwrap().to_owned();
                let to = self.new_name(&folder, &extension);
                fs::copy(&file, &to).unwrap();
                format!("copy {} to {}", file.display(), to.display())
            }
            (7, _) => {
                let number = self.below(3);
                let to = self.dir.join(format!("moved{number}"));
                match to.exists() {
                    true => format!("leave {}", to.display()),
                    false => {
                        fs::rename(&folder, &to).unwrap();
                        format!("move folder {} to {}", folder.display(), to.display())
                    }
                }
            }
            _ => {
                let path = folder.join("cover.jpg");
                let seed = self.below(3) as u64 + 10;
                fs::write(&path, cover(seed, 48)).unwrap();
                format!("cover {}", path.display())
            }
        }
    }
}

#[test]
fn a_library_is_like_a_new_one_after_any_changes() {
    for seed in 0..6 {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = ChangingFolder::new(dir.path().join("Music"), seed);
        let path = dir.path().join("media.etui");
        let store = Store::open(&path).unwrap();
        let mut history = Vec::new();
        for _ in 0..12 {
            for _ in 0..=folder.below(5) {
                history.push(folder.change());
            }
            let report = scan(&store, &folder.dir);
            history.push(format!("scan: {report:?}"));
            expect_like_new(&store, &folder.dir, &format!("seed {seed}: {history:#?}"));
            let again = scan(&store, &folder.dir);
            let changes = again.added + again.changed + again.moved + again.lost;
            assert_eq!(changes, 0, "{again:?} after {history:#?}");
            assert_eq!(orphans(&path), (0, 0), "{history:#?}");
        }
    }
}

#[test]
#[ignore = "a process that the next test kills"]
fn scan_until_killed() {
    let (Some(folder), Some(store)) = (std::env::var_os(FOLDER), std::env::var_os(STORE)) else {
        return;
    };
    let mut options = Options::default();
    if std::env::var_os(REDO_LOG).is_some() {
        options.vfs = Vfs::RedoLog;
    }
    println!("scans");
    let store = Store::open_with(store, &options).unwrap();
    scan(&store, Path::new(&folder));
}

#[test]
fn killed_scans_lose_nothing() {
    // It starts many processes.
    if !in_own_process(killed_scans_lose_nothing) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("media.etui");
    let music = dir.path().join("Music");
    MediaCollection::write(&music, 8, 5).unwrap();
    let mut folder = ChangingFolder::new(music.clone(), 7);
    for round in 0..100 {
        for _ in 0..3 {
            folder.change();
        }
        let mut command = ProgramOfTest::new(scan_until_killed).command().unwrap();
        // Each finds what the other left.
        if round % 2 == 1 {
            command.env(REDO_LOG, "1");
        }
        let mut child = command
            .env(FOLDER, &music)
            .env(STORE, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let begins = |line: io::Result<String>| line.unwrap().contains("scans");
        assert!(said.lines().any(begins), "round {round}");
        std::thread::sleep(Duration::from_millis(folder.below(60) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        if path.exists() {
            etui::recover(&path).unwrap();
        }
        if round % 20 == 19 {
            let store = Store::open(&path).unwrap();
            scan(&store, &music);
            expect_like_new(&store, &music, &format!("round {round}"));
            assert_eq!(orphans(&path), (0, 0), "round {round}");
        }
    }
}
