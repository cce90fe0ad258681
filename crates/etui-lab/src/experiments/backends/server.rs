//! Evolution Data Server's book or calendar, through our client.

use std::path::Path;

use super::StoreBackend;
use crate::error::Error;
use crate::peers::eds::{CommandClient, EdsSession, TimedAnswer};

/// A book or calendar of a session.
pub struct EdsBackend {
    // Before the session: fields are dropped in this order.
    client: CommandClient,
    session: EdsSession,
    connect: Vec<String>,
}

impl EdsBackend {
    /// One that the command `connect` opens; made by `create` first, if that is given.
    pub fn open(
        session: EdsSession,
        create: Option<&[&str]>,
        connect: &[&str],
    ) -> Result<Self, Error> {
        let mut client = session.client()?;
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

    /// Reads the file of records to be saved.
    pub fn load(&mut self, file: &Path) -> Result<(), Error> {
        self.client.load(file)?;
        Ok(())
    }

    /// Gives the client a command.
    pub fn ask(&mut self, words: &[&str]) -> Result<TimedAnswer, Error> {
        self.client.ask(words)
    }
}

impl StoreBackend for EdsBackend {
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

    fn process_ids(&self) -> Vec<u32> {
        let mut pids = self.session.servers();
        pids.push(self.client.pid());
        pids
    }

    fn writer_id(&self) -> Result<u32, Error> {
        self.session.factory()
    }
}
