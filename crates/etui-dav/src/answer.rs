//! [`answer`]: a request in, an answer out.

use std::io;

use etui::Store;
use http::{Method, Request, Response, StatusCode};

use crate::context::{Context, for_kind};
use crate::failure::{Failure, Refusal, Result};
use crate::headers;
use crate::method::{
    allowed, delete, get, mkcol, options as answer_options, propfind, proppatch, put, transfer,
};
use crate::path::Target;
use crate::report::report;
use crate::respond::Respond;
use crate::session::{DavOptions, Outcome, Session};

/// Answers a request of a device.
///
/// The path of the request's URI is looked at, not its authority. Bodies come whole. The answer is
/// streamed from one state of the store; saved changes are durable before it begins.
///
/// # Errors
/// Those of `out`, and of the store after the answer began: the answer is then incomplete, and the connection must
/// be closed. All else is an answer.
pub fn answer(
    store: &Store,
    session: &Session<'_>,
    options: &DavOptions,
    request: &Request<Vec<u8>>,
    out: &mut dyn Respond,
) -> io::Result<Outcome> {
    let mut out = Tracked { out, status: None };
    let mut outcome = Outcome::new(kind_of(request.method().as_str()));
    let context = Context {
        store,
        session: Session {
            may_write: session.may_write && !store.is_read_only(),
            ..*session
        },
        options,
        request,
    };
    match dispatch(&context, &mut out, &mut outcome) {
        Ok(()) => {}
        Err(Failure::Io(error)) => return Err(error),
        Err(Failure::Refused(refusal)) => {
            if out.status.is_some() {
                return Err(io::Error::other(refusal.detail));
            }
            if refusal.status.is_server_error() {
                outcome.failure = Some(refusal.detail.clone());
            }
            refusal.write(&mut out)?;
        }
    }
    outcome.status = out.status.unwrap_or_default();
    Ok(outcome)
}

/// Returns the name of a method for the log; of an unknown one nothing is logged.
fn kind_of(method: &str) -> &'static str {
    const METHODS: [&str; 13] = [
        "OPTIONS",
        "GET",
        "HEAD",
        "PUT",
        "DELETE",
        "PROPFIND",
        "PROPPATCH",
        "MKCOL",
        "MKCALENDAR",
        "COPY",
        "MOVE",
        "REPORT",
        "POST",
    ];
    let known = METHODS.into_iter().find(|known| *known == method);
    known.unwrap_or("other")
}

fn dispatch(context: &Context<'_>, out: &mut dyn Respond, outcome: &mut Outcome) -> Result<()> {
    let path = context.request.uri().path();
    if path == "*" && context.request.method() == Method::OPTIONS {
        return answer_options(&Target::Server, out);
    }
    let target = Target::parse(path, context.session.root)
        .map_err(|error| Refusal::bad_request(error.to_string()))?;
    expect_plain(context)?;
    match (context.request.method().as_str(), &target) {
        ("OPTIONS", _) => answer_options(&target, out),
        ("PROPFIND", _) => propfind(context, &target, out, outcome),
        ("REPORT", _) => report(context, &target, out, outcome),
        ("GET" | "HEAD", Target::Resource(home, segment, name)) => {
            for_kind!(*home, get(context, segment, name, out, outcome))
        }
        ("PUT", Target::Resource(home, segment, name)) => {
            for_kind!(*home, put(context, segment, name, out, outcome))
        }
        ("DELETE", _) => delete(context, &target, out, outcome),
        ("PROPPATCH", _) => proppatch(context, &target, out, outcome),
        ("MKCOL", _) => mkcol(context, &target, false, out, outcome),
        ("MKCALENDAR", _) => mkcol(context, &target, true, out, outcome),
        ("MOVE" | "COPY", _) => transfer(context, &target, out, outcome),
        (_, Target::Nothing) => Err(Refusal::not_found().into()),
        _ => {
            let head = Response::builder()
                .status(StatusCode::METHOD_NOT_ALLOWED)
                .header("allow", allowed(&target))
                .header("content-length", 0)
                .body(())
                .map_err(io::Error::other)?;
            out.start(head)?;
            Ok(())
        }
    }
}

/// Fails if the body is compressed (RFC 9110 section 8.4).
fn expect_plain(context: &Context<'_>) -> Result<()> {
    let coding = headers::text(context.request.headers(), "content-encoding").unwrap_or_default();
    let is_plain = coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    match is_plain || context.request.body().is_empty() {
        true => Ok(()),
        false => {
            let detail = format!("send the body as it is, without the coding {coding}");
            Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into())
        }
    }
}

/// Remembers the status of an answer that has begun.
struct Tracked<'o> {
    out: &'o mut dyn Respond,
    status: Option<u16>,
}

impl Respond for Tracked<'_> {
    fn start(&mut self, head: Response<()>) -> io::Result<&mut dyn io::Write> {
        self.status = Some(head.status().as_u16());
        self.out.start(head)
    }
}
