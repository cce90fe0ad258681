//! Foreign bytes become records: found, parsed, saved; what cannot be is told of.
//!
//! `split` finds records in any bytes, `lines` finds the lines of a record, `clean` makes its
//! text fit for a parser. [`Contacts::import`] runs a stream through them into an address book:
//! a small one in batches, a large one all at once.

mod aside;
pub mod clean;
pub mod lines;
pub mod split;

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::ops::ControlFlow;

use crate::collection::fill::{Fill, Filled};
use crate::collection::{Condition, ETag, Outcome};
use crate::contacts::{Card, Contacts, MAX_CARD, prepare};
use crate::error::{Error, Result};
use aside::Aside;
use split::{Piece, Refusal, Splitter, record_excerpt};

/// Records in one transaction at the most, and bytes of their text, of a small import.
const BATCH_RECORDS: usize = 1_000;
const BATCH_BYTES: usize = 2 << 20;
/// An input with more records than this, or bytes of them, is a large one.
const SMALL_RECORDS: usize = 4_096;
const SMALL_BYTES: usize = 4 << 20;
/// Refusals kept in the report; all are told of as they happen.
const KEPT_REFUSALS: usize = 1_000;

/// Something in the input that did not go in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its first line, the input's first being 1.
    pub line: u64,
    /// Its last line.
    pub last_line: u64,
    /// Why, and what to do about it.
    pub reason: String,
    /// How it begins; for people, cut and made printable.
    pub excerpt: String,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// New contacts.
    pub added: u64,
    /// Contacts that were there and have other content now; it can be undone.
    pub changed: u64,
    /// Contacts that were there with the same content.
    pub unchanged: u64,
    /// How many pieces did not go in.
    pub refused: u64,
    /// The first thousand of them.
    pub refusals: Vec<Refused>,
    /// Bytes read.
    pub bytes: u64,
}

impl ImportReport {
    /// Contacts found that could be kept.
    #[must_use]
    pub fn good(&self) -> u64 {
        self.added + self.changed + self.unchanged
    }
}

/// What happens during an import.
#[derive(Debug)]
pub enum ImportEvent<'a> {
    /// Bytes read and contacts taken in so far.
    Progress {
        /// Bytes read so far.
        bytes: u64,
        /// Contacts taken in so far, unchanged ones included.
        contacts: u64,
    },
    /// Of a large import: all is read; lists and index are being written.
    Indexing,
    /// What was taken in so far is saved, and stays whatever comes.
    Saved {
        /// Contacts saved so far, unchanged ones included.
        contacts: u64,
    },
    /// Something did not go in.
    Refused(&'a Refused),
}

impl Contacts<'_> {
    /// Imports every vCard of `input`, of any version and charset.
    ///
    /// Good cards go in; everything else is reported with its lines and the reason. The same
    /// input imported twice changes nothing. Of several cards with one UID and different content
    /// the first is kept.
    ///
    /// A small input (4,096 cards or 4 MiB) goes in a batch of up to 1,000 a transaction. The new
    /// cards of a larger one go in all at once, in one transaction, with everything about them
    /// sorted; cards that change what is there follow in batches. It holds the store's write lock
    /// meanwhile, and the file grows by twice what goes in until it is done.
    ///
    /// `on_event` is told what happens and may stop the import; what was saved by then
    /// ([`ImportEvent::Saved`]) is kept.
    ///
    /// # Errors
    /// [`Error::Stopped`], reading `input` ([`Error::Io`]), or whatever writing reports.
    pub fn import(
        &self,
        input: impl Read,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ImportReport> {
        let mut source = Source {
            splitter: Splitter::new(input, "VCARD").max_record(MAX_CARD),
            seen: HashSet::new(),
            hasher: RandomState::new(),
        };
        let mut run = Run {
            book: self,
            report: ImportReport::default(),
            batch: Vec::new(),
            batch_bytes: 0,
            on_event,
        };
        let mut is_large = false;
        while let Some(found) = source.next(&mut run.report)? {
            match found {
                Ok(item) => run.batch_bytes += run.keep(item),
                Err(refused) => run.refuse(refused)?,
            }
            if run.batch.len() >= SMALL_RECORDS || run.batch_bytes >= SMALL_BYTES {
                is_large = true;
                break;
            }
        }
        let ahead = std::mem::take(&mut run.batch);
        run.batch_bytes = 0;
        if is_large {
            run.fill(ahead, source)?;
        } else {
            for item in ahead {
                run.take(item)?;
            }
        }
        run.save()?;
        Ok(run.report)
    }
}

/// Cards found in foreign bytes.
struct Source<R> {
    splitter: Splitter<R>,
    /// Hashes of the UIDs met, so that a second card of a UID is noticed.
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl<R: Read> Source<R> {
    /// The next card, or what is none.
    fn next(&mut self, report: &mut ImportReport) -> Result<Option<Found>> {
        let piece = self.splitter.next();
        report.bytes = self.splitter.bytes_read();
        let record = match piece {
            None => return Ok(None),
            Some(Err(e)) => return Err(Error::io(std::path::Path::new("the input"), e)),
            Some(Ok(Piece::Refused(refusal))) => return Ok(Some(Err(refused(&refusal)))),
            Some(Ok(Piece::Record(record))) => record,
        };
        let line = record.line;
        let last_line = line + count_line_ends(&record.bytes);
        let excerpt = record_excerpt(&record.bytes);
        Ok(Some(match Card::parse(record.bytes) {
            Ok(card) => {
                let uid = self.hasher.hash_one(card.identity().as_bytes());
                Ok(Item {
                    repeated: !self.seen.insert(uid),
                    card,
                    line,
                    last_line,
                })
            }
            Err(error) => Err(Refused {
                line,
                last_line,
                reason: error.to_string(),
                excerpt,
            }),
        }))
    }
}

type Found = std::result::Result<Item, Refused>;

struct Run<'a, 's> {
    book: &'a Contacts<'s>,
    report: ImportReport,
    batch: Vec<Item>,
    batch_bytes: usize,
    on_event: &'a mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
}

struct Item {
    card: Card,
    /// A card with its UID came before.
    repeated: bool,
    line: u64,
    last_line: u64,
}

impl Item {
    /// A repeated UID may only bring what is there already.
    fn condition(&self) -> Condition {
        match self.repeated {
            true => Condition::IfMatch(ETag::of(self.card.text())),
            false => Condition::Always,
        }
    }
}

impl Run<'_, '_> {
    /// Puts an item to the batch; returns the bytes of its text.
    fn keep(&mut self, item: Item) -> usize {
        let bytes = item.card.text().len();
        self.batch.push(item);
        bytes
    }

    /// Saves the batch when it is full with this item.
    fn take(&mut self, item: Item) -> Result<()> {
        self.batch_bytes += self.keep(item);
        if self.batch.len() >= BATCH_RECORDS || self.batch_bytes >= BATCH_BYTES {
            self.save()?;
        }
        Ok(())
    }

    /// All new cards in one transaction. What is known already, with other content, is put aside
    /// and follows in batches.
    fn fill<R: Read>(&mut self, ahead: Vec<Item>, mut source: Source<R>) -> Result<()> {
        let store = self.book.store();
        let order = store.order()?;
        let mut aside = Aside::beside(store.path())?;
        let added = store.write(|conn| {
            let mut fill = Fill::begin(conn, store.path(), self.book.number(), order)?;
            let mut ahead = ahead.into_iter();
            let (mut added, mut unchanged) = (0u64, 0u64);
            loop {
                let found = match ahead.next() {
                    Some(item) => Ok(item),
                    None => match source.next(&mut self.report)? {
                        Some(found) => found,
                        None => break,
                    },
                };
                let item = match found {
                    Ok(item) => item,
                    Err(refused) => {
                        self.refuse(refused)?;
                        continue;
                    }
                };
                if item.repeated {
                    aside.put(&item)?;
                    continue;
                }
                match fill.add(&prepare(&item.card, order, store.region()).incoming())? {
                    Filled::Added => added += 1,
                    Filled::Unchanged => unchanged += 1,
                    Filled::Known => aside.put(&item)?,
                }
                if (added + unchanged) % BATCH_RECORDS as u64 == 0 {
                    self.tell(added + unchanged)?;
                }
            }
            self.tell(added + unchanged)?;
            fill.finish(&mut || stop_if((self.on_event)(ImportEvent::Indexing)))?;
            Ok((added, unchanged))
        })?;
        (self.report.added, self.report.unchanged) = added;
        self.tell_saved()?;
        aside.each(|item| self.take(item))
    }

    fn tell(&mut self, contacts: u64) -> Result<()> {
        let bytes = self.report.bytes;
        stop_if((self.on_event)(ImportEvent::Progress { bytes, contacts }))
    }

    fn tell_saved(&mut self) -> Result<()> {
        let contacts = self.report.good();
        stop_if((self.on_event)(ImportEvent::Saved { contacts }))
    }

    fn refuse(&mut self, refused: Refused) -> Result<()> {
        self.report.refused += 1;
        let go_on = (self.on_event)(ImportEvent::Refused(&refused));
        if self.report.refusals.len() < KEPT_REFUSALS {
            self.report.refusals.push(refused);
        }
        stop_if(go_on)
    }

    fn save(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let cards: Vec<_> = batch.iter().map(|i| (&i.card, i.condition())).collect();
        let results = self.book.save_each(&cards)?;
        for (item, result) in batch.iter().zip(results) {
            match result {
                Ok(saved) => match saved.outcome {
                    Outcome::Added => self.report.added += 1,
                    Outcome::Changed => self.report.changed += 1,
                    Outcome::Unchanged => self.report.unchanged += 1,
                },
                Err(_) => self.refuse(Refused {
                    line: item.line,
                    last_line: item.last_line,
                    reason: format!(
                        "an earlier card of this input has the same UID ({}) and other content; \
                         the earlier one was kept. Give this one a UID of its own to have both",
                        item.card.identity()
                    ),
                    excerpt: record_excerpt(item.card.text()),
                })?,
            }
        }
        self.tell(self.report.good())?;
        self.tell_saved()
    }
}

fn stop_if(go_on: ControlFlow<()>) -> Result<()> {
    match go_on {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped),
    }
}

fn refused(refusal: &Refusal) -> Refused {
    Refused {
        line: refusal.line,
        last_line: refusal.last_line,
        reason: refusal.reason.to_string(),
        excerpt: refusal.excerpt.clone(),
    }
}

/// Line ends inside a record: CRLF, LF or CR, the last one not counted.
fn count_line_ends(bytes: &[u8]) -> u64 {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let mut before = 0;
    let mut count = 0;
    for &b in bytes {
        count += u64::from(b == b'\r' || (b == b'\n' && before != b'\r'));
        before = b;
    }
    count
}
