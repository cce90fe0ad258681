//! [`Card`] as a kind of record.

use etui_vcard::Card;
use rusqlite::Connection;

use super::keys;
use crate::db::IndexContext;
use crate::record::{IndexedColumns, RecordKind};
use crate::types::CollectionKind;

impl RecordKind for Card {
    const KIND: CollectionKind = CollectionKind::Contacts;

    fn stored(_: &Connection, text: Vec<u8>, _: Option<i64>) -> crate::Result<Self> {
        Ok(Self::parse(text)?)
    }

    fn text(&self) -> &[u8] {
        self.text()
    }

    fn uid(&self) -> Option<&str> {
        self.uid()
    }

    fn index(&self, context: &IndexContext<'_>) -> IndexedColumns {
        keys::derive(self, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(body: &str) -> Card {
        Card::parse(format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n")).unwrap()
    }

    #[test]
    fn identity_comes_from_uid_or_content() {
        assert_eq!(card("UID:42\r\nFN:A\r\n").identity(), "42");
        let a = card("FN:A\r\n");
        assert_eq!(a.identity(), card("FN:A\r\n").identity());
        assert_ne!(a.identity(), card("FN:B\r\n").identity());
        assert_eq!(a.identity().len(), 37);
    }
}
