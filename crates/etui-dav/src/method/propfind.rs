//! PROPFIND (RFC 4918 section 9.1).

use etui::calendar::CalendarObject;
use etui::contacts::Card;

use crate::context::{Context, for_kind};
use crate::failure::{Refusal, Result};
use crate::headers::{self, Depth};
use crate::kind::DavKind;
use crate::member_writer::{MemberWriter, visit};
use crate::multistatus::Multistatus;
use crate::path::{Home, Target, resource_href};
use crate::property::{Member, Name, Node, TreeNode, Value, Wanted};
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::Namespace;

pub(crate) fn propfind(
    context: &Context<'_>,
    target: &Target,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let is_deep = match headers::depth(context.request.headers()) {
        Some(Depth::Zero) => false,
        Some(Depth::One) => true,
        Some(Depth::Infinity) | None => {
            return Err(
                Refusal::forbidden("send the header Depth: 0 or Depth: 1, not infinity")
                    .with(Namespace::Dav, "propfind-finite-depth")
                    .into(),
            );
        }
    };
    let wanted = Wanted::of_propfind(context.xml()?.as_ref())?;
    let session = context.session;
    let mut nodes: Vec<Box<dyn Node + '_>> = Vec::new();
    match target {
        Target::Server => nodes.push(Box::new(TreeNode::Server(session))),
        Target::Root => {
            nodes.push(Box::new(TreeNode::Root(session)));
            if is_deep {
                nodes.push(Box::new(TreeNode::Principal(session)));
                for home in Home::ALL {
                    nodes.push(Box::new(TreeNode::Home(session, home)));
                }
            }
        }
        Target::Principal => nodes.push(Box::new(TreeNode::Principal(session))),
        Target::Home(home) => {
            nodes.push(Box::new(TreeNode::Home(session, *home)));
            match home {
                Home::AddressBooks if is_deep => push_collections::<Card>(context, &mut nodes)?,
                Home::Calendars if is_deep => {
                    push_collections::<CalendarObject>(context, &mut nodes)?
                }
                _ => {}
            }
        }
        Target::Collection(home, segment) => {
            return for_kind!(
                *home,
                of_collection(context, segment, &wanted, is_deep, out, outcome)
            );
        }
        Target::Resource(home, segment, name) => {
            return for_kind!(
                *home,
                of_resource(context, segment, name, &wanted, out, outcome)
            );
        }
        Target::Nothing => return Err(Refusal::not_found().into()),
    }
    write_nodes(context, &nodes, &wanted, out)
}

fn push_collections<'a, R: DavKind + 'a>(
    context: &Context<'a>,
    nodes: &mut Vec<Box<dyn Node + 'a>>,
) -> Result<()> {
    for found in context.collections::<R>()? {
        nodes.push(Box::new(context.node(&found)));
    }
    Ok(())
}

/// Writes nodes other than resources. All is read before the answer begins.
fn write_nodes(
    context: &Context<'_>,
    nodes: &[Box<dyn Node + '_>],
    wanted: &Wanted,
    out: &mut dyn Respond,
) -> Result<()> {
    let mut read = Vec::new();
    for node in nodes {
        read.push((node.href(), values(node.as_ref(), wanted)?));
    }
    let minimal = headers::prefers_minimal(context.request.headers());
    let mut answer = Multistatus::start(out, minimal)?;
    for (href, values) in read {
        answer.values(&href, &values)?;
    }
    Ok(answer.finish()?)
}

/// Returns the wanted properties of a node.
pub(crate) fn values<'n>(
    node: &'n dyn Node,
    wanted: &Wanted,
) -> Result<Vec<(Name, Option<Value<'n>>)>> {
    let all = wanted.names(node.names()?).into_iter().map(|name| {
        let value = match wanted {
            Wanted::Names => Some(Value::Empty),
            _ => node.value(&name)?,
        };
        Ok((name, value))
    });
    all.collect()
}

fn of_collection<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    wanted: &Wanted,
    is_deep: bool,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<R>(segment, outcome)?;
    if !is_deep {
        return write_nodes(context, &[Box::new(context.node(&found))], wanted, out);
    }
    let href = &found.href;
    let snapshot = found.store.snapshot()?;
    let reader = found.reader(&snapshot)?;
    let members = MemberWriter::<R>::new(context, &found, wanted, None);
    // A later token would hide the changes between.
    let node = context.node(&found).with_token(&reader.collection_token()?);
    let own = values(&node, wanted)?;
    let minimal = headers::prefers_minimal(context.request.headers());
    let mut answer = Multistatus::start(out, minimal)?;
    answer.values(href, &own)?;
    if found.shared.is_some() {
        let mut ids = Vec::new();
        reader.for_each_resource(|listed| {
            ids.push(listed.id);
            Ok(())
        })?;
        outcome.read += members.write_records(&mut answer, &reader, &ids)?;
        return Ok(answer.finish()?);
    }
    visit(|steps| {
        reader.for_each_resource(|listed| {
            outcome.read += 1;
            let member = Member::listed(listed.tag, listed.size);
            steps.take(members.write(&mut answer, &resource_href(href, &listed.name), &member))
        })
    })?;
    Ok(answer.finish()?)
}

fn of_resource<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    name: &str,
    wanted: &Wanted,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<R>(segment, outcome)?;
    let snapshot = found.store.snapshot()?;
    let stored = found.reader(&snapshot)?.resource(name)?;
    let Some(stored) = stored.and_then(|stored| found.seen(stored)) else {
        return Err(Refusal::not_found().into());
    };
    outcome.read = 1;
    let minimal = headers::prefers_minimal(context.request.headers());
    let members = MemberWriter::<R>::new(context, &found, wanted, None);
    let mut answer = Multistatus::start(out, minimal)?;
    let member = Member {
        tag: stored.tag,
        size: None,
        bytes: Some(&stored.bytes),
        data: None,
    };
    members.write(&mut answer, &resource_href(&found.href, name), &member)?;
    Ok(answer.finish()?)
}
