//! Any bytes as a media file: music, a picture, a video, a cover and a playlist are read or refused,
//! within the limits, and a thumbnail is not larger than asked for.

#![no_main]

use std::io::Write;
use std::path::Path;

use etui_media::playlist::{PlaylistFormat, local_paths, read_playlist};
use etui_media::{PictureParser, make_thumbnails, read_audio, read_picture, read_video};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(data).unwrap();
    let name = ["a.mp3", "a.flac", "a.ogg", "a.m4a", "a"][data.len() % 5];
    if let Ok(audio) = read_audio(&file, name) {
        assert!(audio.tags.len() <= etui_media::limits::MAX_VALUES);
    }
    let mut parser = PictureParser::default();
    let _ = read_picture(&file, "a", &[], &mut parser);
    let _ = read_picture(&file, "a.dng", &[data.to_vec()], &mut parser);
    let _ = read_video(&file, &[], &mut parser);
    if let Ok(list) = read_playlist(data) {
        let locations = list.entries.iter().flat_map(|entry| &entry.locations);
        for path in locations.flat_map(|location| local_paths(location, Path::new("/m"))) {
            assert!(path.is_absolute());
        }
        for format in [PlaylistFormat::M3u, PlaylistFormat::Xspf] {
            list.write(format, None, &mut Vec::new()).unwrap();
        }
    }
    if let Ok(made) = make_thumbnails(data) {
        assert!(made.small.len() <= made.large.len().max(1 << 14));
    }
});
