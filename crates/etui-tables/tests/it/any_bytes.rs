//! Damaged exports: any bytes are read without a panic, and no line is in two records.

use etui_tables::{
    CsvError, CsvFormat, CsvOptions, CsvPlan, CsvReader, ForeignItem, LdifReader, is_csv, is_ldif,
};
use etui_testkit::fixtures::tables;
use etui_vcard::Card;
use proptest::prelude::*;

/// A change of some bytes: the position (in parts of 65,536), the number of removed bytes, and the
/// inserted ones.
type Damage = (u16, usize, Vec<u8>);

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let special = b"\"\",;\t\n\r :=*-<#\0\x1b\xFC\xFF".to_vec();
    let byte = prop_oneof![4 => proptest::sample::select(special), 1 => any::<u8>()];
    let damage = (
        any::<u16>(),
        0..40_usize,
        proptest::collection::vec(byte, 0..6),
    );
    proptest::collection::vec(damage, 0..6)
}

fn damaged(bytes: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, removed, inserted) in damages {
        let at = usize::from(*at) * bytes.len() / 65_536;
        let end = (at + removed).min(bytes.len());
        bytes.splice(at..end, inserted.iter().copied());
    }
    bytes
}

/// Returns the cards, after a check of the lines.
fn cards(items: &[ForeignItem]) -> Vec<Card> {
    let mut last = 0;
    let mut cards = Vec::new();
    for item in items {
        let (line, last_line) = match item {
            ForeignItem::Contact(contact) => {
                assert!(contact.card.uid().is_some());
                cards.push(contact.card.clone());
                (contact.line, contact.last_line)
            }
            ForeignItem::Rejected(record) => (record.line, record.last_line),
        };
        assert!(
            last < line && line <= last_line,
            "{last} {line} {last_line}"
        );
        last = last_line;
    }
    cards
}

fn read_csv(bytes: &[u8]) -> Result<Vec<ForeignItem>, CsvError> {
    let mut reader = CsvReader::open(bytes, &CsvOptions::default())?;
    let items = reader.by_ref().collect::<Result<_, _>>().unwrap();
    assert_eq!(reader.bytes_read(), bytes.len() as u64);
    Ok(items)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_exports_are_read(index in 0..tables::ALL.len(), damages in damages()) {
        let bytes = damaged(tables::ALL[index].bytes, &damages);
        let _ = (is_csv(&bytes), is_ldif(&bytes));
        let mut reader = LdifReader::new(&bytes[..]);
        let people: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(reader.bytes_read(), bytes.len() as u64);
        cards(&people);
        if let Ok(items) = read_csv(&bytes) {
            prop_assert_eq!(&read_csv(&bytes).unwrap(), &items);
            let cards = cards(&items);
            for format in [CsvFormat::Google, CsvFormat::Outlook] {
                let mut plan = CsvPlan::new(format);
                cards.iter().for_each(|card| plan.add(card));
                let mut out = Vec::new();
                let mut writer = plan.writer(&mut out).unwrap();
                // A card of properties that the format does not have leaves an empty row.
                let mut is_any_whole = false;
                for card in &cards {
                    is_any_whole |= writer.write(card).unwrap().is_empty();
                }
                writer.finish().unwrap();
                let again = read_csv(&out).unwrap();
                prop_assert!(again.len() <= cards.len());
                let is_rejected = |item: &ForeignItem| matches!(item, ForeignItem::Rejected(_));
                prop_assert!(!is_any_whole || !again.iter().all(is_rejected));
            }
        }
    }
}
