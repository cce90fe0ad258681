//! Loudness, tempo, key and lyrics in the tags of each format.

#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write as _};

use etui_media::{limits, read_audio};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file};
use lofty::config::WriteOptions;
use lofty::id3::v2::{
    ExtendedTextFrame, Frame, FrameId, Id3v2Tag, TextInformationFrame, UnsynchronizedTextFrame,
};
use lofty::mp4::{Atom, AtomData, AtomIdent, Ilst};
use lofty::ogg::VorbisComments;
use lofty::prelude::*;
use lofty::{TextEncoding, file::FileType};

const LYRICS: &str = "First line\nSecond line: ünï\n\nLast";

/// The values of a file's tags, without the name of the encoder.
fn values(bytes: &[u8], name: &str) -> Vec<String> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let audio = read_audio(&file, name).unwrap();
    let values = audio
        .tags
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let mut values: Vec<_> = values.filter(|v| !v.starts_with("ENCODER=")).collect();
    values.sort();
    values
}

fn sound(format: AudioFormat) -> Cursor<Vec<u8>> {
    Cursor::new(audio_file(format, &TrackSpec::new(1, 500)))
}

fn id3(fields: &[(&'static str, &str)], user: &[(&'static str, &str)]) -> Id3v2Tag {
    let mut tag = Id3v2Tag::new();
    for (id, value) in fields {
        let id = FrameId::Valid((*id).into());
        let frame = TextInformationFrame::new(id, TextEncoding::UTF8, (*value).to_owned());
        tag.insert(Frame::Text(frame));
    }
    for (name, value) in user {
        let frame = ExtendedTextFrame::new(TextEncoding::UTF8, *name, (*value).to_owned());
        tag.insert(Frame::UserText(frame));
    }
    tag
}

#[test]
fn id3_has_them_in_frames() {
    let mut tag = id3(
        &[("TBPM", "128"), ("TKEY", "Am")],
        &[
            ("REPLAYGAIN_TRACK_GAIN", "-7.52 dB"),
            ("replaygain_track_peak", "0.98"),
            ("replaygain_album_gain", "-6.00 dB"),
        ],
    );
    let lyrics = UnsynchronizedTextFrame::new(TextEncoding::UTF8, *b"eng", "", LYRICS.to_owned());
    tag.insert(Frame::UnsynchronizedText(lyrics));
    let mut file = sound(AudioFormat::Mp3);
    tag.save_to(&mut file, WriteOptions::default()).unwrap();
    assert_eq!(
        values(file.get_ref(), "a.mp3"),
        [
            "BPM=128",
            "INITIALKEY=Am",
            &format!("LYRICS={LYRICS}"),
            "REPLAYGAIN_ALBUM_GAIN=-6.00 dB",
            "REPLAYGAIN_TRACK_GAIN=-7.52 dB",
            "REPLAYGAIN_TRACK_PEAK=0.98",
        ]
    );
}

#[test]
fn an_unknown_tempo_is_none() {
    let mut file = sound(AudioFormat::Mp3);
    let tag = id3(&[("TBPM", "0"), ("TKEY", "8A")], &[]);
    tag.save_to(&mut file, WriteOptions::default()).unwrap();
    assert_eq!(values(file.get_ref(), "a.mp3"), ["INITIALKEY=8A"]);
}

#[test]
fn vorbis_comments_have_them_by_name() {
    let mut tag = VorbisComments::new();
    for (name, value) in [
        ("BPM", "174.5"),
        ("KEY", "F#m"),
        ("UNSYNCEDLYRICS", LYRICS),
        ("REPLAYGAIN_TRACK_GAIN", "+1.00 dB"),
        ("replaygain_album_peak", "1.02"),
    ] {
        tag.push(name.to_owned(), value.to_owned());
    }
    let mut file = sound(AudioFormat::Flac);
    tag.save_to(&mut file, WriteOptions::default()).unwrap();
    assert_eq!(
        values(file.get_ref(), "a.flac"),
        [
            "BPM=174.5",
            "INITIALKEY=F#m",
            &format!("LYRICS={LYRICS}"),
            "REPLAYGAIN_ALBUM_PEAK=1.02",
            "REPLAYGAIN_TRACK_GAIN=+1.00 dB",
        ]
    );
}

#[test]
fn opus_has_its_own_gains() {
    let mut tag = VorbisComments::new();
    for (name, value) in [
        ("R128_TRACK_GAIN", "-1234"),
        ("r128_album_gain", " 56 "),
        ("LYRICS", "[00:01.00]Line"),
    ] {
        tag.push(name.to_owned(), value.to_owned());
    }
    let mut file = sound(AudioFormat::Opus);
    tag.save_to(&mut file, WriteOptions::default()).unwrap();
    assert_eq!(
        values(file.get_ref(), "a.opus"),
        [
            "LYRICS=[00:01.00]Line",
            "R128_ALBUM_GAIN=56",
            "R128_TRACK_GAIN=-1234"
        ]
    );
    // A damaged one is left out.
    let mut tag = VorbisComments::new();
    tag.push("R128_TRACK_GAIN".to_owned(), "-3.5 dB".to_owned());
    let mut file = sound(AudioFormat::Opus);
    tag.save_to(&mut file, WriteOptions::default()).unwrap();
    assert_eq!(values(file.get_ref(), "a.opus"), Vec::<String>::new());
}

#[test]
fn mp4_has_them_in_atoms() {
    let mut tag = Ilst::new();
    let free = |name: &str| AtomIdent::Freeform {
        mean: "com.apple.iTunes".to_owned().into(),
        name: name.to_owned().into(),
    };
    let text = |value: &str| AtomData::UTF8(value.to_owned());
    for (ident, data) in [
        (AtomIdent::Fourcc(*b"\xa9lyr"), text(LYRICS)),
        (AtomIdent::Fourcc(*b"tmpo"), AtomData::SignedInteger(96)),
        (free("initialkey"), text("Dm")),
        (free("replaygain_track_gain"), text("-3.00 dB")),
        (free("replaygain_track_peak"), text("0.5")),
    ] {
        tag.insert(Atom::new(ident, data));
    }
    let mut file = sound(AudioFormat::M4a);
    tag.save_to(&mut file, WriteOptions::default()).unwrap();
    assert_eq!(FileType::from_ext("m4a"), Some(FileType::Mp4));
    assert_eq!(
        values(file.get_ref(), "a.m4a"),
        [
            "BPM=96",
            "INITIALKEY=Dm",
            &format!("LYRICS={LYRICS}"),
            "REPLAYGAIN_TRACK_GAIN=-3.00 dB",
            "REPLAYGAIN_TRACK_PEAK=0.5",
        ]
    );
}

#[test]
fn long_lyrics_are_cut_and_other_values_sooner() {
    let mut tag = VorbisComments::new();
    tag.push("LYRICS".to_owned(), "lä".repeat(20_000));
    tag.push("COMMENT".to_owned(), "x".repeat(20_000));
    let mut file = sound(AudioFormat::Flac);
    tag.save_to(&mut file, WriteOptions::default()).unwrap();
    let values = values(file.get_ref(), "a.flac");
    let len = |name: &str| {
        values
            .iter()
            .find_map(|v| v.strip_prefix(name))
            .unwrap()
            .len()
    };
    assert!((limits::MAX_LYRICS - 2..=limits::MAX_LYRICS).contains(&len("LYRICS=")));
    assert_eq!(len("COMMENT="), limits::MAX_VALUE);
}
