//! A person as vCard text.
//!
//! ```text
//! 4.0 and 3.0    name ";" parameters ":" value CRLF, folded by CRLF SPACE
//! 2.1            the same without folding; a value that is not ASCII or too
//!                long in quoted-printable with soft line breaks; a photo on
//!                lines of its own, ended by an empty one
//! ```

use super::{Address, Kind, Person, Version};
use crate::images::base64;
use crate::text::{LINE_OCTETS, fold_line};

/// Appends the card of a person.
pub(super) fn card(someone: &Person, version: Version, out: &mut String) {
    let mut card = CardWriter { version, out };
    card.all(someone);
}

struct CardWriter<'a> {
    version: Version,
    out: &'a mut String,
}

impl CardWriter<'_> {
    fn all(&mut self, someone: &Person) {
        self.out.push_str("BEGIN:VCARD\r\nVERSION:");
        self.out.push_str(match self.version {
            Version::V21 => "2.1\r\n",
            Version::V3 => "3.0\r\n",
            Version::V4 => "4.0\r\n",
        });
        if self.version != Version::V21 {
            self.line("PRODID", &["-//Example Corp.//Address Book 3.2//EN"]);
        }
        if self.version == Version::V4 {
            self.plain("UID", &format!("urn:uuid:{}", someone.uid));
        } else {
            self.line("UID", &[&someone.uid]);
        }
        self.line(
            "N",
            &[
                &someone.family,
                &someone.given,
                &someone.additional,
                &someone.prefix,
                &someone.suffix,
            ],
        );
        self.line("FN", &[&someone.formatted]);
        if let Some(nickname) = &someone.nickname {
            // 2.1 has no NICKNAME; phones of its time used this.
            let name = match self.version {
                Version::V21 => "X-NICKNAME",
                _ => "NICKNAME",
            };
            self.line(name, &[nickname]);
        }
        match (&someone.organisation, &someone.department) {
            (Some(organisation), Some(department)) => {
                self.line("ORG", &[organisation, department]);
            }
            (Some(organisation), None) => self.line("ORG", &[organisation]),
            _ => {}
        }
        if let Some(title) = &someone.title {
            self.line("TITLE", &[title]);
        }
        for (place, (kind, email)) in someone.emails.iter().enumerate() {
            self.line(self.email_name(*kind, place), &[email]);
        }
        for (place, (kind, number)) in someone.phones.iter().enumerate() {
            self.line(self.phone_name(*kind, place), &[number]);
        }
        for address in &someone.addresses {
            self.address(address);
        }
        self.birthday(someone);
        if let Some(url) = &someone.url {
            self.line("URL", &[url]);
        }
        if !someone.categories.is_empty() {
            // None of the categories contains a comma.
            self.plain("CATEGORIES", &someone.categories.join(","));
        }
        if let Some(note) = &someone.note {
            self.line("NOTE", &[note]);
        }
        self.photo(someone);
        match self.version {
            Version::V21 => {}
            Version::V3 => self.line("CLASS", &["PUBLIC"]),
            Version::V4 => self.line("KIND", &["individual"]),
        }
        self.line("REV", &[&someone.revision]);
        self.out.push_str("END:VCARD\r\n");
    }

    fn email_name(&self, kind: Kind, place: usize) -> &'static str {
        match (self.version, kind, place) {
            (Version::V21, Kind::Work, 0) => "EMAIL;PREF;INTERNET;WORK",
            (Version::V21, Kind::Work, _) => "EMAIL;INTERNET;WORK",
            (Version::V21, _, 0) => "EMAIL;PREF;INTERNET",
            (Version::V21, ..) => "EMAIL;INTERNET;HOME",
            (Version::V3, Kind::Work, _) => "EMAIL;TYPE=INTERNET,WORK",
            (Version::V3, ..) => "EMAIL;TYPE=INTERNET,HOME",
            (Version::V4, Kind::Work, 0) => "EMAIL;TYPE=work;PREF=1",
            (Version::V4, Kind::Work, _) => "EMAIL;TYPE=work",
            (Version::V4, _, 0) => "EMAIL;TYPE=home;PREF=1",
            (Version::V4, ..) => "EMAIL;TYPE=home",
        }
    }

    fn phone_name(&self, kind: Kind, place: usize) -> &'static str {
        match (self.version, kind, place) {
            (Version::V21, Kind::Home, _) => "TEL;HOME;VOICE",
            (Version::V21, Kind::Work, _) => "TEL;WORK;VOICE",
            (Version::V21, Kind::Fax, _) => "TEL;WORK;FAX",
            (Version::V21, Kind::Cell, 0) => "TEL;CELL;PREF",
            (Version::V21, Kind::Cell, _) => "TEL;CELL",
            (Version::V3, Kind::Home, _) => "TEL;TYPE=HOME,VOICE",
            (Version::V3, Kind::Work, _) => "TEL;TYPE=WORK,VOICE",
            (Version::V3, Kind::Fax, _) => "TEL;TYPE=FAX,WORK",
            (Version::V3, Kind::Cell, 0) => "TEL;TYPE=CELL;TYPE=PREF",
            (Version::V3, Kind::Cell, _) => "TEL;TYPE=CELL",
            (Version::V4, Kind::Home, _) => "TEL;TYPE=\"home,voice\"",
            (Version::V4, Kind::Work, _) => "TEL;TYPE=\"work,voice\"",
            (Version::V4, Kind::Fax, _) => "TEL;TYPE=\"work,fax\"",
            (Version::V4, Kind::Cell, 0) => "TEL;TYPE=cell;PREF=1",
            (Version::V4, Kind::Cell, _) => "TEL;TYPE=cell",
        }
    }

    fn address(&mut self, address: &Address) {
        let name = match (self.version, address.kind) {
            (Version::V21, Kind::Work) => "ADR;WORK",
            (Version::V21, _) => "ADR;HOME",
            (Version::V3, Kind::Work) => "ADR;TYPE=WORK",
            (Version::V3, _) => "ADR;TYPE=HOME",
            (Version::V4, Kind::Work) => "ADR;TYPE=work",
            (Version::V4, _) => "ADR;TYPE=home",
        };
        self.line(
            name,
            &[
                "",
                "",
                &address.street,
                &address.city,
                &address.region,
                &address.code,
                &address.country,
            ],
        );
    }

    fn birthday(&mut self, someone: &Person) {
        let Some(birthday) = someone.birthday else {
            return;
        };
        let (month, day) = (birthday.month, birthday.day);
        let start = match (self.version, birthday.year) {
            (Version::V4, None) => "BDAY:--".to_owned(),
            // Before 4.0 a date has a year; this one marks that it is unknown.
            (_, None) => "BDAY;X-APPLE-OMIT-YEAR=1604:1604".to_owned(),
            (_, Some(year)) => format!("BDAY:{year}"),
        };
        let dash = if self.version == Version::V3 { "-" } else { "" };
        let line = format!("{start}{dash}{month:02}{dash}{day:02}\r\n");
        self.out.push_str(&line);
    }

    fn photo(&mut self, someone: &Person) {
        let Some(picture) = someone.picture() else {
            return;
        };
        let text = base64(&picture.bytes);
        match self.version {
            Version::V21 => {
                self.out.push_str("PHOTO;ENCODING=BASE64;");
                self.out.push_str(picture.format);
                self.out.push_str(":\r\n");
                let mut rest = text.as_str();
                while !rest.is_empty() {
                    let (line, after) = rest.split_at(rest.len().min(LINE_OCTETS - 1));
                    self.out.push(' ');
                    self.out.push_str(line);
                    self.out.push_str("\r\n");
                    rest = after;
                }
                self.out.push_str("\r\n");
            }
            Version::V3 => {
                let name = match picture.format {
                    "PNG" => "PHOTO;ENCODING=b;TYPE=PNG",
                    _ => "PHOTO;ENCODING=b;TYPE=JPEG",
                };
                self.plain(name, &text);
            }
            Version::V4 => {
                let prefix = match picture.format {
                    "PNG" => "data:image/png;base64,",
                    _ => "data:image/jpeg;base64,",
                };
                self.plain("PHOTO", &format!("{prefix}{text}"));
            }
        }
    }

    /// A property whose components are plain text; escapes them and puts
    /// semicolons between them.
    fn line(&mut self, name: &str, components: &[&str]) {
        let start = self.out.len();
        self.out.push_str(name);
        self.out.push(':');
        let value = self.out.len();
        for (place, component) in components.iter().enumerate() {
            if place > 0 {
                self.out.push(';');
            }
            self.escape(component);
        }
        self.end(start, value);
    }

    /// A property whose value is written as it is.
    fn plain(&mut self, name: &str, value: &str) {
        let start = self.out.len();
        self.out.push_str(name);
        self.out.push(':');
        self.out.push_str(value);
        self.end(start, start + name.len() + 1);
    }

    /// RFC 6350 §3.4; in 2.1 only the semicolon has an escape, and a line
    /// break stays one until it is encoded.
    fn escape(&mut self, text: &str) {
        let special: &[char] = match self.version {
            Version::V21 => &[';'],
            _ => &['\\', ';', ',', '\n'],
        };
        let mut rest = text;
        while let Some(place) = rest.find(special) {
            let (plain, after) = rest.split_at(place);
            self.out.push_str(plain);
            self.out.push('\\');
            let mut after = after.chars();
            self.out.push(match after.next() {
                Some('\n') | None => 'n',
                Some(c) => c,
            });
            rest = after.as_str();
        }
        self.out.push_str(rest);
    }

    /// Ends the line that began at `start` and whose value begins at `value`.
    fn end(&mut self, start: usize, value: usize) {
        let text = self.out.get(start..).unwrap_or_default();
        if self.version == Version::V21 {
            if !text.is_ascii() || text.contains('\n') || text.len() > LINE_OCTETS {
                let plain = self.out.split_off(value);
                self.quoted_printable(start, &plain);
            }
        } else if text.len() > LINE_OCTETS {
            let long = self.out.split_off(start);
            fold_line(&long, self.out);
        }
        self.out.push_str("\r\n");
    }

    /// Writes a 2.1 value in quoted-printable (RFC 2045 §6.7) after a name
    /// that began at `start` and ended with a colon.
    fn quoted_printable(&mut self, start: usize, plain: &str) {
        self.out.pop();
        if !plain.is_ascii() {
            self.out.push_str(";CHARSET=UTF-8");
        }
        self.out.push_str(";ENCODING=QUOTED-PRINTABLE:");
        let mut line = self.out.len() - start;
        for c in plain.chars() {
            let mut octets = [0; 4];
            let octets = c.encode_utf8(&mut octets).as_bytes();
            let literal = matches!(c, ' '..='~') && c != '=';
            let width = match c {
                '\n' => 6,
                _ if literal => 1,
                _ => 3 * octets.len(),
            };
            // One column stays free for the `=` that breaks the line.
            if line + width > LINE_OCTETS {
                self.out.push_str("=\r\n");
                line = 0;
            }
            line += width;
            if literal {
                self.out.push(c);
            } else if c == '\n' {
                self.out.push_str("=0D=0A");
            } else {
                for octet in octets {
                    self.out.push_str(&format!("={octet:02X}"));
                }
            }
        }
    }
}
