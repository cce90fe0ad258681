//! [`Router`]: from a request to its answer: the password, the limits, and the worker that answers.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use etui::calendar::CalendarObject;
use etui::calendar::time::TimeZone;
use etui::contacts::Card;
use etui_dav::{DavOptions, Session};
use http::header::{CONTENT_TYPE, EXPECT, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::accounts::{Accounts, DAV_ROOT, Login};
use crate::answer_body::{AnswerBody, AnswerWriter};
use crate::basic::{CHALLENGE, read_credentials};
use crate::limits::Limits;
use crate::log::{LogSink, RequestLine, notice};
use crate::removals::Removals;
use crate::request_body::{RefusedBody, drain_body, read_body};
use crate::throttle::Throttle;
use crate::web;

/// Bytes of a permit for bodies in memory.
const PERMIT_BYTES: u64 = 1 << 10;

/// State that all requests share.
pub struct Router {
    pub accounts: Accounts,
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
    bodies: Arc<Semaphore>,
}

/// A request without its body.
struct Asked {
    head: Parts,
    address: Option<IpAddr>,
    begun: Instant,
}

impl Asked {
    fn path(&self) -> &str {
        self.head.uri.path()
    }

    fn is_read(&self) -> bool {
        matches!(self.head.method, Method::GET | Method::HEAD)
    }

    /// Returns true if the client sends the body only when it is asked to.
    fn expects_continue(&self) -> bool {
        let expect = self.head.headers.get(EXPECT);
        expect.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
    }
}

/// An answer without a worker, and its kind for the log.
type Short = (Response<AnswerBody>, &'static str);

impl Router {
    pub fn new(accounts: Accounts, limits: Limits, log: LogSink) -> Self {
        let permits = usize::try_from(limits.bodies_bytes / PERMIT_BYTES).unwrap_or(usize::MAX);
        let mut dav = DavOptions::default();
        (dav.max_resource, dav.max_xml) = (limits.resource_bytes, limits.xml_bytes);
        Self {
            accounts,
            dav,
            behind_proxy: false,
            zone: TimeZone::system(),
            log,
            used: Notify::new(),
            throttle: Throttle::default(),
            removals: Removals::default(),
            bodies: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
            limits,
        }
    }

    /// Answers a request.
    pub async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        address: Option<IpAddr>,
    ) -> Response<AnswerBody> {
        self.used.notify_one();
        let (head, mut body) = request.into_parts();
        let asked = Asked {
            address: self.client_of(address, &head.headers),
            head,
            begun: Instant::now(),
        };
        let short = match static_answer(&asked) {
            Some(short) => Err(short),
            None => self.log_in(&asked).await,
        };
        let login = match short {
            Ok(login) => login,
            Err(short) => {
                // A client that sends its body in any case reads the answer after it.
                if !asked.expects_continue() {
                    drain_body(&mut body).await;
                }
                return self.finish(&asked, None, short);
            }
        };
        if let Some(short) = self.redirect_or_refuse(&asked, &login) {
            if !asked.expects_continue() {
                drain_body(&mut body).await;
            }
            return self.finish(&asked, Some(&login), short);
        }
        if asked.is_read() && !asked.path().starts_with(DAV_ROOT) {
            return self.answer_page(asked, login).await;
        }
        let most = match asked.head.method {
            Method::PUT => self.limits.resource_bytes,
            _ => self.limits.xml_bytes,
        };
        let permit = self.permit_body(&body, most).await;
        match read_body(&mut body, most, &self.limits).await {
            Ok(bytes) => self.answer_dav(asked, login, bytes, permit).await,
            Err(refused) => {
                if refused == RefusedBody::TooLarge && !asked.expects_continue() {
                    drain_body(&mut body).await;
                }
                self.finish(&asked, Some(&login), body_refusal(refused, most))
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

    /// Returns the device that asks, or the refusal.
    async fn log_in(self: &Arc<Self>, asked: &Asked) -> Result<Login, Short> {
        let Some(credentials) = read_credentials(&asked.head.headers) else {
            return Err((unauthorized(), "no-password"));
        };
        let router = Arc::clone(self);
        let found = spawn_blocking(move || router.accounts.log_in(&credentials)).await;
        match found {
            Ok(Ok(Some(login))) => Ok(login),
            Ok(Ok(None)) => {
                if let Some(address) = asked.address {
                    let failures = self.throttle.record_failure(address, Instant::now());
                    if failures > self.limits.wrong_passwords {
                        tokio::time::sleep(self.limits.wrong_password_wait).await;
                    }
                }
                Err((unauthorized(), "wrong-password"))
            }
            Ok(Err(error)) => {
                (self.log)(&notice(format_args!("error: {error}")));
                Err((unavailable(), "store-error"))
            }
            Err(_) => Err((plain(StatusCode::INTERNAL_SERVER_ERROR, ""), "fault")),
        }
    }

    /// Answers a logged-in request that no store is needed for.
    fn redirect_or_refuse(&self, asked: &Asked, login: &Login) -> Option<Short> {
        let path = asked.path();
        if path == login.root.trim_end_matches('/') || path == "/dav" || path == DAV_ROOT {
            let is_at_root = path == login.root;
            return (!is_at_root).then(|| (redirect(&login.root), "redirect"));
        }
        // The store is chosen by the password, never by the path. This tells the client of its mistake.
        if path.starts_with(DAV_ROOT) && !path.starts_with(&login.root) {
            let text = "This is not yours.\n";
            return Some((plain(StatusCode::FORBIDDEN, text), "other-user"));
        }
        None
    }

    /// Waits until there is memory for a body.
    async fn permit_body(&self, body: &Incoming, most: u64) -> Option<OwnedSemaphorePermit> {
        use http_body::Body;
        // A body without a known length may become the largest.
        let bytes = body.size_hint().upper().unwrap_or(most).min(most);
        if bytes == 0 {
            return None;
        }
        let all = self.limits.bodies_bytes / PERMIT_BYTES;
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES).min(all)).unwrap_or(u32::MAX);
        let bodies = Arc::clone(&self.bodies);
        // The semaphore is never closed.
        bodies.acquire_many_owned(permits).await.ok()
    }

    async fn answer_dav(
        self: Arc<Self>,
        asked: Asked,
        login: Login,
        bytes: Vec<u8>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Response<AnswerBody> {
        let (mut writer, answer) = AnswerWriter::new(Handle::current(), self.limits.answer_pause);
        spawn_blocking(move || {
            let request = Request::from_parts(asked.head.clone(), bytes);
            let access = &login.device.access;
            let session = Session {
                device: &login.device.name,
                may_write: !access.is_read_only,
                sees: access.only.as_ref(),
                user: &login.user,
                root: &login.root,
            };
            let outcome =
                etui_dav::answer(&login.store, &session, &self.dav, &request, &mut writer);
            drop((request, permit));
            let written = writer.written();
            let outcome = outcome.and_then(|outcome| writer.finish().map(|()| outcome));
            match outcome {
                Ok(outcome) => {
                    if let Some(error) = &outcome.failure {
                        (self.log)(&notice(format_args!("error: {error}")));
                    }
                    if let Some(collection) = outcome.collection
                        && outcome.removed > 0
                    {
                        self.note_removals(&login, collection, outcome.removed);
                    }
                    let status = StatusCode::from_u16(outcome.status).unwrap_or_default();
                    self.write_log(&asked, Some(&login), outcome.kind, status, written);
                }
                Err(error) => {
                    let kind = format!("not-answered ({error})");
                    let status = StatusCode::INTERNAL_SERVER_ERROR;
                    self.write_log(&asked, Some(&login), &kind, status, written);
                }
            }
        });
        // Without an answer the reason is in the log.
        let failed = |_| plain(StatusCode::INTERNAL_SERVER_ERROR, "The answer failed.\n");
        answer.await.unwrap_or_else(failed)
    }

    /// Logs that a device has removed more than half of a collection.
    fn note_removals(&self, login: &Login, collection: i64, removed: u64) {
        // An address book, or a calendar; neither if the whole collection was removed.
        let book = login.store.collection_by_id::<Card>(collection);
        let remaining = match book {
            Ok(book) => book.count(),
            Err(_) => {
                let calendar = login.store.collection_by_id::<CalendarObject>(collection);
                calendar.and_then(|calendar| calendar.count())
            }
        };
        let key = (login.user.clone(), login.device.id, collection);
        let remaining = remaining.unwrap_or(0);
        if let Some(count) = self.removals.count(key, removed, remaining, Instant::now()) {
            let device = &login.device.name;
            (self.log)(&notice(format_args!(
                "notice: {device} removed {count} records of collection {collection} within ten minutes, and {remaining} \
                 are left; they are in the trash for 30 days"
            )));
        }
    }

    async fn answer_page(self: Arc<Self>, asked: Asked, login: Login) -> Response<AnswerBody> {
        let router = Arc::clone(&self);
        let page = spawn_blocking(move || {
            let page = web::answer_page(&login, &asked.head.uri, &router.zone);
            let short = match page {
                Ok(page) => (page, "page"),
                Err(error) => {
                    (router.log)(&notice(format_args!("error: {error}")));
                    (unavailable(), "store-error")
                }
            };
            router.finish(&asked, Some(&login), short)
        });
        let failed = |_| plain(StatusCode::INTERNAL_SERVER_ERROR, "The answer failed.\n");
        page.await.unwrap_or_else(failed)
    }

    /// Logs a short answer.
    fn finish(
        &self,
        asked: &Asked,
        login: Option<&Login>,
        (answer, kind): Short,
    ) -> Response<AnswerBody> {
        let bytes = http_body::Body::size_hint(answer.body()).lower();
        self.write_log(asked, login, kind, answer.status(), bytes);
        answer
    }

    fn write_log(
        &self,
        asked: &Asked,
        login: Option<&Login>,
        kind: &str,
        status: StatusCode,
        bytes: u64,
    ) {
        let device = login.map(|login| match self.accounts.has_users() {
            true => format!("{}/{}", login.user, login.device.name),
            false => login.device.name.clone(),
        });
        let line = RequestLine {
            device: device.as_deref(),
            address: asked.address.filter(|_| kind == "wrong-password"),
            method: &asked.head.method,
            kind,
            status,
            bytes,
            took: asked.begun.elapsed(),
        };
        (self.log)(&line.to_string());
    }
}

/// Answers a request for which no password is needed.
fn static_answer(asked: &Asked) -> Option<Short> {
    match asked.path().trim_end_matches('/') {
        // For any method (RFC 6764 section 5).
        "/.well-known/caldav" | "/.well-known/carddav" => Some((redirect(DAV_ROOT), "well-known")),
        web::STYLE_PATH if asked.is_read() => Some((web::style_sheet(), "style")),
        _ => None,
    }
}

/// Returns an answer in plain text.
fn plain(status: StatusCode, text: &'static str) -> Response<AnswerBody> {
    let mut answer = Response::new(AnswerBody::from(text));
    *answer.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

fn unauthorized() -> Response<AnswerBody> {
    let text = "A password of a device is needed: etui serve add-device NAME\n";
    let mut answer = plain(StatusCode::UNAUTHORIZED, text);
    let challenge = HeaderValue::from_static(CHALLENGE);
    answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    answer
}

fn unavailable() -> Response<AnswerBody> {
    let text = "The store cannot be used now; the server's log has the reason.\n";
    let mut answer = plain(StatusCode::SERVICE_UNAVAILABLE, text);
    let seconds = HeaderValue::from_static("30");
    answer.headers_mut().insert(RETRY_AFTER, seconds);
    answer
}

fn redirect(to: &str) -> Response<AnswerBody> {
    let mut answer = plain(StatusCode::MOVED_PERMANENTLY, "");
    // A root has only characters that a header can have.
    if let Ok(to) = HeaderValue::from_str(to) {
        answer.headers_mut().insert(LOCATION, to);
    }
    answer
}

fn body_refusal(refused: RefusedBody, most: u64) -> Short {
    match refused {
        RefusedBody::TooLarge => {
            let mut answer = plain(StatusCode::PAYLOAD_TOO_LARGE, "");
            *answer.body_mut() = format!("At most {most} bytes are taken.\n").into();
            (answer, "too-large")
        }
        RefusedBody::TooSlow => (plain(StatusCode::REQUEST_TIMEOUT, ""), "too-slow"),
        RefusedBody::Broken => (plain(StatusCode::BAD_REQUEST, ""), "broken-body"),
    }
}
