//! [`ALL`]: exports in the shapes that real products write, with invented
//! people. [`icalendar`] has those of calendars, [`tables`]
//! those in CSV and LDIF.
//!
//! How a file is counted:
//!
//! - a card with a name, a phone number or an e-mail address is good, with or
//!   without VERSION, FN and UID, and whatever its photo is;
//! - a card inside another (AGENT) belongs to the outer one;
//! - rejected are: a card that contains only VERSION; a card that is not
//!   ended before the next begins or the file ends; an END without a BEGIN;
//!   each consecutive run of text outside cards (blank lines are not text);
//!   and the second card with a UID of its file and another text.
//!
//! The files hold exact bytes (8-bit text, UTF-16, lone CRs): `.gitattributes`
//! keeps git from changing their line ends.

pub mod icalendar;
pub mod tables;

/// One file of sample cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixture {
    /// The file's name.
    pub name: &'static str,
    /// The file's bytes.
    pub bytes: &'static [u8],
    /// Number of cards that an import must accept.
    pub good: usize,
    /// Number of rejections that an import must report.
    pub refused: usize,
    /// The product or rule that the shape comes from.
    pub what: &'static str,
    /// The pitfall of the file.
    pub note: &'static str,
}

macro_rules! fixtures {
    ($($name:literal $good:literal $refused:literal $what:literal $note:literal;)*) => {
        &[$(Fixture {
            name: $name,
            bytes: include_bytes!(concat!("../fixtures/vcard/", $name)),
            good: $good,
            refused: $refused,
            what: $what,
            note: $note,
        }),*]
    };
}

/// All files: name, good, refused, product, pitfall.
pub const ALL: &[Fixture] = fixtures! {
    "google-contacts.vcf" 5 0 "Google Contacts, 3.0"
        "groups with empty and custom X-ABLabel; `https\\:` in URL; ADR with an eighth component; \
         no UID; one card whose only name is an address in FN; one of an organisation";
    "apple-contacts.vcf" 4 0 "Apple Contacts of macOS 14.5, 3.0"
        "lower-case `type=`, several of them; X-ABLabel of the form `_$!<HomePage>!$_`; BDAY \
         without its year as 1604; X-ABShowAs:COMPANY; phonetic names; folded JPEG";
    "outlook-21.vcf" 3 0 "Outlook, 2.1, Windows-1252"
        "8-bit text with CHARSET=Windows-1252 and without any; LABEL in quoted-printable over \
         several lines; picture of its own name, ended by an empty line; a line of 380 octets";
    "outlook-utf16.vcf" 3 0 "Outlook, 2.1, saved as Unicode"
        "UTF-16 little-endian with a byte order mark; characters beyond the basic plane";
    "android.vcf" 5 0 "Android contacts, 2.1"
        "every octet quoted, soft line breaks; X-CUSTOM(...) with an equals sign, commas and \
         parentheses as a type; X-ANDROID-CUSTOM; photo ended by an empty line; a card with \
         nothing but a number; the number `*121#`";
    "nextcloud.vcf" 4 0 "Nextcloud Contacts (sabre/vobject), 4.0 and 3.0"
        "empty EMAIL and ADR; a KIND:group without N; X-NC-SCOPE on FN and N; REV with VALUE; \
         a UID that is a user's name; PNG as a data URI";
    "symbian-nokia.vcf" 4 0 "Symbian S60 phones, 2.1"
        "ENCODING=8BIT;CHARSET=UTF-8; no FN, no UID; N with one component; TEL;VIDEO; photo \
         indented by four spaces; a card with an empty name and a number";
    "nokia-iso8859.vcf" 4 0 "older Nokia phones, 2.1, ISO-8859-1"
        "quoted-printable ISO-8859-1 with and without CHARSET, 8-bit ISO-8859-1 with it, 8-bit \
         NOTE without it, and one card in UTF-8";
    "thunderbird.vcf" 3 0 "Thunderbird, 4.0"
        "VALUE=TEXT on TEL; VALUE=URL on a data URI; X-CUSTOM1; a newsletter with an address as \
         its FN and no N";
    "evolution.vcf" 3 0 "GNOME Evolution, 3.0"
        "X-EVOLUTION-UI-SLOT before TYPE; empty properties; a contact list whose EMAIL values \
         are `\"Name\" <address>`; blank lines between cards";
    "kde.vcf" 3 0 "KDE KAddressBook, 3.0"
        "properties in alphabetical order; TYPE in quotes in 3.0; a property name with a slash; \
         BDAY with a time; SOUND; a blank line after each card";
    "agent-nested.vcf" 4 0 "AGENT of 2.1 and 3.0"
        "cards inside cards, two deep; the outer card's TEL and EMAIL come after the inner card; \
         in 3.0 the inner card is escaped text";
    "no-uid.vcf" 6 0 "cards without UID"
        "two cards that differ only in a number; cards with only an address or a number; an \
         empty UID; no VERSION";
    "broken-between-good.vcf" 6 6 "damage between good cards"
        "in order: good, two lines of text (one refusal), good, a card that is not ended, good, \
         empty, only VERSION, good, an END alone, good with a photo cut off, good with lines \
         that are none, a card cut off by the end of the file";
    "bom-lf.vcf" 3 0 "UTF-8 with a byte order mark, LF"
        "the mark stands before the first BEGIN; folded with LF alone; a blank line between";
    "mixed-line-ends.vcf" 5 0 "CRLF, LF and lone CR in one file"
        "cards of each kind and one with all three; folding across each; no line end at the end";
    "unfolded-long-lines.vcf" 3 0 "lines that should have been folded"
        "a note of 5 kB, a photo and a name each on one line";
    "rfc6350.vcf" 5 0 "RFC 6350, 4.0"
        "PID and CLIENTPIDMAP; ALTID with languages; parameters in quotes with `:` `;` `,` and \
         RFC 6868 `^n`; tel: URIs with extensions; KIND:group; a card in lower case";
    "grouped.vcf" 4 0 "property groups"
        "groups of any name and case; two dots and a leading dot; a group on BEGIN and END, \
         which the grammar of RFC 2426 §4 allows";
    "many-types.vcf" 3 0 "ways to write TYPE"
        "lists, repetitions, quotes, bare 2.1 words, `TYPE=` in 2.1, an empty one, `X-` ones, \
         upper and lower case, PREF as a type and as a parameter";
    "photo-uri-data.vcf" 6 0 "PHOTO as a URI, 4.0 and 3.0"
        "data URIs of JPEG and PNG, https URIs, a data URI without base64, inline binary, and \
         base64 that is no picture";
    "duplicate-uid.vcf" 3 1 "one UID twice"
        "the first and the third card share a UID and differ in text: the third is refused";
};

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    fn text(fixture: &Fixture) -> String {
        if let Some(rest) = fixture.bytes.strip_prefix(b"\xFF\xFE") {
            let units = rest
                .chunks(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).map(Result::unwrap).collect()
        } else {
            let rest = fixture.bytes.strip_prefix(b"\xEF\xBB\xBF");
            // The values of bytes above 0x7F do not matter here.
            String::from_utf8_lossy(rest.unwrap_or(fixture.bytes)).into_owned()
        }
    }

    /// Returns the text with LF as the only line end.
    fn plain(fixture: &Fixture) -> String {
        text(fixture).replace("\r\n", "\n").replace('\r', "\n")
    }

    /// Counts by the rules above, by the most direct method: (good, rejected).
    fn count(fixture: &Fixture) -> (usize, usize) {
        let text = plain(fixture);
        let (mut good, mut refused) = (0, 0);
        let mut uids: HashMap<String, String> = HashMap::new();
        let mut open: Option<Vec<&str>> = None;
        let (mut depth, mut outside) = (0, false);
        for line in text.lines().chain(["BEGIN:VCARD"]) {
            let word = line.to_ascii_uppercase();
            let word = word.strip_prefix("X.").unwrap_or(&word);
            let after_agent = |card: &Vec<&str>| card.last() == Some(&"AGENT:");
            match (word, &mut open) {
                ("BEGIN:VCARD", Some(card)) if after_agent(card) => {
                    depth += 1;
                    card.push(line);
                }
                ("BEGIN:VCARD", unended) => {
                    refused += usize::from(unended.is_some());
                    open = Some(Vec::new());
                    outside = false;
                }
                ("END:VCARD", Some(card)) if depth > 0 => {
                    depth -= 1;
                    card.push(line);
                }
                ("END:VCARD", Some(card)) => {
                    let empty = card.iter().all(|l| l.starts_with("VERSION:"));
                    let uid = card.iter().find(|l| l.starts_with("UID:") && l.len() > 4);
                    let body = card.join("\n");
                    let taken = uid.is_some_and(|uid| {
                        let first = uids.entry((*uid).to_owned()).or_insert(body.clone());
                        *first != body
                    });
                    if empty || taken {
                        refused += 1;
                    } else {
                        good += 1;
                    }
                    open = None;
                }
                ("END:VCARD", None) => {
                    refused += 1;
                    outside = false;
                }
                (_, Some(card)) => card.push(line),
                ("", None) => {}
                (_, None) => {
                    refused += usize::from(!outside);
                    outside = true;
                }
            }
        }
        (good, refused)
    }

    #[test]
    fn the_counts_are_those_of_the_rules() {
        for fixture in ALL {
            assert_eq!(
                count(fixture),
                (fixture.good, fixture.refused),
                "{}",
                fixture.name
            );
            assert!(
                (3..=12).contains(&(fixture.good + fixture.refused)),
                "{}",
                fixture.name
            );
        }
    }

    #[test]
    fn every_file_of_the_folder_is_listed_once() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/vcard");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut listed: Vec<&str> = ALL.iter().map(|fixture| fixture.name).collect();
        files.sort();
        listed.sort_unstable();
        assert_eq!(files, listed);
    }

    /// A checkout that changed line ends would change the tested bytes.
    #[test]
    fn line_ends_are_as_written() {
        for fixture in ALL {
            let count = |end: &str| text(fixture).matches(end).count();
            let (both, cr, lf) = (count("\r\n"), count("\r"), count("\n"));
            match fixture.name {
                "bom-lf.vcf" => assert_eq!((both, cr), (0, 0)),
                "mixed-line-ends.vcf" => assert!(both > 0 && cr > both && lf > both),
                name => assert!(both == cr && both == lf && both > 0, "{name}"),
            }
        }
        let starts = |name: &str, start: &[u8]| {
            let found = ALL.iter().find(|fixture| fixture.name == name);
            assert!(found.is_some_and(|fixture| fixture.bytes.starts_with(start)));
        };
        starts("outlook-utf16.vcf", b"\xFF\xFEB\0E\0");
        starts("bom-lf.vcf", b"\xEF\xBB\xBFBEGIN");
    }

    #[test]
    fn eight_bit_files_are_not_utf8_and_the_others_are() {
        for fixture in ALL {
            let eight_bit = ["outlook-21.vcf", "nokia-iso8859.vcf", "outlook-utf16.vcf"];
            let utf8 = std::str::from_utf8(fixture.bytes).is_ok();
            assert_ne!(utf8, eight_bit.contains(&fixture.name), "{}", fixture.name);
        }
    }

    #[test]
    fn addresses_are_under_reserved_names() {
        for fixture in ALL {
            let text = plain(fixture).replace("\n ", "");
            for (place, _) in text.match_indices('@') {
                let domain = text[place + 1..]
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-')
                    .next()
                    .unwrap();
                let reserved = [".example", "example.org", "example.com", "example.net"];
                assert!(
                    // A user name after the @ of a profile's address.
                    text[..place].ends_with('/') || reserved.iter().any(|r| domain.ends_with(r)),
                    "{}: {domain}",
                    fixture.name
                );
            }
        }
    }

    /// All files can be imported into one store, in sequence.
    #[test]
    fn no_two_files_share_a_uid() {
        let mut seen = HashSet::new();
        for fixture in ALL {
            let text = plain(fixture);
            let uids: HashSet<&str> = text
                .lines()
                .filter(|line| line.len() > 4 && line.to_ascii_uppercase().starts_with("UID:"))
                .collect();
            for uid in uids {
                assert!(seen.insert(uid.to_owned()), "{}: {uid}", fixture.name);
            }
        }
    }
}
