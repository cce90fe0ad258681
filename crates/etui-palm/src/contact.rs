//! Contacts: [`Address`] to vCard 4.0, and back.
//!
//! ```text
//! last, first              N, FN
//! company                  ORG
//! phones                   TEL and EMAIL, in their order; the one that lists show has PREF
//!                          X-PALM-PHONES: labels, filled fields and shown one, if they are not usual
//! street ... country       ADR
//! title, note              TITLE, NOTE
//! custom fields            X-PALM-CUSTOM1 ... 4, with the parameter LABEL
//! category, secret         CATEGORIES, CLASS:PRIVATE
//! ```

use etui_contentline::charset::repair_charset;
use etui_contentline::lines::ContentLines;
use etui_vcard::{Card, VCardVersion};

use crate::address::{Address, CUSTOM_FIELDS, DEFAULT_PHONES, PHONES, PhoneLabel};
use crate::lines::{PropertyLine, escape, push_raw, push_text, quote_param};
use crate::outgoing::Outgoing;

/// The name of a contact without one; vCard requires a name.
const UNNAMED: &str = "Unnamed";

/// Properties that describe the card and not the person; left out without a note.
const BOOKKEEPING: &[&str] = &["BEGIN", "END", "VERSION", "PRODID", "REV", "UID", ""];

/// Properties of a record beside its fields.
#[derive(Debug, Clone, Copy)]
pub struct RecordContext<'a> {
    /// The UID of the card or component.
    pub uid: &'a str,
    /// The name of the category.
    pub category: Option<&'a str>,
    /// Whether the record is shown only with a password.
    pub is_secret: bool,
}

/// Returns a contact as vCard 4.0. `labels` are those of the custom fields.
pub fn address_to_vcard(
    address: &Address,
    context: RecordContext<'_>,
    labels: &[String; CUSTOM_FIELDS],
) -> Vec<u8> {
    let mut out = b"BEGIN:VCARD\r\nVERSION:4.0\r\n".to_vec();
    push_raw(&mut out, "UID", context.uid);
    let name = [&address.last, &address.first]
        .map(|part| escape(part))
        .join(";");
    push_raw(&mut out, "N", &format!("{name};;;"));
    push_text(&mut out, "FN", &display_name(address));
    push_text(&mut out, "ORG", &address.company);
    push_text(&mut out, "TITLE", &address.title);
    let filled = filled_phones(address);
    for &at in &filled {
        if let Some((label, text)) = address.phones.get(at) {
            let pref = match at == address.shown_phone && Some(&at) != filled.first() {
                true => ";PREF=1",
                false => "",
            };
            push_text(&mut out, &format!("{}{pref}", phone_head(*label)), text);
        }
    }
    if !has_usual_phones(address, &filled) {
        push_raw(
            &mut out,
            "X-PALM-PHONES",
            &PhoneLayout::of(address).to_text(),
        );
    }
    let place = [
        &address.street,
        &address.city,
        &address.state,
        &address.zip,
        &address.country,
    ];
    if place.iter().any(|part| !part.is_empty()) {
        let place = place.map(|part| escape(part)).join(";");
        push_raw(&mut out, "ADR", &format!(";;{place}"));
    }
    for (at, (text, label)) in address.custom.iter().zip(labels).enumerate() {
        let label = match label.is_empty() {
            true => String::new(),
            false => format!(";LABEL={}", quote_param(label)),
        };
        push_text(&mut out, &format!("X-PALM-CUSTOM{}{label}", at + 1), text);
    }
    push_text(&mut out, "NOTE", &address.note);
    push_text(&mut out, "CATEGORIES", context.category.unwrap_or_default());
    if context.is_secret {
        push_raw(&mut out, "CLASS", "PRIVATE");
    }
    out.extend(b"END:VCARD\r\n");
    out
}

/// Returns the name to show: given and family name, or else another field.
fn display_name(address: &Address) -> String {
    let names = [&address.first, &address.last].map(|name| name.trim());
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let joined = names.join(" ");
    let phones = address.phones.iter().map(|(_, text)| text);
    let others = [&joined, &address.company, &address.title];
    let mut others = others.into_iter().chain(phones);
    let found = others.find(|text| !text.trim().is_empty());
    found.map_or(UNNAMED, |text| text.trim()).to_owned()
}

fn phone_head(label: PhoneLabel) -> &'static str {
    match label {
        PhoneLabel::Work => "TEL;TYPE=work",
        PhoneLabel::Home => "TEL;TYPE=home",
        PhoneLabel::Fax => "TEL;TYPE=fax",
        PhoneLabel::Other => "TEL",
        PhoneLabel::Email => "EMAIL",
        PhoneLabel::Main => "TEL;TYPE=x-main",
        PhoneLabel::Pager => "TEL;TYPE=pager",
        PhoneLabel::Mobile => "TEL;TYPE=cell",
    }
}

/// Returns the indices of the phones that are filled.
fn filled_phones(address: &Address) -> Vec<usize> {
    let phones = address.phones.iter().enumerate();
    phones
        .filter(|(_, (_, text))| !text.is_empty())
        .map(|(at, _)| at)
        .collect()
}

/// Returns true if the layout of the phones follows from the lines of the card.
fn has_usual_phones(address: &Address, filled: &[usize]) -> bool {
    let rest = address.phones.iter().zip(DEFAULT_PHONES).skip(filled.len());
    filled.iter().enumerate().all(|(at, slot)| at == *slot)
        && rest.into_iter().all(|((label, _), usual)| *label == usual)
        && (address.shown_phone < filled.len() || (filled.is_empty() && address.shown_phone == 0))
}

/// The labels of all phones, which of them are filled, and which one lists show:
/// `01274-10010-0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PhoneLayout {
    labels: [PhoneLabel; PHONES],
    is_filled: [bool; PHONES],
    shown: usize,
}

impl PhoneLayout {
    fn of(address: &Address) -> Self {
        Self {
            labels: address.phones.each_ref().map(|(label, _)| *label),
            is_filled: address.phones.each_ref().map(|(_, text)| !text.is_empty()),
            shown: address.shown_phone,
        }
    }

    fn to_text(self) -> String {
        let labels = self.labels.map(|label| label.number().to_string()).concat();
        let filled = self
            .is_filled
            .map(|is_filled| if is_filled { "1" } else { "0" })
            .concat();
        format!("{labels}-{filled}-{}", self.shown)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (labels, filled, shown) = (parts.next()?, parts.next()?, parts.next()?);
        let mut layout = Self {
            labels: DEFAULT_PHONES,
            is_filled: [false; PHONES],
            shown: shown.parse().ok().filter(|shown| *shown < PHONES)?,
        };
        if (labels.len(), filled.len()) != (PHONES, PHONES) {
            return None;
        }
        for (place, digit) in layout.labels.iter_mut().zip(labels.bytes()) {
            *place = *PhoneLabel::ALL.get(usize::from(digit.checked_sub(b'0')?))?;
        }
        for (place, digit) in layout.is_filled.iter_mut().zip(filled.bytes()) {
            *place = digit == b'1';
        }
        Some(layout)
    }
}

/// A `TEL` or `EMAIL` of a card.
struct PhoneLine {
    label: PhoneLabel,
    text: String,
    is_preferred: bool,
}

/// A custom field of a card: its text and its label.
type CustomField = Option<(String, String)>;

/// The contact of a card, with the labels of its custom fields; empty labels are the usual ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingAddress {
    /// The contact.
    pub contact: Outgoing<Address>,
    /// Labels of its custom fields.
    pub labels: [String; CUSTOM_FIELDS],
}

/// Returns the contact of a card. Its notes name every property that a Palm has no place for.
pub fn vcard_to_address(card: &Card) -> OutgoingAddress {
    let text = match card.version() {
        VCardVersion::V4_0 => repair_charset(card.text()).into_owned(),
        _ => card.to_v4(),
    };
    let mut reader = CardReader::new();
    for line in ContentLines::of_text(&text) {
        reader.read(PropertyLine::read(&line));
    }
    reader.finish()
}

struct CardReader {
    contact: Outgoing<Address>,
    has_name: bool,
    display_name: Option<String>,
    phones: Vec<PhoneLine>,
    layout: Option<PhoneLayout>,
    custom: [CustomField; CUSTOM_FIELDS],
    has_address: bool,
}

impl CardReader {
    fn new() -> Self {
        Self {
            contact: Outgoing::new(Address::default()),
            has_name: false,
            display_name: None,
            phones: Vec::new(),
            layout: None,
            custom: Default::default(),
            has_address: false,
        }
    }

    fn read(&mut self, mut line: PropertyLine) {
        if BOOKKEEPING.contains(&line.name.as_str()) {
            if line.name == "UID" {
                self.contact.uid = Some(line.text());
            }
            return;
        }
        let is_uri = line
            .take_param("VALUE")
            .is_some_and(|kind| kind.eq_ignore_ascii_case("uri"));
        let address = &mut self.contact.record;
        let notes = &mut self.contact.notes;
        match line.name.as_str() {
            "N" if !self.has_name => {
                let mut parts = line.components().into_iter();
                let mut part = || parts.next().unwrap_or_default();
                address.last = part();
                address.first = part();
                let middle = part();
                if !middle.trim().is_empty() {
                    let names = [address.first.trim(), middle.trim()].join(" ");
                    notes.push(format!("N: {middle} (written with the given name)"));
                    address.first = names.trim().to_owned();
                }
                for (part, name) in [(part(), "prefix"), (part(), "suffix")] {
                    if !part.trim().is_empty() {
                        notes.push(format!("N: {part} ({name} of the name)"));
                    }
                }
                self.has_name = !(address.last.is_empty() && address.first.is_empty());
            }
            "FN" if self.display_name.is_none() => self.display_name = Some(line.text()),
            "ORG" if address.company.is_empty() => {
                let parts = line
                    .components()
                    .into_iter()
                    .filter(|part| !part.is_empty());
                let parts: Vec<String> = parts.collect();
                if parts.len() > 1 {
                    notes.push(format!(
                        "{} (units are part of the company)",
                        line.excerpt()
                    ));
                }
                address.company = parts.join(", ");
            }
            "TITLE" if address.title.is_empty() => address.title = line.text(),
            "NOTE" if address.note.is_empty() => address.note = line.text(),
            "NOTE" => {
                notes.push(format!("{} (written after the first note)", line.excerpt()));
                address.note.push('\n');
                address.note.push_str(&line.text());
            }
            "TEL" | "EMAIL" => {
                self.read_phone(line, is_uri);
                return;
            }
            "ADR" if !self.has_address => {
                let [po_box, extended, street, city, state, zip, country] = take_components(&line);
                for kind in line.take_types() {
                    notes.push(format!("ADR (TYPE={kind})"));
                }
                if !po_box.is_empty() || !extended.is_empty() {
                    notes.push(format!("{} (written as one street)", line.excerpt()));
                }
                let streets = [po_box, extended, street];
                let streets = streets.into_iter().filter(|part| !part.is_empty());
                address.street = streets.collect::<Vec<_>>().join("\n");
                (address.city, address.state) = (city, state);
                (address.zip, address.country) = (zip, country);
                self.has_address = true;
            }
            "CATEGORIES" => self.contact.take_categories(line.list()),
            "CLASS" => self.contact.take_class(&line.text()),
            "X-PALM-PHONES" => self.layout = PhoneLayout::parse(&line.value),
            "X-PALM-CUSTOM1" | "X-PALM-CUSTOM2" | "X-PALM-CUSTOM3" | "X-PALM-CUSTOM4" => {
                let digit = line.name.bytes().last().unwrap_or(b'1');
                let label = line.take_param("LABEL").unwrap_or_default();
                let at = usize::from(digit.saturating_sub(b'1'));
                match self.custom.get_mut(at) {
                    Some(place @ None) => *place = Some((line.text(), label)),
                    _ => notes.push(line.excerpt()),
                }
            }
            "KIND" if line.value.trim().eq_ignore_ascii_case("individual") => {}
            _ => {
                notes.push(line.excerpt());
                return;
            }
        }
        line.note_params(&mut self.contact.notes);
    }

    fn read_phone(&mut self, mut line: PropertyLine, is_uri: bool) {
        let pref = line.take_param("PREF");
        let types = line.take_types();
        let is = |kind: &str| types.iter().any(|t| t == kind);
        let label = match () {
            () if line.name == "EMAIL" => PhoneLabel::Email,
            () if is("fax") => PhoneLabel::Fax,
            () if is("pager") => PhoneLabel::Pager,
            () if is("cell") => PhoneLabel::Mobile,
            () if is("x-main") || is("main") => PhoneLabel::Main,
            () if is("home") => PhoneLabel::Home,
            () if is("work") => PhoneLabel::Work,
            () => PhoneLabel::Other,
        };
        let text = match line.value.get(..4) {
            Some(scheme) if is_uri && scheme.eq_ignore_ascii_case("tel:") => {
                line.value.split_off(4)
            }
            _ => line.text(),
        };
        let notes = &mut self.contact.notes;
        if text.is_empty() {
            return;
        }
        if self.phones.len() == PHONES {
            let why = "a Palm has five phones and e-mail addresses";
            notes.push(format!("{}: {text} ({why})", line.name));
            return;
        }
        let held = match label {
            PhoneLabel::Fax => "fax",
            PhoneLabel::Pager => "pager",
            PhoneLabel::Mobile => "cell",
            PhoneLabel::Home => "home",
            PhoneLabel::Work => "work",
            PhoneLabel::Main | PhoneLabel::Other | PhoneLabel::Email => "",
        };
        let is_main = |kind: &str| label == PhoneLabel::Main && matches!(kind, "main" | "x-main");
        // A phone is for voice if nothing else is said (RFC 6350 section 6.4.1).
        let is_held = |kind: &str| kind == held || kind == "voice" || is_main(kind);
        for kind in types.iter().filter(|kind| !is_held(kind)) {
            notes.push(format!("{}: {text} (TYPE={kind})", line.name));
        }
        let has_preferred = self.phones.iter().any(|phone| phone.is_preferred);
        let is_preferred = pref.as_deref() == Some("1") && !has_preferred;
        if let Some(pref) = pref.filter(|_| !is_preferred) {
            notes.push(format!("{}: {text} (PREF={pref})", line.name));
        }
        line.note_params(notes);
        self.phones.push(PhoneLine {
            label,
            text,
            is_preferred,
        });
    }

    fn finish(mut self) -> OutgoingAddress {
        let address = &mut self.contact.record;
        self.layout = self.layout.filter(|layout| {
            let filled = layout.labels.iter().zip(layout.is_filled);
            let filled = filled
                .filter(|(_, is_filled)| *is_filled)
                .map(|(label, _)| *label);
            filled.eq(self.phones.iter().map(|phone| phone.label))
        });
        let preferred = self.phones.iter().position(|phone| phone.is_preferred);
        let mut lines = self.phones.into_iter();
        match self.layout {
            Some(layout) => {
                let places = address
                    .phones
                    .iter_mut()
                    .zip(layout.labels)
                    .zip(layout.is_filled);
                for ((place, label), is_filled) in places {
                    let line = if is_filled { lines.next() } else { None };
                    *place = (label, line.map_or_else(String::new, |line| line.text));
                }
                address.shown_phone = layout.shown;
            }
            None => {
                for (place, line) in address.phones.iter_mut().zip(lines) {
                    *place = (line.label, line.text);
                }
                address.shown_phone = preferred.unwrap_or(0);
            }
        }
        let mut labels: [String; CUSTOM_FIELDS] = Default::default();
        let places = address.custom.iter_mut().zip(&mut labels);
        for ((text, label), field) in places.zip(self.custom) {
            (*text, *label) = field.unwrap_or_default();
        }
        if let Some(name) = self.display_name
            && name.trim() != display_name(address)
        {
            match self.has_name {
                true => self.contact.notes.push(format!("FN: {name}")),
                false => address.last = name,
            }
        }
        OutgoingAddress {
            contact: self.contact,
            labels,
        }
    }
}

/// Returns the components of an `ADR`.
fn take_components(line: &PropertyLine) -> [String; 7] {
    let mut parts = line.components().into_iter();
    [(); 7].map(|()| parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn outgoing(body: &str) -> OutgoingAddress {
        let text = format!("BEGIN:VCARD\r\nVERSION:4.0\r\n{body}END:VCARD\r\n");
        vcard_to_address(&Card::parse(text).unwrap())
    }

    #[test]
    fn fields_have_their_properties() {
        let mut address = Address {
            last: "Lovelace".to_owned(),
            first: "Ada".to_owned(),
            company: "Engines; Ltd".to_owned(),
            street: "12 St James Square".to_owned(),
            city: "London".to_owned(),
            custom: ["", "William", "", ""].map(str::to_owned),
            note: "likes tea,\nno milk".to_owned(),
            shown_phone: 1,
            ..Address::default()
        };
        address.phones[0].1 = "020 7946 0123".to_owned();
        address.phones[1] = (PhoneLabel::Email, "ada@example.org".to_owned());
        let labels = ["", "Spouse \"2\"", "", ""].map(str::to_owned);
        let context = RecordContext {
            uid: "palm-addr-000001-0123456789abcdef",
            category: Some("Friends"),
            is_secret: true,
        };
        let text = address_to_vcard(&address, context, &labels);
        let expected = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:palm-addr-000001-0123456789abcdef\r\n\
            N:Lovelace;Ada;;;\r\nFN:Ada Lovelace\r\nORG:Engines\\; Ltd\r\n\
            TEL;TYPE=work:020 7946 0123\r\nEMAIL;PREF=1:ada@example.org\r\n\
            ADR:;;12 St James Square;London;;;\r\nX-PALM-CUSTOM2;LABEL=\"Spouse ^'2^'\":William\r\n\
            NOTE:likes tea\\,\\nno milk\r\nCATEGORIES:Friends\r\nCLASS:PRIVATE\r\nEND:VCARD\r\n";
        let written = String::from_utf8(text.clone()).unwrap();
        assert_eq!(written, expected);
        let back = vcard_to_address(&Card::parse(text).unwrap());
        assert_eq!(back.contact.record, address);
        assert_eq!(back.labels, labels);
        assert_eq!(back.contact.category.as_deref(), Some("Friends"));
        assert!(back.contact.is_secret);
        assert_eq!(back.contact.notes, [""; 0]);
    }

    #[test]
    fn an_unusual_layout_of_phones_is_kept_until_they_change() {
        let phones = [
            (PhoneLabel::Home, String::new()),
            (PhoneLabel::Mobile, "555-0100".to_owned()),
            (PhoneLabel::Main, String::new()),
            (PhoneLabel::Main, "555-0101".to_owned()),
            (PhoneLabel::Pager, String::new()),
        ];
        let address = Address {
            phones,
            shown_phone: 4,
            ..Address::default()
        };
        let context = RecordContext {
            uid: "x",
            category: None,
            is_secret: false,
        };
        let text = address_to_vcard(&address, context, &Default::default());
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("X-PALM-PHONES:17556-01010-4\r\n"), "{text}");
        let back = |text: String| vcard_to_address(&Card::parse(text).unwrap()).contact.record;
        assert_eq!(back(text.clone()), address);
        let edited = back(text.replace("TEL;TYPE=x-main:555-0101\r\n", ""));
        assert_eq!(
            edited.phones[0],
            (PhoneLabel::Mobile, "555-0100".to_owned())
        );
        assert_eq!(edited.shown_phone, 0);
    }

    #[test]
    fn every_property_without_a_place_is_noted() {
        let found = outgoing(
            "UID:1\r\nFN:Dr. Ada Lovelace\r\nN:Lovelace;Ada;King;Dr.;\r\nBDAY:18151210\r\n\
             ORG:Engines;Research\r\nTEL;TYPE=work,fax;PREF=2:1\r\nTEL;TYPE=cell,voice:2\r\n\
             TEL;VALUE=uri;TYPE=\"voice,home\":tel:+3\r\nEMAIL;TYPE=work:a@example.org\r\nTEL:5\r\nTEL:6\r\n\
             ADR;TYPE=home:;Flat 2;Square;;;;\r\nADR:;;Other;;;;\r\nNOTE;LANGUAGE=en:a\r\nNOTE:b\r\n\
             CATEGORIES:x,y\r\nPHOTO:data:image/png;base64,AAAA\r\nX-HOBBY:chess\r\n",
        );
        let expected = [
            "N: King (written with the given name)",
            "N: Dr. (prefix of the name)",
            "BDAY: 18151210",
            "ORG: Engines;Research (units are part of the company)",
            "TEL: 1 (TYPE=work)",
            "TEL: 1 (PREF=2)",
            "EMAIL: a@example.org (TYPE=work)",
            "TEL: 6 (a Palm has five phones and e-mail addresses)",
            "ADR (TYPE=home)",
            "ADR: ;Flat 2;Square;;;; (written as one street)",
            "ADR: ;;Other;;;;",
            "NOTE (LANGUAGE=en)",
            "NOTE: b (written after the first note)",
            "CATEGORIES: y (a Palm has one for each record)",
            "PHOTO",
            "X-HOBBY: chess",
            "FN: Dr. Ada Lovelace",
        ];
        assert_eq!(found.contact.notes, expected);
        let address = found.contact.record;
        assert_eq!(address.first, "Ada King");
        assert_eq!(address.company, "Engines, Research");
        assert_eq!(address.phones[2], (PhoneLabel::Home, "+3".to_owned()));
        assert_eq!(address.street, "Flat 2\nSquare");
        assert_eq!(address.note, "a\nb");
    }

    #[test]
    fn a_name_alone_is_the_last_name_and_a_company_the_company() {
        let found = outgoing("FN:Cher\r\n");
        assert_eq!(found.contact.record.last, "Cher");
        let found = outgoing("FN:Example GmbH\r\nORG:Example GmbH\r\nN:;;;;\r\n");
        assert_eq!(found.contact.record.last, "");
        assert_eq!(found.contact.notes, [""; 0]);
    }
}
