//! Properties that clients set and the server only keeps, in the form in which the store has them.
//!
//! A property that is plain text is kept as this text; one with elements or attributes as XML, which
//! begins with `<`. Names are in Clark's notation, `{NAMESPACE}local`.

use super::{Name, Value};
use crate::xml::{Element, Limits, Namespace, Writer, is_name};

/// Returns the name in Clark's notation.
pub(crate) fn clark_name(name: &Name) -> String {
    format!("{{{}}}{}", name.ns, name.local)
}

/// Parses a name in Clark's notation; `None` for one that XML cannot have.
pub(crate) fn parse_clark_name(text: &str) -> Option<Name> {
    let (uri, local) = text.strip_prefix('{')?.rsplit_once('}')?;
    is_name(local).then(|| Name::new(Namespace::of(uri), local))
}

/// A property as it is kept.
pub(crate) struct DeadValue;

impl DeadValue {
    /// Returns the text to keep for the element of a property.
    pub(crate) fn of(element: &Element) -> String {
        let is_text = element.children.is_empty() && element.attributes.is_empty();
        if is_text && !element.text.starts_with('<') {
            return element.text.clone();
        }
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out);
        // Writing to memory does not fail.
        let written = w.element(element).and_then(|()| w.finish());
        match (written, String::from_utf8(out)) {
            (Ok(()), Ok(text)) => text,
            _ => element.text.clone(),
        }
    }

    /// Returns the value of a kept property.
    pub(crate) fn read(text: &str) -> Value<'static> {
        if text.starts_with('<')
            && let Ok(element) = Element::parse(text.as_bytes(), &Limits::default())
        {
            return Value::Whole(element);
        }
        match text.is_empty() {
            true => Value::Empty,
            false => Value::Text(text.to_owned().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn properties_are_kept_as_they_were_set() {
        for document in [
            "<a xmlns='urn:x'>text &amp; more</a>",
            "<a xmlns='urn:x'>&lt;b/></a>",
            "<a xmlns='urn:x' k='v'>text</a>",
            "<a xmlns='urn:x'>one<b>two</b>three<D:c xmlns:D='DAV:'/></a>",
            "<a xmlns='urn:x'/>",
        ] {
            let element = Element::parse(document.as_bytes(), &Limits::default()).unwrap();
            let name = Name::of(&element);
            assert_eq!(parse_clark_name(&clark_name(&name)), Some(name.clone()));
            let kept = DeadValue::of(&element);
            let mut out = Vec::new();
            let mut w = Writer::new(&mut out);
            DeadValue::read(&kept).write(&mut w, &name).unwrap();
            w.finish().unwrap();
            let again = Element::parse(&out, &Limits::default()).unwrap();
            assert_eq!(again, element, "{kept}");
        }
    }

    #[test]
    fn plain_text_is_kept_plain() {
        let element = Element::parse(b"<a>Team &amp; friends</a>", &Limits::default()).unwrap();
        assert_eq!(DeadValue::of(&element), "Team & friends");
    }
}
