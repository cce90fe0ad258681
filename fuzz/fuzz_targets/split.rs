//! Any bytes: the splitter accounts for every byte, and its records
//! can be read line by line and repaired.

#![no_main]

use etui_contentline::charset::repair_charset;
use etui_contentline::lines::ContentLines;
use etui_contentline::split::{SplitItem, Splitter};
use libfuzzer_sys::fuzz_target;

/// Small, so that fuzzer inputs reach it.
const MAX_RECORD: usize = 512;

fuzz_target!(|data: &[u8]| {
    let mut at = 0;
    for piece in Splitter::new(data, "VCARD").max_record(MAX_RECORD) {
        let (offset, len) = match piece.expect("a slice can always be read") {
            SplitItem::Record(record) => {
                let offset = usize::try_from(record.offset).expect("within the input");
                let len = record.bytes.len();
                assert!(len <= MAX_RECORD);
                assert_eq!(data[offset..offset + len], record.bytes);
                walk(&record.bytes);
                (offset, len)
            }
            SplitItem::Rejected(why) => {
                assert!(why.line <= why.last_line && why.len > 0);
                assert!(why.excerpt.chars().count() <= 80);
                let offset = usize::try_from(why.offset).expect("within the input");
                let len = usize::try_from(why.len).expect("within the input");
                (offset, len)
            }
        };
        assert_blank(&data[at..offset]);
        at = offset + len;
    }
    assert_blank(&data[at..]);
    walk(data);
});

/// Asserts that the bytes between pieces are blanks, line ends, byte order marks, or the
/// zero halves of them in UTF-16.
fn assert_blank(gap: &[u8]) {
    for byte in gap {
        assert!(matches!(
            byte,
            b' ' | b'\t' | b'\r' | b'\n' | 0 | 0xEF | 0xBB | 0xBF | 0xFE | 0xFF
        ));
    }
}

fn walk(bytes: &[u8]) {
    let mut at = 0;
    for line in ContentLines::new(bytes) {
        assert_eq!(line.span.start, at);
        assert!(line.value.start <= line.value.end && line.value.end <= line.span.end);
        at = line.span.end;
        line.unfolded();
        line.unfolded_params();
    }
    assert_eq!(at, bytes.len());
    repair_charset(bytes);
}
