//! `org.etui.Playlists1`: the playlists of the media library, and the history of plays.

// The macro `interface` takes the names of a reply's arguments for a tuple, not for an alias of one.
#![allow(clippy::type_complexity)]

use std::path::Path;
use std::time::SystemTime;

use etui::RecordId;
use etui::media::PlaylistTrackState;
use zbus::interface;

use crate::collection_object::check_array;
use crate::error::StoreError;
use crate::file_uri::file_uri;
use crate::media_object::MediaObject;
use crate::rows::without_nul;

/// An entry: track (0: not in the library), UID, state, title, artist, album, seconds (0: unknown), URI.
type WireEntry = (u64, String, String, String, String, String, u32, String);

/// A play: when, track, UID, title, artist, album.
type WirePlay = (i64, u64, String, String, String, String);

/// The object of the playlists.
#[derive(Clone)]
pub(crate) struct PlaylistsObject(pub(crate) MediaObject);

/// Reads a position or number of an argument.
fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The URI of an entry: of a file, or that of a stream.
fn uri_of(state: PlaylistTrackState, location: &Path) -> String {
    match state {
        _ if location.as_os_str().is_empty() => String::new(),
        PlaylistTrackState::Stream => without_nul(location.to_string_lossy()).into_owned(),
        _ => file_uri(location),
    }
}

#[interface(name = "org.etui.Playlists1")]
impl PlaylistsObject {
    /// Returns the playlists by name: name, filter (empty: it has entries of its own), number of entries.
    #[zbus(out_args("playlists"))]
    async fn list(&self) -> Result<Vec<(String, String, u64)>, StoreError> {
        self.0
            .run(|media, _| {
                let lists = media.playlists()?.into_iter();
                let lists: Vec<_> = lists
                    .map(|list| (list.name, list.filter.unwrap_or_default(), list.entries))
                    .collect();
                check_array(lists.iter().map(|one| 24 + one.0.len() + one.1.len()).sum())?;
                Ok(lists)
            })
            .await
    }

    /// Returns entries of a playlist, in order, and how many it has: track (0: not in the library), UID, state
    /// (`here`, `away`, `missing`, `stream`), title, artist, album, length in seconds (0: unknown), URI. A `limit`
    /// of 0 stands for 1,000.
    #[zbus(out_args("entries", "count"))]
    async fn entries(
        &self,
        name: String,
        offset: u64,
        limit: u64,
    ) -> Result<(Vec<WireEntry>, u64), StoreError> {
        let limit = if limit == 0 { 1_000 } else { limit };
        self.0
            .run(move |media, _| {
                let all = media.playlist_tracks(&name)?;
                let count = all.len() as u64;
                let page = all.into_iter().skip(to_usize(offset)).take(to_usize(limit));
                let entries: Vec<WireEntry> = page
                    .map(|entry| {
                        let state = match entry.state {
                            PlaylistTrackState::Here => "here",
                            PlaylistTrackState::Away => "away",
                            PlaylistTrackState::Stream => "stream",
                            _ => "missing",
                        };
                        (
                            entry.id.map_or(0, |id| id.0.cast_unsigned()),
                            entry.uid.unwrap_or_default(),
                            state.to_owned(),
                            entry.title,
                            entry.artist,
                            entry.album,
                            entry.seconds.unwrap_or(0),
                            uri_of(entry.state, &entry.location),
                        )
                    })
                    .collect();
                let sizes = entries.iter().map(|one| {
                    64 + one.1.len() + one.3.len() + one.4.len() + one.5.len() + one.7.len()
                });
                check_array(sizes.sum())?;
                Ok((entries, count))
            })
            .await
    }

    /// Makes an empty playlist, or, with a filter of tracks, one of those that match it.
    async fn create(&self, name: String, filter: String) -> Result<(), StoreError> {
        self.0
            .change("CreatePlaylist", move |media| {
                let filter = Some(filter.as_str()).filter(|filter| !filter.is_empty());
                media.create_playlist(&name, filter)
            })
            .await
    }

    /// Gives a playlist another name.
    async fn rename(&self, name: String, new_name: String) -> Result<(), StoreError> {
        self.0
            .change("RenamePlaylist", move |media| {
                media.rename_playlist(&name, &new_name)
            })
            .await
    }

    /// Deletes a playlist for good; its tracks stay.
    async fn delete(&self, name: String) -> Result<(), StoreError> {
        self.0
            .change("DeletePlaylist", move |media| {
                media.delete_playlist(&name).map(drop)
            })
            .await
    }

    /// Adds tracks, by id, before the entry at a position counted from 0; -1: at the end.
    async fn add(&self, name: String, ids: Vec<u64>, position: i64) -> Result<(), StoreError> {
        self.0
            .change("AddToPlaylist", move |media| {
                let ids: Vec<RecordId> = ids.iter().map(|id| RecordId(id.cast_signed())).collect();
                let position = u64::try_from(position).ok().map(to_usize);
                media.add_to_playlist(&name, &ids, position)
            })
            .await
    }

    /// Removes the entries at these positions, counted from 0.
    async fn remove(&self, name: String, positions: Vec<u64>) -> Result<(), StoreError> {
        self.0
            .change("RemoveFromPlaylist", move |media| {
                let positions: Vec<usize> = positions.into_iter().map(to_usize).collect();
                media.remove_from_playlist(&name, &positions)
            })
            .await
    }

    /// Moves `count` entries from a position to one counted without them.
    #[zbus(name = "Move")]
    async fn move_entries(
        &self,
        name: String,
        from: u64,
        count: u64,
        to: u64,
    ) -> Result<(), StoreError> {
        self.0
            .change("MoveInPlaylist", move |media| {
                let from = to_usize(from);
                let end = from.saturating_add(to_usize(count));
                media.move_in_playlist(&name, from..end, to_usize(to))
            })
            .await
    }

    /// Returns the latest plays, the last first: when (seconds since 1970), track, UID, title, artist, album.
    #[zbus(out_args("plays"))]
    async fn plays(&self, limit: u64) -> Result<Vec<WirePlay>, StoreError> {
        self.0
            .run(move |media, _| {
                let plays = media.plays(to_usize(limit))?.into_iter();
                let plays: Vec<WirePlay> = plays
                    .map(|play| {
                        let at = play.at.duration_since(SystemTime::UNIX_EPOCH);
                        let at = at.map_or(0, |at| i64::try_from(at.as_secs()).unwrap_or(i64::MAX));
                        let id = play.id.0.cast_unsigned();
                        (at, id, play.uid, play.title, play.artist, play.album)
                    })
                    .collect();
                let sizes = plays
                    .iter()
                    .map(|one| 48 + one.2.len() + one.3.len() + one.4.len() + one.5.len());
                check_array(sizes.sum())?;
                Ok(plays)
            })
            .await
    }
}
