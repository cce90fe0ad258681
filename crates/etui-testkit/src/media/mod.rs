//! Playable media files made from a seed: [`audio_file`], [`cover`], [`photo`] and whole
//! [collections](MediaCollection).
//!
//! Every byte is written in this process, so equal arguments give equal files. No sound is
//! compressed: WAV, AIFF and FLAC have tones, MP3, Opus and M4A are silent and differ in bytes
//! that decoders skip.
//!
//! ```
//! use etui_testkit::media::{AudioFormat, TrackSpec, audio_file};
//!
//! let spec = TrackSpec {
//!     title: "Prelude".to_owned(),
//!     artists: vec!["Ana".to_owned(), "Łukasz".to_owned()],
//!     ..TrackSpec::new(7, 1500)
//! };
//! let bytes = audio_file(AudioFormat::Flac, &spec);
//! assert!(bytes.starts_with(b"fLaC"));
//! ```

mod collection;
mod exif;
mod flac;
mod hostile;
mod mp4;
mod mpeg;
mod opus;
mod pcm;
mod photos;
mod picture;
mod plan;
mod sound;
mod tags;
#[cfg(test)]
mod tests;

pub use self::collection::{MediaCollection, MediaTrack};
pub use self::exif::{GpsPlace, PhotoSpec, PhotoTime, photo};
pub use self::hostile::{HostileEntry, write_hostile};
pub use self::photos::{PhotoFile, write_photos};
pub use self::picture::cover;
pub use self::plan::CoverPlacement;
pub use self::tags::{MusicBrainzIds, TrackSpec};

/// An audio format, with its container and codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AudioFormat {
    /// RIFF WAVE with integer PCM; ID3v2 tags.
    Wav,
    /// AIFF with integer PCM; ID3v2 tags.
    Aiff,
    /// MPEG-1 Layer III; ID3v2 tags.
    Mp3,
    /// FLAC; Vorbis comments.
    Flac,
    /// Opus in Ogg; Vorbis comments.
    Opus,
    /// AAC in MP4; iTunes metadata.
    M4a,
}

impl AudioFormat {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::Wav,
        Self::Aiff,
        Self::Mp3,
        Self::Flac,
        Self::Opus,
        Self::M4a,
    ];

    /// Returns the file name extension, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Wav => "wav",
            Self::Aiff => "aiff",
            Self::Mp3 => "mp3",
            Self::Flac => "flac",
            Self::Opus => "opus",
            Self::M4a => "m4a",
        }
    }
}

/// Returns the bytes of an audio file.
///
/// The length is rounded up to a whole frame: 27 ms in MP3, 24 ms in M4A, nothing in other formats.
/// If the tags cannot be written, which no known spec causes, the file has none.
pub fn audio_file(format: AudioFormat, spec: &TrackSpec) -> Vec<u8> {
    let write = match format {
        AudioFormat::Wav => pcm::wav,
        AudioFormat::Aiff => pcm::aiff,
        AudioFormat::Mp3 => mpeg::mp3,
        AudioFormat::Flac => flac::flac,
        AudioFormat::Opus => opus::opus,
        AudioFormat::M4a => mp4::m4a,
    };
    let sound = write(spec.seed, spec.millis);
    tags::tagged(format, spec, &sound).unwrap_or(sound)
}
