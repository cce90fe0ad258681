//! [`Book`]: the works of the experiment, as each product does them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use etui::contacts::{Card, Page};
use etui::{Durability, Options, Store};

use super::queries::Query;
use crate::error::Error;
use crate::peers::eds::{self, Answer, Client, Session};
use crate::peers::plain::{Parts, Plain, Rows};

/// Contacts in one batch, as in the study.
pub const BATCH: u64 = 3_200;

/// An address book that is open.
///
/// Every work answers with the time of each of its calls, in nanoseconds, how many contacts
/// came, and where names are at hand a digest of UIDs and names.
pub trait Book {
    /// Saves contacts in one call.
    fn batch(&mut self, from: u64, count: u64) -> Result<Answer, Error>;
    /// Saves contacts singly.
    fn singles(&mut self, from: u64, count: u64) -> Result<Answer, Error>;
    /// Fetches every vCard.
    fn all(&mut self) -> Result<Answer, Error>;
    /// Fetches every vCard and reads its name.
    fn names(&mut self) -> Result<Answer, Error>;
    /// Every contact's name, without its vCard where that can be had.
    fn partial(&mut self) -> Result<Answer, Error>;
    /// Fetches contacts one by one.
    fn get(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error>;
    /// Fetches contacts in one call.
    fn many(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error>;
    /// The contacts that a query means, with their vCards.
    fn find(&mut self, times: u64, query: &Query) -> Result<Answer, Error>;
    /// Which contacts a query means: the least that the product can be asked for.
    fn which(&mut self, times: u64, query: &Query) -> Result<Answer, Error>;
    /// The first contacts by name, as a program shows them first.
    fn screen(&mut self, times: u64, count: u64) -> Result<Answer, Error>;
    /// Closes the book; the time it takes.
    fn close(&mut self) -> Result<Answer, Error>;
    /// Opens it again; the time it takes.
    fn open(&mut self) -> Result<Answer, Error>;
    /// Fetches every contact, reads its name and keeps them: for the memory that takes.
    fn hold(&mut self) -> Result<(), Error>;
    /// The processes that serve it.
    fn processes(&self) -> Vec<u32>;
    /// The process that writes.
    fn writer(&self) -> Result<u32, Error>;
}

/// Cards of a file of vCards.
pub fn cards(file: &Path) -> Result<Vec<Card>, Error> {
    let text = fs::read_to_string(file).map_err(|e| Error::file(file, e))?;
    text.split_inclusive("END:VCARD\r\n")
        .map(|card| {
            Card::parse(card.as_bytes()).map_err(|e| Error::other(format!("a generated card: {e}")))
        })
        .collect()
}

/// Times `times` calls; the last result is handed on.
fn timed<T>(
    times: u64,
    mut work: impl FnMut() -> Result<T, Error>,
) -> Result<(Vec<f64>, T), Error> {
    let mut ns = Vec::new();
    loop {
        let begun = Instant::now();
        let result = work()?;
        ns.push(begun.elapsed().as_nanos() as f64);
        if ns.len() as u64 >= times {
            return Ok((ns, result));
        }
    }
}

fn answer<'a>(ns: Vec<f64>, contacts: impl Iterator<Item = (&'a str, &'a str)>) -> Answer {
    let mut count = 0;
    let digest = eds::digest(contacts.inspect(|_| count += 1));
    Answer { ns, count, digest }
}

/// A vCard that came back.
fn parsed(text: &[u8]) -> Result<Card, Error> {
    Card::parse(text).map_err(|e| Error::other(format!("a card that came back: {e}")))
}

/// UIDs and names of vCards.
fn named<T: AsRef<[u8]>>(texts: &[T]) -> Result<Vec<(String, String)>, Error> {
    texts
        .iter()
        .map(|text| {
            let card = parsed(text.as_ref())?;
            Ok((card.identity().into_owned(), card.display_name()))
        })
        .collect()
}

/// vCards, parsed and with their names, to be kept.
fn kept<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Result<Vec<(Card, String)>, Error> {
    texts
        .map(|text| {
            let card = parsed(text)?;
            let name = card.display_name();
            Ok((card, name))
        })
        .collect()
}

fn pairs(named: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    named
        .iter()
        .map(|(uid, name)| (uid.as_str(), name.as_str()))
}

/// The options of etui's arms; independent of the person's environment.
pub fn options(durability: Durability) -> Options {
    let mut options = Options::default();
    options.durability = durability;
    options.locale = Some("en".into());
    options.region = Some("US".into());
    options
}

/// etui, in this process.
pub struct Etui {
    path: PathBuf,
    options: Options,
    store: Option<Store>,
    cards: Vec<Card>,
    uids: HashMap<i64, String>,
    held: Vec<(Card, String)>,
}

impl Etui {
    /// A store, made if there is none, and the cards to be saved into it.
    pub fn new(path: &Path, durability: Durability, cards: Vec<Card>) -> Result<Self, Error> {
        let mut book = Self {
            path: path.to_owned(),
            options: options(durability),
            store: None,
            cards,
            uids: HashMap::new(),
            held: Vec::new(),
        };
        book.open()?;
        Ok(book)
    }

    /// Brings the substring index up to date.
    pub fn merge(&self) -> Result<(), Error> {
        Ok(self.store()?.merge_index()?)
    }

    fn store(&self) -> Result<&Store, Error> {
        self.store
            .as_ref()
            .ok_or_else(|| Error::other("the store is closed"))
    }

    fn some(&self, from: u64, count: u64) -> &[Card] {
        let (from, count) = (from as usize, count as usize);
        self.cards.get(from..from + count).unwrap_or(&[])
    }
}

impl Book for Etui {
    fn batch(&mut self, from: u64, count: u64) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let (ns, saved) = timed(1, || Ok(contacts.save_many(self.some(from, count))?))?;
        Ok(Answer {
            ns,
            count: saved.len() as u64,
            ..Answer::default()
        })
    }

    fn singles(&mut self, from: u64, count: u64) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let mut ns = Vec::new();
        for card in self.some(from, count) {
            ns.extend(timed(1, || Ok(contacts.save(card)?))?.0);
        }
        Ok(Answer {
            ns,
            count,
            ..Answer::default()
        })
    }

    fn all(&mut self) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let (ns, texts) = timed(1, || Ok(contacts.all()?))?;
        Ok(Answer {
            ns,
            count: texts.len() as u64,
            ..Answer::default()
        })
    }

    fn names(&mut self) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let (ns, (texts, named)) = timed(1, || {
            let texts = contacts.all()?;
            let parts: Vec<&[u8]> = texts.iter().map(|(_, text)| text).collect();
            let named = named(&parts)?;
            Ok((texts, named))
        })?;
        let ids = texts.iter().map(|(id, _)| id.0);
        self.uids = ids.zip(named.iter().map(|(uid, _)| uid.clone())).collect();
        Ok(answer(ns, pairs(&named)))
    }

    fn partial(&mut self) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let (ns, entries) = timed(1, || Ok(contacts.list(Page::ALL)?))?;
        let uid = |id: i64| self.uids.get(&id).map_or("", String::as_str);
        let entries = entries
            .iter()
            .map(|entry| (uid(entry.id.0), entry.summary.name.as_str()));
        Ok(answer(ns, entries))
    }

    fn get(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let mut ns = Vec::new();
        let mut texts = Vec::new();
        for uid in uids {
            let (took, contact) = timed(times, || Ok(contacts.get(uid)?))?;
            ns.extend(took);
            texts.extend(contact.map(|contact| contact.text));
        }
        Ok(answer(ns, pairs(&named(&texts)?)))
    }

    fn many(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let (ns, found) = timed(times, || Ok(contacts.get_many(uids)?))?;
        let texts: Vec<_> = found.into_iter().flatten().map(|c| c.text).collect();
        Ok(answer(ns, pairs(&named(&texts)?)))
    }

    fn find(&mut self, times: u64, query: &Query) -> Result<Answer, Error> {
        let store = self.store()?;
        let (ns, found) = timed(times, || {
            let snapshot = store.snapshot()?;
            let reader = snapshot.contacts()?;
            let mut found = Vec::new();
            for entry in reader.find(&query.filter)? {
                found.extend(reader.by_id(entry.id)?);
            }
            Ok(found)
        })?;
        let texts: Vec<_> = found.into_iter().map(|contact| contact.text).collect();
        Ok(answer(ns, pairs(&named(&texts)?)))
    }

    fn which(&mut self, times: u64, query: &Query) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let (ns, found) = timed(times, || Ok(contacts.find(&query.filter)?))?;
        Ok(Answer {
            ns,
            count: found.len() as u64,
            ..Answer::default()
        })
    }

    fn screen(&mut self, times: u64, count: u64) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let (ns, entries) = timed(times, || Ok(contacts.list(Page::first(count))?))?;
        Ok(Answer {
            ns,
            count: entries.len() as u64,
            ..Answer::default()
        })
    }

    fn close(&mut self) -> Result<Answer, Error> {
        self.held.clear();
        let store = self.store.take();
        let begun = Instant::now();
        if let Some(store) = store {
            store.close()?;
        }
        Ok(since(begun))
    }

    fn open(&mut self) -> Result<Answer, Error> {
        let begun = Instant::now();
        let store = Store::open_with(&self.path, &self.options)?;
        store.contacts()?;
        let took = since(begun);
        self.store = Some(store);
        Ok(took)
    }

    fn hold(&mut self) -> Result<(), Error> {
        let texts = self.store()?.contacts()?.all()?;
        self.held = kept(texts.iter().map(|(_, text)| text))?;
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        vec![std::process::id()]
    }

    fn writer(&self) -> Result<u32, Error> {
        Ok(std::process::id())
    }
}

fn since(begun: Instant) -> Answer {
    Answer {
        ns: vec![begun.elapsed().as_nanos() as f64],
        ..Answer::default()
    }
}

/// Plain SQLite with a schema made by hand, in this process.
pub struct PlainBook {
    path: PathBuf,
    plain: Option<Plain>,
    rows: Rows,
    /// The contacts of the fill: the last batch of it writes the substrings.
    fill: u64,
    held: Vec<(Card, String)>,
}

impl PlainBook {
    /// A database, made if there is none, and the rows to be saved into it.
    pub fn new(path: &Path, rows: Rows, fill: u64) -> Result<Self, Error> {
        let plain = if path.exists() {
            Plain::open(path, Parts::Gram)?
        } else {
            Plain::create(path, Parts::Gram)?
        };
        Ok(Self {
            path: path.to_owned(),
            plain: Some(plain),
            rows,
            fill,
            held: Vec::new(),
        })
    }

    fn plain(&self) -> Result<&Plain, Error> {
        self.plain
            .as_ref()
            .ok_or_else(|| Error::other("the database is closed"))
    }
}

impl Book for PlainBook {
    fn batch(&mut self, from: u64, count: u64) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let end = from + count;
        let (ns, ()) = timed(1, || {
            plain.save(&self.rows, from as usize..end as usize, end >= self.fill)
        })?;
        Ok(Answer {
            ns,
            count,
            ..Answer::default()
        })
    }

    fn singles(&mut self, from: u64, count: u64) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let mut ns = Vec::new();
        for at in from as usize..(from + count) as usize {
            ns.extend(timed(1, || plain.save(&self.rows, at..at + 1, false))?.0);
        }
        Ok(Answer {
            ns,
            count,
            ..Answer::default()
        })
    }

    fn all(&mut self) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let (ns, texts) = timed(1, || plain.all())?;
        Ok(Answer {
            ns,
            count: texts.len() as u64,
            ..Answer::default()
        })
    }

    fn names(&mut self) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let (ns, named) = timed(1, || named(&plain.all()?))?;
        Ok(answer(ns, pairs(&named)))
    }

    fn partial(&mut self) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let (ns, summaries) = timed(1, || plain.list(u64::MAX))?;
        Ok(Answer {
            ns,
            count: summaries.len() as u64,
            ..Answer::default()
        })
    }

    fn get(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let mut ns = Vec::new();
        let mut texts = Vec::new();
        for uid in uids {
            let (took, text) = timed(times, || plain.get(uid))?;
            ns.extend(took);
            texts.push(text);
        }
        Ok(answer(ns, pairs(&named(&texts)?)))
    }

    fn many(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let (ns, texts) = timed(times, || plain.get_many(uids))?;
        Ok(answer(ns, pairs(&named(&texts)?)))
    }

    fn find(&mut self, times: u64, query: &Query) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let (ns, texts) = timed(times, || plain.find(&query.lookup))?;
        Ok(answer(ns, pairs(&named(&texts)?)))
    }

    fn which(&mut self, times: u64, query: &Query) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let (ns, found) = timed(times, || plain.find_entries(&query.lookup))?;
        Ok(Answer {
            ns,
            count: found.len() as u64,
            ..Answer::default()
        })
    }

    fn screen(&mut self, times: u64, count: u64) -> Result<Answer, Error> {
        let plain = self.plain()?;
        let (ns, summaries) = timed(times, || plain.list(count))?;
        Ok(Answer {
            ns,
            count: summaries.len() as u64,
            ..Answer::default()
        })
    }

    fn close(&mut self) -> Result<Answer, Error> {
        self.held.clear();
        let plain = self.plain.take();
        let begun = Instant::now();
        if let Some(plain) = plain {
            plain.close()?;
        }
        Ok(since(begun))
    }

    fn open(&mut self) -> Result<Answer, Error> {
        let begun = Instant::now();
        let plain = Plain::open(&self.path, Parts::Gram)?;
        plain.list(1)?;
        let took = since(begun);
        self.plain = Some(plain);
        Ok(took)
    }

    fn hold(&mut self) -> Result<(), Error> {
        let texts = self.plain()?.all()?;
        self.held = kept(texts.iter().map(Vec::as_slice))?;
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        vec![std::process::id()]
    }

    fn writer(&self) -> Result<u32, Error> {
        Ok(std::process::id())
    }
}

/// Evolution Data Server, through our client.
pub struct EdsBook {
    // Before the session: fields are dropped in this order.
    client: Client,
    session: Session,
    book: String,
    way: eds::Way,
}

impl EdsBook {
    /// A book of a session, which must be there, and the file of cards to be saved into it.
    pub fn new(
        session: Session,
        book: &str,
        way: eds::Way,
        cards: Option<&Path>,
    ) -> Result<Self, Error> {
        let client = session.client()?;
        let mut book = Self {
            client,
            session,
            book: book.to_owned(),
            way,
        };
        if let Some(cards) = cards {
            book.client.load(cards)?;
        }
        Ok(book)
    }

    /// Makes the book.
    pub fn create(&mut self, setup: eds::Setup) -> Result<(), Error> {
        self.client.ask(&["create", &self.book, setup.word()])?;
        Ok(())
    }

    fn listed(&mut self, command: &str, times: u64, uids: &[String]) -> Result<Answer, Error> {
        let times = times.to_string();
        let words: Vec<&str> = [command, &times]
            .into_iter()
            .chain(uids.iter().map(String::as_str))
            .collect();
        self.client.ask(&words)
    }
}

impl Book for EdsBook {
    fn batch(&mut self, from: u64, count: u64) -> Result<Answer, Error> {
        self.client.batch(from, count)
    }

    fn singles(&mut self, from: u64, count: u64) -> Result<Answer, Error> {
        self.client
            .ask(&["save", &from.to_string(), &count.to_string()])
    }

    fn all(&mut self) -> Result<Answer, Error> {
        self.client.ask(&["all"])
    }

    fn names(&mut self) -> Result<Answer, Error> {
        self.client.ask(&["names"])
    }

    fn partial(&mut self) -> Result<Answer, Error> {
        self.client.ask(&["view"])
    }

    fn get(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error> {
        self.listed("get", times, uids)
    }

    fn many(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error> {
        self.listed("many", times, uids)
    }

    fn find(&mut self, times: u64, query: &Query) -> Result<Answer, Error> {
        self.client.ask(&["find", &times.to_string(), &query.sexp])
    }

    fn which(&mut self, times: u64, query: &Query) -> Result<Answer, Error> {
        self.client.ask(&["uids", &times.to_string(), &query.sexp])
    }

    fn screen(&mut self, times: u64, count: u64) -> Result<Answer, Error> {
        self.client
            .ask(&["screen", &times.to_string(), &count.to_string()])
    }

    fn close(&mut self) -> Result<Answer, Error> {
        self.client.ask(&["close"])
    }

    fn open(&mut self) -> Result<Answer, Error> {
        self.client.ask(&["connect", &self.book, self.way.word()])
    }

    fn hold(&mut self) -> Result<(), Error> {
        self.client.ask(&["hold"])?;
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        let mut pids = self.session.servers();
        pids.push(self.client.pid());
        pids
    }

    fn writer(&self) -> Result<u32, Error> {
        self.session.factory()
    }
}
