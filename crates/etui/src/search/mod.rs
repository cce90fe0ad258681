//! Finding records: [`filter`] defines which records match, [`query`] plans and answers, the index
//! (`index`) supplies candidates, and [`spelling`] corrects words that are not found.

pub mod filter;
pub(crate) mod index;
pub mod query;
pub mod spelling;
