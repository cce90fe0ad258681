//! [`ContactBackend`]: operations on an address book beyond a [`StoreBackend`], as each product does
//! it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use etui::Store;
use etui::contacts::{Card, Column, Columns, Contacts, Query as Wanted, Rows as Found, SortOrder};
use zbus::Variant;

use super::super::backends::etui::EtuiBackend;
use super::super::backends::local::{Kept, LocalStore, name_texts};
use super::super::backends::own::{CallOptions, OwnBackend, WireKind, unordered};
use super::super::backends::server::{AkonadiBackend, EdsBackend};
use super::super::backends::{StoreBackend, answer, answer_pairs, counted, each, rounds, timed};
use super::queries::{self, ContactQuery};
use crate::error::Error;
use crate::peers::eds::TimedAnswer;
use crate::peers::plain::{IndexParts, PlainContacts, PlainRows};

/// An address book that is open.
pub trait ContactBackend: StoreBackend {
    /// Every contact's UID and name, without its vCard where that can be had.
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error>;
    /// The contacts that a query means, with their vCards.
    fn find_cards(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error>;
    /// Which contacts a query means: their UIDs.
    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error>;
    /// The first contacts by name, as a program shows them first.
    fn first_screen(&mut self, times: u64, count: u64) -> Result<TimedAnswer, Error>;
    /// Returns requests of this product alone, by name.
    fn own_requests(&mut self, _times: u64, _count: u64) -> Result<OwnRequests, Error> {
        Ok(Vec::new())
    }
}

type OwnRequests = Vec<(&'static str, TimedAnswer)>;

impl Kept for Card {
    fn of(store: &Store) -> Result<Contacts, Error> {
        Ok(store.contacts()?)
    }

    fn parsed(text: &[u8]) -> Result<Self, Error> {
        Card::parse(text).map_err(|e| Error::other(format!("a card that came back: {e}")))
    }

    fn name(&self) -> String {
        self.display_name()
    }
}

impl WireKind for Card {
    const WIRE_KIND: &'static str = "contacts";
    const TEXT: &'static str = "card";
}

pub fn read_texts(file: &Path) -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(file).map_err(|e| Error::file(file, e))?;
    let cards = text.split_inclusive("END:VCARD\r\n");
    Ok(cards.map(str::to_owned).collect())
}

pub fn read_cards(file: &Path) -> Result<Vec<Card>, Error> {
    let texts = read_texts(file)?;
    texts
        .iter()
        .map(|card| Card::parsed(card.as_bytes()))
        .collect()
}

/// A query of etui whose order is the cheapest, as the server's answers have none.
fn as_found(query: &ContactQuery, columns: impl Into<Columns>) -> Wanted {
    let wanted = Wanted::new(query.filter.clone());
    wanted.sort(SortOrder::Unordered).columns(columns)
}

/// UIDs and names; a name that was not asked for is empty.
fn uids_and_names(rows: &Found) -> impl Iterator<Item = (&str, &str)> {
    rows.iter().map(|row| (row.get(Column::Uid), row.name()))
}

impl EtuiBackend<Card> {
    fn time_query(&self, times: u64, query: &Wanted) -> Result<(Vec<f64>, Found), Error> {
        let contacts = self.collection()?;
        timed(times, || Ok(contacts.query(query)?))
    }
}

impl ContactBackend for EtuiBackend<Card> {
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error> {
        let everyone = Wanted::all().columns(Column::Uid | Column::Name);
        let (ns, rows) = self.time_query(1, &everyone)?;
        Ok(answer(ns, uids_and_names(&rows)))
    }

    fn find_cards(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let (ns, rows) = self.time_query(times, &as_found(query, Column::Card))?;
        let texts: Vec<&[u8]> = rows.iter().map(|row| row.card()).collect();
        Ok(answer_pairs(ns, &name_texts::<Card>(&texts)?))
    }

    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let (ns, rows) = self.time_query(times, &as_found(query, Column::Uid))?;
        Ok(answer(ns, uids_and_names(&rows)))
    }

    fn first_screen(&mut self, times: u64, count: u64) -> Result<TimedAnswer, Error> {
        let (ns, rows) = self.time_query(times, &Wanted::all().limit(count))?;
        Ok(counted(ns, rows.len() as u64))
    }

    fn own_requests(&mut self, times: u64, count: u64) -> Result<OwnRequests, Error> {
        let contacts = self.collection()?;
        let whole = Wanted::all().columns(Columns::SUMMARY);
        let all = contacts.query(&whole)?;
        // Spread over the list, another one each time.
        let spread = |n: u64| (n * 7_919 + 13) % (all.len() as u64).max(1);
        let count_rows = |query: &Wanted| Ok(contacts.query(query)?.len() as u64);
        let position = |n| {
            let id = all.get(spread(n) as usize).map(|row| row.id());
            let position = id.map(|id| contacts.position(id)).transpose()?.flatten();
            match position == Some(spread(n)) {
                true => Ok(1),
                false => Err(Error::other("a contact is not where the list has it")),
            }
        };
        let at = |n| count_rows(&Wanted::all().offset(spread(n)).limit(count));
        let mut works = vec![
            ("list_whole", each(times, |_| count_rows(&whole))?),
            ("list_at", each(times, at)?),
            ("list_position", each(times, position)?),
            (
                "list_letters",
                each(times, |_| Ok(contacts.letters()?.len() as u64))?,
            ),
        ];
        for (name, query) in [
            ("page_name_prefix", "name_prefix"),
            ("page_email_suffix", "email_suffix"),
        ] {
            let query = queries::all_queries().into_iter().find(|q| q.name == query);
            let query = query.ok_or_else(|| Error::other("there is no such query"))?;
            let page = as_found(&query, Columns::SUMMARY).limit(count);
            works.push((name, each(times, |_| count_rows(&page))?));
        }
        Ok(works)
    }
}

/// Plain SQLite with a schema made by hand, in this process.
pub struct PlainBook {
    path: PathBuf,
    /// The VFS, if it is not SQLite's own.
    vfs: Option<String>,
    plain: Option<PlainContacts>,
    rows: PlainRows,
    /// The contacts of the fill: the last batch of it writes the substrings.
    fill: u64,
    held: Vec<(Card, String)>,
}

impl PlainBook {
    /// A database, made if there is none, and the rows to be saved into it.
    pub fn new(path: &Path, rows: PlainRows, fill: u64, vfs: Option<&str>) -> Result<Self, Error> {
        if !path.exists() {
            PlainContacts::create(path, IndexParts::Gram, vfs)?.close()?;
        }
        let mut book = Self {
            path: path.to_owned(),
            vfs: vfs.map(str::to_owned),
            plain: None,
            rows,
            fill,
            held: Vec::new(),
        };
        book.connect()?;
        Ok(book)
    }
}

impl LocalStore for PlainBook {
    type Record = Card;
    type Texts = Vec<Vec<u8>>;
    type Handle<'s> = &'s PlainContacts;

    fn connect(&mut self) -> Result<(), Error> {
        let plain = PlainContacts::open(&self.path, IndexParts::Gram, self.vfs.as_deref())?;
        plain.list(1)?;
        self.plain = Some(plain);
        Ok(())
    }

    fn disconnect(&mut self) -> Result<(), Error> {
        self.plain.take().map_or(Ok(()), PlainContacts::close)
    }

    fn handle(&self) -> Result<&PlainContacts, Error> {
        let plain = self.plain.as_ref();
        plain.ok_or_else(|| Error::other("the database is closed"))
    }

    fn save(&self, to: &&PlainContacts, which: Range<usize>, single: bool) -> Result<(), Error> {
        let grams = !single && which.end as u64 >= self.fill;
        to.save(&self.rows, which, grams)
    }

    fn all(from: &&PlainContacts) -> Result<Vec<Vec<u8>>, Error> {
        from.all()
    }

    fn texts(all: &Vec<Vec<u8>>) -> Vec<&[u8]> {
        all.iter().map(Vec::as_slice).collect()
    }

    fn get(from: &&PlainContacts, uid: &str) -> Result<Vec<u8>, Error> {
        from.get(uid)
    }

    fn get_many(from: &&PlainContacts, uids: &[String]) -> Result<Vec<Vec<u8>>, Error> {
        from.get_many(uids)
    }

    fn held(&mut self) -> &mut Vec<(Card, String)> {
        &mut self.held
    }
}

impl ContactBackend for PlainBook {
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error> {
        let plain = self.handle()?;
        let (ns, named) = timed(1, || plain.names())?;
        Ok(counted(ns, named.len() as u64))
    }

    fn find_cards(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let plain = self.handle()?;
        let (ns, texts) = timed(times, || plain.find(&query.lookup))?;
        Ok(answer_pairs(ns, &name_texts::<Card>(&texts)?))
    }

    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let plain = self.handle()?;
        let (ns, uids) = timed(times, || plain.find_uids(&query.lookup))?;
        Ok(answer(ns, uids.iter().map(|uid| (uid.as_str(), ""))))
    }

    fn first_screen(&mut self, times: u64, count: u64) -> Result<TimedAnswer, Error> {
        let plain = self.handle()?;
        let (ns, summaries) = timed(times, || plain.list(count))?;
        Ok(counted(ns, summaries.len() as u64))
    }
}

impl ContactBackend for OwnBackend<Card> {
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error> {
        let (ns, count) = timed(1, || {
            let file = self.query_file("", &["uid", "name"])?;
            Ok(file.rows()?.len() as u64)
        })?;
        Ok(counted(ns, count))
    }

    fn find_cards(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let filter = query.filter.to_string();
        let (ns, file) = timed(times, || self.query_file(&filter, &["card"]))?;
        Ok(answer_pairs(
            ns,
            &name_texts::<Card>(&file.first_values()?)?,
        ))
    }

    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let filter = query.filter.to_string();
        let (ns, rows) = timed(times, || self.query(&filter, unordered(&["uid"])))?;
        let uids = rows.iter().flat_map(|(_, _, values)| values);
        Ok(answer(ns, uids.map(|uid| (uid.as_str(), ""))))
    }

    fn first_screen(&mut self, times: u64, count: u64) -> Result<TimedAnswer, Error> {
        let (ns, rows) = timed(times, || {
            let limit = Variant::from(count);
            self.query("", CallOptions::from([("limit", limit)]))
        })?;
        Ok(counted(ns, rows.len() as u64))
    }
}

impl ContactBackend for EdsBackend {
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error> {
        self.ask(&["view"])
    }

    fn find_cards(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        self.ask(&["find", &times.to_string(), query.sexp])
    }

    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        self.ask(&["uids", &times.to_string(), query.sexp])
    }

    fn first_screen(&mut self, times: u64, count: u64) -> Result<TimedAnswer, Error> {
        self.ask(&["screen", &times.to_string(), &count.to_string()])
    }
}

/// Akonadi finds contacts only by UID: its searches need an indexing agent, which is another
/// product's. A program reads the whole book and finds and sorts for itself.
impl ContactBackend for AkonadiBackend {
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error> {
        self.fetch_names()
    }

    fn find_cards(&mut self, _times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        Err(Error::not_run(format!(
            "Akonadi has no query `{}`",
            query.title
        )))
    }

    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        self.find_cards(times, query)
    }

    fn first_screen(&mut self, times: u64, _count: u64) -> Result<TimedAnswer, Error> {
        rounds(times, || self.fetch_names())
    }
}
