//! Entries of several files: live photos, raw pictures beside JPEGs, XMP sidecars; TIFF and DNG.

use std::path::Path;
use std::time::{Duration, SystemTime};

use etui_testkit::rng::SplitMix64;

use super::*;

const EXIF: &str = "http://ns.adobe.com/exif/1.0/";

/// An XMP packet with these attributes, as programs write it into a sidecar.
fn xmp(attributes: &str) -> Vec<u8> {
    let packet = format!(
        "<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF \
         xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description xmlns:exif='{EXIF}' \
         xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmlns:dc='http://purl.org/dc/elements/1.1/' {attributes}/>\
         </rdf:RDF></x:xmpmeta><?xpacket end='w'?>"
    );
    packet.into_bytes()
}

fn atom(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let len = u32::try_from(content.len() + 8).unwrap().to_be_bytes();
    [&len[..], name, content].concat()
}

/// A QuickTime file of a length, without a frame.
fn video(millis: u32, seed: u8) -> Vec<u8> {
    let mut header = vec![0; 100];
    header[12..16].copy_from_slice(&1000_u32.to_be_bytes());
    header[16..20].copy_from_slice(&millis.to_be_bytes());
    let mut track = vec![0; 84];
    track[3] = 1;
    track[76..78].copy_from_slice(&640_u16.to_be_bytes());
    track[80..82].copy_from_slice(&480_u16.to_be_bytes());
    let track = atom(b"trak", &atom(b"tkhd", &track));
    let movie = [atom(b"mvhd", &header), track].concat();
    [
        atom(b"ftyp", b"qt  \0\0\0\0qt  "),
        atom(b"moov", &movie),
        atom(b"mdat", &[seed; 64]),
    ]
    .concat()
}

/// A TIFF of one grey pixel per byte, with an orientation and further entries of text; also a DNG.
fn tiff(width: u16, height: u16, texts: &[(u16, &[u8])]) -> Vec<u8> {
    let mut file = b"II*\0".to_vec();
    let pixels = usize::from(width) * usize::from(height);
    let mut data = vec![0x80; pixels];
    let mut entries: Vec<(u16, u16, u32, u32)> = vec![
        (0x100, 3, 1, width.into()),
        (0x101, 3, 1, height.into()),
        (0x102, 3, 1, 8),
        (0x103, 3, 1, 1),
        (0x106, 3, 1, 1),
        (0x111, 4, 1, 8),
        (0x112, 3, 1, 6),
        (0x115, 3, 1, 1),
        (0x116, 4, 1, height.into()),
        (0x117, 4, 1, u32::try_from(pixels).unwrap()),
    ];
    for (tag, text) in texts {
        let kind = if *tag == 0x2bc { 1 } else { 2 };
        let at = u32::try_from(8 + data.len()).unwrap();
        entries.push((*tag, kind, u32::try_from(text.len()).unwrap(), at));
        data.extend_from_slice(text);
    }
    entries.sort_unstable();
    data.resize(data.len().next_multiple_of(2), 0);
    file.extend_from_slice(&u32::try_from(8 + data.len()).unwrap().to_le_bytes());
    file.extend_from_slice(&data);
    file.extend_from_slice(&u16::try_from(entries.len()).unwrap().to_le_bytes());
    for (tag, kind, count, value) in entries {
        file.extend_from_slice(&tag.to_le_bytes());
        file.extend_from_slice(&kind.to_le_bytes());
        file.extend_from_slice(&count.to_le_bytes());
        file.extend_from_slice(&value.to_le_bytes());
    }
    file.extend_from_slice(&[0; 4]);
    file
}

impl Library {
    /// The names of the files of each picture or video, in the order of the names.
    fn entries(&self) -> Vec<String> {
        let media = self.store.media().unwrap();
        let all = media.pictures().list(Paging::first(100)).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut entries: Vec<String> = all
            .iter()
            .map(|one| {
                let files = media.paths(one.id).unwrap();
                files.iter().map(name).collect::<Vec<_>>().join(" ")
            })
            .collect();
        entries.sort();
        entries
    }

    fn value(&self, file: &str, name: &str) -> String {
        let records = self.records(CollectionKind::Pictures);
        let mut values = records[file].iter().filter(|(known, _)| known == name);
        values
            .next()
            .map_or_else(String::new, |(_, value)| value.clone())
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.folder().join(name)).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        let folder = self.folder();
        fs::create_dir_all(Path::new(&folder.join(to)).parent().unwrap()).unwrap();
        fs::rename(folder.join(from), folder.join(to)).unwrap();
    }

    /// A scan in which nothing is to be done.
    fn is_settled(&self) -> bool {
        !self.scan().has_changes()
    }
}

#[test]
fn a_live_photo_is_one_entry() {
    let library = Library::new();
    library.write("IMG_1.JPG", &cover(1, 64));
    library.write("IMG_1.MOV", &video(2_800, 1));
    // A longer video of the same name, a picture that no camera writes, a video alone.
    library.write("IMG_2.jpg", &cover(2, 64));
    library.write("IMG_2.mp4", &video(61_000, 2));
    library.write("poster.png", &cover(5, 64));
    library.write("poster.mov", &video(2_000, 3));
    library.write("IMG_10.MOV", &video(1_500, 4));
    library.scan();
    let expected = [
        "IMG_1.JPG IMG_1.MOV",
        "IMG_10.MOV",
        "IMG_2.jpg",
        "IMG_2.mp4",
        "poster.mov",
        "poster.png",
    ];
    assert_eq!(library.entries(), expected);
    assert!(library.is_settled());

    // Its picture comes later, and goes again; the video is an entry of its own then.
    library.write("IMG_10.heic", b"no picture");
    library.write("poster.jpeg", &cover(3, 64));
    let report = library.scan();
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert!(
        library
            .entries()
            .contains(&"poster.jpeg poster.mov".to_owned())
    );
    library.remove("poster.jpeg");
    library.remove("IMG_10.heic");
    library.remove("IMG_1.JPG");
    library.scan();
    let expected = [
        "IMG_1.MOV",
        "IMG_10.MOV",
        "IMG_2.jpg",
        "IMG_2.mp4",
        "poster.mov",
        "poster.png",
    ];
    assert_eq!(library.entries(), expected);
    assert!(library.is_settled());
}

#[test]
fn a_raw_picture_belongs_to_its_jpeg() {
    let library = Library::new();
    let raw = |make: &[u8]| tiff(16, 8, &[(0x10f, make)]);
    library.write("DSC1.JPG", &cover(1, 64));
    library.write("DSC1.NEF", &raw(b"Nikon\0"));
    library.write("DSC2.dng", &raw(b"Leica\0"));
    library.write("DSC3.ARW", b"not a raw picture");
    library.write("DSC4.JPG", &cover(2, 64));
    library.write("DSC4.CR3", b"not looked into, as its JPEG is shown");
    library.write("scan.tif", &tiff(300, 200, &[]));
    library.write("old.x3f", b"counted");
    let report = library.scan();
    assert_eq!(report.files, 7);
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert_eq!(report.other_formats, BTreeMap::from([("x3f", 1)]));
    let expected = [
        "DSC1.JPG DSC1.NEF",
        "DSC2.dng",
        "DSC4.JPG DSC4.CR3",
        "scan.tif",
    ];
    assert_eq!(library.entries(), expected);
    assert_eq!(library.value("DSC2.dng", "file.format"), "dng");
    assert_eq!(library.value("DSC2.dng", "file.camera"), "Leica");
    // A scan stands upright, with a thumbnail.
    assert_eq!(library.value("scan.tif", "file.width"), "200");
    let media = library.store.media().unwrap();
    let scan = media
        .pictures()
        .find(&"name:scan".parse().unwrap())
        .unwrap();
    let thumbnail = media
        .cover(scan[0].summary.cover.unwrap())
        .unwrap()
        .unwrap();
    assert_eq!((thumbnail.width, thumbnail.height), (200, 300));

    // The pair is moved, then parted.
    library.rename("DSC1.JPG", "trip/DSC1.JPG");
    library.rename("DSC1.NEF", "trip/DSC1.NEF");
    let report = library.scan();
    assert_eq!((report.added, report.lost), (0, 0), "{report:?}");
    assert!(library.entries().contains(&"DSC1.JPG DSC1.NEF".to_owned()));
    library.rename("trip/DSC1.NEF", "raw/DSC1.NEF");
    let report = library.scan();
    assert_eq!((report.added, report.lost), (1, 0), "{report:?}");
    assert!(library.entries().contains(&"DSC1.NEF".to_owned()));
    assert!(library.is_settled());
}

#[test]
fn sidecars_describe_pictures_and_videos() {
    let library = Library::new();
    let dated = "exif:DateTimeOriginal='2019-05-06T07:08:09' xmp:Rating='4' dc:title='Sea'";
    library.write("a.jpg", &cover(1, 64));
    library.write("a.xmp", &xmp(dated));
    library.write("b.jpg", &cover(2, 64));
    library.write("b.jpg.xmp", &xmp(dated));
    library.write("c.jpg", &cover(3, 64));
    library.write("c.nef", b"beside its JPEG");
    library.write("c.nef.xmp", &xmp(dated));
    library.write("d.dng", &tiff(8, 8, &[]));
    library.write("d.xmp", &xmp(dated));
    library.write("e.mkv", b"no video");
    library.write("f.mov", &video(9_000, 1));
    library.write("f.mov.XMP", &xmp(dated));
    // Of no picture, of a damaged picture, and damaged itself.
    library.write("nothing.xmp", &xmp(dated));
    library.write("e.mkv.xmp", &xmp(dated));
    library.write("g.jpg", &cover(4, 64));
    library.write("g.xmp", b"<x:xmpmeta><rdf:");
    let report = library.scan();
    assert_eq!((report.files, report.problems.len()), (8, 1), "{report:?}");
    for file in ["a.jpg", "b.jpg", "c.jpg", "d.dng", "f.mov"] {
        assert_eq!(library.value(file, "TITLE"), "Sea", "{file}");
        assert_eq!(library.value(file, "file.rating"), "4", "{file}");
        assert_eq!(
            library.value(file, "file.taken"),
            "2019-05-06T07:08:09",
            "{file}"
        );
    }
    assert!(
        library
            .entries()
            .contains(&"c.jpg c.nef c.nef.xmp".to_owned())
    );
    assert!(library.is_settled());

    // One changes, one goes, one comes.
    library.write("a.xmp", &xmp("xmp:Rating='2' dc:title='Lake, at dusk'"));
    library.remove("c.nef.xmp");
    library.write("g.jpg.xmp", &xmp("dc:title='Gate'"));
    let report = library.scan();
    assert_eq!(
        (report.changed, report.added, report.lost),
        (3, 0, 0),
        "{report:?}"
    );
    assert_eq!(library.value("a.jpg", "TITLE"), "Lake, at dusk");
    assert_eq!(library.value("c.jpg", "TITLE"), "");
    assert_eq!(library.value("g.jpg", "TITLE"), "Gate");
    assert!(library.is_settled());
}

#[test]
fn packets_in_tiff_and_raw_pictures_are_found() {
    let library = Library::new();
    let packet = xmp("exif:DateTimeOriginal='2018-01-02T03:04:05' dc:title='Inside'");
    library.write("a.tiff", &tiff(8, 8, &[(0x2bc, &packet)]));
    library.write("b.DNG", &tiff(8, 8, &[(0x2bc, &packet)]));
    // What the sidecar says comes first.
    library.write("c.dng", &tiff(8, 8, &[(0x2bc, &packet)]));
    library.write("c.xmp", &xmp("dc:title='Beside'"));
    library.scan();
    for (file, title) in [
        ("a.tiff", "Inside"),
        ("b.DNG", "Inside"),
        ("c.dng", "Beside"),
    ] {
        assert_eq!(library.value(file, "TITLE"), title, "{file}");
        assert_eq!(
            library.value(file, "file.taken"),
            "2018-01-02T03:04:05",
            "{file}"
        );
    }
}

/// Whatever happens to the files of entries, the library is like that of a first scan.
#[test]
fn pairs_are_like_new_after_any_changes() {
    let mut rng = SplitMix64::stream(38, 0);
    let mut below = |n: usize| usize::try_from(rng.next_u64() % n as u64).unwrap();
    let library = Library::new();
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let extensions = [
        "jpg", "heic", "mov", "nef", "dng", "xmp", "jpg.xmp", "nef.xmp", "png", "mov.xmp",
    ];
    let content = |extension: &str, seed: u64| match extension {
        "jpg" | "png" | "heic" => cover(seed, 32),
        "mov" => video(
            if seed.is_multiple_of(3) { 9_000 } else { 2_000 },
            seed as u8,
        ),
        "nef" | "dng" => tiff(8, 8, &[(0x10f, format!("Camera {seed}\0").as_bytes())]),
        _ => xmp(&format!("dc:title='Title {seed}'")),
    };
    let mut log = Vec::new();
    for step in 1..=400_u64 {
        let mut name = || {
            let folder = ["", "x/"][below(2)];
            format!(
                "{folder}{}.{}",
                ["a", "b", "c"][below(3)],
                extensions[below(extensions.len())]
            )
        };
        let (name, other) = (name(), name());
        let path = library.folder().join(&name);
        let extension = |name: &str| name.rsplit_once('.').unwrap().1.to_owned();
        match below(4) {
            0 => drop(fs::remove_file(&path)),
            1 if extension(&name) == extension(&other) => {
                fs::create_dir_all(library.folder().join("x")).unwrap();
                drop(fs::rename(&path, library.folder().join(&other)));
            }
            _ => {
                library.write(&name, &content(name.split_once('.').unwrap().1, step));
                // Two changes within the clock's step must differ.
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(started + Duration::from_secs(step))
                    .unwrap();
            }
        }
        log.push(format!("{step} {name} {other}"));
        if below(3) > 0 {
            continue;
        }
        library.scan();
        let fresh = Library {
            store: Store::open(library.dir.path().join(format!("{step}.etui"))).unwrap(),
            dir: tempfile::tempdir().unwrap(),
        };
        let media = fresh.store.media().unwrap();
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        media
            .scan(&[library.folder()], &ScanOptions::default(), go_on)
            .unwrap();
        let listed = |library: &Library| {
            let media = library.store.media().unwrap();
            let pictures = media.pictures();
            let all = pictures.list(Paging::first(100)).unwrap();
            let lines = all.iter().map(|one| {
                let text = pictures.get(one.id).unwrap().unwrap().text;
                let values = etui::media::text_values(&text);
                format!("{:?} {values:?}", media.paths(one.id).unwrap())
            });
            lines.collect::<BTreeSet<String>>()
        };
        let (found, expected) = (listed(&library), listed(&fresh));
        let missing: Vec<_> = expected.difference(&found).collect();
        let extra: Vec<_> = found.difference(&expected).collect();
        assert_eq!(missing, extra, "{log:?}");
        log.clear();
        assert!(library.is_settled(), "step {step}");
    }
}
