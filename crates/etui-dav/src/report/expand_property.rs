//! `expand-property` (RFC 3253 section 3.8): properties, and those of the paths in them.

use crate::context::{Context, for_kind};
use crate::failure::{Refusal, Result};
use crate::headers;
use crate::kind::DavKind;
use crate::multistatus::Multistatus;
use crate::path::Target;
use crate::property::{Name, Node, TreeNode, Value, around, href_element};
use crate::respond::Respond;
use crate::xml::{Element, Namespace};

/// A property of a node with its value.
type Values = Vec<(Name, Option<Value<'static>>)>;

pub(super) fn expand_property(
    context: &Context<'_>,
    target: &Target,
    report: &Element,
    out: &mut dyn Respond,
) -> Result<()> {
    let Some((href, values)) = expand(context, target, report)? else {
        return Err(Refusal::not_found().into());
    };
    let minimal = headers::prefers_minimal(context.request.headers());
    let mut answer = Multistatus::start(out, minimal)?;
    answer.values(&href, &values)?;
    Ok(answer.finish()?)
}

/// Returns the href of a target and the properties in `of`; `None`: there is nothing.
fn expand(
    context: &Context<'_>,
    target: &Target,
    of: &Element,
) -> Result<Option<(String, Values)>> {
    let session = context.session;
    match target {
        Target::Server => of_node(context, &TreeNode::Server(session), of).map(Some),
        Target::Root => of_node(context, &TreeNode::Root(session), of).map(Some),
        Target::Principal => of_node(context, &TreeNode::Principal(session), of).map(Some),
        Target::Home(home) => of_node(context, &TreeNode::Home(session, *home), of).map(Some),
        Target::Collection(home, segment) => for_kind!(*home, of_collection(context, segment, of)),
        Target::Resource(..) | Target::Nothing => Ok(None),
    }
}

fn of_collection<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    of: &Element,
) -> Result<Option<(String, Values)>> {
    match context.find::<R>(segment)? {
        Some(found) => of_node(context, &context.node(&found), of).map(Some),
        None => Ok(None),
    }
}

fn of_node(context: &Context<'_>, node: &dyn Node, of: &Element) -> Result<(String, Values)> {
    let mut values = Vec::new();
    for property in of.children_named(&Namespace::Dav, "property") {
        let Some(local) = property.attribute("name") else {
            return Err(Refusal::bad_request("a DAV:property has no name").into());
        };
        if !crate::xml::is_name(local) {
            return Err(Refusal::bad_request("a DAV:property has a bad name").into());
        }
        let ns = property
            .attribute("namespace")
            .map_or(Namespace::Dav, Namespace::of);
        let name = Name::new(ns, local);
        let value = node.value(&name)?;
        let expanded = match value {
            Some(value) if !property.children.is_empty() => {
                let mut responses = Vec::new();
                for href in value.hrefs() {
                    responses.push(expand_href(context, href, property)?);
                }
                Some(Value::Children(responses))
            }
            value => value.map(into_owned),
        };
        values.push((name, expanded));
    }
    Ok((node.href(), values))
}

/// Returns the `DAV:response` for an href in a property.
fn expand_href(context: &Context<'_>, href: &str, property: &Element) -> Result<Element> {
    let found = match context.target(href) {
        Ok(target) => expand(context, &target, property)?,
        Err(_) => None,
    };
    let Some((href, values)) = found else {
        return Ok(response(href, vec![status("HTTP/1.1 404 Not Found")]));
    };
    let (there, missing): (Values, Values) =
        values.into_iter().partition(|(_, value)| value.is_some());
    let mut propstats = Vec::new();
    for (values, line) in [
        (there, "HTTP/1.1 200 OK"),
        (missing, "HTTP/1.1 404 Not Found"),
    ] {
        if !values.is_empty() {
            let prop = values
                .into_iter()
                .map(|(name, value)| element(name, value))
                .collect();
            propstats.push(around("propstat", vec![around("prop", prop), status(line)]));
        }
    }
    Ok(response(&href, propstats))
}

fn response(href: &str, rest: Vec<Element>) -> Element {
    let mut children = vec![href_element(href)];
    children.extend(rest);
    around("response", children)
}

fn status(line: &str) -> Element {
    Element {
        text: line.to_owned(),
        ..Element::new(Namespace::Dav, "status")
    }
}

/// Returns a property as an element.
fn element(name: Name, value: Option<Value<'static>>) -> Element {
    let element = Element::new(name.ns, name.local);
    match value {
        None | Some(Value::Empty) => element,
        Some(Value::Text(text) | Value::Data(text, _)) => Element {
            text: text.into_owned(),
            ..element
        },
        Some(Value::Children(children)) => Element {
            children,
            ..element
        },
        Some(Value::Whole(whole)) => whole,
    }
}

fn into_owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Empty => Value::Empty,
        Value::Text(text) => Value::Text(text.into_owned().into()),
        Value::Data(text, attributes) => Value::Data(text.into_owned().into(), attributes),
        Value::Children(children) => Value::Children(children),
        Value::Whole(element) => Value::Whole(element),
    }
}
