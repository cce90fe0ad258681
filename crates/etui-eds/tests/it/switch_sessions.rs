//! Switching beside what else there is: open programs, other stores, other buses and homes, names twice.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use etui_testkit::bus::PrivateBus;
use zbus::Connection;

use crate::support::{self, BOOKS, CALENDARS, wait_for};
use crate::switch::{Stock, text};

/// A client of the bus under a program's name: `NAME` holds what `SCRIPT` of Python opens.
struct Program(Child);

impl Program {
    /// Starts the program and waits until it has printed a line.
    fn start(desktop: &Stock, name: &str, script: &str) -> Self {
        let file = desktop.bus.dir().join(name);
        let script = format!("#!/usr/bin/python3\n{PRELUDE}{script}\n{WAIT}");
        std::fs::write(&file, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).unwrap();
        let mut child = desktop
            .bus
            .command(&file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "ready\n", "{name}");
        Self(child)
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const PRELUDE: &str = "\
import gi
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
E = 'org.gnome.evolution.dataserver.'
def follow(sender):
    bus.signal_subscribe(sender, None, None, None, None, 0, lambda *a: None)
def own(name):
    Gio.bus_own_name_on_connection(bus, name, 0, None, None)
";
const WAIT: &str =
    "bus.call_sync('org.freedesktop.DBus', '/', 'org.freedesktop.DBus', 'GetId', None, None, 0, -1)
print('ready', flush=True)
GLib.MainLoop().run()
";

fn has_python() -> bool {
    let found = Command::new("/usr/bin/python3")
        .args(["-c", "from gi.repository import Gio"])
        .status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: python3-gi is not installed");
    }
    found
}

#[test]
fn open_programs_are_named() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await.filter(|_| has_python()) else {
            return;
        };
        let programs = [
            ("follows-books", "follow(E + 'AddressBook10')", true),
            ("follows-events", "follow(E + 'Calendar8')", true),
            (
                "follows-helper",
                "follow(E + 'Subprocess.Backend.Calendarx1x1')",
                true,
            ),
            ("lists-sources", "follow(E + 'Sources5')", false),
            ("does-nothing", "", false),
            ("gnome-calendar", "", true),
            ("in-a-sandbox", "own('org.gnome.Contacts')", true),
        ];
        let running: Vec<Program> = programs
            .iter()
            .map(|(name, script, _)| Program::start(&desktop, name, script))
            .collect();
        for direction in ["on", "off"] {
            let report = desktop.switch(direction).await;
            for ((name, _, is_named), program) in programs.iter().zip(&running) {
                let line = match *name {
                    "gnome-calendar" => {
                        format!("open GNOME Calendar gnome-calendar {}", program.id())
                    }
                    "in-a-sandbox" => format!("open GNOME Contacts in-a-sandbox {}", program.id()),
                    name => format!("open {name} {name} {}", program.id()),
                };
                assert_eq!(
                    report.contains(&line),
                    *is_named,
                    "{direction}: {name}\n{report}"
                );
            }
        }
        // Nothing is switched the second time.
        assert!(!desktop.switch("off").await.contains("open "));
    });
}

#[test]
fn the_reminders_start_again() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await.filter(|_| has_python()) else {
            return;
        };
        // The program itself needs a screen.
        let count = desktop.bus.dir().join("count");
        let script = format!(
            "own('org.gnome.Evolution-alarm-notify')\nopen('{}', 'a').write('x')",
            count.display()
        );
        let program = Program::start(&desktop, "evolution-alarm-notify", &script);
        let report = desktop.switch("on").await;
        assert!(
            report.contains("restarted the reminders of Evolution"),
            "{report}"
        );
        assert!(
            !report.contains(&format!(" {}\n", program.id())),
            "{report}"
        );
        wait_for("the second start", async || {
            (std::fs::read_to_string(&count).ok()? == "xx").then_some(())
        })
        .await;
        let process = wait_for("its bus name", async || {
            support::process_of(&desktop.client, "org.gnome.Evolution-alarm-notify").await
        })
        .await;
        assert_ne!(process, program.id());
        let pid = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
}

#[test]
fn a_second_store_is_refused() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.fill().await;
        let store = |name: &str| desktop.bus.dir().join(name).display().to_string();
        let (first, second) = (store("store.etui"), store("second.etui"));
        desktop.switch("on").await;
        let cards = desktop.cards().await;
        for direction in ["on", "off"] {
            let refused = desktop.run(direction, &[(support::STORE, &second)]).await;
            let message = text(&refused.stderr);
            assert!(!refused.status.success(), "{direction}");
            assert!(message.contains(&first), "{direction}: {message}");
            assert!(message.contains("eds off"), "{direction}: {message}");
            assert_eq!(desktop.cards().await, cards, "{direction}");
        }
        // By another path it is the same store.
        symlink(&first, store("link.etui")).unwrap();
        let linked = desktop
            .run("on", &[(support::STORE, &store("link.etui"))])
            .await;
        assert!(linked.status.success(), "{}", text(&linked.stderr));
        // The service runs, though its files are gone.
        std::fs::remove_dir_all(desktop.bus.dir().join("data/dbus-1/services")).unwrap();
        desktop.cards().await;
        let refused = desktop.run("on", &[(support::STORE, &second)]).await;
        assert!(
            text(&refused.stderr).contains(&first),
            "{}",
            text(&refused.stderr)
        );
        desktop.switch("on").await;
        desktop.switch("off").await;
        let out = desktop.run("on", &[(support::STORE, &second)]).await;
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert_eq!(desktop.cards().await, cards);
    });
}

/// A second bus of the user: the same directories, but for those in `own`.
async fn second_session(first: &PrivateBus, own: &[&str]) -> Stock {
    let second = Stock::start().await.unwrap();
    for name in ["data", "config", "cache", "run", "home"] {
        if !own.contains(&name) {
            let dir = second.bus.dir().join(name);
            std::fs::remove_dir_all(&dir).unwrap();
            symlink(first.dir().join(name), dir).unwrap();
        }
    }
    reload(&second.client).await;
    second
}

async fn reload(client: &Connection) {
    let bus = zbus::fdo::DBusProxy::new(client).await.unwrap();
    bus.reload_config().await.unwrap();
}

#[test]
fn services_of_every_session_end() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.fill().await;
        desktop.switch("on").await;
        let other = second_session(&desktop.bus, &[]).await;
        let third = second_session(&desktop.bus, &["run"]).await;
        // The third has files of its own, as of `try` there.
        let services = third.bus.dir().join("run/dbus-1/services");
        std::fs::create_dir_all(&services).unwrap();
        for name in [BOOKS, CALENDARS] {
            let file = format!("{name}.service");
            let from = desktop.bus.dir().join("data/dbus-1/services").join(&file);
            std::fs::copy(from, services.join(&file)).unwrap();
        }
        reload(&third.client).await;
        let cards = desktop.cards().await;
        for session in [&other, &third] {
            assert_eq!(session.cards().await, cards);
            assert!(!session.owner(BOOKS).await.starts_with("evolution"));
        }
        desktop
            .book("CreateContacts", &[crate::switch::card("new", "New", "")])
            .await;
        let services = [&desktop, &other, &third];
        desktop.switch("off").await;
        let cards = desktop.cards().await;
        assert_eq!(cards.len(), 4);
        for (number, session) in services.into_iter().enumerate() {
            // The first call of a session with files of its own ends them.
            wait_for("the stock server serves", async || {
                let opened = support::call(
                    &session.client,
                    BOOKS,
                    "/org/gnome/evolution/dataserver/AddressBookFactory",
                    "AddressBookFactory",
                    "OpenAddressBook",
                    ("system-address-book",),
                );
                opened.await.ok()
            })
            .await;
            let owner = session.owner(BOOKS).await;
            assert!(owner.starts_with("evolution"), "{number}: {owner}");
        }
        assert!(
            !Path::new(&third.bus.dir().join("run/dbus-1/services"))
                .join(format!("{BOOKS}.service"))
                .exists()
        );
    });
}

#[test]
fn a_bus_of_another_home_is_named() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.fill().await;
        let before = desktop.everything().await;
        let elsewhere = desktop.bus.dir().join("elsewhere");
        let elsewhere = elsewhere.to_str().unwrap();
        let refused = desktop.run("on", &[("XDG_DATA_HOME", elsewhere)]).await;
        let message = text(&refused.stderr);
        assert!(!refused.status.success(), "{message}");
        for part in [
            "the bus started evolution-addressbook-factory",
            &format!("does not read {elsewhere}/dbus-1/services"),
            "XDG_DATA_HOME",
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert!(
            !Path::new(elsewhere)
                .join(format!("dbus-1/services/{BOOKS}.service"))
                .exists()
        );
        assert_eq!(desktop.everything().await, before);
        desktop.switch("on").await;
        assert_eq!(desktop.everything().await, before);
    });
}

#[test]
fn books_of_one_name_are_told_apart() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        let sources = desktop.bus.dir().join("config/evolution/sources");
        std::fs::create_dir_all(&sources).unwrap();
        let write = |uid: &str, name: &str, parent: &str, more: &str| {
            let text =
                format!("[Data Source]\nDisplayName={name}\nEnabled=true\nParent={parent}\n{more}");
            std::fs::write(sources.join(format!("{uid}.source")), text).unwrap();
        };
        let local = "[Address Book]\nBackendName=local\n";
        write("friends-1", "Friends", "local-stub", local);
        write("friends-2", "Friends", "local-stub", local);
        write("account", "Cloud", "", "[Collection]\nBackendName=none\n");
        write("mine-1", "Mine", "local-stub", local);
        write("mine-2", "Mine", "account", local);
        write(
            "events",
            "Friends",
            "local-stub",
            "[Calendar]\nBackendName=local\n",
        );
        let report = desktop.switch("on").await;
        for name in [
            "friends-1 \"Friends\" in \"Friends\"",
            "friends-2 \"Friends (2)\" in \"Friends (2)\"",
            "mine-1 \"Mine (On This Computer)\" in \"Mine\"",
            "mine-2 \"Mine (Cloud)\" in \"Mine (2)\"",
            "events \"Friends\" in \"Friends\"",
        ] {
            assert!(report.contains(name), "{name}\n{report}");
        }
        let report = desktop.switch("off").await;
        assert!(
            report.contains("friends-2 \"Friends (2)\" in \"Friends (2)\""),
            "{report}"
        );
    });
}

#[test]
fn two_commands_do_not_switch_at_once() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        let lock = desktop.bus.dir().join("data/dbus-1");
        std::fs::create_dir_all(&lock).unwrap();
        let lock = std::fs::File::create(lock.join("etui-eds.lock")).unwrap();
        lock.lock().unwrap();
        let refused = desktop.run("on", &[]).await;
        assert!(text(&refused.stderr).contains("another command is switching"));
        drop(lock);
        desktop.switch("on").await;
    });
}

#[test]
fn a_missing_program_is_named() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.switch("on").await;
        let services = desktop.bus.dir().join("data/dbus-1/services");
        for name in [BOOKS, CALENDARS] {
            let file = services.join(format!("{name}.service"));
            let text = std::fs::read_to_string(&file).unwrap();
            let exec = text.lines().find(|line| line.starts_with("Exec=")).unwrap();
            std::fs::write(&file, text.replace(exec, "Exec=\"/gone/etui\" \"eds\"")).unwrap();
        }
        // Takes the names from the service and lets them go.
        let service = support::process_of(&desktop.client, BOOKS).await.unwrap();
        let pid = rustix::process::Pid::from_raw(service.cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        wait_for(
            "the end of the service",
            async || match support::process_of(&desktop.client, BOOKS).await {
                Some(_) => None,
                None => Some(()),
            },
        )
        .await;
        reload(&desktop.client).await;
        let open = || {
            desktop.client.call_method(
                Some(BOOKS),
                "/org/gnome/evolution/dataserver/AddressBookFactory",
                Some("org.gnome.evolution.dataserver.AddressBookFactory"),
                "OpenAddressBook",
                &("system-address-book",),
            )
        };
        let message = open().await.unwrap_err().to_string();
        assert!(message.contains("Spawn.ExecFailed"), "{message}");
        assert!(message.contains("No such file"), "{message}");
        // The files go with the next command.
        desktop.switch("off").await;
        open().await.unwrap();
        assert!(desktop.owner(BOOKS).await.starts_with("evolution"));
    });
}

#[test]
fn the_removal_of_the_package_warns() {
    zbus::block_on(async {
        let Some(desktop) = Stock::start().await else {
            return;
        };
        desktop.switch("on").await;
        let id = Command::new("id").arg("-un").output().unwrap();
        let user = text(&id.stdout).trim().to_owned();
        let entry = Command::new("getent").args(["passwd", &user]).output();
        let entry = text(&entry.unwrap().stdout);
        let home = entry.split(':').nth(5).unwrap();
        let root = tempfile::tempdir().unwrap();
        let services = format!("{}{home}/.local/share/dbus-1", root.path().display());
        std::fs::create_dir_all(&services).unwrap();
        symlink(
            desktop.bus.dir().join("data/dbus-1/services"),
            format!("{services}/services"),
        )
        .unwrap();
        let prerm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/debian/prerm");
        let warned = |action: &str| {
            let mut command = Command::new(&prerm);
            let out = command.arg(action).env("DPKG_ROOT", root.path());
            let out = out.output().unwrap();
            assert!(out.status.success());
            text(&out.stderr)
        };
        let warning = warned("remove");
        let store = desktop.bus.dir().join("store.etui");
        let advice = format!(
            "`etui --store '{}' eds off` as {user} before",
            store.display()
        );
        assert!(warning.contains(&advice), "{warning}");
        assert_eq!(warned("upgrade"), "");
        desktop.switch("off").await;
        assert_eq!(warned("remove"), "");
    });
}
