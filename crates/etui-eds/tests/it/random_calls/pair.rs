//! [`Peer`]: one of the two services under comparison, on a bus of its own.

use std::path::Path;
use std::sync::{Arc, Mutex};

use etui_testkit::bus::PrivateBus;
use etui_testkit::wait::LIMIT;
use futures_lite::{StreamExt, future};
use zbus::message::Type;
use zbus::{Connection, MatchRule, Message, MessageStream};
use zruntime::SharedRuntime;

use crate::support::{BOOKS, CALENDARS, Desktop};

const PREFIX: &str = "org.gnome.evolution.dataserver";

/// A service and one client of it.
pub struct Peer {
    /// `stock` or `ours`.
    pub name: &'static str,
    connection: Connection,
    signals: Arc<Mutex<Vec<Message>>>,
    bus: PeerBus,
}

enum PeerBus {
    Stock(PrivateBus),
    Ours(Box<Desktop>),
}

impl Peer {
    /// Starts a bus with the stock server. The sources are there from the start.
    pub fn start_stock(sources: &[(String, String)]) -> Self {
        let bus = PrivateBus::start().unwrap();
        for service in [BOOKS, CALENDARS, "org.gnome.evolution.dataserver.Sources5"] {
            bus.add_system_service(service).unwrap_or_else(|e| {
                panic!(
                    "Evolution Data Server is missing ({service}: {e}); install it with \
                     `apt-get install evolution-data-server`, as `scripts/test` does"
                )
            });
        }
        Self::connect("stock", PeerBus::Stock(bus), sources)
    }

    /// Starts a bus with this service and the stock registry of sources.
    pub fn start_ours(sources: &[(String, String)]) -> Self {
        let desktop = zbus::block_on(Desktop::start());
        let desktop = desktop.expect("Evolution Data Server is missing");
        Self::connect("ours", PeerBus::Ours(Box::new(desktop)), sources)
    }

    fn connect(name: &'static str, bus: PeerBus, sources: &[(String, String)]) -> Self {
        let (address, dir) = match &bus {
            PeerBus::Stock(bus) => (bus.address(), bus.dir()),
            PeerBus::Ours(desktop) => (desktop.bus.address(), desktop.bus.dir()),
        };
        write_sources(dir, sources);
        let signals = Arc::new(Mutex::new(Vec::new()));
        let heard = signals.clone();
        let connection = zbus::block_on(async {
            let builder = zbus::connection::Builder::address(address);
            let connection = builder.build().await.unwrap();
            let rule = MatchRule::builder().msg_type(Type::Signal).build().unwrap();
            let stream =
                MessageStream::for_match_rule(rule, &connection, std::num::NonZero::new(4096));
            let mut stream = stream.await.unwrap();
            zruntime::spawn(async move {
                while let Some(Ok(signal)) = stream.next().await {
                    heard.lock().unwrap().push(signal);
                }
            })
            .detach();
            connection
        });
        Self {
            name,
            connection,
            signals,
            bus,
        }
    }

    /// Calls a method of one of the factories or of what they opened. The error is its name.
    pub fn call<B>(
        &self,
        destination: &str,
        path: &str,
        interface: &str,
        method: &str,
        body: &B,
    ) -> Result<Message, String>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let interface = match interface.contains('.') {
            true => interface.to_owned(),
            false => format!("{PREFIX}.{interface}"),
        };
        let reply = zbus::block_on(async {
            let late = async {
                let runtime = SharedRuntime::current().unwrap();
                runtime.sleep(LIMIT).await;
                panic!(
                    "{}: {method}: no answer within {LIMIT:?}\n{}",
                    self.name,
                    self.log()
                );
            };
            let call = self.connection.call_method(
                Some(destination),
                path,
                Some(interface.as_str()),
                method,
                body,
            );
            future::or(call, late).await
        });
        reply.map_err(|error| match error {
            zbus::Error::MethodError(name, ..) => name.to_string(),
            zbus::Error::FDO(error) => format!("{error}"),
            other => panic!("{}: {method}: {other}\n{}", self.name, self.log()),
        })
    }

    /// Reads a property as text.
    pub fn property(&self, destination: &str, path: &str, interface: &str, name: &str) -> String {
        let body = (format!("{PREFIX}.{interface}"), name);
        let reply = self.call(
            destination,
            path,
            "org.freedesktop.DBus.Properties",
            "Get",
            &body,
        );
        match reply {
            Ok(reply) => {
                let value: zbus::OwnedVariant = reply.body().deserialize().unwrap();
                match &*value {
                    zbus::Variant::Str(text) => text.to_string(),
                    zbus::Variant::U32(number) => number.to_string(),
                    other => format!("{other:?}"),
                }
            }
            Err(error) => error,
        }
    }

    /// Takes the signals that have come.
    pub fn take_signals(&self) -> Vec<Message> {
        std::mem::take(&mut self.signals.lock().unwrap())
    }

    /// What the service wrote to standard error.
    pub fn log(&self) -> String {
        match &self.bus {
            PeerBus::Stock(bus) => bus.log(),
            PeerBus::Ours(desktop) => desktop.bus.log(),
        }
    }
}

/// Writes sources for the registry: UID and the section that says what the source holds.
fn write_sources(dir: &Path, sources: &[(String, String)]) {
    let folder = dir.join("config/evolution/sources");
    std::fs::create_dir_all(&folder).unwrap();
    for (uid, section) in sources {
        let text = format!(
            "[Data Source]\nDisplayName={uid}\nEnabled=true\nParent=local-stub\n\n\
             [{section}]\nBackendName=local\n"
        );
        std::fs::write(folder.join(format!("{uid}.source")), text).unwrap();
    }
}
