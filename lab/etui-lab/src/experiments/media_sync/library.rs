//! The music: tracks with their metadata and album art, the same in every run.

use etui_testkit::rng::SplitMix64;

/// Tracks in a batch.
pub(super) const BATCH: u64 = 60;

const SEED: u64 = 0x6d74_7020_7379_6e63;
const WORDS: [&str; 24] = [
    "Autumn", "Blue", "Circle", "Distant", "Echo", "Falling", "Garden", "Harbour", "Island",
    "June", "Kite", "Lantern", "Morning", "Night", "Ocean", "Paper", "Quiet", "River", "Silver",
    "Tide", "Under", "Velvet", "Winter", "Yellow",
];

/// Start of image, and a baseline frame of 128 lines of 128 samples in three components (ITU-T T.81,
/// B.2.2).
const JPEG_HEADERS: &[u8] = &[
    0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, 128, 0, 128, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1,
];

/// Album art.
pub(super) type Picture = Vec<u8>;

/// A track's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Track {
    pub id: u64,
    pub title: String,
    pub artist: String,
    pub album: String,
    pub path: String,
}

impl Track {
    /// The track with a number.
    pub fn number(id: u64) -> Self {
        let mut rng = SplitMix64::stream(SEED, id);
        let mut words = || format!("{} {}", rng.pick(&WORDS), rng.pick(&WORDS));
        let (title, artist, album) = (words(), words(), words());
        let title = format!("{title} {}", rng.below(10_000));
        let path = format!("Music/{artist}/{album}/{:02} {title}.mp3", rng.below(20));
        Self {
            id,
            title,
            artist,
            album,
            path,
        }
    }

    /// Its album art: 28 to 41 kB that cannot be compressed, so that 60 with their metadata
    /// are 1.7 to 2.5 MB. It has the headers of a JPEG of 128x128 pixels.
    pub fn picture(&self) -> Picture {
        let mut rng = SplitMix64::stream(SEED ^ 1, self.id);
        let length = 28_000 + rng.below(13_000) as usize;
        let mut bytes = Vec::with_capacity(length + 8);
        bytes.extend_from_slice(JPEG_HEADERS);
        while bytes.len() < length {
            bytes.extend_from_slice(&rng.next_u64().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_the_size_of_the_study() {
        for batch in 0..20 {
            let bytes: usize = (batch * BATCH..(batch + 1) * BATCH)
                .map(|id| Track::number(id).picture().len() + 100)
                .sum();
            assert!((1_700_000..2_500_000).contains(&bytes), "{bytes}");
        }
        assert_eq!(Track::number(7), Track::number(7));
        assert_ne!(Track::number(7).picture(), Track::number(8).picture());
    }
}
