//! Imports: records are found in foreign bytes, parsed and saved; rejected input is reported.
//!
//! `etui-contentline` finds records in any bytes. `run` saves the records of a source into a
//! collection: a small input in batches, a large one in one transaction ([`Contacts::import`],
//! [`Calendar::import`](crate::calendar::Calendar::import)).

mod aside;
mod cards;
pub(crate) mod fill;
pub(crate) mod run;

use std::io::Read;
use std::ops::ControlFlow;

use crate::contacts::{Card, Contacts, MAX_CARD};
use crate::error::Result;
pub use cards::{CardReader, ImportCard};
use etui_contentline::split::{SplitItem, Splitter};
use run::{ImportItem, ParsedRecord, RecordSource, RunOptions, run_import};

/// A part of the input that was rejected, or not fully understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its first line, counted from 1.
    pub line: u64,
    /// Its last line.
    pub last_line: u64,
    /// The reason, and a remedy.
    pub reason: String,
    /// Its beginning, shortened and printable.
    pub excerpt: String,
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// New records, and those that came back from the trash.
    pub added: u64,
    /// Those of them that came back from the trash.
    pub revived: u64,
    /// Existing records with other content now; the change can be undone.
    pub changed: u64,
    /// Existing records with the same content.
    pub unchanged: u64,
    /// Components older than those of their entries (SEQUENCE, then DTSTAMP), and contacts as they were before
    /// they were changed: they changed nothing.
    pub older: u64,
    /// Messages that change no entry: proposals, questions, and answers to no known entry.
    pub proposals: u64,
    /// The number of rejected parts.
    pub refused: u64,
    /// The first thousand of them.
    pub refusals: Vec<Refused>,
    /// The number of imported parts that were not fully understood, such as the name of a time
    /// zone; their text is kept.
    pub warned: u64,
    /// The first thousand of them.
    pub warnings: Vec<Refused>,
    /// Bytes read.
    pub bytes: u64,
}

impl ImportReport {
    /// Returns the number of valid records.
    pub fn good(&self) -> u64 {
        self.added + self.changed + self.unchanged
    }
}

/// An event of an import.
#[derive(Debug)]
pub enum ImportEvent<'a> {
    /// Progress: bytes read and records imported.
    Progress {
        /// Bytes read so far.
        bytes: u64,
        /// Records imported so far, including unchanged ones.
        records: u64,
    },
    /// The input of a large import is read; lists and index are being written.
    Indexing,
    /// The records so far are saved, and stay whatever follows.
    Saved {
        /// Records saved so far, including unchanged ones.
        records: u64,
    },
    /// A part of the input was rejected.
    Refused(&'a Refused),
    /// A part of the input was imported, but not fully understood.
    Warned(&'a Refused),
}

impl Contacts {
    /// Imports every vCard of `input`, of any version and charset.
    ///
    /// Valid cards are imported; everything else is reported with its lines and the reason.
    /// Importing an input twice changes nothing, also if a contact was changed in between: a card that a
    /// contact had before, as far as the versions are kept, is older. Of several cards with one UID and
    /// different content the first is kept.
    ///
    /// A small input (fewer than 4,096 cards and 4 MiB) is saved in batches of up to 1,000 per
    /// transaction. The new cards of a larger input are saved sorted, in one transaction; cards
    /// that change existing ones follow in batches. That transaction holds the store's write lock,
    /// and needs twice the size of the new records in the log and in the file.
    ///
    /// `on_event` receives the events and may stop the import; batches reported by
    /// [`ImportEvent::Saved`] are kept.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::Error::Stopped), [`Error::Io`](crate::Error::Io) of reading
    /// `input`, or any write error.
    pub fn import(
        &self,
        input: impl Read,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ImportReport> {
        self.import_with(input, ContactImport::default(), on_event)
    }

    /// Imports as [`Contacts::import`] does, with options.
    ///
    /// # Errors
    /// As [`Contacts::import`].
    pub fn import_with(
        &self,
        input: impl Read,
        options: ContactImport,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ImportReport> {
        let cards = CardSource(Splitter::new(input, "VCARD").max_record(MAX_CARD));
        run_import(self, cards, options.into(), on_event)
    }
}

/// Options of [`Contacts::import_with`] and [`Contacts::import_cards`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ContactImport {
    /// A card that a contact had before it was changed replaces the present one, as a file of a folder of
    /// items does, or an old export that is to be taken back.
    pub takes_earlier: bool,
}

impl From<ContactImport> for RunOptions {
    fn from(options: ContactImport) -> Self {
        Self {
            takes_earlier: options.takes_earlier,
            ..Self::default()
        }
    }
}

/// A source of vCards in foreign bytes.
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
        let (line, last_line) = (record.line, record.last_line);
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
