//! Fields of a track for players and disc jockeys: loudness, tempo, key and lyrics.

use super::track::Track;

/// Decibels by which the reference of ReplayGain 2.0 (-18 LUFS) is louder than that of R128
/// (-23 LUFS).
const REPLAYGAIN_OVER_R128: f64 = 5.0;
/// Decibels of a gain, positive or negative, that a tag can mean. Others are damaged.
const MAX_GAIN: f64 = 64.0;
/// Beats a minute that a tag can mean.
const MAX_BPM: f64 = 2_000.0;

impl Track {
    /// Returns the tempo in beats a minute, more than 0.
    pub(crate) fn bpm(&self) -> Option<f64> {
        let bpm = self.tags("BPM").find_map(|text| leading_decimal(&text));
        bpm.filter(|bpm| *bpm > 0.0 && *bpm <= MAX_BPM)
    }

    /// Returns the lyrics, with line breaks; with times (LRC) if the tag has them; empty if there are
    /// none. They are cut at 16 KiB.
    pub(crate) fn lyrics(&self) -> String {
        self.tags("LYRICS").next().unwrap_or_default()
    }

    /// Returns the gain in decibels that brings the track to the reference of ReplayGain 2.0, -18
    /// LUFS: `REPLAYGAIN_TRACK_GAIN`, else `R128_TRACK_GAIN` of Opus (RFC 7845), which is converted.
    pub(crate) fn track_gain(&self) -> Option<f64> {
        self.gain("TRACK")
    }

    /// Returns the gain in decibels of the album, like [`Track::track_gain`].
    pub(crate) fn album_gain(&self) -> Option<f64> {
        self.gain("ALBUM")
    }

    /// Returns the largest sample of the track; 1 is full scale, and more is possible.
    pub(crate) fn track_peak(&self) -> Option<f64> {
        self.peak("TRACK")
    }

    /// Returns the largest sample of the album, like [`Track::track_peak`].
    pub(crate) fn album_peak(&self) -> Option<f64> {
        self.peak("ALBUM")
    }

    fn gain(&self, of: &str) -> Option<f64> {
        let first = |name: String| self.tags(&name).next();
        let replay_gain = first(format!("REPLAYGAIN_{of}_GAIN"));
        let replay_gain = replay_gain.and_then(|text| leading_decimal(&text));
        let gain = replay_gain.or_else(|| {
            let steps: i16 = first(format!("R128_{of}_GAIN"))?.trim().parse().ok()?;
            Some(f64::from(steps) / 256.0 + REPLAYGAIN_OVER_R128)
        });
        gain.filter(|gain| gain.abs() <= MAX_GAIN)
    }

    fn peak(&self, of: &str) -> Option<f64> {
        let text = self.tags(&format!("REPLAYGAIN_{of}_PEAK")).next()?;
        leading_decimal(&text).filter(|peak| *peak >= 0.0)
    }
}

/// Returns the decimal number that a text such as `-7.52 dB` begins with. Some programs write a
/// comma.
fn leading_decimal(text: &str) -> Option<f64> {
    let text = text.trim().replace(',', ".");
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::tag_lines::TagLines;

    fn track(text: &str) -> Track {
        Track::new(TagLines::from_text(text.as_bytes().to_vec()))
    }

    #[test]
    fn gains_have_one_reference() {
        for (text, gain) in [
            ("REPLAYGAIN_TRACK_GAIN=-7.52 dB\n", Some(-7.52)),
            ("REPLAYGAIN_TRACK_GAIN=+3,10 dB\n", Some(3.1)),
            ("REPLAYGAIN_TRACK_GAIN= 1.5\n", Some(1.5)),
            ("R128_TRACK_GAIN=-1280\n", Some(0.0)),
            (
                "R128_TRACK_GAIN=256\nREPLAYGAIN_TRACK_GAIN=2 dB\n",
                Some(2.0),
            ),
            ("R128_TRACK_GAIN=1.5\n", None),
            ("REPLAYGAIN_TRACK_GAIN=9999 dB\n", None),
            ("REPLAYGAIN_TRACK_GAIN=loud\n", None),
            ("REPLAYGAIN_ALBUM_GAIN=2 dB\n", None),
        ] {
            assert_eq!(track(text).track_gain(), gain, "{text}");
        }
        assert_eq!(
            track("REPLAYGAIN_ALBUM_PEAK=1.25\n").album_peak(),
            Some(1.25)
        );
    }

    #[test]
    fn tempos_are_numbers() {
        for (text, bpm) in [
            ("BPM=120\n", Some(120.0)),
            ("BPM=174.99\n", Some(174.99)),
            ("BPM=128,5\n", Some(128.5)),
            ("BPM=120 (estimated)\n", Some(120.0)),
            ("BPM=fast\nBPM=99\n", Some(99.0)),
            ("BPM=-1\n", None),
            ("BPM=99999999999\n", None),
        ] {
            assert_eq!(track(text).bpm(), bpm, "{text}");
        }
    }
}
