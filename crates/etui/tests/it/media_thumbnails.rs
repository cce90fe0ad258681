//! The desktop's thumbnails: read instead of decoding, and written where file managers look.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use etui::media::{
    CoverId, DesktopSize, DesktopThumbnailState, DesktopThumbnails, Media, ScanOptions,
    ThumbnailSize,
};
use etui::{RecordId, Store};
use etui_testkit::media::{AudioFormat, PhotoSpec, TrackSpec, audio_file, cover, photo};

struct Library {
    dir: tempfile::TempDir,
    store: Store,
    desktop: DesktopThumbnails,
}

impl Library {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("media.etui")).unwrap();
        let desktop = DesktopThumbnails::new(dir.path().join("cache/thumbnails"));
        fs::create_dir(dir.path().join("files")).unwrap();
        Self {
            dir,
            store,
            desktop,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        let dir = self.dir.path().canonicalize().unwrap();
        dir.join("files").join(name)
    }

    fn media(&self) -> Media {
        self.store.media().unwrap()
    }

    /// Scans, and returns the problems.
    fn scan(&self) -> Vec<String> {
        let options = ScanOptions {
            desktop: Some(self.desktop.clone()),
            ..ScanOptions::default()
        };
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let report = self
            .media()
            .scan(&[self.file("")], &options, go_on)
            .unwrap();
        report
            .problems
            .into_iter()
            .map(|problem| problem.reason)
            .collect()
    }

    /// Writes the desktop's thumbnail of a file: all of one color.
    fn write_thumbnail(&self, file: &Path, size: DesktopSize, color: [u8; 3]) {
        let mut jpeg = Vec::new();
        let side = size.pixels() as u16;
        let pixels = color.repeat(usize::from(side) * usize::from(side));
        let encoder = jpeg_encoder::Encoder::new(&mut jpeg, 90);
        let color = jpeg_encoder::ColorType::Rgb;
        encoder.encode(&pixels, side, side, color).unwrap();
        self.desktop.write(file, mtime(file), size, &jpeg).unwrap();
    }

    fn picture(&self) -> RecordId {
        let media = self.media();
        let found = media.pictures().find(&"".parse().unwrap()).unwrap();
        assert_eq!(found.len(), 1);
        found[0].id
    }

    fn color(&self) -> Option<u32> {
        let media = self.media();
        let id: Option<CoverId> = media.cover_of(self.picture()).unwrap();
        let cover = media.cover(id?).unwrap()?;
        Some(cover.color)
    }
}

fn mtime(file: &Path) -> i64 {
    fs::metadata(file).unwrap().mtime()
}

fn a_photo() -> Vec<u8> {
    photo(&PhotoSpec {
        seed: 1,
        width: 640,
        height: 480,
        make: "Maker".to_owned(),
        ..PhotoSpec::default()
    })
}

/// True for a color that is nearly this one: JPEG changes it a little.
fn is_near(color: Option<u32>, [r, g, b]: [u8; 3]) -> bool {
    let color = color.unwrap_or(0).to_be_bytes();
    let pairs = color[1..].iter().zip([r, g, b]);
    pairs.into_iter().all(|(a, b)| a.abs_diff(b) < 8)
}

const GREEN: [u8; 3] = [10, 200, 10];

#[test]
fn a_valid_thumbnail_is_taken_and_others_are_not() {
    type Change = fn(&Library, &Path);
    let cases: [(&str, bool, Change); 6] = [
        ("of 256 pixels", true, |library, file| {
            library.write_thumbnail(file, DesktopSize::Large, GREEN);
        }),
        ("of 512 pixels", true, |library, file| {
            library.write_thumbnail(file, DesktopSize::XLarge, GREEN);
        }),
        ("of 128 pixels", false, |library, file| {
            library.write_thumbnail(file, DesktopSize::Normal, GREEN);
        }),
        ("of another time", false, |library, file| {
            library.write_thumbnail(file, DesktopSize::Large, GREEN);
            let opened = fs::File::options().write(true).open(file).unwrap();
            let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(99);
            opened.set_modified(earlier).unwrap();
        }),
        ("damaged", false, |library, file| {
            library.write_thumbnail(file, DesktopSize::Large, GREEN);
            let path = library.desktop.path(file, DesktopSize::Large);
            let png = fs::read(&path).unwrap();
            fs::write(path, &png[..png.len() / 2]).unwrap();
        }),
        ("of another file", false, |library, file| {
            library.write_thumbnail(file, DesktopSize::Large, GREEN);
            let other = file.with_file_name("other.jpg");
            fs::copy(file, &other).unwrap();
            fs::rename(
                library.desktop.path(file, DesktopSize::Large),
                library.desktop.path(&other, DesktopSize::Large),
            )
            .unwrap();
            fs::rename(&other, file).unwrap();
        }),
    ];
    for (name, is_taken, change) in cases {
        let library = Library::new();
        let file = library.file("a b.jpg");
        fs::write(&file, a_photo()).unwrap();
        change(&library, &file);
        assert_eq!(library.scan(), [""; 0], "{name}");
        let color = library.color();
        assert_eq!(is_near(color, GREEN), is_taken, "{name}: {color:x?}");
        assert!(color.is_some(), "{name}");
        // Its size is the photo's.
        let media = library.media();
        let id = media.cover_of(library.picture()).unwrap().unwrap();
        let cover = media.cover(id).unwrap().unwrap();
        assert_eq!((cover.width, cover.height), (640, 480), "{name}");
    }
}

#[test]
fn pictures_without_a_decoder_have_the_desktops() {
    let library = Library::new();
    // An ISO file of the brand heic with a size, and no more.
    let file = library.file("IMG_1.heic");
    fs::write(&file, heic(400, 300)).unwrap();
    library.write_thumbnail(&file, DesktopSize::Large, GREEN);
    library.scan();
    assert!(is_near(library.color(), GREEN));
    assert!(
        library
            .media()
            .problems()
            .unwrap()
            .iter()
            .all(|p| !p.is_refused)
    );
}

/// A HEIC file without pixels: boxes of a size.
fn heic(width: u32, height: u32) -> Vec<u8> {
    fn sized(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let len = u32::try_from(content.len() + 8).unwrap();
        [&len.to_be_bytes()[..], kind, content].concat()
    }
    let ispe = [[0; 4], width.to_be_bytes(), height.to_be_bytes()].concat();
    let ipco = sized(b"ipco", &sized(b"ispe", &ispe));
    let meta = [vec![0; 4], sized(b"iprp", &ipco)].concat();
    [
        sized(b"ftyp", b"heic\0\0\0\0mif1heic"),
        sized(b"meta", &meta),
    ]
    .concat()
}

#[test]
fn thumbnails_are_written_once_and_again_when_the_file_changes() {
    let library = Library::new();
    let song = library.file("Låt?.mp3");
    let spec = TrackSpec {
        title: "Låt".to_owned(),
        cover: Some(cover(7, 400).into()),
        ..TrackSpec::new(1, 2_000)
    };
    fs::write(&song, audio_file(AudioFormat::Mp3, &spec)).unwrap();
    library.scan();
    let media = library.media();
    let id = media.tracks().find(&"".parse().unwrap()).unwrap()[0].id;
    let write = || {
        media
            .write_desktop_thumbnails(id, &library.desktop)
            .unwrap()
    };
    assert_eq!(write(), DesktopThumbnailState::Written);
    for (size, pixels) in [(DesktopSize::Normal, 128), (DesktopSize::Large, 256)] {
        let found = library.desktop.read(&song, mtime(&song), size).unwrap();
        let sides = imagesize::blob_size(&found.png).unwrap();
        assert_eq!((sides.width, sides.height), (pixels, pixels));
    }
    assert_eq!(write(), DesktopThumbnailState::Current);
    let opened = fs::File::options().write(true).open(&song).unwrap();
    opened
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    assert_eq!(write(), DesktopThumbnailState::Written);
    assert!(library.desktop.read(&song, 0, DesktopSize::Large).is_some());
    // One of the sizes was there.
    fs::remove_file(library.desktop.path(&song, DesktopSize::Normal)).unwrap();
    assert_eq!(write(), DesktopThumbnailState::Written);
    fs::remove_file(&song).unwrap();
    assert_eq!(write(), DesktopThumbnailState::NoFile);
}

#[test]
fn a_file_without_a_cover_is_marked_as_failed() {
    let library = Library::new();
    let song = library.file("a.mp3");
    let spec = TrackSpec {
        title: "A".to_owned(),
        ..TrackSpec::new(1, 2_000)
    };
    fs::write(&song, audio_file(AudioFormat::Mp3, &spec)).unwrap();
    library.scan();
    let media = library.media();
    let id = media.tracks().find(&"".parse().unwrap()).unwrap()[0].id;
    for _ in 0..2 {
        let state = media
            .write_desktop_thumbnails(id, &library.desktop)
            .unwrap();
        assert_eq!(state, DesktopThumbnailState::Failed);
    }
    assert!(library.desktop.has_failed(&song, mtime(&song)));
    assert_eq!(media.cover_of(id).unwrap(), None);
}

#[test]
fn a_cache_that_cannot_be_written_is_an_error_and_never_stops_a_scan() {
    let library = Library::new();
    let file = library.file("a.jpg");
    fs::write(&file, a_photo()).unwrap();
    // A file is in the place of the folder.
    fs::write(library.dir.path().join("cache"), "").unwrap();
    assert_eq!(library.scan(), [""; 0]);
    let id = library.picture();
    let media = library.media();
    let error = media
        .write_desktop_thumbnails(id, &library.desktop)
        .unwrap_err();
    assert!(
        error.to_string().contains("cache/thumbnails/normal"),
        "{error}"
    );
    let cover = media.cover_of(id).unwrap().unwrap();
    assert!(
        media
            .thumbnail(cover, ThumbnailSize::Large)
            .unwrap()
            .is_some()
    );
}
