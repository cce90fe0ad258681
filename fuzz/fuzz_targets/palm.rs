//! Any bytes as a Palm database: every part can be read, what was read can be written, and what was
//! written is read again without a note.

#![no_main]

use etui_contentline::split::{SplitItem, Splitter};
use etui_ical::CalendarObject;
use etui_ical::ics::{ComponentGrouper, ObjectPiece, ObjectReader};
use etui_ical::time::TimeZone;
use etui_ical::zones::TimeZoneResolver;
use etui_palm::{Database, DatabaseKind, DatabaseWriter, read_database};
use etui_vcard::Card;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok((database, problems)) = Database::parse(data) else {
        return;
    };
    let bytes: usize = database
        .records
        .iter()
        .map(|record| record.data.len())
        .sum();
    assert!(bytes <= data.len(), "records are parts of the file");
    let written = database.to_bytes();
    if problems.is_empty() && written.len() == data.len() {
        let (again, _) = Database::parse(&written).expect("it was read before");
        assert_eq!(again.records, database.records);
    }
    let Ok(read) = read_database(data, None) else {
        return;
    };
    assert!(read.records + read.deleted <= database.records.len());
    let mut writer = DatabaseWriter::new(read.kind, read.code_page);
    if read.kind == DatabaseKind::Addresses {
        for item in Splitter::new(&*read.text, "VCARD") {
            let SplitItem::Record(record) = item.expect("a slice can always be read") else {
                panic!("a card that was made is refused");
            };
            let card = Card::parse(record.bytes).expect("a card that was made can be read");
            writer.add_card(&card).expect("it came from a database");
        }
    } else {
        let mut grouper = ComponentGrouper::new();
        let mut groups = Vec::new();
        for piece in ObjectReader::new(&*read.text) {
            match piece.expect("a slice can always be read") {
                ObjectPiece::Component(component) => groups.extend(grouper.push(component).0),
                ObjectPiece::Refused(refused) => panic!("{refused:?}"),
                _ => {}
            }
        }
        groups.extend(grouper.finish());
        for group in groups {
            let object = CalendarObject::parse(group.text(), &TimeZoneResolver::new());
            let object = object.expect("a component that was made can be read");
            let _ = writer.add_object(&object, &TimeZone::UTC);
        }
    }
    let again = read_database(&writer.finish(0), Some(read.code_page)).expect("it was written");
    assert_eq!(again.notes, [], "what was written is complete");
});
