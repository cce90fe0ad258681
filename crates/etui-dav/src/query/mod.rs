//! Queries of calendars and address books, and the parts of objects that reports ask for.
//!
//! ```text
//! calendar-query     parse_calendar_query  find            which records match    RFC 4791 7.8, 9.7-9.9
//!   calendar-data    CalendarData::parse   apply           parts of an object     9.6
//! free-busy-query    parse_free_busy_query free_busy                              7.10
//! addressbook-query  parse_address_query   find_contacts                          RFC 6352 8.6, 10.5
//!   address-data     AddressData::parse    apply                                  10.4
//! ```
//!
//! A query finds candidates by the indexes of the store where these have at least all matches, then
//! compares each candidate's text. Nothing that a query or a record contains makes memory grow beyond
//! one record, its answer and the ids: dense recurrence rules are examined up to a limit, and an expansion
//! beyond one is refused (`max-instances`).

mod address_data;
mod address_find;
mod address_query;
mod calendar_data;
mod calendar_find;
mod calendar_match;
mod calendar_query;
mod component_tree;
mod error;
mod expand;
mod free_busy;
mod privacy;
#[cfg(test)]
mod tests;
mod text_match;
mod time_range;
mod times;

pub use address_data::AddressData;
pub use address_find::{FoundContacts, find_contacts};
pub use address_query::{AddressQuery, parse_address_query};
pub use calendar_data::CalendarData;
pub use calendar_find::{find, matches_object};
pub use calendar_query::{CalendarQuery, parse_calendar_query, zone_of_object, zone_of_request};
pub use error::QueryError;
pub use free_busy::{busy_for_others, free_busy, parse_free_busy_query};
pub use privacy::{View, view_for_others};
pub use text_match::COLLATIONS;
pub use time_range::TimeRange;
