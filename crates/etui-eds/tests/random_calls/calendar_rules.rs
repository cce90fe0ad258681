//! Deliberate differences of calendars.

use crate::calendar_session::CalendarCall;
use crate::compare::Rule;

/// The rules. Each part of a difference counts for the first that fits.
pub fn calendar_rules() -> Vec<Rule<CalendarCall>> {
    vec![]
}
