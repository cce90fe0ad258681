//! Accounts of iCloud, Google and Fastmail, from the address that a person types to a change on each side: exchanges after
//! their public documentation, sabre's notes on clients and servers, and reports of users.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use etui::Store;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui::sync::{AccountSettings, Direction, PairSettings};
use etui_dav::client::{Address, RemoteCollection};
use etui_sync::{
    HttpClient, HttpOptions, Login, PairReport, SyncError, SyncOptions, discover, sync_pair,
};
use tempfile::TempDir;

use super::http::{HttpAnswer, HttpRequest, serve_http};
use super::place::texts;

/// How a provider differs.
#[derive(Clone, Copy)]
struct Provider {
    /// Where the well-known address leads.
    principal: &'static str,
    home: &'static str,
    /// The path of the address book, and other collections in the home.
    book: &'static str,
    others: &'static str,
    etag: fn(u64) -> String,
    /// What it stores of a text that is sent.
    stores: fn(&str) -> String,
    /// It says the tag of a text that it stores.
    says_etag: bool,
    /// It gives a new text another name.
    moves: bool,
}

#[derive(Default)]
struct State {
    next: u64,
    cards: BTreeMap<String, (u64, String)>,
    /// Tokens before this one have expired.
    oldest_token: u64,
    /// The access token has expired.
    is_expired: bool,
    sent: Vec<String>,
    log: Vec<String>,
}

struct Account {
    provider: Provider,
    state: Arc<Mutex<State>>,
    url: String,
    here: Store,
    _dir: TempDir,
}

fn found(href: &str, properties: &str) -> String {
    format!(
        "<d:response><d:href>{href}</d:href><d:propstat><d:prop>{properties}</d:prop>\
         <d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
    )
}

fn multistatus(inner: &str) -> HttpAnswer {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><d:multistatus xmlns:d=\"DAV:\" \
         xmlns:card=\"urn:ietf:params:xml:ns:carddav\">{inner}</d:multistatus>"
    );
    (207, "Content-Type: application/xml\r\n".to_owned(), text)
}

impl Provider {
    fn answer(&self, state: &mut State, request: &HttpRequest) -> HttpAnswer {
        let plain = |status| (status, String::new(), String::new());
        let (method, path) = (request.method.as_str(), request.path.as_str());
        state.log.push(format!("{method} {path}"));
        if !request.headers.contains_key("authorization") || state.is_expired {
            return plain(401);
        }
        let href = |name: &str| format!("{}{name}", self.book);
        let book = "<d:resourcetype><d:collection/><card:addressbook/></d:resourcetype>\
                    <d:displayname>Address Book</d:displayname>";
        match method {
            "PROPFIND" if path == "/.well-known/carddav" || path == "/" => (
                301,
                format!("Location: {}\r\n", self.principal),
                String::new(),
            ),
            "PROPFIND" if path == self.principal => {
                let home = format!(
                    "<d:current-user-principal><d:href>{}</d:href></d:current-user-principal>\
                     <card:addressbook-home-set><d:href>{}</d:href></card:addressbook-home-set>",
                    self.principal, self.home
                );
                multistatus(&found(path, &home))
            }
            "PROPFIND" if path == self.home => {
                let own = "<d:resourcetype><d:collection/></d:resourcetype>";
                let write = "<d:current-user-privilege-set><d:privilege><d:all/></d:privilege>\
                             <d:privilege><d:write/></d:privilege></d:current-user-privilege-set>";
                let all = found(self.home, own) + &found(self.book, &format!("{book}{write}"));
                multistatus(&(all + self.others))
            }
            "PROPFIND" if path == self.book => {
                let token = format!("<d:sync-token>t{}</d:sync-token>", state.next);
                multistatus(&found(path, &format!("{book}{token}")))
            }
            "REPORT" if request.body.contains("sync-collection") => {
                let since = request.body.split("sync-token>t").nth(1);
                let since: u64 = since
                    .and_then(|rest| rest.split('<').next()?.parse().ok())
                    .unwrap_or_default();
                if since > 0 && since < state.oldest_token {
                    let error = "<d:error xmlns:d=\"DAV:\"><d:valid-sync-token/></d:error>";
                    return (403, String::new(), error.to_owned());
                }
                let mut list = String::new();
                for (name, (number, _)) in state.cards.iter().filter(|(_, (n, _))| *n > since) {
                    let etag = format!("<d:getetag>{}</d:getetag>", (self.etag)(*number));
                    list += &found(&href(name), &etag);
                }
                write!(list, "<d:sync-token>t{}</d:sync-token>", state.next).unwrap();
                multistatus(&list)
            }
            "REPORT" => {
                let asked = request
                    .body
                    .split("href>")
                    .filter(|part| part.starts_with('/'));
                let answers = asked.map(|part| {
                    let asked = part.split('<').next().unwrap();
                    let name = asked.strip_prefix(self.book).unwrap_or_default();
                    match state.cards.get(name) {
                        Some((number, text)) => found(
                            asked,
                            &format!(
                                "<d:getetag>{}</d:getetag><card:address-data>{text}</card:address-data>",
                                (self.etag)(*number),
                                text = text.replace('&', "&amp;").replace('<', "&lt;")
                            ),
                        ),
                        None => format!(
                            "<d:response><d:href>{asked}</d:href><d:status>HTTP/1.1 404 Not Found</d:status></d:response>"
                        ),
                    }
                });
                multistatus(&answers.collect::<String>())
            }
            "PUT" => {
                let name = path.strip_prefix(self.book).unwrap_or_default();
                let now = state
                    .cards
                    .get(name)
                    .map(|(number, _)| (self.etag)(*number));
                let is_met = match (request.headers.get("if-match"), &now) {
                    (Some(asked), Some(now)) => asked == now,
                    (None, None) => true,
                    _ => false,
                };
                if !is_met {
                    return plain(412);
                }
                state.next += 1;
                let stored = match self.moves && now.is_none() {
                    true => format!("{:x}", 0x78ab_0000 + state.next),
                    false => name.to_owned(),
                };
                state.sent.push(request.body.clone());
                let text = (self.stores)(&request.body);
                state.cards.insert(stored.clone(), (state.next, text));
                let mut head = String::new();
                if self.says_etag {
                    write!(head, "ETag: {}\r\n", (self.etag)(state.next)).unwrap();
                }
                if self.moves {
                    write!(head, "Location: {}\r\n", href(&stored)).unwrap();
                }
                (201, head, String::new())
            }
            _ => plain(405),
        }
    }
}

impl Account {
    fn at(provider: Provider) -> Self {
        let state = Arc::new(Mutex::new(State {
            next: 1,
            ..State::default()
        }));
        let card = "BEGIN:VCARD\r\nVERSION:3.0\r\nPRODID:-//Provider//EN\r\nN:Lovelace;Ada;;;\r\nFN:Ada Lovelace\r\nUID:ada-1\r\n\
                    TEL;TYPE=CELL:+44 20 1\r\nEND:VCARD\r\n";
        state
            .lock()
            .unwrap()
            .cards
            .insert("ada-1.vcf".to_owned(), (1, card.to_owned()));
        let served = Arc::clone(&state);
        let address =
            serve_http(move |request| provider.answer(&mut served.lock().unwrap(), request));
        let dir = tempfile::tempdir().unwrap();
        let here = Store::open(dir.path().join("here.etui")).unwrap();
        Self {
            provider,
            state,
            url: format!("http://{address}/"),
            here,
            _dir: dir,
        }
    }

    fn client(&self) -> HttpClient {
        let address = Address::parse(&self.url).unwrap();
        HttpClient::new(
            &address,
            Login::Bearer("token".into()),
            &HttpOptions::default(),
        )
        .unwrap()
    }

    fn discover(&self) -> Vec<RemoteCollection> {
        discover(&self.client(), &Address::parse(&self.url).unwrap()).unwrap()
    }

    /// Pairs the address book.
    fn pair(&self) {
        let found = self.discover();
        let book = found
            .iter()
            .find(|one| one.address.path() == self.provider.book);
        let book = book.unwrap();
        assert_eq!(book.name, "Address Book");
        assert!(book.is_writable);
        let account = self.here.sync().add_account(&AccountSettings {
            name: "p".into(),
            url: self.url.clone(),
            ..AccountSettings::default()
        });
        let pair = PairSettings {
            account: account.unwrap(),
            kind: Card::KIND,
            collection: self.here.contacts().unwrap().id(),
            url: book.address.to_string(),
            direction: Direction::Both,
            takes_v4: book.takes_v4,
        };
        self.here.sync().add_pair(&pair).unwrap();
    }

    fn try_sync(&self) -> Result<PairReport, SyncError> {
        let account = self.here.sync().accounts().unwrap().remove(0).id;
        let pair = self.here.sync().pairs(account).unwrap().remove(0);
        let mut options = SyncOptions {
            account: "p",
            allow_removals: 0,
            is_dry_run: false,
            progress: &mut |_, _| {},
        };
        sync_pair::<Card>(&self.here, &self.client(), &pair, &mut options)
    }

    fn sync(&self) -> PairReport {
        self.try_sync().unwrap()
    }

    fn save(&self, card: &str) {
        let contacts = self.here.contacts().unwrap();
        contacts.save(&Card::parse(card).unwrap()).unwrap();
    }

    /// A change on each side, and what the provider has made of ours.
    fn exchange(&self) {
        self.pair();
        assert_eq!(self.sync().added_here, 1);
        let new = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:uuid:0f4\r\nKIND:individual\r\nFN:Bo Diddley\r\nN:Diddley;Bo;;;\r\n\
                   TEL;VALUE=uri;TYPE=cell:tel:+1-555-1\r\nX-MINE:kept here\r\nEND:VCARD\r\n";
        self.save(new);
        let ours = texts::<Card>(&self.here)["ada-1"].replace("+44 20 1", "+44 20 2");
        self.save(&ours);
        let report = self.sync();
        assert_eq!((report.sent, report.problems.len()), (2, 0), "{report:?}");
        assert_eq!(self.sync(), PairReport::default());
        // What the provider makes of a text does not come here.
        let here = texts::<Card>(&self.here);
        assert_eq!(here["urn:uuid:0f4"], new);
        assert!(here["ada-1"].contains("+44 20 2"));
        let state = self.state.lock().unwrap();
        assert!(state.sent.iter().all(|text| text.contains("VERSION:3.0")));
        assert_eq!(state.cards.len(), 2, "{:?}", state.cards.keys());
    }

    /// Somebody changes a card on another device.
    fn change_there(&self, from: &str, to: &str) {
        let mut state = self.state.lock().unwrap();
        state.next += 1;
        let next = state.next;
        let at = state
            .cards
            .values_mut()
            .find(|(_, text)| text.contains(from))
            .unwrap();
        *at = (next, at.1.replace(from, to));
    }
}

const ICLOUD: Provider = Provider {
    principal: "/123456789/principal/",
    home: "/123456789/carddavhome/",
    book: "/123456789/carddavhome/card/",
    others: "",
    etag: |number| format!("\"C={number}@U=5ad7f9f3-0a3a\""),
    // It stores as Apple's programs write: without unknown properties, with labels of its own.
    stores: |text| {
        let lines = text
            .split_inclusive("\r\n")
            .filter(|line| !line.starts_with("X-MINE"));
        let text: String = lines.collect();
        text.replace("END:VCARD", "item9.X-ABLabel:_$!<Mobile>!$_\r\nEND:VCARD")
    },
    says_etag: true,
    moves: false,
};

const GOOGLE: Provider = Provider {
    principal: "/carddav/v1/principals/ada@example.org/",
    home: "/carddav/v1/principals/ada@example.org/lists/",
    book: "/carddav/v1/principals/ada@example.org/lists/default/",
    others: "",
    etag: |number| format!("\"2026-11-30T07:{number:02}:00.000-08:00\""),
    // It keeps what it knows, in its order, with a product of its own.
    stores: |text| {
        let known = ["BEGIN", "VERSION", "UID", "FN", "N:", "TEL", "END"];
        let lines = text.split_inclusive("\r\n");
        let kept = lines.filter(|line| known.iter().any(|name| line.starts_with(name)));
        let text: String = kept.collect();
        text.replace(
            "END:VCARD",
            "PRODID:-//Google Inc//Google Contacts//EN\r\nREV:2026-11-30T07:00:00Z\r\nEND:VCARD",
        )
    },
    says_etag: false,
    moves: true,
};

const FASTMAIL: Provider = Provider {
    principal: "/dav/principals/user/ada@example.org/",
    home: "/dav/addressbooks/user/ada@example.org/",
    book: "/dav/addressbooks/user/ada@example.org/Default/",
    // Of another person, to read.
    others: "<d:response><d:href>/dav/addressbooks/zzzz/bo@example.org/Shared/</d:href><d:propstat><d:prop>\
             <d:resourcetype><d:collection/><card:addressbook/></d:resourcetype><d:displayname>Shared</d:displayname>\
             <d:current-user-privilege-set><d:privilege><d:read/></d:privilege></d:current-user-privilege-set></d:prop>\
             <d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>",
    etag: |number| format!("\"{number:040x}\""),
    stores: str::to_owned,
    says_etag: true,
    moves: false,
};

#[test]
fn icloud_takes_3_0_alone_and_has_odd_tags() {
    Account::at(ICLOUD).exchange();
}

#[test]
fn google_rewrites_and_renames_and_forgets_tokens() {
    let account = Account::at(GOOGLE);
    account.exchange();
    // A change on the phone, and then so many that the token is forgotten.
    account.change_there("FN:Bo Diddley", "FN:Bo D.");
    let report = account.sync();
    assert_eq!(
        (report.added_here, report.changed_here, report.sent),
        (0, 1, 0)
    );
    assert!(texts::<Card>(&account.here)["urn:uuid:0f4"].contains("X-MINE:kept here"));
    {
        let mut state = account.state.lock().unwrap();
        state.next += 1;
        state.oldest_token = state.next + 1;
    }
    assert_eq!(account.sync(), PairReport::default());
    assert_eq!(texts::<Card>(&account.here).len(), 2);
    account.state.lock().unwrap().is_expired = true;
    assert!(matches!(account.try_sync(), Err(SyncError::Login(_))));
    assert_eq!(texts::<Card>(&account.here).len(), 2);
}

#[test]
fn fastmail_lists_what_others_share_to_read() {
    let account = Account::at(FASTMAIL);
    let found = account.discover();
    let shared = found.iter().find(|one| one.name == "Shared").unwrap();
    assert!(!shared.is_writable);
    account.exchange();
}

#[test]
fn lengths_that_are_not_those_of_the_answer_change_nothing() {
    let account = Account::at(FASTMAIL);
    account.pair();
    account.sync();
    let before = texts::<Card>(&account.here);
    let url = account.url.clone();
    for length in [10, 100_000] {
        let (provider, state) = (account.provider, Arc::clone(&account.state));
        let address = serve_http(move |request| {
            let (status, mut head, text) = provider.answer(&mut state.lock().unwrap(), request);
            write!(head, "Content-Length: {length}\r\nConnection: close\r\n").unwrap();
            (status, head, text)
        });
        let there = Address::parse(&format!("http://{address}/")).unwrap();
        let client =
            HttpClient::new(&there, Login::Bearer("t".into()), &HttpOptions::default()).unwrap();
        let id = account.here.sync().accounts().unwrap().remove(0).id;
        let mut pair = account.here.sync().pairs(id).unwrap().remove(0);
        pair.settings.url = pair.settings.url.replace(&url, &there.to_string());
        let mut options = SyncOptions {
            account: "p",
            allow_removals: 1_000,
            is_dry_run: false,
            progress: &mut |_, _| {},
        };
        let failed = sync_pair::<Card>(&account.here, &client, &pair, &mut options);
        assert!(failed.is_err(), "{length}");
        assert_eq!(texts::<Card>(&account.here), before);
    }
    assert_eq!(account.sync(), PairReport::default());
}
