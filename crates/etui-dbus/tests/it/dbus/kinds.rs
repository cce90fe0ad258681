//! The calls that only address books, or only calendars, have.

use std::fs::File;
use std::io::Read;

use zbus::{Variant, block_on};

use super::support::*;

#[test]
fn an_address_book_has_letters_positions_phones_and_photos() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    let photo = "PHOTO;ENCODING=b;TYPE=PNG:iVBORw0KGgo=\r\n";
    let saved = client.save(
        &book,
        &[
            card("a", "Ada", "TEL:020 7946 0018\r\n"),
            card("b", "Bo", photo),
            card(
                "c",
                "Cy",
                "TEL:+442079460018\r\nPHOTO;VALUE=uri:http://example.org/c.png\r\n",
            ),
        ],
    );
    let letters: Vec<(String, u64)> = client.call(&book, BOOK, "Letters", &()).unwrap();
    assert_eq!(letters[1], ("B".to_owned(), 1));
    let position: u64 = client.call(&book, BOOK, "Position", &saved[2].0).unwrap();
    assert_eq!(position, 2);
    let nowhere = client
        .call::<_, u64>(&book, BOOK, "Position", &99_u64)
        .unwrap_err();
    assert_eq!(nowhere.name, "NotFound");
    let by_phone = |number: &str, strength: &str| {
        client.call::<_, Vec<Row>>(&book, BOOK, "ByPhone", &(number, strength, vec!["uid"]))
    };
    let uids = |rows: Vec<Row>| rows.into_iter().map(|r| r.2[0].clone()).collect::<Vec<_>>();
    assert_eq!(
        uids(by_phone("+44 20 7946 0018", "exact").unwrap()),
        ["a", "c"]
    );
    assert_eq!(uids(by_phone("79460018", "short").unwrap()), vec!["a", "c"]);
    assert_eq!(by_phone("1", "roughly").unwrap_err().name, "BadArgument");

    let photo = |uid: &str| {
        let reply = block_on(client.connection.call_method(
            Some(STORE),
            book.as_str(),
            Some(BOOK),
            "Photo",
            &uid,
        ))
        .ok()?;
        let (file, kind): (zbus::OwnedFd, String) = reply.body().deserialize().unwrap();
        let mut bytes = Vec::new();
        File::from(std::os::fd::OwnedFd::from(file))
            .read_to_end(&mut bytes)
            .unwrap();
        Some((bytes, kind))
    };
    assert_eq!(photo("a"), None);
    let (bytes, kind) = photo("b").unwrap();
    assert_eq!(&bytes[1..4], b"PNG");
    assert_eq!(kind.to_ascii_lowercase(), "image/png");
    assert_eq!(
        photo("c").unwrap(),
        (
            b"http://example.org/c.png".to_vec(),
            "text/uri-list".to_owned()
        )
    );
}

#[test]
fn a_calendar_has_occurrences_busy_times_and_alarms() {
    let service = Running::start();
    let client = service.client();
    let calendar = client.collection("calendar");
    let event = "BEGIN:VEVENT\r\nUID:e\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20260102T100000Z\r\n\
        DTEND:20260102T110000Z\r\nRRULE:FREQ=DAILY\r\nSUMMARY:Fair\r\nLOCATION:Hall\r\n\
        BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\n";
    let saved = client.save(&calendar, &[event.to_owned()]);
    type Occurrence = (u64, u32, i64, i64, String, String, String);
    let day = 86_400;
    let start = 1_767_348_000; // 2026-01-02 10:00 UTC
    let between = |from: i64, to: i64, zone: &str, options: Options<'_>| {
        client.call::<_, Vec<Occurrence>>(
            &calendar,
            CALENDAR,
            "Between",
            &(from, to, zone, options),
        )
    };
    let found = between(start, start + 3 * day, "Europe/Berlin", none()).unwrap();
    assert_eq!(found.len(), 3);
    let (record, component, from, to, instance, title, place) = found[1].clone();
    assert_eq!((record, component), (saved[0].0, 0));
    assert_eq!((from, to), (start + day, start + day + 3_600));
    assert_eq!(
        (instance.as_str(), title.as_str(), place.as_str()),
        ("20260103T100000Z", "Fair", "Hall")
    );
    let limited = Options::from([("limit", Variant::from(2_u64))]);
    assert_eq!(
        between(start, start + 9 * day, "", limited).unwrap().len(),
        2
    );
    assert_eq!(
        between(start, start + day, "Mars", none())
            .unwrap_err()
            .name,
        "BadArgument"
    );
    assert_eq!(
        between(start, start + 100_000 * day, "", none())
            .unwrap_err()
            .name,
        "TooLarge"
    );
    let busy: Vec<(i64, i64, String)> = client
        .call(
            &calendar,
            CALENDAR,
            "FreeBusy",
            &(start, start + day, "UTC"),
        )
        .unwrap();
    assert_eq!(busy, [(start, start + 3_600, "busy".to_owned())]);
    let alarms: Vec<(u64, u32, i64, String)> = client
        .call(&calendar, CALENDAR, "Alarms", &(start, 1_u64, "UTC"))
        .unwrap();
    assert_eq!(
        alarms,
        [(saved[0].0, 0, start + day - 300, "Fair".to_owned())]
    );
    // The same calls as for contacts.
    let (row,): (Row,) = client
        .call(
            &calendar,
            COLLECTION,
            "Get",
            &("e", vec!["title", "start", "record"]),
        )
        .unwrap();
    assert_eq!(row.2, ["Fair", "20260102T100000Z", event]);
}
