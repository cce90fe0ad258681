//! Switching between the stock server and the store on a private bus, with the stock services.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

use etui_eds::switch::{
    Lasting, Progress, Side, Step, SwitchOptions, SwitchReport, UserDirs, switch_off, switch_on,
};
use etui_testkit::bus::PrivateBus;
use etui_testkit::own_process::ProgramOfTest;
use zbus::Connection;

use crate::support::{self, BOOKS, CALENDARS};

const BOOK_FACTORY: &str = "/org/gnome/evolution/dataserver/AddressBookFactory";
const CALENDAR_FACTORY: &str = "/org/gnome/evolution/dataserver/CalendarFactory";
const ALL: &str = "this:this-and-prior:this-and-future";

/// The variables of a process that switches: `on` or `off`, the step after which it is killed, the
/// side that counts.
const DIRECTION: &str = "ETUI_EDS_TEST_SWITCH";
const KILL_AFTER: &str = "ETUI_EDS_TEST_KILL_AFTER";
const PREFER: &str = "ETUI_EDS_TEST_PREFER";

/// Switches, in a process of its own.
#[test]
#[ignore = "the tests run it as the command"]
fn switch() {
    let Ok(direction) = std::env::var(DIRECTION) else {
        return;
    };
    let store = PathBuf::from(std::env::var_os(support::STORE).unwrap());
    let script = format!(
        "{}='{}' {}=1 exec {}",
        support::STORE,
        store.display(),
        support::ONLY_IF_ON,
        support::service_command()
    );
    let options = SwitchOptions {
        store,
        options: etui::Options::default(),
        command: ["/bin/sh", "-c", &script].map(str::to_owned).to_vec(),
        lasting: Lasting::Permanent,
        prefer: match std::env::var(PREFER).as_deref() {
            Ok("stock") => Some(Side::Stock),
            Ok("store") => Some(Side::Store),
            _ => None,
        },
        dirs: UserDirs::from_environment().unwrap(),
    };
    let kill_after = std::env::var(KILL_AFTER).ok();
    let mut progress = |progress: Progress<'_>| {
        if let Progress::Done(step) = progress
            && kill_after.as_deref() == Some(format!("{step:?}").as_str())
        {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        }
    };
    let report = match direction.as_str() {
        "on" => switch_on(&options, &mut progress),
        _ => switch_off(&options, &mut progress),
    };
    match report {
        Ok(report) => println!("{}", summary(&report)),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}

/// `system-address-book 2+1~0-0`: records, new, changed, removed.
fn summary(report: &SwitchReport) -> String {
    let mut text = format!("\nalready {}\n", report.already);
    for c in &report.collections {
        writeln!(
            text,
            "{} {} +{} ~{} -{} rewritten {:?}",
            c.source, c.records, c.created, c.changed, c.removed, c.rewritten
        )
        .unwrap();
        let collection = c.collection.clone().unwrap_or_default();
        writeln!(text, "{} {:?} in {collection:?}", c.source, c.name).unwrap();
    }
    for program in &report.programs {
        let state = if program.restarted {
            "restarted"
        } else {
            "open"
        };
        let (name, file, process) = (&program.name, &program.program, program.process);
        writeln!(text, "{state} {name} {file} {process}").unwrap();
    }
    text
}

/// A session with the stock services.
pub struct Stock {
    pub bus: PrivateBus,
    pub client: Connection,
}

impl Stock {
    pub async fn start() -> Option<Self> {
        let bus = PrivateBus::start().unwrap();
        for name in ["org.gnome.evolution.dataserver.Sources5", BOOKS, CALENDARS] {
            if bus.add_system_service(name).is_err() {
                eprintln!("skipped: the package evolution-data-server is not installed");
                return None;
            }
        }
        let client = support::connect(&bus).await;
        Some(Self { bus, client })
    }

    pub async fn run(&self, direction: &str, variables: &[(&str, &str)]) -> Output {
        let program = std::env::current_exe().unwrap();
        let mut command = self.bus.command(&program);
        command
            .args(ProgramOfTest::new(switch).arguments())
            .env(DIRECTION, direction)
            .env(support::STORE, self.bus.dir().join("store.etui"))
            .envs(variables.iter().copied());
        // Beside the runtime, which serves the connections of all tests.
        zruntime::unblock(move || command.output()).await.unwrap()
    }

    pub async fn switch(&self, direction: &str) -> String {
        let out = self.run(direction, &[]).await;
        let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
        assert!(out.status.success(), "{direction}: {stdout}{stderr}");
        stdout
    }

    /// Opens a source as a program does and returns its object and the bus name that serves it.
    async fn open(&self, method: &str, uid: &str) -> (String, String) {
        let (name, factory, interface) = match method {
            "OpenAddressBook" => (BOOKS, BOOK_FACTORY, "AddressBook"),
            _ => (CALENDARS, CALENDAR_FACTORY, "Calendar"),
        };
        let factory_interface = format!("{interface}Factory");
        let opened = loop {
            let body = (uid,);
            let call = support::call(
                &self.client,
                name,
                factory,
                &factory_interface,
                method,
                body,
            );
            match call.await {
                Ok(opened) => break opened,
                // The bus has not noticed yet that the owner of the name was killed.
                Err(error) if error.ends_with("NoReply") => {}
                Err(error) => panic!("{method}: {error}"),
            }
        };
        let (path, owner): (String, String) = opened.body().deserialize().unwrap();
        support::call(&self.client, &owner, &path, interface, "Open", ())
            .await
            .unwrap();
        (path, owner)
    }

    pub async fn cards(&self) -> BTreeMap<String, String> {
        let (path, owner) = self.open("OpenAddressBook", "system-address-book").await;
        let list = support::call(
            &self.client,
            &owner,
            &path,
            "AddressBook",
            "GetContactList",
            ("",),
        )
        .await
        .unwrap();
        let cards: Vec<String> = list.body().deserialize().unwrap();
        let cards = cards.iter();
        cards
            .map(|card| (value(card, "UID"), comparable_card(card)))
            .collect()
    }

    async fn events(&self, method: &str, uid: &str) -> Vec<String> {
        let (path, owner) = self.open(method, uid).await;
        let list = support::call(
            &self.client,
            &owner,
            &path,
            "Calendar",
            "GetObjectList",
            ("#t",),
        )
        .await
        .unwrap();
        let list: Vec<String> = list.body().deserialize().unwrap();
        let mut events: Vec<String> = list.iter().map(|text| comparable_event(text)).collect();
        events.sort();
        events
    }

    pub async fn everything(&self) -> (BTreeMap<String, String>, Vec<String>, Vec<String>) {
        (
            self.cards().await,
            self.events("OpenCalendar", "system-calendar").await,
            self.events("OpenTaskList", "system-task-list").await,
        )
    }

    pub async fn book(&self, method: &str, cards: &[String]) {
        let (path, owner) = self.open("OpenAddressBook", "system-address-book").await;
        let called = support::call(
            &self.client,
            &owner,
            &path,
            "AddressBook",
            method,
            (cards, 0_u32),
        )
        .await;
        called.unwrap();
    }

    async fn add_events(&self, open: &str, uid: &str, zones: &[&str], events: &[&str]) {
        let (path, owner) = self.open(open, uid).await;
        for zone in zones {
            let called = support::call(
                &self.client,
                &owner,
                &path,
                "Calendar",
                "AddTimezone",
                (zone,),
            )
            .await;
            called.unwrap();
        }
        let called = support::call(
            &self.client,
            &owner,
            &path,
            "Calendar",
            "CreateObjects",
            (events, 0_u32),
        )
        .await;
        called.unwrap();
    }

    async fn modify_event(&self, event: &str, mod_type: &str) {
        let (path, owner) = self.open("OpenCalendar", "system-calendar").await;
        let body = (&[event][..], mod_type, 0_u32);
        let called = support::call(
            &self.client,
            &owner,
            &path,
            "Calendar",
            "ModifyObjects",
            body,
        )
        .await;
        called.unwrap();
    }

    /// The program that owns a name.
    pub async fn owner(&self, name: &str) -> String {
        let bus = zbus::fdo::DBusProxy::new(&self.client).await.unwrap();
        let name = zbus::names::BusName::try_from(name).unwrap();
        let process = bus.get_connection_unix_process_id(name).await.unwrap();
        let path = std::fs::read_link(format!("/proc/{process}/exe")).unwrap();
        path.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// Ends the process that owns the names, and waits until it has given them up.
    async fn end_service(&self) {
        let bus = zbus::fdo::DBusProxy::new(&self.client).await.unwrap();
        let name = zbus::names::BusName::try_from(BOOKS).unwrap();
        let process = bus.get_connection_unix_process_id(name.clone()).await;
        let pid = rustix::process::Pid::from_raw(process.unwrap().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        support::wait_for("the name is free", async || {
            let is_owned = bus.name_has_owner(name.clone()).await.unwrap();
            (!is_owned).then_some(())
        })
        .await;
    }

    /// The content of the stock server's databases and calendar files.
    fn stock_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect_files(&self.bus.dir().join("data/evolution"), &mut files);
        files
    }

    pub async fn fill(&self) {
        let photo = "PHOTO;ENCODING=b;TYPE=PNG:iVBORw0KGgpwaWN0dXJl\r\n";
        let cards = [
            card("ada", "Ada", photo),
            card("bob", "Bob", "NOTE:one\\, two\\nthree\r\n"),
            card("eve", "Ève; the third", ""),
        ];
        self.book("CreateContacts", &cards).await;
        let zone = "BEGIN:VTIMEZONE\r\nTZID:Ship\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
                    TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n";
        let events = [
            "BEGIN:VEVENT\r\nUID:dinner\r\nSUMMARY:Dinner\r\nDTSTART;TZID=Ship:20261121T190000\r\n\
             DTEND;TZID=Ship:20261121T200000\r\nEND:VEVENT\r\n",
            "BEGIN:VEVENT\r\nUID:daily\r\nSUMMARY:Stand-up\r\n\
             DTSTART;TZID=Europe/Berlin:20261201T090000\r\nRRULE:FREQ=DAILY;COUNT=5\r\n\
             BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT10M\r\nDESCRIPTION:Soon\r\nEND:VALARM\r\n\
             END:VEVENT\r\n",
        ];
        self.add_events("OpenCalendar", "system-calendar", &[zone], &events)
            .await;
        self.modify_event(
            "BEGIN:VEVENT\r\nUID:daily\r\nSUMMARY:Late\r\n\
             RECURRENCE-ID;TZID=Europe/Berlin:20261203T090000\r\n\
             DTSTART;TZID=Europe/Berlin:20261203T110000\r\nEND:VEVENT\r\n",
            "this",
        )
        .await;
        let task = "BEGIN:VTODO\r\nUID:task\r\nSUMMARY:Write\r\nDUE;VALUE=DATE:20261201\r\n\
                    END:VTODO\r\n";
        self.add_events("OpenTaskList", "system-task-list", &[], &[task])
            .await;
    }
}

fn collect_files(dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => collect_files(&path, files),
            false => {
                files.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn card(uid: &str, name: &str, more: &str) -> String {
    let name = name.replace(';', "\\;");
    format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nN:{name};;;;\r\n\
         TEL;TYPE=HOME,VOICE:+49 30 1234567\r\nBDAY:1980-12-10\r\n{more}END:VCARD\r\n"
    )
}

fn value(text: &str, name: &str) -> String {
    let lines = text.lines();
    let mut values = lines.filter_map(|line| line.strip_prefix(&format!("{name}:")));
    values.next().unwrap_or_default().trim().to_owned()
}

/// The lines of a card in order, without REV, with its picture's content.
fn comparable_card(card: &str) -> String {
    let unfolded = card.replace("\r\n ", "").replace("\r\n\t", "");
    let mut lines: Vec<String> = Vec::new();
    for line in unfolded.lines().filter(|line| !line.starts_with("REV:")) {
        match line.split_once("file://") {
            Some((_, path)) if line.starts_with("PHOTO") => {
                let picture = std::fs::read(path.replace("%20", " ")).unwrap();
                lines.push(format!("PHOTO:{}", text(&picture)));
            }
            _ => lines.push(line.replace(";X-EVOLUTION-E164=301234567,\"+49\"", "")),
        }
    }
    lines.sort();
    lines.join("\n")
}

/// The lines of a component in order, without what the server sets.
fn comparable_event(event: &str) -> String {
    let unfolded = event.replace("\r\n ", "");
    let stamps = [
        "DTSTAMP",
        "CREATED",
        "LAST-MODIFIED",
        "X-EVOLUTION",
        "SEQUENCE",
    ];
    let mut lines: Vec<String> = unfolded
        .lines()
        .filter(|line| !stamps.iter().any(|stamp| line.starts_with(stamp)))
        .map(|line| match line.split_once(";X-EVOLUTION-ENDDATE=") {
            Some((name, rest)) => format!("{name}{}", &rest[rest.find(':').unwrap()..]),
            None => line.to_owned(),
        })
        .collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn the_store_takes_over_and_gives_back() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.fill().await;
        let before = desktop.everything().await;
        assert_eq!((before.0.len(), before.1.len(), before.2.len()), (3, 3, 1));
        assert!(before.0["ada"].contains("PHOTO:\u{fffd}PNG"), "{before:?}");

        let report = desktop.switch("on").await;
        let files = desktop.stock_files();
        assert!(
            report.contains("system-address-book 3 +3 ~0 -0"),
            "{report}"
        );
        assert!(report.contains("system-calendar 2 +2 ~0 -0"), "{report}");
        assert!(!desktop.owner(BOOKS).await.starts_with("evolution"));
        assert_eq!(desktop.everything().await, before);
        assert!(desktop.switch("on").await.contains("already true"));

        // Changes of every kind through the service.
        desktop
            .book("CreateContacts", &[card("new", "New", "")])
            .await;
        desktop
            .book("ModifyContacts", &[card("bob", "Robert", "")])
            .await;
        desktop.book("RemoveContacts", &["eve".to_owned()]).await;
        let event = "BEGIN:VEVENT\r\nUID:trip\r\nSUMMARY:Trip\r\n\
                     DTSTART;TZID=Ship:20261124T100000\r\nEND:VEVENT\r\n";
        desktop
            .add_events("OpenCalendar", "system-calendar", &[], &[event])
            .await;
        desktop
            .modify_event(
                "BEGIN:VEVENT\r\nUID:dinner\r\nSUMMARY:Supper\r\n\
                 DTSTART;TZID=Ship:20261121T180000\r\nEND:VEVENT\r\n",
                ALL,
            )
            .await;
        let changed = desktop.everything().await;
        assert_eq!(desktop.stock_files(), files, "the stock server's files");

        let report = desktop.switch("off").await;
        assert!(
            report.contains("system-address-book 3 +1 ~1 -1 rewritten []"),
            "{report}"
        );
        assert!(
            report.contains("system-calendar 3 +1 ~1 -0 rewritten []"),
            "{report}"
        );
        assert_eq!(desktop.everything().await, changed);
        assert!(desktop.owner(BOOKS).await.starts_with("evolution"));
        assert!(desktop.switch("off").await.contains("already true"));

        // What changes on the stock server's side meanwhile is taken over the next time.
        desktop.book("RemoveContacts", &["new".to_owned()]).await;
        desktop
            .book("ModifyContacts", &[card("ada", "Augusta", "")])
            .await;
        let changed = desktop.everything().await;
        let report = desktop.switch("on").await;
        assert!(
            report.contains("system-address-book 2 +0 ~1 -1"),
            "{report}"
        );
        assert!(report.contains("system-calendar 3 +0 ~0 -0"), "{report}");
        assert_eq!(desktop.everything().await, changed);
    });
}

#[test]
fn a_killed_command_can_be_repeated() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.fill().await;
        let mut expected = desktop.everything().await;
        let steps = [
            Step::NamesHeld,
            Step::Compared,
            Step::StateWritten,
            Step::Copied,
            Step::StateUpdated,
            Step::FilesChanged,
            Step::Served,
        ];
        for (round, step) in steps.iter().enumerate() {
            let step = format!("{step:?}");
            let killed = desktop.run("on", &[(KILL_AFTER, &step)]).await;
            assert!(!killed.status.success(), "on is not killed after {step}");
            assert_eq!(desktop.everything().await, expected, "on, {step}");
            desktop.switch("on").await;
            assert_eq!(desktop.everything().await, expected, "on again, {step}");

            let name = format!("Bob {round}");
            desktop
                .book("ModifyContacts", &[card("bob", &name, "")])
                .await;
            let new = card(&format!("new{round}"), "New", "");
            desktop.book("CreateContacts", &[new]).await;
            expected = desktop.everything().await;
            let killed = desktop.run("off", &[(KILL_AFTER, &step)]).await;
            assert!(!killed.status.success(), "off is not killed after {step}");
            assert_eq!(desktop.everything().await, expected, "off, {step}");
            desktop.switch("off").await;
            assert_eq!(desktop.everything().await, expected, "off again, {step}");
        }
        assert!(desktop.owner(BOOKS).await.starts_with("evolution"));
    });
}

#[test]
fn changes_on_both_sides_need_a_decision() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.fill().await;
        desktop.switch("on").await;
        desktop
            .book("ModifyContacts", &[card("bob", "Ours", "")])
            .await;
        // As after a logout: the files are gone, the stock server serves what it has.
        std::fs::remove_dir_all(desktop.bus.dir().join("data/dbus-1")).unwrap();
        desktop.end_service().await;
        desktop
            .book("ModifyContacts", &[card("bob", "Theirs", "")])
            .await;
        let refused = desktop.run("on", &[]).await;
        let message = text(&refused.stderr);
        assert!(!refused.status.success());
        assert!(message.contains("\"bob\" of"), "{message}");
        assert_eq!(value(&desktop.cards().await["bob"], "FN"), "Theirs");

        let out = desktop.run("on", &[(PREFER, "store")]).await;
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert_eq!(value(&desktop.cards().await["bob"], "FN"), "Ours");
        desktop.switch("off").await;
        assert_eq!(value(&desktop.cards().await["bob"], "FN"), "Ours");
    });
}

#[test]
fn other_sources_go_to_the_stock_backends() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        // A local calendar with a file of its own, and one of a backend that nobody has.
        let sources = desktop.bus.dir().join("config/evolution/sources");
        std::fs::create_dir_all(&sources).unwrap();
        let file = desktop.bus.dir().join("own.ics");
        let write = |uid: &str, more: &str| {
            let text = format!(
                "[Data Source]\nDisplayName={uid}\nEnabled=true\nParent=local-stub\n{more}"
            );
            std::fs::write(sources.join(format!("{uid}.source")), text).unwrap();
        };
        let custom = format!("[Local Backend]\nCustomFile={}\n", file.display());
        write(
            "own-file",
            &format!("[Calendar]\nBackendName=local\n{custom}"),
        );
        desktop.fill().await;
        desktop.switch("on").await;

        let (_, owner) = desktop.open("OpenCalendar", "own-file").await;
        assert!(owner.contains("Subprocess.Backend.Calendarx"), "{owner}");
        let event = "BEGIN:VEVENT\r\nUID:own\r\nSUMMARY:Own\r\nDTSTART:20261121T190000Z\r\n\
                     END:VEVENT\r\n";
        desktop
            .add_events("OpenCalendar", "own-file", &[], &[event])
            .await;
        assert_eq!(desktop.events("OpenCalendar", "own-file").await.len(), 1);

        // Birthdays: the stock server's backend reads the store's address book.
        let (_, owner) = desktop.open("OpenCalendar", "birthdays").await;
        assert!(owner.contains("Subprocess.Backend.Calendarx"), "{owner}");
        let birthdays = support::wait_for("three birthdays", async || {
            let birthdays = desktop.events("OpenCalendar", "birthdays").await;
            (birthdays.len() == 3).then_some(birthdays)
        })
        .await;
        assert!(
            birthdays.iter().any(|text| text.contains("Ada")),
            "{birthdays:?}"
        );
    });
}

/// 12,800 contacts, every fourth with a picture. With `ETUI_TEST_LONG=1`.
#[test]
fn a_large_address_book_moves_and_comes_back() {
    if std::env::var_os("ETUI_TEST_LONG").is_none() {
        return;
    }
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.fill().await;
        let picture = "QUJD".repeat(4_000);
        let cards: Vec<String> = (0..12_800)
            .map(|n| {
                let photo = format!("PHOTO;ENCODING=b;TYPE=JPEG:{picture}{n:08}\r\n");
                let photo = if n % 4 == 0 { photo.as_str() } else { "" };
                card(&format!("person-{n}"), &format!("Person {n}"), photo)
            })
            .collect();
        for batch in cards.chunks(200) {
            desktop.book("CreateContacts", batch).await;
        }
        let before = desktop.everything().await;
        assert_eq!(before.0.len(), 12_803);
        let began = std::time::Instant::now();
        desktop.switch("on").await;
        eprintln!("on: {:.1?}", began.elapsed());
        assert!(desktop.everything().await == before, "on");
        desktop
            .book("ModifyContacts", &[card("person-7", "Changed", "")])
            .await;
        let changed = desktop.everything().await;
        let began = std::time::Instant::now();
        desktop.switch("off").await;
        eprintln!("off: {:.1?}", began.elapsed());
        assert!(desktop.everything().await == changed, "off");
    });
}
