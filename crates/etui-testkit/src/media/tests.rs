//! Every format is read back by lofty, photos by nom-exif.

use std::io::Cursor;

use lofty::file::{AudioFile, FileType, TaggedFile, TaggedFileExt};
use lofty::picture::PictureType;
use lofty::probe::Probe;
use lofty::tag::{Accessor, ItemKey, Tag};
use nom_exif::{Exif, ExifTag, MediaParser, MediaSource};

use super::*;

fn spec(seed: u64) -> TrackSpec {
    TrackSpec {
        seed,
        millis: 2_345,
        title: "Überall — 夜".to_owned(),
        artists: vec!["Ana".to_owned(), "Łukasz".to_owned()],
        album: "Морe".to_owned(),
        album_artist: "Ana & Łukasz".to_owned(),
        disc: 2,
        discs: 3,
        track: 7,
        tracks: 12,
        year: 1998,
        genres: vec!["Jazz".to_owned(), "Chamber Folk".to_owned()],
        compilation: true,
        musicbrainz: Some(MusicBrainzIds {
            recording: "0b1a7a4e-0d0c-4b0a-8c0d-0123456789ab".to_owned(),
            track: "1b1a7a4e-0d0c-4b0a-8c0d-0123456789ab".to_owned(),
            release: "2b1a7a4e-0d0c-4b0a-8c0d-0123456789ab".to_owned(),
            release_group: "3b1a7a4e-0d0c-4b0a-8c0d-0123456789ab".to_owned(),
        }),
        cover: Some(cover(seed, 300).into()),
        id3v23: false,
    }
}

pub(super) fn read(bytes: &[u8]) -> TaggedFile {
    let probe = Probe::new(Cursor::new(bytes)).guess_file_type().unwrap();
    probe.read().unwrap()
}

fn texts(tag: &Tag, key: ItemKey) -> Vec<&str> {
    tag.get_strings(key).collect()
}

fn assert_tags(format: AudioFormat, tag: &Tag, spec: &TrackSpec) {
    let ids = spec.musicbrainz.clone().unwrap_or_default();
    let expected = [
        (ItemKey::TrackTitle, &spec.title),
        (ItemKey::AlbumTitle, &spec.album),
        (ItemKey::AlbumArtist, &spec.album_artist),
        (ItemKey::MusicBrainzRecordingId, &ids.recording),
        (ItemKey::MusicBrainzTrackId, &ids.track),
        (ItemKey::MusicBrainzReleaseId, &ids.release),
        (ItemKey::MusicBrainzReleaseGroupId, &ids.release_group),
    ];
    for (key, value) in expected {
        let found = texts(tag, key);
        assert_eq!(found, [value], "{format:?} {key:?}");
    }
    assert_eq!(texts(tag, ItemKey::TrackArtist), spec.artists, "{format:?}");
    assert_eq!(texts(tag, ItemKey::Genre), spec.genres, "{format:?}");
    assert_eq!(texts(tag, ItemKey::FlagCompilation), ["1"], "{format:?}");
    let date = tag.date().map(|date| date.year);
    assert_eq!(date, Some(spec.year), "{format:?}");
    assert_eq!(tag.track(), Some(spec.track), "{format:?}");
    assert_eq!(tag.track_total(), Some(spec.tracks), "{format:?}");
    assert_eq!(tag.disk(), Some(spec.disc), "{format:?}");
    assert_eq!(tag.disk_total(), Some(spec.discs), "{format:?}");
    let [picture] = tag.pictures() else {
        panic!("{format:?}: {} pictures", tag.picture_count());
    };
    // iTunes metadata has no types of pictures.
    if format != AudioFormat::M4a {
        assert_eq!(picture.pic_type(), PictureType::CoverFront, "{format:?}");
    }
    assert!(Some(picture.data()) == spec.cover.as_deref(), "{format:?}");
}

#[test]
fn every_format_reads_back_with_its_length_and_tags() {
    for format in AudioFormat::ALL {
        let spec = spec(41);
        let file = read(&audio_file(format, &spec));
        let expected = match format {
            AudioFormat::Wav => FileType::Wav,
            AudioFormat::Aiff => FileType::Aiff,
            AudioFormat::Mp3 => FileType::Mpeg,
            AudioFormat::Flac => FileType::Flac,
            AudioFormat::Opus => FileType::Opus,
            AudioFormat::M4a => FileType::Mp4,
        };
        assert_eq!(file.file_type(), expected);
        let millis = file.properties().duration().as_millis() as u32;
        let most = match format {
            AudioFormat::Mp3 | AudioFormat::M4a => spec.millis + 27,
            _ => spec.millis + 1,
        };
        let range = spec.millis - 1..=most;
        assert!(range.contains(&millis), "{format:?}: {millis} ms");
        assert_tags(format, file.primary_tag().unwrap(), &spec);
    }
}

#[test]
fn id3_version_2_3_reads_back_too() {
    for format in [AudioFormat::Wav, AudioFormat::Aiff, AudioFormat::Mp3] {
        let spec = TrackSpec {
            id3v23: true,
            ..spec(42)
        };
        let bytes = audio_file(format, &spec);
        assert!(bytes.windows(4).any(|bytes| bytes == b"ID3\x03"));
        assert_tags(format, read(&bytes).primary_tag().unwrap(), &spec);
    }
}

#[test]
fn equal_specs_give_equal_bytes_and_seeds_differ() {
    for format in AudioFormat::ALL {
        let bytes = audio_file(format, &spec(1));
        assert!(bytes == audio_file(format, &spec(1)), "{format:?}");
        let sound = |seed| audio_file(format, &TrackSpec::new(seed, 500));
        assert!(sound(1) != sound(2), "{format:?}");
        assert!(bytes != sound(1), "{format:?}: not tagged");
    }
}

#[test]
fn lengths_are_those_of_the_spec() {
    for format in AudioFormat::ALL {
        for millis in [100, 999, 1_000, 61_234] {
            let file = read(&audio_file(format, &TrackSpec::new(3, millis)));
            let found = file.properties().duration().as_millis() as u32;
            let range = millis - 1..=millis + 27;
            assert!(range.contains(&found), "{format:?}: {found} of {millis} ms");
        }
    }
}

fn exif(bytes: Vec<u8>) -> Exif {
    let source = MediaSource::from_memory(bytes).unwrap();
    MediaParser::new().parse_exif(source).unwrap().into()
}

#[test]
fn photos_read_back_with_their_fields() {
    let spec = PhotoSpec {
        seed: 5,
        width: 320,
        height: 200,
        taken: Some(PhotoTime {
            year: 2021,
            month: 7,
            day: 31,
            hour: 23,
            minute: 5,
            second: 9,
            utc_offset: Some(-150),
        }),
        orientation: Some(6),
        make: "Etui".to_owned(),
        model: "One".to_owned(),
        place: Some(GpsPlace {
            latitude: -33_856_784,
            longitude: 151_215_297,
        }),
        thumbnail: true,
    };
    let bytes = photo(&spec);
    assert!(bytes == photo(&spec));
    let exif = exif(bytes);
    let text = |tag| exif.get(tag).and_then(|value| value.as_str());
    assert_eq!(text(ExifTag::Make), Some("Etui"));
    assert_eq!(text(ExifTag::Model), Some("One"));
    let orientation = exif.get(ExifTag::Orientation);
    assert_eq!(orientation.and_then(|value| value.as_u16()), Some(6));
    let taken = exif.get(ExifTag::DateTimeOriginal).unwrap().to_string();
    assert!(taken.contains("2021-07-31"), "{taken}");
    assert!(taken.contains("23:05:09"), "{taken}");
    assert!(taken.contains("-02:30"), "{taken}");
    let place = exif.gps_info().unwrap();
    let latitude = place.latitude_decimal().unwrap();
    let longitude = place.longitude_decimal().unwrap();
    assert!((latitude + 33.856_784).abs() < 1e-6, "{latitude}");
    assert!((longitude - 151.215_297).abs() < 1e-6, "{longitude}");
}

#[test]
fn a_photo_without_fields_is_a_plain_jpeg() {
    let bytes = photo(&PhotoSpec {
        width: 64,
        height: 48,
        ..PhotoSpec::default()
    });
    let exif = exif(bytes);
    assert!(exif.get(ExifTag::Make).is_none());
    assert!(exif.get(ExifTag::DateTimeOriginal).is_none());
    assert!(exif.gps_info().is_none());
}
