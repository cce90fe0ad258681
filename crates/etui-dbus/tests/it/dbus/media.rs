//! The media library over D-Bus: lists, covers, files, ratings, views; and what clients do wrong.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use etui::media::ScanOptions;
use etui_testkit::media::{AudioFormat, PhotoSpec, PhotoTime, TrackSpec, audio_file, cover, photo};
use serde::Serialize;
use zbus::wire::DynamicType;
use zbus::{OwnedObjectPath, Variant, block_on};

use super::support::*;

/// The answer of a query.
type Listed = (Vec<Row>, String, u64);

/// A folder of music and pictures, in the library of a service.
pub struct Library {
    pub service: Running,
    folder: tempfile::TempDir,
}

impl Library {
    pub fn new() -> Self {
        let (service, folder) = (Running::start(), tempfile::tempdir().unwrap());
        Self { service, folder }
    }

    fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a track of an album with a cover.
    pub fn track(&self, album: &str, number: u32, title: &str) -> PathBuf {
        let mut spec = TrackSpec::new(u64::from(number), 1_000);
        spec.title = title.to_owned();
        spec.artists = vec!["The Band".to_owned()];
        spec.album = album.to_owned();
        spec.album_artist = "The Band".to_owned();
        spec.track = number;
        spec.year = 1977;
        spec.cover = Some(cover(7, 300).into());
        let name = format!("{}/{number}.flac", album.replace('/', "_"));
        self.write(name, &audio_file(AudioFormat::Flac, &spec))
    }

    /// Writes a picture that was taken at noon of a day.
    pub fn picture(&self, name: impl AsRef<Path>, (year, month, day): (u16, u8, u8)) -> PathBuf {
        let spec = PhotoSpec {
            seed: 1,
            width: 320,
            height: 200,
            taken: Some(PhotoTime {
                year,
                month,
                day,
                hour: 12,
                minute: 0,
                second: 0,
                utc_offset: None,
            }),
            ..PhotoSpec::default()
        };
        self.write(name, &photo(&spec))
    }

    /// Scans the folder, as another program.
    pub fn scan(&self) {
        let store = self.service.open_store();
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let folders = [self.folder.path().to_owned()];
        let media = store.media().unwrap();
        media
            .scan(&folders, &ScanOptions::default(), go_on)
            .unwrap();
    }
}

fn list(client: &Client, method: &str, filter: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let options = Options::from([("columns", Variant::from(columns.to_vec()))]);
    let (rows, _, _): Listed = client.media(method, &(filter, options)).unwrap();
    rows.into_iter().map(|row| row.2).collect()
}

/// The content of the descriptor that an answer begins with.
fn file<B: Serialize + DynamicType>(client: &Client, method: &str, body: &B) -> Vec<u8> {
    let call = client
        .connection
        .call_method(Some(STORE), MEDIA_PATH, Some(MEDIA), method, body);
    let reply = block_on(call).unwrap();
    let body = reply.body();
    let file: zbus::OwnedFd = match body.deserialize::<(zbus::OwnedFd, String)>() {
        Ok((file, kind)) => {
            assert_eq!(kind, "image/jpeg");
            file
        }
        Err(_) => body.deserialize().unwrap(),
    };
    let mut bytes = Vec::new();
    let mut file = fs::File::from(OwnedFd::from(file));
    assert!(std::io::Write::write(&mut file, b"x").is_err());
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn albums_tracks_and_pictures_are_listed_with_covers_and_files() {
    let library = Library::new();
    let odd = "Ænima; \"100%\" / 東京";
    let path = library.track(odd, 1, "One & only");
    library.track(odd, 2, "Zwei");
    library.track("Second", 1, "Three");
    let name = OsStr::from_bytes(b"caf\xe9 #1?.jpg");
    let picture = library.picture(name, (2024, 5, 3));
    library.picture("IMG_2.jpg", (2024, 5, 4));
    library.scan();
    let client = library.service.client();

    let albums = list(
        &client,
        "Albums",
        "",
        &["name", "artist", "year", "members", "uid"],
    );
    let names: Vec<&str> = albums.iter().map(|album| album[0].as_str()).collect();
    assert!(
        names.contains(&odd) && names.contains(&"Second"),
        "{names:?}"
    );
    let album = albums.iter().find(|album| album[0] == odd).unwrap();
    assert_eq!(album[1..4], ["The Band", "1977", "2"]);
    let of_album = format!("albumuid:{}", album[4]);
    let tracks = list(&client, "Tracks", &of_album, &["title", "track"]);
    assert_eq!(tracks, [["One & only", "1"], ["Zwei", "2"]]);
    assert_eq!(list(&client, "Artists", "", &["name"]), [["The Band"]]);
    assert_eq!(list(&client, "Genres", "", &["name"]).len(), 0);
    assert_eq!(list(&client, "Days", "", &["name", "members"]).len(), 2);
    let day = list(
        &client,
        "Pictures",
        "taken:2024-05-03",
        &["taken", "width", "height"],
    );
    assert_eq!(day, [["2024-05-03T12:00:00", "320", "200"]]);

    let id = |method: &str, filter: &str| -> u64 {
        let (rows, _, _): Listed = client.media(method, &(filter, none())).unwrap();
        assert_eq!(rows.len(), 1, "{filter}");
        rows[0].0
    };
    let (track, photo) = (
        id("Tracks", "title:only"),
        id("Pictures", "taken:2024-05-03"),
    );
    let uris: Vec<String> = client
        .media("Uris", &vec![track, photo, 999_999, 0])
        .unwrap();
    assert!(
        uris[0].ends_with("/1.flac") && !uris[0].contains(' '),
        "{uris:?}"
    );
    assert!(uris[1].ends_with("/caf%E9%20%231%3F.jpg"), "{uris:?}");
    assert_eq!(uris[2..], ["", ""]);
    let files: Vec<String> = client.media("Files", &photo).unwrap();
    assert_eq!(files, [uris[1].clone()]);
    assert_eq!(file(&client, "Open", &track), fs::read(&path).unwrap());
    assert_eq!(file(&client, "Open", &photo), fs::read(&picture).unwrap());

    let album = id("Albums", "name:second");
    for (of, size) in [
        (track, "small"),
        (track, "large"),
        (album, "small"),
        (photo, "large"),
    ] {
        let jpeg = file(&client, "Cover", &(of, size));
        assert!(jpeg.starts_with(&[0xff, 0xd8]), "{of} {size}");
    }
    let cover = &list(&client, "Tracks", "title:only", &["cover"])[0][0];
    let covers = vec![
        cover.as_str(),
        "nonsense",
        "",
        "0123456789abcdef",
        cover.as_str(),
    ];
    let sizes: Vec<usize> = client
        .media_rows("Covers", &(covers, "small"))
        .iter()
        .map(|row| row.1[0].len())
        .collect();
    assert!(sizes[0] > 100 && sizes[4] == sizes[0], "{sizes:?}");
    assert_eq!(sizes[1..4], [0, 0, 0]);

    let found: Vec<(String, u64, String, String, String, String)> =
        client.media("Search", &("band", none())).unwrap();
    let kinds: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(
        kinds,
        ["albums", "albums", "artists", "tracks", "tracks", "tracks"]
    );
    let pictures = Options::from([("kinds", Variant::from(vec!["pictures"]))]);
    let found: Vec<(String, u64, String, String, String, String)> =
        client.media("Search", &("img", pictures)).unwrap();
    assert_eq!(
        (found.len(), found[0].4.as_str()),
        (1, "2024-05-04T12:00:00")
    );
    let folders: Vec<(String, bool)> = client.media("Folders", &()).unwrap();
    assert!(folders[0].0.starts_with("file:///") && !folders[0].1);
}

#[test]
fn tracks_are_rated_and_played_and_views_say_so() {
    let library = Library::new();
    library.track("Album", 1, "One");
    library.track("Album", 2, "Two");
    library.scan();
    let (client, second) = (library.service.client(), library.service.client());
    let uid = list(&client, "Tracks", "title:one", &["uid"])[0][0].clone();
    let token: String = client.store("Token", &()).unwrap();
    let view: OwnedObjectPath = second
        .media("OpenView", &("tracks", "rating:>3", none()))
        .unwrap();
    assert!(view.as_str().starts_with("/org/etui/Store1/view/"));
    client
        .media::<_, ()>("SetRating", &("tracks", &uid, 5_u32))
        .unwrap();
    client
        .media::<_, ()>("RecordPlay", &(&uid, 1_700_000_000_i64))
        .unwrap();
    client.media::<_, ()>("RecordPlay", &(&uid, 0_i64)).unwrap();
    client
        .media::<_, ()>("SetFavourite", &("tracks", &uid, true))
        .unwrap();
    let columns = ["rating", "plays", "favourite"];
    assert_eq!(
        list(&second, "Tracks", "title:one", &columns),
        [["5", "2", "1"]]
    );
    let (changes, reset): (Vec<(String, Row)>, bool) =
        second.call(&view, VIEW, "Changes", &vec!["title"]).unwrap();
    assert!(!reset);
    assert_eq!(
        (changes[0].0.as_str(), changes[0].1.2[0].as_str()),
        ("added", "One")
    );
    type Changes = (Vec<(String, String, u64)>, String, bool);
    let (changed, ..): Changes = second
        .media("ChangesSince", &("tracks", token, none()))
        .unwrap();
    assert_eq!((changed.len(), &changed[0].0), (1, &uid));
    client
        .media::<_, ()>("SetRating", &("tracks", &uid, 0_u32))
        .unwrap();
    assert_eq!(list(&client, "Tracks", "rating:>3", &["uid"]).len(), 0);
    let (found, missing): (Vec<Row>, Vec<String>) = client
        .media(
            "GetMany",
            &("tracks", vec!["nobody", &uid], vec!["title"], none()),
        )
        .unwrap();
    assert_eq!(
        (found[0].2[0].as_str(), missing),
        ("One", vec!["nobody".to_owned()])
    );
}

#[test]
fn wrong_arguments_and_files_that_are_gone_are_errors() {
    let library = Library::new();
    let path = library.track("Album", 1, "One");
    library.scan();
    let client = library.service.client();
    let (rows, _, _): Listed = client.media("Tracks", &("", none())).unwrap();
    let (id, uid) = (
        rows[0].0,
        list(&client, "Tracks", "", &["uid"])[0][0].clone(),
    );
    macro_rules! refused {
        ($($method:literal $body:expr => $error:literal;)*) => {$(
            let got = client.refusal(MEDIA_PATH, MEDIA, $method, &$body);
            assert_eq!(got, $error, "{} {}", $method, stringify!($body));
        )*};
    }
    refused! {
        "Tracks" ("title:(", none()) => "BadFilter";
        "Tracks" ("rating:many", none()) => "BadFilter";
        "Tracks" ("", Options::from([("columns", Variant::from(vec!["colour"]))])) => "BadColumn";
        "Albums" ("", Options::from([("colums", Variant::from(vec!["name"]))])) => "BadOption";
        "Pictures" ("", Options::from([("sort", Variant::from("beauty"))])) => "BadOption";
        "Pictures" ("taken:yesterday", none()) => "BadFilter";
        "QueryFd" ("films", "", none()) => "BadArgument";
        "QueryFd" ("tracks", "", Options::from([("count", Variant::from(true))])) => "BadOption";
        "GetMany" ("", vec!["x"], vec!["title"], none()) => "BadArgument";
        "Search" ("x", Options::from([("kinds", Variant::from(vec!["contacts"]))])) => "BadArgument";
        "OpenView" ("songs", "", none()) => "BadArgument";
        "OpenView" ("tracks", "(", none()) => "BadFilter";
        "ChangesSince" ("tracks", "x", none()) => "BadArgument";
        "Cover" (id, "huge") => "BadArgument";
        "Cover" (999_999_u64, "small") => "NotFound";
        "Cover" (u64::MAX, "small") => "NotFound";
        "Covers" (vec!["x"; 4_097], "small") => "TooLarge";
        "Uris" (vec![1_u64; 10_001]) => "TooLarge";
        "Open" (u64::MAX) => "NotFound";
        "SetRating" ("tracks", &uid, 6_u32) => "BadArgument";
        "SetRating" ("tracks", &uid, 256 + 5_u32) => "BadArgument";
        "SetRating" ("albums", &uid, 5_u32) => "BadArgument";
        "SetRating" ("tracks", "nobody", 5_u32) => "NotFound";
        "SetFavourite" ("days", &uid, true) => "BadArgument";
        "RecordPlay" ("nobody", 0_i64) => "NotFound";
        "RecordPlay" (&uid, -1_i64) => "BadArgument";
    }
    assert_eq!(list(&client, "Tracks", "rating:>0", &["uid"]).len(), 0);
    // The file is gone, a folder or a pipe since the scan.
    fs::remove_file(&path).unwrap();
    refused! { "Open" (id) => "NotFound"; }
    fs::create_dir(&path).unwrap();
    refused! { "Open" (id) => "NotFound"; }
    fs::remove_dir(&path).unwrap();
    let status = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    refused! { "Open" (id) => "NotFound"; }
}

/// An entry: track, UID, state, title, artist, album, seconds, URI.
type Entry = (u64, String, String, String, String, String, u32, String);

#[test]
fn playlists_are_made_changed_and_read() {
    let library = Library::new();
    for number in 1..=3 {
        library.track("First", number, &format!("Song {number}"));
    }
    library.scan();
    let client = library.service.client();
    let (rows, _, _): Listed = client.media("Tracks", &("", none())).unwrap();
    let ids: Vec<u64> = rows.iter().map(|row| row.0).collect();
    let done = |refused: Result<(), Refusal>| refused.unwrap();
    done(client.playlists("Create", &("Mine", "")));
    done(client.playlists("Create", &("Second song", "title:2")));
    done(client.playlists("Add", &("Mine", &ids, -1_i64)));
    done(client.playlists("Add", &("Mine", vec![ids[2]], 0_i64)));
    let titles = |name: &str| -> Vec<String> {
        let (entries, count): (Vec<Entry>, u64) =
            client.playlists("Entries", &(name, 0_u64, 0_u64)).unwrap();
        assert_eq!(entries.len() as u64, count);
        for entry in &entries {
            assert!(
                entry.2 == "here" && entry.7.starts_with("file:///"),
                "{entry:?}"
            );
        }
        entries.into_iter().map(|entry| entry.3).collect()
    };
    assert_eq!(titles("Mine"), ["Song 3", "Song 1", "Song 2", "Song 3"]);
    assert_eq!(titles("Second song"), ["Song 2"]);
    done(client.playlists("Move", &("Mine", 0_u64, 1_u64, 2_u64)));
    done(client.playlists("Remove", &("Mine", vec![3_u64])));
    assert_eq!(titles("Mine"), ["Song 1", "Song 2", "Song 3"]);
    done(client.playlists("Rename", &("Mine", "Ours")));
    let (page, count): (Vec<Entry>, u64) = client
        .playlists("Entries", &("Ours", 1_u64, 1_u64))
        .unwrap();
    assert_eq!((page.len(), page[0].3.as_str(), count), (1, "Song 2", 3));
    let lists: Vec<(String, String, u64)> = client.playlists("List", &()).unwrap();
    let expected = [("Ours", "", 3), ("Second song", "title:2", 1)];
    assert_eq!(
        lists,
        expected.map(|(name, filter, count)| (name.to_owned(), filter.to_owned(), count))
    );

    client
        .media::<_, ()>("RecordPlay", &(&page[0].1, 1_700_000_000_i64))
        .unwrap();
    let plays: Vec<(i64, u64, String, String, String, String)> =
        client.playlists("Plays", &10_u64).unwrap();
    assert_eq!((plays[0].0, plays[0].3.as_str()), (1_700_000_000, "Song 2"));

    macro_rules! refused {
        ($($method:literal $body:expr => $error:literal;)*) => {$(
            let got = client.refusal(MEDIA_PATH, PLAYLISTS, $method, &$body);
            assert_eq!(got, $error, "{} {}", $method, stringify!($body));
        )*};
    }
    refused! {
        "Entries" ("Mine", 0_u64, 0_u64) => "NotFound";
        "Create" ("Ours", "") => "Exists";
        "Create" ("", "") => "BadArgument";
        "Create" ("New", "title:(") => "BadFilter";
        "Add" ("Ours", vec![999_999_u64], -1_i64) => "NotFound";
        "Add" ("Second song", vec![ids[0]], -1_i64) => "BadArgument";
        "Remove" ("Ours", vec![3_u64]) => "NotFound";
        "Move" ("Ours", 2_u64, 2_u64, 0_u64) => "NotFound";
        "Rename" ("Mine", "x") => "NotFound";
    }
    done(client.playlists("Delete", &"Ours"));
    let lists: Vec<(String, String, u64)> = client.playlists("List", &()).unwrap();
    assert_eq!(lists.len(), 1);
}

/// Ten thousand tracks in pages, by array and by descriptor; and a client that stopped reading
/// holds up nobody.
#[test]
fn large_libraries_come_in_pages_whatever_other_clients_do() {
    let library = Library::new();
    for n in 0..10_000_u32 {
        let mut spec = TrackSpec::new(u64::from(n), 20);
        spec.title = format!("Title {n}");
        let name = format!("{}/{n}.wav", n / 500);
        library.write(name, &audio_file(AudioFormat::Wav, &spec));
    }
    library.scan();
    let client = library.service.client();
    let mut stopped = library.service.bus.connect_socket().unwrap();
    let hello = zbus::message::Message::method_call("/org/freedesktop/DBus", "Hello")
        .interface("org.freedesktop.DBus")
        .destination("org.freedesktop.DBus")
        .build(&())
        .unwrap();
    std::io::Write::write_all(&mut stopped, hello.data()).unwrap();
    for _ in 0..100 {
        let limit = Options::from([("limit", Variant::from(5_000_u64))]);
        let call = zbus::message::Message::method_call(MEDIA_PATH, "Tracks")
            .interface(MEDIA)
            .destination(STORE)
            .build(&("", limit))
            .unwrap();
        std::io::Write::write_all(&mut stopped, call.data()).unwrap();
    }
    let (mut after, mut seen) = (String::new(), std::collections::HashSet::new());
    loop {
        let options = Options::from([
            ("limit", Variant::from(1_000_u64)),
            ("after", Variant::from(after.clone())),
            ("count", Variant::from(true)),
            ("columns", Variant::from(vec!["title", "length"])),
        ]);
        let (rows, next, count): Listed =
            client.media("Tracks", &("title:title", options)).unwrap();
        assert_eq!(count, 10_000);
        seen.extend(rows.into_iter().map(|row| row.0));
        if next.is_empty() {
            break;
        }
        after = next;
    }
    assert_eq!(seen.len(), 10_000);
    let tags = Options::from([("columns", Variant::from(vec!["tags"]))]);
    let refused = client.refusal(MEDIA_PATH, MEDIA, "Tracks", &("", tags.clone()));
    assert_eq!(refused, "TooLarge");
    assert_eq!(
        client.media_rows("QueryFd", &("tracks", "", tags)).len(),
        10_000
    );
}
