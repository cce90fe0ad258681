//! The experiments, one file each. A new one is a file here, its module and its place in the
//! list below.

pub mod about;
mod app_start;
pub mod backends;
pub mod common;

mod datebook;
mod eds_versions;
mod journal_matrix;
mod media_sync;
mod phonebook;
mod polling;
pub(crate) mod power_cut;

use crate::Experiment;

/// All experiments, in the order in which they are shown.
pub fn all_experiments() -> Vec<&'static dyn Experiment> {
    vec![
        &media_sync::MediaSync,
        &journal_matrix::JournalMatrix,
        &polling::Polling,
        &datebook::Datebook,
        &phonebook::Phonebook,
        &eds_versions::EdsVersions,
        &app_start::AppStart,
        &power_cut::PowerCut,
    ]
}
