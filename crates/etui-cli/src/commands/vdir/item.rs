//! [`ItemRecord`]: records as the files of a folder.

use std::borrow::Cow;

use etui::RecordId;
use etui::calendar::{CalendarObject, Color};
use etui::contacts::Card;
use etui::record::{Reader, RecordKind};
use etui_contentline::charset::detect_utf16;
use etui_contentline::edit::line_ending;
use etui_program::Result;

use crate::commands::records::RecordCommands;
use crate::commands::written_version::WrittenVersion;

/// Records that are written as items of folders.
pub trait ItemRecord: RecordCommands {
    /// Returns the UID of the record in a file; `None` if it has not exactly one record.
    fn file_uid(bytes: &[u8]) -> Option<String>;

    /// Returns the bytes of the file for a record.
    fn file_bytes(
        reader: &Reader<Self>,
        id: RecordId,
        text: &[u8],
        version: WrittenVersion,
    ) -> Result<Vec<u8>>;

    /// Returns the colour of the collection.
    fn color(reader: &Reader<Self>) -> Result<Option<Color>>;
}

impl ItemRecord for Card {
    fn file_uid(bytes: &[u8]) -> Option<String> {
        Some(Card::parse(bytes).ok()?.identity().into_owned())
    }

    fn file_bytes(
        _: &Reader<Self>,
        _: RecordId,
        text: &[u8],
        version: WrittenVersion,
    ) -> Result<Vec<u8>> {
        let original = Card::parse(text)?;
        let utf8 = match detect_utf16(text) {
            Some(utf16) => Cow::Owned(
                utf16
                    .decode_without_bom_handling(text)
                    .0
                    .into_owned()
                    .into_bytes(),
            ),
            None => Cow::Borrowed(text),
        };
        let mut card = Card::parse(utf8.into_owned())?;
        if let Some(converted) = version.convert(&card) {
            card = Card::parse(converted.text)?;
        }
        // An item has a UID.
        let mut bytes = with_uid(card, &original)?.into_text();
        if !bytes.ends_with(b"\n") {
            bytes.extend(line_ending(&bytes).to_vec());
        }
        Ok(bytes)
    }

    fn color(_: &Reader<Self>) -> Result<Option<Color>> {
        Ok(None)
    }
}

impl ItemRecord for CalendarObject {
    fn file_uid(bytes: &[u8]) -> Option<String> {
        use etui::calendar::ics::{ObjectPiece, ObjectReader};
        use etui::calendar::zones::TimeZoneResolver;
        let mut text = Vec::new();
        for piece in ObjectReader::new(bytes) {
            if let ObjectPiece::Component(component) = piece.ok()? {
                text.extend(component.bytes);
            }
        }
        let object = CalendarObject::parse(text, &TimeZoneResolver::new()).ok()?;
        Some(object.identity().into_owned())
    }

    fn file_bytes(
        reader: &Reader<Self>,
        id: RecordId,
        _: &[u8],
        _: WrittenVersion,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        reader.export(&mut bytes, Some(&[id]))?;
        if !bytes.ends_with(b"\n") {
            bytes.extend(line_ending(&bytes).to_vec());
        }
        Ok(bytes)
    }

    fn color(reader: &Reader<Self>) -> Result<Option<Color>> {
        Ok(reader.color()?)
    }
}

/// Adds the identity of the original text as a UID to a converted card, so that a new import updates
/// the same contact.
pub fn with_uid(mut written: Card, original: &Card) -> Result<Card> {
    if written.uid().is_none() {
        written.set("UID", &original.identity())?;
    }
    Ok(written)
}
