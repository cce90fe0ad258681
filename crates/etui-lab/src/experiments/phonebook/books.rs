//! [`Book`]: the works of the experiment, as each product does them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use etui::contacts::{Card, Column, Columns, Contacts, Query as Wanted, Rows as Found, Sort};
use etui::{Durability, Options, Store};

use super::queries::{self, Query};
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
    /// Every contact's UID and name, without its vCard where that can be had.
    fn partial(&mut self) -> Result<Answer, Error>;
    /// Fetches contacts one by one.
    fn get(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error>;
    /// Fetches contacts in one call.
    fn many(&mut self, times: u64, uids: &[String]) -> Result<Answer, Error>;
    /// The contacts that a query means, with their vCards.
    fn find(&mut self, times: u64, query: &Query) -> Result<Answer, Error>;
    /// Which contacts a query means: their UIDs.
    fn which(&mut self, times: u64, query: &Query) -> Result<Answer, Error>;
    /// The first contacts by name, as a program shows them first.
    fn screen(&mut self, times: u64, count: u64) -> Result<Answer, Error>;
    /// What the product alone is asked for, by name.
    fn own(&mut self, _times: u64, _count: u64) -> Result<Vec<(&'static str, Answer)>, Error> {
        Ok(Vec::new())
    }
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

/// A query of etui whose order is the cheapest, as the server's answers have none.
fn as_found(query: &Query, columns: impl Into<Columns>) -> Wanted {
    let wanted = Wanted::new(query.filter.clone());
    wanted.sort(Sort::Found).columns(columns)
}

/// UIDs and names; a name that was not asked for is empty.
fn uids_and_names(rows: &Found) -> impl Iterator<Item = (&str, &str)> {
    rows.iter().map(|row| (row.get(Column::Uid), row.name()))
}

fn rows(contacts: &Contacts<'_>, query: &Wanted) -> Result<u64, Error> {
    Ok(contacts.query(query)?.len() as u64)
}

/// Times `times` calls, which differ; how many contacts came of the last.
fn each(times: u64, mut work: impl FnMut(u64) -> Result<u64, Error>) -> Result<Answer, Error> {
    let mut n = 0;
    let (ns, count) = timed(times, || {
        n += 1;
        work(n)
    })?;
    Ok(Answer {
        ns,
        count,
        ..Answer::default()
    })
}

/// etui, in this process.
pub struct Etui {
    path: PathBuf,
    options: Options,
    store: Option<Store>,
    cards: Vec<Card>,
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
        let (ns, (_texts, named)) = timed(1, || {
            let texts = contacts.all()?;
            let parts: Vec<&[u8]> = texts.iter().map(|(_, text)| text).collect();
            let named = named(&parts)?;
            Ok((texts, named))
        })?;
        Ok(answer(ns, pairs(&named)))
    }

    fn partial(&mut self) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let everyone = Wanted::all().columns(Column::Uid | Column::Name);
        let (ns, rows) = timed(1, || Ok(contacts.query(&everyone)?))?;
        Ok(answer(ns, uids_and_names(&rows)))
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
        let contacts = self.store()?.contacts()?;
        let wanted = as_found(query, Column::Card);
        let (ns, rows) = timed(times, || Ok(contacts.query(&wanted)?))?;
        let texts: Vec<&[u8]> = rows.iter().map(|row| row.card()).collect();
        Ok(answer(ns, pairs(&named(&texts)?)))
    }

    fn which(&mut self, times: u64, query: &Query) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let wanted = as_found(query, Column::Uid);
        let (ns, rows) = timed(times, || Ok(contacts.query(&wanted)?))?;
        Ok(answer(ns, uids_and_names(&rows)))
    }

    fn screen(&mut self, times: u64, count: u64) -> Result<Answer, Error> {
        let contacts = self.store()?.contacts()?;
        let (ns, rows) = timed(times, || Ok(contacts.query(&Wanted::all().limit(count))?))?;
        Ok(Answer {
            ns,
            count: rows.len() as u64,
            ..Answer::default()
        })
    }

    fn own(&mut self, times: u64, count: u64) -> Result<Vec<(&'static str, Answer)>, Error> {
        let contacts = self.store()?.contacts()?;
        let whole = Wanted::all().columns(Columns::SUMMARY);
        let all = contacts.query(&whole)?;
        // Spread over the list, another one each time.
        let spread = |n: u64| (n * 7_919 + 13) % (all.len() as u64).max(1);
        let mut works = vec![("list_whole", each(times, |_| rows(&contacts, &whole))?)];
        works.push((
            "list_at",
            each(times, |n| {
                rows(&contacts, &Wanted::all().offset(spread(n)).limit(count))
            })?,
        ));
        works.push((
            "list_position",
            each(times, |n| {
                let id = all.get(spread(n) as usize).map(|row| row.id());
                let position = id.map(|id| contacts.position(id)).transpose()?.flatten();
                if position != Some(spread(n)) {
                    return Err(Error::other("a contact is not where the list has it"));
                }
                Ok(1)
            })?,
        ));
        works.push((
            "list_letters",
            each(times, |_| Ok(contacts.letters()?.len() as u64))?,
        ));
        for (name, query) in [
            ("page_name_prefix", "name_prefix"),
            ("page_email_suffix", "email_suffix"),
        ] {
            let query = queries::all().into_iter().find(|q| q.name == query);
            let query = query.ok_or_else(|| Error::other("there is no such query"))?;
            let page = as_found(&query, Columns::SUMMARY).limit(count);
            works.push((name, each(times, |_| rows(&contacts, &page))?));
        }
        Ok(works)
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
    /// What it is opened through, if that is not SQLite's own.
    vfs: Option<String>,
    plain: Option<Plain>,
    rows: Rows,
    /// The contacts of the fill: the last batch of it writes the substrings.
    fill: u64,
    held: Vec<(Card, String)>,
}

impl PlainBook {
    /// A database, made if there is none, and the rows to be saved into it.
    pub fn new(path: &Path, rows: Rows, fill: u64, vfs: Option<&str>) -> Result<Self, Error> {
        let plain = if path.exists() {
            Plain::open(path, Parts::Gram, vfs)?
        } else {
            Plain::create(path, Parts::Gram, vfs)?
        };
        Ok(Self {
            path: path.to_owned(),
            vfs: vfs.map(str::to_owned),
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
        let (ns, named) = timed(1, || plain.names())?;
        Ok(Answer {
            ns,
            count: named.len() as u64,
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
        let (ns, uids) = timed(times, || plain.find_uids(&query.lookup))?;
        Ok(answer(ns, uids.iter().map(|uid| (uid.as_str(), ""))))
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
        let plain = Plain::open(&self.path, Parts::Gram, self.vfs.as_deref())?;
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
