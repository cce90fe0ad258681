//! Calendars on a private bus, with the stock registry of sources.

use etui::Store;
use etui::calendar::CalendarObject;
use etui::calendar::zones::TimeZoneResolver;
use zbus::OwnedObjectPath;

use crate::support::{CALENDARS, Client, Desktop, error_name};

const FACTORY: &str = "/org/gnome/evolution/dataserver/CalendarFactory";
const ALL: &str = "this:this-and-prior:this-and-future";

/// An opened calendar, task list or memo list.
struct Calendar<'c> {
    client: &'c Client,
    path: String,
}

impl<'c> Calendar<'c> {
    async fn open(client: &'c Client, method: &str, source: &str) -> Self {
        let call = client.call(CALENDARS, FACTORY, "CalendarFactory", method, (source,));
        let reply = call.await.unwrap();
        let (path, name): (String, String) = reply.body().deserialize().unwrap();
        assert_eq!(name, CALENDARS);
        let calendar = Self { client, path };
        calendar.call("Open", ()).await.unwrap();
        calendar
    }

    async fn call<B>(&self, method: &str, body: B) -> Result<zbus::Message, String>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let call = self
            .client
            .call(CALENDARS, &self.path, "Calendar", method, body);
        call.await
    }

    async fn create(&self, texts: &[&str]) -> Result<Vec<String>, String> {
        let reply = self.call("CreateObjects", (texts, 0u32)).await?;
        Ok(reply.body().deserialize().unwrap())
    }

    async fn modify(&self, text: &str, mod_type: &str) -> Result<(), String> {
        let body = (vec![text], mod_type, 0u32);
        self.call("ModifyObjects", body).await.map(|_| ())
    }

    async fn remove(&self, uid: &str, instance: &str, mod_type: &str) -> Result<(), String> {
        let body = (vec![(uid, instance)], mod_type, 0u32);
        self.call("RemoveObjects", body).await.map(|_| ())
    }

    async fn list(&self, query: &str) -> Result<Vec<String>, String> {
        let reply = self.call("GetObjectList", (query,)).await?;
        let mut texts: Vec<String> = reply.body().deserialize().unwrap();
        texts.sort();
        Ok(texts)
    }

    async fn get(&self, uid: &str, instance: &str) -> Result<String, String> {
        let reply = self.call("GetObject", (uid, instance)).await?;
        Ok(reply.body().deserialize().unwrap())
    }

    async fn open_view(&self, query: &str) -> Result<String, String> {
        let reply = self.call("GetView", (query,)).await?;
        let path: OwnedObjectPath = reply.body().deserialize().unwrap();
        Ok(path.to_string())
    }
}

/// The daily series of ten from 1 December.
fn series(uid: &str) -> String {
    format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:Series\r\n\
         DTSTART;TZID=Europe/Berlin:20261201T090000\r\nDTEND;TZID=Europe/Berlin:20261201T100000\r\n\
         RRULE:FREQ=DAILY;COUNT=10\r\nEND:VEVENT\r\n"
    )
}

/// A change of its instance on a day of December.
fn changed(uid: &str, day: u32, more: &str) -> String {
    format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:Changed\r\n\
         RECURRENCE-ID;TZID=Europe/Berlin:202612{day:02}T090000\r\n\
         DTSTART;TZID=Europe/Berlin:202612{day:02}T100000\r\n{more}END:VEVENT\r\n"
    )
}

/// The value of a component's property.
fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = text.lines();
    lines.find_map(|line| {
        let (head, value) = line.split_once(':')?;
        (head.split(';').next() == Some(name)).then_some(value)
    })
}

fn not_found() -> String {
    error_name("e-cal-client-error-quark", 1)
}

#[test]
fn each_type_of_modification_changes_its_instances() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let calendar = Calendar::open(&desktop.client, "OpenCalendar", "system-calendar").await;
        for uid in ["r1", "r2", "r3", "r4"] {
            calendar.create(&[&series(uid)]).await.unwrap();
            calendar.modify(&changed(uid, 4, ""), "this").await.unwrap();
            calendar.modify(&changed(uid, 8, ""), "this").await.unwrap();
        }
        assert_eq!(calendar.list("(uid? \"r1\")").await.unwrap().len(), 3);

        // The master: changed instances stay.
        let renamed = series("r1").replace("Series", "Renamed");
        calendar.modify(&renamed, ALL).await.unwrap();
        let all = calendar.list("(uid? \"r1\")").await.unwrap();
        let titles: Vec<_> = all
            .iter()
            .filter_map(|text| value(text, "SUMMARY"))
            .collect();
        assert_eq!(titles.len(), 3);
        assert!(titles.contains(&"Renamed") && titles.contains(&"Changed"));

        // This and future: two series.
        let rest = changed("r1", 6, "RRULE:FREQ=DAILY;COUNT=10\r\n");
        calendar.modify(&rest, "this-and-future").await.unwrap();
        let before = calendar.list("(uid? \"r1\")").await.unwrap();
        assert_eq!(before.len(), 2, "the change of the eighth goes");
        let master = before.iter().find(|text| text.contains("RRULE")).unwrap();
        assert_eq!(value(master, "RRULE"), Some("FREQ=DAILY;COUNT=5"));
        let after =
            calendar.list("(not (or (uid? \"r1\") (uid? \"r2\") (uid? \"r3\") (uid? \"r4\")))");
        let after = after.await.unwrap();
        assert_eq!(after.len(), 1);
        assert_eq!(value(&after[0], "RRULE"), Some("FREQ=DAILY;COUNT=5"));
        assert_eq!(value(&after[0], "DTSTART"), Some("20261206T100000"));
        assert_eq!(value(&after[0], "RECURRENCE-ID"), None);

        // At the first instance, or without one: the whole series.
        let first = changed("r2", 1, "RRULE:FREQ=DAILY;COUNT=10\r\n");
        calendar.modify(&first, "this-and-future").await.unwrap();
        let all = calendar.list("(uid? \"r2\")").await.unwrap();
        assert_eq!(all.len(), 3);
        assert!(
            all.iter()
                .any(|text| text.contains("COUNT=10") && text.contains("SUMMARY:Changed"))
        );

        for unsupported in ["only-this", "this-and-prior", "that"] {
            let error = calendar.modify(&changed("r3", 4, ""), unsupported).await;
            assert_eq!(
                error,
                Err(error_name("e-client-error-quark", 11)),
                "{unsupported}"
            );
        }
        let unknown = calendar.modify(&series("nobody"), "this").await;
        assert_eq!(unknown, Err(not_found()));

        // Removals.
        calendar
            .remove("r3", "20261204T090000", "this")
            .await
            .unwrap();
        let all = calendar.list("(uid? \"r3\")").await.unwrap();
        assert_eq!(all.len(), 2);
        assert!(
            all.iter()
                .any(|text| value(text, "EXDATE") == Some("20261204T090000"))
        );
        calendar
            .remove("r3", "20261208T090000", "only-this")
            .await
            .unwrap();
        let again = calendar.remove("r3", "20261208T090000", "only-this").await;
        assert_eq!(again, Err(not_found()));
        assert_eq!(calendar.list("(uid? \"r3\")").await.unwrap().len(), 1);
        calendar
            .remove("r3", "20261206T090000", "this-and-future")
            .await
            .unwrap();
        let left = calendar.get("r3", "").await.unwrap();
        assert_eq!(value(&left, "RRULE"), Some("FREQ=DAILY;COUNT=5"));
        calendar
            .remove("r3", "20261201T090000", "this-and-future")
            .await
            .unwrap();
        assert_eq!(calendar.get("r3", "").await, Err(not_found()));
        calendar.remove("r4", "20261204T090000", ALL).await.unwrap();
        assert_eq!(calendar.get("r4", "").await, Err(not_found()));
        assert_eq!(calendar.remove("r4", "", "this").await, Err(not_found()));
    });
}

#[test]
fn objects_and_instances_are_read() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let calendar = Calendar::open(&desktop.client, "OpenCalendar", "system-calendar").await;
        let no_uid = series("").replace("UID:\r\n", "");
        let made = calendar.create(&[&series("r1"), &no_uid]).await.unwrap();
        assert_eq!(made[0], "r1");
        let exists = error_name("e-cal-client-error-quark", 4);
        assert_eq!(
            calendar.create(&["", &series("r1")]).await.unwrap_err(),
            error_name("e-cal-client-error-quark", 2)
        );
        assert_eq!(
            calendar.create(&[&series("new"), &series("r1")]).await,
            Err(exists.clone())
        );
        assert_eq!(
            calendar.create(&[&series("new"), &series("new")]).await,
            Err(exists)
        );
        // All or none.
        assert_eq!(calendar.get("new", "").await, Err(not_found()));

        assert!(
            calendar
                .get("r1", "")
                .await
                .unwrap()
                .starts_with("BEGIN:VEVENT\r\n")
        );
        let fourth = calendar.get("r1", "20261204T090000").await.unwrap();
        assert_eq!(value(&fourth, "RECURRENCE-ID"), Some("20261204T090000"));
        assert_eq!(value(&fourth, "DTSTART"), Some("20261201T090000"));
        calendar
            .modify(&changed("r1", 4, ""), "this")
            .await
            .unwrap();
        let fourth = calendar.get("r1", "20261204T090000").await.unwrap();
        assert_eq!(value(&fourth, "DTSTART"), Some("20261204T100000"));
        let whole = calendar.get("r1", "").await.unwrap();
        assert!(whole.starts_with("BEGIN:VCALENDAR\r\n"));
        assert_eq!(whole.matches("BEGIN:VEVENT").count(), 2);
        for none in ["20261204T100000", "20261220T090000", "never"] {
            assert_eq!(calendar.get("r1", none).await, Err(not_found()), "{none}");
        }

        let day = "(occur-in-time-range? (make-time \"20261204T000000Z\") \
                   (make-time \"20261205T000000Z\") \"Europe/Berlin\")";
        let uid = "(or (uid? \"r1\") #f)";
        assert_eq!(
            calendar
                .list(&format!("(and {day} {uid})"))
                .await
                .unwrap()
                .len(),
            2
        );
        let refused = calendar.list("(unknown?)").await;
        assert_eq!(refused, Err(error_name("e-client-error-quark", 16)));
        assert!(calendar.open_view("(").await.is_err());

        let tasks = Calendar::open(&desktop.client, "OpenTaskList", "system-task-list").await;
        let task = "BEGIN:VTODO\r\nUID:t1\r\nSUMMARY:Task\r\nEND:VTODO\r\n";
        assert!(tasks.create(&[&series("r1")]).await.is_err());
        tasks.create(&[task]).await.unwrap();
        assert_eq!(tasks.list("#t").await.unwrap().len(), 1);
        let memos = Calendar::open(&desktop.client, "OpenMemoList", "system-memo-list").await;
        let memo = task.replace("VTODO", "VJOURNAL");
        memos.create(&[&memo]).await.unwrap();
        assert_eq!(tasks.list("#t").await.unwrap().len(), 1);
    });
}

#[test]
fn time_zones_are_kept_for_later_components() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let calendar = Calendar::open(&desktop.client, "OpenCalendar", "system-calendar").await;
        let zone = "BEGIN:VTIMEZONE\r\nTZID:Ship\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
                    TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n";
        calendar.call("AddTimezone", (zone,)).await.unwrap();
        let known = calendar.call("GetTimezone", ("Ship",)).await.unwrap();
        let known: String = known.body().deserialize().unwrap();
        assert_eq!(known, zone);
        for name in [
            "Europe/Berlin",
            "/freeassociation.sourceforge.net/Europe/Berlin",
        ] {
            let found = calendar.call("GetTimezone", (name,)).await.unwrap();
            let found: String = found.body().deserialize().unwrap();
            assert_eq!(value(&found, "TZID"), Some(name));
        }
        for (name, code) in [("", 1), ("Nowhere/Else", 1), ("UTC", 2)] {
            let error = calendar.call("GetTimezone", (name,)).await.unwrap_err();
            assert_eq!(
                error,
                error_name("e-cal-client-error-quark", code),
                "{name}"
            );
        }
        let event = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Ship:20261204T020000\r\nEND:VEVENT\r\n";
        calendar.create(&[event]).await.unwrap();
        // Two o'clock on the ship is the day before in UTC.
        let day = "(occur-in-time-range? (make-time \"20261203T225900Z\") \
                   (make-time \"20261203T230100Z\"))";
        assert_eq!(calendar.list(day).await.unwrap().len(), 1);

        let object = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\n{}{}END:VCALENDAR\r\n",
            zone.replace("Ship", "Boat"),
            event.replace("Ship", "Boat").replace("UID:1", "UID:2"),
        );
        calendar
            .call("ReceiveObjects", (&object, 0u32))
            .await
            .unwrap();
        assert_eq!(calendar.list(day).await.unwrap().len(), 2);
        let cancel = object.replace("REQUEST", "CANCEL");
        calendar
            .call("ReceiveObjects", (&cancel, 0u32))
            .await
            .unwrap();
        assert_eq!(calendar.list(day).await.unwrap().len(), 1);
        // The answer of one attendee leaves the rest as it is.
        let asked = "BEGIN:VEVENT\r\nUID:3\r\nDTSTART:20261205T120000Z\r\nSUMMARY:Meeting\r\n\
                     RRULE:FREQ=DAILY;COUNT=3\r\nATTENDEE:mailto:a@example.org\r\nEND:VEVENT\r\n";
        calendar.create(&[asked]).await.unwrap();
        let reply = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REPLY\r\nBEGIN:VEVENT\r\nUID:3\r\n\
                     DTSTAMP:20261201T000000Z\r\nATTENDEE;PARTSTAT=ACCEPTED:mailto:a@example.org\r\n\
                     END:VEVENT\r\nEND:VCALENDAR\r\n";
        calendar
            .call("ReceiveObjects", (&reply, 0u32))
            .await
            .unwrap();
        let meeting = calendar.list("(uid? \"3\")").await.unwrap();
        assert!(meeting[0].contains("PARTSTAT=ACCEPTED"), "{meeting:?}");
        assert!(
            meeting[0].contains("RRULE:FREQ=DAILY;COUNT=3"),
            "{meeting:?}"
        );
        // One of another attendee to one time, and an older whole series, are merged.
        let message = |method: &str, component: &str| {
            format!(
                "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:{method}\r\n{component}END:VCALENDAR\r\n"
            )
        };
        let one = "BEGIN:VEVENT\r\nUID:3\r\nRECURRENCE-ID:20261206T120000Z\r\n\
                   DTSTART:20261206T150000Z\r\nDTSTAMP:20261202T000000Z\r\nSEQUENCE:2\r\n\
                   SUMMARY:Meeting\r\nEND:VEVENT\r\n";
        let further = "BEGIN:VEVENT\r\nUID:3\r\nDTSTART:20261220T120000Z\r\nSEQUENCE:3\r\n\
                       DTSTAMP:20261203T000000Z\r\nSUMMARY:Meeting\r\nEND:VEVENT\r\n";
        for (method, component) in [("REQUEST", one), ("ADD", further), ("PUBLISH", asked)] {
            let text = message(method, component);
            let call = calendar.call("ReceiveObjects", (&text, 0u32)).await;
            call.unwrap_or_else(|e| panic!("{method}: {e}"));
        }
        let meeting = calendar.list("(uid? \"3\")").await.unwrap();
        let has = |line: &str| meeting.iter().any(|component| component.contains(line));
        for line in [
            "DTSTART:20261206T150000Z",
            "RECURRENCE-ID:20261220T120000Z",
            "PARTSTAT=ACCEPTED",
        ] {
            assert!(has(line), "{line}: {meeting:?}");
        }
        for (text, domain, code) in [
            (message("COUNTER", asked), "e-client-error-quark", 19),
            (message("DECLINECOUNTER", asked), "e-client-error-quark", 19),
            (
                reply.replace("UID:3", "UID:4"),
                "e-cal-client-error-quark",
                1,
            ),
        ] {
            let call = calendar.call("ReceiveObjects", (&text, 0u32)).await;
            assert_eq!(call.unwrap_err(), error_name(domain, code), "{text}");
        }
    });
}

#[test]
fn a_view_reports_components_of_this_and_other_programs() {
    zbus::block_on(async {
        let Some(desktop) = Desktop::start().await else {
            return;
        };
        let mut watcher = Client::connect(&desktop.bus).await;
        let owned = Calendar::open(&watcher, "OpenCalendar", "system-calendar").await;
        owned.create(&[&series("r1")]).await.unwrap();
        let view = owned
            .open_view("(contains? \"summary\" \"e\")")
            .await
            .unwrap();
        drop(owned);
        let start = watcher.call(CALENDARS, &view, "CalendarView", "Start", ());
        start.await.unwrap();
        let texts_of =
            |message: zbus::Message| -> Vec<String> { message.body().deserialize().unwrap() };
        let added = texts_of(watcher.signal(&view, "ObjectsAdded").await);
        assert_eq!(value(&added[0], "UID"), Some("r1"));
        watcher.signal(&view, "Complete").await;

        // A changed instance is reported by itself.
        let writer = Calendar::open(&desktop.client, "OpenCalendar", "system-calendar").await;
        writer.modify(&changed("r1", 4, ""), "this").await.unwrap();
        let added = texts_of(watcher.signal(&view, "ObjectsAdded").await);
        assert_eq!(added.len(), 1);
        assert_eq!(value(&added[0], "RECURRENCE-ID"), Some("20261204T090000"));
        writer
            .remove("r1", "20261204T090000", "only-this")
            .await
            .unwrap();
        let removed = texts_of(watcher.signal(&view, "ObjectsRemoved").await);
        assert_eq!(removed, ["r1\n20261204T090000"]);

        // Another program, through the library.
        let store = Store::open(desktop.store()).unwrap();
        let calendar = store.calendar().unwrap();
        let foreign = CalendarObject::parse(
            "BEGIN:VEVENT\r\nUID:x\r\nSUMMARY:Elsewhere\r\nEND:VEVENT\r\n",
            &TimeZoneResolver::new(),
        );
        calendar.save(&foreign.unwrap()).unwrap();
        let added = texts_of(watcher.signal(&view, "ObjectsAdded").await);
        assert_eq!(value(&added[0], "SUMMARY"), Some("Elsewhere"));
        // It stops matching.
        let other = "BEGIN:VEVENT\r\nUID:x\r\nSUMMARY:Back\r\nEND:VEVENT\r\n";
        writer.modify(other, "this").await.unwrap();
        assert_eq!(
            texts_of(watcher.signal(&view, "ObjectsRemoved").await),
            ["x"]
        );

        // Signals of a view go to its owner alone, and none after Stop.
        let stop = watcher.call(CALENDARS, &view, "CalendarView", "Stop", ());
        stop.await.unwrap();
        let mut second = Client::connect(&desktop.bus).await;
        let owned = Calendar::open(&second, "OpenCalendar", "system-calendar").await;
        let going_on = owned.open_view("#t").await.unwrap();
        drop(owned);
        let start = second.call(CALENDARS, &going_on, "CalendarView", "Start", ());
        start.await.unwrap();
        writer.remove("r1", "", ALL).await.unwrap();
        let mut removed = texts_of(second.signal(&going_on, "ObjectsRemoved").await);
        // When the next change is told, the one before has been told to every view.
        writer.remove("x", "", ALL).await.unwrap();
        removed.extend(texts_of(second.signal(&going_on, "ObjectsRemoved").await));
        assert_eq!(removed, ["r1", "x"]);
        assert!(!watcher.has_heard(&view, "ObjectsRemoved").await);
    });
}
