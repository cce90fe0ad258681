//! Two devices edit at once: nothing that somebody wrote is lost.

use etui_dav::Session;

use crate::support::{SESSION, Served, card, event};

const PATH: &str = "/dav/addressbooks/1/a.vcf";

/// Returns the texts of refused versions, with device and name.
fn refused(served: &Served) -> Vec<(String, String, String)> {
    let all = served.store.refused().list().unwrap().into_iter();
    all.map(|one| {
        let text = served.store.refused().text(one.id).unwrap().unwrap();
        (one.device, one.name, String::from_utf8(text).unwrap())
    })
    .collect()
}

#[test]
fn the_second_edit_is_refused_and_kept() {
    let served = Served::new();
    let tag = served.put(PATH, &card("a", "Ada"));
    let laptop = Session {
        device: "Laptop",
        ..SESSION
    };
    let edit = |session, name: &str| {
        let request = served.request_as(session, "PUT", PATH);
        request
            .header("if-match", &tag)
            .body(card("a", name))
            .status()
    };
    assert_eq!(edit(SESSION, "Ada of the phone"), 204);
    assert_eq!(edit(laptop, "Ada of the laptop"), 412);
    // It tries again, and again.
    assert_eq!(edit(laptop, "Ada of the laptop"), 412);
    assert_eq!(served.get(PATH).text(), card("a", "Ada of the phone"));
    let of_laptop = (
        "Laptop".into(),
        "a.vcf".into(),
        card("a", "Ada of the laptop"),
    );
    assert_eq!(refused(&served), [of_laptop]);
    let version = &served.store.refused().list().unwrap()[0];
    assert_eq!(version.uid.as_deref(), Some("a"));
    assert_eq!(version.reason, "it was changed meanwhile");
    assert_eq!(
        version.record,
        served
            .store
            .contacts()
            .unwrap()
            .get("a")
            .unwrap()
            .map(|c| c.id)
    );
    served.store.refused().take(version.id).unwrap();
    assert_eq!(served.get(PATH).text(), card("a", "Ada of the laptop"));
}

#[test]
fn a_repeated_request_is_no_conflict() {
    let served = Served::new();
    served.put(PATH, &card("a", "Ada"));
    let again = served.request("PUT", PATH).header("if-none-match", "*");
    assert_eq!(again.body(card("a", "Ada")).status(), 412);
    assert_eq!(refused(&served), []);
}

#[test]
fn an_edit_of_what_was_removed_is_kept() {
    let served = Served::new();
    let tag = served.put(PATH, &card("a", "Ada"));
    assert_eq!(served.request("DELETE", PATH).body("").status(), 204);
    let answer = served
        .request("PUT", PATH)
        .header("if-match", &tag)
        .body(card("a", "Late"));
    assert_eq!(answer.status(), 412);
    assert_eq!(
        refused(&served),
        [("Pixel".into(), "a.vcf".into(), card("a", "Late"))]
    );
}

#[test]
fn an_edit_without_condition_is_in_the_history() {
    let served = Served::new();
    served.put(PATH, &card("a", "First"));
    // Thunderbird sends no condition.
    for name in ["Second", "Third"] {
        assert_eq!(
            served.request("PUT", PATH).body(card("a", name)).status(),
            204
        );
    }
    let contacts = served.store.contacts().unwrap();
    let texts: Vec<Vec<u8>> = contacts
        .history("a")
        .unwrap()
        .iter()
        .map(|version| contacts.read_version(version).unwrap().unwrap().text)
        .collect();
    let expected = ["Third", "Second", "First"].map(|name| card("a", name).into_bytes());
    assert_eq!(texts, expected);
}

#[test]
fn every_refused_text_is_kept() {
    let served = Served::new();
    served.put(PATH, &card("a", "Ada"));
    let calendar = "/dav/calendars/2/";
    let odd = event("e", "Tea", 5).replace("VERSION:2.0", "METHOD:REQUEST");
    for (path, body, refusal) in [
        (
            "/dav/addressbooks/1/b.vcf",
            card("a", "Same UID"),
            "card:no-uid-conflict",
        ),
        (
            "/dav/addressbooks/1/c.vcf",
            "not a card".to_owned(),
            "card:valid-address-data",
        ),
        (PATH, card("b", "Other UID"), "card:no-uid-conflict"),
        (
            "/dav/calendars/2/e.ics",
            odd,
            "c:valid-calendar-object-resource",
        ),
        (
            "/dav/calendars/2/f.ics",
            "BEGIN:VCALENDAR\r\n".to_owned(),
            "c:valid-calendar-data",
        ),
        (
            "/dav/calendars/2/g.ics",
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n".to_owned(),
            "c:valid-calendar-object-resource",
        ),
        (
            "/dav/calendars/2/h.ics",
            card("h", "A card"),
            "c:valid-calendar-data",
        ),
    ] {
        let answer = served.request("PUT", path).body(&body);
        assert_eq!(answer.refusal(), (403, refusal.to_owned()), "{path}");
        let (device, name, text) = refused(&served).remove(0);
        assert_eq!((device.as_str(), text), ("Pixel", body));
        assert!(path.ends_with(&name));
    }
    assert_eq!(refused(&served).len(), 7);
    let collection = served.store.refused().list().unwrap()[0].collection;
    assert_eq!(calendar, format!("/dav/calendars/{collection}/"));
}

#[test]
fn of_edits_at_one_time_one_is_saved_and_all_are_kept() {
    let served = Served::new();
    let tag = served.put(PATH, &card("a", "Ada"));
    let edit = &|number: usize| {
        let request = served.request("PUT", PATH).header("if-match", &tag);
        request.body(card("a", &format!("Ada {number}"))).status()
    };
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || edit(number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 204).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 412).count(),
        7,
        "{statuses:?}"
    );
    let mut texts: Vec<String> = refused(&served)
        .into_iter()
        .map(|(_, _, text)| text)
        .collect();
    texts.push(served.get(PATH).text().to_owned());
    texts.sort();
    let expected: Vec<String> = (0..8)
        .map(|number| card("a", &format!("Ada {number}")))
        .collect();
    assert_eq!(texts, expected);
}

/// Each text that arrives for a collection that the store knows is kept, whatever refuses it.
#[test]
fn texts_are_kept_whatever_refuses_them() {
    let mut served = Served::new();
    served.options.max_resource = 1000;
    for path in ["/dav/addressbooks/team/", "/dav/addressbooks/later/"] {
        assert_eq!(served.request("MKCOL", path).body("").status(), 201);
    }
    let team = served
        .store
        .collection::<etui::contacts::Card>(Some("team"))
        .unwrap()
        .id();
    for path in ["/dav/addressbooks/team/", "/dav/addressbooks/later/"] {
        assert_eq!(served.request("DELETE", path).body("").status(), 204);
    }
    let count = || served.store.refused().list().unwrap().len();
    let large = card("l", &"x".repeat(1000));
    let number = format!("/dav/addressbooks/{team}/e.vcf");
    for (path, header, body, status) in [
        (
            "/dav/addressbooks/team/e.vcf",
            "x-none",
            card("e", "Edit"),
            404,
        ),
        (number.as_str(), "x-none", card("e", "Other"), 404),
        (PATH, "content-range", card("a", "Part"), 400),
        (PATH, "content-type", card("a", "Typed"), 403),
        (PATH, "x-none", large.clone(), 413),
    ] {
        let before = count();
        let request = served.request("PUT", path).header(header, "text/xml");
        assert_eq!(request.body(&body).status(), status, "{path}");
        assert_eq!(refused(&served)[0].2, body);
        assert_eq!(count(), before + 1);
    }
    // A collection that never was: there is nothing to keep the text for.
    let nowhere = served.request("PUT", "/dav/addressbooks/never/a.vcf");
    assert_eq!(nowhere.body(card("n", "No")).status(), 404);
    assert_eq!(count(), 5);
    // With the collection the text can be taken.
    served
        .store
        .collections::<etui::contacts::Card>()
        .restore("team")
        .unwrap();
    let all = served.store.refused().list().unwrap();
    assert_eq!((all[4].collection, all[4].name.as_str()), (team, "e.vcf"));
    served.store.refused().take(all[4].id).unwrap();
    let text = served.get("/dav/addressbooks/team/e.vcf");
    assert_eq!(text.text(), card("e", "Edit"));
}

/// A hidden collection that was removed is not known to the device.
#[test]
fn nothing_is_kept_for_a_hidden_collection() {
    let served = Served::new();
    let hidden = "/dav/addressbooks/team/";
    assert_eq!(served.request("MKCOL", hidden).body("").status(), 201);
    assert_eq!(served.request("DELETE", hidden).body("").status(), 204);
    let sees = std::collections::HashSet::from([etui::CollectionId(1)]);
    let session = Session {
        sees: Some(&sees),
        ..SESSION
    };
    let put = served.request_as(session, "PUT", "/dav/addressbooks/team/e.vcf");
    assert_eq!(put.body(card("e", "Edit")).status(), 404);
    assert_eq!(refused(&served), []);
}

/// A store that is open for reading cannot keep a text; the client has to.
#[test]
fn a_store_that_is_open_for_reading_keeps_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    drop(etui::Store::open(&path).unwrap());
    let mut read_only = etui::Options::default();
    read_only.read_only = true;
    let store = etui::Store::open_with(&path, &read_only).unwrap();
    let send = |method: &str, body: String| {
        let request = http::Request::builder().method(method).uri(PATH);
        let request = request
            .header("depth", "0")
            .body(body.into_bytes())
            .unwrap();
        let mut out = etui_dav::Collected::new();
        let options = etui_dav::DavOptions::default();
        etui_dav::answer(&store, &SESSION, &options, &request, &mut out).unwrap();
        out.into_response().status().as_u16()
    };
    assert_eq!(send("PUT", card("a", "Ada")), 503);
    assert_eq!(send("DELETE", String::new()), 403);
}

#[test]
fn a_resource_has_a_media_type_of_its_kind() {
    let served = Served::new();
    for (path, body, given, condition) in [
        (
            "/dav/addressbooks/1/m.vcf",
            card("m", "M"),
            "text/calendar",
            "card:supported-address-data",
        ),
        (
            "/dav/calendars/2/m.ics",
            event("m", "Tea", 5),
            "text/xml",
            "c:supported-calendar-data",
        ),
    ] {
        let send = |given: &str| {
            let request = served.request("PUT", path).header("content-type", given);
            request.body(&body)
        };
        assert_eq!(send(given).refusal(), (403, condition.to_owned()));
        assert_eq!(send("application/octet-stream").status(), 201);
        assert_eq!(send("text/plain; charset=utf-8").status(), 204);
    }
}

#[test]
fn a_compressed_body_is_no_text() {
    let served = Served::new();
    let put = served
        .request("PUT", PATH)
        .header("content-encoding", "gzip");
    assert_eq!(put.body([0x1f, 0x8b, 8, 0]).status(), 415);
    assert_eq!(refused(&served), []);
}
