//! Writing a card of any version as vCard 3.0 (RFC 2426), line by line.
//!
//! ```text
//! TEL;PREF=1;TYPE=cell;VALUE=uri:tel:+49-30-1234   TEL;TYPE=cell,pref:+49-30-1234
//! BDAY:--1210                                      BDAY;X-APPLE-OMIT-YEAR=1604:1604-12-10
//! GEO:geo:37.4,-122.1                              GEO:37.4;-122.1
//! PHOTO:data:image/jpeg;base64,/9j/                PHOTO;ENCODING=b;TYPE=JPEG:/9j/
//! ANNIVERSARY:20010203                             X-EVOLUTION-ANNIVERSARY:2001-02-03
//! KIND:group                                       X-ADDRESSBOOKSERVER-KIND:group
//! MEMBER:urn:uuid:7                                X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:7
//! BDAY:1815, FN (a second one)                     none: vCard 3.0 cannot say it
//! ```

use std::collections::HashSet;

use etui_contentline::charset::repair_charset;
use etui_contentline::edit::{fold_line, is_one_of, is_property_name, own_lines};
use etui_contentline::lines::{ContentLine, ContentLines};

use crate::android::standard_property;
use crate::card::{Card, VCardVersion};
use crate::date::{PropertyDate, to_extended_offset};
use crate::fields::{ANNIVERSARIES, strip_scheme};
use crate::parameter::decode_parameter;
use crate::property::{Property, PropertyValue, ValueSyntax, encode_base64};
use crate::writer::{COMPONENT, escape_value, push_head, push_joined, push_value};

/// Properties of vCard 4.0, and the names under which programs write them in 3.0.
/// Apple's programs show a group by the last two.
const RENAMED: &[(&str, &str)] = &[
    ("ANNIVERSARY", "X-EVOLUTION-ANNIVERSARY"),
    ("KIND", "X-ADDRESSBOOKSERVER-KIND"),
    ("MEMBER", "X-ADDRESSBOOKSERVER-MEMBER"),
    // Properties that 4.0 dropped (RFC 6350 appendix A.2).
    ("X-AGENT", "AGENT"),
    ("X-CLASS", "CLASS"),
    ("X-MAILER", "MAILER"),
    ("X-NAME", "NAME"),
];

/// Parameters that vCard 3.0 has. Those that begin with `X-` are kept too.
pub(crate) const KEPT_PARAMETERS: &[&str] = &["TYPE", "VALUE", "LANGUAGE", "CONTEXT"];

/// The placeholder for a year that is not known, as Apple's programs write it.
const OMITTED_YEAR: u16 = 1604;

/// A line of a card, and the property that it is.
pub(crate) struct PropertyLine<'t> {
    pub(crate) line: ContentLine<'t>,
    pub(crate) property: Property,
}

/// Returns the properties of a card in UTF-8 with their lines, without VERSION.
pub(crate) fn property_lines(text: &str) -> Vec<PropertyLine<'_>> {
    let own = own_lines(text.as_bytes(), Some("VCARD"));
    own.filter(|line| line.delimiter().is_none() && !line.name_is("VERSION"))
        .filter_map(|line| {
            let property = Property::parse(&line)?;
            Some(PropertyLine { line, property })
        })
        .collect()
}

/// A line of a vCard 3.0.
pub(crate) struct V3Line {
    /// The line without folds and line end.
    pub(crate) text: String,
    /// The index of the property it was made of; `None` if the card has none and 3.0 requires it.
    pub(crate) source: Option<usize>,
    /// The parameter of that property that it was made of: LABEL or SORT-AS.
    pub(crate) parameter: Option<&'static str>,
}

impl V3Line {
    /// Parses the line.
    pub(crate) fn property(&self) -> Option<Property> {
        let line = ContentLines::of_text(&self.text).next()?;
        Property::parse(&line)
    }
}

impl Card {
    /// Returns the card as vCard 3.0: UTF-8, folded, CRLF. One of version 3.0 is returned as it is,
    /// in UTF-8.
    ///
    /// The notations of 4.0 are converted: `PREF=1` becomes `TYPE=pref`, `data:` URIs become
    /// inline data, `tel:` and `geo:` URIs become texts, dates are in the extended form, and a
    /// birthday without year gets the placeholder year of `X-APPLE-OMIT-YEAR`. Properties that 3.0
    /// does not know are kept; ANNIVERSARY is written as `X-EVOLUTION-ANNIVERSARY`, KIND and MEMBER of a
    /// group as `X-ADDRESSBOOKSERVER-KIND` and `-MEMBER`.
    ///
    /// Left out are the parts that 3.0 cannot say: further parameters (PID, ALTID, SORT-AS, other levels of
    /// PREF, ...), alternatives of one value, a second FN, dates without month or day.
    /// [`Card::merge_v3`] brings them back.
    #[must_use]
    pub fn to_v3(&self) -> String {
        let text = repair_charset(&self.text);
        if self.property("VERSION").is_some_and(|v| v.trim() == "3.0") {
            return text.into_owned();
        }
        let mut out = String::with_capacity(text.len() + 64);
        out.push_str("BEGIN:VCARD\r\nVERSION:3.0\r\n");
        for line in v3_lines(&property_lines(&text), self) {
            let folded = fold_line(&line.text, b"\r\n");
            out.push_str(&String::from_utf8_lossy(&folded));
        }
        out.push_str("END:VCARD\r\n");
        out
    }
}

/// Returns the lines of `card`, which are `all`, in vCard 3.0.
pub(crate) fn v3_lines(all: &[PropertyLine<'_>], card: &Card) -> Vec<V3Line> {
    let is_v4 = card.version() == VCardVersion::V4_0;
    let mut lines: Vec<V3Line> = Vec::with_capacity(all.len() + 2);
    let mut seen = HashSet::new();
    for (index, PropertyLine { line, property }) in all.iter().enumerate() {
        let name = property.name.to_ascii_uppercase();
        let altid = property.parameter("ALTID").map(str::to_owned);
        // A further FN, or an alternative of an earlier value.
        let is_repeated = is_v4
            && (name == "FN" || altid.is_some())
            && !seen.insert((altid.filter(|_| name != "FN"), name));
        let has_valid_name = [Some(&property.name), property.group.as_ref()]
            .into_iter()
            .flatten()
            .all(|name| is_property_name(name));
        if is_repeated || !has_valid_name {
            continue;
        }
        let standard = standard_property(property);
        let property = standard.as_ref().unwrap_or(property);
        let converted = v3_line(line, property);
        lines.extend(converted.map(|text| V3Line {
            text,
            source: Some(index),
            parameter: None,
        }));
        lines.extend(parameter_line(property).map(|(parameter, text)| V3Line {
            text,
            source: Some(index),
            parameter: Some(parameter),
        }));
    }
    // RFC 2426 requires both.
    let has = |name| all.iter().any(|one| one.property.is_named(name));
    let mut missing = Vec::new();
    if !has("FN") {
        let mut text = "FN:".to_owned();
        push_value(&mut text, &Property::of_text("FN", card.display_name()));
        missing.push(text);
    }
    if !has("N") {
        missing.push("N:;;;;".to_owned());
    }
    let missing = missing.into_iter().map(|text| V3Line {
        text,
        source: None,
        parameter: None,
    });
    lines.splice(0..0, missing);
    lines
}

/// The properties of 3.0 that are parameters in 4.0: of ADR, of N.
const PARAMETERS: &[(&str, &str, &str)] =
    &[("ADR", "LABEL", "LABEL"), ("N", "SORT-AS", "SORT-STRING")];

/// Returns the parameter of a property that is a property in 3.0, and its line.
fn parameter_line(property: &Property) -> Option<(&'static str, String)> {
    let (_, parameter, name) = PARAMETERS.iter().find(|(owner, parameter, _)| {
        property.is_named(owner) && property.has_parameter(parameter)
    })?;
    let values = property.parameters.iter().find(|p| p.is_named(parameter))?;
    let text = decode_parameter(&values.values.join(","));
    let mut line = Property::of_text(name, String::new());
    if *parameter == "LABEL" {
        line.group.clone_from(&property.group);
        let types = property.types();
        if !types.is_empty() {
            line.push_parameter("TYPE", types);
        }
    }
    let mut out = String::new();
    push_head(&mut out, &line);
    out.push_str(&escape_value(text.trim(), COMPONENT));
    (!text.trim().is_empty()).then_some((parameter, out))
}

/// Returns the line in vCard 3.0, without line end; `None` if 3.0 cannot say it.
fn v3_line(line: &ContentLine<'_>, original: &Property) -> Option<String> {
    let mut property = original.clone();
    if let Some((_, name)) = RENAMED.iter().find(|(name, _)| property.is_named(name)) {
        property.name = (*name).to_owned();
    }
    if original.is_named("KIND")
        && original
            .first_text()
            .is_some_and(|kind| is_one_of(&["org"], kind.trim()))
    {
        return Some("X-ABShowAs:COMPANY".to_owned());
    }
    property.parameters.retain(|p| {
        is_one_of(KEPT_PARAMETERS, &p.name)
            || p.is_type()
            || p.name.to_ascii_uppercase().starts_with("X-")
    });
    let value = v3_value(line, original, &mut property)?;
    // One TYPE parameter with all types.
    let mut types = property.take_types();
    types.retain(|t| !t.eq_ignore_ascii_case("PREF"));
    types.extend(original.is_preferred().then(|| "pref".to_owned()));
    if !types.is_empty() {
        property.push_parameter("TYPE", types);
    }
    let mut text = String::new();
    push_head(&mut text, &property);
    text.push_str(&value);
    Some(text)
}

/// Returns the value in vCard 3.0, and sets the parameters that describe it; `None` if 3.0 cannot
/// say it.
fn v3_value(
    line: &ContentLine<'_>,
    original: &Property,
    property: &mut Property,
) -> Option<String> {
    let text = match &original.value {
        PropertyValue::Binary(data) => {
            property.drop_media_types();
            property.drop_parameter("VALUE");
            property.push_parameter("ENCODING", vec!["b".to_owned()]);
            let media = data.media_type.as_deref().and_then(v3_media_type);
            if let Some(media) = media {
                property.push_parameter("TYPE", vec![media]);
            }
            let mut value = String::new();
            encode_base64(&data.bytes, &mut value);
            return Some(value);
        }
        PropertyValue::Text(text) => text.trim(),
        _ => return Some(plain_value(line, original)),
    };
    let is_text = original
        .value_type()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("TEXT"));
    let syntax = match is_one_of(ANNIVERSARIES, &original.name) {
        true => ValueSyntax::Date,
        false => original.syntax(),
    };
    match syntax {
        ValueSyntax::Date if is_text => return None,
        ValueSyntax::Date => {
            let Some(date) = PropertyDate::parse(text) else {
                return Some(plain_value(line, original));
            };
            property.drop_parameter("VALUE");
            property.drop_parameter("X-APPLE-OMIT-YEAR");
            return v3_date(date, property);
        }
        ValueSyntax::Uri if original.is_named("GEO") => {
            // vCard 2.1 writes the URI's notation, without its scheme.
            let place = Some(strip_scheme(text, "geo:").unwrap_or(text)).and_then(|place| {
                let place = place.split(';').next().unwrap_or_default();
                let (latitude, rest) = place.split_once(',')?;
                let longitude = rest.split(',').next().unwrap_or_default();
                join_place(latitude, longitude, ';')
            });
            if place.is_some() {
                property.drop_parameter("VALUE");
                return place;
            }
        }
        ValueSyntax::Uri if is_one_of(&["PHOTO", "LOGO", "SOUND", "KEY"], &original.name) => {
            property.drop_parameter("VALUE");
            property.push_parameter("VALUE", vec!["uri".to_owned()]);
        }
        _ if original.is_named("TEL") => {
            if let Some(number) = strip_scheme(text, "tel:") {
                property.drop_parameter("VALUE");
                let number = number.replace(";ext=", " ext. ");
                return Some(escape_value(&number, COMPONENT));
            }
        }
        _ if original.is_named("TZ") => match to_extended_offset(text) {
            Some(offset) => {
                property.drop_parameter("VALUE");
                return Some(offset);
            }
            None if original.value_type().is_none() && !text.is_empty() => {
                property.push_parameter("VALUE", vec!["text".to_owned()]);
            }
            None => {}
        },
        _ => {}
    }
    Some(plain_value(line, original))
}

/// Returns a date in the extended form; `None` without month and day, or without the year of
/// anything but a birthday or anniversary.
fn v3_date(date: PropertyDate, property: &mut Property) -> Option<String> {
    let extended = date.to_extended();
    let year = date.date.without_placeholder_year().year;
    let is_yearly = property.is_named("BDAY") || is_one_of(ANNIVERSARIES, &property.name);
    match (year, date.date.month, date.date.day) {
        (Some(_), Some(_), Some(_)) => Some(extended),
        (None, Some(month), Some(day)) if is_yearly => {
            property.push_parameter("X-APPLE-OMIT-YEAR", vec![OMITTED_YEAR.to_string()]);
            Some(format!("{OMITTED_YEAR}-{month:02}-{day:02}"))
        }
        _ => None,
    }
}

/// Returns latitude and longitude with a separator; `None` if they are no numbers.
pub(crate) fn join_place(latitude: &str, longitude: &str, separator: char) -> Option<String> {
    let (latitude, longitude) = (latitude.trim(), longitude.trim());
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    (is_number(latitude) && is_number(longitude))
        .then(|| format!("{latitude}{separator}{longitude}"))
}

/// Returns the value as 3.0 writes it: texts and lists escape semicolons, which 4.0 does not
/// require. Others are as they are written, which both versions read alike, or decoded if they are
/// base64 or the property is another one than the line's.
pub(crate) fn plain_value(line: &ContentLine<'_>, property: &Property) -> String {
    let mut value = String::new();
    match &property.value {
        PropertyValue::Text(text) if property.is_known_text() => {
            value.push_str(&escape_value(text, COMPONENT));
        }
        PropertyValue::List(texts) => push_joined(&mut value, texts, COMPONENT),
        _ if line.is_base64() || !line.name_is(&property.name) => push_value(&mut value, property),
        _ => value.push_str(&String::from_utf8_lossy(&line.unfolded_value())),
    }
    value
}

/// Returns the name under which vCard 4.0 has the property that 3.0 calls `name`.
pub(crate) fn v4_name(name: &str) -> &str {
    let renamed = RENAMED
        .iter()
        .find(|(_, old)| old.eq_ignore_ascii_case(name));
    renamed.map_or(name, |(new, _)| new)
}

/// Returns the TYPE of inline data of a media type.
fn v3_media_type(media_type: &str) -> Option<String> {
    match media_type {
        "application/pgp-keys" => Some("PGP".to_owned()),
        "application/x-x509-user-cert" => Some("X509".to_owned()),
        _ => {
            let (kind, subtype) = media_type.split_once('/')?;
            is_one_of(&["image", "audio"], kind).then(|| subtype.to_ascii_uppercase())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(body: &str) -> String {
        let card = Card::parse(format!(
            "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:A\r\nN:A;;;;\r\n{body}END:VCARD\r\n"
        ));
        let text = card.unwrap().to_v3();
        assert_eq!(
            Card::parse(text.as_bytes()).unwrap().version(),
            VCardVersion::V3_0
        );
        let head = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nN:A;;;;\r\n";
        let body = text.strip_prefix(head).unwrap();
        body.strip_suffix("END:VCARD\r\n").unwrap().to_owned()
    }

    #[test]
    fn notations_of_four_become_those_of_three() {
        for (v4, v3) in [
            (
                "TEL;PREF=1;TYPE=cell;VALUE=uri:tel:+49-30-1234;ext=5",
                "TEL;TYPE=cell,pref:+49-30-1234 ext. 5",
            ),
            ("BDAY:--1210", "BDAY;X-APPLE-OMIT-YEAR=1604:1604-12-10"),
            ("BDAY;VALUE=date-and-or-time:18151210", "BDAY:1815-12-10"),
            ("REV:20261122T193753Z", "REV:2026-11-22T19:37:53Z"),
            ("ANNIVERSARY:20010203", "X-EVOLUTION-ANNIVERSARY:2001-02-03"),
            (
                "ANNIVERSARY:--0203",
                "X-EVOLUTION-ANNIVERSARY;X-APPLE-OMIT-YEAR=1604:1604-02-03",
            ),
            ("KIND:group", "X-ADDRESSBOOKSERVER-KIND:group"),
            (
                "MEMBER:urn:uuid:7\r\nMEMBER:mailto:a@b",
                "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:7\r\nX-ADDRESSBOOKSERVER-MEMBER:mailto:a@b",
            ),
            ("GEO:geo:37.4,-122.1;u=10", "GEO:37.4;-122.1"),
            ("TZ:-0500", "TZ:-05:00"),
            ("TZ:Europe/Berlin", "TZ;VALUE=text:Europe/Berlin"),
            (
                "PHOTO:data:image/jpeg;base64,/9j/",
                "PHOTO;ENCODING=b;TYPE=JPEG:/9j/",
            ),
            (
                "PHOTO;MEDIATYPE=image/png:https://example.org/a.png",
                "PHOTO;VALUE=uri:https://example.org/a.png",
            ),
            ("ORG;SORT-AS=\"b\";PID=1.1:A;B", "ORG:A;B"),
            (
                "item1.X-A;X-B=\"c;d\";TYPE=home:e;f\\,g",
                "item1.X-A;X-B=\"c;d\";TYPE=home:e;f\\,g",
            ),
        ] {
            assert_eq!(converted(&format!("{v4}\r\n")), format!("{v3}\r\n"), "{v4}");
        }
    }

    #[test]
    fn parts_unknown_to_three_are_left_out() {
        for v4 in [
            "BDAY:1815",
            "BDAY:1815-12",
            "BDAY;VALUE=text:circa 1800",
            "DEATHDATE:--0203",
            "FN:Another",
            "N;ALTID=1:A;;;;\r\nN;ALTID=1;LANGUAGE=ja:B;;;;",
        ] {
            let body = converted(&format!("{v4}\r\n"));
            assert!(body.is_empty() || body == "N:A;;;;\r\n", "{body}");
        }
        let body = converted("EMAIL;PREF=20:a@b\r\nEMAIL;PREF=1:c@d\r\n");
        assert_eq!(body, "EMAIL:a@b\r\nEMAIL;TYPE=pref:c@d\r\n");
    }

    #[test]
    fn required_properties_are_added() {
        let card = Card::parse("BEGIN:VCARD\nVERSION:4.0\nORG:A\\, B\nEND:VCARD\n").unwrap();
        let expected =
            "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\\, B\r\nN:;;;;\r\nORG:A\\, B\r\nEND:VCARD\r\n";
        assert_eq!(card.to_v3(), expected);
    }

    #[test]
    fn old_cards_come_out_too() {
        let card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller\r\n\
             TEL;CELL;PREF:1\r\nEND:VCARD\r\n",
        )
        .unwrap();
        let text = card.to_v3();
        assert!(text.contains("N:Müller\r\n"), "{text}");
        assert!(text.contains("TEL;TYPE=CELL,pref:1\r\n"), "{text}");
    }
}
