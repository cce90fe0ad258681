//! The methods of HTTP and WebDAV.

mod delete;
mod get;
mod mkcol;
mod options;
mod propfind;
mod proppatch;
mod put;
mod refused;
mod transfer;

pub(crate) use delete::delete;
pub(crate) use get::get;
pub(crate) use mkcol::mkcol;
pub(crate) use options::{DAV_CLASSES, allowed, options};
pub(crate) use propfind::{propfind, values};
pub(crate) use proppatch::proppatch;
pub(crate) use put::put;
pub(crate) use transfer::transfer;

use http::{Response, StatusCode};

use crate::failure::Result;
use crate::respond::Respond;

/// Answers without a body.
pub(crate) fn answer_empty(
    out: &mut dyn Respond,
    status: StatusCode,
    headers: &[(&str, String)],
) -> Result<()> {
    answer_body(out, status, headers, b"")
}

/// Answers with a body that is there.
pub(crate) fn answer_body(
    out: &mut dyn Respond,
    status: StatusCode,
    headers: &[(&str, String)],
    body: &[u8],
) -> Result<()> {
    let mut head = Response::builder().status(status);
    for (name, value) in headers {
        head = head.header(*name, value);
    }
    if status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED {
        head = head.header("content-length", body.len());
    }
    let head = head.body(()).map_err(std::io::Error::other)?;
    Ok(out.start(head)?.write_all(body)?)
}
