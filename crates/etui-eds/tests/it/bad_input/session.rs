//! [`Session`]: a private desktop with an opened address book and calendar.

use std::io::Write;
use std::os::unix::net::UnixStream;

use etui_testkit::bus::private_memory;
use serde::de::DeserializeOwned;
use zbus::message::Message;
use zbus::{Connection, wire};

use crate::support::{BOOKS, CALENDARS, Desktop, connect, within};

/// The query that matches every contact.
pub const EVERYONE: &str = "(contains \"x-evolution-any-field\" \"\")";

/// A desktop with two opened sources.
pub struct Session {
    pub desktop: Desktop,
    pub client: Connection,
    pub book: String,
    pub calendar: String,
    service: u32,
}

/// One of the two opened sources.
#[derive(Clone, Copy, PartialEq)]
pub enum Source {
    Book,
    Calendar,
}

use Source::{Book, Calendar};

impl Source {
    pub fn bus_name(self) -> &'static str {
        match self {
            Book => BOOKS,
            Calendar => CALENDARS,
        }
    }

    pub fn interface(self) -> &'static str {
        match self {
            Book => "org.gnome.evolution.dataserver.AddressBook",
            Calendar => "org.gnome.evolution.dataserver.Calendar",
        }
    }
}

impl Session {
    /// Starts a session; `None` where Evolution Data Server is not installed.
    pub fn start() -> Option<Self> {
        let desktop = zbus::block_on(Desktop::start())?;
        let client = zbus::block_on(connect(&desktop.bus));
        let mut session = Self {
            desktop,
            client,
            book: String::new(),
            calendar: String::new(),
            service: 0,
        };
        let root = "/org/gnome/evolution/dataserver";
        for (source, factory, method, uid) in [
            (
                Book,
                "AddressBookFactory",
                "OpenAddressBook",
                "system-address-book",
            ),
            (
                Calendar,
                "CalendarFactory",
                "OpenCalendar",
                "system-calendar",
            ),
        ] {
            let (path, interface) = (
                format!("{root}/{factory}"),
                format!("org.gnome.evolution.dataserver.{factory}"),
            );
            let target = (source.bus_name(), path.as_str(), interface.as_str());
            let reply = session.try_call(target, method, &uid).unwrap();
            let (path, _): (String, String) = reply.body().deserialize().unwrap();
            match source {
                Book => session.book = path,
                Calendar => session.calendar = path,
            }
            session.call::<_, Vec<String>>(source, "Open", &()).unwrap();
        }
        let bus = "org.freedesktop.DBus";
        let target = (bus, "/org/freedesktop/DBus", bus);
        let reply = session.try_call(target, "GetConnectionUnixProcessID", &BOOKS);
        session.service = reply.unwrap().body().deserialize().unwrap();
        Some(session)
    }

    pub fn path(&self, source: Source) -> &str {
        match source {
            Book => &self.book,
            Calendar => &self.calendar,
        }
    }

    /// Calls a method of a source; the error is its name.
    pub fn call<B, T>(&self, source: Source, method: &str, body: &B) -> Result<T, String>
    where
        B: serde::Serialize + zbus::DynamicType,
        T: wire::Type + DeserializeOwned,
    {
        let target = (source.bus_name(), self.path(source), source.interface());
        let reply = self.try_call(target, method, body)?;
        Ok(reply.body().deserialize().unwrap())
    }

    /// Calls a method of an object: bus name, path and interface. The error is its name.
    pub fn try_call<B>(
        &self,
        (bus_name, path, interface): (&str, &str, &str),
        method: &str,
        body: &B,
    ) -> Result<Message, String>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let call = self
            .client
            .call_method(Some(bus_name), path, Some(interface), method, body);
        zbus::block_on(within(call, method)).map_err(|error| match error {
            zbus::Error::MethodError(name, ..) => name.to_string(),
            zbus::Error::FDO(error) => zbus::DBusError::name(&*error).to_string(),
            other => panic!("{method}: {other}"),
        })
    }

    /// A call to a source as bytes, for a socket.
    pub fn message<B>(&self, source: Source, method: &str, body: &B) -> Message
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        Message::method_call(self.path(source), method)
            .interface(source.interface())
            .destination(source.bus_name())
            .build(body)
            .unwrap()
    }

    /// Connects a socket to the bus, which is not read.
    pub fn socket(&self) -> UnixStream {
        let mut socket = self.desktop.bus.connect_socket().unwrap();
        let bus = "org.freedesktop.DBus";
        let hello = Message::method_call("/org/freedesktop/DBus", "Hello")
            .interface(bus)
            .destination(bus)
            .build(&())
            .unwrap();
        socket.write_all(hello.data()).unwrap();
        socket
    }

    /// The service's private memory.
    pub fn memory(&self) -> u64 {
        private_memory(self.service).unwrap()
    }

    /// Expects that a client is answered as ever.
    pub fn expect_answers(&self) {
        let missing = self.call::<_, String>(Book, "GetContact", &"nobody");
        assert!(
            missing
                .unwrap_err()
                .ends_with("book_2dclient_2derror_2dquark.Code1")
        );
        let missing = self.call::<_, String>(Calendar, "GetObject", &("nothing", ""));
        assert!(
            missing
                .unwrap_err()
                .ends_with("cal_2dclient_2derror_2dquark.Code1")
        );
    }
}
