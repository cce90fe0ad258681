//! The groups of a track or picture, and its values in each.

use etui_text::fold::fold_words;

use super::group::Contribution;
use super::picture::Picture;
use super::tag_lines::TagLines;
use super::track::Track;
use crate::types::CollectionKind;

/// A group, by its collection and UID.
pub(super) type GroupKey = (CollectionKind, String);

/// The UID of a group: 16 hexadecimal digits of the hash of its identity.
fn group_uid(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex().as_str()[..16].to_owned()
}

/// Returns the UID of a track's album: by the release, else by the title and the album artist, else
/// by the title and the folder. `None`: it is of no album.
pub(super) fn album_uid(track: &Track, folder: &str) -> Option<String> {
    let title = track.album();
    if title.is_empty() {
        return None;
    }
    let release = track.tags("MUSICBRAINZ_ALBUMID").next();
    if let Some(release) = release {
        return Some(group_uid(&["release", &release]));
    }
    let title = fold_words(&title);
    Some(match track.tags("ALBUMARTIST").next() {
        Some(_) => group_uid(&["album", &title, &fold_words(&track.album_artist())]),
        None if track.is_compilation() => group_uid(&["compilation", &title]),
        None => group_uid(&["folder", &title, folder]),
    })
}

/// Returns the UID of an artist.
pub(super) fn artist_uid(name: &str) -> String {
    group_uid(&["artist", &fold_words(name)])
}

/// Returns the groups of a record and its values in each.
pub(super) fn contributions(
    kind: CollectionKind,
    lines: &TagLines,
) -> Vec<(GroupKey, Contribution)> {
    match kind {
        CollectionKind::Music => of_track(&Track::new(lines.clone())),
        CollectionKind::Pictures => of_picture(&Picture::new(lines.clone())),
        _ => Vec::new(),
    }
}

fn of_track(track: &Track) -> Vec<(GroupKey, Contribution)> {
    let length = track.length();
    let mut groups: Vec<(GroupKey, Contribution)> = Vec::new();
    let cover = track.cover().map(|cover| cover.to_string());
    let album = track.album_uid();
    if let Some(uid) = &album {
        let mut values = vec![
            ("name", track.album()),
            ("artist", track.album_artist()),
            ("sort", track.album_artist_sort()),
        ];
        if track.tags("ALBUMARTIST").next().is_none() {
            values.push(("by", track.artist()));
        }
        values.extend(track.year().map(|year| ("year", year.to_string())));
        values.extend(cover.clone().map(|cover| ("cover", cover)));
        values.extend(track.tags("GENRE").map(|genre| ("genre", genre)));
        values.retain(|(_, value)| !value.is_empty());
        let key = (CollectionKind::Albums, uid.clone());
        groups.push((key, Contribution { length, values }));
    }
    let sort_of = |tag: &str| track.tags(tag).collect::<Vec<_>>();
    for (names, sorts) in [
        (track.artists(), sort_of("ARTISTSORT")),
        (track.album_artists(), sort_of("ALBUMARTISTSORT")),
    ] {
        for (number, name) in names.iter().enumerate() {
            let key = (CollectionKind::Artists, artist_uid(name));
            if groups.iter().any(|(known, _)| *known == key) {
                continue;
            }
            let mut values = vec![("name", name.clone())];
            // A sort name belongs to the artist in the same place.
            if sorts.len() == names.len() {
                values.extend(sorts.get(number).map(|sort| ("sort", sort.clone())));
            }
            values.extend(album.clone().map(|album| ("album", album)));
            values.extend(cover.clone().map(|cover| ("cover", cover)));
            groups.push((key, Contribution { length, values }));
        }
    }
    for genre in track.tags("GENRE") {
        let key = (
            CollectionKind::Genres,
            group_uid(&["genre", &fold_words(&genre)]),
        );
        if !groups.iter().any(|(known, _)| *known == key) {
            let values = vec![("name", genre)];
            groups.push((key, Contribution { length, values }));
        }
    }
    groups
}

fn of_picture(picture: &Picture) -> Vec<(GroupKey, Contribution)> {
    let Some(day) = picture.day() else {
        return Vec::new();
    };
    // Not the pictures' covers, which all differ: the text of a day would grow with each.
    let contribution = Contribution {
        length: picture.length().unwrap_or(0),
        values: vec![("name", day.clone())],
    };
    vec![((CollectionKind::Days, day), contribution)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(text: &str) -> Track {
        Track::new(TagLines::from_text(text.as_bytes().to_vec()))
    }

    #[test]
    fn albums_are_told_apart_by_release_artist_or_folder() {
        let uid = |text: &str, folder: &str| album_uid(&track(text), folder);
        let low = "ALBUM=Low\nALBUMARTIST=David Bowie\n";
        assert_eq!(
            uid(low, "a"),
            uid("ALBUM=LOW\nALBUMARTIST=david bowie\n", "b")
        );
        let release = "MUSICBRAINZ_ALBUMID=1\n";
        assert_ne!(uid(&format!("{low}{release}"), "a"), uid(low, "a"));
        let hits = "ALBUM=Hits\nARTIST=A\n";
        assert_eq!(uid(hits, "a"), uid("ALBUM=Hits\nARTIST=B\n", "a"));
        assert_ne!(uid(hits, "a"), uid(hits, "b"));
        assert_eq!(
            uid("ALBUM=Hits\nARTIST=A\nCOMPILATION=1\n", "a"),
            uid("ALBUM=Hits\nARTIST=B\nCOMPILATION=1\n", "b")
        );
        assert_eq!(uid("ARTIST=A\n", "a"), None);
    }

    #[test]
    fn a_track_is_in_each_group_once() {
        let track =
            "ALBUM=Low\nfile.album=x\nARTIST=A\nARTIST=B\nALBUMARTIST=a\nGENRE=Rock\nGENRE=rock\n";
        let groups = contributions(CollectionKind::Music, &TagLines::from_text(track.into()));
        let kinds: Vec<_> = groups.iter().map(|((kind, _), _)| *kind).collect();
        use CollectionKind::{Albums, Artists, Genres};
        assert_eq!(kinds, [Albums, Artists, Artists, Genres]);
    }
}
