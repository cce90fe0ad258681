//! [`ContactBackend`]: operations on an address book beyond a [`StoreBackend`], as each product does
//! it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use etui::Store;
use etui::contacts::{Card, Column, Columns, Contacts, Query as Wanted, Rows as Found, SortOrder};

use super::super::backends::eds::EdsBackend;
use super::super::backends::etui::{EtuiBackend, Kept, name_texts, parse_kept};
use super::super::backends::{StoreBackend, answer, answer_pairs, counted, each, since, timed};
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
    fn own_requests(
        &mut self,
        _times: u64,
        _count: u64,
    ) -> Result<Vec<(&'static str, TimedAnswer)>, Error> {
        Ok(Vec::new())
    }
}

impl Kept for Card {
    fn of(store: &Store) -> Result<Contacts<'_>, Error> {
        Ok(store.contacts()?)
    }

    fn parsed(text: &[u8]) -> Result<Self, Error> {
        Card::parse(text).map_err(|e| Error::other(format!("a card that came back: {e}")))
    }

    fn name(&self) -> String {
        self.display_name()
    }
}

/// Cards of a file of vCards.
pub fn read_cards(file: &Path) -> Result<Vec<Card>, Error> {
    let text = fs::read_to_string(file).map_err(|e| Error::file(file, e))?;
    text.split_inclusive("END:VCARD\r\n")
        .map(|card| {
            Card::parse(card.as_bytes()).map_err(|e| Error::other(format!("a generated card: {e}")))
        })
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

fn count_rows(contacts: &Contacts<'_>, query: &Wanted) -> Result<u64, Error> {
    Ok(contacts.query(query)?.len() as u64)
}

impl ContactBackend for EtuiBackend<Card> {
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error> {
        let contacts = self.collection()?;
        let everyone = Wanted::all().columns(Column::Uid | Column::Name);
        let (ns, rows) = timed(1, || Ok(contacts.query(&everyone)?))?;
        Ok(answer(ns, uids_and_names(&rows)))
    }

    fn find_cards(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let contacts = self.collection()?;
        let wanted = as_found(query, Column::Card);
        let (ns, rows) = timed(times, || Ok(contacts.query(&wanted)?))?;
        let texts: Vec<&[u8]> = rows.iter().map(|row| row.card()).collect();
        Ok(answer_pairs(ns, &name_texts::<Card>(&texts)?))
    }

    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let contacts = self.collection()?;
        let wanted = as_found(query, Column::Uid);
        let (ns, rows) = timed(times, || Ok(contacts.query(&wanted)?))?;
        Ok(answer(ns, uids_and_names(&rows)))
    }

    fn first_screen(&mut self, times: u64, count: u64) -> Result<TimedAnswer, Error> {
        let contacts = self.collection()?;
        let (ns, rows) = timed(times, || Ok(contacts.query(&Wanted::all().limit(count))?))?;
        Ok(counted(ns, rows.len() as u64))
    }

    fn own_requests(
        &mut self,
        times: u64,
        count: u64,
    ) -> Result<Vec<(&'static str, TimedAnswer)>, Error> {
        let contacts = self.collection()?;
        let whole = Wanted::all().columns(Columns::SUMMARY);
        let all = contacts.query(&whole)?;
        // Spread over the list, another one each time.
        let spread = |n: u64| (n * 7_919 + 13) % (all.len() as u64).max(1);
        let mut works = vec![(
            "list_whole",
            each(times, |_| count_rows(&contacts, &whole))?,
        )];
        works.push((
            "list_at",
            each(times, |n| {
                count_rows(&contacts, &Wanted::all().offset(spread(n)).limit(count))
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
            let query = queries::all_queries().into_iter().find(|q| q.name == query);
            let query = query.ok_or_else(|| Error::other("there is no such query"))?;
            let page = as_found(&query, Columns::SUMMARY).limit(count);
            works.push((name, each(times, |_| count_rows(&contacts, &page))?));
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
        let plain = if path.exists() {
            PlainContacts::open(path, IndexParts::Gram, vfs)?
        } else {
            PlainContacts::create(path, IndexParts::Gram, vfs)?
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

    fn plain(&self) -> Result<&PlainContacts, Error> {
        self.plain
            .as_ref()
            .ok_or_else(|| Error::other("the database is closed"))
    }
}

impl StoreBackend for PlainBook {
    fn save_batch(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let end = from + count;
        let (ns, ()) = timed(1, || {
            plain.save(&self.rows, from as usize..end as usize, end >= self.fill)
        })?;
        Ok(counted(ns, count))
    }

    fn save_each(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let mut ns = Vec::new();
        for at in from as usize..(from + count) as usize {
            ns.extend(timed(1, || plain.save(&self.rows, at..at + 1, false))?.0);
        }
        Ok(counted(ns, count))
    }

    fn fetch_all(&mut self) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let (ns, texts) = timed(1, || plain.all())?;
        Ok(counted(ns, texts.len() as u64))
    }

    fn fetch_names(&mut self) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let (ns, named) = timed(1, || name_texts::<Card>(&plain.all()?))?;
        Ok(answer_pairs(ns, &named))
    }

    fn fetch_one(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let mut ns = Vec::new();
        let mut texts = Vec::new();
        for uid in uids {
            let (took, text) = timed(times, || plain.get(uid))?;
            ns.extend(took);
            texts.push(text);
        }
        Ok(answer_pairs(ns, &name_texts::<Card>(&texts)?))
    }

    fn fetch_many(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let (ns, texts) = timed(times, || plain.get_many(uids))?;
        Ok(answer_pairs(ns, &name_texts::<Card>(&texts)?))
    }

    fn close(&mut self) -> Result<TimedAnswer, Error> {
        self.held.clear();
        let plain = self.plain.take();
        let begun = Instant::now();
        if let Some(plain) = plain {
            plain.close()?;
        }
        Ok(since(begun))
    }

    fn open(&mut self) -> Result<TimedAnswer, Error> {
        let begun = Instant::now();
        let plain = PlainContacts::open(&self.path, IndexParts::Gram, self.vfs.as_deref())?;
        plain.list(1)?;
        let took = since(begun);
        self.plain = Some(plain);
        Ok(took)
    }

    fn hold_all(&mut self) -> Result<(), Error> {
        let texts = self.plain()?.all()?;
        self.held = parse_kept(texts.iter().map(Vec::as_slice))?;
        Ok(())
    }

    fn process_ids(&self) -> Vec<u32> {
        vec![std::process::id()]
    }

    fn writer_id(&self) -> Result<u32, Error> {
        Ok(std::process::id())
    }
}

impl ContactBackend for PlainBook {
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let (ns, named) = timed(1, || plain.names())?;
        Ok(counted(ns, named.len() as u64))
    }

    fn find_cards(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let (ns, texts) = timed(times, || plain.find(&query.lookup))?;
        Ok(answer_pairs(ns, &name_texts::<Card>(&texts)?))
    }

    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let (ns, uids) = timed(times, || plain.find_uids(&query.lookup))?;
        Ok(answer(ns, uids.iter().map(|uid| (uid.as_str(), ""))))
    }

    fn first_screen(&mut self, times: u64, count: u64) -> Result<TimedAnswer, Error> {
        let plain = self.plain()?;
        let (ns, summaries) = timed(times, || plain.list(count))?;
        Ok(counted(ns, summaries.len() as u64))
    }
}

impl ContactBackend for EdsBackend {
    fn fetch_partial(&mut self) -> Result<TimedAnswer, Error> {
        self.ask(&["view"])
    }

    fn find_cards(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        self.ask(&["find", &times.to_string(), &query.sexp])
    }

    fn find_uids(&mut self, times: u64, query: &ContactQuery) -> Result<TimedAnswer, Error> {
        self.ask(&["uids", &times.to_string(), &query.sexp])
    }

    fn first_screen(&mut self, times: u64, count: u64) -> Result<TimedAnswer, Error> {
        self.ask(&["screen", &times.to_string(), &count.to_string()])
    }
}
