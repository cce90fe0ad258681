//! Tempo, key, loudness and lyrics of tracks: columns and filters.

use std::fs;
use std::ops::ControlFlow;

use etui::Store;
use etui::media::{ScanOptions, TrackColumn, TrackQuery};
use etui::search::query::Columns;
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file};

/// An ID3v2.4 tag of text frames (id3.org, "ID3 tag version 2.4.0 - Main Structure", section 3).
fn id3(frames: &[(&str, &str)]) -> Vec<u8> {
    // Sizes have seven bits in a byte.
    let size = |len: usize| [21, 14, 7, 0].map(|shift| (len >> shift & 0x7f) as u8);
    let mut all = Vec::new();
    for (id, text) in frames {
        let prefix: &[u8] = if *id == "USLT" { b"\x03eng\0" } else { b"\x03" };
        let content = [prefix, text.as_bytes()].concat();
        all.extend([id.as_bytes(), &size(content.len()), &[0, 0], &content].concat());
    }
    [b"ID3\x04\0\0", &size(all.len())[..], &all].concat()
}

/// A store that scanned MP3 files with these frames.
fn library(tracks: &[&[(&str, &str)]]) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let music = dir.path().join("Music");
    fs::create_dir(&music).unwrap();
    for (number, frames) in (1..).zip(tracks) {
        let sound = audio_file(AudioFormat::Mp3, &TrackSpec::new(number, 1_000));
        let file = [id3(frames), sound].concat();
        fs::write(music.join(format!("{number}.mp3")), file).unwrap();
    }
    let store = Store::open(dir.path().join("media.etui")).unwrap();
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let media = store.media().unwrap();
    let report = media
        .scan(&[music], &ScanOptions::default(), go_on)
        .unwrap();
    assert_eq!(
        (report.added, report.problems),
        (tracks.len() as u64, Vec::new())
    );
    drop(media);
    (dir, store)
}

#[test]
fn tempo_and_key_filter() {
    let (_dir, store) = library(&[
        &[("TIT2", "Slow"), ("TBPM", "87"), ("TKEY", "Am")],
        &[("TIT2", "House"), ("TBPM", "124"), ("TKEY", "A")],
        &[("TIT2", "Techno"), ("TBPM", "128"), ("TKEY", "8A")],
        &[("TIT2", "Unknown"), ("TBPM", "0")],
        &[("TIT2", "Fast"), ("TBPM", "173.6"), ("TKEY", "F#m")],
    ]);
    let media = store.media().unwrap();
    for (filter, expected) in [
        ("bpm:120..128", "House Techno"),
        ("bpm:>128", "Fast"),
        ("bpm:174", "Fast"),
        ("bpm:<=124", "House Slow"),
        ("key:am", "Slow"),
        ("key:=a", "House"),
        ("key:8a", "Techno"),
        ("-key:* title:unknown", "Unknown"),
        ("bpm:>100 -key:f", "House Techno"),
    ] {
        let found = media.tracks().find(&filter.parse().unwrap()).unwrap();
        let mut titles: Vec<_> = found.iter().map(|t| t.summary.title.as_str()).collect();
        titles.sort_unstable();
        assert_eq!(titles.join(" "), expected, "{filter}");
    }
    let error = "bpm:fast".parse::<etui::media::TrackFilter>().unwrap_err();
    assert!(error.to_string().contains("is no number"), "{error}");
}

#[test]
fn fields_are_columns() {
    let lyrics = "One\nTwo";
    let (_dir, store) = library(&[
        &[
            ("TIT2", "Full"),
            ("TBPM", "87"),
            ("TKEY", "Am"),
            ("USLT", lyrics),
            ("TXXX", "REPLAYGAIN_TRACK_GAIN\0-7.5 dB"),
            ("TXXX", "REPLAYGAIN_ALBUM_GAIN\0+1,25 dB"),
            ("TXXX", "REPLAYGAIN_TRACK_PEAK\x000.987654"),
        ],
        &[("TIT2", "None")],
    ]);
    let media = store.media().unwrap();
    let columns = [
        TrackColumn::Bpm,
        TrackColumn::MusicalKey,
        TrackColumn::TrackGain,
        TrackColumn::AlbumGain,
        TrackColumn::TrackPeak,
        TrackColumn::AlbumPeak,
        TrackColumn::Lyrics,
    ];
    let values = |filter: &str| {
        let shown: Columns<TrackColumn> = columns.into_iter().collect();
        let query = TrackQuery::new(filter.parse().unwrap()).columns(shown);
        let rows = media.tracks().query(&query).unwrap();
        let row = rows.get(0).unwrap();
        columns.map(|column| row.get(column).to_owned())
    };
    assert_eq!(
        values("full"),
        ["87", "Am", "-7.50", "1.25", "0.987654", "", lyrics]
    );
    assert_eq!(values("none"), [""; 7]);
}
