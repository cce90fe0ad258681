//! Any bytes: the reader of calendars accounts for every one of them; what it takes can be read,
//! changed, put together again and read once more.

#![no_main]

use etui_ical::ics::{
    ComponentGrouper, ObjectPiece, ObjectReader, ObjectTemplate, ObjectWriter, TemplateBuilder,
    TemplatePart, ZoneKey, merge_templates,
};
use etui_ical::time::TimeZone;
use etui_ical::zones::{TimeZoneDefinition, TimeZoneResolver};
use etui_ical::{CalendarObject, ObjectError};
use libfuzzer_sys::fuzz_target;

/// Small, so that inputs of a fuzzer's size reach it.
const MAX_COMPONENT: usize = 2_048;

fuzz_target!(|data: &[u8]| {
    let mut at = 0;
    let mut zones = TimeZoneResolver::new();
    let mut frames: Vec<TemplateBuilder> = Vec::new();
    let mut grouper = ComponentGrouper::new();
    let mut groups = Vec::new();
    for piece in ObjectReader::new(data).max_component(MAX_COMPONENT) {
        let mut is_beginning = false;
        let (offset, len) = match piece.expect("a slice can always be read") {
            ObjectPiece::Text(text) => {
                if text.part == TemplatePart::Begin {
                    frames.push(TemplateBuilder::default());
                    is_beginning = true;
                }
                frames.last_mut().expect("an object began").text(&text);
                // A long beginning that occurs again is shortened.
                let len = match is_beginning && text.offset < at as u64 {
                    true => 0,
                    false => same(data, text.offset, &text.bytes),
                };
                (text.offset, len)
            }
            ObjectPiece::Zone(zone) => {
                zones.define(&TimeZoneDefinition::parse(&zone.bytes));
                let frame = frames.last_mut().expect("an object began");
                frame.zone(key_of(&zone.bytes));
                (zone.offset, same(data, zone.offset, &zone.bytes))
            }
            ObjectPiece::Component(component) => {
                frames.last_mut().expect("an object began").component();
                assert!(component.bytes.len() <= MAX_COMPONENT);
                let place = (
                    component.offset,
                    same(data, component.offset, &component.bytes),
                );
                groups.extend(grouper.push(component).0);
                place
            }
            ObjectPiece::Refused(why) => {
                assert!(why.line <= why.last_line && why.excerpt.chars().count() <= 80);
                (
                    why.offset,
                    usize::try_from(why.len).expect("within the input"),
                )
            }
        };
        let offset = usize::try_from(offset).expect("within the input");
        // The beginning of an outer object, which occurs again after an inner one, and the place of that.
        if offset < at && len == 0 {
            continue;
        }
        assert_blank(&data[at..offset]);
        at = offset + len;
    }
    assert_blank(&data[at..]);
    groups.extend(grouper.finish());

    let frames: Vec<ObjectTemplate> = frames.into_iter().map(TemplateBuilder::finish).collect();
    for frame in &frames {
        let stored = ObjectTemplate::from_bytes(frame.as_bytes().to_vec());
        assert_eq!(stored.as_ref(), Some(frame));
    }
    let all: Vec<&ObjectTemplate> = frames.iter().collect();
    let merged = merge_templates(&all, |hash| format!("{hash:?}"));
    let plain = ObjectTemplate::plain();
    let frame = merged.first().map_or(&plain, |merged| &merged.template);
    let zone = |_: &ZoneKey| Ok(b"BEGIN:VTIMEZONE\r\nTZID:Z\r\nEND:VTIMEZONE\r\n".to_vec());
    let mut object = ObjectWriter::new(Vec::new(), frame, zone);
    let mut written = 0;
    for (number, group) in groups.iter().enumerate() {
        let mut record =
            CalendarObject::parse(group.text(), &zones).expect("the reader found it whole");
        assert_eq!(record.uid(), group.uid.as_deref());
        assert_eq!(record.components().len(), group.components.len());
        for item in record.components() {
            if let (Some(start), Some(end)) = (&item.start, &item.end) {
                item.alarms.iter().for_each(|alarm| {
                    alarm.due(start, end, &TimeZone::UTC).take(3).for_each(drop);
                });
            }
        }
        for component in record.component_texts() {
            let number = u32::try_from(number).expect("few");
            object
                .component(number, component)
                .expect("a vector can be written");
            written += 1;
        }
        match record.remove(0, "X-NEW", None, &zones) {
            Ok(_) => {}
            // It says nothing else.
            Err(ObjectError::Empty) => continue,
            Err(error) => panic!("a property cannot be removed: {error}"),
        }
        record
            .set(0, "X-NEW", "a, b", &zones)
            .expect("a property can be put");
        assert_eq!(record.remove(0, "X-NEW", None, &zones), Ok(1));
    }
    let object = object.finish().expect("a vector can be written");
    let again = ObjectReader::new(&object[..])
        .filter(|piece| matches!(piece, Ok(ObjectPiece::Component(_))));
    assert_eq!(again.count(), written);
});

/// The length of `bytes`, which stand at `offset`.
fn same(data: &[u8], offset: u64, bytes: &[u8]) -> usize {
    let offset = usize::try_from(offset).expect("within the input");
    assert!(data[offset..].starts_with(bytes));
    bytes.len()
}

/// What lies between the pieces: blanks, line ends, byte order marks, and the zero halves of them
/// in UTF-16.
fn assert_blank(gap: &[u8]) {
    for byte in gap {
        assert!(matches!(
            byte,
            b' ' | b'\t' | b'\r' | b'\n' | 0 | 0xEF | 0xBB | 0xBF | 0xFE | 0xFF
        ));
    }
}

/// Returns a key for a zone: a digest of its bytes.
fn key_of(bytes: &[u8]) -> ZoneKey {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&hasher.finish().to_le_bytes());
    ZoneKey(key)
}
