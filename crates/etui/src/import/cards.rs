//! [`Contacts::import_cards`]: contacts that a program reads from another format.

use std::io;
use std::ops::ControlFlow;

use super::run::{ImportItem, ParsedRecord, RecordSource, run_import};
use super::{ContactImport, ImportEvent, ImportReport, Refused};
use crate::contacts::{Card, Contacts};
use crate::error::Result;

/// A contact that was read from another format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportCard {
    /// The contact. One without a UID is identified by its content.
    pub card: Card,
    /// Its first line in the input, counted from 1.
    pub line: u64,
    /// Its last line.
    pub last_line: u64,
    /// Parts of it that were not understood, or not kept as they are.
    pub warnings: Vec<String>,
}

/// A reader of another format, for [`Contacts::import_cards`].
pub trait CardReader {
    /// Returns the next contact, or a part of the input that is none; `None` at the end, also when it
    /// is asked again.
    ///
    /// # Errors
    /// Those of reading the input, which end the import.
    fn next_card(&mut self) -> io::Result<Option<std::result::Result<ImportCard, Refused>>>;

    /// Returns the number of bytes read so far.
    fn bytes_read(&self) -> u64;
}

impl Contacts {
    /// Imports contacts that a program reads from another format, as [`Contacts::import`] does
    /// those of a vCard file.
    ///
    /// # Errors
    /// As [`Contacts::import`].
    pub fn import_cards(
        &self,
        reader: &mut dyn CardReader,
        options: ContactImport,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ImportReport> {
        run_import(self, ForeignSource(reader), options.into(), on_event)
    }
}

/// A source of contacts that are read already.
struct ForeignSource<'r>(&'r mut dyn CardReader);

impl RecordSource for ForeignSource<'_> {
    type Record = Card;
    type Piece = std::result::Result<ImportCard, Refused>;

    fn next_piece(&mut self) -> io::Result<Option<Self::Piece>> {
        self.0.next_card()
    }

    fn bytes_read(&self) -> u64 {
        self.0.bytes_read()
    }

    fn size(piece: &Self::Piece) -> usize {
        piece.as_ref().map_or(0, |found| found.card.text().len())
    }

    fn parse_piece(piece: Self::Piece) -> ParsedRecord<Card> {
        let found = piece?;
        let item = ImportItem::new(found.card, found.line, found.last_line);
        Ok(item.warnings(found.warnings))
    }
}
