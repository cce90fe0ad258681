//! [`DavSession`]: a client that asks a server, and measures what each operation costs it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::expected::ExpectedAnswer;
use super::http::{HttpAnswer, HttpClient, HttpRequest};
use super::multistatus::Multistatus;
use super::process_tree::ProcessTree;
use super::products::DavServer;
use super::requests::{self, SaveCondition};
use super::workload::{NamedText, ResourceKind, Workload};
use etui_lab::{Error, MeasurePass, Recorder, stats};

/// Requests of an operation at most, for the clock.
pub(super) const MAX_ROUNDS: usize = 100;
/// Requests of an operation in the pass that counts system calls.
pub(super) const COUNTED: usize = 5;

/// What the rounds of an operation cost the server.
#[derive(Debug, Default)]
struct RoundCosts {
    /// Nanoseconds by the wall, of each.
    walls: Vec<f64>,
    processor: Duration,
}

impl RoundCosts {
    /// Returns true if there is time for one more round. There is for the first.
    fn has_time(&self, limit: Duration) -> bool {
        let spent: f64 = self.walls.iter().sum();
        self.walls.is_empty() || (self.walls.len() < MAX_ROUNDS && spent < limit.as_nanos() as f64)
    }
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
        let answer = self.send_round(request, &mut costs)?;
        let Some(mut answer) = self.check(phase, answer, expected)? else {
            return Ok(None);
        };
        if costs.has_time(self.limit) {
            costs = RoundCosts::default();
            while costs.has_time(self.limit) {
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
        for request in requests {
            if !costs.has_time(self.limit) {
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
        for (round, text) in changes.enumerate() {
            if !costs.has_time(self.limit) {
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

    /// Removes those of some resources that are there, in the order in which they were saved.
    pub(super) fn remove(&mut self, kind: ResourceKind, texts: &[NamedText]) -> Result<(), Error> {
        for text in texts {
            let request = requests::delete(self.collection(kind), text);
            match self.client.send(&request)?.status {
                404 => break,
                200..300 => {}
                status => {
                    return Err(Error::other(format!("DELETE {}: {status}", request.path)));
                }
            }
        }
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
