//! Resources come back byte for byte.

use std::ops::ControlFlow;

use etui::contacts::Card;
use etui_contentline::split::{SplitItem, Splitter};
use etui_dav::xml::Namespace;
use etui_testkit::calendars::{Calendars, write_entries};
use etui_testkit::fixtures;
use etui_testkit::people::People;
use etui_vcard::VCardVersion;

use crate::support::Served;

/// Puts a body under a name and expects it back; returns false if it is refused.
fn comes_back(served: &Served, path: &str, body: &[u8]) -> bool {
    let put = served.request("PUT", path).body(body);
    if put.status() == 403 {
        return false;
    }
    assert_eq!(
        put.status(),
        201,
        "{path}: {}",
        String::from_utf8_lossy(body)
    );
    let get = served.get(path);
    assert_eq!(get.status(), 200);
    assert!(
        get.bytes() == body,
        "{path}: {}",
        String::from_utf8_lossy(get.bytes())
    );
    assert_eq!(get.header("etag"), put.header("etag"));
    assert_ne!(get.header("etag"), "");
    true
}

/// Returns the cards of a file.
fn cards(file: &[u8]) -> Vec<Vec<u8>> {
    let items = Splitter::new(file, "VCARD").map(|item| item.unwrap());
    items
        .filter_map(|item| match item {
            SplitItem::Record(record) => Some(record.bytes),
            SplitItem::Rejected(_) => None,
        })
        .collect()
}

#[test]
fn odd_cards_come_back() {
    let served = Served::new();
    let mut taken = 0;
    for fixture in fixtures::ALL {
        for (number, card) in cards(fixture.bytes).iter().enumerate() {
            let path = format!("/dav/addressbooks/1/{}-{number}", fixture.name);
            if comes_back(&served, &path, card) {
                taken += 1;
                continue;
            }
            // Of one UID with another text, or without any content; kept all the same.
            let refused = &served.store.refused().list().unwrap()[0];
            let text = served.store.refused().text(refused.id).unwrap().unwrap();
            assert_eq!(text, *card, "{path}");
        }
    }
    assert!(taken > 60, "{taken}");
    // Without a version in the request all of them are 3.0.
    let hrefs: String = served
        .request("PROPFIND", "/dav/addressbooks/1/")
        .header("depth", "1")
        .body(r#"<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>"#)
        .hrefs()[1..]
        .iter()
        .map(|href| format!("<href>{href}</href>"))
        .collect();
    let body = format!(
        r#"<B:addressbook-multiget xmlns="DAV:" xmlns:B="urn:ietf:params:xml:ns:carddav"><prop><B:address-data/></prop>{hrefs}</B:addressbook-multiget>"#
    );
    let answer = served.request("REPORT", "/dav/addressbooks/1/").body(body);
    let mut converted = 0;
    for response in &answer.xml().children {
        let propstat = response.child(&Namespace::Dav, "propstat").unwrap();
        let prop = propstat.child(&Namespace::Dav, "prop").unwrap();
        let card = Card::parse(prop.children[0].text.as_str()).unwrap();
        assert_eq!(card.version(), VCardVersion::V3_0);
        converted += 1;
    }
    assert_eq!(converted, taken);
}

#[test]
fn generated_cards_come_back() {
    let served = Served::new();
    for (number, person) in People::varied(1).take(300).enumerate() {
        let path = format!("/dav/addressbooks/1/{number}.vcf");
        assert!(comes_back(&served, &path, person.as_bytes()), "{}", person);
    }
}

#[test]
fn generated_objects_come_back() {
    let served = Served::new();
    for (number, entry) in Calendars::new(1).take(300).enumerate() {
        let mut object = Vec::new();
        write_entries(&mut object, [entry]).unwrap();
        let path = format!("/dav/calendars/2/{number}.ics");
        assert!(
            comes_back(&served, &path, &object),
            "{}",
            String::from_utf8_lossy(&object)
        );
    }
}

#[test]
fn imported_objects_are_resources() {
    let served = Served::new();
    let calendar = served.store.calendar().unwrap();
    for fixture in fixtures::icalendar::ALL {
        calendar
            .import(fixture.bytes, &mut |_| ControlFlow::Continue(()))
            .unwrap();
    }
    let hrefs = served
        .request("PROPFIND", "/dav/calendars/2/")
        .header("depth", "1")
        .body(r#"<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>"#)
        .hrefs();
    assert!(hrefs.len() > 40, "{}", hrefs.len());
    let mut same = 0;
    for href in &hrefs[1..] {
        let get = served.get(href);
        assert_eq!(get.status(), 200, "{href}");
        // A client writes back the bytes that it read.
        let put = served
            .request("PUT", href)
            .header("if-match", get.header("etag"))
            .body(get.bytes());
        if put.status() == 403 {
            // No client makes such an object: without a UID, or an event and a journal entry of one.
            let is_odd = put.text().contains("no UID") || put.text().contains("several kinds");
            assert!(is_odd, "{href} {}", put.text());
            continue;
        }
        assert_eq!(put.status(), 204, "{href} {}", put.text());
        assert!(served.get(href).bytes() == get.bytes(), "{href}");
        same += 1;
    }
    assert!(same > 30, "{same}");
}

#[test]
fn an_edit_as_3_0_loses_nothing_of_a_4_0_card() {
    let served = Served::new();
    let path = "/dav/addressbooks/1/a.vcf";
    let stored = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:a\r\nFN:Ada\r\nFN;LANGUAGE=ja:\u{30a8}\r\nN:L;Ada;;;\r\n\
                  BDAY:1815\r\nGENDER:F;she\r\nRELATED;TYPE=friend:urn:uuid:1\r\nEMAIL;PID=1.1;PREF=2:a@example.org\r\n\
                  CLIENTPIDMAP:1;urn:uuid:2\r\nX-ODD;X-P=1:y\r\nEND:VCARD\r\n";
    served.put(path, stored);
    let body = format!(
        r#"<B:addressbook-multiget xmlns="DAV:" xmlns:B="urn:ietf:params:xml:ns:carddav"><prop><getetag/><B:address-data/></prop><href>{path}</href></B:addressbook-multiget>"#
    );
    let read = served.request("REPORT", "/dav/addressbooks/1/").body(body);
    let shown = read.find("address-data").unwrap().text;
    assert!(
        shown.contains("VERSION:3.0") && !shown.contains("1815"),
        "{shown}"
    );
    let edited = shown.replace("a@example.org", "ada@example.org");
    let tag = read.find("getetag").unwrap().text;
    let put = served
        .request("PUT", path)
        .header("if-match", &tag)
        .body(edited);
    // The bytes are others than those sent, so the device must read them.
    assert_eq!((put.status(), put.header("etag")), (204, ""));
    let now = served.get(path);
    assert_eq!(
        now.text(),
        stored.replace("a@example.org", "ada@example.org")
    );
    // The same edit again changes nothing.
    let token = served.token("/dav/addressbooks/1/");
    let put = served
        .request("PUT", path)
        .body(shown.replace("a@example.org", "ada@example.org"));
    assert_eq!((put.status(), put.outcome.written), (204, 0));
    assert_eq!(served.token("/dav/addressbooks/1/"), token);
}

/// A group of version 4.0 is a group for Apple's programs and DAVx5, and stays one when they edit it.
#[test]
fn a_group_of_a_4_0_card_is_shown_and_edited() {
    let served = Served::new();
    let path = "/dav/addressbooks/1/g.vcf";
    let stored = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:g\r\nFN:Team\r\nN:Team;;;;\r\nKIND:group\r\n\
                  MEMBER:urn:uuid:1\r\nMEMBER;PREF=2:urn:uuid:2\r\nEND:VCARD\r\n";
    served.put(path, stored);
    let get = served.request("GET", path);
    let get = get.header("accept", "text/vcard; version=3.0").body("");
    let shown = get.text();
    let member = "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:";
    assert!(
        shown.contains("X-ADDRESSBOOKSERVER-KIND:group\r\n"),
        "{shown}"
    );
    assert_eq!(shown.matches(member).count(), 2, "{shown}");
    assert!(!shown.contains("\nKIND") && !shown.contains("\nMEMBER"));
    // One goes, one comes.
    let edited = shown.replace(
        "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:1\r\n",
        "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:3\r\n",
    );
    assert_eq!(served.request("PUT", path).body(edited).status(), 204);
    let now = stored.replace("urn:uuid:1", "urn:uuid:3");
    assert_eq!(served.get(path).text(), now);
}

/// A card without UID is an edit of the stored one too.
#[test]
fn an_edit_as_3_0_without_uid_is_merged() {
    let served = Served::new();
    let path = "/dav/addressbooks/1/a.vcf";
    let stored =
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:a\r\nFN:Ada\r\nN:L;Ada;;;\r\nBDAY:1815\r\nEND:VCARD\r\n";
    served.put(path, stored);
    for uid in ["", "UID:\r\n"] {
        let edited = format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\n{uid}FN:Ada {}\r\nN:L;Ada;;;\r\nEND:VCARD\r\n",
            uid.len()
        );
        let put = served.request("PUT", path).body(edited);
        assert_eq!((put.status(), put.header("etag")), (204, ""));
        let now = stored.replace("FN:Ada", &format!("FN:Ada {}", uid.len()));
        assert_eq!(served.get(path).text(), now);
    }
}

/// A line that 3.0 cannot say is removed by an edit in 4.0 only.
#[test]
fn a_hidden_line_is_removed_by_a_4_0_card() {
    let served = Served::new();
    let path = "/dav/addressbooks/1/a.vcf";
    let stored = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:a\r\nFN:Ada\r\nN:L;Ada;;;\r\nBDAY:1815\r\nNOTE:x\r\nEND:VCARD\r\n";
    served.put(path, stored);
    let v3 = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a\r\nFN:Ada\r\nN:L;Ada;;;\r\nEND:VCARD\r\n";
    assert_eq!(served.request("PUT", path).body(v3).status(), 204);
    let without_note = stored.replace("NOTE:x\r\n", "");
    assert_eq!(served.get(path).text(), without_note);
    let v4 = without_note.replace("BDAY:1815\r\n", "");
    assert_eq!(served.request("PUT", path).body(&v4).status(), 204);
    assert_eq!(served.get(path).text(), v4);
}
