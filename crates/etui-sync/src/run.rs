//! [`sync_pair`]: one run of one pair of collections.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::SyncError;
use crate::kind::{Side, SyncKind, merge, title_of, uid_of};
use crate::other_side::OtherSide;
use crate::remote::{Listing, Member, Remote, Sending};
use etui::record::Collection;
use etui::resource::{ResourceChanges, ResourceKey, ResourceTag, StoredResource};
use etui::store::{CollectionKey, RefusedText};
use etui::sync::{
    Direction, Link, LinkBrief, LinkEdit, LinkedChange, Links, Pair, PairState, RecordEdit,
    SyncProblem,
};
use etui::{Error, RecordId, Store};
use etui_contentline::merge::{MergeConflict, MergeWinner};

/// Removals that are always believed; and the share of a collection above which more are not.
const FEW_REMOVALS: usize = 10;
const LARGE_SHARE: usize = 5;

/// The item of the problem of a whole run, which a program may report. A run that comes to its end clears it.
pub const LAST_RUN: &str = "run";

/// The item of a problem of the whole list.
const NOTE: &str = "list";

/// How often an item is looked at again that changed meanwhile, on whatever side.
const TRIES: usize = 4;

/// After this time all is listed, whatever the tokens say: servers lose changes.
const LISTED_FOR: i64 = 7 * 86_400_000;

/// How a run is done.
pub struct SyncOptions<'o> {
    /// The name of the account, which is kept with texts that lost.
    pub account: &'o str,
    /// Removals that the person allows on each side, above what the guard lets pass.
    pub allow_removals: u64,
    /// Nothing is changed, on neither side.
    pub is_dry_run: bool,
    /// Called with the number of items that are done, and of all.
    pub progress: &'o mut dyn FnMut(u64, u64),
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairReport {
    /// Items that were added here.
    pub added_here: u64,
    /// Items that were changed here.
    pub changed_here: u64,
    /// Items that went to the trash here.
    pub removed_here: u64,
    /// Items that were sent to the server.
    pub sent: u64,
    /// Items that were removed on the server.
    pub removed_there: u64,
    /// Items that were changed on one side and removed on the other, and are on both again.
    pub brought_back: Vec<String>,
    /// Items whose changes of both sides conflict: the text that lost is kept.
    pub conflicts: Vec<String>,
    /// Items that are refused now, of this run and of earlier ones.
    pub problems: Vec<SyncProblem>,
    /// Why nothing was done, if the guard stopped the run.
    pub guard: Option<String>,
    /// In a dry run: the numbers of items to fetch, to send, to remove here.
    pub planned: Option<(u64, u64, u64)>,
}

/// Brings a pair in step.
///
/// # Errors
/// [`SyncError`]: it did not come to its end. The next run goes on.
pub fn sync_pair<'o, R: SyncKind>(
    store: &Store,
    other: impl Into<OtherSide<'o>>,
    pair: &Pair,
    options: &mut SyncOptions<'_>,
) -> Result<PairReport, SyncError> {
    let collection = store.collection::<R>(CollectionKey::Id(pair.settings.collection))?;
    let links = collection.links(pair.id);
    let remote = other.into().open(
        &pair.settings.url,
        collection.links(pair.id),
        options.is_dry_run,
    )?;
    let mut run = Run {
        store,
        links,
        collection: &collection,
        pair,
        remote,
        options,
        report: PairReport::default(),
        refused: store.sync().problems(pair.id)?,
        to_send: BTreeSet::new(),
        gone: HashSet::new(),
        waiting: Vec::new(),
        removed: Vec::new(),
        made_there: Vec::new(),
        done: 0,
        all: 0,
    };
    run.run()?;
    if !run.options.is_dry_run {
        run.clear(LAST_RUN)?;
    }
    run.report.problems = store.sync().problems(pair.id)?;
    Ok(run.report)
}

/// A text that was sent, and is read back.
struct Sent {
    href: String,
    etag: Option<String>,
    record: RecordId,
    tag: ResourceTag,
    local: Vec<u8>,
}

struct Run<'r, 'o, R: SyncKind> {
    store: &'r Store,
    collection: &'r Collection<R>,
    links: Links<'r, R>,
    pair: &'r Pair,
    remote: Box<dyn Remote + 'r>,
    options: &'r mut SyncOptions<'o>,
    report: PairReport,
    /// Problems of earlier runs.
    refused: Vec<SyncProblem>,
    /// Records to look at for sending.
    to_send: BTreeSet<i64>,
    /// Hrefs that the server says are gone.
    gone: HashSet<String>,
    waiting: Vec<Sent>,
    /// Hrefs that were removed there, until that is durable.
    removed: Vec<String>,
    /// Hrefs of new ones that were sent.
    made_there: Vec<String>,
    done: u64,
    all: u64,
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

impl<R: SyncKind> Run<'_, '_, R> {
    fn run(&mut self) -> Result<(), SyncError> {
        let state = self.pair.state.clone();
        let is_due = state
            .listed_at
            .is_none_or(|at| now_ms().saturating_sub(at) > LISTED_FOR || at > now_ms());
        let (token, ctag) = match is_due {
            true => (None, None),
            false => (state.remote_token.as_deref(), state.ctag.as_deref()),
        };
        let before = self.collection.collection_token()?;
        let mut listing = self.remote.list(token, ctag)?;
        match listing.note.take() {
            _ if self.options.is_dry_run => {}
            Some(note) => self.problem(NOTE, self.options.account, note, None)?,
            None if listing.is_full => self.clear(NOTE)?,
            None => {}
        }
        self.find_changes_here(&state)?;
        let is_idle = !listing.is_full
            && listing.items.is_empty()
            && listing.gone.is_empty()
            && self.to_send.is_empty()
            && self.refused.is_empty();
        let mut next = PairState {
            remote_token: listing.token.clone(),
            ctag: listing.ctag.clone(),
            local_token: Some(before),
            listed_at: match listing.is_full {
                true => Some(now_ms()),
                false => state.listed_at,
            },
            synced_at: Some(now_ms()),
        };
        if !is_idle {
            let is_done = self.apply(listing)?;
            if !is_done {
                return Ok(());
            }
            // The server's tag is of before what was sent: the next run lists, and finds nothing new.
            if self.report.sent + self.report.removed_there > 0 {
                next.ctag = None;
            }
            if !self.made_there.is_empty() && next.remote_token.is_some() {
                next.remote_token = self.token_of_now(next.remote_token.as_deref())?;
            }
            // Records that are still to be sent are looked at again.
            next.local_token = match self.to_send.is_empty() {
                true => Some(self.settled_token(before)?),
                false => state.local_token,
            };
        }
        if !self.options.is_dry_run {
            self.store.sync().save_state(self.pair.id, &next)?;
        }
        Ok(())
    }

    /// Collects the records that changed here, or may have.
    fn find_changes_here(&mut self, state: &PairState) -> Result<(), SyncError> {
        let since = state.local_token.as_ref();
        let changes = match since {
            Some(since) => self.collection.resource_changes(Some(since), None)?,
            None => ResourceChanges::Resynchronise,
        };
        match changes {
            ResourceChanges::Since { changes, .. } => {
                self.to_send
                    .extend(changes.iter().map(|change| change.id.0));
            }
            // The token is of another store or a restored backup: all is compared with the links.
            ResourceChanges::Resynchronise => {
                let all = &mut self.to_send;
                self.collection.for_each_resource(|resource| {
                    all.insert(resource.id.0);
                    Ok(())
                })?;
                all.extend(self.links.briefs(false)?.iter().map(|link| link.record.0));
            }
        }
        let ids = self.refused.iter().filter_map(|problem| {
            let id = problem.item.strip_prefix('#')?;
            id.parse::<i64>().ok()
        });
        self.to_send.extend(ids);
        let sending = self.links.briefs(true)?;
        self.to_send
            .extend(sending.iter().map(|link| link.record.0));
        Ok(())
    }

    /// Returns the token of the state here of which all changes are agreed on: those of the run itself are.
    fn settled_token(&self, before: etui::SyncToken) -> Result<etui::SyncToken, SyncError> {
        let changes = self.collection.resource_changes(Some(&before), None)?;
        let ResourceChanges::Since { changes, token, .. } = changes else {
            return Ok(before);
        };
        let links: HashMap<RecordId, LinkBrief> = match changes.is_empty() {
            true => HashMap::new(),
            false => {
                let all = self.links.briefs(false)?.into_iter();
                all.map(|link| (link.record, link)).collect()
            }
        };
        for change in changes {
            let is_agreed = match (links.get(&change.id), change.tag) {
                (Some(link), Some(tag)) => link.tag == Some(tag) && !link.is_sending,
                (None, None) => true,
                _ => self.pair.settings.direction == Direction::FromServer,
            };
            if !is_agreed {
                return Ok(before);
            }
        }
        Ok(token)
    }

    /// Saves that the next run lists all, if this one does not come to its end. Of a member that was made after a token
    /// and removed again, nothing need be told (RFC 6578 section 3.5.2): as soon as one is taken or sent, the token of
    /// before is of no use.
    fn forget_remote_token(&self) -> Result<(), SyncError> {
        let state = &self.pair.state;
        if state.remote_token.is_none() && state.ctag.is_none() {
            return Ok(());
        }
        let state = PairState {
            remote_token: None,
            ctag: None,
            ..state.clone()
        };
        Ok(self.store.sync().save_state(self.pair.id, &state)?)
    }

    /// Returns the token of a state that has the new ones that were sent, and no change by others; `None` if there is
    /// none.
    fn token_of_now(&self, before: Option<&str>) -> Result<Option<String>, SyncError> {
        let Some(listing) = self.remote.changes_since(before)? else {
            return Ok(None);
        };
        let mut missing: HashSet<&String> = self.made_there.iter().collect();
        for (href, etag) in &listing.items {
            missing.remove(href);
            let link = self.links.of_href(href)?;
            if etag.is_none() || link.is_none_or(|link| link.etag != *etag) {
                return Ok(None);
            }
        }
        let is_ours = listing.gone.is_empty() && missing.is_empty();
        Ok(listing.token.filter(|_| is_ours))
    }

    /// Takes and sends the changes. Returns false if the guard or a dry run leaves all as it is.
    fn apply(&mut self, listing: Listing) -> Result<bool, SyncError> {
        let links: HashMap<String, LinkBrief> = self
            .links
            .briefs(false)?
            .into_iter()
            .map(|link| (link.href.clone(), link))
            .collect();
        let refused: HashMap<String, Option<String>> = self
            .refused
            .iter()
            .map(|problem| (problem.item.clone(), problem.etag.clone()))
            .collect();
        let listed: HashSet<&str> = listing
            .items
            .iter()
            .map(|(href, _)| href.as_str())
            .collect();
        let mut fetch = Vec::new();
        for (href, etag) in &listing.items {
            let is_known = etag.is_some()
                && match (links.get(href), refused.get(href)) {
                    (_, Some(refused)) => refused == etag,
                    (Some(link), None) => {
                        let is_sure = listing.is_full || !is_counter(etag.as_deref());
                        link.etag == *etag && !link.is_sending && is_sure
                    }
                    (None, None) => false,
                };
            if !is_known {
                fetch.push(href.clone());
            }
        }
        // Members that were not delivered are asked for again, also if they are not listed any more.
        let again = refused.iter().filter(|(item, etag)| {
            etag.is_none() && item.starts_with('/') && !listed.contains(item.as_str())
        });
        fetch.extend(again.map(|(item, _)| item.clone()));
        let gone: HashSet<&str> = listing.gone.iter().map(String::as_str).collect();
        let is_all = listing.is_full && !listing.only_gone_is_gone;
        let mut vanished: Vec<String> = Vec::new();
        for (href, link) in &links {
            if listed.contains(href.as_str()) {
                continue;
            }
            match link.is_sending {
                true => fetch.push(href.clone()),
                false if is_all || gone.contains(href.as_str()) => {
                    vanished.push(href.clone());
                }
                false => {}
            }
        }
        drop(listed);
        if self.pair.settings.direction == Direction::ToServer {
            // Only those that are not known, which may have the UID of a record here.
            fetch.retain(|href| links.get(href).is_none_or(|link| link.is_sending));
            vanished.clear();
        }
        self.confirm(&vanished, &mut fetch)?;
        if let Some(reason) = self.guard(&listing, &links, &fetch)? {
            self.report.guard = Some(reason);
            return Ok(false);
        }
        fetch.sort_unstable();
        fetch.dedup();
        if self.options.is_dry_run {
            let links = &self.links;
            let mut sent = 0;
            for id in &self.to_send {
                let tag = self
                    .collection
                    .resource_names(&[RecordId(*id)])?
                    .pop()
                    .flatten();
                let link = links.of_record(RecordId(*id))?;
                let agreed = link.as_ref().map(|link| link.tag);
                sent += u64::from(agreed != tag.map(|(_, tag)| Some(tag)));
            }
            self.report.planned = Some((fetch.len() as u64, sent, self.gone.len() as u64));
            return Ok(false);
        }
        if !fetch.is_empty() || !self.to_send.is_empty() {
            self.forget_remote_token()?;
        }
        self.all = (fetch.len() + self.gone.len() + self.to_send.len()) as u64;
        self.take_all(&fetch)?;
        for href in std::mem::take(&mut self.gone) {
            self.gone_there(&href)?;
            self.step(1);
        }
        // Items may be looked at again after what the server answers.
        for _ in 0..TRIES {
            let records = std::mem::take(&mut self.to_send);
            if records.is_empty() {
                break;
            }
            for record in records {
                self.changed_here(RecordId(record))?;
                self.step(1);
            }
            self.read_back()?;
        }
        Ok(true)
    }

    fn step(&mut self, items: u64) {
        self.done += items;
        self.all = self.all.max(self.done);
        (self.options.progress)(self.done, self.all);
    }

    /// Asks once more for vanished members: only a 404 says that one is gone.
    fn confirm(&mut self, vanished: &[String], fetch: &mut Vec<String>) -> Result<(), SyncError> {
        let gone = &mut self.gone;
        self.remote.fetch(vanished, &mut |href, member| {
            match member {
                Member::Gone => {
                    gone.insert(href.to_owned());
                }
                // It is there after all, or cannot be had now: it is looked at as a changed one.
                Member::There { .. } | Member::Refused(_) => fetch.push(href.to_owned()),
            }
            Ok(())
        })
    }

    /// Returns why nothing is done: too much would be removed.
    fn guard(
        &self,
        listing: &Listing,
        links: &HashMap<String, LinkBrief>,
        fetch: &[String],
    ) -> Result<Option<String>, SyncError> {
        let allowed = usize::try_from(self.options.allow_removals).unwrap_or(usize::MAX);
        let fetched: HashSet<&str> = fetch.iter().map(String::as_str).collect();
        let (mut here, mut there) = (0, 0);
        let ids: Vec<RecordId> = links.values().map(|link| link.record).collect();
        let names = self.collection.resource_names(&ids)?;
        for (link, name) in links.values().zip(names) {
            let is_kept = name.is_some()
                || self.pair.settings.direction == Direction::FromServer
                || self.gone.contains(&link.href)
                || fetched.contains(link.href.as_str());
            there += usize::from(!is_kept);
            // One that is gone on both sides is no removal any more.
            here += usize::from(name.is_some() && self.gone.contains(&link.href));
        }
        let (side, count) = match here >= there {
            true => ("here", here),
            false => ("on the server", there),
        };
        let total = links.len();
        // Where removals are said one by one, they are meant.
        let is_empty = listing.is_full
            && !listing.only_gone_is_gone
            && listing.items.is_empty()
            && total > 0
            && here > 0;
        let is_large = count > FEW_REMOVALS && count * LARGE_SHARE > total;
        if count <= allowed || !(is_empty || is_large) {
            return Ok(None);
        }
        let lists = match is_empty {
            true => "the server lists nothing any more: ",
            false => "",
        };
        Ok(Some(format!(
            "{lists}{count} of {total} would be removed {side}; if that is meant, allow it with \
             --allow-removals {count}"
        )))
    }

    /// Fetches the server's changes, and takes them over.
    fn take_all(&mut self, fetch: &[String]) -> Result<(), SyncError> {
        for hrefs in fetch.chunks(self.remote.batch()) {
            let mut members = Vec::with_capacity(hrefs.len());
            self.remote.fetch(hrefs, &mut |href, member| {
                members.push((href.to_owned(), member));
                Ok(())
            })?;
            // New ones, which most of a first run are, go in in one transaction.
            let mut new = Vec::new();
            for (href, member) in members {
                match member {
                    Member::There { etag, text } => {
                        let is_new =
                            self.links.of_href(&href)?.is_none() && !self.is_here(&text)?;
                        match is_new {
                            true if self.pair.settings.direction == Direction::ToServer => {}
                            true => new.push((href, etag, text)),
                            false => self.changed_there(&href, etag, text)?,
                        }
                    }
                    Member::Gone => match self.links.of_href(&href)? {
                        Some(_) => self.gone_there(&href)?,
                        None => self.clear(&href)?,
                    },
                    Member::Refused(reason) => {
                        self.problem(&href, &title_of_href(&href), reason, None)?;
                    }
                }
            }
            self.add_all(new)?;
            self.step(hrefs.len() as u64);
        }
        Ok(())
    }

    /// Returns true if a record here has the UID of a text.
    fn is_here(&self, text: &[u8]) -> Result<bool, SyncError> {
        let Ok(uid) = self.links.identity_of(text) else {
            return Ok(false);
        };
        let key = ResourceKey::Uid(&uid);
        Ok(self.collection.resource(key)?.is_some())
    }

    fn add_all(&mut self, new: Vec<(String, Option<String>, Vec<u8>)>) -> Result<(), SyncError> {
        let changes = new.iter().map(|(href, etag, text)| LinkedChange {
            record: RecordEdit::Add(text),
            link: LinkEdit::Put(agreed_link(href, etag.clone(), text)),
            agrees: true,
            lost: None,
        });
        let made = self.links.commit(changes.collect())?;
        for ((href, etag, text), made) in new.into_iter().zip(made) {
            match made {
                Ok(_) => {
                    self.report.added_here += 1;
                    self.clear(&href)?;
                }
                // Two of a batch have one UID.
                Err(Error::UidTaken { .. }) => self.changed_there(&href, etag, text)?,
                Err(error) => self.refuse(&href, etag, &text, &error)?,
            }
        }
        Ok(())
    }

    /// Takes over a text of the server.
    fn changed_there(
        &mut self,
        href: &str,
        etag: Option<String>,
        text: Vec<u8>,
    ) -> Result<(), SyncError> {
        self.keep_lost(href, &etag)?;
        for _ in 0..TRIES {
            let link = match self.links.of_href(href)? {
                Some(link) => link,
                None => match self.link_of_uid(href, &text)? {
                    Found::Link(link) => link,
                    Found::Nothing => {
                        let link = agreed_link(href, etag.clone(), &text);
                        match self.commit(RecordEdit::Add(&text), link, true, None)? {
                            Ok(()) => {
                                self.report.added_here += 1;
                                return self.clear(href);
                            }
                            // Another program was faster, or another of the batch has the UID.
                            Err(Error::UidTaken { .. }) => continue,
                            Err(error) => return self.refuse(href, etag, &text, &error),
                        }
                    }
                    Found::Other(other) => {
                        let reason =
                            format!("the server has two with this UID, the other one at {other}");
                        // Without its tag, so that it is looked at again: the other one may go.
                        return self.problem(href, &self.title(&text), reason, None);
                    }
                },
            };
            let record = self.collection.resource(link.record)?;
            let uid = uid_of(&text).and_then(|_| self.links.identity_of(&text).ok());
            let is_other = |now: &StoredResource| uid.as_ref().is_some_and(|uid| *uid != now.uid);
            if link.remote.is_empty() && record.as_ref().is_some_and(is_other) {
                // The place that was chosen for a new one is another's.
                self.to_send.insert(link.record.0);
                one(self.links.commit(vec![keep(LinkEdit::Delete(href))])?)?;
                continue;
            }
            let made = match record {
                Some(now) => self.take(link, now, etag.clone(), &text)?,
                None => self.take_removed(link, etag.clone(), &text)?,
            };
            match made {
                Ok(()) => return self.clear(href),
                // Another program was faster.
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return self.refuse(href, etag, &text, &error),
            }
        }
        let reason = "it is being changed here again and again".to_owned();
        self.problem(href, &self.title(&text), reason, None)
    }

    /// Keeps texts of this device that lost where changes met on the other side.
    fn keep_lost(&mut self, href: &str, etag: &Option<String>) -> Result<(), SyncError> {
        let Some(link) = self.links.of_href(href)?.filter(|link| link.etag != *etag) else {
            return Ok(());
        };
        for lost in self.remote.lost(href)? {
            let uid = uid_of(&lost.text).unwrap_or_default();
            let reason = format!(
                "changed here and on another device: {}; that of the other is used, and this is that of here",
                lost.properties.join(", ")
            );
            self.store.refused().keep(&RefusedText {
                collection: self.pair.settings.collection,
                name: &title_of_href(href),
                record: Some(link.record),
                uid: Some(&uid),
                text: &lost.text,
                device: self.options.account,
                reason: &reason,
            })?;
            let title = self.title(&lost.text);
            self.report.conflicts.push(title);
        }
        Ok(())
    }

    /// Takes over a change of the server where the record was removed here.
    fn take_removed(
        &mut self,
        link: Link,
        etag: Option<String>,
        text: &[u8],
    ) -> Result<etui::Result<()>, SyncError> {
        let is_sent = link.sending.as_ref().is_some_and(|(sent, _)| sent == text);
        if text == link.remote || is_sent {
            // Nobody else changed it: it is removed there, too.
            self.to_send.insert(link.record.0);
            let link = Link {
                etag,
                sending: None,
                ..link
            };
            return self.commit(RecordEdit::Keep, link, false, None);
        }
        let link = agreed_link(&link.href, etag, text);
        let made = self.commit(RecordEdit::Add(text), link, true, None)?;
        if made.is_ok() {
            let title = self.title(text);
            self.report.brought_back.push(title);
            self.report.added_here += 1;
        }
        Ok(made)
    }

    /// Takes over a change of the server in a record.
    fn take(
        &mut self,
        mut link: Link,
        now: StoredResource,
        etag: Option<String>,
        text: &[u8],
    ) -> Result<etui::Result<()>, SyncError> {
        if let Some((sent, sent_tag)) = link.sending.take() {
            // The run that sent it did not read the answer.
            if sent == text {
                let is_same = now.tag == sent_tag;
                let agreed = Link {
                    etag,
                    tag: is_same.then_some(now.tag),
                    remote: sent,
                    local: if is_same { now.bytes } else { text.to_vec() },
                    ..link
                };
                if !is_same {
                    self.to_send.insert(now.id.0);
                }
                return self.commit(RecordEdit::Keep, agreed, false, None);
            }
            if link.remote.is_empty() {
                // It arrived as a new one, and the server wrote it in its own way, or somebody changed it since.
                link.local = match now.tag == sent_tag {
                    true => now.bytes.clone(),
                    false => sent.clone(),
                };
                link.remote = sent;
            }
            link.tag = None;
            self.to_send.insert(now.id.0);
        }
        if text == link.remote {
            let link = Link { etag, ..link };
            return self.commit(RecordEdit::Keep, link, false, None);
        }
        let theirs = Side {
            base: &link.remote,
            text,
        };
        let is_changed = link.tag != Some(now.tag);
        let merge_here = |local: &[u8]| {
            let ours = Side {
                base: &link.local,
                text: local,
            };
            match local == link.local && link.local == link.remote {
                true => Ok((text.to_vec(), Vec::new(), MergeWinner::Theirs)),
                false => merge::<R>(ours, theirs),
            }
        };
        let parts = match is_changed {
            true => {
                merge_here(&now.bytes).and_then(|merged| Ok((merged, merge_here(&link.local)?.0)))
            }
            false => merge_here(&now.bytes).map(|merged| (merged.clone(), merged.0)),
        };
        let ((merged, conflicts, winner), taken) = match parts {
            Ok(parts) => parts,
            Err(error) => return Ok(Err(error)),
        };
        // Both agree on the record with the server's changes alone; the others are still to be sent.
        let agrees = merged == taken;
        let is_new = merged != now.bytes;
        let lost = self.lost(&conflicts, winner, &link.href, &now, text);
        let next = Link {
            href: link.href.clone(),
            record: now.id,
            etag,
            tag: (agrees && !is_new).then_some(now.tag),
            remote: text.to_vec(),
            local: taken,
            sending: None,
        };
        let record = match is_new {
            true => RecordEdit::Change(now.id, now.tag, &merged),
            false => RecordEdit::Keep,
        };
        let lost_text = lost.as_ref().map(|lost| lost.text(self));
        let made = self.commit(record, next, agrees && is_new, lost_text)?;
        if made.is_ok() {
            self.report.changed_here += u64::from(is_new);
            if !agrees {
                self.to_send.insert(now.id.0);
            }
            if lost.is_some() {
                let title = self.title(text);
                self.report.conflicts.push(title);
            }
        }
        Ok(made)
    }

    /// Returns the text that lost, if the changes of both sides conflict.
    fn lost(
        &self,
        conflicts: &[MergeConflict],
        winner: MergeWinner,
        href: &str,
        now: &StoredResource,
        theirs: &[u8],
    ) -> Option<Lost> {
        if conflicts.is_empty() {
            return None;
        }
        let mut properties: Vec<&str> = conflicts.iter().map(|c| c.property.as_str()).collect();
        properties.dedup();
        let (text, won, lost) = match winner {
            MergeWinner::Ours => (theirs, "that of here", "the server's"),
            MergeWinner::Theirs => (now.bytes.as_slice(), "that of the server", "that of here"),
        };
        Some(Lost {
            name: href.rsplit('/').next().unwrap_or_default().to_owned(),
            record: now.id,
            uid: now.uid.clone(),
            text: text.to_vec(),
            reason: format!(
                "changed here and on the server: {}; {won} is used, and this is {lost}",
                properties.join(", ")
            ),
        })
    }

    /// Returns the link of the record that has the UID of a text, or the one to make for it.
    fn link_of_uid(&self, href: &str, text: &[u8]) -> Result<Found, SyncError> {
        let Ok(uid) = self.links.identity_of(text) else {
            return Ok(Found::Nothing);
        };
        let Some(now) = self.collection.resource(ResourceKey::Uid(&uid))? else {
            return Ok(Found::Nothing);
        };
        Ok(match self.links.of_record(now.id)? {
            // The server moved it, or stored it under another name.
            Some(link) if link.remote.is_empty() || self.gone.contains(&link.href) => {
                Found::Link(Link {
                    href: href.to_owned(),
                    ..link
                })
            }
            Some(link) => {
                let mut is_gone = false;
                let hrefs = [link.href.clone()];
                self.remote.fetch(&hrefs, &mut |_, member| {
                    is_gone = member == Member::Gone;
                    Ok(())
                })?;
                match is_gone {
                    true => Found::Link(Link {
                        href: href.to_owned(),
                        ..link
                    }),
                    false => Found::Other(link.href),
                }
            }
            None if now.bytes == text => Found::Link(Link {
                tag: Some(now.tag),
                ..agreed_link_of(now.id, href, text)
            }),
            // They never agreed: differences are merged without a base.
            None => Found::Link(Link {
                tag: None,
                ..agreed_link_of(now.id, href, b"")
            }),
        })
    }

    /// Removes a record that the server has no longer, or sends it again if it was changed here.
    fn gone_there(&mut self, href: &str) -> Result<(), SyncError> {
        self.clear(href)?;
        for _ in 0..TRIES {
            let Some(link) = self.links.of_href(href)? else {
                return Ok(());
            };
            let now = self.collection.resource(link.record)?;
            let (record, title) = match &now {
                Some(now) if link.tag == Some(now.tag) => {
                    (RecordEdit::Remove(now.id, now.tag), None)
                }
                Some(now) => {
                    self.to_send.insert(now.id.0);
                    // One that never arrived is a new one.
                    let was_there = !link.remote.is_empty();
                    (RecordEdit::Keep, was_there.then(|| self.title(&now.bytes)))
                }
                None => (RecordEdit::Keep, None),
            };
            let is_removal = matches!(record, RecordEdit::Remove(..));
            let change = LinkedChange {
                record,
                link: LinkEdit::Delete(href),
                agrees: false,
                lost: None,
            };
            match one(self.links.commit(vec![change])?) {
                Err(Error::ConditionFailed { .. }) => continue,
                made => made?,
            }
            self.report.removed_here += u64::from(is_removal);
            if self.pair.settings.direction != Direction::FromServer {
                self.report.brought_back.extend(title);
            }
            return Ok(());
        }
        Ok(())
    }

    /// Sends a change of a record, if there is one.
    fn changed_here(&mut self, record: RecordId) -> Result<(), SyncError> {
        if self.pair.settings.direction == Direction::FromServer {
            return Ok(());
        }
        let item = format!("#{record}");
        for tried in 0..TRIES {
            let now = self.collection.resource(record)?;
            let link = self.links.of_record(record)?;
            let next = match (now, link) {
                (None, None) => Next::Done,
                (Some(now), Some(link)) if link.tag == Some(now.tag) && link.sending.is_none() => {
                    Next::Done
                }
                // Without a tag it would be overwritten, whatever it is.
                (_, Some(link)) if link.sending.is_some() || link.etag.is_none() && tried == 0 => {
                    self.look_again(&link.href)?
                }
                (_, Some(link)) if link.etag.is_none() => Next::Problem(
                    self.title(&link.remote),
                    "the server gives no entity tag, without which it may overwrite another change"
                        .to_owned(),
                ),
                (None, Some(link)) => self.remove_there(&link)?,
                (Some(now), Some(link)) => self.send(now, link, false)?,
                (Some(now), None) => {
                    let href = self.new_href(&now)?;
                    let link = agreed_link_of(now.id, &href, b"");
                    self.send(now, link, true)?
                }
            };
            match next {
                Next::Done => return self.clear(&item),
                Next::Again => {}
                Next::Problem(title, reason) => return self.problem(&item, &title, reason, None),
            }
        }
        let reason = "it is being changed on the server again and again".to_owned();
        self.problem(&item, &item, reason, None)
    }

    /// Reads a resource of the server, and takes it over.
    fn look_again(&mut self, href: &str) -> Result<Next, SyncError> {
        let mut found = None;
        self.remote.fetch(&[href.to_owned()], &mut |_, member| {
            found = Some(member);
            Ok(())
        })?;
        match found {
            Some(Member::There { etag, text }) => self.changed_there(href, etag, text)?,
            Some(Member::Gone) => self.gone_there(href)?,
            Some(Member::Refused(reason)) => {
                return Ok(Next::Problem(title_of_href(href), reason));
            }
            None => {}
        }
        Ok(Next::Again)
    }

    fn remove_there(&mut self, link: &Link) -> Result<Next, SyncError> {
        let etag = link.etag.as_deref().unwrap_or_default();
        match self.remote.remove(&link.href, etag)? {
            Sending::Done { .. } | Sending::Gone(_) => {
                self.removed.push(link.href.clone());
                self.report.removed_there += 1;
                if self.removed.len() >= self.remote.batch() {
                    self.read_back()?;
                }
                Ok(Next::Done)
            }
            Sending::Changed => self.look_again(&link.href),
            Sending::Unclear(reason) | Sending::Refused(reason) => {
                Ok(Next::Problem(self.title(&link.remote), reason))
            }
        }
    }

    fn send(&mut self, now: StoredResource, link: Link, is_new: bool) -> Result<Next, SyncError> {
        let text = R::outgoing(&now.bytes, self.pair.settings.takes_v4);
        if !is_new && text == link.remote {
            // Nothing that the server can see.
            let link = Link {
                tag: Some(now.tag),
                local: now.bytes,
                ..link
            };
            one(self.links.commit(vec![keep(LinkEdit::Put(link))])?)?;
            return Ok(Next::Done);
        }
        // Before it is sent: a run that is cut off here finds out whether it arrived.
        let sending = Link {
            sending: Some((text.clone(), now.tag)),
            ..link.clone()
        };
        one(self.links.commit(vec![keep(LinkEdit::Put(sending))])?)?;
        let etag = link.etag.as_deref().filter(|_| !is_new);
        match self.remote.put(&link.href, text, etag)? {
            Sending::Done { etag, href } => {
                if href != link.href {
                    let sending = Some((
                        R::outgoing(&now.bytes, self.pair.settings.takes_v4),
                        now.tag,
                    ));
                    let link = Link {
                        href: href.clone(),
                        sending,
                        ..link
                    };
                    one(self.links.commit(vec![keep(LinkEdit::Put(link))])?)?;
                }
                self.report.sent += 1;
                if is_new {
                    self.made_there.push(href.clone());
                }
                // Without a tag, the next text may be another one's: it is read back at once.
                let is_urgent = etag.is_none();
                self.waiting.push(Sent {
                    href,
                    etag,
                    record: now.id,
                    tag: now.tag,
                    local: now.bytes,
                });
                if is_urgent || self.waiting.len() >= self.remote.batch() {
                    self.read_back()?;
                }
                Ok(Next::Done)
            }
            Sending::Changed => {
                // A link of a text that never arrived is forgotten, if the place is another's.
                let next = self.look_again(&link.href)?;
                if is_new
                    && let Some(found) = self.links.of_record(now.id)?
                    && found.sending.is_some()
                {
                    one(self
                        .links
                        .commit(vec![keep(LinkEdit::Delete(&found.href))])?)?;
                }
                Ok(next)
            }
            Sending::Gone(_) if !is_new => self.look_again(&link.href),
            Sending::Unclear(reason) => Ok(Next::Problem(self.title(&now.bytes), reason)),
            Sending::Gone(reason) | Sending::Refused(reason) => {
                let title = self.title(&now.bytes);
                let back = match is_new {
                    true => LinkEdit::Delete(&link.href),
                    false => LinkEdit::Put(link.clone()),
                };
                one(self.links.commit(vec![keep(back)])?)?;
                Ok(Next::Problem(title, reason))
            }
        }
    }

    /// Reads the sent texts as the server has them now: both agree on these.
    fn read_back(&mut self) -> Result<(), SyncError> {
        self.remote.settle()?;
        for href in std::mem::take(&mut self.removed) {
            one(self.links.commit(vec![keep(LinkEdit::Delete(&href))])?)?;
        }
        let sent = std::mem::take(&mut self.waiting);
        let hrefs: Vec<String> = sent.iter().map(|sent| sent.href.clone()).collect();
        let mut members = HashMap::new();
        self.remote.fetch(&hrefs, &mut |href, member| {
            members.insert(href.to_owned(), member);
            Ok(())
        })?;
        for sent in sent {
            let Some(Member::There { etag, text }) = members.remove(&sent.href) else {
                // It is not where it was sent to: the next run finds it, by its UID.
                continue;
            };
            let Some(link) = self.links.of_href(&sent.href)? else {
                continue;
            };
            let Some((sending, _)) = link.sending.clone() else {
                continue;
            };
            let is_ours = sent.etag.is_none() || sent.etag == etag;
            let agreed = Link {
                href: sent.href.clone(),
                record: sent.record,
                etag: if is_ours { etag.clone() } else { sent.etag },
                tag: Some(sent.tag),
                remote: if is_ours { text.clone() } else { sending },
                local: sent.local,
                sending: None,
            };
            one(self.links.commit(vec![keep(LinkEdit::Put(agreed))])?)?;
            if !is_ours {
                // Somebody changed it since.
                self.changed_there(&sent.href, etag, text)?;
            }
        }
        Ok(())
    }

    /// Returns a path that is not taken by another link for a record that the server has not.
    fn new_href(&self, now: &StoredResource) -> Result<String, SyncError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@+".contains(c);
        let name = match now.uid.len() <= 120
            && !now.uid.is_empty()
            && now.uid.chars().all(is_plain)
            && !now.uid.starts_with('.')
        {
            true => now.uid.clone(),
            // Servers have limits for names, and trouble with slashes and colons.
            false => blake3::hash(now.uid.as_bytes()).to_hex()[..32].to_owned(),
        };
        for n in 0..100 {
            let number = if n == 0 {
                String::new()
            } else {
                format!("-{n}")
            };
            let path = self
                .remote
                .href_of(&format!("{name}{number}{}", R::EXTENSION));
            let is_taken = self.links.of_href(&path)?.is_some()
                || self.refused.iter().any(|problem| problem.item == path);
            if !is_taken {
                return Ok(path);
            }
        }
        Ok(self.remote.href_of(&format!("{}{}", now.id, R::EXTENSION)))
    }

    fn commit(
        &self,
        record: RecordEdit<'_>,
        link: Link,
        agrees: bool,
        lost: Option<RefusedText<'_>>,
    ) -> Result<etui::Result<()>, SyncError> {
        let change = LinkedChange {
            record,
            link: LinkEdit::Put(link),
            agrees,
            lost,
        };
        Ok(one(self.links.commit(vec![change])?))
    }

    fn title(&self, text: &[u8]) -> String {
        title_of(text, R::KIND)
    }

    /// Records that the store does not take a text of the server.
    fn refuse(
        &mut self,
        href: &str,
        etag: Option<String>,
        text: &[u8],
        error: &Error,
    ) -> Result<(), SyncError> {
        if matches!(
            error,
            Error::DiskFull(_) | Error::ReadOnly(_) | Error::Busy { .. }
        ) {
            return Err(SyncError::Refused(
                self.store.path().display().to_string(),
                error.to_string(),
            ));
        }
        self.problem(href, &self.title(text), error.to_string(), etag)
    }

    fn problem(
        &mut self,
        item: &str,
        title: &str,
        reason: String,
        etag: Option<String>,
    ) -> Result<(), SyncError> {
        let problem = SyncProblem {
            item: item.to_owned(),
            title: title.to_owned(),
            reason,
            etag,
            since: 0,
            times: 0,
        };
        self.store.sync().report_problem(self.pair.id, &problem)?;
        if !self.refused.iter().any(|known| known.item == item) {
            self.refused.push(problem);
        }
        Ok(())
    }

    fn clear(&mut self, item: &str) -> Result<(), SyncError> {
        if let Some(at) = self.refused.iter().position(|known| known.item == item) {
            self.refused.swap_remove(at);
            self.store.sync().clear_problem(self.pair.id, item)?;
        }
        Ok(())
    }
}

/// The next step after an attempt to send.
enum Next {
    Done,
    Again,
    Problem(String, String),
}

enum Found {
    Link(Link),
    Nothing,
    Other(String),
}

/// A text that lost.
struct Lost {
    name: String,
    record: RecordId,
    uid: String,
    text: Vec<u8>,
    reason: String,
}

impl Lost {
    fn text<'l, R: SyncKind>(&'l self, run: &'l Run<'_, '_, R>) -> RefusedText<'l> {
        RefusedText {
            collection: run.pair.settings.collection,
            name: &self.name,
            record: Some(self.record),
            uid: Some(&self.uid),
            text: &self.text,
            device: run.options.account,
            reason: &self.reason,
        }
    }
}

/// A link of a text that both agree on; the record is filled in.
fn agreed_link(href: &str, etag: Option<String>, text: &[u8]) -> Link {
    Link {
        href: href.to_owned(),
        record: RecordId(0),
        etag,
        tag: None,
        remote: text.to_vec(),
        local: text.to_vec(),
        sending: None,
    }
}

fn agreed_link_of(record: RecordId, href: &str, text: &[u8]) -> Link {
    Link {
        record,
        ..agreed_link(href, None, text)
    }
}

/// Returns true for the tags of SOGo: it counts versions, and from 0 again if a resource was removed and another one has
/// its name, so that what it lists as changed may have the tag of an earlier text.
fn is_counter(etag: Option<&str>) -> bool {
    etag.is_some_and(|etag| etag.starts_with("\"gcs"))
}

fn keep(link: LinkEdit<'_>) -> LinkedChange<'_> {
    LinkedChange {
        record: RecordEdit::Keep,
        link,
        agrees: false,
        lost: None,
    }
}

/// Returns the result of the only change.
fn one<T>(made: Vec<etui::Result<T>>) -> etui::Result<()> {
    made.into_iter().try_for_each(|made| made.map(drop))
}

/// A resource whose text is not known is named as the server does.
fn title_of_href(href: &str) -> String {
    href.rsplit('/').next().unwrap_or(href).to_owned()
}
