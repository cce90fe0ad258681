//! A collection of a server's, through our client.

use std::path::Path;

use super::StoreBackend;
use crate::error::Error;
use crate::peers::akonadi::AkonadiSession;
use crate::peers::client::{CommandClient, TimedAnswer};
use crate::peers::eds::EdsSession;

/// A private session of a server.
pub trait ServerSession {
    /// The client's command that waits until all writes are done, if a save is answered before.
    const FLUSH: Option<&'static str> = None;

    /// Starts the client.
    fn start_client(&self) -> Result<CommandClient, Error>;

    /// The server's processes.
    fn server_ids(&self) -> Vec<u32>;

    /// The process that writes.
    fn writer_id(&self) -> Result<u32, Error>;
}

impl ServerSession for EdsSession {
    fn start_client(&self) -> Result<CommandClient, Error> {
        self.client()
    }

    fn server_ids(&self) -> Vec<u32> {
        self.servers()
    }

    fn writer_id(&self) -> Result<u32, Error> {
        self.factory()
    }
}

impl ServerSession for AkonadiSession {
    const FLUSH: Option<&'static str> = Some("flush");

    fn start_client(&self) -> Result<CommandClient, Error> {
        self.client()
    }

    fn server_ids(&self) -> Vec<u32> {
        self.servers()
    }

    fn writer_id(&self) -> Result<u32, Error> {
        self.server()
    }
}

/// A collection of a session.
pub struct ServerBackend<S> {
    // Before the session: fields are dropped in this order.
    client: CommandClient,
    session: S,
    connect: Vec<String>,
}

/// A collection of Evolution Data Server.
pub type EdsBackend = ServerBackend<EdsSession>;
/// An address book of Akonadi.
pub type AkonadiBackend = ServerBackend<AkonadiSession>;

impl<S: ServerSession> ServerBackend<S> {
    /// Opens a collection, after it was created if `create` has the command for that.
    pub fn open(session: S, create: Option<&[&str]>, connect: &[&str]) -> Result<Self, Error> {
        let mut client = session.start_client()?;
        if let Some(create) = create {
            client.ask(create)?;
        }
        client.ask(connect)?;
        Ok(Self {
            client,
            session,
            connect: connect.iter().map(|&word| word.to_owned()).collect(),
        })
    }

    /// Reads the file of records to be saved; returns their number.
    pub fn load(&mut self, file: &Path) -> Result<u64, Error> {
        self.client.load(file)
    }

    /// Gives the client a command.
    pub fn ask(&mut self, words: &[&str]) -> Result<TimedAnswer, Error> {
        self.client.ask(words)
    }
}

impl<S: ServerSession> StoreBackend for ServerBackend<S> {
    fn save_batch(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        self.client.batch(from, count)
    }

    fn save_each(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        self.client
            .ask(&["save", &from.to_string(), &count.to_string()])
    }

    fn fetch_all(&mut self) -> Result<TimedAnswer, Error> {
        self.client.ask(&["all"])
    }

    fn fetch_names(&mut self) -> Result<TimedAnswer, Error> {
        self.client.ask(&["names"])
    }

    fn fetch_one(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        self.client.ask_for_uids("get", times, uids)
    }

    fn fetch_many(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        self.client.ask_for_uids("many", times, uids)
    }

    fn close(&mut self) -> Result<TimedAnswer, Error> {
        self.client.ask(&["close"])
    }

    fn open(&mut self) -> Result<TimedAnswer, Error> {
        let words: Vec<&str> = self.connect.iter().map(String::as_str).collect();
        self.client.ask(&words)
    }

    fn hold_all(&mut self) -> Result<(), Error> {
        self.client.ask(&["hold"])?;
        Ok(())
    }

    fn finish_writes(&mut self) -> Result<Option<TimedAnswer>, Error> {
        S::FLUSH.map(|flush| self.client.ask(&[flush])).transpose()
    }

    fn process_ids(&self) -> Vec<u32> {
        let mut pids = self.session.server_ids();
        pids.push(self.client.pid());
        pids
    }

    fn writer_id(&self) -> Result<u32, Error> {
        self.session.writer_id()
    }
}
