//! Writing a card of any version as vCard 4.0 (RFC 6350).

use etui_contentline::edit::{fold_line, is_one_of};
use etui_contentline::values::escape_text;

use crate::card::Card;
use crate::date::{PartialDate, PropertyDate, to_basic_offset};
use crate::property::{Property, PropertyParameter, PropertyValue, ValueSyntax, encode_base64};

impl Card {
    /// Returns the card as vCard 4.0: UTF-8, folded, CRLF.
    ///
    /// Unknown properties and parameters are kept. The notations of older versions are converted:
    /// inline photos become `data:` URIs, `TYPE=PREF` becomes `PREF=1`, `TYPE=INTERNET` is
    /// dropped, and a birthday without year loses the placeholder year of `X-APPLE-OMIT-YEAR`.
    pub fn to_v4(&self) -> String {
        let mut out = String::with_capacity(self.text.len() + 64);
        out.push_str("BEGIN:VCARD\r\nVERSION:4.0\r\n");
        for property in self.properties.iter().filter(|p| !p.is_named("VERSION")) {
            let mut property = property.clone();
            modernize_property(&mut property);
            let folded = fold_line(&property_line(&property), b"\r\n");
            out.push_str(&String::from_utf8_lossy(&folded));
        }
        out.push_str("END:VCARD\r\n");
        out
    }
}

/// Replaces the notations of older versions.
pub(crate) fn modernize_property(property: &mut Property) {
    let is_preferred = property.is_preferred();
    let omitted_year = property.omitted_year();
    let mut types: Vec<String> = Vec::new();
    let mut has_level = false;
    let mut type_at = None;
    let mut kept: Vec<PropertyParameter> = Vec::new();
    for parameter in property.parameters.drain(..) {
        if parameter.is_type() {
            type_at.get_or_insert(kept.len());
            let is_bare = parameter.values.is_empty();
            types.extend(parameter.each_type().map(|kind| match is_bare {
                true => kind.to_ascii_lowercase(),
                false => kind.to_owned(),
            }));
        } else if !is_old_value_type(&parameter) && !is_omitted_year(&parameter, &property.name) {
            has_level |= parameter.is_named("PREF");
            kept.push(parameter);
        }
    }
    types.retain(|t| !t.is_empty() && !is_one_of(&["PREF", "INTERNET"], t));
    if !types.is_empty() {
        let parameter = PropertyParameter {
            name: "TYPE".to_owned(),
            values: types,
        };
        kept.insert(type_at.unwrap_or(0), parameter);
    }
    if is_preferred && !has_level {
        kept.push(PropertyParameter {
            name: "PREF".to_owned(),
            values: vec!["1".to_owned()],
        });
    }
    property.parameters = kept;
    if matches!(property.value, PropertyValue::Binary(_)) {
        property.drop_media_types();
        if property.syntax() != ValueSyntax::Uri {
            property.parameters.push(PropertyParameter {
                name: "VALUE".to_owned(),
                values: vec!["uri".to_owned()],
            });
        }
    }
    if let PropertyValue::Text(text) = &mut property.value {
        if property.name == "TZ"
            && let Some(offset) = to_basic_offset(text.trim())
        {
            *text = offset;
        } else if property.name == "BDAY"
            && omitted_year.is_some()
            && let Some(date) = PartialDate::parse(text.trim())
            && date.year == omitted_year
        {
            *text = PartialDate { year: None, ..date }.to_extended();
        }
    }
}

/// Returns true for VALUE parameters that vCard 4.0 does not have.
fn is_old_value_type(parameter: &PropertyParameter) -> bool {
    let old = [
        "BINARY",
        "INLINE",
        "URL",
        "CID",
        "CONTENT-ID",
        "VCARD",
        "PHONE-NUMBER",
    ];
    parameter.is_named("VALUE") && parameter.values.iter().any(|value| is_one_of(&old, value))
}

fn is_omitted_year(parameter: &PropertyParameter, property: &str) -> bool {
    property == "BDAY" && parameter.is_named("X-APPLE-OMIT-YEAR")
}

/// The property as one line, without its line end.
fn property_line(property: &Property) -> String {
    let mut line = String::new();
    push_head(&mut line, property);
    push_value(&mut line, property);
    line
}

/// Appends group, name and parameters with the colon.
pub(crate) fn push_head(line: &mut String, property: &Property) {
    if let Some(group) = &property.group {
        line.push_str(group);
        line.push('.');
    }
    line.push_str(&property.name);
    for parameter in &property.parameters {
        push_parameter(line, parameter);
    }
    line.push(':');
}

/// Appends the parameter, unless its name cannot be written.
pub(crate) fn push_parameter(line: &mut String, parameter: &PropertyParameter) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if parameter.name.is_empty() || !parameter.name.chars().all(is_word) {
        return;
    }
    line.push(';');
    line.push_str(&parameter.name);
    for (i, value) in parameter.values.iter().enumerate() {
        line.push(if i == 0 { '=' } else { ',' });
        // No escape exists for quotes, and controls are not allowed (RFC 6350 §3.3).
        let value: String = value
            .chars()
            .filter(|&c| c != '"' && (c == '\t' || !c.is_control()))
            .collect();
        if value.contains([',', ';', ':']) {
            line.push('"');
            line.push_str(&value);
            line.push('"');
        } else {
            line.push_str(&value);
        }
    }
}

pub(crate) fn push_value(line: &mut String, property: &Property) {
    match &property.value {
        PropertyValue::Text(text) => {
            let syntax = property.syntax();
            let date = match syntax {
                ValueSyntax::Date => PropertyDate::parse(text.trim()),
                _ => None,
            };
            match date {
                Some(date) => line.push_str(&date.to_basic()),
                None => line.push_str(&escape_value(text, value_is_text(property))),
            }
        }
        PropertyValue::List(texts) => push_joined(line, texts, ','),
        PropertyValue::Components(components) => {
            for (i, texts) in components.iter().enumerate() {
                if i > 0 {
                    line.push(';');
                }
                push_joined(line, texts, ',');
            }
        }
        PropertyValue::Binary(data) => {
            line.push_str("data:");
            line.push_str(data.media_type.as_deref().unwrap_or_default());
            line.push_str(";base64,");
            encode_base64(&data.bytes, line);
        }
    }
}

/// Returns true if separators in the value are escaped: it is a text by its VALUE parameter, or
/// else by its name.
fn value_is_text(property: &Property) -> bool {
    match property.value_type() {
        Some(value) => value.eq_ignore_ascii_case("TEXT"),
        None => property.syntax() == ValueSyntax::Text,
    }
}

fn push_joined(line: &mut String, texts: &[String], separator: char) {
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            line.push(separator);
        }
        line.push_str(&escape_value(text, true));
    }
}

pub(crate) fn escape_value(text: &str, is_text: bool) -> String {
    escape_text(text, if is_text { "\\;," } else { "\\" }, "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Photo, VCardVersion};

    fn converted(body: &str) -> (String, Card) {
        let card = Card::parse(format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n")).unwrap();
        let text = card.to_v4();
        let card = Card::parse(text.as_bytes()).unwrap();
        assert_eq!(card.version(), VCardVersion::V4_0);
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
