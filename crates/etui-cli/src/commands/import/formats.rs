//! Formats that cannot be imported, each with a way on.

/// Recognizes a format that cannot be imported; returns its name and the way to import its content.
/// Only archives and the like may `have_records` in them.
pub fn name_other_format(head: &[u8], has_records: bool) -> Option<&'static str> {
    name_binary_format(head).or_else(|| foreign_format(head).filter(|_| !has_records))
}

/// Recognizes archives, documents, images and databases.
fn name_binary_format(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => {
            "is a zip archive; unpack it (unzip FILE), then import the .vcf, .ics and .csv files in it; \
             of a spreadsheet (.xlsx, .ods), save the table as CSV"
        }
        [0x1F, 0x8B, ..] => "is compressed with gzip; to import it: gunzip -c FILE | etui import -",
        [b'%', b'P', b'D', b'F', b'-', ..] => {
            "is a PDF document, which cannot be imported; export the contacts or the calendar as vCard \
             (.vcf), iCalendar (.ics) or CSV"
        }
        [0xFF, 0xD8, 0xFF, ..] | [0x89, b'P', b'N', b'G', ..] | [b'G', b'I', b'F', b'8', ..] => {
            "is an image, which cannot be imported; the picture of a contact: etui contacts edit NAME \
             --set photo=FILE"
        }
        [b'S', b'Q', b'L', b'i', b't', b'e', b' ', b'f', ..] => {
            "is an SQLite database, which cannot be imported; export it as vCard (.vcf) or iCalendar \
             (.ics) with the program that made it"
        }
        [b'!', b'B', b'D', b'N', ..] => {
            "is a data file of Outlook (.pst), which cannot be imported; export contacts and calendar \
             as CSV, or convert it: readpst -t ca FILE"
        }
        [0xD0, 0xCF, 0x11, 0xE0, ..] => {
            "is a file of Microsoft Office, which cannot be imported; save the table as CSV, contacts \
             as vCard (.vcf)"
        }
        _ => return None,
    })
}

/// Recognizes a text format that cannot be imported; returns its name and the way to import its
/// content.
fn foreign_format(head: &[u8]) -> Option<&'static str> {
    const JCARD: &str = "is jCard (RFC 7095), which cannot be imported; convert it to vCard (.vcf)";
    const JCAL: &str =
        "is jCal (RFC 7265), which cannot be imported; convert it to iCalendar (.ics)";
    const JSCONTACT: &str = "is JSContact (RFC 9553), which cannot be imported; export vCard (.vcf) instead, or convert it";
    const JSCALENDAR: &str = "is JSCalendar (RFC 8984), which cannot be imported; export iCalendar (.ics) instead, or \
         convert it";
    const JSON: &str = "is JSON of another program, which cannot be imported; export vCard (.vcf), iCalendar (.ics) or \
         CSV instead";
    const ABOOK: &str = "is an address book of abook; to import it: abook --convert --informat abook \
                         --infile FILE --outformat vcard | etui import -";
    const HTML: &str = "is a web page (HTML), which cannot be imported; export vCard (.vcf), iCalendar (.ics) or CSV \
         instead";
    const EMPTY: &str = "is empty: it has no contacts or entries";
    const XCARD: &str = "is xCard (RFC 6351), which cannot be imported; convert it to vCard (.vcf)";
    const XCAL: &str =
        "is xCal (RFC 6321), which cannot be imported; convert it to iCalendar (.ics)";
    let narrow: Vec<u8> = head.iter().copied().filter(|b| *b != 0).collect();
    let text = String::from_utf8_lossy(&narrow).to_lowercase();
    let text = text
        .trim_start_matches(['\u{feff}', '\u{fffd}'])
        .trim_start();
    let list = text.trim_start_matches(|c: char| c == '[' || c.is_whitespace());
    for (begin, format) in [("\"vcard\"", JCARD), ("\"vcalendar\"", JCAL)] {
        if text.starts_with('[') && list.starts_with(begin) {
            return Some(format);
        }
    }
    for (namespace, format) in [("ns:vcard-4.0", XCARD), ("ns:icalendar-2.0", XCAL)] {
        if text.starts_with('<') && text.contains(namespace) {
            return Some(format);
        }
    }
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let has_type = |kinds: &[&str]| {
        let mut kinds = kinds.iter();
        kinds.any(|kind| compact.contains(&format!("\"@type\":\"{kind}\"")))
    };
    let is_json = compact.starts_with("{\"") || compact.starts_with("[{") || compact == "{}";
    match () {
        () if compact.is_empty() => Some(EMPTY),
        () if is_json && has_type(&["card"]) => Some(JSCONTACT),
        () if is_json && has_type(&["event", "task"]) => Some(JSCALENDAR),
        () if is_json => Some(JSON),
        () if compact.contains("program=abook") => Some(ABOOK),
        () if compact.starts_with("<!doctypehtml") || compact.starts_with("<html") => Some(HTML),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_recognized() {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        for (text, name) in [
            (
                "[\"vcard\", [[\"version\", {}, \"text\", \"4.0\"]]]",
                "jCard",
            ),
            ("[ [\n \"vcard\", []]]", "jCard"),
            ("[\"vcalendar\", []]", "jCal"),
            (
                "<?xml version=\"1.0\"?><vcards xmlns=\"urn:ietf:params:xml:ns:vcard-4.0\"/>",
                "xCard",
            ),
        ] {
            let found = foreign_format(text.as_bytes()).unwrap_or("none");
            assert!(found.contains(name), "{text}: {found}");
            assert_eq!(foreign_format(&wide(text)), Some(found), "{text}");
        }
        assert!(name_binary_format(b"PK\x03\x04\x14\0").is_some_and(|f| f.contains("zip")));
        assert!(name_binary_format(b"\x1f\x8b\x08").is_some_and(|f| f.contains("gzip")));
        for (text, name) in [
            ("{\"@type\": \"Card\", \"version\": \"1.0\"}", "JSContact"),
            ("[\n{\"uid\":\"1\",\n \"@type\":\"Card\"}]", "JSContact"),
            ("{\"@type\":\"Event\"}", "JSCalendar"),
            ("{\"people\":[]}", "JSON of another program"),
            (
                "# abook addressbook file\n\n[format]\nprogram=abook\n",
                "abook --convert",
            ),
            ("<!DOCTYPE html><p>", "HTML"),
            ("\u{feff} \r\n", "empty"),
            ("", "empty"),
        ] {
            let found = foreign_format(text.as_bytes()).unwrap_or("none");
            assert!(found.contains(name), "{text}: {found}");
        }
        assert!(name_binary_format(b"%PDF-1.7\n").is_some_and(|f| f.contains("PDF")));
        for text in [
            "hello",
            "[]",
            "N:a;b;c",
            "dear name, hello",
            "FN:name, a, b",
        ] {
            assert_eq!(foreign_format(text.as_bytes()), None, "{text}");
        }
    }
}
