//! [`Link`]: a client's connection to an opened source.

use std::collections::BTreeMap;

use zbus::{Connection, Message};

use crate::support::{BOOKS, CALENDARS, Client, wait_for, within};

/// A kind of source, and its methods.
pub struct SourceKind {
    /// The bus name.
    pub bus_name: &'static str,
    factory: &'static str,
    open: &'static str,
    source: &'static str,
    /// The interface of the opened object.
    pub interface: &'static str,
    list: &'static str,
    /// The query that matches every record.
    pub everything: &'static str,
}

pub const BOOK: SourceKind = SourceKind {
    bus_name: BOOKS,
    factory: "AddressBookFactory",
    open: "OpenAddressBook",
    source: "system-address-book",
    interface: "AddressBook",
    list: "GetContactList",
    everything: "(contains \"x-evolution-any-field\" \"\")",
};

pub const CALENDAR: SourceKind = SourceKind {
    bus_name: CALENDARS,
    factory: "CalendarFactory",
    open: "OpenCalendar",
    source: "system-calendar",
    interface: "Calendar",
    list: "GetObjectList",
    everything: "#t",
};

impl SourceKind {
    /// Returns true for the kind with cards.
    pub fn is_book(&self) -> bool {
        self.interface == BOOK.interface
    }
}

/// The service ended before it answered: the effect of the call is not known.
#[derive(Debug)]
pub struct Lost;

/// A connection with an opened source.
pub struct Link {
    pub connection: Connection,
    pub kind: &'static SourceKind,
    path: String,
}

impl Link {
    /// Connects and opens the source.
    pub async fn open(address: &str, kind: &'static SourceKind) -> Self {
        let builder = zbus::connection::Builder::address(address);
        let mut link = Self {
            connection: builder.build().await.unwrap(),
            kind,
            path: String::new(),
        };
        link.reopen().await;
        link
    }

    /// Opens the source again, which starts the service.
    pub async fn reopen(&mut self) {
        wait_for("the service comes back", async || {
            self.try_open().await.ok()
        })
        .await;
    }

    async fn try_open(&mut self) -> Result<(), Lost> {
        let kind = self.kind;
        let factory = format!("/org/gnome/evolution/dataserver/{}", kind.factory);
        let reply = self
            .call_at(&factory, kind.factory, kind.open, &kind.source)
            .await?;
        let (path, bus_name): (String, String) = reply.body().deserialize().unwrap();
        assert_eq!(bus_name, kind.bus_name);
        self.path = path;
        self.call("Open", &()).await.map(|_| ())
    }

    /// Calls a method of the opened source.
    pub async fn call<B>(&self, method: &str, body: &B) -> Result<Message, Lost>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        self.call_at(&self.path, self.kind.interface, method, body)
            .await
    }

    /// Calls a method of an object. Any refusal fails the test, and so does silence.
    pub async fn call_at<B>(
        &self,
        path: &str,
        interface: &str,
        method: &str,
        body: &B,
    ) -> Result<Message, Lost>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let interface = format!("org.gnome.evolution.dataserver.{interface}");
        let call = self.connection.call_method(
            Some(self.kind.bus_name),
            path,
            Some(interface.as_str()),
            method,
            body,
        );
        match within(call, method).await {
            Ok(reply) => Ok(reply),
            Err(zbus::Error::FDO(error)) if is_lost(&error) => Err(Lost),
            Err(error) => panic!("{method}: {error}"),
        }
    }

    /// Returns all records of the source by UID.
    pub async fn list(&self) -> Result<BTreeMap<String, String>, Lost> {
        let reply = self.call(self.kind.list, &self.kind.everything).await?;
        let texts: Vec<String> = reply.body().deserialize().unwrap();
        Ok(texts.into_iter().map(|t| (uid_of(&t), t)).collect())
    }
}

/// Returns true if the service ended before it answered, or an earlier process had the object.
fn is_lost(error: &zbus::fdo::Error) -> bool {
    use zbus::fdo::Error::*;
    matches!(
        error,
        NoReply(_)
            | UnknownObject(_)
            | ServiceUnknown(_)
            | NameHasNoOwner(_)
            | SpawnChildExited(_)
            | SpawnChildSignaled(_)
    )
}

/// Returns the UID of a card or a component.
pub fn uid_of(text: &str) -> String {
    let mut lines = text.lines();
    let uid = lines.find_map(|line| line.strip_prefix("UID:"));
    uid.unwrap().to_owned()
}

impl Client {
    /// Returns the process that owns the name of address books.
    pub async fn service_process(&self) -> Option<i32> {
        let call = self.connection.call_method(
            Some("org.freedesktop.DBus"),
            "/org/freedesktop/DBus",
            Some("org.freedesktop.DBus"),
            "GetConnectionUnixProcessID",
            &BOOKS,
        );
        let process: u32 = call.await.ok()?.body().deserialize().unwrap();
        i32::try_from(process).ok()
    }
}
