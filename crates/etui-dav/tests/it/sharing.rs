//! Collections of another person: in the user's home, in the owner's store.

use etui::calendar::CalendarObject;
use etui::record::RecordKind;
use etui::store::Reference;
use etui_dav::{Session, SharedCollection};

use crate::support::{Answer, SESSION, Served, event};

/// Ada's calendar 2 in the home of Bob.
struct Household {
    ada: Served,
    bob: Served,
    reference: Reference,
    may_write: bool,
}

const ROOT: &str = "/dav/bob/";

impl Household {
    fn new(may_write: bool) -> Self {
        let (ada, bob) = (Served::new(), Served::new());
        let family = ada.store.calendar().unwrap().id();
        let reference = bob
            .store
            .sharing()
            .refer(CalendarObject::KIND, "ada", family, "Family")
            .unwrap();
        Self {
            ada,
            bob,
            reference,
            may_write,
        }
    }

    /// Returns the path of the calendar, or of something in it, for Bob.
    fn path(&self, name: &str) -> String {
        format!("{ROOT}calendars/{}/{name}", self.reference.id)
    }

    fn send(&self, method: &str, path: &str, depth: &str, body: &str) -> Answer {
        self.send_as(SESSION, method, path, depth, body)
    }

    fn send_as(
        &self,
        session: Session<'_>,
        method: &str,
        path: &str,
        depth: &str,
        body: &str,
    ) -> Answer {
        let shared = [SharedCollection {
            reference: &self.reference,
            store: &self.ada.store,
            may_write: self.may_write,
            owner_root: "/dav/ada/",
        }];
        let session = Session {
            user: "bob",
            root: ROOT,
            shared: &shared,
            ..session
        };
        self.bob
            .request_as(session, method, path)
            .header("depth", depth)
            .header("destination", &format!("{ROOT}calendars/2/moved.ics"))
            .body(body)
    }

    /// Returns all answers that list what is in the calendar, and one about each of these names.
    fn everything(&self, names: &[&str]) -> Vec<Answer> {
        let collection = self.path("");
        let data = "<D:prop><D:getetag/><C:calendar-data/></D:prop>";
        let ns = "xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"";
        let filter = |inner: &str| {
            format!(
                "<C:calendar-query {ns}>{data}<C:filter><C:comp-filter name=\"VCALENDAR\">{inner}</C:comp-filter></C:filter></C:calendar-query>"
            )
        };
        let hrefs: String = names
            .iter()
            .map(|name| format!("<D:href>{}</D:href>", self.path(name)))
            .collect();
        let bodies = [
            (
                "PROPFIND",
                "<propfind xmlns=\"DAV:\"><prop><getetag/><getcontentlength/></prop></propfind>"
                    .to_owned(),
            ),
            ("PROPFIND", String::new()),
            (
                "REPORT",
                format!("<D:sync-collection {ns}><D:sync-token/>{data}</D:sync-collection>"),
            ),
            (
                "REPORT",
                format!("<C:calendar-multiget {ns}>{data}{hrefs}</C:calendar-multiget>"),
            ),
            ("REPORT", filter("")),
            (
                "REPORT",
                filter(
                    "<C:comp-filter name=\"VEVENT\"><C:prop-filter name=\"SUMMARY\"><C:text-match>secret</C:text-match></C:prop-filter></C:comp-filter>",
                ),
            ),
            (
                "REPORT",
                filter(
                    "<C:comp-filter name=\"VEVENT\"><C:time-range start=\"20200101T000000Z\" end=\"20300101T000000Z\"/></C:comp-filter>",
                ),
            ),
        ];
        let mut all: Vec<Answer> = bodies
            .iter()
            .map(|(method, body)| self.send(method, &collection, "1", body))
            .collect();
        for name in names {
            all.push(self.send("GET", &self.path(name), "0", ""));
            all.push(self.send("PROPFIND", &self.path(name), "0", ""));
        }
        all
    }
}

const PROPERTIES: &str = r#"<propfind xmlns="DAV:" xmlns:I="http://apple.com/ns/ical/"><prop><displayname/><owner/><current-user-privilege-set/><I:calendar-color/></prop></propfind>"#;

#[test]
fn it_is_in_the_home_under_the_name_that_the_user_gave_it() {
    let household = Household::new(false);
    let home = household.send("PROPFIND", "/dav/bob/calendars/", "1", PROPERTIES);
    assert_eq!(
        home.hrefs(),
        [
            "/dav/bob/calendars/".to_owned(),
            "/dav/bob/calendars/2/".to_owned(),
            household.path("")
        ]
    );
    let books = household.send("PROPFIND", "/dav/bob/addressbooks/", "1", PROPERTIES);
    assert_eq!(books.hrefs().len(), 2);
    let shown = household.send("PROPFIND", &household.path(""), "0", PROPERTIES);
    let lines = shown.lines();
    assert!(
        lines.contains("Family") && lines.contains("/dav/ada/me/"),
        "{lines}"
    );
    assert!(!lines.contains("d:write"), "{lines}");
    // The user changes how it is shown to the user alone, also without the right to write.
    let change = r##"<propertyupdate xmlns="DAV:" xmlns:I="http://apple.com/ns/ical/"><set><prop><displayname>Hers</displayname><I:calendar-color>#112233ff</I:calendar-color><I:calendar-order>7</I:calendar-order></prop></set></propertyupdate>"##;
    let changed = household.send("PROPPATCH", &household.path(""), "0", change);
    assert!(changed.text().contains("200 OK"), "{}", changed.text());
    let lines = household
        .send("PROPFIND", &household.path(""), "0", PROPERTIES)
        .lines();
    assert!(
        lines.contains("Hers") && lines.contains("#112233ff"),
        "{lines}"
    );
    let ada = household.ada.store.calendar().unwrap();
    assert_eq!((ada.name(), ada.color().unwrap()), ("Calendar", None));
    assert_eq!(
        household
            .bob
            .store
            .collections::<CalendarObject>()
            .names()
            .unwrap(),
        ["Calendar"]
    );
}

#[test]
fn the_records_are_in_the_store_of_the_owner_alone() {
    let household = Household::new(true);
    let token = household.ada.token("/dav/calendars/2/");
    let path = household.path("tea.ics");
    let put = household.send("PUT", &path, "0", &event("tea", "Tea", 5));
    assert_eq!(put.status(), 201, "{}", put.text());
    let hers = household.ada.get("/dav/calendars/2/tea.ics");
    assert_eq!(hers.text(), event("tea", "Tea", 5));
    assert_eq!(hers.header("etag"), put.header("etag"));
    assert_eq!(household.bob.store.calendar().unwrap().count().unwrap(), 0);
    // Her token is his.
    let sync = format!(
        "<sync-collection xmlns=\"DAV:\"><sync-token>{token}</sync-token><prop><getetag/></prop></sync-collection>"
    );
    let changes = household.send("REPORT", &household.path(""), "1", &sync);
    assert_eq!(changes.hrefs(), [path.as_str()]);
    assert_eq!(household.send("DELETE", &path, "0", "").status(), 204);
    assert_eq!(household.ada.get("/dav/calendars/2/tea.ics").status(), 404);
}

#[test]
fn who_may_read_changes_nothing() {
    let household = Household::new(false);
    household
        .ada
        .put("/dav/calendars/2/tea.ics", &event("tea", "Tea", 5));
    let path = household.path("tea.ics");
    for (method, path) in [
        ("PUT", path.as_str()),
        ("PUT", &household.path("new.ics")),
        ("DELETE", &path),
        ("MOVE", &path),
        ("COPY", &path),
        ("DELETE", &household.path("")),
        ("MKCALENDAR", &household.path("")),
    ] {
        let body = if method == "PUT" {
            event("tea", "Mine", 5)
        } else {
            String::new()
        };
        let answer = household.send(method, path, "0", &body);
        assert_eq!(answer.status(), 403, "{method} {path} {}", answer.text());
    }
    assert_eq!(
        household.ada.get("/dav/calendars/2/tea.ics").text(),
        event("tea", "Tea", 5)
    );
    // The edits are kept in the store of who made them.
    assert_eq!(household.ada.store.refused().list().unwrap().len(), 0);
    assert_eq!(household.bob.store.refused().list().unwrap().len(), 2);
}

#[test]
fn its_owner_alone_removes_it() {
    let household = Household::new(true);
    household
        .ada
        .put("/dav/calendars/2/tea.ics", &event("tea", "Tea", 5));
    let refused = household.send("DELETE", &household.path(""), "0", "");
    assert_eq!(refused.refusal(), (403, "d:need-privileges".to_owned()));
    assert_eq!(
        household
            .send("MOVE", &household.path("tea.ics"), "0", "")
            .status(),
        403
    );
    assert_eq!(household.ada.get("/dav/calendars/2/tea.ics").status(), 200);
}

#[test]
fn a_device_may_read_one_collection_and_write_another() {
    let household = Household::new(true);
    let reads = [household.reference.id].into();
    let limited = Session {
        reads: Some(&reads),
        ..SESSION
    };
    let send = |path: &str| household.send_as(limited, "PUT", path, "0", &event("a", "Tea", 5));
    assert_eq!(send(&household.path("a.ics")).refusal().0, 403);
    assert_eq!(send("/dav/bob/calendars/2/a.ics").status(), 201);
    let sees = [etui::CollectionId(2)].into();
    let limited = Session {
        sees: Some(&sees),
        ..SESSION
    };
    let hidden = household.send_as(limited, "PROPFIND", &household.path(""), "0", PROPERTIES);
    assert_eq!(hidden.status(), 404);
    let home = household.send_as(limited, "PROPFIND", "/dav/bob/calendars/", "1", PROPERTIES);
    assert_eq!(home.hrefs().len(), 2);
}

/// Returns an event with a class.
fn classed(uid: &str, class: &str) -> String {
    event(
        uid,
        &format!("secret-{uid}\r\nCLASS:{class}\r\nLOCATION:secret"),
        5,
    )
}

#[test]
fn private_entries_are_not_there_and_confidential_ones_are_times() {
    let household = Household::new(true);
    let names = ["open.ics", "conf.ics", "priv.ics"];
    household
        .ada
        .put("/dav/calendars/2/open.ics", &event("open", "Open", 5));
    household.ada.put(
        "/dav/calendars/2/conf.ics",
        &classed("conf", "CONFIDENTIAL"),
    );
    household
        .ada
        .put("/dav/calendars/2/priv.ics", &classed("priv", "PRIVATE"));
    let answers = household.everything(&names);
    for answer in &answers {
        assert!(answer.status() < 500);
        assert!(!answer.text().contains("secret"), "{}", answer.text());
        // The client named it itself in the multiget.
        if !answer.text().contains("404") {
            assert!(!answer.text().contains("priv"), "{}", answer.text());
        }
    }
    // The search for the text finds nothing.
    assert_eq!(answers[5].hrefs(), Vec::<String>::new());
    let range = answers[6].text();
    assert!(
        range.contains("SUMMARY:Busy") && range.contains("SUMMARY:Open"),
        "{range}"
    );
    // Nobody else can change them.
    for name in ["conf.ics", "priv.ics"] {
        let uid = &name[..4];
        let put = household.send("PUT", &household.path(name), "0", &event(uid, "Mine", 5));
        assert_eq!(put.status(), 403, "{name}");
        assert_eq!(
            household
                .send("DELETE", &household.path(name), "0", "")
                .status(),
            403
        );
    }
    let put = household.send(
        "PUT",
        &household.path("own.ics"),
        "0",
        &classed("own", "PRIVATE"),
    );
    assert_eq!(put.refusal(), (403, "c:valid-calendar-data".to_owned()));
    assert_eq!(household.ada.get("/dav/calendars/2/own.ics").status(), 404);
}

#[test]
fn an_entry_that_becomes_private_is_gone_and_comes_back() {
    let household = Household::new(false);
    let path = "/dav/calendars/2/a.ics";
    let save = |text: &str| household.ada.request("PUT", path).body(text).status();
    let ask = |token: &str| {
        let sync = format!(
            "<sync-collection xmlns=\"DAV:\"><sync-token>{token}</sync-token><prop><getetag/></prop></sync-collection>"
        );
        let answer = household.send("REPORT", &household.path(""), "1", &sync);
        let token = answer.find("sync-token").unwrap().text;
        (answer, token)
    };
    household
        .ada
        .put("/dav/calendars/2/always.ics", &classed("always", "PRIVATE"));
    save(&event("a", "Tea", 5));
    let (all, token) = ask("");
    assert_eq!(all.hrefs(), [household.path("a.ics")]);
    save(&classed("a", "PRIVATE"));
    household
        .ada
        .request("PUT", "/dav/calendars/2/always.ics")
        .body(classed("always", "PRIVATE").replace("LOCATION:secret", "LOCATION:new"));
    let (changes, token) = ask(&token);
    assert_eq!(changes.hrefs(), [household.path("a.ics")]);
    assert!(changes.text().contains("404") && !changes.text().contains("always"));
    household
        .ada
        .request("DELETE", "/dav/calendars/2/always.ics")
        .body("");
    save(&event("a", "Tea again", 5));
    let (changes, _) = ask(&token);
    assert_eq!(changes.hrefs(), [household.path("a.ics")]);
    assert!(
        changes.text().contains("getetag") && !changes.text().contains("404"),
        "{}",
        changes.text()
    );
}

#[test]
fn private_time_is_no_busy_time() {
    let household = Household::new(false);
    for (day, class) in [(5, "PRIVATE"), (6, "CONFIDENTIAL"), (7, "PUBLIC")] {
        let uid = format!("e{day}");
        let text = event(&uid, &format!("x\r\nCLASS:{class}"), day);
        household
            .ada
            .put(&format!("/dav/calendars/2/{uid}.ics"), &text);
    }
    let ask = r#"<C:free-busy-query xmlns:C="urn:ietf:params:xml:ns:caldav"><C:time-range start="20200101T000000Z" end="20300101T000000Z"/></C:free-busy-query>"#;
    let periods = |answer: &Answer| answer.text().matches("FREEBUSY;").count();
    let his = household.send("REPORT", &household.path(""), "1", ask);
    assert_eq!((his.status(), periods(&his)), (200, 2), "{}", his.text());
    let hers = household
        .ada
        .request("REPORT", "/dav/calendars/2/")
        .header("depth", "1")
        .body(ask);
    assert_eq!(periods(&hers), 3, "{}", hers.text());
}

#[test]
fn a_reference_takes_no_records() {
    let household = Household::new(true);
    let store = &household.bob.store;
    let key = etui::store::CollectionKey::Reference(household.reference.id);
    let reference = store.collection::<CalendarObject>(key).unwrap();
    let saved = reference.put_resource(
        "a.ics",
        event("a", "Tea", 5).as_bytes(),
        &Default::default(),
    );
    assert!(
        matches!(saved, Err(etui::Error::NoCollection { .. })),
        "{saved:?}"
    );
    assert!(store.check().unwrap().is_clean());
}
