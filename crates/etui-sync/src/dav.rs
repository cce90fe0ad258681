//! [`DavRemote`]: a collection of a CardDAV or CalDAV server.

use etui_dav::client::{
    Address, AnswerLimits, ClientRequest, CollectionItem, Multistatus, PutCondition, RemoteKind,
    Response, collection_state, delete, get, list_members, multiget, put, read_multistatus,
    sync_collection,
};
use etui_dav::xml::Namespace;
use http::header;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::SyncError;
use crate::http::{Answer, HttpClient};
use crate::kind::with_line_ends;
use crate::remote::{Listing, Member, Remote, Sending};

/// Texts of one request. Servers have limits, and members that they leave out are asked for again.
const BATCH: usize = 50;

/// Requests that one list of changes may take: Nextcloud cuts at 2,000, so that these are some millions.
const MAX_PARTS: usize = 4_000;

/// A collection of a server.
pub(crate) struct DavRemote<'c> {
    pub(crate) client: &'c HttpClient,
    pub(crate) address: Address,
    pub(crate) kind: RemoteKind,
}

impl Remote for DavRemote<'_> {
    fn batch(&self) -> usize {
        BATCH
    }

    fn list(&mut self, token: Option<&str>, ctag: Option<&str>) -> Result<Listing, SyncError> {
        if let Some(token) = token
            && let Some(changes) = self.changes(Some(token))?
        {
            return Ok(changes);
        }
        let (new_token, new_ctag) = self.state()?;
        // Without tokens, the tag of the collection says whether there is anything new.
        if token.is_none() && ctag.is_some() && ctag == new_ctag.as_deref() {
            return Ok(Listing {
                ctag: new_ctag,
                ..Listing::default()
            });
        }
        let all = match new_token {
            Some(_) => self.changes(None)?,
            None => None,
        };
        let mut listing = match all {
            Some(all) => all,
            None => self.members(new_token)?,
        };
        listing.is_full = true;
        listing.ctag = new_ctag;
        Ok(listing)
    }

    fn changes_since(&self, token: Option<&str>) -> Result<Option<Listing>, SyncError> {
        self.changes(token)
    }

    // What the server leaves out is asked for by itself.
    fn fetch(
        &self,
        hrefs: &[String],
        on_member: &mut dyn FnMut(&str, Member) -> Result<(), SyncError>,
    ) -> Result<(), SyncError> {
        for hrefs in hrefs.chunks(BATCH) {
            let asked: Vec<&str> = hrefs.iter().map(String::as_str).collect();
            let mut found: Vec<(String, Member)> = Vec::new();
            let request = multiget(&self.address, self.kind, &asked);
            let answer = self.client.send(&request)?;
            match answer.status {
                207 => {
                    let read = self.read(answer.body, &mut |response| {
                        let Some(item) = CollectionItem::of(&self.address, &response) else {
                            return false;
                        };
                        found.push(member(item));
                        true
                    });
                    // A text that XML cannot have spoils the answer; the others are asked for by themselves.
                    if let Err(error) = read
                        && !matches!(error, SyncError::Answer(_))
                    {
                        return Err(error);
                    }
                }
                401 => return Err(SyncError::Login(self.address.to_string())),
                // One bad name may have it refuse all; each is asked for by itself.
                400..=501 => drop(answer),
                _ => return Err(self.refused(answer.reason())),
            }
            for href in asked {
                let at = found.iter().position(|(found, _)| found == href);
                let member = match at.map(|at| found.swap_remove(at).1) {
                    Some(member @ (Member::There { .. } | Member::Gone)) => member,
                    _ => self.fetch_one(href)?,
                };
                on_member(href, member)?;
            }
        }
        Ok(())
    }

    fn href_of(&self, name: &str) -> String {
        let folder = self.address.path().trim_end_matches('/');
        let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
        self.address
            .with_path(&format!("{folder}/{name}"))
            .path()
            .to_owned()
    }

    fn put(&mut self, href: &str, text: Vec<u8>, etag: Option<&str>) -> Result<Sending, SyncError> {
        let at = self.address.with_path(href);
        let condition = match etag {
            Some(etag) => PutCondition::Unchanged(strong(etag)),
            None => PutCondition::New,
        };
        let answer = self.client.send(&put(&at, self.kind, text, condition))?;
        match answer.status {
            200..=299 => {
                let etag = answer.header(header::ETAG).map(str::to_owned);
                // A server may give it another name.
                let moved = answer.header(header::LOCATION);
                let moved = moved.and_then(|to| at.resolve(to).ok());
                let moved = moved.filter(|to| to.is_same_server(&at) && to.path() != at.path());
                let href = moved.map_or_else(|| href.to_owned(), |to| to.path().to_owned());
                Ok(Sending::Done { etag, href })
            }
            500 => Ok(Sending::Unclear(answer.reason())),
            _ => self.not_sent(answer),
        }
    }

    fn remove(&mut self, href: &str, etag: &str) -> Result<Sending, SyncError> {
        let request = delete(&self.address.with_path(href), strong(etag));
        let answer = self.client.send(&request)?;
        match answer.status {
            200..=299 => Ok(Sending::Done {
                etag: None,
                href: href.to_owned(),
            }),
            _ => self.not_sent(answer),
        }
    }
}

impl DavRemote<'_> {
    fn not_sent(&self, answer: Answer<'_>) -> Result<Sending, SyncError> {
        match answer.status {
            412 => Ok(Sending::Changed),
            404 | 410 => Ok(Sending::Gone(answer.reason())),
            401 => Err(SyncError::Login(self.address.to_string())),
            // It may have arrived: the mark stays, and the next run looks.
            502..=504 => Err(self.refused(answer.reason())),
            _ => Ok(Sending::Refused(answer.reason())),
        }
    }

    /// Returns the changes since a token, or all members; `None` if the server does not take it.
    fn changes(&self, since: Option<&str>) -> Result<Option<Listing>, SyncError> {
        let mut listing = Listing {
            token: since.map(str::to_owned),
            ..Listing::default()
        };
        for _ in 0..MAX_PARTS {
            let request = sync_collection(&self.address, listing.token.as_deref());
            let answer = self.client.send(&request)?;
            match answer.status {
                207 => {}
                401 => return Err(SyncError::Login(self.address.to_string())),
                // Of a token that it does not know, RFC 6578 has 403; others have 400, 409, 410, 412; and some do
                // not know the report.
                400..=499 | 501 => return Ok(None),
                _ => return Err(self.refused(answer.reason())),
            }
            let mut is_cut = false;
            let found = self.read(answer.body, &mut |response| {
                is_cut |= response.is_cut(&self.address);
                let Some(item) = CollectionItem::of(&self.address, &response) else {
                    return self.is_own(&response) || response.is_collection();
                };
                match item.is_gone() {
                    true => listing.gone.push(item.href),
                    // One that the server cannot deliver is listed: it is there.
                    false => listing.items.push((item.href, item.etag)),
                }
                true
            })?;
            let is_new = found.sync_token.is_some() && found.sync_token != listing.token;
            listing.token = found.sync_token.or(listing.token);
            if !is_cut {
                return Ok(Some(listing));
            }
            if !is_new {
                break;
            }
        }
        Err(self.refused("it lists its changes in parts without end".to_owned()))
    }

    /// Returns token and tag of the collection.
    fn state(&self) -> Result<(Option<String>, Option<String>), SyncError> {
        let answer = self.send(&collection_state(&self.address))?;
        let mut state = (None, None);
        self.read(answer, &mut |response| {
            let text = |ns, name| response.text(ns, name).map(str::to_owned);
            state = (
                text(&Namespace::Dav, "sync-token").or(state.0.take()),
                text(&Namespace::CalendarServer, "getctag").or(state.1.take()),
            );
            self.is_own(&response)
        })?;
        Ok(state)
    }

    fn members(&self, token: Option<String>) -> Result<Listing, SyncError> {
        let answer = self.send(&list_members(&self.address))?;
        let mut listing = Listing {
            token,
            ..Listing::default()
        };
        self.read(answer, &mut |response| {
            if let Some(item) = CollectionItem::of(&self.address, &response) {
                listing.items.push((item.href, item.etag));
                return true;
            }
            self.is_own(&response) || response.is_collection()
        })?;
        Ok(listing)
    }

    /// Returns true for a response about the collection itself.
    fn is_own(&self, response: &Response) -> bool {
        let own = self.address.path().trim_end_matches('/');
        let path = self.address.resolve(&response.href);
        path.is_ok_and(|path| path.path().trim_end_matches('/') == own)
    }

    /// Asks for one member by GET.
    fn fetch_one(&self, href: &str) -> Result<Member, SyncError> {
        let mut answer = self.client.send(&get(&self.address.with_path(href)))?;
        Ok(match answer.status {
            200 => {
                let etag = answer.header(http::header::ETAG).map(str::to_owned);
                let mut text = Vec::new();
                let limit = AnswerLimits::default().max_response_bytes;
                let mut body = std::io::Read::take(&mut answer.body, limit + 1);
                match std::io::Read::read_to_end(&mut body, &mut text) {
                    Ok(_) if text.len() as u64 > limit => {
                        Member::Refused("it is larger than 32 MiB".to_owned())
                    }
                    Ok(_) => Member::There {
                        etag,
                        // In another charset the bytes stay.
                        text: match std::str::from_utf8(&text) {
                            Ok(text) => with_line_ends(text),
                            Err(_) => text,
                        },
                    },
                    Err(error) => Member::Refused(error.to_string()),
                }
            }
            404 | 410 => Member::Gone,
            401 => return Err(SyncError::Login(self.address.to_string())),
            // The server itself is not there.
            502..=504 => return Err(self.refused(answer.reason())),
            _ => Member::Refused(answer.reason()),
        })
    }

    /// Sends a request whose answer is a 207.
    fn send(
        &self,
        request: &ClientRequest,
    ) -> Result<std::io::BufReader<crate::http::Body<'_>>, SyncError> {
        let answer = self.client.send(request)?;
        match answer.status {
            207 => Ok(answer.body),
            401 => Err(SyncError::Login(self.address.to_string())),
            404 | 410 => Err(SyncError::NoCollection(self.address.to_string())),
            _ => Err(self.refused(answer.reason())),
        }
    }

    /// Reads an answer; `on_response` returns true for one of the collection.
    fn read(
        &self,
        body: impl std::io::BufRead,
        on_response: &mut dyn FnMut(Response) -> bool,
    ) -> Result<Multistatus, SyncError> {
        let (mut all, mut own) = (0, 0);
        let found = read_multistatus(body, &AnswerLimits::default(), &mut |response| {
            all += 1;
            let is_cut = response.is_cut(&self.address);
            own += u64::from(on_response(response) || is_cut);
        })?;
        match all > 0 && own == 0 {
            true => Err(SyncError::OtherPaths(self.address.to_string())),
            false => Ok(found),
        }
    }

    fn refused(&self, reason: String) -> SyncError {
        SyncError::Refused(self.address.to_string(), reason)
    }
}

fn member(item: CollectionItem) -> (String, Member) {
    let member = match item.text {
        _ if item.is_gone() => Member::Gone,
        Some(text) if item.failure.is_none() => Member::There {
            etag: item.etag,
            text: with_line_ends(&text),
        },
        _ => {
            let status = item.failure.map(|status| status.to_string());
            let reason = item.reason.or(status);
            Member::Refused(reason.unwrap_or_else(|| "the server gives no text".to_owned()))
        }
    };
    (item.href, member)
}

/// Returns an entity tag as a condition has it: proxies that compress make it weak, and a weak one never matches (RFC
/// 9110 section 13.1.1).
fn strong(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}
