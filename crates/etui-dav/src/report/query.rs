//! `calendar-query` (RFC 4791 section 7.8), `addressbook-query` (RFC 6352 section 8.6) and `free-busy-query` (RFC
//! 4791 section 7.10).

use std::time::{SystemTime, UNIX_EPOCH};

use etui::RecordId;
use etui::calendar::CalendarObject;
use etui::calendar::time::Timestamp;
use etui::contacts::Card;
use etui::record::Reader;
use http::StatusCode;

use super::{data_form, limit_of};
use crate::context::{Context, FoundCollection};
use crate::failure::{Refusal, Result};
use crate::headers;
use crate::kind::DavKind;
use crate::member_writer::MemberWriter;
use crate::method::answer_body;
use crate::multistatus::Multistatus;
use crate::property::Wanted;
use crate::query::{self, View};
use crate::respond::Respond;
use crate::session::Outcome;
use crate::xml::{Element, Namespace};

/// The number of resources whose names are read at once.
const BATCH: usize = 256;

pub(super) fn calendar_query(
    context: &Context<'_>,
    segment: &str,
    report: &Element,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<CalendarObject>(segment, outcome)?;
    let query = query::parse_calendar_query(report)?;
    let limit = limit_of(report)?.and_then(|limit| usize::try_from(limit).ok());
    let zone = context.zone(&found)?;
    let snapshot = found.store.snapshot()?;
    let reader = found.reader(&snapshot)?;
    let mut ids = query::find(&reader, &query, &zone)?;
    if found.shared.is_some() {
        // A filter must not tell by its answer what the user may not read.
        ids = retain_seen(&found, &reader, ids, |part| {
            query::matches_object(&query, part, &zone)
        })?;
    }
    let is_cut = limit.is_some_and(|limit| ids.len() > limit);
    if let Some(limit) = limit {
        ids.truncate(limit);
    }
    answer_ids(context, &found, &reader, report, &ids, is_cut, out, outcome)
}

pub(super) fn address_query(
    context: &Context<'_>,
    segment: &str,
    report: &Element,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<Card>(segment, outcome)?;
    let query = query::parse_address_query(report)?;
    let snapshot = found.store.snapshot()?;
    let reader = found.reader(&snapshot)?;
    let query::FoundContacts {
        mut ids,
        is_truncated,
    } = query::find_contacts(&reader, &query)?;
    if found.shared.is_some() {
        ids = retain_seen(&found, &reader, ids, |_| true)?;
    }
    answer_ids(
        context,
        &found,
        &reader,
        report,
        &ids,
        is_truncated,
        out,
        outcome,
    )
}

pub(super) fn free_busy_query(
    context: &Context<'_>,
    segment: &str,
    report: &Element,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let found = context.expect::<CalendarObject>(segment, outcome)?;
    let range = query::parse_free_busy_query(report)?;
    let zone = context.zone(&found)?;
    let snapshot = found.store.snapshot()?;
    let reader = found.reader(&snapshot)?;
    let body = query::free_busy(&reader, &range, &zone, now(), found.shared.is_some())?;
    let content_type = "text/calendar; charset=utf-8; component=vfreebusy".to_owned();
    answer_body(
        out,
        StatusCode::OK,
        &[("content-type", content_type)],
        &body,
    )
}

/// Returns those of these records that the user may read, and of which the part that the user may read matches.
fn retain_seen<R: DavKind>(
    found: &FoundCollection<'_, R>,
    reader: &Reader<R>,
    ids: Vec<RecordId>,
    matches: impl Fn(&[u8]) -> bool,
) -> Result<Vec<RecordId>> {
    let mut seen = Vec::new();
    reader.resources(ids, |_, stored| {
        if let Some(stored) = stored {
            let is_seen = match found.view(&stored.bytes) {
                View::Whole => true,
                View::Part(part) => matches(&part),
                View::Hidden => false,
            };
            seen.extend(is_seen.then_some(stored.id));
        }
        Ok(())
    })?;
    Ok(seen)
}

/// Returns the present time, in whole seconds.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    Timestamp::from_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
}

/// Writes the resources of these records.
#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one request and its answer"
)]
fn answer_ids<R: DavKind>(
    context: &Context<'_>,
    found: &FoundCollection<'_, R>,
    reader: &Reader<R>,
    report: &Element,
    ids: &[RecordId],
    is_cut: bool,
    out: &mut dyn Respond,
    outcome: &mut Outcome,
) -> Result<()> {
    let wanted = Wanted::of(report)?;
    let form = data_form(context, found, &wanted)?;
    let minimal = headers::prefers_minimal(context.request.headers());
    let members = MemberWriter::<R>::new(context, found, &wanted, form);
    let mut answer = Multistatus::start(out, minimal)?;
    for batch in ids.chunks(BATCH) {
        outcome.read += members.write_records(&mut answer, reader, batch)?;
    }
    if is_cut {
        let cut = Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "there are more matches")
            .with(Namespace::Dav, "number-of-matches-within-limits");
        answer.status(&found.href, &cut)?;
    }
    Ok(answer.finish()?)
}
