//! Properties as they are written on the command line: `PROP=VALUE`, `PROP:TYPE,TYPE=VALUE`.

use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use etui::contacts::{Card, NewProperty, PartialDate};
use etui_contentline::edit::is_property_name;
use etui_program::Failure;

use crate::commands::records::nearest_word;
use crate::commands::records::property::{PropertyWords, known_property_name, parse_email};
use etui_when::{describe_missing_day, parse_any_day};

/// Common words and their vCard properties.
pub const WORDS: PropertyWords = &[
    ("name", "FN"),
    ("phone", "TEL"),
    ("tel", "TEL"),
    ("email", "EMAIL"),
    ("mail", "EMAIL"),
    ("organisation", "ORG"),
    ("organization", "ORG"),
    ("birthday", "BDAY"),
    ("address", "ADR"),
    ("nick", "NICKNAME"),
    ("label", "CATEGORIES"),
    ("category", "CATEGORIES"),
    ("web", "URL"),
];

/// Words for the components of structured properties.
const COMPONENTS: &[(&str, Component)] = &[
    ("family", Component("N", 0)),
    ("given", Component("N", 1)),
    ("middle", Component("N", 2)),
    ("prefix", Component("N", 3)),
    ("suffix", Component("N", 4)),
    ("street", Component("ADR", 2)),
    ("city", Component("ADR", 3)),
    ("region", Component("ADR", 4)),
    ("postcode", Component("ADR", 5)),
    ("country", Component("ADR", 6)),
];

/// The properties of vCard 2.1, 3.0 and 4.0 (RFC 2426, 6350, 6474, 6715, 8605, 9554, 9555).
pub const KNOWN: &[&str] = &[
    "ADR",
    "AGENT",
    "ANNIVERSARY",
    "BDAY",
    "BIRTHPLACE",
    "CALADRURI",
    "CALURI",
    "CATEGORIES",
    "CLASS",
    "CLIENTPIDMAP",
    "CONTACT-URI",
    "CREATED",
    "DEATHDATE",
    "DEATHPLACE",
    "EMAIL",
    "EXPERTISE",
    "FBURL",
    "FN",
    "GENDER",
    "GEO",
    "GRAMGENDER",
    "HOBBY",
    "IMPP",
    "INTEREST",
    "JSPROP",
    "KEY",
    "KIND",
    "LANG",
    "LANGUAGE",
    "LOGO",
    "MAILER",
    "MEMBER",
    "N",
    "NAME",
    "NICKNAME",
    "NOTE",
    "ORG",
    "ORG-DIRECTORY",
    "PHOTO",
    "PRODID",
    "PROFILE",
    "PRONOUNS",
    "RELATED",
    "REV",
    "ROLE",
    "SOCIALPROFILE",
    "SORT-STRING",
    "SOUND",
    "SOURCE",
    "TEL",
    "TITLE",
    "TZ",
    "UID",
    "URL",
    "XML",
];

/// Size of the largest photo that is read from a file, in bytes.
const MAX_PHOTO: u64 = 16 << 20;

/// A structured property and the index of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component(pub &'static str, pub usize);

/// `PROP=VALUE` or `PROP:TYPE,TYPE=VALUE`.
#[derive(Debug, Clone)]
pub struct PropertyAssignment {
    pub property: NewProperty,
    /// The component to set, if the word is that of a component.
    pub component: Option<Component>,
    /// The value that is replaced, if it is written `OLD>NEW`. Of a property of free text, the whole may
    /// be the value.
    pub replaced: Option<ReplacedValue>,
    /// True for `name`, which is FN and N.
    is_name: bool,
}

/// The parts of `OLD>NEW`.
#[derive(Debug, Clone)]
pub struct ReplacedValue {
    pub old: String,
    pub new: String,
    /// The value cannot contain `>`.
    pub is_certain: bool,
}

/// Returns the component for a word, in any case.
pub fn component_named(word: &str) -> Option<Component> {
    let mut known = COMPONENTS.iter();
    let found = known.find(|(known, _)| known.eq_ignore_ascii_case(word.trim()));
    found.map(|(_, component)| *component)
}

/// Returns the type that a word such as `mobile` names.
fn type_of_phone(word: &str) -> Option<&'static str> {
    const TYPES: &[(&str, &str)] = &[
        ("mobile", "cell"),
        ("mobil", "cell"),
        ("cell", "cell"),
        ("cellphone", "cell"),
        ("handy", "cell"),
        ("fax", "fax"),
        ("pager", "pager"),
    ];
    let mut all = TYPES.iter();
    let found = all.find(|(kind, _)| kind.eq_ignore_ascii_case(word.trim()));
    found.map(|(_, typed)| *typed)
}

/// Parses a field without a value: `phone`, `phone:work` or `phone.work`. Returns the property, its
/// types, and the index of the component.
pub fn parse_field(text: &str) -> Result<(String, Vec<String>, Option<usize>), String> {
    let (word, types) = text.split_once([':', '.']).unwrap_or((text, ""));
    let types = types.split([',', '.']).map(|kind| {
        let kind = kind.trim().to_ascii_lowercase();
        type_of_phone(&kind).map_or(kind, str::to_owned)
    });
    let types: Vec<String> = types.filter(|kind| !kind.is_empty()).collect();
    if let Some(kind) = types.iter().find(|kind| !is_property_name(kind)) {
        return Err(format!(
            "\"{kind}\" is not a type; write it like phone.work"
        ));
    }
    Ok(match component_named(word) {
        Some(Component(name, index)) => (name.to_owned(), types, Some(index)),
        None => {
            let components = COMPONENTS.iter().map(|(word, _)| *word);
            (known_property_name::<Card>(word, components)?, types, None)
        }
    })
}

/// Types of RFC 6350 §5.6, §6.4.1 and §6.4.3, RFC 2426 §3.2 to §3.3, and of programs.
const TYPES: &[&str] = &[
    "home",
    "work",
    "cell",
    "fax",
    "voice",
    "pager",
    "text",
    "video",
    "textphone",
    "pref",
    "main",
    "other",
    "msg",
    "car",
    "isdn",
    "bbs",
    "modem",
    "pcs",
    "dom",
    "intl",
    "postal",
    "parcel",
    "internet",
    "x400",
    "iphone",
    "mobile",
    "main-number",
    "personal",
    "business",
    "school",
    "assistant",
    "callback",
    "radio",
    "telex",
    "blog",
    "homepage",
    "profile",
];

/// Checks the types of a property that is written with one of a few; a mistyped one would be a type of
/// its own, which nothing finds.
fn check_types(name: &str, types: &[String]) -> Result<(), String> {
    if !["TEL", "EMAIL", "ADR", "URL", "IMPP"].contains(&name) {
        return Ok(());
    }
    let is_known = |kind: &&String| {
        let is_own = kind
            .get(..2)
            .is_some_and(|head| head.eq_ignore_ascii_case("x-"));
        is_own || TYPES.iter().any(|known| known.eq_ignore_ascii_case(kind))
    };
    let Some(kind) = types.iter().find(|kind| !is_known(kind)) else {
        return Ok(());
    };
    let lower = kind.to_ascii_lowercase();
    let nearest = nearest_word(&lower, TYPES.iter().map(|known| (*known).to_owned()));
    Err(match nearest {
        Some(known) => format!(
            "there is no type \"{kind}\"; did you mean {known}? (one of your own begins with x-: \
             x-{kind})"
        ),
        None => format!("there is no type \"{kind}\"; one of your own begins with x-: x-{kind}"),
    })
}

impl FromStr for PropertyAssignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((property, value)) = text.split_once('=') else {
            return Err("write it like phone=\"+44 20 7946 0123\"".to_owned());
        };
        let (word, types) = property.split_once(':').unwrap_or((property, ""));
        let component = component_named(word);
        let name = match component {
            Some(Component(name, _)) => name.to_owned(),
            None => {
                if let Some(typed) = type_of_phone(word) {
                    return Err(format!(
                        "there is no property \"{}\"; write phone:{typed}=\"+44 20 7946 0123\"",
                        word.trim()
                    ));
                }
                let components = COMPONENTS.iter().map(|(word, _)| *word);
                known_property_name::<Card>(word, components)?
            }
        };
        let check = |value: &str| match (component, name.as_str()) {
            (None, "ADR") => parse_address(value),
            (None, "EMAIL") => parse_email(value),
            (None, "BDAY" | "ANNIVERSARY" | "DEATHDATE") => parse_date(value),
            _ => Ok(value.to_owned()),
        };
        // `note=a > b` may be a text, and `phone=a > b` is none.
        let is_certain = matches!(
            name.as_str(),
            "TEL" | "EMAIL" | "URL" | "IMPP" | "ADR" | "CATEGORIES" | "NICKNAME"
        );
        let parts = value
            .split_once('>')
            .map(|(old, new)| (old.trim(), new.trim()));
        let parts = parts.filter(|(old, new)| !old.is_empty() && !new.is_empty());
        let replaced = match parts {
            Some((old, new)) => match (check(new), is_certain) {
                (Err(problem), true) => return Err(problem),
                (Err(_), false) => None,
                (Ok(new), is_certain) => Some(ReplacedValue {
                    old: old.to_owned(),
                    new,
                    is_certain,
                }),
            },
            None => None,
        };
        let value = match replaced.as_ref().filter(|_| is_certain) {
            Some(replaced) => replaced.new.clone(),
            None => check(value)?,
        };
        let types = types.split(',').map(str::trim).filter(|t| !t.is_empty());
        let types: Vec<String> = types
            .map(|kind| match name.as_str() {
                "TEL" => type_of_phone(kind).unwrap_or(kind).to_owned(),
                _ => kind.to_owned(),
            })
            .collect();
        check_types(&name, &types)?;
        Ok(Self {
            property: NewProperty { name, types, value },
            component,
            replaced,
            is_name: word.trim().eq_ignore_ascii_case("name"),
        })
    }
}

impl PropertyAssignment {
    /// Changes the property of a card if it is one that is set even where it exists: the name, or a
    /// component, or a photo in a file. Returns false for any other property.
    pub fn set_part(&self, card: &mut Card) -> etui_program::Result<bool> {
        let NewProperty { name, types, value } = &self.property;
        if name == "PHOTO" && !is_uri(value) {
            if value.trim().is_empty() {
                return Err(Failure::usage(
                    "a photo is a file or a URL; to remove the photo: --remove photo",
                ));
            }
            let bytes = read_photo(Path::new(value))?;
            let Some(media_type) = image_type(&bytes) else {
                return Err(Failure::Refused(format!(
                    "{value}: is not a photo; a photo is a file in JPEG, PNG, GIF or WebP, or a URL"
                )));
            };
            card.set_photo(media_type, &bytes)?;
            return Ok(true);
        }
        match self.component {
            Some(Component("N", index)) => {
                card.set_name_component(index, value)?;
            }
            Some(Component(name, index)) => card.set_component(name, types, index, value)?,
            None if self.is_name => card.set_name(value)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Returns true for `name`.
    pub fn is_name(&self) -> bool {
        self.is_name
    }

    /// Returns true for a family or given name.
    pub fn is_part_of_name(&self) -> bool {
        matches!(self.component, Some(Component("N", 0 | 1)))
    }
}

/// Returns true for `https://example.org/a.jpg` and `data:image/jpeg;base64,...`.
fn is_uri(value: &str) -> bool {
    value.contains("://")
        || value
            .get(..5)
            .is_some_and(|s| s.eq_ignore_ascii_case("data:"))
}

fn read_photo(file: &Path) -> etui_program::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file);
    let read = opened.and_then(|f| f.take(MAX_PHOTO + 1).read_to_end(&mut bytes));
    read.map_err(|e| Failure::io(file, e))?;
    match bytes.len() as u64 > MAX_PHOTO {
        true => Err(Failure::Refused(format!(
            "{}: is larger than 16 MiB, the limit of a photo",
            file.display()
        ))),
        false => Ok(bytes),
    }
}

/// Returns the media type of an image by its first bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

/// Parses a date, with or without its year: `1815-12-10`, `--12-10`, `1815`, or as the calendar reads days.
fn parse_date(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '-');
    if !is_plain && let Some(date) = parse_any_day(text)? {
        return Ok(date);
    }
    let is_valid = PartialDate::parse(text).is_some_and(|date| {
        let year = date.year.unwrap_or(2000);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match date.month {
            Some(2) if is_leap => 29,
            Some(2) => 28,
            Some(4 | 6 | 9 | 11) => 30,
            _ => 31,
        };
        date != PartialDate::default() && date.day.is_none_or(|day| day <= days)
    });
    match is_plain && is_valid {
        true => Ok(text.to_owned()),
        false if let Some(problem) = describe_missing_day(text) => Err(problem),
        false => Err(format!(
            "\"{text}\" is not a date; write it like 1815-12-10, 10.12.1815 or 10 Dec 1815, or without \
             the year --12-10 or 10 Dec"
        )),
    }
}

/// Returns the components of ADR for an address: `STREET, POSTCODE CITY, COUNTRY`, with the region
/// before the country, or as components with `;` between them.
fn parse_address(text: &str) -> Result<String, String> {
    if text.contains(';') {
        return Ok(text.to_owned());
    }
    let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let (street, city, region, country) = match parts.as_slice() {
        [street] => (*street, "", "", ""),
        [street, city] => (*street, *city, "", ""),
        [street, city, region] if has_digit(region) => (*street, *city, *region, ""),
        [street, city, country] => (*street, *city, "", *country),
        [street, city, region, country] => (*street, *city, *region, *country),
        _ => {
            return Err(
                "write an address as \"STREET, POSTCODE CITY, COUNTRY\", or its parts one by one: \
                 street=, city=, region=, postcode=, country="
                    .to_owned(),
            );
        }
    };
    // "10115 Berlin", "London SW1A 1AA", "IL 62704"
    let split = |text: &str| {
        let words = || text.split_whitespace();
        let leading = words().take_while(has_digit).count();
        let at = match leading {
            0 => words().position(|word| has_digit(&word)),
            n => Some(n),
        };
        let all: Vec<&str> = words().collect();
        let (first, second) = all.split_at(at.unwrap_or(all.len()));
        match leading {
            0 => (first.join(" "), second.join(" ")),
            _ => (second.join(" "), first.join(" ")),
        }
    };
    let ((city, code), (region, more)) = (split(city), split(region));
    let code = [code, more].join(" ");
    Ok(format!(
        ";;{street};{city};{region};{};{country}",
        code.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::records::property::parse_removal;

    #[test]
    fn words_types_and_values() {
        let p = "phone:work,cell=+44 = x".parse::<PropertyAssignment>();
        let p = p.unwrap().property;
        assert_eq!((p.name.as_str(), p.value.as_str()), ("TEL", "+44 = x"));
        assert_eq!(p.types, ["work", "cell"]);
        let own = "x-hobby=a".parse::<PropertyAssignment>().unwrap();
        assert_eq!(own.property.name, "X-HOBBY");
        assert!("phone".parse::<PropertyAssignment>().is_err());
        assert_eq!(parse_removal::<Card>("note").unwrap().value, None);
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        for (text, nearest) in [
            ("phoen=1", "phone"),
            ("PHONE2=1", "phone"),
            ("emial=a", "email"),
            ("adress=a", "address"),
            ("famly=a", "family"),
            ("citty:home=a", "city"),
        ] {
            let problem = text.parse::<PropertyAssignment>().unwrap_err();
            assert!(
                problem.contains(&format!("did you mean {nearest}?")),
                "{problem}"
            );
        }
        let problem = "Mobile=1".parse::<PropertyAssignment>().unwrap_err();
        assert!(problem.contains("write phone:cell="), "{problem}");
        let problem = "quux=1".parse::<PropertyAssignment>().unwrap_err();
        assert!(problem.contains("x-quux"), "{problem}");
    }

    #[test]
    fn dates_and_addresses_are_checked() {
        for text in [
            "birthday=1815-12-10",
            "bday=18151210",
            "birthday=--02-29",
            "anniversary=2000",
            "email=a@b.example",
        ] {
            assert!(text.parse::<PropertyAssignment>().is_ok(), "{text}");
        }
        for text in [
            "birthday=10.12.15",
            "birthday=31.2.1980",
            "birthday=11/10/1974",
            "birthday=15th",
            "birthday=tomorrow",
            "birthday=2001-02-29",
            "birthday=1815-13-01",
            "birthday=",
            "birthday=--",
            "birthday=1815-12-10 noon",
            "email=ada",
            "email:home=",
        ] {
            assert!(text.parse::<PropertyAssignment>().is_err(), "{text}");
        }
    }

    #[test]
    fn dates_are_read_as_the_calendar_reads_days() {
        for (text, expected) in [
            ("27.11.1974", "1974-11-27"),
            ("1.5.1980", "1980-05-01"),
            ("27 Nov 1974", "1974-11-27"),
            ("Nov 27, 1974", "1974-11-27"),
            ("27th of November 1974", "1974-11-27"),
            ("27. November 1974", "1974-11-27"),
            ("11/27/1974", "1974-11-27"),
            ("1974/11/27", "1974-11-27"),
            ("27.11.", "--11-27"),
            ("27 Nov", "--11-27"),
            ("29 Feb", "--02-29"),
            ("19741127", "19741127"),
            ("--11-27", "--11-27"),
        ] {
            assert_eq!(parse_date(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn addresses_have_components() {
        for (text, expected) in [
            ("Main St 1", ";;Main St 1;;;;"),
            ("Hauptstr. 5, 10115 Berlin", ";;Hauptstr. 5;Berlin;;10115;"),
            (
                "1 Mall, London SW1A 1AA, UK",
                ";;1 Mall;London;;SW1A 1AA;UK",
            ),
            (
                "742 Elm St, Springfield, IL 62704",
                ";;742 Elm St;Springfield;IL;62704;",
            ),
            (
                "742 Elm St, Springfield, IL 62704, USA",
                ";;742 Elm St;Springfield;IL;62704;USA",
            ),
            ("Box 1;;Main St 1;Town;;;", "Box 1;;Main St 1;Town;;;"),
            ("", ";;;;;;"),
        ] {
            assert_eq!(parse_address(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(parse_address("a, b, c, d, e").is_err());
    }
}
