//! [`TrackSpec`], and the tags that lofty writes from it.

use std::io::Cursor;
use std::sync::Arc;

use lofty::TextEncoding;
use lofty::config::WriteOptions;
use lofty::id3::v2::{
    AttachedPictureFrame, ExtendedTextFrame, Frame, FrameId, Id3v2Tag, TextInformationFrame,
    TimestampFrame, UniqueFileIdentifierFrame,
};
use lofty::picture::{MimeType, Picture, PictureType};
use lofty::tag::items::Timestamp;
use lofty::tag::{ItemKey, ItemValue, Tag, TagExt, TagItem, TagType};

use super::AudioFormat;
use crate::rng::SplitMix64;

/// Sound and tags of an audio file. Empty text, zero and `None` write no tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrackSpec {
    /// Seed of the sound.
    pub seed: u64,
    /// Length in milliseconds, at most an hour.
    pub millis: u32,
    /// Title of the track.
    pub title: String,
    /// Artists, one value each.
    pub artists: Vec<String>,
    /// Title of the album.
    pub album: String,
    /// Artist of the album.
    pub album_artist: String,
    /// Number of the disc, from 1.
    pub disc: u32,
    /// Discs in the album.
    pub discs: u32,
    /// Number of the track on its disc, from 1.
    pub track: u32,
    /// Tracks on the disc.
    pub tracks: u32,
    /// Year of the recording.
    pub year: u16,
    /// Genres, one value each.
    pub genres: Vec<String>,
    /// True if the album is a compilation of several artists.
    pub compilation: bool,
    /// Identifiers in MusicBrainz.
    pub musicbrainz: Option<MusicBrainzIds>,
    /// Embedded front cover, a JPEG.
    pub cover: Option<Arc<[u8]>>,
    /// True if ID3 tags are version 2.3 instead of 2.4.
    pub id3v23: bool,
}

impl TrackSpec {
    /// Returns a spec of a sound without tags.
    pub fn new(seed: u64, millis: u32) -> Self {
        Self {
            seed,
            millis,
            ..Self::default()
        }
    }
}

/// MusicBrainz identifiers of a track: UUIDs in text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MusicBrainzIds {
    /// The recording; the same one may be on several releases.
    pub recording: String,
    /// The track on the release.
    pub track: String,
    /// The release: an edition of an album.
    pub release: String,
    /// The release group: the album.
    pub release_group: String,
}

/// Returns a random UUID (RFC 9562 §5.4) in text.
pub(super) fn uuid(rng: &mut SplitMix64) -> String {
    let (high, low) = (rng.next_u64(), rng.next_u64());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0xFFF,
        low >> 48 & 0x3FFF | 0x8000,
        low & 0xFFFF_FFFF_FFFF
    )
}

/// Returns `sound` with the tags of `spec`, or `None` if lofty cannot write them.
pub(super) fn tagged(format: AudioFormat, spec: &TrackSpec, sound: &[u8]) -> Option<Vec<u8>> {
    let mut file = Cursor::new(sound.to_vec());
    let options = WriteOptions::default().use_id3v23(spec.id3v23);
    match format {
        AudioFormat::Wav | AudioFormat::Aiff | AudioFormat::Mp3 => {
            let tag = id3_tag(spec);
            if tag.is_empty() {
                return None;
            }
            tag.save_to(&mut file, options).ok()?;
        }
        AudioFormat::Flac | AudioFormat::Opus => {
            generic_tag(TagType::VorbisComments, spec)
                .save_to(&mut file, options)
                .ok()?;
        }
        AudioFormat::M4a => {
            generic_tag(TagType::Mp4Ilst, spec)
                .save_to(&mut file, options)
                .ok()?;
        }
    }
    Some(file.into_inner())
}

fn generic_tag(kind: TagType, spec: &TrackSpec) -> Tag {
    let mut tag = Tag::new(kind);
    let mut text = |key, value: &str| {
        if !value.is_empty() {
            tag.push(TagItem::new(key, ItemValue::Text(value.to_owned())));
        }
    };
    text(ItemKey::TrackTitle, &spec.title);
    for artist in &spec.artists {
        text(ItemKey::TrackArtist, artist);
    }
    text(ItemKey::AlbumTitle, &spec.album);
    text(ItemKey::AlbumArtist, &spec.album_artist);
    if spec.year > 0 {
        text(ItemKey::RecordingDate, &format!("{:04}", spec.year));
    }
    for genre in &spec.genres {
        text(ItemKey::Genre, genre);
    }
    if spec.compilation {
        text(ItemKey::FlagCompilation, "1");
    }
    if let Some(ids) = &spec.musicbrainz {
        text(ItemKey::MusicBrainzRecordingId, &ids.recording);
        text(ItemKey::MusicBrainzTrackId, &ids.track);
        text(ItemKey::MusicBrainzReleaseId, &ids.release);
        text(ItemKey::MusicBrainzReleaseGroupId, &ids.release_group);
    }
    let numbers = [
        (ItemKey::TrackNumber, spec.track),
        (ItemKey::TrackTotal, spec.tracks),
        (ItemKey::DiscNumber, spec.disc),
        (ItemKey::DiscTotal, spec.discs),
    ];
    for (key, number) in numbers.into_iter().filter(|(_, number)| *number > 0) {
        text(key, &number.to_string());
    }
    if let Some(picture) = front_cover(spec) {
        tag.push_picture(picture);
    }
    tag
}

/// Returns the frames of an ID3v2 tag (id3.org, "ID3 tag version 2.4.0 - Native Frames").
///
/// A generic [`Tag`] is written in the order of a hash map, which differs between two runs.
fn id3_tag(spec: &TrackSpec) -> Id3v2Tag {
    let mut tag = Id3v2Tag::new();
    let mut text = |id: &'static str, value: String| {
        if !value.is_empty() {
            let id = FrameId::Valid(id.into());
            let frame = TextInformationFrame::new(id, TextEncoding::UTF8, value);
            tag.insert(Frame::Text(frame));
        }
    };
    text("TIT2", spec.title.clone());
    // Values are separated by NUL, in version 2.3 too, as taggers do.
    text("TPE1", spec.artists.join("\0"));
    text("TALB", spec.album.clone());
    text("TPE2", spec.album_artist.clone());
    text("TCON", spec.genres.join("\0"));
    text("TRCK", number_pair(spec.track, spec.tracks));
    text("TPOS", number_pair(spec.disc, spec.discs));
    if spec.compilation {
        text("TCMP", "1".to_owned());
    }
    if spec.year > 0 {
        let time = Timestamp {
            year: spec.year,
            ..Timestamp::default()
        };
        let id = FrameId::Valid("TDRC".into());
        let frame = TimestampFrame::new(id, TextEncoding::Latin1, time);
        tag.insert(Frame::Timestamp(frame));
    }
    if let Some(ids) = &spec.musicbrainz {
        let named = [
            ("MusicBrainz Release Track Id", &ids.track),
            ("MusicBrainz Album Id", &ids.release),
            ("MusicBrainz Release Group Id", &ids.release_group),
        ];
        for (name, id) in named.into_iter().filter(|(_, id)| !id.is_empty()) {
            let frame = ExtendedTextFrame::new(TextEncoding::Latin1, name, id.clone());
            tag.insert(Frame::UserText(frame));
        }
        if !ids.recording.is_empty() {
            let id = ids.recording.clone().into_bytes();
            let frame = UniqueFileIdentifierFrame::new("http://musicbrainz.org", id);
            tag.insert(Frame::UniqueFileIdentifier(frame));
        }
    }
    if let Some(picture) = front_cover(spec) {
        // An empty description in UTF-16, the other encoding of version 2.3, has no byte order mark.
        let frame = AttachedPictureFrame::new(TextEncoding::Latin1, picture);
        tag.insert(Frame::Picture(frame));
    }
    tag
}

fn number_pair(number: u32, total: u32) -> String {
    match (number, total) {
        (0, 0) => String::new(),
        (_, 0) => number.to_string(),
        _ => format!("{number}/{total}"),
    }
}

fn front_cover(spec: &TrackSpec) -> Option<Picture> {
    let cover = spec.cover.as_ref()?;
    let picture = Picture::unchecked(cover.to_vec())
        .pic_type(PictureType::CoverFront)
        .mime_type(MimeType::Jpeg);
    Some(picture.build())
}
