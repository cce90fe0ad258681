//! The web page: its contents, for each device, and that nothing in it runs.

use std::collections::HashSet;
use std::time::SystemTime;

use etui::Store;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::contacts::Card;
use etui::store::DeviceAccess;

use crate::client::{Client, TestServer, add_device, basic};

/// Markup in every field.
const EVIL: &str = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:evil\r\nFN:<script>alert(1)</script>\r\n\
    N:<b>;\"&';;;\r\nORG:<img src=x onerror=alert(1)>\r\nTEL:\"><script>1</script>\r\n\
    EMAIL:\"onmouseover=alert(1)@example.org\r\nURL:javascript:alert(1)\r\nADR:;;<i>Street;;;;\r\n\
    NOTE:</dd><script>alert(1)</script>\r\nCATEGORIES:<u>\r\nEND:VCARD\r\n";

const ANNA: &str = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:anna\r\nFN:Anna Müller\r\nN:Müller;Anna;;;\r\n\
    ORG:Example GmbH\r\nTEL;TYPE=WORK:+49 30 23125 001\r\nEMAIL:anna@example.org\r\n\
    URL:https://example.org/\r\nBDAY:1990-05-04\r\nADR:;;Street 1;Town;;12345;Land\r\nEND:VCARD\r\n";

fn import(store: &Store, calendar: &str) {
    let calendar =
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{calendar}END:VCALENDAR\r\n");
    store
        .calendar()
        .unwrap()
        .import(calendar.as_bytes(), &mut |_| {
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
}

fn server() -> TestServer {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ada.etui");
    let password = add_device(&path, "Phone", &DeviceAccess::default());
    let store = Store::open(&path).unwrap();
    for text in [EVIL, ANNA] {
        store
            .contacts()
            .unwrap()
            .save(&Card::parse(text).unwrap())
            .unwrap();
    }
    let today = Timestamp::from(SystemTime::now()).utc().date();
    let (year, month, day) = today.ymd();
    let (next_year, next_month, next_day) = today.plus_days(1).ymd();
    let date = format!("{year:04}{month:02}{day:02}");
    let tomorrow = format!("{next_year:04}{next_month:02}{next_day:02}");
    import(
        &store,
        &format!(
            "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:{date}T090000Z\r\nDTEND:{date}T103000Z\r\nSUMMARY:Meeting\r\n\
             LOCATION:<b>Room</b>\r\nEND:VEVENT\r\n\
             BEGIN:VEVENT\r\nUID:2\r\nDTSTART;VALUE=DATE:{date}\r\nSUMMARY:<script>x</script>\r\nEND:VEVENT\r\n\
             BEGIN:VEVENT\r\nUID:3\r\nDTSTART;VALUE=DATE:{tomorrow}\r\nSUMMARY:Later\r\nEND:VEVENT\r\n"
        ),
    );
    store.close().unwrap();
    TestServer::start_in(dir, password, |options| {
        options.zone = TimeZone::named("UTC").unwrap();
    })
}

/// Open to-dos that were due before today are on the page of today.
#[test]
fn the_first_page_has_overdue_to_dos() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ada.etui");
    let password = add_device(&path, "Phone", &DeviceAccess::default());
    let store = Store::open(&path).unwrap();
    import(
        &store,
        "BEGIN:VTODO\r\nUID:1\r\nDUE;VALUE=DATE:20200105\r\nSUMMARY:<i>Taxes</i>\r\nEND:VTODO\r\n\
         BEGIN:VTODO\r\nUID:2\r\nDUE;VALUE=DATE:20200106\r\nSTATUS:COMPLETED\r\nSUMMARY:Done\r\nEND:VTODO\r\n\
         BEGIN:VTODO\r\nUID:3\r\nDUE;VALUE=DATE:99980106\r\nSUMMARY:Far\r\nEND:VTODO\r\n\
         BEGIN:VTODO\r\nUID:4\r\nSUMMARY:Undated\r\nEND:VTODO\r\n\
         BEGIN:VTODO\r\nUID:5\r\nDTSTART:20200101T080000Z\r\nDURATION:PT1H\r\nSUMMARY:Bills\r\nEND:VTODO\r\n",
    );
    store.close().unwrap();
    let server = TestServer::start_in(dir, password, |options| {
        options.zone = TimeZone::named("UTC").unwrap();
    });
    let page = server.client().get("/");
    let text = page.text();
    assert!(
        text.contains("Overdue") && text.contains("due 2020-01-05"),
        "{text}"
    );
    assert!(text.contains("&lt;i&gt;Taxes&lt;/i&gt;"), "{text}");
    assert!(text.find("Bills") < text.find("Taxes"), "{text}");
    assert!(text.contains("Bills"), "{text}");
    for other in ["Done", "Far", "Undated"] {
        assert!(!text.contains(other), "{other}: {text}");
    }
}

#[test]
fn the_first_page_has_the_day() {
    let server = server();
    let answer = server.client().get("/");
    assert_eq!(answer.status, 200);
    let text = answer.text();
    assert!(
        text.contains("09:00–10:30") && text.contains("Meeting"),
        "{text}"
    );
    assert!(text.contains("&lt;b&gt;Room&lt;/b&gt;"));
    assert!(text.find("&lt;script&gt;x").unwrap() < text.find("Meeting").unwrap());
    assert!(text.contains("UTC") && !text.contains("Later"));
    let head = server.client().ask("HEAD", "/", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn contacts_are_found_and_shown() {
    let server = server();
    let answer = server.client().get("/?q=m%C3%BCll");
    let text = answer.text();
    assert!(
        text.contains("Anna Müller") && text.contains("anna@example.org"),
        "{text}"
    );
    assert!(text.contains("value=\"müll\""));
    let link = text.split("href=\"/contacts/").nth(1).unwrap();
    let link = format!("/contacts/{}", link.split('"').next().unwrap());
    let answer = server.client().get(&link);
    let text = answer.text();
    assert_eq!(answer.status, 200);
    for part in [
        "<h1>Anna Müller</h1>",
        "href=\"tel:+493023125001\"",
        "href=\"mailto:anna@example.org\"",
        "href=\"https://example.org/\"",
        "1990-05-04",
        "12345 Town",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(
        server
            .client()
            .get("/?q=nobody")
            .text()
            .contains("No contact matches")
    );
    assert_eq!(server.client().get("/?q=%22").status, 200);
    for path in [
        "/contacts/1/999",
        "/contacts/2/1",
        "/contacts/x",
        "/nowhere",
    ] {
        assert_eq!(server.client().get(path).status, 404, "{path}");
    }
}

#[test]
fn nothing_in_a_page_runs() {
    let server = server();
    let mut client = server.client();
    let search = client.get("/?q=%3Cscript%3Ealert(1)%3C/script%3E%22");
    let found = client.get("/?q=alert");
    let link = found.text().split("href=\"/contacts/").nth(1).unwrap();
    let evil = format!("/contacts/{}", link.split('"').next().unwrap());
    let evil = client.get(&evil);
    assert!(
        evil.text()
            .contains("&lt;script&gt;alert(1)&lt;/script&gt;")
    );
    for answer in [search, found, evil, client.get("/"), client.get("/nowhere")] {
        let text = answer.text();
        for bad in [
            "<script",
            "<img",
            "<b>",
            "<i>",
            "<u>",
            "href=\"javascript",
            "onmouseover=alert(1)@example.org\"",
        ] {
            assert!(!text.contains(bad), "{bad} in {text}");
        }
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(
            answer.header("content-type"),
            Some("text/html; charset=utf-8")
        );
    }
    let style = server.stranger().get("/style.css");
    assert_eq!(
        (style.status, style.header("content-type")),
        (200, Some("text/css; charset=utf-8"))
    );
}

#[test]
fn a_limited_device_sees_only_its_collections() {
    let server = server();
    let store = Store::open(server.path("ada.etui")).unwrap();
    let friends = store.collections::<Card>().create("Friends").unwrap();
    let bob =
        Card::parse("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:bob\r\nFN:Bob\r\nEND:VCARD\r\n").unwrap();
    let bob = friends.save(&bob).unwrap().id;
    let access = DeviceAccess {
        is_read_only: true,
        only: Some(HashSet::from([friends.id()])),
        ..DeviceAccess::default()
    };
    let password = store.devices().add("Frame", &access).unwrap().to_string();
    let mut client: Client<_> = server.stranger();
    client.authorization = Some(basic("ada", &password));
    assert!(client.get("/").text().contains("Nothing today."));
    assert!(client.get("/?q=anna").text().contains("No contact matches"));
    assert!(client.get("/?q=bob").text().contains("Bob"));
    let book = store.contacts().unwrap();
    let anna = book.get("anna").unwrap().unwrap().id;
    assert_eq!(
        client
            .get(&format!("/contacts/{}/{anna}", book.id()))
            .status,
        404
    );
    assert_eq!(
        client
            .get(&format!("/contacts/{}/{anna}", friends.id()))
            .status,
        404
    );
    assert_eq!(
        client
            .get(&format!("/contacts/{}/{bob}", friends.id()))
            .status,
        200
    );
}
