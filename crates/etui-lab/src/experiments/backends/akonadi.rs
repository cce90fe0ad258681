//! Akonadi's address book, through our client.

use std::path::Path;

use super::StoreBackend;
use crate::error::Error;
use crate::peers::akonadi::AkonadiSession;
use crate::peers::client::{CommandClient, TimedAnswer};

/// An address book of a session.
pub struct AkonadiBackend {
    // Before the session: fields are dropped in this order.
    client: CommandClient,
    session: AkonadiSession,
}

impl AkonadiBackend {
    /// A new address book.
    pub fn create(session: AkonadiSession) -> Result<Self, Error> {
        let mut client = session.client()?;
        client.ask(&["create"])?;
        client.ask(&["connect"])?;
        Ok(Self { client, session })
    }

    /// One that a session was in before.
    pub fn open(session: AkonadiSession) -> Result<Self, Error> {
        let mut client = session.client()?;
        client.ask(&["connect"])?;
        Ok(Self { client, session })
    }

    /// Reads the file of records to be saved; their number.
    pub fn load(&mut self, file: &Path) -> Result<u64, Error> {
        self.client.load(file)
    }
}

impl StoreBackend for AkonadiBackend {
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
        self.client.ask(&["connect"])
    }

    fn hold_all(&mut self) -> Result<(), Error> {
        self.client.ask(&["hold"])?;
        Ok(())
    }

    fn finish_writes(&mut self) -> Result<Option<TimedAnswer>, Error> {
        self.client.ask(&["flush"]).map(Some)
    }

    fn process_ids(&self) -> Vec<u32> {
        let mut pids = self.session.servers();
        pids.push(self.client.pid());
        pids
    }

    fn writer_id(&self) -> Result<u32, Error> {
        self.session.server()
    }
}
