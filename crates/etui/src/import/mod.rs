//! Foreign bytes become records: found, parsed, saved; what cannot be is told of.
//!
//! `split` finds records in any bytes, `lines` finds the lines of a record, `clean` makes its
//! text fit for a parser. [`Contacts::import`] runs a stream through them into a collection:
//! a small one in batches, a large one all at once.

mod aside;
pub mod clean;
pub(crate) mod edit;
pub mod lines;
pub(crate) mod refusal;
pub(crate) mod seen;
pub mod split;
pub(crate) mod stream;
pub(crate) mod values;

use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;

use crate::collection::fill::{Fill, Filled};
use crate::collection::shelf::{Prepared, Shelf};
use crate::collection::{Condition, Derived, ETag, Outcome, Record};
use crate::contacts::{Contacts, MAX_CARD};
use crate::error::{Error, Result};
use aside::Aside;
use seen::Seen;
use split::{Piece, Refusal, Splitter};
use stream::record_excerpt;

/// Records in one transaction at the most, and bytes of their text, of a small import.
const BATCH_RECORDS: usize = 1_000;
const BATCH_BYTES: usize = 2 << 20;
/// An input with so many records, or bytes of them, is a large one.
const SMALL_RECORDS: usize = 4_096;
const SMALL_BYTES: usize = 4 << 20;
/// Pieces of a large input that are parsed together, and bytes of them; and how many such
/// batches are on their way.
const PIECES: usize = 256;
const PIECES_BYTES: usize = 512 << 10;
const IN_FLIGHT: usize = 3;
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
    /// New records.
    pub added: u64,
    /// Records that were there and have other content now; it can be undone.
    pub changed: u64,
    /// Records that were there with the same content.
    pub unchanged: u64,
    /// How many pieces did not go in.
    pub refused: u64,
    /// The first thousand of them.
    pub refusals: Vec<Refused>,
    /// Bytes read.
    pub bytes: u64,
}

impl ImportReport {
    /// Records found that could be kept.
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
        /// Records taken in so far, unchanged ones included.
        records: u64,
    },
    /// Of a large import: all is read; lists and index are being written.
    Indexing,
    /// What was taken in so far is saved, and stays whatever comes.
    Saved {
        /// Records saved so far, unchanged ones included.
        records: u64,
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
    /// A small input (fewer than 4,096 cards, less than 4 MiB of them) goes in a batch of up to
    /// 1,000 a transaction. The new cards of a larger one go in all at once, in one transaction,
    /// with everything about them sorted; cards that change what is there follow in batches. It
    /// holds the store's write lock meanwhile, and needs room for twice what goes in, in the log
    /// and in the file, until it is done.
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
        let splitter = Splitter::new(input, "VCARD").max_record(MAX_CARD);
        run(self.shelf(), splitter, on_event)
    }
}

/// Imports the records that are found in `source` into a collection.
fn run<R: Record>(
    shelf: &Shelf<'_, R>,
    mut source: Splitter<impl Read>,
    on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
) -> Result<ImportReport> {
    let mut run = Run {
        shelf,
        report: ImportReport::default(),
        seen: Seen::default(),
        hasher: RandomState::new(),
        batch: Vec::new(),
        batch_bytes: 0,
        on_event,
    };
    while run.batch.len() < SMALL_RECORDS && run.batch_bytes < SMALL_BYTES {
        let Some(piece) = run.next(&mut source)? else {
            let all = std::mem::take(&mut run.batch);
            run.batch_bytes = 0;
            for item in all {
                run.take(item)?;
            }
            run.save()?;
            return Ok(run.report);
        };
        match read(piece) {
            Ok(mut item) => {
                run.notice_repetition(&mut item);
                run.batch_bytes += run.keep(item);
            }
            Err(refused) => run.refuse(refused)?,
        }
    }
    let ahead = std::mem::take(&mut run.batch);
    run.batch_bytes = 0;
    run.fill(ahead, &mut source)?;
    run.save()?;
    Ok(run.report)
}

/// A record of the input, or what is none.
fn read<R: Record>(piece: Piece) -> Found<R> {
    let record = match piece {
        Piece::Record(record) => record,
        Piece::Refused(refusal) => return Err(refused(&refusal)),
    };
    let line = record.line;
    let last_line = line + count_line_ends(&record.bytes);
    let excerpt = record_excerpt(&record.bytes);
    match R::read(record.bytes) {
        Ok(record) => Ok(Item {
            repeated: false,
            record,
            line,
            last_line,
        }),
        Err(error) => Err(Refused {
            line,
            last_line,
            reason: error.to_string(),
            excerpt,
        }),
    }
}

type Found<R> = std::result::Result<Item<R>, Refused>;

struct Run<'a, 's, R> {
    shelf: &'a Shelf<'s, R>,
    report: ImportReport,
    /// The UIDs met, so that a second record of a UID is noticed.
    seen: Seen,
    hasher: RandomState,
    batch: Vec<Item<R>>,
    batch_bytes: usize,
    on_event: &'a mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
}

struct Item<R> {
    record: R,
    /// A record with its UID came before.
    repeated: bool,
    line: u64,
    last_line: u64,
}

impl<R: Record> Item<R> {
    /// A repeated UID may only bring what is there already.
    fn condition(&self) -> Condition {
        match self.repeated {
            true => Condition::IfMatch(ETag::of(self.record.text())),
            false => Condition::Always,
        }
    }
}

impl<R: Record> Run<'_, '_, R> {
    /// Puts an item to the batch; returns the bytes of its text.
    fn keep(&mut self, item: Item<R>) -> usize {
        let bytes = item.record.text().len();
        self.batch.push(item);
        bytes
    }

    /// Saves the batch when it is full with this item.
    fn take(&mut self, item: Item<R>) -> Result<()> {
        self.batch_bytes += self.keep(item);
        if self.batch.len() >= BATCH_RECORDS || self.batch_bytes >= BATCH_BYTES {
            self.save()?;
        }
        Ok(())
    }

    /// The next piece of the input.
    fn next(&mut self, splitter: &mut Splitter<impl Read>) -> Result<Option<Piece>> {
        let piece = splitter.next().transpose();
        self.report.bytes = splitter.bytes_read();
        piece.map_err(|e| Error::io(std::path::Path::new("the input"), e))
    }

    fn notice_repetition(&mut self, item: &mut Item<R>) {
        let uid = self.hasher.hash_one(item.record.identity().as_bytes());
        item.repeated = !self.seen.insert(uid);
    }

    /// All new records in one transaction. What is known already, with other content, is put aside
    /// and follows in batches.
    fn fill(&mut self, ahead: Vec<Item<R>>, splitter: &mut Splitter<impl Read>) -> Result<()> {
        let store = self.shelf.store();
        let with = &store.deriving()?;
        let mut aside = Aside::beside(store.path())?;
        let added = store.write(|conn| {
            let fill = Fill::begin(conn, store.path(), self.shelf.id(), with.order)?;
            let mut filling = Filling {
                fill,
                aside: &mut aside,
                added: 0,
                unchanged: 0,
            };
            for item in ahead {
                let derived = item.record.derive(with);
                filling.add(&item, derived)?;
            }
            // Parsing and deriving takes about as long as the rest, so another thread does it.
            std::thread::scope(|scope| -> Result<()> {
                let (to_read, pieces) = sync_channel::<Vec<Piece>>(IN_FLIGHT);
                let (to_fill, found) = sync_channel::<Vec<(Found<R>, Derived)>>(IN_FLIGHT);
                scope.spawn(move || {
                    for pieces in pieces {
                        let derive = |piece| {
                            let found = read::<R>(piece);
                            let derived = match &found {
                                Ok(item) => item.record.derive(with),
                                Err(_) => Derived::default(),
                            };
                            (found, derived)
                        };
                        // Nobody takes it: the import was stopped.
                        if to_fill
                            .send(pieces.into_iter().map(derive).collect())
                            .is_err()
                        {
                            return;
                        }
                    }
                });
                let mut to_read = Some(to_read);
                let mut in_flight = 0;
                loop {
                    while let Some(to) = to_read.take_if(|_| in_flight < IN_FLIGHT) {
                        let pieces = self.some_pieces(splitter)?;
                        if !pieces.is_empty() && to.send(pieces).is_ok() {
                            in_flight += 1;
                            to_read = Some(to);
                        }
                    }
                    let Ok(found) = found.recv() else {
                        break;
                    };
                    in_flight -= 1;
                    for (found, derived) in found {
                        match found {
                            Ok(mut item) => {
                                self.notice_repetition(&mut item);
                                filling.add(&item, derived)?;
                            }
                            Err(refused) => self.refuse(refused)?,
                        }
                    }
                    self.tell(filling.added + filling.unchanged)?;
                }
                Ok(())
            })?;
            filling
                .fill
                .finish(&mut || stop_if((self.on_event)(ImportEvent::Indexing)))?;
            Ok((filling.added, filling.unchanged))
        })?;
        (self.report.added, self.report.unchanged) = added;
        store.engine.release_memory();
        self.tell_saved()?;
        aside.each(|item| self.take(item))
    }

    /// The next pieces of the input; none at its end.
    fn some_pieces(&mut self, splitter: &mut Splitter<impl Read>) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut bytes = 0;
        while pieces.len() < PIECES && bytes < PIECES_BYTES {
            let Some(piece) = self.next(splitter)? else {
                break;
            };
            if let Piece::Record(record) = &piece {
                bytes += record.bytes.len();
            }
            pieces.push(piece);
        }
        Ok(pieces)
    }

    fn tell(&mut self, records: u64) -> Result<()> {
        let bytes = self.report.bytes;
        stop_if((self.on_event)(ImportEvent::Progress { bytes, records }))
    }

    fn tell_saved(&mut self) -> Result<()> {
        let records = self.report.good();
        stop_if((self.on_event)(ImportEvent::Saved { records }))
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
        let records: Vec<_> = batch.iter().map(|i| (&i.record, i.condition())).collect();
        let results = self.shelf.save_each(&records)?;
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
                        "an earlier {} of this input has the same UID ({}) and other content; \
                         the earlier one was kept. Give this one a UID of its own to have both",
                        R::KIND.record(),
                        item.record.identity()
                    ),
                    excerpt: record_excerpt(item.record.text()),
                })?,
            }
        }
        self.tell(self.report.good())?;
        self.tell_saved()
    }
}

/// A filling, and what came of it so far.
struct Filling<'c, 'a, R> {
    fill: Fill<'c>,
    aside: &'a mut Aside<R>,
    added: u64,
    unchanged: u64,
}

impl<R: Record> Filling<'_, '_, R> {
    fn add(&mut self, item: &Item<R>, derived: Derived) -> Result<()> {
        if item.repeated {
            return self.aside.put(item);
        }
        let one = Prepared::derived(&item.record, derived);
        match self.fill.add(&one.incoming())? {
            Filled::Added => self.added += 1,
            Filled::Unchanged => self.unchanged += 1,
            Filled::Known => self.aside.put(item)?,
        }
        Ok(())
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
