//! [`People`]: an address book of any size, the same for the same seed.
//!
//! Person number `i` is made from the seed and `i` alone, so any one of a
//! million is reached at once:
//!
//! ```
//! use etui_testkit::people::{People, Version, person};
//!
//! let someone = person(7, 999_999);
//! assert!(someone.to_vcard(Version::V4).starts_with("BEGIN:VCARD\r\n"));
//! assert_eq!(People::new(7).nth(999_999), Some(someone.to_text()));
//! ```
//!
//! Nobody here exists: e-mail addresses are under `example.org`,
//! `example.com`, `example.net` and `.example` (RFC 2606, RFC 6761), phone
//! numbers as [`phone`] says.

mod generate;
mod locales;
pub mod phone;
#[cfg(test)]
mod tests;
mod text;
mod varied;
mod words;
mod write;

use std::io::{self, Write};

pub use generate::person;
pub use varied::varied_person;

use crate::images;

/// A version of the vCard format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Version {
    /// vCard 2.1 (versit Consortium, 1996); text that is not ASCII in UTF-8
    /// and quoted-printable.
    V21,
    /// vCard 3.0 (RFC 2426).
    #[default]
    V3,
    /// vCard 4.0 (RFC 6350).
    V4,
}

/// Where an address or a number belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Private.
    Home,
    /// At work.
    Work,
    /// A mobile phone.
    Cell,
    /// A fax machine at work.
    Fax,
}

/// A postal address (the parts of ADR that are in use, RFC 6350 §6.3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Private or at work.
    pub kind: Kind,
    /// Street and house number.
    pub street: String,
    /// Town.
    pub city: String,
    /// State or province; often empty.
    pub region: String,
    /// Post code.
    pub code: String,
    /// Country name in its own language; empty when the book's owner left it
    /// out.
    pub country: String,
}

/// A birthday; the year is not always known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Birthday {
    /// Year, if known.
    pub year: Option<u16>,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 28.
    pub day: u8,
}

/// One person of the address book.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// The number in the book, counted from 0.
    pub index: u64,
    /// The UID, in the shape of a random UUID (RFC 9562 §5.4), without
    /// `urn:uuid:`; different for each person of a book.
    pub uid: String,
    /// The version in which [`People`] writes this person.
    pub version: Version,
    /// The name as it is shown (FN), in the order of its language.
    pub formatted: String,
    /// Family name, one or more words.
    pub family: String,
    /// Given name.
    pub given: String,
    /// Additional names; empty for most.
    pub additional: String,
    /// Title before the name (`Dr.`); empty for most.
    pub prefix: String,
    /// Suffix (`Jr.`); empty for most.
    pub suffix: String,
    /// Nickname.
    pub nickname: Option<String>,
    /// Organisation.
    pub organisation: Option<String>,
    /// Department; only with an organisation.
    pub department: Option<String>,
    /// Job title; only with an organisation.
    pub title: Option<String>,
    /// E-mail addresses, the preferred one first. Not unique in a large book.
    pub emails: Vec<(Kind, String)>,
    /// Phone numbers as a person would write them, the preferred one first.
    pub phones: Vec<(Kind, String)>,
    /// Postal addresses.
    pub addresses: Vec<Address>,
    /// Birthday.
    pub birthday: Option<Birthday>,
    /// Categories.
    pub categories: Vec<&'static str>,
    /// Note; lines are parted by `\n`.
    pub note: Option<String>,
    /// Home page.
    pub url: Option<String>,
    /// When the card was last changed, in the form `20240229T101500Z`.
    pub revision: String,
    /// The seed of the photo, if the card has one; see [`Person::picture`].
    pub photo: Option<u64>,
}

/// A photo as a card carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// `JPEG` or `PNG`.
    pub format: &'static str,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

impl Person {
    /// The photo, a small valid JPEG or PNG of 0.8 to 3 kB.
    pub fn picture(&self) -> Option<Picture> {
        self.photo.map(|seed| {
            if seed.is_multiple_of(4) {
                Picture {
                    format: "PNG",
                    bytes: images::tiny_png(seed),
                }
            } else {
                Picture {
                    format: "JPEG",
                    bytes: images::tiny_jpeg(seed),
                }
            }
        })
    }

    /// The card in a version of one's choice: CRLF line ends; folded at 75
    /// octets between characters (RFC 6350 §3.2), in 2.1 by quoted-printable
    /// soft line breaks.
    pub fn to_vcard(&self, version: Version) -> String {
        let mut out = String::with_capacity(768);
        write::card(self, version, &mut out);
        out
    }

    /// The card in the version that is this person's own.
    pub fn to_text(&self) -> String {
        self.to_vcard(self.version)
    }
}

/// The cards of a book, one after another, without end.
#[derive(Debug, Clone)]
pub struct People {
    seed: u64,
    next: u64,
    person: fn(u64, u64) -> Person,
}

impl People {
    /// The book of a seed, from person 0.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            next: 0,
            person,
        }
    }

    /// The same with names that do not run out, for large books; see [`varied_person`].
    pub fn varied(seed: u64) -> Self {
        Self {
            seed,
            next: 0,
            person: varied_person,
        }
    }
}

impl Iterator for People {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.nth(0)
    }

    /// Takes no longer for a large `n` than for a small one.
    fn nth(&mut self, n: usize) -> Option<String> {
        let index = self.next.wrapping_add(n as u64);
        self.next = index.wrapping_add(1);
        Some((self.person)(self.seed, index).to_text())
    }
}

/// Writes the first `count` people of a book as one vCard file and returns
/// its length in bytes. Makes many small writes: hand in a buffered writer.
///
/// # Errors
///
/// What `out` reports.
pub fn write_vcf(out: &mut impl Write, seed: u64, count: u64) -> io::Result<u64> {
    let mut text = String::with_capacity(4096);
    let mut length = 0;
    for index in 0..count {
        text.clear();
        let someone = person(seed, index);
        write::card(&someone, someone.version, &mut text);
        out.write_all(text.as_bytes())?;
        length += text.len() as u64;
    }
    Ok(length)
}
