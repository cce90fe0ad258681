//! [`follow_calendar`]: one follower of the store for each opened calendar.
//!
//! The follower waits on the descriptor of a library view of all records, reads each changed record
//! once, and passes it to the views of all clients. It sees the saves of this process and of others.

use std::sync::Arc;

use etui::RecordId;
use etui::calendar::{Filter, ViewChanges};

use super::condition::Condition;
use super::errors::store_error;
use super::object::announce_revision;
use super::opened::OpenedCalendar;
use super::query::CalendarQuery;
use super::reading::{for_each_candidate, parse_stored};
use super::view::ObjectUpdate;
use crate::error::{EdsError, EdsResult, OTHER};
use crate::server::guard::answer_on_worker;
use crate::server::wakeup::Wakeup;

/// This many changed records are read and sent at once.
const MAX_UPDATES: usize = 256;

/// Follows a calendar until the process ends.
pub(super) async fn follow_calendar(opened: Arc<OpenedCalendar>) {
    if let Err(error) = follow(&opened).await {
        let uid = &opened.source.uid;
        tracing::error!("{uid}: changes are not followed: {error}");
    }
    opened.told.tell(i64::MAX);
}

async fn follow(opened: &Arc<OpenedCalendar>) -> EdsResult<()> {
    let calendar = opened.calendar()?;
    let mut view = calendar.view(&Filter::All).map_err(store_error)?;
    let wakeup = Wakeup::new(view.descriptor().map_err(store_error)?);
    let io_error = |e: std::io::Error| EdsError::new(OTHER, e.to_string());
    let wakeup = wakeup.map_err(io_error)?;
    loop {
        wakeup.wait().await.map_err(io_error)?;
        let seq = opened.server.store.token().map_err(store_error)?.seq;
        let changes = view.changes().map_err(store_error)?;
        if opened.advance_revision()? {
            announce_revision(opened).await;
        }
        let changed: Vec<(RecordId, String)> = match changes {
            ViewChanges::Since(changes) => changes.into_iter().map(|c| (c.id, c.uid)).collect(),
            ViewChanges::Reset => {
                // The log does not reach back to the view's position, as after a restored backup.
                let opened = opened.clone();
                answer_on_worker(move || read_all_ids(&opened)).await?
            }
        };
        for changed in changed.chunks(MAX_UPDATES) {
            let views = opened.views().clone();
            if views.is_empty() {
                break;
            }
            let (reader, changed) = (opened.clone(), changed.to_vec());
            let updates = answer_on_worker(move || read_updates(&reader, changed)).await?;
            let updates = Arc::new(updates);
            for view in views {
                view.send_updates(&updates).await;
            }
        }
        opened.told.tell(seq);
    }
}

fn read_updates(
    opened: &OpenedCalendar,
    changed: Vec<(RecordId, String)>,
) -> EdsResult<Vec<ObjectUpdate>> {
    let calendar = opened.calendar()?;
    let zones = opened.zones()?;
    let mut updates = Vec::with_capacity(changed.len());
    for (id, uid) in changed {
        let object = match calendar.get(id).map_err(store_error)? {
            Some(record) => parse_stored(&calendar, id, record.text, &zones)?,
            None => None,
        };
        updates.push(ObjectUpdate { id, uid, object });
    }
    Ok(updates)
}

fn read_all_ids(opened: &OpenedCalendar) -> EdsResult<Vec<(RecordId, String)>> {
    let mut all = Vec::new();
    let everything = CalendarQuery(Condition::Const(true));
    for_each_candidate(
        &opened.calendar()?,
        &everything,
        &opened.zones()?,
        |id, object| {
            all.push((id, object.uid().unwrap_or_default().to_owned()));
        },
    )?;
    Ok(all)
}
