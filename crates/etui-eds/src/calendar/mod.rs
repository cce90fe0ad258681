//! Calendars, task lists, memo lists.
//!
//! | module | |
//! |---|---|
//! | `object` | the object on the bus |
//! | `opened` | a collection of the store as a calendar |
//! | `reading`, `writing`, `receive`, `alarms` | components to and from clients |
//! | `incoming`, `lines`, `mod_type` | what clients send |
//! | `query`, `condition`, `query_parser`, `evaluate`, `candidates`, `search_text` | queries, asked of single components |
//! | `view`, `updates` | views, and the follower that sends them changes |
//! | `errors` | the errors of a calendar |
//! | `exchange` | components from the stock server |
//! | `time_zones`, `free_busy` | time zones; free and busy times |
//!
//! A record of the store is a series: the master component and its changed instances. Clients see
//! each component by itself.

mod alarms;
mod candidates;
mod condition;
mod errors;
mod evaluate;
pub(crate) mod exchange;
mod free_busy;
mod incoming;
mod lines;
mod mod_type;
mod object;
mod opened;
mod query;
mod query_parser;
mod reading;
mod receive;
mod search_text;
mod time_zones;
mod updates;
mod view;
mod writing;

use std::sync::Arc;

use etui::calendar::CalendarObject;
use etui::calendar::zones::TimeZoneResolver;

use crate::error::EdsResult;
use crate::server::guard::answer_on_worker;
use crate::server::shared::Server;
use crate::sources::{Source, SourceKind};

/// Returns how many components of a calendar object match a query of Evolution Data Server.
///
/// # Errors
/// [`INVALID_QUERY`](crate::error::INVALID_QUERY) if the text is not a query.
pub fn count_matches(
    query: &str,
    object: &CalendarObject,
    zones: &TimeZoneResolver,
) -> EdsResult<usize> {
    let query = query::CalendarQuery::parse(query, zones)?;
    Ok(reading::matching_components(object, &query).len())
}

/// Registers the object of a local calendar and returns its path.
pub(crate) async fn register_calendar(
    server: &Arc<Server>,
    kind: SourceKind,
    source: Source,
) -> EdsResult<String> {
    let path = server.new_path("Subprocess");
    let (shared, own_path) = (server.clone(), path.clone());
    let opened =
        answer_on_worker(move || opened::OpenedCalendar::open(shared, kind, source, own_path));
    let opened = Arc::new(opened.await?);
    let objects = server.connection.object_server();
    let object = server.guard(object::DesktopCalendar(opened.clone()));
    objects.at(path.as_str(), object).await?;
    zruntime::spawn(updates::follow_calendar(opened)).detach();
    Ok(path)
}
