//! Files and addresses that cannot be imported, and the way to import their content.

use std::path::Path;

use crate::errors::{Failure, Result};
use crate::output::{escape_text, quote_operand};

/// Refuses an address of the network, with the command that fetches it.
pub fn refuse_address(path: &Path) -> Result<()> {
    let text = path.display().to_string();
    let Some((scheme, rest)) = text.split_once("://") else {
        return Ok(());
    };
    let scheme = scheme.to_ascii_lowercase();
    let scheme = match scheme.as_str() {
        "http" | "https" => scheme.as_str(),
        "webcal" | "webcals" => "https",
        _ => return Ok(()),
    };
    Err(Failure::usage(format!(
        "{}: etui reads files only; to fetch and import it: curl -sSfL {} | etui import -",
        escape_text(&text),
        quote_operand(&format!("{scheme}://{rest}"))
    )))
}

/// Recognizes a file that has no contacts and no calendar entries by its beginning; `is_all` if that is the
/// whole file. Returns its name and the way to import its content.
pub fn other_format(head: &[u8], is_all: bool) -> Option<&'static str> {
    const PICTURE: &str =
        "is a picture; a photo of a contact is set with: etui contacts edit ID --set photo=FILE";
    let is = |magic: &[u8]| head.starts_with(magic);
    let text = String::from_utf8_lossy(head.get(..1024).unwrap_or(head)).to_lowercase();
    let text = text
        .trim_start_matches(['\u{feff}', '\u{fffd}'])
        .trim_start();
    Some(match head {
        [] if is_all => "is empty; export it again",
        _ if is(b"%PDF-") => {
            "is a PDF document, for reading only; export contacts as vCard or CSV, calendars as iCalendar"
        }
        _ if is(b"\x89PNG") || is(b"\xFF\xD8\xFF") || is(b"GIF8") => PICTURE,
        _ if is(b"SQLite format 3\0") => {
            "is a SQLite database; a store of etui is opened with --store, a backup restored with etui restore"
        }
        _ if is(&[0xD0, 0xCF, 0x11, 0xE0]) => {
            "is a document of Microsoft Office; save it as CSV, then import that"
        }
        _ if text.starts_with("<!doctype html") || text.starts_with("<html") => {
            "is a web page; download the vCard (.vcf) or iCalendar (.ics) file itself"
        }
        _ if is_all => {
            "is a text without contacts or calendar entries; a vCard begins with BEGIN:VCARD, a calendar with \
             BEGIN:VCALENDAR, a table has a line of headings"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_records_are_named() {
        for (head, name) in [
            (&b""[..], "empty"),
            (b"%PDF-1.7\n", "PDF"),
            (b"\x89PNG\r\n", "picture"),
            (b"\xFF\xD8\xFF\xE0", "picture"),
            (b"SQLite format 3\0", "SQLite"),
            (b"\n<!DOCTYPE html><html>", "web page"),
            (b"shopping: milk", "text"),
        ] {
            let found = other_format(head, true).unwrap_or("none");
            assert!(found.contains(name), "{found}");
        }
        assert_eq!(other_format(b"a long text", false), None);
    }

    #[test]
    fn addresses_are_fetched_by_another_program() {
        for (address, fetched) in [
            (
                "https://a.example/x.ics",
                "curl -sSfL https://a.example/x.ics |",
            ),
            (
                "webcal://a.example/x?y=1&z",
                "curl -sSfL 'https://a.example/x?y=1&z' |",
            ),
            ("HTTP://a.example/", "curl -sSfL http://a.example/ |"),
        ] {
            let failure = refuse_address(Path::new(address))
                .err()
                .map(|f| f.to_string());
            let failure = failure.unwrap_or_default();
            assert!(failure.contains(fetched), "{failure}");
        }
        assert!(refuse_address(Path::new("a.vcf")).is_ok());
    }
}
