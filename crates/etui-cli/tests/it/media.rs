//! `etui media`: scanning a folder and finding what is in it.

use etui_testkit::media::{AudioFormat, TrackSpec, audio_file, cover};

use crate::harness::{TestHome, session};

/// A home with a folder of two albums.
fn home_with_music() -> TestHome {
    let home = TestHome::new();
    let albums = [
        ("Low", "David Bowie", 1977),
        ("Lieder", "Jürgen Müller", 1999),
    ];
    let formats = [AudioFormat::Mp3, AudioFormat::Flac];
    for ((album, artist, year), format) in albums.into_iter().zip(formats) {
        for track in 1..=2 {
            let spec = TrackSpec {
                title: format!("{album} {track}"),
                artists: vec![artist.to_owned()],
                album: album.to_owned(),
                album_artist: artist.to_owned(),
                track,
                year,
                genres: vec!["Rock".to_owned()],
                cover: Some(cover(u64::from(year), 200).into()),
                ..TrackSpec::new(u64::from(year) + u64::from(track), 2_000)
            };
            let name = format!("Music/{album}/{track}.{}", format.extension());
            let path = home.path(&name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, audio_file(format, &spec)).unwrap();
        }
    }
    home
}

#[test]
fn a_newcomer_scans_and_finds() {
    let home = home_with_music();
    session!(home, [
        "etui media albums",
        "etui media scan",
        "etui media scan Music --threads 1",
        "etui media scan",
        "etui media albums",
        "etui media find mull",
        "etui media tracks year:1970..1979 --count",
        "etui media tracks year:197x",
        "etui media find nothing here",
        "etui media cover 1 -o cover.jpg; head -c 3 cover.jpg | od -An -tx1",
        "etui media cover 99",
        "etui media rate 1 6 2>&1 | head -1",
        "etui media folders | sed 's,/.*/,,'",
        "echo no music > Music/bad.mp3; etui media scan",
        "etui media problems | sed 's,/.*/,,'",
    ], @r#"
    $ etui media albums
    error: there is no media library yet; make one: etui media scan ~/Music
    [exit 4]
    $ etui media scan
    error: the library has no folders yet; name one: etui media scan ~/Music
    [exit 2]
    $ etui media scan Music --threads 1
    4 files: 4 new
    $ etui media scan
    4 files: nothing changed
    $ etui media albums
    #  Album   Artist         Year  Tracks  Length
    6  Low     David Bowie    1977  2       0:04
    5  Lieder  Jürgen Müller  1999  2       0:04
    $ etui media find mull
    1 artist:
    #  Artist         Albums  Tracks
    7  Jürgen Müller  1       2

    1 album:
    #  Album   Artist         Year  Tracks  Length
    5  Lieder  Jürgen Müller  1999  2       0:04

    2 tracks:
    #  Title     Artist         Album   Track  Length  Year
    1  Lieder 1  Jürgen Müller  Lieder  1      0:02    1999
    2  Lieder 2  Jürgen Müller  Lieder  2      0:02    1999

    $ etui media tracks year:1970..1979 --count
    2
    $ etui media tracks year:197x
    error: in the filter, at character 6: "197x" is no number; write 4, >4, <=4, 4..9 (a length also as 3:20)
    [exit 2]
    $ etui media find nothing here
    error: nothing matches: nothing here
    [exit 4]
    $ etui media cover 1 -o cover.jpg; head -c 3 cover.jpg | od -An -tx1
    cover.jpg: 5.8 kB
     ff d8 ff
    $ etui media cover 99
    error: no record has the number 99
    [exit 4]
    $ etui media rate 1 6 2>&1 | head -1
    error: invalid value '6' for '<STARS>': 6 is not in 0..=5
    $ etui media folders | sed 's,/.*/,,'
    Folder                 State
    Music
    $ echo no music > Music/bad.mp3; etui media scan
    5 files: 1 refused
    1 file could not be read, or not in full: etui media problems
    $ etui media problems | sed 's,/.*/,,'
    File                           Problem
    bad.mp3  not a known format: the content does not match the name
    "#);
}

#[test]
fn a_moved_album_keeps_its_ratings() {
    let home = home_with_music();
    session!(home, [
        "etui media scan Music -q --threads 1",
        "etui media rate 3 5; etui media play 3; etui media favourite 3",
        "mv Music/Low Music/Bowie; etui media scan",
        "etui media show 3 | grep -v 'file.key\\|user.played\\|^/'",
        "etui media tracks rating:5",
        "etui media undo 3; etui media show 3 | grep -c favourite",
        "mv Music away; etui media scan 2>&1 | sed 's,/.*/,,'; etui media tracks --count",
        "mv away Music; rm Music/Bowie/1.mp3; etui media scan; etui media tracks --count",
        "etui check --store .local/share/etui/media.etui",
    ], @r#"
    $ etui media scan Music -q --threads 1
    $ etui media rate 3 5; etui media play 3; etui media favourite 3
    Rated 5.
    Counted.
    A favourite now.
    $ mv Music/Low Music/Bowie; etui media scan
    4 files: 1 folder moved
    $ etui media show 3 | grep -v 'file.key\|user.played\|^/'
    TITLE           Low 1
    ARTIST          David Bowie
    ALBUM           Low
    ALBUMARTIST     David Bowie
    GENRE           Rock
    TRACKNUMBER     1
    DATE            1977
    file.name       1.mp3
    file.format     mp3
    file.length     0:02
    file.album      39d606102e4d7b6f
    file.cover      68c9cbe3e90f4fd1
    user.rating     5
    user.plays      1
    user.favourite  1
    $ etui media tracks rating:5
    #  Title  Artist       Album  Track  Length  Year
    3  Low 1  David Bowie  Low    1      0:02    1977
    $ etui media undo 3; etui media show 3 | grep -c favourite
    Undone.
    0
    [exit 1]
    $ mv Music away; etui media scan 2>&1 | sed 's,/.*/,,'; etui media tracks --count
    0 files: nothing changed
    not there, its records stay: Music
    4
    $ mv away Music; rm Music/Bowie/1.mp3; etui media scan; etui media tracks --count
    3 files: 1 lost
    3
    $ etui check --store .local/share/etui/media.etui
    The store is intact: 0 contacts, 8 media records, 1 in the trash.
    "#);
}

#[test]
fn json_has_a_line_for_each() {
    let home = home_with_music();
    session!(home, [
        "etui --json media scan Music --threads 1",
        "etui --json media albums | sed 's/\"[0-9a-f]\\{16\\}\"/ID/g'",
        "etui --json media find low | sed 's/\"[0-9a-f]\\{16\\}\"/ID/g; s/etui-[0-9a-f]*/UID/'",
        "etui --json media stats | sed 's/\"\\(bytes\\|store\\|thumbnails\\)\":[0-9]*/\"\\1\":N/g'",
        "etui --json media problems",
        "etui --json media rate 1 4",
    ], @r#"
    $ etui --json media scan Music --threads 1
    {"files":4,"added":4,"changed":0,"moved":0,"moved_folders":0,"lost":0,"covers":2,"away":[],"unreadable":[],"problems":[],"other_formats":{},"excluded_folders":0,"stopped":false}
    $ etui --json media albums | sed 's/"[0-9a-f]\{16\}"/ID/g'
    {"artist":"David Bowie","cover":ID,"id":6,"length":4,"members":2,"name":"Low","uid":ID,"year":1977}
    {"artist":"Jürgen Müller","cover":ID,"id":5,"length":4,"members":2,"name":"Lieder","uid":ID,"year":1999}
    $ etui --json media find low | sed 's/"[0-9a-f]\{16\}"/ID/g; s/etui-[0-9a-f]*/UID/'
    {"artist":"David Bowie","cover":ID,"id":6,"kind":"album","length":4,"members":2,"name":"Low","uid":ID,"year":1977}
    {"album":"Low","artist":"David Bowie","cover":ID,"id":3,"kind":"track","length":2,"title":"Low 1","track":"1","uid":"UID","year":1977}
    {"album":"Low","artist":"David Bowie","cover":ID,"id":4,"kind":"track","length":2,"title":"Low 2","track":"2","uid":"UID","year":1977}
    $ etui --json media stats | sed 's/"\(bytes\|store\|thumbnails\)":[0-9]*/"\1":N/g'
    {"albums":2,"artists":2,"bytes":N,"covers":2,"days":0,"files":4,"genres":1,"music":4,"pictures":0,"problems":0,"store":N,"thumbnails":N}
    $ etui --json media problems
    $ etui --json media rate 1 4
    "#);
}

#[test]
fn a_collection_is_generated() {
    let home = TestHome::new();
    session!(home, [
        "etui generate --media made --albums 2 --pictures 3 --seed 5",
        "etui media scan made",
        "etui media stats | head -6",
        "etui generate --media made",
    ], @"
    $ etui generate --media made --albums 2 --pictures 3 --seed 5
    Wrote 24 tracks and 3 pictures to made
    $ etui media scan made
    28 files: 27 new
    $ etui media stats | head -6
    Library      Count
    Music           24
    Albums           2
    Artists          6
    Genres           2
    Pictures         3
    $ etui generate --media made
    error: made: File exists
    [exit 1]
    ");
}

#[test]
fn changes_are_followed_until_a_signal() {
    let home = home_with_music();
    let (text, _) = home.run(
        "etui media scan --watch Music > out.txt 2> err.txt & \
         wait_until grep -q Watching err.txt; \
         cp -r Music/Low Music/Lower; \
         wait_until grep -q '2 new' out.txt; \
         rm -r Music/Lower; \
         wait_until grep -q '2 lost' out.txt; \
         kill -INT $!; wait $!; echo $?; cat out.txt",
    );
    assert_eq!(text, "0\n4 files: 4 new\n6 files: 2 new\n4 files: 2 lost\n");
}
