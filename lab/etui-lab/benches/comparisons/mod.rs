//! The comparisons, one file or folder each.

pub mod calendar;
pub mod counters;
pub mod dav;
pub mod dbus_calls;
pub mod first_fill;
pub mod media_scan;
mod processes;
pub mod processor;
mod report;
pub mod saves;
pub mod searches;
mod server_process;
pub mod sync;

use etui_lab::Experiment;

/// All of them, in the order in which they are shown.
pub fn all_comparisons() -> Vec<&'static dyn Experiment> {
    vec![
        &calendar::Calendars,
        &dbus_calls::DbusCalls,
        &dav::Dav,
        &sync::Sync,
        &media_scan::MediaScan,
        &searches::Searches,
        &saves::Saves,
        &first_fill::FirstFill,
        &processor::Processor,
        &counters::Counters,
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use etui_lab::LabContext;

    /// Every comparison describes itself and its arms.
    #[test]
    fn every_comparison_is_described() {
        for comparison in super::all_comparisons() {
            let info = comparison.experiment_info();
            let texts = [info.title, info.question, info.method, info.same_answer];
            assert!(texts.iter().all(|text| text.len() > 20), "{info:?}");
            assert!(!info.parameters.is_empty());
            let lab = LabContext::new(&info, true, &BTreeMap::new()).unwrap();
            for group in comparison.plan_run(&lab).unwrap().groups {
                for arm in &group.arms {
                    assert_ne!(
                        info.arm_meaning(&arm.name),
                        "",
                        "{}: {}",
                        info.name,
                        arm.name
                    );
                }
            }
        }
    }
}
