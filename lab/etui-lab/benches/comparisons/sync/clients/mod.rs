//! The clients: each is paired with the address book of a server, and then run.

mod etui;
mod neverest;
mod vdirsyncer;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::report;
use super::served::Served;
use etui_lab::{Error, machine};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientKind {
    Etui,
    /// Without `etui` before it.
    EtuiServe,
    Vdirsyncer,
    Neverest,
}

impl ClientKind {
    pub(super) const ALL: [Self; 4] = [
        Self::Etui,
        Self::EtuiServe,
        Self::Vdirsyncer,
        Self::Neverest,
    ];

    pub(super) fn arm_name(self) -> &'static str {
        match self {
            Self::Etui => report::ETUI,
            Self::EtuiServe => report::ETUI_SERVE,
            Self::Vdirsyncer => report::VDIRSYNCER,
            Self::Neverest => report::NEVEREST,
        }
    }

    /// Returns the reason if it cannot run here.
    pub(super) fn missing(self) -> Option<String> {
        let (tool, remedy) = match self {
            Self::Etui | Self::EtuiServe => return etui::check_program().err(),
            Self::Vdirsyncer => (vdirsyncer::PROGRAM, vdirsyncer::REMEDY),
            Self::Neverest => (neverest::PROGRAM, neverest::REMEDY),
        };
        let found = machine::find_tool(tool);
        found
            .is_none()
            .then(|| format!("there is no `{tool}`: {remedy}"))
    }

    /// Pairs an empty copy, in a directory, with the address book.
    pub(super) fn pair(self, dir: &Path, served: &Served) -> Result<Box<dyn SyncClient>, Error> {
        Ok(match self {
            Self::Etui => Box::new(etui::EtuiClient::pair(dir, served, etui::ETUI)?),
            Self::EtuiServe => Box::new(etui::EtuiClient::pair(dir, served, etui::ETUI_SERVE)?),
            Self::Vdirsyncer => Box::new(vdirsyncer::Vdirsyncer::pair(dir, served)?),
            Self::Neverest => Box::new(neverest::Neverest::pair(dir, served)?),
        })
    }
}

/// A program that keeps a copy of an address book.
pub(super) trait SyncClient {
    /// Returns the command of one run.
    fn sync_command(&self) -> Result<Command, Error>;
    /// Returns the cards of the copy by UID.
    fn cards(&self) -> Result<BTreeMap<String, String>, Error>;
    /// Adds a line to a card of the copy.
    fn change(&mut self, uid: &str, mark: &str) -> Result<(), Error>;
}
