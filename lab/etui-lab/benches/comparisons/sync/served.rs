//! [`Served`]: `etui serve` over a copy of the filled store, as the other end of a client.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::super::dav::expected::uid_of;
use super::super::dav::http::{HttpAnswer, HttpRequest};
use super::super::dav::multistatus::Multistatus;
use super::super::dav::products::{DavServer, LOG, Product};
use super::super::dav::requests;
use super::super::dav::workload::{NamedText, ResourceKind};
use super::super::server_process::wait_until;
use etui_lab::{Error, Recorder};

/// The server's directory, filled in the shared one and copied to that of a run.
pub(super) const DIR: &str = "server";
/// A method of no client.
const MARKER: &str = "MARKER";

pub(super) struct Served {
    server: DavServer,
    log: PathBuf,
    markers: std::cell::Cell<u64>,
}

impl Served {
    pub(super) fn start(recorder: &Recorder) -> Result<Self, Error> {
        let (from, dir) = (recorder.shared().join(DIR), recorder.dir().join(DIR));
        fs::create_dir(&dir).map_err(|e| Error::file(&dir, e))?;
        for entry in fs::read_dir(&from).map_err(|e| Error::file(&from, e))? {
            let entry = entry.map_err(|e| Error::file(&from, e))?;
            let to = dir.join(entry.file_name());
            fs::copy(entry.path(), &to).map_err(|e| Error::file(&to, e))?;
        }
        Ok(Self {
            server: Product::Etui.start(&dir)?,
            log: dir.join(LOG),
            markers: std::cell::Cell::new(0),
        })
    }

    pub(super) fn stop(&mut self) -> Result<(), Error> {
        self.server.stop()
    }

    /// Returns the URL of the server.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Returns the URL of the address book.
    pub(super) fn book_url(&self) -> String {
        format!("{}{}", self.url(), self.book())
    }

    pub(super) fn user(&self) -> &str {
        &self.server.user
    }

    pub(super) fn password(&self) -> &str {
        &self.server.password
    }

    fn book(&self) -> &str {
        self.server.collection(ResourceKind::Contact)
    }

    fn send(&self, request: &HttpRequest) -> Result<HttpAnswer, Error> {
        self.server.client().send(request)
    }

    /// Returns the number of requests so far: the lines of the log, which are written later than the answers, up to
    /// that of a request with a method of its own.
    pub(super) fn count_requests(&self) -> Result<u64, Error> {
        self.send(&HttpRequest {
            method: MARKER,
            path: self.book().to_owned(),
            headers: Vec::new(),
            body: String::new(),
        })?;
        let markers = self.markers.get() + 1;
        self.markers.set(markers);
        wait_until("the server's log", || {
            let log = fs::read_to_string(&self.log).map_err(|e| Error::file(&self.log, e))?;
            if log.contains("lines were left out") {
                return Err(Error::other("the server's log has gaps"));
            }
            let (mut requests, mut seen) = (0, 0);
            for line in log.lines().filter(|line| line.contains(" B ")) {
                match line.contains(MARKER) {
                    true => seen += 1,
                    false => requests += 1,
                }
            }
            Ok((seen == markers).then_some(requests))
        })
    }

    pub(super) fn save(&self, card: &NamedText) -> Result<(), Error> {
        let put = requests::put(self.book(), ResourceKind::Contact, card, None);
        match self.send(&put)?.status {
            200 | 201 | 204 => Ok(()),
            status => Err(Error::other(format!("PUT {}: {status}", put.path))),
        }
    }

    /// Returns all cards by UID.
    pub(super) fn cards(&self) -> Result<BTreeMap<String, String>, Error> {
        let listed = Multistatus::parse(&self.send(&requests::list(self.book()))?.body)?;
        let listed = listed.resources.iter().filter_map(|one| one.name());
        let names: Vec<NamedText> = listed.map(NamedText::of_name).collect();
        let multiget = requests::multiget(self.book(), ResourceKind::Contact, names.iter());
        let answer = Multistatus::parse(&self.send(&multiget)?.body)?;
        let texts = answer.resources.into_iter().filter_map(|one| one.text);
        Ok(by_uid(texts))
    }
}

/// Returns cards by their UIDs.
pub(super) fn by_uid(texts: impl Iterator<Item = String>) -> BTreeMap<String, String> {
    texts
        .filter_map(|text| Some((uid_of(&text)?, text)))
        .collect()
}
