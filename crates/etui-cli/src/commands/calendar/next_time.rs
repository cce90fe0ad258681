//! The next time of a series.

use etui::calendar::recurrence::Instance;
use etui::calendar::{CalendarObject, Status};

use etui_when::LocalNow;

/// Years in which the next time is searched.
pub(super) const SEARCH_YEARS: i64 = 10;

/// Returns the next time of a series that is not cancelled, in the next [`SEARCH_YEARS`] years.
pub(super) fn next_instance(record: &CalendarObject, here: &LocalNow) -> Option<Instance> {
    let now = here.zone.to_utc(here.now);
    let ahead = now..now.plus_seconds(SEARCH_YEARS * 366 * 86_400);
    let components: Vec<_> = record.components().filter(|c| c.timing.is_some()).collect();
    let is_cancelled = |instance: &Instance| {
        let component = components.get(instance.component);
        component.is_some_and(|c| c.status == Some(Status::Cancelled))
    };
    record
        .recurrence_set()
        .between(ahead, &here.zone)
        .find(|instance| instance.during.start >= now && !is_cancelled(instance))
}
