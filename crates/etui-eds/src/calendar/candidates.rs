//! [`Candidates`]: at least the records that match a query, found by the library's indexes.
//!
//! The library folds texts further than queries do and compares words. So its search finds a
//! superset where the text is of ASCII letters, digits and blanks.

use std::ops::Range;

use etui::RecordId;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::{Calendar, Column, Field, Filter, Query};
use etui::search::filter::MatchMode;

use super::condition::{Condition, TextField};
use super::errors::store_error;
use crate::error::EdsResult;

const DAY: i64 = 86_400;

/// Where the records are that can match.
#[derive(Debug, PartialEq)]
pub(super) enum Candidates {
    /// Anywhere.
    All,
    /// Those with an occurrence in a range; floating times are in the time zone.
    Between(Range<Timestamp>, TimeZone),
    /// Those with this UID, case aside.
    Uid(String),
    /// Those that a filter of the library finds.
    Filter(Filter),
}

impl Candidates {
    /// Returns the candidates of a condition.
    pub(super) fn of(condition: &Condition) -> Self {
        match condition {
            Condition::OccursIn(range, zone) => {
                // Days are compared in another zone than floating times (`evaluate`).
                let range = range.instants();
                let range = range.start.plus_seconds(-DAY)..range.end.plus_seconds(DAY);
                Self::Between(range, zone.clone())
            }
            Condition::Uid(uid) => Self::Uid(uid.clone()),
            Condition::Contains(field, text) => match (field, text.plain()) {
                (TextField::Summary, Some(text)) => Self::of_text(Field::Title, text),
                (TextField::Location, Some(text)) => Self::of_text(Field::Place, text),
                _ => Self::All,
            },
            Condition::And(all) => {
                let all = all.iter().map(Self::of);
                all.min_by_key(Self::cost).unwrap_or(Self::All)
            }
            Condition::Or(all) => {
                let filters = all.iter().map(|one| match Self::of(one) {
                    Self::Filter(filter) => Some(filter),
                    _ => None,
                });
                match filters.collect::<Option<Vec<Filter>>>() {
                    Some(filters) if !filters.is_empty() => Self::Filter(Filter::Or(filters)),
                    _ => Self::All,
                }
            }
            _ => Self::All,
        }
    }

    fn of_text(field: Field, text: &str) -> Self {
        Self::Filter(Filter::text(field, MatchMode::Contains, text))
    }

    /// Orders candidates by how many there mostly are.
    fn cost(&self) -> u8 {
        match self {
            Self::Uid(_) => 0,
            Self::Filter(_) => 1,
            Self::Between(..) => 2,
            Self::All => 3,
        }
    }

    /// Returns the ids of the candidates; `None`: all records.
    pub(super) fn ids(&self, calendar: &Calendar) -> EdsResult<Option<Vec<RecordId>>> {
        let found = match self {
            Self::All => return Ok(None),
            Self::Between(range, zone) => calendar.records_between(range.clone(), zone, None),
            Self::Filter(filter) => calendar
                .query(&Query::new(filter.clone()).columns(Column::Uid))
                .map(|rows| rows.ids().to_vec()),
            Self::Uid(uid) => calendar
                .query(&Query::new(Filter::All).columns(Column::Uid))
                .map(|rows| {
                    let same = rows
                        .iter()
                        .filter(|row| row.get(Column::Uid).eq_ignore_ascii_case(uid));
                    same.map(|row| row.id()).collect()
                }),
        };
        found.map(Some).map_err(store_error)
    }
}

#[cfg(test)]
mod tests {
    use super::super::search_text::SearchText;
    use super::*;

    #[test]
    fn plain_texts_and_uids_are_looked_up() {
        let contains = |field, text: &str| Condition::Contains(field, SearchText::new(text));
        let title = |text: &str| Filter::text(Field::Title, MatchMode::Contains, text);
        let summary = contains(TextField::Summary, "Fair");
        assert_eq!(Candidates::of(&summary), Candidates::Filter(title("fair")));
        for other in [
            contains(TextField::Summary, "ø"),
            contains(TextField::Summary, "a-b"),
            contains(TextField::Summary, ""),
            contains(TextField::Any, "a"),
            Condition::Not(Box::new(summary.clone())),
            Condition::Or(vec![summary.clone(), Condition::Const(true)]),
        ] {
            assert_eq!(Candidates::of(&other), Candidates::All, "{other:?}");
        }
        let either = Condition::Or(vec![summary.clone(), contains(TextField::Summary, "b")]);
        assert_eq!(
            Candidates::of(&either),
            Candidates::Filter(Filter::Or(vec![title("fair"), title("b")]))
        );
        let both = Condition::And(vec![
            Condition::Const(true),
            Condition::Uid("1".into()),
            summary,
        ]);
        assert_eq!(Candidates::of(&both), Candidates::Uid("1".into()));
    }
}
