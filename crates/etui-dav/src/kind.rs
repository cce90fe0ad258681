//! [`DavKind`]: the two kinds of resources.

use std::borrow::Cow;

use etui::calendar::{CalendarObject, Color};
use etui::contacts::Card;
use etui::record::Collection;
use etui::resource::Resource;

use crate::path::Home;
use crate::xml::Namespace;

/// A kind of resources: contacts, calendar objects.
pub(crate) trait DavKind: Resource + Sized {
    const HOME: Home;
    /// The element of a collection's `resourcetype`.
    const COLLECTION_TYPE: (Namespace, &'static str);
    /// The property of a resource's content in reports.
    const DATA: (Namespace, &'static str);
    /// The namespace of the kind's preconditions.
    const NS: Namespace;
    /// The precondition of content that is not valid.
    const VALID_DATA: &'static str;
    /// The media types of a resource.
    const MEDIA_TYPES: &'static [&'static str];
    /// The precondition of another media type.
    const SUPPORTED_DATA: &'static str;

    /// Returns the media type of a resource; its parameters depend on the bytes, if they were read.
    fn content_type(bytes: Option<&[u8]>) -> Cow<'static, str>;

    /// Returns the text of a record as a resource, for reading its class: of a calendar record it has the components alone.
    fn as_object(text: &[u8]) -> Cow<'_, [u8]> {
        text.into()
    }

    /// Returns the colour of a collection, which only calendars have.
    fn color(_collection: &Collection<Self>) -> etui::Result<Option<Color>> {
        Ok(None)
    }

    /// Returns the component that a collection would have to take; `None`: any will do.
    fn component(_bytes: &[u8]) -> Option<&'static str> {
        None
    }
}

impl DavKind for Card {
    const HOME: Home = Home::AddressBooks;
    const COLLECTION_TYPE: (Namespace, &'static str) = (Namespace::CardDav, "addressbook");
    const DATA: (Namespace, &'static str) = (Namespace::CardDav, "address-data");
    const NS: Namespace = Namespace::CardDav;
    const VALID_DATA: &'static str = "valid-address-data";
    const MEDIA_TYPES: &'static [&'static str] = &["text/vcard", "text/x-vcard", "text/directory"];
    const SUPPORTED_DATA: &'static str = "supported-address-data";

    fn content_type(bytes: Option<&[u8]>) -> Cow<'static, str> {
        // Old cards name their charset in each property.
        match bytes.is_none_or(|bytes| std::str::from_utf8(bytes).is_ok()) {
            true => "text/vcard; charset=utf-8".into(),
            false => "text/vcard".into(),
        }
    }
}

impl DavKind for CalendarObject {
    const HOME: Home = Home::Calendars;
    const COLLECTION_TYPE: (Namespace, &'static str) = (Namespace::CalDav, "calendar");
    const DATA: (Namespace, &'static str) = (Namespace::CalDav, "calendar-data");
    const NS: Namespace = Namespace::CalDav;
    const VALID_DATA: &'static str = "valid-calendar-data";
    const MEDIA_TYPES: &'static [&'static str] = &["text/calendar"];
    const SUPPORTED_DATA: &'static str = "supported-calendar-data";

    fn content_type(bytes: Option<&[u8]>) -> Cow<'static, str> {
        match bytes.and_then(component_of) {
            Some(component) => format!(
                "text/calendar; charset=utf-8; component={}",
                component.to_ascii_lowercase()
            )
            .into(),
            None => "text/calendar; charset=utf-8".into(),
        }
    }

    fn as_object(text: &[u8]) -> Cow<'_, [u8]> {
        [b"BEGIN:VCALENDAR\r\n", text, b"\r\nEND:VCALENDAR\r\n"]
            .concat()
            .into()
    }

    fn color(calendar: &Collection<Self>) -> etui::Result<Option<Color>> {
        calendar.color()
    }

    fn component(bytes: &[u8]) -> Option<&'static str> {
        component_of(bytes)
    }
}

/// Components of a calendar object resource (RFC 4791 section 4.1).
pub(crate) const COMPONENTS: [&str; 3] = ["VEVENT", "VTODO", "VJOURNAL"];

/// Returns the kind of the components of a calendar object.
fn component_of(object: &[u8]) -> Option<&'static str> {
    let mut lines = object.split(|b| matches!(b, b'\n' | b'\r'));
    lines.find_map(|line| {
        let (head, name) = (line.get(..6)?, line.get(6..)?);
        let name = name.trim_ascii_end();
        if !head.eq_ignore_ascii_case(b"BEGIN:") {
            return None;
        }
        let is_it = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
        COMPONENTS.iter().find(|known| is_it(known)).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_found() {
        let object =
            b"BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nEND:VTIMEZONE\r\nbegin:vtodo \r\nEND:VTODO\r\n";
        assert_eq!(component_of(object), Some("VTODO"));
        assert_eq!(
            CalendarObject::content_type(Some(object)),
            "text/calendar; charset=utf-8; component=vtodo"
        );
        assert_eq!(component_of(b"BEGIN:VFREEBUSY\r\n"), None);
        assert_eq!(
            CalendarObject::content_type(None),
            "text/calendar; charset=utf-8"
        );
    }
}
