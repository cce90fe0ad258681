//! The music: tracks with their metadata and album art, the same in every run.

use etui_testkit::images::base64;
use etui_testkit::rng::SplitMix64;

/// Tracks in a batch.
pub(super) const BATCH: u64 = 60;

const SEED: u64 = 0x6d74_7020_7379_6e63;
const WORDS: [&str; 24] = [
    "Autumn", "Blue", "Circle", "Distant", "Echo", "Falling", "Garden", "Harbour", "Island",
    "June", "Kite", "Lantern", "Morning", "Night", "Ocean", "Paper", "Quiet", "River", "Silver",
    "Tide", "Under", "Velvet", "Winter", "Yellow",
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
    /// are 1.7 to 2.5 MB.
    pub fn picture(&self) -> Picture {
        let mut rng = SplitMix64::stream(SEED ^ 1, self.id);
        let length = 28_000 + rng.below(13_000) as usize;
        let mut bytes = Vec::with_capacity(length + 8);
        // So that it looks like a JPEG at its beginning.
        bytes.extend_from_slice(&[0xff, 0xd8, 0xff, 0xe0]);
        while bytes.len() < length {
            bytes.extend_from_slice(&rng.next_u64().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }

    /// Returns the track as a card.
    pub fn card(&self, revision: u32, picture: Option<&[u8]>) -> String {
        let photo = picture.map_or_else(String::new, |bytes| {
            format!("PHOTO;ENCODING=b;TYPE=JPEG:{}\r\n", base64(bytes))
        });
        format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{}\r\nN:;{};;;\r\nFN:{}\r\nORG:{}\r\nTITLE:{}\r\n\
             NOTE:{}\r\nREV:2010-01-0{revision}T00:00:00Z\r\n{photo}END:VCARD\r\n",
            track_uid(self.id),
            self.title,
            self.title,
            self.artist,
            self.album,
            self.path
        )
    }
}

/// A track's UID as a card.
pub(super) fn track_uid(id: u64) -> String {
    format!("track-{id}")
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
