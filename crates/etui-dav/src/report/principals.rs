//! Reports about principals (RFC 3744 section 9): there is one, which nobody needs to search.

use http::{Response, StatusCode};

use crate::context::Context;
use crate::failure::{Refusal, Result};
use crate::headers;
use crate::method::values;
use crate::multistatus::Multistatus;
use crate::property::{Node, TreeNode, Wanted};
use crate::respond::Respond;
use crate::xml::{Element, Namespace, Writer};

/// `principal-match`: the principal that the client is.
pub(super) fn principal_match(
    cx: &Context<'_>,
    report: &Element,
    out: &mut dyn Respond,
) -> Result<()> {
    if report.child(&Namespace::Dav, "self").is_none() {
        return Err(Refusal::forbidden("only DAV:self is supported")
            .with(Namespace::Dav, "supported-report")
            .into());
    }
    let principal = TreeNode::Principal(cx.session);
    let wanted = match report.child(&Namespace::Dav, "prop") {
        Some(_) => Wanted::of(report),
        None => Wanted::These(Vec::new()),
    };
    let values = values(&principal, &wanted)?;
    let minimal = headers::prefers_minimal(cx.request.headers());
    let mut answer = Multistatus::start(out, minimal)?;
    let all = values.iter().map(|(name, value)| (name, value.clone()));
    answer.properties(&principal.href(), all)?;
    Ok(answer.finish()?)
}

/// `principal-property-search`: nobody else is here.
pub(super) fn principal_property_search(out: &mut dyn Respond) -> Result<()> {
    Ok(Multistatus::start(out, false)?.finish()?)
}

/// `principal-search-property-set`: no property can be searched.
pub(super) fn principal_search_property_set(out: &mut dyn Respond) -> Result<()> {
    let head = Response::builder()
        .status(StatusCode::OK)
        .header("content-type", "application/xml; charset=utf-8")
        .body(())
        .map_err(std::io::Error::other)?;
    let mut w = Writer::new(out.start(head)?);
    w.declaration()?;
    w.empty(&Namespace::Dav, "principal-search-property-set")?;
    Ok(w.finish()?)
}
