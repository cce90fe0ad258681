//! `calendar-multiget` (RFC 4791 section 7.9) and `addressbook-multiget` (RFC 6352 section 8.7).

use std::collections::HashMap;

use super::data_form;
use crate::context::Context;
use crate::failure::{Refusal, Result};
use crate::headers;
use crate::kind::DavKind;
use crate::member_writer::{MemberWriter, visit};
use crate::multistatus::Multistatus;
use crate::path::Target;
use crate::property::Wanted;
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::{Element, Namespace};

pub(super) fn multiget<R: DavKind>(
    context: &Context<'_>,
    segment: &str,
    report: &Element,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<R>(segment, outcome)?;
    let wanted = Wanted::of(report)?;
    let form = data_form(context, &found, &wanted)?;
    let hrefs: Vec<&str> = report
        .children_named(&Namespace::Dav, "href")
        .map(|href| href.text.trim())
        .collect();
    if hrefs.is_empty() {
        return Err(Refusal::bad_request("the report names no resource").into());
    }
    // Another segment may name the same collection.
    let mut is_here = HashMap::from([(found.segment.clone(), true)]);
    let mut names = Vec::with_capacity(hrefs.len());
    for href in &hrefs {
        // The name that cannot be is that of a path to somewhere else.
        let mut name = String::new();
        if let Ok(Target::Resource(home, segment, of)) = context.target(href)
            && home == R::HOME
        {
            let is_here = match is_here.get(&segment) {
                Some(known) => *known,
                None => {
                    let other = context.find::<R>(&segment)?;
                    let same = other.is_some_and(|one| one.id() == found.id());
                    is_here.insert(segment, same);
                    same
                }
            };
            if is_here {
                name = of;
            }
        }
        names.push(name);
    }
    let snapshot = found.store.snapshot()?;
    let reader = found.reader(&snapshot)?;
    let minimal = headers::prefers_minimal(context.request.headers());
    let members = MemberWriter::<R>::new(context, &found, &wanted, form);
    let mut answer = Multistatus::start(out, minimal)?;
    visit(|steps| {
        reader.resources(&names, |index, stored| {
            // The href as the client wrote it, by which it finds the answer.
            let href = hrefs.get(index).copied().unwrap_or_default();
            let stored = stored.and_then(|stored| found.seen(stored));
            outcome.read += u64::from(stored.is_some());
            steps.take(match stored {
                Some(stored) => members.write_stored(&mut answer, href, &stored),
                None => answer.not_found(href),
            })
        })
    })?;
    Ok(answer.finish()?)
}
