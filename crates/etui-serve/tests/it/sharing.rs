//! Collections that people share: seen by whom they are shared with, kept by their owner.

use etui::calendar::CalendarObject;
use etui::record::RecordKind;
use etui::store::{DeviceAccess, Grant};
use etui::{CollectionId, Store};
use etui_serve::StoreSource;

use crate::client::{Client, TestServer, add_device, basic};

const EVENT: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//t//EN\r\nBEGIN:VEVENT\r\nUID:tea\r\n\
                     DTSTAMP:20260101T000000Z\r\nDTSTART:20261201T090000Z\r\nSUMMARY:Tea\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

/// Ada, who shares her calendar with Bob, and Eve, with whom nobody shares anything.
struct Household {
    server: TestServer,
    passwords: [String; 3],
    calendar: CollectionId,
    reference: CollectionId,
}

const PEOPLE: [&str; 3] = ["ada", "bob", "eve"];

impl Household {
    fn new(may_write: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |user: &str| dir.path().join(format!("{user}.etui"));
        let passwords =
            PEOPLE.map(|user| add_device(&path(user), "Phone", &DeviceAccess::default()));
        let calendar = share(&path("ada"), may_write);
        let bob = Store::open(path("bob")).unwrap();
        let reference = bob
            .sharing()
            .refer(CalendarObject::KIND, "ada", calendar, "Family")
            .unwrap()
            .id;
        // A reference alone gives no right.
        let eve = Store::open(path("eve")).unwrap();
        eve.sharing()
            .refer(CalendarObject::KIND, "ada", calendar, "Family")
            .unwrap();
        let users = dir.path().to_owned();
        let server = TestServer::start_in(dir, passwords[0].clone(), |options| {
            options.source = StoreSource::Users(users);
        });
        Self {
            server,
            passwords,
            calendar,
            reference,
        }
    }

    fn client(&self, user: &str) -> Client<std::net::TcpStream> {
        let at = PEOPLE.iter().position(|one| *one == user).unwrap();
        let mut client = self.server.stranger();
        client.authorization = Some(basic(user, &self.passwords[at]));
        client
    }

    fn path(&self, name: &str) -> String {
        format!("/dav/bob/calendars/{}/{name}", self.reference)
    }
}

/// Shares the calendar of a store with Bob.
fn share(path: &std::path::Path, may_write: bool) -> CollectionId {
    let store = Store::open(path).unwrap();
    let collection = store.calendar().unwrap().id();
    let grant = Grant {
        collection,
        person: "bob".to_owned(),
        may_write,
    };
    store.sharing().grant(&grant).unwrap();
    store.close().unwrap();
    collection
}

#[test]
fn a_shared_calendar_is_used_by_two_people() {
    let household = Household::new(true);
    let (mut ada, mut bob) = (household.client("ada"), household.client("bob"));
    let hers = format!("/dav/ada/calendars/{}/tea.ics", household.calendar);
    assert_eq!(ada.ask("PUT", &hers, EVENT).status, 201);
    let home = bob.ask_deep("PROPFIND", "/dav/bob/calendars/", "");
    assert!(home.text().contains(&household.path("")), "{}", home.text());
    let his = bob.get(&household.path("tea.ics"));
    assert_eq!(his.text(), EVENT);
    assert_eq!(his.header("etag"), ada.get(&hers).header("etag"));
    assert_eq!(
        bob.ask(
            "PUT",
            &household.path("tea.ics"),
            &EVENT.replace("Tea", "Cake")
        )
        .status,
        204
    );
    assert!(ada.get(&hers).text().contains("Cake"));
    // Whose device it was is in her history.
    let store = Store::open(household.server.path("ada.etui")).unwrap();
    let steps = store.steps().unwrap();
    assert!(
        steps.iter().any(|step| step.who.contains("bob/Phone")),
        "{steps:?}"
    );
}

#[test]
fn a_reference_without_the_right_shows_nothing() {
    let household = Household::new(true);
    household.client("ada").ask(
        "PUT",
        &format!("/dav/ada/calendars/{}/tea.ics", household.calendar),
        EVENT,
    );
    let mut eve = household.client("eve");
    let home = eve.ask_deep("PROPFIND", "/dav/eve/calendars/", "");
    assert_eq!(
        home.text().matches("<d:response>").count() + home.text().matches("<D:response>").count(),
        2,
        "{}",
        home.text()
    );
    let path = format!("/dav/eve/calendars/{}/tea.ics", household.reference);
    for (method, body) in [
        ("GET", ""),
        ("PUT", EVENT),
        ("DELETE", ""),
        ("PROPFIND", ""),
    ] {
        assert_eq!(eve.ask(method, &path, body).status, 404, "{method}");
    }
    let other = format!("/dav/bob/calendars/{}/tea.ics", household.reference);
    assert_eq!(eve.ask("GET", &other, "").status, 403);
}

#[test]
fn a_right_is_changed_and_taken_while_the_server_runs() {
    let household = Household::new(true);
    let mut bob = household.client("bob");
    let path = household.path("tea.ics");
    assert_eq!(bob.ask("PUT", &path, EVENT).status, 201);
    share(&household.server.path("ada.etui"), false);
    let changed = EVENT.replace("Tea", "Cake");
    assert_eq!(bob.ask("PUT", &path, &changed).status, 403);
    assert_eq!(bob.get(&path).text(), EVENT);
    let ada = Store::open(household.server.path("ada.etui")).unwrap();
    assert!(ada.sharing().revoke(household.calendar, "bob").unwrap());
    assert_eq!(bob.get(&path).status, 404);
    // It comes back under the same path.
    share(&household.server.path("ada.etui"), false);
    assert_eq!(bob.get(&path).status, 200);
}

#[test]
fn a_store_that_cannot_be_read_is_not_an_empty_one() {
    let household = Household::new(true);
    std::fs::write(household.server.path("ada.etui"), "no store").unwrap();
    let mut bob = household.client("bob");
    for path in [household.path("tea.ics"), "/dav/bob/calendars/".to_owned()] {
        let answer = bob.ask_deep("PROPFIND", &path, "");
        assert_eq!(answer.status, 503, "{path}");
        assert!(answer.header("retry-after").is_some());
    }
    // His own calendars do not need hers.
    for path in ["/dav/bob/", "/dav/bob/calendars/", "/dav/bob/calendars/2/"] {
        assert_eq!(bob.ask("PROPFIND", path, "").status, 207, "{path}");
    }
}
