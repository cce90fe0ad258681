//! A private desktop session: a bus, the stock registry of sources, and this service in the place
//! of Evolution Data Server's factories.
//!
//! The bus starts the service as a process: the test program itself, told to run the test
//! [`serve`], which is ignored otherwise.

use std::future::Future;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use etui_testkit::bus::PrivateBus;
use etui_testkit::own_process::ProgramOfTest;
use etui_testkit::wait::{LIMIT, PAUSE};
use futures_lite::{StreamExt, future};
use zbus::message::Type;
use zbus::{Connection, MatchRule, Message, MessageStream};
use zruntime::SharedRuntime;

/// The variable that names the store to the process of the service.
pub const STORE: &str = "ETUI_EDS_TEST_STORE";
/// The variable of a service that the files of switching start.
pub const ONLY_IF_ON: &str = "ETUI_EDS_TEST_ONLY_IF_ON";
/// Signals that wait to be read. When there are more, the connection stops, replies included.
const QUEUED: usize = 100_000;

pub const BOOKS: &str = "org.gnome.evolution.dataserver.AddressBook10";
pub const CALENDARS: &str = "org.gnome.evolution.dataserver.Calendar8";

/// Serves, if the bus started this process.
#[test]
#[ignore = "the bus runs it as the service"]
fn serve() {
    let Some(store) = std::env::var_os(STORE).map(PathBuf::from) else {
        return;
    };
    etui_eds::server::serve(etui_eds::server::ServeOptions {
        cache_dir: store.with_extension("cache"),
        store,
        options: etui::Options::default(),
        replace: false,
        idle_exit: None,
        only_if_on: std::env::var_os(ONLY_IF_ON).is_some(),
        pass_through: false,
    })
    .unwrap();
}

/// The command of the service, as words of a shell.
pub fn service_command() -> String {
    // The bus gives its services a closed standard output, which the test program writes to.
    ProgramOfTest::new(serve).shell_words().unwrap() + " >&2"
}

/// A session with one client.
pub struct Desktop {
    pub bus: PrivateBus,
    pub client: Client,
}

/// A client on the bus, with the signals that it gets.
pub struct Client {
    pub connection: Connection,
    signals: MessageStream,
}

impl Desktop {
    /// Starts a session with the stock factories.
    pub async fn start_stock() -> Option<Self> {
        let bus = start_bus()?;
        for (name, program) in [(BOOKS, "addressbook"), (CALENDARS, "calendar")] {
            let locale = locale_variables(&bus);
            let program = format!("/usr/libexec/evolution-{program}-factory");
            bus.add_service(name, &format!("/usr/bin/env {locale} {program}"))
                .unwrap();
        }
        let client = Client::connect(&bus).await;
        Some(Self { bus, client })
    }

    /// Starts a session; `None` where Evolution Data Server is not installed.
    pub async fn start() -> Option<Self> {
        let bus = start_bus()?;
        let exec = format!(
            "/bin/sh -c \"{} {STORE}='{}' exec {}\"",
            locale_variables(&bus),
            bus.dir().join("store.etui").display(),
            service_command()
        );
        for name in [BOOKS, CALENDARS] {
            bus.add_service(name, &exec).unwrap();
        }
        let client = Client::connect(&bus).await;
        Some(Self { bus, client })
    }

    /// The path of the service's store.
    pub fn store(&self) -> PathBuf {
        self.bus.dir().join("store.etui")
    }
}

/// The variables of the locale en_US, which is made for the session where the system lacks it.
fn locale_variables(bus: &PrivateBus) -> String {
    let locales = bus.dir().join("locales");
    if !locales.exists() {
        std::fs::create_dir(&locales).unwrap();
        let made = std::process::Command::new("localedef")
            .args(["-i", "en_US", "-f", "UTF-8"])
            .arg(locales.join("en_US.UTF-8"))
            .status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("the locale en_US.UTF-8 is not made: localedef failed");
        }
    }
    format!("LANG=en_US.UTF-8 LOCPATH={}", locales.display())
}

/// Starts a bus with the stock registry of sources.
fn start_bus() -> Option<PrivateBus> {
    let bus = PrivateBus::start().unwrap();
    let registry = "org.gnome.evolution.dataserver.Sources5";
    if bus.add_system_service(registry).is_err() {
        eprintln!("skipped: the package evolution-data-server is not installed");
        return None;
    }
    Some(bus)
}

impl Client {
    pub async fn connect(bus: &PrivateBus) -> Self {
        let connection = connect(bus).await;
        let rule = MatchRule::builder().msg_type(Type::Signal).build().unwrap();
        let signals = MessageStream::for_match_rule(rule, &connection, NonZeroUsize::new(QUEUED));
        Self {
            signals: signals.await.unwrap(),
            connection,
        }
    }

    /// Calls a method; the error is the name of the error.
    pub async fn call<B>(
        &self,
        destination: &str,
        path: &str,
        interface: &str,
        method: &str,
        body: B,
    ) -> Result<Message, String>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        call(&self.connection, destination, path, interface, method, body).await
    }

    /// The process that owns a bus name.
    pub async fn process_of(&self, name: &str) -> u32 {
        process_of(&self.connection, name).await.unwrap()
    }

    /// Waits for a signal of an object.
    pub async fn signal(&mut self, path: &str, name: &str) -> Message {
        let next = async {
            loop {
                let message = self.signals.next().await.unwrap().unwrap();
                let header = message.header();
                let is_wanted = header.path().is_some_and(|p| p.as_str() == path)
                    && header.member().is_some_and(|m| m.as_str() == name);
                if is_wanted {
                    return message.clone();
                }
            }
        };
        within(next, name).await
    }

    /// Returns whether a signal of an object was sent to the client before now. Those before it are
    /// read.
    pub async fn has_heard(&mut self, path: &str, name: &str) -> bool {
        // The bus answers after what it has already sent.
        let bus = Some("org.freedesktop.DBus");
        let last = self
            .connection
            .call_method(bus, "/org/freedesktop/DBus", bus, "GetId", &());
        within(last, "GetId").await.unwrap();
        while let Some(message) = future::poll_once(self.signals.next()).await {
            let message = message.unwrap().unwrap();
            let header = message.header();
            if header.path().is_some_and(|p| p.as_str() == path)
                && header.member().is_some_and(|m| m.as_str() == name)
            {
                return true;
            }
        }
        false
    }
}

/// Returns the process that owns a bus name, if there is one.
pub async fn process_of(connection: &Connection, name: &str) -> Option<u32> {
    let bus = "org.freedesktop.DBus";
    let reply = connection.call_method(
        Some(bus),
        "/org/freedesktop/DBus",
        Some(bus),
        "GetConnectionUnixProcessID",
        &name,
    );
    reply.await.ok()?.body().deserialize().ok()
}

/// Connects to a bus, without its signals.
pub async fn connect(bus: &PrivateBus) -> Connection {
    let builder = zbus::connection::Builder::address(bus.address());
    builder.build().await.unwrap()
}

/// Calls a method; the error is the name of the error.
pub async fn call<B>(
    connection: &Connection,
    destination: &str,
    path: &str,
    interface: &str,
    method: &str,
    body: B,
) -> Result<Message, String>
where
    B: serde::Serialize + zbus::DynamicType,
{
    let interface = format!("org.gnome.evolution.dataserver.{interface}");
    let call = connection.call_method(
        Some(destination),
        path,
        Some(interface.as_str()),
        method,
        &body,
    );
    within(call, method).await.map_err(|error| match error {
        zbus::Error::MethodError(name, ..) => name.to_string(),
        zbus::Error::FDO(error) => zbus::DBusError::name(&*error).to_string(),
        other => panic!("{method}: {other}"),
    })
}

/// Waits for an answer or a signal. One that takes longer than [`LIMIT`] does not come.
pub async fn within<T>(work: impl Future<Output = T>, what: &str) -> T {
    let runtime = SharedRuntime::current().unwrap();
    let late = async {
        runtime.sleep(LIMIT).await;
        panic!("not within {LIMIT:?}: {what}");
    };
    future::or(work, late).await
}

/// [`etui_testkit::wait::wait_for`] inside of the runtime, which serves the connections of all tests
/// meanwhile.
pub async fn wait_for<T>(what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let runtime = SharedRuntime::current().unwrap();
    let found = async {
        loop {
            if let Some(value) = poll().await {
                return value;
            }
            runtime.sleep(PAUSE).await;
        }
    };
    within(found, what).await
}

/// The name of a client error.
pub fn error_name(domain: &str, code: u32) -> String {
    let domain = domain.replace('-', "_2d");
    format!("org.gtk.GDBus.UnmappedGError.Quark._{domain}.Code{code}")
}

impl Drop for Desktop {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the bus and its services wrote:\n{}", self.bus.log());
        }
    }
}
