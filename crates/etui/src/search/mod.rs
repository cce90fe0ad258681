//! Finding records: [`filter`] defines which records match, [`query`] plans and answers, and the
//! index (`index`) supplies candidates.

pub mod filter;
pub(crate) mod index;
pub mod query;
