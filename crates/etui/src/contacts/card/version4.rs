//! Writes a card of any version as vCard 4.0 (RFC 6350).

use calcard::vcard::{
    VCard, VCardEntry, VCardParameter, VCardParameterName, VCardParameterValue, VCardProperty,
    VCardValue, VCardVersion,
};

use super::Card;
use etui_contentline::lines::ContentLines;

impl Card {
    /// The card as vCard 4.0: UTF-8, folded, CRLF.
    ///
    /// Unknown properties and parameters are carried over as they are. What older versions say
    /// in their own way is said in this one's: inline photos become `data:` URIs, `TYPE=PREF`
    /// becomes `PREF=1`, `TYPE=INTERNET` goes, a birthday without year loses the year that stood
    /// in for it.
    #[must_use]
    pub fn to_v4(&self) -> String {
        let mut card = VCard {
            entries: self.parsed.entries.clone(),
        };
        card.entries.iter_mut().for_each(modernise);
        let mut out = String::with_capacity(self.text.len() + 64);
        // Writing into a String cannot fail.
        let _ = card.write_to(&mut out, VCardVersion::V4_0);
        plain_data_uris(out)
    }
}

fn modernise(entry: &mut VCardEntry) {
    let mut preferred = false;
    entry.params.retain(|param| {
        let kind = match (&param.name, &param.value) {
            (VCardParameterName::Type, VCardParameterValue::Text(t)) => t.as_str(),
            // vCard 2.1 writes types as bare parameters.
            (VCardParameterName::Other(bare), VCardParameterValue::Null) => bare.as_str(),
            (VCardParameterName::Pref, VCardParameterValue::Null) => "PREF",
            _ => return true,
        };
        preferred |= kind.eq_ignore_ascii_case("PREF");
        !kind.eq_ignore_ascii_case("PREF") && !kind.eq_ignore_ascii_case("INTERNET")
    });
    for param in &mut entry.params {
        if let (VCardParameterName::Other(bare), VCardParameterValue::Null) =
            (&param.name, &param.value)
        {
            *param = VCardParameter {
                value: VCardParameterValue::Text(bare.to_ascii_lowercase()),
                name: VCardParameterName::Type,
            };
        }
    }
    if preferred
        && !entry
            .params
            .iter()
            .any(|p| p.name == VCardParameterName::Pref)
    {
        entry.params.push(VCardParameter {
            name: VCardParameterName::Pref,
            value: VCardParameterValue::Integer(1),
        });
    }
    if entry.name == VCardProperty::Bday {
        let omitted = entry
            .params
            .iter()
            .position(|p| p.name == VCardParameterName::Other("X-APPLE-OMIT-YEAR".to_owned()));
        if let Some(at) = omitted {
            let param = entry.params.remove(at);
            if let Some(VCardValue::PartialDateTime(date)) = entry.values.first_mut() {
                let stand_in = match &param.value {
                    VCardParameterValue::Text(year) => year.parse().ok(),
                    VCardParameterValue::Integer(year) => u16::try_from(*year).ok(),
                    _ => None,
                };
                if date.year == stand_in {
                    date.year = None;
                }
            }
        }
    }
}

/// calcard 0.3.14 escapes the comma of the `data:` URIs it writes, which no URI has (RFC 2397).
fn plain_data_uris(written: String) -> String {
    const ESCAPED: &str = "base64\\,";
    if !written.contains(ESCAPED) {
        return written;
    }
    let mut out = String::with_capacity(written.len());
    for line in ContentLines::new(written.as_bytes()) {
        let raw = written.get(line.span.clone()).unwrap_or_default();
        if line.unfolded_value().starts_with(b"data:") {
            out.push_str(&raw.replacen(ESCAPED, "base64,", 1));
        } else {
            out.push_str(raw);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Photo, Version};
    use super::*;

    fn converted(body: &str) -> (String, Card) {
        let card = Card::parse(format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n")).unwrap();
        let text = card.to_v4();
        let card = Card::parse(text.as_bytes()).unwrap();
        assert_eq!(card.version(), Version::V4_0);
        (text, card)
    }

    #[test]
    fn photos_become_data_uris() {
        let (text, card) = converted(
            "VERSION:3.0\r\nFN:A\r\nNOTE:x;base64\\,y\r\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRg==\r\n",
        );
        assert!(text.contains("PHOTO"), "{text}");
        assert!(text.contains(";base64,/9j/"), "{text}");
        assert_eq!(card.note().as_deref(), Some("x;base64,y"));
        let Some(Photo::Inline { bytes, .. }) = card.photo() else {
            panic!("the photo is inline: {text}");
        };
        assert_eq!(&bytes[..4], [0xff, 0xd8, 0xff, 0xe0]);
    }

    #[test]
    fn old_types_become_new_ones() {
        let (text, card) = converted(
            "VERSION:2.1\r\nN:B;A\r\nTEL;CELL;PREF:1234567\r\nEMAIL;INTERNET:a@example.org\r\n",
        );
        assert!(text.contains("PREF=1"), "{text}");
        assert!(!text.to_uppercase().contains("INTERNET"), "{text}");
        let phone = &card.phones()[0];
        assert!(phone.preferred);
        assert_eq!(phone.types, ["cell"]);
    }

    #[test]
    fn a_birthday_without_year_has_none() {
        let (text, card) =
            converted("VERSION:3.0\r\nFN:A\r\nBDAY;X-APPLE-OMIT-YEAR=1604:1604-05-17\r\n");
        assert!(!text.contains("1604"), "{text}");
        assert_eq!(card.birthday().unwrap().month, Some(5));
        assert_eq!(card.birthday().unwrap().year, None);
    }
}
