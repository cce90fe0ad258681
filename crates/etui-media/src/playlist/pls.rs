//! PLS: `File1=`, `Title1=` and `Length1=` below `[playlist]`.

use std::collections::BTreeMap;

use super::encoding::Text;
use super::{MAX_ENTRIES, NoPlaylist, PlaylistEntry, PlaylistFile, split_title};

pub(super) fn read(text: &Text<'_>) -> Result<PlaylistFile, NoPlaylist> {
    let mut entries: BTreeMap<u64, PlaylistEntry> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, value)) = line.text.split_once('=') else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let Ok(number) = digits.parse::<u64>() else {
            continue;
        };
        if entries.len() == MAX_ENTRIES && !entries.contains_key(&number) {
            return Err(NoPlaylist::TooManyEntries(line.number));
        }
        let field = name.strip_suffix(digits).unwrap_or_default();
        if !matches!(field, "file" | "title" | "length") {
            continue;
        }
        let entry = entries.entry(number).or_default();
        match field {
            "file" => {
                let at = line.raw.iter().position(|&b| b == b'=').unwrap_or(0);
                let raw = line.raw.get(at + 1..).unwrap_or_default();
                entry.line = line.number;
                entry.locations.push(raw.to_vec());
                if raw != value.as_bytes() {
                    entry.locations.push(value.as_bytes().to_vec());
                }
            }
            "title" => (entry.artist, entry.title) = split_title(value),
            _ => entry.seconds = value.trim().parse().ok().filter(|seconds| *seconds > 0),
        }
    }
    let entries = entries.into_values();
    Ok(PlaylistFile {
        entries: entries
            .filter(|entry| !entry.locations.is_empty())
            .collect(),
        ..PlaylistFile::default()
    })
}
