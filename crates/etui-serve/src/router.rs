//! [`Router`]: from a request to its answer: the password, the limits, and the worker that answers.

use etui::CollectionId;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use etui::calendar::CalendarObject;
use etui::calendar::time::TimeZone;
use etui::contacts::Card;
use etui::store::CollectionKey;
use etui_dav::{DavOptions, Respond, Session};
use http::header::{EXPECT, HOST};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;

use crate::accounts::{Accounts, DAV_ROOT, LogInError, Login};
use crate::answer_body::{AnswerBody, AnswerWriter};
use crate::basic::{Credentials, read_credentials};
use crate::handout::{Handout, NO_PROFILE};
use crate::last_seen::LastSeen;
use crate::limits::Limits;
use crate::log::{LogSink, RequestLine, notice, quote_name};
use crate::removals::Removals;
use crate::request_body::{BodyMemory, HeldMemory, RefusedBody, drain_body, read_body};
use crate::shared::OpenShared;
use crate::short_answer::{ShortAnswer, body_refusal, plain, redirect, unauthorized, unavailable};
use crate::spool::Spool;
use crate::strangers::Stranger;
use crate::throttle::Throttle;
use crate::web;

/// Threads that check passwords.
const LOG_IN_THREADS: usize = 2;

/// Threads that open stores at a time, for the first password of a user.
const OPENING_THREADS: usize = 4;

/// Further threads: one that records uses of devices, and one for the server itself.
const UPKEEP_THREADS: usize = 2;

/// State that all requests share.
pub struct Router {
    pub accounts: Accounts,
    handout: Handout,
    pub limits: Limits,
    pub dav: DavOptions,
    /// A reverse proxy in front names the client in `X-Forwarded-For`.
    pub behind_proxy: bool,
    /// The zone of the web page.
    pub zone: TimeZone,
    pub log: LogSink,
    /// Notified of each request.
    pub used: Notify,
    throttle: Throttle,
    removals: Removals,
    last_seen: LastSeen,
    bodies: BodyMemory,
    spool: Arc<Spool>,
    workers: Arc<Semaphore>,
    /// Fewer than workers, so that reading goes on while writes wait for another program.
    writers: Arc<Semaphore>,
    /// Fewer still, so that short requests do not wait for long answers, and those do not fill the memory.
    listers: Arc<Semaphore>,
    log_ins: Arc<Semaphore>,
    openings: Arc<Semaphore>,
}

/// A connection, as its requests see it.
pub struct Peer {
    pub address: Option<IpAddr>,
    /// Until a password was accepted; `None` with a reverse proxy and on a Unix socket.
    pub stranger: Option<Stranger>,
    /// It is a pipe to who may read and write the files themselves: no password is asked for.
    pub is_owner: bool,
}

/// A request without its body.
struct RequestHead {
    parts: Parts,
    address: Option<IpAddr>,
    begun: Instant,
}

impl RequestHead {
    fn path(&self) -> &str {
        self.parts.uri.path()
    }

    fn is_read(&self) -> bool {
        matches!(self.parts.method, Method::GET | Method::HEAD)
    }

    /// Returns the kind of work.
    fn work(&self) -> Work {
        let is_shallow = self.parts.headers.get("depth").is_some_and(|d| d == "0");
        match self.parts.method.as_str() {
            "GET" | "HEAD" | "OPTIONS" => Work::Read,
            "PROPFIND" if is_shallow => Work::Read,
            "PROPFIND" | "REPORT" => Work::List,
            _ => Work::Write,
        }
    }

    /// Returns true if the client sends the body only when it is asked to.
    fn expects_continue(&self) -> bool {
        let expect = self.parts.headers.get(EXPECT);
        expect.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
    }
}

/// The kind of work of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// A short answer.
    Read,
    /// An answer about many resources.
    List,
    Write,
}

/// The permits of a worker: for its kind of work, and to work.
#[derive(Default)]
struct WorkerPermit(Option<OwnedSemaphorePermit>, Option<OwnedSemaphorePermit>);

impl Router {
    pub fn new(accounts: Accounts, handout: Handout, limits: Limits, log: LogSink) -> Self {
        let workers = limits.workers.max(1);
        let mut dav = DavOptions::default();
        (dav.max_resource, dav.max_xml) = (limits.resource_bytes, limits.xml_bytes);
        Self {
            accounts,
            handout,
            dav,
            behind_proxy: false,
            zone: TimeZone::system(),
            log,
            used: Notify::new(),
            throttle: Throttle::default(),
            removals: Removals::default(),
            last_seen: LastSeen::default(),
            bodies: BodyMemory::new(limits.bodies_bytes),
            spool: Spool::new(limits.spool_bytes),
            workers: Arc::new(Semaphore::new(workers)),
            // A quarter of the workers never writes, and at most a quarter lists.
            writers: Arc::new(Semaphore::new((workers - (workers / 4).max(1)).max(1))),
            listers: Arc::new(Semaphore::new((workers / 4).max(1))),
            log_ins: Arc::new(Semaphore::new(LOG_IN_THREADS)),
            openings: Arc::new(Semaphore::new(OPENING_THREADS)),
            limits,
        }
    }

    /// Returns the largest number of threads besides that of the network.
    pub fn threads(&self) -> usize {
        self.limits.workers.max(1) + LOG_IN_THREADS + OPENING_THREADS + UPKEEP_THREADS
    }

    /// Answers a request.
    pub async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: &Peer,
    ) -> Response<AnswerBody> {
        self.used.notify_one();
        let (parts, mut body) = request.into_parts();
        let head = RequestHead {
            address: self.client_of(peer.address, &parts.headers),
            parts,
            begun: Instant::now(),
        };
        if let Some(stranger) = &peer.stranger {
            stranger.set_asking(true);
        }
        let short = match static_answer(&head) {
            Some(short) => Err(short),
            None if Handout::has_path(head.path()) => Err(self.hand_out(&head).await),
            None if peer.is_owner => self.log_in_owner().await,
            None => self.log_in(&head).await,
        };
        let login = match short {
            Ok(login) => login,
            Err(short) => {
                if let Some(stranger) = &peer.stranger {
                    // Also one that had a password: the device may have been removed.
                    if short.0.status() == StatusCode::UNAUTHORIZED {
                        stranger.refuse();
                    }
                    stranger.set_asking(false);
                }
                // A client that sends its body in any case reads the answer after it.
                if !head.expects_continue() {
                    drain_body(&mut body).await;
                }
                return self.finish(&head, None, short);
            }
        };
        if let Some(stranger) = &peer.stranger {
            stranger.accept();
        }
        self.last_seen.record(&login);
        if let Some(short) = self.redirect_or_refuse(&head, &login) {
            if !head.expects_continue() {
                drain_body(&mut body).await;
            }
            return self.finish(&head, Some(&login), short);
        }
        if head.is_read() && !head.path().starts_with(DAV_ROOT) {
            return self.answer_page(head, login).await;
        }
        let most = match head.parts.method {
            Method::PUT => self.limits.resource_bytes,
            _ => self.limits.xml_bytes,
        };
        match read_body(&mut body, most, &self.limits, &self.bodies).await {
            Ok((bytes, held)) => self.answer_dav(head, login, bytes, held).await,
            Err(refused) => {
                if refused == RefusedBody::TooLarge && !head.expects_continue() {
                    drain_body(&mut body).await;
                }
                self.finish(&head, Some(&login), body_refusal(refused, most))
            }
        }
    }

    /// Returns the client's address: a proxy adds it at the end of a list.
    fn client_of(&self, address: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.behind_proxy {
            return address;
        }
        let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
        let forwarded = forwarded.and_then(|value| value.to_str().ok());
        let last = forwarded.and_then(|list| list.rsplit(',').next()?.trim().parse().ok());
        last.or(address)
    }

    /// Returns the owner of the store.
    async fn log_in_owner(self: &Arc<Self>) -> Result<Login, ShortAnswer> {
        let router = Arc::clone(self);
        match spawn_blocking(move || router.accounts.log_in_owner()).await {
            Ok(Ok(Some(login))) => Ok(login),
            Ok(Err(error)) => {
                self.log_error(&error);
                Err((unavailable(), "store-error"))
            }
            _ => Err((plain(StatusCode::INTERNAL_SERVER_ERROR, ""), "fault")),
        }
    }

    /// Returns the device that asks, or the refusal.
    async fn log_in(self: &Arc<Self>, head: &RequestHead) -> Result<Login, ShortAnswer> {
        let Some(credentials) = read_credentials(&head.parts.headers) else {
            return Err((unauthorized(), "no-password"));
        };
        let found = self.check_password(credentials, head.address).await;
        match found {
            Ok(Ok(Some(login))) => Ok(login),
            Ok(Ok(None)) => {
                self.delay_refusal(head).await;
                Err((unauthorized(), "wrong-password"))
            }
            Ok(Err(error)) => {
                self.log_error(&error);
                Err((unavailable(), "store-error"))
            }
            Err(_) => Err((plain(StatusCode::INTERNAL_SERVER_ERROR, ""), "fault")),
        }
    }

    /// Counts a wrong password or address of a profile, and waits if there were many.
    async fn delay_refusal(&self, head: &RequestHead) {
        if let Some(address) = head.address {
            let failures = self.throttle.record_failure(address, Instant::now());
            if failures > self.limits.wrong_passwords {
                sleep(self.limits.wrong_password_wait).await;
            }
        }
        // It takes the same time for a user who does not exist, and for one whose store had to be opened.
        let rest = self.limits.refusal.saturating_sub(head.begun.elapsed());
        sleep(rest).await;
    }

    /// Answers a request for something that devices get without a password, on one of the threads that check those.
    async fn hand_out(self: &Arc<Self>, head: &RequestHead) -> ShortAnswer {
        // The semaphore is never closed.
        let thread = Arc::clone(&self.log_ins).acquire_owned().await.ok();
        let router = Arc::clone(self);
        let (method, path) = (head.parts.method.clone(), head.path().to_owned());
        let answer = spawn_blocking(move || {
            let _held = thread;
            router.handout.answer(&method, &path)
        });
        match answer.await {
            Ok(short) => {
                if short.1 == NO_PROFILE {
                    self.delay_refusal(head).await;
                }
                short
            }
            Err(_) => (plain(StatusCode::INTERNAL_SERVER_ERROR, ""), "fault"),
        }
    }

    /// Finds the device on a thread that neither requests nor the openings of other stores use.
    async fn check_password(
        self: &Arc<Self>,
        credentials: Credentials,
        address: Option<IpAddr>,
    ) -> Result<Result<Option<Login>, LogInError>, JoinError> {
        let mut turn = None;
        let threads = match self.accounts.opening_turn(&credentials) {
            None => &self.log_ins,
            Some(opening) => {
                // An address that guesses opens stores no faster than it is answered.
                let failures = address.map(|a| self.throttle.failures_of(a, Instant::now()));
                if failures > Some(self.limits.wrong_passwords) {
                    sleep(self.limits.wrong_password_wait).await;
                }
                turn = Some(opening.lock_owned().await);
                &self.openings
            }
        };
        // The semaphores are never closed.
        let thread = Arc::clone(threads).acquire_owned().await.ok();
        let router = Arc::clone(self);
        spawn_blocking(move || {
            let _held = (turn, thread);
            router.accounts.log_in(&credentials)
        })
        .await
    }

    /// Waits for a worker.
    async fn worker(&self, work: Work) -> WorkerPermit {
        let some = match work {
            Work::Read => None,
            Work::List => Some(&self.listers),
            Work::Write => Some(&self.writers),
        };
        let mut permits = WorkerPermit::default();
        // The semaphores are never closed.
        if let Some(some) = some {
            permits.0 = Arc::clone(some).acquire_owned().await.ok();
        }
        permits.1 = Arc::clone(&self.workers).acquire_owned().await.ok();
        permits
    }

    /// Logs that a store cannot be used. The error may have names of records, so only its kind is logged; `tracing`
    /// has all of it.
    fn log_error(&self, error: &LogInError) {
        tracing::error!(%error, "a store cannot be used");
        let kind = match error {
            LogInError::Store(etui::Error::Busy { .. }) => "another program writes to the store",
            LogInError::Store(etui::Error::NoStore(_)) => "the file of the store is gone",
            LogInError::Store(_) => "the store cannot be read",
            LogInError::FormerInUse(_) => {
                "the file of the store was replaced, and a request still uses the former one"
            }
            LogInError::Replaced { .. } => {
                "the file of the store was replaced while it was in use, and its log (STORE-wal or STORE-redo) is \
                 of the former file; remove the log to use the new file, or put the former file back"
            }
        };
        (self.log)(&notice(format_args!("error: {kind}")));
    }

    /// Answers a logged-in request that no store is needed for.
    fn redirect_or_refuse(&self, head: &RequestHead, login: &Login) -> Option<ShortAnswer> {
        let path = head.path();
        if path == login.root.trim_end_matches('/') || path == "/dav" || path == DAV_ROOT {
            let is_at_root = path == login.root;
            return (!is_at_root).then(|| (redirect(&login.root), "redirect"));
        }
        // The one principal that a profile names, whether the server has one store or several.
        if path == "/dav/me/" && login.root != DAV_ROOT {
            return Some((redirect(&format!("{}me/", login.root)), "redirect"));
        }
        // The store is chosen by the password, never by the path. This tells the client of its mistake.
        if path.starts_with(DAV_ROOT) && !path.starts_with(&login.root) {
            let text = "This is not yours.\n";
            return Some((plain(StatusCode::FORBIDDEN, text), "other-user"));
        }
        None
    }

    async fn answer_dav(
        self: Arc<Self>,
        head: RequestHead,
        login: Login,
        bytes: Vec<u8>,
        held: HeldMemory,
    ) -> Response<AnswerBody> {
        let worker = self.worker(head.work()).await;
        let (patience, spool) = (self.limits.answer_patience, Arc::clone(&self.spool));
        let (mut writer, answer) = AnswerWriter::new(Handle::current(), patience, spool);
        spawn_blocking(move || {
            let _worker = worker;
            let request = Request::from_parts(head.parts.clone(), bytes);
            let shared = match self.accounts.shared_with(&login, &request) {
                Ok(shared) => shared,
                Err(error) => {
                    self.log_error(&error);
                    return self.answer_unavailable(&head, &login, writer);
                }
            };
            let seen: Vec<_> = shared.iter().map(OpenShared::as_seen).collect();
            let access = &login.device.access;
            let session = Session {
                device: &login.device.name,
                may_write: !access.is_read_only,
                sees: access.only.as_ref(),
                reads: Some(&access.read_only),
                user: &login.user,
                root: &login.root,
                shared: &seen,
            };
            let method = head.parts.method.as_str();
            // The owner of a collection reads whose device it was.
            let device = match shared.is_empty() {
                true => login.device.name.clone(),
                false => self.name_of(&login),
            };
            let _step = etui::label_step(&device, method);
            let outcome =
                etui_dav::answer(&login.store, &session, &self.dav, &request, &mut writer);
            drop((request, held));
            let written = writer.written();
            let outcome = outcome.and_then(|outcome| writer.finish().map(|()| outcome));
            match outcome {
                Ok(outcome) => {
                    if let Some(error) = &outcome.failure {
                        tracing::error!(%error, "a request failed");
                    }
                    if let Some(collection) = outcome.collection
                        && outcome.removed > 0
                    {
                        self.note_removals(&login, &shared, collection, outcome.removed);
                    }
                    let status = StatusCode::from_u16(outcome.status).unwrap_or_default();
                    self.write_log(&head, Some(&login), outcome.kind, status, written);
                }
                Err(error) => {
                    let kind = format!("not-answered ({})", error.kind());
                    let status = StatusCode::INTERNAL_SERVER_ERROR;
                    self.write_log(&head, Some(&login), &kind, status, written);
                }
            }
        });
        // Without an answer the reason is in the log.
        let failed = |_| plain(StatusCode::INTERNAL_SERVER_ERROR, "The answer failed.\n");
        answer.await.unwrap_or_else(failed)
    }

    /// Answers a request that a store cannot be used for now; the client comes again.
    fn answer_unavailable(&self, head: &RequestHead, login: &Login, mut writer: AnswerWriter) {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let answer = Response::builder()
            .status(status)
            .header("retry-after", "5")
            .header("content-length", "0")
            .body(());
        // Who is gone needs no answer.
        let sent = answer
            .map_err(std::io::Error::other)
            .and_then(|answer| writer.start(answer).map(drop))
            .and_then(|()| writer.finish());
        if let Err(error) = sent {
            tracing::debug!(%error, "not answered");
        }
        self.write_log(head, Some(login), "store-error", status, 0);
    }

    /// Logs that a device has removed more than half of a collection.
    fn note_removals(
        &self,
        login: &Login,
        shared: &[OpenShared],
        collection: CollectionId,
        removed: u64,
    ) {
        let of_other = shared.iter().find(|one| one.reference.id == collection);
        let (store, key) = match of_other {
            Some(shared) => (&shared.store, shared.reference.collection),
            None => (&login.store, collection),
        };
        let key = CollectionKey::Id(key);
        // An address book, or a calendar; neither if the whole collection was removed.
        let remaining = match store.collection::<Card>(key) {
            Ok(book) => book.count(),
            Err(_) => {
                let calendar = store.collection::<CalendarObject>(key);
                calendar.and_then(|calendar| calendar.count())
            }
        };
        let key = (login.user.clone(), login.device.id, collection);
        let remaining = remaining.unwrap_or(0);
        if let Some(count) = self.removals.count(key, removed, remaining, Instant::now()) {
            let device = self.name_of(login);
            let device = quote_name(&device);
            (self.log)(&notice(format_args!(
                "notice: {device} removed {count} records of collection {collection} within ten minutes, and {remaining} \
                 are left; they are in the trash for 30 days"
            )));
        }
    }

    async fn answer_page(self: Arc<Self>, head: RequestHead, login: Login) -> Response<AnswerBody> {
        let worker = self.worker(Work::Read).await;
        let router = Arc::clone(&self);
        let page = spawn_blocking(move || {
            let _worker = worker;
            let page = web::answer_page(&login, &head.parts.uri, &router.zone);
            let short = match page {
                Ok(page) => (page, "page"),
                Err(error) => {
                    router.log_error(&error.into());
                    (unavailable(), "store-error")
                }
            };
            router.finish(&head, Some(&login), short)
        });
        let failed = |_| plain(StatusCode::INTERNAL_SERVER_ERROR, "The answer failed.\n");
        page.await.unwrap_or_else(failed)
    }

    /// Logs a short answer.
    fn finish(
        &self,
        head: &RequestHead,
        login: Option<&Login>,
        (answer, kind): ShortAnswer,
    ) -> Response<AnswerBody> {
        let bytes = http_body::Body::size_hint(answer.body()).lower();
        self.write_log(head, login, kind, answer.status(), bytes);
        answer
    }

    /// Returns the name of a device for the log: with its user if there are several.
    fn name_of(&self, login: &Login) -> String {
        match self.accounts.has_users() {
            true => format!("{}/{}", login.user, login.device.name),
            false => login.device.name.clone(),
        }
    }

    fn write_log(
        &self,
        head: &RequestHead,
        login: Option<&Login>,
        kind: &str,
        status: StatusCode,
        bytes: u64,
    ) {
        let device = login.map(|login| self.name_of(login));
        let line = RequestLine {
            device: device.as_deref(),
            address: head
                .address
                .filter(|_| kind == "wrong-password" || kind == NO_PROFILE),
            method: &head.parts.method,
            kind,
            status,
            bytes,
            took: head.begun.elapsed(),
        };
        (self.log)(&line.to_string());
    }
}

/// Answers a request for which no password is needed.
fn static_answer(head: &RequestHead) -> Option<ShortAnswer> {
    // A proxy in front may take another one of two hosts than this server (RFC 9112 section 3.2).
    let hosts = head.parts.headers.get_all(HOST).iter().count();
    if hosts > 1 || hosts == 0 && head.parts.version >= Version::HTTP_11 {
        let text = "A request names one host.\n";
        return Some((plain(StatusCode::BAD_REQUEST, text), "no-host"));
    }
    match head.path().trim_end_matches('/') {
        path if etui_dav::well_known(path) => Some((redirect(DAV_ROOT), "well-known")),
        web::STYLE_PATH if head.is_read() => Some((web::style_sheet(), "style")),
        _ => None,
    }
}
