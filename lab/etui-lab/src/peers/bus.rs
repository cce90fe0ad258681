//! [`BusClient`]: a client of services on a bus.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zbus::wire::{DynamicType, Type};
use zbus::{Connection, block_on};

use crate::error::Error;

/// Time after which a service that was asked to end is hung.
const MAX_END: Duration = Duration::from_secs(10);

/// A connection to a bus.
#[derive(Debug, Clone)]
pub struct BusClient {
    connection: Connection,
}

/// An object's interface: destination, path, interface.
#[derive(Debug, Clone, Copy)]
pub struct RemoteObject<'a>(pub &'a str, pub &'a str, pub &'a str);

const BUS: RemoteObject<'static> = RemoteObject(
    "org.freedesktop.DBus",
    "/org/freedesktop/DBus",
    "org.freedesktop.DBus",
);

impl BusClient {
    /// Connects to a bus.
    pub fn connect(address: &str) -> Result<Self, Error> {
        let connection = block_on(zbus::connection::Builder::address(address).build())?;
        Ok(Self { connection })
    }

    /// Calls a method.
    pub fn call<B, T>(
        &self,
        RemoteObject(destination, path, interface): RemoteObject<'_>,
        method: &str,
        body: &B,
    ) -> Result<T, Error>
    where
        B: Serialize + DynamicType,
        T: Type + DeserializeOwned,
    {
        let (to, interface) = (Some(destination), Some(interface));
        let reply = block_on(
            self.connection
                .call_method(to, path, interface, method, body),
        )?;
        Ok(reply.body().deserialize()?)
    }

    /// The process that owns a name.
    pub fn process_of(&self, name: &str) -> Result<u32, Error> {
        self.call(BUS, "GetConnectionUnixProcessID", &name)
    }

    /// Ends the service that owns a name, and waits until its process is gone.
    pub fn end_service(&self, name: &str) -> Result<(), Error> {
        let pid = self.process_of(name)?;
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Error::other("the service is in another name space"))?;
        // It may be gone already.
        let _ = kill_process(pid, Signal::TERM);
        let until = Instant::now() + MAX_END;
        while test_kill_process(pid).is_ok() || self.call(BUS, "NameHasOwner", &name)? {
            if Instant::now() > until {
                return Err(Error::other(format!("{name} does not end")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}
