//! Reports about principals (RFC 3744 section 9). There is one.

use http::{Response, StatusCode};

use crate::context::Context;
use crate::failure::{Refusal, Result};
use crate::headers;
use crate::method::values;
use crate::multistatus::Multistatus;
use crate::property::{Name, Node, TreeNode, Value, Wanted};
use crate::respond::Respond;
use crate::xml::{Element, Namespace, Writer};

/// `principal-match`: the principal that the client is.
pub(super) fn principal_match(
    context: &Context<'_>,
    report: &Element,
    out: &mut dyn Respond,
) -> Result<()> {
    if report.child(&Namespace::Dav, "self").is_none() {
        return Err(Refusal::forbidden("only DAV:self is supported")
            .with(Namespace::Dav, "supported-report")
            .into());
    }
    let principal = TreeNode::Principal(context.session);
    let wanted = match report.child(&Namespace::Dav, "prop") {
        Some(_) => Wanted::of(report)?,
        None => Wanted::These(Vec::new()),
    };
    let values = values(&principal, &wanted)?;
    let minimal = headers::prefers_minimal(context.request.headers());
    let mut answer = Multistatus::start(out, minimal)?;
    answer.values(&principal.href(), &values)?;
    Ok(answer.finish()?)
}

/// `principal-property-search` (RFC 3744 section 9.4): the one principal, if each search finds its text in all of the properties
/// that it names, whatever the case. Without a search it is found too.
pub(super) fn principal_property_search(
    context: &Context<'_>,
    report: &Element,
    out: &mut dyn Respond,
) -> Result<()> {
    let principal = TreeNode::Principal(context.session);
    let mut is_match = true;
    for search in report.children_named(&Namespace::Dav, "property-search") {
        is_match &= finds(&principal, search)?;
    }
    let wanted = match report.child(&Namespace::Dav, "prop") {
        Some(_) => Wanted::of(report)?,
        None => Wanted::These(Vec::new()),
    };
    let values = values(&principal, &wanted)?;
    let minimal = headers::prefers_minimal(context.request.headers());
    let mut answer = Multistatus::start(out, minimal)?;
    if is_match {
        answer.values(&principal.href(), &values)?;
    }
    Ok(answer.finish()?)
}

/// Returns true if a `property-search` finds its text in the properties of a node.
fn finds(node: &dyn Node, search: &Element) -> Result<bool> {
    let text = search.child(&Namespace::Dav, "match");
    let text = text.map_or("", |text| text.text.trim()).to_lowercase();
    let Some(prop) = search.child(&Namespace::Dav, "prop") else {
        return Err(Refusal::bad_request("a DAV:property-search has no DAV:prop").into());
    };
    for property in &prop.children {
        let has_text = match node.value(&Name::of(property))? {
            Some(Value::Text(value)) => value.to_lowercase().contains(&text),
            Some(value) => value
                .hrefs()
                .iter()
                .any(|href| href.to_lowercase().contains(&text)),
            None => false,
        };
        if !has_text {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `principal-search-property-set` (RFC 3744 section 9.5): the properties to search by.
pub(super) fn principal_search_property_set(out: &mut dyn Respond) -> Result<()> {
    let head = Response::builder()
        .status(StatusCode::OK)
        .header("content-type", "application/xml; charset=utf-8")
        .body(())
        .map_err(std::io::Error::other)?;
    let mut w = Writer::new(out.start(head)?);
    let ns = &Namespace::Dav;
    w.declaration()?;
    w.open(ns, "principal-search-property-set")?;
    w.open(ns, "principal-search-property")?;
    w.open(ns, "prop")?;
    w.empty(ns, "displayname")?;
    w.close()?;
    w.open_with(ns, "description", &[("xml:lang", "en")])?;
    w.text("Name of the user")?;
    Ok(w.finish()?)
}
