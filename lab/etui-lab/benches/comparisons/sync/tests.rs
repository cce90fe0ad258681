#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;
use etui_lab::MeasurePass;
use etui_lab::experiments::backends::run_all::run_all;

#[test]
fn every_client_here_has_the_same_cards() {
    let set = [("contacts", 64), (SECONDS, 1)];
    let set = set.map(|(name, value)| (name.to_owned(), vec![value]));
    let info = Sync.experiment_info();
    let lab = LabContext::new(&info, true, &BTreeMap::from(set)).unwrap();
    let plan = Sync.plan_run(&lab).unwrap();
    let lines = run_all(&Sync, &plan, &[MeasurePass::Timed]);
    let results = Results::of(NAME, &lines);
    let shown = Sync.present_results(&results);
    for group in results.groups() {
        assert_eq!(shown.tables.len(), 3);
        for arm in &plan.groups[0].arms {
            for phase in [report::FIRST, report::IDLE, report::ONE_EACH] {
                for measure in ["processor_ns", "wall_ns", "requests"] {
                    let name = format!("{phase}/{measure}");
                    let value = results.median(&group, &arm.name, &name).unwrap();
                    assert!(value > 0.0, "{}: {name}", arm.name);
                }
            }
        }
        // Counted, not timed: it holds on any machine.
        let requests = |phase| {
            let name = format!("{phase}/requests");
            results.median(&group, report::ETUI, &name).unwrap()
        };
        assert!(requests(report::IDLE) <= 2.0);
        assert!(requests(report::ONE_EACH) <= 6.0);
    }
}
