//! Edits that leave every other line of the card as it came.

use std::ops::Range;

use crate::card::{Card, VCardVersion};
use crate::date::PropertyDate;
use crate::error::CardError;
use crate::fields::bare_address;
use crate::group_labels::{is_label_of_group, without_labels};
use crate::property::{ENCODINGS, Property, PropertyValue, encode_base64};
use crate::v21;
use crate::writer::{COMPONENT, escape_value};
use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::{
    fold_line, head_without, is_one_of, is_property_name, line_ending, own_lines, remove_spans,
    splice_line,
};
use etui_contentline::lines::{ContentLine, ContentLines, Delimiter};
use etui_contentline::values;

/// A property to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewProperty {
    /// Its name, e.g. `EMAIL`.
    pub name: String,
    /// Its types, e.g. `home`.
    pub types: Vec<String>,
    /// Its value as text; see [`Card::set`].
    pub value: String,
}

/// Properties whose parts are separated by `;` (RFC 6350 §6.2.2, §6.3.1, §6.6.4, §6.2.7).
const STRUCTURED: &[&str] = &["N", "ADR", "ORG", "GENDER"];
/// Properties that are lists separated by `,`.
const LISTS: &[&str] = &["CATEGORIES", "NICKNAME"];
/// Properties that are URIs or the like: nothing in them is escaped.
const PLAIN: &[&str] = &[
    "UID",
    "URL",
    "PHOTO",
    "LOGO",
    "SOUND",
    "SOURCE",
    "KEY",
    "IMPP",
    "GEO",
    "REV",
    "BDAY",
    "ANNIVERSARY",
    "FBURL",
    "CALURI",
    "CALADRURI",
    "MEMBER",
    "RELATED",
    "KIND",
];

/// The component whose lines are the card's own.
const OWN: Option<&str> = Some("VCARD");

impl Card {
    /// A new card (4.0) with this name to show, a UID of its own and nothing else.
    ///
    /// # Errors
    /// [`CardError::Empty`] when the name is blank; an error of the system's random numbers.
    pub fn new(display_name: &str) -> Result<Self, CardError> {
        if display_name.trim().is_empty() {
            return Err(CardError::Empty);
        }
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let uid = uuid::Builder::from_random_bytes(bytes).into_uuid();
        let mut card = Self::parse(format!(
            "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:uuid:{uid}\r\nFN:-\r\nEND:VCARD\r\n"
        ))?;
        card.set("FN", display_name)?;
        Ok(card)
    }

    /// Sets the first property `name` to `value`, keeping its group and parameters, or adds it.
    ///
    /// `value` is text without escapes. In structured properties
    /// (N, ADR, ORG, GENDER) `;` separates the parts, in lists (CATEGORIES, NICKNAME) `,` the
    /// entries.
    ///
    /// # Errors
    /// [`CardError::BadProperty`]; [`CardError::Empty`] when nothing would be left.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), CardError> {
        check_name(name)?;
        let text = self.editable();
        let Some(line) = own_lines(&text, OWN).find(|l| l.name_is(name)) else {
            return self.add(&NewProperty {
                name: name.to_owned(),
                value: value.to_owned(),
                ..NewProperty::default()
            });
        };
        let head = head_without(&line, ENCODINGS);
        let new = self.line(&head, name, value, line_ending(&text));
        self.splice(&text, line.span.clone(), &new)
    }

    /// Sets the value of the property of this name with all of these types, keeping its group and
    /// parameters, or adds the property if there is none. Returns the number of properties with these types
    /// before; with several, nothing is changed.
    ///
    /// # Errors
    /// As [`Card::add`].
    pub fn set_typed(&mut self, property: &NewProperty) -> Result<usize, CardError> {
        let is_meant = |found: &Property| has_types(found, &property.types);
        let found = self.set_where(&property.name, is_meant, &property.value)?;
        if found == 0 {
            self.add(property)?;
        }
        Ok(found)
    }

    /// Replaces the value of the property of this name whose value `is_old`, or that entry of a list
    /// (CATEGORIES, NICKNAME), keeping its group and parameters. Returns the number of properties with
    /// such a value before; with several, nothing is changed.
    ///
    /// # Errors
    /// [`CardError::BadProperty`].
    pub fn replace_value(
        &mut self,
        name: &str,
        is_old: impl Fn(&str) -> bool,
        new: &str,
    ) -> Result<usize, CardError> {
        let is_meant = |found: &Property| match &found.value {
            PropertyValue::List(entries) => entries.iter().any(|entry| is_old(entry)),
            _ => is_old(&found.joined_text()),
        };
        let is_list = |found: &Property| matches!(found.value, PropertyValue::List(_));
        let count = self.named(name).filter(|p| is_meant(p)).count();
        if count != 1 || !self.named(name).any(|p| is_meant(p) && is_list(p)) {
            return self.set_where(name, is_meant, new);
        }
        self.edit_lines(name, |property| {
            let property = property.filter(|p| is_meant(p))?;
            let PropertyValue::List(mut entries) = property.value.clone() else {
                return None;
            };
            for entry in entries.iter_mut().filter(|entry| is_old(entry)) {
                new.clone_into(entry);
            }
            Some(Some(PropertyValue::List(entries)))
        })
    }

    /// Sets the value of the only property of this name that `is_meant`. Returns the number of such
    /// properties; with several, nothing is changed.
    fn set_where(
        &mut self,
        name: &str,
        is_meant: impl Fn(&Property) -> bool,
        value: &str,
    ) -> Result<usize, CardError> {
        check_name(name)?;
        let text = self.editable();
        let lines = own_lines(&text, OWN).filter(|l| l.name_is(name));
        let is_meant = |line: &ContentLine<'_>| {
            let found = self.read_line(line, name);
            found.is_some_and(|found| is_meant(&found))
        };
        let lines: Vec<ContentLine<'_>> = lines.filter(is_meant).collect();
        if let [line] = lines.as_slice() {
            let head = head_without(line, ENCODINGS);
            let new = self.line(&head, name, value, line_ending(&text));
            self.splice(&text, line.span.clone(), &new)?;
        }
        Ok(lines.len())
    }

    /// Adds a property after the others of its name, or at the end.
    ///
    /// # Errors
    /// [`CardError::BadProperty`] for a name or type that a vCard cannot have.
    pub fn add(&mut self, property: &NewProperty) -> Result<(), CardError> {
        check_name(&property.name)?;
        let text = self.editable();
        let mut head = property.name.to_ascii_uppercase();
        for kind in &property.types {
            check_name(kind)?;
            head.push_str(match self.version() {
                VCardVersion::V2_1 => ";",
                _ => ";TYPE=",
            });
            head.push_str(kind);
        }
        let new = self.line(&head, &property.name, &property.value, line_ending(&text));
        self.insert_line(&text, &property.name, &new)
    }

    /// Adds categories, whose names may have commas in them, as one property; none if there are none.
    ///
    /// # Errors
    /// As [`Card::add`].
    pub fn add_categories<'n>(
        &mut self,
        categories: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), CardError> {
        const NAME: &str = "CATEGORIES";
        let names = categories.into_iter();
        let names: Vec<_> = names.map(|name| escape_value(name, COMPONENT)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let text = self.editable();
        let new = self.encode_line(NAME, &names.join(","), line_ending(&text));
        self.insert_line(&text, NAME, &new)
    }

    /// Inserts a line after the others of its name, or at the end.
    fn insert_line(&mut self, text: &[u8], name: &str, new: &[u8]) -> Result<(), CardError> {
        let place = own_lines(text, OWN)
            .filter(|l| l.name_is(name))
            .last()
            .map(|l| l.span.end)
            .or_else(|| {
                let ends = ContentLines::new(text).filter(ends_card);
                ends.last().map(|l| l.span.start)
            })
            .unwrap_or(text.len());
        self.splice(text, place..place, new)
    }

    /// Sets the component `index` of the first structured property `name` (N, ADR, ORG) with all of
    /// these types, or adds such a property. Its other components are unchanged.
    ///
    /// # Errors
    /// As [`Card::add`].
    pub fn set_component(
        &mut self,
        name: &str,
        types: &[String],
        index: usize,
        value: &str,
    ) -> Result<(), CardError> {
        let width = match name.to_ascii_uppercase().as_str() {
            "N" => 5,
            "ADR" => 7,
            _ => 1,
        };
        let mut is_first = true;
        let found = self.edit_lines(name, |property| {
            let property = property.filter(|p| is_first && has_types(p, types))?;
            is_first = false;
            let mut components = match &property.value {
                PropertyValue::Components(components) => components.clone(),
                _ => Vec::new(),
            };
            // At least as many components as the property has by its standard.
            let len = components.len().max(index + 1).max(width);
            components.resize(len, Vec::new());
            if let Some(component) = components.get_mut(index) {
                *component = vec![value.trim().to_owned()];
            }
            Some(Some(PropertyValue::Components(components)))
        })?;
        if found > 0 || value.trim().is_empty() {
            return Ok(());
        }
        self.add(&NewProperty {
            name: name.to_owned(),
            types: types.to_vec(),
            value: ";".repeat(width.max(index + 1) - 1),
        })?;
        self.set_component(name, types, index, value)
    }

    /// Replaces the photos by one: an image file's bytes and its media type, such as `image/jpeg`.
    ///
    /// # Errors
    /// [`CardError::TooLarge`].
    pub fn set_photo(&mut self, media_type: &str, bytes: &[u8]) -> Result<(), CardError> {
        let text = self.editable();
        let ending = line_ending(&text);
        let mut data = String::new();
        encode_base64(bytes, &mut data);
        let kind = media_type.rsplit('/').next().unwrap_or_default();
        let kind = kind.to_ascii_uppercase();
        let mut line = fold_line(
            &match self.version() {
                VCardVersion::V2_1 => format!("PHOTO;ENCODING=BASE64;TYPE={kind}:{data}"),
                VCardVersion::V3_0 => format!("PHOTO;ENCODING=b;TYPE={kind}:{data}"),
                VCardVersion::V4_0 => format!("PHOTO:data:{media_type};base64,{data}"),
            },
            ending,
        );
        if self.version() == VCardVersion::V2_1 {
            // The end of base64 is an empty line there.
            line.extend_from_slice(ending);
        }
        let ends = ContentLines::new(&text).filter(ends_card);
        let place = ends.last().map_or(text.len(), |l| l.span.start);
        // The new photo is added first: a card must not be empty.
        let old = own_lines(&text, OWN).filter(|l| l.name_is("PHOTO"));
        let old: Vec<Range<usize>> = old.map(|l| l.span).collect();
        let added = splice_line(&text, place..place, &line);
        *self = Self::parse(remove_spans(&added, &old))?;
        Ok(())
    }

    /// Removes the properties `name`: all of them, or those with exactly this value. Of a list with
    /// several entries, it removes the entries with this value. Returns the number of changed lines.
    ///
    /// # Errors
    /// [`CardError::Empty`] when nothing would be left; the card is then as before.
    pub fn remove(&mut self, name: &str, value: Option<&str>) -> Result<usize, CardError> {
        let Some(value) = value.map(str::trim) else {
            return self.edit_lines(name, |_| Some(None));
        };
        self.edit_lines(name, |property| match &property?.value {
            PropertyValue::List(entries) => {
                let is_meant = |entry: &&String| entry.trim() == value;
                let left: Vec<_> = entries.iter().filter(|e| !is_meant(e)).cloned().collect();
                let whole = [entries.join(";"), entries.join(",")];
                match left.len() {
                    _ if whole.iter().any(|w| w == value) => Some(None),
                    0 => Some(None),
                    n if n < entries.len() => Some(Some(PropertyValue::List(left))),
                    _ => None,
                }
            }
            _ => {
                let text = property?.joined_text();
                let is_address = property?.is_named("EMAIL") && bare_address(&text) == value;
                (text.trim() == value || is_address).then_some(None)
            }
        })
    }

    /// Removes the component `index` of the structured properties `name`: of all of them, or where
    /// it has exactly this value. Returns the number of changed lines.
    ///
    /// # Errors
    /// As [`Card::remove`].
    pub fn remove_component(
        &mut self,
        name: &str,
        index: usize,
        value: Option<&str>,
    ) -> Result<usize, CardError> {
        self.edit_lines(name, |property| {
            let property = property?;
            let found = property.component(index, " ");
            if found.is_empty() || value.is_some_and(|v| v.trim() != found) {
                return None;
            }
            let PropertyValue::Components(mut components) = property.value.clone() else {
                return None;
            };
            components.get_mut(index)?.clear();
            let is_blank = components
                .iter()
                .flatten()
                .all(|text| text.trim().is_empty());
            // A card of version 3.0 must have an N.
            let kept = !is_blank || property.is_named("N");
            Some(kept.then_some(PropertyValue::Components(components)))
        })
    }

    /// Changes the lines of the properties `name`: `change` gets the property of a line, if it can
    /// be read, and returns `None` to keep the line, `Some(None)` to remove it, or its new value.
    /// Returns the number of changed lines.
    pub(crate) fn edit_lines(
        &mut self,
        name: &str,
        mut change: impl FnMut(Option<&Property>) -> Option<Option<PropertyValue>>,
    ) -> Result<usize, CardError> {
        check_name(name)?;
        let text = self.editable();
        let mut changed = 0;
        let mut left_groups = Vec::new();
        let mut out = Vec::with_capacity(text.len());
        let mut from = 0;
        for line in own_lines(&text, OWN).filter(|l| l.name_is(name)) {
            let Some(new) = change(self.read_line(&line, name).as_ref()) else {
                continue;
            };
            changed += 1;
            out.extend_from_slice(&text[from..line.span.start]);
            from = line.span.end;
            if new.is_none() {
                let group = line.group.map(<[u8]>::to_ascii_lowercase);
                left_groups.extend(group.filter(|_| !is_label_of_group(&line)));
            }
            if let Some(value) = new {
                let head = head_without(&line, ENCODINGS);
                let value = escape_parts(name, &value);
                out.extend(self.encode_line(&head, &value, line_ending(&text)));
            }
        }
        out.extend_from_slice(&text[from..]);
        if changed > 0 {
            *self = Self::parse(without_labels(out, left_groups))?;
        }
        Ok(changed)
    }

    /// Returns the property of `line`, read by itself.
    fn read_line(&self, line: &ContentLine<'_>, name: &str) -> Option<Property> {
        let version = self.version();
        // The first line is content for a card whose only other line is blank.
        let mut alone =
            format!("BEGIN:VCARD\r\nVERSION:{version}\r\nX-NOT-EMPTY:1\r\n").into_bytes();
        alone.extend_from_slice(line.raw());
        alone.extend_from_slice(b"\r\nEND:VCARD\r\n");
        let card = Self::parse(alone).ok()?;
        card.named(name).last().cloned()
    }

    /// The text as bytes whose lines can be changed one by one. Cards in UTF-16, or with 8-bit
    /// text that is not UTF-8, become UTF-8 as a whole.
    fn editable(&self) -> Vec<u8> {
        to_utf8_bytes(&self.text).into_owned()
    }

    fn splice(&mut self, text: &[u8], place: Range<usize>, new: &[u8]) -> Result<(), CardError> {
        *self = Self::parse(splice_line(text, place, new))?;
        Ok(())
    }

    /// A content line with its folds and line end, as the card's version writes it.
    fn line(&self, head: &str, name: &str, value: &str, ending: &[u8]) -> Vec<u8> {
        let date =
            is_one_of(&["BDAY", "ANNIVERSARY"], name) && self.version() == VCardVersion::V4_0;
        let basic = PropertyDate::parse(value.trim()).filter(|_| date);
        let basic = basic.map(PropertyDate::to_basic);
        let value = escape(name, basic.as_deref().unwrap_or(value));
        self.encode_line(head, &value, ending)
    }

    /// A content line with a value that is escaped as in 3.0 and 4.0.
    fn encode_line(&self, head: &str, value: &str, ending: &[u8]) -> Vec<u8> {
        if self.version() == VCardVersion::V2_1 {
            return v21::encode_line(head, value, ending);
        }
        fold_line(&format!("{head}:{value}"), ending)
    }
}

/// Returns true if the property has all of these types.
fn has_types(property: &Property, types: &[String]) -> bool {
    let found = property.types();
    types
        .iter()
        .all(|wanted| found.iter().any(|t| t.eq_ignore_ascii_case(wanted)))
}

/// Whether the line is `END:VCARD`.
fn ends_card(line: &ContentLine<'_>) -> bool {
    line.delimiter()
        .is_some_and(|(edge, name)| edge == Delimiter::End && name.eq_ignore_ascii_case(b"VCARD"))
}

fn check_name(name: &str) -> Result<(), CardError> {
    match is_property_name(name) {
        true => Ok(()),
        false => Err(CardError::BadProperty(name.to_owned())),
    }
}

/// Returns a text, or the texts of a list or of components, escaped.
fn escape_parts(name: &str, value: &PropertyValue) -> String {
    let list = |texts: &[String]| {
        let texts = texts.iter().map(|text| escape_value(text, COMPONENT));
        texts.collect::<Vec<_>>().join(",")
    };
    match value {
        PropertyValue::List(texts) => list(texts),
        PropertyValue::Components(components) => {
            let components = components.iter().map(|texts| list(texts));
            components.collect::<Vec<_>>().join(";")
        }
        PropertyValue::Text(text) => escape(name, text),
        PropertyValue::Binary(_) => String::new(),
    }
}

/// RFC 6350 §3.4. In structured properties and lists, the separators stay.
fn escape(name: &str, value: &str) -> String {
    let mut special = String::new();
    if !is_one_of(PLAIN, name) {
        special.push('\\');
        if !is_one_of(STRUCTURED, name) {
            special.push(';');
        }
        if !is_one_of(LISTS, name) {
            special.push(',');
        }
    }
    values::escape_text(value, &special, "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Photo;

    const ODD: &str = "BEGIN:VCARD\nVERSION:3.0\nX-ODD;\"weird;=\":a\\,b\nFN:Old\n  Name\n\
                       item1.EMAIL;TYPE=HOME:a@example.org\nitem1.X-ABLabel:Home\nEND:VCARD\n";

    #[test]
    fn only_the_line_meant_changes() {
        let mut card = Card::parse(ODD).unwrap();
        card.set("fn", "New, Name").unwrap();
        card.set("EMAIL", "b@example.org").unwrap();
        let expected = ODD
            .replace("FN:Old\n  Name\n", "FN:New\\, Name\n")
            .replace("a@example", "b@example");
        assert_eq!(String::from_utf8_lossy(card.text()), expected);
        assert_eq!(card.display_name(), "New, Name");
    }

    #[test]
    fn additions_and_removals() {
        let mut card = Card::parse(ODD).unwrap();
        card.add(&NewProperty {
            name: "email".into(),
            types: vec!["work".into()],
            value: "c@example.org".into(),
        })
        .unwrap();
        let mails: Vec<_> = card.emails().into_iter().map(|e| e.value).collect();
        assert_eq!(mails, ["a@example.org", "c@example.org"]);
        assert_eq!(card.remove("EMAIL", Some("c@example.org")), Ok(1));
        assert_eq!(card.text(), ODD.as_bytes());
        assert_eq!(card.remove("EMAIL", None), Ok(1));
        assert_eq!(card.remove("EMAIL", None), Ok(0));
    }

    #[test]
    fn one_entry_of_a_list_is_removed() {
        let text = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nCATEGORIES:Family,Work\\, urgent,Friends\r\n\
                    END:VCARD\r\n";
        let mut card = Card::parse(text).unwrap();
        assert_eq!(card.remove("CATEGORIES", Some("Work")), Ok(0));
        assert_eq!(card.remove("CATEGORIES", Some("Family")), Ok(1));
        let expected = text.replace("Family,", "");
        assert_eq!(String::from_utf8_lossy(card.text()), expected);
        assert_eq!(card.remove("CATEGORIES", Some("Work, urgent")), Ok(1));
        assert_eq!(card.remove("CATEGORIES", Some("Friends")), Ok(1));
        assert_eq!(card.property("CATEGORIES"), None);
        let mut whole = Card::parse(text.replace("Work\\, urgent", "X")).unwrap();
        assert_eq!(whole.remove("CATEGORIES", Some("Family,X,Friends")), Ok(1));
        assert_eq!(whole.property("CATEGORIES"), None);
    }

    #[test]
    fn a_property_is_set_by_its_types() {
        let mut card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nTEL;TYPE=WORK,VOICE:1\r\nTEL;TYPE=HOME:2\r\n\
             item1.TEL;TYPE=HOME,FAX:3\r\nEND:VCARD\r\n",
        )
        .unwrap();
        let mut set = |types: &[&str], value: &str| {
            let property = NewProperty {
                name: "TEL".to_owned(),
                types: types.iter().map(|kind| (*kind).to_owned()).collect(),
                value: value.to_owned(),
            };
            (card.set_typed(&property).unwrap(), card.text().to_vec())
        };
        assert_eq!(set(&["work"], "10").0, 1);
        assert_eq!(set(&["home", "fax"], "30").0, 1);
        assert_eq!(set(&["home"], "x").0, 2);
        let (found, text) = set(&["cell"], "40");
        assert_eq!(found, 0);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nTEL;TYPE=WORK,VOICE:10\r\nTEL;TYPE=HOME:2\r\n\
             item1.TEL;TYPE=HOME,FAX:30\r\nTEL;TYPE=cell:40\r\nEND:VCARD\r\n"
        );
    }

    #[test]
    fn labels_go_with_the_last_line_of_their_group() {
        let body = "FN:A\r\nitem1.TEL:1\r\nitem1.X-ABLabel:Boat\r\nITEM2.ADR:;;x;;;;\r\n\
                    item2.X-ABADR:it\r\nitem2.X-ABLabel:House\r\nitem3.TEL:2\r\nitem3.EMAIL:a\r\n\
                    item3.X-ABLabel:Both\r\nlone.X-ABLabel:x\r\n";
        for (name, value, removed) in [
            (
                "TEL",
                Some("1"),
                &["item1.TEL:1", "item1.X-ABLabel:Boat"][..],
            ),
            (
                "ADR",
                None,
                &[
                    "ITEM2.ADR:;;x;;;;",
                    "item2.X-ABADR:it",
                    "item2.X-ABLabel:House",
                ],
            ),
            ("TEL", Some("2"), &["item3.TEL:2"]),
            ("EMAIL", None, &["item3.EMAIL:a"]),
            ("X-ABADR", None, &["item2.X-ABADR:it"]),
        ] {
            let text = |body: &str| format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n");
            let mut card = Card::parse(text(body)).unwrap();
            card.remove(name, value).unwrap();
            let is_left = |line: &&str| !removed.contains(line);
            let left: Vec<&str> = body.lines().filter(is_left).collect();
            let left = text(&format!("{}\r\n", left.join("\r\n")));
            assert_eq!(String::from_utf8_lossy(card.text()), left);
        }
    }

    #[test]
    fn components_are_set_by_themselves() {
        let mut card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nN:;;;;\r\nADR;TYPE=HOME:;;Main\\, 1,Flat 2;;;;\r\n\
             END:VCARD\r\n",
        )
        .unwrap();
        card.set_component("N", &[], 0, "Müller; B").unwrap();
        card.set_component("ADR", &["home".into()], 3, "Berlin")
            .unwrap();
        card.set_component("ADR", &["work".into()], 6, "France")
            .unwrap();
        let text = String::from_utf8_lossy(card.text());
        assert!(text.contains("N:Müller\\; B;;;;\r\n"), "{text}");
        assert!(
            text.contains("ADR;TYPE=HOME:;;Main\\, 1,Flat 2;Berlin;;;\r\n"),
            "{text}"
        );
        assert!(text.contains("ADR;TYPE=work:;;;;;;France\r\n"), "{text}");
        assert_eq!(card.remove_component("ADR", 6, None), Ok(1));
        assert_eq!(card.remove_component("ADR", 3, Some("Bonn")), Ok(0));
        assert_eq!(card.remove_component("ADR", 3, Some("Berlin")), Ok(1));
        assert_eq!(card.addresses().len(), 1);
        assert_eq!(card.remove_component("N", 0, None), Ok(1));
        assert_eq!(card.property("N").as_deref(), Some(";;;;"));
    }

    #[test]
    fn components_of_old_cards_are_set() {
        let mut card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:2.1\r\n\
             N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Anna\r\nEND:VCARD\r\n",
        )
        .unwrap();
        card.set_component("N", &[], 1, "Änne").unwrap();
        assert_eq!(
            (card.name().family.as_str(), card.name().given.as_str()),
            ("Müller", "Änne")
        );
        assert!(card.text().is_ascii());
    }

    #[test]
    fn a_photo_replaces_the_others() {
        let jpeg = [0xFF, 0xD8, 0xFF, 0xE0].repeat(60);
        for version in ["2.1", "3.0", "4.0"] {
            let mut card = Card::parse(format!(
                "BEGIN:VCARD\r\nVERSION:{version}\r\nPHOTO:http://example.org/a\r\nN:A;B\r\n\
                 PHOTO;ENCODING=b:AAEC\r\nNOTE:x\r\nEND:VCARD\r\n"
            ))
            .unwrap();
            card.set_photo("image/jpeg", &jpeg).unwrap();
            card.set("NOTE", "y").unwrap();
            let expected = Photo::Inline {
                media_type: Some("image/jpeg".to_owned()),
                bytes: jpeg.clone(),
            };
            assert_eq!(card.photo(), Some(expected), "{version}");
            assert_eq!(card.properties("PHOTO").len(), 1);
            assert_eq!(card.note().as_deref(), Some("y"));
        }
    }

    #[test]
    fn the_last_line_may_lack_its_end() {
        let mut card = Card::parse("BEGIN:VCARD\r\nFN:A\r\nEND:VCARD").unwrap();
        card.set("NOTE", "x").unwrap();
        assert_eq!(card.text(), b"BEGIN:VCARD\r\nFN:A\r\nNOTE:x\r\nEND:VCARD");
    }

    #[test]
    fn a_line_that_only_looks_like_a_begin_is_none() {
        let mut card = Card::parse(
            "BEGIN:VCARD\nVERSION:2.1\nN:A\nAGENT:\nBEGIN:VCARD\nN:B\nBEGIN:VCA\nEND:VCARD\n\
             TEL:1\nEND:VCARD\n",
        )
        .unwrap();
        card.set("NOTE", "here").unwrap();
        assert!(card.text().ends_with(b"TEL:1\nNOTE:here\nEND:VCARD\n"));
    }

    #[test]
    fn a_soft_break_before_the_end_swallows_no_addition() {
        let mut card =
            Card::parse("BEGIN:VCARD\nVERSION:2.1\nN;ENCODING=QUOTED-PRINTABLE:A;B=\nEND:VCARD\n")
                .unwrap();
        card.set("NOTE", "here").unwrap();
        assert_eq!(card.note().as_deref(), Some("here"));
        assert_eq!(card.name().given, "B");
    }

    #[test]
    fn old_cards_get_quoted_printable() {
        let mut card = Card::parse("BEGIN:VCARD\r\nVERSION:2.1\r\nN:A;B\r\nEND:VCARD\r\n").unwrap();
        card.set("N", "Müller;Änne").unwrap();
        card.set("NOTE", "two\nlines; and more").unwrap();
        assert_eq!(card.name().family, "Müller");
        assert_eq!(card.name().given, "Änne");
        assert_eq!(card.note().as_deref(), Some("two\nlines; and more"));
        assert!(card.text().is_ascii());
    }

    #[test]
    fn values_read_back_as_set() {
        for version in ["2.1", "3.0", "4.0"] {
            let mut card = Card::parse(format!(
                "BEGIN:VCARD\r\nVERSION:{version}\r\nFN:x\r\nEND:VCARD\r\n"
            ))
            .unwrap();
            for text in [r"C:\new; \\a\, b\; c\", "a, b; c", r"\n", " a = b "] {
                card.set("NOTE", text).unwrap();
                assert_eq!(card.note().as_deref(), Some(text), "{version}");
                card.set_component("ADR", &[], 2, text).unwrap();
                assert_eq!(card.addresses()[0].street, text.trim(), "{version}");
                card.set("ORG", "A;B, C").unwrap();
                assert_eq!(card.organization().unwrap().units, ["B, C"]);
            }
            let long = "äöü; \\ , \" \n".repeat(30);
            card.set("NOTE", &long).unwrap();
            assert_eq!(card.note().as_deref(), Some(long.as_str()));
            assert!(card.text().split(|&b| b == b'\n').all(|l| l.len() <= 76));
        }
    }

    #[test]
    fn invalid_properties_are_rejected() {
        let mut card = Card::new("A").unwrap();
        for bad in ["", "END", "A:B", "A\r\nB", "Ä"] {
            assert!(card.set(bad, "x").is_err(), "{bad}");
        }
        card.set("FN", "A\r\nEND:VCARD").unwrap();
        assert_eq!(card.display_name(), "A\nEND:VCARD");
        card.remove("UID", None).unwrap();
        assert_eq!(card.remove("FN", None), Err(CardError::Empty));
    }

    #[test]
    fn new_cards_have_a_uuid() {
        let (a, b) = (Card::new("A").unwrap(), Card::new("A").unwrap());
        assert_ne!(a.uid(), b.uid());
        assert_eq!(a.uid().unwrap().len(), "urn:uuid:".len() + 36);
    }
}
