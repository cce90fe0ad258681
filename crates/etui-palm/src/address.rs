//! [`Address`]: a record of AddressDB.
//!
//! ```text
//!  0  u32  phones: bits 20..23 the index of the one shown in lists, then 5 x 4 bits from the low
//!          end: the label of phone 1 to 5
//!  4  u32  which of the 19 fields are there, low bit first
//!  8  u8   offset of the company, counted from here, or 0
//!  9       the strings of the fields that are there
//! ```

use crate::bytes::ByteReader;
use crate::code_page::CodePage;
use crate::error::RecordError;
use crate::text::{Decoded, Encoded, TextReader, TextWriter};

/// Number of phones and e-mail addresses.
pub const PHONES: usize = 5;
/// Number of custom fields.
pub const CUSTOM_FIELDS: usize = 4;
/// Number of fields of a record.
const FIELDS: usize = 19;

/// The label of a phone field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhoneLabel {
    /// At work.
    Work,
    /// At home.
    Home,
    /// Fax.
    Fax,
    /// Other.
    Other,
    /// E-mail address.
    Email,
    /// The main number.
    Main,
    /// Pager.
    Pager,
    /// Mobile phone.
    Mobile,
}

impl PhoneLabel {
    /// Every label, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Work,
        Self::Home,
        Self::Fax,
        Self::Other,
        Self::Email,
        Self::Main,
        Self::Pager,
        Self::Mobile,
    ];

    /// Returns its number, 0 to 7.
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// A contact. An empty text is a field that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Family name.
    pub last: String,
    /// Given name.
    pub first: String,
    /// Organisation.
    pub company: String,
    /// Phones and e-mail addresses with their labels.
    pub phones: [(PhoneLabel, String); PHONES],
    /// Index of the phone that lists show.
    pub shown_phone: usize,
    /// Street.
    pub street: String,
    /// City.
    pub city: String,
    /// State or province.
    pub state: String,
    /// Postal code.
    pub zip: String,
    /// Country.
    pub country: String,
    /// Job title.
    pub title: String,
    /// Fields whose labels the person chooses.
    pub custom: [String; CUSTOM_FIELDS],
    /// Note.
    pub note: String,
}

/// The labels of the phones of a new contact.
pub(crate) const DEFAULT_PHONES: [PhoneLabel; PHONES] = [
    PhoneLabel::Work,
    PhoneLabel::Home,
    PhoneLabel::Fax,
    PhoneLabel::Other,
    PhoneLabel::Email,
];

impl Default for Address {
    fn default() -> Self {
        Self {
            last: String::new(),
            first: String::new(),
            company: String::new(),
            phones: DEFAULT_PHONES.map(|label| (label, String::new())),
            shown_phone: 0,
            street: String::new(),
            city: String::new(),
            state: String::new(),
            zip: String::new(),
            country: String::new(),
            title: String::new(),
            custom: Default::default(),
            note: String::new(),
        }
    }
}

/// Index of the company among the fields.
const COMPANY: usize = 2;

/// Names of the fields, in their order.
const FIELD_NAMES: [&str; FIELDS] = [
    "last name",
    "first name",
    "company",
    "phone 1",
    "phone 2",
    "phone 3",
    "phone 4",
    "phone 5",
    "address",
    "city",
    "state",
    "zip code",
    "country",
    "title",
    "custom field 1",
    "custom field 2",
    "custom field 3",
    "custom field 4",
    "note",
];

impl Address {
    /// Returns the fields in the order of a record.
    fn fields(&self) -> [&String; FIELDS] {
        let [p1, p2, p3, p4, p5] = self.phones.each_ref().map(|(_, text)| text);
        let [c1, c2, c3, c4] = self.custom.each_ref();
        [
            &self.last,
            &self.first,
            &self.company,
            p1,
            p2,
            p3,
            p4,
            p5,
            &self.street,
            &self.city,
            &self.state,
            &self.zip,
            &self.country,
            &self.title,
            c1,
            c2,
            c3,
            c4,
            &self.note,
        ]
    }

    fn fields_mut(&mut self) -> [&mut String; FIELDS] {
        let [p1, p2, p3, p4, p5] = self.phones.each_mut().map(|(_, text)| text);
        let [c1, c2, c3, c4] = self.custom.each_mut();
        [
            &mut self.last,
            &mut self.first,
            &mut self.company,
            p1,
            p2,
            p3,
            p4,
            p5,
            &mut self.street,
            &mut self.city,
            &mut self.state,
            &mut self.zip,
            &mut self.country,
            &mut self.title,
            c1,
            c2,
            c3,
            c4,
            &mut self.note,
        ]
    }

    /// Parses a record.
    ///
    /// # Errors
    /// [`RecordError::Truncated`].
    pub fn parse(data: &[u8], page: CodePage) -> Result<Decoded<Self>, RecordError> {
        let mut bytes = ByteReader::new(data);
        let truncated = RecordError::Truncated { part: "its fields" };
        let head = (bytes.u32(), bytes.u32(), bytes.u8());
        let (Some(phones), Some(mask), Some(_)) = head else {
            return Err(truncated);
        };
        let mut notes = Vec::new();
        let mut address = Self::default();
        for (at, (label, _)) in (0u32..).zip(&mut address.phones) {
            let number = phones >> (4 * at) & 0xF;
            match PhoneLabel::ALL.get(number as usize) {
                Some(known) => *label = *known,
                None => {
                    *label = PhoneLabel::Other;
                    notes.push(format!("phone {} has the unknown label {number}", at + 1));
                }
            }
        }
        match (phones >> 20 & 0xF) as usize {
            shown @ 0..PHONES => address.shown_phone = shown,
            shown => notes.push(format!("lists show phone {}, which is none", shown + 1)),
        }
        if mask >> FIELDS != 0 {
            notes.push("it has fields that are not known".to_owned());
        }
        let mut texts = TextReader::new(page);
        let mut missing = Vec::new();
        for (at, (field, name)) in address
            .fields_mut()
            .into_iter()
            .zip(FIELD_NAMES)
            .enumerate()
        {
            if mask >> at & 1 == 0 {
                continue;
            }
            match bytes.is_empty() {
                true => missing.push(name),
                false => *field = texts.next(&mut bytes),
            }
        }
        if !missing.is_empty() {
            notes.push(format!("the record ends before its {}", missing.join(", ")));
        }
        texts.finish(&mut notes);
        Ok(Decoded {
            record: address,
            notes,
        })
    }

    /// Returns the bytes of the record.
    pub fn encode(&self, page: CodePage) -> Encoded {
        let mut phones = (self.shown_phone as u32 & 0xF) << 20;
        for (at, (label, _)) in (0u32..).zip(&self.phones) {
            phones |= u32::from(label.number()) << (4 * at);
        }
        let fields = self.fields();
        let mut mask = 0u32;
        for (at, field) in fields.iter().enumerate() {
            mask |= u32::from(!field.is_empty()) << at;
        }
        let mut data = phones.to_be_bytes().to_vec();
        data.extend(mask.to_be_bytes());
        data.push(0);
        let company_offset = data.len() - 1;
        let mut texts = TextWriter::new(page, data);
        let mut reserved = fields.iter().filter(|field| !field.is_empty()).count();
        for (at, (field, name)) in fields.into_iter().zip(FIELD_NAMES).enumerate() {
            if field.is_empty() {
                continue;
            }
            reserved -= 1;
            if at == COMPANY {
                let offset = texts.position() - company_offset;
                // A company further away is found by its place among the fields.
                texts.set_byte(company_offset, u8::try_from(offset).unwrap_or(0));
            }
            texts.push(name, field, reserved);
        }
        texts.finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> Address {
        let mut address = Address {
            last: "Müller".to_owned(),
            company: "Example GmbH".to_owned(),
            note: "two\nlines".to_owned(),
            shown_phone: 1,
            ..Address::default()
        };
        address.phones[1] = (PhoneLabel::Mobile, "0171 39200 02".to_owned());
        address
    }

    #[test]
    fn the_layout_is_that_of_the_device() {
        let encoded = sample().encode(CodePage::Windows1252);
        assert_eq!(encoded.notes, [""; 0]);
        let mut expected = vec![0x00, 0x14, 0x32, 0x70]; // phone 2 shown; e-mail, other, fax, mobile, work
        expected.extend([0x00, 0x04, 0x00, 0x15]); // last, company, phone 2, note
        expected.push(8); // "Müller" and its zero byte are between
        expected.extend(b"M\xFCller\0Example GmbH\x000171 39200 02\0two\nlines\0");
        assert_eq!(encoded.data, expected);
        let decoded = Address::parse(&encoded.data, CodePage::Windows1252).unwrap();
        assert_eq!((decoded.record, decoded.notes), (sample(), vec![]));
    }

    #[test]
    fn a_cut_record_keeps_the_fields_before_the_cut() {
        let data = sample().encode(CodePage::Windows1252).data;
        let cut = &data[..data.len() - 11];
        let decoded = Address::parse(cut, CodePage::Windows1252).unwrap();
        assert_eq!(decoded.record.phones[1].1, "0171 39200 02");
        assert_eq!(decoded.notes, ["the record ends before its note"]);
        assert!(Address::parse(&data[..8], CodePage::Windows1252).is_err());
    }

    #[test]
    fn too_long_a_text_is_shortened_and_the_others_stay() {
        let mut address = sample();
        address.company = "x".repeat(100_000);
        let encoded = address.encode(CodePage::Windows1252);
        assert!(encoded.data.len() <= crate::MAX_RECORD);
        let shortened = "the company is too long for a record and was shortened";
        let note = "the note is too long for a record and was shortened";
        assert!(
            encoded.notes.contains(&shortened.to_owned()),
            "{:?}",
            encoded.notes
        );
        assert!(
            encoded.notes.contains(&note.to_owned()),
            "{:?}",
            encoded.notes
        );
    }
}
