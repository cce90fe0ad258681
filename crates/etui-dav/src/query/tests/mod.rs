#![allow(clippy::unwrap_used)]

mod calendar_data;
mod differential;
mod hostile;
mod index;
mod rfc4791;
mod rfc6352;

use std::ops::ControlFlow;

use etui::Store;
use etui::calendar::time::{TimeZone, Timestamp};

use super::*;
use crate::xml::{Element, Limits};

const CALDAV: &str = "urn:ietf:params:xml:ns:caldav";
const CARDDAV: &str = "urn:ietf:params:xml:ns:carddav";

/// Parses a document in which the prefix `C` is of a namespace and `D` is `DAV:`.
fn parse_xml(namespace: &str, document: &str) -> Element {
    let at = document.find(['>', '/', ' ']).unwrap();
    let (start, rest) = document.split_at(at);
    let declared = format!("{start} xmlns:D=\"DAV:\" xmlns:C=\"{namespace}\"{rest}");
    Element::parse(declared.as_bytes(), &Limits::default()).unwrap()
}

/// Parses a `calendar-query` with these conditions on the `VCALENDAR`.
pub(super) fn parse_query(conditions: &str) -> Result<CalendarQuery, QueryError> {
    let document = format!(
        "<C:calendar-query><C:filter><C:comp-filter name=\"VCALENDAR\">{conditions}\
         </C:comp-filter></C:filter></C:calendar-query>"
    );
    parse_calendar_query(&parse_xml(CALDAV, &document))
}

/// Parses an `addressbook-query` with this content.
pub(super) fn parse_addresses(content: &str) -> Result<AddressQuery, QueryError> {
    let document = format!("<C:addressbook-query>{content}</C:addressbook-query>");
    parse_address_query(&parse_xml(CARDDAV, &document))
}

/// Parses a `calendar-data` element with this content.
fn parse_calendar_data(content: &str) -> CalendarData {
    let document = format!("<C:calendar-data>{content}</C:calendar-data>");
    CalendarData::parse(&parse_xml(CALDAV, &document)).unwrap()
}

/// A store in a directory of its own.
struct TestStore {
    store: Store,
    _dir: tempfile::TempDir,
}

impl TestStore {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            store: Store::open(dir.path().join("personal.etui")).unwrap(),
            _dir: dir,
        }
    }

    fn with_calendar(object: &[u8]) -> Self {
        let test = Self::new();
        let calendar = test.store.calendar().unwrap();
        let report = calendar.import(object, &mut |_| ControlFlow::Continue(()));
        assert_eq!(report.unwrap().refused, 0);
        test
    }

    fn with_contacts(cards: &[u8]) -> Self {
        let test = Self::new();
        let contacts = test.store.contacts().unwrap();
        let report = contacts.import(cards, &mut |_| ControlFlow::Continue(()));
        assert_eq!(report.unwrap().refused, 0);
        test
    }

    /// Returns the UIDs of the calendar's records that match a query.
    fn find(&self, query: &CalendarQuery, zone: &TimeZone) -> Vec<String> {
        let snapshot = self.store.snapshot().unwrap();
        let reader = snapshot.calendar().unwrap();
        let found = find(&reader, query, zone).unwrap();
        let uid = |id: &_| reader.get(*id).unwrap().unwrap().uid;
        found.iter().map(uid).collect()
    }
}

fn instant(text: &str) -> Timestamp {
    match text.parse().unwrap() {
        etui::calendar::time::DateTimeValue::Utc(time) => TimeZone::UTC.to_utc(time),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_have_the_status_and_element_of_their_precondition() {
    let range = "<C:time-range start=\"20060104T000000Z\"/>";
    let event = |inner: &str| format!("<C:comp-filter name=\"VEVENT\">{inner}</C:comp-filter>");
    let text = |attributes: &str| {
        event(&format!(
            "<C:prop-filter name=\"SUMMARY\"><C:text-match {attributes}>a</C:text-match>\
             </C:prop-filter>"
        ))
    };
    let many = "<C:prop-filter name=\"A\"/>".repeat(1_001);
    for (conditions, element) in [
        (range.to_owned(), "valid-filter"),
        (event("<C:time-range/>"), "valid-filter"),
        (event("<C:time-range start=\"20060104\"/>"), "valid-filter"),
        (
            event("<C:time-range start=\"20060104T000000Z\" end=\"20060104T000000Z\"/>"),
            "valid-filter",
        ),
        (event(&format!("{range}{range}")), "valid-filter"),
        (event("<C:comp-filter name=\"VTODO\"/>"), "valid-filter"),
        (
            event(&format!(
                "<C:prop-filter name=\"SUMMARY\">{range}</C:prop-filter>"
            )),
            "valid-filter",
        ),
        (
            event("<C:is-not-defined/><C:prop-filter name=\"A\"/>"),
            "valid-filter",
        ),
        (event("<C:prop-filter/>"), "valid-filter"),
        (event("<C:unknown/>"), "valid-filter"),
        (
            text("collation=\"i;unicode-wildcard\""),
            "supported-collation",
        ),
        (text("negate-condition=\"maybe\""), "valid-filter"),
        (event(&many), "supported-filter"),
    ] {
        let error = parse_query(&conditions).unwrap_err();
        assert_eq!(error.status(), 403, "{conditions}");
        assert_eq!(error.precondition().unwrap().1, element, "{conditions}");
    }
    let none = parse_calendar_query(&parse_xml(CALDAV, "<C:calendar-query/>")).unwrap_err();
    assert_eq!((none.status().as_u16(), none.precondition()), (400, None));
    // Extensions are passed over.
    assert!(parse_query(&event("<D:unknown/>")).is_ok());
    let wrong = parse_addresses(
        "<C:filter><C:prop-filter name=\"FN\"><C:text-match collation=\"x\">a</C:text-match>\
         </C:prop-filter></C:filter>",
    );
    let wrong = wrong.unwrap_err();
    let (namespace, element) = wrong.precondition().unwrap();
    assert_eq!((namespace.uri(), element), (CARDDAV, "supported-collation"));
}
