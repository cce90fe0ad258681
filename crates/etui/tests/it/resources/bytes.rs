//! The bytes of resources, put or made of imported records.

use std::ops::ControlFlow;

use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{Calendar, CalendarObject};
use etui::import::ImportEvent;
use etui::record::Collection;
use etui::resource::{Resource, ResourceCondition, ResourceKey, StoredResource};
use etui::{Durability, Error, SaveOutcome, Store};
use etui_testkit::calendars::{Span, write_ics};
use etui_testkit::fixtures::{self, icalendar};

use super::{event, get, import, new_store, put};
use crate::support::{directory, german};

const ZONE: &str = "BEGIN:VTIMEZONE\r\nTZID:Ship\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
                    TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n";

fn objects() -> Vec<(&'static str, String)> {
    let master = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Ship:20261120T100000\r\nRRULE:FREQ=DAILY\r\n\
                  SUMMARY:Watch\r\nEND:VEVENT\r\n";
    let instance = "BEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID;TZID=Ship:20261121T100000\r\n\
                    DTSTART;TZID=Ship:20261121T110000\r\nSUMMARY:Late\r\nEND:VEVENT\r\n";
    let object = |body: String| {
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{body}END:VCALENDAR\r\n")
    };
    vec![
        ("plain", event("1", "Plain")),
        ("zone", object(format!("{ZONE}{master}{instance}"))),
        ("zone last", object(format!("{master}{ZONE}"))),
        (
            "instance first",
            object(format!("{instance}{master}{ZONE}")),
        ),
        ("lf", event("1", "Line feeds").replace("\r\n", "\n")),
        ("no last line end", event("1", "Open").trim_end().to_owned()),
        (
            "folded",
            event("1", "A long\r\n  line, folded\r\n\tbetween"),
        ),
        (
            "lower case",
            event("1", "x").replace("BEGIN:VEVENT", "begin:vevent"),
        ),
        (
            "unknown",
            object(format!(
                "X-WR-CALNAME:Home\r\n{master}X-BETWEEN:1\r\n{instance}BEGIN:X-OTHER\r\nX-A:1\r\n\
                 END:X-OTHER\r\n"
            )),
        ),
        ("latin 1", event("1", "x")),
    ]
}

#[test]
fn a_calendar_object_comes_back_byte_for_byte() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    let mut tags = Vec::new();
    for (what, text) in objects() {
        let mut bytes = text.into_bytes();
        if what == "latin 1" {
            let at = bytes.windows(9).position(|w| w == b"SUMMARY:x").unwrap();
            bytes[at + 8] = 0xe4;
        }
        let saved = put(&calendar, "1.ics", &bytes).unwrap();
        assert!(saved.is_verbatim, "{what}");
        let found = calendar.resource("1.ics").unwrap().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&found.bytes),
            String::from_utf8_lossy(&bytes),
            "{what}"
        );
        assert_eq!(found.bytes, bytes, "{what}");
        assert_eq!(found.tag, saved.tag);
        assert!(!tags.contains(&saved.tag), "{what}");
        tags.push(saved.tag);
        let again = put(&calendar, "1.ics", &bytes).unwrap();
        assert_eq!(
            (again.outcome, again.tag),
            (SaveOutcome::Unchanged, saved.tag),
            "{what}"
        );
    }
    crate::support::clean(&store);
}

/// Another head or another order of the components is a change, which can be undone.
#[test]
fn every_byte_of_the_object_counts() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    let first = event("1", "A");
    let second = first.replace("-//test//EN", "-//other//EN");
    let a = put(&calendar, "1.ics", &first).unwrap();
    let b = put(&calendar, "1.ics", &second).unwrap();
    assert_eq!(b.outcome, SaveOutcome::Changed);
    assert_ne!(a.tag, b.tag);
    assert_eq!(a.tag.etag(), b.tag.etag());
    assert_eq!(get(&calendar, "1.ics").unwrap(), second.as_bytes());
    calendar.restore("1").unwrap();
    assert_eq!(get(&calendar, "1.ics").unwrap(), first.as_bytes());
    assert_eq!(calendar.resource("1.ics").unwrap().unwrap().tag, a.tag);
}

#[test]
fn other_bytes_are_refused() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    let good = event("1", "A");
    for (bytes, reason) in [
        (String::new(), "it has no event"),
        ("BEGIN:VCARD\r\nEND:VCARD\r\n".into(), "line 1"),
        (
            good.replace("UID:1\r\n", ""),
            "line 4: the component has no UID",
        ),
        (
            good.replace("VERSION:2.0\r\n", "METHOD:PUBLISH\r\n"),
            "it has a METHOD",
        ),
        (
            good.replace("END:VCALENDAR", "METHOD:PUBLISH\r\nEND:VCALENDAR"),
            "it has a METHOD",
        ),
        (format!("{good}{good}"), "line 10: a second object"),
        (good.replace("VEVENT", "VFREEBUSY"), "it has no event"),
        (good.replace("END:VEVENT\r\n", ""), "line 4"),
        (
            good[good.find("BEGIN:VEVENT").unwrap()..good.find("END:VCAL").unwrap()].into(),
            "line 1",
        ),
        (
            good.replace(
                "END:VCAL",
                "BEGIN:VEVENT\r\nUID:2\r\nEND:VEVENT\r\nEND:VCAL",
            ),
            "line 9: components with several UIDs",
        ),
        (
            good.replace("END:VCAL", "BEGIN:VTODO\r\nUID:1\r\nEND:VTODO\r\nEND:VCAL"),
            "line 9: components of several kinds",
        ),
        (
            good.replace(
                "END:VCAL",
                "BEGIN:VEVENT\r\nUID:1\r\nEND:VEVENT\r\nEND:VCAL",
            ),
            "line 9: a second component for the same instance",
        ),
    ] {
        match put(&calendar, "1.ics", &bytes) {
            Err(Error::NotOneObject { detail }) => {
                assert!(detail.starts_with(reason), "{detail} for {bytes}");
            }
            other => panic!("{other:?} for {bytes}"),
        }
    }
    assert_eq!(calendar.count().unwrap(), 0);
}

/// A record of a larger file is served with the zones that it names, and without the rest.
#[test]
fn a_record_of_a_file_is_an_object_of_its_own() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    let other_zone = ZONE.replace("Ship", "Boat");
    import(
        &calendar,
        &format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:PUBLISH\r\nPRODID:-//test//EN\r\n{other_zone}{ZONE}\
             BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Ship:20261120T100000\r\nEND:VEVENT\r\n\
             BEGIN:VEVENT\r\nUID:2\r\nDTSTART;TZID=Europe/Berlin:20261120T100000\r\nEND:VEVENT\r\n\
             BEGIN:VEVENT\r\nUID:3\r\nDTSTART:20261120T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        ),
    );
    let read = |uid| {
        String::from_utf8(
            calendar
                .resource(ResourceKey::Uid(uid))
                .unwrap()
                .unwrap()
                .bytes,
        )
        .unwrap()
    };
    let head = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n";
    assert_eq!(
        read("1"),
        format!(
            "{head}{ZONE}BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Ship:20261120T100000\r\nEND:VEVENT\r\n\
             END:VCALENDAR\r\n"
        )
    );
    assert_eq!(
        read("3"),
        format!(
            "{head}BEGIN:VEVENT\r\nUID:3\r\nDTSTART:20261120T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    );
    // Its zone is written from the database.
    let second = read("2");
    assert!(
        second.contains("TZID:Europe/Berlin\r\n") && second.contains("RRULE:"),
        "{second}"
    );
    // Served bytes can be put, and are then kept as they are.
    for uid in ["1", "2", "3"] {
        let served = calendar.resource(ResourceKey::Uid(uid)).unwrap().unwrap();
        put(&calendar, &served.name, &served.bytes).unwrap();
        assert_eq!(get(&calendar, &served.name).unwrap(), served.bytes);
    }
    crate::support::clean(&store);
}

/// Records saved without an object are served in a plain one.
#[test]
fn a_saved_record_is_served_in_a_plain_object() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    let text = "BEGIN:VTODO\r\nUID:1\r\nSUMMARY:Tea\r\nEND:VTODO\r\n";
    let todo = CalendarObject::parse(text, &Default::default()).unwrap();
    let saved = calendar.save(&todo).unwrap();
    let found = calendar
        .resource(&format!("etui-{}.ics", saved.id))
        .unwrap()
        .unwrap();
    assert_eq!(
        String::from_utf8(found.bytes).unwrap(),
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//etui//etui//EN\r\n{text}END:VCALENDAR\r\n"
        )
    );
    assert_eq!(found.tag.to_string(), saved.etag.to_string());
}

/// A card comes back byte for byte, however odd it is.
#[test]
fn a_card_comes_back_byte_for_byte() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let cards: [&[u8]; 6] = [
        b"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nFN:A\r\nX-ODD;A=\"b:c\":d\r\nEND:VCARD\r\n",
        b"BEGIN:VCARD\nVERSION:3.0\nUID:1\nFN:Long\n  er\nEND:VCARD",
        b"begin:vcard\r\nversion:2.1\r\nUID:1\r\nN;CHARSET=ISO-8859-1:\xe4\r\nend:vcard\r\n",
        b"BEGIN:VCARD\r\nVERSION:2.1\r\nUID:1\r\nN;ENCODING=QUOTED-PRINTABLE:=C3=\r\n=A4\r\nEND:VCARD\r\n",
        b"\xef\xbb\xbfBEGIN:VCARD\r\nVERSION:3.0\r\nUID:1\r\nFN:BOM\r\nEND:VCARD\r\n\r\n",
        b"BEGIN:VCARD\rVERSION:3.0\rUID:1\rFN:CR\rEND:VCARD\r",
    ];
    for bytes in cards {
        let text = String::from_utf8_lossy(bytes);
        let saved = put(&contacts, "1.vcf", bytes).unwrap_or_else(|e| panic!("{e}: {text:?}"));
        assert!(saved.is_verbatim);
        assert_eq!(get(&contacts, "1.vcf").unwrap(), bytes, "{text:?}");
        // An edit in version 3.0 would be merged into a stored card of 4.0.
        let always = ResourceCondition::Always;
        contacts.remove_resource("1.vcf", &always).unwrap();
    }
    let two = [cards[0], cards[0]].concat();
    assert!(matches!(put(&contacts, "1.vcf", two), Err(Error::Card(_))));
}

/// Objects in UTF-16, with a byte order mark, in either order.
#[test]
fn an_object_in_utf_16_comes_back() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    let text = format!("\u{feff}{}", event("1", "Grüße 🎉"));
    for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(to_bytes).collect();
        let saved = put(&calendar, "1.ics", &bytes).unwrap();
        assert!(saved.is_verbatim);
        assert_eq!(get(&calendar, "1.ics").unwrap(), bytes);
    }
}

/// Copies all resources by their bytes, and compares the records; returns the number of those that
/// CalDAV does not allow: without a UID, or with components of several kinds.
fn copy_resources<R: Resource>(from: &Collection<R>, to: &Collection<R>, extension: &str) -> u64 {
    let mut refused = 0;
    let visit = |_, served: Option<StoredResource>| {
        let served = served.unwrap();
        let name = format!("{}{extension}", served.id);
        let saved = match put(to, &name, &served.bytes) {
            Err(Error::NotOneObject { detail })
                if detail.contains("has no UID") || detail.contains("several kinds") =>
            {
                refused += 1;
                return Ok(());
            }
            saved => saved.unwrap_or_else(|error| {
                panic!("{error}: {}", String::from_utf8_lossy(&served.bytes))
            }),
        };
        let text = String::from_utf8_lossy(&served.bytes);
        assert!(saved.is_verbatim, "{text}");
        assert_eq!(get(to, &name).unwrap(), served.bytes, "{text}");
        let (here, there) = (from.get(&served.uid)?, to.get(&served.uid)?);
        assert_eq!(here.unwrap().text, there.unwrap().text);
        Ok(())
    };
    from.resources(&super::listed(from), visit).unwrap();
    refused
}

/// The records of real and odd files are served as objects that can be put.
#[test]
fn the_records_of_odd_files_are_served() {
    let (_dir, path) = directory();
    let mut options = german();
    options.durability = Durability::Deferred;
    let store = Store::open_with(&path, &options).unwrap();
    let go_on = &mut |_: ImportEvent<'_>| ControlFlow::Continue(());
    for fixture in icalendar::ALL {
        println!("{}", fixture.name);
        let calendar = store
            .collections::<CalendarObject>()
            .create(fixture.name)
            .unwrap();
        let other = store
            .collections::<CalendarObject>()
            .create(&format!("other {}", fixture.name))
            .unwrap();
        calendar.import(fixture.bytes, go_on).unwrap();
        let refused = copy_resources(&calendar, &other, ".ics");
        assert_eq!(other.count().unwrap() + refused, calendar.count().unwrap());
    }
    for fixture in fixtures::ALL {
        println!("{}", fixture.name);
        let contacts = store
            .collections::<etui::contacts::Card>()
            .create(fixture.name)
            .unwrap();
        let other = store
            .collections::<etui::contacts::Card>()
            .create(&format!("other {}", fixture.name))
            .unwrap();
        contacts.import(fixture.bytes, go_on).unwrap();
        assert_eq!(copy_resources(&contacts, &other, ".vcf"), 0);
        assert_eq!(other.count().unwrap(), contacts.count().unwrap());
    }
    crate::support::clean(&store);
}

/// Every generated entry of an imported file is served as an object that another calendar takes and
/// gives back byte for byte, and that means the same occurrences.
#[test]
fn every_record_of_a_file_is_served_as_a_whole_object() {
    let (_dir, path) = directory();
    let mut options = german();
    options.durability = Durability::Deferred;
    let store = Store::open_with(&path, &options).unwrap();
    let calendar = store.calendar().unwrap();
    let mut file = Vec::new();
    write_ics(&mut file, 5, Span::USUAL, 400).unwrap();
    import(&calendar, std::str::from_utf8(&file).unwrap());
    let other = store
        .collections::<CalendarObject>()
        .create("Other")
        .unwrap();
    let names = super::listed(&calendar);
    assert_eq!(names.len(), 400);
    assert_eq!(copy_resources(&calendar, &other, ".ics"), 0);
    let years = Timestamp::from_seconds(1_500_000_000)..Timestamp::from_seconds(1_900_000_000);
    let occurrences = |calendar: &Calendar| {
        let all = calendar.between(years.clone(), &TimeZone::UTC).unwrap();
        let mut all: Vec<_> = all.into_iter().map(|o| (o.during.start, o.title)).collect();
        all.sort();
        all
    };
    let all = occurrences(&calendar);
    assert!(all.len() > 400);
    assert_eq!(all, occurrences(&other));
    crate::support::clean(&store);
}
