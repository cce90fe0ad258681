//! An iPhone after its profile was installed: the requests of iOS over TLS, with the home's authority as the only one
//! that is trusted.
//!
//! Order, headers and properties are those of `accountsd` and `dataaccessd` in the logs of other servers
//! (Nextcloud's issue 6192, Radicale's issues 83 and 1288, sabre/dav's issue 813).

use etui_serve::OwnCertificate;

use crate::client::{Answer, TestServer, card};
use crate::tls::{TlsClient, authority, connect, make};

const AGENT: &str = "User-Agent: iOS/17.5.1 (21F90) dataaccessd/1.0\r\n";

const DISCOVERY: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<A:propfind xmlns:A="DAV:">
  <A:prop>
    <A:current-user-principal/>
    <A:principal-URL/>
    <A:resourcetype/>
  </A:prop>
</A:propfind>
"#;

const CALENDAR_PRINCIPAL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<A:propfind xmlns:A="DAV:">
  <A:prop>
    <B:calendar-home-set xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <B:calendar-user-address-set xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <A:current-user-principal/>
    <A:displayname/>
    <C:dropbox-home-URL xmlns:C="http://calendarserver.org/ns/"/>
    <C:email-address-set xmlns:C="http://calendarserver.org/ns/"/>
    <C:notification-URL xmlns:C="http://calendarserver.org/ns/"/>
    <A:principal-collection-set/>
    <A:principal-URL/>
    <A:resource-id/>
    <B:schedule-inbox-URL xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <B:schedule-outbox-URL xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <A:supported-report-set/>
  </A:prop>
</A:propfind>
"#;

const CALENDAR_HOME: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<A:propfind xmlns:A="DAV:">
  <A:prop>
    <A:add-member/>
    <C:allowed-sharing-modes xmlns:C="http://calendarserver.org/ns/"/>
    <D:autoprovisioned xmlns:D="http://apple.com/ns/ical/"/>
    <E:bulk-requests xmlns:E="http://me.com/_namespace/"/>
    <B:calendar-alarm xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <D:calendar-color xmlns:D="http://apple.com/ns/ical/"/>
    <B:calendar-description xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <B:calendar-free-busy-set xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <D:calendar-order xmlns:D="http://apple.com/ns/ical/"/>
    <B:calendar-timezone xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <A:current-user-privilege-set/>
    <B:default-alarm-vevent-date xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <B:default-alarm-vevent-datetime xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <A:displayname/>
    <C:getctag xmlns:C="http://calendarserver.org/ns/"/>
    <D:language-code xmlns:D="http://apple.com/ns/ical/"/>
    <D:location-code xmlns:D="http://apple.com/ns/ical/"/>
    <A:owner/>
    <C:pre-publish-url xmlns:C="http://calendarserver.org/ns/"/>
    <C:publish-url xmlns:C="http://calendarserver.org/ns/"/>
    <C:push-transports xmlns:C="http://calendarserver.org/ns/"/>
    <C:pushkey xmlns:C="http://calendarserver.org/ns/"/>
    <A:quota-available-bytes/>
    <A:quota-used-bytes/>
    <D:refreshrate xmlns:D="http://apple.com/ns/ical/"/>
    <A:resource-id/>
    <A:resourcetype/>
    <B:schedule-calendar-transp xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <B:schedule-default-calendar-URL xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <C:source xmlns:C="http://calendarserver.org/ns/"/>
    <C:subscribed-strip-alarms xmlns:C="http://calendarserver.org/ns/"/>
    <C:subscribed-strip-attachments xmlns:C="http://calendarserver.org/ns/"/>
    <C:subscribed-strip-todos xmlns:C="http://calendarserver.org/ns/"/>
    <B:supported-calendar-component-set xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <B:supported-calendar-component-sets xmlns:B="urn:ietf:params:xml:ns:caldav"/>
    <A:supported-report-set/>
    <A:sync-token/>
  </A:prop>
</A:propfind>
"#;

const CONTACTS_PRINCIPAL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<A:propfind xmlns:A="DAV:">
  <A:prop>
    <B:addressbook-home-set xmlns:B="urn:ietf:params:xml:ns:carddav"/>
    <B:directory-gateway xmlns:B="urn:ietf:params:xml:ns:carddav"/>
    <A:displayname/>
    <C:email-address-set xmlns:C="http://calendarserver.org/ns/"/>
    <A:principal-collection-set/>
    <A:principal-URL/>
    <A:resource-id/>
    <A:supported-report-set/>
  </A:prop>
</A:propfind>
"#;

const CONTACTS_HOME: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<A:propfind xmlns:A="DAV:">
  <A:prop>
    <A:add-member/>
    <E:bulk-requests xmlns:E="http://me.com/_namespace/"/>
    <A:current-user-privilege-set/>
    <A:displayname/>
    <B:max-image-size xmlns:B="urn:ietf:params:xml:ns:carddav"/>
    <B:max-resource-size xmlns:B="urn:ietf:params:xml:ns:carddav"/>
    <C:me-card xmlns:C="http://calendarserver.org/ns/"/>
    <A:owner/>
    <C:push-transports xmlns:C="http://calendarserver.org/ns/"/>
    <C:pushkey xmlns:C="http://calendarserver.org/ns/"/>
    <A:quota-available-bytes/>
    <A:quota-used-bytes/>
    <A:resource-id/>
    <A:resourcetype/>
    <A:supported-report-set/>
    <A:sync-token/>
  </A:prop>
</A:propfind>
"#;

const FIRST_SYNC: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<A:sync-collection xmlns:A="DAV:">
  <A:sync-token/>
  <A:sync-level>1</A:sync-level>
  <A:prop>
    <A:getcontenttype/>
    <A:getetag/>
  </A:prop>
</A:sync-collection>
"#;

/// Sends a request as iOS does, and reads the answer.
fn ask(phone: &mut TlsClient, method: &str, path: &str, depth: &str, body: &str) -> Answer {
    let lines = format!(
        "{AGENT}Accept: */*\r\nAccept-Language: en-us\r\nAccept-Encoding: gzip, deflate\r\nBrief: t\r\n\
         Prefer: return=minimal\r\nDepth: {depth}\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n",
        body.len()
    );
    phone.send_head(method, path, &lines).unwrap();
    phone.send(body.as_bytes()).unwrap();
    phone.read_answer(false).unwrap()
}

/// Returns the texts of the elements of a local name.
fn texts(answer: &Answer, name: &str) -> Vec<String> {
    let text = answer.text();
    let parts = text.split('<').filter_map(|part| {
        let (tag, text) = part.split_once('>')?;
        let tag = tag.split_ascii_whitespace().next()?;
        (tag.rsplit(':').next()? == name && !tag.starts_with('/') && !text.is_empty())
            .then(|| text.to_owned())
    });
    parts.collect()
}

/// Returns the first href within the element of a local name.
fn href_in(answer: &Answer, name: &str) -> String {
    let text = answer.text();
    let open = text
        .find(&format!(":{name}>"))
        .unwrap_or_else(|| panic!("no {name}: {text}"));
    let rest = &text[open..];
    let begin = rest.find("href>").unwrap() + "href>".len();
    rest[begin..].split('<').next().unwrap().to_owned()
}

/// A phone with a profile: the account's host, port and principal come from it.
struct Phone {
    server: TestServer,
    client: TlsClient,
}

impl Phone {
    fn connect() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let files = make(dir.path());
        let own = OwnCertificate::find(dir.path()).unwrap();
        let server = TestServer::start_with(|options| {
            (options.tls, options.own_certificate) = (Some(files.clone()), Some(own));
        });
        let client = connect(&server, &authority(&files), "pc.local");
        Self { server, client }
    }

    fn ask(&mut self, method: &str, path: &str, depth: &str, body: &str) -> Answer {
        ask(&mut self.client, method, path, depth, body)
    }

    /// Finds the principal, first without a password, as `accountsd` does.
    fn discover(&mut self, well_known: &str) -> String {
        let password = self.client.authorization.take();
        let moved = self.ask("PROPFIND", well_known, "0", DISCOVERY);
        assert_eq!(
            (moved.status, moved.header("location")),
            (301, Some("/dav/"))
        );
        let refused = self.ask("PROPFIND", "/dav/", "0", DISCOVERY);
        assert_eq!(refused.status, 401);
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Basic "), "{challenge}");
        self.client.authorization = password;
        let root = self.ask("PROPFIND", "/dav/", "0", DISCOVERY);
        assert_eq!(root.status, 207);
        href_in(&root, "current-user-principal")
    }
}

#[test]
fn an_iphone_sets_up_its_calendars() {
    let mut phone = Phone::connect();
    let principal = phone.discover("/.well-known/caldav");
    // That which the profile names.
    assert_eq!(principal, "/dav/me/");
    let options = phone.ask("OPTIONS", &principal, "0", "");
    assert_eq!(options.status, 200);
    let classes = options.header("dav").unwrap();
    assert!(
        classes.contains("calendar-access") && classes.contains("extended-mkcol"),
        "{classes}"
    );
    let about = phone.ask("PROPFIND", &principal, "0", CALENDAR_PRINCIPAL);
    assert_eq!(about.status, 207);
    assert!(!about.text().contains("404"), "{}", about.text());
    assert_eq!(href_in(&about, "principal-URL"), principal);
    let searched = href_in(&about, "principal-collection-set");
    let search = r#"<?xml version="1.0" encoding="UTF-8"?><A:principal-search-property-set xmlns:A="DAV:"/>"#;
    assert_eq!(phone.ask("REPORT", &searched, "0", search).status, 200);
    let home = href_in(&about, "calendar-home-set");
    let listed = phone.ask("PROPFIND", &home, "1", CALENDAR_HOME);
    assert_eq!(listed.status, 207);
    let hrefs = texts(&listed, "href");
    let calendar = hrefs
        .iter()
        .find(|href| href.len() > home.len() && href.starts_with(&home))
        .unwrap()
        .clone();
    let text = listed.text();
    for part in [
        "VEVENT",
        "sync-token",
        "getctag",
        "write-content",
        "displayname",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // An event from elsewhere is on the phone after its first synchronisation.
    let event = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//x//EN\r\nBEGIN:VEVENT\r\nUID:tea\r\n\
                 DTSTAMP:20260101T000000Z\r\nDTSTART:20260105T160000Z\r\nDTEND:20260105T170000Z\r\nSUMMARY:Tea\r\n\
                 END:VEVENT\r\nEND:VCALENDAR\r\n";
    let put = phone
        .client
        .ask("PUT", &format!("{calendar}tea.ics"), event);
    assert_eq!(put.status, 201);
    let synced = phone.ask("REPORT", &calendar, "1", FIRST_SYNC);
    assert_eq!(synced.status, 207);
    let resource = format!("{calendar}tea.ics");
    assert_eq!(texts(&synced, "href"), std::slice::from_ref(&resource));
    assert!(synced.text().contains("text/calendar"), "{}", synced.text());
    let token = texts(&synced, "sync-token").pop().unwrap();
    let multiget = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<B:calendar-multiget xmlns:B="urn:ietf:params:xml:ns:caldav">
  <A:prop xmlns:A="DAV:">
    <A:getetag/>
    <B:calendar-data/>
    <B:schedule-tag/>
    <C:created-by xmlns:C="http://calendarserver.org/ns/"/>
    <C:updated-by xmlns:C="http://calendarserver.org/ns/"/>
  </A:prop>
  <A:href xmlns:A="DAV:">{resource}</A:href>
</B:calendar-multiget>"#
    );
    let data = phone.ask("REPORT", &calendar, "1", &multiget);
    assert!(data.text().contains("SUMMARY:Tea"), "{}", data.text());
    // Nothing is new afterwards; then the phone changes its event.
    let next = FIRST_SYNC.replace(
        "<A:sync-token/>",
        &format!("<A:sync-token>{token}</A:sync-token>"),
    );
    let unchanged = phone.ask("REPORT", &calendar, "1", &next);
    assert_eq!(texts(&unchanged, "href"), [""; 0]);
    let etag = texts(&data, "getetag")
        .pop()
        .unwrap()
        .replace("&quot;", "\"");
    let changed = event.replace("SUMMARY:Tea", "SUMMARY:Coffee");
    let lines = format!(
        "{AGENT}If-Match: {etag}\r\nContent-Type: text/calendar\r\nContent-Length: {}\r\n",
        changed.len()
    );
    phone.client.send_head("PUT", &resource, &lines).unwrap();
    phone.client.send(changed.as_bytes()).unwrap();
    let answer = phone.client.read_answer(false).unwrap();
    assert_eq!(answer.status, 204);
    assert!(answer.header("etag").is_some());
    let seen = phone.ask("REPORT", &calendar, "1", &next);
    assert_eq!(texts(&seen, "href"), [resource]);
    phone.server.wait_for_log(" Phone PUT ");
}

#[test]
fn an_iphone_sets_up_its_contacts() {
    let mut phone = Phone::connect();
    let principal = phone.discover("/.well-known/carddav");
    let about = phone.ask("PROPFIND", &principal, "0", CONTACTS_PRINCIPAL);
    assert_eq!(about.status, 207);
    let home = href_in(&about, "addressbook-home-set");
    let listed = phone.ask("PROPFIND", &home, "1", CONTACTS_HOME);
    let hrefs = texts(&listed, "href");
    let book = hrefs
        .iter()
        .find(|href| href.len() > home.len() && href.starts_with(&home))
        .unwrap()
        .clone();
    assert!(listed.text().contains("addressbook"), "{}", listed.text());
    let resource = format!("{book}9F1B4C6E-1B7C-4D8A-8A3F-2D6E1C0B5A49.vcf");
    let text = card("9F1B4C6E-1B7C-4D8A-8A3F-2D6E1C0B5A49", "Ada");
    let lines = format!(
        "{AGENT}If-None-Match: *\r\nContent-Type: text/vcard; charset=utf-8\r\nContent-Length: {}\r\n",
        text.len()
    );
    phone.client.send_head("PUT", &resource, &lines).unwrap();
    phone.client.send(text.as_bytes()).unwrap();
    assert_eq!(phone.client.read_answer(false).unwrap().status, 201);
    let synced = phone.ask("REPORT", &book, "1", FIRST_SYNC);
    assert_eq!(texts(&synced, "href"), std::slice::from_ref(&resource));
    let multiget = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<B:addressbook-multiget xmlns:B="urn:ietf:params:xml:ns:carddav">
  <A:prop xmlns:A="DAV:">
    <A:getetag/>
    <B:address-data/>
  </A:prop>
  <A:href xmlns:A="DAV:">{resource}</A:href>
</B:addressbook-multiget>"#
    );
    let data = phone.ask("REPORT", &book, "1", &multiget);
    assert!(data.text().contains("FN:Ada"), "{}", data.text());
    let deleted = phone.ask("DELETE", &resource, "0", "");
    assert_eq!(deleted.status, 204);
    assert_eq!(
        texts(&phone.ask("REPORT", &book, "1", FIRST_SYNC), "href"),
        [""; 0]
    );
}
