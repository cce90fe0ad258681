//! Foreign bytes become records: found, parsed, saved; what cannot be is told of.
//!
//! `split` finds records in any bytes, `lines` finds the lines of a record, `clean` makes its
//! text fit for a parser. [`Contacts::import`] runs a stream through them into an address book,
//! a batch a transaction.

pub mod clean;
pub mod lines;
pub mod split;

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::ops::ControlFlow;

use crate::collection::{Condition, ETag, Outcome};
use crate::contacts::{Card, Contacts, MAX_CARD};
use crate::error::{Error, Result};
use split::{Piece, RawRecord, Refusal, Splitter, record_excerpt};

/// Records in one transaction at the most, and bytes of their text.
const BATCH_RECORDS: usize = 1_000;
const BATCH_BYTES: usize = 2 << 20;
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
    /// A batch was saved: bytes read and contacts saved so far.
    Progress {
        /// Bytes read so far.
        bytes: u64,
        /// Contacts saved so far, unchanged ones included.
        contacts: u64,
    },
    /// Something did not go in.
    Refused(&'a Refused),
}

impl Contacts<'_> {
    /// Imports every vCard of `input`, of any version and charset.
    ///
    /// Good cards go in, a batch of up to 1,000 a transaction; everything else is reported with
    /// its lines and the reason. The same input imported twice changes nothing. Of several cards
    /// with one UID and different content the first is kept.
    ///
    /// `on_event` is told what happens and may stop the import; batches saved by then are kept.
    ///
    /// # Errors
    /// [`Error::Stopped`], reading `input` ([`Error::Io`]), or whatever writing reports.
    pub fn import(
        &self,
        input: impl Read,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ImportReport> {
        let mut splitter = Splitter::new(input, "VCARD").max_record(MAX_CARD);
        let mut run = Run {
            book: self,
            report: ImportReport::default(),
            seen: HashSet::new(),
            hasher: RandomState::new(),
            batch: Vec::new(),
            batch_bytes: 0,
            on_event,
        };
        while let Some(piece) = splitter.next() {
            let piece = piece.map_err(|e| Error::io(std::path::Path::new("the input"), e))?;
            run.report.bytes = splitter.bytes_read();
            match piece {
                Piece::Record(record) => run.take(record)?,
                Piece::Refused(refusal) => run.refuse(refused(&refusal))?,
            }
        }
        run.report.bytes = splitter.bytes_read();
        run.save()?;
        Ok(run.report)
    }
}

struct Run<'a, 's> {
    book: &'a Contacts<'s>,
    report: ImportReport,
    /// Hashes of the UIDs met, so that a second card of a UID is noticed.
    seen: HashSet<u64>,
    hasher: RandomState,
    batch: Vec<Item>,
    batch_bytes: usize,
    on_event: &'a mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
}

struct Item {
    card: Card,
    condition: Condition,
    line: u64,
    last_line: u64,
}

impl Run<'_, '_> {
    fn take(&mut self, record: RawRecord) -> Result<()> {
        let line = record.line;
        let last_line = line + count_line_ends(&record.bytes);
        let excerpt = record_excerpt(&record.bytes);
        match Card::parse(record.bytes) {
            Ok(card) => {
                let repeated = !self
                    .seen
                    .insert(self.hasher.hash_one(card.identity().as_bytes()));
                // A repeated UID may only bring what is there already.
                let condition = if repeated {
                    Condition::IfMatch(ETag::of(card.text()))
                } else {
                    Condition::Always
                };
                self.batch_bytes += card.text().len();
                self.batch.push(Item {
                    card,
                    condition,
                    line,
                    last_line,
                });
                if self.batch.len() >= BATCH_RECORDS || self.batch_bytes >= BATCH_BYTES {
                    self.save()?;
                }
                Ok(())
            }
            Err(error) => self.refuse(Refused {
                line,
                last_line,
                reason: error.to_string(),
                excerpt,
            }),
        }
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
        let cards: Vec<_> = batch.iter().map(|i| (&i.card, i.condition)).collect();
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
        let progress = ImportEvent::Progress {
            bytes: self.report.bytes,
            contacts: self.report.good(),
        };
        stop_if((self.on_event)(progress))
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
