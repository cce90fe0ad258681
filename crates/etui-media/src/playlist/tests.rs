use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

fn read(bytes: &[u8]) -> PlaylistFile {
    read_playlist(bytes).unwrap()
}

/// The locations, titles, artists and lengths of a playlist, one line each.
fn shown(list: &PlaylistFile) -> Vec<String> {
    let show = |entry: &PlaylistEntry| {
        let last = entry
            .locations
            .last()
            .map(|l| String::from_utf8_lossy(l).into_owned());
        format!(
            "{} | {} | {} | {}",
            last.unwrap_or_default(),
            entry.artist,
            entry.title,
            entry.seconds.map_or_else(String::new, |s| s.to_string())
        )
    };
    list.entries.iter().map(show).collect()
}

#[test]
fn m3u_in_the_forms_that_programs_write() {
    for (bytes, expected) in [
        (&b"a.mp3\nb.mp3\n"[..], vec!["a.mp3 |  |  | ", "b.mp3 |  |  | "]),
        (
            b"\xef\xbb\xbf#EXTM3U\r\n#EXTINF:123,B\xc3\xb6se - Lied - Live\r\n\r\nM\xc3\xbcller\\a.mp3\r\n",
            vec!["Müller\\a.mp3 | Böse | Lied - Live | 123"],
        ),
        (b"#EXTINF:-1,Radio\nhttp://radio/x\n", vec!["http://radio/x |  | Radio | "]),
        // Latin-1; the bytes of the name are kept as well.
        (b"M\xfcller.mp3\n", vec!["Müller.mp3 |  |  | "]),
        (b"#EXTENC: ISO-8859-5\n\xbc\xd8\xe0.mp3\n", vec!["Мир.mp3 |  |  | "]),
        (b"a.mp3\rb.mp3\r", vec!["a.mp3 |  |  | ", "b.mp3 |  |  | "]),
        (b"\xff\xfea\0.\0m\0p\x003\0\n\0", vec!["a.mp3 |  |  | "]),
        (
            b"#EXTINF:12.6 tvg-id=\"a,b\" group=\"x\",T\n# a comment\n#EXTART:A\na.mp3\n",
            vec!["a.mp3 | A | T | 13"],
        ),
        (b"#EXTINF:7\na.mp3\n#EXTINF:x,\"odd, title\nb.mp3", vec![
            "a.mp3 |  |  | 7",
            "b.mp3 |  | \"odd, title | ",
        ]),
        (
            b"[playlist]\nFile2=b.mp3\nFile1=a.mp3\nTitle1=A - T\nLength1=9\nLength2=-1\n",
            vec!["a.mp3 | A | T | 9", "b.mp3 |  |  | "],
        ),
        (b"", vec![]),
    ] {
        assert_eq!(shown(&read(bytes)), expected, "{}", bytes.escape_ascii());
    }
    // Lines of two programs in one list.
    let mixed = read(b"M\xc3\xbcller.mp3\nM\xfcller.mp3\n");
    assert_eq!(shown(&mixed), ["Müller.mp3 |  |  | "; 2]);
    let latin1 = read(b"M\xfcller.mp3\n");
    assert_eq!(latin1.entries[0].locations[0], b"M\xfcller.mp3");
}

#[test]
fn xspf_in_the_forms_that_programs_write() {
    let list = read(
        br#"<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE playlist [<!ENTITY lol "lol">]>
<x:playlist version="1" xmlns:x="http://xspf.org/ns/0/">
 <x:title>S&#xfc;&amp;&lol;</x:title>
 <x:trackList>
  <x:track>
   <x:location>file:///a%20b.mp3</x:location><x:location>http://mirror/b.mp3</x:location>
   <x:title><![CDATA[A < B]]></x:title><x:creator>M<!-- c -->ax</x:creator>
   <x:duration>61499</x:duration>
   <x:extension application="vlc"><x:title>no</x:title><x:track/></x:extension>
  </x:track>
  <x:track><x:title>only a title</x:title></x:track>
  <x:track/>
 </x:trackList>
</x:playlist>"#,
    );
    assert_eq!(list.title, "Sü&&lol;");
    assert_eq!(list.problem, None);
    assert_eq!(list.entries[0].locations.len(), 2);
    assert_eq!(list.entries[0].line, 6);
    assert_eq!(
        shown(&list),
        [
            "http://mirror/b.mp3 | Max | A < B | 61",
            " |  | only a title | ",
            " |  |  | "
        ]
    );
}

#[test]
fn a_damaged_xspf_is_read_up_to_the_damage() {
    let track = "<track><title>T</title></track>";
    for (end, problem) in [
        ("", "line 2: it ends in an element"),
        ("<a></b>", "line 2: "),
        ("<a <", "line 2: "),
        ("</trackList>\n\n</x>", "line 4: "),
    ] {
        let list = read(format!("<playlist><trackList>\n{track}{end}").as_bytes());
        assert_eq!(list.entries.len(), 1, "{end}");
        let found = list.problem.unwrap_or_default();
        assert!(found.starts_with(problem), "{end}: {found}");
    }
    let refused = |text: &str| read_playlist(text.as_bytes()).unwrap_err().to_string();
    assert_has(
        &refused("<rss><channel/></rss>"),
        "its root is <rss>, not <playlist>",
    );
    assert_has(
        &refused("<?xml version=\"1.0\"?>"),
        "it has no element <playlist>",
    );
    assert_has(&refused("<playlist><"), "line 1");
}

fn assert_has(text: &str, part: &str) {
    assert!(text.contains(part), "{text}");
}

#[test]
fn files_that_are_no_playlists() {
    let refused = |bytes: &[u8]| read_playlist(bytes).unwrap_err();
    assert_eq!(refused(b"ID3\0\0"), NoPlaylist::Binary);
    let hls = b"#EXTM3U\n#EXT-X-TARGETDURATION:9\na.ts\n";
    assert_eq!(refused(hls), NoPlaylist::Stream);
    let many = b"a\n".repeat(MAX_ENTRIES + 1);
    assert_eq!(refused(&many), NoPlaylist::TooManyEntries(MAX_ENTRIES + 1));
    let long = vec![b'a'; 1 + (MAX_PLAYLIST as usize)];
    assert_eq!(refused(&long), NoPlaylist::TooLong(MAX_PLAYLIST + 1));
}

#[test]
fn a_location_is_every_path_that_it_can_mean() {
    let paths = |location: &str| {
        let paths = local_paths(location.as_bytes(), Path::new("/m/lists"));
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        paths.into_iter().map(text).collect::<Vec<_>>().join(" ")
    };
    for (location, expected) in [
        ("a.mp3", "/m/lists/a.mp3"),
        ("../Low/./a.mp3", "/m/Low/a.mp3"),
        ("/x/../../y.mp3", "/y.mp3"),
        ("a%20b.mp3", "/m/lists/a%20b.mp3 /m/lists/a b.mp3"),
        ("Low\\a.mp3", "/m/lists/Low\\a.mp3 /m/lists/Low/a.mp3"),
        ("C:\\Music\\a.mp3", "/m/lists/\\Music\\a.mp3 /Music/a.mp3"),
        ("c:/Music/a.mp3", "/Music/a.mp3"),
        ("file:///C:/Music/a%20b.mp3", "/Music/a b.mp3"),
        (
            "\\\\nas\\share\\a.mp3",
            "/m/lists/\\\\nas\\share\\a.mp3 /nas/share/a.mp3",
        ),
        ("file:///m/a%20b.mp3", "/m/a b.mp3"),
        (" a.mp3 ", "/m/lists/ a.mp3  /m/lists/a.mp3"),
        ("http://radio/x", ""),
    ] {
        assert_eq!(paths(location), expected, "{location}");
    }
    assert!(is_remote(b"https://radio/x") && is_remote(b"mms://radio"));
    assert!(!is_remote(b"file:///x") && !is_remote(b"C://x") && !is_remote(b"a: b.mp3"));
}

/// Written and read again, an entry names the same file.
#[test]
fn written_playlists_read_back() {
    let folder = Path::new("/m");
    let names: [&[u8]; 9] = [
        b"/m/a.mp3",
        b"/m/#1.mp3",
        b"/m/a\nb.mp3",
        b"/m/ x .mp3 ",
        b"/m/http://x.mp3",
        b"/m/100%25.mp3",
        b"/m/\xff.mp3",
        b"/other/\xc3\xbc & <b>.mp3",
        b"/m/C:/a.mp3",
    ];
    let entry = |name: &&[u8]| PlaylistEntry {
        locations: vec![name.to_vec()],
        title: "Ti\ntle & <x>\u{1}".to_owned(),
        artist: "Artist".to_owned(),
        album: "Album".to_owned(),
        seconds: Some(3),
        line: 0,
    };
    let list = PlaylistFile {
        title: "List".to_owned(),
        entries: names.iter().map(entry).collect(),
        problem: None,
    };
    for format in [PlaylistFormat::M3u, PlaylistFormat::Xspf] {
        for base in [Some(folder), None] {
            let mut out = Vec::new();
            list.write(format, base, &mut out).unwrap();
            let again = read(&out);
            assert_eq!((again.title.as_str(), again.problem), ("List", None));
            for (entry, name) in again.entries.iter().zip(names) {
                let paths = local_paths(&entry.locations[0], folder);
                let expected = crate::uri::path_of_bytes(name.to_vec());
                let expected: PathBuf = expected.components().collect();
                assert!(paths.contains(&expected), "{paths:?} {expected:?}");
                assert_eq!((entry.artist.as_str(), entry.seconds), ("Artist", Some(3)));
                assert_eq!(entry.album, "Album");
            }
            assert_eq!(again.entries.len(), names.len());
        }
    }
}

proptest! {
    #[test]
    fn no_input_panics(
        start in prop::sample::select(vec!["", "#EXTM3U\n", "<playlist><trackList><track>", "[playlist]\n"]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let whole = [start.as_bytes(), &bytes].concat();
        if let Ok(list) = read_playlist(&whole) {
            for entry in &list.entries {
                for location in &entry.locations {
                    local_paths(location, Path::new("/m"));
                }
            }
            list.write(PlaylistFormat::Xspf, None, &mut Vec::new()).unwrap();
        }
    }
}
