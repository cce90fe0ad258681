//! Any bytes as a CSV file: every contact is a card with a UID, no line is in two records, and the
//! contacts are written as tables of both formats, which can be read.

#![no_main]

use etui_tables::{CsvFormat, CsvOptions, CsvPlan, CsvReader, ForeignItem, is_csv};
use etui_vcard::Card;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = is_csv(data);
    let Ok(cards) = read(data) else {
        return;
    };
    assert_eq!(read(data).expect("a second run is the same"), cards);
    for format in [CsvFormat::Google, CsvFormat::Outlook] {
        let mut plan = CsvPlan::new(format);
        cards.iter().for_each(|card| plan.add(card));
        let mut out = Vec::new();
        let mut writer = plan.writer(&mut out).expect("memory can be written");
        for card in &cards {
            for loss in writer.write(card).expect("memory can be written") {
                assert!(!loss.to_string().is_empty() && !loss.summary().is_empty());
            }
        }
        writer.finish().expect("memory can be written");
        let again = read(&out).expect("its own table is read");
        assert!(again.len() <= cards.len());
    }
});

/// Reads the contacts of a table.
fn read(data: &[u8]) -> Result<Vec<Card>, etui_tables::CsvError> {
    let mut reader = CsvReader::open(data, &CsvOptions::default())?;
    let mut cards = Vec::new();
    let mut last = 0;
    for item in &mut reader {
        let (line, last_line) = match item.expect("memory can be read") {
            ForeignItem::Contact(contact) => {
                assert!(contact.card.uid().is_some());
                cards.push(contact.card);
                (contact.line, contact.last_line)
            }
            ForeignItem::Rejected(row) => (row.line, row.last_line),
        };
        assert!(
            last < line && line <= last_line,
            "{last} {line} {last_line}"
        );
        last = last_line;
    }
    assert_eq!(reader.bytes_read(), data.len() as u64);
    Ok(cards)
}
