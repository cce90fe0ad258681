//! From the address that a person gives to the collections there (RFC 6764 section 6, without DNS).
//!
//! ```text
//! the address          current-user-principal, or a home, or is a collection itself
//! else /.well-known/   likewise, where a redirect leads
//! the principal        addressbook-home-set, calendar-home-set
//! each home            its collections
//! ```

use super::address::{Address, AddressError};
use super::answers::{Response, shortened};
use super::requests::{ClientRequest, list_collections, propfind};
use crate::xml::Namespace;

/// Addresses that one discovery asks: a redirect, a principal and a home for each kind are 8.
const MAX_STEPS: usize = 24;

/// What a collection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RemoteKind {
    /// Contacts.
    Contacts,
    /// Calendar objects.
    Calendar,
}

/// A collection of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteCollection {
    /// Where it is.
    pub address: Address,
    /// What it holds.
    pub kind: RemoteKind,
    /// Its name for people; the last part of the path if it has none.
    pub name: String,
    /// Its token (RFC 6578), if the server has tokens.
    pub sync_token: Option<String>,
    /// Its `getctag`.
    pub ctag: Option<String>,
    /// False if the server says that it cannot be written.
    pub is_writable: bool,
    /// The server takes contacts of vCard 4.0.
    pub takes_v4: bool,
    /// The components that a calendar takes, such as VEVENT; empty if the server does not say.
    pub components: Vec<String>,
    /// The colour of a calendar, as the server has it.
    pub color: Option<String>,
}

impl RemoteCollection {
    /// Returns the collection that a response of a home describes; `None` if it is none of contacts or calendar objects.
    #[must_use]
    pub fn of(home: &Address, response: &Response) -> Option<Self> {
        use Namespace::{Apple, CalDav, CalendarServer, CardDav, Dav};
        let types = response.property(&Dav, "resourcetype")?;
        let is_contacts = types.child(&CardDav, "addressbook").is_some();
        let is_calendar = types.child(&CalDav, "calendar").is_some();
        let kind = match (is_contacts, is_calendar) {
            (true, _) => RemoteKind::Contacts,
            (_, true) => RemoteKind::Calendar,
            _ => return None,
        };
        let address = home.resolve(&response.href).ok()?;
        home.trusts(&address).ok()?;
        let privileges = response.property(&Dav, "current-user-privilege-set");
        let may_write = |privileges: &crate::xml::Element| {
            let mut all = privileges.children.iter().flat_map(|one| &one.children);
            all.any(|one| ["write", "write-content", "all", "bind"].contains(&one.name.as_str()))
        };
        let components = response.property(&CalDav, "supported-calendar-component-set");
        let components = components.into_iter().flat_map(|set| &set.children);
        let own_name = address.path().trim_end_matches('/').rsplit('/').next();
        let name = response.text(&Dav, "displayname").or(own_name);
        Some(Self {
            kind,
            name: name.and_then(shortened).unwrap_or_default(),
            sync_token: response.text(&Dav, "sync-token").map(str::to_owned),
            ctag: response.text(&CalendarServer, "getctag").map(str::to_owned),
            is_writable: privileges.is_none_or(may_write),
            takes_v4: response
                .property(&CardDav, "supported-address-data")
                .is_some_and(|types| {
                    types
                        .children
                        .iter()
                        .any(|one| one.attribute("version") == Some("4.0"))
                }),
            components: components
                .filter_map(|one| Some(one.attribute("name")?.to_ascii_uppercase()))
                .collect(),
            color: response.text(&Apple, "calendar-color").map(str::to_owned),
            address,
        })
    }
}

/// Why nothing was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// A server refers to an address that is not asked.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The password is not taken.
    #[error("{0}: the server does not take this user and password")]
    Refused(String),
    /// The server has neither contacts nor calendars there.
    #[error(
        "{0}: there are no contacts and no calendars; give the address that the provider names for CalDAV or CardDAV"
    )]
    NothingFound(String),
    /// The server refers from one address to the next.
    #[error("{0}: the server refers from one address to the next without end")]
    TooManySteps(String),
}

/// What is to be done next.
#[derive(Debug, Clone)]
pub enum DiscoveryStep {
    /// Send this request, and pass on the answer.
    Send(ClientRequest),
    /// It is done: the collections, in the order of the server.
    Done(Vec<RemoteCollection>),
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    Start,
    WellKnown,
    Principal,
    Home,
}

/// A discovery: ask [`Discovery::step`] what to send, pass on the answer, until it is done.
#[derive(Debug, Clone)]
pub struct Discovery {
    given: Address,
    pending: Vec<(Question, Address)>,
    asked: Vec<(Question, Address)>,
    /// The question that was sent.
    current: Option<(Question, Address)>,
    found: Vec<RemoteCollection>,
    /// The kinds that have a home.
    homes: Vec<RemoteKind>,
    /// The given address is a collection, and the only one that is meant.
    is_exact: bool,
    is_refused: bool,
    /// An address that is not asked.
    error: Option<AddressError>,
}

impl Discovery {
    /// Begins at the address that a person gave.
    #[must_use]
    pub fn new(given: Address) -> Self {
        Self {
            pending: vec![(Question::Start, given.clone())],
            given,
            asked: Vec::new(),
            current: None,
            found: Vec::new(),
            homes: Vec::new(),
            is_exact: false,
            is_refused: false,
            error: None,
        }
    }

    /// Returns what is to be done next.
    ///
    /// # Errors
    /// [`DiscoveryError`]: nothing was found, and why.
    pub fn step(&mut self) -> Result<DiscoveryStep, DiscoveryError> {
        if self.pending.is_empty() {
            self.ask_well_known();
        }
        let given = || self.given.to_string();
        let next = self.pending.pop().filter(|_| self.asked.len() <= MAX_STEPS);
        let Some((question, address)) = next else {
            return match self.error.take() {
                _ if !self.found.is_empty() => {
                    Ok(DiscoveryStep::Done(std::mem::take(&mut self.found)))
                }
                Some(error) => Err(error.into()),
                None if self.is_refused => Err(DiscoveryError::Refused(given())),
                None if self.asked.len() > MAX_STEPS => Err(DiscoveryError::TooManySteps(given())),
                None => Err(DiscoveryError::NothingFound(given())),
            };
        };
        self.current = Some((question, address.clone()));
        Ok(DiscoveryStep::Send(request(question, &address)))
    }

    /// Asks the well-known addresses of the kinds that have no home yet.
    fn ask_well_known(&mut self) {
        if self.is_exact || self.is_refused {
            return;
        }
        let kinds = [
            (RemoteKind::Contacts, "carddav"),
            (RemoteKind::Calendar, "caldav"),
        ];
        for (kind, name) in kinds {
            if !self.homes.contains(&kind) {
                let address = self.given.with_path(&format!("/.well-known/{name}"));
                self.ask(Question::WellKnown, address);
            }
        }
    }

    /// Takes the resources of an answer.
    pub fn answered(&mut self, responses: &[Response]) {
        let Some((question, address)) = self.current.take() else {
            return;
        };
        let mut has_collections = false;
        for response in responses {
            if let Some(found) = RemoteCollection::of(&address, response) {
                has_collections = true;
                let all = &mut self.found;
                if !all.iter().any(|other| other.address == found.address) {
                    all.push(found);
                }
            }
        }
        self.is_exact |= has_collections && question == Question::Start;
        if question == Question::Home || has_collections {
            return;
        }
        let homes = [
            (
                RemoteKind::Contacts,
                Namespace::CardDav,
                "addressbook-home-set",
            ),
            (RemoteKind::Calendar, Namespace::CalDav, "calendar-home-set"),
        ];
        let mut next: Vec<(Question, &str)> = Vec::new();
        for (kind, ns, name) in &homes {
            let before = next.len();
            let all = responses
                .iter()
                .flat_map(|response| response.hrefs(ns, name));
            next.extend(all.map(|href| (Question::Home, href)));
            if next.len() > before {
                self.homes.push(*kind);
            }
        }
        if next.is_empty() && question != Question::Principal {
            let all = responses.iter();
            let principals = all.flat_map(|r| r.hrefs(&Namespace::Dav, "current-user-principal"));
            next.extend(principals.map(|href| (Question::Principal, href)));
        }
        // The last one is asked first.
        for (question, href) in next.into_iter().rev() {
            self.ask_at(question, &address, href);
        }
    }

    /// Takes an answer that refers to another address, as `Location` has it.
    pub fn redirected(&mut self, location: &str) {
        if let Some((question, address)) = self.current.take() {
            self.ask_at(question, &address, location);
        }
    }

    /// Takes a refusal: 401 is the password's, others say that there is nothing at this address.
    pub fn refused(&mut self, status: u16) {
        self.current = None;
        self.is_refused |= status == 401;
    }

    /// Asks at an address that a server names, if credentials may go there.
    fn ask_at(&mut self, question: Question, from: &Address, href: &str) {
        let to = from.resolve(href);
        match to.and_then(|to| self.given.trusts(&to).map(|()| to)) {
            Ok(to) => self.ask(question, to),
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }

    fn ask(&mut self, question: Question, address: Address) {
        let next = (question, address);
        if !self.asked.contains(&next) {
            self.asked.push(next.clone());
            self.pending.push(next);
        }
    }
}

fn request(question: Question, address: &Address) -> ClientRequest {
    use Namespace::{CalDav, CardDav, Dav};
    match question {
        Question::Home => list_collections(address),
        Question::Start | Question::WellKnown | Question::Principal => propfind(
            address,
            "0",
            &[
                (Dav, "resourcetype"),
                (Dav, "displayname"),
                (Dav, "current-user-principal"),
                (CardDav, "addressbook-home-set"),
                (CalDav, "calendar-home-set"),
            ],
        ),
    }
}
