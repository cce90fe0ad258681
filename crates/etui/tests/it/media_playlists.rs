//! Playlists and the history of plays: they stay with their tracks.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etui::media::playlist_file::{PlaylistFile, PlaylistFormat, read_playlist};
use etui::media::{Media, PlaylistImport, PlaylistTrackState, ScanOptions};
use etui::{CollectionKind, Error, Options, PurgeScope, RecordId, Store};
use etui_testkit::media::{AudioFormat, TrackSpec, audio_file};

/// A library in a folder `Music` and its store.
struct Library {
    dir: tempfile::TempDir,
    store: Store,
}

impl Library {
    /// Makes one with tracks in `Music`: file, artist, title. A title may be in several files: their
    /// sounds are equal then.
    fn new(tracks: &[(&str, &str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("media.etui")).unwrap();
        let library = Self { dir, store };
        fs::create_dir(library.path("Music")).unwrap();
        for (name, artist, title) in tracks {
            library.write(name, artist, title);
        }
        library.scan();
        library
    }

    fn path(&self, name: &str) -> PathBuf {
        // Roots are stored without links.
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, artist: &str, title: &str) {
        let path = self.path("Music").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let seed = title.bytes().map(u64::from).sum();
        let spec = TrackSpec {
            title: title.to_owned(),
            artists: vec![artist.to_owned()],
            album: "Album".to_owned(),
            year: 1977,
            ..TrackSpec::new(seed, 3_000)
        };
        let format = match path.extension().unwrap().to_str().unwrap() {
            "flac" => AudioFormat::Flac,
            _ => AudioFormat::Mp3,
        };
        fs::write(&path, audio_file(format, &spec)).unwrap();
    }

    fn media(&self) -> Media {
        self.store.media().unwrap()
    }

    fn scan(&self) {
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let folders = [self.path("Music")];
        let options = ScanOptions::default();
        self.media().scan(&folders, &options, go_on).unwrap();
        let check = self.store.check().unwrap();
        assert!(check.problems.is_empty(), "{check:?}");
    }

    /// The ids of the tracks of a filter, by their files.
    fn ids(&self, filter: &str) -> Vec<RecordId> {
        let media = self.media();
        let found = media.tracks().find(&filter.parse().unwrap()).unwrap();
        let mut ids: Vec<_> = found.iter().map(|track| track.id).collect();
        ids.sort_by_key(|id| media.path(*id).unwrap());
        ids
    }

    /// The entries of a playlist: titles, and the state unless it is here.
    fn shown(&self, name: &str) -> Vec<String> {
        let tracks = self.media().playlist_tracks(name).unwrap();
        let shown = tracks.iter().map(|track| match track.state {
            PlaylistTrackState::Here => track.title.clone(),
            state => format!("{} {state:?}", track.title),
        });
        shown.collect()
    }

    /// Imports a text as a file in a folder.
    fn import(&self, file: &str, text: impl AsRef<[u8]>) -> PlaylistImport {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let list = read_playlist(text.as_ref()).unwrap();
        let media = self.media();
        let folder = path.parent().unwrap();
        media.import_playlist("List", &list, folder, true).unwrap()
    }
}

const THREE: &[(&str, &str, &str)] = &[
    ("Low/1 Speed.mp3", "Bowie", "Speed of Life"),
    ("Low/2 Breaking.mp3", "Bowie", "Breaking Glass"),
    ("Müller/Lied.mp3", "Müller", "Lied"),
];

/// A library with a playlist of its three tracks, the second twice: A B B C.
fn with_list() -> Library {
    let library = Library::new(THREE);
    let media = library.media();
    media.create_playlist("List", None).unwrap();
    let ids = library.ids("");
    let entries = [ids[0], ids[1], ids[1], ids[2]];
    media.add_to_playlist("List", &entries, None).unwrap();
    library
}

const LIST: [&str; 4] = ["Speed of Life", "Breaking Glass", "Breaking Glass", "Lied"];

#[test]
fn entries_stay_whatever_happens_to_their_files() {
    // Moved, renamed, retagged, converted, and copied to another place with the first gone.
    type Change = fn(&Library);
    let changes: [(&str, Change); 5] = [
        ("moved", |library| {
            fs::rename(library.path("Music/Low"), library.path("Music/Bowie")).unwrap();
        }),
        ("renamed", |library| {
            let from = library.path("Music/Low/2 Breaking.mp3");
            fs::rename(from, library.path("Music/Low/b.mp3")).unwrap();
        }),
        ("retagged", |library| {
            // The same sound.
            let seed = "Lied".bytes().map(u64::from).sum();
            let spec = TrackSpec {
                title: "Lied".to_owned(),
                artists: vec!["Somebody".to_owned()],
                ..TrackSpec::new(seed, 3_000)
            };
            let file = audio_file(AudioFormat::Mp3, &spec);
            fs::write(library.path("Music/Müller/Lied.mp3"), file).unwrap();
        }),
        ("converted", |library| {
            library.write("Müller/Lied.flac", "Müller", "Lied");
            fs::remove_file(library.path("Music/Müller/Lied.mp3")).unwrap();
        }),
        ("copied", |library| {
            let from = library.path("Music/Müller/Lied.mp3");
            fs::copy(&from, library.path("Music/copy.mp3")).unwrap();
            fs::remove_file(from).unwrap();
        }),
    ];
    for (name, change) in changes {
        let library = with_list();
        change(&library);
        library.scan();
        assert_eq!(library.shown("List"), LIST, "{name}");
        let tracks = library.media().playlist_tracks("List").unwrap();
        assert!(
            tracks.iter().all(|track| track.location.exists()),
            "{name}: {tracks:?}"
        );
    }
}

#[test]
fn a_lost_track_stays_named_and_comes_back() {
    let library = with_list();
    let file = library.path("Music/Low/2 Breaking.mp3");
    let bytes = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    library.scan();
    let lost = "Breaking Glass Missing";
    assert_eq!(library.shown("List"), ["Speed of Life", lost, lost, "Lied"]);
    let entry = &library.media().playlist_tracks("List").unwrap()[1];
    assert_eq!(
        (entry.artist.as_str(), entry.seconds, entry.id),
        ("Bowie", Some(3), None)
    );
    assert_eq!(entry.location, file);
    fs::write(library.path("Music/again.mp3"), bytes).unwrap();
    library.scan();
    assert_eq!(library.shown("List"), LIST);
    // Another track at its path takes its place, once its own is gone.
    fs::remove_file(library.path("Music/again.mp3")).unwrap();
    library.scan();
    library.write("Low/2 Breaking.mp3", "Bowie", "What in the World");
    library.scan();
    let other = "What in the World";
    assert_eq!(
        library.shown("List"),
        ["Speed of Life", other, other, "Lied"]
    );
}

#[test]
fn a_drive_that_is_away_keeps_its_entries() {
    let library = with_list();
    fs::rename(library.path("Music"), library.path("away")).unwrap();
    fs::create_dir(library.path("Other")).unwrap();
    let media = library.media();
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    media
        .scan(&[library.path("Other")], &ScanOptions::default(), go_on)
        .unwrap();
    media.scan(&[], &ScanOptions::default(), go_on).unwrap();
    assert_eq!(library.shown("List")[0], "Speed of Life Away");
    fs::rename(library.path("away"), library.path("Music")).unwrap();
    library.scan();
    assert_eq!(library.shown("List"), LIST);
}

#[test]
fn entries_are_inserted_moved_and_removed_in_order() {
    let library = Library::new(THREE);
    let media = library.media();
    media.create_playlist("List", None).unwrap();
    let ids = library.ids("");
    // A model of the list.
    let mut model: Vec<RecordId> = Vec::new();
    let read = || {
        let tracks = media.playlist_tracks("List").unwrap();
        tracks
            .iter()
            .map(|track| track.id.unwrap())
            .collect::<Vec<_>>()
    };
    // More insertions at one place than its gap has room for.
    for turn in 0..60 {
        let id = ids[turn % 3];
        let at = turn.min(1);
        media.add_to_playlist("List", &[id, id], Some(at)).unwrap();
        model.splice(at..at, [id, id]);
        assert_eq!(read(), model, "{turn}");
    }
    for (from, to) in [
        (0..1, 5),
        (7..20, 0),
        (100..120, 3),
        (119..120, 500),
        (4..4, 9),
    ] {
        media.move_in_playlist("List", from.clone(), to).unwrap();
        let moved: Vec<RecordId> = model.drain(from.clone()).collect();
        let to = to.min(model.len());
        model.splice(to..to, moved);
        assert_eq!(read(), model, "{from:?} to {to}");
    }
    media.remove_from_playlist("List", &[0, 119, 50]).unwrap();
    for at in [119, 50, 0] {
        model.remove(at);
    }
    assert_eq!(read(), model);
    // An entry that is not there: nothing is changed.
    for refused in [
        media.remove_from_playlist("List", &[0, 117]),
        media.move_in_playlist("List", 0..usize::MAX, 0),
        media.move_in_playlist("List", usize::MAX - 1..usize::MAX, 0),
        media.move_in_playlist("List", 110..118, 0),
        media.add_to_playlist("List", &[ids[0], RecordId(9_999)], None),
    ] {
        let error = refused.unwrap_err();
        assert!(
            matches!(error, Error::NoPlaylistEntry { .. } | Error::NoRecordId(_)),
            "{error}"
        );
    }
    assert_eq!(read(), model);
    media
        .remove_from_playlist("List", &(0..117).collect::<Vec<_>>())
        .unwrap();
    assert_eq!(read(), []);
}

#[test]
fn saved_filters_are_evaluated_when_they_are_read() {
    let library = Library::new(THREE);
    let media = library.media();
    media
        .create_playlist("Bowie", Some("artist:bowie"))
        .unwrap();
    media.create_playlist("Good", Some("rating:>=4")).unwrap();
    assert_eq!(library.shown("Bowie"), ["Breaking Glass", "Speed of Life"]);
    assert_eq!(library.shown("Good"), [""; 0]);
    library.write("Low/3.mp3", "Bowie", "Sound and Vision");
    library.scan();
    let uid = media
        .tracks()
        .get(library.ids("lied")[0])
        .unwrap()
        .unwrap()
        .uid;
    let rating = etui::media::Rating::new(5);
    media
        .set_rating(CollectionKind::Music, &uid, rating)
        .unwrap();
    assert_eq!(library.shown("Bowie").len(), 3);
    assert_eq!(library.shown("Good"), ["Lied"]);
    let lists = media.playlists().unwrap();
    let counts: Vec<_> = lists
        .iter()
        .map(|list| (list.name.as_str(), list.entries))
        .collect();
    assert_eq!(counts, [("Bowie", 3), ("Good", 1)]);
    // It has no entries of its own.
    let ids = library.ids("");
    for refused in [
        media.add_to_playlist("Good", &ids, None),
        media.remove_from_playlist("Good", &[0]),
        media.move_in_playlist("Good", 0..1, 0),
    ] {
        assert!(matches!(refused, Err(Error::SavedFilter(_))), "{refused:?}");
    }
    let bad = media.create_playlist("Bad", Some("year:197x"));
    assert!(matches!(bad, Err(Error::Filter(_))), "{bad:?}");
}

#[test]
fn names_are_checked() {
    let library = with_list();
    let media = library.media();
    for bad in ["", " x", "x ", "a\nb", &"x".repeat(201)] {
        let made = media.create_playlist(bad, None);
        assert!(matches!(made, Err(Error::BadPlaylistName(_))), "{bad:?}");
    }
    assert!(matches!(
        media.create_playlist("List", None),
        Err(Error::PlaylistExists(_))
    ));
    media.create_playlist("Other", None).unwrap();
    let renamed = media.rename_playlist("Other", "List");
    assert!(matches!(renamed, Err(Error::PlaylistExists(_))));
    media.rename_playlist("List", "Müller's ☺").unwrap();
    assert_eq!(library.shown("Müller's ☺"), LIST);
    assert_eq!(media.delete_playlist("Müller's ☺").unwrap(), 4);
    let gone = media.playlist_tracks("Müller's ☺");
    assert!(matches!(gone, Err(Error::NoPlaylist(_))), "{gone:?}");
}

#[test]
fn playlists_of_other_programs_and_machines_find_their_tracks() {
    let library = Library::new(THREE);
    let music = library.path("Music");
    let music = music.to_str().unwrap();
    let all = ["Speed of Life", "Lied"];
    for (file, text) in [
        // Relative, beside the folders and in one of them.
        ("Music/x.m3u8", "Low/1 Speed.mp3\nMüller/Lied.mp3\n".to_owned()),
        ("Music/Low/x.m3u8", "1 Speed.mp3\n./../Müller/Lied.mp3\n".to_owned()),
        ("x.m3u8", format!("\u{feff}#EXTM3U\r\n{music}/Low/1 Speed.mp3\r\nfile://{music}/M%C3%BCller/Lied.mp3\r\n")),
        // Relative to the music folder, as MPD writes them.
        ("lists/x.m3u", "Low/1 Speed.mp3\nMüller/Lied.mp3\n".to_owned()),
        // Of Windows, in another folder, with another case, and decomposed as macOS writes it.
        ("x.m3u", "D:\\Musik\\low\\1 speed.MP3\n\\\\nas\\share\\Mu\u{308}ller\\Lied.mp3\n".to_owned()),
        // Converted since.
        ("x.m3u8", "/mnt/old/Low/1 Speed.flac\nfile:///C:/Music/M%C3%BCller/Lied.ogg\n".to_owned()),
        // By their titles alone.
        (
            "x.m3u8",
            "#EXTINF:4,Bowie - Speed of life!\ngone/a.mp3\n#EXTINF:-1,muller - Lied\nb.mp3\n".to_owned(),
        ),
        (
            "x.xspf",
            "<playlist><trackList><track><title>Speed of Life</title><creator>Bowie</creator></track>\
             <track><location>Music/M%C3%BCller/Lied.mp3</location></track></trackList></playlist>"
                .to_owned(),
        ),
    ] {
        let report = library.import(file, &text);
        assert_eq!(report.unmatched, [], "{text}");
        assert_eq!(library.shown("List"), all, "{text}");
    }
    // Latin-1.
    let report = library.import(
        "Music/x.m3u",
        b"Low\\1 Speed.mp3\r\nM\xfcller\\Lied.mp3\r\n",
    );
    assert_eq!((report.tracks, report.unmatched.len()), (2, 0));
    let report = library.import(
        "Music/x.m3u8",
        b"Low/1 Speed.mp3\nfile:M%FCller/Lied.mp3\nM\xfcller/Lied.mp3\n",
    );
    assert_eq!((report.tracks, report.unmatched.len()), (3, 0));
}

#[test]
fn entries_that_are_no_tracks_are_kept_and_named() {
    let library = Library::new(&[
        ("A/CD1/01.mp3", "A", "One"),
        ("B/CD1/01.mp3", "B", "Two"),
        ("C/02.mp3", "C", "Three"),
    ]);
    let text = "#EXTINF:-1,Radio\nhttp://radio/stream\n\
                /other/CD1/01.mp3\n\
                #EXTINF:9,C - Something else\n/other/C/02.mp3\n\
                #EXTINF:99,C - Three\n/nowhere.mp3\n\
                02.mp3\n\
                later/new.mp3\n";
    let report = library.import("x.m3u8", text);
    assert_eq!((report.tracks, report.streams), (0, 1));
    let named: Vec<_> = report
        .unmatched
        .iter()
        .map(|e| (e.line, e.title.as_str()))
        .collect();
    assert_eq!(
        named,
        [
            // Two tracks end so; another title; another length; no folder is equal.
            (3, "01.mp3"),
            (5, "Something else"),
            (7, "Three"),
            (8, "02.mp3"),
            (9, "new.mp3")
        ]
    );
    assert_eq!(library.shown("List")[0], "Radio Stream");
    assert_eq!(library.shown("List")[5], "new.mp3 Missing");
    // A scan finds a file, and then the entry stays with it.
    fs::create_dir(library.path("later")).unwrap();
    library.write("../later/new.mp3", "D", "New");
    let media = library.media();
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let options = ScanOptions::default();
    media
        .scan(&[library.path("later")], &options, go_on)
        .unwrap();
    assert_eq!(library.shown("List")[5], "New");
    fs::rename(library.path("later/new.mp3"), library.path("Music/x.mp3")).unwrap();
    library.scan();
    assert_eq!(library.shown("List")[5], "New");
}

#[test]
fn written_playlists_are_read_as_the_same_tracks() {
    let names = [
        "#1.mp3",
        "a\nb.mp3",
        " blank .mp3",
        "http:/x.mp3",
        "100%25 & <b>.mp3",
        "ü\\x.mp3",
    ];
    let tracks: Vec<_> = names.iter().map(|name| (*name, "A", *name)).collect();
    let library = Library::new(&tracks);
    let media = library.media();
    media.create_playlist("Own", None).unwrap();
    let ids = library.ids("");
    media.add_to_playlist("Own", &ids, None).unwrap();
    let expected = library.shown("Own");
    assert_eq!(expected.len(), names.len());
    let list = media.playlist_file("Own").unwrap();
    for format in [PlaylistFormat::M3u, PlaylistFormat::Xspf] {
        for folder in [Some(library.path("Music")), Some(library.path("")), None] {
            let mut out = Vec::new();
            list.write(format, folder.as_deref(), &mut out).unwrap();
            let read = read_playlist(&out).unwrap();
            let base = folder.unwrap_or_else(|| PathBuf::from("/"));
            let report = media.import_playlist("Again", &read, &base, true).unwrap();
            assert_eq!(report.unmatched, [], "{}", String::from_utf8_lossy(&out));
            assert_eq!(library.shown("Again"), expected);
        }
    }
}

#[test]
fn a_long_playlist_of_names_that_many_files_have() {
    // All files end alike, and no entry is one of them: each lookup costs the same.
    let names: Vec<String> = (0..40).map(|n| format!("{n}/CD1/01.mp3")).collect();
    let tracks: Vec<_> = names.iter().map(|name| (name.as_str(), "A", "T")).collect();
    let library = Library::new(&tracks);
    let text = "#EXTINF:99,A - T\n/x/CD1/01.mp3\n".repeat(20_000);
    let report = library.import("x.m3u8", text);
    assert_eq!(report.unmatched.len(), 20_000);
    assert_eq!(library.media().playlists().unwrap()[0].entries, 20_000);
}

/// Entries of an erased track are erased: a purge leaves nothing of it.
#[test]
fn a_purge_takes_entries_and_plays_along() {
    for single in [false, true] {
        let library = with_list();
        let media = library.media();
        let id = library.ids("breaking")[0];
        let uid = media.tracks().get(id).unwrap().unwrap().uid;
        media.record_play(&uid, SystemTime::now()).unwrap();
        fs::remove_file(library.path("Music/Low/2 Breaking.mp3")).unwrap();
        library.scan();
        drop(media);
        let scope = match single {
            true => PurgeScope::Records(&[id]),
            false => PurgeScope::Removed,
        };
        library.store.purge(scope).unwrap();
        assert_eq!(library.shown("List"), ["Speed of Life", "Lied"]);
        assert_eq!(library.media().plays_of(id).unwrap(), []);
    }
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn plays_are_kept_with_their_times() {
    let library = Library::new(THREE);
    let media = library.media();
    let ids = library.ids("");
    let uid = |id| media.tracks().get(id).unwrap().unwrap().uid;
    let (first, second) = (uid(ids[0]), uid(ids[1]));
    assert_eq!(media.plays(10).unwrap(), []);
    for (uid, seconds) in [(&first, 100), (&second, 300), (&first, 200), (&first, 200)] {
        media.record_play(uid, at(seconds)).unwrap();
    }
    let latest = |limit| {
        let plays = media.plays(limit).unwrap();
        plays
            .into_iter()
            .map(|play| (play.id, play.at))
            .collect::<Vec<_>>()
    };
    let [a, b] = [ids[0], ids[1]];
    assert_eq!(
        latest(9),
        [(b, at(300)), (a, at(200)), (a, at(200)), (a, at(100))]
    );
    assert_eq!(latest(2), [(b, at(300)), (a, at(200))]);
    assert_eq!(media.plays_of(a).unwrap(), [at(200), at(200), at(100)]);
    // A play before 1970, and one of a track that is not there.
    media
        .record_play(&second, UNIX_EPOCH - Duration::from_secs(9))
        .unwrap();
    assert_eq!(media.plays_of(b).unwrap(), [at(300), at(0)]);
    assert!(media.record_play("none", at(1)).is_err());
    // Undone, and the undo undone.
    assert!(media.undo_user_data(CollectionKind::Music, &first).unwrap());
    assert_eq!(media.plays_of(a).unwrap(), [at(200), at(100)]);
    assert!(media.undo_user_data(CollectionKind::Music, &first).unwrap());
    assert_eq!(media.plays_of(a).unwrap(), [at(200), at(200), at(100)]);
    // In the trash and back.
    let file = media.path(a).unwrap().unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    library.scan();
    assert_eq!(latest(9), [(b, at(300)), (b, at(0))]);
    fs::write(&file, bytes).unwrap();
    library.scan();
    assert_eq!(latest(1), [(b, at(300))]);
    assert_eq!(media.plays_of(library.ids("speed")[0]).unwrap().len(), 3);
}

/// A library that was made before there were playlists has no tables for them.
#[test]
fn a_library_without_the_tables_has_no_playlists() {
    let library = Library::new(THREE);
    let path = library.store.path().to_owned();
    let query = "SELECT name FROM sqlite_schema WHERE name LIKE 'media_play%'";
    let tables = library.store.sql(query, &[]).unwrap().rows;
    assert!(tables.is_empty(), "made at the first playlist: {tables:?}");
    let Library { dir, store } = library;
    store.close().unwrap();
    let mut read_only = Options::default();
    read_only.read_only = true;
    let store = Store::open_with(&path, &read_only).unwrap();
    let media = store.media().unwrap();
    assert_eq!(media.playlists().unwrap(), []);
    assert_eq!(media.plays(1).unwrap(), []);
    assert!(matches!(
        media.playlist_tracks("x"),
        Err(Error::NoPlaylist(_))
    ));
    assert!(matches!(
        media.create_playlist("x", None),
        Err(Error::ReadOnly(_))
    ));
    drop(media);
    store.close().unwrap();
    drop(dir);
}

/// A killed program leaves the list before or after a change: each is one transaction.
#[test]
fn an_import_that_is_refused_changes_nothing() {
    let library = with_list();
    let media = library.media();
    let list = PlaylistFile::default();
    let refused = media.import_playlist("List", &list, Path::new("/"), false);
    assert!(
        matches!(refused, Err(Error::PlaylistExists(_))),
        "{refused:?}"
    );
    let refused = media.import_playlist("bad\n", &list, Path::new("/"), true);
    assert!(
        matches!(refused, Err(Error::BadPlaylistName(_))),
        "{refused:?}"
    );
    assert_eq!(library.shown("List"), LIST);
    media
        .import_playlist("List", &list, Path::new("/"), true)
        .unwrap();
    assert_eq!(library.shown("List"), [""; 0]);
}
