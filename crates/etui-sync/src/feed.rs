//! [`FeedRemote`]: a calendar that is published as one file, such as holidays or the matches of a club.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Read;

use etui::sync::LinkBrief;
use etui_dav::client::{Address, get_if_changed};
use etui_ical::ics::{ObjectPiece, ObjectReader, RawComponent, RawZone};
use http::header;

use crate::error::SyncError;
use crate::http::{Answer, HttpClient};
use crate::kind::{unfold, values, with_line_ends};
use crate::remote::{Listing, Member, Remote, Sending};

/// Bytes of a feed that are read; those of large clubs and cities have a few MB.
const MAX_FEED: u64 = 64 << 20;

/// Lines that servers write anew each time that a feed is read: without them an entry is the same.
const VOLATILE: &[&str] = &["DTSTAMP", "UID", "CREATED", "LAST-MODIFIED", "SEQUENCE"];

/// An entry of a feed: the components of one UID.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    href: String,
    /// The hash of its text, without the lines that are new each time.
    etag: String,
    text: Vec<u8>,
}

/// A feed.
pub(crate) struct FeedRemote<'c> {
    client: &'c HttpClient,
    address: Address,
    /// The entries of the last run, with the hashes of their texts.
    known: Vec<LinkBrief>,
    /// The texts, once they are read.
    entries: RefCell<Option<HashMap<String, Entry>>>,
    name: RefCell<Option<String>>,
}

/// A feed's name and size.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeedInfo {
    /// Its name (RFC 7986 `NAME`, or `X-WR-CALNAME`).
    pub name: Option<String>,
    /// The number of its entries.
    pub entries: u64,
}

/// Reads a feed, and describes it.
///
/// # Errors
/// [`SyncError::Feed`] for anything else than a whole calendar; [`SyncError::Send`].
pub fn read_feed(client: &HttpClient, address: &Address) -> Result<FeedInfo, SyncError> {
    let feed = FeedRemote::new(client, address.clone(), Vec::new());
    let found = feed.ask(None)?.unwrap_or_default();
    let name = feed.name.borrow_mut().take();
    Ok(FeedInfo {
        name,
        entries: found.items.len() as u64,
    })
}

impl<'c> FeedRemote<'c> {
    pub(crate) fn new(client: &'c HttpClient, address: Address, known: Vec<LinkBrief>) -> Self {
        Self {
            client,
            address,
            known,
            entries: RefCell::new(None),
            name: RefCell::new(None),
        }
    }

    fn failed(&self, reason: &'static str) -> SyncError {
        SyncError::Feed(self.address.to_string(), reason)
    }

    /// Asks for the feed, if it is not as it was; `None` if it is.
    fn ask(&self, state: Option<&str>) -> Result<Option<Listing>, SyncError> {
        let (etag, modified) = state
            .and_then(|state| state.split_once('\n'))
            .unwrap_or_default();
        let answer = self
            .client
            .send(&get_if_changed(&self.address, etag, modified))?;
        match answer.status {
            200 => {}
            304 => return Ok(None),
            401 | 403 => return Err(SyncError::Login(self.address.to_string())),
            404 | 410 => return Err(self.failed("there is no such file")),
            _ => {
                let address = self.address.to_string();
                return Err(SyncError::Refused(address, answer.reason()));
            }
        }
        let value = |name| answer.header(name).unwrap_or_default();
        let state = format!("{}\n{}", value(header::ETAG), value(header::LAST_MODIFIED));
        let text = self.read(answer)?;
        let Parts {
            name,
            mut entries,
            unread,
        } = split(&text).map_err(|reason| self.failed(reason))?;
        *self.name.borrow_mut() = name;
        self.keep_names(&mut entries);
        let listing = Listing {
            items: entries
                .iter()
                .map(|entry| (entry.href.clone(), Some(entry.etag.clone())))
                .collect(),
            is_full: true,
            // One that cannot be read now is not gone.
            only_gone_is_gone: unread > 0,
            note: (unread > 0).then(|| {
                format!("{unread} of its entries cannot be read; nothing is removed meanwhile")
            }),
            ctag: Some(state).filter(|state| state != "\n"),
            ..Listing::default()
        };
        let by_href = entries.into_iter().map(|entry| (entry.href.clone(), entry));
        *self.entries.borrow_mut() = Some(by_href.collect());
        Ok(Some(listing))
    }

    fn read(&self, mut answer: Answer<'_>) -> Result<Vec<u8>, SyncError> {
        let length = answer.header(header::CONTENT_LENGTH);
        let length: Option<u64> = length.and_then(|length| length.parse().ok());
        let mut text = Vec::new();
        let read = (&mut answer.body).take(MAX_FEED + 1).read_to_end(&mut text);
        let found = text.len() as u64;
        match read {
            _ if found > MAX_FEED => Err(self.failed("it is larger than 64 MiB")),
            Ok(_) if length.is_none_or(|length| length == found) => Ok(text),
            _ => Err(self.failed("the file is cut off")),
        }
    }

    /// Gives entries that got another UID and nothing else the place of the one that they were: some servers make
    /// new UIDs each time.
    fn keep_names(&self, entries: &mut [Entry]) {
        let now: HashSet<&str> = entries.iter().map(|entry| entry.href.as_str()).collect();
        let mut before: HashMap<&str, Vec<&str>> = HashMap::new();
        for link in &self.known {
            if let Some(etag) = &link.etag
                && !now.contains(link.href.as_str())
            {
                before.entry(etag).or_default().push(&link.href);
            }
        }
        if before.is_empty() {
            return;
        }
        let known: HashSet<&str> = self.known.iter().map(|link| link.href.as_str()).collect();
        for entry in entries {
            if !known.contains(entry.href.as_str())
                && let Some(href) = before.get_mut(entry.etag.as_str()).and_then(Vec::pop)
            {
                entry.href = href.to_owned();
            }
        }
    }
}

impl Remote for FeedRemote<'_> {
    fn batch(&self) -> usize {
        500
    }

    fn list(&mut self, _token: Option<&str>, ctag: Option<&str>) -> Result<Listing, SyncError> {
        Ok(self.ask(ctag)?.unwrap_or_else(|| Listing {
            ctag: ctag.map(str::to_owned),
            ..Listing::default()
        }))
    }

    fn fetch(
        &self,
        hrefs: &[String],
        on_member: &mut dyn FnMut(&str, Member) -> Result<(), SyncError>,
    ) -> Result<(), SyncError> {
        if !hrefs.is_empty() && self.entries.borrow().is_none() {
            self.ask(None)?;
        }
        let entries = self.entries.borrow();
        for href in hrefs {
            let entry = entries.as_ref().and_then(|entries| entries.get(href));
            let member = match entry {
                Some(entry) => Member::There {
                    etag: Some(entry.etag.clone()),
                    text: entry.text.clone(),
                },
                None => Member::Gone,
            };
            on_member(href, member)?;
        }
        Ok(())
    }

    fn href_of(&self, name: &str) -> String {
        place(name)
    }

    fn put(&mut self, _: &str, _: Vec<u8>, _: Option<&str>) -> Result<Sending, SyncError> {
        Ok(Sending::Refused(
            "a subscription takes no changes".to_owned(),
        ))
    }

    fn remove(&mut self, href: &str, _: &str) -> Result<Sending, SyncError> {
        self.put(href, Vec::new(), None)
    }
}

fn place(uid: &str) -> String {
    format!("/{}", short_hash(uid.as_bytes()))
}

fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

/// The parts of a feed.
struct Parts {
    name: Option<String>,
    entries: Vec<Entry>,
    /// Entries that cannot be read.
    unread: usize,
}

/// Splits a feed, or says why it is none.
fn split(feed: &[u8]) -> Result<Parts, &'static str> {
    let trimmed = feed.trim_ascii();
    let trimmed = trimmed.strip_prefix(b"\xef\xbb\xbf").unwrap_or(trimmed);
    let starts = |text: &[u8]| {
        let start = trimmed.get(..text.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(text))
    };
    if !starts(b"BEGIN:VCALENDAR") {
        return Err(match starts(b"<") {
            true => "the address gives a web page, such as one to log in, and no calendar",
            false => "the address gives something else than a calendar",
        });
    }
    let mut groups: Vec<Vec<RawComponent>> = Vec::new();
    let mut by_uid: HashMap<String, usize> = HashMap::new();
    let mut instances = HashSet::new();
    let mut zones: Vec<RawZone> = Vec::new();
    let (mut is_whole, mut unread) = (false, 0);
    let mut name = None;
    for piece in ObjectReader::new(feed) {
        match piece.map_err(|_| "it cannot be read")? {
            ObjectPiece::Zone(zone) => zones.push(zone),
            ObjectPiece::Component(mut component) => {
                component.bytes = with_line_ends_of(&component.bytes);
                let uid = match component.uid.clone() {
                    Some(uid) => uid,
                    None => give_uid(&mut component),
                };
                // The first of two of one instance is used.
                let instance = (uid.clone(), component.kind, component.recurrence_id.clone());
                if instances.insert(instance) {
                    let at = *by_uid.entry(uid).or_insert(groups.len());
                    match groups.get_mut(at) {
                        Some(group) => group.push(component),
                        None => groups.push(vec![component]),
                    }
                }
            }
            ObjectPiece::Text(text) => {
                is_whole = ends_object(&text.bytes);
                name = name.or_else(|| name_in(&text.bytes));
            }
            ObjectPiece::Refused(_) => unread += 1,
        }
    }
    // Half a file: what is behind the cut is unknown, not gone.
    if !is_whole {
        return Err("the file is cut off");
    }
    let mut named = HashMap::new();
    for zone in &zones {
        named.entry(zone.tzid.as_str()).or_insert(zone);
    }
    let entries = groups.iter().map(|group| entry(group, &named));
    Ok(Parts {
        name,
        entries: entries.collect(),
        unread,
    })
}

fn name_in(text: &[u8]) -> Option<String> {
    let text = unfold(text);
    let found = values(&text, "NAME").chain(values(&text, "X-WR-CALNAME"));
    let plain = found.map(|name| name.replace("\\,", ",").replace("\\;", ";"));
    plain
        .map(|name| name.trim().to_owned())
        .find(|name| !name.is_empty())
}

fn ends_object(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let end = b"END:VCALENDAR";
    text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
}

fn with_line_ends_of(bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => with_line_ends(text),
        // In another charset the bytes stay.
        Err(_) => bytes.to_vec(),
    }
}

/// Gives a component without UID one that is the same each time.
fn give_uid(component: &mut RawComponent) -> String {
    let uid = format!("etui-{}", short_hash(&said(&component.bytes)));
    let line = format!("UID:{uid}\r\n");
    let first = component.bytes.iter().position(|b| *b == b'\n');
    let after = first.map_or(0, |at| at + 1);
    component.bytes.splice(after..after, line.into_bytes());
    component.uid = Some(uid.clone());
    uid
}

/// Returns the lines without those that are new each time.
fn said(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut is_kept = true;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        if !matches!(line.first(), Some(b' ' | b'\t')) {
            let end = line.iter().position(|b| matches!(b, b':' | b';'));
            let name = &line[..end.unwrap_or(0)];
            is_kept = !VOLATILE
                .iter()
                .any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
        }
        if is_kept {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// Returns the calendar object of components, with the zones that they name.
fn entry(group: &[RawComponent], zones: &HashMap<&str, &RawZone>) -> Entry {
    let components: Vec<u8> = group.iter().flat_map(|one| one.bytes.clone()).collect();
    let plain = String::from_utf8_lossy(&components).replace("\r\n ", "");
    let named: BTreeSet<&str> = plain.split("TZID=").skip(1).map(parameter_value).collect();
    let mut text = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//EN\r\n".to_vec();
    for zone in named.iter().filter_map(|name| zones.get(name)) {
        text.extend(with_line_ends_of(&zone.bytes));
    }
    let mut says = said(&text);
    says.extend(said(&components));
    text.extend(components);
    text.extend(b"END:VCALENDAR\r\n");
    let uid = group.first().and_then(|one| one.uid.as_deref());
    Entry {
        href: place(uid.unwrap_or_default()),
        etag: short_hash(&says),
        text,
    }
}

/// Returns the value of a parameter that a text begins with.
fn parameter_value(text: &str) -> &str {
    let (text, ends): (&str, &[char]) = match text.strip_prefix('"') {
        Some(quoted) => (quoted, &['"', '\r', '\n']),
        None => (text, &[';', ':', ',', '\r', '\n']),
    };
    text.split(ends).next().unwrap_or_default()
}
