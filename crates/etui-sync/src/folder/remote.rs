//! [`FolderRemote`]: a collection in a folder.

use std::collections::HashMap;

use etui::sync::Links;
use etui_contentline::merge::MergeWinner;

use super::batch::Change;
use super::files::token as token_of;
use super::{Folder, State};
use crate::error::SyncError;
use crate::kind::SyncKind;
use crate::remote::{Listing, LostThere, Member, Remote, Sending};

/// Changes that are written in one file.
const BATCH: usize = 2_000;

pub(crate) struct FolderRemote<'c, R> {
    folder: &'c Folder,
    place: String,
    links: Links<'c, R>,
    is_dry_run: bool,
}

/// A record as the folder has it.
struct View {
    /// The heads.
    etag: String,
    /// `None`: it was removed.
    text: Option<Vec<u8>>,
    /// Texts of this device that lost.
    lost: Vec<LostThere>,
}

fn view<R: SyncKind>(state: &State, place: &str, name: &str, device: &str) -> Option<View> {
    let heads = state.heads(place, name);
    let etag: Vec<&str> = heads.iter().map(|one| one.id.as_str()).collect();
    let etag = etag.join(",");
    // The file with the change that replaced it has not come yet.
    if heads.iter().any(|one| one.is_left_out) {
        return None;
    }
    // A removal loses to a change that did not know of it.
    let written: Vec<&Change> = heads
        .iter()
        .filter(|one| one.text.is_some())
        .copied()
        .collect();
    if written.is_empty() {
        let removed = View {
            etag,
            text: None,
            lost: Vec::new(),
        };
        return (!heads.is_empty()).then_some(removed);
    }
    let (text, losers) = merged::<R>(state, &written, 0);
    let lost = losers.into_iter().filter(|(one, _)| one.device == device);
    let lost = lost.map(|(one, properties)| LostThere {
        text: one.text.clone().unwrap_or_default(),
        properties,
    });
    // What two changes make depends on what they come from, too, which may come later.
    let etag = match heads.len() {
        1 => etag,
        _ => format!("{etag}#{}", &blake3::hash(&text).to_hex()[..16]),
    };
    Some(View {
        etag,
        lost: lost.collect(),
        text: Some(text),
    })
}

/// Changes of which changes were merged that are merged, and so on: more are merged without a text that they come from.
const MAX_DEPTH: u32 = 8;

/// Merges changes that did not know of each other; returns the text, and those that lost, with the properties.
fn merged<'s, R: SyncKind>(
    state: &'s State,
    changes: &[&'s Change],
    depth: u32,
) -> (Vec<u8>, Vec<(&'s Change, Vec<String>)>) {
    let Some((first, others)) = changes.split_first() else {
        return (Vec::new(), Vec::new());
    };
    let mut text = first.text.clone().unwrap_or_default();
    let mut losers = Vec::new();
    for other in others {
        let theirs = other.text.as_deref().unwrap_or_default();
        let shared = match depth < MAX_DEPTH {
            true => state.shared(first, other),
            false => Vec::new(),
        };
        let base = merged::<R>(state, &shared, depth + 1).0;
        // One that cannot be merged loses as a whole.
        let properties = match R::merge((&base, &text), (&base, theirs), MergeWinner::Ours) {
            Ok((merged, conflicts)) => {
                text = merged;
                conflicts.into_iter().map(|one| one.property).collect()
            }
            Err(_) => vec!["the whole text".to_owned()],
        };
        if !properties.is_empty() {
            losers.push((*other, properties));
        }
    }
    (text, losers)
}

fn ids(etag: &str) -> Vec<String> {
    let etag = etag.split('#').next().unwrap_or_default();
    let ids = etag.split(',').filter(|id| !id.is_empty());
    ids.map(str::to_owned).collect()
}

impl<'c, R: SyncKind> FolderRemote<'c, R> {
    pub(crate) fn new(
        folder: &'c Folder,
        place: &str,
        links: Links<'c, R>,
        is_dry_run: bool,
    ) -> Self {
        Self {
            folder,
            place: place.to_owned(),
            links,
            is_dry_run,
        }
    }

    fn view(&self, href: &str) -> Result<Option<View>, SyncError> {
        self.folder.ensure_loaded()?;
        let state = self.folder.state.borrow();
        let name = href.trim_start_matches('/');
        Ok(view::<R>(&state, &self.place, name, &self.folder.device))
    }

    /// Records a change, to be written with the others.
    fn add(&self, href: &str, replaces: Vec<String>, text: Option<Vec<u8>>, is_again: bool) {
        let at = (self.place.as_str(), href.trim_start_matches('/'));
        let change = Change::new(at, replaces, text, is_again, &self.folder.device);
        let mut state = self.folder.state.borrow_mut();
        if state
            .changes
            .get(&change.id)
            .is_none_or(|known| known.is_left_out)
        {
            state.pending.push(change.clone());
            state.add(change);
        }
    }

    /// Writes again what this device had read, and whose files are gone or damaged: nothing is taken for removed because
    /// a file was lost.
    fn mend(&self) -> Result<(), SyncError> {
        for link in self.links.briefs(false)? {
            let known = ids(link.etag.as_deref().unwrap_or_default());
            let is_lost = {
                let state = self.folder.state.borrow();
                known.iter().any(|id| match state.changes.get(id) {
                    Some(known) => known.is_left_out && !state.replaced.contains(id),
                    None => true,
                })
            };
            if is_lost
                && let Some(link) = self.links.of_href(&link.href)?
                && !link.remote.is_empty()
            {
                self.add(&link.href, known, Some(link.remote), true);
            }
        }
        self.folder.flush()
    }
}

impl<R: SyncKind> Remote for FolderRemote<'_, R> {
    fn batch(&self) -> usize {
        BATCH
    }

    fn list(&mut self, token: Option<&str>, _: Option<&str>) -> Result<Listing, SyncError> {
        let found = self.folder.files.list()?;
        let now = token_of(&found);
        let mut listing = Listing {
            token: Some(now.clone()),
            only_gone_is_gone: true,
            ..Listing::default()
        };
        if token == Some(now.as_str()) {
            return Ok(listing);
        }
        self.folder.load(&found)?;
        if !self.is_dry_run {
            self.mend()?;
        }
        // A file may become whole without another length.
        if !self.folder.state.borrow().unreadable.is_empty() {
            listing.token = None;
        }
        let state = self.folder.state.borrow();
        let names = state.records.get(&self.place);
        for name in names.into_iter().flat_map(|names| names.keys()) {
            let href = format!("/{name}");
            match view::<R>(&state, &self.place, name, &self.folder.device) {
                Some(View {
                    etag,
                    text: Some(_),
                    ..
                }) => listing.items.push((href, Some(etag))),
                Some(_) => listing.gone.push(href),
                None => {}
            }
        }
        listing.is_full = true;
        Ok(listing)
    }

    fn fetch(
        &self,
        hrefs: &[String],
        on_member: &mut dyn FnMut(&str, Member) -> Result<(), SyncError>,
    ) -> Result<(), SyncError> {
        self.folder.flush()?;
        if !hrefs.is_empty() {
            self.folder.load(&self.folder.files.list()?)?;
        }
        let mut found = HashMap::new();
        for href in hrefs {
            let member = match self.view(href)? {
                Some(View {
                    etag,
                    text: Some(text),
                    ..
                }) => Member::There {
                    etag: Some(etag),
                    text,
                },
                _ => Member::Gone,
            };
            found.insert(href, member);
        }
        hrefs.iter().try_for_each(|href| match found.remove(href) {
            Some(member) => on_member(href, member),
            None => Ok(()),
        })
    }

    fn href_of(&self, name: &str) -> String {
        format!("/{name}")
    }

    fn put(&mut self, href: &str, text: Vec<u8>, etag: Option<&str>) -> Result<Sending, SyncError> {
        let now = self.view(href)?;
        let is_there = now.as_ref().is_some_and(|now| now.text.is_some());
        match (etag, &now) {
            (Some(etag), Some(now)) if now.etag == etag => {}
            (None, _) if !is_there => {}
            (Some(_), _) if !is_there => return Ok(Sending::Gone("it was removed".to_owned())),
            _ => return Ok(Sending::Changed),
        }
        let replaces = now.map(|now| ids(&now.etag)).unwrap_or_default();
        self.add(href, replaces, Some(text), false);
        let etag = self.view(href)?.map(|now| now.etag);
        Ok(Sending::Done {
            etag,
            href: href.to_owned(),
        })
    }

    fn remove(&mut self, href: &str, etag: &str) -> Result<Sending, SyncError> {
        match self.view(href)? {
            Some(now) if now.text.is_some() && now.etag == etag => {
                self.add(href, ids(etag), None, false);
                Ok(Sending::Done {
                    etag: None,
                    href: href.to_owned(),
                })
            }
            Some(now) if now.text.is_some() => Ok(Sending::Changed),
            _ => Ok(Sending::Gone("it was removed".to_owned())),
        }
    }

    fn settle(&mut self) -> Result<(), SyncError> {
        self.folder.flush()
    }

    fn lost(&self, href: &str) -> Result<Vec<LostThere>, SyncError> {
        let now = self.view(href)?;
        Ok(now.map(|now| now.lost).unwrap_or_default())
    }
}
