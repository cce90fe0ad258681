//! [`read_own_tags`]: tags of one format that the common form of tags does not have.

use std::borrow::Cow;
use std::io::{BufReader, Seek as _};

use lofty::config::{ParseOptions, ParsingMode};
use lofty::file::{AudioFile as _, FileType};
use lofty::mp4::{AtomData, AtomIdent, Mp4File};
use lofty::ogg::OpusFile;

use crate::bounded_file::BoundedFile;

/// Returns `R128_TRACK_GAIN` and `R128_ALBUM_GAIN` of an Opus file, whole numbers of 1/256 dB (RFC
/// 7845 section 5.2.1), and the tempo of an MP4 file, which is a number there (`tmpo`). Damaged ones
/// are left out.
pub(crate) fn read_own_tags(
    reader: &mut BoundedFile<'_>,
    kind: FileType,
) -> Vec<(Cow<'static, str>, String)> {
    if !matches!(kind, FileType::Opus | FileType::Mp4) || reader.rewind().is_err() {
        return Vec::new();
    }
    let mut options = ParseOptions::new();
    options.parsing_mode(ParsingMode::Relaxed);
    options.read_properties(false);
    options.read_cover_art(false);
    let mut buffered = BufReader::with_capacity(16 << 10, reader);
    match kind {
        FileType::Opus => OpusFile::read_from(&mut buffered, options)
            .map(|file| opus_gains(&file))
            .unwrap_or_default(),
        _ => Mp4File::read_from(&mut buffered, options)
            .ok()
            .and_then(|file| mp4_tempo(&file))
            .into_iter()
            .collect(),
    }
}

fn opus_gains(file: &OpusFile) -> Vec<(Cow<'static, str>, String)> {
    let comments = file.vorbis_comments();
    let names = ["R128_TRACK_GAIN", "R128_ALBUM_GAIN"].into_iter();
    let gains = names.filter_map(|name| {
        let gain = comments.get(name)?.trim().parse::<i16>().ok()?;
        Some((Cow::Borrowed(name), gain.to_string()))
    });
    gains.collect()
}

fn mp4_tempo(file: &Mp4File) -> Option<(Cow<'static, str>, String)> {
    let atom = file.ilst()?.get(&AtomIdent::Fourcc(*b"tmpo"))?;
    let tempo = match atom.data().next()? {
        AtomData::SignedInteger(tempo) => u32::try_from(*tempo).ok()?,
        AtomData::UnsignedInteger(tempo) => *tempo,
        _ => return None,
    };
    // 0 is written for an unknown one.
    (tempo > 0).then(|| (Cow::Borrowed("BPM"), tempo.to_string()))
}
