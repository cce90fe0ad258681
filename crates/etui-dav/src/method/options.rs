//! OPTIONS (RFC 4918 section 10.1, RFC 4791 section 5.1, RFC 6352 section 6.1).

use http::StatusCode;

use super::answer_empty;
use crate::failure::Result;
use crate::path::Target;
use crate::respond::Respond;

/// The header `DAV`.
pub(crate) const DAV_CLASSES: &str =
    "1, 3, access-control, calendar-access, addressbook, extended-mkcol";

/// Returns the methods that are allowed on a path.
pub(crate) fn allowed(target: &Target) -> &'static str {
    match target {
        Target::Resource(..) => "OPTIONS, GET, HEAD, PUT, DELETE, COPY, MOVE, PROPFIND, REPORT",
        Target::Collection(..) => "OPTIONS, DELETE, MKCOL, MKCALENDAR, PROPFIND, PROPPATCH, REPORT",
        _ => "OPTIONS, PROPFIND, REPORT",
    }
}

pub(crate) fn options(target: &Target, out: &mut dyn Respond) -> Result<()> {
    let headers = [
        ("dav", DAV_CLASSES.to_owned()),
        ("allow", allowed(target).to_owned()),
    ];
    answer_empty(out, StatusCode::OK, &headers)
}
