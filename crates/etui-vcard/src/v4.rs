//! Writing a card of any version as vCard 4.0 (RFC 6350).
//!
//! ```text
//! TEL;TYPE=HOME,PREF:1                     TEL;TYPE=HOME;PREF=1:1
//! PHOTO;ENCODING=b;TYPE=JPEG:/9j/          PHOTO:data:image/jpeg;base64,/9j/
//! BDAY:1604-05-09                          BDAY:--0509
//! GEO:37.4;-122.1                          GEO:geo:37.4,-122.1
//! LABEL;TYPE=HOME:Elm 4\nLake              ADR;TYPE=HOME;LABEL=Elm 4^nLake:;;Elm 4;Lake;;;
//! SORT-STRING:Harten                       N;SORT-AS=Harten:van der Harten;Rene;;;
//! X-ADDRESSBOOKSERVER-KIND:group           KIND:group
//! item1.X-ABDATE:2011-12-02                ANNIVERSARY:20111202
//! item1.X-ABLabel:_$!<Anniversary>!$_
//! none                                     FN:..., of N, ORG, ...
//! PROFILE:VCARD, PHOTO: (empty)            none
//! ```

use std::collections::HashSet;

use etui_contentline::edit::{fold_line, is_one_of};

use crate::card::{Card, VCardVersion};
use crate::date::{PartialDate, PropertyDate, to_basic_offset};
use crate::fields::{ANNIVERSARIES, split_mailbox, strip_scheme};
use crate::parameter::{PropertyParameter, encode_parameter, is_label};
use crate::property::{Property, PropertyValue, ValueSyntax};
use crate::v3::{join_place, v4_name};
use crate::writer::property_line;

/// Dates that may lack their year.
const DATES: &[&str] = &["BDAY", "ANNIVERSARY", "DEATHDATE"];

/// A card in another version; see [`Card::convert_to_v4`] and [`Card::convert_to_v3`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedCard {
    /// The vCard.
    pub text: String,
    /// The parts of the card that are not in it, such as `AGENT` or `BDAY year 1604`.
    pub losses: Vec<String>,
}

impl Card {
    /// Returns the card as vCard 4.0: UTF-8, folded, CRLF. See [`Card::convert_to_v4`].
    pub fn to_v4(&self) -> String {
        self.convert_to_v4().text
    }

    /// Returns the card as vCard 4.0, and the parts that are not in it.
    ///
    /// Unknown properties and parameters are kept. The notations of older versions are converted:
    /// inline photos become `data:` URIs, `TYPE=PREF` becomes `PREF=1`, `TYPE=INTERNET` is
    /// dropped, a birthday with a placeholder year has none, LABEL and SORT-STRING become parameters
    /// of ADR and N, groups and anniversaries of other programs get the names of 4.0. Properties that 4.0
    /// dropped (RFC 6350 appendix A.2) begin with `X-`. A card without FN gets one
    /// ([`Card::display_name`]). Properties without content are left out.
    pub fn convert_to_v4(&self) -> ConvertedCard {
        let is_old = self.version() != VCardVersion::V4_0;
        let mut losses = Vec::new();
        let mut all: Vec<Property> = Vec::with_capacity(self.properties.len() + 1);
        let has_kind = self.named("KIND").any(Property::has_content);
        for property in &self.properties {
            let is_dropped = property.is_named("VERSION")
                || property.is_named("PROFILE")
                || property.is_named("X-ABSHOWAS") && (has_kind || !is_company(property))
                || !(property.has_content() || property.is_named("N"));
            if !is_dropped {
                all.push(property.clone());
            }
        }
        self.name_anniversary(&mut all);
        for property in &mut all {
            let year = property.written_placeholder_year();
            losses.extend(year.map(|year| format!("{} year {year:04}", property.name)));
            modernize_property(property);
            declare_uri(property);
            if property.is_named("REV") {
                // A timestamp, and nothing else.
                property.drop_parameter("VALUE");
            }
            if is_old && is_one_of(DATES, &property.name) {
                declare_text(property);
            }
        }
        move_labels(&mut all);
        move_sort_string(&mut all);
        losses.extend(self.has_agent().then(|| "AGENT".to_owned()));
        if !all.iter().any(|property| property.is_named("FN")) {
            all.insert(0, Property::of_text("FN", self.display_name()));
        }
        let mut text = String::with_capacity(self.text.len() + 64);
        text.push_str("BEGIN:VCARD\r\nVERSION:4.0\r\n");
        for property in &all {
            let folded = fold_line(&property_line(property), b"\r\n");
            text.push_str(&String::from_utf8_lossy(&folded));
        }
        text.push_str("END:VCARD\r\n");
        ConvertedCard { text, losses }
    }

    /// Names the first anniversary as 4.0 does, of which it has one; the others keep their names.
    fn name_anniversary(&self, all: &mut Vec<Property>) {
        if self.named("ANNIVERSARY").any(Property::has_content) {
            return;
        }
        let labelled: HashSet<String> = self
            .labelled_anniversaries()
            .filter_map(|property| Some(property.group.as_ref()?.to_ascii_lowercase()))
            .collect();
        let is_meant = |property: &Property| {
            let group = property
                .group
                .as_ref()
                .map(|group| group.to_ascii_lowercase());
            let is_labelled = group.is_some_and(|group| labelled.contains(&group));
            property.date().is_some()
                && (is_one_of(ANNIVERSARIES, &property.name)
                    || property.is_named("X-ABDATE") && is_labelled)
        };
        let Some(found) = all.iter_mut().find(|property| is_meant(property)) else {
            return;
        };
        found.name = "ANNIVERSARY".to_owned();
        let group = found.group.take();
        if let Some(group) = group {
            let in_group = |p: &Property| {
                p.group
                    .as_ref()
                    .is_some_and(|g| g.eq_ignore_ascii_case(&group))
            };
            let is_alone = !all.iter().any(|p| in_group(p) && !p.is_named("X-ABLABEL"));
            all.retain(|p| !(is_alone && in_group(p)));
        }
    }

    /// Returns true if a nested card was left out.
    pub(crate) fn has_agent(&self) -> bool {
        let text = etui_contentline::charset::to_utf8_bytes(&self.text);
        let mut lines = etui_contentline::lines::ContentLines::new(&text);
        lines.any(|line| line.name_is("AGENT")) && !self.named("AGENT").any(|_| true)
    }
}

fn is_company(property: &Property) -> bool {
    let text = property.first_text();
    text.is_some_and(|text| text.trim().eq_ignore_ascii_case("COMPANY"))
}

/// Makes each LABEL a parameter of the address with its types, else of its group, else of the only
/// one; or an address of its own.
fn move_labels(all: &mut Vec<Property>) {
    let Some(labels) = take_named(all, "LABEL") else {
        return;
    };
    for (at, label) in labels {
        let text = label.joined_text();
        let mut types = label.types();
        types.sort_unstable();
        let is_free = |p: &Property| p.is_named("ADR") && !p.has_parameter("LABEL");
        let has_types = |p: &Property| {
            let mut own = p.types();
            own.sort_unstable();
            own == types
        };
        let in_group = |p: &Property| label.group.is_some() && p.group == label.group;
        let free: Vec<usize> = (0..all.len())
            .filter(|&i| all.get(i).is_some_and(is_free))
            .collect();
        let find = |is: &dyn Fn(&Property) -> bool| {
            free.iter().copied().find(|&i| all.get(i).is_some_and(is))
        };
        let only = match free.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let found = find(&in_group).or_else(|| find(&has_types)).or(only);
        match found.and_then(|i| all.get_mut(i)) {
            Some(address) => address.push_parameter("LABEL", vec![encode_parameter(&text)]),
            None => {
                let mut address = label;
                address.name = "ADR".to_owned();
                address.push_parameter("LABEL", vec![encode_parameter(&text)]);
                let mut components = vec![vec![String::new()]; 7];
                if let Some(street) = components.get_mut(2) {
                    *street = vec![text];
                }
                address.value = PropertyValue::Components(components);
                // Properties before it may have been taken out.
                all.insert(at.min(all.len()), address);
            }
        }
    }
}

/// Makes SORT-STRING the parameter SORT-AS of the name.
fn move_sort_string(all: &mut Vec<Property>) {
    let Some(mut found) = take_named(all, "SORT-STRING") else {
        return;
    };
    let Some((at, sort)) = (!found.is_empty()).then(|| found.remove(0)) else {
        return;
    };
    let value = vec![encode_parameter(sort.joined_text().trim())];
    match all.iter_mut().find(|property| property.is_named("N")) {
        Some(name) if name.has_parameter("SORT-AS") => {}
        Some(name) => name.push_parameter("SORT-AS", value),
        None => {
            let mut name = Property::of_text("N", String::new());
            // N has five components.
            name.value = PropertyValue::Components(vec![vec![String::new()]; 5]);
            name.push_parameter("SORT-AS", value);
            all.insert(at.min(all.len()), name);
        }
    }
}

/// Removes the properties `name`, and returns them with their positions; `None` if there are none.
fn take_named(all: &mut Vec<Property>, name: &str) -> Option<Vec<(usize, Property)>> {
    let mut taken = Vec::new();
    while let Some(at) = all.iter().position(|property| property.is_named(name)) {
        taken.push((at, all.remove(at)));
    }
    (!taken.is_empty()).then_some(taken)
}

/// Replaces the notations of older versions.
pub(crate) fn modernize_property(property: &mut Property) {
    if property.is_named("X-ABSHOWAS") {
        property.name = "KIND".to_owned();
        property.value = PropertyValue::Text("org".to_owned());
    }
    property.name = v4_name(&property.name).to_owned();
    let is_preferred = property.is_preferred();
    let date = property
        .date()
        .filter(|_| DATES.iter().any(|name| property.is_named(name)));
    let mut types: Vec<String> = Vec::new();
    let mut has_level = false;
    let mut type_at = None;
    let mut kept: Vec<PropertyParameter> = Vec::new();
    for parameter in property.parameters.drain(..) {
        if parameter.is_type() {
            type_at.get_or_insert(kept.len());
            let is_bare = parameter.values.is_empty();
            types.extend(
                parameter
                    .each_type()
                    .map(|kind| match is_bare && !is_label(kind) {
                        true => kind.to_ascii_lowercase(),
                        false => kind.to_owned(),
                    }),
            );
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
        } else if property.name == "GEO"
            && let Some((latitude, longitude)) = text.split_once([';', ','])
            && let Some(place) = join_place(latitude, longitude, ',')
        {
            *text = format!("geo:{place}");
        } else if property.name == "TEL" {
            *text = text.trim().to_owned();
        } else if property.name == "EMAIL" {
            let (name, address) = split_mailbox(text);
            // 4.0 has no place for a name there.
            let name = Some(name).filter(|name| !name.is_empty());
            let name = name.map(encode_parameter);
            *text = address.to_owned();
            property
                .parameters
                .extend(name.map(|name| PropertyParameter {
                    name: "X-CN".to_owned(),
                    values: vec![name],
                }));
        } else if let Some(date) = date
            && PartialDate::parse(text.trim()) != Some(date)
        {
            *text = date.to_extended();
        }
    }
}

/// Declares a `tel:` URI to be one: a phone number is a text in 4.0 unless it says otherwise.
fn declare_uri(property: &mut Property) {
    let text = property.first_text().unwrap_or_default();
    if property.is_named("TEL") && strip_scheme(text, "tel:").is_some() {
        property.drop_parameter("VALUE");
        property.push_parameter("VALUE", vec!["uri".to_owned()]);
    }
}

/// Declares a date in words to be a text, as 4.0 requires, and a date that is declared to be a text none.
fn declare_text(property: &mut Property) {
    let text = property.first_text().unwrap_or_default().trim();
    let is_date =
        PropertyDate::parse(text).is_some() || PropertyDate::parse_whole_seconds(text).is_some();
    let kind = property.value_type().unwrap_or("date");
    match is_date {
        true if kind.eq_ignore_ascii_case("text") => property.drop_parameter("VALUE"),
        false if kind.eq_ignore_ascii_case("date") => {
            property.drop_parameter("VALUE");
            property.push_parameter("VALUE", vec!["text".to_owned()]);
        }
        _ => {}
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
    DATES.contains(&property) && parameter.is_named("X-APPLE-OMIT-YEAR")
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
