//! Any bytes as LDIF: every person is a card with a UID, and no line is in two entries.

#![no_main]

use etui_tables::{ForeignItem, LdifReader, is_ldif};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = is_ldif(data);
    let items = read(data);
    assert_eq!(read(data), items);
    let mut last = 0;
    for item in items {
        let (line, last_line) = match item {
            ForeignItem::Contact(contact) => {
                assert!(contact.card.uid().is_some());
                (contact.line, contact.last_line)
            }
            ForeignItem::Rejected(entry) => (entry.line, entry.last_line),
        };
        assert!(
            last < line && line <= last_line,
            "{last} {line} {last_line}"
        );
        last = last_line;
    }
});

fn read(data: &[u8]) -> Vec<ForeignItem> {
    let mut reader = LdifReader::new(data);
    let items = reader
        .by_ref()
        .map(|item| item.expect("memory can be read"));
    let items = items.collect();
    assert_eq!(reader.bytes_read(), data.len() as u64);
    items
}
