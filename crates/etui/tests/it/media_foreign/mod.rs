//! Files as other programs write them: damaged and odd tags, names with dates, and 200 files that
//! mutagen writes, and mutagen and TagLib read.
//!
//! `scripts/need python3-mutagen python3-taglib` installs them; without, the test prints a message and is skipped.

mod pairs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use etui::media::{ScanOptions, ScanReport};
use etui::record::Paging;
use etui::{CollectionKind, Store};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file, cover};

/// A library and the folder that it scans.
struct Library {
    dir: tempfile::TempDir,
    store: Store,
}

impl Library {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("media.etui")).unwrap();
        fs::create_dir(dir.path().join("files")).unwrap();
        Self { dir, store }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("files")
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn scan(&self) -> ScanReport {
        let media = self.store.media().unwrap();
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let report = media
            .scan(&[self.folder()], &ScanOptions::default(), go_on)
            .unwrap();
        assert!(self.store.check().unwrap().is_clean(), "{report:?}");
        report
    }

    /// Names and values of each record, by the name of its file.
    fn records(&self, kind: CollectionKind) -> BTreeMap<String, Vec<(String, String)>> {
        let media = self.store.media().unwrap();
        let texts: Vec<Vec<u8>> = match kind {
            CollectionKind::Pictures => {
                let all = media.pictures();
                let listed = all.list(Paging::first(1000)).unwrap();
                let found = listed.iter().map(|one| all.get(one.id).unwrap().unwrap());
                found.map(|record| record.text).collect()
            }
            _ => {
                let all = media.tracks();
                let listed = all.list(Paging::first(1000)).unwrap();
                let found = listed.iter().map(|one| all.get(one.id).unwrap().unwrap());
                found.map(|record| record.text).collect()
            }
        };
        let records = texts.iter().map(|text| {
            let values = etui::media::text_values(text);
            let name = values.iter().find(|(name, _)| name == "file.name");
            (name.unwrap().1.clone(), values)
        });
        records.collect()
    }

    /// The values of some names of a track, each after its name.
    fn values(&self, file: &str, names: &[&str]) -> String {
        let records = self.records(CollectionKind::Music);
        let values = records.get(file).into_iter().flatten();
        let values = values.filter(|(name, _)| names.contains(&name.as_str()));
        let values: Vec<String> = values
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        values.join(" ")
    }

    fn albums(&self) -> Vec<(String, String, u64)> {
        let albums = self.store.media().unwrap().albums();
        let albums = albums.list(Paging::first(100)).unwrap();
        let albums = albums.iter().map(|album| &album.summary);
        albums
            .map(|album| (album.name.clone(), album.artist.clone(), album.members))
            .collect()
    }
}

/// The sound of a file without a tag.
fn sound(format: AudioFormat) -> Vec<u8> {
    audio_file(format, &TrackSpec::new(7, 2_000))
}

/// An MP3 file with an ID3 tag of these frames.
fn mp3(major: u8, frames: &[Vec<u8>]) -> Vec<u8> {
    let frames = frames.concat();
    let size = [21, 14, 7, 0].map(|shift| (frames.len() >> shift & 0x7f) as u8);
    let header = [b'I', b'D', b'3', major, 0, 0];
    let sound = sound(AudioFormat::Mp3);
    [&header[..], &size, &frames, &sound[without_tag(&sound)..]].concat()
}

/// Where the sound begins after an ID3 tag.
fn without_tag(file: &[u8]) -> usize {
    match file.strip_prefix(b"ID3") {
        Some(rest) => {
            10 + rest[3..7]
                .iter()
                .fold(0, |size, &b| size << 7 | usize::from(b))
        }
        None => 0,
    }
}

fn frame(id: &str, flags: u8, content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len()).unwrap().to_be_bytes();
    [id.as_bytes(), &size, &[0, flags], content].concat()
}

/// Damaged frames and what is left of the tag: the rest of it always is.
#[test]
fn a_damaged_frame_costs_the_frame() {
    let library = Library::new();
    // "Compressed title" in zlib's stored form, after its length.
    let stored = |text: &[u8]| {
        let len = u8::try_from(text.len()).unwrap();
        let (mut a, mut b) = (1u32, 0u32);
        for byte in text {
            a = (a + u32::from(*byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        let sum = (b << 16 | a).to_be_bytes();
        [
            &[0, 0, 0, len, 0x78, 0x01, 0x01, len, 0, !len, 0xff][..],
            text,
            &sum,
        ]
        .concat()
    };
    let cases: &[(&str, u8, Vec<u8>, &str, bool)] = &[
        (
            "latin1-as-utf8",
            4,
            frame("TIT2", 0, b"\x03Caf\xe9 noir"),
            "TITLE=Café noir ",
            true,
        ),
        (
            "odd",
            3,
            frame("TIT2", 0, b"\x01\xff\xfeO\0d\0d"),
            "TITLE=Od ",
            false,
        ),
        (
            "no-mark",
            3,
            frame("TIT2", 0, b"\x01N\0o\0"),
            "TITLE=No ",
            false,
        ),
        (
            "no-mark-big",
            3,
            frame("TIT2", 0, b"\x01\0N\0o"),
            "TITLE=No ",
            false,
        ),
        (
            "plain-as-utf16",
            3,
            frame("TIT2", 0, b"\x01Plain"),
            "TITLE=Plain ",
            false,
        ),
        (
            "deflated",
            4,
            frame("TIT2", 0x09, &stored(b"\x03Deflated")),
            "TITLE=Deflated ",
            false,
        ),
        (
            "deflated-23",
            3,
            frame("TIT2", 0, b"\0Short"),
            "TITLE=Short ",
            false,
        ),
        (
            "rubbish",
            4,
            frame("TIT2", 0x09, b"\0\0\0\x05rubbish"),
            "",
            true,
        ),
        ("encrypted", 4, frame("TIT2", 0x04, b"\x03secret"), "", true),
        (
            "unknown-encoding",
            4,
            frame("TIT2", 0, b"\x07Odd"),
            "TITLE=Odd ",
            false,
        ),
        ("no-name", 4, frame("ti2\x01", 0, b"\x03lower"), "", true),
        (
            "lying",
            4,
            b"TIT2\x7f\x7f\x7f\x7f\0\0\x03Long".to_vec(),
            "",
            true,
        ),
    ];
    for (name, major, first, ..) in cases {
        let rest = [frame("TPE1", 0, b"\0Ann"), frame("TALB", 0, b"\0Enc")].concat();
        library.write(&format!("{name}.mp3"), &mp3(*major, &[first.clone(), rest]));
    }
    let report = library.scan();
    let problems: BTreeSet<String> = report
        .problems
        .iter()
        .map(|problem| {
            problem
                .path
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(
        report.problems.iter().all(|problem| !problem.is_refused),
        "{report:?}"
    );
    for (name, _, _, title, has_problem) in cases {
        let read = library.values(&format!("{name}.mp3"), &["TITLE", "ARTIST", "ALBUM"]);
        assert_eq!(read, format!("{title}ARTIST=Ann ALBUM=Enc"), "{name}");
        assert_eq!(problems.contains(*name), *has_problem, "{name}: {report:?}");
    }
}

/// Sizes as iTunes writes them, dates of 2.3 in 2.4, numbers and ratings in odd forms.
#[test]
fn tags_in_odd_forms() {
    let library = Library::new();
    let long = [&b"\x03"[..], &b"x".repeat(299)].concat();
    let cases: &[(&str, Vec<Vec<u8>>, &str)] = &[
        (
            "itunes",
            vec![frame("TIT3", 0, &long), frame("TIT2", 0, b"\0After")],
            "TITLE=After",
        ),
        ("tyer", vec![frame("TYER", 0, b"\x001985")], "DATE=1985"),
        (
            "tyer-tdat",
            vec![frame("TYER", 0, b"\x001985"), frame("TDAT", 0, b"\x000405")],
            "DATE=1985-05-04",
        ),
        (
            "total",
            vec![frame("TRCK", 0, b"\x0012 of 14")],
            "TRACKNUMBER=12 TRACKTOTAL=14",
        ),
        ("side", vec![frame("TRCK", 0, b"\0A1")], "TRACKNUMBER=A1"),
        (
            "genres",
            vec![frame("TCON", 0, b"\0(17)Rock/Pop; 9")],
            "GENRE=Rock GENRE=Pop GENRE=Metal",
        ),
        (
            "artists",
            vec![
                frame("TPE1", 0, b"\x03Ann\0Ben"),
                frame("TXXX", 0, b"\x03ARTISTS\0Ann\0Ben"),
            ],
            "ARTIST=Ann ARTIST=Ben ARTISTS=Ann ARTISTS=Ben",
        ),
        (
            "popm",
            vec![frame("POPM", 0, b"no@email\0\xc4\0\0\0\x2a")],
            "file.rating=4 file.plays=42",
        ),
        (
            "popm-short",
            vec![frame("POPM", 0, b"no@email\0\xff")],
            "file.rating=5",
        ),
        (
            "fmps",
            vec![
                frame("TXXX", 0, b"\0FMPS_Rating\x000.6"),
                frame("TXXX", 0, b"\0FMPS_Playcount\x007.0"),
            ],
            "file.rating=3 file.plays=7",
        ),
        (
            "rating",
            vec![frame("TXXX", 0, b"\0RATING\x0080")],
            "file.rating=4",
        ),
        (
            "unrated",
            vec![frame("POPM", 0, b"no@email\0\0\0\0\0\x01")],
            "file.plays=1",
        ),
    ];
    for (name, frames, _) in cases {
        // A sound of its own each: equal files are copies of one record.
        let marker = frame("TALB", 0, format!("\0{name}").as_bytes());
        library.write(&format!("{name}.mp3"), &mp3(4, &[frames.concat(), marker]));
    }
    let report = library.scan();
    assert!(report.problems.is_empty(), "{report:?}");
    let names = [
        "TITLE",
        "DATE",
        "TRACKNUMBER",
        "TRACKTOTAL",
        "GENRE",
        "ARTIST",
        "ARTISTS",
        "file.rating",
        "file.plays",
    ];
    for (name, _, expected) in cases {
        assert_eq!(
            library.values(&format!("{name}.mp3"), &names),
            *expected,
            "{name}"
        );
    }
    // Ratings are taken over once, and only where there are none.
    let media = library.store.media().unwrap();
    let import = media.import_ratings().unwrap();
    assert_eq!((import.ratings, import.plays), (4, 3));
    assert_eq!(media.import_ratings().unwrap().ratings, 0);
    assert_eq!(
        library.values("popm.mp3", &["user.rating", "user.plays"]),
        "user.rating=4 user.plays=42"
    );
}

#[test]
fn what_is_no_medium_is_no_track() {
    let library = Library::new();
    let random: Vec<u8> = (0..20_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let good = sound(AudioFormat::Mp3);
    library.write("random.mp3", &random);
    library.write("text.mp3", b"no music");
    library.write("double.mp3", b"\0\x05\x16\x07\0\x02\0\0Mac OS X        ");
    library.write("._good.mp3", &good);
    library.write(".hidden.flac", &sound(AudioFormat::Flac));
    library.write("good.mp3", &good);
    library.write("a.wma", b"");
    library.write("b.WMA", b"");
    library.write("c.mka", b"");
    library.write("Ringtones/.nomedia", b"");
    library.write("Ringtones/deep/tone.flac", &sound(AudioFormat::Flac));
    let report = library.scan();
    let records = library.records(CollectionKind::Music);
    assert_eq!(records.keys().collect::<Vec<_>>(), ["good.mp3"]);
    let refused: Vec<_> = report.problems.iter().filter(|p| p.is_refused).collect();
    assert_eq!(refused.len(), 3, "{report:?}");
    let others: Vec<_> = report.other_formats.into_iter().collect();
    assert_eq!(
        (others, report.excluded_folders),
        (vec![("mka", 1), ("wma", 2)], 1)
    );
    // The mark hides what was listed before.
    library.write(".nomedia", b"");
    assert_eq!(library.scan().lost, 1);
    fs::remove_file(library.folder().join(".nomedia")).unwrap();
    library.scan();
    assert_eq!(library.records(CollectionKind::Music).len(), 1);
}

/// Albums with guests and discs in their titles.
#[test]
fn albums_with_guests_and_discs() {
    let library = Library::new();
    let tracks = [
        ("feat/1.flac", "Feat", "Ann"),
        ("feat/2.flac", "Feat", "Ann feat. Ben"),
        ("group/1.flac", "Group", "Earth, Wind & Fire"),
        ("group/2.flac", "Group", "Earth, Wind & Fire ft. Ann"),
        ("hits/1.flac", "Hits", "Ann"),
        ("hits/2.flac", "Hits", "Ben"),
        ("names/1.flac", "Names", "Ann"),
        ("names/2.flac", "Names", "Anna"),
        ("discs/1.flac", "Live (Disc 1)", "Ann"),
        ("discs/2.flac", "Live [CD2]", "Ann"),
        ("Long (Disc 1)/1.flac", "Long (Disc 1)", "Ann"),
        ("Long (Disc 2)/1.flac", "Long (Disc 2)", "Ann"),
    ];
    for (seed, (name, album, artist)) in (1..).zip(tracks) {
        let spec = TrackSpec {
            title: name.to_owned(),
            album: album.to_owned(),
            artists: vec![artist.to_owned()],
            ..TrackSpec::new(seed, 500)
        };
        library.write(name, &audio_file(AudioFormat::Flac, &spec));
    }
    library.scan();
    let mut albums = library.albums();
    albums.sort();
    let expected = [
        ("Feat", "Ann"),
        ("Group", "Earth, Wind & Fire"),
        ("Hits", "Various Artists"),
        ("Live", "Ann"),
        ("Long", "Ann"),
        ("Names", "Various Artists"),
    ];
    let expected = expected.map(|(album, artist)| (album.to_owned(), artist.to_owned(), 2));
    assert_eq!(albums, expected);
}

/// Inserts a segment after the start of a JPEG.
fn with_segment(jpeg: &[u8], marker: u8, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], &[0xff, marker], &len, content, &jpeg[2..]].concat()
}

/// When a picture was taken, and what says so.
#[test]
fn dates_of_pictures() {
    let library = Library::new();
    let xmp = |attributes: &str| {
        let packet = format!(
            "http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF \
             xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description {attributes}/>\
             </rdf:RDF></x:xmpmeta>"
        );
        packet.into_bytes()
    };
    let exif_name = "xmlns:e='http://ns.adobe.com/exif/1.0/'";
    let iptc = b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x16\x1c\x02\x37\0\x0820220304\x1c\x02\x19\0\x03sea\0";
    type Case = (&'static str, u64, Option<(u8, Vec<u8>)>, &'static str);
    let cases: &[Case] = &[
        (
            "xmp.jpg",
            1,
            Some((
                0xe1,
                xmp(&format!(
                    "{exif_name} e:DateTimeOriginal='2022-03-04T05:06:07'"
                )),
            )),
            "2022-03-04T05:06:07 xmp",
        ),
        (
            "xmp-zone.jpg",
            2,
            Some((
                0xe1,
                xmp(
                    "xmlns:p='http://ns.adobe.com/photoshop/1.0/' p:DateCreated='2022-03-04T05:06:07.5+09:00'",
                ),
            )),
            "2022-03-04T05:06:07 xmp",
        ),
        (
            "iptc.jpg",
            3,
            Some((0xed, iptc.to_vec())),
            "2022-03-04T00:00:00 iptc",
        ),
        (
            "IMG_20230708_123456.jpg",
            4,
            None,
            "2023-07-08T12:34:56 name",
        ),
        (
            "WhatsApp Image 2023-07-08 at 12.34.56.jpg",
            5,
            None,
            "2023-07-08T12:34:56 name",
        ),
        (
            "Screenshot_2023-07-08-12-34-56.jpg",
            6,
            None,
            "2023-07-08T12:34:56 name",
        ),
        // The data says more than the name.
        (
            "IMG_20230708_000000.jpg",
            7,
            Some((
                0xe1,
                xmp(&format!(
                    "{exif_name} e:DateTimeOriginal='2021-01-02T03:04:05'"
                )),
            )),
            "2021-01-02T03:04:05 xmp",
        ),
        ("plain.jpg", 8, None, "file"),
    ];
    for (name, seed, segment, _) in cases {
        let jpeg = cover(*seed, 64);
        let jpeg = match segment {
            Some((marker, content)) => with_segment(&jpeg, *marker, content),
            None => jpeg,
        };
        library.write(name, &jpeg);
    }
    let report = library.scan();
    assert!(report.problems.is_empty(), "{report:?}");
    let records = library.records(CollectionKind::Pictures);
    for (name, .., expected) in cases {
        let values = &records[*name];
        let value = |name: &str| {
            values
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, v)| v.as_str())
        };
        let from = value("file.takenfrom").unwrap();
        let read = match from {
            "file" => from.to_owned(),
            from => format!("{} {from}", value("file.taken").unwrap()),
        };
        assert_eq!(read, *expected, "{name}");
    }
    let media = library.store.media().unwrap();
    let found = media
        .pictures()
        .find(&"keyword:sea".parse().unwrap())
        .unwrap();
    assert_eq!(found.len(), 1);
}

/// Files of ten habits, written by mutagen: etui reads the same as mutagen and TagLib.
#[test]
fn files_of_taggers_are_read_as_mutagen_and_taglib_read_them() {
    let has_readers = Command::new("/usr/bin/python3")
        .args(["-c", "import mutagen, taglib"])
        .output();
    if !has_readers.is_ok_and(|found| found.status.success()) {
        eprintln!("skipped: scripts/need python3-mutagen python3-taglib");
        return;
    }
    let library = Library::new();
    let bases = library.dir.path().join("bases");
    fs::create_dir(&bases).unwrap();
    for (name, format) in [
        ("base.mp3", AudioFormat::Mp3),
        ("base.wav", AudioFormat::Wav),
        ("base.aiff", AudioFormat::Aiff),
        ("base.flac", AudioFormat::Flac),
        ("base.opus", AudioFormat::Opus),
        ("base.m4a", AudioFormat::M4a),
    ] {
        let file = sound(format);
        let start = if name == "base.mp3" {
            without_tag(&file)
        } else {
            0
        };
        fs::write(bases.join(name), &file[start..]).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/media_foreign/taggers.py");
    let output = Command::new("/usr/bin/python3")
        .arg(script)
        .args([&bases, &library.folder()])
        .env("PYTHONUTF8", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let mut expected: BTreeMap<(String, String), BTreeSet<(String, String)>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let [reader, file, name, value] = *line.split('\t').collect::<Vec<_>>() else {
            panic!("{line}");
        };
        let of_file = expected
            .entry((reader.to_owned(), file.to_owned()))
            .or_default();
        of_file.insert((name.to_owned(), plain_number(name, value)));
    }
    assert!(expected.len() >= 400, "{}", expected.len());
    let report = library.scan();
    assert!(report.problems.is_empty(), "{report:#?}");
    let names: BTreeSet<&str> = [
        "TITLE",
        "ARTIST",
        "ALBUM",
        "ALBUMARTIST",
        "GENRE",
        "DATE",
        "TRACKNUMBER",
        "TRACKTOTAL",
    ]
    .into();
    let records = library.records(CollectionKind::Music);
    let mut differences = Vec::new();
    for ((reader, file), expected) in &expected {
        let values = records.get(file).into_iter().flatten();
        let read: BTreeSet<(String, String)> = values
            .filter(|(name, _)| names.contains(name.as_str()))
            .map(|(name, value)| (name.clone(), plain_number(name, value)))
            .collect();
        if read != *expected {
            let more: Vec<_> = read.difference(expected).collect();
            let less: Vec<_> = expected.difference(&read).collect();
            differences.push(format!("{file}: etui {more:?}, {reader} {less:?}"));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

/// Numbers of tracks without leading zeros, which lofty leaves out of Vorbis comments.
fn plain_number(name: &str, value: &str) -> String {
    match name.starts_with("TRACK") {
        true => value.trim_start_matches('0').to_owned(),
        false => value.to_owned(),
    }
}
