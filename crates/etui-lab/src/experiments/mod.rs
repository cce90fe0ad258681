//! The experiments, one file each. A new one is a file here, its module and its place in the
//! list below.

mod about;
mod app_start;
mod backends;
mod calendar;
pub(crate) mod common;
mod counters;
mod datebook;
mod dav;
mod dbus_calls;
mod eds_versions;
mod first_fill;
mod journal_matrix;
mod media_scan;
mod media_sync;
mod phonebook;
mod polling;
pub(crate) mod power_cut;
mod processor;
pub(crate) mod saves;
mod searches;

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
        &calendar::Calendars,
        &dbus_calls::DbusCalls,
        &dav::Dav,
        &media_scan::MediaScan,
        &app_start::AppStart,
        &power_cut::PowerCut,
        &searches::Searches,
        &saves::Saves,
        &first_fill::FirstFill,
        &processor::Processor,
        &counters::Counters,
    ]
}
