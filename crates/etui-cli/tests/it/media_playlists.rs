//! `etui media playlist`, `play`, `history`, and `cover --desktop`.

use etui_testkit::media::{AudioFormat, TrackSpec, audio_file, cover};

use crate::harness::{TestHome, session};

/// A home with a scanned folder of two albums of two tracks.
fn home_with_library() -> TestHome {
    let home = TestHome::new();
    for (album, artist, year) in [
        ("Low", "David Bowie", 1977),
        ("Lieder", "Jürgen Müller", 1999),
    ] {
        for track in 1..=2 {
            let spec = TrackSpec {
                title: format!("{album} {track}"),
                artists: vec![artist.to_owned()],
                album: album.to_owned(),
                album_artist: artist.to_owned(),
                track,
                year,
                cover: (year == 1977).then(|| cover(1, 300).into()),
                ..TrackSpec::new(u64::from(year) + u64::from(track), 2_000)
            };
            let path = home.path(&format!("Music/{album}/{track}.mp3"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, audio_file(AudioFormat::Mp3, &spec)).unwrap();
        }
    }
    let scanned = home.run("etui media scan Music -q --threads 1");
    assert_eq!(scanned, (String::new(), Some(0)));
    home
}

#[test]
fn a_playlist_in_an_order_of_ones_own() {
    let home = home_with_library();
    session!(home, [
        "etui media playlist list",
        "etui media playlist new Morning",
        "etui media playlist show Morning",
        "etui media tracks | cut -c 1-14",
        "etui media playlist add Morning 3 1 3; etui media playlist add Morning --filter müller --at 2",
        "etui media playlist show Morning",
        "etui media playlist move Morning 5 1",
        "etui media playlist move Morning 2-3 4",
        "etui media playlist remove Morning 1 5",
        "etui media playlist show Morning",
        "etui media playlist add Morning 5 99",
        "etui media playlist remove Morning 2 4",
        "etui media playlist remove Morning 0",
        "etui media playlist show Evening",
        "etui media playlist rename Morning Evening",
        "mv Music/Low Music/Bowie; rm Music/Lieder/2.mp3; etui media scan -q",
        "etui media playlist show Evening",
        "etui media playlist delete Evening",
        "etui media playlist delete Evening --yes; etui media playlist list",
    ], @r#"
    $ etui media playlist list
    There are no playlists yet; make one: etui media playlist new NAME, or import FILE
    $ etui media playlist new Morning
    Made "Morning".
    $ etui media playlist show Morning
    "Morning" has no entries.
    $ etui media tracks | cut -c 1-14
    #  Title     A
    3  Low 1     D
    4  Low 2     D
    1  Lieder 1  J
    2  Lieder 2  J
    $ etui media playlist add Morning 3 1 3; etui media playlist add Morning --filter müller --at 2
    Added 3 tracks.
    Added 2 tracks.
    $ etui media playlist show Morning
    Place  #  Title     Artist         Album   Length  State
        1  3  Low 1     David Bowie    Low     0:02
        2  1  Lieder 1  Jürgen Müller  Lieder  0:02
        3  2  Lieder 2  Jürgen Müller  Lieder  0:02
        4  1  Lieder 1  Jürgen Müller  Lieder  0:02
        5  3  Low 1     David Bowie    Low     0:02
    $ etui media playlist move Morning 5 1
    Moved.
    $ etui media playlist move Morning 2-3 4
    Moved.
    $ etui media playlist remove Morning 1 5
    Removed 2 entries.
    $ etui media playlist show Morning
    Place  #  Title     Artist         Album   Length  State
        1  2  Lieder 2  Jürgen Müller  Lieder  0:02
        2  1  Lieder 1  Jürgen Müller  Lieder  0:02
        3  3  Low 1     David Bowie    Low     0:02
    $ etui media playlist add Morning 5 99
    error: no record has the number 99
    [exit 4]
    $ etui media playlist remove Morning 2 4
    error: the playlist "Morning" has no entry 4; it has 3
    [exit 4]
    $ etui media playlist remove Morning 0
    error: invalid value '0' for '<PLACE>...': write a place from 1, or a range such as 7-9

    For more information, try '--help'.
    [exit 2]
    $ etui media playlist show Evening
    error: there is no playlist named "Evening"
    [exit 4]
    $ etui media playlist rename Morning Evening
    It is "Evening" now.
    $ mv Music/Low Music/Bowie; rm Music/Lieder/2.mp3; etui media scan -q
    $ etui media playlist show Evening
    Place  #  Title     Artist         Album   Length  State
        1     Lieder 2  Jürgen Müller  Lieder  0:02    missing
        2  1  Lieder 1  Jürgen Müller  Lieder  0:02
        3  3  Low 1     David Bowie    Low     0:02
    1 entry is missing: found again when a scan finds the file
    $ etui media playlist delete Evening
    error: "Evening" has 3 entries; add --yes to delete it for good, or keep a copy first: etui media playlist export Evening -o FILE
    [exit 2]
    $ etui media playlist delete Evening --yes; etui media playlist list
    Deleted "Evening".
    There are no playlists yet; make one: etui media playlist new NAME, or import FILE
    "#);
}

#[test]
fn a_saved_filter_follows_the_library() {
    let home = home_with_library();
    session!(home, [
        "etui media playlist new Best --filter 'rating:>=4'",
        "etui media playlist new Bad --filter 'rating:many'",
        "etui media playlist new Best",
        "etui media playlist show Best",
        "etui media rate 3 5; etui media playlist show Best",
        "etui media playlist add Best 1",
        "etui media playlist list",
        "etui --json media playlist list",
        "etui --json media playlist show Best | sed 's/\"uid\":\"[^\"]*\"/UID/'",
    ], @r#"
    $ etui media playlist new Best --filter 'rating:>=4'
    Made "Best".
    $ etui media playlist new Bad --filter 'rating:many'
    error: in the filter, at character 8: "many" is no number; write 4, >4, <=4, 4..9 (a length also as 3:20)
    [exit 2]
    $ etui media playlist new Best
    error: a playlist named "Best" exists already; choose another name, or delete it first
    [exit 1]
    $ etui media playlist show Best
    "Best" has no entries.
    $ etui media rate 3 5; etui media playlist show Best
    Rated 5.
    Place  #  Title  Artist       Album  Length  State
        1  3  Low 1  David Bowie  Low    0:02
    $ etui media playlist add Best 1
    error: the playlist "Best" is a saved filter: its tracks are those that match
    [exit 2]
    $ etui media playlist list
    Name  Entries  Filter
    Best  1        rating:>=4
    $ etui --json media playlist list
    {"name":"Best","entries":1,"filter":"rating:>=4"}
    $ etui --json media playlist show Best | sed 's/"uid":"[^"]*"/UID/'
    {"place":1,"id":3,UID,"title":"Low 1","artist":"David Bowie","album":"Low","length":2,"state":"here","location":"~/Music/Low/1.mp3"}
    "#);
}

#[test]
fn playlist_files_come_and_go() {
    let home = home_with_library();
    let m3u = "\u{feff}#EXTM3U\r\n#PLAYLIST:Old days\r\n#EXTINF:2,David Bowie - Low 1\r\n\
               D:\\Musik\\Low\\1.MP3\r\n#EXTINF:-1,Radio\r\nhttp://radio.example/x\r\n\
               Lieder/2.mp3\r\ngone/away.mp3\r\n";
    std::fs::write(home.path("Music/old.m3u8"), m3u).unwrap();
    session!(home, [
        "etui media playlist import Music/old.m3u8",
        "etui media playlist show 'Old days'",
        "etui media playlist import Music/old.m3u8",
        "etui --json media playlist import Music/old.m3u8 --replace",
        "etui media playlist export 'Old days' -o Music/new.m3u8; cat Music/new.m3u8",
        "etui media playlist export 'Old days' -o Music/new.m3u8",
        "etui media playlist export 'Old days' -o new.xspf; cat new.xspf",
        "etui media playlist export 'Old days' --format xspf | grep -c file:///",
        "etui media playlist import new.xspf --name Again; etui media playlist export Again -o Music/again.m3u8",
        "diff Music/new.m3u8 Music/again.m3u8",
        "etui media playlist export Again --absolute -o Music/absolute.m3u8; tail -1 Music/absolute.m3u8",
        "etui media playlist export Again -o no/such/folder.m3u8",
        "etui media playlist export Again -o x.pls",
        "etui media playlist import Music/Low/1.mp3",
        "etui media playlist import none.m3u8",
        "printf '<playlist><trackList><track><title>Low 2</title><creator>David Bowie</creator></track><x' > b.xspf",
        "etui media playlist import b.xspf; ls -A . | grep part",
    ], @r#"
    $ etui media playlist import Music/old.m3u8
    line 8: not in the library: ~/Music/gone/away.mp3
    "Old days": 2 tracks, 1 stream, 1 entry not in the library: kept, and found when a scan finds the file
    $ etui media playlist show 'Old days'
    Place  #  Title     Artist         Album   Length  State
        1  3  Low 1     David Bowie    Low     0:02
        2     Radio                                    stream
        3  2  Lieder 2  Jürgen Müller  Lieder  0:02
        4     away.mp3                                 missing
    1 entry is missing: found again when a scan finds the file
    $ etui media playlist import Music/old.m3u8
    error: a playlist named "Old days" exists already; choose another name with --name, or --replace it
    [exit 1]
    $ etui --json media playlist import Music/old.m3u8 --replace
    {"name":"Old days","entries":4,"tracks":2,"streams":1,"unmatched":[{"artist":"","line":8,"location":"~/Music/gone/away.mp3","title":"away.mp3"}]}
    $ etui media playlist export 'Old days' -o Music/new.m3u8; cat Music/new.m3u8
    Music/new.m3u8: 4 entries
    #EXTM3U
    #EXTENC:UTF-8
    #PLAYLIST:Old days
    #EXTINF:2,David Bowie - Low 1
    #EXTALB:Low
    Low/1.mp3
    #EXTINF:-1,Radio
    http://radio.example/x
    #EXTINF:2,Jürgen Müller - Lieder 2
    #EXTALB:Lieder
    Lieder/2.mp3
    #EXTINF:-1,away.mp3
    gone/away.mp3
    $ etui media playlist export 'Old days' -o Music/new.m3u8
    error: Music/new.m3u8: already exists; choose another name, or replace it with --force
    [exit 1]
    $ etui media playlist export 'Old days' -o new.xspf; cat new.xspf
    new.xspf: 4 entries
    <?xml version="1.0" encoding="UTF-8"?>
    <playlist version="1" xmlns="http://xspf.org/ns/0/">
      <title>Old days</title>
      <trackList>
        <track>
          <location>Music/Low/1.mp3</location>
          <title>Low 1</title>
          <creator>David Bowie</creator>
          <album>Low</album>
          <duration>2000</duration>
        </track>
        <track>
          <location>http://radio.example/x</location>
          <title>Radio</title>
        </track>
        <track>
          <location>Music/Lieder/2.mp3</location>
          <title>Lieder 2</title>
          <creator>Jürgen Müller</creator>
          <album>Lieder</album>
          <duration>2000</duration>
        </track>
        <track>
          <location>Music/gone/away.mp3</location>
          <title>away.mp3</title>
        </track>
      </trackList>
    </playlist>
    $ etui media playlist export 'Old days' --format xspf | grep -c file:///
    3
    $ etui media playlist import new.xspf --name Again; etui media playlist export Again -o Music/again.m3u8
    line 23: not in the library: ~/Music/gone/away.mp3
    "Again": 2 tracks, 1 stream, 1 entry not in the library: kept, and found when a scan finds the file
    Music/again.m3u8: 4 entries
    $ diff Music/new.m3u8 Music/again.m3u8
    3c3
    < #PLAYLIST:Old days
    ---
    > #PLAYLIST:Again
    [exit 1]
    $ etui media playlist export Again --absolute -o Music/absolute.m3u8; tail -1 Music/absolute.m3u8
    Music/absolute.m3u8: 4 entries
    ~/Music/gone/away.mp3
    $ etui media playlist export Again -o no/such/folder.m3u8
    error: no/such/folder.m3u8: No such file or directory
    [exit 1]
    $ etui media playlist export Again -o x.pls
    error: PLS is only read; write .m3u8 or .xspf
    [exit 2]
    $ etui media playlist import Music/Low/1.mp3
    error: Music/Low/1.mp3: it is no playlist: M3U, M3U8, PLS and XSPF are text
    [exit 3]
    $ etui media playlist import none.m3u8
    error: none.m3u8: No such file or directory
    [exit 1]
    $ printf '<playlist><trackList><track><title>Low 2</title><creator>David Bowie</creator></track><x' > b.xspf
    $ etui media playlist import b.xspf; ls -A . | grep part
    b.xspf: line 1: syntax error: tag not closed: `>` not found before end of input; the rest was not read
    "b": 1 track
    [exit 1]
    "#);
}

#[test]
fn plays_are_listed_with_their_times() {
    let home = home_with_library();
    session!(home, [
        "etui media history",
        "etui media play 3 --at '2024-05-03 20:15'; etui media play 1 --at 2024-05-04T09:00",
        "etui media play 3 --at '2024-05-04 09:00:30'",
        "etui media play 3 --at 2124-05-04",
        "etui media play 3 --at sometime 2>&1 | head -1",
        "etui media play 5",
        "etui media history",
        "etui media history --limit 1",
        "etui media history 3",
        "etui --json media history 3 --limit 1",
        "etui media undo 3; etui media history 3",
        "etui media show 3 | grep user.plays",
    ], @r#"
    $ etui media history
    No play was counted yet.
    $ etui media play 3 --at '2024-05-03 20:15'; etui media play 1 --at 2024-05-04T09:00
    Counted.
    Counted.
    $ etui media play 3 --at '2024-05-04 09:00:30'
    Counted.
    $ etui media play 3 --at 2124-05-04
    error: --at 2124-05-04: a play was between 1970 and now
    [exit 2]
    $ etui media play 3 --at sometime 2>&1 | head -1
    error: --at sometime: "sometime" is not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, +3d, or a day and a time: "tomorrow 9:00"
    $ etui media play 5
    error: number 5 is no track; only tracks are played
    [exit 2]
    $ etui media history
    #  Title     Artist         Album   Played
    3  Low 1     David Bowie    Low     2024-05-04 09:00
    1  Lieder 1  Jürgen Müller  Lieder  2024-05-04 09:00
    3  Low 1     David Bowie    Low     2024-05-03 20:15
    $ etui media history --limit 1
    #  Title  Artist       Album  Played
    3  Low 1  David Bowie  Low    2024-05-04 09:00
    $ etui media history 3
    Played
    2024-05-04 09:00
    2024-05-03 20:15
    $ etui --json media history 3 --limit 1
    {"at":"2024-05-04T09:00:30+02:00"}
    $ etui media undo 3; etui media history 3
    Undone.
    Played
    2024-05-03 20:15
    $ etui media show 3 | grep user.plays
    user.plays   1
    "#);
}

#[test]
fn thumbnails_go_to_the_desktop() {
    let home = home_with_library();
    session!(home, [
        "etui media cover 3 --desktop",
        "etui media cover 3 --desktop",
        "cd .cache/thumbnails; for f in */*.png; do dirname $f; head -c 4 $f | od -An -c; done; stat -c %a . normal normal/*",
        "XDG_CACHE_HOME=$HOME/c etui media cover 3 --desktop; ls c/thumbnails",
        "XDG_CACHE_HOME=relative etui media cover 3 --desktop; test -e relative || echo none",
        "etui media cover 1 --desktop; ls .cache/thumbnails",
        "etui media cover 5 --desktop",
        "etui media cover 3 --desktop -o x.jpg 2>&1 | head -1",
    ], @r#"
    $ etui media cover 3 --desktop
    Written.
    $ etui media cover 3 --desktop
    It is there.
    $ cd .cache/thumbnails; for f in */*.png; do dirname $f; head -c 4 $f | od -An -c; done; stat -c %a . normal normal/*
    large
     211   P   N   G
    normal
     211   P   N   G
    700
    700
    600
    $ XDG_CACHE_HOME=$HOME/c etui media cover 3 --desktop; ls c/thumbnails
    Written.
    large
    normal
    $ XDG_CACHE_HOME=relative etui media cover 3 --desktop; test -e relative || echo none
    It is there.
    none
    $ etui media cover 1 --desktop; ls .cache/thumbnails
    error: number 1 has no cover; its file is marked so for this program
    fail
    large
    normal
    $ etui media cover 5 --desktop
    error: number 5 has no file that is there
    [exit 4]
    $ etui media cover 3 --desktop -o x.jpg 2>&1 | head -1
    error: the argument '--desktop' cannot be used with '--output <FILE>'
    "#);
}
