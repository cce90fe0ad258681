//! Foreign bytes become records: found, parsed, saved; what cannot be is told of.
//!
//! `split` finds records in any bytes, `lines` finds the lines of a record, `clean` makes its
//! text fit for a parser. `run` takes what a source of records gives into a collection: a small
//! input in batches, a large one all at once ([`Contacts::import`],
//! [`Calendar::import`](crate::calendar::Calendar::import)).

mod aside;
pub(crate) mod fill;
pub(crate) mod run;

use std::io::Read;
use std::ops::ControlFlow;

use crate::contacts::{Card, Contacts, MAX_CARD};
use crate::error::Result;
use etui_contentline::split::{SplitItem, Splitter};
use run::{ImportItem, ParsedRecord, RecordSource, run_import};

/// Something in the input that did not go in, or of which not all was understood.
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
    /// How many pieces went in of which something was not understood, such as the name of a time
    /// zone; what they say is kept all the same.
    pub warned: u64,
    /// The first thousand of them.
    pub warnings: Vec<Refused>,
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
    /// Something went in, of which not all was understood.
    Warned(&'a Refused),
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
    /// [`Error::Stopped`](crate::Error::Stopped), reading `input`
    /// ([`Error::Io`](crate::Error::Io)), or whatever writing reports.
    pub fn import(
        &self,
        input: impl Read,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ImportReport> {
        let cards = CardSource(Splitter::new(input, "VCARD").max_record(MAX_CARD));
        run_import(self, cards, on_event)
    }
}

/// vCards in foreign bytes.
struct CardSource<R>(Splitter<R>);

impl<R: Read> RecordSource for CardSource<R> {
    type Record = Card;
    type Piece = SplitItem;

    fn next_piece(&mut self) -> std::io::Result<Option<SplitItem>> {
        self.0.next().transpose()
    }

    fn bytes_read(&self) -> u64 {
        self.0.bytes_read()
    }

    fn size(piece: &SplitItem) -> usize {
        match piece {
            SplitItem::Record(record) => record.bytes.len(),
            SplitItem::Rejected(_) => 0,
        }
    }

    fn parse_piece(piece: SplitItem) -> ParsedRecord<Card> {
        let record = match piece {
            SplitItem::Record(record) => record,
            SplitItem::Rejected(refusal) => return Err((&refusal).into()),
        };
        let line = record.line;
        let last_line = line + count_line_ends(&record.bytes);
        let excerpt = etui_contentline::stream::record_excerpt(&record.bytes);
        match Card::parse(record.bytes) {
            Ok(card) => Ok(ImportItem::new(card, line, last_line)),
            Err(error) => Err(Refused {
                line,
                last_line,
                reason: error.to_string(),
                excerpt,
            }),
        }
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
