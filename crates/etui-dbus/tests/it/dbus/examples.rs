//! The programs of `examples/`: a player and a gallery, in Python, run over a made library.

use std::path::Path;

use super::media::Library;
use super::support::*;

/// Runs a program of `examples/` on the bus of a library; returns both outputs.
fn run(library: &Library, program: &str, arguments: &[&str]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(program);
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    assert!(lines <= 60, "{program} has {lines} lines");
    let mut command = library.service.bus.command("timeout");
    let output = command
        .args(["600", "/usr/bin/python3"])
        .arg(path)
        .arg("--once")
        .args(arguments)
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    out + &String::from_utf8(output.stderr).unwrap()
}

/// Replaces the URI of the library's folder, and the sizes of pictures.
fn stable(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let line = match line.split_once("file://") {
            Some((before, uri)) => {
                let name: Vec<&str> = uri.rsplitn(3, '/').collect();
                format!("{before}{}/{}", name[1], name[0])
            }
            None => line.to_owned(),
        };
        match line.rsplit_once(" of ") {
            Some((before, bytes)) => {
                let bytes: usize = bytes.strip_suffix(" bytes").unwrap().parse().unwrap();
                format!("{before}{}", if bytes > 100 { "" } else { " missing" })
            }
            None => line,
        }
    });
    lines.collect()
}

#[test]
fn the_player_lists_albums_and_a_playlist() {
    let library = Library::new();
    library.track("First", 2, "Two");
    library.track("First", 1, "One & \"only\"");
    library.track("Ænima, 100 %", 1, "Drei");
    library.scan();
    let printed = run(&library, "player.py", &["album:first"]);
    assert_eq!(
        stable(&printed),
        [
            "The Band: Ænima, 100 % (1977), 1 tracks, cover",
            "The Band: First (1977), 2 tracks, cover",
            "0:01 One & \"only\", The Band, First/1.flac",
            "0:01 Two, The Band, First/2.flac",
        ],
        "{printed}"
    );
    let client = library.service.client();
    let made = client.playlists::<()>("Create", &("Two first", ""));
    made.unwrap();
    let (rows, _, _): (Vec<Row>, String, u64) =
        client.media("Tracks", &("album:first", none())).unwrap();
    let ids: Vec<u64> = rows.iter().rev().map(|row| row.0).collect();
    let added = client.playlists::<()>("Add", &("Two first", ids, -1_i64));
    added.unwrap();
    let printed = run(&library, "player.py", &["Two first"]);
    let played = stable(&printed).split_off(2);
    assert_eq!(
        played,
        [
            "0:01 Two, The Band, First/2.flac",
            "0:01 One & \"only\", The Band, First/1.flac"
        ],
        "{printed}"
    );
    let empty = run(&Library::new(), "player.py", &[]);
    assert_eq!(empty, "");
    let bad = run(&library, "player.py", &["album:("]);
    assert!(bad.contains("org.etui.Error1.BadFilter"), "{bad}");
}

#[test]
fn the_gallery_shows_the_pictures_of_a_day() {
    let library = Library::new();
    library.picture("a & b.jpg", (2024, 5, 3));
    library.picture("IMG_2.jpg", (2024, 5, 4));
    library.picture("IMG_3.jpg", (2023, 5, 3));
    library.scan();
    let shown = |arguments: &[&str]| stable(&run(&library, "gallery.py", arguments));
    assert_eq!(
        shown(&["2024-05-03"]),
        ["2024-05-03T12:00:00 a & b.jpg, 320x200, thumbnail"]
    );
    assert_eq!(shown(&["2024"]).len(), 2);
    assert_eq!(shown(&["2023..2024"]).len(), 3);
    assert!(shown(&["2022"]).is_empty());
    // Today nothing was taken.
    assert!(shown(&[]).is_empty());
    assert!(run(&library, "gallery.py", &["soon"]).contains("org.etui.Error1.BadFilter"));
}

/// The block of the book that calls each method runs to its end, without an error.
#[test]
fn the_calls_of_the_book_run() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/dbus.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```sh\n").skip(1);
    let block = blocks.find(|block| block.starts_with("etui() {")).unwrap();
    let script = block.split_once("```").unwrap().0;
    let library = Library::new();
    library.track("First", 1, "One");
    library.picture("a.jpg", (2024, 5, 3));
    library.scan();
    let mut command = library.service.bus.command("timeout");
    let output = command
        .args(["600", "sh", "-euc", script])
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && errors.is_empty(),
        "{out}{errors}"
    );
    for expected in [
        "lovelace\\\"*\"",
        "\"Choir\" \"contacts\" 1 ",
        "\"RestoreCollection\"",
        "\"One\"",
        "\"a.jpg\"",
    ] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
}
