//! The service as a process that a private bus starts: the test program itself, run with the test
//! [`serve`], which is ignored otherwise.

use std::path::PathBuf;

use etui_dbus::{BUS_NAME, ServeOptions};
use etui_testkit::bus::PrivateBus;
use etui_testkit::own_process::ProgramOfTest;
use zbus::{Connection, block_on};

/// The variable that names the store to the process of the service.
const STORE: &str = "ETUI_DBUS_TEST_STORE";

/// Serves, if the bus started this process.
#[test]
#[ignore = "the bus runs it as the service"]
fn serve() {
    let Some(store) = std::env::var_os(STORE).map(PathBuf::from) else {
        return;
    };
    let options = ServeOptions {
        store,
        options: etui::Options::default(),
        address: None,
        idle_exit: None,
        end_on_signals: false,
    };
    etui_dbus::serve(options).unwrap();
}

/// Starts a bus that knows the service.
pub fn start_bus() -> PrivateBus {
    let bus = PrivateBus::start().unwrap();
    let serve = ProgramOfTest::new(serve).shell_words().unwrap();
    // The bus gives its services a closed standard output, which the test program writes to.
    let exec = format!(
        "/bin/sh -c \"{STORE}='{}' exec {serve} >&2\"",
        store(&bus).display()
    );
    bus.add_service(BUS_NAME, &exec).unwrap();
    bus
}

/// The path of the service's store.
pub fn store(bus: &PrivateBus) -> PathBuf {
    bus.dir().join("store.etui")
}

/// Returns the process of the service, if it runs.
pub fn of_service(connection: &Connection) -> Option<u32> {
    let bus = "org.freedesktop.DBus";
    let (path, method) = ("/org/freedesktop/DBus", "GetConnectionUnixProcessID");
    let call = connection.call_method(Some(bus), path, Some(bus), method, &BUS_NAME);
    Some(block_on(call).ok()?.body().deserialize().unwrap())
}
