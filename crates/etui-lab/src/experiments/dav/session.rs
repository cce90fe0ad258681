//! [`DavSession`]: a client that asks a server, and measures what each operation costs it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::http::{HttpAnswer, HttpClient, HttpRequest};
use super::multistatus::{ListedResource, Multistatus};
use super::products::DavServer;
use super::requests::{self, SaveCondition};
use super::workload::{MAX_NEW, NamedText, ResourceKind, Workload};
use crate::measure::process::ProcessTree;
use crate::{Error, MeasurePass, Recorder, stats};

/// Requests of an operation at most, for the clock.
const MAX_ROUNDS: usize = 100;
/// Requests of an operation in the pass that counts system calls.
pub(super) const COUNTED: usize = 5;

/// The answer that an operation must have.
#[derive(Debug, Default)]
pub(super) struct ExpectedAnswer {
    /// Names of the resources.
    pub(super) names: BTreeSet<String>,
    /// UIDs of the texts by name, if the answer has texts.
    pub(super) uids: Option<BTreeMap<String, String>>,
    /// Number of VEVENTs in all texts, if it is known.
    pub(super) components: Option<u64>,
}

impl ExpectedAnswer {
    /// An answer without texts.
    pub(super) fn names(names: impl IntoIterator<Item = String>) -> Self {
        Self {
            names: names.into_iter().collect(),
            ..Self::default()
        }
    }

    /// An answer with texts.
    pub(super) fn texts<'t>(texts: impl Iterator<Item = &'t NamedText>) -> Self {
        let uids: BTreeMap<String, String> = texts
            .map(|one| (one.name.clone(), one.uid.clone()))
            .collect();
        Self {
            names: uids.keys().cloned().collect(),
            uids: Some(uids),
            components: None,
        }
    }

    /// Returns the number of differences of an answer.
    fn differences(&self, answer: &Multistatus) -> u64 {
        let is_there = |one: &&ListedResource| one.name().is_some() && one.status != Some(404);
        let there: Vec<_> = answer.resources.iter().filter(is_there).collect();
        let names: BTreeSet<&str> = there.iter().filter_map(|one| one.name()).collect();
        let expected: BTreeSet<&str> = self.names.iter().map(String::as_str).collect();
        let mut different = names.symmetric_difference(&expected).count() as u64;
        if let Some(uids) = &self.uids {
            let has_uid = |one: &&&ListedResource| {
                let uid = one.text.as_deref().and_then(uid_of);
                uid.is_some() && uid.as_ref() == one.name().and_then(|name| uids.get(name))
            };
            different += (there.len() - there.iter().filter(has_uid).count()) as u64;
        }
        if let Some(expected) = self.components {
            let texts = there.iter().filter_map(|one| one.text.as_deref());
            let found: usize = texts.map(|text| text.matches("BEGIN:VEVENT").count()).sum();
            different += expected.abs_diff(found as u64);
        }
        different
    }
}

/// Returns the UID in a text: that of its first line with one. A card of version 4.0 may have it as a URI.
fn uid_of(text: &str) -> Option<String> {
    let unfolded = text.replace('\r', "").replace("\n ", "");
    let uid = unfolded
        .lines()
        .find_map(|line| line.strip_prefix("UID:"))?;
    Some(uid.trim_start_matches("urn:uuid:").to_owned())
}

/// What a round costs the server.
#[derive(Debug, Default)]
struct RoundCosts {
    walls: Vec<f64>,
    processor: Duration,
}

/// A client of one server.
pub(super) struct DavSession<'r> {
    recorder: &'r mut Recorder,
    server: &'r DavServer,
    client: HttpClient,
    processes: ProcessTree,
    /// Time for the rounds of an operation.
    limit: Duration,
    /// A wrong answer is an error; otherwise it is recorded, and its time does not count.
    is_strict: bool,
}

impl<'r> DavSession<'r> {
    pub(super) fn new(
        recorder: &'r mut Recorder,
        server: &'r DavServer,
        limit: Duration,
        is_strict: bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            recorder,
            server,
            client: server.client(),
            processes: ProcessTree::of(server.id()?),
            limit,
            is_strict,
        })
    }

    fn collection(&self, kind: ResourceKind) -> &'r str {
        self.server.collection(kind)
    }

    fn is_timed(&self) -> bool {
        self.recorder.pass() == MeasurePass::Timed
    }

    /// Lists a collection; returns the ETags by name. All servers must have the same names.
    pub(super) fn list(
        &mut self,
        kind: ResourceKind,
        workload: &Workload,
    ) -> Result<BTreeMap<String, String>, Error> {
        let request = requests::list(self.collection(kind));
        let answer = Multistatus::parse(&self.client.send(&request)?.body)?;
        let expected = workload.of(kind).there().iter();
        let expected = ExpectedAnswer::names(expected.map(|one| one.name.clone()));
        match expected.differences(&answer) {
            0 => {}
            different => {
                return Err(Error::other(format!(
                    "a listing differs in {different} names"
                )));
            }
        }
        for name in &expected.names {
            self.recorder.answer(name);
        }
        let tags = answer.resources.into_iter();
        Ok(tags
            .filter_map(|one| Some((one.name()?.to_owned(), one.etag?)))
            .collect())
    }

    /// Repeats a request for resources, which changes nothing; returns the last answer. It is asked once before;
    /// if that takes longer than there is time for all, it is not repeated.
    pub(super) fn read(
        &mut self,
        phase: &str,
        request: &HttpRequest,
        expected: &ExpectedAnswer,
    ) -> Result<Option<Multistatus>, Error> {
        let mut costs = RoundCosts::default();
        let mut bytes = 0;
        self.processes.find_descendants();
        let begun = Instant::now();
        let answer = self.send_round(request, &mut costs)?;
        let Some(mut answer) = self.check(phase, answer, expected)? else {
            return Ok(None);
        };
        if begun.elapsed() < self.limit {
            costs = RoundCosts::default();
            let begun = Instant::now();
            while costs.walls.len() < MAX_ROUNDS
                && (costs.walls.is_empty() || begun.elapsed() < self.limit)
            {
                let last = self.send_round(request, &mut costs)?;
                bytes = last.body.len();
                match self.check(phase, last, expected)? {
                    Some(last) => answer = last,
                    None => return Ok(None),
                }
            }
        }
        self.record_costs(phase, costs);
        if self.is_timed() && bytes > 0 {
            self.recorder
                .record(&format!("{phase}/answer_bytes"), bytes as f64);
        }
        Ok(Some(answer))
    }

    /// Parses an answer and compares it; `None` if it differs.
    fn check(
        &mut self,
        phase: &str,
        answer: HttpAnswer,
        expected: &ExpectedAnswer,
    ) -> Result<Option<Multistatus>, Error> {
        let (parsed, different) = match answer.status {
            207 => {
                let parsed = Multistatus::parse(&answer.body)?;
                let different = expected.differences(&parsed);
                (Some(parsed), different)
            }
            _ => (None, expected.names.len() as u64),
        };
        match (different, parsed) {
            (0, Some(parsed)) => Ok(Some(parsed)),
            _ if self.is_strict => Err(Error::other(format!(
                "{phase}: status {}, {different} differences",
                answer.status
            ))),
            _ => {
                self.recorder
                    .record(&format!("{phase}/differences"), different.max(1) as f64);
                Ok(None)
            }
        }
    }

    /// Saves texts one by one. The first is not measured.
    pub(super) fn save<'t>(
        &mut self,
        phase: &str,
        kind: ResourceKind,
        texts: impl Iterator<Item = (NamedText, SaveCondition<'t>)>,
    ) -> Result<(), Error> {
        let collection = self.collection(kind);
        let mut requests =
            texts.map(|(text, condition)| requests::put(collection, kind, &text, Some(condition)));
        let save = |client: &mut HttpClient, request: HttpRequest| {
            let answer = client.send(&request)?;
            match answer.status {
                200 | 201 | 204 => Ok(()),
                status => Err(Error::other(format!("{phase}: {}: {status}", request.path))),
            }
        };
        if let Some(first) = requests.next() {
            save(&mut self.client, first)?;
        }
        if !self.is_timed() {
            let counted: Vec<HttpRequest> = requests.take(COUNTED).collect();
            let client = &mut self.client;
            return self.recorder.phase(phase, || {
                counted
                    .into_iter()
                    .try_for_each(|request| save(client, request))
            });
        }
        self.processes.find_descendants();
        let mut costs = RoundCosts::default();
        let begun = Instant::now();
        for request in requests.take(MAX_ROUNDS.min(MAX_NEW - 1)) {
            if begun.elapsed() > self.limit && !costs.walls.is_empty() {
                break;
            }
            let answer = self.send_round(&request, &mut costs)?;
            if !matches!(answer.status, 200 | 201 | 204) {
                let status = answer.status;
                return Err(Error::other(format!("{phase}: {}: {status}", request.path)));
            }
        }
        self.record_costs(phase, costs);
        Ok(())
    }

    /// Asks what has changed since the last answer, after each of some changes. The first is not measured.
    pub(super) fn sync_each(
        &mut self,
        phase: &str,
        kind: ResourceKind,
        token: String,
        changes: impl Iterator<Item = NamedText>,
    ) -> Result<(), Error> {
        let collection = self.collection(kind);
        let mut token = token;
        let mut costs = RoundCosts::default();
        self.processes.find_descendants();
        let begun = Instant::now();
        for (round, text) in changes.take(MAX_ROUNDS + 1).enumerate() {
            if begun.elapsed() > self.limit && round > 1 {
                break;
            }
            let saved = self
                .client
                .send(&requests::put(collection, kind, &text, None))?;
            if !matches!(saved.status, 200 | 201 | 204) {
                return Err(Error::other(format!("{phase}: a PUT: {}", saved.status)));
            }
            let request = requests::sync(collection, Some(&token));
            let answer = self.send_round(&request, &mut costs)?;
            let expected = ExpectedAnswer::names([text.name]);
            let Some(answer) = self.check(phase, answer, &expected)? else {
                return Ok(());
            };
            token = answer.sync_token.unwrap_or_default();
            if round == 0 {
                costs = RoundCosts::default();
            }
        }
        self.record_costs(phase, costs);
        Ok(())
    }

    fn send_round(
        &mut self,
        request: &HttpRequest,
        costs: &mut RoundCosts,
    ) -> Result<HttpAnswer, Error> {
        let before = self.processes.cpu_time();
        let begun = Instant::now();
        let answer = self.client.send(request)?;
        costs.walls.push(begun.elapsed().as_nanos() as f64);
        let used = self.processes.cpu_time().saturating_sub(before);
        costs.processor += used;
        Ok(answer)
    }

    fn record_costs(&mut self, phase: &str, costs: RoundCosts) {
        let Some(median) = stats::median(&costs.walls).filter(|_| self.is_timed()) else {
            return;
        };
        let rounds = costs.walls.len() as f64;
        let processor = costs.processor.as_nanos() as f64 / rounds;
        let measures = [
            ("wall_ns", median),
            ("server_ns", processor),
            ("rounds", rounds),
        ];
        for (measure, value) in measures {
            self.recorder.record(&format!("{phase}/{measure}"), value);
        }
    }

    /// Records the memory of the server's processes.
    pub(super) fn record_memory(&mut self) -> Result<(), Error> {
        self.processes.find_descendants();
        let (memory, peak) = self.processes.memory()?;
        for (measure, value) in memory.measures() {
            self.recorder.record(&format!("end/{measure}"), value);
        }
        self.recorder.record("end/peak_rss_bytes", peak as f64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str, text: Option<&str>, status: Option<u16>) -> ListedResource {
        ListedResource {
            path: path.to_owned(),
            status,
            etag: None,
            text: text.map(str::to_owned),
        }
    }

    #[test]
    fn differences_of_names_texts_and_components_are_counted() {
        let texts = ["a", "b"].map(|name| NamedText {
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            text: String::new(),
        });
        let mut expected = ExpectedAnswer::texts(texts.iter());
        expected.components = Some(3);
        let a = "BEGIN:VEVENT\nUID:uid-\r\n of-a\nEND:VEVENT\nBEGIN:VEVENT\nUID:uid-of-a\n";
        let b = "BEGIN:VEVENT\r\nUID:uid-of-b\r\n";
        let mut answer = Multistatus {
            resources: vec![
                resource("/c/", None, None),
                resource("/c/a", Some(a), None),
                resource("/c/b", Some(b), Some(200)),
                resource("/c/gone", None, Some(404)),
            ],
            sync_token: None,
        };
        assert_eq!(expected.differences(&answer), 0);
        // Another text: its UID and its number of events.
        answer.resources[2].text = Some(a.to_owned());
        assert_eq!(expected.differences(&answer), 2);
        // Another name: one is missing, one is too many, which is of no text, and an event is missing.
        answer.resources[2] = resource("/c/x", None, None);
        assert_eq!(expected.differences(&answer), 4);
    }
}
