//! [`CalendarQuery`]: the queries of calendars, parsed and evaluated on single components.

use etui::calendar::zones::TimeZoneResolver;

use super::candidates::Candidates;
use super::condition::Condition;
use super::evaluate;
pub(super) use super::evaluate::EvaluatedComponent;
use super::query_parser;
use crate::error::{EdsError, EdsResult, INVALID_QUERY};
use crate::sexp;

/// A query for components of a calendar.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CalendarQuery(pub(super) Condition);

impl CalendarQuery {
    /// Parses a query. The time zones are those that it can name.
    pub(super) fn parse(text: &str, zones: &TimeZoneResolver) -> EdsResult<Self> {
        let invalid = |message: String| EdsError::new(INVALID_QUERY, message);
        if text.trim().is_empty() {
            return Ok(Self(Condition::Const(false)));
        }
        let expr = sexp::parse(text).map_err(|e| invalid(e.to_string()))?;
        let mut condition = query_parser::parse_query(&expr, zones).map_err(invalid)?;
        let span = condition.span();
        condition.count_in(span.as_ref());
        Ok(Self(condition))
    }

    /// Returns true if a component matches.
    pub(super) fn matches(&self, component: &EvaluatedComponent<'_>) -> bool {
        evaluate::holds(&self.0, component) == Some(true)
    }

    /// Returns where the matching records are.
    pub(super) fn candidates(&self) -> Candidates {
        Candidates::of(&self.0)
    }
}
