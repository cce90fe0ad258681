//! `calendar-multiget` (RFC 4791 section 7.9) and `addressbook-multiget` (RFC 6352 section 8.7).

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
    cx: &Context<'_>,
    segment: &str,
    report: &Element,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = cx.expect::<R>(segment)?;
    outcome.collection = Some(found.collection.id());
    let wanted = Wanted::of(report)?;
    let form = data_form(cx, &found, &wanted)?;
    let hrefs: Vec<&str> = report
        .children_named(&Namespace::Dav, "href")
        .map(|href| href.text.trim())
        .collect();
    if hrefs.is_empty() {
        return Err(Refusal::bad_request("the report names no resource").into());
    }
    // The name that cannot be is that of a path to somewhere else.
    let names: Vec<String> = hrefs
        .iter()
        .map(|href| match cx.target(href) {
            Ok(Target::Resource(home, id, name)) if home == R::HOME && id == found.segment => name,
            _ => String::new(),
        })
        .collect();
    let snapshot = cx.store.snapshot()?;
    let reader = found.reader(&snapshot)?;
    let minimal = headers::prefers_minimal(cx.request.headers());
    let members = MemberWriter::<R>::new(cx, &wanted, form);
    let mut answer = Multistatus::start(out, minimal)?;
    visit(|steps| {
        reader.resources(&names, |index, stored| {
            // The href as the client wrote it, by which it finds the answer.
            let href = hrefs.get(index).copied().unwrap_or_default();
            outcome.read += u64::from(stored.is_some());
            steps.take(match stored {
                Some(stored) => members.write_stored(&mut answer, href, &stored),
                None => answer.not_found(href),
            })
        })
    })?;
    Ok(answer.finish()?)
}
