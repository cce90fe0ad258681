//! Albums of a collection: names, numbers and covers, before any file is written.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::picture::cover;
use super::tags::uuid;
use super::{AudioFormat, MusicBrainzIds, TrackSpec};
use crate::rng::SplitMix64;
use crate::text::{List, list};

/// Location of an album's cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoverPlacement {
    /// In every track.
    Embedded,
    /// In `cover.jpg` beside the tracks.
    Folder,
    /// In every track and in `cover.jpg`.
    Both,
    /// No cover.
    Missing,
}

pub(super) const TRACKS: u32 = 12;

const VARIOUS: &str = "Various Artists";

/// Formats of consecutive albums. The first 7 albums have all of them.
const FORMATS: [AudioFormat; 11] = [
    AudioFormat::Mp3,
    AudioFormat::Flac,
    AudioFormat::M4a,
    AudioFormat::Opus,
    AudioFormat::Wav,
    AudioFormat::Mp3,
    AudioFormat::Aiff,
    AudioFormat::Flac,
    AudioFormat::Mp3,
    AudioFormat::M4a,
    AudioFormat::Mp3,
];

/// Covers of consecutive albums. The length has no factor in common with that of [`FORMATS`].
const COVERS: [CoverPlacement; 9] = [
    CoverPlacement::Embedded,
    CoverPlacement::Folder,
    CoverPlacement::Embedded,
    CoverPlacement::Both,
    CoverPlacement::Missing,
    CoverPlacement::Embedded,
    CoverPlacement::Embedded,
    CoverPlacement::Both,
    CoverPlacement::Embedded,
];

/// Names of one script.
struct Script {
    artists: List,
    first: List,
    second: List,
}

/// Scripts of consecutive albums; Latin is every second one.
const SCRIPTS: [&str; 8] = [
    "cyrillic",
    "greek",
    "japanese",
    "chinese",
    "korean",
    "arabic",
    "hebrew",
    "devanagari",
];

static LATIN: LazyLock<Script> = LazyLock::new(|| Script::new("latin"));
static OTHERS: LazyLock<[Script; 8]> = LazyLock::new(|| SCRIPTS.map(Script::new));
static GENRES: LazyLock<List> = LazyLock::new(|| list(WORDS, "genres"));

pub(super) const WORDS: &str = include_str!("words.txt");

impl Script {
    fn new(name: &str) -> Self {
        Self {
            artists: list(WORDS, &format!("{name}.artists")),
            first: list(WORDS, &format!("{name}.first")),
            second: list(WORDS, &format!("{name}.second")),
        }
    }

    fn of_album(number: u32) -> &'static Self {
        if number.is_multiple_of(2) {
            &LATIN
        } else {
            &OTHERS[number as usize / 2 % OTHERS.len()]
        }
    }

    fn title(&self, rng: &mut SplitMix64) -> String {
        format!("{} {}", rng.pick(&self.first), rng.pick(&self.second))
    }
}

/// One album, which is a folder, with specs for its tracks.
pub(super) struct AlbumPlan {
    pub folder: PathBuf,
    pub format: AudioFormat,
    pub placement: CoverPlacement,
    pub cover: Option<Arc<[u8]>>,
    /// Paths relative to the collection, in order.
    pub tracks: Vec<(PathBuf, TrackSpec)>,
}

impl AlbumPlan {
    /// Returns the plan of an album. Its folder is added to `used_folders` and was not there before.
    pub(super) fn new(seed: u64, number: u32, used_folders: &mut HashSet<PathBuf>) -> Self {
        let mut rng = SplitMix64::stream(seed, number.into());
        let script = Script::of_album(number);
        let compilation = number % 9 == 6;
        let double = number % 10 == 3;
        let artist = if compilation {
            VARIOUS
        } else {
            rng.pick(&script.artists)
        };
        let mut album = script.title(&mut rng);
        let mut folder = folder(artist, &album);
        if !used_folders.insert(folder.clone()) {
            album = format!("{album} {}", number + 1);
            folder = self::folder(artist, &album);
            used_folders.insert(folder.clone());
        }
        let format = FORMATS[number as usize % FORMATS.len()];
        let placement = COVERS[number as usize % COVERS.len()];
        let side = 300 + rng.below(401) as u16;
        let cover: Option<Arc<[u8]>> = match placement {
            CoverPlacement::Missing => None,
            _ => Some(cover(rng.next_u64(), side).into()),
        };
        let mut genres = vec![rng.pick(&GENRES).to_owned()];
        if rng.chance(400) {
            let second = rng.pick(&GENRES).to_owned();
            if !genres.contains(&second) {
                genres.push(second);
            }
        }
        let ids = (number % 5 < 3).then(|| MusicBrainzIds {
            release: uuid(&mut rng),
            release_group: uuid(&mut rng),
            ..MusicBrainzIds::default()
        });
        let discs = if double { 2 } else { 1 };
        let base = TrackSpec {
            album,
            album_artist: artist.to_owned(),
            discs,
            tracks: TRACKS / discs,
            year: 1960 + rng.below(65) as u16,
            genres,
            compilation,
            musicbrainz: ids,
            id3v23: rng.chance(400),
            cover: match placement {
                CoverPlacement::Embedded | CoverPlacement::Both => cover.clone(),
                CoverPlacement::Folder | CoverPlacement::Missing => None,
            },
            ..TrackSpec::default()
        };
        let tracks = (0..TRACKS).map(|index| {
            let spec = track(&base, index, script, &mut rng);
            let mut path = folder.clone();
            if double {
                path.push(format!("CD {}", spec.disc));
            }
            let name = format!("{:02} {}", spec.track, spec.title);
            path.push(file_name(&name) + "." + format.extension());
            (path, spec)
        });
        Self {
            tracks: tracks.collect(),
            folder,
            format,
            placement,
            cover,
        }
    }
}

/// Returns the spec of the track number `index` of an album, which lasts 1 to 4 seconds.
fn track(base: &TrackSpec, index: u32, script: &Script, rng: &mut SplitMix64) -> TrackSpec {
    let mut artists = vec![if base.compilation {
        rng.pick(&script.artists).to_owned()
    } else {
        base.album_artist.clone()
    }];
    if rng.chance(100) {
        let guest = rng.pick(&LATIN.artists).to_owned();
        if !artists.contains(&guest) {
            artists.push(guest);
        }
    }
    let musicbrainz = base.musicbrainz.clone().map(|ids| MusicBrainzIds {
        recording: uuid(rng),
        track: uuid(rng),
        ..ids
    });
    TrackSpec {
        seed: rng.next_u64(),
        millis: 1_000 + rng.below(3_001),
        title: script.title(rng),
        artists,
        disc: index / base.tracks + 1,
        track: index % base.tracks + 1,
        musicbrainz,
        ..base.clone()
    }
}

fn folder(artist: &str, album: &str) -> PathBuf {
    Path::new(&file_name(artist)).join(file_name(album))
}

/// Returns `name` with slashes replaced.
fn file_name(name: &str) -> String {
    name.replace('/', "_")
}
